/* model/timed/: the model with time. Every access of a warp has a time, and the caches process
 * accesses in the order of these times. This order decides which reads of several SMs are joined,
 * which sectors are still in flight when they are read again, and which block is next on an SM.
 *
 *   timing.c        costs in ticks, from the parameters
 *   streams.c       reads the trace: the accesses of each warp of the resident blocks
 *   patterns.c      coalesces them
 *   event_queue.c   what happens next; most of it is in event_queue.h
 *   dispatch.c      which block starts where and when
 *   warps.c         when a warp issues its next access
 *   timed_cache.c   a cache whose sectors can be in flight
 *   timed_l1.c      the L1s; timed_l1_create.c creates them and gives their counts
 *   timed_l2.c      joins of reads, the sides of the L2, memory; timed_l2_create.c creates them
 *   timed_run.c     runs launches and collects their counts
 *   sample.c        simulates the beginning of a launch only
 *   families.c      simulates some of the launches of a kernel only
 *
 * It is no simulation of every cycle: docs/model/time.md lists what it leaves out. All times are
 * integers, so results are the same on all machines. */
#ifndef FTH_MODEL_TIMED_H
#define FTH_MODEL_TIMED_H

#include "model/run/run.h"

/* ---- timing.c ---- */

/* Times are in ticks. A tick is a part of a cycle that is short enough for the time that one sector
 * takes at the full bandwidth of the L2: about 0.01 cycles on an H200. */
enum { FTH_CYCLE_SHIFT = 12, FTH_TICKS_PER_CYCLE = 1 << FTH_CYCLE_SHIFT };

/* Costs, in ticks unless the comment says otherwise. */
struct fth_timing {
    double clock_hz;
    uint64_t issue;          /* between two instructions of a warp */
    uint64_t l1_hit;         /* latency of a hit in the L1 */
    uint64_t l1_cycle;       /* cycle of the L1 */
    uint64_t port;           /* time that the port of an SM to the L2 is busy with a request */
    uint64_t store;          /* time that it is busy with a sector of a store */
    uint64_t to_join;        /* from the SM to the unit that joins reads, and back */
    uint64_t to_l2;          /* from there to the near side of the L2, and back */
    uint64_t l2_deviation;   /* maximum deviation of `to_l2` by line and SM; 0: none */
    unsigned order;          /* fth_model_params.order, which decides the deviations */
    uint64_t to_far;         /* from the near side to the far side */
    uint64_t from_far;       /* and the way back */
    uint64_t to_memory;      /* from a side to memory and back, together */
    uint64_t l2_sector;      /* time that a sector occupies one side of the L2 */
    uint64_t l2_write;       /* time that a sector of a store occupies the input of the L2 */
    uint64_t mem_sector;     /* time that a sector occupies memory */
    uint64_t atomic[2];      /* between two atomics on one sector: integers, floating point */
    uint64_t constant;       /* time that an address occupies the unit for constants of an SM */
    uint64_t read_merge;     /* maximum time in which misses in a line merge */
    uint64_t store_merge;    /* time in which stores to a line merge */
    uint32_t queue_accesses; /* maximum number of accesses of a scheduler that wait for the L1 */
    uint32_t join_reads;     /* maximum number of reads that become one request */
    uint64_t block_gap;      /* between the starts of two blocks of the first wave on one SM */
    uint64_t block_jitter;   /* maximum delay of the start of a block */
    uint64_t warp_spread;    /* maximum delay of a warp that starts or waits for the L2 */
    uint64_t start_spread;   /* time within which all SMs start their first blocks */
    uint64_t warp_gap;       /* between the starts of two warps of a block */
    uint64_t dispatch;       /* between the starts of two blocks after the first wave */
    uint64_t refill;         /* from the end of a block to the start of the next one in its place */
    uint64_t refill_period;  /* a GPC accepts new blocks once per period */
    uint64_t launch;         /* time of a launch without blocks */
};

/* Whether launches with these parameters can be simulated with time. Otherwise *reason, which may
 * be NULL, gets the reason. */
bool fth_timing_known(const struct fth_model_params *params, const char **reason);
/* Decides from the parameter gpu.timing whether to simulate with time. "auto": if it is possible
 * and no parameter is set that only the model without time has. */
