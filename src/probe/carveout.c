/* How L1 and shared memory divide what they have together.
 *
 * A launch asks for a percentage of the largest shared memory, and the driver takes the smallest
 * carve-out that is as much. So what is left of L1 goes down in steps as the percentage goes up,
 * and the last percentage of a step tells how large its carve-out is, to one hundredth of the
 * largest. No GPU since Fermi has carve-outs that are no multiple of 4 KiB (CUDA C++ Programming
 * Guide, compute capabilities), of which there is one at most in a hundredth.
 *
 * What is left of L1 is seen by a walk over more than it holds and another one back, which finds
 * what the first has left there. This is no size, since the walk back evicts what it has not come
 * to yet, but steps show. The size is then found as ever, near to where it should be: L1 and its
 * carve-out are as much at every step. */
#include "probe/probe.h"

#include <math.h>
#include <stdlib.h>

enum {
    PERCENTS = 101,
    REPEATS = 3, /* of a walk, on as many SMs: an odd number, for the median */
    STEP_BYTES = 4096,
    /* Sizes within so many bytes are one step: half of the least that two carve-outs differ by. */
    SAME_BYTES = 4096,
    BEYOND_BYTES = 16384, /* a walk is over so much more than L1 holds */
    FIRST_CUT = 20,       /* percentages of the first batch are so far apart */
};
/* The size of a step is looked for so far to either side of where it should be. */
static const uint64_t aside_bytes = 8192;
static const uint64_t min_bytes = 1024;

/* What a walk back found at each percentage; 0: not asked. */
struct left {
    uint64_t bytes[PERCENTS];
};

static double threshold_of(const struct fth_capacity_plan *plan)
{
    return sqrt(plan->hit_cycles * plan->miss_cycles);
}

static struct fth_request walk_there_and_back(const struct fth_carveout_plan *plan, int percent)
{
    const struct fth_chain chain = {.stride_bytes = plan->l1.stride_bytes,
                                    .count =
                                        (plan->l1_bytes + BEYOND_BYTES) / plan->l1.stride_bytes};
    struct fth_request request = fth_request_make(percent);
    fth_request_add(&request, FTH_STEP_WALK, plan->l1.path, chain, 1);
    fth_request_add(&request, FTH_STEP_TIME_HOPS, plan->l1.path, chain, 1);
    request.steps[1].reverse = true;
    return request;
}

static uint64_t median_of_three(uint64_t a, uint64_t b, uint64_t c)
{
    const uint64_t low = a < b ? a : b, high = a < b ? b : a;
    return c < low ? low : c > high ? high : c;
}

/* Asks about some percentages. */
static enum fth_status ask_percents(const struct fth_prober *prober,
                                    const struct fth_carveout_plan *plan, const int *percents,
                                    size_t count, struct left *left,
                                    struct fth_carveouts *carveouts, struct fth_error *error)
{
    struct fth_request *requests = calloc(count * REPEATS, sizeof *requests);
    if (!requests)
        return fth_fail(error, FTH_NO_MEMORY, "find carve-outs", NULL, "out of memory");
    for (size_t i = 0; i < count * REPEATS; i++)
        requests[i] = walk_there_and_back(plan, percents[i / REPEATS]);
    struct fth_answers answers = {0};
    enum fth_status status = fth_ask(prober, requests, count * REPEATS, &answers, error);
    free(requests);
    for (size_t i = 0; i < count && status == FTH_OK; i++) {
        uint64_t found[REPEATS];
        for (size_t k = 0; k < REPEATS; k++) {
            const struct fth_samples *samples = &answers.items[i * REPEATS + k];
            uint64_t hits = 1; /* the first hop, the newest line, is timed by cold code */
            for (size_t hop = 1; hop < samples->count; hop++)
                hits += samples->cycles[hop] <= threshold_of(&plan->l1);
            found[k] = hits * plan->l1.stride_bytes;
            carveouts->samples += samples->count;
        }
        left->bytes[percents[i]] = median_of_three(found[0], found[1], found[2]);
    }
    fth_answers_fini(&answers);
    return status;
}

static bool is_same(uint64_t a, uint64_t b)
{
    return (a > b ? a - b : b - a) < SAME_BYTES;
}

/* The percentages in the middle between two that were asked and differ. */
static size_t find_gaps(const struct left *left, int *percents)
{
    size_t count = 0;
    int before = 0;
    for (int i = 1; i < PERCENTS; i++) {
        if (left->bytes[i] == 0)
            continue;
        if (i - before > 1 && !is_same(left->bytes[before], left->bytes[i]))
            percents[count++] = (before + i) / 2;
        before = i;
    }
    return count;
}

static enum fth_status find_steps(const struct fth_prober *prober,
                                  const struct fth_carveout_plan *plan, struct left *left,
                                  struct fth_carveouts *carveouts, struct fth_error *error)
{
    int percents[PERCENTS];
    size_t count = 0;
    for (int i = 0; i < PERCENTS; i += FIRST_CUT)
        percents[count++] = i;
    enum fth_status status = FTH_OK;
    while (count && status == FTH_OK) {
        status = ask_percents(prober, plan, percents, count, left, carveouts, error);
        count = status == FTH_OK ? find_gaps(left, percents) : 0;
    }
    return status;
}

