/* probe/cache/: size, line and sharing of the caches of an SM.
 *
 *   capacity.c            size of a cache
 *   cache_line.c          bytes that one miss fetches, and bytes that are evicted together
 *   sharing.c             which paths share a cache; number of instances per SM
 *   l1_writes.c           what a store does to L1
 *   access_fills.c        bytes that an access with a cache operator or a hint brings into L1 or L2
 *   access_keeps.c        whether L1 still has a line after such an access
 *   access_priorities.c   whether these bytes stay longer or shorter than others
 *   carveout_sizes.c      sizes of L1 for each size of shared memory
 *   instruction_caches.c  instruction caches
 *   constant_caches.c     constant caches
 *   constant_code.c       whether the constant L1.5 also holds code
 */
#ifndef FTH_PROBE_CACHE_H
#define FTH_PROBE_CACHE_H

#include "probe/probe.h"

/* ---- capacity.c ---- */

/* The range of footprints to search, and how hits and misses are distinguished. */
struct fth_capacity_plan {
    enum fth_path path;
    int carveout_percent;
    uint64_t stride_bytes;   /* at most the bytes that one miss fetches */
    uint64_t smallest_bytes; /* a footprint that certainly fits */
    uint64_t largest_bytes;  /* a footprint that certainly does not fit, or the largest possible */
    double hit_cycles;       /* cycles of a timed hop that hits, overhead of timing included */
    double miss_cycles;      /* the same for a hop that misses */
    bool evidence;           /* also find resident_bytes and full_miss_bytes */
    bool disturbed;          /* hops are known to be slow occasionally without a miss */
    double miss_low_cycles, miss_high_cycles; /* range of a timed miss; 0: the probe measures it,
                                               * with loads of lines that are not cached */
};
/* The size of a cache, with the evidence for it. */
struct fth_capacity {
    uint64_t fits_bytes;     /* largest footprint whose loads all hit */
    uint64_t misses_bytes;   /* smallest footprint with misses; 0: even the largest fits */
    uint64_t resident_bytes; /* bytes that are still resident after a walk over
                              * 1.25 * fits_bytes; a reverse walk counts them. Maximum of several
                              * repeats. 0: they contradict each other */
    struct fth_evidence resident_evidence;
    uint64_t full_miss_bytes;                 /* smallest footprint without any hit; 0: not found */
    uint64_t full_miss_low_bytes;             /* largest footprint that is known to have a hit */
    bool full_miss_interrupted;               /* other programs interrupted the search for it */
    double miss_low_cycles, miss_high_cycles; /* range of a timed miss; 0: not needed */
    size_t samples;
    struct fth_evidence evidence; /* walks on either side of the edge; no repeats: no edge */
};
/* Finds the size of a cache: the edge between footprints that fit and footprints that miss. */
FTH_MUST_USE enum fth_status fth_probe_capacity(const struct fth_prober *prober,
                                                const struct fth_capacity_plan *plan,
                                                struct fth_capacity *capacity,
                                                struct fth_error *error);

/* ---- cache_line.c ---- */

/* What is known about the cache whose sector and line are sought. */
struct fth_line_plan {
    enum fth_path path;
    int carveout_percent;
    uint64_t size_bytes;                      /* largest footprint that fits into the cache */
    double threshold_cycles;                  /* a timed hop that takes longer is a miss */
    double miss_low_cycles, miss_high_cycles; /* range of a timed miss; 0: unknown */
};
/* The length of a sector or line. */
struct fth_length {
    uint64_t bytes;
    struct fth_evidence evidence; /* walks on different SMs */
    size_t samples;
};
/* Finds the bytes that one miss fetches, from the distances between the slow hops of a walk over a
 * cold cache with the smallest possible stride (8 bytes, or 4 for textures). FTH_INCONCLUSIVE if
 * the distances are not regular. */
FTH_MUST_USE enum fth_status fth_probe_fetch_bytes(const struct fth_prober *prober,
                                                   const struct fth_line_plan *plan,
                                                   struct fth_length *length,
                                                   struct fth_error *error);
/* Finds the bytes that are evicted together: the cache is filled, one more line is loaded, and a
 * reverse walk finds what was evicted. The result is at least `fetch_bytes`. */
FTH_MUST_USE enum fth_status fth_probe_line_bytes(const struct fth_prober *prober,
                                                  const struct fth_line_plan *plan,
                                                  uint64_t fetch_bytes, struct fth_length *length,
                                                  struct fth_error *error);

