/* Finds the sets and ways of a cache, and which lines share a set.
 *
 * The method follows Mei and Chu (2017, Section 4.2, Fig. 6): fill the cache to the last line, load
 * one more line, and see which lines were evicted. The evicted lines are in the set of the new one.
 * Mei and Chu increase the footprint by one line at a time. Here, each further line x is loaded
 * alone after the C lines [0, C) that fit. Evictions of different sets are therefore not mixed, and
 * x can be far away, which shows how high address bits affect the set:
 *
 *     load [0, C)    load x    time [0, C)      slow: lines in the set of x
 *
 * With LRU, timing [0, C) evicts all lines of the set one after the other. With a random
 * policy, one or a few lines are evicted. Either is sufficient to find the mapping of lines to sets
 * (mapping.c). sets_verify.c then verifies the mapping.
 *
 * A request as above has several steps. Some caches lose lines whenever a step starts (the L1 of an
 * H200). For these, requests have one step only: it walks a window, that is, C + 1 neighbouring
 * lines, several times. All lines of the window that ever miss are in one set (try_windows()). */
#include "probe/structure/probe_structure.h"

#include "probe/cache/probe_cache.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char operation[] = "find sets";

/* ---- lines that fit ---- */

enum {
    /* The largest footprint that is tried has SEARCH_FACTOR times the expected lines, and
     * EXTRA_SEARCH_LINES more, which matters for small caches. Chosen, not derived. */
    SEARCH_FACTOR = 4,
    EXTRA_SEARCH_LINES = 768,
    MAX_FITTING_LINES = 1 << 14, /* with more lines, the requests take too long. Chosen. */
    MEMBER_PASSES = 8,           /* timed passes over one line more than fits. Chosen. */
    /* A line that misses in at most one of RARE_PART passes is disturbed, if other lines miss in
     * every pass. Chosen, not derived. */
    RARE_PART = 4,
    /* Maximum passes over all lines, per line that fits, to show that there is one set. Chosen. */
    MAX_PASSES_PER_LINE = 4
};
/* Maximum fraction of the array that is tried, so that further lines remain: 3/4. Chosen. */
enum { ARRAY_NUMERATOR = 3, ARRAY_DENOMINATOR = 4 };
/* Size of the array that contains all lines. The device aligns arrays of up to 2 MiB to their size;
 * the constant bank has 64 KiB. */
static const uint64_t max_array_bytes = 2 << 20, constant_bank_bytes = 64 << 10;

/* ---- lines x that are loaded alone; the numbers balance evidence against time ---- */

enum {
    NEAR_LINES = 24, /* the first lines directly after those that fit. Chosen. */
    FAR_BATCH = 48,  /* random lines of the array, per batch of requests. Chosen. */
    MAX_POWERS = 64, /* lines whose index is a power of two */
    /* Limits the number of random lines: at most MAX_FAR_HOPS / (lines that fit + 1), but at least
     * FAR_BATCH. A request has about twice as many loads as fit. Chosen. */
    MAX_FAR_HOPS = 120000,
    /* Minimum number of pairs (line, evicted line). A mapping with twice the true number of sets
     * explains a pair by chance with probability 1/2, and 24 pairs with 2^-24. */
    MIN_PAIRS = 24,
    /* At least this number of random lines must evict another one, or the probe fails. A linear
     * hash needs more (check_evictions()). Chosen, not derived. The search itself has a higher aim:
     * within its limits, it tries random lines until FTH_SETS_MIN_EVICTING (24) of them evict
     * another one. */
    MIN_FAR_EVICTING = 6,
    VOTES = 3,        /* repeats of each request if hits are sometimes slow: a majority decides */
    CONTROL_RUNS = 4, /* requests without a line x, for comparison. Chosen. */
    /* Requests of several steps are useless if more lines than one in CONTROL_PART, plus
     * CONTROL_LINES, are lost in the control runs. Chosen, not derived. */
    CONTROL_PART = 16,
    CONTROL_LINES = 8
};

/* ---- windows ---- */

