/* The sweep family: McCalpin's STREAM kernels over long arrays (kernels/sweep.ptx). Each launch is
 * timed as a whole, by time stamps around it, and the result of the last one is checked. Example of
 * the canonical text:
 *
 *   sweep triad f64 1073741824 264x1024 vector 16 unroll 4 hinted repeats 5; cold
 *
 * `hinted` and `cold` are present only if they are set, and `repeats 1` is left out. The
 * arrays lie one after the other in the order x, z, y. The pattern in x and y is written once and
 * reused by all sweeps of the same length and type. */
#include "device/family/family.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char operation[] = "check request";

/* Limits of requests: CUDA's limit of threads per block, and generous bounds. CONTROL_BYTES is the
 * size of the sums of a read and the count of wrong elements. */
#define MAX_BYTES (UINT64_C(1) << 46)
#define MAX_BLOCKS (UINT32_C(1) << 30)
enum { MAX_THREADS = 1024, MAX_REPEATS = 1 << 16, CONTROL_BYTES = (FTH_SWEEP_SUMS + 1) * 4 };
/* A rate that even a single thread exceeds, for the time limit. Chosen, not derived. */
static const double min_bytes_per_s = 1e6;
/* Number of elements that the host writes or checks at a time. */
enum { CHUNK = 1 << 16 };

/* ---- requests ---- */

static struct fth_sweep_code code_of(const struct fth_sweep *sweep)
{
    return (struct fth_sweep_code){.kind = sweep->kind,
                                   .wide = sweep->wide,
                                   .vector_bytes = sweep->vector_bytes,
                                   .unroll = sweep->unroll,
                                   .lanes = sweep->threads < 32 ? sweep->threads : 32,
                                   .hinted = sweep->hinted};
}

/* The bytes of an array that a group of neighbouring threads accesses at a time. */
static uint64_t group_bytes(const struct fth_sweep_code *code)
{
    return (uint64_t)code->lanes * code->unroll * code->vector_bytes;
}

static enum fth_status check(const struct fth_request *request, struct fth_error *error)
{
    const struct fth_sweep *sweep = &request->sweep;
    if ((unsigned)sweep->kind >= FTH_SWEEP_KINDS)
        return fth_fail(error, FTH_INVALID, operation, "sweep.kind", "%u is not a kind of sweep",
                        (unsigned)sweep->kind);
    if (sweep->threads == 0 || sweep->threads > MAX_THREADS ||
        sweep->threads & (sweep->threads - 1))
        return fth_fail(error, FTH_INVALID, operation, "sweep.threads",
                        "%" PRIu32 " is not a power of two in the range 1 to %d", sweep->threads,
                        MAX_THREADS);
    if (sweep->blocks == 0 || sweep->blocks > MAX_BLOCKS)
        return fth_fail(error, FTH_INVALID, operation, "sweep.blocks",
                        "%" PRIu32 " is not in the range 1 to %" PRIu32, sweep->blocks, MAX_BLOCKS);
    const struct fth_sweep_code code = code_of(sweep);
    if (!fth_kernels_has_sweep(&code))
        return fth_fail(error, FTH_INVALID, operation, "sweep.unroll",
                        "a %s with %" PRIu32 " vectors of %" PRIu32 " bytes is not available",
                        fth_sweep_kind_name(sweep->kind), sweep->unroll, sweep->vector_bytes);
    if (sweep->bytes == 0 || sweep->bytes > MAX_BYTES || sweep->bytes % group_bytes(&code))
        return fth_fail(error, FTH_INVALID, operation, "sweep.bytes",
                        "%" PRIu64 " is not a positive multiple of %" PRIu64 " up to %" PRIu64,
                        sweep->bytes, group_bytes(&code), MAX_BYTES);
    if (sweep->repeats == 0 || sweep->repeats > MAX_REPEATS)
        return fth_fail(error, FTH_INVALID, operation, "sweep.repeats",
                        "%" PRIu32 " is not in the range 1 to %d", sweep->repeats, MAX_REPEATS);
    if (request->sm != FTH_ANY_SM)
        return fth_fail(error, FTH_INVALID, operation, "sm",
                        "the SM cannot be chosen for this family");
    if (request->carveout_percent != -1)
        return fth_fail(error, FTH_INVALID, operation, "carveout_percent",
                        "the carve-out cannot be chosen for this family");
    return FTH_OK;
}

