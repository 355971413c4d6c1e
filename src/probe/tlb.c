/* TLBs. Loads of lines that stay in L2, one a page, cost more where the page is not in the TLB. How
 * much more is small against what lines differ by among each other (the way to their part of the
 * L2), so that means over many lines are compared, not single loads.
 *
 *   how many   at a stride larger than any page, one load more than a level has entries begins to
 * cost page       far beyond the reach every page is missed: at strides below the page only a part
 * of the loads pays, and the page is the smallest stride at which all do reach      at that stride,
 * the largest number of pages that does not cost, times the page
 *
 * Strides are a line more than a power of two, so that the lines do not all fall into one set of
 * the L2. */
#include "probe/probe.h"

#include <math.h>
#include <stdlib.h>

enum {
    SKEW = 256,
    LINES = 1024,      /* at least, in every mean */
    MOST_STARTS = 128, /* chains of the same stride from different lines */
    MOST_HOPS = 8192,  /* and no more than lines that stay in L2: one in so many of it */
    L2_PART = 16,
    MOST_POINTS = 40,
    LARGE_PENALTY = 60 /* cycles: twice what the lines of an H200's L2 differ by */
};
static const uint64_t large_stride = 32 << 20, least_stride = 64 << 10;

struct tlb {
    const struct fth_prober *prober;
    uint64_t most_bytes;
    uint64_t most_hops;
    double noise; /* between two means of the same */
    size_t samples;
};

/* The mean without what lies far out: a disturbance, and not a page that was missed. */
static enum fth_status tame_mean(const uint32_t *cycles, size_t count, double *mean,
                                 struct fth_error *error)
{
    struct fth_summary summary;
    enum fth_status status = fth_summary_u32(cycles, count, &summary, error);
    double sum = 0;
    size_t within = 0;
    for (size_t i = 0; i < count && status == FTH_OK; i++)
        if (cycles[i] <= 4 * summary.median) {
            sum += cycles[i];
            within++;
        }
    *mean = sum / (double)within;
    return status;
}

/* Hops that paid so much that it cannot be the way to the line: above the median by most of the
 * penalty, and not as far out as a disturbance. */
static size_t count_paid(const uint32_t *cycles, size_t count, double limit)
{
    size_t paid = 0;
    for (size_t i = 0; i < count; i++)
        paid += cycles[i] > limit && cycles[i] < 3 * limit;
    return paid;
}

/* The mean cycles of loads `stride` apart, `count` of them over and over; from two halves of the
 * lines. Where `paid` is given, it has the limit first and then gets the number of hops above it.
 */
static enum fth_status mean_of(struct tlb *tlb, uint64_t stride, uint64_t count, double *cycles,
                               double *difference, double *paid, struct fth_error *error)
{
    double limit = paid ? *paid : 0;
    if (paid)
        *paid = 0;
    size_t starts = LINES / count < 2             ? 2
                    : LINES / count > MOST_STARTS ? MOST_STARTS
                                                  : LINES / count;
    struct fth_request requests[MOST_STARTS];
    for (size_t i = 0; i < starts; i++) {
        struct fth_chain chain = {.array = FTH_FAR_ARRAY,
                                  .start_bytes = i * 17 * SKEW,
                                  .stride_bytes = stride + SKEW,
                                  .count = count};
        requests[i] = fth_request_make(-1);
        requests[i].alone = true;
        requests[i].sm = 0;
        fth_request_add(&requests[i], FTH_STEP_WALK, FTH_PATH_CG, chain, 1);
        fth_request_add(&requests[i], FTH_STEP_TIME_HOPS, FTH_PATH_CG, chain, 2);
    }
    struct fth_answers answers = {0};
    enum fth_status status = fth_ask(tlb->prober, requests, starts, &answers, error);
    double halves[2] = {0, 0};
    for (size_t i = 0; i < answers.count && status == FTH_OK; i++) {
        double mean;
        status = tame_mean(answers.items[i].cycles + count, count, &mean, error);
        if (paid)
            *paid += (double)count_paid(answers.items[i].cycles + count, count, limit);
        size_t of_half = (starts + 1 - i % 2) / 2;
        halves[i % 2] += mean / (double)of_half;
        tlb->samples += answers.items[i].count;
    }
    fth_answers_fini(&answers);
    *cycles = (halves[0] + halves[1]) / 2;
    if (difference)
        *difference = fabs(halves[0] - halves[1]);
    return status;
}

/* Whether so many loads are beyond a level of that base cost and penalty. A penalty that is larger
 * than what lines differ by shows in single loads; a small one only in the mean. */
