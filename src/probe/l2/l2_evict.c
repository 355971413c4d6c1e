/* Sets, ways and replacement policy of an L2 whose index function is not known, from eviction sets.
 *
 * An eviction set is a set of lines whose reads evict a target line. The device finds minimal ones
 * by group testing in a random pool of lines (kernels/evict.ptx; Vila, Köpf and Morales, "Theory
 * and Practice of Finding Eviction Sets", IEEE S&P 2019). The lines and their target then belong to
 * one cache set, and a set that is minimal for LRU or FIFO has as many lines as the cache set has
 * ways.
 *
 *   - Ways: of a minimal set and its target, w + 1 lines, all w that remain without one of them
 * stay in the cache, whichever that is, and all w + 1 do not. No line of another cache set passes
 *     this test. Several targets must give the same w.
 *   - Policy: short sequences of reads, called scripts, run on the device and, for each candidate,
 * on a simulated set (cache/). A candidate must predict every hit and miss.
 *   - Sets: the lines of a partition divided by the ways. As a check of the size, as many random
 *     lines as a partition holds must evict the fraction of targets that random sets of this number
 *     imply.
 *
 * The L2 of an SM is its near partition, which also holds copies of lines whose home is another
 * one. A read that is slower than a hit there counts as a miss. */
#include "probe/l2/probe_l2.h"

#include "cache/cache.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char operation[] = "find eviction sets";

enum {
    MAX_TARGETS = 10, /* targets that are tried. Chosen. */
    MIN_AGREEING = 4, /* eviction sets that must agree. Chosen. */
    REPEATS = 3,      /* trials that must evict the target. Chosen. */
    MAX_TESTS = 3000, /* tests of a search. On an H200, about 730 suffice. */
    /* The same, and passes over the pool in a trial, for other policies than LRU. With FIFO, a set
     * may keep the target longer than lines that are read after it. Chosen. */
    PATIENT_TESTS = 1500,
    PATIENT_PASSES = 6,
    FEW_TARGETS = 1,  /* targets without a set after which searches become patient. Chosen. */
    MAX_FAILURES = 3, /* targets without a set after which the probe gives up. Chosen. */
    FIT_PASSES = 6,   /* passes over the lines before they are timed. Chosen. */
    FIT_COPIES = 4,   /* runs of such a script; the one with the fewest misses counts. Chosen. */
    SCRIPTS = 8,      /* scripts for the policy. Chosen. */
    COPIES = 3,       /* runs of each of them; medians are compared. Chosen. */
    MAX_REUSES = 6,   /* maximum reads of lines that are already in the set. Chosen. */
    CHECKS = 4,     /* scripts for the fraction of evicted targets, each with 64 of them. Chosen. */
    MIN_LINES = 16, /* lines of a partition below which there is nothing to find. Chosen. */
    POLICY_LINE = 4 /* bytes of a line of the simulated set; the size does not matter */
};
/* The pool has twice, and a flush three times as many lines as a partition: a random pool of this
 * size misses few sets, and a flush leaves nothing in nearly all of them. Chosen. */
enum { POOL_FACTOR = 2, FLUSH_FACTOR = 3 };
/* Maximum deviation of the fraction of evicted targets, in standard deviations, and in addition
 * absolutely, because real hashes are not perfectly even. Chosen. */
static const double max_deviations = 4, max_unevenness = 0.03;

struct study {
    const struct fth_prober *prober;
    const struct fth_evict_plan *plan;
    struct fth_eviction_sets *found;
    uint32_t capacity; /* lines of a partition */
    uint32_t lines;    /* lines of the array */
    uint32_t seed;
    bool patient;           /* whether searches use more passes */
    uint32_t check_targets; /* per script of measure_evicted: few of the lines of a partition */
    uint32_t count;         /* lines in `numbers` */
    uint32_t numbers[FTH_EVICT_MAX_MEMBERS + 1]; /* an eviction set, its target at the end */
};

