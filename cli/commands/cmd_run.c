/* fathom run: executes kernels in the PTX engine or on a GPU, and prints their buffers. */
#include "cli.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct cli_option option_show = {
    "show", 0, "N", CLI_WORD_NONE,
    "print the first N values of each buffer; 0 prints all (default: 8)"};
static const struct cli_option option_verify = {
    "verify", 0, NULL, CLI_WORD_NONE,
    "compare the buffers with the results that the launch file expects, instead of printing them, "
    "or the memory after each launch of a capsule with that of the program; the exit code is 5 if "
    "they differ"};

static const struct cli_option option_save = {
    "save", 0, "FOLDER", CLI_WORD_FILE,
    "write the final contents of each buffer to FOLDER/BUFFER.bin; create FOLDER if it does not "
    "exist"};

static const struct cli_option option_max_seconds = {
    "max-seconds", 0, "S", CLI_WORD_NONE,
    "with --on cuda:N, give up a launch after S seconds (default: 3)"};

static const struct cli_option option_on = {"on", 0, "DEVICE", CLI_WORD_DEVICE,
                                            "execute and time the kernels on a device such as "
                                            "cuda:0 (default: the PTX engine, without a GPU)"};

static const struct cli_option option_check_async = {
    "check-async", 0, NULL, CLI_WORD_NONE,
    "report accesses that race with an asynchronous copy or wgmma in flight, because a wait, a "
    "barrier or a fence is missing; the exit code is 2 if there are any"};

static const struct cli_option option_check_races = {
    "check-races", 0, NULL, CLI_WORD_NONE,
    "like --check-async, and also report accesses of different threads to the same bytes of shared "
    "memory that race because a barrier is missing; slower"};

static const struct cli_option option_copy_order = {
    "copy-order", 0, "ORDER", CLI_WORD_NONE,
    "when asynchronous copies take place in the PTX engine: early (at once), late (when a thread "
    "waits; the default), or random[:SEED] (at random points, the same for each run)"};

static const struct cli_option option_counters = {
    "counters", 0, NULL, CLI_WORD_NONE,
    "instead of the buffers, print what a GPU's counters would count in each launch: requests and "
    "sectors of global memory, wavefronts and bank conflicts of shared memory, sectors of bulk "
    "copies"};

/* The first column identifies a buffer: by its name, or by its position among the kernel arguments
 * if none has a name. */
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

/* Frees the texts of the first `rows` rows, and the cells. */
static void free_rows(struct fth_cell *cells, size_t rows)
{
    for (size_t i = 0; i < rows; i++) {
        free((void *)cells[COLUMNS * i].text);
        fth_free((void *)cells[COLUMNS * i + 3].text);
    }
    free(cells);
}

/* Writes the row of a buffer. Returns false without memory for its name. */
static bool fill_row(const struct fth_launch_view *view, char *values, struct fth_cell *row)
{
    char number[40];
    snprintf(number, sizeof number, "argument-%zu", view->number);
    row[0] = (struct fth_cell){strdup(view->name ? view->name : number), (double)view->number};
    row[1].text = view->type;
    row[2].number = (double)view->count;
    row[3].text = values;
    return row[0].text != NULL;
}

static int show(const struct cli_arguments *arguments, const struct fth_launch *launch,
                uint64_t max_values)
{
    size_t count = fth_launch_buffer_count(launch), rows = 0;
    struct fth_cell *cells = calloc((count + 1) * COLUMNS, sizeof *cells);
    struct fth_error error = FTH_NO_ERROR;
    enum fth_status status = FTH_OK;
    const struct fth_column *columns = argument_columns;
    bool ok = cells != NULL;
    for (; rows < count && status == FTH_OK && ok; rows++) {
        struct fth_launch_view view;
        char *values = NULL;
        status = fth_launch_show(launch, rows, max_values, &view, &values, &error);
        ok = fill_row(&view, values, cells + COLUMNS * rows);
        if (view.name)
            columns = buffer_columns;
    }
    int result = CLI_FAILED;
    if (!ok)
        result = cli_no_memory();
    else if (status != FTH_OK)
        result = cli_fail(&error);
    else
        result = cli_put_table(arguments, &(struct fth_table){columns, COLUMNS, cells, rows});
    free_rows(cells, rows);
    return result;
}

