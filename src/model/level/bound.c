/* One request to a cache with Belady's bound (belady.c), where attempt.c has a cache with a
 * replacement policy. The number of MSHRs and their merges are not limited. So no request fails,
 * and all of them stay in their order. */
#include "model/level/cache_level.h"

static unsigned count_bits(uint64_t mask)
{
    return (unsigned)__builtin_popcountll(mask);
}

/* Reports the sectors that are written back. They can belong to other lines of the set. */
static void report_written_back(const struct fth_next_level *next_level, uint64_t address,
                                uint64_t written_back)
{
    if (written_back && next_level && next_level->evicted)
        next_level->evicted(next_level->context, address, written_back);
}

/* Notes the causes of the misses of an access, and what it uses. `present`: the cache could hold
 * the line before the access. */
static void note_access(const struct fth_cache_level *level, const struct fth_line_request *request,
                        const struct fth_belady_access *access, uint32_t index, bool present)
{
    struct fth_model_misses *misses =
        request->kind == FTH_TRACE_READ ? &level->misses[request->instruction] : NULL;
    const uint64_t missed = access->sectors & ~access->hits;
    const uint64_t fetched = access->allocates ? request->missing : 0;
    if (access->merges && !level->shape.merged_hits && misses)
        fth_shadow_miss_again(level->shadow, request->line, request->sectors, misses);
    if (missed && request->kind != FTH_TRACE_WRITE)
        fth_shadow_miss(level->shadow, request->line, missed, fetched, present, misses);
    if (access->allocates || access->hits)
        fth_shadow_use(level->shadow, request->line, index,
                       access->allocates ? access->sectors | fetched : access->hits);
}

/* A request whose sectors are all in flight. */
static enum fth_attempt_outcome merge(struct fth_cache_level *level,
                                      const struct fth_port_access *access)
{
    const unsigned sectors = count_bits(access->request->sectors);
    const bool hits = level->shape.merged_hits;
    access->counts->merges[access->request->kind] += sectors;
    fth_cache_level_add_counts(level, access, hits ? sectors : 0, hits ? 0 : sectors);
    return FTH_ATTEMPT_MERGED;
}

/* Counts the hits, forwards a write and fetches what a read or an atomic misses. */
static enum fth_attempt_outcome finish(struct fth_cache_level *level,
                                       const struct fth_port_access *access,
                                       const struct fth_belady_access *found)
{
    struct fth_line_request *request = access->request;
    const unsigned hits = count_bits(found->hits), misses = count_bits(request->sectors) - hits;
    fth_cache_level_add_counts(level, access, hits, misses);
    if (request->kind == FTH_TRACE_WRITE)
        fth_cache_level_report_miss(access, request->sectors);
    else if (misses && found->allocates)
        fth_cache_level_add_miss(level, level->units[access->unit].mshr, access,
                                 request->sectors & ~found->hits);
    else if (misses)
        fth_cache_level_report_miss(access, request->sectors & ~found->hits);
    return misses ? FTH_ATTEMPT_MISS : FTH_ATTEMPT_HIT;
}

enum fth_attempt_outcome fth_cache_level_attempt_bound(struct fth_cache_level *level,
                                                       struct fth_port_access *access)
{
    struct fth_line_request *request = access->request;
    const struct fth_shape *shape = &level->shape;
    const struct fth_unit *unit = &level->units[access->unit];
    const uint32_t set = access->location->set;
    const uint64_t line = access->location->line;
    const bool write = request->kind == FTH_TRACE_WRITE;
    const bool evicts = write && shape->write == FTH_WRITE_EVICT;
    struct fth_belady_access found = {
        .line = line, .sectors = request->sectors, .set = set, .kind = request->kind};
    const bool present = level->shadow && fth_belady_holds_line(unit->belady, set, line);
    found.merges =
        !write && fth_mshr_merge(unit->mshr, request->line, request->sectors, 0) == FTH_MERGE_DONE;
    found.allocates = !evicts && !found.merges &&
                      !(request->flags & shape->request_flags & FTH_LINE_REQUEST_NO_ALLOCATE);
    found.adds = request->kind != FTH_TRACE_READ && !evicts;
    found.dirties = request->kind != FTH_TRACE_READ && shape->write == FTH_WRITE_BACK;
    if (!write && found.allocates)
        found.fills = fth_cache_level_fills(shape, request, request->sectors);
    const uint32_t index = fth_belady_access(unit->belady, &found);
    const uint64_t missed = request->sectors & ~found.hits;
    request->missing = write ? request->sectors
                       : found.allocates
                           ? fth_cache_level_fills(shape, request, missed) & ~found.hits
                           : missed;
    if (level->shadow)
        note_access(level, request, &found, index, present);
    report_written_back(access->next_level, request->line, found.written_back);
    if (evicts)
        fth_cache_level_drop_line(level, access, access->location);
    level->failed |= fth_belady_failed(unit->belady);
    return found.merges ? merge(level, access) : finish(level, access, &found);
}

uint64_t fth_cache_level_read_bound(struct fth_cache_level *level,
                                    const struct fth_port_access *access,
                                    const struct fth_cache_location *location, uint64_t sectors,
                                    const struct fth_next_level *next_level)
{
    struct fth_belady *belady = level->units[access->unit].belady;
    struct fth_belady_access found = {.line = location->line,
                                      .sectors = sectors,
                                      .set = location->set,
                                      .kind = FTH_TRACE_READ,
                                      .allocates = true};
    const bool present =
        level->shadow && fth_belady_holds_line(belady, location->set, location->line);
    const uint32_t index = fth_belady_access(belady, &found);
    const uint64_t missing = sectors & ~found.hits;
    if (level->shadow && missing)
        fth_shadow_miss(level->shadow, access->request->line, missing, missing, present, NULL);
    if (level->shadow)
        fth_shadow_use(level->shadow, access->request->line, index, sectors);
    report_written_back(next_level, access->request->line, found.written_back);
    level->failed |= fth_belady_failed(belady);
    return missing;
}
