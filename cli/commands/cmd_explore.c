/* fathom explore: runs the cache model for every combination of parameter values. */
#include "cli.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct cli_option option_vary = {
    "vary", 0, "NAME=V1,V2,...", CLI_WORD_NONE,
    "explore these values of a parameter; with several --vary, explore every combination. "
    "16K..256K is a range in which each value is twice the one before, 16K..256K:x4 four times, "
    "and 1..9:+2 two more. A+B=1+2,3+4 explores A=1 with B=2, and A=3 with B=4. Separate values "
    "that contain commas with ';'"};
static const struct cli_option option_gpu = {
    "gpu", 0, "GPU,...", CLI_WORD_GPU,
    "take the parameters of a GPU, as for 'fathom model'; with several GPUs, separated by commas "
    "or in several --gpu, explore every combination with each of them"};
static const struct cli_option option_set = {"set", 's', "NAME=VALUE", CLI_WORD_NONE,
                                             "set a parameter for all points, such as "
                                             "l1.policy=fifo, or a problem size that a launch file "
                                             "defines, such as N=256; can be repeated"};
static const struct cli_option option_file = {
    "file", 0, "SPEC", CLI_WORD_FILE,
    "read studies from SPEC, a JSON file (see docs/explore.md); a study is a list of traces with "
    "the parameter values to explore for them"};
static const struct cli_option option_preset = {
    "preset", 0, "NAME", CLI_WORD_NONE,
    "run predefined studies; NAME is rdgc (the studies of the RDGC paper, see docs/model.md). "
    "Instead of "
    "traces, name the folder of the workloads (default: examples/workloads, here or installed "
    "with fathom)"};
static const struct cli_option option_shard = {
    "shard", 0, "I/N", CLI_WORD_NONE,
    "compute only shard I of N, with I from 1 to N (default: set by mpirun, srun or a job array, "
    "if there is one)"};
static const struct cli_option option_l1_off = {
    "l1-off", 0, NULL, CLI_WORD_NONE,
    "also model the L2 as if every access bypassed the L1 (always without time); takes longer"};
static const struct cli_option option_output = {
    "output", 'o', "FILE", CLI_WORD_FILE,
    "save each finished point to FILE as one line of JSON, and continue from the points that are "
    "already there; %r in the name is replaced by the number of the shard. With -o, the options "
    "of the table, such as --format and --objective, have no effect"};

/* ---- GPUs ---- */

/* Adds a GPU to the exploration, which is created with the first one. In the results, a description
 * file has its name without the folder. */
static int add_gpu(const struct cli_arguments *arguments, const char *name,
                   struct fth_exploration **exploration)
{
    const char *slash = strrchr(name, '/');
    const bool input = strcmp(name, "-") == 0;
    struct fth_model_params *params = NULL;
    struct fth_error error = FTH_NO_ERROR;
    enum fth_status status = FTH_OK;
    const int result = cli_read_parameters(arguments, name, &params);
    if (result != CLI_DONE)
        return result;
    if (!*exploration)
        status = fth_explore_create(params, exploration, &error);
    if (status == FTH_OK)
        status = fth_explore_gpu(*exploration,
                                 input   ? "standard input"
                                 : slash ? slash + 1
                                         : name,
                                 params, &error);
    fth_model_params_destroy(params);
    return status == FTH_OK ? CLI_DONE : cli_fail(&error);
}

/* Adds the GPUs of one --gpu: the names between commas, unless the text is the name of a file. */
static int add_gpus(const struct cli_arguments *arguments, const char *text,
                    struct fth_exploration **exploration)
{
    int result = CLI_DONE;
    if (access(text, F_OK) == 0)
        return add_gpu(arguments, text, exploration);
    for (const char *at = text; at && result == CLI_DONE;) {
        const size_t size = strcspn(at, ",");
        char name[PATH_MAX];
        snprintf(name, sizeof name, "%.*s", (int)size, at);
        result = add_gpu(arguments, name, exploration);
        at = at[size] ? at + size + 1 : NULL;
    }
    return result;
}

/* Returns the GPU without --gpu; NULL: the GPU of this computer or the H200. The studies of files
 * and presets state how they differ from generic parameters, and must give the same everywhere. */
static const char *default_gpu(const struct cli_arguments *arguments)
{
    return cli_value(arguments, &option_preset) || cli_value(arguments, &option_file) ? "none"
                                                                                      : NULL;
}