enum {
    WINDOWS = 24,       /* walks over one line more than fits, each with a different start */
    WINDOW_ALIGN = 64,  /* lines; see random_window_start(). Chosen, not derived. */
    WINDOW_PASSES = 24, /* passes of each walk. On an H200, every line of the overflowing set
                           misses at least once in 24 passes (docs/results/h200.md). */
    /* Passes that are ignored as a warm-up, as find_series() in dissect.c does: a line that is slow
     * only there need not be in the set. */
    WINDOW_WARM_PASSES = 2
};

struct fth_chain fth_sets_chain(const struct fth_sets_work *work, uint64_t line, uint64_t stride,
                                uint64_t count)
{
    return (struct fth_chain){.start_bytes = line * work->plan->line_bytes,
                              .stride_bytes = stride * work->plan->line_bytes,
                              .count = count};
}

static bool is_slow(const struct fth_sets_work *work, uint32_t cycles)
{
    return cycles > work->plan->threshold_cycles;
}

/* ---- the lines that fit, and the set that overflows with one line more ---- */

/* Measures how many lines of this array fit. The first request touches the last line, so that the
 * device allocates the array at its full length and does not move it later: the set of a line can
 * depend on the address of the array. */
static enum fth_status count_fitting(struct fth_sets_work *work, struct fth_error *error)
{
    const struct fth_cache_plan *plan = work->plan;
    struct fth_request request = fth_request_make(plan->carveout_percent);
    fth_request_add(&request, FTH_STEP_WALK, plan->path,
                    fth_sets_chain(work, work->limit - 1, 1, 1), 1);
    fth_request_add(&request, FTH_STEP_TIME_HOPS, plan->path, fth_sets_chain(work, 0, 1, 1), 1);
    struct fth_answers answers = {0};
    FTH_TRY(fth_ask(work->prober, &request, 1, &answers, error));
    fth_answers_fini(&answers);
    struct fth_capacity capacity = {0};
    const uint64_t expected = SEARCH_FACTOR * plan->fits_bytes / plan->line_bytes;
    const uint64_t largest =
        FTH_MIN(expected + EXTRA_SEARCH_LINES, work->limit * ARRAY_NUMERATOR / ARRAY_DENOMINATOR);
    /* fth_probe_capacity uses the geometric mean of the two latencies as its threshold. Equal
     * values make it use that of the plan. */
    const struct fth_capacity_plan size = {.path = plan->path,
                                           .carveout_percent = plan->carveout_percent,
                                           .stride_bytes = plan->line_bytes,
                                           .smallest_bytes = plan->line_bytes,
                                           .largest_bytes = largest * plan->line_bytes,
                                           .hit_cycles = plan->threshold_cycles,
                                           .miss_cycles = plan->threshold_cycles};
    FTH_TRY(fth_probe_capacity(work->prober, &size, &capacity, error));
    if (capacity.misses_bytes == 0)
        return fth_fail(error, FTH_INCONCLUSIVE, operation, NULL,
                        "no footprint within the limits of the search overflows the cache");
    work->fits = capacity.fits_bytes / plan->line_bytes;
    work->evictions.fits = work->fits;
    work->structure->samples += capacity.samples;
    if (work->fits > MAX_FITTING_LINES)
        return fth_fail(error, FTH_INCONCLUSIVE, operation, NULL,
                        "%llu lines fit, which is too many for this method",
                        (unsigned long long)work->fits);
    return FTH_OK;
}

uint64_t fth_sets_count_misses(const struct fth_sets_work *work, const uint32_t *cycles,
                               uint64_t count, uint64_t line, uint64_t passes)
{
    uint64_t misses = 0;
    for (uint64_t pass = 1; pass <= passes; pass++)
        misses += is_slow(work, cycles[pass * count + line]);
    return misses;
}

/* The members are the lines of the set that overflows. One more pass than `passes` is timed,
 * because the first timed pass is not evaluated. */
