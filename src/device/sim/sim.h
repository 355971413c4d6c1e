/* sim/: a simulated GPU. The PTX engine executes the kernels and calls an observer (sim_timing.c),
 * which computes the time of every instruction. The latencies, cache sizes and bandwidths come from
 * a GPU description (docs/simulator.md).
 *
 *   sim.c           memory, modules, launches
 *   sim_backend.c   opens "sim:h200"
 *   sim_facts.c     what a driver would report
 *   sim_plan.c      parameters, with defaults
 *   sim_shape.c     sizes, sets and ways of caches; which SMs share one
 *   sim_place.c     the SMs on which blocks run
 *   sim_limits.c    figures that are too large to be simulated
 *   sim_timing.c    warps: scoreboard, clock, barriers
 *   sim_fetch.c     instruction fetch
 *   sim_path.c      latency of a memory access
 *   sim_copies.c    asynchronous copies: the copy engine, and when copies are complete
 *   sim_caches.c    caches of the SMs
 *   sim_l2.c        L2 and its partitions, L3, memory
 *   sim_join.c      reads of several SMs that the L2 receives as one
 *   sim_hints.c     what cache operators and hints do
 *   sim_slices.c    slices of the L2, and their latencies
 *   sim_tlb.c       address translation
 *   sim_port.c      bandwidth limits
 *   sim_slots.c     units that serve one request per cycle
 *   sim_transfer.c  copies between host and device
 *   sim_remote.c    accesses of kernels to host memory and managed memory
 *   sim_noise.c     jitter, outliers, and other programs that run at times
 *
 * Times and latencies are integers in thousandths of a cycle, so a latency of 38.8 cycles is
 * exact. Fields and parameters of the type int64_t have this unit unless their comment names
 * another one. */
#ifndef FTH_SIM_H
#define FTH_SIM_H

#include "cache/cache.h"
#include "device/machine.h"
#include "device/sim/memory/sim_merge.h"
#include "device/sim/sim_shape.h"
#include "ptx/ptx.h"

#define FTH_SIM_CYCLE 1000       /* time units per cycle */
enum { FTH_SIM_SCHEDULERS = 4 }; /* warp schedulers per SM, as on most NVIDIA GPUs since Kepler */

/* ---- sim.c ---- */

/* Creates a simulated GPU. It keeps no reference to the description. Close it with ops->close. */
FTH_MUST_USE enum fth_status fth_sim_machine_create(const struct fth_gpu *gpu,
                                                    const struct fth_machine_ops **ops,
                                                    void **machine, struct fth_error *error);
/* Limits the launches of a simulated GPU: `max_instructions` is that of struct fth_ptx_launch, and
 * the callback `interrupted` of the log stops a launch. The log may be NULL; its other callbacks
 * are not used. Without a call of this function, the defaults apply. */
void fth_sim_set_limit(void *machine, uint64_t max_instructions, const struct fth_log *log);

/* ---- sim_plan.c ---- */

/* Time that one byte occupies a resource, in millionths of a cycle; 0: unlimited bandwidth. */
struct fth_sim_rates {
    double read, write;
    /* Added to `write` for a byte written after another byte was read in the same launch, so that a
     * copy reaches the copy bandwidth of the description. May be negative. */
    double copy_extra;
};

/* What a write to global memory does to L1. */
struct fth_sim_l1_writes {
    bool allocates;      /* a miss allocates the line and marks the written bytes as valid */
    bool updates;        /* a hit keeps the data; otherwise it evicts it */
    bool evicts_sectors; /* ... the sectors that are written; otherwise the whole line */
};

/* What a write does to the L2. */
struct fth_sim_l2_writes {
    bool bypasses; /* a miss goes to memory and allocates no line */
    bool masks;    /* a read of written bytes hits, even if only a part of the sector was written;
                    * otherwise the next read fetches the sector */
    bool keeps_copies; /* copies in the other partitions are updated; otherwise invalidated */
};

struct fth_sim_level {
    const char *name; /* of the element of the description */
    bool present;
    unsigned array;     /* index into plan->arrays; elements that share storage have the same */
    int64_t latency;    /* of a hit */
    int64_t fetch_cost; /* instruction caches: issue time of an instruction found here */
    struct fth_sim_rates rates; /* of one SM */
};

enum { FTH_SIM_TLBS = 3 };

