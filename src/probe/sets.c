/* Sets and ways of a cache, and which lines share a set.
 *
 * After Mei and Chu (2017, Fig. 6): a cache that is filled to the last line takes one line more,
 * and what it loses for that lies in the same set. They let the footprint grow by a line at a time;
 * here each further line x is loaded alone after the lines [0, C) that fit, so that the sets do not
 * get mixed up, and x may be far away, which shows the part of high address bits:
 *
 *     load [0, C)    load x    time [0, C)      slow: lines of the set of x
 *
 * With LRU all lines of the set go in turn, with a random policy one or a few; either will do to
 * find the mapping (mapping.c). It is then put to the test, whatever the policy: of a chain that
 * stays in one set, by the mapping, as many lines as the set has ways must fit, and not one more. A
 * mapping that is too coarse or too fine fails this. */
#include "probe/probe.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    WINDOW = 24,         /* lines right behind those that fit, each tried */
    FAR = 48,            /* lines anywhere, at a time */
    FAR_HOPS = 120000,   /* and in all as many as make so many loads */
    LEAST_PAIRS = 24,    /* a mapping twice too fine would explain so many by chance in 1 of 10^7 */
    LEAST_EVICTING = 24, /* lines that evict something: more than a hash has address bits */
    FEW_EVICTING = 6,    /* the least that will do */
    WINDOWS = 24,        /* places from which one line more than fits is walked */
    WINDOW_PASSES = 24,
    CONTROLS = 4,        /* the same without another line */
    VOTES = 3,           /* where hits are slow now and then */
    LOOK_PASSES = 8,     /* over one line more than fits */
    MOST_SETS = 64,      /* that are tested one by one */
    LEAST_TESTS = 24,    /* chains in one set */
    CHAINS = 12,         /* over many sets */
    LEAST_LINES = 768,   /* that are tried to overflow it */
    MOST_LINES = 1 << 14 /* that fit: beyond, it takes too long */
};
/* Arrays up to this size lie at a multiple of their size. */
static const uint64_t most_span_bytes = 2 << 20, bank_bytes = 64 << 10;
/* Loads that finding out whether one set is all there is may take. */
static const uint64_t most_look_hops = 1000000;

struct work {
    const struct fth_prober *prober;
    const struct fth_cache_plan *plan;
    uint64_t fits, limit; /* lines */
    unsigned votes;
    bool windows; /* lines are lost whenever a step begins: one step must do */
    struct fth_evictions evictions;
    size_t far_evicting; /* lines anywhere that evicted something */
    bool *members;       /* [fits + 1] seen to miss where one line more than fits is walked */
    uint64_t member_count;
    struct fth_structure *structure;
    struct fth_rng rng;
};

static enum fth_status out_of_memory(struct fth_error *error)
{
    fth_fail(error, FTH_NO_MEMORY, "find sets", NULL, "out of memory");
    return FTH_NO_MEMORY;
}

static struct fth_chain lines_from(const struct work *work, uint64_t line, uint64_t stride,
                                   uint64_t count)
{
    return (struct fth_chain){.start_bytes = line * work->plan->line_bytes,
                              .stride_bytes = stride * work->plan->line_bytes,
                              .count = count};
}

static bool is_slow(const struct work *work, uint32_t cycles)
{
    return cycles > work->plan->threshold_cycles;
}

/* ---- stage one: one line more than fits ---- */

/* The lines that fit, counted anew. Which lines come together in a set may depend on where the
 * array lies, so that it is laid out at its full length first, and stays there. */
