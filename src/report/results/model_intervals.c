/* Adds the intervals of a result of the model (fth_model_intervals) to its table of kernels or
 * launches, and to JSON, which also has the expected errors of sampling. A table for the terminal
 * shows them beside the values, "62.3 (61–63.1)". CSV has two more columns for each of these
 * values, at the end of the row. */
#include "model/model.h"
#include "report/report.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How a figure is shown. */
struct figure {
    const char *key;                  /* of its column */
    const char *keys[2];              /* of the columns of its interval in CSV */
    const char *json;                 /* its key in JSON */
    size_t offset;                    /* in struct fth_model_intervals */
    double cell_scale, cell_rounding; /* the cell has round(value * scale * rounding) / rounding */
    double json_scale, json_rounding; /* the same in JSON; rounding 0: not rounded */
    enum fth_column_kind kind;
};

#define FIGURE(column, json, member, ...)                                                          \
    {                                                                                              \
        column, {column "_min", column "_max"}, json,                                              \
            offsetof(struct fth_model_intervals, member), __VA_ARGS__                              \
    }

static const struct figure figures[] = {
    FIGURE("l1_read_hit_percent", "L1_R_Hit", l1_read_hit_ratio, 100, 100, 1, 0, FTH_COLUMN_NUMBER),
    FIGURE("l2_sectors", "L2_Trans", l2_sectors, 1, 1, 1, 0, FTH_COLUMN_NUMBER),
    FIGURE("l2_hit_percent", "L2_Hit", l2_hit_ratio, 100, 100, 1, 0, FTH_COLUMN_NUMBER),
    FIGURE("l2_read_hit_percent", "L2_R_Hit", l2_read_hit_ratio, 100, 100, 1, 0, FTH_COLUMN_NUMBER),
    FIGURE("dram_read_bytes", "dram_read_sectors", dram_read_sectors, 32, 1, 1, 0,
           FTH_COLUMN_BYTES),
    FIGURE("dram_write_bytes", "dram_write_sectors", dram_write_sectors, 32, 1, 1, 0,
           FTH_COLUMN_BYTES),
    FIGURE("time_us", "time_us", seconds, 1e6, 1e3, 1e6, 1e3, FTH_COLUMN_NUMBER),
};

/* Gives the two ends of an interval as they are shown. */
static void read_ends(const struct figure *figure, const struct fth_model_intervals *intervals,
                      double scale, double rounding, double ends[2])
{
    const struct fth_model_interval *interval =
        (const struct fth_model_interval *)(const void *)((const char *)intervals + figure->offset);
    ends[0] = interval->min * scale;
    ends[1] = interval->max * scale;
    for (int i = 0; i < 2 && rounding > 0; i++)
        ends[i] = round(ends[i] * rounding) / rounding;
}

/* ---- tables ---- */

static const char *format_number(enum fth_column_kind kind, double number, char text[64])
{
    return kind == FTH_COLUMN_BYTES ? fth_size_format(number, text, 64)
                                    : fth_number_format(number, text, 64);
}

/* Sets the text of a cell: its value and the interval. An interval whose ends look the same as the
 * value is left out. */
static void set_text(struct fth_cells *cells, struct fth_cell *cell, const struct figure *figure,
                     const double ends[2], bool utf8)
{
    char value[64], low[64], high[64], text[200] = "";
    if (!isnan(cell->number))
        snprintf(text, sizeof text, "%s", format_number(figure->kind, cell->number, value));
    if (!isnan(cell->number) && (ends[0] != cell->number || ends[1] != cell->number))
        snprintf(text, sizeof text, "%s (%s%s%s)", value, format_number(figure->kind, ends[0], low),
                 utf8 ? "–" : "-", format_number(figure->kind, ends[1], high));
    cell->text = fth_arena_text(&cells->arena, text);
    cells->failed = cells->failed || !cell->text;
}

/* Returns the index of the column of a figure. */
static size_t find_column(const struct fth_table *table, const struct figure *figure)
{
    size_t at = 0;
    while (at < table->column_count && strcmp(table->columns[at].key, figure->key) != 0)
        at++;
    return at;
}

static void set_texts(struct fth_cells *cells, const struct fth_table *table, size_t row,
                      const struct fth_model_intervals *intervals, bool utf8)
{
    for (size_t i = 0; i < FTH_COUNT(figures); i++) {
        const size_t column = find_column(table, &figures[i]);
        double ends[2];
        read_ends(&figures[i], intervals, figures[i].cell_scale, figures[i].cell_rounding, ends);
        if (column < table->column_count)
            set_text(cells, &cells->items[row * table->column_count + column], &figures[i], ends,
                     utf8);
    }
}

