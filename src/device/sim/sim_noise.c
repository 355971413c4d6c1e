/* Noise of measurements: every latency deviates by a few cycles, a few loads take ten times as
 * long, and at times another program runs and replaces the contents of the caches. The same seed
 * produces the same noise. */
#include "device/sim/sim.h"

#include <math.h>

#define OUTLIER_FACTOR                                                                             \
    10 /* latency of an outlier relative to an undisturbed load; chosen, not derived */

/* Time that another program runs, in cycles: from 100,000 to 4,000,000, with uniformly distributed
 * logarithms. It reads nothing in a quarter of the cases, up to half of the L2 in another quarter,
 * and otherwise twice the size of the L2. Chosen: an H200 switches between programs after about 2
 * ms, and the switch takes about 0.1 ms. */
static const double min_neighbour_cycles = 1e5, max_neighbour_cycles = 4e6;
enum { NEIGHBOUR_KINDS = 4, LARGE_SWEEP = 2 };

void fth_sim_noise_init(struct fth_sim_noise *noise, const struct fth_sim_plan *plan)
{
    noise->jitter = plan->jitter;
    noise->outlier_rate = plan->outlier_rate;
    noise->neighbour_rate = plan->neighbour_rate;
    noise->max_latency = plan->memory_latency > plan->memory_far_latency ? plan->memory_latency
                                                                         : plan->memory_far_latency;
    for (unsigned i = 0; i < FTH_SIM_TLBS; i++)
        if (plan->tlbs[i].present)
            noise->max_latency += plan->tlbs[i].penalty;
    fth_rng_init(&noise->rng, plan->seed);
}

int64_t fth_sim_noise_add(struct fth_sim_noise *noise, int64_t latency)
{
    if (noise->jitter) {
        uint64_t range = 2 * (uint64_t)noise->jitter + 1;
        latency += ((int64_t)fth_rng_below(&noise->rng, range) - noise->jitter) * FTH_SIM_CYCLE;
    }
    if (noise->outlier_rate > 0 && fth_rng_unit(&noise->rng) < noise->outlier_rate)
        latency +=
            (OUTLIER_FACTOR - 1) * (latency < noise->max_latency ? latency : noise->max_latency);
    return latency < FTH_SIM_CYCLE ? FTH_SIM_CYCLE : latency;
}

int64_t fth_sim_noise_neighbour(struct fth_sim_noise *noise, uint64_t l2_size_bytes,
                                uint64_t *l2_bytes)
{
    if (!(noise->neighbour_rate > 0) || fth_rng_unit(&noise->rng) >= noise->neighbour_rate)
        return 0;
    const uint64_t kind = fth_rng_below(&noise->rng, NEIGHBOUR_KINDS);
    *l2_bytes = kind == 0   ? 0
                : kind == 1 ? fth_rng_below(&noise->rng, l2_size_bytes / 2 + 1)
                            : LARGE_SWEEP * l2_size_bytes;
    return (int64_t)(min_neighbour_cycles *
                     pow(max_neighbour_cycles / min_neighbour_cycles, fth_rng_unit(&noise->rng))) *
           FTH_SIM_CYCLE;
}