enum fth_status fth_sets_find_members(struct fth_sets_work *work, uint64_t passes, bool *same,
                                      struct fth_error *error)
{
    uint64_t count = work->fits + 1;
    struct fth_request request = fth_request_make(work->plan->carveout_percent);
    struct fth_chain chain = fth_sets_chain(work, 0, 1, count);
    fth_request_add(&request, FTH_STEP_WALK, work->plan->path, chain, 1);
    fth_request_add(&request, FTH_STEP_TIME_HOPS, work->plan->path, chain, 1 + passes);
    struct fth_answers answers = {0};
    FTH_TRY(fth_ask(work->prober, &request, 1, &answers, error));
    uint64_t always = 0, often = 0, min_misses = 1;
    for (uint64_t line = 0; line < count; line++) {
        uint64_t misses = fth_sets_count_misses(work, answers.items[0].cycles, count, line, passes);
        always += misses == passes;
        often += misses > passes / RARE_PART && misses < passes;
    }
    /* If some lines miss in every pass, and all others rarely, the misses of the latter are
     * disturbances. Fewer passes than MEMBER_PASSES do not suffice for
     * this conclusion; check_single() can ask for fewer. */
    if (always > 1 && often == 0 && passes >= MEMBER_PASSES)
        min_misses = passes;
    *same = true;
    for (uint64_t line = 0; line < count; line++) {
        uint64_t misses = fth_sets_count_misses(work, answers.items[0].cycles, count, line, passes);
        if (misses >= min_misses && misses < passes)
            *same = false;
        if (misses >= min_misses && !work->members[line]) {
            work->members[line] = true;
            work->member_count++;
        }
    }
    work->structure->samples += answers.items[0].count;
    fth_answers_fini(&answers);
    if (work->member_count == 0)
        return fth_fail(error, FTH_INCONCLUSIVE, operation, NULL,
                        "a walk over one line more than fits has no miss");
    return FTH_OK;
}

/* ---- which lines evict which ---- */

/* Makes a request that loads the lines that fit, then `other`, then times the former. If `other` is
 * UINT64_MAX, the request has no other line and serves as a control. The first step is timed, too,
 * only to bring the timing code into the instruction cache; its samples are ignored. */
static struct fth_request make_eviction_request(const struct fth_sets_work *work, uint64_t other)
{
    struct fth_chain all = fth_sets_chain(work, 0, 1, work->fits);
    struct fth_request request = fth_request_make(work->plan->carveout_percent);
    fth_request_add(&request, FTH_STEP_TIME_HOPS, work->plan->path, all, 1);
    if (other != UINT64_MAX)
        fth_request_add(&request, FTH_STEP_WALK, work->plan->path,
                        fth_sets_chain(work, other, 1, 1), 1);
    fth_request_add(&request, FTH_STEP_TIME_HOPS, work->plan->path, all, 1);
    return request;
}

/* Finds the lines that are slow even without another line. Lines that are slow in most control runs
 * are ignored later. If some are slow only sometimes, later requests are repeated and a majority
 * decides. Sets votes, use_windows and evictions.ignored. */
static enum fth_status run_controls(struct fth_sets_work *work, struct fth_error *error)
{
    struct fth_request requests[CONTROL_RUNS];
    for (size_t i = 0; i < CONTROL_RUNS; i++)
        requests[i] = make_eviction_request(work, UINT64_MAX);
    struct fth_answers answers = {0};
    FTH_TRY(fth_ask(work->prober, requests, CONTROL_RUNS, &answers, error));
    uint64_t ignored = 0, now_and_then = 0;
    for (uint64_t line = 0; line < work->fits; line++) {
        unsigned slow = 0;
        for (size_t i = 0; i < CONTROL_RUNS; i++)
            slow += is_slow(work, answers.items[i].cycles[work->fits + line]);
        work->evictions.ignored[line] = slow > CONTROL_RUNS / 2;
        ignored += slow > CONTROL_RUNS / 2;
        now_and_then += slow && slow < CONTROL_RUNS;
    }
    fth_answers_fini(&answers);
    work->votes = now_and_then ? VOTES : 1;
    /* The L1 of an H200 loses some of its oldest lines whenever a step of a request starts,
     * possibly the same lines every time. Requests of several steps are useless there. (A line that
     * is slow in three of four runs counts twice.) */
    work->use_windows =
        work->plan->one_step || now_and_then + ignored > work->fits / CONTROL_PART + CONTROL_LINES;
    if (work->use_windows) {
        work->votes = 1;
        memset(work->evictions.ignored, 0, work->fits * sizeof *work->evictions.ignored);
    }
    return FTH_OK;
}

