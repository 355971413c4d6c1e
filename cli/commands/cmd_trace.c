/* fathom trace: writes the global-memory accesses of kernels to a trace file, and shows traces. */
#include "cli.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct cli_option option_dump = {
    "dump", 0, NULL, CLI_WORD_NONE,
    "print the accesses, one per line: access number, block, warp, R (read), W (write) or A "
    "(atomic) "
    "with the number of the instruction, number of lanes, their addresses; the instructions are "
    "listed first"};
static const struct cli_option option_stats = {
    "stats", 0, NULL, CLI_WORD_NONE,
    "print requests, sectors, coalescing and footprint per kernel (default without -o)"};
static const struct cli_option option_lines = {
    "lines", 0, NULL, CLI_WORD_NONE,
    "like --stats, but per memory instruction, with its "
    "line in the PTX and, if known, in the CUDA source; also for shared memory, with its "
    "wavefronts"};
static const struct cli_option option_verify = {
    "verify", 0, NULL, CLI_WORD_NONE,
    "also compare the buffers with the results that the launch file expects; the exit code is 5 if "
    "they differ"};
static const struct cli_option option_output = {
    "output", 'o', "TRACE", CLI_WORD_FILE,
    "write the trace to this file, which is only replaced once the trace is complete"};

/* ---- statistics ---- */

/* The columns after the first ones are shown only if a kernel accesses local memory or textures. */
enum { FIRST_COLUMNS = 12, PAIR_COLUMNS = 2, COLUMNS = FIRST_COLUMNS + 2 * PAIR_COLUMNS };

static const struct fth_column kernel_columns[FIRST_COLUMNS] = {
    {"kernel", "Kernel", FTH_COLUMN_KERNEL},
    {"launches", "Launches", FTH_COLUMN_NUMBER},
    {"longest", "L", FTH_COLUMN_NUMBER},
    {"reads", "Reads", FTH_COLUMN_NUMBER},
    {"read_sectors", "Read sectors", FTH_COLUMN_NUMBER},
    {"writes", "Writes", FTH_COLUMN_NUMBER},
    {"write_sectors", "Write sectors", FTH_COLUMN_NUMBER},
    {"atomics", "Atomics", FTH_COLUMN_NUMBER},
    {"atomic_sectors", "Atomic sectors", FTH_COLUMN_NUMBER},
    {"threads_per_request", "Thr/req", FTH_COLUMN_NUMBER},
    {"sectors_per_request", "Sec/req", FTH_COLUMN_NUMBER},
    {"footprint_bytes", "Footprint", FTH_COLUMN_BYTES},
};
static const struct fth_column local_columns[PAIR_COLUMNS] = {
    {"local_requests", "Local", FTH_COLUMN_NUMBER},
    {"local_sectors", "Local sectors", FTH_COLUMN_NUMBER},
};
static const struct fth_column texture_columns[PAIR_COLUMNS] = {
    {"texture_requests", "Texture", FTH_COLUMN_NUMBER},
    {"texture_sectors", "Texture sectors", FTH_COLUMN_NUMBER},
};

/* The columns that a narrow terminal does not show, the least important one first. */
static const char *const drop_columns[] = {
    "longest",       "atomic_sectors",      "launches",     "local_sectors", "texture_sectors",
    "write_sectors", "threads_per_request", "read_sectors", "atomics",       NULL};

static uint64_t sum(const uint64_t three[3])
{
    return three[0] + three[1] + three[2];
}

/* Returns a / b rounded to two decimals, for display; NAN if b is 0. */
static double ratio(uint64_t a, uint64_t b)
{
    return b ? round(100 * (double)a / (double)b) / 100 : NAN;
}

/* Which columns of kernels a table has. */
struct shown {
    bool local, texture;
    size_t count;
    struct fth_column columns[COLUMNS];
};

static struct shown choose_columns(const struct fth_trace_stats *stats)
{
    struct shown shown = {.count = FIRST_COLUMNS};
    const struct fth_trace_row *row;
    for (size_t i = 0; (row = fth_trace_stats_row(stats, i)); i++) {
        shown.local = shown.local || sum(row->local_requests);
        shown.texture = shown.texture || sum(row->texture_requests);
    }
    memcpy(shown.columns, kernel_columns, sizeof kernel_columns);
    if (shown.local) {
        memcpy(shown.columns + shown.count, local_columns, sizeof local_columns);
        shown.count += PAIR_COLUMNS;
    }
    if (shown.texture) {
        memcpy(shown.columns + shown.count, texture_columns, sizeof texture_columns);
        shown.count += PAIR_COLUMNS;
    }
    return shown;
}

