/* How long does a load take, depending on whether its line is in a cache and its page in a TLB?
 * These are the six patterns P1 to P6 of Mei and Chu (2017, Section 5.2, Fig. 14). They link one
 * chain of three strides. This probe uses one request of several steps over the same pages, with
 * one line per page. Each phase times one or two of the patterns:
 *
 *   phase                           line is in     page is in
 *   first touch of many pages       no cache       no TLB (P5); its page table is accessed for
 *                                                  the first time (P6)
 *   the same lines again            the cache      no TLB, after more pages than the second TLB
 *                                                  holds (P3)
 *   twice the first TLB's entries   the cache      the second TLB (P2)
 *   other lines, all near           no cache       the first TLB (P4)
 *   the first lines of few pages    the cache      the first TLB (P1)
 *
 * Between the phases, loads of other lines of the pages bring the TLBs into the required state.
 * They bypass the L1, because the L1 may hold fewer lines than the TLBs hold pages, and because its
 * hits may need no TLB. Whether a pattern takes longer than the one before it is decided on lines
 * that both patterns access: latencies of different lines differ by more than a TLB's penalty.
 *
 * An L1 may lose lines in the meantime; that of an H200 loses up to half of them when a step
 * begins. If an L1 hit needed its page, all hits would take longer without it. Therefore, where
 * many loads take no longer than a hit whose page is in the first TLB, these loads are the hits,
 * and the other lines were lost. */
#include "probe/tlb/probe_tlb.h"

#include <math.h>
#include <stdlib.h>

static const char operation[] = "find the latency spectrum";

/* ---- lines and pages ---- */

enum {
    REPEATS = 5,       /* of the request; odd, for the median. Chosen. */
    MAX_FEW_PAGES = 8, /* pages of the last phase; every TLB holds them */
    NEAR_LINES = 63,   /* lines of the phase with near lines. Chosen. */
    NEAR_ARRAY = 7,    /* an array of their own */
    NEAR_STRIDE = 4096 + FTH_TLB_SKEW_BYTES,
    OTHER_LINE = 64 << 10, /* twice the distance in bytes of the two lines of a page. Chosen. */
    MAX_STRIDE = 32 << 20, /* bytes, that of Mei and Chu */
    /* More pages than the second TLB holds: 1/MANY_PART more than its entries, and MANY_PAGES. More
     * than one page too many for each set of eight ways. */
    MANY_PART = 4,
    MANY_PAGES = 2
};

/* ---- decisions ---- */

enum {
    HITS_PART = 4, /* one in HITS_PART loads must be a hit in find_hits(). Chosen. */
    /* Fraction of the distances between first touches of page tables that must be equal: 3/4.
     * Chosen. */
    SAME_NUMERATOR = 3,
    SAME_DENOMINATOR = 4
};
/* A first touch that takes longer than most by this fraction, and by the cycles that far memory
 * takes longer, accesses another page table. Chosen, not derived. */
static const double switch_fraction = 0.25;

/* The phases, in the order of their samples. */
enum phase { PHASE_FIRST_TOUCH, PHASE_AGAIN, PHASE_TWICE, PHASE_NEAR, PHASE_FEW, PHASES };

/* The phase that shows each pattern. The first touch, with P5 and P6, is evaluated separately. */
static const enum phase phase_of[FTH_PATTERNS] = {[FTH_PATTERN_HIT] = PHASE_FEW,
                                                  [FTH_PATTERN_HIT_MISS] = PHASE_TWICE,
                                                  [FTH_PATTERN_HIT_MISS_BOTH] = PHASE_AGAIN,
                                                  [FTH_PATTERN_COLD] = PHASE_NEAR};

struct spectrum_study {
    const struct fth_spectrum_plan *plan;
    uint64_t stride;
    uint64_t many;           /* number of pages that is more than any TLB holds */
    uint64_t counts[PHASES]; /* lines of each phase */
    struct fth_answers answers;
    double *scratch;
    size_t only; /* evaluate the repeat with this number, from 1 on; 0: the median of all */
};

