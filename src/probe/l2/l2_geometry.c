/* Measures the L2 as one SM sees it: fill, line, sector, partitions and size.
 *
 * The fill is the distance between the misses of a first walk. Everything else comes from one
 * experiment. One thread loads some lines, the tracked lines. Then the whole block touches other
 * memory: a given footprint at a given stride. Then the tracked lines are timed one by one. Each
 * one is found in the near partition, in the far partition or in memory; this is its outcome.
 *
 *   line        As long as the stride of the touch is at most a line, the touch fills the same
 *               number of lines. From a stride of two lines on, it fills fewer lines, and fewer
 *               tracked lines are evicted.
 *   sector      The tracked lines are not loaded, but their first bytes are written, and nothing is
 *               touched. If less than a sector was written, the rest must come from memory.
 *   partitions  If there are two, the near partition holds copies of lines whose home is the far
 *               one. It loses these copies when half the size is touched. They are then found in
 *               the far partition, which takes longer than near and less time than memory.
 *   size        With LRU replacement, all lines stay as long as the footprint is less than the
 *               size, and none stays beyond it.
 *
 * The line, sector and partitions do not depend on the replacement policy or the index function:
 * these decide which lines are evicted, but with any of them fewer fills evict fewer lines. Each
 * touch uses memory that was not touched recently because some policies keep lines that were used
 * before. The method is fathom's own; docs/methods.md, "Beyond the SM", describes it. */
#include "probe/l2/probe_l2.h"

#include <math.h>
#include <stdlib.h>

/* ---- elements of chains ---- */

enum {
    ELEMENT = 8,         /* bytes of a chain element: the address of the next one */
    TWO_WAY_ELEMENT = 16 /* bytes of an element that also holds the address of the previous one */
};

/* ---- tracked lines and touched memory ---- */

enum {
    /* Tracked lines: one per BYTES_PER_LINE of the L2, within these limits, so that they occupy at
     * most a tenth of an L2 with lines of up to 256 bytes. Together with a touch of 0.8 of the size
     * (line_footprint at a stride of two lines), they must fit. Chosen: the standard deviation of a
     * fraction is at most 10 % with MIN_LINES, and 1.6 % with MAX_LINES. */
    BYTES_PER_LINE = 2560,
    MIN_LINES = 24,
    MAX_LINES = 1024,
    MAX_LINES_PART = 8,    /* tracked lines are at most this part of the lines of the L2 */
    LONGEST_STRIDE = 1024, /* bytes, of a touch: lines up to half of it can be found */
    MAX_SLOTS = 4,         /* maximum number of regions for touches. Chosen to limit the memory. */
    SLOT_FACTOR = 2,       /* size of a region, in sizes of the L2: more than the largest touch */
    /* Size that is assumed until it is measured; no supported GPU has a smaller L2. */
    SMALLEST_L2_BYTES = 256 << 10
};
/* Tracked lines are at least min_spacing_bytes apart, so that each is in a different line. The
 * spacing is the fill times the first factor that is large enough. The factors are primes, which
 * are unlikely to divide the number of sets, so that the lines are spread evenly over all sets. */
static const uint64_t min_spacing_bytes = 1024, spacing_factors[] = {11, 17, 37, 67, 131};

/* ---- thresholds between near, far and memory ---- */

/* A line is near up to this many interquartile ranges, and cycles, above the upper quartile of
 * lines that were loaded just before. A few slow loads do not change the quartiles. Chosen, not
 * derived: more than the 1.5 ranges of a box plot, which 0.35 % of a normal distribution exceed. */
static const double near_ranges = 2.5, near_cycles = 4;
/* A line is in memory above the 5 % quantile of the memory latency, less these cycles. Chosen,
 * not derived. */
static const double memory_margin_cycles = 2;

/* ---- fill, line and sector ---- */

