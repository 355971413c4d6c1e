/* The table of 'fathom trace --lines': one row per memory instruction. Instructions that access
 * shared memory follow the others of their kernel. */
#include "cli.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The columns of shared memory are shown only if a kernel accesses it. */
enum { FIRST_COLUMNS = 11, SHARED_COLUMNS = 4, COLUMNS = FIRST_COLUMNS + SHARED_COLUMNS + 1 };

static const struct fth_column first_columns[FIRST_COLUMNS] = {
    {"kernel", "Kernel", FTH_COLUMN_KERNEL},
    {"line", "PTX line", FTH_COLUMN_NUMBER},
    {"source_file", "File", FTH_COLUMN_TEXT},
    {"source_line", "Line", FTH_COLUMN_NUMBER},
    {"kind", "Kind", FTH_COLUMN_TEXT},
    {"bytes", "Bytes", FTH_COLUMN_NUMBER},
    {"requests", "Requests", FTH_COLUMN_NUMBER},
    {"sectors", "Sectors", FTH_COLUMN_NUMBER},
    {"threads_per_request", "Thr/req", FTH_COLUMN_NUMBER},
    {"sectors_per_request", "Sec/req", FTH_COLUMN_NUMBER},
    {"footprint_bytes", "Footprint", FTH_COLUMN_BYTES},
};
static const struct fth_column shared_columns[SHARED_COLUMNS] = {
    {"wavefronts", "Wavefronts", FTH_COLUMN_NUMBER},
    {"ideal_wavefronts", "Ideal", FTH_COLUMN_NUMBER},
    {"padded_wavefronts", "Padded", FTH_COLUMN_NUMBER},
    {"wavefronts_per_request", "Wav/req", FTH_COLUMN_NUMBER},
};
static const struct fth_column last_column = {"inlined_at", "Inlined at", FTH_COLUMN_TEXT};

/* The columns that a narrow terminal does not show, the least important one first. */
static const char *const drop_columns[] = {
    "footprint_bytes", "padded_wavefronts", "threads_per_request", "bytes", "ideal_wavefronts",
    "wavefronts",      "sectors",           "inlined_at",          "line",  NULL};

/* Maximum length of the list of calls of inlined code, which is cut after it. */
enum { CALLS_BYTES = 1024 };

struct lines {
    const struct fth_trace *trace;
    bool has_shared;
    size_t columns; /* per row */
    struct fth_column names[COLUMNS];
    struct fth_cell *cells;
    char *calls; /* [rows][CALLS_BYTES], which the cells refer to */
    size_t rows;
    struct fth_trace_shared *sums; /* [instructions], of the current kernel */
};

static uint64_t sum(const uint64_t three[3])
{
    return three[0] + three[1] + three[2];
}

/* Returns a / b rounded to two decimals, for display; NAN if b is 0. */
static double ratio(uint64_t a, uint64_t b)
{
    return b ? round(100 * (double)a / (double)b) / 100 : (double)NAN;
}

/* Begins a row: what is known of the instruction. */
static struct fth_cell *add_row(struct lines *lines, const char *kernel,
                                const struct fth_trace_instruction *instruction)
{
    struct fth_cell *cells = lines->cells + lines->columns * lines->rows;
    char *calls = lines->calls + CALLS_BYTES * lines->rows++;
    const struct fth_source_position *source = instruction->source;
    cells[0].text = kernel;
    cells[1].number = instruction->line ? (double)instruction->line : (double)NAN;
    cells[2].text = fth_source_file(source);
    cells[3].number = instruction->source_line ? (double)instruction->source_line : (double)NAN;
    cells[4].text = fth_trace_kind_name(instruction);
    cells[5].number = instruction->bytes;
    if (source && source->inlined_at)
        cells[lines->columns - 1].text = fth_source_text(source->inlined_at, calls, CALLS_BYTES);
    return cells;
}

static void add_traced(struct lines *lines, const struct fth_trace_row *row)
{
    struct fth_cell *cells = add_row(lines, row->kernel, row->instruction);
    cells[6].number = (double)sum(row->requests);
    cells[7].number = (double)sum(row->sectors);
    cells[8].number = ratio(sum(row->accesses), sum(row->requests));
    cells[9].number = ratio(sum(row->sectors), sum(row->requests));
    cells[10].number = (double)row->footprint_all_bytes;
    for (size_t i = FIRST_COLUMNS; i + 1 < lines->columns; i++)
        cells[i].number = (double)NAN;
}

