/* TLBs: loads of one line a page, which of them missed, levels and entries of the TLBs, their sets;
 * and every cache with every TLB. */
#ifndef FTH_PROBE_TLB_H
#define FTH_PROBE_TLB_H

#include "probe/probe.h"

/* ---- pages.c ---- */

/* A chain of loads far apart, one line each, and what each line costs while its page is at hand. */
struct fth_pages {
    const struct fth_prober *prober;
    uint64_t stride_bytes;
    uint64_t max;           /* loads that there is memory for; at least 4 */
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
enum { FTH_MAX_PAGE_PASSES = 16, FTH_PAGE_SAMPLES = 28000 };
struct fth_page_walk {
    uint64_t first; /* of them */
    uint64_t count;
    uint64_t warm;   /* passes that are not timed; 0 counts as 1 */
    unsigned passes; /* that count, at most FTH_MAX_PAGE_PASSES */
    bool at_once;    /* the first timed pass counts, too: before it, no sample was written */
    bool back;      /* what counts is one pass from the last to the first, right after the others */
    double *excess; /* [passes][count] cycles; NAN: so many that something else disturbed */
    double *mean;   /* [count] over the passes, without what lies far out */
    uint32_t *cycles; /* [passes][count] as they were timed */
};
/* With as much memory as `most` loads take or, where there is not so much, with less. Closed also
 * after a failure. */
FTH_MUST_USE enum fth_status fth_pages_open(const struct fth_prober *prober, uint64_t stride_bytes,
                                            uint64_t max, struct fth_pages *pages,
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

enum { FTH_MAX_TLBS = 3 };
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
    struct fth_tlb_level levels[FTH_MAX_TLBS];
    size_t count;
    size_t samples;
};
/* tlb_entries.c: the most pages that fit, along a chain of the page's stride. */
struct fth_tlb_search {
    struct fth_pages *pages;
    struct fth_rung *rung;
    bool inner_steady;    /* the same pages miss inner levels in every pass */
    uint64_t inner_loads; /* that the level before holds; 0: there is none, or it is not known */
    uint64_t fits, over;  /* pages; over 0: not found */
    uint64_t warm;        /* passes before those that count, for each page; 0: a few */
    unsigned passes;      /* 0: as many as usual */
};
/* Entries of the level, how sure they are, and whether it is steady. `before`: the level that is
 * asked first, or NULL. */
FTH_MUST_USE enum fth_status fth_tlb_find_entries(struct fth_tlb_search *search,
                                                  const struct fth_rung *before,
                                                  struct fth_tlb_level *level,
                                                  struct fth_error *error);
/* Memory for `max_bytes` may be taken. The levels that were found are there whatever the status.
 */
FTH_MUST_USE enum fth_status fth_probe_tlbs(const struct fth_prober *prober, uint64_t max_bytes,
                                            uint64_t l2_bytes, struct fth_tlbs *tlbs,
                                            struct fth_error *error);

/* ---- tlb_sets.c ---- */

/* A level of TLBs that fth_probe_tlbs found, with its page, entries and penalty, and what lies
 * before it. */
struct fth_tlb_sets_plan {
    const struct fth_tlbs *tlbs;
    size_t which;
    uint64_t max_bytes, l2_bytes;
};
/* Mei and Chu's miss rates (Fig. 8): of so many pages so many miss. */
struct fth_tlb_stair {
    uint64_t pages, missing;
};
enum { FTH_MAX_STAIRS = 1024, FTH_MAX_SET_KINDS = 4 };
enum fth_tlb_policy {
    FTH_TLB_POLICY_UNKNOWN,
    FTH_TLB_LRU,      /* lru */
    FTH_TLB_FIRST_IN, /* fifo */
    FTH_TLB_TREE,     /* plru */
    FTH_TLB_RANDOM,   /* any page of the set, equally often */
    FTH_TLB_UNSTEADY, /* other pages miss in each pass, whether by chance or not */
    FTH_TLB_OTHER     /* the same pages miss in each pass, but not as with the first two */
};
struct fth_tlb_sets {
    /* So many sets have so many ways, the larger ones first. None: not found, and `doubt` says why.
     */
    struct {
        uint64_t sets, ways;
    } kinds[FTH_MAX_SET_KINDS];
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
    uint64_t max_bytes;
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

#endif
