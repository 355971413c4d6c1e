/* Writes the points of an exploration as a table with one row per kernel and point. CSV and JSON
 * have all figures. Text has those that fit the width of the terminal; what is the same in all rows
 * is said above the table. */
#include "report/results/points_rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char operation[] = "show points";

/* The figures: their keys, their heads in text, and whether text shows them as sizes. */
static const struct {
    const char *key, *head;
    bool bytes;
} figures[FTH_POINT_FIGURES] = {
    [FTH_POINT_L1_READS] = {"l1_read_sectors", "L1 reads", false},
    [FTH_POINT_L1_HIT] = {"l1_read_hit_percent", "L1 hit%", false},
    [FTH_POINT_L1_MERGED] = {"l1_merged_sectors", "merged", false},
    [FTH_POINT_L1_FAILS] = {"l1_fails", "L1 fails", false},
    [FTH_POINT_L1_STEPS] = {"l1_steps", "L1 steps", false},
    [FTH_POINT_L2_SECTORS] = {"l2_sectors", "L2 sectors", false},
    [FTH_POINT_L2_ALL_HIT] = {"l2_hit_percent", "L2 all hit%", false},
    [FTH_POINT_L2_HIT] = {"l2_read_hit_percent", "L2 hit%", false},
    [FTH_POINT_L2_OFF_HIT] = {"l2_read_hit_percent_l1_off", "L1 off: L2 hit%", false},
    [FTH_POINT_L2_STEPS] = {"l2_steps", "L2 steps", false},
    [FTH_POINT_TIME] = {"time_us", "Time us", false},
    [FTH_POINT_L2_BYTES] = {"l2_bytes", "L2 bytes", true},
    [FTH_POINT_DRAM_BYTES] = {"dram_bytes", "DRAM", true},
    [FTH_POINT_FLOOR] = {"time_floor_us", "Floor us", false},
};

/* ---- CSV and JSON ---- */

/* The columns of CSV and JSON: first those of the point, then the varied parameters, the kernel,
 * the figures, and what was added later. */
static size_t make_columns(const struct fth_point_rows *rows, struct fth_column *columns)
{
    size_t count = 0;
    columns[count++] = (struct fth_column){"point", "Point", FTH_COLUMN_NUMBER};
    columns[count++] = (struct fth_column){"study", "Study", FTH_COLUMN_TEXT};
    columns[count++] = (struct fth_column){"trace", "Trace", FTH_COLUMN_TEXT};
    for (size_t i = 0; i < rows->name_count; i++)
        columns[count++] = (struct fth_column){rows->names[i], rows->names[i], FTH_COLUMN_TEXT};
    columns[count++] = (struct fth_column){"kernel", "Kernel", FTH_COLUMN_KERNEL};
    for (int i = 0; i < FTH_POINT_FIGURES; i++) {
        if (i == FTH_POINT_TIME)
            columns[count++] = (struct fth_column){"timed", "Timed", FTH_COLUMN_TEXT};
        columns[count++] = (struct fth_column){figures[i].key, figures[i].head, FTH_COLUMN_NUMBER};
    }
    columns[count++] = (struct fth_column){"gpu", "GPU", FTH_COLUMN_TEXT};
    return count;
}

static void put_row(struct fth_cells *cells, const struct fth_point_rows *rows,
                    const struct fth_point_row *row)
{
    static const char *const timed[] = {
        [FTH_TIMED_UNKNOWN] = NULL, [FTH_TIMED_NO] = "no", [FTH_TIMED_YES] = "yes"};
    const struct fth_point_entry *point = &rows->points[row->point];
    fth_cells_put(cells, NULL, point->number);
    fth_cells_put_text(cells, point->study);
    fth_cells_put_text(cells, point->trace);
    for (size_t i = 0; i < rows->name_count; i++)
        fth_cells_put_text(cells, point->values[i]);
    fth_cells_put_text(cells, row->kernel);
    for (int i = 0; i < FTH_POINT_FIGURES; i++) {
        if (i == FTH_POINT_TIME)
            fth_cells_put_text(cells, timed[point->timed]);
        fth_cells_put(cells, NULL, row->figures[i]);
    }
    fth_cells_put_text(cells, point->gpu);
}

static enum fth_status show_all(const char *format, const struct fth_point_rows *rows,
                                const struct fth_point_order *order,
                                const struct fth_report_options *options, char **text, size_t *size,
                                struct fth_error *error)
{
    /* point, study, trace, kernel, timed, gpu */
    struct fth_column columns[FTH_POINTS_MAX_NAMES + FTH_POINT_FIGURES + 6];
    struct fth_cells cells = {0};
    size_t row_count = 0;
    for (size_t i = 0; i < order->count; i++) {
        const struct fth_point_entry *point = &rows->points[order->points[i]];
        for (size_t k = 0; k < point->count; k++, row_count++)
            put_row(&cells, rows, &rows->rows[point->first + k]);
    }
    const struct fth_table table = {columns, make_columns(rows, columns), cells.items, row_count};
    const enum fth_status status =
        cells.failed ? fth_no_memory(error, operation, NULL)
                     : fth_report_table(format, &table, options, text, size, error);
    fth_cells_fini(&cells);
    return status;
}

