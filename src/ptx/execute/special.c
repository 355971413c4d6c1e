/* Special registers: names, and the values that a warp reads. */
#include "ptx/execute/execute.h"

enum special {
    TID_X,
    TID_Y,
    TID_Z,
    NTID_X,
    NTID_Y,
    NTID_Z,
    CTAID_X,
    CTAID_Y,
    CTAID_Z,
    NCTAID_X,
    NCTAID_Y,
    NCTAID_Z,
    LANEID,
    WARPID,
    NWARPID,
    SMID,
    NSMID,
    GRIDID,
    LANEMASK_EQ,
    LANEMASK_LE,
    LANEMASK_LT,
    LANEMASK_GE,
    LANEMASK_GT,
    CLOCK,
    CLOCK_HI,
    CLOCK64,
    GLOBALTIMER,
    GLOBALTIMER_LO,
    GLOBALTIMER_HI,
    DYNAMIC_SMEM_SIZE,
    TOTAL_SMEM_SIZE,
    WARP_SIZE,
    CLUSTER_CTAID_X,
    CLUSTER_CTAID_Y,
    CLUSTER_CTAID_Z,
    CLUSTER_NCTAID_X,
    CLUSTER_NCTAID_Y,
    CLUSTER_NCTAID_Z,
    CLUSTER_CTARANK,
    CLUSTER_NCTARANK,
    IS_EXPLICIT_CLUSTER,
    CLUSTERID_X,
    CLUSTERID_Y,
    CLUSTERID_Z,
    NCLUSTERID_X,
    NCLUSTERID_Y,
    NCLUSTERID_Z,
    ENVREG1,
    ENVREG2,
    DYNAMIC_SHARED,
    LOCAL_BASE
};

static const struct {
    const char *name;
    enum special special;
} specials[] = {
    {"%tid.x", TID_X},
    {"%tid.y", TID_Y},
    {"%tid.z", TID_Z},
    {"%ntid.x", NTID_X},
    {"%ntid.y", NTID_Y},
    {"%ntid.z", NTID_Z},
    {"%ctaid.x", CTAID_X},
    {"%ctaid.y", CTAID_Y},
    {"%ctaid.z", CTAID_Z},
    {"%nctaid.x", NCTAID_X},
    {"%nctaid.y", NCTAID_Y},
    {"%nctaid.z", NCTAID_Z},
    {"%laneid", LANEID},
    {"%warpid", WARPID},
    {"%nwarpid", NWARPID},
    {"%smid", SMID},
    {"%nsmid", NSMID},
    {"%gridid", GRIDID},
    {"%lanemask_eq", LANEMASK_EQ},
    {"%lanemask_le", LANEMASK_LE},
    {"%lanemask_lt", LANEMASK_LT},
    {"%lanemask_ge", LANEMASK_GE},
    {"%lanemask_gt", LANEMASK_GT},
    {"%clock", CLOCK},
    {"%clock_hi", CLOCK_HI},
    {"%clock64", CLOCK64},
    {"%globaltimer", GLOBALTIMER},
    {"%globaltimer_lo", GLOBALTIMER_LO},
    {"%globaltimer_hi", GLOBALTIMER_HI},
    {"%dynamic_smem_size", DYNAMIC_SMEM_SIZE},
    {"%total_smem_size", TOTAL_SMEM_SIZE},
    {"WARP_SZ", WARP_SIZE},
    {"%cluster_ctaid.x", CLUSTER_CTAID_X},
    {"%cluster_ctaid.y", CLUSTER_CTAID_Y},
    {"%cluster_ctaid.z", CLUSTER_CTAID_Z},
    {"%cluster_nctaid.x", CLUSTER_NCTAID_X},
    {"%cluster_nctaid.y", CLUSTER_NCTAID_Y},
    {"%cluster_nctaid.z", CLUSTER_NCTAID_Z},
    {"%cluster_ctarank", CLUSTER_CTARANK},
    {"%cluster_nctarank", CLUSTER_NCTARANK},
    {"%is_explicit_cluster", IS_EXPLICIT_CLUSTER},
    {"%clusterid.x", CLUSTERID_X},
    {"%clusterid.y", CLUSTERID_Y},
    {"%clusterid.z", CLUSTERID_Z},
    {"%nclusterid.x", NCLUSTERID_X},
    {"%nclusterid.y", NCLUSTERID_Y},
    {"%nclusterid.z", NCLUSTERID_Z},
    {"%envreg1", ENVREG1},
    {"%envreg2", ENVREG2},
    /* Not part of PTX: addresses that are known only when the kernel runs. */
    {"%dynamic_shared", DYNAMIC_SHARED},
    {"%local_base", LOCAL_BASE},
};

