/* Barriers: bar and barrier, at which the warps of a block wait for each other, and
 * barrier.cluster, at which all warps of a cluster do. */
#include "ptx/execute/warp.h"

/* ---- arrival ---- */

/* Notifies the observer that threads of the warp have arrived at the cluster barrier or, if
 * `waited`, continue after it. */
static void notify_cluster_barrier(struct fth_ptx_warp *warp, uint32_t phase, bool waited)
{
    const struct fth_ptx_observer *observer = warp->block->run->observer;
    if (observer && observer->cluster_barrier &&
        !observer->cluster_barrier(observer->user, &warp->issue.who, phase, waited))
        fth_ptx_run_stop(warp->block->run);
}

void fth_ptx_run_barrier(struct fth_ptx_warp *warp, struct fth_ptx_fragment *fragment,
                         const struct fth_ptx_inst *inst, uint32_t lanes)
{
    struct fth_ptx_block *block = warp->block;
    /* The operands are 32-bit numbers; a negative one can be sign-extended to 64 bits. A negative
     * `id` is too large with or without its high bits, so they are not removed. */
    uint64_t id = row(warp, inst->s[0])[first_lane(lanes)];
    uint64_t threads =
        inst->s[1] != NO_REGISTER ? row(warp, inst->s[1])[first_lane(lanes)] & 0xffffffff : 0;
    if (id >= MAX_BARRIERS || threads % LANES || threads > (uint64_t)block->warp_count * LANES) {
        fth_ptx_warp_fault(
            warp, inst, first_lane(lanes),
            "invalid barrier %llu for %llu threads: the index must be below %d, and the "
            "threads must be whole warps of the block",
            (unsigned long long)id, (unsigned long long)threads, MAX_BARRIERS);
        return;
    }
    uint32_t rest = fragment->mask & ~lanes;
    if (block->run->check_async)
        fth_hazard_barrier_arrive(warp, (uint32_t)id);
    if (inst->flags & F_ARRIVE) {
        /* bar.arrive counts all threads of the warp. */
        block->arrived[id] += LANES;
        block->active_barriers |= 1u << id;
        fragment->pc++;
        return;
    }
    block->active_barriers |= 1u << id;
    fragment->mask = lanes;
    fragment->state = AT_BARRIER;
    fragment->barrier = (uint32_t)id;
    fragment->barrier_threads = (uint32_t)threads;
    if (rest)
        fth_ptx_add_fragment(warp, fragment->frame, fragment->pc + 1, rest);
}

/* barrier.cluster.arrive does not block. barrier.cluster.wait blocks until the phase in which the
 * thread arrived is complete. When it is, fth_ptx_release_cluster() clears warp->cluster_arrived.
 */
void fth_ptx_run_cluster_barrier(struct fth_ptx_warp *warp, struct fth_ptx_fragment *fragment,
                                 const struct fth_ptx_inst *inst, uint32_t lanes)
{
    struct fth_ptx_cluster *cluster = warp->block->cluster;
    if (inst->flags & F_ARRIVE) {
        if (warp->cluster_arrived & lanes) {
            fth_ptx_warp_fault(warp, inst, first_lane(warp->cluster_arrived & lanes),
                               "arrives at the cluster barrier twice without waiting in between");
            return;
        }
        warp->cluster_arrived |= lanes;
        /* fth_ptx_release_cluster() checks later whether the phase is complete. */
        cluster->arrived = cluster->unchecked_arrival = true;
        if (warp->block->run->check_async)
            fth_hazard_cluster_arrive(warp);
        notify_cluster_barrier(warp, cluster->phase, false); /* the lanes arrive */
        fragment->pc++;
        return;
    }
    uint32_t waiting = lanes & warp->cluster_arrived, rest = fragment->mask & ~waiting;
    /* The other lanes do not wait: the phase in which they arrived is already complete. */
    if (lanes & ~waiting) {
        if (warp->block->run->check_async)
            fth_hazard_cluster_leave(warp);
        notify_cluster_barrier(warp, cluster->phase - 1, true); /* they continue */
    }
    if (!waiting) {
        fragment->pc++;
        return;
    }
    fragment->mask = waiting;
    fragment->state = AT_CLUSTER_BARRIER;
    if (rest)
        fth_ptx_add_fragment(warp, fragment->frame, fragment->pc + 1, rest);
}

