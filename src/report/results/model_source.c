/* Writes the results of the cache model per source line: as a table, or as the text of the source
 * with the figures of each line in the margin. Instructions of inlined code belong to the line of
 * the kernel that calls it. Without source positions, the lines are those of the PTX file. */
#include "report/results/model_figures.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The instructions of a kernel that belong to one line. */
struct line {
    const char *file;   /* as the compiler named it; NULL: the PTX file */
    uint32_t number;    /* from 1; 0: unknown */
    bool has_kind[3];   /* by enum fth_trace_access_kind */
    bool is_shared;     /* at least one instruction accesses shared memory */
    const char *callee; /* position of inlined code; NULL: none. Several: the first one */
    /* Names of the inlined functions that contain the code, separated by commas; NULL: unknown */
    const char *functions;
    struct fth_model_row sum;
};

struct lines {
    struct fth_arena arena;
    struct line *items;
    size_t count, capacity;
    bool failed; /* out of memory */
};

/* ---- collecting ---- */

static void add_row(struct fth_model_row *to, const struct fth_model_row *from)
{
    for (int kind = 0; kind < 3; kind++) {
        to->warps[kind] += from->warps[kind];
        to->demand.ideal_sectors[kind] += from->demand.ideal_sectors[kind];
        to->demand.used_bytes[kind] += from->demand.used_bytes[kind];
    }
    fth_counts_add(&to->l1, &from->l1);
    fth_counts_add(&to->l2, &from->l2);
    fth_misses_add(&to->l1_misses, &from->l1_misses);
    fth_misses_add(&to->l2_misses, &from->l2_misses);
    fth_shared_counts_add(&to->shared, &from->shared);
    to->dram_reads += from->dram_reads;
    to->dram_writes += from->dram_writes;
}

