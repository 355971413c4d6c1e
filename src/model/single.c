/* One bank, and requests in the order of the warps: then its queue is what failed, and behind it
 * the requests that have not come to a port yet. Most attempts are reads of lines of which all is
 * here, or nothing, and nothing is under way. These hit, miss, or fail while all registers are
 * taken, and are done here; the others are left to attempt.c. What has failed so fails again until
 * a register is free, or until its line is used by another request. */
#include "model/tier.h"

/* Of what waits: its line is neither here nor under way. */
#define KNOWN (UINT32_C(1) << 31)

struct work {
    struct fth_tier *level;
    struct fth_unit *unit;
    struct fth_request *requests;
    const struct fth_cache_run *runs;
    struct fth_model_counts *counts; /* by instruction */
    uint64_t *profile;
    size_t last; /* of the profile */
    bool plain;  /* nobody watches, and not all pass */
};

/* Reads of one instruction that are not counted yet. */
struct tally {
    uint32_t instruction;
    uint64_t requests, sectors, hits;
};

static void count_reads(const struct work *work, struct tally *tally)
{
    struct fth_model_counts *counts = &work->counts[tally->instruction];
    counts->hits[FTH_TRACE_READ] += tally->hits;
    counts->requests[FTH_TRACE_READ] += tally->requests;
    counts->sectors[FTH_TRACE_READ] += tally->sectors;
    tally->requests = tally->sectors = tally->hits = 0;
}

/* A read at this distance, of which all sectors hit or none. */
static FTH_INLINE void count_read(const struct work *work, const struct fth_request *request,
                                  uint32_t distance, bool hits, struct tally *tally)
{
    const unsigned sectors = (unsigned)__builtin_popcountll(request->sectors);
    work->profile[distance < work->last ? distance : work->last] += sectors;
    if (request->instruction != tally->instruction)
        count_reads(work, tally);
    tally->instruction = request->instruction;
    tally->requests++;
    tally->sectors += sectors;
    tally->hits += hits ? sectors : 0;
}

/* A read, by a cache that may have it, of a line of which nothing is under way. */
static FTH_INLINE bool is_plain(const struct work *work, const struct fth_request *request)
{
    return request->kind == FTH_TRACE_READ && !request->flags &&
           !fth_mshr_pending(work->unit->mshr, request->line);
}

/* Whether it is a plain read of what is here. */
static FTH_INLINE bool is_hit(const struct work *work, size_t at)
{
    const struct fth_cache *cache = work->unit->cache;
    const struct fth_request *request = &work->requests[at];
    const struct fth_cache_spot *spot = &work->level->spots[at];
    return spot->slot != FTH_NO_SLOT && cache->lines[spot->slot].number == spot->line &&
           !(request->sectors & ~cache->lines[spot->slot].valid) && is_plain(work, request);
}

static FTH_INLINE void hit(const struct work *work, size_t at, struct tally *tally)
{
    const struct fth_cache_spot *spot = &work->level->spots[at];
    const uint32_t distance = fth_slot_use(work->unit->cache, spot->set, spot->slot);
    count_read(work, &work->requests[at], distance, true, tally);
}

/* Whether it is a plain read of a line that is not here. */
static FTH_INLINE bool is_absent(const struct work *work, size_t at)
{
    struct fth_cache_spot *spot = &work->level->spots[at];
    if (!is_plain(work, &work->requests[at]))
        return false;
    fth_cache_look_again(work->unit->cache, spot);
    return spot->slot == FTH_NO_SLOT;
}

/* A plain read of a line that is not here, with a register free. */
static FTH_INLINE void miss(const struct work *work, struct fth_turn *turn, struct tally *tally)
{
    struct fth_tier *level = work->level;
    struct fth_request *request = turn->request;
    struct fth_cache_result result;
    request->missing = fth_cache_bring(work->unit->cache, turn->spot,
                                       fth_shape_fills(&level->shape, request->sectors), &result);
    fth_tier_tell_evicted(turn->beneath, &result);
    count_read(work, request, UINT32_MAX, false, tally);
    level->sends = true;
    fth_tier_await(level, work->unit->mshr, turn, request->sectors);
}

/* As many as are done at once from `next` on; the first that is not. What hits leaves the others
 * where they are, so they are looked at together. `used`: ports that were taken of the step that is
 * not over. */