static enum fth_status count_fitting(struct work *work, struct fth_error *error)
{
    const struct fth_cache_plan *plan = work->plan;
    struct fth_request request = fth_request_make(plan->carveout_percent);
    fth_request_add(&request, FTH_STEP_WALK, plan->path, lines_from(work, work->limit - 1, 1, 1),
                    1);
    fth_request_add(&request, FTH_STEP_TIME_HOPS, plan->path, lines_from(work, 0, 1, 1), 1);
    struct fth_answers answers = {0};
    enum fth_status status = fth_ask(work->prober, &request, 1, &answers, error);
    fth_answers_fini(&answers);
    struct fth_capacity capacity = {0};
    uint64_t largest = 4 * plan->fits_bytes / plan->line_bytes + LEAST_LINES;
    largest = largest < work->limit * 3 / 4 ? largest : work->limit * 3 / 4;
    const struct fth_capacity_plan size = {.path = plan->path,
                                           .carveout_percent = plan->carveout_percent,
                                           .stride_bytes = plan->line_bytes,
                                           .smallest_bytes = plan->line_bytes,
                                           .largest_bytes = largest * plan->line_bytes,
                                           .hit_cycles = plan->threshold_cycles,
                                           .miss_cycles = plan->threshold_cycles};
    if (status == FTH_OK)
        status = fth_probe_capacity(work->prober, &size, &capacity, error);
    if (status == FTH_OK && capacity.misses_bytes == 0)
        status = fth_fail(error, FTH_INCONCLUSIVE, "find sets", NULL,
                          "no footprint that can be tried overflows it");
    work->fits = capacity.fits_bytes / plan->line_bytes;
    work->evictions.fits = work->fits;
    work->structure->samples += capacity.samples;
    if (status == FTH_OK && work->fits > MOST_LINES)
        status = fth_fail(error, FTH_INCONCLUSIVE, "find sets", NULL,
                          "%llu lines fit, which are too many for this method",
                          (unsigned long long)work->fits);
    return status;
}

/* In how many of the passes but the first a line was slow. */
static uint64_t count_misses(const struct work *work, const uint32_t *cycles, uint64_t count,
                             uint64_t line, uint64_t passes)
{
    uint64_t misses = 0;
    for (uint64_t pass = 1; pass <= passes; pass++)
        misses += is_slow(work, cycles[pass * count + line]);
    return misses;
}

/* Walks it and notes which lines ever miss. True in *same where all of them do in every pass. */
static enum fth_status look(struct work *work, uint64_t passes, bool *same, struct fth_error *error)
{
    uint64_t count = work->fits + 1;
    struct fth_request request = fth_request_make(work->plan->carveout_percent);
    struct fth_chain chain = lines_from(work, 0, 1, count);
    fth_request_add(&request, FTH_STEP_WALK, work->plan->path, chain, 1);
    fth_request_add(&request, FTH_STEP_TIME_HOPS, work->plan->path, chain, 1 + passes);
    struct fth_answers answers = {0};
    enum fth_status status = fth_ask(work->prober, &request, 1, &answers, error);
    if (status != FTH_OK)
        return status;
    uint64_t always = 0, often = 0, least = 1;
    for (uint64_t line = 0; line < count; line++) {
        uint64_t misses = count_misses(work, answers.items[0].cycles, count, line, passes);
        always += misses == passes;
        often += misses > passes / 4 && misses < passes;
    }
    /* Where some lines miss always and others never or now and then, the latter are disturbed. */
    if (always > 1 && often == 0 && passes >= LOOK_PASSES)
        least = passes;
    *same = true;
    for (uint64_t line = 0; line < count; line++) {
        uint64_t misses = count_misses(work, answers.items[0].cycles, count, line, passes);
        if (misses >= least && misses < passes)
            *same = false;
        if (misses >= least && !work->members[line]) {
            work->members[line] = true;
            work->member_count++;
        }
    }
    work->structure->samples += answers.items[0].count;
    fth_answers_fini(&answers);
    if (work->member_count == 0)
        return fth_fail(error, FTH_INCONCLUSIVE, "find sets", NULL,
                        "one line more than fits has no miss");
    return FTH_OK;
}

/* ---- stage two: which lines evict which ---- */

/* `other` UINT64_MAX: none, for comparison. The lines that fit are timed when they are loaded, too,
 * so that the code of timing is there when it counts; these samples come first and are not looked
 * at.
 */
