/* Fast path of cache_level.c for a cache with one bank and requests in ascending order of warps.
 * The results are the same.
 *
 * In this case the queue consists of the requests that failed, followed by the requests that have
 * not reached a port yet. Most attempts are simple reads: no sector of the line is in flight, and
 * either all requested sectors are in the cache or the whole line is absent. A simple read hits,
 * misses, or fails if all MSHRs are in use. This file processes simple reads itself and calls
 * attempt.c for all other requests. A simple read that has failed fails again until an MSHR is free
 * or until another request accesses its line. */
#include "model/level/cache_level.h"

/* Flag in the list of waiting requests: the line is known to be neither in the cache nor in flight.
 */
#define ABSENT (UINT32_C(1) << 31)

struct single_bank {
    struct fth_cache_level *level;
    struct fth_unit *unit;
    struct fth_line_request *requests;
    const struct fth_cache_run *runs;
    struct fth_model_counts *counts; /* by instruction */
    uint64_t *profile;               /* of reads */
    const struct fth_next_level *next_level;
    size_t last; /* index of the last entry of the profile, which counts misses */
    /* The cache is not bypassed and has a replacement policy, and the causes of misses are not
     * wanted. */
    bool fast_path;
    bool evicts; /* the fast path includes writes of absent lines, which change nothing */
};

/* Counts a read of which either all sectors hit or none. */
static FTH_INLINE void count_read(const struct single_bank *bank,
                                  const struct fth_line_request *request, uint32_t distance,
                                  bool hits, struct fth_read_tally *tally)
{
    const unsigned sectors = (unsigned)__builtin_popcountll(request->sectors);
    bank->profile[distance < bank->last ? distance : bank->last] += sectors;
    fth_read_tally_begin(tally, request->instruction, bank->counts, bank->next_level);
    tally->requests++;
    tally->sectors += sectors;
    tally->hits += hits ? sectors : 0;
}

/* Whether the request is a read that does not bypass the cache, with no sector of its line in
 * flight. */
static FTH_INLINE bool is_simple_read(const struct single_bank *bank,
                                      const struct fth_line_request *request)
{
    return request->kind == FTH_TRACE_READ &&
           !(request->flags & bank->level->shape.request_flags) &&
           !fth_mshr_may_contain(bank->unit->mshr, request->line);
}

/* Whether the request is a simple read that hits with all its sectors. */
static FTH_INLINE bool is_hit(const struct single_bank *bank, size_t at)
{
    const struct fth_cache *cache = bank->unit->cache;
    const struct fth_line_request *request = &bank->requests[at];
    const struct fth_cache_location *location = &bank->level->locations[at];
    return location->slot != FTH_NO_SLOT &&
           fth_line_of(cache, location->slot)->number == location->line &&
           !(request->sectors & ~fth_line_of(cache, location->slot)->valid) &&
           is_simple_read(bank, request);
}

static FTH_INLINE void hit(const struct single_bank *bank, size_t at, struct fth_read_tally *tally)
{
    const struct fth_cache_location *location = &bank->level->locations[at];
    const uint32_t distance = fth_slot_use(bank->unit->cache, location->set, location->slot);
    count_read(bank, &bank->requests[at], distance, true, tally);
}

/* Whether the request is a simple read of a line that is not in the cache. */
static FTH_INLINE bool is_absent(const struct single_bank *bank, size_t at)
{
    struct fth_cache_location *location = &bank->level->locations[at];
    if (!is_simple_read(bank, &bank->requests[at]))
        return false;
    fth_cache_locate_again(bank->unit->cache, location);
    return location->slot == FTH_NO_SLOT;
}

/* Processes a simple read of an absent line; an MSHR must be free. */
static FTH_INLINE void miss(const struct single_bank *bank, struct fth_port_access *access,
                            struct fth_read_tally *tally)
{
    struct fth_cache_level *level = bank->level;
    struct fth_line_request *request = access->request;
    struct fth_cache_result result;
    request->missing = fth_cache_fill(bank->unit->cache, access->location,
                                      fth_shape_fills(&level->shape, request->sectors), &result);
    fth_cache_level_report_eviction(access->next_level, &result);
    count_read(bank, request, UINT32_MAX, false, tally);
    level->forwards = true;
    fth_cache_level_begin_miss(level, bank->unit->mshr, access);
    if (bank->next_level->fetched)
        tally->fetched += (unsigned)__builtin_popcountll(request->missing);
    else
        fth_cache_level_report_miss(access, request->sectors);
}

