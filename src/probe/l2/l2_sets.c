/* Finds the sets and ways of a small L2 (fathom's own method; see docs/methods.md, "Dissecting a
 * cache").
 *
 * The L2 is too large to be filled and then overflowed by one line, and the samples themselves go
 * through it. Therefore only chains of few lines are walked, with strides of size / 2^k. If the
 * index function is line % sets, the number of lines that fit at such a stride is
 *
 *     max(ways, 2^k)
 *
 * because at strides of size / ways and above, all lines of the chain fall into one set. This must
 * hold for every k tried; a hashed L2 violates it. The line size is the distance at which a further
 * line no longer falls into a set that is full. Each chain is walked alone on the GPU, from several
 * start addresses: occasionally a sample falls into the same set and evicts a line, which can only
 * make the set seem smaller. */
#include "probe/l2/probe_l2.h"

#include <math.h>
#include <stdio.h>

/* ---- hits and misses ---- */

enum {
    HOPS = 256,      /* timed hops for each latency. Chosen, not derived. */
    HOP_STRIDE = 512 /* bytes between them: four of the longest lines. Chosen. */
};
/* Minimum ratio of the latencies of memory and L2 that allows distinguishing them. Chosen, not
 * derived. */
static const double min_latency_ratio = 1.2;

/* ---- chains ---- */

enum {
    FIRST_POWER = 2, /* strides of size / 2^2 .. size / 2^6: for sets of up to 64 ways */
    LAST_POWER = 6,
    POWERS = LAST_POWER - FIRST_POWER + 1,
    STARTS = 4,   /* start addresses per stride. Chosen, not derived. */
    MAX_FIT = 96, /* maximum number of lines in a chain: above 2^LAST_POWER */
    /* Largest L2 that is tried, in bytes. Chosen, not derived: the largest L2 of the catalogue with
     * one partition, that of a V100, has 6 MiB. */
    MAX_L2_BYTES = 8 << 20,
    MAX_LINE_BYTES = 128 /* strides must be multiples of it */
};
/* Between start addresses, in bytes: 17 * 2 KiB, so that the chains use different sets. */
static const uint64_t start_spacing_bytes = 34816;

/* ---- line ---- */

/* Distances from the next line of a full set: 0 and MIN_DISTANCE << 0, 1, … bytes, up to 256. */
enum { DISTANCES = 5, MIN_DISTANCE = 32 };

/* Finds the threshold between L2 hits and misses. */
static enum fth_status find_threshold(const struct fth_prober *prober, struct fth_cache_plan *plan,
                                      struct fth_error *error)
{
    /* The first pass loads the lines from memory, the second from L2. Array 1 keeps them apart from
     * the chains of the other functions. */
    struct fth_chain chain = {.array = 1, .stride_bytes = HOP_STRIDE, .count = HOPS};
    struct fth_request request = fth_request_make(-1);
    fth_request_add(&request, FTH_STEP_TIME_HOPS, FTH_PATH_CG, chain, 2);
    request.cold = true;
    struct fth_answers answers = {0};
    FTH_TRY(fth_ask(prober, &request, 1, &answers, error));
    struct fth_summary miss, hit;
    enum fth_status status = fth_summary_u32(answers.items[0].cycles, HOPS, &miss, error);
    if (status == FTH_OK)
        status = fth_summary_u32(answers.items[0].cycles + HOPS, HOPS, &hit, error);
    fth_answers_fini(&answers);
    if (status == FTH_OK && !(miss.median > min_latency_ratio * hit.median))
        status =
            fth_fail(error, FTH_INCONCLUSIVE, "find sets", NULL,
                     "loads from memory take %.0f cycles, L2 hits %.0f: too close to distinguish",
                     miss.median, hit.median);
    if (status == FTH_OK)
        plan->threshold_cycles = sqrt(miss.median * hit.median);
    return status;
}

static bool has_miss(const struct fth_cache_plan *plan, const uint32_t *cycles, uint64_t count)
{
    for (uint64_t hop = 0; hop < count; hop++)
        if (cycles[hop] > plan->threshold_cycles)
            return true;
    return false;
}

/* Finds the number of lines that fit at each stride: the maximum over the start addresses. All
 * chains are bisected in the same batches. */
static enum fth_status find_fitting_lines(const struct fth_prober *prober,
                                          const struct fth_cache_plan *plan, uint64_t size_bytes,
                                          uint64_t *fits, size_t *samples, struct fth_error *error)
{
    enum { CHAINS = POWERS * STARTS };
    struct fth_request requests[CHAINS];
    uint64_t low[CHAINS], high[CHAINS];
    enum fth_status status = FTH_OK;
    for (size_t i = 0; i < CHAINS; i++) {
        low[i] = 1;
        high[i] = MAX_FIT;
    }
    for (bool open = true; open && status == FTH_OK;) {
        open = false;
        for (size_t i = 0; i < CHAINS; i++) {
            struct fth_chain chain = {.start_bytes = (i % STARTS) * start_spacing_bytes,
                                      .stride_bytes = size_bytes >> (FIRST_POWER + i / STARTS),
                                      .count = (low[i] + high[i] + 1) / 2};
            requests[i] = fth_request_make(plan->carveout_percent);
            requests[i].alone = true;
            fth_request_add(&requests[i], FTH_STEP_WALK, plan->path, chain, 2);
            fth_request_add(&requests[i], FTH_STEP_TIME_HOPS, plan->path, chain, 2);
        }
        struct fth_answers answers = {0};
        status = fth_ask(prober, requests, CHAINS, &answers, error);
        for (size_t i = 0; i < CHAINS && status == FTH_OK; i++) {
            uint64_t count = requests[i].chase.steps[0].chain.count;
            *samples += answers.items[i].count;
            if (low[i] >= high[i])
                continue;
            if (has_miss(plan, answers.items[i].cycles + count, count))
                high[i] = count - 1;
            else
                low[i] = count;
            open = open || low[i] < high[i];
        }
        fth_answers_fini(&answers);
    }
    for (size_t i = 0; i < POWERS; i++) {
        fits[i] = 0;
        for (size_t k = 0; k < STARTS; k++)
            fits[i] = low[i * STARTS + k] > fits[i] ? low[i * STARTS + k] : fits[i];
    }
    return status;
}

