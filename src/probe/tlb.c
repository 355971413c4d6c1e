/* TLBs: loads of one line a page, and what they pay for their pages (pages.c, rung.c).
 *
 *   how many    along a chain of ever more loads, what they pay rises in steps, one a level. The
 *               chain's stride is no multiple of any page, so that its pages fall into all sets of
 *               a TLB, whatever the page; where the first level has its page, chains of that stride
 *               are looked at, too, as more loads go into the same memory
 *   page        two loads in a row that fall into one page do not both pay: the page is the
 *               smallest stride, a power of two, at which neighbours do
 *   entries     at that stride, the most pages that can be walked over and over at no cost
 *   penalty     what those that miss pay more
 *
 * Strides are a line more than a power of two, so that the lines do not all fall into one set of
 * the L2. docs/methods.md has the assumptions. */
#include "probe/tlb.h"

#include <math.h>
#include <stdlib.h>

enum {
    SKEW = 256,
    MAX_HOPS = 8192, /* and no more than lines that stay in L2: one in so many of it */
    L2_PART = 16,
    FIRST_COUNT = 4,
    WANTED_LOADS = 128, /* of the chain that levels are looked for with */
    PASSES = 5,
    MANY_PASSES = 15, /* where other pages miss in each of them */
    FEW_PASSES = 3,   /* over so many pages that few passes have as many loads */
    MANY_PAGES = 512,
    WINDOWS = 5,
    MIN_RISE = 3,    /* cycles that steps are apart, at least */
    GROUP_PART = 6,  /* a group is so much less than what fits: some sets may overflow early */
    NEAR_LOADS = 40, /* for each entry: pages 16 times as large, and 2.5 times as many */
};
/* Of the loads, that pay where two fall into a page and most pages are missed. */
static const double min_pay = 0.15;
/* A step that is less than this part of another is a level of its own. */
static const double lower_part = 0.8;
static const uint64_t largest_page = 64 << 20, min_page = 64 << 10;
/* The golden section of 64 MiB: multiples of it fall evenly into any number of sets. */
static const uint64_t spread_stride = 41473536;

/* Where a level ends: so many pages are too many, and of twice as many loads so many pay for it. */
struct edge {
    uint64_t over;
    size_t paying;
};

struct study {
    const struct fth_prober *prober;
    uint64_t max_bytes, max_hops;
    struct fth_page_spread spread;
    struct fth_rung first; /* the first level's; value 0: not yet known */
    uint64_t first_fits;   /* loads that fit into it, wherever they lie */
    uint64_t first_page, first_entries;
    size_t known;       /* levels */
    bool steady;        /* the same pages miss them in every pass */
    double first_extra; /* cycles of the first load of a walk */
    struct edge edge;   /* of the level that was looked at last */
    size_t samples;
};

/* A level as it was first seen: between two numbers of loads. */
struct sight {
    bool found;
    uint64_t stride_bytes, fits, over;
    struct fth_rung rung;
};

static enum fth_status open_pages(const struct study *study, uint64_t stride, uint64_t max,
                                  struct fth_pages *pages, struct fth_error *error)
{
    max = FTH_MIN(max, study->max_hops);
    if (study->max_bytes / stride < 2)
        max = 0;
    else
        max = FTH_MIN(max, study->max_bytes / stride - 1);
    enum fth_status status = fth_pages_open(study->prober, stride, max, pages, error);
    pages->first_extra = study->first_extra;
    return status;
}

static void close_pages(struct study *study, struct fth_pages *pages)
{
    study->samples += pages->samples;
    fth_pages_close(pages);
}

/* One walk, with what it missed of the level. */
static enum fth_status walk_once(struct fth_pages *pages, uint64_t count,
                                 struct fth_page_walk *walk, struct fth_error *error)
{
    *walk = (struct fth_page_walk){
        .count = count, .passes = fth_page_passes(count, count > MANY_PAGES ? FEW_PASSES : PASSES)};
    return fth_pages_walk(pages, walk, 1, error);
}

/* Finds how many neighbours fit into the first level at this stride, wherever they begin: groups
 * may be half as large. Elsewhere the page of the samples is one more. */
