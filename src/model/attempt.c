/* One request of a cache of the model: what of its line is here, under way or has to come. */
#include "model/tier.h"

#define NONE UINT32_MAX

static unsigned count_bits(uint64_t mask)
{
    return (unsigned)__builtin_popcountll(mask);
}

static struct fth_unit *unit_of(const struct fth_tier *level, const struct fth_turn *turn)
{
    return &level->units[turn->unit];
}

static void count(struct fth_tier *level, const struct fth_turn *turn, uint64_t hits,
                  uint64_t misses)
{
    const enum fth_trace_access_kind kind = turn->request->kind;
    uint64_t *profile = level->totals.profile[kind != FTH_TRACE_READ];
    const size_t last = level->totals.profile_size - 1;
    profile[turn->distance < last ? turn->distance : last] += hits;
    profile[last] += misses;
    turn->counts->hits[kind] += hits;
}

static uint64_t find_missing(const struct fth_tier *level, const struct fth_turn *turn)
{
    return fth_cache_missing(unit_of(level, turn)->cache, turn->spot, turn->request->sectors,
                             turn->runs, turn->runs ? turn->request->run_count : 0);
}

/* Uses the line, with what is missing of it, in whole fills; what was fetched of that. */
static uint64_t bring(const struct fth_tier *level, struct fth_turn *turn, uint64_t missing)
{
    struct fth_cache_result result;
    const uint64_t fetched = fth_cache_bring(unit_of(level, turn)->cache, turn->spot,
                                             fth_shape_fills(&level->shape, missing), &result);
    turn->distance = result.distance;
    fth_tier_tell_evicted(turn->beneath, &result);
    return fetched;
}

/* Joins a miss under way. Where the line was replaced before it came, nothing is brought in for it.
 */
static void merge_line(struct fth_tier *level, struct fth_turn *turn)
{
    const unsigned sectors = count_bits(turn->request->sectors);
    if (turn->spot->slot != FTH_NO_SLOT)
        bring(level, turn, find_missing(level, turn));
    turn->counts->merges[turn->request->kind] += sectors;
    count(level, turn, level->shape.merged_hits ? sectors : 0,
          level->shape.merged_hits ? 0 : sectors);
}

static enum fth_verdict_kind read_line(struct fth_tier *level, struct fth_turn *turn)
{
    struct fth_request *request = turn->request;
    struct fth_mshr *mshr = unit_of(level, turn)->mshr;
    fth_cache_look_again(unit_of(level, turn)->cache, turn->spot);
    switch (fth_mshr_merge(mshr, request->line, request->sectors, level->shape.mshr_merges)) {
    case FTH_MERGE_FAILED: return FTH_RESULT_FAIL;
    case FTH_MERGE_DONE: merge_line(level, turn); return FTH_RESULT_MERGED;
    case FTH_MERGE_NONE: break;
    }
    const uint64_t missing = find_missing(level, turn);
    if (missing && fth_mshr_full(mshr))
        return FTH_RESULT_FAIL;
    request->missing = bring(level, turn, missing);
    const unsigned sectors = count_bits(request->sectors), misses = count_bits(missing);
    count(level, turn, sectors - misses, misses);
    if (!missing)
        return FTH_RESULT_HIT;
    fth_tier_await(level, mshr, turn, missing);
    return FTH_RESULT_MISS;
}

static enum fth_verdict_kind write_line(struct fth_tier *level, struct fth_turn *turn)
{
    struct fth_request *request = turn->request;
    struct fth_cache *cache = unit_of(level, turn)->cache;
    uint64_t missing = 0;
    fth_cache_look_again(cache, turn->spot);
    if (level->shape.write == FTH_WRITE_EVICT) {
        missing = find_missing(level, turn) ? request->sectors : 0;
        fth_cache_drop(cache, turn->spot);
    } else {
        for (uint32_t i = 0; turn->runs && i < request->run_count; i++) {
            struct fth_cache_result result;
            if (fth_cache_write(cache, turn->spot, turn->runs[i], &result) != FTH_CACHE_HIT)
                missing |= result.sectors;
            if (i == 0)
                turn->distance = result.distance;
            fth_tier_tell_evicted(turn->beneath, &result);
        }
    }
    request->missing = request->sectors; /* all of it goes on */
    const unsigned misses = count_bits(missing);
    count(level, turn, count_bits(request->sectors) - misses, misses);
    fth_tier_tell_miss(turn, request->sectors);
    return misses ? FTH_RESULT_MISS : FTH_RESULT_HIT;
}

/* An atomic, where it is done: its sectors are brought in whole, and written. */
static enum fth_verdict_kind change_line(struct fth_tier *level, struct fth_turn *turn)
{
    const struct fth_cache_run *runs = turn->runs;
    turn->runs = NULL;
    const enum fth_verdict_kind kind = read_line(level, turn);
    if (kind == FTH_RESULT_FAIL || turn->spot->slot == FTH_NO_SLOT)
        return kind;
    struct fth_cache_result ignored;
    for (uint32_t i = 0; runs && i < turn->request->run_count; i++)
        fth_cache_write(unit_of(level, turn)->cache, turn->spot, runs[i], &ignored);
    return kind;
}

/* Past the cache, of which the line is dropped where it is changed. */
static enum fth_verdict_kind pass(struct fth_tier *level, struct fth_turn *turn)
{
    struct fth_request *request = turn->request;
    if (request->kind != FTH_TRACE_READ && level->shape.bypass != FTH_BYPASS_ALL) {
        fth_cache_look_again(unit_of(level, turn)->cache, turn->spot);
        fth_cache_drop(unit_of(level, turn)->cache, turn->spot);
    }
    request->missing = request->sectors;
    count(level, turn, 0, count_bits(request->sectors));
    fth_tier_tell_miss(turn, request->sectors);
    return FTH_RESULT_MISS;
}

static enum fth_verdict_kind do_request(struct fth_tier *level, struct fth_turn *turn)
{
    const struct fth_request *request = turn->request;
    const bool atomic = request->kind == FTH_TRACE_ATOMIC;
    if (level->shape.bypass == FTH_BYPASS_ALL || request->flags & FTH_REQUEST_PAST_L1 ||
        (atomic && level->shape.write != FTH_WRITE_BACK))
        return pass(level, turn);
    if (request->kind == FTH_TRACE_READ)
        return read_line(level, turn);
    return atomic ? change_line(level, turn) : write_line(level, turn);
}

enum fth_verdict_kind fth_tier_attempt(struct fth_tier *level, struct fth_turn *turn)
{
    const struct fth_request *request = turn->request;
    fth_mshr_step(unit_of(level, turn)->mshr, level->step);
    turn->distance = NONE;
    const enum fth_verdict_kind kind = do_request(level, turn);
    if (kind == FTH_RESULT_FAIL) {
        level->totals.fails++;
    } else {
        level->sends |= request->missing != 0;
        turn->counts->requests[request->kind]++;
        turn->counts->sectors[request->kind] += count_bits(request->sectors);
        if (request->kind != FTH_TRACE_READ && turn->beneath && turn->beneath->changed)
            turn->beneath->changed(turn->beneath->context, turn);
    }
    if (level->seen) {
        const uint64_t busy = fth_mshr_busy(unit_of(level, turn)->mshr);
        level->seen(level->seen_context,
                    &(struct fth_attempt){level->step, request->line, kind, turn->distance,
                                          (uint32_t)turn->unit, level->shape.mshr_size - busy});
    }
    return kind;
}
