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
 * find the mapping (mapping.c). It is then put to the test (sets_test.c). */
#include "probe/sets.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    WINDOW = 24,       /* lines right behind those that fit, each tried */
    FAR = 48,          /* lines anywhere, at a time */
    FAR_HOPS = 120000, /* and in all as many as make so many loads */
    MIN_PAIRS = 24,    /* a mapping twice too fine would explain so many by chance in 1 of 10^7 */
    FEW_EVICTING = 6,  /* the least that will do */
    WINDOWS = 24,      /* places from which one line more than fits is walked */
    WINDOW_PASSES = 24,
    CONTROLS = 4,       /* the same without another line */
    VOTES = 3,          /* where hits are slow now and then */
    LOOK_PASSES = 8,    /* over one line more than fits */
    MIN_LINES = 768,    /* that are tried to overflow it */
    MAX_LINES = 1 << 14 /* that fit: beyond, it takes too long */
};
/* Arrays up to this size lie at a multiple of their size. */
static const uint64_t max_span_bytes = 2 << 20, bank_bytes = 64 << 10;

struct fth_chain fth_sets_lines(const struct fth_sets_work *work, uint64_t line, uint64_t stride,
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

/* ---- stage one: one line more than fits ---- */

/* The lines that fit, counted anew. Which lines come together in a set may depend on where the
 * array lies, so that it is laid out at its full length first, and stays there. */
static enum fth_status count_fitting(struct fth_sets_work *work, struct fth_error *error)
{
    const struct fth_cache_plan *plan = work->plan;
    struct fth_request request = fth_request_make(plan->carveout_percent);
    fth_request_add(&request, FTH_STEP_WALK, plan->path,
                    fth_sets_lines(work, work->limit - 1, 1, 1), 1);
    fth_request_add(&request, FTH_STEP_TIME_HOPS, plan->path, fth_sets_lines(work, 0, 1, 1), 1);
    struct fth_answers answers = {0};
    enum fth_status status = fth_ask(work->prober, &request, 1, &answers, error);
    fth_answers_fini(&answers);
    struct fth_capacity capacity = {0};
    uint64_t largest = 4 * plan->fits_bytes / plan->line_bytes + MIN_LINES;
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
    if (status == FTH_OK && work->fits > MAX_LINES)
        status = fth_fail(error, FTH_INCONCLUSIVE, "find sets", NULL,
                          "%llu lines fit, which are too many for this method",
                          (unsigned long long)work->fits);
    return status;
}

uint64_t fth_sets_misses(const struct fth_sets_work *work, const uint32_t *cycles, uint64_t count,
                         uint64_t line, uint64_t passes)
{
    uint64_t misses = 0;
    for (uint64_t pass = 1; pass <= passes; pass++)
        misses += is_slow(work, cycles[pass * count + line]);
    return misses;
}

enum fth_status fth_sets_look(struct fth_sets_work *work, uint64_t passes, bool *same,
                              struct fth_error *error)
{
    uint64_t count = work->fits + 1;
    struct fth_request request = fth_request_make(work->plan->carveout_percent);
    struct fth_chain chain = fth_sets_lines(work, 0, 1, count);
    fth_request_add(&request, FTH_STEP_WALK, work->plan->path, chain, 1);
    fth_request_add(&request, FTH_STEP_TIME_HOPS, work->plan->path, chain, 1 + passes);
    struct fth_answers answers = {0};
    enum fth_status status = fth_ask(work->prober, &request, 1, &answers, error);
    if (status != FTH_OK)
        return status;
    uint64_t always = 0, often = 0, min = 1;
    for (uint64_t line = 0; line < count; line++) {
        uint64_t misses = fth_sets_misses(work, answers.items[0].cycles, count, line, passes);
        always += misses == passes;
        often += misses > passes / 4 && misses < passes;
    }
    /* Where some lines miss always and others never or now and then, the latter are disturbed. */
    if (always > 1 && often == 0 && passes >= LOOK_PASSES)
        min = passes;
    *same = true;
    for (uint64_t line = 0; line < count; line++) {
        uint64_t misses = fth_sets_misses(work, answers.items[0].cycles, count, line, passes);
        if (misses >= min && misses < passes)
            *same = false;
        if (misses >= min && !work->members[line]) {
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
static struct fth_request try_line(const struct fth_sets_work *work, uint64_t other)
{
    struct fth_chain all = fth_sets_lines(work, 0, 1, work->fits);
    struct fth_request request = fth_request_make(work->plan->carveout_percent);
    fth_request_add(&request, FTH_STEP_TIME_HOPS, work->plan->path, all, 1);
    if (other != UINT64_MAX)
        fth_request_add(&request, FTH_STEP_WALK, work->plan->path,
                        fth_sets_lines(work, other, 1, 1), 1);
    fth_request_add(&request, FTH_STEP_TIME_HOPS, work->plan->path, all, 1);
    return request;
}

/* What is slow without another line: always (these lines are not looked at), or now and then (then
 * a majority decides). */
static enum fth_status compare(struct fth_sets_work *work, struct fth_error *error)
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
    /* Where many lines are gone whenever a step begins, as on an H200, steps are of no use. They
     * may well be the same ones every time. */
    work->windows = work->plan->one_step || now_and_then + ignored > work->fits / 16 + 8;
    if (work->windows) {
        work->votes = 1;
        memset(work->evictions.ignored, 0, work->fits * sizeof *work->evictions.ignored);
    }
    return status;
}

/* ---- the same without another step ---- */

/* The lines of a window that ever miss are those of one set. In which order they do tells which of
 * them is replaced. */
static enum fth_status follow_window(struct fth_sets_work *work, const struct fth_samples *samples,
                                     uint64_t start, const uint32_t *members, size_t count,
                                     struct fth_error *error)
{
    const uint64_t lines = work->fits + 1;
    uint32_t *missed = calloc(count * WINDOW_PASSES + 1, sizeof *missed);
    size_t misses = 0;
    if (!missed)
        return fth_sets_no_memory(error);
    for (uint64_t pass = 1; pass < WINDOW_PASSES; pass++)
        for (uint32_t i = 0; i < count; i++)
            if (is_slow(work, samples->cycles[pass * lines + members[i] - start]))
                missed[misses++] = i;
    enum fth_status status =
        fth_choices_follow(&work->structure->choices, count - 1, missed, misses, error);
    free(missed);
    return status;
}

/* One line more than fits is walked from several places on. What ever misses is in one set (Mei and
 * Chu 2017, Fig. 11). A window that lies across a power of two shows the part of that address bit.
 */
static enum fth_status try_windows(struct fth_sets_work *work, const uint64_t *starts, size_t count,
                                   struct fth_error *error)
{
    struct fth_request requests[WINDOWS] = {{0}};
    const uint64_t lines = work->fits + 1;
    for (size_t i = 0; i < count; i++) {
        requests[i] = fth_request_make(work->plan->carveout_percent);
        fth_request_add(&requests[i], FTH_STEP_TIME_HOPS, work->plan->path,
                        fth_sets_lines(work, starts[i], 1, lines), WINDOW_PASSES);
    }
    struct fth_answers answers = {0};
    enum fth_status status = fth_ask(work->prober, requests, count, &answers, error);
    for (size_t i = 0; i < count && status == FTH_OK; i++) {
        struct fth_evictions *all = &work->evictions;
        void *items = all->items;
        uint32_t *victims = calloc(lines, sizeof *victims);
        if (!victims || !fth_grow(&items, all->count, &all->capacity, sizeof *all->items)) {
            free(victims);
            status = fth_sets_no_memory(error);
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
        if (missed > 1)
            status = follow_window(work, &answers.items[i], starts[i], victims, missed, error);
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
static uint64_t any_start(struct fth_sets_work *work)
{
    uint64_t room = (work->limit - work->fits - 1) / 64;
    return room ? 64 * fth_rng_below(&work->rng, room) : 0;
}

static enum fth_status find_windows(struct fth_sets_work *work, struct fth_error *error)
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
static enum fth_status keep_victims(struct fth_sets_work *work, uint64_t line,
                                    const struct fth_samples *answers, struct fth_error *error)
{
    struct fth_evictions *all = &work->evictions;
    void *items = all->items;
    if (!fth_grow(&items, all->count, &all->capacity, sizeof *all->items))
        return fth_sets_no_memory(error);
    all->items = items;
    struct fth_eviction *eviction = &all->items[all->count];
    *eviction = (struct fth_eviction){.line = line,
                                      .victims = calloc(work->fits, sizeof *eviction->victims)};
    if (!eviction->victims)
        return fth_sets_no_memory(error);
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

static enum fth_status try_lines(struct fth_sets_work *work, const uint64_t *lines, size_t count,
                                 struct fth_error *error)
{
    struct fth_request *requests = calloc(count * work->votes + 1, sizeof *requests);
    if (!requests)
        return fth_sets_no_memory(error);
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
static size_t choose_far(struct fth_sets_work *work, uint64_t *lines, size_t count)
{
    for (size_t i = 0; i < count; i++)
        lines[i] = work->fits + fth_rng_below(&work->rng, work->limit - work->fits);
    return work->limit > work->fits ? count : 0;
}

static size_t count_pairs(const struct fth_sets_work *work)
{
    size_t pairs = 0;
    for (size_t i = 0; i < work->evictions.count; i++)
        pairs += work->evictions.items[i].count;
    return pairs;
}

/* Lines anywhere that evicted something: those from `first` on. */
static size_t count_evicting(const struct fth_sets_work *work, size_t first)
{
    size_t evicting = 0;
    for (size_t i = first; i < work->evictions.count; i++)
        evicting += work->evictions.items[i].count > 0;
    return evicting;
}

/* First the lines right behind those that fit, and those with one high bit; then lines anywhere,
 * until enough of them evicted something: of a cache whose sets are not filled evenly, few do. */
static enum fth_status find_evictions(struct fth_sets_work *work, struct fth_error *error)
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
         (count_evicting(work, near) < FTH_SETS_MIN_EVICTING || count_pairs(work) < MIN_PAIRS);
         tried += FAR) {
        count = choose_far(work, lines, FAR);
        status = try_lines(work, lines, count, error);
    }
    work->far_evicting = status == FTH_OK ? count_evicting(work, near) : 0;
    return status;
}

/* A hash could have any of the address bits in it, each of which must have been seen; a modulo is
 * known from few lines. */
static enum fth_status check_evictions(const struct fth_sets_work *work, struct fth_error *error)
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
static bool is_whole(const struct fth_sets_work *work, bool same)
{
    const struct fth_eviction *first = &work->evictions.items[0];
    uint64_t expected = 0;
    for (uint64_t line = 0; line < work->fits; line++)
        expected += work->members[line] && !work->evictions.ignored[line];
    return same && first->count == expected;
}

/* Where whole sets go, and some lines that fit never did: those as far behind them as there are
 * lines that fit. Where lines are dealt to the sets, they are in the same ones. */
static enum fth_status complete(struct fth_sets_work *work, struct fth_error *error)
{
    bool *seen = calloc(work->fits, sizeof *seen);
    enum fth_status status = seen ? FTH_OK : fth_sets_no_memory(error);
    for (int round = 0; round < FTH_SETS_MAX && status == FTH_OK; round++) {
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

enum fth_status fth_sets_try_more(struct fth_sets_work *work, size_t *count,
                                  struct fth_error *error)
{
    uint64_t lines[FTH_SETS_MIN_EVICTING];
    *count = FTH_SETS_MIN_EVICTING;
    if (!work->windows) {
        *count = choose_far(work, lines, FTH_SETS_MIN_EVICTING);
        return try_lines(work, lines, *count, error);
    }
    for (size_t i = 0; i < *count; i++)
        lines[i] = any_start(work);
    return try_windows(work, lines, *count, error);
}

/* ---- all of it ---- */

/* One set explains every eviction. That it is one shows only where more than half of all lines were
 * seen to go. */
static enum fth_status check_single(struct fth_sets_work *work, struct fth_error *error)
{
    if (fth_mapping_sets(&work->structure->mapping) > 1)
        return FTH_OK;
    bool same = false;
    enum fth_status status = FTH_OK;
    for (uint64_t passes = work->fits / 2;
         status == FTH_OK && 2 * work->member_count <= work->fits + 1 &&
         passes * work->fits <= fth_sets_max_hops && passes <= 4 * work->fits;
         passes *= 2)
        status = fth_sets_look(work, passes ? passes : 1, &same, error);
    if (status == FTH_OK && 2 * work->member_count <= work->fits + 1)
        status = fth_fail(error, FTH_INCONCLUSIVE, "find sets", NULL,
                          "no mapping of lines to sets explains which lines evict which");
    return status;
}

void fth_structure_fini(struct fth_structure *structure)
{
    fth_mapping_fini(&structure->mapping);
    fth_choices_fini(&structure->choices);
    free(structure->set_ways);
    *structure = (struct fth_structure){.confidence = NAN};
}

/* Which lines evict which, and the mapping that explains it. */
static enum fth_status find_mapping(struct fth_sets_work *work, bool same, struct fth_error *error)
{
    struct fth_error fault = FTH_NO_ERROR;
    enum fth_status status =
        work->windows ? find_windows(work, error) : find_evictions(work, error);
    if (status != FTH_OK)
        return status;
    work->evictions.whole = work->structure->whole = !work->windows && is_whole(work, same);
    if (count_pairs(work) < MIN_PAIRS && !work->evictions.whole)
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
static void forget(struct fth_sets_work *work, struct fth_error *error)
{
    for (size_t i = 0; i < work->evictions.count; i++)
        free(work->evictions.items[i].victims);
    work->evictions.count = 0;
    work->far_evicting = 0;
    fth_mapping_fini(&work->structure->mapping);
    if (error)
        *error = FTH_NO_ERROR;
}

static enum fth_status dissect(struct fth_sets_work *work, struct fth_error *error)
{
    bool same = false;
    enum fth_status status = count_fitting(work, error);
    if (status != FTH_OK)
        return status;
    work->members = calloc(work->fits + 1, sizeof *work->members);
    work->evictions.ignored = calloc(work->fits, sizeof *work->evictions.ignored);
    if (!work->members || !work->evictions.ignored)
        return fth_sets_no_memory(error);
    status = fth_sets_look(work, LOOK_PASSES, &same, error);
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
        status = fth_sets_test(work, error);
    return status;
}

enum fth_status fth_probe_sets(const struct fth_prober *prober, const struct fth_cache_plan *plan,
                               struct fth_structure *structure, struct fth_error *error)
{
    struct fth_sets_work work = {.prober = prober, .plan = plan, .structure = structure};
    work.limit = (plan->path == FTH_PATH_CONSTANT ? bank_bytes : max_span_bytes) / plan->line_bytes;
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
