/* How many sets and ways does a TLB level have? The probe walks over more pages than fit, with
 * more pages each time, and counts those that miss: the miss curve. With LRU, one set after the
 * other overflows, and then all its pages miss. Each step of the curve is therefore one set, and
 * its height is the number of ways plus one (Mei and Chu 2017, Section 4.4 and Fig. 8). A larger
 * set shows as a larger step.
 *
 * If the TLB has many entries, the curve is measured at some points only, to save time. Each
 * further page makes a further set overflow, so the slope of the curve is the number of ways plus
 * one. A hash may select the set of a page in such a TLB, and distribute the pages unevenly. Some
 * sets then overflow early, while others still have free ways. A further page adds no miss if its
 * set has a free way, and only one if its set has overflowed before. The curve therefore begins
 * with a flatter part, which fth_tlb_slope() ignores. If no sets are found, the walks begin at
 * another page (choose_first()).
 *
 * Where different pages miss in each pass, the policy is not LRU. The curve then counts the pages
 * that ever miss: a set that overflows evicts each of its pages sooner or later, and a set that
 * does not overflow evicts none.
 *
 * One page is an exception: the page of the samples. The kernel writes the measured cycles (the
 * samples) directly in front of the chain, so that the page of position 0 is in use all the time
 * and never misses when it is timed (see probe_tlb.h). Whether it occupies an entry of this level
 * or only one of an inner level is not known beforehand. count_steps() finds out; count_by_slope()
 * assumes that an inner level holds it, if there is one. */
#include "probe/tlb/probe_tlb.h"

#include <math.h>
#include <stdlib.h>

static const char operation[] = "find TLB sets";

/* ---- walks ---- */

enum {
    /* If a TLB has more than MANY_PAGES entries, the sets come from the slope of the curve instead
     * of from its steps. Walks over more than MANY_PAGES pages have fewer passes, because each pass
     * gives many samples. The same number as for other walks of this folder. */
    MANY_PAGES = FTH_TLB_MANY_LOADS,
    /* Timed passes of a walk. There are many, because an inner level that is not LRU sometimes
     * holds a page, which then does not miss. The number is chosen, not derived. */
    PASSES = 15,
    BATCH = 16, /* walks that are measured at a time. Chosen. */
    SERIES_PASSES =
        6,     /* passes whose single loads are kept, as of caches (discover/dissect/dissect.c) */
    TURNS = 2, /* maximum attempts to find the sets. Chosen to limit the time. */
    /* The same if the two measurements of a curve differ. Chosen: with two attempts, they differed
     * in all of them in 4 of 56 runs on H200s, so that five fail once in some hundred runs. */
    CONTRADICTED_TURNS = 5,
    /* A walk in which more pages miss in about half of the passes than MAX_MIXED and 1/MIXED_PART
     * of those that miss in most does not show how many miss. Chosen: with noise there are none. */
    MAX_MIXED = 1,
    MIXED_PART = 8,
    /* Standard deviations by which a single miss must exceed a hit. The same value as
     * for a step in tlb_step.c (MIN_STEP_SIGMAS). */
    MIN_CLEAR = 6
};

/* ---- curve by slope ---- */

enum {
    /* Distances between the points of the curve of a large TLB: 1 up to DENSE_POINTS pages beyond
     * the entries, then a part of 1/DENSE_POINTS of these pages. Chosen. */
    DENSE_POINTS = 4,
    MIN_SLOPES = 3, /* minimum points for a slope. Chosen. */
    /* The first eighth of the curve does not count for the slope: with a hash it can be flatter
     * than the rest (see the top of this file). Chosen, not derived. */
    EARLY_PART = 8,
    STARTS = 8, /* number of pages that are tried as the first of a walk (choose_first). Chosen. */
    /* After the first page, the chain must have at least 1/EXTRA_PART more pages than entries, so
     * that the curve has enough points. Chosen, not derived. */
    EXTRA_PART = 4
};
/* Minimum slope of the curve: it is rounded, and the rounded slope must be at least 2, because a
 * set has at least one way. */
