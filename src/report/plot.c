/* A series drawn with characters: one column over another, both by their logarithms, a letter for
 * each curve. Where curves meet, the first that has the place keeps it. */
#include "report/report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 66, HEIGHT = 17, MAX_CURVES = 8, MARGIN = 8 };
static const char marks[MAX_CURVES + 1] = "*o+x#@%&";

struct plot {
    const struct fth_bench_series *series;
    const char *names[MAX_CURVES];
    size_t curves;
    double low[2], high[2]; /* logarithms */
    char cells[HEIGHT][WIDTH];
};

static const struct fth_cell *cell(const struct plot *plot, size_t row, size_t column)
{
    return &plot->series->table.cells[row * plot->series->table.column_count + column];
}

/* The curve of a row, by its text. */
static size_t curve_of(struct plot *plot, size_t row)
{
    const char *name = cell(plot, row, plot->series->by)->text;
    size_t i = 0;
    while (i < plot->curves && strcmp(plot->names[i], name ? name : "") != 0)
        i++;
    if (i == plot->curves && i < MAX_CURVES)
        plot->names[plot->curves++] = name ? name : "";
    return i;
}

static bool place(const struct plot *plot, size_t row, double at[2])
{
    at[0] = cell(plot, row, plot->series->x)->number;
    at[1] = cell(plot, row, plot->series->y)->number;
    const bool fine = at[0] > 0 && at[1] > 0 && isfinite(at[0]) && isfinite(at[1]);
    at[0] = fine ? log2(at[0]) : NAN;
    at[1] = fine ? log2(at[1]) : NAN;
    return fine;
}

static void find_range(struct plot *plot)
{
    for (size_t k = 0; k < 2; k++) {
        plot->low[k] = INFINITY;
        plot->high[k] = -INFINITY;
    }
    for (size_t row = 0; row < plot->series->table.row_count; row++) {
        double at[2];
        for (size_t k = 0; place(plot, row, at) && k < 2; k++) {
            plot->low[k] = fmin(plot->low[k], at[k]);
            plot->high[k] = fmax(plot->high[k], at[k]);
        }
    }
    for (size_t k = 0; k < 2; k++)
        plot->high[k] = fmax(plot->high[k], plot->low[k] + 1e-9);
}

static void draw_points(struct plot *plot)
{
    memset(plot->cells, ' ', sizeof plot->cells);
    for (size_t row = 0; row < plot->series->table.row_count; row++) {
        double at[2];
        const size_t curve = curve_of(plot, row);
        if (!place(plot, row, at) || curve == MAX_CURVES)
            continue;
        const double across = (at[0] - plot->low[0]) / (plot->high[0] - plot->low[0]);
        const double up = (at[1] - plot->low[1]) / (plot->high[1] - plot->low[1]);
        char *to = &plot->cells[HEIGHT - 1 - (size_t)lround(up * (HEIGHT - 1))]
                               [(size_t)lround(across * (WIDTH - 1))];
        if (*to == ' ')
            *to = marks[curve];
    }
}

/* The scale below: every fifth power of two, as there is room. */
static void write_scale(const struct plot *plot, struct fth_buffer *out)
{
    const bool bytes = plot->series->table.columns[plot->series->x].kind == FTH_COLUMN_BYTES;
    size_t used = 0;
    fth_buffer_repeat(out, " ", MARGIN + 2);
    for (int power = (int)ceil(plot->low[0] / 5) * 5; power <= (int)plot->high[0]; power += 5) {
        char text[40];
        const double across = (power - plot->low[0]) / (plot->high[0] - plot->low[0]);
        const size_t column = (size_t)lround(across * (WIDTH - 1));
        if (used && column < used + 1)
            continue;
        if (bytes)
            fth_size_format(exp2(power), text, sizeof text);
        else
            fth_number_format(exp2(power), text, sizeof text);
        fth_buffer_repeat(out, " ", column - used);
        fth_buffer_text(out, text);
        used = column + strlen(text);
    }
    fth_buffer_text(out, "\n");
}

void fth_text_plot(const struct fth_bench_series *series, const struct fth_report_options *options,
                   struct fth_buffer *out)
{
    struct plot plot = {.series = series};
    if (series->table.row_count == 0)
        return;
    find_range(&plot);
    if (!isfinite(plot.low[0]))
        return;
    draw_points(&plot);
    for (size_t row = 0; row < HEIGHT; row++) {
        char number[40] = "";
        const double share = 1 - (double)row / (HEIGHT - 1);
        if (row % 4 == 0)
            snprintf(number, sizeof number, "%.0f",
                     exp2(plot.low[1] + share * (plot.high[1] - plot.low[1])));
        size_t length = WIDTH;
        while (length && plot.cells[row][length - 1] == ' ')
            length--;
        fth_buffer_format(out, "%*s %s", MARGIN, number,
                          options->utf8 ? (row % 4 ? "│" : "┤") : (row % 4 ? "|" : "+"));
        fth_buffer_append(out, plot.cells[row], length);
        fth_buffer_text(out, "\n");
    }
    fth_buffer_repeat(out, " ", MARGIN + 1);
    fth_buffer_text(out, options->utf8 ? "└" : "+");
    fth_buffer_repeat(out, options->utf8 ? "─" : "-", WIDTH);
    fth_buffer_text(out, "\n");
    write_scale(&plot, out);
    for (size_t i = 0; i < plot.curves; i++)
        fth_buffer_format(out, "%*c %s\n", MARGIN + 1, marks[i], plot.names[i]);
}