/* The link to the host. A figure that the description lacks is NAN. See sim_transfer.c. */
struct fth_sim_host_link {
    double bytes_per_s[FTH_TRANSFER_BOTH + 1][2]; /* [kind][host memory is pinned] */
    double latency_ns;
    /* Accesses of kernels to host memory, and managed memory; see sim_remote.c. */
    double load_latency_ns, fault_ns;
    struct fth_sim_rates rates;
    uint64_t page_bytes; /* unit in which managed memory moves; 0: unknown */
};

/* What an access of a variant does to a cache that misses. */
struct fth_sim_effect {
    bool known; /* the description has it; otherwise the variant has no effect of its own */
    uint64_t fill_bytes; /* aligned bytes that become resident; 0: none */
    enum fth_cache_priority priority;
    bool keeps, evicts; /* what L1 held before stays there, or not; both false: unknown */
};
struct fth_sim_hints {
    struct fth_sim_effect l1[FTH_VARIANTS], l2[FTH_VARIANTS];
};

/* The slices of a partition of the L2. */
struct fth_sim_slices {
    uint32_t count; /* 0: all accesses take the same time */
    uint64_t bytes; /* consecutive bytes in one slice */
    const uint64_t *masks;
    size_t mask_count;
    const uint32_t *groups; /* [sms] */
    /* [group][count] time that an access takes longer, may be negative; NULL: unknown */
    const int64_t *extras;
};

/* The copy engine of an SM, which executes bulk and tensor copies. Without the element `tma` in the
 * description, all members are 0: copies then cost as much as accesses of the warp. */
struct fth_sim_copy_engine {
    bool present;
    int64_t overhead;      /* time that a copy from global or shared memory takes in addition to the
                            * latency of its source */
    int64_t store_latency; /* of a copy to global memory, besides the time of its bytes */
    double cycles_per_byte, store_cycles_per_byte; /* 0: unlimited */
    double copy_cycles;                            /* minimum per copy */
};

struct fth_sim_plan {
    struct fth_arena arena; /* owns every list and text of the plan */
    uint32_t sms, warps_per_sm;
    struct fth_sm_map sm_map; /* sm_map.sms is 0 if the description has no GPCs of SMs */
    bool refill_free;         /* block_refill is "free" */
    unsigned issue_cycles;    /* cycles that one arithmetic instruction occupies its scheduler */
    double clock_mhz;
    double clock_cycles; /* cycles by which %clock advances at a time */

    struct fth_sim_level levels[FTH_SIM_ELEMENTS];
    struct fth_sim_shape arrays[FTH_SIM_ELEMENTS];
    unsigned array_count;
    bool l1_caches_global, l1_caches_local;
    struct fth_sim_l1_writes l1_writes;
    /* Maximum number of loads of a warp, and of sectors of an SM, in flight; 0: no limit. */
    uint32_t warp_loads, sm_sectors;
    int64_t merge_window; /* 0: stores are not merged */
    bool l1_physical;     /* physically addressed: a hit needs its translation */
    /* With a physical L1: time added to the TLB penalties if a hit misses the first TLB. */
    int64_t l1_tlb_extra;
    uint64_t l1_min_bytes;     /* size of L1 at the largest carve-out; 0: not known */
    int64_t fetch_miss_cost;   /* issue time of an instruction that no cache holds */
    struct fth_code_size code; /* bytes per instruction */

    uint64_t shared_bytes;       /* largest carve-out */
    uint64_t shared_block_bytes; /* maximum per block */
    uint64_t unified_bytes;      /* L1 and shared memory together; 0: not known */
    const uint64_t *carveouts;   /* ascending */
    const uint64_t *carveout_l1; /* size of L1 at each carve-out; NULL: the rest of unified_bytes */
    size_t carveout_count;
    int64_t shared_latency;
    int64_t conflict; /* time that each further way of a bank conflict adds */
    uint32_t banks, bank_bytes;
    struct fth_sim_rates shared_rates; /* of one SM */
    struct fth_sim_copy_engine engine;
    bool has_clusters;
    int64_t cluster_latency, cluster_far_latency;
    struct fth_sim_rates cluster_rates; /* of one SM */

