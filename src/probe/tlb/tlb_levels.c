/* How many TLB levels are there, and what are the page size, the number of entries and the miss
 * penalty of each? The probe times every load of a pointer chase separately (a fine-grained
 * pointer chase: Mei and Chu 2017, Section 4). The loads of a chain are a constant stride apart,
 * usually a page or more. The position of a load is its index in the chain. The baseline of a load
 * is the cycles that it takes while the first level holds its page. Its excess is the cycles that
 * it takes in a longer walk minus this baseline, that is, the cost of its translation. pages.c
 * measures both. tlb_step.c finds out which loads missed.
 *
 *   level      With more and more loads, the excess rises in steps, one per level. The loads
 *              follow the "spread" chain: its stride is not a multiple of any page size, so that a
 *              TLB distributes the pages over all its sets. Once the page size of the previous
 *              level is known, a second chain with that stride is examined, too: it has more loads
 *              in the same memory.
 *   page       If two consecutive loads are in the same page, at most one of them misses. The page
 *              size is the smallest stride, a power of two, at which many misses directly follow
 *              another miss. Each pass of a walk has one vote on this question (struct votes).
 *   entries    The largest number of pages that repeated passes access without a miss, at a stride
 *              of one page (tlb_entries.c).
 *   penalty    The excess of loads that miss this level minus that of loads that hit it.
 *
 * pages.c measures the baselines in short walks over groups of neighbouring loads. Larger groups
 * save time. In a hit group, all loads hit the first level. In a miss group, which is larger, all
 * loads miss the first level (or the first two levels) and hit the next one. pages.c then subtracts
 * the known cost of these misses from the measured cycles.
 *
 * The search in find_levels() works on candidates. A candidate is a step in the excess that begins
 * between two numbers of loads:
 *
 *   1. find_candidate() makes the walk longer until some loads have a higher excess than misses of
 *      the levels found so far explain.
 *   2. find_level() determines page size, entries and penalty of the candidate.
 *   3. is_duplicate() compares it with the previous level. Some loads take more or fewer cycles
 *      than most for a miss of the same TLB, which looks like a second step. Such a candidate is
 *      not a level of its own. The onset of a level is the number of pages at which its misses
 *      begin. If the duplicate has the same onset as the previous level, and more loads show its
 *      step than the lower step, the higher step determines the penalty of the previous level
 *      (add_penalty()).
 *   4. find_next_candidate() looks for the next higher step, on both chains.
 *
 * All strides except that of the spread chain are 256 bytes larger than a power of two. Otherwise
 * all lines would fall into the same set of the L2. docs/methods.md lists the assumptions. */
#include "probe/tlb/probe_tlb.h"

#include <math.h>
#include <stdlib.h>

enum {
    SKEW = 256, /* bytes that are added to strides that are powers of two */
    /* A chain has at most MAX_LOADS loads. It also has at most 1/L2_PART as many loads as the L2
     * has 128-byte lines, so that all lines stay in the L2. Heuristics. */
    MAX_LOADS = 8192,
    L2_PART = 16,
    FIRST_COUNT = 4, /* loads of the shortest walk; assumed to fit into every TLB */
    /* Number of loads that the spread chain should have at least. Its stride is halved until memory
     * has space for them, or until the stride is not greater than min_page. */
    WANTED_LOADS = 128,
    PASSES = 5,        /* timed passes of a walk */
    NOISE_PASSES = 15, /* timed passes to measure the noise */
    /* A walk over more than MANY_LOADS loads gives enough samples with FEW_PASSES timed passes.
     * find_page() uses the same limit to save time. */
    FEW_PASSES = 3,
    MANY_LOADS = 512,
    WINDOWS = 5,  /* places of the chain at which groups of neighbours are tested */
    MIN_RISE = 3, /* cycles: smallest penalty that the probe looks for */
    /* Safety factor for miss groups. A group has at least GROUP_FACTOR times as many loads as the
     * first level holds, so that all of them miss it. It has at most 1/GROUP_FACTOR of the loads
     * that the level to be hit holds, because some of its sets may overflow early. Heuristic. */
    GROUP_FACTOR = 6,
    /* Maximum length of the second chain (find_next_candidate()), in loads per entry of the
     * previous level. This is enough to fill a next level whose pages are up to 16 times as large
     * as those of the previous level and which has up to 2.5 times as many entries (16 * 2.5 = 40).
     * Heuristic. */
    LOADS_PER_ENTRY = 40,
};
/* If hardly any two misses of a pass are in direct succession, the stride may be half a page or
 * less. The pass votes for this (votes.no) if more than this fraction of its loads misses.
 * Heuristic. */