static enum fth_status is_over(struct tlb *tlb, uint64_t stride, uint64_t count, double base,
                               double penalty, bool *over, struct fth_error *error)
{
    double cycles, paid = base + 0.75 * penalty;
    enum fth_status status = mean_of(tlb, stride, count, &cycles, NULL, &paid, error);
    /* In a mean without noise the few loads of one set that overflows show; in one with noise a
     * third of what all of them would pay. */
    const double small = tlb->noise > 0.3 ? penalty / 3 : 0.03 * penalty;
    *over = penalty > LARGE_PENALTY ? paid > 2 + (double)count / 256 : cycles - base > small;
    return status;
}

/* The largest count that is not over, between one that is not and one that is. */
static enum fth_status narrow(struct tlb *tlb, uint64_t stride, uint64_t *fits, uint64_t misses,
                              double base, double penalty, struct fth_error *error)
{
    enum fth_status status = FTH_OK;
    while (misses - *fits > 1 && status == FTH_OK) {
        uint64_t middle = *fits + (misses - *fits) / 2;
        bool over;
        status = is_over(tlb, stride, middle, base, penalty, &over, error);
        if (over)
            misses = middle;
        else
            *fits = middle;
    }
    return status;
}

/* The smallest stride at which every load pays, with as many loads as are beyond this level and not
 * yet beyond the next. */
static enum fth_status find_page(struct tlb *tlb, uint64_t large, uint64_t count, double base,
                                 double penalty, uint64_t *page, struct fth_error *error)
{
    enum fth_status status = FTH_OK;
    *page = large;
    for (uint64_t stride = large / 2; stride >= least_stride && status == FTH_OK; stride /= 2) {
        double cycles;
        status = mean_of(tlb, stride, count, &cycles, NULL, NULL, error);
        if (cycles - base < 0.75 * penalty)
            break;
        *page = stride;
    }
    return status;
}

/* How many pages fit, at a stride of a page. */
static enum fth_status find_entries(struct tlb *tlb, uint64_t page, uint64_t least, double base,
                                    double penalty, uint64_t *entries, struct fth_error *error)
{
    uint64_t fits = 0, count = least > 1 ? least / 2 : 1;
    enum fth_status status = FTH_OK;
    bool over = false;
    for (; status == FTH_OK && count <= tlb->most_hops && count * page <= tlb->most_bytes;
         count *= 2) {
        status = is_over(tlb, page, count, base, penalty, &over, error);
        if (status != FTH_OK || over)
            break;
        fits = count;
    }
    if (status == FTH_OK && fits && over)
        status = narrow(tlb, page, &fits, count, base, penalty, error);
    *entries = over ? fits : 0; /* there may be more than memory can fill */
    return status;
}

/* One level, whose edge is somewhere between two counts at that stride; `most` is one at which all
 * loads miss it and none the next level. `inner`: it is asked only where another one misses. */
static enum fth_status find_level(struct tlb *tlb, uint64_t stride, uint64_t fits, uint64_t misses,
                                  uint64_t most, double base, double penalty, bool inner,
                                  struct fth_tlb_level *level, struct fth_error *error)
{
    enum fth_status status = narrow(tlb, stride, &fits, misses, base, penalty, error);
    uint64_t entries = 0;
    level->penalty_cycles = penalty;
    level->reach_bytes = fits * stride;
    if (status == FTH_OK)
        status = find_page(tlb, stride, 4 * fits < most ? 4 * fits : most, base, penalty,
                           &level->page_bytes, error);
    /* At this very stride the edge is known already. */
    if (level->page_bytes == stride)
        entries = fits;
    else if (status == FTH_OK)
        status = find_entries(tlb, level->page_bytes, fits, base, penalty, &entries, error);
    if (entries == 0) {
        level->page_bytes = 0;
        return status;
    }
    /* The page of the samples, which is the first one, is in use all the time: the first level
     * always has it, and so no other level is asked for it. */
    entries -= inner && entries > 1;
    level->reach_bytes = entries * level->page_bytes;
    /* At this stride there are more loads for the same memory, and all sets are full. */
    uint64_t beyond = 2 * entries, within = entries / 2 ? entries / 2 : 1;
    double full, none;
    if (status == FTH_OK && (beyond + 1) * (level->page_bytes + SKEW) <= tlb->most_bytes &&
        beyond <= tlb->most_hops) {
        status = mean_of(tlb, level->page_bytes, beyond, &full, NULL, NULL, error);
        if (status == FTH_OK)
            status = mean_of(tlb, level->page_bytes, within, &none, NULL, NULL, error);
        if (status == FTH_OK)
            level->penalty_cycles = (full - none) * (double)beyond / (double)(beyond - 1);
    }
    return status;
}

