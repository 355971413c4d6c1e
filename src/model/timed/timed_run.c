/* Runs launches through the model with time. Each launch begins when the one before has ended, with
 * empty L1s; the L2 keeps its content unless l2.cold is set. */
#include "model/timed/event_queue.h"

#include <stdlib.h>
#include <string.h>

/* Events between two reports of the progress. Chosen: some milliseconds. */
enum { EVENTS_PER_REPORT = 1 << 16 };

/* State of a run. */
struct run {
    const struct fth_trace *trace;
    const struct fth_model_params *params;
    const struct fth_model_options *options;
    struct fth_model_rows *rows;
    struct fth_curves *curves; /* NULL: not wanted */
    struct fth_timed_l1s *l1s;
    struct fth_timed_l2 *l2;
    struct fth_slab_pool pool;
    uint64_t done, total;          /* accesses */
    struct fth_sampler *sampler;   /* NULL: launches are simulated completely */
    struct fth_families *families; /* NULL: no launch is left out */

    /* State of the current launch. */
    size_t launch;
    struct fth_setting setting;
    struct fth_timing timing;
    struct fth_streams *streams;
    struct fth_dispatch *dispatch;
    struct fth_event_queue *queue;
    struct fth_warps *warps;
    uint64_t next_block; /* of the grid */
    bool dispatching;    /* the event of the dispatcher is in the queue */
    bool is_sampling;    /* it may suffice to simulate the beginning of the launch */
    bool sampled;        /* only the beginning of the launch was simulated */
    uint32_t first_slot_event, dispatch_event;
};

/* ---- events ---- */

/* A slot is free: makes the dispatcher choose a slot in this cycle. */
static void offer_slot(struct run *run, uint32_t slot, uint64_t now)
{
    fth_dispatch_offer(run->dispatch, slot);
    if (!run->dispatching)
        fth_event_queue_add(run->queue, run->dispatch_event, now);
    run->dispatching = true;
}

/* Starts the next block in the slot that the dispatcher chooses. It starts blocks at a constant
 * rate. */
static enum fth_status dispatch_block(struct run *run, uint64_t now, struct fth_error *error)
{
    uint32_t slot = 0;
    run->next_block = fth_streams_next_block(run->streams, run->next_block);
    run->dispatching =
        run->next_block < run->setting.blocks && fth_dispatch_choose(run->dispatch, &slot);
    if (!run->dispatching)
        return FTH_OK;
    fth_event_queue_add(run->queue, run->dispatch_event, now + run->timing.dispatch);
    return fth_warps_start_block(run->warps, slot, fth_dispatch_sm(run->dispatch, slot),
                                 run->next_block++, now, error);
}

static inline enum fth_status run_event(struct run *run, uint32_t event, uint64_t now,
                                        struct fth_error *error)
{
    if (event < run->first_slot_event)
        return fth_warps_run(run->warps, event, now, error);
    if (event == run->dispatch_event)
        return dispatch_block(run, now, error);
    offer_slot(run, event - run->first_slot_event, now);
    return FTH_OK;
}

/* Reports the progress. */
static enum fth_status report(const struct run *run, struct fth_error *error)
{
    const double done = (double)(run->done + fth_streams_loaded(run->streams));
    fth_log_progress(run->options->log, "model caches", run->total ? done / (double)run->total : 1);
    return fth_log_interrupted(run->options->log)
               ? fth_fail(error, FTH_INTERRUPTED, "model caches", NULL, "interrupted")
               : FTH_OK;
}

/* Ends a window of the sampler. run->sampled: the rest of the launch need not be simulated. */
static enum fth_status end_window(struct run *run, struct fth_error *error)
{
    struct fth_sample_state state = {.accesses = fth_warps_accesses(run->warps),
                                     .ticks = fth_warps_end(run->warps),
                                     .performed = fth_warps_performed(run->warps),
                                     .l1 = fth_timed_l1s_counts(run->l1s),
                                     .l2 = fth_timed_l2_counts(run->l2),
                                     .l1_misses = fth_timed_l1s_misses(run->l1s)};
    fth_timed_l2_get_use(run->l2, &state.use);
    return fth_sampler_mark(run->sampler, &state, &run->sampled, error);
}

static enum fth_status run_events(struct run *run, struct fth_error *error)
{
    uint32_t event;
    uint64_t now, count = 0;
    while (fth_event_queue_take(run->queue, &event, &now)) {
        if (count++ % EVENTS_PER_REPORT == 0)
            FTH_TRY(report(run, error));
        fth_warps_prepare(run->warps);
        FTH_TRY(run_event(run, event, now, error));
        if (run->is_sampling && fth_sampler_is_due(run->sampler, fth_warps_accesses(run->warps)))
            FTH_TRY(end_window(run, error));
        if (run->sampled)
            break;
    }
    return FTH_OK;
}

