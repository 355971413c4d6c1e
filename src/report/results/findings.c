/* Writes, as text, the results of a dissection other than sets and ways: how well each policy
 * predicts the victims, partitions and replacement of the L2, what stores do, misses of TLBs that
 * overflow (Mei and Chu 2017, Fig. 8), and the latency patterns (Fig. 14) as a table with bars. */
#include "report/report.h"

#include <math.h>
#include <string.h>

enum {
    BAR_WIDTH = 38,  /* characters of the longest bar, so that a line fits into 80 columns */
    MAX_WALKS = 16,  /* rows that show the walks over a TLB */
    SMS_PER_ROW = 64 /* characters per row of the map from SM to near partition */
};

/* Draws a bar whose length is a fraction of BAR_WIDTH; at least one character unless it is 0. */
static void write_bar(double fraction, const struct fth_report_options *options,
                      struct fth_buffer *out)
{
    const size_t length = fraction > 0 ? (size_t)fmax(round(fraction * BAR_WIDTH), 1) : 0;
    fth_buffer_repeat(out, options->utf8 ? "█" : "#", length < BAR_WIDTH ? length : BAR_WIDTH);
    fth_buffer_text(out, "\n");
}

/* ---- policies ---- */

/* If no policy explains every replacement, writes how well each one predicts the victims. */
static void write_candidates(const struct fth_gpu *gpu, const char *element,
                             const struct fth_report_options *options, struct fth_buffer *out)
{
    const struct fth_attribute *names = fth_gpu_attribute(gpu, element, "policy_candidates");
    const struct fth_attribute *bits = fth_gpu_attribute(gpu, element, "policy_bits");
    double max_bits = 0;
    if (!names || !bits || names->count != bits->count)
        return;
    for (size_t i = 0; i < bits->count; i++)
        max_bits = fmax(max_bits, bits->numbers[i]);
    fth_buffer_format(out,
                      "\n%s: bits needed to encode which line was evicted, for each policy; fewer "
                      "bits are better\n",
                      element);
    for (size_t i = 0; i < bits->count; i++) {
        fth_buffer_format(out, "  %-10s  %5.2f  ", names->texts[i], bits->numbers[i]);
        write_bar(bits->numbers[i] / max_bits, options, out);
    }
}

/* ---- TLBs ---- */

/* Writes the misses of up to MAX_WALKS walks over a TLB, evenly selected, with the first and the
 * last. */
static void write_overflow(const struct fth_gpu *gpu, const char *element,
                           const struct fth_report_options *options, struct fth_buffer *out)
{
    const struct fth_attribute *pages = fth_gpu_attribute(gpu, element, "overflow_pages");
    const struct fth_attribute *missed = fth_gpu_attribute(gpu, element, "overflow_missed");
    if (!pages || !missed || pages->count < 2)
        return;
    const size_t rows = pages->count < MAX_WALKS ? pages->count : MAX_WALKS;
    fth_buffer_format(out, "\n%s: number of pages in a walk, and pages that miss\n", element);
    for (size_t row = 0; row < rows; row++) {
        const size_t i = row * (pages->count - 1) / (rows - 1);
        fth_buffer_format(out, "  %5.0f  %5.0f  ", pages->numbers[i], missed->numbers[i]);
        write_bar(missed->numbers[i] / pages->numbers[pages->count - 1], options, out);
    }
}

/* ---- latency patterns ---- */

/* The six patterns of Mei and Chu (2017). */

static const struct {
    const char *pattern, *meaning;
} patterns[] = {
    {"P1", "hit, page in the first TLB"}, {"P2", "hit, page in the second TLB"},
    {"P3", "hit, page in no TLB"},        {"P4", "miss, page in the first TLB"},
    {"P5", "miss, page in no TLB"},       {"P6", "miss, page table not active"},
};

/* Returns the cycles of a load of that pattern. NAN: the pattern was not found. */
static double pattern_cycles(const struct fth_gpu *gpu, const char *element, const char *pattern)
{
    const struct fth_attribute *names = fth_gpu_attribute(gpu, element, "spectrum_patterns");
    const struct fth_attribute *cycles = fth_gpu_attribute(gpu, element, "spectrum_cycles");
    for (size_t i = 0; names && cycles && i < names->count && i < cycles->count; i++)
        if (strcmp(names->texts[i], pattern) == 0)
            return cycles->numbers[i];
    return NAN;
}

