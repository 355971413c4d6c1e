/* probe/: measures the properties of a GPU, one property per file. Each probe sends requests to a
 * device and decides from the samples that come back. A probe does not know whether the device is a
 * real GPU, a simulated GPU or a recording.
 *
 * The files by the header that declares their functions:
 *
 *   probe.h:      ask.c          sends requests to the device and collects the samples
 *                 latency.c      latency of caches and memory
 *                 capacity.c     size of a cache
 *                 line.c         bytes that one miss fetches, and bytes that are evicted together
 *                 sharing.c      which paths share a cache; number of instances per SM
 *                 carveout.c     sizes of L1 for each size of shared memory
 *                 fetch.c        instruction caches
 *                 constant.c     constant caches
 *                 banks.c        banks of shared memory
 *                 cluster.c      latency of another SM's shared memory
 *                 bandwidth.c    bandwidth of caches, shared memory and memory
 *                 sweep.c        durations of sweeps (kernels timed as a whole) and of copies
 *                 operate.c      cycles per arithmetic or memory operation
 *                 fingerprint.c  features that identify an individual GPU
 *   l2.h:         l2.c           line, sector, partitions and size of the L2
 *                 l2_outcomes.c  decisions of l2.c and their confidence
 *                 l2map.c        home partitions of lines, near partition of each SM
 *   tlb.h:        pages.c        loads of one line per page
 *                 tlb_step.c     which of these loads missed a TLB
 *                 tlb.c          TLB levels, page sizes, penalties
 *                 tlb_entries.c  entries of a TLB
 *                 tlb_sets.c     sets and ways of a TLB
 *                 tlb_policy.c   replacement policy of a TLB
 *                 spectrum.c     latency of each combination of cache and TLB hit or miss
 *   structure.h:  sets.c         sets and ways of a cache
 *                 sets_verify.c  test of these sets and ways
 *                 mapping.c      index function of a cache
 *                 policy.c       replacement policy of a cache
 *                 choice.c       likelihood of each policy
 *                 series.c       misses of a cache that overflows by one line, load by load
 *                 l2_sets.c      sets and ways of a small L2
 */
#ifndef FTH_PROBE_H
#define FTH_PROBE_H

#include "device/device.h"
#include "stats/stats.h"

/* ---- ask.c ---- */

struct fth_prober {
    struct fth_device *device;
    const struct fth_log *log; /* may be NULL */
    size_t sms;                /* SMs of the device; as many requests can run at the same time */
    bool thorough;             /* repeat measurements more often */
};

/* The samples of a batch, one entry per request. */
struct fth_answers {
    struct fth_samples *items;
    size_t count;
};

/* Executes the requests on the device. On success the caller owns `answers` and frees it with
 * fth_answers_fini. Fails if any request failed. The status is FTH_INCONCLUSIVE if the device could
 * not execute the request (for example, too little memory) but can execute others. FTH_INTERRUPTED:
 * the log of the prober asks to stop. */
FTH_MUST_USE enum fth_status fth_ask(const struct fth_prober *prober,
                                     const struct fth_request *requests, size_t count,
                                     struct fth_answers *answers, struct fth_error *error);
void fth_answers_fini(struct fth_answers *answers);

/* Returns a request without steps, for any SM. fth_request_add appends one step; a request has at
 * most FTH_MAX_STEPS. carveout_percent -1: the driver chooses the carve-out. */
struct fth_request fth_request_make(int carveout_percent);
void fth_request_add(struct fth_request *request, enum fth_step_kind kind, enum fth_path path,
                     struct fth_chain chain, uint64_t passes);

/* A measured figure with its provenance. */
struct fth_figure {
    double value;
    double low, high; /* 5th and 95th percentile of the samples behind the value; operate.c:
                       * minimum and maximum */
    size_t samples;
    double clock_mhz;
    double confidence; /* from fth_agreement, fth_cycles_agreement or, for the mean of single
                        * loads, fth_latency_confidence; 0 or NAN: unknown */
    bool disturbed;    /* occasional loads took longer for an external reason */
    const char *note;  /* a remark for the reader of the report, or NULL */
};
/* Returns the fraction of bootstrap resamples of the values whose median differs from that of the
 * values by at most `tolerance`, estimated by Laplace's rule; NAN without values.
 * fth_cycles_agreement uses a tolerance of 0.5 cycles or 0.5 %, whichever is larger. */
double fth_agreement(const double *values, size_t count, double tolerance);
double fth_cycles_agreement(const double *values, size_t count);

