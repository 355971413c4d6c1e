/* probe/: one file a question about a GPU. Each plans requests, has them measured, and decides;
 * none knows whether a real GPU, a simulated one or a recording answers.
 *
 *   ask.c       requests out, answers in           latency.c   how long a load takes
 *   capacity.c  how much fits                      line.c      what a miss fetches, what is evicted
 *   sharing.c   which loads evict which            l2.c        line, sector, partitions of the L2
 *   pages.c     loads of one line a page           rung.c      which of them missed a TLB
 *   tlb.c       levels, pages, price of TLBs       tlb_entries.c  how many pages they hold
 *   tlb_sets.c  their sets and ways                tlb_policy.c  which page they give up
 *   spectrum.c  hits and misses of caches and TLBs, each with each
 *   l2map.c     homes of lines, sides of SMs       carveout.c  L1 beside shared memory
 *   fetch.c     instruction caches                 constant.c  constant caches
 *   bandwidth.c how much passes in a time          cluster.c   shared memory of another SM
 *   operate.c   what one operation costs           banks.c     banks of shared memory
 *   fingerprint.c  by what to know it again       sets.c      sets and ways of a cache
 *   mapping.c   which lines share a set            policy.c    which line is replaced
 *   series.c    a cache that overflows by one line, load by load; l2_sets.c, sets of an L2
 *   sets_test.c whether sets and ways hold         choice.c    how likely policies are
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
    bool thorough;             /* what is decided by repeats has more of them */
};

/* The samples of a batch, one entry a request. */
struct fth_answers {
    struct fth_samples *items;
    size_t count;
};

/* Has the requests measured. Fails where one of them has no answer: with FTH_INCONCLUSIVE where it
 * is only this one, as for want of memory. */
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
    double confidence; /* share of resamples with the same answer; 0: not known */
    bool disturbed;    /* now and then something took longer */
    const char *note;  /* what a reader should know, or NULL */
};
/* The share of resamples of the values whose median is the same to within the tolerance, by
 * Laplace's rule; NAN where there are none. For cycles of a load the tolerance is half a cycle, or
 * 0.5 %. */
double fth_agreement(const double *values, size_t count, double tolerance);
double fth_cycles_agreement(const double *values, size_t count);

/* ---- latency.c ---- */

/* The share of draws within half a cycle of the value, or 0.5 % where that is more, where nine of
 * ten lie between `low` and `high`; 0.995 at most, since 200 draws know no more. */
double fth_latency_confidence(double value, double low, double high);

/* A plateau of single hops as a figure: the mean of its core, less the overhead. */
FTH_MUST_USE enum fth_status fth_plateau_figure(const uint32_t *cycles, size_t count,
                                                double overhead_cycles, struct fth_figure *figure,
                                                struct fth_error *error);

/* The cycles of one load that hits, from whole passes over two chains of different length: what a
 * pass costs beyond its loads is the same in both and drops out. The longer chain must fit.
 * `every_sm`: measured on all SMs, and the median over them; otherwise on one. Where passes of one
 * length differ, something disturbs them, and single loads are timed instead. */
