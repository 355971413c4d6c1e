/* model/level/: simulates single caches. coalesce.c turns the accesses of warps into requests for
 * lines. A cache level (the L1 of an SM, or one side of the L2) processes groups of these requests
 * and marks what it forwards to the next level. l2_sides.c joins the sides of an L2, and memory.
 * cache_level.h has what the files of a cache level share. */
#ifndef FTH_MODEL_LEVEL_H
#define FTH_MODEL_LEVEL_H

#include "model/model.h"

/* ---- coalesce.c ---- */

/* Flags of a request, by the cache operator and the hints of its instruction. */
enum {
    FTH_LINE_REQUEST_BYPASS_L1 = 1,   /* the L1 does not look the line up */
    FTH_LINE_REQUEST_NO_ALLOCATE = 2, /* a miss leaves nothing in the L1 */
    FTH_LINE_REQUEST_EVICT = 4,       /* with BYPASS_L1: the L1 drops the line */
    FTH_LINE_REQUEST_L1_FLAGS = 7,
    FTH_LINE_REQUEST_FLOAT = 8, /* an atomic on floating-point numbers, for the model with time */
    /* A number in bits 4 to 6: a miss of the L2 fills 16 << number bytes; 0: as for others. */
    FTH_LINE_REQUEST_FILL_SHIFT = 4,
    FTH_LINE_REQUEST_L2_FLAGS = 0x70,
    /* With time: the L1 processes the line in the same cycle as the one before it. */
    FTH_LINE_REQUEST_TOGETHER = 0x80
};

/* The bytes of one line that one warp instruction accesses (a line request in docs/model.md). */
struct fth_line_request {
    uint64_t line;    /* address of the first byte of the line */
    uint64_t sectors; /* one bit per sector that is accessed */
    /* Sectors that the cache forwards to the next level. For a read: the sectors that missed and
     * those that are fetched together with them (fth_shape_fills). For a write, or an access that
     * bypasses the cache: all of `sectors`. */
    uint64_t missing;
    /* The accessed bytes, as contiguous ranges ("runs"): index of the first run in
     * `fth_line_requests.runs`, and number of runs. */
    uint32_t run, run_count;
    uint32_t instruction;
    uint8_t kind, flags; /* enum fth_trace_access_kind; FTH_LINE_REQUEST_… */
    /* Requests with lower values go first at the ports. In the L1, this is the index of the warp in
     * its block; in the L2, the position of the request in the order of arrival. */
    uint32_t warp;
};

struct fth_line_requests {
    struct fth_line_request *items;
    size_t count, capacity;
    struct fth_cache_run *runs; /* ranges of contiguous bytes within a line */
    size_t run_count, run_capacity;
    bool failed; /* out of memory */
};

/* Ensure space for one more request and one more run. On failure they return false and set
 * `failed`. */
bool fth_line_requests_grow(struct fth_line_requests *requests);
static inline bool fth_line_requests_reserve(struct fth_line_requests *requests)
{
    return (requests->count < requests->capacity && requests->run_count < requests->run_capacity) ||
           fth_line_requests_grow(requests);
}
void fth_line_requests_clear(struct fth_line_requests *requests);
void fth_line_requests_fini(struct fth_line_requests *requests);
/* Removes the first `count` requests and their runs. */
void fth_line_requests_drop(struct fth_line_requests *requests, size_t count);
/* Adds bytes to the last request if this request has the same line and is not before items[from];
 * otherwise appends a copy of `template` with this line. Bytes that span several lines are split.
 * Addresses must not decrease from call to call. */
void fth_line_requests_add(struct fth_line_requests *requests, size_t from,
                           const struct fth_shape *shape, uint64_t address, uint64_t bytes,
                           const struct fth_line_request *template);
/* Removes the first contiguous group of sectors from *sectors, which must not be empty, and returns
 * this group as a range of bytes within the line. */
struct fth_cache_run fth_take_sector_run(const struct fth_shape *shape, uint64_t *sectors);
/* Appends one request per line that the access touches, by ascending address. Lanes of an atomic
 * that have the same address, but not all lanes, take turns; each turn has requests of its own.
 * Local memory: each word of 4 bytes per lane has requests of its own. */
