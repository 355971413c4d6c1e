/* model/: computes how often the memory accesses of kernels hit in the L1s and the L2 of a GPU. It
 * implements the physical model of RDGC (M. Kiani, A. Rajabzadeh, "RDGC: A Reuse Distance-Based
 * Approach to GPU Cache Performance Analysis") and extends it to newer GPUs (docs/model.md).
 * Sections, tables and algorithms cited in this folder are those of that paper.
 *
 *   params.c     parameters by name                describe.c      parameters from a description
 *   shape.c      cache geometry for a launch       place.c         SM and wave of each block
 *   coalesce.c   warp accesses to requests         join.c          merges reads of several SMs
 *   mshr.c       misses in flight                  cache_level.c   one cache: banks, ports, steps
 *   attempt.c    one attempt of one request        single.c        fast path for one bank
 *   l2.c         L2 sides, and memory              run.c           runs a trace through the caches
 *   work.c       state and counts of a run         result.c        result rows and metrics
 *   distance.c   exact stack distances             workers.c       threads of a run
 *   multi_run.c  several models in one pass        sharing_keys.c  what these models can share
 *   lru_stack.c  L1s that differ only in ways
 *
 * This header has one section per file, except for the functions that two other headers declare:
 * run.h has those of run.c, work.c, join.c, workers.c and a part of multi_run.c; cache_level.h has
 * those of attempt.c and single.c. The types that callers of the library see, such as struct
 * fth_model_counts, are in fathom/fathom.h.
 *
 * A trace is sorted by access number (the index of an access within its warp), block and warp.
 * Algorithm 2, which analyses the L1 of one SM, processes the accesses of resident blocks in this
 * order. Therefore accesses are processed in the order in which they are read, in batches. The L1s
 * process their parts of a batch independently of each other. Then the L2 processes the requests
 * that the L1s forward, in the order of the trace.
 *
 * Time is counted in steps: in a step, each bank of a cache processes as many requests as it has
 * ports. */
#ifndef FTH_MODEL_H
#define FTH_MODEL_H

#include "cache/cache.h"
#include "gpu/gpu.h"
#include "trace/trace.h"

/* ---- params.c ---- */

enum fth_model_level { FTH_MODEL_L1, FTH_MODEL_L2, FTH_MODEL_LEVELS };

/* Parameters that exist once per level. fth_model_key() gives their index. The table in params.c
 * and docs/model.md describe all parameters. */
enum fth_model_key {
    FTH_KEY_SIZE,
    FTH_KEY_SETS, /* 0: computed from the size and the ways */
    FTH_KEY_WAYS, /* 0: computed from the size and the sets */
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
    FTH_KEY_MERGED, /* whether accesses to sectors in flight (MSHR merges) count as hits */
    FTH_KEY_MSHR_SETS,
    FTH_KEY_MSHR_SIZE,
    FTH_KEY_MSHR_MERGES,
    FTH_KEY_LATENCY,        /* of a miss, in steps of the model */
    FTH_KEY_LATENCY_CYCLES, /* of a hit, in cycles, for the average access time */
    FTH_LEVEL_KEYS
};

/* The other parameters. Their indices follow those of the two levels. */
enum fth_model_global {
    FTH_KEY_SMS = FTH_LEVEL_KEYS * FTH_MODEL_LEVELS,
    FTH_KEY_SCHEDULERS,
    FTH_KEY_MAX_WARPS,
    FTH_KEY_MAX_BLOCKS,
    FTH_KEY_MAPPING,
    FTH_KEY_SEED,
    FTH_KEY_REGISTERS,
    FTH_KEY_SHARED,   /* shared memory per SM */
    FTH_KEY_RESERVED, /* shared memory that the driver reserves per block */
    FTH_KEY_KERNEL_REGISTERS,
    FTH_KEY_KERNEL_SHARED, /* shared memory per block of the kernel */
    FTH_KEY_SIDES,         /* near and far partitions of the L2, which are not FTH_KEY_PARTITIONS */
    FTH_KEY_HOME_MASK,
    FTH_KEY_SIDE_OF_SM,
    FTH_KEY_JOINS, /* groups of SMs whose reads of the same sectors become one L2 request */
    FTH_KEY_JOIN_ROUNDS,
    FTH_KEY_COLD,
    FTH_KEY_FAR_CYCLES,
    FTH_KEY_MEMORY_CYCLES,
    FTH_MODEL_KEYS
};

