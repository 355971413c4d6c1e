/* model/: computes how often the memory accesses of kernels hit in the L1s and the L2 of a GPU. It
 * implements the physical model of RDGC (M. Kiani, A. Rajabzadeh, "RDGC: A Reuse Distance-Based
 * Approach to GPU Cache Performance Analysis") and extends it to newer GPUs (docs/model.md).
 * Sections, tables and algorithms cited in this folder are those of that paper.
 *
 *   params.c     parameters by name                describe.c      parameters of a description
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
 * A trace is sorted by access number, block and warp. This is the order of Algorithm 2 with all SMs
 * interleaved. Therefore the trace is read only once, in batches. The L1s process their parts of a
 * batch independently of each other. Then the L2 processes the requests that the L1s forward, in
 * the order of the trace. */
#ifndef FTH_MODEL_H
#define FTH_MODEL_H

#include "cache/cache.h"
#include "gpu/gpu.h"
#include "trace/trace.h"

/* ---- params.c ---- */

enum fth_model_level { FTH_MODEL_L1, FTH_MODEL_L2, FTH_MODEL_LEVELS };

/* Parameters that exist once per level. fth_model_key() gives their index. */
enum fth_model_key {
    FTH_KEY_SIZE,
    FTH_KEY_SETS, /* if sets or ways is 0, it is computed from the size and the other one */
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

/* The other parameters. Their indices follow those of the two levels. */
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
    double number; /* meaningful only for numeric parameters */
    char text[120];
    enum fth_model_source source;
};

/* Maximum number of carve-outs that are kept from a description; further ones are ignored. */
enum { FTH_MODEL_MAX_CARVEOUTS = 16 };

struct fth_model_params {
    struct fth_model_value values[FTH_MODEL_KEYS];
    /* L1 size for each carve-out, if the description has them; in the order of the description. */
    uint64_t carveout_bytes[FTH_MODEL_MAX_CARVEOUTS], carveout_l1_bytes[FTH_MODEL_MAX_CARVEOUTS];
    size_t carveout_count;
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
    uint64_t line_bytes, sector_bytes, fill_bytes;
    unsigned line_shift, sector_shift;
    uint64_t sets, ways, lines;           /* per bank */
    uint64_t partitions, banks, ports;    /* units = partitions x banks */
    uint64_t partition_bytes, bank_bytes; /* interleaving granularity */
    const char *index, *policy;
    enum fth_bypass bypass;
    bool merged_hits;     /* a read that merges with a miss in flight counts as a hit */
    uint64_t mshr_sets;   /* sets of MSHRs; neighbouring partitions share a set */
    uint64_t mshr_size;   /* MSHRs per set; 0: no limit */
    uint64_t mshr_merges; /* maximum number of merges per MSHR; 0: no limit */
    double latency_fixed, latency_per_busy; /* fth_shape_latency() */
    enum fth_write write;
    uint64_t seed;
};