static const struct fth_column verdict_columns[] = {
    {"buffer", "Buffer", FTH_COLUMN_TEXT},
    {"matches", "Matches", FTH_COLUMN_TEXT},
    {"found", "Found", FTH_COLUMN_TEXT},
};
enum { VERDICT_COLUMNS = sizeof verdict_columns / sizeof verdict_columns[0] };

/* Compares every buffer for which the launch file has expected results. */
static int verify(const struct cli_arguments *arguments, const struct fth_launch *launch)
{
    size_t count = fth_launch_expectation_count(launch);
    struct fth_verdict *verdicts = calloc(count + 1, sizeof *verdicts);
    struct fth_cell *cells = calloc((count + 1) * VERDICT_COLUMNS, sizeof *cells);
    struct fth_error error = FTH_NO_ERROR;
    enum fth_status status = FTH_OK;
    bool all = true;
    if (!verdicts || !cells) {
        free(verdicts);
        free(cells);
        return cli_no_memory();
    }
    /* Without expectations, index 0 is requested anyway: the error explains why there are none. */
    for (size_t i = 0; (i < count || i == 0) && status == FTH_OK; i++) {
        status = fth_launch_verify(launch, i, &verdicts[i], &error);
        struct fth_cell *row = cells + VERDICT_COLUMNS * i;
        row[0].text = verdicts[i].buffer;
        row[1].text = verdicts[i].matches ? "yes" : "no";
        row[2].text = verdicts[i].text;
        all = all && verdicts[i].matches;
    }
    int result = status == FTH_OK
                     ? cli_put_table(arguments, &(struct fth_table){verdict_columns,
                                                                    VERDICT_COLUMNS, cells, count})
                     : cli_fail(&error);
    free(verdicts);
    free(cells);
    return result == CLI_DONE && !all ? CLI_DIFFERS : result;
}

static const struct fth_column counter_columns[] = {
    {"launch", "Launch", FTH_COLUMN_NUMBER},
    {"kernel", "Kernel", FTH_COLUMN_KERNEL},
    {"value", "Value", FTH_COLUMN_NUMBER},
    {"metric", "Metric", FTH_COLUMN_TEXT},
};
enum { COUNTER_COLUMNS = sizeof counter_columns / sizeof counter_columns[0] };

/* Sets the cells of all counters that are not 0, and the number of their rows. */
static enum fth_status read_counters(const struct fth_launch *launch, size_t counters,
                                     struct fth_cell *cells, size_t *rows, struct fth_error *error)
{
    enum fth_status status = FTH_OK;
    *rows = 0;
    for (size_t i = 0; i < fth_launch_step_count(launch) * counters && status == FTH_OK; i++) {
        const size_t step = i / counters;
        uint64_t value;
        status = fth_launch_counter(launch, step, i % counters, &value, error);
        if (value == 0)
            continue;
        struct fth_cell *row = cells + COUNTER_COLUMNS * (*rows)++;
        row[0].number = (double)(step + 1);
        row[1].text = fth_launch_kernel(launch, step);
        row[2].number = (double)value;
        row[3].text = fth_counter_name(i % counters);
    }
    return status;
}

/* Writes the counters of one launch: a title, and a table of values and metrics. `cells` are the
 * rows of the launch. */
static enum fth_status write_launch(FILE *out, const struct fth_report_options *options,
                                    const struct fth_cell *cells, size_t rows,
                                    struct fth_error *error)
{
    enum { FIRST = 2, SHOWN = COUNTER_COLUMNS - FIRST }; /* the columns of value and metric */
    struct fth_cell *shown = calloc(rows + 1, SHOWN * sizeof *shown);
    char kernel[FTH_NAME_BYTES], *text = NULL;
    size_t size = 0;
    enum fth_status status = shown ? FTH_OK : FTH_NO_MEMORY;
    for (size_t i = 0; i < rows * SHOWN && shown; i++)
        shown[i] = cells[i / SHOWN * COUNTER_COLUMNS + FIRST + i % SHOWN];
    const struct fth_table table = {counter_columns + FIRST, SHOWN, shown, rows};
    if (status == FTH_OK)
        status = fth_report_table("text", &table, options, &text, &size, error);
    fth_demangle(cells[1].text, FTH_NAME_SHORT, kernel, sizeof kernel);
    if (status == FTH_OK)
        fprintf(out, "Launch %.0f: %s\n%s", cells[0].number, kernel, text);
    fth_free(text);
    free(shown);
    return status;
}

