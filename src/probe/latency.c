/* How long a load takes, from a chain of loads each of which needs the one before (Mei and Chu's
 * fine-grained pointer chase, and whole passes where single hops are not of interest). */
#include "probe/probe.h"

#include <math.h>
#include <stdlib.h>

enum {
    WARM_PASSES = 2,
    TIMED_PASSES = 15, /* an odd number, so that the median is one of them */
    /* Memory: hops that are timed, and how far apart. More than a DRAM page's neighbours and not a
     * multiple of it, so that lines of all partitions and channels are met; 17 MB in all, which
     * even a small TLB reaches. */
    MEMORY_HOPS = 4096,
    MEMORY_STRIDE = 4096 + 128,
    DRAWS = 200 /* of a bootstrap */
};
/* Of its intervals, and how many deviations of a normal distribution that is each way. */
#define LEVEL 0.9
#define LEVEL_DEVIATIONS 1.645

/* Median over SMs of the slope between the two lengths, each the median over passes. */
static enum fth_status slopes(const struct fth_latency_plan *plan,
                              const struct fth_answers *answers, struct fth_figure *cycles,
                              struct fth_error *error)
{
    size_t pairs = answers->count / 2;
    double *slope = calloc(pairs, sizeof *slope);
    if (!slope)
        return fth_fail(error, FTH_NO_MEMORY, "find latency", NULL, "out of memory");
    enum fth_status status = FTH_OK;
    *cycles = (struct fth_figure){.value = NAN};
    double low = NAN, high = NAN;
    for (size_t i = 0; i < pairs && status == FTH_OK; i++) {
        struct fth_summary less, more;
        const struct fth_samples *a = &answers->items[2 * i], *b = &answers->items[2 * i + 1];
        status = fth_summary_u32(a->cycles, a->count, &less, error);
        if (status == FTH_OK)
            status = fth_summary_u32(b->cycles, b->count, &more, error);
        if (status != FTH_OK)
            break;
        const double hops = (double)(plan->long_count - plan->short_count);
        slope[i] = plan->least ? (more.p05 - less.p05) / hops : (more.median - less.median) / hops;
        low = (more.p05 - less.median) / hops;
        high = (more.p95 - less.median) / hops;
        cycles->samples += a->count + b->count;
        cycles->clock_mhz = a->clock_mhz;
        if (plan->by_sm)
            plan->by_sm[i] = slope[i];
    }
    struct fth_summary summary;
    if (status == FTH_OK)
        status = fth_summary_f64(slope, pairs, &summary, error);
    if (status == FTH_OK) {
        cycles->value = summary.median;
        cycles->low = pairs > 1 ? summary.p05 : low;
        cycles->high = pairs > 1 ? summary.p95 : high;
    }
    free(slope);
    return status;
}

static struct fth_chain chain_of(const struct fth_latency_plan *plan, uint64_t count)
{
    return (struct fth_chain){.stride_bytes = plan->stride_bytes, .count = count};
}

enum fth_status fth_probe_latency(const struct fth_prober *prober,
                                  const struct fth_latency_plan *plan, struct fth_figure *cycles,
                                  struct fth_error *error)
{
    size_t pairs = plan->every_sm ? prober->sms : 1;
    struct fth_request *requests = calloc(2 * pairs, sizeof *requests);
    if (!requests)
        return fth_fail(error, FTH_NO_MEMORY, "find latency", NULL, "out of memory");
    for (size_t i = 0; i < pairs; i++)
        for (size_t j = 0; j < 2; j++) {
            struct fth_chain chain = chain_of(plan, j ? plan->long_count : plan->short_count);
            struct fth_request *request = &requests[2 * i + j];
            *request = fth_request_make(plan->carveout_percent);
            request->sm = plan->every_sm ? (uint32_t)i : 0;
            fth_request_add(request, FTH_STEP_WALK, plan->path, chain, WARM_PASSES);
            fth_request_add(request, FTH_STEP_TIME_PASS, plan->path, chain, TIMED_PASSES);
        }
    struct fth_answers answers = {0};
    enum fth_status status = fth_ask(prober, requests, 2 * pairs, &answers, error);
    if (status == FTH_OK)
        status = slopes(plan, &answers, cycles, error);
    fth_answers_fini(&answers);
    free(requests);
    return status;
}

enum fth_status fth_probe_overhead(const struct fth_prober *prober,
                                   const struct fth_latency_plan *plan, double latency_cycles,
                                   double *overhead_cycles, struct fth_error *error)
{
    struct fth_chain chain = chain_of(plan, plan->long_count);
    struct fth_request request = fth_request_make(plan->carveout_percent);
    request.sm = 0;
    fth_request_add(&request, FTH_STEP_WALK, plan->path, chain, WARM_PASSES);
    fth_request_add(&request, FTH_STEP_TIME_HOPS, plan->path, chain, 3);
    struct fth_answers answers = {0};
    enum fth_status status = fth_ask(prober, &request, 1, &answers, error);
    double hop = NAN;
    if (status == FTH_OK)
        status = fth_core_mean_u32(answers.items[0].cycles, answers.items[0].count, &hop, error);
    *overhead_cycles = hop - latency_cycles;
    fth_answers_fini(&answers);
    return status;
}

/* ---- memory ---- */

