/* Internals of a simulated cache, shared by cache_level.c, attempt.c (one attempt of one request),
 * bound.c (the same for Belady's bound), plan.c and banks.c (the order and the steps of several
 * banks) and single_bank.c (those of one bank). */
#ifndef FTH_MODEL_CACHE_LEVEL_H
#define FTH_MODEL_CACHE_LEVEL_H

#include "model/level/level.h"

/* One bank of one partition: a set-associative array with a queue of requests. */
struct fth_unit {
    struct fth_cache *cache;   /* with Belady's bound it stays empty and only maps lines to sets */
    struct fth_belady *belady; /* NULL: the cache has a replacement policy */
    struct fth_mshr *mshr;     /* the MSHR set of its partition; borrowed */
    uint32_t head, end;        /* its requests are queue[head] to queue[end - 1] of the level */
};

struct fth_cache_level {
    struct fth_shape shape;
    struct fth_banking banking;
    struct fth_plan plan;   /* of the current group, unless the caller has a plan */
    struct fth_unit *units; /* partitions x banks */
    size_t unit_count;
    struct fth_mshr **mshrs;
    size_t mshr_count;
    uint64_t step;
    struct fth_cache_level_totals totals;
    uint32_t *queue; /* indices of the requests that wait for each unit */
    /* banks.c: the places in `queue` of the requests that reach a port in a step; single_bank.c:
     * the requests that failed */
    uint32_t *scheduled;
    /* Set and slot of each request; recheck the slot. With several banks, only of the requests in
     * `queue`. */
    struct fth_cache_location *locations;
    uint32_t *unit_of;               /* unit of the requests in `queue` */
    size_t capacity;                 /* requests in the four arrays above */
    bool forwards;                   /* a request of the last run was forwarded to the next level */
    bool failed;                     /* out of memory */
    struct fth_shadow *shadow;       /* NULL: the causes of misses are not wanted */
    struct fth_model_misses *misses; /* by instruction; borrowed */
};

/* Processes one request at a port in the current step, and counts it. */
enum fth_attempt_outcome fth_cache_level_attempt(struct fth_cache_level *level,
                                                 struct fth_port_access *access);
/* Report to the next level that a dirty line was evicted, or that a request is forwarded. */
static inline void fth_cache_level_report_eviction(const struct fth_next_level *next_level,
                                                   const struct fth_cache_result *result)
{
    if (result->evicted && result->evicted_dirty && next_level && next_level->evicted)
        next_level->evicted(next_level->context, result->evicted_line, result->evicted_dirty);
}
static inline void fth_cache_level_report_miss(const struct fth_port_access *access,
                                               uint64_t missing)
{
    if (access->next_level && access->next_level->miss)
        access->next_level->miss(access->next_level->context, access, missing);
}
/* Drops a line, not to replace it. `access` gives the unit and the line. */
static inline void fth_cache_level_drop_line(struct fth_cache_level *level,
                                             const struct fth_port_access *access,
                                             struct fth_cache_location *location)
{
    const struct fth_unit *unit = &level->units[access->unit];
    uint64_t sectors = 0;
    if (unit->belady)
        sectors = fth_belady_drop(unit->belady, location->set, location->line);
    else if (location->slot != FTH_NO_SLOT)
        sectors = fth_line_of(unit->cache, location->slot)->valid;
    if (level->shadow && sectors)
        fth_shadow_remove(level->shadow, access->request->line, sectors);
    fth_cache_drop(unit->cache, location);
}
/* Allocates an MSHR for the missing sectors of a read. */
static inline void fth_cache_level_begin_miss(struct fth_cache_level *level, struct fth_mshr *mshr,
                                              const struct fth_port_access *access)
{
    if (!fth_mshr_add(mshr, access->request->line, access->request->missing,
                      fth_shape_latency(&level->shape, fth_mshr_busy(mshr))))
        level->failed = true;
}
/* The same, and reports the miss. */
static inline void fth_cache_level_add_miss(struct fth_cache_level *level, struct fth_mshr *mshr,
                                            const struct fth_port_access *access, uint64_t missing)
{
    fth_cache_level_begin_miss(level, mshr, access);
    fth_cache_level_report_miss(access, missing);
}
static inline void fth_cache_level_end_step(struct fth_cache_level *level)
{
    level->step++;
    level->totals.steps++;
}
/* To be called after a step in which all `tried` requests failed. They fail in every step until
 * step `next`, in which a register becomes free or a line arrives. Counts these steps and fails
 * without executing them. */
static inline void fth_cache_level_skip_steps(struct fth_cache_level *level, size_t tried,
                                              uint64_t next)
{
    if (next == UINT64_MAX || next <= level->step)
        return;
    level->totals.fails += (next - level->step) * tried;
    level->totals.steps += next - level->step;
    level->step = next;
}

/* ---- bound.c ---- */

/* Counts the sectors of an access that hit and that miss. */
static inline void fth_cache_level_add_counts(struct fth_cache_level *level,
                                              const struct fth_port_access *access, uint64_t hits,
                                              uint64_t misses)
{
    const enum fth_trace_access_kind kind = access->request->kind;
    uint64_t *profile = level->totals.profile[kind != FTH_TRACE_READ];
    const size_t last = level->totals.profile_size - 1;
    profile[access->distance < last ? access->distance : last] += hits;
    profile[last] += misses;
    access->counts->hits[kind] += hits;
}
/* A request to a cache with Belady's bound that does not bypass the cache. It never
 * fails. */