bool fth_carveout_bytes(uint64_t shared_bytes, unsigned last_percent, uint64_t *bytes)
{
    if (last_percent >= PERCENTS - 1) {
        *bytes = shared_bytes;
        return true;
    }
    /* As much as that percentage, and less than the next one. */
    const uint64_t low = shared_bytes * last_percent / 100;
    const uint64_t high = (shared_bytes * (last_percent + 1) - 1) / 100;
    *bytes = (low + STEP_BYTES - 1) / STEP_BYTES * STEP_BYTES;
    return *bytes <= high && *bytes + STEP_BYTES > high;
}

/* The steps, each with its percentages and its carve-out. */
static enum fth_status list_steps(const struct fth_carveout_plan *plan, const struct left *left,
                                  struct fth_carveouts *carveouts, struct fth_error *error)
{
    unsigned first = 0, before = 0;
    for (unsigned i = 1; i <= PERCENTS; i++) {
        if (i < PERCENTS && left->bytes[i] == 0)
            continue;
        if (i == PERCENTS || !is_same(left->bytes[before], left->bytes[i])) {
            if (carveouts->count == FTH_MAX_CARVEOUTS)
                return fth_fail(error, FTH_INCONCLUSIVE, "find carve-outs", NULL,
                                "L1 has more than %d sizes", FTH_MAX_CARVEOUTS);
            if (i < PERCENTS && left->bytes[i] > left->bytes[before])
                return fth_fail(error, FTH_INCONCLUSIVE, "find carve-outs", NULL,
                                "L1 grows from %u to %u per cent of shared memory", before, i);
            struct fth_carveout *step = &carveouts->items[carveouts->count++];
            *step = (struct fth_carveout){.first_percent = first, .last_percent = i - 1};
            if (!fth_carveout_bytes(plan->shared_bytes, i - 1, &step->shared_bytes))
                return fth_fail(error, FTH_INCONCLUSIVE, "find carve-outs", NULL,
                                "a step of L1 after %u per cent is that of no carve-out", i - 1);
            first = i;
        }
        before = i;
    }
    return FTH_OK;
}

/* What L1 holds at a step. */
static enum fth_status find_size(const struct fth_prober *prober,
                                 const struct fth_carveout_plan *plan, struct fth_carveout *step,
                                 uint64_t expected_bytes, struct fth_carveouts *carveouts,
                                 struct fth_error *error)
{
    struct fth_capacity capacity = {0};
    struct fth_capacity_plan near = plan->l1, anywhere = plan->l1;
    near.carveout_percent = anywhere.carveout_percent =
        (int)(step->first_percent + step->last_percent) / 2;
    near.smallest_bytes =
        expected_bytes > aside_bytes + min_bytes ? expected_bytes - aside_bytes : min_bytes;
    near.largest_bytes = expected_bytes + aside_bytes;
    enum fth_status status = fth_probe_capacity(prober, &near, &capacity, error);
    carveouts->samples += capacity.samples;
    if (status == FTH_INCONCLUSIVE || (status == FTH_OK && capacity.misses_bytes == 0)) {
        if (error)
            *error = FTH_NO_ERROR;
        anywhere.smallest_bytes = min_bytes;
        anywhere.largest_bytes = plan->l1_bytes + BEYOND_BYTES;
        status = fth_probe_capacity(prober, &anywhere, &capacity, error);
        carveouts->samples += capacity.samples;
    }
    if (status == FTH_OK && capacity.misses_bytes == 0)
        return fth_fail(error, FTH_INCONCLUSIVE, "find carve-outs", NULL,
                        "L1 has no misses at %d per cent", near.carveout_percent);
    step->l1_bytes = capacity.fits_bytes;
    return status;
}

enum fth_status fth_probe_carveouts(const struct fth_prober *prober,
                                    const struct fth_carveout_plan *plan,
                                    struct fth_carveouts *carveouts, struct fth_error *error)
{
    struct left left = {{0}};
    *carveouts = (struct fth_carveouts){.count = 0};
    enum fth_status status = find_steps(prober, plan, &left, carveouts, error);
    if (status == FTH_OK)
        status = list_steps(plan, &left, carveouts, error);
    if (status == FTH_OK && carveouts->count == 1)
        return FTH_OK;
    uint64_t together = 0;
    for (size_t i = 0; i < carveouts->count && status == FTH_OK; i++) {
        struct fth_carveout *step = &carveouts->items[i];
        uint64_t expected = plan->l1_bytes;
        if (together > step->shared_bytes)
            expected = together - step->shared_bytes;
        status = find_size(prober, plan, step, expected, carveouts, error);
        together = step->l1_bytes + step->shared_bytes;
    }
    return status;
}

/* ---- all of shared memory ---- */

enum fth_status fth_probe_shared_bytes(const struct fth_prober *prober, uint64_t bytes,
                                       double *cycles, size_t *samples, struct fth_error *error)
{
    enum { STRIDE = 16 };
    const struct fth_chain chain = {.stride_bytes = STRIDE, .count = bytes / STRIDE};
    struct fth_request request = fth_request_make(100);
    fth_request_add(&request, FTH_STEP_WALK, FTH_PATH_SHARED, chain, 1);
    fth_request_add(&request, FTH_STEP_TIME_PASS, FTH_PATH_SHARED, chain, 1);
    struct fth_answers answers = {0};
    enum fth_status status = fth_ask(prober, &request, 1, &answers, error);
    if (status == FTH_OK) {
        *cycles = (double)answers.items[0].cycles[0] / (double)chain.count;
        *samples = (size_t)chain.count;
    }
    fth_answers_fini(&answers);
    return status;
}
