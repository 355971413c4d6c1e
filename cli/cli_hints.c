/* Options of 'fathom model' that change a trace (--what-if) or find what to change in a kernel
 * (--hints). */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

const struct cli_option cli_option_what_if = {
    "what-if", 0, "CHANGE", CLI_WORD_NONE,
    "change the accesses before they are modelled: layout=LINES, merge=LINES, "
    "hint=LINES:OPERATOR, blocks=swap, blocks=tileN or pad=LINES (docs/model/hints.md); or set a "
    "parameter, "
    "as --set does; can be repeated"};
const struct cli_option cli_option_hints = {
    "hints", 0, NULL, CLI_WORD_NONE,
    "print what to change in each kernel, and what the model computes with the change"};

/* ---- --what-if ---- */

int cli_apply_changes(const struct cli_arguments *arguments, struct fth_model_params *params)
{
    for (size_t i = 0; i < arguments->option_count; i++) {
        const char *text = arguments->values[i];
        if (arguments->options[i] != &cli_option_what_if || fth_trace_edit_known(text))
            continue;
        const char *equals = strchr(text, '=');
        char name[64];
        struct fth_error error = FTH_NO_ERROR;
        if (!equals || (size_t)(equals - text) >= sizeof name) {
            cli_message("--what-if requires layout=, merge=, hint=, blocks=, pad= or a parameter "
                        "NAME=VALUE, not '%s'",
                        text);
            return CLI_USAGE;
        }
        snprintf(name, sizeof name, "%.*s", (int)(equals - text), text);
        if (fth_model_set(params, name, equals + 1, &error) != FTH_OK)
            return cli_fail(&error);
    }
    return CLI_DONE;
}

int cli_edit_trace(const struct cli_arguments *arguments, struct fth_trace **trace)
{
    const char *edits[CLI_MAX_OPTIONS];
    size_t count = 0;
    struct fth_trace *edited = NULL;
    struct fth_error error = FTH_NO_ERROR;
    for (size_t i = 0; i < arguments->option_count; i++)
        if (arguments->options[i] == &cli_option_what_if &&
            fth_trace_edit_known(arguments->values[i]))
            edits[count++] = arguments->values[i];
    if (count == 0)
        return CLI_DONE;
    const char *truncated = fth_trace_truncated(*trace);
    if (truncated)
        cli_message("%s: %s", arguments->words[0], truncated);
    if (fth_trace_edit(*trace, edits, count, &cli_log, &edited, &error) != FTH_OK)
        return cli_fail(&error);
    fth_trace_close(*trace);
    *trace = edited;
    return CLI_DONE;
}

/* ---- --hints ---- */

int cli_find_hints(const struct cli_arguments *arguments, const struct fth_trace *trace,
                   const struct fth_model_params *params, const struct fth_model_result *result,
                   struct fth_hints **hints)
{
    struct fth_error error = FTH_NO_ERROR;
    struct fth_hints_options options = FTH_HINTS_OPTIONS(.log = &cli_log);
    if (!cli_value(arguments, &cli_option_hints))
        return CLI_DONE;
    if (!cli_parse_threads(arguments, &options.threads))
        return CLI_USAGE;
    return fth_hints_create(trace, params, result, &options, hints, &error) == FTH_OK
               ? CLI_DONE
               : cli_fail(&error);
}
