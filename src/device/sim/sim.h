/* sim/: a simulated GPU. The PTX engine executes, an observer keeps the time, and everything that
 * decides how long an access takes comes from a GPU description (docs/simulator.md).
 *
 *   sim.c      the machine: memory, modules, launches     backend.c  "sim:h200" in the registry
 *   facts.c    what a driver would tell of it             plan.c     the description, completed
 *   timing.c   warps: scoreboard, clock, barriers         fetch.c    instruction fetch
 *   path.c     from an access to its latency              caches.c   the caches of the SMs
 *   l2.c       L2 and its partitions, memory              tlb.c      translation
 *   port.c     bandwidth: calendars of transfers          noise.c    jitter and outliers
 *
 * Time is counted in thousandths of a cycle, so that a latency of 38.8 cycles is exact. */
#ifndef FTH_SIM_H
#define FTH_SIM_H

#include "cache/cache.h"
#include "device/machine.h"
#include "ptx/ptx.h"

#define SIM_CYCLE 1000
enum { SIM_SCHEDULERS = 4 };

/* ---- the way in ---- */

/* A simulated GPU; nothing of the description is kept. Closed with ops->close. */
FTH_MUST_USE enum fth_status fth_sim_machine_create(const struct fth_gpu *gpu,
                                                    const struct fth_machine_ops **ops,
                                                    void **machine, struct fth_error *error);
/* How many instructions a warp may issue before it counts as hung. */
void fth_sim_set_limit(void *machine, uint64_t instructions);

/* ---- plan.c ---- */

/* The caches inside an SM, and those that stand for them. */
enum sim_element {
    SIM_L1,
    SIM_TEXTURE,
    SIM_READONLY,
    SIM_CONSTANT_L1,
    SIM_CONSTANT_L15,
    SIM_INSTRUCTION_L0,
    SIM_INSTRUCTION_L1,
    SIM_INSTRUCTION_L15,
    SIM_ELEMENTS
};

enum sim_scope { SIM_SCOPE_SM, SIM_SCOPE_GPC, SIM_SCOPE_GPU };

/* A cache array, with nothing left open. */
struct sim_shape {
    uint64_t size_bytes, line_bytes, sector_bytes;
    uint64_t fill_bytes; /* what a miss brings, at least a sector */
    uint64_t sets, ways;
    const uint64_t *set_ways; /* NULL: all sets have `ways` */
    const char *index, *policy;
    const double *way_weights;
    size_t way_weight_count;
    enum sim_scope scope;
    uint32_t per_sm;
};

/* What a byte takes, in millionths of a cycle; 0: no limit. */
struct sim_rates {
    double read, write;
    double pair; /* beyond `write`, of a byte that is written after another was read: so a copy has
                    its own figure. May be below 0. */
};

struct sim_level {
    bool present;
    unsigned array;         /* which of plan->arrays it is in */
    int64_t latency;        /* of a hit */
    int64_t fetch_cost;     /* instruction caches: of an instruction found here */
    struct sim_rates rates; /* of one SM */
};

enum { SIM_TLBS = 3 };

/* The link to the host, NAN where it is not described; see transfer.c. */
struct sim_host_link {
    double bytes_per_s[FTH_TRANSFER_BOTH + 1][2]; /* by kind, and whether the memory is pinned */
    double latency_ns;
};

struct sim_plan {
    struct fth_arena arena; /* every list and text */
    uint32_t sms, warps_per_sm;
    unsigned issue_cycles; /* that an instruction of a warp keeps a scheduler's lanes busy */
    double clock_mhz;

    struct sim_level levels[SIM_ELEMENTS];
    struct sim_shape arrays[SIM_ELEMENTS];
    unsigned array_count;
    bool l1_keeps_global, l1_keeps_local;
    bool l1_physical;   /* a hit needs its page */
    int64_t l1_tlb_way; /* and then what it takes more than the TLBs' penalties where that is not in
                           the first one */
    uint64_t l1_min_bytes; /* under the largest carve-out */
    int64_t fetch_beyond;  /* cost of an instruction that no cache holds */
    struct fth_code_size code;

