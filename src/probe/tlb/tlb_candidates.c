/* Chains of loads for the search for TLB levels, and the next step in the excess of their loads.
 *
 * pages.c measures the baselines in short walks over groups of neighbouring loads. Larger groups
 * save time. In a hit group, all loads hit the first level. In a miss group, which is larger, all
 * loads miss the first level (or the first two levels) and hit the next one. pages.c then subtracts
 * the known cost of these misses from the measured cycles. */
#include "probe/tlb/probe_tlb.h"

#include <math.h>

enum {
    FIRST_COUNT = 4, /* loads of the shortest walk; assumed to fit into every TLB */
    /* Timed passes to measure the noise. Chosen, not derived: three times as many as a walk has,
     * because the noise of the whole search is measured once. */
    NOISE_PASSES = 15,
    WINDOWS = 5, /* places of the chain at which groups of neighbours are tested. Chosen. */
    /* Safety factor for miss groups. A group has at least GROUP_FACTOR times as many loads as the
     * first level holds, so that all of them miss it. It has at most 1/GROUP_FACTOR of the loads
     * that the level to be hit holds, because some of its sets may overflow early. Chosen, not
     * derived. */
    GROUP_FACTOR = 6,
    /* The rate of false misses (loads that look like misses although their pages fit) is measured
     * with half as many loads as fit, because some sets may overflow early, or with all of them if
     * at most MIN_HALVED_LOADS fit. Chosen, not derived: half of them would be too few to measure a
     * rate. */
    MIN_HALVED_LOADS = 8,
    /* Walks become longer by 1/GROWTH_PART. Chosen: levels whose entries differ by a factor of two
     * show their steps in different walks. */
    GROWTH_PART = 2
};
/* If only the means over the passes show a step, not single loads, it must be at least this
 * fraction of the excess below it. Some lines always take a little longer than most, which is not a
 * further level. Chosen, not derived. */
static const double min_mean_rise = 0.5;
/* The step of the second walk that shows a candidate may be higher than that of the first by this
 * fraction, or by FTH_TLB_MIN_RISE cycles. If it is higher than that, the second walk may already
 * miss a further level. Chosen, not derived. */
static const double max_step_growth = 0.25;

/* ---- chains ---- */

enum fth_status fth_tlb_open_chain(const struct fth_tlb_survey *survey, uint64_t stride_bytes,
                                   uint64_t max_loads, struct fth_pages *pages,
                                   struct fth_error *error)
{
    max_loads = FTH_MIN(max_loads, survey->max_loads);
    if (survey->max_bytes / stride_bytes < 2)
        max_loads = 0;
    else /* the margin of one stride is for the header in front of the chain and for alignment */
        max_loads = FTH_MIN(max_loads, survey->max_bytes / stride_bytes - 1);
    enum fth_status status = fth_pages_open(survey->prober, stride_bytes, max_loads, pages, error);
    pages->first_load_extra = survey->first_load_extra;
    return status;
}

void fth_tlb_close_chain(struct fth_tlb_survey *survey, struct fth_pages *pages)
{
    survey->samples += pages->samples;
    fth_pages_close(pages);
}

/* ---- what the levels found so far imply for further walks ---- */

void fth_tlb_survey_first_step(struct fth_tlb_survey *survey,
                               const struct fth_tlb_candidate *candidate,
                               const struct fth_pages *spread)
{
    survey->first_step = candidate->step;
    survey->first_max_loads = candidate->onset_loads;
    survey->first_load_extra = spread->first_load_extra;
}

void fth_tlb_survey_level(struct fth_tlb_survey *survey, const struct fth_tlbs *tlbs)
{
    survey->level_count = tlbs->count;
    survey->first_page = tlbs->levels[0].page_bytes;
    survey->first_entries = tlbs->levels[0].entries;
    /* Misses can begin with fewer loads than the level has entries, if the pages of these loads
     * fall into few of its sets. */
    if (survey->first_max_loads < survey->first_entries)
        survey->first_max_loads = survey->first_entries;
    survey->periodic = survey->periodic && tlbs->levels[tlbs->count - 1].periodic;
}

/* ---- groups ---- */