/* Lines near each other. They are all in one page, or in few where pages are small. */
static struct fth_chain near_lines(uint64_t start_bytes)
{
    return (struct fth_chain){.array = NEAR_ARRAY,
                              .start_bytes = start_bytes,
                              .stride_bytes = NEAR_STRIDE,
                              .count = NEAR_LINES};
}

/* Adds a walk over other lines of the first `count` pages that bypasses the L1. */
static void add_pages(const struct spectrum_study *study, struct fth_request *request,
                      uint64_t count)
{
    const struct fth_chain other_lines = {.array = FTH_FIRST_HEADER_ARRAY,
                                          .start_bytes = OTHER_LINE / 2,
                                          .stride_bytes = study->stride,
                                          .count = count};
    fth_request_add(request, FTH_STEP_WALK, FTH_PATH_CG, other_lines, 1);
}

/* Adds the timed step of a phase, except that of the near lines. */
static void time_lines(const struct spectrum_study *study, struct fth_request *request,
                       enum phase phase)
{
    const struct fth_chain lines = {.array = FTH_FIRST_HEADER_ARRAY,
                                    .stride_bytes = study->stride,
                                    .count = study->counts[phase]};
    /* The lines of few pages are timed twice: the first pass brings their pages into the TLB. */
    fth_request_add(request, FTH_STEP_TIME_HOPS, study->plan->path, lines,
                    phase == PHASE_FEW ? 2 : 1);
}

static struct fth_request make_request(const struct spectrum_study *study)
{
    struct fth_request request = fth_request_make(study->plan->carveout_percent);
    request.alone = request.cold = true;
    request.sm = 0;
    time_lines(study, &request, PHASE_FIRST_TOUCH);
    add_pages(study, &request, study->many);
    time_lines(study, &request, PHASE_AGAIN);
    add_pages(study, &request, study->counts[PHASE_TWICE]);
    time_lines(study, &request, PHASE_TWICE);
    fth_request_add(&request, FTH_STEP_WALK, FTH_PATH_CG, near_lines(NEAR_STRIDE / 2), 1);
    fth_request_add(&request, FTH_STEP_TIME_HOPS, study->plan->path, near_lines(0), 1);
    time_lines(study, &request, PHASE_FEW);
    return request;
}

/* A request that runs before each repeat, so that the TLBs hold none of the first pages. */
static struct fth_request make_reset(const struct spectrum_study *study)
{
    struct fth_request request = fth_request_make(study->plan->carveout_percent);
    request.alone = true;
    request.sm = 0;
    add_pages(study, &request, study->many);
    time_lines(study, &request, PHASE_FEW); /* every request needs a timed step */
    return request;
}

/* The median over the repeats of one hop of a phase, or the hop of the only repeat. */
static enum fth_status median_at(const struct spectrum_study *study, enum phase phase,
                                 uint64_t place, double *median, struct fth_error *error)
{
    uint64_t before = phase == PHASE_FEW ? study->counts[PHASE_FEW] : 0;
    double column[REPEATS];
    for (unsigned i = 0; i < (unsigned)phase; i++)
        before += study->counts[i];
    for (size_t i = 0; i < REPEATS; i++)
        column[i] = study->answers.items[2 * i + 1].cycles[before + place];
    if (study->only) {
        *median = column[study->only - 1];
        return FTH_OK;
    }
    return fth_quantile_f64(column, REPEATS, 0.5, median, error);
}

/* Stores the medians over the repeats of the hops 1 to count - 1 of a phase in the scratch. */
static enum fth_status gather(const struct spectrum_study *study, enum phase phase,
                              struct fth_error *error)
{
    for (uint64_t i = 1; i < study->counts[phase]; i++)
        FTH_TRY(median_at(study, phase, i, &study->scratch[i - 1], error));
    return FTH_OK;
}

static enum fth_status summarize(const struct spectrum_study *study, const double *values,
                                 size_t count, double quantile, struct fth_figure *figure,
                                 struct fth_error *error)
{
    struct fth_summary summary;
    double value = NAN;
    FTH_TRY(fth_summary_f64(values, count, &summary, error));
    FTH_TRY(fth_quantile_f64(values, count, quantile, &value, error));
    *figure = (struct fth_figure){.value = value,
                                  .low = summary.p05,
                                  .high = summary.p95,
                                  .samples = count * REPEATS,
                                  .clock_mhz = study->answers.items[1].clock_mhz};
    return FTH_OK;
}

