/* Between the two halves of finding sets: sets.c, which lines evict which and the mapping that
 * explains it; sets_test.c, whether that mapping holds. */
#ifndef FTH_PROBE_SETS_H
#define FTH_PROBE_SETS_H

#include "probe/structure.h"

enum {
    FTH_SETS_MIN_EVICTING = 24, /* lines that evict something: more than a hash has address bits */
    FTH_SETS_MAX = 64           /* sets that are tested one by one */
};
/* Loads that finding out whether one set is all there is may take. */
static const uint64_t fth_sets_max_hops = 1000000;

struct fth_sets_work {
    const struct fth_prober *prober;
    const struct fth_cache_plan *plan;
    uint64_t fits, limit; /* lines */
    unsigned votes;
    bool windows; /* lines are lost whenever a step begins: one step must do */
    struct fth_evictions evictions;
    size_t far_evicting; /* lines anywhere that evicted something */
    bool *members;       /* [fits + 1] seen to miss where one line more than fits is walked */
    uint64_t member_count;
    struct fth_structure *structure;
    struct fth_rng rng;
};

/* ---- sets.c ---- */

FTH_MUST_USE static inline enum fth_status fth_sets_no_memory(struct fth_error *error)
{
    fth_fail(error, FTH_NO_MEMORY, "find sets", NULL, "out of memory");
    return FTH_NO_MEMORY;
}
struct fth_chain fth_sets_lines(const struct fth_sets_work *work, uint64_t line, uint64_t stride,
                                uint64_t count);
/* In how many of the passes but the first a line was slow. */
uint64_t fth_sets_misses(const struct fth_sets_work *work, const uint32_t *cycles, uint64_t count,
                         uint64_t line, uint64_t passes);
/* Walks one line more than fits and notes which lines ever miss. True in *same where all of them do
 * in every pass. */
FTH_MUST_USE enum fth_status fth_sets_look(struct fth_sets_work *work, uint64_t passes, bool *same,
                                           struct fth_error *error);
/* What as many further lines evict as FTH_SETS_MIN_EVICTING, or as there are; how many. */
FTH_MUST_USE enum fth_status fth_sets_try_more(struct fth_sets_work *work, size_t *count,
                                               struct fth_error *error);

/* ---- sets_test.c ---- */

/* Whether the structure's mapping holds; completes the structure. */
FTH_MUST_USE enum fth_status fth_sets_test(struct fth_sets_work *work, struct fth_error *error);

#endif