/* ---- text ---- */

/* Point, study, trace, GPU, kernel, the varied parameters, and the figures. */
enum { MAX_COLUMNS = FTH_POINTS_MAX_NAMES + FTH_POINT_FIGURES + 5 };

struct text_column {
    const char *key, *head;
    bool right;         /* aligned to the right */
    const char **cells; /* [row_count]; NULL: no value */
};

struct text_table {
    const struct fth_point_rows *rows;
    const struct fth_report_options *options;
    struct fth_arena arena;
    const struct fth_point_row **shown; /* [row_count] */
    size_t row_count;
    struct text_column columns[MAX_COLUMNS];
    size_t count, limit;
    struct fth_buffer same;   /* what is the same in all rows */
    bool has_floor, has_time; /* a time is a floor; a time is an estimate */
    bool failed;
};

static const struct fth_point_entry *point_of(const struct text_table *table, size_t row)
{
    return &table->rows->points[table->shown[row]->point];
}

/* Adds a column without cells. Returns NULL without memory. */
static struct text_column *add_column(struct text_table *table, const char *key, const char *head,
                                      bool right)
{
    struct text_column *column = &table->columns[table->count];
    *column = (struct text_column){.key = key, .head = head, .right = right};
    column->cells = fth_arena_array(&table->arena, table->row_count + 1, sizeof *column->cells);
    if (!column->cells) {
        table->failed = true;
        return NULL;
    }
    table->count++;
    return column;
}

static const char *keep(struct text_table *table, const char *text)
{
    const char *kept = fth_arena_text(&table->arena, text);
    table->failed = table->failed || !kept;
    return kept;
}

/* If all cells of the last column are the same, and not empty, removes it and appends "WHAT CELL"
 * to what is the same. */
static void finish_column(struct text_table *table, const char *what)
{
    const struct text_column *column = &table->columns[table->count - 1];
    const char *first = column->cells[0];
    for (size_t i = 1; i < table->row_count; i++)
        if (strcmp(first ? first : "", column->cells[i] ? column->cells[i] : "") != 0)
            return;
    table->count--;
    if (first && *first)
        fth_buffer_format(&table->same, "%s%s%s", table->same.size ? ", " : "", what, first);
}

enum point_text { STUDY, GPU, TRACE };

static void add_text(struct text_table *table, const char *head, const char *what,
                     enum point_text which)
{
    struct text_column *column = add_column(table, head, head, false);
    if (!column)
        return;
    for (size_t i = 0; i < table->row_count; i++) {
        const struct fth_point_entry *point = point_of(table, i);
        column->cells[i] = which == STUDY ? point->study : which == GPU ? point->gpu : point->trace;
    }
    finish_column(table, what);
}

static void add_kernel(struct text_table *table)
{
    struct text_column *column = add_column(table, "kernel", "Kernel", false);
    char name[FTH_NAME_BYTES];
    for (size_t i = 0; column && i < table->row_count; i++) {
        if (!table->shown[i]->kernel)
            continue;
        fth_demangle(table->shown[i]->kernel, FTH_NAME_SHORT, name, sizeof name);
        column->cells[i] = keep(table, name);
    }
    if (column)
        finish_column(table, "kernel ");
}

static void add_value(struct text_table *table, size_t name)
{
    char what[160];
    const char *varied = table->rows->names[name];
    struct text_column *column = add_column(table, varied, varied, false);
    for (size_t i = 0; column && i < table->row_count; i++)
        column->cells[i] = point_of(table, i)->values[name];
    snprintf(what, sizeof what, "%s=", table->rows->names[name]);
    if (column)
        finish_column(table, what);
}

/* Returns the text of a figure; NULL: the row does not have it. A row without time has the time
 * floor instead. */
static const char *figure_text(struct text_table *table, const struct fth_point_row *row,
                               enum fth_point_figure figure)
{
    char number[32], text[40];
    double value = row->figures[figure];
    const bool is_floor = figure == FTH_POINT_TIME && isnan(value);
    if (is_floor)
        value = row->figures[FTH_POINT_FLOOR];
    if (isnan(value))
        return NULL;
    if (figures[figure].bytes)
        fth_size_format(value, number, sizeof number);
    else
        fth_number_format(value, number, sizeof number);
    table->has_floor = table->has_floor || is_floor;
    table->has_time = table->has_time || (figure == FTH_POINT_TIME && !is_floor);
    snprintf(text, sizeof text, "%s%s", !is_floor ? "" : table->options->utf8 ? "≥" : ">=", number);
    return keep(table, text);
}

