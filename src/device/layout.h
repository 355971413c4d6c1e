/* Where the chains of experiments lie in a GPU's memory. Chains with the same stride and order are
 * one: a walk over the first half of a long chain needs no chain of its own. So memory is kept from
 * request to request, and built once. */
#ifndef FTH_LAYOUT_H
#define FTH_LAYOUT_H

#include "device/machine.h"

/* Elements from `start` on, `count` of them, that have been built. The way back is built only where
 * it is walked: elements that are written twice are kept longer by some caches. */
struct fth_built {
    uint64_t start, count;
    bool both_ways;
};

struct fth_region {
    unsigned array;
    bool texels; /* indices of 32 bits for a texture; pointers otherwise */
    uint64_t stride, step;
    uint64_t count;  /* of a chain that is not in memory order, which has one; 0 otherwise */
    uint64_t memory; /* what was allocated; 0: nothing */
    bool huge;       /* lies in the memory that all such regions share, one at a time */
    uint64_t address, bytes;
    uint64_t texture; /* handle; 0: none */
    struct fth_built *built;
    size_t built_count, built_capacity;
};

struct fth_layout {
    const struct fth_machine_ops *ops;
    void *machine;
    struct fth_machine_module *module;
    struct fth_region *regions;
    size_t count, capacity;
    uint64_t huge, huge_bytes; /* memory of the huge regions: to allocate it takes long */
};
/* Forgets and frees all memory. */
void fth_layout_clear(struct fth_layout *layout);
void fth_layout_fini(struct fth_layout *layout);
/* Memory for the chain, with room from its array's start to its end, and for so many bytes at
 * least; FTH_NO_MEMORY where there is none. */
FTH_MUST_USE enum fth_status fth_layout_reserve(struct fth_layout *layout, enum fth_path path,
                                                const struct fth_chain *chain, uint64_t min_bytes,
                                                struct fth_error *error);
/* Queues the launches that build the chain, where it is not there yet, and tells where it begins:
 * an address or, for a texture, an index with the handle. Reserve first, for all chains of a
 * launch. */
FTH_MUST_USE enum fth_status fth_layout_build(struct fth_layout *layout, enum fth_path path,
                                              const struct fth_chain *chain, bool both_ways,
                                              uint64_t *begin, uint64_t *texture,
                                              struct fth_error *error);

/* The room in front of the chain's array, or 0. */
uint64_t fth_layout_front(struct fth_layout *layout, enum fth_path path,
                          const struct fth_chain *chain);
/* The memory of the chain's array, which has been reserved. */
uint64_t fth_layout_address(struct fth_layout *layout, enum fth_path path,
                            const struct fth_chain *chain);

#endif
