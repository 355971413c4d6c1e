/* fathom topo, and fathom alone: the memory topology of a GPU, measured. */
#include "cli.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

static const struct cli_option option_only = {
    "only", 0, "ELEMENT,...", CLI_WORD_ELEMENTS,
    "measure these elements and what they need, as l1,memory"};

static const struct cli_option option_thorough = {
    "thorough", 0, NULL, CLI_WORD_NONE,
    "more repeats for sizes and bandwidths, and these of a simulated GPU, too"};

static const struct cli_option option_verbose = {"verbose", 'v', NULL, CLI_WORD_NONE,
                                                 "say on stderr how long each part took"};

/* The next of a list with commas, from *at on; false at the end. */
static bool next_element(const char **at, char *name, size_t size)
{
    if (!*at)
        return false;
    size_t bytes = strcspn(*at, ",");
    snprintf(name, size, "%.*s", (int)(bytes < size ? bytes : size - 1), *at);
    *at = (*at)[bytes] ? *at + bytes + 1 : NULL;
    return true;
}

/* Refuses what is no element, before anything is opened. */
static int check_only(const char *only)
{
    char name[64];
    int result = CLI_DONE;
    while (result == CLI_DONE && next_element(&only, name, sizeof name))
        result = cli_check_element(name);
    return result;
}

/* Says of which elements that were asked for nothing was found out. */
static void tell_missing(const char *only, const struct fth_gpu *gpu)
{
    char name[64];
    const char *unknown;
    while (next_element(&only, name, sizeof name)) {
        const struct fth_attribute *attribute;
        bool found = false;
        for (size_t i = 0; (attribute = fth_gpu_attribute_at(gpu, name, i)) && !found; i++)
            found =
                attribute->source == FTH_SOURCE_MEASURED || attribute->source == FTH_SOURCE_DERIVED;
        if (!found && !fth_gpu_unknown_at(gpu, name, 0, &unknown))
            cli_message("nothing was measured of '%s'", name);
    }
}

/* For a file name: nothing that would be a folder, or hidden. */
static void append_plain(char *path, size_t *at, const char *text)
{
    for (; *text && *at + 1 < PATH_MAX; text++)
        path[(*at)++] = strchr("/ \t\n", *text) || *text == '.' ? '-' : *text;
}

/* The file of -o, with the host and the GPU put in: of a fleet, each has its own. */
static const char *name_output(const char *pattern, const struct fth_device *device,
                               const struct fth_gpu *gpu, char path[PATH_MAX])
{
    const char *uuid = fth_gpu_text(gpu, "device", "uuid");
    const char *id = fth_device_id(device);
    const char *colon = strchr(id, ':');
    char host[256] = "";
    size_t at = 0;
    if (gethostname(host, sizeof host - 1) != 0 || !*host)
        snprintf(host, sizeof host, "localhost");
    host[strcspn(host, ".")] = '\0';
    for (; *pattern && at + 1 < PATH_MAX; pattern++) {
        if (*pattern == '%' && (pattern[1] == 'h' || pattern[1] == 'g'))
            append_plain(path, &at,
                         *++pattern == 'h' ? host
                         : uuid            ? uuid
                         : colon           ? colon + 1
                                           : id);
        else
            path[at++] = *pattern;
    }
    path[at] = '\0';
    return path;
}

static int put(const struct cli_arguments *arguments, const struct fth_device *device,
               const struct fth_gpu *gpu)
{
    struct cli_arguments named = *arguments;
    char path[PATH_MAX];
    for (size_t i = 0; i < named.option_count; i++)
        if (named.options[i] == &cli_option_output)
            named.values[i] = name_output(named.values[i], device, gpu, path);
    return cli_put_gpu(&named, gpu, strncmp(fth_device_id(device), "replay:", 7) == 0);
}

