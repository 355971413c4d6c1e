/* The instructions by which the lanes of a warp exchange data: shuffles, votes, matches and
 * reductions. Also checks the operands of barriers, which barrier.c executes. */
#include "ptx/execute/execute.h"

/* ---- shuffles ---- */

/* shfl, with the modes up (1), down (2), bfly (3) and idx. Bits 0 to 4 of c are the limit for the
 * source lane. Bits 8 to 12 are a mask that divides the warp into segments (PTX ISA, shfl). */
static void run_shfl(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, uint32_t mask)
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

static void run_vote(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, uint32_t mask)
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

static void run_match(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, uint32_t mask)
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

static void run_redux(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, uint32_t mask)
{
    const uint64_t *ra = row(warp, inst->s[0]);
    uint32_t total = (uint32_t)ra[first_lane(mask)];
    bool is_signed = fth_ptx_type_is_signed((enum fth_ptx_type)inst->type);
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

static void run_activemask(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst,
                           uint32_t mask)
{
    uint64_t *rd = out_row(warp, inst->d[0]);
    FOR_LANES(mask, rd[lane] = mask;);
}

/* elect: the lowest lane of the members is the leader. */
static void run_elect(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, uint32_t mask)
{
    const int leader = first_lane(mask);
    if (inst->d[0] >= 0) {
        uint64_t *rd = out_row(warp, inst->d[0]);
        FOR_LANES(mask, rd[lane] = (uint64_t)leader;);
    }
    set_predicate(warp, (int32_t)inst->predicate2, mask, 1u << leader);
}

/* ---- selection of handlers ---- */

/* Checks a .sync instruction with `count` sources, which the member mask follows. False if it has
 * no .sync or another number of sources. */
static bool select_sync(struct fth_ptx_inst *inst, int count)
{
    inst->control = K_CONVERGE;
    inst->target = (uint32_t)count;
    return inst->flags & F_SYNC && has_sources(inst, count + 1);
}

/* Old PTX has no .sync. Its instructions have no member mask; the active lanes take part. */
static bool select_optional_sync(struct fth_ptx_inst *inst, int count)
{
    return inst->flags & F_SYNC ? select_sync(inst, count) : has_sources(inst, count);
}

static bool select_barrier(struct fth_ptx_inst *inst)
{
    if (inst->mode == 1) { /* bar.warp.sync */
        bool ok = select_sync(inst, 0);
        inst->control = K_WARP_SYNC;
        return ok;
    }
    if (inst->mode == 2) {                                        /* barrier.cluster */
        const uint32_t flags = inst->flags & ~(uint32_t)F_STRONG; /* .release, .acquire, .relaxed */
        inst->control = K_CLUSTER_BARRIER;
        return (flags == F_ARRIVE || flags == F_WAIT) && inst->s[0] == NO_REGISTER &&
               inst->predicate == UINT32_MAX;
    }
    inst->control = K_BARRIER;
    uint32_t known = F_SYNC | F_ARRIVE | F_RED;
    if (inst->flags & ~known || (!has_sources(inst, 1) && !has_sources(inst, 2)) ||
        !(inst->flags & F_RED) != (inst->predicate == UINT32_MAX))
        return false;
    if (inst->flags & F_RED)
        return inst->boolean != B_NONE &&
               (inst->result_is_predicate ? inst->boolean != B_POPC && inst->boolean != B_XOR
                                          : inst->boolean == B_POPC && inst->d[0] >= 0);
    return inst->flags & F_ARRIVE ? inst->s[1] != NO_REGISTER : true;
}

bool fth_ptx_select_warp(struct fth_ptx_inst *inst, const char *base)
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
               fth_ptx_type_bytes((enum fth_ptx_type)inst->type) == 4 &&
               !fth_ptx_type_is_float((enum fth_ptx_type)inst->type) && select_sync(inst, 1);
    }
    if (strcmp(base, "elect") == 0) {
        inst->run = run_elect;
        return inst->predicate2 != UINT32_MAX && !inst->result_is_predicate && select_sync(inst, 0);
    }
    if (strcmp(base, "activemask") == 0) {
        inst->run = run_activemask;
        return has_operands(inst, 0);
    }
    if (strcmp(base, "bar") == 0 || strcmp(base, "barrier") == 0)
        return select_barrier(inst);
    return false;
}