struct fth_model_value {
    double number; /* meaningful only for numeric parameters */
    char text[120];
    enum fth_model_source source;
};

/* Maximum number of carve-outs that are kept from a description; further ones are ignored. */
enum { FTH_MODEL_MAX_CARVEOUTS = 16 };

struct fth_model_params {
    struct fth_model_value values[FTH_MODEL_KEYS];
    /* The carve-outs, in the order of the description: the bytes of shared memory, and the size of
     * the L1 with this carve-out. */
    uint64_t carveout_bytes[FTH_MODEL_MAX_CARVEOUTS], carveout_l1_bytes[FTH_MODEL_MAX_CARVEOUTS];
    size_t carveout_count;  /* 0: none known */
    uint64_t unified_bytes; /* storage that L1 and shared memory share per SM; 0: unknown */
    char gpu[80];
};

/* The value of a numeric parameter, as an integer. */
uint64_t fth_model_integer(const struct fth_model_params *params, size_t key);
/* Index of a parameter of a level in `fth_model_params.values`. */
static inline size_t fth_model_key(enum fth_model_level level, enum fth_model_key key)
{
    return (size_t)level * FTH_LEVEL_KEYS + (size_t)key;
}
/* Set a parameter and its source without checking the value. */
void fth_model_put(struct fth_model_params *params, size_t key, double number,
                   enum fth_model_source source);
void fth_model_put_text(struct fth_model_params *params, size_t key, const char *text,
                        enum fth_model_source source);

/* ---- describe.c ---- */

/* Sets every parameter that the description of the GPU contains. */
void fth_model_describe(struct fth_model_params *params, const struct fth_gpu *gpu);

/* ---- shape.c ---- */

/* Accesses that bypass a cache: none, writes and atomics, or all (OFF, WON and RWON in the paper).
 */
enum fth_bypass { FTH_BYPASS_OFF, FTH_BYPASS_WRITES, FTH_BYPASS_ALL };

/* Geometry and behaviour of one cache during a launch: one L1, or one side of the L2. */
struct fth_shape {
    uint64_t line_bytes, sector_bytes;
    uint64_t fill_bytes; /* unit in which a miss fetches data: one or more sectors */
    unsigned line_shift, sector_shift;
    uint64_t sets, ways, lines; /* per bank */
    /* Partitions; banks per partition; ports per bank. Each bank of each partition is a *unit*. */
    uint64_t partitions, banks, ports;
    uint64_t partition_bytes, bank_bytes; /* interleaving granularity */
    const char *index, *policy;
    enum fth_bypass bypass;
    bool merged_hits; /* a read that merges with a miss in flight counts as a hit */
    /* Sets of MSHRs. All banks of a partition use the same set. If there are fewer sets than
     * partitions, ceil(partitions / mshr_sets) neighbouring partitions share a set; sets beyond
     * the number of partitions are not used. */
    uint64_t mshr_sets;
    uint64_t mshr_size;                     /* MSHRs per set; 0: no limit */
    uint64_t mshr_merges;                   /* maximum number of merges per MSHR; 0: no limit */
    double latency_fixed, latency_per_busy; /* of a miss, in steps; see fth_shape_latency() */
    enum fth_write write;
    uint64_t seed;
};

/* The model's parameters, resolved for one launch. */
struct fth_setting {
    struct fth_shape l1, l2; /* one L1; one side of the L2 */
    uint64_t sms, schedulers;
    uint64_t blocks_at_once;          /* resident blocks per SM (CB in the paper) */
    uint64_t warps_per_block, blocks; /* blocks of the whole launch */
    uint64_t l1_bytes;
    /* Sides of the L2: the near and far partitions of docs/glossary.md. The `partitions` of
     * fth_shape are those of the paper, into which each side is divided. */
    uint64_t sides;
    /* The home side of a line is the number of bits set in address & home_mask, modulo sides. With
     * two sides, this is the parity of these bits. */
    uint64_t home_mask;
    bool cold; /* the L2 is empty at the start of each launch */
};

