/* Loads far apart, one line each, and what translating their addresses costs. Lines of an L2 differ
 * more among each other (14 cycles on an H200) than a page that is not in the first TLB costs (10),
 * but each line by itself is steady (2.6). So each line is timed twice: in a walk over a few
 * neighbours, whose pages are at hand, and in the walk in question. The difference is what the walk
 * pays for its pages, load by load.
 *
 * Neighbours are walked in groups that overlap by one: the first load of a walk takes a little more
 * or less than the others, so each line's figure comes from a place that is not the first. Only
 * until it is known how many neighbours fit, each line is walked by itself, and the difference is
 * taken off. */
#include "probe/tlb.h"

#include <math.h>
#include <stdlib.h>

enum {
    MIN_LOADS = 4, /* of a chain that is worth walking */
    MIN_GROUP = 2,
    MAX_GROUP = 512,   /* longer ones save no time */
    ALONE_PASSES = 5,  /* that count: of three one may be disturbed, of five two */
    FIRST_PASSES = 15, /* of lines that are walked with few others, or none */
    FEW_NEIGHBOURS = 4,
    LEAD_HOPS = 32,    /* before a walk back: its instructions come from memory */
    STEPS_A_GROUP = 2, /* walk, then time */
    GROUPS = FTH_MAX_STEPS / STEPS_A_GROUP,
};

/* Translation that takes five times as long as the load itself is a disturbance. */
static const double far_out = 5;

static struct fth_chain chain_of(const struct fth_pages *pages, uint64_t first, uint64_t count)
{
    return (struct fth_chain){.array = FTH_FAR_ARRAY,
                              .start_bytes = first * pages->stride_bytes,
                              .stride_bytes = pages->stride_bytes,
                              .count = count};
}

static unsigned alone_passes(const struct fth_pages *pages)
{
    return pages->group > FEW_NEIGHBOURS ? ALONE_PASSES : FIRST_PASSES;
}

static struct fth_request empty_request(void)
{
    struct fth_request request = fth_request_make(-1);
    request.alone = true;
    request.sm = 0;
    return request;
}

/* The mean over passes of the load at that place, without what lies far out. */
static enum fth_status mean_at(const uint32_t *cycles, uint64_t count, uint64_t place,
                               unsigned passes, double *mean, struct fth_error *error)
{
    uint32_t column[FTH_MAX_PAGE_PASSES];
    for (unsigned pass = 0; pass < passes; pass++)
        column[pass] = cycles[pass * count + place];
    return fth_core_mean_u32(column, passes, mean, error);
}

/* Memory for the whole chain is taken by its first walk, so that it stays where it is. */
enum fth_status fth_pages_open(const struct fth_prober *prober, uint64_t stride_bytes, uint64_t max,
                               struct fth_pages *pages, struct fth_error *error)
{
    *pages =
        (struct fth_pages){.prober = prober, .stride_bytes = stride_bytes, .max = max, .group = 1};
    enum fth_status status = FTH_INCONCLUSIVE;
    while (status == FTH_INCONCLUSIVE && pages->max >= MIN_LOADS) {
        struct fth_answers answers = {0};
        struct fth_request request = empty_request();
        struct fth_error fault = FTH_NO_ERROR;
        fth_request_add(&request, FTH_STEP_TIME_PASS, FTH_PATH_CG, chain_of(pages, 0, pages->max),
                        1);
        status = fth_ask(prober, &request, 1, &answers, &fault);
        fth_answers_fini(&answers);
        if (status == FTH_INCONCLUSIVE)
            pages->max -= pages->max / 8 + 1;
        else if (status != FTH_OK)
            return fth_fail(error, status, fault.operation, fault.argument, "%s", fault.cause);
    }
    if (status != FTH_OK)
        return fth_fail(error, FTH_INCONCLUSIVE, "walk over pages", NULL, "too little memory");
    pages->alone = calloc(pages->max, sizeof *pages->alone);
    return pages->alone ? FTH_OK
                        : fth_fail(error, FTH_NO_MEMORY, "walk over pages", NULL, "out of memory");
}

void fth_pages_close(struct fth_pages *pages)
{
    free(pages->alone);
    pages->alone = NULL;
}

