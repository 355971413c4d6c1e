/* fathom run: executes kernels, without a GPU or on one, and shows what they left in their buffers.
 */
#include "cli.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct cli_option option_show = {"show", 0, "N", CLI_WORD_NONE,
                                              "so many values of each buffer; 8, and 0 for all"};
static const struct cli_option option_verify = {
    "verify", 0, NULL, CLI_WORD_NONE,
    "of a launch file: compare with what it expects instead; exit code 5 where it differs"};

static const struct cli_option option_on = {
    "on", 0, "DEVICE", CLI_WORD_DEVICE,
    "a device that launches them, such as cuda:0, which is timed; the PTX engine otherwise"};

/* The first column is the name of a launch file's buffer, or which argument it is. */
static const struct fth_column argument_columns[] = {
    {"argument", "Argument", FTH_COLUMN_NUMBER},
    {"type", "Type", FTH_COLUMN_TEXT},
    {"count", "Count", FTH_COLUMN_NUMBER},
    {"values", "Values", FTH_COLUMN_NUMBERS},
};
static const struct fth_column buffer_columns[] = {
    {"buffer", "Buffer", FTH_COLUMN_TEXT},
    {"type", "Type", FTH_COLUMN_TEXT},
    {"count", "Count", FTH_COLUMN_NUMBER},
    {"values", "Values", FTH_COLUMN_NUMBERS},
};
enum { COLUMNS = sizeof buffer_columns / sizeof buffer_columns[0] };

static int show(const struct cli_arguments *arguments, const struct fth_launch *launch,
                uint64_t max)
{
    size_t count = fth_launch_buffer_count(launch), rows = 0;
    struct fth_cell *cells = calloc((count + 1) * COLUMNS, sizeof *cells);
    struct fth_error error = FTH_NO_ERROR;
    enum fth_status status = cells ? FTH_OK : FTH_NO_MEMORY;
    const struct fth_column *columns = argument_columns;
    if (!cells)
        cli_message("out of memory");
    for (; rows < count && status == FTH_OK; rows++) {
        struct fth_launch_view view;
        char *values = NULL;
        status = fth_launch_show(launch, rows, max, &view, &values, &error);
        struct fth_cell *row = cells + COLUMNS * rows;
        if (view.name)
            columns = buffer_columns;
        row[0] = (struct fth_cell){view.name, (double)view.number};
        row[1].text = view.type;
        row[2].number = (double)view.count;
        row[3].text = values;
    }
    int result = CLI_FAILED;
    if (status == FTH_OK)
        result = cli_put_table(arguments, &(struct fth_table){columns, COLUMNS, cells, rows});
    else if (error.status)
        result = cli_fail(&error);
    for (size_t i = 0; cells && i < rows; i++)
        fth_free((void *)cells[COLUMNS * i + 3].text);
    free(cells);
    return result;
}

static const struct fth_column verdict_columns[] = {
    {"buffer", "Buffer", FTH_COLUMN_TEXT},
    {"matches", "Matches", FTH_COLUMN_TEXT},
    {"found", "Found", FTH_COLUMN_TEXT},
};
enum { VERDICT_COLUMNS = sizeof verdict_columns / sizeof verdict_columns[0] };

/* Compares every buffer that the launch file says something of. */
static int verify(const struct cli_arguments *arguments, const struct fth_launch *launch)
{
    size_t count = fth_launch_expectation_count(launch);
    struct fth_verdict *verdicts = calloc(count + 1, sizeof *verdicts);
    struct fth_cell *cells = calloc((count + 1) * VERDICT_COLUMNS, sizeof *cells);
    struct fth_error error = FTH_NO_ERROR;
    enum fth_status status = verdicts && cells ? FTH_OK : FTH_NO_MEMORY;
    bool all = true;
    if (status != FTH_OK)
        cli_message("out of memory");
    /* Asking past the last one tells why there is none. */
    for (size_t i = 0; (i < count || i == 0) && status == FTH_OK; i++) {
        status = fth_launch_verify(launch, i, &verdicts[i], &error);
        struct fth_cell *row = cells + VERDICT_COLUMNS * i;
        row[0].text = verdicts[i].buffer;
        row[1].text = verdicts[i].matches ? "yes" : "no";
        row[2].text = verdicts[i].text;
        all = all && verdicts[i].matches;
    }
    int result = CLI_FAILED;
    if (status == FTH_OK)
        result = cli_put_table(arguments,
                               &(struct fth_table){verdict_columns, VERDICT_COLUMNS, cells, count});
    else if (error.status)
        result = cli_fail(&error);
    free(verdicts);
    free(cells);
    return result == CLI_DONE && !all ? CLI_DIFFERS : result;
}

static void tell_totals(const struct fth_launch *launch, const struct fth_launch_totals *totals)
{
    size_t steps = fth_launch_step_count(launch);
    char many[40];
    snprintf(many, sizeof many, "%zu launches", steps);
    cli_message("%s: %llu warp instructions, %llu thread instructions",
                steps == 1 ? fth_launch_kernel(launch, 0) : many,
                (unsigned long long)totals->warp_instructions,
                (unsigned long long)totals->thread_instructions);
}

