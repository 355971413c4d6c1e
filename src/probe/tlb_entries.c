/* How many entries does a TLB level have? At a stride of one page, it is the largest number of
 * pages that repeated passes access without a miss of that level. The probe doubles the additional
 * pages until some miss (the onset), and then narrows the interval. It repeats the walks on both
 * sides of the onset, also with other first pages, which gives the confidence.
 *
 * Three effects make this number inexact:
 *   - The samples are written during timed passes. Their page is in use all the time. It is the
 *     first page of the chain, or a page of its own where pages are small (is_first_page_inner()).
 *   - A hash can select the sets. It distributes consecutive pages unevenly, so that some sets
 *     overflow early. Then the pages that remain resident after a longer walk are counted, by a
 *     walk in reverse order (vote()).
 *   - With random replacement, it takes many passes until all pages that fit are resident. Walks
 *     then have more warm-up passes. */
#include "probe/tlb.h"

#include <math.h>

enum {
    SKEW = 256,       /* bytes by which strides are larger than the page; see tlb.c */
    PASSES = 5,       /* timed passes of a walk */
    MANY_PASSES = 15, /* timed passes where different pages miss in each pass */
    FEW_PASSES = 3,   /* timed passes over more than MANY_PAGES pages, which are enough samples */
    MANY_PAGES = 512,
    WARM_PASSES = 3, /* warm-up passes; FIFO needs two until all pages that fit are resident */
    /* With random replacement, additional warm-up passes per page, and the maximum number of
     * warm-up loads of a walk; beyond it, the measurement would take too long. Chosen by
     * experiment. */
    RANDOM_WARM_PASSES = 4,
    MAX_WARM_LOADS = 1 << 16,
    /* Minimum number of sets of a TLB that is assumed to be hashed. Fewer sets that do not overflow
     * together are assumed to have different sizes. Heuristic. */
    MIN_HASHED_SETS = 16,
    CUTS = 4,         /* walks that divide the interval of the onset, per round */
    REPEATS = 5,      /* first pages of the walks that confirm the onset */
    CURVE_POINTS = 6, /* consecutive numbers of pages, to find the ways */
    ONSET_WALKS = 3,  /* walks that must confirm an onset by majority */
    MAX_TURNS = 5,    /* attempts to find a stable onset, or a step of the miss curve */
    VOTES = 12,       /* walks that count the resident pages */
    TYPICAL_WAYS = 8  /* first guess of the ways */
};
/* Minimum fraction of loads that must miss the inner level for this level to be measurable.
 * Heuristic. */
static const double min_inner_misses = 0.95;
/* First pages of the chains that confirm the onset. Chosen arbitrarily. */
static const uint64_t starts[REPEATS] = {0, 5, 18, 37, 66};

/* A walk over the first `count` pages, with warm-up and passes as the search needs them. */
static struct fth_page_walk plan_walk(const struct fth_tlb_search *search, uint64_t count)
{
    return (struct fth_page_walk){.count = count,
                                  .warm_passes = (count > MANY_PAGES ? 1 : WARM_PASSES) +
                                                 search->warm_passes_per_page * count,
                                  .passes = fth_page_passes(count, search->passes ? search->passes
                                                                   : count > MANY_PAGES ? FEW_PASSES
                                                                                        : PASSES)};
}

static struct fth_page_misses misses_of(const struct fth_tlb_search *search,
                                        const struct fth_page_walk *walk)
{
    return fth_tlb_step_count_misses(walk, search->step);
}

/* Walks over ascending numbers of pages, and narrows the interval between search->fits and
 * search->onset. */
