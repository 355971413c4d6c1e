/* Which page a full set of a TLB gives up.
 *
 * All pages that fit are walked over, the first one is used again, and one page more is loaded.
 * Where the least recent one goes it is the second of its set, where the first one in goes it is
 * the first; and then, when all are looked at in turn, each that comes back throws out the next, so
 * that all of the set miss but what was used again. Fewer misses are another policy's.
 *
 * Where other pages miss in each pass over one page more than fit, one page of the set is missing
 * at any time, and the next miss tells which one the last threw out: by chance it is any of them
 * equally often (G-test). */
#include "probe/structure.h"
#include "probe/tlb_sets.h"

#include "cache/cache.h"

#include <math.h>
#include <stdlib.h>

enum {
    REPEATS = 9,
    INNER_TIMES = 3,
    MAX_TREE = 64,    /* ways of a tree of bits */
    MIN_DISTANCES = 5 /* a page that could go, for a test of evenness */
};
/* A G-test as unlikely as this is no chance; one as likely as this is. */
static const double surely_uneven = 1e-5, perhaps_uneven = 1e-3;

/* Policies whose patterns are no farther apart cannot be told from each other. */
static const double min_apart = 0.1;

/* There are, beyond those that fit and one more: as many at most. */
static uint64_t other_pages(const struct fth_tlb_study *study)
{
    const uint64_t entries = study->level->entries;
    return study->pages.max > entries + 2 ? FTH_MIN(entries, study->pages.max - entries - 2) : 0;
}

/* Loaded before all are looked at, so that no inner level has the first page. */
static uint64_t other_pages_between(const struct fth_tlb_study *study)
{
    return FTH_MIN(study->level->entries - 2, 2 * study->inner_entries);
}

/* Other pages, some in each set, so that then all pages that fit come in in turn, whatever was
 * there; the first of them again; one more in its set; others, so that no inner level has the first
 * any more; then all are timed. Page 0, which a launch needs between the steps, has its place all
 * the time. */
