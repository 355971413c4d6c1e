/* The stream family: the bandwidth of a cache level or of memory, with a given number of threads
 * (kernels/stream.ptx). Examples of the canonical text:
 *
 *   stream read cg 16777216 2x1024x16 passes 8
 *   stream read ca 32768 each 1x1024x16 passes 64; carveout 0
 *   stream copy cg 67108864 2x1024x16; cold
 *   stream read shared 65536 each 1x1024x16 cluster 2 passes 64; carveout 100
 *
 * The form is "stream KIND PATH BYTES [each [N]] BLOCKSxTHREADSxVECTOR". "each" means that every
 * block has its own array, "each N" that these arrays are N bytes apart. Then follow the members
 * that do not have their default value ("sms 4", "cluster 2", "passes 2", "carveout 0", "cold").
 *
 * The state of the caches at the start of the timed passes:
 *
 * - One array per block: the same launch makes one untimed pass before, because the contents of an
 *   L1 do not survive a launch.
 * - One array for all blocks: a separate launch makes one untimed pass before. The contents of the
 *   L2 survive, so this is skipped if the previous stream has left the array there.
 * - Cold: the array is in no cache. The L2 is full of what a stream of the same kind leaves there.
 *   If necessary, such a stream first accesses other memory of the size of the L2. Cold writes and
 *   copies therefore have to evict modified lines, and cold reads do not. */
#include "device/family/family.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static const char operation[] = "check request";

#define MAX_PASSES (UINT64_C(1) << 32) /* a generous bound */
/* CUDA's limits of threads per block and of resident blocks per SM, and the maximum cluster of
 * Hopper and Blackwell. */
enum { MAX_THREADS = 1024, MAX_BLOCKS = 32, MAX_CLUSTER = 16 };
/* Alignment of textures in bytes; no GPU requires more. */
enum { TEXTURE_ALIGNMENT = 512 };
/* Minimum compute capability for clusters: 9.0. */
enum { CLUSTER_CAPABILITY = 90 };
/* Bytes of the counter with which blocks wait for each other (stream.ptx). The times of the blocks
 * follow it. */
enum { BARRIER_BYTES = 32 };

/* A rate that every memory exceeds, for the time limit. Chosen, not derived. */
static const double min_bytes_per_s = 1e9;

/* ---- requests ---- */

/* The bytes that a warp accesses at a time; the size of an array is a multiple of it. */
static uint64_t group_bytes(const struct fth_stream *stream)
{
    const uint64_t lanes = stream->path == FTH_PATH_CONSTANT ? 1 : 32;
    return lanes * FTH_STREAM_UNROLL * stream->vector_bytes;
}

static bool is_global(const struct fth_stream *stream)
{
    return stream->path != FTH_PATH_CONSTANT && stream->path != FTH_PATH_SHARED;
}

static enum fth_status check_shape(const struct fth_stream *stream, struct fth_error *error)
{
    if (stream->sms > FTH_MAX_SMS)
        return fth_fail(error, FTH_INVALID, operation, "stream.sms", "%" PRIu32 " is too large",
                        stream->sms);
    if (stream->blocks_per_sm == 0 || stream->blocks_per_sm > MAX_BLOCKS)
        return fth_fail(error, FTH_INVALID, operation, "stream.blocks_per_sm",
                        "%" PRIu32 " is not in the range 1 to %d", stream->blocks_per_sm,
                        MAX_BLOCKS);
    if (stream->threads == 0 || stream->threads > MAX_THREADS || stream->threads % 32)
        return fth_fail(error, FTH_INVALID, operation, "stream.threads",
                        "%" PRIu32 " is not a multiple of 32 in the range 32 to %d",
                        stream->threads, MAX_THREADS);
    return FTH_OK;
}

static enum fth_status check_cluster(const struct fth_stream *stream, struct fth_error *error)
{
    const uint32_t size = stream->cluster;
    if (size == 0)
        return FTH_OK;
    if (size < 2 || size > MAX_CLUSTER || size & (size - 1))
        return fth_fail(error, FTH_INVALID, operation, "stream.cluster",
                        "%" PRIu32 " is not a power of two in the range 2 to %d", size,
                        MAX_CLUSTER);
    if (stream->path != FTH_PATH_SHARED || stream->kind == FTH_STREAM_COPY)
        return fth_fail(error, FTH_INVALID, operation, "stream.cluster",
                        "a stream in a cluster can only read or write shared memory");
    if (stream->blocks_per_sm != 1)
        return fth_fail(error, FTH_INVALID, operation, "stream.blocks_per_sm",
                        "must be 1 in a cluster");
    return FTH_OK;
}

