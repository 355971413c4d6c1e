/* Verifies a mapping of lines to sets that sets.c found, on the device.
 *
 * Two predictions of the mapping are tested; neither depends on the replacement policy:
 *   - A chain whose lines are all in one set fits with as many lines as the set has ways, and
 *     overflows with one more.
 *   - A chain over many sets overflows at exactly the length that the mapping predicts.
 * A mapping with too few or too many sets fails one of them. If sets have different numbers of
 * ways, the ways of each set are measured separately. */
#include "probe/structure/probe_structure.h"

#include <stdlib.h>
#include <string.h>

static const char operation[] = "find sets";

enum {
    /* Minimum number of chains in one set each. Chosen. */
    MIN_TESTS = 24,
    MAX_CHAINS = 12, /* maximum number of chains over many sets. Chosen to limit the time. */
    /* Timed passes of a chain if lines are lost whenever a step starts. With one line too many, a
     * pass of an H200's L1 can have no miss, in about one of ten cases. */
    SINGLE_STEP_PASSES = 6,
    START_PART = 4, /* chains over many sets start in the first quarter of the array. Chosen. */
    STRIDE_VARIANTS = 3, /* different strides that are tried for the chains of a set. Chosen. */
    /* A chain that certainly overflows a set, if sets have different numbers of ways: this many
     * times the ways of one set, and as many lines more. Chosen, not derived; bisect() detects that
     * it fits nevertheless. */
    OVERFLOW_FACTOR = 8,
    OVERFLOW_LINES = 16
};

/* Strides of chains over many sets, in lines: powers of two, and numbers that are not, so that
 * index functions of either kind spread them differently. Chosen. */
static const uint64_t chain_strides[] = {1, 2, 3, 4, 5, 7, 8, 12, 16, 32, 33, 64, 128, 256};

/* A chain of lines that must fit with `ways` lines and overflow with one more. */
struct test {
    uint64_t set;          /* the set of all lines; 0 and unused for chains over many sets */
    uint64_t line, stride; /* first line and stride in lines */
    uint64_t ways;
    bool fits, overflows; /* as measured */
};

/* Returns the number of timed passes that are evaluated. */
static uint64_t test_passes(const struct fth_sets_work *work)
{
    return work->use_windows ? SINGLE_STEP_PASSES : work->votes;
}

/* Makes a request that times passes over the first `count` lines of the chain. The first timed pass
 * is not evaluated. */
static struct fth_request walk_set(const struct fth_sets_work *work, const struct test *test,
                                   uint64_t count)
{
    struct fth_chain chain = fth_sets_chain(work, test->line, test->stride, count);
    struct fth_request request = fth_request_make(work->plan->carveout_percent);
    fth_request_add(&request, FTH_STEP_WALK, work->plan->path, chain, 1);
    fth_request_add(&request, FTH_STEP_TIME_HOPS, work->plan->path, chain, 1 + test_passes(work));
    return request;
}

/* Whether a chain of `count` lines overflows its set. A set that overflows has a miss in every
 * pass, under any policy. With several votes, the policy is one that misses at the same hop in
 * every pass (sets.c refuses others), so a majority of passes must agree on a hop. With windows,
 * any miss counts. */
static bool overflows(const struct fth_sets_work *work, const struct fth_samples *samples,
                      uint64_t count)
{
    const uint64_t passes = test_passes(work), min_misses = work->use_windows ? 1 : passes / 2 + 1;
    for (uint64_t hop = 0; hop < count; hop++)
        if (fth_sets_count_misses(work, samples->cycles, count, hop, passes) >= min_misses)
            return true;
    return false;
}

/* Makes the device allocate the array of each stride at its full length. The arrays are then
 * aligned to their length, and lines with the same index are in the same set in all arrays. */
static enum fth_status place_arrays(const struct fth_sets_work *work, const struct test *tests,
                                    size_t count, struct fth_error *error)
{
    struct fth_request *requests = calloc(count, sizeof *requests);
    struct fth_answers answers = {0};
    size_t strides = 0;
    if (!requests)
        return fth_no_memory(error, operation, NULL);
    for (size_t i = 0; i < count; i++) {
        bool first = true;
        for (size_t k = 0; k < i; k++)
            first = first && tests[k].stride != tests[i].stride;
        if (!first)
            continue;
        requests[strides] = fth_request_make(work->plan->carveout_percent);
        uint64_t last = (work->limit - 1) / tests[i].stride * tests[i].stride;
        fth_request_add(&requests[strides++], FTH_STEP_TIME_HOPS, work->plan->path,
                        fth_sets_chain(work, last - tests[i].stride, tests[i].stride, 1), 1);
    }
    enum fth_status status = fth_ask(work->prober, requests, strides, &answers, error);
    fth_answers_fini(&answers);
    free(requests);
    return status;
}

