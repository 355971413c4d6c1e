/* What dissecting found beyond sets and ways, for people: how TLBs overflow (Mei and Chu 2017, Fig.
 * 8), the spectrum of latencies as a table with bars (their Fig. 14), and what is known of the L2.
 */
#include "report/report.h"

#include <math.h>
#include <string.h>

enum { BAR = 40, MAX_STAIRS = 16, SMS_A_ROW = 64 };

static void write_bar(double part, const struct fth_report_options *options, struct fth_buffer *out)
{
    const size_t length = part > 0 ? (size_t)fmax(round(part * BAR), 1) : 0;
    fth_buffer_repeat(out, options->utf8 ? "█" : "#", length < BAR ? length : BAR);
    fth_buffer_text(out, "\n");
}

/* ---- policies ---- */

/* How well each explains what was replaced, where none does so fully. */
static void write_candidates(const struct fth_gpu *gpu, const char *element,
                             const struct fth_report_options *options, struct fth_buffer *out)
{
    const struct fth_attribute *names = fth_gpu_attribute(gpu, element, "policy_candidates");
    const struct fth_attribute *bits = fth_gpu_attribute(gpu, element, "policy_bits");
    double max = 0;
    if (!names || !bits || names->count != bits->count)
        return;
    for (size_t i = 0; i < bits->count; i++)
        max = fmax(max, bits->numbers[i]);
    fth_buffer_format(out,
                      "\n%s: bits it takes to tell which line was replaced, by policy; the fewer, "
                      "the likelier it is\n",
                      element);
    for (size_t i = 0; i < bits->count; i++) {
        fth_buffer_format(out, "  %-10s  %5.2f  ", names->texts[i], bits->numbers[i]);
        write_bar(bits->numbers[i] / max, options, out);
    }
}

/* ---- TLBs ---- */

/* Some of the walks, the first and the last among them. */
static void write_stairs(const struct fth_gpu *gpu, const char *element,
                         const struct fth_report_options *options, struct fth_buffer *out)
{
    const struct fth_attribute *pages = fth_gpu_attribute(gpu, element, "overflow_pages");
    const struct fth_attribute *missed = fth_gpu_attribute(gpu, element, "overflow_missed");
    if (!pages || !missed || pages->count < 2)
        return;
    const size_t rows = pages->count < MAX_STAIRS ? pages->count : MAX_STAIRS;
    fth_buffer_format(out, "\n%s: pages walked over, and those that miss\n", element);
    for (size_t row = 0; row < rows; row++) {
        const size_t i = row * (pages->count - 1) / (rows - 1);
        fth_buffer_format(out, "  %5.0f  %5.0f  ", pages->numbers[i], missed->numbers[i]);
        write_bar(missed->numbers[i] / pages->numbers[pages->count - 1], options, out);
    }
}

/* ---- the spectrum ---- */

static const struct {
    const char *pattern, *what;
} patterns[] = {
    {"P1", "hit, page in the first TLB"}, {"P2", "hit, page in the second TLB"},
    {"P3", "hit, page in no TLB"},        {"P4", "miss, page in the first TLB"},
    {"P5", "miss, page in no TLB"},       {"P6", "miss, page table not active"},
};

/* What a load of that pattern takes; NAN: there is no such pattern. */
static double pattern_cycles(const struct fth_gpu *gpu, const char *element, const char *pattern)
{
    const struct fth_attribute *words = fth_gpu_attribute(gpu, element, "spectrum_patterns");
    const struct fth_attribute *cycles = fth_gpu_attribute(gpu, element, "spectrum_cycles");
    for (size_t i = 0; words && cycles && i < words->count && i < cycles->count; i++)
        if (strcmp(words->texts[i], pattern) == 0)
            return cycles->numbers[i];
    return NAN;
}

static void write_spectrum(const struct fth_gpu *gpu, const char *element, const char *name,
                           double longest, const struct fth_report_options *options,
                           struct fth_buffer *out)
{
    if (!fth_gpu_attribute(gpu, element, "spectrum_cycles"))
        return;
    fth_buffer_format(out, "\nSpectrum of latencies through %s, cycles\n", name);
    for (size_t i = 0; i < FTH_COUNT(patterns); i++) {
        const double cycles = pattern_cycles(gpu, element, patterns[i].pattern);
        fth_buffer_format(out, "  %s  %-28s", patterns[i].pattern, patterns[i].what);
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
        fth_buffer_format(out, "L1 is addressed %s: %s.\n",
                          strcmp(addressing->text, "virtual") == 0 ? "virtually" : "physically",
                          addressing->method ? addressing->method : "found by its hits");
}

/* ---- L2 ---- */

static void write_homes(const struct fth_gpu *gpu, struct fth_buffer *out)
{
    const double mask = fth_gpu_number(gpu, "l2", "home_mask", NAN);
    if (isnan(mask))
        return;
    fth_buffer_text(out, "Home of a line: the parity of the address bits");
    for (unsigned bit = 0, any = 0; bit < 53; bit++)
        if ((uint64_t)mask >> bit & 1)
            fth_buffer_format(out, "%s %u", any++ ? "," : "", bit);
    fth_buffer_format(out, " (mask 0x%llx)\n", (unsigned long long)mask);
}

static void write_sides(const struct fth_gpu *gpu, struct fth_buffer *out)
{
    const struct fth_attribute *sides = fth_gpu_attribute(gpu, "l2", "partition_by_sm");
    for (size_t i = 0; sides && i < sides->count; i++) {
        if (i % SMS_A_ROW == 0)
            fth_buffer_format(out, "%sSM %3zu  ", i ? "\n" : "Near partition of each SM\n", i);
        fth_buffer_format(out, "%c", 'A' + (char)fmin(sides->numbers[i], 25));
    }
    fth_buffer_text(out, sides ? "\n" : "");
}

static void write_l2(const struct fth_gpu *gpu, struct fth_buffer *out)
{
    const double part = fth_gpu_number(gpu, "l2", "prefetched_part", NAN);
    const struct fth_attribute *order = fth_gpu_attribute(gpu, "l2", "periodic");
    struct fth_buffer text = {0};
    write_homes(gpu, &text);
    write_sides(gpu, &text);
    if (!isnan(part))
        fth_buffer_format(
            &text, "Prefetching: %s; %g %% of a first walk over a quarter of it were there\n",
            part > 0.05 ? "found" : "ruled out", 100 * part);
    if (order)
        fth_buffer_format(&text, "Replacement: %s\n",
                          strcmp(order->text, "yes") == 0
                              ? "in an order; the same lines leave when the same is done again"
                              : "aperiodic; other lines leave when the same is done again");
    if (text.size) {
        fth_buffer_text(out, "\nL2\n");
        fth_buffer_append(out, text.data, text.size);
    }
    fth_buffer_fini(&text);
}

void fth_write_findings(const struct fth_gpu *gpu, const struct fth_report_options *options,
                        struct fth_buffer *out)
{
    static const char *const tlbs[] = {"tlb_l1", "tlb_l2", "tlb_l3"};
    write_candidates(gpu, "l1", options, out);
    write_l2(gpu, out);
    for (size_t i = 0; i < FTH_COUNT(tlbs); i++)
        write_stairs(gpu, tlbs[i], options, out);
    write_spectra(gpu, options, out);
}
