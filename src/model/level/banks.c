/* The steps of a cache with several banks.
 *
 * The requests of a group are processed in the order of their plan (plan.c) until one of them
 * fails. From then on, the requests of its cluster wait in one queue per bank, which is a part of
 * level->queue. In each step, the first requests of each queue, one per port, are attempted; those
 * that fail stay in front of the others. Each cluster begins in the first step of the group; the
 * group takes as many steps as its slowest cluster.
 *
 * Most requests are reads that find either all their sectors in the cache or nothing of their line,
 * or writes of bytes that a write-back cache already holds. This file processes them itself,
 * whether the reads merge with a miss in flight or not. It calls attempt.c for all others. */
#include "model/level/cache_level.h"

#define DONE UINT32_MAX /* an element of the queue whose request is done */

/* Returns how many requests of a bank reach a port in a step. */
static FTH_INLINE uint32_t port_count(const struct fth_cache_level *level,
                                      const struct fth_unit *unit)
{
    const uint32_t waiting = unit->end - unit->head;
    return waiting < level->shape.ports ? waiting : (uint32_t)level->shape.ports;
}

/* Selects the requests of a cluster that reach a port in this step and returns their number. They
 * are sorted by warp, and within a warp by bank. Insertion sort is fast here because the requests
 * are mostly in order. */