static void fill_kernel(const struct fth_trace_row *row, const struct shown *shown,
                        struct fth_cell *cells)
{
    cells[0].text = row->kernel;
    cells[1].number = (double)row->launches;
    cells[2].number = (double)row->longest;
    for (int kind = 0; kind < 3; kind++) {
        cells[3 + 2 * kind].number = (double)row->requests[kind];
        cells[4 + 2 * kind].number = (double)row->sectors[kind];
    }
    cells[9].number = ratio(sum(row->accesses), sum(row->requests));
    cells[10].number = ratio(sum(row->sectors), sum(row->requests));
    cells[11].number = (double)row->footprint_all_bytes;
    struct fth_cell *next = cells + FIRST_COLUMNS;
    if (shown->local) {
        (next++)->number = (double)sum(row->local_requests);
        (next++)->number = (double)sum(row->local_sectors);
    }
    if (shown->texture) {
        (next++)->number = (double)sum(row->texture_requests);
        next->number = (double)sum(row->texture_sectors);
    }
}

/* Returns the arguments without -o, which names the trace, so that tables are printed on stdout. */
static struct cli_arguments without_output(const struct cli_arguments *arguments)
{
    struct cli_arguments without = *arguments;
    without.option_count = 0;
    for (size_t i = 0; i < arguments->option_count; i++)
        if (arguments->options[i] != &option_output) {
            without.options[without.option_count] = arguments->options[i];
            without.values[without.option_count++] = arguments->values[i];
        }
    return without;
}

static int show_kernels(const struct cli_arguments *arguments, const struct fth_trace *trace)
{
    struct fth_trace_stats *stats;
    struct fth_error error = FTH_NO_ERROR;
    const struct fth_trace_row *row;
    if (fth_trace_stats_create(trace, &cli_log, &stats, &error) != FTH_OK)
        return cli_fail(&error);
    size_t rows = 0, count = 0;
    const struct shown shown = choose_columns(stats);
    while (fth_trace_stats_row(stats, count))
        count++;
    struct fth_cell *cells = calloc(count * shown.count + 1, sizeof *cells);
    for (size_t i = 0; cells && (row = fth_trace_stats_row(stats, i)); i++)
        if (!row->instruction)
            fill_kernel(row, &shown, cells + shown.count * rows++);
    const struct fth_table table = {shown.columns, shown.count, cells, rows};
    int result = cells ? cli_put_table_fit(arguments, &table, drop_columns) : cli_no_memory();
    free(cells);
    fth_trace_stats_destroy(stats);
    return result;
}

static int show_stats(const struct cli_arguments *arguments, const struct fth_trace *trace,
                      bool lines)
{
    const struct cli_arguments without = without_output(arguments);
    return lines ? cli_put_trace_lines(&without, trace) : show_kernels(&without, trace);
}

/* ---- dump ---- */

/* `numbers` are those of print_instructions(). */
static void print_access(const struct fth_trace *trace, const size_t *numbers,
                         const struct fth_trace_access *access)
{
    static const char letters[] = "RWA";
    const struct fth_trace_instruction *instruction =
        fth_trace_instruction_at(trace, access->instruction);
    uint32_t low = access->threads == 32 ? UINT32_MAX : (UINT32_C(1) << access->threads) - 1;
    printf("%" PRIu64 " %" PRIu64 " %" PRIu32 " %c:%zu %" PRIu32, access->number, access->block,
           access->warp, letters[instruction->kind], numbers[access->instruction], access->threads);
    if (access->mask != low)
        printf("/0x%" PRIx32, access->mask);
    for (uint32_t i = 0; i < access->threads; i++)
        printf(" 0x%" PRIx64, access->addresses[i]);
    putchar('\n');
}

