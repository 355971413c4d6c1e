/* Converts an exploration to a document for the HTML page: the header of the file of points, which
 * says what was explored, and the table of its points (points_table.c). The raw counts of each
 * point are left out, because the page shows hit ratios. */
#include "base/json.h"
#include "explore/explore.h"
#include "report/report.h"

#include <stdlib.h>
#include <string.h>

static const char operation[] = "read points";

bool fth_is_exploration(const struct fth_buffer *content)
{
    static const char begin[] = "{\"schema\": \"fathom-explore/";
    return content->size >= sizeof begin - 1 && memcmp(content->data, begin, sizeof begin - 1) == 0;
}

/* Appends the header and the undamaged points, in order, one per line. */
static void put_lines(const struct fth_points *points, struct fth_buffer *out)
{
    fth_buffer_append(out, points->text.data, points->header_size);
    for (size_t i = 0; i < points->header_points; i++)
        if (points->size[i]) {
            fth_buffer_text(out, "\n");
            fth_buffer_append(out, points->text.data + points->at[i], points->size[i]);
        }
}

/* Adds the table of the points, a list of JSON objects, to the document. */
static enum fth_status add_rows(const char *path, const struct fth_points *points,
                                struct fth_json_document *document, struct fth_error *error)
{
    struct fth_buffer lines = {0};
    struct fth_json *header = document->root;
    char *text = NULL;
    size_t size = 0;
    put_lines(points, &lines);
    enum fth_status status = FTH_OK;
    if (lines.failed) {
        status = fth_no_memory(error, operation, path);
        goto out;
    }
    status = fth_report_points("json", lines.data, lines.size, NULL, &text, &size, error);
    if (status == FTH_OK)
        status = fth_json_parse(path, text, size, document, error);
    if (status == FTH_OK) {
        fth_json_remove(header, "rows");
        fth_json_attach(document, header, "rows", document->root);
        document->root = header;
    }
out:
    fth_free(text);
    fth_buffer_fini(&lines);
    return status;
}

static void warn_incomplete(const char *path, const struct fth_points *points,
                            const struct fth_log *log)
{
    if (points->damaged)
        fth_log_message(log, FTH_LOG_WARNING, "%s: %zu line%s cut off or damaged, and ignored",
                        path, points->damaged, points->damaged == 1 ? " is" : "s are");
    if (points->found < points->header_points)
        fth_log_message(log, FTH_LOG_WARNING, "%s: contains only %zu of %zu points", path,
                        points->found, points->header_points);
}

enum fth_status fth_exploration_read(const char *path, struct fth_buffer *content,
                                     const struct fth_log *log, struct fth_json_document *document,
                                     struct fth_error *error)
{
    struct fth_points points;
    FTH_TRY(fth_points_parse(path, content, &points, error));
    warn_incomplete(path, &points, log);
    enum fth_status status =
        fth_json_parse(path, points.text.data, points.header_size, document, error);
    if (status == FTH_OK)
        status = add_rows(path, &points, document, error);
    fth_points_fini(&points);
    return status;
}

bool fth_is_exploration_list(const struct fth_json *list)
{
    const struct fth_json *first = fth_json_items(list);
    return fth_json_get(first, "point") && fth_json_get(first, "kernel") &&
           fth_json_get(first, "trace");
}

void fth_exploration_from_list(struct fth_json_document *document)
{
    struct fth_json *list = document->root;
    document->root = NULL;
    struct fth_json *root = fth_json_put(document, NULL, NULL, FTH_JSON_OBJECT);
    fth_json_put_text(document, root, "schema", "fathom-explore/1");
    fth_json_attach(document, root, "rows", list);
}
