/* The L2: what becomes of lines while others are loaded, its line, sector and partitions, where
 * lines have their home. */
#ifndef FTH_PROBE_L2_H
#define FTH_PROBE_L2_H

#include "probe/probe.h"

/* ---- l2_fates.c ---- */

/* What became of lines while others were loaded: they are still near, were found in another
 * partition, or come from memory. */
struct fth_fates {
    size_t near_count, far_count, memory_count;
};
/* By two edges in the unit of the samples: near up to the first, from memory above the second. */
struct fth_fates fth_fates_count(const uint32_t *cycles, size_t count, double near_edge,
                                 double memory_edge);
/* What part of all so many of them are. */
double fth_fates_share(size_t part, const struct fth_fates *fates);
enum { FTH_MAX_FATES = 12 }; /* that a decision takes */

/* A decision, and the share of 200 draws from the same samples that decide alike (a little less,
 * since none of them knows more than the samples). 0: undecided. */
struct fth_decision {
    uint64_t value;
    double confidence;
};
/* The line, from what came from memory after every `smallest` bytes were touched, every second of
 * them, every fourth, and so on: as long as each line is touched, so many lines leave. */
struct fth_decision fth_decide_line(const struct fth_fates *fates, size_t strides,
                                    uint64_t smallest);
/* The sector, from what came from memory although `smallest` bytes of it had been written, twice as
 * many, and so on: a hit needs all of it. */
struct fth_decision fth_decide_sector(const struct fth_fates *fates, size_t widths,
                                      uint64_t smallest);
/* One partition or two, from the fates at several footprints that are within two partitions. */
struct fth_decision fth_decide_partitions(const struct fth_fates *fates, size_t footprints);
/* How many hops apart those are that memory answers. */
struct fth_decision fth_decide_period(const uint32_t *cycles, size_t count, double threshold);
/* The ends of a curve over footprints, as how-many-eth of them from 1 on: the last one up to which
 * all lines are in L2 or, with FTH_END_GONE, the first from which on none is. FTH_END_NEAR: near.
 */
enum { FTH_END_NEAR = 1, FTH_END_GONE = 2 };
struct fth_decision fth_decide_end(const struct fth_fates *fates, size_t count, unsigned which);

/* ---- l2.c ---- */

struct fth_l2_plan {
    uint64_t size_bytes; /* as the driver tells it; 0: it does not */
    uint64_t max_bytes;  /* of memory that may be taken */
    double l2_cycles;
    const struct fth_figure *memory;
    double overhead_cycles; /* of timing a hop */
};
struct fth_l2_found {
    struct fth_decision fill;       /* what memory brings in */
    struct fth_decision line;       /* what leaves together */
    struct fth_decision sector;     /* what has to be there in full to be a hit */
    struct fth_decision partitions; /* 1 or 2 */
    bool unsettled;                 /* lines leave before anything else is touched */
    struct fth_figure far_latency;  /* with two */
    struct fth_decision size;       /* where it was not told */
    /* Of footprints around the size: the largest after which all lines were still in L2, and the
     * smallest after which none was; the same, of lines that are near. */
    struct fth_decision onset, full_miss, near_onset, near_full_miss;
    double near_edge,
        memory_edge; /* of a timed hop: near up to the first, memory above the second */
    size_t samples;
};
FTH_MUST_USE enum fth_status fth_probe_l2(const struct fth_prober *prober,
                                          const struct fth_l2_plan *plan,
                                          struct fth_l2_found *found, struct fth_error *error);

/* ---- l2map.c ---- */

/* What fth_probe_l2 and fth_probe_memory_latency have found. Cycles are of a timed hop. */
struct fth_l2_map_plan {
    uint64_t size_bytes, line_bytes;
    double near_edge, memory_edge;
    double memory_middle; /* between near and far memory; NAN: they are one plateau */
};
enum fth_home { FTH_HOME_UNKNOWN, FTH_HOME_NEAR, FTH_HOME_FAR };
/* Of a line that was timed after a touch of seven tenths of the L2. */
enum fth_home fth_home_of(uint32_t cycles, const struct fth_l2_map_plan *plan);
/* Of a row of such lines; those that something disturbed are unknown. */
void fth_find_homes(const uint32_t *cycles, size_t count, const struct fth_l2_map_plan *plan,
                    uint8_t *homes);

/* How the homes of two rows of lines, or of one row as two SMs see it, are related. */
enum fth_relation {
    FTH_RELATION_UNKNOWN,
    FTH_RELATION_SAME,
    FTH_RELATION_OPPOSITE,
    FTH_RELATION_MIXED
};
/* Rows of enum fth_home, of which so few may be wrong. */
enum fth_relation fth_decide_relation(const uint8_t *a, const uint8_t *b, size_t count, double few);

/* Bits of the address, up to those within a page: a line's home is the parity of those in `mask`
 * where none is in `mixed`, which change it in some places and not in others. */
struct fth_home_mask {
    uint64_t mask, mixed, unknown, looked_at;
    size_t samples;
};
FTH_MUST_USE enum fth_status fth_probe_home_mask(const struct fth_prober *prober,
                                                 const struct fth_l2_map_plan *plan,
                                                 struct fth_home_mask *found,
                                                 struct fth_error *error);
/* Which SMs are near the same partition as the first; `sides` has room for all. */
FTH_MUST_USE enum fth_status fth_probe_sm_sides(const struct fth_prober *prober,
                                                const struct fth_l2_map_plan *plan,
                                                enum fth_relation *sides, size_t *samples,
                                                struct fth_error *error);
/* The part of a first walk, a line at a time, that L2 has already: 0 where nothing is prefetched.
 */
FTH_MUST_USE enum fth_status fth_probe_prefetch(const struct fth_prober *prober,
                                                const struct fth_l2_map_plan *plan, double *part,
                                                size_t *samples, struct fth_error *error);
double fth_prefetched_part(const uint32_t *cycles, size_t count, double threshold);
/* Whether the same lines leave when the same is done again, beyond chance: 1 always, 0 at random;
 * NAN: all leave at once, or none, which is an order too. */
FTH_MUST_USE enum fth_status fth_probe_l2_order(const struct fth_prober *prober,
                                                const struct fth_l2_map_plan *plan,
                                                double *agreement, size_t *samples,
                                                struct fth_error *error);
double fth_same_fates(const uint32_t *a, const uint32_t *b, size_t count, double edge);

#endif