static size_t schedule_step(const struct fth_bank_group *group, const struct fth_unit *first,
                            const struct fth_unit *end)
{
    uint32_t *scheduled = group->level->scheduled;
    const uint32_t *queue = group->level->queue;
    size_t count = 0;
    for (const struct fth_unit *unit = first; unit < end; unit++) {
        const uint32_t stop = unit->head + port_count(group->level, unit);
        for (uint32_t at = unit->head; at < stop; at++) {
            const uint32_t warp = group->requests[queue[at]].warp;
            size_t place = count++;
            for (; place && group->requests[queue[scheduled[place - 1]]].warp > warp; place--)
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
static FTH_INLINE void count_read(const struct fth_bank_group *group,
                                  const struct fth_line_request *request, uint32_t distance,
                                  bool hits, bool merged, struct fth_read_tally *tally)
{
    const unsigned sectors = (unsigned)__builtin_popcountll(request->sectors);
    const size_t last = group->level->totals.profile_size - 1;
    group->level->totals.profile[0][hits && distance < last ? distance : last] += sectors;
    fth_read_tally_begin(tally, request->instruction, group->counts, group->next_level);
    tally->requests++;
    tally->sectors += sectors;
    tally->hits += hits ? sectors : 0;
    tally->merges += merged ? sectors : 0;
}

/* Processes a read of an absent line; an MSHR must be free. */
static FTH_INLINE void miss(const struct fth_bank_group *group, struct fth_unit *unit,
                            struct fth_port_access *access, struct fth_read_tally *tally)
{
    struct fth_cache_level *level = group->level;
    struct fth_line_request *request = access->request;
    struct fth_cache_result result;
    request->missing = fth_cache_fill(unit->cache, access->location,
                                      fth_shape_fills(&level->shape, request->sectors), &result);
    fth_cache_level_report_eviction(access->next_level, &result);
    count_read(group, request, UINT32_MAX, false, false, tally);
    level->forwards = true;
    fth_cache_level_begin_miss(level, unit->mshr, access);
    if (group->next_level->fetched)
        tally->fetched += (unsigned)__builtin_popcountll(request->missing);
    else
        fth_cache_level_report_miss(access, request->sectors);
}

/* Processes a read that finds all its sectors in the cache, or nothing of its line. */
static FTH_INLINE enum fth_attempt_outcome read_simply(const struct fth_bank_group *group,
                                                       struct fth_unit *unit,
                                                       struct fth_port_access *access,
                                                       struct fth_read_tally *tally)
{
    struct fth_cache_level *level = group->level;
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
    if (!present && merge == FTH_MERGE_NONE) {
        miss(group, unit, access, tally);
        return FTH_ATTEMPT_MISS;
    }
    const bool merged = merge == FTH_MERGE_DONE;
    const uint32_t distance =
        present ? fth_slot_use(unit->cache, location->set, location->slot) : UINT32_MAX;
    count_read(group, request, distance, !merged || level->shape.merged_hits, merged, tally);
    return merged ? FTH_ATTEMPT_MERGED : FTH_ATTEMPT_HIT;
}

/* Processes a write of bytes that a write-back cache holds. The line keeps its valid sectors and
 * written bytes. */
static FTH_INLINE void write_simply(const struct fth_bank_group *group, struct fth_unit *unit,
                                    struct fth_port_access *access)
{
    const struct fth_line_request *request = access->request;
    const struct fth_cache_location *location = access->location;
    access->distance = fth_slot_use(unit->cache, location->set, location->slot);
    for (uint32_t i = 1; i < request->run_count; i++) /* each run is an access of its own */
        fth_slot_use(unit->cache, location->set, location->slot);
    *fth_dirty_of(unit->cache, location->slot) |= request->sectors;
    fth_cache_level_count_write(group->level, access, true);
    if (!group->next_level->fetched)
        fth_cache_level_report_miss(access, request->sectors);
    if (group->next_level->changed)
        group->next_level->changed(group->next_level->context, access);
}

/* Tries a request at a port of its unit. */
static FTH_INLINE enum fth_attempt_outcome try_request(const struct fth_bank_group *group,
                                                       uint32_t request_index, uint32_t unit_index,
                                                       struct fth_cache_location *location,
                                                       struct fth_port_access *access,
                                                       struct fth_read_tally *tally)
{
    struct fth_cache_level *level = group->level;
    struct fth_line_request *request = &group->requests[request_index];
    struct fth_unit *unit = &level->units[unit_index];
    access->unit = unit_index;
    access->request = request;
    access->location = location;
    access->runs = group->runs ? group->runs + request->run : NULL;
    access->counts = &group->counts[request->instruction];
    if (group->fast_path && request->kind == FTH_TRACE_READ &&
        !(request->flags & level->shape.request_flags)) {
        fth_mshr_step(unit->mshr, level->step);
        if (location->slot == FTH_NO_SLOT ||
            !(request->sectors & ~fth_line_of(unit->cache, location->slot)->valid))
            return read_simply(group, unit, access, tally);
    } else if (group->writes_back && request->kind == FTH_TRACE_WRITE && request->run_count &&
               location->slot != FTH_NO_SLOT && !(request->flags & FTH_LINE_REQUEST_L1_FLAGS) &&
               fth_cache_level_holds_bytes(unit->cache, location->slot, request, access->runs)) {
        write_simply(group, unit, access);
        return FTH_ATTEMPT_HIT;
    }
    return fth_cache_level_attempt(level, access);
}

/* ---- after a failure ---- */

/* Tries a request of a queue. */
static bool try_queued(const struct fth_bank_group *group, uint32_t at,
                       struct fth_port_access *access, struct fth_read_tally *tally)
{
    const struct fth_cache_level *level = group->level;
    struct fth_cache_location *location = &level->locations[at];
    fth_cache_locate_again(level->units[level->unit_of[at]].cache, location);
    return try_request(group, at, level->unit_of[at], location, access, tally) != FTH_ATTEMPT_FAIL;
}

/* Runs the queued requests of a cluster until all are done. */
static void run_queues(const struct fth_bank_group *group, struct fth_unit *first,
                       struct fth_unit *end, struct fth_port_access *access,
                       struct fth_read_tally *tally)
{
    struct fth_cache_level *level = group->level;
    size_t left = 0;
    for (const struct fth_unit *unit = first; unit < end; unit++)
        left += unit->end - unit->head;
    while (left && !level->failed) {
        const size_t tried = schedule_step(group, first, end);
        size_t done = 0;
        for (size_t i = 0; i < tried; i++) {
            uint32_t *at = &level->queue[level->scheduled[i]];
            if (!try_queued(group, *at, access, tally))
                continue;
            *at = DONE;
            done++;
        }
        for (struct fth_unit *unit = first; unit < end; unit++)
            remove_done(level->queue, unit, port_count(level, unit));
        left -= done;
        fth_cache_level_end_step(level);
        if (!done)
            fth_cache_level_skip_steps(level, tried, next_change(level, first, end));
    }
}

/* The location of the line at a place of the plan. */
static struct fth_cache_location locate(const struct fth_bank_group *group, size_t at)
{
    const struct fth_cache *cache = group->level->units[group->plan.items[at].unit].cache;
    const uint64_t line = group->plan.lines[at];
    const uint32_t set = fth_index_set(&cache->index, line);
    return (struct fth_cache_location){line, set, fth_lookup_find(cache, set, line)};
}

/* Puts requests, of which `left` lists the places in the plan, into the queues of their banks. */
static void enqueue(const struct fth_bank_group *group, const uint32_t *left, size_t count,
                    struct fth_unit *first, struct fth_unit *end)
{
    struct fth_cache_level *level = group->level;
    uint32_t *queue = level->queue, place = 0;
    for (struct fth_unit *unit = first; unit < end; unit++)
        unit->end = 0;
    for (size_t i = 0; i < count; i++)
        level->units[group->plan.items[left[i]].unit].end++;
    for (struct fth_unit *unit = first; unit < end; unit++) {
        const uint32_t size = unit->end;
        unit->head = unit->end = place;
        place += size;
    }
    for (size_t i = 0; i < count; i++) {
        const struct fth_planned *item = &group->plan.items[left[i]];
        struct fth_unit *unit = &level->units[item->unit];
        level->unit_of[item->request] = item->unit;
        level->locations[item->request] = locate(group, left[i]);
        /* A queue has the order of arrival. A step of the plan is sorted by warp. */
        uint32_t at = unit->end++;
        for (; at > unit->head && queue[at - 1] > item->request; at--)
            queue[at] = queue[at - 1];
        queue[at] = item->request;
    }
}

/* Processes the rest of a cluster after the request at place `at` of the plan has failed. Returns
 * the place of the next cluster. */
static size_t run_rest(const struct fth_bank_group *group, size_t at,
                       struct fth_port_access *access, struct fth_read_tally *tally)
{
    struct fth_cache_level *level = group->level;
    const struct fth_planned *planned = group->plan.items, *failed = &planned[at];
    struct fth_unit *first = level->units + failed->cluster * level->banking.cluster_units;
    struct fth_unit *end = first + level->banking.cluster_units;
    uint32_t *left = level->scheduled;
    size_t left_count = 0, done = 0, next = at + 1;
    end = end < level->units + level->unit_count ? end : level->units + level->unit_count;
    while (at - done > 0 && planned[at - done - 1].step == failed->step &&
           planned[at - done - 1].cluster == failed->cluster)
        done++;
    size_t tried = done + 1;
    left[left_count++] = (uint32_t)at;
    for (; next < group->count && planned[next].cluster == failed->cluster; next++) {
        const struct fth_planned *item = &planned[next];
        if (item->step == failed->step) {
            struct fth_cache_location location = locate(group, next);
            tried++;
            if (try_request(group, item->request, item->unit, &location, access, tally) !=
                FTH_ATTEMPT_FAIL) {
                done++;
                continue;
            }
        }
        left[left_count++] = (uint32_t)next;
    }
    enqueue(group, left, left_count, first, end);
    fth_cache_level_end_step(level);
    if (!done)
        fth_cache_level_skip_steps(level, tried, next_change(level, first, end));
    run_queues(group, first, end, access, tally);
    return next;
}

/* ---- a group ---- */

/* Finds the sets of lines of the plan, and prefetches them. */
static FTH_INLINE void find_sets(const struct fth_bank_group *group, size_t first, size_t count,
                                 uint32_t *sets)
{
    const struct fth_cache_level *level = group->level;
    const struct fth_cache *any = level->units[0].cache; /* all have the same index function */
    const struct fth_planned *items = group->plan.items + first;
    const uint64_t *lines = group->plan.lines + first;
    fth_index_sets(&any->index, lines, count, sets);
    for (size_t i = 0; i < count && !any->clock; i++)
        fth_cache_prepare_set(level->units[items[i].unit].cache, sets[i], lines[i]);
}

/* Runs the requests at the places [at, end) of the plan; `sets` are theirs. Returns the place of
 * the next request, which is after `end` if a request has failed. *last becomes the end of the last
 * step if that is later. */
static FTH_INLINE size_t run_part(const struct fth_bank_group *group, size_t at, size_t end,
                                  const uint32_t *sets, uint64_t *last,
                                  struct fth_port_access *access, struct fth_read_tally *tally)
{
    struct fth_cache_level *level = group->level;
    const size_t first = at;
    while (at < end && !level->failed) {
        if (group->narrow)
            at = fth_cache_level_run_narrow(group, at, end, sets + (at - first), last);
        if (at == end)
            break;
        const struct fth_planned *item = &group->plan.items[at];
        const uint32_t set = sets[at - first];
        const uint64_t line = group->plan.lines[at];
        struct fth_cache_location location = {
            line, set, fth_lookup_find(level->units[item->unit].cache, set, line)};
        level->step = group->start + item->step;
        level->totals.steps = group->steps_before + item->step;
        if (try_request(group, item->request, item->unit, &location, access, tally) !=
            FTH_ATTEMPT_FAIL) {
            level->step++;
            at++;
        } else {
            at = run_rest(group, at, access, tally);
            end = at; /* these may be requests of another part */
        }
        *last = level->step > *last ? level->step : *last;
    }
    return at;
}

FTH_CLONES
static bool run_banks(const struct fth_bank_group *group)
{
    struct fth_cache_level *level = group->level;
    struct fth_port_access access = {.next_level = group->next_level};
    struct fth_read_tally tally = {0};
    uint64_t last = group->start;
    for (size_t at = 0; at < group->count && !level->failed;) {
        uint32_t sets[FTH_LOCATE_MAX];
        const size_t end = FTH_MIN(at + FTH_LOCATE_MAX, group->count);
        find_sets(group, at, end - at, sets);
        at = run_part(group, at, end, sets, &last, &access, &tally);
    }
    level->step = last;
    level->totals.steps = group->steps_before + last - group->start;
    fth_read_tally_count(&tally, group->counts, group->next_level);
    return !level->failed;
}

bool fth_cache_level_run_banks(struct fth_cache_level *level, const struct fth_group_plan *plan,
                               struct fth_line_request *requests, size_t count,
                               const struct fth_cache_run *runs, struct fth_model_counts *counts,
                               const struct fth_next_level *next_level)
{
    const bool fast_path =
        level->shape.bypass != FTH_BYPASS_ALL && !level->shadow && !level->units[0].belady;
    const struct fth_bank_group group = {
        .level = level,
        .plan = *plan,
        .count = count,
        .start = level->step,
        .steps_before = level->totals.steps,
        .requests = requests,
        .runs = runs,
        .counts = counts,
        .next_level = next_level,
        .fast_path = fast_path,
        .narrow = fast_path && fth_cache_level_is_narrow(level, next_level),
        .writes_back = fast_path && runs && level->shape.write == FTH_WRITE_BACK};
    return run_banks(&group);
}
