/* probe/: one file a question about a GPU. Each plans requests, has them measured, and decides;
 * none knows whether a real GPU, a simulated one or a recording answers.
 *
 *   ask.c       requests out, answers in           latency.c   how long a load takes
 *   capacity.c  how much fits                      line.c      what a miss fetches, what is evicted
 *   sharing.c   which loads evict which            l2.c        partitions of the L2
 *   tlb.c       pages, reach, price of TLBs        cluster.c   shared memory of another SM
 *   fetch.c     instruction caches                 constant.c  constant caches
 *   bandwidth.c how much passes in a time          sets.c      sets and ways of a cache
 *   mapping.c   which lines share a set            policy.c    which line is replaced
 *   series.c    a cache that overflows by one line, load by load; l2_sets.c, sets of an L2
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
};

/* ---- latency.c ---- */

/* The cycles of one load that hits, from whole passes over two chains of different length: what a
 * pass costs beyond its loads is the same in both and drops out. The longer chain must fit.
 * `every_sm`: measured on all SMs, and the median over them; otherwise on one. `least`: from the
 * shortest passes instead of the median ones, where there is a disturbance in most of them. */
struct fth_latency_plan {
    enum fth_path path;
    int carveout_percent;
    uint64_t stride_bytes;
    uint64_t short_count, long_count;
    bool every_sm;
    bool least;
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

/* ---- capacity.c ---- */

struct fth_capacity_plan {
    enum fth_path path;
    int carveout_percent;
    uint64_t stride_bytes;   /* at most what one miss fetches */
    uint64_t smallest_bytes; /* fits for sure */
    uint64_t largest_bytes;  /* does not fit for sure, or cannot be had */
    double hit_cycles;       /* of a timed hop, the clock's cost included */
    double miss_cycles;
    bool evidence;    /* also find resident_bytes, full_miss_bytes and the confidence */
    double slow_rate; /* of hops that are slow by disturbance; 0: as seen at the smallest */
};
struct fth_capacity {
    uint64_t fits_bytes;      /* the largest footprint all of whose loads hit */
    uint64_t misses_bytes;    /* the smallest that has misses; 0: even the largest fits */
    uint64_t resident_bytes;  /* the most that a walk back found after a walk beyond the size */
    uint64_t full_miss_bytes; /* the smallest footprint of which nothing hits; 0: not found */
    size_t samples;
    double confidence; /* that the edge is where it is said to be; NAN: not asked */
};
FTH_MUST_USE enum fth_status fth_probe_capacity(const struct fth_prober *prober,
                                                const struct fth_capacity_plan *plan,
                                                struct fth_capacity *capacity,
                                                struct fth_error *error);

/* ---- line.c ---- */

struct fth_line_plan {
    enum fth_path path;
    int carveout_percent;
    uint64_t size_bytes;     /* that fits */
    double threshold_cycles; /* of a timed hop, between a hit and a miss */
};
/* What one miss brings in: from the distances between the slow hops of a first walk with a stride
 * of one element. FTH_INCONCLUSIVE where they are not regular. */
FTH_MUST_USE enum fth_status fth_probe_fetch_bytes(const struct fth_prober *prober,
                                                   const struct fth_line_plan *plan,
                                                   uint64_t *bytes, size_t *samples,
                                                   struct fth_error *error);
/* What is evicted together: the cache is filled, another line is loaded, and a walk back finds what
 * is gone. At least what one miss fetches. */
FTH_MUST_USE enum fth_status fth_probe_line_bytes(const struct fth_prober *prober,
                                                  const struct fth_line_plan *plan,
                                                  uint64_t fetch_bytes, uint64_t *bytes,
                                                  size_t *samples, struct fth_error *error);

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
/* How much of what `victim` had loaded is gone after `actor` walked: 0 to 1. */
FTH_MUST_USE enum fth_status fth_probe_evicts(const struct fth_prober *prober,
                                              const struct fth_walker *victim,
                                              const struct fth_walker *actor, double *share,
                                              size_t *samples, struct fth_error *error);
/* How many of these caches an SM has: warp 0's loads against those of every other warp of a full
 * block. `disturbed` gets the share that each warp evicted, of which FTH_MOST_WARPS. */
FTH_MUST_USE enum fth_status fth_probe_instances(const struct fth_prober *prober,
                                                 const struct fth_walker *walker,
                                                 unsigned *instances, double *disturbed,
                                                 size_t *samples, struct fth_error *error);

/* ---- l2.c ---- */

struct fth_l2_found {
    unsigned partitions;           /* 1 or 2 */
    struct fth_figure far_latency; /* with two */
    uint64_t fill_bytes;           /* what memory brings in; 0: not found */
    size_t samples;
};
FTH_MUST_USE enum fth_status fth_probe_l2(const struct fth_prober *prober, uint64_t l2_bytes,
                                          double l2_cycles, const struct fth_figure *memory,
                                          double overhead_cycles, struct fth_l2_found *found,
                                          struct fth_error *error);

/* ---- tlb.c ---- */

enum { FTH_MOST_TLBS = 3 };
struct fth_tlb_level {
    uint64_t reach_bytes;
    uint64_t page_bytes; /* 0: not found */
    double penalty_cycles;
};
struct fth_tlbs {
    struct fth_tlb_level levels[FTH_MOST_TLBS];
    size_t count;
    size_t samples;
};
FTH_MUST_USE enum fth_status fth_probe_tlbs(const struct fth_prober *prober, uint64_t most_bytes,
                                            uint64_t l2_bytes, struct fth_tlbs *tlbs,
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
    struct fth_capacity capacity;
};
enum fth_sharing { FTH_SHARING_UNKNOWN, FTH_SHARING_NO, FTH_SHARING_YES };

/* The capacity of L1.5 is that of the constant bank, with misses_bytes 0, where it holds as much or
 * more and nothing else tells; where it shares its room with code, it is what both have together.
 */
struct fth_constants {
    struct fth_constant_cache l1, l15;
    bool has_l15;
    enum fth_sharing with_code; /* of L1.5 with an instruction cache */
    int code_level;             /* of `code`; -1: none is as large */
};
/* `code` may be NULL: then sharing stays unknown. */
FTH_MUST_USE enum fth_status fth_probe_constants(const struct fth_prober *prober,
                                                 const struct fth_fetch_levels *code,
                                                 struct fth_constants *constants,
                                                 struct fth_error *error);

/* ---- bandwidth.c ---- */

/* What is measured, over all SMs at once. A copy counts what is read and what is written. Writes to
 * L1 go through to L2: there is no figure of its own for them. A load of the constant bank counts
 * once for its warp, as all lanes want the same. */
enum fth_bandwidth_target {
    FTH_BANDWIDTH_MEMORY_READ,
    FTH_BANDWIDTH_MEMORY_WRITE,
    FTH_BANDWIDTH_MEMORY_COPY,
    FTH_BANDWIDTH_L2_READ,
    FTH_BANDWIDTH_L2_WRITE,
    FTH_BANDWIDTH_L2_COPY,
    FTH_BANDWIDTH_L1_READ,
    FTH_BANDWIDTH_READONLY_READ,
    FTH_BANDWIDTH_TEXTURE_READ,
    FTH_BANDWIDTH_CONSTANT_READ,
    FTH_BANDWIDTH_SHARED_READ,
    FTH_BANDWIDTH_SHARED_WRITE,
    FTH_BANDWIDTH_SHARED_COPY,
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
 * to the next; `bandwidth` has it all the same. FTH_UNSUPPORTED: the GPU has no such thing. */
FTH_MUST_USE enum fth_status fth_probe_bandwidth(const struct fth_prober *prober,
                                                 const struct fth_gpu *known,
                                                 enum fth_bandwidth_target target,
                                                 struct fth_bandwidth *bandwidth,
                                                 struct fth_error *error);

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
