/* Caches and TLBs of a simulated GPU: their complete parameters, from a description, and which SMs
 * share an instance (sim_shape.c). */
#ifndef FTH_SIM_SHAPE_H
#define FTH_SIM_SHAPE_H

#include "cache/cache.h"
#include "gpu/gpu.h"

/* The caches that SMs look up before the L2. */
enum fth_sim_element {
    FTH_SIM_L1,
    FTH_SIM_TEXTURE,
    FTH_SIM_READONLY,
    FTH_SIM_CONSTANT_L1,
    FTH_SIM_CONSTANT_L15,
    FTH_SIM_INSTRUCTION_L0,
    FTH_SIM_INSTRUCTION_L1,
    FTH_SIM_INSTRUCTION_L15,
    FTH_SIM_OUTER_L1, /* `l1` of a description that also has `vector_l1`: it is behind that */
    FTH_SIM_ELEMENTS
};

/* Which SMs share an instance: none, those of a GPC, consecutive ones (sms_per_instance), all. */
enum fth_sim_scope { FTH_SIM_SCOPE_SM, FTH_SIM_SCOPE_GPC, FTH_SIM_SCOPE_GROUP, FTH_SIM_SCOPE_GPU };

/* The complete parameters of one cache or TLB array. For a TLB, a line is a page. */
struct fth_sim_shape {
    uint64_t size_bytes, line_bytes, sector_bytes;
    uint64_t fill_bytes; /* amount that a miss fetches, at least one sector */
    uint64_t sets, ways;
    const uint64_t *set_ways; /* [sets]; NULL: every set has `ways` ways */
    const char *index, *policy;
    const double *way_weights; /* NULL unless the policy is "weighted" */
    size_t way_weight_count;
    uint64_t rows, row_ways; /* 0 unless the policy is "clock" and the description has them */
    const struct fth_hash_masks *masks; /* NULL: `index` applies */
    enum fth_sim_scope scope;
    uint32_t sms_per_instance; /* SMs that share one instance, if the scope is a group */
    uint32_t per_sm;           /* instances per SM */
    enum fth_write write; /* what the cache itself does on a write; see also sim_path.c, sim_l2.c */
};

/* Elements that share storage. An attribute that one of them lacks is taken from the others. */
struct fth_sim_storage {
    const struct fth_gpu *gpu;
    const char *names[FTH_SIM_ELEMENTS + 1]; /* ends with NULL */
};

/* Return the first figure or attribute of this name; without one, `fallback` or NULL. */
double fth_sim_storage_number(const struct fth_sim_storage *storage, const char *attribute,
                              double fallback);
const struct fth_attribute *fth_sim_storage_attribute(const struct fth_sim_storage *storage,
                                                      const char *name);
/* Returns the largest power of two that is at most `number`, but at least `min`. cache/ supports
 * only lines, sectors and pages whose sizes are powers of two, as on all known GPUs. sim_limits.c
 * has refused numbers that would cause an overflow. */
uint64_t fth_sim_floor_power(double number, uint64_t min);
/* Copies a list of counts into the arena. NULL: memory is exhausted. */
const uint64_t *fth_sim_copy_counts(struct fth_arena *arena, const struct fth_attribute *list);
/* Fills in which of the `sms` SMs share an instance. Without a scope in the description, it
 * is a group if the description tells how large groups are, otherwise `fallback`. */
void fth_sim_fill_scope(struct fth_sim_shape *shape, const struct fth_sim_storage *storage,
                        enum fth_sim_scope fallback, uint32_t sms);
/* Chooses the numbers of sets and ways of an array of `lines` lines. Uses the first of these that
 * is known and matches the number of lines:
 *   1. `set_ways` of the description;
 *   2. `sets` and `ways` of the description, or the one of them that is known; if neither is known,
 *      as many sets as the bits of `index` can select;
 *   3. if default_ways is not 0: this number of ways, or, if it does not divide the lines, as many
 *      sets as the largest power of two that divides the lines;
 *   4. default_sets, halved until it divides the lines.
 * Returns false if memory is exhausted. */
bool fth_sim_fill_sets(struct fth_arena *arena, const struct fth_sim_storage *storage,
                       struct fth_sim_shape *shape, uint64_t lines, uint64_t default_sets,
                       uint64_t default_ways);
/* Sets the index function and the policy. An index function that selects another number of sets or
 * uses address bits within a line is replaced by "mod". The policy "weighted" is replaced by "lru"
 * if there is not one weight per way or if the sets differ in their ways. Returns false if memory
 * is exhausted. */
bool fth_sim_fill_policy(struct fth_arena *arena, const struct fth_sim_storage *storage,
                         struct fth_sim_shape *shape);
/* Fills in the whole shape. `size_bytes` is the size of one instance. If the description has no
 * line size, it is default_line, halved until it divides the size. Returns false if memory is
 * exhausted. */
bool fth_sim_fill_shape(struct fth_arena *arena, const struct fth_sim_storage *storage,
                        struct fth_sim_shape *shape, uint64_t size_bytes, double default_line,
                        uint64_t default_sets, uint64_t default_ways);
/* The index of the instance of a cache or TLB that an SM uses, and the number of instances on a GPU
 * with this many SMs. */
uint32_t fth_sim_owner(const struct fth_sim_shape *shape, uint32_t sm);
uint32_t fth_sim_owner_count(const struct fth_sim_shape *shape, uint32_t sms);
/* Creates a cache of the given shape. Each instance gets its own `seed`, which matters for random
 * policies only. */
FTH_MUST_USE enum fth_status fth_sim_cache_create(const struct fth_sim_shape *shape, uint64_t seed,
                                                  struct fth_cache **cache,
                                                  struct fth_error *error);

#endif
