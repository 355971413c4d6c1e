/* discover/: in which order the probes are asked, what becomes of their answers, and whether these
 * can be true. It turns a device into a description.
 *
 *   discover.c  the stages and their order      sm.c      L1, texture and read-only caches
 *   note.c      figures into attributes         inner.c   constants, code, shared memory
 *   gates.c     what cannot be true             beyond.c  L2, memory
 *   rates.c     bandwidth                       tlbs.c    TLBs
 *   carveout.c  L1 beside shared memory
 *   dissect.c   what was found is taken apart: caches; dissect_tlbs.c, TLBs and the spectrum of
 *               latencies; dissect_l2.c, homes, sides, prefetching and order of the L2
 */
#ifndef FTH_DISCOVER_H
#define FTH_DISCOVER_H

#include "probe/probe.h"

/* What is being found out, and what later stages need of earlier ones. */
struct fth_discovery {
    struct fth_prober prober;
    struct fth_gpu *gpu;
    const char *only;
    bool no_bandwidth;
    bool simulated;
    struct fth_figure l2, memory;
    double l2_overhead_cycles; /* of timing one hop that leaves the SM */
};

bool fth_discovery_wants(const struct fth_discovery *discovery, const char *element);

/* Describes the device and goes through the stages. The description, as far as it came, is in
 * discovery->gpu where all went well or it was interrupted. */
FTH_MUST_USE enum fth_status fth_discovery_run(struct fth_discovery *discovery,
                                               const struct fth_discover_options *options,
                                               struct fth_error *error);

/* ---- the stages ---- */

typedef enum fth_status fth_stage(struct fth_discovery *discovery, struct fth_error *error);
fth_stage fth_discover_l2_latency, fth_discover_sm, fth_discover_shared, fth_discover_constants,
    fth_discover_memory, fth_discover_l2, fth_discover_tlbs, fth_discover_cold, fth_discover_rates,
    fth_discover_carveouts;
/* Figures that cannot be true are measured again and, where that does not help, taken out, with the
 * reason. */
fth_stage fth_discover_gates;

/* Taking apart what the stages found. */
fth_stage fth_dissect_l2_map;
FTH_MUST_USE enum fth_status fth_dissect_tlbs(struct fth_discovery *discovery,
                                              const struct fth_dissect_options *options,
                                              struct fth_error *error);

/* ---- note.c ---- */

/* How fth_probe_latency finds a latency on one SM. */
extern const char fth_pass_method[];

/* The section of an element, added where it is missing. */
FTH_MUST_USE enum fth_status fth_note_section(struct fth_gpu *gpu, const char *element,
                                              struct fth_gpu_section **section,
                                              struct fth_error *error);
/* An attribute with its provenance; what is not known is NAN, 0 or NULL. */
struct fth_note {
    const char *element, *attribute;
    double value;
    double low, high;
    double confidence;
    size_t samples;
    const char *method;
    const char *note;
};
FTH_MUST_USE enum fth_status fth_note_number(struct fth_gpu *gpu, const struct fth_note *note,
                                             struct fth_error *error);
/* A bandwidth, with the launch that it was had with. */
FTH_MUST_USE enum fth_status fth_note_rate(struct fth_gpu *gpu, enum fth_bandwidth_target target,
                                           const struct fth_bandwidth *found,
                                           struct fth_error *error);
/* A whole number that is sure as far as it goes. */
FTH_MUST_USE enum fth_status fth_note_count(struct fth_gpu *gpu, const char *element,
                                            const char *attribute, double value, size_t samples,
                                            const char *method, struct fth_error *error);
/* The same with a confidence. */
FTH_MUST_USE enum fth_status fth_note_sure(struct fth_gpu *gpu, const char *element,
                                           const char *attribute, double value, double confidence,
                                           size_t samples, const char *method,
                                           struct fth_error *error);
/* Whether single loads say the same as whole passes, to a cycle, once what the clock costs is taken
 * off as it was found with L2: NULL, or a text in `note` that says why not. */
enum { FTH_NOTE_BYTES = 160 };
const char *fth_note_agreement(const struct fth_discovery *discovery, double latency_cycles,
                               double overhead_cycles, char note[FTH_NOTE_BYTES]);
FTH_MUST_USE enum fth_status fth_note_text(struct fth_gpu *gpu, const char *element,
                                           const char *attribute, const char *text,
                                           const char *method, struct fth_error *error);
/* A list of numbers. */
FTH_MUST_USE enum fth_status fth_note_numbers(struct fth_gpu *gpu, const char *element,
                                              const char *attribute, const double *numbers,
                                              size_t count, double confidence, size_t samples,
                                              const char *method, struct fth_error *error);
FTH_MUST_USE enum fth_status fth_note_texts(struct fth_gpu *gpu, const char *element,
                                            const char *attribute, const char *const *texts,
                                            size_t count, double confidence, const char *method,
                                            struct fth_error *error);
/* latency_cycles (or another attribute in cycles) and, where the clock is known, latency_ns. */
FTH_MUST_USE enum fth_status fth_note_latency(struct fth_gpu *gpu, const char *element,
                                              const char *attribute,
                                              const struct fth_figure *figure, const char *method,
                                              struct fth_error *error);
/* Takes an attribute out, where it is there. */
void fth_note_forget(struct fth_gpu *gpu, const char *element, const char *attribute);
/* Takes it out and says why. */
FTH_MUST_USE enum fth_status fth_note_unknown(struct fth_gpu *gpu, const char *element,
                                              const char *attribute, const char *reason,
                                              struct fth_error *error);
/* How many of a cache an SM has, with the plot that says so. */
FTH_MUST_USE enum fth_status fth_note_instances(struct fth_discovery *discovery,
                                                const char *element,
                                                const struct fth_walker *walker,
                                                struct fth_error *error);
/* Where the probe was inconclusive, the reason is noted and all is well; other failures stay. */
FTH_MUST_USE enum fth_status fth_note_failure(struct fth_gpu *gpu, const char *element,
                                              const char *attribute, enum fth_status status,
                                              struct fth_error *error);

#endif
