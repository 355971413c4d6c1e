/* Measures how the unified storage of an SM is divided between L1 and shared memory.
 *
 * A launch requests a percentage of the largest shared memory, and the driver selects the smallest
 * carve-out that is at least as large. So L1 shrinks in steps as the percentage rises, and the last
 * percentage of a step gives the carve-out to within 1 % of the largest one. On all GPUs since
 * Fermi the carve-outs are multiples of 4 KiB (CUDA C++ Programming Guide, "Compute Capabilities"),
 * and 1 % of the largest carve-out contains at most one such multiple.
 *
 * The steps are found with a walk over more than L1 holds, followed by a reverse walk, which counts
 * the lines that the first walk left in L1. This count is not the size of L1, because the reverse
 * walk evicts lines before it reaches them, but it shows the steps. The size at each step is then
 * measured by capacity.c, near its expected value: L1 and the carve-out have the same sum at every
 * step. */
#include "probe/cache/probe_cache.h"

#include <math.h>
#include <stdlib.h>

static const char operation[] = "find carve-outs";

/* ---- steps ---- */

enum {
    PERCENTS = 101,             /* 0 .. 100 */
    REPEATS = 3,                /* of each walk, on as many SMs; odd, for the median */
    CARVEOUT_UNIT_BYTES = 4096, /* carve-outs are multiples of this; see above */
    /* Resident bytes that differ by less belong to the same step. Two carve-outs are assumed to
     * differ by at least twice as much. */
    SAME_BYTES = 4096,
    BEYOND_BYTES = 16384, /* the walk exceeds the size of L1 by this much. Chosen. */
    FIRST_SPACING = 20    /* spacing of the percentages in the first batch. Chosen. */
};

/* ---- sizes ---- */

/* The size of L1 at a step is searched within this distance of its expected value, in bytes: the
 * distance between two carve-outs. */
static const uint64_t search_margin_bytes = 8192;
/* Smallest size of L1 that is tried, in bytes. Chosen: less than any L1 has. */
static const uint64_t min_bytes = 1024;
/* Bytes between the elements of the chain over all shared memory. Chosen: shared memory of any size
 * that an SM can have is a multiple of it. */
enum { SHARED_STRIDE = 128 };

/* Bytes of L1 that the reverse walk found resident at each percentage; 0: not measured. */
struct resident {
    uint64_t bytes[PERCENTS];
};

static double threshold_of(const struct fth_capacity_plan *plan)
{
    return sqrt(plan->hit_cycles * plan->miss_cycles);
}

/* Returns a walk over more than L1 holds, followed by a timed reverse walk. */
static struct fth_request make_request(const struct fth_carveout_plan *plan, int percent)
{
    const struct fth_chain chain = {.stride_bytes = plan->l1.stride_bytes,
                                    .count =
                                        (plan->l1_bytes + BEYOND_BYTES) / plan->l1.stride_bytes};
    struct fth_request request = fth_request_make(percent);
    fth_request_add(&request, FTH_STEP_WALK, plan->l1.path, chain, 1);
    fth_request_add(&request, FTH_STEP_TIME_HOPS, plan->l1.path, chain, 1);
    request.chase.steps[1].reverse = true;
    return request;
}

static uint64_t median_of_three(uint64_t a, uint64_t b, uint64_t c)
{
    const uint64_t low = a < b ? a : b, high = a < b ? b : a;
    return c < low ? low : c > high ? high : c;
}