static void write_spectrum(const struct fth_gpu *gpu, const char *element, const char *name,
                           double longest, const struct fth_report_options *options,
                           struct fth_buffer *out)
{
    if (!fth_gpu_attribute(gpu, element, "spectrum_cycles"))
        return;
    fth_buffer_format(out, "\nLatency patterns of loads through %s, in cycles\n", name);
    for (size_t i = 0; i < FTH_COUNT(patterns); i++) {
        const double cycles = pattern_cycles(gpu, element, patterns[i].pattern);
        fth_buffer_format(out, "  %s  %-28s", patterns[i].pattern, patterns[i].meaning);
        if (isnan(cycles)) {
            fth_buffer_text(out, "  none\n");
            continue;
        }
        fth_buffer_format(out, "%6.0f  ", cycles);
        write_bar(cycles / longest, options, out);
    }
}

static void write_spectra(const struct fth_gpu *gpu, const struct fth_report_options *options,
                          struct fth_buffer *out)
{
    double longest = 0;
    for (size_t i = 0; i < FTH_COUNT(patterns); i++) {
        longest = fmax(longest, pattern_cycles(gpu, "l1", patterns[i].pattern));
        longest = fmax(longest, pattern_cycles(gpu, "l2", patterns[i].pattern));
    }
    write_spectrum(gpu, "l2", "L2", longest, options, out);
    write_spectrum(gpu, "l1", "L1", longest, options, out);
    const struct fth_attribute *addressing = fth_gpu_attribute(gpu, "l1", "addressing");
    if (addressing)
        fth_buffer_format(out, "The L1 is %s addressed: %s.\n",
                          strcmp(addressing->text, "virtual") == 0 ? "virtually" : "physically",
                          addressing->method ? addressing->method : "found from its hits");
}

/* ---- L2 ---- */

static void write_homes(const struct fth_gpu *gpu, struct fth_buffer *out)
{
    const double mask = fth_gpu_number(gpu, "l2", "home_mask", NAN);
    if (isnan(mask))
        return;
    fth_buffer_text(out, "Home partition of a line: parity of the address bits");
    for (unsigned bit = 0, any = 0; bit < 53; bit++)
        if ((uint64_t)mask >> bit & 1)
            fth_buffer_format(out, "%s %u", any++ ? "," : "", bit);
    fth_buffer_format(out, " (mask 0x%llx)\n", (unsigned long long)mask);
}

/* Writes an attribute that has a number per SM as one letter per SM: A for 0, B for 1, and Z for 25
 * and above. */
static void write_by_sm(const struct fth_gpu *gpu, const char *attribute, const char *title,
                        struct fth_buffer *out)
{
    const struct fth_attribute *list = fth_gpu_attribute(gpu, "l2", attribute);
    for (size_t i = 0; list && i < list->count; i++) {
        if (i == 0)
            fth_buffer_format(out, "%s\n", title);
        if (i % SMS_PER_ROW == 0)
            fth_buffer_format(out, "%sSM %3zu  ", i ? "\n" : "", i);
        fth_buffer_format(out, "%c", 'A' + (char)fmin(list->numbers[i], 25));
    }
    fth_buffer_text(out, list ? "\n" : "");
}

/* Writes which SMs join their reads, unless none does. */
static void write_joins(const struct fth_gpu *gpu, struct fth_buffer *out)
{
    const double window = fth_gpu_number(gpu, "l2", "join_window_cycles", NAN);
    const struct fth_attribute *extent = fth_gpu_attribute(gpu, "l2", "join_extent");
    if (isnan(window))
        return;
    write_by_sm(gpu, "join_group_by_sm", "SMs that join their reads (same letter)", out);
    fth_buffer_format(out, "Joined: reads%s within %g cycles\n",
                      !extent                             ? ""
                      : strcmp(extent->text, "line") == 0 ? " of the same line"
                                                          : " of the same sectors",
                      window);
}

