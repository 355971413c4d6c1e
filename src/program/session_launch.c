/* The launches of a session, and an estimate of how long they take. */
#include "program/session_parts.h"

/* The estimate of times: a launch takes at least LAUNCH_NS, and an SM issues WARPS_PER_CYCLE
 * instructions per cycle. A copy takes at least COPY_NS. LAUNCH_NS and COPY_NS are chosen, close to
 * what an H200 shows; the SMs of NVIDIA's GPUs have four schedulers, each of which issues one
 * instruction of a warp per cycle. */
static const double LAUNCH_NS = 2500, COPY_NS = 5000, WARPS_PER_CYCLE = 4;

static struct fth_ptx_launch engine_launch(const struct fth_session *session,
                                           const struct fth_session_launch *launch)
{
    struct fth_ptx_launch engine = {.kernel = launch->kernel->name,
                                    .dynamic_shared_bytes = launch->shared_bytes,
                                    .arguments = launch->arguments,
                                    .argument_bytes = launch->kernel->parameter_bytes,
                                    .sms = session->sms,
                                    .max_instructions = session->options.max_instructions,
                                    .log = session->options.log,
                                    .print = session->options.print,
                                    .print_user = session->options.print_user,
                                    .check_races = session->options.check_races,
                                    .cooperative = launch->cooperative,
                                    .grid_workspace =
                                        launch->cooperative ? session->grid_workspace : 0};
    for (int i = 0; i < 3; i++) {
        engine.grid[i] = launch->grid[i];
        engine.block[i] = launch->block[i];
        engine.cluster[i] = launch->cluster[i];
    }
    return engine;
}

/* Returns whether the launch with this number is traced. */
static bool is_traced(const struct fth_session *session, const char *kernel, uint64_t number)
{
    const struct fth_session_options *options = &session->options;
    return session->recorder && number >= options->traced_first &&
           (options->traced_end == 0 || number < options->traced_end) &&
           fth_kernel_pattern_matches(&session->kernels, kernel);
}

enum { WORKSPACE_BYTES = 256 };

enum fth_status fth_session_reserve_workspace(struct fth_session *session, struct fth_error *error)
{
    return session->grid_workspace
               ? FTH_OK
               : fth_ptx_alloc(session->memory, WORKSPACE_BYTES, &session->grid_workspace, error);
}

enum fth_status fth_session_plan(struct fth_session *session,
                                 const struct fth_session_launch *launch, struct fth_error *error)
{
    bool changed = false;
    const struct fth_ptx_launch engine = engine_launch(session, launch);
    fth_ptx_clear_plan(session->memory);
    return fth_ptx_plan(launch->module->machine, &engine, &changed, error);
}

enum fth_status fth_session_run(struct fth_session *session,
                                const struct fth_session_launch *launch, enum fth_ptx_fault *fault,
                                struct fth_error *error)
{
    *fault = FTH_FAULT_NONE;
    if (launch->cooperative) {
        /* An earlier launch that failed may have left it in any state. */
        FTH_TRY(fth_session_reserve_workspace(session, error));
        fth_ptx_fill(session->memory, session->grid_workspace, 0, WORKSPACE_BYTES);
    }
    struct fth_ptx_launch engine = engine_launch(session, launch);
    struct fth_ptx_totals totals = {.fault = FTH_FAULT_NONE};
    struct fth_error engine_error = FTH_NO_ERROR;
    const bool traced = is_traced(session, launch->kernel->name, session->launches++);
    if (traced) {
        FTH_TRY(fth_trace_recorder_begin(session->recorder, launch->kernel->name, launch->grid,
                                         launch->block, session->options.log, error));
        engine.observer = fth_trace_recorder_observer(session->recorder);
    }
    enum fth_status status = fth_ptx_run(launch->module->machine, &engine, &totals, &engine_error);
    *fault = totals.fault;
    /* The log has the races; the kernel has run to its end. */
    if (status == FTH_INVALID && totals.race_count && totals.fault == FTH_FAULT_NONE)
        status = FTH_OK;
    if (traced)
        status = fth_trace_recorder_end(session->recorder, status,
                                        launch->kernel->shared_bytes + launch->shared_bytes,
                                        &engine_error, error);
    else if (status != FTH_OK)
        fth_error_move(error, &engine_error);
    session->time_ns += LAUNCH_NS + (double)totals.warp_instructions * 1e9 /
                                        (WARPS_PER_CYCLE * session->sms * session->clock_hz);
    return status;
}

double fth_session_time_ns(const struct fth_session *session)
{
    return session->time_ns;
}

void fth_session_add_copy_time(struct fth_session *session, uint64_t bytes, bool within_gpu)
{
    session->time_ns +=
        COPY_NS + (double)bytes * 1e9 /
                      (within_gpu ? session->memory_bytes_per_s / 2 : session->link_bytes_per_s);
}