FTH_MUST_USE enum fth_status fth_timing_choose(const struct fth_model_params *params, bool *timed,
                                               struct fth_error *error);
void fth_timing_read(const struct fth_model_params *params, const struct fth_setting *setting,
                     struct fth_timing *timing);

static inline uint64_t fth_later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* The number of lines that an L1 looks up per cycle. Measured on an H200
 * (docs/results/h200/l1-throughput.md). */
enum { FTH_TAGS_PER_CYCLE = 4 };

/* Asks the host to load the line of memory that contains an address into its caches. */
static inline void fth_prefetch(const void *address)
{
    __builtin_prefetch(address);
}

/* ---- streams.c ---- */

/* The part of an access that touches one line. */
struct fth_timed_line {
    uint64_t line;     /* address of its first byte */
    uint32_t sectors;  /* one bit per sector */
    uint16_t run;      /* index of its first run in fth_streams_runs() */
    uint8_t run_count; /* at most one per lane; 0: the access covers its sectors completely */
    uint8_t flags;     /* FTH_LINE_REQUEST_… */
};

/* An access of a warp. */
struct fth_timed_access {
    struct fth_timed_access *next; /* of the same warp; NULL: none is loaded */
    uint32_t instruction;
    uint32_t latency; /* cycles that dependent instructions among these take */
    uint32_t gap;     /* instructions that the warp issues since its last access, this one too */
    uint32_t shared;  /* wavefronts of their accesses to shared memory */
    uint16_t line_count;
    uint16_t rows_at;              /* where fth_access_rows() is, in bytes; 0: nowhere */
    uint16_t cycles;               /* that the L1 is busy with the access */
    bool barrier;                  /* the warp waits at a barrier before the access */
    uint8_t kind;                  /* enum fth_trace_access_kind */
    struct fth_timed_line lines[]; /* [line_count] */
};

/* The rows of the lines of an access in the L1 [line_count]; NULL: unknown. The rows of an L1 of
 * the policy clock take a while to compute, and are needed several times. */
static inline const uint16_t *fth_access_rows(const struct fth_timed_access *access)
{
    return access->rows_at
               ? (const uint16_t *)(const void *)((const char *)access + access->rows_at)
               : NULL;
}

/* The accesses of one warp that are loaded. */
struct fth_warp_stream {
    struct fth_timed_access *first; /* that was loaded after all earlier ones were taken */
    struct fth_timed_access *last;  /* both NULL: none is loaded */
    uint32_t instruction;           /* of the last access that was loaded; FTH_PACE_START: none */
    uint32_t barriers;              /* part of a barrier that is due; see streams.c */
};

static inline uint32_t fth_count_bits(uint64_t mask)
{
    return (uint32_t)__builtin_popcountll(mask);
}

/* Two numbers from 0 to 65535 that look random. */
struct fth_draw {
    uint64_t first, second;
};

/* Returns numbers that depend only on `what` and `when` (multiplicative hashing with 2^64 / golden
 * ratio). */
static inline struct fth_draw fth_draw(uint64_t what, uint64_t when)
{
    const uint64_t mixed =
        (what ^ when * UINT64_C(0x2545f4914f6cdd1d)) * UINT64_C(0x9e3779b97f4a7c15);
    return (struct fth_draw){mixed >> 48, mixed >> 32 & UINT16_MAX};
}

/* ---- patterns.c ---- */

/* Coalesces accesses, and remembers the results. */
struct fth_patterns;

/* Returns NULL without memory. */
struct fth_patterns *fth_patterns_create(const struct fth_shape *shape);
void fth_patterns_destroy(struct fth_patterns *patterns);
/* Coalesces an access with at least one thread. Returns an access of *bytes bytes, valid until the
 * next call, whose lines are those of the access minus *shift; gap, latency, shared and barrier are
 * 0. NULL: no memory. */
const struct fth_timed_access *fth_patterns_find(struct fth_patterns *patterns,
                                                 const struct fth_compact_access *access,
                                                 const struct fth_trace_instruction *instruction,
                                                 size_t *bytes, uint64_t *shift);
