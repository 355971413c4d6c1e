/* probe/structure/: the structure of one cache, from which lines of it evict which.
 *
 *   mapping.c             the index function that explains a list of evictions
 *   sets.c                which lines evict which; sets, ways and index function
 *   sets_verify.c         verifies the sets and ways that sets.c found
 *   replacement_policy.c  replacement policy, from the lines of one set
 *   choice.c              likelihood of each policy, from the victims that sets.c saw
 *   code_ways.c           ways of the instruction caches
 *   overflow.c            latencies of hits and misses, and of each load of a cache that overflows
 *                         by one line
 */
#ifndef FTH_PROBE_STRUCTURE_H
#define FTH_PROBE_STRUCTURE_H

#include "probe/probe.h"

/* ---- mapping.c ---- */

/* The form of an index function. */
enum fth_mapping_kind {
    FTH_MAPPING_MOD,    /* (line >> shift) % modulus */
    FTH_MAPPING_LINEAR, /* bit i of the set: parity of (line & row i of `hash`) */
    FTH_MAPPING_FOLD,   /* (XOR of all groups of `shift` bits of the line, ^ offset) % modulus */
    FTH_MAPPING_ROUND_ROBIN /* table[line % modulus] */
};
/* An index function. It maps the index of a line within an array to a set. The array is aligned to
 * its own size, so the low bits of a line's index are address bits. */
struct fth_mapping {
    enum fth_mapping_kind kind;
    unsigned shift;
    uint64_t modulus, offset;
    struct fth_gf2 hash;
    /* LINEAR: number of low bits of the line index that were tested; higher bits are unknown. */
    unsigned bits;
    uint32_t *table; /* ROUND_ROBIN: [modulus] set of each line, owned */
};
/* Frees the table. The mapping is then that to one set. */
void fth_mapping_fini(struct fth_mapping *mapping);
/* Returns the set of a line, from 0 to fth_mapping_sets() - 1. */
uint64_t fth_mapping_set(const struct fth_mapping *mapping, uint64_t line);
/* Returns the number of sets. */
uint64_t fth_mapping_sets(const struct fth_mapping *mapping);

/* What one line evicts: the lines [0, fits) were resident, then `line` was loaded. */
struct fth_eviction {
    uint64_t line;
    uint32_t *victims; /* [count] lines of [0, fits) that were seen to be evicted, owned */
    size_t count;
};
/* The evictions that were seen. */
struct fth_evictions {
    uint64_t fits; /* lines that fit in the cache */
    struct fth_eviction *items;
    size_t count, capacity;
    bool whole_sets; /* one line too many evicts all lines of its set, one after the other */
    bool *ignored;   /* [fits] lines that miss even if nothing evicts them; NULL: none */
};
/* Frees all evictions. */
void fth_evictions_fini(struct fth_evictions *evictions);

/* Finds the mapping with the most sets that explains all evictions. The candidates are the index
 * functions that a description can name, and all linear hashes. A single set is the last candidate.
 * Fails with FTH_INCONCLUSIVE if no candidate explains the evictions. */
FTH_MUST_USE enum fth_status fth_mapping_fit(const struct fth_evictions *evictions,
                                             struct fth_mapping *mapping, struct fth_error *error);
/* Sets *explains to whether the mapping explains `eviction` as well as all of `evictions`. */
FTH_MUST_USE enum fth_status fth_mapping_explains(const struct fth_mapping *mapping,
                                                  const struct fth_evictions *evictions,
                                                  const struct fth_eviction *eviction,
                                                  bool *explains, struct fth_error *error);
/* Writes the name that a description uses for the mapping, and returns true. If descriptions have
 * no name for it, writes a readable formula and returns false. `equal_sets`: all sets have the same
 * number of ways. */
bool fth_mapping_name(const struct fth_mapping *mapping, uint64_t line_bytes, bool equal_sets,
                      char *text, size_t size);
/* Returns a stride, in lines, such that `count` lines from `line` on are all in the set of `line`
 * and below `limit`. Several strides can satisfy this; the first `skip` of them are skipped.
 * Returns 0 if there is none. */
uint64_t fth_mapping_stride(const struct fth_mapping *mapping, uint64_t line, uint64_t count,
                            uint64_t limit, unsigned skip);

/* ---- choice.c ---- */

/* Which lines a policy chose as victims: counts of replacements, summed over sets of `ways` ways
 * that overflow by one line. */
