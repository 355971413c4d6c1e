/* How many entries a TLB has: at the stride of its page, the most pages that can be walked over and
 * over without a miss of that level. Walks double until some miss, and what is between is cut in
 * parts. It is asked again on either side of the edge, and from other pages on.
 *
 * Three things are in the way of an exact number: the samples, which are in a page of their own or
 * in the first one of the chain; sets that are chosen by a hash, so that some of them overflow
 * early, for which there is a walk back; and random replacement, where pages that fit are long in
 * coming. */
#include "probe/tlb.h"

#include <math.h>

enum {
    SKEW = 256, /* of strides */
    PASSES = 5,
    MANY_PASSES = 15, /* where other pages miss in each of them */
    FEW_PASSES = 3,   /* over so many pages that few passes have as many loads */
    MANY_PAGES = 512,
    WARM_PASSES = 3,      /* first in, first out takes two until all that fit are there */
    WARM_LOADS = 1 << 16, /* that a TLB whose replacement is random may take to settle */
    HASHED_SETS = 16,
    CUTS = 4,
    REPEATS = 5,
    STAIRS = 6,
    AGAIN = 3,
    MAX_TURNS = 5,
    VOTES = 12,
    USUAL_WAYS = 8 /* a first guess */
};
/* Of the loads, that must miss an inner level for an outer one to be seen. */
static const double asked_part = 0.95;
/* Where chains begin when it is asked again, in pages. */
static const uint64_t starts[REPEATS] = {0, 5, 18, 37, 66};

static struct fth_page_walk plan_walk(const struct fth_tlb_search *search, uint64_t count)
{
    return (struct fth_page_walk){.count = count,
                                  .warm =
                                      (count > MANY_PAGES ? 1 : WARM_PASSES) + search->warm * count,
                                  .passes = fth_page_passes(count, search->passes ? search->passes
                                                                   : count > MANY_PAGES ? FEW_PASSES
                                                                                        : PASSES)};
}

static struct fth_page_misses misses_of(const struct fth_tlb_search *search,
                                        const struct fth_page_walk *walk)
{
    return fth_rung_misses(walk, search->rung);
}

/* Tries ascending counts; the edge becomes narrower. */
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
        if (fth_rung_over(&misses, counts[i], search->rung)) {
            search->over = counts[i];
            break;
        }
        search->fits = counts[i];
    }
    fth_page_walks_fini(walks, count);
    return FTH_OK;
}

/* From `fits` on, which do: 2 pages more, 4, 8 … */
static enum fth_status find_edge(struct fth_tlb_search *search, uint64_t fits, uint64_t max,
                                 struct fth_error *error)
{
    uint64_t counts[CUTS];
    size_t tries = 0;
    enum fth_status status = FTH_OK;
    search->fits = fits;
    search->over = 0;
    /* Two at a time: the longest ones may not be needed. */
    for (uint64_t more = 2; status == FTH_OK && !search->over && more; tries = 0) {
        for (; tries < 2 && more; tries++) {
            counts[tries] = FTH_MIN(fits + more, max);
            more = fits + more < max ? 2 * more : 0;
        }
        status = try_counts(search, counts, tries, error);
    }
    while (status == FTH_OK && search->over && search->over - search->fits > 1) {
        uint64_t width = search->over - search->fits, cuts = FTH_MIN(width - 1, CUTS);
        for (uint64_t i = 0; i < cuts; i++)
            counts[i] = search->fits + width * (i + 1) / (cuts + 1);
        status = try_counts(search, counts, cuts, error);
    }
    return status;
}

/* An edge that is still there when it is looked at again: what else a launch needs takes entries
 * now and then, so that a few pages miss that would fit. */
static enum fth_status find_lasting_edge(struct fth_tlb_search *search, uint64_t max,
                                         struct fth_error *error)
{
    enum fth_status status = find_edge(search, 0, max, error);
    for (unsigned turn = 0; turn < MAX_TURNS && status == FTH_OK && search->over; turn++) {
        struct fth_page_walk walks[AGAIN];
        unsigned over = 0;
        for (size_t i = 0; i < AGAIN; i++)
            walks[i] = plan_walk(search, search->over);
        status = fth_pages_walk(search->pages, walks, AGAIN, error);
        if (status != FTH_OK)
            break;
        for (size_t i = 0; i < AGAIN; i++) {
            struct fth_page_misses misses = misses_of(search, &walks[i]);
            over += fth_rung_over(&misses, search->over, search->rung);
        }
        fth_page_walks_fini(walks, AGAIN);
        if (2 * over > AGAIN || search->over == max)
            break;
        status = find_edge(search, search->over, max, error);
    }
    return status;
}