/* Runs each test with `ways` and with `ways` + 1 lines, and fills in `fits` and `overflows`. */
static enum fth_status run_tests(struct fth_sets_work *work, struct test *tests, size_t count,
                                 struct fth_error *error)
{
    struct fth_request *requests = calloc(2 * count, sizeof *requests);
    if (!requests)
        return fth_no_memory(error, operation, NULL);
    for (size_t i = 0; i < 2 * count; i++)
        requests[i] = walk_set(work, &tests[i / 2], tests[i / 2].ways + i % 2);
    struct fth_answers answers = {0};
    enum fth_status status = place_arrays(work, tests, count, error);
    if (status == FTH_OK)
        status = fth_ask(work->prober, requests, 2 * count, &answers, error);
    for (size_t i = 0; i < count && status == FTH_OK; i++) {
        tests[i].fits = !overflows(work, &answers.items[2 * i], tests[i].ways);
        tests[i].overflows = overflows(work, &answers.items[2 * i + 1], tests[i].ways + 1);
        work->structure->samples += answers.items[2 * i].count + answers.items[2 * i + 1].count;
    }
    fth_answers_fini(&answers);
    free(requests);
    return status;
}

/* Returns, for each set, the number of its lines among those that fit. The caller frees the array;
 * NULL: out of memory. */
static uint64_t *count_lines_per_set(const struct fth_sets_work *work)
{
    const struct fth_mapping *mapping = &work->structure->mapping;
    uint64_t *lines = calloc(fth_mapping_sets(mapping), sizeof *lines);
    for (uint64_t line = 0; lines && line < work->fits; line++)
        lines[fth_mapping_set(mapping, line)]++;
    return lines;
}

/* Returns the ways of the first set that was seen to be full: its number of lines among those that
 * fit. Returns 0 if no line evicted another one. */
static uint64_t ways_of_full_set(const struct fth_sets_work *work, const uint64_t *lines)
{
    for (size_t i = 0; i < work->evictions.count; i++)
        if (work->evictions.items[i].count)
            return lines[fth_mapping_set(&work->structure->mapping, work->evictions.items[i].line)];
    return 0;
}

/* Returns a stride at which `count` lines from `line` on stay in one set; 0: there is none. A chain
 * takes as many bytes as it has strides, and the constant bank has no more than work->limit lines.
 */
static uint64_t find_stride(const struct fth_sets_work *work, uint64_t line, uint64_t count,
                            unsigned skip)
{
    const uint64_t stride =
        fth_mapping_stride(&work->structure->mapping, line, count, work->limit, skip);
    return work->plan->path == FTH_PATH_CONSTANT && line + count * stride > work->limit ? 0
                                                                                        : stride;
}

/* Returns the line with index `skip` among the lines of a set; work->limit: there are too few. */
static uint64_t line_of_set(const struct fth_sets_work *work, uint64_t set, unsigned skip)
{
    uint64_t line = 0;
    while (line < work->limit &&
           (fth_mapping_set(&work->structure->mapping, line) != set || skip-- > 0))
        line++;
    return line;
}

/* Returns a stride for a chain of one line more than `ways`, from `line` on, that stays in one set;
 * 0: there is none. If several strides do, `variant` selects one of them. */
static uint64_t stride_of_set(const struct fth_sets_work *work, uint64_t line, uint64_t ways,
                              unsigned variant)
{
    if (line >= work->limit || ways == 0)
        return 0;
    const uint64_t stride = find_stride(work, line, ways + 1, variant);
    return stride ? stride : find_stride(work, line, ways + 1, 0);
}

/* Plans chains that stay in one set each, for all sets, or for FTH_SETS_MAX_TESTED of them. With
 * fewer than MIN_TESTS sets, plans several chains per set. Each chain of a set starts at a
 * different line, as far as there are lines. Returns their number. */
