/* Loads far apart, one line each, and what translating their addresses costs. Lines of an L2 differ
 * more among each other (14 cycles on an H200) than a page that is not in the first TLB costs (10),
 * but each line by itself is steady (2.6). So each line is timed twice: in a walk over a few
 * neighbours, whose pages are at hand, and in the walk in question. The difference is what the walk
 * pays for its pages, load by load.
 *
 * Neighbours are walked in groups that overlap by one: the first load of a walk takes a little
 * longer than the others, so each line's figure comes from a place that is not the first. */
#include "probe/probe.h"

#include <math.h>
#include <stdlib.h>

enum {
    FIRST_GROUP = 3,   /* neighbours that any TLB has room for */
    MOST_GROUP = 512,  /* longer ones save no time */
    ALONE_PASSES = 5,  /* that count: of three one may be disturbed, of five two */
    STEPS_A_GROUP = 2, /* walk, then time */
    GROUPS = FTH_MOST_STEPS / STEPS_A_GROUP,
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

static struct fth_request empty_request(void)
{
    struct fth_request request = fth_request_make(-1);
    request.alone = true;
    request.sm = 0;
    return request;
}

/* The mean over passes of the load at that place, without what lies far out. The first pass does
 * not count: its instructions come from memory. */
static enum fth_status mean_at(const uint32_t *cycles, uint64_t count, uint64_t place,
                               unsigned passes, double *mean, struct fth_error *error)
{
    uint32_t column[FTH_MOST_PAGE_PASSES];
    for (unsigned pass = 0; pass < passes; pass++)
        column[pass] = cycles[(pass + 1) * count + place];
    return fth_core_mean_u32(column, passes, mean, error);
}

/* Memory for the whole chain is taken by its first walk, so that it stays where it is. */
enum fth_status fth_pages_open(const struct fth_prober *prober, uint64_t stride_bytes,
                               uint64_t most, struct fth_pages *pages, struct fth_error *error)
{
    *pages = (struct fth_pages){
        .prober = prober, .stride_bytes = stride_bytes, .most = most, .group = FIRST_GROUP};
    enum fth_status status = FTH_INCONCLUSIVE;
    while (status == FTH_INCONCLUSIVE && pages->most > FIRST_GROUP) {
        struct fth_answers answers = {0};
        struct fth_request request = empty_request();
        struct fth_error fault = FTH_NO_ERROR;
        fth_request_add(&request, FTH_STEP_TIME_PASS, FTH_PATH_CG, chain_of(pages, 0, pages->most),
                        1);
        status = fth_ask(prober, &request, 1, &answers, &fault);
        fth_answers_fini(&answers);
        if (status == FTH_INCONCLUSIVE)
            pages->most -= pages->most / 8 + 1;
        else if (status != FTH_OK)
            return fth_fail(error, status, fault.operation, fault.argument, "%s", fault.cause);
    }
    if (status != FTH_OK)
        return fth_fail(error, FTH_INCONCLUSIVE, "walk over pages", NULL, "too little memory");
    pages->alone = calloc(pages->most, sizeof *pages->alone);
    return pages->alone ? FTH_OK
                        : fth_fail(error, FTH_NO_MEMORY, "walk over pages", NULL, "out of memory");
}

void fth_pages_close(struct fth_pages *pages)
{
    free(pages->alone);
    pages->alone = NULL;
}

void fth_pages_fit(struct fth_pages *pages, uint64_t count)
{
    uint64_t group = count / 2 < MOST_GROUP ? count / 2 : MOST_GROUP;
    if (group > pages->group)
        pages->group = group;
}

void fth_page_walks_fini(struct fth_page_walk *walks, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(walks[i].excess);
        walks[i].excess = NULL;
    }
}

/* ---- by themselves ---- */

/* Requests for the lines from `known` to `count`; *requests is to be freed. */
static enum fth_status plan_alone(const struct fth_pages *pages, uint64_t count, size_t *planned,
                                  struct fth_request **requests, struct fth_error *error)
{
    uint64_t first = pages->known ? pages->known - 1 : 0, step = pages->group - 1;
    size_t groups = (size_t)((count - first - 1 + step - 1) / step);
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
        fth_request_add(request, FTH_STEP_TIME_HOPS, FTH_PATH_CG, chain, 1 + ALONE_PASSES);
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
        for (uint64_t i = first ? 1 : 0; i < chain->count && status == FTH_OK; i++)
            status =
                mean_at(cycles, chain->count, i, ALONE_PASSES, &pages->alone[first + i], error);
        cycles += chain->count * (1 + ALONE_PASSES);
    }
    pages->samples += samples->count;
    return status;
}

static enum fth_status learn(struct fth_pages *pages, uint64_t count, struct fth_error *error)
{
    if (count <= pages->known)
        return FTH_OK;
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
    if (status == FTH_OK)
        pages->known = count;
    return status;
}

/* ---- walks ---- */

/* What each load of the passes that count took beyond its line, and the mean of each place. */
static enum fth_status take_walk(struct fth_pages *pages, const struct fth_samples *samples,
                                 struct fth_page_walk *walk, struct fth_error *error)
{
    const uint64_t count = walk->count;
    const double *alone = pages->alone + walk->first;
    walk->excess = calloc((walk->passes + 1) * count, sizeof *walk->excess);
    if (!walk->excess)
        return fth_fail(error, FTH_NO_MEMORY, "walk over pages", NULL, "out of memory");
    walk->mean = walk->excess + walk->passes * count;
    enum fth_status status = FTH_OK;
    for (uint64_t i = 0; i < count && status == FTH_OK; i++) {
        for (unsigned pass = 0; pass < walk->passes; pass++) {
            double excess = samples->cycles[(pass + 1) * count + i] - alone[i];
            walk->excess[pass * count + i] = excess < far_out * alone[i] ? excess : NAN;
        }
        status = mean_at(samples->cycles, count, i, walk->passes, &walk->mean[i], error);
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
    uint64_t most = 0;
    if (!requests)
        return fth_fail(error, FTH_NO_MEMORY, "walk over pages", NULL, "out of memory");
    for (size_t i = 0; i < count; i++) {
        const struct fth_page_walk *walk = &walks[i];
        struct fth_chain chain = chain_of(pages, walk->first, walk->count);
        requests[i] = empty_request();
        fth_request_add(&requests[i], FTH_STEP_WALK, FTH_PATH_CG, chain,
                        walk->warm ? walk->warm : 1);
        fth_request_add(&requests[i], FTH_STEP_TIME_HOPS, FTH_PATH_CG, chain, 1 + walk->passes);
        most = walk->first + walk->count > most ? walk->first + walk->count : most;
        walks[i].excess = NULL;
    }
    enum fth_status status = learn(pages, most, error);
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
