/* Capsules on the command line: the options that select their launches, and 'fathom run' for them.
 */
#include "cli.h"

#include <string.h>

const struct cli_option cli_option_kernels = {
    "kernel", 0, "REGEX", CLI_WORD_NONE,
    "for capsules: only the kernels whose names match an extended regular expression"};
const struct cli_option cli_option_launches = {
    "launch", 0, "N..M", CLI_WORD_NONE,
    "for capsules: only the launches from number N to M, counted from 0 in the order of the "
    "program; N.. means up to the last, N only this one"};
const struct cli_option cli_option_max_memory = {
    "max-memory", 0, "SIZE", CLI_WORD_NONE,
    "for capsules: skip launches with more memory than SIZE, such as 8G (default: the memory of "
    "this machine)"};

const struct cli_option cli_option_parameters = {
    "parameters", 0, NULL, CLI_WORD_NONE,
    "for capsules: also print the parameters of each launch, by type; implied by --launch N"};

/* Prints the output of kernels, before the table, which is not written through the stream. */
static void print(void *stream, const char *text, size_t size)
{
    fwrite(text, 1, size, stream);
    fflush(stream);
}

/* Refuses options that do not apply to capsules. */
static bool check_options(const struct cli_arguments *arguments, const struct cli_option *verify)
{
    const struct cli_option *const known[] = {verify,
                                              &cli_option_kernels,
                                              &cli_option_launches,
                                              &cli_option_max_memory,
                                              &cli_option_json,
                                              &cli_option_format,
                                              &cli_option_output,
                                              &cli_option_max_instructions,
                                              &cli_option_quiet,
                                              &cli_option_parameters};
    for (size_t i = 0; i < arguments->option_count; i++) {
        size_t k = 0;
        while (k < sizeof known / sizeof known[0] && known[k] != arguments->options[i])
            k++;
        if (k < sizeof known / sizeof known[0])
            continue;
        cli_message("--%s does not apply to capsules; select launches with --kernel and --launch",
                    arguments->options[i]->name);
        return false;
    }
    return true;
}

/* Returns the exit code for the results: a launch that failed is worse than one that differs. */
static int exit_code(const struct fth_replay *replay)
{
    int code = CLI_DONE;
    const struct fth_replay_launch *launch;
    for (size_t i = 0; (launch = fth_replay_launch_at(replay, i)); i++)
        if (launch->outcome == FTH_REPLAY_FAILED)
            return CLI_FAILED;
        else if (launch->outcome == FTH_REPLAY_DIFFERS)
            code = CLI_DIFFERS;
    return code;
}

static int put_replay(const struct cli_arguments *arguments, const struct fth_replay *replay)
{
    const struct fth_report_options options = cli_report_options(arguments);
    struct fth_error error = FTH_NO_ERROR;
    char *text = NULL;
    size_t size = 0;
    if (fth_replay_launch_count(replay) == 0) {
        cli_message("no launch is selected, or the capsule has none");
        return CLI_USAGE;
    }
    if (fth_report_replay(cli_format(arguments), replay, &options, &text, &size, &error) != FTH_OK)
        return cli_fail(&error);
    const int result = cli_put_text(arguments, text, size);
    if (fth_replay_truncated(replay))
        cli_message("%s: %s", arguments->words[0], fth_replay_truncated(replay));
    return result == CLI_DONE ? exit_code(replay) : result;
}

int cli_run_capsule(const struct cli_arguments *arguments, const struct cli_option *verify)
{
    const bool is_text = strcmp(cli_format(arguments), "text") == 0;
    struct fth_replay_options options =
        FTH_REPLAY_OPTIONS(.kernels = cli_value(arguments, &cli_option_kernels),
                           .verifies = cli_value(arguments, verify) != NULL, .log = &cli_log,
                           .print = print, .print_user = is_text ? stdout : stderr);
    struct fth_replay *replay = NULL;
    struct fth_error error = FTH_NO_ERROR;
    if (!check_options(arguments, verify) ||
        !cli_parse_max_instructions(arguments, &options.max_instructions))
        return CLI_USAGE;
    int result = cli_check_output(arguments);
    if (result == CLI_DONE)
        result = cli_parse_range(arguments, &cli_option_launches, &options.first, &options.end);
    if (result == CLI_DONE)
        result = cli_parse_size(arguments, &cli_option_max_memory, &options.max_memory_bytes);
    if (result != CLI_DONE)
        return result;
    options.describes_parameters = cli_value(arguments, &cli_option_parameters) ||
                                   strcmp(cli_format(arguments), "json") == 0 ||
                                   options.end == options.first + 1;
    cli_catch_interrupts();
    if (fth_capsule_replay(arguments->words[0], &options, &replay, &error) != FTH_OK)
        return cli_fail(&error);
    result = put_replay(arguments, replay);
    fth_replay_destroy(replay);
    return result;
}