static const double min_miss_fraction = 0.15;
/* A step that is at most this fraction of the candidate's step belongs to another level (see
 * test_stride()). Heuristic. */
static const double max_lower_fraction = 0.8;
/* Range of page sizes in bytes that the probe can find. */
static const uint64_t max_page = 64 << 20, min_page = 64 << 10;
/* About 64 MiB divided by the golden ratio, in bytes. Multiples of it are evenly distributed over
 * any number of sets. */
static const uint64_t spread_stride = 41473536;

/* Where a level begins to miss, at a stride of one page. */
struct onset {
    uint64_t pages; /* smallest number of pages with misses */
    /* Number of loads with the excess of such a miss, over all passes of a walk over twice as many
     * pages. If single loads do not distinguish hit and miss, it is the number of loads of the
     * chain whose mean excess is that of such a miss. */
    size_t misses;
};

/* State of the search over all levels. */
struct study {
    const struct fth_prober *prober;
    uint64_t max_bytes, max_loads; /* limits of every chain: memory and number of loads */
    struct fth_page_noise noise;
    struct fth_tlb_step first_step; /* of the first level; miss_excess 0: not known yet */
    uint64_t first_max_loads; /* upper bound for the loads whose pages the first level holds */
    uint64_t first_page, first_entries; /* of the first level; 0: not known */
    size_t level_count;                 /* levels found so far */
    bool periodic;           /* the same pages miss in every pass, in all levels found so far */
    double first_load_extra; /* cycles that the first load of a walk takes longer than others */
    struct onset onset;      /* of the candidate that was examined last; pages 0: unknown */
    size_t samples;          /* number of samples that were taken on chains closed so far */
};

/* A possible level. On a chain with this stride, a walk over `fitting_loads` loads does not show
 * the step, and a walk over `onset_loads` loads does. */
struct candidate {
    bool found;
    uint64_t stride_bytes, fitting_loads, onset_loads;
    struct fth_tlb_step step;
};

/* Opens a chain of at most `max_loads` loads, within the limits of the study. */
static enum fth_status open_pages(const struct study *study, uint64_t stride, uint64_t max_loads,
                                  struct fth_pages *pages, struct fth_error *error)
{
    max_loads = FTH_MIN(max_loads, study->max_loads);
    if (study->max_bytes / stride < 2)
        max_loads = 0;
    else /* the margin of one stride is for the header in front of the chain and for alignment */
        max_loads = FTH_MIN(max_loads, study->max_bytes / stride - 1);
    enum fth_status status = fth_pages_open(study->prober, stride, max_loads, pages, error);
    pages->first_load_extra = study->first_load_extra;
    return status;
}

static void close_pages(struct study *study, struct fth_pages *pages)
{
    study->samples += pages->samples;
    fth_pages_close(pages);
}

/* Walks over the first `count` loads. The caller frees `walk` with fth_page_walks_fini(). */
static enum fth_status walk_once(struct fth_pages *pages, uint64_t count,
                                 struct fth_page_walk *walk, struct fth_error *error)
{
    *walk = (struct fth_page_walk){
        .count = count, .passes = fth_page_passes(count, count > MANY_LOADS ? FEW_PASSES : PASSES)};
    return fth_pages_walk(pages, walk, 1, error);
}

/* Makes hit groups as large as possible: doubles the number of neighbouring loads as long as walks
 * over them do not miss the first level, in each of several windows of the chain. The GPU writes
 * the samples into the page of position 0, which therefore needs an entry all the time. Windows
 * that do not begin at position 0 have one load fewer for this reason. */
static enum fth_status choose_groups(const struct study *study, struct fth_pages *pages,
                                     uint64_t max_loads, struct fth_error *error)
{
    enum fth_status status = FTH_OK;
    bool overflows = false;
    for (uint64_t count = FIRST_COUNT; status == FTH_OK && !overflows && count <= max_loads &&
                                       WINDOWS * (count + WINDOWS) < pages->max_loads;
         count *= 2) {
        struct fth_page_walk walks[WINDOWS];
        /* The windows do not overlap. The gaps between them grow, so that the windows do not begin
         * at multiples of one number. */
        for (size_t i = 0; i < FTH_COUNT(walks); i++)
            walks[i] = (struct fth_page_walk){.first = i * (count + i),
                                              .count = count - (i > 0),
                                              .passes = fth_page_passes(count, PASSES)};
        status = fth_pages_walk(pages, walks, FTH_COUNT(walks), error);
        if (status != FTH_OK)
            break;
        for (size_t i = 0; i < FTH_COUNT(walks); i++) {
            struct fth_page_misses misses =
                fth_tlb_step_count_misses(&walks[i], &study->first_step);
            overflows =
                overflows || fth_tlb_step_overflows(&misses, walks[i].count, &study->first_step);
        }
        if (!overflows)
            fth_pages_use_hit_groups(pages, count);
        fth_page_walks_fini(walks, FTH_COUNT(walks));
    }
    return status;
}

