/* A second implementation of the model with time, as an oracle for src/model/timed. It follows the
 * page docs/model/time.md and nothing else: all accesses are in memory, events are in a
 * list without order, and everything is found by linear searches. Its caches are those of
 * cache_oracle.c. */
#ifndef FTH_TESTS_TIMED_ORACLE_H
#define FTH_TESTS_TIMED_ORACLE_H

#include "model_oracle.h"

enum { TIMED_MAX_SMS = 8, TIMED_MAX_SIDES = 3 };

/* One level. The two levels have the same line and sector sizes. */
struct timed_cache_config {
    uint64_t size_bytes, ways; /* of one L1, or of all sides of the L2 */
    const char *index, *policy;
    bool merged_hits;            /* sectors in flight count as hits */
    struct fth_hash_masks masks; /* with the index "description" */
    uint64_t row_ways;           /* the same: tags per row of the policy clock */
};

struct timed_gpu {
    struct timed_cache_config l1, l2;
    uint64_t line_bytes, sector_bytes, fill_bytes; /* fills of the L2 */
    const char *l1_bypass;                         /* "off", "won" or "rwon" */
    uint64_t sms, schedulers, max_warps, max_blocks, seed;
    uint32_t sm_of_block[TIMED_MAX_SMS]; /* [mapped]; is repeated */
    size_t mapped;
    bool grouped;                                      /* GPCs and TPCs are known */
    uint32_t gpc[TIMED_MAX_SMS], tpc[TIMED_MAX_SMS];   /* [sms] */
    bool joins;                                        /* reads are joined */
    uint32_t join_group[TIMED_MAX_SMS];                /* [sms] */
    uint64_t sides, home_mask, side_of[TIMED_MAX_SMS]; /* side_of: [sms] */
    bool cold;
    double clock_hz, l1_cycles, l2_cycles, far_cycles, memory_cycles;
    double l2_bytes_per_s, memory_bytes_per_s, memory_percent;
    double write_bytes_per_s; /* 0: unknown */
    double issue_cycles, port_cycles, store_cycles, join_cycles, merge_cycles, store_merge_cycles;
    double atomic_cycles[2]; /* of integers, and of floating-point numbers */
    double constant_cycles;
    double start_cycles, jitter_cycles, spread_cycles, warp_cycles, block_cycles, refill_cycles,
        refill_period, dispatch_cycles, launch_ns;
    uint64_t join_reads, queue_accesses, partial_ways, launch_sectors;
    struct oracle_local local;
};

struct timed_instruction {
    enum fth_trace_access_kind kind;
    uint32_t bytes;
    uint32_t wait;            /* UINT32_MAX: unknown */
    uint32_t cache_op, hints; /* only for the trace; the oracle uses the next two */
    enum oracle_l1 l1;
    uint64_t l2_fill_bytes; /* 0: timed_gpu.fill_bytes */
    bool is_float;          /* an atomic on floating-point numbers */
    bool local;             /* addresses are offsets in the local memory of the warp */
    uint32_t together;      /* of a texture: lanes of a request; 0: not a texture */
    bool continues;         /* the access is a further part of an instruction */
};

struct timed_oracle_access {
    uint64_t number, block;
    uint32_t warp, instruction, threads;
    uint64_t addresses[32];
};

/* What warps do between two accesses: a row of the pace. */
struct timed_pace {
    uint32_t from, to; /* instructions; UINT32_MAX: the start and the end of the warp */
    uint64_t count, instructions, shared, barriers, latency_cycles, constants;
};

struct timed_launch {
    uint64_t blocks, warps; /* warps per block */
    const struct timed_oracle_access *accesses;
    size_t access_count;
    const struct timed_pace *pace; /* [pace_count] */
    size_t pace_count;
};

struct timed_oracle_counts {
    uint64_t requests[3], sectors[3], hits[3], merges[3]; /* by enum fth_trace_access_kind */
    /* [0]: reads, [1]: writes and atomics. Sectors that hit, by reuse distance; those that missed
     * or have no distance are at index `ways`. */
    uint64_t profile[2][ORACLE_PROFILE];
    uint64_t misses[5]; /* of reads, by enum miss_cause */
};

struct timed_oracle_result {
    struct timed_oracle_counts l1, l2;
    uint64_t far_hits, dram_reads, dram_writes;
    uint64_t ticks; /* duration */
};

/* Runs launches one after the other; results: [count]. */
void timed_oracle_run(const struct timed_gpu *gpu, const struct timed_instruction *instructions,
                      const struct timed_launch *launches, size_t count,
                      struct timed_oracle_result *results);

#endif
