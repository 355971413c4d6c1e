/* fathom compare: shows what differs between two GPUs or between a prediction and the counters of a
 * GPU, or judges a fleet. */
#include "fleet/fleet_cli.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct cli_option option_all = {
    "all", 0, NULL, CLI_WORD_NONE,
    "also compare figures that identify the card, depend on its state (UUID, driver, power, "
    "clocks ...) or vary from run to run, and show figures that only one GPU has; with --fleet, "
    "list "
    "healthy GPUs, too"};
static const struct cli_option option_within = {
    "within", 0, "PERCENT", CLI_WORD_NONE,
    "ignore a difference if the gap between the two intervals is at most PERCENT of the larger "
    "number (default: 0)"};
static const struct cli_option option_fleet = {
    "fleet", 0, "FOLDER", CLI_WORD_FILE,
    "judge the measurements in FOLDER: which GPUs are not healthy?"};

static const struct cli_option option_metrics = {
    "metrics", 0, NULL, CLI_WORD_NONE,
    "print the metrics of Nsight Compute that can be compared with predictions, for the option "
    "--metrics of ncu"};

/* The GPUs to compare, each with the name that the output shows. Owns both. */
struct gpus {
    struct fth_gpu **items;
    char **names;
    size_t count;
};

static void gpus_fini(struct gpus *gpus)
{
    for (size_t i = 0; i < gpus->count; i++) {
        fth_gpu_destroy(gpus->items[i]);
        free(gpus->names[i]);
    }
    free(gpus->items);
    free(gpus->names);
}

/* Allocates space for `capacity` GPUs. */
static int gpus_init(struct gpus *gpus, size_t capacity)
{
    gpus->items = calloc(capacity + 1, sizeof *gpus->items);
    gpus->names = calloc(capacity + 1, sizeof *gpus->names);
    if (gpus->items && gpus->names)
        return CLI_DONE;
    return cli_no_memory();
}

/* Adds a description and takes ownership of it, even if it fails. */
static int add(struct gpus *gpus, struct fth_gpu *gpu, const char *name)
{
    char *copy = strdup(name);
    if (!copy) {
        fth_gpu_destroy(gpu);
        return cli_no_memory();
    }
    gpus->items[gpus->count] = gpu;
    gpus->names[gpus->count++] = copy;
    return CLI_DONE;
}

static int measure(const struct cli_arguments *arguments, const char *id, struct fth_gpu **gpu)
{
    const struct fth_discover_options options = FTH_DISCOVER_OPTIONS(.log = &cli_log);
    struct fth_device *device = NULL;
    struct fth_error error = FTH_NO_ERROR;
    int result = cli_open_device_id(arguments, id, &device);
    if (result != CLI_DONE)
        return result;
    if (fth_discover(device, &options, gpu, &error) != FTH_OK) {
        result = cli_fail(&error);
        fth_gpu_destroy(*gpu);
        *gpu = NULL;
    }
    fth_device_close(device);
    return result;
}

/* Adds the GPU that `word` names: measures a device, or reads a GPU of the catalogue or a file. */
static int load_gpu(const struct cli_arguments *arguments, struct gpus *gpus,
                    const struct fth_catalogue *catalogue, const char *word)
{
    struct fth_gpu *gpu = NULL;
    struct fth_error error = FTH_NO_ERROR;
    int result = CLI_DONE;
    if (cli_is_device_id(word))
        result = measure(arguments, word, &gpu);
    else if (fth_catalogue_read(catalogue, word, &cli_log, &gpu, &error) != FTH_OK)
        result = cli_fail(&error);
    return result == CLI_DONE ? add(gpus, gpu, word) : result;
}