/* Returns the value of enum special for a name of `size` bytes, or -1. */
int fth_ptx_special_register(const char *name, size_t size)
{
    for (size_t i = 0; i < FTH_COUNT(specials); i++)
        if (strlen(specials[i].name) == size && memcmp(specials[i].name, name, size) == 0)
            return (int)specials[i].special;
    return -1;
}

/* %clock64 or, with `global`, %globaltimer. Without an observer that keeps time, both count the
 * instructions that the block has issued. */
static uint64_t read_clock(const struct fth_ptx_warp *warp, bool global)
{
    const struct fth_ptx_observer *observer = warp->block->run->observer;
    if (!observer || !observer->clock)
        return warp->block->clock;
    return observer->clock(observer->user, &warp->issue.who, global);
}

/* The value of a special register that is the same for all lanes of a warp. */
static uint64_t uniform_special(const struct fth_ptx_warp *warp, unsigned special)
{
    const struct fth_ptx_block *block = warp->block;
    const struct fth_ptx_run *run = block->run;
    switch (special) {
    case IS_EXPLICIT_CLUSTER: return run->cluster_is_explicit;
    case NTID_X: return run->threads[0];
    case NTID_Y: return run->threads[1];
    case NTID_Z: return run->threads[2];
    case CTAID_X: return block->xyz[0];
    case CTAID_Y: return block->xyz[1];
    case CTAID_Z: return block->xyz[2];
    case NCTAID_X: return run->grid[0];
    case NCTAID_Y: return run->grid[1];
    case NCTAID_Z: return run->grid[2];
    case WARPID: return warp->index;
    case NWARPID: return block->warp_count;
    case SMID: return block->sm;
    case NSMID: return run->launch->sms ? run->launch->sms : 1;
    case CLOCK: return (uint32_t)read_clock(warp, false);
    case CLOCK_HI: return read_clock(warp, false) >> 32;
    case CLOCK64: return read_clock(warp, false);
    case GLOBALTIMER: return read_clock(warp, true);
    case GLOBALTIMER_LO: return (uint32_t)read_clock(warp, true);
    case GLOBALTIMER_HI: return read_clock(warp, true) >> 32;
    case DYNAMIC_SMEM_SIZE: return run->launch->dynamic_shared_bytes;
    case TOTAL_SMEM_SIZE: return run->shared_bytes;
    case WARP_SIZE: return LANES;
    case CLUSTER_CTAID_X: return block->xyz[0] % run->cluster[0];
    case CLUSTER_CTAID_Y: return block->xyz[1] % run->cluster[1];
    case CLUSTER_CTAID_Z: return block->xyz[2] % run->cluster[2];
    case CLUSTER_NCTAID_X: return run->cluster[0];
    case CLUSTER_NCTAID_Y: return run->cluster[1];
    case CLUSTER_NCTAID_Z: return run->cluster[2];
    case CLUSTER_CTARANK: return block->rank;
    case CLUSTER_NCTARANK: return run->cluster_blocks;
    case CLUSTERID_X: return block->xyz[0] / run->cluster[0];
    case CLUSTERID_Y: return block->xyz[1] / run->cluster[1];
    case CLUSTERID_Z: return block->xyz[2] / run->cluster[2];
    case NCLUSTERID_X: return run->grid[0] / run->cluster[0];
    case NCLUSTERID_Y: return run->grid[1] / run->cluster[1];
    case NCLUSTERID_Z: return run->grid[2] / run->cluster[2];
    case ENVREG1: return run->launch->grid_workspace >> 32;
    case ENVREG2: return (uint32_t)run->launch->grid_workspace;
    case DYNAMIC_SHARED: return run->module->dynamic_shared;
    case LOCAL_BASE: return warp->frame->local_base;
    default: return 0; /* GRIDID */
    }
}

