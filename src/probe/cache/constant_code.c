/* Does the constant L1.5 also hold code?
 *
 * The constant bank has 64 KiB, and L1.5 may be larger. If L1.5 also holds instructions, the rest
 * of it can be filled with code (Wong et al., "Demystifying GPU Microarchitecture through
 * Microbenchmarking", 2010, who found in this way that the two share a cache): constants are
 * loaded and code is executed, several times in turn, and then the constants are timed.
 *
 *   |<--------------- L1.5 --------------->|
 *   | constants         | code             |        all constants hit
 *   | constants         | code                |     some constants were evicted
 *
 * Constants are evicted when the sum of both exceeds the size of L1.5. A second measurement with
 * fewer constants shows that it is the sum, and not the code alone. */
#include "probe/cache/probe_cache.h"

#include <math.h>
#include <stdlib.h>

enum {
    KIB = 1024,  /* bytes; amounts of constants are rounded to it */
    REPEATS = 3, /* of each request. Chosen. */
    /* The larger amount of constants is at least MIN_BEYOND_L1 times as large as L1, and at most
     * MAX_L15_QUARTERS quarters of L1.5, so that code fits, too. Chosen. */
    MIN_BEYOND_L1 = 2,
    MAX_L15_QUARTERS = 3,
    /* Times that the constants are walked and the code is executed, in turn, before the constants
     * are timed. A launch leaves code of earlier ones in L1.5. A cache with a policy like PLRU may
     * evict constants before this old code; an L1.5 of an H200 held all that fits after the second
     * round. Chosen: two more. */
    ROUNDS = 4,
    /* Constant lines that may be evicted although code and constants fit together, because the
     * kernel's parameters and the code around the walk use some sets as well: 2 or 3 on an H200. */
    OWN_LINES = 3,
    MAX_CUTS = 4,   /* lengths of code that find_code_edge() tries at once to narrow its range */
    MAX_TRIES = 16, /* lengths of code that double, from FTH_FETCH_BLOCK to FTH_MAX_FETCH: 9 */
    SAME_BLOCKS = 2 /* see same_sum */
};
/* If code and constants share storage, two measurements with different amounts of constants agree.
 * If they do not share it, all repeats with the longest code agree. */
static const struct fth_evidence amounts_agree = {.repeats = 2, .agree = 2},
                                 repeats_agree = {.repeats = REPEATS, .agree = REPEATS};
/* Code and constants share a cache if the longest code evicts at least this fraction of the
 * constant lines. The sum of the constants and the code that fit together is the size of this
 * cache. Two such sums belong to the same cache if they differ by at most the fraction same_sum or
 * by at most SAME_BLOCKS FTH_FETCH_BLOCKs of code. A sum is the size of an instruction cache if
 * code alone fits into this cache up to a length between min_cache and max_cache times the sum.
 * Chosen, not derived: long code does not fill a cache because the hardware fetches code in
 * advance. On an H200, 111 KiB of code fit alone, and 127 KiB of code and constants fit together.
 */
static const double min_evicted_share = 0.25, same_sum = 0.05, min_cache = 0.8, max_cache = 1.1;
/* Ratio of the sizes of an instruction cache and a constant L1.5 that may be one cache, each
 * measured with its own loads: the code of a walk over constants takes a part of it. Chosen, not
 * derived. */
static const double min_same_size = 0.8, max_same_size = 1.25;

/* What all measurements need. */
struct code_study {
    const struct fth_prober *prober;
    const struct fth_constant_code_plan *plan;
};

/* For `bytes` of constants: the longest code (in instructions) after which all constants hit, and
 * the shortest that evicts some; 0: none. */
struct code_edge {
    uint64_t bytes, fits, evicts;
};

/* The slow hops of the repeats of one request. */
struct slow_constants {
    uint64_t all;    /* of all repeats */
    uint64_t steady; /* positions that are slow in most repeats */
};

/* Finds the repeat during which another program ran, which may have evicted all constants: it has
 * more slow hops than chance explains, compared with the median of the three. Returns its index, or
 * REPEATS if there is none. `median` receives the median. */