static enum fth_status check_bytes(const struct fth_stream *stream, struct fth_error *error)
{
    const uint64_t max = stream->path == FTH_PATH_CONSTANT ? FTH_MAX_CONSTANT_BYTES
                         : stream->path == FTH_PATH_SHARED ? FTH_MAX_SHARED_BYTES
                                                           : FTH_MAX_GLOBAL_BYTES;
    if (stream->bytes == 0 || stream->bytes > max || stream->bytes % group_bytes(stream))
        return fth_fail(error, FTH_INVALID, operation, "stream.bytes",
                        "%" PRIu64 " is not a positive multiple of %" PRIu64 " up to %" PRIu64,
                        stream->bytes, group_bytes(stream), max);
    if (stream->passes == 0 || stream->passes > MAX_PASSES)
        return fth_fail(error, FTH_INVALID, operation, "stream.passes",
                        "%" PRIu64 " is not in the range 1 to %" PRIu64, stream->passes,
                        MAX_PASSES);
    return FTH_OK;
}

static enum fth_status check(const struct fth_request *request, struct fth_error *error)
{
    const struct fth_stream *stream = &request->stream;
    if ((unsigned)stream->kind >= FTH_STREAM_KINDS)
        return fth_fail(error, FTH_INVALID, operation, "stream.kind", "%u is not a kind of stream",
                        (unsigned)stream->kind);
    if ((unsigned)stream->path >= FTH_PATH_COUNT)
        return fth_fail(error, FTH_INVALID, operation, "stream.path", "%u is not a path",
                        (unsigned)stream->path);
    if (!fth_kernels_has_stream(stream->kind, stream->path, 4))
        return fth_fail(error, FTH_INVALID, operation, "stream.path",
                        "a %s must use the path cg or shared", fth_stream_kind_name(stream->kind));
    if (!fth_kernels_has_stream(stream->kind, stream->path, stream->vector_bytes))
        return fth_fail(error, FTH_INVALID, operation, "stream.vector_bytes",
                        "accesses of %" PRIu32 " bytes are not available for the path %s",
                        stream->vector_bytes, fth_path_name(stream->path));
    FTH_TRY(check_shape(stream, error));
    FTH_TRY(check_cluster(stream, error));
    FTH_TRY(check_bytes(stream, error));
    if (stream->shared_by_all && !is_global(stream))
        return fth_fail(error, FTH_INVALID, operation, "stream.shared_by_all",
                        "with the path %s, every block has its own array",
                        fth_path_name(stream->path));
    if (request->cold &&
        (!stream->shared_by_all || stream->passes != 1 || stream->path == FTH_PATH_TEXTURE))
        return fth_fail(error, FTH_INVALID, operation, "cold",
                        "a cold stream must make one pass over one global array for all blocks");
    if (request->sm != FTH_ANY_SM)
        return fth_fail(error, FTH_INVALID, operation, "sm",
                        "the SM cannot be chosen for this family");
    if (stream->block_stride_bytes &&
        (stream->shared_by_all || !is_global(stream) || stream->path == FTH_PATH_TEXTURE ||
         stream->block_stride_bytes % 128 || stream->kind != FTH_STREAM_READ ||
         stream->block_stride_bytes > FTH_MAX_GLOBAL_BYTES))
        return fth_fail(error, FTH_INVALID, operation, "stream.block_stride_bytes",
                        "requires reads of one global array per block and a multiple of 128");
    return fth_check_carveout(request, error);
}

static void write_text(const struct fth_request *request, struct fth_buffer *text)
{
    const struct fth_stream *stream = &request->stream;
    char each[32] = "";
    if (stream->block_stride_bytes)
        snprintf(each, sizeof each, " each %" PRIu64, stream->block_stride_bytes);
    else if (!stream->shared_by_all)
        snprintf(each, sizeof each, " each");
    fth_buffer_format(text, "stream %s %s %" PRIu64 "%s %" PRIu32 "x%" PRIu32 "x%" PRIu32,
                      fth_stream_kind_name(stream->kind), fth_path_name(stream->path),
                      stream->bytes, each, stream->blocks_per_sm, stream->threads,
                      stream->vector_bytes);
    if (stream->sms)
        fth_buffer_format(text, " sms %" PRIu32, stream->sms);
    if (stream->cluster)
        fth_buffer_format(text, " cluster %" PRIu32, stream->cluster);
    if (stream->passes != 1)
        fth_buffer_format(text, " passes %" PRIu64, stream->passes);
    fth_request_write_options(request, text);
}