enum {
    FILL_HOPS = 1024,  /* hops of ELEMENT bytes that are timed to find the fill. Chosen. */
    MAX_STRIDES = 6,   /* strides of the touch that are tried: fill, 2 * fill, … */
    WIDTHS = 4,        /* numbers of bytes that are written per line: 16, 32, 64, 128 */
    WRITE_REPEATS = 3, /* of each width, because other users of the L2 evict lines at times */
    WRITE_REQUESTS = WIDTHS * WRITE_REPEATS
};
/* Footprint of the touch that finds the line, as a fraction of the size. It evicts all tracked
 * lines of an LRU cache and 80 % of a cache with random replacement. */
static const double line_footprint = 1.6;

/* ---- partitions and footprints ---- */

/* Footprints of the touches that find partitions and size, as fractions of the size. Those from
 * FIRST_BETWEEN to LAST_BETWEEN are larger than one of two partitions and smaller than both. */
static const double footprints[] = {0.3, 0.45, 0.6, 0.75, 0.9, 1.1, 1.25};
enum { FOOTPRINTS = FTH_COUNT(footprints), FIRST_BETWEEN = 2, LAST_BETWEEN = 4 };
/* Number of measurements of the onset footprint, each in different memory. On an H200, touching
 * 0.45 of the size evicts about 6 of 1,024 lines, but none in one run of seven, because the
 * physical addresses decide how evenly pages fill the sets. Chosen: all four measurements miss the
 * evictions in about one of 2,000 runs. */
enum {
    ONSET_REPEATS = 4,
    MAX_ONSETS = 3, /* candidates that are repeated; the onset is unknown if all fail. Chosen. */
    MAX_ONSET_REQUESTS = MAX_ONSETS * (ONSET_REPEATS - 1)
};
/* Minimum fraction of tracked lines that must stay near at the smallest footprint for the absence
 * of far lines to show one partition: most of them. */
static const double min_kept = 0.5;
/* Maximum fraction of lines that seem far although they were loaded just before, as a part of that
 * fraction at the footprints between one partition and two. Chosen: it is 0, up to noise. */
static const double max_slow_part = 0.5;

/* ---- lines that do not stay ---- */

enum { HOME_LINES = 256 }; /* lines that are written if new lines do not stay. Chosen. */
/* Minimum share of the loads that form a plateau, and maximum relative distance of the near plateau
 * from the latency of the L2. Chosen, not derived. */
static const double min_plateau_share = 0.1, near_tolerance = 0.05;

/* ---- the size, if the driver does not report it ---- */

/* The first touch of the search, in bytes, which doubles. Chosen: a quarter of the smallest L2. */
static const uint64_t first_touch_bytes = 64 << 10;
/* The bisection ends when the bracket is at most this part of the size: about 1 %. */
enum { SIZE_PARTS = 128 };
/* Fraction of tracked lines that a touch of the whole size evicts at least, with a margin for loads
 * that are disturbed. */
static const double min_loss_of_all = 0.95;
/* If the L2 replaces the least recently used line, a touch of 4/5 of the size evicts at most half
 * of the lines (those whose home is the near one of two partitions). The limit has a margin of 0.1.
 * Chosen, not derived. */
static const double max_early_loss = 0.6;
enum { EARLY_NUMERATOR = 4, EARLY_DENOMINATOR = 5 };
/* Two footprints decide on the size, one on either side of the edge. */
static const struct fth_evidence size_evidence = {.repeats = 2, .agree = 2};

/* ---- experiments ---- */

struct l2 {
    const struct fth_prober *prober;
    const struct fth_l2_plan *plan;
    struct fth_l2_found *found;
    uint64_t size_bytes;
    uint64_t lines;                          /* number of tracked lines per request */
    uint64_t slot_bytes;                     /* size of one region for touches */
    uint64_t slots;                          /* number of these regions */
    uint64_t slot;                           /* index of the next request */
    double near_threshold, memory_threshold; /* cycles of a timed hop, as in struct fth_l2_found */
    double slow_fraction; /* of lines that were loaded just before and seem far */
};