static const double min_slope = 1.5;
/* Maximum relative difference between the misses of a walk and those that the slope predicts.
 * Chosen, not derived. */
static const double slope_tolerance = 0.1;

/* ---- curve of a level whose misses are not periodic ---- */

enum {
    MAX_RANDOM_SETS = 16, /* maximum sets of such a TLB. Chosen to limit the time. */
    MAX_ROUNDS = 64       /* maximum walks to find all pages that ever miss. Chosen likewise. */
};
/* The constant c of the coupon collector's bound in count_ever_missed(). A count is too low with a
 * probability of about e^-5 = 0.7 %. */
static const double collector_margin = 5;

/* ---- kind of misses ---- */

/* Sets step.per_load: whether the noise is so low that a single load distinguishes hit and miss.
 * The noise is measured in a walk over `few` pages, which are assumed to fit into the first level.
 *
 * Then sets `periodic`: whether the same pages miss in every pass over one and a half times as many
 * pages as fit. Some loads may miss although their page hits in most passes, or hit although it
 * misses in most passes. These must be few (FTH_TLB_INCONSISTENT_PART). If single
 * loads do not distinguish hit and miss, this cannot be measured, and `periodic` is assumed to be
 * true. */
static enum fth_status classify_misses(struct fth_tlb_study *study, uint64_t few,
                                       struct fth_error *error)
{
    struct fth_page_walk walk = {.count = few, .passes = PASSES};
    struct fth_page_noise noise = {0};
    FTH_TRY(fth_pages_walk(&study->pages, &walk, 1, error));
    enum fth_status status = fth_page_noise(&walk, &noise, error);
    fth_page_walks_fini(&walk, 1);
    study->step.per_load =
        study->step.miss_excess - study->step.hit_excess > MIN_CLEAR * noise.load;
    study->periodic = true;
    if (status != FTH_OK || !study->step.per_load)
        return status;
    const uint64_t entries = study->level->entries;
    walk = (struct fth_page_walk){
        .count = FTH_MIN(entries + entries / 2 + 1, study->pages.max_loads), .passes = PASSES};
    FTH_TRY(fth_pages_walk(&study->pages, &walk, 1, error));
    const struct fth_page_misses misses = fth_tlb_step_count_misses(&walk, &study->step);
    study->periodic = misses.inconsistent_loads * FTH_TLB_INCONSISTENT_PART < misses.missed_loads;
    fth_page_walks_fini(&walk, 1);
    return FTH_OK;
}

/* ---- miss curve ---- */

static bool all_miss(const struct fth_tlb_miss_point *point)
{
    /* The page of the samples may be the only one that does not miss. */
    return point->missed + 1 >= point->pages;
}

/* Whether the walks contain the page of the samples (position 0), and an inner level holds it. This
 * page is in use all the time. If there is an inner level, it is assumed to hold such a page. */
static bool is_first_page_inner(const struct fth_tlb_study *study)
{
    return study->inner_entries && study->first == 0;
}

/* Keeps the single loads of the first passes of a walk as sets->series, unless there is one
 * already. Where a single load does not distinguish hit and miss, `missed` comes from the mean over
 * the passes. */
static enum fth_status keep_series(const struct fth_tlb_study *study,
                                   const struct fth_page_walk *walk, struct fth_tlb_sets *sets,
                                   struct fth_error *error)
{
    const size_t passes = walk->passes < SERIES_PASSES ? walk->passes : SERIES_PASSES;
    const size_t count = passes * (size_t)walk->count;
    const double threshold = fth_tlb_step_threshold(&study->step);
    if (sets->series.cycles)
        return FTH_OK;
    sets->series.cycles = calloc(count, sizeof *sets->series.cycles);
    sets->series.missed = calloc(count, sizeof *sets->series.missed);
    if (!sets->series.cycles || !sets->series.missed)
        return fth_no_memory(error, operation, NULL);
    sets->series.pages = walk->count;
    sets->series.count = count;
    for (size_t i = 0; i < count; i++) {
        sets->series.cycles[i] = walk->cycles[i];
        /* An outlier (NAN) counts as missed here, unlike in add_misses(). */
        sets->series.missed[i] = study->step.per_load ? !(walk->excess[i] <= threshold)
                                                      : walk->mean[i % walk->count] > threshold;
    }
    return FTH_OK;
}

