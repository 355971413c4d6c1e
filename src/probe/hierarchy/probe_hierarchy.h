/* probe/hierarchy/: the caches behind plain loads, from nothing but whole timed passes over chains
 * in pseudo-random order. It needs no single timed loads, no choice of the core and no path past a
 * cache, so it works on CPUs and on GPUs of any vendor. docs/methods/hierarchy.md describes the
 * method.
 *
 *   hierarchy_pass.c      times passes over chains; the low mean of disturbed samples
 *   hierarchy_first.c     latency and approximate size of the first cache
 *   hierarchy_line.c      line size of a level
 *   hierarchy_curve.c     latency over footprint, and the levels that it shows
 *   hierarchy_edge.c      exact size of a cache whose misses begin at one footprint
 *   hierarchy_ways.c      ways and sets of the first cache
 *   hierarchy_latency.c   latency of a level
 *   hierarchy_units.c     the units of a device, and which of them share a cache
 *   hierarchy_code.c      size of the first instruction cache of a CPU
 *   hierarchy_scratch.c   line of the constant cache, latency of shared memory
 */
#ifndef FTH_PROBE_HIERARCHY_H
#define FTH_PROBE_HIERARCHY_H

#include "probe/probe.h"

/* ---- hierarchy_pass.c ---- */

/* Loads that the kernels execute without other instructions between them. The rest of a chain is
 * executed by a loop of one load. */
enum { FTH_PASS_GROUP = 32 };

/* A chain that is walked once and then timed. */
struct fth_pass {
    enum fth_path path;
    uint64_t stride_bytes, count;
    unsigned round;        /* rounds differ in the memory and in the order of the chain */
    uint64_t offset_bytes; /* of the first element, in addition to that of the round */
};
/* What its passes took. */
struct fth_pass_time {
    double cycles;    /* of one pass, including the reading of the clock */
    double clock_mhz; /* NAN: unknown */
    size_t samples;
};
/* Returns the number of passes of a chain that one request times. */
uint64_t fth_pass_count(uint64_t count);
/* Returns the mean of the samples that no other program disturbed: those up to
 * q25 + max(resolution, 2 (q25 - q05)), where q05 and q25 are quantiles of the samples, and
 * `resolution` is that of the clock in cycles. FTH_INVALID: no samples. */
FTH_MUST_USE enum fth_status fth_low_mean(const uint32_t *cycles, size_t count, double resolution,
                                          double *mean, struct fth_error *error);
/* Requests the passes over `count` chains. The caller owns the answers, of which there is one per
 * chain. */
FTH_MUST_USE enum fth_status fth_ask_passes(const struct fth_prober *prober,
                                            const struct fth_pass *passes, size_t count,
                                            struct fth_answers *answers, struct fth_error *error);
/* Times `count` chains. */
FTH_MUST_USE enum fth_status fth_time_passes(const struct fth_prober *prober, double resolution,
                                             const struct fth_pass *passes, size_t count,
                                             struct fth_pass_time *times, struct fth_error *error);

/* ---- hierarchy_first.c ---- */

/* The first cache along a path, and what all later probes need. */
struct fth_first_cache {
    enum fth_path path;
    double resolution;      /* of the clock, in cycles */
    double overhead_cycles; /* of the timing of a pass */
    double hit_cycles;      /* of a load */
    double miss_cycles;     /* of a load behind the cache, approximately */
    uint64_t edge_bytes;    /* approximate size */
    size_t samples;
};
/* Measures it with footprints up to `max_bytes`. FTH_INCONCLUSIVE: no footprint is slower than the
 * smallest one. */
FTH_MUST_USE enum fth_status fth_probe_first_cache(const struct fth_prober *prober,
                                                   enum fth_path path, double resolution,
                                                   uint64_t max_bytes,
                                                   struct fth_first_cache *first,
                                                   struct fth_error *error);

/* ---- hierarchy_line.c ---- */

