/* How much a cache holds: the largest footprint that can be walked over and over without a miss.
 *
 * Footprints that double are tried, a few in one batch, an SM each, which brackets the edge; the
 * bracket is then cut into parts until it is one stride wide (doubling and bisection of the
 * topology thesis, several cuts at a time).
 *
 * A slow hop is a miss or a disturbance. Where nothing disturbs, one is enough. Otherwise there are
 * three ways to tell, and any of them makes a footprint lie beyond the edge:
 *   - misses of a cache that always replaces the same way come again at the same hop in most passes
 *   - others are told by their number: how many hops are slow by disturbance alone is seen where
 *     the footprint fits for sure
 *   - and by how long they take: what misses take is seen in a first walk, and fewer disturbances
 *     take just as long. A walk over one line too many has a miss a pass at least, whatever the
 *     policy: the line that is not there is come by. So there are as many passes as it takes for
 *     these few to stand out. */
#include "probe/probe.h"

#include <math.h>
#include <stdlib.h>

enum {
    TIMED_PASSES = 3, /* that count: before them goes one that does not */
    MAX_PASSES = 64,
    MAX_TRIES = 8, /* of one batch */
    AT_ONCE = 3,   /* footprints, each twice the one before */
    REPEATS = 5,
    THOROUGH_REPEATS = 50,
    WHOLE = 1024, /* bytes: so many whole lines */
    CUTS = 4,     /* fewer batches with more, and fewer loads with less: 6 batches from 4096 on */
    RATE_HOPS = 16384, /* to see how often a hop is slow, where some are */
    /* First loads, from which to see what misses take: a line and a page on each time, so that they
     * come from near and far. */
    FIRST_HOPS = 96,
    FIRST_STRIDE = 4096 + 128,
};
/* Of the misses: this part lies outside of what misses take on either side, and so much further
 * apart is still one. */
static const double outside = 0.05, apart_part = 0.05, apart_cycles = 4;
/* Misses a pass beyond the edge, which a policy may have a few more or less of: those that replace
 * at random have 2. */
static const double min_misses = 1.5;
/* Verdicts that differ more often are none. */
static const double min_confidence = 0.75;

/* What makes a hop a miss, and how often one looks like it by disturbance alone. */
struct edge {
    uint64_t fits, misses; /* in strides; misses 0: not found */
    bool disturbed;
    double low, high;      /* cycles: what misses take */
    double slow_rate;      /* of hops above the threshold */
    double like_miss_rate; /* of hops between low and high */
};

struct search {
    const struct fth_prober *prober;
    const struct fth_capacity_plan *plan;
    struct fth_capacity *capacity;
    double threshold;
};

double fth_max_by_chance(double expected)
{
    return expected > 0 ? expected + 5 * sqrt(expected) + 1 : 0;
}

/* How many passes over so many hops: enough for misses to stand out of the disturbances that take
 * as long, by the five standard deviations that are asked for and two more. */
static unsigned passes_for(const struct edge *edge, uint64_t count)
{
    if (!edge->disturbed)
        return 1;
    unsigned passes = TIMED_PASSES;
    for (; passes < MAX_PASSES; passes++) {
        const double strays = passes * (double)count * edge->like_miss_rate;
        if (passes * min_misses > 7 * sqrt(strays) + 2)
            break;
    }
    return passes;
}

/* The first timed pass does not count: its instructions come from memory, and with the samples
 * something else goes through the cache from then on, which on an H200 costs a few lines once. */
static struct fth_request walk_over(const struct fth_capacity_plan *plan, uint64_t count,
                                    unsigned passes)
{
    struct fth_chain chain = {.stride_bytes = plan->stride_bytes, .count = count};
    struct fth_request request = fth_request_make(plan->carveout_percent);
    fth_request_add(&request, FTH_STEP_WALK, plan->path, chain, 1);
    fth_request_add(&request, FTH_STEP_TIME_HOPS, plan->path, chain, 1 + passes);
    return request;
}

