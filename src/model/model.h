/* model/: how the accesses of kernels fare in the caches of a GPU: the physical half of RDGC (M.
 * Kiani, A. Rajabzadeh, "RDGC: A Reuse Distance-Based Approach to GPU Cache Performance Analysis"),
 * and what GPUs have become since (docs/model.md).
 *
 *   params.c    the parameters by name             describe.c  ... from a GPU description
 *   shape.c     what they come to for a launch     place.c     blocks to SMs, and which at a time
 *   coalesce.c  accesses of warps as requests      join.c      reads that are sent once
 *   mshr.c      misses that are under way          tier.c      one cache: banks, ports, steps
 *   attempt.c   one request at a port              single.c    many, of a cache with one bank
 *   l2.c        the sides of the L2, and memory    run.c       a trace through all of it
 *   work.c      what a run holds, and counts       result.c    rows and metrics
 *   distance.c  exact stack distances              crew.c      the threads of a run
 *   many.c      several models in one pass         likeness.c  what these have in common
 *   ladder.c    L1s of several widths in one pass
 *
 * A trace comes by access number, block and warp, which is the order of Algorithm 2 for all SMs
 * side by side: so it is read once, in batches, the L1s take their parts of a batch independently
 * of each other, and the L2 takes what is left in the order of the trace. */
#ifndef FTH_MODEL_H
#define FTH_MODEL_H

#include "cache/cache.h"
#include "gpu/gpu.h"
#include "trace/trace.h"

/* ---- params.c ---- */

enum fth_model_level { FTH_MODEL_L1, FTH_MODEL_L2, FTH_MODEL_LEVELS };

/* The parameters that both levels have. */
enum fth_model_key {
    FTH_KEY_SIZE,
    FTH_KEY_SETS, /* one of sets and ways is 0: it follows from the size and the other */
    FTH_KEY_WAYS,
    FTH_KEY_LINE,
    FTH_KEY_SECTOR,
    FTH_KEY_FILL,
    FTH_KEY_PARTITIONS,
    FTH_KEY_PARTITION_BYTES,
    FTH_KEY_BANKS,
    FTH_KEY_BANK_BYTES,
    FTH_KEY_PORTS,
    FTH_KEY_INDEX,
    FTH_KEY_POLICY,
    FTH_KEY_BYPASS,
    FTH_KEY_MERGED,
    FTH_KEY_MSHR_SETS,
    FTH_KEY_MSHR_SIZE,
    FTH_KEY_MSHR_MERGES,
    FTH_KEY_LATENCY,
    FTH_KEY_LATENCY_CYCLES,
    FTH_LEVEL_KEYS
};

/* The others, behind those of the two levels. */
enum fth_model_global {
    FTH_KEY_SMS = FTH_LEVEL_KEYS * FTH_MODEL_LEVELS,
    FTH_KEY_SCHEDULERS,
    FTH_KEY_MAX_WARPS,
    FTH_KEY_MAX_BLOCKS,
    FTH_KEY_MAPPING,
    FTH_KEY_SEED,
    FTH_KEY_REGISTERS,
    FTH_KEY_SHARED,
    FTH_KEY_RESERVED,
    FTH_KEY_KERNEL_REGISTERS,
    FTH_KEY_KERNEL_SHARED,
    FTH_KEY_SIDES,
    FTH_KEY_HOME_MASK,
    FTH_KEY_SIDE_OF_SM,
    FTH_KEY_JOINS,
    FTH_KEY_JOIN_ROUNDS,
    FTH_KEY_COLD,
    FTH_KEY_FAR_CYCLES,
    FTH_KEY_MEMORY_CYCLES,
    FTH_MODEL_KEYS
};

struct fth_model_value {
    double number; /* where it is one */
    char text[120];
    enum fth_model_source source;
};

enum { FTH_MODEL_CARVEOUTS = 16 };

