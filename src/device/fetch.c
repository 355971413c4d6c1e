/* The fetch family: executes straight-line code of a given length, to measure instruction caches
 * (the method of Jia et al., "Dissecting the NVIDIA Volta GPU Architecture via Microbenchmarking",
 * 2018). Code of any length is the beginning of one long piece, which the driver has to compile
 * only once. Example of the canonical text:
 *
 *   fetch 4096 passes 4; time-hops constant 0:64x32; sm 5
 *
 * The chain of constants and the members of the whole request are written as in a chase
 * (request.c), and the same rules apply to them. */
#include "device/family.h"

#include <inttypes.h>
#include <stdlib.h>

enum { BANK_BYTES = 65536 };           /* size of the constant bank, CUDA's limit */
#define MAX_PASSES (UINT64_C(1) << 24) /* a generous bound */

static const char operation[] = "check request";

/* Time limit of a launch in seconds: min_time_limit_s plus these upper bounds per instruction and
 * per hop, which hold at the lowest clock. A launch that takes longer counts as hung. */
static const double max_instruction_s = 1e-6, max_hop_s = 10e-6, min_time_limit_s = 3;

/* The part of the request that has the form of a chase: the timed walk over the constants and the
 * members of the whole request. `alone` is not set, because a fetch request is always alone. */
static struct fth_request chase_part(const struct fth_request *request)
{
    struct fth_request chase = {
        .sm = request->sm, .carveout_percent = request->carveout_percent, .cold = request->cold};
    if (request->fetch.constants.count)
        chase.chase.steps[chase.chase.step_count++] =
            (struct fth_step){.kind = FTH_STEP_TIME_HOPS,
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
                        "%" PRIu64 " is not a multiple of %d in the range %d to %d",
                        fetch->instructions, FTH_FETCH_BLOCK, FTH_FETCH_BLOCK, FTH_MAX_FETCH);
    if (fetch->passes == 0 || fetch->passes > MAX_PASSES)
        return fth_fail(error, FTH_INVALID, operation, "fetch.passes",
                        "%" PRIu64 " is not in the range 1 to %" PRIu64, fetch->passes, MAX_PASSES);
    if (request->cold)
        return fth_fail(error, FTH_INVALID, operation, "cold",
                        "code cannot be evicted from the L2");
    struct fth_request chase = chase_part(request);
    if (chase.chase.step_count ==
        0) /* any valid step, so that only the other members are checked */
        chase.chase.steps[chase.chase.step_count++] =
            (struct fth_step){.kind = FTH_STEP_TIME_HOPS,
                              .path = FTH_PATH_CONSTANT,
                              .chain = {.stride_bytes = 8, .count = 1},
                              .passes = 1};
    return fth_request_check(&chase, error);
}

static void write(const struct fth_request *request, struct fth_buffer *text)
{
    const struct fth_request chase = chase_part(request);
    fth_buffer_format(text, "fetch %" PRIu64, request->fetch.instructions);
    if (request->fetch.passes != 1)
        fth_buffer_format(text, " passes %" PRIu64, request->fetch.passes);
    if (chase.chase.step_count)
        fth_buffer_text(text, "; ");
    fth_request_write(&chase, text);
}

static uint64_t samples(const struct fth_request *request)
{
    return request->fetch.passes + request->fetch.constants.count;
}

static enum fth_status make_ptx(struct fth_buffer *ptx, struct fth_error *error)
{
    return fth_kernels_fetch(FTH_MAX_FETCH, ptx, error);
}

/* ---- running ---- */

/* The execution of one request. `memory` holds `fetch`, the request in the form that the kernel
 * reads, followed by the samples. */
struct run {
    struct fth_runner *runner;
    struct fth_machine_module *module;
    const struct fth_request *request;
    uint64_t memory;
    struct fth_fetch_request fetch;
};

