/* Validates chase requests, counts their samples, writes and reads their canonical text. Example:
 *
 *   walk ca 0:128x2048 passes 2; time-hops ca 0:128x2048; carveout 0; alone
 *
 * The text has one part per step: "KIND PATH ARRAY[+START]:STRIDExCOUNT", followed by the members
 * that do not have their default value ("step 7", "seed 5", "warp 3", "reverse", "passes 2"). Then
 * follow the members of the whole request (fth_request_write_options). */
#include "device/chase/chase.h"

#include <inttypes.h>
#include <stdio.h>

static const char operation[] = "check request";

static const char *const kind_names[] = {
    [FTH_STEP_WALK] = "walk",           [FTH_STEP_TIME_PASS] = "time-pass",
    [FTH_STEP_TIME_HOPS] = "time-hops", [FTH_STEP_TOUCH] = "touch",
    [FTH_STEP_WRITE] = "write",         [FTH_STEP_TIME_CLOCK] = "time-clock",
    [FTH_STEP_TIME_SINK] = "time-sink",
};

static const char *kind_name(enum fth_step_kind kind)
{
    return (unsigned)kind < FTH_COUNT(kind_names) ? kind_names[kind] : "?";
}

uint64_t fth_chain_step(const struct fth_chain *chain)
{
    return chain->step ? chain->step : 1;
}

void fth_chain_order(const struct fth_chain *chain, uint32_t *order)
{
    struct fth_rng rng;
    fth_rng_init(&rng, chain->seed);
    for (uint32_t i = 0; i < chain->count; i++)
        order[i] = i;
    for (uint64_t i = chain->count; i > 2; i--) { /* element 0 stays the first one */
        const uint64_t other = 1 + fth_rng_below(&rng, i - 1);
        const uint32_t moved = order[i - 1];
        order[i - 1] = order[other];
        order[other] = moved;
    }
}

/* ---- check ---- */

static const struct {
    const char *name;
    uint64_t bytes;         /* maximum offset of the end of a chain */
    uint64_t element_bytes; /* size of a link: a pointer, or the index of a texel */
} memories[] = {
    [FTH_MEMORY_GLOBAL] = {"global memory", FTH_MAX_GLOBAL_BYTES, 8},
    [FTH_MEMORY_TEXTURE] = {"a texture", FTH_MAX_TEXTURE_BYTES, 4},
    [FTH_MEMORY_CONSTANT] = {"the constant bank", FTH_MAX_CONSTANT_BYTES, 8},
    [FTH_MEMORY_SHARED] = {"shared memory", FTH_MAX_SHARED_BYTES, 8},
};

enum fth_memory fth_chase_memory(enum fth_path path)
{
    switch (path) {
    case FTH_PATH_TEXTURE: return FTH_MEMORY_TEXTURE;
    case FTH_PATH_CONSTANT: return FTH_MEMORY_CONSTANT;
    case FTH_PATH_SHARED: return FTH_MEMORY_SHARED;
    default: return FTH_MEMORY_GLOBAL;
    }
}

/* In a chain that is walked in reverse, each element has a second link, to the previous element. */
static uint64_t element_bytes(const struct fth_step *step)
{
    return memories[fth_chase_memory(step->path)].element_bytes * (step->reverse ? 2 : 1);
}

