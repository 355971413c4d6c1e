/* Writes a table for the terminal. Each column is as wide as its widest cell; numbers are aligned
 * to the right. */
#include "report/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Size of the text of a cell that is formatted: a number, or the name of a kernel. */
enum { TEXT_BYTES = FTH_NAME_BYTES };

/* Returns the text of a cell. A number or the name of a kernel is written to `text`. */
static const char *cell_text(const struct fth_table *table, size_t index, bool utf8,
                             char text[TEXT_BYTES])
{
    const struct fth_cell *cell = &table->cells[index];
    const char *no_value = utf8 ? "–" : "-";
    switch (table->columns[index % table->column_count].kind) {
    case FTH_COLUMN_TEXT:
    case FTH_COLUMN_REMARK:
    case FTH_COLUMN_NUMBERS: return cell->text && *cell->text ? cell->text : no_value;
    case FTH_COLUMN_KERNEL:
        if (!cell->text || !*cell->text)
            return no_value;
        fth_demangle(cell->text, FTH_NAME_SHORT, text, TEXT_BYTES);
        return text;
    case FTH_COLUMN_BYTES:
        return isnan(cell->number) ? no_value : fth_size_format(cell->number, text, TEXT_BYTES);
    default:
        return isnan(cell->number) ? no_value : fth_number_format(cell->number, text, TEXT_BYTES);
    }
}

/* MAX_WIDTH: longer texts are cut, except in the last column (chosen, not derived). MAX_COLUMNS:
 * further columns are not shown; no table of fathom has more. */
enum { MAX_WIDTH = 60, MAX_COLUMNS = 32 };
/* GAP: columns of characters between two columns. MIN_CUT: the first column is not cut to less, so
 * that names remain recognisable; chosen. DEFAULT_COLUMNS: width of a table without an option. */
enum { GAP = 2, MIN_CUT = 12, DEFAULT_COLUMNS = 80 };

bool fth_column_is_number(enum fth_column_kind kind)
{
    return kind == FTH_COLUMN_NUMBER || kind == FTH_COLUMN_BYTES;
}

/* Sets the width of each column to that of its widest cell, at most MAX_WIDTH for all but the last.
 * Returns the width of the table. */
static size_t measure_columns(const struct fth_table *table, bool utf8, size_t width[MAX_COLUMNS])
{
    const size_t count = table->column_count < MAX_COLUMNS ? table->column_count : MAX_COLUMNS;
    size_t total = 0;
    char cell[TEXT_BYTES];
    for (size_t c = 0; c < count; c++) {
        width[c] = fth_text_columns(table->columns[c].head);
        for (size_t row = 0; row < table->row_count; row++) {
            const size_t columns =
                fth_text_columns(cell_text(table, row * table->column_count + c, utf8, cell));
            width[c] = columns > width[c] ? columns : width[c];
        }
        /* The last column may be longer. */
        if (width[c] > MAX_WIDTH && c + 1 < count)
            width[c] = MAX_WIDTH;
        total += width[c] + (c ? GAP : 0);
    }
    return total;
}

/* Writes a table with columns of these widths. */
static void write_table(const struct fth_table *table, const struct fth_report_options *options,
                        const size_t width[MAX_COLUMNS], struct fth_buffer *out)
{
    const size_t count = table->column_count < MAX_COLUMNS ? table->column_count : MAX_COLUMNS;
    char cell[TEXT_BYTES];
    for (size_t row = 0; row <= table->row_count; row++) {
        bool head = row == 0;
        fth_buffer_text(out, head && options->colour ? "\033[1m" : "");
        for (size_t c = 0; c < count; c++) {
            const enum fth_column_kind kind = table->columns[c].kind;
            bool right = fth_column_is_number(kind) || kind == FTH_COLUMN_REMARK;
            bool last = c + 1 == count;
            const char *text =
                head ? table->columns[c].head
                     : cell_text(table, (row - 1) * table->column_count + c, options->utf8, cell);
            size_t used = fth_text_columns(text) < width[c] ? fth_text_columns(text) : width[c];
            fth_buffer_repeat(out, " ", right ? width[c] - used : 0);
            fth_text_append(out, text, width[c], options->utf8 ? "…" : "~");
            fth_buffer_repeat(out, " ", right || last ? 0 : width[c] - used);
            fth_buffer_text(out, last ? "" : "  ");
        }
        fth_buffer_text(out, head && options->colour ? "\033[0m\n" : "\n");
    }
}

void fth_text_table(const struct fth_table *table, const struct fth_report_options *options,
                    struct fth_buffer *out)
{
    size_t width[MAX_COLUMNS];
    measure_columns(table, options->utf8, width);
    write_table(table, options, width, out);
}

size_t fth_report_columns(const struct fth_report_options *options)
{
    return options->columns ? options->columns : DEFAULT_COLUMNS;
}

void fth_text_table_fit(struct fth_cells *cells, struct fth_table *table, const char *const *drop,
                        const struct fth_report_options *options, struct fth_buffer *out)
{
    const size_t most = fth_report_columns(options);
    size_t width[MAX_COLUMNS];
    size_t total = measure_columns(table, options->utf8, width);
    for (; total > most && *drop && !cells->failed; drop++) {
        fth_table_leave_out(cells, table, *drop);
        table->cells = cells->items;
        total = measure_columns(table, options->utf8, width);
    }
    /* The first column has names, which may be cut. */
    if (total > most && width[0] > MIN_CUT)
        width[0] = total - most < width[0] - MIN_CUT ? width[0] - (total - most) : MIN_CUT;
    write_table(table, options, width, out);
}

void fth_cells_put(struct fth_cells *cells, const char *text, double number)
{
    if (fth_grow((void **)&cells->items, cells->count, &cells->capacity, sizeof *cells->items))
        cells->items[cells->count++] = (struct fth_cell){text, number};
    else
        cells->failed = true;
}

void fth_cells_put_text(struct fth_cells *cells, const char *text)
{
    fth_cells_put(cells, text, NAN);
}

void fth_table_leave_out(struct fth_cells *cells, struct fth_table *table, const char *key)
{
    const size_t count = table->column_count;
    size_t at = 0, kept = 0;
    while (at < count && strcmp(table->columns[at].key, key) != 0)
        at++;
    if (at == count)
        return;
    struct fth_column *columns = fth_arena_array(&cells->arena, count, sizeof *columns);
    if (!columns) {
        cells->failed = true;
        return;
    }
    for (size_t i = 0; i < count; i++)
        if (i != at)
            columns[kept++] = table->columns[i];
    kept = 0;
    for (size_t i = 0; i < cells->count; i++)
        if (i % count != at)
            cells->items[kept++] = cells->items[i];
    cells->count = kept;
    table->columns = columns;
    table->column_count = count - 1;
}

void fth_cells_fini(struct fth_cells *cells)
{
    free(cells->items);
    fth_arena_fini(&cells->arena);
}