    uint64_t shared_bytes, shared_block_bytes, unified_bytes; /* unified: 0, not known */
    const uint64_t *carveouts;                                /* ascending */
    const uint64_t *carveout_l1; /* what L1 is beside each; NULL: what is left */
    size_t carveout_count;
    int64_t shared_latency, conflict;
    uint32_t banks, bank_bytes;
    struct sim_rates shared_rates; /* of one SM */
    bool has_clusters;
    int64_t cluster_latency, cluster_far_latency;
    struct sim_rates cluster_rates; /* of one SM */

    struct sim_shape l2; /* of one partition */
    uint32_t partitions;
    uint64_t home_mask;
    int64_t l2_latency, l2_far_latency, memory_latency, memory_far_latency;
    struct sim_rates l2_rates, memory_rates; /* of the whole GPU */
    uint64_t memory_bytes;
    struct sim_host_link link;

    struct {
        bool present;
        struct sim_shape shape;
        int64_t penalty;
    } tlbs[SIM_TLBS];

    uint64_t page_table_bytes; /* 0: switching between page tables costs nothing */
    int64_t page_table_switch;

    uint64_t seed;
    int64_t jitter; /* cycles */
    double outlier_rate;
};

FTH_MUST_USE enum fth_status sim_plan_init(struct sim_plan *plan, const struct fth_gpu *gpu,
                                           struct fth_error *error);
void sim_plan_fini(struct sim_plan *plan);
/* The size of L1 under a launch's carve-out and shared memory. */
uint64_t sim_plan_l1_bytes(const struct sim_plan *plan, int carveout_percent,
                           uint64_t shared_bytes);

/* ---- transfer.c ---- */

void sim_link_init(struct sim_host_link *link, const struct fth_gpu *gpu);
/* See struct fth_machine_ops; nothing is copied. */
FTH_MUST_USE enum fth_status sim_transfer(const struct sim_host_link *link,
                                          const struct fth_transfer *transfer, uint32_t *samples,
                                          struct fth_error *error);

/* ---- port.c ---- */

/* Calendars are cut into so many cycles. Launches begin with one: where in it they did would show
 * in the time of a stream. */
#define SIM_BUCKET_CYCLES 256

/* Something that only so much can pass through in a time. Transfers may come in any order of
 * time. */
struct sim_port {
    struct sim_bucket *ring;
    unsigned bits;     /* of the ring's length */
    uint64_t unpaired; /* bytes read in this launch that no write has been paired with */
};

/* Takes the resource for so many millionths of a cycle, and returns how long the transfer has to
 * wait for those before it, in SIM_CYCLEs. */
int64_t sim_port_take(struct sim_port *port, int64_t time, uint32_t microcycles);
/* The same, for so many bytes, by one of `sharers` that have equal parts of the resource. */
int64_t sim_port_move(struct sim_port *port, const struct sim_rates *rates, uint32_t sharers,
                      int64_t time, uint64_t read_bytes, uint64_t written_bytes);
void sim_port_fini(struct sim_port *port);

/* ---- slots.c ---- */

/* Something that serves one a cycle. Those who come may do so in any order of time. */
struct sim_slots {
    struct sim_slot_word *ring;
};

/* Takes the next `count` cycles from `time` on that are free, and returns how long the first of
 * them is away, in SIM_CYCLEs. */
int64_t sim_slots_take(struct sim_slots *slots, int64_t time, unsigned count);
void sim_slots_fini(struct sim_slots *slots);

/* ---- noise.c ---- */

struct sim_noise {
    struct fth_rng rng;
    int64_t jitter;
    double outlier_rate;
    int64_t longest; /* latency that is not waiting for others */
};

void sim_noise_init(struct sim_noise *noise, const struct sim_plan *plan);
int64_t sim_noise_add(struct sim_noise *noise, int64_t latency);

/* ---- caches.c ---- */

struct sim_instance {
    struct fth_cache *cache; /* NULL until it is used */
    uint64_t launch;         /* the one that it was last used in */
    uint64_t size_bytes;
};