/* Adds the column of a figure. */
static void add_figure(struct text_table *table, enum fth_point_figure figure)
{
    struct text_column *column = add_column(table, figures[figure].key, figures[figure].head, true);
    if (!column)
        return;
    for (size_t i = 0; i < table->row_count; i++)
        column->cells[i] = figure_text(table, table->shown[i], figure);
}

/* Makes a table of the columns. On failure, sets `failed`. */
static struct fth_table make_table(struct text_table *table, struct fth_column columns[MAX_COLUMNS],
                                   struct fth_cells *cells)
{
    for (size_t i = 0; i < table->count; i++)
        columns[i] =
            (struct fth_column){table->columns[i].key, table->columns[i].head,
                                table->columns[i].right ? FTH_COLUMN_REMARK : FTH_COLUMN_TEXT};
    for (size_t row = 0; row < table->row_count; row++)
        for (size_t i = 0; i < table->count; i++)
            fth_cells_put_text(cells, table->columns[i].cells[row]);
    table->failed = table->failed || cells->failed;
    return (struct fth_table){columns, table->count, cells->items, table->row_count};
}

/* Returns whether all columns fit. */
static bool fits(struct text_table *table)
{
    struct fth_column columns[MAX_COLUMNS];
    struct fth_cells cells = {0};
    const struct fth_table made = make_table(table, columns, &cells);
    const bool result =
        table->failed || fth_text_table_least(&made, table->options) <= table->limit;
    fth_cells_fini(&cells);
    return result;
}

/* Joins the columns of the values, `count` from index `first` on, to one. */
static void join_values(struct text_table *table, size_t first, size_t count)
{
    struct text_column *joined = &table->columns[first];
    const char **cells = fth_arena_array(&table->arena, table->row_count + 1, sizeof *cells);
    table->failed = table->failed || !cells;
    for (size_t row = 0; row < table->row_count && cells; row++) {
        struct fth_buffer text = {0};
        for (size_t i = 0; i < count; i++) {
            const char *cell = table->columns[first + i].cells[row];
            fth_buffer_format(&text, "%s%s", i ? " " : "", cell ? cell : "-");
        }
        table->failed = table->failed || text.failed;
        cells[row] = text.data ? keep(table, text.data) : NULL;
        fth_buffer_fini(&text);
    }
    *joined = (struct text_column){.key = "values", .head = "Values", .cells = cells};
    table->count -= count - 1;
    memmove(joined + 1, joined + count, (table->count - first - 1) * sizeof *joined);
}

/* Joins the columns of several values if the main figures do not fit otherwise, or if all figures
 * fit then. `main_fits`: the main figures fit with a column for each parameter. */
static void join_if_necessary(struct text_table *table, size_t first, size_t count, bool main_fits)
{
    struct text_column columns[MAX_COLUMNS];
    const size_t all = table->count;
    if (count < 2 || (main_fits && fits(table)))
        return;
    memcpy(columns, table->columns, sizeof columns);
    join_values(table, first, count);
    if (main_fits && !table->failed && !fits(table)) {
        memcpy(table->columns, columns, sizeof columns);
        table->count = all;
        return;
    }
    fth_buffer_format(&table->same, "%svalues of", table->same.size ? "; " : "");
    for (size_t i = 0; i < count; i++)
        fth_buffer_format(&table->same, "%s %s", i ? "," : "", columns[first + i].head);
}

static void add_columns(struct text_table *table, bool rdgc)
{
    static const enum fth_point_figure main_figures[] = {FTH_POINT_L1_HIT, FTH_POINT_L2_HIT,
                                                         FTH_POINT_L2_BYTES, FTH_POINT_DRAM_BYTES,
                                                         FTH_POINT_TIME},
                                       rdgc_figures[] = {FTH_POINT_L1_READS,   FTH_POINT_L1_MERGED,
                                                         FTH_POINT_L1_FAILS,   FTH_POINT_L1_STEPS,
                                                         FTH_POINT_L2_SECTORS, FTH_POINT_L2_ALL_HIT,
                                                         FTH_POINT_L2_OFF_HIT, FTH_POINT_L2_STEPS},
                                       more_figures[] = {FTH_POINT_L1_READS, FTH_POINT_L2_SECTORS,
                                                         FTH_POINT_L2_ALL_HIT, FTH_POINT_FLOOR};
    struct text_column *number = add_column(table, "point", "Point", true);
    for (size_t i = 0; number && i < table->row_count; i++) {
        char text[32];
        fth_number_format(point_of(table, i)->number, text, sizeof text);
        number->cells[i] = keep(table, text);
    }
    add_text(table, "Study", "study ", STUDY);
    add_text(table, "Trace", "trace ", TRACE);
    add_text(table, "GPU", "GPU ", GPU);
    const size_t first = table->count;
    for (size_t i = 0; i < table->rows->name_count; i++)
        add_value(table, i);
    const size_t values = table->count - first;
    add_kernel(table);
    for (size_t i = 0; i < FTH_COUNT(main_figures); i++)
        add_figure(table, main_figures[i]);
    const bool main_fits = fits(table);
    for (size_t i = 0; i < (rdgc ? FTH_COUNT(rdgc_figures) : FTH_COUNT(more_figures)); i++)
        add_figure(table, rdgc ? rdgc_figures[i] : more_figures[i]);
    join_if_necessary(table, first, values, main_fits);
}