/* Chooses the groups for walks that examine a candidate. Where the candidate's level holds many
 * more loads than the first one, they are miss groups: so large that all their loads miss the first
 * level and hit the candidate's. Otherwise they are hit groups. The size of a miss group is
 * compared with the first level only. If the candidate is the third level, it is assumed that such
 * a group misses the second level, too. */
static enum fth_status choose_groups_for(const struct study *study,
                                         const struct candidate *candidate, struct fth_pages *pages,
                                         struct fth_error *error)
{
    const uint64_t group = candidate->fitting_loads / GROUP_FACTOR;
    if (candidate->step.hit_excess == 0 || group < GROUP_FACTOR * study->first_max_loads)
        return choose_groups(study, pages, pages->max_loads, error);
    fth_pages_use_miss_groups(pages, group, candidate->step.hit_excess);
    return FTH_OK;
}

/* ---- candidates ---- */

static enum fth_status measure_noise(struct study *study, struct fth_pages *pages, uint64_t count,
                                     struct fth_error *error)
{
    struct fth_page_walk walk = {.count = count, .passes = NOISE_PASSES};
    enum fth_status status = fth_pages_walk(pages, &walk, 1, error);
    if (status == FTH_OK)
        status = fth_page_noise(&walk, &study->noise, error);
    fth_page_walks_fini(&walk, 1);
    return status;
}

/* Finds the next step above `hit_excess`: makes the walk longer by half, from `min_loads` loads on,
 * until two consecutive walks show a step. candidate->found is false where none does.
 * FTH_INCONCLUSIVE: even the shortest walk shows a step. */
static enum fth_status find_candidate(struct study *study, struct fth_pages *pages,
                                      uint64_t min_loads, double hit_excess,
                                      struct candidate *candidate, struct fth_error *error)
{
    enum fth_status status =
        study->first_step.miss_excess > 0 ? FTH_OK : measure_noise(study, pages, min_loads, error);
    uint64_t previous_count = 0;
    bool found_before = false;
    *candidate = (struct candidate){.stride_bytes = pages->stride_bytes};
    for (uint64_t count = min_loads;
         status == FTH_OK && !candidate->found && count <= pages->max_loads;) {
        struct fth_page_walk walk;
        struct fth_tlb_step step;
        bool found = false;
        status = walk_once(pages, count, &walk, error);
        if (status != FTH_OK)
            break;
        status = fth_tlb_step_find(&walk, hit_excess, &study->noise, &step, &found, error);
        /* If only the means over the passes show the step, not single loads, it must be at least
         * half as high as the excess below it (a heuristic). Some lines always take a little longer
         * than most, which is not a further level. */
        found = found && (hit_excess == 0 || step.per_load ||
                          step.miss_excess - hit_excess >= hit_excess / 2);
        fth_page_walks_fini(&walk, 1);
        if (found && found_before) {
            /* The second walk has more loads and is preferred, unless its step is clearly higher,
             * by a quarter (a heuristic): then it may already miss a further level. */
            if (step.miss_excess <
                candidate->step.miss_excess +
                    fmax(MIN_RISE, 0.25 * (candidate->step.miss_excess - hit_excess)))
                candidate->step = step;
            candidate->found = true;
        } else if (found) {
            candidate->step = step;
            candidate->fitting_loads = previous_count;
            candidate->onset_loads = count;
        } else if (hit_excess == 0) {
            fth_pages_use_hit_groups(pages, count);
        } else if (study->level_count == 1 &&
                   count / GROUP_FACTOR >= GROUP_FACTOR * study->first_max_loads) {
            /* Only in the search for the second level. In that for the third level, the groups
             * would have to miss the second level, too, which this condition does not ensure. */
            fth_pages_use_miss_groups(pages, count / GROUP_FACTOR, hit_excess);
        }
        /* The longest walk is repeated if it is the first one with a step. Otherwise the loop ends
         * after it. */
        if (count < pages->max_loads)
            count = FTH_MIN(count + (count + 1) / 2, pages->max_loads);
        else if (!found || found_before)
            count++;
        found_before = found;
        previous_count = walk.count;
    }
    if (status == FTH_OK && candidate->found && candidate->fitting_loads == 0)
        return fth_fail(error, FTH_INCONCLUSIVE, "find TLBs", NULL,
                        "even a walk over %llu pages misses a TLB", (unsigned long long)min_loads);
    /* The rate of false misses (loads that look like misses although their pages fit) is measured
     * with half as many loads as fit, or with all of them if at most 8 fit. Heuristic. */
    return status == FTH_OK && candidate->found
               ? fth_tlb_step_learn_rate(pages,
                                         candidate->fitting_loads > 8 ? candidate->fitting_loads / 2
                                                                      : candidate->fitting_loads,
                                         &candidate->step, error)
               : status;
}