/* Appends the points at these numbers of pages to the miss curve, up to the first one at which all
 * pages miss. */
static enum fth_status measure_points(struct fth_tlb_study *study, const uint64_t *counts,
                                      size_t count, struct fth_tlb_sets *sets,
                                      struct fth_error *error)
{
    bool all = false;
    for (size_t from = 0; from < count && !all; from += BATCH) {
        struct fth_page_walk walks[BATCH];
        const size_t batch = (size_t)FTH_MIN(BATCH, count - from);
        for (size_t i = 0; i < batch; i++)
            walks[i] = (struct fth_page_walk){
                .first = study->first,
                .count = counts[from + i],
                .passes = counts[from + i] > MANY_PAGES ? FTH_TLB_FEW_PASSES : PASSES};
        FTH_TRY(fth_pages_walk(&study->pages, walks, batch, error));
        enum fth_status status = FTH_OK;
        for (size_t i = 0; i < batch && !all && status == FTH_OK; i++) {
            const struct fth_page_misses misses =
                fth_tlb_step_count_misses(&walks[i], &study->step);
            const struct fth_tlb_miss_point point = {walks[i].count, misses.missed_pages};
            sets->curve_evidence.repeats += (double)misses.loads;
            sets->curve_evidence.agree += (double)(misses.loads - misses.inconsistent_loads);
            if (misses.mixed_pages > MAX_MIXED + misses.missed_pages / MIXED_PART)
                sets->doubt = "many pages miss in about half of the passes: this level or an inner "
                              "one is not LRU";
            if (point.missed && point.pages > study->level->entries)
                status = keep_series(study, &walks[i], sets, error);
            sets->miss_curve[sets->miss_curve_count++] = point;
            all = all_miss(&sets->miss_curve[sets->miss_curve_count - 1]);
        }
        fth_page_walks_fini(walks, batch);
        if (status != FTH_OK)
            return status;
    }
    return FTH_OK;
}

/* Chooses the first page of the walks for a hashed TLB: the one from which a walk over as many
 * pages as there are entries misses least. Whether a hash distributes pages evenly can depend on
 * the first page. On an H200, the distribution is uneven if a walk crosses a multiple of 64 GiB.
 */
static enum fth_status choose_first(struct fth_tlb_study *study, struct fth_error *error)
{
    const uint64_t entries = study->level->entries, needed = entries + entries / EXTRA_PART;
    const struct fth_page_walk all = {.count = entries, .passes = FTH_TLB_FEW_PASSES};
    struct fth_page_walk walks[STARTS];
    uint64_t fewest = UINT64_MAX;
    if (study->pages.max_loads < needed + STARTS)
        return FTH_OK;
    for (size_t i = 0; i < STARTS; i++) {
        walks[i] = all;
        walks[i].first = (study->pages.max_loads - needed) * i / (STARTS - 1);
    }
    FTH_TRY(fth_pages_walk(&study->pages, walks, STARTS, error));
    for (size_t i = 0; i < STARTS; i++) {
        const uint64_t missed = fth_tlb_step_count_misses(&walks[i], &study->step).missed_pages;
        if (missed < fewest)
            study->first = walks[i].first;
        fewest = FTH_MIN(fewest, missed);
    }
    fth_page_walks_fini(walks, STARTS);
    return FTH_OK;
}

/* Measures the miss curve of a TLB whose misses are periodic: at every number of pages where there
 * are few entries, otherwise at growing distances. It ends where all pages miss, but at twice the
 * entries at the latest: each set then has at least one page too many, if the pages are evenly
 * distributed. */
