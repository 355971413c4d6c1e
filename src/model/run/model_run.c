/* Runs a trace through the caches of one model. */
#include "model/run/run.h"

/* ---- a simulation in the thread of the caller; the context is a struct fth_model_state ---- */

static enum fth_status begin(void *context, size_t launch, struct fth_error *error)
{
    return fth_model_state_begin(context, launch, error);
}

static enum fth_status run_batch(void *context, struct fth_issue_batch *batch, bool *enough,
                                 struct fth_error *error)
{
    struct fth_model_state *state = context;
    (void)enough; /* a single model needs the whole trace */
    FTH_TRY(fth_l1s_link(&state->l1s, batch, error));
    if (!fth_l1s_run(&state->l1s, batch))
        return fth_no_memory(error, "model caches", NULL);
    FTH_TRY(fth_model_state_run_l2s(state, batch, error));
    fth_issue_batch_clear(batch);
    return FTH_OK;
}

static enum fth_status end(void *context, size_t launch, const uint64_t *warps,
                           struct fth_error *error)
{
    return fth_model_state_end(context, launch, warps, error);
}

static const struct fth_simulation_ops ops = {.begin = begin, .batch = run_batch, .end = end};

/* ---- the run ---- */

enum fth_status fth_model_run(const struct fth_trace *trace, const struct fth_model_params *params,
                              const struct fth_model_options *options,
                              struct fth_model_result **result, struct fth_error *error)
{
    struct fth_model_options known;
    struct fth_model_state *state = NULL;
    *result = NULL;
    FTH_TRY(fth_options_read("fth_model_options", options, &known, sizeof known, error));
    FTH_TRY(fth_model_state_create(trace, params, &known, &state, error));
    struct fth_workers *workers = fth_workers_create(state);
    const struct fth_simulation simulation =
        workers ? fth_workers_simulation(workers) : (struct fth_simulation){&ops, state};
    enum fth_status status = fth_simulate_trace(&simulation, trace, params, &known, error);
    if (status == FTH_OK)
        status = fth_model_rows_take(&state->rows, state->curves, result, error);
    fth_log_progress(known.log, "model caches", 1);
    fth_workers_destroy(workers);
    fth_model_state_destroy(state);
    return status;
}
