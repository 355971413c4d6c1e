/* probe/tlb/: the TLBs.
 *
 *   pages.c           loads of one line per page, and the cost of each translation
 *   tlb_step.c        which of these loads missed a TLB level
 *   tlb_levels.c      the search for levels, one after the other
 *   tlb_candidates.c  the next step in the cost of translations, a candidate for a level
 *   tlb_page_size.c   page size of a candidate
 *   tlb_entries.c     entries of a level
 *   tlb_penalty.c     miss penalty of a level
 *   tlb_sets.c        sets and ways of a level
 *   tlb_policy.c      replacement policy of a level
 *   spectrum.c        latency of each combination of cache and TLB hit or miss
 *
 * Terms in these files:
 *   position   index of a load within its chain, from 0
 *   baseline   cycles of the load at a position while its page is in the first TLB
 *   excess     cycles of a load in a walk minus its baseline: the cost of its translation
 *   step       the amount by which a miss of one TLB level raises the excess
 *   samples    the measured cycles, which the kernel writes to memory during timed passes. They lie
 *              directly in front of the chain. The page that contains them is in use all the time;
 *              unless pages are small, it is also the page of position 0.
 *   periodic   the same pages miss in every pass, as with LRU replacement */
#ifndef FTH_PROBE_TLB_H
#define FTH_PROBE_TLB_H

#include "probe/probe.h"

/* ---- constants of several files ---- */

enum {
    /* Bytes that are added to strides that are powers of two, two 128-byte lines. Without them, all
     * lines of a chain would fall into the same set of the L2. */
    FTH_TLB_SKEW_BYTES = 256,
    /* Cycles: the smallest penalty that the probes look for. Chosen, not derived: on an H200,
     * repeated loads of one line differ by 2.6 cycles. */
    FTH_TLB_MIN_RISE = 3,
    /* Range of page sizes, in bytes, that the probes can find. Chosen: it includes 2 MiB (Mei and
     * Chu 2017, Table 5) to 32 MiB (the second level of a P100 and of an H200) with a margin. */
    FTH_TLB_MIN_PAGE = 64 << 10,
    FTH_TLB_MAX_PAGE = 64 << 20,
    /* Timed passes of a walk. A walk over more than FTH_TLB_MANY_LOADS loads gives enough samples
     * with FTH_TLB_FEW_PASSES, and in the search for the entries with FTH_TLB_FEWEST_PASSES.
     * Chosen, not derived: five passes tolerate two disturbed ones, three tolerate one; with two, a
     * page counts as missed only if it misses in both. */
    FTH_TLB_PASSES = 5,
    FTH_TLB_FEW_PASSES = 3,
    FTH_TLB_FEWEST_PASSES = 2,
    FTH_TLB_MANY_LOADS = 512,
    /* Warm-up passes per page of a walk if different pages miss in each pass: with random
     * replacement, it takes many passes until all pages that fit are resident. Chosen by
     * experiment. */
    FTH_TLB_RANDOM_WARM_PASSES = 4,
    /* A load is inconsistent if its page has the opposite outcome (hit or miss) in most passes. The
     * same pages are considered to miss in each pass if there are more than this many times as many
     * misses as inconsistent loads. Chosen, not derived. */
    FTH_TLB_INCONSISTENT_PART = 10
};

/* ---- pages.c ---- */

