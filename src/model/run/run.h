/* model/run/: runs a trace through the caches of models. waves.c reads the trace and gives its
 * requests, in batches, to a *simulation*. There are three kinds of simulations:
 *
 *   model_run.c    one model, in the thread of the caller
 *   workers.c      one model, with one thread for the L2 and several for the L1s
 *   multi_run.c    several models, which share what they have in common
 *
 * model_run.c also runs the model with time (timed/), which reads the trace itself. multi_run.c
 * runs such models one after the other.
 *
 * Each simulation holds the state of its models in struct fth_model_state, one per model. */
#ifndef FTH_MODEL_RUN_H
#define FTH_MODEL_RUN_H

#include "model/level/level.h"

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

/* Requests of one wave, or of several consecutive ones, in the order of the trace. */
struct fth_issue_batch {
    struct fth_line_requests requests;
    struct fth_issue_group *groups;
    size_t group_count, group_capacity;
};

/* ---- waves.c ---- */

/* What receives the requests of a trace. For each launch, waves.c calls `begin`, then `batch` any
 * number of times, then `end`. After a failure it calls none of them again. */
struct fth_simulation_ops {
    enum fth_status (*begin)(void *context, size_t launch, struct fth_error *error);
    /* Runs a batch through the caches, or queues it, and leaves it empty. Sets *enough if the
     * simulation needs nothing more of the trace. Then waves.c ends the run without calling `end`,
     * and this is no failure. */
    enum fth_status (*batch)(void *context, struct fth_issue_batch *batch, bool *enough,
                             struct fth_error *error);
    /* Processes what is left and adds the counts of the launch to the results. `warps` are the
     * accesses of warps in the launch: [instructions][3], by kind. */
    enum fth_status (*end)(void *context, size_t launch, const uint64_t *warps,
                           struct fth_error *error);
};

struct fth_simulation {
    const struct fth_simulation_ops *ops;
    void *context;
};

/* Reads the launches of a trace that the options select, for models with the parameters `params`,
 * and gives their requests to the simulation. Only `kernel` and `log` of the options are used. */
FTH_MUST_USE enum fth_status fth_simulate_trace(const struct fth_simulation *simulation,
                                                const struct fth_trace *trace,
                                                const struct fth_model_params *params,
                                                const struct fth_model_options *options,
                                                struct fth_error *error);
/* Fails if the access has no lanes, or a warp that the blocks of the launch do not have. */
FTH_MUST_USE enum fth_status fth_check_access(const struct fth_compact_access *access,
                                              const struct fth_setting *setting,
                                              struct fth_error *error);
/* Whether the launch is one of this kernel; NULL: of any kernel. */
bool fth_launch_is_selected(const struct fth_trace *trace, size_t launch, const char *kernel);
/* Adds the launch to the context of an error. */
void fth_launch_error_context(const struct fth_trace *trace, size_t launch,
                              struct fth_error *error);
/* Empties a batch, or frees it. */
void fth_issue_batch_clear(struct fth_issue_batch *batch);
void fth_issue_batch_fini(struct fth_issue_batch *batch);

/* ---- l1s.c ---- */

/* The L1s of all SMs of one model, and their counts of the current launch. */
struct fth_l1s {
    uint64_t sms;
    struct fth_shape shape;          /* in the current launch */
    struct fth_cache_level **levels; /* [sms]; NULL: not yet used */
    /* [sms] totals of each L1, which are those of its level, or of a variant of an LRU stack. NULL:
     * the SM has not been used in this launch. */
    const struct fth_cache_level_totals **totals;
    uint32_t *first_group;            /* [sms] first group of the SM in the linked batch */
    struct fth_model_counts **counts; /* [count_arrays][instructions + 1] */
    size_t count_arrays;              /* one per thread */
    size_t instructions;
    /* The causes of misses, as `counts`; NULL: not wanted. */
    struct fth_model_misses **misses;
};