/* Whether a request covers all bytes of its sectors. */
bool fth_is_whole_request(const struct fth_shape *shape, const struct fth_line_request *request,
                          const struct fth_cache_run *runs);

/* ---- streams.c ---- */

struct fth_streams;

/* Memory for accesses and their patterns. The launches of a trace use it one after the other. */
struct fth_slab_pool {
    struct fth_slab *all, *free;   /* lists of slabs */
    struct fth_patterns *patterns; /* NULL: none yet */
};
void fth_slab_pool_fini(struct fth_slab_pool *pool);

/* The streams keep `pool` until they are destroyed. Others must not use it at the same time. */
FTH_MUST_USE enum fth_status fth_streams_create(const struct fth_trace *trace, size_t launch,
                                                const struct fth_setting *setting,
                                                uint64_t resident_blocks,
                                                struct fth_slab_pool *pool,
                                                struct fth_streams **streams,
                                                struct fth_error *error);
void fth_streams_destroy(struct fth_streams *streams);
/* From now on, sets the rows of accesses that are loaded (fth_access_rows()). `l1s` is borrowed. */
struct fth_timed_l1s;
void fth_streams_set_l1s(struct fth_streams *streams, const struct fth_timed_l1s *l1s);
/* Returns the first block from `block` on that must be run, or the number of blocks of the launch.
 * Blocks without accesses are left out if most blocks have none. */
uint64_t fth_streams_next_block(struct fth_streams *streams, uint64_t block);
/* Gives the streams of all warps of a block. Blocks must be opened in ascending order, each once,
 * and closed when their last warp has ended. */
FTH_MUST_USE enum fth_status fth_streams_open_block(struct fth_streams *streams, uint64_t block,
                                                    struct fth_warp_stream **warps,
                                                    struct fth_error *error);
void fth_streams_close_block(struct fth_streams *streams, uint64_t block);
/* Reads the trace until an access of the warp is loaded, or to the end. Called when none is. */
FTH_MUST_USE enum fth_status fth_streams_read(struct fth_streams *streams, uint64_t block,
                                              struct fth_warp_stream *stream,
                                              struct fth_error *error);
/* Gives the first access of a warp of an open block, or, if `last` is not NULL, the one after
 * `last`. *access is NULL at the end. */
static inline FTH_MUST_USE enum fth_status fth_streams_next(struct fth_streams *streams,
                                                            uint64_t block,
                                                            struct fth_warp_stream *stream,
                                                            const struct fth_timed_access *last,
                                                            const struct fth_timed_access **access,
                                                            struct fth_error *error)
{
    *access = last ? last->next : stream->first;
    if (*access)
        return FTH_OK;
    FTH_TRY(fth_streams_read(streams, block, stream, error));
    *access = stream->first;
    return FTH_OK;
}
/* What a warp without further accesses executes until it ends. All are 0 if this is unknown. */
struct fth_timed_tail {
    uint32_t gap, latency; /* as in struct fth_timed_access */
};
struct fth_timed_tail fth_streams_tail(const struct fth_streams *streams,
                                       const struct fth_warp_stream *stream);
/* Returns the addresses of constants that a warp loads between accesses of two instructions, only
 * those of loads with several addresses. `last`: FTH_PACE_START before the first access. */
uint32_t fth_streams_constants(const struct fth_streams *streams, uint32_t last,
                               uint32_t instruction);
/* Moves an access to local memory to the local memory of its warp. Before that, its addresses are
 * offsets. */
void fth_streams_place(const struct fth_streams *streams, const struct fth_timed_access *access,
                       uint64_t address);
/* Frees an access. It is no longer valid afterwards. */
void fth_streams_drop(const struct fth_timed_access *access);
/* The runs of an access that is not yet dropped. */
const struct fth_cache_run *fth_streams_runs(const struct fth_timed_access *access);
/* Accesses of warps so far: [instructions][3], by kind; and their sum. */
const uint64_t *fth_streams_warps(const struct fth_streams *streams);
uint64_t fth_streams_loaded(const struct fth_streams *streams);

/* ---- dispatch.c ---- */

