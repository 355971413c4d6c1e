/* The latency of a level: passes over a chain whose footprint fits into the level, but into no
 * level before it. */
#include "probe/hierarchy/probe_hierarchy.h"

#include <math.h>

enum {
    ROUNDS = 9,
    LONG_ROUNDS = 3, /* for chains of LONG_COUNT elements, which take long */
    LONG_COUNT = 1 << 18
};

enum fth_status fth_probe_level_latency(const struct fth_prober *prober,
                                        const struct fth_first_cache *first, uint64_t line_bytes,
                                        uint64_t bytes, struct fth_figure *figure,
                                        struct fth_error *error)
{
    const uint64_t count = bytes / line_bytes;
    const size_t rounds = count >= LONG_COUNT ? LONG_ROUNDS : ROUNDS;
    struct fth_pass passes[ROUNDS];
    struct fth_pass_time times[ROUNDS];
    double values[ROUNDS], scratch[ROUNDS];
    struct fth_summary summary;
    *figure = (struct fth_figure){.clock_mhz = NAN};
    for (unsigned i = 0; i < rounds; i++)
        passes[i] = (struct fth_pass){first->path, line_bytes, count, i, 0};
    FTH_TRY(fth_time_passes(prober, first->resolution, passes, rounds, times, error));
    for (size_t i = 0; i < rounds; i++) {
        values[i] = (times[i].cycles - first->overhead_cycles) / (double)count;
        figure->samples += times[i].samples;
        figure->clock_mhz = times[i].clock_mhz;
    }
    /* Disturbances only make passes longer: the faster half of the rounds counts. */
    const size_t faster = (rounds + 1) / 2;
    fth_sort_f64(values, scratch, rounds);
    FTH_TRY(fth_summary_f64(values, faster, &summary, error));
    FTH_TRY(fth_cycles_agreement(values, faster, &figure->confidence, error));
    figure->value = summary.median;
    figure->low = summary.p05;
    figure->high = values[rounds - 1];
    return FTH_OK;
}
