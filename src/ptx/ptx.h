/* ptx/: reads PTX, NVIDIA's portable assembly, and executes it warp by warp, without a GPU.
 *
 * A module is what was read: immutable, and shared by any number of machines. A machine is a GPU's
 * memory with a module loaded into it; a launch runs one kernel of the module on it. What happens
 * is told to an observer: with one that keeps time the engine is a simulated GPU, with one that
 * writes down every access it is a trace extractor.
 *
 *   lexer.c      text into tokens, errors with a caret     module.c   directives and functions
 *   names.c      what is in scope, labels                  data.c     types, variables, registers
 *   assemble.c   one instruction and its operands          modifiers.c, expression.c
 *   machine.c    memory, symbols, textures                 launch.c   blocks and host threads
 *   flow.c       warps: divergence, calls, meeting again   barrier.c  where warps wait for others
 *   operands.c   what an instruction reads and writes      half.c     f16 and bf16
 *   execute_*.c  what instructions do, a warp at a time
 */
#ifndef FTH_PTX_H
#define FTH_PTX_H

#include "base/base.h"

/* ---- modules ---- */

struct fth_ptx_module;

/* Reads a whole PTX file. What cannot be executed later is refused here, with the line and a caret
 * under the culprit in the error's cause. */
FTH_MUST_USE enum fth_status fth_ptx_read_text(const char *name, const char *text, size_t size,
                                               struct fth_ptx_module **module,
                                               struct fth_error *error);
FTH_MUST_USE enum fth_status fth_ptx_read_file(const char *path, struct fth_ptx_module **module,
                                               struct fth_error *error);
/* The same with the module's variables from `address` on (fth_ptx_next_address), so that it can be
 * loaded beside others. */
FTH_MUST_USE enum fth_status fth_ptx_read_text_at(const char *name, const char *text, size_t size,
                                                  uint64_t address, struct fth_ptx_module **module,
                                                  struct fth_error *error);
/* What its code takes where every instruction has FTH_PTX_INSTRUCTION_BYTES. */
uint64_t fth_ptx_code_bytes(const struct fth_ptx_module *module);
void fth_ptx_destroy(struct fth_ptx_module *module);

/* A parameter of a kernel, at `offset` in the bytes that a launch is given. */
struct fth_ptx_parameter {
    const char *name;
    size_t offset;
    size_t bytes;
    const char *type; /* "u64", "f32", …; "b8" for a struct */
};

struct fth_ptx_kernel {
    const char *name;
    const struct fth_ptx_parameter *parameters;
    size_t parameter_count;
    size_t parameter_bytes;
    size_t shared_bytes;          /* static */
    uint32_t max_block[3];        /* .maxntid; 0 where it is not said */
    uint32_t required_block[3];   /* .reqntid */
    uint32_t required_cluster[3]; /* .reqnctapercluster */
};

/* NULL past the last. */
const struct fth_ptx_kernel *fth_ptx_kernel_at(const struct fth_ptx_module *module, size_t index);
/* NULL where there is none of that name. */
const struct fth_ptx_kernel *fth_ptx_kernel(const struct fth_ptx_module *module, const char *name);

/* ---- machines ---- */

struct fth_ptx_machine;

/* Borrows the module, which must outlive it. Places and initialises the module's variables. NULL: a
 * machine of memory alone, for others to be made beside. */
FTH_MUST_USE enum fth_status fth_ptx_machine_create(const struct fth_ptx_module *module,
                                                    struct fth_ptx_machine **machine,
                                                    struct fth_error *error);
/* The same with the memory of another machine: allocations, textures and the variables of both
 * modules are seen by both. The memory lives as long as one of them. */
FTH_MUST_USE enum fth_status fth_ptx_machine_beside(struct fth_ptx_machine *other,
                                                    const struct fth_ptx_module *module,
                                                    struct fth_ptx_machine **machine,
                                                    struct fth_error *error);
