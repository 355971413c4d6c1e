/* The variants of loads, stores, copies and prefetches whose effect on the caches a description can
 * have. */
#include "gpu/gpu.h"

#include <string.h>

const char *const fth_variant_names[FTH_VARIANTS + 1] = {
    [FTH_VARIANT_NONE] = "none",
    [FTH_VARIANT_LD_CA] = "ld.ca",
    [FTH_VARIANT_LD_CG] = "ld.cg",
    [FTH_VARIANT_LD_CS] = "ld.cs",
    [FTH_VARIANT_LD_LU] = "ld.lu",
    [FTH_VARIANT_LD_CV] = "ld.cv",
    [FTH_VARIANT_LD_VOLATILE] = "ld.volatile",
    [FTH_VARIANT_LD_RELAXED] = "ld.relaxed",
    [FTH_VARIANT_LD_NC] = "ld.nc",
    [FTH_VARIANT_LD_L2_64B] = "ld.L2::64B",
    [FTH_VARIANT_LD_L2_128B] = "ld.L2::128B",
    [FTH_VARIANT_LD_L2_256B] = "ld.L2::256B",
    [FTH_VARIANT_LD_L1_NORMAL] = "ld.L1::evict_normal",
    [FTH_VARIANT_LD_L1_UNCHANGED] = "ld.L1::evict_unchanged",
    [FTH_VARIANT_LD_L1_FIRST] = "ld.L1::evict_first",
    [FTH_VARIANT_LD_L1_LAST] = "ld.L1::evict_last",
    [FTH_VARIANT_LD_L1_NO_ALLOCATE] = "ld.L1::no_allocate",
    [FTH_VARIANT_LD_L2_NORMAL] = "ld.L2::evict_normal",
    [FTH_VARIANT_LD_L2_UNCHANGED] = "ld.L2::evict_unchanged",
    [FTH_VARIANT_LD_L2_FIRST] = "ld.L2::evict_first",
    [FTH_VARIANT_LD_L2_LAST] = "ld.L2::evict_last",
    [FTH_VARIANT_PREFETCH_L1] = "prefetch.L1",
    [FTH_VARIANT_PREFETCH_L2] = "prefetch.L2",
    [FTH_VARIANT_PREFETCH_L2_NORMAL] = "prefetch.L2::evict_normal",
    [FTH_VARIANT_PREFETCH_L2_LAST] = "prefetch.L2::evict_last",
    [FTH_VARIANT_ST_WB] = "st.wb",
    [FTH_VARIANT_ST_CG] = "st.cg",
    [FTH_VARIANT_ST_CS] = "st.cs",
    [FTH_VARIANT_ST_WT] = "st.wt",
    [FTH_VARIANT_ST_VOLATILE] = "st.volatile",
    [FTH_VARIANT_ST_RELAXED] = "st.relaxed",
    [FTH_VARIANT_ST_L1_FIRST] = "st.L1::evict_first",
    [FTH_VARIANT_ST_L1_LAST] = "st.L1::evict_last",
    [FTH_VARIANT_ST_L1_NO_ALLOCATE] = "st.L1::no_allocate",
    [FTH_VARIANT_ST_L2_NORMAL] = "st.L2::evict_normal",
    [FTH_VARIANT_ST_L2_FIRST] = "st.L2::evict_first",
    [FTH_VARIANT_CP_CA] = "cp.async.ca",
    [FTH_VARIANT_CP_CG] = "cp.async.cg",
    [FTH_VARIANT_CP_L2_64B] = "cp.async.L2::64B",
    [FTH_VARIANT_CP_L2_128B] = "cp.async.L2::128B",
    [FTH_VARIANT_CP_L2_256B] = "cp.async.L2::256B",
    [FTH_VARIANT_ST_L2_LAST] = "st.L2::evict_last",
    [FTH_VARIANTS] = NULL};

bool fth_variant_find(const char *name, size_t size, enum fth_variant *variant)
{
    for (enum fth_variant i = FTH_VARIANT_NONE; i < FTH_VARIANTS; i++)
        if (strlen(fth_variant_names[i]) == size && memcmp(fth_variant_names[i], name, size) == 0) {
            *variant = i;
            return true;
        }
    return false;
}
