/* Writes one self-contained page from any mix of documents: descriptions, benches, comparisons,
 * model runs (condense.c), fleets (fleet_document.c), explorations (points_document.c), recordings
 * (evidence.c) and the loads of 'fathom dissect --series' (series_document.c). The page contains
 * the documents as JSON data. When it is opened, the scripts in html/ draw charts from this data
 * with D3. No text of a document becomes markup: '<', '>' and '&' are written as \u003c, \u003e and
 * \u0026, and the scripts insert texts as text nodes. */
#include "base/json.h"
#include "report/report.h"

#include <stdlib.h>
#include <string.h>

static const char operation[] = "read document";

/* Maximum size of an input file. Chosen, not derived: it bounds the memory that a damaged
 * compressed file can take. */
enum { MAX_BYTES = 1 << 30 };

/* Appends a JSON text that stands inside <script>, escaped so that it can neither end the element
 * nor begin a comment. */
static void put_escaped(struct fth_buffer *out, const char *json)
{
    for (const char *at = json; *at;) {
        size_t plain = strcspn(at, "<>&");
        fth_buffer_append(out, at, plain);
        at += plain;
        if (*at)
            fth_buffer_format(out, "\\u%04x", (unsigned)*at++);
    }
}

/* Appends {"file": the name without folders, "document": the document}. `published` is the
 * comparison of a description with the published one, as member "published"; NULL: there is none.
 */
static enum fth_status put_document(struct fth_buffer *out, const char *path,
                                    struct fth_json_document *document, struct fth_json *published,
                                    struct fth_error *error)
{
    enum { DIGITS = 12 }; /* more than a chart can show */
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    struct fth_json *content = document->root;
    struct fth_buffer text = {0};
    document->root = NULL;
    struct fth_json *entry = fth_json_put(document, NULL, NULL, FTH_JSON_OBJECT);
    fth_json_put_text(document, entry, "file", fth_utf8_is_valid(name) ? name : "?");
    fth_json_attach(document, entry, "document", content);
    if (published)
        fth_json_attach(document, entry, "published", published);
    enum fth_status status = FTH_OK;
    if (!document->failed)
        fth_json_write(&text, entry, DIGITS, true);
    if (document->failed || text.failed)
        status = fth_no_memory(error, "write report", path);
    else
        put_escaped(out, text.data);
    fth_buffer_fini(&text);
    return status;
}

/* Which kinds of documents a page has. They need different scripts. */
struct kinds {
    bool fleets; /* judgements of fleets */
    bool others; /* other documents, also the fleets of earlier versions (fathom-fleet/1) */
};

static void add_kind(struct kinds *kinds, const struct fth_json *root)
{
    const char *schema = fth_json_string(fth_json_get(root, "schema"));
    const bool fleet = schema && strncmp(schema, "fathom-fleet/", 13) == 0;
    kinds->fleets = kinds->fleets || fleet;
    kinds->others = kinds->others || !fleet || strcmp(schema, "fathom-fleet/2") != 0;
}

/* Reads a JSON document of fathom. Descriptions are validated here, so that the scripts of the page
 * can rely on them, and *published gets their comparison with the published one. A list has no
 * "schema". Only the output of 'fathom explore --json' is accepted, which is recognised by the keys
 * of its rows. */
static enum fth_status read_json(const char *path, const struct fth_buffer *content,
                                 const struct fth_log *log, struct fth_json_document *document,
                                 struct fth_json **published, struct fth_error *error)
{
    FTH_TRY(fth_json_parse(path, content->data, content->size, document, error));
    const bool list = fth_json_is(document->root, FTH_JSON_LIST);
    if (list && !fth_is_exploration_list(document->root))
        return fth_fail(error, FTH_INVALID, operation, path,
                        "this is a list, but not the output of 'fathom explore --json'");
    if (list) {
        fth_exploration_from_list(document);
        return FTH_OK;
    }
    const char *schema = fth_json_string(fth_json_get(document->root, "schema"));
    if (!schema || strncmp(schema, "fathom-", 7) != 0)
        return fth_fail(error, FTH_INVALID, operation, path,
                        "not a fathom document: it has no \"schema\" that begins with 'fathom-'");
    if (strcmp(schema, "fathom-model/1") == 0)
        fth_model_condense(document);
    if (strcmp(schema, "fathom-fleet/2") == 0)
        fth_fleet_condense(document);
    if (strncmp(schema, "fathom-gpu/", 11) != 0)
        return FTH_OK;
    struct fth_gpu *gpu = NULL;
    enum fth_status status =
        fth_gpu_read_text(path, content->data, content->size, log, &gpu, error);
    if (status == FTH_OK)
        status = fth_published_compare(gpu, document, published, error);
    fth_gpu_destroy(gpu);
    return status;
}

/* Appends the document of a file. The beginning of the file identifies its format. Its kind is
 * added to `kinds`. */
