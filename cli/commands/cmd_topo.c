/* fathom topo, and fathom without a command: measures the memory topology of a GPU. */
#include "cli.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static const struct cli_option option_only = {
    "only", 0, "ELEMENT,...", CLI_WORD_ELEMENTS,
    "measure only these elements, such as l1,memory, and what they depend on; 'fathom help topo' "
    "lists the elements"};

static const struct cli_option option_thorough = {
    "thorough", 0, NULL, CLI_WORD_NONE,
    "repeat the measurements of sizes and bandwidths more often; on a simulated GPU, also measure "
    "bandwidths"};

static const struct cli_option option_full = {
    "full", 0, NULL, CLI_WORD_NONE,
    "also measure what 'fathom dissect' measures, and write one description with all figures"};

static const struct cli_option option_quick = {
    "quick", 0, NULL, CLI_WORD_NONE,
    "measure only latencies and bandwidths of L1, L2, shared memory and memory, and the clock "
    "under "
    "load: about half a second on an H200, for checks before and after jobs"};

static const struct cli_option option_summary = {
    "summary", 0, NULL, CLI_WORD_NONE,
    "print one line with the main figures instead of the description, for the logs of jobs; with "
    "-o, also write the description"};

static const struct cli_option option_verbose = {"verbose", 'v', NULL, CLI_WORD_NONE,
                                                 "print the time of each stage on standard error"};

/* Copies the next name of the comma-separated list *at to `name` and advances *at. Returns false at
 * the end. */
static bool next_element(const char **at, char *name, size_t size)
{
    if (!*at)
        return false;
    size_t bytes = strcspn(*at, ",");
    snprintf(name, size, "%.*s", (int)(bytes < size ? bytes : size - 1), *at);
    *at = (*at)[bytes] ? *at + bytes + 1 : NULL;
    return true;
}

/* Checks the elements of --only before a device is opened. */
static int check_only(const char *only)
{
    char name[64];
    int result = CLI_DONE;
    while (result == CLI_DONE && next_element(&only, name, sizeof name))
        result = cli_check_element(name);
    return result;
}

/* Prints why an element of --only has no figure. */
static void report_missing(const char *only, const struct fth_gpu *gpu)
{
    char name[64];
    while (next_element(&only, name, sizeof name)) {
        const struct fth_attribute *attribute;
        const char *unknown, *reason;
        bool found = false;
        for (size_t i = 0; (attribute = fth_gpu_attribute_at(gpu, name, i)) && !found; i++)
            found = attribute->source != FTH_SOURCE_NONE;
        reason = found ? NULL : fth_gpu_unknown_at(gpu, name, 0, &unknown);
        if (reason)
            cli_message("no figure of '%s' was measured; %s: %s", name, unknown, reason);
    }
}

/* Prints the drawing of the topology, followed by the tables of the dissection. */
static int put_full_text(const struct cli_arguments *arguments, const struct fth_gpu *gpu,
                         bool replayed)
{
    struct fth_report_options options = cli_report_options(arguments);
    options.replayed = replayed;
    struct fth_error error = FTH_NO_ERROR;
    char *topology = NULL, *dissection = NULL, *both = NULL;
    size_t size = 0, more = 0;
    int result = CLI_DONE;
    if (fth_report_gpu("text", gpu, &options, &topology, &size, &error) != FTH_OK ||
        fth_report_dissection(gpu, &options, &dissection, &more, &error) != FTH_OK)
        result = cli_fail(&error);
    else if (!(both = realloc(topology, size + 1 + more + 1)))
        result = cli_no_memory();
    if (both) {
        topology = NULL;
        both[size] = '\n';
        memcpy(both + size + 1, dissection, more + 1);
        result = cli_put_text(arguments, both, size + 1 + more);
    }
    fth_free(topology);
    fth_free(dissection);
    return result;
}

