/* How many entries does a TLB level have? With one load per page, it is the largest number of pages
 * that repeated passes access without a miss of that level. The probe walks over 2, 4, 8, … pages
 * until some pages miss. It then narrows the interval until the smallest number of pages with
 * misses is known: the onset. It repeats the walks just below and at the onset, also from other
 * first pages, which gives the evidence.
 *
 * Three effects can make the number of pages that fit differ from the number of entries:
 *   - During timed passes, the kernel writes the samples to memory, so the page of the samples is
 *     in use all the time. The samples are directly in front of the chain, normally in the page
 *     that also contains the chain's first element (the first page). If an inner level holds
 *     it, one page more than the entries seems to fit (is_first_page_inner()). Where pages are
 *     small, the samples have a page of their own. It takes an entry, so that one page fewer than
 *     the entries seems to fit (samples_have_own_page()).
 *   - A hash can select the sets. It distributes consecutive pages unevenly, so that some sets
 *     overflow early. Then the pages that remain resident after a longer walk are counted, by a
 *     walk in reverse order (vote()).
 *   - With random replacement, it takes many passes until all pages that fit are resident. Walks
 *     then have more warm-up passes.
 *
 * The steps of fth_tlb_find_entries(). Each can end without a result, with a reason in `doubt`:
 *
 *   1. find_fitting_pages()    the onset, and whether the level is periodic. Doubt: the warm-up of
 *                              random replacement takes too long; memory does not fill the level.
 *   2. examine_inner_levels()  what inner levels hold. Doubt: the previous level holds many of the
 *                              pages that would fill this one.
 *   3. count_fitting_pages()   the entries, from the pages that fit. Doubt: the samples may occupy
 *                              an entry of an outer level.
 *   4. count_resident_pages()  corrects the entries if sets overflow early. Doubt: the votes are
 *                              not conclusive.
 *
 * probe_tlb.h defines the terms "step", "samples" and "periodic". The inner levels are all levels
 * that are looked up before the one to be measured; the previous level is the last of them. */
#include "probe/tlb/probe_tlb.h"

#include <math.h>

/* ---- walks ---- */

enum {
    /* Timed passes where different pages miss in each pass. Chosen, not derived: three times as
     * many as in other walks. */
    MANY_PASSES = 15,
    /* Warm-up passes of a walk. FIFO needs two passes until all pages that fit are resident. The
     * first timed pass, which is not evaluated (pages.c), also warms up, so that even walks over
     * more than FTH_TLB_MANY_LOADS pages, which have LONG_WALK_WARM_PASSES to save time, have
     * two. */
    WARM_PASSES = 3,
    LONG_WALK_WARM_PASSES = 1,
    /* With random replacement, the maximum number of warm-up loads of a walk; beyond it, the
     * measurement would take too long. Chosen by experiment. */
    MAX_WARM_LOADS = 1 << 16
};

/* ---- the onset and its confirmation; all numbers of walks are chosen, not derived ---- */

enum {
    /* Walks that divide the interval of the onset, per round. Several walks per round save round
     * trips to the GPU, but more walks are needed in total. Where walks are long (more than
     * FTH_TLB_MANY_LOADS loads), they take more time than the round trips: one walk per round. */
    CUTS = 4,
    LONG_WALK_CUTS = 1,
    ONSET_WALKS = 3,  /* walks that must confirm an onset by majority */
    MAX_ATTEMPTS = 5, /* attempts to find a stable onset, or a rise of the miss curve */
    FIRST_PAGES = 5,  /* different first pages of the walks that confirm the onset */
    INNER_WALKS = 5   /* walks that find out whether an inner level holds the first page */
};
/* First pages of the walks that confirm the onset. Chosen arbitrarily: neither multiples of one
 * number nor of one power of two. */
static const uint64_t first_pages[FIRST_PAGES] = {0, 5, 18, 37, 66};
/* Minimum fraction of loads that must miss the previous level for this level to be measurable.
 * Chosen, not derived: if fewer miss it, it hides too many pages from this level. */
static const double min_inner_misses = 0.95;
/* Pages, and part of the entries, by which rounding to a multiple of the ways changes the resident
 * pages at most if the sets have the same size: those of the samples and of the kernel's code.
 * Chosen, not derived. */
static const double max_rounding_pages = 1.5, max_rounding_part = 0.005;