/* ---- latency.c ---- */

/* Returns the probability that a normally distributed estimate of the value is off by at most 0.5
 * cycles or 0.5 %, whichever is larger. From `low` to `high` is the 90 % bootstrap interval of the
 * estimate, from which its standard deviation is computed. (These are not the percentiles of the
 * samples in struct fth_figure.) The result is at most 0.995, the resolution of 200 resamples. */
double fth_latency_confidence(double value, double low, double high);

/* Computes the latency of a plateau of timed hops (a hop is one load of a chain): the mean of the
 * samples near the median (fth_core_mean_u32), minus the overhead of timing a hop. */
FTH_MUST_USE enum fth_status fth_plateau_figure(const uint32_t *cycles, size_t count,
                                                double overhead_cycles, struct fth_figure *figure,
                                                struct fth_error *error);

/* Measures the cycles of one load that hits, as the slope between whole passes over two chains of
 * different length: the fixed cost of a pass is the same in both and cancels out. The longer chain
 * must fit into the cache. If passes of the same length differ too much, the measurement is
 * disturbed; then single loads are timed instead, and the figure is marked `disturbed`. */
struct fth_latency_plan {
    enum fth_path path;
    int carveout_percent;
    uint64_t stride_bytes;
    uint64_t short_count, long_count; /* loads per pass of the two chains */
    bool every_sm;                    /* measure on all SMs and take the median; otherwise on one */
    double *by_sm; /* with every_sm: receives the latency of each SM; may be NULL */
};
FTH_MUST_USE enum fth_status fth_probe_latency(const struct fth_prober *prober,
                                               const struct fth_latency_plan *plan,
                                               struct fth_figure *cycles, struct fth_error *error);

/* Measures the overhead of timing a single hop: the cycles of a timed hop that hits, minus the
 * latency of the load (from fth_probe_latency with the same plan). */
FTH_MUST_USE enum fth_status fth_probe_overhead(const struct fth_prober *prober,
                                                const struct fth_latency_plan *plan,
                                                double latency_cycles, double *overhead_cycles,
                                                struct fth_error *error);

/* Measures the latency of loads that miss every cache but hit the TLBs. If lines come from near and
 * far memory, the samples have two plateaus: `near_cycles` is the lower and `far_cycles` the upper
 * one. Otherwise the value of `far_cycles` is NAN. */
FTH_MUST_USE enum fth_status fth_probe_memory_latency(const struct fth_prober *prober,
                                                      double overhead_cycles,
                                                      struct fth_figure *near_cycles,
                                                      struct fth_figure *far_cycles,
                                                      struct fth_error *error);
/* Measures the same with cold TLBs, from `count` loads. `stride_bytes` must be at least the page
 * size of every TLB, and the whole footprint must exceed the reach of every TLB. If there is near
 * and far memory, the result is that of near memory. */
FTH_MUST_USE enum fth_status fth_probe_cold_latency(const struct fth_prober *prober,
                                                    double overhead_cycles, uint64_t stride_bytes,
                                                    uint64_t count, struct fth_figure *cycles,
                                                    struct fth_error *error);

/* ---- capacity.c ---- */

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
struct fth_capacity {
    uint64_t fits_bytes;      /* largest footprint whose loads all hit */
    uint64_t misses_bytes;    /* smallest footprint with misses; 0: even the largest fits */
    uint64_t resident_bytes;  /* bytes that are still resident after a walk over
                               * 1.25 * fits_bytes; a reverse walk counts them. Maximum of several
                               * repeats */
    uint64_t full_miss_bytes; /* smallest footprint without any hit; 0: not found */
    double miss_low_cycles, miss_high_cycles; /* range of a timed miss; 0: not needed */
    size_t samples;
    double confidence; /* fraction of repeats with the same verdict on either side of the edge, by
                        * Laplace's rule; NAN: there is no edge */
};
/* Finds the size of a cache: the edge between footprints that fit and footprints that miss. */
FTH_MUST_USE enum fth_status fth_probe_capacity(const struct fth_prober *prober,
                                                const struct fth_capacity_plan *plan,
                                                struct fth_capacity *capacity,
                                                struct fth_error *error);
/* Returns the maximum number of rare events (such as disturbed loads) that chance explains when
 * `expected` events are expected: five standard deviations more, plus 1 because the distribution of
 * few events has a longer tail; 0 if none is expected. */
double fth_max_by_chance(double expected);

/* ---- line.c ---- */

