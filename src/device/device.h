/* device/: experiments in, samples out. A device is a real GPU, a simulated one or a recording; who
 * asks cannot tell which, and learns of it only what a driver would say and what is measured.
 *
 *   device.c    the registry: which devices there are, opening one by its name
 *   request.c   the canonical text of a request, and what a request must be like
 *   batch.c     requests into launches: memory, chains, one request an SM (over machine.h)
 *   layout.c    where the chains of a batch lie
 *   family.h    other families of experiments than the chase: fetch.c, stream.c, cluster.c,
 *               operate.c, sweep.c, transfer.c; pool.c: the memory of their arrays
 *   record.c    writes down what another device answers      replay.c  answers from such a file
 *   recording.c the file format of the two
 *   cuda/       NVIDIA GPUs through their driver             sim/      simulated GPUs
 */
#ifndef FTH_DEVICE_H
#define FTH_DEVICE_H

#include "gpu/gpu.h"
#include "kernels/kernels.h"

/* ---- requests ---- */

/* What kind of experiment it is. */
enum fth_family {
    FTH_FAMILY_CHASE,    /* `steps`: pointer chains, one warp at work */
    FTH_FAMILY_FETCH,    /* `fetch`: straight-line code of a certain length */
    FTH_FAMILY_STREAM,   /* `stream`: as many bytes as can be had */
    FTH_FAMILY_CLUSTER,  /* `cluster`: shared memory of another SM */
    FTH_FAMILY_OPERATE,  /* `operate`: one operation over and over */
    FTH_FAMILY_SWEEP,    /* `sweep`: STREAM's kernels, timed from without */
    FTH_FAMILY_TRANSFER, /* `transfer`: what the driver copies */
    FTH_FAMILY_COUNT
};

/* A pointer chain: elements `stride_bytes` apart from `start_bytes` of the array on; each holds the
 * address of the next. Two chains with the same array number lie in the same memory; those of one
 * batch must then have the same stride and order. In memory order where `step` is 1; otherwise hop
 * i visits element i * step modulo count (step and count without a common factor). */
enum { FTH_FAR_ARRAY = 8, FTH_FRONT_ROOM = 128 << 10 };
struct fth_chain {
    unsigned array; /* from FTH_FAR_ARRAY on: what a launch needs besides lies right in front of it,
                     * within FTH_FRONT_ROOM bytes where that is enough, so that it takes no page
                     * of its own while TLBs are looked at */
    uint64_t start_bytes;
    uint64_t stride_bytes;
    uint64_t count;
    uint64_t step; /* 0 counts as 1 */
};

/* Its step, 1 where it is not said. */
uint64_t fth_chain_step(const struct fth_chain *chain);
/* The largest common factor, by which a step and a count go together or not. */
uint64_t fth_common_factor(uint64_t a, uint64_t b);

enum fth_step_kind {
    FTH_STEP_WALK,      /* no samples */
    FTH_STEP_TIME_PASS, /* one sample a pass: cycles from the first load to the return of the last
                         */
    FTH_STEP_TIME_HOPS, /* one sample a hop: its cycles, the reading of the clock included */
    /* No samples: the whole block reads the elements past L1 (path CG), many at a time and in no
     * particular order, to fill what lies beyond. Its chain may have another stride than the walks
     * of the same array, of which there must be one. */
    FTH_STEP_TOUCH,
    /* As many samples as the chain has elements, through CG, and no load: reading the clock twice,
     * and what a timed hop does besides its load (Mei and Chu's separate program). */
    FTH_STEP_TIME_CLOCK,
    FTH_STEP_TIME_SINK
};

/* What one warp does while all others wait. */
struct fth_step {
    enum fth_step_kind kind;
    enum fth_path path;
    struct fth_chain chain;
    unsigned warp;   /* of the block */
    bool reverse;    /* from the last element to the first (only where step is 1) */
    uint64_t passes; /* over the whole chain, at least 1 */
};

/* The first `instructions` (a multiple of FTH_FETCH_BLOCK) of one long piece of straight-line code
 * (independent of each other as far as registers go, fma.rn.f32), run `passes` times; one sample a
 * pass: its cycles. A chain of constants (count 0: none) may be walked before the passes, and timed
 * hop by hop after them, which tells whether code and constants share a cache: samples are the
 * passes, then these hops. */
struct fth_fetch {
    uint64_t instructions;
    uint64_t passes;
    struct fth_chain constants;
};
/* The length of that code; requests for more are refused. */
enum { FTH_MAX_FETCH = 16384 };

