/* Asynchronous copies between their issue and their completion.
 *
 * By default, a copy is executed as late as the program allows: when a thread waits for its group,
 * or when no warp of the cluster can go on. A thread that reads the destination without waiting
 * therefore sees the old contents, as it can on a GPU. A launch can also choose that copies are
 * executed at once, or at random points in between (enum fth_copy_order).
 *
 * When the launch looks for missing waits (hazard/), a copy can be executed before it is complete:
 * it is complete when a thread has waited for it, or when it has changed an mbarrier. */
#include "ptx/async/async.h"

#include <stdlib.h>

/* Copies of a cluster that wait at most; the oldest ones are executed then. Chosen, not derived:
 * more than any pipeline has in flight, and few enough to be searched for each wait. */
enum { MAX_COPIES = 4096 };

void *fth_ptx_copy_create(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst,
                          enum fth_ptx_copy_kind kind, uint32_t lanes, size_t bytes)
{
    struct fth_ptx_copy *copy = calloc(1, bytes);
    if (!copy) {
        fth_ptx_run_no_memory(warp->block->run);
        warp->failed = true;
        return NULL;
    }
    copy->warp = warp;
    copy->inst = inst;
    copy->kind = kind;
    copy->lanes = lanes;
    memcpy(copy->groups, warp->copy_groups[kind], sizeof copy->groups);
    return copy;
}

/* Executes a copy for those of the lanes for which this has not been done. */
static void execute(struct fth_ptx_cluster *cluster, struct fth_ptx_copy *copy, uint32_t lanes)
{
    lanes &= ~copy->executed;
    copy->executed |= lanes;
    cluster->changed = true;
    if (lanes && !copy->execute(copy, lanes))
        fth_ptx_run_stop(copy->warp->block->run);
}

/* Executes a copy for some of its lanes, which are complete then. */
static void complete(struct fth_ptx_cluster *cluster, struct fth_ptx_copy *copy, uint32_t lanes,
                     enum fth_ptx_completion completion)
{
    execute(cluster, copy, lanes);
    copy->lanes &= ~lanes;
    if (cluster->hazards)
        fth_hazard_complete(copy, lanes, completion);
}

/* Removes the copies that are complete. */
static void remove_complete(struct fth_ptx_cluster *cluster)
{
    struct fth_ptx_copy **link = &cluster->copies;
    cluster->last_copy = NULL;
    while (*link) {
        struct fth_ptx_copy *copy = *link;
        if (copy->lanes) {
            cluster->last_copy = copy;
            link = &copy->next;
        } else {
            *link = copy->next;
            cluster->copy_count--;
            free(copy);
        }
    }
}

static enum fth_copy_order order_of(const struct fth_ptx_cluster *cluster)
{
    return cluster->worker->run->launch->copy_order;
}

/* Executes a copy, which is complete then if it changes an mbarrier, or if nobody looks for missing
 * waits. Before it, executes what it must come after. */
static void run_one(struct fth_ptx_cluster *cluster, struct fth_ptx_copy *chosen)
{
    for (struct fth_ptx_copy *copy = cluster->copies; copy != chosen; copy = copy->next)
        if (chosen->last && copy->warp == chosen->warp && copy->kind == COPY_THREAD &&
            copy->lanes & chosen->lanes)
            complete(cluster, copy, copy->lanes & chosen->lanes, COMPLETION_COUNTED);
    if (chosen->signals || !cluster->hazards)
        complete(cluster, chosen, chosen->lanes, COMPLETION_COUNTED);
    else
        execute(cluster, chosen, chosen->lanes);
    remove_complete(cluster);
}

void fth_ptx_copy_issue(struct fth_ptx_copy *copy)
{
    struct fth_ptx_cluster *cluster = copy->warp->block->cluster;
    if (cluster->last_copy)
        cluster->last_copy->next = copy;
    else
        cluster->copies = copy;
    cluster->last_copy = copy;
    if (cluster->hazards)
        fth_hazard_issue(copy);
    if (++cluster->copy_count > MAX_COPIES)
        (void)fth_ptx_copies_run(cluster);
    else if (order_of(cluster) == FTH_COPY_EARLY)
        run_one(cluster, copy);
}

bool fth_ptx_copies_run(struct fth_ptx_cluster *cluster)
{
    if (!cluster->copies)
        return false;
    for (struct fth_ptx_copy *copy = cluster->copies; copy; copy = copy->next)
        if (copy->lanes)
            complete(cluster, copy, copy->lanes, COMPLETION_FORCED);
    remove_complete(cluster);
    return true;
}

