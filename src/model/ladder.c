/* LRU caches that differ only in their ways, in one pass: of caches with the same sets, a wider one
 * holds what a narrower holds (R. Mattson, J. Gecsei, D. Slutz and I. Traiger, "Evaluation
 * techniques for storage hierarchies", 1970). So one stack a set, newest first, stands for all of
 * them: a cache of W ways hits what it finds in the first W places.
 *
 * A write throws a line out of all that hold it, and leaves a hole at its place: a free way in each
 * cache that reaches so far. What comes to the front pushes the lines before the first hole down
 * into it, and where it is taken from behind that, its own place is the hole then:
 *
 *     A B - C D     E comes      E A B C D
 *     A B - C D     D is used    D A B C -     3 ways: D takes the free one; 5 ways: one is free
 * still
 *
 * Misses under way differ from one cache to the other, so each has its registers. As long as none
 * of its requests fails for want of one, and none joins a miss whose line was replaced meanwhile,
 * its requests come in the order of all others, and what is counted is what tier.c counts. Where
 * one does, the cache is *broken*, and must be run by itself. */
#include "model/model.h"

#include <stdlib.h>
#include <string.h>

#define HOLE UINT64_MAX /* no line has this address */
#define NOWHERE SIZE_MAX

struct rung {
    size_t ways;
    struct fth_model_counts *counts; /* by instruction; borrowed */
    struct fth_tier_totals totals;
    struct fth_mshr *mshr;
    bool broken;
};

struct fth_ladder {
    struct fth_shape shape;  /* of the widest */
    struct fth_cache *index; /* only asked for sets */
    uint64_t *stack;         /* [sets][ways] lines */
    struct rung *rungs;
    size_t count;
    uint64_t step;
    bool failed; /* out of memory */
};

bool fth_ladder_allows(const struct fth_shape *shape)
{
    return strcmp(shape->policy, "lru") == 0 && shape->sector_bytes == shape->line_bytes &&
           shape->partitions * shape->banks == 1 && shape->bypass == FTH_BYPASS_WRITES &&
           shape->lines % shape->sets == 0 && shape->ways <= 64;
}

static enum fth_status no_memory(struct fth_error *error)
{
    return fth_fail(error, FTH_NO_MEMORY, "model caches", NULL, "out of memory");
}

static enum fth_status add_rung(struct fth_ladder *ladder, uint64_t ways,
                                struct fth_model_counts *counts, struct fth_error *error)
{
    struct rung *rung = &ladder->rungs[ladder->count++];
    *rung = (struct rung){.ways = (size_t)ways, .counts = counts};
    rung->totals.profile_size = (size_t)ways + 1;
    for (int i = 0; i < 2; i++) {
        rung->totals.profile[i] = calloc(rung->totals.profile_size, sizeof(uint64_t));
        if (!rung->totals.profile[i])
            return no_memory(error);
    }
    return fth_mshr_create(ladder->shape.mshr_size, &rung->mshr, error);
}

enum fth_status fth_ladder_create(const struct fth_shape *widest, const uint64_t *ways,
                                  struct fth_model_counts *const *counts, size_t count,
                                  struct fth_ladder **out, struct fth_error *error)
{
    struct fth_ladder *ladder = calloc(1, sizeof *ladder);
    const struct fth_cache_config config = {.line_bytes = widest->line_bytes,
                                            .sets = widest->sets,
                                            .ways = widest->ways,
                                            .index = widest->index,
                                            .policy = "lru"};
    *out = NULL;
    if (!ladder)
        return no_memory(error);
    ladder->shape = *widest;
    ladder->rungs = calloc(count, sizeof *ladder->rungs);
    ladder->stack = malloc((size_t)(widest->sets * widest->ways) * sizeof *ladder->stack);
    if (!ladder->rungs || !ladder->stack) {
        fth_ladder_destroy(ladder);
        return no_memory(error);
    }
    enum fth_status status = fth_cache_create(&config, &ladder->index, error);
    for (size_t i = 0; i < count && status == FTH_OK; i++)
        status = add_rung(ladder, ways[i], counts[i], error);
    if (status == FTH_OK) {
        memset(ladder->stack, 0xff, (size_t)(widest->sets * widest->ways) * sizeof *ladder->stack);
        *out = ladder;
    } else {
        fth_ladder_destroy(ladder);
    }
    return status;
}

void fth_ladder_destroy(struct fth_ladder *ladder)
{
    if (!ladder)
        return;
    for (size_t i = 0; ladder->rungs && i < ladder->count; i++) {
        fth_mshr_destroy(ladder->rungs[i].mshr);
        for (int k = 0; k < 2; k++)
            free(ladder->rungs[i].totals.profile[k]);
    }
    fth_cache_destroy(ladder->index);
    free(ladder->stack);
    free(ladder->rungs);
    free(ladder);
}

const struct fth_tier_totals *fth_ladder_totals(const struct fth_ladder *ladder, size_t rung)
{
    return &ladder->rungs[rung].totals;
}

bool fth_ladder_broken(const struct fth_ladder *ladder, size_t rung)
{
    return ladder->rungs[rung].broken;
}

/* ---- the stack ---- */

/* Where a line stands. */
struct spot {
    uint64_t *set;
    size_t at;   /* NOWHERE: it is not there */
    size_t hole; /* the first one before it; NOWHERE: there is none */
    size_t distance;
};

