/* Straight-line code of a certain length, for instruction caches (the approach of Jia et al.,
 * "Dissecting the NVIDIA Volta GPU Architecture via Microbenchmarking", 2018). All lengths are
 * beginnings of one piece of code, which a compiler then sees only once.
 *
 *   fetch 4096 passes 4; time-hops constant 0:64x32; sm 5
 *
 * The part about constants, and what is not as usual of the whole request, are written as in a
 * chase, and held to the same rules. */
#include "device/family.h"

#include <inttypes.h>
#include <stdlib.h>

enum { BANK_BYTES = 65536 };
#define MAX_PASSES (UINT64_C(1) << 24)

static const char operation[] = "check request";

/* No instruction and no hop takes longer, with the clock at its lowest; a launch that takes longer
 * than all of them hangs. */
static const double slowest_instruction_s = 1e-6, slowest_hop_s = 10e-6, shortest_limit_s = 3;

/* What the request has of a chase: the walk over the constants that is timed, and where it runs.
 * Such a request is always alone. */
static struct fth_request chase_of(const struct fth_request *request)
{
    struct fth_request chase = {
        .sm = request->sm, .carveout_percent = request->carveout_percent, .cold = request->cold};
    if (request->fetch.constants.count)
        chase.steps[chase.step_count++] = (struct fth_step){.kind = FTH_STEP_TIME_HOPS,
                                                            .path = FTH_PATH_CONSTANT,
                                                            .chain = request->fetch.constants,
                                                            .passes = 1};
    return chase;
}

static enum fth_status check(const struct fth_request *request, struct fth_error *error)
{
    const struct fth_fetch *fetch = &request->fetch;
    if (fetch->instructions == 0 || fetch->instructions > FTH_MAX_FETCH ||
        fetch->instructions % FTH_FETCH_BLOCK)
        return fth_fail(error, FTH_INVALID, operation, "fetch.instructions",
                        "%" PRIu64 " is no multiple of %d within %d to %d", fetch->instructions,
                        FTH_FETCH_BLOCK, FTH_FETCH_BLOCK, FTH_MAX_FETCH);
    if (fetch->passes == 0 || fetch->passes > MAX_PASSES)
        return fth_fail(error, FTH_INVALID, operation, "fetch.passes",
                        "%" PRIu64 " is not within 1 to %" PRIu64, fetch->passes, MAX_PASSES);
    if (request->cold)
        return fth_fail(error, FTH_INVALID, operation, "cold", "code cannot be taken out of L2");
    struct fth_request chase = chase_of(request);
    if (chase.step_count == 0) /* for the rules that remain */
        chase.steps[chase.step_count++] =
            (struct fth_step){.kind = FTH_STEP_TIME_HOPS,
                              .path = FTH_PATH_CONSTANT,
                              .chain = {.stride_bytes = 8, .count = 1},
                              .passes = 1};
    return fth_request_check(&chase, error);
}

static void write(const struct fth_request *request, struct fth_buffer *text)
{
    const struct fth_request chase = chase_of(request);
    fth_buffer_format(text, "fetch %" PRIu64, request->fetch.instructions);
    if (request->fetch.passes != 1)
        fth_buffer_format(text, " passes %" PRIu64, request->fetch.passes);
    if (chase.step_count)
        fth_buffer_text(text, "; ");
    fth_request_write(&chase, text);
}

static uint64_t samples(const struct fth_request *request)
{
    return request->fetch.passes + request->fetch.constants.count;
}

static enum fth_status text(struct fth_buffer *ptx, struct fth_error *error)
{
    return fth_kernels_fetch(FTH_MAX_FETCH, ptx, error);
}

/* ---- running ---- */

/* One run: the request as the kernel reads it at `memory`, its samples behind it. */
struct run {
    struct fth_batch *batch;
    struct fth_machine_module *module;
    const struct fth_request *request;
    uint64_t memory;
    struct fth_fetch_request fetch;
};

static enum fth_status launch(const struct run *run, const char *kernel, uint32_t blocks,
                              struct fth_error *error)
{
    const struct fth_batch *batch = run->batch;
    const struct fth_fetch *fetch = &run->request->fetch;
    const uint64_t argument = run->memory;
    enum fth_status status = batch->ops->launch(
        batch->machine,
        &(struct fth_machine_launch){.module = run->module,
                                     .kernel = kernel,
                                     .blocks = blocks,
                                     .threads = 1,
                                     .carveout_percent = run->request->carveout_percent,
                                     .arguments = &argument,
                                     .argument_bytes = sizeof argument},
        error);
    const double instructions = (double)fetch->instructions * (double)fetch->passes;
    const double hops = (double)fetch->constants.count;
    if (status == FTH_OK)
        status = batch->ops->wait(
            batch->machine,
            shortest_limit_s + instructions * slowest_instruction_s + hops * slowest_hop_s, error);
    return status;
}

