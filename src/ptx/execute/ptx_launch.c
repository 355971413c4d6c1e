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

/* ---- faults ---- */

void fth_ptx_run_stop(struct fth_ptx_run *run)
{
    __atomic_store_n(&run->stop, true, __ATOMIC_RELAXED);
}

void fth_ptx_warp_place(const struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, int lane,
                        char *text, size_t size)
{
    char source[160] = "";
    if (inst->source) {
        const char *start = ", source ";
        snprintf(source, sizeof source, "%s", start);
        fth_source_text(inst->source, source + strlen(start), sizeof source - strlen(start));
    }
    uint64_t thread = (uint64_t)warp->index * LANES + (uint64_t)lane;
    const uint32_t *threads = warp->block->run->threads, *xyz = warp->block->xyz;
    snprintf(text, size, "line %u (%s)%s, block (%u,%u,%u), thread (%u,%u,%u)", inst->line,
             inst->opcode, source, xyz[0], xyz[1], xyz[2], (unsigned)(thread % threads[0]),
             (unsigned)(thread / threads[0] % threads[1]),
             (unsigned)(thread / threads[0] / threads[1]));
}

void fth_ptx_warp_fault(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, int lane,
                        const char *cause, ...)
{
    struct fth_ptx_run *run = warp->block->run;
    char text[400], place[400];
    va_list arguments;
    va_start(arguments, cause);
    vsnprintf(text, sizeof text, cause, arguments);
    va_end(arguments);
    fth_ptx_warp_place(warp, inst, lane, place, sizeof place);
    pthread_mutex_lock(run->lock);
    if (run->status == FTH_OK) {
        run->status = FTH_INVALID;
        if (run->launch->fault)
            *run->launch->fault = warp->fault;
        fth_fail(run->error, FTH_INVALID, "run kernel", run->kernel->name, "%s: %s", place, text);
    }
    pthread_mutex_unlock(run->lock);
    warp->failed = true;
    fth_ptx_run_stop(run);
}

void fth_ptx_run_inconclusive(struct fth_ptx_warp *warp)
{
    struct fth_ptx_run *run = warp->block->run;
    pthread_mutex_lock(run->lock);
    if (run->status == FTH_OK)
        run->status = fth_fail(run->error, FTH_INCONCLUSIVE, "run kernel", run->kernel->name,
                               "the accesses depend on data that was not computed");
    pthread_mutex_unlock(run->lock);
    warp->failed = true;
    fth_ptx_run_stop(run);
}

void fth_ptx_run_no_memory(struct fth_ptx_run *run)
{
    pthread_mutex_lock(run->lock);
    if (run->status == FTH_OK) {
        run->status = FTH_NO_MEMORY;
        fth_no_memory(run->error, "run kernel", run->kernel->name);
    }
    pthread_mutex_unlock(run->lock);
    fth_ptx_run_stop(run);
}

/* ---- limits ---- */