static size_t find_emptied(const uint64_t counts[REPEATS], uint64_t *median)
{
    size_t least = 0, most = 0;
    for (size_t i = 1; i < REPEATS; i++) {
        least = counts[i] < counts[least] ? i : least;
        most = counts[i] >= counts[most] ? i : most;
    }
    *median = counts[REPEATS - least - most]; /* the indices add up to REPEATS */
    return (double)counts[most] > fth_max_by_chance(fmax((double)*median, 1)) ? most : REPEATS;
}

/* Counts the slow hops. Every repeat counts as the median of the three: the first repeat after
 * another request may evict a few constants because L1.5 still holds other code, and another
 * program may have evicted some during any of them. If it evicted many, this repeat has no steady
 * position. */
static struct slow_constants count_slow_constants(const struct fth_constant_code_plan *plan,
                                                  const struct fth_samples samples[REPEATS])
{
    struct slow_constants slow = {0};
    uint64_t counts[REPEATS] = {0}, median;
    const size_t first = ROUNDS + 1, end = samples[0].count;
    for (size_t i = 0; i < REPEATS; i++)
        for (size_t hop = first; hop < end; hop++)
            counts[i] += samples[i].cycles[hop] > plan->threshold_cycles;
    const bool disturbed = plan->slow_rate > 0;
    const size_t emptied = find_emptied(counts, &median);
    slow.all = REPEATS * median;
    for (size_t hop = first; hop < end; hop++) {
        unsigned times = 0;
        for (size_t i = 0; i < REPEATS; i++)
            times +=
                !(disturbed && i == emptied) && samples[i].cycles[hop] > plan->threshold_cycles;
        slow.steady += times > REPEATS / 2;
    }
    return slow;
}

/* Counts the constant lines that code of each length evicts; 0 if disturbances explain all slow
 * hops. The samples of a request are the times of the ROUNDS passes of the code, then those of
 * the hops over the constants. The first hop does not count because the code that times it is
 * fetched then. */
static enum fth_status count_evicted(const struct code_study *study, uint64_t bytes,
                                     const uint64_t *lengths, size_t count, uint64_t *evicted,
                                     struct fth_error *error)
{
    const uint64_t stride = study->plan->stride_bytes;
    struct fth_request *requests = calloc(REPEATS * count, sizeof *requests);
    if (!requests)
        return fth_no_memory(error, "find constant caches", NULL);
    for (size_t i = 0; i < REPEATS * count; i++) {
        requests[i] = fth_request_make(-1);
        requests[i].family = FTH_FAMILY_FETCH;
        requests[i].fetch = (struct fth_fetch){
            .instructions = lengths[i / REPEATS],
            .passes = ROUNDS,
            .constants = {.stride_bytes = stride, .count = bytes / stride},
        };
    }
    struct fth_answers answers = {0};
    enum fth_status status = fth_ask(study->prober, requests, REPEATS * count, &answers, error);
    for (size_t i = 0; i < count && status == FTH_OK; i++) {
        const struct fth_samples *samples = &answers.items[REPEATS * i];
        const double hops = (double)(samples->count - ROUNDS), rate = study->plan->slow_rate;
        const struct slow_constants slow = count_slow_constants(study->plan, samples);
        /* As in capacity.c: there are more slow hops than disturbances explain, in total or at
         * positions that are slow in most repeats. The rate of disturbances was measured
         * with hits of L1 and is assumed to be the same here. Three repeats form three pairs (so
         * REPEATS is also the number of pairs). By disturbances alone, a position is therefore slow
         * in two of the three repeats with a probability of about 3 * rate * rate. */
        bool some = (double)slow.all > fth_max_by_chance(REPEATS * hops * rate) ||
                    (double)slow.steady > fth_max_by_chance(REPEATS * hops * rate * rate);
        const uint64_t lines = (slow.all + REPEATS - 1) / REPEATS;
        evicted[i] = some && lines > OWN_LINES ? lines : 0;
    }
    fth_answers_fini(&answers);
    free(requests);
    return status;
}

