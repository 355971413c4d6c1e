/* TLBs. One load a page, of lines that stay in L2, is slow where the page is not in the TLB. Footprints
 * that double tell how far each level reaches and what missing it costs; the edge is then cut down to a
 * page. A walk in small steps over much more than fits is slow once a page, which tells the page.
 *
 * Loads are a line more than a page apart, so that they do not all fall into the same sets of the L2. */
#include "probe/probe.h"

#include <math.h>
#include <stdlib.h>

enum {
    FIRST_BYTES = 1 << 20,
    SKEW = 256,
    MOST_FOOTPRINTS = 48,
    WARM_PASSES = 2,
    MOST_PAGES = 8192, /* lines that must stay in L2 */
    CUTS = 4,
    PAGE_HOPS = 2048
};
static const uint64_t least_stride = 65536;

/* Medians of the hops over footprints, each a chain of at most MOST_PAGES elements. */
struct curve {
    uint64_t bytes[MOST_FOOTPRINTS], strides[MOST_FOOTPRINTS];
    double cycles[MOST_FOOTPRINTS];
    size_t count;
};

static struct fth_chain chain_over(uint64_t bytes, uint64_t stride)
{
    uint64_t count = (bytes + stride - 1) / stride;
    return (struct fth_chain){.stride_bytes = stride + SKEW, .count = count ? count : 1};
}

static enum fth_status ask_one(const struct fth_prober *prober, uint64_t bytes, uint64_t stride,
                               struct fth_answers *answers, struct fth_error *error)
{
    struct fth_request request = fth_request_make(-1);
    struct fth_chain chain = chain_over(bytes, stride);
    request.alone = true;
    request.sm = 0;
    fth_request_add(&request, FTH_STEP_WALK, FTH_PATH_CG, chain, WARM_PASSES);
    fth_request_add(&request, FTH_STEP_TIME_HOPS, FTH_PATH_CG, chain, 1 + (chain.count < 64) * 3);
    return fth_ask(prober, &request, 1, answers, error);
}

/* The mean over the hops of one footprint; without those far out, and without the first. */
static enum fth_status level_at(const struct fth_prober *prober, uint64_t bytes, uint64_t stride,
                                double *cycles, size_t *samples, struct fth_error *error)
{
    struct fth_answers answers = {0};
    enum fth_status status = ask_one(prober, bytes, stride, &answers, error);
    struct fth_summary summary = {0};
    if (status == FTH_OK) {
        const struct fth_samples *walk = &answers.items[0];
        *samples += walk->count;
        status = fth_summary_u32(walk->cycles + (walk->count > 1), walk->count - (walk->count > 1),
                                 &summary, error);
    }
    *cycles = summary.median;
    fth_answers_fini(&answers);
    return status;
}

/* The page, from the distances between slow hops where every page is missed. */
static enum fth_status find_page(const struct fth_prober *prober, uint64_t reach, double threshold,
                                 uint64_t most_bytes, uint64_t *page, size_t *samples,
                                 struct fth_error *error)
{
    *page = 0;
    uint64_t footprint = 4 * reach < most_bytes ? 4 * reach : most_bytes;
    uint64_t stride = least_stride;
    while (footprint / stride > (uint64_t)4 * PAGE_HOPS)
        stride *= 2;
    struct fth_answers answers = {0};
    enum fth_status status = ask_one(prober, footprint, stride - SKEW, &answers, error);
    if (status != FTH_OK)
        return status;
    const struct fth_samples *walk = &answers.items[0];
    *samples += walk->count;
    size_t last = 0;
    unsigned counts[4096] = {0}, best = 0, total = 0;
    for (size_t hop = 1; hop < walk->count; hop++)
        if (walk->cycles[hop] > threshold) {
            if (hop - last < FTH_COUNT(counts)) {
                counts[hop - last]++;
                total++;
            }
            last = hop;
        }
    for (unsigned i = 1; i < FTH_COUNT(counts); i++)
        best = counts[i] > counts[best] ? i : best;
    /* A page of one stride may be less than that. */
    if (total > 4 && 2 * counts[best] > total && best > 1)
        *page = best * stride;
    fth_answers_fini(&answers);
    return status;
}

/* Cuts the edge between two footprints, one at the lower level and one above it, down to `grain`. */
static enum fth_status narrow(const struct fth_prober *prober, uint64_t *fits, uint64_t misses,
                              uint64_t stride, uint64_t grain, double threshold, size_t *samples,
                              struct fth_error *error)
{
    while (misses - *fits > grain) {
        uint64_t middle = *fits + (misses - *fits) / 2 / grain * grain;
        if (middle == *fits)
            middle += grain;
        if (middle >= misses)
            break;
        struct fth_answers answers = {0};
        enum fth_status status = ask_one(prober, middle, stride, &answers, error);
        if (status != FTH_OK)
            return status;
        size_t slow = 0, count = answers.items[0].count;
        for (size_t i = 1; i < count; i++)
            slow += answers.items[0].cycles[i] > threshold;
        *samples += count;
        fth_answers_fini(&answers);
        if (slow * 100 > count) /* a hundredth is noise */
            misses = middle;
        else
            *fits = middle;
    }
    return FTH_OK;
}

enum fth_status fth_probe_tlbs(const struct fth_prober *prober, uint64_t most_bytes,
                               struct fth_tlbs *tlbs, struct fth_error *error)
{
    *tlbs = (struct fth_tlbs){0};
    struct curve curve = {0};
    enum fth_status status = FTH_OK;
    for (uint64_t bytes = FIRST_BYTES;
         bytes <= most_bytes && curve.count < MOST_FOOTPRINTS && status == FTH_OK; bytes *= 2) {
        uint64_t stride = least_stride;
        while (bytes / stride > MOST_PAGES)
            stride *= 2;
        curve.bytes[curve.count] = bytes;
        curve.strides[curve.count] = stride;
        struct fth_error fault = FTH_NO_ERROR;
        status = level_at(prober, bytes, stride, &curve.cycles[curve.count], &tlbs->samples, &fault);
        if (status == FTH_UNAVAILABLE) { /* so much memory there is not */
            status = FTH_OK;
            break;
        }
        if (status != FTH_OK)
            return fth_fail(error, status, fault.operation, fault.argument, "%s", fault.cause);
        curve.count++;
    }
    if (curve.count)
        tlbs->tried_bytes = curve.bytes[curve.count - 1];
    double level = curve.cycles[0];
    for (size_t i = 1; i < curve.count && tlbs->count < FTH_MOST_TLBS && status == FTH_OK; i++) {
        /* A level is where the cost rises, and then stays. */
        double rise = curve.cycles[i] - level;
        if (rise < 6 || (i + 1 < curve.count && curve.cycles[i + 1] - level < 6))
            continue;
        size_t top = i;
        while (top + 1 < curve.count && curve.cycles[top + 1] > curve.cycles[top] + 4 && top < i + 2)
            top++;
        struct fth_tlb_level *found = &tlbs->levels[tlbs->count];
        found->penalty_cycles = curve.cycles[top] - level;
        found->reach_bytes = curve.bytes[i - 1];
        double threshold = level + found->penalty_cycles / 2;
        status = find_page(prober, curve.bytes[i], threshold, most_bytes, &found->page_bytes,
                           &tlbs->samples, error);
        uint64_t grain = found->page_bytes ? found->page_bytes : curve.strides[i];
        if (status == FTH_OK)
            status = narrow(prober, &found->reach_bytes, curve.bytes[i], grain, grain, threshold,
                            &tlbs->samples, error);
        tlbs->count++;
        level = curve.cycles[top];
        i = top;
    }
    return status;
}