FTH_MUST_USE enum fth_status fth_l1s_init(struct fth_l1s *l1s, uint64_t sms, size_t instructions,
                                          size_t count_arrays, struct fth_error *error);
void fth_l1s_fini(struct fth_l1s *l1s);
/* From now on, finds out why reads miss. To be called before the first launch. */
FTH_MUST_USE enum fth_status fth_l1s_diagnose(struct fth_l1s *l1s, struct fth_error *error);
/* Begins a launch with L1s of this shape. Each L1 is emptied, or created, when it is first used. */
void fth_l1s_begin(struct fth_l1s *l1s, const struct fth_shape *shape);
/* Links the groups of each SM in a batch, and prepares the L1s of these SMs. */
FTH_MUST_USE enum fth_status fth_l1s_link(struct fth_l1s *l1s, struct fth_issue_batch *batch,
                                          struct fth_error *error);
/* Run the linked batch through the L1 of one SM, counting in counts[thread], or through all L1s.
 * They set the forwarded sectors of each request. False: out of memory. */
bool fth_l1s_run_sm(struct fth_l1s *l1s, struct fth_issue_batch *batch, uint32_t sm, size_t thread);
bool fth_l1s_run(struct fth_l1s *l1s, struct fth_issue_batch *batch);
void fth_l1s_reset_counts(struct fth_l1s *l1s);

/* ---- curves.c ---- */

/* Exact stack distances, for curves: each L1 has a stream with the reads of its SM; the L2 has one
 * with the reads that it receives. */
struct fth_curves {
    uint64_t sms;
    struct fth_distances **l1; /* [sms]; NULL: not yet used */
    struct fth_distances *l2;
    unsigned sector_shift; /* of the L1s */
    bool failed;           /* fth_curves_add_l1() or fth_curves_add_l2() had no memory */
};

FTH_MUST_USE enum fth_status fth_curves_create(uint64_t sms, struct fth_curves **curves,
                                               struct fth_error *error);
void fth_curves_destroy(struct fth_curves *curves);
/* Begin a group of requests of an SM, and add one of its reads, of which `sent` are the sectors
 * that the L2 receives. False: out of memory. */
bool fth_curves_use_sm(struct fth_curves *curves, uint32_t sm);
bool fth_curves_add(struct fth_curves *curves, uint32_t sm, const struct fth_line_request *request,
                    uint64_t sent);
/* Add sectors that an SM reads, or reads that the L2 receives. Without memory, they set `failed`.
 */
void fth_curves_add_l1(struct fth_curves *curves, uint32_t sm, uint64_t line, uint64_t sectors);
void fth_curves_add_l2(struct fth_curves *curves, uint64_t line, uint64_t sectors);
/* Adds all streams to the curves of a result. False: out of memory, now or before. */
bool fth_curves_finish(const struct fth_curves *curves, struct fth_model_result *result);

/* ---- l2_feed.c ---- */

struct fth_join;

/* What an L2 receives: the requests that the L1s forward, or all requests. The latter is the L2 of
 * the same GPU if every access bypassed the L1s ("L1 off"). */
enum fth_l2_input { FTH_L2_FORWARDED, FTH_L2_ALL, FTH_L2_INPUTS };

/* One L2, and how it receives its requests: in rounds of as many groups as there are active SMs. */
struct fth_l2_feed {
    enum fth_l2_input input;
    struct fth_l2 *l2; /* kept from launch to launch; NULL: there is no such L2 */
    struct fth_shape l1_shape;
    const uint8_t *side_of_sm; /* [sms] borrowed */
    uint64_t round_groups;     /* groups per round */
    uint64_t groups_since_flush;
    struct fth_join *join; /* NULL: reads are not joined */
    /* Join groups of the SMs (l2.joins): SM i is in group [i % count]. */
    uint32_t *join_group_of_sm;
    size_t join_group_count;
    uint64_t join_rounds; /* rounds per join window */
    uint64_t rounds_since_join_clear;
    bool diagnose; /* find out why reads miss */
};

