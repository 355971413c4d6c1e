/* Lowers a chase: what its execution needs, computed once from its steps. */
#include "device/chase/chase.h"

/* The end of a chain: its distance from the start of the array in bytes. */
static uint64_t end_of(const struct fth_chain *chain)
{
    return chain->start_bytes + chain->count * chain->stride_bytes;
}

/* The distance of the first load from the start of the array. A reverse walk begins at the back
 * link of the last element, which is its second word (for textures, its second texel). Words have 8
 * bytes, texels 4. */
static uint64_t first_load(const struct fth_step *step, enum fth_memory memory)
{
    const struct fth_chain *chain = &step->chain;
    const uint64_t bytes =
        chain->start_bytes + (step->reverse ? (chain->count - 1) * chain->stride_bytes : 0);
    if (memory == FTH_MEMORY_TEXTURE)
        return bytes / 4 + (step->reverse ? 1 : 0);
    return bytes + (step->reverse ? 8 : 0);
}

static struct fth_lowered_step lower_step(const struct fth_chase *chase,
                                          const struct fth_step *step)
{
    /* A touch reads the array of a chain that another step walks, and beyond it. */
    const struct fth_chain *array_chain = step->kind == FTH_STEP_TOUCH
                                              ? &fth_chase_walk(chase, step->chain.array)->chain
                                              : &step->chain;
    const uint64_t own = end_of(&step->chain), other = end_of(array_chain);
    const enum fth_memory memory = fth_chase_memory(step->path);
    return (struct fth_lowered_step){.step = step,
                                     .memory = memory,
                                     .array_chain = array_chain,
                                     .array_bytes = own > other ? own : other,
                                     .first = first_load(step, memory)};
}

enum fth_status fth_chase_lower(const struct fth_runner *runner, struct fth_lowered *lowered,
                                struct fth_error *error)
{
    const struct fth_request *request = lowered->request;
    const struct fth_machine_facts *facts = &runner->facts;
    struct fth_lowered_chase *plan = &lowered->chase;
    /* The hardware reserves some shared memory (1 KiB since Ampere) for every block that an SM
     * could hold, which reduces the L1: with blocks of one warp, by 32 KiB on an H200. Where the
     * carve-out matters, blocks therefore have the maximum size. The warps that have no work exit
     * at once. */
    unsigned warps = request->carveout_percent >= 0 ? FTH_MAX_WARPS : 1;
    uint64_t sample = 0;
    plan->step_count = request->chase.step_count;
    plan->header_step = FTH_MAX_STEPS;
    plan->alone = request->alone || request->cold;
    for (size_t i = 0; i < plan->step_count; i++) {
        const struct fth_step *step = &request->chase.steps[i];
        struct fth_lowered_step *out = &plan->steps[i];
        const bool touch = step->kind == FTH_STEP_TOUCH;
        *out = lower_step(&request->chase, step);
        out->first_sample = sample;
        sample += fth_chase_step_samples(step);
        plan->hops += (double)step->passes * (double)step->chain.count;
        plan->has_constants = plan->has_constants || out->memory == FTH_MEMORY_CONSTANT;
        const unsigned needed = touch ? FTH_MAX_WARPS : step->warp + 1;
        warps = needed > warps ? needed : warps;
        if (out->memory == FTH_MEMORY_SHARED && end_of(&step->chain) > lowered->shared_bytes)
            lowered->shared_bytes = end_of(&step->chain);
        if (plan->header_step == FTH_MAX_STEPS && step->path == FTH_PATH_CG && !touch &&
            step->chain.array >= FTH_FIRST_HEADER_ARRAY)
            plan->header_step = i;
    }
    lowered->blocks = facts->sms;
    lowered->threads = warps * 32;
    if (request->sm != FTH_ANY_SM && request->sm >= runner->sm_count)
        return fth_fail(error, FTH_NOT_FOUND, "run experiments", NULL,
                        "the GPU has no SM with this index");
    if (facts->block_shared_bytes && lowered->shared_bytes > facts->block_shared_bytes)
        return fth_fail(error, FTH_UNSUPPORTED, "run experiments", NULL,
                        "the request needs more shared memory than a block can have");
    return FTH_OK;
}