/* Reads "BLOCKSxTHREADSxVECTOR". */
static bool read_shape(struct fth_scanner *scanner, struct fth_stream *stream)
{
    return fth_scan_u32(scanner, &stream->blocks_per_sm) && fth_scan(scanner, "x") &&
           fth_scan_u32(scanner, &stream->threads) && fth_scan(scanner, "x") &&
           fth_scan_u32(scanner, &stream->vector_bytes);
}

static bool read_text(struct fth_scanner *scanner, struct fth_request *request)
{
    struct fth_stream *stream = &request->stream;
    stream->passes = 1;
    while (!fth_scan_name(scanner, fth_stream_kind_name(stream->kind)))
        if (++stream->kind == FTH_STREAM_KINDS)
            return false;
    if (!fth_scan(scanner, " ") || !fth_scan_path(scanner, &stream->path) ||
        !fth_scan(scanner, " ") || !fth_scan_number(scanner, UINT64_MAX, &stream->bytes))
        return false;
    stream->shared_by_all = !fth_scan(scanner, " each");
    struct fth_scanner ahead = *scanner;
    if (!fth_scan(scanner, " "))
        return false;
    if (!read_shape(scanner, stream)) {
        *scanner = ahead;
        if (!fth_scan_option(scanner, " ", &stream->block_stride_bytes) ||
            !fth_scan(scanner, " ") || !read_shape(scanner, stream))
            return false;
    }
    return fth_scan_option_u32(scanner, " sms ", &stream->sms) &&
           fth_scan_option_u32(scanner, " cluster ", &stream->cluster) &&
           fth_scan_option(scanner, " passes ", &stream->passes);
}

static uint64_t count_samples(const struct fth_request *request)
{
    (void)request;
    return 3;
}

/* ---- launches ---- */

/* State of the family. */
struct stream_state {
    struct fth_pool pool; /* the arrays */
    /* What the last stream left in the L2. After a cold stream, the L2 is full of data of that kind
     * of stream. After another one, it holds the first `resident_bytes` of the pool.
     * FTH_STREAM_KINDS: unknown. */
    enum fth_stream_kind last_kind;
    bool last_was_cold;
    uint64_t resident_bytes;
    struct fth_pool control; /* the barrier and the times of the blocks */
    /* Modules by kind, path (the last row is for clusters) and vector width (4, 8, 16 bytes). NULL:
     * not loaded yet. */
    struct fth_machine_module *modules[FTH_STREAM_KINDS][FTH_PATH_COUNT + 1][3];
};

/* The execution of one stream. */
struct stream_run {
    struct fth_runner *runner;
    struct stream_state *state;
    const struct fth_lowered *lowered;
    uint64_t texture;
    struct fth_machine_module *module;
};

static struct fth_stream_code code_of(const struct fth_stream *stream)
{
    return (struct fth_stream_code){stream->kind, stream->path, stream->vector_bytes,
                                    stream->cluster != 0};
}

/* The shared memory that a block requests. In a cluster it is the maximum, so that no two blocks
 * share an SM. */
static uint64_t shared_bytes(const struct fth_runner *runner, const struct fth_stream *stream)
{
    if (stream->path != FTH_PATH_SHARED)
        return 0;
    if (stream->cluster && runner->facts.block_shared_bytes)
        return runner->facts.block_shared_bytes;
    return stream->bytes * (stream->kind == FTH_STREAM_COPY ? 2 : 1);
}

/* Queues the stream over `bytes` per array from `source` on. If `timed` is false, it makes one pass
 * without time stamps. */
