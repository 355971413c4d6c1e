/* fathom completion: generates completion scripts for bash, zsh and fish from the command tables.
 * The scripts run fathom to get the GPU names, so they also offer descriptions added by a site. */
#include "cli.h"

#include <string.h>

static const char *const shells[] = {"bash", "zsh", "fish"};
enum { SHELLS = sizeof shells / sizeof shells[0] };

/* A shell command that prints the GPU names, one per line. It contains no '$' and no '"', which are
 * special inside the double quotes of fish. */
#define GPU_NAMES "fathom gpus --format csv 2>/dev/null | sed '1d;s/,.*//'"

static void put_formats(enum fth_report_subject subject)
{
    const char *name;
    for (size_t i = 0; (name = fth_report_format(i, NULL)); i++)
        if (fth_report_check(name, subject, NULL) == FTH_OK)
            printf("%s%s", i ? " " : "", name);
}

static void put_fleet_formats(void)
{
    const char *name;
    for (size_t i = 0; (name = fth_report_judgement_format(i)); i++)
        printf("%s%s", i ? " " : "", name);
}

static void put_commands(void)
{
    for (size_t i = 1; cli_command_at(i); i++)
        printf("%s%s", i > 1 ? " " : "", cli_command_at(i)->name);
}

static void put_benches(void)
{
    const char *name;
    printf("all");
    for (size_t i = 0; (name = fth_bench_name(i, NULL)); i++)
        printf(" %s", name);
}

static void put_elements(void)
{
    const char *name;
    for (size_t i = 0; (name = fth_element_name(i)); i++)
        printf("%s%s", i ? " " : "", name);
}

/* Prints the actions of a command. */
static void put_actions(const char *(*action)(size_t index))
{
    const char *name;
    for (size_t i = 0; (name = action(i)); i++)
        printf("%s%s", i ? " " : "", name);
}

static void put_shells(void)
{
    for (size_t i = 0; i < SHELLS; i++)
        printf("%s%s", i ? " " : "", shells[i]);
}

/* Prints the bash statement that offers completions of a kind for the word "$cur". */
static void bash_offer(enum cli_word_kind word_kind)
{
    if (word_kind == CLI_WORD_DEVICE) {
        printf("_fathom_device");
        return;
    }
    if (word_kind == CLI_WORD_ELEMENTS) {
        printf("_fathom_list '"), put_elements(), printf("'");
        return;
    }
    printf("COMPREPLY=($(compgen ");
    switch (word_kind) {
    case CLI_WORD_GPU: printf("-f -W \"$(" GPU_NAMES ")\""); break;
    case CLI_WORD_FILE: printf("-f"); break;
    case CLI_WORD_FORMAT: printf("-W '"), put_formats(FTH_REPORT_TABLE), printf("'"); break;
    case CLI_WORD_GPU_FORMAT: printf("-W '"), put_formats(FTH_REPORT_GPU), printf("'"); break;
    case CLI_WORD_FLEET_FORMAT: printf("-W '"), put_fleet_formats(), printf("'"); break;
    case CLI_WORD_COMMAND: printf("-W '"), put_commands(), printf("'"); break;
    case CLI_WORD_BENCH: printf("-W '"), put_benches(), printf("'"); break;
    case CLI_WORD_FINGERPRINT:
        printf("-f -W '"), put_actions(cli_fingerprint_action), printf("'");
        break;
    case CLI_WORD_FLEET: printf("-f -W '"), put_actions(cli_fleet_action), printf("'"); break;
    case CLI_WORD_SHELL: printf("-W '"), put_shells(), printf("'"); break;
    default: printf("-W ''"); break;
    }
    printf(" -- \"$cur\"))");
}

/* Returns whether the values of two options are completed by the same case of the bash script. */
static bool same_completion(const struct cli_option *a, const struct cli_option *b)
{
    return strcmp(a->name, b->name) == 0 && a->letter == b->letter && a->word_kind == b->word_kind;
}

/* Returns the options of all commands whose values the shell can complete, without those that are
 * completed in the same way, by index; NULL past the last one. */
static const struct cli_option *valued_option(size_t index)
{
    const struct cli_option *found[CLI_MAX_OPTIONS];
    size_t count = 0;
    const struct cli_command *command;
    for (size_t i = 0; (command = cli_command_at(i)); i++)
        for (size_t j = 0; command->options[j]; j++) {
            const struct cli_option *option = command->options[j];
            bool known = !option->value || option->word_kind == CLI_WORD_NONE;
            for (size_t k = 0; k < count && !known; k++)
                known = same_completion(found[k], option);
            if (!known && count < CLI_MAX_OPTIONS)
                found[count++] = option;
        }
    return index < count ? found[index] : NULL;
}

