/* The operate family: the throughput and latency of one operation, which every thread executes
 * repeatedly (kernels/operate.ptx). Examples of the canonical text:
 *
 *   operate fma.f32 chains 8 rounds 64 threads 1024 sms 1 passes 5
 *   operate copy.shared.4 chains 6 rounds 4 threads 256 sms 0 per-sm 2; stride 4
 *   operate red.gpu chains 1 rounds 1 threads 1024 sms 0; stride 128 per-warp blocks 65536
 *
 * As in a chase, members with their default value are left out. */
#include "device/family/family.h"

#include <inttypes.h>
#include <stdlib.h>

static const char operation[] = "check request";

/* Limits of requests. Those of rounds, passes and global memory are generous bounds; the number of
 * blocks per SM is the maximum of all GPUs. */
#define MAX_ROUNDS (UINT64_C(1) << 24)
#define MAX_PASSES (UINT64_C(1) << 16)
enum { MAX_PER_SM = 32 };
enum { WARP_BITS = 5 }; /* log2 of the threads of a warp */
#define GLOBAL_BYTES (UINT64_C(1) << 32)
/* Upper bound for one operation of a thread in seconds, even if all threads of the GPU access the
 * same word. Chosen, not derived. */
static const double max_operation_s = 20e-6;

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
    const uint32_t last = (operate->threads - 1) >> (operate->per_warp ? WARP_BITS : 0);
    return in_memory(operate) ? operate->stride_bytes * last + 8 : 0;
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
        return operate->stride_bytes || operate->block_stride_bytes || operate->per_warp
                   ? fth_fail(error, FTH_INVALID, operation, "operate.stride_bytes",
                              "the operation does not access memory")
                   : FTH_OK;
    if (operate->stride_bytes % width || operate->block_stride_bytes % width)
        return fth_fail(error, FTH_INVALID, operation, "operate.stride_bytes",
                        "%" PRIu64 " or %" PRIu64 " is not a multiple of the %" PRIu64
                        " bytes of an element",
                        operate->stride_bytes, operate->block_stride_bytes, width);
    if (operate->per_warp && !fth_operation_keeps_address(operate->operation))
        return fth_fail(error, FTH_INVALID, operation, "operate.per_warp",
                        "threads cannot share the word of this operation");
    const uint64_t max =
        fth_operation_in_shared(operate->operation) ? FTH_MAX_SHARED_BYTES : GLOBAL_BYTES;
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
    FTH_TRY(fth_check_carveout(request, error));
    return check_strides(operate, error);
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
    if (operate->per_warp)
        fth_buffer_text(text, " per-warp");
    if (operate->block_stride_bytes)
        fth_buffer_format(text, " blocks %" PRIu64, operate->block_stride_bytes);
    if (request->carveout_percent != -1)
        fth_buffer_format(text, "; carveout %d", request->carveout_percent);
}

static bool read_text(struct fth_scanner *scanner, struct fth_request *request)
{
    struct fth_operate *operate = &request->operate;
    operate->passes = 1;
    while (!fth_scan_name(scanner, fth_operation_name(operate->operation)))
        if (++operate->operation == FTH_OPERATIONS)
            return false;
    if (!fth_scan(scanner, " chains ") || !fth_scan_u32(scanner, &operate->chains) ||
        !fth_scan(scanner, " rounds ") || !fth_scan_number(scanner, UINT64_MAX, &operate->rounds) ||
        !fth_scan(scanner, " threads ") || !fth_scan_u32(scanner, &operate->threads) ||
        !fth_scan(scanner, " sms ") || !fth_scan_u32(scanner, &operate->sms))
        return false;
    if (!fth_scan_option_u32(scanner, " per-sm ", &operate->per_sm) ||
        !fth_scan_option(scanner, " passes ", &operate->passes) ||
        !fth_scan_option(scanner, "; stride ", &operate->stride_bytes))
        return false;
    operate->per_warp = fth_scan(scanner, " per-warp");
    return fth_scan_option(scanner, " blocks ", &operate->block_stride_bytes);
}

/* One sample per pass, the median over blocks: the number of blocks is known only to the device
 * where `sms` is 0. */
static uint64_t samples(const struct fth_request *request)
{
    return request->operate.passes;
}

