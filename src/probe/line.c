/* Lines and sectors.
 *
 * What one miss fetches shows in a first walk over a cold cache, an element at a time: the hops
 * that are slow are as far apart as what each brings in. What is evicted together may be more (a
 * line of several sectors): after a full cache has taken another line, a walk back over what had
 * been there finds a gap, and this is a line. The walk goes back so that, where the oldest line is
 * replaced, what a miss brings in replaces what has been looked at already. */
#include "probe/probe.h"

#include <stdlib.h>

enum {
    FIRST_WALK_BYTES = 2048, /* not more than the smallest cache */
    REPEATS = 8,             /* SMs that do the same */
    MOST_RUN = 64            /* hops: a line has no more sectors */
};

unsigned fth_most_frequent(const unsigned *counts, unsigned size)
{
    unsigned best = 0, total = 0;
    for (unsigned i = 1; i < size; i++) {
        total += counts[i];
        best = counts[i] > counts[best] ? i : best;
    }
    return total && 2 * counts[best] > total ? best : 0;
}

void fth_count_distances(const struct fth_samples *walk, double threshold_cycles, unsigned *counts)
{
    size_t last = 0;
    for (size_t hop = 1; hop < walk->count; hop++)
        if (walk->cycles[hop] > threshold_cycles) {
            counts[hop - last]++;
            last = hop;
        }
}

static enum fth_status ask_everywhere(const struct fth_prober *prober,
                                      const struct fth_request *request,
                                      struct fth_answers *answers, struct fth_error *error)
{
    struct fth_request requests[REPEATS];
    for (size_t i = 0; i < REPEATS; i++)
        requests[i] = *request;
    return fth_ask(prober, requests, REPEATS, answers, error);
}

enum fth_status fth_probe_fetch_bytes(const struct fth_prober *prober,
                                      const struct fth_line_plan *plan, uint64_t *bytes,
                                      size_t *samples, struct fth_error *error)
{
    const uint64_t stride = plan->path == FTH_PATH_TEXTURE ? 4 : 8;
    struct fth_request request = fth_request_make(plan->carveout_percent);
    struct fth_chain chain = {.stride_bytes = stride, .count = FIRST_WALK_BYTES / stride};
    fth_request_add(&request, FTH_STEP_TIME_HOPS, plan->path, chain, 1);
    struct fth_answers answers = {0};
    enum fth_status status = ask_everywhere(prober, &request, &answers, error);
    unsigned counts[FIRST_WALK_BYTES / 4 + 1] = {0};
    for (size_t i = 0; i < answers.count; i++) {
        *samples += answers.items[i].count;
        fth_count_distances(&answers.items[i], plan->threshold_cycles, counts);
    }
    fth_answers_fini(&answers);
    *bytes = fth_most_frequent(counts, FTH_COUNT(counts)) * stride;
    if (status == FTH_OK && *bytes == 0)
        status = fth_fail(error, FTH_INCONCLUSIVE, "find what a miss fetches", NULL,
                          "the misses of a first walk are not evenly apart");
    return status;
}

enum fth_status fth_probe_line_bytes(const struct fth_prober *prober,
                                     const struct fth_line_plan *plan, uint64_t fetch_bytes,
                                     uint64_t *bytes, size_t *samples, struct fth_error *error)
{
    struct fth_request request = fth_request_make(plan->carveout_percent);
    struct fth_chain chain = {.stride_bytes = fetch_bytes, .count = plan->size_bytes / fetch_bytes};
    struct fth_chain other = {.array = 1, .stride_bytes = fetch_bytes, .count = 1};
    if (plan->path == FTH_PATH_CONSTANT) { /* one bank: what lies behind */
        other.array = 0;
        other.start_bytes = chain.count * chain.stride_bytes;
    }
    fth_request_add(&request, FTH_STEP_TIME_HOPS, plan->path, chain, 2);
    fth_request_add(&request, FTH_STEP_WALK, plan->path, other, 1);
    fth_request_add(&request, FTH_STEP_TIME_HOPS, plan->path, chain, 1);
    request.steps[2].reverse = true;
    struct fth_answers answers = {0};
    enum fth_status status = ask_everywhere(prober, &request, &answers, error);
    unsigned counts[MOST_RUN + 1] = {0};
    for (size_t i = 0; i < answers.count; i++) {
        const uint32_t *back = answers.items[i].cycles + 2 * chain.count;
        *samples += answers.items[i].count;
        size_t run = 0;
        for (size_t hop = 0; hop <= chain.count; hop++) {
            if (hop < chain.count && back[hop] > plan->threshold_cycles) {
                run++;
                continue;
            }
            if (run && run <= MOST_RUN)
                counts[run]++;
            run = 0;
        }
    }
    fth_answers_fini(&answers);
    *bytes = fth_most_frequent(counts, FTH_COUNT(counts)) * fetch_bytes;
    if (status == FTH_OK && *bytes == 0)
        status = fth_fail(error, FTH_INCONCLUSIVE, "find the line", NULL,
                          "what is evicted has no one length");
    return status;
}
