/* One attempt of one request at a port of a cache: determines which of its sectors are in the
 * cache, which are in flight and which must be fetched, and updates the cache accordingly. */
#include "model/level/cache_level.h"

#define NO_DISTANCE UINT32_MAX

static unsigned count_bits(uint64_t mask)
{
    return (unsigned)__builtin_popcountll(mask);
}

static struct fth_unit *unit_of(const struct fth_cache_level *level,
                                const struct fth_port_access *access)
{
    return &level->units[access->unit];
}

static uint64_t find_missing(const struct fth_cache_level *level,
                             const struct fth_port_access *access)
{
    return fth_cache_missing(unit_of(level, access)->cache, access->location,
                             access->request->sectors, access->runs,
                             access->runs ? access->request->run_count : 0);
}

uint64_t fth_cache_level_fills(const struct fth_shape *shape,
                               const struct fth_line_request *request, uint64_t missing)
{
    const unsigned number = (request->flags & shape->request_flags & FTH_LINE_REQUEST_L2_FLAGS) >>
                            FTH_LINE_REQUEST_FILL_SHIFT;
    if (!number)
        return fth_shape_fills(shape, missing);
    uint64_t bytes = UINT64_C(16) << number;
    bytes = bytes < shape->sector_bytes ? shape->sector_bytes : bytes;
    return fth_whole_fills(shape, bytes < shape->line_bytes ? bytes : shape->line_bytes, missing);
}

/* Accesses the line, allocates it if necessary, and fills the missing sectors in whole fills.
 * Returns the sectors that must be fetched. */
static uint64_t fill_line(const struct fth_cache_level *level, struct fth_port_access *access,
                          uint64_t missing)
{
    struct fth_cache_result result;
    const uint64_t fetched =
        fth_cache_fill(unit_of(level, access)->cache, access->location,
                       fth_cache_level_fills(&level->shape, access->request, missing), &result);
    access->distance = result.distance;
    fth_cache_level_report_eviction(access->next_level, &result);
    return fetched;
}

/* ---- causes of misses ---- */

/* Where a miss is counted by its cause; NULL: it is not, because the request is not a read. */
static struct fth_model_misses *misses_of(const struct fth_cache_level *level,
                                          const struct fth_line_request *request)
{
    return request->kind == FTH_TRACE_READ ? &level->misses[request->instruction] : NULL;
}

/* Notes that an access has used its line, if the cache holds it, and these of its sectors. */
static void note_use(const struct fth_cache_level *level, const struct fth_port_access *access,
                     uint64_t sectors)
{
    const struct fth_cache *cache = unit_of(level, access)->cache;
    const uint32_t slot = access->location->slot;
    if (level->shadow && slot != FTH_NO_SLOT)
        fth_shadow_use(level->shadow, access->request->line, slot,
                       fth_line_of(cache, slot)->valid & sectors);
}

/* Notes that a read misses sectors of a line, which is in the cache or not, and fetches some. */
static void note_miss(const struct fth_cache_level *level, const struct fth_port_access *access,
                      uint64_t missing, uint64_t fetched, bool present)
{
    if (level->shadow && missing)
        fth_shadow_miss(level->shadow, access->request->line, missing, fetched, present,
                        misses_of(level, access->request));
}

/* Notes that a read has merged with a miss and counts as another one. */
static void note_merged_miss(const struct fth_cache_level *level,
                             const struct fth_port_access *access)
{
    struct fth_line_request *request = access->request;
    if (level->shadow && request->kind == FTH_TRACE_READ)
        fth_shadow_miss_again(level->shadow, request->line, request->sectors,
                              misses_of(level, request));
}

/* ---- requests ---- */

/* A read whose sectors are all in flight. If the line was evicted before its data arrived, it is
 * not allocated again. */