/* Resolves the parameters for a launch; fails if they contradict each other or no block fits an
 * SM. */
FTH_MUST_USE enum fth_status fth_model_setting(const struct fth_model_params *params,
                                               const struct fth_trace_launch *launch,
                                               struct fth_setting *setting,
                                               struct fth_error *error);

/* Latency of a miss in steps while `busy` MSHRs are in use (Section 4.4.1). The limit of 1e9 steps
 * only prevents overflow. latency_fixed needs no limit here: shape.c accepts at most 1e6. */
static inline uint64_t fth_shape_latency(const struct fth_shape *shape, uint64_t busy)
{
    if (shape->latency_per_busy == 0)
        return (uint64_t)shape->latency_fixed;
    const double steps = shape->latency_fixed + shape->latency_per_busy * (double)busy;
    return steps < 1e9 ? (uint64_t)steps : (uint64_t)1e9;
}
/* Extends a set of sectors to whole fills: adds all sectors that are fetched together with them. */
static inline uint64_t fth_shape_fills(const struct fth_shape *shape, uint64_t sectors)
{
    const uint64_t fill_sectors = shape->fill_bytes >> shape->sector_shift;
    if (fill_sectors == 1 || !sectors)
        return sectors;
    const uint64_t fill = ~UINT64_C(0) >> (64 - fill_sectors);
    uint64_t whole = 0;
    for (uint64_t at = 0; at < shape->line_bytes >> shape->sector_shift; at += fill_sectors)
        if (sectors >> at & fill)
            whole |= fill << at;
    return whole;
}

/* ---- place.c ---- */

/* The SM and the wave of each block. A wave has up to `blocks_at_once` blocks of each SM. */
struct fth_placement;

FTH_MUST_USE enum fth_status fth_placement_create(const struct fth_model_params *params,
                                                  const struct fth_setting *setting,
                                                  struct fth_placement **placement,
                                                  struct fth_error *error);
void fth_placement_destroy(struct fth_placement *placement);
/* Whether the mapping uses random numbers, so that the placement depends on the seed. */
bool fth_placement_is_random(const char *mapping);
/* The number of waves of the launch: enough for the SM with the most blocks. If the mapping assigns
 * groups of consecutive blocks to SMs (rr, bpart1, bpart2) or repeats a list of SMs, the blocks of
 * an SM are counted as if the last group or the last repetition of the list were complete. The
 * last waves can therefore be empty. */
uint64_t fth_placement_waves(const struct fth_placement *placement);
/* Gives a range [first, last] that contains all blocks of the wave, on all SMs, and possibly blocks
 * of other waves. */
void fth_placement_range(const struct fth_placement *placement, uint64_t wave, uint64_t *first,
                         uint64_t *last);
/* The SM of a block; *wave gets the index of its wave on that SM. */
uint32_t fth_placement_sm(const struct fth_placement *placement, uint64_t block, uint64_t *wave);
/* Parses the list of a parameter such as gpu.mapping or l2.joins: integers below `max`, separated
 * by commas or white space; "@FILE" reads the list from a file. `what` names the parameter in
 * errors. The caller frees *numbers. */
FTH_MUST_USE enum fth_status fth_number_list(const char *what, const char *text, uint64_t max,
                                             uint32_t **numbers, size_t *count,
                                             struct fth_error *error);

/* ---- coalesce.c ---- */

/* Flag of a request whose instruction has the cache operator .cg or .cv, or is volatile. */
enum { FTH_REQUEST_BYPASS_L1 = 1 };

