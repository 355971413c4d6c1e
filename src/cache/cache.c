/* Creates a cache from its configuration: checks the configuration, allocates and clears. */
#include "cache/cache.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Maximum number of lines. 2^26 lines of 32 bytes are 2 GiB, forty times the largest L2. The limit
 * also ensures that slot numbers and hash table indices fit in 32 bits. */
#define MAX_SLOTS ((uint64_t)1 << 26)
#define MIN_LINE_BYTES 4 /* ensures that no line has the number FTH_NO_LINE */
/* One terabyte. Larger lines (or pages of a TLB) are assumed to be a mistake. */
#define MAX_LINE_BYTES ((uint64_t)1 << 40)
/* Maximum line size for which a mask of written bytes is kept. The largest lines of GPUs have 256
 * bytes. */
#define MAX_WRITTEN_LINE_BYTES 4096
#define MAX_SECTORS 64 /* bits of a sector mask */
/* The unit of the host's caches on x86-64 and most AArch64. */
#define HOST_LINE_BYTES 64

static const struct fth_write_policy *const write_policies[] = {
    [FTH_WRITE_EVICT] = &fth_write_evict,
    [FTH_WRITE_THROUGH] = &fth_write_through,
    [FTH_WRITE_BACK] = &fth_write_back,
};

FTH_PRINTF(3, 4)
static enum fth_status refuse(struct fth_error *error, const char *member, const char *cause, ...)
{
    char text[sizeof error->cause];
    va_list arguments;
    va_start(arguments, cause);
    fth_vformat(text, sizeof text, cause, arguments);
    va_end(arguments);
    return fth_fail(error, FTH_INVALID, "build a cache", member, "%s", text);
}

static unsigned log2_of(uint64_t power)
{
    unsigned log = 0;
    while (power >>= 1)
        log++;
    return log;
}

static enum fth_status check_line(const struct fth_cache_config *config, struct fth_error *error)
{
    uint64_t line = config->line_bytes, sector = config->sector_bytes;
    if (line & (line - 1))
        return refuse(error, "line_bytes", "%llu is not a power of two", (unsigned long long)line);
    if (line < MIN_LINE_BYTES || line > MAX_LINE_BYTES)
        return refuse(error, "line_bytes", "%llu is not between %d and %llu",
                      (unsigned long long)line, MIN_LINE_BYTES, (unsigned long long)MAX_LINE_BYTES);
    if (sector && line % sector)
        return refuse(error, "sector_bytes", "%llu does not divide a line of %llu bytes",
                      (unsigned long long)sector, (unsigned long long)line);
    if (sector && line / sector > MAX_SECTORS)
        return refuse(error, "sector_bytes",
                      "%llu divides a line of %llu bytes into more than %d sectors",
                      (unsigned long long)sector, (unsigned long long)line, MAX_SECTORS);
    if ((unsigned)config->write >= FTH_COUNT(write_policies))
        return refuse(error, "write", "%d is not a write policy", (int)config->write);
    if (write_policies[config->write]->keeps_bytes && line > MAX_WRITTEN_LINE_BYTES)
        return refuse(error, "write",
                      "this policy cannot handle lines of %llu bytes, only up to %d",
                      (unsigned long long)line, MAX_WRITTEN_LINE_BYTES);
    return FTH_OK;
}

static uint64_t ways_of(const struct fth_cache_config *config, uint64_t set)
{
    return config->set_ways ? config->set_ways[set] : config->ways;
}

static uint64_t copies_of(const struct fth_cache_config *config)
{
    return config->copies ? config->copies : 1;
}

static enum fth_status check_sets(const struct fth_cache_config *config, struct fth_error *error)
{
    if (config->sets < 1 || config->sets > MAX_SLOTS)
        return refuse(error, "sets", "%llu is not between 1 and %llu",
                      (unsigned long long)config->sets, (unsigned long long)MAX_SLOTS);
    uint64_t slots = 0;
    for (uint64_t set = 0; set < config->sets; set++) {
        uint64_t ways = ways_of(config, set);
        if (ways < 1)
            return refuse(error, config->set_ways ? "set_ways" : "ways", "set %llu has no ways",
                          (unsigned long long)set);
        if (ways > MAX_SLOTS - slots)
            return refuse(error, config->set_ways ? "set_ways" : "ways",
                          "more than %llu lines in all sets", (unsigned long long)MAX_SLOTS);
        slots += ways;
    }
    return slots && copies_of(config) > MAX_SLOTS / slots
               ? refuse(error, "copies", "more than %llu lines in all copies",
                        (unsigned long long)MAX_SLOTS)
               : FTH_OK;
}

