/* Finds out whether a line that a load with a hint brings into L1 or L2 stays there longer or
 * shorter than others.
 *
 * All threads read as many lines as the cache holds, so that it is full. One lane reads other
 * lines, the targets, half of them with the variant and half with a plain load. Then all threads
 * read further lines with plain loads (the pressure), and the lane times a read of each of the
 * targets. With growing pressure, the plain lines are evicted at some point. Lines that are evicted
 * earlier or later than they are have another priority:
 *
 *   targets that stay            plain      first     last
 *   pressure 0.5 of the cache    all        none      all
 *   pressure 4 times the cache   none       none      all
 *
 * Each request has targets of its own, because a hint can have an effect on later requests. */
#include "probe/cache/probe_cache.h"

#include <stdlib.h>

enum {
    /* Targets of a request, at most an eighth of the cache, and of all repeats. Chosen: half of
     * them decide, which is enough if the replacement is random. */
    MAX_TARGETS = 128,
    MIN_TARGETS = 8,
    TARGETS_PART = 8,
    PRESSURES = 6,
    /* Lines between the targets of two requests: the lines of the variant of one request are then
     * in the sets of the plain lines of the next one. */
    SHIFT = 2,
    /* Bytes from one line of the L2 to the next one, in lines. It is odd, so that the lines are in
     * all sets, and more than the prefetch of a hint. */
    L2_STRIDE_LINES = 3
};
/* The pressure, as a fraction of the lines of the cache. Chosen: below and above its size; the last
 * one evicts everything even if the replacement is random (exp(-4) of the lines remain). */
static const double pressures[PRESSURES] = {0.25, 0.5, 0.75, 1, 2, 4};
/* Fraction of lines that stay if they are evicted, at most, and if they are kept, at least; and the
 * maximum difference between lines of the same priority. Chosen, not derived. */
static const double max_evicted = 0.25, min_kept = 0.75, max_difference = 0.35;
/* The same for lines that are evicted first, and plain lines at the same pressure. Chosen: on an
 * H200, 0 to 2 % of them stay, and 40 to 60 % of lines of which only some are evicted first. At the
 * pressure that evicts all of them, an L1 keeps 70 to 80 % of the plain lines. */
static const double max_first = 0.15, min_plain = 0.6;

enum fth_access_priority fth_decide_priority(const double *own, const double *plain, size_t count)
{
    bool differs = false;
    for (size_t i = 0; i < count; i++) {
        if (plain[i] <= max_evicted && own[i] >= min_kept)
            return FTH_ACCESS_LAST;
        if (plain[i] >= min_plain && own[i] <= max_first)
            return FTH_ACCESS_FIRST;
        differs =
            differs || own[i] - plain[i] > max_difference || plain[i] - own[i] > max_difference;
    }
    return differs || plain[count - 1] > max_evicted ? FTH_ACCESS_UNKNOWN : FTH_ACCESS_NORMAL;
}

/* The number of targets: a multiple of 4, at most an eighth of the cache. */
static uint32_t count_targets(const struct fth_priority_plan *plan)
{
    const uint64_t part = plan->lines / TARGETS_PART;
    return (uint32_t)(part < MAX_TARGETS ? part & ~UINT64_C(3) : MAX_TARGETS);
}

/* The number of requests per variant and pressure: small caches have few targets per request. */
static size_t count_repeats(const struct fth_priority_plan *plan)
{
    return (MAX_TARGETS + count_targets(plan) - 1) / count_targets(plan);
}

/* Makes request number `index`; the variants have PRESSURES times the repeats each. */
static struct fth_request make_request(const struct fth_priority_plan *plan,
                                       const enum fth_variant *variants, size_t index)
{
    const uint64_t stride = (plan->path == FTH_PATH_CA ? 1 : L2_STRIDE_LINES) * plan->line_bytes;
    const size_t run = index / count_repeats(plan);
    struct fth_request request = fth_request_make(plan->carveout_percent);
    request.family = FTH_FAMILY_HINT;
    request.hint = (struct fth_access_hint){
        .kind = FTH_HINT_SURVIVE,
        .path = plan->path,
        .variants = UINT64_C(1) << variants[run / PRESSURES],
        .stride_bytes = (uint32_t)stride,
        .first = (uint32_t)(plan->start_bytes / stride) +
                 (uint32_t)index * (count_targets(plan) + SHIFT),
        .prior = (uint32_t)plan->lines,
        .targets = count_targets(plan),
        .pressure = (uint32_t)(pressures[run % PRESSURES] * (double)plan->lines)};
    return request;
}

/* The fraction of the targets of the variant, or of the plain ones, whose read hits, in all
 * repeats.
 */
static double count_kept(const struct fth_samples *answers, size_t repeats, bool of_variant,
                         double threshold)
{
    size_t kept = 0, count = 0;
    for (size_t i = 0; i < repeats; i++)
        for (size_t k = 0; k < answers[i].count; k++)
            if (fth_hint_is_variant(k) == of_variant) {
                kept += answers[i].cycles[k] <= threshold;
                count++;
            }
    return count ? (double)kept / (double)count : 0;
}

