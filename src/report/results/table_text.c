/* Writes a table for the terminal. Each column is as wide as its widest cell; numbers are aligned
 * to the right. A table that is wider than the terminal is made narrower in these steps, until it
 * fits:
 *
 *   1. Headings are broken into several lines.
 *   2. Cells of text are broken into several lines.
 *   3. Columns are left out, in the order that the caller gives, first those without values. A
 *      line below the table names them.
 *   4. Cells of text are broken into narrow lines. If those of the last column would have many,
 *      they are written below the rows instead.
 *   5. The columns are written in several parts below each other, each with the columns that
 *      identify a row.
 */
#include "report/report.h"

#include <math.h>
#include <string.h>

/* MAX_COLUMNS: further columns are not shown; the points of an exploration have the most, fewer
 * than 100. GAP: characters between two columns. TEXT_BYTES: size of the text of a cell that is
 * formatted: a number, or the name of a kernel. */
enum { MAX_COLUMNS = 128, GAP = 2, TEXT_BYTES = FTH_NAME_BYTES };
/* Widths, chosen. MAX_WIDTH: wider texts are broken, except in the last column. MIN_TEXT and
 * MIN_NAME: texts and names of kernels are not broken into narrower lines while columns can be left
 * out. MAX_WORD: words of texts up to this width, such as the UUID of a GPU, are not broken while
 * there are other ways to fit the table. MIN_NARROW: texts are never broken into narrower lines. */
enum { MAX_WIDTH = 60, MIN_TEXT = 18, MIN_NAME = 30, MAX_WORD = 48, MIN_NARROW = 12 };
/* Numbers of lines, chosen. MAX_NAME_LINES: maximum of names of kernels, which are then cut.
 * MAX_LINES: texts of the last column that would have more are written below the rows. */
enum { MAX_NAME_LINES = 3, MAX_LINES = 4 };
/* The width of text if the options do not have one. */
enum { DEFAULT_COLUMNS = 80 };

/* How far cells of text may be broken. */
enum level { WIDE_LINES, WHOLE_WORDS, NARROW_LINES };

struct column {
    size_t index; /* in the table */
    size_t cell;  /* width of the widest cell */
    size_t word;  /* width of the widest word of the cells */
    size_t head;  /* width of the widest word of the heading */
    size_t width; /* that was chosen */
};

struct layout {
    const struct fth_table *table;
    const struct fth_report_options *options;
    struct fth_buffer *out;
    struct column columns[MAX_COLUMNS];
    size_t count, limit;
    const struct column *below; /* whose cells are written below the rows; NULL: none */
};

size_t fth_report_columns(const struct fth_report_options *options)
{
    return options->columns ? options->columns : DEFAULT_COLUMNS;
}

/* Writes a line of prose. */
static void write_line(const char *line, size_t limit, struct fth_buffer *out)
{
    const size_t indent = strspn(line, " ");
    size_t lead = 0, width;
    do {
        const size_t bytes = fth_text_line(line, limit > lead ? limit - lead : 1, &width);
        fth_buffer_repeat(out, " ", lead);
        fth_text_append_bytes(out, line, bytes);
        fth_buffer_text(out, "\n");
        line += bytes;
        line += strspn(line, " ");
        lead = indent + 2;
    } while (*line);
}

void fth_write_prose(struct fth_buffer *text, const struct fth_report_options *options,
                     struct fth_buffer *out)
{
    char *end = text->size ? text->data : NULL;
    for (char *line = end; line && *line; line = end) {
        end = line + strcspn(line, "\n");
        const bool is_last = !*end;
        *end = '\0';
        write_line(line, fth_report_columns(options), out);
        end += !is_last;
    }
    out->failed = out->failed || text->failed;
    fth_buffer_fini(text);
}

bool fth_column_is_number(enum fth_column_kind kind)
{
    return kind == FTH_COLUMN_NUMBER || kind == FTH_COLUMN_BYTES;
}

