/* The cluster family: the latency of another SM's shared memory. Block 0 of a cluster chases a
 * chain in the shared memory of another block of the cluster (kernels/cluster.ptx). The canonical
 * text is "cluster SIZE target TARGET [+START:]STRIDExCOUNT", for example
 *
 *   cluster 8 target 3 8x1024 passes 15
 *
 * As in a chase, members with their default value are left out. */
#include "device/family/family.h"

#include <inttypes.h>

static const char operation[] = "check request";

/* Maximum number of blocks in a cluster: 16 on Hopper and Blackwell. Every GPU with clusters
 * supports 8. */
#define MAX_BLOCKS 16
#define ELEMENT_BYTES 8

static enum fth_status check_chain(const struct fth_chain *chain, struct fth_error *error)
{
    if (chain->stride_bytes == 0 || chain->stride_bytes % ELEMENT_BYTES)
        return fth_fail(error, FTH_INVALID, operation, "cluster.chain.stride_bytes",
                        "%" PRIu64 " is not a multiple of the %d bytes of an element",
                        chain->stride_bytes, ELEMENT_BYTES);
    if (chain->start_bytes % ELEMENT_BYTES)
        return fth_fail(error, FTH_INVALID, operation, "cluster.chain.start_bytes",
                        "%" PRIu64 " is not a multiple of the %d bytes of an element",
                        chain->start_bytes, ELEMENT_BYTES);
    if (chain->count == 0)
        return fth_fail(error, FTH_INVALID, operation, "cluster.chain.count",
                        "a chain must have at least one element");
    if (chain->start_bytes > FTH_MAX_SHARED_BYTES ||
        chain->count > (FTH_MAX_SHARED_BYTES - chain->start_bytes) / chain->stride_bytes)
        return fth_fail(
            error, FTH_INVALID, operation, "cluster.chain.count",
            "%" PRIu64 " elements with a stride of %" PRIu64 " bytes from offset %" PRIu64
            " extend beyond the %" PRIu64 " bytes of shared memory",
            chain->count, chain->stride_bytes, chain->start_bytes, FTH_MAX_SHARED_BYTES);
    if (fth_gcd(fth_chain_step(chain), chain->count) != 1)
        return fth_fail(error, FTH_INVALID, operation, "cluster.chain.step",
                        "the step %" PRIu64 " and the count %" PRIu64 " have a common factor",
                        chain->step, chain->count);
    return FTH_OK;
}

static enum fth_status check(const struct fth_request *request, struct fth_error *error)
{
    const struct fth_cluster_chase *cluster = &request->cluster;
    if (cluster->size < 2 || cluster->size > MAX_BLOCKS || cluster->size & (cluster->size - 1))
        return fth_fail(error, FTH_INVALID, operation, "cluster.size",
                        "%" PRIu32 " is not a power of two in the range 2 to %d", cluster->size,
                        MAX_BLOCKS);
    if (cluster->target >= cluster->size)
        return fth_fail(error, FTH_INVALID, operation, "cluster.target",
                        "index %" PRIu32 " is too large; the cluster has %" PRIu32 " blocks",
                        cluster->target, cluster->size);
    if (cluster->passes == 0 || cluster->passes > FTH_MAX_SAMPLES)
        return fth_fail(error, FTH_INVALID, operation, "cluster.passes",
                        "%" PRIu64 " is not in the range 1 to %" PRIu64, cluster->passes,
                        FTH_MAX_SAMPLES);
    if (request->sm != FTH_ANY_SM)
        return fth_fail(error, FTH_INVALID, operation, "sm",
                        "the SM cannot be chosen for this family");
    if (request->cold)
        return fth_fail(error, FTH_INVALID, operation, "cold", "not available for this family");
    FTH_TRY(fth_check_carveout(request, error));
    return check_chain(&cluster->chain, error);
}

static void write(const struct fth_request *request, struct fth_buffer *text)
{
    const struct fth_cluster_chase *cluster = &request->cluster;
    const struct fth_chain *chain = &cluster->chain;
    fth_buffer_format(text, "cluster %" PRIu32 " target %" PRIu32 " ", cluster->size,
                      cluster->target);
    if (chain->start_bytes)
        fth_buffer_format(text, "+%" PRIu64 ":", chain->start_bytes);
    fth_buffer_format(text, "%" PRIu64 "x%" PRIu64, chain->stride_bytes, chain->count);
    if (fth_chain_step(chain) != 1)
        fth_buffer_format(text, " step %" PRIu64, chain->step);
    if (cluster->passes != 1)
        fth_buffer_format(text, " passes %" PRIu64, cluster->passes);
    if (request->carveout_percent != -1)
        fth_buffer_format(text, "; carveout %d", request->carveout_percent);
}