static enum fth_status check_masks(const struct fth_cache_config *config, struct fth_error *error)
{
    const struct fth_hash_masks *masks = config->masks;
    if (!masks)
        return FTH_OK;
    if (masks->set_count > FTH_MAX_HASH_MASKS || masks->row_count > FTH_MAX_HASH_MASKS)
        return refuse(error, "masks", "more than %d masks", FTH_MAX_HASH_MASKS);
    if ((uint64_t)1 << masks->set_count != config->sets)
        return refuse(error, "masks", "%zu masks do not select one of %llu sets", masks->set_count,
                      (unsigned long long)config->sets);
    for (size_t i = 0; i < masks->set_count + masks->row_count; i++) {
        const uint64_t mask =
            i < masks->set_count ? masks->set[i] : masks->row[i - masks->set_count];
        if (mask & (config->line_bytes - 1))
            return refuse(error, "masks", "mask %llu has bits inside a line of %llu bytes",
                          (unsigned long long)mask, (unsigned long long)config->line_bytes);
    }
    return FTH_OK;
}

static enum fth_status check_policy(const struct fth_cache_config *config,
                                    const struct fth_policy *policy, struct fth_error *error)
{
    if (config->way_weight_count && policy != &fth_policy_weighted)
        return refuse(error, "way_weights", "only allowed with policy weighted, not %s",
                      policy->name);
    if ((config->rows || config->row_ways) && policy != &fth_policy_clock)
        return refuse(error, config->rows ? "rows" : "row_ways",
                      "only allowed with policy clock, not %s", policy->name);
    if (copies_of(config) > 1 && policy != &fth_policy_clock)
        return refuse(error, "copies", "only allowed with policy clock, not %s", policy->name);
    if (config->distances && policy != &fth_policy_lru)
        return refuse(error, "distances", "only available with policy lru, not %s", policy->name);
    return FTH_OK;
}

/* Assigns slots to the sets; check_sets has limited their number. Returns false if memory is
 * insufficient. */
static bool lay_out(struct fth_cache *cache, const struct fth_cache_config *config)
{
    cache->copy_sets = (uint32_t)config->sets;
    cache->sets = (uint32_t)(config->sets * copies_of(config));
    cache->first = fth_arena_array(&cache->arena, (size_t)cache->sets + 1, sizeof *cache->first);
    cache->first_free = fth_arena_array(&cache->arena, cache->sets, sizeof *cache->first_free);
    if (!cache->first || !cache->first_free)
        return false;
    cache->min_ways = UINT32_MAX;
    for (uint32_t set = 0; set < cache->sets; set++) {
        uint32_t ways = (uint32_t)ways_of(config, set % cache->copy_sets);
        cache->first[set + 1] = cache->first[set] + ways;
        cache->min_ways = ways < cache->min_ways ? ways : cache->min_ways;
        cache->max_ways = ways > cache->max_ways ? ways : cache->max_ways;
    }
    cache->uniform_ways = cache->min_ways == cache->max_ways ? cache->max_ways : 0;
    cache->slots = cache->first[cache->sets];
    return true;
}

static void empty_slots(struct fth_cache *cache, uint32_t from, uint32_t to)
{
    for (uint32_t slot = from; slot < to; slot++) {
        fth_line_of(cache, slot)->number = FTH_NO_LINE;
        if (cache->extra_bytes)
            memset(fth_changed_of(cache, slot)->extra, 0, cache->extra_bytes);
    }
}

void *fth_cache_array(struct fth_cache *cache, size_t count, size_t size)
{
    if (size && count > (SIZE_MAX - HOST_LINE_BYTES) / size)
        return NULL;
    char *memory = fth_arena_alloc(&cache->arena, count * size + HOST_LINE_BYTES);
    const size_t rest = (uintptr_t)memory % HOST_LINE_BYTES;
    return memory ? memory + (rest ? HOST_LINE_BYTES - rest : 0) : NULL;
}

static bool allocate_slots(struct fth_cache *cache)
{
    const size_t bytes = cache->has_dirty ? sizeof(struct fth_changed_line) + cache->extra_bytes
                                          : sizeof(struct fth_line);
    while ((size_t)1 << cache->slot_shift < bytes)
        cache->slot_shift++;
    const size_t count = (size_t)cache->slots + FTH_NARROW_WAYS;
    cache->memory = fth_cache_array(cache, count, (size_t)1 << cache->slot_shift);
    if (cache->memory)
        empty_slots(cache, 0, cache->slots + FTH_NARROW_WAYS);
    return cache->memory != NULL;
}

