/* The caches of the SMs. A cache is created when it is first used, so a GPU with many idle SMs
 * needs no more memory than a small one. A cache of an SM is emptied at its first use in each
 * launch. Elements that share storage are one array. */
#include "device/sim/sim.h"

#include <stdlib.h>

/* Creates the array with a reduced size: the number of sets stays the same, and each set has fewer
 * ways. If the lines do not divide evenly, the first sets have one more way. */
static enum fth_status create_smaller(const struct fth_sim_shape *shape, uint64_t size_bytes,
                                      uint64_t seed, struct fth_cache **cache,
                                      struct fth_error *error)
{
    uint64_t lines = size_bytes / shape->line_bytes, sets = shape->sets;
    struct fth_sim_shape smaller = *shape;
    smaller.ways = lines / sets;
    if (smaller.ways == 0) {
        smaller.sets = 1;
        smaller.ways = lines ? lines : 1;
        smaller.index = "mod";
        smaller.masks = NULL;
    }
    if (smaller.way_weights)
        smaller.way_weight_count = smaller.ways; /* the weights of the remaining ways */
    if (lines % smaller.sets == 0 || smaller.way_weights) {
        smaller.set_ways = NULL;
        return fth_sim_cache_create(&smaller, seed, cache, error);
    }
    uint64_t *set_ways = calloc(sets, sizeof *set_ways);
    if (!set_ways)
        return fth_no_memory(error, "simulate GPU", NULL);
    for (uint64_t set = 0; set < sets; set++)
        set_ways[set] = smaller.ways + (set < lines % sets);
    smaller.set_ways = set_ways;
    enum fth_status status = fth_sim_cache_create(&smaller, seed, cache, error);
    free(set_ways);
    return status;
}

enum fth_status fth_sim_caches_init(struct fth_sim_caches *caches, const struct fth_sim_plan *plan,
                                    struct fth_error *error)
{
    *caches = (struct fth_sim_caches){.plan = plan};
    for (unsigned i = 0; i < plan->array_count; i++) {
        const struct fth_sim_shape *shape = &plan->arrays[i];
        size_t count = (size_t)fth_sim_owner_count(shape, plan->sms) * shape->per_sm;
        caches->instances[i] = calloc(count, sizeof *caches->instances[i]);
        if (!caches->instances[i])
            return fth_no_memory(error, "simulate GPU", NULL);
        struct fth_sim_instance *first = &caches->instances[i][0];
        first->size_bytes = shape->size_bytes;
        /* Create the first instance now, so that an invalid shape is reported before any launch. */
        FTH_TRY(fth_sim_cache_create(shape, plan->seed, &first->cache, error));
    }
    return FTH_OK;
}

void fth_sim_caches_fini(struct fth_sim_caches *caches)
{
    for (unsigned i = 0; i < FTH_SIM_ELEMENTS; i++) {
        if (!caches->instances[i])
            continue;
        const struct fth_sim_shape *shape = &caches->plan->arrays[i];
        size_t count = (size_t)fth_sim_owner_count(shape, caches->plan->sms) * shape->per_sm;
        for (size_t k = 0; k < count; k++)
            fth_cache_destroy(caches->instances[i][k].cache);
        free(caches->instances[i]);
    }
}

void fth_sim_caches_launch(struct fth_sim_caches *caches, uint64_t l1_bytes)
{
    caches->launch++;
    caches->l1_bytes = l1_bytes;
}

/* Prepares an instance for its first use in a launch: creates it, changes its size, or empties it.
 * Returns NULL if memory is exhausted. */
