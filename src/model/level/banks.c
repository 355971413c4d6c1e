/* The steps of a cache with several banks.
 *
 * Banks affect each other only through the MSHRs that they share. A *cluster* is the banks of one
 * set of MSHRs. Each cluster is run by itself, from the first step of the group until its requests
 * are done; the group takes as many steps as its slowest cluster. The causes of misses (shadow.c)
 * depend on the order of all requests, so with them all banks are one cluster.
 *
 * The queue of a bank is a part of level->queue. In each step, its first requests, one per port,
 * are attempted; those that fail stay in front of the others.
 *
 * Most requests are reads that find either all their sectors in the cache or nothing of their line,
 * or writes of bytes that a write-back cache already holds. This file processes them itself,
 * whether the reads merge with a miss in flight or not. It calls attempt.c for all others. */
#include "model/level/cache_level.h"

#include <string.h>

#define DONE UINT32_MAX /* an element of the queue whose request is done */

struct banks {
    struct fth_cache_level *level;
    struct fth_line_request *requests;
    const struct fth_cache_run *runs;
    struct fth_model_counts *counts; /* by instruction */
    uint64_t *profile;               /* of reads */
    const struct fth_next_level *next_level;
    size_t last;      /* index of the last entry of the profile, which counts misses */
    bool fast_path;   /* as in single_bank.c */
    bool writes_back; /* the fast path includes writes */
};

/* Divides the requests among the queues of their banks, in their order. */
static void enqueue(struct fth_cache_level *level, size_t count)
{
    struct fth_unit *units = level->units;
    uint32_t end = 0;
    if (level->unit_count == 1)
        memset(level->unit_of, 0, count * sizeof *level->unit_of);
    for (size_t u = 0; u < level->unit_count; u++)
        units[u].end = 0;
    for (size_t i = 0; i < count; i++)
        units[level->unit_of[i]].end++;
    for (size_t u = 0; u < level->unit_count; u++) {
        const uint32_t size = units[u].end;
        units[u].head = units[u].end = end;
        end += size;
    }
    for (size_t i = 0; i < count; i++)
        level->queue[units[level->unit_of[i]].end++] = (uint32_t)i;
}

/* Returns how many requests of a bank reach a port in a step. */
static FTH_INLINE uint32_t port_count(const struct fth_cache_level *level,
                                      const struct fth_unit *unit)
{
    const uint32_t waiting = unit->end - unit->head;
    return waiting < level->shape.ports ? waiting : (uint32_t)level->shape.ports;
}

/* Selects the requests of a cluster that reach a port in this step and returns their number. They
 * are sorted by warp, and within a warp by bank. In Table 3, A and C of {A, B, C, D} get the two
 * registers; in the next step, B and D go before the requests of the second warp. Insertion sort is
 * fast here because the requests are mostly in order. */
static FTH_INLINE size_t schedule_step(const struct banks *banks, const struct fth_unit *first,
                                       const struct fth_unit *end)
{
    uint32_t *scheduled = banks->level->scheduled;
    const uint32_t *queue = banks->level->queue;
    size_t count = 0;
    if (end - first == 2 && banks->level->shape.ports == 1 && first[0].head < first[0].end &&
        first[1].head < first[1].end) { /* a frequent case: without a branch on the order */
        const uint32_t a = first[0].head, b = first[1].head;
        const bool swap = banks->requests[queue[b]].warp < banks->requests[queue[a]].warp;
        scheduled[0] = swap ? b : a;
        scheduled[1] = swap ? a : b;
        return 2;
    }
    for (const struct fth_unit *unit = first; unit < end; unit++) {
        const uint32_t stop = unit->head + port_count(banks->level, unit);
        for (uint32_t at = unit->head; at < stop; at++) {
            const uint32_t warp = banks->requests[queue[at]].warp;
            size_t place = count++;
            for (; place && banks->requests[queue[scheduled[place - 1]]].warp > warp; place--)
                scheduled[place] = scheduled[place - 1];
            scheduled[place] = at;
        }
    }
    return count;
}

/* Removes the requests that are done from the front of a queue, in which `tried` were attempted. */
static void remove_done(uint32_t *queue, struct fth_unit *unit, uint32_t tried)
{
    uint32_t head = unit->head + tried;
    for (uint32_t at = head; at-- > unit->head;)
        if (queue[at] != DONE)
            queue[--head] = queue[at];
    unit->head = head;
}

/* The next step in which an MSHR of the cluster becomes free or a line arrives; UINT64_MAX: none.
 */