/* ---- sharing.c ---- */

/* A walk over `bytes` of a cache by one path. */
struct fth_walker {
    enum fth_path path;
    uint64_t bytes, stride_bytes;
    double threshold_cycles; /* a timed hop that takes longer is a miss */
    int carveout_percent;
};
/* Whether two paths share a cache. */
enum fth_sharing { FTH_SHARING_UNKNOWN, FTH_SHARING_NO, FTH_SHARING_YES };
/* The answer, with the evidence for it. */
struct fth_sharing_found {
    enum fth_sharing sharing; /* unknown: only one path evicts lines of the other, or a path evicts
                               * only part of them, or the result varies */
    struct fth_evidence evidence;
    size_t samples;
};
/* Finds out whether the two paths share a cache: each then evicts what the other has loaded. */
FTH_MUST_USE enum fth_status fth_probe_sharing(const struct fth_prober *prober,
                                               const struct fth_walker *a,
                                               const struct fth_walker *b,
                                               struct fth_sharing_found *found,
                                               struct fth_error *error);
/* The number of instances of a cache per SM. */
struct fth_instances {
    unsigned count;
    double disturbed[FTH_MAX_WARPS]; /* fraction of warp 0's lines that each warp evicted (not
                                      * noise); in a description, `disturbed_by_warp` */
    struct fth_evidence evidence;    /* warps; those agree that clearly evict or clearly do not */
    size_t samples;
};
/* Counts the instances of a cache per SM. Warp 0 loads lines, then a warp of the same block loads
 * other lines. If this evicts lines of warp 0, both warps use the same instance. This is repeated
 * with each warp of the block, including warp 0 itself. FTH_INCONCLUSIVE if the warps are not
 * evenly distributed over the instances. */
FTH_MUST_USE enum fth_status fth_probe_instances(const struct fth_prober *prober,
                                                 const struct fth_walker *walker,
                                                 struct fth_instances *found,
                                                 struct fth_error *error);

/* ---- l1_writes.c ---- */

/* What is known about L1 before its writes are measured. */
struct fth_l1_write_plan {
    int carveout_percent;
    uint64_t size_bytes, line_bytes;
};
/* What loads through L1 find after a store. */
struct fth_l1_writes {
    struct fth_write_effect miss;      /* the element that a store to a missing line wrote */
    struct fth_write_effect hit;       /* the element that a store to a cached line wrote */
    struct fth_write_effect neighbour; /* the other half of the line that a store hit */
    size_t samples;
};
/* Finds out what stores do to L1. FTH_INCONCLUSIVE if loads that hit L1 cannot be distinguished
 * from loads that miss it, or if L1 has too few lines. */
FTH_MUST_USE enum fth_status fth_probe_l1_writes(const struct fth_prober *prober,
                                                 const struct fth_l1_write_plan *plan,
                                                 struct fth_l1_writes *found,
                                                 struct fth_error *error);

/* ---- access_fills.c ---- */

/* What is known about the cache: L1 with the path CA, the L2 with CG. */
struct fth_fill_plan {
    enum fth_path path;
    int carveout_percent;
    uint64_t line_bytes, sector_bytes;
    uint64_t start_bytes;    /* in the memory of the family; see struct fth_access_hint */
    double threshold_cycles; /* a timed read takes more if it misses; 0: the controls show it */
    bool stores;             /* stores and copies; otherwise loads and prefetches */
};
/* The variants of accesses, and the bytes that each of them fills; 0: none. */
struct fth_access_fills {
    enum fth_variant variants[FTH_VARIANTS];
    uint64_t bytes[FTH_VARIANTS];
    size_t count;
    size_t undecided; /* variants that are not in the list, because their trials contradict */
    double threshold_cycles;
    size_t samples;
    struct fth_evidence evidence;
};
/* Finds them. FTH_INCONCLUSIVE if hits and misses cannot be distinguished, or if the sectors are
 * too small. FTH_UNSUPPORTED: the GPU has no hints. */
FTH_MUST_USE enum fth_status fth_probe_access_fills(const struct fth_prober *prober,
                                                    const struct fth_fill_plan *plan,
                                                    struct fth_access_fills *found,
                                                    struct fth_error *error);

/* ---- access_keeps.c ---- */

/* Whether the L1 still has a line that it held before an access. */
enum fth_access_kept { FTH_KEPT_UNKNOWN, FTH_KEPT_YES, FTH_KEPT_NO };
struct fth_access_keeps {
    enum fth_access_kept kept[FTH_VARIANTS]; /* [count] of the variants */
    size_t samples;
    struct fth_evidence evidence;
};
/* Finds it for each of `count` variants. FTH_INCONCLUSIVE if a line that was just read misses. The
 * threshold of the plan must be known. */
