/* Barriers: where the warps of a block, or of a cluster, wait for each other. */
#include "ptx/engine.h"

/* Lanes of a block that wait at a barrier, and, for bar.red, those whose predicate is true. */
static uint64_t waiting_threads(struct block *block, uint32_t id, uint64_t *yes, uint32_t *threads)
{
    uint64_t count = 0;
    *yes = 0;
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
                *yes += (uint64_t)__builtin_popcount(lanes & fragment->mask);
            }
        }
    return count;
}

static void give_result(struct fragment *fragment, const struct inst *inst, uint64_t count,
                        uint64_t yes)
{
    if (!(inst->flags & F_RED))
        return;
    if (inst->gives_predicate) {
        bool result = inst->boolean == B_AND ? yes == count : yes > 0;
        uint32_t *predicate = &fragment->frame->predicates[inst->d[0]];
        *predicate = result ? *predicate | fragment->mask : *predicate & ~fragment->mask;
        return;
    }
    uint64_t *row_of = fragment->frame->rows + (size_t)inst->d[0] * LANES;
    for (uint32_t left = fragment->mask; left; left &= left - 1)
        row_of[first_lane(left)] = yes;
}

bool release_barriers(struct block *block)
{
    bool released = false;
    uint64_t alive = 0;
    for (uint32_t w = 0; w < block->warp_count; w++)
        alive += (uint64_t)__builtin_popcount(alive_lanes(&block->warps[w]));
    for (uint32_t left = block->waited_at; left; left &= left - 1) {
        uint32_t id = (uint32_t)first_lane(left), warps = 0;
        uint64_t yes;
        uint32_t threads = 0;
        uint64_t count = waiting_threads(block, id, &yes, &threads);
        uint64_t expected = threads ? threads : alive;
        /* A warp that is not full counts as one that is, where threads are counted by warps. */
        if (count == 0 || count + block->arrived[id] < (expected < alive ? expected : alive))
            continue;
        block->arrived[id] = 0;
        block->waited_at &= ~(1u << id);
        for (uint32_t w = 0; w < block->warp_count; w++)
            for (uint32_t i = 0; i < block->warps[w].fragment_count; i++) {
                struct fragment *fragment = &block->warps[w].fragments[i];
                if (fragment->state != AT_BARRIER || fragment->barrier != id)
                    continue;
                give_result(fragment, &fragment->frame->function->code[fragment->pc], count, yes);
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

void tell_cluster_barrier(struct warp *warp, uint32_t phase, bool waited)
{
    const struct fth_ptx_observer *observer = warp->block->run->observer;
    if (observer && observer->cluster_barrier &&
        !observer->cluster_barrier(observer->user, &warp->issue.who, phase, waited))
        stop_run(warp->block->run);
}

/* Everybody who waits has come before, so it is enough to look who has not. */
static bool cluster_is_complete(const struct cluster *cluster)
{
    for (uint32_t b = 0; b < cluster->count; b++)
        for (uint32_t w = 0; w < cluster->blocks[b].warp_count; w++) {
            const struct warp *warp = &cluster->blocks[b].warps[w];
            if (alive_lanes(warp) & ~warp->at_cluster)
                return false;
        }
    return true;
}

bool release_cluster(struct cluster *cluster)
{
    cluster->news = false;
    if (!cluster->arrived || !cluster_is_complete(cluster))
        return false;
    cluster->arrived = false;
    cluster->phase++;
    for (uint32_t b = 0; b < cluster->count; b++)
        for (uint32_t w = 0; w < cluster->blocks[b].warp_count; w++) {
            struct warp *warp = &cluster->blocks[b].warps[w];
            bool waited = false;
            warp->at_cluster = 0;
            for (uint32_t i = 0; i < warp->fragment_count; i++) {
                struct fragment *fragment = &warp->fragments[i];
                if (fragment->state != AT_CLUSTER)
                    continue;
                fragment->state = RUNNING;
                fragment->pc++;
                waited = true;
            }
            if (waited) {
                warp->blocked = false;
                tell_cluster_barrier(warp, cluster->phase - 1, true);
            }
        }
    return true;
}

/* False where all its warps are done. */
static bool report_waiting(struct block *block)
{
    for (uint32_t w = 0; w < block->warp_count; w++) {
        struct warp *warp = &block->warps[w];
        if (warp->fragment_count == 0)
            continue;
        const struct fragment *fragment = &warp->fragments[0];
        const struct inst *inst = &fragment->frame->function->code[fragment->pc];
        if (fragment->state == AT_SYNC || fragment->state == AT_MEETING) {
            warp_fault(warp, inst, first_lane(fragment->mask),
                       "waits for lanes 0x%x of its warp, which never come here",
                       fragment->members & ~fragment->mask);
        } else if (fragment->state == AT_CLUSTER) {
            warp_fault(warp, inst, first_lane(fragment->mask),
                       "the barrier of the cluster cannot complete: others wait elsewhere");
        } else {
            uint64_t yes;
            uint32_t threads = 0;
            uint64_t count = waiting_threads(block, fragment->barrier, &yes, &threads);
            warp_fault(
                warp, inst, first_lane(fragment->mask),
                "barrier %u cannot complete: %llu threads wait at it, and the others are done "
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