static uint64_t next_change(const struct fth_cache_level *level, const struct fth_unit *first,
                            const struct fth_unit *end)
{
    uint64_t next = UINT64_MAX;
    for (const struct fth_unit *unit = first; unit < end; unit++) {
        fth_mshr_step(unit->mshr, level->step - 1);
        const uint64_t change = fth_mshr_next(unit->mshr);
        next = change < next ? change : next;
    }
    return next;
}

/* Counts a read of which either all sectors hit or none. */
static FTH_INLINE void count_read(const struct banks *banks, const struct fth_line_request *request,
                                  uint32_t distance, bool hits, bool merged,
                                  struct fth_read_tally *tally)
{
    const unsigned sectors = (unsigned)__builtin_popcountll(request->sectors);
    banks->profile[hits && distance < banks->last ? distance : banks->last] += sectors;
    fth_read_tally_begin(tally, request->instruction, banks->counts, banks->next_level);
    tally->requests++;
    tally->sectors += sectors;
    tally->hits += hits ? sectors : 0;
    tally->merges += merged ? sectors : 0;
}

/* Processes a read that finds all its sectors in the cache, or nothing of its line. */
static FTH_INLINE enum fth_attempt_outcome read_simply(const struct banks *banks,
                                                       struct fth_unit *unit,
                                                       struct fth_port_access *access,
                                                       struct fth_read_tally *tally)
{
    struct fth_cache_level *level = banks->level;
    struct fth_line_request *request = access->request;
    struct fth_cache_location *location = access->location;
    struct fth_mshr *mshr = unit->mshr;
    const bool present = location->slot != FTH_NO_SLOT;
    const enum fth_merge merge =
        fth_mshr_may_contain(mshr, request->line)
            ? fth_mshr_merge_any(mshr, request->line, request->sectors, level->shape.mshr_merges)
            : FTH_MERGE_NONE;
    if (merge == FTH_MERGE_FAILED || (merge == FTH_MERGE_NONE && !present && fth_mshr_full(mshr))) {
        level->totals.fails++;
        return FTH_ATTEMPT_FAIL;
    }
    if (present || merge == FTH_MERGE_DONE) {
        const uint32_t distance =
            present ? fth_slot_use(unit->cache, location->set, location->slot) : UINT32_MAX;
        const bool merged = merge == FTH_MERGE_DONE;
        count_read(banks, request, distance, !merged || level->shape.merged_hits, merged, tally);
        return merged ? FTH_ATTEMPT_MERGED : FTH_ATTEMPT_HIT;
    }
    struct fth_cache_result result;
    request->missing = fth_cache_fill(unit->cache, location,
                                      fth_shape_fills(&level->shape, request->sectors), &result);
    fth_cache_level_report_eviction(access->next_level, &result);
    count_read(banks, request, UINT32_MAX, false, false, tally);
    level->forwards = true;
    fth_cache_level_begin_miss(level, mshr, access);
    if (banks->next_level->fetched)
        tally->fetched += (unsigned)__builtin_popcountll(request->missing);
    else
        fth_cache_level_report_miss(access, request->sectors);
    return FTH_ATTEMPT_MISS;
}

/* Whether the cache holds all bytes of a write whose line is in a slot. False can be wrong: several
 * runs, or a run in two words of the byte mask, are only compared with the valid sectors. */
static FTH_INLINE bool holds_bytes(const struct fth_cache *cache, uint32_t slot,
                                   const struct fth_line_request *request,
                                   const struct fth_cache_run *runs)
{
    const uint32_t from = runs->from, end = from + runs->bytes;
    if (!(request->sectors & ~fth_line_of(cache, slot)->valid))
        return true;
    if (request->run_count != 1 || from / 64 != (end - 1) / 64 || !*fth_partial_of(cache, slot))
        return false;
    const uint64_t bytes = UINT64_MAX >> (64 - runs->bytes) << from % 64;
    return !(bytes & ~cache->written[slot * cache->byte_words + from / 64]);
}

/* Processes a write of bytes that a write-back cache holds. The line keeps its valid sectors and
 * written bytes. */
static FTH_INLINE void write_simply(const struct banks *banks, struct fth_unit *unit,
                                    struct fth_port_access *access)
{
    const struct fth_line_request *request = access->request;
    const struct fth_cache_location *location = access->location;
    access->distance = fth_slot_use(unit->cache, location->set, location->slot);
    for (uint32_t i = 1; i < request->run_count; i++) /* each run is an access of its own */
        fth_slot_use(unit->cache, location->set, location->slot);
    *fth_dirty_of(unit->cache, location->slot) |= request->sectors;
    fth_cache_level_count_write(banks->level, access, true);
    if (!banks->next_level->fetched)
        fth_cache_level_report_miss(access, request->sectors);
    if (banks->next_level->changed)
        banks->next_level->changed(banks->next_level->context, access);
}

