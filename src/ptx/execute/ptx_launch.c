/* Launches: checks the configuration of a launch, distributes its clusters over the host threads,
 * and schedules the warps of a cluster. One host thread runs a cluster from start to end.
 * divergence.c runs the warps. */
#include "ptx/execute/warp.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ---- limits ---- */

static void fail_over_limit(struct fth_ptx_run *run)
{
    pthread_mutex_lock(run->lock);
    if (run->status == FTH_OK) {
        run->status = FTH_INVALID;
        run->fault = FTH_FAULT_LIMIT;
        fth_fail(run->error, FTH_INVALID, "run kernel", run->kernel->kernel.display_name,
                 "the launch has issued more than %llu warp instructions, the limit of a launch; "
                 "raise it with --max-instructions, which allows a launch %d times as many as a "
                 "warp",
                 (unsigned long long)run->max_instructions, FTH_PTX_LAUNCH_FACTOR);
    }
    pthread_mutex_unlock(run->lock);
    fth_ptx_run_stop(run);
}

void fth_ptx_worker_count(struct fth_ptx_worker *worker, uint64_t issued)
{
    struct fth_ptx_run *run = worker->run;
    worker->unchecked += issued;
    if (worker->unchecked < WARP_TURN)
        return;
    if (__atomic_add_fetch(&run->checked_instructions, worker->unchecked, __ATOMIC_RELAXED) >
        run->max_instructions)
        fail_over_limit(run);
    worker->unchecked = 0;
    if (fth_log_interrupted(run->launch->log))
        fth_ptx_run_stop(run);
}

/* ---- launches ---- */

static void *run_clusters_unlogged(void *argument)
{
    fth_ptx_run_clusters(argument, NULL);
    return NULL;
}

static unsigned host_threads(const struct fth_ptx_run *run)
{
    enum { MAX_THREADS = 256 };
    if (run->observer && !run->observer->parallel)
        return 1;
    uint64_t threads = run->launch->threads;
    if (threads == 0) {
        long cores = sysconf(_SC_NPROCESSORS_ONLN);
        threads = cores > 0 ? (uint64_t)cores : 1;
    }
    if (threads > MAX_THREADS)
        threads = MAX_THREADS;
    return (unsigned)(threads < run->cluster_count ? threads : run->cluster_count);
}

/* Determines the cluster size from the launch or the kernel, and checks it. */
static enum fth_status check_clusters(struct fth_ptx_run *run, struct fth_error *error)
{
    static const char operation[] = "launch kernel";
    const struct fth_ptx_kernel *kernel = &run->kernel->kernel;
    const uint32_t *requested = run->launch->cluster, *required = kernel->required_cluster;
    bool is_requested = requested[0] || requested[1] || requested[2];
    run->cluster_is_explicit = is_requested || required[0];
    uint64_t blocks = 1;
    run->cluster_count = 1;
    for (int i = 0; i < 3; i++) {
        run->cluster[i] = is_requested ? requested[i] : required[i];
        run->cluster[i] = run->cluster[i] ? run->cluster[i] : 1;
        blocks *= run->cluster[i];
        if (blocks > MAX_CLUSTER_BLOCKS)
            return fth_fail(error, FTH_INVALID, operation, kernel->display_name,
                            "a cluster can have at most %d blocks", MAX_CLUSTER_BLOCKS);
        if (is_requested && required[0] && required[i] != run->cluster[i])
            return fth_fail(error, FTH_INVALID, operation, kernel->display_name,
                            "the cluster size differs from the kernel's .reqnctapercluster");
        if (run->grid[i] % run->cluster[i])
            return fth_fail(error, FTH_INVALID, operation, kernel->display_name,
                            "the grid size %u is not a multiple of the cluster size %u",
                            run->grid[i], run->cluster[i]);
        run->cluster_count *= run->grid[i] / run->cluster[i];
    }
    run->cluster_blocks = (uint32_t)blocks;
    if (blocks > 1 && run->shared_bytes > CLUSTER_WINDOW)
        return fth_fail(
            error, FTH_INVALID, operation, kernel->display_name,
            "%llu bytes of shared memory exceed the limit of %llu per block of a cluster",
            (unsigned long long)run->shared_bytes, (unsigned long long)CLUSTER_WINDOW);
    return FTH_OK;
}