static enum fth_status settle(const struct study *study, struct fth_pages *pages, uint64_t max,
                              struct fth_error *error)
{
    enum fth_status status = FTH_OK;
    bool over = false;
    for (uint64_t count = FIRST_COUNT;
         status == FTH_OK && !over && count <= max && WINDOWS * (count + WINDOWS) < pages->max;
         count *= 2) {
        struct fth_page_walk walks[WINDOWS];
        for (size_t i = 0; i < FTH_COUNT(walks); i++)
            walks[i] = (struct fth_page_walk){.first = i * (count + i),
                                              .count = count - (i > 0),
                                              .passes = fth_page_passes(count, PASSES)};
        status = fth_pages_walk(pages, walks, FTH_COUNT(walks), error);
        if (status != FTH_OK)
            break;
        for (size_t i = 0; i < FTH_COUNT(walks); i++) {
            struct fth_page_misses misses = fth_rung_misses(&walks[i], &study->first);
            over = over || fth_rung_over(&misses, walks[i].count, &study->first);
        }
        if (!over)
            fth_pages_fit(pages, count);
        fth_page_walks_fini(walks, FTH_COUNT(walks));
    }
    return status;
}

/* The same for an outer level: where it holds many more loads than the first, groups may be of so
 * many that all of them miss the first and none this one. */
static enum fth_status settle_for(const struct study *study, const struct sight *sight,
                                  struct fth_pages *pages, struct fth_error *error)
{
    const uint64_t group = sight->fits / GROUP_PART;
    if (sight->rung.below == 0 || group < GROUP_PART * study->first_fits)
        return settle(study, pages, pages->max, error);
    fth_pages_pay(pages, group, sight->rung.below);
    return FTH_OK;
}

/* ---- how many levels ---- */

static enum fth_status learn_spread(struct study *study, struct fth_pages *pages, uint64_t count,
                                    struct fth_error *error)
{
    struct fth_page_walk walk = {.count = count, .passes = MANY_PASSES};
    enum fth_status status = fth_pages_walk(pages, &walk, 1, error);
    if (status == FTH_OK)
        status = fth_page_spread(&walk, &study->spread, error);
    fth_page_walks_fini(&walk, 1);
    return status;
}

/* Makes the chain longer from `first` loads on until they pay more than `below`, and still do with
 * more of them. */
static enum fth_status look(struct study *study, struct fth_pages *pages, uint64_t first,
                            double below, struct sight *sight, struct fth_error *error)
{
    enum fth_status status =
        study->first.value > 0 ? FTH_OK : learn_spread(study, pages, first, error);
    uint64_t last = 0;
    bool was = false;
    *sight = (struct sight){.stride_bytes = pages->stride_bytes};
    for (uint64_t count = first; status == FTH_OK && !sight->found && count <= pages->max;) {
        struct fth_page_walk walk;
        struct fth_rung rung;
        bool is = false;
        status = walk_once(pages, count, &walk, error);
        if (status != FTH_OK)
            break;
        status = fth_rung_find(&walk, below, &study->spread, &rung, &is, error);
        /* Where single loads do not tell, some cost a little more than most: no further level. */
        is = is && (below == 0 || rung.single || rung.value - below >= below / 2);
        fth_page_walks_fini(&walk, 1);
        if (is && was) {
            /* The lower of the two: with more loads a further level may already be missed. */
            if (rung.value < sight->rung.value + fmax(3, 0.25 * (sight->rung.value - below)))
                sight->rung = rung;
            sight->found = true;
        } else if (is) {
            sight->rung = rung;
            sight->fits = last;
            sight->over = count;
        } else if (below == 0) {
            fth_pages_fit(pages, count);
        } else if (study->known == 1 && count / GROUP_PART >= GROUP_PART * study->first_fits) {
            fth_pages_pay(pages, count / GROUP_PART, below);
        }
        /* The last count is as many as there are, and is tried again where they pay. */
        if (count < pages->max)
            count = FTH_MIN(count + (count + 1) / 2, pages->max);
        else if (!is || was)
            count++;
        was = is;
        last = walk.count;
    }
    if (status == FTH_OK && sight->found && sight->fits == 0)
        return fth_fail(error, FTH_INCONCLUSIVE, "find TLBs", NULL,
                        "even %llu loads pay for their pages", (unsigned long long)first);
    return status == FTH_OK && sight->found
               ? fth_rung_learn_rate(pages, sight->fits > 8 ? sight->fits / 2 : sight->fits,
                                     &sight->rung, error)
               : status;
}

