/* Which line of a set is replaced.
 *
 * A chain of one line more than the set has ways is walked over and over (Mei and Chu 2017, 4.2 and
 * Fig. 11). One line is missing at any time, so the next miss tells what the last one threw out,
 * and as the ways were filled in turn at the beginning, in which way it stood.
 *
 *   - It repeats itself: the oldest goes, by use or by arrival, or what a tree of bits takes for
 * it. Scripts in which lines are used again, some more often than others, are then run on the
 * device and, for each candidate, on a simulated set (cache/). The candidate must foretell every
 * single hit and miss.
 *   - Some hit, and it does not repeat: a random choice. How often each way is chosen is counted;
 *     ways that are chosen alike (G-test) are `random`, otherwise `weighted`. That nothing else
 *     plays a part is seen by simulating the choice: the distances between misses must be
 *     distributed in the same way (Kolmogorov-Smirnov).
 *   - Anything else is no policy that we know. */
#include "probe/structure.h"

#include "cache/cache.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    LOOK_PASSES = 16,
    SETTLED = 4, /* passes after which it repeats itself, if it ever does */
    SCRIPTS = 24,
    COPIES = 3,
    MIN_REPLACED = 12000, /* a share of 1/2 is then known to 0.005 (one standard deviation) */
    MAX_HOPS = 250000,
    MAX_PARTS = 16 /* requests that the long walk is divided into, an SM each */
};
/* A G-test this unlikely is no chance; one as likely as this is. */
static const double surely_uneven = 1e-5, perhaps_uneven = 1e-3;

static enum fth_status out_of_memory(struct fth_error *error)
{
    fth_fail(error, FTH_NO_MEMORY, "find the replacement policy", NULL, "out of memory");
    return FTH_NO_MEMORY;
}

void fth_replacement_fini(struct fth_replacement *replacement)
{
    free(replacement->way_shares);
    *replacement = (struct fth_replacement){.confidence = NAN};
}

struct work {
    const struct fth_prober *prober;
    const struct fth_cache_plan *plan;
    struct fth_chain chain; /* as many lines as the set has ways */
    uint32_t ways;
    struct fth_replacement *found;
};

/* Lines from `first` on of the set; the chain goes on behind its ways. */
static struct fth_chain lines_of(const struct work *work, uint64_t first, uint64_t count)
{
    struct fth_chain chain = work->chain;
    chain.start_bytes += first * chain.stride_bytes;
    chain.count = count;
    return chain;
}

static struct fth_request make(const struct work *work)
{
    struct fth_request request = fth_request_make(work->plan->carveout_percent);
    request.alone = work->plan->alone;
    return request;
}

static bool is_slow(const struct work *work, uint32_t cycles)
{
    return cycles > work->plan->threshold_cycles;
}

/* ---- scripts: LRU, FIFO or LFU ---- */

/* Fill the set, use some of its lines again, some more often, load one or two others, and look what
 * is left. The first two tell the three policies apart; the others are chosen at random. */
static struct fth_request write_script(const struct work *work, unsigned number)
{
    struct fth_request request = make(work);
    const enum fth_path path = work->plan->path;
    uint64_t ways = work->ways, half = (ways + 1) / 2;
    struct fth_rng rng;
    fth_rng_init(&rng, number);
    /* Timed, so that code and whatever else timing needs is there when it counts. */
    fth_request_add(&request, FTH_STEP_TIME_HOPS, path, lines_of(work, 0, ways), 1);
    if (number == 0) { /* FIFO throws out the first line, LRU and LFU the first that is not used */
        fth_request_add(&request, FTH_STEP_WALK, path, lines_of(work, 0, half), 1);
    } else if (number == 1) { /* the first half is used often, the second half last */
        fth_request_add(&request, FTH_STEP_WALK, path, lines_of(work, 0, half), 3);
        if (half < ways)
            fth_request_add(&request, FTH_STEP_WALK, path, lines_of(work, half, ways - half), 1);
    } else {
        for (int i = 0; i < 3; i++) {
            uint64_t first = fth_rng_below(&rng, ways);
            uint64_t count = 1 + fth_rng_below(&rng, ways - first);
            fth_request_add(&request, FTH_STEP_WALK, path, lines_of(work, first, count),
                            1 + fth_rng_below(&rng, 3));
        }
    }
    fth_request_add(&request, FTH_STEP_WALK, path, lines_of(work, ways, 1), 1);
    if (number > 1) {
        uint64_t first = fth_rng_below(&rng, ways);
        fth_request_add(&request, FTH_STEP_WALK, path,
                        lines_of(work, first, 1 + fth_rng_below(&rng, ways - first)), 1);
    }
    fth_request_add(&request, FTH_STEP_TIME_HOPS, path, lines_of(work, 0, ways + 1), 2);
    return request;
}