/* Returns the tracked lines of a request. Each slot has lines of its own. */
static struct fth_chain tracked_lines(const struct l2 *l2, uint64_t slot)
{
    uint64_t fill = l2->found->fill.value;
    size_t choice = 0;
    while (choice + 1 < FTH_COUNT(spacing_factors) &&
           spacing_factors[choice] * fill < min_spacing_bytes)
        choice++;
    uint64_t stride = spacing_factors[choice] * fill;
    stride = (stride + TWO_WAY_ELEMENT - 1) / TWO_WAY_ELEMENT * TWO_WAY_ELEMENT;
    return (struct fth_chain){
        .stride_bytes = stride, .start_bytes = slot * l2->lines * stride, .count = l2->lines};
}

/* Returns a request that loads the tracked lines, touches `bytes` of memory (0: nothing) and times
 * the tracked lines. */
static struct fth_request make_request(struct l2 *l2, uint64_t bytes, uint64_t stride)
{
    struct fth_request request = fth_request_make(-1);
    struct fth_chain lines = tracked_lines(l2, l2->slot);
    struct fth_chain touched = {.array = 1,
                                .start_bytes = l2->slot % l2->slots * l2->slot_bytes,
                                .stride_bytes = stride,
                                .count = bytes / stride};
    struct fth_chain first = {.array = 1, .stride_bytes = LONGEST_STRIDE, .count = 1};
    l2->slot++;
    request.alone = true;
    request.sm = 0;
    fth_request_add(&request, FTH_STEP_WALK, FTH_PATH_CG, lines, 1);
    if (touched.count) {
        fth_request_add(&request, FTH_STEP_WALK, FTH_PATH_CG, first, 1);
        fth_request_add(&request, FTH_STEP_TOUCH, FTH_PATH_CG, touched, 1);
    }
    fth_request_add(&request, FTH_STEP_TIME_HOPS, FTH_PATH_CG, lines, 1);
    return request;
}

/* Computes the latency of the far partition from the hops between the two thresholds. */
static enum fth_status find_far(struct l2 *l2, const struct fth_samples *samples,
                                struct fth_error *error)
{
    uint32_t *between = calloc(samples->count, sizeof *between);
    if (!between)
        return fth_no_memory(error, "find partitions", NULL);
    size_t count = 0;
    for (size_t i = 0; i < samples->count; i++)
        if (samples->cycles[i] > l2->near_threshold && samples->cycles[i] <= l2->memory_threshold)
            between[count++] = samples->cycles[i];
    enum fth_status status = fth_plateau_figure(between, count, l2->plan->overhead_cycles,
                                                &l2->found->far_latency, error);
    l2->found->far_latency.clock_mhz = samples->clock_mhz;
    free(between);
    return status;
}

/* Sets near_threshold and slow_fraction from near hits. */
static enum fth_status find_near_edge(struct l2 *l2, const struct fth_samples *samples,
                                      struct fth_error *error)
{
    double *sorted = NULL;
    FTH_TRY(fth_sorted_u32(samples->cycles, samples->count, "find partitions", &sorted, error));
    const double low = fth_quantile_sorted(sorted, samples->count, 0.25);
    const double high = fth_quantile_sorted(sorted, samples->count, 0.75);
    l2->near_threshold = high + near_ranges * (high - low) + near_cycles;
    free(sorted);
    const struct fth_outcomes outcomes = fth_count_outcomes(
        samples->cycles, samples->count, l2->near_threshold, l2->memory_threshold);
    l2->slow_fraction = fth_outcome_fraction(outcomes.far_count, &outcomes);
    return FTH_OK;
}

static enum fth_status measure_requests(struct l2 *l2, const struct fth_request *requests,
                                        size_t count, struct fth_answers *answers,
                                        struct fth_outcomes *outcomes, struct fth_error *error)
{
    FTH_TRY(fth_ask(l2->prober, requests, count, answers, error));
    for (size_t i = 0; i < count; i++) {
        const struct fth_samples *samples = &answers->items[i];
        outcomes[i] = fth_count_outcomes(samples->cycles, samples->count, l2->near_threshold,
                                         l2->memory_threshold);
        l2->found->samples += samples->count;
    }
    return FTH_OK;
}