struct fth_model_params {
    struct fth_model_value values[FTH_MODEL_KEYS];
    /* What L1 has beside each carve-out, where the description says so. */
    uint64_t carveout_bytes[FTH_MODEL_CARVEOUTS], carveout_l1_bytes[FTH_MODEL_CARVEOUTS];
    size_t carveout_count;
    uint64_t unified_bytes; /* 0: not known */
    char gpu[80];
};

uint64_t fth_model_whole(const struct fth_model_params *params, size_t key);
static inline size_t fth_model_key(enum fth_model_level level, enum fth_model_key key)
{
    return (size_t)level * FTH_LEVEL_KEYS + (size_t)key;
}
/* Sets a number and where it comes from, unchecked. */
void fth_model_put(struct fth_model_params *params, size_t key, double number,
                   enum fth_model_source source);
void fth_model_put_text(struct fth_model_params *params, size_t key, const char *text,
                        enum fth_model_source source);

/* ---- describe.c ---- */

void fth_model_describe(struct fth_model_params *params, const struct fth_gpu *gpu);

/* ---- shape.c ---- */

enum fth_bypass { FTH_BYPASS_OFF, FTH_BYPASS_WRITES, FTH_BYPASS_ALL };

/* A cache as a launch finds it. */
struct fth_shape {
    uint64_t line_bytes, sector_bytes, fill_bytes;
    unsigned line_shift, sector_shift;
    uint64_t sets, ways, lines;           /* of one bank */
    uint64_t partitions, banks, ports;    /* units = partitions x banks */
    uint64_t partition_bytes, bank_bytes; /* interleaving */
    const char *index, *policy;
    enum fth_bypass bypass;
    bool merged_hits;
    uint64_t mshr_sets, mshr_size, mshr_merges; /* size 0: no limit */
    double fixed, per_busy;                     /* latency in steps: fixed + per_busy x busy */
    enum fth_write write;
    uint64_t seed;
};

/* What a launch meets on a GPU. */
struct fth_setting {
    struct fth_shape l1, l2; /* of the L2, one side */
    uint64_t sms, schedulers;
    uint64_t blocks_at_once; /* CB: on an SM */
    uint64_t warps_per_block, blocks;
    uint64_t l1_bytes;
    uint64_t sides, home_mask;
    bool cold;
};

FTH_MUST_USE enum fth_status fth_model_setting(const struct fth_model_params *params,
                                               const struct fth_trace_launch *launch,
                                               struct fth_setting *setting,
                                               struct fth_error *error);

/* Steps that a miss takes where so many registers are busy. */
static inline uint64_t fth_shape_latency(const struct fth_shape *shape, uint64_t busy)
{
    if (shape->per_busy == 0)
        return (uint64_t)shape->fixed;
    const double steps = shape->fixed + shape->per_busy * (double)busy;
    return steps < 1e9 ? (uint64_t)steps : (uint64_t)1e9;
}
/* The sectors, in whole fills. */
static inline uint64_t fth_shape_fills(const struct fth_shape *shape, uint64_t sectors)
{
    const uint64_t each = shape->fill_bytes >> shape->sector_shift;
    if (each == 1 || !sectors)
        return sectors;
    const uint64_t fill = ~UINT64_C(0) >> (64 - each);
    uint64_t whole = 0;
    for (uint64_t at = 0; at < shape->line_bytes >> shape->sector_shift; at += each)
        if (sectors >> at & fill)
            whole |= fill << at;
    return whole;
}

/* ---- place.c ---- */

struct fth_placement;

FTH_MUST_USE enum fth_status fth_placement_create(const struct fth_model_params *params,
                                                  const struct fth_setting *setting,
                                                  struct fth_placement **placement,
                                                  struct fth_error *error);
void fth_placement_destroy(struct fth_placement *placement);
/* Whether chance has a part in it. */
bool fth_placement_drawn(const char *mapping);
uint64_t fth_placement_waves(const struct fth_placement *placement);
/* All blocks of a wave, and perhaps others, lie in [first, last]. */
void fth_placement_range(const struct fth_placement *placement, uint64_t wave, uint64_t *first,
                         uint64_t *last);
