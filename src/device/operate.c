/* The operate family: the throughput and latency of one operation, which every thread executes
 * repeatedly (kernels/operate.ptx). Examples of the canonical text:
 *
 *   operate fma.f32 chains 8 rounds 64 threads 1024 sms 1 passes 5
 *   operate copy.shared.4 chains 6 rounds 4 threads 256 sms 0 per-sm 2; stride 4
 *
 * As in request.c, members with their default value are left out. */
#include "device/family.h"

#include <inttypes.h>
#include <stdlib.h>

static const char operation[] = "check request";

/* Limits of requests. Those of rounds, passes and global memory are generous bounds, the number of
 * blocks per SM is the maximum of all GPUs, and the limit of shared memory is larger than that of
 * any GPU. */
#define MAX_ROUNDS (UINT64_C(1) << 24)
#define MAX_PASSES (UINT64_C(1) << 16)
enum { MAX_PER_SM = 32 };
#define SHARED_BYTES (UINT64_C(1) << 20)
#define GLOBAL_BYTES (UINT64_C(1) << 32)
/* Time limit of a launch in seconds: min_time_limit_s plus max_operation_s per operation of a
 * thread. max_operation_s is an upper bound, even if all threads of the GPU access the same word. A
 * launch that takes longer counts as hung. */
static const double max_operation_s = 20e-6, min_time_limit_s = 3;

/* Whether the operation accesses shared or global memory. */
static bool in_memory(const struct fth_operate *operate)
{
    return fth_operation_in_shared(operate->operation) ||
           fth_operation_in_global(operate->operation);
}

/* The bytes from the first word of one dependency chain of a copy to that of the next. */
static uint64_t chain_bytes(const struct fth_operate *operate)
{
    return operate->stride_bytes * operate->threads;
}

/* The bytes of memory that a block uses. Each chain of a copy has words to read and words to write.
 */
static uint64_t block_bytes(const struct fth_operate *operate)
{
    if (fth_operation_copies(operate->operation))
        return 2 * chain_bytes(operate) * operate->chains;
    return in_memory(operate) ? operate->stride_bytes * (operate->threads - 1) + 8 : 0;
}

static uint32_t blocks_per_sm(const struct fth_operate *operate)
{
    return operate->per_sm ? operate->per_sm : 1;
}

static enum fth_status check_strides(const struct fth_operate *operate, struct fth_error *error)
{
    const uint64_t width = fth_operation_bytes(operate->operation);
    const bool copies = fth_operation_copies(operate->operation);
    if (!in_memory(operate))
        return operate->stride_bytes || operate->block_stride_bytes
                   ? fth_fail(error, FTH_INVALID, operation, "operate.stride_bytes",
                              "the operation does not access memory")
                   : FTH_OK;
    if (operate->stride_bytes % width || operate->block_stride_bytes % width)
        return fth_fail(error, FTH_INVALID, operation, "operate.stride_bytes",
                        "%" PRIu64 " or %" PRIu64 " is not a multiple of the %" PRIu64
                        " bytes of an element",
                        operate->stride_bytes, operate->block_stride_bytes, width);
    const uint64_t max = fth_operation_in_shared(operate->operation) ? SHARED_BYTES : GLOBAL_BYTES;
    if (copies && operate->stride_bytes == 0)
        return fth_fail(error, FTH_INVALID, operation, "operate.stride_bytes",
                        "a copy needs a stride, so that each thread has its own words");
    if (operate->stride_bytes > max / operate->threads / (copies ? 2 * operate->chains : 1) ||
        operate->block_stride_bytes > GLOBAL_BYTES)
        return fth_fail(error, FTH_INVALID, operation, "operate.stride_bytes",
                        "%" PRIu32 " threads with a stride of %" PRIu64
                        " bytes need more than %" PRIu64 " bytes of memory",
                        operate->threads, operate->stride_bytes, max);
    return FTH_OK;
}

