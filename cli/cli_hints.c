/* Options of 'fathom model' that change a trace (--what-if) or find what to change in a kernel
 * (--hints). */
#include "cli.h"

#include <math.h>
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

enum { COLUMNS = 80 };

/* Text that is being written, with its memory. */
struct page {
    char *text;
    size_t size;
    FILE *file;
};

/* Prints words, with line breaks so that no line has more than COLUMNS columns. The first line
 * begins with `lead`, the others with as many blanks. */
static void put_wrapped(FILE *file, const char *lead, const char *text)
{
    const size_t indent = strlen(lead);
    size_t column = indent;
    fputs(lead, file);
    for (const char *at = text; *at;) {
        const size_t length = strcspn(at, " ");
        if (column > indent && column + 1 + length > COLUMNS) {
            fprintf(file, "\n%*s", (int)indent, "");
            column = indent;
        } else if (column > indent) {
            fputc(' ', file);
            column++;
        }
        fprintf(file, "%.*s", (int)length, at);
        column += length;
        at += length;
        at += strspn(at, " ");
    }
    fputc('\n', file);
}

/* Writes a number of bytes with a unit, such as "1.5 MB", or another number as it is. */
static const char *format_figure(double figure, bool bytes, char *text, size_t size)
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB"};
    size_t unit = 0;
    while (bytes && figure >= 1000 && unit + 1 < sizeof units / sizeof *units) {
        figure /= 1000;
        unit++;
    }
    snprintf(text, size, figure >= 1000 ? "%.0f%s%s" : "%.3g%s%s", figure, bytes ? " " : "",
             bytes ? units[unit] : "");
    return text;
}

/* Appends "name BEFORE -> AFTER" to a text, unless a figure is unknown or does not change. */
static void add_change(char *text, size_t size, const char *name, double before, double after,
                       bool bytes)
{
    const size_t used = strlen(text);
    char from[40], to[40];
    if (!isfinite(before) || !isfinite(after) || before == after)
        return;
    snprintf(text + used, size - used, "%s%s %s -> %s", used ? ", " : "", name,
             format_figure(before, bytes, from, sizeof from),
             format_figure(after, bytes, to, sizeof to));
}

static void put_hint(FILE *file, size_t number, const struct fth_hint *hint)
{
    const struct fth_hint_figures *before = &hint->before, *after = &hint->after;
    char lead[16], gain[600] = "";
    snprintf(lead, sizeof lead, "%3zu. ", number);
    put_wrapped(file, lead, hint->text);
    put_wrapped(file, "     Evidence: ", hint->evidence);
    add_change(gain, sizeof gain, "time in us", 1e6 * before->seconds, 1e6 * after->seconds, false);
    add_change(gain, sizeof gain, "L1", before->l1_bytes, after->l1_bytes, true);
    add_change(gain, sizeof gain, "L2", before->l2_bytes, after->l2_bytes, true);
    add_change(gain, sizeof gain, "memory", before->memory_bytes, after->memory_bytes, true);
    add_change(gain, sizeof gain, "shared wavefronts", before->shared_wavefronts,
               after->shared_wavefronts, false);
    if (*gain)
        put_wrapped(file, "     Gain: ", gain);
    if (*hint->what_if)
        put_wrapped(file, "     What if: ", hint->what_if);
}

static void put_all(FILE *file, const struct fth_hints *hints,
                    const struct fth_model_result *result)
{
    const struct fth_model_row *row;
    for (size_t i = 0, printed = 0; (row = fth_model_row(result, i)); i++) {
        const struct fth_hint *hint;
        size_t number = 0;
        if (row->instruction || row->launch != SIZE_MAX)
            continue;
        fprintf(file, "%s%s\n", printed++ ? "\n" : "", row->kernel);
        for (size_t k = 0; (hint = fth_hints_at(hints, k)); k++)
            if (strcmp(hint->kernel, row->kernel) == 0)
                put_hint(file, ++number, hint);
        if (!number)
            fputs("     No hints.\n", file);
    }
}

int cli_put_hints(const struct cli_arguments *arguments, const struct fth_trace *trace,
                  const struct fth_model_params *params, const struct fth_model_result *result)
{
    struct fth_hints *hints = NULL;
    struct fth_error error = FTH_NO_ERROR;
    struct page page = {0};
    struct fth_hints_options options = FTH_HINTS_OPTIONS(.log = &cli_log);
    if (strcmp(cli_format(arguments), "text") != 0) {
        cli_message("--hints prints text only");
        return CLI_USAGE;
    }
    if (!cli_parse_threads(arguments, &options.threads))
        return CLI_USAGE;
    if (fth_hints_create(trace, params, result, &options, &hints, &error) != FTH_OK)
        return cli_fail(&error);
    page.file = open_memstream(&page.text, &page.size);
    if (page.file) {
        put_all(page.file, hints, result);
        fclose(page.file);
    }
    fth_hints_destroy(hints);
    if (!page.file || !page.text) {
        cli_message("out of memory");
        return CLI_FAILED;
    }
    return cli_put_text(arguments, page.text, page.size);
}
