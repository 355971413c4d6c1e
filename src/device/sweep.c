/* The sweep family: McCalpin's STREAM kernels over long arrays (kernels/sweep.ptx). Each launch is
 * timed as a whole, by time stamps around it, and the result of the last one is checked. Example of
 * the canonical text:
 *
 *   sweep triad f64 1073741824 264x1024 vector 16 unroll 4 hinted repeats 5; cold
 *
 * `hinted` and `cold` are present only if they are set, and `repeats 1` is left out. The
 * arrays lie one after the other in the order x, z, y. The pattern in x and y is written once and
 * reused by all sweeps of the same length and type. */
#include "device/family.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char operation[] = "check request";

/* Limits of requests: CUDA's limit of threads per block, and generous bounds. CONTROL_BYTES is the
 * size of the sums of a read and the count of wrong elements. */
#define MAX_BYTES (UINT64_C(1) << 46)
#define MAX_BLOCKS (UINT32_C(1) << 30)
enum { MAX_THREADS = 1024, MAX_REPEATS = 1 << 16, CONTROL_BYTES = (FTH_SWEEP_SUMS + 1) * 4 };
/* Time limit of a launch: min_time_limit_s plus the bytes divided by min_bytes_per_s, a rate that
 * even a single thread exceeds. A sweep that takes longer counts as hung. */
static const double min_time_limit_s = 3, min_bytes_per_s = 1e6;
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

static uint64_t samples(const struct fth_request *request)
{
    return (uint64_t)request->sweep.repeats + 1;
}

/* ---- modules ---- */

/* Returns the module of the code; loads it on first use. */
static enum fth_status load(struct fth_runner *runner, const struct fth_sweep_code *code,
                            struct fth_machine_module **module, struct fth_error *error)
{
    struct fth_sweep_memory *memory = &runner->sweep;
    for (size_t i = 0; i < memory->module_count; i++) {
        const struct fth_sweep_code *loaded = &memory->modules[i].code;
        if (loaded->kind == code->kind && loaded->wide == code->wide &&
            loaded->vector_bytes == code->vector_bytes && loaded->unroll == code->unroll &&
            loaded->lanes == code->lanes && loaded->hinted == code->hinted) {
            *module = memory->modules[i].module;
            return FTH_OK;
        }
    }
    void *modules = memory->modules;
    if (!fth_grow(&modules, memory->module_count, &memory->module_capacity,
                  sizeof *memory->modules))
        return fth_no_memory(error, "run experiments", NULL);
    memory->modules = modules;
    struct fth_buffer ptx = {0};
    enum fth_status status = fth_kernels_sweep(code, &ptx, error);
    if (status == FTH_OK)
        status = runner->ops->load(runner->machine, "sweep", ptx.data, ptx.size, module, error);
    fth_buffer_fini(&ptx);
    if (status == FTH_OK)
        memory->modules[memory->module_count++] = (struct fth_sweep_module){*code, *module};
    return status;
}

static enum fth_status load_pattern(struct fth_runner *runner, bool wide, struct fth_error *error)
{
    if (runner->sweep.patterns[wide])
        return FTH_OK;
    struct fth_buffer ptx = {0};
    enum fth_status status = fth_kernels_pattern(wide, &ptx, error);
    if (status == FTH_OK)
        status = runner->ops->load(runner->machine, "pattern", ptx.data, ptx.size,
                                   &runner->sweep.patterns[wide], error);
    fth_buffer_fini(&ptx);
    return status;
}

void fth_sweep_release(struct fth_runner *runner)
{
    struct fth_sweep_memory *memory = &runner->sweep;
    for (size_t i = 0; i < memory->module_count; i++)
        runner->ops->unload(runner->machine, memory->modules[i].module);
    for (size_t i = 0; i < FTH_COUNT(memory->patterns); i++)
        if (memory->patterns[i])
            runner->ops->unload(runner->machine, memory->patterns[i]);
    free(memory->modules);
    fth_pool_release(runner, &memory->pool);
    if (memory->control)
        runner->ops->free(runner->machine, memory->control);
}

/* ---- the pattern ---- */

/* The execution of one sweep. */
struct run {
    const struct fth_sweep *sweep;
    uint64_t x, y, z; /* addresses of the arrays; y is 0 where the kernel does not use it */
    struct fth_machine_module *module;
};

/* The patterns of x and y as coefficients of fth_sweep_element. */
static const uint64_t x_coefficients[3] = {1, 0, 0}, y_coefficients[3] = {0, 1, 0};

