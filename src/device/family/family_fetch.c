/* The fetch family: executes straight-line code of a given length, to measure instruction caches
 * (the method of Jia et al., "Dissecting the NVIDIA Volta GPU Architecture via Microbenchmarking",
 * 2018). Code of any length is the beginning of one long piece, which the driver has to compile
 * only once. Example of the canonical text:
 *
 *   fetch 4096 passes 4; time-hops constant 0:64x32; sm 5
 *   fetch 512 stride 64 passes 16
 *
 * The constants are walked before every pass of the code and timed after the last one. The chain of
 * constants and the members of the whole request are written as in a chase
 * (chase_request.c), and the same rules apply to them. */
#include "device/chase/chase.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PASSES (UINT64_C(1) << 24) /* a generous bound */
/* Launches before the requested SM counts as unreachable, as for chases. */
enum { MAX_LAUNCHES = 8 };

static const char operation[] = "check request";

/* Upper bound for one instruction in seconds, even at the lowest clock and if every instruction
 * comes from memory. Chosen, not derived. */
static const double max_instruction_s = 1e-6;

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

static enum fth_status check_straight(const struct fth_fetch *fetch, struct fth_error *error)
{
    if (fetch->instructions == 0 || fetch->instructions > FTH_MAX_SHORT_FETCH ||
        fetch->instructions % FTH_FETCH_BLOCK)
        return fth_fail(error, FTH_INVALID, operation, "fetch.instructions",
                        "%" PRIu64 " is not a multiple of %d in the range %d to %d",
                        fetch->instructions, FTH_FETCH_BLOCK, FTH_FETCH_BLOCK, FTH_MAX_SHORT_FETCH);
    if (fetch->constants.count && fetch->instructions > FTH_MAX_FETCH)
        return fth_fail(error, FTH_INVALID, operation, "fetch.constants",
                        "code of more than %d instructions is executed without constants",
                        FTH_MAX_FETCH);
    return FTH_OK;
}

/* Smallest distance of two branches. Chosen: an instruction that branches has at most 5 bytes, and
 * the places of branches in lines of any size are the same in each line. */
enum { MIN_STRIDE = 32 };

static enum fth_status check_strided(const struct fth_fetch *fetch, struct fth_error *error)
{
    if (fetch->stride_bytes % MIN_STRIDE || fetch->stride_bytes > FTH_MAX_STRIDED_FETCH)
        return fth_fail(error, FTH_INVALID, operation, "fetch.stride_bytes",
                        "%" PRIu64 " is not a multiple of %d up to %d", fetch->stride_bytes,
                        MIN_STRIDE, FTH_MAX_STRIDED_FETCH);
    if (fetch->instructions == 0 ||
        fetch->instructions > FTH_MAX_STRIDED_FETCH / fetch->stride_bytes)
        return fth_fail(error, FTH_INVALID, operation, "fetch.instructions",
                        "%" PRIu64 " is not in the range 1 to %" PRIu64, fetch->instructions,
                        FTH_MAX_STRIDED_FETCH / fetch->stride_bytes);
    if (fetch->constants.count)
        return fth_fail(error, FTH_INVALID, operation, "fetch.constants",
                        "code with a stride is executed without constants");
    return FTH_OK;
}

static enum fth_status check(const struct fth_request *request, struct fth_error *error)
{
    const struct fth_fetch *fetch = &request->fetch;
    FTH_TRY(fetch->stride_bytes ? check_strided(fetch, error) : check_straight(fetch, error));
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
    if (request->fetch.stride_bytes)
        fth_buffer_format(text, " stride %" PRIu64, request->fetch.stride_bytes);
    if (request->fetch.passes != 1)
        fth_buffer_format(text, " passes %" PRIu64, request->fetch.passes);
    if (chase.chase.step_count)
        fth_buffer_text(text, "; ");
    fth_request_write(&chase, text);
}

