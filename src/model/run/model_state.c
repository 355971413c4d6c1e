/* The state of one model during a run: its L1s, its L2, the L2 of the same GPU with its L1s off if
 * that is wanted, and its results so far. The L1s are emptied for each launch; the L2 is kept,
 * unless l2.cold is set. */
#include "model/run/run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static enum fth_status init(struct fth_model_state *state, const struct fth_model_options *options,
                            struct fth_error *error)
{
    const uint64_t sms = fth_model_integer(state->params, FTH_KEY_SMS);
    for (int input = 0; input < FTH_L2_INPUTS; input++)
        state->feeds[input].input = (enum fth_l2_input)input;
    state->bypassed = options->bypassed;
    state->side_of_sm = calloc((size_t)sms, sizeof *state->side_of_sm);
    if (!state->side_of_sm)
        return fth_no_memory(error, "model caches", NULL);
    FTH_TRY(fth_model_rows_init(&state->rows, state->trace, error));
    FTH_TRY(fth_l1s_init(&state->l1s, sms, state->rows.instructions,
                         fth_workers_thread_count(options->threads), error));
    state->feeds[FTH_L2_FORWARDED].diagnose = options->diagnose;
    if (options->diagnose)
        FTH_TRY(fth_l1s_diagnose(&state->l1s, error));
    return options->curves ? fth_curves_create(sms, &state->curves, error) : FTH_OK;
}

enum fth_status fth_model_state_create(const struct fth_trace *trace,
                                       const struct fth_model_params *params,
                                       const struct fth_model_options *options,
                                       struct fth_model_state **out, struct fth_error *error)
{
    struct fth_model_state *state = calloc(1, sizeof *state);
    *out = NULL;
    if (!state)
        return fth_no_memory(error, "model caches", NULL);
    state->trace = trace;
    state->params = params;
    const enum fth_status status = init(state, options, error);
    if (status == FTH_OK)
        *out = state;
    else
        fth_model_state_destroy(state);
    return status;
}

void fth_model_state_destroy(struct fth_model_state *state)
{
    if (!state)
        return;
    fth_l1s_fini(&state->l1s);
    for (int input = 0; input < FTH_L2_INPUTS; input++)
        fth_l2_feed_fini(&state->feeds[input]);
    fth_curves_destroy(state->curves);
    fth_model_rows_fini(&state->rows);
    free(state->side_of_sm);
    free(state);
}

enum fth_status fth_model_state_begin(struct fth_model_state *state, size_t launch,
                                      struct fth_error *error)
{
    FTH_TRY(fth_model_setting(state->params, fth_trace_launch_at(state->trace, launch),
                              &state->setting, error));
    FTH_TRY(fth_side_of_sms(state->params, &state->setting, state->side_of_sm, error));
    for (int input = 0; input < (state->bypassed ? FTH_L2_INPUTS : FTH_L2_ALL); input++)
        FTH_TRY(fth_l2_feed_begin(&state->feeds[input], state->params, &state->setting,
                                  state->side_of_sm, state->rows.instructions, error));
    fth_l1s_begin(&state->l1s, &state->setting.l1);
    if (state->curves)
        state->curves->sector_shift = state->setting.l1.sector_shift;
    return FTH_OK;
}

enum fth_status fth_model_state_run_l2s(struct fth_model_state *state,
                                        const struct fth_issue_batch *batch,
                                        struct fth_error *error)
{
    return fth_l2_feed_run(&state->feeds[FTH_L2_FORWARDED], batch, state->curves) &&
                   (!state->bypassed || fth_l2_feed_run(&state->feeds[FTH_L2_ALL], batch, NULL))
               ? FTH_OK
               : fth_no_memory(error, "model caches", NULL);
}

enum fth_status fth_model_state_add_rows(struct fth_model_state *state, size_t launch,
                                         const uint64_t *warps, const struct fth_l1s *l1s,
                                         struct fth_l2 *l2, struct fth_error *error)
{
    struct fth_l2 *bypassed = state->feeds[FTH_L2_ALL].l2;
    const struct fth_cache_level_totals *l2_totals[FTH_MODEL_MAX_SIDES];
    for (uint64_t side = 0; side < state->setting.sides; side++)
        l2_totals[side] = fth_l2_totals(l2, side);
    const struct fth_launch_counts counts = {.setting = &state->setting,
                                             .warps = warps,
                                             .l1 = l1s->counts,
                                             .l1_misses = l1s->misses,
                                             .l1_arrays = l1s->count_arrays,
                                             .l1_totals = l1s->totals,
                                             .l1_total_count = (size_t)l1s->sms,
                                             .l2 = fth_l2_counts(l2),
                                             .bypassed = bypassed ? fth_l2_counts(bypassed) : NULL,
                                             .l2_totals = l2_totals,
                                             .l2_total_count = (size_t)state->setting.sides,
                                             .seconds = (double)NAN};
    return fth_model_rows_add(&state->rows, launch, &counts, error);
}

void fth_model_state_reset_counts(struct fth_model_state *state)
{
    fth_l1s_reset_counts(&state->l1s);
    for (int input = 0; input < FTH_L2_INPUTS; input++)
        if (state->feeds[input].l2)
            fth_l2_reset_counts(state->feeds[input].l2);
}

enum fth_status fth_model_state_end(struct fth_model_state *state, size_t launch,
                                    const uint64_t *warps, struct fth_error *error)
{
    for (int input = 0; input < (state->bypassed ? FTH_L2_INPUTS : FTH_L2_ALL); input++)
        if (!fth_l2_feed_flush(&state->feeds[input]))
            return fth_no_memory(error, "model caches", NULL);
    FTH_TRY(fth_model_state_add_rows(state, launch, warps, &state->l1s,
                                     state->feeds[FTH_L2_FORWARDED].l2, error));
    fth_model_state_reset_counts(state);
    return FTH_OK;
}
