/* Fast path of banks.c for LRU caches with narrow sets: reads that hit or miss while no miss of
 * their line is in flight, and writes of bytes that the cache holds. The results are the same.
 *
 * What these requests need of the cache is in local variables, and the counts of consecutive
 * requests of one instruction are added up before they are stored. */
#include "model/level/cache_level.h"

/* Counts of consecutive requests of one instruction. */
struct run_counts {
    uint64_t key; /* the instruction, and its kind from bit 32 on */
    uint64_t requests, sectors, hits, fetched;
};

static FTH_INLINE uint64_t key_of(const struct fth_line_request *request)
{
    return (uint64_t)request->kind << 32 | request->instruction;
}

static FTH_INLINE void flush(struct run_counts *run, struct fth_model_counts *counts,
                             const struct fth_next_level *next_level)
{
    const uint32_t instruction = (uint32_t)run->key, kind = (uint32_t)(run->key >> 32);
    counts[instruction].requests[kind] += run->requests;
    counts[instruction].sectors[kind] += run->sectors;
    counts[instruction].hits[kind] += run->hits;
    if (run->fetched)
        next_level->fetched(next_level->context, instruction, run->fetched);
    *run = (struct run_counts){.key = run->key};
}

bool fth_cache_level_is_narrow(const struct fth_cache_level *level,
                               const struct fth_next_level *next_level)
{
    const struct fth_cache *cache = level->units[0].cache;
    return cache->narrow_sets && cache->distances && cache->uniform_ways && !cache->priorities &&
           !next_level->changed && (next_level->fetched || !next_level->miss);
}

/* Returns the slot of a line, or FTH_NO_SLOT: fth_lookup_find() without the other kinds of sets.
 * `both`: the set has more than 8 ways. */
static FTH_INLINE uint32_t find_slot(const struct fth_cache *cache,
                                     const struct fth_narrow_set *narrow, uint32_t first,
                                     uint64_t line, bool both)
{
    const uint64_t ones = 0x0101010101010101u, key = fth_lookup_hash(line, 8) * ones;
    for (uint32_t half = 0; half < (both ? 2u : 1u); half++) {
        const uint64_t differ = narrow->tags[half] ^ key;
        for (uint64_t found = (differ - ones) & ~differ & ones << 7; found; found &= found - 1) {
            const uint32_t slot = first + 8 * half + (uint32_t)__builtin_ctzll(found) / 8;
            if (fth_line_of(cache, slot)->number == line)
                return slot;
        }
    }
    return FTH_NO_SLOT;
}

/* A request at its place in the plan. */
struct narrow_access {
    struct fth_line_request *request;
    struct fth_cache *cache;
    struct fth_mshr *mshr;
    struct fth_narrow_set *narrow;
    struct fth_cache_location location;
    uint32_t first; /* slot of the set */
    unsigned sectors;
};

/* Processes a read; false: it has no simple form. */
static FTH_INLINE bool read_narrow(const struct fth_bank_group *group, struct narrow_access *access,
                                   uint64_t step, struct run_counts *run)
{
    struct fth_cache_level *level = group->level;
    struct fth_line_request *request = access->request;
    uint64_t *profile = level->totals.profile[0];
    const uint32_t slot = access->location.slot;
    if (request->flags & level->shape.request_flags)
        return false;
    fth_mshr_step(access->mshr, step);
    if (fth_mshr_may_contain(access->mshr, request->line))
        return false;
    if (slot != FTH_NO_SLOT) {
        if (request->sectors & ~fth_line_of(access->cache, slot)->valid)
            return false;
        profile[fth_narrow_move_to_front(access->narrow, slot - access->first)] += access->sectors;
        run->hits += access->sectors;
        return true;
    }
    struct fth_cache_result result;
    if (fth_mshr_full(access->mshr))
        return false;
    request->missing = fth_cache_fill(access->cache, &access->location,
                                      fth_shape_fills(&level->shape, request->sectors), &result);
    fth_cache_level_report_eviction(group->next_level, &result);
    fth_cache_level_begin_miss(level, access->mshr, &(struct fth_port_access){.request = request});
    profile[level->totals.profile_size - 1] += access->sectors;
    if (group->next_level->fetched)
        run->fetched += (unsigned)__builtin_popcountll(request->missing);
    level->forwards = true;
    return true;
}

/* Processes a write; false: it has no simple form. */
static FTH_INLINE bool write_narrow(const struct fth_bank_group *group,
                                    const struct narrow_access *access, struct run_counts *run)
{
    struct fth_line_request *request = access->request;
    const uint32_t slot = access->location.slot;
    if (!group->writes_back || request->kind != FTH_TRACE_WRITE || !request->run_count ||
        slot == FTH_NO_SLOT || request->flags & FTH_LINE_REQUEST_L1_FLAGS ||
        !fth_cache_level_holds_bytes(access->cache, slot, request, group->runs + request->run))
        return false;
    const uint32_t distance = fth_narrow_move_to_front(access->narrow, slot - access->first);
    group->level->totals.profile[1][distance] += access->sectors;
    *fth_dirty_of(access->cache, slot) |= request->sectors;
    request->missing = request->sectors; /* the whole write is forwarded */
    group->level->forwards = true;
    run->hits += access->sectors;
    return true;
}

FTH_CLONES
static size_t run_narrow(const struct fth_bank_group *shared, size_t at, size_t end,
                         const uint32_t *sets, uint64_t *last)
{
    const struct fth_bank_group group = *shared; /* a local copy, which no store can alias */
    const struct fth_unit *units = group.level->units;
    const uint32_t ways = units[0].cache->uniform_ways;
    struct run_counts run = {.key = 0};
    uint64_t end_of_steps = *last;
    for (; at < end; at++, sets++) {
        const struct fth_planned *item = &group.plan.items[at];
        struct fth_line_request *request = &group.requests[item->request];
        struct narrow_access access = {.request = request,
                                       .cache = units[item->unit].cache,
                                       .mshr = units[item->unit].mshr,
                                       .location = {group.plan.lines[at], *sets, FTH_NO_SLOT},
                                       .first = *sets * ways,
                                       .sectors = (unsigned)__builtin_popcountll(request->sectors)};
        const uint64_t step = group.start + item->step;
        access.narrow = &access.cache->narrow_sets[*sets];
        access.location.slot =
            find_slot(access.cache, access.narrow, access.first, access.location.line, ways > 8);
        if (key_of(request) != run.key) {
            flush(&run, group.counts, group.next_level);
            run.key = key_of(request);
        }
        if (request->kind == FTH_TRACE_READ ? !read_narrow(&group, &access, step, &run)
                                            : !write_narrow(&group, &access, &run))
            break;
        run.requests++;
        run.sectors += access.sectors;
        end_of_steps = step + 1 > end_of_steps ? step + 1 : end_of_steps;
    }
    flush(&run, group.counts, group.next_level);
    *last = end_of_steps;
    return at;
}

size_t fth_cache_level_run_narrow(const struct fth_bank_group *group, size_t at, size_t end,
                                  const uint32_t *sets, uint64_t *last)
{
    return run_narrow(group, at, end, sets, last);
}
