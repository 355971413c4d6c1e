/* The state of the search for missing waits in a cluster, and how the instructions of its warps
 * change it. */
#include "ptx/hazard/hazard.h"

#include <stdlib.h>

void fth_hazards_fail(struct fth_hazards *hazards)
{
    hazards->has_failed = true;
    fth_ptx_run_no_memory(hazards->run);
}

void fth_hazards_prepare(struct fth_ptx_run *run)
{
    const struct fth_ptx_launch *launch = run->launch;
    if ((!launch->check_async && !launch->check_races) || launch->skip_data)
        return;
    for (size_t f = 0; f < run->module->function_count; f++) {
        const struct fth_ptx_function *function = &run->module->functions[f];
        for (size_t i = 0; i < function->code_count; i++) {
            run->has_async = run->has_async || function->code[i].async;
            run->has_matrix = run->has_matrix ||
                              (function == run->kernel && function->code[i].async == ASYNC_MATRIX);
        }
    }
    run->check_async = run->has_async || launch->check_races;
}

struct fth_hazards *fth_hazards_create(struct fth_ptx_cluster *cluster, uint64_t index)
{
    struct fth_ptx_run *run = cluster->worker->run;
    struct fth_hazards *hazards = calloc(1, sizeof *hazards);
    if (!hazards)
        return NULL;
    hazards->cluster = cluster;
    hazards->run = run;
    hazards->index = index;
    hazards->time = 1;
    hazards->warps_per_block = (uint32_t)((run->threads_per_block + LANES - 1) / LANES);
    const size_t warps = (size_t)hazards->warps_per_block * run->cluster_blocks;
    hazards->warps = calloc(warps, sizeof *hazards->warps);
    hazards->writes = calloc(run->cluster_blocks, sizeof *hazards->writes);
    bool ok = hazards->warps && hazards->writes;
    if (ok && run->launch->check_races) {
        hazards->races = fth_races_create(hazards);
        ok = hazards->races;
    }
    for (size_t i = 0; i < warps && ok && run->has_matrix; i++) {
        hazards->warps[i].registers =
            calloc(run->kernel->register_count + 1, sizeof *hazards->warps[i].registers);
        ok = hazards->warps[i].registers;
    }
    if (ok)
        return hazards;
    fth_hazards_destroy(hazards);
    return NULL;
}

/* ---- instructions ---- */

static bool begins_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* True if other threads can know, after this instruction, what the warp has done before. */
static bool informs(const struct fth_ptx_inst *inst)
{
    static const char *const starts[] = {"mbarrier.arrive",
                                         "mbarrier.complete_tx",
                                         "cp.async.mbarrier",
                                         "atom",
                                         "red",
                                         "fence",
                                         "membar",
                                         "st.release",
                                         "st.relaxed",
                                         "st.volatile",
                                         "st.mmio",
                                         "st.async",
                                         "multimem"};
    if (inst->control != K_NONE)
        return inst->control == K_BARRIER || inst->control == K_CLUSTER_BARRIER;
    for (size_t i = 0; i < FTH_COUNT(starts); i++)
        if (inst->opcode[0] == starts[i][0] && begins_with(inst->opcode, starts[i]))
            return true;
    return false;
}

/* fence.proxy.async: the async proxy sees all writes that the warp knows of. Those of other warps
 * are known if the other warp has informed anyone after them. */
static void fence_proxies(struct fth_hazards *hazards, const struct fth_ptx_warp *warp)
{
    const size_t warps = (size_t)hazards->warps_per_block * hazards->run->cluster_blocks;
    for (size_t i = 0; i < warps; i++)
        if (hazards->warps[i].released > hazards->warps[i].fenced)
            hazards->warps[i].fenced = hazards->warps[i].released;
    hazard_warp(hazards, warp)->fenced = ++hazards->time;
}