static void write(const struct fth_request *request, struct fth_buffer *text)
{
    const struct fth_sweep *sweep = &request->sweep;
    fth_buffer_format(
        text, "sweep %s %s %" PRIu64 " %" PRIu32 "x%" PRIu32 " vector %" PRIu32 " unroll %" PRIu32,
        fth_sweep_kind_name(sweep->kind), sweep->wide ? "f64" : "f32", sweep->bytes, sweep->blocks,
        sweep->threads, sweep->vector_bytes, sweep->unroll);
    if (sweep->hinted)
        fth_buffer_text(text, " hinted");
    if (sweep->repeats != 1)
        fth_buffer_format(text, " repeats %" PRIu32, sweep->repeats);
    if (request->cold)
        fth_buffer_text(text, "; cold");
}

static bool read_text(struct fth_scanner *scanner, struct fth_request *request)
{
    struct fth_sweep *sweep = &request->sweep;
    sweep->repeats = 1;
    while (!fth_scan_name(scanner, fth_sweep_kind_name(sweep->kind)))
        if (++sweep->kind == FTH_SWEEP_KINDS)
            return false;
    sweep->wide = fth_scan(scanner, " f64 ");
    if ((!sweep->wide && !fth_scan(scanner, " f32 ")) ||
        !fth_scan_number(scanner, UINT64_MAX, &sweep->bytes) || !fth_scan(scanner, " ") ||
        !fth_scan_u32(scanner, &sweep->blocks) || !fth_scan(scanner, "x") ||
        !fth_scan_u32(scanner, &sweep->threads) || !fth_scan(scanner, " vector ") ||
        !fth_scan_u32(scanner, &sweep->vector_bytes) || !fth_scan(scanner, " unroll ") ||
        !fth_scan_u32(scanner, &sweep->unroll))
        return false;
    sweep->hinted = fth_scan(scanner, " hinted");
    return fth_scan_option_u32(scanner, " repeats ", &sweep->repeats);
}

static uint64_t samples(const struct fth_request *request)
{
    return (uint64_t)request->sweep.repeats + 1;
}

/* ---- state ---- */

/* The arrays lie in fth_runner.arrays. */
struct sweep_state {
    uint64_t control; /* address of the sums and the count of wrong elements; 0: not allocated */
    /* The pattern that the arrays hold: bytes per array (0: none), number of arrays including the
     * target, element type. */
    uint64_t pattern_bytes;
    unsigned pattern_arrays;
    bool pattern_wide;
    struct fth_machine_module *patterns[2]; /* modules that write and check it: fp32, fp64 */
    struct sweep_module {
        struct fth_sweep_code code;
        struct fth_machine_module *module;
    } * modules; /* the modules loaded so far */
    size_t module_count, module_capacity;
};

/* The execution of one sweep. */
struct sweep_run {
    struct fth_runner *runner;
    struct sweep_state *state;
    const struct fth_lowered *lowered;
    const struct fth_sweep *sweep; /* of the request */
    uint64_t x, y, z; /* addresses of the arrays; y is 0 where the kernel does not use it */
    struct fth_machine_module *module;
};

static enum fth_status open_sweep(struct fth_runner *runner, void **state, struct fth_error *error)
{
    (void)runner;
    *state = calloc(1, sizeof(struct sweep_state));
    return *state ? FTH_OK : fth_no_memory(error, "run experiments", NULL);
}

static void release_sweep(struct fth_runner *runner, void *memory)
{
    struct sweep_state *state = memory;
    for (size_t i = 0; i < state->module_count; i++)
        runner->ops->unload(runner->machine, state->modules[i].module);
    for (size_t i = 0; i < FTH_COUNT(state->patterns); i++)
        if (state->patterns[i])
            runner->ops->unload(runner->machine, state->patterns[i]);
    if (state->control)
        runner->ops->free(runner->machine, state->control);
    free(state->modules);
    free(state);
}

static void disturb_sweep(void *memory, unsigned what)
{
    struct sweep_state *state = memory;
    if (what & FTH_DISTURBS_ARRAYS)
        state->pattern_bytes = 0;
}

static bool same_code(const struct fth_sweep_code *a, const struct fth_sweep_code *b)
{
    return a->kind == b->kind && a->wide == b->wide && a->vector_bytes == b->vector_bytes &&
           a->unroll == b->unroll && a->lanes == b->lanes && a->hinted == b->hinted;
}