struct fth_line_plan {
    enum fth_path path;
    int carveout_percent;
    uint64_t size_bytes;                      /* largest footprint that fits into the cache */
    double threshold_cycles;                  /* a timed hop that takes longer is a miss */
    double miss_low_cycles, miss_high_cycles; /* range of a timed miss; 0: unknown */
};
struct fth_length {
    uint64_t bytes;
    double confidence; /* fraction of the SMs with the same result, by Laplace's rule */
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

/* Counts the distances between consecutive slow hops: adds 1 to counts[d] for each pair that is d
 * hops apart. `counts` has at least as many entries as the walk has hops. Hop 0 counts as slow
 * however long it took: it starts a fetch, and its time includes fetching the code. */
void fth_count_distances(const struct fth_samples *walk, double threshold_cycles, unsigned *counts);
/* Returns the index in 1 .. size - 1 whose count is more than half of the sum; 0: none. */
unsigned fth_majority(const unsigned *counts, unsigned size);

/* ---- sharing.c ---- */

/* A walk over `bytes` of a cache by one path. */
struct fth_walker {
    enum fth_path path;
    uint64_t bytes, stride_bytes;
    double threshold_cycles; /* a timed hop that takes longer is a miss */
    int carveout_percent;
};
enum fth_sharing { FTH_SHARING_UNKNOWN, FTH_SHARING_NO, FTH_SHARING_YES };
struct fth_sharing_found {
    enum fth_sharing sharing; /* unknown: only one path evicts lines of the other, or a path evicts
                               * only part of them, or the result varies */
    double confidence;        /* fraction of repeats with the same verdict, by Laplace's rule */
    size_t samples;
};
/* Finds out whether the two paths share a cache: each then evicts what the other has loaded. */
FTH_MUST_USE enum fth_status fth_probe_sharing(const struct fth_prober *prober,
                                               const struct fth_walker *a,
                                               const struct fth_walker *b,
                                               struct fth_sharing_found *found,
                                               struct fth_error *error);
/* The number of instances of a cache per SM. Warp 0 loads lines, then a warp of the same block
 * loads other lines. If this evicts lines of warp 0, both warps use the same instance. This is
 * repeated with each warp of the block, including warp 0 itself. */
struct fth_instances {
    unsigned count;
    double disturbed[FTH_MAX_WARPS]; /* fraction of warp 0's lines that each warp evicted (not
                                      * noise); in a description, `disturbed_by_warp` */
    double confidence; /* fraction of warps that clearly evict or clearly do not evict, by
                        * Laplace's rule */
    size_t samples;
};
FTH_MUST_USE enum fth_status fth_probe_instances(const struct fth_prober *prober,
                                                 const struct fth_walker *walker,
                                                 struct fth_instances *found,
                                                 struct fth_error *error);

/* ---- cluster.c ---- */

/* Clusters of 2, 4 and 8 blocks are measured. In each, block 0 reads the shared memory of every
 * block: 2 + 4 + 8 targets. */
enum { FTH_CLUSTER_TARGETS = 14 };

struct fth_cluster_target {
    uint32_t size;   /* blocks of the cluster */
    uint32_t target; /* block whose shared memory block 0 reads; 0: its own */
    struct fth_figure cycles;
};
struct fth_cluster_latency {
    struct fth_figure own;         /* a block's own shared memory, with the same instructions */
    struct fth_figure near_cycles; /* the nearest other blocks */
    struct fth_figure far_cycles; /* the farthest blocks; the value is NAN if all are equally far */
    struct fth_cluster_target targets[FTH_CLUSTER_TARGETS]; /* by size, then by target */
    size_t target_count;
};
/* Measures the cycles of a load from the shared memory of another block of a cluster.
 * FTH_UNSUPPORTED if the GPU or its driver has no clusters. */
FTH_MUST_USE enum fth_status fth_probe_cluster(const struct fth_prober *prober,
                                               struct fth_cluster_latency *latency,
                                               struct fth_error *error);

/* ---- fetch.c ---- */

enum { FTH_MAX_FETCH_LEVELS = 4 };

/* A plateau of the cycles per instruction, and the length of code that runs at this rate. */
struct fth_fetch_level {
    struct fth_figure cycles; /* per instruction of straight-line code */
    uint64_t fits_bytes;      /* longest code that runs at this rate; 0: even the longest code that
                               * was tried does */
    uint64_t misses_bytes;    /* the next longer code that was tried */
    uint64_t full_miss_bytes; /* shortest code that runs at the rate of the next plateau; 0: none */
    double confidence;        /* of the edge, as in struct fth_capacity */
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
FTH_MUST_USE enum fth_status fth_probe_fetch(const struct fth_prober *prober,
                                             struct fth_fetch_levels *levels,
                                             struct fth_error *error);

/* ---- constant.c ---- */

struct fth_constant_cache {
    struct fth_figure cycles; /* of a load that hits */
    uint64_t line_bytes;      /* bytes that one miss fetches; 0: not found */
    double line_confidence;   /* fraction of repeats with the same result, by Laplace's rule */
    struct fth_capacity capacity;
};

/* If L1.5 shares its storage with code, its capacity is the size of the shared storage. Otherwise,
 * if L1.5 holds the whole constant bank, its capacity is the size of the bank and misses_bytes is
 * 0. */
struct fth_constants {
    struct fth_constant_cache l1, l15;
    double overhead_cycles; /* of timing one hop */
    bool has_l15;
    bool l15_by_passes;          /* latency of L1.5 is from whole passes; otherwise single hops */
    enum fth_sharing with_code;  /* L1.5 shares storage with an instruction cache */
    double with_code_confidence; /* of `with_code`, if it is known: 0.75, by Laplace's rule for
                                  * two measurements that agree */
    int code_level; /* index in `code` of that instruction cache; -1: none has its size */
};
/* Measures the constant caches. `code` may be NULL: then `with_code` stays unknown. */
FTH_MUST_USE enum fth_status fth_probe_constants(const struct fth_prober *prober,
                                                 const struct fth_fetch_levels *code,
                                                 struct fth_constants *constants,
                                                 struct fth_error *error);

/* ---- carveout.c ---- */

enum { FTH_MAX_CARVEOUTS = 48 };

struct fth_carveout_plan {
    struct fth_capacity_plan l1; /* path, stride and cycles; the probe sets the other members */
    uint64_t l1_bytes;           /* size of L1 at the smallest carve-out */
    uint64_t shared_bytes;       /* largest carve-out */
};
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
    size_t samples;
};
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

/* ---- bandwidth.c ---- */

/* What is measured, on all SMs at the same time. A copy counts the bytes read and the bytes
 * written. Writes to L1 go through to L2, which limits them. A load from the constant bank counts
 * once per warp because all lanes load the same word. */
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
/* Return the element and the attribute that hold this bandwidth in a description: "memory",
 * "read_bytes_per_s". */
const char *fth_bandwidth_element(enum fth_bandwidth_target target);
const char *fth_bandwidth_attribute(enum fth_bandwidth_target target);

/* The launch parameters of a stream (a bandwidth test that is timed inside the kernel) or of a
 * sweep (one that is timed by the driver). */
struct fth_stream_shape {
    uint32_t blocks_per_sm; /* 0 (sweeps only): each thread accesses just `unroll` vectors of each
                             * array, and the grid has as many blocks as this requires */
    uint32_t threads;       /* per block */
    uint32_t vector_bytes;  /* bytes per load or store of a thread */
    uint32_t unroll;        /* vectors of each array that a thread has in flight */
    bool hinted;            /* hint L2 to keep the data read rather than the data written */
};

/* The bandwidth is the slope between short and long streams: the difference in bytes divided by the
 * difference in time. The time of the short streams is their median. */
struct fth_bandwidth {
    double bytes_per_s;            /* with the time of the fastest long stream */
    double median_bytes_per_s;     /* with the median time of the long streams */
    struct fth_stream_shape shape; /* the fastest shape that was tried */
    size_t samples;
    double clock_mhz;
};

/* Returns the maximum bandwidth of memory in bytes/s: the bus transfers its width twice per clock
 * (the memory clock that the driver reports is half the data rate for both GDDR and HBM). NAN:
 * unknown. */
double fth_memory_limit(const struct fth_gpu *known);
/* Measures the bandwidth of a target. `known` describes the GPU as far as it is known: the driver's
 * figures (SMs, clocks, bus width, sizes) and the cache sizes found so far; for a missing size, the
 * smallest size among all supported GPUs is assumed. Fails with FTH_INCONCLUSIVE if the result
 * exceeds what is possible or varies too much between repeats; `bandwidth` is set nevertheless.
 * FTH_UNSUPPORTED: the GPU has no such target. `thorough`: try more shapes and measure the best one
 * more often. prober->thorough is ignored here, so that the caller can do everything else
 * thoroughly on a simulated GPU, where thorough streams take too long. */
FTH_MUST_USE enum fth_status fth_probe_bandwidth(const struct fth_prober *prober,
                                                 const struct fth_gpu *known,
                                                 enum fth_bandwidth_target target, bool thorough,
                                                 struct fth_bandwidth *bandwidth,
                                                 struct fth_error *error);

/* ---- operate.c ---- */

/* An operation that is timed with `rounds` and with `more_rounds` rounds (see struct fth_operate).
 * The result is the slope between the two, so that fixed costs cancel out. */
struct fth_operate_plan {
    struct fth_operate operate; /* its member `rounds` is ignored */
    uint64_t rounds, more_rounds;
    int carveout_percent;
};
/* Measures the cycles in which every thread of a block executes one operation. With one dependent
 * chain of one warp this is the latency of the operation. With many threads, their number divided
 * by these cycles is the throughput per cycle. */
FTH_MUST_USE enum fth_status fth_probe_operate(const struct fth_prober *prober,
                                               const struct fth_operate_plan *plan,
                                               struct fth_figure *cycles, struct fth_error *error);

/* ---- banks.c ---- */

struct fth_banks {
    unsigned banks;
    unsigned bank_bytes;    /* 0: not found */
    double first_cycles;    /* latency of a load without conflict */
    double conflict_cycles; /* added by every further word of the same bank */
    double residual_cycles; /* root mean square distance of the latencies from the fitted line */
    size_t samples;
};
FTH_MUST_USE enum fth_status fth_probe_banks(const struct fth_prober *prober,
                                             struct fth_banks *banks, struct fth_error *error);

/* ---- fingerprint.c ---- */

/* The version defines the meaning of each index in the array of features. A changed meaning
 * requires a new version. */
enum { FTH_FEATURES_VERSION = 2, FTH_FEATURE_NAME_BYTES = 32 };
/* Writes the name of a feature to `name` and returns it. */
const char *fth_feature_name(size_t index, char name[FTH_FEATURE_NAME_BYTES]);
/* Returns the number of features of a device, which depends on its number of SMs. */
size_t fth_feature_count(const struct fth_prober *prober);
/* Returns the weight of a feature when two GPUs with `count` features are compared. */
double fth_feature_weight(size_t index, size_t count);
/* Converts the features of an older version to the current one and returns their number; 0 if the
 * version cannot be converted. A feature that the old version lacks is NAN. `out` may be NULL. */
size_t fth_features_upgrade(unsigned version, const double *features, size_t count, double *out);
/* Measures one array of features; a feature that the device cannot measure is NAN. `run` is the
 * index of the run, from 0: consecutive runs measure in different memory. One feature is the
 * measured SM clock divided by `nominal_clock_mhz`. */
FTH_MUST_USE enum fth_status fth_probe_fingerprint(const struct fth_prober *prober,
                                                   double nominal_clock_mhz, unsigned run,
                                                   double *features, struct fth_error *error);

/* ---- sweep.c ---- */

/* Returns the launch shapes worth trying for a sweep, best candidates first: `count` in all, of
 * which only the first `default_count` are tried unless the measurement is thorough. */
const struct fth_stream_shape *fth_sweep_shapes(size_t *count, size_t *default_count);
/* Returns a request for one sweep over arrays of `bytes` bytes each, with warm caches. The elements
 * are fp64 if `wide`, otherwise fp32. */
struct fth_request fth_sweep_request(const struct fth_prober *prober, enum fth_sweep_kind kind,
                                     bool wide, uint64_t bytes,
                                     const struct fth_stream_shape *shape);

/* The durations of a sweep or of a transfer (a copy by the driver). */
struct fth_durations {
    double best_ns, median_ns, worst_ns;
    size_t count;
    bool direct; /* the transfer went directly from GPU to GPU; false for a sweep */
};
/* Times one sweep or transfer. FTH_INCONCLUSIVE if the device found that the sweep or transfer had
 * a wrong result: the data written, or the sum of the data read. */
FTH_MUST_USE enum fth_status fth_probe_durations(const struct fth_prober *prober,
                                                 const struct fth_request *request,
                                                 struct fth_durations *durations,
                                                 struct fth_error *error);
/* Times several requests that are to be compared. They are interleaved: each of the `rounds`
 * executes every request once. `durations` has `count` entries. */
FTH_MUST_USE enum fth_status fth_probe_interleaved(const struct fth_prober *prober,
                                                   const struct fth_request *requests, size_t count,
                                                   size_t rounds, struct fth_durations *durations,
                                                   struct fth_error *error);

#endif
