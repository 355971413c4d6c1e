/* Executes chases in groups, with one request per SM. The hardware decides where blocks run, so a
 * launch can leave an SM without a block; requests that were not executed are launched again. */
#include "device/chase/chase.h"

#include <stdlib.h>
#include <string.h>

/* Launches of a request before its SM counts as unreachable. Chosen, not derived: on most GPUs one
 * launch reaches every SM. */
enum { MAX_LAUNCHES = 8 };
/* Bytes of the two tables that are indexed by %smid. */
enum { TABLE_BYTES = FTH_MAX_SMS * 4 };
/* Offset of the control data in the header of an array: a multiple of this many bytes. */
enum { CONTROL_ALIGNMENT = 256 };
/* Maximum bytes of samples that are cleared by copying zeros; more are filled on the GPU. Chosen,
 * not derived: the driver copies less than 64 KiB without waiting. */
enum { MAX_COPIED_SAMPLES = 16 * 1024 };
/* Chains are kept from launch to launch and from batch to batch. After a launch, all are freed if
 * they occupy more than 1 / kept_memory_divisor of the GPU's memory. Chosen, not derived: it leaves
 * enough memory for the other families. */
static const uint64_t kept_memory_divisor = 4;

static const char operation[] = "run experiments";

/* ---- state ---- */

static enum fth_status open_chase(struct fth_runner *runner, void **state, struct fth_error *error)
{
    struct fth_chase_state *made = calloc(1, sizeof *made);
    if (!made)
        return fth_no_memory(error, operation, NULL);
    made->layout = (struct fth_layout){.runner = runner};
    *state = made;
    return FTH_OK;
}

static void release_chase(struct fth_runner *runner, void *state)
{
    struct fth_chase_state *chase = state;
    fth_layout_fini(&chase->layout);
    if (chase->control)
        runner->ops->free(runner->machine, chase->control);
    free(chase);
}

/* Ensures that the control memory has at least `bytes`. */
static enum fth_status reserve_control(struct fth_runner *runner, struct fth_chase_state *state,
                                       uint64_t bytes, struct fth_error *error)
{
    if (bytes <= state->control_bytes)
        return FTH_OK;
    if (state->control)
        runner->ops->free(runner->machine, state->control);
    state->control = state->control_bytes = 0;
    FTH_TRY(runner->ops->alloc(runner->machine, bytes, &state->control, error));
    state->control_bytes = bytes;
    return FTH_OK;
}

/* ---- running one group ---- */

/* GPU addresses of the data of a launch, in this order:
 *
 * - Two tables that are indexed by %smid. The first one holds 0 for an SM without a request,
 *   otherwise the index of its request plus 1. In the second one, a block marks its SM as claimed,
 *   so that a second block on this SM exits.
 * - The requests. These first three addresses are the arguments of the kernel.
 * - One mark per request (fth_chase_request.served), which a block sets after it has executed the
 *   request.
 * - The samples of all requests. */
struct control {
    uint64_t assigned, claimed, requests, marks, samples;
};

/* Finds the place for `bytes` of control data. For a request that runs alone, it is in the header
 * of an array if there is one: FTH_HEADER_BYTES of free memory directly in front of it. Control
 * data in the header occupies no further page while a probe measures TLBs (device.h). Otherwise it
 * is in the control memory. */
static enum fth_status place_control(struct fth_runner *runner, struct fth_chase_state *state,
                                     const struct fth_chase_group *group, uint64_t bytes,
                                     uint64_t *address, struct fth_error *error)
{
    const struct fth_chase_member *first = &group->members[0];
    const size_t step = first->chase->header_step;
    if (first->chase->alone && step < FTH_MAX_STEPS && bytes <= FTH_HEADER_BYTES) {
        *address = fth_layout_header(&state->layout, first->regions[step]) +
                   (FTH_HEADER_BYTES - bytes) / CONTROL_ALIGNMENT * CONTROL_ALIGNMENT;
        return FTH_OK;
    }
    FTH_TRY(reserve_control(runner, state, bytes, error));
    *address = state->control;
    return FTH_OK;
}

