/* See model_oracle.h. The order of the steps follows Algorithms 1 to 3 and Section 4.4 of the RDGC
 * paper, which docs/model.md names. */
#include "miss_oracle.h"
#include "request_oracle.h"

#include <stdlib.h>
#include <string.h>

/* A miss. Its MSHR is free from step `arrival` on. Requests can merge with it until then. */
struct miss {
    uint64_t line, sectors, arrival, merges, mshr, order;
};

/* An entry of the LRU stack. */
struct stack_entry {
    uint64_t unit, set, line;
};

struct level {
    struct oracle_cache config;
    bool is_l2;
    struct oracle **units;
    size_t unit_count;
    struct miss *misses;
    size_t miss_count;
    struct stack_entry *stack; /* one stack for all sets, newest first */
    size_t stack_count;
    uint64_t step, last_arrival[64]; /* the current step; the last arrival in each set of MSHRs */
    struct oracle_counts counts;
    struct miss_history history;
};

struct run {
    const struct oracle_model *model;
    struct level *l1;
    struct level sides[2];
    struct oracle_result *result;
};

static unsigned count_bits(uint64_t mask)
{
    unsigned count = 0;
    for (; mask; mask >>= 1)
        count += mask & 1;
    return count;
}

static uint64_t sector_bytes(const struct level *level)
{
    return level->config.sector_bytes ? level->config.sector_bytes : level->config.line_bytes;
}

/* `share`: the number of sides among which the size is divided. */
static void make_level(struct level *level, const struct oracle_cache *config, uint64_t share,
                       bool is_l2, uint64_t seed)
{
    *level = (struct level){.config = *config, .is_l2 = is_l2};
    level->unit_count = config->partitions * config->banks;
    level->history.lines = config->size_bytes / share / config->line_bytes;
    level->units = calloc(level->unit_count, sizeof *level->units);
    const uint64_t lines = config->size_bytes / share / config->line_bytes / level->unit_count;
    const bool off = strcmp(config->bypass, "off") == 0;
    for (size_t i = 0; i < level->unit_count; i++)
        level->units[i] =
            oracle_create(&(struct fth_cache_config){.line_bytes = config->line_bytes,
                                                     .sector_bytes = config->sector_bytes,
                                                     .sets = lines / config->ways,
                                                     .ways = config->ways,
                                                     .index = config->index,
                                                     .policy = config->policy,
                                                     .write = !off    ? FTH_WRITE_EVICT
                                                              : is_l2 ? FTH_WRITE_BACK
                                                                      : FTH_WRITE_THROUGH,
                                                     .seed = seed + i});
}

static void free_level(struct level *level)
{
    for (size_t i = 0; i < level->unit_count; i++)
        oracle_destroy(level->units[i]);
    free(level->units);
    free(level->misses);
    free(level->stack);
    miss_history_fini(&level->history);
}

/* Returns the bank of an address. Addresses are interleaved over the partitions, and within a
 * partition over its banks. *local is the address within the bank. */
static size_t unit_of(const struct level *level, uint64_t address, uint64_t *local)
{
    const struct oracle_cache *c = &level->config;
    const uint64_t pb = c->partition_bytes ? c->partition_bytes : c->line_bytes;
    const uint64_t bb = c->bank_bytes ? c->bank_bytes : c->line_bytes;
    const uint64_t partition = address / pb % c->partitions;
    const uint64_t inside = address / pb / c->partitions * pb + address % pb;
    const uint64_t bank = inside / bb % c->banks;
    *local = inside / bb / c->banks * bb + inside % bb;
    return partition * c->banks + bank;
}

/* Returns the index of the set of MSHRs that a bank uses. */
static uint64_t mshr_of(const struct level *level, size_t unit)
{
    const struct oracle_cache *c = &level->config;
    const uint64_t each = (c->partitions + c->mshr_sets - 1) / c->mshr_sets;
    return unit / c->banks / each;
}

/* Returns the number of misses in flight in a set of MSHRs. */
static uint64_t busy_mshrs(const struct level *level, uint64_t mshr)
{
    uint64_t count = 0;
    for (size_t i = 0; i < level->miss_count; i++)
        count += level->misses[i].mshr == mshr && level->misses[i].arrival > level->step;
    return count;
}