/* Measures the outcomes after each of several touches. The caller frees `answers`. */
static enum fth_status measure_touches(struct l2 *l2, const uint64_t *bytes,
                                       const uint64_t *strides, size_t count,
                                       struct fth_answers *answers, struct fth_outcomes *outcomes,
                                       struct fth_error *error)
{
    struct fth_request requests[FTH_MAX_OUTCOMES] = {0};
    for (size_t i = 0; i < count; i++)
        requests[i] = make_request(l2, bytes[i], strides[i]);
    return measure_requests(l2, requests, count, answers, outcomes, error);
}

/* Finds the fill: the distance between the loads of a cold walk that memory answers. */
static enum fth_status find_fill(struct l2 *l2, struct fth_error *error)
{
    struct fth_request request = fth_request_make(-1);
    struct fth_chain chain = {.stride_bytes = ELEMENT, .count = FILL_HOPS};
    request.cold = true;
    fth_request_add(&request, FTH_STEP_TIME_HOPS, FTH_PATH_CG, chain, 1);
    struct fth_answers answers = {0};
    FTH_TRY(fth_ask(l2->prober, &request, 1, &answers, error));
    const struct fth_samples *walk = &answers.items[0];
    const double threshold =
        l2->plan->overhead_cycles + sqrt(l2->plan->l2_cycles * l2->plan->memory->value);
    enum fth_status status =
        fth_decide_period(walk->cycles, walk->count, threshold, &l2->found->fill, error);
    l2->found->fill.value *= ELEMENT;
    l2->found->samples += walk->count;
    fth_answers_fini(&answers);
    return status;
}

/* Finds the line from touches of the same footprint with different strides. */
static enum fth_status find_line(struct l2 *l2, struct fth_error *error)
{
    uint64_t bytes[MAX_STRIDES], strides[MAX_STRIDES];
    struct fth_outcomes outcomes[MAX_STRIDES];
    struct fth_answers answers = {0};
    size_t count = 0;
    for (uint64_t stride = l2->found->fill.value; count < MAX_STRIDES && stride <= LONGEST_STRIDE;
         stride *= 2) {
        bytes[count] = (uint64_t)((double)l2->size_bytes * line_footprint);
        strides[count++] = stride;
    }
    FTH_TRY(measure_touches(l2, bytes, strides, count, &answers, outcomes, error));
    fth_answers_fini(&answers);
    l2->found->line = fth_decide_line(outcomes, count, l2->found->fill.value);
    return FTH_OK;
}

/* Decides the partitions from the outcomes of the footprints. The absence of far lines shows one
 * partition only if the line was found, and if the tracked lines stay at a small footprint. Far
 * lines show two only if there are fewer of them among lines that were loaded just before, all of
 * which are near: otherwise a part of a single partition is slower than the rest. */
static struct fth_decision decide_partitions(const struct l2 *l2,
                                             const struct fth_outcomes *outcomes)
{
    const struct fth_decision partitions =
        fth_decide_partitions(&outcomes[FIRST_BETWEEN], LAST_BETWEEN - FIRST_BETWEEN + 1);
    const double kept = fth_outcome_fraction(outcomes[0].near_count, &outcomes[0]);
    if (partitions.value == 1 && (!l2->found->line.value || kept < min_kept))
        return (struct fth_decision){0};
    double far = 0;
    for (size_t i = FIRST_BETWEEN; i <= LAST_BETWEEN; i++)
        far = fmax(far, fth_outcome_fraction(outcomes[i].far_count, &outcomes[i]));
    if (partitions.value > 1 && l2->slow_fraction > max_slow_part * far)
        return (struct fth_decision){0};
    return partitions;
}

