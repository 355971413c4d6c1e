/* The place family: which SM executes each block of a grid, and when the block starts
 * (kernels/place.ptx). The canonical text is "place BLOCKSxTHREADS", followed by the members that
 * do not have their default value, for example
 *
 *   place 264x32 shared 100000 hold 20000
 *   place 2112x256 cluster 16 hold 20000 */
#include "device/family/family.h"

#include <inttypes.h>
#include <stdlib.h>

static const char operation[] = "check request";

/* Maximum number of blocks in a cluster: 16 on Hopper and Blackwell; and the compute capability
 * from which on GPUs have clusters. */
enum { MAX_CLUSTER = 16, CLUSTER_CAPABILITY = 90 };
/* Limits of a request, chosen: more blocks than any GPU holds at the same time, and a time that no
 * launch needs to start them. */
enum { MAX_BLOCKS = 1 << 20, MAX_THREADS = 1024, MAX_HOLD_NS = 10000000 };

static enum fth_status check(const struct fth_request *request, struct fth_error *error)
{
    const struct fth_place_request *place = &request->place;
    if (place->blocks == 0 || place->blocks > MAX_BLOCKS)
        return fth_fail(error, FTH_INVALID, operation, "place.blocks",
                        "%" PRIu32 " is not in the range 1 to %d", place->blocks, MAX_BLOCKS);
    if (place->threads == 0 || place->threads > MAX_THREADS)
        return fth_fail(error, FTH_INVALID, operation, "place.threads",
                        "%" PRIu32 " is not in the range 1 to %d", place->threads, MAX_THREADS);
    const uint32_t cluster = place->cluster;
    if (cluster && (cluster < 2 || cluster > MAX_CLUSTER || cluster & (cluster - 1)))
        return fth_fail(error, FTH_INVALID, operation, "place.cluster",
                        "%" PRIu32 " is neither 0 nor a power of two in the range 2 to %d", cluster,
                        MAX_CLUSTER);
    if (cluster && place->blocks % cluster)
        return fth_fail(error, FTH_INVALID, operation, "place.cluster",
                        "%" PRIu32 " blocks cannot be divided into clusters of %" PRIu32,
                        place->blocks, cluster);
    if (place->shared_bytes > FTH_MAX_SHARED_BYTES)
        return fth_fail(error, FTH_INVALID, operation, "place.shared_bytes",
                        "%" PRIu64 " exceeds %" PRIu64, place->shared_bytes, FTH_MAX_SHARED_BYTES);
    if (place->hold_ns > MAX_HOLD_NS || place->stagger_ns > MAX_HOLD_NS)
        return fth_fail(error, FTH_INVALID, operation,
                        place->hold_ns > MAX_HOLD_NS ? "place.hold_ns" : "place.stagger_ns",
                        "exceeds %d", MAX_HOLD_NS);
    if (request->sm != FTH_ANY_SM)
        return fth_fail(error, FTH_INVALID, operation, "sm",
                        "the SM cannot be chosen for this family");
    if (request->cold)
        return fth_fail(error, FTH_INVALID, operation, "cold", "not available for this family");
    return fth_check_carveout(request, error);
}

static void write_text(const struct fth_request *request, struct fth_buffer *text)
{
    const struct fth_place_request *place = &request->place;
    fth_buffer_format(text, "place %" PRIu32 "x%" PRIu32, place->blocks, place->threads);
    if (place->shared_bytes)
        fth_buffer_format(text, " shared %" PRIu64, place->shared_bytes);
    if (place->cluster)
        fth_buffer_format(text, " cluster %" PRIu32, place->cluster);
    if (place->hold_ns)
        fth_buffer_format(text, " hold %" PRIu32, place->hold_ns);
    if (place->stagger_ns)
        fth_buffer_format(text, " stagger %" PRIu32, place->stagger_ns);
    fth_request_write_options(request, text);
}