/* Slots for resident blocks, and which slot receives the next block of the grid. */
struct fth_dispatch;

FTH_MUST_USE enum fth_status fth_dispatch_create(const struct fth_model_params *params,
                                                 const struct fth_setting *setting,
                                                 const struct fth_timing *timing,
                                                 struct fth_dispatch **dispatch,
                                                 struct fth_error *error);
void fth_dispatch_destroy(struct fth_dispatch *dispatch);
/* The number of slots. The first blocks of the grid start in slots of their own index. */
uint32_t fth_dispatch_slots(const struct fth_dispatch *dispatch);
uint32_t fth_dispatch_sm(const struct fth_dispatch *dispatch, uint32_t slot);
/* The index of a slot among those of its SM. */
uint32_t fth_dispatch_place(const struct fth_dispatch *dispatch, uint32_t slot);
/* Returns when the first block of a slot starts. */
uint64_t fth_dispatch_start(const struct fth_dispatch *dispatch, uint32_t slot);
/* Returns how much later a block starts than it is placed in its slot. */
uint64_t fth_dispatch_jitter(const struct fth_dispatch *dispatch, uint64_t block);
/* Returns when a slot whose block ends at `end` can take another block. */
uint64_t fth_dispatch_ready(const struct fth_dispatch *dispatch, uint32_t slot, uint64_t end);
/* Adds a slot that can take a block now. */
void fth_dispatch_offer(struct fth_dispatch *dispatch, uint32_t slot);
/* Chooses the slot for the next block and removes it. False: none is offered. */
bool fth_dispatch_choose(struct fth_dispatch *dispatch, uint32_t *slot);

/* ---- timed caches ---- */

/* Sectors of a slot that are on their way, and when they arrive. */
struct fth_slot_flight {
    uint64_t ready;
    uint32_t sectors;
    uint32_t partial; /* in the L2: sectors that are written in part */
};

/* What the last read of another side that fetched sectors of a line has fetched, and when it
 * arrived at the home side. Earlier accesses to the home side miss these sectors, although the
 * model handles them later. */
struct fth_late_fetch {
    uint64_t from;
    uint32_t sectors;
};

/* What a cache with dirty sectors, the L2, keeps of a slot in addition. */
struct fth_slot_extra {
    struct fth_slot_flight flight;
    struct fth_late_fetch late;
};

/* A cache whose sectors can be in flight. */
struct fth_timed_cache {
    struct fth_cache *cache;
    char *flight; /* of slot 0; see fth_flight_of() */
    unsigned flight_shift;
    size_t slots;
};

/* What is in flight of a slot; set when a line is placed there. */
static inline struct fth_slot_flight *fth_flight_of(const struct fth_timed_cache *timed,
                                                    size_t slot)
{
    return (struct fth_slot_flight *)(void *)(timed->flight + (slot << timed->flight_shift));
}
/* Only for a cache with dirty sectors. */
static inline struct fth_late_fetch *fth_late_of(const struct fth_timed_cache *timed, size_t slot)
{
    return &((struct fth_slot_extra *)(void *)fth_changed_of(timed->cache, slot)->extra)->late;
}

FTH_MUST_USE enum fth_status fth_timed_cache_init(struct fth_timed_cache *cache,
                                                  const struct fth_shape *shape, uint64_t seed,
                                                  uint64_t copies, struct fth_error *error);
void fth_timed_cache_fini(struct fth_timed_cache *cache);
/* Lets everything arrive that is in flight. */
void fth_timed_cache_land(struct fth_timed_cache *cache);
/* Like fth_cache_prepare() and fth_cache_prepare_slot(), together with what the model with time and
 * the shadow (NULL: none) keep of a line in the set `set`. */
