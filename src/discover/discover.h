/* discover/: measures a device and writes a description of it. It runs the probes in order, writes
 * their results as attributes with provenance, and rejects results that contradict each other.
 *
 *   discover.c          the table of stages, and the order in which they run
 *   note.c              writing values, and reasons why they are unknown
 *   gates.c             plausibility checks
 *   sm.c                L1, texture and read-only caches
 *   constant_shared.c   constant caches, instruction caches, shared memory
 *   carveouts.c         carve-outs and the size of L1 at each of them
 *   l2_memory.c         L2, memory
 *   tlbs.c              TLBs
 *   rates.c             bandwidth, and the state of the GPU under load
 *   quick.c             the stages of a quick measurement
 *   hierarchy.c         the stages of CPUs, and of GPUs of other vendors than NVIDIA
 *   scratch.c           ... constant and shared memory of these GPUs
 *   code.c              ... their instruction caches
 *   units.c             ... their units, and how many of them share a cache
 *   dissect/dissect.c   'fathom dissect': which elements it dissects, in which order
 *   dissect_cache.c     ... sets, ways and policies of caches
 *   dissect_code.c      ... ways of instruction caches
 *   dissect_l2.c        ... home partitions, prefetching and eviction order of the L2
 *   dissect_evict.c     ... sets, ways and policy of an L2 from eviction sets
 *   dissect_joins.c     ... which SMs join their reads
 *   dissect_writes.c    ... what stores do to L1 and L2
 *   dissect_hints.c     ... what loads with hints leave in L1 and L2
 *   dissect_tlbs.c      ... sets and policies of TLBs, latencies with each TLB state
 *   dissect_flight.c    ... loads in flight
 *   dissect_place.c     ... GPCs of SMs, and the SMs of blocks
 */
#ifndef FTH_DISCOVER_H
#define FTH_DISCOVER_H

#include "probe/cache/probe_cache.h"
#include "probe/hierarchy/probe_hierarchy.h"
#include "probe/l2/probe_l2.h"
#include "probe/rate/probe_rate.h"

/* ---- discover.c ---- */

/* The state of a discovery, including results that later stages need. */
struct fth_discovery {
    struct fth_prober prober;
    struct fth_gpu *gpu;           /* the description so far */
    const char *only;              /* elements to measure, separated by commas; NULL: all */
    bool no_bandwidth;             /* skip bandwidth measurements */
    bool quick;                    /* only latencies and a few bandwidths (quick.c) */
    bool simulated;                /* the device is a simulated GPU */
    double from, to;               /* the part of the progress, 0 to 1, of the running stage */
    double dissection_share;       /* of the progress, that a dissection after the stages takes */
    struct fth_figure l2, memory;  /* latencies in cycles */
    double l2_overhead_cycles;     /* that timing adds to a single load from L2 */
    struct fth_l2_map_plan l2_map; /* of fth_dissect_l2_map; size_bytes 0: not known */
    const char *hidden_tlb;        /* element of a TLB level that may exist; NULL: none */
    struct fth_units units;        /* of an OpenCL device; count 0: not known */
    size_t interruptions;          /* requests that another program interrupted so far */
};

/* A stage runs the probes of one part of the GPU and writes their results. */
typedef enum fth_status fth_stage_function(struct fth_discovery *discovery,
                                           struct fth_error *error);
enum { FTH_STAGE_ELEMENTS = 5 };
struct fth_stage {
    const char *name; /* shown as progress */
    double fraction;  /* of the progress when the stage begins */
    /* The elements that it measures; NULL: no more. If an element is in several stages, the first
     * one measures its latency and size. The stage runs if one of them is to be measured. */
    const char *elements[FTH_STAGE_ELEMENTS];
    bool always;    /* it runs in any case, because later stages need its results */
    bool own_steps; /* it reports its own steps as progress, instead of its name */
    fth_stage_function *run;
};

/* Returns the `index`-th stage in the order in which they run; NULL past the last. */
const struct fth_stage *fth_discovery_stage(size_t index);
/* hierarchy.c: does the same for devices whose caches are measured by whole passes over chains, and
 * tells whether the described device is one of them. */
const struct fth_stage *fth_hierarchy_stage(size_t index);
bool fth_discovery_uses_hierarchy(const struct fth_gpu *gpu);
/* quick.c: does the same for quick measurements of NVIDIA GPUs. */
const struct fth_stage *fth_quick_stage(size_t index);
extern const char fth_quick_elements[]; /* names, separated by commas */
/* Whether a quick measurement includes this bandwidth. */
bool fth_quick_wants(enum fth_bandwidth_target target);
/* Runs a stage, if it is to be run. If another program has interrupted this or an earlier stage,
 * lowers the confidence of the figures of its elements. */