/* ---- reuse distances ---- */

static void remove_from_stack(struct level *level, uint64_t unit, uint64_t line)
{
    for (size_t i = 0; i < level->stack_count; i++)
        if (level->stack[i].unit == unit && level->stack[i].line == line) {
            memmove(level->stack + i, level->stack + i + 1,
                    (level->stack_count - i - 1) * sizeof *level->stack);
            level->stack_count--;
            return;
        }
}

/* Moves a line to the front of the stack. Returns its reuse distance within its set, or the number
 * of ways if it was not in the stack. */
static uint64_t move_to_front(struct level *level, uint64_t unit,
                              const struct fth_cache_result *result, uint64_t line)
{
    uint64_t distance = 0, found = level->config.ways;
    if (result->evicted)
        remove_from_stack(level, unit, result->evicted_line);
    for (size_t i = 0; i < level->stack_count; i++) {
        if (level->stack[i].unit != unit || level->stack[i].set != result->set)
            continue;
        if (level->stack[i].line == line) {
            found = distance;
            break;
        }
        distance++;
    }
    remove_from_stack(level, unit, line);
    level->stack = oracle_grow(level->stack, level->stack_count, sizeof *level->stack);
    memmove(level->stack + 1, level->stack, level->stack_count * sizeof *level->stack);
    level->stack[0] = (struct stack_entry){unit, result->set, line};
    level->stack_count++;
    return found;
}

/* Adds sectors to the profile. Policies other than LRU have no distances. */
static void add_to_profile(struct level *level, const struct request *request, uint64_t distance,
                           uint64_t hits, uint64_t misses)
{
    uint64_t *profile = level->counts.profile[request->kind != FTH_TRACE_READ];
    profile[strcmp(level->config.policy, "lru") == 0 ? distance : level->config.ways] += hits;
    profile[level->config.ways] += misses;
}

/* ---- one request ---- */

static uint64_t request_sectors(const struct level *level, const struct request *request)
{
    uint64_t sectors = 0;
    const uint64_t each = sector_bytes(level);
    for (uint64_t i = 0; i < level->config.line_bytes; i++)
        if (request->bytes[i])
            sectors |= UINT64_C(1) << (i / each);
    return sectors;
}

/* Returns the sectors of a request that are not in the cache. A partly written sector is missing if
 * a byte that the request needs is not valid, or with `whole` if any byte is not valid. */
static uint64_t find_missing(const struct level *level, size_t unit, uint64_t local,
                             const struct request *request, bool whole)
{
    uint64_t missing = 0;
    const uint64_t sectors = request_sectors(level, request);
    for (uint64_t i = 0; i < level->config.line_bytes; i++) {
        const uint64_t sector = i / sector_bytes(level);
        const bool wanted = whole ? sectors >> sector & 1 : request->bytes[i];
        if (wanted && oracle_probe(level->units[unit], local + i, 1) != FTH_CACHE_HIT)
            missing |= UINT64_C(1) << sector;
    }
    return missing;
}

/* Returns the sectors of the fills that contain `sectors`. */
static uint64_t whole_fills(const struct level *level, const struct request *request,
                            uint64_t sectors)
{
    const uint64_t hinted = level->is_l2 ? request->l2_fill_bytes : 0, each = sector_bytes(level);
    uint64_t whole = 0, fill = (hinted ? hinted : level->config.fill_bytes) / each;
    if (fill == 0)
        fill = 1;
    for (unsigned i = 0; i < 64; i++)
        if (sectors >> i & 1)
            for (uint64_t k = 0; k < fill; k++)
                whole |= UINT64_C(1) << (i / fill * fill + k);
    return whole & (~UINT64_C(0) >> (64 - level->config.line_bytes / sector_bytes(level)));
}

static void read_home_or_memory(struct run *run, struct level *level, uint64_t line,
                                uint64_t missing, uint64_t fetch, enum fth_trace_access_kind kind);

/* Counts the sectors that the eviction of a dirty line writes to memory. */
static void count_evicted(struct run *run, struct level *level,
                          const struct fth_cache_result *result)
{
    if (level->is_l2 && result->evicted)
        run->result->dram_writes += count_bits(result->evicted_dirty);
}

