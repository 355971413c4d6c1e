/* What is the page size of a TLB level? If two consecutive loads are in the same page, at most one
 * of them misses. The page size is the smallest stride, a power of two, at which many misses
 * directly follow another miss. Each pass of a walk has one vote on this question (struct votes).
 *
 * The probe halves the stride until the votes turn from yes to no; the page is the last stride with
 * a majority of yes. Each stride leads to one of these verdicts:
 *
 *   LOWER_STEP  the walk shows a lower step, of a level inside the candidate's: start again with it
 *   HALVE       neighbours miss, or no larger stride had a majority of yes yet: halve the stride
 *   FOUND       neighbours do not miss, and they did at twice the stride, which is the page
 *   SILENT      no pass voted: repeat the stride with more loads, if possible */
#include "probe/tlb/probe_tlb.h"

enum {
    /* Loads of a walk, as a multiple of those at which the candidate was found: enough to overflow
     * the level even at a stride of half a page, which takes twice as many loads as a stride of one
     * page. LONG_FACTOR saves time if the candidate was found with more than FTH_TLB_MANY_LOADS.
     * Chosen, not derived. */
    LOADS_FACTOR = 8,
    LONG_FACTOR = 4,
    /* A pass votes only if at least MIN_MISSES of its loads miss, and min_missed_fraction of them.
     * Chosen, not derived: fewer misses may be false ones. */
    MIN_MISSES = 4
};
static const double min_missed_fraction = 0.02;
/* Neighbours in different pages miss independently of each other: the probability that the load
 * before a miss also misses is then the miss rate. Neighbours are taken to miss together if the
 * fraction of misses that follow a miss is greater than this part of the miss rate. Chosen, not
 * derived: half way between independent misses and none. */
static const double independent_part = 0.5;
/* If hardly any two misses of a pass are in direct succession, the stride may be half a page or
 * less. The pass votes for this (votes.no) if more than this fraction of its loads misses. Chosen,
 * not derived. */
static const double min_miss_fraction = 0.15;
/* Fraction of the misses at a stride of one page that a stride of half a page has: 1/2. The limits
 * are chosen, not derived. */
static const double min_half_part = 0.4, max_half_part = 0.6;
/* A step that is at most this fraction of the candidate's step belongs to another level. Chosen,
 * not derived. */
static const double max_lower_fraction = 0.8;

/* Do loads that miss follow directly after other loads that miss? Each pass has at most one vote. A
 * pass does not vote if hardly any load misses, or if it fits none of the three cases. */
struct votes {
    unsigned yes;     /* many misses follow directly after another miss */
    unsigned no;      /* many loads miss, but hardly any two in a row */
    unsigned weak_no; /* some loads miss, but not many, and no two in a row */
    uint64_t loads;   /* of the walk */
    double missed;    /* mean fraction of the loads that miss in a pass that votes */
    bool has_lower;   /* the walk has a lower step than the candidate: that of an inner level */
};

static bool is_yes(const struct votes *votes)
{
    return votes->yes > votes->no;
}

/* At half a page, the loads need half as many pages as before. If these pages nearly fit, only few
 * loads miss, and no two in a row. Such votes (weak_no) count as no if there is no other no. */
static unsigned no_votes(const struct votes *votes)
{
    return votes->no ? votes->no : votes->weak_no;
}

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
        if (missed < min_missed_fraction * loads || missed < MIN_MISSES)
            continue;
        votes.missed += missed / loads / passes;
        bool neighbours_miss = pairs / missed > missed / loads * independent_part;
        if (neighbours_miss || missed > min_miss_fraction * loads)
            *(neighbours_miss ? &votes.yes : &votes.no) += walk->passes / passes;
        else if (pairs < 1)
            votes.weak_no += walk->passes / passes;
    }
    return votes;
}

/* Whether the step of a walk is that of an inner level, and so much lower than the candidate's that
 * it is not the same step. */
static bool is_lower_step(const struct fth_tlb_step *step,
                          const struct fth_tlb_candidate *candidate)
{
    const double height = candidate->step.miss_excess - candidate->step.hit_excess;
    return step->per_load && step->miss_excess - step->hit_excess <= max_lower_fraction * height;
}

/* Walks over the whole chain, counts the votes and looks for a lower step. */
static enum fth_status examine_chain(struct fth_tlb_survey *survey,
                                     const struct fth_tlb_candidate *candidate,
                                     struct fth_pages *pages, struct votes *votes,
                                     struct fth_tlb_step *lower, struct fth_error *error)
{
    FTH_TRY(fth_tlb_choose_groups(survey, candidate, pages, error));
    struct fth_page_walk walk = {.count = pages->max_loads,
                                 .passes = fth_page_passes(pages->max_loads, FTH_TLB_PASSES)};
    FTH_TRY(fth_pages_walk(pages, &walk, 1, error));
    *votes = count_votes(&walk, &candidate->step);
    bool found = false;
    enum fth_status status =
        fth_tlb_step_find(&walk, candidate->step.hit_excess, &survey->noise, lower, &found, error);
    votes->has_lower = found && is_lower_step(lower, candidate);
    fth_page_walks_fini(&walk, 1);
    return status;
}