    struct fth_sim_shape l2; /* of one partition */
    struct fth_sim_l2_writes l2_writes;
    uint32_t partitions;
    bool l2_by_sm; /* the partitions are independent L2s, each of a group of SMs */
    const uint32_t *near_partitions; /* [sms] */
    uint64_t home_mask;
    const uint32_t *join_groups; /* [sms] SMs with the same number join reads; NULL: none does */
    int64_t join_window;         /* maximum time between two reads that are joined */
    bool joins_lines;            /* reads of different sectors of a line are joined, too */
    int64_t l2_latency, l2_far_latency, memory_latency, memory_far_latency;
    struct fth_sim_slices slices;
    bool has_l3; /* there is a cache behind the L2 */
    struct fth_sim_shape l3;
    int64_t l3_latency;
    struct fth_sim_rates l2_rates, l3_rates, memory_rates; /* of the whole GPU */
    uint64_t memory_bytes;
    /* Refresh [0] and longer pauses [1]: memory delays accesses that arrive in the first `time` of
     * each period. Period 0: there are none. */
    struct {
        int64_t period, time;
    } delays[2];
    struct fth_sim_host_link link;
    struct fth_sim_hints hints;

    struct {
        bool present;
        struct fth_sim_shape shape;
        int64_t penalty;
    } tlbs[FTH_SIM_TLBS];

    uint64_t page_table_bytes; /* addresses per page table; 0: activating one costs nothing */
    int64_t page_table_switch; /* time to activate a page table */

    uint64_t seed;
    int64_t jitter; /* maximum deviation of a latency in whole cycles */
    double outlier_rate;
    double neighbour_rate; /* probability that another program runs before an access */
};

/* Completes the description: fills in every parameter that the description lacks. */
FTH_MUST_USE enum fth_status fth_sim_plan_init(struct fth_sim_plan *plan, const struct fth_gpu *gpu,
                                               struct fth_error *error);
void fth_sim_plan_fini(struct fth_sim_plan *plan);
/* Returns the size of L1 in a launch that prefers a carve-out of `carveout_percent` of the largest
 * one (negative: no preference) and needs `shared_bytes` of shared memory. 0: there is no L1. */
uint64_t fth_sim_plan_l1_bytes(const struct fth_sim_plan *plan, int carveout_percent,
                               uint64_t shared_bytes);

/* ---- sim_limits.c ---- */

/* Refuses a description with a figure outside the range that can be simulated; the error names the
 * figure, its value and the limit. */
FTH_MUST_USE enum fth_status fth_sim_check_description(const struct fth_gpu *gpu,
                                                       struct fth_error *error);
/* Refuses a plan whose caches and TLBs together have too many lines. */
FTH_MUST_USE enum fth_status fth_sim_check_plan(const struct fth_sim_plan *plan,
                                                struct fth_error *error);

/* ---- sim_transfer.c ---- */

/* `clock_mhz` is that of the SMs. */
void fth_sim_host_link_init(struct fth_sim_host_link *link, const struct fth_gpu *gpu,
                            double clock_mhz);
/* Implements the operation `transfer` of struct fth_machine_ops. It computes times only and copies
 * no data. */
FTH_MUST_USE enum fth_status fth_sim_transfer(const struct fth_sim_host_link *link,
                                              const struct fth_transfer *transfer,
                                              uint32_t *samples, struct fth_error *error);

/* ---- sim_port.c ---- */

/* Length in cycles of the time intervals ("buckets") in which a port counts transfers. A launch
 * starts at the beginning of a bucket. Otherwise the measured time of a stream would depend on its
 * position in the bucket. Chosen, not derived: shorter buckets cost more time to simulate, longer
 * ones make waiting times coarser. */
#define FTH_SIM_BUCKET_CYCLES 256

/* A resource with limited bandwidth. Transfers may be added in any order of time. */
struct fth_sim_port {
    struct fth_sim_bucket *ring; /* NULL until first used */
    unsigned bits;               /* log2 of the number of buckets in the ring */
    uint64_t unpaired_reads;     /* bytes read in this launch that are not yet matched by a write */
    bool failed;                 /* there was no memory for the ring */
};

/* Occupies the resource for `microcycles` millionths of a cycle. Returns how long the transfer has
 * to wait for earlier ones. Without memory for the ring, sets `failed` and returns 0. */
int64_t fth_sim_port_take(struct fth_sim_port *port, int64_t time, uint32_t microcycles);
/* Like fth_sim_port_take, for a transfer of the given bytes. The requester owns one of `sharers`
 * equal parts of the bandwidth. */
int64_t fth_sim_port_move(struct fth_sim_port *port, const struct fth_sim_rates *rates,
                          uint32_t sharers, int64_t time, uint64_t read_bytes,
                          uint64_t written_bytes);
void fth_sim_port_fini(struct fth_sim_port *port);

/* ---- sim_slots.c ---- */

