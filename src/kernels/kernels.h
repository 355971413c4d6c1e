/* kernels/: the microbenchmarks, as PTX templates with named placeholders (*.ptx), which are
 * embedded at build time. The functions here fill in the templates. They do not know whether the
 * CUDA driver or the PTX engine runs the result.
 *
 *   kernels.c         experiments.ptx with walk.ptx, branch.ptx, cluster.ptx, contend.ptx,
 *                     evict.ptx, fetch.ptx, pair.ptx, place.ptx, share.ptx with walk.ptx,
 *                     stream.ptx
 *   kernel_hint.c     hint.ptx
 *   kernel_copies.c   copies.ptx, exchange.ptx
 *   kernel_opencl.c   opencl/: the same for OpenCL devices, in OpenCL C
 *   kernel_operate.c  operate.ptx
 *   kernel_sweep.c    sweep.ptx, pattern.ptx
 *   kernel_visit.c    visit.ptx, traffic.ptx
 */
#ifndef FTH_KERNELS_H
#define FTH_KERNELS_H

#include "gpu/gpu.h"

/* The path of a load. The numbers are those of the member `path` of struct fth_chase_step. */
enum fth_path {
    FTH_PATH_CA,       /* global, cached in L1 if the GPU caches global loads there */
    FTH_PATH_CG,       /* global, past L1 */
    FTH_PATH_READONLY, /* global, through the read-only path */
    FTH_PATH_TEXTURE,
    FTH_PATH_CONSTANT,
    FTH_PATH_SHARED,
    FTH_PATH_COUNT
};
const char *fth_path_name(enum fth_path path);

/* A request in the layout that the kernel `chase` reads; experiments.ptx documents the members. */
struct fth_chase_step {
    uint32_t kind, path, warp, unused;
    uint64_t passes, first, count, samples, texture_or_stride, step;
};
enum { FTH_CHASE_STEPS = 16 };
struct fth_chase_request {
    uint32_t steps, unused;
    uint64_t served; /* address of a uint32_t that receives the number of the SM plus 1 */
    uint64_t unused2[6];
    struct fth_chase_step step[FTH_CHASE_STEPS];
};
/* The kinds of a step. */
enum {
    FTH_CHASE_WALK,
    FTH_CHASE_PASSES,
    FTH_CHASE_HOPS,
    FTH_CHASE_BUILD_SHARED,
    FTH_CHASE_TOUCH,
    FTH_CHASE_CLOCK,
    FTH_CHASE_SINK,
    FTH_CHASE_WRITE
};

/* Fills in a template: replaces every {{name}} by its value. A name without a value is an error.
 * `name` identifies the template in messages. All functions of this header append to `out`. */
struct fth_kernel_value {
    const char *name, *value;
};
FTH_MUST_USE enum fth_status fth_kernels_fill(const char *name, const char *text,
                                              const struct fth_kernel_value *values, size_t count,
                                              struct fth_buffer *out, struct fth_error *error);

/* The same with the embedded template NAME.ptx. */
FTH_MUST_USE enum fth_status fth_kernels_fill_named(const char *name,
                                                    const struct fth_kernel_value *values,
                                                    size_t count, struct fth_buffer *out,
                                                    struct fth_error *error);

/* Appends the module of all experiments: census, pace, build, flush, chase. */
FTH_MUST_USE enum fth_status fth_kernels_experiments(struct fth_buffer *out,
                                                     struct fth_error *error);
/* Appends the module of cluster.ptx. */
FTH_MUST_USE enum fth_status fth_kernels_cluster(struct fth_buffer *out, struct fth_error *error);
/* Appends the module of place.ptx. */
FTH_MUST_USE enum fth_status fth_kernels_place(struct fth_buffer *out, struct fth_error *error);

/* The kernel `pair`: cycles from one line to the next, before the first line, and the maximum lag,
 * with which a read of at most half a period still ends before the next line. Chosen, not derived.
 */