struct fth_choices {
    uint64_t ways;        /* 0: nothing was added yet */
    uint64_t *by_arrival; /* [ways] by the victim's rank in order of arrival, 0: oldest. Owned. */
    uint64_t *by_way;     /* [ways] by the victim's way, numbered in order of filling. Owned. */
    uint64_t lru_victims; /* replacements whose victim was the least recently used line */
    uint64_t replaced;    /* all replacements */
};
/* Frees the counts. */
void fth_choices_fini(struct fth_choices *choices);
/* Adds the replacements of one set. The set was filled with its lines 0, 1, …, `ways` in this order
 * and then walked again and again in the same order. `missed` lists the lines that missed after the
 * fill, in time order. A set with other ways than the first one added is ignored. */
FTH_MUST_USE enum fth_status fth_choices_add(struct fth_choices *choices, uint64_t ways,
                                             const uint32_t *missed, size_t count,
                                             struct fth_error *error);
/* How well a policy explains the replacements: the bits needed to encode which line was the victim,
 * given the policy. Fewer bits mean a more likely policy. */
struct fth_choice_bits {
    const char *name; /* a policy, or "by arrival": random, weighted by the rank in arrival order */
    double bits;      /* per replacement */
};
/* Number of candidate policies. */
enum { FTH_CHOICE_POLICIES = 6 };
/* Fills `bits` for every candidate policy. Returns FTH_CHOICE_POLICIES, or 0 if there were too few
 * replacements. */
size_t fth_choices_compare(const struct fth_choices *choices, struct fth_choice_bits *bits);
/* Finds how certain it is which policy needs the fewest bits: draws as many replacements at random
 * from those observed, many times, and counts how often the same policy does. The ranks, the ways
 * and the least recently used victims are drawn independently of each other. */
FTH_MUST_USE enum fth_status fth_choices_resample(const struct fth_choices *choices,
                                                  struct fth_evidence *evidence,
                                                  struct fth_error *error);
/* Returns the smallest n such that every victim was one of the n oldest lines by arrival. */
uint64_t fth_choices_max_rank(const struct fth_choices *choices);
/* Returns whether the replacements are those of the policy clock: every victim was among the oldest
 * quarter of the lines by arrival, but at most half of them were least recently used. */
bool fth_choices_show_clock(const struct fth_choices *choices);

/* ---- sets.c ---- */

/* What is known about a cache before its structure is measured. */
struct fth_cache_plan {
    enum fth_path path;
    int carveout_percent;
    uint64_t line_bytes;
    uint64_t fits_bytes;     /* the largest footprint without a miss */
    double threshold_cycles; /* a timed hop above this is a miss */
    bool alone;              /* all SMs share the cache, so only one walk may run at a time */
    bool one_step;           /* starting another step of a request evicts lines, so a request must
                                have one step only. If false, fth_probe_sets tests for it. */
};
/* The sets, ways and index function of a cache. */
struct fth_structure {
    struct fth_mapping mapping;
    uint64_t sets;
    uint64_t ways;            /* of every set; 0: they differ */
    uint64_t *set_ways;       /* [sets] if the ways differ; NULL otherwise. Owned. */
    char index[64];           /* name of the index function in a description; "": has no name */
    char hash[256];           /* the same name, or the formula of the function if it has no name */
    struct fth_chain one_set; /* lines of one set, as many as it has ways; count 0: unknown */
    bool whole_sets;          /* one line too many evicts all lines of its set */
    struct fth_choices choices;   /* victims, if the method observed them; otherwise ways is 0 */
    struct fth_evidence evidence; /* verification tests */
    size_t samples;
};
/* Frees the structure, which is then empty. */
void fth_structure_fini(struct fth_structure *structure);
/* Finds sets, ways and the index function. Fails with FTH_INCONCLUSIVE if the samples do not
 * support an answer; `structure` is then empty. */
FTH_MUST_USE enum fth_status fth_probe_sets(const struct fth_prober *prober,
                                            const struct fth_cache_plan *plan,
                                            struct fth_structure *structure,
                                            struct fth_error *error);

/* ---- replacement_policy.c ---- */

