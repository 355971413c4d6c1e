/* The test of a mapping of lines to sets, whatever the policy: of a chain that stays in one set, by
 * the mapping, as many lines as the set has ways must fit, and not one more; and chains over many
 * sets must overflow where the mapping says. A mapping that is too coarse or too fine fails this.
 * Sets of different sizes are measured one by one. */
#include "probe/sets.h"

#include <stdlib.h>
#include <string.h>

enum {
    MIN_TESTS = 24,   /* chains in one set */
    CHAINS = 12,      /* over many sets */
    WINDOW_PASSES = 6 /* that a chain in one step is looked at */
};

/* A chain in one set that must fit with `ways` lines and not with one more. */
struct test {
    uint64_t set, line, stride, ways;
    bool fits, overflows; /* as seen */
};

/* Passes of a chain that are looked at. An H200's L1 may have room for one line more for a pass,
 * once in ten times or so. */
static uint64_t test_passes(const struct fth_sets_work *work)
{
    return work->windows ? WINDOW_PASSES : work->votes;
}

static struct fth_request walk_set(const struct fth_sets_work *work, const struct test *test,
                                   uint64_t count)
{
    struct fth_chain chain = fth_sets_lines(work, test->line, test->stride, count);
    struct fth_request request = fth_request_make(work->plan->carveout_percent);
    fth_request_add(&request, FTH_STEP_WALK, work->plan->path, chain, 1);
    fth_request_add(&request, FTH_STEP_TIME_HOPS, work->plan->path, chain, 1 + test_passes(work));
    return request;
}

/* A set that overflows has a miss in every pass, whatever it replaces. Where disturbances have to
 * be told apart, it is one that always replaces the same way: then the same hop misses. In one
 * step, any miss counts. */
static bool overflows(const struct fth_sets_work *work, const struct fth_samples *samples,
                      uint64_t count)
{
    const uint64_t passes = test_passes(work), min = work->windows ? 1 : passes / 2 + 1;
    for (uint64_t hop = 0; hop < count; hop++)
        if (fth_sets_misses(work, samples->cycles, count, hop, passes) >= min)
            return true;
    return false;
}

/* An array of each stride is laid out at its full length first: then it lies at a multiple of it,
 * and lines of the same number fall into the same set in all of them. */
static enum fth_status lay_out(const struct fth_sets_work *work, const struct test *tests,
                               size_t count, struct fth_error *error)
{
    struct fth_request *requests = calloc(count, sizeof *requests);
    struct fth_answers answers = {0};
    size_t strides = 0;
    if (!requests)
        return fth_sets_no_memory(error);
    for (size_t i = 0; i < count; i++) {
        bool first = true;
        for (size_t k = 0; k < i; k++)
            first = first && tests[k].stride != tests[i].stride;
        if (!first)
            continue;
        requests[strides] = fth_request_make(work->plan->carveout_percent);
        uint64_t last = (work->limit - 1) / tests[i].stride * tests[i].stride;
        fth_request_add(&requests[strides++], FTH_STEP_TIME_HOPS, work->plan->path,
                        fth_sets_lines(work, last - tests[i].stride, tests[i].stride, 1), 1);
    }
    enum fth_status status = fth_ask(work->prober, requests, strides, &answers, error);
    fth_answers_fini(&answers);
    free(requests);
    return status;
}

