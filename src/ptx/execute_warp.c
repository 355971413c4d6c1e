/* Special registers, and the instructions by which the lanes of a warp exchange data: shuffles,
 * votes, matches and reductions. Also checks the operands of barriers, which flow.c executes. */
#include "ptx/execute.h"
#include "ptx/parser.h"

/* ---- special registers ---- */

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
    CLUSTERID_X,
    CLUSTERID_Y,
    CLUSTERID_Z,
    NCLUSTERID_X,
    NCLUSTERID_Y,
    NCLUSTERID_Z,
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
    {"%clusterid.x", CLUSTERID_X},
    {"%clusterid.y", CLUSTERID_Y},
    {"%clusterid.z", CLUSTERID_Z},
    {"%nclusterid.x", NCLUSTERID_X},
    {"%nclusterid.y", NCLUSTERID_Y},
    {"%nclusterid.z", NCLUSTERID_Z},
    /* Not part of PTX: addresses that are known only when the kernel runs. */
    {"%dynamic_shared", DYNAMIC_SHARED},
    {"%local_base", LOCAL_BASE},
};

/* Returns the value of enum special for a name of `size` bytes, or -1. */
int special_register(const char *name, size_t size)
{
    for (size_t i = 0; i < FTH_COUNT(specials); i++)
        if (strlen(specials[i].name) == size && memcmp(specials[i].name, name, size) == 0)
            return (int)specials[i].special;
    return -1;
}

/* %clock64 or, with `global`, %globaltimer. Without an observer that keeps time, both count the
 * instructions that the block has issued. */
static uint64_t read_clock(const struct warp *warp, bool global)
{
    const struct fth_ptx_observer *observer = warp->block->run->observer;
    if (!observer || !observer->clock)
        return warp->block->clock;
    return observer->clock(observer->user, &warp->issue.who, global);
}