FTH_MUST_USE enum fth_status fth_discovery_run_stage(struct fth_discovery *discovery,
                                                     const struct fth_stage *stage,
                                                     struct fth_error *error);
/* Reports a step of the running stage as progress; `part` goes from 0 to 1. */
void fth_discovery_report_step(const struct fth_discovery *discovery, const char *what,
                               double part);
/* Fails with FTH_INTERRUPTED if the user has interrupted the discovery. */
FTH_MUST_USE enum fth_status fth_discovery_check_interrupt(const struct fth_discovery *discovery,
                                                           struct fth_error *error);
/* Whether the element is to be measured. */
bool fth_discovery_wants(const struct fth_discovery *discovery, const char *element);

/* Reads what the driver reports, then runs all stages. On success, discovery->gpu is the
 * description; after an interruption it is incomplete; after any other failure it is NULL. The
 * caller owns it. */
FTH_MUST_USE enum fth_status fth_discovery_run(struct fth_discovery *discovery,
                                               const struct fth_discover_options *options,
                                               struct fth_error *error);

/* ---- the stages ---- */

fth_stage_function fth_discover_l2_latency, fth_discover_sm, fth_discover_shared,
    fth_discover_constants, fth_discover_memory, fth_discover_l2, fth_discover_tlbs,
    fth_discover_cold, fth_discover_rates, fth_discover_carveouts, fth_discover_hierarchy,
    fth_discover_scratch, fth_discover_code, fth_discover_l1_latency;
/* Measures figures that contradict each other again. If the contradiction remains, removes a figure
 * and states the reason under "unknown". */
fth_stage_function fth_discover_gates;

/* tlbs.c: the elements of the TLB levels, from the first level on, and the fraction of device
 * memory that walks over pages may allocate. */
enum { FTH_TLB_ELEMENTS = 3 };
extern const char *const fth_tlb_elements[FTH_TLB_ELEMENTS];
extern const double fth_walked_memory_fraction;
/* sm.c: measures the number of instances of a cache per SM. Writes per_sm, or the reason why it is
 * unknown, and disturbed_by_warp, the data that it is based on. */
FTH_MUST_USE enum fth_status fth_discover_instances(struct fth_discovery *discovery,
                                                    const char *element,
                                                    const struct fth_walker *walker,
                                                    struct fth_error *error);

/* units.c: measures how many units share a cache. Writes sms_per_instance and scope, or the reason
 * why they are unknown. */
FTH_MUST_USE enum fth_status fth_discover_sharing(struct fth_discovery *discovery,
                                                  const char *element,
                                                  const struct fth_sharers_plan *plan,
                                                  struct fth_error *error);

/* ---- the parts of 'fathom dissect' ---- */

/* Fraction of the progress that a dissection takes if it follows a discovery. Chosen, not derived:
 * on an H200, both take about as long. */
extern const double fth_dissection_share;
/* Dissects what the stages have measured (discovery->gpu), and adds the results to it. Only uses
 * the members `series` and `user` of the options. */
FTH_MUST_USE enum fth_status fth_dissect_discovered(struct fth_discovery *discovery,
                                                    const struct fth_dissect_options *options,
                                                    struct fth_error *error);

/* A cache that can be dissected. */
struct fth_dissected_cache {
    const char *element;
    enum fth_path path;
    int carveout_percent; /* 0: no shared memory, so that the L1 is largest; -1: driver's choice */
};
FTH_MUST_USE enum fth_status fth_dissect_cache(struct fth_discovery *discovery,
                                               const struct fth_dissect_options *options,
                                               const struct fth_dissected_cache *cache,
                                               struct fth_error *error);
FTH_MUST_USE enum fth_status fth_dissect_l2(struct fth_discovery *discovery,
                                            const struct fth_dissect_options *options,
                                            struct fth_error *error);
fth_stage_function fth_dissect_l2_map, fth_dissect_slices, fth_dissect_joins, fth_dissect_place,
    fth_dissect_flight;
/* dissect_writes.c: what stores do. Call fth_dissect_l2_map before fth_dissect_l2_writes. */
fth_stage_function fth_dissect_l1_writes, fth_dissect_l2_writes;
/* dissect_hints.c: what loads with hints do. Call fth_dissect_l2_map before fth_dissect_l2_hints.
 */
fth_stage_function fth_dissect_l1_hints, fth_dissect_l2_hints;
/* dissect_evict.c: sets, ways and policy of the L2, if they are not known yet. */
struct fth_l2_map_plan;
FTH_MUST_USE enum fth_status fth_dissect_eviction_sets(struct fth_discovery *discovery,
                                                       const struct fth_l2_map_plan *map,
                                                       struct fth_error *error);