/* Writes which address bits select a slice. */
static void write_slice_hash(const struct fth_gpu *gpu, struct fth_buffer *out)
{
    const struct fth_attribute *masks = fth_gpu_attribute(gpu, "l2", "slice_masks");
    const double slices = fth_gpu_number(gpu, "l2", "slices", NAN);
    const double each = slices / fth_gpu_number(gpu, "l2", "partitions", 1);
    const double bytes = fth_gpu_number(gpu, "l2", "slice_bytes", NAN);
    if (isnan(slices) || isnan(bytes))
        return;
    fth_buffer_format(out, "Slices: %.0f", slices);
    if (each < slices)
        fth_buffer_format(out, ", %.0f in each partition", each);
    fth_buffer_format(out, "; %.0f consecutive bytes are in one slice\n", bytes);
    for (size_t i = 0; masks && i < masks->count; i++)
        fth_buffer_format(out, "%s0x%llx", i ? " " : "Slice of a line: parities under the masks ",
                          (unsigned long long)masks->numbers[i]);
    if (masks)
        fth_buffer_text(out, each < ldexp(1, (int)masks->count)
                                 ? ", and a function of them that is not linear\n"
                                 : "\n");
}

/* Writes the latency of each slice from each group of SMs, one character each. */
static void write_slice_map(const struct fth_gpu *gpu, const struct fth_report_options *options,
                            struct fth_buffer *out)
{
    static const char *const blocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    static const char *const digits[] = {"0", "1", "2", "3", "4", "5", "6", "7"};
    enum { STEPS = FTH_COUNT(blocks) };
    const struct fth_attribute *groups = fth_gpu_attribute(gpu, "l2", "slice_group_by_sm");
    const struct fth_attribute *cycles = fth_gpu_attribute(gpu, "l2", "slice_latency_cycles");
    const size_t each = (size_t)(fth_gpu_number(gpu, "l2", "slices", 0) /
                                 fth_gpu_number(gpu, "l2", "partitions", 1));
    if (!groups || !cycles || each == 0)
        return;
    double low = INFINITY, high = 0;
    for (size_t i = 0; i < cycles->count; i++) {
        low = fmin(low, cycles->numbers[i]);
        high = fmax(high, cycles->numbers[i]);
    }
    fth_buffer_format(
        out,
        "Latency of a hit by slice (columns) and SMs (rows: the first SM of a group), "
        "%s %.0f to %s %.0f cycles\n",
        options->utf8 ? blocks[0] : digits[0], low,
        options->utf8 ? blocks[STEPS - 1] : digits[STEPS - 1], high);
    for (size_t group = 0; group < cycles->count / each; group++) {
        size_t sm = 0;
        while (sm < groups->count && groups->numbers[sm] != (double)group)
            sm++;
        fth_buffer_format(out, "SM %3zu  ", sm);
        for (size_t i = 0; i < each; i++) {
            const double part = (cycles->numbers[group * each + i] - low) / (high - low);
            const size_t step = part > 0 ? (size_t)fmin(part * STEPS, STEPS - 1) : 0;
            fth_buffer_text(out, options->utf8 ? blocks[step] : digits[step]);
        }
        fth_buffer_text(out, "\n");
    }
}

static void write_l2(const struct fth_gpu *gpu, const struct fth_report_options *options,
                     struct fth_buffer *out)
{
    const double fraction = fth_gpu_number(gpu, "l2", "prefetched_part", NAN);
    const struct fth_attribute *periodic = fth_gpu_attribute(gpu, "l2", "periodic");
    struct fth_buffer text = {0};
    write_homes(gpu, &text);
    write_by_sm(gpu, "partition_by_sm", "Near partition of each SM", &text);
    write_joins(gpu, &text);
    write_slice_hash(gpu, &text);
    write_slice_map(gpu, options, &text);
    /* 0.05: as min_prefetched_fraction in discover/dissect/dissect_l2.c. */
    if (!isnan(fraction))
        fth_buffer_format(&text, "Prefetching: %s; %g %% of the loads of a first walk hit in L2\n",
                          fraction > 0.05 ? "detected" : "ruled out", 100 * fraction);
    if (periodic)
        fth_buffer_format(&text, "Replacement: %s\n",
                          strcmp(periodic->text, "yes") == 0
                              ? "periodic; repeating the accesses evicts the same lines"
                              : "not periodic; repeating the accesses evicts other lines");
    if (text.size) {
        fth_buffer_text(out, "\nL2\n");
        fth_buffer_append(out, text.data, text.size);
    }
    out->failed = out->failed || text.failed;
    fth_buffer_fini(&text);
}