/* ---- running ---- */

/* State of the family: the modules by operation and number of chains; NULL: not loaded yet. */
struct operate_state {
    struct fth_machine_module *modules[FTH_OPERATIONS][FTH_MAX_CHAINS + 1];
};

static enum fth_status open_operate(struct fth_runner *runner, void **state,
                                    struct fth_error *error)
{
    (void)runner;
    *state = calloc(1, sizeof(struct operate_state));
    return *state ? FTH_OK : fth_no_memory(error, "run experiments", NULL);
}

static void release_operate(struct fth_runner *runner, void *state)
{
    struct operate_state *operate = state;
    for (size_t i = 0; i < FTH_OPERATIONS; i++)
        for (size_t j = 0; j < FTH_COUNT(operate->modules[i]); j++)
            if (operate->modules[i][j])
                runner->ops->unload(runner->machine, operate->modules[i][j]);
    free(operate);
}

/* Loads the module of an operation unless it is loaded already. */
static enum fth_status load(struct fth_runner *runner, const struct fth_operate *operate,
                            struct fth_machine_module **module, struct fth_error *error)
{
    if (*module)
        return FTH_OK;
    struct fth_buffer ptx = {0};
    enum fth_status status = fth_kernels_operate(operate->operation, operate->chains, &ptx, error);
    if (status == FTH_OK)
        status = runner->ops->load(runner->machine, fth_operation_name(operate->operation),
                                   ptx.data, ptx.size, module, error);
    fth_buffer_fini(&ptx);
    return status;
}