/* Returns the text of a cell. A number or the name of a kernel is written to `text`. */
static const char *cell_text(const struct layout *layout, size_t row, size_t column,
                             char text[TEXT_BYTES])
{
    const struct fth_table *table = layout->table;
    const struct fth_cell *cell = &table->cells[row * table->column_count + column];
    const char *no_value = layout->options->utf8 ? "–" : "-";
    switch (table->columns[column].kind) {
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

/* ---- widths ---- */

static enum fth_column_kind kind_of(const struct layout *layout, const struct column *column)
{
    return layout->table->columns[column->index].kind;
}

/* Returns whether the cells of a column can be broken. */
static bool is_flexible(enum fth_column_kind kind)
{
    return kind == FTH_COLUMN_TEXT || kind == FTH_COLUMN_NUMBERS || kind == FTH_COLUMN_KERNEL;
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

static size_t widest_word(const char *text)
{
    size_t widest = 0, columns = 0;
    for (; *text; text++) {
        columns = *text == ' ' ? 0 : columns + (((unsigned char)*text & 0xc0) != 0x80);
        widest = larger(widest, columns);
    }
    return widest;
}

static void measure(const struct layout *layout, struct column *column, bool last)
{
    const struct fth_column *definition = &layout->table->columns[column->index];
    const bool flexible = is_flexible(definition->kind);
    char text[TEXT_BYTES];
    column->head = widest_word(definition->head);
    for (size_t row = 0; row < layout->table->row_count; row++) {
        const char *cell = cell_text(layout, row, column->index, text);
        column->cell = larger(column->cell, fth_text_columns(cell));
        column->word = flexible ? larger(column->word, widest_word(cell)) : column->cell;
    }
    if (column->cell > MAX_WIDTH && !last && flexible)
        column->cell = MAX_WIDTH;
}

/* Returns the width of a column whose cells are not broken, and whose heading has one word per
 * line.
 */
static size_t full_width(const struct column *column)
{
    return larger(column->cell, column->head);
}

/* Returns the minimum width of a column. */
static size_t least_width(const struct layout *layout, const struct column *column,
                          enum level level)
{
    const enum fth_column_kind kind = kind_of(layout, column);
    size_t least = MIN_NARROW;
    if (!is_flexible(kind))
        return full_width(column);
    if (level == WIDE_LINES)
        least = kind == FTH_COLUMN_KERNEL ? MIN_NAME : MIN_TEXT;
    const size_t longest = kind == FTH_COLUMN_KERNEL ? MIN_NAME : MAX_WORD;
    if (level != NARROW_LINES)
        least = larger(least, column->word < longest ? column->word : longest);
    least = larger(least, column->head);
    return full_width(column) < least ? full_width(column) : least;
}

/* Returns the minimum width of the table. */
static size_t least_total(const struct layout *layout, enum level level)
{
    size_t total = 0;
    for (size_t i = 0; i < layout->count; i++)
        total += least_width(layout, &layout->columns[i], level) + (i ? GAP : 0);
    return total;
}

/* Returns how many lines a text has in a column of this width. */
static size_t count_lines(const char *text, size_t width)
{
    size_t lines = 0, used;
    do {
        text += fth_text_line(text, width, &used);
        text += strspn(text, " ");
        lines++;
    } while (*text);
    return lines;
}

/* Returns how much wider a column must be for its heading to have at most `lines` lines. */
static size_t head_space(const struct layout *layout, const struct column *column, size_t lines)
{
    const char *head = layout->table->columns[column->index].head;
    size_t space = 0;
    while (count_lines(head, column->width + space) > lines)
        space++;
    return space;
}

/* Makes columns wider so that the headings have as few lines as possible. Reduces *space by what it
 * uses. */
static void widen_heads(struct layout *layout, size_t *space)
{
    size_t wanted = *space + 1;
    for (size_t lines = 1; wanted > *space; lines++) {
        wanted = 0;
        for (size_t i = 0; i < layout->count; i++)
            wanted += head_space(layout, &layout->columns[i], lines);
        for (size_t i = 0; i < layout->count && wanted <= *space; i++)
            layout->columns[i].width += head_space(layout, &layout->columns[i], lines);
    }
    *space -= wanted;
}

/* Makes columns that are too narrow for their cells wider: always the narrowest by one. */
static void widen_texts(struct layout *layout, size_t space)
{
    for (; space; space--) {
        struct column *narrowest = NULL;
        for (size_t i = 0; i < layout->count; i++) {
            struct column *column = &layout->columns[i];
            if (column->width < full_width(column) &&
                (!narrowest || column->width < narrowest->width))
                narrowest = column;
        }
        if (!narrowest)
            return;
        narrowest->width++;
    }
}

/* Chooses the widths of the columns. The table is wider than the limit only if its minimum is. */
static void choose_widths(struct layout *layout, enum level level)
{
    const size_t least = least_total(layout, level);
    size_t space = layout->limit > least ? layout->limit - least : 0, wanted = 0;
    for (size_t i = 0; i < layout->count; i++) {
        struct column *column = &layout->columns[i];
        column->width = least_width(layout, column, level);
        wanted += full_width(column) - column->width;
    }
    /* If texts are broken anyway, headings come first. */
    if (wanted <= space) {
        widen_texts(layout, wanted);
        space -= wanted;
    }
    widen_heads(layout, &space);
    widen_texts(layout, space);
}

/* ---- writing ---- */

/* What was written of the cells of a row that has several lines. */
struct progress {
    size_t bytes[MAX_COLUMNS]; /* that were written, with the spaces after them */
    size_t lines;              /* that were written */
    size_t skip[MAX_COLUMNS];  /* lines that are empty before the first one of the cell */
};

/* Writes the next line of a cell. *pending is the number of spaces that are due before the next
 * character, so that lines do not end with spaces. Returns whether the cell has more lines. */
static bool write_cell(const struct layout *layout, size_t column_index, const char *text,
                       struct progress *progress, size_t *pending)
{
    const struct column *column = &layout->columns[column_index];
    const enum fth_column_kind kind = kind_of(layout, column);
    const bool right = fth_column_is_number(kind) || kind == FTH_COLUMN_REMARK;
    size_t width = 0, bytes = 0;
    if (progress->lines < progress->skip[column_index]) {
        *pending += column->width;
        return true;
    }
    text += progress->bytes[column_index];
    bytes = fth_text_line(text, column->width, &width);
    const bool cut =
        kind == FTH_COLUMN_KERNEL && progress->lines + 1 == MAX_NAME_LINES && text[bytes];
    if (width) {
        fth_buffer_repeat(layout->out, " ", *pending + (right ? column->width - width : 0));
        *pending = right ? 0 : column->width - width;
    } else {
        *pending += column->width;
    }
    if (cut) {
        fth_text_append(layout->out, text, column->width, layout->options->utf8 ? "…" : "~");
        *pending = 0;
        bytes = strlen(text);
    } else {
        fth_text_append_bytes(layout->out, text, bytes);
    }
    bytes += strspn(text + bytes, " ");
    progress->bytes[column_index] += bytes;
    return text[bytes];
}

/* Writes all lines of a row, or the headings if `row` is NULL. */
static void write_row(const struct layout *layout, const size_t *row, struct progress *progress)
{
    const char *const bold = !row && layout->options->colour ? "\033[1m" : "";
    char text[TEXT_BYTES];
    bool more = true;
    while (more) {
        size_t pending = 0;
        more = false;
        fth_buffer_text(layout->out, bold);
        for (size_t i = 0; i < layout->count; i++) {
            const size_t index = layout->columns[i].index;
            const char *cell =
                row ? cell_text(layout, *row, index, text) : layout->table->columns[index].head;
            more = write_cell(layout, i, cell, progress, &pending) || more;
            pending += GAP;
        }
        fth_buffer_text(layout->out, *bold ? "\033[0m\n" : "\n");
        progress->lines++;
    }
}

/* Sets how many lines are empty above each heading, so that all end on the same line. */
static void align_heads(const struct layout *layout, struct progress *progress)
{
    size_t most = 0;
    for (size_t i = 0; i < layout->count; i++) {
        const char *head = layout->table->columns[layout->columns[i].index].head;
        progress->skip[i] = count_lines(head, layout->columns[i].width);
        most = larger(most, progress->skip[i]);
    }
    for (size_t i = 0; i < layout->count; i++)
        progress->skip[i] = most - progress->skip[i];
}

/* Writes a cell as a line below its row, with its heading. */
static void write_below(const struct layout *layout, size_t row)
{
    const struct fth_table *table = layout->table;
    const struct fth_cell *cell = &table->cells[row * table->column_count + layout->below->index];
    struct fth_buffer line = {0};
    if (!cell->text || !*cell->text)
        return;
    fth_buffer_format(&line, "  %s: %s", table->columns[layout->below->index].head, cell->text);
    fth_write_prose(&line, layout->options, layout->out);
}

static void write_part(const struct layout *layout)
{
    struct progress progress = {.lines = 0};
    align_heads(layout, &progress);
    write_row(layout, NULL, &progress);
    for (size_t row = 0; row < layout->table->row_count; row++) {
        progress = (struct progress){.lines = 0};
        write_row(layout, &row, &progress);
        if (layout->below)
            write_below(layout, row);
    }
}

/* Returns the first level at which the table fits, or the last one. */
static enum level choose_level(const struct layout *layout)
{
    enum level level = WIDE_LINES;
    while (level < NARROW_LINES && least_total(layout, level) > layout->limit)
        level++;
    return level;
}

static bool are_equal(const struct layout *layout, const struct column *column, size_t row)
{
    const struct fth_table *table = layout->table;
    const struct fth_cell *a = &table->cells[row * table->column_count + column->index];
    const struct fth_cell *b = a + table->column_count;
    if (fth_column_is_number(kind_of(layout, column)))
        return a->number == b->number || (isnan(a->number) && isnan(b->number));
    return strcmp(a->text ? a->text : "", b->text ? b->text : "") == 0;
}

/* Returns the first column in which all neighbouring rows differ that have the same first cell. 0:
 * no rows have the same first cell, or there is no such column. */
static size_t find_second_key(const struct layout *layout)
{
    for (size_t i = 0; i < layout->count; i++) {
        bool differ = true;
        for (size_t row = 0; row + 1 < layout->table->row_count && differ; row++)
            differ = !are_equal(layout, &layout->columns[0], row) ||
                     !are_equal(layout, &layout->columns[i], row);
        if (differ)
            return i;
    }
    return 0;
}

/* Writes the columns in several parts below each other. Each begins with the columns that identify
 * a row: the first one and, if necessary, another one. */
static void write_parts(const struct layout *whole)
{
    const size_t key = find_second_key(whole);
    struct layout part = *whole;
    for (size_t next = 1; next < whole->count;) {
        part.count = 0;
        part.columns[part.count++] = whole->columns[0];
        if (key)
            part.columns[part.count++] = whole->columns[key];
        const size_t keys = part.count;
        for (; next < whole->count; next++) {
            if (next == key)
                continue;
            part.columns[part.count++] = whole->columns[next];
            if (part.count > keys + 1 && least_total(&part, WIDE_LINES) > whole->limit) {
                part.count--;
                break;
            }
        }
        choose_widths(&part, choose_level(&part));
        write_part(&part);
        fth_buffer_text(part.out, next < whole->count ? "\n" : "");
    }
}

/* Returns whether no cell of a column has a value other than 0. */
static bool is_blank(const struct layout *layout, const struct column *column)
{
    const struct fth_table *table = layout->table;
    const bool numeric = fth_column_is_number(kind_of(layout, column));
    for (size_t row = 0; row < table->row_count; row++) {
        const struct fth_cell *cell = &table->cells[row * table->column_count + column->index];
        if (numeric ? !isnan(cell->number) && cell->number != 0 : cell->text && *cell->text)
            return false;
    }
    return true;
}

/* Removes columns in the order of `drop` until the table fits: only those without values, if
 * `blank`. Appends their headings to `names`, and adds their number to *count. */
static void leave_out(struct layout *layout, const char *const *drop, bool blank,
                      struct fth_buffer *names, size_t *count)
{
    for (; drop && *drop && least_total(layout, WIDE_LINES) > layout->limit; drop++) {
        size_t at = 0;
        while (at < layout->count &&
               strcmp(layout->table->columns[layout->columns[at].index].key, *drop) != 0)
            at++;
        if (at == layout->count || (blank && !is_blank(layout, &layout->columns[at])))
            continue;
        fth_buffer_format(names, "%s%s", (*count)++ ? ", " : "",
                          layout->table->columns[layout->columns[at].index].head);
        layout->count--;
        memmove(&layout->columns[at], &layout->columns[at + 1],
                (layout->count - at) * sizeof layout->columns[0]);
    }
}

/* Returns whether a cell of the last column would be broken into more than MAX_LINES lines, or
 * words would be broken, or the table does not fit in any way. */
static bool is_last_too_narrow(const struct layout *layout)
{
    struct layout trial = *layout;
    const enum level level = choose_level(&trial);
    const struct column *last = &trial.columns[trial.count - 1];
    char text[TEXT_BYTES];
    if (level == NARROW_LINES)
        return true;
    choose_widths(&trial, level);
    for (size_t row = 0; row < trial.table->row_count; row++)
        if (count_lines(cell_text(&trial, row, last->index, text), last->width) > MAX_LINES)
            return true;
    return false;
}

/* Puts the cells of the last column below the rows if they are texts that would have narrow lines
 * otherwise, and if the rest then fits. */
static void put_last_below(struct layout *layout)
{
    if (layout->count < 2)
        return;
    const struct column *last = &layout->columns[layout->count - 1];
    if (kind_of(layout, last) != FTH_COLUMN_TEXT || last->cell <= MIN_TEXT ||
        !is_last_too_narrow(layout))
        return;
    layout->count--;
    if (least_total(layout, WIDE_LINES) <= layout->limit)
        layout->below = last;
    else
        layout->count++;
}

/* Writes which columns are left out. `all`: minimum width of the table with all columns. */
static void write_note(const struct layout *layout, size_t dropped, const struct fth_buffer *names,
                       size_t all)
{
    struct fth_buffer note = {0};
    fth_buffer_format(&note, "Left out: %s (%zu column%s); COLUMNS=%zu shows %s.",
                      names->data ? names->data : "", dropped, dropped > 1 ? "s" : "", all,
                      dropped > 1 ? "them" : "it");
    fth_write_prose(&note, layout->options, layout->out);
}

static void begin_layout(struct layout *layout, const struct fth_table *table,
                         const struct fth_report_options *options, struct fth_buffer *out)
{
    *layout = (struct layout){
        .table = table, .options = options, .out = out, .limit = fth_report_columns(options)};
    layout->count = table->column_count < MAX_COLUMNS ? table->column_count : MAX_COLUMNS;
    for (size_t i = 0; i < layout->count; i++) {
        layout->columns[i].index = i;
        measure(layout, &layout->columns[i], i + 1 == layout->count);
    }
}

size_t fth_text_table_least(const struct fth_table *table, const struct fth_report_options *options)
{
    struct layout layout;
    begin_layout(&layout, table, options, NULL);
    return least_total(&layout, WIDE_LINES);
}

void fth_text_table_fit(const struct fth_table *table, const char *const *drop,
                        const struct fth_report_options *options, struct fth_buffer *out)
{
    struct layout layout;
    struct fth_buffer names = {0};
    begin_layout(&layout, table, options, out);
    const size_t all = least_total(&layout, WIDE_LINES);
    size_t dropped = 0;
    leave_out(&layout, drop, true, &names, &dropped);
    leave_out(&layout, drop, false, &names, &dropped);
    put_last_below(&layout);
    const enum level level = choose_level(&layout);
    if (layout.count > 2 && least_total(&layout, level) > layout.limit) {
        write_parts(&layout);
    } else {
        choose_widths(&layout, level);
        write_part(&layout);
    }
    if (dropped)
        write_note(&layout, dropped, &names, all);
    out->failed = out->failed || names.failed;
    fth_buffer_fini(&names);
}

void fth_text_table(const struct fth_table *table, const struct fth_report_options *options,
                    struct fth_buffer *out)
{
    fth_text_table_fit(table, options->drop, options, out);
}
