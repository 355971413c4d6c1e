/* Chases in the form that the kernel `chase` reads (experiments.ptx), and the contents of the
 * constant bank. */
#include "device/chase/chase.h"

#include <stdlib.h>

/* Writes the same links as the kernel `build` in experiments.ptx. The first word of an element is
 * the address of the next element. The second word is the back link, for walks in reverse: the
 * address of the back link of the previous element. Elements less than 16 bytes apart have none. A
 * chain with step 1 is not closed: its last element points to where the next one would be, and its
 * first back link to where the previous one would be. A walk counts its hops and does not follow
 * these two. */
void fth_chase_build_constants(const struct fth_chain *chain, uint64_t origin, uint64_t *bank)
{
    const uint64_t count = chain->count, chain_step = fth_chain_step(chain) % count;
    const uint64_t stride = chain->stride_bytes, start = origin + chain->start_bytes;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t here = i, next = i + 1, before = i - 1;
        if (fth_chain_step(chain) != 1) {
            here = i * chain_step % count;
            next = (i + 1) * chain_step % count;
            before = (i + count - 1) * chain_step % count;
        }
        uint64_t *at = bank + (chain->start_bytes + here * stride) / 8;
        at[0] = start + next * stride;
        if (stride >= 16)
            at[1] = start + before * stride + 8;
    }
}

enum fth_status fth_chase_upload_constants(struct fth_runner *runner,
                                           const struct fth_chase_group *group,
                                           struct fth_error *error)
{
    uint64_t *bank = calloc(FTH_BANK_BYTES / 8, 8);
    if (!bank)
        return fth_no_memory(error, "run experiments", NULL);
    for (size_t i = 0; i < group->count; i++) {
        const struct fth_lowered_chase *chase = group->members[i].chase;
        for (size_t j = 0; j < chase->step_count; j++)
            if (chase->steps[j].memory == FTH_MEMORY_CONSTANT)
                fth_chase_build_constants(&chase->steps[j].step->chain, runner->bank_origin, bank);
    }
    enum fth_status status =
        runner->ops->upload(runner->machine, runner->bank, bank, FTH_BANK_BYTES, error);
    free(bank);
    return status;
}

/* The address of the array of a step. Loads from a texture and from shared memory count from the
 * start of the array instead. */
static uint64_t array_address(const struct fth_runner *runner, const struct fth_layout *layout,
                              const struct fth_lowered_step *step, size_t region)
{
    switch (step->memory) {
    case FTH_MEMORY_GLOBAL: return layout->regions[region].address;
    case FTH_MEMORY_CONSTANT: return runner->bank_origin;
    default: return 0;
    }
}

/* Converts a step, and queues the launch that builds its chain if necessary. */
static enum fth_status encode_step(const struct fth_runner *runner, struct fth_layout *layout,
                                   const struct fth_lowered_step *lowered, size_t region,
                                   struct fth_chase_step *out, struct fth_error *error)
{
    static const uint32_t kinds[] = {
        [FTH_STEP_WALK] = FTH_CHASE_WALK,        [FTH_STEP_TIME_PASS] = FTH_CHASE_PASSES,
        [FTH_STEP_TIME_HOPS] = FTH_CHASE_HOPS,   [FTH_STEP_TOUCH] = FTH_CHASE_TOUCH,
        [FTH_STEP_TIME_CLOCK] = FTH_CHASE_CLOCK, [FTH_STEP_TIME_SINK] = FTH_CHASE_SINK,
        [FTH_STEP_WRITE] = FTH_CHASE_WRITE};
    const struct fth_step *step = lowered->step;
    const bool touch = step->kind == FTH_STEP_TOUCH;
    const bool needs_stride = touch || step->kind == FTH_STEP_WRITE;
    const bool texture = lowered->memory == FTH_MEMORY_TEXTURE;
    if (!touch && (texture || lowered->memory == FTH_MEMORY_GLOBAL))
        FTH_TRY(fth_layout_build(layout, region, &step->chain, step->reverse, error));
    *out = (struct fth_chase_step){.kind = kinds[step->kind],
                                   .path = (uint32_t)step->path,
                                   .warp = step->warp,
                                   .passes = step->passes,
                                   .first = lowered->first +
                                            array_address(runner, layout, lowered, region),
                                   .count = step->chain.count,
                                   .texture_or_stride = needs_stride ? step->chain.stride_bytes
                                                        : texture ? layout->regions[region].texture
                                                                  : 0};
    return FTH_OK;
}

/* The kernel itself builds chains in shared memory, in additional steps at the start. It requires a
 * chain's step to be less than its count, hence the modulo. */
enum fth_status fth_chase_encode(struct fth_runner *runner, struct fth_layout *layout,
                                 const struct fth_chase_member *member, uint64_t samples,
                                 struct fth_chase_request *out, struct fth_error *error)
{
    const struct fth_lowered_chase *chase = member->chase;
    *out = (struct fth_chase_request){0};
    for (size_t i = 0; i < chase->step_count; i++) {
        const struct fth_step *step = chase->steps[i].step;
        if (chase->steps[i].memory == FTH_MEMORY_SHARED)
            out->step[out->steps++] =
                (struct fth_chase_step){.kind = FTH_CHASE_BUILD_SHARED,
                                        .warp = step->warp,
                                        .passes = 1,
                                        .first = step->chain.start_bytes,
                                        .count = step->chain.count,
                                        .texture_or_stride = step->chain.stride_bytes,
                                        .step = fth_chain_step(&step->chain) % step->chain.count};
    }
    for (size_t i = 0; i < chase->step_count; i++) {
        struct fth_chase_step *step = &out->step[out->steps++];
        FTH_TRY(encode_step(runner, layout, &chase->steps[i], member->regions[i], step, error));
        step->samples = samples + 4 * chase->steps[i].first_sample;
    }
    return FTH_OK;
}