static enum fth_status measure_periodic(struct fth_tlb_study *study, struct fth_tlb_sets *sets,
                                        struct fth_error *error)
{
    const uint64_t entries = study->level->entries;
    uint64_t counts[FTH_MAX_MISS_POINTS] = {0};
    size_t count = 0;
    for (uint64_t more = 0; count < FTH_MAX_MISS_POINTS && more <= entries &&
                            study->first + entries + more <= study->pages.max_loads;
         more += entries > MANY_PAGES && more >= DENSE_POINTS ? more / DENSE_POINTS : 1)
        counts[count++] = entries + more;
    return measure_points(study, counts, count, sets, error);
}

/* Indices of the loads that missed in several walks of `loads` loads each. Walk n has the indices
 * from n * loads on. */
struct misses {
    uint64_t *at;
    size_t count, capacity;
    uint64_t loads;
};

static enum fth_status add_misses(struct misses *misses, const struct fth_page_walk *walk,
                                  uint64_t round, const struct fth_tlb_step *step,
                                  struct fth_error *error)
{
    misses->loads = walk->passes * walk->count;
    for (uint64_t i = 0; i < misses->loads; i++) {
        /* An outlier (NAN) does not count: no TLB miss takes that long (pages.c). */
        if (!(walk->excess[i] > fth_tlb_step_threshold(step)))
            continue;
        void *at = misses->at;
        if (!fth_grow(&at, misses->count, &misses->capacity, sizeof *misses->at))
            return fth_no_memory(error, operation, NULL);
        misses->at = at;
        misses->at[misses->count++] = round * misses->loads + i;
    }
    return FTH_OK;
}

/* Returns how many of the pages ever missed. If a page ever missed, numbers[page] becomes its rank
 * among those that did, from 0. For all other pages, numbers[page] is not to be used. */
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

/* Counts the distances between consecutive misses of a walk (study->distances). The pages that ever
 * miss are the members of the set that overflows, and a distance is a number of members: 1 means
 * that the next member missed. Distances of `ever` members and more count in distances[0]. */
static enum fth_status keep_distances(struct fth_tlb_study *study, const struct misses *misses,
                                      uint64_t pages, const uint64_t *numbers, uint64_t ever,
                                      struct fth_error *error)
{
    free(study->distances);
    study->members = ever;
    study->distances = calloc(ever + 1, sizeof *study->distances);
    if (!study->distances)
        return fth_no_memory(error, operation, NULL);
    for (size_t i = 1; i < misses->count; i++) {
        const uint64_t before = misses->at[i - 1], now = misses->at[i];
        if (now / misses->loads != before / misses->loads)
            continue;
        /* Passes between the two, times members per pass, plus the difference of the ranks. The
         * loads of a walk are a multiple of `pages`, so now / pages is the number of the pass. */
        const uint64_t apart = (now / pages - before / pages) * ever +
                               numbers[now % misses->loads % pages] -
                               numbers[before % misses->loads % pages];
        study->distances[apart < ever ? apart : 0]++;
    }
    return FTH_OK;
}

/* Counts the pages that ever miss in walks over `pages` pages. Which page misses is random, so this
 * is the coupon collector's problem: after n (ln n + c) misses of n pages, the probability that one
 * of them has not been seen is about e^-c. Keeps series and distances of the walk over one page
 * more than fit. */
static enum fth_status count_ever_missed(struct fth_tlb_study *study, uint64_t pages,
                                         struct fth_tlb_sets *sets, uint64_t *ever,
                                         struct fth_error *error)
{
    uint64_t *numbers = calloc(pages, sizeof *numbers);
    struct misses misses = {.count = 0};
    if (!numbers)
        return fth_no_memory(error, operation, NULL);
    enum fth_status status = FTH_OK;
    double enough = 1;
    const bool one_too_many = pages == study->level->entries + 1;
    for (unsigned round = 0;
         round < MAX_ROUNDS && (double)misses.count < enough && status == FTH_OK; round++) {
        struct fth_page_walk walk = {.count = pages,
                                     .warm_passes = FTH_TLB_RANDOM_WARM_PASSES * pages,
                                     .passes = fth_page_passes(pages, FTH_MAX_PAGE_PASSES)};
        status = fth_pages_walk(&study->pages, &walk, 1, error);
        if (status != FTH_OK)
            break;
        status = add_misses(&misses, &walk, round, &study->step, error);
        if (status == FTH_OK && one_too_many)
            status = keep_series(study, &walk, sets, error);
        fth_page_walks_fini(&walk, 1);
        *ever = misses.count ? number_missed(&misses, pages, numbers) : 0;
        enough = (double)*ever * (log(fmax((double)*ever, 1)) + collector_margin);
    }
    if (status == FTH_OK && one_too_many && *ever)
        status = keep_distances(study, &misses, pages, numbers, *ever, error);
    free(misses.at);
    free(numbers);
    return status;
}