/* Decides onset and full miss, of the whole L2 and of the near partition. */
static void decide_footprints(struct fth_l2_found *found, const struct fth_outcomes *outcomes,
                              const uint64_t *footprint_bytes)
{
    struct fth_decision decisions[FTH_FOOTPRINT_DECISIONS];
    struct fth_decision *const ends[FTH_FOOTPRINT_DECISIONS] = {
        [0] = &found->onset,
        [FTH_FOOTPRINT_FULL_MISS] = &found->full_miss,
        [FTH_FOOTPRINT_NEAR] = &found->near_onset,
        [FTH_FOOTPRINT_NEAR | FTH_FOOTPRINT_FULL_MISS] = &found->near_full_miss,
    };
    fth_decide_footprints(outcomes, FOOTPRINTS, decisions);
    for (size_t i = 0; i < FTH_COUNT(ends); i++) {
        *ends[i] = decisions[i];
        const uint64_t number = ends[i]->value; /* the index of the footprint, plus 1 */
        if (!number)
            continue;
        ends[i]->value = footprint_bytes[number - 1];
        if (i == 0)
            found->onset_next_bytes = footprint_bytes[number < FOOTPRINTS ? number : number - 1];
        if (i == FTH_FOOTPRINT_FULL_MISS)
            found->full_miss_previous_bytes = number > 1 ? footprint_bytes[number - 2] : 0;
    }
}

/* Measures the outcomes after a touch of `bytes` ONSET_REPEATS - 1 times more, and counts in *kept
 * the measurements after which all lines were in L2. */
static enum fth_status repeat_footprint(struct l2 *l2, const struct fth_outcomes *reference,
                                        uint64_t bytes, uint64_t line, size_t *kept,
                                        struct fth_error *error)
{
    uint64_t all[ONSET_REPEATS - 1], strides[ONSET_REPEATS - 1];
    struct fth_outcomes outcomes[ONSET_REPEATS - 1];
    struct fth_answers answers = {0};
    for (size_t i = 0; i < FTH_COUNT(all); i++) {
        all[i] = bytes;
        strides[i] = line;
    }
    FTH_TRY(measure_touches(l2, all, strides, FTH_COUNT(all), &answers, outcomes, error));
    fth_answers_fini(&answers);
    *kept = 0;
    for (size_t i = 0; i < FTH_COUNT(all); i++)
        *kept += fth_all_stay(reference, &outcomes[i]);
    return FTH_OK;
}

/* Repeats the measurement of the onset footprint in other memory. If lines are evicted there, tries
 * the next smaller footprint. Measurements count as agreeing if all lines stayed at the accepted
 * footprint, or if lines were evicted at a rejected one. */
static enum fth_status confirm_onset(struct l2 *l2, const struct fth_outcomes *outcomes,
                                     const uint64_t *footprint_bytes, const uint64_t *bytes,
                                     uint64_t line, struct fth_error *error)
{
    struct fth_l2_found *found = l2->found;
    struct fth_evidence repeats = {.repeats = 0};
    size_t count = 0;
    while (count < FOOTPRINTS && found->onset.value >= footprint_bytes[count])
        count++;
    const size_t least = count > MAX_ONSETS ? count - MAX_ONSETS : 0;
    for (; count > least; count--) {
        size_t kept = 0;
        FTH_TRY(repeat_footprint(l2, &outcomes[0], bytes[count - 1], line, &kept, error));
        repeats.repeats += ONSET_REPEATS;
        const bool all = kept == ONSET_REPEATS - 1;
        repeats.agree += (double)(all ? ONSET_REPEATS : ONSET_REPEATS - 1 - kept);
        if (all)
            break;
    }
    found->onset.value = count > least ? footprint_bytes[count - 1] : 0;
    found->onset_next_bytes = footprint_bytes[FTH_MIN(count, FOOTPRINTS - 1)];
    if (repeats.repeats > 0)
        found->onset.evidence = fth_weaker_evidence(found->onset.evidence, repeats);
    return FTH_OK;
}