enum {
    FTH_PAIR_PERIOD_CYCLES = 2560,
    FTH_PAIR_HEAD_START_CYCLES = 2048,
    FTH_PAIR_MAX_LAG_CYCLES = 1280
};
/* Appends the module of pair.ptx, which documents the parameters of its kernel. */
FTH_MUST_USE enum fth_status fth_kernels_pair(struct fth_buffer *out, struct fth_error *error);

/* The kernel `search` of evict.ptx: pieces of the list, removals that can be undone, and lines of
 * the set that it stores. The first two determine the shared memory, which even the oldest GPUs
 * with an L2 have. */
enum { FTH_EVICT_LIST = 2048, FTH_EVICT_REMOVALS = 1024, FTH_EVICT_MEMBERS = 64 };
/* The line number of an element in the order of evict.ptx. `lines` is a power of two. */
uint32_t fth_evict_line(uint32_t lines, uint32_t seed, uint32_t element);
/* Appends the module of contend.ptx, which documents the parameters of its kernel. */
FTH_MUST_USE enum fth_status fth_kernels_contend(struct fth_buffer *out, struct fth_error *error);
/* Appends the module of share.ptx, which documents the parameters of its kernel. */
FTH_MUST_USE enum fth_status fth_kernels_share(struct fth_buffer *out, struct fth_error *error);
/* Appends the module of evict.ptx, which documents the parameters of its kernels. */
FTH_MUST_USE enum fth_status fth_kernels_evict(struct fth_buffer *out, struct fth_error *error);

/* Maximum number of loads of a warp in flight.ptx, and bytes from one of its lines to the next.
 * Chosen: twice as many loads as a warp of an H200 can have in flight, and more than the lines of
 * known GPUs. */
enum { FTH_FLIGHT_LOADS = 128, FTH_FLIGHT_LINE_BYTES = 256 };
/* Appends the module of flight.ptx, which documents the parameters of its kernel. */
FTH_MUST_USE enum fth_status fth_kernels_flight(struct fth_buffer *out, struct fth_error *error);

/* Maximum lag in merge.ptx, in multiplications; one takes 4 cycles on an H200. Chosen: more than
 * twice the time in which an H200 merges stores. */
enum { FTH_MERGE_WAITS = 63 };
/* Appends the module of merge.ptx, which documents the parameters of its kernel. */
FTH_MUST_USE enum fth_status fth_kernels_merge(struct fth_buffer *out, struct fth_error *error);

/* Appends the module of hint.ptx, which documents the parameters of its kernels. */
FTH_MUST_USE enum fth_status fth_kernels_hint(struct fth_buffer *out, struct fth_error *error);

/* A request in the layout that the kernel `fetch` reads; fetch.ptx documents the members. */
struct fth_fetch_request {
    uint32_t blocks, passes, hops, sm;
    uint32_t taken, served;
    float factor, summand;
    uint64_t first, samples;
};
/* The number of instructions per block of the straight-line code. A request executes whole blocks.
 * Two instructions of each block test for the end and branch. */
enum { FTH_FETCH_BLOCK = 64 };
/* Appends the module of fetch.ptx: the kernel `fetch` with straight-line code of `instructions`
 * instructions (a multiple of FTH_FETCH_BLOCK), and the kernel `origin`. */
FTH_MUST_USE enum fth_status fth_kernels_fetch(uint64_t instructions, struct fth_buffer *out,
                                               struct fth_error *error);

/* A request in the layout that the kernel `branch` reads; branch.ptx documents the members. */
struct fth_branch_request {
    uint32_t count, passes, distance, sm;
    uint32_t taken, served;
    float factor, summand;
    uint64_t samples;
};
/* The number of blocks of FTH_FETCH_BLOCK instructions, and the number of distances between two
 * blocks in a row: 1, 2, 4, … blocks. The distances are limited by the predicate registers of a
 * thread, which are 7. */