/* All threads of `blocks_per_sm` x `threads` read, write or copy, `vector_bytes` (4, 8, 16) at a
 * time, `passes` times over their array: one of `bytes` for all SMs together (`shared_by_all`), or
 * one of `bytes` for each block (so that it stays in L1, or is shared memory). A copy has two such
 * arrays. `bytes` is a multiple of what a warp takes at a time: 4 vectors a lane, or, of constants,
 * 4 vectors. With `cold` it comes from memory; otherwise from the caches that it fits into. In a
 * `cluster` the array of each block is in the shared memory of its neighbour there (rank xor 1).
 *
 * Samples, three: the nanoseconds from the first block's begin to the last one's end; the median
 * cycles of a block; how many nanoseconds the timer goes on at a time. */
struct fth_stream {
    enum fth_stream_kind kind;
    enum fth_path path; /* CA, CG, READONLY, TEXTURE, CONSTANT or SHARED */
    uint64_t bytes;
    bool shared_by_all;
    uint32_t sms; /* so many; 0: all */
    uint32_t blocks_per_sm, threads, vector_bytes;
    uint32_t cluster; /* so many blocks are one; 0: none */
    /* Of arrays in global memory that are read, one for each block: so far each begins behind that
     * of the block before, so that they may overlap; 0: side by side. */
    uint64_t step_bytes;
    uint64_t passes;
};

/* A chain in the shared memory of block `target` of a cluster of `size` blocks, chased by block 0;
 * one sample a pass. Target 0 is the block's own, through the same instructions. */
struct fth_cluster_chase {
    uint32_t size, target;
    struct fth_chain chain;
    uint64_t passes;
};

/* One operation, `rounds` times fth_operation_round of them by each thread of a block, in `chains`
 * that do not wait for each other; `per_sm` blocks (0: 1) on each of so many SMs (0: all). One
 * sample a pass: the cycles of a block, the median where there are several; where an SM has more
 * than one, from the first one's begin to the last one's end on an SM, with nothing done before. Of
 * an operation that goes to memory, every thread has a place of its own, `stride_bytes` after that
 * of the thread before it (0: all have the same), and each block `block_stride_bytes` after the
 * block before it where it is global memory.
 */
struct fth_operate {
    enum fth_operation operation;
    uint32_t chains, threads, sms, per_sm;
    uint64_t rounds, passes;
    uint64_t stride_bytes, block_stride_bytes;
};

/* One of STREAM's kernels, by `blocks` of `threads` (a power of two) over arrays of `bytes`, which
 * are a multiple of what min(threads, 32) of them take at a time. Its code is as struct
 * fth_sweep_code has it, but for the lanes. What a launch leaves in L2 the next finds there, and
 * one goes before those that are timed; with `cold`, arrays are in no cache at each begin.
 *
 * Samples: the nanoseconds of each launch as a whole, `repeats` of them; then the number of
 * elements that are wrong after the last one (of a read: whether their sum is). */
struct fth_sweep {
    enum fth_sweep_kind kind;
    bool wide, hinted;
    uint64_t bytes;
    uint32_t blocks, threads, vector_bytes, unroll;
    uint32_t repeats;
};

/* Copies by the driver, of `bytes` at a time: from the host's memory to the GPU's or back, both at
 * the same time, from one place of the GPU's memory to another, and to the memory of another GPU,
 * the how-many-eth `peer` of the others, and both ways. Of the host's memory it is told whether it
 * is `pinned`.
 *
 * Samples: the nanoseconds of each, `repeats` of them, after one that is not timed: of those within
 * a GPU as of sweeps, of the others from the call to its end as the host sees it; then how many
 * bytes are not as they should be; then 1 where another GPU is reached directly. */
enum fth_transfer_kind {
    FTH_TRANSFER_TO_DEVICE,
    FTH_TRANSFER_FROM_DEVICE,
    FTH_TRANSFER_BOTH,
    FTH_TRANSFER_WITHIN,
    FTH_TRANSFER_TO_PEER,
    FTH_TRANSFER_PEERS, /* both ways */
    FTH_TRANSFER_KINDS
};
struct fth_transfer {
    enum fth_transfer_kind kind;
    bool pinned;
    uint32_t peer, repeats;
    uint64_t bytes;
};
/* "to-device" */
const char *fth_transfer_kind_name(enum fth_transfer_kind kind);

