/* The sweep family: STREAM's kernels over long arrays (kernels/sweep.ptx), each launch timed from
 * without, and what they leave checked. Its canonical text:
 *
 *   sweep triad f64 1073741824 264x1024 vector 16 unroll 4 hinted repeats 5; cold
 *
 * and what is as usual left out: `hinted`, `repeats 1`, `cold`. Arrays lie one after the other: x,
 * z, y. They are written once for all sweeps of a length. */
#include "device/family.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char operation[] = "check request";

#define MAX_BYTES (UINT64_C(1) << 46)
#define MAX_BLOCKS (UINT32_C(1) << 30)
enum { MAX_THREADS = 1024, MAX_REPEATS = 1 << 16, CONTROL_BYTES = (FTH_SWEEP_SUMS + 1) * 4 };
/* One thread moves more than that; a sweep that takes longer hangs. */
static const double shortest_limit_s = 3, slowest_bytes_per_s = 1e6;
/* What the host fills and checks at a time. */
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

/* What threads side by side take at a time. */
static uint64_t group_bytes(const struct fth_sweep_code *code)
{
    return (uint64_t)code->lanes * code->unroll * code->vector_bytes;
}

static enum fth_status check(const struct fth_request *request, struct fth_error *error)
{
    const struct fth_sweep *sweep = &request->sweep;
    if ((unsigned)sweep->kind >= FTH_SWEEP_KINDS)
        return fth_fail(error, FTH_INVALID, operation, "sweep.kind", "%u is none",
                        (unsigned)sweep->kind);
    if (sweep->threads == 0 || sweep->threads > MAX_THREADS ||
        sweep->threads & (sweep->threads - 1))
        return fth_fail(error, FTH_INVALID, operation, "sweep.threads",
                        "%" PRIu32 " is no power of two within 1 to %d", sweep->threads,
                        MAX_THREADS);
    if (sweep->blocks == 0 || sweep->blocks > MAX_BLOCKS)
        return fth_fail(error, FTH_INVALID, operation, "sweep.blocks",
                        "%" PRIu32 " is not within 1 to %" PRIu32, sweep->blocks, MAX_BLOCKS);
    const struct fth_sweep_code code = code_of(sweep);
    if (!fth_kernels_has_sweep(&code))
        return fth_fail(error, FTH_INVALID, operation, "sweep.unroll",
                        "there is no %s of %" PRIu32 " vectors of %" PRIu32 " bytes",
                        fth_sweep_kind_name(sweep->kind), sweep->unroll, sweep->vector_bytes);
    if (sweep->bytes == 0 || sweep->bytes > MAX_BYTES || sweep->bytes % group_bytes(&code))
        return fth_fail(error, FTH_INVALID, operation, "sweep.bytes",
                        "%" PRIu64 " is no multiple of %" PRIu64 " up to %" PRIu64, sweep->bytes,
                        group_bytes(&code), MAX_BYTES);
    if (sweep->repeats == 0 || sweep->repeats > MAX_REPEATS)
        return fth_fail(error, FTH_INVALID, operation, "sweep.repeats",
                        "%" PRIu32 " is not within 1 to %d", sweep->repeats, MAX_REPEATS);
    if (request->sm != FTH_ANY_SM)
        return fth_fail(error, FTH_INVALID, operation, "sm", "a sweep has no SM of its own");
    if (request->carveout_percent != -1)
        return fth_fail(error, FTH_INVALID, operation, "carveout_percent",
                        "a sweep has no carve-out");
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

static enum fth_status load(struct fth_batch *batch, const struct fth_sweep_code *code,
                            struct fth_machine_module **module, struct fth_error *error)
{
    struct fth_sweep_memory *memory = &batch->sweep;
    for (size_t i = 0; i < memory->module_count; i++) {
        const struct fth_sweep_code *have = &memory->modules[i].code;
        if (have->kind == code->kind && have->wide == code->wide &&
            have->vector_bytes == code->vector_bytes && have->unroll == code->unroll &&
            have->lanes == code->lanes && have->hinted == code->hinted) {
            *module = memory->modules[i].module;
            return FTH_OK;
        }
    }
    void *modules = memory->modules;
    if (!fth_grow(&modules, memory->module_count, &memory->module_capacity,
                  sizeof *memory->modules))
        return fth_fail(error, FTH_NO_MEMORY, "run experiments", NULL, "out of memory");
    memory->modules = modules;
    struct fth_buffer ptx = {0};
    enum fth_status status = fth_kernels_sweep(code, &ptx, error);
    if (status == FTH_OK)
        status = batch->ops->load(batch->machine, "sweep", ptx.data, ptx.size, module, error);
    fth_buffer_fini(&ptx);
    if (status == FTH_OK)
        memory->modules[memory->module_count++] = (struct fth_sweep_module){*code, *module};
    return status;
}

static enum fth_status load_pattern(struct fth_batch *batch, bool wide, struct fth_error *error)
{
    if (batch->sweep.patterns[wide])
        return FTH_OK;
    struct fth_buffer ptx = {0};
    enum fth_status status = fth_kernels_pattern(wide, &ptx, error);
    if (status == FTH_OK)
        status = batch->ops->load(batch->machine, "pattern", ptx.data, ptx.size,
                                  &batch->sweep.patterns[wide], error);
    fth_buffer_fini(&ptx);
    return status;
}

void fth_sweep_release(struct fth_batch *batch)
{
    struct fth_sweep_memory *memory = &batch->sweep;
    for (size_t i = 0; i < memory->module_count; i++)
        batch->ops->unload(batch->machine, memory->modules[i].module);
    for (size_t i = 0; i < FTH_COUNT(memory->patterns); i++)
        if (memory->patterns[i])
            batch->ops->unload(batch->machine, memory->patterns[i]);
    free(memory->modules);
    fth_pool_release(batch, &memory->pool);
    if (memory->control)
        batch->ops->free(batch->machine, memory->control);
}

/* ---- the pattern ---- */

/* One sweep as it is run. */
struct run {
    const struct fth_sweep *sweep;
    uint64_t x, y, z;
    struct fth_machine_module *module;
};

static const uint64_t of_x[3] = {1, 0, 0}, of_y[3] = {0, 1, 0};

/* Runs one of the kernels of pattern.ptx over an array. */
static enum fth_status launch_pattern(struct fth_batch *batch, const char *kernel,
                                      const struct run *run, uint64_t address,
                                      const uint64_t coefficients[3], struct fth_error *error)
{
    const bool wide = run->sweep->wide;
    const uint64_t arguments[] = {
        address,         run->sweep->bytes / (wide ? 8 : 4),
        coefficients[0], coefficients[1],
        coefficients[2], batch->sweep.control + (uint64_t)FTH_SWEEP_SUMS * 4};
    enum fth_status status = load_pattern(batch, wide, error);
    if (status == FTH_OK)
        status =
            batch->ops->launch(batch->machine,
                               &(struct fth_machine_launch){.module = batch->sweep.patterns[wide],
                                                            .kernel = kernel,
                                                            .blocks = batch->facts.sms * 8,
                                                            .threads = 256,
                                                            .carveout_percent = -1,
                                                            .arguments = arguments,
                                                            .argument_bytes = sizeof arguments},
                               error);
    return status;
}

/* A part of an array as it must be. */
static void expect(uint64_t from, size_t count, bool wide, const uint64_t coefficients[3],
                   void *out)
{
    uint64_t *whole = out;
    uint32_t *half = out;
    for (size_t i = 0; i < count; i++)
        if (wide)
            whole[i] = fth_sweep_element(from + i, wide, coefficients);
        else
            half[i] = (uint32_t)fth_sweep_element(from + i, wide, coefficients);
}

/* Goes over an array from here: writes it, or counts what is wrong in it, or takes what it adds up
 * to from `faults`. */
enum host_task { HOST_WRITE, HOST_CHECK, HOST_TOTAL };
static enum fth_status from_host(struct fth_batch *batch, enum host_task task,
                                 const struct run *run, uint64_t address,
                                 const uint64_t coefficients[3], uint32_t *faults,
                                 struct fth_error *error)
{
    const bool wide = run->sweep->wide;
    const size_t width = wide ? 8 : 4;
    const uint64_t all = run->sweep->bytes / width;
    unsigned char *part = calloc((size_t)2 * CHUNK, width),
                  *found = part ? part + width * CHUNK : NULL;
    if (!part)
        return fth_fail(error, FTH_NO_MEMORY, "run experiments", NULL, "out of memory");
    enum fth_status status = FTH_OK;
    for (uint64_t from = 0; from < all && status == FTH_OK; from += CHUNK) {
        const size_t count = all - from < CHUNK ? (size_t)(all - from) : CHUNK;
        expect(from, count, wide, coefficients, part);
        const uint64_t at = address + from * width, bytes = count * width;
        if (task == HOST_WRITE)
            status = batch->ops->upload(batch->machine, at, part, bytes, error);
        if (task == HOST_CHECK)
            status = batch->ops->download(batch->machine, found, at, bytes, error);
        for (size_t i = 0; i < count && task != HOST_WRITE; i++)
            if (task == HOST_TOTAL)
                *faults -= ((uint32_t *)(void *)part)[i];
            else
                *faults += memcmp(part + i * width, found + i * width, width) != 0;
    }
    free(part);
    return status;
}

/* Writes x, and y where it is there. */
static enum fth_status fill_arrays(struct fth_batch *batch, const struct run *run, bool cold,
                                   struct fth_error *error)
{
    struct fth_sweep_memory *memory = &batch->sweep;
    const unsigned arrays = run->y ? 3 : 2;
    if (!cold && memory->pattern_bytes == run->sweep->bytes &&
        memory->pattern_wide == run->sweep->wide && memory->pattern_arrays >= arrays)
        return FTH_OK;
    const uint64_t places[] = {run->x, run->y};
    const uint64_t *const patterns[] = {of_x, of_y};
    enum fth_status status = FTH_OK;
    for (unsigned i = 0; i < arrays - 1 && status == FTH_OK; i++)
        status = batch->facts.host_is_near
                     ? from_host(batch, HOST_WRITE, run, places[i], patterns[i], NULL, error)
                     : launch_pattern(batch, "write", run, places[i], patterns[i], error);
    memory->pattern_bytes = cold || status != FTH_OK ? 0 : run->sweep->bytes;
    memory->pattern_wide = run->sweep->wide;
    memory->pattern_arrays = arrays;
    return status;
}

/* Counts what is wrong after a sweep. */
static enum fth_status find_faults(struct fth_batch *batch, const struct run *run, uint32_t *faults,
                                   struct fth_error *error)
{
    const bool reads = run->sweep->kind == FTH_SWEEP_READ;
    const uint64_t place = reads ? run->x : run->z;
    uint64_t coefficients[3];
    uint32_t *sums = calloc(1, CONTROL_BYTES);
    if (!sums)
        return fth_fail(error, FTH_NO_MEMORY, "run experiments", NULL, "out of memory");
    fth_sweep_coefficients(run->sweep->kind, coefficients);
    *faults = 0;
    enum fth_status status =
        batch->facts.host_is_near
            ? from_host(batch, reads ? HOST_TOTAL : HOST_CHECK, run, place, coefficients, faults,
                        error)
            : launch_pattern(batch, reads ? "total" : "check", run, place, coefficients, error);
    const double bytes = (double)run->sweep->bytes;
    if (status == FTH_OK)
        status =
            batch->ops->wait(batch->machine, shortest_limit_s + bytes / slowest_bytes_per_s, error);
    if (status == FTH_OK)
        status =
            batch->ops->download(batch->machine, sums, batch->sweep.control, CONTROL_BYTES, error);
    *faults += sums[FTH_SWEEP_SUMS];
    for (size_t i = 0; i < FTH_SWEEP_SUMS && reads; i++)
        *faults += sums[i];
    if (reads)
        *faults = *faults != 0;
    free(sums);
    return status;
}

/* ---- running ---- */

static enum fth_status launch(struct fth_batch *batch, const struct run *run,
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
        batch->sweep.control,
    };
    return batch->ops->launch(batch->machine,
                              &(struct fth_machine_launch){.module = run->module,
                                                           .kernel = "sweep",
                                                           .blocks = sweep->blocks,
                                                           .threads = sweep->threads,
                                                           .carveout_percent = -1,
                                                           .arguments = arguments,
                                                           .argument_bytes = sizeof arguments},
                              error);
}