static void merge_line(struct fth_cache_level *level, struct fth_port_access *access)
{
    const unsigned sectors = count_bits(access->request->sectors);
    if (access->location->slot != FTH_NO_SLOT)
        fill_line(level, access, find_missing(level, access));
    if (!level->shape.merged_hits)
        note_merged_miss(level, access);
    note_use(level, access, access->request->sectors);
    access->counts->merges[access->request->kind] += sectors;
    fth_cache_level_add_counts(level, access, level->shape.merged_hits ? sectors : 0,
                               level->shape.merged_hits ? 0 : sectors);
}

/* A read that misses and leaves nothing in the cache. It uses the sectors that the cache holds. */
static enum fth_attempt_outcome read_without_fill(struct fth_cache_level *level,
                                                  struct fth_port_access *access, uint64_t missing)
{
    struct fth_line_request *request = access->request;
    note_miss(level, access, missing, 0, access->location->slot != FTH_NO_SLOT);
    if (request->sectors & ~missing) {
        fill_line(level, access, 0);
        note_use(level, access, request->sectors);
    }
    request->missing = missing;
    const unsigned sectors = count_bits(request->sectors), misses = count_bits(missing);
    fth_cache_level_add_counts(level, access, sectors - misses, misses);
    fth_cache_level_report_miss(access, missing);
    return FTH_ATTEMPT_MISS;
}

static enum fth_attempt_outcome read_line(struct fth_cache_level *level,
                                          struct fth_port_access *access)
{
    struct fth_line_request *request = access->request;
    struct fth_mshr *mshr = unit_of(level, access)->mshr;
    fth_cache_locate_again(unit_of(level, access)->cache, access->location);
    switch (fth_mshr_merge(mshr, request->line, request->sectors, level->shape.mshr_merges)) {
    case FTH_MERGE_FAILED: return FTH_ATTEMPT_FAIL;
    case FTH_MERGE_DONE: merge_line(level, access); return FTH_ATTEMPT_MERGED;
    case FTH_MERGE_NONE: break;
    }
    const uint64_t missing = find_missing(level, access);
    if (missing && request->flags & level->shape.request_flags & FTH_LINE_REQUEST_NO_ALLOCATE)
        return read_without_fill(level, access, missing);
    if (missing && fth_mshr_full(mshr))
        return FTH_ATTEMPT_FAIL;
    const bool present = access->location->slot != FTH_NO_SLOT;
    request->missing = fill_line(level, access, missing);
    note_miss(level, access, missing, request->missing, present);
    note_use(level, access, request->sectors | request->missing);
    const unsigned sectors = count_bits(request->sectors), misses = count_bits(missing);
    fth_cache_level_add_counts(level, access, sectors - misses, misses);
    if (!missing)
        return FTH_ATTEMPT_HIT;
    fth_cache_level_add_miss(level, mshr, access, missing);
    return FTH_ATTEMPT_MISS;
}

/* A write needs no MSHR. Its sectors that the cache holds, completely or in part, count as hits;
 * the L1 of an H200 counts them in the same way. A write-evict cache drops the line. */
static enum fth_attempt_outcome write_line(struct fth_cache_level *level,
                                           struct fth_port_access *access)
{
    struct fth_line_request *request = access->request;
    struct fth_cache *cache = unit_of(level, access)->cache;
    uint64_t missing = 0;
    fth_cache_locate_again(cache, access->location);
    const bool allocates =
        !(request->flags & level->shape.request_flags & FTH_LINE_REQUEST_NO_ALLOCATE);
    if (!allocates && access->location->slot == FTH_NO_SLOT) {
        missing = request->sectors;
    } else if (level->shape.write == FTH_WRITE_EVICT) {
        missing = find_missing(level, access) ? request->sectors : 0;
        fth_cache_level_drop_line(level, access, access->location);
    } else {
        missing = request->sectors & ~fth_cache_held(cache, access->location, request->sectors);
        for (uint32_t i = 0; access->runs && i < request->run_count; i++) {
            struct fth_cache_result result;
            fth_cache_write(cache, access->location, access->runs[i], &result);
            if (i == 0)
                access->distance = result.distance;
            fth_cache_level_report_eviction(access->next_level, &result);
        }
        note_use(level, access, request->sectors);
    }
    request->missing = request->sectors; /* the whole write is forwarded */
    const unsigned misses = count_bits(missing);
    fth_cache_level_add_counts(level, access, count_bits(request->sectors) - misses, misses);
    fth_cache_level_report_miss(access, request->sectors);
    return misses ? FTH_ATTEMPT_MISS : FTH_ATTEMPT_HIT;
}