uint32_t fth_placement_sm(const struct fth_placement *placement, uint64_t block, uint64_t *wave);
/* A list of whole numbers, with commas or blanks between, or "@FILE" that holds one. */
FTH_MUST_USE enum fth_status fth_number_list(const char *what, const char *text, uint64_t max,
                                             uint32_t **numbers, size_t *count,
                                             struct fth_error *error);

/* ---- coalesce.c ---- */

enum { FTH_REQUEST_PAST_L1 = 1 };

/* What a warp wants of one line. */
struct fth_request {
    uint64_t line;    /* address of its first byte */
    uint64_t sectors; /* a bit each */
    uint64_t missing; /* of these, what the L1 did not have */
    uint32_t run, run_count;
    uint32_t instruction;
    uint8_t kind, flags;
    uint32_t warp; /* whose request it is, in the order of priority */
};

struct fth_requests {
    struct fth_request *items;
    size_t count, capacity;
    struct fth_cache_run *runs; /* bytes within the lines */
    size_t run_count, run_capacity;
    bool failed; /* out of memory */
};

/* Room for one more request and one more run. */
bool fth_requests_grow(struct fth_requests *requests);
static inline bool fth_requests_reserve(struct fth_requests *requests)
{
    return (requests->count < requests->capacity && requests->run_count < requests->run_capacity) ||
           fth_requests_grow(requests);
}
void fth_requests_clear(struct fth_requests *requests);
void fth_requests_fini(struct fth_requests *requests);
/* Without the first `count`. */
void fth_requests_drop(struct fth_requests *requests, size_t count);
/* Adds bytes to the last request from `from` on where they are of its line, else a new one; bytes
 * that reach into further lines are parted. Addresses must not fall. */
void fth_requests_add(struct fth_requests *requests, size_t from, const struct fth_shape *shape,
                      uint64_t address, uint64_t bytes, const struct fth_request *like);
/* Takes the first neighbours out of the sectors, of which there must be one. */
struct fth_cache_run fth_first_sectors(const struct fth_shape *shape, uint64_t *sectors);
/* Every line that an access touches, in the order of addresses. */
void fth_coalesce(struct fth_requests *requests, const struct fth_shape *shape,
                  const struct fth_trace_told *access,
                  const struct fth_trace_instruction *instruction);

/* ---- mshr.c ---- */

struct fth_mshr_entry {
    uint64_t line, sectors, answer;
    uint32_t next; /* older, of the same bucket */
    uint32_t joined;
};

struct fth_mshr {
    uint64_t size; /* 0: no limit */
    struct fth_mshr_entry *ring;
    uint32_t *heads;
    uint32_t mask, head_mask; /* of ring and heads */
    /* Counted on: the oldest kept, the oldest that is not answered, the next. What is answered is
     * kept until the next is, though in the cache it is no longer under way. */
    uint64_t first, held, end;
    uint64_t step, last_answer;
    uint64_t change; /* the step in which one of these is something else */
};

FTH_MUST_USE enum fth_status fth_mshr_create(uint64_t size, struct fth_mshr **mshr,
                                             struct fth_error *error);
void fth_mshr_destroy(struct fth_mshr *mshr);
void fth_mshr_clear(struct fth_mshr *mshr);
static inline uint32_t fth_mshr_bucket(const struct fth_mshr *mshr, uint64_t line)
{
    return (uint32_t)(line * UINT64_C(0x9e3779b97f4a7c15) >> 32) & mshr->head_mask;
}
/* The step begins: what has come is no longer under way. */
void fth_mshr_advance(struct fth_mshr *mshr, uint64_t step);
static inline void fth_mshr_step(struct fth_mshr *mshr, uint64_t step)
{
    mshr->step = step;
    if (step >= mshr->change)
        fth_mshr_advance(mshr, step);
}
static inline uint64_t fth_mshr_busy(const struct fth_mshr *mshr)
{
    return mshr->end - mshr->held;
}
static inline bool fth_mshr_full(const struct fth_mshr *mshr)
{
    return mshr->size && fth_mshr_busy(mshr) >= mshr->size;
}
/* The first step in which something changes: one is free, or a line is in the cache. UINT64_MAX:
 * nothing is under way. */
