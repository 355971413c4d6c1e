/* Prints the help of a command from its table (struct cli_command). */
#include "cli.h"

#include <string.h>

static const struct {
    int code;
    const char *meaning;
} codes[] = {
    {CLI_DONE, "success"},
    {CLI_FAILED, "failure: an error of the system or the device, or out of memory"},
    {CLI_USAGE, "wrong usage or invalid input"},
    {CLI_NO_DEVICE, "the device does not exist or cannot be used"},
    {CLI_INCONCLUSIVE, "inconclusive: the answer is not certain, or the input is incomplete"},
    {CLI_DIFFERS, "the comparison found differences, or a GPU of the fleet is suspect"},
    {CLI_UNHEALTHY, "a GPU of the fleet has failed"},
    {CLI_INTERRUPTED, "interrupted; only the results that were complete by then are shown"},
};

const char *cli_exit_meaning(size_t index, int *code)
{
    if (index >= sizeof codes / sizeof codes[0])
        return NULL;
    *code = codes[index].code;
    return codes[index].meaning;
}

/* The width of the help in characters. */
enum { WIDTH = 80 };

/* Prints a text that starts at column `indent`, wrapped at WIDTH columns. Continuation lines are
 * indented by `indent` spaces. */
static void print_wrapped(const char *text, size_t indent)
{
    size_t column = indent;
    while (*text) {
        size_t size = strcspn(text, " ");
        if (column > indent && column + 1 + size > WIDTH) {
            printf("\n%*s", (int)indent, "");
            column = indent;
        } else if (column > indent) {
            printf(" ");
            column++;
        }
        printf("%.*s", (int)size, text);
        column += size;
        text += size;
        text += strspn(text, " ");
    }
    printf("\n");
}

static void print_options(const struct cli_command *command)
{
    printf("\nOptions:\n");
    for (size_t i = 0; command->options[i]; i++) {
        const struct cli_option *option = command->options[i];
        char left[48];
        snprintf(left, sizeof left, "%s%c%s--%s%s%s", option->letter ? "-" : "  ",
                 option->letter ? option->letter : ' ', option->letter ? ", " : " ", option->name,
                 option->value ? " " : "", option->value ? option->value : "");
        /* The help of a long option begins in the next line. */
        if (strlen(left) > 22)
            printf("  %s\n%25s", left, "");
        else
            printf("  %-22s ", left);
        print_wrapped(option->help, 25);
    }
}

/* Prints the command of an example. A long one is continued on further lines, each of which begins
 * with an option. */
static void print_command(const char *command)
{
    size_t indent = 2;
    while (strlen(command) > WIDTH - indent) {
        size_t end = WIDTH - indent - strlen(" \\");
        while (end && strncmp(command + end, " -", 2) != 0)
            end--;
        if (!end)
            break;
        printf("%*s%.*s \\\n", (int)indent, "", (int)end, command);
        command += end + 1;
        indent = 6;
    }
    printf("%*s%s\n", (int)indent, "", command);
}

static void print_examples(const struct cli_example *example)
{
    enum { COMMAND = 36 }; /* width of a command that has its caption on the same line */
    printf("\nExamples:\n");
    for (; example->command; example++) {
        const bool is_short = strlen(example->command) <= COMMAND;
        if (is_short)
            printf("  %-*s ", COMMAND, example->command);
        else
            print_command(example->command);
        printf("%*s", is_short ? 0 : 6, "");
        print_wrapped(example->caption, is_short ? COMMAND + 3 : 6);
    }
}

static void print_commands(void)
{
    printf("\nCommands:\n");
    const struct cli_command *command;
    for (size_t i = 1; (command = cli_command_at(i)); i++)
        printf("  %-12s %s\n", command->name, command->summary);
}

static bool refers_to_documents(const char *text)
{
    return strstr(text, "docs/") || strstr(text, "examples/");
}

/* Says where the documents and examples are that the help refers to, if they are installed. */
static void print_documents(const struct cli_command *command)
{
    char folder[4096];
    bool refers = refers_to_documents(command->description);
    for (size_t i = 0; command->options[i]; i++)
        refers = refers || refers_to_documents(command->options[i]->help);
    for (const struct cli_example *example = command->examples; example->command; example++)
        refers = refers || refers_to_documents(example->command);
    if (refers && cli_find_documents(folder, sizeof folder))
        printf("\ndocs/ and examples/ are in %s.\n", folder);
}

void cli_print_help(const struct cli_command *command)
{
    const char *space = *command->name ? " " : "";
    printf("Usage: fathom%s%s%s", space, command->name, *command->usage ? " " : "");
    print_wrapped(command->usage, strlen("Usage: fathom") + strlen(space) + strlen(command->name) +
                                      (*command->usage ? 1 : 0));
    printf("\n%s\n", command->description);
    if (!*command->name)
        print_commands();
    print_options(command);
    print_examples(command->examples);
    print_documents(command);
    if (*command->name)
        return;
    int code;
    const char *meaning;
    printf("\nExit codes:\n");
    for (size_t i = 0; (meaning = cli_exit_meaning(i, &code)); i++)
        printf("  %-3d  %s\n", code, meaning);
}