/* A unit that serves one request per cycle. Requests may be added in any order of time. */
struct fth_sim_slots {
    struct fth_sim_slot_word *ring; /* NULL until first used */
    unsigned bits;                  /* log2 of the words of the ring, of 64 cycles each */
    bool failed;                    /* there was no memory for the ring */
};

/* Reserves the first `count` free cycles at or after `time`. Returns the time from `time` to the
 * first reserved cycle. Without memory for the ring, sets `failed` and returns 0. */
int64_t fth_sim_slots_take(struct fth_sim_slots *slots, int64_t time, unsigned count);
void fth_sim_slots_fini(struct fth_sim_slots *slots);

/* ---- sim_remote.c ---- */

/* The allocation of host memory or managed memory; zero-initialised. */
struct fth_sim_remote {
    uint64_t address, bytes; /* 0: there is none */
    uint8_t *resident;       /* [page_count] managed memory: the page is on the GPU; else NULL */
    size_t page_count;
};

/* FTH_UNSUPPORTED: the description lacks the figures of host memory or managed memory. */
FTH_MUST_USE enum fth_status fth_sim_remote_check(const struct fth_sim_plan *plan,
                                                  enum fth_residence residence,
                                                  struct fth_error *error);
/* Declares a range of simulated memory to be host memory or managed memory, after a successful
 * check. */
FTH_MUST_USE enum fth_status fth_sim_remote_alloc(struct fth_sim_remote *remote,
                                                  const struct fth_sim_plan *plan,
                                                  enum fth_residence residence, uint64_t address,
                                                  uint64_t bytes, struct fth_error *error);
void fth_sim_remote_free(struct fth_sim_remote *remote);
/* Moves all managed memory to the GPU. */
void fth_sim_remote_prefetch(struct fth_sim_remote *remote);
struct fth_sim_l2;
/* Returns whether the access of an SM goes to host memory; *latency is then its latency. Otherwise,
 * the access goes to the GPU's memory, after *latency. */
bool fth_sim_remote_access(struct fth_sim_remote *remote, struct fth_sim_l2 *l2, uint32_t sm,
                           uint64_t address, uint64_t bytes, bool stores, int64_t time,
                           int64_t *latency);

/* ---- sim_noise.c ---- */

struct fth_sim_noise {
    struct fth_rng rng;
    int64_t jitter;
    double outlier_rate;
    double neighbour_rate;
    int64_t max_latency; /* largest latency without waiting: far memory and a miss in every TLB */
};

void fth_sim_noise_init(struct fth_sim_noise *noise, const struct fth_sim_plan *plan);
/* Returns the latency with noise added, at least one cycle. */
int64_t fth_sim_noise_add(struct fth_sim_noise *noise, int64_t latency);
/* Decides whether another program runs before the next access. If so, returns how long it runs, and
 * sets *l2_bytes to the size of the memory that it reads; otherwise returns 0. */
int64_t fth_sim_noise_neighbour(struct fth_sim_noise *noise, uint64_t l2_size_bytes,
                                uint64_t *l2_bytes);

/* ---- sim_caches.c ---- */

struct fth_sim_instance {
    struct fth_cache *cache; /* NULL until first used */
    uint64_t launch;         /* number of the launch that last used it */
    uint64_t size_bytes;
};

struct fth_sim_caches {
    const struct fth_sim_plan *plan;
    struct fth_sim_instance *instances[FTH_SIM_ELEMENTS]; /* [array], each [owner][per_sm] */
    uint64_t launch;                                      /* number of the current launch */
    uint64_t l1_bytes;                                    /* size of L1 in the current launch */
};

FTH_MUST_USE enum fth_status fth_sim_caches_init(struct fth_sim_caches *caches,
                                                 const struct fth_sim_plan *plan,
                                                 struct fth_error *error);
void fth_sim_caches_fini(struct fth_sim_caches *caches);
/* Starts a launch: empties the caches of the SMs and sets the size of L1. */
void fth_sim_caches_launch(struct fth_sim_caches *caches, uint64_t l1_bytes);
/* Empties the caches of the SMs during a launch. */
void fth_sim_caches_empty(struct fth_sim_caches *caches);
/* Returns the instance of the element that the warp uses; NULL if memory is exhausted. */
struct fth_cache *fth_sim_caches_get(struct fth_sim_caches *caches, enum fth_sim_element element,
                                     uint32_t sm, uint32_t warp);
