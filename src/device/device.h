/* device/: the interface that executes experiments. The caller passes requests and receives
 * samples. A device is a real GPU, a simulated GPU or a recording. The interface hides which one it
 * is: the caller sees only what a driver would report and what the experiments measure.
 *
 *   device.c            the registry of backends; opens a device by its id
 *   request.c           builds and validates requests, writes and reads their canonical text
 *   request_text.c      reads the parts of the text
 *   runner.c            a device on top of any machine (machine.h): executes the requests of a
 *                       batch; runner.h lists its files
 *   lowered.h           how a given GPU executes a request, computed once per request
 *   recording.c         the file format of recordings
 *   recording_device.c  a device that records the answers of another device
 *   replay_device.c     a device that answers from a recording
 *   chase/              the chase family: pointer chases; chase.h lists its files
 *   family/             the other families of experiments, one file each; family.h lists them
 *   cuda/               NVIDIA GPUs, through the CUDA driver
 *   opencl/             GPUs and CPUs, through OpenCL; opencl.h lists its files
 *   sim/                simulated GPUs
 */
#ifndef FTH_DEVICE_H
#define FTH_DEVICE_H

#include "gpu/gpu.h"
#include "kernels/kernels.h"

/* ---- requests ---- */

/* The kind of experiment. The member of struct fth_request that describes it is in backquotes. */
enum fth_family {
    FTH_FAMILY_CHASE,    /* `chase`: pointer chases by one lane at a time */
    FTH_FAMILY_FETCH,    /* `fetch`: straight-line code of a given length, for instruction caches */
    FTH_FAMILY_STREAM,   /* `stream`: bandwidth, timed inside the kernel */
    FTH_FAMILY_CLUSTER,  /* `cluster`: a pointer chase in another SM's shared memory */
    FTH_FAMILY_OPERATE,  /* `operate`: one operation, repeated */
    FTH_FAMILY_SWEEP,    /* `sweep`: STREAM's kernels; each launch is timed as a whole */
    FTH_FAMILY_TRANSFER, /* `transfer`: copies by the driver */
    FTH_FAMILY_PAIR,     /* `pair`: reads of the same lines by two SMs */
    FTH_FAMILY_PLACE,    /* `place`: the SM and the start of each block of a grid */
    FTH_FAMILY_EVICT,    /* `evict`: lines that evict each other from the L2 */
    FTH_FAMILY_VISIT,    /* `visit`: single accesses of one thread, each timed */
    FTH_FAMILY_TRAFFIC,  /* `traffic`: reads and writes of parts of an array by all threads */
    FTH_FAMILY_HINT,     /* `hint`: what accesses with hints leave in L1 and L2 */
    FTH_FAMILY_CONTEND,  /* `contend`: reads of one SM while others read one line */
    FTH_FAMILY_COPIES,   /* `copies`: asynchronous copies */
    FTH_FAMILY_BRANCH,   /* `branch`: strided branches, for the ways of instruction caches */
    FTH_FAMILY_FLIGHT,   /* `flight`: independent loads of the warps of an SM */
    FTH_FAMILY_MERGE,    /* `merge`: stores of the warps of an SM to the same lines */
    FTH_FAMILY_SHARE,    /* `share`: whether two units share a cache */
    FTH_FAMILY_COUNT
};

/* Arrays with the number FTH_FIRST_HEADER_ARRAY or above have a header: FTH_HEADER_BYTES directly
 * in front of the array. Where a launch's tables, request and samples fit into the header, the
 * device puts them there, so that they occupy no further page while a probe measures TLBs. */
enum { FTH_FIRST_HEADER_ARRAY = 8, FTH_HEADER_BYTES = 128 << 10 };

/* A pointer chain: `count` elements, `stride_bytes` apart. The first one lies `start_bytes` after
 * the start of the array. Each element holds the address of the element of the next hop. With a
 * step of 1 the hops follow the order in memory; otherwise hop i visits element i * step modulo
 * count (step and count must have no common factor). With a seed, the hops visit the elements in a
 * pseudo-random order instead (fth_chain_order), which no prefetcher can predict: only in global
 * memory, for at most FTH_MAX_SHUFFLED elements. Chains with the same array number share memory;
 * within one request they must have the same stride, step and seed. If they have a seed, they also
 * have the same count, and the same start or no element in common. */