/* The quantile of loads from memory. Where half of the lines come from far memory, the lower
 * quartile is the median of near memory. */
static double cold_quantile(const struct spectrum_study *study)
{
    return study->plan->two_homes ? 0.25 : 0.5;
}

/* How many cycles longer lines take in one pattern than in another: the median over the same lines
 * in the L2. All lines of an L1 take equally long, and it may lose a few; there the difference of
 * the figures is used. */
static enum fth_status compare(const struct spectrum_study *study,
                               const struct fth_spectrum *spectrum, enum fth_pattern more_pattern,
                               enum fth_pattern less_pattern, double *difference,
                               struct fth_error *error)
{
    if (study->plan->path == FTH_PATH_CA) {
        *difference = spectrum->patterns[more_pattern].cycles.value -
                      spectrum->patterns[less_pattern].cycles.value;
        return FTH_OK;
    }
    const enum phase more = phase_of[more_pattern], less = phase_of[less_pattern];
    double differences[MAX_FEW_PAGES];
    size_t count = 0;
    for (uint64_t i = 1; i < study->counts[PHASE_FEW]; i++) {
        double high, low;
        FTH_TRY(median_at(study, more, i, &high, error));
        FTH_TRY(median_at(study, less, i, &low, error));
        differences[count++] = high - low;
    }
    return fth_quantile_f64(differences, count, 0.5, difference, error);
}

/* Finds the hops of the first touch that take longer than `max_cycles` and are at equal distances:
 * each begins a new page table. Moves them behind the other values and returns their number, with
 * *distance in hops. Both are 0 where there are fewer than two, or where too few distances are
 * equal. `slow_hops` has space for `count` values. */
static size_t split_switches(double *values, size_t count, double max_cycles, double *slow_hops,
                             uint64_t *distance)
{
    size_t switches = 0, last = 0, same = 0, pairs = 0, kept = 0;
    *distance = 0;
    for (size_t i = 0; i < count; i++) {
        if (values[i] <= max_cycles) {
            values[kept++] = values[i];
            continue;
        }
        if (switches) {
            uint64_t apart = i - last;
            *distance = *distance ? *distance : apart;
            same += apart == *distance;
            pairs++;
        }
        last = i;
        slow_hops[switches++] = values[i];
    }
    for (size_t i = 0; i < switches; i++)
        values[kept + i] = slow_hops[i];
    if (pairs == 0 || same * SAME_DENOMINATOR < pairs * SAME_NUMERATOR)
        *distance = 0;
    return *distance ? switches : 0;
}

/* Evaluates P5 and P6. */
static enum fth_status evaluate_first_touch(const struct spectrum_study *study,
                                            struct fth_spectrum *spectrum, struct fth_error *error)
{
    const size_t count = (size_t)study->counts[PHASE_FIRST_TOUCH] - 1;
    uint64_t distance = 0;
    double typical;
    FTH_TRY(gather(study, PHASE_FIRST_TOUCH, error));
    FTH_TRY(fth_quantile_f64(study->scratch, count, 0.5, &typical, error));
    double *slow_hops = calloc(count + 1, sizeof *slow_hops);
    if (!slow_hops)
        return fth_no_memory(error, operation, NULL);
    const double max_cycles = (typical + study->plan->far_extra_cycles) * (1 + switch_fraction);
    const size_t switches = split_switches(study->scratch, count, max_cycles, slow_hops, &distance);
    free(slow_hops);
    spectrum->page_table_bytes = distance * (study->stride - FTH_TLB_SKEW_BYTES);
    spectrum->patterns[FTH_PATTERN_SWITCH].presence = switches ? FTH_PRESENT : FTH_ABSENT;
    FTH_TRY(summarize(study, study->scratch, count - switches, cold_quantile(study),
                      &spectrum->patterns[FTH_PATTERN_COLD_MISS].cycles, error));
    if (switches)
        FTH_TRY(summarize(study, study->scratch + count - switches, switches, 0.5,
                          &spectrum->patterns[FTH_PATTERN_SWITCH].cycles, error));
    return FTH_OK;
}

