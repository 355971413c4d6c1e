/* The latency of loads as a function of the footprint, and the levels of the hierarchy.
 *
 * Noise only makes loads slower, and no cache makes them faster for a larger footprint. The lower
 * envelope, the minimum over all larger footprints, is therefore closer to the truth than the
 * measured points. A level is a part of it whose slope is small.
 *
 * TLB misses make loads slower, too. A second chain has one line per page of the same footprint: it
 * has the same TLB misses, but occupies few lines. Its latency minus that of a dense chain with as
 * many lines is the cost of TLB misses. If it explains most of a rise, the rise does not separate
 * two levels. */
#include "probe/hierarchy/probe_hierarchy.h"

#include <math.h>

enum {
    PER_DOUBLING = 4,     /* points of the curve per doubling of the footprint, ... */
    FAR_PER_DOUBLING = 2, /* ... and from FAR_ELEMENTS on, where passes take long */
    FAR_ELEMENTS = 1 << 18,
    FARTHEST_ELEMENTS = 1 << 21, /* from here on, one point per doubling */
    ROUNDS = 3,                  /* repeats of a point */
    FAR_ROUNDS = 1,
    PLATEAU_POINTS = 2 /* slopes in a row that make a plateau */
};
/* Maximum slope of a plateau: relative increase per doubling of the footprint. Minimum ratio of the
 * latencies of two levels. Chosen: TLB misses raise the latency within a level, and soft edges of
 * caches have slopes of 0.5 and more. */
static const double max_slope = 0.22, min_ratio = 1.25;
/* Slopes that differ by less are equal. */
static const double same_slope = 0.01;
/* A rise is that of a TLB if TLB misses explain more than this fraction of it. Chosen. */
static const double tlb_fraction = 0.5;

/* ---- measuring ---- */

/* Times a chain in some rounds and returns the minimum latency of a load. */
static enum fth_status find_latency(const struct fth_prober *prober,
                                    const struct fth_first_cache *first, uint64_t stride,
                                    uint64_t count, struct fth_curve *curve, double *cycles,
                                    struct fth_error *error)
{
    const size_t rounds = count >= FAR_ELEMENTS ? FAR_ROUNDS : ROUNDS;
    struct fth_pass passes[ROUNDS];
    struct fth_pass_time times[ROUNDS];
    for (unsigned i = 0; i < rounds; i++)
        passes[i] = (struct fth_pass){first->path, stride, count, i, 0};
    FTH_TRY(fth_time_passes(prober, first->resolution, passes, rounds, times, error));
    *cycles = INFINITY;
    for (size_t i = 0; i < rounds; i++) {
        *cycles = fmin(*cycles, times[i].cycles);
        curve->samples += times[i].samples;
    }
    *cycles = (*cycles - first->overhead_cycles) / (double)count;
    return FTH_OK;
}

/* Replaces each value by the minimum of itself and all later ones. */
static void take_envelope(double *values, size_t count)
{
    for (size_t i = count; i-- > 1;)
        values[i - 1] = fmin(values[i - 1], values[i]);
}

/* Returns the density of the curve where chains have `count` elements. */
static double points_per_doubling(uint64_t count)
{
    return count >= FARTHEST_ELEMENTS ? 1 : count >= FAR_ELEMENTS ? FAR_PER_DOUBLING : PER_DOUBLING;
}

enum fth_status fth_probe_curve(const struct fth_prober *prober,
                                const struct fth_first_cache *first, uint64_t line_bytes,
                                uint64_t max_bytes, struct fth_curve *curve,
                                struct fth_error *error)
{
    double bytes = (double)first->edge_bytes / 4;
    curve->line_bytes = line_bytes;
    curve->count = curve->samples = 0;
    while (curve->count < FTH_CURVE_POINTS && bytes <= (double)max_bytes) {
        const uint64_t count = (uint64_t)(bytes / (double)line_bytes);
        const uint64_t paged = (uint64_t)(bytes / (double)(FTH_PAGED_BYTES + line_bytes));
        const size_t i = curve->count;
        bytes *= exp2(1.0 / points_per_doubling(count));
        if (i > 0 && curve->bytes[i - 1] == count * line_bytes)
            continue;
        curve->bytes[i] = count * line_bytes;
        FTH_TRY(find_latency(prober, first, line_bytes, count, curve, &curve->cycles[i], error));
        curve->paged_cycles[i] = first->hit_cycles;
        if (paged >= 2)
            FTH_TRY(find_latency(prober, first, FTH_PAGED_BYTES + line_bytes, paged, curve,
                                 &curve->paged_cycles[i], error));
        curve->count++;
    }
    take_envelope(curve->cycles, curve->count);
    take_envelope(curve->paged_cycles, curve->count);
    if (curve->count / 2 < PLATEAU_POINTS)
        return fth_fail(error, FTH_INCONCLUSIVE, "measure latencies", NULL,
                        "the device has too little memory for larger footprints");
    return FTH_OK;
}