/* A chain of loads `stride_bytes` apart, one line each, with the baseline of each load. */
struct fth_pages {
    const struct fth_prober *prober;
    uint64_t stride_bytes;
    uint64_t max_loads;      /* loads that fit into the available memory; at least 4 */
    uint64_t group_loads;    /* neighbouring loads that are walked together to measure baselines */
    double first_load_extra; /* cycles that the first load of a walk takes longer than the others;
                              * the caller may set it */
    uint64_t single_lines; /* baselines that came from walks of one line, and that have not yet been
                            * compared with those from larger groups; 0: none */
    double group_penalty;  /* cycles that every load of a group takes longer because the whole group
                            * misses the inner levels; subtracted from baselines */
    double *baseline;      /* [max_loads] cycles; the first `baseline_count` are measured */
    uint64_t baseline_count;
    size_t samples; /* taken so far */
};
enum {
    FTH_MAX_PAGE_PASSES = 16, /* maximum number of evaluated passes of a walk. Chosen. */
    /* Maximum number of samples of a walk: as many as fit in front of the chain (in
     * FTH_HEADER_BYTES bytes, together with the tables of the launch). More would occupy pages of
     * their own. */
    FTH_MAX_PAGE_SAMPLES = 28000
};
/* Repeated passes over `count` loads of a chain, and the excess of each load. */
struct fth_page_walk {
    uint64_t first;       /* position of the first load */
    uint64_t count;       /* loads per pass */
    uint64_t warm_passes; /* passes before the timed ones; 0 counts as 1 */
    unsigned passes;      /* timed passes that are evaluated, at most FTH_MAX_PAGE_PASSES */
    bool time_first_pass; /* evaluate the first timed pass, too: no sample was written before it */
    bool reverse;   /* time one pass from the last load to the first, directly after the warm-up */
    double *excess; /* [passes][count] cycles; NAN: an outlier that no TLB miss explains */
    double *mean;   /* [count] mean excess over the passes, without outliers */
    uint32_t *cycles; /* [passes][count] as timed */
};
/* Allocates memory for a chain of `max_loads` loads, or of fewer where memory is short.
 * FTH_INCONCLUSIVE: there is not enough memory for 4 loads. */
FTH_MUST_USE enum fth_status fth_pages_open(const struct fth_prober *prober, uint64_t stride_bytes,
                                            uint64_t max_loads, struct fth_pages *pages,
                                            struct fth_error *error);
/* Frees the baselines. Close `pages` also after fth_pages_open has failed. */
void fth_pages_close(struct fth_pages *pages);
/* Reports that a walk over `count` loads has no TLB misses. Baselines are then measured in groups
 * of half as many loads. */
void fth_pages_use_hit_groups(struct fth_pages *pages, uint64_t count);
/* Reports that every load of a walk over `count` loads has an excess of `cycles`, because all of
 * them miss the inner levels and hit the next one. Baselines are then measured in groups of `count`
 * loads, less `cycles`. */
void fth_pages_use_miss_groups(struct fth_pages *pages, uint64_t count, double cycles);
/* Measures the walks; the caller sets `first`, `count`, `warm_passes`, `passes` and the flags.
 * After success, the caller finishes them with fth_page_walks_fini. */
FTH_MUST_USE enum fth_status fth_pages_walk(struct fth_pages *pages, struct fth_page_walk *walks,
                                            size_t count, struct fth_error *error);
/* Frees the samples of the walks. */
void fth_page_walks_fini(struct fth_page_walk *walks, size_t count);
/* The number of passes for a walk of `count` loads: `wanted`, or fewer so that all samples fit
 * (FTH_MAX_PAGE_SAMPLES). */
unsigned fth_page_passes(uint64_t count, unsigned wanted);
/* The maximum number of loads of a chain, such that all its lines stay in an L2 of `l2_bytes`. */
uint64_t fth_tlb_max_loads(uint64_t l2_bytes);

/* ---- tlb_step.c ---- */

/* The excess of loads comes in steps, one per TLB level. This is the step of one level. */
struct fth_tlb_step {
    double hit_excess;  /* cycles of a load that hits this level and misses all levels before it */
    double miss_excess; /* cycles of a load that misses this level, too */
    bool per_load; /* a single load distinguishes hit and miss; otherwise only means over passes do
                    */
    double false_miss_rate; /* fraction of loads that look like misses although their pages fit */
};
/* Standard deviations of the excess, in cycles: of single loads, and of means over passes. */
struct fth_page_noise {
    double load, mean;
};
/* Computes the noise from a walk without TLB misses. */
FTH_MUST_USE enum fth_status fth_page_noise(const struct fth_page_walk *walk,
                                            struct fth_page_noise *noise, struct fth_error *error);
/* Finds the lowest step above `hit_excess` in a walk. *found is false where there is none. */
FTH_MUST_USE enum fth_status fth_tlb_step_find(const struct fth_page_walk *walk, double hit_excess,
                                               const struct fth_page_noise *noise,
                                               struct fth_tlb_step *step, bool *found,
                                               struct fth_error *error);
