/* Shared by the two files that find the sets of a cache. sets.c finds which lines evict which, and
 * the mapping that explains it. sets_verify.c verifies the mapping with further chains. */
#ifndef FTH_PROBE_SETS_H
#define FTH_PROBE_SETS_H

#include "probe/structure.h"

enum {
    FTH_SETS_MIN_EVICTING = 24, /* lines that evict another one: more than the address bits that a
                                   hash can use (16 bits of line index in 2 MiB of 32-byte lines) */
    FTH_SETS_MAX_TESTED = 64    /* sets that are tested one by one. Heuristic: limits the time. */
};
/* Maximum number of loads spent on showing that a cache has only one set, or that a set is not
 * smaller than assumed. Heuristic: limits the time. */
static const uint64_t fth_sets_max_hops = 1000000;

struct fth_sets_work {
    const struct fth_prober *prober;
    const struct fth_cache_plan *plan;
    uint64_t fits;    /* lines that fit */
    uint64_t limit;   /* lines of the array; all line indices are below it */
    unsigned votes;   /* repeats of each eviction request, decided by majority */
    bool use_windows; /* starting a step evicts lines: use requests of one step, see try_windows */
    struct fth_evictions evictions;
    size_t far_evicting; /* randomly chosen lines, or windows, that evicted another line */
    bool *members;       /* [fits + 1] line missed in a walk over one line more than fits: it is in
                            the set that overflows */
    uint64_t member_count;
    struct fth_structure *structure;
    struct fth_rng rng;
};

/* ---- sets.c ---- */

/* Returns a chain of `count` lines from `line` on; `stride` is in lines. */
struct fth_chain fth_sets_chain(const struct fth_sets_work *work, uint64_t line, uint64_t stride,
                                uint64_t count);
/* Returns in how many of the passes 1 to `passes` the line missed; pass 0 is ignored. `count` is
 * the number of hops per pass. */
uint64_t fth_sets_count_misses(const struct fth_sets_work *work, const uint32_t *cycles,
                               uint64_t count, uint64_t line, uint64_t passes);
/* Walks one line more than fits and records in work->members the lines that ever miss. Sets *same
 * to true if each of these lines misses in every pass, as with LRU. */
FTH_MUST_USE enum fth_status fth_sets_find_members(struct fth_sets_work *work, uint64_t passes,
                                                   bool *same, struct fth_error *error);
/* Finds what FTH_SETS_MIN_EVICTING further lines (or windows) evict, and appends it to
 * work->evictions. *count is their number; it is 0 if the array has no further lines. */
FTH_MUST_USE enum fth_status fth_sets_try_more(struct fth_sets_work *work, size_t *count,
                                               struct fth_error *error);

/* ---- sets_verify.c ---- */

/* Verifies the mapping of work->structure and fills its sets, ways, confidence and one_set. Fails
 * with FTH_INCONCLUSIVE if a test contradicts the mapping. */
FTH_MUST_USE enum fth_status fth_sets_verify(struct fth_sets_work *work, struct fth_error *error);

#endif