enum { FTH_MAX_SHUFFLED = 1 << 26 };
struct fth_chain {
    unsigned array; /* number of the array, chosen by the caller */
    uint64_t start_bytes;
    uint64_t stride_bytes;
    uint64_t count;
    uint64_t step; /* in elements; 0 means 1 */
    uint64_t seed; /* of the pseudo-random order; 0: the order of the step */
};

/* The chain's step, with 0 replaced by 1. */
uint64_t fth_chain_step(const struct fth_chain *chain);
/* Fills `order`, an array of `count` elements, with the pseudo-random order of a chain with a seed:
 * hop i visits element order[i], and order[0] is 0. The order depends on seed and count alone. */
void fth_chain_order(const struct fth_chain *chain, uint32_t *order);
/* The greatest common divisor. A step is valid for a chain if its GCD with the count is 1. */
uint64_t fth_gcd(uint64_t a, uint64_t b);

enum fth_step_kind {
    FTH_STEP_WALK,      /* walk the chain, no samples */
    FTH_STEP_TIME_PASS, /* one sample per pass: cycles from the issue of the first load to the
                         * return of the last */
    FTH_STEP_TIME_HOPS, /* one sample per hop: its cycles, including the reading of the clock */
    /* All threads of the block read the elements past the L1 (path CG), many at a time and in no
     * particular order, to fill the L2 and the TLBs. There are no samples. The request must also
     * have a step that walks the same array; the two strides may differ. */
    FTH_STEP_TOUCH,
    /* One lane stores to the elements in memory order, without samples. It stores the link that the
     * element already holds, which it computes from the stride: it loads nothing, so that only the
     * stores change the caches. The path must be CA, and the chain in memory order (step 1). */
    FTH_STEP_WRITE,
    /* The cost of timing itself, one sample per element of the chain, without a timed load. The
     * path must be CG. TIME_CLOCK measures two successive reads of the clock. TIME_SINK measures
     * what a timed hop does apart from its load: it sends the previous sample and tests the loaded
     * value (Mei and Chu measure this overhead with a separate program). */
    FTH_STEP_TIME_CLOCK,
    FTH_STEP_TIME_SINK
};

/* One step of a chase request. One lane of one warp executes it (FTH_STEP_TOUCH: the whole block)
 * while the other warps of the block wait at a barrier. */
struct fth_step {
    enum fth_step_kind kind;
    enum fth_path path;
    struct fth_chain chain;
    unsigned warp; /* index of the warp in the block */
    bool reverse;  /* walk from the last element to the first (only where the chain's step is 1) */
    uint64_t passes; /* traversals of the whole chain, at least 1 */
};

/* Maximum number of steps in a request, and of warps in a block (1024 threads). */
enum { FTH_MAX_STEPS = 8, FTH_MAX_WARPS = 32 };

/* The steps of a chase request, which run one after the other in one block on one SM. The samples
 * are those of the timed steps, in order. */
struct fth_chase {
    struct fth_step steps[FTH_MAX_STEPS];
    size_t step_count;
    bool too_many; /* fth_request_add was called for more than FTH_MAX_STEPS steps: the steps
                      beyond are missing, and fth_request_check refuses the request */
};

/* Executes `instructions` (a multiple of FTH_FETCH_BLOCK) of one long piece of straight-line code
 * `passes` times. The code consists of independent fma.rn.f32 instructions, and on OpenCL devices
 * of instructions without effect. There is one sample per pass: its cycles. With a chain of
 * constants (count 0: none), the kernel walks the chain before the passes and times it hop by hop
 * after them, which shows whether code and constants share a cache. The samples of these hops
 * follow those of the passes.
 *
 * With a stride, the code consists of `instructions` branches, each of which leads to the next one,
 * `stride_bytes` further on. Only OpenCL devices that are CPUs execute it. */
struct fth_fetch {
    uint64_t instructions;
    uint64_t stride_bytes; /* 0: straight-line code; otherwise a multiple of 32 */
    uint64_t passes;
    struct fth_chain constants;
};
/* Maximum length of straight-line code in instructions, where an instruction has 16 bytes (256 KiB)
 * and where it has 4 bytes (256 KiB, too). Maximum length of code with a stride in bytes. Longer
 * requests are refused. */
