/* model/: computes how often the memory accesses of kernels hit in the L1s and the L2 of a GPU. It
 * implements the physical model of RDGC (M. Kiani, A. Rajabzadeh, "RDGC: A Reuse Distance-Based
 * Approach to GPU Cache Performance Analysis") and extends it to newer GPUs (docs/model.md).
 * Sections, tables and algorithms cited in this folder are those of that paper.
 *
 *   params.c        parameters by name               params_gpu.c    parameters from a description
 *   params_table.c  table of all parameters
 *   shape.c         cache geometry for a launch      place.c         SM and wave of each block
 *   result.c        result rows and metrics          sharing_keys.c  what several models can share
 *   floors.c        time floors, bytes per level
 *
 * level/: one cache at a time (level.h)
 *   coalesce.c      warp accesses to line requests   mshr.c          misses in flight
 *   cache_level.c   one cache: banks, ports, MSHRs   attempt.c       one attempt of one request
 *   banks.c         the steps of several banks       single_bank.c   the steps of one bank
 *   lru_stack.c     L1s that differ only in ways     l2_sides.c      L2 sides, and memory
 *   shadow.c        why reads miss                   distance.c      exact stack distances
 *
 * run/: a trace through the caches of one or several models (run.h)
 *   waves.c         reads the trace, wave by wave    model_run.c     one model
 *   workers.c       one model with threads           multi_run.c     several models in one pass
 *   model_state.c   caches and rows of one model     l1s.c           L1s of all SMs, their counts
 *   l2_feed.c       rounds of requests to an L2      join.c          merges reads of several SMs
 *   rows.c          counts of launches and kernels   curves.c        curves of stack distances
 *   part_log.c      progress of a part of a run      orders.c        runs with different orders
 *   demand.c        what threads need
 *
 * timed/: the model with time (timed.h)
 *
 * The types that callers of the library see, such as struct fth_model_counts, are in
 * fathom/fathom.h.
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

/* Parameters that exist once per level. fth_model_key() gives their index. params_table.c and
 * docs/model.md describe all parameters. */
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
    FTH_KEY_BYTES_PER_S,    /* of all instances together, for the time floor */
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
    FTH_KEY_SHARED,         /* shared memory per SM */
    FTH_KEY_RESERVED,       /* shared memory that the driver reserves per block */
    FTH_KEY_LOCAL_STACK,    /* stack limit of a thread; 0: the layout of local memory is unknown */
    FTH_KEY_LOCAL_RESERVED, /* local memory per thread above its stack */
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
    FTH_KEY_MEMORY_BYTES_PER_S,
    FTH_KEY_WRITE_BYTES_PER_S, /* of the L2 */
    /* Parameters of the model with time (timed/). */
    FTH_KEY_TIMING,
    FTH_KEY_CLOCK_HZ,
    FTH_KEY_ISSUE_CYCLES,
    FTH_KEY_PORT_CYCLES,
    FTH_KEY_STORE_CYCLES,
    FTH_KEY_JOIN_CYCLES,
    FTH_KEY_QUEUE_ACCESSES,
    FTH_KEY_JOIN_READS,
    FTH_KEY_MERGE_CYCLES,
    FTH_KEY_STORE_MERGE_CYCLES,
    FTH_KEY_BLOCK_CYCLES,
    FTH_KEY_START_CYCLES,
    FTH_KEY_JITTER_CYCLES,
    FTH_KEY_SPREAD_CYCLES,
    FTH_KEY_WARP_CYCLES,
    FTH_KEY_REFILL_CYCLES,
    FTH_KEY_DISPATCH_CYCLES,
    FTH_KEY_REFILL_PERIOD,
    FTH_KEY_MEMORY_PERCENT,
    FTH_KEY_LAUNCH_NS,
    FTH_KEY_LAUNCH_SECTORS,
    FTH_KEY_PARTIAL_WAYS,
    FTH_KEY_ATOMIC_CYCLES,
    FTH_KEY_FLOAT_CYCLES,
    FTH_KEY_CONSTANT_CYCLES,
    FTH_MODEL_KEYS
};

