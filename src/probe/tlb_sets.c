/* Sets, ways and policy of a TLB. With one page more at a time than fit, one set after the other
 * overflows, and all its pages begin to miss: how many is its number of ways and one (Mei and Chu,
 * 2017, Section 4.4 and Fig. 8). A larger set shows as a larger step. Of many pages, which a hash
 * may deal to the sets unevenly, some steps are taken, and their slope tells.
 *
 * Where other pages miss in each pass, so that it is not LRU, the pages that ever miss are counted:
 * a set that overflows loses each of its pages sooner or later, and no others are lost.
 */
#include "probe/tlb_sets.h"

#include <math.h>
#include <stdlib.h>

enum {
    SKEW = 256,
    L2_PART = 16,
    MAX_HOPS = 8192,
    PASSES = 15, /* an inner level that is not LRU has a page now and then */
    FEW_PASSES = 3,
    MANY_PAGES = 512,
    BATCH = 16,
    UNSTEADY_STAIRS = 16, /* sets of a TLB that is not LRU, at most */
    MAX_ROUNDS = 64,
    WARM = 4,  /* passes for each page until all that fit are there, as in tlb_entries.c */
    CLEAR = 6, /* standard deviations of a load by which a miss shows in it, as in rung.c */
    MIN_SLOPES = 3,
    FIRSTS = 8,
    SHOWN = 6, /* passes of the series */
    TURNS = 2,
    LATER = 8 /* a part of all pages more */
};
/* The logarithm of how sure it is that every page that can miss has done so. */
static const double all_seen = 5;
/* So far may the misses of a walk be from where the slope has them. */
static const double slope_tolerance = 0.1;

/* ---- how it misses ---- */

/* Whether single loads tell a miss, from a walk that costs nothing; and then, whether the same
 * pages miss in every pass over half as many again as fit. */
static enum fth_status learn(struct fth_tlb_study *study, uint64_t few, struct fth_error *error)
{
    struct fth_page_walk walk = {.count = few, .passes = PASSES};
    struct fth_page_spread spread = {0};
    enum fth_status status = fth_pages_walk(&study->pages, &walk, 1, error);
    if (status != FTH_OK)
        return status;
    status = fth_page_spread(&walk, &spread, error);
    fth_page_walks_fini(&walk, 1);
    study->rung.single = study->rung.value - study->rung.below > CLEAR * spread.single;
    study->steady = true;
    if (status != FTH_OK || !study->rung.single)
        return status;
    const uint64_t entries = study->level->entries;
    walk = (struct fth_page_walk){.count = FTH_MIN(entries + entries / 2 + 1, study->pages.max),
                                  .passes = PASSES};
    status = fth_pages_walk(&study->pages, &walk, 1, error);
    if (status != FTH_OK)
        return status;
    const struct fth_page_misses misses = fth_rung_misses(&walk, &study->rung);
    study->steady = misses.unsteady * 10 < misses.all;
    fth_page_walks_fini(&walk, 1);
    return FTH_OK;
}

/* ---- stairs ---- */

static bool all_miss(const struct fth_tlb_stair *stair)
{
    /* The page of the samples may never miss. */
    return stair->missing + 1 >= stair->pages;
}

/* Whether the walks begin with the page of the samples, which stays in an inner level. */
static bool is_one_kept(const struct fth_tlb_study *study)
{
    return study->inner_entries && study->first == 0;
}

/* Keeps the first passes of the first walk over more pages than fit, load by load: what is shown.
 * Where single loads do not tell a miss, means over the passes do. */
static enum fth_status keep_series(const struct fth_tlb_study *study,
                                   const struct fth_page_walk *walk, struct fth_tlb_sets *sets,
                                   struct fth_error *error)
{
    const size_t passes = walk->passes < SHOWN ? walk->passes : SHOWN;
    const size_t count = passes * (size_t)walk->count;
    const double threshold = fth_rung_threshold(&study->rung);
    if (sets->series.cycles)
        return FTH_OK;
    sets->series.cycles = calloc(count, sizeof *sets->series.cycles);
    sets->series.missed = calloc(count, sizeof *sets->series.missed);
    if (!sets->series.cycles || !sets->series.missed)
        return fth_fail(error, FTH_NO_MEMORY, "find TLB sets", NULL, "out of memory");
    sets->series.pages = walk->count;
    sets->series.count = count;
    for (size_t i = 0; i < count; i++) {
        sets->series.cycles[i] = walk->cycles[i];
        /* What is no number took so much longer that something else disturbed. */
        sets->series.missed[i] = study->rung.single ? !(walk->excess[i] <= threshold)
                                                    : walk->mean[i % walk->count] > threshold;
    }
    return FTH_OK;
}