static struct fth_cache *prepare(struct fth_sim_caches *caches, unsigned array,
                                 struct fth_sim_instance *instance)
{
    const struct fth_sim_plan *plan = caches->plan;
    const struct fth_sim_shape *shape = &plan->arrays[array];
    bool is_l1 = plan->levels[FTH_SIM_L1].present && plan->levels[FTH_SIM_L1].array == array;
    uint64_t size_bytes = is_l1 ? caches->l1_bytes : shape->size_bytes;
    uint64_t seed = plan->seed + (uint64_t)(instance - caches->instances[array]);
    instance->launch = caches->launch;
    if (instance->cache && instance->size_bytes == size_bytes) {
        if (shape->scope == FTH_SIM_SCOPE_SM || shape->scope == FTH_SIM_SCOPE_GROUP)
            fth_cache_clear(instance->cache);
        return instance->cache;
    }
    fth_cache_destroy(instance->cache);
    instance->cache = NULL;
    instance->size_bytes = size_bytes;
    enum fth_status status = size_bytes < shape->size_bytes
                                 ? create_smaller(shape, size_bytes, seed, &instance->cache, NULL)
                                 : fth_sim_cache_create(shape, seed, &instance->cache, NULL);
    return status == FTH_OK ? instance->cache : NULL;
}

void fth_sim_caches_empty(struct fth_sim_caches *caches)
{
    /* An instance of an earlier launch is emptied when it is used. */
    caches->launch++;
}

struct fth_cache *fth_sim_caches_get(struct fth_sim_caches *caches, enum fth_sim_element element,
                                     uint32_t sm, uint32_t warp)
{
    unsigned array = caches->plan->levels[element].array;
    const struct fth_sim_shape *shape = &caches->plan->arrays[array];
    size_t index = shape->per_sm == 1
                       ? fth_sim_owner(shape, sm)
                       : (size_t)fth_sim_owner(shape, sm) * shape->per_sm + warp % shape->per_sm;
    struct fth_sim_instance *instance = &caches->instances[array][index];
    if (instance->launch == caches->launch)
        return instance->cache;
    return prepare(caches, array, instance);
}

/* Reads bytes within one line. Returns true on a hit. On a miss, sets *from and *to to the address
 * range that has to be fetched. */
static bool read_line(struct fth_cache *cache, const struct fth_sim_shape *shape, uint64_t address,
                      uint64_t bytes, uint64_t *from, uint64_t *to)
{
    if (shape->fill_bytes > shape->sector_bytes &&
        fth_cache_probe(cache, address, bytes) != FTH_CACHE_HIT) {
        /* A miss fetches whole units of fill_bytes, but not beyond the end of the line. */
        uint64_t line = address & ~(shape->line_bytes - 1);
        uint64_t start = (address - line) / shape->fill_bytes * shape->fill_bytes;
        uint64_t end = (address + bytes - line + shape->fill_bytes - 1) / shape->fill_bytes *
                       shape->fill_bytes;
        address = line + start;
        bytes = (end < shape->line_bytes ? end : shape->line_bytes) - start;
    }
    struct fth_cache_result result;
    if (fth_cache_access(cache, address, bytes, FTH_CACHE_READ, &result) == FTH_CACHE_HIT)
        return true;
    uint64_t line = address & ~(shape->line_bytes - 1);
    unsigned first = (unsigned)__builtin_ctzll(result.fetch);
    unsigned last = 63 - (unsigned)__builtin_clzll(result.fetch);
    *from = line + first * shape->sector_bytes;
    *to = line + (last + 1) * shape->sector_bytes;
    return false;
}

bool fth_sim_cache_read(struct fth_cache *cache, const struct fth_sim_shape *shape,
                        uint64_t *address, uint64_t *bytes)
{
    uint64_t end = *address + *bytes, first = UINT64_MAX, last = 0;
    for (uint64_t at = *address; at < end;) {
        uint64_t next = (at & ~(shape->line_bytes - 1)) + shape->line_bytes, from, to;
        uint64_t stop = next < end ? next : end;
        if (!read_line(cache, shape, at, stop - at, &from, &to)) {
            first = first < from ? first : from;
            last = to;
        }
        at = stop;
    }
    if (first == UINT64_MAX)
        return true;
    *address = first;
    *bytes = last - first;
    return false;
}
