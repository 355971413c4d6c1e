/* Finds out whether a line that a load with a hint brings into L1 or L2 stays there longer or
 * shorter than others.
 *
 * All threads read as many lines as the cache holds, so that it is full. One lane reads other
 * lines, the targets, alternately with the variant and with a plain load. Then all threads read
 * further lines with plain loads (the pressure), and the lane times a read of each of the targets.
 * With growing pressure, the plain lines are evicted at some point. Lines that are evicted earlier
 * or later than they are have another priority:
 *
 *   targets that stay            plain      first     last
 *   pressure 0.5 of the cache    all        none      all
 *   pressure 4 times the cache   none       none      all
 *
 * A second experiment decides about variants that are like plain loads: all targets are plain, and
 * the pressure uses the variant. If the targets stay, the variant replaces no plain lines.
 *
 * Each request has targets of its own, because a hint can have an effect on later requests. */
#include "probe/cache/probe_cache.h"

#include <stdlib.h>

enum {
    MAX_TARGETS = 128, /* at most an eighth of the cache. Chosen, not derived. */
    MIN_TARGETS = 8,
    TARGETS_PART = 8,
    PRESSURES = 5,
    /* Bytes from one line of the L2 to the next one, in lines. It is odd, so that the lines are in
     * all sets, and more than the prefetch of a hint. */
    L2_STRIDE_LINES = 3
};
/* The pressure, as a fraction of the lines of the cache. Chosen: below and above its size; the last
 * one evicts everything even if the replacement is random (exp(-4) of the lines remain). */
static const double pressures[PRESSURES] = {0.25, 0.5, 1, 2, 4};
/* Fraction of lines that stay if they are evicted, at most, and if they are kept, at least; and the
 * maximum difference between lines of the same priority. Chosen, not derived. */
static const double max_evicted = 0.25, min_kept = 0.75, max_difference = 0.35;

enum fth_access_priority fth_decide_priority(const double *own, const double *plain, size_t count,
                                             double spared)
{
    bool differs = false;
    for (size_t i = 0; i < count; i++) {
        if (plain[i] <= max_evicted && own[i] >= min_kept)
            return FTH_ACCESS_LAST;
        if (plain[i] >= min_kept && own[i] <= max_evicted)
            return FTH_ACCESS_FIRST;
        differs =
            differs || own[i] - plain[i] > max_difference || plain[i] - own[i] > max_difference;
    }
    if (differs || plain[count - 1] > max_evicted)
        return FTH_ACCESS_UNKNOWN;
    return spared >= min_kept      ? FTH_ACCESS_OWN
           : spared <= max_evicted ? FTH_ACCESS_NORMAL
                                   : FTH_ACCESS_UNKNOWN;
}

/* The number of targets: even, at most an eighth of the cache. */
static uint32_t count_targets(const struct fth_priority_plan *plan)
{
    const uint64_t part = plan->lines / TARGETS_PART;
    return (uint32_t)(part < MAX_TARGETS ? part & ~UINT64_C(1) : MAX_TARGETS);
}

static struct fth_request make_request(const struct fth_priority_plan *plan,
                                       enum fth_variant variant, size_t run, uint32_t first)
{
    const bool swapped = run == PRESSURES;
    const uint64_t stride = (plan->path == FTH_PATH_CA ? 1 : L2_STRIDE_LINES) * plan->line_bytes;
    struct fth_request request = fth_request_make(plan->carveout_percent);
    request.family = FTH_FAMILY_HINT;
    request.hint = (struct fth_hint){
        .kind = FTH_HINT_SURVIVE,
        .path = plan->path,
        .variants = UINT64_C(1) << variant,
        .stride_bytes = (uint32_t)stride,
        .prior = (uint32_t)plan->lines,
        .targets = count_targets(plan),
        .pressure = (uint32_t)(pressures[swapped ? PRESSURES - 1 : run] * (double)plan->lines),
        .first = (uint32_t)(plan->start_bytes / stride) + first,
        .swapped = swapped};
    return request;
}

/* The fraction of every other line, from the line `from` on, whose read hits. */
static double count_kept(const struct fth_samples *samples, size_t from, double threshold)
{
    size_t kept = 0, count = 0;
    for (size_t i = from; i < samples->count; i += 2, count++)
        kept += samples->cycles[i] <= threshold;
    return count ? (double)kept / (double)count : 0;
}

