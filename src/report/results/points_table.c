/* Writes the points of an exploration as a table with one row per kernel and point. In CSV and
 * JSON, each varied parameter has a column; in text, one column lists all of them. */
#include "base/json.h"
#include "report/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* MAX_NAMES: varied parameters; further ones are not shown. READ: index of the reads in lists of
 * reads, writes and atomics. */
enum { MAX_NAMES = 64, READ = 0 };

static const struct fth_column first_columns[] = {
    {"point", "Point", FTH_COLUMN_NUMBER},
    {"study", "Study", FTH_COLUMN_TEXT},
    {"trace", "Trace", FTH_COLUMN_TEXT},
};
static const struct fth_column values_column = {"values", "Values", FTH_COLUMN_TEXT};
static const struct fth_column last_columns[] = {
    {"kernel", "Kernel", FTH_COLUMN_KERNEL},
    {"l1_read_sectors", "L1 reads", FTH_COLUMN_NUMBER},
    {"l1_read_hit_percent", "hit %", FTH_COLUMN_NUMBER},
    {"l1_merged_sectors", "merged", FTH_COLUMN_NUMBER},
    {"l1_fails", "fails", FTH_COLUMN_NUMBER},
    {"l1_steps", "steps", FTH_COLUMN_NUMBER},
    {"l2_sectors", "L2", FTH_COLUMN_NUMBER},
    {"l2_hit_percent", "all hit%", FTH_COLUMN_NUMBER},
    {"l2_read_hit_percent", "rd hit%", FTH_COLUMN_NUMBER},
    {"l2_read_hit_percent_l1_off", "L1 off: rd hit%", FTH_COLUMN_NUMBER},
    {"l2_steps", "steps", FTH_COLUMN_NUMBER},
    {"timed", "Timed", FTH_COLUMN_TEXT},
    {"time_us", "Time us", FTH_COLUMN_NUMBER},
};

struct builder {
    struct fth_cells cells;
    const char *names[MAX_NAMES]; /* varied parameters */
    size_t name_count;
    bool column_per_name; /* otherwise one column lists all varied parameters */
    size_t rows, timed_rows;
};

/* Adds a cell with a copy of the text. */
static void put_text(struct builder *builder, const char *text)
{
    char *kept = text ? fth_arena_text(&builder->cells.arena, text) : NULL;
    builder->cells.failed = builder->cells.failed || (text && !kept);
    fth_cells_put_text(&builder->cells, kept);
}

static void put_number(struct builder *builder, const struct fth_json *object, const char *key)
{
    const struct fth_json *value = fth_json_get(object, key);
    fth_cells_put(&builder->cells, NULL, value ? fth_json_double(value) : (double)NAN);
}

/* Returns the sum of a list of reads, writes and atomics, or only the reads. NAN: no such list. */
static double sum_kinds(const struct fth_json *counts, const char *key, bool reads_only)
{
    const struct fth_json *list = fth_json_get(counts, key);
    double sum = fth_json_double(fth_json_item(list, READ));
    for (size_t i = 1; i < 3 && !reads_only; i++)
        sum += fth_json_double(fth_json_item(list, i));
    return list ? sum : (double)NAN;
}

static double hit_percent(const struct fth_json *counts, bool reads_only)
{
    const double sectors = sum_kinds(counts, "sectors", reads_only);
    return sectors > 0 ? round(10000 * sum_kinds(counts, "hits", reads_only) / sectors) / 100
                       : (double)NAN;
}

static void put_values(struct builder *builder, const struct fth_json *values)
{
    struct fth_buffer text = {0};
    for (size_t i = 0; i < builder->name_count; i++) {
        const char *value = fth_json_string(fth_json_get(values, builder->names[i]));
        if (builder->column_per_name)
            put_text(builder, value);
        else if (value)
            fth_buffer_format(&text, "%s%s=%s", text.size ? " " : "", builder->names[i], value);
    }
    if (!builder->column_per_name)
        put_text(builder, text.data);
    builder->cells.failed = builder->cells.failed || text.failed;
    fth_buffer_fini(&text);
}

