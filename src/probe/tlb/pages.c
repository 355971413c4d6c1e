/* How many cycles does the address translation of each load take? The loads go to the L2 (path CG),
 * one line each, and are far apart.
 *
 * The latencies of different L2 lines differ by more (14 cycles on an H200) than a miss of the
 * first TLB costs (10), but repeated loads of one line differ little (2.6). Therefore each line is
 * timed twice: in a walk over a few neighbours, whose pages the first TLB holds (its baseline), and
 * in the walk to be examined. The difference, the excess, is the cost of translating that load's
 * address.
 *
 * Baselines are measured in groups of neighbouring lines. The first load of a walk takes slightly
 * more or fewer cycles than the others. Therefore consecutive groups overlap by one line, and the
 * baseline of a line comes from a group in which it is not the first. Before it is known how many
 * neighbours the first TLB holds, each line is walked alone. Its baseline is then corrected by the
 * mean difference between first loads and others (`first_load_extra`). */
#include "probe/tlb/probe_tlb.h"

#include <math.h>
#include <stdlib.h>

static const char operation[] = "measure TLB misses";

/* ---- chains ---- */

enum {
    MIN_LOADS = 4, /* shortest chain that is worth walking. Chosen. */
    /* Where memory is short, the chain is shortened by 1/SHORTEN_PART, and by one load, until it
     * can be allocated. Chosen. */
    SHORTEN_PART = 8,
    /* A chain has at most MAX_LOADS loads, to limit the time. It also has at most 1/L2_PART as many
     * loads as the L2 has lines, so that all lines stay in the L2, although they may be unevenly
     * distributed over its sets. Chosen, not derived. */
    MAX_LOADS = 8192,
    L2_PART = 16,
    L2_LINE_BYTES = 128 /* the largest line of an L2 in the catalogue */
};

/* ---- baselines ---- */

enum {
    MIN_GROUP = 2,   /* loads; a group shares one line with the next */
    MAX_GROUP = 512, /* loads; longer groups save no time */
    /* Timed passes per group that are evaluated. A robust mean over five passes tolerates two
     * disturbed ones, a mean over three only one. Groups of at most SMALL_GROUP loads get more,
     * which takes little time. */
    BASELINE_PASSES = FTH_TLB_PASSES,
    SMALL_GROUP = 4,
    SMALL_GROUP_PASSES = 15,
    /* Groups of at least LARGE_GROUP loads take most of the time, and have fewer passes. Chosen: a
     * chain of that many loads is long, and a few wrong baselines do not change the result. */
    LARGE_GROUP = 64,
    LARGE_GROUP_PASSES = FTH_TLB_FEW_PASSES,
    STEPS_PER_GROUP = 2, /* one to walk, one to time */
    GROUPS_PER_REQUEST = FTH_MAX_STEPS / STEPS_PER_GROUP
};

/* ---- walks ---- */

/* Timed hops before a reverse pass. They bring the timing code into the instruction cache. */
enum { LEAD_HOPS = 32 };
/* An excess of more than this multiple of the baseline is an outlier: no TLB miss takes that long.
 * Chosen, not derived. */
static const double outlier_ratio = 5;

static struct fth_chain chain_of(const struct fth_pages *pages, uint64_t first, uint64_t count)
{
    return (struct fth_chain){.array = FTH_FIRST_HEADER_ARRAY,
                              .start_bytes = first * pages->stride_bytes,
                              .stride_bytes = pages->stride_bytes,
                              .count = count};
}

static unsigned baseline_passes(const struct fth_pages *pages)
{
    return pages->group_loads >= LARGE_GROUP  ? LARGE_GROUP_PASSES
           : pages->group_loads > SMALL_GROUP ? BASELINE_PASSES
                                              : SMALL_GROUP_PASSES;
}

