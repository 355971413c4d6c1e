/* One bank, and requests in the order of the warps: then its queue is what failed, and behind it
 * the requests that have not come to a port yet. Most attempts are reads that hit, or that fail
 * since all registers are taken; both are known here without the rest of an attempt. What has
 * failed so fails again until a register is free, or until its line is used by another request. */
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

/* Hits of one instruction that are not counted yet. */
struct tally {
    uint32_t instruction;
    uint64_t requests, sectors;
};

static void count_hits(const struct work *work, struct tally *tally)
{
    struct fth_model_counts *counts = &work->counts[tally->instruction];
    counts->hits[FTH_TRACE_READ] += tally->sectors;
    counts->requests[FTH_TRACE_READ] += tally->requests;
    counts->sectors[FTH_TRACE_READ] += tally->sectors;
    tally->requests = tally->sectors = 0;
}

/* A read of what is here and not under way: true where it is one, and done. */
static FTH_INLINE bool hit(const struct work *work, size_t at, struct tally *tally)
{
    struct fth_cache *cache = work->unit->cache;
    const struct fth_request *request = &work->requests[at];
    const struct fth_cache_spot *spot = &work->level->spots[at];
    if (request->kind != FTH_TRACE_READ || request->flags || spot->slot == FTH_NO_SLOT ||
        cache->lines[spot->slot] != spot->line || request->sectors & ~cache->valid[spot->slot] ||
        fth_mshr_pending(work->unit->mshr, request->line))
        return false;
    const uint32_t distance = fth_slot_use(cache, spot->set, spot->slot);
    const unsigned sectors = (unsigned)__builtin_popcountll(request->sectors);
    work->profile[distance < work->last ? distance : work->last] += sectors;
    if (request->instruction != tally->instruction)
        count_hits(work, tally);
    tally->instruction = request->instruction;
    tally->requests++;
    tally->sectors += sectors;
    return true;
}

/* A read of a line that is neither here nor under way, while no register is free. */
static inline bool misses(const struct work *work, size_t at)
{
    const struct fth_request *request = &work->requests[at];
    struct fth_cache_spot *spot = &work->level->spots[at];
    if (request->kind != FTH_TRACE_READ || request->flags || !fth_mshr_full(work->unit->mshr) ||
        fth_mshr_pending(work->unit->mshr, request->line))
        return false;
    fth_cache_look_again(work->unit->cache, spot);
    return spot->slot == FTH_NO_SLOT;
}

/* As many as hit from `next` on; the first that does not. `used`: ports that they have taken of the
 * step that is not over. */
static size_t run_hits(const struct work *shared, size_t next, size_t end, size_t *used,
                       struct tally *tallied)
{
    const struct work copy = *shared, *work = &copy; /* which nothing aliases */
    struct fth_tier *level = work->level;
    const size_t ports = (size_t)level->shape.ports;
    uint64_t step = level->step;
    size_t in_step = 0;
    struct tally tally = *tallied;
    for (; next < end; next++) {
        fth_mshr_step(work->unit->mshr, step);
        if (!hit(work, next, &tally))
            break;
        if (++in_step == ports) {
            in_step = 0;
            step++;
        }
    }
    *tallied = tally;
    level->totals.steps += step - level->step;
    level->step = step;
    *used = in_step;
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
        if (hit(work, at, tally))
            return true;
        if (misses(work, at))
            *waiting |= KNOWN;
    }
    if (*waiting & KNOWN && fth_mshr_full(work->unit->mshr)) {
        level->totals.fails++;
        return false;
    }
    *waiting = at;
    turn->spot = &level->spots[at];
    turn->request = &work->requests[at];
    turn->runs = work->runs ? work->runs + turn->request->run : NULL;
    turn->counts = &work->counts[turn->request->instruction];
    return fth_tier_attempt(level, turn) != FTH_RESULT_FAIL;
}

/* A line was used: what waits for the same is looked at again. */
static void forget(const struct work *work, uint32_t *waiting, size_t count, uint64_t line)
{
    for (size_t i = 0; i < count; i++)
        if (work->level->spots[waiting[i] & ~KNOWN].line == line)
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
    size_t next = 0, tried = 0, used = 0;
    while (tried || (next < count && !level->failed)) {
        if (!tried && work.plain)
            next = run_hits(&work, next, count, &used, &tally);
        while (tried + used < level->shape.ports && next < count)
            waiting[tried++] = (uint32_t)next++;
        size_t left = 0;
        for (size_t i = 0; i < tried; i++) {
            if (!serve(&work, &waiting[i], &tally, &turn)) {
                waiting[left++] = waiting[i];
                continue;
            }
            const uint64_t line = level->spots[waiting[i]].line;
            forget(&work, waiting, left, line);
            forget(&work, waiting + i + 1, tried - i - 1, line);
        }
        if (tried + used)
            fth_tier_end_step(level, tried, tried + used - left);
        used = 0;
        tried = level->failed ? 0 : left;
    }
    count_hits(&work, &tally);
    return !level->failed;
}
