/* Dissection: sets, ways, index functions and replacement policies of caches and TLBs. */
#ifndef FATHOM_DISSECTION_H
#define FATHOM_DISSECTION_H

#include <fathom/devices.h>
#include <fathom/reports.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Loads that show the replacement policy of a cache or TLB. A chain with more lines than fit is
 * walked several times, and every load is timed. For a cache, the chain has one line more than
 * fits, and the first pass finds the cache cold. For a TLB, the lines are pages, at least one more
 * than fit, and the timed passes follow a warm-up. */
struct fth_series {
    const char *element;
    uint64_t stride_bytes;   /* distance between lines in bytes; for a TLB, the page size */
    size_t lines;            /* lines per pass: load i accesses line i % lines */
    size_t count;            /* number of loads */
    const uint32_t *cycles;  /* [count] cycles of each load */
    double threshold_cycles; /* a load that took longer is a miss; NAN if `missed` is set */
    const bool *missed; /* [count] for a TLB: whether each load missed; NULL: use the threshold */
    /* A second experiment, if it was possible to find which way each miss replaces: loads of
     * ways + 1 lines that all belong to one set. The lines and ways are numbered from 0 within this
     * experiment. At the start, way i holds line i. (The members replay_… have nothing to do with
     * replays of recordings.) */
    size_t ways;                  /* ways of the set */
    size_t replay_count;          /* number of loads; 0: there is no such experiment */
    const uint32_t *replay_lines; /* [replay_count] line that each load accesses */
    const int *replay_ways; /* [replay_count] way that each load fills; -1: a hit, or not known */
};

/* Returns whether load `load` of the series was a miss. */
static inline bool fth_series_missed(const struct fth_series *series, size_t load)
{
    return series->missed ? series->missed[load] : series->cycles[load] > series->threshold_cycles;
}

/* What fth_dissect measures. Initialise it with FTH_DISSECT_OPTIONS. */
struct fth_dissect_options {
    size_t size;      /* of this struct in bytes */
    const char *only; /* elements, separated by commas: "l1,texture"; NULL: all possible ones */
    const struct fth_log *log; /* progress, warnings, interruption */
    /* Called with the loads of each cache or TLB after it was measured; may be NULL. The series is
     * valid during the call. */
    void (*series)(void *user, const struct fth_series *series);
    void *user; /* passed to `series` */
};
/* Initialises a struct fth_dissect_options; the arguments are designated initialisers. */
#define FTH_DISSECT_OPTIONS(...) FTH_OPTIONS(struct fth_dissect_options, __VA_ARGS__)

/* Returns whether fth_dissect supports an element. */
FTH_API bool fth_can_dissect(const char *element);
/* Measures the elements as fth_discover does, without bandwidths, and then their sets, ways, index
 * functions and replacement policies, and what stores do to L1 and L2. Attributes that could not be
 * found ("sets", "policy", …) are unknown in the description, which gives the reason
 * (fth_gpu_unknown). Statuses and interruption are as for fth_discover; after FTH_INTERRUPTED, *gpu
 * holds what was measured so far. `options` may be NULL. */
FTH_API FTH_MUST_USE enum fth_status fth_dissect(struct fth_device *device,
                                                 const struct fth_dissect_options *options,
                                                 struct fth_gpu **gpu, struct fth_error *error);

/* Shows the sets, ways, index functions and policies of a description as text. `options` may be
 * NULL. */
FTH_API FTH_MUST_USE enum fth_status fth_report_dissection(const struct fth_gpu *gpu,
                                                           const struct fth_report_options *options,
                                                           char **text, size_t *size,
                                                           struct fth_error *error);
/* Shows a series as text: which loads of each pass miss, and which ways are replaced. `options` may
 * be NULL. */
FTH_API FTH_MUST_USE enum fth_status fth_report_series(const struct fth_series *series,
                                                       const struct fth_report_options *options,
                                                       char **text, size_t *size,
                                                       struct fth_error *error);

#ifdef __cplusplus
}
#endif

#endif
