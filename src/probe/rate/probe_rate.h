/* probe/rate/: bandwidth and throughput of a GPU's units, and the latency of loads from shared
 * memory that wait for other loads or for another SM.
 *
 *   bandwidth.c         bandwidth of caches, shared memory and memory
 *   bandwidth_sources.c the levels whose bandwidths are measured
 *   sweep_durations.c   durations of sweeps (kernels timed as a whole) and of copies
 *   operation_cycles.c  cycles per arithmetic or memory operation
 *   shared_banks.c      banks of shared memory
 *   cluster_latency.c   latency of another SM's shared memory
 *   store_merges.c      stores of two warps that are merged
 *   loads_in_flight.c   loads of a warp, and sectors of an SM, that can be in flight
 */
#ifndef FTH_PROBE_RATE_H
#define FTH_PROBE_RATE_H

#include "probe/probe.h"

/* ---- loads_in_flight.c ---- */

struct fth_warp_loads {
    uint32_t loads; /* if inconclusive: FTH_FLIGHT_LOADS if a warp never waits, otherwise 0 */
    size_t samples;
    struct fth_evidence evidence;
};
/* Finds the number of loads that a warp can have in flight. FTH_INCONCLUSIVE if a warp never waits,
 * or if it is not clear when. */
FTH_MUST_USE enum fth_status fth_probe_warp_loads(const struct fth_prober *prober,
                                                  struct fth_warp_loads *found,
                                                  struct fth_error *error);
/* Decides it from the cycles until 1, 2, … loads are issued, and the latency of one load. Returns
 * false if no number is clear. */
bool fth_decide_warp_loads(const double *cycles, size_t loads, double latency_cycles,
                           uint32_t *limit);

/* The number of sectors of 32 bytes, and its interval. */
struct fth_sm_sectors {
    double sectors, low, high;
    size_t samples;
};
/* Finds the number of sectors that an SM can have in flight. FTH_INCONCLUSIVE if this number does
 * not limit the rate at which the SM reads, or if `warp_loads`, the number of loads of a warp in
 * flight, may limit it. */
FTH_MUST_USE enum fth_status fth_probe_sm_sectors(const struct fth_prober *prober,
                                                  uint32_t warp_loads, struct fth_sm_sectors *found,
                                                  struct fth_error *error);
/* Decides it from the cycles per sector and the latency of a load, from memory and from the L2. */
FTH_MUST_USE enum fth_status fth_decide_sm_sectors(const double memory[2], const double l2[2],
                                                   struct fth_sm_sectors *found,
                                                   struct fth_error *error);

/* ---- store_merges.c ---- */

/* The maximum time between two stores that are merged, and its interval. */
struct fth_store_merges {
    double window_cycles, low, high;
    size_t samples;
};
/* Finds it. FTH_INCONCLUSIVE if stores to the same lines do not take less time than stores to
 * different lines, or if the lags contradict each other. */
FTH_MUST_USE enum fth_status fth_probe_store_merges(const struct fth_prober *prober,
                                                    struct fth_store_merges *found,
                                                    struct fth_error *error);
/* Decides it from `count` lags in ascending order. `parts`: 0 if the stores take as long as merged
 * ones, 1 if they take as long as stores to different lines. */
FTH_MUST_USE enum fth_status fth_decide_store_merges(const double *lags, const double *parts,
                                                     size_t count, struct fth_store_merges *found,
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
/* Returns the element that holds this bandwidth in a description, such as "memory". */
const char *fth_bandwidth_element(enum fth_bandwidth_target target);
/* Returns its attribute, such as "read_bytes_per_s". */
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
    double agreement;              /* fraction of the long streams that are about as fast as the
                                    * fastest one */
    struct fth_stream_shape shape; /* the fastest shape that was tried */
    size_t samples;
    double clock_mhz;
};

/* Where the arrays of a bandwidth measurement are. */
enum fth_place {
    FTH_IN_MEMORY, /* in no cache */
    FTH_IN_L2,     /* one array for all SMs; loads bypass L1 */
    FTH_IN_SM      /* one array per block */
};
/* What is measured for each target. */
struct fth_bandwidth_source {
    const char *element, *attribute;
    enum fth_place place;
    enum fth_stream_kind kind;
    enum fth_path path;
    int carveout_percent;
    uint32_t cluster;
};
extern const struct fth_bandwidth_source fth_bandwidth_sources[FTH_BANDWIDTH_TARGETS];

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