uint64_t fth_gcd(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Reports a fault in a member of step `index`. */
FTH_PRINTF(4, 5)
static enum fth_status fail_step(struct fth_error *error, size_t index, const char *member,
                                 const char *cause, ...)
{
    char where[64], text[256];
    snprintf(where, sizeof where, "steps[%zu].%s", index, member);
    va_list arguments;
    va_start(arguments, cause);
    vsnprintf(text, sizeof text, cause, arguments);
    va_end(arguments);
    return fth_fail(error, FTH_INVALID, operation, where, "%s", text);
}

/* Checks the members of a step that exclude a seed. */
static enum fth_status check_seed(const struct fth_step *step, size_t index,
                                  struct fth_error *error)
{
    if (step->chain.seed == 0)
        return FTH_OK;
    if (fth_chase_memory(step->path) != FTH_MEMORY_GLOBAL)
        return fail_step(error, index, "chain.seed",
                         "only chains in global memory can have a seed");
    if (step->chain.count > FTH_MAX_SHUFFLED)
        return fail_step(error, index, "chain.count", "a chain with a seed has at most %d elements",
                         FTH_MAX_SHUFFLED);
    if (fth_chain_step(&step->chain) != 1)
        return fail_step(error, index, "chain.seed", "a chain with a step cannot have a seed");
    if (step->reverse || step->kind == FTH_STEP_WRITE || step->kind == FTH_STEP_TOUCH)
        return fail_step(error, index, "chain.seed",
                         "only chains that are walked forwards can have a seed");
    return FTH_OK;
}

static enum fth_status check_chain(const struct fth_step *step, size_t index,
                                   struct fth_error *error)
{
    const struct fth_chain *chain = &step->chain;
    enum fth_memory memory = fth_chase_memory(step->path);
    uint64_t element = element_bytes(step), max = memories[memory].bytes;
    if (chain->stride_bytes < element)
        return fail_step(error, index, "chain.stride_bytes",
                         "%" PRIu64 " is less than the %" PRIu64 " bytes of an element",
                         chain->stride_bytes, element);
    if (chain->stride_bytes % element)
        return fail_step(error, index, "chain.stride_bytes",
                         "%" PRIu64 " is not a multiple of the %" PRIu64 " bytes of an element",
                         chain->stride_bytes, element);
    if (chain->start_bytes % element)
        return fail_step(error, index, "chain.start_bytes",
                         "%" PRIu64 " is not a multiple of the %" PRIu64 " bytes of an element",
                         chain->start_bytes, element);
    if (chain->count == 0)
        return fail_step(error, index, "chain.count", "a chain must have at least one element");
    if (chain->start_bytes > max || chain->count > (max - chain->start_bytes) / chain->stride_bytes)
        return fail_step(error, index, "chain.count",
                         "%" PRIu64 " elements with a stride of %" PRIu64
                         " bytes from offset %" PRIu64 " extend beyond the %" PRIu64 " bytes of %s",
                         chain->count, chain->stride_bytes, chain->start_bytes, max,
                         memories[memory].name);
    if (fth_gcd(fth_chain_step(chain), chain->count) != 1)
        return fail_step(error, index, "chain.step",
                         "the step %" PRIu64 " and the count %" PRIu64 " have a common factor",
                         chain->step, chain->count);
    if (step->reverse && fth_chain_step(chain) != 1)
        return fail_step(error, index, "reverse",
                         "only chains in memory order (step 1) can be walked in reverse");
    return check_seed(step, index, error);
}

/* Whether the step measures the cost of timing itself. */
static bool is_overhead(const struct fth_step *step)
{
    return step->kind == FTH_STEP_TIME_CLOCK || step->kind == FTH_STEP_TIME_SINK;
}

static bool is_timed(const struct fth_step *step)
{
    return step->kind == FTH_STEP_TIME_PASS || step->kind == FTH_STEP_TIME_HOPS ||
           is_overhead(step);
}

const struct fth_step *fth_chase_walk(const struct fth_chase *chase, unsigned array)
{
    for (size_t i = 0; i < chase->step_count; i++)
        if (chase->steps[i].kind != FTH_STEP_TOUCH && chase->steps[i].chain.array == array)
            return &chase->steps[i];
    return NULL;
}

static enum fth_status check_step(const struct fth_step *step, size_t index,
                                  struct fth_error *error)
{
    if ((unsigned)step->kind >= FTH_COUNT(kind_names))
        return fail_step(error, index, "kind", "%u is not a kind of step", (unsigned)step->kind);
    if ((unsigned)step->path >= FTH_PATH_COUNT)
        return fail_step(error, index, "path", "%u is not a path", (unsigned)step->path);
    if (step->warp >= FTH_MAX_WARPS)
        return fail_step(error, index, "warp", "index %u is too large; a block has %d warps",
                         step->warp, FTH_MAX_WARPS);
    if (step->passes == 0)
        return fail_step(error, index, "passes", "a step must have at least one pass");
    if (step->kind == FTH_STEP_TOUCH && step->path != FTH_PATH_CG)
        return fail_step(error, index, "path", "touch steps must use the path cg");
    if (step->kind == FTH_STEP_TOUCH && step->reverse)
        return fail_step(error, index, "reverse", "touch steps read in no particular order");
    if (step->kind == FTH_STEP_WRITE && step->path != FTH_PATH_CA)
        return fail_step(error, index, "path", "write steps must use the path ca");
    if (step->kind == FTH_STEP_WRITE && (step->reverse || fth_chain_step(&step->chain) != 1))
        return fail_step(error, index, step->reverse ? "reverse" : "chain.step",
                         "write steps store in memory order");
    if (is_overhead(step) && (step->path != FTH_PATH_CG || step->passes != 1))
        return fail_step(error, index, step->path != FTH_PATH_CG ? "path" : "passes",
                         "time-clock and time-sink steps must use the path cg and one pass");
    return check_chain(step, index, error);
}

static bool overlap(const struct fth_chain *a, const struct fth_chain *b)
{
    return a->start_bytes < b->start_bytes + b->stride_bytes * b->count &&
           b->start_bytes < a->start_bytes + a->stride_bytes * a->count;
}

/* Whether two chains with a seed are the same, or of the same length with no element in common: an
 * element of one lies at least 8 bytes, those of a link, from each element of the other. */
static bool have_own_links(const struct fth_chain *a, const struct fth_chain *b)
{
    const uint64_t distance = a->start_bytes > b->start_bytes ? a->start_bytes - b->start_bytes
                                                              : b->start_bytes - a->start_bytes;
    return a->count == b->count && (distance == 0 || distance % a->stride_bytes != 0);
}

/* Checks that two chains in the same array do not need different values in the same word. */
static enum fth_status check_pair(const struct fth_step *first, const struct fth_step *second,
                                  size_t index, struct fth_error *error)
{
    const struct fth_chain *a = &first->chain, *b = &second->chain;
    enum fth_memory memory_a = fth_chase_memory(first->path),
                    memory_b = fth_chase_memory(second->path);
    if (a->array != b->array)
        return FTH_OK;
    if (memory_a != memory_b)
        return fail_step(error, index, "chain.array", "array %u is used in %s and in %s", b->array,
                         memories[memory_a].name, memories[memory_b].name);
    if (first->kind == FTH_STEP_TOUCH || second->kind == FTH_STEP_TOUCH)
        return FTH_OK; /* a touch uses no links */
    if (a->stride_bytes != b->stride_bytes)
        return fail_step(error, index, "chain.stride_bytes",
                         "array %u already has a chain with a stride of %" PRIu64, b->array,
                         a->stride_bytes);
    if (fth_chain_step(a) != fth_chain_step(b))
        return fail_step(error, index, "chain.step",
                         "array %u already has a chain with a step of %" PRIu64, b->array,
                         fth_chain_step(a));
    if (a->seed != b->seed)
        return fail_step(error, index, "chain.seed",
                         "array %u already has a chain with the seed %" PRIu64, b->array, a->seed);
    if (a->seed && !have_own_links(a, b))
        return fail_step(error, index, "chain.seed",
                         "array %u already has another chain with a seed", b->array);
    if (!overlap(a, b))
        return FTH_OK;
    /* Unless a chain is in memory order, its links depend on its start and count. */
    if (fth_chain_step(a) != 1 && (a->start_bytes != b->start_bytes || a->count != b->count))
        return fail_step(error, index, "chain.step",
                         "two different chains with a step other than 1 overlap in array %u",
                         b->array);
    /* Distance from an element of a to the next element of b; the distance from there to the next
     * element of a is the rest of the stride. */
    uint64_t stride = a->stride_bytes, from_a = b->start_bytes % stride;
    from_a = (from_a + stride - a->start_bytes % stride) % stride;
    if (from_a && (from_a < element_bytes(first) || stride - from_a < element_bytes(second)))
        return fail_step(error, index, "chain.start_bytes",
                         "elements of two chains partly overlap in array %u", b->array);
    return FTH_OK;
}

enum fth_status fth_chase_check(const struct fth_request *request, struct fth_error *error)
{
    const struct fth_chase *chase = &request->chase;
    if (chase->step_count == 0 || chase->step_count > FTH_MAX_STEPS)
        return fth_fail(error, FTH_INVALID, operation, "step_count",
                        "%zu is not in the range 1 to %d", chase->step_count, FTH_MAX_STEPS);
    if (chase->too_many)
        return fth_fail(error, FTH_INVALID, operation, "step_count",
                        "more than %d steps were added", FTH_MAX_STEPS);
    bool timed = false;
    for (size_t i = 0; i < chase->step_count; i++) {
        const struct fth_step *step = &chase->steps[i];
        FTH_TRY(check_step(step, i, error));
        for (size_t j = 0; j < i; j++)
            FTH_TRY(check_pair(&chase->steps[j], step, i, error));
        timed = timed || is_timed(step);
        if (step->kind == FTH_STEP_TOUCH && !fth_chase_walk(chase, step->chain.array))
            return fail_step(error, i, "chain.array", "array %u is touched, but no step walks it",
                             step->chain.array);
    }
    if (!timed)
        return fth_fail(error, FTH_INVALID, operation, "steps", "at least one step must be timed");
    uint64_t samples = fth_chase_samples(request);
    if (samples > FTH_MAX_SAMPLES)
        return fth_fail(error, FTH_INVALID, operation, "steps",
                        "%" PRIu64 " samples exceed the maximum of %" PRIu64, samples,
                        FTH_MAX_SAMPLES);
    return fth_check_carveout(request, error);
}

uint64_t fth_chase_step_samples(const struct fth_step *step)
{
    if (step->kind == FTH_STEP_TIME_PASS)
        return step->passes;
    if (step->kind != FTH_STEP_TIME_HOPS && !is_overhead(step))
        return 0;
    uint64_t count = step->chain.count;
    return count && step->passes > UINT64_MAX / count ? UINT64_MAX : step->passes * count;
}

uint64_t fth_chase_samples(const struct fth_request *request)
{
    uint64_t samples = 0;
    for (size_t i = 0; i < request->chase.step_count; i++) {
        uint64_t more = fth_chase_step_samples(&request->chase.steps[i]);
        samples = more > UINT64_MAX - samples ? UINT64_MAX : samples + more;
    }
    return samples;
}

/* ---- text ---- */

static void write_step(const struct fth_step *step, struct fth_buffer *text)
{
    const struct fth_chain *chain = &step->chain;
    fth_buffer_format(text, "%s %s %u", kind_name(step->kind), fth_path_name(step->path),
                      chain->array);
    if (chain->start_bytes)
        fth_buffer_format(text, "+%" PRIu64, chain->start_bytes);
    fth_buffer_format(text, ":%" PRIu64 "x%" PRIu64, chain->stride_bytes, chain->count);
    if (fth_chain_step(chain) != 1)
        fth_buffer_format(text, " step %" PRIu64, chain->step);
    if (chain->seed)
        fth_buffer_format(text, " seed %" PRIu64, chain->seed);
    if (step->warp)
        fth_buffer_format(text, " warp %u", step->warp);
    if (step->reverse)
        fth_buffer_text(text, " reverse");
    if (step->passes != 1)
        fth_buffer_format(text, " passes %" PRIu64, step->passes);
}

void fth_chase_write(const struct fth_request *request, struct fth_buffer *text)
{
    for (size_t i = 0; i < request->chase.step_count; i++) {
        if (i > 0)
            fth_buffer_text(text, "; ");
        write_step(&request->chase.steps[i], text);
    }
    fth_request_write_options(request, text);
    if (request->alone && !request->cold)
        fth_buffer_text(text, "; alone");
}

bool fth_chase_read_chain(struct fth_scanner *scanner, struct fth_chain *chain)
{
    return fth_scan_u32(scanner, &chain->array) &&
           fth_scan_option(scanner, "+", &chain->start_bytes) && fth_scan(scanner, ":") &&
           fth_scan_chain(scanner, chain);
}

/* Reads the kind of a step and the space behind it. */
static bool read_kind(struct fth_scanner *scanner, enum fth_step_kind *kind)
{
    for (enum fth_step_kind i = 0; i < FTH_COUNT(kind_names); i++)
        if (fth_scan_name(scanner, kind_names[i])) {
            *kind = i;
            return fth_scan(scanner, " ");
        }
    return false;
}

/* Reads a step behind its kind. */
static bool read_step(struct fth_scanner *scanner, struct fth_step *step)
{
    if (!fth_scan_path(scanner, &step->path) || !fth_scan(scanner, " ") ||
        !fth_chase_read_chain(scanner, &step->chain) ||
        !fth_scan_option_u32(scanner, " warp ", &step->warp))
        return false;
    step->reverse = fth_scan(scanner, " reverse");
    return fth_scan_option(scanner, " passes ", &step->passes);
}

bool fth_chase_read(struct fth_scanner *scanner, struct fth_request *request)
{
    struct fth_scanner ahead = *scanner;
    struct fth_chase *chase = &request->chase;
    enum fth_step_kind kind;
    while (read_kind(&ahead, &kind)) {
        struct fth_step step = {.kind = kind, .passes = 1};
        *scanner = ahead;
        if (chase->step_count == FTH_MAX_STEPS || !read_step(scanner, &step))
            return false;
        chase->steps[chase->step_count++] = step;
        ahead = *scanner;
        if (!fth_scan(&ahead, "; "))
            break;
    }
    return chase->step_count > 0;
}

/* ---- interruptions ---- */

bool fth_request_was_interrupted(const struct fth_request *request,
                                 const struct fth_samples *samples)
{
    size_t at = 0;
    for (size_t i = 0; request->family == FTH_FAMILY_CHASE && i < request->chase.step_count; i++) {
        const struct fth_step *step = &request->chase.steps[i];
        const size_t end = at + (size_t)fth_chase_step_samples(step);
        for (; at < end && at < samples->count; at++)
            if (step->kind == FTH_STEP_TIME_HOPS && samples->cycles[at] > FTH_INTERRUPTED_CYCLES)
                return true;
        at = end;
    }
    return false;
}