struct fth_model_value {
    double number; /* meaningful only for numeric parameters */
    char text[120];
    enum fth_model_source source;
};

/* Maximum number of carve-outs that are kept from a description; further ones are ignored. */
enum { FTH_MODEL_MAX_CARVEOUTS = 16 };
/* Maximum number of sides of an L2 (l2.sides). */
enum { FTH_MODEL_MAX_SIDES = 8 };

/* What an access of a variant does in the L1. */
enum fth_l1_rule {
    FTH_L1_RULE_UNKNOWN,
    FTH_L1_RULE_CACHED,      /* it is looked up, and a miss allocates the line */
    FTH_L1_RULE_NO_ALLOCATE, /* it reads or updates what the L1 holds; a miss leaves nothing */
    FTH_L1_RULE_BYPASS,      /* it is not looked up */
    FTH_L1_RULE_EVICT        /* it is not looked up, and the L1 drops the line */
};
/* The effects of cache operators and hints that a description has (access_variants). */
struct fth_variant_rules {
    uint8_t l1[FTH_VARIANTS]; /* enum fth_l1_rule */
    /* Bytes that a miss of the L2 fills; 0: unknown, or as many as a plain load (ld.ca) fills. */
    uint16_t l2_fill[FTH_VARIANTS];
};

struct fth_model_params {
    struct fth_model_value values[FTH_MODEL_KEYS];
    struct fth_variant_rules variants;
    /* The carve-outs, in the order of the description: the bytes of shared memory, and the size of
     * the L1 with this carve-out. */
    uint64_t carveout_bytes[FTH_MODEL_MAX_CARVEOUTS], carveout_l1_bytes[FTH_MODEL_MAX_CARVEOUTS];
    size_t carveout_count; /* 0: none known */
    /* The value "description" of l1.index: set_masks, row_masks and row_ways. */
    struct fth_hash_masks l1_masks;
    uint64_t l1_row_ways;   /* 0: unknown */
    uint64_t unified_bytes; /* storage that L1 and shared memory share per SM; 0: unknown */
    /* The values "description" of gpu.mapping, l2.joins and l2.side_of_sm. */
    struct fth_sm_map sm_map;
    uint32_t join_group[FTH_MAX_MAPPED_SMS]; /* [join_count]; join_count 0: unknown */
    size_t join_count;
    uint8_t side_of_sm[FTH_MAX_MAPPED_SMS]; /* [side_count]; side_count 0: unknown */
    size_t side_count;
    char gpu[80];
    /* Which order of blocks and accesses a run has (run/orders.c); 0: the plain one. */
    unsigned order;
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

/* ---- params_gpu.c ---- */

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
    const struct fth_hash_masks *masks; /* hash of sets and rows; NULL: `index` applies */
    uint64_t row_ways;                  /* with masks: tags per row, or 0: the default */
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
    const struct fth_variant_rules *variants; /* NULL: none */
    uint8_t request_flags; /* the flags of requests that this cache heeds (FTH_LINE_REQUEST_…) */
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
    /* Local memory per warp: its bytes, the first one that the kernel uses, and the number of warps
     * per SM that have it. */
    uint64_t local_bytes, local_first, local_warps;
};

/* Returns the address of the local memory that a warp uses. `place`: index of its block among the
 * resident ones of the SM. A later block in the same place uses the same memory. */
uint64_t fth_local_address(const struct fth_setting *setting, uint64_t sm, uint64_t place,
                           uint64_t warp);

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
/* Extends a set of sectors to whole fills of `fill_bytes`, which are at least a sector and at most
 * a line: adds all sectors that are fetched together with them. */