/* ---- completion ---- */

/* Returns the number of threads of a block that wait at barrier `id`. *true_count is the number of
 * those whose predicate is true (bar.red). *threads is set to the number of threads that the
 * barrier expects, 0 for the whole block; it is unchanged if no thread waits. */
static uint64_t waiting_threads(struct fth_ptx_block *block, uint32_t id, uint64_t *true_count,
                                uint32_t *threads)
{
    uint64_t count = 0;
    *true_count = 0;
    for (uint32_t w = 0; w < block->warp_count; w++)
        for (uint32_t i = 0; i < block->warps[w].fragment_count; i++) {
            struct fth_ptx_fragment *fragment = &block->warps[w].fragments[i];
            if (fragment->state != AT_BARRIER || fragment->barrier != id)
                continue;
            const struct fth_ptx_inst *inst = &fragment->frame->function->code[fragment->pc];
            count += (uint64_t)__builtin_popcount(fragment->mask);
            *threads = fragment->barrier_threads;
            if (inst->flags & F_RED) {
                uint32_t lanes = fragment->frame->predicates[inst->predicate];
                lanes = inst->negated ? ~lanes : lanes;
                *true_count += (uint64_t)__builtin_popcount(lanes & fragment->mask);
            }
        }
    return count;
}

/* Writes the result of bar.red for the lanes of a fragment. `count` threads took part. */
static void write_reduction(struct fth_ptx_fragment *fragment, const struct fth_ptx_inst *inst,
                            uint64_t count, uint64_t true_count)
{
    if (!(inst->flags & F_RED))
        return;
    if (inst->result_is_predicate) {
        bool result = inst->boolean == B_AND ? true_count == count : true_count > 0;
        uint32_t *predicate = &fragment->frame->predicates[inst->d[0]];
        *predicate = result ? *predicate | fragment->mask : *predicate & ~fragment->mask;
        return;
    }
    uint64_t *row_of = fragment->frame->rows + (size_t)inst->d[0] * LANES;
    for (uint32_t left = fragment->mask; left; left &= left - 1)
        row_of[first_lane(left)] = true_count;
}

bool fth_ptx_release_barriers(struct fth_ptx_block *block)
{
    bool released = false;
    uint64_t alive = 0;
    for (uint32_t w = 0; w < block->warp_count; w++)
        alive += (uint64_t)__builtin_popcount(fth_ptx_alive_lanes(&block->warps[w]));
    for (uint32_t left = block->active_barriers; left; left &= left - 1) {
        uint32_t id = (uint32_t)first_lane(left), warps = 0;
        uint64_t true_count;
        uint32_t threads = 0;
        uint64_t count = waiting_threads(block, id, &true_count, &threads);
        uint64_t expected = threads ? threads : alive;
        /* The expected number is a multiple of the warp size. Where the last warp of the block is
         * not full, that is more than the threads that exist. */
        if (count == 0 || count + block->arrived[id] < (expected < alive ? expected : alive))
            continue;
        block->arrived[id] = 0;
        block->active_barriers &= ~(1u << id);
        for (uint32_t w = 0; w < block->warp_count; w++)
            for (uint32_t i = 0; i < block->warps[w].fragment_count; i++) {
                struct fth_ptx_fragment *fragment = &block->warps[w].fragments[i];
                if (fragment->state != AT_BARRIER || fragment->barrier != id)
                    continue;
                write_reduction(fragment, &fragment->frame->function->code[fragment->pc], count,
                                true_count);
                fragment->state = RUNNING;
                fragment->pc++;
                block->warps[w].blocked = false;
                warps |= 1u << w;
                if (block->run->check_async)
                    fth_hazard_barrier_leave(&block->warps[w], id);
            }
        if (block->run->check_async)
            fth_hazard_barrier_end(block, id);
        released = true;
        const struct fth_ptx_observer *observer = block->run->observer;
        if (observer && observer->barrier &&
            !observer->barrier(observer->user, block->index, id, warps))
            fth_ptx_run_stop(block->run);
    }
    return released;
}