/* Reads the sectors in `used` and `fetch` one by one; those in `fetch` are filled. All of them are
 * uses of the line. Returns the reuse distance of the line before the first of these reads. */
static uint64_t touch_sectors(struct run *run, struct level *level, size_t unit, uint64_t local,
                              uint64_t used, uint64_t fetch)
{
    uint64_t distance = 0;
    bool first = true;
    for (unsigned i = 0; i < 64; i++) {
        if (!((used | fetch) >> i & 1))
            continue;
        /* A sector that is not to be fetched may be only partly valid. Reading one of its valid
         * bytes uses the line without a fill. */
        uint64_t at = local + i * sector_bytes(level), bytes = sector_bytes(level);
        if (!(fetch >> i & 1))
            for (bytes = 1; oracle_probe(level->units[unit], at, 1) != FTH_CACHE_HIT;)
                at++;
        struct fth_cache_result result =
            oracle_access(level->units[unit], at, bytes, FTH_CACHE_READ);
        count_evicted(run, level, &result);
        const uint64_t found = move_to_front(level, unit, &result, local);
        if (first)
            distance = found;
        first = false;
    }
    return distance;
}

/* Returns the newest miss in flight that has sectors of the request, if all of them are in flight;
 * otherwise NULL. */
static struct miss *find_miss(const struct level *level, uint64_t mshr, uint64_t line,
                              uint64_t sectors)
{
    uint64_t in_flight = 0;
    struct miss *newest = NULL;
    for (size_t i = 0; i < level->miss_count; i++) {
        struct miss *miss = &level->misses[i];
        if (miss->mshr != mshr || miss->line != line || miss->arrival < level->step)
            continue;
        in_flight |= miss->sectors;
        if (miss->sectors & sectors)
            newest = miss;
    }
    return sectors & ~in_flight ? NULL : newest;
}

/* Whether the cache holds a line, whatever its sectors. */
static bool is_held(const struct level *level, size_t unit, uint64_t local)
{
    return oracle_probe(level->units[unit], local, 1) != FTH_CACHE_LINE_MISS;
}

/* Returns those of `sectors` that the cache has completely. */
static uint64_t complete_sectors(const struct level *level, size_t unit, uint64_t local,
                                 uint64_t sectors)
{
    uint64_t complete = 0;
    for (unsigned i = 0; i < level->config.line_bytes / sector_bytes(level); i++)
        if (sectors >> i & 1 && oracle_probe(level->units[unit], local + i * sector_bytes(level),
                                             sector_bytes(level)) == FTH_CACHE_HIT)
            complete |= UINT64_C(1) << i;
    return complete;
}

/* Notes that an access has used a line, if it is there, and these of its sectors. */
static void note_use(struct level *level, size_t unit, uint64_t local, uint64_t line,
                     uint64_t sectors)
{
    if (is_held(level, unit, local))
        miss_history_add(&level->history, MISS_USED, line,
                         complete_sectors(level, unit, local, sectors));
}

/* Where the sectors that a request misses are counted by cause. */
static uint64_t *misses_of(struct level *level, const struct request *request)
{
    return request->kind == FTH_TRACE_READ ? level->counts.misses : NULL;
}

/* A read whose sectors are all in flight. */
static void merge_read(struct run *run, struct level *level, size_t unit, uint64_t local,
                       struct request *request)
{
    const uint64_t sectors = request_sectors(level, request);
    uint64_t distance = level->config.ways;
    if (is_held(level, unit, local)) {
        const uint64_t absent = find_missing(level, unit, local, request, level->is_l2);
        distance =
            touch_sectors(run, level, unit, local, sectors, whole_fills(level, request, absent));
    }
    if (!level->config.merged_hits && request->kind == FTH_TRACE_READ)
        miss_history_again(&level->history, request->line, sectors, level->counts.misses);
    note_use(level, unit, local, request->line, sectors);
    level->counts.merges[request->kind] += count_bits(sectors);
    level->counts.hits[request->kind] += level->config.merged_hits ? count_bits(sectors) : 0;
    add_to_profile(level, request, distance, level->config.merged_hits ? count_bits(sectors) : 0,
                   level->config.merged_hits ? 0 : count_bits(sectors));
    request->next_level_sectors = 0;
}

