/* probe/: one file a question about a GPU. Each plans requests, has them measured, and decides;
 * none knows whether a real GPU, a simulated one or a recording answers.
 *
 * What is not here is in probe/l2.h (l2.c, l2_fates.c, l2map.c), probe/tlb.h (pages.c, rung.c,
 * spectrum.c, tlb*.c) and probe/structure.h (choice.c, l2_sets.c, mapping.c, policy.c, series.c,
 * sets.c).
 *
 *   ask.c       requests out, answers in           latency.c   how long a load takes
 *   capacity.c  how much fits                      line.c      what a miss fetches, what is evicted
 *   sharing.c   which loads evict which            l2.c        line, sector, partitions of the L2
 *   pages.c     loads of one line a page           rung.c      which of them missed a TLB
 *   tlb.c       levels, pages, price of TLBs       tlb_entries.c  how many pages they hold
 *   tlb_sets.c  their sets and ways                tlb_policy.c  which page they give up
 *   spectrum.c  hits and misses of caches and TLBs, each with each
 *   l2map.c     homes of lines, sides of SMs       carveout.c  L1 beside shared memory
 *   fetch.c     instruction caches                 constant.c  constant caches
 *   bandwidth.c how much passes in a time          cluster.c   shared memory of another SM
 *   operate.c   what one operation costs           banks.c     banks of shared memory
 *   fingerprint.c  by what to know it again       sets.c      sets and ways of a cache
 *   mapping.c   which lines share a set            policy.c    which line is replaced
 *   series.c    a cache that overflows by one line, load by load; l2_sets.c, sets of an L2
 *   sets_test.c whether sets and ways hold         choice.c    how likely policies are
 */
#ifndef FTH_PROBE_H
#define FTH_PROBE_H

#include "device/device.h"
#include "stats/stats.h"

/* ---- ask.c ---- */

struct fth_prober {
    struct fth_device *device;
    const struct fth_log *log; /* may be NULL */
    size_t sms;                /* how many requests can be answered at a time */
    bool thorough;             /* what is decided by repeats has more of them */
};

/* The samples of a batch, one entry a request. */
struct fth_answers {
    struct fth_samples *items;
    size_t count;
};

/* Has the requests measured. Fails where one of them has no answer: with FTH_INCONCLUSIVE where it
 * is only this one, as for want of memory. */
FTH_MUST_USE enum fth_status fth_ask(const struct fth_prober *prober,
                                     const struct fth_request *requests, size_t count,
                                     struct fth_answers *answers, struct fth_error *error);
void fth_answers_fini(struct fth_answers *answers);

/* A request without steps, on any SM; steps are added one by one (at most FTH_MAX_STEPS). */
struct fth_request fth_request_make(int carveout_percent);
void fth_request_add(struct fth_request *request, enum fth_step_kind kind, enum fth_path path,
                     struct fth_chain chain, uint64_t passes);

/* A figure that was measured, with what it rests on. */
struct fth_figure {
    double value;
    double low, high; /* 5th and 95th percentile of what it is the median of */
    size_t samples;
    double clock_mhz;
    double confidence; /* share of resamples with the same answer; 0: not known */
    bool disturbed;    /* now and then something took longer */
    const char *note;  /* what a reader should know, or NULL */
};
/* The share of resamples of the values whose median is the same to within the tolerance, by
 * Laplace's rule; NAN where there are none. For cycles of a load the tolerance is half a cycle, or
 * 0.5 %. */
double fth_agreement(const double *values, size_t count, double tolerance);
double fth_cycles_agreement(const double *values, size_t count);

/* ---- latency.c ---- */

/* The share of draws within half a cycle of the value, or 0.5 % where that is more, where nine of
 * ten lie between `low` and `high`; 0.995 at most, since 200 draws know no more. */
double fth_latency_confidence(double value, double low, double high);

/* A plateau of single hops as a figure: the mean of its core, less the overhead. */
FTH_MUST_USE enum fth_status fth_plateau_figure(const uint32_t *cycles, size_t count,
                                                double overhead_cycles, struct fth_figure *figure,
                                                struct fth_error *error);

/* The cycles of one load that hits, from whole passes over two chains of different length: what a
 * pass costs beyond its loads is the same in both and drops out. The longer chain must fit.
 * `every_sm`: measured on all SMs, and the median over them; otherwise on one. Where passes of one
 * length differ, something disturbs them, and single loads are timed instead. */
