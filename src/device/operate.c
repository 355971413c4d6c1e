/* The operate family: one operation over and over (kernels/operate.ptx). Its canonical text:
 *
 *   operate fma.f32 chains 8 rounds 64 threads 1024 sms 1 passes 5; stride 4
 *   operate copy.shared.4 chains 6 rounds 4 threads 256 sms 0 per-sm 2; stride 4
 *
 * and, as in request.c, what is not as usual. */
#include "device/family.h"

#include <inttypes.h>
#include <stdlib.h>

static const char operation[] = "check request";

#define MAX_ROUNDS (UINT64_C(1) << 24)
#define MAX_PASSES (UINT64_C(1) << 16)
enum { MAX_PER_SM = 32 };
#define SHARED_BYTES (UINT64_C(1) << 20)
#define GLOBAL_BYTES (UINT64_C(1) << 32)
/* No operation takes longer, with every thread of the GPU after the same place. */
static const double slowest_s = 20e-6, shortest_limit_s = 3;

static bool in_memory(const struct fth_operate *operate)
{
    return fth_operation_in_shared(operate->operation) ||
           fth_operation_in_global(operate->operation);
}

/* What the places of a chain extend to, from the first of one to that of the next. */
static uint64_t chain_bytes(const struct fth_operate *operate)
{
    return operate->stride_bytes * operate->threads;
}

/* What the places of a block extend to. Of a copy, all chains have some to read and some to write.
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

static enum fth_status check_places(const struct fth_operate *operate, struct fth_error *error)
{
    const uint64_t width = fth_operation_bytes(operate->operation);
    const bool copies = fth_operation_copies(operate->operation);
    if (!in_memory(operate))
        return operate->stride_bytes || operate->block_stride_bytes
                   ? fth_fail(error, FTH_INVALID, operation, "operate.stride_bytes",
                              "the operation goes to no memory")
                   : FTH_OK;
    if (operate->stride_bytes % width || operate->block_stride_bytes % width)
        return fth_fail(error, FTH_INVALID, operation, "operate.stride_bytes",
                        "%" PRIu64 " or %" PRIu64 " is not a multiple of the %" PRIu64
                        " bytes of an element",
                        operate->stride_bytes, operate->block_stride_bytes, width);
    const uint64_t max = fth_operation_in_shared(operate->operation) ? SHARED_BYTES : GLOBAL_BYTES;
    if (copies && operate->stride_bytes == 0)
        return fth_fail(error, FTH_INVALID, operation, "operate.stride_bytes",
                        "threads that copy have places of their own");
    if (operate->stride_bytes > max / operate->threads / (copies ? 2 * operate->chains : 1) ||
        operate->block_stride_bytes > GLOBAL_BYTES)
        return fth_fail(error, FTH_INVALID, operation, "operate.stride_bytes",
                        "%" PRIu32 " threads %" PRIu64 " bytes apart are beyond %" PRIu64 " bytes",
                        operate->threads, operate->stride_bytes, max);
    return FTH_OK;
}

static enum fth_status check(const struct fth_request *request, struct fth_error *error)
{
    const struct fth_operate *operate = &request->operate;
    if ((unsigned)operate->operation >= FTH_OPERATIONS)
        return fth_fail(error, FTH_INVALID, operation, "operate.operation", "there is no such");
    if (operate->chains < 1 || operate->chains > FTH_MAX_CHAINS)
        return fth_fail(error, FTH_INVALID, operation, "operate.chains",
                        "%" PRIu32 " is not within 1 to %d", operate->chains, FTH_MAX_CHAINS);
    if (operate->per_sm > MAX_PER_SM)
        return fth_fail(error, FTH_INVALID, operation, "operate.per_sm",
                        "%" PRIu32 " is not within 1 to %d", operate->per_sm, MAX_PER_SM);
    if (operate->rounds < 1 || operate->rounds > MAX_ROUNDS)
        return fth_fail(error, FTH_INVALID, operation, "operate.rounds",
                        "%" PRIu64 " is not within 1 to %" PRIu64, operate->rounds, MAX_ROUNDS);
    if (operate->passes < 1 || operate->passes > MAX_PASSES)
        return fth_fail(error, FTH_INVALID, operation, "operate.passes",
                        "%" PRIu64 " is not within 1 to %" PRIu64, operate->passes, MAX_PASSES);
    if (operate->threads < 1 || operate->threads > 1024)
        return fth_fail(error, FTH_INVALID, operation, "operate.threads",
                        "%" PRIu32 " is not within 1 to 1024", operate->threads);
    if (request->sm != FTH_ANY_SM)
        return fth_fail(error, FTH_INVALID, operation, "sm", "the GPU chooses where blocks run");
    if (request->cold)
        return fth_fail(error, FTH_INVALID, operation, "cold", "the operations meet what is there");
    enum fth_status status = fth_check_carveout(request, error);
    return status == FTH_OK ? check_places(operate, error) : status;
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

/* One block's samples after the other's; how many blocks there are only the device knows where
 * `sms` is 0, so that then there is the median over blocks, one a pass. */