static enum fth_status time_one(struct fth_batch *batch, const struct run *run, bool cold,
                                uint32_t *sample, struct fth_error *error)
{
    const double bytes = 3 * (double)run->sweep->bytes;
    double ns = 0;
    enum fth_status status = FTH_OK;
    if (cold && !batch->facts.host_is_near)
        status = fth_batch_flush(batch, error);
    /* Of the last launch only what it leaves is looked at. */
    if (status == FTH_OK)
        status = batch->ops->fill(batch->machine, batch->sweep.control, 0, CONTROL_BYTES, error);
    if (status == FTH_OK)
        status = fth_batch_lead(batch, error);
    if (status == FTH_OK)
        status = batch->ops->mark(batch->machine, false, error);
    if (status == FTH_OK)
        status = launch(batch, run, error);
    if (status == FTH_OK)
        status = batch->ops->mark(batch->machine, true, error);
    if (status == FTH_OK)
        status =
            batch->ops->wait(batch->machine, shortest_limit_s + bytes / slowest_bytes_per_s, error);
    if (status == FTH_OK)
        status = batch->ops->marked_ns(batch->machine, &ns, error);
    if (sample)
        *sample = ns < UINT32_MAX ? (uint32_t)(ns + 0.5) : UINT32_MAX;
    return status;
}