/* Mean cycles against the number of loads, at one stride. */
struct curve {
    uint64_t stride, counts[MOST_POINTS];
    double cycles[MOST_POINTS];
    size_t points;
};

/* From `first` loads on to as many as there is memory for. */
static enum fth_status trace(struct tlb *tlb, uint64_t stride, uint64_t first, struct curve *curve,
                             struct fth_error *error)
{
    uint64_t most = tlb->most_bytes / (stride + SKEW) - 1;
    most = most < tlb->most_hops ? most : tlb->most_hops;
    *curve = (struct curve){.stride = stride};
    for (uint64_t count = first; count < most && curve->points < MOST_POINTS - 1;
         count = count + (count + 1) / 2)
        curve->counts[curve->points++] = count;
    if (first <= most)
        curve->counts[curve->points++] = most;
    /* The largest first: memory is allocated once. Where there is not so much, less is tried. */
    for (size_t i = curve->points; i-- > 0;) {
        double difference;
        struct fth_error fault = FTH_NO_ERROR;
        enum fth_status status =
            mean_of(tlb, stride, curve->counts[i], &curve->cycles[i], &difference, NULL, &fault);
        if (status == FTH_INCONCLUSIVE && i + 1 == curve->points) {
            curve->points--;
            continue;
        }
        if (status != FTH_OK)
            return fth_fail(error, status, fault.operation, fault.argument, "%s", fault.cause);
        tlb->noise = 0.25 + 2 * difference;
    }
    return FTH_OK;
}

/* Finds levels along the curve. */
static enum fth_status climb(struct tlb *tlb, const struct curve *curve, struct fth_tlbs *tlbs,
                             struct fth_error *error)
{
    enum fth_status status = FTH_OK;
    double base = curve->cycles[0];
    const double rise = fmax(3, tlb->noise);
    for (size_t i = 1; i < curve->points && tlbs->count < FTH_MOST_TLBS && status == FTH_OK; i++) {
        /* A level is where the cost rises, and stays risen. */
        if (curve->cycles[i] - base < rise ||
            (i + 1 < curve->points && curve->cycles[i + 1] - base < rise))
            continue;
        size_t top = i;
        while (top + 1 < curve->points && top < i + 3 &&
               curve->cycles[top + 1] > curve->cycles[top] + tlb->noise)
            top++;
        size_t last = top;
        while (last + 1 < curve->points && curve->cycles[last + 1] < curve->cycles[top] + rise)
            last++;
        status = find_level(tlb, curve->stride, curve->counts[i - 1], curve->counts[i],
                            curve->counts[last], base, curve->cycles[top] - base, tlbs->count > 0,
                            &tlbs->levels[tlbs->count], error);
        tlbs->count++;
        base = curve->cycles[top];
        i = top;
    }
    return status;
}

enum fth_status fth_probe_tlbs(const struct fth_prober *prober, uint64_t most_bytes,
                               uint64_t l2_bytes, struct fth_tlbs *tlbs, struct fth_error *error)
{
    *tlbs = (struct fth_tlbs){0};
    struct tlb tlb = {.prober = prober, .most_bytes = most_bytes};
    tlb.most_hops = l2_bytes / 128 / L2_PART < MOST_HOPS ? l2_bytes / 128 / L2_PART : MOST_HOPS;
    struct curve curve;
    if (most_bytes < 8 * large_stride)
        return fth_fail(error, FTH_INCONCLUSIVE, "find TLBs", NULL, "too little memory");
    enum fth_status status = trace(&tlb, large_stride, 4, &curve, error);
    if (status == FTH_OK && curve.points)
        status = climb(&tlb, &curve, tlbs, error);
    /* Further levels of smaller pages: at that stride there are more loads for the same memory. */
    if (status == FTH_OK && tlbs->count == 1 && tlbs->levels[0].page_bytes &&
        tlbs->levels[0].page_bytes < large_stride) {
        const struct fth_tlb_level *first = &tlbs->levels[0];
        status = trace(&tlb, first->page_bytes, 2 * first->reach_bytes / first->page_bytes, &curve,
                       error);
        if (status == FTH_OK && curve.points)
            status = climb(&tlb, &curve, tlbs, error);
    }
    tlbs->samples = tlb.samples;
    return status;
}