static uint64_t samples(const struct fth_request *request)
{
    return request->operate.passes;
}

/* ---- running ---- */

static enum fth_status load(struct fth_batch *batch, const struct fth_operate *operate,
                            struct fth_machine_module **module, struct fth_error *error)
{
    struct fth_machine_module **kept = &batch->operate[operate->operation][operate->chains];
    enum fth_status status = FTH_OK;
    if (!*kept) {
        struct fth_buffer ptx = {0};
        status = fth_kernels_operate(operate->operation, operate->chains, &ptx, error);
        if (status == FTH_OK)
            status = batch->ops->load(batch->machine, fth_operation_name(operate->operation),
                                      ptx.data, ptx.size, kept, error);
        fth_buffer_fini(&ptx);
    }
    *module = *kept;
    return status;
}

void fth_operate_release(struct fth_batch *batch)
{
    for (size_t i = 0; i < FTH_OPERATIONS; i++)
        for (size_t j = 0; j < FTH_COUNT(batch->operate[i]); j++)
            if (batch->operate[i][j])
                batch->ops->unload(batch->machine, batch->operate[i][j]);
}

static int compare(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* What a block notes, as operate.ptx has it: the number of its SM plus 1, then each pass. */
struct note {
    uint32_t sm_or_begin, end;
};

/* The cycles from the first begin to the last end among the blocks of one SM. `from` is the first
 * of them; false where they are not so many. */
static bool span(const struct note *notes, uint32_t blocks, uint64_t passes, uint64_t pass,
                 uint32_t from, uint32_t wanted, uint32_t *cycles)
{
    const struct note *first = &notes[from * (passes + 1)];
    const uint32_t origin = first[pass + 1].sm_or_begin;
    int32_t begin = 0, end = 0;
    uint32_t count = 0;
    for (uint32_t i = from; i < blocks; i++) {
        const struct note *block = &notes[i * (passes + 1)];
        if (block->sm_or_begin != first->sm_or_begin)
            continue;
        const int32_t begun = (int32_t)(block[pass + 1].sm_or_begin - origin);
        const int32_t ended = (int32_t)(block[pass + 1].end - origin);
        begin = begun < begin ? begun : begin;
        end = ended > end ? ended : end;
        count++;
    }
    *cycles = (uint32_t)(end - begin);
    return first->sm_or_begin != 0 && count == wanted;
}

/* Whether a block before that one is on the same SM. */
static bool is_counted(const struct note *notes, uint64_t passes, uint32_t block)
{
    for (uint32_t i = 0; i < block; i++)
        if (notes[i * (passes + 1)].sm_or_begin == notes[block * (passes + 1)].sm_or_begin)
            return true;
    return false;
}

/* The median over blocks of each pass, or over SMs where these have several. */
static enum fth_status reduce(const struct note *notes, const struct fth_operate *operate,
                              uint32_t blocks, uint32_t *one, uint32_t *cycles,
                              struct fth_error *error)
{
    const uint32_t wanted = blocks_per_sm(operate);
    const uint64_t passes = operate->passes;
    for (uint64_t pass = 0; pass < passes; pass++) {
        uint32_t count = 0;
        for (uint32_t i = 0; i < blocks; i++) {
            const struct note *block = &notes[i * (passes + 1)];
            if (wanted == 1)
                one[count++] = block[pass + 1].end - block[pass + 1].sm_or_begin;
            else if (!is_counted(notes, passes, i) &&
                     span(notes, blocks, passes, pass, i, wanted, &one[count]))
                count++;
        }
        if (count == 0)
            return fth_fail(error, FTH_UNAVAILABLE, "run experiments", NULL,
                            "no SM was given %" PRIu32 " blocks", wanted);
        qsort(one, count, sizeof *one, compare);
        cycles[pass] = one[count / 2];
    }
    return FTH_OK;
}

static enum fth_status collect(struct fth_batch *batch, uint64_t from,
                               const struct fth_operate *operate, uint32_t blocks, uint32_t *cycles,
                               struct fth_error *error)
{
    const size_t count = blocks * (operate->passes + 1);
    struct note *notes = calloc(count, sizeof *notes);
    uint32_t *one = calloc(blocks, sizeof *one);
    enum fth_status status = FTH_OK;
    if (notes && one) {
        status = batch->ops->download(batch->machine, notes, from, count * sizeof *notes, error);
        if (status == FTH_OK)
            status = reduce(notes, operate, blocks, one, cycles, error);
    } else {
        status = fth_fail(error, FTH_NO_MEMORY, "run experiments", NULL, "out of memory");
    }
    free(notes);
    free(one);
    return status;
}

static enum fth_status refuse(const struct fth_batch *batch, const struct fth_operate *operate,
                              struct fth_error *error)
{
    const unsigned min = fth_operation_capability(operate->operation);
    const uint64_t shared = batch->facts.block_shared_bytes;
    if (batch->facts.capability && batch->facts.capability < min)
        return fth_fail(error, FTH_UNSUPPORTED, "run experiments", NULL,
                        "%s came with compute capability %u.%u",
                        fth_operation_name(operate->operation), min / 10, min % 10);
    if (fth_operation_in_shared(operate->operation) && shared && block_bytes(operate) > shared)
        return fth_fail(error, FTH_UNSUPPORTED, "run experiments", NULL,
                        "more shared memory than a block can have");
    if (operate->sms > batch->facts.sms)
        return fth_fail(error, FTH_UNSUPPORTED, "run experiments", NULL, "the GPU has fewer SMs");
    return FTH_OK;
}

static enum fth_status run(struct fth_batch *batch, struct fth_machine_module *unused,
                           const struct fth_request *request, uint32_t *cycles,
                           struct fth_error *error)
{
    (void)unused;
    const struct fth_machine_ops *ops = batch->ops;
    const struct fth_operate *operate = &request->operate;
    /* Blocks go to all SMs in turn, so that each has as many. */
    const bool crowded = blocks_per_sm(operate) > 1;
    const uint32_t blocks =
        (operate->sms && !crowded ? operate->sms : batch->facts.sms) * blocks_per_sm(operate);
    const uint64_t out_bytes =
        (blocks * (operate->passes + 1) * sizeof(struct note) + 255) / 256 * 256;
    const uint64_t places = fth_operation_in_global(operate->operation)
                                ? block_bytes(operate) + operate->block_stride_bytes * (blocks - 1)
                                : 0;
    uint64_t memory = 0, first, second;
    struct fth_machine_module *module = NULL;
    enum fth_status status = refuse(batch, operate, error);
    if (status == FTH_OK)
        status = load(batch, operate, &module, error);
    if (status == FTH_OK)
        status = ops->alloc(batch->machine, out_bytes + places, &memory, error);
    if (status == FTH_NO_MEMORY)
        return FTH_UNAVAILABLE;
    if (status == FTH_OK)
        status = ops->fill(batch->machine, memory, 0, out_bytes, error);
    fth_operation_operands(operate->operation, &first, &second);
    const uint64_t distance = fth_operation_copies(operate->operation)
                                  ? chain_bytes(operate) * operate->chains
                                  : operate->block_stride_bytes;
    const uint64_t arguments[] = {
        operate->rounds, operate->passes, memory, memory + out_bytes,         operate->stride_bytes,
        distance,        first,           second, crowded ? operate->sms : 0, !crowded};
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
        status = ops->launch(batch->machine, &launch, error);
    const double operations = (double)operate->rounds * FTH_OPERATE_ROUND *
                              (double)(operate->passes + 1) * blocks_per_sm(operate);
    if (status == FTH_OK)
        status = ops->wait(batch->machine, shortest_limit_s + operations * slowest_s, error);
    if (status == FTH_OK)
        status = collect(batch, memory, operate, blocks, cycles, error);
    if (memory)
        ops->free(batch->machine, memory);
    return status;
}

const struct fth_family_ops fth_family_operate = {
    .check = check, .write = write, .samples = samples, .run = run};