/* Writes the description as the arguments say, to the file of this GPU. */
static int put(const struct cli_arguments *arguments, const struct fth_device *device,
               const struct fth_gpu *gpu)
{
    struct cli_arguments named = *arguments;
    char path[PATH_MAX];
    const bool summary = cli_value(arguments, &option_summary) != NULL;
    if (summary && !cli_value(arguments, &cli_option_output))
        return CLI_DONE;
    for (size_t i = 0; i < named.option_count; i++)
        if (named.options[i] == &cli_option_output)
            named.values[i] = cli_name_output(named.values[i], fth_device_id(device), gpu, path);
    const bool replayed = strncmp(fth_device_id(device), "replay:", 7) == 0;
    if (cli_value(arguments, &option_full) && strcmp(cli_format(arguments), "text") == 0)
        return put_full_text(&named, gpu, replayed);
    return cli_put_gpu(&named, gpu, replayed);
}

/* Measures and prints the topology. The recording is saved even if the measurement fails.
 * `started`: the time when the device was opened. */
static int measure(const struct cli_arguments *arguments, struct fth_device *device, double started)
{
    const char *only = cli_value(arguments, &option_only);
    const struct fth_discover_options options =
        FTH_DISCOVER_OPTIONS(.only = only, .log = &cli_log,
                             .thorough = cli_value(arguments, &option_thorough) != NULL,
                             .full = cli_value(arguments, &option_full) != NULL,
                             .quick = cli_value(arguments, &option_quick) != NULL);
    struct fth_error error = FTH_NO_ERROR, fault = FTH_NO_ERROR;
    struct fth_gpu *gpu = NULL;
    enum fth_status status = fth_discover(device, &options, &gpu, &error);
    bool saved = fth_device_finish(device, &fault) == FTH_OK;
    int result = CLI_DONE;
    if (gpu)
        result = put(arguments, device, gpu);
    if (gpu && result == CLI_DONE && cli_value(arguments, &option_summary))
        result = cli_print_summary(fth_device_id(device), gpu, cli_seconds() - started);
    if (status == FTH_OK && result == CLI_DONE)
        report_missing(only, gpu);
    if (!saved)
        result = cli_fail(&fault);
    result = cli_finish_measurement(result, status, &error, gpu != NULL);
    fth_gpu_destroy(gpu);
    return result;
}

/* Opens and measures the device of the arguments. */
static int measure_device(const struct cli_arguments *arguments)
{
    struct fth_device *device = NULL;
    const double started = cli_seconds();
    if (cli_value(arguments, &option_verbose))
        cli_time_stages();
    int result = cli_open_device(arguments, &device);
    if (result != CLI_DONE)
        return result;
    result = measure(arguments, device, started);
    fth_device_close(device);
    return result;
}

/* Replaces the value of an option, or adds the option. */
static void set_option(struct cli_arguments *arguments, const struct cli_option *option,
                       const char *value)
{
    bool found = false;
    for (size_t i = 0; i < arguments->option_count; i++)
        if (arguments->options[i] == option) {
            arguments->values[i] = value;
            found = true;
        }
    if (found || arguments->option_count == CLI_MAX_OPTIONS)
        return;
    arguments->options[arguments->option_count] = option;
    arguments->values[arguments->option_count++] = value;
}

/* Checks that the results of several GPUs can be told apart. */
static int check_all(const struct cli_arguments *arguments, size_t gpus)
{
    const char *output = cli_value(arguments, &cli_option_output);
    if (gpus > 1 && cli_value(arguments, &cli_option_record))
        cli_message("--record requires one GPU; this machine has %zu", gpus);
    else if (gpus > 1 && output && !strstr(output, "%g"))
        cli_message("this machine has %zu GPUs: -o requires a file name with %%g, such as "
                    "'%%h-%%g.json'",
                    gpus);
    else if (gpus > 1 && !output && strcmp(cli_format(arguments), "text") != 0)
        cli_message("this machine has %zu GPUs, whose documents would follow each other: use -o "
                    "'%%h-%%g.json' to write a file for each",
                    gpus);
    else
        return CLI_DONE;
    return CLI_USAGE;
}