/* ---- which lines evict which, with requests of one step: windows ---- */

/* Adds the replacements in one window to structure->choices, which counts the lines that the policy
 * chose as victims. `members` are the `count` lines of the window that ever miss, that is, the
 * lines of one set. The set has one way fewer than members, so at any time exactly one member is
 * not cached: the one that the latest miss evicted. The next line that misses is therefore the
 * victim of the miss before it. */
static enum fth_status add_window_choices(struct fth_sets_work *work,
                                          const struct fth_samples *samples, uint64_t start,
                                          const uint32_t *members, size_t count,
                                          struct fth_error *error)
{
    const uint64_t lines = work->fits + 1;
    uint32_t *missed = calloc(count * WINDOW_PASSES + 1, sizeof *missed);
    size_t misses = 0;
    if (!missed)
        return fth_no_memory(error, operation, NULL);
    /* Pass 0 fills the set. fth_choices_add needs all misses after the fill, so pass 1 counts here,
     * although try_windows() ignores it. */
    for (uint64_t pass = 1; pass < WINDOW_PASSES; pass++)
        for (uint32_t i = 0; i < count; i++)
            if (is_slow(work, samples->cycles[pass * lines + members[i] - start]))
                missed[misses++] = i;
    enum fth_status status =
        fth_choices_add(&work->structure->choices, count - 1, missed, misses, error);
    free(missed);
    return status;
}

/* Whether a line of a window missed in any pass after the warm-up. */
static bool ever_misses(const struct fth_sets_work *work, const struct fth_samples *samples,
                        uint64_t line)
{
    for (uint64_t pass = WINDOW_WARM_PASSES; pass < WINDOW_PASSES; pass++)
        if (is_slow(work, samples->cycles[pass * (work->fits + 1) + line]))
            return true;
    return false;
}

/* Appends the lines of a window that ever miss to work->evictions. */
static enum fth_status record_window(struct fth_sets_work *work, uint64_t start,
                                     const struct fth_samples *samples, struct fth_error *error)
{
    const uint64_t lines = work->fits + 1;
    struct fth_evictions *all = &work->evictions;
    void *items = all->items;
    uint32_t *victims = calloc(lines, sizeof *victims);
    if (!victims || !fth_grow(&items, all->count, &all->capacity, sizeof *all->items)) {
        free(victims);
        return fth_no_memory(error, operation, NULL);
    }
    all->items = items;
    size_t missed = 0;
    for (uint64_t line = 0; line < lines; line++)
        if (ever_misses(work, samples, line))
            victims[missed++] = (uint32_t)(start + line);
    enum fth_status status =
        missed > 1 ? add_window_choices(work, samples, start, victims, missed, error) : FTH_OK;
    /* Record the window as if the first line of the set had evicted the others. */
    const uint64_t first = missed ? victims[0] : start;
    missed -= missed > 0;
    memmove(victims, victims + 1, missed * sizeof *victims);
    all->items[all->count++] = (struct fth_eviction){first, victims, missed};
    work->structure->samples += samples->count;
    return status;
}

/* Walks windows of one line more than fits, at the given starts, in requests of one step. All lines
 * that ever miss in a window are in one set (Mei and Chu 2017, Section 4.5, Fig. 11). If a window
 * has lines on both sides of line 2^n, they differ in bit n of the line index. This shows whether
 * that bit affects the set. `count` is at most WINDOWS. */
