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
                        json_int_t *number)
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

static bool field_is(const struct series_row *row, int field, const char *text)
{
    return row->sizes[field] == strlen(text) &&
           memcmp(row->fields[field], text, row->sizes[field]) == 0;
}

/* Copies the name of the row's element. Returns false if it is empty, too long or contains a NUL.
 */
static bool read_name(const struct series_row *row, char name[64])
{
    if (row->sizes[0] == 0 || row->sizes[0] >= 64)
        return false;
    memcpy(name, row->fields[0], row->sizes[0]);
    name[row->sizes[0]] = '\0';
    return strlen(name) == row->sizes[0];
}

/* Returns the object with the lists of an element, and adds it if the element is new. Returns NULL
 * when out of memory. */
static json_t *find_loads(json_t *elements, const char *name)
{
    json_t *loads = json_object_get(elements, name);
    if (loads)
        return loads;
    loads = json_pack("{s:[], s:[], s:[]}", "index", "cycles", "miss");
    return json_object_set_new(elements, name, loads) == 0 ? loads : NULL;
}

/* Appends a load to the lists of an element. Returns false when out of memory. */
static bool put_load(json_t *loads, json_int_t index, json_int_t cycles, bool miss)
{
    return json_array_append_new(json_object_get(loads, "index"), json_integer(index)) == 0 &&
           json_array_append_new(json_object_get(loads, "cycles"), json_integer(cycles)) == 0 &&
           json_array_append_new(json_object_get(loads, "miss"), json_integer(miss)) == 0;
}

/* Adds the load of line `number` of the file. */
static enum fth_status add_load(const char *path, size_t number, const char *line, size_t size,
                                json_t *elements, struct fth_error *error)
{
    struct series_row row;
    char name[64];
    json_int_t index, cycles;
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
    json_t *loads = find_loads(elements, name);
    return loads && put_load(loads, index, cycles, field_is(&row, 4, "miss"))
               ? FTH_OK
               : fth_no_memory(error, operation, path);
}

enum fth_status fth_series_read(const char *path, const struct fth_buffer *content, json_t **root,
                                struct fth_error *error)
{
    json_t *elements = json_object();
    size_t number = 2;
    *root = json_pack("{s:s, s:o}", "schema", "fathom-series/1", "elements", elements);
    if (!*root)
        return fth_no_memory(error, operation, path);
    const char *end = content->data + content->size, *next;
    for (const char *line = content->data + sizeof head - 1; line < end; line = next, number++) {
        const char *stop = memchr(line, '\n', (size_t)(end - line));
        size_t size = (size_t)((stop ? stop : end) - line);
        next = line + size + 1;
        if (size > 0 && line[size - 1] == '\r')
            size--;
        FTH_TRY(add_load(path, number, line, size, elements, error));
    }
    return FTH_OK;
}