/* Measures all GPUs of this machine in turn. A GPU that fails does not end the others; the exit
 * code is that of the first one that failed. */
static int measure_all(const struct cli_arguments *arguments)
{
    struct cli_arguments one = *arguments;
    struct cli_gpu_list list;
    int result = cli_list_gpus(&list);
    if (result == CLI_DONE)
        result = check_all(arguments, list.count);
    if (result != CLI_DONE)
        return result;
    const bool drawn =
        !cli_value(arguments, &cli_option_output) && !cli_value(arguments, &option_summary);
    for (size_t i = 0; i < list.count && result != CLI_INTERRUPTED; i++) {
        if (i && drawn) {
            printf("\n");
            fflush(stdout);
        }
        set_option(&one, &cli_option_device, list.ids[i]);
        const int code = measure_device(&one);
        if (code != CLI_DONE)
            cli_message("the measurement of %s is not complete", list.ids[i]);
        if (code == CLI_INTERRUPTED || result == CLI_DONE)
            result = code;
    }
    return result == CLI_DONE && *list.reason ? CLI_NO_DEVICE : result;
}

/* Checks that the options can be combined. */
static int check_options(const struct cli_arguments *arguments)
{
    const bool quick = cli_value(arguments, &option_quick) != NULL;
    if (quick && cli_value(arguments, &option_only))
        cli_message("--quick measures fixed elements; it cannot be combined with --only");
    else if (quick && cli_value(arguments, &option_full))
        cli_message("--quick and --full cannot be combined");
    else if (cli_value(arguments, &option_summary) && !cli_value(arguments, &cli_option_output) &&
             strcmp(cli_format(arguments), "text") != 0)
        cli_message("--summary prints a line instead of the description; use -o FILE to write the "
                    "description to a file");
    else
        return CLI_DONE;
    return CLI_USAGE;
}

static int topo(const struct cli_arguments *arguments)
{
    const char *device = cli_value(arguments, &cli_option_device);
    struct cli_arguments changed = *arguments;
    int result = check_options(arguments);
    if (result == CLI_DONE)
        result = check_only(cli_value(arguments, &option_only));
    if (result == CLI_DONE)
        result = cli_check_output(arguments);
    if (result != CLI_DONE)
        return result;
    cli_catch_interrupts();
    /* A file that is named after the host or the GPU must not contain a simulated GPU instead. */
    if (!device && cli_is_pattern(cli_value(arguments, &cli_option_output)))
        set_option(&changed, &cli_option_require_gpu, "");
    return device && strcmp(device, "all") == 0 ? measure_all(&changed) : measure_device(&changed);
}

static int run(const struct cli_arguments *arguments)
{
    if (cli_value(arguments, &cli_option_version)) {
        printf("fathom %s\n", fth_version());
        return cli_finish_stdout();
    }
    return topo(arguments);
}

#define SHARED_OPTIONS                                                                             \
    &cli_option_device, &cli_option_json, &cli_option_gpu_format, &cli_option_output,              \
        &option_only, &option_quick, &option_full, &cli_option_record, &option_thorough,           \
        &option_summary, &cli_option_require_gpu, &cli_option_max_instructions, &option_verbose,   \
        &cli_option_quiet
static const struct cli_option *const options[] = {SHARED_OPTIONS, &cli_option_help, NULL};
static const struct cli_option *const bare_options[] = {SHARED_OPTIONS, &cli_option_version,
                                                        &cli_option_help, NULL};