static enum fth_status check(const struct fth_request *request, struct fth_error *error)
{
    const struct fth_operate *operate = &request->operate;
    if ((unsigned)operate->operation >= FTH_OPERATIONS)
        return fth_fail(error, FTH_INVALID, operation, "operate.operation", "unknown operation");
    if (operate->chains < 1 || operate->chains > FTH_MAX_CHAINS)
        return fth_fail(error, FTH_INVALID, operation, "operate.chains",
                        "%" PRIu32 " is not in the range 1 to %d", operate->chains, FTH_MAX_CHAINS);
    if (operate->per_sm > MAX_PER_SM)
        return fth_fail(error, FTH_INVALID, operation, "operate.per_sm",
                        "%" PRIu32 " is not in the range 1 to %d", operate->per_sm, MAX_PER_SM);
    if (operate->rounds < 1 || operate->rounds > MAX_ROUNDS)
        return fth_fail(error, FTH_INVALID, operation, "operate.rounds",
                        "%" PRIu64 " is not in the range 1 to %" PRIu64, operate->rounds,
                        MAX_ROUNDS);
    if (operate->passes < 1 || operate->passes > MAX_PASSES)
        return fth_fail(error, FTH_INVALID, operation, "operate.passes",
                        "%" PRIu64 " is not in the range 1 to %" PRIu64, operate->passes,
                        MAX_PASSES);
    if (operate->threads < 1 || operate->threads > 1024)
        return fth_fail(error, FTH_INVALID, operation, "operate.threads",
                        "%" PRIu32 " is not in the range 1 to 1024", operate->threads);
    if (request->sm != FTH_ANY_SM)
        return fth_fail(error, FTH_INVALID, operation, "sm",
                        "the SM cannot be chosen for this family");
    if (request->cold)
        return fth_fail(error, FTH_INVALID, operation, "cold", "not available for this family");
    enum fth_status status = fth_check_carveout(request, error);
    return status == FTH_OK ? check_strides(operate, error) : status;
}

static void write(const struct fth_request *request, struct fth_buffer *text)
{
    const struct fth_operate *operate = &request->operate;
    fth_buffer_format(
        text, "operate %s chains %" PRIu32 " rounds %" PRIu64 " threads %" PRIu32 " sms %" PRIu32,
        fth_operation_name(operate->operation), operate->chains, operate->rounds, operate->threads,
        operate->sms);
    if (blocks_per_sm(operate) != 1)
        fth_buffer_format(text, " per-sm %" PRIu32, operate->per_sm);
    if (operate->passes != 1)
        fth_buffer_format(text, " passes %" PRIu64, operate->passes);
    if (in_memory(operate))
        fth_buffer_format(text, "; stride %" PRIu64, operate->stride_bytes);
    if (operate->block_stride_bytes)
        fth_buffer_format(text, " blocks %" PRIu64, operate->block_stride_bytes);
    if (request->carveout_percent != -1)
        fth_buffer_format(text, "; carveout %d", request->carveout_percent);
}

/* One sample per pass, the median over blocks: the number of blocks is known only to the device
 * where `sms` is 0. */
static uint64_t samples(const struct fth_request *request)
{
    return request->operate.passes;
}

/* ---- running ---- */

static enum fth_status load(struct fth_runner *runner, const struct fth_operate *operate,
                            struct fth_machine_module **module, struct fth_error *error)
{
    struct fth_machine_module **cached_module =
        &runner->operate[operate->operation][operate->chains];
    enum fth_status status = FTH_OK;
    if (!*cached_module) {
        struct fth_buffer ptx = {0};
        status = fth_kernels_operate(operate->operation, operate->chains, &ptx, error);
        if (status == FTH_OK)
            status = runner->ops->load(runner->machine, fth_operation_name(operate->operation),
                                       ptx.data, ptx.size, cached_module, error);
        fth_buffer_fini(&ptx);
    }
    *module = *cached_module;
    return status;
}

void fth_operate_release(struct fth_runner *runner)
{
    for (size_t i = 0; i < FTH_OPERATIONS; i++)
        for (size_t j = 0; j < FTH_COUNT(runner->operate[i]); j++)
            if (runner->operate[i][j])
                runner->ops->unload(runner->machine, runner->operate[i][j]);
}

