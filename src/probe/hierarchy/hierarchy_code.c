/* The size of the first instruction cache of a CPU.
 *
 * Code that is executed repeatedly takes longer per instruction from the length on that does not
 * fit into the cache. But other structures have limits, too, and a CPU fetches ahead, so that one
 * kind of code does not suffice. A size counts as that of the cache if it shows in both of two
 * kinds of code, and not in a third one:
 *
 *   straight   Instructions of 4 bytes without effect. Misses are sequential, so that prefetchers
 *              hide most of them, and the edge is low (half a percent on a Cascade Lake) but sharp.
 *   branches   One branch per 64 bytes. Misses are not hidden, and the edge is high (a factor of
 *              two), but it begins only some lines behind the size.
 *   pages      One branch per page of 4 KiB, as many as pages of the code before.
 *
 *   a limit of ...                           straight   branches   pages
 *   the instruction cache                    size       size       -
 *   a cache of decoded instructions          entries    entries    -       of 4 and of 64 bytes or
 *                                                                          more: different lengths
 *   the memory for the targets of branches   -          entries    -
 *   the TLB                                  reach      reach      reach
 *
 * Sizes are those that instruction caches have: powers of two, and three times powers of two. */
#include "probe/hierarchy/probe_hierarchy.h"

#include <math.h>
#include <stdlib.h>

enum {
    INSTRUCTION_BYTES = 4,
    STRIDE = 64,
    PAGE_STRIDE = 4096 + 64, /* a branch per page, in different sets of all structures */
    STEPS_PER_OCTAVE = 16,
    FIRST_BYTES = 8 << 10,
    POINTS = 5 * STEPS_PER_OCTAVE, /* up to 248 KiB */
    WARM_PASSES = 1,
    TIMED_PASSES = 5,
    GROUPS = 4, /* of rounds, which must agree */
    GROUP = 3,
    ROUNDS = GROUPS * GROUP,
    BEFORE = 5, /* points before the edge, and after it */
    AFTER = 5,
    BRANCH_AFTER = 3, /* the first point after the edge at which branches must be slow */
    ATTEMPTS = 3,     /* other programs that use the core hide the edges. Chosen. */
    BATCH = 32        /* requests that are sent together */
};
/* Sizes that are looked for. Smaller ones can be those of caches of decoded instructions. */
static const uint64_t sizes[] = {16 << 10, 32 << 10,  48 << 10, 64 << 10,
                                 96 << 10, 128 << 10, 192 << 10};
/* Minimum rise of straight-line code as a fraction, and as a multiple of the differences before the
 * edge. A Cascade Lake rises by 0.006 with differences of 0.0003. Chosen. */
static const double min_straight_rise = 0.002, min_straight_ratio = 4;
/* Minimum rise of branches, and the maximum difference before the edge. Chosen. */
static const double min_branch_rise = 0.15, max_branch_spread = 0.06;
/* Maximum rise with one branch per page. Chosen: less than min_branch_rise. */
static const double max_page_rise = 0.1;
static const char operation[] = "find the instruction cache";

/* One kind of code at growing lengths: cycles per byte in each round. */
struct code_curve {
    uint64_t stride; /* of the branches; 0: straight-line code */
    double rates[ROUNDS][POINTS];
};

/* Returns the length of a point: FIRST_BYTES * 2^octave * (16 + step) / 16. */
static uint64_t length_of(size_t point)
{
    const uint64_t octave = point / STEPS_PER_OCTAVE, step = point % STEPS_PER_OCTAVE;
    return ((uint64_t)FIRST_BYTES << octave) * (STEPS_PER_OCTAVE + step) / STEPS_PER_OCTAVE;
}

static size_t point_of(uint64_t bytes)
{
    size_t point = 0;
    while (length_of(point) < bytes)
        point++;
    return point;
}

static struct fth_request make_request(uint64_t stride, uint64_t bytes)
{
    struct fth_request request = fth_request_make(-1);
    request.family = FTH_FAMILY_FETCH;
    request.fetch =
        (struct fth_fetch){.instructions = bytes / (stride ? stride : INSTRUCTION_BYTES),
                           .stride_bytes = stride,
                           .passes = WARM_PASSES + TIMED_PASSES};
    return request;
}

/* Executes code with these lengths. rates[i] receives the cycles per byte of the fastest pass:
 * other programs only make passes longer. */
static enum fth_status measure(const struct fth_prober *prober, uint64_t stride,
                               const uint64_t *lengths, size_t count, double *rates,
                               size_t *samples, struct fth_error *error)
{
    struct fth_request requests[BATCH];
    for (size_t first = 0; first < count; first += BATCH) {
        const size_t part = count - first < BATCH ? count - first : BATCH;
        struct fth_answers answers = {0};
        for (size_t i = 0; i < part; i++)
            requests[i] = make_request(stride, lengths[first + i]);
        FTH_TRY(fth_ask_once(prober, requests, part, &answers, error));
        for (size_t i = 0; i < part; i++) {
            uint32_t least = UINT32_MAX;
            for (size_t k = WARM_PASSES; k < answers.items[i].count; k++)
                least = FTH_MIN(least, answers.items[i].cycles[k]);
            rates[first + i] = least / (double)lengths[first + i];
            *samples += TIMED_PASSES;
        }
        fth_answers_fini(&answers);
    }
    return FTH_OK;
}

static enum fth_status measure_round(const struct fth_prober *prober, struct code_curve *curve,
                                     unsigned round, size_t *samples, struct fth_error *error)
{
    uint64_t lengths[POINTS];
    for (size_t i = 0; i < POINTS; i++)
        lengths[i] = length_of(i);
    return measure(prober, curve->stride, lengths, POINTS, curve->rates[round], samples, error);
}