/* ---- sets that overflow at different numbers of pages ---- */

enum {
    CURVE_POINTS = 6, /* consecutive numbers of pages, to find the ways. Chosen, not derived. */
    /* Pages that need not miss when "all pages" miss: the page of the samples, which never misses
     * in a timed pass, and one more for a disturbed load. Chosen. */
    SPARED_PAGES = 2,
    /* Ways that find_miss_rise() assumes to select the numbers of pages that it tries. A typical
     * number; the ways that it finds do not depend on it. */
    TYPICAL_WAYS = 8,
    /* Minimum number of sets of a TLB that is assumed to be hashed. If a TLB has fewer sets and
     * they do not overflow together, they are assumed to have different sizes, as those of Fermi
     * (seven sets: Mei and Chu 2017, Section 4.4). Chosen, not derived. */
    MIN_HASHED_SETS = 16,
    VOTES = 12, /* walks that count the resident pages. Chosen, not derived. */
    /* Pages per set, beyond the onset, that a walk of the vote covers at least, so that it fills
     * every set although the pages are unevenly distributed. Chosen, not derived. */
    FILL_PAGES_PER_SET = 2
};

/* Returns a walk over the first `count` pages, with as many warm-up and evaluated passes as the
 * search needs. fth_page_passes() reduces the passes if their samples would need too much space. */
static struct fth_page_walk plan_walk(const struct fth_tlb_search *search, uint64_t count)
{
    const bool is_long = count > FTH_TLB_MANY_LOADS;
    const unsigned wanted = search->passes ? search->passes
                            : is_long      ? FTH_TLB_FEWEST_PASSES
                                           : FTH_TLB_PASSES;
    return (struct fth_page_walk){.count = count,
                                  .warm_passes = (is_long ? LONG_WALK_WARM_PASSES : WARM_PASSES) +
                                                 search->warm_passes_per_page * count,
                                  .passes = fth_page_passes(count, wanted)};
}

