/* A closer look at the L2 (probe/l2map.c): where lines have their homes, on which side each SM is,
 * whether memory sends more than was asked for, and whether lines leave in an order. */
#include "discover/discover.h"
#include "probe/l2.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Cohen's kappa from which on two times are alike ("almost perfect", Landis and Koch 1977), and up
 * to which they are not ("fair"). */
static const double in_order = 0.8, at_random = 0.4;
/* Of a first walk, more than which is prefetched: of 2047 loads some may be disturbed. */
static const double prefetched = 0.05;

/* ---- where hits and misses are ---- */

/* Edges as in probe/l2.c: memory is what takes longer than its 5 % quantile; near is what is nearer
 * to the near latency than to the far one. */
static enum fth_status make_plan(struct fth_discovery *discovery, struct fth_l2_map_plan *plan,
                                 struct fth_error *error)
{
    const struct fth_gpu *gpu = discovery->gpu;
    const double overhead = discovery->l2_overhead_cycles;
    const double far_l2 = fth_gpu_number(gpu, "l2", "far_latency_cycles", NAN);
    struct fth_figure near = {.value = NAN, .low = NAN}, far = {.value = NAN};
    enum fth_status status =
        fth_probe_memory_latency(&discovery->prober, overhead, &near, &far, error);
    if (status != FTH_OK)
        return status;
    const double size = fth_gpu_number(gpu, "l2", "size_bytes", 0);
    const double line =
        fth_gpu_number(gpu, "l2", "line_bytes", fth_gpu_number(gpu, "l2", "sector_bytes", 128));
    *plan = (struct fth_l2_map_plan){.size_bytes = (uint64_t)size,
                                     .line_bytes = (uint64_t)line,
                                     .memory_edge = overhead + near.low - 2,
                                     .memory_middle = overhead + (near.value + far.value) / 2};
    plan->near_edge =
        isnan(far_l2) ? plan->memory_edge : overhead + (discovery->l2.value + far_l2) / 2;
    return plan->size_bytes && plan->near_edge <= plan->memory_edge
               ? FTH_OK
               : fth_fail(error, FTH_INCONCLUSIVE, "map L2", NULL,
                          size > 0 ? "what L2 and memory take is not apart"
                                   : "its size is not known");
}

/* ---- homes ---- */

static enum fth_status find_homes(struct fth_discovery *discovery,
                                  const struct fth_l2_map_plan *plan, struct fth_error *error)
{
    static const char method[] =
        "which address bits, up to 2 MiB, change the home of a line by themselves";
    struct fth_home_mask found;
    enum fth_status status = fth_probe_home_mask(&discovery->prober, plan, &found, error);
    if (status != FTH_OK)
        return fth_note_failure(discovery->gpu, "l2", "home_mask", status, error);
    char reason[200];
    if (found.mixed)
        snprintf(reason, sizeof reason,
                 "no parity of address bits: the bits 0x%llx change it in some places, 0x%llx "
                 "always",
                 (unsigned long long)found.mixed, (unsigned long long)found.mask);
    else if (found.unknown)
        snprintf(reason, sizeof reason, "the homes of too few lines were seen for the bits 0x%llx",
                 (unsigned long long)found.unknown);
    else
        snprintf(reason, sizeof reason, "no address bit changes it");
    if (found.mixed || found.unknown || !found.mask)
        return fth_note_unknown(discovery->gpu, "l2", "home_mask", reason, error);
    const struct fth_note note = {.element = "l2",
                                  .attribute = "home_mask",
                                  .value = (double)found.mask,
                                  .low = NAN,
                                  .high = NAN,
                                  .confidence = NAN,
                                  .samples = found.samples,
                                  .method = method,
                                  .note = "bits from 21 on are not known: pages of 2 MiB need not "
                                          "be neighbours"};
    return fth_note_number(discovery->gpu, &note, error);
}

