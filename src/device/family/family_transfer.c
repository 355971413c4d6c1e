/* The transfer family: the bandwidth of copies by the driver. Copies within a GPU are timed like
 * sweeps, so that the two can be compared. All other copies are executed and timed by the machine.
 * Examples of the canonical text:
 *
 *   transfer to-device pinned 268435456 repeats 5
 *   transfer to-peer 268435456 peer 1
 *
 * `pageable` or `pinned` is present if the copy uses host memory. `repeats 1` and `peer 0` are left
 * out. */
#include "device/family/family.h"

#include <inttypes.h>

static const char operation[] = "check request";

/* Limits of requests; generous bounds. */
#define MAX_BYTES (UINT64_C(1) << 40)
enum { MAX_REPEATS = 1 << 16, MAX_PEERS = 1024 };

static const char *const names[FTH_TRANSFER_KINDS] = {
    [FTH_TRANSFER_TO_DEVICE] = "to-device", [FTH_TRANSFER_FROM_DEVICE] = "from-device",
    [FTH_TRANSFER_BOTH] = "both",           [FTH_TRANSFER_WITHIN] = "within",
    [FTH_TRANSFER_TO_PEER] = "to-peer",     [FTH_TRANSFER_PEERS] = "peers"};

static bool has_host(const struct fth_transfer *transfer)
{
    return transfer->kind <= FTH_TRANSFER_BOTH;
}

static bool has_peer(const struct fth_transfer *transfer)
{
    return transfer->kind == FTH_TRANSFER_TO_PEER || transfer->kind == FTH_TRANSFER_PEERS;
}

static enum fth_status check(const struct fth_request *request, struct fth_error *error)
{
    const struct fth_transfer *transfer = &request->transfer;
    if ((unsigned)transfer->kind >= FTH_TRANSFER_KINDS)
        return fth_fail(error, FTH_INVALID, operation, "transfer.kind",
                        "%u is not a kind of transfer", (unsigned)transfer->kind);
    if (transfer->bytes == 0 || transfer->bytes > MAX_BYTES)
        return fth_fail(error, FTH_INVALID, operation, "transfer.bytes",
                        "%" PRIu64 " is not in the range 1 to %" PRIu64, transfer->bytes,
                        MAX_BYTES);
    if (transfer->repeats == 0 || transfer->repeats > MAX_REPEATS)
        return fth_fail(error, FTH_INVALID, operation, "transfer.repeats",
                        "%" PRIu32 " is not in the range 1 to %d", transfer->repeats, MAX_REPEATS);
    if (transfer->pinned && !has_host(transfer))
        return fth_fail(error, FTH_INVALID, operation, "transfer.pinned",
                        "this kind of transfer uses no host memory");
    if (transfer->peer >= MAX_PEERS || (transfer->peer && !has_peer(transfer)))
        return fth_fail(error, FTH_INVALID, operation, "transfer.peer",
                        "%" PRIu32 " is too large, or this kind of transfer uses no other GPU",
                        transfer->peer);
    if (request->sm != FTH_ANY_SM || request->carveout_percent != -1 || request->cold)
        return fth_fail(error, FTH_INVALID, operation, request->cold ? "cold" : "sm",
                        "the SM, the carve-out and cold caches cannot be chosen for this family");
    return FTH_OK;
}

static void write(const struct fth_request *request, struct fth_buffer *text)
{
    const struct fth_transfer *transfer = &request->transfer;
    fth_buffer_format(text, "transfer %s%s %" PRIu64, names[transfer->kind],
                      !has_host(transfer) ? ""
                      : transfer->pinned  ? " pinned"
                                          : " pageable",
                      transfer->bytes);
    if (transfer->peer)
        fth_buffer_format(text, " peer %" PRIu32, transfer->peer);
    if (transfer->repeats != 1)
        fth_buffer_format(text, " repeats %" PRIu32, transfer->repeats);
}

static bool read_text(struct fth_scanner *scanner, struct fth_request *request)
{
    struct fth_transfer *transfer = &request->transfer;
    transfer->repeats = 1;
    while (!fth_scan_name(scanner, names[transfer->kind]))
        if (++transfer->kind == FTH_TRANSFER_KINDS)
            return false;
    transfer->pinned = fth_scan(scanner, " pinned");
    if (has_host(transfer) && !transfer->pinned && !fth_scan(scanner, " pageable"))
        return false;
    return fth_scan(scanner, " ") && fth_scan_number(scanner, UINT64_MAX, &transfer->bytes) &&
           fth_scan_option_u32(scanner, " peer ", &transfer->peer) &&
           fth_scan_option_u32(scanner, " repeats ", &transfer->repeats);
}