/* Larger groups: all of it again, and better. Of lines that were walked by themselves the mean
 * difference is what first loads take more. */
static void regroup(struct fth_pages *pages, uint64_t group)
{
    if (pages->group == 1) {
        pages->by_themselves = pages->known;
        for (uint64_t i = 1; i < pages->known; i++)
            pages->first_extra += pages->alone[i] / (double)(pages->known - 1);
        pages->known = 0;
    }
    pages->group = group;
}

void fth_pages_fit(struct fth_pages *pages, uint64_t count)
{
    uint64_t group = count / 2 < MAX_GROUP ? count / 2 : MAX_GROUP;
    if (pages->paid == 0 && group > pages->group && group >= MIN_GROUP)
        regroup(pages, group);
}

void fth_pages_pay(struct fth_pages *pages, uint64_t count, double cycles)
{
    uint64_t group = count < MAX_GROUP ? count : MAX_GROUP;
    if (group <= pages->group || group < MIN_GROUP)
        return;
    regroup(pages, group);
    pages->paid = cycles;
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
    uint64_t max = FTH_PAGE_SAMPLES / count;
    return max > wanted ? wanted : max > 2 ? (unsigned)max - 1 : 1;
}

/* ---- by themselves ---- */

/* Requests for the lines from `known` to `count`; *requests is to be freed. */
static enum fth_status plan_alone(const struct fth_pages *pages, uint64_t count, size_t *planned,
                                  struct fth_request **requests, struct fth_error *error)
{
    const uint64_t overlap = pages->group > 1 ? 1 : 0, step = pages->group - overlap;
    uint64_t first = pages->known ? pages->known - overlap : 0;
    size_t groups = (size_t)((count - first - overlap + step - 1) / step);
    *planned = (groups + GROUPS - 1) / GROUPS;
    *requests = calloc(*planned, sizeof **requests);
    if (!*requests)
        return fth_fail(error, FTH_NO_MEMORY, "walk over pages", NULL, "out of memory");
    for (size_t i = 0; i < groups; i++, first += step) {
        struct fth_request *request = &(*requests)[i / GROUPS];
        if (i % GROUPS == 0)
            *request = empty_request();
        uint64_t left = count - first;
        struct fth_chain chain = chain_of(pages, first, left < pages->group ? left : pages->group);
        fth_request_add(request, FTH_STEP_WALK, FTH_PATH_CG, chain, 1);
        fth_request_add(request, FTH_STEP_TIME_HOPS, FTH_PATH_CG, chain, 1 + alone_passes(pages));
    }
    return FTH_OK;
}

static enum fth_status take_alone(struct fth_pages *pages, const struct fth_request *request,
                                  const struct fth_samples *samples, struct fth_error *error)
{
    const uint32_t *cycles = samples->cycles;
    enum fth_status status = FTH_OK;
    for (size_t step = 1; step < request->step_count; step += STEPS_A_GROUP) {
        const struct fth_chain *chain = &request->steps[step].chain;
        uint64_t first = chain->start_bytes / chain->stride_bytes;
        const uint64_t from = first && pages->group > 1 ? 1 : 0;
        for (uint64_t i = from; i < chain->count && status == FTH_OK; i++) {
            status = mean_at(cycles + chain->count, chain->count, i, alone_passes(pages),
                             &pages->alone[first + i], error);
            /* The page of the samples, the first one, is always at hand. */
            if (first + i)
                pages->alone[first + i] -= pages->paid;
            if (first && pages->group == 1)
                pages->alone[first + i] -= pages->first_extra;
        }
        cycles += chain->count * (1 + alone_passes(pages));
    }
    pages->samples += samples->count;
    return status;
}

static enum fth_status learn(struct fth_pages *pages, uint64_t count, struct fth_error *error)
{
    if (count <= pages->known)
        return FTH_OK;
    count = count > pages->by_themselves ? count : pages->by_themselves;
    struct fth_request *requests = NULL;
    struct fth_answers answers = {0};
    size_t planned = 0;
    enum fth_status status = plan_alone(pages, count, &planned, &requests, error);
    if (status == FTH_OK)
        status = fth_ask(pages->prober, requests, planned, &answers, error);
    for (size_t i = 0; i < answers.count && status == FTH_OK; i++)
        status = take_alone(pages, &requests[i], &answers.items[i], error);
    fth_answers_fini(&answers);
    free(requests);
    if (status != FTH_OK)
        return status;
    pages->known = count;
    for (uint64_t i = 1; i < pages->by_themselves; i++)
        pages->first_extra -= pages->alone[i] / (double)(pages->by_themselves - 1);
    pages->by_themselves = 0;
    return FTH_OK;
}