/* Measures the resident bytes at these percentages. */
static enum fth_status ask_percents(const struct fth_prober *prober,
                                    const struct fth_carveout_plan *plan, const int *percents,
                                    size_t count, struct resident *resident,
                                    struct fth_carveouts *carveouts, struct fth_error *error)
{
    struct fth_request *requests = calloc(count * REPEATS, sizeof *requests);
    if (!requests)
        return fth_no_memory(error, operation, NULL);
    for (size_t i = 0; i < count * REPEATS; i++)
        requests[i] = make_request(plan, percents[i / REPEATS]);
    struct fth_answers answers = {0};
    enum fth_status status = fth_ask(prober, requests, count * REPEATS, &answers, error);
    free(requests);
    for (size_t i = 0; i < count && status == FTH_OK; i++) {
        uint64_t found[REPEATS];
        for (size_t k = 0; k < REPEATS; k++) {
            const struct fth_samples *samples = &answers.items[i * REPEATS + k];
            /* The first hop is the newest line and hits, but is slow because its code is cold. */
            uint64_t hits = 1;
            for (size_t hop = 1; hop < samples->count; hop++)
                hits += samples->cycles[hop] <= threshold_of(&plan->l1);
            found[k] = hits * plan->l1.stride_bytes;
            carveouts->samples += samples->count;
        }
        resident->bytes[percents[i]] = median_of_three(found[0], found[1], found[2]);
    }
    fth_answers_fini(&answers);
    return status;
}

static bool is_same(uint64_t a, uint64_t b)
{
    return (a > b ? a - b : b - a) < SAME_BYTES;
}

/* Lists the percentages halfway between neighbouring measured ones that belong to different steps.
 * Returns their number. */
static size_t find_gaps(const struct resident *resident, int *percents)
{
    size_t count = 0;
    int previous = 0;
    for (int i = 1; i < PERCENTS; i++) {
        if (resident->bytes[i] == 0)
            continue;
        if (i - previous > 1 && !is_same(resident->bytes[previous], resident->bytes[i]))
            percents[count++] = (previous + i) / 2;
        previous = i;
    }
    return count;
}

/* Bisects the percentages until every boundary between two steps is known to 1 %. */
static enum fth_status find_steps(const struct fth_prober *prober,
                                  const struct fth_carveout_plan *plan, struct resident *resident,
                                  struct fth_carveouts *carveouts, struct fth_error *error)
{
    int percents[PERCENTS];
    size_t count = 0;
    for (int i = 0; i < PERCENTS; i += FIRST_SPACING)
        percents[count++] = i;
    while (count) {
        FTH_TRY(ask_percents(prober, plan, percents, count, resident, carveouts, error));
        count = find_gaps(resident, percents);
    }
    return FTH_OK;
}

bool fth_carveout_bytes(uint64_t shared_bytes, unsigned last_percent, uint64_t *bytes)
{
    if (last_percent >= PERCENTS - 1) {
        *bytes = shared_bytes;
        return true;
    }
    /* At least last_percent, and less than the next percentage. */
    const uint64_t low = shared_bytes * last_percent / 100;
    const uint64_t high = (shared_bytes * (last_percent + 1) - 1) / 100;
    *bytes = (low + CARVEOUT_UNIT_BYTES - 1) / CARVEOUT_UNIT_BYTES * CARVEOUT_UNIT_BYTES;
    return *bytes <= high && *bytes + CARVEOUT_UNIT_BYTES > high;
}

/* Lists the steps, each with its percentages and its carve-out. */
static enum fth_status list_steps(const struct fth_carveout_plan *plan,
                                  const struct resident *resident, struct fth_carveouts *carveouts,
                                  struct fth_error *error)
{
    unsigned first = 0, previous = 0;
    for (unsigned i = 1; i <= PERCENTS; i++) {
        if (i < PERCENTS && resident->bytes[i] == 0)
            continue;
        if (i == PERCENTS || !is_same(resident->bytes[previous], resident->bytes[i])) {
            if (carveouts->count == FTH_MAX_CARVEOUTS)
                return fth_fail(error, FTH_INCONCLUSIVE, operation, NULL,
                                "L1 has more than %d sizes", FTH_MAX_CARVEOUTS);
            if (i < PERCENTS && resident->bytes[i] > resident->bytes[previous])
                return fth_fail(error, FTH_INCONCLUSIVE, operation, NULL,
                                "L1 grows when the carve-out rises from %u %% to %u %%", previous,
                                i);
            struct fth_carveout *step = &carveouts->items[carveouts->count++];
            *step = (struct fth_carveout){.first_percent = first, .last_percent = i - 1};
            if (!fth_carveout_bytes(plan->shared_bytes, i - 1, &step->shared_bytes))
                return fth_fail(error, FTH_INCONCLUSIVE, operation, NULL,
                                "L1 shrinks after %u %%, which matches no carve-out size", i - 1);
            first = i;
        }
        previous = i;
    }
    return FTH_OK;
}