/* Whether some pressure keeps plain lines, on average over the requests of all variants. Where none
 * does, lines that are evicted first do not differ from them. */
static bool keeps_plain_lines(const struct fth_samples *answers, size_t variants, size_t repeats,
                              double threshold)
{
    bool keeps = false;
    for (size_t i = 0; i < PRESSURES; i++) {
        double sum = 0;
        for (size_t k = 0; k < variants; k++)
            sum += count_kept(answers + (k * PRESSURES + i) * repeats, repeats, false, threshold);
        keeps = keeps || sum / (double)variants > max_evicted + max_difference;
    }
    return keeps;
}

/* Decides about one variant from its answers, with reads up to `threshold` as hits. Adds to the
 * evidence how clear they are: with the largest pressure, either nearly all lines of a kind are
 * kept or nearly none. `keeps`: some pressure keeps plain lines. */
static enum fth_access_priority decide(const struct fth_samples *answers, size_t repeats,
                                       double threshold, bool keeps, struct fth_evidence *evidence,
                                       bool *evicted)
{
    double own[PRESSURES], plain[PRESSURES];
    for (size_t i = 0; i < PRESSURES; i++) {
        own[i] = count_kept(answers + i * repeats, repeats, true, threshold);
        plain[i] = count_kept(answers + i * repeats, repeats, false, threshold);
    }
    enum fth_access_priority priority = fth_decide_priority(own, plain, PRESSURES);
    if (priority == FTH_ACCESS_NORMAL && !keeps)
        priority = FTH_ACCESS_UNKNOWN;
    const double clear[] = {own[PRESSURES - 1], plain[PRESSURES - 1]};
    for (size_t i = 0; i < FTH_COUNT(clear) && priority != FTH_ACCESS_UNKNOWN; i++) {
        evidence->repeats += 1;
        evidence->agree += clear[i] > 0.5 ? clear[i] : 1 - clear[i];
    }
    *evicted = *evicted || plain[PRESSURES - 1] <= max_evicted;
    return priority;
}

/* Decides by hits in the near partition if the plan says so. Where a GPU keeps the lines only in
 * their home, half of them are never near, and hits in both partitions decide. But they do not show
 * that lines are evicted first: plain lines have a second copy. */
static enum fth_access_priority decide_by_homes(const struct fth_priority_plan *plan,
                                                const struct fth_samples *answers, size_t repeats,
                                                bool keeps, struct fth_evidence *evidence,
                                                bool *evicted)
{
    enum fth_access_priority priority = FTH_ACCESS_UNKNOWN;
    if (plan->near_threshold_cycles > 0)
        priority = decide(answers, repeats, plan->near_threshold_cycles, keeps, evidence, evicted);
    if (priority != FTH_ACCESS_UNKNOWN)
        return priority;
    struct fth_evidence own = *evidence;
    priority = decide(answers, repeats, plan->threshold_cycles, keeps, &own, evicted);
    if (plan->near_threshold_cycles > 0 && priority == FTH_ACCESS_FIRST)
        return FTH_ACCESS_UNKNOWN;
    *evidence = own;
    return priority;
}

enum fth_status fth_probe_access_priorities(const struct fth_prober *prober,
                                            const struct fth_priority_plan *plan,
                                            const enum fth_variant *variants, size_t count,
                                            struct fth_access_priorities *found,
                                            struct fth_error *error)
{
    struct fth_answers answers = {0};
    *found = (struct fth_access_priorities){.samples = 0};
    if (count_targets(plan) < MIN_TARGETS || count == 0 || count > FTH_VARIANTS)
        return fth_fail(error, FTH_INCONCLUSIVE, "find eviction priorities", NULL,
                        "the cache has too few lines");
    const size_t repeats = count_repeats(plan), runs = PRESSURES * repeats;
    struct fth_request *requests = calloc(count * runs, sizeof *requests);
    if (!requests)
        return fth_no_memory(error, "find eviction priorities", NULL);
    for (size_t i = 0; i < count * runs; i++)
        requests[i] = make_request(plan, variants, i);
    enum fth_status status = fth_ask(prober, requests, count * runs, &answers, error);
    bool evicted = false;
    const bool keeps = status == FTH_OK &&
                       keeps_plain_lines(answers.items, count, repeats, plan->threshold_cycles);
    for (size_t i = 0; i < answers.count; i++)
        found->samples += answers.items[i].count;
    for (size_t i = 0; i < count && status == FTH_OK; i++)
        found->priorities[i] = decide_by_homes(plan, answers.items + i * runs, repeats, keeps,
                                               &found->evidence, &evicted);
    if (status == FTH_OK && !evicted)
        status = fth_fail(error, FTH_INCONCLUSIVE, "find eviction priorities", NULL,
                          "reads of four times as many lines as the cache holds do not evict the "
                          "lines that were read before");
    if (status == FTH_OK && !(found->evidence.repeats > 0))
        status = fth_fail(error, FTH_INCONCLUSIVE, "find eviction priorities", NULL,
                          "reads of a quarter of the lines that the cache holds evict most of the "
                          "lines that were read before");
    fth_answers_fini(&answers);
    free(requests);
    return status;
}
