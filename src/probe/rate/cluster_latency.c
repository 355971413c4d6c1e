/* Measures the latency of another SM's shared memory (distributed shared memory, compute capability
 * 9.0 and later). In clusters of 2, 4 and 8 blocks, block 0 walks a chain in the shared memory of
 * each block, one after the other (Luo et al., "Dissecting the NVIDIA Hopper Architecture through
 * Microbenchmarking and Multiple Level Analysis", 2025). The cycles of a load are the slope between
 * two lengths of the chain, as in load_latency.c.
 *
 * The index of a block does not show on which SM it runs. Therefore near and far blocks are
 * distinguished by the latencies alone: their lowest plateau is near, the highest is far. */
#include "probe/rate/probe_rate.h"

#include <math.h>
#include <stdlib.h>

static const char operation[] = "find latency";

/* ---- steady passes ---- */

enum {
    TIMED_PASSES = 15, /* odd, so that the median is one of the passes; as in load_latency.c */
    STRIDE = 8,        /* bytes: the smallest element of a chain */
    /* Elements of the two chains: multiples of the 32 loads that the kernel unrolls. The longer
     * chain has 8 KiB; all passes together take about 2 ms. */
    SHORT_COUNT = 32,
    LONG_COUNT = 1056
};
/* Slopes of undisturbed passes over one target differ by at most this fraction, as in
 * load_latency.c. */
static const double steady_fraction = 0.01;

/* ---- disturbed passes ---- */

enum {
    /* Elements and passes if passes are disturbed. About half of the passes over so short a chain
     * are undisturbed. Each figure is from 5 parts of 36 passes; this is enough for a quarter of
     * each part to be undisturbed, as fth_clean_mean_u32 requires. */
    CLEAN_COUNT = 64,
    CLEAN_PARTS = 5,
    CLEAN_PASSES = 36 * CLEAN_PARTS
};

/* The slopes (cycles per load) of all passes of several targets. */
struct slope_pool {
    double *slopes;
    double *medians; /* for each slope, the median of its target */
    size_t count;
};

static enum fth_status figure_of(const double *slopes, size_t count, double clock_mhz,
                                 struct fth_figure *figure, struct fth_error *error)
{
    struct fth_summary summary;
    FTH_TRY(fth_summary_f64(slopes, count, &summary, error));
    *figure = (struct fth_figure){.value = summary.median,
                                  .low = summary.p05,
                                  .high = summary.p95,
                                  .samples = count,
                                  .clock_mhz = clock_mhz};
    return fth_cycles_agreement(slopes, count, &figure->confidence, error);
}

static enum fth_status median_of(const struct fth_samples *samples, double *median,
                                 struct fth_error *error)
{
    struct fth_summary summary;
    FTH_TRY(fth_summary_u32(samples->cycles, samples->count, &summary, error));
    *median = summary.median;
    return FTH_OK;
}

/* Computes the figure of one target and adds its slopes to the pool. A slope is that of one pass of
 * the longer chain against the median of the shorter one; if not `steady`, it is that of one part
 * of the passes, from the means of undisturbed passes. A slope far from its target's median is
 * disturbed and is not added. */
static enum fth_status add_target(const struct fth_samples *less, const struct fth_samples *more,
                                  bool steady, struct slope_pool *pool, struct fth_figure *figure,
                                  struct fth_error *error)
{
    double *slopes = pool->slopes + pool->count;
    double from = 0;
    FTH_TRY(steady ? median_of(less, &from, error)
                   : fth_clean_mean_u32(less->cycles, less->count, &from, error));
    const double hops = steady ? LONG_COUNT - SHORT_COUNT : CLEAN_COUNT - SHORT_COUNT;
    const size_t count = steady ? TIMED_PASSES : CLEAN_PARTS, part = more->count / count;
    for (size_t i = 0; i < count; i++) {
        double to = more->cycles[i];
        if (!steady)
            FTH_TRY(fth_clean_mean_u32(more->cycles + i * part, part, &to, error));
        slopes[i] = (to - from) / hops;
    }
    FTH_TRY(figure_of(slopes, count, more->clock_mhz, figure, error));
    for (size_t i = 0; i < count; i++)
        if (fabs(slopes[i] - figure->value) <= steady_fraction * figure->value) {
            pool->slopes[pool->count] = slopes[i];
            pool->medians[pool->count++] = figure->value;
        }
    return FTH_OK;
}

/* Measures all targets of clusters of one size. */
static enum fth_status ask_size(const struct fth_prober *prober, uint32_t size, bool steady,
                                struct fth_cluster_latency *latency, struct slope_pool *own,
                                struct slope_pool *others, struct fth_error *error)
{
    struct fth_request requests[2 * FTH_CLUSTER_TARGETS];
    for (uint32_t i = 0; i < 2 * size; i++) {
        const uint64_t more = steady ? LONG_COUNT : CLEAN_COUNT;
        requests[i] = fth_request_make(-1);
        requests[i].family = FTH_FAMILY_CLUSTER;
        requests[i].cluster = (struct fth_cluster_chase){
            .size = size,
            .target = i / 2,
            .chain = {.stride_bytes = STRIDE, .count = i % 2 ? more : SHORT_COUNT},
            .passes = steady ? TIMED_PASSES : CLEAN_PASSES};
    }
    struct fth_answers answers = {0};
    enum fth_status status = fth_ask(prober, requests, (size_t)2 * size, &answers, error);
    for (uint32_t target = 0; target < size && status == FTH_OK; target++) {
        struct fth_cluster_target *item = &latency->targets[latency->target_count];
        *item = (struct fth_cluster_target){.size = size, .target = target};
        status =
            add_target(answers.items + (size_t)2 * target, answers.items + (size_t)2 * target + 1,
                       steady, target ? others : own, &item->cycles, error);
        latency->target_count += status == FTH_OK;
    }
    fth_answers_fini(&answers);
    return status;
}

