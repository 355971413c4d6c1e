/* Checks each access against the asynchronous operations in flight.
 *
 * An access of ordinary instructions (the generic proxy) and one of bulk copies and wgmma (the
 * async proxy) to the same bytes of shared memory need a fence.proxy.async between them, besides a
 * barrier (PTX ISA, "Async proxy"). The check finds writes of ordinary instructions that the async
 * proxy reads without one: the fence of the writing warp, or that of another warp which executes it
 * after the writing warp has executed an instruction that can inform it. Copies of cp.async are not
 * checked: compilers leave out the fence after them. */
#include "ptx/hazard/hazard.h"

#include <stdlib.h>

const char *fth_hazard_missing(const struct fth_hazard_operation *operation,
                               const struct fth_hazard_range *range)
{
    if (range->state == HAZARD_LOCAL)
        return "a barrier after the wait";
    switch (operation->inst->async) {
    case ASYNC_THREAD: return "cp.async.wait_group or a wait for its mbarrier";
    case ASYNC_COUNTED: return "a wait for its mbarrier";
    case ASYNC_BULK:
        return range->kind == FTH_ACCESS_READ ? "cp.async.bulk.wait_group.read"
                                              : "cp.async.bulk.wait_group";
    default: return "wgmma.wait_group";
    }
}

/* True if an access of the warp must not be in any order with the range: unless both read, or both
 * are atomic. Copies of different warps to the same global memory are no race: compilers let
 * several warpgroups store the same result. */
static bool conflicts(const struct fth_hazard_operation *operation,
                      const struct fth_hazard_range *range, const struct fth_ptx_warp *warp,
                      const struct fth_ptx_inst *inst, const struct fth_hazard_range *access)
{
    if (range->start >= access->end || access->start >= range->end ||
        (range->kind == access->kind && range->kind != FTH_ACCESS_WRITE))
        return false;
    const bool own = operation->warp == warp;
    if (inst->async && range->kind == access->kind && access->start >= LOWEST_GLOBAL && !own)
        return false;
    return range->state != HAZARD_LOCAL || !own;
}

const struct fth_ptx_inst *fth_hazard_original(const struct fth_ptx_warp *warp,
                                               const struct fth_ptx_inst *inst)
{
    return &warp->frame->function->code[inst->index];
}

static void report_access(struct fth_hazards *hazards, const struct fth_ptx_warp *warp,
                          const struct fth_ptx_inst *inst, const struct fth_hazard_range *access,
                          const struct fth_hazard_operation *operation,
                          const struct fth_hazard_range *range)
{
    static const char *const kinds[] = {[FTH_ACCESS_READ] = "read",
                                        [FTH_ACCESS_WRITE] = "write",
                                        [FTH_ACCESS_ATOMIC] = "atomic access"};
    const bool shared = access->start < LOWEST_GLOBAL, reads = range->kind == FTH_ACCESS_READ;
    const char *done = range->state == HAZARD_LOCAL ? (reads ? "has read" : "has written")
                       : reads                      ? "may not have read yet"
                                                    : "may not have written yet";
    fth_hazard_report(
        hazards, HAZARD_ACCESS, warp, fth_hazard_original(warp, inst), access->lane,
        operation->inst,
        "%s%s of %llu bytes at %s address 0x%llx, which line %u (%s) %s; missing in between: %s",
        inst->async ? "asynchronous " : "", kinds[access->kind],
        (unsigned long long)(access->end - access->start), shared ? "shared" : "global",
        (unsigned long long)(shared ? access->start & UINT32_MAX : access->start),
        operation->inst->line, operation->inst->opcode, done, fth_hazard_missing(operation, range));
}

/* Compares an access with the operations in flight. */
static void check_operations(struct fth_hazards *hazards, const struct fth_ptx_warp *warp,
                             const struct fth_ptx_inst *inst, const struct fth_hazard_range *access)
{
    const struct fth_hazard_node *node = NULL;
    for (uint64_t unit = access->start / HAZARD_UNIT; unit * HAZARD_UNIT < access->end; unit++)
        while ((node = fth_hazard_find(hazards, unit, node))) {
            if (conflicts(node->operation, node->range, warp, inst, access))
                report_access(hazards, warp, inst, access, node->operation, node->range);
        }
}

/* ---- proxies ---- */

