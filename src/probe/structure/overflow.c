/* Measurements of single loads: how many cycles do a hit and a miss take, and how long is each load
 * of a chain that exceeds a cache by one line? The latter is the first stage of Mei and Chu's
 * method (2017, Section 4.2), with a stride of one line (s = b). */
#include "probe/structure/probe_structure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Minimum ratio of miss to hit latency that allows distinguishing them. Heuristic. */
static const double min_ratio = 1.15;

/* Quantile of the cycles; NAN where there are no samples or no memory. */
static double quantile(const uint32_t *cycles, size_t count, double p)
{
    double *sorted = NULL;
    if (count == 0 || fth_sorted_u32(cycles, count, "sort hops", &sorted, NULL) != FTH_OK)
        return NAN;
    double value = fth_quantile_sorted(sorted, count, p);
    free(sorted);
    return value;
}

enum fth_status fth_probe_hit_and_miss(const struct fth_prober *prober,
                                       const struct fth_cache_plan *plan, double *hit_cycles,
                                       double *miss_cycles, struct fth_error *error)
{
    const uint64_t lines = plan->fits_bytes / plan->line_bytes;
    const uint64_t counts[] = {(lines + 1) / 2, 2 * lines};
    struct fth_request requests[2];
    for (size_t i = 0; i < 2; i++) {
        struct fth_chain chain = {.stride_bytes = plan->line_bytes, .count = counts[i]};
        requests[i] = fth_request_make(plan->carveout_percent);
        fth_request_add(&requests[i], FTH_STEP_WALK, plan->path, chain, 1);
        fth_request_add(&requests[i], FTH_STEP_TIME_HOPS, plan->path, chain, 2);
    }
    struct fth_answers answers = {0};
    FTH_TRY(fth_ask(prober, requests, 2, &answers, error));
    /* With twice the lines that fit, most loads miss under any replacement policy. */
    *hit_cycles = quantile(answers.items[0].cycles + counts[0], counts[0], 0.25);
    *miss_cycles = quantile(answers.items[1].cycles + counts[1], counts[1], 0.75);
    fth_answers_fini(&answers);
    if (!(*miss_cycles >= min_ratio * *hit_cycles))
        return fth_fail(error, FTH_INCONCLUSIVE, "distinguish hits from misses", NULL,
                        "loads take %.0f cycles with twice the lines that fit, %.0f with half",
                        *miss_cycles, *hit_cycles);
    return FTH_OK;
}

void fth_overflow_fini(struct fth_overflow *overflow)
{
    free(overflow->cycles);
    *overflow = (struct fth_overflow){0};
}

enum fth_status fth_probe_overflow(const struct fth_prober *prober,
                                   const struct fth_cache_plan *plan, uint64_t passes,
                                   struct fth_overflow *overflow, struct fth_error *error)
{
    *overflow = (struct fth_overflow){.lines = plan->fits_bytes / plan->line_bytes + 1};
    struct fth_request request = fth_request_make(plan->carveout_percent);
    struct fth_chain chain = {.stride_bytes = plan->line_bytes, .count = overflow->lines};
    fth_request_add(&request, FTH_STEP_TIME_HOPS, plan->path, chain, passes);
    struct fth_answers answers = {0};
    FTH_TRY(fth_ask(prober, &request, 1, &answers, error));
    overflow->cycles = answers.items[0].cycles;
    overflow->count = answers.items[0].count;
    answers.items[0].cycles = NULL;
    fth_answers_fini(&answers);
    return FTH_OK;
}