/* Excess in cycles above which a load counts as a miss: halfway between hit and miss. */
double fth_tlb_step_threshold(const struct fth_tlb_step *step);
/* The misses of one level in a walk. Where single loads do not distinguish hit and miss, each
 * position counts as one load. */
struct fth_page_misses {
    uint64_t missed_loads, loads; /* over all passes, without outliers */
    uint64_t missed_pages;        /* positions that miss in most passes */
    uint64_t inconsistent_loads;  /* loads that differ from most passes at their position */
    uint64_t mixed_pages;         /* positions that miss in about half of the passes */
    unsigned passes;              /* of the walk; positions are counted over them */
};
/* Counts the misses of a level in a walk. */
struct fth_page_misses fth_tlb_step_count_misses(const struct fth_page_walk *walk,
                                                 const struct fth_tlb_step *step);
/* Whether a walk over `count` loads has more misses than the false miss rate explains: its pages
 * do not fit into the level. */
bool fth_tlb_step_overflows(const struct fth_page_misses *misses, uint64_t count,
                            const struct fth_tlb_step *step);
/* Measures the false miss rate, with a walk over `fits` loads whose pages fit. */
FTH_MUST_USE enum fth_status fth_tlb_step_learn_rate(struct fth_pages *pages, uint64_t fits,
                                                     struct fth_tlb_step *step,
                                                     struct fth_error *error);
/* Whether a position missed in most passes. */
bool fth_tlb_step_missed(const struct fth_page_walk *walk, const struct fth_tlb_step *step,
                         uint64_t position);

/* ---- tlb_levels.c ---- */

/* Maximum number of levels that are looked for. The GPUs of the catalogue have at most two. */
enum { FTH_MAX_TLBS = 3 };
/* One TLB level. */
struct fth_tlb_level {
    uint64_t page_bytes; /* 0: not found; `doubt` tells why. Then `entries` is 0, too */
    struct fth_evidence page_evidence;
    uint64_t entries; /* 0: not found; `doubt` tells why */
    struct fth_evidence entries_evidence;
    double penalty_cycles;            /* mean cycles that a miss of this level adds */
    double penalty_low, penalty_high; /* 90 % confidence interval; NAN: unknown */
    bool periodic;                    /* the same pages miss in every pass, as with LRU */
    bool per_load;     /* a single load distinguishes hit and miss; otherwise only means do */
    bool hidden;       /* the level before it holds many of the pages that would fill this one */
    bool unsettled;    /* the entries were not found, but another attempt may find them */
    const char *doubt; /* why a value is missing, a constant string; NULL: none is */
};
/* All levels that were found. */
struct fth_tlbs {
    struct fth_tlb_level levels[FTH_MAX_TLBS]; /* the first is looked up first */
    size_t count;
    size_t samples;
    /* If a further level may exist that the walks cannot show, because the L2 holds the lines of
     * only this many loads; 0: the walks are long enough, or memory limits them. */
    uint64_t l2_loads;
};
/* Finds all TLB levels. Allocates at most `max_bytes` of device memory; `l2_bytes` is the size of
 * the L2. `tlbs` contains the levels that were found, whatever the status. */
FTH_MUST_USE enum fth_status fth_probe_tlbs(const struct fth_prober *prober, uint64_t max_bytes,
                                            uint64_t l2_bytes, struct fth_tlbs *tlbs,
                                            struct fth_error *error);

/* ---- tlb_entries.c ---- */

/* Input, state and result of the search for the entries of a level, on a chain whose stride is the
 * page size. */
struct fth_tlb_search {
    struct fth_pages *pages;
    struct fth_tlb_step *step;
    bool inner_periodic;  /* the same pages miss the inner levels in every pass */
    uint64_t inner_loads; /* loads of this chain that the previous level holds; 0: no such level, or
                           * unknown */
    uint64_t fits;        /* result: the largest number of pages without a miss */
    uint64_t onset;       /* result: the smallest number of pages with misses; 0: not found */
    uint64_t warm_passes_per_page; /* additional warm-up passes per page of a walk */
    unsigned passes;               /* timed passes; 0: the default */
};
/* Finds `entries`, `entries_evidence` and `periodic` of a level. `before` is the step of the
 * level that is looked up before this one, or NULL. Sets `doubt` where the entries are not found.
 */