static bool is_file(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

/* Returns the line of an instruction, which is added if it is new. NULL: memory is exhausted. */
static struct line *find_line(struct lines *lines, const struct fth_trace_instruction *instruction)
{
    const struct fth_source_position *kernel = instruction->source;
    while (kernel && kernel->inlined_at)
        kernel = kernel->inlined_at;
    const char *file = kernel && kernel->file && kernel->line ? kernel->file : NULL;
    const uint32_t number = file ? kernel->line : instruction->line;
    for (size_t i = 0; i < lines->count; i++)
        if (lines->items[i].number == number && is_file(lines->items[i].file, file))
            return &lines->items[i];
    if (!fth_grow((void **)&lines->items, lines->count, &lines->capacity, sizeof *lines->items))
        return NULL;
    lines->items[lines->count] = (struct line){.file = file, .number = number};
    return &lines->items[lines->count++];
}

/* Returns whether a list of names contains a name. */
static bool has_name(const char *list, const char *name)
{
    const size_t length = strlen(name);
    for (const char *at = list; at && (at = strstr(at, name)); at++)
        if ((at == list || (at[-1] == ' ' && at[-2] == ',')) &&
            (at[length] == 0 || strncmp(at + length, ", ", 2) == 0))
            return true;
    return false;
}

/* Adds the position of inlined code to its line, and the name of the function. */
static bool add_callee(struct lines *lines, struct line *line,
                       const struct fth_source_position *source)
{
    char name[FTH_NAME_BYTES], text[300];
    if (!line->callee) {
        const struct fth_source_position callee = {.file = source->file, .line = source->line};
        line->callee = fth_arena_text(&lines->arena, fth_source_text(&callee, text, sizeof text));
        if (!line->callee)
            return false;
    }
    if (!source->function)
        return true;
    fth_demangle(source->function, FTH_NAME_SHORT, name, sizeof name);
    if (has_name(line->functions, name))
        return true;
    const char *before = line->functions ? line->functions : "";
    const size_t size = strlen(before) + strlen(name) + 3;
    char *all = fth_arena_alloc(&lines->arena, size);
    if (all)
        snprintf(all, size, "%s%s%s", before, *before ? ", " : "", name);
    line->functions = all;
    return all != NULL;
}

static void add_instruction(struct lines *lines, const struct fth_model_row *row)
{
    const struct fth_trace_instruction *instruction = row->instruction;
    struct line *line = find_line(lines, instruction);
    if (!line) {
        lines->failed = true;
        return;
    }
    add_row(&line->sum, row);
    line->has_kind[instruction->kind] = true;
    line->is_shared = line->is_shared || row->shared.wavefronts;
    if (instruction->source && instruction->source->inlined_at &&
        !add_callee(lines, line, instruction->source))
        lines->failed = true;
}

static int compare_lines(const void *a, const void *b)
{
    const struct line *x = a, *y = b;
    if (!is_file(x->file, y->file))
        return !x->file ? 1 : !y->file ? -1 : strcmp(x->file, y->file);
    return x->number < y->number ? -1 : x->number > y->number;
}

/* Collects the lines of a kernel, whose row is number `at` of the result. */
static void collect_lines(const struct fth_model_result *result, size_t at, struct lines *lines)
{
    const struct fth_model_row *kernel = fth_model_row(result, at), *row;
    lines->count = 0;
    for (size_t i = at + 1; (row = fth_model_row(result, i)); i++) {
        if (strcmp(row->kernel, kernel->kernel) != 0)
            break;
        if (row->instruction)
            add_instruction(lines, row);
    }
    if (lines->count)
        qsort(lines->items, lines->count, sizeof *lines->items, compare_lines);
}

/* ---- figures of a line ---- */

static double per_request(uint64_t sectors, const struct fth_model_row *row)
{
    const uint64_t requests = fth_figure_sum(row->warps);
    return requests ? round(10 * (double)sectors / (double)requests) / 10 : (double)NAN;
}

/* Returns the sectors that the lanes of a request would need if they were adjacent. NAN: there are
 * no requests, or the needs of the threads are not known. */
static double ideal_per_request(const struct fth_model_row *row)
{
    const uint64_t ideal = fth_figure_sum(row->demand.ideal_sectors);
    return ideal ? per_request(ideal, row) : (double)NAN;
}

/* Returns the wavefronts per request to shared memory; NAN: there are none. */
static double wavefronts_per_request(uint64_t wavefronts, const struct fth_model_row *row)
{
    const uint64_t requests = fth_figure_sum(row->shared.requests);
    return requests ? round(10 * (double)wavefronts / (double)requests) / 10 : (double)NAN;
}

/* Writes the kinds of accesses as "r", "w" and "a". */
static const char *kinds_text(const struct line *line, char text[4])
{
    size_t length = 0;
    for (size_t kind = 0; kind < 3; kind++)
        if (line->has_kind[kind])
            text[length++] = "rwa"[kind];
    text[length] = 0;
    return text;
}

static const char *base_name(const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    return slash ? slash + 1 : path;
}

/* ---- table ---- */

static const struct fth_column line_columns[] = {
    {"kernel", "Kernel", FTH_COLUMN_KERNEL},
    {"line", "Line", FTH_COLUMN_TEXT},
    {"kinds", "Kind", FTH_COLUMN_TEXT},
    {"requests", "Requests", FTH_COLUMN_NUMBER},
    {"sectors_per_request", "Sectors", FTH_COLUMN_NUMBER},
    {"ideal_sectors_per_request", "Ideal", FTH_COLUMN_NUMBER},
    {"l1_read_hit_percent", "L1 hit%", FTH_COLUMN_NUMBER},
    {"l2_read_hit_percent", "L2 hit%", FTH_COLUMN_NUMBER},
    {"l2_bytes", "L2", FTH_COLUMN_BYTES},
    {"memory_read_bytes", "Memory", FTH_COLUMN_BYTES},
    {"wavefronts_per_request", "Waves", FTH_COLUMN_NUMBER},
    {"ideal_wavefronts_per_request", "Ideal", FTH_COLUMN_NUMBER},
    {"l1_misses_cold", "L1 cold", FTH_COLUMN_NUMBER},
    {"l1_misses_capacity", "capacity", FTH_COLUMN_NUMBER},
    {"l1_misses_conflict", "conflict", FTH_COLUMN_NUMBER},
    {"l1_misses_coherence", "coherence", FTH_COLUMN_NUMBER},
    {"l1_misses_sector", "sector", FTH_COLUMN_NUMBER},
    {"inlined", "Inlined from", FTH_COLUMN_TEXT},
    {"inlined_functions", "Functions", FTH_COLUMN_TEXT},
};
/* The columns that a narrow terminal does not show, the least important one first. */
static const char *const line_drop[] = {"l1_misses_sector",
                                        "l1_misses_coherence",
                                        "l1_misses_cold",
                                        "l1_misses_conflict",
                                        "l1_misses_capacity",
                                        "kinds",
                                        "requests",
                                        "inlined",
                                        "l2_bytes",
                                        "inlined_functions",
                                        NULL};

static const char *keep_text(struct fth_cells *cells, const char *text)
{
    const char *kept = text ? fth_arena_text(&cells->arena, text) : NULL;
    cells->failed = cells->failed || (text && !kept);
    return kept;
}

/* Adds the row of a line. Names of functions are cut to `name_columns`. */
static void put_line(struct fth_cells *cells, const char *kernel, const struct line *line,
                     double sector_bytes, size_t name_columns, const char *ellipsis)
{
    const struct fth_model_row *sum = &line->sum;
    const struct fth_model_misses *misses = &sum->l1_misses;
    const uint64_t counts[] = {misses->cold, misses->capacity, misses->conflict, misses->coherence,
                               misses->sector};
    const bool is_global = fth_figure_sum(sum->warps) != 0;
    const double none = (double)NAN;
    char text[300], kinds[4];
    snprintf(text, sizeof text, "%s:%u", line->file ? base_name(line->file) : "PTX", line->number);
    fth_cells_put_text(cells, kernel);
    fth_cells_put_text(cells, keep_text(cells, text));
    fth_cells_put_text(cells, keep_text(cells, kinds_text(line, kinds)));
    fth_cells_put(cells, NULL,
                  (double)(fth_figure_sum(sum->warps) + fth_figure_sum(sum->shared.requests)));
    fth_cells_put(cells, NULL, per_request(fth_figure_sum(sum->l1.sectors), sum));
    fth_cells_put(cells, NULL, ideal_per_request(sum));
    fth_cells_put(cells, NULL, fth_figure_percent(fth_model_hit_ratio(&sum->l1, true)));
    fth_cells_put(cells, NULL, fth_figure_percent(fth_model_hit_ratio(&sum->l2, true)));
    fth_cells_put(cells, NULL,
                  is_global ? (double)fth_figure_sum(sum->l2.sectors) * sector_bytes : none);
    fth_cells_put(cells, NULL, is_global ? (double)sum->dram_reads * sector_bytes : none);
    fth_cells_put(cells, NULL, wavefronts_per_request(sum->shared.wavefronts, sum));
    fth_cells_put(cells, NULL, wavefronts_per_request(sum->shared.ideal_wavefronts, sum));
    for (size_t i = 0; i < FTH_COUNT(counts); i++)
        fth_cells_put(cells, NULL, is_global ? (double)counts[i] : none);
    fth_cells_put_text(cells, keep_text(cells, line->callee));
    struct fth_buffer names = {0};
    if (line->functions) {
        fth_text_append(&names, line->functions, name_columns, ellipsis);
        fth_buffer_append(&names, "", 1);
    }
    cells->failed = cells->failed || names.failed;
    fth_cells_put_text(cells, keep_text(cells, names.data));
    fth_buffer_fini(&names);
}

/* Removes the columns that no line has a value for. */
static void leave_out_empty(struct fth_cells *cells, struct fth_table *table)
{
    static const char *const optional[] = {"wavefronts_per_request", "ideal_wavefronts_per_request",
                                           "inlined", "inlined_functions"};
    for (size_t k = 0; k < FTH_COUNT(optional); k++)
        for (size_t c = 0; c < table->column_count; c++) {
            bool empty = strcmp(table->columns[c].key, optional[k]) == 0;
            for (size_t row = 0; row < table->row_count && empty; row++) {
                const struct fth_cell *cell = &cells->items[row * table->column_count + c];
                empty = !cell->text && isnan(cell->number);
            }
            if (empty) {
                fth_table_leave_out(cells, table, optional[k]);
                break;
            }
        }
    table->cells = cells->items;
}

/* Writes the name of a kernel as a heading. */
static void write_heading(const char *kernel, const struct fth_report_options *options,
                          struct fth_buffer *out)
{
    char name[FTH_NAME_BYTES];
    fth_demangle(kernel, FTH_NAME_SHORT, name, sizeof name);
    fth_buffer_text(out, options->colour ? "\033[1m" : "");
    fth_text_append(out, name, fth_report_columns(options), options->utf8 ? "…" : "~");
    fth_buffer_text(out, options->colour ? "\033[0m\n" : "\n");
}

/* Writes the table of one kernel, without the column of its name. */
static void write_table(const char *kernel, const struct lines *lines, double sector_bytes,
                        const struct fth_report_options *options, struct fth_buffer *out,
                        bool *failed)
{
    struct fth_cells cells = {0};
    for (size_t i = 0; i < lines->count; i++)
        put_line(&cells, kernel, &lines->items[i], sector_bytes, fth_report_columns(options) / 4,
                 options->utf8 ? "…" : "~");
    struct fth_table table = {line_columns, FTH_COUNT(line_columns), cells.items, lines->count};
    if (!cells.failed) {
        fth_table_leave_out(&cells, &table, "kernel");
        leave_out_empty(&cells, &table);
        write_heading(kernel, options, out);
        fth_text_table_fit(&table, line_drop, options, out);
    }
    *failed = *failed || cells.failed;
    fth_cells_fini(&cells);
}

/* ---- listing ---- */

/* MAX_FILE: larger source files are not shown. CONTEXT: lines that are shown before and after each
 * line with figures. Both chosen. */
enum { MAX_FILE = 16 << 20, CONTEXT = 2 };

/* A text file as lines. */
struct source_text {
    struct fth_buffer content;
    char **lines;
    size_t count;
};

static void source_text_fini(struct source_text *text)
{
    fth_buffer_fini(&text->content);
    free(text->lines);
    *text = (struct source_text){0};
}

static bool read_file(const char *path, struct source_text *text)
{
    struct fth_error error = FTH_NO_ERROR;
    if (fth_file_read(path, FTH_FILE_LIMIT("a source file", MAX_FILE), &text->content, &error) !=
        FTH_OK)
        return false;
    fth_buffer_append(&text->content, "", 1); /* the end of the last line */
    return !text->content.failed;
}

/* Divides the content at its newlines. Returns false without memory. */
static bool split_lines(struct source_text *text)
{
    size_t capacity = 0;
    for (char *at = text->content.data; at;) {
        char *end = strchr(at, '\n');
        if (!fth_grow((void **)&text->lines, text->count, &capacity, sizeof *text->lines))
            return false;
        text->lines[text->count++] = at;
        if (end)
            *end++ = 0;
        at = end;
    }
    return true;
}

/* Reads a source file: at its own path, or by its name in one of the folders. */
static bool read_source(const char *file, const struct fth_model_report *more,
                        struct source_text *text)
{
    const char *const none[] = {NULL};
    const char *const *folder = more->folders ? more->folders : none;
    bool found = file && read_file(file, text);
    if (!file)
        found = more->ptx && read_file(more->ptx, text);
    for (; file && !found && *folder; folder++) {
        char path[4096];
        for (int with_folders = 1; with_folders >= 0 && !found; with_folders--) {
            const char *name = with_folders ? file : base_name(file);
            text->content.size = 0;
            found = snprintf(path, sizeof path, "%s/%s", *folder, name) < (int)sizeof path &&
                    read_file(path, text);
        }
    }
    if (found && split_lines(text))
        return true;
    source_text_fini(text);
    return false;
}

/* Writes a number of bytes in at most four characters, such as "64M". */
static const char *short_bytes(double bytes, char text[16])
{
    static const char units[] = "BKMGTP";
    size_t unit = 0;
    for (; bytes >= 999.5 && units[unit + 1]; unit++)
        bytes /= 1024;
    fth_format(text, 16, bytes < 9.95 && unit ? "%.1f%c" : "%.0f%c", bytes, units[unit]);
    return text;
}

/* Writes a count in at most five characters, such as "98.3k". */
static const char *short_count(uint64_t count, char text[16])
{
    static const char units[] = " kMGTP";
    double number = (double)count;
    size_t unit = 0;
    for (; number >= 999.5 && units[unit + 1]; unit++)
        number /= 1000;
    if (unit)
        fth_format(text, 16, "%.1f%c", number, units[unit]);
    else
        snprintf(text, 16, "%.0f", number);
    return text;
}

/* Writes a ratio as a percentage without decimals, or nothing if there is none. */
static const char *short_percent(double ratio, char text[16])
{
    text[0] = 0;
    if (!isnan(ratio))
        snprintf(text, 16, "%.0f", 100 * ratio);
    return text;
}

/* Writes two numbers with one decimal at most, such as "32/4". */
static const char *short_pair(double number, double ideal, char text[40])
{
    char first[16], second[16];
    text[0] = 0;
    if (!isnan(number))
        snprintf(text, 40, "%s/%s", fth_number_format(number, first, sizeof first),
                 isnan(ideal) ? "?" : fth_number_format(ideal, second, sizeof second));
    return text;
}

/* The margin of the listing. The columns of text are right-aligned. */
static const char margin_head[] = "  Reqs  Sec/ideal  L1%  L2%    L2   Mem";
static const char bank_head[] = "  Bank/ideal";

static void write_margin(const struct line *line, double sector_bytes, bool has_banks,
                         struct fth_buffer *out)
{
    char requests[16], l1[16], l2[16], moved[16], memory[16], pair[40];
    if (!line) {
        fth_buffer_repeat(out, " ",
                          sizeof margin_head - 1 + (has_banks ? sizeof bank_head - 1 : 0));
        return;
    }
    const struct fth_model_row *sum = &line->sum;
    const bool is_global = fth_figure_sum(sum->warps) != 0;
    short_count(fth_figure_sum(sum->warps) + fth_figure_sum(sum->shared.requests), requests);
    short_percent(fth_model_hit_ratio(&sum->l1, true), l1);
    short_percent(fth_model_hit_ratio(&sum->l2, true), l2);
    short_bytes((double)fth_figure_sum(sum->l2.sectors) * sector_bytes, moved);
    short_bytes((double)(sum->dram_reads + sum->dram_writes) * sector_bytes, memory);
    short_pair(per_request(fth_figure_sum(sum->l1.sectors), sum), ideal_per_request(sum), pair);
    fth_buffer_format(out, "%6s  %9s  %3s  %3s  %4s  %4s", requests, pair, l1, l2,
                      is_global ? moved : "", is_global ? memory : "");
    if (has_banks)
        fth_buffer_format(out, "  %10s",
                          short_pair(wavefronts_per_request(sum->shared.wavefronts, sum),
                                     wavefronts_per_request(sum->shared.ideal_wavefronts, sum),
                                     pair));
}

/* Writes a line of the source, cut to the rest of the width. Tabs become four blanks. The functions
 * of inlined code, or its position, come first, so that they are not cut. They take at most half of
 * the width. */
static void write_code(uint32_t number, const char *code, const struct line *line, size_t columns,
                       bool utf8, struct fth_buffer *out)
{
    char text[512] = "";
    const char *callee = !line ? NULL : line->functions ? line->functions : line->callee;
    if (callee) {
        struct fth_buffer name = {0};
        fth_text_append(&name, callee, columns / 2, utf8 ? "…" : "~");
        snprintf(text, sizeof text / 2, "[%.*s] ", (int)name.size, name.data ? name.data : "");
        code += strspn(code, " \t");
        fth_buffer_fini(&name);
    }
    size_t length = strlen(text);
    for (; *code && length + 5 < sizeof text; code++)
        for (int i = 0; i < (*code == '\t' ? 4 : 1); i++)
            text[length++] = *code == '\t' ? ' ' : *code;
    text[length] = 0;
    fth_make_printable(text);
    fth_buffer_format(out, *text ? " |%5u " : " |%5u", number);
    fth_text_append(out, text, columns, utf8 ? "…" : "~");
    fth_buffer_text(out, "\n");
}

/* Writes the part of a file that lines[first] to lines[last - 1] belong to. */
static void write_file(const struct lines *lines, size_t first, size_t last,
                       const struct source_text *text, double sector_bytes, bool has_banks,
                       const struct fth_report_options *options, struct fth_buffer *out)
{
    const size_t margin = sizeof margin_head - 1 + (has_banks ? sizeof bank_head - 1 : 0);
    const size_t used = margin + 8, width = fth_report_columns(options);
    const size_t columns = width > used + 20 ? width - used : 20;
    uint32_t shown = 0; /* last line that was written */
    fth_buffer_format(out, "%s%s |      %s\n", margin_head, has_banks ? bank_head : "",
                      lines->items[first].file ? base_name(lines->items[first].file) : "PTX");
    for (size_t i = first; i < last; i++) {
        const struct line *line = &lines->items[i];
        const uint32_t from = line->number > shown + CONTEXT ? line->number - CONTEXT : shown + 1;
        if (shown && from > shown + 1)
            fth_buffer_text(out, "...\n");
        const uint32_t next = i + 1 < last ? lines->items[i + 1].number : UINT32_MAX;
        for (uint32_t n = from; n < next && n <= line->number + CONTEXT && n <= text->count; n++) {
            const struct line *figures = n == line->number ? line : NULL;
            write_margin(figures, sector_bytes, has_banks, out);
            write_code(n, text->lines[n - 1], figures, columns, options->utf8, out);
            shown = n;
        }
    }
}

/* Writes the listing of a kernel: file by file, or the table where a file cannot be read. */
static void write_listing(const char *kernel, struct lines *lines, double sector_bytes,
                          const struct fth_model_report *more,
                          const struct fth_report_options *options, struct fth_buffer *out,
                          bool *failed)
{
    bool has_banks = false;
    for (size_t i = 0; i < lines->count; i++)
        has_banks = has_banks || lines->items[i].is_shared;
    for (size_t first = 0, last; first < lines->count; first = last) {
        struct source_text text = {0};
        for (last = first + 1;
             last < lines->count && is_file(lines->items[last].file, lines->items[first].file);)
            last++;
        /* A file that has been shortened since does not have all lines. */
        if (read_source(lines->items[first].file, more, &text) && lines->items[first].number &&
            lines->items[last - 1].number <= text.count) {
            write_heading(kernel, options, out);
            write_file(lines, first, last, &text, sector_bytes, has_banks, options, out);
        } else {
            const struct lines part = {.items = lines->items + first, .count = last - first};
            write_table(kernel, &part, sector_bytes, options, out, failed);
        }
        source_text_fini(&text);
    }
}

/* ---- all kernels ---- */

static void write_csv(const struct fth_model_result *result, double sector_bytes,
                      const struct fth_report_options *options, struct lines *lines,
                      struct fth_buffer *out, bool *failed)
{
    struct fth_cells cells = {0};
    const struct fth_model_row *row;
    for (size_t i = 0; (row = fth_model_row(result, i)); i++) {
        if (!fth_model_view_shows(FTH_MODEL_VIEW_KERNELS, row))
            continue;
        collect_lines(result, i, lines);
        for (size_t k = 0; k < lines->count; k++)
            put_line(&cells, row->kernel, &lines->items[k], sector_bytes, SIZE_MAX, "");
    }
    const struct fth_table table = {line_columns, FTH_COUNT(line_columns), cells.items,
                                    cells.count / FTH_COUNT(line_columns)};
    if (!cells.failed)
        fth_report_csv.table(&table, options, out);
    *failed = *failed || cells.failed;
    fth_cells_fini(&cells);
}

void fth_write_model_source(const struct fth_model_result *result,
                            const struct fth_model_params *params, enum fth_lines_form form,
                            const struct fth_model_report *more,
                            const struct fth_report_options *options, struct fth_buffer *out,
                            bool *failed)
{
    const double sector = params->values[fth_model_key(FTH_MODEL_L2, FTH_KEY_SECTOR)].number;
    const double line = params->values[fth_model_key(FTH_MODEL_L2, FTH_KEY_LINE)].number;
    const double sector_bytes = sector > 0 ? sector : line; /* 0: a line is one sector */
    struct lines lines = {0};
    const struct fth_model_row *row;
    bool first = true;
    if (form == FTH_LINES_CSV)
        write_csv(result, sector_bytes, options, &lines, out, failed);
    for (size_t i = 0; form != FTH_LINES_CSV && (row = fth_model_row(result, i)); i++) {
        if (!fth_model_view_shows(FTH_MODEL_VIEW_KERNELS, row))
            continue;
        collect_lines(result, i, &lines);
        if (!lines.count)
            continue;
        fth_buffer_text(out, first ? "" : "\n");
        first = false;
        if (form == FTH_LINES_LISTING)
            write_listing(row->kernel, &lines, sector_bytes, more, options, out, failed);
        else
            write_table(row->kernel, &lines, sector_bytes, options, out, failed);
    }
    *failed = *failed || lines.failed;
    free(lines.items);
    fth_arena_fini(&lines.arena);
}

/* ---- JSON ---- */

/* Returns whether an earlier row of the result has the same file. */
static bool is_repeated(const struct fth_model_result *result, size_t at, const char *file)
{
    const struct fth_model_row *row;
    for (size_t i = 0; i < at && (row = fth_model_row(result, i)); i++)
        for (const struct fth_source_position *source = row->instruction ? row->instruction->source
                                                                         : NULL;
             source; source = source->inlined_at)
            if (!source->inlined_at && is_file(source->file, file))
                return true;
    return false;
}

void fth_json_sources(struct fth_json_writer *json, const struct fth_model_result *result,
                      const struct fth_model_report *more)
{
    const struct fth_model_row *row;
    fth_json_key(json, "sources");
    fth_json_begin(json, '[', false);
    for (size_t i = 0; (row = fth_model_row(result, i)); i++) {
        const struct fth_source_position *source =
            row->instruction ? row->instruction->source : NULL;
        struct source_text text = {0};
        while (source && source->inlined_at)
            source = source->inlined_at;
        if (!source || !source->file || is_repeated(result, i, source->file) ||
            !read_source(source->file, more, &text))
            continue;
        fth_json_begin(json, '{', false);
        fth_json_key(json, "file");
        fth_json_text(json, source->file);
        fth_json_key(json, "lines");
        fth_json_begin(json, '[', false);
        for (size_t k = 0; k < text.count; k++)
            fth_json_text(json, text.lines[k]);
        fth_json_end(json, ']');
        fth_json_end(json, '}');
        source_text_fini(&text);
    }
    fth_json_end(json, ']');
}