/* ---- page ---- */

/* Do loads that miss follow directly after other loads that miss? Each pass has at most one vote. A
 * pass does not vote if hardly any load misses, or if it fits none of the three cases. */
struct votes {
    unsigned yes;     /* many misses follow directly after another miss */
    unsigned no;      /* many loads miss, but hardly any two in a row */
    unsigned weak_no; /* some loads miss, but not many, and no two in a row */
    uint64_t loads;   /* of the walk */
};

/* Where single loads do not distinguish hit and miss, the means over the passes are examined once,
 * and the result counts for all passes. Position 0 is ignored: the GPU writes the samples into its
 * page, which therefore stays in the TLB. */
static struct votes count_votes(const struct fth_page_walk *walk, const struct fth_tlb_step *step)
{
    const double threshold = fth_tlb_step_threshold(step);
    const unsigned passes = step->per_load ? walk->passes : 1;
    const double *values = step->per_load ? walk->excess : walk->mean;
    struct votes votes = {.loads = walk->count};
    for (unsigned pass = 0; pass < passes; pass++, values += walk->count) {
        double missed = 0, pairs = 0, loads = (double)walk->count - 1;
        for (uint64_t i = 1; i < walk->count; i++) {
            bool misses = values[i] > threshold;
            missed += misses;
            pairs += misses && i > 1 && values[i - 1] > threshold;
        }
        if (missed < 0.02 * loads || missed < 4) /* Heuristic. */
            continue;
        /* Neighbours in different pages miss independently of each other: the probability that the
         * load before a miss also misses is then the miss rate. Half of that is the limit. */
        bool neighbours_miss = pairs / missed > missed / loads / 2;
        if (neighbours_miss || missed > min_miss_fraction * loads)
            *(neighbours_miss ? &votes.yes : &votes.no) += walk->passes / passes;
        else if (pairs < 1)
            votes.weak_no += walk->passes / passes;
    }
    return votes;
}

/* Walks `loads` loads at a stride and counts the votes. All votes are 0 where memory is too small.
 *
 * Where an outer level has larger pages and fewer entries than an inner one, large strides miss
 * both at once, and the candidate's step is the sum of two. At smaller strides only the inner level
 * misses, and its step is lower. `lower` is the step of the inner level in this case. In all other
 * cases lower->miss_excess is 0. */
static enum fth_status test_stride(struct study *study, const struct candidate *candidate,
                                   uint64_t stride, uint64_t loads, struct votes *votes,
                                   struct fth_tlb_step *lower, struct fth_error *error)
{
    bool found = false;
    struct fth_pages pages;
    struct fth_page_walk walk = {0};
    *votes = (struct votes){0};
    struct fth_error fault = FTH_NO_ERROR; /* not `error`: FTH_INCONCLUSIVE is no failure here */
    enum fth_status status = open_pages(study, stride + SKEW, loads, &pages, &fault);
    if (status == FTH_INCONCLUSIVE)
        return FTH_OK; /* too little memory for this stride; `pages` then owns nothing */
    if (status == FTH_OK)
        status = choose_groups_for(study, candidate, &pages, &fault);
    if (status == FTH_OK) {
        walk = (struct fth_page_walk){.count = pages.max_loads,
                                      .passes = fth_page_passes(pages.max_loads, PASSES)};
        status = fth_pages_walk(&pages, &walk, 1, &fault);
    }
    if (status == FTH_OK) {
        *votes = count_votes(&walk, &candidate->step);
        status = fth_tlb_step_find(&walk, candidate->step.hit_excess, &study->noise, lower, &found,
                                   &fault);
    }
    const double height = candidate->step.miss_excess - candidate->step.hit_excess;
    if (!found || !lower->per_load ||
        lower->miss_excess - lower->hit_excess > max_lower_fraction * height)
        lower->miss_excess = 0;
    if (status != FTH_OK)
        fth_error_move(error, &fault);
    fth_page_walks_fini(&walk, 1);
    close_pages(study, &pages);
    return status;
}

