/* Simulates several LRU caches that differ only in their ways ("variants") in one pass.
 *
 * An LRU cache with more ways holds every line that a cache with the same sets and fewer ways holds
 * (R. Mattson, J. Gecsei, D. Slutz and I. Traiger, "Evaluation techniques for storage hierarchies",
 * 1970). Therefore one stack per set, most recently used line first, represents all variants: a
 * variant with W ways holds the lines in the first W positions.
 *
 * A write removes its line from all variants and leaves a free position in the stack: a free way in
 * each variant that has this position. A line that moves to the front shifts the lines before the
 * first free position down by one. If it came from behind that position, its own old position
 * becomes free:
 *
 *     A B - C D    E is filled    E A B C D
 *     A B - C D    D is read      D A B C -    3 ways: D fills the free way
 *                                              5 ways: one way stays free
 *
 * The misses in flight differ between the variants, so each variant has its own MSHRs. The counts
 * of a variant equal those of cache_level.c except in these cases:
 *   - a request fails for lack of an MSHR or because of the merge limit, so that it would be
 *     processed later than in the other variants;
 *   - a request merges with a miss whose line has been evicted: cache_level.c does not allocate the
 *     line again, but the stack does;
 *   - the requests are not sorted by warp.
 * The variant has then *diverged* and must be simulated separately. */
#include "model/level/level.h"

#include <stdlib.h>
#include <string.h>

#define FREE_WAY UINT64_MAX /* a value that is no line address */
#define NOT_FOUND SIZE_MAX
/* Maximum number of ways of a stack. It keeps searches short; chosen, not derived. */
enum { MAX_WAYS = 64 };

struct variant {
    size_t ways;
    struct fth_model_counts *counts; /* by instruction; borrowed */
    struct fth_cache_level_totals totals;
    struct fth_mshr *mshr;
    bool diverged;
};

struct fth_lru_stack {
    struct fth_shape shape;  /* of the variant with the most ways */
    struct fth_cache *index; /* used only to compute the set of a line */
    uint64_t *entries;       /* [sets][ways] lines */
    struct variant *variants;
    size_t count;
    uint64_t step;
    bool failed; /* out of memory */
};

/* Lines are not divided into sectors, there is one bank, writes bypass the cache, and all sets have
 * the same number of ways. A search visits all ways, so there is a limit. */
bool fth_lru_stack_supports(const struct fth_shape *shape)
{
    return strcmp(shape->policy, "lru") == 0 && shape->sector_bytes == shape->line_bytes &&
           shape->partitions * shape->banks == 1 && shape->bypass == FTH_BYPASS_WRITES &&
           shape->lines % shape->sets == 0 && shape->ways <= MAX_WAYS;
}

static enum fth_status add_variant(struct fth_lru_stack *stack, uint64_t ways,
                                   struct fth_model_counts *counts, struct fth_error *error)
{
    struct variant *variant = &stack->variants[stack->count++];
    *variant = (struct variant){.ways = (size_t)ways, .counts = counts};
    variant->totals.profile_size = (size_t)ways + 1;
    for (int i = 0; i < 2; i++) {
        variant->totals.profile[i] = calloc(variant->totals.profile_size, sizeof(uint64_t));
        if (!variant->totals.profile[i])
            return fth_no_memory(error, "model caches", NULL);
    }
    return fth_mshr_create(stack->shape.mshr_size, &variant->mshr, error);
}