enum fth_attempt_outcome fth_cache_level_attempt_bound(struct fth_cache_level *level,
                                                       struct fth_port_access *access);
/* fth_cache_level_read() for such a cache. */
uint64_t fth_cache_level_read_bound(struct fth_cache_level *level,
                                    const struct fth_port_access *access,
                                    const struct fth_cache_location *location, uint64_t sectors,
                                    const struct fth_next_level *next_level);
/* Extends sectors to whole fills, of the size that a hint of the request or the cache has. */
uint64_t fth_cache_level_fills(const struct fth_shape *shape,
                               const struct fth_line_request *request, uint64_t sectors);

/* Counts of consecutive reads of one instruction that are not yet in its counts. */
struct fth_read_tally {
    uint32_t instruction;
    uint64_t requests, sectors, hits, merges;
    uint64_t fetched; /* sectors that are not yet reported to fth_next_level.fetched */
};
/* Adds the tally to the counts of its instruction and resets it. */
static inline void fth_read_tally_count(struct fth_read_tally *tally,
                                        struct fth_model_counts *counts,
                                        const struct fth_next_level *next_level)
{
    struct fth_model_counts *own = &counts[tally->instruction];
    own->requests[FTH_TRACE_READ] += tally->requests;
    own->sectors[FTH_TRACE_READ] += tally->sectors;
    own->hits[FTH_TRACE_READ] += tally->hits;
    own->merges[FTH_TRACE_READ] += tally->merges;
    if (tally->fetched)
        next_level->fetched(next_level->context, tally->instruction, tally->fetched);
    *tally = (struct fth_read_tally){.instruction = tally->instruction};
}
/* Makes the tally one of this instruction. */
static inline void fth_read_tally_begin(struct fth_read_tally *tally, uint32_t instruction,
                                        struct fth_model_counts *counts,
                                        const struct fth_next_level *next_level)
{
    if (instruction == tally->instruction)
        return;
    fth_read_tally_count(tally, counts, next_level);
    tally->instruction = instruction;
}

/* ---- writes without changes of state ---- */

/* Counts a write. `hits`: all its sectors hit; otherwise none. */
static inline void fth_cache_level_count_write(struct fth_cache_level *level,
                                               const struct fth_port_access *access, bool hits)
{
    struct fth_line_request *request = access->request;
    const unsigned sectors = (unsigned)__builtin_popcountll(request->sectors);
    const size_t last = level->totals.profile_size - 1;
    request->missing = request->sectors; /* the whole write is forwarded */
    level->forwards = true;
    level->totals.profile[1][hits && access->distance < last ? access->distance : last] += sectors;
    access->counts->requests[FTH_TRACE_WRITE]++;
    access->counts->sectors[FTH_TRACE_WRITE] += sectors;
    access->counts->hits[FTH_TRACE_WRITE] += hits ? sectors : 0;
}

/* Whether the cache holds all bytes of a write whose line is in a slot. False can be wrong: several
 * runs, or a run in two words of the byte mask, are only compared with the valid sectors. */
static inline bool fth_cache_level_holds_bytes(const struct fth_cache *cache, uint32_t slot,
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

/* ---- banks.c ---- */

/* A group of requests for a cache with several banks. */
struct fth_bank_group {
    struct fth_cache_level *level;
    struct fth_group_plan plan;
    size_t count;          /* requests */
    uint64_t start;        /* the step in which the group begins */
    uint64_t steps_before; /* steps that the cache has taken for earlier groups */
    struct fth_line_request *requests;
    const struct fth_cache_run *runs;
    struct fth_model_counts *counts; /* by instruction */
    const struct fth_next_level *next_level;
    bool fast_path;   /* as in single_bank.c */
    bool writes_back; /* the fast path includes writes */
    bool narrow;      /* narrow_banks.c can run it */
};

/* Runs a group of requests, which has this plan, until all of them are done; false: out of memory.
 */
bool fth_cache_level_run_banks(struct fth_cache_level *level, const struct fth_group_plan *plan,
                               struct fth_line_request *requests, size_t count,
                               const struct fth_cache_run *runs, struct fth_model_counts *counts,
                               const struct fth_next_level *next_level);

/* ---- narrow_banks.c ---- */

/* Whether fth_cache_level_run_narrow() can run requests, if there is a fast path. */
bool fth_cache_level_is_narrow(const struct fth_cache_level *level,
                               const struct fth_next_level *next_level);
/* Runs the requests at the places from `at` to `end` - 1 of the plan until one has no simple form.
 * Returns the place of that one, or `end`. `sets` are the sets of these requests. *last becomes the
 * end of the last step if that is later. */
size_t fth_cache_level_run_narrow(const struct fth_bank_group *group, size_t at, size_t end,
                                  const uint32_t *sets, uint64_t *last);

/* ---- single_bank.c ---- */

/* The same for one bank and requests in ascending order of warps. The locations must be set. */
bool fth_cache_level_run_single(struct fth_cache_level *level, struct fth_line_request *requests,
                                size_t count, const struct fth_cache_run *runs,
                                struct fth_model_counts *counts,
                                const struct fth_next_level *next_level);
/* Whether all requests bypass a cache with one bank, and nothing has to be reported about them; and
 * the run of a group of requests, in any order, through such a cache. */
bool fth_cache_level_is_bypassed(const struct fth_cache_level *level,
                                 const struct fth_next_level *next_level);
void fth_cache_level_run_bypassed(struct fth_cache_level *level, struct fth_line_request *requests,
                                  size_t count, struct fth_model_counts *counts);

#endif