static bool allocate(struct fth_cache *cache)
{
    struct fth_arena *arena = &cache->arena;
    size_t slots = cache->slots;
    cache->byte_words = (((size_t)1 << cache->line_shift) + 63) / 64;
    if (!allocate_slots(cache))
        return false;
    if (cache->write->keeps_bytes) {
        cache->partial_shift = cache->has_dirty ? cache->slot_shift : 0;
        cache->partial = cache->has_dirty ? &fth_changed_of(cache, 0)->partial
                                          : fth_arena_array(arena, slots, sizeof *cache->partial);
        cache->written = fth_arena_array(arena, slots, cache->byte_words * sizeof *cache->written);
        if (!cache->partial || !cache->written)
            return false;
    }
    if (cache->clock)
        return true;
    if (cache->max_ways > FTH_NARROW_WAYS) {
        cache->head_bits = fth_lookup_bits(cache->slots);
        cache->heads = fth_arena_array(arena, (size_t)1 << cache->head_bits, sizeof *cache->heads);
        cache->chain = fth_arena_array(arena, slots, sizeof *cache->chain);
        return cache->heads && cache->chain;
    }
    cache->narrow_sets = fth_cache_array(cache, cache->sets, sizeof *cache->narrow_sets);
    for (uint32_t set = 0; cache->narrow_sets && set < cache->sets; set++)
        cache->narrow_sets[set].first_free = cache->first[set];
    if (cache->distances)
        cache->used_sets = fth_arena_array(arena, cache->sets, sizeof *cache->used_sets);
    return cache->narrow_sets && (cache->used_sets || !cache->distances);
}

static enum fth_status init_index(struct fth_cache *cache, const struct fth_cache_config *config,
                                  struct fth_error *error)
{
    if (!config->masks)
        return fth_index_init(&cache->index, config->index ? config->index : "mod",
                              cache->line_shift, cache->first, cache->copy_sets, &cache->arena,
                              error);
    return fth_index_init_masks(&cache->index, config->masks, cache->line_shift, &cache->arena)
               ? FTH_OK
               : fth_no_memory(error, "build a cache", "masks");
}

/* Fills a cache that is all zeros. The configuration has been checked. */
static enum fth_status init_cache(struct fth_cache *cache, const struct fth_cache_config *config,
                                  const struct fth_policy *policy, struct fth_error *error)
{
    const uint64_t sector_bytes = config->sector_bytes ? config->sector_bytes : config->line_bytes;
    cache->policy = policy;
    cache->write = write_policies[config->write];
    cache->seed = config->seed;
    cache->distances = config->distances;
    cache->has_dirty = cache->write->keeps_dirty;
    cache->extra_bytes = cache->has_dirty ? config->extra_bytes : 0;
    cache->line_shift = log2_of(config->line_bytes);
    cache->sector_shift = log2_of(sector_bytes);
    if (!lay_out(cache, config))
        return fth_no_memory(error, "build a cache", NULL);
    FTH_TRY(init_index(cache, config, error));
    if (policy->lay_out)
        FTH_TRY(policy->lay_out(cache, config, error));
    if (!allocate(cache))
        return fth_no_memory(error, "build a cache", NULL);
    FTH_TRY(policy->init(cache, config, error));
    fth_cache_reset(cache);
    return FTH_OK;
}

enum fth_status fth_cache_create(const struct fth_cache_config *config, struct fth_cache **cache,
                                 struct fth_error *error)
{
    const struct fth_policy *policy = NULL;
    *cache = NULL;
    FTH_TRY(check_line(config, error));
    FTH_TRY(check_sets(config, error));
    FTH_TRY(check_masks(config, error));
    FTH_TRY(fth_policy_find(config->policy ? config->policy : "lru", &policy, error));
    FTH_TRY(check_policy(config, policy, error));
    struct fth_cache *made = calloc(1, sizeof *made);
    if (!made)
        return fth_no_memory(error, "build a cache", NULL);
    const enum fth_status status = init_cache(made, config, policy, error);
    if (status == FTH_OK)
        *cache = made;
    else
        fth_cache_destroy(made);
    return status;
}

void fth_cache_destroy(struct fth_cache *cache)
{
    if (!cache)
        return;
    fth_arena_fini(&cache->arena);
    free(cache);
}

static void clear_narrow_set(struct fth_cache *cache, uint32_t set)
{
    empty_slots(cache, cache->first[set], fth_set_used_end(cache, set));
    cache->narrow_sets[set].first_free = cache->first[set];
    cache->narrow_sets[set].order = cache->narrow_sets[set].count = 0;
}

void fth_cache_clear(struct fth_cache *cache)
{
    if (cache->used_sets) { /* a launch may use only a few of the sets of an L2 */
        const bool all = cache->used_set_count == cache->sets;
        for (uint32_t i = 0; i < cache->used_set_count; i++)
            clear_narrow_set(cache, all ? i : cache->used_sets[i]);
        cache->used_set_count = 0;
        return;
    }
    if (!cache->clock) {
        empty_slots(cache, 0, cache->slots);
        for (uint32_t set = 0; set < cache->sets; set++)
            *fth_first_free(cache, set) = cache->first[set];
        fth_lookup_clear(cache);
    }
    if (cache->policy->clear)
        cache->policy->clear(cache);
}

void fth_cache_reset(struct fth_cache *cache)
{
    fth_cache_clear(cache);
    if (cache->policy->reset)
        cache->policy->reset(cache);
}
