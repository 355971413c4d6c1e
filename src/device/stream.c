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
#include "device/family.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static const char operation[] = "check request";

/* Maximum size of an array in bytes, as in request.c. */
#define CONSTANT_BYTES (UINT64_C(64) << 10)
#define SHARED_BYTES (UINT64_C(1) << 20)
#define GLOBAL_BYTES (UINT64_C(1) << 46)
#define MAX_PASSES (UINT64_C(1) << 32) /* a generous bound */
/* CUDA's limits of threads per block and of resident blocks per SM, the limit of runner.c for SMs,
 * and the maximum cluster of Hopper and Blackwell. */
enum { MAX_THREADS = 1024, MAX_BLOCKS = 32, MAX_SMS = 1024, MAX_CLUSTER = 16 };
/* Alignment of textures in bytes; no GPU requires more. */
enum { TEXTURE_ALIGNMENT = 512 };
/* Minimum compute capability for clusters: 9.0. */
enum { CLUSTER_CAPABILITY = 90 };

/* Time limit of a launch: min_time_limit_s plus the bytes divided by min_bytes_per_s, a rate that
 * every memory exceeds. A stream that takes longer counts as hung. */
static const double min_time_limit_s = 3, min_bytes_per_s = 1e9;

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
    if (stream->sms > MAX_SMS)
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
    const uint64_t max = stream->path == FTH_PATH_CONSTANT ? CONSTANT_BYTES
                         : stream->path == FTH_PATH_SHARED ? SHARED_BYTES
                                                           : GLOBAL_BYTES;
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
    enum fth_status status = check_shape(stream, error);
    if (status == FTH_OK)
        status = check_cluster(stream, error);
    if (status == FTH_OK)
        status = check_bytes(stream, error);
    if (status != FTH_OK)
        return status;
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
         stream->block_stride_bytes > GLOBAL_BYTES))
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
    if (request->carveout_percent != -1)
        fth_buffer_format(text, "; carveout %d", request->carveout_percent);
    if (request->cold)
        fth_buffer_text(text, "; cold");
}

static uint64_t count_samples(const struct fth_request *request)
{
    (void)request;
    return 3;
}

/* ---- launches ---- */

/* The execution of one stream. */
struct run {
    const struct fth_stream *stream;
    uint32_t blocks;
    int carveout_percent;
    uint64_t arrays_bytes; /* all source arrays, or all target arrays */
    uint64_t piece_bytes;  /* all source and target arrays */
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
static enum fth_status launch(struct fth_runner *runner, const struct run *run, uint64_t source,
                              uint64_t bytes, bool timed, struct fth_error *error)
{
    const struct fth_stream *stream = run->stream;
    const uint64_t block_bytes = stream->threads / 32 * group_bytes(stream);
    const bool all = stream->shared_by_all;
    const uint64_t target =
        stream->path == FTH_PATH_SHARED
            ? (stream->kind == FTH_STREAM_COPY ? bytes : 0)
            : source + (stream->kind == FTH_STREAM_COPY ? (all ? bytes : run->arrays_bytes) : 0);
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
        all ? block_bytes * run->blocks : block_bytes,
        timed && !all,
        timed ? stream->passes : 1,
        timed && runner->facts.concurrent ? runner->stream.control.address : 0,
        runner->stream.control.address + 32,
        run->texture,
    };
    return runner->ops->launch(
        runner->machine,
        &(struct fth_machine_launch){.module = run->module,
                                     .kernel = name,
                                     .blocks = run->blocks,
                                     .threads = stream->threads,
                                     .cluster = stream->cluster,
                                     .shared_bytes = shared_bytes(runner, stream),
                                     .carveout_percent = run->carveout_percent,
                                     .arguments = arguments,
                                     .argument_bytes = sizeof arguments},
        error);
}

/* Brings the L2 into the state described at the top. `*source` is the address of the arrays of the
 * timed stream. */
