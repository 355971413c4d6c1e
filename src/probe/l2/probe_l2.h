/* probe/l2/: the L2, which all SMs share.
 *
 *   l2_geometry.c  line, sector, partitions and size
 *   l2_outcomes.c  how l2_geometry.c decides these from samples, with the evidence
 *   l2map.c        home partitions of lines, near partition of each SM
 *   l2_joins.c     SMs whose reads the L2 receives as one
 *   l2_writes.c    what a store does to the L2
 *   l2_sets.c      sets and ways of a small L2
 *   l2_slices.c    slices, and the latency of each from each SM
 *   slice_hash.c   which address bits select the slice of a line
 *   slice_groups.c SMs with the same latencies to all slices
 */
#ifndef FTH_PROBE_L2_H
#define FTH_PROBE_L2_H

#include "probe/structure/probe_structure.h"

/* ---- l2_outcomes.c ---- */

/* Where lines that had been loaded earlier were found after other memory was touched: still in the
 * near partition, in the far partition, or only in memory. Counts of lines. */
struct fth_outcomes {
    size_t near_count, far_count, memory_count;
};
/* Classifies the cycles of timed hops: a line is near up to near_threshold, in memory above
 * memory_threshold, and in the far partition between the two. */
struct fth_outcomes fth_count_outcomes(const uint32_t *cycles, size_t count, double near_threshold,
                                       double memory_threshold);
/* Returns `part` divided by the number of all lines; 0 without lines. */
double fth_outcome_fraction(size_t part, const struct fth_outcomes *outcomes);
enum { FTH_MAX_OUTCOMES = 12 }; /* maximum that one decision uses; further ones are ignored */

/* A decision, with bootstrap resamples of the samples as the evidence: those agree that lead to the
 * same decision. */
struct fth_decision {
    uint64_t value; /* 0: undecided */
    struct fth_evidence evidence;
};
/* Decides the line size in bytes. outcomes[i] was measured after a touch with a stride of
 * `smallest` << i bytes. The touch evicts the same number of lines as long as its stride is at most
 * a line, and fewer beyond. */
struct fth_decision fth_decide_line(const struct fth_outcomes *outcomes, size_t strides,
                                    uint64_t smallest);
/* Returns the line, or no line if less than two thirds of the resamples agree. */
struct fth_decision fth_likely_line(struct fth_decision line);
/* Decides the sector size in bytes. outcomes[i] was measured after `smallest` << i bytes of each
 * line were written. A load hits only if the whole sector was written. */
struct fth_decision fth_decide_sector(const struct fth_outcomes *outcomes, size_t widths,
                                      uint64_t smallest);
/* Decides between one partition and two. Each outcome was measured after a touch that is larger
 * than one of two partitions and smaller than both. */
struct fth_decision fth_decide_partitions(const struct fth_outcomes *outcomes, size_t footprints);
/* Decides the distance, in hops, between consecutive hops that take more than `threshold` cycles.
 * Fails only with FTH_NO_MEMORY. */
FTH_MUST_USE enum fth_status fth_decide_period(const uint32_t *cycles, size_t count,
                                               double threshold, struct fth_decision *period,
                                               struct fth_error *error);
/* Flags of fth_decide_footprints, and the number of their combinations. */
enum { FTH_FOOTPRINT_NEAR = 1, FTH_FOOTPRINT_FULL_MISS = 2, FTH_FOOTPRINT_DECISIONS = 4 };
/* Decides on footprints, given the outcomes in order of growing footprint. A value is the
 * footprint's index plus 1. The index of a decision is 0 or a combination of the flags: without
 * FTH_FOOTPRINT_FULL_MISS, the result is the onset (the last footprint up to which all lines stay
 * in L2); with it, the first footprint from which on no line stays. With FTH_FOOTPRINT_NEAR, a line
 * stays only if it is found in the near partition. */
void fth_decide_footprints(const struct fth_outcomes *outcomes, size_t count,
                           struct fth_decision decisions[FTH_FOOTPRINT_DECISIONS]);
