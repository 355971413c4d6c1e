/* Barriers: bar and barrier, at which the warps of a block wait for each other, and
 * barrier.cluster, at which all warps of a cluster do. */
#include "ptx/engine.h"

/* Returns the number of threads of a block that wait at barrier `id`. *true_count is the number of
 * those whose predicate is true (bar.red). *threads is set to the number of threads that the
 * barrier expects, 0 for the whole block; it is unchanged if no thread waits. */
static uint64_t waiting_threads(struct block *block, uint32_t id, uint64_t *true_count,
                                uint32_t *threads)
{
    uint64_t count = 0;
    *true_count = 0;
    for (uint32_t w = 0; w < block->warp_count; w++)
        for (uint32_t i = 0; i < block->warps[w].fragment_count; i++) {
            struct fragment *fragment = &block->warps[w].fragments[i];
            if (fragment->state != AT_BARRIER || fragment->barrier != id)
                continue;
            const struct inst *inst = &fragment->frame->function->code[fragment->pc];
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
static void write_reduction(struct fragment *fragment, const struct inst *inst, uint64_t count,
                            uint64_t true_count)
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

bool release_barriers(struct block *block)
{
    bool released = false;
    uint64_t alive = 0;
    for (uint32_t w = 0; w < block->warp_count; w++)
        alive += (uint64_t)__builtin_popcount(alive_lanes(&block->warps[w]));
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
                struct fragment *fragment = &block->warps[w].fragments[i];
                if (fragment->state != AT_BARRIER || fragment->barrier != id)
                    continue;
                write_reduction(fragment, &fragment->frame->function->code[fragment->pc], count,
                                true_count);
                fragment->state = RUNNING;
                fragment->pc++;
                block->warps[w].blocked = false;
                warps |= 1u << w;
            }
        released = true;
        const struct fth_ptx_observer *observer = block->run->observer;
        if (observer && observer->barrier &&
            !observer->barrier(observer->user, block->index, id, warps))
            stop_run(block->run);
    }
    return released;
}

void notify_cluster_barrier(struct warp *warp, uint32_t phase, bool waited)
{
    const struct fth_ptx_observer *observer = warp->block->run->observer;
    if (observer && observer->cluster_barrier &&
        !observer->cluster_barrier(observer->user, &warp->issue.who, phase, waited))
        stop_run(warp->block->run);
}

/* True if all live threads of the cluster have arrived at its barrier. A thread that waits has
 * arrived before, so it is enough to look for live lanes that have not arrived. */
static bool cluster_is_complete(const struct cluster *cluster)
{
    for (uint32_t b = 0; b < cluster->count; b++)
        for (uint32_t w = 0; w < cluster->blocks[b].warp_count; w++) {
            const struct warp *warp = &cluster->blocks[b].warps[w];
            if (alive_lanes(warp) & ~warp->cluster_arrived)
                return false;
        }
    return true;
}

bool release_cluster(struct cluster *cluster)
{
    cluster->unchecked_arrival = false;
    if (!cluster->arrived || !cluster_is_complete(cluster))
        return false;
    cluster->arrived = false;
    cluster->phase++;
    for (uint32_t b = 0; b < cluster->count; b++)
        for (uint32_t w = 0; w < cluster->blocks[b].warp_count; w++) {
            struct warp *warp = &cluster->blocks[b].warps[w];
            bool waited = false;
            warp->cluster_arrived = 0;
            for (uint32_t i = 0; i < warp->fragment_count; i++) {
                struct fragment *fragment = &warp->fragments[i];
                if (fragment->state != AT_CLUSTER_BARRIER)
                    continue;
                fragment->state = RUNNING;
                fragment->pc++;
                waited = true;
            }
            if (waited) {
                warp->blocked = false;
                notify_cluster_barrier(warp, cluster->phase - 1, true);
            }
        }
    return true;
}

/* Reports what the first unfinished warp of a block waits for. False if all its warps are done. */
static bool report_waiting(struct block *block)
{
    for (uint32_t w = 0; w < block->warp_count; w++) {
        struct warp *warp = &block->warps[w];
        if (warp->fragment_count == 0)
            continue;
        const struct fragment *fragment = &warp->fragments[0];
        const struct inst *inst = &fragment->frame->function->code[fragment->pc];
        if (fragment->state == AT_SYNC || fragment->state == AT_WARP_SYNC) {
            warp_fault(warp, inst, first_lane(fragment->mask),
                       "waits for lanes 0x%x of its warp, which never reach this instruction",
                       fragment->awaited & ~fragment->mask);
        } else if (fragment->state == AT_CLUSTER_BARRIER) {
            warp_fault(warp, inst, first_lane(fragment->mask),
                       "the cluster barrier cannot complete: other threads wait elsewhere");
        } else {
            uint64_t true_count;
            uint32_t threads = 0;
            uint64_t count = waiting_threads(block, fragment->barrier, &true_count, &threads);
            warp_fault(
                warp, inst, first_lane(fragment->mask),
                "barrier %u cannot complete: %llu threads wait at it, and the others have exited "
                "or wait elsewhere",
                fragment->barrier, (unsigned long long)count);
        }
        return true;
    }
    return false;
}

void report_deadlock(struct cluster *cluster)
{
    for (uint32_t b = 0; b < cluster->count; b++)
        if (report_waiting(&cluster->blocks[b]))
            return;
}