/* Whether other pages miss in each pass, with twice as many as fit. */
static enum fth_status is_steady(struct fth_tlb_search *search, uint64_t max, bool *steady,
                                 struct fth_error *error)
{
    struct fth_page_walk walk = plan_walk(search, FTH_MIN(search->over + search->over / 2, max));
    enum fth_status status = fth_pages_walk(search->pages, &walk, 1, error);
    if (status != FTH_OK)
        return status;
    struct fth_page_misses misses = misses_of(search, &walk);
    *steady = misses.unsteady * 10 < misses.all;
    fth_page_walks_fini(&walk, 1);
    return FTH_OK;
}

/* The page of the samples, which is the first one, is in use all the time while loads are timed. An
 * inner level may always have it then, so that this one is not asked for it: one page more seems to
 * fit than does. A pass right after one without samples tells. */
static enum fth_status is_one_at_hand(struct fth_tlb_search *search, bool *at_hand,
                                      struct fth_error *error)
{
    struct fth_page_walk walks[REPEATS];
    for (size_t i = 0; i < REPEATS; i++) {
        walks[i] = plan_walk(search, search->fits);
        walks[i].warm++;
        walks[i].passes = 1;
        walks[i].at_once = true;
    }
    enum fth_status status = fth_pages_walk(search->pages, walks, REPEATS, error);
    if (status != FTH_OK)
        return status;
    struct fth_page_misses all = {0};
    for (size_t i = 0; i < REPEATS; i++) {
        struct fth_page_misses misses = misses_of(search, &walks[i]);
        all.all += misses.all;
        all.loads += misses.loads;
        all.steady += misses.steady;
    }
    all.steady /= REPEATS;
    fth_page_walks_fini(walks, REPEATS);
    *at_hand = fth_rung_over(&all, search->fits, search->rung);
    return FTH_OK;
}

/* Asks again on either side of the edge, and from other pages on: how often the verdict is the
 * same, by Laplace's rule. `even`: it does not depend on where the chain begins. That can be asked
 * only where the page of the samples does not count. */
static enum fth_status confirm(struct fth_tlb_search *search, bool at_hand, double *confidence,
                               bool *even, struct fth_error *error)
{
    struct fth_page_walk walks[2 * REPEATS + 2];
    unsigned same = 0, same_there = 0, elsewhere = 0;
    for (size_t i = 0; i < FTH_COUNT(walks); i++) {
        uint64_t count = i % 2 ? search->over : search->fits, first = starts[i / 2 % REPEATS];
        bool moved = at_hand && first && count > 1 && first + count <= search->pages->max;
        walks[i] = plan_walk(search, count - moved);
        walks[i].first = moved ? first : 0;
    }
    enum fth_status status = fth_pages_walk(search->pages, walks, FTH_COUNT(walks), error);
    if (status != FTH_OK)
        return status;
    for (size_t i = 0; i < FTH_COUNT(walks); i++) {
        struct fth_page_misses misses = misses_of(search, &walks[i]);
        bool is = fth_rung_over(&misses, walks[i].count, search->rung) == (i % 2 == 1);
        same += is;
        elsewhere += walks[i].first != 0;
        same_there += walks[i].first != 0 && is;
    }
    const unsigned here = FTH_COUNT(walks) - elsewhere;
    fth_page_walks_fini(walks, FTH_COUNT(walks));
    const size_t tries = FTH_COUNT(walks);
    *confidence = (same + 1.0) / ((double)tries + 2);
    *even = same_there == elsewhere || same - same_there < here;
    return FTH_OK;
}

/* How many pages miss with one page more at a time, from `first` pages on. */
static enum fth_status climb_stairs(struct fth_tlb_search *search, uint64_t first, uint64_t *misses,
                                    size_t count, struct fth_error *error)
{
    struct fth_page_walk walks[STAIRS + 1];
    for (size_t i = 0; i < count; i++)
        walks[i] = plan_walk(search, first + i);
    enum fth_status status = fth_pages_walk(search->pages, walks, count, error);
    if (status != FTH_OK)
        return status;
    for (size_t i = 0; i < count; i++)
        misses[i] = misses_of(search, &walks[i]).steady;
    fth_page_walks_fini(walks, count);
    return FTH_OK;
}

/* The step that occurs most often, of those that are more than a page; 0: there is none. */
static uint64_t usual_step(const uint64_t *misses, size_t count)
{
    uint64_t usual = 0;
    size_t max = 0;
    for (size_t i = 1; i < count; i++) {
        size_t times = 0;
        for (size_t j = 1; j < count; j++)
            times += misses[j] - misses[j - 1] == misses[i] - misses[i - 1];
        if (misses[i] > misses[i - 1] + 1 && times > max) {
            max = times;
            usual = misses[i] - misses[i - 1];
        }
    }
    return usual;
}