/* Measures the miss curve of a TLB whose misses are not periodic, with one page more at a time, as
 * far as memory suffices. If that is not far enough, count_steps() sets `doubt`. */
static enum fth_status measure_random(struct fth_tlb_study *study, struct fth_tlb_sets *sets,
                                      struct fth_error *error)
{
    const uint64_t entries = study->level->entries;
    sets->miss_curve[sets->miss_curve_count++] = (struct fth_tlb_miss_point){entries, 0};
    for (uint64_t i = 1; i <= MAX_RANDOM_SETS && entries + i <= study->pages.max_loads; i++) {
        struct fth_tlb_miss_point *point = &sets->miss_curve[sets->miss_curve_count++];
        point->pages = entries + i;
        FTH_TRY(count_ever_missed(study, point->pages, sets, &point->missed, error));
        if (all_miss(point))
            break;
    }
    return FTH_OK;
}

/* Adds one set with this number of ways, and keeps the sizes in descending order. */
static void add_set(struct fth_tlb_sets *sets, uint64_t ways)
{
    size_t i = 0;
    while (i < sets->set_size_count && sets->set_sizes[i].ways > ways)
        i++;
    if (i < sets->set_size_count && sets->set_sizes[i].ways == ways) {
        sets->set_sizes[i].sets++;
        return;
    }
    if (sets->set_size_count == FTH_MAX_SET_SIZES) { /* 4 */
        sets->doubt = "the sets have more different sizes than fathom supports (4)";
        return;
    }
    for (size_t j = sets->set_size_count++; j > i; j--)
        sets->set_sizes[j] = sets->set_sizes[j - 1];
    sets->set_sizes[i].sets = 1;
    sets->set_sizes[i].ways = ways;
}

static uint64_t count_ways(const struct fth_tlb_sets *sets)
{
    uint64_t ways = 0;
    for (size_t i = 0; i < sets->set_size_count; i++)
        ways += sets->set_sizes[i].sets * sets->set_sizes[i].ways;
    return ways;
}

/* The same sets, but one of those with set_sizes[kind] has one way more. */
static struct fth_tlb_sets with_one_more(const struct fth_tlb_sets *sets, size_t kind)
{
    struct fth_tlb_sets changed = *sets;
    const uint64_t ways = changed.set_sizes[kind].ways;
    if (--changed.set_sizes[kind].sets == 0) {
        for (size_t i = kind + 1; i < changed.set_size_count; i++)
            changed.set_sizes[i - 1] = changed.set_sizes[i];
        changed.set_size_count--;
    }
    add_set(&changed, ways + 1);
    return changed;
}

/* Adds the way of the page of the samples. That page always hits when its load is timed, so the
 * step of its set is lower by one, and the set seems to have one way less. It is unknown which set
 * that is. The correction that leaves the fewest different set sizes is applied, unless several
 * corrections leave as few. */
static void add_samples_way(struct fth_tlb_sets *sets)
{
    size_t fewest = FTH_MAX_SET_SIZES + 1, times = 0;
    struct fth_tlb_sets best = *sets;
    for (size_t kind = 0; kind < sets->set_size_count; kind++) {
        const struct fth_tlb_sets changed = with_one_more(sets, kind);
        if (changed.doubt || changed.set_size_count > fewest)
            continue;
        times = changed.set_size_count < fewest ? 1 : times + 1;
        fewest = changed.set_size_count;
        best = changed;
    }
    if (times == 1)
        *sets = best;
}

