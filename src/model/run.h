/* What a run of the model holds. work.c makes it, run.c uses it. */
#ifndef FTH_MODEL_RUN_H
#define FTH_MODEL_RUN_H

#include "model/model.h"

/* Requests that an SM issues together. */
struct fth_group {
    uint32_t sm, next, count;
    size_t first;
    uint64_t number, block, warps;
};

struct fth_model_work {
    const struct fth_trace *trace;
    const struct fth_model_params *params;
    struct fth_model_options options;
    size_t instructions;

    /* Of a launch. */
    struct fth_setting setting;
    struct fth_placement *placement;
    uint64_t active; /* SMs with blocks */
    uint8_t *side_of_sm;

    /* Kept from launch to launch. */
    struct fth_tier **l1; /* [sms]; NULL: not yet used */
    bool *used;            /* [sms] in this launch */
    struct fth_l2 *l2, *bypassed;
    uint64_t sms; /* that there is room for */
    struct fth_shape l1_shape;
    struct fth_distances **l1_distances, *l2_distances;

    /* Of a batch. */
    struct fth_requests batch;
    struct fth_group *groups;
    size_t group_count, group_capacity;
    uint32_t *first_group;
    uint64_t waiting; /* groups since the L2 was flushed */

    /* By instruction. */
    struct fth_model_counts **l1_counts; /* [tallies][instructions] */
    size_t tallies;
    uint64_t *warps; /* [instructions][3] */

    struct fth_model_row *launches; /* [launches] */
    struct fth_model_row *kernels;  /* [kernels][instructions + 1], the whole kernel first */
    const char **names;
    size_t kernel_count, kernel_capacity, name_capacity;
    uint64_t done, total;
};

FTH_MUST_USE enum fth_status fth_work_init(struct fth_model_work *work, struct fth_error *error);
void fth_work_fini(struct fth_model_work *work);
/* Readies everything for a launch, and adds what it came to. */
FTH_MUST_USE enum fth_status fth_work_begin(struct fth_model_work *work, size_t launch,
                                            struct fth_error *error);
FTH_MUST_USE enum fth_status fth_work_end(struct fth_model_work *work, size_t launch,
                                          struct fth_error *error);
/* Makes the L1 of an SM ready, at its first use in a launch. */
FTH_MUST_USE enum fth_status fth_work_sm(struct fth_model_work *work, uint32_t sm,
                                         struct fth_error *error);
FTH_MUST_USE enum fth_status fth_work_result(struct fth_model_work *work,
                                             struct fth_model_result **result,
                                             struct fth_error *error);

/* ---- waves.c ---- */

/* The accesses of a launch, one wave after the other; the placement must outlive it. */
struct fth_waves;

FTH_MUST_USE enum fth_status fth_waves_create(const struct fth_trace *trace, size_t launch,
                                              const struct fth_placement *placement,
                                              struct fth_waves **waves, struct fth_error *error);
void fth_waves_destroy(struct fth_waves *waves);
FTH_MUST_USE enum fth_status fth_waves_begin(struct fth_waves *waves, uint64_t wave,
                                             struct fth_error *error);
/* *access lives until the next call; it is NULL at the end of the wave. */
FTH_MUST_USE enum fth_status fth_waves_next(struct fth_waves *waves,
                                            const struct fth_trace_access **access, uint32_t *sm,
                                            struct fth_error *error);

#endif