static enum fth_status try_counts(struct fth_tlb_search *search, const uint64_t *counts,
                                  size_t count, struct fth_error *error)
{
    struct fth_page_walk walks[CUTS];
    for (size_t i = 0; i < count; i++)
        walks[i] = plan_walk(search, counts[i]);
    enum fth_status status = fth_pages_walk(search->pages, walks, count, error);
    if (status != FTH_OK)
        return status;
    for (size_t i = 0; i < count; i++) {
        struct fth_page_misses misses = misses_of(search, &walks[i]);
        if (fth_tlb_step_overflows(&misses, counts[i], search->step)) {
            search->onset = counts[i];
            break;
        }
        search->fits = counts[i];
    }
    fth_page_walks_fini(walks, count);
    return FTH_OK;
}

/* Finds the onset above `fits` pages, which fit: tries 2, 4, 8, … pages more, up to `max`, and then
 * divides the interval. search->onset is 0 where even `max` pages fit. */
static enum fth_status find_onset(struct fth_tlb_search *search, uint64_t fits, uint64_t max,
                                  struct fth_error *error)
{
    uint64_t counts[CUTS];
    size_t tries = 0;
    enum fth_status status = FTH_OK;
    search->fits = fits;
    search->onset = 0;
    /* Only two walks at a time: the longest ones may not be needed. */
    for (uint64_t more = 2; status == FTH_OK && !search->onset && more; tries = 0) {
        for (; tries < 2 && more; tries++) {
            counts[tries] = FTH_MIN(fits + more, max);
            more = fits + more < max ? 2 * more : 0;
        }
        status = try_counts(search, counts, tries, error);
    }
    while (status == FTH_OK && search->onset && search->onset - search->fits > 1) {
        uint64_t width = search->onset - search->fits, cuts = FTH_MIN(width - 1, CUTS);
        for (uint64_t i = 0; i < cuts; i++)
            counts[i] = search->fits + width * (i + 1) / (cuts + 1);
        status = try_counts(search, counts, cuts, error);
    }
    return status;
}

/* Finds an onset that most of several further walks confirm. Other data of a launch occasionally
 * occupies entries, so that a few pages miss that would fit; the search then continues above. */
static enum fth_status find_stable_onset(struct fth_tlb_search *search, uint64_t max,
                                         struct fth_error *error)
{
    enum fth_status status = find_onset(search, 0, max, error);
    for (unsigned turn = 0; turn < MAX_TURNS && status == FTH_OK && search->onset; turn++) {
        struct fth_page_walk walks[ONSET_WALKS];
        unsigned confirmed = 0;
        for (size_t i = 0; i < ONSET_WALKS; i++)
            walks[i] = plan_walk(search, search->onset);
        status = fth_pages_walk(search->pages, walks, ONSET_WALKS, error);
        if (status != FTH_OK)
            break;
        for (size_t i = 0; i < ONSET_WALKS; i++) {
            struct fth_page_misses misses = misses_of(search, &walks[i]);
            confirmed += fth_tlb_step_overflows(&misses, search->onset, search->step);
        }
        fth_page_walks_fini(walks, ONSET_WALKS);
        if (2 * confirmed > ONSET_WALKS || search->onset == max)
            break;
        status = find_onset(search, search->onset, max, error);
    }
    return status;
}

/* Whether the same pages miss in each pass, with half as many again as the onset. */
static enum fth_status is_periodic(struct fth_tlb_search *search, uint64_t max, bool *periodic,
                                   struct fth_error *error)
{
    struct fth_page_walk walk = plan_walk(search, FTH_MIN(search->onset + search->onset / 2, max));
    enum fth_status status = fth_pages_walk(search->pages, &walk, 1, error);
    if (status != FTH_OK)
        return status;
    struct fth_page_misses misses = misses_of(search, &walk);
    *periodic = misses.inconsistent_loads * 10 < misses.missed_loads;
    fth_page_walks_fini(&walk, 1);
    return FTH_OK;
}

/* Whether an inner level holds the first page of the chain during timed passes. The samples are in
 * that page, so it is in use all the time. If it stays in an inner level, it needs no entry of this
 * level, and one page more than the entries seems to fit. A timed pass that directly follows passes
 * without samples shows this: search->fits pages then overflow the level. */