/* Adds a miss of `fetch` sectors that takes `steps`. */
static void add_miss(struct level *level, uint64_t mshr, uint64_t line, uint64_t fetch,
                     uint64_t steps)
{
    uint64_t arrival = level->step + steps - 1;
    if (arrival < level->last_arrival[mshr])
        arrival = level->last_arrival[mshr];
    level->last_arrival[mshr] = arrival;
    level->misses = oracle_grow(level->misses, level->miss_count, sizeof *level->misses);
    level->misses[level->miss_count++] = (struct miss){line, fetch, arrival, 0, mshr, 0};
}

/* Tries a read once. Returns false if it must be tried again in the next step, because no MSHR is
 * free or because the miss in flight accepts no more merges. */
static bool attempt_read(struct run *run, struct level *level, size_t unit, uint64_t local,
                         struct request *request)
{
    const uint64_t sectors = request_sectors(level, request), mshr = mshr_of(level, unit);
    struct miss *in_flight = find_miss(level, mshr, request->line, sectors);
    if (in_flight) {
        if (level->config.mshr_merges && in_flight->merges >= level->config.mshr_merges)
            return false;
        in_flight->merges++;
        merge_read(run, level, unit, local, request);
        return true;
    }
    const uint64_t missing = find_missing(level, unit, local, request, level->is_l2);
    if (missing && !level->is_l2 && request->l1 == ORACLE_NO_ALLOCATE) {
        miss_history_miss(&level->history, request->line, missing, 0, is_held(level, unit, local),
                          misses_of(level, request));
        const uint64_t held = sectors & ~missing,
                       distance = touch_sectors(run, level, unit, local, held, 0);
        if (held)
            note_use(level, unit, local, request->line, sectors);
        level->counts.hits[request->kind] += count_bits(held);
        add_to_profile(level, request, distance, count_bits(held), count_bits(missing));
        request->next_level_sectors = missing;
        return true;
    }
    if (missing && level->config.mshr_size && busy_mshrs(level, mshr) >= level->config.mshr_size)
        return false;
    const double steps =
        level->config.fixed + level->config.per_busy * (double)busy_mshrs(level, mshr);
    /* Sectors of the fills that are already in the cache are not fetched. */
    uint64_t fetch = 0;
    for (unsigned i = 0; i < 64; i++)
        if (whole_fills(level, request, missing) >> i & 1 &&
            oracle_probe(level->units[unit], local + i * sector_bytes(level),
                         sector_bytes(level)) != FTH_CACHE_HIT)
            fetch |= UINT64_C(1) << i;
    miss_history_miss(&level->history, request->line, missing, fetch, is_held(level, unit, local),
                      misses_of(level, request));
    const uint64_t distance = touch_sectors(run, level, unit, local, sectors, fetch);
    note_use(level, unit, local, request->line, sectors | fetch);
    level->counts.hits[request->kind] += count_bits(sectors) - count_bits(missing);
    add_to_profile(level, request, distance, count_bits(sectors) - count_bits(missing),
                   count_bits(missing));
    request->next_level_sectors = fetch;
    if (!missing)
        return true;
    add_miss(level, mshr, request->line, fetch, (uint64_t)steps);
    if (level->is_l2)
        read_home_or_memory(run, level, request->line, missing, fetch, request->kind);
    return true;
}

/* Finds the next range of accessed bytes at or after *from. Returns false if there is none. */
static bool next_run(const struct level *level, const struct request *request, uint64_t *from,
                     uint64_t *to)
{
    while (*from < level->config.line_bytes && !request->bytes[*from])
        ++*from;
    for (*to = *from; *to < level->config.line_bytes && request->bytes[*to];)
        ++*to;
    return *from < level->config.line_bytes;
}

static void invalidate(struct level *level, size_t unit, uint64_t local, uint64_t line)
{
    uint64_t dirty;
    miss_history_add(&level->history, MISS_REMOVED, line,
                     complete_sectors(level, unit, local, ~UINT64_C(0)));
    remove_from_stack(level, unit, local);
    oracle_invalidate(level->units[unit], local, &dirty);
}