/* Measures and shows. What was recorded is kept also where the measuring broke off. */
static int measure(const struct cli_arguments *arguments, struct fth_device *device)
{
    const char *only = cli_value(arguments, &option_only);
    const struct fth_discover_options options = {
        .only = only, .log = &cli_log, .thorough = cli_value(arguments, &option_thorough) != NULL};
    struct fth_error error = FTH_NO_ERROR, fault = FTH_NO_ERROR;
    struct fth_gpu *gpu = NULL;
    enum fth_status status = fth_discover(device, &options, &gpu, &error);
    bool kept = fth_device_finish(device, &fault) == FTH_OK;
    int result = CLI_DONE;
    if (gpu)
        result = put(arguments, device, gpu);
    if (status == FTH_OK && result == CLI_DONE)
        tell_missing(only, gpu);
    if (!kept)
        result = cli_fail(&fault);
    result = cli_end_measuring(result, status, &error, gpu != NULL);
    fth_gpu_destroy(gpu);
    return result;
}

static int topo(const struct cli_arguments *arguments)
{
    struct fth_device *device = NULL;
    int result = check_only(cli_value(arguments, &option_only));
    if (result == CLI_DONE)
        result = cli_check_output(arguments);
    if (result != CLI_DONE)
        return result;
    cli_catch_interrupts();
    if (cli_value(arguments, &option_verbose))
        cli_spend_verbosely();
    result = cli_open_device(arguments, &device);
    if (result != CLI_DONE)
        return result;
    result = measure(arguments, device);
    fth_device_close(device);
    return result;
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
        &option_only, &cli_option_record, &option_thorough, &option_verbose
static const struct cli_option *const options[] = {SHARED_OPTIONS, &cli_option_help, NULL};
static const struct cli_option *const bare_options[] = {SHARED_OPTIONS, &cli_option_version,
                                                        &cli_option_help, NULL};

static const struct cli_example examples[] = {
    {"fathom topo", "the GPU here or, without one, a simulated H200"},
    {"fathom topo --device sim:v100", "a simulated V100"},
    {"fathom topo --only l1,l2", "less, and sooner"},
    {"fathom topo --json -o gpu.json", "the description, as a file"},
    {"srun fathom topo --json -o 'out/%h-%g.json'", "those of a fleet, a file each"},
    {"fathom topo --record gpu.rec", "keep the samples, too"},
    {"fathom topo --device replay:gpu.rec", "look at them again, elsewhere and later"},
    {NULL, NULL},
};

static const struct cli_example bare_examples[] = {
    {"fathom", "measure the GPU here, or a simulated H200"},
    {"fathom --json -o gpu.json", "its description, as a file"},
    {"fathom help topo", "what else can be said"},
    {NULL, NULL},
};

const struct cli_command cli_topo = {
    "topo",
    "measure the memory topology of a GPU",
    "[OPTION]...",
    "Measures a GPU and shows its memory topology: what the driver tells; of L1, texture and\n"
    "read-only caches size, line, sector, latency, number an SM and which of them are one; of\n"
    "constant and instruction caches size and pace; shared memory of the own and of another\n"
    "SM; of L2 latency, line, sector, partitions and what memory fills it with; memory; TLBs;\n"
    "and how many bytes pass in a second.\n"
    "\n"
    "A DEVICE is cuda:NUMBER, cuda:UUID (both from 'fathom devices'), sim:NAME (a simulated\n"
    "GPU, a name of 'fathom gpus'), sim:FILE (made from a description of your own) or\n"
    "replay:FILE (what --record kept). Ctrl-C ends the measuring, shows what is complete and\n"
    "completes the recording; a second one ends the program at once.\n"
    "\n"
    "In the name of -o, %h becomes that of the host, and %g the GPU's UUID or, without one, its\n"
    "number or name, so that each GPU of a fleet has a file.",
    options,
    examples,
    CLI_WORD_NONE,
    0,
    topo,
};

const struct cli_command cli_bare = {
    "",
    "the memory topology of a GPU",
    "[COMMAND] [OPTION]...",
    "fathom sounds the depths of a GPU's memory. Without a command it does what\n"
    "'fathom topo' does: it measures the GPU of this machine or, where there is none,\n"
    "a simulated one.",
    bare_options,
    bare_examples,
    CLI_WORD_COMMAND,
    0,
    run,
};