void fth_coalesce(struct fth_line_requests *requests, const struct fth_shape *shape,
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

/* ---- shadow.c ---- */

/* Finds out why reads of one cache miss (docs/model/misses.md). The caller reports what the cache
 * does, in the same order. `line` is the address of a line; sectors are masks of its sectors. */
struct fth_shadow;

/* `lines`: capacity of the cache; `shape` gives its lines and sectors. */
FTH_MUST_USE enum fth_status fth_shadow_create(const struct fth_shape *shape, uint64_t lines,
                                               struct fth_shadow **shadow, struct fth_error *error);
void fth_shadow_destroy(struct fth_shadow *shadow);
/* The cache was emptied. From now on it has `lines` lines. */
void fth_shadow_clear(struct fth_shadow *shadow, uint64_t lines);
/* Whether the memory was not sufficient. Then the causes are wrong. */
bool fth_shadow_failed(const struct fth_shadow *shadow);
/* A read misses the sectors `missed`, and the cache fetches `fetched`, which may be more or none.
 * `present`: the cache held the line, without these sectors. Adds `missed` to *misses by cause,
 * unless that is NULL. To be called before fth_shadow_use() for the same access. */
void fth_shadow_miss(struct fth_shadow *shadow, uint64_t line, uint64_t missed, uint64_t fetched,
                     bool present, struct fth_model_misses *misses);
/* Sectors that an earlier miss fetches count as missed again: adds them by the cause of that miss.
 */
void fth_shadow_miss_again(struct fth_shadow *shadow, uint64_t line, uint64_t sectors,
                           struct fth_model_misses *misses);
/* A read or a write uses the line, which may be allocated for it. `sectors`: those of the access
 * and of its fills that the cache holds completely afterwards. `slot`: where the line is, which
 * makes it faster to find. */
void fth_shadow_use(struct fth_shadow *shadow, uint64_t line, uint32_t slot, uint64_t sectors);
/* The cache completes sectors of a line that it holds, without a use of the line. */
void fth_shadow_complete(struct fth_shadow *shadow, uint64_t line, uint64_t sectors);
/* An access removes these sectors, which the cache held, without a replacement. */
void fth_shadow_remove(struct fth_shadow *shadow, uint64_t line, uint64_t sectors);
/* Prefetch what these functions will need into the host's caches: first where the entry of the line
 * is, some time later the entry. `slot`: where the line is; FTH_NO_SLOT: unknown, or nowhere. */
void fth_shadow_prepare(const struct fth_shadow *shadow, uint64_t line, uint32_t slot);
void fth_shadow_prepare_entry(const struct fth_shadow *shadow, uint64_t line, uint32_t slot);

/* ---- belady.c ---- */

/* Belady's bound for one bank of a cache: which accesses hit with the best replacement. The caller
 * reports all accesses in their order. `line` is the number of a line in the bank. */
struct fth_belady;

struct fth_belady_access {
    uint64_t line;
    uint64_t sectors; /* that are accessed */
    uint64_t fills;   /* the whole fills that contain them; 0: a miss does not fetch others */
    uint32_t set;
    uint8_t kind;   /* enum fth_trace_access_kind */
    bool allocates; /* after a miss, the cache holds the line and these sectors */
    bool adds;      /* the cache holds these sectors if it holds the line, without allocating it */
    bool merges;    /* the sectors are in flight: they hit, whether the cache keeps them or not */
    bool dirties;   /* writes the sectors, in a cache that writes back */
    /* Outputs: the sectors that hit; sector positions of which a sector, of this line or another
     * one, is written back. */
    uint64_t hits, written_back;
};

/* `cache` gives the sets, their ways, and the lines and sectors. It is not used later. */
FTH_MUST_USE enum fth_status fth_belady_create(const struct fth_cache *cache,
                                               struct fth_belady **belady, struct fth_error *error);
void fth_belady_destroy(struct fth_belady *belady);
void fth_belady_clear(struct fth_belady *belady);
/* Whether the memory was not sufficient. Then the hits are wrong. */
bool fth_belady_failed(const struct fth_belady *belady);
/* Processes an access. Returns the index of the line, in the order of the first accesses. */
uint32_t fth_belady_access(struct fth_belady *belady, struct fth_belady_access *access);
/* Whether the cache could hold a sector of the line now. */
bool fth_belady_holds_line(const struct fth_belady *belady, uint32_t set, uint64_t line);
/* The line is invalidated. Returns the sectors that the cache may have held. */
uint64_t fth_belady_drop(struct fth_belady *belady, uint32_t set, uint64_t line);

/* ---- plan.c ---- */

/* Addresses are distributed over `count` parts in pieces of `bytes`. */
struct fth_interleaving {
    uint64_t count, bytes;
    bool powers_of_two;                /* count and bytes are powers of two */
    unsigned count_shift, bytes_shift; /* their logarithms; valid if powers_of_two */
};

/* The banks of a cache. */
struct fth_banking {
    struct fth_interleaving partitions, banks; /* banks: within a partition */
    size_t unit_count;                         /* partitions x banks */
    size_t cluster_units;                      /* neighbouring units that share MSHRs */
    uint64_t ports;                            /* of each unit */
    unsigned line_shift;
};

/* A request at its place in the plan of its group. */
struct fth_planned {
    uint32_t request;       /* index in the group */
    uint32_t step;          /* from the start of the group on */
    uint16_t unit, cluster; /* cluster: unit / cluster_units */
};

/* The plan of a group; borrowed. */
struct fth_group_plan {
    const struct fth_planned *items; /* [requests] */
    const uint64_t *lines;           /* [requests] numbers of their lines within the units */
};

/* The plans of groups of requests, one after the other. Begins as {0}. */
struct fth_plan {
    struct fth_banking banking;
    struct fth_planned *items;
    uint64_t *lines;
    size_t count, capacity;
    void *scratch;
    size_t scratch_bytes;
};

/* Returns true if the plan is for such banks. Otherwise, makes it an empty plan for them. */
bool fth_plan_use(struct fth_plan *plan, const struct fth_banking *banking);
/* Appends the plan of a group. False: out of memory. */
bool fth_plan_extend(struct fth_plan *plan, const struct fth_line_request *requests, size_t count);
/* The plan of the group whose first request has this index. */
static inline struct fth_group_plan fth_plan_group(const struct fth_plan *plan, size_t first)
{
    if (!plan->count) /* an empty group */
        return (struct fth_group_plan){NULL, NULL};
    return (struct fth_group_plan){plan->items + first, plan->lines + first};
}
void fth_plan_fini(struct fth_plan *plan);

/* ---- cache_level.c ---- */

/* Whether the policy of a cache is not a policy but Belady's bound. */
bool fth_shape_is_bound(const struct fth_shape *shape);
/* Creates one bank of a cache, or several copies, with bytes of the caller (copies and extra_bytes
 * of struct fth_cache_config). If the number of lines
 * is no multiple of the number of sets, the first sets get one more way. */
FTH_MUST_USE enum fth_status fth_shape_create_cache(const struct fth_shape *shape, uint64_t seed,
                                                    uint64_t copies, uint32_t extra_bytes,
                                                    struct fth_cache **cache,
                                                    struct fth_error *error);

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
/* From now on, the level finds out why its reads miss, and adds the sectors to
 * misses[request->instruction]. `misses` is borrowed, and can be changed between two runs. */
FTH_MUST_USE enum fth_status fth_cache_level_diagnose(struct fth_cache_level *level,
                                                      struct fth_error *error);
void fth_cache_level_set_misses(struct fth_cache_level *level, struct fth_model_misses *misses);
/* Whether memory for that was not sufficient. */
bool fth_cache_level_failed(const struct fth_cache_level *level);
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
    struct fth_line_request *request;
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
    /* Reads of an instruction have fetched this number of sectors. If it is set, the cache may call
     * it once for several reads that miss, instead of `miss` for each of them, and then does not
     * call `miss` for each write in a write-back cache, which fetches nothing. */
    void (*fetched)(void *context, uint32_t instruction, uint64_t sectors);
    /* A line with changed sectors (`dirty`, one bit per sector) was evicted. */
    void (*evicted)(void *context, uint64_t address, uint64_t dirty);
    /* A write or an atomic was processed. The L2 then invalidates the copies in its other sides. */
    void (*changed)(void *context, const struct fth_port_access *access);
};