static struct fth_request make_request(const struct study *study, enum fth_evict_kind kind)
{
    struct fth_request request = fth_request_make(-1);
    request.family = FTH_FAMILY_EVICT;
    request.evict = (struct fth_evict){.kind = kind,
                                       .lines = study->lines,
                                       .line_bytes = (uint32_t)study->plan->line_bytes,
                                       .seed = study->seed,
                                       .warm_bytes = (uint32_t)study->plan->warm_bytes};
    return request;
}

static bool is_miss(const struct study *study, uint32_t cycles)
{
    return cycles > study->plan->threshold_cycles;
}

/* ---- eviction sets ---- */

/* Searches a minimal eviction set of a target. On success, study->numbers has it. */
static enum fth_status search(struct study *study, uint32_t target, bool *found,
                              struct fth_error *error)
{
    struct fth_request request = make_request(study, FTH_EVICT_SEARCH);
    struct fth_answers answers = {0};
    request.evict.pool = POOL_FACTOR * study->capacity;
    request.evict.target = target;
    request.evict.threshold_cycles = (uint32_t)study->plan->threshold_cycles;
    request.evict.repeats = REPEATS;
    request.evict.passes = study->patient ? PATIENT_PASSES : 1;
    request.evict.max_tests = study->patient ? PATIENT_TESTS : MAX_TESTS;
    FTH_TRY(fth_ask(study->prober, &request, 1, &answers, error));
    const uint32_t *samples = answers.items[0].cycles, size = samples[1];
    study->found->samples += answers.items[0].count;
    study->found->searched++;
    study->found->kept += samples[0] == FTH_EVICT_KEPT;
    *found = samples[0] == FTH_EVICT_FOUND && size > 0 && size <= FTH_EVICT_MAX_MEMBERS;
    for (uint32_t i = 0; *found && i < size; i++)
        study->numbers[i] = samples[5 + i];
    if (*found) {
        study->numbers[size] = samples[4];
        study->count = size + 1;
    }
    fth_answers_fini(&answers);
    return FTH_OK;
}

/* Makes a script that reads all lines but one in turn, and then times them. `left_out` beyond the
 * last line: no line is left out. */
static struct fth_request make_fit_script(const struct study *study, uint32_t left_out)
{
    struct fth_request request = make_request(study, FTH_EVICT_SCRIPT);
    struct fth_evict *evict = &request.evict;
    for (uint32_t i = 0; i < study->count; i++)
        if (i != left_out) {
            evict->numbers[evict->number_count] = study->numbers[i];
            evict->reads[evict->number_count] = evict->times[evict->number_count] =
                (uint8_t)evict->number_count;
            evict->number_count++;
        }
    evict->read_count = evict->time_count = evict->number_count;
    evict->passes = FIT_PASSES;
    return request;
}

/* Decides whether the lines of a script stay in the cache: in one of its copies, no read missed. If
 * the lines do not fit, each copy misses at least once. */
static bool decide_fit(const struct study *study, const struct fth_samples *copies)
{
    for (size_t i = 0; i < FIT_COPIES; i++) {
        size_t misses = 0;
        for (size_t j = 0; j < copies[i].count; j++)
            misses += is_miss(study, copies[i].cycles[j]);
        study->found->samples += copies[i].count;
        if (misses == 0)
            return true;
    }
    return false;
}

/* Verifies that the lines of an eviction set and its target belong to one cache set with as many
 * ways as the eviction set has lines. */
static enum fth_status verify(const struct study *study, bool *verified, struct fth_error *error)
{
    const size_t scripts = study->count + 1;
    struct fth_request *requests = calloc(scripts * FIT_COPIES, sizeof *requests);
    struct fth_answers answers = {0};
    if (!requests)
        return fth_no_memory(error, operation, NULL);
    for (size_t i = 0; i < scripts * FIT_COPIES; i++)
        requests[i] = make_fit_script(study, (uint32_t)(i / FIT_COPIES));
    enum fth_status status =
        fth_ask(study->prober, requests, scripts * FIT_COPIES, &answers, error);
    *verified = status == FTH_OK;
    for (size_t i = 0; i < scripts && status == FTH_OK; i++)
        *verified =
            decide_fit(study, &answers.items[i * FIT_COPIES]) == (i < study->count) && *verified;
    fth_answers_fini(&answers);
    free(requests);
    return status;
}