/* ---- page ---- */

/* Whether most of those that pay have a neighbour that does, by passes. In none of the three: too
 * few pay. */
struct votes {
    unsigned yes, no;
    unsigned few; /* few pay, and none of them has */
    uint64_t loads;
};

static struct votes ask_neighbours(const struct fth_page_walk *walk, const struct fth_rung *rung)
{
    const double threshold = fth_rung_threshold(rung);
    const unsigned passes = rung->single ? walk->passes : 1;
    const double *values = rung->single ? walk->excess : walk->mean;
    struct votes votes = {.loads = walk->count};
    for (unsigned pass = 0; pass < passes; pass++, values += walk->count) {
        double pay = 0, pairs = 0, loads = (double)walk->count - 1;
        for (uint64_t i = 1; i < walk->count; i++) {
            bool pays = values[i] > threshold;
            pay += pays;
            pairs += pays && i > 1 && values[i - 1] > threshold;
        }
        if (pay < 0.02 * loads || pay < 4)
            continue;
        /* Where pages are missed at random neighbours miss as often as any. */
        bool both = pairs / pay > pay / loads / 2;
        if (both || pay > min_pay * loads)
            *(both ? &votes.yes : &votes.no) += walk->passes / passes;
        else if (pairs < 1)
            votes.few += walk->passes / passes;
    }
    return votes;
}

/* Where an outer level has fewer entries than an inner one, and larger pages, large strides miss
 * both at once. At smaller strides the inner one is seen by itself: `lower` is then its step. */
static enum fth_status vote_on_stride(struct study *study, const struct sight *sight,
                                      uint64_t stride, uint64_t loads, struct votes *votes,
                                      struct fth_rung *lower, struct fth_error *error)
{
    bool found = false;
    struct fth_pages pages;
    struct fth_page_walk walk = {0};
    *votes = (struct votes){0};
    struct fth_error fault = FTH_NO_ERROR;
    enum fth_status status = open_pages(study, stride + SKEW, loads, &pages, &fault);
    if (status == FTH_INCONCLUSIVE)
        return FTH_OK; /* too few loads for this stride */
    if (status == FTH_OK)
        status = settle_for(study, sight, &pages, &fault);
    if (status == FTH_OK) {
        walk = (struct fth_page_walk){.count = pages.max,
                                      .passes = fth_page_passes(pages.max, PASSES)};
        status = fth_pages_walk(&pages, &walk, 1, &fault);
    }
    if (status == FTH_OK) {
        *votes = ask_neighbours(&walk, &sight->rung);
        status = fth_rung_find(&walk, sight->rung.below, &study->spread, lower, &found, &fault);
    }
    const double both = sight->rung.value - sight->rung.below;
    if (!found || !lower->single || lower->value - lower->below > lower_part * both)
        lower->value = 0;
    if (status != FTH_OK)
        fth_fail(error, status, fault.operation, fault.argument, "%s", fault.cause);
    fth_page_walks_fini(&walk, 1);
    close_pages(study, &pages);
    return status;
}