/* Queues one of the kernels of pattern.ptx over an array. */
static enum fth_status launch_pattern(struct fth_runner *runner, const char *kernel,
                                      const struct run *run, uint64_t address,
                                      const uint64_t coefficients[3], struct fth_error *error)
{
    const bool wide = run->sweep->wide;
    const uint64_t arguments[] = {
        address,         run->sweep->bytes / (wide ? 8 : 4),
        coefficients[0], coefficients[1],
        coefficients[2], runner->sweep.control + (uint64_t)FTH_SWEEP_SUMS * 4};
    FTH_TRY(load_pattern(runner, wide, error));
    return runner->ops->launch(runner->machine,
                               &(struct fth_machine_launch){.module = runner->sweep.patterns[wide],
                                                            .kernel = kernel,
                                                            .blocks = runner->facts.sms * 8,
                                                            .threads = 256,
                                                            .carveout_percent = -1,
                                                            .arguments = arguments,
                                                            .argument_bytes = sizeof arguments},
                               error);
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
static enum fth_status process_on_host(struct fth_runner *runner, enum host_task task,
                                       const struct run *run, uint64_t address,
                                       const uint64_t coefficients[3], uint32_t *wrong,
                                       struct fth_error *error)
{
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
static enum fth_status fill_arrays(struct fth_runner *runner, const struct run *run, bool cold,
                                   struct fth_error *error)
{
    struct fth_sweep_memory *memory = &runner->sweep;
    const unsigned arrays = run->y ? 3 : 2;
    if (!cold && memory->pattern_bytes == run->sweep->bytes &&
        memory->pattern_wide == run->sweep->wide && memory->pattern_arrays >= arrays)
        return FTH_OK;
    const uint64_t addresses[] = {run->x, run->y};
    const uint64_t *const patterns[] = {x_coefficients, y_coefficients};
    enum fth_status status = FTH_OK;
    for (unsigned i = 0; i < arrays - 1 && status == FTH_OK; i++)
        status =
            runner->facts.host_access_is_free
                ? process_on_host(runner, HOST_WRITE, run, addresses[i], patterns[i], NULL, error)
                : launch_pattern(runner, "write", run, addresses[i], patterns[i], error);
    memory->pattern_bytes = cold || status != FTH_OK ? 0 : run->sweep->bytes;
    memory->pattern_wide = run->sweep->wide;
    memory->pattern_arrays = arrays;
    return status;
}

/* Counts the wrong elements after a sweep. For a read, `*wrong` is 1 if the sum of all words is
 * wrong, otherwise 0. */
static enum fth_status count_wrong(struct fth_runner *runner, const struct run *run,
                                   uint32_t *wrong, struct fth_error *error)
{
    const bool reads = run->sweep->kind == FTH_SWEEP_READ;
    const uint64_t place_arrays = reads ? run->x : run->z;
    uint64_t coefficients[3];
    uint32_t *sums = calloc(1, CONTROL_BYTES);
    if (!sums)
        return fth_no_memory(error, "run experiments", NULL);
    fth_sweep_coefficients(run->sweep->kind, coefficients);
    *wrong = 0;
    enum fth_status status = runner->facts.host_access_is_free
                                 ? process_on_host(runner, reads ? HOST_SUBTRACT_SUM : HOST_CHECK,
                                                   run, place_arrays, coefficients, wrong, error)
                                 : launch_pattern(runner, reads ? "total" : "check", run,
                                                  place_arrays, coefficients, error);
    const double bytes = (double)run->sweep->bytes;
    if (status == FTH_OK)
        status =
            runner->ops->wait(runner->machine, min_time_limit_s + bytes / min_bytes_per_s, error);
    if (status == FTH_OK)
        status = runner->ops->download(runner->machine, sums, runner->sweep.control, CONTROL_BYTES,
                                       error);
    *wrong += sums[FTH_SWEEP_SUMS];
    for (size_t i = 0; i < FTH_SWEEP_SUMS && reads; i++)
        *wrong += sums[i];
    if (reads)
        *wrong = *wrong != 0;
    free(sums);
    return status;
}

/* ---- running ---- */

static enum fth_status launch(struct fth_runner *runner, const struct run *run,
                              struct fth_error *error)
{
    const struct fth_sweep *sweep = run->sweep;
    const struct fth_sweep_code code = code_of(sweep);
    const uint64_t arguments[] = {
        run->x,
        run->y,
        run->z,
        sweep->bytes,
        group_bytes(&code) * (sweep->threads / code.lanes) * sweep->blocks,
        runner->sweep.control,
    };
    return runner->ops->launch(runner->machine,
                               &(struct fth_machine_launch){.module = run->module,
                                                            .kernel = "sweep",
                                                            .blocks = sweep->blocks,
                                                            .threads = sweep->threads,
                                                            .carveout_percent = -1,
                                                            .arguments = arguments,
                                                            .argument_bytes = sizeof arguments},
                               error);
}

/* Times one launch in nanoseconds. `sample` NULL: the time is not needed. */
static enum fth_status time_launch(struct fth_runner *runner, const struct run *run, bool cold,
                                   uint32_t *sample, struct fth_error *error)
{
    const double bytes = 3 * (double)run->sweep->bytes;
    double ns = 0;
    enum fth_status status = FTH_OK;
    if (cold && !runner->facts.host_access_is_free)
        status = fth_runner_flush(runner, error);
    /* Clear the sums, so that in the end they are those of the last launch. */
    if (status == FTH_OK)
        status = runner->ops->fill(runner->machine, runner->sweep.control, 0, CONTROL_BYTES, error);
    if (status == FTH_OK)
        status = fth_runner_queue_delay(runner, error);
    if (status == FTH_OK)
        status = runner->ops->mark(runner->machine, false, error);
    if (status == FTH_OK)
        status = launch(runner, run, error);
    if (status == FTH_OK)
        status = runner->ops->mark(runner->machine, true, error);
    if (status == FTH_OK)
        status =
            runner->ops->wait(runner->machine, min_time_limit_s + bytes / min_bytes_per_s, error);
    if (status == FTH_OK)
        status = runner->ops->marked_ns(runner->machine, &ns, error);
    if (sample)
        *sample = ns < UINT32_MAX ? (uint32_t)(ns + 0.5) : UINT32_MAX;
    return status;
}

/* Ensures that there are at least `bytes` for the arrays. Where that changes the address, the
 * pattern is lost. */
static enum fth_status reserve(struct fth_runner *runner, uint64_t bytes, struct fth_error *error)
{
    struct fth_sweep_memory *memory = &runner->sweep;
    enum fth_status status = FTH_OK;
    if (!memory->control)
        status = runner->ops->alloc(runner->machine, CONTROL_BYTES, &memory->control, error);
    const uint64_t old = memory->pool.address;
    if (status == FTH_OK)
        status = fth_pool_grow(runner, &memory->pool, bytes, error);
    if (memory->pool.address != old)
        memory->pattern_bytes = 0;
    return status == FTH_NO_MEMORY ? FTH_UNAVAILABLE : status;
}

enum fth_status fth_sweep_reserve(struct fth_runner *runner, uint64_t bytes, uint64_t *address,
                                  struct fth_error *error)
{
    enum fth_status status = reserve(runner, bytes, error);
    runner->sweep.pattern_bytes = 0;
    *address = runner->sweep.pool.address;
    return status;
}

/* Chooses the addresses of the arrays. */
static enum fth_status place_arrays(struct fth_runner *runner, struct run *run, bool cold,
                                    struct fth_error *error)
{
    struct fth_pool *pool = &runner->sweep.pool;
    const uint64_t bytes = run->sweep->bytes;
    const bool has_y = fth_sweep_arrays(run->sweep->kind) == 3;
    const uint64_t piece = bytes * (has_y ? 3 : 2);
    enum fth_status status =
        reserve(runner, cold ? fth_pool_cold_bytes(runner, piece) : piece, error);
    if (status != FTH_OK)
        return status;
    run->x = cold ? fth_pool_take(pool, piece) : pool->address;
    run->z = run->x + bytes;
    run->y = has_y ? run->x + 2 * bytes : 0;
    return FTH_OK;
}

/* Places the arrays and writes their initial contents. */
static enum fth_status prepare(struct fth_runner *runner, struct run *run, bool cold,
                               struct fth_error *error)
{
    enum fth_status status = place_arrays(runner, run, cold, error);
    if (status == FTH_OK)
        status = fill_arrays(runner, run, cold, error);
    /* The target gets other values, so that the check finds elements that were not written. */
    if (status == FTH_OK)
        status = runner->ops->fill(runner->machine, run->z, 0xff, run->sweep->bytes, error);
    return status;
}

static enum fth_status run_sweep(struct fth_runner *runner, struct fth_machine_module *unused,
                                 const struct fth_request *request, uint32_t *cycles,
                                 struct fth_error *error)
{
    (void)unused;
    const struct fth_sweep *sweep = &request->sweep;
    const struct fth_sweep_code code = code_of(sweep);
    struct run run = {.sweep = sweep};
    if (sweep->hinted && !runner->facts.hints)
        return fth_fail(error, FTH_UNSUPPORTED, "sweep", NULL,
                        "cache hints require a real GPU with compute capability 8.0 or later");
    enum fth_status status = load(runner, &code, &run.module, error);
    fth_stream_invalidate(runner);
    /* After a launch, its arrays are in the L2. Each cold launch therefore uses other memory. */
    for (uint32_t i = 0; i < sweep->repeats && status == FTH_OK; i++) {
        if (i == 0 || request->cold)
            status = prepare(runner, &run, request->cold, error);
        if (status == FTH_OK && i == 0 && !request->cold)
            status = time_launch(runner, &run, false, NULL, error);
        if (status == FTH_OK)
            status = time_launch(runner, &run, request->cold, &cycles[i], error);
    }
    if (status == FTH_OK)
        status = count_wrong(runner, &run, &cycles[sweep->repeats], error);
    return status;
}

const struct fth_family_ops fth_family_sweep = {
    .check = check, .write = write, .samples = samples, .run = run_sweep};