/* Finds partitions, far latency, onset and full miss from touches of growing footprint. */
static enum fth_status find_curve(struct l2 *l2, struct fth_error *error)
{
    struct fth_l2_found *found = l2->found;
    uint64_t footprint_bytes[FOOTPRINTS], bytes[FOOTPRINTS], strides[FOOTPRINTS];
    struct fth_outcomes outcomes[FOOTPRINTS];
    struct fth_answers answers = {0};
    const uint64_t line = found->line.value ? found->line.value : found->fill.value;
    l2->lines = FTH_MIN(l2->lines, l2->size_bytes / line / MAX_LINES_PART);
    for (size_t i = 0; i < FOOTPRINTS; i++) {
        footprint_bytes[i] = (uint64_t)((double)l2->size_bytes * footprints[i]);
        /* Below the size, the tracked lines must fit as well and are part of the footprint. Above
         * it, the touch alone must exceed the size. */
        bytes[i] = footprint_bytes[i] - (footprints[i] < 1 ? l2->lines * line : 0);
        strides[i] = line;
    }
    FTH_TRY(measure_touches(l2, bytes, strides, FOOTPRINTS, &answers, outcomes, error));
    const struct fth_decision partitions = decide_partitions(l2, outcomes);
    if (partitions.value)
        found->partitions = partitions;
    decide_footprints(found, outcomes, footprint_bytes);
    size_t largest = FIRST_BETWEEN; /* the footprint with the most lines in the far partition */
    for (size_t i = FIRST_BETWEEN; i <= LAST_BETWEEN; i++)
        largest = outcomes[i].far_count > outcomes[largest].far_count ? i : largest;
    enum fth_status status =
        partitions.value > 1 ? find_far(l2, &answers.items[largest], error) : FTH_OK;
    fth_answers_fini(&answers);
    return status == FTH_OK ? confirm_onset(l2, outcomes, footprint_bytes, bytes, line, error)
                            : status;
}

/* ---- the sector ---- */

/* Returns a request whose lines are written only when their chains are built: the first
 * TWO_WAY_ELEMENT << index bytes of each line. Each chain writes one element per line; the first
 * chain is timed, and the others exist only to be built. A device keeps the chains it has built, so
 * each repeat of the measurement needs lines of its own. */
static struct fth_request make_write_request(const struct l2 *l2, size_t index, size_t slot)
{
    struct fth_request request = fth_request_make(-1);
    struct fth_chain chain = tracked_lines(l2, slot);
    chain.array = 2;
    request.alone = true;
    request.sm = 0;
    for (size_t i = 0; i < (size_t)1 << index; i++) {
        fth_request_add(&request, i ? FTH_STEP_WALK : FTH_STEP_TIME_HOPS, FTH_PATH_CG, chain, 1);
        request.chase.steps[i].reverse = true;
        chain.start_bytes += TWO_WAY_ELEMENT;
    }
    return request;
}

/* Returns a request that makes the device allocate all memory of this probe at once. Memory that is
 * written later must already be allocated: clearing it leaves lines in L2, which must be evicted
 * before the measurement. */
static struct fth_request make_reserving_request(const struct l2 *l2)
{
    struct fth_request request = fth_request_make(-1);
    struct fth_chain written = tracked_lines(l2, (l2->plan->repeat + 1) * WRITE_REQUESTS);
    written.array = 2;
    written.count = 1;
    struct fth_chain first = {.array = 1, .stride_bytes = LONGEST_STRIDE, .count = 1}, last = first;
    last.start_bytes = l2->slots * l2->slot_bytes - LONGEST_STRIDE;
    struct fth_chain lines = tracked_lines(l2, 1 + MAX_STRIDES + FOOTPRINTS + MAX_ONSET_REQUESTS);
    lines.count = 1;
    fth_request_add(&request, FTH_STEP_TIME_HOPS, FTH_PATH_CG, written, 1);
    fth_request_add(&request, FTH_STEP_WALK, FTH_PATH_CG, lines, 1);
    fth_request_add(&request, FTH_STEP_WALK, FTH_PATH_CG, first, 1);
    fth_request_add(&request, FTH_STEP_TOUCH, FTH_PATH_CG, last, 1);
    return request;
}

/* Other users of the L2 can only evict lines. Therefore, of the repeats of each width, the one with
 * the fewest lines in memory counts. */
