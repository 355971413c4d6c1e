/* Instructions that convert or examine addresses: cvta, isspacep, mapa and getctarank. */
#include "ptx/execute/address.h"

UNARY(run_cvta, uint64_t, a + window_of(inst->space))
UNARY(run_cvta_to, uint64_t, a - window_of(inst->space))

static void run_isspacep(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, uint32_t mask)
{
    const uint64_t *ra = row(warp, inst->s[0]);
    uint32_t lanes = 0;
    unsigned space = inst->space == SPACE_ARGUMENT  ? FTH_SPACE_PARAM
                     : inst->space == SPACE_CLUSTER ? FTH_SPACE_SHARED
                                                    : inst->space;
    FOR_LANES(mask, {
        bool holds = space_of(ra[lane]) == space;
        /* .shared is the memory of the warp's own block, .shared::cluster that of any block. */
        if (inst->space == FTH_SPACE_SHARED)
            holds = holds && block_at(warp, ra[lane] - SHARED_WINDOW) == warp->block;
        /* space_of does not distinguish constant from global memory; the allocation does. */
        if (space == FTH_SPACE_CONST || (space == FTH_SPACE_GLOBAL && holds)) {
            const struct fth_ptx_allocation *found =
                fth_ptx_find_allocation(warp->block->run->machine->memory, ra[lane]);
            holds = space == FTH_SPACE_CONST ? found && found->is_constant
                                             : !(found && found->is_constant);
        }
        lanes |= (uint32_t)holds << lane;
    });
    set_predicate(warp, inst->d[0], mask, lanes);
}

/* mapa: the corresponding shared address in another block of the cluster. */
static void run_mapa(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, uint32_t mask)
{
    const uint64_t *ra = row(warp, inst->s[0]), *rb = row(warp, inst->s[1]);
    const struct fth_ptx_cluster *cluster = warp->block->cluster;
    uint64_t *rd = out_row(warp, inst->d[0]);
    uint64_t base = inst->space == FTH_SPACE_GENERIC ? SHARED_WINDOW : 0;
    for (uint32_t left = mask; left; left &= left - 1) {
        int lane = first_lane(left);
        uint32_t rank = (uint32_t)rb[lane];
        if (rank >= cluster->count || (base && space_of(ra[lane]) != FTH_SPACE_SHARED)) {
            fth_ptx_warp_fault(warp, inst, lane,
                               "cannot map 0x%llx to block %u of a cluster of %u blocks",
                               (unsigned long long)ra[lane], rank, cluster->count);
            return;
        }
        uint64_t offset = shared_offset(ra[lane]);
        rd[lane] =
            base +
            (cluster->count == 1 ? offset : (rank + 1) * CLUSTER_WINDOW + offset % CLUSTER_WINDOW);
    }
}

/* getctarank: the rank of the block that a shared address belongs to. */
static void run_getctarank(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst,
                           uint32_t mask)
{
    const uint64_t *ra = row(warp, inst->s[0]);
    uint64_t *rd = out_row(warp, inst->d[0]);
    FOR_LANES(mask, {
        const struct fth_ptx_block *block = block_at(warp, shared_offset(ra[lane]));
        rd[lane] = block ? block->rank : UINT32_MAX;
    });
}

/* ---- selection of handlers ---- */

bool fth_ptx_select_address(struct fth_ptx_inst *inst, const char *base)
{
    if (strcmp(base, "cvta") == 0) {
        inst->run = inst->flags & F_TO ? run_cvta_to : run_cvta;
        return inst->space != FTH_SPACE_GENERIC && has_operands(inst, 1) &&
               !(inst->flags & ~(uint32_t)F_TO);
    }
    if (strcmp(base, "mapa") == 0 || strcmp(base, "getctarank") == 0) {
        bool maps = base[0] == 'm';
        inst->run = maps ? run_mapa : run_getctarank;
        return (inst->space == FTH_SPACE_GENERIC || inst->space == SPACE_CLUSTER) &&
               (inst->type == T_U64 || inst->type == T_U32) && inst->flags == 0 &&
               has_operands(inst, maps ? 2 : 1);
    }
    if (strcmp(base, "isspacep") == 0) {
        inst->run = run_isspacep;
        return inst->result_is_predicate && has_sources(inst, 1);
    }
    return false;
}
