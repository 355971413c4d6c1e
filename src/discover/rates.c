/* Bandwidth, level by level. It comes last: what is small enough to stay in a cache is known by
 * then. */
#include "discover/discover.h"

#include <math.h>
#include <stdio.h>

/* What must be known of a figure, beside its shape. */
static const char *more_about(enum fth_bandwidth_target target)
{
    switch (target) {
    case FTH_BANDWIDTH_L1_WRITE: return "; L1 writes through, so L2 sets the pace";
    case FTH_BANDWIDTH_L2_READ: return "; each line wanted by one SM only";
    case FTH_BANDWIDTH_CONSTANT_READ: return "; what all lanes of a warp want counts once";
    case FTH_BANDWIDTH_CLUSTER_READ:
    case FTH_BANDWIDTH_CLUSTER_WRITE: return ", in clusters of 2";
    default: return "";
    }
}

static enum fth_status find_rate(struct fth_discovery *discovery, enum fth_bandwidth_target target,
                                 struct fth_error *error)
{
    const char *element = fth_bandwidth_element(target);
    const char *attribute = fth_bandwidth_attribute(target);
    struct fth_bandwidth found;
    /* Where every access is simulated, streams are not longer than need be. */
    enum fth_status status =
        fth_probe_bandwidth(&discovery->prober, discovery->gpu, target,
                            discovery->prober.thorough && !discovery->simulated, &found, error);
    if (status == FTH_UNSUPPORTED) { /* the GPU has no such thing */
        if (error)
            *error = FTH_NO_ERROR;
        return FTH_OK;
    }
    if (status != FTH_OK)
        return fth_note_failure(discovery->gpu, element, attribute, status, error);
    return fth_note_rate(discovery->gpu, target, &found, error);
}

enum fth_status fth_note_rate(struct fth_gpu *gpu, enum fth_bandwidth_target target,
                              const struct fth_bandwidth *found, struct fth_error *error)
{
    const struct fth_stream_shape *shape = &found->shape;
    char note[160];
    if (shape->blocks_per_sm)
        snprintf(note, sizeof note, "%u blocks of %u threads an SM, %u bytes at a time%s",
                 (unsigned)shape->blocks_per_sm, (unsigned)shape->threads,
                 (unsigned)shape->vector_bytes, more_about(target));
    else
        snprintf(note, sizeof note,
                 "a block of %u threads for each piece, %u times %u bytes a thread%s",
                 (unsigned)shape->threads, (unsigned)shape->unroll, (unsigned)shape->vector_bytes,
                 shape->hinted ? "; L2 is told to keep what is read, not what is written" : "");
    /* Four digits are more than two runs agree in. */
    const double unit = pow(10, floor(log10(found->bytes_per_s)) - 3);
    const double best = round(found->bytes_per_s / unit) * unit;
    const double median = round(found->median_bytes_per_s / unit) * unit;
    return fth_note_number(gpu,
                           &(struct fth_note){.element = fth_bandwidth_element(target),
                                              .attribute = fth_bandwidth_attribute(target),
                                              .value = best,
                                              .low = fmin(best, median),
                                              .high = fmax(best, median),
                                              .confidence = NAN,
                                              .samples = found->samples,
                                              .method = "all SMs at once, the best of several "
                                                        "launch shapes and of its repeats, whose "
                                                        "median is the other end of the interval",
                                              .note = note},
                           error);
}

enum fth_status fth_discover_rates(struct fth_discovery *discovery, struct fth_error *error)
{
    enum fth_status status = FTH_OK;
    for (int i = 0; i < FTH_BANDWIDTH_TARGETS && status == FTH_OK && !discovery->no_bandwidth;
         i++) {
        enum fth_bandwidth_target target = (enum fth_bandwidth_target)i;
        const char *element = fth_bandwidth_element(target);
        /* A cache that was not found has no bandwidth. */
        if (!fth_discovery_wants(discovery, element) ||
            !fth_gpu_attribute(discovery->gpu, element, "latency_cycles"))
            continue;
        char what[48];
        snprintf(what, sizeof what, "bandwidth of %s", element);
        fth_log_progress(discovery->prober.log, what, 0.85 + 0.14 * i / FTH_BANDWIDTH_TARGETS);
        status = find_rate(discovery, target, error);
    }
    return status;
}