/* Creates the exploration: with the GPUs of --gpu, or with the parameters without --gpu. */
static int create(const struct cli_arguments *arguments, struct fth_exploration **exploration)
{
    struct fth_model_params *params = NULL;
    struct fth_error error = FTH_NO_ERROR;
    int result = CLI_DONE;
    for (size_t i = 0; i < arguments->option_count && result == CLI_DONE; i++)
        if (arguments->options[i] == &option_gpu)
            result = add_gpus(arguments, arguments->values[i], exploration);
    if (result != CLI_DONE || *exploration)
        return result;
    result = cli_read_parameters(arguments, default_gpu(arguments), &params);
    if (result == CLI_DONE && fth_explore_create(params, exploration, &error) != FTH_OK)
        result = cli_fail(&error);
    fth_model_params_destroy(params);
    return result;
}

/* ---- building the exploration ---- */

static enum fth_status set_parameter(void *exploration, const char *name, const char *value,
                                     struct fth_error *error)
{
    return fth_explore_set(exploration, name, value, error);
}

/* Finds the workloads: in the source tree if it is the current folder, otherwise in the
 * installation. */
static const char *find_workloads(char *folder, size_t size)
{
    static const char name[] = "examples/workloads";
    char documents[PATH_MAX];
    if (access(name, R_OK | X_OK) == 0 || !cli_find_documents(documents, sizeof documents) ||
        snprintf(folder, size, "%s/%s", documents, name) >= (int)size ||
        access(folder, R_OK | X_OK) != 0)
        return name;
    return folder;
}

static enum fth_status add_preset(const struct cli_arguments *arguments, const char *preset,
                                  const struct fth_launch_options *launch,
                                  struct fth_exploration *exploration, struct fth_error *error)
{
    char found[PATH_MAX];
    const char *folder =
        arguments->word_count ? arguments->words[0] : find_workloads(found, sizeof found);
    enum fth_status status =
        fth_explore_preset(exploration, preset, folder, launch, &cli_log, error);
    if (status == FTH_NOT_FOUND && !arguments->word_count &&
        strncmp(error->argument, folder, strlen(folder)) == 0)
        cli_message("there is no folder examples/workloads here or in the installation; name the "
                    "folder of the workloads: 'fathom explore --preset %s FOLDER'",
                    preset);
    return status;
}

static enum fth_status add_studies(const struct cli_arguments *arguments,
                                   const struct fth_launch_options *launch,
                                   struct fth_exploration *exploration, struct fth_error *error)
{
    const char *preset = cli_value(arguments, &option_preset);
    const char *file = cli_value(arguments, &option_file);
    enum fth_status status = FTH_OK;
    if (preset)
        return add_preset(arguments, preset, launch, exploration, error);
    if (file)
        status = fth_explore_read(exploration, file, launch, &cli_log, error);
    /* Parse --vary first, so that errors are reported before the launches are traced. */
    for (size_t i = 0; i < arguments->option_count && status == FTH_OK; i++)
        if (arguments->options[i] == &option_vary)
            status = fth_explore_vary(exploration, arguments->values[i], error);
    for (size_t i = 0; i < arguments->word_count && status == FTH_OK; i++)
        status = fth_explore_trace(exploration, arguments->words[i], launch, &cli_log, error);
    fth_explore_scope(exploration, cli_value(arguments, &option_l1_off) != NULL);
    return status;
}

static int check_arguments(const struct cli_arguments *arguments)
{
    const bool preset = cli_value(arguments, &option_preset) != NULL;
    const bool file = cli_value(arguments, &option_file) != NULL;
    const bool vary = cli_value(arguments, &option_vary) != NULL;
    if (preset && (file || vary || arguments->word_count > 1)) {
        cli_message(
            "--preset defines the studies: it takes no --file, no --vary, and one argument at "
            "most, the folder of the workloads");
        return CLI_USAGE;
    }
    if (!preset && !file && arguments->word_count == 0) {
        cli_message(
            "no trace, launch file, capsule or PTX file given; see 'fathom explore --help'");
        return CLI_USAGE;
    }
    if (vary && arguments->word_count == 0) {
        cli_message("--vary applies to traces given on the command line, but none is given");
        return CLI_USAGE;
    }
    return CLI_DONE;
}