/* ---- SMs and blocks ---- */

/* Writes the number of SMs of each GPC. */
static void write_gpcs(const struct fth_attribute *gpcs, struct fth_buffer *out)
{
    size_t count = 0;
    for (size_t i = 0; i < gpcs->count; i++)
        count = gpcs->numbers[i] >= (double)count ? (size_t)gpcs->numbers[i] + 1 : count;
    if (count > gpcs->count)
        return;
    fth_buffer_format(out, "GPCs: %zu, with", count);
    for (size_t gpc = 0; gpc < count; gpc++) {
        size_t sms = 0;
        for (size_t i = 0; i < gpcs->count; i++)
            sms += gpcs->numbers[i] == (double)gpc;
        fth_buffer_format(out, "%s %zu", gpc ? "," : "", sms);
    }
    fth_buffer_text(out, " SMs\n");
}

static void write_placement(const struct fth_gpu *gpu, struct fth_buffer *out)
{
    const struct fth_attribute *gpcs = fth_gpu_attribute(gpu, "device", "gpc_by_sm");
    const struct fth_attribute *first = fth_gpu_attribute(gpu, "device", "block_first_gpcs");
    const struct fth_attribute *order = fth_gpu_attribute(gpu, "device", "block_order");
    if (!gpcs && !order)
        return;
    fth_buffer_text(out, "\nSMs and blocks\n");
    if (gpcs)
        write_gpcs(gpcs, out);
    if (order)
        fth_buffer_format(out, "Blocks of a grid: %s",
                          strcmp(order->text, "gpc") == 0 ? "GPC after GPC, one per SM"
                                                          : "SM after SM");
    for (size_t i = 0; order && first && i < first->count; i++)
        fth_buffer_format(out, "%s %.0f", i ? "," : "; first GPC", first->numbers[i]);
    fth_buffer_text(out, order ? "\n" : "");
}

/* ---- loads in flight ---- */

static void write_flight(const struct fth_gpu *gpu, struct fth_buffer *out)
{
    const double loads = fth_gpu_number(gpu, "device", "loads_per_scoreboard", NAN);
    const double sectors = fth_gpu_number(gpu, "device", "sectors_in_flight_per_sm", NAN);
    if (isnan(loads) && isnan(sectors))
        return;
    fth_buffer_text(out, "\nIn flight\n");
    if (!isnan(loads))
        fth_buffer_format(out, "Loads of a warp with the same scoreboard: at most %.0f\n", loads);
    if (!isnan(sectors))
        fth_buffer_format(out, "Sectors of an SM: at most about %.0f\n", sectors);
}

/* ---- stores ---- */