static struct fth_request try_line(const struct work *work, uint64_t other)
{
    struct fth_chain all = lines_from(work, 0, 1, work->fits);
    struct fth_request request = fth_request_make(work->plan->carveout_percent);
    fth_request_add(&request, FTH_STEP_TIME_HOPS, work->plan->path, all, 1);
    if (other != UINT64_MAX)
        fth_request_add(&request, FTH_STEP_WALK, work->plan->path, lines_from(work, other, 1, 1),
                        1);
    fth_request_add(&request, FTH_STEP_TIME_HOPS, work->plan->path, all, 1);
    return request;
}

/* What is slow without another line: always (these lines are not looked at), or now and then (then
 * a majority decides). */
static enum fth_status compare(struct work *work, struct fth_error *error)
{
    struct fth_request requests[CONTROLS];
    for (size_t i = 0; i < CONTROLS; i++)
        requests[i] = try_line(work, UINT64_MAX);
    struct fth_answers answers = {0};
    enum fth_status status = fth_ask(work->prober, requests, CONTROLS, &answers, error);
    uint64_t ignored = 0, now_and_then = 0;
    for (uint64_t line = 0; line < work->fits && status == FTH_OK; line++) {
        unsigned slow = 0;
        for (size_t i = 0; i < CONTROLS; i++)
            slow += is_slow(work, answers.items[i].cycles[work->fits + line]);
        work->evictions.ignored[line] = slow > CONTROLS / 2;
        ignored += slow > CONTROLS / 2;
        now_and_then += slow && slow < CONTROLS;
    }
    fth_answers_fini(&answers);
    work->votes = now_and_then ? VOTES : 1;
    /* Where many lines are gone whenever a step begins, as on an H200, steps are of no use. */
    work->windows =
        work->plan->one_step || now_and_then > work->fits / 16 + 8 || ignored > work->fits / 2;
    if (work->windows)
        work->votes = 1;
    return status;
}

/* ---- the same without another step ---- */

/* One line more than fits is walked from several places on. What ever misses is in one set (Mei and
 * Chu 2017, Fig. 11). A window that lies across a power of two shows the part of that address bit.
 */
static enum fth_status try_windows(struct work *work, const uint64_t *starts, size_t count,
                                   struct fth_error *error)
{
    struct fth_request requests[WINDOWS] = {{0}};
    const uint64_t lines = work->fits + 1;
    for (size_t i = 0; i < count; i++) {
        requests[i] = fth_request_make(work->plan->carveout_percent);
        fth_request_add(&requests[i], FTH_STEP_TIME_HOPS, work->plan->path,
                        lines_from(work, starts[i], 1, lines), WINDOW_PASSES);
    }
    struct fth_answers answers = {0};
    enum fth_status status = fth_ask(work->prober, requests, count, &answers, error);
    for (size_t i = 0; i < count && status == FTH_OK; i++) {
        struct fth_evictions *all = &work->evictions;
        void *items = all->items;
        uint32_t *victims = calloc(lines, sizeof *victims);
        if (!victims || !fth_grow(&items, all->count, &all->capacity, sizeof *all->items)) {
            free(victims);
            status = out_of_memory(error);
            break;
        }
        all->items = items;
        size_t missed = 0;
        for (uint64_t line = 0; line < lines; line++) {
            bool ever = false;
            for (uint64_t pass = 2; pass < WINDOW_PASSES; pass++)
                ever = ever || is_slow(work, answers.items[i].cycles[pass * lines + line]);
            if (ever)
                victims[missed++] = (uint32_t)(starts[i] + line);
        }
        /* The first of them stands for the line that evicts the others. */
        uint64_t first = missed ? victims[0] : starts[i];
        missed -= missed > 0;
        memmove(victims, victims + 1, missed * sizeof *victims);
        all->items[all->count++] = (struct fth_eviction){first, victims, missed};
        work->structure->samples += answers.items[i].count;
    }
    fth_answers_fini(&answers);
    return status;
}

