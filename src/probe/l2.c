/* The L2 as one SM sees it. Where it is in two partitions, lines whose home is the far one are
 * found near as long as the near partition has room for copies of them, and at the far latency
 * beyond; so a third plateau appears between L2 and memory once the footprint is past the near
 * partition's size.
 *
 * A footprint is filled by the whole block, many loads at a time, and read back by a chain that
 * comes by every so many lines: enough to see the plateaus. */
#include "probe/probe.h"

#include <math.h>
#include <stdlib.h>

enum {
    LINE = 128,
    SAMPLES = 2048, /* of a footprint, where it has so many lines */
    FOOTPRINTS = 3,
    FILL_HOPS = 1024
};

/* Of the L2's size: well within one partition, within, and within two of them. */
static const double footprints[FOOTPRINTS] = {0.2, 0.4, 0.7};

/* The share of hops that are not near any more, by the threshold. */
static double beyond(const struct fth_samples *samples, double threshold)
{
    size_t slow = 0;
    for (size_t i = 0; i < samples->count; i++)
        slow += samples->cycles[i] > threshold;
    return (double)slow / (double)samples->count;
}

/* What near hits take at most, from a footprint that is all but near: some quartiles' distances
 * above the upper quartile, which a few misses do not move. */
static enum fth_status find_near_edge(const struct fth_samples *samples, double *edge,
                                      struct fth_error *error)
{
    double *sorted = NULL;
    enum fth_status status =
        fth_sorted_u32(samples->cycles, samples->count, "find partitions", &sorted, error);
    if (status == FTH_OK) {
        double low = fth_quantile_sorted(sorted, samples->count, 0.25);
        double high = fth_quantile_sorted(sorted, samples->count, 0.75);
        *edge = high + 2.5 * (high - low) + 4;
    }
    free(sorted);
    return status;
}

/* Of the hops slower than near ones: the lowest plateau below memory's latency. */
static enum fth_status find_far(const struct fth_samples *samples, double near_edge,
                                double memory_edge, double overhead, struct fth_figure *far,
                                struct fth_error *error)
{
    uint32_t *between = calloc(samples->count, sizeof *between);
    if (!between)
        return fth_fail(error, FTH_NO_MEMORY, "find partitions", NULL, "out of memory");
    size_t count = 0;
    for (size_t i = 0; i < samples->count; i++)
        if (samples->cycles[i] > near_edge && samples->cycles[i] < memory_edge)
            between[count++] = samples->cycles[i];
    enum fth_status status = FTH_OK;
    far->value = NAN;
    if (count * 10 > samples->count) { /* strays are fewer */
        struct fth_summary summary;
        double mean;
        status = fth_summary_u32(between, count, &summary, error);
        if (status == FTH_OK)
            status = fth_core_mean_u32(between, count, &mean, error);
        if (status == FTH_OK)
            *far = (struct fth_figure){.value = mean - overhead,
                                       .low = summary.p05 - overhead,
                                       .high = summary.p95 - overhead,
                                       .samples = count,
                                       .clock_mhz = samples->clock_mhz};
    }
    free(between);
    return status;
}

/* What memory brings in at a time: the distances between loads that come from there. */
static enum fth_status find_fill(const struct fth_prober *prober, double threshold,
                                 struct fth_l2_found *found, struct fth_error *error)
{
    struct fth_request request = fth_request_make(-1);
    struct fth_chain chain = {.stride_bytes = 8, .count = FILL_HOPS};
    request.cold = true;
    fth_request_add(&request, FTH_STEP_TIME_HOPS, FTH_PATH_CG, chain, 1);
    struct fth_answers answers = {0};
    enum fth_status status = fth_ask(prober, &request, 1, &answers, error);
    unsigned counts[FILL_HOPS] = {0};
    if (status == FTH_OK)
        fth_count_distances(&answers.items[0], threshold, counts);
    found->fill_bytes = (uint64_t)fth_most_frequent(counts, FILL_HOPS) * 8;
    found->samples += status == FTH_OK ? answers.items[0].count : 0;
    fth_answers_fini(&answers);
    return status;
}

enum fth_status fth_probe_l2(const struct fth_prober *prober, uint64_t l2_bytes, double l2_cycles,
                             const struct fth_figure *memory, double overhead_cycles,
                             struct fth_l2_found *found, struct fth_error *error)
{
    *found = (struct fth_l2_found){.partitions = 1};
    struct fth_request requests[FOOTPRINTS] = {{0}};
    for (size_t i = 0; i < FOOTPRINTS; i++) {
        uint64_t lines = (uint64_t)((double)l2_bytes * footprints[i]) / LINE;
        struct fth_chain all = {.stride_bytes = LINE, .count = lines};
        /* An odd number of lines apart, so that all sets and slices are met. */
        uint64_t apart = lines / SAMPLES | 1;
        struct fth_chain some = {.stride_bytes = LINE * apart, .count = lines / apart};
        requests[i] = fth_request_make(-1);
        requests[i].alone = true;
        requests[i].sm = 0;
        fth_request_add(&requests[i], FTH_STEP_TOUCH, FTH_PATH_CG, all, 1);
        if (footprints[i] > 0.5) /* what is at home elsewhere gets there with the second */
            fth_request_add(&requests[i], FTH_STEP_TOUCH, FTH_PATH_CG, all, 1);
        fth_request_add(&requests[i], FTH_STEP_TIME_HOPS, FTH_PATH_CG, some, 1);
    }
    const double memory_edge = overhead_cycles + memory->low - 2;
    double near_edge = 0;
    struct fth_answers answers = {0};
    enum fth_status status = fth_ask(prober, requests, FOOTPRINTS, &answers, error);
    if (status == FTH_OK)
        status = find_near_edge(&answers.items[0], &near_edge, error);
    for (size_t i = 0; i < FOOTPRINTS && status == FTH_OK; i++) {
        found->samples += answers.items[i].count;
        /* The first is near by its choice. */
        if (i > 0 && beyond(&answers.items[i], near_edge) >= 0.02 && found->partitions == 1) {
            struct fth_figure far = {.value = NAN};
            status =
                find_far(&answers.items[i], near_edge, memory_edge, overhead_cycles, &far, error);
            if (status == FTH_OK && isfinite(far.value)) {
                found->partitions = 2;
                found->far_latency = far;
            }
        }
    }
    fth_answers_fini(&answers);
    if (status == FTH_OK)
        status = find_fill(prober, overhead_cycles + sqrt(l2_cycles * memory->value), found, error);
    return status;
}