/* Returns the sectors of a request of which the cache holds no byte. */
static uint64_t absent_sectors(const struct level *level, size_t unit, uint64_t local,
                               const struct request *request)
{
    uint64_t absent = request_sectors(level, request);
    for (uint64_t byte = 0; byte < level->config.line_bytes; byte++)
        if (oracle_probe(level->units[unit], local + byte, 1) == FTH_CACHE_HIT)
            absent &= ~((uint64_t)1 << byte / sector_bytes(level));
    return absent;
}

static void attempt_write(struct run *run, struct level *level, size_t unit, uint64_t local,
                          struct request *request)
{
    const bool passes =
        !level->is_l2 && request->l1 == ORACLE_NO_ALLOCATE && !is_held(level, unit, local);
    const bool cached = strcmp(level->config.bypass, "off") == 0 && !passes;
    uint64_t missing = cached ? absent_sectors(level, unit, local, request) : 0;
    uint64_t distance = level->config.ways;
    bool first = true;
    for (uint64_t from = 0, to; next_run(level, request, &from, &to); from = to) {
        if (!cached) {
            if (oracle_probe(level->units[unit], local + from, to - from) != FTH_CACHE_HIT)
                missing = request_sectors(level, request);
            continue;
        }
        struct fth_cache_result result =
            oracle_access(level->units[unit], local + from, to - from, FTH_CACHE_WRITE);
        count_evicted(run, level, &result);
        const uint64_t found = move_to_front(level, unit, &result, local);
        if (first)
            distance = found;
        first = false;
    }
    if (cached)
        note_use(level, unit, local, request->line, request_sectors(level, request));
    else
        invalidate(level, unit, local, request->line);
    const uint64_t sectors = request_sectors(level, request);
    level->counts.hits[request->kind] += count_bits(sectors) - count_bits(missing);
    add_to_profile(level, request, distance, count_bits(sectors) - count_bits(missing),
                   count_bits(missing));
    request->next_level_sectors = sectors;
    if (level->is_l2 && !cached)
        run->result->dram_writes += count_bits(sectors);
}

/* A request that bypasses the cache. */
static void attempt_bypass(struct run *run, struct level *level, size_t unit, uint64_t local,
                           struct request *request)
{
    const uint64_t sectors = request_sectors(level, request);
    if ((request->kind != FTH_TRACE_READ || request->l1 == ORACLE_EVICT) &&
        strcmp(level->config.bypass, "rwon") != 0)
        invalidate(level, unit, local, request->line);
    if (request->kind == FTH_TRACE_READ)
        level->counts.misses[MISS_COLD] += count_bits(sectors);
    add_to_profile(level, request, level->config.ways, 0, count_bits(sectors));
    request->next_level_sectors = sectors;
    if (level->is_l2 && request->kind == FTH_TRACE_WRITE)
        run->result->dram_writes += count_bits(sectors);
    else if (level->is_l2)
        read_home_or_memory(run, level, request->line, sectors, 0, request->kind);
}

/* Tries a request once and counts it. Returns false as attempt_read() does. */
static bool attempt(struct run *run, struct level *level, size_t unit, uint64_t local,
                    struct request *request)
{
    const bool off = strcmp(level->config.bypass, "off") == 0;
    const bool passes =
        !level->is_l2 && (request->l1 == ORACLE_BYPASS || request->l1 == ORACLE_EVICT);
    bool done = true;
    if (strcmp(level->config.bypass, "rwon") == 0 || passes ||
        (request->kind == FTH_TRACE_ATOMIC && !(level->is_l2 && off))) {
        attempt_bypass(run, level, unit, local, request);
    } else if (request->kind == FTH_TRACE_READ) {
        done = attempt_read(run, level, unit, local, request);
    } else if (request->kind == FTH_TRACE_ATOMIC) {
        done = attempt_read(run, level, unit, local, request);
        const bool held = is_held(level, unit, local);
        for (uint64_t from = 0, to; done && held && next_run(level, request, &from, &to); from = to)
            oracle_access(level->units[unit], local + from, to - from, FTH_CACHE_WRITE);
    } else {
        attempt_write(run, level, unit, local, request);
    }
    if (!done) {
        level->counts.fails++;
        return false;
    }
    for (uint64_t s = 0; level->is_l2 && request->kind != FTH_TRACE_READ && s < run->model->sides;
         s++)
        if (&run->sides[s] != level) {
            const size_t other = unit_of(&run->sides[s], request->line, &local);
            invalidate(&run->sides[s], other, local, request->line);
        }
    level->counts.requests[request->kind]++;
    level->counts.sectors[request->kind] += count_bits(request_sectors(level, request));
    return true;
}