static enum fth_status launch(const struct stream_run *run, uint64_t source, uint64_t bytes,
                              bool timed, struct fth_error *error)
{
    const struct fth_runner *runner = run->runner;
    const struct fth_stream *stream = &run->lowered->request->stream;
    const uint64_t block_bytes = stream->threads / 32 * group_bytes(stream);
    const uint64_t control = run->state->control.address;
    const bool all = stream->shared_by_all, copy = stream->kind == FTH_STREAM_COPY;
    const uint64_t target =
        stream->path == FTH_PATH_SHARED
            ? (copy ? bytes : 0)
            : source + (copy ? (all ? bytes : run->lowered->stream.arrays_bytes) : 0);
    char name[32];
    const struct fth_stream_code code = code_of(stream);
    fth_kernels_stream_name(&code, name);
    const uint64_t arguments[] = {
        stream->path == FTH_PATH_TEXTURE ? 0 : source,
        target,
        all || !is_global(stream)    ? 0
        : stream->block_stride_bytes ? stream->block_stride_bytes
                                     : bytes,
        all ? block_bytes : 0,
        bytes,
        all ? block_bytes * run->lowered->blocks : block_bytes,
        timed && !all,
        timed ? stream->passes : 1,
        timed && runner->facts.concurrent ? control : 0,
        control + BARRIER_BYTES,
        run->texture,
    };
    struct fth_machine_launch launch = fth_lowered_launch(run->lowered);
    launch.module = run->module;
    launch.kernel = name;
    launch.arguments = arguments;
    launch.argument_bytes = sizeof arguments;
    return runner->ops->launch(runner->machine, &launch, error);
}

/* Brings the L2 into the state described at the top. `*source` is the address of the arrays of the
 * timed stream. */
static enum fth_status prepare(const struct stream_run *run, uint64_t *source,
                               struct fth_error *error)
{
    struct stream_state *state = run->state;
    const struct fth_lowered_stream *plan = &run->lowered->stream;
    const struct fth_stream *stream = &run->lowered->request->stream;
    const bool cold = run->lowered->request->cold;
    *source = state->pool.address;
    const bool is_resident = stream->shared_by_all && plan->piece_bytes <= state->resident_bytes;
    const bool l2_is_prepared = (state->last_was_cold || stream->kind == FTH_STREAM_READ) &&
                                state->last_kind == stream->kind;
    state->last_was_cold = cold;
    state->last_kind = stream->kind;
    state->resident_bytes = !cold && stream->shared_by_all ? plan->piece_bytes : 0;
    if (!cold)
        return stream->shared_by_all && !is_resident
                   ? launch(run, *source, stream->bytes, false, error)
                   : FTH_OK;
    if (!l2_is_prepared) {
        const uint64_t group = group_bytes(stream),
                       arrays = stream->kind == FTH_STREAM_COPY ? 2 : 1;
        const uint64_t bytes =
            (fth_runner_l2_bytes(run->runner) / arrays + group - 1) / group * group;
        FTH_TRY(launch(run, fth_pool_take(&state->pool, bytes * arrays), bytes, false, error));
    }
    *source = fth_pool_take(&state->pool, plan->piece_bytes);
    return FTH_OK;
}

/* What stream.ptx stores for each block. */
struct block_times {
    uint64_t begin_ns, end_ns;
    uint32_t cycles, tick_ns;
    uint64_t unused;
};
_Static_assert(sizeof(struct block_times) == 32, "stream.ptx writes 32 bytes per block");

static int compare_cycles(const void *a, const void *b)
{
    const uint32_t x = ((const struct block_times *)a)->cycles;
    const uint32_t y = ((const struct block_times *)b)->cycles;
    return (x > y) - (x < y);
}

/* Computes the three samples from the blocks' times. Where the kernel did not measure the
 * resolution of the timer (tick_ns is 0), it is taken as 1 ns. */
static void summarize(struct block_times *times, uint32_t blocks, uint32_t *samples)
{
    uint64_t begin = UINT64_MAX, end = 0;
    for (uint32_t i = 0; i < blocks; i++) {
        begin = times[i].begin_ns < begin ? times[i].begin_ns : begin;
        end = times[i].end_ns > end ? times[i].end_ns : end;
    }
    const uint64_t ns = end > begin ? end - begin : 0;
    samples[0] = ns < UINT32_MAX ? (uint32_t)ns : UINT32_MAX;
    samples[2] = times[0].tick_ns ? times[0].tick_ns : 1;
    qsort(times, blocks, sizeof *times, compare_cycles);
    samples[1] = times[blocks / 2].cycles;
}