static bool read_text(struct fth_scanner *scanner, struct fth_request *request)
{
    struct fth_place_request *place = &request->place;
    return fth_scan_u32(scanner, &place->blocks) && fth_scan(scanner, "x") &&
           fth_scan_u32(scanner, &place->threads) &&
           fth_scan_option(scanner, " shared ", &place->shared_bytes) &&
           fth_scan_option_u32(scanner, " cluster ", &place->cluster) &&
           fth_scan_option_u32(scanner, " hold ", &place->hold_ns) &&
           fth_scan_option_u32(scanner, " stagger ", &place->stagger_ns);
}

static uint64_t count_samples(const struct fth_request *request)
{
    return 2 * (uint64_t)request->place.blocks;
}

static enum fth_status lower(const struct fth_runner *runner, struct fth_lowered *lowered,
                             struct fth_error *error)
{
    const struct fth_place_request *place = &lowered->request->place;
    const struct fth_machine_facts *facts = &runner->facts;
    if (place->cluster && facts->capability && facts->capability < CLUSTER_CAPABILITY)
        return fth_fail(error, FTH_UNSUPPORTED, "run experiments", NULL,
                        "clusters require compute capability 9.0 or later");
    if (facts->block_shared_bytes && place->shared_bytes > facts->block_shared_bytes)
        return fth_fail(error, FTH_UNSUPPORTED, "run experiments", NULL,
                        "the request needs more shared memory than a block can have");
    lowered->blocks = place->blocks;
    lowered->threads = place->threads;
    lowered->cluster = place->cluster;
    lowered->shared_bytes = place->shared_bytes;
    /* At worst, one block runs after the other. */
    lowered->time_limit_s =
        FTH_MIN_TIME_LIMIT_S + 1e-9 * place->blocks * ((double)place->hold_ns + place->stagger_ns);
    return FTH_OK;
}

/* What place.ptx stores for each block. */
struct record {
    uint64_t start_ns;
    uint32_t sm, unused;
};
_Static_assert(sizeof(struct record) == 16, "place.ptx writes 16 bytes per block");

/* Writes the samples of each block: its SM, and its start after the first block in nanoseconds. */
static void summarize(const struct record *records, uint32_t blocks, uint32_t *samples)
{
    uint64_t first = UINT64_MAX;
    for (uint32_t i = 0; i < blocks; i++)
        first = FTH_MIN(records[i].start_ns, first);
    for (uint32_t i = 0; i < blocks; i++) {
        const uint64_t ns = records[i].start_ns - first;
        samples[2 * (size_t)i] = records[i].sm;
        samples[2 * (size_t)i + 1] = ns < UINT32_MAX ? (uint32_t)ns : UINT32_MAX;
    }
}

static enum fth_status run(struct fth_runner *runner, struct fth_family_slot *slot,
                           const struct fth_lowered *lowered, uint32_t *samples,
                           struct fth_error *error)
{
    const struct fth_machine_ops *ops = runner->ops;
    const struct fth_place_request *place = &lowered->request->place;
    const uint64_t bytes = place->blocks * sizeof(struct record);
    uint64_t address = 0;
    struct record *records = malloc(bytes);
    if (!records)
        return fth_no_memory(error, "run experiments", NULL);
    enum fth_status status = fth_runner_alloc(runner, bytes, &address, error);
    if (status != FTH_OK) {
        free(records);
        return status;
    }
    const uint64_t arguments[] = {place->hold_ns, place->stagger_ns, address};
    struct fth_machine_launch launch = fth_lowered_launch(lowered);
    launch.module = slot->module;
    launch.kernel = "place";
    launch.arguments = arguments;
    launch.argument_bytes = sizeof arguments;
    status = ops->launch(runner->machine, &launch, error);
    if (status == FTH_OK)
        status = ops->wait(runner->machine, lowered->time_limit_s, error);
    if (status == FTH_OK)
        status = ops->download(runner->machine, records, address, bytes, error);
    if (status == FTH_OK)
        summarize(records, place->blocks, samples);
    ops->free(runner->machine, address);
    free(records);
    return status;
}

const struct fth_family_ops fth_family_place = {
    .word = "place",
    .check = check,
    .write = write_text,
    .read = read_text,
    .samples = count_samples,
    .make_ptx = fth_kernels_place,
    .lower = lower,
    .run = run,
};
