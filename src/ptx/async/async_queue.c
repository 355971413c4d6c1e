/* Asynchronous copies between their issue and their completion.
 *
 * A copy is executed as late as the program allows: when a thread waits for its group, or when no
 * warp of the cluster can go on. A thread that reads the destination without waiting therefore sees
 * the old contents, as it can on a GPU. */
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

/* Executes a copy for some of its lanes. */
static void execute(struct fth_ptx_cluster *cluster, struct fth_ptx_copy *copy, uint32_t lanes)
{
    copy->lanes &= ~lanes;
    cluster->changed = true;
    if (!copy->execute(copy, lanes))
        fth_ptx_run_stop(copy->warp->block->run);
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

void fth_ptx_copy_issue(struct fth_ptx_copy *copy)
{
    struct fth_ptx_cluster *cluster = copy->warp->block->cluster;
    if (cluster->last_copy)
        cluster->last_copy->next = copy;
    else
        cluster->copies = copy;
    cluster->last_copy = copy;
    if (++cluster->copy_count > MAX_COPIES)
        (void)fth_ptx_copies_run(cluster);
}

bool fth_ptx_copies_run(struct fth_ptx_cluster *cluster)
{
    if (!cluster->copies)
        return false;
    for (struct fth_ptx_copy *copy = cluster->copies; copy; copy = copy->next)
        if (copy->lanes)
            execute(cluster, copy, copy->lanes);
    remove_complete(cluster);
    return true;
}

void fth_ptx_copies_free(struct fth_ptx_cluster *cluster)
{
    for (struct fth_ptx_copy *copy = cluster->copies; copy; copy = copy->next)
        copy->lanes = 0;
    remove_complete(cluster);
}

void fth_ptx_copies_commit(struct fth_ptx_warp *warp, enum fth_ptx_copy_kind kind, uint32_t lanes)
{
    FOR_LANES(lanes, warp->copy_groups[kind][lane]++;);
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
            execute(cluster, copy, copy->lanes & ~busy);
        busy |= copy->lanes;
    }
}

void fth_ptx_copies_wait(struct fth_ptx_warp *warp, enum fth_ptx_copy_kind kind, uint32_t lanes,
                         uint64_t pending, bool uncommitted)
{
    struct fth_ptx_cluster *cluster = warp->block->cluster;
    bool found = false;
    for (struct fth_ptx_copy *copy = cluster->copies; copy; copy = copy->next) {
        if (copy->warp != warp || copy->kind != kind || copy->last)
            continue;
        uint32_t now = 0;
        for (uint32_t left = copy->lanes & lanes; left; left &= left - 1) {
            const int lane = first_lane(left);
            const uint32_t committed = warp->copy_groups[kind][lane];
            if (uncommitted || (uint64_t)copy->groups[lane] + pending < committed)
                now |= 1u << lane;
        }
        if (now)
            execute(cluster, copy, now);
        found = found || now;
    }
    if (found) {
        run_last(cluster, warp);
        remove_complete(cluster);
    }
}