static inline uint64_t fth_whole_fills(const struct fth_shape *shape, uint64_t fill_bytes,
                                       uint64_t sectors)
{
    const uint64_t fill_sectors = fill_bytes >> shape->sector_shift;
    if (fill_sectors == 1 || !sectors)
        return sectors;
    if (fill_sectors == 2) /* as in an H200 */
        return sectors | (sectors << 1 & UINT64_C(0xaaaaaaaaaaaaaaaa)) |
               (sectors >> 1 & UINT64_C(0x5555555555555555));
    const uint64_t fill = ~UINT64_C(0) >> (64 - fill_sectors);
    uint64_t whole = 0;
    for (uint64_t at = 0; at < shape->line_bytes >> shape->sector_shift; at += fill_sectors)
        if (sectors >> at & fill)
            whole |= fill << at;
    return whole;
}
/* The same with the fills of the cache. */
static inline uint64_t fth_shape_fills(const struct fth_shape *shape, uint64_t sectors)
{
    return fth_whole_fills(shape, shape->fill_bytes, sectors);
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
/* The place of a block among the blocks of its wave on its SM, from 0. */
uint64_t fth_placement_place(const struct fth_placement *placement, uint64_t block);
/* Parses the list of a parameter such as gpu.mapping or l2.joins: integers below `max`, separated
 * by commas or white space; "@FILE" reads the list from a file. `what` names the parameter in
 * errors. The caller frees *numbers. */
FTH_MUST_USE enum fth_status fth_number_list(const char *what, const char *text, uint64_t max,
                                             uint32_t **numbers, size_t *count,
                                             struct fth_error *error);
/* Gives the list of l2.side_of_sm (numbers below `max`) or l2.joins, which may be that of the
 * description. The caller frees *numbers. */
FTH_MUST_USE enum fth_status fth_sm_list(const struct fth_model_params *params, size_t key,
                                         uint64_t max, uint32_t **numbers, size_t *count,
                                         struct fth_error *error);
/* Sets the side of the L2 that each SM is near, from l2.side_of_sm. */
FTH_MUST_USE enum fth_status fth_side_of_sms(const struct fth_model_params *params,
                                             const struct fth_setting *setting, uint8_t *side_of_sm,
                                             struct fth_error *error);

/* ---- result.c ---- */

struct fth_model_result {
    struct fth_model_row *rows;
    size_t row_count, row_capacity;
    bool timed;                            /* accesses had times */
    bool diagnosed;                        /* fth_model_options.diagnose */
    struct fth_model_intervals *intervals; /* [row_count]; NULL: only one order was run */
    unsigned sample;                       /* fth_model_options.sample; 0: none */
    unsigned orders;                       /* runs that `intervals` cover; 0: `intervals` is NULL */
    struct fth_model_curve curves[FTH_MODEL_LEVELS];
};

/* A random number from 0 to 65535 for one choice of an order. `what` tells the choices apart. The
 * last steps are those of SplitMix64 (Steele et al., OOPSLA 2014), so numbers of neighbouring
 * choices and orders are independent. */
static inline uint64_t fth_order_draw(unsigned order, uint64_t what)
{
    uint64_t x = (what ^ (uint64_t)order << 40) * UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x >> 48;
}
/* Add the counts and profiles of `from`. False: out of memory. */
bool fth_row_add(struct fth_model_row *row, const struct fth_model_row *from);
void fth_counts_add(struct fth_model_counts *to, const struct fth_model_counts *from);
void fth_misses_add(struct fth_model_misses *to, const struct fth_model_misses *from);
void fth_shared_counts_add(struct fth_shared_counts *to, const struct fth_shared_counts *from);
bool fth_profile_add(struct fth_model_profile *to, const uint64_t *from, size_t count);

/* ---- sharing_keys.c ---- */

/* Hash keys that decide which work two models can share. If a key is equal in two models, so is
 * the work that it stands for, and this work is done only once. */
struct fth_sharing_keys {
    uint64_t stream;         /* the requests that reach the L1s, and their order */
    uint64_t l1;             /* `stream` and the behaviour of the L1s */
    uint64_t l1_except_ways; /* `l1` without the ways; 0: lru_stack.c cannot simulate these L1s */
    uint64_t l1_except_latency; /* `l1` without the latency of its misses */
    /* How requests that the L1s forward become requests to the L2: lines and sectors of the L2,
     * sides and joins. The requests are equal if `l1` is equal, too. */
    uint64_t l2_input;
    /* The same for the figures "L1 off" (the L2 as if every access bypassed the L1), without joins.
     * The requests are equal if `stream` is equal, too. */
    uint64_t bypassed_l2_input;
    uint64_t l2;          /* `l2_input` and the behaviour of the L2 */
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

#endif
