/* Times single accesses of one thread, and launches that read and write parts of an array, in the
 * GPU's memory, in host memory and in managed memory. */
#include "probe/rate/probe_rate.h"

#include <math.h>
#include <stdlib.h>

static const char operation[] = "measure";

enum { OVERHEAD_VISITS = 64 }; /* whose median is the cost of timing. Chosen, not derived. */
/* An access to managed memory was a fault if it takes this many times as long as the median in the
 * second pass. Chosen: on an H200, loads take up to 4 times the median, faults 100 times. */
static const double fault_factor = 20;

static enum fth_status quantiles(const uint32_t *cycles, size_t count, double overhead, double *p10,
                                 double *median, double *p90, struct fth_error *error)
{
    double *sorted;
    FTH_TRY(fth_sorted_u32(cycles, count, operation, &sorted, error));
    *p10 = fth_quantile_sorted(sorted, count, 0.1) - overhead;
    *median = fth_quantile_sorted(sorted, count, 0.5) - overhead;
    *p90 = fth_quantile_sorted(sorted, count, 0.9) - overhead;
    free(sorted);
    return FTH_OK;
}

/* The request of the visits, and one for the cost of timing them. */
static void make_requests(const struct fth_visit *visit, bool cold, struct fth_request requests[2])
{
    for (size_t i = 0; i < 2; i++) {
        requests[i] = fth_request_make(-1);
        requests[i].family = FTH_FAMILY_VISIT;
    }
    requests[0].visit = *visit;
    requests[0].cold = cold;
    requests[1].visit =
        (struct fth_visit){.stride_bytes = sizeof(uint32_t), .count = OVERHEAD_VISITS, .passes = 1};
}

enum fth_status fth_probe_visits(const struct fth_prober *prober, const struct fth_visit *visit,
                                 bool cold, struct fth_access_times *times, struct fth_error *error)
{
    struct fth_request requests[2];
    struct fth_answers answers = {0};
    struct fth_summary overhead;
    make_requests(visit, cold, requests);
    FTH_TRY(fth_ask(prober, requests, 2, &answers, error));
    const uint32_t *cycles = answers.items[0].cycles;
    const size_t count = (size_t)visit->count, last = count * (size_t)(visit->passes - 1);
    *times = (struct fth_access_times){.clock_mhz = answers.items[0].clock_mhz,
                                       .samples = answers.items[0].count};
    enum fth_status status =
        fth_summary_u32(answers.items[1].cycles, answers.items[1].count, &overhead, error);
    if (status == FTH_OK)
        status = quantiles(cycles, count, overhead.median, &times->first.p10, &times->first.median,
                           &times->first.p90, error);
    if (status == FTH_OK)
        status = quantiles(cycles + last, count, overhead.median, &times->p10, &times->median,
                           &times->p90, error);
    fth_answers_fini(&answers);
    return status;
}

enum fth_status fth_probe_traffic(const struct fth_prober *prober,
                                  const struct fth_traffic *traffic, bool cold,
                                  struct fth_durations *durations, struct fth_error *error)
{
    struct fth_request request = fth_request_make(-1);
    struct fth_answers answers = {0};
    struct fth_summary summary;
    request.family = FTH_FAMILY_TRAFFIC;
    request.traffic = *traffic;
    request.cold = cold;
    FTH_TRY(fth_ask(prober, &request, 1, &answers, error));
    enum fth_status status =
        fth_summary_u32(answers.items[0].cycles, answers.items[0].count, &summary, error);
    fth_answers_fini(&answers);
    if (status != FTH_OK)
        return status;
    *durations = (struct fth_durations){.best_ns = summary.min,
                                        .median_ns = summary.median,
                                        .worst_ns = summary.max,
                                        .count = summary.count};
    return FTH_OK;
}

/* Counts the distances between consecutive faults, and those that are multiples of `distance`. */
static struct fth_evidence count_multiples(const uint32_t *cycles, size_t count, double min_cycles,
                                           size_t distance)
{
    struct fth_evidence evidence = {.repeats = 0};
    size_t last = SIZE_MAX;
    for (size_t i = 0; i < count && distance > 0; i++) {
        if (cycles[i] < min_cycles)
            continue;
        evidence.repeats += last != SIZE_MAX;
        evidence.agree += last != SIZE_MAX && (i - last) % distance == 0;
        last = i;
    }
    return evidence;
}

/* Finds the faults among the first visits to `count` words. */
static enum fth_status find_faults(const uint32_t *cycles, size_t count, uint64_t step_bytes,
                                   double clock_mhz, struct fth_faults *faults,
                                   struct fth_error *error)
{
    struct fth_summary after, slow = {0};
    FTH_TRY(fth_summary_u32(cycles + count, count, &after, error));
    uint32_t *found = calloc(count, sizeof *found);
    if (!found)
        return fth_no_memory(error, operation, NULL);
    size_t last = 0, distance = count;
    for (size_t i = 0; i < count; i++) {
        if (cycles[i] < fault_factor * after.median)
            continue;
        if (faults->count && i - last < distance)
            distance = i - last;
        last = i;
        found[faults->count++] = cycles[i];
    }
    faults->page_evidence = count_multiples(cycles, count, fault_factor * after.median, distance);
    enum fth_status status =
        faults->count < 2
            ? fth_fail(error, FTH_INCONCLUSIVE, operation, NULL,
                       "the first accesses to managed memory are not slower than later ones")
            : fth_summary_u32(found, faults->count, &slow, error);
    free(found);
    if (status != FTH_OK)
        return status;
    faults->fault_ns = slow.median / clock_mhz * 1e3;
    faults->low_ns = slow.p05 / clock_mhz * 1e3;
    faults->high_ns = slow.p95 / clock_mhz * 1e3;
    faults->after_ns = after.median / clock_mhz * 1e3;
    faults->page_bytes = distance * step_bytes;
    faults->samples = 2 * count;
    return FTH_OK;
}

enum fth_status fth_probe_faults(const struct fth_prober *prober, uint64_t bytes,
                                 uint64_t step_bytes, struct fth_faults *faults,
                                 struct fth_error *error)
{
    struct fth_request request = fth_request_make(-1);
    struct fth_answers answers = {0};
    request.family = FTH_FAMILY_VISIT;
    request.visit = (struct fth_visit){.operation = FTH_VISIT_CG,
                                       .residence = FTH_RESIDES_MANAGED,
                                       .stride_bytes = step_bytes,
                                       .count = bytes / step_bytes,
                                       .passes = 2};
    *faults = (struct fth_faults){0};
    FTH_TRY(fth_ask(prober, &request, 1, &answers, error));
    enum fth_status status = find_faults(answers.items[0].cycles, (size_t)request.visit.count,
                                         step_bytes, answers.items[0].clock_mhz, faults, error);
    fth_answers_fini(&answers);
    return status;
}