/* How many loads of a script the policy foretells wrongly. */
static enum fth_status count_wrong(const struct work *work, const char *policy,
                                   const struct fth_request *script,
                                   const struct fth_samples *samples, size_t *wrong,
                                   struct fth_error *error)
{
    const struct fth_cache_config config = {
        .line_bytes = 4, .sets = 1, .ways = work->ways, .policy = policy, .write = FTH_WRITE_EVICT};
    struct fth_cache *cache = NULL;
    enum fth_status status = fth_cache_create(&config, &cache, error);
    size_t sample = 0;
    for (size_t i = 0; i < script->step_count && status == FTH_OK; i++) {
        const struct fth_step *step = &script->steps[i];
        uint64_t first =
            (step->chain.start_bytes - work->chain.start_bytes) / work->chain.stride_bytes;
        for (uint64_t hop = 0; hop < step->passes * step->chain.count; hop++) {
            uint64_t line = first + hop % step->chain.count;
            bool hit = fth_cache_access(cache, 4 * line, 4, FTH_CACHE_READ, NULL) == FTH_CACHE_HIT;
            if (step->kind != FTH_STEP_TIME_HOPS)
                continue;
            /* The first hop of a step is slow for another reason: its code has to come. */
            *wrong += hop > 0 && hit == is_slow(work, samples->cycles[sample]);
            sample++;
        }
    }
    fth_cache_destroy(cache);
    return status;
}

/* The middle one of three runs, load by load: a single disturbance drops out. */
static void take_medians(struct fth_samples *a, const struct fth_samples *b,
                         const struct fth_samples *c)
{
    for (size_t i = 0; i < a->count; i++) {
        uint32_t x = a->cycles[i], y = b->cycles[i], z = c->cycles[i];
        uint32_t low = x < y ? x : y, high = x < y ? y : x;
        a->cycles[i] = z < low ? low : z > high ? high : z;
    }
}

/* `copies`: 1 or COPIES. */
static enum fth_status run_scripts(struct work *work, unsigned copies, struct fth_error *error)
{
    static const char *const policies[] = {"lru", "fifo", "lfu", "plru"};
    struct fth_request *scripts = calloc((size_t)copies * SCRIPTS, sizeof *scripts);
    struct fth_answers answers = {0};
    if (!scripts)
        return out_of_memory(error);
    for (unsigned i = 0; i < copies * SCRIPTS; i++)
        scripts[i] = write_script(work, i % SCRIPTS);
    enum fth_status status =
        fth_ask(work->prober, scripts, (size_t)copies * SCRIPTS, &answers, error);
    for (size_t i = 0; i < SCRIPTS && copies == COPIES && status == FTH_OK; i++)
        take_medians(&answers.items[i], &answers.items[i + SCRIPTS],
                     &answers.items[i + (size_t)2 * SCRIPTS]);
    size_t right = 0, best = 0, wrong[FTH_COUNT(policies)] = {0};
    /* With two ways a tree is LRU, and with others than powers of two there is none. */
    bool tree = work->ways > 2 && (work->ways & (work->ways - 1)) == 0;
    for (size_t p = 0; p < FTH_COUNT(policies) - !tree && status == FTH_OK; p++) {
        for (size_t i = 0; i < SCRIPTS && status == FTH_OK; i++)
            status =
                count_wrong(work, policies[p], &scripts[i], &answers.items[i], &wrong[p], error);
        right += wrong[p] == 0;
        best = wrong[p] < wrong[best] ? p : best;
    }
    for (size_t i = 0; i < answers.count; i++)
        work->found->samples += answers.items[i].count;
    fth_answers_fini(&answers);
    free(scripts);
    if (status != FTH_OK)
        return status;
    if (right == 0)
        return fth_fail(error, FTH_INCONCLUSIVE, "find the replacement policy", NULL,
                        "the same loads miss every time, but not those of LRU, FIFO, LFU or a "
                        "tree of LRU bits: the "
                        "nearest, %s, foretells %zu of %zu loads wrongly",
                        policies[best], wrong[best], work->found->samples);
    if (right > 1)
        return fth_fail(error, FTH_INCONCLUSIVE, "find the replacement policy", NULL,
                        "more than one policy explains every load");
    work->found->policy = policies[best];
    work->found->confidence = (SCRIPTS + 1.0) / (SCRIPTS + 2.0);
    return FTH_OK;
}

