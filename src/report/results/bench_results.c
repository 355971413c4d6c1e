/* Writes the results of benches: as text with tables and plots like those in papers, as JSON with
 * every measured point, and as CSV with one value per row, because the series have different
 * columns.
 */
#include "report/report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- text ---- */

/* Finds the distinct values of a column in the order of their first appearance. rows[i] gets the
 * first row with the i-th value. Returns the number of values. */
static size_t distinct(const struct fth_table *table, size_t column, size_t *rows)
{
    size_t count = 0;
    for (size_t row = 0; row < table->row_count; row++) {
        const double value = table->cells[row * table->column_count + column].number;
        bool seen = false;
        for (size_t i = 0; i < count && !seen; i++)
            seen = table->cells[rows[i] * table->column_count + column].number == value;
        if (!seen)
            rows[count++] = row;
    }
    return count;
}

/* Writes a grid: one row per value of the column `down`, one column per value of `across`, and the
 * column `value` in the cells. */
static void write_grid(const struct fth_bench_series *series,
                       const struct fth_report_options *options, struct fth_buffer *out)
{
    enum { MAX_ACROSS = 127 }; /* with the first column, as many as fth_text_table() shows */
    const struct fth_table *table = &series->table;
    size_t *down = calloc(table->row_count + 1, sizeof *down);
    size_t *across = calloc(table->row_count + 1, sizeof *across);
    size_t rows = down && across ? distinct(table, series->down, down) : 0;
    size_t columns = rows ? distinct(table, series->across, across) : 0;
    columns = columns < MAX_ACROSS ? columns : MAX_ACROSS;
    struct fth_cell *cells = calloc((rows + 1) * (columns + 1), sizeof *cells);
    struct fth_column heads[MAX_ACROSS + 1] = {{.kind = FTH_COLUMN_NUMBER}};
    char texts[MAX_ACROSS + 1][40];
    snprintf(texts[0], sizeof texts[0], "%s \\ %s", table->columns[series->down].head,
             table->columns[series->across].head);
    heads[0].head = texts[0];
    for (size_t i = 0; i < columns; i++) {
        const size_t at = across[i] * table->column_count + series->across;
        if (table->cells[at].text)
            snprintf(texts[i + 1], sizeof texts[i + 1], "%s", table->cells[at].text);
        else
            fth_number_format(table->cells[at].number, texts[i + 1], sizeof texts[i + 1]);
        heads[i + 1] = (struct fth_column){.head = texts[i + 1], .kind = FTH_COLUMN_NUMBER};
    }
    out->failed = out->failed || !cells || !down || !across;
    for (size_t i = 0; i < rows && cells; i++) {
        const double key = table->cells[down[i] * table->column_count + series->down].number;
        cells[i * (columns + 1)].number = key;
        for (size_t j = 0; j < columns; j++) {
            const double other =
                table->cells[across[j] * table->column_count + series->across].number;
            struct fth_cell *cell = &cells[i * (columns + 1) + j + 1];
            cell->number = NAN;
            for (size_t row = 0; row < table->row_count; row++) {
                const struct fth_cell *point = &table->cells[row * table->column_count];
                if (point[series->down].number == key && point[series->across].number == other)
                    cell->number = point[series->value].number;
            }
        }
    }
    if (cells && rows)
        fth_text_table(&(struct fth_table){heads, columns + 1, cells, rows}, options, out);
    free(cells);
    free(down);
    free(across);
}

/* Writes the title of a series after an empty line. */
static void write_title(const char *title, const struct fth_report_options *options,
                        struct fth_buffer *out)
{
    fth_buffer_text(out, "\n");
    do {
        size_t width;
        const size_t bytes = fth_text_line(title, fth_report_columns(options), &width);
        fth_buffer_text(out, options->colour ? "\033[1m" : "");
        fth_text_append_bytes(out, title, bytes);
        fth_buffer_text(out, options->colour ? "\033[0m\n" : "\n");
        title += bytes;
        title += strspn(title, " ");
    } while (*title);
}

/* The columns that a narrow terminal does not show, the least important one first. */
static const char *const drop_columns[] = {"repeats", "hinted", "unroll", NULL};

static void write_text(const struct fth_bench *bench, const struct fth_report_options *options,
                       struct fth_buffer *out)
{
    const struct fth_gpu *gpu = fth_bench_gpu(bench);
    const char *name = fth_gpu_text(gpu, "device", "name");
    const char *backend = fth_gpu_text(gpu, "device", "backend");
    fth_text_append(out, name ? name : "GPU", 200, "");
    fth_buffer_text(out, backend && strcmp(backend, "simulated") == 0 ? ", simulated\n" : "\n");
    for (size_t i = 0; i < fth_bench_series_count(bench); i++) {
        const struct fth_bench_series *series = fth_bench_series_at(bench, i);
        write_title(series->title, options, out);
        if (series->plot)
            fth_text_plot(series, options, out);
        if (series->detail)
            fth_buffer_format(out, "%zu points; see the JSON or CSV output\n",
                              series->table.row_count);
        else if (series->grid)
            write_grid(series, options, out);
        else if (series->table.row_count)
            fth_text_table_fit(&series->table, drop_columns, options, out);
        for (size_t j = 0; j < series->figure_count; j++) {
            const struct fth_bench_figure *figure = &series->figures[j];
            char number[40];
            fth_buffer_format(out, "%s: %s%s%s\n", figure->key,
                              fth_number_format(figure->value, number, sizeof number),
                              *figure->unit ? " " : "", figure->unit);
        }
        for (size_t j = 0; j < series->missing_count; j++) {
            fth_text_wrap(out, options->utf8 ? "– " : "- ", series->missing[j],
                          fth_report_columns(options));
        }
    }
}