enum { FTH_BRANCH_BLOCKS = 256, FTH_BRANCH_DISTANCES = 6 };
/* Appends the module of branch.ptx. */
FTH_MUST_USE enum fth_status fth_kernels_branch(struct fth_buffer *out, struct fth_error *error);

/* ---- streams ---- */

/* The number of vectors that a lane has in flight, and the maximum number of cycles that blocks
 * wait for each other before they are timed. Chosen, not derived. */
enum { FTH_STREAM_UNROLL = 4, FTH_STREAM_MAX_WAIT_CYCLES = 200000 };

/* The kinds of streams. Writes and copies exist only for the paths CG and SHARED, texture reads
 * only with 4 bytes per load. */
enum fth_stream_kind { FTH_STREAM_READ, FTH_STREAM_WRITE, FTH_STREAM_COPY, FTH_STREAM_KINDS };
const char *fth_stream_kind_name(enum fth_stream_kind kind);
bool fth_kernels_has_stream(enum fth_stream_kind kind, enum fth_path path, uint32_t vector_bytes);
/* Which stream kernel to generate. With `cluster`, each block accesses the shared memory of its
 * neighbour in the cluster (path SHARED, kinds READ and WRITE). */
struct fth_stream_code {
    enum fth_stream_kind kind;
    enum fth_path path;
    uint32_t vector_bytes;
    bool cluster;
};
/* Writes the name of the kernel, such as "read_cg_16". */
void fth_kernels_stream_name(const struct fth_stream_code *code, char name[32]);
/* Appends the module of one stream, which has one kernel; stream.ptx documents its parameters. */
FTH_MUST_USE enum fth_status fth_kernels_stream(const struct fth_stream_code *code,
                                                struct fth_buffer *out, struct fth_error *error);

/* ---- kernel_operate.c ---- */

/* The operations that operate.ptx can repeat. */
enum fth_operation {
    FTH_ADD_F16,
    FTH_MUL_F16,
    FTH_FMA_F16,
    FTH_ADD_F16X2,
    FTH_MUL_F16X2,
    FTH_FMA_F16X2,
    FTH_ADD_BF16X2,
    FTH_MUL_BF16X2,
    FTH_FMA_BF16X2,
    FTH_ADD_F32,
    FTH_MUL_F32,
    FTH_FMA_F32,
    FTH_ADD_F64,
    FTH_MUL_F64,
    FTH_FMA_F64,
    FTH_ADD_S32,
    FTH_MUL_S32,
    FTH_MAD_S32,
    FTH_ADD_S64,
    FTH_MUL_S64,
    FTH_MAD_S64,
    FTH_RSQRT_F32,
    FTH_SQRT_F32,
    FTH_SIN_F32,
    FTH_COS_F32,
    FTH_EX2_F32,
    FTH_LG2_F32,
    FTH_LOAD_SHARED_4,
    FTH_LOAD_SHARED_8,
    FTH_LOAD_L2,
    FTH_COPY_SHARED_4,
    FTH_COPY_SHARED_16,
    FTH_ATOMIC_SHARED,
    FTH_ATOMIC_GLOBAL,
    FTH_ATOMIC_CAS,
    /* Atomics with a result (ATOM) and without one (RED), by scope and by type. */
    FTH_ATOM_CTA,
    FTH_ATOM_CLUSTER,
    FTH_ATOM_GPU,
    FTH_ATOM_SYS,
    FTH_ATOM_U64,
    FTH_ATOM_F16X2,
    FTH_ATOM_F32,
    FTH_ATOM_F64,
    FTH_RED_CTA,
    FTH_RED_CLUSTER,
    FTH_RED_GPU,
    FTH_RED_SYS,
    FTH_RED_U64,
    FTH_RED_F16X2,
    FTH_RED_F32,
    FTH_RED_F64,
    FTH_ATOM_SHARED_U32,
    FTH_ATOM_SHARED_U64,
    FTH_ATOM_SHARED_F16X2,
    FTH_ATOM_SHARED_F32,
    FTH_ATOM_SHARED_F64,
    FTH_RED_SHARED_U32,
    FTH_OPERATIONS
};
const char *fth_operation_name(enum fth_operation operation);  /* "fma.f32" */
const char *fth_operation_title(enum fth_operation operation); /* "fma fp32" */
/* Returns the results per instruction: 1, 2 for operations on pairs, 4 for 16-byte copies. */
unsigned fth_operation_results(enum fth_operation operation);
/* Returns the lowest compute capability with the operation, 53 for 5.3. 0: every GPU that the
 * kernels support. */
