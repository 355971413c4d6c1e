/* Finds which paths share a cache, and how many instances of a cache an SM has.
 *
 * The victim walks over half of what its cache holds. The aggressor then walks at least as much as
 * the cache holds in other memory. The victim walks again, and its misses show what the aggressor
 * evicted. If victim and aggressor use two different paths, this shows whether the paths share a
 * cache. If they are two warps with the same path, it shows whether both use the same instance
 * (after the "disturbance flow" plots of D. Größler's thesis, Figures 4.21 to 4.26). */
#include "probe/cache/probe_cache.h"

#include <math.h>
#include <stdlib.h>

enum {
    /* Passes of the aggressor. It makes FEW_LINES_PASSES if its chain has less than FEW_LINES
     * lines. With random replacement, one pass does not evict every line of the victim; in a small
     * cache, it may by chance evict none. Chosen, not derived. */
    AGGRESSOR_PASSES = 2,
    FEW_LINES = 64,
    FEW_LINES_PASSES = 8,
    REPEATS = 5, /* of the experiment with two paths, in both roles. Odd: a majority decides. */
    /* The aggressor walks 5/4 of what its own cache holds, and at least what the victim's holds.
     * Chosen: more than it holds, so that its own lines evict the victim's. */
    AGGRESSOR_NUMERATOR = 5,
    AGGRESSOR_DENOMINATOR = 4,
    MAX_ATTEMPTS = 3 /* to count the instances, if the result is not possible. Chosen. */
};
/* Fraction of its cache that the victim walks: small enough to remain resident without an
 * aggressor. */
static const double victim_fraction = 0.5;
/* The cache is shared if at least the first fraction of the victim's lines is evicted. The caches
 * are separate if at most the second is. Values in between are inconclusive. Chosen, not derived.
 */
static const double min_shared_fraction = 0.5, max_separate_fraction = 0.1;
/* Fraction of the victim's lines above which another warp is counted as using the same instance.
 * Chosen: between the two fractions above. */
static const double min_disturbed_fraction = 0.25;
/* Fraction of the victim's lines from which on a warp clearly evicts them, for the evidence.
 * Chosen, not derived. */
static const double min_clear_fraction = 0.4;

/* Makes the request. The aggressor runs in `warp`, the victim in warp 0. Without an aggressor
 * (NULL), the request is the control: what the victim misses if left alone. The victim walks only
 * once before the aggressor, because a policy such as LFU would keep lines that are used often. */
static struct fth_request make_request(const struct fth_walker *victim,
                                       const struct fth_walker *aggressor, unsigned warp)
{
    struct fth_request request = fth_request_make(victim->carveout_percent);
    struct fth_chain victim_chain = {.stride_bytes = victim->stride_bytes,
                                     .count = (uint64_t)((double)victim->bytes * victim_fraction) /
                                              victim->stride_bytes};
    fth_request_add(&request, FTH_STEP_WALK, victim->path, victim_chain, 1);
    if (aggressor) {
        struct fth_chain aggressor_chain = {.array = 1,
                                            .stride_bytes = aggressor->stride_bytes,
                                            .count = aggressor->bytes / aggressor->stride_bytes};
        if (victim->path == FTH_PATH_CONSTANT && aggressor->path == FTH_PATH_CONSTANT) {
            /* There is one constant bank only: use the memory after the victim's. */
            aggressor_chain.array = 0;
            aggressor_chain.start_bytes = victim_chain.count * victim_chain.stride_bytes;
        }
        fth_request_add(&request, FTH_STEP_WALK, aggressor->path, aggressor_chain,
                        aggressor_chain.count < FEW_LINES ? FEW_LINES_PASSES : AGGRESSOR_PASSES);
        request.chase.steps[1].warp = warp;
    }
    fth_request_add(&request, FTH_STEP_TIME_HOPS, victim->path, victim_chain, 1);
    return request;
}

/* Returns the fraction of hops above the threshold. */
static double slow_fraction(const struct fth_samples *samples, double threshold)
{
    size_t slow = 0;
    for (size_t i = 0; i < samples->count; i++)
        slow += samples->cycles[i] > threshold;
    return (double)slow / (double)samples->count;
}

/* Returns the fraction of the victim's lines that the aggressor evicted: the misses of the victim
 * minus those of the control. */
static double evicted_fraction(const struct fth_samples *samples, const struct fth_samples *alone,
                               double threshold)
{
    return fmax(slow_fraction(samples, threshold) - slow_fraction(alone, threshold), 0);
}

