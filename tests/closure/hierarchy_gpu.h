/* Random descriptions of devices whose caches are measured along a hierarchy: AMD-like and other
 * GPUs, and CPUs. */
#ifndef FTH_HIERARCHY_GPU_H
#define FTH_HIERARCHY_GPU_H

#include "gpu/gpu.h"

/* Returns a valid description, which the caller owns. Equal seeds give equal descriptions. The
 * remainder of the seed by 4 is the kind of the device: */
enum hierarchy_kind {
    AMD_COMPUTE,  /* vector L1, scalar L1, LDS, L2s of groups, perhaps an L3 */
    AMD_GRAPHICS, /* the same with an L1 of groups between vector L1 and L2, and an L3 */
    OTHER_GPU,    /* L1, constant L1, shared memory, L2 */
    CPU,          /* L1 and L2 of each core, perhaps an L3, and often a coarse clock */
    HIERARCHY_KINDS
};
struct fth_gpu *hierarchy_gpu(uint64_t seed);
/* Whether every size, line and latency can be found: all caches replace the least recently used
 * line, their sets follow from the address without a hash, and the clock counts single cycles. */
bool hierarchy_is_regular(const struct fth_gpu *gpu);
/* Adds noise: one cycle of jitter, and one load in 1,000 takes ten times as long. */
void make_hierarchy_noisy(struct fth_gpu *gpu, uint64_t seed);

#endif
