/* The cache model written to be seen to be right: bytes in flags, lists searched from end to end,
 * every step taken one by one. Of src/ it takes types only; the caches in it are those of
 * cache_oracle.c. */
#ifndef FTH_TESTS_MODEL_ORACLE_H
#define FTH_TESTS_MODEL_ORACLE_H

#include "cache_oracle.h"
#include "trace/trace.h"

struct oracle_cache {
    uint64_t size_bytes, ways, line_bytes, sector_bytes, fill_bytes;
    uint64_t partitions, partition_bytes, banks, bank_bytes, ports;
    const char *index, *policy;
    const char *bypass; /* off, won, rwon */
    bool merged_hits;
    uint64_t mshr_sets, mshr_size, mshr_merges;
    double fixed, per_busy; /* K1, K2 */
};

struct oracle_model {
    struct oracle_cache l1, l2;
    uint64_t sms, schedulers, max_warps, max_blocks, seed;
    const char *mapping; /* rr, bpart1, bpart2, or a list */
    uint64_t sides, home_mask;
};

struct oracle_access {
    uint64_t number, block;
    uint32_t warp, threads, bytes;
    enum fth_trace_access_kind kind;
    uint64_t addresses[32];
};

enum { ORACLE_PROFILE = 65 };

struct oracle_counts {
    uint64_t requests[3], sectors[3], hits[3], merges[3];
    uint64_t steps, fails;
    uint64_t profile[2][ORACLE_PROFILE]; /* [ways]: misses */
};

struct oracle_result {
    struct oracle_counts l1, l2;
    uint64_t far_hits, dram_reads, dram_writes;
};

/* The accesses in any order, of a launch of `blocks` blocks of `warps` warps. */
void oracle_model_run(const struct oracle_model *model, uint64_t blocks, uint64_t warps,
                      const struct oracle_access *accesses, size_t count,
                      struct oracle_result *result);

#endif