FTH_MUST_USE enum fth_status fth_tlb_find_entries(struct fth_tlb_search *search,
                                                  const struct fth_tlb_step *before,
                                                  struct fth_tlb_level *level,
                                                  struct fth_error *error);

/* ---- shared by tlb_levels.c, tlb_candidates.c, tlb_page_size.c and tlb_penalty.c ---- */

/* What the search for levels knows so far. */
struct fth_tlb_survey {
    const struct fth_prober *prober;
    uint64_t max_bytes, max_loads; /* limits of every chain: memory and number of loads */
    struct fth_page_noise noise;
    struct fth_tlb_step first_step; /* of the first level; miss_excess 0: not known yet */
    uint64_t first_max_loads; /* upper bound for the loads whose pages the first level holds */
    uint64_t first_page, first_entries; /* of the first level; 0: not known */
    size_t level_count;                 /* levels found so far */
    bool periodic;           /* the same pages miss in every pass, in all levels found so far */
    double first_load_extra; /* cycles that the first load of a walk takes longer than others */
    size_t samples;          /* number of samples that were taken on chains closed so far */
};
/* A possible level. On a chain with this stride, a walk over `fitting_loads` loads does not show
 * the step, and a walk over `onset_loads` loads does. */
struct fth_tlb_candidate {
    bool found;
    uint64_t stride_bytes, fitting_loads, onset_loads;
    struct fth_tlb_step step;
};
/* Where a level begins to miss, at a stride of one page. */
struct fth_tlb_onset {
    uint64_t pages; /* smallest number of pages with misses; 0: unknown */
    /* Number of loads with the excess of such a miss, over all passes of a walk over twice as many
     * pages. If single loads do not distinguish hit and miss, it is the number of loads of the
     * chain whose mean excess is that of such a miss. */
    size_t misses;
};

/* In tlb_candidates.c. Opens a chain of at most `max_loads` loads, within the limits of the survey.
 */
FTH_MUST_USE enum fth_status fth_tlb_open_chain(const struct fth_tlb_survey *survey,
                                                uint64_t stride_bytes, uint64_t max_loads,
                                                struct fth_pages *pages, struct fth_error *error);
/* Adds the samples of the chain to those of the survey, and frees it. Call it also after
 * fth_tlb_open_chain has failed. */
void fth_tlb_close_chain(struct fth_tlb_survey *survey, struct fth_pages *pages);
/* Adds to the survey what the first step implies for further walks. `spread` is the chain on which
 * it was found. */
void fth_tlb_survey_first_step(struct fth_tlb_survey *survey,
                               const struct fth_tlb_candidate *candidate,
                               const struct fth_pages *spread);
/* Adds to the survey what the level that was found last implies for further walks. */
void fth_tlb_survey_level(struct fth_tlb_survey *survey, const struct fth_tlbs *tlbs);
/* Chooses the groups in which baselines are measured, for walks that examine a candidate. Where the
 * candidate's level holds many more loads than the first one, they are miss groups: so large that
 * all their loads miss the first level and hit the candidate's. Otherwise they are hit groups. */
FTH_MUST_USE enum fth_status fth_tlb_choose_groups(const struct fth_tlb_survey *survey,
                                                   const struct fth_tlb_candidate *candidate,
                                                   struct fth_pages *pages,
                                                   struct fth_error *error);
/* Finds the next step above `hit_excess`: makes the walk longer until two consecutive walks show a
 * step. Walks over up to `fitting_loads` loads are known to show none; 0: nothing is known.
 * candidate->found is false where no walk shows a step. FTH_INCONCLUSIVE: even the shortest walk
 * shows a step; candidate->found is true then. */
FTH_MUST_USE enum fth_status fth_tlb_find_candidate(struct fth_tlb_survey *survey,
                                                    struct fth_pages *pages, double hit_excess,
                                                    uint64_t fitting_loads,
                                                    struct fth_tlb_candidate *candidate,
                                                    struct fth_error *error);
/* In tlb_page_size.c. Finds the page size. Where none is found, level->page_bytes stays 0 and
 * `doubt` tells why. Replaces the step of the candidate where a lower one is found. */
FTH_MUST_USE enum fth_status fth_tlb_find_page(struct fth_tlb_survey *survey,
                                               struct fth_tlb_candidate *candidate,
                                               struct fth_tlb_level *level,
                                               struct fth_error *error);