/* What chains from several first pages on say of the entries. */
struct ballot {
    double said[VOTES]; /* ascending */
    double found;       /* pages, of those that begin with the samples' own */
    double winner;      /* what was said most often */
    unsigned votes;     /* for it */
    unsigned next;      /* for what was said most often after it */
};

static void tally(struct ballot *ballot)
{
    double scratch[VOTES];
    fth_sort_f64(ballot->said, scratch, VOTES);
    ballot->votes = ballot->next = 0;
    for (size_t i = 0, end = 0; i < VOTES; i = end) {
        while (end < VOTES && ballot->said[end] <= ballot->said[i])
            end++;
        const unsigned same = (unsigned)(end - i);
        if (same > ballot->votes) {
            ballot->next = ballot->votes;
            ballot->votes = same;
            ballot->winner = ballot->said[i];
        } else if (same > ballot->next) {
            ballot->next = same;
        }
    }
}

/* How sure it is that the winner would win again: the sign test between it and the next one; never
 * more than Laplace's rule gives when all agree. */
static double sure_of(const struct ballot *ballot)
{
    const unsigned all = ballot->votes + ballot->next;
    double ways = 1, tail = 0; /* of choosing i of all */
    for (unsigned i = 0; i <= all; i++) {
        if (i >= ballot->votes)
            tail += ways;
        ways = ways * (all - i) / (i + 1);
    }
    return fmin(1 - ldexp(tail, -(int)all), (VOTES + 1.0) / (VOTES + 2.0));
}

/* After a walk over more pages than there are entries, what the walk back finds are the entries,
 * whatever pages share a set: of each set, the ones that were used last. Some may be those of the
 * samples and of the code; the ways tell what it was without them. Walks of different pages, as
 * many as there may be and a few less. */
static enum fth_status vote(struct fth_tlb_search *search, uint64_t min_pages, uint64_t ways,
                            struct ballot *ballot, struct fth_error *error)
{
    const uint64_t max = search->pages->max, spare = max - min_pages;
    struct fth_page_walk walks[VOTES];
    for (size_t i = 0; i < VOTES; i++) {
        walks[i] = plan_walk(search, max - spare * i / VOTES);
        walks[i].first = i % 2 ? max - walks[i].count : 0;
        walks[i].passes = 1;
        walks[i].back = true;
    }
    enum fth_status status = fth_pages_walk(search->pages, walks, VOTES, error);
    if (status != FTH_OK)
        return status;
    double whole[VOTES], scratch[VOTES];
    size_t count = 0;
    for (size_t i = 0; i < VOTES; i++) {
        /* Loads that something else disturbed are as the others are. */
        const struct fth_page_misses misses = misses_of(search, &walks[i]);
        const double found = (double)walks[i].count * (double)(misses.loads - misses.all) /
                             (double)(misses.loads ? misses.loads : 1);
        ballot->said[i] = round(found / (double)ways) * (double)ways;
        if (walks[i].first == 0)
            whole[count++] = found;
    }
    fth_sort_f64(whole, scratch, count);
    ballot->found = whole[count / 2];
    fth_page_walks_fini(walks, VOTES);
    tally(ballot);
    return FTH_OK;
}

/* Where the sets are chosen by a hash, pages in a row fall into them unevenly: the first set
 * overflows early, and for a while another page may add no misses, since it falls into a set that
 * has room. One that fills up adds all its ways and the page, which tells the ways. `step`: the
 * first one, 0 where it was not seen.
 *
 *   misses         ┌──
 *               ┌──┘   ways + 1 a step
 *          ┌────┘
 *   ───────┴ first set
 */
static enum fth_status find_step(struct fth_tlb_search *search, uint64_t max, uint64_t *step,
                                 struct fth_error *error)
{
    uint64_t misses[STAIRS], pages = search->fits;
    enum fth_status status = FTH_OK;
    for (unsigned turn = 0; turn < MAX_TURNS && *step == 0 && status == FTH_OK; turn++) {
        pages += pages / 2 / USUAL_WAYS;
        if (pages + STAIRS > max)
            break;
        status = climb_stairs(search, pages, misses, STAIRS, error);
        if (status == FTH_OK)
            *step = usual_step(misses, STAIRS);
    }
    return status;
}