static bool has_option(const struct cli_command *command, const struct cli_option *option)
{
    for (size_t i = 0; command->options[i]; i++)
        if (same_completion(command->options[i], option))
            return true;
    return false;
}

/* Returns whether all options with the name or the letter of `option`, of whatever command, are
 * completed in the same way. */
static bool is_unambiguous(const struct cli_option *option)
{
    const struct cli_command *command;
    for (size_t i = 0; (command = cli_command_at(i)); i++)
        for (size_t j = 0; command->options[j]; j++) {
            const struct cli_option *other = command->options[j];
            const bool same = strcmp(other->name, option->name) == 0 ||
                              (option->letter && other->letter == option->letter);
            if (same && other->word_kind != option->word_kind)
                return false;
        }
    return true;
}

/* Prints the case of the bash script for the value of an option. The cases match COMMAND:OPTION,
 * where COMMAND is empty before the first command. */
static void bash_option_case(const struct cli_option *option)
{
    const struct cli_command *command;
    const bool any = is_unambiguous(option);
    bool first = true;
    for (size_t i = 0; (command = cli_command_at(i)) && (first || !any); i++) {
        if (!any && !has_option(command, option))
            continue;
        const char *name = any ? "*" : command->name;
        printf("%s%s:--%s", first ? "    " : " | ", name, option->name);
        if (option->letter)
            printf(" | %s:-%c", name, option->letter);
        first = false;
    }
    printf(") ");
    bash_offer(option->word_kind);
    printf("; return ;;\n");
}

static void bash_option_words(const struct cli_command *command)
{
    for (size_t i = 0; command->options[i]; i++) {
        const struct cli_option *option = command->options[i];
        printf("%s--%s", i ? " " : "", option->name);
        if (option->letter)
            printf(" -%c", option->letter);
    }
}

/* Functions that complete devices and lists, and the beginning of the main function. */
static void bash_functions(void)
{
    printf(
        "# bash completion for fathom; generated by 'fathom completion bash'.\n"
        "# Completes device names. If bash splits words at colons, only the part after the colon\n"
        "# is offered.\n"
        "_fathom_device()\n{\n"
        "    local names before=\n"
        "    [[ $COMP_WORDBREAKS == *:* ]] || before=${cur%%%%:*}:\n"
        "    case $cur in\n"
        "    replay:*) COMPREPLY=($(compgen -P \"$before\" -f -- \"${cur#replay:}\")) ;;\n"
        "    sim:*)\n"
        "        names=$(" GPU_NAMES ")\n"
        "        COMPREPLY=($(compgen -P \"$before\" -f -W \"$names\" -- \"${cur#sim:}\")) ;;\n"
        "    cuda:*|opencl:*) COMPREPLY=($(compgen -P \"$before\" -W 0 -- \"${cur#*:}\")) ;;\n"
        "    *)\n"
        "        COMPREPLY=($(compgen -W 'cuda: opencl: sim: replay:' -- \"$cur\"))\n"
        "        compopt -o nospace 2>/dev/null ;;\n"
        "    esac\n}\n\n"
        "# Completes the last item of a comma-separated list.\n"
        "_fathom_list()\n{\n"
        "    COMPREPLY=($(compgen -P \"${cur%%\"${cur##*,}\"}\" -W \"$1\" -- \"${cur##*,}\"))\n"
        "}\n\n"
        "_fathom()\n{\n"
        "    local cur=${COMP_WORDS[COMP_CWORD]} at=$((COMP_CWORD - 1)) prev command=\n"
        "    # Join words that bash has split at a colon or an equals sign.\n"
        "    while [ \"$at\" -gt 1 ] && [[ $cur == :* || ${COMP_WORDS[at]} == : ]]; do\n"
        "        cur=${COMP_WORDS[at]}$cur at=$((at - 1))\n"
        "    done\n"
        "    [ \"$cur\" = = ] && cur=\n"
        "    [ \"${COMP_WORDS[at]}\" = = ] && at=$((at - 1))\n"
        "    prev=${COMP_WORDS[at]}\n"
        "    [ \"$COMP_CWORD\" -gt 1 ] && command=${COMP_WORDS[1]}\n"
        "    [[ $command == -* ]] && command=\n"
        "    case $command:$prev in\n");
}

