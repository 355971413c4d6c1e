/* probe/: measures the properties of a GPU, one property per file. Each probe sends requests to a
 * device and decides from the samples that come back. A probe does not know whether the device is a
 * real GPU, a simulated GPU or a recording.
 *
 * This folder has what all probes share, and what is not about one unit of a GPU:
 *
 *   ask.c           sends requests to the device and collects the samples
 *   confidence.c    the confidence of a figure, from the repeats of its measurement
 *   chance.c        variation of a figure; what chance explains and what it does not
 *   write_effect.c  whether loads find data after a write
 *   load_latency.c  latency of caches and memory, overhead of timing
 *   features.c      features that identify an individual GPU
 *
 * The probes of a unit are in a folder of their own, whose header lists its files:
 *
 *   cache/      probe_cache.h      size, line and sharing of the caches of an SM
 *   structure/  probe_structure.h  index function, sets, ways and replacement policy of a cache
 *   l2/         probe_l2.h         the L2
 *   tlb/        probe_tlb.h        the TLBs
 *   rate/       probe_rate.h       bandwidth and throughput
 *   place/      probe_place.h      GPCs and TPCs of SMs, the SMs of blocks
 *   hierarchy/  probe_hierarchy.h  the caches of CPUs and other GPUs, by whole passes
 */
#ifndef FTH_PROBE_H
#define FTH_PROBE_H

#include "device/device.h"
#include "stats/stats.h"

/* ---- ask.c ---- */

/* The device that probes measure, and how. */
struct fth_prober {
    struct fth_device *device;
    const struct fth_log *log; /* may be NULL */
    size_t sms;                /* SMs of the device; as many requests can run at the same time */
    bool thorough;             /* repeat measurements more often */
    size_t *interruptions;     /* counts the requests that another program interrupted; NULL: they
                                * are not counted */
    struct fth_code_size code; /* of the device; 0 bytes: not known, and the probe that needs it
                                * lets the device describe itself, which takes some ms */
    bool quick; /* measure bandwidths with one launch shape, without a search for the best */
};

/* The samples of a batch, one entry per request. */
struct fth_answers {
    struct fth_samples *items;
    size_t count;
};

/* Executes the requests on the device, and those that another program interrupts up to three times
 * more. On success the caller owns `answers` and frees it with
 * fth_answers_fini. Fails if any request failed. The status is FTH_INCONCLUSIVE if the device could
 * not execute the request (for example, too little memory) but can execute others. FTH_INTERRUPTED:
 * the log of the prober asks to stop. */
FTH_MUST_USE enum fth_status fth_ask(const struct fth_prober *prober,
                                     const struct fth_request *requests, size_t count,
                                     struct fth_answers *answers, struct fth_error *error);
/* Does the same, but executes no request again. On a CPU, other programs disturb many requests, and
 * the probes of hierarchy/ tolerate it. */
FTH_MUST_USE enum fth_status fth_ask_once(const struct fth_prober *prober,
                                          const struct fth_request *requests, size_t count,
                                          struct fth_answers *answers, struct fth_error *error);
/* Frees the samples. */
void fth_answers_fini(struct fth_answers *answers);

/* A measured figure with its provenance. */
struct fth_figure {
    double value;
    double low, high; /* 5th and 95th percentile of the samples behind the value;
                       * fth_probe_operate: minimum and maximum */
    size_t samples;
    double clock_mhz;
    double confidence; /* from fth_agreement, fth_cycles_agreement or, for the mean of single
                        * loads, latency_confidence in chance.c; 0 or NAN: unknown */
    bool disturbed;    /* occasional loads took longer for an external reason */
    const char *note;  /* a remark for the reader of the report, or NULL */
};

/* ---- confidence.c ---- */

/* What the repeats of a measurement say about its result. */
struct fth_evidence {
    double repeats;    /* independent repeats, or votes; 0: there are none */
    double agree;      /* those that lead to the result; a fraction counts for a part of a repeat */
    const char *doubt; /* why the result may be wrong even if all repeats agree, as the end of a
                        * sentence; NULL: no reason */
    bool resampled;    /* the repeats are resamples of the same samples */
};
/* Returns the evidence of `same_count` of all resamples of a bootstrap. They are drawn from the
 * same samples, so that they count as few repeats. */
struct fth_evidence fth_resampled(size_t same_count);
/* Returns the fraction of the repeats that agree; 0 without repeats. */
double fth_evidence_share(struct fth_evidence evidence);
/* Returns the evidence for a figure that is right only if two others are: the weaker of the two. */
struct fth_evidence fth_weaker_evidence(struct fth_evidence a, struct fth_evidence b);
/* Returns the probability that the result is right; NAN without repeats. */
double fth_confidence(struct fth_evidence evidence);
/* Returns the confidence of the same figure if another program has interrupted requests of its
 * measurement or of an earlier one: interruptions of parts that are not timed do not show. */
double fth_interrupted_confidence(double confidence);