void fth_ptx_copies_free(struct fth_ptx_cluster *cluster)
{
    for (struct fth_ptx_copy *copy = cluster->copies; copy; copy = copy->next)
        copy->lanes = 0;
    remove_complete(cluster);
}

/* True if the execution of a copy has an effect. */
static bool is_waiting(const struct fth_ptx_copy *copy, bool only_signals)
{
    return copy->lanes & ~copy->executed && (copy->signals || !only_signals);
}

/* Runs one of the copies that wait: the first one or, with FTH_COPY_RANDOM, any. Returns false if
 * there is none. `only_signals`: only copies that change an mbarrier. */
static bool run_any(struct fth_ptx_cluster *cluster, bool only_signals)
{
    uint64_t count = 0;
    for (const struct fth_ptx_copy *copy = cluster->copies; copy; copy = copy->next)
        count += is_waiting(copy, only_signals);
    if (count == 0)
        return false;
    uint64_t index = order_of(cluster) == FTH_COPY_RANDOM ? fth_rng_below(&cluster->rng, count) : 0;
    for (struct fth_ptx_copy *copy = cluster->copies; copy; copy = copy->next)
        if (is_waiting(copy, only_signals) && index-- == 0) {
            run_one(cluster, copy);
            break;
        }
    return true;
}

bool fth_ptx_copies_release(struct fth_ptx_cluster *cluster)
{
    if (cluster->hazards || order_of(cluster) == FTH_COPY_RANDOM)
        return run_any(cluster, true);
    return fth_ptx_copies_run(cluster);
}

void fth_ptx_copies_run_random(struct fth_ptx_cluster *cluster)
{
    if (cluster->copies && fth_rng_below(&cluster->rng, 2))
        (void)run_any(cluster, false);
}

void fth_ptx_copies_commit(struct fth_ptx_warp *warp, enum fth_ptx_copy_kind kind, uint32_t lanes)
{
    FOR_LANES(lanes, warp->copy_groups[kind][lane]++;);
    (void)fth_ptx_notify_copies(
        warp, (struct fth_ptx_copy_event){.step = FTH_COPY_STEP_COMMIT, .bulk = kind == COPY_BULK});
}

/* Executes the copies that must come after all earlier copies of their lanes, where these are
 * complete. */
static void run_last(struct fth_ptx_cluster *cluster, const struct fth_ptx_warp *warp)
{
    uint32_t busy = 0; /* lanes of the warp with copies that are not complete */
    for (struct fth_ptx_copy *copy = cluster->copies; copy; copy = copy->next) {
        if (copy->warp != warp || copy->kind != COPY_THREAD)
            continue;
        if (copy->last && copy->lanes & ~busy)
            complete(cluster, copy, copy->lanes & ~busy, COMPLETION_COUNTED);
        busy |= copy->lanes;
    }
}

/* The lanes of a copy, among `lanes`, for which the wait is not over before the copy is executed.
 */
static uint32_t awaited_lanes(const struct fth_ptx_copy *copy, uint32_t lanes,
                              const struct fth_ptx_wait *wait)
{
    uint32_t awaited = 0;
    if (copy->kind != wait->kind || copy->last)
        return 0;
    for (uint32_t left = copy->lanes & lanes; left; left &= left - 1) {
        const int lane = first_lane(left);
        const uint32_t committed = copy->warp->copy_groups[wait->kind][lane];
        if (wait->uncommitted || (uint64_t)copy->groups[lane] + wait->pending < committed)
            awaited |= 1u << lane;
    }
    return awaited;
}

void fth_ptx_copies_wait(struct fth_ptx_warp *warp, uint32_t lanes, const struct fth_ptx_wait *wait)
{
    struct fth_ptx_cluster *cluster = warp->block->cluster;
    bool found = false;
    (void)fth_ptx_notify_copies(
        warp, (struct fth_ptx_copy_event){.step = FTH_COPY_STEP_WAIT,
                                          .bulk = wait->kind == COPY_BULK,
                                          .pending = wait->uncommitted ? 0 : wait->pending,
                                          .uncommitted = wait->uncommitted,
                                          .reads = wait->reads});
    for (struct fth_ptx_copy *copy = cluster->copies; copy; copy = copy->next) {
        const uint32_t now = copy->warp == warp ? awaited_lanes(copy, lanes, wait) : 0;
        if (now && wait->reads && cluster->hazards) {
            execute(cluster, copy, now);
            fth_hazard_read(copy, now); /* the destination is not complete */
        } else if (now) {
            complete(cluster, copy, now, COMPLETION_WAITED);
            found = true;
        }
    }
    if (found) {
        run_last(cluster, warp);
        remove_complete(cluster);
    }
}