static inline uint64_t fth_mshr_next(const struct fth_mshr *mshr)
{
    if (mshr->first < mshr->held && mshr->ring[(mshr->held - 1) & mshr->mask].answer == mshr->step)
        return mshr->step + 1;
    return mshr->held < mshr->end ? mshr->ring[mshr->held & mshr->mask].answer : UINT64_MAX;
}
enum fth_merge { FTH_MERGE_NONE, FTH_MERGE_DONE, FTH_MERGE_FAILED };
/* Where all these sectors are under way, joins the newest that has one of them, unless `most` have
 * joined it already. */
enum fth_merge fth_mshr_merge_any(struct fth_mshr *mshr, uint64_t line, uint64_t sectors,
                                  uint64_t max);
static inline enum fth_merge fth_mshr_merge(struct fth_mshr *mshr, uint64_t line, uint64_t sectors,
                                            uint64_t max)
{
    return mshr->first == mshr->end ? FTH_MERGE_NONE : fth_mshr_merge_any(mshr, line, sectors, max);
}
/* Whether something of the line may be under way. */
static inline bool fth_mshr_pending(const struct fth_mshr *mshr, uint64_t line)
{
    return mshr->first != mshr->end && mshr->heads[fth_mshr_bucket(mshr, line)] != UINT32_MAX;
}
/* Room for more. */
bool fth_mshr_grow(struct fth_mshr *mshr);
/* They come in `steps`, or with what was asked for before, if that is later. False without memory.
 */
static inline bool fth_mshr_add(struct fth_mshr *mshr, uint64_t line, uint64_t sectors,
                                uint64_t steps)
{
    if (mshr->end - mshr->first > mshr->mask && !fth_mshr_grow(mshr))
        return false;
    uint64_t answer = mshr->step + steps - 1;
    if (answer < mshr->last_answer)
        answer = mshr->last_answer;
    mshr->last_answer = answer;
    const uint32_t index = (uint32_t)(mshr->end & mshr->mask);
    uint32_t *head = &mshr->heads[fth_mshr_bucket(mshr, line)];
    mshr->ring[index] = (struct fth_mshr_entry){line, sectors, answer, *head, 0};
    *head = index;
    mshr->end++;
    if (answer < mshr->change)
        mshr->change = answer;
    return true;
}

/* ---- tier.c ---- */

/* One cache: of an SM, or a side of the L2. */
struct fth_tier;
struct fth_beneath;

/* What came of a request. */
enum fth_verdict_kind { FTH_RESULT_HIT, FTH_RESULT_MERGED, FTH_RESULT_MISS, FTH_RESULT_FAIL };

struct fth_tier_totals {
    uint64_t steps, fails;
    uint64_t *profile[2]; /* C: reads and writes by distance; [ways]: misses */
    size_t profile_size;
};

FTH_MUST_USE enum fth_status fth_tier_create(const struct fth_shape *shape, struct fth_tier **level,
                                             struct fth_error *error);
void fth_tier_destroy(struct fth_tier *level);
void fth_tier_clear(struct fth_tier *level);
/* Another latency. */
void fth_tier_tune(struct fth_tier *level, const struct fth_shape *shape);
const struct fth_tier_totals *fth_tier_totals(const struct fth_tier *level);
void fth_tier_reset_totals(struct fth_tier *level);

