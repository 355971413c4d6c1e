/* Which page does a full set of a TLB evict?
 *
 * Where misses are periodic, the probe loads all pages that fit, then the first one again, and then
 * one page more. LRU now evicts the second page of the set, FIFO the first. When the probe then
 * times all pages in order, each page that misses evicts the next one, so that all pages of the set
 * miss except the one that was used again. Fewer misses mean another policy. The positions of the
 * misses distinguish tree pseudo-LRU from LRU: the file simulates both and compares.
 *
 * Where different pages miss in each pass over one page more than fit, exactly one page of the set
 * is not resident at any time. The next miss shows which page the previous one evicted. With random
 * replacement, each page is evicted equally often, which a G-test checks. */
#include "probe/tlb/probe_tlb.h"

#include "cache/cache.h"

#include <math.h>
#include <stdlib.h>

/* ---- the experiment with periodic misses ---- */

enum {
    REPEATS = 9, /* of the experiment; odd, for the median. Chosen. */
    /* Minimum ratio between the entries of this level and those of all inner ones. Chosen, not
     * derived: an inner level that holds many of the pages hides from this level that they are used
     * again. */
    MIN_INNER_RATIO = 3,
    MIN_ENTRIES = 4, /* entries below which the experiment has too few pages */
    /* The pages that fill the sets before the experiment must be at least this part of the entries,
     * plus 1. Chosen, not derived. */
    PREPARING_PART = 4,
    /* One miss in OVERLOOKED_PART may be overlooked, if single loads do not distinguish hit and
     * miss. Chosen. */
    OVERLOOKED_PART = 4,
    MIN_TREE = 4,  /* range of the ways of a tree pseudo-LRU set: two ways are LRU, */
    MAX_TREE = 64, /* and more than 64 are considered implausible */
    LINE_BYTES = 4 /* line of the simulated set; its size does not matter */
};
/* Minimum distance between the patterns of two policies that can be distinguished; see
 * pattern_distance(). Chosen, not derived. */
static const double min_distance = 0.1;

/* ---- counts of random evictions ---- */

enum {
    MIN_DISTANCES = 5, /* minimum average count per page for the G-test, by the usual rule */
    /* With random replacement, the next miss follows within one pass over the set. One in LONG_PART
     * longer distances is tolerated. Chosen, not derived. */
    LONG_PART = 20
};
/* p-values of the G-test: below the first, the evictions are not uniform; above the second, they
 * are taken as uniform; between the two, the policy is unknown. As in replacement_policy.c. */
static const double surely_uneven = 1e-5, perhaps_uneven = 1e-3;

/* Number of pages beyond those of the experiment, which fill the sets before it: at most as many as
 * there are entries. */
static uint64_t preparing_page_count(const struct fth_tlb_study *study)
{
    const uint64_t entries = study->level->entries;
    return study->pages.max_loads > entries + 2
               ? FTH_MIN(entries, study->pages.max_loads - entries - 2)
               : 0;
}

/* Number of pages that are loaded before the timed pass, so that no inner level holds the first
 * page any more. */
static uint64_t refill_page_count(const struct fth_tlb_study *study)
{
    return FTH_MIN(study->level->entries - 2, 2 * study->inner_entries);
}

/* The experiment, one step per line:
 *   - walk over other pages, so that each set holds pages that do not matter;
 *   - walk over all pages that fit, which enter their sets in order;
 *   - load the first of them again;
 *   - load one more page of its set;
 *   - behind an inner level: load other pages, so that no inner level holds the first page;
 *   - time all pages that fit.
 * Page 0 is not among them: it contains the samples and is in use between the steps. */
static struct fth_request policy_request(const struct fth_tlb_study *study)
{
    struct fth_request request = fth_request_make(-1);
    const uint64_t stride = study->pages.stride_bytes, entries = study->level->entries;
    struct fth_chain all = {.array = FTH_FIRST_HEADER_ARRAY,
                            .start_bytes = stride,
                            .stride_bytes = stride,
                            .count = entries - 1};
    struct fth_chain one = all, more = all, others = all, rest = all;
    one.count = more.count = 1;
    more.start_bytes = (entries + 1) * stride;
    rest.start_bytes = (entries + 2) * stride;
    rest.count = preparing_page_count(study);
    others.start_bytes = 2 * stride;
    others.count = refill_page_count(study);
    request.alone = true;
    request.sm = 0;
    fth_request_add(&request, FTH_STEP_WALK, FTH_PATH_CG, rest, 1);
    fth_request_add(&request, FTH_STEP_WALK, FTH_PATH_CG, all, 1);
    fth_request_add(&request, FTH_STEP_WALK, FTH_PATH_CG, one, 1);
    fth_request_add(&request, FTH_STEP_WALK, FTH_PATH_CG, more, 1);
    if (study->inner_entries)
        fth_request_add(&request, FTH_STEP_WALK, FTH_PATH_CG, others, 1);
    fth_request_add(&request, FTH_STEP_TIME_HOPS, FTH_PATH_CG, all, 1);
    return request;
}