/* Finds the page size: halves the stride until the votes turn from yes to no. The page is the last
 * stride with yes. The confidence comes from the votes at that stride and at half of it, by
 * Laplace's rule of succession. Where no page size is found, level->page_bytes stays 0 and `doubt`
 * tells why. Replaces the step of the candidate where a lower one is found, and starts again. */
static enum fth_status find_page(struct study *study, struct candidate *candidate,
                                 struct fth_tlb_level *level, struct fth_error *error)
{
    struct votes last = {0};
    /* Enough loads to overflow the level even at a stride of half a page, which takes twice as many
     * loads as a stride of one page. The factors (8, or 4 to save time with many loads) are
     * heuristics. */
    uint64_t loads = (candidate->onset_loads > MANY_LOADS ? 4 : 8) * candidate->onset_loads;
    level->page_bytes = 0;
    level->doubt = "no stride reveals the page size with the loads that memory and the L2 allow";
    for (uint64_t stride = max_page; stride >= min_page / 2;) {
        struct votes votes;
        struct fth_tlb_step lower = {0};
        enum fth_status status =
            test_stride(study, candidate, stride, loads, &votes, &lower, error);
        if (status != FTH_OK)
            return status;
        if (lower.miss_excess > 0) {
            lower.false_miss_rate = candidate->step.false_miss_rate;
            candidate->step = lower;
            last = (struct votes){0};
            stride = max_page;
            continue;
        }
        if (votes.yes > votes.no)
            last = votes;
        /* As long as no stride had a majority of yes, the search goes on, even after a no: the
         * larger strides had too few loads for a reliable vote. */
        if (votes.yes > votes.no || last.yes == 0) {
            stride /= 2;
            continue;
        }
        /* Larger strides had a majority of yes, this one has not. At half a page, the loads need
         * half as many pages as before. If these pages nearly fit, only few loads miss, and no
         * two in a row. Such votes (weak_no) count as no if there is no other no. */
        const unsigned no = votes.no ? votes.no : votes.weak_no;
        if (no) {
            level->page_bytes = 2 * stride;
            level->page_confidence =
                (last.yes + no + 1.0) / (last.yes + last.no + votes.yes + no + 2.0);
            level->doubt = NULL;
            return FTH_OK;
        }
        /* No pass voted: probably all pages that the loads need fit, so that no load misses. Repeat
         * with more loads, unless memory or max_loads does not allow them. */
        if (votes.loads < loads || loads >= study->max_loads)
            return FTH_OK;
        loads *= 2;
    }
    if (last.yes) /* even at min_page / 2 */
        level->doubt = "the pages are smaller than 64 KiB, the smallest size that is tested";
    return FTH_OK;
}

/* ---- one level ---- */

/* Whether a load's page is in the same set as page 0, into which the GPU writes the samples. The
 * TLB is assumed to have `entries` sets with one way each, and to assign consecutive pages to
 * consecutive sets. False if `entries` is 0 (unknown). */
static bool is_in_samples_set(const struct fth_pages *pages, uint64_t position, uint64_t page_bytes,
                              uint64_t entries)
{
    return entries &&
           (FTH_HEADER_BYTES + position * pages->stride_bytes) / page_bytes % entries == 0;
}

/* Whether level->entries, as found for the first level, is one too high because the level is
 * direct-mapped (one way per set). Let it have N sets. Writing the samples into page 0 evicts all
 * other pages of set 0, that is, pages N, 2N and so on. Loads of these pages miss even while their
 * baseline is measured, so their excess is 0 and they seem to hit. Therefore page N seems to fit,
 * and N + 1 entries are found instead of N. To verify this, `walk` covers twice as many pages as
 * the onset. Exactly the pages whose number is a multiple of N must seem to hit, and there must be
 * at least two of them (N and 2N). */
static bool is_one_too_many(const struct fth_tlb_search *search, const struct fth_page_walk *walk,
                            const struct fth_tlb_level *level)
{
    unsigned hits = 0;
    if (level->entries < 2 || !level->periodic)
        return false;
    for (uint64_t i = 1; i < walk->count; i++) {
        const bool seems_to_hit =
            is_in_samples_set(search->pages, i, level->page_bytes, level->entries - 1);
        if (fth_tlb_step_missed(walk, search->step, i) == seems_to_hit)
            return false;
        hits += seems_to_hit;
    }
    return hits >= 2;
}