struct fth_latency_plan {
    enum fth_path path;
    int carveout_percent;
    uint64_t stride_bytes;
    uint64_t short_count, long_count;
    bool every_sm;
    double *by_sm; /* with every_sm: gets the latency of each; NULL: not wanted */
};
FTH_MUST_USE enum fth_status fth_probe_latency(const struct fth_prober *prober,
                                               const struct fth_latency_plan *plan,
                                               struct fth_figure *cycles, struct fth_error *error);

/* What timing a single hop costs beyond the load: cycles of a timed hop that hits, less those of
 * the load (from fth_probe_latency with the same plan). */
FTH_MUST_USE enum fth_status fth_probe_overhead(const struct fth_prober *prober,
                                                const struct fth_latency_plan *plan,
                                                double latency_cycles, double *overhead_cycles,
                                                struct fth_error *error);

/* Loads that miss every cache, with the TLBs warm. Where lines come from near and far memory there
 * are two plateaus; `far` is then the upper one, and NAN otherwise. */
FTH_MUST_USE enum fth_status fth_probe_memory_latency(const struct fth_prober *prober,
                                                      double overhead_cycles,
                                                      struct fth_figure *near_cycles,
                                                      struct fth_figure *far_cycles,
                                                      struct fth_error *error);
/* The same with the TLBs cold as well: `count` loads `stride_bytes` apart, which must be a page of
 * every TLB and together more than any reaches. Near memory only, where there are two. */
FTH_MUST_USE enum fth_status fth_probe_cold_latency(const struct fth_prober *prober,
                                                    double overhead_cycles, uint64_t stride_bytes,
                                                    uint64_t count, struct fth_figure *cycles,
                                                    struct fth_error *error);

/* ---- capacity.c ---- */

struct fth_capacity_plan {
    enum fth_path path;
    int carveout_percent;
    uint64_t stride_bytes;   /* at most what one miss fetches */
    uint64_t smallest_bytes; /* fits for sure */
    uint64_t largest_bytes;  /* does not fit for sure, or cannot be had */
    double hit_cycles;       /* of a timed hop, the clock's cost included */
    double miss_cycles;
    bool evidence;  /* also find resident_bytes and full_miss_bytes */
    bool disturbed; /* hops are known to be slow at times for other reasons than a miss */
    double miss_low_cycles, miss_high_cycles; /* what misses take; 0: as first loads do */
};
struct fth_capacity {
    uint64_t fits_bytes;      /* the largest footprint all of whose loads hit */
    uint64_t misses_bytes;    /* the smallest that has misses; 0: even the largest fits */
    uint64_t resident_bytes;  /* the most that a walk back found after a walk beyond the size */
    uint64_t full_miss_bytes; /* the smallest footprint of which nothing hits; 0: not found */
    double miss_low_cycles, miss_high_cycles; /* what misses take; 0: it did not matter */
    size_t samples;
    double confidence; /* share of repeats with the same verdict on either side of the edge, by
                        * Laplace's rule; NAN: there is no edge */
};
FTH_MUST_USE enum fth_status fth_probe_capacity(const struct fth_prober *prober,
                                                const struct fth_capacity_plan *plan,
                                                struct fth_capacity *capacity,
                                                struct fth_error *error);

/* ---- line.c ---- */

struct fth_line_plan {
    enum fth_path path;
    int carveout_percent;
    uint64_t size_bytes;                      /* that fits */
    double threshold_cycles;                  /* of a timed hop, between a hit and a miss */
    double miss_low_cycles, miss_high_cycles; /* what misses take, where that is known */
};
struct fth_length {
    uint64_t bytes;
    double confidence; /* share of the SMs that say the same, by Laplace's rule */
    size_t samples;
};
/* What one miss brings in: from the distances between the slow hops of a first walk with a stride
 * of one element. FTH_INCONCLUSIVE where they are not regular. */
FTH_MUST_USE enum fth_status fth_probe_fetch_bytes(const struct fth_prober *prober,
                                                   const struct fth_line_plan *plan,
                                                   struct fth_length *length,
                                                   struct fth_error *error);
/* What is evicted together: the cache is filled, another line is loaded, and a walk back finds what
 * is gone. At least what one miss fetches. */
FTH_MUST_USE enum fth_status fth_probe_line_bytes(const struct fth_prober *prober,
                                                  const struct fth_line_plan *plan,
                                                  uint64_t fetch_bytes, struct fth_length *length,
                                                  struct fth_error *error);

/* How often slow hops are so many hops apart; `counts` has room for as many as the walk has. The
 * first hop is slow for other reasons too, and is where something begins anyway. */
