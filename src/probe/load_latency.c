/* Measures the latency of caches and memory with pointer chases.
 *
 * The latency of a hit is the slope between whole passes over two chains of different length. If
 * passes are disturbed, single hops are timed instead. The latency of memory is from single hops as
 * well (the fine-grained pointer chase of Mei and Chu 2017), because lines may come from near or
 * from far memory. */
#include "probe/probe.h"

#include <math.h>
#include <stdlib.h>

static const char operation[] = "find latency";

/* ---- hits ---- */

enum {
    WARM_PASSES = 2, /* untimed passes before the timed ones: the second finds everything cached */
    /* Timed passes. Odd, so that the median is one of the passes. Otherwise chosen, not derived. */
    TIMED_PASSES = 15,
    /* Timed passes, hop by hop, to measure the overhead of timing a hop. Chosen, not derived. */
    OVERHEAD_PASSES = 3
};
/* Passes over one chain are steady if their 5th and 95th percentiles differ by at most 1 % of the
 * median plus 8 cycles. Chosen: if one load in 100 takes ten times as long, passes of 256 loads
 * are off by 9 %. */
static const double steady_fraction = 0.01, steady_cycles = 8;
/* If both chains fit, a pass takes the time of its loads plus a fixed cost, which is at least 0. If
 * the longer chain does not fit, its misses raise the slope, and the fixed cost seems negative: by
 * more than this fraction of a pass over the shorter chain. Chosen: the mean latencies of different
 * lines of an L2 differ by about 1 %. */
static const double max_negative_fraction = 0.03;
/* If loads are disturbed, single loads of the longer chain may take at most this much longer, as a
 * fraction, than those of the chain of CLEAN_LONG elements. Chosen: a miss takes at least 15 %
 * longer, and the mean latencies of different lines of an L2 differ by less. */
static const double max_longer_fraction = 0.1;

/* ---- hits, if loads are disturbed ---- */

enum {
    /* Elements and passes used to calibrate the overhead when loads are disturbed. If 1 load in 100
     * is slow, half of the passes over 64 elements are undisturbed. The lengths are multiples of
     * the 32 loads that the kernel unrolls. */
    CLEAN_SHORT = 32,
    CLEAN_LONG = 64,
    CLEAN_PASSES = 101, /* odd, as above; half of them are at least 50 undisturbed passes */
    CLEAN_HOPS = 16     /* passes that are timed hop by hop: 1024 hops. Chosen. */
};

/* ---- memory ---- */

enum {
    /* Timed hops from memory and their stride in bytes. The stride is not a power of two, so that
     * the lines lie in all partitions and channels. The footprint is 17 MB, which is within the
     * reach of even a small TLB. */
    MEMORY_HOPS = 4096,
    MEMORY_STRIDE = 4096 + 128
};
/* Minimum fraction of the loads that form a plateau. Chosen, not derived: with two memories, each
 * has about half of the loads. */
static const double min_plateau_share = 0.1;

/* ---- timing without a load ---- */

enum {
    /* Samples per figure of the timing overhead. The first half is dropped: the code is not in the
     * instruction cache yet. Chosen, not derived. */
    TIMINGS = 256,
    TIMING_STRIDE = 8 /* bytes: the smallest element of a chain; nothing is loaded */
};
/* Sets value, interval and confidence of a figure to those of the values' median. */
static enum fth_status figure_of(const double *values, size_t count, struct fth_figure *figure,
                                 struct fth_error *error)
{
    struct fth_summary summary;
    FTH_TRY(fth_summary_f64(values, count, &summary, error));
    figure->value = summary.median;
    figure->low = summary.p05;
    figure->high = summary.p95;
    return fth_cycles_agreement(values, count, &figure->confidence, error);
}

static struct fth_chain chain_of(const struct fth_latency_plan *plan, uint64_t count)
{
    return (struct fth_chain){.stride_bytes = plan->stride_bytes, .count = count};
}

static struct fth_request warm_request(const struct fth_latency_plan *plan, uint64_t count,
                                       enum fth_step_kind kind, uint64_t passes, uint32_t sm)
{
    struct fth_request request = fth_request_make(plan->carveout_percent);
    request.sm = sm;
    fth_request_add(&request, FTH_STEP_WALK, plan->path, chain_of(plan, count), WARM_PASSES);
    fth_request_add(&request, kind, plan->path, chain_of(plan, count), passes);
    return request;
}

/* ---- whole passes ---- */