/* The data of a launch that the host writes: everything in front of the samples, and the samples
 * too if they are few. One copy is then enough, which takes less time than copying and filling. */
struct image {
    unsigned char *bytes;
    uint64_t size;
};

/* The part of an image that begins at a GPU address. */
static void *image_at(const struct image *image, const struct control *control, uint64_t address)
{
    return image->bytes + (address - control->assigned);
}

/* Creates the image of a group: the requests, and zeros everywhere else. The caller frees
 * image->bytes. */
static enum fth_status make_image(struct fth_runner *runner, struct fth_chase_state *state,
                                  const struct fth_chase_group *group,
                                  const struct control *control, struct image *image,
                                  struct fth_error *error)
{
    const uint64_t sample_bytes = 4 * group->sample_count;
    image->size = control->samples - control->assigned;
    image->size += sample_bytes <= MAX_COPIED_SAMPLES ? sample_bytes : 0;
    image->bytes = calloc(1, image->size);
    if (!image->bytes)
        return fth_no_memory(error, operation, NULL);
    struct fth_chase_request *requests = image_at(image, control, control->requests);
    uint64_t samples = control->samples;
    for (size_t i = 0; i < group->count; i++) {
        const struct fth_chase_member *member = &group->members[i];
        FTH_TRY(fth_chase_encode(runner, &state->layout, member, samples, &requests[i], error));
        requests[i].served = control->marks + i * 4;
        samples += 4 * member->job->lowered.sample_count;
    }
    return FTH_OK;
}

/* Uploads the image with the table of the requests that have not been served yet, launches them and
 * waits. If `again`, only the tables are uploaded: marks and samples of earlier launches stay. */
static enum fth_status launch_once(struct fth_runner *runner, const struct fth_chase_group *group,
                                   const struct control *control, const struct image *image,
                                   bool again, struct fth_error *error)
{
    uint32_t *assigned = image_at(image, control, control->assigned);
    for (size_t i = 0; i < group->count; i++)
        assigned[group->members[i].sm] = group->members[i].served ? 0 : (uint32_t)i + 1;
    FTH_TRY(runner->ops->upload(runner->machine, control->assigned, image->bytes,
                                again ? control->requests - control->assigned : image->size,
                                error));
    if (group->request->cold)
        FTH_TRY(fth_runner_flush(runner, error));
    const uint64_t arguments[] = {control->assigned, control->claimed, control->requests};
    const struct fth_machine_launch launch = {.module = runner->module,
                                              .kernel = "chase",
                                              .blocks = group->members[0].job->lowered.blocks,
                                              .threads = group->threads,
                                              .shared_bytes = group->shared_bytes,
                                              .carveout_percent = group->request->carveout_percent,
                                              .arguments = arguments,
                                              .argument_bytes = sizeof arguments};
    FTH_TRY(runner->ops->launch(runner->machine, &launch, error));
    return runner->ops->wait(runner->machine, FTH_MIN_TIME_LIMIT_S + group->hops * FTH_MAX_HOP_S,
                             error);
}

/* Launches the group until every request has been executed, at most MAX_LAUNCHES times. `results`
 * receives the marks and the samples, with one download per launch, because each transfer has a
 * fixed cost. */
static enum fth_status launch_group(struct fth_runner *runner, struct fth_chase_group *group,
                                    const struct control *control, const struct image *image,
                                    uint32_t *results, struct fth_error *error)
{
    const uint64_t bytes = control->samples - control->marks + 4 * group->sample_count;
    if (image->size <= control->samples - control->assigned)
        FTH_TRY(runner->ops->fill(runner->machine, control->samples, 0, 4 * group->sample_count,
                                  error));
    size_t left = group->count;
    for (int round = 0; round < MAX_LAUNCHES && left > 0; round++) {
        FTH_TRY(launch_once(runner, group, control, image, round > 0, error));
        FTH_TRY(runner->ops->download(runner->machine, results, control->marks, bytes, error));
        for (size_t i = 0; i < group->count; i++)
            if (!group->members[i].served && results[i]) {
                group->members[i].served = true;
                left--;
            }
    }
    return FTH_OK;
}