/* Prints the counters as text with one table per launch, because names of metrics are long. */
static int put_counter_texts(const struct cli_arguments *arguments, const struct fth_cell *cells,
                             size_t rows)
{
    const struct fth_report_options options = cli_report_options(arguments);
    const char *output = cli_value(arguments, &cli_option_output);
    struct fth_error error = FTH_NO_ERROR;
    enum fth_status status = FTH_OK;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return cli_no_memory();
    for (size_t first = 0, next; first < rows && status == FTH_OK; first = next) {
        const struct fth_cell *row = cells + COUNTER_COLUMNS * first;
        next = first + 1;
        while (next < rows && cells[COUNTER_COLUMNS * next].number == row[0].number)
            next++;
        fputs(first ? "\n" : "", out);
        status = write_launch(out, &options, row, next - first, &error);
    }
    const bool complete = !ferror(out);
    if (fclose(out) != 0 || !complete || status == FTH_NO_MEMORY) {
        free(text);
        return cli_no_memory();
    }
    if (status == FTH_OK)
        status = fth_file_write(output ? output : "-", text, size, &error);
    free(text);
    return status == FTH_OK ? CLI_DONE : cli_fail(&error);
}

/* Prints the counters of all launches that are not 0. */
static int show_counters(const struct cli_arguments *arguments, const struct fth_launch *launch)
{
    size_t counters = 0, rows;
    struct fth_error error = FTH_NO_ERROR;
    while (fth_counter_name(counters))
        counters++;
    struct fth_cell *cells =
        calloc(fth_launch_step_count(launch) * counters + 1, COUNTER_COLUMNS * sizeof *cells);
    if (!cells)
        return cli_no_memory();
    int result;
    if (read_counters(launch, counters, cells, &rows, &error) != FTH_OK)
        result = cli_fail(&error);
    else if (strcmp(cli_format(arguments), "text") == 0)
        result = put_counter_texts(arguments, cells, rows);
    else
        result = cli_put_table(arguments,
                               &(struct fth_table){counter_columns, COUNTER_COLUMNS, cells, rows});
    free(cells);
    return result;
}

static void report_totals(const struct fth_launch *launch, const struct fth_launch_totals *totals)
{
    size_t steps = fth_launch_step_count(launch);
    char what[FTH_NAME_BYTES];
    if (steps == 1)
        fth_demangle(fth_launch_kernel(launch, 0), FTH_NAME_SHORT, what, sizeof what);
    else
        snprintf(what, sizeof what, "%zu launches", steps);
    cli_note("%s: %llu warp instructions, %llu thread instructions", what,
             (unsigned long long)totals->warp_instructions,
             (unsigned long long)totals->thread_instructions);
}

static int compare_doubles(const void *a, const void *b)
{
    const double *left = a, *right = b;
    return (*left > *right) - (*left < *right);
}

/* Prints the time of the launches of one kernel: total, median, minimum and maximum. Sorts
 * `seconds`. */
static void report_kernel_time(const char *name, const char *device, double *seconds, size_t count)
{
    double all = 0;
    char kernel[FTH_NAME_BYTES];
    fth_demangle(name, FTH_NAME_SHORT, kernel, sizeof kernel);
    qsort(seconds, count, sizeof *seconds, compare_doubles);
    for (size_t i = 0; i < count; i++)
        all += seconds[i];
    if (isnan(all))
        cli_note("%s on %s: %zu launch%s, not timed", kernel, device, count,
                 count == 1 ? "" : "es");
    else if (count == 1)
        cli_note("%s on %s: %.4g us", kernel, device, all * 1e6);
    else
        cli_note("%s on %s: %zu launches, %.4g us in total, median %.4g us (%.4g to %.4g us)",
                 kernel, device, count, all * 1e6, seconds[count / 2] * 1e6, seconds[0] * 1e6,
                 seconds[count - 1] * 1e6);
}

/* Prints the times of each kernel, in the order of their first launches. */
static void report_times(const struct fth_launch *launch, const char *device)
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
        report_kernel_time(kernel, device, seconds, count);
    }
    free(seconds);
}

/* Parses --max-seconds. Leaves *seconds unchanged if it was not given. */
static bool parse_max_seconds(const struct cli_arguments *arguments, double *seconds)
{
    const char *text = cli_value(arguments, &option_max_seconds);
    char *end;
    if (!text)
        return true;
    *seconds = strtod(text, &end);
    if (end != text && !*end && isfinite(*seconds) && *seconds > 0)
        return true;
    cli_message("--max-seconds requires a number above 0, such as 60, not '%s'", text);
    return false;
}