/* ---- counting: random or weighted ---- */

/* What is known of the set while its series is followed. */
struct follow {
    uint32_t *way;     /* [ways + 1] of each line; UINT32_MAX: it is out */
    uint64_t *counts;  /* [ways] replacements */
    double *distances; /* loads from one miss to the next */
    size_t distance_count;
    struct fth_replay replay[FTH_MAX_REPLAY];
    size_t replay_count;
};

static void follow_fini(struct follow *follow)
{
    free(follow->way);
    free(follow->counts);
    free(follow->distances);
    *follow = (struct follow){0};
}

static enum fth_status follow_init(struct follow *follow, uint32_t ways, uint64_t hops,
                                   struct fth_error *error)
{
    *follow = (struct follow){.way = calloc((size_t)ways + 1, sizeof *follow->way),
                              .counts = calloc((size_t)ways + 1, sizeof *follow->counts),
                              .distances = calloc(hops + 1, sizeof *follow->distances)};
    if (follow->way && follow->counts && follow->distances)
        return FTH_OK;
    follow_fini(follow);
    return out_of_memory(error);
}

/* Follows one series from an empty set on: misses[hop] for passes over ways + 1 lines. */
static void follow_series(struct follow *follow, uint32_t ways, const bool *misses, uint64_t hops)
{
    for (uint32_t line = 0; line < ways; line++)
        follow->way[line] = line;
    follow->way[ways] = UINT32_MAX;
    /* The line that came last, where it went to is not known yet; it missed at hop `ways`. */
    uint32_t last = ways;
    uint64_t last_hop = ways;
    size_t last_replay = SIZE_MAX;
    bool record = follow->replay_count == 0;
    for (uint64_t hop = ways; hop < hops; hop++) {
        uint32_t line = (uint32_t)(hop % (ways + 1));
        bool miss = misses[hop] || hop == ways;
        if (miss && hop > ways) {
            /* It was thrown out for the last one. */
            uint32_t way = follow->way[line];
            if (way != UINT32_MAX) {
                follow->counts[way]++;
                follow->way[last] = way;
                if (last_replay < FTH_MAX_REPLAY)
                    follow->replay[last_replay].way = (int)way;
            }
            follow->way[line] = UINT32_MAX;
            follow->distances[follow->distance_count++] = (double)(hop - last_hop);
            last_hop = hop;
            last = line;
        }
        if (record && follow->replay_count < FTH_MAX_REPLAY) {
            last_replay = miss ? follow->replay_count : last_replay;
            follow->replay[follow->replay_count++] = (struct fth_replay){line, -1};
        } else if (miss) {
            last_replay = SIZE_MAX;
        }
    }
}

/* The same from a simulated set with those shares. */
static enum fth_status simulate(const struct work *work, const double *shares, uint64_t hops,
                                struct follow *follow, struct fth_error *error)
{
    const struct fth_cache_config config = {.line_bytes = 4,
                                            .sets = 1,
                                            .ways = work->ways,
                                            .policy = "weighted",
                                            .way_weights = shares,
                                            .way_weight_count = work->ways,
                                            .write = FTH_WRITE_EVICT,
                                            .seed = 1};
    struct fth_cache *cache = NULL;
    bool *misses = calloc(hops, sizeof *misses);
    enum fth_status status = misses ? FTH_OK : out_of_memory(error);
    if (status == FTH_OK)
        status = fth_cache_create(&config, &cache, error);
    for (uint64_t hop = 0; hop < hops && status == FTH_OK; hop++)
        misses[hop] = fth_cache_access(cache, 4 * (hop % (work->ways + 1)), 4, FTH_CACHE_READ,
                                       NULL) != FTH_CACHE_HIT;
    if (status == FTH_OK)
        follow_series(follow, work->ways, misses, hops);
    fth_cache_destroy(cache);
    free(misses);
    return status;
}