static int by_size(const void *a, const void *b)
{
    const double *left = a, *right = b;
    return (*left > *right) - (*left < *right);
}

/* How long the launches of a kernel took, in words. */
static void tell_kernel(const char *kernel, const char *device, double *seconds, size_t count)
{
    double all = 0;
    qsort(seconds, count, sizeof *seconds, by_size);
    for (size_t i = 0; i < count; i++)
        all += seconds[i];
    if (isnan(all))
        cli_message("%s on %s: %zu launch%s, not timed", kernel, device, count,
                    count == 1 ? "" : "es");
    else if (count == 1)
        cli_message("%s on %s: %.4g us", kernel, device, all * 1e6);
    else
        cli_message("%s on %s: %zu launches, %.4g us in all, %.4g (%.4g to %.4g) us each", kernel,
                    device, count, all * 1e6, seconds[count / 2] * 1e6, seconds[0] * 1e6,
                    seconds[count - 1] * 1e6);
}

/* Each kernel once, where it first occurs. */
static void tell_times(const struct fth_launch *launch, const char *device)
{
    size_t steps = fth_launch_step_count(launch);
    double *seconds = calloc(steps + 1, sizeof *seconds);
    for (size_t i = 0; i < steps && seconds; i++) {
        const char *kernel = fth_launch_kernel(launch, i);
        size_t count = 0, before = 0;
        while (before < i && strcmp(fth_launch_kernel(launch, before), kernel) != 0)
            before++;
        if (before < i)
            continue;
        for (size_t k = i; k < steps; k++)
            if (strcmp(fth_launch_kernel(launch, k), kernel) == 0)
                seconds[count++] = fth_launch_seconds(launch, k);
        tell_kernel(kernel, device, seconds, count);
    }
    free(seconds);
}

static int run(const struct cli_arguments *arguments)
{
    uint64_t max = 8;
    struct fth_error error = FTH_NO_ERROR;
    struct fth_launch *launch = NULL;
    struct fth_launch_totals totals = {0, 0};
    if (arguments->word_count == 0) {
        cli_message("which PTX or launch file? 'fathom run --help' shows how to give one");
        return CLI_USAGE;
    }
    if (!cli_whole(arguments, &option_show, &max))
        return CLI_USAGE;
    int result = cli_open_launch(arguments, &launch);
    if (result != CLI_DONE)
        return result;
    const char *device = cli_value(arguments, &option_on);
    const struct fth_run_options options = {.log = &cli_log, .device = device};
    if (fth_launch_run(launch, &options, &totals, &error) != FTH_OK)
        result = cli_fail(&error);
    else
        result = cli_value(arguments, &option_verify) ? verify(arguments, launch)
                                                      : show(arguments, launch, max);
    if (result == CLI_DONE && device)
        tell_times(launch, device);
    else if (result == CLI_DONE)
        tell_totals(launch, &totals);
    fth_launch_destroy(launch);
    return result;
}

static const struct cli_option *const options[] = {
    &cli_option_entry, &cli_option_grid,   &cli_option_block,  &cli_option_shared, &cli_option_arg,
    &cli_option_seed,  &cli_option_set,    &option_on,         &option_show,       &option_verify,
    &cli_option_json,  &cli_option_format, &cli_option_output, &cli_option_help,   NULL,
};

static const struct cli_example examples[] = {
    {"fathom run k.ptx -g 4 -b 256 -a i32:1000 -a f32:2 -a 'ptr:f32[1000]=iota'",
     "run a kernel that nvcc -ptx made, and see its buffers"},
    {"fathom run k.ptx -e sum -b 64 -a 'ptr:f32[64]=random' --show 0 --json",
     "one kernel of several, with all values, for a script"},
    {"fathom run examples/workloads/2mm.json --verify",
     "the launches of a launch file, and whether they give what they must"},
    {"fathom run examples/workloads/2mm.json --set N=64", "the same, smaller"},
    {"fathom run examples/workloads/2mm.json --on cuda:0 --verify",
     "the same on a GPU, whose driver compiles the PTX, with the time of each kernel"},
    {NULL, NULL},
};

const struct cli_command cli_run = {
    "run",
    "execute kernels, with or without a GPU, and show their buffers",
    "KERNEL.ptx | LAUNCH.json [OPTION]...",
    "Executes a kernel of a PTX file, warp by warp, on the cores of this machine, with the\n"
    "arguments given in order, and shows what the buffers hold afterwards; or the launches of a\n"
    "launch file, one after the other (docs/launch-files.md). An access outside the buffers, a\n"
    "misaligned one, a barrier that cannot complete or an instruction that is not supported is\n"
    "told with its line, block and thread. With --on a GPU runs them instead.",
    options,
    examples,
    CLI_WORD_FILE,
    1,
    run,
};