struct sim_caches {
    const struct sim_plan *plan;
    struct sim_instance *instances[SIM_ELEMENTS]; /* by array: [owner][per_sm] */
    uint64_t launch;
    uint64_t l1_bytes;
};

FTH_MUST_USE enum fth_status sim_caches_init(struct sim_caches *caches, const struct sim_plan *plan,
                                             struct fth_error *error);
void sim_caches_fini(struct sim_caches *caches);
/* A launch begins: the caches of the SMs are empty, and L1 has that size. */
void sim_caches_launch(struct sim_caches *caches, uint64_t l1_bytes);
/* The cache of that element that the warp uses; NULL where there is no memory for it. */
struct fth_cache *sim_caches_get(struct sim_caches *caches, enum sim_element element, uint32_t sm,
                                 uint32_t warp);
/* A cache of that shape; `seed` tells instances apart. */
FTH_MUST_USE enum fth_status sim_cache_create(const struct sim_shape *shape, enum fth_write write,
                                              uint64_t seed, struct fth_cache **cache,
                                              struct fth_error *error);
/* Which of the instances of a scope an SM uses, and how many there are. */
uint32_t sim_owner(enum sim_scope scope, uint32_t sm);
uint32_t sim_owners(enum sim_scope scope, uint32_t sms);
/* Reads; true where all is there. Otherwise *address and *bytes become what has to be fetched. */
bool sim_cache_read(struct fth_cache *cache, const struct sim_shape *shape, uint64_t *address,
                    uint64_t *bytes);

/* ---- tlb.c ---- */

/* Page tables that are told apart: with 512 MiB each, 2 TiB of addresses. */
enum { SIM_PAGE_TABLES = 4096 };

struct sim_tlbs {
    const struct sim_plan *plan;
    struct fth_cache **caches[SIM_TLBS]; /* by owner; NULL until used */
    uint8_t active[SIM_PAGE_TABLES];     /* page tables that the launch has used */
    bool any_active;
};

FTH_MUST_USE enum fth_status sim_tlbs_init(struct sim_tlbs *tlbs, const struct sim_plan *plan,
                                           struct fth_error *error);
void sim_tlbs_fini(struct sim_tlbs *tlbs);
/* A launch begins: no page table is active. */
void sim_tlbs_launch(struct sim_tlbs *tlbs);
/* What translating the address adds to a request of that SM. */
int64_t sim_tlbs_look_up(struct sim_tlbs *tlbs, uint32_t sm, uint64_t address);

/* ---- l2.c ---- */

/* The part of L2's and of the memory's bandwidth that an SM has. */
struct sim_link {
    struct sim_port l2, memory;
};

struct sim_l2 {
    const struct sim_plan *plan;
    struct fth_cache **partitions;
    struct sim_link *links; /* [sm] */
    uint32_t sharers;       /* SMs that take part in the launch */
};

FTH_MUST_USE enum fth_status sim_l2_init(struct sim_l2 *l2, const struct sim_plan *plan,
                                         struct fth_error *error);
void sim_l2_fini(struct sim_l2 *l2);
/* A launch begins that so many SMs take part in. */
void sim_l2_launch(struct sim_l2 *l2, uint32_t sms);
/* The latency of a read, a write or an atomic that begins at `time`, waiting included. */
int64_t sim_l2_read(struct sim_l2 *l2, uint32_t sm, uint64_t address, uint64_t bytes, int64_t time);
int64_t sim_l2_write(struct sim_l2 *l2, uint32_t sm, uint64_t address, uint64_t bytes,
                     int64_t time);
int64_t sim_l2_atomic(struct sim_l2 *l2, uint32_t sm, uint64_t address, uint64_t bytes,
                      int64_t time);

/* ---- timing.c ---- */

struct sim_sm {
    struct sim_port requests, l1, shared, cluster;
    struct sim_slots banks;                 /* rows of shared memory's */
    struct sim_slots issue[SIM_SCHEDULERS]; /* instructions */
};