struct fth_latency_plan {
    enum fth_path path;
    int carveout_percent;
    uint64_t stride_bytes;
    uint64_t short_count, long_count;
    bool every_sm;
    double *by_sm; /* with every_sm: gets the latency of each; NULL: not wanted */
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
/* The same with the TLBs cold as well: `count` loads `stride_bytes` apart, which must be a page of
 * every TLB and together more than any reaches. Near memory only, where there are two. */
FTH_MUST_USE enum fth_status fth_probe_cold_latency(const struct fth_prober *prober,
                                                    double overhead_cycles, uint64_t stride_bytes,
                                                    uint64_t count, struct fth_figure *cycles,
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
    bool evidence;  /* also find resident_bytes and full_miss_bytes */
    bool disturbed; /* hops are known to be slow at times for other reasons than a miss */
    double miss_low_cycles, miss_high_cycles; /* what misses take; 0: as first loads do */
};
struct fth_capacity {
    uint64_t fits_bytes;      /* the largest footprint all of whose loads hit */
    uint64_t misses_bytes;    /* the smallest that has misses; 0: even the largest fits */
    uint64_t resident_bytes;  /* the most that a walk back found after a walk beyond the size */
    uint64_t full_miss_bytes; /* the smallest footprint of which nothing hits; 0: not found */
    double miss_low_cycles, miss_high_cycles; /* what misses take; 0: it did not matter */
    size_t samples;
    double confidence; /* share of repeats with the same verdict on either side of the edge, by
                        * Laplace's rule; NAN: there is no edge */
};
FTH_MUST_USE enum fth_status fth_probe_capacity(const struct fth_prober *prober,
                                                const struct fth_capacity_plan *plan,
                                                struct fth_capacity *capacity,
                                                struct fth_error *error);

/* ---- line.c ---- */

struct fth_line_plan {
    enum fth_path path;
    int carveout_percent;
    uint64_t size_bytes;                      /* that fits */
    double threshold_cycles;                  /* of a timed hop, between a hit and a miss */
    double miss_low_cycles, miss_high_cycles; /* what misses take, where that is known */
};
struct fth_length {
    uint64_t bytes;
    double confidence; /* share of the SMs that say the same, by Laplace's rule */
    size_t samples;
};
/* What one miss brings in: from the distances between the slow hops of a first walk with a stride
 * of one element. FTH_INCONCLUSIVE where they are not regular. */
FTH_MUST_USE enum fth_status fth_probe_fetch_bytes(const struct fth_prober *prober,
                                                   const struct fth_line_plan *plan,
                                                   struct fth_length *length,
                                                   struct fth_error *error);
/* What is evicted together: the cache is filled, another line is loaded, and a walk back finds what
 * is gone. At least what one miss fetches. */
FTH_MUST_USE enum fth_status fth_probe_line_bytes(const struct fth_prober *prober,
                                                  const struct fth_line_plan *plan,
                                                  uint64_t fetch_bytes, struct fth_length *length,
                                                  struct fth_error *error);

/* How often slow hops are so many hops apart; `counts` has room for as many as the walk has. The
 * first hop is slow for other reasons too, and is where something begins anyway. */
void fth_count_distances(const struct fth_samples *walk, double threshold_cycles, unsigned *counts);
/* The index from 1 on whose count is more than half of all; 0: none. */
unsigned fth_most_frequent(const unsigned *counts, unsigned size);

/* ---- sharing.c ---- */

/* A walker in a cache: over so many bytes of it. */
struct fth_walker {
    enum fth_path path;
    uint64_t bytes, stride_bytes;
    double threshold_cycles; /* of a timed hop, between a hit and a miss */
    int carveout_percent;
};
enum fth_sharing { FTH_SHARING_UNKNOWN, FTH_SHARING_NO, FTH_SHARING_YES };
struct fth_sharing_found {
    enum fth_sharing sharing; /* unknown: only one of them evicts, or only a part, or it varies */
    double confidence;        /* share of repeats with the same verdict, by Laplace's rule */
    size_t samples;
};
/* Whether the two walk in one cache: each evicts what the other has loaded. */
FTH_MUST_USE enum fth_status fth_probe_sharing(const struct fth_prober *prober,
                                               const struct fth_walker *a,
                                               const struct fth_walker *b,
                                               struct fth_sharing_found *found,
                                               struct fth_error *error);
/* How many of these caches an SM has: warp 0's loads against those of every other warp of a full
 * block. */
struct fth_instances {
    unsigned count;
    double disturbed[FTH_MOST_WARPS]; /* share of warp 0's lines that each warp evicted */
    double confidence;                /* share of warps that evict clearly or clearly not */
    size_t samples;
};
FTH_MUST_USE enum fth_status fth_probe_instances(const struct fth_prober *prober,
                                                 const struct fth_walker *walker,
                                                 struct fth_instances *found,
                                                 struct fth_error *error);

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
enum { FTH_MOST_FATES = 12 }; /* that a decision takes */

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
    uint64_t most_bytes; /* of memory that may be taken */
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

/* ---- pages.c ---- */

/* A chain of loads far apart, one line each, and what each line costs while its page is at hand. */
struct fth_pages {
    const struct fth_prober *prober;
    uint64_t stride_bytes;
    uint64_t most;          /* loads that there is memory for; at least 4 */
    uint64_t group;         /* neighbours whose pages fit into every TLB */
    double first_extra;     /* what the first load of a walk takes more; the caller's to set */
    uint64_t by_themselves; /* lines that were walked so before larger groups were known to fit */
    double paid;            /* cycles that each load of a group pays for its page all the same */
    double *alone;          /* [most] cycles of a load with its page at hand; of `known` of them */
    uint64_t known;
    size_t samples;
};
/* A walk over `count` of them, over and over: what each load takes beyond its line. There must be
 * no more samples than fit in front of the chain (FTH_PAGE_SAMPLES), or they take pages of their
 * own. */
enum { FTH_MOST_PAGE_PASSES = 16, FTH_PAGE_SAMPLES = 28000 };
struct fth_page_walk {
    uint64_t first; /* of them */
    uint64_t count;
    uint64_t warm;    /* passes that are not timed; 0 counts as 1 */
    unsigned passes;  /* that count, at most FTH_MOST_PAGE_PASSES */
    bool at_once;     /* the first timed pass counts, too: before it, no sample was written */
    double *excess;   /* [passes][count] cycles; NAN: so many that something else disturbed */
    double *mean;     /* [count] over the passes, without what lies far out */
    uint32_t *cycles; /* [passes][count] as they were timed */
};
/* With as much memory as `most` loads take or, where there is not so much, with less. Closed also
 * after a failure. */
FTH_MUST_USE enum fth_status fth_pages_open(const struct fth_prober *prober, uint64_t stride_bytes,
                                            uint64_t most, struct fth_pages *pages,
                                            struct fth_error *error);
void fth_pages_close(struct fth_pages *pages);
/* A walk over so many costs nothing, so that half of them make a group. */
void fth_pages_fit(struct fth_pages *pages, uint64_t count);
/* In a walk over so many every load pays so much, and no more, so that they make a group, too. */
void fth_pages_pay(struct fth_pages *pages, uint64_t count, double cycles);
/* Walks, each with `count`, `warm` and `passes` set; all of them are to be finished. */
FTH_MUST_USE enum fth_status fth_pages_walk(struct fth_pages *pages, struct fth_page_walk *walks,
                                            size_t count, struct fth_error *error);
void fth_page_walks_fini(struct fth_page_walk *walks, size_t count);
/* So many passes, or as many as there may be samples of. */
unsigned fth_page_passes(uint64_t count, unsigned wanted);

/* ---- rung.c ---- */

/* What loads pay for their pages comes in steps, a level of TLBs each. */
struct fth_rung {
    double below, value; /* cycles of a load that misses all levels before this one, and this one */
    bool single;         /* single loads tell the two apart; otherwise only means over passes do */
    double rate;         /* of loads that pay as much though they cannot have missed */
};
/* How much a load differs from one pass to the next, and so what loads and means over passes may be
 * off by: as standard deviations, from a walk that costs nothing. */
struct fth_page_spread {
    double single, mean;
};
FTH_MUST_USE enum fth_status fth_page_spread(const struct fth_page_walk *walk,
                                             struct fth_page_spread *spread,
                                             struct fth_error *error);
/* The next step above `below` in a walk; false: there is none. */
FTH_MUST_USE enum fth_status fth_rung_find(const struct fth_page_walk *walk, double below,
                                           const struct fth_page_spread *spread,
                                           struct fth_rung *rung, bool *found,
                                           struct fth_error *error);
/* Where the line is drawn. */
double fth_rung_threshold(const struct fth_rung *rung);
/* What a walk missed of that level. */
struct fth_page_misses {
    uint64_t all, loads; /* over all passes */
    uint64_t steady;     /* places that miss in most passes */
    uint64_t unsteady;   /* loads that are not as most of their place are */
};
struct fth_page_misses fth_rung_misses(const struct fth_page_walk *walk,
                                       const struct fth_rung *rung);
/* Whether that many are more than there are by chance. */
bool fth_rung_over(const struct fth_page_misses *misses, uint64_t count,
                   const struct fth_rung *rung);
/* Learns the rate, from a walk over so many loads that fit. */
FTH_MUST_USE enum fth_status fth_rung_learn_rate(struct fth_pages *pages, uint64_t fits,
                                                 struct fth_rung *rung, struct fth_error *error);
/* Whether a place missed. */
bool fth_rung_missed(const struct fth_page_walk *walk, const struct fth_rung *rung, uint64_t place);

/* ---- tlb.c ---- */

enum { FTH_MOST_TLBS = 3 };
struct fth_tlb_level {
    uint64_t page_bytes; /* 0: not found, and `doubt` says why; so is what follows */
    double page_confidence;
    uint64_t entries;
    double entries_confidence;
    double penalty_cycles, penalty_low, penalty_high; /* the interval is a 90 % one */
    bool steady; /* the same pages miss in every pass, as where the least recent one is replaced */
    bool single; /* single loads tell a miss; otherwise only means over passes do */
    bool hidden; /* the level before it holds many of the pages that would fill this one */
    bool unsettled; /* entries were not found that could be, were they looked for again */
    const char *doubt;
};
struct fth_tlbs {
    struct fth_tlb_level levels[FTH_MOST_TLBS];
    size_t count;
    size_t samples;
};
/* tlb_entries.c: the most pages that fit, along a chain of the page's stride. */
struct fth_tlb_search {
    struct fth_pages *pages;
    struct fth_rung *rung;
    bool inner_steady;   /* the same pages miss inner levels in every pass */
    uint64_t fits, over; /* pages; over 0: not found */
    uint64_t warm;       /* passes before those that count, for each page; 0: a few */
    unsigned passes;     /* 0: as many as usual */
};
/* Entries of the level, how sure they are, and whether it is steady. `before`: the level that is
 * asked first, or NULL. */
FTH_MUST_USE enum fth_status fth_tlb_find_entries(struct fth_tlb_search *search,
                                                  const struct fth_rung *before,
                                                  struct fth_tlb_level *level,
                                                  struct fth_error *error);
/* Memory for `most_bytes` may be taken. The levels that were found are there whatever the status.
 */
FTH_MUST_USE enum fth_status fth_probe_tlbs(const struct fth_prober *prober, uint64_t most_bytes,
                                            uint64_t l2_bytes, struct fth_tlbs *tlbs,
                                            struct fth_error *error);

/* ---- tlb_sets.c ---- */

/* A level of TLBs that fth_probe_tlbs found, with its page, entries and penalty, and what lies
 * before it. */
struct fth_tlb_sets_plan {
    const struct fth_tlbs *tlbs;
    size_t which;
    uint64_t most_bytes, l2_bytes;
};
/* Mei and Chu's miss rates (Fig. 8): of so many pages so many miss. */
struct fth_tlb_stair {
    uint64_t pages, missing;
};
enum { FTH_MOST_STAIRS = 1024, FTH_MOST_SET_KINDS = 4 };
enum fth_tlb_policy {
    FTH_TLB_POLICY_UNKNOWN,
    FTH_TLB_LEAST_RECENT, /* lru */
    FTH_TLB_FIRST_IN,     /* fifo */
    FTH_TLB_TREE,         /* plru */
    FTH_TLB_RANDOM,       /* any page of the set, equally often */
    FTH_TLB_UNSTEADY,     /* other pages miss in each pass, whether by chance or not */
    FTH_TLB_OTHER         /* the same pages miss in each pass, but not as with the first two */
};
struct fth_tlb_sets {
    /* So many sets have so many ways, the larger ones first. None: not found, and `doubt` says why.
     */
    struct {
        uint64_t sets, ways;
    } kinds[FTH_MOST_SET_KINDS];
    size_t kind_count;
    double confidence; /* that these are the sets */
    enum fth_tlb_policy policy;
    double policy_confidence;
    /* From the entries on until all miss, but the page that the samples go to: an inner level may
     * always have it (then it does not count as a page here), or it is back when it is timed. */
    struct fth_tlb_stair *stairs;
    size_t stair_count;
    /* Passes over one page more than fit, load by load; count 0: none. */
    struct {
        uint64_t pages;
        size_t count;
        uint32_t *cycles;
        bool *missed;
    } series;
    size_t samples;
    const char *doubt;
};
/* To be finished whatever the status. */
FTH_MUST_USE enum fth_status fth_probe_tlb_sets(const struct fth_prober *prober,
                                                const struct fth_tlb_sets_plan *plan,
                                                struct fth_tlb_sets *sets, struct fth_error *error);
void fth_tlb_sets_fini(struct fth_tlb_sets *sets);
/* The misses that each page more adds, where not all sets overflow yet: the median over walks of
 * how much they rose from the one before. Where a hash makes some sets overflow early, more pages
 * change nothing at first: only the later walks count. NAN: there are too few. */
FTH_MUST_USE enum fth_status fth_tlb_slope(const struct fth_tlb_stair *stairs, size_t count,
                                           double *slope, struct fth_error *error);

/* ---- spectrum.c ---- */

/* Mei and Chu's access patterns (Fig. 14). The cache is L1 (path CA) or L2 (path CG). */
enum fth_pattern {
    FTH_PATTERN_HIT,           /* P1: in the cache, page in the first TLB */
    FTH_PATTERN_HIT_MISS,      /* P2: in the cache, page in the second TLB */
    FTH_PATTERN_HIT_MISS_BOTH, /* P3: in the cache, page in no TLB */
    FTH_PATTERN_COLD,          /* P4: in no cache, page in the first TLB */
    FTH_PATTERN_COLD_MISS,     /* P5: in no cache, page in no TLB */
    FTH_PATTERN_SWITCH,        /* P6: the same, and its page table is not active */
    FTH_PATTERNS
};
enum fth_presence { FTH_PRESENCE_UNKNOWN, FTH_ABSENT, FTH_PRESENT };
struct fth_spectrum_plan {
    enum fth_path path;     /* CA or CG */
    int carveout_percent;   /* of shared memory */
    uint64_t page_bytes;    /* the largest page of the TLBs */
    uint64_t first_entries; /* of the first TLB */
    uint64_t last_entries;  /* of the second; 0: there is none, or it cannot be filled */
    bool two_homes;         /* half of the lines come from far memory: of the others is told */
    uint64_t held_lines;    /* that the cache has for sure; 0: more than there are pages */
    uint64_t most_bytes;
};
struct fth_spectrum {
    struct {
        enum fth_presence
            presence;             /* absent: loads cost no more than those of the pattern before */
        struct fth_figure cycles; /* of a timed hop, the clock's cost included */
    } patterns[FTH_PATTERNS];
    uint64_t page_table_bytes; /* addresses that a page table is for; 0: no sixth pattern */
    uint64_t stride_bytes;     /* of the chain */
    size_t samples;
};
FTH_MUST_USE enum fth_status fth_probe_spectrum(const struct fth_prober *prober,
                                                const struct fth_spectrum_plan *plan,
                                                struct fth_spectrum *spectrum,
                                                struct fth_error *error);

/* ---- cluster.c ---- */

/* Blocks of all clusters that are tried: of 2, 4 and 8. */
enum { FTH_CLUSTER_TARGETS = 14 };

struct fth_cluster_target {
    uint32_t size, target; /* 0: block 0's own */
    struct fth_figure cycles;
};
struct fth_cluster_latency {
    struct fth_figure own;         /* a block's own shared memory, through the same loads */
    struct fth_figure near_cycles; /* the nearest others */
    struct fth_figure far_cycles;  /* the farthest, where they differ; otherwise the value is NAN */
    struct fth_cluster_target targets[FTH_CLUSTER_TARGETS]; /* by size, then by target */
    size_t target_count;
};
/* The cycles of a load from the shared memory of another block of a cluster. FTH_UNSUPPORTED where
 * the GPU, or its driver, has no clusters. */
FTH_MUST_USE enum fth_status fth_probe_cluster(const struct fth_prober *prober,
                                               struct fth_cluster_latency *latency,
                                               struct fth_error *error);
/* How many rare events there may be where so many are to be expected: five standard deviations
 * more, and one, since few events have a longer tail. */
double fth_most_by_chance(double expected);

/* ---- fetch.c ---- */

enum { FTH_MOST_FETCH_LEVELS = 4 };

/* A plateau of cycles an instruction, and how long code can be to run at it. */
struct fth_fetch_level {
    struct fth_figure cycles; /* of an instruction of straight-line code */
    uint64_t fits_bytes;      /* the longest code all of which does; 0: no length is slower */
    uint64_t misses_bytes;    /* the next longer one that was tried */
    uint64_t full_bytes;      /* the shortest that runs at the next plateau's pace; 0: none does */
    double confidence;        /* of the edge, as that of struct fth_capacity */
};
/* The innermost first. The last plateau is what lies behind the last cache, unless it is the only
 * one: then no code was too long, and how many caches there are is not known. Where the last one
 * has an end (fits_bytes), longer code is slower, and what it costs is no plateau. */
struct fth_fetch_levels {
    struct fth_fetch_level items[FTH_MOST_FETCH_LEVELS];
    size_t count;
    struct fth_code_size code; /* what instructions take, which is taken for granted */
    uint64_t longest_bytes;    /* of the code that was tried */
    size_t samples;
};
FTH_MUST_USE enum fth_status fth_probe_fetch(const struct fth_prober *prober,
                                             struct fth_fetch_levels *levels,
                                             struct fth_error *error);

/* ---- constant.c ---- */

struct fth_constant_cache {
    struct fth_figure cycles; /* of a load that hits */
    uint64_t line_bytes;      /* what one miss fetches; 0: not found */
    double line_confidence;   /* share of repeats that say the same, by Laplace's rule */
    struct fth_capacity capacity;
};

/* The capacity of L1.5 is that of the constant bank, with misses_bytes 0, where it holds as much or
 * more and nothing else tells; where it shares its room with code, it is what both have together.
 */
struct fth_constants {
    struct fth_constant_cache l1, l15;
    double overhead_cycles; /* of timing one hop */
    bool has_l15;
    bool l15_by_passes;          /* its latency is from whole passes; otherwise from single hops */
    enum fth_sharing with_code;  /* of L1.5 with an instruction cache */
    double with_code_confidence; /* of two ways to find it that agree, by Laplace's rule */
    int code_level;              /* of `code`; -1: none is as large */
};
/* `code` may be NULL: then sharing stays unknown. */
FTH_MUST_USE enum fth_status fth_probe_constants(const struct fth_prober *prober,
                                                 const struct fth_fetch_levels *code,
                                                 struct fth_constants *constants,
                                                 struct fth_error *error);

/* ---- carveout.c ---- */

enum { FTH_MOST_CARVEOUTS = 48 };

struct fth_carveout_plan {
    struct fth_capacity_plan l1; /* its path, stride and cycles; the rest is filled in */
    uint64_t l1_bytes;           /* that it holds at the smallest carve-out */
    uint64_t shared_bytes;       /* the largest carve-out */
};
struct fth_carveout {
    unsigned first_percent, last_percent; /* that a launch asks for */
    uint64_t shared_bytes, l1_bytes;
};
/* From the smallest to the largest. One alone: L1 is as large under all of them, and its sizes are
 * not filled in. */
struct fth_carveouts {
    struct fth_carveout items[FTH_MOST_CARVEOUTS];
    size_t count;
    size_t samples;
};
FTH_MUST_USE enum fth_status fth_probe_carveouts(const struct fth_prober *prober,
                                                 const struct fth_carveout_plan *plan,
                                                 struct fth_carveouts *carveouts,
                                                 struct fth_error *error);
/* The carve-out whose last percentage this is, of the largest; false where there is none that could
 * be, or more than one. */
bool fth_carveout_bytes(uint64_t shared_bytes, unsigned last_percent, uint64_t *bytes);

/* Whether there is so much shared memory for a block: the cycles a load of a chain over all of it
 * takes. */
FTH_MUST_USE enum fth_status fth_probe_shared_bytes(const struct fth_prober *prober, uint64_t bytes,
                                                    double *cycles, size_t *samples,
                                                    struct fth_error *error);

/* ---- bandwidth.c ---- */

/* What is measured, over all SMs at once. A copy counts what is read and what is written. Writes to
 * L1 go through to L2, which bounds them. A load of the constant bank counts once for its warp, as
 * all lanes want the same. */
enum fth_bandwidth_target {
    FTH_BANDWIDTH_MEMORY_READ,
    FTH_BANDWIDTH_MEMORY_WRITE,
    FTH_BANDWIDTH_MEMORY_COPY,
    FTH_BANDWIDTH_L2_READ,
    FTH_BANDWIDTH_L2_WRITE,
    FTH_BANDWIDTH_L2_COPY,
    FTH_BANDWIDTH_L1_READ,
    FTH_BANDWIDTH_L1_WRITE,
    FTH_BANDWIDTH_READONLY_READ,
    FTH_BANDWIDTH_TEXTURE_READ,
    FTH_BANDWIDTH_CONSTANT_READ,
    FTH_BANDWIDTH_SHARED_READ,
    FTH_BANDWIDTH_SHARED_WRITE,
    FTH_BANDWIDTH_SHARED_COPY,
    FTH_BANDWIDTH_CLUSTER_READ, /* shared memory of another SM, in clusters of two */
    FTH_BANDWIDTH_CLUSTER_WRITE,
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
 * to the next; `bandwidth` has it all the same. FTH_UNSUPPORTED: the GPU has no such thing.
 * `thorough`: more shapes are tried, and the best is measured more often. */
/* What cannot be more: memory moves two words a clock over its bus (the driver's clock is that of
 * GDDR and HBM alike, half of the rate of data). NAN: not known. */
double fth_memory_limit(const struct fth_gpu *known);
FTH_MUST_USE enum fth_status fth_probe_bandwidth(const struct fth_prober *prober,
                                                 const struct fth_gpu *known,
                                                 enum fth_bandwidth_target target, bool thorough,
                                                 struct fth_bandwidth *bandwidth,
                                                 struct fth_error *error);

/* ---- operate.c ---- */

/* An operation, timed over so many rounds and over more. */
struct fth_operate_plan {
    struct fth_operate operate; /* without its rounds */
    uint64_t rounds, more_rounds;
    int carveout_percent;
};
/* The cycles of one operation of every thread of a block: of one chain of one warp its latency;
 * threads over it, where there are many, how many are done in a cycle. */
FTH_MUST_USE enum fth_status fth_probe_operate(const struct fth_prober *prober,
                                               const struct fth_operate_plan *plan,
                                               struct fth_figure *cycles, struct fth_error *error);

/* ---- banks.c ---- */

struct fth_banks {
    unsigned banks;
    unsigned bank_bytes;    /* 0: not found */
    double first_cycles;    /* of a load without conflict */
    double conflict_cycles; /* of every further word of the same bank */
    double residual_cycles; /* that the latencies are off the line, root mean square */
    size_t samples;
};
FTH_MUST_USE enum fth_status fth_probe_banks(const struct fth_prober *prober,
                                             struct fth_banks *banks, struct fth_error *error);
/* ---- fingerprint.c ---- */

/* What a place in the row of features means; with another meaning comes another version. */
enum { FTH_FEATURES_VERSION = 1, FTH_FEATURE_NAME_BYTES = 32 };
const char *fth_feature_name(size_t index, char name[FTH_FEATURE_NAME_BYTES]);
/* How many a device has: GPUs with different numbers of SMs differ in it. */
size_t fth_feature_count(const struct fth_prober *prober);
/* What a feature counts, of so many, when two GPUs are compared. */
double fth_feature_weight(size_t index, size_t count);
/* One row of features, NAN where the device cannot answer. `run` is the number of the run, 0, 1, …:
 * each measures in other memory. */
FTH_MUST_USE enum fth_status fth_probe_fingerprint(const struct fth_prober *prober,
                                                   double nominal_clock_mhz, unsigned run,
                                                   double *features, struct fth_error *error);
/* ---- mapping.c ---- */

/* Which lines fall into the same set, by their number within an array that is aligned to its size.
 */
enum fth_mapping_kind {
    FTH_MAPPING_MOD,    /* (line >> shift) % modulus */
    FTH_MAPPING_LINEAR, /* bit i of the set: parity of the line under the i-th row of `hash` */
    FTH_MAPPING_FOLD,   /* (groups of `shift` bits XORed, ^ offset) % modulus */
    FTH_MAPPING_DEAL    /* table[line % modulus] */
};
struct fth_mapping {
    enum fth_mapping_kind kind;
    unsigned shift;
    uint64_t modulus, offset;
    struct fth_gf2 hash;
    unsigned bits;   /* of the line's number that were looked at; those above are not known */
    uint32_t *table; /* owned */
};
void fth_mapping_fini(struct fth_mapping *mapping);
uint64_t fth_mapping_set(const struct fth_mapping *mapping, uint64_t line);
uint64_t fth_mapping_sets(const struct fth_mapping *mapping);

/* The lines [0, fits) fit; one more was loaded; these of them had to go, or some of these. */
struct fth_eviction {
    uint64_t line;
    uint32_t *victims;
    size_t count;
};
struct fth_evictions {
    uint64_t fits;
    struct fth_eviction *items;
    size_t count, capacity;
    bool whole;    /* all lines of a set go, one after the other, where one has to */
    bool *ignored; /* [fits] lines that go for other reasons; NULL: none */
};
void fth_evictions_fini(struct fth_evictions *evictions);

/* The finest mapping that explains the evictions, of those that a description can name and of
 * linear hashes. One set explains everything that does not contradict it. Fails with
 * FTH_INCONCLUSIVE where there is none. */
FTH_MUST_USE enum fth_status fth_mapping_fit(const struct fth_evictions *evictions,
                                             struct fth_mapping *mapping, struct fth_error *error);
/* Whether the mapping explains one more eviction beside these. */
bool fth_mapping_explains(const struct fth_mapping *mapping, const struct fth_evictions *evictions,
                          const struct fth_eviction *eviction);
/* How a description names the mapping: true. What it is in words, where there is no name: false. */
bool fth_mapping_name(const struct fth_mapping *mapping, uint64_t line_bytes, bool equal_sets,
                      char *text, size_t size);
/* How many lines from one to the next of a chain that stays in the set of `line`, `count` long and
 * within `limit` lines; the `skip`-eth that there is. 0: none. */
uint64_t fth_mapping_stride(const struct fth_mapping *mapping, uint64_t line, uint64_t count,
                            uint64_t limit, unsigned skip);

/* ---- choice.c ---- */

/* Which lines went, in sets of so many ways that overflow by one line. */
struct fth_choices {
    uint64_t ways;
    uint64_t *by_arrival;  /* [ways] the one that came first, the second, … Owned. */
    uint64_t *by_way;      /* [ways] as they were filled. Owned. */
    uint64_t least_recent; /* that was used longest ago */
    uint64_t replaced;     /* all of them */
};
void fth_choices_fini(struct fth_choices *choices);
/* Adds a set that was filled with its lines 0, 1, …, `ways` in turn and then walked over in this
 * order: the lines that missed, one after the other. Sets of other ways than the first are left
 * out. */
FTH_MUST_USE enum fth_status fth_choices_follow(struct fth_choices *choices, uint64_t ways,
                                                const uint32_t *missed, size_t count,
                                                struct fth_error *error);
/* What it takes to tell a replacement to one who knows the policy; the fewer, the likelier it is.
 */
struct fth_choice_bits {
    const char *name; /* of a policy, or "by arrival": some of those that came first, by chance */
    double bits;
};
enum { FTH_CHOICES = 6 };
/* How many there are: FTH_CHOICES, or 0 where too little was seen. */
size_t fth_choices_judge(const struct fth_choices *choices, struct fth_choice_bits *bits);
/* None but one of so many that came first ever went. */
uint64_t fth_choices_reach(const struct fth_choices *choices);

/* ---- sets.c ---- */

/* A cache, as far as it is known before it is dissected. */
struct fth_cache_plan {
    enum fth_path path;
    int carveout_percent;
    uint64_t line_bytes;
    uint64_t fits_bytes;     /* the largest footprint without a miss */
    double threshold_cycles; /* of a timed hop, between a hit and a miss */
    bool alone;              /* all SMs share it: one walk at a time */
    bool one_step;           /* beginning another step disturbs it: this is also found out */
};
struct fth_structure {
    struct fth_mapping mapping;
    uint64_t sets;
    uint64_t ways;            /* of every set; 0: they differ */
    uint64_t *set_ways;       /* [sets] where they differ; NULL: they do not. Owned. */
    char index[64];           /* as a description names it; "": it has no name for it */
    char hash[256];           /* then, what it is */
    struct fth_chain one_set; /* a chain of lines of one set, as many as it has ways; count 0: none
                               */
    bool whole;               /* where a line has to go, all of its set go in turn */
    struct fth_choices choices; /* which lines went, where that was seen on the way */
    double confidence;
    size_t samples;
};
void fth_structure_fini(struct fth_structure *structure);
/* Sets, ways and which lines share a set. Fails with FTH_INCONCLUSIVE where they cannot be told. */
FTH_MUST_USE enum fth_status fth_probe_sets(const struct fth_prober *prober,
                                            const struct fth_cache_plan *plan,
                                            struct fth_structure *structure,
                                            struct fth_error *error);

/* ---- l2_sets.c ---- */

/* Sets and ways of an L2 of `size_bytes`, and its line, from strides alone: for an L2 that is small
 * and takes sets in turn. Fills plan->line_bytes and plan->threshold_cycles. FTH_INCONCLUSIVE where
 * the strides show something else. */
FTH_MUST_USE enum fth_status fth_probe_l2_sets(const struct fth_prober *prober, uint64_t size_bytes,
                                               struct fth_cache_plan *plan,
                                               struct fth_structure *structure,
                                               struct fth_error *error);

/* ---- policy.c ---- */

enum { FTH_MOST_REPLAY = 16 };
/* One load of a set that overflows by a line: which line, and the way that it went into. */
struct fth_replay {
    uint32_t line; /* the how-many-eth of the chain */
    int way;       /* -1: it was there */
};
struct fth_replacement {
    const char *policy; /* "lru", "fifo", "lfu", "random", "weighted" */
    double *way_shares; /* [ways] of all replacements; NULL: the policy chooses by other things */
    uint64_t ways;
    bool periodic; /* the sequence of hits and misses repeats itself with the chain */
    struct fth_replay replay[FTH_MOST_REPLAY]; /* after the ways were filled in turn */
    size_t replay_count;
    uint64_t replaced; /* how many replacements were seen */
    double confidence;
    size_t samples;
};
void fth_replacement_fini(struct fth_replacement *replacement);
/* The chance that things which are chosen equally often were chosen so many times each, or more
 * unevenly: G-test. */
double fth_evenness(const uint64_t *counts, size_t count, uint64_t total);
/* Which line is replaced, in a set that `one_set` fills. FTH_INCONCLUSIVE where no known policy
 * does what is seen; `periodic` is told all the same. */
FTH_MUST_USE enum fth_status fth_probe_policy(const struct fth_prober *prober,
                                              const struct fth_cache_plan *plan,
                                              const struct fth_chain *one_set,
                                              struct fth_replacement *replacement,
                                              struct fth_error *error);

/* ---- series.c ---- */

/* The cycles of timed hops that hit the cache, and that miss it: half of what fits, walked again,
 * and twice as much as fits. FTH_INCONCLUSIVE where they are not apart. */
FTH_MUST_USE enum fth_status fth_probe_hit_and_miss(const struct fth_prober *prober,
                                                    const struct fth_cache_plan *plan,
                                                    double *hit_cycles, double *miss_cycles,
                                                    struct fth_error *error);
/* What timing costs, without a load: two readings of the clock, and those with what a timed hop
 * does between them besides the load. */
FTH_MUST_USE enum fth_status fth_probe_timing(const struct fth_prober *prober,
                                              struct fth_figure *clock_cycles,
                                              struct fth_figure *sink_cycles,
                                              struct fth_error *error);
/* A cache that overflows by one line, from the first load on. */
struct fth_overflow {
    uint64_t lines;   /* a pass */
    uint32_t *cycles; /* [count], owned */
    size_t count;
};
void fth_overflow_fini(struct fth_overflow *overflow);
FTH_MUST_USE enum fth_status fth_probe_overflow(const struct fth_prober *prober,
                                                const struct fth_cache_plan *plan, uint64_t passes,
                                                struct fth_overflow *overflow,
                                                struct fth_error *error);

/* ---- sweep.c ---- */

/* Times of a sweep or a transfer, all of one request. FTH_INCONCLUSIVE where what it leaves is not
 * what it should. */
struct fth_durations {
    double best_ns, median_ns, worst_ns;
    size_t count;
    bool direct; /* from GPU to GPU */
};
FTH_MUST_USE enum fth_status fth_probe_durations(const struct fth_prober *prober,
                                                 const struct fth_request *request,
                                                 struct fth_durations *durations,
                                                 struct fth_error *error);

#endif