static const struct cli_example examples[] = {
    {"fathom topo", "measure the first GPU of this machine"},
    {"fathom topo --device sim:v100", "measure a simulated V100"},
    {"fathom topo --only l1,l2", "measure only L1 and L2, in less time"},
    {"fathom topo --json -o gpu.json", "write the description to a file"},
    {"fathom topo --full --json -o gpu.json",
     "also dissect caches and TLBs; the model then uses all that is known about the GPU"},
    {"srun fathom topo --json -o 'out/%h-%g.json'",
     "in a job with one task per GPU: write one file for each GPU"},
    {"fathom topo --device all --quick --summary",
     "measure all GPUs of this machine quickly, and print one line for each"},
    {"fathom topo --record gpu.rec", "also save all samples"},
    {"fathom topo --device replay:gpu.rec", "analyse saved samples without the GPU"},
    {NULL, NULL},
};

static const struct cli_example bare_examples[] = {
    {"fathom", "measure the first GPU of this machine"},
    {"fathom --json -o gpu.json", "write its description to a file"},
    {"fathom help topo", "show the options of 'fathom topo'"},
    {NULL, NULL},
};

const struct cli_command cli_topo = {
    "topo",
    "Measure the memory topology of a GPU",
    "[OPTION]...",
    "Measure the memory topology of a GPU and draw it, or write its description\n"
    "(--json). The elements of the topology, and the measured figures of each, are:\n"
    "\n"
    "  l1, texture, readonly      size, line, sector, latency, instances per SM, and\n"
    "                             which of these caches share storage\n"
    "  constant_l1, constant_l15  size, line, latency\n"
    "  instruction_l0, instruction_l1, instruction_l15\n"
    "                             size; cycles per instruction of code that fits\n"
    "  shared                     latency\n"
    "  cluster_shared             latency of the shared memory of another SM\n"
    "  l2                         latency, line, sector, partitions, and the\n"
    "                             number of bytes fetched from memory on a miss\n"
    "  memory                     latency\n"
    "  tlb_l1, tlb_l2, tlb_l3     page size, entries, miss penalty (--only with\n"
    "                             one of them measures all TLBs)\n"
    "\n"
    "An element whose name ends in l15 is an L1.5 cache. fathom also measures the\n"
    "bandwidths of memory, caches and shared memory (on a simulated GPU only with\n"
    "--thorough). Further figures come from the driver, such as the sizes of the L2\n"
    "and of memory.\n"
    "\n"
    "DEVICE is cuda:NUMBER or cuda:UUID (a GPU listed by 'fathom devices'),\n"
    "opencl:NUMBER or opencl:NAME (a GPU of any vendor, or the CPU, through OpenCL),\n"
    "sim:NAME (a simulated GPU, NAME as listed by 'fathom gpus'), sim:FILE (a GPU\n"
    "simulated from your own description) or replay:FILE (a recording made with\n"
    "--record). 'all' measures all GPUs of this machine one after the other. If one\n"
    "of them fails, the others are still measured, and the exit code is that of the\n"
    "first failure. With several GPUs, a file name with %g is required for documents\n"
    "such as JSON. Without a GPU, 'all' fails with exit code 3.\n"
    "\n"
    "Ctrl-C stops the measurement, shows the results that are complete and completes\n"
    "the recording. A second Ctrl-C ends the program at once.\n"
    "\n"
    "In the file name of -o, %h is replaced by the host name, and %g by the UUID of\n"
    "the GPU or, without a UUID, by its number or name. Such a file name implies\n"
    "--require-gpu, unless --device names a device: a machine without a GPU writes no\n"
    "file.",
    options,
    examples,
    CLI_WORD_NONE,
    0,
    topo,
};

const struct cli_command cli_bare = {
    "",
    "Measure the memory topology of a GPU",
    "[OPTION]... | COMMAND [ARGUMENT]... [OPTION]...",
    "Measure, describe and model the memory system of GPUs. Without a command, fathom\n"
    "does the same as 'fathom topo': it measures the first GPU of this machine or,\n"
    "without a GPU, a simulated H200. The options shown here are for this use without\n"
    "a command. Each command has its own options; see 'fathom help COMMAND'.",
    bare_options,
    bare_examples,
    CLI_WORD_COMMAND,
    0,
    run,
};