/* Reads a range of bytes through the cache and fills what is missing. Returns true if every byte
 * hits. Otherwise sets *address and *bytes to the range that the next level has to deliver. */
bool fth_sim_cache_read(struct fth_cache *cache, const struct fth_sim_shape *shape,
                        uint64_t *address, uint64_t *bytes);

/* ---- sim_hints.c ---- */

void fth_sim_hints_init(struct fth_sim_hints *hints, const struct fth_gpu *gpu);
/* Whether L1 keeps what some stores write. */
bool fth_sim_hints_store(const struct fth_sim_hints *hints);
/* Return what an access or prefetch does to L1 and L2. */
struct fth_sim_effect fth_sim_l1_effect(const struct fth_sim_hints *hints,
                                        const struct fth_ptx_access *access);
struct fth_sim_effect fth_sim_l2_effect(const struct fth_sim_hints *hints,
                                        const struct fth_ptx_access *access);
/* Like fth_sim_cache_read, with the effect of a variant, but at most to the end of the line. */
bool fth_sim_hinted_read(struct fth_cache *cache, const struct fth_sim_shape *shape,
                         const struct fth_sim_effect *effect, uint64_t *address, uint64_t *bytes);

/* ---- sim_tlb.c ---- */

/* Page tables that the simulator distinguishes. With 512 MiB per page table they cover 2 TiB. */
enum { FTH_SIM_PAGE_TABLES = 4096 };

struct fth_sim_tlbs {
    const struct fth_sim_plan *plan;
    struct fth_cache **caches[FTH_SIM_TLBS]; /* [level][owner]; NULL until first used */
    uint8_t active[FTH_SIM_PAGE_TABLES];     /* 1: the current launch has used the page table */
    bool any_active;
    bool failed; /* there was no memory for a TLB */
};

FTH_MUST_USE enum fth_status fth_sim_tlbs_init(struct fth_sim_tlbs *tlbs,
                                               const struct fth_sim_plan *plan,
                                               struct fth_error *error);
void fth_sim_tlbs_fini(struct fth_sim_tlbs *tlbs);
/* Starts a launch: deactivates all page tables. */
void fth_sim_tlbs_launch(struct fth_sim_tlbs *tlbs);
/* Empties the TLBs. */
void fth_sim_tlbs_empty(struct fth_sim_tlbs *tlbs);
/* Translates the address for a request of the SM and fills the TLBs. Returns the added latency. */
int64_t fth_sim_tlbs_look_up(struct fth_sim_tlbs *tlbs, uint32_t sm, uint64_t address);

/* ---- sim_join.c ---- */

struct fth_sim_joins {
    const struct fth_sim_plan *plan;
    struct fth_sim_join_entry *entries; /* NULL: no reads are joined */
};

/* Fills in which SMs join their reads. A description that does not tell it joins none. Returns
 * false without memory. */
bool fth_sim_joins_plan(struct fth_sim_plan *plan, const struct fth_gpu *gpu);
FTH_MUST_USE enum fth_status fth_sim_joins_init(struct fth_sim_joins *joins,
                                                const struct fth_sim_plan *plan,
                                                struct fth_error *error);
void fth_sim_joins_fini(struct fth_sim_joins *joins);
/* Whether a read of `bytes` within one line at `time` is joined with an earlier one. If so, sets
 * the time until its data arrive. */
bool fth_sim_join(const struct fth_sim_joins *joins, uint32_t sm, uint64_t address, uint64_t bytes,
                  int64_t time, int64_t *latency);
/* Keeps a read that was sent to the L2, so that later ones can be joined with it. */
void fth_sim_join_keep(const struct fth_sim_joins *joins, uint32_t sm, uint64_t address,
                       uint64_t bytes, int64_t time, int64_t latency);

/* ---- sim_slices.c ---- */

/* Fills plan->slices from the description, after everything else about the L2. Returns false
 * without memory. */
bool fth_sim_slices_init(struct fth_sim_plan *plan, const struct fth_gpu *gpu);
/* Returns the number of the slice that an address is in, within its partition. */
uint32_t fth_sim_slice_of(const struct fth_sim_slices *slices, uint64_t address);
/* Returns the time by which an access takes longer than the latency of the L2; may be negative. */
int64_t fth_sim_slice_extra(const struct fth_sim_slices *slices, uint32_t sm, uint64_t address);