enum { FTH_MAX_FETCH = 16384, FTH_MAX_SHORT_FETCH = 65536, FTH_MAX_STRIDED_FETCH = 1 << 19 };

/* One lane executes a few instructions at each of `count` places in a long piece of code, `passes`
 * times. Consecutive places are `stride` instructions apart: FTH_FETCH_BLOCK, or 2, 4, … times as
 * many (FTH_BRANCH_DISTANCES). All places must lie within FTH_BRANCH_BLOCKS blocks. There is one
 * sample per pass: its cycles. */
struct fth_branch {
    uint64_t stride, count, passes;
};

/* All threads of all blocks read, write or copy arrays, `vector_bytes` (4, 8 or 16) per load or
 * store, `passes` times. There is either one array of `bytes` for all blocks (`shared_by_all`) or
 * one of `bytes` per block, which can then stay in the L1 or lie in shared memory. A copy has two
 * such arrays, source and target. `bytes` must be a multiple of what a warp accesses at a time: 4
 * vectors per lane, or 4 vectors per warp for constants. With `cold` the data is in no cache at the
 * start; otherwise it is in the caches that it fits into. In a cluster, each block accesses the
 * shared memory of its neighbour, the block whose rank is its own xor 1.
 *
 * There are three samples: the nanoseconds from the start of the first block to the end of the last
 * one; the median of the blocks' cycles; and the resolution of the timer in nanoseconds. */
struct fth_stream {
    enum fth_stream_kind kind;
    enum fth_path path; /* CA, CG, READONLY, TEXTURE, CONSTANT or SHARED */
    uint64_t bytes;
    bool shared_by_all;
    uint32_t sms; /* number of SMs used; 0: all */
    uint32_t blocks_per_sm, threads, vector_bytes;
    uint32_t cluster; /* blocks per cluster; 0: no clusters */
    /* Distance between the arrays of consecutive blocks. They overlap where it is less than
     * `bytes`. Only for reads of global memory with one array per block; 0: one array directly
     * after the other. */
    uint64_t block_stride_bytes;
    uint64_t passes;
};

/* Block 0 of a cluster of `size` blocks chases a chain in the shared memory of block `target`; one
 * sample per pass. With target 0 the block accesses its own shared memory, but through the same
 * instructions. */
struct fth_cluster_chase {
    uint32_t size, target;
    struct fth_chain chain;
    uint64_t passes;
};

/* Each thread executes `rounds` rounds of one operation, fth_operation_round operations per round,
 * distributed over `chains` independent dependency chains. `per_sm` blocks (0: 1) run on each of
 * `sms` SMs (0: all).
 *
 * There is one sample per pass. With one block per SM it is the median of the blocks' cycles, and a
 * pass without a sample comes first. With more, it is the median over the SMs of the cycles from
 * the start of an SM's first block to the end of its last one, and there is no pass before.
 *
 * For operations on memory, the words of consecutive threads are `stride_bytes` apart (0: all
 * threads use the same word). In global memory, the words of consecutive blocks are in addition
 * `block_stride_bytes` apart. With `per_warp`, the threads of a warp use the same word, and the
 * stride is that of consecutive warps (only for operations that keep their address). */
struct fth_operate {
    enum fth_operation operation;
    uint32_t chains, threads, sms, per_sm;
    uint64_t rounds, passes;
    uint64_t stride_bytes, block_stride_bytes;
    bool per_warp;
};

/* One of STREAM's kernels, executed by `blocks` blocks of `threads` threads (a power of two) over
 * arrays of `bytes` each. `bytes` must be a multiple of what min(threads, 32) threads access at a
 * time. The other members are as in struct fth_sweep_code. Without `cold`, each launch finds in the
 * L2 what the previous one left there, and a launch without a sample comes first. With `cold`, the
 * arrays are in no cache at the start of each launch.
 *
 * Samples: the nanoseconds of each of the `repeats` launches, then the number of wrong elements
 * after the last launch (for a read: 1 if the sum of all words is wrong, otherwise 0). */
struct fth_sweep {
    enum fth_sweep_kind kind;
    bool wide, hinted; /* fp64 instead of fp32; with cache hints to the L2 */
    uint64_t bytes;
    uint32_t blocks, threads, vector_bytes, unroll;
    uint32_t repeats;
};