/* Processes the requests of a group in steps, until all are done. */
static void run_level(struct run *run, struct level *level, struct request *requests, size_t count)
{
    for (size_t left = count; left;) {
        uint64_t used[64] = {0}, local;
        bool *selected = calloc(count, sizeof *selected);
        for (size_t i = 0; i < count; i++)
            selected[i] = !requests[i].done &&
                          used[unit_of(level, requests[i].line, &local)]++ < level->config.ports;
        for (;;) { /* in the order of warps, and for one warp in the order of banks */
            size_t best = count;
            for (size_t i = 0; i < count; i++)
                if (selected[i] && (best == count || requests[i].warp < requests[best].warp ||
                                    (requests[i].warp == requests[best].warp &&
                                     unit_of(level, requests[i].line, &local) <
                                         unit_of(level, requests[best].line, &local))))
                    best = i;
            if (best == count)
                break;
            const size_t unit = unit_of(level, requests[best].line, &local);
            selected[best] = false;
            requests[best].done = attempt(run, level, unit, local, &requests[best]);
            left -= requests[best].done;
        }
        free(selected);
        level->step++;
        level->counts.steps++;
    }
}

/* ---- the L2 ---- */

/* Returns the home side of a line. */
static uint64_t home_of(const struct run *run, uint64_t line)
{
    return run->model->sides > 1 ? count_bits(line & run->model->home_mask) % 2 : 0;
}

/* Reads what a side of the L2 misses: from the home side of the line, and otherwise from memory.
 * `missing`: the requested sectors that missed; `fetch`: those with their fills; 0 for a bypass. */
static void read_home_or_memory(struct run *run, struct level *level, uint64_t line,
                                uint64_t missing, uint64_t fetch, enum fth_trace_access_kind kind)
{
    uint64_t wanted = fetch ? fetch : missing;
    struct level *home = &run->sides[home_of(run, line)];
    if (home != level && strcmp(level->config.bypass, "rwon") != 0) {
        uint64_t local, absent = 0, used = 0;
        const size_t unit = unit_of(home, line, &local);
        for (unsigned i = 0; i < 64; i++)
            if (wanted >> i & 1) {
                if (oracle_probe(home->units[unit], local + i * sector_bytes(home),
                                 sector_bytes(home)) != FTH_CACHE_HIT)
                    absent |= UINT64_C(1) << i;
                else
                    used |= UINT64_C(1) << i;
            }
        miss_history_miss(&home->history, line, absent, absent, is_held(home, unit, local), NULL);
        touch_sectors(run, home, unit, local, used, absent);
        note_use(home, unit, local, line, wanted);
        if (kind == FTH_TRACE_READ)
            run->result->far_hits += count_bits(missing & ~absent);
        wanted = absent;
    }
    run->result->dram_reads += count_bits(wanted);
}

/* ---- the GPU ---- */

/* Converts what a request to the L1 passes on to requests to the L2, with lines of the L2. `side`
 * is the side that the SM is near. */
static void send_to_l2(struct run *run, const struct level *l1, const struct request *request,
                       uint64_t side, struct request **lists, size_t *counts, uint64_t sequence)
{
    size_t from[2] = {counts[0], counts[1]};
    const struct request template = {
        .kind = request->kind, .warp = sequence, .l2_fill_bytes = request->l2_fill_bytes};
    for (uint64_t i = 0; i < l1->config.line_bytes; i++) {
        const bool read = request->kind == FTH_TRACE_READ;
        if (read ? !(request->next_level_sectors >> (i / sector_bytes(l1)) & 1)
                 : !request->bytes[i])
            continue;
        const uint64_t address = request->line + i, l2_line = run->model->l2.line_bytes;
        const uint64_t home = home_of(run, address / l2_line * l2_line);
        const uint64_t to = read ? side : home;
        lists[to] = oracle_add_byte(lists[to], &counts[to], from[to], l2_line, address, &template);
    }
}

