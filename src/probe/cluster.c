/* How far another SM's shared memory is (distributed shared memory, compute capability 9.0 on):
 * block 0 of a cluster walks a chain in the shared memory of each block in turn, in clusters of 2,
 * 4 and 8 (Luo et al., "Dissecting the NVIDIA Hopper Architecture through Microbenchmarking and
 * Multiple Level Analysis", 2025). The cycles of a load are the slope between two lengths of the
 * chain, as in latency.c.
 *
 * A block's number does not say on which SM it runs, so whether there are near and far ones is left
 * to the numbers: the lowest of their plateaus is near, the highest far. */
#include "probe/probe.h"

#include <math.h>
#include <stdlib.h>

enum {
    TIMED_PASSES = 15, /* an odd number, so that the median is one of them */
    STRIDE = 8,
    /* Multiples of how many loads stand in a row; the longer one is 8 KiB, 2 ms in all. */
    SHORT_COUNT = 32,
    LONG_COUNT = 1056,
    /* Where something disturbs: so short that it does not in about half of the passes, and
     * so many of these for one figure that it surely does not in a quarter. */
    CLEAN_COUNT = 64,
    CLEAN_PARTS = 5,
    CLEAN_PASSES = 36 * CLEAN_PARTS,
};
/* Passes of one length differ by less where nothing disturbs. */
static const double steady_part = 0.01;

/* The slopes of all passes of a kind of target. */
struct pool {
    double *slopes, *medians; /* each with that of its target */
    size_t count;
};

static enum fth_status figure_of(const double *slopes, size_t count, double clock_mhz,
                                 struct fth_figure *figure, struct fth_error *error)
{
    struct fth_summary summary;
    enum fth_status status = fth_summary_f64(slopes, count, &summary, error);
    if (status == FTH_OK)
        *figure = (struct fth_figure){.value = summary.median,
                                      .low = summary.p05,
                                      .high = summary.p95,
                                      .samples = count,
                                      .clock_mhz = clock_mhz,
                                      .confidence = fth_cycles_agreement(slopes, count)};
    return status;
}

static enum fth_status median_of(const struct fth_samples *samples, double *median,
                                 struct fth_error *error)
{
    struct fth_summary summary;
    enum fth_status status = fth_summary_u32(samples->cycles, samples->count, &summary, error);
    *median = summary.median;
    return status;
}

/* One target: the slopes of the longer chain's passes against the shorter one's median; of short
 * chains, those in which nothing happened. A slope far from its target's median met a disturbance,
 * and stays out of the pool. */
static enum fth_status add_target(const struct fth_samples *less, const struct fth_samples *more,
                                  bool steady, struct pool *pool, struct fth_figure *figure,
                                  struct fth_error *error)
{
    double *slopes = pool->slopes + pool->count;
    double from = 0;
    enum fth_status status = steady ? median_of(less, &from, error)
                                    : fth_clean_mean_u32(less->cycles, less->count, &from, error);
    const double hops = steady ? LONG_COUNT - SHORT_COUNT : CLEAN_COUNT - SHORT_COUNT;
    const size_t count = steady ? TIMED_PASSES : CLEAN_PARTS, part = more->count / count;
    for (size_t i = 0; i < count && status == FTH_OK; i++) {
        double to = more->cycles[i];
        if (!steady)
            status = fth_clean_mean_u32(more->cycles + i * part, part, &to, error);
        slopes[i] = (to - from) / hops;
    }
    if (status == FTH_OK)
        status = figure_of(slopes, count, more->clock_mhz, figure, error);
    for (size_t i = 0; i < count && status == FTH_OK; i++)
        if (fabs(slopes[i] - figure->value) <= steady_part * figure->value) {
            pool->slopes[pool->count] = slopes[i];
            pool->medians[pool->count++] = figure->value;
        }
    return status;
}

/* All targets of clusters of one size. */
static enum fth_status ask_size(const struct fth_prober *prober, uint32_t size, bool steady,
                                struct fth_cluster_latency *latency, struct pool *own,
                                struct pool *others, struct fth_error *error)
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

