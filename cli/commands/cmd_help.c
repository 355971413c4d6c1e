/* fathom help: shows the help of fathom or of one command, or prints the man page. */
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
    {"fathom help gpus", "show the help of the command gpus"},
    {"fathom help --man | man -l -", "read the man page without installing it"},
    {NULL, NULL},
};

const struct cli_command cli_help = {
    "help",
    "Show the help of a command",
    "[COMMAND] [OPTION]...",
    "Show the help of COMMAND, or the list of commands.",
    options,
    examples,
    CLI_WORD_COMMAND,
    1,
    run,
};