static void add_counts(struct oracle_counts *to, const struct oracle_counts *from)
{
    for (int k = 0; k < 3; k++) {
        to->requests[k] += from->requests[k];
        to->sectors[k] += from->sectors[k];
        to->hits[k] += from->hits[k];
        to->merges[k] += from->merges[k];
    }
    to->steps = from->steps > to->steps ? from->steps : to->steps;
    to->fails += from->fails;
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < ORACLE_PROFILE; i++)
            to->profile[k][i] += from->profile[k][i];
    for (int cause = 0; cause < MISS_CAUSES; cause++)
        to->misses[cause] += from->misses[cause];
}

static void make_levels(struct run *run, uint64_t active)
{
    const struct oracle_model *model = run->model;
    run->l1 = calloc(model->sms, sizeof *run->l1);
    if (!run->l1)
        abort();
    for (uint64_t sm = 0; sm < model->sms; sm++) {
        make_level(&run->l1[sm], &model->l1, 1, false, model->seed);
        run->l1[sm].config.per_busy *=
            (double)active /
            (double)(model->sides * model->l2.partitions * model->l2.banks * model->l2.ports);
    }
    for (uint64_t side = 0; side < model->sides; side++)
        make_level(&run->sides[side], &model->l2, model->sides, true, model->seed);
}

/* Adds the counts of all caches to the result, and frees the caches. */
static void finish_levels(struct run *run, struct oracle_result *result)
{
    for (uint64_t sm = 0; sm < run->model->sms; sm++) {
        add_counts(&result->l1, &run->l1[sm].counts);
        free_level(&run->l1[sm]);
    }
    for (uint64_t side = 0; side < run->model->sides; side++) {
        add_counts(&result->l2, &run->sides[side].counts);
        free_level(&run->sides[side]);
    }
    free(run->l1);
}

void oracle_model_run(const struct oracle_model *model, uint64_t blocks, uint64_t warps,
                      const struct oracle_access *accesses, size_t count,
                      struct oracle_result *result)
{
    struct run run = {.model = model, .result = result};
    struct placed_access *order = oracle_order(model, blocks, warps, accesses, count);
    struct request *lists[2] = {NULL, NULL};
    size_t counts[2] = {0, 0};
    const uint64_t sms = model->sms, sides = model->sides, schedulers = model->schedulers;
    uint64_t groups = 0, sequence = 0;
    if (sms == 0 || schedulers == 0 || sides < 1 || sides > 2)
        abort();
    const uint64_t active = blocks < sms ? blocks : sms;
    memset(result, 0, sizeof *result);
    make_levels(&run, active);
    for (size_t i = 0, end; i < count; i = end) {
        /* A group: the accesses that the schedulers of an SM issue together, one warp each. */
        const struct oracle_access *first = &order[i].access;
        for (end = i; end < count && order[end].access.number == first->number &&
                      order[end].access.block == first->block &&
                      order[end].access.warp / schedulers == first->warp / schedulers;)
            end++;
        size_t request_count;
        struct request *requests =
            oracle_make_requests(model, order + i, order + end, &request_count);
        const uint64_t sm = order[i].sm;
        run_level(&run, &run.l1[sm], requests, request_count);
        for (size_t w = 0; w < request_count; w++)
            send_to_l2(&run, &run.l1[sm], &requests[w], sm % sides, lists, counts, sequence++);
        free(requests);
        /* The L2 processes its requests after as many groups as there are active SMs. */
        if (++groups < active && end < count)
            continue;
        groups = 0;
        for (uint64_t side = 0; side < sides; side++) {
            run_level(&run, &run.sides[side], lists[side], counts[side]);
            counts[side] = 0;
        }
    }
    finish_levels(&run, result);
    free(lists[0]);
    free(lists[1]);
    free(order);
}