static enum fth_status run_tests(struct fth_sets_work *work, struct test *tests, size_t count,
                                 struct fth_error *error)
{
    struct fth_request *requests = calloc(2 * count, sizeof *requests);
    if (!requests)
        return fth_sets_no_memory(error);
    for (size_t i = 0; i < 2 * count; i++)
        requests[i] = walk_set(work, &tests[i / 2], tests[i / 2].ways + i % 2);
    struct fth_answers answers = {0};
    enum fth_status status = lay_out(work, tests, count, error);
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

/* How many lines of each set are among those that fit. */
static uint64_t *occupancy(const struct fth_sets_work *work)
{
    const struct fth_mapping *mapping = &work->structure->mapping;
    uint64_t *lines = calloc(fth_mapping_sets(mapping), sizeof *lines);
    for (uint64_t line = 0; lines && line < work->fits; line++)
        lines[fth_mapping_set(mapping, line)]++;
    return lines;
}

/* The ways of a set that was seen to be full: as many as it had lines. 0 where there is none; where
 * they differ, those of the first. */
static uint64_t full_ways(const struct fth_sets_work *work, const uint64_t *lines)
{
    for (size_t i = 0; i < work->evictions.count; i++)
        if (work->evictions.items[i].count)
            return lines[fth_mapping_set(&work->structure->mapping, work->evictions.items[i].line)];
    return 0;
}

/* Chains in one set each, over all sets where they are few, and several a set where they are very
 * few. */
static size_t plan_tests(const struct fth_sets_work *work, const uint64_t *ways, struct test *tests)
{
    const struct fth_mapping *mapping = &work->structure->mapping;
    uint64_t sets = fth_mapping_sets(mapping);
    size_t count = 0;
    for (unsigned skip = 0; skip < MIN_TESTS && count < MIN_TESTS; skip++)
        for (uint64_t i = 0;
             i < (sets < FTH_SETS_MAX ? sets : FTH_SETS_MAX) && count < FTH_SETS_MAX; i++) {
            uint64_t set = sets < FTH_SETS_MAX ? i : i * sets / FTH_SETS_MAX, line = 0;
            /* Another beginning each time, as far as there are lines. */
            unsigned left = skip;
            while (line < work->limit && (fth_mapping_set(mapping, line) != set || left-- > 0))
                line++;
            uint64_t stride =
                line < work->limit && ways[set]
                    ? fth_mapping_stride(mapping, line, ways[set] + 1, work->limit, skip % 3)
                    : 0;
            if (stride == 0)
                stride = line < work->limit && ways[set]
                             ? fth_mapping_stride(mapping, line, ways[set] + 1, work->limit, 0)
                             : 0;
            if (stride)
                tests[count++] = (struct test){set, line, stride, ways[set], false, false};
        }
    return count;
}

/* Lines that are dealt stay in one set after a whole round of dealing; in which one depends on
 * where the array lies. One of the sizes must do. */
static size_t plan_dealt(const struct fth_sets_work *work, const uint64_t *ways, struct test *tests)
{
    const struct fth_mapping *mapping = &work->structure->mapping;
    size_t count = 0;
    for (uint64_t set = 0; set < fth_mapping_sets(mapping) && count < FTH_SETS_MAX; set++) {
        uint64_t stride = fth_mapping_stride(mapping, 0, ways[set] + 1, work->limit, 0);
        bool first = stride != 0;
        for (size_t i = 0; i < count; i++)
            first = first && tests[i].ways != ways[set];
        if (first)
            tests[count++] = (struct test){set, 0, stride, ways[set], false, false};
    }
    return count;
}

/* The ways of each set, by bisection; for sets that are not all alike. */
static enum fth_status measure_ways(struct fth_sets_work *work, uint64_t max, uint64_t *ways,
                                    struct fth_error *error)
{
    const struct fth_mapping *mapping = &work->structure->mapping;
    uint64_t sets = fth_mapping_sets(mapping);
    uint64_t low[FTH_SETS_MAX], high[FTH_SETS_MAX], longest[FTH_SETS_MAX];
    struct test tests[FTH_SETS_MAX];
    if (sets > FTH_SETS_MAX)
        return fth_fail(error, FTH_INCONCLUSIVE, "find ways", NULL,
                        "sets differ in size, and there are more than %d", FTH_SETS_MAX);
    /* Which of the sets of one array is which of another's is then not known. */
    if (mapping->kind == FTH_MAPPING_FOLD ||
        (mapping->kind == FTH_MAPPING_MOD && sets & (sets - 1)))
        return fth_fail(error, FTH_INCONCLUSIVE, "find ways", NULL,
                        "%llu sets that differ in size, and which of them is larger depends on "
                        "where an array lies",
                        (unsigned long long)sets);
    for (uint64_t set = 0; set < sets; set++) {
        uint64_t line = 0;
        while (line < work->limit && fth_mapping_set(mapping, line) != set)
            line++;
        uint64_t stride = 0;
        low[set] = 0;
        high[set] = max; /* does not fit, or so it is hoped */
        while (high[set] > 2 &&
               !(stride = fth_mapping_stride(mapping, line, high[set] + 1, work->limit, 0)))
            high[set] = high[set] * 3 / 4;
        if (stride == 0)
            return fth_fail(error, FTH_INCONCLUSIVE, "find ways", NULL,
                            "sets differ in size, and no chain of lines stays in one");
        longest[set] = high[set];
        tests[set] = (struct test){set, line, stride, 0, false, false};
    }
    for (bool open = true; open;) {
        open = false;
        for (uint64_t set = 0; set < sets; set++)
            tests[set].ways = high[set] - low[set] > 1 ? (low[set] + high[set]) / 2 : low[set] + 1;
        enum fth_status status = run_tests(work, tests, sets, error);
        if (status != FTH_OK)
            return status;
        for (uint64_t set = 0; set < sets; set++) {
            if (high[set] - low[set] <= 1)
                continue;
            if (tests[set].fits)
                low[set] = tests[set].ways;
            else
                high[set] = tests[set].ways;
            open = open || high[set] - low[set] > 1;
        }
    }
    for (uint64_t set = 0; set < sets; set++) {
        if (low[set] + 1 >= longest[set] || low[set] == 0)
            return fth_fail(error, FTH_INCONCLUSIVE, "find ways", NULL,
                            "a chain that should stay in one set does not overflow it");
        ways[set] = low[set];
    }
    return FTH_OK;
}

/* Sets that were seen full have as many ways as lines; the others more. */
static bool agrees(const struct fth_sets_work *work, const uint64_t *lines, const uint64_t *ways)
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

/* How many of the tests came out as they should. */
static size_t count_passed(const struct test *tests, size_t count)
{
    size_t passed = 0;
    for (size_t i = 0; i < count; i++)
        passed += tests[i].fits && tests[i].overflows;
    return passed;
}

/* Where no chain of even strides stays in one set: further lines evict what they should, and more
 * than half of a set was seen to go, so that it is no smaller. */
static enum fth_status test_by_evictions(struct fth_sets_work *work, uint64_t ways,
                                         struct fth_error *error)
{
    size_t before = work->evictions.count, right = 0, count = 0;
    bool same = false;
    uint64_t hops = (work->fits + 1) * ways;
    enum fth_status status = FTH_OK;
    if (2 * work->member_count <= ways + 1 && hops <= fth_sets_max_hops)
        status = fth_sets_look(work, ways, &same, error);
    if (status == FTH_OK && 2 * work->member_count <= ways + 1)
        status = fth_fail(error, FTH_INCONCLUSIVE, "find sets", NULL,
                          "what one line evicts was not seen often enough to tell how many others "
                          "it shares its set with");
    if (status == FTH_OK)
        status = fth_sets_try_more(work, &count, error);
    if (status != FTH_OK)
        return status;
    struct fth_evictions all = work->evictions;
    all.count = before;
    for (size_t i = before; i < work->evictions.count; i++)
        right += fth_mapping_explains(&work->structure->mapping, &all, &work->evictions.items[i]);
    if (right < count)
        return fth_fail(error, FTH_INCONCLUSIVE, "find sets", NULL,
                        "the mapping that was found does not hold for %zu of %zu further lines",
                        count - right, count);
    work->structure->confidence = ((double)count + 1) / ((double)count + 2);
    return FTH_OK;
}

/* The longest chain of that stride from that line on that fits, by the mapping and the ways; 0
 * where it is longer than can be tried. */
static uint64_t longest_chain(const struct fth_sets_work *work, const uint64_t *ways, uint64_t line,
                              uint64_t stride)
{
    const struct fth_mapping *mapping = &work->structure->mapping;
    uint64_t limit = work->limit, count = 0;
    if (mapping->kind == FTH_MAPPING_LINEAR && limit > (uint64_t)1 << mapping->bits)
        limit = (uint64_t)1 << mapping->bits;
    uint64_t *lines = calloc(fth_mapping_sets(mapping), sizeof *lines);
    while (lines && line + (count + 1) * stride < limit) {
        uint64_t set = fth_mapping_set(mapping, line + count * stride);
        if (lines[set]++ == ways[set])
            break;
        count++;
    }
    bool ends = line + (count + 1) * stride < limit;
    free(lines);
    return ends ? count : 0;
}

/* Chains over many sets: with each stride another number of lines fits. A mapping with too many
 * sets, or too few, foretells another number for one of them. Where the mapping has a constant from
 * the array's place, or deals lines out, this would depend on where another array lies. */
static size_t plan_chains(struct fth_sets_work *work, const uint64_t *ways, struct test *tests)
{
    static const uint64_t strides[] = {1, 2, 3, 4, 5, 7, 8, 12, 16, 32, 33, 64, 128, 256};
    const struct fth_mapping *mapping = &work->structure->mapping;
    uint64_t sets = fth_mapping_sets(mapping), line = 0;
    size_t count = 0;
    bool equal = true;
    for (uint64_t set = 1; set < sets; set++)
        equal = equal && ways[set] == ways[0];
    if (mapping->kind == FTH_MAPPING_FOLD || mapping->kind == FTH_MAPPING_DEAL)
        return 0;
    /* Where they differ, from every set on, as the smallest would always be the first to overflow.
     */
    for (size_t i = 0; i < FTH_COUNT(strides) * (equal ? 1 : sets) && count < CHAINS; i++) {
        line = equal ? 0 : fth_rng_below(&work->rng, work->limit / 4);
        uint64_t stride = strides[i % FTH_COUNT(strides)];
        uint64_t longest = longest_chain(work, ways, line, stride);
        if (longest)
            tests[count++] = (struct test){0, line, stride, longest, false, false};
    }
    return count;
}

static enum fth_status keep_ways(struct fth_sets_work *work, const uint64_t *ways,
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
        return fth_sets_no_memory(error);
    memcpy(structure->set_ways, ways, structure->sets * sizeof *ways);
    return FTH_OK;
}

/* A set that was tested, for those who want to overflow one. */
static void keep_chain(struct fth_sets_work *work, const struct test *tests, size_t count)
{
    for (size_t i = count; i-- > 0;)
        if (tests[i].fits && tests[i].overflows)
            work->structure->one_set =
                fth_sets_lines(work, tests[i].line, tests[i].stride, tests[i].ways);
}

enum fth_status fth_sets_test(struct fth_sets_work *work, struct fth_error *error)
{
    const struct fth_mapping *mapping = &work->structure->mapping;
    uint64_t sets = fth_mapping_sets(mapping);
    uint64_t *lines = occupancy(work), *ways = calloc(sets, sizeof *ways);
    struct test *tests = calloc((size_t)2 * FTH_SETS_MAX, sizeof *tests);
    enum fth_status status = lines && ways && tests ? FTH_OK : fth_sets_no_memory(error);
    uint64_t common = status == FTH_OK ? full_ways(work, lines) : 0;
    for (uint64_t set = 0; status == FTH_OK && set < sets; set++)
        ways[set] = mapping->kind == FTH_MAPPING_DEAL ? lines[set] : common;
    bool dealt = mapping->kind == FTH_MAPPING_DEAL;
    size_t count = status != FTH_OK ? 0
                   : dealt          ? plan_dealt(work, ways, tests)
                                    : plan_tests(work, ways, tests);
    if (status == FTH_OK && count)
        status = run_tests(work, tests, count, error);
    if (status == FTH_OK && !dealt && count && count_passed(tests, count) < count) {
        /* Are the sets of different sizes? */
        status = measure_ways(work, 8 * common + 16, ways, error);
        if (status == FTH_OK) {
            count = plan_tests(work, ways, tests);
            status = run_tests(work, tests, count, error);
        }
    }
    if (status == FTH_OK && (dealt || count < MIN_TESTS)) {
        status = test_by_evictions(work, common, error);
    } else if (status == FTH_OK) {
        size_t passed = count_passed(tests, count);
        if (passed < count)
            status = fth_fail(error, FTH_INCONCLUSIVE, "find sets", NULL,
                              "a mapping to %llu sets was found, but in %zu of %zu of them another "
                              "number of lines fits than it says",
                              (unsigned long long)sets, count - passed, count);
        work->structure->confidence = ((double)passed + 1) / ((double)count + 2);
    }
    if (status == FTH_OK) {
        struct test chains[CHAINS];
        size_t chain_count = plan_chains(work, ways, chains);
        status = chain_count ? run_tests(work, chains, chain_count, error) : FTH_OK;
        size_t passed = status == FTH_OK ? count_passed(chains, chain_count) : chain_count;
        if (passed < chain_count)
            status = fth_fail(error, FTH_INCONCLUSIVE, "find sets", NULL,
                              "a mapping to %llu sets was found, but of %zu strides %zu let "
                              "another number of lines fit than it says",
                              (unsigned long long)sets, chain_count, chain_count - passed);
    }
    if (status == FTH_OK && !agrees(work, lines, ways))
        status = fth_fail(error, FTH_INCONCLUSIVE, "find sets", NULL,
                          "the ways of the sets contradict which lines evict which");
    if (status == FTH_OK)
        status = keep_ways(work, ways, error);
    if (status == FTH_OK)
        keep_chain(work, tests, count);
    free(lines);
    free(ways);
    free(tests);
    return status;
}