/* Copies of `bytes` by the driver.
 *
 * Samples: the nanoseconds of each of the `repeats` copies, after one that is not timed; then the
 * number of wrong bytes among those that were checked; then 1 if the copy accesses the other GPU
 * directly, otherwise 0. Copies within a GPU are timed like sweeps. The others are timed by the
 * host's clock, from the call to its completion. */
enum fth_transfer_kind {
    FTH_TRANSFER_TO_DEVICE,
    FTH_TRANSFER_FROM_DEVICE,
    FTH_TRANSFER_BOTH,    /* to and from the device at the same time */
    FTH_TRANSFER_WITHIN,  /* from one place in the GPU's memory to another */
    FTH_TRANSFER_TO_PEER, /* to the memory of another GPU */
    FTH_TRANSFER_PEERS,   /* to and from another GPU at the same time */
    FTH_TRANSFER_KINDS
};
struct fth_transfer {
    enum fth_transfer_kind kind;
    bool pinned;   /* the host memory is pinned, not pageable */
    uint32_t peer; /* index of the other GPU among all other GPUs */
    uint32_t repeats;
    uint64_t bytes;
};

/* Two SMs read `bytes` of each of `lines` lines, which are `stride_bytes` apart, past the L1. The
 * reads of the SM `second` begin `offset_bytes` further in the line and follow those of the SM
 * `first` after about `lag_cycles`. The lines are in the L2, and one line follows the other so late
 * that no read waits for another line.
 *
 * Samples: the cycles of each read of `first`, then those of `second`, including the reading of the
 * clock; then by how many cycles each read of `first` and of `second` began late. */
struct fth_pair {
    uint32_t first, second; /* indices of the SMs, in the order of %smid */
    uint32_t lag_cycles;    /* at most FTH_PAIR_MAX_LAG_CYCLES */
    uint32_t lines;
    uint64_t stride_bytes;
    uint32_t bytes, offset_bytes;
};

/* A grid of `blocks` blocks of `threads` threads with `shared_bytes` of dynamic shared memory, in
 * clusters of `cluster` blocks (0: no clusters). Each block stays `hold_ns` on its SM; blocks with
 * an odd number stay `stagger_ns` longer.
 *
 * There are two samples per block: its SM, and its start in nanoseconds after that of the first
 * block. On OpenCL devices, the SM is the number of a unit (docs/methods/opencl.md), or UINT32_MAX
 * if it is unknown, and the start is UINT32_MAX if the units have no common clock. */
struct fth_place_request {
    uint32_t blocks, threads, cluster;
    uint32_t hold_ns, stagger_ns;
    uint64_t shared_bytes;
};

/* Reads of lines of an array of `lines` (a power of two) times `line_bytes`, past the L1, by one
 * block. The pseudo-random order that `seed` gives numbers the lines; an *element* is a line's
 * number in this order. With FTH_ANY_SM, the first SM executes the request, so that all requests
 * see the same near partition of the L2.
 *
 * FTH_EVICT_SEARCH reduces a pool, the first `pool` elements, to a minimal set of lines whose reads
 * evict a target, the element `pool` + `target` (kernels/evict.ptx). Samples: an enum
 * fth_evict_status, the number of lines in the set, the number of tests, the number of removals
 * that were undone, the line number of the target, then FTH_EVICT_MAX_MEMBERS entries: the line
 * numbers of the set, followed by zeros.
 *
 * FTH_EVICT_SCRIPT reads the last `flush` elements, then the lines numbers[reads[i]], one after the
 * other, `passes` times, then the first `pool` elements, and then the lines numbers[times[i]], one
 * after the other. Samples: the cycles of each of the last reads, including the reading of the
 * clock. */
