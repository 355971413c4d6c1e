/* Runs the blocks and clusters of a launch. A cluster runs to its end, in one host thread, before
 * the thread takes the next one; only the clusters of a cooperative launch all run at the same
 * time. The warps of a cluster take turns. */
#include "ptx/execute/warp.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

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
    const struct fth_ptx_observer *observer = run->launch->observer;
    block->sm = observer && observer->place ? observer->place(observer->user, index)
                                            : (uint32_t)(index % sms);
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
        warp->cost.instructions = FTH_PTX_PROLOGUE;
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

/* Ends the warps of a cluster: executes the copies that outlive them, and notifies the observer. */
static void end_warps(struct fth_ptx_cluster *cluster)
{
    struct fth_ptx_run *run = cluster->worker->run;
    const struct fth_ptx_observer *observer = run->observer;
    if (cluster->hazards && !stopped(run))
        fth_hazards_end(cluster->hazards);
    while (!stopped(run) && fth_ptx_copies_run(cluster))
        continue;
    for (uint32_t rank = 0; observer && observer->ended && rank < cluster->count; rank++) {
        const struct fth_ptx_block *block = &cluster->blocks[rank];
        for (uint32_t w = 0; w < block->warp_count && !stopped(run); w++) {
            const struct fth_ptx_cost cost = block->warps[w].cost;
            if (!observer->ended(observer->user, &block->warps[w].issue.who, cost.instructions,
                                 cost.cycles))
                fth_ptx_run_stop(run);
        }
    }
}

/* Ends a cluster, of which end_warps() has been called: prints and counts. */
static void cluster_fini(struct fth_ptx_cluster *cluster, uint64_t index)
{
    struct fth_ptx_run *run = cluster->worker->run;
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
    end_warps(&cluster);
    cluster_fini(&cluster, index);
}

void fth_ptx_run_all_clusters(struct fth_ptx_run *run)
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
        end_warps(&clusters[i]);
    for (uint64_t i = 0; i < made; i++)
        cluster_fini(&clusters[i], i);
    free(clusters);
    free(idle);
    fth_ptx_frames_free(&worker);
}

void fth_ptx_run_clusters(struct fth_ptx_run *run, const struct fth_log *log)
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
            fth_log_progress(log, run->kernel->kernel.display_name, (double)index / (double)count);
        last = now;
    }
    fth_ptx_frames_free(&worker);
}
