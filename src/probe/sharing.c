/* Which loads evict which: a walker fills (part of) its cache, an actor walks as much as the cache
 * holds somewhere else, and the walker looks what is left. With two paths this tells whether they
 * share a cache; with two warps, whether the SM has more than one of them (the disturbance plots of
 * the topology thesis). */
#include "probe/probe.h"

#include <math.h>
#include <stdlib.h>

/* The actor's: where a cache replaces at random, one pass leaves some, and of few lines all by
 * chance. */
enum { ACTOR_PASSES = 2, FEW_LINES = 64, FEW_LINES_PASSES = 8 };
/* Of its cache: what the victim walks. Enough to see, and little enough to stay if left alone. */
static const double victim_part = 0.5;
/* Of the victim's lines: what an actor in the same cache evicts at least, and one in another at
 * most. */
static const double evicted_share = 0.5, left_share = 0.1;
/* Of these, where either direction is enough to tell. */
static const double disturbed_share = 0.25;

/* The victim comes by once only before the actor does: a cache that keeps what was used often
 * would keep it. Without an actor (NULL) it is what the victim finds if left alone. */
static struct fth_request plan(const struct fth_walker *victim, const struct fth_walker *actor,
                               unsigned warp)
{
    struct fth_request request = fth_request_make(victim->carveout_percent);
    struct fth_chain own = {.stride_bytes = victim->stride_bytes,
                            .count = (uint64_t)((double)victim->bytes * victim_part) /
                                     victim->stride_bytes};
    fth_request_add(&request, FTH_STEP_WALK, victim->path, own, 1);
    if (actor) {
        struct fth_chain other = {.array = 1,
                                  .stride_bytes = actor->stride_bytes,
                                  .count = actor->bytes / actor->stride_bytes};
        if (victim->path == FTH_PATH_CONSTANT && actor->path == FTH_PATH_CONSTANT) {
            /* There is one bank only. */
            other.array = 0;
            other.start_bytes = own.count * own.stride_bytes;
        }
        fth_request_add(&request, FTH_STEP_WALK, actor->path, other,
                        other.count < FEW_LINES ? FEW_LINES_PASSES : ACTOR_PASSES);
        request.steps[1].warp = warp;
    }
    fth_request_add(&request, FTH_STEP_TIME_HOPS, victim->path, own, 1);
    return request;
}

static double slow_share(const struct fth_samples *samples, double threshold)
{
    size_t slow = 0;
    for (size_t i = 0; i < samples->count; i++)
        slow += samples->cycles[i] > threshold;
    return (double)slow / (double)samples->count;
}

/* What is gone that would not be if the victim were alone. */
static double gone(const struct fth_samples *samples, const struct fth_samples *alone,
                   double threshold)
{
    return fmax(slow_share(samples, threshold) - slow_share(alone, threshold), 0);
}

enum fth_status fth_probe_sharing(const struct fth_prober *prober, const struct fth_walker *a,
                                  const struct fth_walker *b, struct fth_sharing_found *found,
                                  struct fth_error *error)
{
    enum { REPEATS = 5 };
    const struct fth_walker *const pairs[2][2] = {{a, b}, {b, a}};
    struct fth_request requests[2 * (1 + REPEATS)];
    for (size_t i = 0; i < FTH_COUNT(requests); i++) {
        const struct fth_walker *victim = pairs[i % 2][0];
        /* More than the cache holds, and than the victim's does. */
        struct fth_walker actor = *pairs[i % 2][1];
        actor.bytes = actor.bytes * 5 / 4 < victim->bytes ? victim->bytes : actor.bytes * 5 / 4;
        requests[i] = plan(victim, i < 2 ? NULL : &actor, 0);
    }
    *found = (struct fth_sharing_found){.sharing = FTH_SHARING_UNKNOWN};
    struct fth_answers answers = {0};
    enum fth_status status = fth_ask(prober, requests, FTH_COUNT(requests), &answers, error);
    unsigned verdicts[3] = {0};
    for (size_t i = 0; i < answers.count; i++)
        found->samples += answers.items[i].count;
    for (size_t i = 2; i < answers.count; i += 2) {
        double shares[2];
        for (size_t k = 0; k < 2; k++)
            shares[k] =
                gone(&answers.items[i + k], &answers.items[k], pairs[k][0]->threshold_cycles);
        /* It is one cache where each evicts what the other has loaded. */
        verdicts[shares[0] >= evicted_share && shares[1] >= evicted_share ? FTH_SHARING_YES
                 : shares[0] <= left_share && shares[1] <= left_share     ? FTH_SHARING_NO
                                                                          : FTH_SHARING_UNKNOWN]++;
    }
    fth_answers_fini(&answers);
    for (unsigned i = 0; i < 3; i++)
        if (verdicts[i] > REPEATS / 2) {
            found->sharing = (enum fth_sharing)i;
            found->confidence = (verdicts[i] + 1.0) / (REPEATS + 2.0);
        }
    return status;
}

enum fth_status fth_probe_instances(const struct fth_prober *prober,
                                    const struct fth_walker *walker, struct fth_instances *found,
                                    struct fth_error *error)
{
    struct fth_request requests[FTH_MAX_WARPS + 1];
    for (unsigned i = 0; i < FTH_MAX_WARPS; i++)
        requests[i] = plan(walker, walker, i);
    requests[FTH_MAX_WARPS] = plan(walker, NULL, 0);
    *found = (struct fth_instances){0};
    struct fth_answers answers = {0};
    enum fth_status status = fth_ask(prober, requests, FTH_COUNT(requests), &answers, error);
    unsigned together = 0, clear = 0;
    for (size_t i = 0; i < answers.count; i++)
        found->samples += answers.items[i].count;
    for (size_t i = 0; i < FTH_MAX_WARPS && status == FTH_OK; i++) {
        const double share =
            gone(&answers.items[i], &answers.items[FTH_MAX_WARPS], walker->threshold_cycles);
        found->disturbed[i] = share;
        together += share > disturbed_share;
        clear += share >= evicted_share - left_share || share <= left_share;
    }
    fth_answers_fini(&answers);
    if (status != FTH_OK)
        return status;
    /* Warps are dealt out to the instances evenly. */
    if (together == 0 || FTH_MAX_WARPS % together)
        return fth_fail(error, FTH_INCONCLUSIVE, "count caches", NULL,
                        "%u of %d warps evict what the first one loaded", together, FTH_MAX_WARPS);
    found->count = FTH_MAX_WARPS / together;
    found->confidence = (clear + 1.0) / (FTH_MAX_WARPS + 2.0);
    return FTH_OK;
}