static inline void fth_timed_cache_prepare(const struct fth_timed_cache *timed,
                                           const struct fth_shadow *shadow, uint32_t set,
                                           const struct fth_timed_line *line)
{
    if (timed->cache->clock)
        fth_cache_prepare(timed->cache, 0, line->line);
    else
        fth_cache_prepare_set(timed->cache, set, line->line >> timed->cache->line_shift);
    if (shadow)
        fth_shadow_prepare(shadow, line->line, FTH_NO_SLOT);
}
static inline uint32_t fth_timed_cache_prepare_slot(const struct fth_timed_cache *timed,
                                                    const struct fth_shadow *shadow, uint32_t set,
                                                    const struct fth_timed_line *line, bool writes,
                                                    bool *found)
{
    const struct fth_cache *cache = timed->cache;
    const uint32_t slot = fth_cache_prepare_slot(cache, set, line->line, found);
    if (!cache->has_dirty)
        fth_prefetch(fth_flight_of(timed, slot));
    if (writes && line->run_count && cache->written)
        fth_prefetch(&cache->written[slot * cache->byte_words]);
    if (shadow) {
        fth_shadow_prepare(shadow, line->line, slot);
        fth_shadow_prepare_entry(shadow, line->line, FTH_NO_SLOT);
    }
    return slot;
}

/* Returns those of `sectors` that are still in flight at `now`. */
static inline uint32_t fth_flight_pending(const struct fth_slot_flight *flight, uint32_t sectors,
                                          uint64_t now)
{
    return flight->ready > now ? flight->sectors & sectors : 0;
}
/* Adds sectors that arrive at `ready`. `fresh`: the line has just been allocated. */
static inline void fth_flight_add(struct fth_slot_flight *flight, bool fresh, uint32_t sectors,
                                  uint64_t now, uint64_t ready)
{
    if (fresh || flight->ready <= now) {
        flight->ready = ready;
        flight->sectors = sectors;
    } else {
        flight->ready = ready > flight->ready ? ready : flight->ready;
        flight->sectors |= sectors;
    }
}

/* Totals with the profiles of a cache. fth_totals_init() returns false without memory. */
bool fth_totals_init(struct fth_cache_level_totals *totals, const struct fth_shape *shape);
void fth_totals_fini(struct fth_cache_level_totals *totals);
void fth_totals_clear(struct fth_cache_level_totals *totals);
static inline void fth_totals_add(struct fth_cache_level_totals *totals,
                                  enum fth_trace_access_kind kind, uint32_t distance, uint32_t hits,
                                  uint32_t misses)
{
    uint64_t *profile = totals->profile[kind != FTH_TRACE_READ];
    const size_t last = totals->profile_size - 1;
    profile[distance < last ? distance : last] += hits;
    profile[last] += misses;
}

/* A request of a warp for sectors of one line. */
struct fth_timed_request {
    uint64_t issued; /* time of the event in which its access is processed */
    uint32_t sm, instruction;
    uint32_t access; /* its number among those of the SM; wraps around */
    uint32_t before; /* number of the last access of its scheduler that sent reads; 0: none */
    const struct fth_timed_line *line;
    const struct fth_cache_run *runs; /* [line->run_count] */
};

/* ---- timed_l2.c ---- */

struct fth_timed_l2;

FTH_MUST_USE enum fth_status fth_timed_l2_create(const struct fth_model_params *params,
                                                 const struct fth_setting *setting,
                                                 size_t instructions, struct fth_timed_l2 **l2,
                                                 struct fth_error *error);
void fth_timed_l2_destroy(struct fth_timed_l2 *l2);
/* From now on, finds out why reads miss (fth_l2_counts.misses). */
FTH_MUST_USE enum fth_status fth_timed_l2_diagnose(struct fth_timed_l2 *l2,
                                                   struct fth_error *error);
/* Whether memory for that was not sufficient. */
bool fth_timed_l2_failed(const struct fth_timed_l2 *l2);
/* Begins a launch at time 0. `cold`: with an empty L2. */
void fth_timed_l2_begin(struct fth_timed_l2 *l2, const struct fth_timing *timing, bool cold);
/* A request of an SM to the L2. Several misses in a line can be parts of one request. */
struct fth_sent_read {
    uint64_t line;
    uint64_t sent;    /* when it begins to pass the port of the SM */
    uint32_t sectors; /* of all parts; 0: none so far */
    uint32_t fetched; /* that the L2 has fetched for it */
    uint32_t access;  /* number of the last access of the SM that has added a part */
    uint32_t number;  /* among the requests of the SM */
    bool joined;      /* its first part was joined with a read of another SM */
};
/* A read of sectors of sent->line that an SM sends at `now`, as the next part of a request. Returns
 * when the data is back at the SM. */
