/* What the actions of 'fathom fleet' share: reading fleets and references, writing judgements. */
#include "fleet/fleet_cli.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int cli_fleet_require_words(const struct cli_arguments *arguments, const char *what)
{
    if (arguments->word_count > 1)
        return CLI_DONE;
    cli_message("'fathom fleet %s' requires an argument: %s", arguments->words[0], what);
    return CLI_USAGE;
}

/* Prints a warning for each file that gives no measurement, but not for too many. */
static void warn_problems(const struct fth_fleet *fleet)
{
    enum { MAX_WARNINGS = 10 }; /* Chosen. The output of judge has more. */
    const char *file, *reason;
    size_t count = 0;
    for (; (reason = fth_fleet_problem_at(fleet, count, &file)); count++)
        if (count < MAX_WARNINGS)
            cli_message("warning: %s: %s", file, reason);
    if (count > MAX_WARNINGS)
        cli_message("warning: %zu more files contain no measurement of a GPU",
                    count - MAX_WARNINGS);
}

/* Adds a path to a fleet. On failure it prints an error and returns the exit code. */
static int add_path(const struct cli_arguments *arguments, struct fth_fleet *fleet,
                    const char *path)
{
    struct fth_fleet_options options = FTH_FLEET_OPTIONS(.log = &cli_log);
    struct fth_error error = FTH_NO_ERROR;
    if (!cli_parse_threads(arguments, &options.threads))
        return CLI_USAGE;
    return fth_fleet_add_path(fleet, path, &options, &error) == FTH_OK ? CLI_DONE
                                                                       : cli_fail(&error);
}

int cli_fleet_read_paths(const struct cli_arguments *arguments, const char *const *paths,
                         size_t count, struct fth_fleet **fleet)
{
    const char *groups = cli_value(arguments, &cli_fleet_groups);
    struct fth_error error = FTH_NO_ERROR;
    int result = CLI_DONE;
    cli_catch_interrupts();
    if (fth_fleet_create(fleet, &error) != FTH_OK)
        return cli_fail(&error);
    for (size_t i = 0; i < count && result == CLI_DONE; i++)
        result = add_path(arguments, *fleet, paths[i]);
    if (result == CLI_DONE && groups && fth_fleet_read_groups(*fleet, groups, &error) != FTH_OK)
        result = cli_fail(&error);
    if (result == CLI_DONE)
        warn_problems(*fleet);
    return result;
}

int cli_fleet_read(const struct cli_arguments *arguments, size_t first, struct fth_fleet **fleet)
{
    return cli_fleet_read_paths(arguments, arguments->words + first, arguments->word_count - first,
                                fleet);
}

int cli_fleet_parse_percent(const struct cli_arguments *arguments, const struct cli_option *option,
                            double *fraction)
{
    const char *text = cli_value(arguments, option);
    char *end;
    if (!text)
        return CLI_DONE;
    const double percent = strtod(text, &end);
    if (*text && !*end && isfinite(percent) && percent > 0 && percent < 100) {
        *fraction = percent / 100;
        return CLI_DONE;
    }
    cli_message("--%s requires a percentage above 0 and below 100, such as 2, not '%s'",
                option->name, text);
    return CLI_USAGE;
}

/* Parses --mix: a list of "drivers" and "boards". */
static int parse_mix(const struct cli_arguments *arguments, struct fth_fleet_judge_options *options)
{
    const char *list = cli_value(arguments, &cli_fleet_mix);
    while (list && *list) {
        const size_t size = strcspn(list, ",");
        if (size == strlen("drivers") && strncmp(list, "drivers", size) == 0) {
            options->mix_drivers = true;
        } else if (size == strlen("boards") && strncmp(list, "boards", size) == 0) {
            options->mix_boards = true;
        } else {
            cli_message("--mix requires drivers, boards or drivers,boards, not '%s'", list);
            return CLI_USAGE;
        }
        list += size;
        list += *list == ',';
    }
    return CLI_DONE;
}

int cli_fleet_judge_options(const struct cli_arguments *arguments,
                            struct fth_fleet_judge_options *options,
                            struct fth_fleet_reference **reference)
{
    const char *path = cli_value(arguments, &cli_fleet_reference_file);
    struct fth_error error = FTH_NO_ERROR;
    *options = (struct fth_fleet_judge_options)FTH_FLEET_JUDGE_OPTIONS(.log = &cli_log);
    *reference = NULL;
    int result =
        cli_fleet_parse_percent(arguments, &cli_fleet_false_alarms, &options->false_alarms);
    if (result == CLI_DONE)
        result = cli_fleet_parse_percent(arguments, &cli_fleet_min_effect, &options->min_effect);
    if (result == CLI_DONE)
        result = parse_mix(arguments, options);
    if (result == CLI_DONE && path && fth_fleet_reference_read(path, reference, &error) != FTH_OK)
        result = cli_fail(&error);
    options->reference = *reference;
    return result;
}

/* Returns the exit code of a judgement. */
static int exit_code(const struct fth_fleet_judgement *judgement)
{
    const struct fth_fleet_counts counts = fth_fleet_judgement_counts(judgement);
    const size_t judged = counts.healthy + counts.suspect + counts.failed;
    if (counts.not_judged && judged)
        cli_message("warning: %zu of %zu GPUs could not be judged", counts.not_judged,
                    judged + counts.not_judged);
    else if (counts.not_judged)
        cli_message("no GPU could be judged");
    else if (!judged)
        cli_message("there are no measurements of GPUs");
    if (counts.failed)
        return CLI_UNHEALTHY;
    if (counts.suspect)
        return CLI_DIFFERS;
    return judged ? CLI_DONE : CLI_INCONCLUSIVE;
}

int cli_fleet_put(const struct cli_arguments *arguments,
                  const struct fth_fleet_judgement *judgement, bool all)
{
    struct fth_report_options report = cli_report_options(arguments);
    struct fth_error error = FTH_NO_ERROR;
    char *text = NULL;
    size_t size = 0;
    report.all = all;
    if (fth_report_judgement(cli_format(arguments), judgement, &report, &text, &size, &error) !=
        FTH_OK)
        return cli_fail(&error);
    const int result = cli_fleet_write(arguments, text, size);
    return result == CLI_DONE ? exit_code(judgement) : result;
}

int cli_fleet_conclude(const struct cli_arguments *arguments, struct fth_fleet_judgement *judgement,
                       bool all)
{
    bool complete = true;
    int result = cli_fleet_expect(arguments, judgement, &complete);
    if (result == CLI_DONE)
        result = cli_fleet_put(arguments, judgement, all);
    const bool verdict = result == CLI_DONE || result == CLI_DIFFERS || result == CLI_INCONCLUSIVE;
    return verdict && !complete ? CLI_UNHEALTHY : result;
}

int cli_fleet_write(const struct cli_arguments *arguments, char *text, size_t size)
{
    const char *output = cli_value(arguments, &cli_option_output);
    struct fth_error error = FTH_NO_ERROR;
    if (!output || !cli_has_extension(output, ".zst"))
        return cli_put_text(arguments, text, size);
    enum fth_status status = fth_file_write_compressed(output, text, size, &error);
    fth_free(text);
    return status == FTH_OK ? CLI_DONE : cli_fail(&error);
}
