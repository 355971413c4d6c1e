/* A cache taken apart: which lines share a set, sets and ways, which line is replaced, and what is
 * seen load by load. */
#ifndef FTH_PROBE_STRUCTURE_H
#define FTH_PROBE_STRUCTURE_H

#include "probe/probe.h"

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
    uint64_t *by_arrival; /* [ways] the one that came first, the second, … Owned. */
    uint64_t *by_way;     /* [ways] as they were filled. Owned. */
    uint64_t min_recent;  /* that was used longest ago */
    uint64_t replaced;    /* all of them */
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

enum { FTH_MAX_REPLAY = 16 };
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
    struct fth_replay replay[FTH_MAX_REPLAY]; /* after the ways were filled in turn */
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

#endif
