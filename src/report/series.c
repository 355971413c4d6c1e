/* Converts the CSV output of 'fathom dissect --series', which has one load per row, to a document
 * for the HTML page: for each element, the line that each load accessed, its cycles, and whether it
 * missed. Malformed or impossible numbers are refused here, so that the scripts of the page can
 * rely on them.
 */
#include "base/json.h"
#include "report/report.h"

#include <string.h>

static const char head[] = "element,load,index,cycles,result\n";

/* MAX_INDEX: largest index of a line. A limit against damaged files; far above the number of lines
 * of any walk. */
enum { FIELDS = 5, MAX_INDEX = 1 << 24 };

struct row {
    const char *fields[FIELDS];
    size_t sizes[FIELDS];
};

bool fth_is_series(const struct fth_buffer *content)
{
    return content->size >= sizeof head - 1 && memcmp(content->data, head, sizeof head - 1) == 0;
}

/* Splits a line into its fields. Returns false unless there are exactly FIELDS. */
static bool split_row(const char *line, size_t size, struct row *row)
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
static bool read_number(const struct row *row, int field, uint64_t max_value, json_int_t *number)
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
    *number = (json_int_t)value;
    return row->sizes[field] > 0;
}

static bool field_is(const struct row *row, int field, const char *text)
{
    return row->sizes[field] == strlen(text) &&
           memcmp(row->fields[field], text, row->sizes[field]) == 0;
}

/* Returns the object with the lists of the row's element, and adds it if the element is new.
 * Returns NULL if the name is empty, too long or contains a NUL. */
static json_t *find_loads(json_t *elements, const struct row *row)
{
    char name[64];
    if (row->sizes[0] == 0 || row->sizes[0] >= sizeof name)
        return NULL;
    memcpy(name, row->fields[0], row->sizes[0]);
    name[row->sizes[0]] = '\0';
    if (strlen(name) != row->sizes[0])
        return NULL;
    json_t *loads = json_object_get(elements, name);
    if (loads)
        return loads;
    loads = json_pack("{s:[], s:[], s:[]}", "index", "cycles", "miss");
    return json_object_set_new(elements, name, loads) == 0 ? loads : NULL;
}

/* Adds the load of a row. Returns NULL, or what is wrong with the row. */
static const char *add_load(json_t *elements, const struct row *row)
{
    json_int_t index, cycles;
    const bool miss = field_is(row, 4, "miss");
    json_t *loads = find_loads(elements, row);
    if (!loads)
        return "has no valid element name";
    if (!read_number(row, 2, MAX_INDEX, &index) || !read_number(row, 3, UINT32_MAX, &cycles))
        return "has an index or cycles that are not a number or too large";
    if (!miss && !field_is(row, 4, "hit"))
        return "has a result that is neither hit nor miss";
    json_array_append_new(json_object_get(loads, "index"), json_integer(index));
    json_array_append_new(json_object_get(loads, "cycles"), json_integer(cycles));
    json_array_append_new(json_object_get(loads, "miss"), json_integer(miss));
    return NULL;
}

enum fth_status fth_series_read(const char *path, const struct fth_buffer *content, json_t **root,
                                struct fth_error *error)
{
    json_t *elements = json_object();
    size_t number = 2;
    *root = json_pack("{s:s, s:o}", "schema", "fathom-series/1", "elements", elements);
    if (!*root)
        return fth_no_memory(error, "read series", path);
    const char *end = content->data + content->size, *next;
    for (const char *line = content->data + sizeof head - 1; line < end; line = next, number++) {
        const char *stop = memchr(line, '\n', (size_t)(end - line));
        size_t size = (size_t)((stop ? stop : end) - line);
        struct row row;
        next = line + size + 1;
        if (size > 0 && line[size - 1] == '\r')
            size--;
        const char *cause = split_row(line, size, &row)
                                ? add_load(elements, &row)
                                : "does not have the fields element,load,index,cycles,result";
        if (cause)
            return fth_fail(error, FTH_INVALID, "read series", path, "line %zu %s", number, cause);
    }
    return FTH_OK;
}