/* The minimum number of pages that miss with LRU and FIFO: all pages of a set except the one that
 * was used again and that of the samples. Where single loads do not distinguish hit and miss, some
 * may be overlooked. Behind an inner level, some pages are loaded again before the timed
 * pass; there the minimum is 1. */
static uint64_t min_missed(const struct fth_tlb_study *study, const struct fth_tlb_sets *sets)
{
    uint64_t ways = UINT64_MAX;
    for (size_t i = 0; i < sets->set_size_count; i++)
        ways = FTH_MIN(ways, sets->set_sizes[i].ways);
    const uint64_t fewest = ways > 2 && study->inner_entries == 0 ? ways - 2 : 1;
    return study->step.per_load ? fewest : fewest - fewest / OVERLOOKED_PART;
}

/* The misses of the timed pass: position of the first one, and their number. */
struct pattern {
    uint64_t first, count;
};

/* Simulates the experiment with this policy; consecutive pages go to consecutive sets. The page of
 * the samples is accessed at every step and at every timed load, unless an inner level holds it. */
static enum fth_status predict(const struct fth_tlb_study *study, const struct fth_tlb_sets *sets,
                               const char *policy, struct pattern *pattern, struct fth_error *error)
{
    const struct fth_request script = policy_request(study);
    const struct fth_cache_config config = {.line_bytes = LINE_BYTES,
                                            .sets = sets->set_sizes[0].sets,
                                            .ways = sets->set_sizes[0].ways,
                                            .policy = policy,
                                            .write = FTH_WRITE_EVICT};
    struct fth_cache *cache = NULL;
    *pattern = (struct pattern){.count = 0};
    enum fth_status status = fth_cache_create(&config, &cache, error);
    for (size_t i = 0; i < script.chase.step_count && status == FTH_OK; i++) {
        const struct fth_chain *chain = &script.chase.steps[i].chain;
        const uint64_t first = chain->start_bytes / chain->stride_bytes;
        const bool timed = script.chase.steps[i].kind == FTH_STEP_TIME_HOPS;
        for (uint64_t hop = 0; hop < chain->count; hop++) {
            if (study->inner_entries == 0 && (timed || hop == 0))
                fth_cache_access(cache, 0, LINE_BYTES, FTH_CACHE_READ, NULL);
            const bool hit = fth_cache_access(cache, LINE_BYTES * (first + hop), LINE_BYTES,
                                              FTH_CACHE_READ, NULL) == FTH_CACHE_HIT;
            if (timed && !hit && pattern->count++ == 0)
                pattern->first = hop;
        }
    }
    fth_cache_destroy(cache);
    return status;
}

/* The distance between two patterns, relative to the ways. Consecutive pages of one set are `sets`
 * positions apart, so that a difference of the first position counts in units of `sets`. A
 * difference of the counts counts for at most one set: other sets that overflow add misses. */
static double pattern_distance(const struct pattern *a, const struct pattern *b, uint64_t set_count,
                               uint64_t ways)
{
    const double positions = fabs((double)a->first - (double)b->first) / (double)set_count;
    const double counts = fabs((double)a->count - (double)b->count);
    return (positions + fmin(counts, (double)ways)) / (double)ways;
}

/* Distinguishes tree pseudo-LRU from LRU, where the ways allow a tree: pseudo-LRU evicts a page of
 * the half that was not used last, LRU the second page of the set. The policy whose predicted
 * pattern is nearer to the observed one wins. This is skipped where several sets overflow, because
 * a hash distributes pages unevenly. */