static bool read_text(struct fth_scanner *scanner, struct fth_request *request)
{
    struct fth_cluster_chase *cluster = &request->cluster;
    cluster->passes = 1;
    if (!fth_scan_u32(scanner, &cluster->size) || !fth_scan(scanner, " target ") ||
        !fth_scan_u32(scanner, &cluster->target) || !fth_scan(scanner, " "))
        return false;
    if (fth_scan(scanner, "+") &&
        (!fth_scan_number(scanner, UINT64_MAX, &cluster->chain.start_bytes) ||
         !fth_scan(scanner, ":")))
        return false;
    return fth_scan_chain(scanner, &cluster->chain) &&
           fth_scan_option(scanner, " passes ", &cluster->passes);
}

static uint64_t samples(const struct fth_request *request)
{
    return request->cluster.passes;
}

static enum fth_status lower(const struct fth_runner *runner, struct fth_lowered *lowered,
                             struct fth_error *error)
{
    const struct fth_cluster_chase *cluster = &lowered->request->cluster;
    const struct fth_chain *chain = &cluster->chain;
    const uint64_t max = runner->facts.block_shared_bytes;
    const uint64_t needed = chain->start_bytes + chain->count * chain->stride_bytes;
    if (max && needed > max)
        return fth_fail(error, FTH_UNSUPPORTED, "run experiments", NULL,
                        "the request needs more shared memory than a block can have");
    if (cluster->size > runner->facts.sms)
        return fth_fail(error, FTH_UNSUPPORTED, "run experiments", NULL,
                        "the cluster has more blocks than the GPU has SMs");
    lowered->blocks = cluster->size;
    lowered->threads = 1;
    lowered->cluster = cluster->size;
    /* Each block requests the maximum of shared memory, so that no two blocks share an SM. */
    lowered->shared_bytes = max ? max : needed;
    lowered->time_limit_s =
        FTH_MIN_TIME_LIMIT_S + (double)(cluster->passes + 1) * (double)chain->count * FTH_MAX_HOP_S;
    return FTH_OK;
}

static enum fth_status run(struct fth_runner *runner, struct fth_family_slot *slot,
                           const struct fth_lowered *lowered, uint32_t *cycles,
                           struct fth_error *error)
{
    const struct fth_machine_ops *ops = runner->ops;
    const struct fth_cluster_chase *cluster = &lowered->request->cluster;
    const struct fth_chain *chain = &cluster->chain;
    const uint64_t bytes = lowered->sample_count * 4;
    uint64_t out = 0;
    FTH_TRY(fth_runner_alloc(runner, bytes, &out, error));
    const uint64_t arguments[] = {cluster->target,
                                  chain->start_bytes,
                                  chain->stride_bytes,
                                  chain->count,
                                  fth_chain_step(chain) % chain->count,
                                  cluster->passes,
                                  out};
    struct fth_machine_launch launch = fth_lowered_launch(lowered);
    launch.module = slot->module;
    launch.kernel = "cluster";
    launch.arguments = arguments;
    launch.argument_bytes = sizeof arguments;
    enum fth_status status = ops->fill(runner->machine, out, 0, bytes, error);
    if (status == FTH_OK)
        status = ops->launch(runner->machine, &launch, error);
    if (status == FTH_OK)
        status = ops->wait(runner->machine, lowered->time_limit_s, error);
    if (status == FTH_OK)
        status = ops->download(runner->machine, cycles, out, bytes, error);
    ops->free(runner->machine, out);
    return status;
}

const struct fth_family_ops fth_family_cluster = {
    .word = "cluster",
    .check = check,
    .write = write,
    .read = read_text,
    .samples = samples,
    .make_ptx = fth_kernels_cluster,
    .lower = lower,
    .run = run,
    .min_capability = 90,
    .too_old = "clusters require compute capability 9.0 or later",
};