/* Walks over these numbers of pages, one after the other, until all miss. */
static enum fth_status climb_to(struct fth_tlb_study *study, const uint64_t *counts, size_t count,
                                struct fth_tlb_sets *sets, struct fth_error *error)
{
    bool all = false;
    for (size_t from = 0; from < count && !all; from += BATCH) {
        struct fth_page_walk walks[BATCH];
        const size_t some = (size_t)FTH_MIN(BATCH, count - from);
        for (size_t i = 0; i < some; i++)
            walks[i] = (struct fth_page_walk){.first = study->first,
                                              .count = counts[from + i],
                                              .passes = counts[from + i] > MANY_PAGES ? FEW_PASSES
                                                                                      : PASSES};
        enum fth_status status = fth_pages_walk(&study->pages, walks, some, error);
        if (status != FTH_OK)
            return status;
        for (size_t i = 0; i < some && !all && status == FTH_OK; i++) {
            const struct fth_tlb_stair stair = {walks[i].count,
                                                fth_rung_misses(&walks[i], &study->rung).steady};
            if (stair.missing && stair.pages > study->level->entries)
                status = keep_series(study, &walks[i], sets, error);
            sets->stairs[sets->stair_count++] = stair;
            all = all_miss(&sets->stairs[sets->stair_count - 1]);
        }
        fth_page_walks_fini(walks, some);
        if (status != FTH_OK)
            return status;
    }
    return FTH_OK;
}

/* Where a hash deals pages to the sets, it may do so evenly from some pages on and not from others,
 * as an H200's does across a border of 64 GiB: the first page from which as many as there are
 * entries miss least. */
static enum fth_status choose_first(struct fth_tlb_study *study, struct fth_error *error)
{
    const uint64_t entries = study->level->entries, needed = entries + entries / 4;
    const struct fth_page_walk all = {.count = entries, .passes = FEW_PASSES};
    struct fth_page_walk walks[FIRSTS];
    uint64_t fewest = UINT64_MAX;
    if (study->pages.max < needed + FIRSTS)
        return FTH_OK;
    for (size_t i = 0; i < FIRSTS; i++) {
        walks[i] = all;
        walks[i].first = (study->pages.max - needed) * i / (FIRSTS - 1);
    }
    enum fth_status status = fth_pages_walk(&study->pages, walks, FIRSTS, error);
    for (size_t i = 0; i < FIRSTS && status == FTH_OK; i++) {
        const uint64_t missing = fth_rung_misses(&walks[i], &study->rung).steady;
        if (missing < fewest)
            study->first = walks[i].first;
        fewest = FTH_MIN(fewest, missing);
    }
    if (status == FTH_OK)
        fth_page_walks_fini(walks, FIRSTS);
    return status;
}

/* One page more at a time where they are few, otherwise a growing number of them; all miss when
 * each set has one too many, with twice as many at the latest. */
static enum fth_status climb(struct fth_tlb_study *study, struct fth_tlb_sets *sets,
                             struct fth_error *error)
{
    const uint64_t entries = study->level->entries;
    uint64_t counts[FTH_MAX_STAIRS] = {0};
    size_t count = 0;
    for (uint64_t more = 0; count < FTH_MAX_STAIRS && more <= entries &&
                            study->first + entries + more <= study->pages.max;
         more += entries > MANY_PAGES && more >= 4 ? more / 4 : 1)
        counts[count++] = entries + more;
    return climb_to(study, counts, count, sets, error);
}

/* The loads that missed in some walks: each walk is `loads` long and begins where the last ended.
 */
struct misses {
    uint64_t *at;
    size_t count, capacity;
    uint64_t loads;
};

