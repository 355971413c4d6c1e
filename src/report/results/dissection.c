/* Writes the results of a dissection as text: a table of sets, ways, index functions and policies,
 * and the reasons why figures are unknown. Also writes series of loads: strips that show which
 * loads hit and miss, and the contents of the ways of one set (Mei and Chu 2017, Fig. 11). */
#include "report/report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    MAX_CELL = 160,   /* bytes of a cell's text, with the terminating NUL */
    STRIP_WIDTH = 64, /* characters of a strip, so that a line fits into 80 columns */
    MAX_PASSES = 4    /* passes that are shown */
};

/* ---- the table ---- */

/* Writes the number of ways or, if the sets have different sizes, the ways of each set. */
static void write_ways(const struct fth_gpu *gpu, const char *element, char *text)
{
    const struct fth_attribute *list = fth_gpu_attribute(gpu, element, "set_ways");
    double ways = fth_gpu_number(gpu, element, "ways", NAN);
    size_t used = 0;
    text[0] = '\0';
    if (!isnan(ways))
        snprintf(text, MAX_CELL, "%.0f", ways);
    else if (list)
        for (size_t i = 0; i < list->count && used < MAX_CELL; i++)
            used += (size_t)snprintf(text + used, MAX_CELL - used, "%s%.0f", i ? "," : "",
                                     list->numbers[i]);
    else
        snprintf(text, MAX_CELL, "?");
}

/* Returns the lower of the confidences of sets and policy, rounded down to three decimals. NAN:
 * neither has one. */
static double confidence(const struct fth_gpu *gpu, const char *element)
{
    static const char *const names[] = {"sets", "policy"};
    double min_confidence = NAN;
    for (size_t i = 0; i < FTH_COUNT(names); i++) {
        const struct fth_attribute *attribute = fth_gpu_attribute(gpu, element, names[i]);
        if (attribute && !isnan(attribute->confidence))
            min_confidence =
                fmin(isnan(min_confidence) ? 1 : min_confidence, attribute->confidence);
    }
    return isnan(min_confidence) ? NAN : floor(min_confidence * 1e3) / 1e3;
}

/* Writes the policy, and the weights of the ways and the confidence, if there are any. */
static void write_policy(const struct fth_gpu *gpu, const char *element, char *text)
{
    const char *policy = fth_gpu_text(gpu, element, "policy");
    const struct fth_attribute *weights = fth_gpu_attribute(gpu, element, "way_weights");
    double row_confidence = confidence(gpu, element);
    size_t used = (size_t)snprintf(text, MAX_CELL, "%s", policy ? policy : "?");
    for (size_t i = 0; weights && i < weights->count && used < MAX_CELL; i++)
        used += (size_t)fth_format(text + used, MAX_CELL - used, "%s%.3g", i ? ", " : " ",
                                   weights->numbers[i]);
    if (!isnan(row_confidence) && used < MAX_CELL)
        fth_format(text + used, MAX_CELL - used, " (%.3g)", row_confidence);
}

static bool was_dissected(const struct fth_gpu *gpu, const char *element)
{
    return fth_gpu_attribute(gpu, element, "sets") || fth_gpu_attribute(gpu, element, "policy") ||
           fth_gpu_unknown(gpu, element, "sets") || fth_gpu_unknown(gpu, element, "policy");
}

/* Writes why attributes are unknown. A reason that repeats the previous one is left out. */
static void write_reasons(const struct fth_gpu *gpu, const char *element, struct fth_buffer *out)
{
    static const char *const names[] = {"sets",
                                        "index",
                                        "policy",
                                        "home_mask",
                                        "partition_by_sm",
                                        "prefetched_part",
                                        "periodic",
                                        "spectrum_cycles",
                                        "join_group_by_sm",
                                        "slice_masks",
                                        "slices",
                                        "write_miss",
                                        "write_hit",
                                        "write_evicts",
                                        "partial_write",
                                        "write_far_copy",
                                        "access_variants",
                                        "access_priorities",
                                        "access_keeps",
                                        "gpc_by_sm",
                                        "tpc_by_sm",
                                        "block_order",
                                        "block_refill",
                                        "loads_per_scoreboard",
                                        "sectors_in_flight_per_sm"};
    const char *last = "";
    for (size_t i = 0; i < FTH_COUNT(names); i++) {
        const char *reason = fth_gpu_unknown(gpu, element, names[i]);
        if (reason && strcmp(reason, last) != 0)
            fth_buffer_format(out, "%s: %s not known: %s\n", element, names[i], reason);
        last = reason ? reason : last;
    }
}