static enum fth_status try_windows(struct fth_sets_work *work, const uint64_t *starts, size_t count,
                                   struct fth_error *error)
{
    struct fth_request requests[WINDOWS] = {{0}};
    for (size_t i = 0; i < count; i++) {
        requests[i] = fth_request_make(work->plan->carveout_percent);
        fth_request_add(&requests[i], FTH_STEP_TIME_HOPS, work->plan->path,
                        fth_sets_chain(work, starts[i], 1, work->fits + 1), WINDOW_PASSES);
    }
    struct fth_answers answers = {0};
    enum fth_status status = fth_ask(work->prober, requests, count, &answers, error);
    for (size_t i = 0; i < answers.count && status == FTH_OK; i++)
        status = record_window(work, starts[i], &answers.items[i], error);
    fth_answers_fini(&answers);
    return status;
}

/* Returns a random start of a window. It is a multiple of WINDOW_ALIGN lines, so that the lines of
 * the window are distributed over the sets as evenly as those from line 0 on. This holds for index
 * functions whose sequence of sets repeats every WINDOW_ALIGN lines, either exactly or with the
 * sets permuted. */
static uint64_t random_window_start(struct fth_sets_work *work)
{
    uint64_t positions = (work->limit - work->fits - 1) / WINDOW_ALIGN;
    return positions ? WINDOW_ALIGN * fth_rng_below(&work->rng, positions) : 0;
}

/* Finds evictions with windows. At most half of them are placed around a border, that is, a line
 * whose index is a power of two. The others start at random lines. */
static enum fth_status find_evictions_by_windows(struct fth_sets_work *work,
                                                 struct fth_error *error)
{
    uint64_t starts[WINDOWS];
    size_t count = 0;
    /* The border is about in the middle of the window. The condition keeps the window within the
     * array, with a margin of more than half a window. Borders below WINDOW_ALIGN would give the
     * start 0. */
    for (uint64_t border = WINDOW_ALIGN; border < work->limit && count < WINDOWS / 2; border *= 2)
        if (border > work->fits / 2 && border + work->fits + WINDOW_ALIGN + 1 < work->limit)
            starts[count++] = (border - work->fits / 2) / WINDOW_ALIGN * WINDOW_ALIGN;
    while (count < WINDOWS)
        starts[count++] = random_window_start(work);
    enum fth_status status = try_windows(work, starts, count, error);
    /* Windows take the place of random lines here: those with an eviction are counted. */
    for (size_t i = 0; i < work->evictions.count; i++)
        work->far_evicting += work->evictions.items[i].count > 0;
    return status;
}

