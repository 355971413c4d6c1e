/* fathom fleet check: measures the GPUs of this machine, and judges them against a reference. */
#include "fleet/fleet_cli.h"

#include <limits.h>
#include <string.h>

/* How often a GPU is measured at most. Chosen: more than anyone needs. */
enum { MAX_RUNS = 1000 };

/* The state of a check. */
struct check {
    const struct cli_arguments *arguments;
    struct fth_fleet *fleet;
    uint64_t runs;
    size_t measured; /* measurements so far */
    bool started;    /* the options are right, and GPUs were looked for */
};

/* Inserts the number of the run before the extension of a file name, so that runs do not overwrite
 * each other: out/node1.json becomes out/node1-2.json. `path` has PATH_MAX bytes. */
static void number_path(char *path, uint64_t run)
{
    char number[24];
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const char *dot = strrchr(name, '.');
    const size_t size = strlen(path), at = dot && dot != name ? (size_t)(dot - path) : size;
    const int added = snprintf(number, sizeof number, "-%llu", (unsigned long long)run + 1);
    if (size + (size_t)added >= PATH_MAX)
        return; /* a name of this length cannot be written, and is refused below */
    memmove(path + at + added, path + at, size - at + 1);
    memcpy(path + at, number, (size_t)added);
}

/* Adds a measurement to the fleet and, if the user wants it, writes its description. */
static int keep(struct check *check, const char *id, const struct fth_gpu *gpu, uint64_t run)
{
    const char *pattern = cli_value(check->arguments, &cli_fleet_save);
    struct fth_error error = FTH_NO_ERROR;
    char name[128], path[PATH_MAX];
    char *text = NULL;
    size_t size = 0;
    snprintf(name, sizeof name, "%s, run %llu", id, (unsigned long long)run + 1);
    if (fth_fleet_add_gpu(check->fleet, gpu, name, &error) != FTH_OK)
        return cli_fail(&error);
    check->measured++;
    if (!pattern)
        return CLI_DONE;
    cli_name_output(pattern, id, gpu, path);
    if (check->runs > 1)
        number_path(path, run);
    if (fth_report_gpu("json", gpu, NULL, &text, &size, &error) != FTH_OK ||
        fth_file_write(path, text, size, &error) != FTH_OK) {
        fth_free(text);
        return cli_fail(&error);
    }
    fth_free(text);
    return CLI_DONE;
}

/* Measures a device as often as requested. */
static int measure(struct check *check, const char *id)
{
    const struct fth_discover_options options =
        FTH_DISCOVER_OPTIONS(.log = &cli_log,
                             .quick = cli_value(check->arguments, &cli_fleet_thorough) == NULL);
    struct fth_device *device = NULL;
    struct fth_error error = FTH_NO_ERROR;
    int result = cli_open_device_id(check->arguments, id, &device);
    check->started = check->started || result != CLI_USAGE;
    for (uint64_t run = 0; run < check->runs && result == CLI_DONE; run++) {
        struct fth_gpu *gpu = NULL;
        const enum fth_status status = fth_discover(device, &options, &gpu, &error);
        result = status == FTH_OK            ? keep(check, id, gpu, run)
                 : status == FTH_INTERRUPTED ? CLI_INTERRUPTED
                                             : cli_fail(&error);
        fth_gpu_destroy(gpu);
    }
    fth_device_close(device);
    if (result != CLI_DONE)
        cli_message("the measurement of %s is not complete", id);
    return result;
}

/* Measures the device of --device, or all GPUs of this machine. A GPU that cannot be measured does
 * not end the others; the result is the exit code of the first failure. */