static enum fth_status measure(const struct stream_run *run, uint32_t *samples,
                               struct fth_error *error)
{
    const struct fth_runner *runner = run->runner;
    const struct fth_lowered *lowered = run->lowered;
    const uint64_t size = lowered->blocks * sizeof(struct block_times);
    const uint64_t control = run->state->control.address;
    struct block_times *times = malloc(size);
    if (!times)
        return fth_no_memory(error, "run experiments", NULL);
    uint64_t source = 0;
    enum fth_status status =
        runner->ops->fill(runner->machine, control, 0, BARRIER_BYTES + size, error);
    if (status == FTH_OK)
        status = prepare(run, &source, error);
    if (status == FTH_OK)
        status = launch(run, source, lowered->request->stream.bytes, true, error);
    if (status == FTH_OK)
        status = runner->ops->wait(runner->machine, lowered->time_limit_s, error);
    if (status == FTH_OK)
        status =
            runner->ops->download(runner->machine, times, control + BARRIER_BYTES, size, error);
    if (status == FTH_OK)
        summarize(times, lowered->blocks, samples);
    free(times);
    return status;
}

/* ---- requests on this GPU ---- */

/* Fails if this GPU cannot execute the request. */
static enum fth_status check_support(const struct fth_machine_facts *facts,
                                     const struct fth_lowered *lowered, struct fth_error *error)
{
    const struct fth_stream *stream = &lowered->request->stream;
    const struct fth_lowered_stream *plan = &lowered->stream;
    if (stream->sms > facts->sms)
        return fth_fail(error, FTH_UNSUPPORTED, "stream", NULL,
                        "%" PRIu32 " SMs requested, the GPU has %" PRIu32, stream->sms, facts->sms);
    if (stream->cluster && facts->capability && facts->capability < CLUSTER_CAPABILITY)
        return fth_fail(error, FTH_UNSUPPORTED, "stream", NULL,
                        "clusters require compute capability 9.0 or later");
    if (lowered->blocks % (stream->cluster ? stream->cluster : 1))
        return fth_fail(error, FTH_UNSUPPORTED, "stream", NULL,
                        "%" PRIu32 " blocks cannot be divided into clusters of %" PRIu32,
                        lowered->blocks, stream->cluster);
    if (stream->path == FTH_PATH_SHARED && facts->block_shared_bytes &&
        plan->piece_bytes / lowered->blocks > facts->block_shared_bytes)
        return fth_fail(error, FTH_UNSUPPORTED, "stream", NULL,
                        "%" PRIu64 " bytes of shared memory requested, a block can have %" PRIu64,
                        plan->piece_bytes / lowered->blocks, facts->block_shared_bytes);
    if (stream->path == FTH_PATH_TEXTURE && plan->arrays_bytes / 4 > facts->texels)
        return fth_fail(error, FTH_UNSUPPORTED, "stream", NULL,
                        "%" PRIu64 " texels requested, the maximum is %" PRIu64,
                        plan->arrays_bytes / 4, facts->texels);
    if (plan->piece_bytes > FTH_MAX_GLOBAL_BYTES)
        return fth_fail(error, FTH_UNSUPPORTED, "stream", NULL,
                        "%" PRIu64 " bytes of arrays are too many", plan->piece_bytes);
    return FTH_OK;
}

static enum fth_status lower(const struct fth_runner *runner, struct fth_lowered *lowered,
                             struct fth_error *error)
{
    const struct fth_stream *stream = &lowered->request->stream;
    struct fth_lowered_stream *plan = &lowered->stream;
    lowered->blocks = (stream->sms ? stream->sms : runner->facts.sms) * stream->blocks_per_sm;
    lowered->threads = stream->threads;
    lowered->cluster = stream->cluster;
    lowered->shared_bytes = shared_bytes(runner, stream);
    plan->arrays_bytes = stream->block_stride_bytes
                             ? stream->block_stride_bytes * (lowered->blocks - 1) + stream->bytes
                             : stream->bytes * (stream->shared_by_all ? 1 : lowered->blocks);
    plan->piece_bytes = plan->arrays_bytes * (stream->kind == FTH_STREAM_COPY ? 2 : 1);
    if (is_global(stream))
        plan->pool_bytes = lowered->request->cold ? fth_pool_cold_bytes(runner, plan->piece_bytes)
                                                  : plan->piece_bytes + TEXTURE_ALIGNMENT;
    const double moved = (double)plan->piece_bytes * (double)(stream->passes + 1) +
                         (double)fth_runner_l2_bytes(runner);
    lowered->time_limit_s = FTH_MIN_TIME_LIMIT_S + moved / min_bytes_per_s;
    return check_support(&runner->facts, lowered, error);
}

/* ---- running ---- */

/* After the arrays have moved, the L2 holds nothing of them. What it holds is still of the kind of
 * the last stream. */
static void forget_arrays(struct stream_state *state)
{
    state->pool.next = state->resident_bytes = 0;
    state->last_was_cold = false;
}