static enum fth_status check_launch(struct fth_ptx_run *run, struct fth_error *error)
{
    static const char operation[] = "launch kernel";
    const struct fth_ptx_launch *launch = run->launch;
    const struct fth_ptx_kernel *kernel = &run->kernel->kernel;
    run->block_count = run->threads_per_block = 1;
    for (int i = 0; i < 3; i++) {
        run->grid[i] = launch->grid[i] ? launch->grid[i] : 1;
        run->threads[i] = launch->block[i] ? launch->block[i] : 1;
        if (run->grid[i] > (i ? 65535u : 0x7fffffffu) || run->threads[i] > 1024)
            return fth_fail(
                error, FTH_INVALID, operation, kernel->display_name,
                "the grid exceeds 2147483647x65535x65535 or the block exceeds 1024 in a dimension");
        run->block_count *= run->grid[i];
        run->threads_per_block *= run->threads[i];
    }
    run->row_lanes = LANES % run->threads[0] == 0 && run->threads[0] < run->threads_per_block
                         ? run->threads[0]
                         : LANES;
    if (run->threads_per_block > 1024)
        return fth_fail(error, FTH_INVALID, operation, kernel->display_name,
                        "%llu threads per block exceed the limit of 1024",
                        (unsigned long long)run->threads_per_block);
    uint64_t max = (uint64_t)kernel->max_block[0] * kernel->max_block[1] * kernel->max_block[2];
    if (max && run->threads_per_block > max)
        return fth_fail(error, FTH_INVALID, operation, kernel->display_name,
                        "%llu threads per block exceed the kernel's .maxntid of %llu",
                        (unsigned long long)run->threads_per_block, (unsigned long long)max);
    for (int i = 0; i < 3; i++)
        if (kernel->required_block[i] && kernel->required_block[i] != run->threads[i])
            return fth_fail(error, FTH_INVALID, operation, kernel->display_name,
                            "the block is %ux%ux%u, but the kernel's .reqntid is %ux%ux%u",
                            run->threads[0], run->threads[1], run->threads[2],
                            kernel->required_block[0], kernel->required_block[1],
                            kernel->required_block[2]);
    if (launch->argument_bytes != kernel->parameter_bytes)
        return fth_fail(error, FTH_INVALID, operation, kernel->display_name,
                        "%zu bytes of arguments were passed, but the kernel takes %zu",
                        launch->argument_bytes, kernel->parameter_bytes);
    if (launch->dynamic_shared_bytes > (size_t)1 << 30)
        return fth_fail(error, FTH_INVALID, operation, kernel->display_name,
                        "%zu bytes of dynamic shared memory exceed the limit of 1 GiB",
                        launch->dynamic_shared_bytes);
    run->shared_bytes = launch->dynamic_shared_bytes
                            ? run->module->dynamic_shared + launch->dynamic_shared_bytes
                            : kernel->shared_bytes;
    return check_clusters(run, error);
}

/* Says that output of printf is missing, once per kernel. */
static void warn_of_dropped_output(struct fth_ptx_machine *machine,
                                   const struct fth_ptx_function *kernel, bool prints,
                                   const struct fth_log *log)
{
    const size_t index = (size_t)(kernel - machine->module->functions);
    if (!machine->warned)
        machine->warned = calloc(machine->module->function_count, sizeof *machine->warned);
    if (machine->warned && machine->warned[index])
        return;
    if (machine->warned)
        machine->warned[index] = true;
    fth_log_message(log, FTH_LOG_WARNING,
                    prints ? "kernel '%s' prints more than 1 MiB per block; the rest is dropped"
                           : "kernel '%s' calls printf; its output is dropped; 'fathom run' "
                             "prints it",
                    kernel->kernel.display_name);
}

/* Fills in a run and checks the launch. */
static enum fth_status prepare(struct fth_ptx_machine *machine, const struct fth_ptx_launch *launch,
                               struct fth_ptx_run *run, struct fth_error *error)
{
    const uint64_t limit =
        launch->max_instructions ? launch->max_instructions : FTH_PTX_MAX_INSTRUCTIONS;
    *run = (struct fth_ptx_run){.machine = machine,
                                .module = machine->module,
                                .launch = launch,
                                .observer = launch->observer,
                                .arguments = launch->arguments,
                                .max_warp_instructions = limit,
                                .max_instructions = limit > UINT64_MAX / FTH_PTX_LAUNCH_FACTOR
                                                        ? UINT64_MAX
                                                        : limit * FTH_PTX_LAUNCH_FACTOR,
                                .error = error};
    for (size_t i = 0; i < machine->module->function_count; i++) {
        const struct fth_ptx_function *function = &machine->module->functions[i];
        if (function->is_kernel && function->has_body &&
            strcmp(function->name, launch->kernel) == 0)
            run->kernel = function;
        run->can_print = run->can_print || function->builtin == BUILTIN_PRINTF;
    }
    if (!run->kernel)
        return fth_fail(error, FTH_NOT_FOUND, "launch kernel", launch->kernel,
                        "'%s' has no kernel of this name", machine->module->name);
    if (run->kernel->unsupported)
        return fth_error_move(error, run->kernel->unsupported);
    fth_hazards_prepare(run);
    run->sees_accesses = run->check_async || (run->observer && run->observer->access);
    return check_launch(run, error);
}

