/* What 'fathom model' and 'fathom exec' share: which view of a result of the model they show. */
#include "cli.h"

#include <string.h>

const struct cli_option cli_option_lines = {
    "lines", 0, NULL, CLI_WORD_NONE,
    "print one row per source line, or per line of the PTX if the source is unknown; with --rdgc, "
    "per memory instruction"};
const struct cli_option cli_option_source = {
    "source", 0, NULL, CLI_WORD_NONE,
    "print the source with the figures of each line in the margin"};
const struct cli_option cli_option_each_launch = {"launches", 0, NULL, CLI_WORD_NONE,
                                                  "print one row per launch"};
const struct cli_option cli_option_wide = {
    "rdgc", 0, NULL, CLI_WORD_NONE,
    "print the wide tables with the counts of the RDGC model in sectors: merged reads, fails, "
    "steps, and the L2 without the L1"};

enum fth_model_view cli_model_view(const struct cli_arguments *arguments)
{
    const bool rdgc = cli_value(arguments, &cli_option_wide) != NULL;
    if (cli_value(arguments, &cli_option_source))
        return FTH_MODEL_VIEW_SOURCE;
    if (cli_value(arguments, &cli_option_lines))
        return rdgc ? FTH_MODEL_VIEW_LINES : FTH_MODEL_VIEW_SOURCE_LINES;
    if (cli_value(arguments, &cli_option_each_launch))
        return rdgc ? FTH_MODEL_VIEW_LAUNCHES : FTH_MODEL_VIEW_LAUNCH_SUMMARY;
    return rdgc ? FTH_MODEL_VIEW_KERNELS : FTH_MODEL_VIEW_SUMMARY;
}

int cli_put_model(const struct cli_arguments *arguments, enum fth_model_view view,
                  const struct fth_model_result *result, const struct fth_model_params *params,
                  const struct fth_hints *hints, const char *input, char **text, size_t *size)
{
    struct fth_report_options options = cli_report_options(arguments);
    struct fth_error error = FTH_NO_ERROR;
    char folder[4096] = ".";
    const char *const folders[] = {folder, ".", NULL};
    const char *slash = input ? strrchr(input, '/') : NULL;
    const size_t length = input ? strlen(input) : 0;
    if (slash && (size_t)(slash - input) < sizeof folder)
        snprintf(folder, sizeof folder, "%.*s", (int)(slash - input), input);
    const bool is_ptx = length > 4 && strcmp(input + length - 4, ".ptx") == 0;
    const struct fth_model_report more =
        FTH_MODEL_REPORT(.hints = hints, .folders = folders, .ptx = is_ptx ? input : NULL,
                         .sources = cli_value(arguments, &cli_option_source) != NULL);
    return fth_report_diagnosis(cli_format(arguments), view, result, params, &more, &options, text,
                                size, &error) == FTH_OK
               ? CLI_DONE
               : cli_fail(&error);
}