static FTH_INLINE enum fth_attempt_outcome try_request(const struct banks *banks, uint32_t at,
                                                       struct fth_port_access *access,
                                                       struct fth_read_tally *tally)
{
    struct fth_cache_level *level = banks->level;
    struct fth_line_request *request = &banks->requests[at];
    struct fth_cache_location *location = &level->locations[at];
    access->unit = level->unit_of[at];
    access->request = request;
    access->location = location;
    struct fth_unit *unit = &level->units[access->unit];
    access->runs = banks->runs ? banks->runs + request->run : NULL;
    access->counts = &banks->counts[request->instruction];
    if (banks->fast_path && request->kind == FTH_TRACE_READ &&
        !(request->flags & level->shape.request_flags)) {
        fth_mshr_step(unit->mshr, level->step);
        fth_cache_locate_again(unit->cache, location);
        if (location->slot == FTH_NO_SLOT ||
            !(request->sectors & ~fth_line_of(unit->cache, location->slot)->valid))
            return read_simply(banks, unit, access, tally);
    } else if (banks->writes_back && request->kind == FTH_TRACE_WRITE && request->run_count &&
               !(request->flags & FTH_LINE_REQUEST_L1_FLAGS)) {
        fth_cache_locate_again(unit->cache, location);
        if (location->slot != FTH_NO_SLOT &&
            holds_bytes(unit->cache, location->slot, request, access->runs)) {
            write_simply(banks, unit, access);
            return FTH_ATTEMPT_HIT;
        }
    }
    return fth_cache_level_attempt(level, access);
}

/* Runs the requests of a cluster until all are done. */
static FTH_INLINE void run_cluster(const struct banks *banks, struct fth_unit *first,
                                   struct fth_unit *end, struct fth_port_access *access,
                                   struct fth_read_tally *tally)
{
    struct fth_cache_level *level = banks->level;
    size_t left = 0;
    for (const struct fth_unit *unit = first; unit < end; unit++)
        left += unit->end - unit->head;
    while (left && !level->failed) {
        const size_t tried = schedule_step(banks, first, end);
        size_t done = 0;
        for (size_t i = 0; i < tried; i++) {
            uint32_t *at = &level->queue[level->scheduled[i]];
            if (try_request(banks, *at, access, tally) == FTH_ATTEMPT_FAIL)
                continue;
            *at = DONE;
            done++;
        }
        for (struct fth_unit *unit = first; unit < end; unit++) {
            const uint32_t ports = port_count(level, unit);
            if (done == tried)
                unit->head += ports;
            else
                remove_done(level->queue, unit, ports);
        }
        left -= done;
        fth_cache_level_end_step(level);
        if (!done)
            fth_cache_level_skip_steps(level, tried, next_change(level, first, end));
    }
}

FTH_CLONES
static bool run_banks(const struct banks *banks, size_t count)
{
    struct fth_cache_level *level = banks->level;
    struct fth_port_access access = {.next_level = banks->next_level};
    struct fth_read_tally tally = {0};
    const uint64_t start = level->step, steps_before = level->totals.steps;
    uint64_t last = start;
    enqueue(level, count);
    for (size_t u = 0, end; u < level->unit_count; u = end) {
        for (end = u + 1; end < level->unit_count &&
                          (level->shadow || level->units[end].mshr == level->units[u].mshr);)
            end++;
        level->step = start;
        run_cluster(banks, level->units + u, level->units + end, &access, &tally);
        last = level->step > last ? level->step : last;
    }
    level->step = last;
    level->totals.steps = steps_before + last - start;
    fth_read_tally_count(&tally, banks->counts, banks->next_level);
    return !level->failed;
}

bool fth_cache_level_run_banks(struct fth_cache_level *level, struct fth_line_request *requests,
                               size_t count, const struct fth_cache_run *runs,
                               struct fth_model_counts *counts,
                               const struct fth_next_level *next_level)
{
    const bool fast_path =
        level->shape.bypass != FTH_BYPASS_ALL && !level->shadow && !level->units[0].belady;
    const struct banks banks = {.level = level,
                                .requests = requests,
                                .runs = runs,
                                .counts = counts,
                                .profile = level->totals.profile[0],
                                .next_level = next_level,
                                .last = level->totals.profile_size - 1,
                                .fast_path = fast_path,
                                .writes_back =
                                    fast_path && runs && level->shape.write == FTH_WRITE_BACK};
    return run_banks(&banks, count);
}