/* ---- launches ---- */

static void end_launch(struct run *run)
{
    fth_warps_destroy(run->warps);
    fth_event_queue_destroy(run->queue);
    fth_dispatch_destroy(run->dispatch);
    fth_streams_destroy(run->streams);
    run->warps = NULL;
    run->queue = NULL;
    run->dispatch = NULL;
    run->streams = NULL;
}

static enum fth_status create_caches(struct run *run, size_t instructions, struct fth_error *error)
{
    FTH_TRY(fth_timed_l2_create(run->params, &run->setting, instructions, &run->l2, error));
    FTH_TRY(fth_timed_l1s_create(run->setting.sms, instructions, &run->l1s, error));
    if (!run->options->diagnose)
        return FTH_OK;
    FTH_TRY(fth_timed_l2_diagnose(run->l2, error));
    return fth_timed_l1s_diagnose(run->l1s, error);
}

static enum fth_status begin_launch(struct run *run, struct fth_error *error)
{
    const size_t instructions = fth_trace_instruction_count(run->trace);
    FTH_TRY(fth_model_setting(run->params, fth_trace_launch_at(run->trace, run->launch),
                              &run->setting, error));
    fth_timing_read(run->params, &run->setting, &run->timing);
    if (!run->l2)
        FTH_TRY(create_caches(run, instructions, error));
    if (run->curves)
        run->curves->sector_shift = run->setting.l1.sector_shift;
    fth_timed_l1s_set_curves(run->l1s, run->curves);
    fth_timed_l2_set_curves(run->l2, run->curves);
    fth_timed_l2_begin(run->l2, &run->timing, run->setting.cold);
    FTH_TRY(fth_timed_l1s_begin(run->l1s, &run->setting, &run->timing, run->l2, error));
    FTH_TRY(fth_dispatch_create(run->params, &run->setting, &run->timing, &run->dispatch, error));
    const uint32_t slots = fth_dispatch_slots(run->dispatch);
    FTH_TRY(fth_streams_create(run->trace, run->launch, &run->setting, slots, &run->pool,
                               &run->streams, error));
    if (fth_timed_l1s_have_rows(run->l1s))
        fth_streams_set_l1s(run->streams, run->l1s);
    run->sampled = false;
    /* Only launches that begin with an empty L2 are sampled. Otherwise, the next launch would need
     * the L2 as the whole launch leaves it. */
    run->is_sampling = run->sampler && run->setting.cold;
    if (run->is_sampling)
        fth_sampler_begin(run->sampler, run->launch, run->setting.blocks, slots);
    run->dispatch_event = slots * ((uint32_t)run->setting.warps_per_block + 1);
    FTH_TRY(fth_event_queue_create(run->dispatch_event + 1, &run->queue, error));
    const struct fth_warps_context context = {.trace = run->trace,
                                              .setting = &run->setting,
                                              .timing = &run->timing,
                                              .streams = run->streams,
                                              .dispatch = run->dispatch,
                                              .has_pace = fth_trace_pace(run->trace, run->launch),
                                              .queue = run->queue,
                                              .l1s = run->l1s};
    FTH_TRY(fth_warps_create(&context, &run->warps, error));
    run->first_slot_event = fth_warps_first_slot_event(run->warps);
    return FTH_OK;
}

/* Starts the blocks of the first wave. */
static enum fth_status start_blocks(struct run *run, struct fth_error *error)
{
    const uint32_t slots = fth_dispatch_slots(run->dispatch);
    for (uint32_t slot = 0; slot < slots; slot++)
        FTH_TRY(fth_warps_start_block(run->warps, slot, fth_dispatch_sm(run->dispatch, slot), slot,
                                      fth_dispatch_start(run->dispatch, slot), error));
    run->next_block = slots;
    run->dispatching = false;
    return FTH_OK;
}

/* Adds the counts of a launch to the rows. */
static enum fth_status add_rows(struct run *run, const struct fth_launch_estimate *launch,
                                struct fth_error *error)
{
    const uint64_t ticks = launch->ticks + run->timing.launch;
    struct fth_model_counts *const l1 = launch->l1;
    struct fth_model_misses *const l1_misses = launch->l1_misses;
    const struct fth_launch_counts counts = {.setting = &run->setting,
                                             .warps = launch->warps,
                                             .l1 = &l1,
                                             .l1_arrays = 1,
                                             .l1_misses = l1_misses ? &l1_misses : NULL,
                                             .l1_totals = &launch->totals[FTH_MODEL_L1],
                                             .l1_total_count = launch->totals[FTH_MODEL_L1] ? 1 : 0,
                                             .l2 = launch->l2,
                                             .simulated = launch->simulated,
                                             .l1_error = launch->l1_error,
                                             .l2_error = launch->l2_error,
                                             .l2_totals = &launch->totals[FTH_MODEL_L2],
                                             .l2_total_count = launch->totals[FTH_MODEL_L2] ? 1 : 0,
                                             .seconds = (double)ticks / FTH_TICKS_PER_CYCLE /
                                                        run->timing.clock_hz};
    return fth_model_rows_add(run->rows, run->launch, &counts, error);
}