unsigned fth_operation_capability(enum fth_operation operation);
/* Whether the operation accesses shared or global memory, and the bytes per access. */
bool fth_operation_in_shared(enum fth_operation operation);
bool fth_operation_in_global(enum fth_operation operation);
unsigned fth_operation_bytes(enum fth_operation operation);
/* Whether the operation keeps its address and passes its result on as an operand, so that the type
 * of the operand does not matter. Threads of a warp can then share a word (struct fth_operate). */
bool fth_operation_keeps_address(enum fth_operation operation);
/* Whether the operation is a copy. Each chain then has two addresses per thread. */
bool fth_operation_copies(enum fth_operation operation);
/* The operands of the kernel, as bits of the operation's type. For floating point, a factor of 1
 * and a small addend, which keep the values in range. */
void fth_operation_operands(enum fth_operation operation, uint64_t *first, uint64_t *second);

enum { FTH_OPERATE_ROUND = 512, FTH_MAX_CHAINS = 8 };
/* Returns the operations per round, over all chains of a thread: FTH_OPERATE_ROUND. For copies half
 * of this, rounded down to a multiple of the number of chains. */
unsigned fth_operation_round(enum fth_operation operation, unsigned chains);
/* Appends the module of one operation with `chains` independent chains per thread. */
FTH_MUST_USE enum fth_status fth_kernels_operate(enum fth_operation operation, unsigned chains,
                                                 struct fth_buffer *out, struct fth_error *error);

/* ---- kernel_copies.c ---- */

/* The ways to copy between global and shared memory (copies.ptx), or to the shared memory of other
 * blocks of a cluster (exchange.ptx). */
enum fth_copies_kind {
    FTH_COPIES_BULK_LOAD,   /* cp.async.bulk, global to shared memory; one thread per warp */
    FTH_COPIES_BULK_STORE,  /* the same, shared to global memory */
    FTH_COPIES_TENSOR_LOAD, /* cp.async.bulk.tensor, global to shared memory; one thread per warp */
    FTH_COPIES_ASYNC_CA,    /* cp.async.ca; each thread copies 4, 8 or 16 bytes */
    FTH_COPIES_ASYNC_CG,    /* cp.async.cg; each thread copies 16 bytes */
    FTH_COPIES_LOAD_STORE,  /* ld.global.cg and st.shared of 4, 8 or 16 bytes by each thread */
    FTH_COPIES_CLUSTER,     /* cp.async.bulk, shared memory to that of another block, and back */
    FTH_COPIES_STORE_ASYNC, /* st.async of 8 bytes to another block, and back */
    FTH_COPIES_MULTICAST,   /* cp.async.bulk, global memory to the shared memory of all blocks */
    FTH_COPIES_KINDS
};
const char *fth_copies_kind_name(enum fth_copies_kind kind); /* "bulk-load" */
/* Returns the lowest compute capability that has the instructions, 90 for 9.0. */
unsigned fth_copies_capability(enum fth_copies_kind kind);
/* Whether each thread copies its part, whether blocks of a cluster receive copies of others, and
 * whether an mbarrier counts what has been copied. */