/* Derives the sets from the steps of the miss curve: each step of more than one page is a set. (The
 * page that was added to a walk can miss alone, because its set has overflowed before.) All points
 * agree with the result, because each of them contributes to it. */
static void count_steps(const struct fth_tlb_study *study, struct fth_tlb_sets *sets)
{
    const struct fth_tlb_miss_point *miss_curve = sets->miss_curve;
    const size_t count = sets->miss_curve_count;
    for (size_t i = 1; i < count && !sets->doubt; i++) {
        if (miss_curve[i].missed < miss_curve[i - 1].missed)
            sets->doubt = "fewer misses with more pages: the measurement is disturbed, or the "
                          "policy is random";
        else if (miss_curve[i].missed > miss_curve[i - 1].missed + 1)
            add_set(sets, miss_curve[i].missed - miss_curve[i - 1].missed - 1);
    }
    if (!sets->doubt && (count < 2 || !all_miss(&miss_curve[count - 1])))
        sets->doubt = !study->periodic && count > MAX_RANDOM_SETS
                          ? "the policy is not LRU, and there are too many sets to distinguish them"
                      : count && miss_curve[count - 1].pages >= 2 * study->level->entries
                          ? "some pages hit even with twice the entries: this level or an inner "
                            "one is not LRU"
                          : "there is too little memory to overflow all sets";
    /* If the page of the samples occupied an entry of this level, its set would seem to have one
     * way less (see add_samples_way). If no way is missing, that page occupies an entry of an inner
     * level only, and each walk needs one entry of this level fewer than it has pages. `pages` of
     * every point is reduced by one, so that it counts only pages that need an entry. */
    if (study->inner_entries && count_ways(sets) == study->level->entries)
        for (size_t i = 0; i < count; i++)
            sets->miss_curve[i].pages--;
    if (!sets->doubt && sets->set_size_count && count_ways(sets) + 1 == study->level->entries)
        add_samples_way(sets);
    if (!sets->doubt && count_ways(sets) != study->level->entries)
        sets->doubt = "the ways of all sets do not add up to the entries: the pages are unevenly "
                      "distributed";
    sets->evidence = (struct fth_evidence){.repeats = (double)count, .agree = (double)count};
}

/* Whether all pages miss as soon as there is one more than fits. */
static bool is_one_set(const struct fth_tlb_sets *sets)
{
    const struct fth_tlb_miss_point *last = &sets->miss_curve[sets->miss_curve_count - 1];
    return sets->miss_curve_count > 1 && all_miss(last) && last[-1].missed == 0 &&
           last->pages == last[-1].pages + 1;
}

enum fth_status fth_tlb_slope(const struct fth_tlb_miss_point *miss_curve, size_t count,
                              double *slope, struct fth_error *error)
{
    double slopes[FTH_MAX_MISS_POINTS];
    size_t used = 0;
    *slope = NAN;
    const struct fth_tlb_miss_point *last = miss_curve + count - 1;
    for (const struct fth_tlb_miss_point *to = miss_curve + 1; to <= last && !all_miss(to); to++)
        if (EARLY_PART * (to[-1].pages - miss_curve->pages) >= last->pages - miss_curve->pages)
            slopes[used++] = ((double)to->missed - (double)to[-1].missed) /
                             ((double)to->pages - (double)to[-1].pages);
    return used < MIN_SLOPES ? FTH_OK : fth_quantile_f64(slopes, used, 0.5, slope, error);
}

/* Derives the sets from the slope of the miss curve, assuming sets of equal size: each further page
 * adds ways + 1 misses. The evidence is the number of points that this predicts. Only the second
 * half of the points is compared, because a hash can let some sets overflow early. */