/* Searches and verifies eviction sets until enough agree. study->numbers has the last one. */
static enum fth_status find_ways(struct study *study, struct fth_error *error)
{
    struct fth_eviction_sets *found = study->found;
    uint32_t sizes[MAX_TARGETS], last[FTH_EVICT_MAX_MEMBERS + 1];
    size_t sets = 0;
    for (uint32_t i = 0; i < MAX_TARGETS && found->agreed < MIN_AGREEING && i < sets + MAX_FAILURES;
         i++) {
        bool good = false;
        study->patient = study->patient || (sets == 0 && i >= FEW_TARGETS);
        FTH_TRY(search(study, i, &good, error));
        if (good)
            FTH_TRY(verify(study, &good, error));
        if (!good)
            continue;
        memcpy(last, study->numbers, sizeof last);
        sizes[sets++] = study->count - 1;
        found->agreed = 0;
        for (size_t j = 0; j < sets; j++)
            found->agreed += sizes[j] == sizes[sets - 1];
        found->ways = sizes[sets - 1];
    }
    found->verified = sets;
    if (found->agreed < sets)
        return fth_fail(error, FTH_INCONCLUSIVE, operation, NULL,
                        "only %zu of %zu targets have eviction sets of %zu lines", found->agreed,
                        sets, (size_t)found->ways);
    if (2 * found->kept > found->searched)
        return fth_fail(error, FTH_INCONCLUSIVE, operation, NULL,
                        "reads of twice as many lines as a partition holds evict only %zu of %zu "
                        "targets",
                        found->searched - found->kept, found->searched);
    if (sets < MIN_AGREEING)
        return fth_fail(error, FTH_INCONCLUSIVE, operation, NULL,
                        "only %zu of %zu targets have a stable minimal eviction set, as with a "
                        "random policy",
                        sets, found->searched);
    study->count = (uint32_t)found->ways + 1;
    memcpy(study->numbers, last, sizeof last);
    found->evidence = (struct fth_evidence){.repeats = (double)sets, .agree = (double)sets};
    return FTH_OK;
}

/* ---- policy ---- */

/* Makes a script: fill the set in a random order, read some of its lines again, read the line that
 * did not fit, and time all lines in a random order. The first script reads only the oldest line
 * again, which separates LRU from FIFO. */
static struct fth_request make_policy_script(const struct study *study, uint32_t index,
                                             struct fth_rng *rng)
{
    struct fth_request request = make_request(study, FTH_EVICT_SCRIPT);
    struct fth_evict *evict = &request.evict;
    const uint32_t lines = study->count, ways = lines - 1;
    evict->flush = FLUSH_FACTOR * study->capacity;
    evict->passes = 1;
    evict->number_count = evict->time_count = lines;
    for (uint32_t i = 0; i < lines; i++) {
        evict->numbers[i] = study->numbers[i];
        evict->times[i] = (uint8_t)i;
    }
    for (uint32_t i = 0; i < ways; i++)
        evict->reads[evict->read_count++] = (uint8_t)i;
    const uint32_t reuses = index == 0 ? 1 : (uint32_t)fth_rng_below(rng, MAX_REUSES + 1);
    for (uint32_t i = 0; i < reuses; i++)
        evict->reads[evict->read_count++] = (uint8_t)(index ? fth_rng_below(rng, ways) : 0);
    evict->reads[evict->read_count++] = (uint8_t)ways;
    for (uint32_t i = lines; index && i > 1; i--) {
        const uint32_t other = (uint32_t)fth_rng_below(rng, i);
        const uint8_t moved = evict->times[i - 1];
        evict->times[i - 1] = evict->times[other];
        evict->times[other] = moved;
    }
    return request;
}