enum fth_evict_kind { FTH_EVICT_SEARCH, FTH_EVICT_SCRIPT, FTH_EVICT_KINDS };
enum fth_evict_status {
    FTH_EVICT_FOUND = 1,
    FTH_EVICT_KEPT,          /* the pool does not evict the target */
    FTH_EVICT_TESTS_SPENT,   /* `max_tests` were not sufficient */
    FTH_EVICT_TOO_MANY_LINES /* too many parts of the pool are needed */
};
enum { FTH_EVICT_MAX_MEMBERS = 64, FTH_EVICT_MAX_READS = 128 };
struct fth_evict {
    enum fth_evict_kind kind;
    uint32_t lines, line_bytes, seed, pool;
    uint32_t passes; /* over the pool in a trial of a search; over the reads of a script */
    /* Before each timed read of the word at the offset x of the array, the word at x ^ warm_bytes
     * is read, so that the TLBs hold the page. 0: no such read. */
    uint32_t warm_bytes;
    /* a search */
    uint32_t target, threshold_cycles; /* the target was evicted if its read takes more cycles */
    uint32_t repeats, max_tests;       /* trials of a test; they must all evict the target */
    /* a script */
    uint32_t flush, number_count, read_count, time_count;
    uint32_t numbers[FTH_EVICT_MAX_MEMBERS + 1];
    uint8_t reads[FTH_EVICT_MAX_READS], times[FTH_EVICT_MAX_MEMBERS + 1];
};

/* Where the memory of an experiment resides. */
enum fth_residence {
    FTH_RESIDES_DEVICE,  /* in the GPU's memory */
    FTH_RESIDES_HOST,    /* in pinned host memory, which is mapped for the GPU */
    FTH_RESIDES_MANAGED, /* managed memory: in host memory until the GPU accesses it */
    FTH_RESIDENCES
};

/* One thread visits `count` words, `stride_bytes` apart, one after the other: visit i is to word i
 * * `step` modulo `count` (0 means 1; the two have no common factor). It does so `passes` times.
 * With `cold`, the L2 holds none of the words at the start. With FTH_ANY_SM, the first SM executes
 * the request. With `prefetched`, managed memory is moved to the GPU before.
 *
 * Samples: the cycles of each visit, including the reading of the clock; with `stamped` then by how
 * many cycles each visit began after the first one, modulo 2^32. */
struct fth_visit {
    enum fth_visit_operation operation;
    enum fth_residence residence;
    uint64_t stride_bytes, count, step, passes;
    bool prefetched, stamped;
};

/* All threads of `blocks` blocks access `bytes` in total: the first `used_bytes` (a power of two)
 * of every `stride_bytes`, with `vector_bytes` (4, 8 or 16) per load or store. `writes` of 32
 * groups of accesses are stores, in a pseudo-random order; a group is what a warp has in flight.
 * `bytes` is a multiple of the bytes of a group. With `cold`, each launch accesses other memory
 * (only in the GPU's memory). With `prefetched`, managed memory is moved to the GPU before.
 *
 * Samples: the nanoseconds of each of the `repeats` launches. Except for cold launches and managed
 * memory, a launch without a sample comes first. */
struct fth_traffic {
    enum fth_residence residence;
    uint64_t bytes, used_bytes, stride_bytes;
    uint32_t vector_bytes, blocks, threads, writes, repeats;
    bool prefetched;
};

/* What accesses of some variants leave in a cache: L1 with the path CA, otherwise the L2. With
 * FTH_ANY_SM, the first SM executes the request.
 *
 * FTH_HINT_FILL executes `repeats` times `positions` trials of each variant. Each trial has
 * `stride_bytes` of memory of its own, to which nothing else has access. It accesses the word at
 * `offset_bytes` with the variant, and reads the word at position * `step_bytes` after about
 * `delay_cycles`. The variant "none" has no access. With `cold`, the memory is not in the L2 at the
 * start. Samples: the cycles of each of the last reads, in the order of variants, repeats and
 * positions, including the reading of the clock.
 *
 * FTH_HINT_SURVIVE reads `prior` lines, which are `stride_bytes` apart, then accesses `targets`
 * other lines, then reads `pressure` further lines, and then each of the targets. The target with
 * the number i is accessed with the variant if fth_hint_is_variant(i), otherwise with a plain read.
 * Samples: the cycles of each of the last reads, in the order of the targets.
 *
 * A request begins `first` times `stride_bytes` after the start of the memory, so that requests can
 * use different lines. */
enum fth_hint_kind { FTH_HINT_FILL, FTH_HINT_SURVIVE, FTH_HINT_KINDS };
struct fth_access_hint {
    enum fth_hint_kind kind;
    enum fth_path path; /* of the timed and the plain reads: CA or CG */
    uint64_t variants;  /* set of enum fth_variant; one of them for FTH_HINT_SURVIVE */
    uint32_t stride_bytes, first;
    /* FTH_HINT_FILL */
    uint32_t offset_bytes, step_bytes, positions, repeats, delay_cycles;
    bool held; /* a plain load through the L1 precedes each access */
    /* FTH_HINT_SURVIVE */
    uint32_t prior, targets, pressure;
};

