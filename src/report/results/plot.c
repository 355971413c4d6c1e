/* Draws a series with characters: one column over another, both on logarithmic axes, with one mark
 * per curve. Where several curves have a point at the same position, the first one is shown. */
#include "report/report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* In characters. MARGIN is the width of the numbers on the y axis; WIDTH + MARGIN and the axis fit
 * into 80 columns. HEIGHT is one more than a multiple of 4, because every fourth row has a number.
 */
enum { WIDTH = 66, HEIGHT = 17, MAX_CURVES = 8, MARGIN = 8 };
static const char marks[MAX_CURVES + 1] = "*o+x#@%&";

struct plot {
    const struct fth_bench_series *series;
    const char *names[MAX_CURVES];
    size_t curves;
    double low[2], high[2]; /* range of x and y, as log2 */
    char cells[HEIGHT][WIDTH];
};

static const struct fth_cell *cell(const struct plot *plot, size_t row, size_t column)
{
    return &plot->series->table.cells[row * plot->series->table.column_count + column];
}

/* Returns the index of the curve that a row belongs to, by its text in the column `by`, and adds
 * the curve if it is new. MAX_CURVES: there are too many, and the row is not drawn. */
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

/* Computes log2 of x and y of a row. Returns false if either is not a positive finite number. */
static bool locate(const struct plot *plot, size_t row, double at[2])
{
    at[0] = cell(plot, row, plot->series->x)->number;
    at[1] = cell(plot, row, plot->series->y)->number;
    const bool drawable = at[0] > 0 && at[1] > 0 && isfinite(at[0]) && isfinite(at[1]);
    at[0] = drawable ? log2(at[0]) : NAN;
    at[1] = drawable ? log2(at[1]) : NAN;
    return drawable;
}

static void find_range(struct plot *plot)
{
    for (size_t k = 0; k < 2; k++) {
        plot->low[k] = INFINITY;
        plot->high[k] = -INFINITY;
    }
    for (size_t row = 0; row < plot->series->table.row_count; row++) {
        double at[2];
        for (size_t k = 0; locate(plot, row, at) && k < 2; k++) {
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
        if (!locate(plot, row, at) || curve == MAX_CURVES)
            continue;
        const double across = (at[0] - plot->low[0]) / (plot->high[0] - plot->low[0]);
        const double up = (at[1] - plot->low[1]) / (plot->high[1] - plot->low[1]);
        char *to = &plot->cells[HEIGHT - 1 - (size_t)lround(up * (HEIGHT - 1))]
                               [(size_t)lround(across * (WIDTH - 1))];
        if (*to == ' ')
            *to = marks[curve];
    }
}

/* Writes the numbers of the x axis: every fifth power of two, as far as there is space. */
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
        const double height = 1 - (double)row / (HEIGHT - 1);
        if (row % 4 == 0)
            snprintf(number, sizeof number, "%.0f",
                     exp2(plot.low[1] + height * (plot.high[1] - plot.low[1])));
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
