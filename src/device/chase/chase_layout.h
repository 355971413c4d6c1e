/* The pointer chains of experiments in a GPU's memory: allocates memory for them and builds them by
 * a kernel. A chain in memory order contains all shorter chains with the same stride, so requests
 * for different lengths share one chain. Memory and chains are kept from request to request. */
#ifndef FTH_LAYOUT_H
#define FTH_LAYOUT_H

#include "device/runner.h"

/* A range of elements that have been built. The links to the previous element are written only if a
 * request walks the chain in reverse, because some caches keep elements that were written twice for
 * longer. */
struct fth_built_range {
    uint64_t start, count; /* offset of the first element in bytes, number of elements */
    bool with_back_links;
};

/* The memory of the chains that have the same array number, stride, step and seed. */
struct fth_region {
    unsigned array;
    bool is_texture; /* elements are 32-bit texel indices; otherwise 64-bit pointers */
    uint64_t stride, step, seed;
    uint64_t count;  /* elements of a chain that is not in memory order; otherwise 0 */
    uint64_t memory; /* the allocation; 0: none */
    bool huge;       /* uses the allocation that all huge regions share */
    /* Offsets of its chains modulo the stride, in bytes: at most two different ones are noted. If
     * must_not_repeat, elements of two chains could be in the same memory if memory repeats. */
    uint64_t phases[2];
    size_t phase_count;
    bool must_not_repeat;
    uint64_t address, bytes; /* of the array within the allocation */
    uint64_t texture;        /* handle; 0: none */
    struct fth_built_range *built;
    size_t built_count, built_capacity;
};

struct fth_layout {
    struct fth_runner *runner;
    struct fth_region *regions;
    size_t count, capacity;
    /* The allocation of the huge regions. They share it, because allocating that much memory takes
     * long. It holds the chain of one of them at a time. If huge_period is not 0, its memory
     * repeats with this period (fth_machine_ops.alloc_repeating). */
    uint64_t huge, huge_bytes, huge_period;
};
/* Frees the memory of all regions and forgets the regions. */
void fth_layout_clear(struct fth_layout *layout);
void fth_layout_fini(struct fth_layout *layout);
/* Finds the region of a chain, or adds one without memory. `*region` is its index, which stays
 * valid until fth_layout_clear. */
FTH_MUST_USE enum fth_status fth_layout_find(struct fth_layout *layout, bool is_texture,
                                             const struct fth_chain *chain, size_t *region,
                                             struct fth_error *error);
/* Ensures that the array of a region has at least `bytes`, and that it can hold a chain that begins
 * `start_bytes` after its start; the contents are lost if its memory has to be replaced.
 * FTH_UNAVAILABLE: the GPU has not enough free memory (fth_runner_alloc). */
FTH_MUST_USE enum fth_status fth_layout_reserve(struct fth_layout *layout, size_t region,
                                                uint64_t start_bytes, uint64_t bytes,
                                                struct fth_error *error);
/* Queues the launch that builds the chain in its region, unless it exists already. Call
 * fth_layout_reserve before, for all chains of a launch. */
FTH_MUST_USE enum fth_status fth_layout_build(struct fth_layout *layout, size_t region,
                                              const struct fth_chain *chain, bool with_back_links,
                                              struct fth_error *error);
/* Address of the header (FTH_HEADER_BYTES) in front of the array of a region, whose array number is
 * at least FTH_FIRST_HEADER_ARRAY. */
uint64_t fth_layout_header(const struct fth_layout *layout, size_t region);

#endif
