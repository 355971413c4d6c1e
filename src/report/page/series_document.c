/* Converts the CSV output of 'fathom dissect --series', which has one load per row, to a document
 * for the HTML page: for each element, the line that each load accessed, its cycles, and whether it
 * missed. Malformed or impossible numbers are refused here, so that the scripts of the page can
 * rely on them.
 */
#include "base/json.h"
#include "report/report.h"

#include <string.h>

static const char operation[] = "read series";
static const char head[] = "element,load,index,cycles,result\n";

/* MAX_INDEX: largest index of a line. A limit against damaged files; far above the number of lines
 * of any walk. */
enum { FIELDS = 5, MAX_INDEX = 1 << 24 };

struct series_row {
    const char *fields[FIELDS];
    size_t sizes[FIELDS];
};

bool fth_is_series(const struct fth_buffer *content)
{
    return content->size >= sizeof head - 1 && memcmp(content->data, head, sizeof head - 1) == 0;
}

/* Splits a line into its fields. Returns false unless there are exactly FIELDS. */
static bool split_row(const char *line, size_t size, struct series_row *row)
{
    size_t count = 0, from = 0;
    for (size_t at = 0; at <= size; at++)
        if (at == size || line[at] == ',') {
            if (count == FIELDS)
                return false;
            row->fields[count] = line + from;
            row->sizes[count++] = at - from;
            from = at + 1;
        }
    return count == FIELDS;
}

/* Reads decimal digits. Returns false if there is anything else or the value exceeds `max_value`.
 */
static bool read_number(const struct series_row *row, int field, uint64_t max_value,
                        int64_t *number)
{
    uint64_t value = 0;
    for (size_t i = 0; i < row->sizes[field]; i++) {
        const char digit = row->fields[field][i];
        if (digit < '0' || digit > '9')
            return false;
        value = value * 10 + (uint64_t)(digit - '0');
        if (value > max_value)
            return false;
    }
    *number = (int64_t)value;
    return row->sizes[field] > 0;
}

static bool field_is(const struct series_row *row, int field, const char *text)
{
    return row->sizes[field] == strlen(text) &&
           memcmp(row->fields[field], text, row->sizes[field]) == 0;
}

/* Copies the name of the row's element. Returns false if it is empty, too long, contains a NUL
 * or is not UTF-8. */
static bool read_name(const struct series_row *row, char name[64])
{
    if (row->sizes[0] == 0 || row->sizes[0] >= 64)
        return false;
    memcpy(name, row->fields[0], row->sizes[0]);
    name[row->sizes[0]] = '\0';
    return strlen(name) == row->sizes[0] && fth_utf8_is_valid(name);
}

/* Appends a load to the lists of an element, which is added if it is new. */
static void put_load(struct fth_json_document *document, const char *name, int64_t index,
                     int64_t cycles, bool miss)
{
    struct fth_json *elements = fth_json_get(document->root, "elements");
    struct fth_json *loads = fth_json_get(elements, name);
    if (!loads) {
        loads = fth_json_put(document, elements, fth_arena_text(&document->arena, name),
                             FTH_JSON_OBJECT);
        fth_json_put(document, loads, "index", FTH_JSON_LIST);
        fth_json_put(document, loads, "cycles", FTH_JSON_LIST);
        fth_json_put(document, loads, "miss", FTH_JSON_LIST);
    }
    fth_json_put_integer(document, fth_json_get(loads, "index"), NULL, index);
    fth_json_put_integer(document, fth_json_get(loads, "cycles"), NULL, cycles);
    fth_json_put_integer(document, fth_json_get(loads, "miss"), NULL, miss);
}

/* Adds the load of line `number` of the file. */
static enum fth_status add_load(const char *path, size_t number, const char *line, size_t size,
                                struct fth_json_document *document, struct fth_error *error)
{
    struct series_row row;
    char name[64];
    int64_t index, cycles;
    const char *cause = NULL;
    if (!split_row(line, size, &row))
        cause = "does not have the fields element,load,index,cycles,result";
    else if (!read_name(&row, name))
        cause = "has no valid element name";
    else if (!read_number(&row, 2, MAX_INDEX, &index) || !read_number(&row, 3, UINT32_MAX, &cycles))
        cause = "has an index or cycles that are not a number or too large";
    else if (!field_is(&row, 4, "miss") && !field_is(&row, 4, "hit"))
        cause = "has a result that is neither hit nor miss";
    if (cause)
        return fth_fail(error, FTH_INVALID, operation, path, "line %zu %s", number, cause);
    put_load(document, name, index, cycles, field_is(&row, 4, "miss"));
    return document->failed ? fth_no_memory(error, operation, path) : FTH_OK;
}

enum fth_status fth_series_read(const char *path, const struct fth_buffer *content,
                                struct fth_json_document *document, struct fth_error *error)
{
    size_t number = 2;
    struct fth_json *root = fth_json_put(document, NULL, NULL, FTH_JSON_OBJECT);
    fth_json_put_text(document, root, "schema", "fathom-series/1");
    fth_json_put(document, root, "elements", FTH_JSON_OBJECT);
    if (document->failed)
        return fth_no_memory(error, operation, path);
    const char *end = content->data + content->size, *next;
    for (const char *line = content->data + sizeof head - 1; line < end; line = next, number++) {
        const char *stop = memchr(line, '\n', (size_t)(end - line));
        size_t size = (size_t)((stop ? stop : end) - line);
        next = line + size + 1;
        if (size > 0 && line[size - 1] == '\r')
            size--;
        FTH_TRY(add_load(path, number, line, size, document, error));
    }
    return FTH_OK;
}