static bool is_tlb(const char *element)
{
    return strncmp(element, "tlb_", 4) == 0;
}

static const struct fth_column columns[] = {
    {"element", "Cache", FTH_COLUMN_TEXT},
    {"size_bytes", "Size", FTH_COLUMN_BYTES},
    {"line_bytes", "Line", FTH_COLUMN_BYTES},
    {"sets", "Sets", FTH_COLUMN_NUMBER},
    {"ways", "Ways", FTH_COLUMN_TEXT},
    {"index", "Index", FTH_COLUMN_TEXT},
    {"policy", "Replacement (confidence)", FTH_COLUMN_TEXT}};

/* Adds a cell with a copy of the text. */
static void put_text(struct fth_cells *cells, const char *text)
{
    const char *copy = fth_arena_text(&cells->arena, text);
    cells->failed = cells->failed || !copy;
    fth_cells_put_text(cells, copy);
}

/* Adds the row of an element: one cell for each of `columns`. */
static void put_element(struct fth_cells *cells, const struct fth_gpu *gpu, const char *element)
{
    char ways[MAX_CELL], policy[MAX_CELL];
    const char *index = fth_gpu_text(gpu, element, "index");
    const bool tlb = is_tlb(element);
    write_ways(gpu, element, ways);
    write_policy(gpu, element, policy);
    fth_cells_put_text(cells, element);
    fth_cells_put(cells, NULL,
                  fth_gpu_number(gpu, element, tlb ? "reach_bytes" : "size_bytes", NAN));
    fth_cells_put(cells, NULL,
                  fth_gpu_number(gpu, element, tlb ? "page_bytes" : "line_bytes", NAN));
    fth_cells_put(cells, NULL, fth_gpu_number(gpu, element, "sets", NAN));
    put_text(cells, ways);
    fth_cells_put_text(cells, index ? index : "?");
    put_text(cells, policy);
}

/* Writes the table of all elements that were dissected. */
static void write_table(const struct fth_gpu *gpu, const struct fth_report_options *options,
                        struct fth_buffer *out)
{
    struct fth_cells cells = {.failed = false};
    bool tlbs = false;
    const char *element;
    for (size_t i = 0; (element = fth_element_name(i)); i++)
        if (was_dissected(gpu, element)) {
            put_element(&cells, gpu, element);
            tlbs = tlbs || is_tlb(element);
        }
    out->failed = out->failed || cells.failed;
    if (cells.count && !cells.failed)
        fth_text_table(&(struct fth_table){columns, FTH_COUNT(columns), cells.items,
                                           cells.count / FTH_COUNT(columns)},
                       options, out);
    if (tlbs)
        fth_buffer_text(out, "For a TLB, Size is the reach and Line the page size.\n");
    fth_cells_fini(&cells);
}

/* Writes what measuring the time costs. */
static void write_timing(const struct fth_gpu *gpu, struct fth_buffer *out)
{
    double clock = fth_gpu_number(gpu, "device", "clock_read_cycles", NAN);
    double timing = fth_gpu_number(gpu, "device", "timing_cycles", NAN);
    if (!isnan(clock) && !isnan(timing))
        fth_buffer_format(
            out,
            "Reading the clock takes %g cycles; the work of timing a load, without the "
            "load, takes %g cycles.\n",
            clock, timing);
}

/* Writes the reasons of all elements that were dissected, after an empty line. */
static void write_all_reasons(const struct fth_gpu *gpu, struct fth_buffer *out)
{
    struct fth_buffer reasons = {0};
    const char *element;
    for (size_t i = 0; (element = fth_element_name(i)); i++)
        if (was_dissected(gpu, element))
            write_reasons(gpu, element, &reasons);
    write_reasons(gpu, "device", &reasons);
    if (reasons.size) {
        fth_buffer_text(out, "\n");
        fth_buffer_append(out, reasons.data, reasons.size);
    }
    out->failed = out->failed || reasons.failed;
    fth_buffer_fini(&reasons);
}