/* Finds the module of the sweep; loads it on first use. */
static enum fth_status load(struct sweep_run *run, struct fth_error *error)
{
    const struct fth_runner *runner = run->runner;
    const struct fth_sweep_code *code = &run->lowered->sweep.code;
    struct sweep_state *state = run->state;
    for (size_t i = 0; i < state->module_count; i++)
        if (same_code(&state->modules[i].code, code)) {
            run->module = state->modules[i].module;
            return FTH_OK;
        }
    void *modules = state->modules;
    if (!fth_grow(&modules, state->module_count, &state->module_capacity, sizeof *state->modules))
        return fth_no_memory(error, "run experiments", NULL);
    state->modules = modules;
    struct fth_buffer ptx = {0};
    enum fth_status status = fth_kernels_sweep(code, &ptx, error);
    if (status == FTH_OK)
        status =
            runner->ops->load(runner->machine, "sweep", ptx.data, ptx.size, &run->module, error);
    fth_buffer_fini(&ptx);
    if (status == FTH_OK)
        state->modules[state->module_count++] = (struct sweep_module){*code, run->module};
    return status;
}

/* ---- the pattern ---- */

/* The patterns of x and y as coefficients of fth_sweep_element. */
static const uint64_t x_coefficients[3] = {1, 0, 0}, y_coefficients[3] = {0, 1, 0};

static enum fth_status load_pattern(const struct sweep_run *run, struct fth_error *error)
{
    const bool wide = run->sweep->wide;
    struct fth_machine_module **module = &run->state->patterns[wide];
    if (*module)
        return FTH_OK;
    struct fth_buffer ptx = {0};
    enum fth_status status = fth_kernels_pattern(wide, &ptx, error);
    if (status == FTH_OK)
        status = run->runner->ops->load(run->runner->machine, "pattern", ptx.data, ptx.size, module,
                                        error);
    fth_buffer_fini(&ptx);
    return status;
}

/* Queues one of the kernels of pattern.ptx over an array. */
static enum fth_status launch_pattern(const struct sweep_run *run, const char *kernel,
                                      uint64_t address, const uint64_t coefficients[3],
                                      struct fth_error *error)
{
    const struct fth_runner *runner = run->runner;
    const bool wide = run->sweep->wide;
    const uint64_t arguments[] = {
        address,         run->sweep->bytes / (wide ? 8 : 4),
        coefficients[0], coefficients[1],
        coefficients[2], run->state->control + (uint64_t)FTH_SWEEP_SUMS * 4};
    FTH_TRY(load_pattern(run, error));
    const struct fth_machine_launch launch = {.module = run->state->patterns[wide],
                                              .kernel = kernel,
                                              .blocks = runner->facts.sms * 8,
                                              .threads = 256,
                                              .carveout_percent = -1,
                                              .arguments = arguments,
                                              .argument_bytes = sizeof arguments};
    return runner->ops->launch(runner->machine, &launch, error);
}

/* Computes `count` elements of an array from element `from` on. */
static void compute_expected(uint64_t from, size_t count, bool wide, const uint64_t coefficients[3],
                             void *out)
{
    uint64_t *as_f64 = out;
    uint32_t *as_f32 = out;
    for (size_t i = 0; i < count; i++)
        if (wide)
            as_f64[i] = fth_sweep_element(from + i, wide, coefficients);
        else
            as_f32[i] = (uint32_t)fth_sweep_element(from + i, wide, coefficients);
}

/* Processes an array on the host, where access to GPU memory is free: writes the pattern, adds the
 * number of wrong elements to `*wrong`, or subtracts the expected sum of all words from `*wrong`.
 */
enum host_task { HOST_WRITE, HOST_CHECK, HOST_SUBTRACT_SUM };
static enum fth_status process_on_host(const struct sweep_run *run, enum host_task task,
                                       uint64_t address, const uint64_t coefficients[3],
                                       uint32_t *wrong, struct fth_error *error)
{
    const struct fth_runner *runner = run->runner;
    const bool wide = run->sweep->wide;
    const size_t width = wide ? 8 : 4;
    const uint64_t all = run->sweep->bytes / width;
    unsigned char *part = calloc((size_t)2 * CHUNK, width),
                  *found = part ? part + width * CHUNK : NULL;
    if (!part)
        return fth_no_memory(error, "run experiments", NULL);
    enum fth_status status = FTH_OK;
    for (uint64_t from = 0; from < all && status == FTH_OK; from += CHUNK) {
        const size_t count = all - from < CHUNK ? (size_t)(all - from) : CHUNK;
        compute_expected(from, count, wide, coefficients, part);
        const uint64_t at = address + from * width, bytes = count * width;
        if (task == HOST_WRITE)
            status = runner->ops->upload(runner->machine, at, part, bytes, error);
        if (task == HOST_CHECK)
            status = runner->ops->download(runner->machine, found, at, bytes, error);
        for (size_t i = 0; i < count && task != HOST_WRITE; i++)
            if (task == HOST_SUBTRACT_SUM)
                *wrong -= ((uint32_t *)(void *)part)[i];
            else
                *wrong += memcmp(part + i * width, found + i * width, width) != 0;
    }
    free(part);
    return status;
}

