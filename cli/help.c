/* Help for the terminal, from the tables of the commands. */
#include "cli.h"

#include <string.h>

static void print_options(const struct cli_command *command)
{
    printf("\nOptions:\n");
    for (size_t i = 0; command->options[i]; i++) {
        const struct cli_option *option = command->options[i];
        char left[48];
        snprintf(left, sizeof left, "%s%c%s--%s%s%s", option->letter ? "-" : "  ",
                 option->letter ? option->letter : ' ', option->letter ? ", " : " ", option->name,
                 option->value ? " " : "", option->value ? option->value : "");
        printf("  %-22s %s\n", left, option->help);
    }
}

static void print_commands(void)
{
    printf("\nCommands:\n");
    const struct cli_command *command;
    for (size_t i = 1; (command = cli_command_at(i)); i++)
        printf("  %-12s %s\n", command->name, command->summary);
}

void cli_print_help(const struct cli_command *command)
{
    const char *space = *command->name ? " " : "";
    printf("Usage: fathom%s%s%s%s\n\n%s\n", space, command->name, *command->usage ? " " : "",
           command->usage, command->description);
    if (!*command->name)
        print_commands();
    print_options(command);
    printf("\nExamples:\n");
    for (const struct cli_example *example = command->examples; example->command; example++)
        if (strlen(example->command) <= 36)
            printf("  %-36s %s\n", example->command, example->what);
        else
            printf("  %s\n      %s\n", example->command, example->what);
}