double fth_latency_confidence(double value, double low, double high)
{
    const double most = 0.995;
    double tolerance = fmax(0.005 * value, 0.5), deviation = (high - low) / (2 * LEVEL_DEVIATIONS);
    return deviation > 0 ? fmin(most, erf(tolerance / deviation / sqrt(2))) : most;
}

/* What lies within three median absolute deviations of the median, as fth_core_mean_u32 has it,
 * decides the mean; so it decides how sure that is. */
enum fth_status fth_plateau_figure(const uint32_t *cycles, size_t count, double overhead_cycles,
                                   struct fth_figure *figure, struct fth_error *error)
{
    struct fth_summary summary;
    struct fth_interval interval;
    double mean = NAN, *core = NULL;
    enum fth_status status = fth_summary_u32(cycles, count, &summary, error);
    if (status == FTH_OK)
        status = fth_core_mean_u32(cycles, count, &mean, error);
    if (status == FTH_OK && !(core = calloc(count, sizeof *core)))
        status = fth_fail(error, FTH_NO_MEMORY, "find latency", NULL, "out of memory");
    if (status != FTH_OK)
        return status;
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (fabs(cycles[i] - summary.median) <= fmax(2, 3 * summary.mad))
            core[kept++] = cycles[i];
    status =
        fth_bootstrap_interval(core, kept, FTH_STATISTIC_MEAN, LEVEL, DRAWS, 1, &interval, error);
    if (status == FTH_OK)
        *figure = (struct fth_figure){.value = mean - overhead_cycles,
                                      .low = fmin(summary.p05, mean) - overhead_cycles,
                                      .high = fmax(summary.p95, mean) - overhead_cycles,
                                      .samples = count,
                                      .confidence = fth_latency_confidence(
                                          mean - overhead_cycles, interval.low, interval.high)};
    free(core);
    return status;
}

/* The latency of the samples that belong to one plateau, less the overhead. */
static enum fth_status plateau(const struct fth_samples *samples,
                               const struct fth_clusters *clusters, size_t index,
                               double overhead_cycles, struct fth_figure *cycles,
                               struct fth_error *error)
{
    uint32_t *members = calloc(samples->count, sizeof *members);
    if (!members)
        return fth_fail(error, FTH_NO_MEMORY, "find latency", NULL, "out of memory");
    size_t count = 0;
    for (size_t i = 0; i < samples->count; i++)
        if (fth_cluster_of(clusters, samples->cycles[i]) == index)
            members[count++] = samples->cycles[i];
    enum fth_status status = fth_plateau_figure(members, count, overhead_cycles, cycles, error);
    cycles->clock_mhz = samples->clock_mhz;
    free(members);
    return status;
}

/* One walk that is not timed, then one that is; L2 holds nothing of either at the start. The
 * figures of the two lowest plateaus; `far_cycles` may be NULL. */
static enum fth_status time_cold(const struct fth_prober *prober, struct fth_chain chain,
                                 struct fth_chain before, double overhead_cycles,
                                 struct fth_figure *near_cycles, struct fth_figure *far_cycles,
                                 struct fth_error *error)
{
    struct fth_request request = fth_request_make(-1);
    request.cold = true;
    request.sm = 0; /* SMs differ in how far they are from either partition */
    fth_request_add(&request, FTH_STEP_WALK, FTH_PATH_CG, before, 1);
    fth_request_add(&request, FTH_STEP_TIME_HOPS, FTH_PATH_CG, chain, 1);
    struct fth_answers answers = {0};
    enum fth_status status = fth_ask(prober, &request, 1, &answers, error);
    struct fth_clusters clusters;
    const struct fth_samples *samples = answers.items;
    if (status == FTH_OK)
        status = fth_modes_u32(samples->cycles, samples->count, 0.1, &clusters, error);
    struct fth_figure *const figures[] = {near_cycles, far_cycles};
    for (size_t i = 0; i < 2 && status == FTH_OK && i < clusters.count; i++)
        if (figures[i])
            status = plateau(samples, &clusters, i, overhead_cycles, figures[i], error);
    fth_answers_fini(&answers);
    return status;
}

enum fth_status fth_probe_memory_latency(const struct fth_prober *prober, double overhead_cycles,
                                         struct fth_figure *near_cycles,
                                         struct fth_figure *far_cycles, struct fth_error *error)
{
    struct fth_chain chain = {.stride_bytes = MEMORY_STRIDE, .count = MEMORY_HOPS};
    /* Other lines of the same pages, to have these in the TLBs. */
    struct fth_chain beside = chain;
    beside.start_bytes = MEMORY_STRIDE / 2;
    *far_cycles = (struct fth_figure){.value = NAN};
    return time_cold(prober, chain, beside, overhead_cycles, near_cycles, far_cycles, error);
}

enum fth_status fth_probe_cold_latency(const struct fth_prober *prober, double overhead_cycles,
                                       uint64_t stride_bytes, uint64_t count,
                                       struct fth_figure *cycles, struct fth_error *error)
{
    struct fth_chain chain = {.array = FTH_FAR_ARRAY, .stride_bytes = stride_bytes, .count = count};
    /* Other lines of the same pages, all of them: the TLBs are then left with the last ones. */
    struct fth_chain beside = chain;
    beside.start_bytes = MEMORY_STRIDE;
    return time_cold(prober, chain, beside, overhead_cycles, cycles, NULL, error);
}