/* Writes the patterns of x and, if the kernel uses it, y, unless the memory holds them already. */
static enum fth_status fill_arrays(const struct sweep_run *run, struct fth_error *error)
{
    struct sweep_state *state = run->state;
    const bool cold = run->lowered->request->cold;
    const unsigned arrays = run->y ? 3 : 2;
    if (!cold && state->pattern_bytes == run->sweep->bytes &&
        state->pattern_wide == run->sweep->wide && state->pattern_arrays >= arrays)
        return FTH_OK;
    const uint64_t addresses[] = {run->x, run->y};
    const uint64_t *const patterns[] = {x_coefficients, y_coefficients};
    state->pattern_bytes = 0;
    for (unsigned i = 0; i < arrays - 1; i++)
        FTH_TRY(run->runner->facts.host_access_is_free
                    ? process_on_host(run, HOST_WRITE, addresses[i], patterns[i], NULL, error)
                    : launch_pattern(run, "write", addresses[i], patterns[i], error));
    state->pattern_bytes = cold ? 0 : run->sweep->bytes;
    state->pattern_wide = run->sweep->wide;
    state->pattern_arrays = arrays;
    return FTH_OK;
}

/* Counts the wrong elements after a sweep. For a read, `*wrong` is 1 if the sum of all words is
 * wrong, otherwise 0. */
static enum fth_status count_wrong(const struct sweep_run *run, uint32_t *wrong,
                                   struct fth_error *error)
{
    const struct fth_runner *runner = run->runner;
    const bool reads = run->sweep->kind == FTH_SWEEP_READ;
    const uint64_t checked = reads ? run->x : run->z;
    uint64_t coefficients[3];
    uint32_t *sums = calloc(1, CONTROL_BYTES);
    if (!sums)
        return fth_no_memory(error, "run experiments", NULL);
    fth_sweep_coefficients(run->sweep->kind, coefficients);
    *wrong = 0;
    enum fth_status status =
        runner->facts.host_access_is_free
            ? process_on_host(run, reads ? HOST_SUBTRACT_SUM : HOST_CHECK, checked, coefficients,
                              wrong, error)
            : launch_pattern(run, reads ? "total" : "check", checked, coefficients, error);
    if (status == FTH_OK)
        status = runner->ops->wait(runner->machine, run->lowered->time_limit_s, error);
    if (status == FTH_OK)
        status =
            runner->ops->download(runner->machine, sums, run->state->control, CONTROL_BYTES, error);
    *wrong += sums[FTH_SWEEP_SUMS];
    for (size_t i = 0; i < FTH_SWEEP_SUMS && reads; i++)
        *wrong += sums[i];
    if (reads)
        *wrong = *wrong != 0;
    free(sums);
    return status;
}

/* ---- running ---- */

static enum fth_status lower(const struct fth_runner *runner, struct fth_lowered *lowered,
                             struct fth_error *error)
{
    const struct fth_sweep *sweep = &lowered->request->sweep;
    struct fth_lowered_sweep *plan = &lowered->sweep;
    if (sweep->hinted && !runner->facts.hints)
        return fth_fail(error, FTH_UNSUPPORTED, "sweep", NULL,
                        "cache hints require a real GPU with compute capability 8.0 or later");
    lowered->blocks = sweep->blocks;
    lowered->threads = sweep->threads;
    lowered->time_limit_s = FTH_MIN_TIME_LIMIT_S + 3 * (double)sweep->bytes / min_bytes_per_s;
    plan->code = code_of(sweep);
    plan->has_y = fth_sweep_arrays(sweep->kind) == 3;
    plan->piece_bytes = sweep->bytes * (plan->has_y ? 3 : 2);
    plan->pool_bytes =
        lowered->request->cold ? fth_pool_cold_bytes(runner, plan->piece_bytes) : plan->piece_bytes;
    plan->stride_bytes =
        group_bytes(&plan->code) * (sweep->threads / plan->code.lanes) * sweep->blocks;
    return FTH_OK;
}

static enum fth_status launch(const struct sweep_run *run, struct fth_error *error)
{
    const uint64_t arguments[] = {run->x,
                                  run->y,
                                  run->z,
                                  run->sweep->bytes,
                                  run->lowered->sweep.stride_bytes,
                                  run->state->control};
    struct fth_machine_launch launch = fth_lowered_launch(run->lowered);
    launch.module = run->module;
    launch.kernel = "sweep";
    launch.arguments = arguments;
    launch.argument_bytes = sizeof arguments;
    return run->runner->ops->launch(run->runner->machine, &launch, error);
}