/* Walks `loads` loads at a stride and counts the votes. All votes are 0 where memory is too small.
 *
 * Where an outer level has larger pages and fewer entries than an inner one, large strides miss
 * both at once, and the candidate's step is the sum of two. At smaller strides only the inner level
 * misses, and its step is lower. votes->has_lower is true in this case, and `lower` is the step of
 * the inner level. */
static enum fth_status test_stride(struct fth_tlb_survey *survey,
                                   const struct fth_tlb_candidate *candidate, uint64_t stride,
                                   uint64_t loads, struct votes *votes, struct fth_tlb_step *lower,
                                   struct fth_error *error)
{
    struct fth_pages pages;
    struct fth_error fault = FTH_NO_ERROR; /* not `error`: FTH_INCONCLUSIVE is no failure here */
    *votes = (struct votes){0};
    enum fth_status status =
        fth_tlb_open_chain(survey, stride + FTH_TLB_SKEW_BYTES, loads, &pages, &fault);
    if (status == FTH_INCONCLUSIVE)
        return FTH_OK; /* too little memory for this stride; `pages` then owns nothing */
    if (status == FTH_OK)
        status = examine_chain(survey, candidate, &pages, votes, lower, &fault);
    fth_tlb_close_chain(survey, &pages);
    return status == FTH_OK ? FTH_OK : fth_error_move(error, &fault);
}

enum verdict { LOWER_STEP, HALVE, FOUND, SILENT };

/* `larger`: the votes at the smallest larger stride with a majority of yes; all 0 if there was
 * none. As long as there was none, the search goes on, even after a no: the larger strides had too
 * few loads for a reliable vote. */
static enum verdict judge(const struct votes *votes, const struct votes *larger)
{
    if (votes->has_lower)
        return LOWER_STEP;
    if (is_yes(votes) || larger->yes == 0)
        return HALVE;
    return no_votes(votes) ? FOUND : SILENT;
}

/* Whether the misses at half a page contradict those at a page (`larger`): two loads are in each
 * page then, of which one misses. If fewer miss, some pages fit or the page is larger; if more
 * miss, it is smaller, or something else makes loads slow. */
static bool contradicts_halves(const struct votes *larger, const struct votes *votes)
{
    const double part = votes->missed / larger->missed;
    return !(part >= min_half_part && part <= max_half_part);
}

/* Sets the page size. The evidence is the votes at the page and at half of it. */
static void set_page(struct fth_tlb_level *level, uint64_t stride, const struct votes *larger,
                     const struct votes *votes)
{
    const unsigned no = no_votes(votes);
    level->page_bytes = 2 * stride;
    level->page_evidence =
        (struct fth_evidence){.repeats = larger->yes + larger->no + votes->yes + no,
                              .agree = larger->yes + no,
                              .doubt = contradicts_halves(larger, votes)
                                           ? "not half as many loads miss at half the stride"
                                           : NULL};
    level->doubt = NULL;
}

enum fth_status fth_tlb_find_page(struct fth_tlb_survey *survey,
                                  struct fth_tlb_candidate *candidate, struct fth_tlb_level *level,
                                  struct fth_error *error)
{
    struct votes votes, larger = {0};
    struct fth_tlb_step lower = {0};
    uint64_t loads = candidate->onset_loads > FTH_TLB_MANY_LOADS ? LONG_FACTOR : LOADS_FACTOR;
    loads *= candidate->onset_loads;
    level->page_bytes = 0;
    level->doubt = "no stride reveals the page size with the loads that memory and the L2 allow";
    for (uint64_t stride = FTH_TLB_MAX_PAGE; stride >= FTH_TLB_MIN_PAGE / 2;) {
        FTH_TRY(test_stride(survey, candidate, stride, loads, &votes, &lower, error));
        switch (judge(&votes, &larger)) {
        case LOWER_STEP:
            lower.false_miss_rate = candidate->step.false_miss_rate;
            candidate->step = lower;
            larger = (struct votes){0};
            stride = FTH_TLB_MAX_PAGE;
            break;
        case HALVE:
            larger = is_yes(&votes) ? votes : larger;
            stride /= 2;
            break;
        case FOUND: set_page(level, stride, &larger, &votes); return FTH_OK;
        case SILENT:
            /* Probably all pages that the loads need fit, so that no load misses. Repeat with more
             * loads, unless memory or max_loads does not allow them. */
            if (votes.loads < loads || loads >= survey->max_loads)
                return FTH_OK;
            loads *= 2;
            break;
        }
    }
    if (larger.yes) /* even at half of the smallest page */
        level->doubt = "even loads 64 KiB apart seem to miss: the pages are smaller than that, or "
                       "lines do not "
                       "stay in the L2";
    return FTH_OK;
}