static struct fth_request policy_request(const struct fth_tlb_study *study)
{
    struct fth_request request = fth_request_make(-1);
    const uint64_t stride = study->pages.stride_bytes, entries = study->level->entries;
    struct fth_chain all = {.array = FTH_FAR_ARRAY,
                            .start_bytes = stride,
                            .stride_bytes = stride,
                            .count = entries - 1};
    struct fth_chain one = all, more = all, others = all, rest = all;
    one.count = more.count = 1;
    more.start_bytes = (entries + 1) * stride;
    rest.start_bytes = (entries + 2) * stride;
    rest.count = other_pages(study);
    others.start_bytes = 2 * stride;
    others.count = other_pages_between(study);
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

/* The fewest pages that miss with LRU and FIFO: all of a set but the one that was used again and
 * that of the samples. Where single loads do not tell, one in four may be overlooked. Behind an
 * inner level some come back before they are looked at: there it is not asked. */
static uint64_t fewest_missed(const struct fth_tlb_study *study, const struct fth_tlb_sets *sets)
{
    uint64_t ways = UINT64_MAX;
    for (size_t i = 0; i < sets->kind_count; i++)
        ways = FTH_MIN(ways, sets->kinds[i].ways);
    const uint64_t fewest = ways > 2 && study->inner_entries == 0 ? ways - 2 : 1;
    return study->rung.single ? fewest : fewest - fewest / 4;
}

/* Which places miss: the first, and how many. */
struct pattern {
    uint64_t first, count;
};

/* What would miss with sets under that policy that are taken in turn. The page of the samples is
 * used at every step and at every timed load; an inner level keeps that from this one. */
static enum fth_status foretell(const struct fth_tlb_study *study, const struct fth_tlb_sets *sets,
                                const char *policy, struct pattern *pattern,
                                struct fth_error *error)
{
    const struct fth_request script = policy_request(study);
    const struct fth_cache_config config = {.line_bytes = 4,
                                            .sets = sets->kinds[0].sets,
                                            .ways = sets->kinds[0].ways,
                                            .policy = policy,
                                            .write = FTH_WRITE_EVICT};
    struct fth_cache *cache = NULL;
    *pattern = (struct pattern){.count = 0};
    enum fth_status status = fth_cache_create(&config, &cache, error);
    for (size_t i = 0; i < script.step_count && status == FTH_OK; i++) {
        const struct fth_chain *chain = &script.steps[i].chain;
        const uint64_t first = chain->start_bytes / chain->stride_bytes;
        const bool timed = script.steps[i].kind == FTH_STEP_TIME_HOPS;
        for (uint64_t hop = 0; hop < chain->count; hop++) {
            if (study->inner_entries == 0 && (timed || hop == 0))
                fth_cache_access(cache, 0, 4, FTH_CACHE_READ, NULL);
            const bool hit = fth_cache_access(cache, 4 * (first + hop), 4, FTH_CACHE_READ, NULL) ==
                             FTH_CACHE_HIT;
            if (timed && !hit && pattern->count++ == 0)
                pattern->first = hop;
        }
    }
    fth_cache_destroy(cache);
    return status;
}

/* How far two patterns are from each other, in parts of a set: a page of a set is a round of all
 * sets from the next. Sets that overflow anyway make for more misses, but no more than that. */
static double apart(const struct pattern *a, const struct pattern *b, uint64_t rounds,
                    uint64_t ways)
{
    const double places = fabs((double)a->first - (double)b->first) / (double)rounds;
    const double counts = fabs((double)a->count - (double)b->count);
    return (places + fmin(counts, (double)ways)) / (double)ways;
}

/* Where there can be a tree of bits: it gives up a page of the half that was not used last, LRU the
 * second page of the set. What is nearer to what was seen is the policy. That is not asked where
 * several sets overflow, since a hash deals pages to them unevenly. */
static enum fth_status tell_tree(const struct fth_tlb_study *study, struct fth_tlb_sets *sets,
                                 const struct pattern *seen, struct fth_error *error)
{
    const uint64_t ways = sets->kinds[0].ways, rounds = sets->kinds[0].sets;
    struct pattern lru, tree;
    if (sets->kind_count > 1 || ways < 4 || ways > MAX_TREE || ways & (ways - 1) ||
        seen->count > ways)
        return FTH_OK;
    enum fth_status status = foretell(study, sets, "lru", &lru, error);
    if (status == FTH_OK)
        status = foretell(study, sets, "plru", &tree, error);
    if (status != FTH_OK)
        return status;
    const double from_lru = apart(seen, &lru, rounds, ways);
    const double from_tree = apart(seen, &tree, rounds, ways);
    if (apart(&lru, &tree, rounds, ways) < min_apart)
        sets->policy = FTH_TLB_POLICY_UNKNOWN;
    else if (from_tree < from_lru)
        sets->policy = FTH_TLB_TREE;
    return FTH_OK;
}

/* By the medians over the repeats; how many of these say the same of the first page is how sure it
 * is. */
static enum fth_status judge_policy(const struct fth_tlb_study *study,
                                    const struct fth_samples *repeats, struct fth_tlb_sets *sets,
                                    struct fth_error *error)
{
    const double threshold = fth_rung_threshold(&study->rung);
    const double *alone = study->pages.alone + 1;
    bool first = false;
    struct pattern seen = {.count = 0};
    unsigned times = 0;
    for (size_t place = 0; place < repeats[0].count; place++) {
        double column[REPEATS], median;
        for (size_t i = 0; i < REPEATS; i++)
            column[i] = repeats[i].cycles[place] - alone[place];
        enum fth_status status = fth_quantile_f64(column, REPEATS, 0.5, &median, error);
        if (status != FTH_OK)
            return status;
        for (size_t i = 0; i < REPEATS && place == 0; i++)
            times += column[i] > threshold;
        first = place == 0 ? median > threshold : first;
        if (median > threshold && seen.count++ == 0)
            seen.first = place;
    }
    if (seen.count == 0)
        return FTH_OK;
    sets->policy = seen.count < fewest_missed(study, sets) ? FTH_TLB_OTHER
                   : first                                 ? FTH_TLB_FIRST_IN
                                                           : FTH_TLB_LRU;
    enum fth_status status = FTH_OK;
    if (!first)
        status = tell_tree(study, sets, &seen, error);
    if (status != FTH_OK)
        return status;
    sets->policy_confidence = ((first ? times : REPEATS - times) + 1.0) / (REPEATS + 2.0);
    return FTH_OK;
}

/* Whether any page of the set goes equally often. */
static void judge_chance(const struct fth_tlb_study *study, struct fth_tlb_sets *sets)
{
    const uint64_t ways = study->members ? study->members - 1 : 0;
    uint64_t total = 0;
    for (uint64_t i = 1; i <= ways; i++)
        total += study->distances[i];
    sets->policy = FTH_TLB_UNSTEADY;
    sets->policy_confidence = study->level->entries_confidence;
    if (ways < 2 || total < MIN_DISTANCES * ways)
        return;
    /* A page that just came does not go before all others were looked at. */
    const bool odd = 20 * study->distances[0] > total;
    const double even = fth_evenness(study->distances + 1, ways, total);
    if (!odd && even > perhaps_uneven)
        sets->policy = FTH_TLB_RANDOM;
    else if (!odd && even > surely_uneven)
        sets->policy = FTH_TLB_POLICY_UNKNOWN;
}

enum fth_status fth_tlb_find_policy(const struct fth_tlb_study *study, struct fth_tlb_sets *sets,
                                    struct fth_error *error)
{
    /* An inner level that has many of the pages keeps from this one that they are used again. */
    if (study->level->entries < INNER_TIMES * study->inner_entries)
        return FTH_OK;
    if (!study->steady) {
        judge_chance(study, sets);
        return FTH_OK;
    }
    if (sets->kind_count == 0 || study->level->entries < 4 ||
        other_pages(study) < study->level->entries / 4 + 1)
        return FTH_OK;
    struct fth_request requests[REPEATS];
    for (size_t i = 0; i < REPEATS; i++)
        requests[i] = policy_request(study);
    struct fth_answers answers = {0};
    enum fth_status status = fth_ask(study->prober, requests, REPEATS, &answers, error);
    for (size_t i = 0; i < answers.count; i++)
        sets->samples += answers.items[i].count;
    if (status == FTH_OK)
        status = judge_policy(study, answers.items, sets, error);
    fth_answers_fini(&answers);
    return status;
}