/* Whether the baseline of a load already contains a miss of a direct-mapped first level, because
 * the load's page is in the set of page 0. Its excess for a miss of an outer level is then lower
 * than `typical`, the excess of most loads, by the first level's penalty. typical 0: unknown. */
static bool has_miss_in_baseline(const struct study *study, const struct fth_tlb_search *search,
                                 const struct fth_page_walk *walk, uint64_t position,
                                 double typical)
{
    const double shortfall = typical - walk->mean[position];
    const double first_penalty = study->first_step.miss_excess;
    /* The tolerance is a heuristic. */
    return typical > 0 && fabs(shortfall - first_penalty) < fmin(MIN_RISE, first_penalty / 4) &&
           is_in_samples_set(search->pages, position, study->first_page, study->first_entries);
}

/* The median of the mean excesses between `low` and `high`; 0: there are none. */
static enum fth_status find_typical_excess(const struct fth_page_walk *walk, double low,
                                           double high, double *typical, struct fth_error *error)
{
    double *means = calloc(walk->count, sizeof *means);
    size_t count = 0;
    struct fth_summary summary = {.median = 0};
    if (!means)
        return fth_no_memory(error, "find TLBs", NULL);
    for (uint64_t i = 1; i < walk->count; i++)
        if (walk->mean[i] > low && walk->mean[i] < high)
            means[count++] = walk->mean[i];
    enum fth_status status = count ? fth_summary_f64(means, count, &summary, error) : FTH_OK;
    *typical = summary.median;
    free(means);
    return status;
}

/* Finds the penalty: the mean excess of the loads that miss minus that of hits, with a bootstrap
 * interval, from a walk over `count` pages. Sets study->onset, and corrects the entries of a
 * direct-mapped first level. */
static enum fth_status find_penalty(struct study *study, struct fth_tlb_search *search,
                                    uint64_t count, struct fth_tlb_level *level,
                                    struct fth_error *error)
{
    const struct fth_tlb_step *step = search->step;
    const unsigned passes = fth_page_passes(count, PASSES);
    struct fth_page_walk walk = {.count = count, .passes = passes};
    enum fth_status status = fth_pages_walk(search->pages, &walk, 1, error);
    double *penalties = status == FTH_OK ? calloc(count * passes, sizeof *penalties) : NULL;
    if (status == FTH_OK && !penalties)
        status = fth_no_memory(error, "find TLBs", NULL);
    size_t found = 0;
    /* The range of misses of this level is symmetric around miss_excess. */
    const double low = fth_tlb_step_threshold(step), high = 2 * step->miss_excess - low;
    const double *values = step->per_load ? walk.excess : walk.mean;
    double typical = 0;
    if (status == FTH_OK && step->hit_excess > 0)
        status = find_typical_excess(&walk, low, high, &typical, error);
    for (uint64_t i = 0; penalties && i < (step->per_load ? passes : 1) * count; i++)
        if (i % count && values[i] > low && values[i] < high &&
            !has_miss_in_baseline(study, search, &walk, i % count, typical))
            penalties[found++] = values[i] - step->hit_excess;
    /* A 90 % interval from 200 resamples. */
    struct fth_interval interval = {step->miss_excess - step->hit_excess, NAN, NAN};
    if (status == FTH_OK && found >= 2)
        status = fth_bootstrap_interval(penalties, found, 0.9, 200, 1, &interval, error);
    level->penalty_cycles = interval.estimate;
    level->penalty_low = interval.low;
    level->penalty_high = interval.high;
    study->onset = (struct onset){search->onset, found};
    if (status == FTH_OK && step->hit_excess == 0 && is_one_too_many(search, &walk, level))
        level->entries--;
    free(penalties);
    fth_page_walks_fini(&walk, 1);
    return status;
}

/* How many loads the inner level holds at a stride of one page of the outer level; 0: unknown. */
static uint64_t loads_held(const struct fth_tlb_level *inner, const struct fth_tlb_level *outer)
{
    const uint64_t loads_per_entry = inner->page_bytes / outer->page_bytes;
    return inner->entries * (loads_per_entry ? loads_per_entry : 1);
}

/* Determines page size, entries and penalty of a candidate. `before` is the step of the previous
 * level, whose other figures are in level[-1]. It is NULL for the first level. A page size or
 * number of entries that is not found is 0, with a reason in level->doubt. Where no onset is found,
 * the penalty is the height of the step, without an interval. */
