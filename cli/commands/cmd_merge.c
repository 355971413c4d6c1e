/* fathom merge: joins the output files of an exploration, or shows them as a table. */
#include "cli.h"

static const struct cli_option option_partial = {"partial", 0, NULL, CLI_WORD_NONE,
                                                 "accept missing points"};
static const struct cli_option option_output = {
    "output", 'o', "FILE", CLI_WORD_FILE,
    "write the points to FILE, one line of JSON each, instead of printing a table; with -o, --json "
    "and --format have no effect"};

static int merge(const struct cli_arguments *arguments)
{
    const char *output = cli_value(arguments, &option_output);
    struct fth_error error = FTH_NO_ERROR;
    char *text = NULL, *shown = NULL;
    size_t size = 0, shown_size = 0;
    uint64_t max_bytes = 0;
    if (arguments->word_count == 0) {
        cli_message("no file given; see 'fathom merge --help'");
        return CLI_USAGE;
    }
    int result = cli_check_points_view(arguments);
    if (result == CLI_DONE)
        result = cli_parse_size(arguments, &cli_option_max_bytes, &max_bytes);
    if (result != CLI_DONE)
        return result;
    const struct fth_merge_options merge_options =
        FTH_MERGE_OPTIONS(.partial = cli_value(arguments, &option_partial) != NULL, .log = &cli_log,
                          .max_bytes = max_bytes);
    enum fth_status status =
        fth_merge(arguments->words, arguments->word_count, &merge_options, &text, &size, &error);
    if (status == FTH_OK && !output) {
        const struct fth_report_options options = cli_report_options(arguments);
        const struct fth_points_view view = cli_points_view(arguments);
        status = fth_report_points_view(cli_format(arguments), text, size, &view, &options, &shown,
                                        &shown_size, &error);
    }
    if (status == FTH_OK)
        cli_note_skipped(text, size);
    if (status == FTH_OK)
        status = output ? fth_file_write(output, text, size, &error)
                        : fth_file_write("-", shown, shown_size, &error);
    fth_free(text);
    fth_free(shown);
    return status == FTH_OK ? CLI_DONE : cli_fail(&error);
}

static const struct cli_option *const options[] = {
    &option_partial,    CLI_POINTS_OPTIONS, &cli_option_max_bytes, &cli_option_json,
    &cli_option_format, &option_output,     &cli_option_help,      NULL,
};

static const struct cli_example examples[] = {
    {"fathom merge part.* -o all.jsonl", "join the parts of an exploration"},
    {"fathom merge all.jsonl --format csv", "print all points as CSV"},
    {"fathom merge all.jsonl --objective dram", "show the points with the least traffic first"},
    {NULL, NULL},
};

const struct cli_command cli_merge = {
    "merge",
    "Join or show the result files of an exploration",
    "PART... [OPTION]...",
    "Join the files that the processes of one 'fathom explore' have written with -o.\n"
    "The result is byte for byte the file that a single process would have written.\n"
    "Without -o, print the points as a table. The parts are not changed.\n"
    "\n"
    "It is an error if the parts belong to different explorations, if they contradict\n"
    "each other, or if points are missing (unless --partial is given).",
    options,
    examples,
    CLI_WORD_FILE,
    CLI_MAX_ARGUMENTS,
    merge,
};