/* Whether all lines stayed in L2, except for what noise explains. `smallest`: the outcomes at the
 * smallest footprint, at which lines seem evicted only because of noise. */
bool fth_all_stay(const struct fth_outcomes *smallest, const struct fth_outcomes *outcomes);

/* ---- l2_geometry.c ---- */

/* What is known about the L2 before it is measured. Latencies are in cycles. */
struct fth_l2_plan {
    uint64_t size_bytes;             /* as the driver reports it; 0: measure it */
    uint64_t max_bytes;              /* memory that the probe may use */
    double l2_cycles;                /* latency of an L2 hit */
    const struct fth_figure *memory; /* latency of memory */
    double overhead_cycles;          /* of timing a hop */
    size_t repeat;                   /* earlier measurements of this L2 with this device */
};
/* The figures of the L2. The value of a decision is 0 if it is unknown. */
struct fth_l2_found {
    struct fth_decision fill;       /* bytes that memory returns for a miss */
    struct fth_decision line;       /* bytes that are evicted together */
    struct fth_decision sector;     /* bytes that must be valid for a hit */
    struct fth_decision partitions; /* 1 or 2 */
    bool evicts_early;              /* new lines evict each other before other memory is touched */
    struct fth_figure far_latency;  /* only with two partitions */
    struct fth_decision size;       /* only if the driver does not report the size */
    /* In bytes, of the footprints tried around the size: the largest after which all lines were
     * still in L2, and the smallest after which none was; then the same for the near partition. */
    struct fth_decision onset, full_miss, near_onset, near_full_miss;
    /* The neighbours of onset and full_miss among the footprints that were tried, in bytes: the
     * smallest one after which lines were missing, and the largest one after which lines were in
     * L2. */
    uint64_t onset_next_bytes, full_miss_previous_bytes;
    /* Cycles of a timed hop: near up to the first, from memory above the second. */
    double near_threshold, memory_threshold;
    size_t samples;
};
/* Finds fill, line, sector, partitions and footprints of the L2. FTH_INCONCLUSIVE if the fill is
 * not found, if the latencies of L2 and memory are too close, or if the size must be measured and
 * cannot; the figures that were found before are set. */
FTH_MUST_USE enum fth_status fth_probe_l2(const struct fth_prober *prober,
                                          const struct fth_l2_plan *plan,
                                          struct fth_l2_found *found, struct fth_error *error);

/* ---- l2map.c ---- */

/* Results of fth_probe_l2 and fth_probe_memory_latency. Thresholds are in cycles of a timed hop. */
struct fth_l2_map_plan {
    uint64_t size_bytes, line_bytes;
    double near_threshold, memory_threshold; /* as in struct fth_l2_found */
    double far_memory_threshold; /* between near and far memory; NAN: they are one plateau */
    /* Cycles that a load takes longer if FTH_HOME_PAGES pages are walked in turn, because they do
     * not fit into the TLBs; 0: they do. */
    double page_miss_cycles;
};
/* Pages of FTH_HOME_PAGE_BYTES that fth_probe_home_mask walks. */
enum { FTH_HOME_PAGES = 64, FTH_HOME_PAGE_BYTES = 2 << 20 };
/* The partition that is the home of a line, as one SM sees it. */
enum fth_home { FTH_HOME_UNKNOWN, FTH_HOME_NEAR, FTH_HOME_FAR };
/* Returns the home of a line from the cycles of its hop after a touch of 0.7 of the L2's size. */
enum fth_home fth_home_of(uint32_t cycles, const struct fth_l2_map_plan *plan);
/* Finds the homes (enum fth_home) of `count` such lines. A disturbed hop leaves its line unknown.
 */
void fth_find_homes(const uint32_t *cycles, size_t count, const struct fth_l2_map_plan *plan,
                    uint8_t *homes);

/* How two arrays of homes are related: those of two sequences of lines, or those of the same lines
 * as two SMs see them. */
enum fth_relation {
    FTH_RELATION_UNKNOWN,
    FTH_RELATION_SAME,
    FTH_RELATION_OPPOSITE,
    FTH_RELATION_MIXED
};
/* Decides the relation of two arrays of enum fth_home. At most max_wrong_fraction of the pairs may
 * contradict it; otherwise it is FTH_RELATION_MIXED. */
