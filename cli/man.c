/* The man page, from the same tables as the help, with what a table cannot say around it. */
#include "cli.h"

#include <string.h>

/* Text as roff takes it: no line begins a request, dashes stay dashes. */
static void put(const char *text)
{
    bool line_start = true;
    for (const char *at = text; *at; at++) {
        if (line_start && (*at == '.' || *at == '\''))
            fputs("\\&", stdout);
        line_start = *at == '\n';
        if (*at == '\\')
            fputs("\\e", stdout);
        else if (*at == '-')
            fputs("\\-", stdout);
        else
            fputc(*at, stdout);
    }
}

static void section(const char *title)
{
    printf(".SH %s\n", title);
}

static void put_option(const struct cli_option *option)
{
    printf(".TP\n\\fB");
    if (option->letter)
        printf("\\-%c\\fR, \\fB", option->letter);
    put("--");
    put(option->name);
    printf("\\fR");
    if (option->value)
        printf(" \\fI%s\\fR", option->value);
    printf("\n");
    put(option->help);
    printf("\n");
}

static void put_command(const struct cli_command *command)
{
    printf(".SS fathom%s%s", *command->name ? " " : "", command->name);
    printf(" ");
    put(command->usage);
    printf("\n");
    put(command->description);
    printf("\n");
    for (size_t i = 0; command->options[i]; i++)
        put_option(command->options[i]);
}

void cli_print_man(void)
{
    printf(".\\\" Made by 'fathom help --man'; the text stands in cli/.\n");
    printf(".TH FATHOM 1 \"\" \"fathom %s\" \"User Commands\"\n", fth_version());
    section("NAME");
    put("fathom - the memory topology of GPUs, measured and described");
    printf("\n");
    section("SYNOPSIS");
    const struct cli_command *command;
    for (size_t i = 0; (command = cli_command_at(i)); i++) {
        printf(".B fathom%s%s\n", *command->name ? " " : "", command->name);
        put(command->usage);
        printf("\n.br\n");
    }
    section("DESCRIPTION");
    put("fathom measures a GPU's memory (see fathom topo below for what it finds so far), keeps "
        "what is\n"
        "known of it in one document, the GPU description, and shows it. Where there is no GPU it\n"
        "measures a simulated one, made from such a document.\n"
        "Results go to standard output, everything else to standard error.\n");
    section("COMMANDS");
    for (size_t i = 0; (command = cli_command_at(i)); i++)
        put_command(command);
    section("EXIT STATUS");
    int code;
    const char *meaning;
    for (size_t i = 0; (meaning = cli_exit_meaning(i, &code)); i++)
        printf(".TP\n%d\n%s\n", code, meaning);
    section("FILES");
    printf(".TP\n.I PREFIX/share/fathom/gpus/NAME.json\n");
    put("GPU descriptions, found beside the program (PREFIX/bin/fathom) and where it was "
        "installed.\n"
        "They go before those built into the program, so that a site can add its own.\n");
    printf(".TP\n.I $XDG_DATA_HOME/fathom/fingerprints.db\n");
    put("The fingerprints of GPUs, where --store names no other file; without XDG_DATA_HOME it is\n"
        "below ~/.local/share.\n");
    section("ENVIRONMENT");
    printf(".TP\nNO_COLOR\nWhere it is set and not empty, no colour is used.\n");
    printf(".TP\nLD_LIBRARY_PATH\n");
    put("Where else the CUDA driver, libcuda.so.1, is looked for.\n");
    printf(".TP\nCUDA_VISIBLE_DEVICES\n");
    put("Which GPUs the CUDA driver has, and how it counts them.\n");
    printf(".TP\nLC_ALL, LC_CTYPE, LANG\n");
    put("Where the character set is not UTF-8, drawings are made of ASCII.\n");
    section("EXAMPLES");
    for (size_t i = 0; (command = cli_command_at(i)); i++)
        for (const struct cli_example *e = command->examples; e->command; e++) {
            printf(".TP\n.B ");
            put(e->command);
            printf("\n");
            put(e->what);
            printf("\n");
        }
}