/* Whether the request is a write of a line that a write-evict cache does not hold. */
static FTH_INLINE bool is_write_of_absent(const struct single_bank *bank, size_t at)
{
    struct fth_cache_location *location = &bank->level->locations[at];
    if (!bank->evicts || bank->requests[at].kind != FTH_TRACE_WRITE ||
        bank->requests[at].flags & FTH_LINE_REQUEST_L1_FLAGS)
        return false;
    fth_cache_locate_again(bank->unit->cache, location);
    return location->slot == FTH_NO_SLOT;
}

/* Forwards such a write. */
static FTH_INLINE void forward_write(const struct single_bank *bank, struct fth_port_access *access)
{
    access->counts = &bank->counts[access->request->instruction];
    fth_cache_level_count_write(bank->level, access, false);
    fth_cache_level_report_miss(access, access->request->sectors);
    if (bank->next_level->changed)
        bank->next_level->changed(bank->next_level->context, access);
}

/* Processes simple reads and writes of absent lines from index `next` on until a request is neither
 * or finds no free MSHR, and returns its index. Hits do not move lines to other slots, so a series
 * of them is checked before the first is counted. *used_ports gets the number of ports taken in the
 * unfinished step. */
static size_t run_simple_requests(const struct single_bank *shared, size_t next, size_t end,
                                  size_t *used_ports, struct fth_read_tally *saved_tally,
                                  struct fth_port_access *access)
{
    const struct single_bank copy = *shared,
                             *bank = &copy; /* a local copy, which no store can alias */
    struct fth_cache_level *level = bank->level;
    const size_t ports = (size_t)level->shape.ports;
    struct fth_read_tally tally = *saved_tally;
    size_t port = 0;
    for (;;) {
        const size_t first = next;
        fth_mshr_step(bank->unit->mshr, level->step);
        while (next < end && is_hit(bank, next))
            next++;
        for (size_t i = first; i < next; i++)
            hit(bank, i, &tally);
        while (next < end && is_write_of_absent(bank, next)) {
            access->location = &level->locations[next];
            access->request = &bank->requests[next++];
            forward_write(bank, access);
        }
        if (next == first) {
            if (next == end || !is_absent(bank, next) || fth_mshr_full(bank->unit->mshr))
                break;
            access->location = &level->locations[next];
            access->request = &bank->requests[next++];
            miss(bank, access, &tally);
        }
        port += next - first;
        if (port >= ports) {
            level->totals.steps += port / ports;
            level->step += port / ports;
            port %= ports;
        }
    }
    *saved_tally = tally;
    *used_ports = port;
    return next;
}

/* Tries a waiting request at a port; true: it is done. Marks it ABSENT if its line is. */
static FTH_INLINE bool try_request(const struct single_bank *bank, uint32_t *waiting,
                                   struct fth_read_tally *tally, struct fth_port_access *access)
{
    struct fth_cache_level *level = bank->level;
    const uint32_t at = *waiting & ~ABSENT;
    fth_mshr_step(bank->unit->mshr, level->step);
    if (bank->fast_path && !(*waiting & ABSENT)) {
        if (is_hit(bank, at)) {
            hit(bank, at, tally);
            return true;
        }
        if (is_absent(bank, at))
            *waiting |= ABSENT;
    }
    if (*waiting & ABSENT && fth_mshr_full(bank->unit->mshr)) {
        level->totals.fails++;
        return false;
    }
    access->location = &level->locations[at];
    access->request = &bank->requests[at];
    if (*waiting & ABSENT) {
        *waiting = at;
        miss(bank, access, tally);
        return true;
    }
    access->runs = bank->runs ? bank->runs + access->request->run : NULL;
    access->counts = &bank->counts[access->request->instruction];
    return fth_cache_level_attempt(level, access) != FTH_ATTEMPT_FAIL;
}