static enum fth_status add_misses(struct misses *misses, const struct fth_page_walk *walk,
                                  uint64_t round, const struct fth_rung *rung,
                                  struct fth_error *error)
{
    misses->loads = walk->passes * walk->count;
    for (uint64_t i = 0; i < misses->loads; i++) {
        if (!(walk->excess[i] > fth_rung_threshold(rung)))
            continue;
        void *at = misses->at;
        if (!fth_grow(&at, misses->count, &misses->capacity, sizeof *misses->at))
            return fth_fail(error, FTH_NO_MEMORY, "find TLB sets", NULL, "out of memory");
        misses->at = at;
        misses->at[misses->count++] = round * misses->loads + i;
    }
    return FTH_OK;
}

/* How many of so many pages ever missed; each of these gets its number among them. */
static uint64_t number_missed(const struct misses *misses, uint64_t pages, uint64_t *numbers)
{
    uint64_t ever = 0;
    for (uint64_t i = 0; i < pages; i++)
        numbers[i] = 0;
    for (size_t i = 0; i < misses->count; i++)
        numbers[misses->at[i] % misses->loads % pages] = 1;
    for (uint64_t i = 0; i < pages; i++)
        if (numbers[i])
            numbers[i] = ever++;
    return ever;
}

/* How far apart misses are, within one walk, counted in pages that ever miss. */
static enum fth_status keep_distances(struct fth_tlb_study *study, const struct misses *misses,
                                      uint64_t pages, const uint64_t *numbers, uint64_t ever,
                                      struct fth_error *error)
{
    free(study->distances);
    study->members = ever;
    study->distances = calloc(ever + 1, sizeof *study->distances);
    if (!study->distances)
        return fth_fail(error, FTH_NO_MEMORY, "find TLB sets", NULL, "out of memory");
    for (size_t i = 1; i < misses->count; i++) {
        const uint64_t before = misses->at[i - 1], now = misses->at[i];
        if (now / misses->loads != before / misses->loads)
            continue;
        const uint64_t apart = (now / pages - before / pages) * ever +
                               numbers[now % misses->loads % pages] -
                               numbers[before % misses->loads % pages];
        study->distances[apart < ever ? apart : 0]++;
    }
    return FTH_OK;
}

/* How many of so many pages ever miss. Those that can are met at random, so that all are seen when
 * there were n (ln n + 5) misses of n of them, but for one in e^5. */
static enum fth_status count_ever(struct fth_tlb_study *study, uint64_t pages,
                                  struct fth_tlb_sets *sets, uint64_t *ever,
                                  struct fth_error *error)
{
    uint64_t *numbers = calloc(pages, sizeof *numbers);
    struct misses misses = {.count = 0};
    if (!numbers)
        return fth_fail(error, FTH_NO_MEMORY, "find TLB sets", NULL, "out of memory");
    enum fth_status status = FTH_OK;
    double enough = 1;
    const bool first = pages == study->level->entries + 1;
    for (unsigned round = 0;
         round < MAX_ROUNDS && (double)misses.count < enough && status == FTH_OK; round++) {
        struct fth_page_walk walk = {.count = pages,
                                     .warm = WARM * pages,
                                     .passes = fth_page_passes(pages, FTH_MAX_PAGE_PASSES)};
        status = fth_pages_walk(&study->pages, &walk, 1, error);
        if (status != FTH_OK)
            break;
        status = add_misses(&misses, &walk, round, &study->rung, error);
        if (status == FTH_OK && first)
            status = keep_series(study, &walk, sets, error);
        fth_page_walks_fini(&walk, 1);
        *ever = misses.count ? number_missed(&misses, pages, numbers) : 0;
        enough = (double)*ever * (log(fmax((double)*ever, 1)) + all_seen);
    }
    if (status == FTH_OK && first && *ever)
        status = keep_distances(study, &misses, pages, numbers, *ever, error);
    free(misses.at);
    free(numbers);
    return status;
}

static enum fth_status climb_unsteadily(struct fth_tlb_study *study, struct fth_tlb_sets *sets,
                                        struct fth_error *error)
{
    const uint64_t entries = study->level->entries;
    enum fth_status status = FTH_OK;
    sets->stairs[sets->stair_count++] = (struct fth_tlb_stair){entries, 0};
    for (uint64_t i = 1; i <= UNSTEADY_STAIRS && status == FTH_OK; i++) {
        struct fth_tlb_stair *stair = &sets->stairs[sets->stair_count++];
        stair->pages = entries + i;
        status = stair->pages <= study->pages.max
                     ? count_ever(study, stair->pages, sets, &stair->missing, error)
                     : FTH_OK;
        if (all_miss(stair))
            break;
    }
    return status;
}