enum fth_status fth_probe_sharing(const struct fth_prober *prober, const struct fth_walker *a,
                                  const struct fth_walker *b, struct fth_sharing_found *found,
                                  struct fth_error *error)
{
    const struct fth_walker *const pairs[2][2] = {{a, b}, {b, a}};
    struct fth_request requests[2 * (1 + REPEATS)];
    for (size_t i = 0; i < FTH_COUNT(requests); i++) {
        const struct fth_walker *victim = pairs[i % 2][0];
        struct fth_walker aggressor = *pairs[i % 2][1];
        aggressor.bytes = aggressor.bytes * AGGRESSOR_NUMERATOR / AGGRESSOR_DENOMINATOR;
        if (aggressor.bytes < victim->bytes)
            aggressor.bytes = victim->bytes;
        requests[i] = make_request(victim, i < 2 ? NULL : &aggressor, 0);
    }
    *found = (struct fth_sharing_found){.sharing = FTH_SHARING_UNKNOWN};
    struct fth_answers answers = {0};
    FTH_TRY(fth_ask(prober, requests, FTH_COUNT(requests), &answers, error));
    unsigned verdicts[FTH_SHARING_YES + 1] = {0};
    for (size_t i = 0; i < answers.count; i++)
        found->samples += answers.items[i].count;
    for (size_t i = 2; i < answers.count; i += 2) {
        double fractions[2];
        for (size_t k = 0; k < 2; k++)
            fractions[k] = evicted_fraction(&answers.items[i + k], &answers.items[k],
                                            pairs[k][0]->threshold_cycles);
        /* The two paths share a cache if each evicts what the other has loaded. */
        verdicts[fractions[0] >= min_shared_fraction && fractions[1] >= min_shared_fraction
                     ? FTH_SHARING_YES
                 : fractions[0] <= max_separate_fraction && fractions[1] <= max_separate_fraction
                     ? FTH_SHARING_NO
                     : FTH_SHARING_UNKNOWN]++;
    }
    fth_answers_fini(&answers);
    for (unsigned i = 0; i < FTH_COUNT(verdicts); i++)
        if (verdicts[i] > REPEATS / 2) {
            found->sharing = (enum fth_sharing)i;
            found->evidence = (struct fth_evidence){.repeats = REPEATS, .agree = verdicts[i]};
        }
    return FTH_OK;
}

/* Measures once which warps evict the lines of warp 0. Returns their number in *evicting. */
static enum fth_status measure_instances(const struct fth_prober *prober,
                                         const struct fth_walker *walker,
                                         struct fth_instances *found, unsigned *evicting,
                                         struct fth_error *error)
{
    struct fth_request requests[FTH_MAX_WARPS + 1];
    for (unsigned i = 0; i < FTH_MAX_WARPS; i++)
        requests[i] = make_request(walker, walker, i);
    requests[FTH_MAX_WARPS] = make_request(walker, NULL, 0);
    struct fth_answers answers = {0};
    FTH_TRY(fth_ask(prober, requests, FTH_COUNT(requests), &answers, error));
    unsigned conclusive = 0;
    *evicting = 0;
    for (size_t i = 0; i < answers.count; i++)
        found->samples += answers.items[i].count;
    for (size_t i = 0; i < FTH_MAX_WARPS; i++) {
        const double fraction = evicted_fraction(&answers.items[i], &answers.items[FTH_MAX_WARPS],
                                                 walker->threshold_cycles);
        found->disturbed[i] = fraction;
        *evicting += fraction > min_disturbed_fraction;
        conclusive += fraction >= min_clear_fraction || fraction <= max_separate_fraction;
    }
    fth_answers_fini(&answers);
    found->evidence = (struct fth_evidence){.repeats = FTH_MAX_WARPS, .agree = conclusive};
    return FTH_OK;
}

/* Whether every warp whose number is a multiple of the number of instances evicts lines of warp 0,
 * and no other one does. `evicting`: the number of warps that evict lines. */
static bool is_regular(const struct fth_instances *found, unsigned evicting)
{
    bool regular = evicting > 0 && FTH_MAX_WARPS % evicting == 0;
    for (size_t i = 0; regular && i < FTH_MAX_WARPS; i++)
        regular =
            (found->disturbed[i] > min_disturbed_fraction) == (i % (FTH_MAX_WARPS / evicting) == 0);
    return regular;
}

enum fth_status fth_probe_instances(const struct fth_prober *prober,
                                    const struct fth_walker *walker, struct fth_instances *found,
                                    struct fth_error *error)
{
    unsigned evicting = 0;
    *found = (struct fth_instances){0};
    /* The SM distributes its warps evenly among the instances. If the result says otherwise, it was
     * disturbed; a single disturbance of the control is sufficient for that. */
    for (unsigned i = 0; i < MAX_ATTEMPTS && !is_regular(found, evicting); i++)
        FTH_TRY(measure_instances(prober, walker, found, &evicting, error));
    if (evicting == 0 || FTH_MAX_WARPS % evicting)
        return fth_fail(error, FTH_INCONCLUSIVE, "count cache instances", NULL,
                        "%u of %d warps evict the lines of warp 0, which is not an even share",
                        evicting, FTH_MAX_WARPS);
    found->count = FTH_MAX_WARPS / evicting;
    if (!is_regular(found, evicting))
        found->evidence.doubt = "the warps that evict lines are not evenly spaced";
    return FTH_OK;
}