static enum fth_status init(struct fth_lru_stack *stack, const uint64_t *ways,
                            struct fth_model_counts *const *counts, size_t count,
                            struct fth_error *error)
{
    const struct fth_shape *shape = &stack->shape;
    const struct fth_cache_config config = {.line_bytes = shape->line_bytes,
                                            .sets = shape->sets,
                                            .ways = shape->ways,
                                            .index = shape->index,
                                            .masks = shape->masks,
                                            .policy = "lru"};
    const size_t bytes = (size_t)(shape->sets * shape->ways) * sizeof *stack->entries;
    stack->variants = calloc(count, sizeof *stack->variants);
    stack->entries = malloc(bytes);
    if (!stack->variants || !stack->entries)
        return fth_no_memory(error, "model caches", NULL);
    memset(stack->entries, 0xff, bytes); /* every byte of FREE_WAY is 0xff */
    FTH_TRY(fth_cache_create(&config, &stack->index, error));
    for (size_t i = 0; i < count; i++)
        FTH_TRY(add_variant(stack, ways[i], counts[i], error));
    return FTH_OK;
}

enum fth_status fth_lru_stack_create(const struct fth_shape *widest, const uint64_t *ways,
                                     struct fth_model_counts *const *counts, size_t count,
                                     struct fth_lru_stack **out, struct fth_error *error)
{
    struct fth_lru_stack *stack = calloc(1, sizeof *stack);
    *out = NULL;
    if (!stack)
        return fth_no_memory(error, "model caches", NULL);
    stack->shape = *widest;
    const enum fth_status status = init(stack, ways, counts, count, error);
    if (status == FTH_OK)
        *out = stack;
    else
        fth_lru_stack_destroy(stack);
    return status;
}

void fth_lru_stack_destroy(struct fth_lru_stack *stack)
{
    if (!stack)
        return;
    for (size_t i = 0; stack->variants && i < stack->count; i++) {
        fth_mshr_destroy(stack->variants[i].mshr);
        for (int k = 0; k < 2; k++)
            free(stack->variants[i].totals.profile[k]);
    }
    fth_cache_destroy(stack->index);
    free(stack->entries);
    free(stack->variants);
    free(stack);
}

const struct fth_cache_level_totals *fth_lru_stack_totals(const struct fth_lru_stack *stack,
                                                          size_t variant)
{
    return &stack->variants[variant].totals;
}

bool fth_lru_stack_diverged(const struct fth_lru_stack *stack, size_t variant)
{
    return stack->variants[variant].diverged;
}

/* ---- the stack ---- */

/* Position of a line in the stack of its set. */
struct stack_position {
    uint64_t *set;
    size_t at;       /* NOT_FOUND: no variant holds the line */
    size_t free_way; /* the first free position before `at`; NOT_FOUND: none */
    size_t distance; /* number of lines before it */
};

static struct stack_position find(const struct fth_lru_stack *stack, uint64_t line)
{
    const size_t ways = (size_t)stack->shape.ways;
    struct stack_position position = {stack->entries + fth_cache_set(stack->index, line) * ways,
                                      NOT_FOUND, NOT_FOUND, 0};
    for (size_t i = 0; i < ways; i++) {
        if (position.set[i] == line) {
            position.at = i;
            break;
        }
        if (position.set[i] != FREE_WAY)
            position.distance++;
        else if (position.free_way == NOT_FOUND)
            position.free_way = i;
    }
    return position;
}

static void move_to_front(const struct fth_lru_stack *stack, const struct stack_position *position,
                          uint64_t line)
{
    size_t end = position->at != NOT_FOUND ? position->at : (size_t)stack->shape.ways - 1;
    if (position->free_way != NOT_FOUND) {
        end = position->free_way;
        if (position->at != NOT_FOUND)
            position->set[position->at] = FREE_WAY;
    }
    memmove(position->set + 1, position->set, end * sizeof *position->set);
    position->set[0] = line;
}

/* ---- requests ---- */