/* Prints the instructions, except those of shared memory, and sets their numbers. */
static void print_instructions(const struct fth_trace *trace, size_t *numbers)
{
    for (size_t i = 0, number = 0; i < fth_trace_instruction_count(trace); i++) {
        const struct fth_trace_instruction *instruction = fth_trace_instruction_at(trace, i);
        if (instruction->hints & FTH_TRACE_SHARED)
            continue;
        printf("# instruction %zu bytes %" PRIu32 " line %" PRIu32 " source %" PRIu32 "%s", number,
               instruction->bytes, instruction->line, instruction->source_line,
               instruction->hints & FTH_TRACE_LOCAL ? " local" : "");
        if (instruction->hints & FTH_TRACE_TEXTURE)
            printf(" texture %" PRIu32 " %" PRIu32, FTH_TRACE_TEXELS(instruction->hints),
                   FTH_TRACE_TEXTURE_LANES(instruction->hints));
        putchar('\n');
        const struct fth_source_position *source = instruction->source;
        for (; source; source = source->inlined_at) {
            printf("# source %zu %" PRIu32 " %s\n", number, source->line,
                   source->file ? source->file : "");
            if (source->function)
                printf("# function %zu %s\n", number, source->function);
        }
        numbers[i] = number++;
    }
}

static int dump(const struct fth_trace *trace)
{
    struct fth_error error = FTH_NO_ERROR;
    enum fth_status status = FTH_OK;
    size_t *numbers = calloc(fth_trace_instruction_count(trace) + 1, sizeof *numbers);
    if (!numbers)
        return cli_no_memory();
    print_instructions(trace, numbers);
    for (size_t i = 0; i < fth_trace_launch_count(trace) && status == FTH_OK; i++) {
        const struct fth_trace_launch *launch = fth_trace_launch_at(trace, i);
        struct fth_trace_cursor *cursor;
        const struct fth_trace_access *access = NULL;
        printf("# kernel %s\n# grid %u %u %u\n# block %u %u %u\n# L %" PRIu64 "\n", launch->kernel,
               launch->grid[0], launch->grid[1], launch->grid[2], launch->block[0],
               launch->block[1], launch->block[2], launch->longest);
        if (launch->local_bytes)
            printf("# local %" PRIu64 "\n", launch->local_bytes);
        status = fth_trace_cursor_open(trace, i, 0, UINT64_MAX, &cursor, &error);
        if (status == FTH_OK)
            status = fth_trace_next(cursor, &access, &error);
        while (status == FTH_OK && access && !ferror(stdout) && !cli_log.interrupted(NULL)) {
            print_access(trace, numbers, access);
            status = fth_trace_next(cursor, &access, &error);
        }
        fth_trace_cursor_close(cursor);
    }
    free(numbers);
    int finished = cli_finish_stdout();
    if (status == FTH_OK && finished == CLI_DONE && cli_log.interrupted(NULL))
        return CLI_INTERRUPTED;
    return status != FTH_OK ? cli_fail(&error) : finished;
}

static int show_trace(const struct cli_arguments *arguments, const struct fth_trace *trace)
{
    int result = cli_value(arguments, &option_dump)
                     ? dump(trace)
                     : show_stats(arguments, trace, cli_value(arguments, &option_lines) != NULL);
    const char *truncated = fth_trace_truncated(trace);
    if (truncated)
        cli_message("%s: %s", arguments->words[0], truncated);
    return result == CLI_DONE && truncated ? CLI_INCONCLUSIVE : result;
}

/* ---- creating a trace ---- */

static int verify(const struct fth_launch *launch)
{
    struct fth_error error = FTH_NO_ERROR;
    struct fth_verdict verdict;
    bool all = true;
    size_t i = 0;
    do {
        if (fth_launch_verify(launch, i, &verdict, &error) != FTH_OK)
            return cli_fail(&error);
        cli_message("%s %s: %s", verdict.buffer, verdict.matches ? "matches" : "DIFFERS",
                    verdict.text);
        all = all && verdict.matches;
    } while (++i < fth_launch_expectation_count(launch));
    return all ? CLI_DONE : CLI_DIFFERS;
}

static void report_size(const char *path, const struct fth_trace *trace)
{
    uint64_t accesses = 0;
    size_t launches = fth_trace_launch_count(trace);
    for (size_t i = 0; i < launches; i++)
        accesses += fth_trace_launch_at(trace, i)->accesses;
    cli_note("%s: %zu launch%s, %" PRIu64 " warp access%s, %.2f bytes per access", path, launches,
             launches == 1 ? "" : "es", accesses, accesses == 1 ? "" : "es",
             accesses ? (double)fth_trace_bytes(trace) / (double)accesses : 0.0);
}