static void fail_over_limit(struct fth_ptx_run *run)
{
    pthread_mutex_lock(run->lock);
    if (run->status == FTH_OK) {
        run->status = FTH_INVALID;
        fth_fail(run->error, FTH_INVALID, "run kernel", run->kernel->name,
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

/* ---- blocks ---- */

static void block_fini(struct fth_ptx_block *block)
{
    for (uint32_t w = 0; w < block->warp_count; w++) {
        struct fth_ptx_warp *warp = &block->warps[w];
        /* After a fault, fragments remain. fth_ptx_run_exit frees each frame when its last lane
         * exits. */
        while (warp->fragment_count) {
            warp->current = 0;
            fth_ptx_run_exit(warp, &warp->fragments[0], warp->fragments[0].mask);
        }
        free(warp->local);
    }
    free(block->warps);
    free(block->shared);
    *block = (struct fth_ptx_block){.run = block->run};
}

bool fth_ptx_reserve_shared(struct fth_ptx_block *block)
{
    struct fth_ptx_run *run = block->run;
    block->shared = calloc(1, run->shared_bytes + 16);
    if (!block->shared) {
        fth_ptx_run_no_memory(run);
        return false;
    }
    block->shared_bytes = run->shared_bytes;
    return true;
}

/* Computes the position in the grid of the block with this rank in this cluster. Clusters, and the
 * blocks of a cluster, are numbered with x fastest. */
static void find_block(const struct fth_ptx_run *run, uint64_t cluster, uint32_t rank,
                       uint32_t xyz[3])
{
    for (int i = 0; i < 3; i++) {
        const uint32_t size = run->cluster[i], clusters = run->grid[i] / size;
        xyz[i] = (uint32_t)(cluster % clusters) * size + rank % size;
        cluster /= clusters;
        rank /= size;
    }
}

static bool block_init(struct fth_ptx_block *block, struct fth_ptx_run *run,
                       struct fth_ptx_cluster *cluster, uint64_t cluster_index, uint32_t rank)
{
    uint32_t warps = (uint32_t)((run->threads_per_block + LANES - 1) / LANES);
    uint32_t sms = run->launch->sms ? run->launch->sms : 1;
    *block = (struct fth_ptx_block){.run = run, .cluster = cluster, .rank = rank};
    find_block(run, cluster_index, rank, block->xyz);
    const uint64_t index =
        ((uint64_t)block->xyz[2] * run->grid[1] + block->xyz[1]) * run->grid[0] + block->xyz[0];
    block->index = index;
    block->sm = (uint32_t)(index % sms);
    block->warps = calloc(warps, sizeof *block->warps);
    if (!block->warps) {
        fth_ptx_run_no_memory(run);
        return false;
    }
    block->warp_count = warps;
    for (uint32_t w = 0; w < warps; w++) {
        struct fth_ptx_warp *warp = &block->warps[w];
        uint64_t lanes = run->threads_per_block - (uint64_t)w * LANES;
        warp->block = block;
        warp->index = w;
        warp->issue.who =
            (struct fth_ptx_warp_id){.block = index,
                                     .block_xyz = {block->xyz[0], block->xyz[1], block->xyz[2]},
                                     .warp = w,
                                     .sm = block->sm,
                                     .rank = rank};
        warp->pool = (const uint64_t(*)[LANES])run->module->pool;
        warp->existing_lanes = lanes >= LANES ? FULL_MASK : (1u << lanes) - 1;
        struct fth_ptx_frame *frame = fth_ptx_frame_create(warp, run->kernel, NULL);
        if (!frame)
            return false;
        frame->live = warp->existing_lanes;
        warp->fragments[0] =
            (struct fth_ptx_fragment){.mask = warp->existing_lanes, .frame = frame};
        warp->fragment_count = 1;
        if (!fth_ptx_reserve_local(warp, frame))
            return false;
    }
    return true;
}

static bool stopped(const struct fth_ptx_run *run)
{
    return __atomic_load_n(&run->stop, __ATOMIC_RELAXED);
}

/* Instructions that a warp issues at most between two points at which copies can take place, with
 * FTH_COPY_RANDOM. Chosen, not derived: a few instructions of a pipeline. */
enum { RANDOM_TURN = 64 };
/* Instructions per turn if all blocks of the grid run at the same time. A block that waits for all
 * others in a loop uses up its turns. Chosen, not derived. */
enum { COOPERATIVE_TURN = 256 };

/* Gives a warp a turn. The random points at which copies take place do not change the order in
 * which the warps run. Returns true if the warp issued instructions and does not wait in a loop. */
static bool run_turn(struct fth_ptx_warp *warp)
{
    struct fth_ptx_cluster *cluster = warp->block->cluster;
    const uint32_t turn = warp->block->run->launch->cooperative ? COOPERATIVE_TURN : WARP_TURN;
    if (warp->block->run->launch->copy_order != FTH_COPY_RANDOM)
        return fth_ptx_warp_run(warp, turn);
    const uint64_t start = warp->instructions;
    bool progress = false, runs = true;
    while (runs && warp->instructions - start < turn && !stopped(warp->block->run)) {
        runs = fth_ptx_warp_run(warp, 1 + fth_rng_below(&cluster->rng, RANDOM_TURN));
        progress = progress || runs;
        runs = runs && warp->fragment_count && !warp->blocked && !warp->failed;
        fth_ptx_copies_run_random(cluster);
    }
    return progress;
}

/* Gives each warp of the block a turn. Returns true if any warp has not ended. Sets *progress if a
 * warp issued instructions or a barrier completed. */
static bool run_round(struct fth_ptx_block *block, bool *progress)
{
    struct fth_ptx_run *run = block->run;
    bool left = false;
    for (uint32_t w = 0; w < block->warp_count && !stopped(run); w++) {
        if (block->warps[w].fragment_count == 0)
            continue;
        *progress = run_turn(&block->warps[w]) || *progress;
        left = left || block->warps[w].fragment_count > 0;
        if (block->warps[w].failed)
            fth_ptx_run_stop(run);
    }
    *progress = (left && fth_ptx_release_barriers(block)) || *progress;
    return left;
}

/* Rounds without any progress after which warps that wait in loops are said to wait forever.
 * Chosen, not derived: a loop that gives up after some attempts gets the chance to do so. */
#define MAX_IDLE_ROUNDS 10000u

/* True if some warp of the cluster waits in a loop. */
static bool waits_in_loop(const struct fth_ptx_cluster *cluster)
{
    for (uint32_t b = 0; b < cluster->count; b++)
        for (uint32_t w = 0; w < cluster->blocks[b].warp_count; w++)
            if (cluster->blocks[b].warps[w].fragment_count && cluster->blocks[b].warps[w].yields)
                return true;
    return false;
}

/* Gives each warp of a cluster a turn, for an observer without a `time` callback. Returns false
 * once all warps have ended. *idle counts the rounds without progress. */
static bool run_cluster_round(struct fth_ptx_run *run, struct fth_ptx_cluster *cluster,
                              uint32_t *idle)
{
    bool progress = false, left = cluster->changed = false;
    for (uint32_t b = 0; b < cluster->count; b++)
        left = run_round(&cluster->blocks[b], &progress) || left;
    progress = (left && fth_ptx_release_cluster(cluster)) || progress || cluster->changed;
    if (progress || !left || stopped(run)) {
        *idle = 0;
        return left;
    }
    /* Unless they were executed earlier, copies are executed when all warps wait. */
    if (!fth_ptx_copies_release(cluster) && (++*idle > MAX_IDLE_ROUNDS || !waits_in_loop(cluster)))
        fth_ptx_report_deadlock(cluster);
    return true;
}

/* Instructions per turn if the observer has a `time` callback and several warps can run. Long
 * enough to keep the overhead low; short enough that the accesses of the warps interleave in the
 * caches as on a GPU. Chosen, not derived. */
#define SHORT_TURN 8u

/* Returns the warp with the lowest time that can run, or NULL. *alone is true if no other warp can
 * run. */
static struct fth_ptx_warp *earliest(const struct fth_ptx_cluster *cluster, bool *alone)
{
    struct fth_ptx_warp *first = NULL;
    *alone = true;
    for (uint32_t b = 0; b < cluster->count; b++) {
        const struct fth_ptx_block *block = &cluster->blocks[b];
        for (uint32_t w = 0; w < block->warp_count; w++) {
            struct fth_ptx_warp *warp = &block->warps[w];
            if (warp->fragment_count == 0 || warp->blocked)
                continue;
            if (first)
                *alone = false;
            if (!first || warp->time < first->time)
                first = warp;
        }
    }
    return first;
}

static bool is_done(const struct fth_ptx_cluster *cluster)
{
    for (uint32_t b = 0; b < cluster->count; b++)
        for (uint32_t w = 0; w < cluster->blocks[b].warp_count; w++)
            if (cluster->blocks[b].warps[w].fragment_count)
                return false;
    return true;
}

/* Reads the times of all warps again, because a barrier can have advanced any of them. */
static void read_times(const struct fth_ptx_cluster *cluster,
                       const struct fth_ptx_observer *observer)
{
    for (uint32_t b = 0; b < cluster->count; b++)
        for (uint32_t w = 0; w < cluster->blocks[b].warp_count; w++) {
            struct fth_ptx_warp *warp = &cluster->blocks[b].warps[w];
            if (warp->fragment_count)
                warp->time = observer->time(observer->user, &warp->issue.who);
        }
}

/* Runs a cluster for an observer with a `time` callback: always the warp with the lowest time. */
static void run_by_time(struct fth_ptx_run *run, struct fth_ptx_cluster *cluster)
{
    const struct fth_ptx_observer *observer = run->observer;
    while (!stopped(run)) {
        bool alone;
        struct fth_ptx_warp *warp = earliest(cluster, &alone);
        if (warp) {
            warp->issue.alone = alone;
            fth_ptx_warp_run(warp, alone ? WARP_TURN : SHORT_TURN);
            if (cluster->copies)
                (void)fth_ptx_copies_run(cluster); /* the time that they take is not modelled */
            warp->time = observer->time(observer->user, &warp->issue.who);
            if (warp->failed)
                fth_ptx_run_stop(run);
            if (!warp->blocked && warp->fragment_count && !cluster->unchecked_arrival)
                continue;
        }
        /* The warp arrived at a barrier or ended, which can have completed a barrier. */
        if (is_done(cluster) || stopped(run))
            return;
        bool released = fth_ptx_release_cluster(cluster);
        for (uint32_t b = 0; b < cluster->count; b++)
            released = fth_ptx_release_barriers(&cluster->blocks[b]) || released;
        if (released)
            read_times(cluster, observer);
        else if (!warp)
            fth_ptx_report_deadlock(cluster);
    }
}

/* Prepares a cluster. Returns false without memory; cluster_fini must then be called, too. */
static bool cluster_init(struct fth_ptx_cluster *cluster, struct fth_ptx_worker *worker,
                         uint64_t index)
{
    struct fth_ptx_run *run = worker->run;
    *cluster = (struct fth_ptx_cluster){.worker = worker};
    cluster->blocks = calloc(run->cluster_blocks, sizeof *cluster->blocks);
    if (run->check_async)
        cluster->hazards = fth_hazards_create(cluster, index);
    bool ok = cluster->blocks && (cluster->hazards || !run->check_async);
    if (!ok)
        fth_ptx_run_no_memory(run);
    /* Each cluster has random numbers of its own, so that they do not depend on which host thread
     * runs it. */
    fth_rng_init(&cluster->rng, run->launch->copy_seed * 0x9e3779b97f4a7c15u + index);
    for (uint32_t rank = 0; rank < run->cluster_blocks && ok; rank++) {
        ok = block_init(&cluster->blocks[rank], run, cluster, index, rank);
        cluster->count++;
    }
    return ok;
}

/* Ends a cluster: executes the copies that outlive its threads, prints and counts. */
static void cluster_fini(struct fth_ptx_cluster *cluster, uint64_t index)
{
    struct fth_ptx_run *run = cluster->worker->run;
    if (cluster->hazards && !stopped(run))
        fth_hazards_end(cluster->hazards);
    while (!stopped(run) && fth_ptx_copies_run(cluster))
        continue;
    fth_ptx_copies_free(cluster);
    fth_hazards_destroy(cluster->hazards);
    fth_ptx_print_cluster(cluster, index);
    uint64_t warp_instructions = 0, thread_instructions = 0;
    for (uint32_t rank = 0; rank < cluster->count; rank++) {
        struct fth_ptx_block *block = &cluster->blocks[rank];
        for (uint32_t w = 0; w < block->warp_count; w++) {
            warp_instructions += block->warps[w].instructions;
            thread_instructions += block->warps[w].thread_instructions;
        }
        block_fini(block);
    }
    free(cluster->blocks);
    __atomic_fetch_add(&run->warp_instructions, warp_instructions, __ATOMIC_RELAXED);
    __atomic_fetch_add(&run->thread_instructions, thread_instructions, __ATOMIC_RELAXED);
    if (run->observer && run->observer->done && !run->observer->done(run->observer->user, index))
        fth_ptx_run_stop(run);
}

static void run_cluster(struct fth_ptx_worker *worker, uint64_t index)
{
    struct fth_ptx_run *run = worker->run;
    struct fth_ptx_cluster cluster;
    uint32_t idle = 0;
    const bool ok = cluster_init(&cluster, worker, index);
    if (ok && run->observer && run->observer->time)
        run_by_time(run, &cluster);
    else
        while (ok && !stopped(run) && run_cluster_round(run, &cluster, &idle))
            continue;
    cluster_fini(&cluster, index);
}

/* Runs all clusters of the grid at the same time, in one host thread. */
static void run_all_clusters(struct fth_ptx_run *run)
{
    const uint64_t count = run->cluster_count;
    struct fth_ptx_worker worker = {.run = run};
    struct fth_ptx_cluster *clusters = calloc(count, sizeof *clusters);
    uint32_t *idle = calloc(count, sizeof *idle);
    uint64_t made = 0;
    bool ok = clusters && idle;
    if (!ok)
        fth_ptx_run_no_memory(run);
    for (; made < count && ok; made++)
        ok = cluster_init(&clusters[made], &worker, made);
    for (bool left = ok; left && !stopped(run);) {
        left = false;
        for (uint64_t i = 0; i < count && !stopped(run); i++)
            left = run_cluster_round(run, &clusters[i], &idle[i]) || left;
    }
    for (uint64_t i = 0; i < made; i++)
        cluster_fini(&clusters[i], i);
    free(clusters);
    free(idle);
    fth_ptx_frames_free(&worker);
}

/* Runs clusters until none is left. Each host thread executes this function; only one has a log. */
static void run_clusters(struct fth_ptx_run *run, const struct fth_log *log)
{
    const uint64_t count = run->cluster_count;
    struct fth_ptx_worker worker = {.run = run};
    time_t last = 0;
    for (;;) {
        uint64_t index = __atomic_fetch_add(&run->next_cluster, 1, __ATOMIC_RELAXED);
        if (index >= count || __atomic_load_n(&run->stop, __ATOMIC_RELAXED))
            break;
        run_cluster(&worker, index);
        time_t now = log ? time(NULL) : 0;
        if (now != last) /* at most once per second */
            fth_log_progress(log, run->kernel->name, (double)index / (double)count);
        last = now;
    }
    fth_ptx_frames_free(&worker);
}

static void *run_clusters_unlogged(void *argument)
{
    run_clusters(argument, NULL);
    return NULL;
}

/* ---- launches ---- */

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
            return fth_fail(error, FTH_INVALID, operation, kernel->name,
                            "a cluster can have at most %d blocks", MAX_CLUSTER_BLOCKS);
        if (is_requested && required[0] && required[i] != run->cluster[i])
            return fth_fail(error, FTH_INVALID, operation, kernel->name,
                            "the cluster size differs from the kernel's .reqnctapercluster");
        if (run->grid[i] % run->cluster[i])
            return fth_fail(error, FTH_INVALID, operation, kernel->name,
                            "the grid size %u is not a multiple of the cluster size %u",
                            run->grid[i], run->cluster[i]);
        run->cluster_count *= run->grid[i] / run->cluster[i];
    }
    run->cluster_blocks = (uint32_t)blocks;
    if (blocks > 1 && run->shared_bytes > CLUSTER_WINDOW)
        return fth_fail(
            error, FTH_INVALID, operation, kernel->name,
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
                error, FTH_INVALID, operation, kernel->name,
                "the grid exceeds 2147483647x65535x65535 or the block exceeds 1024 in a dimension");
        run->block_count *= run->grid[i];
        run->threads_per_block *= run->threads[i];
    }
    run->row_lanes = LANES % run->threads[0] == 0 && run->threads[0] < run->threads_per_block
                         ? run->threads[0]
                         : LANES;
    if (run->threads_per_block > 1024)
        return fth_fail(error, FTH_INVALID, operation, kernel->name,
                        "%llu threads per block exceed the limit of 1024",
                        (unsigned long long)run->threads_per_block);
    uint64_t max = (uint64_t)kernel->max_block[0] * kernel->max_block[1] * kernel->max_block[2];
    if (max && run->threads_per_block > max)
        return fth_fail(error, FTH_INVALID, operation, kernel->name,
                        "%llu threads per block exceed the kernel's .maxntid of %llu",
                        (unsigned long long)run->threads_per_block, (unsigned long long)max);
    for (int i = 0; i < 3; i++)
        if (kernel->required_block[i] && kernel->required_block[i] != run->threads[i])
            return fth_fail(error, FTH_INVALID, operation, kernel->name,
                            "the block is %ux%ux%u, but the kernel's .reqntid is %ux%ux%u",
                            run->threads[0], run->threads[1], run->threads[2],
                            kernel->required_block[0], kernel->required_block[1],
                            kernel->required_block[2]);
    if (launch->argument_bytes != kernel->parameter_bytes)
        return fth_fail(error, FTH_INVALID, operation, kernel->name,
                        "%zu bytes of arguments were passed, but the kernel takes %zu",
                        launch->argument_bytes, kernel->parameter_bytes);
    if (launch->dynamic_shared_bytes > (size_t)1 << 30)
        return fth_fail(error, FTH_INVALID, operation, kernel->name,
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
                    kernel->name);
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
        run_all_clusters(run);
        return;
    }
    while (started + 1 < threads &&
           pthread_create(&workers[started], NULL, run_clusters_unlogged, run) == 0)
        started++;
    run_clusters(run, run->launch->log);
    for (unsigned i = 0; i < started; i++)
        pthread_join(workers[i], NULL);
}