/* The members of one plateau. */
static enum fth_status plateau(const struct pool *pool, const struct fth_clusters *clusters,
                               size_t index, double clock_mhz, struct fth_figure *figure,
                               struct fth_error *error)
{
    double *members = calloc(pool->count, sizeof *members);
    if (!members)
        return fth_fail(error, FTH_NO_MEMORY, "find latency", NULL, "out of memory");
    size_t count = 0;
    double mean = 0;
    for (size_t i = 0; i < pool->count; i++)
        if (fth_cluster_of(clusters, pool->slopes[i]) == index) {
            members[count++] = pool->slopes[i];
            mean += (pool->slopes[i] - mean) / (double)count;
        }
    enum fth_status status = figure_of(members, count, clock_mhz, figure, error);
    /* Blocks of one plateau are not all equally far: the figure is their mean, and how sure it is
     * shows in how passes over the same block differ. */
    count = 0;
    for (size_t i = 0; i < pool->count; i++)
        if (fth_cluster_of(clusters, pool->slopes[i]) == index)
            members[count++] = mean + pool->slopes[i] - pool->medians[i];
    if (status == FTH_OK) {
        figure->value = mean;
        figure->confidence = fth_cycles_agreement(members, count);
    }
    free(members);
    return status;
}

static enum fth_status decide(const struct pool *own, const struct pool *others,
                              struct fth_cluster_latency *latency, struct fth_error *error)
{
    const double clock_mhz = latency->targets[0].cycles.clock_mhz;
    struct fth_clusters clusters = {0};
    enum fth_status status = figure_of(own->slopes, own->count, clock_mhz, &latency->own, error);
    if (status == FTH_OK)
        status = fth_cluster_f64(others->slopes, others->count, NULL, &clusters, error);
    if (status == FTH_OK)
        status = plateau(others, &clusters, 0, clock_mhz, &latency->near_cycles, error);
    if (status == FTH_OK && clusters.count > 1)
        status =
            plateau(others, &clusters, clusters.count - 1, clock_mhz, &latency->far_cycles, error);
    return status;
}

/* Clusters of all sizes. */
static enum fth_status ask_all(const struct fth_prober *prober, bool steady,
                               struct fth_cluster_latency *latency, struct pool *own,
                               struct pool *others, struct fth_error *error)
{
    static const uint32_t sizes[] = {2, 4, 8};
    enum fth_status status = FTH_OK;
    own->count = others->count = latency->target_count = 0;
    for (size_t i = 0; i < FTH_COUNT(sizes) && status == FTH_OK; i++) {
        struct fth_error fault = FTH_NO_ERROR;
        status = ask_size(prober, sizes[i], steady, latency, own, others, &fault);
        /* A small GPU may have no room for the larger ones. */
        if (status == FTH_UNSUPPORTED && i > 0)
            return FTH_OK;
        if (status != FTH_OK)
            fth_fail(error, status, fault.operation, fault.argument, "%s", fault.cause);
    }
    return status;
}

/* Whether passes over one target agree, for most targets. */
static bool are_steady(const struct fth_cluster_latency *latency)
{
    size_t restless = 0;
    for (size_t i = 0; i < latency->target_count; i++) {
        const struct fth_figure *cycles = &latency->targets[i].cycles;
        restless += cycles->high - cycles->low > steady_part * cycles->value;
    }
    return 2 * restless < latency->target_count;
}

enum fth_status fth_probe_cluster(const struct fth_prober *prober,
                                  struct fth_cluster_latency *latency, struct fth_error *error)
{
    const size_t room = (size_t)FTH_CLUSTER_TARGETS * TIMED_PASSES;
    *latency = (struct fth_cluster_latency){.far_cycles = {.value = NAN}};
    struct pool own = {.slopes = calloc(room, sizeof *own.slopes),
                       .medians = calloc(room, sizeof *own.medians)};
    struct pool others = {.slopes = calloc(room, sizeof *others.slopes),
                          .medians = calloc(room, sizeof *others.medians)};
    enum fth_status status = FTH_OK;
    if (!own.slopes || !others.slopes || !own.medians || !others.medians)
        status = fth_fail(error, FTH_NO_MEMORY, "find latency", NULL, "out of memory");
    if (status == FTH_OK)
        status = ask_all(prober, true, latency, &own, &others, error);
    if (status == FTH_OK && !are_steady(latency))
        status = ask_all(prober, false, latency, &own, &others, error);
    if (status == FTH_OK)
        status = decide(&own, &others, latency, error);
    free(own.slopes);
    free(own.medians);
    free(others.slopes);
    free(others.medians);
    return status;
}