void fth_hazard_instruction(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst,
                            uint32_t lanes)
{
    struct fth_hazards *hazards = warp->block->cluster->hazards;
    if (!lanes || hazards->has_failed)
        return;
    if (hazards->races)
        fth_race_instruction(hazards->races, warp, inst, lanes);
    if (!hazards->run->has_async)
        return;
    hazards->fresh_count = 0; /* accesses of an instruction that did not issue an operation */
    if (informs(inst)) {
        hazard_warp(hazards, warp)->released = ++hazards->time;
        fth_hazard_end_local(hazards, warp);
        if (begins_with(inst->opcode, "fence.proxy.async") &&
            !begins_with(inst->opcode, "fence.proxy.async.global"))
            fence_proxies(hazards, warp);
    }
    if (hazards->run->has_matrix && warp->frame->depth == 0)
        fth_hazard_registers(hazards, warp, inst);
}

/* ---- copies ---- */

void fth_hazard_issue(struct fth_ptx_copy *copy)
{
    struct fth_hazards *hazards = copy->warp->block->cluster->hazards;
    if (!copy->lanes) {
        hazards->fresh_count = 0; /* a fault: the copy does not take place */
        return;
    }
    copy->operation = fth_hazard_create(hazards, copy->warp, copy->inst, 0);
    if (copy->operation)
        copy->operation->copy = copy;
}

void fth_hazard_complete(const struct fth_ptx_copy *copy, uint32_t lanes,
                         enum fth_ptx_completion completion)
{
    static const enum fth_hazard_state states[] = {[COMPLETION_FORCED] = HAZARD_GONE,
                                                   [COMPLETION_COUNTED] = HAZARD_COUNTED,
                                                   [COMPLETION_WAITED] = HAZARD_LOCAL};
    struct fth_hazard_operation *operation = copy->operation;
    if (!operation)
        return;
    if (!copy->lanes)
        operation->copy = NULL; /* the copy is freed */
    fth_hazard_advance(copy->warp->block->cluster->hazards, operation, lanes, false,
                       states[completion]);
}

void fth_hazard_count(const struct fth_ptx_copy *copy, int lane, const uint8_t *mbarrier)
{
    struct fth_hazards *hazards = copy->warp->block->cluster->hazards;
    for (struct fth_hazard_operation *at = hazards->operations; at; at = at->next) {
        const bool own = at == copy->operation;
        const bool before = copy->last && at->warp == copy->warp && at->inst->async == ASYNC_THREAD;
        for (size_t i = 0; i < at->range_count && (own || before); i++) {
            struct fth_hazard_range *range = &at->ranges[i];
            if (range->lane == lane && !range->mbarrier && (own || range->state == HAZARD_COUNTED))
                range->mbarrier = mbarrier;
        }
    }
}

void fth_hazard_wait(const struct fth_ptx_warp *warp, const uint8_t *mbarrier)
{
    struct fth_hazards *hazards = warp->block->cluster->hazards;
    fth_hazard_end_counted(hazards, mbarrier);
    if (hazards->races)
        fth_race_wait(hazards->races, warp, mbarrier);
}

void fth_hazard_read(const struct fth_ptx_copy *copy, uint32_t lanes)
{
    if (copy->operation)
        fth_hazard_advance(copy->warp->block->cluster->hazards, copy->operation, lanes, true,
                           HAZARD_LOCAL);
}

/* ---- the end ---- */

void fth_hazards_end(struct fth_hazards *hazards)
{
    if (hazards->races)
        fth_race_check_writes(hazards->races);
    for (struct fth_hazard_operation *at = hazards->operations; at; at = at->next) {
        const unsigned async = at->inst->async;
        if (async != ASYNC_COUNTED && async != ASYNC_BULK)
            continue;
        /* Shared memory ends with its block. */
        for (size_t i = 0; i < at->range_count; i++)
            if (at->ranges[i].state <= HAZARD_COUNTED && at->ranges[i].start < LOWEST_GLOBAL) {
                fth_hazard_report(hazards, HAZARD_EXIT, at->warp, at->inst, at->ranges[i].lane,
                                  NULL,
                                  "the block ends, and with it its shared memory, while the copy "
                                  "is in flight; missing in between: %s",
                                  fth_hazard_missing(at, &at->ranges[i]));
                break;
            }
    }
}