/* The entries of many sets that need not overflow together. */
static enum fth_status count_entries(struct fth_tlb_search *search, uint64_t max, uint64_t step,
                                     bool even, struct fth_tlb_level *level,
                                     struct fth_error *error)
{
    enum fth_status status = even ? FTH_OK : find_step(search, max, &step, error);
    if (status != FTH_OK)
        return status;
    const uint64_t ways = step ? step - 1 : 0;
    const uint64_t enough = ways > 1 ? search->over + 2 * search->over / ways : max;
    const bool can_vote = enough + VOTES <= max;
    /* Few sets are taken to be of different sizes rather than hashed: what fits is what counts. */
    if (even && (!can_vote || level->entries + ways < HASHED_SETS * ways))
        return FTH_OK;
    struct ballot ballot = {.votes = 0};
    if (can_vote)
        status = vote(search, enough, ways, &ballot, error);
    if (status != FTH_OK || (even && ballot.found < (double)level->entries + 1))
        return status;
    /* The first set overflows when it has one page more than its share, at the earliest. */
    const uint64_t winner = (uint64_t)ballot.winner;
    if (2 * ballot.votes <= VOTES || winner + ways < level->entries ||
        winner * (ways - 1) > (level->entries + 1) * ways) {
        level->doubt = "pages fall into the sets unevenly";
        level->unsettled = true;
        level->entries = 0;
        return FTH_OK;
    }
    level->entries = winner;
    level->entries_confidence = sure_of(&ballot);
    return FTH_OK;
}

/* Whether each page more adds misses, until all miss: otherwise it fell into a set with room. */
static bool is_regular(const uint64_t *misses, uint64_t first, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (misses[i] <= misses[i - 1] && misses[i - 1] + 2 < first + i - 1)
            return false;
    return true;
}

/* Whether the level before this one holds many of the pages that seem to fit: then this one was not
 * asked for them. It cannot where it has few entries; otherwise what the loads pay tells. */
static enum fth_status is_hidden(struct fth_tlb_search *search, const struct fth_rung *before,
                                 bool *hidden, struct fth_error *error)
{
    struct fth_page_walk walk = plan_walk(search, search->fits);
    *hidden = false;
    if (search->inner_loads &&
        (double)search->inner_loads < (1 - asked_part) * (double)search->fits)
        return FTH_OK;
    enum fth_status status = fth_pages_walk(search->pages, &walk, 1, error);
    if (status != FTH_OK)
        return status;
    struct fth_page_misses misses = fth_rung_misses(&walk, before);
    *hidden = (double)misses.all < asked_part * (double)misses.loads;
    fth_page_walks_fini(&walk, 1);
    return FTH_OK;
}

/* `before`: the level that is asked first, or NULL. */
enum fth_status fth_tlb_find_entries(struct fth_tlb_search *search, const struct fth_rung *before,
                                     struct fth_tlb_level *level, struct fth_error *error)
{
    const uint64_t max = search->pages->max;
    level->steady = true;
    enum fth_status status = find_lasting_edge(search, max, error);
    if (status == FTH_OK && search->over && search->fits > 2)
        status = fth_rung_learn_rate(search->pages, search->fits / 2, search->rung, error);
    if (status == FTH_OK && search->over && search->rung->single)
        status = is_steady(search, max, &level->steady, error);
    if (status == FTH_OK && search->over && !level->steady) {
        /* It takes many passes until all pages that fit are there. */
        if (4 * search->over * search->over > WARM_LOADS) {
            level->doubt = "other pages miss in each pass, and to have them all there would take "
                           "too long";
            return FTH_OK;
        }
        search->warm = 4;
        search->passes = MANY_PASSES;
        status = find_edge(search, 0, FTH_MIN(2 * search->over, max), error);
    }
    if (status != FTH_OK)
        return status;
    if (search->over == 0 || search->fits == 0) {
        level->doubt = "there is too little memory to fill it";
        return FTH_OK;
    }
    bool even = true, at_hand = false, hidden = false;
    if (before)
        status = is_hidden(search, before, &hidden, error);
    if (status == FTH_OK && hidden) {
        level->doubt = "the level before it holds many of the pages that would fill it";
        level->hidden = true;
        return FTH_OK;
    }
    if (status == FTH_OK && before && search->fits > 1)
        status = is_one_at_hand(search, &at_hand, error);
    if (status == FTH_OK)
        status = confirm(search, at_hand, &level->entries_confidence, &even, error);
    const uint64_t own = at_hand ? 1 : 0;
    level->entries = search->fits - own;
    /* The samples lie right in front of the chain: where pages are small, in one of their own. */
    if (search->pages->stride_bytes - SKEW <= FTH_FRONT_ROOM) {
        level->entries += !before;
        if (before) {
            level->entries = 0;
            level->doubt = "pages are so small that the samples may take an entry";
            return status;
        }
    }
    const size_t stairs = (size_t)FTH_MIN(STAIRS, max - search->over + 1);
    uint64_t misses[STAIRS];
    if (status != FTH_OK || !level->steady || stairs < 2 ||
        (before && !at_hand && !search->inner_steady))
        return status;
    status = climb_stairs(search, search->over, misses, stairs, error);
    if (status != FTH_OK || misses[0] + 2 >= search->over)
        return status; /* one set: all miss at once */
    even = even && is_regular(misses, search->over, stairs);
    return count_entries(search, max, usual_step(misses, stairs), even, level, error);
}