static int show(const struct cli_arguments *arguments, const struct gpus *gpus, double within)
{
    const struct fth_report_options report = cli_report_options(arguments);
    const struct fth_compare_options options =
        FTH_COMPARE_OPTIONS(.all = cli_value(arguments, &option_all) != NULL, .within = within,
                            .report = &report);
    const struct fth_gpu *const *items = (const struct fth_gpu *const *)gpus->items;
    const char *const *names = (const char *const *)gpus->names;
    struct fth_error error = FTH_NO_ERROR;
    char *text = NULL;
    size_t size = 0, count = 0;
    if (fth_report_compare(cli_format(arguments), &options, items, names, &text, &size, &count,
                           &error) != FTH_OK)
        return cli_fail(&error);
    int result = cli_put_text(arguments, text, size);
    return result == CLI_DONE && count ? CLI_DIFFERS : result;
}

/* Parses --within as a fraction: 5 percent is 0.05. */
static int parse_within(const struct cli_arguments *arguments, double *within)
{
    const char *text = cli_value(arguments, &option_within);
    char *end;
    *within = text ? strtod(text, &end) / 100 : 0;
    if (!text || (*text && *end == '\0' && isfinite(*within) && *within >= 0))
        return CLI_DONE;
    cli_message("--within requires a percentage, such as 5, not '%s'", text);
    return CLI_USAGE;
}

/* Shows how far the predictions of the model are from the counters of a GPU. */
static int compare_counters(const struct cli_arguments *arguments, const char *model,
                            const char *counters, double within)
{
    const struct fth_report_options report = cli_report_options(arguments);
    const struct fth_accuracy_options accuracy =
        FTH_ACCURACY_OPTIONS(.within = 100 * within, .report = &report);
    struct fth_error error = FTH_NO_ERROR;
    char *text = NULL;
    size_t size = 0, beyond = 0;
    if (cli_value(arguments, &option_all)) {
        cli_message(
            "--all applies to comparisons of GPUs; all figures of kernels are shown anyway");
        return CLI_USAGE;
    }
    if (fth_report_accuracy(cli_format(arguments), &accuracy, model, counters, &text, &size,
                            &beyond, &error) != FTH_OK)
        return cli_fail(&error);
    int result = cli_put_text(arguments, text, size);
    return result == CLI_DONE && beyond ? CLI_DIFFERS : result;
}

/* Prints the metrics that can be compared. */
static int print_metrics(const struct cli_arguments *arguments)
{
    const char *metrics = fth_accuracy_metrics();
    const size_t size = strlen(metrics) + sizeof "\n";
    char *line = malloc(size);
    if (!line)
        return cli_no_memory();
    snprintf(line, size, "%s\n", metrics);
    return cli_put_text(arguments, line, size - 1);
}

static int check_arguments(const struct cli_arguments *arguments, double *within)
{
    const char *folder = cli_value(arguments, &option_fleet);
    const bool metrics = cli_value(arguments, &option_metrics) != NULL;
    if (metrics &&
        (folder || arguments->word_count || cli_value(arguments, &option_all) ||
         cli_value(arguments, &option_within) || strcmp(cli_format(arguments), "text") != 0)) {
        cli_message("--metrics only prints the names of metrics; give neither files nor options "
                    "with it, except --output");
        return CLI_USAGE;
    }
    if (folder && arguments->word_count) {
        cli_message("--fleet compares the descriptions in a folder; unexpected argument '%s'",
                    arguments->words[0]);
        return CLI_USAGE;
    }
    if (!folder && !metrics && arguments->word_count != 2) {
        cli_message("give two GPUs to compare, each a file, a name listed by 'fathom gpus' or a "
                    "device: 'fathom compare A B'; or a prediction and counters: "
                    "'fathom compare model.json ncu.csv'");
        return CLI_USAGE;
    }
    int result = parse_within(arguments, within);
    return result == CLI_DONE ? cli_check_output(arguments) : result;
}