static size_t plan_tests(const struct fth_sets_work *work, const uint64_t *ways, struct test *tests)
{
    const uint64_t sets = fth_mapping_sets(&work->structure->mapping);
    const uint64_t tested = FTH_MIN(sets, FTH_SETS_MAX_TESTED);
    size_t count = 0;
    for (unsigned skip = 0; skip < MIN_TESTS && count < MIN_TESTS; skip++)
        for (uint64_t i = 0; i < tested && count < FTH_SETS_MAX_TESTED; i++) {
            const uint64_t set = i * sets / tested;
            const uint64_t line = line_of_set(work, set, skip);
            const uint64_t stride = stride_of_set(work, line, ways[set], skip % STRIDE_VARIANTS);
            if (stride)
                tests[count++] = (struct test){set, line, stride, ways[set], false, false};
        }
    return count;
}

/* Plans chains for a round-robin mapping. A stride of one period stays in one set, but which set
 * that is depends on the address of the array. So there is one test per distinct number of ways;
 * the one for the right set passes. Returns the number of tests. */
static size_t plan_round_robin_tests(const struct fth_sets_work *work, const uint64_t *ways,
                                     struct test *tests)
{
    const struct fth_mapping *mapping = &work->structure->mapping;
    size_t count = 0;
    for (uint64_t set = 0; set < fth_mapping_sets(mapping) && count < FTH_SETS_MAX_TESTED; set++) {
        uint64_t stride = find_stride(work, 0, ways[set] + 1, 0);
        bool first = stride != 0;
        for (size_t i = 0; i < count; i++)
            first = first && tests[i].ways != ways[set];
        if (first)
            tests[count++] = (struct test){set, 0, stride, ways[set], false, false};
    }
    return count;
}

/* ---- sets with different numbers of ways ---- */

/* The ways of a set that is divided: `low` lines fit, `high` do not or were not tested. */
struct bisection {
    uint64_t low, high;
    uint64_t longest; /* the first `high` */
};

static bool is_open(const struct bisection *bisection)
{
    return bisection->high - bisection->low > 1;
}

/* Fails if the ways of single sets cannot be measured. */
static enum fth_status check_single_sets(const struct fth_mapping *mapping, struct fth_error *error)
{
    const uint64_t sets = fth_mapping_sets(mapping);
    if (sets > FTH_SETS_MAX_TESTED)
        return fth_fail(error, FTH_INCONCLUSIVE, "find ways", NULL,
                        "the sets have different numbers of ways, and there are more than %d sets",
                        FTH_SETS_MAX_TESTED);
    /* With these mappings, the set of a line depends on the address of the array, so the sets of
     * one array cannot be identified with those of another. */
    if (mapping->kind == FTH_MAPPING_FOLD ||
        (mapping->kind == FTH_MAPPING_MOD && sets & (sets - 1)))
        return fth_fail(error, FTH_INCONCLUSIVE, "find ways", NULL,
                        "%llu sets have different numbers of ways, and which set is larger depends "
                        "on the address of the array",
                        (unsigned long long)sets);
    return FTH_OK;
}

/* Plans a chain in one set, of `max_ways` lines or, if the array is too short for them, of fewer.
 */
static enum fth_status plan_bisection(const struct fth_sets_work *work, uint64_t set,
                                      uint64_t max_ways, struct bisection *bisection,
                                      struct test *test, struct fth_error *error)
{
    const uint64_t line = line_of_set(work, set, 0);
    uint64_t high = max_ways, stride = 0;
    while (high > 2 && !(stride = find_stride(work, line, high + 1, 0)))
        high = high * 3 / 4; /* fine enough to stay well above the ways */
    if (stride == 0)
        return fth_fail(error, FTH_INCONCLUSIVE, "find ways", NULL,
                        "the sets have different numbers of ways, and no chain stays in one set");
    *bisection = (struct bisection){0, high, high};
    *test = (struct test){set, line, stride, 0, false, false};
    return FTH_OK;
}