static enum fth_status find_level(struct study *study, struct candidate *candidate,
                                  const struct fth_tlb_step *before, struct fth_tlb_level *level,
                                  struct fth_error *error)
{
    study->onset = (struct onset){0};
    *level = (struct fth_tlb_level){.penalty_cycles =
                                        candidate->step.miss_excess - candidate->step.hit_excess,
                                    .penalty_low = NAN,
                                    .penalty_high = NAN};
    enum fth_status status = find_page(study, candidate, level, error);
    level->per_load = candidate->step.per_load;
    if (status != FTH_OK || level->page_bytes == 0)
        return status;
    const uint64_t stride = level->page_bytes + SKEW;
    struct fth_pages pages;
    struct fth_tlb_search search = {.pages = &pages,
                                    .step = &candidate->step,
                                    .inner_periodic = study->periodic,
                                    .inner_loads = before ? loads_held(level - 1, level) : 0};
    /* The chain covers 8 times the bytes at which the candidate was found (a heuristic). */
    status = open_pages(study, stride,
                        8 * candidate->onset_loads * candidate->stride_bytes / level->page_bytes,
                        &pages, error);
    if (status == FTH_OK)
        status = choose_groups_for(study, candidate, &pages, error);
    if (status == FTH_OK)
        status = fth_tlb_find_entries(&search, before, level, error);
    if (status == FTH_OK && search.onset)
        status =
            find_penalty(study, &search, FTH_MIN(2 * search.onset, pages.max_loads), level, error);
    close_pages(study, &pages);
    return status;
}

/* Finds a candidate for the next level. `last` is the candidate of the level found last, and
 * `level` its page size, entries and penalty. The search uses the spread chain and, if that page
 * size is known, a second chain that has it as its stride. The lower of the two steps is taken; if
 * they differ by less than MIN_RISE cycles, it is that of the second chain. */
static enum fth_status find_next_candidate(struct study *study, struct fth_pages *spread,
                                           const struct candidate *last,
                                           const struct fth_tlb_level *level,
                                           struct candidate *candidate, struct fth_error *error)
{
    const double hit_excess = last->step.miss_excess;
    enum fth_status status =
        find_candidate(study, spread, FIRST_COUNT, hit_excess, candidate, error);
    if (status != FTH_OK || level->page_bytes == 0)
        return status;
    /* If the spread chain shows no further level, the next level may have more entries than that
     * chain has loads. The second chain is then as long as possible, unless pages are so large that
     * it would have hardly more loads than the spread chain.
     *
     * In all other cases the second chain is limited to save time. It is still needed for a next
     * level that has fewer entries than the last one, but larger pages. On the spread chain, every
     * load needs its own entry in both levels. As soon as loads miss the last level, they miss the
     * next one, too. On the second chain, several loads share a page of the next level, which
     * therefore overflows later. LOADS_PER_ENTRY is enough for this if the pages are not much
     * larger. */
    uint64_t max_loads = UINT64_MAX;
    if (candidate->found || 2 * level->page_bytes > spread->stride_bytes)
        max_loads = LOADS_PER_ENTRY * (level->entries ? level->entries : last->onset_loads);
    struct candidate page_candidate = {0}; /* on the second chain */
    struct fth_pages pages;
    struct fth_error fault = FTH_NO_ERROR;
    status = open_pages(study, level->page_bytes + SKEW, max_loads, &pages, &fault);
    if (status == FTH_OK)
        status = choose_groups_for(study, last, &pages, &fault);
    if (status == FTH_OK)
        status = find_candidate(study, &pages, FIRST_COUNT, hit_excess, &page_candidate, &fault);
    close_pages(study, &pages);
    /* FTH_INCONCLUSIVE is no failure here: memory can be too small for the second chain, and the
     * candidate of the spread chain is still valid. */
    if (status != FTH_OK && status != FTH_INCONCLUSIVE)
        return fth_error_move(error, &fault);
    if (page_candidate.found && (!candidate->found || page_candidate.step.miss_excess <
                                                          candidate->step.miss_excess + MIN_RISE))
        *candidate = page_candidate;
    return FTH_OK;
}

/* Whether a candidate (`level`) is the previous level (`before`) again. Loads do not all take the
 * same number of cycles for a miss of one TLB, which can look like two steps. A candidate is a
 * duplicate if
 *   - it has the same page size and the same onset (`same_onset`), or
 *   - its penalty is lower than that of the previous level, and its own entries were not measured
 *     or equal those of the previous level. They are not measured if its page size is unknown, or
 *     if the previous level holds many of the pages that would fill it (level->hidden). */