/* The targets of the variant: 0, 3, 4, 7 and so on, so that half of them have even numbers. */
static inline bool fth_hint_is_variant(size_t target)
{
    return ((target ^ target >> 1) & 1) == 0;
}

/* Independent loads past the L1 by `warps` warps of one SM, each of another line; `lanes` is 1 (all
 * lanes of a warp read the same line) or 32 (each reads another one). The trials of a repeat issue
 * `step`, 2 * `step`, … up to `loads` loads per warp. With `warm`, the lines are in the L2; they
 * are in memory with the request's `cold`.
 *
 * Samples: two for each trial, in the order of repeats and loads: the cycles until the first warp
 * has issued its loads, and until all loads of all warps have returned. */
struct fth_flight {
    uint32_t loads, step, warps, lanes, repeats;
    bool warm;
};

/* Stores of whole lines of 128 bytes by `warps` warps of one SM, an even number: each warp stores
 * to `lines` lines. With `shared`, two neighbouring warps store to the same lines, and the second
 * one begins `lag` multiplications later, which take about 4 cycles each.
 *
 * Samples: three for each repeat, in cycles from the start: when the first warp issues its first
 * store, when the second warp issues its first store, and when all stores have ended. */
struct fth_merge_stores {
    uint32_t lines, warps, lag, repeats;
    bool shared;
};

/* The unit `first` walks a chain of `own` elements, the unit `second` walks another chain of
 * `other` elements, and `first` walks its own chain again, which is timed. If the units share a
 * cache that the second chain fills, it has evicted the first one. The two may be the same unit.
 * Units have the numbers that the samples of `place` have; the SMs of NVIDIA's GPUs those of %smid.
 * The elements of both chains are `stride_bytes` apart. With a seed, the order is pseudo-random.
 *
 * Samples: the cycles of the timed pass of each round. */
struct fth_share {
    enum fth_path path; /* CA or CONSTANT */
    uint32_t first, second;
    uint32_t rounds;
    uint64_t stride_bytes, own, other, seed;
};

/* Reads of lines of a page of FTH_CONTEND_PAGE_BYTES by one SM, past the L1, one after the other,
 * while other SMs (`rivals`) read the first 96 bytes of the line at `target_bytes` all the time.
 * Without rivals, the lines are read once before, so that the L2 holds them. With rivals, a request
 * without them should precede.
 *
 * Samples: the cycles of a read of the last 32 bytes of the target, then those of each line of the
 * ranges, then again of the target, including the reading of the clock. */
enum {
    FTH_CONTEND_PAGE_BYTES = 2 << 20,
    FTH_CONTEND_MAX_LINES = 4096,
    FTH_CONTEND_MAX_RIVALS = 64,
    FTH_CONTEND_MAX_RANGES = 4
};
struct fth_contend_range {
    uint32_t start_bytes, stride_bytes, count;
};
struct fth_contend {
    uint32_t target_bytes, rival_count, range_count;
    uint32_t rivals[FTH_CONTEND_MAX_RIVALS]; /* indices of the SMs, ascending */
    struct fth_contend_range ranges[FTH_CONTEND_MAX_RANGES];
};

/* Copies of `bytes` bytes.
 *
 * Between global and shared memory, each of `sms` blocks (0: as many as there are SMs), with one
 * block per SM, has `threads` threads that copy. Each of them executes `count` copies per pass, of
 * which `depth` are in flight. The block copies `span_bytes` of its own in global memory, and then
 * starts again. Without `cold`, these bytes are in the L2, if they fit. With `cold` they are not,
 * so that each pass should copy other bytes than the passes before. Unless the kind is one for
 * which each thread copies its part (fth_copies_by_threads), each thread is in a warp of its own,
 * and its copies begin at multiples of 128 bytes. A tensor copy has `rank` dimensions; the
 * innermost one has `row_bytes`.
 *
 * In a cluster, block 0 sends `depth` copies to the block with the rank `partner`, which sends as
 * many back when all have arrived; `count` such round trips are a pass. In a multicast, `partner`
 * is 0, block 0 sends to all blocks, and all blocks wait for each other.
 *
 * There is one sample per pass: the cycles of the slowest warp of all blocks, from the issue of the
 * first copy to the completion of the last one; in a cluster, those of block 0. A pass without a
 * sample comes first. */