/* Narrows all bisections until each has one number of ways left. */
static enum fth_status bisect(struct fth_sets_work *work, struct bisection *bisections,
                              struct test *tests, uint64_t sets, struct fth_error *error)
{
    for (bool open = true; open;) {
        open = false;
        for (uint64_t set = 0; set < sets; set++)
            tests[set].ways = is_open(&bisections[set])
                                  ? (bisections[set].low + bisections[set].high) / 2
                                  : bisections[set].low + 1;
        FTH_TRY(run_tests(work, tests, sets, error));
        for (uint64_t set = 0; set < sets; set++) {
            if (!is_open(&bisections[set]))
                continue;
            *(tests[set].fits ? &bisections[set].low : &bisections[set].high) = tests[set].ways;
            open = open || is_open(&bisections[set]);
        }
    }
    return FTH_OK;
}

/* Measures the ways of each set by bisection, for sets with different numbers of ways. `max_ways`
 * is assumed not to fit in any set. */
static enum fth_status measure_ways(struct fth_sets_work *work, uint64_t max_ways, uint64_t *ways,
                                    struct fth_error *error)
{
    const uint64_t sets = fth_mapping_sets(&work->structure->mapping);
    struct bisection bisections[FTH_SETS_MAX_TESTED];
    struct test tests[FTH_SETS_MAX_TESTED];
    FTH_TRY(check_single_sets(&work->structure->mapping, error));
    for (uint64_t set = 0; set < sets; set++)
        FTH_TRY(plan_bisection(work, set, max_ways, &bisections[set], &tests[set], error));
    FTH_TRY(bisect(work, bisections, tests, sets, error));
    for (uint64_t set = 0; set < sets; set++) {
        ways[set] = bisections[set].low;
        if (ways[set] + 1 >= bisections[set].longest || ways[set] == 0)
            return fth_fail(error, FTH_INCONCLUSIVE, "find ways", NULL,
                            "a chain that should stay in one set does not overflow it");
    }
    return FTH_OK;
}

/* ---- verdicts ---- */

/* Whether the ways agree with the evictions. If a line evicted another one, its set was full: it
 * has as many ways as lines among those that fit. If it evicted none, its set has more ways. */
static bool agrees_with_evictions(const struct fth_sets_work *work, const uint64_t *lines,
                                  const uint64_t *ways)
{
    const struct fth_mapping *mapping = &work->structure->mapping;
    for (uint64_t set = 0; set < fth_mapping_sets(mapping); set++)
        if (lines[set] > ways[set])
            return false;
    for (size_t i = 0; i < work->evictions.count; i++) {
        const struct fth_eviction *eviction = &work->evictions.items[i];
        uint64_t set = fth_mapping_set(mapping, eviction->line);
        if (eviction->count ? lines[set] != ways[set]
                            : lines[set] >= ways[set] && !work->evictions.ignored[0])
            return false;
    }
    return true;
}

/* Returns the number of tests that passed. */
static size_t count_passed(const struct test *tests, size_t count)
{
    size_t passed = 0;
    for (size_t i = 0; i < count; i++)
        passed += tests[i].fits && tests[i].overflows;
    return passed;
}

/* Verifies the mapping if too few strided chains stay in one set. It must predict what further
 * lines evict. In addition, more than half of the lines of a set must have been seen to miss, so
 * that the set cannot be half as large. */
static enum fth_status test_by_evictions(struct fth_sets_work *work, uint64_t ways,
                                         struct fth_error *error)
{
    size_t before = work->evictions.count, explained = 0, count = 0;
    bool same = false;
    uint64_t hops = (work->fits + 1) * ways;
    if (2 * work->member_count <= ways + 1 && hops <= FTH_SETS_MAX_HOPS)
        FTH_TRY(fth_sets_find_members(work, ways, &same, error));
    if (2 * work->member_count <= ways + 1)
        return fth_fail(error, FTH_INCONCLUSIVE, operation, NULL,
                        "too few evictions were seen to determine how many lines share a set");
    FTH_TRY(fth_sets_try_more(work, &count, error));
    struct fth_evictions all = work->evictions;
    all.count = before;
    for (size_t i = before; i < work->evictions.count; i++) {
        bool explains;
        FTH_TRY(fth_mapping_explains(&work->structure->mapping, &all, &work->evictions.items[i],
                                     &explains, error));
        explained += explains;
    }
    if (explained < count)
        return fth_fail(error, FTH_INCONCLUSIVE, operation, NULL,
                        "the mapping that was found does not explain %zu of %zu further lines",
                        count - explained, count);
    work->structure->evidence =
        (struct fth_evidence){.repeats = (double)count, .agree = (double)count};
    return FTH_OK;
}

