/* Finds the replacement policy of a cache from one set.
 *
 * The method follows Mei and Chu (2017, Sections 4.2 and 4.5, Fig. 11): walk a chain of one line
 * more than the set has ways, again and again. At any time, exactly one line is not resident, so
 * the line of each miss is the victim of the previous miss. The ways are filled in order at the
 * start, so the way of each victim is known, too.
 *
 *   - Deterministic policies (LRU, FIFO, LFU, tree PLRU): short access sequences, called scripts,
 *     fill the set, use some of its lines again, once or several times, and load one more line.
 *     They run on the device and, for each candidate, on a simulated set (cache/). A candidate must
 *     predict every hit and miss of all scripts.
 *   - Random policies: if no candidate predicts all of them, and the sequence of misses is not
 *     periodic, the probe counts how often each way is replaced. If the counts are uniform
 *     (G-test), the policy is `random`, otherwise `weighted`. To check that a victim depends on
 *     nothing but these frequencies, the probe simulates a set that chooses its victims at random
 *     with the same frequencies. The distances between misses must have the same distribution in
 *     both (Kolmogorov-Smirnov test).
 *   - Clock: the same long walk shows it if every victim is one of the lines that arrived first,
 * but seldom the least recently used one (choice.c).
 *   - Otherwise the policy is unknown. */
#include "probe/structure/probe_structure.h"

#include "cache/cache.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char operation[] = "find the replacement policy";

/* ---- periods ---- */

enum {
    OBSERVED_PASSES = 16, /* passes over ways + 1 lines in which a period is sought. Chosen. */
    SETTLING_PASSES = 4,  /* the first passes, which are ignored in this search. Chosen. */
    MAX_PERIOD = OBSERVED_PASSES / 3 /* passes; a longer period would be seen at most twice */
};

/* ---- scripts ---- */

enum {
    SCRIPTS = 24,     /* two fixed and 22 random ones. Chosen. */
    COPIES = 3,       /* runs of each script if there may be disturbances; see take_medians */
    RANDOM_STEPS = 3, /* reuses in a random script, before the additional line. Chosen. */
    MAX_REUSES = 3,   /* maximum passes of each of them. Chosen. */
    TIMED_PASSES = 2, /* of the last step */
    LINE_BYTES = 4    /* line of the simulated set; its size does not matter */
};

/* ---- counting ---- */

enum {
    TARGET_REPLACED = 12000, /* replacements to count: with this number, a fraction of 1/2 has a
                                standard deviation of 0.005. Fewer are counted if this would take
                                more than MAX_HOPS loads. */
    MAX_HOPS = 250000,       /* approximate maximum number of loads. Chosen to limit the time. */
    MAX_PARTS = 16, /* maximum number of requests that the counting is divided into, each on its
                       own SM. Chosen. */
    MIN_PART_PASSES = 64 /* minimum number of passes per part, if there are several. Chosen. */
};
/* Limits of the p-value of the G-test. At or below the first, the ways are not chosen with equal
 * probability; at or above the second, they are; in between, the test is inconclusive. The first is
 * also the limit of the Kolmogorov-Smirnov test. Chosen, not derived. */
static const double max_p_uneven = 1e-5, min_p_even = 1e-3;
/* Weight of a way that was never replaced, in replacements. A weight must be positive. */
static const double min_weight = 0.5;

static enum fth_status out_of_memory(struct fth_error *error)
{
    return fth_no_memory(error, operation, NULL);
}

void fth_replacement_fini(struct fth_replacement *replacement)
{
    free(replacement->way_shares);
    *replacement = (struct fth_replacement){0};
}

/* The state of one call of fth_probe_policy. */
struct policy_work {
    const struct fth_prober *prober;
    const struct fth_cache_plan *plan;
    struct fth_chain chain; /* lines of one set, as many as it has ways */
    uint32_t ways;
    struct fth_replacement *found;
    struct fth_choices choices; /* victims of the long walk */
};