/* Parses --copy-order, --check-async and --check-races. */
static bool parse_async_options(const struct cli_arguments *arguments,
                                struct fth_run_options *options)
{
    static const char random_order[] = "random";
    const size_t length = sizeof random_order - 1;
    const char *order = cli_value(arguments, &option_copy_order);
    options->check_async = cli_value(arguments, &option_check_async) != NULL;
    options->check_races = cli_value(arguments, &option_check_races) != NULL;
    if (options->device && (order || options->check_async || options->check_races)) {
        cli_message("--%s needs the PTX engine; it cannot be combined with --on",
                    order                  ? option_copy_order.name
                    : options->check_async ? option_check_async.name
                                           : option_check_races.name);
        return false;
    }
    if (!order || strcmp(order, "late") == 0)
        return true;
    options->copy_order = FTH_COPY_EARLY;
    if (strcmp(order, "early") == 0)
        return true;
    options->copy_order = FTH_COPY_RANDOM;
    options->copy_seed = 1;
    if (strcmp(order, random_order) == 0)
        return true;
    char *end = NULL;
    errno = 0;
    if (strncmp(order, random_order, length) == 0 && order[length] == ':' &&
        order[length + 1] >= '0' && order[length + 1] <= '9')
        options->copy_seed = strtoull(order + length + 1, &end, 10);
    if (end && !*end && !errno)
        return true;
    cli_message("--copy-order is early, late, random or random:SEED, such as random:7, not '%s'",
                order);
    return false;
}

/* Prints the output of kernels, before the table, which is not written through the stream. */
static void print(void *stream, const char *text, size_t size)
{
    fwrite(text, 1, size, stream);
    fflush(stream);
}

/* Checks that --counters is not combined with an option that it excludes. */
static bool check_counters(const struct cli_arguments *arguments)
{
    if (!cli_value(arguments, &option_counters))
        return true;
    if (cli_value(arguments, &option_on))
        cli_message("--counters counts in the PTX engine; to count on a GPU, run fathom under ncu, "
                    "without --counters");
    else if (cli_value(arguments, &option_verify))
        cli_message("--counters and --verify exclude each other");
    else
        return true;
    return false;
}

/* Prints what the options ask for: the verdicts, the counters or the buffers. */
static int put_results(const struct cli_arguments *arguments, const struct fth_launch *launch,
                       uint64_t max_values)
{
    if (cli_value(arguments, &option_verify))
        return verify(arguments, launch);
    return cli_value(arguments, &option_counters) ? show_counters(arguments, launch)
                                                  : show(arguments, launch, max_values);
}

/* Prints a launch file for kernels without arguments, and says what to do with it. */
static int put_skeleton(const struct cli_arguments *arguments, const struct fth_launch *launch)
{
    char *text, name[FTH_NAME_BYTES];
    size_t size;
    struct fth_error error = FTH_NO_ERROR;
    const size_t steps = fth_launch_step_count(launch);
    if (fth_launch_skeleton(launch, &text, &size, &error) != FTH_OK)
        return cli_fail(&error);
    const int result = cli_put_text(arguments, text, size);
    if (result != CLI_DONE)
        return result;
    fth_demangle(fth_launch_kernel(launch, 0), FTH_NAME_PARAMETERS, name, sizeof name);
    if (steps == 1)
        cli_note("%s was not run, because no arguments were given.", name);
    else
        cli_note("Nothing was run: the file has %zu kernels, and none was selected with --entry.",
                 steps);
    cli_note("The output is a launch file to start from. Write it to a file such as launch.json, "
             "edit its sizes, buffers and arguments, and run it with 'fathom run launch.json'. See "
             "docs/launch-files.md.");
    return CLI_DONE;
}