void fth_count_distances(const struct fth_samples *walk, double threshold_cycles, unsigned *counts);
/* The index from 1 on whose count is more than half of all; 0: none. */
unsigned fth_most_frequent(const unsigned *counts, unsigned size);

/* ---- sharing.c ---- */

/* A walker in a cache: over so many bytes of it. */
struct fth_walker {
    enum fth_path path;
    uint64_t bytes, stride_bytes;
    double threshold_cycles; /* of a timed hop, between a hit and a miss */
    int carveout_percent;
};
enum fth_sharing { FTH_SHARING_UNKNOWN, FTH_SHARING_NO, FTH_SHARING_YES };
struct fth_sharing_found {
    enum fth_sharing sharing; /* unknown: only one of them evicts, or only a part, or it varies */
    double confidence;        /* share of repeats with the same verdict, by Laplace's rule */
    size_t samples;
};
/* Whether the two walk in one cache: each evicts what the other has loaded. */
FTH_MUST_USE enum fth_status fth_probe_sharing(const struct fth_prober *prober,
                                               const struct fth_walker *a,
                                               const struct fth_walker *b,
                                               struct fth_sharing_found *found,
                                               struct fth_error *error);
/* How many of these caches an SM has: warp 0's loads against those of every other warp of a full
 * block. */
struct fth_instances {
    unsigned count;
    double disturbed[FTH_MAX_WARPS]; /* share of warp 0's lines that each warp evicted */
    double confidence;               /* share of warps that evict clearly or clearly not */
    size_t samples;
};
FTH_MUST_USE enum fth_status fth_probe_instances(const struct fth_prober *prober,
                                                 const struct fth_walker *walker,
                                                 struct fth_instances *found,
                                                 struct fth_error *error);

/* ---- cluster.c ---- */

/* Blocks of all clusters that are tried: of 2, 4 and 8. */
enum { FTH_CLUSTER_TARGETS = 14 };

struct fth_cluster_target {
    uint32_t size, target; /* 0: block 0's own */
    struct fth_figure cycles;
};
struct fth_cluster_latency {
    struct fth_figure own;         /* a block's own shared memory, through the same loads */
    struct fth_figure near_cycles; /* the nearest others */
    struct fth_figure far_cycles;  /* the farthest, where they differ; otherwise the value is NAN */
    struct fth_cluster_target targets[FTH_CLUSTER_TARGETS]; /* by size, then by target */
    size_t target_count;
};
/* The cycles of a load from the shared memory of another block of a cluster. FTH_UNSUPPORTED where
 * the GPU, or its driver, has no clusters. */
FTH_MUST_USE enum fth_status fth_probe_cluster(const struct fth_prober *prober,
                                               struct fth_cluster_latency *latency,
                                               struct fth_error *error);
/* How many rare events there may be where so many are to be expected: five standard deviations
 * more, and one, since few events have a longer tail. */
double fth_max_by_chance(double expected);

/* ---- fetch.c ---- */

enum { FTH_MAX_FETCH_LEVELS = 4 };

/* A plateau of cycles an instruction, and how long code can be to run at it. */
struct fth_fetch_level {
    struct fth_figure cycles; /* of an instruction of straight-line code */
    uint64_t fits_bytes;      /* the longest code all of which does; 0: no length is slower */
    uint64_t misses_bytes;    /* the next longer one that was tried */
    uint64_t full_bytes;      /* the shortest that runs at the next plateau's pace; 0: none does */
    double confidence;        /* of the edge, as that of struct fth_capacity */
};
/* The innermost first. The last plateau is what lies behind the last cache, unless it is the only
 * one: then no code was too long, and how many caches there are is not known. Where the last one
 * has an end (fits_bytes), longer code is slower, and what it costs is no plateau. */
struct fth_fetch_levels {
    struct fth_fetch_level items[FTH_MAX_FETCH_LEVELS];
    size_t count;
    struct fth_code_size code; /* what instructions take, which is taken for granted */
    uint64_t longest_bytes;    /* of the code that was tried */
    size_t samples;
};
FTH_MUST_USE enum fth_status fth_probe_fetch(const struct fth_prober *prober,
                                             struct fth_fetch_levels *levels,
                                             struct fth_error *error);

/* ---- constant.c ---- */

struct fth_constant_cache {
    struct fth_figure cycles; /* of a load that hits */
    uint64_t line_bytes;      /* what one miss fetches; 0: not found */
    double line_confidence;   /* share of repeats that say the same, by Laplace's rule */
    struct fth_capacity capacity;
};

