/* The state of a model run. work.c creates and evaluates it, run.c runs the trace through it. */
#ifndef FTH_MODEL_RUN_H
#define FTH_MODEL_RUN_H

#include "model/model.h"

/* The requests that the schedulers of one SM issue together: one access number of neighbouring
 * warps of one block. */
struct fth_issue_group {
    uint32_t sm;
    uint32_t next;       /* next group of the same SM in the batch; UINT32_MAX: none */
    uint32_t count;      /* requests */
    bool forwards;       /* the L1 forwards at least one of the requests to the L2 */
    size_t first;        /* index of the first request in the batch */
    uint64_t number;     /* access number */
    uint64_t block;      /* index in the grid */
    uint64_t first_warp; /* the group has the warps from this one on, one per scheduler */
};

/* Requests of one wave in the order of the trace. */
struct fth_batch {
    struct fth_requests requests;
    struct fth_issue_group *groups;
    size_t group_count, group_capacity;
};

/* Maximum number of waves that are read together in one pass over their part of the trace. Chosen
 * by experiment. */
enum { FTH_MAX_WINDOW_WAVES = 64 };

struct fth_workers;
struct fth_join;
struct fth_multi_run;

struct fth_model_work {
    const struct fth_trace *trace;
    const struct fth_model_params *params;
    struct fth_model_options options;
    size_t instructions;         /* number of memory instructions in the trace */
    struct fth_multi_run *multi; /* the models that run together with this one; NULL: none */
    /* [sms] totals of the L1s if an LRU stack simulates them; otherwise NULL. */
    const struct fth_cache_level_totals **stack_totals;

    /* State of one launch. */
    struct fth_setting setting;
    struct fth_placement *placement;
    uint64_t active_sms; /* SMs with blocks */
    uint8_t *side_of_sm;
    /* Join groups of the SMs (l2.joins): SM i is in group [i % count]. NULL: reads are not joined.
     */
    uint32_t *join_group_of_sm;
    size_t join_group_count;
    uint64_t rounds_since_join_clear;

    /* State that is kept from launch to launch. */
    struct fth_cache_level **l1;  /* [sms]; NULL: not yet used */
    bool *used;                   /* [sms] whether the SM has been used in this launch */
    struct fth_l2 *l2, *bypassed; /* bypassed: the L2 of a GPU whose L1s are off, or NULL */
    struct fth_join *join;
    uint64_t sms; /* length of the arrays with one entry per SM */
    struct fth_shape l1_shape;
    struct fth_distances **l1_distances, *l2_distances; /* for curves; [sms] NULL: not yet used */

    struct fth_batch batches[FTH_MAX_WINDOW_WAVES]; /* one per wave of a window */
    uint32_t *first_group; /* [sms] first group of the SM in the batch; UINT32_MAX: none */
    uint64_t groups_since_flush, bypassed_groups_since_flush;

    /* Counts of the launch by instruction. */
    struct fth_model_counts **l1_counts; /* [count_arrays][instructions] */
    size_t count_arrays;                 /* one per thread */
    struct fth_workers *workers;         /* NULL: the run has only one thread */
    uint64_t *warps;                     /* [instructions][3] accesses of warps by kind */

    struct fth_model_row *launches; /* [launches] */
    struct fth_model_row *kernels;  /* [kernels][instructions + 1]; row 0: the whole kernel */
    const char **names;             /* [kernels] */
    size_t kernel_count, kernel_capacity, name_capacity;
    uint64_t done, total; /* accesses, for progress reports */
};

/* Creates the state of a run; fth_work_fini() frees it. */
FTH_MUST_USE enum fth_status fth_work_create(const struct fth_trace *trace,
                                             const struct fth_model_params *params,
                                             const struct fth_model_options *options,
                                             struct fth_model_work **work, struct fth_error *error);
/* Runs all launches that the options select. */
FTH_MUST_USE enum fth_status fth_work_run(struct fth_model_work *work, struct fth_error *error);
/* Allocates what is needed for the trace, the parameters and the options in `work`. */
FTH_MUST_USE enum fth_status fth_work_init(struct fth_model_work *work, struct fth_error *error);
/* Frees everything, including `work`. */
void fth_work_fini(struct fth_model_work *work);
/* Begin and end a launch. The end adds the counts of the launch to the results and resets them. */
FTH_MUST_USE enum fth_status fth_work_begin(struct fth_model_work *work, size_t launch,
                                            struct fth_error *error);
FTH_MUST_USE enum fth_status fth_work_end(struct fth_model_work *work, size_t launch,
                                          struct fth_error *error);