static enum fth_status does_not_fit(const struct fth_latency_plan *plan, struct fth_error *error)
{
    return fth_fail(error, FTH_INCONCLUSIVE, operation, NULL,
                    "a load of a chain of %llu bytes takes longer than one of a shorter chain: the "
                    "longer one does not fit",
                    (unsigned long long)(plan->long_count * plan->stride_bytes));
}

/* Computes the slopes in cycles per load between the two chain lengths: one per SM, or, if only one
 * SM was measured, one per pass of the longer chain. `steady` is false if the passes of at least
 * half of the SMs vary too much. Fails if the longer chain does not fit, on at least half of the
 * SMs. */
static enum fth_status slopes(const struct fth_latency_plan *plan,
                              const struct fth_answers *answers, double *values, size_t *count,
                              bool *steady, struct fth_error *error)
{
    const double hops = (double)(plan->long_count - plan->short_count);
    const size_t pairs = answers->count / 2;
    size_t unsteady_count = 0, negative_count = 0;
    *count = 0;
    for (size_t i = 0; i < pairs; i++) {
        struct fth_summary less, more;
        const struct fth_samples *a = &answers->items[2 * i], *b = &answers->items[2 * i + 1];
        FTH_TRY(fth_summary_u32(a->cycles, a->count, &less, error));
        FTH_TRY(fth_summary_u32(b->cycles, b->count, &more, error));
        unsteady_count += more.p95 - more.p05 > steady_fraction * more.median + steady_cycles;
        const double slope = (more.median - less.median) / hops;
        const double fixed_cycles = less.median - slope * (double)plan->short_count;
        negative_count += fixed_cycles < -max_negative_fraction * less.median;
        if (pairs > 1)
            values[(*count)++] = slope;
        for (size_t pass = 0; pairs == 1 && pass < b->count; pass++)
            values[(*count)++] = (b->cycles[pass] - less.median) / hops;
    }
    *steady = 2 * unsteady_count < pairs;
    return *steady && 2 * negative_count >= pairs ? does_not_fit(plan, error) : FTH_OK;
}

/* ---- single loads ---- */

/* Measures the overhead of timing a hop when loads are disturbed: compares timed hops with whole
 * passes that are so short that many of them are undisturbed. *hop_cycles receives the cycles of
 * these hops. */
static enum fth_status calibrate(const struct fth_prober *prober,
                                 const struct fth_latency_plan *plan, double *overhead,
                                 double *hop_cycles, size_t *samples, struct fth_error *error)
{
    const struct fth_request requests[] = {
        warm_request(plan, CLEAN_SHORT, FTH_STEP_TIME_PASS, CLEAN_PASSES, 0),
        warm_request(plan, CLEAN_LONG, FTH_STEP_TIME_PASS, CLEAN_PASSES, 0),
        warm_request(plan, CLEAN_LONG, FTH_STEP_TIME_HOPS, CLEAN_HOPS, 0)};
    struct fth_answers answers = {0};
    double less, more;
    FTH_TRY(fth_ask(prober, requests, FTH_COUNT(requests), &answers, error));
    enum fth_status status =
        fth_clean_mean_u32(answers.items[0].cycles, CLEAN_PASSES, &less, error);
    if (status == FTH_OK)
        status = fth_clean_mean_u32(answers.items[1].cycles, CLEAN_PASSES, &more, error);
    if (status == FTH_OK)
        status =
            fth_core_mean_u32(answers.items[2].cycles, answers.items[2].count, hop_cycles, error);
    if (status == FTH_OK)
        *overhead = *hop_cycles - (more - less) / (CLEAN_LONG - CLEAN_SHORT);
    for (size_t i = 0; i < answers.count; i++)
        *samples += answers.items[i].count;
    fth_answers_fini(&answers);
    return status;
}

/* Measures the latency hop by hop: a robust mean of single hops ignores occasional slow ones.
 * Computes one value per SM, or, if only one SM is measured, one per pass. */
