/* A second implementation of the cache model of src/model, as an oracle for it. It is simple enough
 * to be checked by reading: one flag per byte, linear searches, one step at a time. It uses only
 * types of src/, and its caches are those of cache_oracle.c. Parameters have the meaning described
 * in docs/model.md. */
#ifndef FTH_TESTS_MODEL_ORACLE_H
#define FTH_TESTS_MODEL_ORACLE_H

#include "cache_oracle.h"
#include "trace/trace.h"

struct oracle_cache {
    uint64_t size_bytes, ways, line_bytes, sector_bytes, fill_bytes;
    uint64_t partitions, partition_bytes, banks, bank_bytes, ports;
    const char *index, *policy;
    const char *bypass; /* "off", "won" or "rwon" */
    bool merged_hits;   /* sectors merged with a miss in flight count as hits */
    uint64_t mshr_sets, mshr_size, mshr_merges;
    double fixed, per_busy; /* steps of a miss: K1 + K2 x busy MSHRs */
};

/* The layout of local memory, in bytes per thread. `stack` 0: unknown, `reserved` has no effect. */
struct oracle_local {
    uint64_t stack, reserved;
};

struct oracle_model {
    struct oracle_cache l1, l2;
    uint64_t sms, schedulers, max_warps, max_blocks, seed;
    const char *mapping; /* "rr", "bpart1", "bpart2", or a list of SMs */
    uint64_t sides, home_mask;
    struct oracle_local local;
};

/* What the L1 does with an access, depending on its cache operator and its hints. */
enum oracle_l1 {
    ORACLE_CACHED,      /* looks it up and fills what is missing */
    ORACLE_NO_ALLOCATE, /* looks it up, but fills nothing */
    ORACLE_BYPASS,      /* passes it on */
    ORACLE_EVICT        /* passes it on and drops the line */
};

/* One memory access of a warp. */
struct oracle_access {
    uint64_t number, block; /* index of the access within its warp; block of the warp */
    uint32_t warp, threads, bytes;
    enum fth_trace_access_kind kind;
    uint32_t cache_op, hints; /* only for the trace; the model sees the next two */
    enum oracle_l1 l1;
    uint64_t l2_fill_bytes; /* what a miss of the L2 fills; 0: oracle_cache.fill_bytes */
    bool local;             /* the addresses are offsets in the local memory of the warp */
    uint32_t together;      /* of a texture: lanes of a request; 0: not a texture */
    uint64_t addresses[32];
};

enum { ORACLE_PROFILE = 65 }; /* more than the ways of any cache */

/* Counts of one level. The first four are indexed by enum fth_trace_access_kind. */
struct oracle_counts {
    uint64_t requests[3], sectors[3], hits[3], merges[3];
    uint64_t steps, fails;
    /* [0]: reads, [1]: writes and atomics. Sectors that hit, by reuse distance; those that missed
     * are at index `ways`. */
    uint64_t profile[2][ORACLE_PROFILE];
    uint64_t misses[5]; /* of reads, by enum miss_cause */
};

struct oracle_result {
    struct oracle_counts l1, l2;
    uint64_t far_hits, dram_reads, dram_writes;
};

/* An access with the SM and the wave of its block. */
struct placed_access {
    struct oracle_access access;
    uint64_t sm, wave;
};

/* Returns the accesses of a launch in the order in which the model processes them. The caller frees
 * them. */
struct placed_access *oracle_order(const struct oracle_model *model, uint64_t blocks,
                                   uint64_t warps, const struct oracle_access *accesses,
                                   size_t count);
/* Returns the turn of a byte of a thread. Threads of an atomic that have the same address take
 * turns, unless all have it. The words of an access to local memory take turns, and so do the
 * requests of a texture. All others are in turn 0. */
uint32_t oracle_turn(const struct oracle_access *access, uint32_t thread, uint32_t byte);
/* Returns the address of a byte of a thread. */
uint64_t oracle_address(const struct oracle_access *access, uint32_t thread, uint32_t byte);

/* Local memory of a thread in bytes, and its words: their bytes, and their distance. */
enum { ORACLE_LOCAL_BYTES = 64, ORACLE_WORD = 4, ORACLE_WORD_DISTANCE = 128 };
/* Returns the address of the local memory that a warp of a kernel uses. `most`: warps that an SM
 * can have, and those that it has of this kernel. `index`: of the warp among those of the SM. */
static inline uint64_t oracle_local_memory(const struct oracle_local *local, const uint64_t most[2],
                                           uint64_t sm, uint64_t index)
{
    const uint64_t base = UINT64_C(1) << 60;
    if (local->stack == 0)
        return base + 32 * (ORACLE_LOCAL_BYTES * (sm * most[1] + index));
    const uint64_t stack = local->stack < ORACLE_LOCAL_BYTES ? ORACLE_LOCAL_BYTES : local->stack;
    const uint64_t end = (stack + local->reserved) * (sm * most[0] + index + 1);
    return base + 32 * (end - local->reserved - ORACLE_LOCAL_BYTES);
}
/* Models a launch of `blocks` blocks with `warps` warps each. The accesses may be in any order. */
void oracle_model_run(const struct oracle_model *model, uint64_t blocks, uint64_t warps,
                      const struct oracle_access *accesses, size_t count,
                      struct oracle_result *result);

#endif