/* An atomic in the cache that executes it: reads whole sectors, then writes its bytes. */
static enum fth_attempt_outcome atomic_line(struct fth_cache_level *level,
                                            struct fth_port_access *access)
{
    const struct fth_cache_run *runs = access->runs;
    access->runs = NULL;
    const enum fth_attempt_outcome outcome = read_line(level, access);
    if (outcome == FTH_ATTEMPT_FAIL || access->location->slot == FTH_NO_SLOT)
        return outcome;
    struct fth_cache_result ignored;
    for (uint32_t i = 0; runs && i < access->request->run_count; i++)
        fth_cache_write(unit_of(level, access)->cache, access->location, runs[i], &ignored);
    return outcome;
}

/* A request that bypasses the cache. If it changes the line, or if its flags say so, the cache
 * drops its copy. */
static enum fth_attempt_outcome handle_bypass(struct fth_cache_level *level,
                                              struct fth_port_access *access)
{
    struct fth_line_request *request = access->request;
    const bool drops = request->kind != FTH_TRACE_READ ||
                       request->flags & level->shape.request_flags & FTH_LINE_REQUEST_EVICT;
    if (drops && level->shape.bypass != FTH_BYPASS_ALL) {
        fth_cache_locate_again(unit_of(level, access)->cache, access->location);
        fth_cache_level_drop_line(level, access, access->location);
    }
    if (level->shadow && request->kind == FTH_TRACE_READ) /* the cache never stores what it reads */
        misses_of(level, request)->cold += count_bits(request->sectors);
    request->missing = request->sectors;
    fth_cache_level_add_counts(level, access, 0, count_bits(request->sectors));
    fth_cache_level_report_miss(access, request->sectors);
    return FTH_ATTEMPT_MISS;
}

static enum fth_attempt_outcome process_request(struct fth_cache_level *level,
                                                struct fth_port_access *access)
{
    const struct fth_line_request *request = access->request;
    const bool atomic = request->kind == FTH_TRACE_ATOMIC;
    if (level->shape.bypass == FTH_BYPASS_ALL || request->flags & FTH_LINE_REQUEST_BYPASS_L1 ||
        (atomic && level->shape.write != FTH_WRITE_BACK))
        return handle_bypass(level, access);
    if (unit_of(level, access)->belady)
        return fth_cache_level_attempt_bound(level, access);
    if (request->kind == FTH_TRACE_READ)
        return read_line(level, access);
    return atomic ? atomic_line(level, access) : write_line(level, access);
}

FTH_CLONES
static enum fth_attempt_outcome attempt(struct fth_cache_level *level,
                                        struct fth_port_access *access)
{
    const struct fth_line_request *request = access->request;
    fth_mshr_step(unit_of(level, access)->mshr, level->step);
    access->distance = NO_DISTANCE;
    const enum fth_attempt_outcome outcome = process_request(level, access);
    if (outcome == FTH_ATTEMPT_FAIL) {
        level->totals.fails++;
    } else {
        level->forwards |= request->missing != 0;
        access->counts->requests[request->kind]++;
        access->counts->sectors[request->kind] += count_bits(request->sectors);
        if (request->kind != FTH_TRACE_READ && access->next_level && access->next_level->changed)
            access->next_level->changed(access->next_level->context, access);
    }
    return outcome;
}

enum fth_attempt_outcome fth_cache_level_attempt(struct fth_cache_level *level,
                                                 struct fth_port_access *access)
{
    return attempt(level, access);
}