static enum fth_presence presence_of(double difference)
{
    return difference > FTH_TLB_MIN_RISE ? FTH_PRESENT : FTH_ABSENT;
}

/* Finds the cycles of L1 hits in P3, where the L1 lost lines. At most a few pages can still be in
 * the first TLB. If more lines than twice its entries take no longer than in P1, they were hits
 * that needed no translation. */
static enum fth_status find_hits(const struct spectrum_study *study, struct fth_spectrum *spectrum,
                                 struct fth_error *error)
{
    const double max = spectrum->patterns[FTH_PATTERN_HIT].cycles.value + FTH_TLB_MIN_RISE;
    const size_t count = (size_t)study->counts[PHASE_AGAIN] - 1;
    size_t hits = 0;
    FTH_TRY(gather(study, PHASE_AGAIN, error));
    for (size_t i = 0; i < count; i++)
        if (study->scratch[i] <= max)
            study->scratch[hits++] = study->scratch[i];
    if (hits * HITS_PART < count || hits <= 2 * study->plan->first_entries)
        return FTH_OK;
    return summarize(study, study->scratch, hits, 0.5,
                     &spectrum->patterns[FTH_PATTERN_HIT_MISS_BOTH].cycles, error);
}

static enum fth_status evaluate(const struct spectrum_study *study, struct fth_spectrum *spectrum,
                                struct fth_error *error)
{
    for (int i = FTH_PATTERN_HIT; i <= FTH_PATTERN_COLD; i++) {
        FTH_TRY(gather(study, phase_of[i], error));
        FTH_TRY(summarize(study, study->scratch, (size_t)study->counts[phase_of[i]] - 1,
                          i == FTH_PATTERN_COLD ? cold_quantile(study) : 0.5,
                          &spectrum->patterns[i].cycles, error));
    }
    if (study->plan->path == FTH_PATH_CA)
        FTH_TRY(find_hits(study, spectrum, error));
    FTH_TRY(evaluate_first_touch(study, spectrum, error));
    double one, both, any;
    FTH_TRY(compare(study, spectrum, FTH_PATTERN_HIT_MISS, FTH_PATTERN_HIT, &one, error));
    FTH_TRY(
        compare(study, spectrum, FTH_PATTERN_HIT_MISS_BOTH, FTH_PATTERN_HIT_MISS, &both, error));
    FTH_TRY(compare(study, spectrum, FTH_PATTERN_HIT_MISS_BOTH, FTH_PATTERN_HIT, &any, error));
    /* A miss of both TLBs takes at least as long as a miss of the first one. Where it takes no
     * time, the lines of P2 were slow because the cache had lost them. */
    one = fmin(one, any);
    /* P1 has only few lines, which may be slower than most. Derive it from P2 instead. */
    if (study->plan->path == FTH_PATH_CG && one > 0)
        spectrum->patterns[FTH_PATTERN_HIT].cycles.value =
            spectrum->patterns[FTH_PATTERN_HIT_MISS].cycles.value - one;
    const bool two = study->plan->second_entries > 0;
    const double cold = spectrum->patterns[FTH_PATTERN_COLD].cycles.value;
    spectrum->patterns[FTH_PATTERN_HIT].presence = FTH_PRESENT;
    spectrum->patterns[FTH_PATTERN_HIT_MISS].presence = presence_of(one);
    spectrum->patterns[FTH_PATTERN_HIT_MISS_BOTH].presence =
        two ? presence_of(both) : FTH_PRESENCE_UNKNOWN;
    spectrum->patterns[FTH_PATTERN_COLD].presence =
        presence_of(cold - spectrum->patterns[FTH_PATTERN_HIT].cycles.value);
    spectrum->patterns[FTH_PATTERN_COLD_MISS].presence =
        presence_of(spectrum->patterns[FTH_PATTERN_COLD_MISS].cycles.value - cold);
    return FTH_OK;
}