/* Returns the last write to a unit of shared memory, or NULL when out of memory. */
static struct fth_hazard_write *write_at(struct fth_hazards *hazards, uint64_t address)
{
    const uint64_t rank = address >> 32, unit = (address & UINT32_MAX) / HAZARD_UNIT;
    struct fth_hazard_write **writes = &hazards->writes[rank];
    if (!*writes)
        *writes = calloc(hazards->run->shared_bytes / HAZARD_UNIT + 1, sizeof **writes);
    if (!*writes) {
        fth_hazards_fail(hazards);
        return NULL;
    }
    return &(*writes)[unit];
}

static void note_write(struct fth_hazards *hazards, const struct fth_ptx_warp *warp,
                       const struct fth_ptx_inst *inst, const struct fth_hazard_range *access)
{
    for (uint64_t at = access->start / HAZARD_UNIT * HAZARD_UNIT; at < access->end;
         at += HAZARD_UNIT) {
        struct fth_hazard_write *write = write_at(hazards, at);
        if (!write)
            return;
        *write = (struct fth_hazard_write){
            .inst = fth_hazard_original(warp, inst),
            .time = hazards->time,
            .warp = (uint32_t)(hazard_warp(hazards, warp) - hazards->warps)};
    }
}

/* Looks for writes of ordinary instructions to what the async proxy reads. */
static void check_proxy(struct fth_hazards *hazards, const struct fth_ptx_warp *warp,
                        const struct fth_ptx_inst *inst, const struct fth_hazard_range *access)
{
    if (!hazards->writes[access->start >> 32])
        return;
    for (uint64_t at = access->start / HAZARD_UNIT * HAZARD_UNIT; at < access->end;
         at += HAZARD_UNIT) {
        const struct fth_hazard_write *write = write_at(hazards, at);
        if (write->inst && write->time >= hazards->warps[write->warp].fenced)
            fth_hazard_report(hazards, HAZARD_PROXY, warp, fth_hazard_original(warp, inst),
                              access->lane, write->inst,
                              "asynchronous read of %d bytes at shared address 0x%llx, which line "
                              "%u (%s) has written; missing in between: fence.proxy.async",
                              HAZARD_UNIT, (unsigned long long)(at & UINT32_MAX), write->inst->line,
                              write->inst->opcode);
    }
}

/* ---- accesses ---- */

static void check_access(struct fth_hazards *hazards, const struct fth_ptx_warp *warp,
                         const struct fth_ptx_inst *inst, const struct fth_hazard_range *access)
{
    const bool shared = access->start < LOWEST_GLOBAL;
    check_operations(hazards, warp, inst, access);
    if (inst->async > ASYNC_THREAD && shared && access->kind == FTH_ACCESS_READ)
        check_proxy(hazards, warp, inst, access);
    if (inst->async)
        fth_hazard_add_fresh(hazards, access);
    else if (shared && access->kind != FTH_ACCESS_READ && strncmp(inst->opcode, "mbarrier", 8) != 0)
        note_write(hazards, warp, inst, access);
}

void fth_hazard_access(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst,
                       const struct fth_ptx_lane_group *group, unsigned bytes,
                       enum fth_ptx_access_kind kind)
{
    struct fth_hazards *hazards = warp->block->cluster->hazards;
    if ((group->space != FTH_SPACE_SHARED && group->space != FTH_SPACE_GLOBAL) ||
        hazards->has_failed)
        return;
    if (hazards->races && !inst->async)
        fth_race_access(hazards->races, warp, inst, group, bytes, kind);
    if (!hazards->run->has_async)
        return;
    for (uint32_t left = group->mask; left; left &= left - 1) {
        const int lane = first_lane(left);
        const uint64_t start = group->space == FTH_SPACE_SHARED
                                   ? hazard_shared(group->block, group->addresses[lane])
                                   : group->addresses[lane];
        check_access(
            hazards, warp, inst,
            &(struct fth_hazard_range){.start = start,
                                       .end = start + bytes,
                                       .kind = (uint8_t)kind,
                                       /* The lanes of wgmma are parts of a matrix. */
                                       .lane = inst->async == ASYNC_MATRIX ? 0 : (uint8_t)lane});
    }
}

void fth_hazard_access_range(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, int lane,
                             const struct fth_ptx_block *block, uint64_t address, uint64_t bytes,
                             enum fth_ptx_access_kind kind)
{
    struct fth_hazards *hazards = warp->block->cluster->hazards;
    const uint64_t start = block ? hazard_shared(block, address) : address;
    if (bytes && !hazards->has_failed)
        check_access(hazards, warp, inst,
                     &(struct fth_hazard_range){.start = start,
                                                .end = start + bytes,
                                                .kind = (uint8_t)kind,
                                                .lane = (uint8_t)lane});
}