uint64_t fth_timed_l2_read(struct fth_timed_l2 *l2, const struct fth_timed_request *request,
                           uint32_t sectors, uint64_t now, struct fth_sent_read *sent);
/* Returns when the port of an SM can take the next request. */
uint64_t fth_timed_l2_port(const struct fth_timed_l2 *l2, uint32_t sm);
/* A write that an SM sends at `now`. `counted`: the sectors that did not merge with those of an
 * earlier store. Returns when the SM has sent it. */
uint64_t fth_timed_l2_write(struct fth_timed_l2 *l2, const struct fth_timed_request *request,
                            uint32_t counted, uint64_t now);
uint64_t fth_timed_l2_atomic(struct fth_timed_l2 *l2, const struct fth_timed_request *request,
                             uint64_t now);
/* Prefetch the state that a request will need into the host's caches: first the sets of its line,
 * some time later the slot of the line. The model's state does not change. */
void fth_timed_l2_prepare(const struct fth_timed_l2 *l2, uint32_t sm,
                          const struct fth_timed_line *line, bool writes);
void fth_timed_l2_prepare_slot(const struct fth_timed_l2 *l2, uint32_t sm,
                               const struct fth_timed_line *line, bool writes);
/* [instructions + 1]; the last one has the write-backs. */
struct fth_l2_counts *fth_timed_l2_counts(struct fth_timed_l2 *l2);
const struct fth_cache_level_totals *fth_timed_l2_totals(const struct fth_timed_l2 *l2);
void fth_timed_l2_reset_counts(struct fth_timed_l2 *l2);
/* How full the L2 is. */
struct fth_l2_use {
    uint64_t lines;           /* that it can hold */
    uint64_t allocated_lines; /* in this launch */
    uint64_t dirty_sectors;   /* that it holds and that are not written to memory */
};
void fth_timed_l2_get_use(const struct fth_timed_l2 *l2, struct fth_l2_use *use);
/* From now on, adds the reads that reach the L2 to `curves`, which are borrowed. */
void fth_timed_l2_set_curves(struct fth_timed_l2 *l2, struct fth_curves *curves);

/* ---- timed_l1.c ---- */

struct fth_timed_l1s;

FTH_MUST_USE enum fth_status fth_timed_l1s_create(uint64_t sms, size_t instructions,
                                                  struct fth_timed_l1s **l1s,
                                                  struct fth_error *error);
void fth_timed_l1s_destroy(struct fth_timed_l1s *l1s);
/* From now on, finds out why reads miss. To be called before the first launch. */
FTH_MUST_USE enum fth_status fth_timed_l1s_diagnose(struct fth_timed_l1s *l1s,
                                                    struct fth_error *error);
/* The sectors by cause: [instructions + 1]. NULL: not wanted. */
struct fth_model_misses *fth_timed_l1s_misses(struct fth_timed_l1s *l1s);
/* Begins a launch at time 0, with empty L1s. */
FTH_MUST_USE enum fth_status fth_timed_l1s_begin(struct fth_timed_l1s *l1s,
                                                 const struct fth_setting *setting,
                                                 const struct fth_timing *timing,
                                                 struct fth_timed_l2 *l2, struct fth_error *error);
/* Until when the last line that waited for storage in each L1 waited: [sms]; 0: none did. Valid
 * until the L1s are destroyed. */
const uint64_t *fth_timed_l1s_waits_until(const struct fth_timed_l1s *l1s);
/* Whether accesses can have rows (fth_access_rows()). */
bool fth_timed_l1s_have_rows(const struct fth_timed_l1s *l1s);
/* Computes the rows of lines. */
void fth_timed_l1s_find_rows(const struct fth_timed_l1s *l1s, const struct fth_timed_line *lines,
                             size_t count, uint16_t *rows);