/* ---- walks ---- */

/* Walks forwards, and what is timed. The walk back begins at the last place, which was the last one
 * before and so costs nothing more. */
static struct fth_request make_request(const struct fth_pages *pages,
                                       const struct fth_page_walk *walk)
{
    const struct fth_chain chain = chain_of(pages, walk->first, walk->count);
    struct fth_request request = empty_request();
    fth_request_add(&request, FTH_STEP_WALK, FTH_PATH_CG, chain, walk->warm ? walk->warm : 1);
    if (walk->back)
        fth_request_add(&request, FTH_STEP_TIME_HOPS, FTH_PATH_CG,
                        chain_of(pages, walk->first + walk->count - 1, 1), LEAD_HOPS);
    fth_request_add(&request, FTH_STEP_TIME_HOPS, FTH_PATH_CG, chain,
                    walk->passes + (walk->at_once || walk->back ? 0 : 1));
    request.steps[request.step_count - 1].reverse = walk->back;
    return request;
}

/* What each load of the passes that count took beyond its line, and the mean of each place. The
 * first pass mostly does not count: its instructions come from memory. */
static enum fth_status take_walk(struct fth_pages *pages, const struct fth_samples *samples,
                                 struct fth_page_walk *walk, struct fth_error *error)
{
    const uint64_t count = walk->count;
    const double *alone = pages->alone + walk->first;
    const uint32_t *cycles = samples->cycles + (walk->back ? LEAD_HOPS : walk->at_once ? 0 : count);
    walk->excess = calloc((walk->passes + 1) * count, sizeof *walk->excess);
    walk->cycles = calloc(walk->passes * count, sizeof *walk->cycles);
    if (!walk->excess || !walk->cycles)
        return fth_fail(error, FTH_NO_MEMORY, "walk over pages", NULL, "out of memory");
    walk->mean = walk->excess + walk->passes * count;
    enum fth_status status = FTH_OK;
    for (uint64_t i = 0; i < count && status == FTH_OK; i++) {
        const uint64_t hop = walk->back ? count - 1 - i : i;
        for (unsigned pass = 0; pass < walk->passes; pass++) {
            const uint32_t taken = cycles[pass * count + hop];
            const double excess = taken - alone[i];
            walk->cycles[pass * count + i] = taken;
            walk->excess[pass * count + i] = excess < far_out * alone[i] ? excess : NAN;
        }
        status = mean_at(cycles, count, hop, walk->passes, &walk->mean[i], error);
        walk->mean[i] -= alone[i];
    }
    pages->samples += samples->count;
    return status;
}

enum fth_status fth_pages_walk(struct fth_pages *pages, struct fth_page_walk *walks, size_t count,
                               struct fth_error *error)
{
    struct fth_request *requests = calloc(count, sizeof *requests);
    struct fth_answers answers = {0};
    uint64_t max = 0;
    if (!requests)
        return fth_fail(error, FTH_NO_MEMORY, "walk over pages", NULL, "out of memory");
    for (size_t i = 0; i < count; i++) {
        const struct fth_page_walk *walk = &walks[i];
        requests[i] = make_request(pages, walk);
        max = walk->first + walk->count > max ? walk->first + walk->count : max;
        walks[i].excess = NULL;
        walks[i].cycles = NULL;
    }
    enum fth_status status = learn(pages, max, error);
    if (status == FTH_OK)
        status = fth_ask(pages->prober, requests, count, &answers, error);
    for (size_t i = 0; i < answers.count && status == FTH_OK; i++)
        status = take_walk(pages, &answers.items[i], &walks[i], error);
    fth_answers_fini(&answers);
    free(requests);
    if (status != FTH_OK)
        fth_page_walks_fini(walks, count);
    return status;
}