static enum fth_status prepare(struct fth_runner *runner, const struct run *run, bool cold,
                               uint64_t *source, struct fth_error *error)
{
    struct fth_stream_memory *memory = &runner->stream;
    const struct fth_stream *stream = run->stream;
    *source = memory->pool.address;
    const bool is_resident = stream->shared_by_all && run->piece_bytes <= memory->resident_bytes;
    const bool l2_is_prepared = (memory->last_was_cold || stream->kind == FTH_STREAM_READ) &&
                                memory->last_kind == stream->kind;
    memory->last_was_cold = cold;
    memory->last_kind = stream->kind;
    memory->resident_bytes = !cold && stream->shared_by_all ? run->piece_bytes : 0;
    if (!cold)
        return stream->shared_by_all && !is_resident
                   ? launch(runner, run, *source, stream->bytes, false, error)
                   : FTH_OK;
    enum fth_status status = FTH_OK;
    if (!l2_is_prepared) {
        const uint64_t group = group_bytes(stream), arrays = run->piece_bytes / run->arrays_bytes;
        const uint64_t bytes = (fth_l2_bytes(runner) / arrays + group - 1) / group * group;
        status =
            launch(runner, run, fth_pool_take(&memory->pool, bytes * arrays), bytes, false, error);
    }
    *source = fth_pool_take(&memory->pool, run->piece_bytes);
    return status;
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

static enum fth_status measure(struct fth_runner *runner, const struct run *run, bool cold,
                               uint32_t *samples, struct fth_error *error)
{
    const uint64_t size = run->blocks * sizeof(struct block_times);
    const double moved =
        (double)run->piece_bytes * (double)(run->stream->passes + 1) + (double)fth_l2_bytes(runner);
    struct block_times *times = malloc(size);
    if (!times)
        return fth_no_memory(error, "run experiments", NULL);
    uint64_t source = 0;
    enum fth_status status =
        runner->ops->fill(runner->machine, runner->stream.control.address, 0, 32 + size, error);
    if (status == FTH_OK)
        status = prepare(runner, run, cold, &source, error);
    if (status == FTH_OK)
        status = launch(runner, run, source, run->stream->bytes, true, error);
    if (status == FTH_OK)
        status =
            runner->ops->wait(runner->machine, min_time_limit_s + moved / min_bytes_per_s, error);
    if (status == FTH_OK)
        status = runner->ops->download(runner->machine, times, runner->stream.control.address + 32,
                                       size, error);
    if (status == FTH_OK)
        summarize(times, run->blocks, samples);
    free(times);
    return status;
}

/* ---- requests on this GPU ---- */

/* Fails if this GPU cannot execute the request. */
static enum fth_status check_support(const struct fth_runner *runner, const struct run *run,
                                     struct fth_error *error)
{
    const struct fth_stream *stream = run->stream;
    if (stream->sms > runner->facts.sms)
        return fth_fail(error, FTH_UNSUPPORTED, "stream", NULL,
                        "%" PRIu32 " SMs requested, the GPU has %" PRIu32, stream->sms,
                        runner->facts.sms);
    if (stream->cluster && runner->facts.capability &&
        runner->facts.capability < CLUSTER_CAPABILITY)
        return fth_fail(error, FTH_UNSUPPORTED, "stream", NULL,
                        "clusters require compute capability 9.0 or later");
    if (run->blocks % (stream->cluster ? stream->cluster : 1))
        return fth_fail(error, FTH_UNSUPPORTED, "stream", NULL,
                        "%" PRIu32 " blocks cannot be divided into clusters of %" PRIu32,
                        run->blocks, stream->cluster);
    if (stream->path == FTH_PATH_SHARED && runner->facts.block_shared_bytes &&
        run->piece_bytes / run->blocks > runner->facts.block_shared_bytes)
        return fth_fail(error, FTH_UNSUPPORTED, "stream", NULL,
                        "%" PRIu64 " bytes of shared memory requested, a block can have %" PRIu64,
                        run->piece_bytes / run->blocks, runner->facts.block_shared_bytes);
    if (stream->path == FTH_PATH_TEXTURE && run->arrays_bytes / 4 > runner->facts.texels)
        return fth_fail(error, FTH_UNSUPPORTED, "stream", NULL,
                        "%" PRIu64 " texels requested, the maximum is %" PRIu64,
                        run->arrays_bytes / 4, runner->facts.texels);
    if (run->piece_bytes > GLOBAL_BYTES)
        return fth_fail(error, FTH_UNSUPPORTED, "stream", NULL,
                        "%" PRIu64 " bytes of arrays are too many", run->piece_bytes);
    return FTH_OK;
}

static enum fth_status load(struct fth_runner *runner, const struct fth_stream *stream,
                            struct fth_machine_module **module, struct fth_error *error)
{
    const unsigned width = stream->vector_bytes == 4 ? 0 : stream->vector_bytes == 8 ? 1 : 2;
    const unsigned path = stream->cluster ? FTH_PATH_COUNT : (unsigned)stream->path;
    const struct fth_stream_code code = code_of(stream);
    struct fth_machine_module **cached_module = &runner->stream.modules[stream->kind][path][width];
    enum fth_status status = FTH_OK;
    if (!*cached_module) {
        struct fth_buffer ptx = {0};
        status = fth_kernels_stream(&code, &ptx, error);
        if (status == FTH_OK)
            status = runner->ops->load(runner->machine, "stream", ptx.data, ptx.size, cached_module,
                                       error);
        fth_buffer_fini(&ptx);
    }
    *module = *cached_module;
    return status;
}

void fth_stream_invalidate(struct fth_runner *runner)
{
    runner->stream.pool.next = runner->stream.resident_bytes = 0;
    runner->stream.last_was_cold = false;
}

void fth_stream_release(struct fth_runner *runner)
{
    struct fth_stream_memory *memory = &runner->stream;
    struct fth_machine_module **modules = &memory->modules[0][0][0];
    for (size_t i = 0; i < sizeof memory->modules / sizeof *modules; i++)
        if (modules[i])
            runner->ops->unload(runner->machine, modules[i]);
    fth_pool_release(runner, &memory->pool);
    fth_pool_release(runner, &memory->control);
}

static enum fth_status run_stream(struct fth_runner *runner, struct fth_machine_module *module,
                                  const struct fth_request *request, uint32_t *samples,
                                  struct fth_error *error)
{
    (void)module;
    const struct fth_stream *stream = &request->stream;
    struct fth_stream_memory *memory = &runner->stream;
    struct run run = {.stream = stream,
                      .blocks =
                          (stream->sms ? stream->sms : runner->facts.sms) * stream->blocks_per_sm,
                      .carveout_percent = request->carveout_percent};
    run.arrays_bytes = stream->block_stride_bytes
                           ? stream->block_stride_bytes * (run.blocks - 1) + stream->bytes
                           : stream->bytes * (stream->shared_by_all ? 1 : run.blocks);
    run.piece_bytes = run.arrays_bytes * (stream->kind == FTH_STREAM_COPY ? 2 : 1);
    enum fth_status status = check_support(runner, &run, error);
    if (status == FTH_OK)
        status = load(runner, stream, &run.module, error);
    if (status == FTH_OK)
        status = fth_pool_grow(runner, &memory->control, 32 * ((uint64_t)run.blocks + 1), error);
    if (status == FTH_OK && is_global(stream)) {
        const uint64_t old = memory->pool.bytes;
        const uint64_t want = request->cold ? fth_pool_cold_bytes(runner, run.piece_bytes)
                                            : run.piece_bytes + TEXTURE_ALIGNMENT;
        status = fth_pool_grow(runner, &memory->pool, want, error);
        if (memory->pool.bytes != old)
            fth_stream_invalidate(runner);
    }
    const uint64_t aligned =
        (memory->pool.address + TEXTURE_ALIGNMENT - 1) / TEXTURE_ALIGNMENT * TEXTURE_ALIGNMENT;
    if (status == FTH_OK && stream->path == FTH_PATH_TEXTURE)
        status = runner->ops->texture(runner->machine, aligned, run.arrays_bytes / 4, &run.texture,
                                      error);
    if (status == FTH_OK)
        status = measure(runner, &run, request->cold, samples, error);
    if (run.texture)
        runner->ops->texture_free(runner->machine, run.texture);
    return status;
}

const struct fth_family_ops fth_family_stream = {
    .check = check, .write = write_text, .samples = count_samples, .run = run_stream};