/* Returns a chain of `count` lines of the set from index `first` on. The indices may exceed the
 * ways: the lines that follow the chain are in the same set. */
static struct fth_chain set_lines(const struct policy_work *work, uint64_t first, uint64_t count)
{
    struct fth_chain chain = work->chain;
    chain.start_bytes += first * chain.stride_bytes;
    chain.count = count;
    return chain;
}

static struct fth_request make_request(const struct policy_work *work)
{
    struct fth_request request = fth_request_make(work->plan->carveout_percent);
    request.alone = work->plan->alone;
    return request;
}

static bool is_slow(const struct policy_work *work, uint32_t cycles)
{
    return cycles > work->plan->threshold_cycles;
}

/* ---- scripts: LRU, FIFO, LFU or tree PLRU ---- */

/* Makes script `number`: fill the set, use some of its lines again, once or several times, load one
 * more line, and find by timing which lines are resident. The scripts 0 and 1 distinguish LRU, FIFO
 * and LFU. The others are random, and also use some lines again after the additional line. */
static struct fth_request make_script(const struct policy_work *work, unsigned number)
{
    struct fth_request request = make_request(work);
    const enum fth_path path = work->plan->path;
    uint64_t ways = work->ways, half = (ways + 1) / 2;
    struct fth_rng rng;
    fth_rng_init(&rng, number);
    /* This step is timed, too, so that the instruction cache holds the timing code at the last
     * step. */
    fth_request_add(&request, FTH_STEP_TIME_HOPS, path, set_lines(work, 0, ways), 1);
    if (number == 0) { /* FIFO evicts the first line, LRU and LFU the first that was not reused */
        fth_request_add(&request, FTH_STEP_WALK, path, set_lines(work, 0, half), 1);
    } else if (number == 1) { /* the first half is used often, the second half most recently */
        fth_request_add(&request, FTH_STEP_WALK, path, set_lines(work, 0, half), MAX_REUSES);
        if (half < ways)
            fth_request_add(&request, FTH_STEP_WALK, path, set_lines(work, half, ways - half), 1);
    } else {
        for (int i = 0; i < RANDOM_STEPS; i++) {
            uint64_t first = fth_rng_below(&rng, ways);
            uint64_t count = 1 + fth_rng_below(&rng, ways - first);
            fth_request_add(&request, FTH_STEP_WALK, path, set_lines(work, first, count),
                            1 + fth_rng_below(&rng, MAX_REUSES));
        }
    }
    fth_request_add(&request, FTH_STEP_WALK, path, set_lines(work, ways, 1), 1);
    if (number > 1) {
        uint64_t first = fth_rng_below(&rng, ways);
        fth_request_add(&request, FTH_STEP_WALK, path,
                        set_lines(work, first, 1 + fth_rng_below(&rng, ways - first)), 1);
    }
    fth_request_add(&request, FTH_STEP_TIME_HOPS, path, set_lines(work, 0, ways + 1), TIMED_PASSES);
    return request;
}

/* Adds to *wrong the number of timed loads of a script for which the simulated policy predicts a
 * hit and the device missed, or vice versa. */
static enum fth_status count_wrong(const struct policy_work *work, const char *policy,
                                   const struct fth_request *script,
                                   const struct fth_samples *samples, size_t *wrong,
                                   struct fth_error *error)
{
    const struct fth_cache_config config = {.line_bytes = LINE_BYTES,
                                            .sets = 1,
                                            .ways = work->ways,
                                            .policy = policy,
                                            .write = FTH_WRITE_EVICT};
    struct fth_cache *cache = NULL;
    enum fth_status status = fth_cache_create(&config, &cache, error);
    size_t sample = 0;
    for (size_t i = 0; i < script->chase.step_count && status == FTH_OK; i++) {
        const struct fth_step *step = &script->chase.steps[i];
        uint64_t first =
            (step->chain.start_bytes - work->chain.start_bytes) / work->chain.stride_bytes;
        for (uint64_t hop = 0; hop < step->passes * step->chain.count; hop++) {
            uint64_t line = first + hop % step->chain.count;
            bool hit = fth_cache_access(cache, LINE_BYTES * line, LINE_BYTES, FTH_CACHE_READ,
                                        NULL) == FTH_CACHE_HIT;
            if (step->kind != FTH_STEP_TIME_HOPS)
                continue;
            /* Ignore the first hop of a step: its time includes the fetch of instructions. */
            *wrong += hop > 0 && hit == is_slow(work, samples->cycles[sample]);
            sample++;
        }
    }
    fth_cache_destroy(cache);
    return status;
}

