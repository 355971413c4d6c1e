/* fathom fleet add, history: the measurements of a fleet over time, in a file. Also what is missing
 * in a fleet (--expect-gpus, --expect-hosts), which the history knows. */
#include "fleet/fleet_cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- opening ---- */

static int open_history(const struct cli_arguments *arguments, bool change,
                        struct fth_fleet_history **history)
{
    const struct fth_store_options options =
        FTH_STORE_OPTIONS(.create = change, .read_only = !change);
    struct fth_error error = FTH_NO_ERROR;
    if (fth_fleet_history_open(cli_value(arguments, &cli_fleet_store), &options, history, &error) !=
        FTH_OK)
        return cli_fail(&error);
    return CLI_DONE;
}

int cli_fleet_judge_store(const struct cli_arguments *arguments,
                          const struct fth_fleet_judge_options *options,
                          struct fth_fleet_judgement *judgement)
{
    struct fth_fleet_history *history = NULL;
    struct fth_error error = FTH_NO_ERROR;
    if (!cli_value(arguments, &cli_fleet_store))
        return CLI_DONE;
    const char *path = cli_value(arguments, &cli_fleet_store);
    const struct fth_store_options read_only = FTH_STORE_OPTIONS(.read_only = true);
    enum fth_status status = fth_fleet_history_open(path, &read_only, &history, &error);
    if (status == FTH_NOT_FOUND) {
        /* On the first night of a nightly job, nothing was added yet. */
        cli_note("the history '%s' does not exist yet; GPUs are only compared with each other",
                 path);
        return CLI_DONE;
    }
    if (status == FTH_OK)
        status = fth_fleet_judge_history(judgement, history, options, &error);
    fth_fleet_history_close(history);
    return status == FTH_OK ? CLI_DONE : cli_fail(&error);
}

/* ---- what is missing ---- */

int cli_fleet_check_expected(const struct cli_arguments *arguments)
{
    const char *hosts = cli_value(arguments, &cli_fleet_expect_hosts);
    uint64_t gpus = 1;
    if (!cli_parse_whole_number(arguments, &cli_fleet_expect_gpus, &gpus))
        return CLI_USAGE;
    if (gpus < 1) {
        cli_message("--expect-gpus requires a whole number from 1 on");
        return CLI_USAGE;
    }
    if (hosts && access(hosts, R_OK) != 0) {
        cli_message("--expect-hosts '%s': %s", hosts, strerror(errno));
        return CLI_USAGE;
    }
    return CLI_DONE;
}

int cli_fleet_expect(const struct cli_arguments *arguments, struct fth_fleet_judgement *judgement,
                     bool *complete)
{
    struct fth_fleet_expect_options options =
        FTH_FLEET_EXPECT_OPTIONS(.hosts = cli_value(arguments, &cli_fleet_expect_hosts));
    const struct fth_store_options reading = FTH_STORE_OPTIONS(.read_only = true);
    const char *store = cli_value(arguments, &cli_fleet_store);
    struct fth_error error = FTH_NO_ERROR;
    uint64_t gpus = 0;
    *complete = true;
    if (!cli_parse_whole_number(arguments, &cli_fleet_expect_gpus, &gpus))
        return CLI_USAGE;
    options.gpus = (size_t)gpus;
    /* A node whose driver is not in the reference cannot be judged, but its GPUs are there. The
     * other nodes are not measured. */
    options.measured = strcmp(arguments->words[0], "check") == 0;
    if (!gpus && !options.hosts)
        return CLI_DONE;
    enum fth_status status =
        store ? fth_fleet_history_open(store, &reading, &options.history, &error) : FTH_OK;
    if (status == FTH_NOT_FOUND) {
        /* It does not exist yet. 'judge' has already said so (cli_fleet_judge_store). */
        if (options.measured)
            cli_note("the history '%s' does not exist yet; missing GPUs are not named", store);
        error = (struct fth_error)FTH_NO_ERROR;
        status = FTH_OK;
    }
    if (status == FTH_OK)
        status = fth_fleet_expect(judgement, &options, complete, &error);
    fth_fleet_history_close(options.history);
    if (status != FTH_OK)
        return cli_fail(&error);
    const struct fth_fleet_counts counts = fth_fleet_judgement_counts(judgement);
    const size_t found = counts.healthy + counts.suspect + counts.failed +
                         (options.measured ? counts.not_judged : 0);
    /* A text on the terminal says the same. */
    if (strcmp(cli_format(arguments), "text") == 0 && !cli_value(arguments, &cli_option_output))
        return CLI_DONE;
    if (found < options.gpus)
        cli_message("only %zu of %zu expected GPUs were %s", found, options.gpus,
                    options.measured ? "measured" : "judged");
    else if (!*complete)
        cli_message("hosts of '%s' are missing", options.hosts);
    return CLI_DONE;
}

/* ---- add ---- */