/* The capacity of L1.5 is that of the constant bank, with misses_bytes 0, where it holds as much or
 * more and nothing else tells; where it shares its room with code, it is what both have together.
 */
struct fth_constants {
    struct fth_constant_cache l1, l15;
    double overhead_cycles; /* of timing one hop */
    bool has_l15;
    bool l15_by_passes;          /* its latency is from whole passes; otherwise from single hops */
    enum fth_sharing with_code;  /* of L1.5 with an instruction cache */
    double with_code_confidence; /* of two ways to find it that agree, by Laplace's rule */
    int code_level;              /* of `code`; -1: none is as large */
};
/* `code` may be NULL: then sharing stays unknown. */
FTH_MUST_USE enum fth_status fth_probe_constants(const struct fth_prober *prober,
                                                 const struct fth_fetch_levels *code,
                                                 struct fth_constants *constants,
                                                 struct fth_error *error);

/* ---- carveout.c ---- */

enum { FTH_MAX_CARVEOUTS = 48 };

struct fth_carveout_plan {
    struct fth_capacity_plan l1; /* its path, stride and cycles; the rest is filled in */
    uint64_t l1_bytes;           /* that it holds at the smallest carve-out */
    uint64_t shared_bytes;       /* the largest carve-out */
};
struct fth_carveout {
    unsigned first_percent, last_percent; /* that a launch asks for */
    uint64_t shared_bytes, l1_bytes;
};
/* From the smallest to the largest. One alone: L1 is as large under all of them, and its sizes are
 * not filled in. */
struct fth_carveouts {
    struct fth_carveout items[FTH_MAX_CARVEOUTS];
    size_t count;
    size_t samples;
};
FTH_MUST_USE enum fth_status fth_probe_carveouts(const struct fth_prober *prober,
                                                 const struct fth_carveout_plan *plan,
                                                 struct fth_carveouts *carveouts,
                                                 struct fth_error *error);
/* The carve-out whose last percentage this is, of the largest; false where there is none that could
 * be, or more than one. */
bool fth_carveout_bytes(uint64_t shared_bytes, unsigned last_percent, uint64_t *bytes);

/* Whether there is so much shared memory for a block: the cycles a load of a chain over all of it
 * takes. */
FTH_MUST_USE enum fth_status fth_probe_shared_bytes(const struct fth_prober *prober, uint64_t bytes,
                                                    double *cycles, size_t *samples,
                                                    struct fth_error *error);

/* ---- bandwidth.c ---- */

/* What is measured, over all SMs at once. A copy counts what is read and what is written. Writes to
 * L1 go through to L2, which bounds them. A load of the constant bank counts once for its warp, as
 * all lanes want the same. */
enum fth_bandwidth_target {
    FTH_BANDWIDTH_MEMORY_READ,
    FTH_BANDWIDTH_MEMORY_WRITE,
    FTH_BANDWIDTH_MEMORY_COPY,
    FTH_BANDWIDTH_L2_READ,
    FTH_BANDWIDTH_L2_WRITE,
    FTH_BANDWIDTH_L2_COPY,
    FTH_BANDWIDTH_L1_READ,
    FTH_BANDWIDTH_L1_WRITE,
    FTH_BANDWIDTH_READONLY_READ,
    FTH_BANDWIDTH_TEXTURE_READ,
    FTH_BANDWIDTH_CONSTANT_READ,
    FTH_BANDWIDTH_SHARED_READ,
    FTH_BANDWIDTH_SHARED_WRITE,
    FTH_BANDWIDTH_SHARED_COPY,
    FTH_BANDWIDTH_CLUSTER_READ, /* shared memory of another SM, in clusters of two */
    FTH_BANDWIDTH_CLUSTER_WRITE,
    FTH_BANDWIDTH_TARGETS
};
/* Where a description has it: "memory", "read_bytes_per_s". */
const char *fth_bandwidth_element(enum fth_bandwidth_target target);
const char *fth_bandwidth_attribute(enum fth_bandwidth_target target);

/* A launch of a stream or sweep: so many blocks an SM or, where that is 0, one for each piece of
 * the arrays; so many vectors of each array that a thread has under way; whether L2 is told to keep
 * what is read rather than what is written. */
struct fth_stream_shape {
    uint32_t blocks_per_sm, threads, vector_bytes, unroll;
    bool hinted;
};

struct fth_bandwidth {
    double bytes_per_s;        /* the best */
    double median_bytes_per_s; /* of as many as there were pairs */
    struct fth_stream_shape shape;
    size_t samples;
    double clock_mhz;
};