/* ---- one walk ---- */

/* What is slow in a walk of so many passes. */
struct slow {
    uint64_t places;
    unsigned passes;
    uint64_t all;       /* hops that are slow */
    uint64_t like_miss; /* that take what a miss does */
    uint64_t steady;    /* places that are slow in most passes */
};

static int compare_counts(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* The sum over passes, none of which counts for far more than the middle one does: where another
 * program had the SM in between, nothing is left, and one pass is slow from end to end. */
static uint64_t tame_sum(const uint64_t *counts, unsigned passes)
{
    uint64_t sorted[MAX_PASSES] = {0}, sum = 0;
    for (unsigned i = 0; i < passes; i++)
        sorted[i] = counts[i];
    qsort(sorted, passes, sizeof *sorted, compare_counts);
    const uint64_t max = passes < TIMED_PASSES ? UINT64_MAX : 3 * sorted[passes / 2] + 8;
    for (unsigned i = 0; i < passes; i++)
        sum += counts[i] > max ? max : counts[i];
    return sum;
}

static struct slow count_slow(const struct fth_samples *samples, uint64_t places, unsigned passes,
                              double threshold, const struct edge *edge)
{
    uint64_t all[MAX_PASSES] = {0}, like_miss[MAX_PASSES] = {0};
    struct slow slow = {.places = places, .passes = passes};
    for (uint64_t place = 0; place < places; place++) {
        unsigned times = 0;
        for (unsigned pass = 0; pass < passes; pass++) {
            const double cycles = samples->cycles[(pass + 1) * places + place];
            all[pass] += cycles > threshold;
            like_miss[pass] += cycles >= edge->low && cycles <= edge->high;
            times += cycles > threshold;
        }
        slow.steady += times > passes / 2;
    }
    slow.all = tame_sum(all, passes);
    slow.like_miss = tame_sum(like_miss, passes);
    return slow;
}

/* How likely a place is slow in most passes by disturbance alone. */
static double steady_rate(double rate, unsigned passes)
{
    const double max = floor(passes / 2.0) + 1;
    const double ways = lgamma(passes + 1.0) - lgamma(max + 1) - lgamma(passes - max + 1);
    return exp(ways + max * log(rate));
}

/* Whether a walk had misses: more than disturbances explain. */
static bool has_misses(struct slow slow, const struct edge *edge)
{
    if (!edge->disturbed)
        return slow.all > 0;
    const double places = (double)slow.places, hops = places * slow.passes;
    return (double)slow.all > fth_max_by_chance(hops * edge->slow_rate) ||
           (double)slow.like_miss > fth_max_by_chance(hops * edge->like_miss_rate) ||
           (double)slow.steady >
               fth_max_by_chance(places * steady_rate(edge->slow_rate, slow.passes));
}

/* What makes a footprint lie beyond the edge. */
enum beyond { ANY_MISS, ALL_MISS };

static bool is_beyond(enum beyond what, struct slow slow, const struct edge *edge)
{
    /* A few hops may be fast where everything misses: what comes from a buffer on the way. */
    return what == ANY_MISS ? has_misses(slow, edge)
                            : (double)slow.steady > 0.999 * (double)slow.places;
}

/* ---- what disturbs ---- */

/* What misses take, from first loads. */
static enum fth_status find_miss_cycles(const struct search *search, struct edge *edge,
                                        struct fth_error *error)
{
    const struct fth_capacity_plan *plan = search->plan;
    edge->low = plan->miss_low_cycles;
    edge->high = plan->miss_high_cycles;
    if (edge->high > 0)
        return FTH_OK;
    struct fth_request request = fth_request_make(plan->carveout_percent);
    struct fth_chain chain = {.array = 1, .stride_bytes = FIRST_STRIDE, .count = FIRST_HOPS};
    fth_request_add(&request, FTH_STEP_TIME_HOPS, plan->path, chain, 1);
    struct fth_answers answers = {0};
    /* Twice: the first time they may come from memory. */
    enum fth_status status = fth_ask(search->prober, &request, 1, &answers, error);
    fth_answers_fini(&answers);
    if (status == FTH_OK)
        status = fth_ask(search->prober, &request, 1, &answers, error);
    double sorted[FIRST_HOPS], scratch[FIRST_HOPS];
    size_t count = 0;
    for (size_t i = 1; status == FTH_OK && i < answers.items[0].count; i++)
        if (answers.items[0].cycles[i] > search->threshold)
            sorted[count++] = answers.items[0].cycles[i];
    fth_answers_fini(&answers);
    if (status != FTH_OK)
        return status;
    edge->low = search->threshold;
    edge->high = INFINITY;
    if (count == 0)
        return FTH_OK;
    search->capacity->samples += FIRST_HOPS;
    fth_sort_f64(sorted, scratch, count);
    const double far = apart_part * fth_quantile_sorted(sorted, count, 0.5) + apart_cycles;
    edge->low = fmax(edge->low, fth_quantile_sorted(sorted, count, outside) - far);
    edge->high = fth_quantile_sorted(sorted, count, 1 - outside) + far;
    return FTH_OK;
}

/* How often a hop of a footprint that fits is slow. False where it does not fit. */
static enum fth_status find_rates(const struct search *search, struct edge *edge, bool *fits,
                                  struct fth_error *error)
{
    const struct fth_capacity_plan *plan = search->plan;
    const uint64_t places = plan->smallest_bytes / plan->stride_bytes;
    /* One walk, and where something disturbs, more, in parts of as many passes as are counted. */
    enum { PARTS = 8 };
    const uint64_t passes = edge->disturbed ? RATE_HOPS / PARTS / places + 1 : TIMED_PASSES;
    const size_t parts = edge->disturbed ? PARTS : 1;
    struct fth_request requests[PARTS];
    for (size_t i = 0; i < parts; i++)
        requests[i] = walk_over(plan, places, (unsigned)passes);
    struct fth_answers answers = {0};
    enum fth_status status = fth_ask(search->prober, requests, parts, &answers, error);
    uint64_t all = 0, like_miss = 0, hops = 0;
    for (size_t i = 0; i < parts && status == FTH_OK; i++) {
        for (size_t hop = places; hop < answers.items[i].count; hop++) {
            const double cycles = answers.items[i].cycles[hop];
            all += cycles > search->threshold;
            like_miss += cycles >= edge->low && cycles <= edge->high;
        }
        hops += answers.items[i].count - places;
        search->capacity->samples += answers.items[i].count;
    }
    fth_answers_fini(&answers);
    /* As if one more had been seen, since none that is seen is not none that there is. */
    edge->slow_rate = ((double)all + 1) / ((double)hops + 2);
    edge->like_miss_rate = ((double)like_miss + 1) / ((double)hops + 2);
    *fits = 2 * all < hops;
    edge->disturbed = edge->disturbed || all > 0;
    return status;
}

/* ---- the search ---- */

/* Tries the footprints, ascending, and narrows the edge. */
static enum fth_status try_counts(const struct search *search, const uint64_t *counts, size_t count,
                                  enum beyond what, struct edge *edge, struct fth_error *error)
{
    struct fth_request requests[MAX_TRIES] = {{0}};
    for (size_t i = 0; i < count; i++)
        requests[i] = walk_over(search->plan, counts[i], passes_for(edge, counts[i]));
    struct fth_answers answers = {0};
    enum fth_status status = fth_ask(search->prober, requests, count, &answers, error);
    for (size_t i = 0; i < count && status == FTH_OK; i++) {
        search->capacity->samples += answers.items[i].count;
        struct slow slow = count_slow(&answers.items[i], counts[i], passes_for(edge, counts[i]),
                                      search->threshold, edge);
        if (is_beyond(what, slow, edge)) {
            edge->misses = counts[i];
            break;
        }
        edge->fits = counts[i];
    }
    fth_answers_fini(&answers);
    return status;
}

/* Cuts the bracket. */
static size_t cut(const struct edge *edge, uint64_t *counts)
{
    uint64_t width = edge->misses - edge->fits, cuts = width - 1 < CUTS ? width - 1 : CUTS;
    for (uint64_t i = 0; i < cuts; i++)
        counts[i] = edge->fits + width * (i + 1) / (cuts + 1);
    return (size_t)cuts;
}

/* From the smallest footprint on, a few at a time, and then between two of them. */
static enum fth_status find_edge(const struct search *search, struct edge *edge,
                                 struct fth_error *error)
{
    const struct fth_capacity_plan *plan = search->plan;
    uint64_t counts[MAX_TRIES], bytes = plan->smallest_bytes;
    enum fth_status status = FTH_OK;
    edge->fits = bytes / plan->stride_bytes;
    edge->misses = 0;
    while (status == FTH_OK && edge->misses == 0 && bytes < plan->largest_bytes) {
        size_t tries = 0;
        while (tries < AT_ONCE && bytes < plan->largest_bytes) {
            bytes = 2 * bytes < plan->largest_bytes ? 2 * bytes : plan->largest_bytes;
            counts[tries++] = bytes / plan->stride_bytes;
        }
        status = try_counts(search, counts, tries, ANY_MISS, edge, error);
    }
    while (status == FTH_OK && edge->misses && edge->misses - edge->fits > 1) {
        size_t tries = cut(edge, counts);
        status = try_counts(search, counts, tries, ANY_MISS, edge, error);
    }
    return status;
}

/* Asks again, several times, on either side of the edge: how often the verdict is the same, by
 * Laplace's rule. */
static enum fth_status confirm(const struct search *search, const struct edge *edge,
                               struct fth_error *error)
{
    struct fth_request requests[2 * THOROUGH_REPEATS];
    const size_t asked = search->prober->thorough ? 2 * THOROUGH_REPEATS : 2 * REPEATS;
    for (size_t i = 0; i < asked; i++) {
        uint64_t count = i % 2 ? edge->misses : edge->fits;
        requests[i] = walk_over(search->plan, count, passes_for(edge, count));
    }
    struct fth_answers answers = {0};
    enum fth_status status = fth_ask(search->prober, requests, asked, &answers, error);
    unsigned same = 0;
    for (size_t i = 0; i < answers.count; i++) {
        uint64_t count = i % 2 ? edge->misses : edge->fits;
        struct slow slow =
            count_slow(&answers.items[i], count, passes_for(edge, count), search->threshold, edge);
        same += has_misses(slow, edge) == (i % 2 == 1);
        search->capacity->samples += answers.items[i].count;
    }
    fth_answers_fini(&answers);
    search->capacity->confidence = (same + 1.0) / ((double)asked + 2.0);
    return status;
}

/* ---- what else there is to see ---- */

/* The footprint that nothing hits any more, between the first miss and twice that. */
static enum fth_status find_full_miss(const struct search *search, const struct edge *edge,
                                      struct fth_error *error)
{
    struct edge some = *edge;
    some.misses = 0;
    uint64_t high = 2 * edge->misses;
    enum fth_status status = try_counts(search, &high, 1, ALL_MISS, &some, error);
    while (status == FTH_OK && some.misses && some.misses - some.fits > edge->fits / 64 + 1) {
        uint64_t counts[CUTS];
        size_t tries = cut(&some, counts);
        status = try_counts(search, counts, tries, ALL_MISS, &some, error);
    }
    search->capacity->full_miss_bytes = some.misses * search->plan->stride_bytes;
    return status;
}

/* How much a walk back finds after a walk over a quarter more than fits. */
static enum fth_status find_resident(const struct search *search, const struct edge *edge,
                                     struct fth_error *error)
{
    const struct fth_capacity_plan *plan = search->plan;
    struct fth_capacity *capacity = search->capacity;
    struct fth_request requests[REPEATS];
    struct fth_chain chain = {.stride_bytes = plan->stride_bytes,
                              .count = (edge->fits * plan->stride_bytes * 5 / 4 / WHOLE + 1) *
                                       WHOLE / plan->stride_bytes};
    for (size_t i = 0; i < REPEATS; i++) {
        requests[i] = fth_request_make(plan->carveout_percent);
        fth_request_add(&requests[i], FTH_STEP_WALK, plan->path, chain, 1);
        fth_request_add(&requests[i], FTH_STEP_TIME_HOPS, plan->path, chain, 1);
        requests[i].steps[1].reverse = true;
    }
    struct fth_answers answers = {0};
    enum fth_status status = fth_ask(search->prober, requests, REPEATS, &answers, error);
    for (size_t i = 0; i < answers.count; i++) {
        uint64_t hits = 1; /* the first hop, the newest line, whose timing is that of cold code */
        for (size_t hop = 1; hop < answers.items[i].count; hop++)
            hits += answers.items[i].cycles[hop] <= search->threshold;
        capacity->samples += answers.items[i].count;
        if (hits * plan->stride_bytes > capacity->resident_bytes)
            capacity->resident_bytes = hits * plan->stride_bytes;
    }
    fth_answers_fini(&answers);
    return status;
}

/* ---- all of it ---- */

static enum fth_status search_once(const struct search *search, struct edge *edge,
                                   struct fth_error *error)
{
    bool fits = true;
    const bool known = edge->disturbed;
    enum fth_status status = FTH_OK;
    /* Of an edge that is not there any more nothing is left, nor how sure it was. */
    search->capacity->confidence = NAN;
    if (edge->disturbed)
        status = find_miss_cycles(search, edge, error);
    if (status == FTH_OK)
        status = find_rates(search, edge, &fits, error);
    if (status == FTH_OK && !fits)
        return fth_fail(error, FTH_INCONCLUSIVE, "find capacity", NULL,
                        "even %llu bytes have misses",
                        (unsigned long long)search->plan->smallest_bytes);
    if (status == FTH_OK && edge->disturbed && !known)
        return search_once(search, edge, error); /* with more to go by */
    if (status == FTH_OK)
        status = find_edge(search, edge, error);
    search->capacity->fits_bytes = edge->fits * search->plan->stride_bytes;
    search->capacity->misses_bytes = edge->misses * search->plan->stride_bytes;
    return status == FTH_OK && edge->misses ? confirm(search, edge, error) : status;
}

enum fth_status fth_probe_capacity(const struct fth_prober *prober,
                                   const struct fth_capacity_plan *plan,
                                   struct fth_capacity *capacity, struct fth_error *error)
{
    *capacity = (struct fth_capacity){.confidence = NAN};
    const struct search search = {prober, plan, capacity,
                                  sqrt(plan->hit_cycles * plan->miss_cycles)};
    struct edge edge = {.disturbed = plan->disturbed, .low = search.threshold, .high = INFINITY};
    enum fth_status status = search_once(&search, &edge, error);
    /* A stray slow hop ends a search too early where nothing seemed to disturb. */
    for (unsigned more = 0; more < 2 && status == FTH_OK && capacity->confidence < min_confidence;
         more++) {
        edge.disturbed = true;
        status = search_once(&search, &edge, error);
    }
    if (edge.disturbed) {
        capacity->miss_low_cycles = edge.low;
        capacity->miss_high_cycles = edge.high;
    }
    if (status == FTH_OK && capacity->confidence < min_confidence)
        return fth_fail(error, FTH_INCONCLUSIVE, "find capacity", NULL,
                        "asked again, %.0f %% of the walks say otherwise than %llu bytes",
                        100 * (1 - capacity->confidence), (unsigned long long)capacity->fits_bytes);
    if (status != FTH_OK || edge.misses == 0 || !plan->evidence)
        return status;
    status = find_resident(&search, &edge, error);
    if (status == FTH_OK)
        status = find_full_miss(&search, &edge, error);
    return status;
}