/* Finds the edge: tries lengths of code that double. Then tries up to MAX_CUTS lengths between
 * `fits` and `evicts`, again and again, until these differ by one FTH_FETCH_BLOCK of instructions.
 * `max_evicted` receives the number of lines that the longest code evicts. */
static enum fth_status find_code_edge(const struct code_study *study, struct code_edge *edge,
                                      uint64_t *max_evicted, struct fth_error *error)
{
    uint64_t lengths[MAX_TRIES], evicted[MAX_TRIES];
    size_t count = 0;
    for (uint64_t n = FTH_FETCH_BLOCK; n <= FTH_MAX_FETCH && count < MAX_TRIES; n *= 2)
        lengths[count++] = n;
    *max_evicted = 0;
    for (bool first = true; count > 0; first = false) {
        FTH_TRY(count_evicted(study, edge->bytes, lengths, count, evicted, error));
        if (first)
            *max_evicted = evicted[count - 1];
        for (size_t i = 0; i < count; i++) {
            if (evicted[i]) {
                edge->evicts = lengths[i];
                break;
            }
            edge->fits = lengths[i];
        }
        uint64_t blocks =
            edge->evicts > edge->fits ? (edge->evicts - edge->fits) / FTH_FETCH_BLOCK : 0;
        count = blocks <= 1 ? 0 : blocks - 1 < MAX_CUTS ? blocks - 1 : MAX_CUTS;
        for (size_t i = 0; i < count; i++)
            lengths[i] = edge->fits + blocks * (i + 1) / (count + 1) * FTH_FETCH_BLOCK;
    }
    return FTH_OK;
}

/* Returns the bytes of constants and code that fit together. */
static double sum_of(const struct code_edge *edge, const struct fth_code_size *code)
{
    return (double)edge->bytes +
           (double)edge->fits * (double)code->bytes / (double)code->instructions;
}

/* Returns whether the code of an edge fits into an instruction cache that is smaller than L1.5. The
 * GPU then executes it without L1.5, which can evict it, and more constants fit beside it than the
 * size of L1.5 allows: the sum is only an upper limit of the size. */
static bool is_upper_limit(const struct code_edge *edge, const struct fth_fetch_levels *code,
                           double sum)
{
    const double instruction = (double)code->code.bytes / (double)code->code.instructions;
    const double fits = (double)edge->fits * instruction;
    for (size_t i = 0; i < code->count; i++) {
        const double cache = (double)code->items[i].fits_bytes;
        if (cache < min_cache * sum && fits <= cache + FTH_FETCH_BLOCK * instruction)
            return true;
    }
    return false;
}

/* Returns the index of the instruction cache whose size is nearest to `bytes`; -1: none is near. */
static int find_level(const struct fth_fetch_levels *code, double bytes)
{
    int level = -1;
    double nearest = INFINITY;
    for (size_t i = 0; i < code->count; i++) {
        const double part = (double)code->items[i].fits_bytes / bytes;
        if (part > min_cache && part < max_cache && fabs(part - 1) < nearest) {
            nearest = fabs(part - 1);
            level = (int)i;
        }
    }
    return level;
}

/* Whether an instruction cache may have the same storage as an L1.5 of this size. */
static bool may_hold_code(const struct fth_fetch_levels *code, double bytes)
{
    for (size_t i = 0; i < code->count; i++) {
        const double part = (double)code->items[i].fits_bytes / bytes;
        if (part > min_same_size && part < max_same_size)
            return true;
    }
    return false;
}

/* Returns the larger amount of constants for the test of sharing: half of L1.5, but more than L1
 * holds, because constants in L1 would hit even if L1.5 has evicted them. 0: L1.5 is too small. */