bool fth_copies_by_threads(enum fth_copies_kind kind);
bool fth_copies_in_cluster(enum fth_copies_kind kind);
bool fth_copies_counted(enum fth_copies_kind kind);
/* Bytes of shared memory in front of the stages, with an mbarrier of 8 bytes for each of at most
 * FTH_COPIES_MAX_STAGES stages of a block. */
enum { FTH_COPIES_HEAD_BYTES = 1024, FTH_COPIES_MAX_STAGES = FTH_COPIES_HEAD_BYTES / 8 };
/* Which kernel to generate. */
struct fth_copies_code {
    enum fth_copies_kind kind;
    uint32_t bytes; /* per thread, if each thread copies its part; otherwise not used */
    uint32_t depth; /* copies in flight; not used if an mbarrier counts them */
    uint32_t rank;  /* dimensions of the tensor; otherwise 0 */
};
/* Appends the module of one kernel: `copies`, or `exchange` in a cluster. The templates document
 * their parameters. */
FTH_MUST_USE enum fth_status fth_kernels_copies(const struct fth_copies_code *code,
                                                struct fth_buffer *out, struct fth_error *error);

/* ---- kernel_sweep.c ---- */

/* STREAM's kernels (McCalpin): COPY z = x, MUL z = s x, ADD z = x + y, TRIAD z = x + s y; READ only
 * reads x, WRITE only writes z = s. */
enum fth_sweep_kind {
    FTH_SWEEP_READ,
    FTH_SWEEP_WRITE,
    FTH_SWEEP_COPY,
    FTH_SWEEP_MUL,
    FTH_SWEEP_ADD,
    FTH_SWEEP_TRIAD,
    FTH_SWEEP_KINDS
};
/* The scalar s, and the number of 32-bit sums that READ adds to. */
enum { FTH_SWEEP_SCALAR = 3, FTH_SWEEP_SUMS = 256 * 32 };
const char *fth_sweep_kind_name(enum fth_sweep_kind kind);
/* Returns the number of arrays that the kernel accesses. */
unsigned fth_sweep_arrays(enum fth_sweep_kind kind);
/* The expected value of an element of z (of x for READ): c[0] x + c[1] y + c[2]. */
void fth_sweep_coefficients(enum fth_sweep_kind kind, uint64_t coefficients[3]);

/* Which sweep kernel to generate. A thread has `unroll` vectors of each array in flight (1 to 8; at
 * most 4 if two arrays are read). `lanes` threads access consecutive vectors. With `hinted`, the
 * kernel asks the L2 to keep lines that are read rather than lines that are written. READ and WRITE
 * use 4-byte words. */
struct fth_sweep_code {
    enum fth_sweep_kind kind;
    bool wide; /* fp64, not fp32 */
    uint32_t vector_bytes, unroll, lanes;
    bool hinted;
};
bool fth_kernels_has_sweep(const struct fth_sweep_code *code);
/* Appends the module of one sweep, with the kernel `sweep`. */
FTH_MUST_USE enum fth_status fth_kernels_sweep(const struct fth_sweep_code *code,
                                               struct fth_buffer *out, struct fth_error *error);
/* Appends the module that writes and checks the arrays of sweeps: `write`, `check`, `total`. */
FTH_MUST_USE enum fth_status fth_kernels_pattern(bool wide, struct fth_buffer *out,
                                                 struct fth_error *error);
/* Returns the bits of an element, computed as in that module. */
uint64_t fth_sweep_element(uint64_t index, bool wide, const uint64_t coefficients[3]);

/* ---- kernel_visit.c ---- */

/* The accesses that visit.ptx can time: none (the cost of timing itself), a load of 4 bytes through
 * or past the L1, and an atomic addition of 0 with a scope. */