/* The bytes of one line that one warp instruction accesses (a line request in docs/model.md). */
struct fth_request {
    uint64_t line;    /* address of the first byte of the line */
    uint64_t sectors; /* one bit per sector that is accessed */
    /* Sectors that the cache forwards to the next level. For a read: the sectors that missed and
     * those that are fetched together with them (fth_shape_fills). For a write, or an access that
     * bypasses the cache: all of `sectors`. */
    uint64_t missing;
    /* The accessed bytes, as contiguous ranges ("runs"): index of the first run in
     * `fth_requests.runs`, and number of runs. */
    uint32_t run, run_count;
    uint32_t instruction;
    uint8_t kind, flags; /* enum fth_trace_access_kind; FTH_REQUEST_BYPASS_L1 or 0 */
    /* Requests with lower values go first at the ports. In the L1, this is the index of the warp in
     * its block; in the L2, the position of the request in the order of arrival. */
    uint32_t warp;
};

struct fth_requests {
    struct fth_request *items;
    size_t count, capacity;
    struct fth_cache_run *runs; /* ranges of contiguous bytes within a line */
    size_t run_count, run_capacity;
    bool failed; /* out of memory */
};

/* Ensure space for one more request and one more run. On failure they return false and set
 * `failed`. */
bool fth_requests_grow(struct fth_requests *requests);
static inline bool fth_requests_reserve(struct fth_requests *requests)
{
    return (requests->count < requests->capacity && requests->run_count < requests->run_capacity) ||
           fth_requests_grow(requests);
}
void fth_requests_clear(struct fth_requests *requests);
void fth_requests_fini(struct fth_requests *requests);
/* Removes the first `count` requests and their runs. */
void fth_requests_drop(struct fth_requests *requests, size_t count);
/* Adds bytes to the last request if this request has the same line and is not before items[from];
 * otherwise appends a copy of `template` with this line. Bytes that span several lines are split.
 * Addresses must not decrease from call to call. */
void fth_requests_add(struct fth_requests *requests, size_t from, const struct fth_shape *shape,
                      uint64_t address, uint64_t bytes, const struct fth_request *template);
/* Removes the first contiguous group of sectors from *sectors, which must not be empty, and returns
 * this group as a range of bytes within the line. */
struct fth_cache_run fth_take_sector_run(const struct fth_shape *shape, uint64_t *sectors);
/* Appends one request per line that the access touches, by ascending address. */
void fth_coalesce(struct fth_requests *requests, const struct fth_shape *shape,
                  const struct fth_compact_access *access,
                  const struct fth_trace_instruction *instruction);

/* ---- mshr.c ---- */

/* One miss in flight. */
struct fth_mshr_entry {
    uint64_t line, sectors;
    uint64_t arrival; /* step in which the data arrives; reads hit from the next step on */
    uint32_t next;    /* next older entry of the same hash bucket */
    uint32_t merge_count;
};

/* One set of MSHRs. */
struct fth_mshr {
    uint64_t size; /* 0: no limit */
    struct fth_mshr_entry *ring;
    uint32_t *heads;          /* hash table: newest entry of each bucket */
    uint32_t mask, head_mask; /* sizes of ring and heads, minus 1 */
    /* Entries have running numbers; entry n is at ring[n & mask]. `first` is the oldest entry that
     * is kept, `first_pending` the oldest one whose data has not arrived, and `end` the next one to
     * be added. The first two differ if data arrives in the current step: such an entry no longer
     * occupies a register, but is kept because requests can still merge with it in this step. */
    uint64_t first, first_pending, end;
    uint64_t step, last_arrival;
    uint64_t next_change; /* first step in which `first` or `first_pending` must be updated */
};

FTH_MUST_USE enum fth_status fth_mshr_create(uint64_t size, struct fth_mshr **mshr,
                                             struct fth_error *error);