/* A request that has come to a port. */
struct fth_turn {
    size_t unit; /* bank */
    struct fth_cache_spot *spot;
    struct fth_request *request;
    const struct fth_cache_run *runs; /* of the request; NULL: they are not told */
    struct fth_model_counts *counts;  /* of its instruction */
    const struct fth_beneath *beneath;
    uint32_t distance; /* in its set, or UINT32_MAX */
};

/* Where a request of a level goes next: `missing` are its sectors that the level did not have (of a
 * write or an atomic: all); `request->missing` what it brings in for them, in whole fills. */
struct fth_beneath {
    void *context;
    void (*miss)(void *context, const struct fth_turn *turn, uint64_t missing);
    void (*evicted)(void *context, uint64_t address, uint64_t dirty);
    void (*changed)(void *context, const struct fth_turn *turn); /* by a write or an atomic */
};

/* Counts of a request go to `counts[request->instruction]`. What is missing of the requests is 0
 * before. False without memory. */
bool fth_tier_run(struct fth_tier *level, struct fth_request *requests, size_t count,
                  const struct fth_cache_run *runs, struct fth_model_counts *counts,
                  const struct fth_beneath *beneath);
/* Whether something of the last run is missing, and goes on. */
bool fth_tier_sends(const struct fth_tier *level);
/* The line of a turn at a cache of the same shape. Reads sectors of it past ports and misses under
 * way: those that were not there, which they are then. */
uint64_t fth_tier_read(struct fth_tier *level, const struct fth_turn *turn, uint64_t sectors,
                       const struct fth_beneath *beneath);
void fth_tier_drop(struct fth_tier *level, const struct fth_turn *turn);

/* For tests: what each attempt came to. */
struct fth_attempt {
    uint64_t step;
    uint64_t line;
    enum fth_verdict_kind kind;
    uint32_t distance, unit;
    uint64_t free_mshrs; /* after the step, of the set of the unit */
};
void fth_tier_watch(struct fth_tier *level, void (*seen)(void *, const struct fth_attempt *),
                    void *context);

/* ---- ladder.c ---- */

/* The L1 of an SM with several numbers of ways, in one pass. */
struct fth_ladder;

/* Whether theory allows it for such an L1. */
bool fth_ladder_allows(const struct fth_shape *shape);
/* `counts`, by instruction, of each; at most 64. */
FTH_MUST_USE enum fth_status fth_ladder_create(const struct fth_shape *widest, const uint64_t *ways,
                                               struct fth_model_counts *const *counts, size_t count,
                                               struct fth_ladder **ladder, struct fth_error *error);
void fth_ladder_destroy(struct fth_ladder *ladder);
/* misses[i]: bit r: request i goes on to the L2 from the cache of rung r. False without memory. */
bool fth_ladder_run(struct fth_ladder *ladder, const struct fth_request *requests, size_t count,
                    uint64_t *misses);
const struct fth_tier_totals *fth_ladder_totals(const struct fth_ladder *ladder, size_t rung);
/* It does not come to what a cache by itself comes to: it must be run by itself. */
bool fth_ladder_broken(const struct fth_ladder *ladder, size_t rung);

/* ---- l2.c ---- */

struct fth_l2;

/* `by_instruction` gets the counts; far and dram counts are in its rows. */
struct fth_l2_counts {
    struct fth_model_counts counts;
    uint64_t far_hits; /* sectors of reads that the other side had */
    uint64_t dram_reads, dram_writes;
};

FTH_MUST_USE enum fth_status fth_l2_create(const struct fth_setting *setting, size_t instructions,
                                           struct fth_l2 **l2, struct fth_error *error);
void fth_l2_destroy(struct fth_l2 *l2);
void fth_l2_clear(struct fth_l2 *l2);
/* What an L1 passes on, to be processed at the next fth_l2_flush: of a read these sectors, to a
 * side; of others all their bytes, where they are at home. False without memory. */
bool fth_l2_add(struct fth_l2 *l2, const struct fth_shape *l1, const struct fth_request *request,
                const struct fth_cache_run *runs, uint64_t sectors, uint8_t side);