static bool is_uniform(unsigned special)
{
    return special > TID_Z && special != LANEID &&
           !(special >= LANEMASK_EQ && special <= LANEMASK_GT);
}

/* %tid: counts from the first lane on, which is faster than a division per lane. If the rows of the
 * block consist of whole warps, only x differs between the lanes. */
static void run_thread_index(const struct fth_ptx_warp *warp, unsigned special, uint32_t mask,
                             uint64_t *rd)
{
    const uint32_t *size = warp->block->run->threads, first = warp->index * LANES;
    uint32_t at[3] = {first % size[0], first / size[0] % size[1], first / size[0] / size[1]};
    if (size[0] % LANES == 0) {
        const uint64_t value = at[special - TID_X], step = special == TID_X;
        FOR_LANES(mask, rd[lane] = value + step * (uint64_t)lane;);
        return;
    }
    for (int lane = 0; lane < LANES; lane++) {
        if (mask >> lane & 1)
            rd[lane] = at[special - TID_X];
        if (++at[0] < size[0])
            continue;
        at[0] = 0;
        if (++at[1] < size[1])
            continue;
        at[1] = 0;
        at[2]++;
    }
}

/* The value of a special register that differs between lanes. */
static uint64_t lane_special(unsigned special, unsigned lane)
{
    const uint64_t below = ((uint64_t)1 << lane) - 1, self = (uint64_t)1 << lane;
    switch (special) {
    case LANEMASK_EQ: return self;
    case LANEMASK_LT: return below;
    case LANEMASK_LE: return below | self;
    case LANEMASK_GE: return FULL_MASK & ~below;
    case LANEMASK_GT: return FULL_MASK & ~(below | self);
    default: return lane; /* LANEID */
    }
}

void fth_ptx_run_special(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, uint32_t mask)
{
    uint64_t *rd = out_row(warp, inst->d[0]);
    if (is_uniform(inst->mode)) {
        const uint64_t value = uniform_special(warp, inst->mode);
        FOR_LANES(mask, rd[lane] = value;);
    } else if (inst->mode <= TID_Z) {
        run_thread_index(warp, inst->mode, mask, rd);
    } else {
        FOR_LANES(mask, rd[lane] = lane_special(inst->mode, (unsigned)lane););
    }
}

/* %tid in compact form. Returns false if the lanes of a row of `row_lanes` lanes belong to several
 * rows of threads, or the lanes of the warp to several planes. */
static bool find_linear_index(const struct fth_ptx_warp *warp, unsigned special,
                              struct fth_ptx_linear *value)
{
    const struct fth_ptx_run *run = warp->block->run;
    const uint32_t *size = run->threads, first = warp->index * LANES;
    const uint32_t rows = LANES / run->row_lanes, line = first / size[0], y = line % size[1];
    if ((size[0] % run->row_lanes && size[0] < run->threads_per_block) || y + rows > size[1])
        return false;
    *value = (struct fth_ptx_linear){.base = special == TID_X   ? first - line * size[0]
                                             : special == TID_Y ? y
                                                                : line / size[1],
                                     .step = special == TID_X,
                                     .row_step = special == TID_Y && rows > 1};
    return true;
}

bool fth_ptx_find_linear_special(const struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst,
                                 struct fth_ptx_linear *value)
{
    const uint32_t row_lanes = warp->block->run->row_lanes;
    if (inst->mode <= TID_Z)
        return find_linear_index(warp, inst->mode, value);
    *value = (struct fth_ptx_linear){0};
    if (inst->mode == LANEID) {
        value->step = 1;
        value->row_step = row_lanes < LANES ? row_lanes : 0;
        return true;
    }
    if (is_uniform(inst->mode))
        value->base = uniform_special(warp, inst->mode);
    return is_uniform(inst->mode);
}

bool fth_ptx_reads_dynamic_shared(const struct fth_ptx_inst *inst)
{
    return inst->run == fth_ptx_run_special && inst->mode == DYNAMIC_SHARED;
}