/* `known` is what is known of the GPU so far: what the driver tells (SMs, clocks, bus width,
 * sizes), and the sizes of caches that were found; those that are missing are taken to be small.
 * Fails with FTH_INCONCLUSIVE where the result is not possible, or differs too much from one time
 * to the next; `bandwidth` has it all the same. FTH_UNSUPPORTED: the GPU has no such thing.
 * `thorough`: more shapes are tried, and the best is measured more often. */
/* What cannot be more: memory moves two words a clock over its bus (the driver's clock is that of
 * GDDR and HBM alike, half of the rate of data). NAN: not known. */
double fth_memory_limit(const struct fth_gpu *known);
FTH_MUST_USE enum fth_status fth_probe_bandwidth(const struct fth_prober *prober,
                                                 const struct fth_gpu *known,
                                                 enum fth_bandwidth_target target, bool thorough,
                                                 struct fth_bandwidth *bandwidth,
                                                 struct fth_error *error);

/* ---- operate.c ---- */

/* An operation, timed over so many rounds and over more. */
struct fth_operate_plan {
    struct fth_operate operate; /* without its rounds */
    uint64_t rounds, more_rounds;
    int carveout_percent;
};
/* The cycles of one operation of every thread of a block: of one chain of one warp its latency;
 * threads over it, where there are many, how many are done in a cycle. */
FTH_MUST_USE enum fth_status fth_probe_operate(const struct fth_prober *prober,
                                               const struct fth_operate_plan *plan,
                                               struct fth_figure *cycles, struct fth_error *error);

/* ---- banks.c ---- */

struct fth_banks {
    unsigned banks;
    unsigned bank_bytes;    /* 0: not found */
    double first_cycles;    /* of a load without conflict */
    double conflict_cycles; /* of every further word of the same bank */
    double residual_cycles; /* that the latencies are off the line, root mean square */
    size_t samples;
};
FTH_MUST_USE enum fth_status fth_probe_banks(const struct fth_prober *prober,
                                             struct fth_banks *banks, struct fth_error *error);
/* ---- fingerprint.c ---- */

/* What a place in the row of features means; with another meaning comes another version. */
enum { FTH_FEATURES_VERSION = 2, FTH_FEATURE_NAME_BYTES = 32 };
const char *fth_feature_name(size_t index, char name[FTH_FEATURE_NAME_BYTES]);
/* How many a device has: GPUs with different numbers of SMs differ in it. */
size_t fth_feature_count(const struct fth_prober *prober);
/* What a feature counts, of so many, when two GPUs are compared. */
double fth_feature_weight(size_t index, size_t count);
/* What an older run has of the features of the present version, NAN where it has none: how many
 * these are and, where `out` is not NULL, which. 0: it has no place there. */
size_t fth_features_upgrade(unsigned version, const double *features, size_t count, double *out);
/* One row of features, NAN where the device cannot answer. `run` is the number of the run, 0, 1, …:
 * each measures in other memory. */
FTH_MUST_USE enum fth_status fth_probe_fingerprint(const struct fth_prober *prober,
                                                   double nominal_clock_mhz, unsigned run,
                                                   double *features, struct fth_error *error);
/* ---- sweep.c ---- */

/* The launches of sweeps that are worth a try; the first `usual` of them where there is little
 * time. */
const struct fth_stream_shape *fth_sweep_shapes(size_t *count, size_t *usual);
/* Such a sweep, once over arrays of so many bytes, not cold. */
struct fth_request fth_sweep_request(const struct fth_prober *prober, enum fth_sweep_kind kind,
                                     bool wide, uint64_t bytes,
                                     const struct fth_stream_shape *shape);

/* Times of a sweep or a transfer. FTH_INCONCLUSIVE where what it leaves is not what it should. */
struct fth_durations {
    double best_ns, median_ns, worst_ns;
    size_t count;
    bool direct; /* from GPU to GPU */
};
FTH_MUST_USE enum fth_status fth_probe_durations(const struct fth_prober *prober,
                                                 const struct fth_request *request,
                                                 struct fth_durations *durations,
                                                 struct fth_error *error);
/* The same of several that are to be compared: by turns, so many rounds of all of them. */
FTH_MUST_USE enum fth_status fth_probe_in_turns(const struct fth_prober *prober,
                                                const struct fth_request *requests, size_t count,
                                                size_t rounds, struct fth_durations *durations,
                                                struct fth_error *error);

#endif