/* Starts the host threads and waits for the end of the launch. */
static void run_launch(struct fth_ptx_run *run)
{
    unsigned threads = host_threads(run), started = 0;
    pthread_t workers[256];
    if (run->launch->cooperative) {
        fth_ptx_run_all_clusters(run);
        return;
    }
    while (started + 1 < threads &&
           pthread_create(&workers[started], NULL, run_clusters_unlogged, run) == 0)
        started++;
    fth_ptx_run_clusters(run, run->launch->log);
    for (unsigned i = 0; i < started; i++)
        pthread_join(workers[i], NULL);
}

/* Makes the slice of a launch, if it has `skip_data`. */
static enum fth_status prepare_slice(struct fth_ptx_run *run, struct fth_error *error)
{
    struct fth_ptx_memory *memory = run->machine->memory;
    if (!run->launch->skip_data)
        return FTH_OK;
    FTH_TRY(fth_slice_create(run, &run->slice, error));
    for (size_t i = 0; i < memory->allocation_count; i++)
        if (memory->allocations[i].exact && memory->allocations[i].stale) {
            fth_slice_destroy(run->slice);
            return fth_fail(error, FTH_INCONCLUSIVE, "run kernel", run->kernel->kernel.display_name,
                            "the accesses depend on data that an earlier launch did not compute");
        }
    for (size_t i = 0; i < memory->allocation_count && run->slice; i++)
        memory->allocations[i].stale =
            !memory->allocations[i].exact && !memory->allocations[i].is_constant;
    return FTH_OK;
}

enum fth_status fth_ptx_run(struct fth_ptx_machine *machine, const struct fth_ptx_launch *launch,
                            struct fth_ptx_totals *totals, struct fth_error *error)
{
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    struct fth_ptx_run run;
    if (totals)
        *totals = (struct fth_ptx_totals){.fault = FTH_FAULT_NONE};
    FTH_TRY(prepare(machine, launch, &run, error));
    FTH_TRY(prepare_slice(&run, error));
    run.lock = &lock;
    run_launch(&run);
    fth_slice_destroy(run.slice);
    fth_log_progress(launch->log, run.kernel->kernel.display_name, 1);
    fth_ptx_print_rest(&run);
    const size_t findings = fth_hazards_log(&run);
    pthread_mutex_destroy(&lock);
    if (run.dropped_output)
        warn_of_dropped_output(machine, run.kernel, launch->print != NULL, launch->log);
    if (totals)
        *totals = (struct fth_ptx_totals){run.warp_instructions, run.thread_instructions, run.fault,
                                          findings};
    if (run.status == FTH_OK && run.stop && fth_log_interrupted(launch->log))
        return fth_fail(error, FTH_INTERRUPTED, "run launches", NULL, "interrupted");
    if (run.status == FTH_OK && run.stop)
        return fth_fail(error, FTH_INTERRUPTED, "run kernel", run.kernel->kernel.display_name,
                        "stopped by the observer");
    if (run.status == FTH_OK && findings)
        return fth_fail(error, FTH_INVALID, "run kernel", run.kernel->kernel.display_name,
                        "%zu pair%s of instructions race%s; add the %s that are missing", findings,
                        findings == 1 ? "" : "s",
                        launch->check_races ? "" : " with an asynchronous operation in flight",
                        launch->check_races ? "barriers, waits and fences" : "waits and fences");
    return run.status;
}

/* ---- slices ---- */

static size_t count_exact(const struct fth_ptx_memory *memory)
{
    size_t count = 0;
    for (size_t i = 0; i < memory->allocation_count; i++)
        count += memory->allocations[i].exact;
    return count;
}

enum fth_status fth_ptx_plan(struct fth_ptx_machine *machine, const struct fth_ptx_launch *launch,
                             bool *changed, struct fth_error *error)
{
    struct fth_ptx_run run;
    const size_t before = count_exact(machine->memory);
    FTH_TRY(prepare(machine, launch, &run, error));
    FTH_TRY(fth_slice_create(&run, &run.slice, error));
    fth_slice_destroy(run.slice);
    *changed = *changed || count_exact(machine->memory) != before;
    return FTH_OK;
}

bool fth_ptx_omit(struct fth_ptx_machine *machine, uint64_t address)
{
    const struct fth_ptx_allocation *found = fth_ptx_find_allocation(machine->memory, address);
    if (!found || found->exact)
        return false;
    machine->memory->allocations[found - machine->memory->allocations].stale = true;
    return true;
}

bool fth_ptx_is_needed(const struct fth_ptx_machine *machine, uint64_t address)
{
    const struct fth_ptx_allocation *found = fth_ptx_find_allocation(machine->memory, address);
    return found && found->exact;
}

void fth_ptx_clear_plan(struct fth_ptx_machine *machine)
{
    for (size_t i = 0; i < machine->memory->allocation_count; i++)
        machine->memory->allocations[i].exact = machine->memory->allocations[i].stale = false;
}

bool fth_ptx_is_exact(const struct fth_ptx_machine *machine, uint64_t address)
{
    const struct fth_ptx_allocation *found = fth_ptx_find_allocation(machine->memory, address);
    return !found || !found->stale;
}