/* The columns that a narrow terminal does not show, the least important one first. */
static const char *const drop_columns[] = {
    "time_floor_us", "l2_hit_percent",      "l2_sectors", "l1_read_sectors",
    "l2_bytes",      "l2_read_hit_percent", NULL};

/* Writes the lines above the table, and the table. */
static void write_text(struct text_table *table, const struct fth_point_order *order, bool rdgc,
                       struct fth_buffer *out)
{
    struct fth_column columns[MAX_COLUMNS];
    struct fth_cells cells = {0};
    struct fth_buffer above = {0};
    if (table->same.size)
        fth_buffer_format(&above, "All rows: %s.\n", table->same.data);
    if (order->notes.size)
        fth_buffer_text(&above, order->notes.data);
    if (table->has_floor)
        fth_buffer_format(&above, "A time with %s is the time floor: the model ran without time.\n",
                          table->options->utf8 ? "≥" : ">=");
    if (table->has_floor && table->has_time)
        fth_buffer_text(&above, "To compare points with and without time, run all of them with "
                                "gpu.timing=off.\n");
    fth_write_prose(&above, table->options, out);
    const struct fth_table shown = make_table(table, columns, &cells);
    table->failed = table->failed || table->same.failed || order->notes.failed;
    if (!table->failed)
        fth_text_table_fit(&shown, rdgc ? NULL : drop_columns, table->options, out);
    fth_cells_fini(&cells);
}

static enum fth_status show_text(const struct fth_point_rows *rows,
                                 const struct fth_point_order *order,
                                 const struct fth_points_view *view,
                                 const struct fth_report_options *options, char **text,
                                 size_t *size, struct fth_error *error)
{
    struct text_table table = {
        .rows = rows, .options = options, .limit = fth_report_columns(options)};
    struct fth_buffer out = {0};
    table.shown = calloc(rows->row_count + 1, sizeof *table.shown);
    for (size_t i = 0; i < order->count && table.shown; i++) {
        const struct fth_point_entry *point = &rows->points[order->points[i]];
        for (size_t k = 0; k < point->count; k++)
            table.shown[table.row_count++] = &rows->rows[point->first + k];
    }
    table.failed = !table.shown;
    if (table.row_count)
        add_columns(&table, view->rdgc);
    if (!table.failed)
        write_text(&table, order, view->rdgc, &out);
    const enum fth_status status = table.failed ? fth_no_memory(error, operation, NULL)
                                                : fth_buffer_take(&out, text, size, error);
    fth_buffer_fini(&out);
    fth_buffer_fini(&table.same);
    fth_arena_fini(&table.arena);
    free(table.shown);
    return status;
}

/* ---- both ---- */

enum fth_status fth_report_points_view(const char *format, const char *points, size_t points_size,
                                       const struct fth_points_view *given_view,
                                       const struct fth_report_options *given, char **text,
                                       size_t *size, struct fth_error *error)
{
    struct fth_points_view view;
    struct fth_report_options options;
    struct fth_point_rows rows;
    struct fth_point_order order = {0};
    *text = NULL;
    *size = 0;
    FTH_TRY(fth_report_check(format, FTH_REPORT_TABLE, error));
    FTH_TRY(fth_options_read("fth_points_view", given_view, &view, sizeof view, error));
    FTH_TRY(fth_options_read("fth_report_options", given, &options, sizeof options, error));
    enum fth_status status = fth_point_rows_read(&rows, points, points_size, error);
    if (status == FTH_OK)
        status = fth_point_order_find(&rows, &view, &order, error);
    if (status == FTH_OK)
        status = strcmp(format, "text") == 0
                     ? show_text(&rows, &order, &view, &options, text, size, error)
                     : show_all(format, &rows, &order, &options, text, size, error);
    fth_point_order_fini(&order);
    fth_point_rows_fini(&rows);
    return status;
}

enum fth_status fth_report_points(const char *format, const char *points, size_t points_size,
                                  const struct fth_report_options *options, char **text,
                                  size_t *size, struct fth_error *error)
{
    return fth_report_points_view(format, points, points_size, NULL, options, text, size, error);
}
