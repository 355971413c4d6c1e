/* fathom fleet generate: makes a fleet with faults from measurements of real GPUs. */
#include "fleet/fleet_cli.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

const struct cli_option cli_fleet_measurements = {
    "measurements", 0, "N", CLI_WORD_NONE,
    "with generate: number of measurements of each GPU (default: 1)"};
const struct cli_option cli_fleet_racks = {
    "racks", 0, "N", CLI_WORD_NONE,
    "with generate: number of racks (default: one per 16 hosts of 8 GPUs)"};
const struct cli_option cli_fleet_spread = {
    "spread", 0, "FACTOR", CLI_WORD_NONE,
    "with generate: let cards differ by FACTOR times as much as those of --from, or by as much as "
    "'published' for large machines (default: 1)"};
const struct cli_option cli_fleet_tail = {
    "tail", 0, "N", CLI_WORD_NONE,
    "with generate: draw the differences of cards from Student's t distribution with N degrees of "
    "freedom, whose tails are heavier (default: the normal distribution)"};
const struct cli_option cli_fleet_truth = {"truth", 0, "FILE", CLI_WORD_FILE,
                                           "with generate: write the faulty GPUs to FILE, as CSV"};

/* Parses the value of an option as a whole number of at most `high`. */
static bool parse_count(const struct cli_arguments *arguments, const struct cli_option *option,
                        uint64_t low, uint64_t high, uint64_t *number)
{
    if (!cli_parse_whole_number(arguments, option, number))
        return false;
    if (!cli_value(arguments, option) || (*number >= low && *number <= high))
        return true;
    cli_message("--%s requires a whole number from %llu to %llu, not '%s'", option->name,
                (unsigned long long)low, (unsigned long long)high, cli_value(arguments, option));
    return false;
}

static bool parse_spread(const struct cli_arguments *arguments,
                         struct fth_fleet_generate_options *options)
{
    const char *text = cli_value(arguments, &cli_fleet_spread);
    char *end;
    if (!text)
        return true;
    options->published_spread = strcmp(text, "published") == 0;
    if (options->published_spread)
        return true;
    options->spread = strtod(text, &end);
    if (*text && *end == '\0' && options->spread > 0 && options->spread <= 1000)
        return true;
    cli_message("--spread requires a factor, such as 3, or 'published', not '%s'", text);
    return false;
}

static int read_options(const struct cli_arguments *arguments, const char **faults,
                        struct fth_fleet_generate_options *options)
{
    uint64_t gpus = 0, measurements = 0, racks = 0, tail = 0;
    options->seed = 1;
    if (arguments->word_count > 1) {
        cli_message("unexpected argument '%s'; the measurements of real GPUs are given with --from",
                    arguments->words[1]);
        return CLI_USAGE;
    }
    if (!cli_value(arguments, &cli_fleet_from) || !cli_value(arguments, &cli_fleet_gpus)) {
        cli_message("'fathom fleet generate' requires --%s",
                    cli_value(arguments, &cli_fleet_from) ? "gpus N" : "from PATH");
        return CLI_USAGE;
    }
    if (!parse_count(arguments, &cli_fleet_gpus, 1, 1000000, &gpus) ||
        !parse_count(arguments, &cli_fleet_measurements, 1, 10000, &measurements) ||
        !parse_count(arguments, &cli_fleet_racks, 1, 1000000, &racks) ||
        !parse_count(arguments, &cli_fleet_tail, 1, 1000, &tail) ||
        !parse_count(arguments, &cli_fleet_seed, 0, UINT64_MAX, &options->seed) ||
        !parse_spread(arguments, options))
        return CLI_USAGE;
    options->gpus = (size_t)gpus;
    options->measurements = (unsigned)measurements;
    options->racks = (unsigned)racks;
    options->tail = (unsigned)tail;
    options->faults = faults;
    for (size_t i = 0; i < arguments->option_count; i++)
        if (arguments->options[i] == &cli_fleet_fault)
            faults[options->fault_count++] = arguments->values[i];
    return cli_check_output(arguments);
}

/* Writes the measurements and the list of faulty GPUs. */
static int put(const struct cli_arguments *arguments, const struct fth_fleet *fleet,
               const char *truth)
{
    const char *path = cli_value(arguments, &cli_fleet_truth);
    struct fth_error error = FTH_NO_ERROR;
    char *text = NULL;
    size_t size = 0;
    if (path && fth_file_write(path, truth, strlen(truth), &error) != FTH_OK)
        return cli_fail(&error);
    if (fth_fleet_records(fleet, &text, &size, &error) != FTH_OK)
        return cli_fail(&error);
    return cli_fleet_write(arguments, text, size);
}

int cli_fleet_generate(const struct cli_arguments *arguments)
{
    struct fth_fleet_generate_options options = FTH_FLEET_GENERATE_OPTIONS(.log = &cli_log);
    const char *faults[CLI_MAX_OPTIONS];
    struct fth_fleet *from = NULL, *fleet = NULL;
    struct fth_error error = FTH_NO_ERROR;
    char *truth = NULL;
    int result = read_options(arguments, faults, &options);
    if (result != CLI_DONE)
        return result;
    cli_catch_interrupts();
    if (fth_fleet_create(&from, &error) != FTH_OK ||
        fth_fleet_add_path(from, cli_value(arguments, &cli_fleet_from), NULL, &error) != FTH_OK ||
        fth_fleet_generate(from, &options, &fleet, &truth, &error) != FTH_OK)
        result = cli_fail(&error);
    else
        result = put(arguments, fleet, truth);
    fth_free(truth);
    fth_fleet_destroy(fleet);
    fth_fleet_destroy(from);
    return result;
}