static enum fth_status detect_plru(const struct fth_tlb_study *study, struct fth_tlb_sets *sets,
                                   const struct pattern *observed, struct fth_error *error)
{
    const uint64_t ways = sets->set_sizes[0].ways, set_count = sets->set_sizes[0].sets;
    struct pattern lru, plru;
    if (sets->set_size_count > 1 || ways < MIN_TREE || ways > MAX_TREE || ways & (ways - 1) ||
        observed->count > ways)
        return FTH_OK;
    FTH_TRY(predict(study, sets, "lru", &lru, error));
    FTH_TRY(predict(study, sets, "plru", &plru, error));
    const double from_lru = pattern_distance(observed, &lru, set_count, ways);
    const double from_plru = pattern_distance(observed, &plru, set_count, ways);
    if (pattern_distance(&lru, &plru, set_count, ways) < min_distance)
        sets->policy = FTH_TLB_POLICY_UNKNOWN;
    else if (from_plru < from_lru)
        sets->policy = FTH_TLB_PLRU;
    return FTH_OK;
}

/* Derives the policy from the medians over the repeats. The evidence is the number of
 * repeats that agree on whether the first page misses. */
static enum fth_status classify_policy(const struct fth_tlb_study *study,
                                       const struct fth_samples *repeats, struct fth_tlb_sets *sets,
                                       struct fth_error *error)
{
    const double threshold = fth_tlb_step_threshold(&study->step);
    const double *baseline = study->pages.baseline + 1;
    bool first = false;
    struct pattern observed = {.count = 0};
    unsigned times = 0;
    for (size_t position = 0; position < repeats[0].count; position++) {
        double column[REPEATS], median;
        for (size_t i = 0; i < REPEATS; i++)
            column[i] = repeats[i].cycles[position] - baseline[position];
        FTH_TRY(fth_quantile_f64(column, REPEATS, 0.5, &median, error));
        for (size_t i = 0; i < REPEATS && position == 0; i++)
            times += column[i] > threshold;
        first = position == 0 ? median > threshold : first;
        if (median > threshold && observed.count++ == 0)
            observed.first = position;
    }
    if (observed.count == 0)
        return FTH_OK;
    sets->policy = observed.count < min_missed(study, sets) ? FTH_TLB_OTHER
                   : first                                  ? FTH_TLB_FIFO
                                                            : FTH_TLB_LRU;
    if (!first)
        FTH_TRY(detect_plru(study, sets, &observed, error));
    sets->policy_evidence =
        (struct fth_evidence){.repeats = REPEATS, .agree = first ? times : REPEATS - times};
    return FTH_OK;
}

/* Tests whether each page of the set is evicted equally often. */
static void classify_random(const struct fth_tlb_study *study, struct fth_tlb_sets *sets)
{
    const uint64_t ways = study->members ? study->members - 1 : 0;
    uint64_t total = 0;
    for (uint64_t i = 1; i <= ways; i++)
        total += study->distances[i];
    sets->policy = FTH_TLB_NOT_PERIODIC;
    /* A page that is evicted more often stands out in each eviction per way. */
    const double per_way = ways ? floor((double)total / (double)ways) : 0;
    sets->policy_evidence = (struct fth_evidence){.repeats = per_way, .agree = per_way};
    if (ways < 2 || total < MIN_DISTANCES * ways)
        return;
    const bool too_long = LONG_PART * study->distances[0] > total;
    const double p_value = fth_uniform_p_value(study->distances + 1, ways, total);
    if (!too_long && p_value > perhaps_uneven)
        sets->policy = FTH_TLB_RANDOM;
    else if (!too_long && p_value > surely_uneven)
        sets->policy = FTH_TLB_POLICY_UNKNOWN;
}

enum fth_status fth_tlb_find_policy(const struct fth_tlb_study *study, struct fth_tlb_sets *sets,
                                    struct fth_error *error)
{
    if (study->level->entries < MIN_INNER_RATIO * study->inner_entries)
        return FTH_OK;
    if (!study->periodic) {
        classify_random(study, sets);
        return FTH_OK;
    }
    if (sets->set_size_count == 0 || study->level->entries < MIN_ENTRIES ||
        preparing_page_count(study) < study->level->entries / PREPARING_PART + 1)
        return FTH_OK;
    struct fth_request requests[REPEATS];
    for (size_t i = 0; i < REPEATS; i++)
        requests[i] = policy_request(study);
    struct fth_answers answers = {0};
    FTH_TRY(fth_ask(study->prober, requests, REPEATS, &answers, error));
    for (size_t i = 0; i < answers.count; i++)
        sets->samples += answers.items[i].count;
    enum fth_status status = classify_policy(study, answers.items, sets, error);
    fth_answers_fini(&answers);
    return status;
}