enum fth_visit_operation {
    FTH_VISIT_NONE,
    FTH_VISIT_CA,
    FTH_VISIT_CG,
    FTH_VISIT_DISCARD, /* CG; the line is then discarded, so that the next visit misses the L2 */
    FTH_VISIT_CTA,
    FTH_VISIT_CLUSTER,
    FTH_VISIT_GPU,
    FTH_VISIT_SYS,
    FTH_VISIT_OPERATIONS
};
const char *fth_visit_name(enum fth_visit_operation operation);  /* "cg" */
const char *fth_visit_title(enum fth_visit_operation operation); /* "load, past L1" */
/* Returns the lowest compute capability with the access, 60 for 6.0; 0: every GPU. */
unsigned fth_visit_capability(enum fth_visit_operation operation);
/* Appends the module of one access, with the kernel `visit`. */
FTH_MUST_USE enum fth_status fth_kernels_visit(enum fth_visit_operation operation,
                                               struct fth_buffer *out, struct fth_error *error);

/* The number of vectors that a lane of traffic.ptx has in flight. Chosen, not derived. */
enum { FTH_TRAFFIC_UNROLL = 4 };
/* Appends the module of traffic.ptx for vectors of 4, 8 or 16 bytes, with the kernel `traffic`. */
FTH_MUST_USE enum fth_status fth_kernels_traffic(uint32_t vector_bytes, struct fth_buffer *out,
                                                 struct fth_error *error);

/* ---- kernel_opencl.c ---- */

/* Which prelude an OpenCL device gets. FTH_OPENCL_OTHER has no clock: the host times whole kernels.
 */
enum fth_opencl_vendor {
    FTH_OPENCL_AMD,
    FTH_OPENCL_INTEL_GPU,
    FTH_OPENCL_NVIDIA,
    FTH_OPENCL_X86,
    FTH_OPENCL_ARM64,
    FTH_OPENCL_OTHER,
    FTH_OPENCL_VENDORS
};
/* Appends the program of the chases, with the kernels `fth_chase`, `fth_pace` and `fth_facts`,
 * which chase.cl documents. */
FTH_MUST_USE enum fth_status fth_kernels_opencl(enum fth_opencl_vendor vendor,
                                                struct fth_buffer *out, struct fth_error *error);
/* Appends the same program with the kernel `fth_image`, which images.cl documents. */
FTH_MUST_USE enum fth_status fth_kernels_opencl_image(enum fth_opencl_vendor vendor,
                                                      struct fth_buffer *out,
                                                      struct fth_error *error);
/* Returns whether a vendor's prelude has code for instruction caches: straight-line code (stride
 * 0), or branches that are `stride_bytes` apart. */
bool fth_kernels_opencl_has_code(enum fth_opencl_vendor vendor, uint64_t stride_bytes);
/* Appends the program with the kernel `fth_fetch` for code of at most `count` instructions, which
 * fetch.cl documents. fth_kernels_opencl_has_code must be true. */
FTH_MUST_USE enum fth_status fth_kernels_opencl_fetch(enum fth_opencl_vendor vendor,
                                                      uint64_t stride_bytes, uint64_t count,
                                                      struct fth_buffer *out,
                                                      struct fth_error *error);
/* Appends the program of one sweep, with the kernels `fth_sweep`, and `fth_write`, `fth_check` and
 * `fth_total` for its arrays, which arrays.cl documents. Fails with FTH_UNSUPPORTED if there is no
 * such kernel: see fth_kernels_has_sweep; only NVIDIA's GPUs have cache hints. */
FTH_MUST_USE enum fth_status fth_kernels_opencl_sweep(enum fth_opencl_vendor vendor,
                                                      const struct fth_sweep_code *code,
                                                      struct fth_buffer *out,
                                                      struct fth_error *error);

extern const struct fth_embedded fth_embedded_kernels[];
extern const size_t fth_embedded_kernel_count;
/* The files of opencl/. */
extern const struct fth_embedded fth_embedded_opencl[];
extern const size_t fth_embedded_opencl_count;

#endif