/* Appends to work->evictions the lines that `line` evicted in a majority of the `votes` answers. */
static enum fth_status record_victims(struct fth_sets_work *work, uint64_t line,
                                      const struct fth_samples *answers, struct fth_error *error)
{
    struct fth_evictions *all = &work->evictions;
    void *items = all->items;
    if (!fth_grow(&items, all->count, &all->capacity, sizeof *all->items))
        return fth_no_memory(error, operation, NULL);
    all->items = items;
    struct fth_eviction *eviction = &all->items[all->count];
    *eviction = (struct fth_eviction){.line = line,
                                      .victims = calloc(work->fits, sizeof *eviction->victims)};
    if (!eviction->victims)
        return fth_no_memory(error, operation, NULL);
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

/* Measures which lines each of `lines` evicts, and appends the results to work->evictions. */
static enum fth_status try_lines(struct fth_sets_work *work, const uint64_t *lines, size_t count,
                                 struct fth_error *error)
{
    struct fth_request *requests = calloc(count * work->votes + 1, sizeof *requests);
    if (!requests)
        return fth_no_memory(error, operation, NULL);
    for (size_t i = 0; i < count * work->votes; i++)
        requests[i] = make_eviction_request(work, lines[i / work->votes]);
    struct fth_answers answers = {0};
    enum fth_status status = fth_ask(work->prober, requests, count * work->votes, &answers, error);
    for (size_t i = 0; i < count && status == FTH_OK; i++)
        status = record_victims(work, lines[i], &answers.items[i * work->votes], error);
    for (size_t i = 0; i < answers.count; i++)
        work->structure->samples += answers.items[i].count;
    fth_answers_fini(&answers);
    free(requests);
    return status;
}

/* Chooses `count` random lines after those that fit, and returns `count`. It would return 0 if
 * there were no such lines, but they always exist: at most three quarters of the array fit
 * (count_fitting()). */
static size_t choose_far_lines(struct fth_sets_work *work, uint64_t *lines, size_t count)
{
    for (size_t i = 0; i < count; i++)
        lines[i] = work->fits + fth_rng_below(&work->rng, work->limit - work->fits);
    return work->limit > work->fits ? count : 0;
}

/* Returns the number of pairs (line, evicted line). */
static size_t count_pairs(const struct fth_sets_work *work)
{
    size_t pairs = 0;
    for (size_t i = 0; i < work->evictions.count; i++)
        pairs += work->evictions.items[i].count;
    return pairs;
}

/* Returns the number of lines that evicted another one, among evictions from index `first` on. */
static size_t count_evicting(const struct fth_sets_work *work, size_t first)
{
    size_t evicting = 0;
    for (size_t i = first; i < work->evictions.count; i++)
        evicting += work->evictions.items[i].count > 0;
    return evicting;
}

/* Tries the lines directly after those that fit and the lines whose index is a power of two. Then
 * tries random lines until enough of them evicted another one. This can take many lines, because
 * only a few evict another one if the lines that fit do not fill all sets. */
static enum fth_status find_evictions(struct fth_sets_work *work, struct fth_error *error)
{
    uint64_t lines[NEAR_LINES + FAR_BATCH + MAX_POWERS];
    size_t count = 0;
    for (uint64_t line = work->fits; line < work->fits + NEAR_LINES && line < work->limit; line++)
        lines[count++] = line;
    for (uint64_t line = 1; line < work->limit; line *= 2)
        if (line >= work->fits + NEAR_LINES)
            lines[count++] = line;
    FTH_TRY(try_lines(work, lines, count, error));
    size_t max_far_lines = MAX_FAR_HOPS / (work->fits + 1), first_far = work->evictions.count;
    max_far_lines = max_far_lines < FAR_BATCH ? FAR_BATCH : max_far_lines;
    for (size_t tried = 0;
         tried < max_far_lines &&
         (count_evicting(work, first_far) < FTH_SETS_MIN_EVICTING || count_pairs(work) < MIN_PAIRS);
         tried += FAR_BATCH) {
        count = choose_far_lines(work, lines, FAR_BATCH);
        FTH_TRY(try_lines(work, lines, count, error));
    }
    work->far_evicting = count_evicting(work, first_far);
    return FTH_OK;
}

/* Fails if too few random lines (or windows) evicted another line to determine the mapping. A
 * modulo is determined by few lines. A linear hash, that is, XORs of address bits, can use any
 * address bit. The lines that fit do not differ in the higher bits of their index. Only further
 * lines show the effect of these bits, so one more line (or window) is needed for each of them. For
 * a mapping to one set, check_single() decides instead. */
static enum fth_status check_evictions(const struct fth_sets_work *work, struct fth_error *error)
{
    const struct fth_mapping *mapping = &work->structure->mapping;
    size_t needed = MIN_FAR_EVICTING;
    /* One more for each doubling from the lines that fit to those of the array, that is, for each
     * higher bit of the line index. */
    for (uint64_t bit = work->fits; mapping->kind == FTH_MAPPING_LINEAR && bit < work->limit;
         bit *= 2)
        needed++;
    if (work->far_evicting >= needed || fth_mapping_sets(mapping) == 1)
        return FTH_OK;
    return fth_fail(
        error, FTH_INCONCLUSIVE, operation, NULL,
        "%zu experiments were made, but only %zu showed an eviction: the sets fill too unevenly",
        work->evictions.count, count_evicting(work, 0));
}

/* Whether one line too many evicts all lines of its set, one after the other. True if loading line
 * C once evicts as many of the lines [0, C) as miss in walks over [0, C], and if these walks miss
 * the same lines in every pass (`same`). */
static bool evicts_whole_sets(const struct fth_sets_work *work, bool same)
{
    const struct fth_eviction *first = &work->evictions.items[0];
    uint64_t expected = 0;
    for (uint64_t line = 0; line < work->fits; line++)
        expected += work->members[line] && !work->evictions.ignored[line];
    return same && first->count == expected;
}

/* For caches that evict whole sets: some lines that fit may never have been evicted so far. For
 * each such line, tries the line `fits` lines after it. Under a round-robin mapping, which repeats
 * after `fits` lines, both are in the same set. */
static enum fth_status try_unseen_lines(struct fth_sets_work *work, struct fth_error *error)
{
    bool *seen = calloc(work->fits, sizeof *seen);
    enum fth_status status = seen ? FTH_OK : fth_no_memory(error, operation, NULL);
    for (int round = 0; round < FTH_SETS_MAX_TESTED && status == FTH_OK; round++) {
        for (size_t i = 0; i < work->evictions.count; i++)
            for (size_t k = 0; k < work->evictions.items[i].count; k++)
                seen[work->evictions.items[i].victims[k]] = true;
        uint64_t line = 0;
        while (line < work->fits && seen[line])
            line++;
        uint64_t other = line + work->fits;
        if (line == work->fits || other >= work->limit)
            break;
        seen[line] = true; /* even if it is not evicted now: try it only once */
        status = try_lines(work, &other, 1, error);
    }
    free(seen);
    return status;
}

enum fth_status fth_sets_try_more(struct fth_sets_work *work, size_t *count,
                                  struct fth_error *error)
{
    uint64_t lines[FTH_SETS_MIN_EVICTING];
    *count = FTH_SETS_MIN_EVICTING;
    if (!work->use_windows) {
        *count = choose_far_lines(work, lines, FTH_SETS_MIN_EVICTING);
        return try_lines(work, lines, *count, error);
    }
    /* FTH_SETS_MIN_EVICTING must not be greater than WINDOWS, the maximum of try_windows(). */
    for (size_t i = 0; i < *count; i++)
        lines[i] = random_window_start(work);
    return try_windows(work, lines, *count, error);
}

/* ---- all steps of the method ---- */

/* Checks a mapping to one set. It explains every eviction, so it needs more evidence: more than
 * half of all lines must have been seen to miss in a walk over one line more than fits. */
static enum fth_status check_single(struct fth_sets_work *work, struct fth_error *error)
{
    if (fth_mapping_sets(&work->structure->mapping) > 1)
        return FTH_OK;
    bool same = false;
    /* The number of passes doubles. FTH_SETS_MAX_HOPS limits the time of a walk. */
    for (uint64_t passes = work->fits > 1 ? work->fits / 2 : 1;
         2 * work->member_count <= work->fits + 1 && passes * work->fits <= FTH_SETS_MAX_HOPS &&
         passes <= MAX_PASSES_PER_LINE * work->fits;
         passes *= 2)
        FTH_TRY(fth_sets_find_members(work, passes, &same, error));
    if (2 * work->member_count <= work->fits + 1)
        return fth_fail(error, FTH_INCONCLUSIVE, operation, NULL,
                        "no mapping of lines to sets explains which lines evict each other");
    return FTH_OK;
}

void fth_structure_fini(struct fth_structure *structure)
{
    fth_mapping_fini(&structure->mapping);
    fth_choices_fini(&structure->choices);
    free(structure->set_ways);
    *structure = (struct fth_structure){0};
}

/* Finds which lines evict which, and the mapping that explains it. `same`: the lines that miss are
 * the same in every pass. */
static enum fth_status find_mapping(struct fth_sets_work *work, bool same, struct fth_error *error)
{
    struct fth_error fault = FTH_NO_ERROR;
    FTH_TRY(work->use_windows ? find_evictions_by_windows(work, error)
                              : find_evictions(work, error));
    work->evictions.whole_sets = work->structure->whole_sets =
        !work->use_windows && evicts_whole_sets(work, same);
    if (count_pairs(work) < MIN_PAIRS && !work->evictions.whole_sets)
        return fth_fail(error, FTH_INCONCLUSIVE, operation, NULL,
                        "%zu experiments showed only %zu evicted lines, too few to find a mapping",
                        work->evictions.count, count_pairs(work));
    /* If no mapping fits yet, this is not an error, and `fault` is discarded. More lines may be
     * tried, and the second fit below reports the error. */
    enum fth_status status = fth_mapping_fit(&work->evictions, &work->structure->mapping, &fault);
    if (status == FTH_OK)
        return FTH_OK;
    if (status != FTH_INCONCLUSIVE)
        return fth_error_move(error, &fault);
    if (work->evictions.whole_sets)
        FTH_TRY(try_unseen_lines(work, error));
    return fth_mapping_fit(&work->evictions, &work->structure->mapping, error);
}

/* Discards all evictions and the mapping, to repeat the measurement. */
static void reset_evictions(struct fth_sets_work *work)
{
    for (size_t i = 0; i < work->evictions.count; i++)
        free(work->evictions.items[i].victims);
    work->evictions.count = 0;
    work->far_evicting = 0;
    fth_mapping_fini(&work->structure->mapping);
}

/* Finds the mapping. A single disturbance makes the evictions inconsistent. If the policy always
 * evicts the same lines (`same`), the requests are then repeated, and a majority decides. */
static enum fth_status find_stable_mapping(struct fth_sets_work *work, bool same,
                                           struct fth_error *error)
{
    struct fth_error fault = FTH_NO_ERROR;
    enum fth_status status = find_mapping(work, same, &fault);
    if (status == FTH_OK)
        return FTH_OK;
    if (status != FTH_INCONCLUSIVE || !same || work->use_windows || work->votes > 1)
        return fth_error_move(error, &fault);
    reset_evictions(work);
    work->votes = VOTES;
    return find_mapping(work, same, error);
}

/* Measures how many lines fit and which lines evict which, finds the mapping and has it verified.
 */
static enum fth_status dissect(struct fth_sets_work *work, struct fth_error *error)
{
    bool same = false;
    FTH_TRY(count_fitting(work, error));
    work->members = calloc(work->fits + 1, sizeof *work->members);
    work->evictions.ignored = calloc(work->fits, sizeof *work->evictions.ignored);
    if (!work->members || !work->evictions.ignored)
        return fth_no_memory(error, operation, NULL);
    FTH_TRY(fth_sets_find_members(work, MEMBER_PASSES, &same, error));
    FTH_TRY(run_controls(work, error));
    if (!work->use_windows && work->votes > 1 && !same)
        return fth_fail(error, FTH_INCONCLUSIVE, operation, NULL,
                        "some hits are slow and the lines that miss change from pass to pass, so "
                        "misses cannot be distinguished from disturbances");
    FTH_TRY(find_stable_mapping(work, same, error));
    FTH_TRY(check_evictions(work, error));
    FTH_TRY(check_single(work, error));
    return fth_sets_verify(work, error);
}

enum fth_status fth_probe_sets(const struct fth_prober *prober, const struct fth_cache_plan *plan,
                               struct fth_structure *structure, struct fth_error *error)
{
    struct fth_sets_work work = {.prober = prober, .plan = plan, .structure = structure};
    /* The number of lines in the array. */
    work.limit = (plan->path == FTH_PATH_CONSTANT ? constant_bank_bytes : max_array_bytes) /
                 plan->line_bytes;
    *structure = (struct fth_structure){.mapping = {.modulus = 1}};
    fth_rng_init(&work.rng, 1);
    enum fth_status status = dissect(&work, error);
    if (status == FTH_OK) {
        /* structure->hash receives the name of the mapping, or its formula if it has no name,
         * even if it is not a hash. structure->index receives only a name. */
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