/* A place for a window; a multiple of 64 lines, so that the lines in it are spread as evenly as
 * those from 0 on. */
static uint64_t any_start(struct work *work)
{
    uint64_t room = (work->limit - work->fits - 1) / 64;
    return room ? 64 * fth_rng_below(&work->rng, room) : 0;
}

static enum fth_status find_windows(struct work *work, struct fth_error *error)
{
    uint64_t starts[WINDOWS];
    size_t count = 0;
    for (uint64_t border = 64; border < work->limit && count < WINDOWS / 2; border *= 2)
        if (border > work->fits / 2 && border + work->fits + 65 < work->limit)
            starts[count++] = (border - work->fits / 2) / 64 * 64;
    while (count < WINDOWS)
        starts[count++] = any_start(work);
    enum fth_status status = try_windows(work, starts, count, error);
    for (size_t i = 0; i < work->evictions.count; i++)
        work->far_evicting += work->evictions.items[i].count > 0;
    return status;
}

/* Lines that were evicted, in most of the votes. */
static enum fth_status keep_victims(struct work *work, uint64_t line,
                                    const struct fth_samples *answers, struct fth_error *error)
{
    struct fth_evictions *all = &work->evictions;
    void *items = all->items;
    if (!fth_grow(&items, all->count, &all->capacity, sizeof *all->items))
        return out_of_memory(error);
    all->items = items;
    struct fth_eviction *eviction = &all->items[all->count];
    *eviction = (struct fth_eviction){.line = line,
                                      .victims = calloc(work->fits, sizeof *eviction->victims)};
    if (!eviction->victims)
        return out_of_memory(error);
    all->count++;
    for (uint64_t at = 0; at < work->fits; at++) {
        unsigned slow = 0;
        for (unsigned vote = 0; vote < work->votes; vote++)
            slow += is_slow(work, answers[vote].cycles[work->fits + at]);
        if (slow > work->votes / 2 && !all->ignored[at])
            eviction->victims[eviction->count++] = (uint32_t)at;
    }
    return FTH_OK;
}

static enum fth_status try_lines(struct work *work, const uint64_t *lines, size_t count,
                                 struct fth_error *error)
{
    struct fth_request *requests = calloc(count * work->votes + 1, sizeof *requests);
    if (!requests)
        return out_of_memory(error);
    for (size_t i = 0; i < count * work->votes; i++)
        requests[i] = try_line(work, lines[i / work->votes]);
    struct fth_answers answers = {0};
    enum fth_status status = fth_ask(work->prober, requests, count * work->votes, &answers, error);
    for (size_t i = 0; i < count && status == FTH_OK; i++)
        status = keep_victims(work, lines[i], &answers.items[i * work->votes], error);
    for (size_t i = 0; i < answers.count; i++)
        work->structure->samples += answers.items[i].count;
    fth_answers_fini(&answers);
    free(requests);
    return status;
}

/* So many lines anywhere behind those that fit. */
static size_t choose_far(struct work *work, uint64_t *lines, size_t count)
{
    for (size_t i = 0; i < count; i++)
        lines[i] = work->fits + fth_rng_below(&work->rng, work->limit - work->fits);
    return work->limit > work->fits ? count : 0;
}

static size_t count_pairs(const struct work *work)
{
    size_t pairs = 0;
    for (size_t i = 0; i < work->evictions.count; i++)
        pairs += work->evictions.items[i].count;
    return pairs;
}

/* Lines anywhere that evicted something: those from `first` on. */
static size_t count_evicting(const struct work *work, size_t first)
{
    size_t evicting = 0;
    for (size_t i = first; i < work->evictions.count; i++)
        evicting += work->evictions.items[i].count > 0;
    return evicting;
}

/* First the lines right behind those that fit, and those with one high bit; then lines anywhere,
 * until enough of them evicted something: of a cache whose sets are not filled evenly, few do. */