FTH_MUST_USE enum fth_status fth_probe_access_keeps(const struct fth_prober *prober,
                                                    const struct fth_fill_plan *plan,
                                                    const enum fth_variant *variants, size_t count,
                                                    struct fth_access_keeps *found,
                                                    struct fth_error *error);

/* ---- access_priorities.c ---- */

enum fth_access_priority {
    FTH_ACCESS_UNKNOWN,
    FTH_ACCESS_NORMAL,
    FTH_ACCESS_FIRST, /* the line is evicted before others */
    FTH_ACCESS_LAST   /* the line is evicted after others */
};
struct fth_priority_plan {
    enum fth_path path; /* as in struct fth_fill_plan */
    int carveout_percent;
    uint64_t line_bytes;
    uint64_t lines;       /* that the cache holds */
    uint64_t start_bytes; /* as in struct fth_fill_plan */
    double threshold_cycles;
    double near_threshold_cycles; /* the same for hits in the near partition alone, where stored
                                   * lines are compared with others; 0: all hits count */
};
struct fth_access_priorities {
    enum fth_access_priority priorities[FTH_VARIANTS]; /* [count] of the variants */
    size_t samples;
    struct fth_evidence evidence;
};
/* Finds the priority of each of `count` variants, all of which fill the cache. FTH_INCONCLUSIVE if
 * plain reads do not evict lines that were read before. */
FTH_MUST_USE enum fth_status fth_probe_access_priorities(const struct fth_prober *prober,
                                                         const struct fth_priority_plan *plan,
                                                         const enum fth_variant *variants,
                                                         size_t count,
                                                         struct fth_access_priorities *found,
                                                         struct fth_error *error);
/* Decides from the fraction of the lines of a variant and of plain lines that stay after each of
 * `count` pressures, in ascending order. */
enum fth_access_priority fth_decide_priority(const double *own, const double *plain, size_t count);

/* ---- carveout_sizes.c ---- */

/* Maximum number of carve-outs; no GPU of the catalogue has more than ten. */
enum { FTH_MAX_CARVEOUTS = 48 };
/* What is known about L1 and shared memory before their carve-outs are measured. */
struct fth_carveout_plan {
    struct fth_capacity_plan l1; /* path, stride and cycles; the probe sets the other members */
    uint64_t l1_bytes;           /* size of L1 at the smallest carve-out */
    uint64_t shared_bytes;       /* largest carve-out */
};
/* One division of the unified storage. */
struct fth_carveout {
    unsigned first_percent, last_percent; /* a launch that requests from first_percent to
                                           * last_percent of the largest carve-out gets this one */
    uint64_t shared_bytes, l1_bytes;
};
/* The carve-outs from the smallest to the largest. A single entry means that the size of L1 does
 * not depend on the carve-out; its l1_bytes is then 0. */
struct fth_carveouts {
    struct fth_carveout items[FTH_MAX_CARVEOUTS];
    size_t count;
    struct fth_evidence evidence; /* the weakest of all sizes of L1 */
    size_t samples;
};
/* Finds the carve-outs and the size of L1 at each of them. FTH_INCONCLUSIVE if a step of L1 matches
 * no size of a carve-out, or a size of L1 cannot be measured. */
FTH_MUST_USE enum fth_status fth_probe_carveouts(const struct fth_prober *prober,
                                                 const struct fth_carveout_plan *plan,
                                                 struct fth_carveouts *carveouts,
                                                 struct fth_error *error);
/* Computes the size of a carve-out from the highest percentage that still selects it.
 * `shared_bytes` is the size of the largest carve-out, and the result for 100 %. Otherwise the size
 * is a multiple of 4 KiB, at least `last_percent` and less than `last_percent` + 1 percent of
 * `shared_bytes`. Returns false if no multiple, or more than one, is in this range. */
bool fth_carveout_bytes(uint64_t shared_bytes, unsigned last_percent, uint64_t *bytes);

/* Checks that a block can use `bytes` of shared memory: returns in `cycles` the mean cycles per
 * load of a chain over all of it, and in `samples` the number of loads. */
FTH_MUST_USE enum fth_status fth_probe_shared_bytes(const struct fth_prober *prober, uint64_t bytes,
                                                    double *cycles, size_t *samples,
                                                    struct fth_error *error);