/* In tlb_penalty.c. Finds the penalty of a level and its interval, once search->onset is known.
 * Sets `onset`, and corrects the entries of a direct-mapped first level. */
FTH_MUST_USE enum fth_status fth_tlb_find_penalty(const struct fth_tlb_survey *survey,
                                                  const struct fth_tlb_search *search,
                                                  struct fth_tlb_level *level,
                                                  struct fth_tlb_onset *onset,
                                                  struct fth_error *error);

/* ---- tlb_sets.c ---- */

/* Which level to examine, of those that fth_probe_tlbs found. Its page size, entries and penalty
 * must be known, as must the entries and penalties of the levels before it. */
struct fth_tlb_sets_plan {
    const struct fth_tlbs *tlbs;
    size_t level_index;
    uint64_t max_bytes, l2_bytes; /* as for fth_probe_tlbs */
};
/* One point of the miss curve (Mei and Chu 2017, Fig. 8): in repeated passes over `pages` pages,
 * `missed` of them miss. */
struct fth_tlb_miss_point {
    uint64_t pages, missed;
};
/* Maximum points of a miss curve, and maximum number of different set sizes. */
enum { FTH_MAX_MISS_POINTS = 1024, FTH_MAX_SET_SIZES = 4 };
/* The replacement policy of a level. */
enum fth_tlb_policy {
    FTH_TLB_POLICY_UNKNOWN,
    FTH_TLB_LRU,
    FTH_TLB_FIFO,
    FTH_TLB_PLRU,         /* pseudo-LRU with a binary tree */
    FTH_TLB_RANDOM,       /* every page of the set is evicted equally often */
    FTH_TLB_NOT_PERIODIC, /* different pages miss in each pass; it may be random or not */
    FTH_TLB_OTHER         /* the same pages miss in each pass, but fewer than with LRU or FIFO */
};
/* The sets and the policy of a level. */
struct fth_tlb_sets {
    /* `sets` sets have `ways` ways each, the largest first. None: not found; `doubt` tells why. */
    struct {
        uint64_t sets, ways;
    } set_sizes[FTH_MAX_SET_SIZES];
    size_t set_size_count;
    struct fth_evidence evidence; /* of `set_sizes` */
    enum fth_tlb_policy policy;
    struct fth_evidence policy_evidence;
    /* Misses by number of pages, from the entries up to the point where all pages miss. The page of
     * the samples is an exception: it does not miss in a timed pass, since writing the samples
     * keeps it in this level or in an inner one. In the latter case `pages` does not count it. */
    struct fth_tlb_miss_point *miss_curve;
    size_t miss_curve_count;
    struct fth_evidence curve_evidence; /* passes that agree on which pages miss */
    /* Single loads of the first walk with misses over more pages than there are entries; count 0:
     * none. `missed` tells for each load whether it missed. */
    struct {
        uint64_t pages;
        size_t count;
        uint32_t *cycles;
        bool *missed;
    } series;
    size_t samples;
    const char *doubt; /* why there are no sets, a constant string; NULL: there are */
    bool contradicted; /* a second measurement of the curve differs */
};
/* Finds the sets, the ways and the policy of a level. Finish `sets` with fth_tlb_sets_fini,
 * whatever the status. FTH_INCONCLUSIVE: the page size or the entries of the level are unknown. */
FTH_MUST_USE enum fth_status fth_probe_tlb_sets(const struct fth_prober *prober,
                                                const struct fth_tlb_sets_plan *plan,
                                                struct fth_tlb_sets *sets, struct fth_error *error);
/* Frees the series and the miss curve. */
void fth_tlb_sets_fini(struct fth_tlb_sets *sets);
/* Misses that each additional page causes while not all sets overflow yet: the median of the slopes
 * between neighbouring points. The curve of a hashed TLB is flat at first, because some sets
 * overflow early; therefore only the later points count. NAN: there are too few points. */
FTH_MUST_USE enum fth_status fth_tlb_slope(const struct fth_tlb_miss_point *miss_curve,
                                           size_t count, double *slope, struct fth_error *error);

/* ---- shared by tlb_sets.c and tlb_policy.c ---- */