static int compare(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* What operate.ptx stores: for each block one record with the number of its SM plus 1 (0: the block
 * exited at once), then one record per pass with the clock at its start and end. */
struct operate_record {
    uint32_t sm_or_begin, end;
};

/* Computes the cycles from the start of the first block to the end of the last block of one SM.
 * `from` is the index of the SM's first block. Returns false if the SM did not run exactly
 * `expected_blocks` blocks. */
static bool sm_cycles(const struct operate_record *records, uint32_t blocks, uint64_t passes,
                      uint64_t pass, uint32_t from, uint32_t expected_blocks, uint32_t *cycles)
{
    const struct operate_record *first = &records[from * (passes + 1)];
    const uint32_t origin = first[pass + 1].sm_or_begin;
    int32_t begin = 0, end = 0;
    uint32_t count = 0;
    for (uint32_t i = from; i < blocks; i++) {
        const struct operate_record *block = &records[i * (passes + 1)];
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
static bool sm_seen_before(const struct operate_record *records, uint64_t passes, uint32_t block)
{
    for (uint32_t i = 0; i < block; i++)
        if (records[i * (passes + 1)].sm_or_begin == records[block * (passes + 1)].sm_or_begin)
            return true;
    return false;
}

/* Computes the sample of each pass: the median over blocks, or over SMs if these have several
 * blocks. `values` is a buffer for one value per block. */
static enum fth_status summarize(const struct operate_record *records,
                                 const struct fth_operate *operate, uint32_t blocks,
                                 uint32_t *values, uint32_t *cycles, struct fth_error *error)
{
    const uint32_t expected_blocks = blocks_per_sm(operate);
    const uint64_t passes = operate->passes;
    for (uint64_t pass = 0; pass < passes; pass++) {
        uint32_t count = 0;
        for (uint32_t i = 0; i < blocks; i++) {
            const struct operate_record *block = &records[i * (passes + 1)];
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
                               const struct fth_lowered *lowered, uint32_t *cycles,
                               struct fth_error *error)
{
    const struct fth_operate *operate = &lowered->request->operate;
    const size_t count = lowered->blocks * (operate->passes + 1);
    struct operate_record *records = calloc(count, sizeof *records);
    uint32_t *values = calloc(lowered->blocks, sizeof *values);
    enum fth_status status =
        records && values ? FTH_OK : fth_no_memory(error, "run experiments", NULL);
    if (status == FTH_OK)
        status =
            runner->ops->download(runner->machine, records, from, count * sizeof *records, error);
    if (status == FTH_OK)
        status = summarize(records, operate, lowered->blocks, values, cycles, error);
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

static enum fth_status lower(const struct fth_runner *runner, struct fth_lowered *lowered,
                             struct fth_error *error)
{
    const struct fth_operate *operate = &lowered->request->operate;
    struct fth_lowered_operate *plan = &lowered->operate;
    FTH_TRY(check_support(runner, operate, error));
    const uint32_t per_sm = blocks_per_sm(operate);
    plan->several_per_sm = per_sm > 1;
    lowered->blocks =
        (operate->sms && !plan->several_per_sm ? operate->sms : runner->facts.sms) * per_sm;
    lowered->threads = operate->threads;
    lowered->shared_bytes = fth_operation_in_shared(operate->operation) ? block_bytes(operate) : 0;
    lowered->time_limit_s = FTH_MIN_TIME_LIMIT_S + (double)operate->rounds * FTH_OPERATE_ROUND *
                                                       (double)(operate->passes + 1) * per_sm *
                                                       max_operation_s;
    plan->out_bytes =
        (lowered->blocks * (operate->passes + 1) * sizeof(struct operate_record) + 255) / 256 * 256;
    plan->memory_bytes =
        fth_operation_in_global(operate->operation)
            ? block_bytes(operate) + operate->block_stride_bytes * (lowered->blocks - 1)
            : 0;
    /* For a copy, the kernel takes the distance from source to target in place of the block stride.
     */
    plan->block_stride = fth_operation_copies(operate->operation)
                             ? chain_bytes(operate) * operate->chains
                             : operate->block_stride_bytes;
    return FTH_OK;
}

/* Queues the kernel. `memory` holds the records, followed by the words of the operation. */
static enum fth_status launch(struct fth_runner *runner, const struct fth_lowered *lowered,
                              struct fth_machine_module *module, uint64_t memory,
                              struct fth_error *error)
{
    const struct fth_operate *operate = &lowered->request->operate;
    const struct fth_lowered_operate *plan = &lowered->operate;
    uint64_t first, second;
    fth_operation_operands(operate->operation, &first, &second);
    if (fth_operation_keeps_address(operate->operation))
        second = operate->per_warp ? WARP_BITS : 0;
    const uint64_t arguments[] = {operate->rounds,
                                  operate->passes,
                                  memory,
                                  memory + plan->out_bytes,
                                  operate->stride_bytes,
                                  plan->block_stride,
                                  first,
                                  second,
                                  plan->several_per_sm ? operate->sms : 0,
                                  !plan->several_per_sm};
    struct fth_machine_launch launch = fth_lowered_launch(lowered);
    launch.module = module;
    launch.kernel = "operate";
    launch.arguments = arguments;
    launch.argument_bytes = sizeof arguments;
    return runner->ops->launch(runner->machine, &launch, error);
}

static enum fth_status run(struct fth_runner *runner, struct fth_family_slot *slot,
                           const struct fth_lowered *lowered, uint32_t *cycles,
                           struct fth_error *error)
{
    const struct fth_machine_ops *ops = runner->ops;
    const struct fth_operate *operate = &lowered->request->operate;
    const struct fth_lowered_operate *plan = &lowered->operate;
    struct operate_state *state = slot->state;
    struct fth_machine_module **module = &state->modules[operate->operation][operate->chains];
    uint64_t memory = 0;
    FTH_TRY(load(runner, operate, module, error));
    FTH_TRY(fth_runner_alloc(runner, plan->out_bytes + plan->memory_bytes, &memory, error));
    enum fth_status status = ops->fill(runner->machine, memory, 0, plan->out_bytes, error);
    if (status == FTH_OK)
        status = launch(runner, lowered, *module, memory, error);
    if (status == FTH_OK)
        status = ops->wait(runner->machine, lowered->time_limit_s, error);
    if (status == FTH_OK)
        status = collect(runner, memory, lowered, cycles, error);
    ops->free(runner->machine, memory);
    return status;
}

const struct fth_family_ops fth_family_operate = {.word = "operate",
                                                  .check = check,
                                                  .write = write,
                                                  .read = read_text,
                                                  .samples = samples,
                                                  .lower = lower,
                                                  .disturbs = FTH_DISTURBS_L2,
                                                  .open = open_operate,
                                                  .release = release_operate,
                                                  .run = run};