/* From large strides to small ones. The votes of the page's own stride and of half of it count. */
static enum fth_status find_page(struct study *study, struct sight *sight,
                                 struct fth_tlb_level *level, struct fth_error *error)
{
    struct votes last = {0};
    uint64_t loads = (sight->over > MANY_PAGES ? 4 : 8) * sight->over;
    level->page_bytes = 0;
    level->doubt = "no stride shows the page: there is too little memory for more loads";
    for (uint64_t stride = largest_page; stride >= min_page / 2;) {
        struct votes votes;
        struct fth_rung lower = {0};
        enum fth_status status = vote_on_stride(study, sight, stride, loads, &votes, &lower, error);
        if (status != FTH_OK)
            return status;
        if (lower.value > 0) {
            lower.rate = sight->rung.rate;
            sight->rung = lower;
            last = (struct votes){0};
            stride = largest_page;
            continue;
        }
        if (votes.yes > votes.no)
            last = votes;
        if (votes.yes > votes.no || last.yes == 0) { /* or not enough loads yet */
            stride /= 2;
            continue;
        }
        /* Half as many pages nearly fit: of as many loads few pay, where all did, and these lie
         * apart. */
        const unsigned no = votes.no ? votes.no : votes.few;
        if (no) {
            level->page_bytes = 2 * stride;
            level->page_confidence =
                (last.yes + no + 1.0) / (last.yes + last.no + votes.yes + no + 2.0);
            level->doubt = NULL;
            return FTH_OK;
        }
        /* Half as many pages fit, so more of them are asked about. */
        if (votes.loads < loads || loads >= study->max_hops)
            return FTH_OK;
        loads *= 2;
    }
    if (last.yes)
        level->doubt = "pages are smaller than any that is looked for";
    return FTH_OK;
}

/* ---- the whole level ---- */

/* Whether a load's page falls into the set of the samples', which is page 0, where pages are dealt
 * to the sets one after the other. */
static bool is_with_samples(const struct fth_pages *pages, uint64_t place, uint64_t page_bytes,
                            uint64_t entries)
{
    return entries && (FTH_FRONT_ROOM + place * pages->stride_bytes) / page_bytes % entries == 0;
}

/* The samples are written all the time, so that their page is always in use. Where it is alone in
 * its set of the first level, another page that falls there is never at hand, so that it seems to
 * cost nothing and to fit. Then of twice as many pages as fit all miss but it and the next such
 * one, and the entries are one less. */
static bool is_crowded(const struct fth_tlb_search *search, const struct fth_page_walk *walk,
                       const struct fth_tlb_level *level)
{
    unsigned spared = 0;
    if (level->entries < 2 || !level->steady)
        return false;
    for (uint64_t i = 1; i < walk->count; i++) {
        const bool spare = is_with_samples(search->pages, i, level->page_bytes, level->entries - 1);
        if (fth_rung_missed(walk, search->rung, i) == spare)
            return false;
        spared += spare;
    }
    return spared >= 2;
}

/* Whether a place pays less than most do by what the first level costs: of an outer level, one
 * whose page is never at hand in the first seems to. */
static bool is_spared(const struct study *study, const struct fth_tlb_search *search,
                      const struct fth_page_walk *walk, uint64_t place, double usual)
{
    const double less = usual - walk->mean[place], first = study->first.value;
    return usual > 0 && fabs(less - first) < fmin(MIN_RISE, first / 4) &&
           is_with_samples(search->pages, place, study->first_page, study->first_entries);
}

/* The median over the places that paid between the two; 0: all count. */
static enum fth_status find_usual(const struct fth_page_walk *walk, double low, double high,
                                  double *usual, struct fth_error *error)
{
    double *means = calloc(walk->count, sizeof *means);
    size_t count = 0;
    struct fth_summary summary = {.median = 0};
    if (!means)
        return fth_fail(error, FTH_NO_MEMORY, "find TLBs", NULL, "out of memory");
    for (uint64_t i = 1; i < walk->count; i++)
        if (walk->mean[i] > low && walk->mean[i] < high)
            means[count++] = walk->mean[i];
    enum fth_status status = count ? fth_summary_f64(means, count, &summary, error) : FTH_OK;
    *usual = summary.median;
    free(means);
    return status;
}