/* The chance that ways which are chosen alike differ so much: G-test, by Wilson and Hilferty's
 * approximation of the chi-squared distribution. */
double fth_evenness(const uint64_t *counts, size_t count, uint64_t total)
{
    double g = 0, expected = (double)total / (double)count, degrees = (double)count - 1;
    for (size_t i = 0; i < count; i++)
        g += counts[i] ? 2 * (double)counts[i] * log((double)counts[i] / expected) : 0;
    if (degrees < 1)
        return 1;
    double z = (cbrt(g / degrees) - (1 - 2 / (9 * degrees))) / sqrt(2 / (9 * degrees));
    return erfc(z / sqrt(2)) / 2;
}

/* Whether the distances between misses are those of a simulated choice with the same shares. */
static enum fth_status compare_distances(const struct work *work, const struct follow *seen,
                                         uint64_t hops, bool *alike, struct fth_error *error)
{
    struct follow made;
    struct fth_ks test = {.p = 0};
    double *shares = calloc((size_t)work->ways + 1, sizeof *shares);
    if (!shares)
        return out_of_memory(error);
    for (uint32_t way = 0; way < work->ways; way++)
        shares[way] = fmax((double)seen->counts[way], 0.5);
    enum fth_status status = follow_init(&made, work->ways, hops, error);
    if (status == FTH_OK) {
        status = simulate(work, shares, hops, &made, error);
        if (status == FTH_OK)
            status = fth_ks_test(seen->distances, seen->distance_count, made.distances,
                                 made.distance_count, &test, error);
        *alike = status == FTH_OK && test.p > surely_uneven;
        follow_fini(&made);
    }
    free(shares);
    return status;
}

static enum fth_status walk_long(struct work *work, uint64_t passes, size_t parts,
                                 struct follow *follow, struct fth_error *error)
{
    struct fth_request requests[MAX_PARTS];
    uint64_t count = (uint64_t)work->ways + 1;
    for (size_t i = 0; i < parts; i++) {
        requests[i] = make(work);
        fth_request_add(&requests[i], FTH_STEP_TIME_HOPS, work->plan->path,
                        lines_of(work, 0, count), passes);
    }
    struct fth_answers answers = {0};
    enum fth_status status = fth_ask(work->prober, requests, parts, &answers, error);
    bool *misses = calloc(passes * count, sizeof *misses);
    if (status == FTH_OK && !misses)
        status = out_of_memory(error);
    for (size_t i = 0; i < answers.count && status == FTH_OK; i++) {
        for (uint64_t hop = 0; hop < passes * count; hop++)
            misses[hop] = is_slow(work, answers.items[i].cycles[hop]);
        follow_series(follow, work->ways, misses, passes * count);
        work->found->samples += answers.items[i].count;
    }
    free(misses);
    fth_answers_fini(&answers);
    return status;
}

static enum fth_status count_ways(struct work *work, uint64_t misses_a_pass,
                                  struct fth_error *error)
{
    struct fth_replacement *found = work->found;
    uint64_t count = (uint64_t)work->ways + 1;
    uint64_t passes = MIN_REPLACED / (misses_a_pass ? misses_a_pass : 1) + 1;
    passes = passes * count > MAX_HOPS ? MAX_HOPS / count : passes;
    /* Each part needs to go on for long, as it begins with the ways in order. */
    size_t parts = passes / 64 < 1 ? 1 : passes / 64 > MAX_PARTS ? MAX_PARTS : passes / 64;
    passes = passes / parts + 1;
    struct follow follow;
    enum fth_status status = follow_init(&follow, work->ways, passes * count * parts, error);
    if (status != FTH_OK)
        return status;
    status = walk_long(work, passes, parts, &follow, error);
    uint64_t total = 0;
    for (uint32_t way = 0; way < work->ways; way++)
        total += follow.counts[way];
    bool alike = false;
    if (status == FTH_OK)
        status = compare_distances(work, &follow, passes * count * parts, &alike, error);
    double even = fth_evenness(follow.counts, work->ways, total);
    found->replaced = total;
    memcpy(found->replay, follow.replay, sizeof found->replay);
    found->replay_count = follow.replay_count;
    if (status == FTH_OK && !alike)
        status = fth_fail(error, FTH_INCONCLUSIVE, "find the replacement policy", NULL,
                          "it does not repeat itself, and is no choice among the ways by chance "
                          "alone");
    else if (status == FTH_OK && even > surely_uneven && even < perhaps_uneven)
        status = fth_fail(error, FTH_INCONCLUSIVE, "find the replacement policy", NULL,
                          "a choice by chance, but whether all ways are chosen alike %llu "
                          "replacements do not tell",
                          (unsigned long long)total);
    if (status == FTH_OK &&
        !(found->way_shares = calloc((size_t)work->ways + 1, sizeof *found->way_shares)))
        status = out_of_memory(error);
    for (uint32_t way = 0; way < work->ways && status == FTH_OK; way++)
        found->way_shares[way] = (double)follow.counts[way] / (double)total;
    if (status == FTH_OK) {
        found->policy = even <= surely_uneven ? "weighted" : "random";
        /* What the tests would have let pass. */
        found->confidence = 1 - (even <= surely_uneven ? surely_uneven : 0.01);
    }
    follow_fini(&follow);
    return status;
}