/* Stores the answer of a member. */
static enum fth_status answer(const struct fth_chase_member *member, const uint32_t *cycles,
                              struct fth_error *error)
{
    struct fth_samples *samples = member->job->samples;
    const size_t count = (size_t)member->job->lowered.sample_count;
    if (!member->served) {
        fth_job_fail(member->job, FTH_UNAVAILABLE,
                     "the GPU placed no block on the SM of the request");
        return FTH_OK;
    }
    samples->cycles = calloc(count, sizeof *samples->cycles);
    if (!samples->cycles)
        return fth_no_memory(error, operation, NULL);
    memcpy(samples->cycles, cycles, count * sizeof *cycles);
    samples->count = count;
    samples->sm = member->sm;
    samples->status = FTH_OK;
    samples->cause[0] = '\0';
    return FTH_OK;
}

static enum fth_status run_group(struct fth_runner *runner, struct fth_chase_state *state,
                                 struct fth_chase_group *group, struct fth_error *error)
{
    const uint64_t request_bytes = group->count * sizeof(struct fth_chase_request);
    const uint64_t mark_bytes = (group->count * 4 + 7) / 8 * 8;
    const uint64_t before_samples = UINT64_C(2) * TABLE_BYTES + request_bytes + mark_bytes;
    uint64_t at;
    FTH_TRY(
        place_control(runner, state, group, before_samples + group->sample_count * 4, &at, error));
    const struct control control = {.assigned = at,
                                    .claimed = at + TABLE_BYTES,
                                    .requests = at + UINT64_C(2) * TABLE_BYTES,
                                    .marks = at + UINT64_C(2) * TABLE_BYTES + request_bytes,
                                    .samples = at + before_samples};
    struct image image = {.bytes = NULL};
    uint32_t *results = calloc(1, mark_bytes + 4 * group->sample_count);
    enum fth_status status = results ? FTH_OK : fth_no_memory(error, operation, NULL);
    if (status == FTH_OK)
        status = make_image(runner, state, group, &control, &image, error);
    if (status == FTH_OK && group->has_constants)
        status = fth_chase_upload_constants(runner, group, error);
    if (status == FTH_OK)
        status = launch_group(runner, group, &control, &image, results, error);
    const uint32_t *next = results ? results + mark_bytes / 4 : NULL;
    for (size_t i = 0; i < group->count && status == FTH_OK; i++) {
        status = answer(&group->members[i], next, error);
        next += group->members[i].job->lowered.sample_count;
    }
    free(image.bytes);
    free(results);
    return status;
}

/* ---- forming groups ---- */

static bool needs_region(const struct fth_lowered_step *step)
{
    return step->memory == FTH_MEMORY_GLOBAL || step->memory == FTH_MEMORY_TEXTURE;
}

/* Finds or adds the regions of all chains of a request, without memory for them. */
static enum fth_status find_regions(struct fth_chase_state *state,
                                    const struct fth_lowered_chase *chase, size_t *regions,
                                    struct fth_error *error)
{
    for (size_t i = 0; i < chase->step_count; i++)
        if (needs_region(&chase->steps[i]))
            FTH_TRY(fth_layout_find(&state->layout, chase->steps[i].memory == FTH_MEMORY_TEXTURE,
                                    chase->steps[i].array_chain, &regions[i], error));
    return FTH_OK;
}

/* Allocates memory for all chains of a request. FTH_UNAVAILABLE: the GPU has not enough. */
static enum fth_status reserve(struct fth_chase_state *state, const struct fth_lowered_chase *chase,
                               const size_t *regions, struct fth_error *error)
{
    for (size_t i = 0; i < chase->step_count; i++)
        if (needs_region(&chase->steps[i]))
            FTH_TRY(fth_layout_reserve(&state->layout, regions[i],
                                       chase->steps[i].array_chain->start_bytes,
                                       chase->steps[i].array_bytes, error));
    return FTH_OK;
}

/* Adds a job to an empty group. If there is not enough memory for its chains, frees those of
 * earlier groups and the memory of fth_runner_flush. If there is still not enough, the job is done:
 * its samples hold the failure. */