static enum fth_status find_evictions(struct work *work, struct fth_error *error)
{
    uint64_t lines[WINDOW + FAR + 64];
    size_t count = 0;
    for (uint64_t line = work->fits; line < work->fits + WINDOW && line < work->limit; line++)
        lines[count++] = line;
    for (uint64_t line = 1; line < work->limit; line *= 2)
        if (line >= work->fits + WINDOW)
            lines[count++] = line;
    enum fth_status status = try_lines(work, lines, count, error);
    size_t far = FAR_HOPS / (work->fits + 1), near = work->evictions.count;
    far = far < FAR ? FAR : far;
    for (size_t tried = 0;
         status == FTH_OK && tried < far &&
         (count_evicting(work, near) < LEAST_EVICTING || count_pairs(work) < LEAST_PAIRS);
         tried += FAR) {
        count = choose_far(work, lines, FAR);
        status = try_lines(work, lines, count, error);
    }
    work->far_evicting = status == FTH_OK ? count_evicting(work, near) : 0;
    return status;
}

/* A hash could have any of the address bits in it, each of which must have been seen; a modulo is
 * known from few lines. */
static enum fth_status check_evictions(const struct work *work, struct fth_error *error)
{
    const struct fth_mapping *mapping = &work->structure->mapping;
    size_t needed = FEW_EVICTING;
    for (uint64_t bit = work->fits; mapping->kind == FTH_MAPPING_LINEAR && bit < work->limit;
         bit *= 2)
        needed++;
    if (work->far_evicting >= needed || fth_mapping_sets(mapping) == 1)
        return FTH_OK;
    return fth_fail(
        error, FTH_INCONCLUSIVE, "find sets", NULL,
        "of %zu further lines only %zu evicted others: the sets are filled too unevenly",
        work->evictions.count, count_evicting(work, 0));
}

/* Whether all lines of a set go in turn: where the line behind those that fit evicts the very lines
 * that miss when it is walked together with them. */
static bool is_whole(const struct work *work, bool same)
{
    const struct fth_eviction *first = &work->evictions.items[0];
    uint64_t expected = 0;
    for (uint64_t line = 0; line < work->fits; line++)
        expected += work->members[line] && !work->evictions.ignored[line];
    return same && first->count == expected;
}

/* Where whole sets go, and some lines that fit never did: those as far behind them as there are
 * lines that fit. Where lines are dealt to the sets, they are in the same ones. */
static enum fth_status complete(struct work *work, struct fth_error *error)
{
    bool *seen = calloc(work->fits, sizeof *seen);
    enum fth_status status = seen ? FTH_OK : out_of_memory(error);
    for (int round = 0; round < MOST_SETS && status == FTH_OK; round++) {
        for (size_t i = 0; i < work->evictions.count; i++)
            for (size_t k = 0; k < work->evictions.items[i].count; k++)
                seen[work->evictions.items[i].victims[k]] = true;
        uint64_t line = 0;
        while (line < work->fits && seen[line])
            line++;
        uint64_t other = line + work->fits;
        if (line == work->fits || other >= work->limit)
            break;
        seen[line] = true; /* whether or not it goes now */
        status = try_lines(work, &other, 1, error);
    }
    free(seen);
    return status;
}

/* ---- the test ---- */

/* A chain in one set that must fit with `ways` lines and not with one more. */
struct test {
    uint64_t set, line, stride, ways;
    bool fits, overflows; /* as seen */
};

static struct fth_request walk_set(const struct work *work, const struct test *test, uint64_t count)
{
    struct fth_chain chain = lines_from(work, test->line, test->stride, count);
    struct fth_request request = fth_request_make(work->plan->carveout_percent);
    fth_request_add(&request, FTH_STEP_WALK, work->plan->path, chain, 1);
    fth_request_add(&request, FTH_STEP_TIME_HOPS, work->plan->path, chain, 1 + work->votes);
    return request;
}