/* Counts the timed reads of a script that the policy does not predict. */
static enum fth_status count_wrong(const struct study *study, const char *policy,
                                   const struct fth_evict *script, const bool *misses,
                                   size_t *wrong, struct fth_error *error)
{
    const uint64_t ways = study->found->ways;
    const struct fth_cache_config config = {
        .line_bytes = POLICY_LINE, .sets = 1, .ways = ways, .index = "mod", .policy = policy};
    struct fth_cache *cache = NULL;
    FTH_TRY(fth_cache_create(&config, &cache, error));
    /* The lines of the flush are in the set at first. */
    for (uint64_t i = 0; i < ways; i++)
        fth_cache_access(cache, POLICY_LINE * (study->count + i), POLICY_LINE, FTH_CACHE_READ,
                         NULL);
    for (uint32_t i = 0; i < script->read_count; i++)
        fth_cache_access(cache, (uint64_t)POLICY_LINE * script->reads[i], POLICY_LINE,
                         FTH_CACHE_READ, NULL);
    for (uint32_t i = 0; i < script->time_count; i++)
        *wrong += (fth_cache_access(cache, (uint64_t)POLICY_LINE * script->times[i], POLICY_LINE,
                                    FTH_CACHE_READ, NULL) == FTH_CACHE_HIT) == misses[i];
    fth_cache_destroy(cache);
    return FTH_OK;
}

/* Compares the scripts with each policy, and keeps the only one that predicts all reads. */
static enum fth_status decide_policy(struct study *study, const struct fth_request *requests,
                                     const struct fth_samples *samples, struct fth_error *error)
{
    /* "plru" must be the last: it exists for powers of two only, and with two ways it is LRU. */
    static const char *const policies[] = {"lru", "fifo", "plru"};
    struct fth_eviction_sets *found = study->found;
    const bool tree = found->ways > 2 && (found->ways & (found->ways - 1)) == 0;
    size_t wrong[FTH_COUNT(policies)] = {0}, perfect = 0;
    for (size_t i = 0; i < SCRIPTS; i++) {
        const struct fth_evict *script = &requests[i].evict;
        bool misses[FTH_EVICT_MAX_MEMBERS + 1];
        for (size_t j = 0; j < script->time_count; j++) {
            size_t slow = 0;
            for (size_t copy = 0; copy < COPIES; copy++)
                slow += is_miss(study, samples[copy * SCRIPTS + i].cycles[j]);
            misses[j] = 2 * slow > COPIES;
        }
        for (size_t p = 0; p < FTH_COUNT(policies) - !tree; p++)
            FTH_TRY(count_wrong(study, policies[p], script, misses, &wrong[p], error));
    }
    for (size_t p = 0; p < FTH_COUNT(policies) - !tree; p++)
        if (wrong[p] == 0) {
            found->policy = policies[p];
            perfect++;
        }
    if (perfect != 1)
        found->policy = NULL;
    found->ambiguous_policy = perfect > 1;
    return FTH_OK;
}

static enum fth_status find_policy(struct study *study, struct fth_error *error)
{
    struct fth_request requests[SCRIPTS * COPIES];
    struct fth_answers answers = {0};
    struct fth_rng rng;
    fth_rng_init(&rng, study->seed);
    for (uint32_t i = 0; i < SCRIPTS; i++)
        requests[i] = make_policy_script(study, i, &rng);
    for (size_t i = SCRIPTS; i < FTH_COUNT(requests); i++)
        requests[i] = requests[i - SCRIPTS];
    FTH_TRY(fth_ask(study->prober, requests, FTH_COUNT(requests), &answers, error));
    enum fth_status status = decide_policy(study, requests, answers.items, error);
    for (size_t i = 0; i < answers.count; i++)
        study->found->samples += answers.items[i].count;
    /* One policy predicts all scripts. */
    study->found->policy_evidence = (struct fth_evidence){.repeats = SCRIPTS, .agree = SCRIPTS};
    fth_answers_fini(&answers);
    return status;
}

/* ---- sets ---- */

/* The probability that at least `ways` of `lines` lines of a set are in a pool that contains each
 * line with the probability p. */
static double at_least(uint64_t lines, uint64_t ways, double p)
{
    double below = 0;
    for (uint64_t i = 0; i < ways && i <= lines; i++)
        below += exp(lgamma((double)lines + 1) - lgamma((double)i + 1) -
                     lgamma((double)(lines - i) + 1) + (double)i * log(p) +
                     (double)(lines - i) * log1p(-p));
    return 1 - below;
}