/* Replaces each sample of `a` by the median of the three runs, which removes single disturbances.
 */
static void take_medians(struct fth_samples *a, const struct fth_samples *b,
                         const struct fth_samples *c)
{
    for (size_t i = 0; i < a->count; i++) {
        uint32_t x = a->cycles[i], y = b->cycles[i], z = c->cycles[i];
        uint32_t low = x < y ? x : y, high = x < y ? y : x;
        a->cycles[i] = z < low ? low : z > high ? high : z;
    }
}

/* Runs all scripts and selects the one policy that predicts every load. `copies`: runs of each
 * script, 1 or COPIES. Fails with FTH_INCONCLUSIVE if no policy or more than one predicts all. */
static enum fth_status run_scripts(struct policy_work *work, unsigned copies,
                                   struct fth_error *error)
{
    /* "plru" must be the last: it is left out for some numbers of ways. */
    static const char *const policies[] = {"lru", "fifo", "lfu", "plru"};
    struct fth_request *scripts = calloc((size_t)copies * SCRIPTS, sizeof *scripts);
    struct fth_answers answers = {0};
    if (!scripts)
        return out_of_memory(error);
    for (unsigned i = 0; i < copies * SCRIPTS; i++)
        scripts[i] = make_script(work, i % SCRIPTS);
    enum fth_status status =
        fth_ask(work->prober, scripts, (size_t)copies * SCRIPTS, &answers, error);
    for (size_t i = 0; i < SCRIPTS && copies == COPIES && status == FTH_OK; i++)
        take_medians(&answers.items[i], &answers.items[i + SCRIPTS],
                     &answers.items[i + (size_t)2 * SCRIPTS]);
    size_t perfect = 0, best = 0, wrong[FTH_COUNT(policies)] = {0};
    /* Tree PLRU with two ways is LRU, and it exists for powers of two only. */
    bool tree = work->ways > 2 && (work->ways & (work->ways - 1)) == 0;
    for (size_t p = 0; p < FTH_COUNT(policies) - !tree && status == FTH_OK; p++) {
        for (size_t i = 0; i < SCRIPTS && status == FTH_OK; i++)
            status =
                count_wrong(work, policies[p], &scripts[i], &answers.items[i], &wrong[p], error);
        perfect += wrong[p] == 0;
        best = wrong[p] < wrong[best] ? p : best;
    }
    for (size_t i = 0; i < answers.count; i++)
        work->found->samples += answers.items[i].count;
    fth_answers_fini(&answers);
    free(scripts);
    if (status != FTH_OK)
        return status;
    if (perfect == 0)
        return fth_fail(
            error, FTH_INCONCLUSIVE, operation, NULL,
            "the same loads miss every time, but no known policy predicts all of them: "
            "the closest, %s, is wrong for %zu loads; %zu were timed in all, including repeats",
            policies[best], wrong[best], work->found->samples);
    if (perfect > 1)
        return fth_fail(error, FTH_INCONCLUSIVE, operation, NULL,
                        "more than one policy predicts every load");
    work->found->policy = policies[best];
    /* Laplace's rule (docs/methods.md): all SCRIPTS scripts agree. */
    work->found->evidence = (struct fth_evidence){.repeats = SCRIPTS, .agree = SCRIPTS};
    return FTH_OK;
}