/* Memory for the arrays. */
static enum fth_status reserve(struct fth_batch *batch, uint64_t bytes, struct fth_error *error)
{
    struct fth_sweep_memory *memory = &batch->sweep;
    enum fth_status status = FTH_OK;
    if (!memory->control)
        status = batch->ops->alloc(batch->machine, CONTROL_BYTES, &memory->control, error);
    const uint64_t old = memory->pool.address;
    if (status == FTH_OK)
        status = fth_pool_grow(batch, &memory->pool, bytes, error);
    if (memory->pool.address != old)
        memory->pattern_bytes = 0;
    return status == FTH_NO_MEMORY ? FTH_UNAVAILABLE : status;
}

enum fth_status fth_sweep_reserve(struct fth_batch *batch, uint64_t bytes, uint64_t *address,
                                  struct fth_error *error)
{
    enum fth_status status = reserve(batch, bytes, error);
    batch->sweep.pattern_bytes = 0;
    *address = batch->sweep.pool.address;
    return status;
}

static enum fth_status place(struct fth_batch *batch, struct run *run, bool cold,
                             struct fth_error *error)
{
    struct fth_pool *pool = &batch->sweep.pool;
    const uint64_t bytes = run->sweep->bytes;
    const bool other = fth_sweep_arrays(run->sweep->kind) == 3;
    const uint64_t piece = bytes * (other ? 3 : 2);
    enum fth_status status =
        reserve(batch, cold ? fth_pool_cold_bytes(batch, piece) : piece, error);
    if (status != FTH_OK)
        return status;
    run->x = cold ? fth_pool_take(pool, piece) : pool->address;
    run->z = run->x + bytes;
    run->y = other ? run->x + 2 * bytes : 0;
    return FTH_OK;
}