bool fth_l2_flush(struct fth_l2 *l2);
/* Where several L2s get the same requests, one records them, flush by flush; all that are replayed
 * from it, itself too, process them; then it forgets. */
void fth_l2_record(struct fth_l2 *l2, bool on);
bool fth_l2_replay(struct fth_l2 *l2, struct fth_l2 *from);
void fth_l2_forget(struct fth_l2 *l2);
const struct fth_l2_counts *fth_l2_counts(const struct fth_l2 *l2, size_t instruction);
const struct fth_tier_totals *fth_l2_totals(const struct fth_l2 *l2, uint64_t side);
void fth_l2_reset_counts(struct fth_l2 *l2);

/* ---- distance.c ---- */

/* Exact stack distances of a stream of numbers, in memory that grows with how many there are. */
struct fth_distances;

FTH_MUST_USE enum fth_status fth_distances_create(struct fth_distances **distances,
                                                  struct fth_error *error);
void fth_distances_destroy(struct fth_distances *distances);
/* out[i], if out is not NULL: how many others came since numbers[i] did; UINT64_MAX: it is new.
 * False without memory. */
bool fth_distances_add(struct fth_distances *distances, const uint64_t *numbers, size_t count,
                       uint64_t *out);
/* How often each distance was met, and how many were new. */
const uint64_t *fth_distances_profile(const struct fth_distances *distances, size_t *count,
                                      uint64_t *fresh);

/* ---- likeness.c ---- */

/* Numbers that are the same where what they stand for is the same. */
struct fth_likeness {
    uint64_t stream;     /* which requests come to the L1s, and in which order */
    uint64_t l1;         /* ... and what the L1s make of them */
    uint64_t ladder;     /* ... but for the ways of these; 0: they cannot be had in one pass */
    uint64_t below;      /* how an L2 takes what an L1 passes on */
    uint64_t past;       /* ... and what passes an L1 that is off */
    uint64_t room_lines; /* of all caches: not for comparing */
};

/* Of a launch. */
void fth_likeness_find(const struct fth_model_params *params, const struct fth_setting *setting,
                       struct fth_likeness *likeness);
/* Of all launches of a kernel, or all (NULL). */
FTH_MUST_USE enum fth_status fth_model_likeness(const struct fth_trace *trace, const char *kernel,
                                                const struct fth_model_params *params,
                                                struct fth_likeness *likeness,
                                                struct fth_error *error);

/* ---- many.c ---- */

/* Where the L1s of a model are from: its own, those of another, one pass for several. */
enum fth_l1_from { FTH_L1_OWN, FTH_L1_SHARED, FTH_L1_LADDER };
struct fth_model_member {
    const struct fth_model_params *params;
    bool bypassed; /* also count the L2 as if the L1 were off */
    struct fth_model_result *result;
    enum fth_l1_from l1;
};

/* Models that are alike in their stream, in one pass over the trace: each comes to what
 * fth_model_run makes of it. `options` says the kernel and the log. Where one cannot be, *culprit
 * is its number, and there are no results. */
FTH_MUST_USE enum fth_status fth_model_run_many(const struct fth_trace *trace,
                                                struct fth_model_member *members, size_t count,
                                                const struct fth_model_options *options,
                                                size_t *culprit, struct fth_error *error);

/* ---- result.c ---- */

struct fth_model_result {
    struct fth_model_row *rows;
    size_t row_count, row_capacity;
    struct fth_model_curve curves[FTH_MODEL_LEVELS];
};

/* Adds what `from` counted, and its profile. False without memory. */
bool fth_row_add(struct fth_model_row *row, const struct fth_model_row *from);
void fth_counts_add(struct fth_model_counts *to, const struct fth_model_counts *from);
bool fth_profile_add(struct fth_model_profile *to, const uint64_t *from, size_t count);

#endif