/* Whether a group of `loads` loads is so large that all of them miss the first level. */
static bool is_miss_group(const struct fth_tlb_survey *survey, uint64_t loads)
{
    return loads >= GROUP_FACTOR * survey->first_max_loads;
}

/* Whether any of the walks misses the first level. */
static bool any_overflows(const struct fth_tlb_survey *survey, const struct fth_page_walk *walks,
                          size_t count)
{
    bool overflows = false;
    for (size_t i = 0; i < count; i++) {
        const struct fth_page_misses misses =
            fth_tlb_step_count_misses(&walks[i], &survey->first_step);
        overflows =
            overflows || fth_tlb_step_overflows(&misses, walks[i].count, &survey->first_step);
    }
    return overflows;
}

/* Makes hit groups as large as possible: doubles the number of neighbouring loads as long as walks
 * over them do not miss the first level, in each of several windows of the chain. The GPU writes
 * the samples into the page of position 0, which therefore needs an entry all the time. Windows
 * that do not begin at position 0 have one load fewer for this reason. */
static enum fth_status enlarge_hit_groups(const struct fth_tlb_survey *survey,
                                          struct fth_pages *pages, struct fth_error *error)
{
    for (uint64_t count = FIRST_COUNT;
         count <= pages->max_loads && WINDOWS * (count + WINDOWS) < pages->max_loads; count *= 2) {
        struct fth_page_walk walks[WINDOWS];
        /* The windows do not overlap. The gaps between them grow, so that the windows do not begin
         * at multiples of one number. */
        for (size_t i = 0; i < WINDOWS; i++)
            walks[i] = (struct fth_page_walk){.first = i * (count + i),
                                              .count = count - (i > 0),
                                              .passes = fth_page_passes(count, FTH_TLB_PASSES)};
        FTH_TRY(fth_pages_walk(pages, walks, WINDOWS, error));
        const bool overflows = any_overflows(survey, walks, WINDOWS);
        fth_page_walks_fini(walks, WINDOWS);
        if (overflows)
            break;
        fth_pages_use_hit_groups(pages, count);
    }
    return FTH_OK;
}

/* The size of a miss group is compared with the first level only. If the candidate is the third
 * level, it is assumed that such a group misses the second level, too. */
enum fth_status fth_tlb_choose_groups(const struct fth_tlb_survey *survey,
                                      const struct fth_tlb_candidate *candidate,
                                      struct fth_pages *pages, struct fth_error *error)
{
    const uint64_t group = candidate->fitting_loads / GROUP_FACTOR;
    if (candidate->step.hit_excess == 0 || !is_miss_group(survey, group))
        return enlarge_hit_groups(survey, pages, error);
    fth_pages_use_miss_groups(pages, group, candidate->step.hit_excess);
    return FTH_OK;
}

/* Enlarges the groups after a walk over `count` loads without a step above `hit_excess`. */
static void enlarge_groups(const struct fth_tlb_survey *survey, struct fth_pages *pages,
                           uint64_t count, double hit_excess)
{
    const uint64_t group = count / GROUP_FACTOR;
    if (hit_excess == 0)
        fth_pages_use_hit_groups(pages, count);
    /* Only in the search for the second level. In that for the third level, the groups would have
     * to miss the second level, too, which this condition does not ensure. */
    else if (survey->level_count == 1 && is_miss_group(survey, group))
        fth_pages_use_miss_groups(pages, group, hit_excess);
}

/* ---- candidates ---- */

static enum fth_status measure_noise(struct fth_tlb_survey *survey, struct fth_pages *pages,
                                     struct fth_error *error)
{
    struct fth_page_walk walk = {.count = FIRST_COUNT, .passes = NOISE_PASSES};
    FTH_TRY(fth_pages_walk(pages, &walk, 1, error));
    enum fth_status status = fth_page_noise(&walk, &survey->noise, error);
    fth_page_walks_fini(&walk, 1);
    return status;
}

/* Whether a step is high enough to be a further level; see min_mean_rise. */
static bool is_high_enough(const struct fth_tlb_step *step, double hit_excess)
{
    return hit_excess == 0 || step->per_load ||
           step->miss_excess - hit_excess >= min_mean_rise * hit_excess;
}