static void put_bash(void)
{
    bash_functions();
    const struct cli_option *option;
    for (size_t i = 0; (option = valued_option(i)); i++)
        bash_option_case(option);
    printf("    esac\n    case $command in\n");
    const struct cli_command *command;
    for (size_t i = 1; (command = cli_command_at(i)); i++) {
        printf("    %s)\n        case $cur in\n        -*) COMPREPLY=($(compgen -W '",
               command->name);
        bash_option_words(command);
        printf("' -- \"$cur\")) ;;\n        *) ");
        bash_offer(command->word_kind);
        printf(" ;;\n        esac ;;\n");
    }
    printf("    *) COMPREPLY=($(compgen -W '");
    put_commands();
    printf(" ");
    bash_option_words(cli_command_at(0));
    printf("' -- \"$cur\")) ;;\n    esac\n}\ncomplete -F _fathom fathom\n");
}

/* Prints text for use inside single quotes in zsh. Escapes the characters that are special to
 * _arguments. */
static void put_quoted(const char *text)
{
    for (; *text; text++)
        if (*text == '\'')
            fputs("'\\''", stdout);
        else if (strchr("[]:", *text))
            printf("\\%c", *text);
        else
            fputc(*text, stdout);
}

static void zsh_action(enum cli_word_kind word_kind)
{
    switch (word_kind) {
    case CLI_WORD_GPU: printf("GPU:_fathom_gpus"); break;
    case CLI_WORD_DEVICE: printf("device:_fathom_devices"); break;
    case CLI_WORD_ELEMENTS: printf("elements:_fathom_elements"); break;
    case CLI_WORD_FILE: printf("file:_files"); break;
    case CLI_WORD_FORMAT: printf("format:("), put_formats(FTH_REPORT_TABLE), printf(")"); break;
    case CLI_WORD_GPU_FORMAT: printf("format:("), put_formats(FTH_REPORT_GPU), printf(")"); break;
    case CLI_WORD_FLEET_FORMAT: printf("format:("), put_fleet_formats(), printf(")"); break;
    case CLI_WORD_COMMAND: printf("command:("), put_commands(), printf(")"); break;
    case CLI_WORD_BENCH: printf("bench:("), put_benches(), printf(")"); break;
    case CLI_WORD_FINGERPRINT:
        printf("action:("), put_actions(cli_fingerprint_action), printf(")");
        break;
    case CLI_WORD_FLEET: printf("action:("), put_actions(cli_fleet_action), printf(")"); break;
    case CLI_WORD_SHELL: printf("shell:("), put_shells(), printf(")"); break;
    case CLI_WORD_NONE: printf(" :"); break;
    }
}

static void zsh_options(const struct cli_command *command)
{
    for (size_t i = 0; command->options[i]; i++) {
        const struct cli_option *option = command->options[i];
        printf(" \\\n            ");
        if (option->letter)
            printf("'(-%c --%s)'{-%c,--%s}'[", option->letter, option->name, option->letter,
                   option->name);
        else
            printf("'--%s[", option->name);
        put_quoted(option->help);
        printf("]");
        if (option->value) {
            printf(":");
            zsh_action(option->word_kind);
        }
        printf("'");
    }
}

static void put_zsh(void)
{
    printf("#compdef fathom\n# zsh completion for fathom; generated by 'fathom completion zsh'.\n"
           "_fathom_gpus()\n{\n    local -a names\n"
           "    names=(${(f)\"$(" GPU_NAMES ")\"})\n"
           "    _alternative \"gpus:GPU:compadd -a names\" 'files:file:_files'\n}\n\n"
           "_fathom_devices()\n{\n"
           "    if compset -P 'replay:'; then\n        _files\n"
           "    elif compset -P 'sim:'; then\n        _fathom_gpus\n"
           "    else\n        compadd cuda:0 opencl:0\n        compadd -S '' sim: replay:\n    "
           "fi\n}\n\n"
           "_fathom_elements()\n{\n    _values -s , element ");
    put_elements();
    printf("\n}\n\n_fathom()\n{\n    local -a commands\n    commands=(\n");
    const struct cli_command *command;
    for (size_t i = 1; (command = cli_command_at(i)); i++) {
        printf("        '%s:", command->name);
        put_quoted(command->summary);
        printf("'\n");
    }
    printf("    )\n    if (( CURRENT == 2 )); then\n"
           "        _describe command commands\n        _arguments");
    zsh_options(cli_command_at(0));
    printf("\n        return\n    fi\n    case $words[2] in\n");
    for (size_t i = 1; (command = cli_command_at(i)); i++) {
        printf("    %s)\n        shift words; (( CURRENT-- ))\n        _arguments", command->name);
        zsh_options(command);
        if (command->word_kind != CLI_WORD_NONE) {
            printf(" \\\n            '1:");
            zsh_action(command->word_kind);
            printf("'");
        }
        printf(" ;;\n");
    }
    printf("    esac\n}\n_fathom \"$@\"\n");
}