static enum fth_status find_sector(struct l2 *l2, struct fth_error *error)
{
    struct fth_request requests[WRITE_REQUESTS];
    struct fth_outcomes outcomes[WRITE_REQUESTS];
    struct fth_answers answers = {0};
    for (size_t i = 0; i < WRITE_REQUESTS; i++)
        requests[i] = make_write_request(l2, i % WIDTHS, l2->plan->repeat * WRITE_REQUESTS + i);
    FTH_TRY(measure_requests(l2, requests, WRITE_REQUESTS, &answers, outcomes, error));
    fth_answers_fini(&answers);
    for (size_t i = WIDTHS; i < WRITE_REQUESTS; i++)
        if (outcomes[i].memory_count < outcomes[i % WIDTHS].memory_count)
            outcomes[i % WIDTHS] = outcomes[i];
    l2->found->sector = fth_decide_sector(outcomes, WIDTHS, TWO_WAY_ELEMENT);
    /* A fill is at least one sector. */
    if (l2->found->sector.value > l2->found->fill.value)
        l2->found->sector = (struct fth_decision){0};
    return FTH_OK;
}

/* ---- lines that do not stay ---- */

/* Finds the partitions and the near threshold from lines that were just written. Such lines are
 * only in their home partition. */
static enum fth_status analyze_written(struct l2 *l2, const struct fth_samples *samples,
                                       struct fth_error *error)
{
    const double near = l2->plan->overhead_cycles + l2->plan->l2_cycles;
    struct fth_clusters plateaus;
    FTH_TRY(fth_modes_u32(samples->cycles, samples->count, min_plateau_share, &plateaus, error));
    if (plateaus.count < 2 || fabs(plateaus.items[0].median - near) > near_tolerance * near ||
        plateaus.thresholds[0] >= l2->memory_threshold)
        return fth_fail(error, FTH_INCONCLUSIVE, "find partitions", NULL,
                        "the latencies of L2 and memory are too close to distinguish");
    l2->near_threshold = plateaus.thresholds[0];
    const struct fth_outcomes outcomes = fth_count_outcomes(
        samples->cycles, samples->count, l2->near_threshold, l2->memory_threshold);
    const struct fth_decision partitions = fth_decide_partitions(&outcomes, 1);
    if (partitions.value < 2)
        return FTH_OK;
    l2->found->partitions = partitions;
    l2->found->evicts_early = true;
    return find_far(l2, samples, error);
}

/* If the L2 keeps the lines that were used most often, new lines evict each other before other
 * memory is touched. A few lines that were just written are still in their home partition, near or
 * far, and show the partitions instead. */
static enum fth_status find_written_homes(struct l2 *l2, struct fth_error *error)
{
    struct fth_request request = make_write_request(l2, WIDTHS - 1, WIDTHS - 1);
    for (size_t i = 0; i < request.chase.step_count; i++)
        request.chase.steps[i].chain.count = HOME_LINES;
    struct fth_answers answers = {0};
    FTH_TRY(fth_ask(l2->prober, &request, 1, &answers, error));
    l2->found->samples += answers.items[0].count;
    enum fth_status status = analyze_written(l2, &answers.items[0], error);
    fth_answers_fini(&answers);
    return status;
}

/* ---- the size, if the driver does not report it ---- */

/* Measures the fraction of tracked lines that a touch of `bytes` evicts to memory. */
static enum fth_status measure_loss(struct l2 *l2, uint64_t bytes, double *loss,
                                    struct fth_error *error)
{
    struct fth_outcomes outcomes;
    struct fth_answers answers = {0};
    l2->slot = 0;
    FTH_TRY(measure_touches(l2, &bytes, &l2->found->fill.value, 1, &answers, &outcomes, error));
    fth_answers_fini(&answers);
    *loss = fth_outcome_fraction(outcomes.memory_count, &outcomes);
    return FTH_OK;
}

/* Finds the smallest footprint that evicts all tracked lines. This is the size if the L2 replaces
 * the least recently used line. If a touch of 4/5 of it evicts too many lines, the L2 does not, and
 * the size stays unknown. */
