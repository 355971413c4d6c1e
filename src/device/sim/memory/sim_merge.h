/* Merged stores of a simulated GPU (sim_merge.c). */
#ifndef FTH_SIM_MERGE_H
#define FTH_SIM_MERGE_H

#include "base/base.h"

struct fth_sim_merge_entry;
struct fth_sim_merges {
    int64_t window; /* time within which stores to a line are merged; 0: never */
    struct fth_sim_merge_entry *entries;
};

FTH_MUST_USE enum fth_status fth_sim_merges_init(struct fth_sim_merges *merges, int64_t window,
                                                 struct fth_error *error);
void fth_sim_merges_fini(struct fth_sim_merges *merges);
/* Whether a store of an SM to a line at `time` is merged with an earlier one; otherwise, later
 * stores can be merged with this one. */
bool fth_sim_merge(const struct fth_sim_merges *merges, uint32_t sm, uint64_t line, int64_t time);

#endif
