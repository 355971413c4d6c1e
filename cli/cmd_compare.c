/* fathom compare: what differs between two GPUs, or one among many. */
#include "cli.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct cli_option option_all = {
    "all", 0, NULL, CLI_WORD_NONE,
    "also which card it was, and how it was then, and what only one of them says"};
static const struct cli_option option_within = {
    "within", 0, "PERCENT", CLI_WORD_NONE,
    "numbers that are no more apart than this, beyond their intervals, do not differ"};
static const struct cli_option option_fleet = {
    "fleet", 0, "FOLDER", CLI_WORD_FILE,
    "which of the descriptions in a folder is not like its siblings, and in what"};

/* What is compared: each with what it is called. */
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

/* Room for so many. */
static int gpus_init(struct gpus *gpus, size_t max)
{
    gpus->items = calloc(max + 1, sizeof *gpus->items);
    gpus->names = calloc(max + 1, sizeof *gpus->names);
    if (gpus->items && gpus->names)
        return CLI_DONE;
    cli_message("out of memory");
    return CLI_FAILED;
}

/* Takes the description over, also where there is no memory for its name. */
static int add(struct gpus *gpus, struct fth_gpu *gpu, const char *name)
{
    char *copy = strdup(name);
    if (!copy) {
        fth_gpu_destroy(gpu);
        cli_message("out of memory");
        return CLI_FAILED;
    }
    gpus->items[gpus->count] = gpu;
    gpus->names[gpus->count++] = copy;
    return CLI_DONE;
}

static int measure(const char *id, struct fth_gpu **gpu)
{
    const struct fth_discover_options options = {.log = &cli_log};
    struct fth_device *device = NULL;
    struct fth_error error = FTH_NO_ERROR;
    int result = cli_open_named(id, &device);
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

/* A device is measured, a name of the catalogue or a file read. */
static int take(struct gpus *gpus, const struct fth_catalogue *catalogue, const char *word)
{
    struct fth_gpu *gpu = NULL;
    struct fth_error error = FTH_NO_ERROR;
    int result = CLI_DONE;
    if (cli_names_device(word))
        result = measure(word, &gpu);
    else if (fth_catalogue_read(catalogue, word, &cli_log, &gpu, &error) != FTH_OK)
        result = cli_fail(&error);
    return result == CLI_DONE ? add(gpus, gpu, word) : result;
}

static int is_description(const struct dirent *entry)
{
    return entry->d_name[0] != '.' &&
           (cli_ends_with(entry->d_name, ".json") || cli_ends_with(entry->d_name, ".json.zst"));
}

static int take_file(struct gpus *gpus, const char *folder, const char *name)
{
    char path[PATH_MAX];
    struct fth_gpu *gpu = NULL;
    struct fth_error error = FTH_NO_ERROR;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (fth_gpu_read_file(path, &cli_log, &gpu, &error) != FTH_OK)
        return cli_fail(&error);
    return add(gpus, gpu, name);
}

/* Every description of the folder. One that cannot be read is told, and the rest is compared. */
static int take_folder(struct gpus *gpus, const char *folder)
{
    struct dirent **entries = NULL;
    int count = scandir(folder, &entries, is_description, alphasort);
    if (count < 0) {
        cli_message("read folder '%s': %s", folder, strerror(errno));
        return CLI_USAGE;
    }
    int faults = gpus_init(gpus, (size_t)count);
    const bool room = faults == CLI_DONE;
    for (int i = 0; i < count; i++) {
        int result = room ? take_file(gpus, folder, entries[i]->d_name) : CLI_DONE;
        faults = result == CLI_DONE ? faults : result;
        free(entries[i]);
    }
    free(entries);
    if (faults == CLI_DONE && gpus->count < 2) {
        cli_message("'%s' holds %zu descriptions (*.json); a fleet has two or more", folder,
                    gpus->count);
        return CLI_USAGE;
    }
    return faults;
}

static int show(const struct cli_arguments *arguments, const struct gpus *gpus, bool fleet,
                double within)
{
    const struct fth_report_options report = cli_report_options(arguments);
    const struct fth_compare_options options = {
        .all = cli_value(arguments, &option_all) != NULL, .within = within, .report = &report};
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

/* As a part of 1. */
static int parse_within(const struct cli_arguments *arguments, double *within)
{
    const char *text = cli_value(arguments, &option_within);
    char *end;
    *within = text ? strtod(text, &end) / 100 : 0;
    if (!text || (*text && *end == '\0' && isfinite(*within) && *within >= 0))
        return CLI_DONE;
    cli_message("--within takes a number of per cent, as 5, not '%s'", text);
    return CLI_USAGE;
}

static int check(const struct cli_arguments *arguments, double *within)
{
    const char *folder = cli_value(arguments, &option_fleet);
    if (folder && arguments->word_count) {
        cli_message("--fleet compares the descriptions of a folder; '%s' is one too many",
                    arguments->words[0]);
        return CLI_USAGE;
    }
    if (!folder && arguments->word_count != 2) {
        cli_message("two GPUs are compared: 'fathom compare A B', each a file, a name of "
                    "'fathom gpus' or a device");
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
    int result = check(arguments, &within);
    if (result != CLI_DONE)
        return result;
    if (fth_catalogue_open(&catalogue, &error) != FTH_OK)
        return cli_fail(&error);
    cli_catch_interrupts();
    result = folder ? take_folder(&gpus, folder) : gpus_init(&gpus, arguments->word_count);
    for (size_t i = 0; i < arguments->word_count && result == CLI_DONE; i++)
        result = take(&gpus, catalogue, arguments->words[i]);
    if (gpus.count >= 2) {
        int shown = show(arguments, &gpus, folder != NULL, within);
        result = result == CLI_DONE ? shown : result;
    }
    gpus_fini(&gpus);
    fth_catalogue_close(catalogue);
    return result;
}

static const struct cli_option *const options[] = {
    &option_all,        &option_within,     &option_fleet,    &cli_option_json,
    &cli_option_format, &cli_option_output, &cli_option_help, NULL,
};

static const struct cli_example examples[] = {
    {"fathom compare cuda:0 h200 --within 5", "is this normal for my GPU?"},
    {"fathom compare before.json after.json", "has it changed?"},
    {"fathom compare cuda:0 cuda:1", "two GPUs of a node"},
    {"fathom compare --fleet out/", "which of many is not like the others"},
    {NULL, NULL},
};

const struct cli_command cli_compare = {
    "compare",
    "what differs between two GPUs, or one among many",
    "A B [OPTION]... | --fleet FOLDER [OPTION]...",
    "Compares two GPUs and shows what differs: figures whose intervals do not meet. A and B\n"
    "are files of 'fathom topo --json' (- is standard input), names of 'fathom gpus', or\n"
    "devices, which are measured. The exit code is 5 where something differs. Bandwidths of two\n"
    "cards of one model are some per cent apart, more than the interval of one run tells: that\n"
    "is what --within is for.\n"
    "\n"
    "With --fleet, the descriptions of a folder are compared, each with those of GPUs of the\n"
    "same name: shown is where one does not agree with what more than half of them agree on.",
    options,
    examples,
    CLI_WORD_GPU,
    2,
    run,
};
