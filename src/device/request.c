/* Requests: what one must be like, how many samples it asks for, and its canonical text, by which a
 * recording finds its answer.
 *
 *   walk ca 0:128x2048 passes 2; time-hops ca 0:128x2048; carveout 0; alone
 *
 * One part a step, "KIND PATH ARRAY[+START]:STRIDExCOUNT" and what is not as usual ("step 7", "warp
 * 3", "reverse", "passes 2"), then what is not as usual of the whole request ("sm 5", "carveout
 * 50", "alone", "cold"; cold implies alone, which is then left out). */
#include "device/family.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* What a chain can extend to: the constant bank of CUDA, more than the shared memory of any GPU,
 * CUDA's longest linear texture, more than the address space of any GPU's memory in use. */
#define CONSTANT_BYTES (UINT64_C(64) << 10)
#define SHARED_BYTES (UINT64_C(1) << 20)
#define TEXTURE_BYTES (UINT64_C(4) << 27)
#define GLOBAL_BYTES (UINT64_C(1) << 46)
#define MAX_SAMPLES (UINT64_C(1) << 28)

static const char operation[] = "check request";

static const char *const kind_names[] = {
    [FTH_STEP_WALK] = "walk",
    [FTH_STEP_TIME_PASS] = "time-pass",
    [FTH_STEP_TIME_HOPS] = "time-hops",
    [FTH_STEP_TOUCH] = "touch",
    [FTH_STEP_TIME_CLOCK] = "time-clock",
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

/* ---- check ---- */

enum fth_status fth_check_carveout(const struct fth_request *request, struct fth_error *error)
{
    if (request->carveout_percent >= -1 && request->carveout_percent <= 100)
        return FTH_OK;
    return fth_fail(error, FTH_INVALID, operation, "carveout_percent",
                    "%d is neither -1 nor within 0 to 100", request->carveout_percent);
}

/* An array belongs to one kind of memory. */
enum memory { MEMORY_GLOBAL, MEMORY_TEXTURE, MEMORY_CONSTANT, MEMORY_SHARED };

static const struct {
    const char *name;
    uint64_t bytes;         /* the most that a chain extends to */
    uint64_t element_bytes; /* a pointer; a texel holds an index */
} memories[] = {
    [MEMORY_GLOBAL] = {"global memory", GLOBAL_BYTES, 8},
    [MEMORY_TEXTURE] = {"a texture", TEXTURE_BYTES, 4},
    [MEMORY_CONSTANT] = {"the constant bank", CONSTANT_BYTES, 8},
    [MEMORY_SHARED] = {"shared memory", SHARED_BYTES, 8},
};

static enum memory memory_of(enum fth_path path)
{
    switch (path) {
    case FTH_PATH_TEXTURE: return MEMORY_TEXTURE;
    case FTH_PATH_CONSTANT: return MEMORY_CONSTANT;
    case FTH_PATH_SHARED: return MEMORY_SHARED;
    default: return MEMORY_GLOBAL;
    }
}

/* A chain that is walked backwards holds a second link in each element, for the way back. */
static uint64_t element_bytes(const struct fth_step *step)
{
    return memories[memory_of(step->path)].element_bytes * (step->reverse ? 2 : 1);
}

uint64_t fth_common_factor(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

FTH_PRINTF(4, 5)
static enum fth_status refuse(struct fth_error *error, size_t index, const char *member,
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

static enum fth_status check_chain(const struct fth_step *step, size_t index,
                                   struct fth_error *error)
{
    const struct fth_chain *chain = &step->chain;
    enum memory memory = memory_of(step->path);
    uint64_t element = element_bytes(step), max = memories[memory].bytes;
    if (chain->stride_bytes < element)
        return refuse(error, index, "chain.stride_bytes",
                      "%" PRIu64 " is less than the %" PRIu64 " bytes of an element",
                      chain->stride_bytes, element);
    if (chain->stride_bytes % element)
        return refuse(error, index, "chain.stride_bytes",
                      "%" PRIu64 " is not a multiple of the %" PRIu64 " bytes of an element",
                      chain->stride_bytes, element);
    if (chain->start_bytes % element)
        return refuse(error, index, "chain.start_bytes",
                      "%" PRIu64 " is not a multiple of the %" PRIu64 " bytes of an element",
                      chain->start_bytes, element);
    if (chain->count == 0)
        return refuse(error, index, "chain.count", "a chain has at least one element");
    if (chain->start_bytes > max || chain->count > (max - chain->start_bytes) / chain->stride_bytes)
        return refuse(error, index, "chain.count",
                      "%" PRIu64 " elements %" PRIu64 " bytes apart from %" PRIu64
                      " on end beyond the %" PRIu64 " bytes of %s",
                      chain->count, chain->stride_bytes, chain->start_bytes, max,
                      memories[memory].name);
    if (fth_common_factor(fth_chain_step(chain), chain->count) != 1)
        return refuse(error, index, "chain.step",
                      "%" PRIu64 " and the %" PRIu64 " elements have a common factor", chain->step,
                      chain->count);
    if (step->reverse && fth_chain_step(chain) != 1)
        return refuse(error, index, "reverse", "a chain is walked backwards only in memory order");
    return FTH_OK;
}

/* Times what timing costs. */
static bool is_empty(const struct fth_step *step)
{
    return step->kind == FTH_STEP_TIME_CLOCK || step->kind == FTH_STEP_TIME_SINK;
}

static bool is_timed(const struct fth_step *step)
{
    return step->kind == FTH_STEP_TIME_PASS || step->kind == FTH_STEP_TIME_HOPS || is_empty(step);
}

const struct fth_step *fth_request_walk(const struct fth_request *request, unsigned array)
{
    for (size_t i = 0; i < request->step_count && i < FTH_MAX_STEPS; i++)
        if (request->steps[i].kind != FTH_STEP_TOUCH && request->steps[i].chain.array == array)
            return &request->steps[i];
    return NULL;
}

static enum fth_status check_step(const struct fth_step *step, size_t index,
                                  struct fth_error *error)
{
    if ((unsigned)step->kind >= FTH_COUNT(kind_names))
        return refuse(error, index, "kind", "%u is no kind of step", (unsigned)step->kind);
    if ((unsigned)step->path >= FTH_PATH_COUNT)
        return refuse(error, index, "path", "%u is no path", (unsigned)step->path);
    if (step->warp >= FTH_MAX_WARPS)
        return refuse(error, index, "warp", "%u is past the %d warps of a block", step->warp,
                      FTH_MAX_WARPS);
    if (step->passes == 0)
        return refuse(error, index, "passes", "a step has at least one pass");
    if (step->kind == FTH_STEP_TOUCH && step->path != FTH_PATH_CG)
        return refuse(error, index, "path", "memory is touched past L1, through cg");
    if (is_empty(step) && (step->path != FTH_PATH_CG || step->passes != 1))
        return refuse(error, index, step->path != FTH_PATH_CG ? "path" : "passes",
                      "the clock and the sink are timed through cg, in one pass");
    return check_chain(step, index, error);
}

static bool overlap(const struct fth_chain *a, const struct fth_chain *b)
{
    return a->start_bytes < b->start_bytes + b->stride_bytes * b->count &&
           b->start_bytes < a->start_bytes + a->stride_bytes * a->count;
}

/* Two chains in one array must agree about what each of its words holds. */
static enum fth_status check_pair(const struct fth_step *first, const struct fth_step *second,
                                  size_t index, struct fth_error *error)
{
    const struct fth_chain *a = &first->chain, *b = &second->chain;
    enum memory memory_a = memory_of(first->path), memory_b = memory_of(second->path);
    if (a->array != b->array)
        return FTH_OK;
    if (memory_a != memory_b)
        return refuse(error, index, "chain.array", "%u is in %s and in %s", b->array,
                      memories[memory_a].name, memories[memory_b].name);
    if (first->kind == FTH_STEP_TOUCH || second->kind == FTH_STEP_TOUCH)
        return FTH_OK; /* needs no pointers */
    if (a->stride_bytes != b->stride_bytes)
        return refuse(error, index, "chain.stride_bytes",
                      "array %u has a chain with a stride of %" PRIu64 " already", b->array,
                      a->stride_bytes);
    if (fth_chain_step(a) != fth_chain_step(b))
        return refuse(error, index, "chain.step",
                      "array %u has a chain with a step of %" PRIu64 " already", b->array,
                      fth_chain_step(a));
    if (!overlap(a, b))
        return FTH_OK;
    /* Where the last hops of a chain lead depends on its count, unless it is in memory order. */
    if (fth_chain_step(a) != 1 && (a->start_bytes != b->start_bytes || a->count != b->count))
        return refuse(error, index, "chain.step",
                      "two chains out of memory order overlap in array %u", b->array);
    /* From an element of one to the next element of the other; both ways make a stride. */
    uint64_t stride = a->stride_bytes, from_a = b->start_bytes % stride;
    from_a = (from_a + stride - a->start_bytes % stride) % stride;
    if (from_a && (from_a < element_bytes(first) || stride - from_a < element_bytes(second)))
        return refuse(error, index, "chain.start_bytes",
                      "elements of two chains overlap in array %u", b->array);
    return FTH_OK;
}

const struct fth_family_ops *fth_family_of(enum fth_family family)
{
    switch (family) {
    case FTH_FAMILY_FETCH: return &fth_family_fetch;
    case FTH_FAMILY_STREAM: return &fth_family_stream;
    case FTH_FAMILY_CLUSTER: return &fth_family_cluster;
    case FTH_FAMILY_OPERATE: return &fth_family_operate;
    case FTH_FAMILY_SWEEP: return &fth_family_sweep;
    case FTH_FAMILY_TRANSFER: return &fth_family_transfer;
    default: return NULL;
    }
}

enum fth_status fth_request_check(const struct fth_request *request, struct fth_error *error)
{
    if ((unsigned)request->family >= FTH_FAMILY_COUNT)
        return fth_fail(error, FTH_INVALID, operation, "family", "%d is none", request->family);
    if (fth_family_of(request->family))
        return fth_family_of(request->family)->check(request, error);
    if (request->step_count == 0 || request->step_count > FTH_MAX_STEPS)
        return fth_fail(error, FTH_INVALID, operation, "step_count", "%zu is not within 1 to %d",
                        request->step_count, FTH_MAX_STEPS);
    bool timed = false;
    for (size_t i = 0; i < request->step_count; i++) {
        const struct fth_step *step = &request->steps[i];
        enum fth_status status = check_step(step, i, error);
        for (size_t j = 0; status == FTH_OK && j < i; j++)
            status = check_pair(&request->steps[j], step, i, error);
        if (status != FTH_OK)
            return status;
        timed = timed || is_timed(step);
        if (step->kind == FTH_STEP_TOUCH && !fth_request_walk(request, step->chain.array))
            return refuse(error, i, "chain.array", "%u is touched and not walked",
                          step->chain.array);
    }
    if (!timed)
        return fth_fail(error, FTH_INVALID, operation, "steps", "none of them is timed");
    uint64_t samples = fth_request_samples(request);
    if (samples > MAX_SAMPLES)
        return fth_fail(error, FTH_INVALID, operation, "steps",
                        "%" PRIu64 " samples are more than %" PRIu64, samples, MAX_SAMPLES);
    return fth_check_carveout(request, error);
}

/* UINT64_MAX where it does not fit. */
static uint64_t step_samples(const struct fth_step *step)
{
    if (step->kind == FTH_STEP_TIME_PASS)
        return step->passes;
    if (step->kind != FTH_STEP_TIME_HOPS && !is_empty(step))
        return 0;
    uint64_t count = step->chain.count;
    return count && step->passes > UINT64_MAX / count ? UINT64_MAX : step->passes * count;
}

uint64_t fth_request_samples(const struct fth_request *request)
{
    if (fth_family_of(request->family))
        return fth_family_of(request->family)->samples(request);
    uint64_t samples = 0;
    for (size_t i = 0; i < request->step_count; i++) {
        uint64_t more = step_samples(&request->steps[i]);
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
    if (step->warp)
        fth_buffer_format(text, " warp %u", step->warp);
    if (step->reverse)
        fth_buffer_text(text, " reverse");
    if (step->passes != 1)
        fth_buffer_format(text, " passes %" PRIu64, step->passes);
}

void fth_request_write(const struct fth_request *request, struct fth_buffer *text)
{
    if (fth_family_of(request->family)) {
        fth_family_of(request->family)->write(request, text);
        return;
    }
    for (size_t i = 0; i < request->step_count; i++) {
        if (i > 0)
            fth_buffer_text(text, "; ");
        write_step(&request->steps[i], text);
    }
    if (request->sm != FTH_ANY_SM)
        fth_buffer_format(text, "; sm %" PRIu32, request->sm);
    if (request->carveout_percent != -1)
        fth_buffer_format(text, "; carveout %d", request->carveout_percent);
    if (request->cold)
        fth_buffer_text(text, "; cold");
    else if (request->alone)
        fth_buffer_text(text, "; alone");
}

/* ---- samples ---- */

void fth_samples_fini(struct fth_samples *samples)
{
    free(samples->cycles);
    samples->cycles = NULL;
    samples->count = 0;
}