/* ---- counting: random or weighted ---- */

/* The contents of the set and its statistics while its hits and misses are tracked. */
struct tracked_set {
    uint32_t *way;     /* [ways + 1] way of each line; UINT32_MAX: not resident or not known yet */
    uint64_t *counts;  /* [ways] replacements per way */
    double *distances; /* [distance_count] loads from one miss to the next */
    size_t distance_count;
    /* The first loads of the first series after the fill of the set, so that a report can show them
     * one by one. A miss has the way that its line was filled into, a hit has -1. */
    struct fth_replay replay[FTH_MAX_REPLAY];
    size_t replay_count;
};

static void tracked_set_fini(struct tracked_set *tracked_set)
{
    free(tracked_set->way);
    free(tracked_set->counts);
    free(tracked_set->distances);
    *tracked_set = (struct tracked_set){0};
}

static enum fth_status tracked_set_init(struct tracked_set *tracked_set, uint32_t ways,
                                        uint64_t hops, struct fth_error *error)
{
    *tracked_set =
        (struct tracked_set){.way = calloc((size_t)ways + 1, sizeof *tracked_set->way),
                             .counts = calloc((size_t)ways + 1, sizeof *tracked_set->counts),
                             .distances = calloc(hops + 1, sizeof *tracked_set->distances)};
    if (tracked_set->way && tracked_set->counts && tracked_set->distances)
        return FTH_OK;
    tracked_set_fini(tracked_set);
    return out_of_memory(error);
}

/* Tracks one series: the hops of one request or simulation, which passes over ways + 1 lines and
 * starts with an empty set. misses[hop] says whether this hop missed. */
static void track_series(struct tracked_set *tracked_set, uint32_t ways, const bool *misses,
                         uint64_t hops)
{
    for (uint32_t line = 0; line < ways; line++)
        tracked_set->way[line] = line;
    tracked_set->way[ways] = UINT32_MAX;
    /* The line of the last miss, which was at hop `ways`. Its way is not known until the next miss
     * shows which line the last miss evicted. */
    uint32_t last = ways;
    uint64_t last_hop = ways;
    /* The index of the last miss in `replay`; SIZE_MAX: it is not there. */
    size_t last_replay = SIZE_MAX;
    bool record = tracked_set->replay_count == 0;
    for (uint64_t hop = ways; hop < hops; hop++) {
        uint32_t line = (uint32_t)(hop % (ways + 1));
        bool miss = misses[hop] || hop == ways;
        if (miss && hop > ways) {
            /* The line of the last miss evicted this line, and now occupies the way it had. */
            uint32_t way = tracked_set->way[line];
            /* UINT32_MAX: the line of the last miss misses again, which is a disturbance. */
            if (way != UINT32_MAX) {
                tracked_set->counts[way]++;
                tracked_set->way[last] = way;
                if (last_replay < FTH_MAX_REPLAY)
                    tracked_set->replay[last_replay].way = (int)way;
            }
            tracked_set->way[line] = UINT32_MAX;
            tracked_set->distances[tracked_set->distance_count++] = (double)(hop - last_hop);
            last_hop = hop;
            last = line;
        }
        if (record && tracked_set->replay_count < FTH_MAX_REPLAY) {
            last_replay = miss ? tracked_set->replay_count : last_replay;
            /* -1: a hit, or a miss whose way is filled in at the next miss. */
            tracked_set->replay[tracked_set->replay_count++] = (struct fth_replay){line, -1};
        } else if (miss) {
            last_replay = SIZE_MAX;
        }
    }
}