static enum fth_status is_first_page_inner(struct fth_tlb_search *search, bool *inner_first,
                                           struct fth_error *error)
{
    struct fth_page_walk walks[REPEATS];
    for (size_t i = 0; i < REPEATS; i++) {
        walks[i] = plan_walk(search, search->fits);
        walks[i].warm_passes++;
        walks[i].passes = 1;
        walks[i].time_first_pass = true;
    }
    enum fth_status status = fth_pages_walk(search->pages, walks, REPEATS, error);
    if (status != FTH_OK)
        return status;
    struct fth_page_misses all = {0};
    for (size_t i = 0; i < REPEATS; i++) {
        struct fth_page_misses misses = misses_of(search, &walks[i]);
        all.missed_loads += misses.missed_loads;
        all.loads += misses.loads;
        all.missed_pages += misses.missed_pages;
    }
    all.missed_pages /= REPEATS;
    fth_page_walks_fini(walks, REPEATS);
    *inner_first = fth_tlb_step_overflows(&all, search->fits, search->step);
    return FTH_OK;
}

/* Repeats the walks over search->fits and search->onset pages, also with other first pages. The
 * confidence is the fraction of walks with the same verdict, by Laplace's rule of succession. *even
 * is false where all walks from the first page agree but some from other pages do not, that is,
 * where the distribution over the sets depends on the first page. Other first pages are only tried
 * where an inner level holds the page of the samples (`inner_first`): these walks have one page
 * fewer, because that page is not among them. */
static enum fth_status confirm(struct fth_tlb_search *search, bool inner_first, double *confidence,
                               bool *even, struct fth_error *error)
{
    struct fth_page_walk walks[2 * REPEATS + 2];
    unsigned same = 0, same_elsewhere = 0, elsewhere = 0;
    for (size_t i = 0; i < FTH_COUNT(walks); i++) {
        uint64_t count = i % 2 ? search->onset : search->fits, first = starts[i / 2 % REPEATS];
        bool moved = inner_first && first && count > 1 && first + count <= search->pages->max_loads;
        walks[i] = plan_walk(search, count - moved);
        walks[i].first = moved ? first : 0;
    }
    enum fth_status status = fth_pages_walk(search->pages, walks, FTH_COUNT(walks), error);
    if (status != FTH_OK)
        return status;
    for (size_t i = 0; i < FTH_COUNT(walks); i++) {
        struct fth_page_misses misses = misses_of(search, &walks[i]);
        bool agrees = fth_tlb_step_overflows(&misses, walks[i].count, search->step) == (i % 2 == 1);
        same += agrees;
        elsewhere += walks[i].first != 0;
        same_elsewhere += walks[i].first != 0 && agrees;
    }
    const unsigned here = FTH_COUNT(walks) - elsewhere;
    fth_page_walks_fini(walks, FTH_COUNT(walks));
    const size_t tries = FTH_COUNT(walks);
    *confidence = (same + 1.0) / ((double)tries + 2);
    *even = same_elsewhere == elsewhere || same - same_elsewhere < here;
    return FTH_OK;
}

/* Measures the miss curve: misses[i] is the number of pages that miss in most passes over
 * `first` + i pages. */
static enum fth_status measure_curve(struct fth_tlb_search *search, uint64_t first,
                                     uint64_t *misses, size_t count, struct fth_error *error)
{
    struct fth_page_walk walks[CURVE_POINTS + 1];
    for (size_t i = 0; i < count; i++)
        walks[i] = plan_walk(search, first + i);
    enum fth_status status = fth_pages_walk(search->pages, walks, count, error);
    if (status != FTH_OK)
        return status;
    for (size_t i = 0; i < count; i++)
        misses[i] = misses_of(search, &walks[i]).missed_pages;
    fth_page_walks_fini(walks, count);
    return FTH_OK;
}