/* The misses of the level to be measured in a walk. */
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
    FTH_TRY(fth_pages_walk(search->pages, walks, count, error));
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
    /* Only two walks at a time, one if they are long: the longest ones may not be needed. */
    for (uint64_t more = 2; status == FTH_OK && !search->onset && more; tries = 0) {
        for (; more && tries < (fits + more > FTH_TLB_MANY_LOADS ? 1 : 2); tries++) {
            counts[tries] = FTH_MIN(fits + more, max);
            more = fits + more < max ? 2 * more : 0;
        }
        status = try_counts(search, counts, tries, error);
    }
    while (status == FTH_OK && search->onset && search->onset - search->fits > 1) {
        const uint64_t width = search->onset - search->fits;
        const bool is_long = search->onset > FTH_TLB_MANY_LOADS;
        const uint64_t cuts = FTH_MIN(width - 1, is_long ? LONG_WALK_CUTS : CUTS);
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
    for (unsigned attempt = 0; attempt < MAX_ATTEMPTS && status == FTH_OK && search->onset;
         attempt++) {
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

/* Whether the same pages miss in each pass of a walk over 1.5 times as many pages as the onset. */
static enum fth_status is_periodic(struct fth_tlb_search *search, uint64_t max, bool *periodic,
                                   struct fth_error *error)
{
    struct fth_page_walk walk = plan_walk(search, FTH_MIN(search->onset + search->onset / 2, max));
    FTH_TRY(fth_pages_walk(search->pages, &walk, 1, error));
    struct fth_page_misses misses = misses_of(search, &walk);
    *periodic = misses.inconsistent_loads * FTH_TLB_INCONSISTENT_PART < misses.missed_loads;
    fth_page_walks_fini(&walk, 1);
    return FTH_OK;
}

/* Whether an inner level holds the first page of the chain during timed passes. The samples are in
 * that page, so it is in use all the time. If it stays in an inner level, it needs no entry of this
 * level, and one page more than the entries seems to fit.
 *
 * To find out, the probe evaluates a timed pass that directly follows the warm-up. The warm-up
 * writes no samples, so the first page is looked up in this level like any other page. If
 * search->fits is one more than the entries, the pages now overflow the level, and the timed pass
 * misses. */
static enum fth_status is_first_page_inner(struct fth_tlb_search *search, bool *inner_first,
                                           struct fth_error *error)
{
    struct fth_page_walk walks[INNER_WALKS];
    for (size_t i = 0; i < INNER_WALKS; i++) {
        walks[i] = plan_walk(search, search->fits);
        /* Other walks do not evaluate their first timed pass, so that it acts as one more warm-up
         * pass. Here it is evaluated, and a real warm-up pass takes its place. */
        walks[i].warm_passes++;
        walks[i].passes = 1;
        walks[i].time_first_pass = true;
    }
    FTH_TRY(fth_pages_walk(search->pages, walks, INNER_WALKS, error));
    struct fth_page_misses all = {.passes = 1};
    for (size_t i = 0; i < INNER_WALKS; i++) {
        struct fth_page_misses misses = misses_of(search, &walks[i]);
        all.missed_loads += misses.missed_loads;
        all.loads += misses.loads;
        all.missed_pages += misses.missed_pages;
    }
    all.missed_pages /= INNER_WALKS;
    fth_page_walks_fini(walks, INNER_WALKS);
    *inner_first = fth_tlb_step_overflows(&all, search->fits, search->step);
    return FTH_OK;
}

/* Repeats the walks over search->fits and search->onset pages, also from other first pages. The
 * evidence is the number of walks that confirm the search (`fits` pages fit, `onset` pages do not).
 * *even is false where all walks from page 0 confirm it but
 * some from other pages do not, that is, where the distribution over the sets depends on the first
 * page.
 *
 * Other first pages are tried only where an inner level holds the page of the samples
 * (`inner_first`). Otherwise this page would take an entry in addition to the pages of the walk.
 *
 * With `inner_first`, one page of a walk from page 0 needs no entry: that of the samples. A walk
 * from another first page does not contain it. It has one page fewer, so that both walks need the
 * same number of entries. */
static enum fth_status confirm(struct fth_tlb_search *search, bool inner_first,
                               struct fth_evidence *evidence, bool *even, struct fth_error *error)
{
    /* For each first page, a walk that should fit and one that should not; page 0 twice. */
    struct fth_page_walk walks[2 * FIRST_PAGES + 2];
    unsigned same = 0, same_elsewhere = 0, elsewhere = 0;
    for (size_t i = 0; i < FTH_COUNT(walks); i++) {
        uint64_t count = i % 2 ? search->onset : search->fits;
        uint64_t first = first_pages[i / 2 % FIRST_PAGES];
        bool moved = inner_first && first && count > 1 && first + count <= search->pages->max_loads;
        walks[i] = plan_walk(search, count - moved);
        walks[i].first = moved ? first : 0;
    }
    FTH_TRY(fth_pages_walk(search->pages, walks, FTH_COUNT(walks), error));
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
    *evidence = (struct fth_evidence){.repeats = (double)tries, .agree = same};
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
    FTH_TRY(fth_pages_walk(search->pages, walks, count, error));
    for (size_t i = 0; i < count; i++)
        misses[i] = misses_of(search, &walks[i]).missed_pages;
    fth_page_walks_fini(walks, count);
    return FTH_OK;
}

/* The most frequent rise between consecutive points of a miss curve, among the rises of more than
 * one page; 0: there is none. */
static uint64_t typical_rise(const uint64_t *misses, size_t count)
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

/* Counts the entries of a TLB that a hash divides into sets. After passes over more pages than
 * there are entries, each LRU set holds the pages that were used last, as many as it has ways,
 * however the pages are distributed. A pass in reverse order therefore hits as often as there are
 * entries. The samples and the code of the kernel may occupy a few entries; rounding to a
 * multiple of the ways corrects that. Each walk has one vote. The walks cover different numbers of
 * pages, from `min_pages` to all pages of the chain. Every second walk begins with the chain's
 * first page; the others end with its last page. */
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
    FTH_TRY(fth_pages_walk(search->pages, walks, VOTES, error));
    double from_start[VOTES], scratch[VOTES];
    size_t count = 0;
    for (size_t i = 0; i < VOTES; i++) {
        /* misses.loads does not include outliers, that is, loads whose time no TLB miss explains.
         * They are assumed to hit as often as the other loads. */
        const struct fth_page_misses misses = misses_of(search, &walks[i]);
        const double found = (double)walks[i].count * (double)(misses.loads - misses.missed_loads) /
                             (double)(misses.loads ? misses.loads : 1);
        ballot->entries[i] = round(found / (double)ways) * (double)ways;
        if (walks[i].first == 0)
            from_start[count++] = found;
    }
    fth_sort_f64(from_start, scratch, count);
    ballot->resident = from_start[count / 2];
    fth_page_walks_fini(walks, VOTES);
    tally(ballot);
    return FTH_OK;
}

/* Finds by how much the miss curve rises when a set overflows: by the number of ways plus one.
 * Where a hash selects the sets, consecutive pages are unevenly distributed: the first set
 * overflows early, and further pages add no misses as long as they go to sets with free ways. A
 * page that makes a set overflow adds one miss for each page that was in the set (as many as there
 * are ways) and one for itself. *miss_rise stays 0 where no rise is found. If it is not 0 before
 * the call, the rise is known and nothing is measured.
 *
 *   misses         ┌──
 *               ┌──┘   rises of ways + 1
 *          ┌────┘
 *   ───────┴ first set overflows          → pages
 *
 * The first set can overflow while the other sets still have free ways. Therefore each attempt
 * begins at more pages than the one before. The increment is half a page per set, where the number
 * of sets is assumed to be pages / TYPICAL_WAYS. Below 2 * TYPICAL_WAYS pages, the increment is 0,
 * and an attempt only repeats the one before. */
static enum fth_status find_miss_rise(struct fth_tlb_search *search, uint64_t max,
                                      uint64_t *miss_rise, struct fth_error *error)
{
    uint64_t misses[CURVE_POINTS], pages = search->fits;
    enum fth_status status = FTH_OK;
    for (unsigned attempt = 0; attempt < MAX_ATTEMPTS && *miss_rise == 0 && status == FTH_OK;
         attempt++) {
        pages += pages / 2 / TYPICAL_WAYS;
        if (pages + CURVE_POINTS > max)
            break;
        status = measure_curve(search, pages, misses, CURVE_POINTS, error);
        if (status == FTH_OK)
            *miss_rise = typical_rise(misses, CURVE_POINTS);
    }
    return status;
}

/* What the miss curve tells about the sets. */
struct curve_signs {
    /* Typical rise of the misses directly above the onset, when one more set overflows; 0: none was
     * seen. */
    uint64_t miss_rise;
    /* False where the distribution of the pages over the sets depends on the first page, or where
     * the curve has flat parts. */
    bool even;
};

/* The minimum number of pages for a walk of the vote; more than `max` if there can be no vote. */
static uint64_t vote_pages(const struct fth_tlb_search *search, uint64_t max, uint64_t ways)
{
    return ways > 1 ? search->onset + FILL_PAGES_PER_SET * search->onset / ways : max;
}

/* Whether the level has so few sets that they are assumed to have different sizes rather than to be
 * hashed. Then the pages that fit are the entries. The number of sets is estimated as the number of
 * pages that fit (level->entries) / ways, plus one, because fewer pages fit into a hashed level
 * than it has entries. */
static bool has_few_sets(const struct fth_tlb_level *level, uint64_t ways)
{
    return level->entries + ways < MIN_HASHED_SETS * ways;
}

/* Whether the winner of the vote has a majority and is plausible. It may be smaller than the number
 * of pages that fit, but by at most `ways`. (It should not be smaller at all, but it is rounded,
 * and other data may have occupied entries.) And the first overflow is assumed to occur only when
 * the sets hold at least `ways` - 1 pages on average. The limits are chosen, not derived. */
static bool is_conclusive(const struct ballot *ballot, const struct fth_tlb_level *level,
                          uint64_t ways)
{
    const uint64_t winner = (uint64_t)ballot->winner;
    return 2 * ballot->votes > VOTES && winner + ways >= level->entries &&
           winner * (ways - 1) <= (level->entries + 1) * ways;
}

/* Corrects the entries of a level whose sets may overflow at different numbers of pages. Before the
 * call, level->entries is the number that follows from the pages that fit. Where the votes are not
 * conclusive, level->entries becomes 0 and `doubt` is set; `unsettled` is set, too, because another
 * attempt may find the entries. */
static enum fth_status count_entries(struct fth_tlb_search *search, struct curve_signs curve,
                                     struct fth_tlb_level *level, struct fth_error *error)
{
    const uint64_t max = search->pages->max_loads;
    if (!curve.even)
        FTH_TRY(find_miss_rise(search, max, &curve.miss_rise, error));
    const uint64_t ways = curve.miss_rise ? curve.miss_rise - 1 : 0;
    /* At least VOTES further pages are required, so that each walk of the vote has a different
     * length. */
    const uint64_t enough = vote_pages(search, max, ways);
    const bool can_vote = enough + VOTES <= max;
    if (curve.even && (!can_vote || has_few_sets(level, ways)))
        return FTH_OK;
    struct ballot ballot = {.votes = 0};
    if (can_vote)
        FTH_TRY(vote(search, enough, ways, &ballot, error));
    /* If no more pages are resident than fit, the pages that fit are the entries. */
    if (curve.even && ballot.resident < (double)level->entries + 1)
        return FTH_OK;
    if (is_conclusive(&ballot, level, ways)) {
        level->entries = (uint64_t)ballot.winner;
        level->entries_evidence = (struct fth_evidence){
            .repeats = ballot.votes + ballot.next,
            .agree = ballot.votes,
            .doubt = fabs(ballot.resident - ballot.winner) >
                             fmax(max_rounding_pages, max_rounding_part * ballot.winner)
                         ? "the resident pages are not a multiple of the ways"
                         : NULL};
    } else {
        level->doubt = "the pages are unevenly distributed over the sets";
        level->unsettled = true;
        level->entries = 0;
    }
    return FTH_OK;
}

/* Whether each further page adds misses, until all pages miss. A page that adds none went to a set
 * with a free way. misses[i] are the misses of `first` + i pages. */
static bool is_regular(const uint64_t *misses, uint64_t first, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (misses[i] <= misses[i - 1] && misses[i - 1] + SPARED_PAGES < first + i - 1)
            return false;
    return true;
}

/* Whether the previous level holds many of the pages that seem to fit, so that they are not looked
 * up in this level. If the previous level is known to hold few pages of this chain
 * (search->inner_loads, with one load per page; 0: unknown), it does not. Otherwise its misses are
 * counted in a walk. `before` is the step of the previous level, that is, the additional cycles of
 * a load that misses it. */
static enum fth_status is_hidden(struct fth_tlb_search *search, const struct fth_tlb_step *before,
                                 bool *hidden, struct fth_error *error)
{
    struct fth_page_walk walk = plan_walk(search, search->fits);
    *hidden = false;
    if (search->inner_loads &&
        (double)search->inner_loads < (1 - min_inner_misses) * (double)search->fits)
        return FTH_OK;
    FTH_TRY(fth_pages_walk(search->pages, &walk, 1, error));
    struct fth_page_misses misses = fth_tlb_step_count_misses(&walk, before);
    *hidden = (double)misses.missed_loads < min_inner_misses * (double)misses.loads;
    fth_page_walks_fini(&walk, 1);
    return FTH_OK;
}

/* ---- the steps of the search ---- */

/* Searches for the onset again where different pages miss in each pass, with more warm-up passes.
 * More pages can fit then: at most twice the former onset, which is chosen, not derived. */
static enum fth_status find_random_onset(struct fth_tlb_search *search, struct fth_tlb_level *level,
                                         struct fth_error *error)
{
    if (FTH_TLB_RANDOM_WARM_PASSES * search->onset * search->onset > MAX_WARM_LOADS) {
        level->doubt = "different pages miss in each pass, and a warm-up that brings in all pages "
                       "that fit would take too long";
        return FTH_OK;
    }
    search->warm_passes_per_page = FTH_TLB_RANDOM_WARM_PASSES;
    search->passes = MANY_PASSES;
    return find_onset(search, 0, FTH_MIN(2 * search->onset, search->pages->max_loads), error);
}

/* Finds search->fits, search->onset and level->periodic. */
static enum fth_status find_fitting_pages(struct fth_tlb_search *search,
                                          struct fth_tlb_level *level, struct fth_error *error)
{
    const uint64_t max = search->pages->max_loads; /* one load per page */
    level->periodic = true;
    FTH_TRY(find_stable_onset(search, max, error));
    /* Half of the pages that fit are assumed never to miss. Loads of a walk over them that look
     * like misses nevertheless are false misses. Their fraction is the rate of false misses that
     * the following walks tolerate. */
    if (search->onset && search->fits > 2)
        FTH_TRY(fth_tlb_step_learn_rate(search->pages, search->fits / 2, search->step, error));
    /* Passes can be compared only where a single load distinguishes hit and miss. */
    if (search->onset && search->step->per_load)
        FTH_TRY(is_periodic(search, max, &level->periodic, error));
    if (search->onset && !level->periodic)
        FTH_TRY(find_random_onset(search, level, error));
    if (!level->doubt && (search->onset == 0 || search->fits == 0))
        level->doubt = "there is too little memory to fill this level";
    return FTH_OK;
}

/* Finds out which pages the inner levels hold. Sets *inner_first where they hold the first page. */
static enum fth_status examine_inner_levels(struct fth_tlb_search *search,
                                            const struct fth_tlb_step *before,
                                            struct fth_tlb_level *level, bool *inner_first,
                                            struct fth_error *error)
{
    *inner_first = false;
    if (!before)
        return FTH_OK;
    FTH_TRY(is_hidden(search, before, &level->hidden, error));
    if (level->hidden) {
        level->doubt = "the previous level holds many of the pages that would fill this one";
        return FTH_OK;
    }
    return search->fits > 1 ? is_first_page_inner(search, inner_first, error) : FTH_OK;
}

/* The samples are directly in front of the chain. Where pages are small, they are in a page of
 * their own. */
static bool samples_have_own_page(const struct fth_tlb_search *search)
{
    return search->pages->stride_bytes - FTH_TLB_SKEW_BYTES <= FTH_HEADER_BYTES;
}

/* Computes the entries from the pages that fit. A first page that an inner level holds needs no
 * entry of this level. A page of the samples takes an entry of the first level; whether it takes
 * one of a later level is unknown. */
static void count_fitting_pages(const struct fth_tlb_search *search, bool is_first_level,
                                bool inner_first, struct fth_tlb_level *level)
{
    level->entries = search->fits - (inner_first ? 1 : 0);
    if (!samples_have_own_page(search))
        return;
    if (is_first_level) {
        level->entries++;
    } else {
        level->entries = 0;
        level->doubt = "the pages are so small that the samples may occupy an entry of this level";
    }
}

/* Whether the miss curve can be measured. It requires that the same pages miss this level in every
 * pass. If different pages miss the inner levels in each pass, different pages are looked up in
 * this level, and its misses may vary, too. The curve is then not measured, with one exception: if
 * an inner level was found to hold the page of the samples. The exception is chosen, not derived.
 */
static bool has_miss_curve(const struct fth_tlb_search *search, bool is_first_level,
                           bool inner_first, const struct fth_tlb_level *level)
{
    return level->periodic && (is_first_level || inner_first || search->inner_periodic);
}

/* Measures the miss curve above the onset, and corrects the entries if it shows that some sets
 * overflow before others. `even`: the onset does not depend on the first page. */
static enum fth_status count_resident_pages(struct fth_tlb_search *search, bool even,
                                            struct fth_tlb_level *level, struct fth_error *error)
{
    const uint64_t max = search->pages->max_loads;
    const size_t points = (size_t)FTH_MIN(CURVE_POINTS, max - search->onset + 1);
    uint64_t misses[CURVE_POINTS];
    if (points < 2)
        return FTH_OK;
    FTH_TRY(measure_curve(search, search->onset, misses, points, error));
    if (misses[0] + SPARED_PAGES >= search->onset)
        return FTH_OK; /* one set: all pages miss at once */
    const struct curve_signs curve = {.miss_rise = typical_rise(misses, points),
                                      .even = even && is_regular(misses, search->onset, points)};
    return count_entries(search, curve, level, error);
}

enum fth_status fth_tlb_find_entries(struct fth_tlb_search *search,
                                     const struct fth_tlb_step *before, struct fth_tlb_level *level,
                                     struct fth_error *error)
{
    const bool is_first_level = !before;
    bool even = true, inner_first = false;
    FTH_TRY(find_fitting_pages(search, level, error));
    if (level->doubt)
        return FTH_OK;
    FTH_TRY(examine_inner_levels(search, before, level, &inner_first, error));
    if (level->doubt)
        return FTH_OK;
    FTH_TRY(confirm(search, inner_first, &level->entries_evidence, &even, error));
    count_fitting_pages(search, is_first_level, inner_first, level);
    if (level->doubt || !has_miss_curve(search, is_first_level, inner_first, level))
        return FTH_OK;
    return count_resident_pages(search, even, level, error);
}
