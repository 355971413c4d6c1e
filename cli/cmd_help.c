/* fathom help: the help of fathom or of one command, or the man page. */
#include "cli.h"

static int run(const struct cli_arguments *arguments)
{
    const struct cli_command *command = cli_command_at(0);
    if (arguments->word_count) {
        command = cli_command_find(arguments->words[0]);
        if (!command)
            return CLI_USAGE;
    }
    if (cli_value(arguments, &cli_option_man))
        cli_print_man();
    else
        cli_print_help(command);
    return cli_finish_stdout();
}

static const struct cli_option *const options[] = {&cli_option_man, &cli_option_help, NULL};

static const struct cli_example examples[] = {
    {"fathom help gpus", "what the command gpus can do"},
    {"fathom help --man | man -l -", "the man page, where it is not installed"},
    {NULL, NULL},
};

const struct cli_command cli_help = {
    "help",
    "the help of a command",
    "[COMMAND] [OPTION]...",
    "Shows what fathom, or one of its commands, can do.",
    options,
    examples,
    CLI_WORD_COMMAND,
    1,
    run,
};
