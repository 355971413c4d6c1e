/* Writes hints for kernels (advice.h) as text and JSON. */
#include "report/results/model_figures.h"

#include <fathom/advice.h>

#include <stdio.h>
#include <string.h>

/* ---- text ---- */

/* Appends "name BEFORE -> AFTER" to a text, unless a figure is unknown or does not change. */
static void add_change(char *text, size_t size, const char *name, double before, double after,
                       bool bytes)
{
    const size_t used = strlen(text);
    char from[40], to[40];
    if (!isfinite(before) || !isfinite(after) || before == after)
        return;
    const char *first = bytes ? fth_size_format(before, from, sizeof from)
                              : fth_number_format(round(10 * before) / 10, from, sizeof from);
    const char *second = bytes ? fth_size_format(after, to, sizeof to)
                               : fth_number_format(round(10 * after) / 10, to, sizeof to);
    snprintf(text + used, size - used, "%s%s %s -> %s", used ? ", " : "", name, first, second);
}

static void write_hint(struct fth_buffer *out, size_t number, const struct fth_hint *hint,
                       size_t width)
{
    const struct fth_hint_figures *before = &hint->before, *after = &hint->after;
    char lead[32], gain[600] = "";
    snprintf(lead, sizeof lead, "%zu. ", number);
    fth_text_wrap(out, lead, hint->text, width);
    fth_text_wrap(out, "   Evidence: ", hint->evidence, width);
    add_change(gain, sizeof gain, "time in us", 1e6 * before->seconds, 1e6 * after->seconds, false);
    add_change(gain, sizeof gain, "L1", before->l1_bytes, after->l1_bytes, true);
    add_change(gain, sizeof gain, "L2", before->l2_bytes, after->l2_bytes, true);
    add_change(gain, sizeof gain, "memory", before->memory_bytes, after->memory_bytes, true);
    add_change(gain, sizeof gain, "shared wavefronts", before->shared_wavefronts,
               after->shared_wavefronts, false);
    if (*gain)
        fth_text_wrap(out, "   Gain: ", gain, width);
    if (*hint->what_if)
        fth_text_wrap(out, "   Try: --what-if ", hint->what_if, width);
}

void fth_write_hints(const struct fth_hints *hints, const struct fth_model_result *result,
                     const struct fth_report_options *options, struct fth_buffer *out)
{
    const size_t width = fth_report_columns(options);
    const struct fth_model_row *row;
    for (size_t i = 0; (row = fth_model_row(result, i)); i++) {
        const struct fth_hint *hint;
        char name[FTH_NAME_BYTES];
        size_t number = 0;
        if (!fth_model_view_shows(FTH_MODEL_VIEW_KERNELS, row))
            continue;
        fth_demangle(row->kernel, FTH_NAME_SHORT, name, sizeof name);
        fth_buffer_text(out, options->colour ? "\n\033[1mHints for " : "\nHints for ");
        fth_text_append(out, name, width > 10 ? width - 10 : 1, options->utf8 ? "…" : "~");
        fth_buffer_text(out, options->colour ? "\033[0m\n" : "\n");
        for (size_t k = 0; (hint = fth_hints_at(hints, k)); k++)
            if (strcmp(hint->kernel, row->kernel) == 0)
                write_hint(out, ++number, hint, width);
        if (!number)
            fth_buffer_text(out, "None: no rule found a change that saves at least 3 %.\n");
    }
}

/* ---- JSON ---- */

static void write_figure(struct fth_json_writer *json, const char *key, double figure)
{
    fth_json_key(json, key);
    if (isfinite(figure))
        fth_json_number(json, figure);
    else
        fth_json_null(json);
}

static void write_figures(struct fth_json_writer *json, const char *key,
                          const struct fth_hint_figures *figures)
{
    fth_json_key(json, key);
    fth_json_begin(json, '{', true);
    write_figure(json, "time_us", round(1e9 * figures->seconds) / 1e3);
    write_figure(json, "l1_bytes", figures->l1_bytes);
    write_figure(json, "l2_bytes", figures->l2_bytes);
    write_figure(json, "memory_bytes", figures->memory_bytes);
    write_figure(json, "shared_wavefronts", figures->shared_wavefronts);
    fth_json_end(json, '}');
}

static bool is_computed(const struct fth_hint_figures *figures)
{
    return isfinite(figures->seconds) || isfinite(figures->l1_bytes) ||
           isfinite(figures->l2_bytes) || isfinite(figures->shared_wavefronts);
}

static void write_text(struct fth_json_writer *json, const char *key, const char *text)
{
    fth_json_key(json, key);
    fth_json_text(json, text);
}

void fth_json_hints(struct fth_json_writer *json, const struct fth_hints *hints)
{
    const struct fth_hint *hint;
    fth_json_key(json, "hints");
    fth_json_begin(json, '[', false);
    for (size_t i = 0; (hint = fth_hints_at(hints, i)); i++) {
        const struct fth_trace_instruction *instruction = hint->instruction;
        fth_json_begin(json, '{', false);
        fth_json_key(json, "kernel");
        fth_json_kernel(json, hint->kernel);
        write_text(json, "rule", hint->rule);
        if (instruction) {
            write_figure(json, "line", instruction->line);
            if (instruction->source && instruction->source->file)
                write_text(json, "source_file", instruction->source->file);
            if (instruction->source_line)
                write_figure(json, "source_line", instruction->source_line);
        }
        write_text(json, "text", hint->text);
        write_text(json, "evidence", hint->evidence);
        if (*hint->what_if)
            write_text(json, "what_if", hint->what_if);
        write_figures(json, "before", &hint->before);
        if (is_computed(&hint->after))
            write_figures(json, "after", &hint->after);
        fth_json_end(json, '}');
    }
    fth_json_end(json, ']');
}