/* The most frequent increase between consecutive points of a miss curve, of those above one page;
 * 0: there is none. */
static uint64_t typical_step(const uint64_t *misses, size_t count)
{
    uint64_t typical = 0;
    size_t max = 0;
    for (size_t i = 1; i < count; i++) {
        size_t times = 0;
        for (size_t j = 1; j < count; j++)
            times += misses[j] - misses[j - 1] == misses[i] - misses[i - 1];
        if (misses[i] > misses[i - 1] + 1 && times > max) {
            max = times;
            typical = misses[i] - misses[i - 1];
        }
    }
    return typical;
}

/* The number of entries according to several walks. */
struct ballot {
    double entries[VOTES]; /* one vote per walk; ascending after tally() */
    double resident;       /* median of the resident pages of the walks that begin with page 0 */
    double winner;         /* the most frequent vote */
    unsigned votes;        /* for the winner */
    unsigned next;         /* for the second most frequent vote */
};

/* Sorts the votes and finds the winner. */
static void tally(struct ballot *ballot)
{
    double scratch[VOTES];
    fth_sort_f64(ballot->entries, scratch, VOTES);
    ballot->votes = ballot->next = 0;
    for (size_t i = 0, end = 0; i < VOTES; i = end) {
        while (end < VOTES && ballot->entries[end] <= ballot->entries[i])
            end++;
        const unsigned same = (unsigned)(end - i);
        if (same > ballot->votes) {
            ballot->next = ballot->votes;
            ballot->votes = same;
            ballot->winner = ballot->entries[i];
        } else if (same > ballot->next) {
            ballot->next = same;
        }
    }
}

/* The confidence that the winner would win again: a sign test between it and the runner-up. It is
 * at most what Laplace's rule of succession gives when all votes agree. */
static double confidence_of(const struct ballot *ballot)
{
    const unsigned all = ballot->votes + ballot->next;
    double ways = 1, tail = 0; /* `ways`: binomial coefficient, all over i */
    for (unsigned i = 0; i <= all; i++) {
        if (i >= ballot->votes)
            tail += ways;
        ways = ways * (all - i) / (i + 1);
    }
    return fmin(1 - ldexp(tail, -(int)all), (VOTES + 1.0) / (VOTES + 2.0));
}

/* Counts the entries of a TLB that a hash divides into sets. After passes over more pages than
 * there are entries, each LRU set holds the pages that were used last, as many as it has ways,
 * however the pages are distributed. A pass in reverse order therefore hits as often as there are
 * entries. The samples and the code of the kernel may occupy a few entries; rounding to a
 * multiple of the ways corrects that. Each walk has one vote. The walks cover between `min_pages`
 * and all pages of the chain, from its first page or up to its last. */
static enum fth_status vote(struct fth_tlb_search *search, uint64_t min_pages, uint64_t ways,
                            struct ballot *ballot, struct fth_error *error)
{
    const uint64_t max = search->pages->max_loads, spare = max - min_pages;
    struct fth_page_walk walks[VOTES];
    for (size_t i = 0; i < VOTES; i++) {
        walks[i] = plan_walk(search, max - spare * i / VOTES);
        walks[i].first = i % 2 ? max - walks[i].count : 0;
        walks[i].passes = 1;
        walks[i].reverse = true;
    }
    enum fth_status status = fth_pages_walk(search->pages, walks, VOTES, error);
    if (status != FTH_OK)
        return status;
    double whole[VOTES], scratch[VOTES];
    size_t count = 0;
    for (size_t i = 0; i < VOTES; i++) {
        /* Outliers are assumed to hit as often as the other loads. */
        const struct fth_page_misses misses = misses_of(search, &walks[i]);
        const double found = (double)walks[i].count * (double)(misses.loads - misses.missed_loads) /
                             (double)(misses.loads ? misses.loads : 1);
        ballot->entries[i] = round(found / (double)ways) * (double)ways;
        if (walks[i].first == 0)
            whole[count++] = found;
    }
    fth_sort_f64(whole, scratch, count);
    ballot->resident = whole[count / 2];
    fth_page_walks_fini(walks, VOTES);
    tally(ballot);
    return FTH_OK;
}