/* Begins a launch: creates the L2 at first, and empties it if l2.cold is set. */
FTH_MUST_USE enum fth_status fth_l2_feed_begin(struct fth_l2_feed *feed,
                                               const struct fth_model_params *params,
                                               const struct fth_setting *setting,
                                               const uint8_t *side_of_sm, size_t instructions,
                                               struct fth_error *error);
void fth_l2_feed_fini(struct fth_l2_feed *feed);
/* Sends the requests of a batch to the L2. `curves` may be NULL. False: out of memory. */
bool fth_l2_feed_run(struct fth_l2_feed *feed, const struct fth_issue_batch *batch,
                     struct fth_curves *curves);
/* Ends a round: the L2 processes all requests sent since the last flush. False: out of memory. */
bool fth_l2_feed_flush(struct fth_l2_feed *feed);

/* ---- join.c ---- */

/* Reads of the current join window. NULL: out of memory. */
struct fth_join *fth_join_create(void);
void fth_join_destroy(struct fth_join *join);
/* Starts a new join window. */
void fth_join_clear(struct fth_join *join);
/* Sets *sectors to 0 if an SM of the same group has read exactly these sectors since the last
 * clear; otherwise stores the read. False: out of memory. */
bool fth_join_read(struct fth_join *join, uint32_t sm_group, uint64_t line, uint64_t *sectors);

/* ---- rows.c ---- */

/* The results of a model so far, by launch, kernel and instruction. */
struct fth_model_rows {
    const struct fth_trace *trace;
    size_t instructions;            /* number of memory instructions in the trace */
    struct fth_model_row *launches; /* [launches] */
    struct fth_model_row *kernels;  /* [kernels][instructions + 1]; row 0: the whole kernel */
    const char **names;             /* [kernels] */
    size_t kernel_count, kernel_capacity, name_capacity;
};

/* Where the counts of one launch are. */
struct fth_launch_counts {
    const struct fth_setting *setting;
    const uint64_t *warps;              /* as in struct fth_simulation_ops */
    struct fth_model_counts *const *l1; /* [l1_arrays][instructions + 1] to be added */
    size_t l1_arrays;
    const struct fth_cache_level_totals *const *l1_totals; /* [l1_total_count]; NULL: unused L1 */
    size_t l1_total_count;
    const struct fth_l2_counts *l2;       /* [instructions + 1]; the last one: write-backs */
    const struct fth_l2_counts *bypassed; /* the same with the L1s off; may be NULL */
    const struct fth_cache_level_totals *const *l2_totals; /* [l2_total_count] */
    size_t l2_total_count;
    double seconds;     /* NAN: unknown */
    uint64_t simulated; /* accesses of warps; set only with time */
    /* Expected errors of the hits of reads, in sectors, if not all accesses were simulated. */
    double l1_error, l2_error;
    struct fth_model_misses *const *l1_misses; /* as `l1`; NULL: not known */
};

FTH_MUST_USE enum fth_status fth_model_rows_init(struct fth_model_rows *rows,
                                                 const struct fth_trace *trace,
                                                 struct fth_error *error);
void fth_model_rows_fini(struct fth_model_rows *rows);
FTH_MUST_USE enum fth_status fth_model_rows_add(struct fth_model_rows *rows, size_t launch,
                                                const struct fth_launch_counts *counts,
                                                struct fth_error *error);
/* Moves the rows of all launches to a new result, with the curves unless they are NULL. */
FTH_MUST_USE enum fth_status fth_model_rows_take(struct fth_model_rows *rows,
                                                 const struct fth_curves *curves,
                                                 struct fth_model_result **result,
                                                 struct fth_error *error);

/* ---- demand.c ---- */

/* Sets `demand` in the rows of a result. Only `kernel` and `log` of the options are used. */
FTH_MUST_USE enum fth_status fth_model_add_demand(const struct fth_trace *trace,
                                                  const struct fth_model_options *options,
                                                  struct fth_model_result *result,
                                                  struct fth_error *error);