/* The reads of all slices. */
struct fth_sim_slice_load {
    const struct fth_sim_slices *slices;
    struct fth_sim_slice_interval **rings; /* [count], NULL until first used */
    uint32_t count;                        /* slices of all partitions */
    bool failed;                           /* there was no memory for a ring */
};
FTH_MUST_USE enum fth_status fth_sim_slice_load_init(struct fth_sim_slice_load *load,
                                                     const struct fth_sim_plan *plan,
                                                     struct fth_error *error);
void fth_sim_slice_load_fini(struct fth_sim_slice_load *load);
/* Returns how long a read of `bytes` at `time` waits for others of the same slice. */
int64_t fth_sim_slice_wait(struct fth_sim_slice_load *load, uint32_t partition, uint64_t address,
                           uint64_t bytes, int64_t time);

/* ---- sim_l2.c ---- */

/* One SM's share of the bandwidth of L2, L3 and memory. */
struct fth_sim_l2_ports {
    struct fth_sim_port l2, l3, memory, link;
};

struct fth_sim_l2 {
    const struct fth_sim_plan *plan;
    struct fth_cache **partitions; /* [plan->partitions]; NULL until first used */
    struct fth_cache **l3;         /* [l3_count]; NULL until first used */
    uint32_t l3_count;
    struct fth_sim_l2_ports *ports; /* [sm] */
    struct fth_sim_joins joins;
    struct fth_sim_slice_load load;
    uint32_t sharers; /* SMs with at least one block of the launch */
    bool failed;      /* there was no memory for a cache */
};

FTH_MUST_USE enum fth_status fth_sim_l2_init(struct fth_sim_l2 *l2, const struct fth_sim_plan *plan,
                                             struct fth_error *error);
void fth_sim_l2_fini(struct fth_sim_l2 *l2);
/* Reads `bytes` of memory of another program, without taking time. */
void fth_sim_l2_sweep(struct fth_sim_l2 *l2, uint64_t bytes);
/* Starts a launch that runs on `sms` SMs. */
void fth_sim_l2_launch(struct fth_sim_l2 *l2, uint32_t sms);
/* Each returns the latency of an access that starts at `time`, including the time it waits for
 * bandwidth. The `effect` of a write may be NULL. */
int64_t fth_sim_l2_read(struct fth_sim_l2 *l2, uint32_t sm, uint64_t address, uint64_t bytes,
                        int64_t time);
int64_t fth_sim_l2_hinted_read(struct fth_sim_l2 *l2, uint32_t sm, uint64_t address, uint64_t bytes,
                               const struct fth_sim_effect *effect, int64_t time);
int64_t fth_sim_l2_write(struct fth_sim_l2 *l2, uint32_t sm, uint64_t address, uint64_t bytes,
                         const struct fth_sim_effect *effect, int64_t time);
int64_t fth_sim_l2_atomic(struct fth_sim_l2 *l2, uint32_t sm, uint64_t address, uint64_t bytes,
                          int64_t time);
/* Discards the lines of a range without writing them back. */
void fth_sim_l2_discard(struct fth_sim_l2 *l2, uint64_t address, uint64_t bytes);

/* ---- sim_place.c ---- */

struct fth_sim_places {
    const struct fth_sim_plan *plan;
    struct fth_block_order *order; /* NULL: the description has no GPCs of SMs */
    uint32_t *table;               /* [count] SMs of the first blocks of the current launch */
    size_t count;                  /* 0: block i runs on SM i modulo the number of SMs */
    uint64_t first_wave;           /* blocks that run before a block of the launch has ended */
    uint64_t launches;
};

FTH_MUST_USE enum fth_status fth_sim_places_init(struct fth_sim_places *places,
                                                 const struct fth_sim_plan *plan,
                                                 struct fth_error *error);
void fth_sim_places_fini(struct fth_sim_places *places);
/* Starts a launch in clusters of `cluster` blocks; SMs hold `max_resident` blocks. Returns false
 * without memory. */
bool fth_sim_places_launch(struct fth_sim_places *places, uint64_t blocks, uint32_t cluster,
                           uint32_t max_resident);
/* Whether a GPC has enough SMs for a cluster. */
bool fth_sim_places_fit(const struct fth_sim_places *places, uint32_t cluster);
/* Returns the SM of a block, for blocks whose SM does not depend on the end of others. */
uint32_t fth_sim_places_get(const struct fth_sim_places *places, uint64_t block);

/* ---- sim_timing.c ---- */

