/* Measurements of single loads: how many cycles do a hit and a miss take, and how long is each load
 * of a chain that exceeds a cache by one line? The latter is the first stage of Mei and Chu's
 * method (2017, Section 4.2), with a stride of one line (s = b). */
#include "probe/structure/probe_structure.h"

#include "probe/cache/probe_cache.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char operation[] = "distinguish hits from misses";

/* Minimum ratio of miss to hit latency that allows distinguishing them. Chosen, not derived. */
static const double min_ratio = 1.15;
/* Quantiles of the loads that are taken as the latency of a hit and of a miss: the lower quartile
 * of loads that nearly all hit, and the upper quartile of loads most of which miss. */
static const double hit_quantile = 0.25, miss_quantile = 0.75;
enum { TIMED_PASSES = 2 }; /* the first brings the timing code into the instruction cache */

/* Quantile of the cycles of the last timed pass; NAN where there are no samples. */
static enum fth_status quantile(const struct fth_samples *samples, uint64_t count, double p,
                                double *value, struct fth_error *error)
{
    double *sorted = NULL;
    *value = NAN;
    if (count == 0)
        return FTH_OK;
    FTH_TRY(fth_sorted_u32(samples->cycles + (TIMED_PASSES - 1) * count, count, operation, &sorted,
                           error));
    *value = fth_quantile_sorted(sorted, count, p);
    free(sorted);
    return FTH_OK;
}

enum fth_status fth_probe_hit_and_miss(const struct fth_prober *prober,
                                       const struct fth_cache_plan *plan, double *hit_cycles,
                                       double *miss_cycles, struct fth_error *error)
{
    const uint64_t lines = plan->fits_bytes / plan->line_bytes;
    const uint64_t max_lines =
        plan->path == FTH_PATH_CONSTANT ? FTH_CONSTANT_BANK_BYTES / plan->line_bytes : UINT64_MAX;
    const uint64_t counts[] = {(lines + 1) / 2, FTH_MIN(2 * lines, max_lines)};
    struct fth_request requests[2];
    for (size_t i = 0; i < 2; i++) {
        struct fth_chain chain = {.stride_bytes = plan->line_bytes, .count = counts[i]};
        requests[i] = fth_request_make(plan->carveout_percent);
        fth_request_add(&requests[i], FTH_STEP_WALK, plan->path, chain, 1);
        fth_request_add(&requests[i], FTH_STEP_TIME_HOPS, plan->path, chain, TIMED_PASSES);
    }
    struct fth_answers answers = {0};
    FTH_TRY(fth_ask(prober, requests, 2, &answers, error));
    /* With twice the lines that fit, most loads miss under any replacement policy. */
    enum fth_status status =
        quantile(&answers.items[0], counts[0], hit_quantile, hit_cycles, error);
    if (status == FTH_OK)
        status = quantile(&answers.items[1], counts[1], miss_quantile, miss_cycles, error);
    fth_answers_fini(&answers);
    if (status == FTH_OK && !(*miss_cycles >= min_ratio * *hit_cycles))
        status =
            fth_fail(error, FTH_INCONCLUSIVE, operation, NULL,
                     "loads take %.0f cycles with %llu lines, %.0f with %llu, although %llu fit",
                     *miss_cycles, (unsigned long long)counts[1], *hit_cycles,
                     (unsigned long long)counts[0], (unsigned long long)lines);
    return status;
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