/* A set that overflows has a miss in every pass, whatever it replaces. Where disturbances have to
 * be told apart, it is one that always replaces the same way: then the same hop misses. */
static bool overflows(const struct work *work, const struct fth_samples *samples, uint64_t count)
{
    for (uint64_t hop = 0; hop < count; hop++)
        if (count_misses(work, samples->cycles, count, hop, work->votes) > work->votes / 2)
            return true;
    return false;
}

/* An array of each stride is laid out at its full length first: then it lies at a multiple of it,
 * and lines of the same number fall into the same set in all of them. */
static enum fth_status lay_out(const struct work *work, const struct test *tests, size_t count,
                               struct fth_error *error)
{
    struct fth_request *requests = calloc(count, sizeof *requests);
    struct fth_answers answers = {0};
    size_t strides = 0;
    if (!requests)
        return out_of_memory(error);
    for (size_t i = 0; i < count; i++) {
        bool first = true;
        for (size_t k = 0; k < i; k++)
            first = first && tests[k].stride != tests[i].stride;
        if (!first)
            continue;
        requests[strides] = fth_request_make(work->plan->carveout_percent);
        uint64_t last = (work->limit - 1) / tests[i].stride * tests[i].stride;
        fth_request_add(&requests[strides++], FTH_STEP_TIME_HOPS, work->plan->path,
                        lines_from(work, last - tests[i].stride, tests[i].stride, 1), 1);
    }
    enum fth_status status = fth_ask(work->prober, requests, strides, &answers, error);
    fth_answers_fini(&answers);
    free(requests);
    return status;
}