static void add_shared(struct lines *lines, const char *kernel, size_t instruction)
{
    const struct fth_trace_shared *shared = &lines->sums[instruction];
    struct fth_cell *cells =
        add_row(lines, kernel, fth_trace_instruction_at(lines->trace, instruction));
    cells[6].number = (double)shared->requests;
    cells[7].number = cells[9].number = cells[10].number = (double)NAN;
    cells[8].number = ratio(shared->threads, shared->requests);
    cells[11].number = (double)shared->wavefronts;
    cells[12].number = (double)shared->ideal_wavefronts;
    cells[13].number = (double)shared->padded_wavefronts;
    cells[14].number = ratio(shared->wavefronts, shared->requests);
}

/* Adds the rows of shared memory of a kernel: the sums over all its launches. */
static void add_kernel(struct lines *lines, const char *kernel)
{
    const size_t instructions = fth_trace_instruction_count(lines->trace);
    const struct fth_trace_launch *launch;
    const struct fth_trace_shared *shared;
    memset(lines->sums, 0, instructions * sizeof *lines->sums);
    for (size_t l = 0; (launch = fth_trace_launch_at(lines->trace, l)); l++) {
        if (strcmp(launch->kernel, kernel) != 0)
            continue;
        for (size_t i = 0; (shared = fth_trace_shared_at(lines->trace, l, i)); i++) {
            struct fth_trace_shared *total = &lines->sums[shared->instruction];
            total->requests += shared->requests;
            total->threads += shared->threads;
            total->wavefronts += shared->wavefronts;
            total->ideal_wavefronts += shared->ideal_wavefronts;
            total->padded_wavefronts += shared->padded_wavefronts;
        }
    }
    for (size_t i = 0; i < instructions; i++)
        if (lines->sums[i].requests)
            add_shared(lines, kernel, i);
}

static void choose_columns(struct lines *lines)
{
    const size_t launches = fth_trace_launch_count(lines->trace);
    for (size_t i = 0; i < launches; i++)
        lines->has_shared = lines->has_shared || fth_trace_shared_at(lines->trace, i, 0);
    memcpy(lines->names, first_columns, sizeof first_columns);
    lines->columns = FIRST_COLUMNS;
    if (lines->has_shared) {
        memcpy(lines->names + FIRST_COLUMNS, shared_columns, sizeof shared_columns);
        lines->columns += SHARED_COLUMNS;
    }
    lines->names[lines->columns++] = last_column;
}

/* Adds all rows. The rows of a kernel are followed by those of its shared memory. */
static void add_rows(struct lines *lines, const struct fth_trace_stats *stats)
{
    const struct fth_trace_row *row;
    const char *kernel = NULL;
    for (size_t i = 0; (row = fth_trace_stats_row(stats, i)); i++) {
        if (row->instruction) {
            add_traced(lines, row);
            continue;
        }
        if (kernel)
            add_kernel(lines, kernel);
        kernel = row->kernel;
    }
    if (kernel)
        add_kernel(lines, kernel);
}

int cli_put_trace_lines(const struct cli_arguments *arguments, const struct fth_trace *trace)
{
    struct fth_trace_stats *stats;
    struct fth_error error = FTH_NO_ERROR;
    if (fth_trace_stats_create(trace, &cli_log, &stats, &error) != FTH_OK)
        return cli_fail(&error);
    struct lines lines = {.trace = trace};
    size_t count = 0, kernels = 0;
    const struct fth_trace_row *row;
    for (; (row = fth_trace_stats_row(stats, count)); count++)
        kernels += !row->instruction;
    choose_columns(&lines);
    const size_t instructions = fth_trace_instruction_count(trace);
    const size_t rows = count + (lines.has_shared ? kernels * instructions : 0);
    lines.cells = calloc(rows * lines.columns + 1, sizeof *lines.cells);
    lines.calls = calloc(rows + 1, CALLS_BYTES);
    lines.sums = calloc(instructions + 1, sizeof *lines.sums);
    const bool ok = lines.cells && lines.calls && lines.sums;
    if (ok)
        add_rows(&lines, stats);
    const struct fth_table table = {lines.names, lines.columns, lines.cells, lines.rows};
    int result = ok ? cli_put_table_fit(arguments, &table, drop_columns) : cli_no_memory();
    free(lines.cells);
    free(lines.calls);
    free(lines.sums);
    fth_trace_stats_destroy(stats);
    return result;
}