/* ---- instruction_caches.c ---- */

/* Maximum number of plateaus: three caches and the level behind them. */
enum { FTH_MAX_FETCH_LEVELS = 4 };
/* A plateau of the cycles per instruction, and the length of code that runs at this rate. */
struct fth_fetch_level {
    struct fth_figure cycles; /* per instruction of straight-line code */
    uint64_t fits_bytes;      /* longest code that runs at this rate; 0: even the longest code that
                               * was tried does */
    uint64_t misses_bytes;    /* the next longer code that was tried */
    uint64_t full_miss_bytes; /* shortest code that runs at the rate of the next plateau; 0: none */
    struct fth_evidence evidence; /* of the edge, as in struct fth_capacity */
};
/* One level per plateau, innermost cache first. The last one is the level behind the last cache.
 * If there is only one plateau, no code exceeded the first cache, and the number of caches is
 * unknown. If the last plateau has an end (fits_bytes > 0), longer code is slower but forms no
 * plateau. */
struct fth_fetch_levels {
    struct fth_fetch_level items[FTH_MAX_FETCH_LEVELS];
    size_t count;
    struct fth_code_size code; /* bytes per instruction, known from the architecture */
    uint64_t longest_bytes;    /* longest code that was tried */
    size_t samples;
};
/* Measures the instruction caches with code of growing length. FTH_INCONCLUSIVE if the cycles per
 * instruction have no plateau, or too many; `levels` is then empty. */
FTH_MUST_USE enum fth_status fth_probe_fetch(const struct fth_prober *prober,
                                             struct fth_fetch_levels *levels,
                                             struct fth_error *error);

/* ---- constant_caches.c ---- */

/* Size of the constant bank (CUDA C++ Programming Guide, "Compute Capabilities"). */
enum { FTH_CONSTANT_BANK_BYTES = 65536 };

/* One constant cache. */
struct fth_constant_cache {
    struct fth_figure cycles; /* of a load that hits */
    uint64_t line_bytes;      /* bytes that one miss fetches; 0: not found */
    struct fth_evidence line_evidence;
    struct fth_capacity capacity;
};

/* Both constant caches. If L1.5 shares its storage with code, its capacity is the size of the
 * shared storage. Otherwise, if L1.5 holds the whole constant bank, its capacity is the size of the
 * bank and misses_bytes is 0. */
struct fth_constants {
    struct fth_constant_cache l1, l15;
    double overhead_cycles; /* of timing one hop */
    bool has_l15;           /* otherwise no constant load takes longer than a hit in L1 and clearly
                             * less than a hit in L2 */
    enum fth_status l15_status; /* of the size of L1.5; not FTH_OK: `l15_error` is the reason */
    struct fth_error l15_error;
    bool l15_by_passes;         /* latency of L1.5 is from whole passes; otherwise single hops */
    enum fth_sharing with_code; /* L1.5 shares storage with an instruction cache */
    struct fth_evidence with_code_evidence; /* of `with_code`, if it is known */
    const char *with_code_reason;           /* why `with_code` is unknown; NULL: it is known */
    int code_level; /* index in `code` of that instruction cache; -1: none has its size */
};
/* Measures the constant caches. `code` may be NULL: then `with_code` stays unknown. Fails with
 * FTH_INCONCLUSIVE if constant loads all take equally long, or as long as L2 loads, or if the size
 * of L1 is not found. */
FTH_MUST_USE enum fth_status fth_probe_constants(const struct fth_prober *prober,
                                                 const struct fth_fetch_levels *code,
                                                 struct fth_constants *constants,
                                                 struct fth_error *error);

/* ---- constant_code.c ---- */

/* How constants are walked, and what is known about their loads. */
struct fth_constant_code_plan {
    uint64_t stride_bytes;   /* the line of the constant L1 */
    double threshold_cycles; /* a timed hop that takes longer misses L1.5 */
    double slow_rate;        /* fraction of hits that take longer */
};
/* Finds out whether the constant L1.5 shares its storage with code. `found` has the sizes of both
 * constant caches; the function sets `with_code` and what belongs to it, and the capacity of L1.5
 * if code occupies a part of it. */
FTH_MUST_USE enum fth_status fth_probe_constant_code(const struct fth_prober *prober,
                                                     const struct fth_constant_code_plan *plan,
                                                     const struct fth_fetch_levels *code,
                                                     struct fth_constants *found,
                                                     struct fth_error *error);

#endif
