/* The entry point: finds the command, parses its arguments and runs it. */
#include "cli.h"

#include <locale.h>
#include <string.h>

static const struct cli_command *const commands[] = {
    &cli_bare,    &cli_topo,    &cli_dissect,    &cli_bench,  &cli_gpus,
    &cli_devices, &cli_compare, &cli_fleet,      &cli_report, &cli_fingerprint,
    &cli_exec,    &cli_capture, &cli_run,        &cli_trace,  &cli_model,
    &cli_explore, &cli_merge,   &cli_completion, &cli_help,
};
enum { COMMANDS = sizeof commands / sizeof commands[0] };

const struct cli_command *cli_command_at(size_t index)
{
    return index < COMMANDS ? commands[index] : NULL;
}

const struct cli_command *cli_command_find(const char *name)
{
    const char *names[COMMANDS];
    size_t count = 0;
    for (size_t i = 1; i < COMMANDS; i++) {
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
        names[count++] = commands[i]->name;
    }
    const char *nearest = fth_suggest(name, names, count);
    if (nearest)
        cli_message("unknown command '%s'; did you mean '%s'?", name, nearest);
    else
        cli_message("unknown command '%s'; 'fathom help' lists all commands", name);
    return NULL;
}

int cli_run_action(const struct cli_arguments *arguments, const struct cli_action *actions,
                   size_t count, const char *forms)
{
    enum { MAX_ACTIONS = 16 };
    const char *names[MAX_ACTIONS], *word = arguments->words[0];
    char list[256] = "";
    if (arguments->word_count == 0) {
        cli_message("no action given: %s; see 'fathom %s --help'", forms, arguments->command->name);
        return CLI_USAGE;
    }
    for (size_t i = 0; i < count && i < MAX_ACTIONS; i++) {
        const size_t used = strlen(list);
        names[i] = actions[i].name;
        if (strcmp(names[i], word) == 0)
            return actions[i].run(arguments);
        snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", names[i]);
    }
    const char *nearest = fth_suggest(word, names, count < MAX_ACTIONS ? count : MAX_ACTIONS);
    if (nearest)
        cli_message("unknown action '%s'; did you mean '%s'?", word, nearest);
    else
        cli_message("unknown action '%s'; the actions are %s", word, list);
    return CLI_USAGE;
}

int main(int count, char *words[])
{
    /* Only LC_CTYPE, to detect whether the terminal displays UTF-8. The format of numbers must not
     * depend on the locale. */
    setlocale(LC_CTYPE, "");
    const struct cli_command *command = &cli_bare;
    int first = 1;
    if (count > 1 && words[1][0] != '-') {
        command = cli_command_find(words[1]);
        first = 2;
    }
    if (!command)
        return CLI_USAGE;
    struct cli_arguments arguments;
    int status = cli_parse(command, count - first, words + first, &arguments);
    if (status != CLI_DONE)
        return status;
    if (cli_value(&arguments, &cli_option_help)) {
        cli_print_help(command);
        return cli_finish_stdout();
    }
    if (cli_value(&arguments, &cli_option_quiet))
        cli_be_quiet();
    return command->run(&arguments);
}
