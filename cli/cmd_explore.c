/* fathom explore: the model over grids of its parameters. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

static const struct cli_option option_vary = {
    "vary", 0, "NAME=V1,V2,...", CLI_WORD_NONE,
    "a parameter and the values it takes; with several, every combination. A+B=1+2,3+4 varies two "
    "together; ';' stands between values that have commas"};
static const struct cli_option option_set = {"set", 's', "NAME=VALUE", CLI_WORD_NONE,
                                             "a parameter for all points, such as l1.policy=fifo, "
                                             "or a size of a launch file, such as N=256"};
static const struct cli_option option_file = {"file", 0, "SPEC", CLI_WORD_FILE,
                                              "studies from a file (docs/explore.md)"};
static const struct cli_option option_preset = {
    "preset", 0, "NAME", CLI_WORD_NONE,
    "rdgc: the studies of the RDGC paper; the word is the folder of the workloads, "
    "examples/workloads where there is none"};
static const struct cli_option option_shard = {
    "shard", 0, "I/N", CLI_WORD_NONE,
    "only the I-th of N parts; otherwise what mpirun, srun or a job array says"};
static const struct cli_option option_l1_off = {"l1-off", 0, NULL, CLI_WORD_NONE,
                                                "also the L2 as if the L1 were off; takes longer"};
static const struct cli_option option_output = {
    "output", 'o', "FILE", CLI_WORD_FILE,
    "keep the points there as they come, a line of JSON each, and go on from those that are "
    "there; %r in the name becomes the number of the shard"};

/* ---- what is explored ---- */

static enum fth_status set_parameter(void *exploration, const char *name, const char *value,
                                     struct fth_error *error)
{
    return fth_explore_set(exploration, name, value, error);
}

/* The settings without a point in their name. */
static size_t find_sizes(const struct cli_arguments *arguments, const char *sizes[])
{
    size_t count = 0;
    for (size_t i = 0; i < arguments->option_count; i++) {
        const char *text = arguments->values[i];
        if (arguments->options[i] == &option_set && !memchr(text, '.', strcspn(text, "=")))
            sizes[count++] = text;
    }
    return count;
}

static enum fth_status take_studies(const struct cli_arguments *arguments,
                                    struct fth_exploration *exploration, const char *sizes[],
                                    size_t size_count, struct fth_error *error)
{
    const char *preset = cli_value(arguments, &option_preset);
    const char *file = cli_value(arguments, &option_file);
    enum fth_status status = FTH_OK;
    if (preset)
        return fth_explore_preset(
            exploration, preset, arguments->word_count ? arguments->words[0] : "examples/workloads",
            sizes, size_count, &cli_log, error);
    if (file)
        status = fth_explore_read(exploration, file, sizes, size_count, &cli_log, error);
    /* Slips in what varies are told before anything is traced. */
    for (size_t i = 0; i < arguments->option_count && status == FTH_OK; i++)
        if (arguments->options[i] == &option_vary)
            status = fth_explore_vary(exploration, arguments->values[i], error);
    for (size_t i = 0; i < arguments->word_count && status == FTH_OK; i++)
        status =
            fth_explore_trace(exploration, arguments->words[i], sizes, size_count, &cli_log, error);
    fth_explore_scope(exploration, cli_value(arguments, &option_l1_off) != NULL);
    return status;
}

static int check_words(const struct cli_arguments *arguments)
{
    const bool preset = cli_value(arguments, &option_preset) != NULL;
    const bool file = cli_value(arguments, &option_file) != NULL;
    const bool vary = cli_value(arguments, &option_vary) != NULL;
    if (preset && (file || vary || arguments->word_count > 1)) {
        cli_message("--preset says itself what varies; the one word with it is the folder of its "
                    "workloads");
        return CLI_USAGE;
    }
    if (!preset && !file && arguments->word_count == 0) {
        cli_message("which traces or launch files? 'fathom explore --help' shows how to give them");
        return CLI_USAGE;
    }
    if (vary && arguments->word_count == 0) {
        cli_message("--vary is for the traces on the command line, and there are none");
        return CLI_USAGE;
    }
    return CLI_DONE;
}

static int build(const struct cli_arguments *arguments, struct fth_exploration **exploration)
{
    const char *sizes[CLI_MAX_OPTIONS];
    struct fth_model_params *params = NULL;
    struct fth_error error = FTH_NO_ERROR;
    int result = cli_read_parameters(arguments, &params);
    if (result == CLI_DONE && fth_explore_create(params, exploration, &error) != FTH_OK)
        result = cli_fail(&error);
    if (result == CLI_DONE)
        result = cli_take_settings(arguments, &option_set, "l1.policy=fifo", set_parameter,
                                   *exploration);
    if (result == CLI_DONE && take_studies(arguments, *exploration, sizes,
                                           find_sizes(arguments, sizes), &error) != FTH_OK)
        result = cli_fail(&error);
    fth_model_params_destroy(params);
    return result;
}