/* Whether the step of a longer walk is that of the candidate; see max_step_growth. */
static bool is_same_step(const struct fth_tlb_step *longer, const struct fth_tlb_candidate *first,
                         double hit_excess)
{
    const double height = first->step.miss_excess - hit_excess;
    return longer->miss_excess <
           first->step.miss_excess + fmax(FTH_TLB_MIN_RISE, max_step_growth * height);
}

/* Walks over the first `count` loads and looks for a step above `hit_excess`. */
static enum fth_status look_for_step(const struct fth_tlb_survey *survey, struct fth_pages *pages,
                                     uint64_t count, double hit_excess, struct fth_tlb_step *step,
                                     bool *found, struct fth_error *error)
{
    const unsigned passes = count > FTH_TLB_MANY_LOADS ? FTH_TLB_FEW_PASSES : FTH_TLB_PASSES;
    struct fth_page_walk walk = {.count = count, .passes = fth_page_passes(count, passes)};
    *found = false;
    FTH_TRY(fth_pages_walk(pages, &walk, 1, error));
    enum fth_status status =
        fth_tlb_step_find(&walk, hit_excess, &survey->noise, step, found, error);
    *found = *found && is_high_enough(step, hit_excess);
    fth_page_walks_fini(&walk, 1);
    return status;
}

/* The number of loads of the walk after one of `count` loads. The longest walk is repeated if it is
 * the first one with a step. Otherwise the result exceeds `max`, which ends the search. */
static uint64_t next_count(uint64_t count, uint64_t max, bool is_first_with_step)
{
    if (count < max)
        return FTH_MIN(count + (count + 1) / GROWTH_PART, max);
    return is_first_with_step ? count : count + 1;
}

/* Makes the walk longer until two consecutive walks show a step. Walks over up to `fitting` loads
 * are known to show none. */
static enum fth_status lengthen_walk(struct fth_tlb_survey *survey, struct fth_pages *pages,
                                     double hit_excess, uint64_t fitting,
                                     struct fth_tlb_candidate *candidate, struct fth_error *error)
{
    uint64_t previous_count = fitting >= FIRST_COUNT ? fitting : 0;
    uint64_t count =
        previous_count ? next_count(previous_count, pages->max_loads, false) : FIRST_COUNT;
    bool found_before = false;
    while (count <= pages->max_loads) {
        struct fth_tlb_step step;
        bool found;
        FTH_TRY(look_for_step(survey, pages, count, hit_excess, &step, &found, error));
        if (found && found_before) {
            candidate->found = true;
            /* The second walk has more loads and is preferred. */
            if (is_same_step(&step, candidate, hit_excess))
                candidate->step = step;
            return FTH_OK;
        }
        if (found) {
            candidate->step = step;
            candidate->fitting_loads = previous_count;
            candidate->onset_loads = count;
        } else {
            enlarge_groups(survey, pages, count, hit_excess);
        }
        previous_count = count;
        count = next_count(count, pages->max_loads, found);
        found_before = found;
    }
    return FTH_OK;
}

enum fth_status fth_tlb_find_candidate(struct fth_tlb_survey *survey, struct fth_pages *pages,
                                       double hit_excess, uint64_t fitting_loads,
                                       struct fth_tlb_candidate *candidate, struct fth_error *error)
{
    *candidate = (struct fth_tlb_candidate){.stride_bytes = pages->stride_bytes};
    if (survey->first_step.miss_excess <= 0)
        FTH_TRY(measure_noise(survey, pages, error));
    FTH_TRY(lengthen_walk(survey, pages, hit_excess, fitting_loads, candidate, error));
    if (!candidate->found)
        return FTH_OK;
    const uint64_t fitting = candidate->fitting_loads;
    if (fitting == 0)
        return fth_fail(error, FTH_INCONCLUSIVE, "find TLBs", NULL,
                        "even a walk over %d pages misses a TLB", FIRST_COUNT);
    return fth_tlb_step_learn_rate(pages, fitting > MIN_HALVED_LOADS ? fitting / 2 : fitting,
                                   &candidate->step, error);
}