/* When an L1 processes an access. */
struct fth_l1_times {
    uint64_t begun; /* it begins to look up the lines */
    uint64_t left;  /* the access leaves the queue of its scheduler: a read without hits when the L1
                     * begins; others when the data of all earlier accesses is delivered, too */
    uint64_t done;  /* the data has arrived */
};
/* Performs all requests of an access that an SM issues at `now`. *sent is the number of the last
 * access of its scheduler that sent reads, with which misses can merge, or 0; it is updated. False:
 * out of memory. */
bool fth_timed_l1s_access(struct fth_timed_l1s *l1s, uint32_t sm,
                          const struct fth_timed_access *access, enum fth_trace_access_kind kind,
                          uint64_t now, uint32_t *sent, struct fth_l1_times *times);
/* Prefetch the state that an access of an SM will need into the host's caches, in three steps: the
 * rows of its L1, the sets of the L2, and the slots of the L2. The second step returns which of the
 * first lines of the access will probably go to the L2, one bit per line. The third step needs
 * these bits. The model's state does not change. */
void fth_timed_l1s_prepare(const struct fth_timed_l1s *l1s, uint32_t sm,
                           const struct fth_timed_access *access);
uint32_t fth_timed_l1s_prepare_sets(const struct fth_timed_l1s *l1s, uint32_t sm,
                                    const struct fth_timed_access *access);
void fth_timed_l1s_prepare_slots(const struct fth_timed_l1s *l1s, uint32_t sm,
                                 const struct fth_timed_access *access, uint32_t lines);
/* Occupies the L1 with wavefronts of shared memory, each for a cycle. */
void fth_timed_l1s_add_shared(struct fth_timed_l1s *l1s, uint32_t sm, uint32_t wavefronts,
                              uint64_t now);
struct fth_model_counts *fth_timed_l1s_counts(struct fth_timed_l1s *l1s); /* [instructions + 1] */
const struct fth_cache_level_totals *fth_timed_l1s_totals(const struct fth_timed_l1s *l1s);
void fth_timed_l1s_reset_counts(struct fth_timed_l1s *l1s);
/* From now on, adds the reads of all SMs to `curves`, which are borrowed. */
void fth_timed_l1s_set_curves(struct fth_timed_l1s *l1s, struct fth_curves *curves);

/* ---- sample.c ---- */

/* The counts of a launch, simulated or estimated. */
struct fth_launch_estimate {
    const uint64_t *warps;              /* [instructions][3] */
    struct fth_model_counts *l1;        /* [instructions + 1] */
    struct fth_l2_counts *l2;           /* [instructions + 1] */
    struct fth_model_misses *l1_misses; /* [instructions + 1]; NULL: not known */
    uint64_t ticks, simulated;          /* accesses that were simulated */
    double l1_error, l2_error;          /* expected errors of the hits of reads, in sectors */
    const struct fth_cache_level_totals *totals[FTH_MODEL_LEVELS]; /* NULL: not known */
};

/* Decides when enough of a launch has been simulated, and estimates the counts of the whole launch.
 */
struct fth_sampler;

/* What a launch has done so far. */
struct fth_sample_state {
    uint64_t accesses; /* of warps that were performed */
    uint64_t ticks;
    const uint64_t *performed;         /* [instructions] accesses */
    const struct fth_model_counts *l1; /* [instructions + 1] */
    const struct fth_l2_counts *l2;    /* [instructions + 1] */
    struct fth_l2_use use;
    const struct fth_model_misses *l1_misses; /* [instructions + 1]; NULL: not known */
};

/* `rate`: at least half of 1/rate of the accesses are simulated. */
FTH_MUST_USE enum fth_status fth_sampler_create(const struct fth_trace *trace, unsigned rate,
                                                struct fth_sampler **sampler,
                                                struct fth_error *error);
void fth_sampler_destroy(struct fth_sampler *sampler);
/* Begins a launch of which `slots` blocks run at a time. */
void fth_sampler_begin(struct fth_sampler *sampler, size_t launch, uint64_t blocks, uint64_t slots);
/* Whether a window ends, or the first one begins, after this number of accesses. */
bool fth_sampler_is_due(const struct fth_sampler *sampler, uint64_t accesses);
/* Ends a window. *enough: the rest of the launch need not be simulated. */
FTH_MUST_USE enum fth_status fth_sampler_mark(struct fth_sampler *sampler,
                                              const struct fth_sample_state *state, bool *enough,
                                              struct fth_error *error);