/* ---- sweep_durations.c ---- */

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

/* ---- access_times.c ---- */

/* The times of single accesses in cycles, without the cost of timing: quantiles of the last pass.
 * `first` has those of the first pass. */
struct fth_access_times {
    double p10, median, p90;
    struct {
        double p10, median, p90;
    } first;
    double clock_mhz;
    size_t samples;
};
/* Times the visits of a request, and the cost of timing. */
FTH_MUST_USE enum fth_status fth_probe_visits(const struct fth_prober *prober,
                                              const struct fth_visit *visit, bool cold,
                                              struct fth_access_times *times,
                                              struct fth_error *error);
/* Times the launches of a traffic request. The member `direct` is false. */
FTH_MUST_USE enum fth_status fth_probe_traffic(const struct fth_prober *prober,
                                               const struct fth_traffic *traffic, bool cold,
                                               struct fth_durations *durations,
                                               struct fth_error *error);

/* What the first accesses to managed memory show. */
struct fth_faults {
    size_t count;                      /* accesses that were faults */
    double fault_ns;                   /* median time of a fault */
    double low_ns, high_ns;            /* 5th and 95th percentile */
    uint64_t page_bytes;               /* smallest distance between two faults */
    struct fth_evidence page_evidence; /* distances that are multiples of it */
    double after_ns;                   /* median time of an access in the second pass */
    size_t samples;
};
/* Touches `bytes` of managed memory in steps of `step_bytes`, in order, twice. FTH_INCONCLUSIVE: no
 * access was much slower than in the second pass. */
FTH_MUST_USE enum fth_status fth_probe_faults(const struct fth_prober *prober, uint64_t bytes,
                                              uint64_t step_bytes, struct fth_faults *faults,
                                              struct fth_error *error);

/* ---- memory_refresh.c ---- */

/* Loads that memory delays periodically. NAN: not found. */
struct fth_delays {
    double period_ns, period_low_ns, period_high_ns;
    double cycles; /* the longest delay, apart from the 2 % of longest ones */
    size_t events, samples;
    unsigned multiple; /* the period may be that many times the true one; 1: it is not */
    bool in_step;      /* all delays are alike: the longest one may be much shorter than they are */
    struct fth_evidence evidence;        /* of the period */
    struct fth_evidence cycles_evidence; /* of the longest delay */
    char reason[192];                    /* why the period was not found; empty if it was */
};
/* Finds how often memory delays loads: by refreshing, and by longer pauses. */
FTH_MUST_USE enum fth_status fth_probe_refresh(const struct fth_prober *prober,
                                               struct fth_delays *refresh,
                                               struct fth_delays *pauses, struct fth_error *error);

/* ---- operation_cycles.c ---- */

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

/* ---- shared_banks.c ---- */

/* The banks of shared memory. */
struct fth_banks {
    unsigned banks;
    unsigned bank_bytes;          /* 0: not found */
    double first_cycles;          /* latency of a load without conflict */
    double first_low, first_high; /* minimum and maximum of its samples */
    double conflict_cycles;       /* added by every further word of the same bank */
    double conflict_low,
        conflict_high;            /* minimum and maximum if any one of the strides is left out */
    struct fth_evidence evidence; /* fits without one stride that have the same banks */
    struct fth_evidence width_evidence; /* the same for their width */
    size_t samples;
};
/* Finds the banks. FTH_INCONCLUSIVE if the latency of a load does not rise with the stride between
 * lanes. */
FTH_MUST_USE enum fth_status fth_probe_banks(const struct fth_prober *prober,
                                             struct fth_banks *banks, struct fth_error *error);

/* ---- cluster_latency.c ---- */

/* Clusters of 2, 4 and 8 blocks are measured. In each, block 0 reads the shared memory of every
 * block: 2 + 4 + 8 targets. */
enum { FTH_CLUSTER_TARGETS = 14 };

/* The latency of one block as block 0 of its cluster sees it. */
struct fth_cluster_target {
    uint32_t size;   /* blocks of the cluster */
    uint32_t target; /* block whose shared memory block 0 reads; 0: its own */
    struct fth_figure cycles;
};
/* The latencies of all blocks, and those of the nearest and the farthest. */
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

#endif