/* Loads the two GPUs and compares them. */
static int compare(const struct cli_arguments *arguments, double within)
{
    struct fth_error error = FTH_NO_ERROR;
    struct fth_catalogue *catalogue = NULL;
    struct gpus gpus = {0};
    if (fth_catalogue_open(&catalogue, &error) != FTH_OK)
        return cli_fail(&error);
    cli_catch_interrupts();
    int result = gpus_init(&gpus, arguments->word_count);
    for (size_t i = 0; i < arguments->word_count && result == CLI_DONE; i++)
        result = load_gpu(arguments, &gpus, catalogue, arguments->words[i]);
    if (result == CLI_DONE)
        result = show(arguments, &gpus, within);
    gpus_fini(&gpus);
    fth_catalogue_close(catalogue);
    return result;
}

static int run(const struct cli_arguments *arguments)
{
    const char *folder = cli_value(arguments, &option_fleet);
    double within;
    int result = check_arguments(arguments, &within);
    if (result != CLI_DONE)
        return result;
    if (folder)
        return cli_fleet_judge_folder(arguments, folder, within,
                                      cli_value(arguments, &option_all) != NULL);
    if (cli_value(arguments, &option_metrics))
        return print_metrics(arguments);
    const char *const *words = arguments->words;
    if (fth_is_model_result(words[0]))
        return compare_counters(arguments, words[0], words[1], within);
    if (fth_is_model_result(words[1]))
        return compare_counters(arguments, words[1], words[0], within);
    return compare(arguments, within);
}

static const struct cli_option *const options[] = {
    &option_all,
    &option_within,
    &option_fleet,
    &option_metrics,
    &cli_option_json,
    &cli_option_format,
    &cli_option_output,
    &cli_option_max_instructions,
    &cli_option_quiet,
    &cli_option_help,
    NULL,
};

static const struct cli_example examples[] = {
    {"fathom compare cuda:0 h200 --within 5", "does this GPU perform like other H200s?"},
    {"fathom compare before.json after.json", "has the GPU changed?"},
    {"fathom compare cuda:0 cuda:1", "compare two GPUs of this machine"},
    {"fathom compare model.json ncu.csv", "how good are the predictions of 'fathom model --json'?"},
    {"fathom compare --fleet out/", "which GPU differs from the others?"},
    {NULL, NULL},
};

const struct cli_command cli_compare = {
    "compare",
    "Show what differs between two GPUs, or a prediction and counters",
    "A B [OPTION]... | MODEL.json NCU.csv [OPTION]... | --fleet FOLDER [OPTION]...",
    "Compare two GPUs and print a table of the figures that differ. A and B are files\n"
    "written by 'fathom topo --json' (- for standard input), names listed by\n"
    "'fathom gpus', or devices such as cuda:0, which are measured first. The exit\n"
    "code is 5 if something differs.\n"
    "\n"
    "A measured number has an interval in which the true value is expected (low and\n"
    "high in the JSON description). Two numbers differ if their intervals do not\n"
    "overlap. A number without an interval is compared as it is.\n"
    "\n"
    "The bandwidths of two cards of the same model differ by a few percent, which is\n"
    "more than the interval of a single run. Use --within to ignore such differences.\n"
    "\n"
    "If one of the two files is a result of 'fathom model --json' and the other has\n"
    "counters of Nsight Compute, show how far the prediction is from the counters,\n"
    "per kernel and on average. Measure the counters so that all figures can be\n"
    "compared:\n"
    "\n"
    "  ncu --csv --page raw --log-file ncu.csv --print-kernel-base mangled \\\n"
    "      --metrics $(fathom compare --metrics) ./program\n"
    "\n"
    "With --within, the exit code is then 5 if the error of a hit ratio is more than\n"
    "PERCENT percentage points, or that of a number more than PERCENT percent. Only\n"
    "times, and figures of at least 10,000 sectors per launch, count.\n"
    "\n"
    "With --fleet, judge the measurements in a folder, as 'fathom fleet judge FOLDER'\n"
    "does, whose exit codes it has. 'fathom fleet --help' says more. --within is then\n"
    "the smallest difference from the usual value that counts (default: 2).",
    options,
    examples,
    CLI_WORD_GPU,
    2,
    run,
};