static enum fth_status count_by_slope(const struct fth_tlb_study *study, struct fth_tlb_sets *sets,
                                      struct fth_error *error)
{
    const uint64_t entries = study->level->entries;
    double slope;
    FTH_TRY(fth_tlb_slope(sets->miss_curve, sets->miss_curve_count, &slope, error));
    const uint64_t ways = is_one_set(sets)     ? entries
                          : slope >= min_slope ? (uint64_t)(slope + 0.5) - 1
                                               : 0;
    unsigned agree = 0, compared = 0;
    for (size_t i = sets->miss_curve_count / 2; ways && i < sets->miss_curve_count;
         i++, compared++) {
        const struct fth_tlb_miss_point *point = &sets->miss_curve[i];
        const uint64_t pages = point->pages - (is_first_page_inner(study) ? 1 : 0);
        const uint64_t extra_pages = pages > entries ? pages - entries : 0;
        const double predicted = (double)FTH_MIN(extra_pages * (ways + 1), pages);
        agree += fabs((double)point->missed - predicted) <= slope_tolerance * predicted;
    }
    if (ways == 0)
        sets->doubt = "too few sets overflow within the available memory";
    else if (entries % ways)
        sets->doubt = "the ways that the slope of the miss curve implies do not divide the entries";
    else if (2 * agree < compared)
        sets->doubt = "the pages are unevenly distributed over the sets";
    else {
        sets->set_size_count = 1;
        sets->set_sizes[0].sets = entries / ways;
        sets->set_sizes[0].ways = ways;
    }
    for (size_t i = 0; is_first_page_inner(study) && i < sets->miss_curve_count; i++)
        sets->miss_curve[i].pages--;
    sets->evidence = (struct fth_evidence){.repeats = compared, .agree = agree};
    return FTH_OK;
}

/* Derives the sets from the miss curve, or sets sets->doubt. */
static enum fth_status count_sets(const struct fth_tlb_study *study, struct fth_tlb_sets *sets,
                                  struct fth_error *error)
{
    enum fth_status status = FTH_OK;
    if (study->periodic && study->level->entries > MANY_PAGES)
        status = count_by_slope(study, sets, error);
    else
        count_steps(study, sets);
    if (sets->doubt) {
        sets->set_size_count = 0;
        sets->evidence = (struct fth_evidence){0};
    }
    return status;
}

/* ---- one level ---- */

/* Converts the evidence from loads to passes. Where a single load does not distinguish hit and
 * miss, or where misses are counted over all passes, all passes are one repeat. */
static void count_passes(const struct fth_tlb_study *study, struct fth_evidence *evidence)
{
    const double share = evidence->repeats > 0 ? fth_evidence_share(*evidence) : 1;
    const double passes = !study->periodic || !study->step.per_load ? 1
                          : study->level->entries > MANY_PAGES      ? FTH_TLB_FEW_PASSES
                                                                    : PASSES;
    *evidence = (struct fth_evidence){.repeats = passes, .agree = passes * share};
}

/* Allocates and measures the miss curve. */
static enum fth_status measure_curve(struct fth_tlb_study *study, struct fth_tlb_sets *sets,
                                     struct fth_error *error)
{
    sets->miss_curve = calloc(FTH_MAX_MISS_POINTS, sizeof *sets->miss_curve);
    if (!sets->miss_curve)
        return fth_no_memory(error, operation, NULL);
    const enum fth_status status =
        study->periodic ? measure_periodic(study, sets, error) : measure_random(study, sets, error);
    count_passes(study, &sets->curve_evidence);
    return status;
}

/* If there is another first page from which the pages are more evenly distributed, measures the
 * curve again from there and derives the sets. */
static enum fth_status retry_elsewhere(struct fth_tlb_study *study, struct fth_tlb_sets *sets,
                                       struct fth_error *error)
{
    FTH_TRY(choose_first(study, error));
    if (study->first == 0)
        return FTH_OK;
    fth_tlb_sets_fini(sets);
    *sets = (struct fth_tlb_sets){.samples = sets->samples};
    FTH_TRY(measure_curve(study, sets, error));
    return count_sets(study, sets, error);
}

/* Measures the curve a second time. It must be the same, since each step stands for a set;
 * otherwise sets->doubt is set. */