static void put_row(struct builder *builder, const struct fth_json *point,
                    const struct fth_json *row)
{
    const struct fth_json *l1 = fth_json_get(row, "l1"), *l2 = fth_json_get(row, "l2");
    put_number(builder, point, "point");
    put_text(builder, fth_json_string(fth_json_get(point, "study")));
    put_text(builder, fth_json_string(fth_json_get(point, "trace")));
    put_values(builder, fth_json_get(point, "values"));
    put_text(builder, fth_json_string(fth_json_get(row, "kernel")));
    fth_cells_put(&builder->cells, NULL, sum_kinds(l1, "sectors", true));
    fth_cells_put(&builder->cells, NULL, hit_percent(l1, true));
    fth_cells_put(&builder->cells, NULL, sum_kinds(l1, "merges", false));
    put_number(builder, row, "l1_fails");
    put_number(builder, row, "l1_steps");
    fth_cells_put(&builder->cells, NULL, sum_kinds(l2, "sectors", false));
    fth_cells_put(&builder->cells, NULL, hit_percent(l2, false));
    fth_cells_put(&builder->cells, NULL, hit_percent(l2, true));
    fth_cells_put(&builder->cells, NULL, hit_percent(fth_json_get(row, "l2_l1_off"), true));
    put_number(builder, row, "l2_steps");
    const struct fth_json *timed = fth_json_get(point, "timed");
    const bool is_timed = fth_json_is(timed, FTH_JSON_TRUE);
    fth_cells_put_text(&builder->cells, !timed ? NULL : is_timed ? "yes" : "no");
    put_number(builder, row, "time_us");
    builder->timed_rows += is_timed;
    builder->rows++;
}

/* Collects the names of the varied parameters of all studies, in the order of their first
 * appearance. */
static void find_names(struct builder *builder, const struct fth_json *header)
{
    FTH_JSON_EACH_ITEM (study, fth_json_get(header, "studies")) {
        FTH_JSON_EACH_ITEM (axis, fth_json_get(study, "vary")) {
            FTH_JSON_EACH_ITEM (name, fth_json_get(axis, "names")) {
                bool known = !fth_json_is(name, FTH_JSON_TEXT);
                for (size_t i = 0; i < builder->name_count && !known; i++)
                    known = strcmp(builder->names[i], fth_json_string(name)) == 0;
                if (known || builder->name_count == MAX_NAMES)
                    continue;
                const char *copy = fth_arena_text(&builder->cells.arena, fth_json_string(name));
                if (copy)
                    builder->names[builder->name_count++] = copy;
                else
                    builder->cells.failed = true;
            }
        }
    }
}

/* Reads the header, which is the first line, and adds the rows of all points. */
static enum fth_status read_lines(struct builder *builder, const char *text, size_t size,
                                  struct fth_error *error)
{
    enum fth_status status = FTH_OK;
    for (size_t at = 0; at < size && status == FTH_OK;) {
        const char *end = memchr(text + at, '\n', size - at);
        const size_t length = end ? (size_t)(end - text) - at : size - at;
        struct fth_json_document line = {0};
        status = fth_json_parse("points", text + at, length, &line, error);
        if (status == FTH_OK && at == 0)
            find_names(builder, line.root);
        FTH_JSON_EACH_ITEM (row, fth_json_get(line.root, "rows"))
            put_row(builder, line.root, row);
        fth_json_fini(&line);
        at += length + 1;
    }
    return status;
}

static size_t make_columns(const struct builder *builder, struct fth_column columns[])
{
    size_t count = 0;
    for (size_t i = 0; i < FTH_COUNT(first_columns); i++)
        columns[count++] = first_columns[i];
    for (size_t i = 0; i < builder->name_count && builder->column_per_name; i++)
        columns[count++] =
            (struct fth_column){builder->names[i], builder->names[i], FTH_COLUMN_TEXT};
    if (!builder->column_per_name)
        columns[count++] = values_column;
    for (size_t i = 0; i < FTH_COUNT(last_columns); i++)
        columns[count++] = last_columns[i];
    return count;
}

/* Leaves out the columns that no point has: with time, a point has no steps and no fails; without,
 * it has no time. */
static void leave_out_columns(struct builder *builder, struct fth_table *table)
{
    static const char *const steps[] = {"l1_fails", "l1_steps", "l2_steps"};
    if (builder->timed_rows == 0)
        fth_table_leave_out(&builder->cells, table, "time_us");
    else if (builder->timed_rows == builder->rows)
        for (size_t i = 0; i < FTH_COUNT(steps); i++)
            fth_table_leave_out(&builder->cells, table, steps[i]);
}

enum fth_status fth_report_points(const char *format, const char *points, size_t points_size,
                                  const struct fth_report_options *options, char **text,
                                  size_t *size, struct fth_error *error)
{
    struct fth_column columns[MAX_NAMES + FTH_COUNT(first_columns) + 1 + FTH_COUNT(last_columns)];
    struct builder builder = {.column_per_name = strcmp(format, "text") != 0};
    *text = NULL;
    *size = 0;
    enum fth_status status = read_lines(&builder, points, points_size, error);
    if (status != FTH_OK)
        goto out;
    if (builder.cells.failed) {
        status = fth_no_memory(error, "show points", NULL);
        goto out;
    }
    struct fth_table table = {columns, make_columns(&builder, columns), builder.cells.items,
                              builder.rows};
    if (!builder.column_per_name)
        leave_out_columns(&builder, &table);
    status = builder.cells.failed ? fth_no_memory(error, "show points", NULL)
                                  : fth_report_table(format, &table, options, text, size, error);
out:
    fth_cells_fini(&builder.cells);
    return status;
}