FTH_MUST_USE enum fth_status fth_dissect_code(struct fth_discovery *discovery,
                                              struct fth_error *error);
FTH_MUST_USE enum fth_status fth_dissect_tlbs(struct fth_discovery *discovery,
                                              const struct fth_dissect_options *options,
                                              struct fth_error *error);

/* ---- note.c ---- */

/* A value with its provenance. A member that is 0 or NULL is absent. */
struct fth_note {
    const char *element, *attribute;

    /* The value: the one of these that is present, otherwise the number. */
    const struct fth_figure *figure; /* in cycles; has its own interval, confidence, number of
                                      * samples and note, and a method if it was disturbed */
    const char *text;
    const char *const *texts; /* [count] */
    const double *numbers;    /* [count] */
    size_t count;
    double number;

    enum fth_source source;              /* absent: that of fth_note_source */
    const char *method;                  /* how it was measured, in a few words */
    const char *note;                    /* further information for the reader */
    const double *interval;              /* of a number: its low and its high end */
    const double *confidence;            /* 0 to 1; absent: that of the evidence */
    const struct fth_evidence *evidence; /* repeats, which the method of the attribute mentions */
    size_t samples;
};
/* Writes a value as an attribute, and removes the reason why it was unknown. A figure is rounded to
 * tenths; if it is latency_cycles and the clock is known, latency_ns is written as well. */
FTH_MUST_USE enum fth_status fth_note(struct fth_gpu *gpu, const struct fth_note *note,
                                      struct fth_error *error);
/* Returns the source of measured figures: FTH_SOURCE_MEASURED or, if the GPU is simulated,
 * FTH_SOURCE_SIMULATED. */
enum fth_source fth_note_source(const struct fth_gpu *gpu);
/* Does the same as fth_note with an attribute that already has its provenance. */
FTH_MUST_USE enum fth_status fth_note_attribute(struct fth_gpu *gpu, const char *element,
                                                const struct fth_attribute *attribute,
                                                struct fth_error *error);
/* Removes an attribute if it is present. */
void fth_note_remove(struct fth_gpu *gpu, const char *element, const char *attribute);
/* Removes an attribute and writes the reason under "unknown". An earlier reason is kept. */
FTH_MUST_USE enum fth_status fth_note_unknown(struct fth_gpu *gpu, const char *element,
                                              const char *attribute, const char *reason,
                                              struct fth_error *error);
/* Does the same, and replaces an earlier reason. */
FTH_MUST_USE enum fth_status fth_note_reason(struct fth_gpu *gpu, const char *element,
                                             const char *attribute, const char *reason,
                                             struct fth_error *error);
/* Handles the failure of a probe: FTH_INCONCLUSIVE and FTH_UNSUPPORTED become a reason under
 * "unknown", and the error is cleared. Any other status is returned as it is. */
FTH_MUST_USE enum fth_status fth_note_failure(struct fth_gpu *gpu, const char *element,
                                              const char *attribute, enum fth_status status,
                                              struct fth_error *error);
/* Writes a number with its evidence. */
FTH_MUST_USE enum fth_status fth_note_number(struct fth_gpu *gpu, const char *element,
                                             const char *attribute, uint64_t number,
                                             const struct fth_evidence *evidence, size_t samples,
                                             const char *method, struct fth_error *error);
/* Writes a bandwidth (rates.c). Its note describes the launch that reached it. `one_shape`: no
 * other launch shape was tried. */
FTH_MUST_USE enum fth_status fth_note_rate(struct fth_gpu *gpu, enum fth_bandwidth_target target,
                                           const struct fth_bandwidth *found, bool one_shape,
                                           struct fth_error *error);

/* Describes how fth_probe_latency measures a latency on one SM. */
extern const char fth_pass_method[];
/* Compares the latency from single loads, corrected by the timing overhead of L2 loads, with the
 * latency from whole passes. Returns NULL if they agree to within a cycle, otherwise `note`, filled
 * with an explanation. */
enum { FTH_NOTE_BYTES = 160 };
const char *fth_note_agreement(const struct fth_discovery *discovery, double latency_cycles,
                               double overhead_cycles, char note[FTH_NOTE_BYTES]);
/* Rounds a confidence to four decimal places. */
double fth_round_confidence(double confidence);
/* Rounds cycles or nanoseconds. Passes of a few hundred loads resolve a tenth of a cycle. */
double fth_round_to_tenth(double value);

#endif