static bool read_text(struct fth_scanner *scanner, struct fth_request *request)
{
    struct fth_fetch *fetch = &request->fetch;
    fetch->passes = 1;
    if (!fth_scan_number(scanner, UINT64_MAX, &fetch->instructions) ||
        !fth_scan_option(scanner, " stride ", &fetch->stride_bytes) ||
        !fth_scan_option(scanner, " passes ", &fetch->passes))
        return false;
    return !fth_scan(scanner, "; time-hops constant ") ||
           fth_chase_read_chain(scanner, &fetch->constants);
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

/* What is kept from request to request. */
struct fetch_state {
    struct fth_pool pool; /* the memory for the request and its samples, which is kept, because
                           * allocating it for every request would take longer than most requests */
    uint64_t bank;        /* address of the module's constant bank for uploads; 0: not known yet */
    uint64_t origin;      /* its address as kernels see it */
    struct fth_chain chain;            /* that the bank holds; count 0: none */
    struct fth_machine_module *longer; /* for requests of more than FTH_MAX_FETCH instructions;
                                        * NULL: not loaded yet */
};

/* The execution of one request. `memory` holds `fetch`, the request in the form that the kernel
 * reads, followed by the samples. */
struct fetch_run {
    struct fth_runner *runner;
    struct fth_machine_module *module;
    struct fetch_state *state;
    const struct fth_lowered *lowered;
    uint64_t memory;
    struct fth_fetch_request fetch;
};

static enum fth_status lower(const struct fth_runner *runner, struct fth_lowered *lowered,
                             struct fth_error *error)
{
    const struct fth_request *request = lowered->request;
    const struct fth_fetch *fetch = &request->fetch;
    if (fetch->stride_bytes)
        return fth_fail(error, FTH_UNSUPPORTED, "run experiments", NULL,
                        "only CPUs execute code that consists of branches");
    if (request->sm != FTH_ANY_SM && request->sm >= runner->sm_count)
        return fth_fail(error, FTH_UNAVAILABLE, "run experiments", NULL,
                        "the GPU has no SM with this index");
    lowered->blocks = request->sm == FTH_ANY_SM ? 1 : runner->facts.sms;
    lowered->threads = 1;
    lowered->time_limit_s =
        FTH_MIN_TIME_LIMIT_S +
        (double)fetch->instructions * (double)fetch->passes * max_instruction_s +
        (double)fetch->constants.count * FTH_MAX_HOP_S;
    return FTH_OK;
}

/* Launches a kernel and waits for it. */
static enum fth_status launch(const struct fetch_run *run, const char *kernel, uint32_t blocks,
                              struct fth_error *error)
{
    const struct fth_runner *runner = run->runner;
    struct fth_machine_launch launch = fth_lowered_launch(run->lowered);
    launch.module = run->module;
    launch.kernel = kernel;
    launch.blocks = blocks;
    launch.arguments = &run->memory;
    launch.argument_bytes = sizeof run->memory;
    FTH_TRY(runner->ops->launch(runner->machine, &launch, error));
    return runner->ops->wait(runner->machine, run->lowered->time_limit_s, error);
}

/* Finds the addresses of the constant bank of the fetch module. */
static enum fth_status find_bank(struct fetch_run *run, struct fth_error *error)
{
    const struct fth_runner *runner = run->runner;
    struct fetch_state *state = run->state;
    uint64_t address, bytes;
    if (state->bank)
        return FTH_OK;
    FTH_TRY(runner->ops->symbol(runner->machine, run->module, "bank", &address, &bytes, error));
    FTH_TRY(launch(run, "origin", 1, error));
    FTH_TRY(runner->ops->download(runner->machine, &state->origin, run->memory,
                                  sizeof state->origin, error));
    state->bank = address;
    return FTH_OK;
}

static bool is_same_chain(const struct fth_chain *a, const struct fth_chain *b)
{
    return a->start_bytes == b->start_bytes && a->stride_bytes == b->stride_bytes &&
           a->count == b->count && a->step == b->step;
}

/* Writes the chain into the constant bank of the fetch module, unless it is there already. */
static enum fth_status upload_constants(struct fetch_run *run, struct fth_error *error)
{
    const struct fth_runner *runner = run->runner;
    const struct fth_chain *chain = &run->lowered->request->fetch.constants;
    struct fetch_state *state = run->state;
    FTH_TRY(find_bank(run, error));
    run->fetch.first = state->origin + chain->start_bytes;
    if (is_same_chain(&state->chain, chain))
        return FTH_OK;
    uint64_t *bank = calloc(FTH_BANK_BYTES / 8, 8);
    if (!bank)
        return fth_no_memory(error, "run experiments", NULL);
    fth_chase_build_constants(chain, state->origin, bank);
    state->chain.count = 0;
    enum fth_status status =
        runner->ops->upload(runner->machine, state->bank, bank, FTH_BANK_BYTES, error);
    if (status == FTH_OK)
        state->chain = *chain;
    free(bank);
    return status;
}

/* The hardware decides where blocks run: launches until a block has run on the requested SM.
 * `image` is a host buffer for the request and its samples, which are copied together, because each
 * transfer has a fixed cost. */
static enum fth_status launch_on_sm(struct fetch_run *run, void *image, uint64_t image_bytes,
                                    struct fth_error *error)
{
    const struct fth_runner *runner = run->runner;
    for (int round = 0; round < MAX_LAUNCHES; round++) {
        memset(image, 0, image_bytes);
        memcpy(image, &run->fetch, sizeof run->fetch);
        FTH_TRY(runner->ops->upload(runner->machine, run->memory, image, image_bytes, error));
        FTH_TRY(launch(run, "fetch", run->lowered->blocks, error));
        FTH_TRY(runner->ops->download(runner->machine, image, run->memory, image_bytes, error));
        if (((const struct fth_fetch_request *)image)->served)
            return FTH_OK;
    }
    return fth_fail(error, FTH_UNAVAILABLE, "run experiments", NULL,
                    "the GPU placed no block on the requested SM");
}

/* Loads the module with the longest code. It takes the driver of a real GPU long to compile, and
 * only simulated GPUs with short instructions need it. */
static enum fth_status load_longer(struct fetch_run *run, struct fth_error *error)
{
    const struct fth_runner *runner = run->runner;
    struct fth_buffer ptx = {0};
    enum fth_status status = FTH_OK;
    if (!run->state->longer) {
        status = fth_kernels_fetch(FTH_MAX_SHORT_FETCH, &ptx, error);
        if (status == FTH_OK)
            status = runner->ops->load(runner->machine, "fetch", ptx.data, ptx.size,
                                       &run->state->longer, error);
        fth_buffer_fini(&ptx);
    }
    run->module = run->state->longer;
    return status;
}

static enum fth_status run_fetch(struct fth_runner *runner, struct fth_family_slot *slot,
                                 const struct fth_lowered *lowered, uint32_t *cycles,
                                 struct fth_error *error)
{
    const struct fth_request *request = lowered->request;
    const uint64_t sample_bytes = lowered->sample_count * 4;
    struct fetch_state *state = slot->state;
    struct fetch_run run = {
        .runner = runner, .module = slot->module, .state = state, .lowered = lowered};
    const uint64_t bytes = sizeof run.fetch + sample_bytes;
    if (request->fetch.instructions > FTH_MAX_FETCH)
        FTH_TRY(load_longer(&run, error));
    FTH_TRY(fth_pool_grow(runner, &state->pool, bytes, error));
    run.memory = state->pool.address;
    run.fetch = (struct fth_fetch_request){
        .blocks = (uint32_t)(request->fetch.instructions / FTH_FETCH_BLOCK),
        .passes = (uint32_t)request->fetch.passes,
        .hops = (uint32_t)request->fetch.constants.count,
        .sm = request->sm == FTH_ANY_SM ? UINT32_MAX : runner->sms[request->sm],
        .factor = 1,
        .samples = run.memory + sizeof run.fetch,
    };
    unsigned char *image = malloc(bytes);
    if (!image)
        return fth_no_memory(error, "run experiments", NULL);
    enum fth_status status = FTH_OK;
    if (request->fetch.constants.count)
        status = upload_constants(&run, error);
    if (status == FTH_OK)
        status = launch_on_sm(&run, image, bytes, error);
    if (status == FTH_OK)
        memcpy(cycles, image + sizeof run.fetch, sample_bytes);
    free(image);
    return status;
}

static enum fth_status open_fetch(struct fth_runner *runner, void **state, struct fth_error *error)
{
    (void)runner;
    *state = calloc(1, sizeof(struct fetch_state));
    return *state ? FTH_OK : fth_no_memory(error, "run experiments", NULL);
}

static void release_fetch(struct fth_runner *runner, void *state)
{
    struct fetch_state *fetch = state;
    if (fetch->longer)
        runner->ops->unload(runner->machine, fetch->longer);
    fth_pool_release(runner, &fetch->pool);
    free(fetch);
}

const struct fth_family_ops fth_family_fetch = {.word = "fetch",
                                                .check = check,
                                                .write = write,
                                                .read = read_text,
                                                .samples = samples,
                                                .lower = lower,
                                                .disturbs = FTH_DISTURBS_L2,
                                                .make_ptx = make_ptx,
                                                .open = open_fetch,
                                                .release = release_fetch,
                                                .run = run_fetch};
