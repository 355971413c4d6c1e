/* What lies beyond the SM: L2 and memory. */
#include "discover/discover.h"

#include <math.h>

static const char pass_method[] = "whole passes over two chains of different length, warm; median "
                                  "over passes, then over SMs";
static const char hop_method[] = "single loads; plateaus of their latencies";

/* Lines enough to meet every slice of an L2, and little enough for the smallest. */
static const struct fth_latency_plan l2_array = {
    .path = FTH_PATH_CG,
    .carveout_percent = -1,
    .stride_bytes = 128,
    .short_count = 256,
    .long_count = 1024,
    .every_sm = true,
};

enum fth_status fth_discover_l2_latency(struct fth_discovery *discovery, struct fth_error *error)
{
    struct fth_latency_plan one = l2_array;
    struct fth_figure l2;
    one.every_sm = false;
    fth_log_progress(discovery->prober.log, "L2 latency", 0.05);
    enum fth_status status =
        fth_probe_latency(&discovery->prober, &l2_array, &discovery->l2, error);
    /* What timing a hop costs is seen on one SM, against its own latency. */
    if (status == FTH_OK)
        status = fth_probe_latency(&discovery->prober, &one, &l2, error);
    if (status == FTH_OK)
        status = fth_probe_overhead(&discovery->prober, &one, l2.value,
                                    &discovery->l2_overhead_cycles, error);
    if (status == FTH_OK && fth_discovery_wants(discovery, "l2"))
        status = fth_note_latency(discovery->gpu, "l2", "latency_cycles", &discovery->l2,
                                  pass_method, error);
    return status;
}

enum fth_status fth_discover_memory(struct fth_discovery *discovery, struct fth_error *error)
{
    struct fth_figure far;
    fth_log_progress(discovery->prober.log, "memory latency", 0.6);
    enum fth_status status = fth_probe_memory_latency(
        &discovery->prober, discovery->l2_overhead_cycles, &discovery->memory, &far, error);
    if (status != FTH_OK || !fth_discovery_wants(discovery, "memory"))
        return status;
    status = fth_note_latency(discovery->gpu, "memory", "latency_cycles", &discovery->memory,
                              hop_method, error);
    if (status == FTH_OK && isfinite(far.value))
        status = fth_note_latency(discovery->gpu, "memory", "far_latency_cycles", &far, hop_method,
                                  error);
    return status;
}

enum fth_status fth_discover_l2(struct fth_discovery *discovery, struct fth_error *error)
{
    const struct fth_attribute *size = fth_gpu_attribute(discovery->gpu, "l2", "size_bytes");
    if (!fth_discovery_wants(discovery, "l2"))
        return FTH_OK;
    if (!size)
        return fth_note_unknown(discovery->gpu, "l2", "partitions",
                                "the driver does not tell the L2's size", error);
    fth_log_progress(discovery->prober.log, "L2 partitions", 0.7);
    struct fth_l2_found found;
    struct fth_gpu *gpu = discovery->gpu;
    enum fth_status status =
        fth_probe_l2(&discovery->prober, (uint64_t)size->number, discovery->l2.value,
                     &discovery->memory, discovery->l2_overhead_cycles, &found, error);
    if (status == FTH_OK)
        status = fth_note_count(gpu, "l2", "partitions", found.partitions, found.samples,
                                "plateaus between L2 and memory as the footprint grows", error);
    if (status == FTH_OK && found.partitions > 1)
        status = fth_note_latency(gpu, "l2", "far_latency_cycles", &found.far_latency, hop_method,
                                  error);
    if (status == FTH_OK && found.fill_bytes)
        status =
            fth_note_count(gpu, "l2", "fill_bytes", (double)found.fill_bytes, found.samples,
                           "distance between the loads of a first walk that memory answers", error);
    return status;
}
