/* The share family: whether two units (compute units, cores) share a cache. Only OpenCL devices
 * execute it (kernels/opencl/units.cl): both units must run at the same time, and a simulated GPU
 * executes one block after the other. The canonical text is "share FIRST SECOND PATH STRIDE own
 * COUNT other COUNT rounds ROUNDS [seed SEED]", for example
 *
 *   share 0 1 ca 64 own 256 other 2048 rounds 16 seed 7 */
#include "device/family/family.h"

#include <inttypes.h>

static const char operation[] = "check request";

/* Limits, chosen: more than any cache that is tested. */
enum { WORD_BYTES = 4, MAX_STRIDE_BYTES = 1 << 20, MAX_COUNT = 1 << 24, MAX_ROUNDS = 1 << 12 };

static enum fth_status refuse(struct fth_error *error, const char *member, uint64_t value,
                              const char *cause)
{
    return fth_fail(error, FTH_INVALID, operation, member, "%" PRIu64 " %s", value, cause);
}

static enum fth_status check(const struct fth_request *request, struct fth_error *error)
{
    const struct fth_share *share = &request->share;
    if (share->path != FTH_PATH_CA && share->path != FTH_PATH_CONSTANT)
        return refuse(error, "share.path", share->path, "is neither ca nor constant");
    if (share->stride_bytes < WORD_BYTES || share->stride_bytes > MAX_STRIDE_BYTES ||
        share->stride_bytes % WORD_BYTES)
        return refuse(error, "share.stride_bytes", share->stride_bytes,
                      "is not a multiple of 4 up to 1048576");
    if (share->own == 0 || share->own > MAX_COUNT)
        return refuse(error, "share.own", share->own, "is not in the range 1 to 16777216");
    if (share->other == 0 || share->other > MAX_COUNT)
        return refuse(error, "share.other", share->other, "is not in the range 1 to 16777216");
    if (share->path == FTH_PATH_CONSTANT &&
        (share->own + share->other) * share->stride_bytes > FTH_MAX_CONSTANT_BYTES)
        return refuse(error, "share.other", share->other, "elements exceed the constant memory");
    if (share->path == FTH_PATH_CONSTANT && share->seed)
        return refuse(error, "share.seed", share->seed, "is only possible with the path ca");
    if (share->rounds == 0 || share->rounds > MAX_ROUNDS)
        return refuse(error, "share.rounds", share->rounds, "is not in the range 1 to 4096");
    if (request->sm != FTH_ANY_SM)
        return fth_fail(error, FTH_INVALID, operation, "sm", "the request names its units itself");
    if (request->cold)
        return fth_fail(error, FTH_INVALID, operation, "cold", "not available for this family");
    return fth_check_carveout(request, error);
}

static void write_text(const struct fth_request *request, struct fth_buffer *text)
{
    const struct fth_share *share = &request->share;
    fth_buffer_format(text,
                      "share %" PRIu32 " %" PRIu32 " %s %" PRIu64 " own %" PRIu64 " other %" PRIu64
                      " rounds %" PRIu32,
                      share->first, share->second, fth_path_name(share->path), share->stride_bytes,
                      share->own, share->other, share->rounds);
    if (share->seed)
        fth_buffer_format(text, " seed %" PRIu64, share->seed);
    fth_request_write_options(request, text);
}

static bool read_text(struct fth_scanner *scanner, struct fth_request *request)
{
    struct fth_share *share = &request->share;
    return fth_scan_u32(scanner, &share->first) && fth_scan(scanner, " ") &&
           fth_scan_u32(scanner, &share->second) && fth_scan(scanner, " ") &&
           fth_scan_path(scanner, &share->path) && fth_scan(scanner, " ") &&
           fth_scan_number(scanner, UINT64_MAX, &share->stride_bytes) &&
           fth_scan(scanner, " own ") && fth_scan_number(scanner, UINT64_MAX, &share->own) &&
           fth_scan(scanner, " other ") && fth_scan_number(scanner, UINT64_MAX, &share->other) &&
           fth_scan(scanner, " rounds ") && fth_scan_u32(scanner, &share->rounds) &&
           fth_scan_option(scanner, " seed ", &share->seed);
}

static uint64_t count_samples(const struct fth_request *request)
{
    return request->share.rounds;
}

static enum fth_status lower(const struct fth_runner *runner, struct fth_lowered *lowered,
                             struct fth_error *error)
{
    (void)runner, (void)lowered;
    return fth_fail(error, FTH_UNSUPPORTED, "run experiments", NULL,
                    "only OpenCL devices test which units share a cache");
}

const struct fth_family_ops fth_family_share = {
    .word = "share",
    .check = check,
    .write = write_text,
    .read = read_text,
    .samples = count_samples,
    .lower = lower,
};
