/* What an exploration found, as a table: a row for each kernel of each point. For spreadsheets and
 * programs a column for each parameter that varies, for people one for all of them. */
#include "base/base.h"
#include "report/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_NAMES = 64, READ = 0 };

static const struct fth_column first_columns[] = {
    {"point", "Point", FTH_COLUMN_NUMBER},
    {"study", "Study", FTH_COLUMN_TEXT},
    {"trace", "Trace", FTH_COLUMN_TEXT},
};
static const struct fth_column values_column = {"values", "Values", FTH_COLUMN_TEXT};
static const struct fth_column last_columns[] = {
    {"kernel", "Kernel", FTH_COLUMN_TEXT},
    {"l1_read_sectors", "L1 reads", FTH_COLUMN_NUMBER},
    {"l1_read_hit_percent", "hit %", FTH_COLUMN_NUMBER},
    {"l1_merged_sectors", "merged", FTH_COLUMN_NUMBER},
    {"l1_fails", "fails", FTH_COLUMN_NUMBER},
    {"l1_steps", "steps", FTH_COLUMN_NUMBER},
    {"l2_sectors", "L2", FTH_COLUMN_NUMBER},
    {"l2_hit_percent", "hit %", FTH_COLUMN_NUMBER},
    {"l2_read_hit_percent", "reads %", FTH_COLUMN_NUMBER},
    {"l2_read_hit_percent_l1_off", "L1 off: reads %", FTH_COLUMN_NUMBER},
    {"l2_steps", "steps", FTH_COLUMN_NUMBER},
};

struct making {
    struct fth_cells cells;
    const char *names[MAX_NAMES]; /* of what varies */
    size_t name_count;
    bool wide; /* a column each */
    size_t rows;
};

static void put_text(struct making *making, const char *text)
{
    char *kept = text ? fth_arena_text(&making->cells.arena, text) : NULL;
    making->cells.failed = making->cells.failed || (text && !kept);
    fth_cells_put(&making->cells, kept, 0);
}

static void put_number(struct making *making, json_t *object, const char *key)
{
    json_t *value = json_object_get(object, key);
    fth_cells_put(&making->cells, NULL, value ? json_number_value(value) : (double)NAN);
}

static double three(json_t *counts, const char *key, bool reads_only)
{
    json_t *list = json_object_get(counts, key);
    double sum = json_number_value(json_array_get(list, READ));
    for (size_t i = 1; i < 3 && !reads_only; i++)
        sum += json_number_value(json_array_get(list, i));
    return list ? sum : (double)NAN;
}

static double hit_percent(json_t *counts, bool reads_only)
{
    const double sectors = three(counts, "sectors", reads_only);
    return sectors > 0 ? round(10000 * three(counts, "hits", reads_only) / sectors) / 100
                       : (double)NAN;
}

static void put_values(struct making *making, json_t *values)
{
    struct fth_buffer text = {0};
    for (size_t i = 0; i < making->name_count; i++) {
        const char *value = json_string_value(json_object_get(values, making->names[i]));
        if (making->wide)
            put_text(making, value);
        else if (value)
            fth_buffer_format(&text, "%s%s=%s", text.size ? " " : "", making->names[i], value);
    }
    if (!making->wide)
        put_text(making, text.data);
    making->cells.failed = making->cells.failed || text.failed;
    fth_buffer_fini(&text);
}

static void put_row(struct making *making, json_t *point, json_t *row)
{
    json_t *l1 = json_object_get(row, "l1"), *l2 = json_object_get(row, "l2");
    put_number(making, point, "point");
    put_text(making, json_string_value(json_object_get(point, "study")));
    put_text(making, json_string_value(json_object_get(point, "trace")));
    put_values(making, json_object_get(point, "values"));
    put_text(making, json_string_value(json_object_get(row, "kernel")));
    fth_cells_put(&making->cells, NULL, three(l1, "sectors", true));
    fth_cells_put(&making->cells, NULL, hit_percent(l1, true));
    fth_cells_put(&making->cells, NULL, three(l1, "merges", false));
    put_number(making, row, "l1_fails");
    put_number(making, row, "l1_steps");
    fth_cells_put(&making->cells, NULL, three(l2, "sectors", false));
    fth_cells_put(&making->cells, NULL, hit_percent(l2, false));
    fth_cells_put(&making->cells, NULL, hit_percent(l2, true));
    fth_cells_put(&making->cells, NULL, hit_percent(json_object_get(row, "l2_l1_off"), true));
    put_number(making, row, "l2_steps");
    making->rows++;
}

/* The names of what varies, in the order of their first appearance. */
static void find_names(struct making *making, json_t *header)
{
    size_t s, a, n;
    json_t *study, *axis, *name;
    json_array_foreach (json_object_get(header, "studies"), s, study) {
        json_array_foreach (json_object_get(study, "vary"), a, axis) {
            json_array_foreach (json_object_get(axis, "names"), n, name) {
                bool known = !json_is_string(name);
                for (size_t i = 0; i < making->name_count && !known; i++)
                    known = strcmp(making->names[i], json_string_value(name)) == 0;
                if (!known && making->name_count < MAX_NAMES)
                    making->names[making->name_count++] =
                        fth_arena_text(&making->cells.arena, json_string_value(name));
            }
        }
    }
}

static enum fth_status read_lines(struct making *making, const char *text, size_t size,
                                  struct fth_error *error)
{
    enum fth_status status = FTH_OK;
    for (size_t at = 0; at < size && status == FTH_OK;) {
        const char *end = memchr(text + at, '\n', size - at);
        const size_t length = end ? (size_t)(end - text) - at : size - at;
        json_t *line = NULL, *row;
        size_t i;
        status = fth_json_parse("points", text + at, length, &line, error);
        if (status == FTH_OK && at == 0)
            find_names(making, line);
        json_array_foreach (json_object_get(line, "rows"), i, row) {
            put_row(making, line, row);
        }
        json_decref(line);
        at += length + 1;
    }
    return status;
}

static size_t make_columns(const struct making *making, struct fth_column columns[])
{
    size_t count = 0;
    for (size_t i = 0; i < FTH_COUNT(first_columns); i++)
        columns[count++] = first_columns[i];
    for (size_t i = 0; i < making->name_count && making->wide; i++)
        columns[count++] = (struct fth_column){making->names[i], making->names[i], FTH_COLUMN_TEXT};
    if (!making->wide)
        columns[count++] = values_column;
    for (size_t i = 0; i < FTH_COUNT(last_columns); i++)
        columns[count++] = last_columns[i];
    return count;
}

enum fth_status fth_report_points(const char *format, const char *points, size_t points_size,
                                  const struct fth_report_options *options, char **text,
                                  size_t *size, struct fth_error *error)
{
    struct fth_column columns[MAX_NAMES + 16];
    struct making making = {.wide = strcmp(format, "text") != 0};
    enum fth_status status = read_lines(&making, points, points_size, error);
    if (status == FTH_OK && making.cells.failed)
        status = fth_fail(error, FTH_NO_MEMORY, "show points", NULL, "out of memory");
    if (status == FTH_OK) {
        const struct fth_table table = {columns, make_columns(&making, columns), making.cells.items,
                                        making.rows};
        status = fth_report_table(format, &table, options, text, size, error);
    }
    fth_cells_fini(&making.cells);
    return status;
}