static enum fth_status note_sides(struct fth_gpu *gpu, const enum fth_relation *sides,
                                  double *numbers, size_t sms, size_t samples,
                                  struct fth_error *error)
{
    size_t doubtful = 0;
    for (size_t i = 0; i < sms; i++) {
        numbers[i] = sides[i] == FTH_RELATION_OPPOSITE ? 1 : 0;
        doubtful += sides[i] != FTH_RELATION_SAME && sides[i] != FTH_RELATION_OPPOSITE;
    }
    char reason[120];
    snprintf(reason, sizeof reason,
             "%zu of %zu SMs see homes that are neither those of the first nor the opposite",
             doubtful, sms);
    if (doubtful)
        return fth_note_unknown(gpu, "l2", "partition_by_sm", reason, error);
    return fth_note_numbers(gpu, "l2", "partition_by_sm", numbers, sms, NAN, samples,
                            "the homes of the same lines, as each SM sees them", error);
}

static enum fth_status find_sides(struct fth_discovery *discovery,
                                  const struct fth_l2_map_plan *plan, struct fth_error *error)
{
    const size_t sms = discovery->prober.sms;
    enum fth_relation *sides = calloc(sms, sizeof *sides);
    double *numbers = calloc(sms, sizeof *numbers);
    size_t samples = 0;
    enum fth_status status;
    if (!sides || !numbers) {
        status = fth_fail(error, FTH_NO_MEMORY, "find the sides of the SMs", NULL, "out of memory");
        goto out;
    }
    status = fth_probe_sm_sides(&discovery->prober, plan, sides, &samples, error);
    if (status == FTH_OK)
        status = note_sides(discovery->gpu, sides, numbers, sms, samples, error);
    else
        status = fth_note_failure(discovery->gpu, "l2", "partition_by_sm", status, error);
out:
    free(numbers);
    free(sides);
    return status;
}

/* ---- prefetching and order ---- */

static enum fth_status find_prefetch(struct fth_discovery *discovery,
                                     const struct fth_l2_map_plan *plan, struct fth_error *error)
{
    double part = NAN;
    size_t samples = 0;
    enum fth_status status = fth_probe_prefetch(&discovery->prober, plan, &part, &samples, error);
    if (status != FTH_OK)
        return fth_note_failure(discovery->gpu, "l2", "prefetched_part", status, error);
    const struct fth_note note = {
        .element = "l2",
        .attribute = "prefetched_part",
        .value = round(1000 * part) / 1000,
        .low = NAN,
        .high = NAN,
        .confidence = NAN,
        .samples = samples,
        .method = "loads of a first walk, a line at a time after a flush, that memory does not "
                  "answer",
        .note =
            part > prefetched ? "memory sends more than is asked for" : "nothing is prefetched"};
    return fth_note_number(discovery->gpu, &note, error);
}

static enum fth_status find_order(struct fth_discovery *discovery,
                                  const struct fth_l2_map_plan *plan, struct fth_error *error)
{
    double agreement = NAN;
    size_t samples = 0;
    enum fth_status status =
        fth_probe_l2_order(&discovery->prober, plan, &agreement, &samples, error);
    if (status != FTH_OK)
        return fth_note_failure(discovery->gpu, "l2", "periodic", status, error);
    char method[160];
    if (isnan(agreement))
        snprintf(method, sizeof method,
                 "at every footprint all of the lines left, or none, whenever it was done");
    else
        snprintf(
            method, sizeof method,
            "whether the same lines leave when the same is done again: agreement beyond chance "
            "%.2f, median of five footprints",
            agreement);
    if (agreement < in_order && agreement > at_random)
        return fth_note_unknown(discovery->gpu, "l2", "periodic", method, error);
    return fth_note_text(discovery->gpu, "l2", "periodic", agreement <= at_random ? "no" : "yes",
                         method, error);
}

enum fth_status fth_dissect_l2_map(struct fth_discovery *discovery, struct fth_error *error)
{
    struct fth_l2_map_plan plan;
    enum fth_status status = make_plan(discovery, &plan, error);
    if (status != FTH_OK)
        return fth_note_failure(discovery->gpu, "l2", "prefetched_part", status, error);
    const bool two = fth_gpu_number(discovery->gpu, "l2", "partitions", 1) == 2;
    if (two)
        status = find_homes(discovery, &plan, error);
    if (status == FTH_OK && two)
        status = find_sides(discovery, &plan, error);
    if (status == FTH_OK)
        status = find_prefetch(discovery, &plan, error);
    return status == FTH_OK ? find_order(discovery, &plan, error) : status;
}