static void add_kind(struct fth_tlb_sets *sets, uint64_t ways)
{
    size_t i = 0;
    while (i < sets->kind_count && sets->kinds[i].ways > ways)
        i++;
    if (i < sets->kind_count && sets->kinds[i].ways == ways) {
        sets->kinds[i].sets++;
        return;
    }
    if (sets->kind_count == FTH_MAX_SET_KINDS) {
        sets->doubt = "the sets have too many different sizes";
        return;
    }
    for (size_t j = sets->kind_count++; j > i; j--)
        sets->kinds[j] = sets->kinds[j - 1];
    sets->kinds[i].sets = 1;
    sets->kinds[i].ways = ways;
}

static uint64_t count_ways(const struct fth_tlb_sets *sets)
{
    uint64_t ways = 0;
    for (size_t i = 0; i < sets->kind_count; i++)
        ways += sets->kinds[i].sets * sets->kinds[i].ways;
    return ways;
}

/* The same sets, one of those of a kind with a way more. */
static struct fth_tlb_sets with_one_more(const struct fth_tlb_sets *sets, size_t kind)
{
    struct fth_tlb_sets more = *sets;
    const uint64_t ways = more.kinds[kind].ways;
    if (--more.kinds[kind].sets == 0) {
        for (size_t i = kind + 1; i < more.kind_count; i++)
            more.kinds[i - 1] = more.kinds[i];
        more.kind_count--;
    }
    add_kind(&more, ways + 1);
    return more;
}

/* A step is lower by one than the ways: the page of the samples is in that set, and is always there
 * when its load is timed. Of all sets it is the one with which they are most alike; where that may
 * be this or that one, it stays open. */
static void add_kept_page(struct fth_tlb_sets *sets)
{
    size_t fewest = FTH_MAX_SET_KINDS + 1, times = 0;
    struct fth_tlb_sets best = *sets;
    for (size_t kind = 0; kind < sets->kind_count; kind++) {
        const struct fth_tlb_sets more = with_one_more(sets, kind);
        if (more.doubt || more.kind_count > fewest)
            continue;
        times = more.kind_count < fewest ? 1 : times + 1;
        fewest = more.kind_count;
        best = more;
    }
    if (times == 1)
        *sets = best;
}

/* Each step that is more than a page is a set. */
static void count_steps(const struct fth_tlb_study *study, struct fth_tlb_sets *sets)
{
    const struct fth_tlb_stair *stairs = sets->stairs;
    const size_t last = sets->stair_count;
    for (size_t i = 1; i < last && !sets->doubt; i++) {
        if (stairs[i].missing < stairs[i - 1].missing)
            sets->doubt = "with more pages fewer miss: something disturbs, or the policy is random";
        else if (stairs[i].missing > stairs[i - 1].missing + 1)
            add_kind(sets, stairs[i].missing - stairs[i - 1].missing - 1);
    }
    if (!sets->doubt && (last < 2 || !all_miss(&stairs[last - 1])))
        sets->doubt =
            !study->steady ? "it is not LRU, and has too many sets to tell them apart"
            : last && stairs[last - 1].pages >= 2 * study->level->entries
                ? "not all pages miss, however many there are: it, or a level before it, is not LRU"
                : "there is too little memory for all sets to overflow";
    /* An inner level that always has the page of the samples keeps it from this one. */
    if (study->inner_entries && count_ways(sets) == study->level->entries)
        for (size_t i = 0; i < last; i++)
            sets->stairs[i].pages--;
    if (!sets->doubt && sets->kind_count && count_ways(sets) + 1 == study->level->entries)
        add_kept_page(sets);
    if (!sets->doubt && count_ways(sets) != study->level->entries)
        sets->doubt = "the ways of all sets are not as many as the entries: pages fall into them "
                      "unevenly";
    sets->confidence = study->level->entries_confidence;
}

/* Whether all pages miss as soon as there is one too many. */
static bool is_one_set(const struct fth_tlb_sets *sets)
{
    const struct fth_tlb_stair *last = &sets->stairs[sets->stair_count - 1];
    return sets->stair_count > 1 && all_miss(last) && last[-1].missing == 0 &&
           last->pages == last[-1].pages + 1;
}