/* ---- JSON ---- */

static void write_figures(struct fth_json_writer *json, const struct fth_bench_series *series)
{
    fth_json_key(json, "figures");
    fth_json_begin(json, '{', false);
    for (size_t i = 0; i < series->figure_count; i++) {
        const struct fth_bench_figure *figure = &series->figures[i];
        fth_json_key(json, figure->key);
        fth_json_begin(json, '{', true);
        fth_json_key(json, "value");
        fth_json_number(json, figure->value);
        if (*figure->unit) {
            fth_json_key(json, "unit");
            fth_json_text(json, figure->unit);
        }
        fth_json_key(json, "method");
        fth_json_text(json, figure->method);
        fth_json_end(json, '}');
    }
    fth_json_end(json, '}');
}

static void write_json(const struct fth_bench *bench, struct fth_buffer *out)
{
    static const char *const facts[] = {"name", "backend", "driver", "uuid"};
    struct fth_json_writer json = {.out = out};
    fth_json_begin(&json, '{', false);
    fth_json_key(&json, "schema");
    fth_json_text(&json, "fathom-bench/1");
    fth_json_key(&json, "device");
    fth_json_begin(&json, '{', true);
    for (size_t i = 0; i < FTH_COUNT(facts); i++) {
        const char *text = fth_gpu_text(fth_bench_gpu(bench), "device", facts[i]);
        if (!text)
            continue;
        fth_json_key(&json, facts[i]);
        fth_json_text(&json, text);
    }
    fth_json_end(&json, '}');
    fth_json_key(&json, "series");
    fth_json_begin(&json, '{', false);
    for (size_t i = 0; i < fth_bench_series_count(bench); i++) {
        const struct fth_bench_series *series = fth_bench_series_at(bench, i);
        fth_json_key(&json, series->name);
        fth_json_begin(&json, '{', false);
        fth_json_key(&json, "title");
        fth_json_text(&json, series->title);
        if (series->figure_count)
            write_figures(&json, series);
        if (series->missing_count) {
            fth_json_key(&json, "missing");
            fth_json_begin(&json, '[', false);
            for (size_t j = 0; j < series->missing_count; j++)
                fth_json_text(&json, series->missing[j]);
            fth_json_end(&json, ']');
        }
        fth_json_key(&json, "points");
        fth_json_table(&json, &series->table);
        fth_json_end(&json, '}');
    }
    fth_json_end(&json, '}');
    fth_json_end(&json, '}');
}

/* ---- CSV ---- */

static void write_csv(const struct fth_bench *bench, struct fth_buffer *out)
{
    fth_buffer_text(out, "series,point,column,value\n");
    for (size_t i = 0; i < fth_bench_series_count(bench); i++) {
        const struct fth_bench_series *series = fth_bench_series_at(bench, i);
        const struct fth_table *table = &series->table;
        for (size_t j = 0; j < table->row_count * table->column_count; j++) {
            const struct fth_column *column = &table->columns[j % table->column_count];
            const struct fth_cell *cell = &table->cells[j];
            char number[40];
            const char *text = column->kind < FTH_COLUMN_NUMBER ? cell->text
                               : isnan(cell->number)
                                   ? NULL
                                   : fth_number_format(cell->number, number, sizeof number);
            fth_csv_cell(out, series->name, false);
            fth_buffer_format(out, "%zu,", j / table->column_count);
            fth_csv_cell(out, column->key, false);
            fth_csv_cell(out, text, true);
        }
    }
}

enum fth_status fth_report_bench(const char *format, const struct fth_bench *bench,
                                 const struct fth_report_options *options, char **text,
                                 size_t *size, struct fth_error *error)
{
    struct fth_report_options known;
    struct fth_buffer out = {0};
    *text = NULL;
    *size = 0;
    FTH_TRY(fth_options_read("fth_report_options", options, &known, sizeof known, error));
    options = &known;
    if (strcmp(format, "text") == 0)
        write_text(bench, options, &out);
    else if (strcmp(format, "json") == 0)
        write_json(bench, &out);
    else if (strcmp(format, "csv") == 0)
        write_csv(bench, &out);
    else
        return fth_fail(error, FTH_INVALID, "show results", format,
                        "bench results are available as text, json or csv");
    enum fth_status status = fth_buffer_take(&out, text, size, error);
    fth_buffer_fini(&out);
    return status;
}