struct fth_copies {
    enum fth_copies_kind kind;
    uint32_t bytes, depth, count, threads;
    uint32_t rank, row_bytes;  /* of a tensor copy; otherwise 0 */
    uint32_t cluster, partner; /* in a cluster; otherwise 0 */
    uint32_t sms, passes;
    uint64_t span_bytes; /* 0 in a cluster */
};

/* Value of fth_request.sm: the device chooses the SM. */
#define FTH_ANY_SM UINT32_MAX

/* One experiment. `family` tells which member of the union is in use. */
struct fth_request {
    enum fth_family family;
    uint32_t sm;          /* index of the SM, in the order of %smid, or FTH_ANY_SM */
    int carveout_percent; /* requested shared memory in percent of its maximum; -1: the
                             driver's choice */
    bool alone;           /* no other request runs on the GPU at the same time */
    bool cold;            /* the L2 holds none of the data at the start (implies alone) */
    union {
        struct fth_chase chase; /* first and largest: an initialiser without it zeroes them all */
        struct fth_fetch fetch;
        struct fth_stream stream;
        struct fth_cluster_chase cluster;
        struct fth_operate operate;
        struct fth_sweep sweep;
        struct fth_transfer transfer;
        struct fth_pair pair;
        struct fth_place_request place;
        struct fth_evict evict;
        struct fth_visit visit;
        struct fth_traffic traffic;
        struct fth_access_hint hint;
        struct fth_contend contend;
        struct fth_copies copies;
        struct fth_branch branch;
        struct fth_flight flight;
        struct fth_merge_stores merge;
        struct fth_share share;
    };
};

/* Returns a chase request without steps, for any SM. For another family, set `family` and its
 * member. carveout_percent -1: the driver chooses the carve-out. */
struct fth_request fth_request_make(int carveout_percent);
/* Appends a step to a chase request. If the request already has FTH_MAX_STEPS, it becomes invalid:
 * a device refuses it (fth_request_check). */
void fth_request_add(struct fth_request *request, enum fth_step_kind kind, enum fth_path path,
                     struct fth_chain chain, uint64_t passes);
/* Validates one request. FTH_INVALID: the error's argument is the name of the wrong member. */
FTH_MUST_USE enum fth_status fth_request_check(const struct fth_request *request,
                                               struct fth_error *error);
/* Appends the request's canonical text (docs/recording.md), one line without the newline. Two
 * requests have the same text exactly if they are equal. */
void fth_request_write(const struct fth_request *request, struct fth_buffer *text);
/* Reads the canonical text of a valid request. Members that the text does not name have their
 * default values. FTH_INVALID: it is not exactly what fth_request_write writes for a valid request.
 */
FTH_MUST_USE enum fth_status fth_request_read(const char *text, size_t size,
                                              struct fth_request *request, struct fth_error *error);
/* The number of samples that the answer to the request has; UINT64_MAX on overflow. */
uint64_t fth_request_samples(const struct fth_request *request);

/* ---- samples ---- */

/* Maximum number of samples in an answer. It is part of the format of recordings
 * (docs/recording.md). */
#define FTH_MAX_SAMPLES (UINT64_C(1) << 28)

struct fth_samples {
    enum fth_status status; /* FTH_OK, or why this request has no answer */
    char cause[192];        /* the reason in words; empty where status is FTH_OK */
    uint32_t sm;            /* %smid of the SM that executed a chase; otherwise 0 */
    double clock_mhz;       /* SM clock, mean of before and after the batch; NAN: unknown */
    uint32_t *cycles;       /* the samples; nanoseconds and counts for some families */
    size_t count;
};

void fth_samples_fini(struct fth_samples *samples);
/* A hop that takes more cycles was interrupted: another program used the GPU in the meantime, and
 * the caches of the SM are empty after that. On an H200, these pauses take at least 580,000 cycles,
 * and loads that miss all caches and TLBs fewer than 10,000. Chosen between the two. */
enum { FTH_INTERRUPTED_CYCLES = 100000 };
/* Whether a hop of a chase was interrupted. False for other families. */
bool fth_request_was_interrupted(const struct fth_request *request,
                                 const struct fth_samples *samples);