enum fth_status fth_tlb_slope(const struct fth_tlb_stair *stairs, size_t count, double *slope,
                              struct fth_error *error)
{
    double slopes[FTH_MAX_STAIRS];
    size_t used = 0;
    *slope = NAN;
    const struct fth_tlb_stair *last = stairs + count - 1;
    for (const struct fth_tlb_stair *to = stairs + 1; to <= last && !all_miss(to); to++)
        if (LATER * (to[-1].pages - stairs->pages) >= last->pages - stairs->pages)
            slopes[used++] = ((double)to->missing - (double)to[-1].missing) /
                             ((double)to->pages - (double)to[-1].pages);
    return used < MIN_SLOPES ? FTH_OK : fth_quantile_f64(slopes, used, 0.5, slope, error);
}

/* Each page more makes all pages of a set miss, ways and one, and all sets are alike. How many
 * walks miss as much as that makes them is how sure it is. */
static enum fth_status count_by_slope(const struct fth_tlb_study *study, struct fth_tlb_sets *sets,
                                      struct fth_error *error)
{
    const uint64_t entries = study->level->entries;
    double slope;
    enum fth_status status = fth_tlb_slope(sets->stairs, sets->stair_count, &slope, error);
    if (status != FTH_OK)
        return status;
    const uint64_t ways = is_one_set(sets) ? entries
                          : slope >= 1.5   ? (uint64_t)(slope + 0.5) - 1
                                           : 0;
    unsigned agree = 0, of = 0;
    for (size_t i = sets->stair_count / 2; ways && i < sets->stair_count; i++, of++) {
        const struct fth_tlb_stair *stair = &sets->stairs[i];
        const uint64_t pages = stair->pages - (is_one_kept(study) ? 1 : 0);
        const uint64_t more = pages > entries ? pages - entries : 0;
        const double foretold = (double)FTH_MIN(more * (ways + 1), pages);
        agree += fabs((double)stair->missing - foretold) <= slope_tolerance * foretold;
    }
    if (ways == 0)
        sets->doubt = "too few sets overflow in the memory that there is";
    else if (entries % ways)
        sets->doubt = "what each page more makes miss does not divide the entries";
    else if (2 * agree < of)
        sets->doubt = "pages fall into the sets unevenly";
    else {
        sets->kind_count = 1;
        sets->kinds[0].sets = entries / ways;
        sets->kinds[0].ways = ways;
    }
    for (size_t i = 0; is_one_kept(study) && i < sets->stair_count; i++)
        sets->stairs[i].pages--;
    sets->confidence = study->level->entries_confidence;
    if (ways != entries)
        sets->confidence = fmin(sets->confidence, (agree + 1.0) / (of + 2.0));
    return FTH_OK;
}

static enum fth_status count_sets(const struct fth_tlb_study *study, struct fth_tlb_sets *sets,
                                  struct fth_error *error)
{
    enum fth_status status = FTH_OK;
    if (study->steady && study->level->entries > MANY_PAGES)
        status = count_by_slope(study, sets, error);
    else
        count_steps(study, sets);
    if (sets->doubt) {
        sets->kind_count = 0;
        sets->confidence = 0;
    }
    return status;
}

/* ---- all of it ---- */

/* All walks, with room for them. */
static enum fth_status climb_anyhow(struct fth_tlb_study *study, struct fth_tlb_sets *sets,
                                    struct fth_error *error)
{
    sets->stairs = calloc(FTH_MAX_STAIRS, sizeof *sets->stairs);
    if (!sets->stairs)
        return fth_fail(error, FTH_NO_MEMORY, "find TLB sets", NULL, "out of memory");
    return study->steady ? climb(study, sets, error) : climb_unsteadily(study, sets, error);
}

/* From another page on, if there is one from which pages fall into the sets more evenly. */
static enum fth_status climb_elsewhere(struct fth_tlb_study *study, struct fth_tlb_sets *sets,
                                       struct fth_error *error)
{
    enum fth_status status = choose_first(study, error);
    if (status != FTH_OK || study->first == 0)
        return status;
    fth_tlb_sets_fini(sets);
    *sets = (struct fth_tlb_sets){.samples = sets->samples};
    status = climb_anyhow(study, sets, error);
    return status == FTH_OK ? count_sets(study, sets, error) : status;
}

