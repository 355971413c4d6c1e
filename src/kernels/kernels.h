/* kernels/: the microbenchmarks, as PTX templates with named placeholders (*.ptx, embedded at
 * build). kernels.c fills them in. Who runs the result, a driver or the PTX engine, is not known
 * here. */
#ifndef FTH_KERNELS_H
#define FTH_KERNELS_H

#include "base/base.h"

/* The way that a load takes. The numbers are those of the steps in experiments.ptx. */
enum fth_path {
    FTH_PATH_CA,       /* global, cached in L1 where the GPU does that */
    FTH_PATH_CG,       /* global, past L1 */
    FTH_PATH_READONLY, /* global, through the read-only path */
    FTH_PATH_TEXTURE,
    FTH_PATH_CONSTANT,
    FTH_PATH_SHARED,
    FTH_PATH_COUNT
};
const char *fth_path_name(enum fth_path path);

/* A request as the kernel `chase` reads it; experiments.ptx has the same in words. */
struct fth_chase_step {
    uint32_t kind, path, warp, unused;
    uint64_t passes, first, count, samples, texture_or_stride, step;
};
enum { FTH_CHASE_STEPS = 16 };
struct fth_chase_request {
    uint32_t steps, unused;
    uint64_t served; /* address of a uint32_t that gets the SM's number plus 1 */
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
    FTH_CHASE_SINK
};

/* Fills in a template: every {{name}} by its value. A name without a value is an error. */
struct fth_kernel_value {
    const char *name, *value;
};
FTH_MUST_USE enum fth_status fth_kernels_fill(const char *name, const char *text,
                                              const struct fth_kernel_value *values, size_t count,
                                              struct fth_buffer *out, struct fth_error *error);

/* The same with the template of that name (NAME.ptx). */
FTH_MUST_USE enum fth_status fth_kernels_fill_named(const char *name,
                                                    const struct fth_kernel_value *values,
                                                    size_t count, struct fth_buffer *out,
                                                    struct fth_error *error);

/* Appends the module of all experiments: census, pace, build, flush, chase. */
FTH_MUST_USE enum fth_status fth_kernels_experiments(struct fth_buffer *out,
                                                     struct fth_error *error);
/* Appends the module of cluster.ptx. */
FTH_MUST_USE enum fth_status fth_kernels_cluster(struct fth_buffer *out, struct fth_error *error);

/* A request as the kernel `fetch` reads it; fetch.ptx has the same in words. */
struct fth_fetch_request {
    uint32_t blocks, passes, hops, sm;
    uint32_t taken, served;
    float factor, summand;
    uint64_t first, samples;
};
/* The straight-line code can be left after every so many instructions, two of which do that. */
enum { FTH_FETCH_BLOCK = 64 };
/* Appends the module of instruction fetch: fetch, over code of so many instructions (a multiple of
 * FTH_FETCH_BLOCK), and origin. */
FTH_MUST_USE enum fth_status fth_kernels_fetch(uint64_t instructions, struct fth_buffer *out,
                                               struct fth_error *error);

/* ---- streams ---- */

/* Vectors that a lane has under way at once, and how long blocks wait for each other. */
enum { FTH_STREAM_UNROLL = 4, FTH_STREAM_PATIENCE = 200000 };

/* Which streams there are. A write or a copy goes through the path CG or SHARED only, a texture
 * gives 4 bytes at a time. */
enum fth_stream_kind { FTH_STREAM_READ, FTH_STREAM_WRITE, FTH_STREAM_COPY, FTH_STREAM_KINDS };
const char *fth_stream_kind_name(enum fth_stream_kind kind);
bool fth_kernels_has_stream(enum fth_stream_kind kind, enum fth_path path, uint32_t vector_bytes);
/* The code of one: in `cluster`, each block goes over the shared memory of its neighbour in the
 * cluster (path SHARED; a read or a write). */
struct fth_stream_code {
    enum fth_stream_kind kind;
    enum fth_path path;
    uint32_t vector_bytes;
    bool cluster;
};
/* The name of its kernel; room for 32 bytes. */
void fth_kernels_stream_name(const struct fth_stream_code *code, char name[32]);
/* Appends the module of one stream, with one kernel; stream.ptx says what it takes. */
FTH_MUST_USE enum fth_status fth_kernels_stream(const struct fth_stream_code *code,
                                                struct fth_buffer *out, struct fth_error *error);