/* Finds the line size. A full set is loaded, then one more word at a distance of 0, 32, 64, … bytes
 * from the next line of the set. The line size is the smallest distance at which nothing is
 * evicted. */
static enum fth_status find_line(const struct fth_prober *prober, struct fth_cache_plan *plan,
                                 uint64_t set_stride_bytes, uint64_t ways, size_t *samples,
                                 struct fth_error *error)
{
    struct fth_request requests[DISTANCES];
    for (size_t i = 0; i < DISTANCES; i++) {
        struct fth_chain set = {.stride_bytes = set_stride_bytes, .count = ways};
        struct fth_chain other = {.start_bytes = ways * set_stride_bytes +
                                                 (i ? (uint64_t)MIN_DISTANCE << (i - 1) : 0),
                                  .stride_bytes = set_stride_bytes,
                                  .count = 1};
        requests[i] = fth_request_make(plan->carveout_percent);
        requests[i].alone = true;
        fth_request_add(&requests[i], FTH_STEP_TIME_HOPS, plan->path, set, 2);
        fth_request_add(&requests[i], FTH_STEP_WALK, plan->path, other, 1);
        fth_request_add(&requests[i], FTH_STEP_TIME_HOPS, plan->path, set, 1);
    }
    struct fth_answers answers = {0};
    enum fth_status status = fth_ask(prober, requests, DISTANCES, &answers, error);
    bool same = true, broken = false;
    plan->line_bytes = 0;
    for (size_t i = 0; i < DISTANCES && status == FTH_OK; i++) {
        bool evicts = has_miss(plan, answers.items[i].cycles + 2 * ways, ways);
        *samples += answers.items[i].count;
        broken = broken || (evicts && !same) || (i == 0 && !evicts);
        if (same && !evicts && i)
            plan->line_bytes = (uint64_t)MIN_DISTANCE << (i - 1);
        same = same && evicts;
    }
    fth_answers_fini(&answers);
    if (status == FTH_OK && (broken || plan->line_bytes == 0))
        status = fth_fail(error, FTH_INCONCLUSIVE, "find the L2 line size", NULL,
                          "the evictions from a full set do not determine a line size");
    return status;
}

enum fth_status fth_probe_l2_sets(const struct fth_prober *prober, uint64_t size_bytes,
                                  struct fth_cache_plan *plan, struct fth_structure *structure,
                                  struct fth_error *error)
{
    uint64_t fits[POWERS];
    *structure = (struct fth_structure){.mapping = {.modulus = 1}};
    *plan = (struct fth_cache_plan){
        .path = FTH_PATH_CG, .carveout_percent = -1, .fits_bytes = size_bytes, .alone = true};
    if (size_bytes > MAX_L2_BYTES || size_bytes % ((uint64_t)MAX_LINE_BYTES << LAST_POWER))
        return fth_fail(error, FTH_INCONCLUSIVE, "find sets", NULL,
                        "the L2 is larger than 8 MiB, or its size is no multiple of 8 KiB");
    FTH_TRY(find_threshold(prober, plan, error));
    FTH_TRY(find_fitting_lines(prober, plan, size_bytes, fits, &structure->samples, error));
    uint64_t ways = fits[0];
    if (ways == MAX_FIT) /* the longest chain fits: the set was not filled */
        return fth_fail(error, FTH_INCONCLUSIVE, "find sets", NULL,
                        "at a stride of %llu bytes, %d lines fit, more than any set has ways: the "
                        "index function is not line %% sets",
                        (unsigned long long)size_bytes >> FIRST_POWER, MAX_FIT);
    for (unsigned i = 0; i < POWERS; i++) {
        uint64_t lines = (uint64_t)1 << (FIRST_POWER + i);
        if (fits[i] != (lines > ways ? lines : ways) || size_bytes % ways)
            return fth_fail(
                error, FTH_INCONCLUSIVE, "find sets", NULL,
                "at a stride of %llu bytes, %llu lines fit; at %llu bytes, %llu: the index "
                "function is not line %% sets",
                (unsigned long long)size_bytes >> FIRST_POWER, (unsigned long long)ways,
                (unsigned long long)size_bytes >> (FIRST_POWER + i), (unsigned long long)fits[i]);
    }
    FTH_TRY(find_line(prober, plan, size_bytes / ways, ways, &structure->samples, error));
    structure->ways = ways;
    structure->sets = size_bytes / ways / plan->line_bytes;
    structure->mapping.modulus = structure->sets;
    snprintf(structure->index, sizeof structure->index, "mod");
    structure->one_set = (struct fth_chain){.stride_bytes = size_bytes / ways, .count = ways};
    /* The tests of every stride and start address, and of all distances, held. */
    const double tests = POWERS * STARTS + DISTANCES;
    structure->evidence = (struct fth_evidence){.repeats = tests, .agree = tests};
    return FTH_OK;
}