/* Arrays in their place, with what they hold before a sweep. */
static enum fth_status prepare(struct fth_batch *batch, struct run *run, bool cold,
                               struct fth_error *error)
{
    enum fth_status status = place(batch, run, cold, error);
    if (status == FTH_OK)
        status = fill_arrays(batch, run, cold, error);
    /* So that what is not written is seen. */
    if (status == FTH_OK)
        status = batch->ops->fill(batch->machine, run->z, 0xff, run->sweep->bytes, error);
    return status;
}

static enum fth_status run_sweep(struct fth_batch *batch, struct fth_machine_module *unused,
                                 const struct fth_request *request, uint32_t *cycles,
                                 struct fth_error *error)
{
    (void)unused;
    const struct fth_sweep *sweep = &request->sweep;
    const struct fth_sweep_code code = code_of(sweep);
    struct run run = {.sweep = sweep};
    if (sweep->hinted && !batch->facts.hints)
        return fth_fail(error, FTH_UNSUPPORTED, "sweep", NULL,
                        "L2 cannot be told what to keep before compute capability 8.0, nor a "
                        "simulated one");
    enum fth_status status = load(batch, &code, &run.module, error);
    fth_stream_disturb(batch);
    /* What was timed is in L2 from then on: a cold one takes another place each time. */
    for (uint32_t i = 0; i < sweep->repeats && status == FTH_OK; i++) {
        if (i == 0 || request->cold)
            status = prepare(batch, &run, request->cold, error);
        if (status == FTH_OK && i == 0 && !request->cold)
            status = time_one(batch, &run, false, NULL, error);
        if (status == FTH_OK)
            status = time_one(batch, &run, request->cold, &cycles[i], error);
    }
    if (status == FTH_OK)
        status = find_faults(batch, &run, &cycles[sweep->repeats], error);
    return status;
}

const struct fth_family_ops fth_family_sweep = {
    .check = check, .write = write, .samples = samples, .run = run_sweep};
