/* Runs a trace through the caches of one model, with or without time. */
#include "model/timed/timed.h"

#include <string.h>

/* Maximum of fth_model_options.sample. Chosen: with shorter windows, hit ratios vary too much. */
enum { MAX_SAMPLE = 64 };

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

/* ---- the model without time ---- */

static enum fth_status run_steps(const struct fth_trace *trace,
                                 const struct fth_model_params *params,
                                 const struct fth_model_options *options,
                                 struct fth_model_result **result, struct fth_error *error)
{
    struct fth_model_state *state = NULL;
    FTH_TRY(fth_model_state_create(trace, params, options, &state, error));
    struct fth_workers *workers = fth_workers_create(state);
    const struct fth_simulation simulation =
        workers ? fth_workers_simulation(workers) : (struct fth_simulation){&ops, state};
    enum fth_status status = fth_simulate_trace(&simulation, trace, params, options, error);
    if (status == FTH_OK)
        status = fth_model_rows_take(&state->rows, state->curves, result, error);
    fth_workers_destroy(workers);
    fth_model_state_destroy(state);
    return status;
}

/* ---- the model with time ---- */

/* Copies the counts with the L1s off from the rows of another result for the same launches. */
static enum fth_status copy_bypassed(struct fth_model_result *to,
                                     const struct fth_model_result *from, struct fth_error *error)
{
    bool same = to->row_count == from->row_count;
    for (size_t i = 0; i < to->row_count && same; i++) {
        const struct fth_model_row *row = &from->rows[i];
        same = to->rows[i].instruction == row->instruction && to->rows[i].launch == row->launch &&
               strcmp(to->rows[i].kernel, row->kernel) == 0;
        if (same)
            to->rows[i].bypassed = row->bypassed;
    }
    return same ? FTH_OK
                : fth_fail(error, FTH_INVALID, "model caches", NULL,
                           "the model with time and the one without have different results: the "
                           "trace has changed");
}

/* Adds the counts with the L1s off. Only the model without time has them. */
static enum fth_status add_bypassed(const struct fth_trace *trace,
                                    const struct fth_model_params *params,
                                    const struct fth_model_options *options,
                                    struct fth_model_result *result, struct fth_error *error)
{
    struct fth_model_options without = *options;
    struct fth_model_result *bypassed = NULL;
    without.curves = without.diagnose = false;
    FTH_TRY(run_steps(trace, params, &without, &bypassed, error));
    const enum fth_status status = copy_bypassed(result, bypassed, error);
    fth_model_result_destroy(bypassed);
    return status;
}

/* Runs the launches, without the counts with the L1s off. */
static enum fth_status run_launches(const struct fth_trace *trace,
                                    const struct fth_model_params *params,
                                    const struct fth_model_options *options,
                                    struct fth_model_result **result, struct fth_error *error)
{
    struct fth_model_rows rows = {0};
    struct fth_curves *curves = NULL;
    enum fth_status status = fth_model_rows_init(&rows, trace, error);
    if (status == FTH_OK && options->curves)
        status = fth_curves_create(fth_model_integer(params, FTH_KEY_SMS), &curves, error);
    if (status == FTH_OK)
        status = fth_timed_run(trace, params, options, &rows, curves, error);
    if (status == FTH_OK)
        status = fth_model_rows_take(&rows, curves, result, error);
    if (status == FTH_OK) {
        (*result)->timed = true;
        (*result)->sample = options->sample > 1 ? options->sample : 0;
    }
    fth_curves_destroy(curves);
    fth_model_rows_fini(&rows);
    return status;
}

static enum fth_status run_timed(const struct fth_trace *trace,
                                 const struct fth_model_params *params,
                                 const struct fth_model_options *options,
                                 struct fth_model_result **result, struct fth_error *error)
{
    if (!options->bypassed)
        return run_launches(trace, params, options, result, error);
    struct fth_part_log log;
    struct fth_model_options part = *options;
    part.log = &log.log;
    fth_part_log_init(&log, options->log, 0, 0.5); /* both models take about as long */
    FTH_TRY(run_launches(trace, params, &part, result, error));
    fth_part_log_init(&log, options->log, 0.5, 1);
    const enum fth_status status = add_bypassed(trace, params, &part, *result, error);
    if (status != FTH_OK) {
        fth_model_result_destroy(*result);
        *result = NULL;
    }
    return status;
}

/* ---- the run ---- */

/* Checks whether it is possible to simulate only a part of the accesses. */
static enum fth_status check_sample(const struct fth_model_options *options, bool timed,
                                    struct fth_error *error)
{
    const unsigned rate = options->sample;
    const char *reason = NULL;
    if (rate > MAX_SAMPLE)
        reason = "must be a number from 2 to 64";
    else if (!timed)
        reason = "only the model with time can simulate a part of the accesses";
    else if (options->bypassed || options->curves)
        reason = "curves, and the counts with the L1 off, need all accesses";
    return reason ? fth_fail(error, FTH_INVALID, "model caches", "sample", "%s", reason) : FTH_OK;
}

enum fth_status fth_model_run_one(const struct fth_trace *trace,
                                  const struct fth_model_params *params,
                                  const struct fth_model_options *options,
                                  struct fth_model_result **result, struct fth_error *error)
{
    bool timed = false;
    *result = NULL;
    FTH_TRY(fth_timing_choose(params, &timed, error));
    if (options->sample > 1)
        FTH_TRY(check_sample(options, timed, error));
    return (timed ? run_timed : run_steps)(trace, params, options, result, error);
}

/* Adds what the threads need. With sampling, it remains unknown: counting it takes about as long as
 * a sample, because it needs every address of the trace. */
static enum fth_status add_demand(const struct fth_trace *trace,
                                  const struct fth_model_options *options,
                                  struct fth_model_result *result, struct fth_error *error)
{
    result->diagnosed = true;
    return options->sample > 1 ? FTH_OK : fth_model_add_demand(trace, options, result, error);
}

enum fth_status fth_model_run(const struct fth_trace *trace, const struct fth_model_params *params,
                              const struct fth_model_options *options,
                              struct fth_model_result **result, struct fth_error *error)
{
    struct fth_model_options known;
    *result = NULL;
    FTH_TRY(fth_options_read("fth_model_options", options, &known, sizeof known, error));
    enum fth_status status = known.orders > 1
                                 ? fth_model_run_orders(trace, params, &known, result, error)
                                 : fth_model_run_one(trace, params, &known, result, error);
    if (status == FTH_OK && known.diagnose)
        status = add_demand(trace, &known, *result, error);
    if (status != FTH_OK) {
        fth_model_result_destroy(*result);
        *result = NULL;
    }
    fth_log_progress(known.log, "model caches", 1);
    return status;
}
