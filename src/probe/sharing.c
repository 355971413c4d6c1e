/* Which loads evict which: a walker fills (part of) its cache, an actor walks as much as the cache
 * holds somewhere else, and the walker looks what is left. With two paths this tells whether they
 * share a cache; with two warps, whether the SM has more than one of them (the disturbance plots of
 * the topology thesis). */
#include "probe/probe.h"

#include <stdlib.h>

enum { ACTOR_PASSES = 2 };
/* Of its cache: what the victim walks. Enough to see, and little enough to stay if left alone. */
static const double victim_part = 0.5;

static struct fth_request plan(const struct fth_walker *victim, const struct fth_walker *actor,
                               unsigned warp)
{
    struct fth_request request = fth_request_make(victim->carveout_percent);
    struct fth_chain own = {.stride_bytes = victim->stride_bytes,
                            .count = (uint64_t)((double)victim->bytes * victim_part) /
                                     victim->stride_bytes};
    struct fth_chain other = {.array = 1,
                              .stride_bytes = actor->stride_bytes,
                              .count = actor->bytes / actor->stride_bytes};
    if (victim->path == FTH_PATH_CONSTANT && actor->path == FTH_PATH_CONSTANT) {
        /* There is one bank only. */
        other.array = 0;
        other.start_bytes = own.count * own.stride_bytes;
    }
    fth_request_add(&request, FTH_STEP_TIME_HOPS, victim->path, own, 2);
    fth_request_add(&request, FTH_STEP_WALK, actor->path, other, ACTOR_PASSES);
    request.steps[1].warp = warp;
    fth_request_add(&request, FTH_STEP_TIME_HOPS, victim->path, own, 1);
    return request;
}

/* The share of slow hops of the last pass, less that of the pass before the actor came. */
static double gone(const struct fth_samples *samples, double threshold)
{
    size_t count = samples->count / 3, before = 0, after = 0;
    for (size_t i = 0; i < count; i++) {
        before += samples->cycles[count + i] > threshold;
        after += samples->cycles[2 * count + i] > threshold;
    }
    return after > before ? (double)(after - before) / (double)count : 0;
}

enum fth_status fth_probe_evicts(const struct fth_prober *prober, const struct fth_walker *victim,
                                 const struct fth_walker *actor, double *share, size_t *samples,
                                 struct fth_error *error)
{
    struct fth_request request = plan(victim, actor, 0);
    struct fth_answers answers = {0};
    enum fth_status status = fth_ask(prober, &request, 1, &answers, error);
    if (status == FTH_OK) {
        *share = gone(&answers.items[0], victim->threshold_cycles);
        *samples += answers.items[0].count;
    }
    fth_answers_fini(&answers);
    return status;
}

enum fth_status fth_probe_instances(const struct fth_prober *prober,
                                    const struct fth_walker *walker, unsigned *instances,
                                    double *disturbed, size_t *samples, struct fth_error *error)
{
    struct fth_request requests[FTH_MOST_WARPS];
    for (unsigned i = 0; i < FTH_MOST_WARPS; i++)
        requests[i] = plan(walker, walker, i);
    struct fth_answers answers = {0};
    enum fth_status status = fth_ask(prober, requests, FTH_MOST_WARPS, &answers, error);
    unsigned together = 0;
    for (size_t i = 0; i < answers.count; i++) {
        disturbed[i] = gone(&answers.items[i], walker->threshold_cycles);
        together += disturbed[i] > 0.25;
        *samples += answers.items[i].count;
    }
    fth_answers_fini(&answers);
    if (status != FTH_OK)
        return status;
    /* Warps are dealt out to the instances evenly. */
    if (together == 0 || FTH_MOST_WARPS % together)
        return fth_fail(error, FTH_INCONCLUSIVE, "count caches", NULL,
                        "%u of %d warps evict what the first one loaded", together, FTH_MOST_WARPS);
    *instances = FTH_MOST_WARPS / together;
    return FTH_OK;
}