struct fth_sim_sm {
    struct fth_sim_port requests, flight;    /* requests of the load/store unit; those in flight */
    struct fth_sim_port l1, shared, cluster; /* bytes */
    struct fth_sim_slots banks;              /* shared memory: one row of all banks per cycle */
    struct fth_sim_slots issue[FTH_SIM_SCHEDULERS]; /* instruction issue */
    struct fth_sim_slots engine; /* cycles in which the copy engine sends requests */
    double engine_rest;          /* fraction of a cycle that the engine has not been charged for */
};

/* Groups of copies of a warp whose end is known; more than kernels have in flight. Chosen. */
enum { FTH_SIM_GROUPS = 32 };

/* When the asynchronous copies of a warp are complete. The index tells bulk copies from those by
 * lanes. */
struct fth_sim_warp_copies {
    int64_t open[2];                   /* end of the copies that are in no group */
    int64_t groups[2][FTH_SIM_GROUPS]; /* end of each group and of all groups before, a ring */
    uint64_t group_count[2];
    int64_t done;   /* end of the accesses of the last instruction */
    double charged; /* cycles that the last instruction has occupied the copy engine, */
    double needed;  /* and cycles that its bytes need */
    bool signalled; /* it has signalled an mbarrier */
    bool multicast; /* it copies to several blocks */
};

/* An mbarrier and the end of the copies that it counts, by the parity of the phase. */
struct fth_sim_mbarrier {
    uint64_t offset; /* in shared memory; UINT64_MAX: none */
    int64_t complete[2];
};
/* Entries of the table of a block's mbarriers; a power of two. Where two of them have the same
 * entry, the last one counts. Chosen: more than kernels have. */
enum { FTH_SIM_MBARRIERS = 128 };

enum { FTH_SIM_MAX_WARPS = 32, FTH_SIM_MAX_RESIDENT = 32, FTH_SIM_MAX_CLUSTER = 16 };

struct fth_sim_warp {
    int64_t now;     /* earliest time at which the next instruction can issue */
    int64_t issued;  /* issue time of the last instruction */
    int64_t pending; /* time at which every memory access in flight is complete */
    int64_t fetched; /* time at which the next instruction has been fetched */
    uint64_t block;  /* block of the warp; UINT64_MAX: none */
    int64_t *loads;  /* [plan->warp_loads] when the loads in flight return; NULL: no limit */
    int64_t *ready;  /* time at which each register and predicate is ready */
    uint32_t ready_count;
    const struct fth_ptx_operands *operands; /* of the last instruction */
    uint32_t operand_base;
    struct fth_sim_warp_copies copies;
    /* State of fth_sim_fetch. Lines and ends are in bytes of machine code; instruction addresses
     * count FTH_PTX_INSTRUCTION_BYTES per instruction. */
    uint64_t fetch_line;             /* start of the line of the last instruction */
    uint64_t fetch_from, fetch_span; /* instruction addresses in that line: first, length */
    uint64_t fetch_next;             /* address of the next instruction in sequence */
    uint64_t fetch_end;              /* end of the data that an outer cache is delivering */
    int64_t fetch_cost;              /* issue time of the last instruction */
};

struct fth_sim_timing {
    const struct fth_sim_plan *plan;
    struct fth_sim_caches caches;
    struct fth_sim_tlbs tlbs;
    struct fth_sim_l2 l2;
    struct fth_sim_remote remote;
    struct fth_sim_merges merges;
    struct fth_sim_noise noise;
    struct fth_sim_places places;
    struct fth_sim_sm *sms;
    bool failed; /* memory was exhausted during a launch, outside of the ports, slots and TLBs */
    uint64_t fetch_line_bytes; /* of the innermost instruction cache; 0: there is none */
    int64_t fetch_cost;        /* issue time of an instruction found in that cache */

    /* State of the current launch. */
    int64_t start, end;
    uint64_t code_base;
    uint32_t warp_count;    /* warps per block */
    bool schedulers_shared; /* some scheduler has more than one warp */
    uint32_t cluster;       /* blocks per cluster */
    uint64_t blocks_started;
    uint32_t max_resident; /* blocks that an SM holds at the same time */
    int64_t *free_at; /* [sm][FTH_SIM_MAX_RESIDENT] time at which each block slot becomes free */
    /* The blocks that are being executed, by their rank in the cluster, and their warps. Without
     * clusters, there is one block, of rank 0. */
    struct {
        uint64_t block; /* UINT64_MAX: none */
        uint32_t sm, slot;
    } blocks[FTH_SIM_MAX_CLUSTER];
    struct fth_sim_warp warps[FTH_SIM_MAX_CLUSTER * FTH_SIM_MAX_WARPS];
    struct fth_sim_mbarrier mbarriers[FTH_SIM_MAX_CLUSTER][FTH_SIM_MBARRIERS]; /* [rank] */
    int64_t cluster_complete[2]; /* [phase & 1] time of the latest arrival at the cluster barrier */
};