static enum fth_status measure_size(struct l2 *l2, struct fth_error *error)
{
    uint64_t low = 0, high = first_touch_bytes;
    double loss = 0;
    for (;; high *= 2) {
        if (2 * high > l2->plan->max_bytes)
            return fth_fail(error, FTH_INCONCLUSIVE, "find the L2 size", NULL,
                            "lines stay in L2 at every footprint that fits into memory");
        FTH_TRY(measure_loss(l2, high, &loss, error));
        if (loss >= min_loss_of_all)
            break;
        low = high;
    }
    while ((high - low) * SIZE_PARTS > high) {
        uint64_t middle = (low + (high - low) / 2) & ~(uint64_t)(LONGEST_STRIDE - 1);
        FTH_TRY(measure_loss(l2, middle, &loss, error));
        *(loss >= min_loss_of_all ? &high : &low) = middle;
    }
    FTH_TRY(measure_loss(l2, high / EARLY_DENOMINATOR * EARLY_NUMERATOR, &loss, error));
    if (loss > max_early_loss)
        return fth_fail(error, FTH_INCONCLUSIVE, "find the L2 size", NULL,
                        "lines are evicted gradually; all are gone only after a touch of %llu KiB",
                        (unsigned long long)high >> 10);
    l2->size_bytes = high;
    l2->found->size = (struct fth_decision){high, size_evidence};
    return FTH_OK;
}

/* Finds near_threshold from lines that were loaded just before, and allocates all memory. */
static enum fth_status calibrate(struct l2 *l2, struct fth_error *error)
{
    struct fth_request requests[] = {make_reserving_request(l2),
                                     make_request(l2, 0, LONGEST_STRIDE)};
    struct fth_answers answers = {0};
    FTH_TRY(fth_ask(l2->prober, requests, FTH_COUNT(requests), &answers, error));
    l2->found->samples += answers.items[1].count;
    enum fth_status status = find_near_edge(l2, &answers.items[1], error);
    fth_answers_fini(&answers);
    if (status == FTH_OK && l2->near_threshold >= l2->memory_threshold)
        status = find_written_homes(l2, error);
    return status;
}

/* Chooses the number of tracked lines and the memory for touches, both from the size. */
static void choose_lines(struct l2 *l2)
{
    uint64_t lines = l2->size_bytes / BYTES_PER_LINE;
    l2->lines = lines < MIN_LINES ? MIN_LINES : lines > MAX_LINES ? MAX_LINES : lines;
    l2->slot_bytes = SLOT_FACTOR * l2->size_bytes & ~(uint64_t)(LONGEST_STRIDE - 1);
    l2->slots = l2->plan->max_bytes / l2->slot_bytes;
    l2->slots = l2->slots < 1 ? 1 : l2->slots > MAX_SLOTS ? MAX_SLOTS : l2->slots;
}

/* Finds one figure after the other; each needs those before it. */
static enum fth_status find_figures(struct l2 *l2, struct fth_error *error)
{
    FTH_TRY(find_fill(l2, error));
    if (!l2->found->fill.value)
        return fth_fail(error, FTH_INCONCLUSIVE, "find the L2 fill size", NULL,
                        "the misses of a cold walk are not evenly spaced");
    choose_lines(l2);
    FTH_TRY(calibrate(l2, error));
    if (!l2->plan->size_bytes) {
        FTH_TRY(measure_size(l2, error));
        choose_lines(l2);
    }
    FTH_TRY(find_line(l2, error));
    FTH_TRY(find_curve(l2, error));
    return find_sector(l2, error);
}

enum fth_status fth_probe_l2(const struct fth_prober *prober, const struct fth_l2_plan *plan,
                             struct fth_l2_found *found, struct fth_error *error)
{
    *found = (struct fth_l2_found){0};
    struct l2 l2 = {.prober = prober,
                    .plan = plan,
                    .found = found,
                    .size_bytes = plan->size_bytes ? plan->size_bytes : SMALLEST_L2_BYTES,
                    .memory_threshold =
                        plan->overhead_cycles + plan->memory->low - memory_margin_cycles};
    enum fth_status status = find_figures(&l2, error);
    found->line = fth_likely_line(found->line);
    found->near_threshold = l2.near_threshold;
    found->memory_threshold = l2.memory_threshold;
    return status;
}