/* Writes what stores do to L1 and L2, one line per attribute. */
static void write_stores(const struct fth_gpu *gpu, struct fth_buffer *out)
{
    static const struct {
        const char *element, *attribute, *value, *text;
    } effects[] = {
        {"l1", "write_miss", "allocate", "L1  a line that misses is allocated"},
        {"l1", "write_miss", "no_allocate", "L1  a line that misses is not allocated"},
        {"l1", "write_hit", "update", "L1  a line that hits is updated"},
        {"l1", "write_evicts", "line", "L1  a line that hits is evicted"},
        {"l1", "write_evicts", "sector", "L1  a sector that hits is evicted, not its line"},
        {"l2", "write_miss", "allocate", "L2  a line that misses is allocated"},
        {"l2", "write_miss", "no_allocate", "L2  a line that misses is not allocated"},
        {"l2", "partial_write", "fetch", "L2  a partly written sector is fetched by the next load"},
        {"l2", "partial_write", "mask", "L2  the written part of a sector needs no fetch"},
        {"l2", "write_far_copy", "invalidate", "L2  a copy in the other partition is invalidated"},
        {"l2", "write_far_copy", "update", "L2  a copy in the other partition is updated"},
    };
    bool any = false;
    for (size_t i = 0; i < FTH_COUNT(effects); i++) {
        const char *value = fth_gpu_text(gpu, effects[i].element, effects[i].attribute);
        if (!value || strcmp(value, effects[i].value) != 0)
            continue;
        fth_buffer_format(out, "%s  %s\n", any ? "" : "\nStores\n", effects[i].text);
        any = true;
    }
    const double window = fth_gpu_number(gpu, "l1", "store_merge_cycles", NAN);
    if (!isnan(window))
        fth_buffer_format(out,
                          "%s  L1  stores of two warps to a line are merged within %.0f cycles\n",
                          any ? "" : "\nStores\n", window);
}

/* ---- loads with hints ---- */

/* Formats what a variant leaves in a cache: "32 B", "64 B, first", "-" (nothing), "evicts"
 * (nothing, not even a line that was there before), or "" (the description has no such entry).
 * Normal priorities are not mentioned. */
static const char *format_effect(const struct fth_gpu *gpu, const char *element, const char *name,
                                 char *text, size_t size)
{
    const struct fth_attribute *names = fth_gpu_attribute(gpu, element, "access_variants");
    const struct fth_attribute *bytes = fth_gpu_attribute(gpu, element, "access_fill_bytes");
    const struct fth_attribute *priorities = fth_gpu_attribute(gpu, element, "access_priorities");
    const struct fth_attribute *keeps = fth_gpu_attribute(gpu, element, "access_keeps");
    for (size_t i = 0; names && bytes && i < names->count && i < bytes->count; i++) {
        if (strcmp(names->texts[i], name) != 0)
            continue;
        const char *priority =
            priorities && i < priorities->count ? priorities->texts[i] : "normal";
        if (bytes->numbers[i] == 0)
            return keeps && i < keeps->count && strcmp(keeps->texts[i], "no") == 0 ? "evicts" : "-";
        fth_format(text, size, "%.0f B%s%s", bytes->numbers[i],
                   strcmp(priority, "normal") == 0 ? "" : ", ",
                   strcmp(priority, "normal") == 0 ? "" : priority);
        return text;
    }
    return "";
}

/* Writes what accesses with cache operators and hints leave in L1 and L2, one line per variant. */
static void write_hints(const struct fth_gpu *gpu, struct fth_buffer *out)
{
    bool any = false;
    for (enum fth_variant i = FTH_VARIANT_NONE + 1; i < FTH_VARIANTS; i++) {
        char l1_text[48], l2_text[48];
        const char *l1 = format_effect(gpu, "l1", fth_variant_names[i], l1_text, sizeof l1_text);
        const char *l2 = format_effect(gpu, "l2", fth_variant_names[i], l2_text, sizeof l2_text);
        if (!*l1 && !*l2)
            continue;
        if (!any)
            fth_buffer_format(out, "\n%-29s%-15s%s\n", "Bytes that a miss fills", "L1", "L2");
        any = true;
        if (*l2)
            fth_buffer_format(out, "  %-27s%-15s%s\n", fth_variant_names[i], l1, l2);
        else
            fth_buffer_format(out, "  %-27s%s\n", fth_variant_names[i], l1);
    }
}

void fth_write_findings(const struct fth_gpu *gpu, const struct fth_report_options *options,
                        struct fth_buffer *out)
{
    static const char *const tlbs[] = {"tlb_l1", "tlb_l2", "tlb_l3"};
    write_candidates(gpu, "l1", options, out);
    write_l2(gpu, options, out);
    write_placement(gpu, out);
    write_flight(gpu, out);
    write_stores(gpu, out);
    write_hints(gpu, out);
    for (size_t i = 0; i < FTH_COUNT(tlbs); i++)
        write_overflow(gpu, tlbs[i], options, out);
    write_spectra(gpu, options, out);
}