/* Times one launch in nanoseconds. `sample` NULL: the time is not needed. */
static enum fth_status time_launch(const struct sweep_run *run, uint32_t *sample,
                                   struct fth_error *error)
{
    struct fth_runner *runner = run->runner;
    const struct fth_machine_ops *ops = runner->ops;
    double ns = 0;
    if (run->lowered->request->cold && !runner->facts.host_access_is_free)
        FTH_TRY(fth_runner_flush(runner, error));
    /* Clear the sums, so that in the end they are those of the last launch. */
    FTH_TRY(ops->fill(runner->machine, run->state->control, 0, CONTROL_BYTES, error));
    FTH_TRY(fth_runner_queue_delay(runner, error));
    FTH_TRY(ops->mark(runner->machine, false, error));
    FTH_TRY(launch(run, error));
    FTH_TRY(ops->mark(runner->machine, true, error));
    FTH_TRY(ops->wait(runner->machine, run->lowered->time_limit_s, error));
    FTH_TRY(ops->marked_ns(runner->machine, &ns, error));
    if (sample)
        *sample = ns < UINT32_MAX ? (uint32_t)(ns + 0.5) : UINT32_MAX;
    return FTH_OK;
}

/* Ensures that there is memory for the sums and the arrays, and chooses the addresses of the
 * arrays. Where the arrays move, their pattern is lost. */
static enum fth_status place_arrays(struct sweep_run *run, struct fth_error *error)
{
    struct fth_runner *runner = run->runner;
    struct sweep_state *state = run->state;
    struct fth_pool *pool = &runner->arrays;
    const struct fth_lowered_sweep *plan = &run->lowered->sweep;
    const uint64_t bytes = run->sweep->bytes, old = pool->address;
    if (!state->control)
        FTH_TRY(fth_runner_alloc(runner, CONTROL_BYTES, &state->control, error));
    enum fth_status status = fth_pool_grow(runner, pool, plan->pool_bytes, error);
    if (pool->address != old)
        state->pattern_bytes = 0;
    run->x = run->lowered->request->cold ? fth_pool_take(pool, plan->piece_bytes) : pool->address;
    run->z = run->x + bytes;
    run->y = plan->has_y ? run->x + 2 * bytes : 0;
    return status;
}

/* Places the arrays and writes their initial contents. */
static enum fth_status prepare(struct sweep_run *run, struct fth_error *error)
{
    FTH_TRY(place_arrays(run, error));
    FTH_TRY(fill_arrays(run, error));
    /* The target gets other values, so that the check finds elements that were not written. */
    return run->runner->ops->fill(run->runner->machine, run->z, 0xff, run->sweep->bytes, error);
}

static enum fth_status run_sweep(struct fth_runner *runner, struct fth_family_slot *slot,
                                 const struct fth_lowered *lowered, uint32_t *cycles,
                                 struct fth_error *error)
{
    const struct fth_sweep *sweep = &lowered->request->sweep;
    const bool cold = lowered->request->cold;
    struct sweep_run run = {
        .runner = runner, .state = slot->state, .lowered = lowered, .sweep = sweep};
    FTH_TRY(load(&run, error));
    /* After a launch, its arrays are in the L2. Each cold launch therefore uses other memory. */
    for (uint32_t i = 0; i < sweep->repeats; i++) {
        if (i == 0 || cold)
            FTH_TRY(prepare(&run, error));
        if (i == 0 && !cold)
            FTH_TRY(time_launch(&run, NULL, error));
        FTH_TRY(time_launch(&run, &cycles[i], error));
    }
    return count_wrong(&run, &cycles[sweep->repeats], error);
}

static enum fth_status request_ptx(const struct fth_request *request, struct fth_buffer *ptx,
                                   struct fth_error *error)
{
    const struct fth_sweep_code code = code_of(&request->sweep);
    return fth_kernels_sweep(&code, ptx, error);
}

const struct fth_family_ops fth_family_sweep = {.word = "sweep",
                                                .check = check,
                                                .write = write,
                                                .read = read_text,
                                                .samples = samples,
                                                .lower = lower,
                                                .request_ptx = request_ptx,
                                                .open = open_sweep,
                                                .release = release_sweep,
                                                .disturbs = FTH_DISTURBS_L2,
                                                .disturb = disturb_sweep,
                                                .run = run_sweep};