/* Appends the cells of the columns for CSV to a copy of a row. */
static void put_wide_row(struct fth_cells *wide, const struct fth_table *table, size_t row,
                         const struct fth_model_intervals *intervals)
{
    for (size_t i = 0; i < table->column_count; i++) {
        const struct fth_cell *cell = &table->cells[row * table->column_count + i];
        fth_cells_put(wide, cell->text, cell->number);
    }
    for (size_t i = 0; i < FTH_COUNT(figures); i++) {
        double ends[2];
        read_ends(&figures[i], intervals, figures[i].cell_scale, figures[i].cell_rounding, ends);
        fth_cells_put(wide, NULL, ends[0]);
        fth_cells_put(wide, NULL, ends[1]);
    }
}

/* Makes the columns of figures columns of texts. */
static void change_columns(struct fth_cells *cells, struct fth_table *table)
{
    struct fth_column *columns =
        fth_arena_array(&cells->arena, table->column_count, sizeof *columns);
    if (!columns) {
        cells->failed = true;
        return;
    }
    memcpy(columns, table->columns, table->column_count * sizeof *columns);
    for (size_t i = 0; i < FTH_COUNT(figures); i++) {
        const size_t column = find_column(table, &figures[i]);
        if (column < table->column_count)
            columns[column].kind = FTH_COLUMN_REMARK;
    }
    table->columns = columns;
}

/* Adds the columns for CSV to the table. */
static void widen_columns(struct fth_cells *cells, struct fth_table *table)
{
    const size_t count = table->column_count;
    struct fth_column *columns =
        fth_arena_array(&cells->arena, count + 2 * FTH_COUNT(figures), sizeof *columns);
    if (!columns) {
        cells->failed = true;
        return;
    }
    memcpy(columns, table->columns, count * sizeof *columns);
    for (size_t i = 0; i < 2 * FTH_COUNT(figures); i++)
        columns[count + i] = (struct fth_column){figures[i / 2].keys[i % 2],
                                                 figures[i / 2].keys[i % 2], figures[i / 2].kind};
    table->columns = columns;
    table->column_count = count + 2 * FTH_COUNT(figures);
}

void fth_table_add_intervals(struct fth_cells *cells, struct fth_table *table,
                             enum fth_model_view view, const struct fth_model_result *result,
                             bool csv, bool utf8)
{
    struct fth_cells wide = {0};
    const struct fth_model_row *row;
    size_t shown = 0;
    if (cells->failed || !result->intervals ||
        (view != FTH_MODEL_VIEW_KERNELS && view != FTH_MODEL_VIEW_LAUNCHES))
        return;
    for (size_t i = 0; (row = fth_model_row(result, i)); i++) {
        if (!fth_model_view_shows(view, row))
            continue;
        if (csv)
            put_wide_row(&wide, table, shown, &result->intervals[i]);
        else
            set_texts(cells, table, shown, &result->intervals[i], utf8);
        shown++;
    }
    if (!csv) {
        change_columns(cells, table);
        return;
    }
    widen_columns(cells, table);
    free(cells->items);
    cells->items = wide.items;
    cells->count = wide.count;
    cells->capacity = wide.capacity;
    cells->failed = cells->failed || wide.failed;
    table->cells = cells->items;
}

/* ---- JSON ---- */

void fth_json_sample_errors(struct fth_json_writer *json, const struct fth_model_row *row)
{
    static const char *const keys[] = {"L1_R_Hit", "L2_R_Hit"};
    fth_json_key(json, "sample_errors");
    fth_json_begin(json, '{', true);
    for (int level = 1; level <= 2; level++) {
        const double error = fth_model_sample_error(row, level);
        fth_json_key(json, keys[level - 1]);
        if (isnan(error))
            fth_json_null(json);
        else
            fth_json_number(json, round(1e5 * error) / 1e5);
    }
    fth_json_end(json, '}');
}

void fth_json_intervals(struct fth_json_writer *json, const struct fth_model_intervals *intervals)
{
    fth_json_key(json, "intervals");
    fth_json_begin(json, '{', true);
    for (size_t i = 0; i < FTH_COUNT(figures); i++) {
        double ends[2];
        read_ends(&figures[i], intervals, figures[i].json_scale, figures[i].json_rounding, ends);
        fth_json_key(json, figures[i].json);
        if (isnan(ends[0])) {
            fth_json_null(json);
            continue;
        }
        fth_json_begin(json, '[', true);
        fth_json_number(json, ends[0]);
        fth_json_number(json, ends[1]);
        fth_json_end(json, ']');
    }
    fth_json_end(json, '}');
}