static bool is_duplicate(const struct fth_tlb_level *level, const struct fth_tlb_level *before,
                         bool same_onset)
{
    return same_onset ||
           ((level->hidden || level->page_bytes == 0 || level->entries == before->entries) &&
            level->penalty_cycles < before->penalty_cycles);
}

/* Adds the penalty of a duplicate to that of the level. The penalty of the duplicate is measured
 * relative to the miss excess of the level, so the sum is the penalty of the loads that show the
 * duplicate's step. */
static void add_penalty(struct fth_tlb_level *level, const struct fth_tlb_level *duplicate)
{
    level->penalty_low = level->penalty_cycles + duplicate->penalty_low;
    level->penalty_high = level->penalty_cycles + duplicate->penalty_high;
    level->penalty_cycles += duplicate->penalty_cycles;
}

/* Finds one level after the other; see the steps at the top of this file. */
static enum fth_status find_levels(struct study *study, struct fth_pages *spread,
                                   struct fth_tlbs *tlbs, struct fth_error *error)
{
    struct candidate candidate, last = {0};
    struct onset onset = {0};
    enum fth_status status = find_candidate(study, spread, FIRST_COUNT, 0, &candidate, error);
    study->first_step = candidate.step;
    study->first_max_loads = candidate.onset_loads;
    study->first_load_extra = spread->first_load_extra;
    while (status == FTH_OK && candidate.found && tlbs->count < FTH_MAX_TLBS) {
        struct fth_tlb_level *level = &tlbs->levels[tlbs->count];
        status = find_level(study, &candidate, tlbs->count ? &last.step : NULL, level, error);
        if (status != FTH_OK)
            break;
        const bool same_onset = tlbs->count && level->page_bytes == level[-1].page_bytes &&
                                study->onset.pages && study->onset.pages == onset.pages;
        if (tlbs->count && is_duplicate(level, level - 1, same_onset)) {
            /* The penalty of a level is the one that most of its misses have. */
            if (same_onset && study->onset.misses > onset.misses) {
                add_penalty(level - 1, level);
                last.step.miss_excess = last.step.hit_excess + level[-1].penalty_cycles;
                onset = study->onset;
            }
            /* Look for a step above that of the duplicate. (Every step that is found is above it.
             * The comparison below only makes sure that the loop ends.) The penalty of the new
             * candidate is measured relative to the miss excess of the previous level, not of the
             * duplicate. */
            struct candidate higher = last;
            higher.step.miss_excess = candidate.step.miss_excess;
            status = find_next_candidate(study, spread, &higher, level - 1, &candidate, error);
            candidate.found =
                candidate.found && candidate.step.miss_excess > higher.step.miss_excess;
            candidate.step.hit_excess = last.step.miss_excess;
            continue;
        }
        onset = study->onset;
        study->level_count = ++tlbs->count;
        study->first_page = tlbs->levels[0].page_bytes;
        study->first_entries = tlbs->levels[0].entries;
        /* Misses can begin with fewer loads than the level has entries, if the pages of these loads
         * fall into few of its sets. */
        if (study->first_max_loads < study->first_entries)
            study->first_max_loads = study->first_entries;
        study->periodic = study->periodic && level->periodic;
        last = candidate;
        last.step.miss_excess = last.step.hit_excess + level->penalty_cycles;
        status = find_next_candidate(study, spread, &last, level, &candidate, error);
    }
    return status;
}

enum fth_status fth_probe_tlbs(const struct fth_prober *prober, uint64_t max_bytes,
                               uint64_t l2_bytes, struct fth_tlbs *tlbs, struct fth_error *error)
{
    *tlbs = (struct fth_tlbs){0};
    struct study study = {.prober = prober,
                          .periodic = true,
                          .max_bytes = max_bytes,
                          .max_loads = FTH_MIN(l2_bytes / 128 / L2_PART, MAX_LOADS)};
    struct fth_pages spread;
    uint64_t stride = spread_stride;
    while (max_bytes / stride < WANTED_LOADS && stride > min_page)
        stride /= 2;
    /* The stride is an odd number of 128-byte lines (SKEW is two lines), so that the lines fall
     * into all sets of the L2. */
    stride = stride / SKEW * SKEW + SKEW / 2;
    enum fth_status status = open_pages(&study, stride, UINT64_MAX, &spread, error);
    if (status == FTH_OK)
        status = find_levels(&study, &spread, tlbs, error);
    close_pages(&study, &spread);
    tlbs->samples = study.samples;
    return status;
}
