/* The operate family: one operation over and over (kernels/operate.ptx). Its canonical text:
 *
 *   operate fma.f32 chains 8 rounds 64 threads 1024 sms 1 passes 5; stride 4
 *
 * and, as in request.c, what is not as usual. */
#include "device/family.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char operation[] = "check request";

#define MOST_ROUNDS (UINT64_C(1) << 24)
#define MOST_PASSES (UINT64_C(1) << 16)
#define SHARED_BYTES (UINT64_C(1) << 20)
#define GLOBAL_BYTES (UINT64_C(1) << 32)
/* No operation takes longer, with every thread of the GPU after the same place. */
static const double slowest_s = 20e-6, shortest_limit_s = 3;

static bool in_memory(const struct fth_operate *operate)
{
    return fth_operation_in_shared(operate->operation) ||
           fth_operation_in_global(operate->operation);
}

/* What the places of a block extend to. */
static uint64_t block_bytes(const struct fth_operate *operate)
{
    return in_memory(operate) ? operate->stride_bytes * (operate->threads - 1) + 8 : 0;
}

static enum fth_status check_places(const struct fth_operate *operate, struct fth_error *error)
{
    const uint64_t width =
        operate->operation == FTH_LOAD_SHARED_4 || operate->operation == FTH_ATOMIC_SHARED ? 4 : 8;
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
    const uint64_t most = fth_operation_in_shared(operate->operation) ? SHARED_BYTES : GLOBAL_BYTES;
    if (operate->stride_bytes > most / operate->threads ||
        operate->block_stride_bytes > GLOBAL_BYTES)
        return fth_fail(error, FTH_INVALID, operation, "operate.stride_bytes",
                        "%" PRIu32 " threads %" PRIu64 " bytes apart are beyond %" PRIu64 " bytes",
                        operate->threads, operate->stride_bytes, most);
    return FTH_OK;
}

static enum fth_status check(const struct fth_request *request, struct fth_error *error)
{
    const struct fth_operate *operate = &request->operate;
    if ((unsigned)operate->operation >= FTH_OPERATIONS)
        return fth_fail(error, FTH_INVALID, operation, "operate.operation", "there is no such");
    if (operate->chains < 1 || operate->chains > FTH_MOST_CHAINS ||
        operate->chains & (operate->chains - 1))
        return fth_fail(error, FTH_INVALID, operation, "operate.chains",
                        "%" PRIu32 " is no power of two within 1 to %d", operate->chains,
                        FTH_MOST_CHAINS);
    if (operate->rounds < 1 || operate->rounds > MOST_ROUNDS)
        return fth_fail(error, FTH_INVALID, operation, "operate.rounds",
                        "%" PRIu64 " is not within 1 to %" PRIu64, operate->rounds, MOST_ROUNDS);
    if (operate->passes < 1 || operate->passes > MOST_PASSES)
        return fth_fail(error, FTH_INVALID, operation, "operate.passes",
                        "%" PRIu64 " is not within 1 to %" PRIu64, operate->passes, MOST_PASSES);
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
    const unsigned chains = (unsigned)__builtin_ctz(operate->chains);
    struct fth_machine_module **kept = &batch->operate[operate->operation][chains];
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

/* Operands that keep numbers in range: a factor of 1 and a summand that is small, in every width.
 */
static void operands(enum fth_operation what, uint64_t *first, uint64_t *second)
{
    static const struct {
        const char *type;
        uint64_t one, small;
    } rows[] = {
        {"bf16x2", 0x3f803f80, 0x3a803a80},
        {"f16x2", 0x3c003c00, 0x14001400},
        {"f16", 0x3c00, 0x1400},
        {"f32", 0x3f800000, 0x3a800000},
        {"f64", UINT64_C(0x3ff0000000000000), UINT64_C(0x3f50000000000000)},
        {"s32", 3, 1},
        {"s64", 3, 1},
    };
    const char *name = fth_operation_name(what);
    *first = *second = 0; /* of memory: what is added changes nothing */
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        const char *dot = strrchr(name, '.');
        if (dot && strcmp(dot + 1, rows[i].type) == 0) {
            *first = rows[i].one;
            *second = rows[i].small;
        }
    }
}

static int compare(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* The median over blocks of each pass. */
static enum fth_status collect(struct fth_batch *batch, uint64_t from, uint32_t blocks,
                               uint64_t passes, uint32_t *cycles, struct fth_error *error)
{
    uint32_t *all = malloc(blocks * passes * 4), *one = malloc((size_t)blocks * 4);
    if (!all || !one) {
        free(all);
        free(one);
        return fth_fail(error, FTH_NO_MEMORY, "run experiments", NULL, "out of memory");
    }
    enum fth_status status =
        batch->ops->download(batch->machine, all, from, blocks * passes * 4, error);
    for (uint64_t pass = 0; pass < passes && status == FTH_OK; pass++) {
        for (uint32_t i = 0; i < blocks; i++)
            one[i] = all[i * passes + pass];
        qsort(one, blocks, sizeof *one, compare);
        cycles[pass] = one[blocks / 2];
    }
    free(all);
    free(one);
    return status;
}

static enum fth_status refuse(const struct fth_batch *batch, const struct fth_operate *operate,
                              struct fth_error *error)
{
    const unsigned least = fth_operation_capability(operate->operation);
    const uint64_t shared = batch->facts.block_shared_bytes;
    if (batch->facts.capability && batch->facts.capability < least)
        return fth_fail(error, FTH_UNSUPPORTED, "run experiments", NULL,
                        "%s came with compute capability %u.%u",
                        fth_operation_name(operate->operation), least / 10, least % 10);
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
    const uint32_t blocks = operate->sms ? operate->sms : batch->facts.sms;
    const uint64_t out_bytes = (blocks * operate->passes * 4 + 255) / 256 * 256;
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
    operands(operate->operation, &first, &second);
    const uint64_t arguments[] = {operate->rounds,
                                  operate->passes,
                                  memory,
                                  memory + out_bytes,
                                  operate->stride_bytes,
                                  operate->block_stride_bytes,
                                  first,
                                  second};
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
    const double operations =
        (double)operate->rounds * FTH_OPERATE_ROUND * (double)(operate->passes + 1);
    if (status == FTH_OK)
        status = ops->wait(batch->machine, shortest_limit_s + operations * slowest_s, error);
    if (status == FTH_OK)
        status = collect(batch, memory, blocks, operate->passes, cycles, error);
    if (memory)
        ops->free(batch->machine, memory);
    return status;
}

const struct fth_family_ops fth_family_operate = {
    .check = check, .write = write, .samples = samples, .run = run};