enum fth_relation fth_decide_relation(const uint8_t *a, const uint8_t *b, size_t count,
                                      double max_wrong_fraction);
/* Returns the pairs whose homes are known, and those that agree with the relation. */
struct fth_evidence fth_relation_evidence(const uint8_t *a, const uint8_t *b, size_t count,
                                          enum fth_relation relation);

/* Masks of address bits (offsets within a page). If `mixed` is 0, the home of a line is the parity
 * of its address bits in `mask`. */
struct fth_home_mask {
    uint64_t mask;    /* bits that always change the home */
    uint64_t mixed;   /* bits that change it for some lines and not for others */
    uint64_t unknown; /* bits for which too few homes were found */
    uint64_t tested;  /* all bits that were tested */
    /* Pairs of lines that differ in one bit, of the bit with the weakest evidence. */
    struct fth_evidence evidence;
    size_t samples;
};
/* Finds out which address bits decide the home of a line. */
FTH_MUST_USE enum fth_status fth_probe_home_mask(const struct fth_prober *prober,
                                                 const struct fth_l2_map_plan *plan,
                                                 struct fth_home_mask *found,
                                                 struct fth_error *error);
/* Finds out which SMs have the same near partition as SM 0. `sides` has one entry per SM. The
 * evidence is that of the SM with the weakest one: lines whose homes agree with its side. */
FTH_MUST_USE enum fth_status fth_probe_sm_sides(const struct fth_prober *prober,
                                                const struct fth_l2_map_plan *plan,
                                                enum fth_relation *sides,
                                                struct fth_evidence *evidence, size_t *samples,
                                                struct fth_error *error);
/* Finds the homes (enum fth_home) of the lines of a chain as one SM sees them. */
FTH_MUST_USE enum fth_status fth_probe_homes(const struct fth_prober *prober,
                                             const struct fth_l2_map_plan *plan,
                                             struct fth_chain lines, uint32_t sm, uint8_t *homes,
                                             size_t *samples, struct fth_error *error);
/* Measures the fraction of the lines of a first walk, line by line, that are already in L2: 0 if
 * nothing is prefetched. */
FTH_MUST_USE enum fth_status fth_probe_prefetch(const struct fth_prober *prober,
                                                const struct fth_l2_map_plan *plan,
                                                double *fraction, size_t *samples,
                                                struct fth_error *error);
/* Computes this fraction from the cycles of the walk; NAN without samples. */
double fth_prefetched_part(const uint32_t *cycles, size_t count, double threshold);
/* Measures whether the same lines are evicted when the same accesses are repeated, as agreement
 * beyond chance (Cohen's kappa): 1 if always, 0 if at random; NAN if each footprint evicts nearly
 * all or nearly no lines. The evidence are the footprints whose agreement is on the same side of a
 * half. */
FTH_MUST_USE enum fth_status fth_probe_l2_order(const struct fth_prober *prober,
                                                const struct fth_l2_map_plan *plan,
                                                double *agreement, struct fth_evidence *evidence,
                                                size_t *samples, struct fth_error *error);
/* Computes this agreement for two repeats. A line is evicted if its hop takes more than `threshold`
 * cycles. */
double fth_eviction_agreement(const uint32_t *a, const uint32_t *b, size_t count, double threshold);

/* ---- l2_joins.c ---- */

/* Which SMs join their reads on the way to the L2. */
struct fth_joins {
    uint32_t *groups; /* [sms] SMs with the same number join reads; the caller's */
    size_t group_count;
    double window_cycles; /* maximum lag at which reads are joined; NAN: unknown */
    double low, high;     /* lag up to which nearly all are, and after which nearly none is */
    bool has_extent;      /* whether the next member is known */
    bool joins_lines;     /* reads of different sectors of a line are joined, too */
    struct fth_evidence extent_evidence; /* reads whose time agrees with it */
    size_t checked, agreed; /* pairs of SMs that were tested, and those with a clear result */
    size_t samples;
};
/* Finds the groups of SMs, the window, and the extent of joins. `found->groups` has one entry per
 * SM. FTH_UNSUPPORTED: the device cannot execute the experiment. */