/* Finds the step of the miss curve, which is the number of ways plus one. Where a hash selects the
 * sets, consecutive pages are unevenly distributed: the first set overflows early, and further
 * pages add no misses as long as they go to sets with free ways. A page that makes a set overflow
 * adds misses of all its ways and of itself. *miss_step stays 0 where no step is found.
 *
 *   misses         ┌──
 *               ┌──┘   steps of ways + 1
 *          ┌────┘
 *   ───────┴ first set overflows          → pages
 */
static enum fth_status find_miss_step(struct fth_tlb_search *search, uint64_t max,
                                      uint64_t *miss_step, struct fth_error *error)
{
    uint64_t misses[CURVE_POINTS], pages = search->fits;
    enum fth_status status = FTH_OK;
    for (unsigned turn = 0; turn < MAX_TURNS && *miss_step == 0 && status == FTH_OK; turn++) {
        pages += pages / 2 / TYPICAL_WAYS;
        if (pages + CURVE_POINTS > max)
            break;
        status = measure_curve(search, pages, misses, CURVE_POINTS, error);
        if (status == FTH_OK)
            *miss_step = typical_step(misses, CURVE_POINTS);
    }
    return status;
}

/* Corrects the entries of a level whose sets need not overflow together. `miss_step` is the step of
 * the miss curve directly above the onset, 0 where there is none. `even` is false where the
 * distribution over the sets depends on the first page, or where the miss curve has flat parts.
 * Where the votes are not conclusive, level->entries becomes 0, and `doubt` tells why. */
static enum fth_status count_entries(struct fth_tlb_search *search, uint64_t max,
                                     uint64_t miss_step, bool even, struct fth_tlb_level *level,
                                     struct fth_error *error)
{
    enum fth_status status = even ? FTH_OK : find_miss_step(search, max, &miss_step, error);
    if (status != FTH_OK)
        return status;
    const uint64_t ways = miss_step ? miss_step - 1 : 0;
    const uint64_t enough = ways > 1 ? search->onset + 2 * search->onset / ways : max;
    const bool can_vote = enough + VOTES <= max;
    /* Few sets are assumed to have different sizes rather than to be hashed. Then the pages that
     * fit are the entries. */
    if (even && (!can_vote || level->entries + ways < MIN_HASHED_SETS * ways))
        return FTH_OK;
    struct ballot ballot = {.votes = 0};
    if (can_vote)
        status = vote(search, enough, ways, &ballot, error);
    if (status != FTH_OK || (even && ballot.resident < (double)level->entries + 1))
        return status;
    /* Plausibility: the pages that fit exceed the entries by no more than one set, and no set
     * overflows before the average set holds `ways` - 1 pages. */
    const uint64_t winner = (uint64_t)ballot.winner;
    if (2 * ballot.votes <= VOTES || winner + ways < level->entries ||
        winner * (ways - 1) > (level->entries + 1) * ways) {
        level->doubt = "the pages are unevenly distributed over the sets";
        level->unsettled = true;
        level->entries = 0;
        return FTH_OK;
    }
    level->entries = winner;
    level->entries_confidence = confidence_of(&ballot);
    return FTH_OK;
}

/* Whether each further page adds misses, until all pages miss. Otherwise it went to a set with a
 * free way. The curve begins at `first` pages. */
static bool is_regular(const uint64_t *misses, uint64_t first, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (misses[i] <= misses[i - 1] && misses[i - 1] + 2 < first + i - 1)
            return false;
    return true;
}

