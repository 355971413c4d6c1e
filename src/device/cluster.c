/* The cluster family: a chain in the shared memory of a block of a cluster, walked by block 0
 * (kernels/cluster.ptx). Its canonical text:
 *
 *   cluster 8 target 3 8x1024 passes 15
 *
 * "cluster SIZE target TARGET [+START:]STRIDExCOUNT", and as in request.c what is not as usual. */
#include "device/family.h"

#include <inttypes.h>

static const char operation[] = "check request";

/* Hopper's and Blackwell's largest; every GPU with clusters has those of 8. */
#define MAX_BLOCKS 16
/* As in request.c: more than the shared memory of any GPU, and what an answer may hold. */
#define SHARED_BYTES (UINT64_C(1) << 20)
#define MAX_SAMPLES (UINT64_C(1) << 28)
#define ELEMENT_BYTES 8
/* No hop takes longer, with the clock at its lowest; a launch that takes longer hangs. */
static const double slowest_hop_s = 10e-6, shortest_limit_s = 3;

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
                        "a chain has at least one element");
    if (chain->start_bytes > SHARED_BYTES ||
        chain->count > (SHARED_BYTES - chain->start_bytes) / chain->stride_bytes)
        return fth_fail(error, FTH_INVALID, operation, "cluster.chain.count",
                        "%" PRIu64 " elements %" PRIu64 " bytes apart from %" PRIu64
                        " on end beyond the %" PRIu64 " bytes of shared memory",
                        chain->count, chain->stride_bytes, chain->start_bytes, SHARED_BYTES);
    if (fth_common_factor(fth_chain_step(chain), chain->count) != 1)
        return fth_fail(error, FTH_INVALID, operation, "cluster.chain.step",
                        "%" PRIu64 " and the %" PRIu64 " elements have a common factor",
                        chain->step, chain->count);
    return FTH_OK;
}

static enum fth_status check(const struct fth_request *request, struct fth_error *error)
{
    const struct fth_cluster_chase *cluster = &request->cluster;
    if (cluster->size < 2 || cluster->size > MAX_BLOCKS || cluster->size & (cluster->size - 1))
        return fth_fail(error, FTH_INVALID, operation, "cluster.size",
                        "%" PRIu32 " is no power of two within 2 to %d", cluster->size, MAX_BLOCKS);
    if (cluster->target >= cluster->size)
        return fth_fail(error, FTH_INVALID, operation, "cluster.target",
                        "%" PRIu32 " is past the %" PRIu32 " blocks of the cluster",
                        cluster->target, cluster->size);
    if (cluster->passes == 0 || cluster->passes > MAX_SAMPLES)
        return fth_fail(error, FTH_INVALID, operation, "cluster.passes",
                        "%" PRIu64 " is not within 1 to %" PRIu64, cluster->passes, MAX_SAMPLES);
    if (request->sm != FTH_ANY_SM)
        return fth_fail(error, FTH_INVALID, operation, "sm",
                        "the GPU chooses where a cluster runs");
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

static enum fth_status run(struct fth_batch *batch, struct fth_machine_module *module,
                           const struct fth_request *request, uint32_t *cycles,
                           struct fth_error *error)
{
    const struct fth_machine_ops *ops = batch->ops;
    const struct fth_cluster_chase *cluster = &request->cluster;
    const struct fth_chain *chain = &cluster->chain;
    uint64_t max = batch->facts.block_shared_bytes, out = 0, bytes = cluster->passes * 4;
    uint64_t needed = chain->start_bytes + chain->count * chain->stride_bytes;
    if (max && needed > max)
        return fth_fail(error, FTH_UNSUPPORTED, "run experiments", NULL,
                        "more shared memory than a block can have");
    if (cluster->size > batch->facts.sms)
        return fth_fail(error, FTH_UNSUPPORTED, "run experiments", NULL,
                        "a cluster of more blocks than there are SMs");
    enum fth_status status = ops->alloc(batch->machine, bytes, &out, error);
    if (status == FTH_NO_MEMORY)
        return FTH_UNAVAILABLE;
    if (status == FTH_OK)
        status = ops->fill(batch->machine, out, 0, bytes, error);
    const uint64_t arguments[] = {cluster->target,
                                  chain->start_bytes,
                                  chain->stride_bytes,
                                  chain->count,
                                  fth_chain_step(chain) % chain->count,
                                  cluster->passes,
                                  out};
    /* With all the shared memory that it can have, a block has its SM to itself. */
    if (status == FTH_OK)
        status =
            ops->launch(batch->machine,
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
        status = ops->wait(batch->machine,
                           shortest_limit_s +
                               (double)(cluster->passes + 1) * (double)chain->count * slowest_hop_s,
                           error);
    if (status == FTH_OK)
        status = ops->download(batch->machine, cycles, out, bytes, error);
    if (out)
        ops->free(batch->machine, out);
    return status;
}

const struct fth_family_ops fth_family_cluster = {
    .check = check,
    .write = write,
    .samples = samples,
    .text = fth_kernels_cluster,
    .run = run,
    .min_capability = 90,
    .too_old = "clusters came with compute capability 9.0",
};