/* The chain into the module's own constant bank. */
static enum fth_status upload_constants(struct run *run, struct fth_error *error)
{
    struct fth_batch own = *run->batch; /* with another bank */
    const struct fth_chain *chain = &run->request->fetch.constants;
    uint64_t bytes, *bank = calloc(BANK_BYTES / 8, 8);
    enum fth_status status =
        bank ? FTH_OK : fth_fail(error, FTH_NO_MEMORY, "run experiments", NULL, "out of memory");
    if (status == FTH_OK)
        status = own.ops->symbol(own.machine, run->module, "bank", &own.bank, &bytes, error);
    if (status == FTH_OK)
        status = launch(run, "origin", 1, error);
    if (status == FTH_OK)
        status = own.ops->download(own.machine, &own.bank_origin, run->memory, 8, error);
    if (status == FTH_OK) {
        fth_batch_build_constants(&own, chain, bank);
        status = own.ops->upload(own.machine, own.bank, bank, BANK_BYTES, error);
    }
    run->fetch.first = own.bank_origin + chain->start_bytes;
    free(bank);
    return status;
}

/* Launches until the SM that is asked for had its turn: the hardware places blocks as it likes. */
static enum fth_status launch_there(struct run *run, struct fth_error *error)
{
    enum { MAX_LAUNCHES = 8 };
    const struct fth_batch *batch = run->batch;
    const uint64_t sample_bytes = samples(run->request) * 4;
    uint32_t blocks = run->request->sm == FTH_ANY_SM ? 1 : batch->facts.sms;
    for (int round = 0; round < MAX_LAUNCHES; round++) {
        struct fth_fetch_request seen = {0};
        enum fth_status status =
            batch->ops->upload(batch->machine, run->memory, &run->fetch, sizeof run->fetch, error);
        if (status == FTH_OK)
            status = batch->ops->fill(batch->machine, run->fetch.samples, 0, sample_bytes, error);
        if (status == FTH_OK)
            status = launch(run, "fetch", blocks, error);
        if (status == FTH_OK)
            status = batch->ops->download(batch->machine, &seen, run->memory, sizeof seen, error);
        if (status != FTH_OK || seen.served)
            return status;
    }
    return fth_fail(error, FTH_UNAVAILABLE, "run experiments", NULL,
                    "no block was placed on the SM");
}

static enum fth_status run_fetch(struct fth_batch *batch, struct fth_machine_module *module,
                                 const struct fth_request *request, uint32_t *cycles,
                                 struct fth_error *error)
{
    if (request->sm != FTH_ANY_SM && request->sm >= batch->sm_count)
        return fth_fail(error, FTH_UNAVAILABLE, "run experiments", NULL, "the GPU has fewer SMs");
    const uint64_t sample_bytes = samples(request) * 4;
    struct run run = {.batch = batch, .module = module, .request = request};
    enum fth_status status =
        batch->ops->alloc(batch->machine, sizeof run.fetch + sample_bytes, &run.memory, error);
    if (status == FTH_NO_MEMORY && error)
        error->status = status = FTH_UNAVAILABLE;
    if (status != FTH_OK)
        return status;
    run.fetch = (struct fth_fetch_request){
        .blocks = (uint32_t)(request->fetch.instructions / FTH_FETCH_BLOCK),
        .passes = (uint32_t)request->fetch.passes,
        .hops = (uint32_t)request->fetch.constants.count,
        .sm = request->sm == FTH_ANY_SM ? UINT32_MAX : batch->sms[request->sm],
        .factor = 1,
        .samples = run.memory + sizeof run.fetch,
    };
    if (request->fetch.constants.count)
        status = upload_constants(&run, error);
    if (status == FTH_OK)
        status = launch_there(&run, error);
    if (status == FTH_OK)
        status =
            batch->ops->download(batch->machine, cycles, run.fetch.samples, sample_bytes, error);
    batch->ops->free(batch->machine, run.memory);
    return status;
}

const struct fth_family_ops fth_family_fetch = {
    .check = check, .write = write, .samples = samples, .text = text, .run = run_fetch};