void fth_mshr_destroy(struct fth_mshr *mshr);
void fth_mshr_clear(struct fth_mshr *mshr);
/* The hash bucket of a line (multiplicative hashing with 2^64 / golden ratio). */
static inline uint32_t fth_mshr_bucket(const struct fth_mshr *mshr, uint64_t line)
{
    return (uint32_t)(line * UINT64_C(0x9e3779b97f4a7c15) >> 32) & mshr->head_mask;
}
/* Updates `first` and `first_pending` for the step. Only fth_mshr_step() calls it. */
void fth_mshr_advance(struct fth_mshr *mshr, uint64_t step);
/* Begins a step: releases the registers of the misses whose data has arrived. */
static inline void fth_mshr_step(struct fth_mshr *mshr, uint64_t step)
{
    mshr->step = step;
    if (step >= mshr->next_change)
        fth_mshr_advance(mshr, step);
}
/* The number of registers in use. */
static inline uint64_t fth_mshr_busy(const struct fth_mshr *mshr)
{
    return mshr->end - mshr->first_pending;
}
static inline bool fth_mshr_full(const struct fth_mshr *mshr)
{
    return mshr->size && fth_mshr_busy(mshr) >= mshr->size;
}
/* Returns the first step after the current one in which a failed request can succeed. If data
 * arrives in the current step, this is the next step, because reads of the data hit from then on.
 * Otherwise it is the step in which the next data arrives, because the register of that miss
 * becomes free. UINT64_MAX: no miss is in flight. */
static inline uint64_t fth_mshr_next(const struct fth_mshr *mshr)
{
    if (mshr->first < mshr->first_pending &&
        mshr->ring[(mshr->first_pending - 1) & mshr->mask].arrival == mshr->step)
        return mshr->step + 1;
    return mshr->first_pending < mshr->end ? mshr->ring[mshr->first_pending & mshr->mask].arrival
                                           : UINT64_MAX;
}
enum fth_merge { FTH_MERGE_NONE, FTH_MERGE_DONE, FTH_MERGE_FAILED };
/* If all these sectors are in flight, merges the request into the newest entry that has one of
 * them. FTH_MERGE_FAILED: that entry has `max_merges` merges already (0: no limit).
 * FTH_MERGE_NONE: not all of the sectors are in flight. */
enum fth_merge fth_mshr_merge_any(struct fth_mshr *mshr, uint64_t line, uint64_t sectors,
                                  uint64_t max_merges);
static inline enum fth_merge fth_mshr_merge(struct fth_mshr *mshr, uint64_t line, uint64_t sectors,
                                            uint64_t max_merges)
{
    return mshr->first == mshr->end ? FTH_MERGE_NONE
                                    : fth_mshr_merge_any(mshr, line, sectors, max_merges);
}
/* Whether a request for the line may be able to merge with an entry, including one whose data
 * arrives in this step. False is certain; true can be a hash collision. */
static inline bool fth_mshr_may_contain(const struct fth_mshr *mshr, uint64_t line)
{
    return mshr->first != mshr->end && mshr->heads[fth_mshr_bucket(mshr, line)] != UINT32_MAX;
}
/* Doubles the ring. False: out of memory. */
bool fth_mshr_grow(struct fth_mshr *mshr);
/* Adds a miss with a latency of `steps`, at least 1. If it is issued in step i, reads of its data
 * hit from step i + steps on, or later: data does not arrive before that of earlier misses. False:
 * out of memory. */
static inline bool fth_mshr_add(struct fth_mshr *mshr, uint64_t line, uint64_t sectors,
                                uint64_t steps)
{
    if (mshr->end - mshr->first > mshr->mask && !fth_mshr_grow(mshr))
        return false;
    uint64_t arrival = mshr->step + steps - 1;
    if (arrival < mshr->last_arrival)
        arrival = mshr->last_arrival;
    mshr->last_arrival = arrival;
    const uint32_t index = (uint32_t)(mshr->end & mshr->mask);
    uint32_t *head = &mshr->heads[fth_mshr_bucket(mshr, line)];
    mshr->ring[index] = (struct fth_mshr_entry){line, sectors, arrival, *head, 0};
    *head = index;
    mshr->end++;
    if (arrival < mshr->next_change)
        mshr->next_change = arrival;
    return true;
}

/* ---- cache_level.c ---- */

/* One cache with its banks, ports and MSHRs: the L1 of an SM, or one side of the L2. */
struct fth_cache_level;
struct fth_next_level;

/* Outcome of an attempt to process a request. FAIL is the paper's reservation fail: no MSHR is
 * free, or the MSHR to merge with has reached its merge limit. The request is tried again in every
 * following step until it succeeds. Steps in which all requests would fail are counted, with their
 * fails, but not executed (fth_cache_level_skip_steps()). */