/* True if all live threads of the cluster have arrived at its barrier. A thread that waits has
 * arrived before, so it is enough to look for live lanes that have not arrived. */
static bool cluster_is_complete(const struct fth_ptx_cluster *cluster)
{
    for (uint32_t b = 0; b < cluster->count; b++)
        for (uint32_t w = 0; w < cluster->blocks[b].warp_count; w++) {
            const struct fth_ptx_warp *warp = &cluster->blocks[b].warps[w];
            if (fth_ptx_alive_lanes(warp) & ~warp->cluster_arrived)
                return false;
        }
    return true;
}

bool fth_ptx_release_cluster(struct fth_ptx_cluster *cluster)
{
    cluster->unchecked_arrival = false;
    if (!cluster->arrived || !cluster_is_complete(cluster))
        return false;
    cluster->arrived = false;
    cluster->phase++;
    for (uint32_t b = 0; b < cluster->count; b++)
        for (uint32_t w = 0; w < cluster->blocks[b].warp_count; w++) {
            struct fth_ptx_warp *warp = &cluster->blocks[b].warps[w];
            bool waited = false;
            warp->cluster_arrived = 0;
            for (uint32_t i = 0; i < warp->fragment_count; i++) {
                struct fth_ptx_fragment *fragment = &warp->fragments[i];
                if (fragment->state != AT_CLUSTER_BARRIER)
                    continue;
                fragment->state = RUNNING;
                fragment->pc++;
                waited = true;
            }
            if (waited) {
                warp->blocked = false;
                if (warp->block->run->check_async)
                    fth_hazard_cluster_leave(warp);
                notify_cluster_barrier(warp, cluster->phase - 1, true);
            }
        }
    return true;
}

/* Reports what the first unfinished warp of a block waits for. False if all its warps are done. */
static bool report_waiting(struct fth_ptx_block *block)
{
    for (uint32_t w = 0; w < block->warp_count; w++) {
        struct fth_ptx_warp *warp = &block->warps[w];
        if (warp->fragment_count == 0)
            continue;
        const struct fth_ptx_fragment *fragment = &warp->fragments[0];
        const struct fth_ptx_inst *inst = &fragment->frame->function->code[fragment->pc];
        if (fragment->state == AT_SYNC || fragment->state == AT_WARP_SYNC) {
            fth_ptx_warp_fault(
                warp, inst, first_lane(fragment->mask),
                "waits for lanes 0x%x of its warp, which never reach this instruction",
                fragment->awaited & ~fragment->mask);
        } else if (fragment->state == RUNNING) {
            fth_ptx_warp_fault(warp, inst, first_lane(fragment->mask),
                               "waits for an mbarrier whose phase no thread and no copy completes");
        } else if (fragment->state == AT_CLUSTER_BARRIER) {
            fth_ptx_warp_fault(warp, inst, first_lane(fragment->mask),
                               "the cluster barrier cannot complete: other threads wait elsewhere");
        } else {
            uint64_t true_count;
            uint32_t threads = 0;
            uint64_t count = waiting_threads(block, fragment->barrier, &true_count, &threads);
            fth_ptx_warp_fault(
                warp, inst, first_lane(fragment->mask),
                "barrier %u cannot complete: %llu threads wait at it, and the others have exited "
                "or wait elsewhere",
                fragment->barrier, (unsigned long long)count);
        }
        return true;
    }
    return false;
}

void fth_ptx_report_deadlock(struct fth_ptx_cluster *cluster)
{
    for (uint32_t b = 0; b < cluster->count; b++)
        if (report_waiting(&cluster->blocks[b]))
            return;
}
