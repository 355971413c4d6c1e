/* Counts requests, sectors and wavefronts of memory accesses, as the counters of a GPU do.
 *
 *   counters.c       the list of the counters, and which of them an access changes
 *   sectors.c        the sectors of an access, and of a range of the copy engine
 *   wavefronts.c     the wavefronts of an access to shared memory
 *   shared_cost.c    the same without bank conflicts and with padding, with a cache for repetitions
 *   constant_cost.c  the cost of a load of different constants
 *   texture_rule.c   how the texture unit processes an instruction
 *
 * The rules come from counters and times of an H200 (docs/results/counters-h200.md). */
#ifndef FTH_TRACE_COUNTERS_H
#define FTH_TRACE_COUNTERS_H

#include "ptx/ptx.h"

/* The order is that of the output. The names are those of ncu's metrics, in counters.c. */
enum fth_counter {
    FTH_COUNTER_GLOBAL_LD_REQUESTS,
    FTH_COUNTER_GLOBAL_LD_SECTORS,
    FTH_COUNTER_GLOBAL_ST_REQUESTS,
    FTH_COUNTER_GLOBAL_ST_SECTORS,
    FTH_COUNTER_GLOBAL_RED_REQUESTS,
    FTH_COUNTER_GLOBAL_RED_SECTORS,
    FTH_COUNTER_GLOBAL_ATOM_REQUESTS,
    FTH_COUNTER_GLOBAL_ATOM_SECTORS,
    FTH_COUNTER_LDGSTS_ACCESS_REQUESTS, /* cp.async.ca */
    FTH_COUNTER_LDGSTS_ACCESS_SECTORS,
    FTH_COUNTER_LDGSTS_BYPASS_REQUESTS, /* cp.async.cg */
    FTH_COUNTER_LDGSTS_BYPASS_SECTORS,
    FTH_COUNTER_DSHARED_LD_REQUESTS, /* shared memory of other blocks */
    FTH_COUNTER_DSHARED_LD_SECTORS,
    FTH_COUNTER_DSHARED_ST_REQUESTS,
    FTH_COUNTER_DSHARED_ST_SECTORS,
    FTH_COUNTER_DSHARED_ATOM_REQUESTS,
    FTH_COUNTER_DSHARED_ATOM_SECTORS,
    FTH_COUNTER_SHARED_LD_WAVEFRONTS,
    FTH_COUNTER_SHARED_LD_CONFLICTS,
    FTH_COUNTER_SHARED_ST_WAVEFRONTS,
    FTH_COUNTER_SHARED_ST_CONFLICTS,
    FTH_COUNTER_SHARED_ATOM_WAVEFRONTS,
    FTH_COUNTER_SHARED_ATOM_CONFLICTS,
    FTH_COUNTER_LDSM_WAVEFRONTS, /* ldmatrix */
    FTH_COUNTER_LDSM_CONFLICTS,
    FTH_COUNTER_STSM_WAVEFRONTS, /* stmatrix */
    FTH_COUNTER_STSM_CONFLICTS,
    FTH_COUNTER_TMA_LD_SECTORS, /* the copy engine */
    FTH_COUNTER_TMA_ST_SECTORS,
    FTH_COUNTER_TMA_RED_SECTORS,
    FTH_COUNTER_COUNT
};

struct fth_counters {
    uint64_t values[FTH_COUNTER_COUNT];
};

/* Add an access, or a range of the copy engine. Several threads can call them for the same
 * counters. */
void fth_counters_add(struct fth_counters *counters, const struct fth_ptx_access *access);
void fth_counters_add_range(struct fth_counters *counters, const struct fth_ptx_range *range);

/* ---- sectors.c ---- */

/* Returns the number of sectors (32 bytes) that the lanes of an access touch. For an atomic, a
 * sector counts as often as the lanes that access the same address in it. */
unsigned fth_access_sectors(const struct fth_ptx_access *access);

/* Returns the number of sectors that cp.async.cg reads. */
unsigned fth_bypass_sectors(const struct fth_ptx_access *access);

/* Returns the number of sectors that the copy engine reads or writes for a range. */
uint64_t fth_range_sectors(const struct fth_ptx_range *range);

/* ---- wavefronts.c ---- */

/* The wavefronts that an access to shared memory needs, and how many of them are due to bank
 * conflicts. */
struct fth_wavefronts {
    unsigned count, conflicts;
};
struct fth_wavefronts fth_access_wavefronts(const struct fth_ptx_access *access);
/* The wavefronts of an access to the shared memory of another block: an atomic counts as one, loads
 * and stores as none. */
unsigned fth_cluster_wavefronts(const struct fth_ptx_access *access);

/* ---- shared_cost.c ---- */

/* The wavefronts of an access to shared memory: as it is, without bank conflicts, and with an
 * element of padding per row. */
struct fth_shared_cost {
    unsigned wavefronts, ideal, padded;
};
/* The access has `addresses`. */
struct fth_shared_cost fth_access_shared_cost(const struct fth_ptx_access *access);

/* Returns true if an access to shared memory is part of the request of another load. A load of four
 * words per lane is one request if the lanes read at most 128 bytes, at 8 addresses; otherwise, it
 * takes as long as four requests. */
bool fth_shares_request(const struct fth_ptx_access *access);

/* A cache of these costs. Kernels repeat few patterns of addresses, which differ by multiples of
 * 128 bytes. */
enum { FTH_SHARED_LINEAR_BITS = 9, FTH_SHARED_LINEAR_WAYS = 4, FTH_SHARED_LISTED_BITS = 8 };
struct fth_shared_cache {
    struct fth_shared_cache *next; /* for lists */
    struct fth_shared_linear_slot {
        uint32_t key[5]; /* mask, facts, and what defines the addresses */
        struct fth_shared_cost cost;
    } linear[FTH_SHARED_LINEAR_WAYS << FTH_SHARED_LINEAR_BITS];
    struct fth_shared_slot {
        uint32_t mask, facts;
        uint32_t numbers[32]; /* the addresses, relative to the line of the first one */
        struct fth_shared_cost cost;
    } listed[1 << FTH_SHARED_LISTED_BITS];
};
/* The same as fth_access_shared_cost, for an access with `addresses` or `linear`. The cache begins
 * with zeros. Not for several threads. */
struct fth_shared_cost fth_shared_cache_find(struct fth_shared_cache *cache,
                                             const struct fth_ptx_access *access);

/* ---- constant_cost.c ---- */

/* What a load of constants with several addresses costs. Both are 0 if all lanes use one address:
 * the assembler often makes such a load an operand of another instruction. */
struct fth_constant_cost {
    unsigned addresses; /* that the SM processes one after the other */
    unsigned cycles;    /* that the warp waits longer than for one address */
};
/* The access has `addresses`. */
struct fth_constant_cost fth_access_constant_cost(const struct fth_ptx_access *access);

/* ---- texture_rule.c ---- */

/* How the texture unit processes an instruction on a texture or surface. */
struct fth_texture_rule {
    uint32_t lanes_shift; /* of the lanes that it processes together: FTH_TRACE_TEXTURE_LANES */
    uint32_t passes;      /* how often it looks up the same texels */
};
struct fth_texture_rule fth_find_texture_rule(const struct fth_ptx_access *access);

#endif