/* The value of a special register that is the same for all lanes of a warp. */
static uint64_t uniform_special(const struct warp *warp, unsigned special)
{
    const struct block *block = warp->block;
    const struct run *run = block->run;
    switch (special) {
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

/* The value of a special register that differs between lanes. */
static uint64_t lane_special(const struct warp *warp, unsigned special, unsigned lane)
{
    const struct run *run = warp->block->run;
    const uint64_t thread = (uint64_t)warp->index * LANES + lane;
    const uint64_t below = ((uint64_t)1 << lane) - 1, self = (uint64_t)1 << lane;
    switch (special) {
    case TID_X: return thread % run->threads[0];
    case TID_Y: return thread / run->threads[0] % run->threads[1];
    case TID_Z: return thread / run->threads[0] / run->threads[1];
    case LANEMASK_EQ: return self;
    case LANEMASK_LT: return below;
    case LANEMASK_LE: return below | self;
    case LANEMASK_GE: return FULL_MASK & ~below;
    case LANEMASK_GT: return FULL_MASK & ~(below | self);
    default: return lane; /* LANEID */
    }
}

void run_special(struct warp *warp, const struct inst *inst, uint32_t mask)
{
    uint64_t *rd = out_row(warp, inst->d[0]);
    if (is_uniform(inst->mode)) {
        const uint64_t value = uniform_special(warp, inst->mode);
        FOR_LANES(mask, rd[lane] = value;);
    } else {
        FOR_LANES(mask, rd[lane] = lane_special(warp, inst->mode, (unsigned)lane););
    }
}

/* ---- shuffles ---- */

/* shfl, with the modes up (1), down (2), bfly (3) and idx. Bits 0 to 4 of c are the limit for the
 * source lane. Bits 8 to 12 are a mask that divides the warp into segments (PTX ISA, shfl). */
static void run_shfl(struct warp *warp, const struct inst *inst, uint32_t mask)
{
    uint64_t values[LANES];
    memcpy(values, row(warp, inst->s[0]), sizeof values);
    const uint64_t *rb = row(warp, inst->s[1]), *rc = row(warp, inst->s[2]);
    uint32_t inside = 0;
    uint64_t result[LANES];
    FOR_LANES(mask, {
        int b = (int)(rb[lane] & 31), c = (int)(rc[lane] & 31);
        int segment = (int)(rc[lane] >> 8 & 31);
        int last = (lane & segment) | (c & ~segment), first = lane & segment;
        int from = inst->mode == 1   ? lane - b
                   : inst->mode == 2 ? lane + b
                   : inst->mode == 3 ? lane ^ b
                                     : first | (b & ~segment);
        bool within = inst->mode == 1 ? from >= last : from <= last;
        inside |= (uint32_t)within << lane;
        result[lane] = (uint32_t)values[within ? from : lane];
    });
    if (inst->d[0] >= 0) {
        uint64_t *rd = out_row(warp, inst->d[0]);
        FOR_LANES(mask, rd[lane] = result[lane];);
    }
    if (inst->predicate2 != UINT32_MAX)
        set_predicate(warp, (int32_t)inst->predicate2, mask, inside);
}

/* ---- votes, matches, reductions ---- */

static void run_vote(struct warp *warp, const struct inst *inst, uint32_t mask)
{
    uint32_t true_lanes = source_predicate(warp, inst) & mask;
    if (inst->flags & F_BALLOT) {
        uint64_t *rd = out_row(warp, inst->d[0]);
        FOR_LANES(mask, rd[lane] = true_lanes;);
        return;
    }
    bool result = inst->flags & F_ALL   ? true_lanes == mask
                  : inst->flags & F_ANY ? true_lanes != 0
                                        : true_lanes == mask || true_lanes == 0;
    set_predicate(warp, inst->d[0], mask, result ? FULL_MASK : 0);
}

static void run_match(struct warp *warp, const struct inst *inst, uint32_t mask)
{
    const uint64_t *ra = row(warp, inst->s[0]);
    uint64_t width = inst->type == T_B64 ? UINT64_MAX : UINT32_MAX, result[LANES];
    bool all = true;
    FOR_LANES(mask, {
        uint32_t same = 0;
        for (uint32_t other = mask; other; other &= other - 1)
            if ((ra[first_lane(other)] & width) == (ra[lane] & width))
                same |= 1u << first_lane(other);
        result[lane] = same;
        all = all && same == mask;
    });
    if (inst->flags & F_ALL && inst->predicate2 != UINT32_MAX)
        set_predicate(warp, (int32_t)inst->predicate2, mask, all ? FULL_MASK : 0);
    if (inst->d[0] < 0)
        return;
    uint64_t *rd = out_row(warp, inst->d[0]);
    FOR_LANES(mask, rd[lane] = inst->flags & F_ALL ? (all ? mask : 0) : result[lane];);
}

static void run_redux(struct warp *warp, const struct inst *inst, uint32_t mask)
{
    const uint64_t *ra = row(warp, inst->s[0]);
    uint32_t total = (uint32_t)ra[first_lane(mask)];
    bool is_signed = type_is_signed((enum type)inst->type);
    for (uint32_t left = mask & (mask - 1); left; left &= left - 1) {
        uint32_t value = (uint32_t)ra[first_lane(left)];
        bool less = is_signed ? (int32_t)value < (int32_t)total : value < total;
        switch (inst->atomic) {
        case A_ADD: total += value; break;
        case A_MIN: total = less ? value : total; break;
        case A_MAX: total = less ? total : value; break;
        case A_AND: total &= value; break;
        case A_OR: total |= value; break;
        default: total ^= value; break;
        }
    }
    uint64_t *rd = out_row(warp, inst->d[0]);
    FOR_LANES(mask, rd[lane] = total;);
}

static void run_activemask(struct warp *warp, const struct inst *inst, uint32_t mask)
{
    uint64_t *rd = out_row(warp, inst->d[0]);
    FOR_LANES(mask, rd[lane] = mask;);
}

/* ---- selection of handlers ---- */

/* True if the instruction has exactly `count` source registers. */
static bool has_sources(const struct inst *inst, int count)
{
    for (int i = 0; i < 6; i++)
        if ((inst->s[i] != NO_REGISTER) != (i < count))
            return false;
    return true;
}

/* Checks a .sync instruction with `count` sources, which the member mask follows. False if it has
 * no .sync or another number of sources. */
static bool select_sync(struct inst *inst, int count)
{
    inst->control = K_CONVERGE;
    inst->target = (uint32_t)count;
    return inst->flags & F_SYNC && has_sources(inst, count + 1);
}

/* Old PTX has no .sync. Its instructions have no member mask; the active lanes take part. */
static bool select_optional_sync(struct inst *inst, int count)
{
    return inst->flags & F_SYNC ? select_sync(inst, count) : has_sources(inst, count);
}

static bool select_barrier(struct inst *inst)
{
    if (inst->mode == 1) { /* bar.warp.sync */
        bool ok = select_sync(inst, 0);
        inst->control = K_WARP_SYNC;
        return ok;
    }
    if (inst->mode == 2) { /* barrier.cluster */
        inst->control = K_CLUSTER_BARRIER;
        return (inst->flags == F_ARRIVE || inst->flags == F_WAIT) && inst->s[0] == NO_REGISTER &&
               inst->predicate == UINT32_MAX;
    }
    inst->control = K_BARRIER;
    uint32_t known = F_SYNC | F_ARRIVE | F_RED;
    if (inst->flags & ~known || inst->s[0] == NO_REGISTER)
        return false;
    if (inst->flags & F_RED)
        return inst->predicate != UINT32_MAX && inst->boolean != B_NONE &&
               (inst->result_is_predicate ? inst->boolean != B_POPC && inst->boolean != B_XOR
                                          : inst->boolean == B_POPC && inst->d[0] >= 0);
    return inst->flags & F_ARRIVE ? inst->s[1] != NO_REGISTER : true;
}

bool select_warp(struct inst *inst, const char *base)
{
    if (strcmp(base, "shfl") == 0) {
        inst->run = run_shfl;
        return inst->mode && inst->type == T_B32 && !inst->result_is_predicate &&
               select_optional_sync(inst, 3);
    }
    if (strcmp(base, "vote") == 0) {
        inst->run = run_vote;
        bool ballot = inst->flags & F_BALLOT;
        return inst->predicate != UINT32_MAX && inst->result_is_predicate != ballot &&
               inst->d[0] >= 0 && select_optional_sync(inst, 0);
    }
    if (strcmp(base, "match") == 0) {
        inst->run = run_match;
        return !inst->result_is_predicate && (inst->type == T_B32 || inst->type == T_B64) &&
               inst->flags & (F_ANY | F_ALL) && select_sync(inst, 1);
    }
    if (strcmp(base, "redux") == 0) {
        inst->run = run_redux;
        return inst->d[0] >= 0 && !inst->result_is_predicate && inst->atomic != A_NONE &&
               type_bytes((enum type)inst->type) == 4 && !type_is_float((enum type)inst->type) &&
               select_sync(inst, 1);
    }
    if (strcmp(base, "activemask") == 0) {
        inst->run = run_activemask;
        return has_operands(inst, 0);
    }
    if (strcmp(base, "bar") == 0 || strcmp(base, "barrier") == 0)
        return select_barrier(inst);
    return false;
}
