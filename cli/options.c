/* Parses the command line by the option table of a command: --name VALUE, --name=VALUE, -o VALUE,
 * -oVALUE; "--" ends the options. For an unknown option it suggests the most similar one. */
#include "cli.h"

#include <string.h>

const struct cli_option cli_option_device = {
    "device", 0, "DEVICE", CLI_WORD_DEVICE,
    "select the GPU: cuda:0, opencl:0, ... (listed by 'fathom devices'), sim:NAME (simulated, "
    "listed by 'fathom gpus') or replay:FILE, with samples saved by --record (default: cuda:0, or "
    "sim:h200 if there is no GPU)"};
const struct cli_option cli_option_json = {"json", 0, NULL, CLI_WORD_NONE,
                                           "print JSON (same as --format json)"};
const struct cli_option cli_option_csv = {"csv", 0, NULL, CLI_WORD_NONE,
                                          "print CSV (same as --format csv)"};
const struct cli_option cli_option_format = {"format", 0, "FORMAT", CLI_WORD_FORMAT,
                                             "select the format: text, json or csv"};
/* For commands that show a GPU description. */
const struct cli_option cli_option_gpu_format = {
    "format", 0, "FORMAT", CLI_WORD_GPU_FORMAT,
    "select the format: text, json, csv, hwloc (XML for the tools of hwloc), mt4g (JSON with the "
    "keys of mt4g), accel-sim (configuration of GPGPU-Sim and Accel-Sim) or gem5 (options of "
    "gem5's "
    "GPU model)"};
/* For judgements of fleets. */
const struct cli_option cli_option_fleet_format = {
    "format", 0, "FORMAT", CLI_WORD_FLEET_FORMAT,
    "select the format: text, json, csv (findings), long (CSV with all figures), jsonl (one line "
    "per "
    "GPU) or prometheus"};
const struct cli_option cli_option_output = {
    "output", 'o', "FILE", CLI_WORD_FILE,
    "write to FILE instead of standard output; FILE is only replaced once the output is complete"};
const struct cli_option cli_option_record = {
    "record", 0, "FILE", CLI_WORD_FILE,
    "also save all samples to FILE; --device replay:FILE analyses them again without the GPU"};
const struct cli_option cli_option_require_gpu = {
    "require-gpu", 0, NULL, CLI_WORD_NONE,
    "fail with exit code 3 unless the device is a GPU of this machine, instead of measuring a "
    "simulated GPU"};
const struct cli_option cli_option_max_instructions = {
    "max-instructions", 0, "N", CLI_WORD_NONE,
    "let a warp issue at most N instructions per launch in the PTX engine or on a simulated GPU, "
    "and all warps of the launch together 1024 times as many (default: 1073741824)"};
const struct cli_option cli_option_quiet = {
    "quiet", 'q', NULL, CLI_WORD_NONE,
    "print no notes and no progress on standard error, only warnings and errors"};
const struct cli_option cli_option_max_bytes = {
    "max-bytes", 0, "SIZE", CLI_WORD_NONE,
    "maximum size of the files of points that are read, after decompression, such as 4G (default: "
    "1G)"};
const struct cli_option cli_option_help = {"help", 'h', NULL, CLI_WORD_NONE, "show this help"};
const struct cli_option cli_option_version = {"version", 'V', NULL, CLI_WORD_NONE,
                                              "print the version"};
const struct cli_option cli_option_man = {"man", 0, NULL, CLI_WORD_NONE,
                                          "print the man page, which covers all commands, as roff"};

const char *cli_value(const struct cli_arguments *arguments, const struct cli_option *option)
{
    /* The last occurrence counts, so that the user can override an option set by a shell alias. */
    for (size_t i = arguments->option_count; i-- > 0;)
        if (arguments->options[i] == option)
            return arguments->values[i];
    return NULL;
}

int cli_parse_size(const struct cli_arguments *arguments, const struct cli_option *option,
                   uint64_t *bytes)
{
    struct fth_error error = FTH_NO_ERROR;
    const char *text = cli_value(arguments, option);
    if (text && fth_size_parse(text, bytes, &error) != FTH_OK)
        return cli_fail(&error);
    return CLI_DONE;
}

static int usage_error(const struct cli_command *command)
{
    cli_message("see 'fathom %s%s--help'", command->name, *command->name ? " " : "");
    return CLI_USAGE;
}

static const struct cli_option *find_long(const struct cli_command *command, const char *name,
                                          size_t size)
{
    const char *names[CLI_MAX_OPTIONS];
    size_t count = 0;
    for (; command->options[count]; count++) {
        names[count] = command->options[count]->name;
        if (strlen(names[count]) == size && strncmp(names[count], name, size) == 0)
            return command->options[count];
    }
    char wanted[64];
    snprintf(wanted, sizeof wanted, "%.*s", size < 60 ? (int)size : 60, name);
    const char *nearest = fth_suggest(wanted, names, count);
    if (nearest)
        cli_message("unknown option '--%s'; did you mean '--%s'?", wanted, nearest);
    else
        cli_message("unknown option '--%s'", wanted);
    return NULL;
}

static const struct cli_option *find_letter(const struct cli_command *command, char letter)
{
    for (size_t i = 0; command->options[i]; i++)
        if (command->options[i]->letter == letter)
            return command->options[i];
    cli_message("unknown option '-%c'", letter);
    return NULL;
}

/* Parses the option at words[*at] and advances *at to the last word that belongs to it. */
static int parse_option(int count, char *const words[], int *at, struct cli_arguments *arguments)
{
    const char *word = words[*at], *value = NULL;
    const struct cli_option *option;
    if (word[1] == '-') {
        const char *name = word + 2;
        size_t size = strcspn(name, "=");
        value = name[size] ? name + size + 1 : NULL;
        option = find_long(arguments->command, name, size);
    } else {
        value = word[2] ? word + 2 : NULL;
        option = find_letter(arguments->command, word[1]);
    }
    if (!option)
        return usage_error(arguments->command);
    if (!option->value && value) {
        cli_message("option '--%s' takes no value", option->name);
        return usage_error(arguments->command);
    }
    if (option->value && !value) {
        if (*at + 1 >= count) {
            cli_message("option '--%s' requires a value: %s", option->name, option->value);
            return usage_error(arguments->command);
        }
        value = words[++*at];
    }
    if (arguments->option_count == CLI_MAX_OPTIONS) {
        cli_message("too many options on the command line");
        return CLI_USAGE;
    }
    arguments->options[arguments->option_count] = option;
    arguments->values[arguments->option_count++] = value ? value : "";
    return CLI_DONE;
}

int cli_parse(const struct cli_command *command, int count, char *const words[],
              struct cli_arguments *arguments)
{
    *arguments = (struct cli_arguments){.command = command};
    bool options = true;
    for (int i = 0; i < count; i++) {
        if (options && strcmp(words[i], "--") == 0) {
            options = false;
        } else if (options && words[i][0] == '-' && words[i][1]) {
            int status = parse_option(count, words, &i, arguments);
            if (status != CLI_DONE)
                return status;
        } else if (arguments->word_count == command->max_words) {
            cli_message("unexpected argument '%s'", words[i]);
            return usage_error(command);
        } else {
            arguments->words[arguments->word_count++] = words[i];
        }
    }
    return CLI_DONE;
}