enum { FTH_MAX_LINE_FACTOR = 32 };
struct fth_hierarchy_line_plan {
    const struct fth_first_cache *first;
    double hit_cycles, miss_cycles; /* of a load that hits the level, and one behind it */
    uint64_t size_bytes;            /* of the level, approximately */
    uint64_t smallest_bytes;        /* line of the level before it; 0: none */
    bool has_prefetchers;           /* the level may fetch neighbours of a line */
    unsigned
        factor; /* times as many rounds, at most FTH_MAX_LINE_FACTOR; from 2 on, the probe uses
                 * means instead of minima: the clock may be too coarse for few samples. 0: 1 */
};
struct fth_hierarchy_line {
    uint64_t bytes;
    struct fth_evidence evidence;
    size_t samples;
};
/* Measures the line of a level: the bytes that a load brings into the cache. FTH_INCONCLUSIVE: the
 * repeats contradict each other, or a prefetcher may have caused the result. */
FTH_MUST_USE enum fth_status fth_probe_hierarchy_line(const struct fth_prober *prober,
                                                      const struct fth_hierarchy_line_plan *plan,
                                                      struct fth_hierarchy_line *line,
                                                      struct fth_error *error);

/* ---- hierarchy_curve.c ---- */

enum { FTH_CURVE_POINTS = 128, FTH_HIERARCHY_LEVELS = 6 };
/* Latency over footprint. */
struct fth_curve {
    uint64_t line_bytes;
    uint64_t bytes[FTH_CURVE_POINTS];      /* ascending */
    double cycles[FTH_CURVE_POINTS];       /* of a load, the minimum of the repeats */
    double paged_cycles[FTH_CURVE_POINTS]; /* of a load of one line per FTH_PAGED_BYTES of the same
                                            * footprint */
    size_t count, samples;
};
/* Distance of the loads that show the cost of TLB misses: the smallest page size. */
enum { FTH_PAGED_BYTES = 4096 };
/* Measures the curve from a quarter of the size of the first cache up to `max_bytes`. */
FTH_MUST_USE enum fth_status fth_probe_curve(const struct fth_prober *prober,
                                             const struct fth_first_cache *first,
                                             uint64_t line_bytes, uint64_t max_bytes,
                                             struct fth_curve *curve, struct fth_error *error);

/* A level of the hierarchy: a part of the curve where the latency hardly depends on the
 * footprint. */
struct fth_hierarchy_level {
    double cycles;                  /* of a load where the plateau is flattest */
    double slope;                   /* relative increase per doubling of the footprint there */
    double tlb_cycles;              /* the part of it that TLB misses cause, approximately */
    uint64_t bytes;                 /* footprint where it is flattest */
    uint64_t low_bytes, high_bytes; /* its ends */
};
/* The levels of a curve. The last one is the memory if `complete`. */
struct fth_hierarchy {
    struct fth_hierarchy_level levels[FTH_HIERARCHY_LEVELS];
    size_t count;
    bool complete; /* the curve ends with a plateau */
    bool too_many; /* there are more plateaus than levels */
};
/* Finds the levels, of which the first one is the first cache. A rise that a chain with the same
 * pages and fewer lines shows as well is caused by a TLB, and does not separate two levels. */
void fth_find_levels(const struct fth_first_cache *first, const struct fth_curve *curve,
                     struct fth_hierarchy *hierarchy);
/* Returns the smallest footprint of the curve whose latency is at least `cycles`, interpolated; 0:
 * none. */
uint64_t fth_curve_reaches(const struct fth_curve *curve, double cycles);

/* ---- hierarchy_edge.c ---- */

struct fth_edge_plan {
    const struct fth_first_cache *first;
    uint64_t line_bytes, edge_bytes; /* line and approximate size */
    double hit_cycles, miss_cycles;
    bool any_size; /* the cache may have a part of a memory whose other part has another use, so
                    * that its size need not be usual */
};
struct fth_edge {
    uint64_t bytes;
    struct fth_evidence evidence;
    size_t samples;
};
/* Finds the size of a cache whose misses begin at one footprint, whatever the memory. FTH_
 * INCONCLUSIVE: they begin gradually, or the repeats contradict each other. */
FTH_MUST_USE enum fth_status fth_probe_edge(const struct fth_prober *prober,
                                            const struct fth_edge_plan *plan, struct fth_edge *edge,
                                            struct fth_error *error);

/* ---- hierarchy_ways.c ---- */

struct fth_hierarchy_ways {
    uint64_t ways, sets;
    struct fth_evidence evidence;
    size_t samples;
};
/* Measures the ways of a cache whose size and line are known, from strides that are powers of two:
 * as many elements as ways fit for every stride of at least sets * line. */