/* What those that miss pay beyond those that do not, from a walk over twice what fits. */
static enum fth_status find_penalty(struct study *study, struct fth_tlb_search *search,
                                    uint64_t count, struct fth_tlb_level *level,
                                    struct fth_error *error)
{
    const struct fth_rung *rung = search->rung;
    const unsigned passes = fth_page_passes(count, PASSES);
    struct fth_page_walk walk = {.count = count, .passes = passes};
    enum fth_status status = fth_pages_walk(search->pages, &walk, 1, error);
    double *paid = status == FTH_OK ? calloc(count * passes, sizeof *paid) : NULL;
    if (status == FTH_OK && !paid)
        status = fth_fail(error, FTH_NO_MEMORY, "find TLBs", NULL, "out of memory");
    size_t found = 0;
    const double low = fth_rung_threshold(rung), high = 2 * rung->value - low;
    const double *values = rung->single ? walk.excess : walk.mean;
    double usual = 0;
    if (status == FTH_OK && rung->below > 0)
        status = find_usual(&walk, low, high, &usual, error);
    for (uint64_t i = 0; paid && i < (rung->single ? passes : 1) * count; i++)
        if (i % count && values[i] > low && values[i] < high &&
            !is_spared(study, search, &walk, i % count, usual))
            paid[found++] = values[i] - rung->below;
    struct fth_interval interval = {rung->value - rung->below, NAN, NAN};
    if (status == FTH_OK && found >= 2)
        status =
            fth_bootstrap_interval(paid, found, FTH_STATISTIC_MEAN, 0.9, 200, 1, &interval, error);
    level->penalty_cycles = interval.estimate;
    level->penalty_low = interval.low;
    level->penalty_high = interval.high;
    study->edge = (struct edge){search->over, found};
    if (status == FTH_OK && rung->below == 0 && is_crowded(search, &walk, level))
        level->entries--;
    free(paid);
    fth_page_walks_fini(&walk, 1);
    return status;
}

/* How many loads, a page of the outer level each, the inner one has room for; 0: it is not known.
 */
static uint64_t loads_held(const struct fth_tlb_level *inner, const struct fth_tlb_level *outer)
{
    const uint64_t a_page = inner->page_bytes / outer->page_bytes;
    return inner->entries * (a_page ? a_page : 1);
}

static enum fth_status find_level(struct study *study, struct sight *sight,
                                  const struct fth_rung *before, struct fth_tlb_level *level,
                                  struct fth_error *error)
{
    study->edge = (struct edge){0};
    *level = (struct fth_tlb_level){.penalty_cycles = sight->rung.value - sight->rung.below,
                                    .penalty_low = NAN,
                                    .penalty_high = NAN};
    enum fth_status status = find_page(study, sight, level, error);
    level->single = sight->rung.single;
    if (status != FTH_OK || level->page_bytes == 0)
        return status;
    const uint64_t stride = level->page_bytes + SKEW;
    struct fth_pages pages;
    struct fth_tlb_search search = {.pages = &pages,
                                    .rung = &sight->rung,
                                    .inner_steady = study->steady,
                                    .inner_loads = before ? loads_held(level - 1, level) : 0};
    status = open_pages(study, stride, 8 * sight->over * sight->stride_bytes / level->page_bytes,
                        &pages, error);
    if (status == FTH_OK)
        status = settle_for(study, sight, &pages, error);
    if (status == FTH_OK)
        status = fth_tlb_find_entries(&search, before, level, error);
    if (status == FTH_OK && search.over)
        status = find_penalty(study, &search, FTH_MIN(2 * search.over, pages.max), level, error);
    close_pages(study, &pages);
    return status;
}

/* The level after those found so far: on the chain that spreads pages over all sets, and on one of
 * the last page's stride. */
static enum fth_status find_next(struct study *study, struct fth_pages *spread,
                                 const struct sight *last, const struct fth_tlb_level *level,
                                 struct sight *sight, struct fth_error *error)
{
    const double below = last->rung.value;
    enum fth_status status = look(study, spread, FIRST_COUNT, below, sight, error);
    if (status != FTH_OK || level->page_bytes == 0)
        return status;
    /* One that the spread chain did not show has more pages than that has loads, or fewer than the
     * last level, and pages not much larger. */
    uint64_t max = UINT64_MAX;
    if (sight->found || 2 * level->page_bytes > spread->stride_bytes)
        max = NEAR_LOADS * (level->entries ? level->entries : last->over);
    struct sight near = {0};
    struct fth_pages pages;
    struct fth_error fault = FTH_NO_ERROR;
    status = open_pages(study, level->page_bytes + SKEW, max, &pages, &fault);
    if (status == FTH_OK)
        status = settle_for(study, last, &pages, &fault);
    if (status == FTH_OK)
        status = look(study, &pages, FIRST_COUNT, below, &near, &fault);
    close_pages(study, &pages);
    if (status != FTH_OK && status != FTH_INCONCLUSIVE)
        return fth_fail(error, status, fault.operation, fault.argument, "%s", fault.cause);
    if (near.found && (!sight->found || near.rung.value < sight->rung.value + 3))
        *sight = near;
    return FTH_OK;
}