FTH_MUST_USE enum fth_status fth_probe_joins(const struct fth_prober *prober, uint64_t line_bytes,
                                             uint64_t sector_bytes, struct fth_joins *found,
                                             struct fth_error *error);
/* The number of lines whose read was joined. A joined read takes at least a third of the lag less
 * than the same read alone. */
size_t fth_count_joined(const uint32_t *alone, const uint32_t *cycles, size_t count,
                        double lag_cycles);

/* ---- l2_writes.c ---- */

/* What loads find in the L2 after a store to lines that it does not hold. */
struct fth_l2_writes {
    struct fth_write_effect whole;   /* sectors that were written completely */
    struct fth_write_effect partial; /* the written bytes of sectors that were written in part */
    size_t samples;
};
/* Finds out what stores to missing lines do. `fill_bytes` are the bytes that memory returns for a
 * miss. FTH_INCONCLUSIVE if the L2 does not even keep lines that were just loaded, or keeps
 * lines after a flush. */
FTH_MUST_USE enum fth_status fth_probe_l2_writes(const struct fth_prober *prober,
                                                 const struct fth_l2_map_plan *plan,
                                                 uint64_t fill_bytes, struct fth_l2_writes *found,
                                                 struct fth_error *error);
/* Finds out what happens to the copies of lines in the near partition of SM 0 when SM `writer`,
 * whose near partition is the other one, stores to these lines. FTH_INCONCLUSIVE if too few copies
 * are found, or if they are lost without a store. */
FTH_MUST_USE enum fth_status fth_probe_far_copies(const struct fth_prober *prober,
                                                  const struct fth_l2_map_plan *plan,
                                                  uint32_t writer, struct fth_write_effect *copies,
                                                  size_t *samples, struct fth_error *error);

/* ---- l2_evict.c ---- */

/* What is known about the L2 before eviction sets are searched. */
struct fth_evict_plan {
    uint64_t partition_bytes, line_bytes;
    uint64_t warm_bytes;     /* as in struct fth_evict */
    uint64_t max_bytes;      /* memory that the probe may use */
    double threshold_cycles; /* a timed read of a line in the near partition takes at most these */
};
struct fth_eviction_sets {
    uint64_t ways, sets;                 /* of a partition; sets 0: unknown */
    const char *policy;                  /* NULL: unknown */
    bool ambiguous_policy;               /* several policies predict all reads */
    struct fth_evidence evidence;        /* for the ways: targets with a set */
    struct fth_evidence policy_evidence; /* for the policy: sequences of reads */
    size_t searched, verified, agreed;   /* targets; those with a set; those with a set of `ways` */
    size_t kept;                         /* targets that the pool does not evict */
    double expected, evicted;            /* fraction of targets that a partition's number of random
                                            lines evicts, and the measured one; NAN: not measured */
    size_t samples;
};
/* Finds ways, policy and sets of the L2 from eviction sets. FTH_INCONCLUSIVE: there are no stable
 * sets, or they disagree. FTH_UNSUPPORTED: the device cannot execute the experiment. */
FTH_MUST_USE enum fth_status fth_probe_eviction_sets(const struct fth_prober *prober,
                                                     const struct fth_evict_plan *plan,
                                                     struct fth_eviction_sets *found,
                                                     struct fth_error *error);

/* ---- l2_sets.c ---- */

/* Finds line, sets and ways of an L2 of `size_bytes` from strided chains only. Assumes a small L2
 * with the index function line % sets. Fills plan->line_bytes and plan->threshold_cycles. Fails
 * with FTH_INCONCLUSIVE if the latencies contradict the assumption. */
FTH_MUST_USE enum fth_status fth_probe_l2_sets(const struct fth_prober *prober, uint64_t size_bytes,
                                               struct fth_cache_plan *plan,
                                               struct fth_structure *structure,
                                               struct fth_error *error);

/* ---- slice_hash.c ---- */