enum fth_status fth_report_dissection(const struct fth_gpu *gpu,
                                      const struct fth_report_options *options, char **text,
                                      size_t *size, struct fth_error *error)
{
    struct fth_report_options known;
    struct fth_buffer out = {0}, rest = {0};
    *text = NULL;
    *size = 0;
    FTH_TRY(fth_options_read("fth_report_options", options, &known, sizeof known, error));
    const char *name = fth_gpu_text(gpu, "device", "name");
    const char *backend = fth_gpu_text(gpu, "device", "backend");
    const bool simulated = backend && strcmp(backend, "simulated") == 0;
    fth_buffer_format(&out, "%s%s%s\n", name ? name : "GPU", simulated ? ", simulated" : "",
                      known.replayed ? ", replayed" : "");
    if (simulated)
        fth_buffer_text(
            &out, "The figures are those of the simulator: from the GPU's description where it\n"
                  "has them, otherwise defaults.\n");
    write_table(gpu, &known, &out);
    write_timing(gpu, &rest);
    write_all_reasons(gpu, &rest);
    fth_write_findings(gpu, &known, &rest);
    fth_write_prose(&rest, &known, &out);
    enum fth_status status = fth_buffer_take(&out, text, size, error);
    fth_buffer_fini(&out);
    return status;
}

/* ---- a series of loads ---- */

/* Draws one pass as a strip with one character for one or several neighbouring lines. The character
 * shows whether none, some or all of them missed. */
static void write_strip(const struct fth_series *series, size_t pass,
                        const struct fth_report_options *options, struct fth_buffer *out)
{
    static const char *const utf8[] = {"·", "▒", "█"}, *const ascii[] = {".", "+", "#"};
    size_t places = series->lines < STRIP_WIDTH ? series->lines : STRIP_WIDTH;
    for (size_t place = 0; place < places; place++) {
        size_t from = place * series->lines / places, to = (place + 1) * series->lines / places;
        size_t misses = 0;
        for (size_t line = from; line < to; line++)
            misses += fth_series_missed(series, pass * series->lines + line);
        size_t shade = misses == 0 ? 0 : misses < to - from ? 1 : 2;
        fth_buffer_text(out, (options->utf8 ? utf8 : ascii)[shade]);
    }
}

/* Writes the contents of the ways of one set after each load. The filled way is marked with '*'. */
static void write_replay(const struct fth_series *series, struct fth_buffer *out)
{
    enum { MAX_WAYS = 8 };
    if (series->replay_count == 0 || series->ways > MAX_WAYS)
        return;
    uint32_t held[MAX_WAYS];
    fth_buffer_text(out, "  one set, load by load\n  load    ");
    for (uint32_t way = 0; way < series->ways; way++) {
        held[way] = way;
        fth_buffer_format(out, "  way %-2u", way + 1);
    }
    fth_buffer_text(out, "\n");
    for (size_t i = 0; i < series->replay_count; i++) {
        int filled_way = series->replay_ways[i];
        if (filled_way >= 0 && (size_t)filled_way < series->ways)
            held[filled_way] = series->replay_lines[i];
        fth_buffer_format(out, "  line %-3u", series->replay_lines[i] + 1);
        for (size_t way = 0; way < series->ways; way++)
            fth_buffer_format(out, "  %3u%s  ", held[way] + 1, filled_way == (int)way ? "*" : " ");
        fth_buffer_format(out, " %s\n", filled_way >= 0 ? "miss" : "hit");
    }
}

enum fth_status fth_report_series(const struct fth_series *series,
                                  const struct fth_report_options *options, char **text,
                                  size_t *size, struct fth_error *error)
{
    struct fth_report_options known;
    struct fth_buffer out = {0};
    *text = NULL;
    *size = 0;
    FTH_TRY(fth_options_read("fth_report_options", options, &known, sizeof known, error));
    options = &known;
    size_t passes = series->lines ? series->count / series->lines : 0;
    if (series->missed)
        fth_buffer_format(&out,
                          "%s: misses of a walk over %zu pages, more than fit, one load per page\n",
                          series->element, series->lines);
    else
        fth_buffer_format(&out,
                          "%s: misses of a walk over %zu lines of %llu bytes, one more than fits\n",
                          series->element, series->lines, (unsigned long long)series->stride_bytes);
    /* The first pass over a cache is not shown, because the cache is cold. */
    const size_t first = series->missed ? 0 : 1;
    for (size_t pass = first; pass < passes && pass < first + MAX_PASSES; pass++) {
        size_t misses = 0;
        for (size_t line = 0; line < series->lines; line++)
            misses += fth_series_missed(series, pass * series->lines + line);
        fth_buffer_format(&out, "  pass %zu  ", pass + 1);
        write_strip(series, pass, options, &out);
        fth_buffer_format(&out, "  %zu\n", misses);
    }
    write_replay(series, &out);
    enum fth_status status = fth_buffer_take(&out, text, size, error);
    fth_buffer_fini(&out);
    return status;
}