/* Ends the counts of a launch that was simulated, and passes them to the rows, or to its family. */
static enum fth_status take_counts(struct run *run, bool store, struct fth_error *error)
{
    struct fth_launch_estimate launch = {
        .warps = fth_streams_warps(run->streams),
        .l1 = fth_timed_l1s_counts(run->l1s),
        .l2 = fth_timed_l2_counts(run->l2),
        .l1_misses = fth_timed_l1s_misses(run->l1s),
        .ticks = fth_warps_end(run->warps),
        .simulated = fth_warps_requests(run->warps),
        .totals = {fth_timed_l1s_totals(run->l1s), fth_timed_l2_totals(run->l2)}};
    if (fth_timed_l2_failed(run->l2))
        return fth_no_memory(error, "model caches", NULL);
    if (run->sampled)
        fth_sampler_estimate(run->sampler, &launch);
    FTH_TRY(store ? fth_families_store(run->families, run->launch, &launch, error)
                  : add_rows(run, &launch, error));
    fth_timed_l1s_reset_counts(run->l1s);
    fth_timed_l2_reset_counts(run->l2);
    return FTH_OK;
}

/* Simulates a launch. `store`: its counts are for its family, and not yet for the rows. */
static enum fth_status run_launch(struct run *run, size_t launch, bool store,
                                  struct fth_error *error)
{
    run->launch = launch;
    enum fth_status status = begin_launch(run, error);
    if (status == FTH_OK)
        status = start_blocks(run, error);
    if (status == FTH_OK)
        status = run_events(run, error);
    if (status == FTH_OK)
        status = take_counts(run, store, error);
    if (status == FTH_OK)
        run->done += fth_trace_launch_at(run->trace, run->launch)->accesses;
    end_launch(run);
    if (status != FTH_OK && status != FTH_INTERRUPTED)
        fth_launch_error_context(run->trace, launch, error);
    return status;
}

/* Simulates the chosen launches of all families. */
static enum fth_status run_families(struct run *run, struct fth_error *error)
{
    size_t launch;
    FTH_TRY(fth_families_create(run->trace, run->options->kernel, run->options->sample,
                                &run->families, error));
    while ((launch = fth_families_next(run->families)) != SIZE_MAX)
        FTH_TRY(run_launch(run, launch, true, error));
    return FTH_OK;
}

/* Adds a launch to the rows: as its family says, or after its simulation. */
static enum fth_status add_launch(struct run *run, size_t launch, struct fth_error *error)
{
    const struct fth_launch_estimate *counts =
        run->families ? fth_families_get(run->families, launch) : NULL;
    if (!counts)
        return run_launch(run, launch, false, error);
    run->launch = launch;
    FTH_TRY(fth_model_setting(run->params, fth_trace_launch_at(run->trace, launch), &run->setting,
                              error));
    fth_timing_read(run->params, &run->setting, &run->timing);
    return add_rows(run, counts, error);
}

/* Prepares sampling. Launches that begin with a warm L2 are simulated completely and in order. */
static enum fth_status begin_sampling(struct run *run, struct fth_error *error)
{
    FTH_TRY(fth_sampler_create(run->trace, run->options->sample, &run->sampler, error));
    return fth_model_integer(run->params, FTH_KEY_COLD) ? run_families(run, error) : FTH_OK;
}

enum fth_status fth_timed_run(const struct fth_trace *trace, const struct fth_model_params *params,
                              const struct fth_model_options *options, struct fth_model_rows *rows,
                              struct fth_curves *curves, struct fth_error *error)
{
    struct run run = {
        .trace = trace, .params = params, .options = options, .rows = rows, .curves = curves};
    const size_t count = fth_trace_launch_count(trace);
    enum fth_status status = FTH_OK;
    for (size_t i = 0; i < count; i++)
        run.total += fth_launch_is_selected(trace, i, options->kernel)
                         ? fth_trace_launch_at(trace, i)->accesses
                         : 0;
    if (options->sample > 1)
        status = begin_sampling(&run, error);
    for (size_t i = 0; i < count && status == FTH_OK; i++)
        if (fth_launch_is_selected(trace, i, options->kernel))
            status = add_launch(&run, i, error);
    fth_families_destroy(run.families);
    fth_sampler_destroy(run.sampler);
    fth_timed_l1s_destroy(run.l1s);
    fth_timed_l2_destroy(run.l2);
    fth_slab_pool_fini(&run.pool);
    return status;
}