/* Whether a hit takes no longer if the first TLB does not have its page. */
static bool is_virtual(const struct fth_spectrum *spectrum)
{
    return spectrum->patterns[FTH_PATTERN_HIT_MISS].presence == FTH_ABSENT &&
           spectrum->patterns[FTH_PATTERN_HIT_MISS_BOTH].presence != FTH_PRESENT;
}

/* The difference of two patterns in each repeat as a figure: that of all repeats, the range of the
 * single ones, and how many resamples of them agree. */
static enum fth_status compare_repeats(const struct fth_spectrum repeats[REPEATS],
                                       enum fth_pattern more, enum fth_pattern less, double value,
                                       struct fth_figure *figure, struct fth_error *error)
{
    double values[REPEATS];
    *figure = (struct fth_figure){.value = value, .low = INFINITY, .high = -INFINITY};
    for (size_t i = 0; i < REPEATS; i++) {
        values[i] = repeats[i].patterns[more].cycles.value - repeats[i].patterns[less].cycles.value;
        figure->low = fmin(figure->low, values[i]);
        figure->high = fmax(figure->high, values[i]);
    }
    return fth_cycles_agreement(values, REPEATS, &figure->confidence, error);
}

/* Computes how well the repeats agree on the cycles of the patterns that are present: the smallest
 * agreement of all patterns. */
static enum fth_status compare_cycles(const struct fth_spectrum repeats[REPEATS],
                                      struct fth_spectrum *spectrum, struct fth_error *error)
{
    spectrum->cycles_confidence = 1;
    for (size_t pattern = 0; pattern < FTH_PATTERNS; pattern++) {
        double values[REPEATS], confidence;
        for (size_t i = 0; i < REPEATS; i++)
            values[i] = repeats[i].patterns[pattern].cycles.value;
        FTH_TRY(fth_cycles_agreement(values, REPEATS, &confidence, error));
        if (spectrum->patterns[pattern].presence == FTH_PRESENT)
            spectrum->cycles_confidence = fmin(spectrum->cycles_confidence, confidence);
    }
    return FTH_OK;
}

/* Slow accesses at equal distances are a page table only if most repeats show them. In the medians
 * of all repeats, two slow accesses can have any distance by chance. */
static void confirm_switches(const struct fth_spectrum repeats[REPEATS],
                             struct fth_spectrum *spectrum)
{
    size_t present = 0;
    for (size_t i = 0; i < REPEATS; i++)
        present += repeats[i].patterns[FTH_PATTERN_SWITCH].presence == FTH_PRESENT;
    if (2 * present > REPEATS)
        return;
    spectrum->patterns[FTH_PATTERN_SWITCH].presence = FTH_ABSENT;
    spectrum->page_table_bytes = 0;
}

/* Evaluates each repeat alone. Those with the same result as all of them are the evidence. */
static enum fth_status evaluate_repeats(const struct spectrum_study *study,
                                        struct fth_spectrum *spectrum, struct fth_error *error)
{
    struct fth_spectrum repeats[REPEATS] = {{.samples = 0}};
    spectrum->is_virtual = is_virtual(spectrum);
    spectrum->evidence = spectrum->addressing_evidence = spectrum->table_evidence =
        (struct fth_evidence){.repeats = REPEATS};
    for (size_t i = 0; i < REPEATS; i++) {
        struct spectrum_study alone = *study;
        alone.only = i + 1;
        FTH_TRY(evaluate(&alone, &repeats[i], error));
    }
    confirm_switches(repeats, spectrum);
    for (size_t i = 0; i < REPEATS; i++) {
        bool same = true;
        for (size_t k = 0; k < FTH_PATTERNS; k++)
            same = same && repeats[i].patterns[k].presence == spectrum->patterns[k].presence;
        spectrum->evidence.agree += same;
        spectrum->addressing_evidence.agree += is_virtual(&repeats[i]) == spectrum->is_virtual;
        spectrum->table_evidence.agree += repeats[i].page_table_bytes == spectrum->page_table_bytes;
    }
    FTH_TRY(compare_cycles(repeats, spectrum, error));
    FTH_TRY(compare_repeats(repeats, FTH_PATTERN_HIT_MISS, FTH_PATTERN_HIT,
                            spectrum->patterns[FTH_PATTERN_HIT_MISS].cycles.value -
                                spectrum->patterns[FTH_PATTERN_HIT].cycles.value,
                            &spectrum->tlb_miss, error));
    const struct fth_figure *slow = &spectrum->patterns[FTH_PATTERN_SWITCH].cycles;
    const struct fth_figure *cold = &spectrum->patterns[FTH_PATTERN_COLD_MISS].cycles;
    FTH_TRY(compare_repeats(repeats, FTH_PATTERN_SWITCH, FTH_PATTERN_COLD_MISS,
                            slow->value - cold->value, &spectrum->table_switch, error));
    /* The loads differ because of their lines, not because of the repeats: latencies of different
     * lines differ, and the lines of both patterns are not the same. */
    spectrum->table_switch.low = slow->low - cold->high;
    spectrum->table_switch.high = slow->high - cold->low;
    return FTH_OK;
}