static size_t run_plain(const struct work *shared, size_t next, size_t end, size_t *used,
                        struct tally *tallied, struct fth_turn *turn)
{
    const struct work copy = *shared, *work = &copy; /* which nothing aliases */
    struct fth_tier *level = work->level;
    const size_t ports = (size_t)level->shape.ports;
    struct tally tally = *tallied;
    size_t port = 0;
    for (;;) {
        const size_t first = next;
        fth_mshr_step(work->unit->mshr, level->step);
        while (next < end && is_hit(work, next))
            next++;
        for (size_t i = first; i < next; i++)
            hit(work, i, &tally);
        if (next == first) {
            if (next == end || !is_absent(work, next) || fth_mshr_full(work->unit->mshr))
                break;
            turn->spot = &level->spots[next];
            turn->request = &work->requests[next++];
            miss(work, turn, &tally);
        }
        port += next - first;
        if (port >= ports) {
            level->totals.steps += port / ports;
            level->step += port / ports;
            port %= ports;
        }
    }
    *tallied = tally;
    *used = port;
    return next;
}

/* One of those that wait has come to a port; true where it is done. */
static FTH_INLINE bool serve(const struct work *work, uint32_t *waiting, struct tally *tally,
                             struct fth_turn *turn)
{
    struct fth_tier *level = work->level;
    const uint32_t at = *waiting & ~KNOWN;
    fth_mshr_step(work->unit->mshr, level->step);
    if (work->plain && !(*waiting & KNOWN)) {
        if (is_hit(work, at)) {
            hit(work, at, tally);
            return true;
        }
        if (is_absent(work, at))
            *waiting |= KNOWN;
    }
    if (*waiting & KNOWN && fth_mshr_full(work->unit->mshr)) {
        level->totals.fails++;
        return false;
    }
    turn->spot = &level->spots[at];
    turn->request = &work->requests[at];
    if (*waiting & KNOWN) {
        *waiting = at;
        miss(work, turn, tally);
        return true;
    }
    turn->runs = work->runs ? work->runs + turn->request->run : NULL;
    turn->counts = &work->counts[turn->request->instruction];
    return fth_tier_attempt(level, turn) != FTH_RESULT_FAIL;
}

/* The line of a request was used: what waits for the same is looked at again. */
static FTH_INLINE void forget(const struct work *work, uint32_t *waiting, size_t count, uint32_t at)
{
    for (size_t i = 0; i < count; i++)
        if (work->requests[waiting[i] & ~KNOWN].line == work->requests[at].line)
            waiting[i] &= ~KNOWN;
}

bool fth_tier_run_single(struct fth_tier *level, struct fth_request *requests, size_t count,
                         const struct fth_cache_run *runs, struct fth_model_counts *counts,
                         const struct fth_beneath *beneath)
{
    const struct work work = {.level = level,
                              .unit = &level->units[0],
                              .requests = requests,
                              .runs = runs,
                              .counts = counts,
                              .profile = level->totals.profile[0],
                              .last = level->totals.profile_size - 1,
                              .plain = !level->seen && level->shape.bypass != FTH_BYPASS_ALL};
    struct fth_turn turn = {.unit = 0, .beneath = beneath};
    struct tally tally = {0};
    uint32_t *waiting = level->turn;
    size_t next = 0, waits = 0, used = 0;
    while ((waits || next < count) && !level->failed) {
        if (!waits && work.plain)
            next = run_plain(&work, next, count, &used, &tally, &turn);
        size_t left = 0, port = used + waits;
        for (size_t i = 0; i < waits; i++) {
            if (!serve(&work, &waiting[i], &tally, &turn)) {
                waiting[left++] = waiting[i];
                continue;
            }
            forget(&work, waiting, left, waiting[i]);
            forget(&work, waiting + i + 1, waits - i - 1, waiting[i]);
        }
        for (; port < level->shape.ports && next < count; port++) {
            waiting[left] = (uint32_t)next++;
            if (!serve(&work, &waiting[left], &tally, &turn))
                left++;
            else
                forget(&work, waiting, left, waiting[left]);
        }
        if (port)
            fth_tier_end_step(level);
        if (port && port == left)
            fth_tier_skip(level, port, fth_mshr_next(work.unit->mshr));
        used = 0;
        waits = left;
    }
    count_reads(&work, &tally);
    return !level->failed;
}
