/* Names an access by the variants of GPU descriptions (enum fth_variant): from its cache operator,
 * its hints, and the unit that performs it. */
#include "ptx/ptx.h"

/* Positions and widths of the parts of packed hints, see ptx.h. */
enum {
    L2_PRIORITY_SHIFT = 3,
    SIZE_SHIFT = 6,
    STRONG_SHIFT = 8,
    UNIT_SHIFT = 9,
    LOCAL_SHIFT = 11,
    FLOAT_SHIFT = 12,
    STAGED_SHIFT = 20,
    SPILL_SHIFT = 21,
    PRIORITY_MASK = 7,
    SIZE_MASK = 3,
    UNIT_MASK = 3,
    UNIT_COPY = 1,
    UNIT_OTHER = 2
};

uint32_t fth_ptx_pack_hints(const struct fth_ptx_access *access)
{
    const struct fth_ptx_hints *hints = &access->hints;
    const uint32_t unit = access->unit == FTH_UNIT_LANES       ? 0
                          : access->unit == FTH_UNIT_LANE_COPY ? UNIT_COPY
                                                               : UNIT_OTHER;
    const uint32_t size = hints->l2_bytes == 64    ? 1
                          : hints->l2_bytes == 128 ? 2
                          : hints->l2_bytes == 256 ? 3
                                                   : 0;
    return (uint32_t)hints->l1 | (uint32_t)hints->l2 << L2_PRIORITY_SHIFT | size << SIZE_SHIFT |
           (uint32_t)hints->strong << STRONG_SHIFT | unit << UNIT_SHIFT |
           (uint32_t)(access->space == FTH_SPACE_LOCAL) << LOCAL_SHIFT |
           (uint32_t)access->is_float << FLOAT_SHIFT | (uint32_t)access->is_staged << STAGED_SHIFT |
           (uint32_t)access->is_spill << SPILL_SHIFT;
}

static enum fth_variant load_variant(enum fth_ptx_cache_op cache_op, uint32_t priority, bool strong)
{
    static const enum fth_variant priorities[PRIORITY_MASK + 1] = {
        [FTH_PRIORITY_NORMAL] = FTH_VARIANT_LD_L1_NORMAL,
        [FTH_PRIORITY_UNCHANGED] = FTH_VARIANT_LD_L1_UNCHANGED,
        [FTH_PRIORITY_FIRST] = FTH_VARIANT_LD_L1_FIRST,
        [FTH_PRIORITY_LAST] = FTH_VARIANT_LD_L1_LAST,
        [FTH_PRIORITY_NO_ALLOCATE] = FTH_VARIANT_LD_L1_NO_ALLOCATE,
    };
    if (priority != FTH_PRIORITY_NONE)
        return priorities[priority];
    switch (cache_op) {
    case FTH_CACHE_CG: return FTH_VARIANT_LD_CG;
    case FTH_CACHE_CS: return FTH_VARIANT_LD_CS;
    case FTH_CACHE_LU: return FTH_VARIANT_LD_LU;
    case FTH_CACHE_CV: return FTH_VARIANT_LD_CV;
    case FTH_CACHE_VOLATILE: return FTH_VARIANT_LD_VOLATILE;
    case FTH_CACHE_NC: return FTH_VARIANT_LD_NC;
    default: return strong ? FTH_VARIANT_LD_RELAXED : FTH_VARIANT_LD_CA;
    }
}

static enum fth_variant store_variant(enum fth_ptx_cache_op cache_op, uint32_t priority,
                                      bool strong)
{
    /* Stores of the other priorities are not measured, and count as stores without one. */
    switch (priority) {
    case FTH_PRIORITY_FIRST: return FTH_VARIANT_ST_L1_FIRST;
    case FTH_PRIORITY_LAST: return FTH_VARIANT_ST_L1_LAST;
    case FTH_PRIORITY_NO_ALLOCATE: return FTH_VARIANT_ST_L1_NO_ALLOCATE;
    default: break;
    }
    switch (cache_op) {
    case FTH_CACHE_CG: return FTH_VARIANT_ST_CG;
    case FTH_CACHE_CS: return FTH_VARIANT_ST_CS;
    case FTH_CACHE_WT: return FTH_VARIANT_ST_WT;
    case FTH_CACHE_VOLATILE: return FTH_VARIANT_ST_VOLATILE;
    default: return strong ? FTH_VARIANT_ST_RELAXED : FTH_VARIANT_ST_WB;
    }
}

struct fth_ptx_variants fth_ptx_variants_of(enum fth_ptx_access_kind kind,
                                            enum fth_ptx_cache_op cache_op, uint32_t packed_hints)
{
    static const enum fth_variant
        sizes[] = {FTH_VARIANT_NONE, FTH_VARIANT_LD_L2_64B, FTH_VARIANT_LD_L2_128B,
                   FTH_VARIANT_LD_L2_256B},
        copy_sizes[] = {FTH_VARIANT_NONE, FTH_VARIANT_CP_L2_64B, FTH_VARIANT_CP_L2_128B,
                        FTH_VARIANT_CP_L2_256B},
        policies[PRIORITY_MASK + 1] = {[FTH_PRIORITY_NORMAL] = FTH_VARIANT_LD_L2_NORMAL,
                                       [FTH_PRIORITY_UNCHANGED] = FTH_VARIANT_LD_L2_UNCHANGED,
                                       [FTH_PRIORITY_FIRST] = FTH_VARIANT_LD_L2_FIRST,
                                       [FTH_PRIORITY_LAST] = FTH_VARIANT_LD_L2_LAST},
        store_policies[PRIORITY_MASK + 1] = {[FTH_PRIORITY_NORMAL] = FTH_VARIANT_ST_L2_NORMAL,
                                             [FTH_PRIORITY_FIRST] = FTH_VARIANT_ST_L2_FIRST,
                                             [FTH_PRIORITY_LAST] = FTH_VARIANT_ST_L2_LAST};
    const uint32_t l1 = packed_hints & PRIORITY_MASK,
                   l2 = packed_hints >> L2_PRIORITY_SHIFT & PRIORITY_MASK,
                   size = packed_hints >> SIZE_SHIFT & SIZE_MASK,
                   unit = packed_hints >> UNIT_SHIFT & UNIT_MASK;
    const bool strong = packed_hints >> STRONG_SHIFT & 1;
    struct fth_ptx_variants variants = {.base = FTH_VARIANT_NONE};
    if (unit >= UNIT_OTHER || kind == FTH_ACCESS_ATOMIC || packed_hints >> LOCAL_SHIFT & 1)
        return variants;
    if (kind == FTH_ACCESS_WRITE) {
        variants.base = variants.other = store_variant(cache_op, l1, strong);
        variants.policy = store_policies[l2];
        return variants;
    }
    variants.base = variants.other = load_variant(cache_op, l1, strong);
    variants.size = variants.other_size = sizes[size];
    variants.policy = policies[l2];
    if (unit == UNIT_COPY) {
        variants.base = cache_op == FTH_CACHE_CG ? FTH_VARIANT_CP_CG : FTH_VARIANT_CP_CA;
        variants.size = copy_sizes[size];
    }
    return variants;
}