/* ---- both ---- */

/* A few passes over one line more than there are ways: does it repeat itself? */
static enum fth_status look(struct work *work, uint64_t *misses_a_pass, struct fth_error *error)
{
    uint64_t count = (uint64_t)work->ways + 1, misses = 0;
    struct fth_request request = make(work);
    fth_request_add(&request, FTH_STEP_TIME_HOPS, work->plan->path, lines_of(work, 0, count),
                    LOOK_PASSES);
    struct fth_answers answers = {0};
    enum fth_status status = fth_ask(work->prober, &request, 1, &answers, error);
    if (status != FTH_OK)
        return status;
    /* The second half of the passes, and those before it: they are the same where it repeats with
     * any number of passes up to half of them. */
    const uint32_t *cycles = answers.items[0].cycles;
    for (uint64_t hop = count; hop < LOOK_PASSES * count; hop++)
        misses += is_slow(work, cycles[hop]);
    work->found->periodic = false;
    for (uint64_t period = 1; period <= LOOK_PASSES / 3 && !work->found->periodic; period++) {
        bool same = true;
        for (uint64_t hop = (SETTLED + period) * count; hop < LOOK_PASSES * count; hop++)
            same =
                same && is_slow(work, cycles[hop]) == is_slow(work, cycles[hop - period * count]);
        work->found->periodic = same;
    }
    work->found->samples += answers.items[0].count;
    fth_answers_fini(&answers);
    *misses_a_pass = misses / (LOOK_PASSES - 1);
    return FTH_OK;
}

enum fth_status fth_probe_policy(const struct fth_prober *prober, const struct fth_cache_plan *plan,
                                 const struct fth_chain *one_set,
                                 struct fth_replacement *replacement, struct fth_error *error)
{
    *replacement = (struct fth_replacement){.ways = one_set->count, .confidence = NAN};
    struct work work = {.prober = prober,
                        .plan = plan,
                        .chain = *one_set,
                        .ways = (uint32_t)one_set->count,
                        .found = replacement};
    uint64_t misses = 0;
    if (work.ways < 2)
        return fth_fail(error, FTH_INCONCLUSIVE, "find the replacement policy", NULL,
                        "a set has one way: there is nothing to choose");
    enum fth_status status = look(&work, &misses, error);
    if (status != FTH_OK)
        return status;
    /* A tree may take long until it repeats itself; so this is tried first in any case. */
    struct fth_error fault = FTH_NO_ERROR;
    status = run_scripts(&work, 1, &fault);
    if (status == FTH_INCONCLUSIVE && replacement->periodic) { /* disturbed, perhaps */
        fault = FTH_NO_ERROR;
        status = run_scripts(&work, COPIES, &fault);
    }
    if (status == FTH_INCONCLUSIVE && !replacement->periodic && plan->alone)
        return fth_fail(error, FTH_INCONCLUSIVE, "find the replacement policy", NULL,
                        "it does not repeat itself, and is neither LRU, FIFO nor LFU; which ways "
                        "are chosen cannot be followed, as it is never empty");
    if (status == FTH_INCONCLUSIVE && !replacement->periodic)
        return count_ways(&work, misses, error);
    if (status != FTH_OK && error)
        *error = fault;
    return status;
}