/* Clears the ABSENT mark of the waiting requests that have the line of request `at`, which was just
 * processed. */
static FTH_INLINE void clear_absent(const struct single_bank *bank, uint32_t *waiting, size_t count,
                                    uint32_t at)
{
    for (size_t i = 0; i < count; i++)
        if (bank->requests[waiting[i] & ~ABSENT].line == bank->requests[at].line)
            waiting[i] &= ~ABSENT;
}

/* Processes `count` requests in steps, until all of them are done. False: out of memory. */
FTH_CLONES
static bool run_requests(const struct single_bank *bank, size_t count)
{
    struct fth_cache_level *level = bank->level;
    struct fth_port_access access = {.unit = 0, .next_level = bank->next_level};
    struct fth_read_tally tally = {0};
    uint32_t *waiting = level->scheduled;
    size_t next = 0, waiting_count = 0, used_ports = 0;
    while ((waiting_count || next < count) && !level->failed) {
        if (!waiting_count && bank->fast_path)
            next = run_simple_requests(bank, next, count, &used_ports, &tally, &access);
        size_t left = 0, port = used_ports + waiting_count;
        for (size_t i = 0; i < waiting_count; i++) {
            if (!try_request(bank, &waiting[i], &tally, &access)) {
                waiting[left++] = waiting[i];
                continue;
            }
            clear_absent(bank, waiting, left, waiting[i]);
            clear_absent(bank, waiting + i + 1, waiting_count - i - 1, waiting[i]);
        }
        for (; port < level->shape.ports && next < count; port++) {
            waiting[left] = (uint32_t)next++;
            if (!try_request(bank, &waiting[left], &tally, &access))
                left++;
            else
                clear_absent(bank, waiting, left, waiting[left]);
        }
        if (port)
            fth_cache_level_end_step(level);
        if (port && port == left)
            fth_cache_level_skip_steps(level, port, fth_mshr_next(bank->unit->mshr));
        used_ports = 0;
        waiting_count = left;
    }
    fth_read_tally_count(&tally, bank->counts, bank->next_level);
    return !level->failed;
}

bool fth_cache_level_run_single(struct fth_cache_level *level, struct fth_line_request *requests,
                                size_t count, const struct fth_cache_run *runs,
                                struct fth_model_counts *counts,
                                const struct fth_next_level *next_level)
{
    const bool fast_path =
        level->shape.bypass != FTH_BYPASS_ALL && !level->shadow && !level->units[0].belady;
    const struct single_bank bank = {.level = level,
                                     .unit = &level->units[0],
                                     .requests = requests,
                                     .runs = runs,
                                     .counts = counts,
                                     .profile = level->totals.profile[0],
                                     .next_level = next_level,
                                     .last = level->totals.profile_size - 1,
                                     .fast_path = fast_path,
                                     .evicts = fast_path && level->shape.write == FTH_WRITE_EVICT};
    return run_requests(&bank, count);
}

bool fth_cache_level_is_bypassed(const struct fth_cache_level *level,
                                 const struct fth_next_level *next_level)
{
    return level->shape.bypass == FTH_BYPASS_ALL && level->unit_count == 1 && !level->shadow &&
           !next_level->miss && !next_level->changed;
}

void fth_cache_level_run_bypassed(struct fth_cache_level *level, struct fth_line_request *requests,
                                  size_t count, struct fth_model_counts *counts)
{
    const uint64_t steps = (count + level->shape.ports - 1) / level->shape.ports;
    const size_t last = level->totals.profile_size - 1;
    for (size_t i = 0; i < count; i++) {
        struct fth_line_request *request = &requests[i];
        const unsigned sectors = (unsigned)__builtin_popcountll(request->sectors);
        request->missing = request->sectors;
        counts[request->instruction].requests[request->kind]++;
        counts[request->instruction].sectors[request->kind] += sectors;
        level->totals.profile[request->kind != FTH_TRACE_READ][last] += sectors;
    }
    level->forwards = count > 0;
    level->totals.steps += steps;
    level->step += steps;
}