enum { FTH_MAX_STEPS = 8, FTH_MAX_WARPS = 32 };
#define FTH_ANY_SM UINT32_MAX

/* One experiment. Of the chase family: steps one after the other in one block on one SM; its
 * samples are those of its timed steps, in order. Of the others only the member of that name
 * counts, and those below the members of the families. */
struct fth_request {
    enum fth_family family;
    struct fth_step steps[FTH_MAX_STEPS];
    size_t step_count;
    struct fth_fetch fetch;
    struct fth_stream stream;
    struct fth_cluster_chase cluster;
    struct fth_operate operate;
    struct fth_sweep sweep;
    struct fth_transfer transfer;
    uint32_t sm;          /* the how-many-eth of the SMs there are, or FTH_ANY_SM */
    int carveout_percent; /* shared memory's part of what it shares with L1; -1: the driver's choice
                           */
    bool alone;           /* nothing else runs on the GPU meanwhile */
    bool cold;            /* L2 holds nothing of the chains at the start (implies alone) */
};

/* Checks one request; the error says which member is wrong. */
FTH_MUST_USE enum fth_status fth_request_check(const struct fth_request *request,
                                               struct fth_error *error);
/* Appends its canonical text, one line without the newline: equal requests, equal text. */
void fth_request_write(const struct fth_request *request, struct fth_buffer *text);
/* Its first step that walks a chain of that array, or NULL. */
const struct fth_step *fth_request_walk(const struct fth_request *request, unsigned array);
/* How many samples its answer has. */
uint64_t fth_request_samples(const struct fth_request *request);

/* ---- samples ---- */

struct fth_samples {
    enum fth_status status; /* FTH_OK, or why this request has no answer */
    char cause[192];
    uint32_t sm;      /* as the hardware numbers them (%smid) */
    double clock_mhz; /* of the SM, as observed around the batch; NAN: not known */
    uint32_t *cycles;
    size_t count;
};

void fth_samples_fini(struct fth_samples *samples);

/* ---- devices ---- */

struct fth_device_ops {
    /* Adds what can be known without measuring: name, limits, sizes that a driver tells; and, as
     * they are now, power and throttling. */
    enum fth_status (*describe)(void *state, struct fth_gpu *gpu, struct fth_error *error);
    /* Fills one struct fth_samples a request. A request that cannot be answered says so in its
     * samples; the function fails where the device does. The requests have been checked. */
    enum fth_status (*measure)(void *state, const struct fth_request *requests, size_t count,
                               struct fth_samples *samples, struct fth_error *error);
    /* What was promised for the end, as a recording; NULL: nothing. */
    enum fth_status (*finish)(void *state, struct fth_error *error);
    void (*close)(void *state);
};

struct fth_device {
    const struct fth_device_ops *ops;
    void *state;
    char id[256]; /* "cuda:0", "sim:h200" */
};

FTH_MUST_USE enum fth_status fth_device_create(const char *id, const struct fth_device_ops *ops,
                                               void *state, struct fth_device **device,
                                               struct fth_error *error);
FTH_MUST_USE enum fth_status fth_device_describe(struct fth_device *device, struct fth_gpu *gpu,
                                                 struct fth_error *error);
/* `samples` is the caller's array of `count`, finished with fth_samples_fini each, whatever the
 * status. Checks the requests. */
FTH_MUST_USE enum fth_status fth_device_measure(struct fth_device *device,
                                                const struct fth_request *requests, size_t count,
                                                struct fth_samples *samples,
                                                struct fth_error *error);

/* ---- backends ---- */

struct fth_machine_ops; /* machine.h */

struct fth_backend {
    const char *name; /* the part of an id before the colon */
    const char *summary;
    /* Calls `each` for every device it has. Where it has none, fails with the reason. NULL: it has
     * no list. */
    enum fth_status (*list)(void (*each)(void *user, const struct fth_device_info *device),
                            void *user, struct fth_error *error);
    /* `what` is the part of the id after the colon. */
    enum fth_status (*open)(const char *what, const struct fth_log *log, struct fth_device **device,
                            struct fth_error *error);
    /* What launches, without a device around it; NULL: it cannot launch. */
    enum fth_status (*machine)(const char *what, const struct fth_log *log,
                               const struct fth_machine_ops **ops, void **machine,
                               struct fth_error *error);
};

extern const struct fth_backend fth_backend_cuda, fth_backend_sim, fth_backend_replay;

#endif