/* Replaces the counts by estimates for the whole launch, after fth_sampler_mark() has set *enough.
 * The warps are valid until the next launch. */
void fth_sampler_estimate(const struct fth_sampler *sampler, struct fth_launch_estimate *launch);

/* ---- families.c ---- */

/* Launches of the same kernel, of which only some are simulated. */
struct fth_families;

/* `kernel`: as in struct fth_model_options. A family of n launches begins with at least
 * n / (2 x rate) simulated ones. */
FTH_MUST_USE enum fth_status fth_families_create(const struct fth_trace *trace, const char *kernel,
                                                 unsigned rate, struct fth_families **families,
                                                 struct fth_error *error);
void fth_families_destroy(struct fth_families *families);
/* Returns a launch that must be simulated and stored before the next call; SIZE_MAX: none. */
size_t fth_families_next(struct fth_families *families);
/* Copies the counts of a launch that was simulated. */
FTH_MUST_USE enum fth_status fth_families_store(struct fth_families *families, size_t launch,
                                                const struct fth_launch_estimate *counts,
                                                struct fth_error *error);
/* Returns the counts of a launch, stored or interpolated, after the last fth_families_next(). They
 * are valid until the next call. NULL: the launch is in no family, and must be simulated. */
const struct fth_launch_estimate *fth_families_get(struct fth_families *families, size_t launch);

/* ---- warps.c ---- */

struct fth_event_queue;

/* What the warps of a launch work with. */
struct fth_warps_context {
    const struct fth_trace *trace;
    const struct fth_setting *setting;
    const struct fth_timing *timing;
    struct fth_streams *streams;
    const struct fth_dispatch *dispatch;
    bool has_pace; /* the trace has the pace of the launch */
    struct fth_event_queue *queue;
    struct fth_timed_l1s *l1s;
};

/* The warps of all resident blocks, and when each of them issues its next access. Their events are
 * the numbers from 0 to slots x warps per block - 1; those of the slots follow. */
struct fth_warps;

FTH_MUST_USE enum fth_status fth_warps_create(const struct fth_warps_context *context,
                                              struct fth_warps **warps, struct fth_error *error);
void fth_warps_destroy(struct fth_warps *warps);
/* The event that is due when slot 0 can take another block; those of other slots follow. */
uint32_t fth_warps_first_slot_event(const struct fth_warps *warps);
/* Starts a block in a free slot. */
FTH_MUST_USE enum fth_status fth_warps_start_block(struct fth_warps *warps, uint32_t slot,
                                                   uint32_t sm, uint64_t block, uint64_t now,
                                                   struct fth_error *error);
/* The event of a warp: issues its next access. */
FTH_MUST_USE enum fth_status fth_warps_run(struct fth_warps *warps, uint32_t event, uint64_t now,
                                           struct fth_error *error);
/* Loads what the next events of warps will need into the host's caches; changes nothing else. To be
 * called for each event that is taken from the queue. */
void fth_warps_prepare(struct fth_warps *warps);
/* The accesses that were performed so far, and those of them that are not further parts of an
 * instruction (FTH_TRACE_CONTINUES). */
uint64_t fth_warps_accesses(const struct fth_warps *warps);
uint64_t fth_warps_requests(const struct fth_warps *warps);
/* [instructions] the accesses of each instruction that were performed so far. */
const uint64_t *fth_warps_performed(const struct fth_warps *warps);
/* When the last access of all warps was complete. */
uint64_t fth_warps_end(const struct fth_warps *warps);

/* ---- timed_run.c ---- */

/* Runs the launches that the options select, and adds their counts to `rows`, and their reads to
 * `curves` unless it is NULL. Only `kernel`, `log`, `sample` and `diagnose` of the options are
 * used.
 */
FTH_MUST_USE enum fth_status fth_timed_run(const struct fth_trace *trace,
                                           const struct fth_model_params *params,
                                           const struct fth_model_options *options,
                                           struct fth_model_rows *rows, struct fth_curves *curves,
                                           struct fth_error *error);

#endif