/* The largest power of two up to MAX_STRIDE, and at least one page, at which `count` pages fit into
 * the memory; 0: there is none. */
static uint64_t choose_stride(const struct fth_spectrum_plan *plan, uint64_t count)
{
    uint64_t stride = MAX_STRIDE > plan->page_bytes ? MAX_STRIDE : plan->page_bytes;
    while (stride > plan->page_bytes &&
           (count + 1) * (stride + FTH_TLB_SKEW_BYTES) > plan->max_bytes)
        stride /= 2;
    return (count + 1) * (stride + FTH_TLB_SKEW_BYTES) > plan->max_bytes ? 0 : stride;
}

enum fth_status fth_probe_spectrum(const struct fth_prober *prober,
                                   const struct fth_spectrum_plan *plan,
                                   struct fth_spectrum *spectrum, struct fth_error *error)
{
    *spectrum = (struct fth_spectrum){0};
    const uint64_t few =
        plan->first_entries / 2 < MAX_FEW_PAGES ? plan->first_entries / 2 : MAX_FEW_PAGES;
    const uint64_t twice = 2 * plan->first_entries;
    uint64_t many = plan->second_entries + plan->second_entries / MANY_PART + MANY_PAGES;
    many = many > twice ? many : twice;
    const uint64_t cached =
        plan->cached_lines && plan->cached_lines < many ? plan->cached_lines : many;
    struct spectrum_study study = {
        .plan = plan, .many = many, .counts = {cached, cached, twice, NEAR_LINES, few}};
    const uint64_t stride = choose_stride(plan, many);
    if (few < 2 || cached < twice || stride < (uint64_t)2 * OTHER_LINE)
        return fth_fail(error, FTH_INCONCLUSIVE, operation, NULL,
                        few < 2 ? "the first TLB is unknown"
                        : cached < twice
                            ? "the cache holds fewer lines than twice the entries of the first TLB"
                            : "too little device memory");
    study.stride = stride + FTH_TLB_SKEW_BYTES;
    spectrum->stride_bytes = stride;
    struct fth_request requests[2 * REPEATS];
    for (size_t i = 0; i < FTH_COUNT(requests); i++)
        requests[i] = i % 2 ? make_request(&study) : make_reset(&study);
    FTH_TRY(fth_ask(prober, requests, FTH_COUNT(requests), &study.answers, error));
    study.scratch = calloc(many + NEAR_LINES, sizeof *study.scratch);
    enum fth_status status =
        study.scratch ? evaluate(&study, spectrum, error) : fth_no_memory(error, operation, NULL);
    if (status == FTH_OK)
        status = evaluate_repeats(&study, spectrum, error);
    for (size_t i = 1; i < study.answers.count; i += 2)
        spectrum->samples += study.answers.items[i].count;
    spectrum->tlb_miss.samples = spectrum->table_switch.samples = spectrum->samples;
    free(study.scratch);
    fth_answers_fini(&study.answers);
    return status;
}