void fth_ptx_machine_destroy(struct fth_ptx_machine *machine);
/* Nothing lies at this address or above it. */
uint64_t fth_ptx_next_address(const struct fth_ptx_machine *machine);

/* Zeroed device memory, aligned to 256 bytes, from 2 MiB on to 2 MiB; the address is what a kernel
 * is given. The host's memory is used page by page, when it is written. */
FTH_MUST_USE enum fth_status fth_ptx_alloc(struct fth_ptx_machine *machine, uint64_t bytes,
                                           uint64_t *address, struct fth_error *error);
FTH_MUST_USE enum fth_status fth_ptx_free(struct fth_ptx_machine *machine, uint64_t address,
                                          struct fth_error *error);
/* The host memory behind device memory, or NULL where it is not all allocated. */
void *fth_ptx_host(const struct fth_ptx_machine *machine, uint64_t address, uint64_t bytes);
/* Sets every byte; false where the range is not all allocated. */
bool fth_ptx_fill(struct fth_ptx_machine *machine, uint64_t address, unsigned char byte,
                  uint64_t bytes);
/* Where a variable of the module lies; false where there is none of that name. */
bool fth_ptx_symbol(const struct fth_ptx_machine *machine, const char *name, uint64_t *address,
                    uint64_t *bytes);
/* A linear (1D) texture over device memory; the handle is a 64-bit kernel argument. */
enum fth_ptx_texel { FTH_TEXEL_U32, FTH_TEXEL_S32, FTH_TEXEL_F32 };
FTH_MUST_USE enum fth_status fth_ptx_texture(struct fth_ptx_machine *machine, uint64_t address,
                                             uint64_t texels, enum fth_ptx_texel texel,
                                             unsigned channels, uint64_t *handle,
                                             struct fth_error *error);
/* The handle is no texture any more; it may be given out again. */
void fth_ptx_texture_free(struct fth_ptx_machine *machine, uint64_t handle);

/* ---- observers ---- */

enum fth_ptx_space {
    FTH_SPACE_GENERIC,
    FTH_SPACE_GLOBAL,
    FTH_SPACE_SHARED,
    FTH_SPACE_LOCAL,
    FTH_SPACE_CONST,
    FTH_SPACE_PARAM,
    FTH_SPACE_TEXTURE
};

enum fth_ptx_access_kind { FTH_ACCESS_READ, FTH_ACCESS_WRITE, FTH_ACCESS_ATOMIC };

/* .ca .cg .cs .lu .cv .wb .wt, .nc and .volatile */
enum fth_ptx_cache_op {
    FTH_CACHE_DEFAULT,
    FTH_CACHE_CA,
    FTH_CACHE_CG,
    FTH_CACHE_CS,
    FTH_CACHE_LU,
    FTH_CACHE_CV,
    FTH_CACHE_WB,
    FTH_CACHE_WT,
    FTH_CACHE_NC,
    FTH_CACHE_VOLATILE
};

/* Who is doing it: one warp of one block. */
struct fth_ptx_warp_id {
    uint64_t block; /* linear index in the grid */
    uint32_t block_xyz[3];
    uint32_t warp; /* in the block */
    uint32_t sm;   /* %smid */
    uint32_t rank; /* of the block in its cluster */
};

/* One memory instruction of one warp. */
struct fth_ptx_access {
    struct fth_ptx_warp_id who;
    uint32_t instruction; /* index in the function, the same in every execution of it */
    uint32_t line;        /* in the PTX text */
    uint32_t source_file, source_line; /* from .loc; 0: not known */
    enum fth_ptx_space space;          /* where the address led: never GENERIC */
    uint32_t target;                   /* SHARED: the rank of the block whose memory it is */
    enum fth_ptx_cache_op cache_op;
    enum fth_ptx_access_kind kind;
    uint32_t mask;             /* the lanes that take part */
    uint32_t bytes;            /* a lane, all elements of a vector together */
    const uint64_t *addresses; /* 32, valid where the mask says so */
};