/* The work of another family leaves data of an unknown kind in the L2. */
static void disturb_stream(void *memory, unsigned what)
{
    struct stream_state *state = memory;
    if (!(what & FTH_DISTURBS_L2))
        return;
    forget_arrays(state);
    state->last_kind = FTH_STREAM_KINDS;
}

static enum fth_status open_stream(struct fth_runner *runner, void **state, struct fth_error *error)
{
    (void)runner;
    *state = calloc(1, sizeof(struct stream_state));
    if (!*state)
        return fth_no_memory(error, "run experiments", NULL);
    disturb_stream(*state, FTH_DISTURBS_L2);
    return FTH_OK;
}

static void release_stream(struct fth_runner *runner, void *memory)
{
    struct stream_state *state = memory;
    struct fth_machine_module **modules = &state->modules[0][0][0];
    for (size_t i = 0; i < sizeof state->modules / sizeof *modules; i++)
        if (modules[i])
            runner->ops->unload(runner->machine, modules[i]);
    fth_pool_release(runner, &state->pool);
    fth_pool_release(runner, &state->control);
    free(state);
}

static enum fth_status request_ptx(const struct fth_request *request, struct fth_buffer *ptx,
                                   struct fth_error *error)
{
    const struct fth_stream_code code = code_of(&request->stream);
    return fth_kernels_stream(&code, ptx, error);
}

/* Returns the module of a stream; loads it on first use. */
static enum fth_status load(struct stream_run *run, struct fth_error *error)
{
    const struct fth_runner *runner = run->runner;
    const struct fth_stream *stream = &run->lowered->request->stream;
    const unsigned width = stream->vector_bytes == 4 ? 0 : stream->vector_bytes == 8 ? 1 : 2;
    const unsigned path = stream->cluster ? FTH_PATH_COUNT : (unsigned)stream->path;
    struct fth_machine_module **cached_module = &run->state->modules[stream->kind][path][width];
    enum fth_status status = FTH_OK;
    if (!*cached_module) {
        struct fth_buffer ptx = {0};
        status = request_ptx(run->lowered->request, &ptx, error);
        if (status == FTH_OK)
            status = runner->ops->load(runner->machine, "stream", ptx.data, ptx.size, cached_module,
                                       error);
        fth_buffer_fini(&ptx);
    }
    run->module = *cached_module;
    return status;
}

/* Ensures that there is memory for the arrays and the times of the blocks. */
static enum fth_status reserve(const struct stream_run *run, struct fth_error *error)
{
    struct stream_state *state = run->state;
    const uint64_t control_bytes =
        BARRIER_BYTES + run->lowered->blocks * sizeof(struct block_times);
    FTH_TRY(fth_pool_grow(run->runner, &state->control, control_bytes, error));
    const uint64_t old = state->pool.bytes;
    enum fth_status status =
        fth_pool_grow(run->runner, &state->pool, run->lowered->stream.pool_bytes, error);
    if (state->pool.bytes != old)
        forget_arrays(state);
    return status;
}

static enum fth_status run_stream(struct fth_runner *runner, struct fth_family_slot *slot,
                                  const struct fth_lowered *lowered, uint32_t *samples,
                                  struct fth_error *error)
{
    struct stream_run run = {.runner = runner, .state = slot->state, .lowered = lowered};
    FTH_TRY(load(&run, error));
    FTH_TRY(reserve(&run, error));
    if (lowered->request->stream.path == FTH_PATH_TEXTURE) {
        const uint64_t aligned = (run.state->pool.address + TEXTURE_ALIGNMENT - 1) /
                                 TEXTURE_ALIGNMENT * TEXTURE_ALIGNMENT;
        FTH_TRY(runner->ops->texture(runner->machine, aligned, lowered->stream.arrays_bytes / 4,
                                     &run.texture, error));
    }
    enum fth_status status = measure(&run, samples, error);
    if (run.texture)
        runner->ops->texture_free(runner->machine, run.texture);
    return status;
}

const struct fth_family_ops fth_family_stream = {.word = "stream",
                                                 .check = check,
                                                 .write = write_text,
                                                 .read = read_text,
                                                 .samples = count_samples,
                                                 .lower = lower,
                                                 .open = open_stream,
                                                 .release = release_stream,
                                                 .request_ptx = request_ptx,
                                                 .disturbs = FTH_DISTURBS_L2,
                                                 .disturb = disturb_stream,
                                                 .run = run_stream};