/* Tracks a simulated set that chooses victims at random, with the given weights per way. */
static enum fth_status track_simulated(const struct policy_work *work, const double *weights,
                                       uint64_t hops, struct tracked_set *tracked_set,
                                       struct fth_error *error)
{
    const struct fth_cache_config config = {.line_bytes = LINE_BYTES,
                                            .sets = 1,
                                            .ways = work->ways,
                                            .policy = "weighted",
                                            .way_weights = weights,
                                            .way_weight_count = work->ways,
                                            .write = FTH_WRITE_EVICT,
                                            .seed = 1};
    struct fth_cache *cache = NULL;
    bool *misses = calloc(hops, sizeof *misses);
    enum fth_status status = misses ? FTH_OK : out_of_memory(error);
    if (status == FTH_OK)
        status = fth_cache_create(&config, &cache, error);
    for (uint64_t hop = 0; hop < hops && status == FTH_OK; hop++)
        misses[hop] = fth_cache_access(cache, LINE_BYTES * (hop % (work->ways + 1)), LINE_BYTES,
                                       FTH_CACHE_READ, NULL) != FTH_CACHE_HIT;
    if (status == FTH_OK)
        track_series(tracked_set, work->ways, misses, hops);
    fth_cache_destroy(cache);
    free(misses);
    return status;
}

/* Sets *consistent to whether the distances between misses have the same distribution as those of a
 * simulated set that chooses its victims at random with the same weights. */
static enum fth_status compare_distances(const struct policy_work *work,
                                         const struct tracked_set *seen, uint64_t hops,
                                         bool *consistent, struct fth_error *error)
{
    struct tracked_set simulated;
    struct fth_ks test = {.p = 0};
    double *weights = calloc((size_t)work->ways + 1, sizeof *weights);
    if (!weights)
        return out_of_memory(error);
    for (uint32_t way = 0; way < work->ways; way++)
        weights[way] = fmax((double)seen->counts[way], min_weight);
    enum fth_status status = tracked_set_init(&simulated, work->ways, hops, error);
    if (status != FTH_OK)
        goto out;
    status = track_simulated(work, weights, hops, &simulated, error);
    if (status == FTH_OK)
        status = fth_ks_test(seen->distances, seen->distance_count, simulated.distances,
                             simulated.distance_count, &test, error);
    *consistent = test.p > max_p_uneven;
    tracked_set_fini(&simulated);
out:
    free(weights);
    return status;
}

/* Adds the misses of one request of the long walk to work->choices. The first pass fills the set.
 */
static enum fth_status add_choices(struct policy_work *work, const bool *misses, uint64_t hops,
                                   struct fth_error *error)
{
    const uint64_t count = (uint64_t)work->ways + 1;
    uint32_t *missed = calloc(hops, sizeof *missed);
    size_t used = 0;
    if (!missed)
        return out_of_memory(error);
    for (uint64_t hop = count; hop < hops; hop++)
        if (misses[hop])
            missed[used++] = (uint32_t)(hop % count);
    enum fth_status status = fth_choices_add(&work->choices, work->ways, missed, used, error);
    free(missed);
    return status;
}

/* Walks ways + 1 lines in `parts` requests of `passes` passes each, and tracks all of them. */
static enum fth_status track_long_walk(struct policy_work *work, uint64_t passes, size_t parts,
                                       struct tracked_set *tracked_set, struct fth_error *error)
{
    struct fth_request requests[MAX_PARTS];
    uint64_t count = (uint64_t)work->ways + 1;
    for (size_t i = 0; i < parts; i++) {
        requests[i] = make_request(work);
        fth_request_add(&requests[i], FTH_STEP_TIME_HOPS, work->plan->path,
                        set_lines(work, 0, count), passes);
    }
    struct fth_answers answers = {0};
    enum fth_status status = fth_ask(work->prober, requests, parts, &answers, error);
    bool *misses = calloc(passes * count, sizeof *misses);
    if (status == FTH_OK && !misses)
        status = out_of_memory(error);
    for (size_t i = 0; i < answers.count && status == FTH_OK; i++) {
        for (uint64_t hop = 0; hop < passes * count; hop++)
            misses[hop] = is_slow(work, answers.items[i].cycles[hop]);
        track_series(tracked_set, work->ways, misses, passes * count);
        status = add_choices(work, misses, passes * count, error);
        work->found->samples += answers.items[i].count;
    }
    free(misses);
    fth_answers_fini(&answers);
    return status;
}