/* A request without steps, to run on one SM with nothing else on the GPU. */
static struct fth_request empty_request(void)
{
    struct fth_request request = fth_request_make(-1);
    request.alone = true;
    request.sm = 0;
    return request;
}

/* The mean cycles of the load at a position over all passes, without outliers. */
static enum fth_status mean_at_position(const uint32_t *cycles, uint64_t count, uint64_t position,
                                        unsigned passes, double *mean, struct fth_error *error)
{
    uint32_t column[FTH_MAX_PAGE_PASSES];
    for (unsigned pass = 0; pass < passes; pass++)
        column[pass] = cycles[pass * count + position];
    return fth_core_mean_u32(column, passes, mean, error);
}

/* The first request loads the last element. The device allocates the memory of the whole chain for
 * it, and later walks use the same addresses. */
enum fth_status fth_pages_open(const struct fth_prober *prober, uint64_t stride_bytes,
                               uint64_t max_loads, struct fth_pages *pages, struct fth_error *error)
{
    *pages = (struct fth_pages){
        .prober = prober, .stride_bytes = stride_bytes, .max_loads = max_loads, .group_loads = 1};
    enum fth_status status = FTH_INCONCLUSIVE;
    while (status == FTH_INCONCLUSIVE && pages->max_loads >= MIN_LOADS) {
        struct fth_answers answers = {0};
        struct fth_request request = empty_request();
        struct fth_error fault = FTH_NO_ERROR;
        fth_request_add(&request, FTH_STEP_TIME_PASS, FTH_PATH_CG,
                        chain_of(pages, pages->max_loads - 1, 1), 1);
        status = fth_ask(prober, &request, 1, &answers, &fault);
        fth_answers_fini(&answers);
        if (status == FTH_INCONCLUSIVE)
            pages->max_loads -= pages->max_loads / SHORTEN_PART + 1;
        else if (status != FTH_OK)
            return fth_error_move(error, &fault);
    }
    if (status != FTH_OK)
        return fth_fail(error, FTH_INCONCLUSIVE, operation, NULL, "too little device memory");
    pages->baseline = calloc(pages->max_loads, sizeof *pages->baseline);
    return pages->baseline ? FTH_OK : fth_no_memory(error, operation, NULL);
}

void fth_pages_close(struct fth_pages *pages)
{
    free(pages->baseline);
    pages->baseline = NULL;
}

/* Changes to larger groups. Baselines from walks of single lines are discarded. Their mean is added
 * to `first_load_extra`, and measure_baselines() subtracts the mean of the new baselines of the
 * same lines from it, so that the difference remains. */
static void change_group(struct fth_pages *pages, uint64_t group)
{
    if (pages->group_loads == 1) {
        pages->single_lines = pages->baseline_count;
        for (uint64_t i = 1; i < pages->baseline_count; i++)
            pages->first_load_extra += pages->baseline[i] / (double)(pages->baseline_count - 1);
        pages->baseline_count = 0;
    }
    pages->group_loads = group;
}

void fth_pages_use_hit_groups(struct fth_pages *pages, uint64_t count)
{
    uint64_t group = count / 2 < MAX_GROUP ? count / 2 : MAX_GROUP;
    if (pages->group_penalty == 0 && group > pages->group_loads && group >= MIN_GROUP)
        change_group(pages, group);
}

void fth_pages_use_miss_groups(struct fth_pages *pages, uint64_t count, double cycles)
{
    uint64_t group = count < MAX_GROUP ? count : MAX_GROUP;
    if (group <= pages->group_loads || group < MIN_GROUP)
        return;
    change_group(pages, group);
    pages->group_penalty = cycles;
}

void fth_page_walks_fini(struct fth_page_walk *walks, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(walks[i].excess);
        free(walks[i].cycles);
        walks[i].excess = NULL;
        walks[i].cycles = NULL;
    }
}

unsigned fth_page_passes(uint64_t count, unsigned wanted)
{
    uint64_t max = FTH_MAX_PAGE_SAMPLES / count;
    return max > wanted ? wanted : max > 2 ? (unsigned)max - 1 : 1;
}