/* ---- devices ---- */

struct fth_device_ops {
    /* Adds to `gpu` what is known without measuring: the name, limits and sizes that the driver
     * reports, and the current power and throttling state. */
    enum fth_status (*describe)(void *state, struct fth_gpu *gpu, struct fth_error *error);
    /* Adds the state right after a load: power, temperature and throttling, as attributes whose
     * names begin with "loaded_". NULL: the device does not know it. */
    enum fth_status (*describe_load)(void *state, struct fth_gpu *gpu, struct fth_error *error);
    /* Fills one struct fth_samples per request. If a single request cannot be answered, its
     * samples hold the reason. The function itself fails only if the device fails. The requests
     * have been validated. */
    enum fth_status (*measure)(void *state, const struct fth_request *requests, size_t count,
                               struct fth_samples *samples, struct fth_error *error);
    /* Prepares for requests that will probably follow, for example by compiling their kernels in
     * another thread. NULL: there is nothing to prepare. */
    void (*expect)(void *state, const struct fth_request *requests, size_t count);
    /* Completes deferred work, such as writing the end of a recording. NULL: there is none. */
    enum fth_status (*finish)(void *state, struct fth_error *error);
    void (*close)(void *state);
};

struct fth_device {
    const struct fth_device_ops *ops;
    void *state;
    char id[256]; /* "cuda:0", "sim:h200" */
};

/* Creates a device that owns `state`. On failure, `state` is closed. */
FTH_MUST_USE enum fth_status fth_device_create(const char *id, const struct fth_device_ops *ops,
                                               void *state, struct fth_device **device,
                                               struct fth_error *error);
FTH_MUST_USE enum fth_status fth_device_describe(struct fth_device *device, struct fth_gpu *gpu,
                                                 struct fth_error *error);
FTH_MUST_USE enum fth_status fth_device_describe_load(struct fth_device *device,
                                                      struct fth_gpu *gpu, struct fth_error *error);
/* device_host.c: adds the name of the computer and the time to `gpu`. Backends of real devices call
 * it in `describe`. */
FTH_MUST_USE enum fth_status fth_device_describe_host(struct fth_gpu *gpu, struct fth_error *error);
/* Validates and executes the requests. `samples` is the caller's array of `count` elements. The
 * caller releases each element with fth_samples_fini, whatever the status. */
FTH_MUST_USE enum fth_status fth_device_measure(struct fth_device *device,
                                                const struct fth_request *requests, size_t count,
                                                struct fth_samples *samples,
                                                struct fth_error *error);
/* Announces requests that will probably follow, so that the device can prepare for them while it
 * executes others. Only the members matter that determine the kernels. The requests that follow can
 * be different ones. */
void fth_device_expect(struct fth_device *device, const struct fth_request *requests, size_t count);

/* ---- backends ---- */

struct fth_machine_ops; /* machine.h */

struct fth_backend {
    const char *name; /* the part of a device id before the colon */
    const char *summary;
    /* Calls `each` for every device of the backend. If there is none, fails with the reason. NULL:
     * the backend cannot list devices. */
    enum fth_status (*list)(void (*each)(void *user, const struct fth_device_info *device),
                            void *user, struct fth_error *error);
    /* Finds out whether this computer has no such device: no usable driver, or a driver that
     * reports none. A driver that fails for another reason may have a device that does not work.
     * NULL: devices of this backend are not part of the computer. FTH_NO_MEMORY: out of memory. */
    enum fth_status (*is_absent)(bool *absent, struct fth_error *error);
    bool is_real; /* its devices are GPUs of this computer */
    /* Opens a device. `selector` is the part of the id after the colon. */
    enum fth_status (*open)(const char *selector, const struct fth_device_options *options,
                            struct fth_device **device, struct fth_error *error);
    /* Opens the machine (machine.h) without a device on top of it, for launching kernels. NULL: the
     * backend cannot launch kernels. */
    enum fth_status (*machine)(const char *selector, const struct fth_device_options *options,
                               const struct fth_machine_ops **ops, void **machine,
                               struct fth_error *error);
};

extern const struct fth_backend fth_backend_cuda, fth_backend_opencl, fth_backend_sim,
    fth_backend_replay;

#endif