static int build(const struct cli_arguments *arguments, struct fth_exploration **exploration)
{
    struct cli_launch_values values;
    uint64_t max_instructions = 0;
    struct fth_error error = FTH_NO_ERROR;
    if (!cli_parse_max_instructions(arguments, &max_instructions))
        return CLI_USAGE;
    int result = cli_read_launch_options(arguments, &option_set, &values);
    if (result == CLI_DONE)
        result = create(arguments, exploration);
    if (result == CLI_DONE)
        result = cli_apply_settings(arguments, &option_set, "l1.policy=fifo", set_parameter,
                                    *exploration);
    if (result == CLI_DONE)
        fth_explore_max_instructions(*exploration, max_instructions);
    if (result == CLI_DONE &&
        add_studies(arguments, &values.options, *exploration, &error) != FTH_OK)
        result = cli_fail(&error);
    return result;
}

/* ---- running it ---- */

/* Finds the shard of this process, and the output file of the shard (NULL without -o). The caller
 * frees *path. */
static int find_shard(const struct cli_arguments *arguments, struct fth_shard *shard, char **path)
{
    const char *given = cli_value(arguments, &option_shard);
    const char *output = cli_value(arguments, &option_output);
    struct fth_error error = FTH_NO_ERROR;
    enum fth_status status =
        given ? fth_shard_parse(given, shard, &error) : fth_shard_find(shard, &error);
    if (status == FTH_OK && output && strcmp(output, "-") != 0)
        status = fth_shard_path(output, shard, path, &error);
    if (status != FTH_OK)
        return cli_fail(&error);
    if (shard->count > 1 && !*path) {
        cli_message("this is shard %zu of %zu%s%s; name its output file with -o", shard->number,
                    shard->count, shard->who ? " according to " : "", shard->who ? shard->who : "");
        return CLI_USAGE;
    }
    return CLI_DONE;
}

static void report_outcome(const struct fth_exploration *exploration, const struct fth_shard *shard,
                           const char *path, const struct fth_explore_outcome *outcome)
{
    const size_t points = fth_explore_points(exploration, NULL);
    char part[80] = "";
    if (shard->count > 1)
        snprintf(part, sizeof part, "shard %zu of %zu%s%.20s%s: ", shard->number, shard->count,
                 shard->who ? " (" : "", shard->who ? shard->who : "", shard->who ? ")" : "");
    cli_note("%s%zu of %zu points computed in %zu model runs, %zu already present%s%s", part,
             outcome->computed, points, outcome->jobs, outcome->found, path ? ": " : "",
             path ? path : "");
    if (outcome->text)
        cli_note_skipped(outcome->text, outcome->size);
}

static int show(const struct cli_arguments *arguments, const struct fth_explore_outcome *outcome)
{
    struct fth_report_options options = cli_report_options(arguments);
    struct fth_error error = FTH_NO_ERROR;
    char *text = NULL;
    size_t size = 0;
    const struct fth_points_view view = cli_points_view(arguments);
    if (fth_report_points_view(cli_format(arguments), outcome->text, outcome->size, &view, &options,
                               &text, &size, &error) != FTH_OK)
        return cli_fail(&error);
    enum fth_status status = fth_file_write("-", text, size, &error);
    fth_free(text);
    return status == FTH_OK ? CLI_DONE : cli_fail(&error);
}

static int run(const struct cli_arguments *arguments, struct fth_exploration *exploration,
               const struct fth_shard *shard, const char *path)
{
    unsigned threads = 0;
    uint64_t max_bytes = 0;
    struct fth_explore_outcome outcome = {0};
    struct fth_error error = FTH_NO_ERROR;
    int result = cli_parse_size(arguments, &cli_option_max_bytes, &max_bytes);
    if (result != CLI_DONE)
        return result;
    if (!cli_parse_threads(arguments, &threads))
        return CLI_USAGE;
    const struct fth_explore_options options =
        FTH_EXPLORE_OPTIONS(.shard = shard->number, .shards = shard->count, .threads = threads,
                            .output = path, .log = &cli_log, .max_bytes = max_bytes);
    const enum fth_status status = fth_explore_run(exploration, &options, &outcome, &error);
    result = status == FTH_OK ? CLI_DONE : cli_fail(&error);
    if (status == FTH_OK || outcome.computed)
        report_outcome(exploration, shard, path, &outcome);
    if (status == FTH_INTERRUPTED && path)
        cli_note("run the same command again to continue");
    if (!path && outcome.text && (status == FTH_OK || outcome.computed)) {
        const int shown = show(arguments, &outcome);
        result = result == CLI_DONE ? shown : result;
    }
    fth_free(outcome.text);
    return result;
}