uint64_t fth_tlb_max_loads(uint64_t l2_bytes)
{
    return FTH_MIN(l2_bytes / L2_LINE_BYTES / L2_PART, MAX_LOADS);
}

/* ---- baselines ---- */

/* Creates the requests for the baselines of the positions from `baseline_count` up to `count`. The
 * caller frees *requests. */
static enum fth_status plan_baselines(const struct fth_pages *pages, uint64_t count,
                                      size_t *planned, struct fth_request **requests,
                                      struct fth_error *error)
{
    const uint64_t overlap = pages->group_loads > 1 ? 1 : 0, step = pages->group_loads - overlap;
    uint64_t first = pages->baseline_count ? pages->baseline_count - overlap : 0;
    size_t groups = (size_t)((count - first - overlap + step - 1) / step);
    *planned = (groups + GROUPS_PER_REQUEST - 1) / GROUPS_PER_REQUEST;
    *requests = calloc(*planned, sizeof **requests);
    if (!*requests)
        return fth_no_memory(error, operation, NULL);
    for (size_t i = 0; i < groups; i++, first += step) {
        struct fth_request *request = &(*requests)[i / GROUPS_PER_REQUEST];
        if (i % GROUPS_PER_REQUEST == 0)
            *request = empty_request();
        uint64_t left = count - first;
        struct fth_chain chain =
            chain_of(pages, first, left < pages->group_loads ? left : pages->group_loads);
        fth_request_add(request, FTH_STEP_WALK, FTH_PATH_CG, chain, 1);
        fth_request_add(request, FTH_STEP_TIME_HOPS, FTH_PATH_CG, chain,
                        1 + baseline_passes(pages));
    }
    return FTH_OK;
}

static enum fth_status store_baselines(struct fth_pages *pages, const struct fth_request *request,
                                       const struct fth_samples *samples, struct fth_error *error)
{
    const uint32_t *cycles = samples->cycles;
    for (size_t step = 1; step < request->chase.step_count; step += STEPS_PER_GROUP) {
        const struct fth_chain *chain = &request->chase.steps[step].chain;
        uint64_t first = chain->start_bytes / chain->stride_bytes;
        const uint64_t from = first && pages->group_loads > 1 ? 1 : 0;
        for (uint64_t i = from; i < chain->count; i++) {
            FTH_TRY(mean_at_position(cycles + chain->count, chain->count, i, baseline_passes(pages),
                                     &pages->baseline[first + i], error));
            /* Position 0 is in the page of the samples, which always hits the first TLB. */
            if (first + i)
                pages->baseline[first + i] -= pages->group_penalty;
            if (first && pages->group_loads == 1)
                pages->baseline[first + i] -= pages->first_load_extra;
        }
        cycles += chain->count * (1 + baseline_passes(pages));
    }
    pages->samples += samples->count;
    return FTH_OK;
}

/* Makes sure that the baselines of the first `count` positions are measured. */
static enum fth_status measure_baselines(struct fth_pages *pages, uint64_t count,
                                         struct fth_error *error)
{
    if (count <= pages->baseline_count)
        return FTH_OK;
    count = count > pages->single_lines ? count : pages->single_lines;
    struct fth_request *requests = NULL;
    struct fth_answers answers = {0};
    size_t planned = 0;
    FTH_TRY(plan_baselines(pages, count, &planned, &requests, error));
    enum fth_status status = fth_ask(pages->prober, requests, planned, &answers, error);
    for (size_t i = 0; i < answers.count && status == FTH_OK; i++)
        status = store_baselines(pages, &requests[i], &answers.items[i], error);
    fth_answers_fini(&answers);
    free(requests);
    if (status != FTH_OK)
        return status;
    pages->baseline_count = count;
    for (uint64_t i = 1; i < pages->single_lines; i++)
        pages->first_load_extra -= pages->baseline[i] / (double)(pages->single_lines - 1);
    pages->single_lines = 0;
    return FTH_OK;
}