/* Processes a read in one variant; true: it is forwarded to the L2. */
static bool read_variant(struct fth_lru_stack *stack, struct variant *variant,
                         const struct stack_position *position,
                         const struct fth_line_request *request)
{
    struct fth_model_counts *counts = &variant->counts[request->instruction];
    uint64_t *profile = variant->totals.profile[0];
    const bool held = position->at < variant->ways;
    fth_mshr_step(variant->mshr, stack->step);
    const enum fth_merge merge =
        fth_mshr_merge(variant->mshr, request->line, request->sectors, stack->shape.mshr_merges);
    if (merge == FTH_MERGE_FAILED || (merge == FTH_MERGE_DONE && !held) ||
        (merge == FTH_MERGE_NONE && !held && fth_mshr_full(variant->mshr))) {
        variant->diverged = true;
        return false;
    }
    const bool hit = merge == FTH_MERGE_DONE ? stack->shape.merged_hits : held;
    counts->merges[FTH_TRACE_READ] += merge == FTH_MERGE_DONE;
    counts->hits[FTH_TRACE_READ] += hit;
    profile[hit ? position->distance : variant->ways]++;
    if (held)
        return false;
    const uint64_t steps = fth_shape_latency(&stack->shape, fth_mshr_busy(variant->mshr));
    if (!fth_mshr_add(variant->mshr, request->line, request->sectors, steps))
        stack->failed = true;
    return true;
}

static uint64_t read_line(struct fth_lru_stack *stack, const struct fth_line_request *request)
{
    const struct stack_position position = find(stack, request->line);
    uint64_t misses = 0;
    for (size_t i = 0; i < stack->count; i++)
        if (!stack->variants[i].diverged)
            misses |= (uint64_t)read_variant(stack, &stack->variants[i], &position, request) << i;
    if (position.at != 0)
        move_to_front(stack, &position, request->line);
    return misses;
}

/* Processes a request that bypasses the L1: all variants forward it. Writes, atomics and reads that
 * evict their line also remove the line. A write to a line that a variant holds counts as a hit. */
static uint64_t bypass_line(struct fth_lru_stack *stack, const struct fth_line_request *request)
{
    const bool counted =
        request->kind == FTH_TRACE_WRITE && !(request->flags & FTH_LINE_REQUEST_BYPASS_L1);
    const bool changed = request->kind != FTH_TRACE_READ;
    const bool drops = changed || request->flags & FTH_LINE_REQUEST_EVICT;
    const struct stack_position position = find(stack, request->line);
    for (size_t i = 0; i < stack->count; i++) {
        struct variant *variant = &stack->variants[i];
        if (counted && position.at < variant->ways)
            variant->counts[request->instruction].hits[FTH_TRACE_WRITE]++;
        variant->totals.profile[changed][variant->ways]++;
    }
    if (drops && position.at != NOT_FOUND)
        position.set[position.at] = FREE_WAY;
    return UINT64_MAX;
}

static void count_request(struct fth_lru_stack *stack, const struct fth_line_request *request)
{
    for (size_t i = 0; i < stack->count; i++) {
        struct fth_model_counts *counts = &stack->variants[i].counts[request->instruction];
        counts->requests[request->kind]++;
        counts->sectors[request->kind]++;
    }
}

/* Each step processes as many requests as there are ports, lower warps first. Since the requests
 * are sorted by warp, this is the order of the array. */
bool fth_lru_stack_run(struct fth_lru_stack *stack, const struct fth_line_request *requests,
                       size_t count, uint64_t *misses)
{
    const uint64_t ports = stack->shape.ports;
    for (size_t i = 0; i < count; i++) {
        const struct fth_line_request *request = &requests[i];
        if (i && i % ports == 0)
            stack->step++;
        if ((i && request->warp < requests[i - 1].warp) ||
            request->flags & FTH_LINE_REQUEST_NO_ALLOCATE)
            for (size_t r = 0; r < stack->count; r++)
                stack->variants[r].diverged = true;
        misses[i] =
            request->kind == FTH_TRACE_READ && !(request->flags & FTH_LINE_REQUEST_BYPASS_L1)
                ? read_line(stack, request)
                : bypass_line(stack, request);
        count_request(stack, request);
    }
    stack->step += count > 0;
    for (size_t r = 0; r < stack->count; r++)
        stack->variants[r].totals.steps += (count + ports - 1) / ports;
    return !stack->failed;
}