static enum fth_status confirm_curve(struct fth_tlb_study *study, struct fth_tlb_sets *sets,
                                     struct fth_error *error)
{
    struct fth_tlb_sets again = {0};
    enum fth_status status = measure_curve(study, &again, error);
    bool same = again.miss_curve_count == sets->miss_curve_count;
    for (size_t i = 0; i < sets->miss_curve_count && same; i++)
        same = again.miss_curve[i].missed == sets->miss_curve[i].missed;
    sets->contradicted = !same;
    if (!same)
        sets->doubt = "a second measurement shows other misses: the measurement is disturbed";
    sets->curve_evidence.repeats *= 2;
    sets->curve_evidence.agree += same ? again.curve_evidence.agree : 0;
    fth_tlb_sets_fini(&again);
    return status;
}

static enum fth_status examine(struct fth_tlb_study *study, struct fth_tlb_sets *sets,
                               struct fth_error *error)
{
    /* The first level is assumed to hold this number of pages: half of the entries of all inner
     * levels together, but at most half of the entries of the level that is examined. If the first
     * level itself is examined, it is half of its own entries. pages.c can then measure the
     * baselines in groups of loads instead of one by one. */
    const uint64_t entries = study->level->entries;
    const uint64_t inner = study->inner_entries ? study->inner_entries : entries;
    fth_pages_use_hit_groups(&study->pages, FTH_MIN(inner, entries) / 2);
    FTH_TRY(classify_misses(study, FTH_MIN(inner, entries) / 2, error));
    FTH_TRY(measure_curve(study, sets, error));
    if (entries <= MANY_PAGES)
        FTH_TRY(confirm_curve(study, sets, error));
    FTH_TRY(count_sets(study, sets, error));
    if (sets->doubt && study->periodic && entries > MANY_PAGES)
        FTH_TRY(retry_elsewhere(study, sets, error));
    return fth_tlb_find_policy(study, sets, error);
}

static enum fth_status study_level(const struct fth_prober *prober,
                                   const struct fth_tlb_sets_plan *plan, struct fth_tlb_sets *sets,
                                   struct fth_error *error)
{
    const struct fth_tlb_level *level = &plan->tlbs->levels[plan->level_index];
    struct fth_tlb_study study = {.prober = prober, .plan = plan, .level = level};
    for (size_t i = 0; i < plan->level_index; i++) {
        study.step.hit_excess += plan->tlbs->levels[i].penalty_cycles;
        study.inner_entries += plan->tlbs->levels[i].entries;
    }
    study.step.miss_excess = study.step.hit_excess + level->penalty_cycles;
    const uint64_t stride = level->page_bytes + FTH_TLB_SKEW_BYTES;
    const uint64_t max = FTH_MIN(fth_tlb_max_loads(plan->l2_bytes), plan->max_bytes / stride - 1);
    /* The miss curve needs up to twice as many pages as there are entries. The further pages allow
     * choose_first() to choose another first page. Their number is chosen, not derived. */
    enum fth_status status =
        fth_pages_open(prober, stride, FTH_MIN(max, 2 * level->entries + FTH_MAX_MISS_POINTS),
                       &study.pages, error);
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
    const struct fth_tlb_level *level = &plan->tlbs->levels[plan->level_index];
    if (plan->level_index >= plan->tlbs->count || level->entries < 2 || level->page_bytes == 0)
        return fth_fail(error, FTH_INCONCLUSIVE, operation, NULL,
                        "the page size or the entries of this level are unknown");
    enum fth_status status = FTH_OK;
    /* Where the penalty is small, errors of the baselines change hits into misses. Where the sets
     * are not found, everything is measured again, with new baselines. */
    unsigned turns = TURNS;
    for (unsigned turn = 0; turn < turns && status == FTH_OK && (turn == 0 || sets->doubt);
         turn++) {
        const size_t samples = sets->samples;
        fth_tlb_sets_fini(sets);
        *sets = (struct fth_tlb_sets){.samples = samples};
        status = study_level(prober, plan, sets, error);
        turns = sets->contradicted ? CONTRADICTED_TURNS : TURNS;
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
    free(sets->miss_curve);
    sets->miss_curve = NULL;
    sets->miss_curve_count = 0;
}