/* Returns how many instructions the warps of a launch issue; NAN: unknown. */
double fth_launch_instructions(const struct fth_trace *trace, size_t launch);

/* ---- model_state.c ---- */

/* One model: its caches, and its results so far. */
struct fth_model_state {
    const struct fth_trace *trace;
    const struct fth_model_params *params;
    struct fth_setting setting; /* of the current launch */
    uint8_t *side_of_sm;        /* [sms] L2 side of each SM in the current launch */
    struct fth_l1s l1s;
    struct fth_l2_feed feeds[FTH_L2_INPUTS];
    bool bypassed;             /* whether feeds[FTH_L2_ALL] is in use */
    struct fth_curves *curves; /* NULL: not wanted */
    struct fth_model_rows rows;
};

/* Creates the state for a run. Only `threads`, `bypassed`, `curves` and `diagnose` of the
 * options are used. */
FTH_MUST_USE enum fth_status fth_model_state_create(const struct fth_trace *trace,
                                                    const struct fth_model_params *params,
                                                    const struct fth_model_options *options,
                                                    struct fth_model_state **state,
                                                    struct fth_error *error);
void fth_model_state_destroy(struct fth_model_state *state);
FTH_MUST_USE enum fth_status fth_model_state_begin(struct fth_model_state *state, size_t launch,
                                                   struct fth_error *error);
/* Runs a batch that has been through the L1s through the L2s. */
FTH_MUST_USE enum fth_status fth_model_state_run_l2s(struct fth_model_state *state,
                                                     const struct fth_issue_batch *batch,
                                                     struct fth_error *error);
/* Ends the last round of a launch, adds its counts to the results, and resets them. */
FTH_MUST_USE enum fth_status fth_model_state_end(struct fth_model_state *state, size_t launch,
                                                 const uint64_t *warps, struct fth_error *error);
/* The last two of these steps. The counts are those of `l1s` and `l2`, which may belong to other
 * models. */
FTH_MUST_USE enum fth_status fth_model_state_add_rows(struct fth_model_state *state, size_t launch,
                                                      const uint64_t *warps,
                                                      const struct fth_l1s *l1s, struct fth_l2 *l2,
                                                      struct fth_error *error);
void fth_model_state_reset_counts(struct fth_model_state *state);

/* ---- model_run.c ---- */

/* Runs one model, with or without time, with options that fth_options_read() has read. */
FTH_MUST_USE enum fth_status fth_model_run_one(const struct fth_trace *trace,
                                               const struct fth_model_params *params,
                                               const struct fth_model_options *options,
                                               struct fth_model_result **result,
                                               struct fth_error *error);

/* ---- orders.c ---- */

/* Runs one model `options->orders` times, at least twice, with different orders. The result is that
 * of fth_model_run_one(), with intervals over all runs. */
FTH_MUST_USE enum fth_status fth_model_run_orders(const struct fth_trace *trace,
                                                  const struct fth_model_params *params,
                                                  const struct fth_model_options *options,
                                                  struct fth_model_result **result,
                                                  struct fth_error *error);

/* ---- part_log.c ---- */

struct fth_part_log {
    struct fth_log log; /* for the part */
    const struct fth_log *whole;
    double from, to; /* range of the part in the progress of the whole run */
};
/* `part` must stay where it is while `part->log` is used. `whole` may be NULL. */
void fth_part_log_init(struct fth_part_log *part, const struct fth_log *whole, double from,
                       double to);

/* ---- workers.c ---- */

struct fth_workers;

/* The number of threads for a value of fth_model_options.threads. */
size_t fth_workers_thread_count(unsigned threads);
/* Starts one thread less than the L1s have arrays of counts, because the caller works as well.
 * NULL: this is none, or none could be started. */
struct fth_workers *fth_workers_create(struct fth_model_state *state);
/* Waits for the threads; `workers` may be NULL. */
void fth_workers_destroy(struct fth_workers *workers);
/* The simulation of that model. */
struct fth_simulation fth_workers_simulation(struct fth_workers *workers);

#endif