/* ---- edges ---- */

/* Minimum and maximum of a part of a curve, of the fastest of the rounds from .. to - 1. */
static void find_range(const struct code_curve *curve, unsigned from, unsigned to, size_t first,
                       size_t count, double *min, double *max)
{
    *min = INFINITY;
    *max = 0;
    for (size_t i = first; i < first + count; i++) {
        double rate = INFINITY;
        for (unsigned round = from; round < to; round++)
            rate = fmin(rate, curve->rates[round][i]);
        *min = fmin(*min, rate);
        *max = fmax(*max, rate);
    }
}

/* Whether straight-line code of `bytes` bytes and more is slower than shorter code. The point at
 * the size itself is left out: the code around the loop needs some lines as well. */
static bool is_straight_edge(const struct code_curve *curve, unsigned from, unsigned to,
                             uint64_t bytes)
{
    const size_t edge = point_of(bytes);
    double low, high, next, ignored;
    find_range(curve, from, to, edge - BEFORE, BEFORE, &low, &high);
    find_range(curve, from, to, edge + 1, AFTER, &next, &ignored);
    return next - high >= fmax(min_straight_rise * low, min_straight_ratio * (high - low));
}

/* The same for branches. */
static bool is_branch_edge(const struct code_curve *curve, unsigned from, unsigned to,
                           uint64_t bytes)
{
    const size_t edge = point_of(bytes);
    double low, high, next, ignored;
    find_range(curve, from, to, edge - BEFORE, BEFORE, &low, &high);
    find_range(curve, from, to, edge + BRANCH_AFTER, AFTER, &next, &ignored);
    return high - low <= max_branch_spread * low && next >= (1 + min_branch_rise) * high;
}

/* Returns the smallest size that both kinds of code show in the rounds from .. to - 1; 0: none. */
static uint64_t find_size(const struct code_curve *straight, const struct code_curve *branches,
                          unsigned from, unsigned to)
{
    for (size_t i = 0; i < FTH_COUNT(sizes); i++)
        if (is_straight_edge(straight, from, to, sizes[i]) &&
            is_branch_edge(branches, from, to, sizes[i]))
            return sizes[i];
    return 0;
}

/* Whether branches in as many pages as there are at the size, and half as many again, show a rise.
 */
static enum fth_status check_pages(const struct fth_prober *prober, uint64_t bytes, bool *rises,
                                   size_t *samples, struct fth_error *error)
{
    const uint64_t pages = bytes / 4096, lengths[] = {(pages - pages / 4) * PAGE_STRIDE,
                                                      (pages + pages / 2) * PAGE_STRIDE};
    double least[2] = {INFINITY, INFINITY};
    for (unsigned round = 0; round < ROUNDS; round++) {
        double rates[2];
        FTH_TRY(measure(prober, PAGE_STRIDE, lengths, 2, rates, samples, error));
        for (size_t i = 0; i < 2; i++)
            least[i] = fmin(least[i], rates[i]);
    }
    *rises = least[1] > (1 + max_page_rise) * least[0];
    return FTH_OK;
}

/* ---- the probe ---- */

/* Decides from the curves. */
static enum fth_status decide(const struct fth_prober *prober, const struct code_curve *straight,
                              const struct code_curve *branches, struct fth_code_cache *cache,
                              struct fth_error *error)
{
    bool rises = false;
    cache->bytes = find_size(straight, branches, 0, ROUNDS);
    if (!cache->bytes)
        return fth_fail(error, FTH_INCONCLUSIVE, operation, NULL,
                        "straight-line code and branches do not become slower at the same length "
                        "that an instruction cache can have");
    cache->evidence.repeats = GROUPS;
    for (unsigned i = 0; i < GROUPS; i++)
        cache->evidence.agree +=
            find_size(straight, branches, i * GROUP, (i + 1) * GROUP) == cache->bytes;
    if (2 * cache->evidence.agree <= cache->evidence.repeats)
        return fth_fail(error, FTH_INCONCLUSIVE, operation, NULL,
                        "repeated measurements disagree: other programs use the device");
    FTH_TRY(check_pages(prober, cache->bytes, &rises, &cache->samples, error));
    return rises ? fth_fail(error, FTH_INCONCLUSIVE, operation, NULL,
                            "code becomes slower at %llu KiB, but so do branches in as many pages: "
                            "it may be the TLB",
                            (unsigned long long)cache->bytes / 1024)
                 : FTH_OK;
}

/* Measures both curves once and decides. */
static enum fth_status attempt(const struct fth_prober *prober, struct code_curve curves[2],
                               struct fth_code_cache *cache, struct fth_error *error)
{
    for (unsigned round = 0; round < ROUNDS; round++)
        for (size_t i = 0; i < 2; i++)
            FTH_TRY(measure_round(prober, &curves[i], round, &cache->samples, error));
    return decide(prober, &curves[0], &curves[1], cache, error);
}

enum fth_status fth_probe_code_cache(const struct fth_prober *prober, struct fth_code_cache *cache,
                                     struct fth_error *error)
{
    struct code_curve *curves = calloc(2, sizeof *curves);
    enum fth_status status = FTH_INCONCLUSIVE;
    *cache = (struct fth_code_cache){0};
    if (!curves)
        return fth_no_memory(error, operation, NULL);
    curves[1].stride = STRIDE;
    for (unsigned i = 0; i < ATTEMPTS && status == FTH_INCONCLUSIVE; i++) {
        if (i && error)
            *error = FTH_NO_ERROR;
        cache->evidence = (struct fth_evidence){0};
        status = attempt(prober, curves, cache, error);
    }
    free(curves);
    return status;
}