static enum fth_status run_tests(struct work *work, struct test *tests, size_t count,
                                 struct fth_error *error)
{
    struct fth_request *requests = calloc(2 * count, sizeof *requests);
    if (!requests)
        return out_of_memory(error);
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
static uint64_t *occupancy(const struct work *work)
{
    const struct fth_mapping *mapping = &work->structure->mapping;
    uint64_t *lines = calloc(fth_mapping_sets(mapping), sizeof *lines);
    for (uint64_t line = 0; lines && line < work->fits; line++)
        lines[fth_mapping_set(mapping, line)]++;
    return lines;
}

/* The ways of a set that was seen to be full: as many as it had lines. 0 where there is none; where
 * they differ, those of the first. */
static uint64_t full_ways(const struct work *work, const uint64_t *lines)
{
    for (size_t i = 0; i < work->evictions.count; i++)
        if (work->evictions.items[i].count)
            return lines[fth_mapping_set(&work->structure->mapping, work->evictions.items[i].line)];
    return 0;
}

/* Chains in one set each, over all sets where they are few, and several a set where they are very
 * few. */
static size_t plan_tests(const struct work *work, const uint64_t *ways, struct test *tests)
{
    const struct fth_mapping *mapping = &work->structure->mapping;
    uint64_t sets = fth_mapping_sets(mapping);
    size_t count = 0;
    for (unsigned skip = 0; skip < LEAST_TESTS && count < LEAST_TESTS; skip++)
        for (uint64_t i = 0; i < (sets < MOST_SETS ? sets : MOST_SETS) && count < MOST_SETS; i++) {
            uint64_t set = sets < MOST_SETS ? i : i * sets / MOST_SETS, line = 0;
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
static size_t plan_dealt(const struct work *work, const uint64_t *ways, struct test *tests)
{
    const struct fth_mapping *mapping = &work->structure->mapping;
    size_t count = 0;
    for (uint64_t set = 0; set < fth_mapping_sets(mapping) && count < MOST_SETS; set++) {
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
static enum fth_status measure_ways(struct work *work, uint64_t most, uint64_t *ways,
                                    struct fth_error *error)
{
    const struct fth_mapping *mapping = &work->structure->mapping;
    uint64_t sets = fth_mapping_sets(mapping);
    uint64_t low[MOST_SETS], high[MOST_SETS], longest[MOST_SETS];
    struct test tests[MOST_SETS];
    if (sets > MOST_SETS)
        return fth_fail(error, FTH_INCONCLUSIVE, "find ways", NULL,
                        "sets differ in size, and there are more than %d", MOST_SETS);
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
        high[set] = most; /* does not fit, or so it is hoped */
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
static bool agrees(const struct work *work, const uint64_t *lines, const uint64_t *ways)
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
static enum fth_status test_by_evictions(struct work *work, uint64_t ways, struct fth_error *error)
{
    uint64_t lines[LEAST_EVICTING];
    size_t before = work->evictions.count, right = 0, count = LEAST_EVICTING;
    bool same = false;
    uint64_t hops = (work->fits + 1) * ways;
    enum fth_status status = FTH_OK;
    if (2 * work->member_count <= ways + 1 && hops <= most_look_hops)
        status = look(work, ways, &same, error);
    if (status == FTH_OK && 2 * work->member_count <= ways + 1)
        status = fth_fail(error, FTH_INCONCLUSIVE, "find sets", NULL,
                          "what one line evicts was not seen often enough to tell how many others "
                          "it shares its set with");
    if (work->windows)
        for (size_t i = 0; i < count; i++)
            lines[i] = any_start(work);
    else
        count = choose_far(work, lines, LEAST_EVICTING);
    if (status == FTH_OK)
        status = work->windows ? try_windows(work, lines, count, error)
                               : try_lines(work, lines, count, error);
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
static uint64_t longest_chain(const struct work *work, const uint64_t *ways, uint64_t line,
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
static size_t plan_chains(struct work *work, const uint64_t *ways, struct test *tests)
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

static enum fth_status keep_ways(struct work *work, const uint64_t *ways, struct fth_error *error)
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
        return out_of_memory(error);
    memcpy(structure->set_ways, ways, structure->sets * sizeof *ways);
    return FTH_OK;
}

/* A set that was tested, for those who want to overflow one. */
static void keep_chain(struct work *work, const struct test *tests, size_t count)
{
    for (size_t i = count; i-- > 0;)
        if (tests[i].fits && tests[i].overflows)
            work->structure->one_set =
                lines_from(work, tests[i].line, tests[i].stride, tests[i].ways);
}

static enum fth_status test_mapping(struct work *work, struct fth_error *error)
{
    const struct fth_mapping *mapping = &work->structure->mapping;
    uint64_t sets = fth_mapping_sets(mapping);
    uint64_t *lines = occupancy(work), *ways = calloc(sets, sizeof *ways);
    struct test *tests = calloc((size_t)2 * MOST_SETS, sizeof *tests);
    enum fth_status status = lines && ways && tests ? FTH_OK : out_of_memory(error);
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
    if (status == FTH_OK && (dealt || count < LEAST_TESTS)) {
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

/* One set explains every eviction. That it is one shows only where more than half of all lines were
 * seen to go. */
static enum fth_status check_single(struct work *work, struct fth_error *error)
{
    if (fth_mapping_sets(&work->structure->mapping) > 1)
        return FTH_OK;
    bool same = false;
    enum fth_status status = FTH_OK;
    for (uint64_t passes = work->fits / 2;
         status == FTH_OK && 2 * work->member_count <= work->fits + 1 &&
         passes * work->fits <= most_look_hops && passes <= 4 * work->fits;
         passes *= 2)
        status = look(work, passes ? passes : 1, &same, error);
    if (status == FTH_OK && 2 * work->member_count <= work->fits + 1)
        status = fth_fail(error, FTH_INCONCLUSIVE, "find sets", NULL,
                          "no mapping of lines to sets explains which lines evict which");
    return status;
}

void fth_structure_fini(struct fth_structure *structure)
{
    fth_mapping_fini(&structure->mapping);
    free(structure->set_ways);
    *structure = (struct fth_structure){.confidence = NAN};
}

/* Which lines evict which, and the mapping that explains it. */
static enum fth_status find_mapping(struct work *work, bool same, struct fth_error *error)
{
    struct fth_error fault = FTH_NO_ERROR;
    enum fth_status status =
        work->windows ? find_windows(work, error) : find_evictions(work, error);
    if (status != FTH_OK)
        return status;
    work->evictions.whole = work->structure->whole = !work->windows && is_whole(work, same);
    if (count_pairs(work) < LEAST_PAIRS && !work->evictions.whole)
        return fth_fail(error, FTH_INCONCLUSIVE, "find sets", NULL,
                        "%zu further lines evicted only %zu others", work->evictions.count,
                        count_pairs(work));
    status = fth_mapping_fit(&work->evictions, &work->structure->mapping, &fault);
    if (status != FTH_INCONCLUSIVE)
        return status;
    if (work->evictions.whole)
        status = complete(work, error);
    if (status != FTH_OK && status != FTH_INCONCLUSIVE)
        return status;
    return fth_mapping_fit(&work->evictions, &work->structure->mapping, error);
}

/* Begins anew with what evicts what. */
static void forget(struct work *work, struct fth_error *error)
{
    for (size_t i = 0; i < work->evictions.count; i++)
        free(work->evictions.items[i].victims);
    work->evictions.count = 0;
    work->far_evicting = 0;
    fth_mapping_fini(&work->structure->mapping);
    if (error)
        *error = FTH_NO_ERROR;
}

static enum fth_status dissect(struct work *work, struct fth_error *error)
{
    bool same = false;
    enum fth_status status = count_fitting(work, error);
    if (status != FTH_OK)
        return status;
    work->members = calloc(work->fits + 1, sizeof *work->members);
    work->evictions.ignored = calloc(work->fits, sizeof *work->evictions.ignored);
    if (!work->members || !work->evictions.ignored)
        return out_of_memory(error);
    status = look(work, LOOK_PASSES, &same, error);
    if (status == FTH_OK)
        status = compare(work, error);
    if (status == FTH_OK && !work->windows && work->votes > 1 && !same)
        status = fth_fail(error, FTH_INCONCLUSIVE, "find sets", NULL,
                          "hits are slow now and then, and what is replaced differs from time to "
                          "time: the two cannot be told apart");
    if (status == FTH_OK)
        status = find_mapping(work, same, error);
    /* A single disturbance spoils it: then a majority decides, where that is possible. */
    if (status == FTH_INCONCLUSIVE && same && !work->windows && work->votes == 1) {
        forget(work, error);
        work->votes = VOTES;
        status = find_mapping(work, same, error);
    }
    if (status == FTH_OK)
        status = check_evictions(work, error);
    if (status == FTH_OK)
        status = check_single(work, error);
    if (status == FTH_OK)
        status = test_mapping(work, error);
    return status;
}

enum fth_status fth_probe_sets(const struct fth_prober *prober, const struct fth_cache_plan *plan,
                               struct fth_structure *structure, struct fth_error *error)
{
    struct work work = {.prober = prober, .plan = plan, .structure = structure};
    work.limit =
        (plan->path == FTH_PATH_CONSTANT ? bank_bytes : most_span_bytes) / plan->line_bytes;
    *structure = (struct fth_structure){.mapping = {.modulus = 1}, .confidence = NAN};
    fth_rng_init(&work.rng, 1);
    enum fth_status status = dissect(&work, error);
    if (status == FTH_OK) {
        bool named = fth_mapping_name(&structure->mapping, plan->line_bytes, structure->ways != 0,
                                      structure->hash, sizeof structure->hash);
        if (named)
            snprintf(structure->index, sizeof structure->index, "%.*s",
                     (int)sizeof structure->index - 1, structure->hash);
    }
    fth_evictions_fini(&work.evictions);
    free(work.members);
    if (status != FTH_OK)
        fth_structure_fini(structure);
    return status;
}