FTH_MUST_USE enum fth_status fth_sim_timing_init(struct fth_sim_timing *timing,
                                                 const struct fth_sim_plan *plan,
                                                 struct fth_error *error);
void fth_sim_timing_fini(struct fth_sim_timing *timing);
/* Starts a launch of `blocks` blocks of `threads` threads, in clusters of `cluster` blocks. Each
 * block uses `shared_bytes` of shared memory. */
void fth_sim_timing_launch(struct fth_sim_timing *timing, uint64_t code_base, uint32_t blocks,
                           uint32_t threads, uint32_t cluster, uint64_t shared_bytes,
                           int carveout_percent);
/* Ends the launch and sets the start time of the next one. Returns false if memory was exhausted
 * during the launch. */
bool fth_sim_timing_finish(struct fth_sim_timing *timing);
/* Advances the time by a copy of `bytes` bytes within device memory. Returns false if the
 * description has no memory bandwidth. */
bool fth_sim_timing_copy(struct fth_sim_timing *timing, uint64_t bytes);
extern const struct fth_ptx_observer
    fth_sim_observer; /* `user` must point to a struct fth_sim_timing */

/* ---- sim_fetch.c ---- */

void fth_sim_fetch_init(struct fth_sim_timing *timing);

/* Returns the time that fetching the warp's next instruction takes. `address` counts
 * FTH_PTX_INSTRUCTION_BYTES per instruction, whatever the size in the simulated architecture. */
int64_t fth_sim_fetch(struct fth_sim_timing *timing, struct fth_sim_warp *warp,
                      const struct fth_ptx_warp_id *who, uint64_t address);

/* ---- sim_path.c ---- */

static inline struct fth_sim_warp *fth_sim_warp_of(struct fth_sim_timing *timing,
                                                   const struct fth_ptx_warp_id *who)
{
    return &timing->warps[who->rank * FTH_SIM_MAX_WARPS + who->warp];
}

/* Returns the latency of the access, which issues at `time`, without noise. */
int64_t fth_sim_path_latency(struct fth_sim_timing *timing, const struct fth_ptx_access *access,
                             int64_t time);
/* Brings into the caches what a prefetch, which issues at `time`, brings there. */
void fth_sim_prefetch(struct fth_sim_timing *timing, const struct fth_ptx_access *access,
                      int64_t time);

/* ---- sim_copies.c ---- */

/* Fills plan->engine; the latencies of the L2 are known. */
void fth_sim_engine_init(struct fth_sim_plan *plan, const struct fth_gpu *gpu);
/* Starts the table of the mbarriers of the block with this rank. */
void fth_sim_mbarriers_clear(struct fth_sim_timing *timing, uint32_t rank);
/* Occupies the engine of the warp's SM for a request of a copy that begins at `time`. Returns the
 * time that the request waits. */
int64_t fth_sim_engine_take(struct fth_sim_timing *timing, struct fth_sim_warp *warp, uint32_t sm,
                            int64_t time, uint64_t bytes, bool stores);
/* Notes that an access of the last instruction ends at `done`. */
void fth_sim_copies_note(struct fth_sim_warp *warp, const struct fth_ptx_access *access,
                         int64_t done);
/* Implement the callbacks `range` and `copies` of struct fth_ptx_observer for a warp. */
bool fth_sim_on_range(void *user, const struct fth_ptx_range *range);
bool fth_sim_on_copies(void *user, const struct fth_ptx_copy_event *event);

/* ---- sim_facts.c ---- */

/* Whether the description is that of a device of another vendor than NVIDIA. */
bool fth_sim_is_foreign(const struct fth_gpu *gpu);
/* Creates a description with only the figures that a driver would report. The caller owns it. */
FTH_MUST_USE enum fth_status fth_sim_facts_create(const struct fth_gpu *gpu,
                                                  const struct fth_sim_plan *plan,
                                                  struct fth_gpu **facts, struct fth_error *error);
/* Adds these figures to `gpu`. */
FTH_MUST_USE enum fth_status fth_sim_facts_copy(const struct fth_gpu *facts, struct fth_gpu *gpu,
                                                struct fth_error *error);

#endif