enum fth_attempt_outcome {
    FTH_ATTEMPT_HIT,
    FTH_ATTEMPT_MERGED,
    FTH_ATTEMPT_MISS,
    FTH_ATTEMPT_FAIL
};

struct fth_cache_level_totals {
    uint64_t steps, fails;
    /* Reuse distance profiles (C1R, C1W, C2R and C2W in the paper): [0] of reads, [1] of writes and
     * atomics. profile[i][d] is the number of sectors that hit at the reuse distance d within their
     * set. The last entry, [ways], counts misses; in a cache that is not LRU, hits as well. */
    uint64_t *profile[2];
    size_t profile_size; /* ways + 1 */
};

FTH_MUST_USE enum fth_status fth_cache_level_create(const struct fth_shape *shape,
                                                    struct fth_cache_level **level,
                                                    struct fth_error *error);
void fth_cache_level_destroy(struct fth_cache_level *level);
/* Empties the cache and its MSHRs; the totals stay. */
void fth_cache_level_clear(struct fth_cache_level *level);
/* Takes over the latency of `shape`, and nothing else. */
void fth_cache_level_set_latency(struct fth_cache_level *level, const struct fth_shape *shape);
const struct fth_cache_level_totals *fth_cache_level_totals(const struct fth_cache_level *level);
void fth_cache_level_reset_totals(struct fth_cache_level *level);

/* A request that has reached a port. */
struct fth_port_access {
    size_t unit; /* index of the bank over all partitions */
    struct fth_cache_location *location;
    struct fth_request *request;
    const struct fth_cache_run *runs; /* runs of the request; NULL: it reads whole sectors */
    struct fth_model_counts *counts;  /* counts of its instruction */
    const struct fth_next_level *next_level;
    uint32_t distance; /* within its set; UINT32_MAX: line not in the cache, or not an LRU cache */
};

/* The callbacks by which a cache reports what the caller has to do outside of this cache. Each may
 * be NULL. */
struct fth_next_level {
    void *context;
    /* A request is forwarded. `missed`: the requested sectors that missed; all requested sectors of
     * a write or of a request that bypasses the cache. access->request->missing has all sectors to
     * fetch, in whole fills. */
    void (*miss)(void *context, const struct fth_port_access *access, uint64_t missed);
    /* A line with changed sectors (`dirty`, one bit per sector) was evicted. */
    void (*evicted)(void *context, uint64_t address, uint64_t dirty);
    /* A write or an atomic was processed. The L2 then invalidates the copies in its other sides. */
    void (*changed)(void *context, const struct fth_port_access *access);
};

/* Processes a group of requests that warps issue at the same time, and returns when all of them are
 * done. Each request is counted in `counts[request->instruction]`. `request->missing` must be 0 on
 * entry and holds the forwarded sectors on return. `runs` and `next_level` may be NULL. False: out
 * of memory. */
bool fth_cache_level_run(struct fth_cache_level *level, struct fth_request *requests, size_t count,
                         const struct fth_cache_run *runs, struct fth_model_counts *counts,
                         const struct fth_next_level *next_level);
/* Whether the last run has forwarded any request to the next level. */
bool fth_cache_level_forwards(const struct fth_cache_level *level);
/* With these two functions, an access to one side of the L2 also affects another side. `access` is
 * the access to the first side. `level` is the other side, which has the same shape. Neither ports
 * nor MSHRs are modelled. fth_cache_level_read() reads sectors of the line, fills those that are
 * missing, and returns the missing ones. fth_cache_level_drop() invalidates the line. */
uint64_t fth_cache_level_read(struct fth_cache_level *level, const struct fth_port_access *access,
                              uint64_t sectors, const struct fth_next_level *next_level);
void fth_cache_level_drop(struct fth_cache_level *level, const struct fth_port_access *access);

/* For tests: one attempt, as it is reported to an observer. */
struct fth_attempt {
    uint64_t step;
    uint64_t line;
    enum fth_attempt_outcome kind;
    uint32_t distance, unit; /* as in struct fth_port_access */
    uint64_t free_mshrs;     /* free registers of the unit's MSHR set after the attempt */
};
void fth_cache_level_set_observer(struct fth_cache_level *level,
                                  void (*observer)(void *, const struct fth_attempt *),
                                  void *context);