static int compare(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* What operate.ptx stores: for each block one record with the number of its SM plus 1 (0: the block
 * exited at once), then one record per pass with the clock at its start and end. */
struct record {
    uint32_t sm_or_begin, end;
};

/* Computes the cycles from the start of the first block to the end of the last block of one SM.
 * `from` is the index of the SM's first block. Returns false if the SM did not run exactly
 * `expected_blocks` blocks. */
static bool sm_cycles(const struct record *records, uint32_t blocks, uint64_t passes, uint64_t pass,
                      uint32_t from, uint32_t expected_blocks, uint32_t *cycles)
{
    const struct record *first = &records[from * (passes + 1)];
    const uint32_t origin = first[pass + 1].sm_or_begin;
    int32_t begin = 0, end = 0;
    uint32_t count = 0;
    for (uint32_t i = from; i < blocks; i++) {
        const struct record *block = &records[i * (passes + 1)];
        if (block->sm_or_begin != first->sm_or_begin)
            continue;
        const int32_t begun = (int32_t)(block[pass + 1].sm_or_begin - origin);
        const int32_t ended = (int32_t)(block[pass + 1].end - origin);
        begin = begun < begin ? begun : begin;
        end = ended > end ? ended : end;
        count++;
    }
    *cycles = (uint32_t)(end - begin);
    return first->sm_or_begin != 0 && count == expected_blocks;
}

/* Whether a block with a lower index ran on the same SM. */
static bool sm_seen_before(const struct record *records, uint64_t passes, uint32_t block)
{
    for (uint32_t i = 0; i < block; i++)
        if (records[i * (passes + 1)].sm_or_begin == records[block * (passes + 1)].sm_or_begin)
            return true;
    return false;
}

/* Computes the sample of each pass: the median over blocks, or over SMs if these have several
 * blocks. `values` is a buffer for one value per block. */
static enum fth_status summarize(const struct record *records, const struct fth_operate *operate,
                                 uint32_t blocks, uint32_t *values, uint32_t *cycles,
                                 struct fth_error *error)
{
    const uint32_t expected_blocks = blocks_per_sm(operate);
    const uint64_t passes = operate->passes;
    for (uint64_t pass = 0; pass < passes; pass++) {
        uint32_t count = 0;
        for (uint32_t i = 0; i < blocks; i++) {
            const struct record *block = &records[i * (passes + 1)];
            if (expected_blocks == 1)
                values[count++] = block[pass + 1].end - block[pass + 1].sm_or_begin;
            else if (!sm_seen_before(records, passes, i) &&
                     sm_cycles(records, blocks, passes, pass, i, expected_blocks, &values[count]))
                count++;
        }
        if (count == 0)
            return fth_fail(error, FTH_UNAVAILABLE, "run experiments", NULL,
                            "no SM received %" PRIu32 " blocks", expected_blocks);
        qsort(values, count, sizeof *values, compare);
        cycles[pass] = values[count / 2];
    }
    return FTH_OK;
}

static enum fth_status collect(struct fth_runner *runner, uint64_t from,
                               const struct fth_operate *operate, uint32_t blocks, uint32_t *cycles,
                               struct fth_error *error)
{
    const size_t count = blocks * (operate->passes + 1);
    struct record *records = calloc(count, sizeof *records);
    uint32_t *values = calloc(blocks, sizeof *values);
    enum fth_status status = FTH_OK;
    if (records && values) {
        status =
            runner->ops->download(runner->machine, records, from, count * sizeof *records, error);
        if (status == FTH_OK)
            status = summarize(records, operate, blocks, values, cycles, error);
    } else {
        status = fth_no_memory(error, "run experiments", NULL);
    }
    free(records);
    free(values);
    return status;
}

/* Fails if this GPU cannot execute the request. */
static enum fth_status check_support(const struct fth_runner *runner,
                                     const struct fth_operate *operate, struct fth_error *error)
{
    const unsigned min = fth_operation_capability(operate->operation);
    const uint64_t shared = runner->facts.block_shared_bytes;
    if (runner->facts.capability && runner->facts.capability < min)
        return fth_fail(error, FTH_UNSUPPORTED, "run experiments", NULL,
                        "%s requires compute capability %u.%u or later",
                        fth_operation_name(operate->operation), min / 10, min % 10);
    if (fth_operation_in_shared(operate->operation) && shared && block_bytes(operate) > shared)
        return fth_fail(error, FTH_UNSUPPORTED, "run experiments", NULL,
                        "the request needs more shared memory than a block can have");
    if (operate->sms > runner->facts.sms)
        return fth_fail(error, FTH_UNSUPPORTED, "run experiments", NULL,
                        "the GPU has fewer SMs than requested");
    return FTH_OK;
}

static enum fth_status run(struct fth_runner *runner, struct fth_machine_module *unused,
                           const struct fth_request *request, uint32_t *cycles,
                           struct fth_error *error)
{
    (void)unused;
    const struct fth_machine_ops *ops = runner->ops;
    const struct fth_operate *operate = &request->operate;
    /* The hardware distributes blocks over all SMs in turn. For several blocks per SM, all SMs
     * therefore receive blocks, and those on SMs with a number of `sms` or above exit at once. */
    const bool several_per_sm = blocks_per_sm(operate) > 1;
    const uint32_t blocks = (operate->sms && !several_per_sm ? operate->sms : runner->facts.sms) *
                            blocks_per_sm(operate);
    const uint64_t out_bytes =
        (blocks * (operate->passes + 1) * sizeof(struct record) + 255) / 256 * 256;
    const uint64_t memory_bytes =
        fth_operation_in_global(operate->operation)
            ? block_bytes(operate) + operate->block_stride_bytes * (blocks - 1)
            : 0;
    uint64_t memory = 0, first, second;
    struct fth_machine_module *module = NULL;
    enum fth_status status = check_support(runner, operate, error);
    if (status == FTH_OK)
        status = load(runner, operate, &module, error);
    if (status == FTH_OK)
        status = ops->alloc(runner->machine, out_bytes + memory_bytes, &memory, error);
    if (status == FTH_NO_MEMORY)
        return FTH_UNAVAILABLE;
    if (status == FTH_OK)
        status = ops->fill(runner->machine, memory, 0, out_bytes, error);
    fth_operation_operands(operate->operation, &first, &second);
    /* For a copy, the kernel takes the distance from source to target in place of the block stride.
     */
    const uint64_t block_stride = fth_operation_copies(operate->operation)
                                      ? chain_bytes(operate) * operate->chains
                                      : operate->block_stride_bytes;
    const uint64_t arguments[] = {operate->rounds,
                                  operate->passes,
                                  memory,
                                  memory + out_bytes,
                                  operate->stride_bytes,
                                  block_stride,
                                  first,
                                  second,
                                  several_per_sm ? operate->sms : 0,
                                  !several_per_sm};
    const struct fth_machine_launch launch = {
        .module = module,
        .kernel = "operate",
        .blocks = blocks,
        .threads = operate->threads,
        .shared_bytes = fth_operation_in_shared(operate->operation) ? block_bytes(operate) : 0,
        .carveout_percent = request->carveout_percent,
        .arguments = arguments,
        .argument_bytes = sizeof arguments};
    if (status == FTH_OK)
        status = ops->launch(runner->machine, &launch, error);
    const double operations = (double)operate->rounds * FTH_OPERATE_ROUND *
                              (double)(operate->passes + 1) * blocks_per_sm(operate);
    if (status == FTH_OK)
        status = ops->wait(runner->machine, min_time_limit_s + operations * max_operation_s, error);
    if (status == FTH_OK)
        status = collect(runner, memory, operate, blocks, cycles, error);
    if (memory)
        ops->free(runner->machine, memory);
    return status;
}

const struct fth_family_ops fth_family_operate = {
    .check = check, .write = write, .samples = samples, .run = run};
