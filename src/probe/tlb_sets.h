/* Shared by the two files that find the structure of a TLB: tlb_sets.c (sets and ways) and
 * tlb_policy.c (which page is evicted). */
#ifndef FTH_PROBE_TLB_SETS_H
#define FTH_PROBE_TLB_SETS_H

#include "probe/tlb.h"

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

/* Finds the replacement policy, once the sets are known: sets->policy and its confidence. */
FTH_MUST_USE enum fth_status fth_tlb_find_policy(const struct fth_tlb_study *study,
                                                 struct fth_tlb_sets *sets,
                                                 struct fth_error *error);

#endif