/* ---- lru_stack.c ---- */

/* Several variants of the L1 of one SM that differ only in their ways, simulated in one pass. */
struct fth_lru_stack;

/* Whether such an L1 can be simulated this way. */
bool fth_lru_stack_supports(const struct fth_shape *shape);
/* Creates a stack for `count` (at most 64) variants. `widest`: the shape of the variant with the
 * most ways. Variant i has ways[i] ways and counts in counts[i][instruction]. The caller keeps
 * these counts until the stack is destroyed. */
FTH_MUST_USE enum fth_status fth_lru_stack_create(const struct fth_shape *widest,
                                                  const uint64_t *ways,
                                                  struct fth_model_counts *const *counts,
                                                  size_t count, struct fth_lru_stack **stack,
                                                  struct fth_error *error);
void fth_lru_stack_destroy(struct fth_lru_stack *stack);
/* Processes requests that warps issue together. Bit v of misses[i] is set if variant v forwards
 * request i to the L2. False: out of memory. */
bool fth_lru_stack_run(struct fth_lru_stack *stack, const struct fth_request *requests,
                       size_t count, uint64_t *misses);
const struct fth_cache_level_totals *fth_lru_stack_totals(const struct fth_lru_stack *stack,
                                                          size_t variant);
/* Whether the counts of the variant may differ from those of a separate cache (lru_stack.c says
 * when). Then its results are invalid, and it must be simulated separately. */
bool fth_lru_stack_diverged(const struct fth_lru_stack *stack, size_t variant);

/* ---- l2.c ---- */

/* The L2 with its sides, and memory. A read accesses the side that is near its SM. If it misses
 * there and the home of the line is another side, it accesses the home side, and then memory.
 * Writes and atomics access the home side only. */
struct fth_l2;

/* Counts of one instruction. */
struct fth_l2_counts {
    struct fth_model_counts counts; /* reads: of the near side; others: of the home side */
    uint64_t far_hits; /* read sectors that missed in the near side and hit in their home side */
    uint64_t dram_reads, dram_writes; /* sectors */
};

FTH_MUST_USE enum fth_status fth_l2_create(const struct fth_setting *setting, size_t instructions,
                                           struct fth_l2 **l2, struct fth_error *error);
void fth_l2_destroy(struct fth_l2 *l2);
void fth_l2_clear(struct fth_l2 *l2);
/* fth_l2_add() queues a request that an L1 of shape `l1` forwards. `side` is the one near the SM. A
 * read accesses `sectors` there. Writes and atomics access all their bytes in the home side of the
 * line. fth_l2_flush() ends the round (docs/glossary.md): it processes all queued requests. Both
 * functions return false if out of memory. */
bool fth_l2_add(struct fth_l2 *l2, const struct fth_shape *l1, const struct fth_request *request,
                const struct fth_cache_run *runs, uint64_t sectors, uint8_t side);
bool fth_l2_flush(struct fth_l2 *l2);
/* If several L2s receive the same requests, only one of them, the recording L2, gets them from
 * fth_l2_add(). While recording, fth_l2_flush() only marks the end of the round and does not
 * process the requests. fth_l2_replay() makes an L2 (this one or another) process the rounds that
 * the L2 `from` has recorded. fth_l2_discard_recorded() removes them after all L2s have processed
 * them. */
void fth_l2_set_recording(struct fth_l2 *l2, bool on);
bool fth_l2_replay(struct fth_l2 *l2, struct fth_l2 *from);
void fth_l2_discard_recorded(struct fth_l2 *l2);
/* Counts of an instruction; valid until the next call of this function for the L2. The index
 * `instructions` (the number passed to fth_l2_create()) stands for write-backs, which belong to no
 * instruction. */
const struct fth_l2_counts *fth_l2_counts(const struct fth_l2 *l2, size_t instruction);
const struct fth_cache_level_totals *fth_l2_totals(const struct fth_l2 *l2, uint64_t side);
void fth_l2_reset_counts(struct fth_l2 *l2);

/* ---- distance.c ---- */

