/* Measures the bandwidth of each level. This is the last stage that measures, because it needs the
 * sizes of the caches to choose footprints. */
#include "discover/discover.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Minimum ratio of the write bandwidths of L2 and memory that shows that the L2 writes back. A
 * cache that passes each write on to memory cannot accept more than memory does. Chosen: well above
 * the spread of 10 % up to which a bandwidth is reported. */
static const double min_write_back_ratio = 1.25;

/* Returns what else the reader must know about a figure, as the end of its note. */
static const char *extra_note(enum fth_bandwidth_target target)
{
    switch (target) {
    case FTH_BANDWIDTH_L1_WRITE: return "; L1 writes through, so L2 limits the rate";
    case FTH_BANDWIDTH_L2_READ: return "; each line is read by one SM only";
    case FTH_BANDWIDTH_CONSTANT_READ: return "; a word that all lanes of a warp read counts once";
    case FTH_BANDWIDTH_CLUSTER_READ:
    case FTH_BANDWIDTH_CLUSTER_WRITE: return ", in clusters of 2";
    default: return "";
    }
}

/* Measures a bandwidth and writes it. *clock_mhz receives the SM clock right after the streams, if
 * it is known. */
static enum fth_status find_rate(struct fth_discovery *discovery, enum fth_bandwidth_target target,
                                 double *clock_mhz, struct fth_error *error)
{
    const char *element = fth_bandwidth_element(target);
    const char *attribute = fth_bandwidth_attribute(target);
    struct fth_bandwidth found;
    /* Thorough streams would take too long on a simulated GPU. */
    enum fth_status status =
        fth_probe_bandwidth(&discovery->prober, discovery->gpu, target,
                            discovery->prober.thorough && !discovery->simulated, &found, error);
    if (status == FTH_UNSUPPORTED) { /* the GPU has no such element */
        if (error)
            *error = FTH_NO_ERROR;
        return FTH_OK;
    }
    if (status != FTH_OK)
        return fth_note_failure(discovery->gpu, element, attribute, status, error);
    if (found.clock_mhz > 0)
        *clock_mhz = found.clock_mhz;
    return fth_note_rate(discovery->gpu, target, &found, error);
}

/* Whether the size of a cache of the SMs is unknown. The arrays would then be too small for the
 * launch shapes with the highest bandwidth. */
static bool lacks_size(const struct fth_gpu *gpu, const char *element)
{
    static const char *const caches[] = {"l1", "readonly", "texture", "constant_l1"};
    for (size_t i = 0; i < FTH_COUNT(caches); i++)
        if (strcmp(element, caches[i]) == 0)
            return !fth_gpu_attribute(gpu, element, "size_bytes");
    return false;
}

enum fth_status fth_note_rate(struct fth_gpu *gpu, enum fth_bandwidth_target target,
                              const struct fth_bandwidth *found, struct fth_error *error)
{
    const struct fth_stream_shape *shape = &found->shape;
    char note[160];
    if (shape->blocks_per_sm)
        snprintf(note, sizeof note,
                 "blocks per SM: %u, threads per block: %u, bytes per access: %u%s",
                 (unsigned)shape->blocks_per_sm, (unsigned)shape->threads,
                 (unsigned)shape->vector_bytes, extra_note(target));
    else
        snprintf(note, sizeof note,
                 "threads per block: %u, accesses per thread: %u, bytes per access: %u, "
                 "as many blocks as the arrays need%s",
                 (unsigned)shape->threads, (unsigned)shape->unroll, (unsigned)shape->vector_bytes,
                 shape->hinted ? "; with hints to L2 to keep data read, not data written" : "");
    /* Round to four digits. Two runs agree in fewer. */
    const double unit = pow(10, floor(log10(found->bytes_per_s)) - 3);
    const double best = round(found->bytes_per_s / unit) * unit;
    const double median = round(found->median_bytes_per_s / unit) * unit;
    return fth_note(
        gpu,
        &(struct fth_note){.element = fth_bandwidth_element(target),
                           .attribute = fth_bandwidth_attribute(target),
                           .number = best,
                           .interval = (const double[]){fmin(best, median), fmax(best, median)},
                           .samples = found->samples,
                           .method = "all SMs at once; the best repeat of the best "
                                     "launch shape; the median of its repeats is the "
                                     "other end of the interval",
                           .note = note},
        error);
}

/* Derives the write policy of the L2 from the write bandwidths, if both are known. */
static enum fth_status derive_write_policy(struct fth_gpu *gpu, struct fth_error *error)
{
    const double l2 = fth_gpu_number(gpu, "l2", "write_bytes_per_s", NAN);
    const double memory = fth_gpu_number(gpu, "memory", "write_bytes_per_s", NAN);
    if (isnan(l2) || !(memory > 0))
        return FTH_OK;
    if (l2 >= min_write_back_ratio * memory)
        return fth_note(gpu,
                        &(struct fth_note){.element = "l2",
                                           .attribute = "write_policy",
                                           .text = "write_back",
                                           .source = FTH_SOURCE_DERIVED,
                                           .method = "it accepts writes faster than memory"},
                        error);
    return fth_note_unknown(gpu, "l2", "write_policy",
                            "it does not accept writes clearly faster than memory, which shows "
                            "neither write-back nor write-through",
                            error);
}

/* Writes the state of the GPU right after the bandwidths. At rest, clock and power say little. A
 * simulated GPU and recordings from before this state was recorded have no time of measurement; the
 * clock would then be a figure without its circumstances. */
static enum fth_status note_load(struct fth_discovery *discovery, double clock_mhz,
                                 struct fth_error *error)
{
    FTH_TRY(fth_device_describe_load(discovery->prober.device, discovery->gpu, error));
    if (isnan(clock_mhz) || !fth_gpu_text(discovery->gpu, "device", "measured_at"))
        return FTH_OK;
    return fth_note(discovery->gpu,
                    &(struct fth_note){.element = "device",
                                       .attribute = "loaded_clock_mhz",
                                       .number = fth_round_to_tenth(clock_mhz),
                                       .method = "SM cycles against the GPU's timer, right after "
                                                 "the streams of a bandwidth"},
                    error);
}

/* Whether the bandwidth is to be measured. Caches that were not found are skipped. */
static bool wants_rate(const struct fth_discovery *discovery, enum fth_bandwidth_target target)
{
    const char *element = fth_bandwidth_element(target);
    return fth_discovery_wants(discovery, element) &&
           fth_gpu_attribute(discovery->gpu, element, "latency_cycles") &&
           (!discovery->quick || fth_quick_wants(target));
}

enum fth_status fth_discover_rates(struct fth_discovery *discovery, struct fth_error *error)
{
    double clock_mhz = NAN;
    for (int i = 0; i < FTH_BANDWIDTH_TARGETS && !discovery->no_bandwidth; i++) {
        enum fth_bandwidth_target target = (enum fth_bandwidth_target)i;
        const char *element = fth_bandwidth_element(target);
        if (!wants_rate(discovery, target))
            continue;
        char what[48];
        snprintf(what, sizeof what, "bandwidth of %s", element);
        fth_discovery_report_step(discovery, what, (double)i / FTH_BANDWIDTH_TARGETS);
        FTH_TRY(lacks_size(discovery->gpu, element)
                    ? fth_note_unknown(discovery->gpu, element, fth_bandwidth_attribute(target),
                                       "the size of the cache is unknown", error)
                    : find_rate(discovery, target, &clock_mhz, error));
    }
    if (!discovery->no_bandwidth)
        FTH_TRY(note_load(discovery, clock_mhz, error));
    return derive_write_policy(discovery->gpu, error);
}