/* Returns the length of the longest chain from `line` on, with `stride`, that fits according to the
 * mapping and the ways. Returns 0 if one line more would exceed the array or the known bits.
 * `lines` has one entry per set, for the lines of the chain in each set. */
static uint64_t longest_chain(const struct fth_sets_work *work, const uint64_t *ways, uint64_t line,
                              uint64_t stride, uint64_t *lines)
{
    const struct fth_mapping *mapping = &work->structure->mapping;
    uint64_t limit = work->limit, count = 0;
    if (mapping->kind == FTH_MAPPING_LINEAR && limit > (uint64_t)1 << mapping->bits)
        limit = (uint64_t)1 << mapping->bits;
    memset(lines, 0, fth_mapping_sets(mapping) * sizeof *lines);
    while (line + (count + 1) * stride < limit) {
        uint64_t set = fth_mapping_set(mapping, line + count * stride);
        if (lines[set]++ == ways[set])
            break;
        count++;
    }
    return line + (count + 1) * stride < limit ? count : 0;
}

/* Plans chains over many sets. The number of lines that fit differs between strides, and a mapping
 * with too many or too few sets predicts a wrong number for at least one of them. Folded and
 * round-robin mappings are skipped: there, the number depends on the address of each array. *count
 * receives the number of chains. */
static enum fth_status plan_chains(struct fth_sets_work *work, const uint64_t *ways,
                                   struct test *tests, size_t *count, struct fth_error *error)
{
    const struct fth_mapping *mapping = &work->structure->mapping;
    const uint64_t sets = fth_mapping_sets(mapping);
    bool equal = true;
    *count = 0;
    for (uint64_t set = 1; set < sets; set++)
        equal = equal && ways[set] == ways[0];
    if (mapping->kind == FTH_MAPPING_FOLD || mapping->kind == FTH_MAPPING_ROUND_ROBIN)
        return FTH_OK;
    uint64_t *lines = calloc(sets, sizeof *lines);
    if (!lines)
        return fth_no_memory(error, operation, NULL);
    /* If the sets differ, start at random lines. Otherwise the smallest set would always be the
     * first to overflow. */
    for (size_t i = 0; i < FTH_COUNT(chain_strides) * (equal ? 1 : sets) && *count < MAX_CHAINS;
         i++) {
        const uint64_t line = equal ? 0 : fth_rng_below(&work->rng, work->limit / START_PART);
        const uint64_t stride = chain_strides[i % FTH_COUNT(chain_strides)];
        const uint64_t longest = longest_chain(work, ways, line, stride, lines);
        if (longest)
            tests[(*count)++] = (struct test){0, line, stride, longest, false, false};
    }
    free(lines);
    return FTH_OK;
}

/* Fills in the sets and ways of the structure. */
static enum fth_status store_ways(struct fth_sets_work *work, const uint64_t *ways,
                                  struct fth_error *error)
{
    struct fth_structure *structure = work->structure;
    structure->sets = fth_mapping_sets(&structure->mapping);
    structure->ways = ways[0];
    for (uint64_t set = 1; set < structure->sets; set++)
        if (ways[set] != ways[0])
            structure->ways = 0;
    if (structure->ways)
        return FTH_OK;
    structure->set_ways = calloc(structure->sets, sizeof *structure->set_ways);
    if (!structure->set_ways)
        return fth_no_memory(error, operation, NULL);
    memcpy(structure->set_ways, ways, structure->sets * sizeof *ways);
    return FTH_OK;
}

/* Fills in structure->one_set with the chain of the first test that passed, if any. */
static void store_chain(struct fth_sets_work *work, const struct test *tests, size_t count)
{
    for (size_t i = count; i-- > 0;)
        if (tests[i].fits && tests[i].overflows)
            work->structure->one_set =
                fth_sets_chain(work, tests[i].line, tests[i].stride, tests[i].ways);
}

/* ---- verification ---- */

struct verification {
    struct fth_sets_work *work;
    uint64_t sets;
    bool round_robin;     /* kind of the mapping */
    uint64_t common_ways; /* of the first set that was seen to be full */
    uint64_t *lines;      /* [sets] lines of each set among those that fit, owned */
    uint64_t *ways;       /* [sets] owned */
    struct test *tests;   /* chains in one set each, owned */
    size_t count;         /* of `tests` */
};