static uint64_t shared_amount(const struct fth_constants *found)
{
    const uint64_t l15 = found->l15.capacity.fits_bytes;
    const uint64_t min = MIN_BEYOND_L1 * found->l1.capacity.fits_bytes;
    uint64_t bytes = FTH_CONSTANT_BANK_BYTES / 2;
    while (bytes > l15 / 2)
        bytes /= 2;
    if (bytes < min)
        bytes = (min + KIB - 1) / KIB * KIB;
    return bytes <= l15 / 4 * MAX_L15_QUARTERS ? bytes : 0;
}

/* Finds out whether L1.5 shares its storage with code: with two amounts of constants, the sum of
 * constants and code that fits must be the same. The result stays FTH_SHARING_UNKNOWN if L1.5 is
 * too small for the test or if the sums differ. */
static enum fth_status find_sharing(const struct code_study *study,
                                    const struct fth_fetch_levels *code,
                                    struct fth_constants *found, struct fth_error *error)
{
    struct fth_capacity *capacity = &found->l15.capacity;
    struct code_edge more = {.bytes = shared_amount(found)}, less;
    found->with_code_reason = "the L1.5 is too small, compared with the L1, to find out whether it "
                              "also holds code";
    if (more.bytes == 0)
        return FTH_OK;
    less.bytes = more.bytes / 2;
    if (less.bytes < MIN_BEYOND_L1 * found->l1.capacity.fits_bytes)
        less.bytes = more.bytes / 4 * 3; /* the other amount must be clearly smaller */
    less.fits = less.evicts = 0;
    uint64_t max_evicted;
    FTH_TRY(find_code_edge(study, &more, &max_evicted, error));
    const uint64_t lines =
        more.bytes / (found->l15.line_bytes ? found->l15.line_bytes : study->plan->stride_bytes);
    if ((double)max_evicted < min_evicted_share * (double)lines) {
        found->with_code = FTH_SHARING_NO;
        found->with_code_reason = NULL;
        found->with_code_evidence = repeats_agree;
        return FTH_OK;
    }
    FTH_TRY(find_code_edge(study, &less, &max_evicted, error));
    const double first = sum_of(&more, &code->code), second = sum_of(&less, &code->code);
    const double block =
        FTH_FETCH_BLOCK * (double)code->code.bytes / (double)code->code.instructions;
    found->with_code_reason = "code evicts constants, but the sum of code and constants that fits "
                              "depends on the number of constants";
    if (more.fits == 0 || less.fits == 0 ||
        fabs(first - second) > fmax(SAME_BLOCKS * block, same_sum * first))
        return FTH_OK;
    found->with_code_reason = NULL;
    found->with_code = FTH_SHARING_YES;
    found->with_code_evidence = amounts_agree;
    const bool first_is_limit = is_upper_limit(&more, code, first);
    const bool second_is_limit = is_upper_limit(&less, code, second);
    const double bytes = first_is_limit == second_is_limit ? fmax(first, second)
                         : first_is_limit                  ? second
                                                           : first;
    found->code_level = find_level(code, bytes);
    /* The capacity found with constants alone is at most the size of the bank, and the code of the
     * walk takes a part of L1.5 as well. The sum replaces it if the whole bank fits or if the sum
     * is larger. */
    if (capacity->misses_bytes == 0 || bytes > (double)capacity->fits_bytes) {
        capacity->fits_bytes = (uint64_t)bytes;
        capacity->misses_bytes = (uint64_t)(bytes + block);
        capacity->evidence = amounts_agree;
    }
    return FTH_OK;
}

enum fth_status fth_probe_constant_code(const struct fth_prober *prober,
                                        const struct fth_constant_code_plan *plan,
                                        const struct fth_fetch_levels *code,
                                        struct fth_constants *found, struct fth_error *error)
{
    const struct code_study study = {prober, plan};
    struct fth_capacity *const capacity = &found->l15.capacity;
    FTH_TRY(find_sharing(&study, code, found, error));
    if (found->with_code == FTH_SHARING_UNKNOWN && !capacity->evidence.doubt &&
        may_hold_code(code, (double)capacity->fits_bytes))
        capacity->evidence.doubt = "the code of the walk may take a part of it";
    return FTH_OK;
}
