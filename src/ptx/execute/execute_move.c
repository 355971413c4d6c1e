/* Moves, also of packed values, and selections. */
#include "ptx/execute/execute.h"

static void run_mov(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, uint32_t mask)
{
    const uint64_t *ra = row(warp, inst->s[0]);
    uint64_t *rd = out_row(warp, inst->d[0]);
    FOR_LANES(mask, rd[lane] = ra[lane];);
}

static void run_mov_predicate(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst,
                              uint32_t mask)
{
    /* The source is a predicate (UINT32_MAX: none), or a constant or special register, for which 0
     * is false. */
    uint32_t lanes = inst->predicate != UINT32_MAX             ? source_predicate(warp, inst)
                     : row(warp, inst->s[0])[first_lane(mask)] ? FULL_MASK
                                                               : 0;
    set_predicate(warp, inst->d[0], mask, lanes);
}

/* mov.b64 %rd, {%r1, %r2}, for any number of equal parts. run_unpack is the inverse. */
static void run_pack(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, uint32_t mask)
{
    uint64_t *rd = out_row(warp, inst->d[0]);
    unsigned bits = 8 * fth_ptx_type_bytes((enum fth_ptx_type)inst->type) / inst->vector;
    uint64_t part_mask = ((uint64_t)1 << bits) - 1; /* bits: at most 32 */
    uint64_t packed_row[LANES] = {0};
    for (unsigned i = 0; i < inst->vector; i++) {
        const uint64_t *ra = row(warp, inst->s[i]);
        FOR_LANES(mask, packed_row[lane] |= (ra[lane] & part_mask) << (bits * i););
    }
    FOR_LANES(mask, rd[lane] = packed_row[lane];);
}

static void run_unpack(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, uint32_t mask)
{
    unsigned bits = 8 * fth_ptx_type_bytes((enum fth_ptx_type)inst->type) / inst->vector;
    uint64_t part_mask = ((uint64_t)1 << bits) - 1; /* bits: at most 32 */
    uint64_t whole[LANES];
    memcpy(whole, row(warp, inst->s[0]), sizeof whole);
    for (unsigned i = 0; i < inst->vector; i++) {
        if (inst->d[i] < 0)
            continue; /* "_" (NO_REGISTER): not stored */
        uint64_t *rd = out_row(warp, inst->d[i]);
        FOR_LANES(mask, rd[lane] = whole[lane] >> (bits * i) & part_mask;);
    }
}

static void run_selp(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, uint32_t mask)
{
    const uint64_t *ra = row(warp, inst->s[0]), *rb = row(warp, inst->s[1]);
    uint64_t *rd = out_row(warp, inst->d[0]);
    uint32_t lanes = source_predicate(warp, inst);
    FOR_LANES(mask, rd[lane] = lanes >> lane & 1 ? ra[lane] : rb[lane];);
}

/* slct: a if c is not negative, otherwise b. For a float c, -0 counts as 0, a NaN as negative. With
 * .ftz, a subnormal c (its exponent bits are 0) counts as 0. */
static void run_slct(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, uint32_t mask)
{
    const uint64_t *ra = row(warp, inst->s[0]), *rb = row(warp, inst->s[1]);
    const uint64_t *rc = row(warp, inst->s[2]);
    uint64_t *rd = out_row(warp, inst->d[0]);
    FOR_LANES(mask, {
        float c = as_float(rc[lane]);
        if (inst->flags & F_FTZ && (rc[lane] & 0x7f800000) == 0)
            c = 0;
        bool first = inst->type2 == T_S32 ? (int32_t)rc[lane] >= 0 : c >= 0;
        rd[lane] = first ? ra[lane] : rb[lane];
    });
}

/* ---- selection of handlers ---- */

static bool select_mov(struct fth_ptx_inst *inst)
{
    if (inst->type == T_PRED) {
        inst->run = run_mov_predicate;
        /* The source is either a predicate register (inst->predicate; UINT32_MAX: none), or a
         * constant or special register, which is the same for all lanes. */
        bool uniform = inst->s[0] != NO_REGISTER;
        return inst->result_is_predicate && (inst->predicate != UINT32_MAX) != uniform &&
               inst->s[1] == NO_REGISTER;
    }
    if (inst->result_is_predicate || inst->flags)
        return false;
    /* The braces of a mov that packs or unpacks hold `vector` parts. When it unpacks, a
     * result can be "_", which is NO_REGISTER, so `results` is used only when it packs. */
    unsigned bytes = fth_ptx_type_bytes((enum fth_ptx_type)inst->type), sources = 0, results = 0;
    while (sources < FTH_COUNT(inst->s) && inst->s[sources] != NO_REGISTER)
        sources++;
    while (results < FTH_COUNT(inst->d) && inst->d[results] != NO_REGISTER)
        results++;
    bool divisible = inst->vector > 1 && bytes % inst->vector == 0;
    if (inst->vector > 1 && sources > 1) {
        inst->run = run_pack;
        return divisible && sources == inst->vector && results == 1;
    }
    if (inst->vector > 1) {
        inst->run = run_unpack;
        return divisible && sources == 1 && inst->vector <= FTH_COUNT(inst->d);
    }
    inst->run = run_mov;
    return has_operands(inst, 1);
}

bool fth_ptx_select_move(struct fth_ptx_inst *inst, const char *base)
{
    if (strcmp(base, "mov") == 0)
        return select_mov(inst);
    if (strcmp(base, "selp") == 0) {
        inst->run = run_selp;
        return has_operands(inst, 2) && inst->predicate != UINT32_MAX /* none */;
    }
    if (strcmp(base, "slct") == 0) {
        inst->run = run_slct;
        return has_operands(inst, 3) && (inst->type2 == T_S32 || inst->type2 == T_F32);
    }
    return false;
}
