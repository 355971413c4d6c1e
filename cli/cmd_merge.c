/* fathom merge: the parts of an exploration, joined or shown. */
#include "cli.h"

static const struct cli_option option_partial = {"partial", 0, NULL, CLI_WORD_NONE,
                                                 "also where points are missing"};
static const struct cli_option option_output = {
    "output", 'o', "FILE", CLI_WORD_FILE,
    "write the whole there, a line of JSON each point, instead of showing a table"};

static int merge(const struct cli_arguments *arguments)
{
    const char *output = cli_value(arguments, &option_output);
    struct fth_error error = FTH_NO_ERROR;
    char *text = NULL, *shown = NULL;
    size_t size = 0, shown_size = 0;
    if (arguments->word_count == 0) {
        cli_message("which parts? 'fathom merge --help' shows how to give them");
        return CLI_USAGE;
    }
    enum fth_status status =
        fth_merge(arguments->words, arguments->word_count,
                  cli_value(arguments, &option_partial) != NULL, &cli_log, &text, &size, &error);
    if (status == FTH_OK && !output) {
        const struct fth_report_options options = cli_report_options(arguments);
        status = fth_report_points(cli_format(arguments), text, size, &options, &shown, &shown_size,
                                   &error);
    }
    if (status == FTH_OK)
        status = output ? fth_file_write(output, text, size, &error)
                        : fth_file_write("-", shown, shown_size, &error);
    fth_free(text);
    fth_free(shown);
    return status == FTH_OK ? CLI_DONE : cli_fail(&error);
}

static const struct cli_option *const options[] = {
    &option_partial, &cli_option_json, &cli_option_format, &option_output, &cli_option_help, NULL,
};

static const struct cli_example examples[] = {
    {"fathom merge part.* -o all.jsonl", "the parts of an exploration into one file"},
    {"fathom merge all.jsonl --format csv", "an exploration as a table"},
    {NULL, NULL},
};

const struct cli_command cli_merge = {
    "merge",
    "join the parts of an exploration, or show it",
    "PART... [OPTION]...",
    "Joins what the processes of a 'fathom explore' wrote: byte by byte what one process\n"
    "would have written. Parts of different explorations, and points that differ, are refused,\n"
    "and so is a whole that lacks points. The parts stay as they are.",
    options,
    examples,
    CLI_WORD_FILE,
    CLI_MAX_ARGUMENTS,
    merge,
};
