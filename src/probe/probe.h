/* probe/: one file a question about a GPU. Each plans requests, has them measured, and decides;
 * none knows whether a real GPU, a simulated one or a recording answers.
 *
 *   ask.c       requests out, answers in           latency.c   how long a load takes
 *   capacity.c  how much fits                      bandwidth.c how much passes in a time
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
};

/* The samples of a batch, one entry a request. */
struct fth_answers {
    struct fth_samples *items;
    size_t count;
};

/* Has the requests measured. Fails where one of them has no answer. */
FTH_MUST_USE enum fth_status fth_ask(const struct fth_prober *prober,
                                     const struct fth_request *requests, size_t count,
                                     struct fth_answers *answers, struct fth_error *error);
void fth_answers_fini(struct fth_answers *answers);

/* A request without steps, on any SM; steps are added one by one (at most FTH_MOST_STEPS). */
struct fth_request fth_request_make(int carveout_percent);
void fth_request_add(struct fth_request *request, enum fth_step_kind kind, enum fth_path path,
                     struct fth_chain chain, uint64_t passes);

/* A figure that was measured, with what it rests on. */
struct fth_figure {
    double value;
    double low, high; /* 5th and 95th percentile of what it is the median of */
    size_t samples;
    double clock_mhz;
};

/* ---- latency.c ---- */

/* The cycles of one load that hits, from whole passes over two chains of different length: what a
 * pass costs beyond its loads is the same in both and drops out. The longer chain must fit.
 * `every_sm`: measured on all SMs, and the median over them; otherwise on one. */
struct fth_latency_plan {
    enum fth_path path;
    int carveout_percent;
    uint64_t stride_bytes;
    uint64_t short_count, long_count;
    bool every_sm;
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

/* ---- capacity.c ---- */

struct fth_capacity_plan {
    enum fth_path path;
    int carveout_percent;
    uint64_t stride_bytes;   /* at most what one miss fetches */
    uint64_t smallest_bytes; /* fits for sure */
    uint64_t largest_bytes;  /* does not fit for sure, or cannot be had */
    double hit_cycles;       /* of a timed hop, the clock's cost included */
    double miss_cycles;
};
struct fth_capacity {
    uint64_t fits_bytes;   /* the largest footprint all of whose loads hit */
    uint64_t misses_bytes; /* the smallest that has misses; 0: even the largest fits */
    size_t samples;
    size_t footprints; /* that were tried */
};
FTH_MUST_USE enum fth_status fth_probe_capacity(const struct fth_prober *prober,
                                                const struct fth_capacity_plan *plan,
                                                struct fth_capacity *capacity,
                                                struct fth_error *error);

/* ---- bandwidth.c ---- */

/* What is measured, over all SMs at once. A copy counts what is read and what is written. Writes to
 * L1 go through to L2: there is no figure of its own for them. A load of the constant bank counts
 * once for its warp, as all lanes want the same. */
enum fth_bandwidth_target {
    FTH_BANDWIDTH_MEMORY_READ,
    FTH_BANDWIDTH_MEMORY_WRITE,
    FTH_BANDWIDTH_MEMORY_COPY,
    FTH_BANDWIDTH_L2_READ,
    FTH_BANDWIDTH_L2_WRITE,
    FTH_BANDWIDTH_L2_COPY,
    FTH_BANDWIDTH_L1_READ,
    FTH_BANDWIDTH_READONLY_READ,
    FTH_BANDWIDTH_TEXTURE_READ,
    FTH_BANDWIDTH_CONSTANT_READ,
    FTH_BANDWIDTH_SHARED_READ,
    FTH_BANDWIDTH_SHARED_WRITE,
    FTH_BANDWIDTH_SHARED_COPY,
    FTH_BANDWIDTH_TARGETS
};
/* Where a description has it: "memory", "read_bytes_per_s". */
const char *fth_bandwidth_element(enum fth_bandwidth_target target);
const char *fth_bandwidth_attribute(enum fth_bandwidth_target target);

struct fth_stream_shape {
    uint32_t blocks_per_sm, threads, vector_bytes;
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
 * to the next; `bandwidth` has it all the same. FTH_UNSUPPORTED: the GPU has no such thing. */
FTH_MUST_USE enum fth_status fth_probe_bandwidth(const struct fth_prober *prober,
                                                 const struct fth_gpu *known,
                                                 enum fth_bandwidth_target target,
                                                 struct fth_bandwidth *bandwidth,
                                                 struct fth_error *error);

#endif