/* The state of one measurement of a level. */
struct fth_tlb_study {
    const struct fth_prober *prober;
    const struct fth_tlb_sets_plan *plan;
    const struct fth_tlb_level *level;
    struct fth_pages pages;
    struct fth_tlb_step step;
    uint64_t inner_entries; /* sum over all levels before this one */
    uint64_t first;         /* position at which the walks begin */
    bool periodic;          /* the same pages miss in every pass */
    /* Where they do not, the walks over one page more than fit show `members` pages that ever miss:
     * the pages of the set that overflows. distances[d], d from 1 to members - 1, counts the misses
     * that were d members after the previous miss; distances[0] counts longer distances. Owned. */
    uint64_t *distances;
    uint64_t members;
};

/* In tlb_policy.c. Finds the replacement policy, once the sets are known: sets->policy and its
 * confidence. */
FTH_MUST_USE enum fth_status fth_tlb_find_policy(const struct fth_tlb_study *study,
                                                 struct fth_tlb_sets *sets,
                                                 struct fth_error *error);

/* ---- spectrum.c ---- */

/* Mei and Chu's access patterns P1 to P6 (2017, Fig. 14). "The cache" is the L1 on path CA and the
 * L2 on path CG. */
enum fth_pattern {
    FTH_PATTERN_HIT,           /* P1: cache hit, page in the first TLB */
    FTH_PATTERN_HIT_MISS,      /* P2: cache hit, page in the second TLB only */
    FTH_PATTERN_HIT_MISS_BOTH, /* P3: cache hit, page in no TLB */
    FTH_PATTERN_COLD,          /* P4: miss in all caches, page in the first TLB */
    FTH_PATTERN_COLD_MISS,     /* P5: miss in all caches, page in no TLB */
    FTH_PATTERN_SWITCH,        /* P6: as P5, and the page table is not active */
    FTH_PATTERNS
};
/* Whether a GPU has a pattern. */
enum fth_presence { FTH_PRESENCE_UNKNOWN, FTH_ABSENT, FTH_PRESENT };
/* What is known about the cache and the TLBs before the patterns are measured. */
struct fth_spectrum_plan {
    enum fth_path path;      /* CA or CG */
    int carveout_percent;    /* of shared memory */
    uint64_t page_bytes;     /* the largest page size of all TLBs */
    uint64_t first_entries;  /* of the first TLB */
    uint64_t second_entries; /* of the second TLB; 0: there is none, or it cannot be filled */
    bool two_homes; /* half of the lines come from far memory: report the latency of near memory */
    double far_extra_cycles; /* with two homes: by which far memory is slower than near memory */
    uint64_t cached_lines; /* lines that the cache certainly holds; 0: more than there are pages */
    uint64_t max_bytes;
};
/* The latency of each pattern. */
struct fth_spectrum {
    struct {
        /* Absent: the pattern takes no longer than the one before it, so the GPU does not have it
         * as a pattern of its own. */
        enum fth_presence presence;
        struct fth_figure cycles; /* of one timed hop, including the overhead of the clock */
    } patterns[FTH_PATTERNS];
    struct fth_evidence evidence; /* repeats that have the same patterns */
    double
        cycles_confidence; /* that the repeats agree on the cycles of all patterns; NAN: unknown */
    bool is_virtual;       /* a hit takes no longer if the first TLB does not have its page */
    struct fth_evidence addressing_evidence; /* of is_virtual */
    struct fth_figure tlb_miss; /* cycles of P2 minus those of P1; interval: of all repeats */
    uint64_t page_table_bytes;  /* address range of one page table; 0: P6 was not found */
    struct fth_evidence table_evidence; /* of page_table_bytes */
    struct fth_figure table_switch; /* cycles of P6 minus those of P5; interval: of 90 % of both */
    uint64_t stride_bytes;          /* of the chain, without the 256 bytes that are added to it */
    size_t samples;
};
/* Measures the latency of each pattern. FTH_INCONCLUSIVE: the first TLB is unknown, or the cache or
 * the memory is too small. */
FTH_MUST_USE enum fth_status fth_probe_spectrum(const struct fth_prober *prober,
                                                const struct fth_spectrum_plan *plan,
                                                struct fth_spectrum *spectrum,
                                                struct fth_error *error);

#endif
