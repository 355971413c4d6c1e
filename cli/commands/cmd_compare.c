/* fathom compare: shows what differs between two GPUs, or finds the odd one out in a fleet. */
#include "cli.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct cli_option option_all = {
    "all", 0, NULL, CLI_WORD_NONE,
    "also compare figures that identify the card, depend on its state (UUID, driver, power, "
    "clocks ...) or vary from run to run, and show figures that only one GPU has"};
static const struct cli_option option_within = {
    "within", 0, "PERCENT", CLI_WORD_NONE,
    "ignore a difference if the gap between the two intervals is at most PERCENT of the larger "
    "number (default: 0)"};
static const struct cli_option option_fleet = {
    "fleet", 0, "FOLDER", CLI_WORD_FILE,
    "compare all descriptions (*.json, *.json.zst) in FOLDER, and show the GPUs that differ from "
    "the others of "
    "the same model"};

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

static bool ends_with(const char *text, const char *end)
{
    size_t size = strlen(text), tail = strlen(end);
    return size >= tail && strcmp(text + size - tail, end) == 0;
}

static int is_description(const struct dirent *entry)
{
    return entry->d_name[0] != '.' &&
           (ends_with(entry->d_name, ".json") || ends_with(entry->d_name, ".json.zst"));
}

static int load_file(struct gpus *gpus, const char *folder, const char *name)
{
    char path[PATH_MAX];
    struct fth_gpu *gpu = NULL;
    struct fth_error error = FTH_NO_ERROR;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (fth_gpu_read_file(path, &cli_log, &gpu, &error) != FTH_OK)
        return cli_fail(&error);
    return add(gpus, gpu, name);
}

/* Reads all descriptions in the folder. Prints an error for each one that cannot be read; the
 * others are still compared. */
static int load_folder(struct gpus *gpus, const char *folder)
{
    struct dirent **entries = NULL;
    int count = scandir(folder, &entries, is_description, alphasort);
    if (count < 0) {
        const int fault = errno;
        cli_message("read folder '%s': %s", folder, strerror(fault));
        return fault == ENOENT || fault == ENOTDIR || fault == EACCES ? CLI_USAGE : CLI_FAILED;
    }
    int faults = gpus_init(gpus, (size_t)count);
    const bool allocated = faults == CLI_DONE;
    for (int i = 0; i < count; i++) {
        int result = allocated ? load_file(gpus, folder, entries[i]->d_name) : CLI_DONE;
        faults = result == CLI_DONE ? faults : result;
        free(entries[i]);
    }
    free(entries);
    if (faults == CLI_DONE && gpus->count < 2) {
        cli_message("'%s' contains %zu descriptions (*.json); --fleet needs at least two", folder,
                    gpus->count);
        return CLI_USAGE;
    }
    return faults;
}

static int show(const struct cli_arguments *arguments, const struct gpus *gpus, bool fleet,
                double within)
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
    enum fth_status status = fleet ? fth_report_fleet(cli_format(arguments), &options, items, names,
                                                      gpus->count, &text, &size, &count, &error)
                                   : fth_report_compare(cli_format(arguments), &options, items,
                                                        names, &text, &size, &count, &error);
    if (status != FTH_OK)
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

static int check_arguments(const struct cli_arguments *arguments, double *within)
{
    const char *folder = cli_value(arguments, &option_fleet);
    if (folder && arguments->word_count) {
        cli_message("--fleet compares the descriptions in a folder; unexpected argument '%s'",
                    arguments->words[0]);
        return CLI_USAGE;
    }
    if (!folder && arguments->word_count != 2) {
        cli_message("give two GPUs to compare, each a file, a name listed by 'fathom gpus' or a "
                    "device: 'fathom compare A B'");
        return CLI_USAGE;
    }
    int result = parse_within(arguments, within);
    return result == CLI_DONE ? cli_check_output(arguments) : result;
}

static int run(const struct cli_arguments *arguments)
{
    const char *folder = cli_value(arguments, &option_fleet);
    struct fth_error error = FTH_NO_ERROR;
    struct fth_catalogue *catalogue = NULL;
    struct gpus gpus = {0};
    double within;
    int result = check_arguments(arguments, &within);
    if (result != CLI_DONE)
        return result;
    if (fth_catalogue_open(&catalogue, &error) != FTH_OK)
        return cli_fail(&error);
    cli_catch_interrupts();
    result = folder ? load_folder(&gpus, folder) : gpus_init(&gpus, arguments->word_count);
    for (size_t i = 0; i < arguments->word_count && result == CLI_DONE; i++)
        result = load_gpu(arguments, &gpus, catalogue, arguments->words[i]);
    if (gpus.count >= 2) {
        int shown = show(arguments, &gpus, folder != NULL, within);
        result = result == CLI_DONE ? shown : result;
    }
    gpus_fini(&gpus);
    fth_catalogue_close(catalogue);
    return result;
}

static const struct cli_option *const options[] = {
    &option_all,
    &option_within,
    &option_fleet,
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
    {"fathom compare --fleet out/", "which GPU differs from the others?"},
    {NULL, NULL},
};

const struct cli_command cli_compare = {
    "compare",
    "Show what differs between two GPUs, or within a fleet",
    "A B [OPTION]... | --fleet FOLDER [OPTION]...",
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
    "With --fleet, compare the descriptions in a folder, each with the others of the\n"
    "same model (the same device name). For each figure, fathom takes the GPU whose\n"
    "value agrees with those of the most other GPUs. If these are more than half of\n"
    "the others (itself not counted), fathom lists all GPUs whose value differs.\n"
    "Otherwise, it skips the figure. For example, a GPU that differs from three\n"
    "others is listed, because each of these agrees with two of three. If one of\n"
    "only three GPUs differs, the figure is skipped: one of two is not more than\n"
    "half. If only two GPUs have the figure and they differ, the second one (by file\n"
    "name) is listed. Each simulated GPU is listed, too, because it is not a GPU of\n"
    "the fleet, and is not compared with the real ones.",
    options,
    examples,
    CLI_WORD_GPU,
    2,
    run,
};