/* ---- levels ---- */

/* Returns the latency at a footprint, interpolated. */
static double latency_at(const struct fth_curve *curve, double bytes)
{
    size_t i = 0;
    while (i + 1 < curve->count && (double)curve->bytes[i + 1] < bytes)
        i++;
    if (i + 1 == curve->count || bytes <= (double)curve->bytes[0])
        return curve->cycles[bytes <= (double)curve->bytes[0] ? 0 : i];
    const double low = (double)curve->bytes[i], high = (double)curve->bytes[i + 1];
    const double part = (bytes - low) / (high - low);
    return curve->cycles[i] + part * (curve->cycles[i + 1] - curve->cycles[i]);
}

uint64_t fth_curve_reaches(const struct fth_curve *curve, double cycles)
{
    for (size_t i = 1; i < curve->count; i++)
        if (curve->cycles[i] >= cycles) {
            const double rise = curve->cycles[i] - curve->cycles[i - 1],
                         part = rise > 0 ? (cycles - curve->cycles[i - 1]) / rise : 1;
            const double bytes = (double)curve->bytes[i - 1] +
                                 fmax(0, part) * (double)(curve->bytes[i] - curve->bytes[i - 1]);
            return (uint64_t)bytes / curve->line_bytes * curve->line_bytes;
        }
    return 0;
}

/* Returns the cost of TLB misses at a point of the curve. */
static double tlb_cost(const struct fth_curve *curve, size_t point)
{
    const double lines =
        floor((double)curve->bytes[point] / (double)(FTH_PAGED_BYTES + curve->line_bytes));
    const double dense = latency_at(curve, lines * (double)curve->line_bytes);
    return lines >= 2 ? fmax(0, curve->paged_cycles[point] - dense) : 0;
}

/* Returns the relative increase per doubling between a point and the next one. */
static double slope_after(const struct fth_curve *curve, size_t point)
{
    const double doublings = log2((double)curve->bytes[point + 1] / (double)curve->bytes[point]);
    return log(curve->cycles[point + 1] / curve->cycles[point]) / doublings;
}

/* Adds the plateau between two points, or merges it with the previous one. */
static void add_plateau(const struct fth_curve *curve, size_t from, size_t to,
                        struct fth_hierarchy *hierarchy)
{
    size_t middle = from + (to - from) / 2;
    double slope = INFINITY;
    /* The flattest place; the first of several, because TLB misses increase with the footprint. */
    for (size_t i = from; i < to; i++) {
        const double steepest =
            fmax(i > from ? slope_after(curve, i - 1) : 0, slope_after(curve, i));
        if (steepest < slope - same_slope) {
            slope = steepest;
            middle = i;
        }
    }
    const struct fth_hierarchy_level level = {.cycles = curve->cycles[middle],
                                              .tlb_cycles = tlb_cost(curve, middle),
                                              .slope = slope,
                                              .bytes = curve->bytes[middle],
                                              .low_bytes = curve->bytes[from],
                                              .high_bytes = curve->bytes[to]};
    if (hierarchy->count) {
        struct fth_hierarchy_level *last = &hierarchy->levels[hierarchy->count - 1];
        const double rise = level.cycles - last->cycles;
        if (level.cycles < min_ratio * last->cycles ||
            level.tlb_cycles - last->tlb_cycles > tlb_fraction * rise) {
            last->high_bytes = level.high_bytes;
            return;
        }
    }
    if (hierarchy->count == FTH_HIERARCHY_LEVELS)
        hierarchy->too_many = true;
    else
        hierarchy->levels[hierarchy->count++] = level;
}

void fth_find_levels(const struct fth_first_cache *first, const struct fth_curve *curve,
                     struct fth_hierarchy *hierarchy)
{
    const uint64_t inside = first->edge_bytes / 4;
    *hierarchy = (struct fth_hierarchy){
        .count = 1,
        .levels = {{.cycles = first->hit_cycles,
                    .bytes = inside,
                    .low_bytes = inside,
                    .high_bytes = 2 * inside}},
    };
    for (size_t i = 0; i + 1 < curve->count;) {
        size_t end = i;
        while (end + 1 < curve->count && slope_after(curve, end) <= max_slope)
            end++;
        if (end - i >= PLATEAU_POINTS)
            add_plateau(curve, i, end, hierarchy);
        if (end + 1 == curve->count)
            hierarchy->complete = end - i >= PLATEAU_POINTS;
        i = end > i ? end : i + 1;
    }
}