static int run(const struct cli_arguments *arguments)
{
    uint64_t max_values = 8;
    struct fth_error error = FTH_NO_ERROR;
    struct fth_launch *launch = NULL;
    struct fth_launch_totals totals = {0, 0};
    if (arguments->word_count == 0) {
        cli_message("no PTX file, launch file or capsule given; see 'fathom run --help'");
        return CLI_USAGE;
    }
    if (fth_capsule_is(arguments->words[0]))
        return cli_run_capsule(arguments, &option_verify);
    if (!cli_parse_whole_number(arguments, &option_show, &max_values) || !check_counters(arguments))
        return CLI_USAGE;
    struct cli_launch_values values;
    int result = cli_read_launch_options(arguments, &cli_option_set, &values);
    if (result != CLI_DONE)
        return result;
    values.options.all_kernels = values.options.argument_count == 0;
    if (fth_launch_open(arguments->words[0], &values.options, &launch, &error) != FTH_OK)
        return cli_fail(&error);
    if (fth_launch_is_incomplete(launch)) {
        result = put_skeleton(arguments, launch);
        fth_launch_destroy(launch);
        return result;
    }
    const char *device = cli_value(arguments, &option_on);
    const char *folder = cli_value(arguments, &option_save);
    /* The output of kernels precedes the table; it must not be in the middle of JSON. */
    const bool is_text = strcmp(cli_format(arguments), "text") == 0;
    struct fth_run_options options =
        FTH_RUN_OPTIONS(.log = &cli_log, .device = device, .print = print,
                        .print_user = is_text ? stdout : stderr,
                        .counts = cli_value(arguments, &option_counters) != NULL);
    if (!cli_parse_max_instructions(arguments, &options.max_instructions) ||
        !parse_max_seconds(arguments, &options.max_seconds) ||
        !parse_async_options(arguments, &options))
        result = CLI_USAGE;
    else if (device && cli_prepare_device(device) != CLI_DONE)
        result = CLI_FAILED;
    else if (fth_launch_run(launch, &options, &totals, &error) != FTH_OK)
        result =
            device && !fth_launch_was_started(launch) ? cli_fail_open(&error) : cli_fail(&error);
    else if (folder && fth_launch_save(launch, folder, &error) != FTH_OK)
        result = cli_fail(&error);
    else
        result = put_results(arguments, launch, max_values);
    if (result == CLI_DONE && device)
        report_times(launch, device);
    else if (result == CLI_DONE)
        report_totals(launch, &totals);
    fth_launch_destroy(launch);
    return result;
}

static const struct cli_option *const options[] = {
    CLI_KERNEL_OPTIONS,
    &cli_option_set,
    &cli_option_allow_files,
    &cli_option_max_instructions,
    &option_check_async,
    &option_check_races,
    &option_copy_order,
    &option_on,
    &option_max_seconds,
    &option_show,
    &option_verify,
    CLI_CAPSULE_OPTIONS,
    &cli_option_parameters,
    &option_counters,
    &option_save,
    &cli_option_json,
    &cli_option_format,
    &cli_option_output,
    &cli_option_quiet,
    &cli_option_help,
    NULL,
};

static const struct cli_example examples[] = {
    {"fathom run k.ptx -g 4 -b 256 -a i32:1000 -a f32:2 -a 'ptr:f32[1000]=iota'",
     "run a kernel compiled with 'nvcc -ptx' and print its buffers"},
    {"fathom run k.ptx -b 64 -a 1000 -a '{f32:0.5,ptr:f32[64][8]}' --variable 'w=f32[]=random'",
     "pass a number, a struct with a pointer, and set a __constant__ array"},
    {"fathom run k.ptx -e 'transpose<32,0>' > launch.json",
     "write a launch file for a kernel, to be edited and run"},
    {"fathom run k.ptx -e sum -b 64 -a 'ptr:f32[64]=random' --show 0 --json",
     "run one of several kernels and print all values as JSON"},
    {"fathom run a.out -e scale -b 64 -a 'ptr:f32[64]=iota' -a f32:2",
     "run a kernel of a program that nvcc compiled, without the program"},
    {"fathom run examples/workloads/2mm.json --verify", "run a launch file and check its results"},
    {"fathom run examples/workloads/2mm.json --set N=64", "run it with a smaller problem size"},
    {"fathom run gemm.json --check-async",
     "report copies and matrix products that the kernels do not wait for"},
    {"fathom run gemm.json --copy-order random:7 --verify",
     "check that the results do not depend on when asynchronous copies take place"},
    {"fathom run examples/workloads/2mm.json --on cuda:0 --verify",
     "run it on a GPU, check the results, and time each kernel"},
    {"fathom run program.capsule --verify --kernel 'gemm|softmax'",
     "repeat launches of a CUDA program, and compare their results with those of the GPU"},
    {"fathom run program.capsule --launch 5",
     "repeat one launch of a program, and print its parameters with their types"},
    {"fathom run examples/workloads/2mm.json --counters",
     "count requests, sectors and wavefronts of each launch, without a GPU"},
    {"fathom run examples/workloads/2mm.json --on cuda:0 --save results",
     "run it on a GPU and write the contents of its buffers to the folder results"},
    {NULL, NULL},
};