/* Launches a kernel with one thread per block and waits for it. */
static enum fth_status launch(const struct run *run, const char *kernel, uint32_t blocks,
                              struct fth_error *error)
{
    const struct fth_runner *runner = run->runner;
    const struct fth_fetch *fetch = &run->request->fetch;
    const uint64_t argument = run->memory;
    enum fth_status status = runner->ops->launch(
        runner->machine,
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
        status = runner->ops->wait(
            runner->machine, min_time_limit_s + instructions * max_instruction_s + hops * max_hop_s,
            error);
    return status;
}

/* Writes the chain into the constant bank of the fetch module. */
static enum fth_status upload_constants(struct run *run, struct fth_error *error)
{
    struct fth_runner bank_runner = *run->runner; /* a copy with the bank of this module */
    const struct fth_chain *chain = &run->request->fetch.constants;
    uint64_t bytes, *bank = calloc(BANK_BYTES / 8, 8);
    enum fth_status status = bank ? FTH_OK : fth_no_memory(error, "run experiments", NULL);
    if (status == FTH_OK)
        status = bank_runner.ops->symbol(bank_runner.machine, run->module, "bank",
                                         &bank_runner.bank, &bytes, error);
    if (status == FTH_OK)
        status = launch(run, "origin", 1, error);
    if (status == FTH_OK)
        status = bank_runner.ops->download(bank_runner.machine, &bank_runner.bank_origin,
                                           run->memory, 8, error);
    if (status == FTH_OK) {
        fth_runner_build_constants(&bank_runner, chain, bank);
        status =
            bank_runner.ops->upload(bank_runner.machine, bank_runner.bank, bank, BANK_BYTES, error);
    }
    run->fetch.first = bank_runner.bank_origin + chain->start_bytes;
    free(bank);
    return status;
}

/* The hardware decides where blocks run: launches until a block has run on the requested SM. */
static enum fth_status launch_on_sm(struct run *run, struct fth_error *error)
{
    enum { MAX_LAUNCHES = 8 }; /* as in runner.c */
    const struct fth_runner *runner = run->runner;
    const uint64_t sample_bytes = samples(run->request) * 4;
    uint32_t blocks = run->request->sm == FTH_ANY_SM ? 1 : runner->facts.sms;
    for (int round = 0; round < MAX_LAUNCHES; round++) {
        struct fth_fetch_request seen = {0};
        enum fth_status status = runner->ops->upload(runner->machine, run->memory, &run->fetch,
                                                     sizeof run->fetch, error);
        if (status == FTH_OK)
            status = runner->ops->fill(runner->machine, run->fetch.samples, 0, sample_bytes, error);
        if (status == FTH_OK)
            status = launch(run, "fetch", blocks, error);
        if (status == FTH_OK)
            status = runner->ops->download(runner->machine, &seen, run->memory, sizeof seen, error);
        if (status != FTH_OK || seen.served)
            return status;
    }
    return fth_fail(error, FTH_UNAVAILABLE, "run experiments", NULL,
                    "the GPU placed no block on the requested SM");
}

static enum fth_status run_fetch(struct fth_runner *runner, struct fth_machine_module *module,
                                 const struct fth_request *request, uint32_t *cycles,
                                 struct fth_error *error)
{
    if (request->sm != FTH_ANY_SM && request->sm >= runner->sm_count)
        return fth_fail(error, FTH_UNAVAILABLE, "run experiments", NULL,
                        "the GPU has no SM with this index");
    const uint64_t sample_bytes = samples(request) * 4;
    struct run run = {.runner = runner, .module = module, .request = request};
    enum fth_status status =
        runner->ops->alloc(runner->machine, sizeof run.fetch + sample_bytes, &run.memory, error);
    if (status == FTH_NO_MEMORY && error)
        error->status = status = FTH_UNAVAILABLE;
    if (status != FTH_OK)
        return status;
    run.fetch = (struct fth_fetch_request){
        .blocks = (uint32_t)(request->fetch.instructions / FTH_FETCH_BLOCK),
        .passes = (uint32_t)request->fetch.passes,
        .hops = (uint32_t)request->fetch.constants.count,
        .sm = request->sm == FTH_ANY_SM ? UINT32_MAX : runner->sms[request->sm],
        .factor = 1,
        .samples = run.memory + sizeof run.fetch,
    };
    if (request->fetch.constants.count)
        status = upload_constants(&run, error);
    if (status == FTH_OK)
        status = launch_on_sm(&run, error);
    if (status == FTH_OK)
        status =
            runner->ops->download(runner->machine, cycles, run.fetch.samples, sample_bytes, error);
    runner->ops->free(runner->machine, run.memory);
    return status;
}

const struct fth_family_ops fth_family_fetch = {
    .check = check, .write = write, .samples = samples, .make_ptx = make_ptx, .run = run_fetch};
