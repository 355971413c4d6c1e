/* Between the two halves of taking a TLB apart: tlb_sets.c, how it overflows; tlb_policy.c, which
 * page goes. */
#ifndef FTH_PROBE_TLB_SETS_H
#define FTH_PROBE_TLB_SETS_H

#include "probe/tlb.h"

struct fth_tlb_study {
    const struct fth_prober *prober;
    const struct fth_tlb_sets_plan *plan;
    const struct fth_tlb_level *level;
    struct fth_pages pages;
    struct fth_rung rung;
    uint64_t inner_entries; /* of all levels before */
    uint64_t first;         /* page of the walks */
    bool steady;            /* the same pages miss in every pass */
    /* Where they are not, of one page more than fit: how often a page missed so many pages of its
     * set after the last that did, [members], from 1 on. Owned. */
    uint64_t *distances;
    uint64_t members;
};

/* Which page a full set gives up, once its sets are known. */
FTH_MUST_USE enum fth_status fth_tlb_find_policy(const struct fth_tlb_study *study,
                                                 struct fth_tlb_sets *sets,
                                                 struct fth_error *error);

#endif