const struct cli_command cli_run = {
    "run",
    "Execute kernels with or without a GPU, and print their buffers",
    "KERNEL.ptx | PROGRAM | LAUNCH.json | CAPSULE [OPTION]...",
    "Execute a kernel of a PTX file, or all launches of a launch file (see\n"
    "docs/launch-files.md), and print the contents of the buffers afterwards. The\n"
    "kernels run in fathom's PTX engine, on the CPU cores of this machine; with --on,\n"
    "they run on a GPU. A launch file contains everything that the options from\n"
    "--entry to --seed specify for a PTX file. --set and --verify need a launch file.\n"
    "\n"
    "PROGRAM is a file that contains PTX: a fat binary (nvcc --fatbin), or a program,\n"
    "library or object file that nvcc compiled. The host code does not run. If the\n"
    "file was made from several source files, --entry selects the one with this\n"
    "kernel. If it has only machine code, compile it with\n"
    "-gencode arch=compute_90,code=compute_90. See docs/programs/fat-binaries.md.\n"
    "\n"
    "CAPSULE is a file with launches of a CUDA program, which are repeated with the\n"
    "memory that they had in the program. Print one row per launch and one per\n"
    "kernel. Only the options from --verify to --parameters, --max-instructions and\n"
    "those for the output apply to capsules. See docs/programs/replay.md.\n"
    "\n"
    "For a PTX file without --arg, if its kernel has parameters or if it has several\n"
    "kernels and --entry selects none, print a launch file that you can edit and run.\n"
    "\n"
    "Pass the arguments of the kernel with --arg, in order. ARGUMENT is one of:\n"
    "\n"
    "  TYPE:VALUE                a number, such as i32:5 or f16:1.5\n"
    "  VALUE                     a number, such as 5, if the C++ name of the kernel\n"
    "                            or the PTX states the type of the parameter\n"
    "  ptr:TYPE[COUNT]=CONTENTS  a buffer with COUNT elements\n"
    "  {ARGUMENT,ARGUMENT,...}   a struct with these members, placed as in C, such as\n"
    "                            {i32:1,{f32:2,f32:3},ptr:f32[64]}\n"
    "  null                      a null pointer\n"
    "  bytes:00ff10              the bytes of a struct, in hexadecimal\n"
    "\n"
    "TYPE is u8, u16, u32, u64, s8, s16, s32, s64, f16, bf16, f32, f64, e4m3 or e5m2;\n"
    "i8 to i64 are the same as s8 to s64. COUNT can be an expression such as 64*64.\n"
    "TYPE[64][32] is the same as TYPE[64*32]: 64 rows of 32 elements. CONTENTS is one\n"
    "of:\n"
    "\n"
    "  zero              zeros; the default without =CONTENTS\n"
    "  iota              0, 1, 2, ...\n"
    "  random            floats from 0 to 1; integers from the full range of the type\n"
    "  random(LOW,HIGH)  random numbers between these limits\n"
    "  1.5               the same number in every element\n"
    "  (i % 8) / 8       an expression of the index i of the element\n"
    "  file:PATH         the bytes of a file, which must hold COUNT elements or more;\n"
    "                    with empty brackets (ptr:u32[]=...), the buffer has as many\n"
    "                    elements as the file\n"
    "\n"
    "--variable NAME=TYPE[COUNT]=CONTENTS sets a __constant__ or __device__ variable\n"
    "before the kernel runs, and prints it with the buffers. Empty brackets stand for\n"
    "as many elements as the variable has. NAME=TYPE:VALUE sets one number,\n"
    "NAME=CONTENTS is enough if the PTX states the type of the variable, and NAME\n"
    "only prints it.\n"
    "\n"
    "The PTX engine reports accesses outside the buffers, misaligned accesses,\n"
    "barriers that cannot complete and unsupported instructions, with line, block and\n"
    "thread. It prints the output of printf before the buffers, in the order of the\n"
    "blocks; if the output is not text, on stderr. With --check-async, it also\n"
    "reports accesses that race with an asynchronous operation (see docs/ptx.md).",
    options,
    examples,
    CLI_WORD_FILE,
    1,
    run,
};