static int show_added(const struct cli_arguments *arguments,
                      const struct fth_fleet_history *history, size_t added, size_t known,
                      size_t removed)
{
    static const struct fth_column columns[] = {{"added", "Added", FTH_COLUMN_NUMBER},
                                                {"known", "Known", FTH_COLUMN_NUMBER},
                                                {"forgotten", "Forgotten", FTH_COLUMN_NUMBER},
                                                {"store", "History", FTH_COLUMN_TEXT}};
    const struct fth_cell cells[] = {{.number = (double)added},
                                     {.number = (double)known},
                                     {.number = (double)removed},
                                     {.text = fth_fleet_history_path(history)}};
    return cli_put_table(arguments, &(struct fth_table){columns, 4, cells, 1});
}

int cli_fleet_add(const struct cli_arguments *arguments)
{
    struct fth_fleet_history *history = NULL;
    struct fth_fleet *fleet = NULL;
    struct fth_error error = FTH_NO_ERROR;
    const char *forget = cli_value(arguments, &cli_fleet_forget_before);
    size_t added = 0, removed = 0, measurements = 0;
    int64_t before = 0;
    int result = forget ? CLI_DONE : cli_fleet_require_words(arguments, "PATH");
    if (result == CLI_DONE)
        result = cli_check_output(arguments);
    if (result == CLI_DONE && forget && !fth_date_parse(forget, &before)) {
        cli_message("--forget-before requires a date such as 2026-01-31, not '%s'", forget);
        return CLI_USAGE;
    }
    if (result == CLI_DONE)
        result = cli_fleet_read(arguments, 1, &fleet);
    if (result == CLI_DONE)
        result = open_history(arguments, true, &history);
    if (result == CLI_DONE && fth_fleet_history_add(history, fleet, &added, &error) != FTH_OK)
        result = cli_fail(&error);
    if (result == CLI_DONE && forget &&
        fth_fleet_history_forget(history, before, &removed, &error) != FTH_OK)
        result = cli_fail(&error);
    if (result == CLI_DONE) {
        fth_fleet_gpu_count(fleet, &measurements);
        result = show_added(arguments, history, added, measurements - added, removed);
    }
    fth_fleet_history_close(history);
    fth_fleet_destroy(fleet);
    return result;
}

/* ---- history ---- */

/* What the argument of the action names. */
struct named {
    const char *word;
    char gpu[512]; /* the name of the GPU; "": none */
    size_t gpus;   /* that begin with the word */
    bool is_host, is_gpu;
};

static void match_gpu(void *user, const struct fth_fleet_history_gpu *gpu)
{
    struct named *named = user;
    named->is_host = named->is_host || (gpu->host && strcmp(gpu->host, named->word) == 0);
    const bool same = strcmp(gpu->name, named->word) == 0;
    if (!same && (named->is_gpu || strncmp(gpu->name, named->word, strlen(named->word)) != 0))
        return;
    named->is_gpu = named->is_gpu || same;
    named->gpus++;
    if (strlen(gpu->name) < sizeof named->gpu)
        memcpy(named->gpu, gpu->name, strlen(gpu->name) + 1);
}

/* Finds out whether a word is a host, a GPU, or the beginning of the name of one GPU. */
static int find_named(struct fth_fleet_history *history, struct named *named,
                      struct fth_fleet_history_options *options)
{
    struct fth_error error = FTH_NO_ERROR;
    if (fth_fleet_history_list(history, match_gpu, named, &error) != FTH_OK)
        return cli_fail(&error);
    if (named->is_host && !named->is_gpu) {
        options->host = named->word;
    } else if (named->is_gpu || named->gpus == 1) {
        options->gpu = named->gpu;
    } else {
        cli_message(named->gpus ? "'%s' is the beginning of the names of several GPUs"
                                : "the history has no GPU and no host '%s'; 'fathom fleet history' "
                                  "lists them",
                    named->word);
        return CLI_USAGE;
    }
    return CLI_DONE;
}

/* Writes the report. */
static int show_history(const struct cli_arguments *arguments, struct fth_fleet_history *history)
{
    struct fth_report_options report = cli_report_options(arguments);
    struct fth_fleet_history_options options = FTH_FLEET_HISTORY_OPTIONS(.gpu = NULL);
    struct named named = {.word = arguments->word_count > 1 ? arguments->words[1] : NULL};
    struct fth_error error = FTH_NO_ERROR;
    char *text = NULL;
    size_t size = 0;
    int result = named.word ? find_named(history, &named, &options) : CLI_DONE;
    report.all = cli_value(arguments, &cli_fleet_all) != NULL;
    if (result == CLI_DONE && fth_report_fleet_history(cli_format(arguments), history, &options,
                                                       &report, &text, &size, &error) != FTH_OK)
        result = cli_fail(&error);
    return result == CLI_DONE ? cli_put_text(arguments, text, size) : result;
}

int cli_fleet_history(const struct cli_arguments *arguments)
{
    struct fth_fleet_history *history = NULL;
    if (arguments->word_count > 2) {
        cli_message("unexpected argument '%s'", arguments->words[2]);
        return CLI_USAGE;
    }
    int result = cli_check_output(arguments);
    if (result == CLI_DONE)
        result = open_history(arguments, false, &history);
    if (result == CLI_DONE)
        result = show_history(arguments, history);
    fth_fleet_history_close(history);
    return result;
}