#define FTH_PTX_INSTRUCTION_BYTES 16

/* What an instruction reads and writes: registers, and behind them predicates (the guard is one of
 * those read), in one row of numbers for each function. */
struct fth_ptx_operands {
    uint64_t code_offset; /* of the instruction in the module, for a fetch */
    bool accesses;        /* an access follows, unless no lane takes part */
    bool drains;          /* calls, returns, fences: all that is under way must be complete */
    uint8_t read_count, write_count;
    uint32_t reads[8], writes[5];
};

struct fth_ptx_issue {
    struct fth_ptx_warp_id who;
    uint32_t instruction;
    uint32_t line;
    uint32_t mask;
    const char *opcode; /* as in the text: "fma.rn.f32" */
    const struct fth_ptx_operands *operands;
    /* An activation of a function has its own: the numbers of `operands` count from here, and all
     * that the warp has are below the end. */
    uint32_t operand_base, operand_end;
    bool alone; /* where time is kept: the others of its block, or cluster, all wait or are gone */
};

/* Every callback may be NULL. An observer that is not `parallel` sees the blocks one after the
 * other, in order, or the clusters, whose blocks take turns; otherwise callbacks come from several
 * threads at once, those of one cluster in order. A callback returns false to end the launch. */
struct fth_ptx_observer {
    void *user;
    bool parallel;
    bool (*issue)(void *user, const struct fth_ptx_issue *issue);
    bool (*access)(void *user, const struct fth_ptx_access *access);
    /* The threads that it waited for have reached the barrier. `warps` has a bit for each warp that
     * goes on. */
    bool (*barrier)(void *user, uint64_t block, uint32_t barrier, uint32_t warps);
    /* Threads of the warp have come to the barrier of their cluster, or (`waited`) go on behind it.
     * `phase` says how often the barrier was complete before they came. */
    bool (*cluster_barrier)(void *user, const struct fth_ptx_warp_id *who, uint32_t phase,
                            bool waited);
    /* A cluster, or a block where there are none, has ended; they begin in the order of `index`,
     * and each that began ends, also after a fault. */
    bool (*done)(void *user, uint64_t index);
    /* What %clock64 and %globaltimer read; without it they count the block's instructions. */
    uint64_t (*clock)(void *user, const struct fth_ptx_warp_id *who, bool global);
    /* How far the warp is in time, in any unit: the warp that is furthest behind goes first, for a
     * few instructions. Without it warps take long turns. */
    int64_t (*time)(void *user, const struct fth_ptx_warp_id *who);
};

/* ---- launches ---- */

struct fth_ptx_launch {
    const char *kernel;
    uint32_t grid[3], block[3]; /* 0 counts as 1 */
    uint32_t cluster[3];        /* blocks of a cluster; all 0: what the kernel asks for, or 1 */
    size_t dynamic_shared_bytes;
    const void *arguments; /* laid out as the kernel's parameters say */
    size_t argument_bytes;
    unsigned threads;                        /* of the host; 0: all cores */
    uint32_t sms;                            /* blocks go round robin over so many; 0 counts as 1 */
    uint64_t max_instructions;               /* of a warp, before it counts as hung; 0: no limit */
    const struct fth_ptx_observer *observer; /* may be NULL */
    const struct fth_log *log;               /* hears of the progress, now and then; may be NULL */
};

struct fth_ptx_totals {
    uint64_t warp_instructions;
    uint64_t thread_instructions;
};

/* Runs a kernel to its end. An access outside the allocations, a misaligned one, a trap, a barrier
 * that cannot complete: an error with kernel, line, block, thread and address. `totals` may be
 * NULL. */
FTH_MUST_USE enum fth_status fth_ptx_run(struct fth_ptx_machine *machine,
                                         const struct fth_ptx_launch *launch,
                                         struct fth_ptx_totals *totals, struct fth_error *error);

#endif
