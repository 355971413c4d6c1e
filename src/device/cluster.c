/* The cluster family: the latency of another SM's shared memory. Block 0 of a cluster chases a
 * chain in the shared memory of another block of the cluster (kernels/cluster.ptx). The canonical
 * text is "cluster SIZE target TARGET [+START:]STRIDExCOUNT", for example
 *
 *   cluster 8 target 3 8x1024 passes 15
 *
 * As in request.c, members with their default value are left out. */
#include "device/family.h"

#include <inttypes.h>

static const char operation[] = "check request";

/* Maximum number of blocks in a cluster: 16 on Hopper and Blackwell. Every GPU with clusters
 * supports 8. */
#define MAX_BLOCKS 16
/* Larger than the shared memory of any GPU, and the maximum number of samples in an answer; both as
 * in request.c. */
#define SHARED_BYTES (UINT64_C(1) << 20)
#define MAX_SAMPLES (UINT64_C(1) << 28)
#define ELEMENT_BYTES 8
/* Time limit of a launch in seconds: min_time_limit_s plus max_hop_s per hop. max_hop_s is an upper
 * bound at the lowest clock. A launch that takes longer counts as hung. */
static const double max_hop_s = 10e-6, min_time_limit_s = 3;

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
    if (chain->start_bytes > SHARED_BYTES ||
        chain->count > (SHARED_BYTES - chain->start_bytes) / chain->stride_bytes)
        return fth_fail(error, FTH_INVALID, operation, "cluster.chain.count",
                        "%" PRIu64 " elements with a stride of %" PRIu64
                        " bytes from offset %" PRIu64 " extend beyond the %" PRIu64
                        " bytes of shared memory",
                        chain->count, chain->stride_bytes, chain->start_bytes, SHARED_BYTES);
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
    if (cluster->passes == 0 || cluster->passes > MAX_SAMPLES)
        return fth_fail(error, FTH_INVALID, operation, "cluster.passes",
                        "%" PRIu64 " is not in the range 1 to %" PRIu64, cluster->passes,
                        MAX_SAMPLES);
    if (request->sm != FTH_ANY_SM)
        return fth_fail(error, FTH_INVALID, operation, "sm",
                        "the SM cannot be chosen for this family");
    enum fth_status status = fth_check_carveout(request, error);
    return status == FTH_OK ? check_chain(&cluster->chain, error) : status;
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

static uint64_t samples(const struct fth_request *request)
{
    return request->cluster.passes;
}

static enum fth_status run(struct fth_runner *runner, struct fth_machine_module *module,
                           const struct fth_request *request, uint32_t *cycles,
                           struct fth_error *error)
{
    const struct fth_machine_ops *ops = runner->ops;
    const struct fth_cluster_chase *cluster = &request->cluster;
    const struct fth_chain *chain = &cluster->chain;
    uint64_t max = runner->facts.block_shared_bytes, out = 0, bytes = cluster->passes * 4;
    uint64_t needed = chain->start_bytes + chain->count * chain->stride_bytes;
    if (max && needed > max)
        return fth_fail(error, FTH_UNSUPPORTED, "run experiments", NULL,
                        "the request needs more shared memory than a block can have");
    if (cluster->size > runner->facts.sms)
        return fth_fail(error, FTH_UNSUPPORTED, "run experiments", NULL,
                        "the cluster has more blocks than the GPU has SMs");
    enum fth_status status = ops->alloc(runner->machine, bytes, &out, error);
    if (status == FTH_NO_MEMORY)
        return FTH_UNAVAILABLE;
    if (status == FTH_OK)
        status = ops->fill(runner->machine, out, 0, bytes, error);
    const uint64_t arguments[] = {cluster->target,
                                  chain->start_bytes,
                                  chain->stride_bytes,
                                  chain->count,
                                  fth_chain_step(chain) % chain->count,
                                  cluster->passes,
                                  out};
    /* Each block requests the maximum of shared memory, so that no two blocks share an SM. */
    if (status == FTH_OK)
        status =
            ops->launch(runner->machine,
                        &(struct fth_machine_launch){.module = module,
                                                     .kernel = "cluster",
                                                     .blocks = cluster->size,
                                                     .threads = 1,
                                                     .cluster = cluster->size,
                                                     .shared_bytes = max ? max : needed,
                                                     .carveout_percent = request->carveout_percent,
                                                     .arguments = arguments,
                                                     .argument_bytes = sizeof arguments},
                        error);
    if (status == FTH_OK)
        status = ops->wait(runner->machine,
                           min_time_limit_s +
                               (double)(cluster->passes + 1) * (double)chain->count * max_hop_s,
                           error);
    if (status == FTH_OK)
        status = ops->download(runner->machine, cycles, out, bytes, error);
    if (out)
        ops->free(runner->machine, out);
    return status;
}

const struct fth_family_ops fth_family_cluster = {
    .check = check,
    .write = write,
    .samples = samples,
    .make_ptx = fth_kernels_cluster,
    .run = run,
    .min_capability = 90,
    .too_old = "clusters require compute capability 9.0 or later",
};