static void fish_words(enum cli_word_kind word_kind)
{
    switch (word_kind) {
    case CLI_WORD_GPU: printf(" -F -a \"(" GPU_NAMES ")\""); break;
    case CLI_WORD_DEVICE:
        printf(" -F -a \"cuda:0 opencl:0 replay: (" GPU_NAMES " | sed 's/^/sim:/')\"");
        break;
    case CLI_WORD_ELEMENTS:
        printf(" -f -a \"(__fish_append , "), put_elements(), printf(")\"");
        break;
    case CLI_WORD_FILE: printf(" -F"); break;
    case CLI_WORD_FORMAT: printf(" -f -a '"), put_formats(FTH_REPORT_TABLE), printf("'"); break;
    case CLI_WORD_GPU_FORMAT: printf(" -f -a '"), put_formats(FTH_REPORT_GPU), printf("'"); break;
    case CLI_WORD_FLEET_FORMAT: printf(" -f -a '"), put_fleet_formats(), printf("'"); break;
    case CLI_WORD_COMMAND: printf(" -f -a '"), put_commands(), printf("'"); break;
    case CLI_WORD_BENCH: printf(" -f -a '"), put_benches(), printf("'"); break;
    case CLI_WORD_FINGERPRINT:
        printf(" -F -a '"), put_actions(cli_fingerprint_action), printf("'");
        break;
    case CLI_WORD_FLEET: printf(" -F -a '"), put_actions(cli_fleet_action), printf("'"); break;
    case CLI_WORD_SHELL: printf(" -f -a '"), put_shells(), printf("'"); break;
    case CLI_WORD_NONE: printf(" -f"); break;
    }
}

/* Prints text inside double quotes for fish. */
static void fish_quote(const char *text)
{
    putchar('"');
    for (; *text; text++) {
        if (strchr("\"$\\", *text))
            putchar('\\');
        putchar(*text);
    }
    putchar('"');
}

static void fish_condition(const struct cli_command *command)
{
    if (*command->name)
        printf("complete -c fathom -n '__fish_seen_subcommand_from %s'", command->name);
    else
        printf("complete -c fathom -n '__fish_use_subcommand'");
}

static void put_fish(void)
{
    printf("# fish completion for fathom; generated by 'fathom completion fish'.\n"
           "complete -c fathom -f\n");
    const struct cli_command *command;
    for (size_t i = 0; (command = cli_command_at(i)); i++) {
        if (*command->name) {
            printf("complete -c fathom -n '__fish_use_subcommand' -a %s -d ", command->name);
            fish_quote(command->summary);
            printf("\n");
            if (command->word_kind != CLI_WORD_NONE) {
                fish_condition(command);
                fish_words(command->word_kind);
                printf("\n");
            }
        }
        for (size_t j = 0; command->options[j]; j++) {
            const struct cli_option *option = command->options[j];
            fish_condition(command);
            printf(" -l %s", option->name);
            if (option->letter)
                printf(" -s %c", option->letter);
            if (option->value) {
                printf(" -r");
                fish_words(option->word_kind);
            }
            printf(" -d ");
            fish_quote(option->help);
            printf("\n");
        }
    }
}

static int run(const struct cli_arguments *arguments)
{
    static void (*const writers[])(void) = {put_bash, put_zsh, put_fish};
    if (arguments->word_count == 0) {
        cli_message("name the shell: bash, zsh or fish");
        return CLI_USAGE;
    }
    for (size_t i = 0; i < SHELLS; i++)
        if (strcmp(shells[i], arguments->words[0]) == 0) {
            writers[i]();
            return cli_finish_stdout();
        }
    cli_message("unknown shell '%s'; supported are bash, zsh and fish", arguments->words[0]);
    return CLI_USAGE;
}

static const struct cli_option *const options[] = {&cli_option_help, NULL};

static const struct cli_example examples[] = {
    {"source <(fathom completion bash)", "enable completion in this bash session"},
    {NULL, NULL},
};

const struct cli_command cli_completion = {
    "completion",
    "Print a completion script for bash, zsh or fish",
    "SHELL [OPTION]...",
    "Print a script with which SHELL (bash, zsh or fish) completes fathom's commands,\n"
    "options, devices and GPU names. 'make install' installs the same scripts where\n"
    "the shells look for them.",
    options,
    examples,
    CLI_WORD_SHELL,
    1,
    run,
};