/* Processes a group of requests that warps issue at the same time, and returns when all of them are
 * done. Each request is counted in `counts[request->instruction]`. `request->missing` must be 0 on
 * entry and holds the forwarded sectors on return. `runs` and `next_level` may be NULL. False: out
 * of memory. */
bool fth_cache_level_run(struct fth_cache_level *level, struct fth_line_request *requests,
                         size_t count, const struct fth_cache_run *runs,
                         struct fth_model_counts *counts, const struct fth_next_level *next_level);
/* The same for a group whose plan is known, unless it is NULL. */
bool fth_cache_level_run_planned(struct fth_cache_level *level, const struct fth_group_plan *plan,
                                 struct fth_line_request *requests, size_t count,
                                 const struct fth_cache_run *runs, struct fth_model_counts *counts,
                                 const struct fth_next_level *next_level);
/* The banks of the level; NULL: it has one bank, and does not need plans. */
const struct fth_banking *fth_cache_level_banking(const struct fth_cache_level *level);
/* Whether the last run has forwarded any request to the next level. */
bool fth_cache_level_forwards(const struct fth_cache_level *level);
/* With these two functions, an access to one side of the L2 also affects another side. `access` is
 * the access to the first side. `level` is the other side, which has the same shape. Neither ports
 * nor MSHRs are modelled. fth_cache_level_read() reads sectors of the line, fills those that are
 * missing, and returns the missing ones. fth_cache_level_drop() invalidates the line. */