/* ---- where its points go ---- */

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
        cli_message("this is shard %zu of %zu%s%s; -o must say where its part goes", shard->number,
                    shard->count, shard->who ? ", says " : "", shard->who ? shard->who : "");
        return CLI_USAGE;
    }
    return CLI_DONE;
}

static void tell(const struct fth_exploration *exploration, const struct fth_shard *shard,
                 const char *path, const struct fth_explore_outcome *outcome)
{
    const size_t points = fth_explore_points(exploration, NULL);
    char part[80] = "";
    if (shard->count > 1)
        snprintf(part, sizeof part, "shard %zu of %zu%s%.20s%s: ", shard->number, shard->count,
                 shard->who ? " (" : "", shard->who ? shard->who : "", shard->who ? ")" : "");
    cli_message("%s%zu points of %zu computed in %zu models, %zu were there%s%s", part,
                outcome->computed, points, outcome->jobs, outcome->found, path ? ": " : "",
                path ? path : "");
}

static int show(const struct cli_arguments *arguments, const struct fth_explore_outcome *outcome)
{
    struct fth_report_options options = cli_report_options(arguments);
    struct fth_error error = FTH_NO_ERROR;
    char *text = NULL;
    size_t size = 0;
    if (fth_report_points(cli_format(arguments), outcome->text, outcome->size, &options, &text,
                          &size, &error) != FTH_OK)
        return cli_fail(&error);
    enum fth_status status = fth_file_write("-", text, size, &error);
    fth_free(text);
    return status == FTH_OK ? CLI_DONE : cli_fail(&error);
}

static int run(const struct cli_arguments *arguments, struct fth_exploration *exploration,
               const struct fth_shard *shard, const char *path)
{
    uint64_t threads = 0;
    struct fth_explore_outcome outcome = {0};
    struct fth_error error = FTH_NO_ERROR;
    if (!cli_whole(arguments, &cli_option_threads, &threads))
        return CLI_USAGE;
    const struct fth_explore_options options = {.shard = shard->number,
                                                .shards = shard->count,
                                                .threads =
                                                    threads < 1024 ? (unsigned)threads : 1024,
                                                .output = path,
                                                .log = &cli_log};
    const enum fth_status status = fth_explore_run(exploration, &options, &outcome, &error);
    int result = status == FTH_OK ? CLI_DONE : cli_fail(&error);
    if (status == FTH_OK || outcome.computed)
        tell(exploration, shard, path, &outcome);
    if (status == FTH_INTERRUPTED && path)
        cli_message("the same command goes on from there");
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
    int result = check_words(arguments);
    if (result == CLI_DONE)
        result = cli_check_output(arguments); /* the format */
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
    &cli_option_gpu,
    &option_file,
    &option_preset,
    &option_l1_off,
    &option_shard,
    &cli_option_threads,
    &cli_option_json,
    &cli_option_format,
    &option_output,
    &cli_option_help,
    NULL,
};

static const struct cli_example examples[] = {
    {"fathom explore 2mm.trace --gpu h200 --vary l1.size_bytes=16K,32K,64K",
     "three sizes of the L1, as a table"},
    {"fathom explore *.trace --vary l1.policy=lru,fifo --vary l1.ways=2,4,8 -o all.jsonl",
     "every combination, kept as it comes"},
    {"srun fathom explore k.trace --vary l2.ways=4,8,16 -o part.%r",
     "on many machines, a part each"},
    {"fathom merge part.* -o all.jsonl", "... and joined"},
    {"fathom explore --preset rdgc -o rdgc.jsonl", "the studies of the RDGC paper"},
    {NULL, NULL},
};

const struct cli_command cli_explore = {
    "explore",
    "model kernels on caches of many sizes and kinds",
    "TRACE | LAUNCH.json ... [OPTION]...",
    "Runs 'fathom model' for every combination of the values that parameters take, on all\n"
    "cores (docs/explore.md). 'fathom model --parameters' lists the parameters. With -o each\n"
    "point is on disk once it is finished: the same command goes on after Ctrl-C, a crash or\n"
    "a full disk, and computes nothing twice. Under mpirun, srun or in a job array every\n"
    "process takes its share; 'fathom merge' joins their files, and shows them.",
    options,
    examples,
    CLI_WORD_FILE,
    CLI_MAX_ARGUMENTS,
    explore,
};