/* Measures the size of L1 at a step: near the expected size, or, if this fails, over all sizes. */
static enum fth_status find_size(const struct fth_prober *prober,
                                 const struct fth_carveout_plan *plan, struct fth_carveout *step,
                                 uint64_t expected_bytes, struct fth_carveouts *carveouts,
                                 struct fth_error *error)
{
    struct fth_capacity capacity = {0};
    struct fth_capacity_plan near = plan->l1, anywhere = plan->l1;
    near.carveout_percent = anywhere.carveout_percent =
        (int)(step->first_percent + step->last_percent) / 2;
    near.smallest_bytes = expected_bytes > search_margin_bytes + min_bytes
                              ? expected_bytes - search_margin_bytes
                              : min_bytes;
    near.largest_bytes = expected_bytes + search_margin_bytes;
    struct fth_error fault = FTH_NO_ERROR;
    enum fth_status status = fth_probe_capacity(prober, &near, &capacity, &fault);
    carveouts->samples += capacity.samples;
    if (status != FTH_OK && status != FTH_INCONCLUSIVE)
        return fth_error_move(error, &fault);
    if (status == FTH_INCONCLUSIVE || capacity.misses_bytes == 0) {
        anywhere.smallest_bytes = min_bytes;
        anywhere.largest_bytes = plan->l1_bytes + BEYOND_BYTES;
        FTH_TRY(fth_probe_capacity(prober, &anywhere, &capacity, error));
        carveouts->samples += capacity.samples;
    }
    if (capacity.misses_bytes == 0)
        return fth_fail(error, FTH_INCONCLUSIVE, operation, NULL,
                        "L1 has no misses at a carve-out of %d %%", near.carveout_percent);
    step->l1_bytes = capacity.fits_bytes;
    carveouts->evidence = carveouts->evidence.repeats > 0
                              ? fth_weaker_evidence(carveouts->evidence, capacity.evidence)
                              : capacity.evidence;
    return FTH_OK;
}

enum fth_status fth_probe_carveouts(const struct fth_prober *prober,
                                    const struct fth_carveout_plan *plan,
                                    struct fth_carveouts *carveouts, struct fth_error *error)
{
    struct resident resident = {{0}};
    *carveouts = (struct fth_carveouts){0};
    FTH_TRY(find_steps(prober, plan, &resident, carveouts, error));
    FTH_TRY(list_steps(plan, &resident, carveouts, error));
    if (carveouts->count == 1)
        return FTH_OK;
    uint64_t unified_bytes = 0;
    for (size_t i = 0; i < carveouts->count; i++) {
        struct fth_carveout *step = &carveouts->items[i];
        uint64_t expected = plan->l1_bytes;
        if (unified_bytes > step->shared_bytes)
            expected = unified_bytes - step->shared_bytes;
        FTH_TRY(find_size(prober, plan, step, expected, carveouts, error));
        unified_bytes = step->l1_bytes + step->shared_bytes;
    }
    return FTH_OK;
}

/* ---- the whole shared memory ---- */

enum fth_status fth_probe_shared_bytes(const struct fth_prober *prober, uint64_t bytes,
                                       double *cycles, size_t *samples, struct fth_error *error)
{
    const struct fth_chain chain = {.stride_bytes = SHARED_STRIDE, .count = bytes / SHARED_STRIDE};
    struct fth_request request = fth_request_make(PERCENTS - 1);
    fth_request_add(&request, FTH_STEP_WALK, FTH_PATH_SHARED, chain, 1);
    fth_request_add(&request, FTH_STEP_TIME_PASS, FTH_PATH_SHARED, chain, 1);
    struct fth_answers answers = {0};
    FTH_TRY(fth_ask(prober, &request, 1, &answers, error));
    *cycles = (double)answers.items[0].cycles[0] / (double)chain.count;
    *samples = (size_t)chain.count;
    fth_answers_fini(&answers);
    return FTH_OK;
}
