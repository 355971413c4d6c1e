/* A device whose samples are constructed by the test: a function gives the cycles of each timed
 * step of a pointer chase. So a probe's rule is tested without a simulated GPU. */
#ifndef FTH_TESTS_SCRIPTED_H
#define FTH_TESTS_SCRIPTED_H

#include "check.h"
#include "probe/probe.h"

#include <stdlib.h>

struct scripted {
    /* Executes one step. Timed steps write their samples, `step->passes * step->chain.count` of
     * FTH_STEP_TIME_HOPS and `step->passes` of FTH_STEP_TIME_PASS. */
    void (*execute)(struct scripted *scripted, const struct fth_request *request, size_t index,
                    uint32_t *samples);
    void *truth;
    struct fth_rng rng; /* for noise */
    size_t requests;    /* executed so far */
};

/* Returns a whole number from -`most` to `most`, at random. */
static inline int noise_of(struct scripted *scripted, unsigned most)
{
    return (int)fth_rng_below(&scripted->rng, 2 * (uint64_t)most + 1) - (int)most;
}

static inline enum fth_status scripted_measure(void *state, const struct fth_request *requests,
                                               size_t count, struct fth_samples *samples,
                                               struct fth_error *error)
{
    struct scripted *scripted = state;
    (void)error;
    for (size_t i = 0; i < count; i++, scripted->requests++) {
        samples[i] = (struct fth_samples){
            .status = FTH_OK, .count = fth_request_samples(&requests[i]), .clock_mhz = 1000};
        samples[i].cycles = calloc(samples[i].count + 1, sizeof *samples[i].cycles);
        assert_non_null(samples[i].cycles);
        size_t used = 0;
        for (size_t k = 0; k < requests[i].chase.step_count; k++) {
            const struct fth_step *step = &requests[i].chase.steps[k];
            scripted->execute(scripted, &requests[i], k, samples[i].cycles + used);
            used += step->kind == FTH_STEP_TIME_HOPS   ? step->passes * step->chain.count
                    : step->kind == FTH_STEP_TIME_PASS ? step->passes
                                                       : 0;
        }
        assert_true(used <= samples[i].count);
    }
    return FTH_OK;
}

static const struct fth_device_ops scripted_ops = {.measure = scripted_measure};

/* Returns a device that executes steps with scripted->execute. */
static inline struct fth_device scripted_device(struct scripted *scripted, uint64_t seed)
{
    fth_rng_init(&scripted->rng, seed);
    return (struct fth_device){.ops = &scripted_ops, .state = scripted, .id = "scripted"};
}

#endif
