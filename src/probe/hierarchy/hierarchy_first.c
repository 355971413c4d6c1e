/* The latency of a load that hits the first cache, the overhead of timing a pass, and the
 * approximate size of the cache: the footprint from which on passes take clearly longer. */
#include "probe/hierarchy/probe_hierarchy.h"

#include <math.h>

enum {
    STRIDE_BYTES = 64, /* at most the line of most caches; only the approximate size
                        * depends on it */
    SHORT_COUNT = 32,
    LONG_COUNT = 128, /* elements of the chains whose difference gives the
                       * latency; 8 KiB fit into every first cache */
    ROUNDS = 5,       /* repeats of a chain. Chosen */
    BISECTIONS = 5    /* of a doubling: the edge is known to 3 % */
};
/* A footprint does not fit if a load takes this much longer than a hit, as a fraction of a hit and
 * of the difference between a hit and a miss. Chosen. */
static const double slower_fraction = 0.3, missed_fraction = 0.1;

/* Times a chain several times and keeps the minimum cycles of a pass. */
static enum fth_status time_count(const struct fth_prober *prober, struct fth_first_cache *first,
                                  uint64_t count, double *cycles, struct fth_error *error)
{
    struct fth_pass passes[ROUNDS];
    struct fth_pass_time times[ROUNDS];
    for (unsigned i = 0; i < ROUNDS; i++)
        passes[i] = (struct fth_pass){first->path, STRIDE_BYTES, count, i, 0};
    FTH_TRY(fth_time_passes(prober, first->resolution, passes, ROUNDS, times, error));
    *cycles = INFINITY;
    for (size_t i = 0; i < ROUNDS; i++) {
        *cycles = fmin(*cycles, times[i].cycles);
        first->samples += times[i].samples;
    }
    return FTH_OK;
}

/* Returns the cycles of a load with a footprint, without the overhead. */
static enum fth_status load_cycles(const struct fth_prober *prober, struct fth_first_cache *first,
                                   uint64_t bytes, double *cycles, struct fth_error *error)
{
    const uint64_t count = bytes / STRIDE_BYTES;
    FTH_TRY(time_count(prober, first, count, cycles, error));
    *cycles = (*cycles - first->overhead_cycles) / (double)count;
    return FTH_OK;
}

/* Narrows the edge between a footprint that fits and one that does not. */
static enum fth_status bisect(const struct fth_prober *prober, struct fth_first_cache *first,
                              uint64_t fits, uint64_t misses, struct fth_error *error)
{
    const double limit =
        first->hit_cycles + missed_fraction * (first->miss_cycles - first->hit_cycles);
    for (unsigned i = 0; i < BISECTIONS; i++) {
        double cycles;
        const uint64_t middle = (fits + misses) / 2 / STRIDE_BYTES * STRIDE_BYTES;
        FTH_TRY(load_cycles(prober, first, middle, &cycles, error));
        if (cycles > limit)
            misses = middle;
        else
            fits = middle;
    }
    first->edge_bytes = misses;
    return FTH_OK;
}

enum fth_status fth_probe_first_cache(const struct fth_prober *prober, enum fth_path path,
                                      double resolution, uint64_t max_bytes,
                                      struct fth_first_cache *first, struct fth_error *error)
{
    double shorter, longer, cycles = 0, behind = 0;
    *first = (struct fth_first_cache){.path = path, .resolution = resolution};
    FTH_TRY(time_count(prober, first, SHORT_COUNT, &shorter, error));
    FTH_TRY(time_count(prober, first, LONG_COUNT, &longer, error));
    first->hit_cycles = (longer - shorter) / (LONG_COUNT - SHORT_COUNT);
    first->overhead_cycles = shorter - SHORT_COUNT * first->hit_cycles;
    if (!(first->hit_cycles > 0))
        return fth_fail(error, FTH_INCONCLUSIVE, "measure latency", NULL,
                        "a longer chain does not take more time: the clock is too coarse");
    uint64_t fits = (uint64_t)LONG_COUNT * STRIDE_BYTES;
    while (2 * fits <= max_bytes) {
        FTH_TRY(load_cycles(prober, first, 2 * fits, &cycles, error));
        if (cycles > (1 + slower_fraction) * first->hit_cycles)
            break;
        fits *= 2;
    }
    if (2 * fits > max_bytes)
        return fth_fail(error, FTH_INCONCLUSIVE, "measure a cache", NULL,
                        "no footprint up to %llu bytes is slower than a small one",
                        (unsigned long long)max_bytes);
    /* Three times as much as fits: most policies miss with every load, and the next cache is
     * usually larger. */
    FTH_TRY(load_cycles(prober, first, 3 * fits, &behind, error));
    first->miss_cycles = fmax(behind, cycles);
    return bisect(prober, first, fits, 2 * fits, error);
}