/* The two parts of fth_work_end(). */
FTH_MUST_USE enum fth_status fth_work_add_results(struct fth_model_work *work, size_t launch,
                                                  struct fth_error *error);
void fth_work_reset_counts(struct fth_model_work *work);
/* Creates or empties the L1 of an SM at its first use in a launch. */
FTH_MUST_USE enum fth_status fth_work_prepare_l1(struct fth_model_work *work, uint32_t sm,
                                                 struct fth_error *error);
/* Moves the rows of all launches to a new result. */
FTH_MUST_USE enum fth_status fth_work_result(struct fth_model_work *work,
                                             struct fth_model_result **result,
                                             struct fth_error *error);

/* Runs a batch that has been through the L1s through the L2, then empties it. If several models run
 * together, runs the batch through the L1s and L2s of all of them. */
FTH_MUST_USE enum fth_status fth_work_finish_batch(struct fth_model_work *work,
                                                   struct fth_batch *batch,
                                                   struct fth_error *error);
/* Links the groups of each SM in a batch, and prepares the L1s of these SMs. */
FTH_MUST_USE enum fth_status fth_work_group_by_sm(struct fth_model_work *work,
                                                  struct fth_batch *batch, struct fth_error *error);
/* Run a batch through the L1 of one SM, counting in l1_counts[thread], or through all L1s. False:
 * out of memory. */
bool fth_work_run_l1(struct fth_model_work *work, struct fth_batch *batch, uint32_t sm,
                     size_t thread);
bool fth_work_run_l1s(struct fth_model_work *work, struct fth_batch *batch);
/* Send the requests that the L1s forward to the L2, and all requests to the L2 of a GPU whose L1s
 * are off. False: out of memory. */
bool fth_work_run_l2(struct fth_model_work *work, const struct fth_batch *batch);
bool fth_work_run_bypassed(struct fth_model_work *work, const struct fth_batch *batch);
/* End a round: the L2 processes all requests sent since the last flush. A round has as many groups
 * as there are active SMs, or fewer at the end of a launch. False: out of memory. */
bool fth_work_flush_l2(struct fth_model_work *work);
bool fth_work_flush_bypassed(struct fth_model_work *work);
void fth_batch_fini(struct fth_batch *batch);

/* ---- join.c ---- */

/* Reads of the current join window. NULL: out of memory. */
struct fth_join *fth_join_create(void);
void fth_join_destroy(struct fth_join *join);
/* Starts a new join window. */
void fth_join_clear(struct fth_join *join);
/* Sets *sectors to 0 if an SM of the same group has read exactly these sectors since the last
 * clear; otherwise stores the read. False: out of memory. */
bool fth_join_read(struct fth_join *join, uint32_t sm_group, uint64_t line, uint64_t *sectors);

/* ---- multi_run.c ---- */

/* The counterparts of fth_work_begin(), fth_work_finish_batch(), the flushes and fth_work_end() for
 * all models that run together. fth_multi_run_flush() returns false if out of memory. */
FTH_MUST_USE enum fth_status fth_multi_run_begin(struct fth_multi_run *multi, size_t launch,
                                                 struct fth_error *error);
FTH_MUST_USE enum fth_status fth_multi_run_batch(struct fth_multi_run *multi,
                                                 struct fth_batch *batch, struct fth_error *error);
bool fth_multi_run_flush(struct fth_multi_run *multi);
FTH_MUST_USE enum fth_status fth_multi_run_end(struct fth_multi_run *multi, size_t launch,
                                               struct fth_error *error);

/* ---- workers.c ---- */

/* The number of threads to use; `threads` 0: one per core. */
size_t fth_workers_thread_count(unsigned threads);
/* Starts the threads and sets `work->workers`. NULL: only one thread is wanted, or no thread could
 * be started; then the caller does all the work. */
struct fth_workers *fth_workers_create(struct fth_model_work *work, size_t threads_wanted);
void fth_workers_destroy(struct fth_workers *workers);
/* Queues the batch for the L2 and replaces it by an empty one. Waits while the queue is full. The
 * error can be that of an earlier batch. */
FTH_MUST_USE enum fth_status fth_workers_submit(struct fth_workers *workers,
                                                struct fth_batch *batch, struct fth_error *error);
/* Waits until all queued batches are processed. */
FTH_MUST_USE enum fth_status fth_workers_wait(struct fth_workers *workers, struct fth_error *error);
/* Runs the batch through all L1s. False: out of memory. */
bool fth_workers_run_l1s(struct fth_workers *workers, struct fth_batch *batch);

#endif
