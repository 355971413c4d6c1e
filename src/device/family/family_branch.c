/* The branch family: executes a few instructions at each of several places that are a given
 * distance apart, to find the ways of instruction caches. The canonical text is
 * "branch STRIDExCOUNT [passes PASSES]", with the stride in instructions, for example
 *
 *   branch 256x33 passes 6; sm 5 */
#include "device/family/family.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PASSES (UINT64_C(1) << 24) /* a generous bound */
/* Launches before the requested SM counts as unreachable, as for chases. */
enum { MAX_LAUNCHES = 8 };

static const char operation[] = "check request", running[] = "run experiments";

/* Returns the binary logarithm of a stride in blocks; FTH_BRANCH_DISTANCES: there is no such
 * stride. */
static uint32_t find_distance(uint64_t stride)
{
    uint32_t i = 0;
    while (i < FTH_BRANCH_DISTANCES && stride != (uint64_t)FTH_FETCH_BLOCK << i)
        i++;
    return i;
}

static enum fth_status check(const struct fth_request *request, struct fth_error *error)
{
    const struct fth_branch *branch = &request->branch;
    const uint32_t distance = find_distance(branch->stride);
    if (distance == FTH_BRANCH_DISTANCES)
        return fth_fail(error, FTH_INVALID, operation, "branch.stride",
                        "%" PRIu64 " is not %d times a power of two below %d", branch->stride,
                        FTH_FETCH_BLOCK, 1 << FTH_BRANCH_DISTANCES);
    const uint64_t max_count = (uint64_t)FTH_BRANCH_BLOCKS >> distance;
    if (branch->count == 0 || branch->count > max_count)
        return fth_fail(error, FTH_INVALID, operation, "branch.count",
                        "%" PRIu64 " is not in the range 1 to %" PRIu64, branch->count, max_count);
    if (branch->passes == 0 || branch->passes > MAX_PASSES)
        return fth_fail(error, FTH_INVALID, operation, "branch.passes",
                        "%" PRIu64 " is not in the range 1 to %" PRIu64, branch->passes,
                        MAX_PASSES);
    if (request->cold)
        return fth_fail(error, FTH_INVALID, operation, "cold",
                        "code cannot be evicted from the L2");
    return fth_check_carveout(request, error);
}

static void write_text(const struct fth_request *request, struct fth_buffer *text)
{
    const struct fth_branch *branch = &request->branch;
    fth_buffer_format(text, "branch %" PRIu64 "x%" PRIu64, branch->stride, branch->count);
    if (branch->passes != 1)
        fth_buffer_format(text, " passes %" PRIu64, branch->passes);
    fth_request_write_options(request, text);
}

static bool read_text(struct fth_scanner *scanner, struct fth_request *request)
{
    struct fth_branch *branch = &request->branch;
    branch->passes = 1;
    return fth_scan_number(scanner, UINT64_MAX, &branch->stride) && fth_scan(scanner, "x") &&
           fth_scan_number(scanner, UINT64_MAX, &branch->count) &&
           fth_scan_option(scanner, " passes ", &branch->passes);
}

static uint64_t count_samples(const struct fth_request *request)
{
    return request->branch.passes;
}

static enum fth_status lower(const struct fth_runner *runner, struct fth_lowered *lowered,
                             struct fth_error *error)
{
    const struct fth_request *request = lowered->request;
    if (request->sm != FTH_ANY_SM && request->sm >= runner->sm_count)
        return fth_fail(error, FTH_UNAVAILABLE, running, NULL, "the GPU has no SM with this index");
    lowered->blocks = request->sm == FTH_ANY_SM ? 1 : runner->facts.sms;
    lowered->threads = 1;
    lowered->time_limit_s = FTH_MIN_TIME_LIMIT_S + (double)request->branch.count *
                                                       (double)request->branch.passes *
                                                       FTH_MAX_HOP_S;
    return FTH_OK;
}

/* The hardware decides where blocks run: launches until a block has run on the requested SM.
 * `image` is a host buffer for the request and its samples, which are copied together. */
static enum fth_status launch(struct fth_runner *runner, struct fth_machine_module *module,
                              const struct fth_lowered *lowered,
                              const struct fth_branch_request *request, uint64_t memory,
                              void *image, uint64_t bytes, struct fth_error *error)
{
    const struct fth_machine_ops *ops = runner->ops;
    struct fth_machine_launch launch = fth_lowered_launch(lowered);
    launch.module = module;
    launch.kernel = "branch";
    launch.arguments = &memory;
    launch.argument_bytes = sizeof memory;
    for (int round = 0; round < MAX_LAUNCHES; round++) {
        memset(image, 0, bytes);
        memcpy(image, request, sizeof *request);
        FTH_TRY(ops->upload(runner->machine, memory, image, bytes, error));
        FTH_TRY(ops->launch(runner->machine, &launch, error));
        FTH_TRY(ops->wait(runner->machine, lowered->time_limit_s, error));
        FTH_TRY(ops->download(runner->machine, image, memory, bytes, error));
        if (((const struct fth_branch_request *)image)->served)
            return FTH_OK;
    }
    return fth_fail(error, FTH_UNAVAILABLE, running, NULL,
                    "the GPU placed no block on the requested SM");
}

static enum fth_status run(struct fth_runner *runner, struct fth_family_slot *slot,
                           const struct fth_lowered *lowered, uint32_t *cycles,
                           struct fth_error *error)
{
    const struct fth_request *request = lowered->request;
    const uint64_t sample_bytes = lowered->sample_count * sizeof *cycles;
    const uint64_t bytes = sizeof(struct fth_branch_request) + sample_bytes;
    struct fth_pool *pool = slot->state;
    FTH_TRY(fth_pool_grow(runner, pool, bytes, error));
    const struct fth_branch_request kernel = {
        .count = (uint32_t)request->branch.count,
        .passes = (uint32_t)request->branch.passes,
        .distance = find_distance(request->branch.stride),
        .sm = request->sm == FTH_ANY_SM ? UINT32_MAX : runner->sms[request->sm],
        .factor = 1,
        .samples = pool->address + sizeof kernel,
    };
    unsigned char *image = malloc(bytes);
    if (!image)
        return fth_no_memory(error, running, NULL);
    enum fth_status status =
        launch(runner, slot->module, lowered, &kernel, pool->address, image, bytes, error);
    if (status == FTH_OK)
        memcpy(cycles, image + sizeof kernel, sample_bytes);
    free(image);
    return status;
}

/* The state is the memory for the request and its samples. */
static enum fth_status open_branch(struct fth_runner *runner, void **state, struct fth_error *error)
{
    (void)runner;
    *state = calloc(1, sizeof(struct fth_pool));
    return *state ? FTH_OK : fth_no_memory(error, running, NULL);
}

static void release_branch(struct fth_runner *runner, void *state)
{
    fth_pool_release(runner, state);
    free(state);
}

const struct fth_family_ops fth_family_branch = {.word = "branch",
                                                 .check = check,
                                                 .write = write_text,
                                                 .read = read_text,
                                                 .samples = count_samples,
                                                 .lower = lower,
                                                 .disturbs = FTH_DISTURBS_L2,
                                                 .make_ptx = fth_kernels_branch,
                                                 .open = open_branch,
                                                 .release = release_branch,
                                                 .run = run};