/* How a long walk is divided: `parts` requests of `passes` passes each. */
struct division {
    uint64_t passes;
    size_t parts;
};

/* Each part starts with the ways filled in order. It needs many passes, so that this start has
 * little influence on the counts. */
static struct division divide_walk(uint64_t count, uint64_t misses_per_pass)
{
    uint64_t passes = TARGET_REPLACED / (misses_per_pass ? misses_per_pass : 1) + 1;
    passes = passes * count > MAX_HOPS ? MAX_HOPS / count : passes;
    size_t parts = FTH_MIN(passes / MIN_PART_PASSES, MAX_PARTS);
    parts = parts ? parts : 1;
    return (struct division){.passes = passes / parts + 1, .parts = parts};
}

/* Decides between `random` and `weighted`, from `total` replacements. The evidence is the
 * number of replacements per way: a way that is preferred stands out in each of them. */
static enum fth_status decide_weights(struct policy_work *work,
                                      const struct tracked_set *tracked_set, uint64_t total,
                                      struct fth_error *error)
{
    struct fth_replacement *found = work->found;
    const double p_uniform = fth_uniform_p_value(tracked_set->counts, work->ways, total);
    const bool weighted = p_uniform <= max_p_uneven;
    if (!weighted && p_uniform < min_p_even)
        return fth_fail(error, FTH_INCONCLUSIVE, operation, NULL,
                        "the choice is random, but %llu replacements do not show whether all ways "
                        "are equally likely",
                        (unsigned long long)total);
    found->way_shares = calloc((size_t)work->ways + 1, sizeof *found->way_shares);
    if (!found->way_shares)
        return out_of_memory(error);
    for (uint32_t way = 0; way < work->ways; way++)
        found->way_shares[way] = (double)tracked_set->counts[way] / (double)total;
    found->policy = weighted ? "weighted" : "random";
    const double per_way = floor((double)total / (double)work->ways);
    found->evidence = (struct fth_evidence){.repeats = per_way, .agree = per_way};
    return FTH_OK;
}

/* Decides for `clock`. The evidence is the number of replacements per line: the revolutions of the
 * hand. */
static enum fth_status decide_clock(struct policy_work *work)
{
    const double turns = floor((double)work->choices.replaced / (double)(work->ways + 1));
    work->found->policy = "clock";
    work->found->evidence = (struct fth_evidence){.repeats = turns, .agree = turns};
    return FTH_OK;
}

/* Counts the replacements per way in a long walk, and finds out whether they are random. */
static enum fth_status count_replacements(struct policy_work *work, uint64_t misses_per_pass,
                                          struct fth_error *error)
{
    struct fth_replacement *found = work->found;
    const uint64_t count = (uint64_t)work->ways + 1;
    const struct division division = divide_walk(count, misses_per_pass);
    const uint64_t hops = division.passes * count * division.parts;
    struct tracked_set tracked_set;
    bool consistent = false;
    FTH_TRY(tracked_set_init(&tracked_set, work->ways, hops, error));
    enum fth_status status =
        track_long_walk(work, division.passes, division.parts, &tracked_set, error);
    const bool clock = status == FTH_OK && fth_choices_show_clock(&work->choices);
    if (status == FTH_OK && !clock)
        status = compare_distances(work, &tracked_set, hops, &consistent, error);
    if (status != FTH_OK)
        goto out;
    for (uint32_t way = 0; way < work->ways; way++)
        found->replaced += tracked_set.counts[way];
    memcpy(found->replay, tracked_set.replay, sizeof found->replay);
    found->replay_count = tracked_set.replay_count;
    if (clock)
        status = decide_clock(work);
    else if (consistent)
        status = decide_weights(work, &tracked_set, found->replaced, error);
    else
        status = fth_fail(error, FTH_INCONCLUSIVE, operation, NULL,
                          "the misses do not repeat, but they are not those of a random choice of "
                          "ways either");
out:
    fth_choices_fini(&work->choices);
    tracked_set_fini(&tracked_set);
    return status;
}

