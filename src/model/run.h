/* What a run of the model holds. work.c makes it, run.c uses it. */
#ifndef FTH_MODEL_RUN_H
#define FTH_MODEL_RUN_H

#include "model/model.h"

/* Requests that an SM issues together. */
struct fth_group {
    uint32_t sm, next, count;
    bool sends; /* something to the L2 */
    size_t first;
    uint64_t number, block, first_warp; /* those of the schedulers, from this one on */
};

/* Requests in the order of the trace, of one wave. */
struct fth_batch {
    struct fth_requests requests;
    struct fth_group *groups;
    size_t group_count, group_capacity;
};

/* Waves that are read together. */
enum { FTH_WINDOW = 64 };

struct fth_crew;
struct fth_join;
struct fth_many;

struct fth_model_work {
    const struct fth_trace *trace;
    const struct fth_model_params *params;
    struct fth_model_options options;
    size_t instructions;
    struct fth_many *many; /* that are taken through with it; NULL: it is alone */
    const struct fth_tier_totals **ladder_totals; /* [sms], where a ladder stands for its L1s */

    /* Of a launch. */
    struct fth_setting setting;
    struct fth_placement *placement;
    uint64_t active; /* SMs with blocks */
    uint8_t *side_of_sm;
    uint32_t *joins; /* NULL: none */
    size_t join_count;
    uint64_t rounds; /* since the reads were last joined anew */

    /* Kept from launch to launch. */
    struct fth_tier **l1; /* [sms]; NULL: not yet used */
    bool *used;           /* [sms] in this launch */
    struct fth_l2 *l2, *bypassed;
    struct fth_join *join;
    uint64_t sms; /* that there is room for */
    struct fth_shape l1_shape;
    struct fth_distances **l1_distances, *l2_distances;

    struct fth_batch batches[FTH_WINDOW]; /* of the waves of a window */
    uint32_t *first_group;
    uint64_t waiting, bypassed_waiting; /* groups since the L2 was flushed */

    /* By instruction. */
    struct fth_model_counts **l1_counts; /* [tallies][instructions] */
    size_t tallies;
    struct fth_crew *crew; /* NULL: one thread does everything */
    uint64_t *warps;       /* [instructions][3] */

    struct fth_model_row *launches; /* [launches] */
    struct fth_model_row *kernels;  /* [kernels][instructions + 1], the whole kernel first */
    const char **names;
    size_t kernel_count, kernel_capacity, name_capacity;
    uint64_t done, total;
};

FTH_MUST_USE enum fth_status fth_work_create(const struct fth_trace *trace,
                                             const struct fth_model_params *params,
                                             const struct fth_model_options *options,
                                             struct fth_model_work **work, struct fth_error *error);
/* All launches that are wanted. */
FTH_MUST_USE enum fth_status fth_work_run(struct fth_model_work *work, struct fth_error *error);
FTH_MUST_USE enum fth_status fth_work_init(struct fth_model_work *work, struct fth_error *error);
void fth_work_fini(struct fth_model_work *work);
/* Readies everything for a launch, and adds what it came to. */
FTH_MUST_USE enum fth_status fth_work_begin(struct fth_model_work *work, size_t launch,
                                            struct fth_error *error);
FTH_MUST_USE enum fth_status fth_work_end(struct fth_model_work *work, size_t launch,
                                          struct fth_error *error);
/* The halves of this: what the launch came to is added, and the counts begin anew. */
FTH_MUST_USE enum fth_status fth_work_tally(struct fth_model_work *work, size_t launch,
                                            struct fth_error *error);
void fth_work_reset(struct fth_model_work *work);
/* Makes the L1 of an SM ready, at its first use in a launch. */
FTH_MUST_USE enum fth_status fth_work_sm(struct fth_model_work *work, uint32_t sm,
                                         struct fth_error *error);
FTH_MUST_USE enum fth_status fth_work_result(struct fth_model_work *work,
                                             struct fth_model_result **result,
                                             struct fth_error *error);

/* What is below the L1s takes a batch that has been through them, and empties it; of several
 * models, all of them take it whole. */
FTH_MUST_USE enum fth_status fth_work_below(struct fth_model_work *work, struct fth_batch *batch,
                                            struct fth_error *error);
/* Sorts the groups of a batch by SM, and makes what is missing of the SMs. */
FTH_MUST_USE enum fth_status fth_work_sort(struct fth_model_work *work, struct fth_batch *batch,
                                           struct fth_error *error);
/* The L1 of an SM, or all; counts go to a part of the tallies. False without memory. */
bool fth_work_l1(struct fth_model_work *work, struct fth_batch *batch, uint32_t sm, size_t part);
bool fth_work_l1s(struct fth_model_work *work, struct fth_batch *batch);
/* What the L1s left to the L2, and everything to the L2 that stands for an L1 that is off. False
 * without memory. */
bool fth_work_l2(struct fth_model_work *work, const struct fth_batch *batch);
bool fth_work_bypassed(struct fth_model_work *work, const struct fth_batch *batch);
/* What one group of every SM sent, or less at the end of a launch. False without memory. */
bool fth_work_round(struct fth_model_work *work);
bool fth_work_bypassed_round(struct fth_model_work *work);
void fth_batch_fini(struct fth_batch *batch);

/* ---- join.c ---- */

/* NULL without memory. */
struct fth_join *fth_join_create(void);
void fth_join_destroy(struct fth_join *join);
void fth_join_clear(struct fth_join *join);
/* None are left where `who` has asked for the same since it was cleared. False without memory. */
bool fth_join_read(struct fth_join *join, uint32_t who, uint64_t line, uint64_t *sectors);

/* ---- many.c ---- */

/* The steps of a run, for all members. */
FTH_MUST_USE enum fth_status fth_many_begin(struct fth_many *many, size_t launch,
                                            struct fth_error *error);
FTH_MUST_USE enum fth_status fth_many_batch(struct fth_many *many, struct fth_batch *batch,
                                            struct fth_error *error);
bool fth_many_rounds(struct fth_many *many);
FTH_MUST_USE enum fth_status fth_many_end(struct fth_many *many, size_t launch,
                                          struct fth_error *error);

/* ---- crew.c ---- */

/* How many threads are meant; 0: as many as there are cores. */
size_t fth_crew_size(unsigned threads);
/* NULL where one thread is enough, or all that there is. */
struct fth_crew *fth_crew_create(struct fth_model_work *work, size_t size);
void fth_crew_destroy(struct fth_crew *crew);
/* Takes the batch over, to what is below, and leaves an empty one; waits where too many wait. The
 * error is that of any batch before. */
FTH_MUST_USE enum fth_status fth_crew_hand(struct fth_crew *crew, struct fth_batch *batch,
                                           struct fth_error *error);
/* Until everything that was handed over is done. */
FTH_MUST_USE enum fth_status fth_crew_wait(struct fth_crew *crew, struct fth_error *error);
/* All L1s take the batch. False without memory. */
bool fth_crew_l1s(struct fth_crew *crew, struct fth_batch *batch);

#endif