static int measure_all(struct check *check)
{
    const char *id = cli_value(check->arguments, &cli_option_device);
    struct cli_gpu_list list;
    if (id && strcmp(id, "all") != 0)
        return measure(check, id);
    int result = cli_list_gpus(&list);
    check->started = result != CLI_DONE;
    const char *pattern = cli_value(check->arguments, &cli_fleet_save);
    if (list.count > 1 && pattern && !strstr(pattern, "%g")) {
        cli_message("--save requires a file name with %%g, such as '%%h-%%g.json', because this "
                    "machine has %zu GPUs",
                    list.count);
        return CLI_USAGE;
    }
    for (size_t i = 0; i < list.count && result != CLI_INTERRUPTED; i++) {
        const int code = measure(check, list.ids[i]);
        if (code == CLI_INTERRUPTED || result == CLI_DONE)
            result = code;
    }
    return result == CLI_DONE && *list.reason ? CLI_NO_DEVICE : result;
}

/* Checks and reads the options. */
static int read_options(struct check *check)
{
    const struct cli_arguments *arguments = check->arguments;
    if (arguments->word_count > 1) {
        cli_message("'fathom fleet check' has no arguments: it measures the GPUs of this machine");
        return CLI_USAGE;
    }
    if (!cli_value(arguments, &cli_fleet_reference_file)) {
        cli_message("'fathom fleet check' requires --reference FILE, which 'fathom fleet "
                    "reference' writes");
        return CLI_USAGE;
    }
    if (!cli_parse_whole_number(arguments, &cli_fleet_runs, &check->runs))
        return CLI_USAGE;
    if (check->runs < 1 || check->runs > MAX_RUNS) {
        cli_message("--runs requires a whole number from 1 to %d", MAX_RUNS);
        return CLI_USAGE;
    }
    if (cli_value(arguments, &cli_fleet_expect_hosts)) {
        cli_message("'fathom fleet check' measures one host; --expect-hosts is an option of "
                    "'fathom fleet judge'");
        return CLI_USAGE;
    }
    const int expected = cli_fleet_check_expected(arguments);
    return expected == CLI_DONE ? cli_check_output(arguments) : expected;
}

/* Judges what was measured. */
static int judge(struct check *check, const struct fth_fleet_judge_options *options)
{
    struct fth_fleet_judgement *judgement = NULL;
    struct fth_error error = FTH_NO_ERROR;
    /* A node has few GPUs: all of them are listed. Series of a monitoring system are many. */
    const bool all = strcmp(cli_format(check->arguments), "prometheus") != 0 ||
                     cli_value(check->arguments, &cli_fleet_all);
    const int result = fth_fleet_judge(check->fleet, options, &judgement, &error) == FTH_OK
                           ? cli_fleet_conclude(check->arguments, judgement, all)
                           : cli_fail(&error);
    fth_fleet_judgement_destroy(judgement);
    return result;
}

/* The result if nothing was measured. `result` is the exit code of the measurement. */
static int conclude_nothing(const struct check *check, int result)
{
    const char *expected = cli_value(check->arguments, &cli_fleet_expect_gpus);
    if (!expected || !check->started || result == CLI_INTERRUPTED)
        return result;
    cli_message("none of %s expected GPUs was measured", expected);
    return CLI_UNHEALTHY;
}

/* The verdict about the GPUs that were measured counts more than the failure of others, unless they
 * are healthy. */
int cli_fleet_check(const struct cli_arguments *arguments)
{
    struct check check = {.arguments = arguments, .runs = 1};
    struct fth_fleet_judge_options options;
    struct fth_fleet_reference *reference = NULL;
    struct fth_error error = FTH_NO_ERROR;
    int result = read_options(&check), judged = CLI_DONE;
    if (result == CLI_DONE)
        result = cli_fleet_judge_options(arguments, &options, &reference);
    if (result == CLI_DONE && fth_fleet_create(&check.fleet, &error) != FTH_OK)
        result = cli_fail(&error);
    if (result == CLI_DONE) {
        cli_catch_interrupts();
        result = measure_all(&check);
        if (!check.measured)
            result = conclude_nothing(&check, result);
        else if (result != CLI_INTERRUPTED)
            judged = judge(&check, &options);
    }
    fth_fleet_reference_destroy(reference);
    fth_fleet_destroy(check.fleet);
    return judged != CLI_DONE ? judged : result;
}