static enum fth_status single_loads(const struct fth_prober *prober,
                                    const struct fth_latency_plan *plan, double *values,
                                    size_t *count, struct fth_figure *cycles,
                                    struct fth_error *error)
{
    const size_t sms = plan->every_sm ? prober->sms : 1;
    const size_t parts = sms > 1 ? 1 : TIMED_PASSES;
    double overhead = NAN, clean_hop = NAN;
    FTH_TRY(calibrate(prober, plan, &overhead, &clean_hop, &cycles->samples, error));
    struct fth_request *requests = calloc(sms, sizeof *requests);
    if (!requests)
        return fth_no_memory(error, operation, NULL);
    for (size_t i = 0; i < sms; i++)
        requests[i] = warm_request(plan, plan->long_count, FTH_STEP_TIME_HOPS, parts, (uint32_t)i);
    struct fth_answers answers = {0};
    enum fth_status status = fth_ask(prober, requests, sms, &answers, error);
    size_t longer_count = 0;
    *count = 0;
    for (size_t i = 0; i < sms * parts && status == FTH_OK; i++) {
        const struct fth_samples *all = &answers.items[i / parts];
        const size_t size = all->count / parts;
        double hop = NAN;
        status = fth_core_mean_u32(all->cycles + i % parts * size, size, &hop, error);
        longer_count += hop > (1 + max_longer_fraction) * clean_hop;
        values[(*count)++] = hop - overhead;
        cycles->samples += size;
    }
    if (status == FTH_OK && 2 * longer_count >= *count)
        status = does_not_fit(plan, error);
    fth_answers_fini(&answers);
    free(requests);
    return status;
}

/* ---- latency and overhead ---- */

enum fth_status fth_probe_latency(const struct fth_prober *prober,
                                  const struct fth_latency_plan *plan, struct fth_figure *cycles,
                                  struct fth_error *error)
{
    const size_t pairs = plan->every_sm ? prober->sms : 1;
    struct fth_request *requests = calloc(2 * pairs, sizeof *requests);
    double *values = calloc(pairs + TIMED_PASSES, sizeof *values);
    struct fth_answers answers = {0};
    size_t count = 0;
    bool steady = true;
    enum fth_status status = FTH_OK;
    *cycles = (struct fth_figure){.value = NAN};
    if (!requests || !values) {
        status = fth_no_memory(error, operation, NULL);
        goto out;
    }
    for (size_t i = 0; i < 2 * pairs; i++)
        requests[i] = warm_request(plan, i % 2 ? plan->long_count : plan->short_count,
                                   FTH_STEP_TIME_PASS, TIMED_PASSES, (uint32_t)(i / 2));
    status = fth_ask(prober, requests, 2 * pairs, &answers, error);
    if (status == FTH_OK)
        status = slopes(plan, &answers, values, &count, &steady, error);
    if (status != FTH_OK)
        goto out;
    cycles->disturbed = !steady;
    for (size_t i = 0; i < answers.count; i++) {
        cycles->samples += answers.items[i].count;
        cycles->clock_mhz = answers.items[i].clock_mhz;
    }
    if (!steady)
        status = single_loads(prober, plan, values, &count, cycles, error);
    if (status == FTH_OK)
        status = figure_of(values, count, cycles, error);
    for (size_t i = 0; i < pairs && plan->by_sm && status == FTH_OK; i++)
        plan->by_sm[i] = pairs > 1 ? values[i] : cycles->value;
out:
    fth_answers_fini(&answers);
    free(values);
    free(requests);
    return status;
}

enum fth_status fth_probe_overhead(const struct fth_prober *prober,
                                   const struct fth_latency_plan *plan, double latency_cycles,
                                   double *overhead_cycles, struct fth_error *error)
{
    const struct fth_request request =
        warm_request(plan, plan->long_count, FTH_STEP_TIME_HOPS, OVERHEAD_PASSES, 0);
    struct fth_answers answers = {0};
    double hop = NAN;
    *overhead_cycles = NAN;
    FTH_TRY(fth_ask(prober, &request, 1, &answers, error));
    enum fth_status status =
        fth_core_mean_u32(answers.items[0].cycles, answers.items[0].count, &hop, error);
    *overhead_cycles = hop - latency_cycles;
    fth_answers_fini(&answers);
    return status;
}

/* ---- memory ---- */

/* Computes the latency of the samples of plateau `index`, minus the overhead. */
static enum fth_status plateau(const struct fth_samples *samples,
                               const struct fth_clusters *clusters, size_t index,
                               double overhead_cycles, struct fth_figure *cycles,
                               struct fth_error *error)
{
    uint32_t *members = calloc(samples->count, sizeof *members);
    if (!members)
        return fth_no_memory(error, operation, NULL);
    size_t count = 0;
    for (size_t i = 0; i < samples->count; i++)
        if (fth_cluster_of(clusters, samples->cycles[i]) == index)
            members[count++] = samples->cycles[i];
    enum fth_status status = fth_plateau_figure(members, count, overhead_cycles, cycles, error);
    cycles->clock_mhz = samples->clock_mhz;
    free(members);
    return status;
}