/* Whether what seems to be a level is the one before it once more: its edge is there too, or cannot
 * be found, and it costs less. Some loads pay more than most for a miss of the same TLB, or less.
 */
static bool is_echo(const struct fth_tlb_level *level, const struct fth_tlb_level *before,
                    bool same)
{
    return same ||
           ((level->hidden || level->page_bytes == 0 || level->entries == before->entries) &&
            level->penalty_cycles < before->penalty_cycles);
}

/* The level costs what it seemed to at first, and as much more. */
static void add_penalty(struct fth_tlb_level *level, const struct fth_tlb_level *more)
{
    level->penalty_low = level->penalty_cycles + more->penalty_low;
    level->penalty_high = level->penalty_cycles + more->penalty_high;
    level->penalty_cycles += more->penalty_cycles;
}

static enum fth_status find_levels(struct study *study, struct fth_pages *spread,
                                   struct fth_tlbs *tlbs, struct fth_error *error)
{
    struct sight sight, last = {0};
    struct edge edge = {0};
    enum fth_status status = look(study, spread, FIRST_COUNT, 0, &sight, error);
    study->first = sight.rung;
    study->first_fits = sight.over;
    study->first_extra = spread->first_extra;
    while (status == FTH_OK && sight.found && tlbs->count < FTH_MAX_TLBS) {
        struct fth_tlb_level *level = &tlbs->levels[tlbs->count];
        status = find_level(study, &sight, tlbs->count ? &last.rung : NULL, level, error);
        if (status != FTH_OK)
            break;
        const bool same = tlbs->count && level->page_bytes == level[-1].page_bytes &&
                          study->edge.over && study->edge.over == edge.over;
        if (tlbs->count && is_echo(level, level - 1, same)) {
            /* What most pay counts. */
            if (same && study->edge.paying > edge.paying) {
                add_penalty(level - 1, level);
                last.rung.value = last.rung.below + level[-1].penalty_cycles;
                edge = study->edge;
            }
            struct sight louder = last;
            louder.rung.value = sight.rung.value;
            status = find_next(study, spread, &louder, level - 1, &sight, error);
            sight.found = sight.found && sight.rung.value > louder.rung.value;
            sight.rung.below = last.rung.value;
            continue;
        }
        edge = study->edge;
        study->known = ++tlbs->count;
        study->first_page = tlbs->levels[0].page_bytes;
        study->first_entries = tlbs->levels[0].entries;
        /* Loads that all fell into few of its sets were too many early. */
        if (study->first_fits < study->first_entries)
            study->first_fits = study->first_entries;
        study->steady = study->steady && level->steady;
        last = sight;
        last.rung.value = last.rung.below + level->penalty_cycles;
        status = find_next(study, spread, &last, level, &sight, error);
    }
    return status;
}

enum fth_status fth_probe_tlbs(const struct fth_prober *prober, uint64_t max_bytes,
                               uint64_t l2_bytes, struct fth_tlbs *tlbs, struct fth_error *error)
{
    *tlbs = (struct fth_tlbs){0};
    struct study study = {.prober = prober,
                          .steady = true,
                          .max_bytes = max_bytes,
                          .max_hops = FTH_MIN(l2_bytes / 128 / L2_PART, MAX_HOPS)};
    struct fth_pages spread;
    uint64_t stride = spread_stride;
    while (max_bytes / stride < WANTED_LOADS && stride > min_page)
        stride /= 2;
    /* An odd number of lines, so that these fall into all sets of the L2. */
    stride = stride / SKEW * SKEW + SKEW / 2;
    enum fth_status status = open_pages(&study, stride, UINT64_MAX, &spread, error);
    if (status == FTH_OK)
        status = find_levels(&study, &spread, tlbs, error);
    close_pages(&study, &spread);
    tlbs->samples = study.samples;
    return status;
}