/* Maximum number of loads that are kept for a report. */
enum { FTH_MAX_REPLAY = 16 };
/* One load of a set that overflows by one line. */
struct fth_replay {
    uint32_t line; /* index of the line in the chain */
    int way;       /* way that the line was filled into; -1: the load hit, or the way is unknown */
};
/* The replacement policy of a cache. */
struct fth_replacement {
    const char *policy; /* "lru", "fifo", "lfu", "plru", "random", "weighted", "clock" */
    double *way_shares; /* [ways] fraction of replacements per way; NULL: the policy does not choose
                           by way. Owned. */
    uint64_t ways;
    bool periodic; /* the hits and misses repeat after a whole number of passes */
    struct fth_replay replay[FTH_MAX_REPLAY]; /* first loads after the ways were filled in order */
    size_t replay_count;
    uint64_t replaced;            /* number of replacements seen */
    struct fth_evidence evidence; /* verification scripts, or the p-value of a test */
    size_t samples;
};
/* Frees the shares of the ways. */
void fth_replacement_fini(struct fth_replacement *replacement);
/* Finds the replacement policy from one set. `one_set` is a chain with as many lines as the set has
 * ways; its further elements must be in the same set. Fails with FTH_INCONCLUSIVE if no known
 * policy explains the samples; `periodic` is filled even then. */
FTH_MUST_USE enum fth_status fth_probe_policy(const struct fth_prober *prober,
                                              const struct fth_cache_plan *plan,
                                              const struct fth_chain *one_set,
                                              struct fth_replacement *replacement,
                                              struct fth_error *error);

/* ---- overflow.c ---- */

/* Measures the cycles of timed hops that hit and that miss the cache: a repeated walk over half of
 * what fits, and over twice what fits (at most the whole constant bank). Fails with
 * FTH_INCONCLUSIVE if the two are too close. */
FTH_MUST_USE enum fth_status fth_probe_hit_and_miss(const struct fth_prober *prober,
                                                    const struct fth_cache_plan *plan,
                                                    double *hit_cycles, double *miss_cycles,
                                                    struct fth_error *error);
/* The latency of every load of a cache that overflows by one line, from the first load on. */
struct fth_overflow {
    uint64_t lines;   /* per pass */
    uint32_t *cycles; /* [count], owned */
    size_t count;
};
/* Frees the cycles. */
void fth_overflow_fini(struct fth_overflow *overflow);
/* Times `passes` passes over one line more than fits, load by load. */
FTH_MUST_USE enum fth_status fth_probe_overflow(const struct fth_prober *prober,
                                                const struct fth_cache_plan *plan, uint64_t passes,
                                                struct fth_overflow *overflow,
                                                struct fth_error *error);

/* ---- code_ways.c ---- */

/* The ways of an instruction cache. */
struct fth_code_ways {
    uint64_t ways;
    uint64_t way_bytes;           /* sets x line */
    struct fth_evidence evidence; /* strides */
    size_t samples;
};
/* Maximum number of results: one per cache level. */
enum { FTH_MAX_CODE_WAYS = 8 };
/* Finds the ways of the instruction caches, from the innermost one. A cache whose ways were not
 * found is left out. FTH_UNSUPPORTED: the instructions of this GPU do not have 16 bytes. */
FTH_MUST_USE enum fth_status fth_probe_code_ways(const struct fth_prober *prober,
                                                 const struct fth_code_size *code,
                                                 struct fth_code_ways found[FTH_MAX_CODE_WAYS],
                                                 size_t *count, struct fth_error *error);

/* ---- shared by sets.c and sets_verify.c ---- */

enum {
    FTH_SETS_MIN_EVICTING = 24, /* lines that evict another one: more than the address bits that a
                                   hash can use (16 bits of line index in 2 MiB of 32-byte lines) */
    FTH_SETS_MAX_TESTED = 64,   /* sets that are tested one by one. Chosen to limit the time. */
    /* Maximum number of loads spent on showing that a cache has only one set, or that a set is not
     * smaller than assumed. Chosen to limit the time. */
    FTH_SETS_MAX_HOPS = 1000000
};

/* The state of one call of fth_probe_sets. */
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

/* In sets.c. Returns a chain of `count` lines from `line` on; `stride` is in lines. */
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

/* In sets_verify.c. Verifies the mapping of work->structure and fills its sets, ways, evidence
 * and one_set. Fails with FTH_INCONCLUSIVE if a test contradicts the mapping. */
FTH_MUST_USE enum fth_status fth_sets_verify(struct fth_sets_work *work, struct fth_error *error);

#endif