/* Finds the plateaus of near and far memory. On a real GPU, they are wide and may touch each other.
 * If they are narrow and near each other, they are only one mode, but have a gap between them. */
static enum fth_status find_plateaus(const struct fth_samples *samples,
                                     struct fth_clusters *clusters, struct fth_error *error)
{
    const struct fth_cluster_options options = {.min_share = min_plateau_share};
    struct fth_clusters narrow;
    FTH_TRY(fth_modes_u32(samples->cycles, samples->count, min_plateau_share, clusters, error));
    if (clusters->count > 1)
        return FTH_OK;
    FTH_TRY(fth_cluster_u32(samples->cycles, samples->count, &options, &narrow, error));
    if (narrow.count > 1)
        *clusters = narrow;
    return FTH_OK;
}

/* Walks the chain `before` untimed, then times the hops of `chain`; at the start, L2 holds nothing
 * of either. Sets the figures of the two lowest plateaus. `far_cycles` may be NULL, and is left
 * unchanged if there is only one plateau. */
static enum fth_status time_cold(const struct fth_prober *prober, struct fth_chain chain,
                                 struct fth_chain before, double overhead_cycles,
                                 struct fth_figure *near_cycles, struct fth_figure *far_cycles,
                                 struct fth_error *error)
{
    struct fth_request request = fth_request_make(-1);
    request.cold = true;
    request.sm = 0; /* always the same, because SMs differ in their distance to each partition */
    fth_request_add(&request, FTH_STEP_WALK, FTH_PATH_CG, before, 1);
    fth_request_add(&request, FTH_STEP_TIME_HOPS, FTH_PATH_CG, chain, 1);
    struct fth_answers answers = {0};
    FTH_TRY(fth_ask(prober, &request, 1, &answers, error));
    struct fth_clusters clusters;
    const struct fth_samples *samples = answers.items;
    enum fth_status status = find_plateaus(samples, &clusters, error);
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
    /* Other lines of the same pages, which bring the pages into the TLBs. */
    struct fth_chain same_pages = chain;
    same_pages.start_bytes = MEMORY_STRIDE / 2;
    *far_cycles = (struct fth_figure){.value = NAN};
    return time_cold(prober, chain, same_pages, overhead_cycles, near_cycles, far_cycles, error);
}

enum fth_status fth_probe_cold_latency(const struct fth_prober *prober, double overhead_cycles,
                                       uint64_t stride_bytes, uint64_t count,
                                       struct fth_figure *cycles, struct fth_error *error)
{
    struct fth_chain chain = {
        .array = FTH_FIRST_HEADER_ARRAY, .stride_bytes = stride_bytes, .count = count};
    /* Other lines of the same pages: a walk over all of them leaves only the last pages in the
     * TLBs, so that the timed walk finds them cold. */
    struct fth_chain same_pages = chain;
    same_pages.start_bytes = MEMORY_STRIDE;
    return time_cold(prober, chain, same_pages, overhead_cycles, cycles, NULL, error);
}

/* ---- timing without a load ---- */

static enum fth_status summarise(const struct fth_samples *samples, struct fth_figure *figure,
                                 struct fth_error *error)
{
    struct fth_summary summary;
    const size_t skipped = TIMINGS / 2;
    FTH_TRY(fth_summary_u32(samples->cycles + skipped, samples->count - skipped, &summary, error));
    *figure = (struct fth_figure){.value = summary.median,
                                  .low = summary.p05,
                                  .high = summary.p95,
                                  .samples = samples->count - skipped,
                                  .clock_mhz = samples->clock_mhz};
    return FTH_OK;
}

enum fth_status fth_probe_timing(const struct fth_prober *prober, struct fth_figure *clock_cycles,
                                 struct fth_figure *sink_cycles, struct fth_error *error)
{
    static const enum fth_step_kind kinds[] = {FTH_STEP_TIME_CLOCK, FTH_STEP_TIME_SINK};
    struct fth_request requests[2];
    for (size_t i = 0; i < 2; i++) {
        struct fth_chain chain = {.stride_bytes = TIMING_STRIDE, .count = TIMINGS};
        requests[i] = fth_request_make(-1);
        fth_request_add(&requests[i], kinds[i], FTH_PATH_CG, chain, 1);
    }
    struct fth_answers answers = {0};
    FTH_TRY(fth_ask(prober, requests, 2, &answers, error));
    enum fth_status status = summarise(&answers.items[0], clock_cycles, error);
    if (status == FTH_OK)
        status = summarise(&answers.items[1], sink_cycles, error);
    fth_answers_fini(&answers);
    return status;
}
