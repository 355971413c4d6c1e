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
    MEMORY_STRIDE = 4096 + 128
};

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
    cycles->samples = 0;
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
    double mean = NAN;
    enum fth_status status = fth_core_mean_u32(members, count, &mean, error);
    const struct fth_cluster *cluster = &clusters->items[index];
    *cycles = (struct fth_figure){mean - overhead_cycles, cluster->p05 - overhead_cycles,
                                  cluster->p95 - overhead_cycles, count, samples->clock_mhz};
    free(members);
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
    struct fth_request request = fth_request_make(-1);
    request.cold = true;
    request.sm = 0; /* SMs differ in how far they are from either partition */
    fth_request_add(&request, FTH_STEP_WALK, FTH_PATH_CG, beside, 1);
    fth_request_add(&request, FTH_STEP_TIME_HOPS, FTH_PATH_CG, chain, 1);
    struct fth_answers answers = {0};
    enum fth_status status = fth_ask(prober, &request, 1, &answers, error);
    struct fth_clusters clusters;
    const struct fth_samples *samples = answers.items;
    if (status == FTH_OK)
        status = fth_modes_u32(samples->cycles, samples->count, 0.1, &clusters, error);
    *far_cycles = (struct fth_figure){.value = NAN};
    struct fth_figure *const figures[] = {near_cycles, far_cycles};
    for (size_t i = 0; i < 2 && status == FTH_OK && i < clusters.count; i++)
        status = plateau(samples, &clusters, i, overhead_cycles, figures[i], error);
    fth_answers_fini(&answers);
    return status;
}