static uint64_t samples(const struct fth_request *request)
{
    return (uint64_t)request->transfer.repeats + 2;
}

/* ---- within the GPU ---- */

/* The contents of source and target before the copy, and the number of bytes that are checked at
 * each end of the target. */
enum { SOURCE_BYTE = 0x5a, TARGET_BYTE = 0xa5, CHECKED_BYTES = 1 << 16 };
/* A rate of copies that every GPU exceeds, for the time limit. Chosen, not derived. */
static const double min_bytes_per_s = 1e8;

/* The bytes of a copy within the GPU: a multiple of the alignment of allocations. */
static uint64_t aligned_bytes(const struct fth_transfer *transfer)
{
    return (transfer->bytes + 255) / 256 * 256;
}

static enum fth_status lower(const struct fth_runner *runner, struct fth_lowered *lowered,
                             struct fth_error *error)
{
    (void)runner;
    (void)error;
    lowered->time_limit_s =
        FTH_MIN_TIME_LIMIT_S + (double)aligned_bytes(&lowered->request->transfer) / min_bytes_per_s;
    return FTH_OK;
}

/* Times one copy of the first `bytes` at `memory` to the following `bytes`. */
static enum fth_status time_copy(struct fth_runner *runner, const struct fth_lowered *lowered,
                                 uint64_t memory, uint64_t bytes, double *ns,
                                 struct fth_error *error)
{
    FTH_TRY(fth_runner_queue_delay(runner, error));
    FTH_TRY(runner->ops->mark(runner->machine, false, error));
    FTH_TRY(runner->ops->copy(runner->machine, memory + bytes, memory, bytes, error));
    FTH_TRY(runner->ops->mark(runner->machine, true, error));
    FTH_TRY(runner->ops->wait(runner->machine, lowered->time_limit_s, error));
    return runner->ops->marked_ns(runner->machine, ns, error);
}

/* Adds the number of wrong bytes at the start and at the end of the copy to `*wrong`. */
static enum fth_status count_wrong_bytes(struct fth_runner *runner, uint64_t copy, uint64_t bytes,
                                         uint32_t *wrong, struct fth_error *error)
{
    unsigned char part[CHECKED_BYTES];
    const uint64_t size = bytes < CHECKED_BYTES ? bytes : (uint64_t)CHECKED_BYTES;
    enum fth_status status = FTH_OK;
    for (int end = 0; end < 2 && status == FTH_OK; end++) {
        status = runner->ops->download(runner->machine, part, copy + (end ? bytes - size : 0), size,
                                       error);
        for (uint64_t i = 0; i < size && status == FTH_OK; i++)
            *wrong += part[i] != SOURCE_BYTE;
    }
    return status;
}

static enum fth_status copy_within(struct fth_runner *runner, const struct fth_lowered *lowered,
                                   uint32_t *cycles, struct fth_error *error)
{
    const struct fth_transfer *transfer = &lowered->request->transfer;
    const uint64_t bytes = aligned_bytes(transfer);
    double ns = 0;
    FTH_TRY(fth_pool_grow(runner, &runner->arrays, 2 * bytes, error));
    const uint64_t memory = runner->arrays.address;
    FTH_TRY(runner->ops->fill(runner->machine, memory, SOURCE_BYTE, bytes, error));
    FTH_TRY(runner->ops->fill(runner->machine, memory + bytes, TARGET_BYTE, bytes, error));
    FTH_TRY(time_copy(runner, lowered, memory, bytes, &ns, error));
    for (uint32_t i = 0; i < transfer->repeats; i++) {
        FTH_TRY(time_copy(runner, lowered, memory, bytes, &ns, error));
        cycles[i] = ns < UINT32_MAX ? (uint32_t)(ns + 0.5) : UINT32_MAX;
    }
    return count_wrong_bytes(runner, memory + bytes, bytes, &cycles[transfer->repeats], error);
}

static enum fth_status run(struct fth_runner *runner, struct fth_family_slot *slot,
                           const struct fth_lowered *lowered, uint32_t *cycles,
                           struct fth_error *error)
{
    (void)slot;
    const struct fth_transfer *transfer = &lowered->request->transfer;
    return transfer->kind == FTH_TRANSFER_WITHIN
               ? copy_within(runner, lowered, cycles, error)
               : runner->ops->transfer(runner->machine, transfer, cycles, error);
}

const struct fth_family_ops fth_family_transfer = {.word = "transfer",
                                                   .check = check,
                                                   .write = write,
                                                   .read = read_text,
                                                   .samples = samples,
                                                   .lower = lower,
                                                   .disturbs =
                                                       FTH_DISTURBS_L2 | FTH_DISTURBS_ARRAYS,
                                                   .run = run};