/* The model's parameters, resolved for one launch. */
struct fth_setting {
    struct fth_shape l1, l2; /* one L1; one side of the L2 */
    uint64_t sms, schedulers;
    uint64_t blocks_at_once; /* resident blocks per SM (CB in the paper) */
    uint64_t warps_per_block, blocks;
    uint64_t l1_bytes;
    uint64_t sides; /* sides of the L2: the near and the far partition of docs/glossary.md */
    /* The home side of a line is the number of bits set in address & home_mask, modulo sides. */
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
 * only prevents overflow. */
static inline uint64_t fth_shape_latency(const struct fth_shape *shape, uint64_t busy)
{
    if (shape->latency_per_busy == 0)
        return (uint64_t)shape->latency_fixed;
    const double steps = shape->latency_fixed + shape->latency_per_busy * (double)busy;
    return steps < 1e9 ? (uint64_t)steps : (uint64_t)1e9;
}
/* Extends a set of sectors to whole fills: all sectors that are fetched together with them. */
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
/* Whether the mapping uses random numbers, so that the placement depends on the seed. */
bool fth_placement_is_random(const char *mapping);
/* The number of waves of the SM that has the most. */
uint64_t fth_placement_waves(const struct fth_placement *placement);
/* Gives a range [first, last] that contains all blocks of the wave, and possibly others. */
void fth_placement_range(const struct fth_placement *placement, uint64_t wave, uint64_t *first,
                         uint64_t *last);
/* The SM of a block; *wave gets the index of its wave on that SM. */
uint32_t fth_placement_sm(const struct fth_placement *placement, uint64_t block, uint64_t *wave);
/* Parses a list of integers below `max`, separated by commas or white space; "@FILE" reads the list
 * from a file. `what` names the parameter in errors. The caller frees *numbers. */
FTH_MUST_USE enum fth_status fth_number_list(const char *what, const char *text, uint64_t max,
                                             uint32_t **numbers, size_t *count,
                                             struct fth_error *error);

/* ---- coalesce.c ---- */

/* A load or store with the cache operator .cg or .cv, or a volatile one. */
enum { FTH_REQUEST_BYPASS_L1 = 1 };

/* The bytes of one line that one warp instruction accesses. */
struct fth_request {
    uint64_t line;    /* address of the first byte of the line */
    uint64_t sectors; /* one bit per sector that is accessed */
    /* Sectors that the cache forwards to the next level. Read: whole fills for its misses. Write,
     * or access that bypasses the cache: all sectors. */
    uint64_t missing;
    uint32_t run, run_count; /* index of the first run in `fth_requests.runs`; number of runs */
    uint32_t instruction;
    uint8_t kind, flags; /* enum fth_trace_access_kind; FTH_REQUEST_BYPASS_L1 or 0 */
    uint32_t warp;       /* priority at the ports: lower values go first */
};

struct fth_requests {
    struct fth_request *items;
    size_t count, capacity;
    struct fth_cache_run *runs; /* contiguous bytes within a line */
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
/* Adds bytes to the last request if it has the same line and an index of at least `from`; otherwise
 * appends a copy of `template` with this line. Bytes that span several lines are split. Addresses
 * must not decrease from call to call. */
void fth_requests_add(struct fth_requests *requests, size_t from, const struct fth_shape *shape,
                      uint64_t address, uint64_t bytes, const struct fth_request *template);
/* Removes the first contiguous group of sectors from *sectors, which must not be empty, and returns
 * its bytes within the line. */
struct fth_cache_run fth_take_sector_run(const struct fth_shape *shape, uint64_t *sectors);
/* Appends one request per line that the access touches, by ascending address. */
void fth_coalesce(struct fth_requests *requests, const struct fth_shape *shape,
                  const struct fth_compact_access *access,
                  const struct fth_trace_instruction *instruction);

/* ---- mshr.c ---- */

/* One miss in flight. */
struct fth_mshr_entry {
    uint64_t line, sectors;
    uint64_t arrival; /* step in which the data arrives; it is in the cache from the next step on */
    uint32_t next;    /* next older entry of the same hash bucket */
    uint32_t merge_count;
};

/* One set of MSHRs. */
struct fth_mshr {
    uint64_t size; /* 0: no limit */
    struct fth_mshr_entry *ring;
    uint32_t *heads;          /* hash table: newest entry of each bucket */
    uint32_t mask, head_mask; /* sizes of ring and heads, minus 1 */
    /* Running numbers of entries, taken modulo the ring size: the oldest entry kept, the oldest
     * whose data has not arrived, and the next to be added. An entry whose data arrives in the
     * current step no longer occupies a register, but later requests can still merge with it in
     * this step. */
    uint64_t first, first_pending, end;
    uint64_t step, last_arrival;
    uint64_t next_change; /* first step in which `first` or `first_pending` must be updated */
};

FTH_MUST_USE enum fth_status fth_mshr_create(uint64_t size, struct fth_mshr **mshr,
                                             struct fth_error *error);
void fth_mshr_destroy(struct fth_mshr *mshr);
void fth_mshr_clear(struct fth_mshr *mshr);
static inline uint32_t fth_mshr_bucket(const struct fth_mshr *mshr, uint64_t line)
{
    return (uint32_t)(line * UINT64_C(0x9e3779b97f4a7c15) >> 32) & mshr->head_mask;
}
/* Begins a step: releases the entries whose data has arrived. fth_mshr_step() calls
 * fth_mshr_advance() only if the step changes something. */
void fth_mshr_advance(struct fth_mshr *mshr, uint64_t step);
static inline void fth_mshr_step(struct fth_mshr *mshr, uint64_t step)
{
    mshr->step = step;
    if (step >= mshr->next_change)
        fth_mshr_advance(mshr, step);
}
static inline uint64_t fth_mshr_busy(const struct fth_mshr *mshr)
{
    return mshr->end - mshr->first_pending;
}
static inline bool fth_mshr_full(const struct fth_mshr *mshr)
{
    return mshr->size && fth_mshr_busy(mshr) >= mshr->size;
}
/* The next step in which a register becomes free or a line is in the cache. UINT64_MAX: no miss is
 * in flight. */
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
/* Whether a sector of the line may be in flight. False is certain; true can be a hash collision. */
static inline bool fth_mshr_pending(const struct fth_mshr *mshr, uint64_t line)
{
    return mshr->first != mshr->end && mshr->heads[fth_mshr_bucket(mshr, line)] != UINT32_MAX;
}
/* Doubles the ring. False: out of memory. */
bool fth_mshr_grow(struct fth_mshr *mshr);
/* Adds a miss with a latency of `steps`. Its data does not arrive before that of earlier misses.
 * False: out of memory. */
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

/* Outcome of an attempt. FAIL is the paper's reservation fail: the request needs an MSHR and gets
 * none, and is tried again in the next step. */
enum fth_attempt_outcome {
    FTH_ATTEMPT_HIT,
    FTH_ATTEMPT_MERGED,
    FTH_ATTEMPT_MISS,
    FTH_ATTEMPT_FAIL
};

struct fth_cache_level_totals {
    uint64_t steps, fails;
    /* RD profiles of reads and of other accesses (CxR and CxW in the paper): sectors by reuse
     * distance within the set; entry [ways] counts misses. */
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
    uint32_t distance; /* reuse distance within its set; UINT32_MAX: none */
};

/* The callbacks by which a cache reports to the next level. Each may be NULL. */
struct fth_next_level {
    void *context;
    /* A request is forwarded. `missing`: the requested sectors that missed; all sectors of a write
     * or of a request that bypasses the cache. `access->request->missing`: the sectors to fetch, in
     * whole fills. */
    void (*miss)(void *context, const struct fth_port_access *access, uint64_t missing);
    /* A line with changed sectors (`dirty`, one bit per sector) was evicted. */
    void (*evicted)(void *context, uint64_t address, uint64_t dirty);
    /* A write or an atomic was processed. */
    void (*changed)(void *context, const struct fth_port_access *access);
};

/* Processes requests that warps issue together until all of them are done. Each request is counted
 * in `counts[request->instruction]`. `request->missing` must be 0 on entry and holds the forwarded
 * sectors on return. `runs` and `next_level` may be NULL. False: out of memory. */
bool fth_cache_level_run(struct fth_cache_level *level, struct fth_request *requests, size_t count,
                         const struct fth_cache_run *runs, struct fth_model_counts *counts,
                         const struct fth_next_level *next_level);
/* Whether the last run has forwarded any request to the next level. */
bool fth_cache_level_forwards(const struct fth_cache_level *level);
/* Read sectors of, or drop, the line of `access` in another cache of the same shape, without ports
 * and MSHRs. Reading fills the sectors that were missing, and returns them. */
uint64_t fth_cache_level_read(struct fth_cache_level *level, const struct fth_port_access *access,
                              uint64_t sectors, const struct fth_next_level *next_level);
void fth_cache_level_drop(struct fth_cache_level *level, const struct fth_port_access *access);

/* For tests: one attempt, as it is reported to an observer. */
struct fth_attempt {
    uint64_t step;
    uint64_t line;
    enum fth_attempt_outcome kind;
    uint32_t distance, unit;
    uint64_t free_mshrs; /* free registers of the unit's MSHR set after the attempt */
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
 * most ways. Variant i has ways[i] ways and counts in counts[i][instruction], which are borrowed.
 */
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

struct fth_l2;

/* Counts of one instruction. */
struct fth_l2_counts {
    struct fth_model_counts counts; /* of the side that was accessed first */
    uint64_t far_hits;              /* read sectors that missed there and hit in their home side */
    uint64_t dram_reads, dram_writes; /* sectors */
};

FTH_MUST_USE enum fth_status fth_l2_create(const struct fth_setting *setting, size_t instructions,
                                           struct fth_l2 **l2, struct fth_error *error);
void fth_l2_destroy(struct fth_l2 *l2);
void fth_l2_clear(struct fth_l2 *l2);
/* Queues a request that an L1 forwards; fth_l2_flush() processes all queued requests. A read
 * accesses `sectors` in the given side. Writes and atomics access all their bytes in the line's
 * home side. Both functions return false if out of memory. */
bool fth_l2_add(struct fth_l2 *l2, const struct fth_shape *l1, const struct fth_request *request,
                const struct fth_cache_run *runs, uint64_t sectors, uint8_t side);
bool fth_l2_flush(struct fth_l2 *l2);
/* If several L2s receive the same requests, one of them records: its fth_l2_flush() only marks the
 * end of a round. fth_l2_replay() makes an L2, including the recording one, process the rounds that
 * `from` has recorded. fth_l2_discard_recorded() then discards them. */
void fth_l2_set_recording(struct fth_l2 *l2, bool on);
bool fth_l2_replay(struct fth_l2 *l2, struct fth_l2 *from);
void fth_l2_discard_recorded(struct fth_l2 *l2);
/* Counts of an instruction; valid until the next call. The index `instructions` stands for
 * write-backs that belong to no instruction. */
const struct fth_l2_counts *fth_l2_counts(const struct fth_l2 *l2, size_t instruction);
const struct fth_cache_level_totals *fth_l2_totals(const struct fth_l2 *l2, uint64_t side);
void fth_l2_reset_counts(struct fth_l2 *l2);

/* ---- distance.c ---- */

/* Exact stack distances of a stream of numbers. Memory is proportional to the number of different
 * numbers. */
struct fth_distances;

FTH_MUST_USE enum fth_status fth_distances_create(struct fth_distances **distances,
                                                  struct fth_error *error);
void fth_distances_destroy(struct fth_distances *distances);
/* Adds numbers to the stream. out[i], if `out` is not NULL, gets the count of different numbers
 * since the last occurrence of numbers[i]; UINT64_MAX: first occurrence. False: out of memory. */
bool fth_distances_add(struct fth_distances *distances, const uint64_t *numbers, size_t count,
                       uint64_t *out);
/* The number of occurrences of each distance from 0 to *count - 1. *fresh gets the number of first
 * occurrences. */
const uint64_t *fth_distances_profile(const struct fth_distances *distances, size_t *count,
                                      uint64_t *fresh);

/* ---- sharing_keys.c ---- */

/* Hash keys that decide which work two models can share. Where a key of two models is equal, so is
 * the part of the model that it stands for. */
struct fth_sharing_keys {
    uint64_t stream;            /* the requests that reach the L1s, and their order */
    uint64_t l1;                /* `stream` and the behaviour of the L1s */
    uint64_t l1_except_ways;    /* as `l1`, without the ways; 0: lru_stack.c cannot simulate it */
    uint64_t l2_input;          /* how requests forwarded by the L1s become requests to the L2 */
    uint64_t bypassed_l2_input; /* the same for an L2 whose L1s are off */
    uint64_t cache_lines;       /* not a key: lines of all caches together */
};

/* Computes the keys for one launch. */
void fth_sharing_keys_compute(const struct fth_model_params *params,
                              const struct fth_setting *setting, struct fth_sharing_keys *keys);
/* Computes the keys for all launches of a kernel; NULL: all launches of the trace. `cache_lines` is
 * the maximum over these launches. */
FTH_MUST_USE enum fth_status fth_model_sharing_keys(const struct fth_trace *trace,
                                                    const char *kernel,
                                                    const struct fth_model_params *params,
                                                    struct fth_sharing_keys *keys,
                                                    struct fth_error *error);

/* ---- multi_run.c ---- */

/* Which L1s a model uses: its own, those of an equal model, or a variant of an LRU stack that it
 * shares with models whose L1s differ only in their ways. */
enum fth_l1_source { FTH_L1_OWN, FTH_L1_SHARED, FTH_L1_STACK };
struct fth_model_member {
    const struct fth_model_params *params;
    bool bypassed;                   /* also simulate the L2 as if the L1s were off */
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