static enum fth_status add_file(struct fth_buffer *page, const char *path,
                                const struct fth_log *log, struct kinds *kinds,
                                struct fth_error *error)
{
    static const char recording[] = "fathom-recording/";
    struct fth_buffer content = {0};
    struct fth_json_document document = {0};
    struct fth_json *published = NULL;
    enum fth_status status =
        fth_file_read(path, FTH_FILE_LIMIT("a document in a report", MAX_BYTES), &content, error);
    if (status != FTH_OK)
        goto out;
    if (content.size == 0)
        status = fth_fail(error, FTH_INVALID, operation, path, "the file is empty");
    else if (strncmp(content.data, recording, strlen(recording)) == 0)
        status = fth_evidence_read(path, &content, &document, error);
    else if (fth_is_series(&content))
        status = fth_series_read(path, &content, &document, error);
    else if (fth_is_exploration(&content))
        status = fth_exploration_read(path, &content, log, &document, error);
    else
        status = read_json(path, &content, log, &document, &published, error);
    add_kind(kinds, document.root);
    if (status == FTH_OK)
        status = put_document(page, path, &document, published, error);
out:
    fth_json_fini(&document);
    fth_buffer_fini(&content);
    return status;
}

static const struct fth_embedded *find_part(const char *name)
{
    for (size_t i = 0; i < fth_embedded_page_count; i++)
        if (strcmp(fth_embedded_page[i].name, name) == 0)
            return &fth_embedded_page[i];
    return NULL;
}

static void put_part(struct fth_buffer *out, const char *name)
{
    const struct fth_embedded *part = find_part(name);
    if (part)
        fth_buffer_append(out, part->data, part->size);
}

/* Appends the scripts of html/ that the documents need, in the order in which they must run. */
static void put_scripts(struct fth_buffer *out, const struct kinds *kinds)
{
    static const struct {
        const char *name;
        struct kinds for_kinds;
    } scripts[] = {
        {"core", {true, true}},      {"charts", {true, true}},    {"plots", {false, true}},
        {"summary", {true, true}},   {"topology", {false, true}}, {"structure", {false, true}},
        {"several", {false, true}},  {"bench", {false, true}},    {"model", {false, true}},
        {"kernel", {false, true}},   {"source", {false, true}},   {"explore", {false, true}},
        {"evidence", {false, true}}, {"figures", {false, true}},  {"fleet_charts", {true, false}},
        {"fleet", {true, false}},    {"start", {true, true}}};
    for (size_t i = 0; i < FTH_COUNT(scripts); i++)
        if ((scripts[i].for_kinds.fleets && kinds->fleets) ||
            (scripts[i].for_kinds.others && kinds->others))
            put_part(out, scripts[i].name);
}

/* Appends page.html. A line "@NAME@" in it is replaced by the part of that name, "@data@" by the
 * documents, and "@scripts@" by the scripts. */
static void put_page(struct fth_buffer *out, const struct fth_buffer *data,
                     const struct kinds *kinds)
{
    const struct fth_embedded *page = find_part("page");
    for (const char *at = page ? page->data : ""; *at;) {
        size_t size = strcspn(at, "\n");
        char name[32];
        if (*at != '@' || size < 3 || size - 2 >= sizeof name) {
            fth_buffer_append(out, at, size);
        } else {
            memcpy(name, at + 1, size - 2);
            name[size - 2] = '\0';
            if (strcmp(name, "data") == 0)
                fth_buffer_append(out, data->data, data->size);
            else if (strcmp(name, "scripts") == 0)
                put_scripts(out, kinds);
            else
                put_part(out, name);
        }
        fth_buffer_text(out, "\n");
        at += size + (at[size] == '\n');
    }
}

enum fth_status fth_report_html(const char *const *paths, size_t count, const struct fth_log *log,
                                char **text, size_t *size, struct fth_error *error)
{
    struct fth_buffer data = {0}, out = {0};
    const struct fth_embedded *d3 = find_part("d3");
    *text = NULL;
    *size = 0;
    if (!d3 || d3->size == 0)
        return fth_fail(
            error, FTH_UNSUPPORTED, "write report", NULL,
            "fathom was built without D3, which draws the charts; install Debian's node-d3 "
            "or pass -Dd3=FILE to 'meson setup', and build again");
    enum fth_status status = FTH_OK;
    struct kinds kinds = {.others = count == 0};
    fth_buffer_text(&data, "{\"fathom\":\"");
    fth_buffer_text(&data, fth_version());
    fth_buffer_text(&data, "\",\"documents\":[");
    for (size_t i = 0; i < count && status == FTH_OK; i++) {
        fth_buffer_text(&data, i ? "," : "");
        status = add_file(&data, paths[i], log, &kinds, error);
    }
    fth_buffer_text(&data, "]}");
    if (status == FTH_OK) {
        out.failed = data.failed;
        if (!out.failed)
            put_page(&out, &data, &kinds);
        status = fth_buffer_take(&out, text, size, error);
    }
    fth_buffer_fini(&data);
    fth_buffer_fini(&out);
    return status;
}