/* Exact stack distances of a sequence of numbers, here sector numbers. Memory is proportional to
 * the number of different numbers. */
struct fth_distances;

FTH_MUST_USE enum fth_status fth_distances_create(struct fth_distances **distances,
                                                  struct fth_error *error);
void fth_distances_destroy(struct fth_distances *distances);
/* Adds numbers to the sequence. out[i], if `out` is not NULL, gets the count of different numbers
 * since the last occurrence of numbers[i]; UINT64_MAX: first occurrence. False: out of memory. */
bool fth_distances_add(struct fth_distances *distances, const uint64_t *numbers, size_t count,
                       uint64_t *out);
/* The number of occurrences of each distance from 0 to *count - 1. *fresh gets the number of first
 * occurrences. */
const uint64_t *fth_distances_profile(const struct fth_distances *distances, size_t *count,
                                      uint64_t *fresh);

/* ---- sharing_keys.c ---- */

/* Hash keys that decide which work two models can share. If a key is equal in two models, so is
 * the work that it stands for, and this work is done only once. */
struct fth_sharing_keys {
    uint64_t stream;         /* the requests that reach the L1s, and their order */
    uint64_t l1;             /* `stream` and the behaviour of the L1s */
    uint64_t l1_except_ways; /* `l1` without the ways; 0: lru_stack.c cannot simulate these L1s */
    /* How requests that the L1s forward become requests to the L2: lines and sectors of the L2,
     * sides and joins. The requests are equal if `l1` is equal, too. */
    uint64_t l2_input;
    /* The same for the figures "L1 off" (the L2 as if every access bypassed the L1), without joins.
     * The requests are equal if `stream` is equal, too. */
    uint64_t bypassed_l2_input;
    uint64_t cache_lines; /* not a key, but a measure of size: lines of all caches together */
};

/* Computes the keys for one launch. */
void fth_sharing_keys_compute(const struct fth_model_params *params,
                              const struct fth_setting *setting, struct fth_sharing_keys *keys);
/* Computes the keys for all launches of a kernel; `kernel` NULL: all launches of the trace.
 * `cache_lines` is the maximum over these launches. `l1_except_ways` is never 0: it includes the
 * ways in launches whose L1s lru_stack.c cannot simulate. */
FTH_MUST_USE enum fth_status fth_model_sharing_keys(const struct fth_trace *trace,
                                                    const char *kernel,
                                                    const struct fth_model_params *params,
                                                    struct fth_sharing_keys *keys,
                                                    struct fth_error *error);

/* ---- multi_run.c ---- */

/* Which L1s a model uses: its own, those of another model with equal L1s, or a variant of an LRU
 * stack that it shares with models whose L1s differ only in their ways. */
enum fth_l1_source { FTH_L1_OWN, FTH_L1_SHARED, FTH_L1_STACK };
struct fth_model_member {
    const struct fth_model_params *params;
    bool bypassed;                   /* also simulate the L2 as if the L1s were off ("L1 off") */
    struct fth_model_result *result; /* output; owned by the caller */
    enum fth_l1_source l1;           /* output; of the last launch */
};

/* Runs several models with equal `stream` keys in one pass over the trace. Each gets the same
 * result as from fth_model_run(). Only `kernel` and `log` of the options are used. On failure there
 * are no results, and *failed_member is the index of the member that caused the failure. */
FTH_MUST_USE enum fth_status fth_model_run_many(const struct fth_trace *trace,
                                                struct fth_model_member *members, size_t count,
                                                const struct fth_model_options *options,
                                                size_t *failed_member, struct fth_error *error);

/* ---- result.c ---- */

struct fth_model_result {
    struct fth_model_row *rows;
    size_t row_count, row_capacity;
    struct fth_model_curve curves[FTH_MODEL_LEVELS];
};

/* Add the counts and profiles of `from`. False: out of memory. */
bool fth_row_add(struct fth_model_row *row, const struct fth_model_row *from);
void fth_counts_add(struct fth_model_counts *to, const struct fth_model_counts *from);
bool fth_profile_add(struct fth_model_profile *to, const uint64_t *from, size_t count);

#endif