static struct spot find(const struct fth_ladder *ladder, uint64_t line)
{
    const size_t ways = (size_t)ladder->shape.ways;
    struct spot spot = {ladder->stack + fth_cache_set(ladder->index, line) * ways, NOWHERE, NOWHERE,
                        0};
    for (size_t i = 0; i < ways; i++) {
        if (spot.set[i] == line) {
            spot.at = i;
            break;
        }
        if (spot.set[i] != HOLE)
            spot.distance++;
        else if (spot.hole == NOWHERE)
            spot.hole = i;
    }
    return spot;
}

static void bring_to_front(const struct fth_ladder *ladder, const struct spot *spot, uint64_t line)
{
    size_t end = spot->at != NOWHERE ? spot->at : (size_t)ladder->shape.ways - 1;
    if (spot->hole != NOWHERE) {
        end = spot->hole;
        if (spot->at != NOWHERE)
            spot->set[spot->at] = HOLE;
    }
    memmove(spot->set + 1, spot->set, end * sizeof *spot->set);
    spot->set[0] = line;
}

/* ---- requests ---- */

/* What a read finds in one of the caches; true: it goes on to the L2. */
static bool read_rung(struct fth_ladder *ladder, struct rung *rung, const struct spot *spot,
                      const struct fth_request *request)
{
    struct fth_model_counts *counts = &rung->counts[request->instruction];
    uint64_t *profile = rung->totals.profile[0];
    const bool held = spot->at < rung->ways;
    fth_mshr_step(rung->mshr, ladder->step);
    const enum fth_merge merge =
        fth_mshr_merge(rung->mshr, request->line, request->sectors, ladder->shape.mshr_merges);
    if (merge == FTH_MERGE_FAILED || (merge == FTH_MERGE_DONE && !held) ||
        (merge == FTH_MERGE_NONE && !held && fth_mshr_full(rung->mshr))) {
        rung->broken = true;
        return false;
    }
    const bool hit = merge == FTH_MERGE_DONE ? ladder->shape.merged_hits : held;
    counts->merges[FTH_TRACE_READ] += merge == FTH_MERGE_DONE;
    counts->hits[FTH_TRACE_READ] += hit;
    profile[hit ? spot->distance : rung->ways]++;
    if (held)
        return false;
    const uint64_t steps = fth_shape_latency(&ladder->shape, fth_mshr_busy(rung->mshr));
    if (!fth_mshr_add(rung->mshr, request->line, request->sectors, steps))
        ladder->failed = true;
    return true;
}

static uint64_t read_line(struct fth_ladder *ladder, const struct fth_request *request)
{
    const struct spot spot = find(ladder, request->line);
    uint64_t misses = 0;
    for (size_t i = 0; i < ladder->count; i++)
        if (!ladder->rungs[i].broken)
            misses |= (uint64_t)read_rung(ladder, &ladder->rungs[i], &spot, request) << i;
    if (spot.at != 0)
        bring_to_front(ladder, &spot, request->line);
    return misses;
}

/* What changes a line goes on, and throws it out; so do reads that are to pass, but for that. */
static uint64_t pass_line(struct fth_ladder *ladder, const struct fth_request *request)
{
    const bool counted =
        request->kind == FTH_TRACE_WRITE && !(request->flags & FTH_REQUEST_PAST_L1);
    const bool changed = request->kind != FTH_TRACE_READ;
    const struct spot spot = find(ladder, request->line);
    for (size_t i = 0; i < ladder->count; i++) {
        struct rung *rung = &ladder->rungs[i];
        if (counted && spot.at < rung->ways)
            rung->counts[request->instruction].hits[FTH_TRACE_WRITE]++;
        rung->totals.profile[changed][rung->ways]++;
    }
    if (changed && spot.at != NOWHERE)
        spot.set[spot.at] = HOLE;
    return UINT64_MAX;
}

static void count_request(struct fth_ladder *ladder, const struct fth_request *request)
{
    for (size_t i = 0; i < ladder->count; i++) {
        struct fth_model_counts *counts = &ladder->rungs[i].counts[request->instruction];
        counts->requests[request->kind]++;
        counts->sectors[request->kind]++;
    }
}

/* In a step the first requests of all that wait, as many as there are ports, those of the first
 * warps before others: in their order, as they come by warps. */
bool fth_ladder_run(struct fth_ladder *ladder, const struct fth_request *requests, size_t count,
                    uint64_t *misses)
{
    const uint64_t ports = ladder->shape.ports;
    for (size_t i = 0; i < count; i++) {
        const struct fth_request *request = &requests[i];
        if (i && i % ports == 0)
            ladder->step++;
        if (i && request->warp < requests[i - 1].warp)
            for (size_t r = 0; r < ladder->count; r++)
                ladder->rungs[r].broken = true;
        misses[i] = request->kind == FTH_TRACE_READ && !(request->flags & FTH_REQUEST_PAST_L1)
                        ? read_line(ladder, request)
                        : pass_line(ladder, request);
        count_request(ladder, request);
    }
    ladder->step += count > 0;
    for (size_t r = 0; r < ladder->count; r++)
        ladder->rungs[r].totals.steps += (count + ports - 1) / ports;
    return !ladder->failed;
}