enum fth_status fth_ptx_run(struct fth_ptx_machine *machine, const struct fth_ptx_launch *launch,
                            struct fth_ptx_totals *totals, struct fth_error *error)
{
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    struct fth_ptx_run run;
    if (totals)
        *totals = (struct fth_ptx_totals){0, 0};
    FTH_TRY(prepare(machine, launch, &run, error));
    FTH_TRY(fth_slice_prepare(&run, error));
    run.lock = &lock;
    run_launch(&run);
    fth_slice_destroy(run.slice);
    pthread_mutex_destroy(&lock);
    fth_log_progress(launch->log, run.kernel->name, 1);
    fth_ptx_print_rest(&run);
    const size_t findings = fth_hazards_log(&run);
    if (run.dropped_output)
        warn_of_dropped_output(machine, run.kernel, launch->print != NULL, launch->log);
    if (totals)
        *totals = (struct fth_ptx_totals){run.warp_instructions, run.thread_instructions};
    if (run.status == FTH_OK && run.stop && fth_log_interrupted(launch->log))
        return fth_fail(error, FTH_INTERRUPTED, "run launches", NULL, "interrupted");
    if (run.status == FTH_OK && run.stop)
        return fth_fail(error, FTH_INTERRUPTED, "run kernel", run.kernel->name,
                        "stopped by the observer");
    if (run.status == FTH_OK && findings)
        return fth_fail(error, FTH_INVALID, "run kernel", run.kernel->name,
                        "%zu pair%s of instructions race with an asynchronous operation in flight; "
                        "add the waits and fences that are missing",
                        findings, findings == 1 ? "" : "s");
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
