/* What a cache of the model is made of, for tier.c (its steps) and attempt.c (one request). */
#ifndef FTH_MODEL_TIER_H
#define FTH_MODEL_TIER_H

#include "model/model.h"

/* A bank of a partition. */
struct fth_unit {
    struct fth_cache *cache;
    struct fth_mshr *mshr; /* of its set; borrowed */
    uint32_t head, tail;   /* queue of requests */
};

/* Addresses that are dealt out to `count`, `bytes` at a time. */
struct fth_dealing {
    uint64_t count, bytes;
    bool even; /* both are powers of two, of these: */
    unsigned count_shift, bytes_shift;
};

struct fth_tier {
    struct fth_shape shape;
    struct fth_dealing partitions, banks;
    struct fth_unit *units;
    size_t unit_count;
    struct fth_mshr **mshrs;
    size_t mshr_count;
    uint64_t step;
    struct fth_tier_totals totals;
    uint32_t *next;               /* of the queues */
    uint32_t *turn;               /* the requests of a step */
    struct fth_cache_spot *spots; /* of the requests, as they were before the first step */
    size_t capacity;
    void (*seen)(void *, const struct fth_attempt *);
    void *seen_context;
    bool sends;  /* some request of the last run goes on */
    bool failed; /* out of memory */
};

enum fth_verdict_kind fth_tier_attempt(struct fth_tier *level, struct fth_turn *turn);
/* To what is beneath: a line has left; and so much of a request is missing. */
static inline void fth_tier_tell_evicted(const struct fth_beneath *beneath,
                                         const struct fth_cache_result *result)
{
    if (result->evicted && result->evicted_dirty && beneath && beneath->evicted)
        beneath->evicted(beneath->context, result->evicted_line, result->evicted_dirty);
}
static inline void fth_tier_tell_miss(const struct fth_turn *turn, uint64_t missing)
{
    if (turn->beneath && turn->beneath->miss)
        turn->beneath->miss(turn->beneath->context, turn, missing);
}
/* What a read misses is under way from now on. */
static inline void fth_tier_await(struct fth_tier *level, struct fth_mshr *mshr,
                                  const struct fth_turn *turn, uint64_t missing)
{
    if (!fth_mshr_add(mshr, turn->request->line, turn->request->missing,
                      fth_shape_latency(&level->shape, fth_mshr_busy(mshr))))
        level->failed = true;
    fth_tier_tell_miss(turn, missing);
}
static inline void fth_tier_end_step(struct fth_tier *level)
{
    level->step++;
    level->totals.steps++;
}
/* Where every request failed, nothing changes until a register is free or a line is here: the steps
 * until then, and the fails of those that have tried, are counted at once. */
static inline void fth_tier_skip(struct fth_tier *level, size_t tried, uint64_t next)
{
    if (next == UINT64_MAX || next <= level->step || level->seen)
        return;
    level->totals.fails += (next - level->step) * tried;
    level->totals.steps += next - level->step;
    level->step = next;
}

/* ---- single.c ---- */

/* fth_tier_run with one bank, and requests in the order of the warps. */
bool fth_tier_run_single(struct fth_tier *level, struct fth_request *requests, size_t count,
                         const struct fth_cache_run *runs, struct fth_model_counts *counts,
                         const struct fth_beneath *beneath);

#endif