/* Measures the fraction of targets that as many random lines as a partition holds evict. */
static enum fth_status measure_evicted(struct study *study, struct fth_error *error)
{
    struct fth_eviction_sets *found = study->found;
    struct fth_request requests[CHECKS];
    struct fth_answers answers = {0};
    uint32_t element = POOL_FACTOR * study->capacity;
    size_t evicted = 0, total = 0;
    for (size_t i = 0; i < CHECKS; i++) {
        requests[i] = make_request(study, FTH_EVICT_SCRIPT);
        struct fth_evict *evict = &requests[i].evict;
        evict->flush = FLUSH_FACTOR * study->capacity;
        evict->pool = study->capacity;
        evict->passes = 1;
        evict->number_count = evict->read_count = evict->time_count = study->check_targets;
        for (uint32_t j = 0; j < study->check_targets; j++) {
            evict->numbers[j] = fth_evict_line(study->lines, study->seed, element++);
            evict->reads[j] = evict->times[j] = (uint8_t)j;
        }
    }
    FTH_TRY(fth_ask(study->prober, requests, CHECKS, &answers, error));
    for (size_t i = 0; i < answers.count; i++) {
        for (size_t j = 0; j < answers.items[i].count; j++)
            evicted += is_miss(study, answers.items[i].cycles[j]);
        total += answers.items[i].count;
    }
    found->samples += total;
    found->evicted = (double)evicted / (double)total;
    fth_answers_fini(&answers);
    return FTH_OK;
}

/* Divides the lines of a partition by the ways, and checks the result if the policy implies which
 * lines a pool evicts. */
static enum fth_status find_sets(struct study *study, struct fth_error *error)
{
    struct fth_eviction_sets *found = study->found;
    if (study->capacity % found->ways)
        return FTH_OK;
    const uint64_t sets = study->capacity / found->ways;
    const bool by_age =
        found->policy && (strcmp(found->policy, "lru") == 0 || strcmp(found->policy, "fifo") == 0);
    if (by_age) {
        const double targets = (double)CHECKS * study->check_targets;
        FTH_TRY(measure_evicted(study, error));
        found->expected = at_least(study->lines / sets, found->ways,
                                   (double)study->capacity / (double)study->lines);
        const double deviation = sqrt(found->expected * (1 - found->expected) / targets);
        if (fabs(found->evicted - found->expected) > max_deviations * deviation + max_unevenness)
            return FTH_OK;
    }
    found->sets = sets;
    return FTH_OK;
}

enum fth_status fth_probe_eviction_sets(const struct fth_prober *prober,
                                        const struct fth_evict_plan *plan,
                                        struct fth_eviction_sets *found, struct fth_error *error)
{
    *found = (struct fth_eviction_sets){.expected = NAN, .evicted = NAN};
    const uint64_t capacity = plan->partition_bytes / plan->line_bytes;
    const uint64_t all = (POOL_FACTOR + FLUSH_FACTOR) * capacity +
                         (uint64_t)CHECKS * FTH_EVICT_MAX_MEMBERS + MAX_TARGETS;
    uint64_t lines = 2;
    while (lines < all && lines < (uint64_t)1 << 31)
        lines *= 2;
    if (capacity < MIN_LINES || lines < all || lines * plan->line_bytes > plan->max_bytes)
        return fth_fail(error, FTH_INCONCLUSIVE, operation, NULL,
                        capacity < MIN_LINES ? "it has too few lines"
                                             : "there is not enough memory for an array of five "
                                               "times its size");
    struct study study = {.prober = prober,
                          .plan = plan,
                          .found = found,
                          .capacity = (uint32_t)capacity,
                          .lines = (uint32_t)lines,
                          .seed = 1};
    /* A 32nd of the lines: the targets themselves hardly evict each other. */
    study.check_targets = (uint32_t)FTH_MIN(FTH_EVICT_MAX_MEMBERS, capacity / 32 + 1);
    FTH_TRY(find_ways(&study, error));
    FTH_TRY(find_policy(&study, error));
    return find_sets(&study, error);
}