/* ---- chance.c ---- */

/* Resamples of every bootstrap. Chosen: the confidence then has a resolution of 0.5 %. */
enum { FTH_BOOTSTRAP_DRAWS = 200 };
/* Computes the mean of the values and its 90 % interval: by the bootstrap, or from the standard
 * deviation if there are more than 1,000 values. */
FTH_MUST_USE enum fth_status fth_mean_interval(const double *values, size_t count,
                                               struct fth_interval *interval,
                                               struct fth_error *error);
/* Computes the fraction of bootstrap resamples of the values whose median differs from that of the
 * values by at most `tolerance`, estimated by Laplace's rule; NAN without values, or if one of them
 * is not finite. */
FTH_MUST_USE enum fth_status fth_agreement(const double *values, size_t count, double tolerance,
                                           double *confidence, struct fth_error *error);
/* Computes the same with a tolerance of 0.5 cycles or 0.5 %, whichever is larger. */
FTH_MUST_USE enum fth_status fth_cycles_agreement(const double *values, size_t count,
                                                  double *confidence, struct fth_error *error);
/* Computes the latency of a plateau of timed hops (a hop is one load of a chain): the mean of the
 * samples near the median (fth_core_mean_u32), minus the overhead of timing a hop. */
FTH_MUST_USE enum fth_status fth_plateau_figure(const uint32_t *cycles, size_t count,
                                                double overhead_cycles, struct fth_figure *figure,
                                                struct fth_error *error);
/* Returns the maximum number of rare events (such as disturbed loads) that chance explains when
 * `expected` events are expected: five standard deviations more, plus 1 because the distribution of
 * few events has a longer tail; 0 if none is expected. */
double fth_max_by_chance(double expected);
/* Returns the p-value of a G-test for uniformity: the probability that `count` alternatives with
 * equal probability produce counts at least as uneven as `counts`, whose sum is `total`. */
double fth_uniform_p_value(const uint64_t *counts, size_t count, uint64_t total);
/* Counts the distances between consecutive slow hops: adds 1 to counts[d] for each pair that is d
 * hops apart. `counts` has at least as many entries as the walk has hops. Hop 0 counts as slow
 * however long it took: it starts a fetch, and its time includes fetching the code. */
void fth_count_distances(const struct fth_samples *walk, double threshold_cycles, unsigned *counts);
/* Returns the index in 1 .. size - 1 whose count is more than half of the sum; 0: none. */
unsigned fth_majority(const unsigned *counts, unsigned size);

/* ---- write_effect.c ---- */

/* How many of the loads of an experiment found their data in the cache. */
struct fth_found_loads {
    size_t found, loads;
};
/* What loads find after a write. */
enum fth_write_outcome {
    FTH_WRITE_UNDECIDED, /* no outcome has a majority of the repeats */
    FTH_WRITE_LOST,      /* the data is not in the cache */
    FTH_WRITE_KEPT       /* the data is in the cache */
};
/* The outcome, with its evidence. */
struct fth_write_effect {
    enum fth_write_outcome outcome;
    struct fth_evidence evidence; /* repeats with this outcome */
    size_t found, loads;          /* of all repeats */
};
/* Decides from the repeats of an experiment. In a repeat, the data is lost if at most the fraction
 * `max_lost` of the loads finds it, and kept if at least the fraction `min_kept` does. The majority
 * of the repeats decides. A repeat without loads counts as undecided. */
struct fth_write_effect fth_decide_effect(const struct fth_found_loads *repeats, size_t count,
                                          double max_lost, double min_kept);

/* ---- load_latency.c ---- */

/* The two chains whose loads are timed. The longer one must fit into the cache. */
struct fth_latency_plan {
    enum fth_path path;
    int carveout_percent;
    uint64_t stride_bytes;
    uint64_t short_count, long_count; /* loads per pass of the two chains */
    bool every_sm;                    /* measure on all SMs and take the median; otherwise on one */
    double *by_sm; /* with every_sm: receives the latency of each SM; may be NULL */
};
/* Measures the cycles of one load that hits, as the slope between whole passes over two chains of
 * different length: the fixed cost of a pass is the same in both and cancels out. If passes of the
 * same length differ too much, the measurement is disturbed; then single loads are timed instead,
 * and the figure is marked `disturbed`. FTH_INCONCLUSIVE: the longer chain does not fit. */
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
/* Measures the overhead of timing without a load. `clock_cycles`: two consecutive clock reads.
 * `sink_cycles`: the same with everything that a timed hop executes between them except the load.
 */
FTH_MUST_USE enum fth_status fth_probe_timing(const struct fth_prober *prober,
                                              struct fth_figure *clock_cycles,
                                              struct fth_figure *sink_cycles,
                                              struct fth_error *error);

/* ---- features.c ---- */

/* The version defines the meaning of each index in the array of features. A changed meaning
 * requires a new version. */
enum { FTH_FEATURES_VERSION = 2 };
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

#endif