uint64_t fth_cache_level_read(struct fth_cache_level *level, const struct fth_port_access *access,
                              uint64_t sectors, const struct fth_next_level *next_level);
void fth_cache_level_drop(struct fth_cache_level *level, const struct fth_port_access *access);

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
bool fth_lru_stack_run(struct fth_lru_stack *stack, const struct fth_line_request *requests,
                       size_t count, uint64_t *misses);
const struct fth_cache_level_totals *fth_lru_stack_totals(const struct fth_lru_stack *stack,
                                                          size_t variant);
/* Whether the counts of the variant may differ from those of a separate cache (lru_stack.c says
 * when). Then its results are invalid, and it must be simulated separately. */
bool fth_lru_stack_diverged(const struct fth_lru_stack *stack, size_t variant);

/* ---- l2_sides.c ---- */

/* The L2 with its sides, and memory. A read accesses the side that is near its SM. If it misses
 * there and the home of the line is another side, it accesses the home side, and then memory.
 * Writes and atomics access the home side only. */
struct fth_l2;

/* Counts of one instruction. */
struct fth_l2_counts {
    struct fth_model_counts counts; /* reads: of the near side; others: of the home side */
    uint64_t far_hits; /* read sectors that missed in the near side and hit in their home side */
    uint64_t dram_reads, dram_writes; /* sectors */
    struct fth_model_misses misses;   /* why reads missed in the near side; 0: not wanted */
};

FTH_MUST_USE enum fth_status fth_l2_create(const struct fth_setting *setting, size_t instructions,
                                           struct fth_l2 **l2, struct fth_error *error);
void fth_l2_destroy(struct fth_l2 *l2);
/* From now on, finds out why reads miss. */
FTH_MUST_USE enum fth_status fth_l2_diagnose(struct fth_l2 *l2, struct fth_error *error);
void fth_l2_clear(struct fth_l2 *l2);
/* fth_l2_add() queues a request that an L1 of shape `l1` forwards. `side` is the one near the SM. A
 * read accesses `sectors` there. Writes and atomics access all their bytes in the home side of the
 * line. fth_l2_flush() ends the round (docs/glossary.md): it processes all queued requests. Both
 * functions return false if out of memory. */
bool fth_l2_add(struct fth_l2 *l2, const struct fth_shape *l1,
                const struct fth_line_request *request, const struct fth_cache_run *runs,
                uint64_t sectors, uint8_t side);
bool fth_l2_flush(struct fth_l2 *l2);
/* If several L2s receive the same requests, only one of them, the recording L2, gets them from
 * fth_l2_add(). While recording, fth_l2_flush() only marks the end of the round and does not
 * process the requests. fth_l2_replay() makes an L2 (this one or another) process the rounds that
 * the L2 `from` has recorded. fth_l2_discard_recorded() removes them after all L2s have processed
 * them. */
void fth_l2_set_recording(struct fth_l2 *l2, bool on);
bool fth_l2_replay(struct fth_l2 *l2, struct fth_l2 *from);
void fth_l2_discard_recorded(struct fth_l2 *l2);
/* Counts of all instructions. The last element, at the index `instructions` (the number passed to
 * fth_l2_create()), has the write-backs, which belong to no instruction. */
const struct fth_l2_counts *fth_l2_counts(struct fth_l2 *l2);
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

#endif