static enum fth_status add_first(struct fth_runner *runner, struct fth_chase_state *state,
                                 struct fth_chase_group *group, struct fth_job *job,
                                 struct fth_error *error)
{
    const struct fth_lowered_chase *chase = &job->lowered.chase;
    struct fth_error fault = FTH_NO_ERROR;
    size_t *regions = group->members[0].regions;
    FTH_TRY(find_regions(state, chase, regions, error));
    enum fth_status status = reserve(state, chase, regions, &fault);
    if (status == FTH_UNAVAILABLE) {
        fth_layout_clear(&state->layout);
        fth_runner_free_flush(runner);
        fault = FTH_NO_ERROR;
        FTH_TRY(find_regions(state, chase, regions, error));
        status = reserve(state, chase, regions, &fault);
    }
    if (status == FTH_UNAVAILABLE)
        fth_job_fail(job, FTH_UNAVAILABLE, fault.cause);
    else if (status != FTH_OK)
        return fth_error_move(error, &fault);
    else
        fth_chase_join(runner, group, job);
    return FTH_OK;
}

/* Adds a job to a group. If there is not enough memory for its chains next to those of the group,
 * it waits for a later group. */
static enum fth_status add_further(struct fth_runner *runner, struct fth_chase_state *state,
                                   struct fth_chase_group *group, struct fth_job *job,
                                   struct fth_error *error)
{
    const struct fth_lowered_chase *chase = &job->lowered.chase;
    struct fth_error fault = FTH_NO_ERROR;
    size_t *regions = group->members[group->count].regions;
    FTH_TRY(find_regions(state, chase, regions, error));
    if (reserve(state, chase, regions, &fault) == FTH_OK) {
        fth_chase_join(runner, group, job);
        return FTH_OK;
    }
    if (fault.status != FTH_UNAVAILABLE)
        return fth_error_move(error, &fault);
    /* The attempt may have released an array of a member, in order to enlarge it. */
    for (size_t i = 0; i < group->count; i++)
        FTH_TRY(reserve(state, group->members[i].chase, group->members[i].regions, error));
    return FTH_OK;
}

/* The bytes of all regions, that is, of the arrays that hold chains. Huge regions (1 GiB and more)
 * are not counted. They share one allocation. If it were counted, the limit would often be
 * exceeded, and freeing and allocating it again takes long. When the other regions exceed the
 * limit, fth_layout_clear() frees this allocation, too. */
static uint64_t layout_bytes(const struct fth_layout *layout)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < layout->count; i++)
        if (!layout->regions[i].huge)
            sum += layout->regions[i].bytes;
    return sum;
}

static enum fth_status run_together(struct fth_runner *runner, struct fth_family_slot *slot,
                                    struct fth_job *jobs, size_t count, struct fth_error *error)
{
    struct fth_chase_state *state = slot->state;
    struct fth_chase_group group = {.members = calloc(runner->sm_count, sizeof *group.members)};
    if (!group.members)
        return fth_no_memory(error, operation, NULL);
    enum fth_status status = FTH_OK;
    for (size_t i = 0; i < count && status == FTH_OK; i++)
        if (!jobs[i].done && jobs[i].lowered.request->family == jobs[0].lowered.request->family &&
            fth_chase_can_join(runner, &group, &jobs[i].lowered))
            status = group.count ? add_further(runner, state, &group, &jobs[i], error)
                                 : add_first(runner, state, &group, &jobs[i], error);
    if (status == FTH_OK && group.count) {
        fth_chase_assign_sms(runner, state, &group);
        status = run_group(runner, state, &group, error);
    }
    free(group.members);
    if (runner->facts.memory_bytes &&
        layout_bytes(&state->layout) > runner->facts.memory_bytes / kept_memory_divisor)
        fth_layout_clear(&state->layout);
    return status;
}

const struct fth_family_ops fth_family_chase = {.check = fth_chase_check,
                                                .write = fth_chase_write,
                                                .read = fth_chase_read,
                                                .samples = fth_chase_samples,
                                                .lower = fth_chase_lower,
                                                .disturbs = FTH_DISTURBS_L2,
                                                .open = open_chase,
                                                .release = release_chase,
                                                .run_together = run_together};