static int run_trace(const struct cli_arguments *arguments)
{
    const char *output = cli_value(arguments, &option_output);
    const bool requested = cli_value(arguments, &option_dump) ||
                           cli_value(arguments, &option_stats) ||
                           cli_value(arguments, &option_lines);
    struct fth_launch *launch = NULL;
    struct fth_trace *trace = NULL;
    if (arguments->word_count == 0) {
        cli_message("no PTX file, launch file, capsule or trace given; see 'fathom trace --help'");
        return CLI_USAGE;
    }
    if (output && strcmp(output, "-") == 0 && requested) {
        cli_message("-o - writes the trace to standard output; name a file for -o to also show it");
        return CLI_USAGE;
    }
    cli_catch_interrupts(); /* so that an incomplete file is removed */
    /* Only a trace that keeps its launch computes the contents of the buffers. */
    const bool verifies = cli_value(arguments, &option_verify) != NULL;
    int result =
        cli_obtain_trace(arguments, &cli_option_set, output, verifies ? &launch : NULL, &trace);
    if (result == CLI_DONE && launch)
        result = verify(launch);
    if (result == CLI_DONE && output && trace)
        report_size(output, trace);
    if (result == CLI_DONE && trace && (requested || !output))
        result = show_trace(arguments, trace);
    fth_launch_destroy(launch);
    fth_trace_close(trace);
    return result;
}

static const struct cli_option *const options[] = {
    &option_output,
    &option_stats,
    &option_lines,
    &option_dump,
    &option_verify,
    CLI_KERNEL_OPTIONS,
    CLI_CAPSULE_OPTIONS,
    &cli_option_set,
    &cli_option_allow_files,
    &cli_option_no_spills,
    &cli_option_max_instructions,
    &cli_option_json,
    &cli_option_format,
    &cli_option_quiet,
    &cli_option_help,
    NULL,
};

static const struct cli_example examples[] = {
    {"fathom trace k.ptx -g 4 -b 256 -a i32:1000 -a f32:2 -a 'ptr:f32[1000]'",
     "show how a kernel accesses memory"},
    {"fathom trace examples/workloads/2mm.json -o 2mm.trace", "write the trace of a launch file"},
    {"fathom trace 2mm.trace --lines", "show the requests of each instruction"},
    {"fathom trace kernel-1.traceg -o k.trace",
     "convert a trace of a real GPU made by Accel-Sim's tracer"},
    {"fathom trace program.capsule --kernel gemm -o gemm.trace",
     "trace launches of a CUDA program"},
    {"nvcc -ptx k.cu -o - | fathom trace - -b 64 -a 'ptr:f32[64]'", "read PTX from standard input"},
    {NULL, NULL},
};

const struct cli_command cli_trace = {
    "trace",
    "Record the memory accesses of kernels",
    "KERNEL.ptx | PROGRAM | LAUNCH.json | CAPSULE | TRACE | - [OPTION]...",
    "Execute kernels in the PTX engine, as 'fathom run' does, and record every access\n"
    "of their warps to global memory. Without -o, print statistics of the accesses.\n"
    "With -o, write a compressed trace file with checksums. As for 'fathom run', the\n"
    "options from --entry to --seed are for PTX files and for programs that contain\n"
    "PTX, and --set and --verify are for launch files. CAPSULE is a file with\n"
    "launches of a CUDA program, of which --kernel and --launch select some.\n"
    "\n"
    "A trace contains one launch after the other. For each launch, the first access\n"
    "of every warp of all blocks comes first (in the order of blocks, then of warps),\n"
    "then the second access of every warp, and so on.\n"
    "\n"
    "If the input is a TRACE, nothing is executed, and the options from --verify to\n"
    "--set have no effect. TRACE is a file written with -o, a text file with one\n"
    "access per line, or a .traceg file of Accel-Sim. With -o, the latter two are\n"
    "converted; the first needs no conversion. See docs/traces.md.\n"
    "\n"
    "The kind of the input is recognised by its content, not by its name. With -, it\n"
    "is read from standard input.",
    options,
    examples,
    CLI_WORD_FILE,
    1,
    run_trace,
};
