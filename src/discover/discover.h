/* discover/: in which order the probes are asked, what becomes of their answers, and whether these
 * can be true. It turns a device into a description.
 *
 *   discover.c  the order        note.c  figures into attributes
 */
#ifndef FTH_DISCOVER_H
#define FTH_DISCOVER_H

#include "probe/probe.h"

/* What is being found out. */
struct fth_discovery {
    struct fth_prober prober;
    struct fth_gpu *gpu;
    const char *only;
    double overhead_cycles; /* of timing one hop */
};

/* ---- note.c ---- */

/* The section of an element, added where it is missing. */
FTH_MUST_USE enum fth_status fth_note_section(struct fth_gpu *gpu, const char *element,
                                              struct fth_gpu_section **section,
                                              struct fth_error *error);
/* An attribute with its provenance; `low` and `high` may be NAN, `samples` 0, `note` NULL. */
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
/* latency_cycles (or another attribute in cycles) and, where the clock is known, latency_ns. */
FTH_MUST_USE enum fth_status fth_note_latency(struct fth_gpu *gpu, const char *element,
                                              const char *attribute,
                                              const struct fth_figure *figure, const char *method,
                                              struct fth_error *error);
FTH_MUST_USE enum fth_status fth_note_unknown(struct fth_gpu *gpu, const char *element,
                                              const char *attribute, const char *reason,
                                              struct fth_error *error);

#endif