/* What is known about a variant: the fraction of its lines and of plain lines that stay, for each
 * pressure, and the fraction of plain lines if the pressure uses the variant. */
struct kept {
    double own[PRESSURES], plain[PRESSURES], spared;
};

/* Measures the first experiment for all variants or, if `swapped`, the second one for those that
 * are like plain loads so far. */
static enum fth_status measure(const struct fth_prober *prober,
                               const struct fth_priority_plan *plan,
                               const enum fth_variant *variants, size_t count, bool swapped,
                               struct kept *kept, struct fth_access_priorities *found,
                               struct fth_error *error)
{
    const size_t runs = swapped ? 1 : PRESSURES;
    struct fth_answers answers = {0};
    struct fth_request *requests = calloc(count * runs, sizeof *requests);
    size_t asked = 0;
    if (!requests)
        return fth_no_memory(error, "find eviction priorities", NULL);
    for (size_t i = 0; i < count * runs; i++)
        if (!swapped || found->priorities[i] == FTH_ACCESS_NORMAL) {
            const size_t number = asked + (swapped ? count * PRESSURES : 0);
            requests[asked++] =
                make_request(plan, variants[i / runs], swapped ? PRESSURES : i % runs,
                             (uint32_t)number * count_targets(plan));
        }
    enum fth_status status = asked ? fth_ask(prober, requests, asked, &answers, error) : FTH_OK;
    for (size_t i = 0, at = 0; i < count * runs && status == FTH_OK; i++) {
        if (swapped && found->priorities[i] != FTH_ACCESS_NORMAL)
            continue;
        const struct fth_samples *samples = &answers.items[at++];
        const double own = count_kept(samples, 0, plan->threshold_cycles);
        const double plain = count_kept(samples, 1, plan->threshold_cycles);
        found->samples += samples->count;
        if (swapped) {
            kept[i].spared = (own + plain) / 2;
        } else {
            kept[i / runs].own[i % runs] = own;
            kept[i / runs].plain[i % runs] = plain;
        }
    }
    fth_answers_fini(&answers);
    free(requests);
    return status;
}

/* Adds how clear the result of a variant is: with the largest pressure, either nearly all lines of
 * a kind are kept or nearly none. */
static void add_evidence(const struct kept *kept, struct fth_evidence *evidence)
{
    const double clear[] = {kept->own[PRESSURES - 1], kept->plain[PRESSURES - 1], kept->spared};
    for (size_t i = 0; i < FTH_COUNT(clear); i++) {
        evidence->repeats += 1;
        evidence->agree += clear[i] > 0.5 ? clear[i] : 1 - clear[i];
    }
}

enum fth_status fth_probe_access_priorities(const struct fth_prober *prober,
                                            const struct fth_priority_plan *plan,
                                            const enum fth_variant *variants, size_t count,
                                            struct fth_access_priorities *found,
                                            struct fth_error *error)
{
    struct kept kept[FTH_VARIANTS] = {{{0}, {0}, 0}};
    *found = (struct fth_access_priorities){.samples = 0};
    if (count_targets(plan) < MIN_TARGETS || count > FTH_VARIANTS)
        return fth_fail(error, FTH_INCONCLUSIVE, "find eviction priorities", NULL,
                        "the cache has too few lines");
    FTH_TRY(measure(prober, plan, variants, count, false, kept, found, error));
    bool evicted = false;
    for (size_t i = 0; i < count; i++) {
        found->priorities[i] = fth_decide_priority(kept[i].own, kept[i].plain, PRESSURES, 0);
        evicted = evicted || kept[i].plain[PRESSURES - 1] <= max_evicted;
    }
    if (!evicted)
        return fth_fail(error, FTH_INCONCLUSIVE, "find eviction priorities", NULL,
                        "reads of four times as many lines as the cache holds do not evict the "
                        "lines that were read before");
    FTH_TRY(measure(prober, plan, variants, count, true, kept, found, error));
    for (size_t i = 0; i < count; i++) {
        found->priorities[i] =
            fth_decide_priority(kept[i].own, kept[i].plain, PRESSURES, kept[i].spared);
        if (found->priorities[i] != FTH_ACCESS_UNKNOWN)
            add_evidence(&kept[i], &found->evidence);
    }
    return FTH_OK;
}