/* ---- operate.c ---- */

/* What operate.ptx can be made to do over and over. */
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
    FTH_OPERATIONS
};
const char *fth_operation_name(enum fth_operation operation);  /* "fma.f32" */
const char *fth_operation_title(enum fth_operation operation); /* "fma fp32" */
/* Results of one instruction: 2 where it works on pairs. */
unsigned fth_operation_results(enum fth_operation operation);
/* The oldest GPU that has it, 53 for 5.3; 0: every one that kernels are compiled for. */
unsigned fth_operation_capability(enum fth_operation operation);
/* Whether it goes to shared or to global memory, and how wide it is there. */
bool fth_operation_in_shared(enum fth_operation operation);
bool fth_operation_in_global(enum fth_operation operation);
unsigned fth_operation_bytes(enum fth_operation operation);
/* Whether it loads and stores; each chain then has two places for every thread. */
bool fth_operation_copies(enum fth_operation operation);
/* What the kernel is given to operate with: a factor of 1, and a summand that is small. */
void fth_operation_operands(enum fth_operation operation, uint64_t *first, uint64_t *second);

enum { FTH_OPERATE_ROUND = 512, FTH_MAX_CHAINS = 8 };
/* Operations of a round, over all chains of a thread: FTH_OPERATE_ROUND, or half as many copies and
 * as many for each chain. */
unsigned fth_operation_round(enum fth_operation operation, unsigned chains);
/* Appends the module of one operation in so many chains that do not depend on each other. */
FTH_MUST_USE enum fth_status fth_kernels_operate(enum fth_operation operation, unsigned chains,
                                                 struct fth_buffer *out, struct fth_error *error);

/* ---- sweep.c ---- */

/* STREAM's kernels (McCalpin): z = x, z = s x, z = x + y, z = x + s y; and x only read, or z only
 * written with s. */
enum fth_sweep_kind {
    FTH_SWEEP_READ,
    FTH_SWEEP_WRITE,
    FTH_SWEEP_COPY,
    FTH_SWEEP_MUL,
    FTH_SWEEP_ADD,
    FTH_SWEEP_TRIAD,
    FTH_SWEEP_KINDS
};
enum { FTH_SWEEP_SCALAR = 3, FTH_SWEEP_SUMS = 256 * 32 };
const char *fth_sweep_kind_name(enum fth_sweep_kind kind);
/* How many arrays it goes over. */
unsigned fth_sweep_arrays(enum fth_sweep_kind kind);
/* What is in an element of z, or of x where it is only read: so many of x, of y, and so much. */
void fth_sweep_coefficients(enum fth_sweep_kind kind, uint64_t coefficients[3]);

/* The code of one: a thread has `unroll` vectors of each array under way (1 to 8; 4 where two
 * arrays are read), `lanes` threads go side by side. `hinted`: L2 is asked to keep what is read and
 * not what is written. Reads and writes are of 4-byte words. */
struct fth_sweep_code {
    enum fth_sweep_kind kind;
    bool wide; /* fp64, not fp32 */
    uint32_t vector_bytes, unroll, lanes;
    bool hinted;
};
bool fth_kernels_has_sweep(const struct fth_sweep_code *code);
/* Appends the module of one, with the kernel `sweep`. */
FTH_MUST_USE enum fth_status fth_kernels_sweep(const struct fth_sweep_code *code,
                                               struct fth_buffer *out, struct fth_error *error);
/* Appends the module that writes and checks their arrays: `write`, `check`, `total`. */
FTH_MUST_USE enum fth_status fth_kernels_pattern(bool wide, struct fth_buffer *out,
                                                 struct fth_error *error);
/* The bits of an element, as that module has it. */
uint64_t fth_sweep_element(uint64_t index, bool wide, const uint64_t coefficients[3]);

extern const struct fth_embedded fth_embedded_kernels[];
extern const size_t fth_embedded_kernel_count;

#endif
