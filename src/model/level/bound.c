/* One request to a cache with Belady's bound (belady.c), where attempt.c has a cache with a
 * replacement policy. Misses deliver their data at once: there are no MSHRs, no merges, and no
 * requests that fail. Therefore the requests stay in their order. */
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

/* Processes the access, and sets *fetched to the sectors that it fetches: the missing sectors of a
 * read or an atomic, in whole fills. */
static uint32_t run_access(struct fth_belady *belady, const struct fth_shape *shape,
                           const struct fth_line_request *request, struct fth_belady_access *access,
                           uint64_t *fetched)
{
    const uint32_t index = fth_belady_access(belady, access);
    *fetched = access->sectors & ~access->hits;
    if (access->fills) {
        *fetched = fth_cache_level_fills(shape, request, *fetched) & ~access->hits;
        fth_belady_fill(belady, access, index, *fetched);
    }
    return index;
}

/* Finds the cause of a miss, which the access before fth_belady_access() has. */
static void note_access(const struct fth_cache_level *level, const struct fth_line_request *request,
                        const struct fth_belady_access *access, uint32_t index, uint64_t fetched,
                        bool present)
{
    const bool read = request->kind == FTH_TRACE_READ;
    const uint64_t missing = access->sectors & ~access->hits;
    if (!level->shadow)
        return;
    if (request->kind != FTH_TRACE_WRITE && missing)
        fth_shadow_miss(level->shadow, request->line, missing, access->allocates ? fetched : 0,
                        present, read ? &level->misses[request->instruction] : NULL);
    if (access->allocates || access->hits)
        fth_shadow_use(level->shadow, request->line, index,
                       access->allocates ? access->sectors | fetched : access->hits);
}

enum fth_attempt_outcome fth_cache_level_attempt_bound(struct fth_cache_level *level,
                                                       struct fth_port_access *access)
{
    struct fth_line_request *request = access->request;
    const struct fth_shape *shape = &level->shape;
    const struct fth_cache_location *location = access->location;
    struct fth_belady *belady = level->units[access->unit].belady;
    const bool write = request->kind == FTH_TRACE_WRITE;
    const bool evicts = write && shape->write == FTH_WRITE_EVICT;
    const bool allocates =
        !evicts && !(request->flags & shape->request_flags & FTH_LINE_REQUEST_NO_ALLOCATE);
    struct fth_belady_access found = {
        .line = location->line,
        .sectors = request->sectors,
        .fills = write || !allocates ? 0 : fth_cache_level_fills(shape, request, request->sectors),
        .set = location->set,
        .kind = request->kind,
        .allocates = allocates,
        .dirties = request->kind != FTH_TRACE_READ && shape->write == FTH_WRITE_BACK};
    const bool present =
        level->shadow && fth_belady_holds_line(belady, location->set, location->line);
    uint64_t fetched;
    const uint32_t index = run_access(belady, shape, request, &found, &fetched);
    note_access(level, request, &found, index, fetched, present);
    report_written_back(access->next_level, request->line, found.written_back);
    if (evicts)
        fth_cache_level_drop_line(level, access, access->location);
    request->missing = write ? request->sectors : fetched;
    const unsigned hits = count_bits(found.hits), misses = count_bits(request->sectors) - hits;
    fth_cache_level_add_counts(level, access, hits, misses);
    if (request->missing)
        fth_cache_level_report_miss(access,
                                    write ? request->sectors : request->sectors & ~found.hits);
    level->failed |= fth_belady_failed(belady);
    return misses ? FTH_ATTEMPT_MISS : FTH_ATTEMPT_HIT;
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
    uint64_t fetched;
    const uint32_t index = run_access(belady, &level->shape, access->request, &found, &fetched);
    if (level->shadow && fetched)
        fth_shadow_miss(level->shadow, access->request->line, fetched, fetched, present, NULL);
    if (level->shadow)
        fth_shadow_use(level->shadow, access->request->line, index, sectors);
    report_written_back(next_level, access->request->line, found.written_back);
    level->failed |= fth_belady_failed(belady);
    return fetched;
}