/* Whether the previous level holds many of the pages that seem to fit, so that they are not looked
 * up in this level. A previous level with few entries cannot. Otherwise its misses are counted in a
 * walk; `before` is its step. */
static enum fth_status is_hidden(struct fth_tlb_search *search, const struct fth_tlb_step *before,
                                 bool *hidden, struct fth_error *error)
{
    struct fth_page_walk walk = plan_walk(search, search->fits);
    *hidden = false;
    if (search->inner_loads &&
        (double)search->inner_loads < (1 - min_inner_misses) * (double)search->fits)
        return FTH_OK;
    enum fth_status status = fth_pages_walk(search->pages, &walk, 1, error);
    if (status != FTH_OK)
        return status;
    struct fth_page_misses misses = fth_tlb_step_count_misses(&walk, before);
    *hidden = (double)misses.missed_loads < min_inner_misses * (double)misses.loads;
    fth_page_walks_fini(&walk, 1);
    return FTH_OK;
}

enum fth_status fth_tlb_find_entries(struct fth_tlb_search *search,
                                     const struct fth_tlb_step *before, struct fth_tlb_level *level,
                                     struct fth_error *error)
{
    const uint64_t max = search->pages->max_loads;
    level->periodic = true;
    enum fth_status status = find_stable_onset(search, max, error);
    if (status == FTH_OK && search->onset && search->fits > 2)
        status = fth_tlb_step_learn_rate(search->pages, search->fits / 2, search->step, error);
    if (status == FTH_OK && search->onset && search->step->per_load)
        status = is_periodic(search, max, &level->periodic, error);
    if (status == FTH_OK && search->onset && !level->periodic) {
        /* It takes many passes until all pages that fit are resident. */
        if (RANDOM_WARM_PASSES * search->onset * search->onset > MAX_WARM_LOADS) {
            level->doubt =
                "different pages miss in each pass, and a warm-up that brings in all pages "
                "that fit would take too long";
            return FTH_OK;
        }
        search->warm_passes_per_page = RANDOM_WARM_PASSES;
        search->passes = MANY_PASSES;
        status = find_onset(search, 0, FTH_MIN(2 * search->onset, max), error);
    }
    if (status != FTH_OK)
        return status;
    if (search->onset == 0 || search->fits == 0) {
        level->doubt = "there is too little memory to fill this level";
        return FTH_OK;
    }
    bool even = true, inner_first = false, hidden = false;
    if (before)
        status = is_hidden(search, before, &hidden, error);
    if (status == FTH_OK && hidden) {
        level->doubt = "the previous level holds many of the pages that would fill this one";
        level->hidden = true;
        return FTH_OK;
    }
    if (status == FTH_OK && before && search->fits > 1)
        status = is_first_page_inner(search, &inner_first, error);
    if (status == FTH_OK)
        status = confirm(search, inner_first, &level->entries_confidence, &even, error);
    const uint64_t own = inner_first ? 1 : 0;
    level->entries = search->fits - own;
    /* The samples are directly in front of the chain. Where pages are small, they are in a page of
     * their own, which takes an entry of the first level. */
    if (search->pages->stride_bytes - SKEW <= FTH_HEADER_BYTES) {
        level->entries += !before;
        if (before) {
            level->entries = 0;
            level->doubt =
                "the pages are so small that the samples may occupy an entry of this level";
            return status;
        }
    }
    const size_t points = (size_t)FTH_MIN(CURVE_POINTS, max - search->onset + 1);
    uint64_t misses[CURVE_POINTS];
    if (status != FTH_OK || !level->periodic || points < 2 ||
        (before && !inner_first && !search->inner_periodic))
        return status;
    status = measure_curve(search, search->onset, misses, points, error);
    if (status != FTH_OK || misses[0] + 2 >= search->onset)
        return status; /* one set: all pages miss at once */
    even = even && is_regular(misses, search->onset, points);
    return count_entries(search, max, typical_step(misses, points), even, level, error);
}