/* Runs a test for each set with the ways that the evictions suggest. If some fail, the sets may
 * have different numbers of ways: measures them, and runs the tests again. */
static enum fth_status test_sets(struct verification *verification, struct fth_error *error)
{
    struct fth_sets_work *work = verification->work;
    uint64_t *ways = verification->ways;
    struct test *tests = verification->tests;
    size_t *count = &verification->count;
    const bool round_robin = verification->round_robin;
    for (uint64_t set = 0; set < verification->sets; set++)
        ways[set] = round_robin ? verification->lines[set] : verification->common_ways;
    *count =
        round_robin ? plan_round_robin_tests(work, ways, tests) : plan_tests(work, ways, tests);
    if (*count == 0)
        return FTH_OK;
    FTH_TRY(run_tests(work, tests, *count, error));
    if (round_robin || count_passed(tests, *count) == *count)
        return FTH_OK;
    FTH_TRY(measure_ways(work, OVERFLOW_FACTOR * verification->common_ways + OVERFLOW_LINES, ways,
                         error));
    *count = plan_tests(work, ways, tests);
    return run_tests(work, tests, *count, error);
}

/* Decides whether the mapping is right, by the tests or, if there are too few, by further
 * evictions. Fills in the evidence. */
static enum fth_status judge_sets(const struct verification *verification, struct fth_error *error)
{
    const size_t count = verification->count;
    if (verification->round_robin || count < MIN_TESTS)
        return test_by_evictions(verification->work, verification->common_ways, error);
    const size_t passed = count_passed(verification->tests, count);
    if (passed < count)
        return fth_fail(error, FTH_INCONCLUSIVE, operation, NULL,
                        "a mapping to %llu sets was found, but it predicts the wrong number of "
                        "ways in %zu of %zu tests",
                        (unsigned long long)verification->sets, count - passed, count);
    verification->work->structure->evidence =
        (struct fth_evidence){.repeats = (double)count, .agree = (double)passed};
    return FTH_OK;
}

/* Tests the mapping with chains over many sets. */
static enum fth_status test_chains(const struct verification *verification, struct fth_error *error)
{
    struct test chains[MAX_CHAINS];
    size_t count;
    FTH_TRY(plan_chains(verification->work, verification->ways, chains, &count, error));
    if (count)
        FTH_TRY(run_tests(verification->work, chains, count, error));
    const size_t passed = count_passed(chains, count);
    if (passed < count)
        return fth_fail(error, FTH_INCONCLUSIVE, operation, NULL,
                        "a mapping to %llu sets was found, but of %zu chains over many sets, "
                        "%zu do not overflow where it predicts",
                        (unsigned long long)verification->sets, count, count - passed);
    return FTH_OK;
}

static enum fth_status verify(struct verification *verification, struct fth_error *error)
{
    struct fth_sets_work *work = verification->work;
    verification->common_ways = ways_of_full_set(work, verification->lines);
    FTH_TRY(test_sets(verification, error));
    FTH_TRY(judge_sets(verification, error));
    FTH_TRY(test_chains(verification, error));
    if (!agrees_with_evictions(work, verification->lines, verification->ways))
        return fth_fail(error, FTH_INCONCLUSIVE, operation, NULL,
                        "the ways found contradict the evictions that were seen");
    FTH_TRY(store_ways(work, verification->ways, error));
    store_chain(work, verification->tests, verification->count);
    return FTH_OK;
}

enum fth_status fth_sets_verify(struct fth_sets_work *work, struct fth_error *error)
{
    const struct fth_mapping *mapping = &work->structure->mapping;
    const uint64_t sets = fth_mapping_sets(mapping);
    struct verification verification = {
        .work = work,
        .sets = sets,
        .round_robin = mapping->kind == FTH_MAPPING_ROUND_ROBIN,
        .lines = count_lines_per_set(work),
        .ways = calloc(sets, sizeof *verification.ways),
        .tests = calloc((size_t)2 * FTH_SETS_MAX_TESTED, sizeof *verification.tests)};
    enum fth_status status = verification.lines && verification.ways && verification.tests
                                 ? verify(&verification, error)
                                 : fth_no_memory(error, operation, NULL);
    free(verification.lines);
    free(verification.ways);
    free(verification.tests);
    return status;
}