/* ---- the probe ---- */

/* Times OBSERVED_PASSES passes over ways + 1 lines. Fills in `periodic` and the mean number of
 * misses per pass. */
static enum fth_status observe_overflow(struct policy_work *work, uint64_t *misses_per_pass,
                                        struct fth_error *error)
{
    uint64_t count = (uint64_t)work->ways + 1, misses = 0;
    struct fth_request request = make_request(work);
    fth_request_add(&request, FTH_STEP_TIME_HOPS, work->plan->path, set_lines(work, 0, count),
                    OBSERVED_PASSES);
    struct fth_answers answers = {0};
    FTH_TRY(fth_ask(work->prober, &request, 1, &answers, error));
    const uint32_t *cycles = answers.items[0].cycles;
    for (uint64_t hop = count; hop < OBSERVED_PASSES * count; hop++)
        misses += is_slow(work, cycles[hop]);
    /* The hits and misses are periodic if, after the first passes, each pass equals the one
     * `period` passes before. */
    work->found->periodic = false;
    for (uint64_t period = 1; period <= MAX_PERIOD && !work->found->periodic; period++) {
        bool same = true;
        for (uint64_t hop = (SETTLING_PASSES + period) * count; hop < OBSERVED_PASSES * count;
             hop++)
            same =
                same && is_slow(work, cycles[hop]) == is_slow(work, cycles[hop - period * count]);
        work->found->periodic = same;
    }
    work->found->samples += answers.items[0].count;
    fth_answers_fini(&answers);
    *misses_per_pass = misses / (OBSERVED_PASSES - 1);
    return FTH_OK;
}

enum fth_status fth_probe_policy(const struct fth_prober *prober, const struct fth_cache_plan *plan,
                                 const struct fth_chain *one_set,
                                 struct fth_replacement *replacement, struct fth_error *error)
{
    *replacement = (struct fth_replacement){.ways = one_set->count};
    struct policy_work work = {.prober = prober,
                               .plan = plan,
                               .chain = *one_set,
                               .ways = (uint32_t)one_set->count,
                               .found = replacement};
    uint64_t misses = 0;
    if (work.ways < 2)
        return fth_fail(error, FTH_INCONCLUSIVE, operation, NULL,
                        "a set has only one way, so there is no victim to choose");
    FTH_TRY(observe_overflow(&work, &misses, error));
    /* Tree PLRU can take many passes to become periodic, so run the scripts in any case. */
    struct fth_error fault = FTH_NO_ERROR;
    enum fth_status status = run_scripts(&work, 1, &fault);
    if (status == FTH_INCONCLUSIVE &&
        replacement->periodic) { /* there may have been disturbances */
        fault = FTH_NO_ERROR;
        status = run_scripts(&work, COPIES, &fault);
    }
    /* plan->alone is true if all SMs share the cache (an L2). Such a cache is never empty, so the
     * ways are not filled in order and the way of a line is not known. */
    if (status == FTH_INCONCLUSIVE && !replacement->periodic && plan->alone)
        return fth_fail(
            error, FTH_INCONCLUSIVE, operation, NULL,
            "the misses do not repeat and are not those of LRU, FIFO, LFU or tree PLRU; ways "
            "cannot be tracked because this cache is never empty");
    if (status == FTH_INCONCLUSIVE && !replacement->periodic)
        return count_replacements(&work, misses, error);
    return status == FTH_OK ? FTH_OK : fth_error_move(error, &fault);
}