FTH_MUST_USE enum fth_status fth_probe_hierarchy_ways(const struct fth_prober *prober,
                                                      const struct fth_edge_plan *plan,
                                                      uint64_t size_bytes,
                                                      struct fth_hierarchy_ways *ways,
                                                      struct fth_error *error);

/* ---- hierarchy_latency.c ---- */

/* Measures the latency of loads with a footprint of `bytes`. */
FTH_MUST_USE enum fth_status fth_probe_level_latency(const struct fth_prober *prober,
                                                     const struct fth_first_cache *first,
                                                     uint64_t line_bytes, uint64_t bytes,
                                                     struct fth_figure *figure,
                                                     struct fth_error *error);

/* ---- hierarchy_units.c ---- */

/* The units (compute units, cores) that executed work-groups, in ascending order. */
enum { FTH_MAX_UNITS = 1024 };
struct fth_units {
    uint32_t numbers[FTH_MAX_UNITS];
    size_t count, samples;
};
/* How long a work-group stays on its unit, so that the next ones are placed on others. Chosen: long
 * for a launch. */
enum { FTH_UNIT_HOLD_NS = 2000000 };
/* Finds the units with launches of several work-groups per unit of `sms`, each of which stays for
 * `hold_ns`. FTH_UNSUPPORTED: the device does not tell where a work-group runs. FTH_INCONCLUSIVE:
 * there are more than FTH_MAX_UNITS. */
FTH_MUST_USE enum fth_status fth_probe_units(const struct fth_prober *prober, size_t sms,
                                             uint32_t hold_ns, struct fth_units *units,
                                             struct fth_error *error);

/* A cache of which the probe finds the units that share it. */
struct fth_sharers_plan {
    enum fth_path path;
    uint64_t line_bytes, size_bytes; /* the size may be approximate */
    uint64_t near_bytes;             /* size of the cache before it; 0: none */
    uint64_t next_bytes;             /* size of the level behind it; 0: large enough */
    double hit_cycles, miss_cycles;  /* of a load that hits the cache, and one behind it */
    uint32_t rounds;                 /* of a request; 0: as many as a real device needs */
};
struct fth_sharers {
    size_t count; /* maximum number of units that share an instance, including the unit itself */
    struct fth_evidence evidence;
    size_t samples;
};
/* Counts the units that share the cache with the first unit, and with the last one: their reads
 * evict its lines. FTH_UNSUPPORTED: the device cannot execute two units at the same time. FTH_
 * INCONCLUSIVE: the repeats contradict each other, or the unit itself does not evict its lines. */
FTH_MUST_USE enum fth_status fth_probe_sharers(const struct fth_prober *prober,
                                               const struct fth_units *units,
                                               const struct fth_sharers_plan *plan,
                                               struct fth_sharers *sharing,
                                               struct fth_error *error);

/* ---- hierarchy_code.c ---- */

/* The first instruction cache of a CPU. */
struct fth_code_cache {
    uint64_t bytes;
    struct fth_evidence evidence;
    size_t samples;
};
/* Measures its size with code that fits and code that does not. FTH_INCONCLUSIVE: no size that
 * instruction caches have shows in all kinds of code. FTH_UNSUPPORTED: the device does not execute
 * such code. */
FTH_MUST_USE enum fth_status fth_probe_code_cache(const struct fth_prober *prober,
                                                  struct fth_code_cache *cache,
                                                  struct fth_error *error);

/* ---- hierarchy_scratch.c ---- */

/* Measures the line of the constant cache with a footprint of `bytes`, which does not fit. */
FTH_MUST_USE enum fth_status fth_probe_constant_line(const struct fth_prober *prober,
                                                     const struct fth_first_cache *first,
                                                     uint64_t bytes,
                                                     struct fth_hierarchy_line *line,
                                                     struct fth_error *error);

/* Measures the latency of shared memory (FTH_PATH_SHARED) or of a small texture
 * (FTH_PATH_TEXTURE). Returns FTH_UNSUPPORTED if the device cannot execute such chases, and
 * FTH_INCONCLUSIVE if a longer chain does not take longer than a short one. */
FTH_MUST_USE enum fth_status fth_probe_scratch(const struct fth_prober *prober, enum fth_path path,
                                               struct fth_figure *figure, struct fth_error *error);

#endif
