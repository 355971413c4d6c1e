/* Addresses of memory accesses. address.c finds the host memory of each lane's access and reports
 * accesses to the observer. */
#ifndef FTH_PTX_ADDRESS_H
#define FTH_PTX_ADDRESS_H

#include "ptx/execute/execute.h"

/* Returns the space of a generic address. The only parameters with generic addresses are the
 * arguments of the kernel; this function returns FTH_SPACE_PARAM for them. Constant variables have
 * addresses in the range of global memory, so it returns FTH_SPACE_GLOBAL for them. */
static inline enum fth_ptx_space space_of(uint64_t address)
{
    return address - SHARED_WINDOW < WINDOW_BYTES  ? FTH_SPACE_SHARED
           : address - LOCAL_WINDOW < WINDOW_BYTES ? FTH_SPACE_LOCAL
           : address - PARAM_WINDOW < WINDOW_BYTES ? FTH_SPACE_PARAM
                                                   : FTH_SPACE_GLOBAL;
}

/* Returns the start of a space in the generic address space. */
static inline uint64_t window_of(unsigned space)
{
    return space == FTH_SPACE_SHARED || space == SPACE_CLUSTER   ? SHARED_WINDOW
           : space == FTH_SPACE_LOCAL                            ? LOCAL_WINDOW
           : space == FTH_SPACE_PARAM || space == SPACE_ARGUMENT ? PARAM_WINDOW
                                                                 : 0;
}

/* Returns the offset of a shared address from the start of the shared space. The address may be
 * generic. Only the low 32 bits of other addresses are used. */
static inline uint64_t shared_offset(uint64_t address)
{
    return space_of(address) == FTH_SPACE_SHARED ? address - SHARED_WINDOW : (uint32_t)address;
}

/* Returns the block of the cluster that a shared address belongs to, or NULL. The shared address
 * space of a cluster is divided into windows of CLUSTER_WINDOW bytes: window 0 is the warp's own
 * block, window r + 1 the block with rank r. */
static inline struct fth_ptx_block *block_at(const struct fth_ptx_warp *warp, uint64_t address)
{
    struct fth_ptx_cluster *cluster = warp->block->cluster;
    uint64_t window = address / CLUSTER_WINDOW;
    return window == 0 || cluster->count == 1 ? warp->block
           : window <= cluster->count         ? &cluster->blocks[window - 1]
                                              : NULL;
}

/* Returns the number of source operands after the address, which is s[0]. */
static inline int value_count(const struct fth_ptx_inst *inst)
{
    int count = 0;
    while (count < (int)FTH_COUNT(inst->s) - 1 && inst->s[1 + count] != NO_REGISTER)
        count++;
    return count;
}

/* The lanes of an access whose addresses are in the same space and, for shared memory, in the same
 * block. With generic or cluster addresses, the lanes of one access can belong to different spaces
 * or blocks. The access then consists of several groups, which are handled one after the other. */
struct fth_ptx_lane_group {
    uint64_t addresses[LANES]; /* within the space */
    uint8_t *host[LANES];      /* host addresses */
    unsigned space;
    struct fth_ptx_block *block; /* for shared memory: the block that it belongs to */
    uint32_t mask;               /* lanes of the group; the others have no entries above */
};

/* Resolves the lanes of *mask that belong to the same group as the first one, and removes them from
 * *mask. Each lane accesses `bytes` bytes, a power of two. `write` is also true for atomics.
 * Reports a fault and returns false if an address is invalid. */
bool fth_ptx_resolve_group(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst,
                           uint32_t *mask, unsigned bytes, bool write,
                           struct fth_ptx_lane_group *group);
/* The same for the addresses base[lane] + inst->offset. */
bool fth_ptx_resolve_addresses(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst,
                               const uint64_t *base, uint32_t *mask, unsigned bytes, bool write,
                               struct fth_ptx_lane_group *group);
/* Return the host address of a lane's read of global memory, or of the arguments of the kernel,
 * which are the same for all threads. Report a fault and return NULL if the read is outside of this
 * memory. */
const uint8_t *fth_ptx_resolve_global(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst,
                                      int lane, uint64_t address, unsigned bytes);
const uint8_t *fth_ptx_resolve_argument(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst,
                                        int lane, uint64_t address, unsigned bytes);
/* Returns the host address of a range of `bytes` bytes that one lane copies, in the global or
 * shared space (or, for FTH_SPACE_GENERIC, in the space of the address). For shared memory, *block
 * is the block that it belongs to, and *address becomes an offset into the memory of that block.
 * Reports a fault and returns NULL if the range is not aligned to 16 bytes or not inside of the
 * memory. */
uint8_t *fth_ptx_resolve_range(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, int lane,
                               unsigned space, uint64_t *address, uint64_t bytes, bool write,
                               struct fth_ptx_block **block);
/* Reports a range that one lane copies to the observer, as accesses of 16 bytes each, and to the
 * search for missing waits. `block` is the owner of shared memory, or NULL for global memory.
 * Returns false if the observer ends the launch. */
bool fth_ptx_notify_range(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, int lane,
                          struct fth_ptx_block *block, uint64_t address, uint64_t bytes,
                          enum fth_ptx_access_kind kind);
/* Reports the range only to the observer. */
bool fth_ptx_observe_range(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst,
                           struct fth_ptx_block *block, uint64_t address, uint64_t bytes,
                           enum fth_ptx_access_kind kind);
/* Reports a range that the copy engine copies between global and shared memory, without its
 * accesses. The function sets `who`. Returns false if the observer ends the launch. */
bool fth_ptx_notify_copied(struct fth_ptx_warp *warp, struct fth_ptx_range range);
/* Reports what the warp does with asynchronous copies. The same results. */
bool fth_ptx_notify_copies(struct fth_ptx_warp *warp, struct fth_ptx_copy_event event);
/* Makes an access that moves no data, to the memory of inst->space, which is global or shared
 * memory, at linear addresses to which inst->offset is added. Returns false, without any effect, if
 * the access must be checked lane by lane. */
bool fth_ptx_access_linear(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst,
                           struct fth_ptx_linear address, uint32_t mask);
/* Reports the access of a group to the observer and to the search for missing waits. Returns false
 * if the observer ends the launch. */
bool fth_ptx_notify_access(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst,
                           const struct fth_ptx_lane_group *group, unsigned bytes,
                           enum fth_ptx_access_kind kind);
/* The same for an access to a texture or surface. `texels` is NULL unless it is the first access of
 * its instruction. */
bool fth_ptx_notify_texels(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst,
                           const struct fth_ptx_lane_group *group, unsigned bytes,
                           enum fth_ptx_access_kind kind, const struct fth_ptx_texels *texels);
/* The same for the sources of cp.async, with the addresses that the lanes copy to. */
bool fth_ptx_notify_sources(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst,
                            const struct fth_ptx_lane_group *group, unsigned bytes,
                            const uint64_t *destinations);

#endif