enum { SIM_MAX_WARPS = 32, SIM_MAX_RESIDENT = 32, SIM_MAX_CLUSTER = 16 };

struct sim_warp {
    int64_t now;     /* when the next instruction can issue at the earliest */
    int64_t issued;  /* when the last one did */
    int64_t pending; /* when all that was begun is complete */
    int64_t fetched; /* when the next instruction is there to be issued */
    uint64_t block;  /* that it belongs to; UINT64_MAX: none */
    int64_t *ready;  /* of each register and predicate */
    uint32_t ready_count;
    const struct fth_ptx_operands *operands; /* of the last instruction */
    uint32_t operand_base;
    uint64_t fetch_line;             /* where the last instruction was, and what it cost */
    uint64_t fetch_from, fetch_span; /* which instructions are in that line */
    uint64_t fetch_next;
    uint64_t fetch_end; /* of what was fetched for it */
    int64_t fetch_cost;
};

struct sim_timing {
    const struct sim_plan *plan;
    struct sim_caches caches;
    struct sim_tlbs tlbs;
    struct sim_l2 l2;
    struct sim_noise noise;
    struct sim_sm *sms;
    bool failed;               /* out of memory in the middle of a launch */
    uint64_t fetch_line_bytes; /* of the innermost instruction cache; 0: there is none */
    int64_t fetch_cost;        /* of an instruction that it has */

    /* The launch. */
    int64_t start, end;
    uint64_t code_base;
    uint32_t warp_count; /* of a block */
    bool crowded;        /* a scheduler has several warps */
    uint32_t cluster;    /* blocks of a cluster */
    uint64_t begun;      /* blocks */
    uint32_t resident;   /* blocks that an SM holds at once */
    int64_t *free_at;    /* [sm][resident] when the place of a block is free again */
    /* The block that runs, or those of a cluster, by their rank, and their warps. */
    struct {
        uint64_t block; /* UINT64_MAX: none */
        uint32_t sm, place;
    } blocks[SIM_MAX_CLUSTER];
    struct sim_warp warps[SIM_MAX_CLUSTER * SIM_MAX_WARPS];
    int64_t cluster_complete[2]; /* when the barrier of the cluster was, by the phase's last bit */
};

FTH_MUST_USE enum fth_status sim_timing_init(struct sim_timing *timing, const struct sim_plan *plan,
                                             struct fth_error *error);
void sim_timing_fini(struct sim_timing *timing);
void sim_timing_launch(struct sim_timing *timing, uint64_t code_base, uint32_t blocks,
                       uint32_t threads, uint32_t cluster, uint64_t shared_bytes,
                       int carveout_percent);
/* The launch is over; the next one begins some time later. */
void sim_timing_finish(struct sim_timing *timing);
/* As if a launch had copied so much from memory to memory; false where the description does not
 * tell how long that takes. */
bool sim_timing_copy(struct sim_timing *timing, uint64_t bytes);
extern const struct fth_ptx_observer sim_observer; /* its user is the timing */

/* ---- fetch.c ---- */

void sim_fetch_init(struct sim_timing *timing);

/* What it costs to issue the warp's next instruction, which lies at that address where all
 * instructions have FTH_PTX_INSTRUCTION_BYTES. */
int64_t sim_fetch(struct sim_timing *timing, struct sim_warp *warp,
                  const struct fth_ptx_warp_id *who, uint64_t address);

/* ---- path.c ---- */

/* How long the access takes from its issue on, noise aside. */
int64_t sim_path_latency(struct sim_timing *timing, const struct fth_ptx_access *access,
                         int64_t time);

/* ---- facts.c ---- */

/* What a driver would tell of the GPU, as a description. */
FTH_MUST_USE enum fth_status sim_facts_create(const struct fth_gpu *gpu,
                                              const struct sim_plan *plan, struct fth_gpu **facts,
                                              struct fth_error *error);
FTH_MUST_USE enum fth_status sim_facts_copy(const struct fth_gpu *facts, struct fth_gpu *gpu,
                                            struct fth_error *error);

#endif
