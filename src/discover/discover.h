/* discover/: measures a device and writes a description of it. It runs the probes in order, writes
 * their results as attributes with provenance, and rejects results that contradict each other.
 *
 *   discover.c          the stages and their order
 *   note.c              writing figures as attributes
 *   gates.c             plausibility checks
 *   sm.c                L1, texture and read-only caches
 *   constant_shared.c   constant caches, instruction caches, shared memory
 *   carveout.c          carve-outs and the size of L1 at each of them
 *   l2_memory.c         L2, memory
 *   tlbs.c              TLBs
 *   rates.c             bandwidth
 *   dissect.c           'fathom dissect': sets, ways and policies of caches
 *   dissect_l2.c        ... home partitions, prefetching and eviction order of the L2
 *   dissect_tlbs.c      ... sets and policies of TLBs, latencies with each TLB state
 */
#ifndef FTH_DISCOVER_H
#define FTH_DISCOVER_H

#include "probe/cache/probe_cache.h"
#include "probe/rate/probe_rate.h"

/* The state of a discovery, including results that later stages need. */
struct fth_discovery {
    struct fth_prober prober;
    struct fth_gpu *gpu;          /* the description so far */
    const char *only;             /* elements to measure, separated by commas; NULL: all */
    bool no_bandwidth;            /* skip bandwidth measurements */
    bool simulated;               /* the device is a simulated GPU */
    struct fth_figure l2, memory; /* latencies in cycles */
    double l2_overhead_cycles;    /* that timing adds to a single load from L2 */
};

/* Whether the element is to be measured. */
bool fth_discovery_wants(const struct fth_discovery *discovery, const char *element);

/* Reads what the driver reports, then runs all stages. On success, discovery->gpu is the
 * description; after an interruption it is incomplete; after any other failure it is NULL. The
 * caller owns it. */
FTH_MUST_USE enum fth_status fth_discovery_run(struct fth_discovery *discovery,
                                               const struct fth_discover_options *options,
                                               struct fth_error *error);

/* ---- the stages ---- */

typedef enum fth_status fth_stage(struct fth_discovery *discovery, struct fth_error *error);
fth_stage fth_discover_l2_latency, fth_discover_sm, fth_discover_shared, fth_discover_constants,
    fth_discover_memory, fth_discover_l2, fth_discover_tlbs, fth_discover_cold, fth_discover_rates,
    fth_discover_carveouts;
/* Measures figures that contradict each other again. If the contradiction remains, removes a figure
 * and states the reason under "unknown". */
fth_stage fth_discover_gates;

/* Stages of 'fathom dissect'. */
fth_stage fth_dissect_l2_map;
FTH_MUST_USE enum fth_status fth_dissect_tlbs(struct fth_discovery *discovery,
                                              const struct fth_dissect_options *options,
                                              struct fth_error *error);

/* ---- note.c ---- */

/* Describes how fth_probe_latency measures a latency on one SM. */
extern const char fth_pass_method[];

/* Finds the section of an element and adds it if it is missing. */
FTH_MUST_USE enum fth_status fth_note_section(struct fth_gpu *gpu, const char *element,
                                              struct fth_gpu_section **section,
                                              struct fth_error *error);
/* A measured number with its provenance. */
struct fth_note {
    const char *element, *attribute;
    double value;
    double low, high;   /* interval; NAN: none */
    double confidence;  /* 0 to 1; NAN: not known */
    size_t samples;     /* 0: not known */
    const char *method; /* how it was measured, in a few words */
    const char *note;   /* further information for the reader, or NULL */
};
FTH_MUST_USE enum fth_status fth_note_number(struct fth_gpu *gpu, const struct fth_note *note,
                                             struct fth_error *error);
/* Writes a bandwidth. Its note describes the launch that reached it. */
FTH_MUST_USE enum fth_status fth_note_rate(struct fth_gpu *gpu, enum fth_bandwidth_target target,
                                           const struct fth_bandwidth *found,
                                           struct fth_error *error);
/* Writes a number without interval and confidence. */
FTH_MUST_USE enum fth_status fth_note_count(struct fth_gpu *gpu, const char *element,
                                            const char *attribute, double value, size_t samples,
                                            const char *method, struct fth_error *error);
/* Writes a number without interval. `confidence` may be NAN. */
FTH_MUST_USE enum fth_status fth_note_value(struct fth_gpu *gpu, const char *element,
                                            const char *attribute, double value, double confidence,
                                            size_t samples, const char *method,
                                            struct fth_error *error);
/* Compares the latency from single loads, corrected by the timing overhead of L2 loads, with the
 * latency from whole passes. Returns NULL if they agree to within a cycle, otherwise `note`, filled
 * with an explanation. */
enum { FTH_NOTE_BYTES = 160 };
const char *fth_note_agreement(const struct fth_discovery *discovery, double latency_cycles,
                               double overhead_cycles, char note[FTH_NOTE_BYTES]);
/* Writes a text. `method` may be NULL. */
FTH_MUST_USE enum fth_status fth_note_text(struct fth_gpu *gpu, const char *element,
                                           const char *attribute, const char *text,
                                           const char *method, struct fth_error *error);
/* Writes a list of numbers. `confidence` may be NAN, `samples` 0. */
FTH_MUST_USE enum fth_status fth_note_numbers(struct fth_gpu *gpu, const char *element,
                                              const char *attribute, const double *numbers,
                                              size_t count, double confidence, size_t samples,
                                              const char *method, struct fth_error *error);
/* Writes a list of texts. `confidence` may be NAN. */
FTH_MUST_USE enum fth_status fth_note_texts(struct fth_gpu *gpu, const char *element,
                                            const char *attribute, const char *const *texts,
                                            size_t count, double confidence, const char *method,
                                            struct fth_error *error);
/* Writes an attribute in cycles, rounded to tenths. For latency_cycles, also writes latency_ns if
 * the clock is known. */
FTH_MUST_USE enum fth_status fth_note_latency(struct fth_gpu *gpu, const char *element,
                                              const char *attribute,
                                              const struct fth_figure *figure, const char *method,
                                              struct fth_error *error);
/* Removes an attribute if it is present. */
void fth_note_remove(struct fth_gpu *gpu, const char *element, const char *attribute);
/* Removes an attribute and writes the reason under "unknown". An earlier reason is kept. */
FTH_MUST_USE enum fth_status fth_note_unknown(struct fth_gpu *gpu, const char *element,
                                              const char *attribute, const char *reason,
                                              struct fth_error *error);
/* Measures the number of instances of a cache per SM. Writes per_sm, or the reason why it is
 * unknown, and disturbed_by_warp, the data that it is based on. */
FTH_MUST_USE enum fth_status fth_note_instances(struct fth_discovery *discovery,
                                                const char *element,
                                                const struct fth_walker *walker,
                                                struct fth_error *error);
/* Handles the failure of a probe: FTH_INCONCLUSIVE and FTH_UNSUPPORTED become a reason under
 * "unknown", and the error is cleared. Any other status is returned as it is. */
FTH_MUST_USE enum fth_status fth_note_failure(struct fth_gpu *gpu, const char *element,
                                              const char *attribute, enum fth_status status,
                                              struct fth_error *error);

#endif