/* ---- walks ---- */

/* Warm-up passes, then the timed passes. A reverse pass begins at the last position. The warm-up
 * ended there, so the lead hops to that line change nothing in the TLBs. */
static struct fth_request make_request(const struct fth_pages *pages,
                                       const struct fth_page_walk *walk)
{
    const struct fth_chain chain = chain_of(pages, walk->first, walk->count);
    struct fth_request request = empty_request();
    fth_request_add(&request, FTH_STEP_WALK, FTH_PATH_CG, chain,
                    walk->warm_passes ? walk->warm_passes : 1);
    if (walk->reverse)
        fth_request_add(&request, FTH_STEP_TIME_HOPS, FTH_PATH_CG,
                        chain_of(pages, walk->first + walk->count - 1, 1), LEAD_HOPS);
    fth_request_add(&request, FTH_STEP_TIME_HOPS, FTH_PATH_CG, chain,
                    walk->passes + (walk->time_first_pass || walk->reverse ? 0 : 1));
    request.chase.steps[request.chase.step_count - 1].reverse = walk->reverse;
    return request;
}

/* Stores the excess of each load, and the mean of each position. The first timed pass is skipped
 * unless the walk asks for it: its instructions are not in the instruction cache yet. */
static enum fth_status store_walk(struct fth_pages *pages, const struct fth_samples *samples,
                                  struct fth_page_walk *walk, struct fth_error *error)
{
    const uint64_t count = walk->count;
    const double *baseline = pages->baseline + walk->first;
    const uint32_t *cycles = samples->cycles + (walk->reverse           ? LEAD_HOPS
                                                : walk->time_first_pass ? 0
                                                                        : count);
    walk->excess = calloc((walk->passes + 1) * count, sizeof *walk->excess);
    walk->cycles = calloc(walk->passes * count, sizeof *walk->cycles);
    if (!walk->excess || !walk->cycles)
        return fth_no_memory(error, operation, NULL);
    walk->mean = walk->excess + walk->passes * count;
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t hop = walk->reverse ? count - 1 - i : i;
        for (unsigned pass = 0; pass < walk->passes; pass++) {
            const uint32_t taken = cycles[pass * count + hop];
            const double excess = taken - baseline[i];
            walk->cycles[pass * count + i] = taken;
            walk->excess[pass * count + i] = excess < outlier_ratio * baseline[i] ? excess : NAN;
        }
        FTH_TRY(mean_at_position(cycles, count, hop, walk->passes, &walk->mean[i], error));
        walk->mean[i] -= baseline[i];
    }
    pages->samples += samples->count;
    return FTH_OK;
}

enum fth_status fth_pages_walk(struct fth_pages *pages, struct fth_page_walk *walks, size_t count,
                               struct fth_error *error)
{
    struct fth_request *requests = calloc(count, sizeof *requests);
    struct fth_answers answers = {0};
    uint64_t end = 0;
    if (!requests)
        return fth_no_memory(error, operation, NULL);
    for (size_t i = 0; i < count; i++) {
        const struct fth_page_walk *walk = &walks[i];
        requests[i] = make_request(pages, walk);
        end = walk->first + walk->count > end ? walk->first + walk->count : end;
        walks[i].excess = NULL;
        walks[i].cycles = NULL;
    }
    enum fth_status status = measure_baselines(pages, end, error);
    if (status == FTH_OK)
        status = fth_ask(pages->prober, requests, count, &answers, error);
    for (size_t i = 0; i < answers.count && status == FTH_OK; i++)
        status = store_walk(pages, &answers.items[i], &walks[i], error);
    fth_answers_fini(&answers);
    free(requests);
    if (status != FTH_OK)
        fth_page_walks_fini(walks, count);
    return status;
}