/* Lines of one page, and their slices. */
struct fth_sliced_lines {
    const uint64_t *offsets; /* [count] in bytes from the start of the page, each different */
    const uint32_t *slices;  /* [count] less than slice_count */
    size_t count, slice_count;
    uint64_t line_bytes, page_bytes; /* powers of two */
};
enum { FTH_MAX_SLICE_MASKS = 16 };
/* The hash that selects a slice of a partition. */
struct fth_slice_hash {
    uint64_t slice_bytes; /* size of the largest aligned blocks that are always in one slice */
    uint64_t
        masks[FTH_MAX_SLICE_MASKS]; /* the parities of these address bits determine the slice */
    size_t mask_count;
    bool linear;   /* the parities are the number of the slice */
    bool doubtful; /* other differences leave most lines in their slice, too; a mask may be wrong */
};
/* Finds the hash. FTH_INCONCLUSIVE: there are too few lines, or the slices contradict each other;
 * hash->slice_bytes is valid nevertheless. */
FTH_MUST_USE enum fth_status fth_find_slice_hash(const struct fth_sliced_lines *lines,
                                                 struct fth_slice_hash *hash,
                                                 struct fth_error *error);
/* Returns the parities of the masks, that of the first mask as the lowest bit. */
uint32_t fth_slice_parities(const struct fth_slice_hash *hash, uint64_t address);

/* ---- slice_groups.c ---- */

/* The latencies of each SM to each slice. */
struct fth_slice_profiles {
    const double *cycles;   /* [sms][slices] */
    const uint32_t *routes; /* [sms] SMs with different numbers are in different groups */
    size_t sms, slices;     /* at least 1 each */
};
struct fth_slice_groups {
    uint32_t *groups; /* [sms] the caller's; numbered in the order of their first SMs */
    size_t count;
    double widest_cycles;  /* largest distance of two SMs of a group, 0: none has two */
    double closest_cycles; /* smallest distance of two SMs of different groups on one route;
                            * INFINITY: no route has two groups */
    bool clear;            /* the groups are clearly further apart than they are wide */
};
/* Groups the SMs by their latencies. The distance of two SMs is the mean absolute difference of
 * their latencies. Fails only with FTH_NO_MEMORY, or FTH_INVALID for latencies that are not finite.
 */
FTH_MUST_USE enum fth_status fth_find_slice_groups(const struct fth_slice_profiles *profiles,
                                                   struct fth_slice_groups *found,
                                                   struct fth_error *error);

/* ---- l2_slices.c ---- */

/* What is known about the L2 before its slices are searched. */
struct fth_slice_plan {
    uint64_t line_bytes;
    double latency_cycles; /* of a hit, average over lines and SMs */
    size_t partitions;
    const double *partition_by_sm;  /* [sms]; NULL: there is one partition */
    const double *join_group_by_sm; /* [sms] as in struct fth_joins; NULL: no SMs join reads, or
                                     * they are not known */
    uint64_t home_mask;             /* of the lines; 0: unknown */
};
struct fth_slices {
    size_t slices, per_partition;
    bool has_hash; /* otherwise only hash.slice_bytes is known */
    struct fth_slice_hash hash;
    char hash_cause[512]; /* why the hash is not known */
    /* The latencies of hits. The number of a slice are its parities, if the hash is linear.
     * Otherwise, the slices are numbered in the order of their lowest addresses in a page. Slices
     * of different partitions with the same number have the same lines. */
    struct fth_slice_groups sms;  /* SMs with the same latencies */
    double *cycles;               /* [sms.count][per_partition] */
    struct fth_evidence evidence; /* slices that were found again with another line */
    size_t samples;
};
/* Finds the slices of the L2. FTH_INCONCLUSIVE: reads do not delay each other, or contradict each
 * other. On success the caller releases `found` with fth_slices_fini. */
FTH_MUST_USE enum fth_status fth_probe_slices(const struct fth_prober *prober,
                                              const struct fth_slice_plan *plan,
                                              struct fth_slices *found, struct fth_error *error);
void fth_slices_fini(struct fth_slices *found);

#endif