/* Computes the figure of plateau `index` of the pool. */
static enum fth_status plateau(const struct slope_pool *pool, const struct fth_clusters *clusters,
                               size_t index, double clock_mhz, struct fth_figure *figure,
                               struct fth_error *error)
{
    double *members = calloc(pool->count, sizeof *members);
    if (!members)
        return fth_no_memory(error, operation, NULL);
    size_t count = 0;
    double mean = 0;
    for (size_t i = 0; i < pool->count; i++)
        if (fth_cluster_of(clusters, pool->slopes[i]) == index) {
            members[count++] = pool->slopes[i];
            mean += (pool->slopes[i] - mean) / (double)count;
        }
    enum fth_status status = figure_of(members, count, clock_mhz, figure, error);
    /* The blocks of one plateau are not all equally far. The figure is the mean over them; its
     * confidence is from the variation of passes over the same block. */
    count = 0;
    for (size_t i = 0; i < pool->count; i++)
        if (fth_cluster_of(clusters, pool->slopes[i]) == index)
            members[count++] = mean + pool->slopes[i] - pool->medians[i];
    if (status == FTH_OK) {
        figure->value = mean;
        status = fth_cycles_agreement(members, count, &figure->confidence, error);
    }
    free(members);
    return status;
}

/* Decides on near and far blocks from the slopes of all targets. */
static enum fth_status decide(const struct slope_pool *own, const struct slope_pool *others,
                              struct fth_cluster_latency *latency, struct fth_error *error)
{
    const double clock_mhz = latency->targets[0].cycles.clock_mhz;
    struct fth_clusters clusters = {0};
    FTH_TRY(figure_of(own->slopes, own->count, clock_mhz, &latency->own, error));
    FTH_TRY(fth_cluster_f64(others->slopes, others->count, NULL, &clusters, error));
    FTH_TRY(plateau(others, &clusters, 0, clock_mhz, &latency->near_cycles, error));
    if (clusters.count > 1)
        FTH_TRY(
            plateau(others, &clusters, clusters.count - 1, clock_mhz, &latency->far_cycles, error));
    return FTH_OK;
}

/* Measures clusters of all sizes. */
static enum fth_status ask_all(const struct fth_prober *prober, bool steady,
                               struct fth_cluster_latency *latency, struct slope_pool *own,
                               struct slope_pool *others, struct fth_error *error)
{
    static const uint32_t sizes[] = {2, 4, 8}; /* 8: the largest portable size */
    own->count = others->count = latency->target_count = 0;
    for (size_t i = 0; i < FTH_COUNT(sizes); i++) {
        struct fth_error fault = FTH_NO_ERROR;
        const enum fth_status status =
            ask_size(prober, sizes[i], steady, latency, own, others, &fault);
        /* A small GPU may have too few SMs for the larger clusters. */
        if (status == FTH_UNSUPPORTED && i > 0)
            break;
        if (status != FTH_OK)
            return fth_error_move(error, &fault);
    }
    return FTH_OK;
}

/* Returns whether passes over the same target agree, for more than half of the targets. */
static bool are_steady(const struct fth_cluster_latency *latency)
{
    size_t unsteady_count = 0;
    for (size_t i = 0; i < latency->target_count; i++) {
        const struct fth_figure *cycles = &latency->targets[i].cycles;
        unsteady_count += cycles->high - cycles->low > steady_fraction * cycles->value;
    }
    return 2 * unsteady_count < latency->target_count;
}

enum fth_status fth_probe_cluster(const struct fth_prober *prober,
                                  struct fth_cluster_latency *latency, struct fth_error *error)
{
    const size_t max_slopes = (size_t)FTH_CLUSTER_TARGETS * TIMED_PASSES;
    *latency = (struct fth_cluster_latency){.far_cycles = {.value = NAN}};
    struct slope_pool own = {.slopes = calloc(max_slopes, sizeof *own.slopes),
                             .medians = calloc(max_slopes, sizeof *own.medians)};
    struct slope_pool others = {.slopes = calloc(max_slopes, sizeof *others.slopes),
                                .medians = calloc(max_slopes, sizeof *others.medians)};
    enum fth_status status = FTH_OK;
    if (!own.slopes || !others.slopes || !own.medians || !others.medians) {
        status = fth_no_memory(error, operation, NULL);
        goto out;
    }
    status = ask_all(prober, true, latency, &own, &others, error);
    if (status == FTH_OK && !are_steady(latency))
        status = ask_all(prober, false, latency, &own, &others, error);
    if (status == FTH_OK)
        status = decide(&own, &others, latency, error);
out:
    free(own.slopes);
    free(own.medians);
    free(others.slopes);
    free(others.medians);
    return status;
}
