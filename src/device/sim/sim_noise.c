/* Noise of measurements: every latency deviates by a few cycles, and a few loads take ten times as
 * long. The same seed produces the same noise. */
#include "device/sim/sim.h"

#define OUTLIER_FACTOR 10 /* latency of an outlier relative to an undisturbed load; heuristic */

void fth_sim_noise_init(struct fth_sim_noise *noise, const struct fth_sim_plan *plan)
{
    noise->jitter = plan->jitter;
    noise->outlier_rate = plan->outlier_rate;
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