/* The same once more: where a step is a set, it must be the same step. */
static enum fth_status climb_again(struct fth_tlb_study *study, struct fth_tlb_sets *sets,
                                   struct fth_error *error)
{
    struct fth_tlb_sets again = {0};
    enum fth_status status = climb_anyhow(study, &again, error);
    bool same = again.stair_count == sets->stair_count;
    for (size_t i = 0; i < sets->stair_count && same; i++)
        same = again.stairs[i].missing == sets->stairs[i].missing;
    if (!same)
        sets->doubt = "other pages miss when it is done again: something disturbs";
    fth_tlb_sets_fini(&again);
    return status;
}

static enum fth_status examine(struct fth_tlb_study *study, struct fth_tlb_sets *sets,
                               struct fth_error *error)
{
    /* Walks over few pages first, so that what lines cost by themselves comes from few walks. */
    const uint64_t entries = study->level->entries;
    const uint64_t few = study->inner_entries ? study->inner_entries : entries;
    fth_pages_fit(&study->pages, FTH_MIN(few, entries) / 2);
    enum fth_status status = learn(study, FTH_MIN(few, entries) / 2, error);
    if (status == FTH_OK)
        status = climb_anyhow(study, sets, error);
    if (status == FTH_OK && entries <= MANY_PAGES)
        status = climb_again(study, sets, error);
    if (status == FTH_OK)
        status = count_sets(study, sets, error);
    if (status == FTH_OK && sets->doubt && study->steady && entries > MANY_PAGES)
        status = climb_elsewhere(study, sets, error);
    return status == FTH_OK ? fth_tlb_find_policy(study, sets, error) : status;
}

static enum fth_status study_level(const struct fth_prober *prober,
                                   const struct fth_tlb_sets_plan *plan, struct fth_tlb_sets *sets,
                                   struct fth_error *error)
{
    const struct fth_tlb_level *level = &plan->tlbs->levels[plan->which];
    struct fth_tlb_study study = {.prober = prober, .plan = plan, .level = level};
    for (size_t i = 0; i < plan->which; i++) {
        study.rung.below += plan->tlbs->levels[i].penalty_cycles;
        study.inner_entries += plan->tlbs->levels[i].entries;
    }
    study.rung.value = study.rung.below + level->penalty_cycles;
    const uint64_t stride = level->page_bytes + SKEW;
    uint64_t max =
        FTH_MIN(FTH_MIN(plan->l2_bytes / 128 / L2_PART, MAX_HOPS), plan->max_bytes / stride - 1);
    enum fth_status status = fth_pages_open(
        prober, stride, FTH_MIN(max, 2 * level->entries + FTH_MAX_STAIRS), &study.pages, error);
    if (status == FTH_OK)
        status = examine(&study, sets, error);
    sets->samples += study.pages.samples;
    free(study.distances);
    fth_pages_close(&study.pages);
    return status;
}

enum fth_status fth_probe_tlb_sets(const struct fth_prober *prober,
                                   const struct fth_tlb_sets_plan *plan, struct fth_tlb_sets *sets,
                                   struct fth_error *error)
{
    *sets = (struct fth_tlb_sets){0};
    const struct fth_tlb_level *level = &plan->tlbs->levels[plan->which];
    if (plan->which >= plan->tlbs->count || level->entries < 2 || level->page_bytes == 0)
        return fth_fail(error, FTH_INCONCLUSIVE, "find TLB sets", NULL,
                        "page and entries of this level are not known");
    enum fth_status status = FTH_OK;
    /* What lines cost by themselves decides over hits and misses where a TLB's penalty is small:
     * where something stays in doubt, it is learned again. */
    for (unsigned turn = 0; turn < TURNS && status == FTH_OK && (turn == 0 || sets->doubt);
         turn++) {
        const size_t samples = sets->samples;
        fth_tlb_sets_fini(sets);
        *sets = (struct fth_tlb_sets){.samples = samples};
        status = study_level(prober, plan, sets, error);
    }
    return status;
}

void fth_tlb_sets_fini(struct fth_tlb_sets *sets)
{
    free(sets->series.cycles);
    free(sets->series.missed);
    sets->series.cycles = NULL;
    sets->series.missed = NULL;
    sets->series.count = 0;
    free(sets->stairs);
    sets->stairs = NULL;
    sets->stair_count = 0;
}