static int explore(const struct cli_arguments *arguments)
{
    struct fth_exploration *exploration = NULL;
    struct fth_shard shard;
    char *path = NULL;
    int result = check_arguments(arguments);
    if (result == CLI_DONE)
        result = cli_check_points_view(arguments);
    if (result == CLI_DONE)
        result =
            cli_check_output(arguments); /* only checks the format: this command has its own -o */
    if (result == CLI_DONE)
        result = find_shard(arguments, &shard, &path);
    if (result == CLI_DONE) {
        cli_catch_interrupts();
        result = build(arguments, &exploration);
    }
    if (result == CLI_DONE)
        result = run(arguments, exploration, &shard, path);
    fth_explore_destroy(exploration);
    fth_free(path);
    return result;
}

static const struct cli_option *const options[] = {
    &option_vary,
    &option_set,
    &option_gpu,
    &option_file,
    &option_preset,
    &option_l1_off,
    CLI_KERNEL_OPTIONS,
    CLI_CAPSULE_OPTIONS,
    &cli_option_allow_files,
    &cli_option_no_spills,
    &cli_option_max_instructions,
    CLI_POINTS_OPTIONS,
    &option_shard,
    &cli_option_threads,
    &cli_option_json,
    &cli_option_format,
    &option_output,
    &cli_option_max_bytes,
    &cli_option_quiet,
    &cli_option_help,
    NULL,
};

static const struct cli_example examples[] = {
    {"fathom explore 2mm.trace --gpu h200 --vary l1.size_bytes=16K,32K,64K",
     "compare three sizes of the L1 in a table"},
    {"fathom explore 2mm.trace --gpu h200,v100 --vary l2.size_bytes=8M..64M --objective time",
     "compare two GPUs with four sizes of the L2, and find the fastest"},
    {"fathom explore 2mm.trace --gpu h200 --vary l1.size_bytes=16K..256K --pareto "
     "l1.size_bytes,time",
     "show only the sizes of the L1 that no smaller one equals in time"},
    {"fathom explore 2mm.trace --set gpu.timing=off --vary l1.policy=lru,drrip,belady",
     "compare policies with the best replacement that is possible (belady)"},
    {"fathom explore *.trace --vary l1.policy=lru,fifo --vary l1.ways=2,4 -o a.jsonl",
     "save the results of every combination to a file"},
    {"srun fathom explore k.trace --vary l2.ways=4,8,16 -o part.%r",
     "distribute the points over the tasks of a Slurm job"},
    {"fathom merge part.* -o all.jsonl", "join the files of the tasks"},
    {"fathom explore --preset rdgc -o rdgc.jsonl", "run the studies of the RDGC paper"},
    {NULL, NULL},
};

const struct cli_command cli_explore = {
    "explore",
    "Run the cache model for many combinations of parameters",
    "[TRACE | LAUNCH.json | CAPSULE | KERNEL.ptx | PROGRAM | -]... [OPTION]...",
    "Model the given inputs for every combination of parameter values, as 'fathom\n"
    "model' does, on all cores. The inputs are any that 'fathom trace' accepts. The\n"
    "options from --entry to --seed are for PTX files and programs, those from\n"
    "--kernel to --max-memory for capsules. A point is one input on one GPU with one\n"
    "combination of values. Print a table with one row per point and kernel, or save\n"
    "the points with -o. 'fathom model --parameters' lists the parameters. A point\n"
    "whose parameters contradict each other is skipped with a note.\n"
    "\n"
    "With -o, each point is on disk as soon as it is finished. After Ctrl-C, a crash\n"
    "or a full disk, run the same command again: it continues and computes nothing\n"
    "twice. Under mpirun, srun or in a job array, each process computes one part of\n"
    "the points (a shard); 'fathom merge' joins the files and shows them. See\n"
    "docs/explore.md.",
    options,
    examples,
    CLI_WORD_FILE,
    CLI_MAX_ARGUMENTS,
    explore,
};
