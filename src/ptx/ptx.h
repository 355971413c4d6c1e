/* ptx/: parses PTX, NVIDIA's portable assembly language, and executes it on the CPU, warp by warp.
 *
 * A module is a parsed PTX file. It is immutable, and any number of machines can share it. A
 * machine is device memory with a module loaded into it. A launch runs one kernel of the module on
 * a machine. An observer is notified of every instruction and every memory access. The simulated
 * GPU is an observer that computes the time of each instruction; the trace recorder is an observer
 * that writes every access to a file. The engine itself has no notion of time.
 *
 * ptx_textures.h declares textures and surfaces.
 * engine.h has the data structures that parsing and execution share: instructions and modules.
 * access_variant.c names the variant of an access by its cache operator and hints.
 * types.c has the types, half.c the formats f16, bf16, e4m3 and e5m2. slice/ finds what a launch
 * that is only observed can skip. debug/ reads the types of parameters from debug information.
 *
 *   parse/                                           execute/
 *   lexer.c       tokens, errors with a caret        ptx_machine.c  memory, symbols
 *   module.c      directives and functions           ptx_launch.c   checks, host threads
 *   names.c       scopes, symbols, labels            divergence.c   fragments of a warp
 *   data.c        variables, registers               calls.c        frames, calls and returns
 *   assemble.c    one instruction                    barrier.c      barriers of blocks, clusters
 *   operand.c     its operands                       execute_*.c    the instructions
 *   modifiers.c   the words after an opcode          address.c      the memory of an access
 *   dependences.c registers read and written         special.c      special registers
 *   placement.c   where operands are stored
 *   position.c    positions in the source
 *   argument_loads.c  members of structs
 *   scan.c        binary files, names of kernels
 *   constant_expression.c  constant expressions
 *   statement.c   families of instructions with a syntax of their own
 *
 * Families: matrix/ has the instructions of the tensor cores, async/ asynchronous copies and the
 * barriers that count them, texture/ textures and surfaces, video/ the video instructions, narrow.c
 * conversions to small formats, wide.c registers of 128 bits and atomic operations on vectors.
 * runtime/ has printf, assert, malloc, free and the faults, hazard/ the search for races,
 * schedule/ the order in which blocks and warps run, fuse/ fused multiplications, cost/ estimates
 * the machine instructions that PTX becomes, and spill/ the registers that are spilled. */
#ifndef FTH_PTX_H
#define FTH_PTX_H

#include "base/base.h"
#include "gpu/gpu.h"
#include "ptx/ptx_textures.h"

/* ---- modules ---- */

/* The limit for reading a PTX file, or a file that contains PTX. Chosen: the PTX of very large
 * sources has some megabytes. */
#define FTH_PTX_LIMIT FTH_FILE_LIMIT("a file with PTX", (size_t)256 << 20)

struct fth_ptx_module;

/* Parses a whole PTX file. `name` is the file name for error messages. Text that is not PTX is
 * rejected here: the error's cause has the line number, and its excerpt shows the line with a caret
 * under the offending token. Kernels with instructions that the engine cannot execute are accepted,
 * and fail when they are launched; see fth_ptx_unsupported. The caller destroys the module. */
FTH_MUST_USE enum fth_status fth_ptx_read_text(const char *name, const char *text, size_t size,
                                               struct fth_ptx_module **module,
                                               struct fth_error *error);
/* Like fth_ptx_read_text, but places the module's variables at `address` or above. With the result
 * of fth_ptx_next_address, the module can be loaded into a memory that holds other modules. */
FTH_MUST_USE enum fth_status fth_ptx_read_text_at(const char *name, const char *text, size_t size,
                                                  uint64_t address, struct fth_ptx_module **module,
                                                  struct fth_error *error);
/* The address of a variable. */
struct fth_ptx_placement {
    const char *variable;
    uint64_t address;
};
/* Like fth_ptx_read_text_at, but the variables in the list get the addresses that it states.
 * fth_ptx_machine_create fails if another variable or an allocation is there. */
FTH_MUST_USE enum fth_status fth_ptx_read_text_placed(const char *name, const char *text,
                                                      size_t size, uint64_t address,
                                                      const struct fth_ptx_placement *placements,
                                                      size_t placement_count,
                                                      struct fth_ptx_module **module,
                                                      struct fth_error *error);
/* Returns whether the data is a binary file. */
bool fth_ptx_is_binary(const void *data, size_t size);
/* Appends the names of the kernels of PTX, each followed by a NUL, in the order of the text,
 * without parsing it. A text that is not PTX gives arbitrary names. Returns false without memory.
 */
bool fth_ptx_scan_kernels(const char *text, size_t size, struct fth_buffer *names);
/* Estimates which registers an assembler spills to local memory, because the kernel needs more than
 * its directives allow, and adds the loads and stores to the kernels of the module (spill/). They
 * move no data. Called at most once, before machines are created. */
FTH_MUST_USE enum fth_status fth_ptx_add_spills(struct fth_ptx_module *module,
                                                struct fth_error *error);
/* Returns the size of the module's code if every instruction takes FTH_PTX_INSTRUCTION_BYTES. Each
 * function is padded to 128 bytes. */
uint64_t fth_ptx_code_bytes(const struct fth_ptx_module *module);
void fth_ptx_destroy(struct fth_ptx_module *module);

/* Lines of the first atomics on whose order the results of a kernel can depend, in the kernel
 * itself or in a function that it may call; 0: there is none. */
struct fth_ptx_atomic_order {
    uint32_t float_line;  /* an addition of floating-point numbers, which depends on the order */
    uint32_t result_line; /* any other atomic whose result the kernel gets */
};
struct fth_ptx_atomic_order fth_ptx_find_atomic_order(const struct fth_ptx_module *module,
                                                      const char *kernel);

/* A parameter of a kernel. */
struct fth_ptx_parameter {
    const char *name;
    size_t offset; /* in the argument bytes of a launch */
    size_t bytes;
    const char *type; /* "u64", "f32", …; "b8" for a struct */
};

struct fth_ptx_kernel {
    const char *name;
    const char *display_name; /* short C++ name, for messages; the same as `name` if it has none */
    const struct fth_ptx_parameter *parameters;
    size_t parameter_count;
    size_t parameter_bytes;
    size_t shared_bytes;          /* static shared memory per block */
    uint32_t max_block[3];        /* .maxntid; all 0 if not specified */
    uint32_t required_block[3];   /* .reqntid; all 0 if not specified */
    uint32_t required_cluster[3]; /* .reqnctapercluster; all 0 if not specified */
    uint32_t max_registers;       /* .maxnreg; 0: not specified */
    uint32_t min_blocks;          /* .minnctapersm; 0: not specified */
    /* What fth_ptx_add_spills has estimated; 0: the kernel spills no registers. */
    uint32_t register_limit;            /* registers per thread that it may use */
    uint32_t spill_stores, spill_loads; /* instructions that it has added to the kernel */
    uint32_t spill_bytes;               /* of local memory that they use */
};

/* Tells the log what fth_ptx_add_spills has added to a kernel, if anything. */
void fth_ptx_note_spills(const struct fth_ptx_kernel *kernel, const struct fth_log *log);

/* A load of a kernel from its arguments. */
struct fth_ptx_argument_load {
    size_t offset; /* in the argument bytes of a launch */
    size_t bytes;
    /* As in the instruction: "u64", "f32", "b32", …; a floating-point type if the instruction has
     * none (b32) and the kernel computes with the value as with such a number. */
    const char *type;
    bool is_pointer; /* the kernel uses it as the address of global memory */
    bool is_signed;  /* the kernel uses it as a signed integer */
};
/* Finds the loads of a kernel of the module from constant offsets in its arguments, in the order of
 * the offsets, each offset once. Returns their number, at most `capacity`. */
size_t fth_ptx_argument_loads(const struct fth_ptx_module *module,
                              const struct fth_ptx_kernel *kernel,
                              struct fth_ptx_argument_load *loads, size_t capacity);

/* ---- debug/ ---- */

/* The types of the parameters of kernels, from the debug information of PTX (nvcc -G). */
struct fth_ptx_debug;
/* Reads the debug information of a module. *debug is NULL if there is none that can be read. Fails
 * only without memory. */
FTH_MUST_USE enum fth_status fth_ptx_debug_open(const struct fth_ptx_module *module,
                                                struct fth_ptx_debug **debug,
                                                struct fth_error *error);
/* Takes NULL. */
void fth_ptx_debug_close(struct fth_ptx_debug *debug);

/* A number, an array of numbers or a pointer in a parameter. */
struct fth_ptx_debug_member {
    char name[256];  /* "n", or "p.range[1].first" of a struct p; cut if it is longer */
    char type[256];  /* in C++ */
    char element[8]; /* the type as PTX names it: "s32"; "" if it is no number */
    size_t offset;   /* in the parameter */
    size_t bytes;    /* of one number */
    size_t count;    /* numbers in an array; otherwise 1 */
    bool is_pointer;
};
/* Lists the numbers and pointers of the parameter with this index, in the order of their offsets.
 * Returns their number. 0: the debug information does not have all of them, or they are more than
 * `capacity`. */
size_t fth_ptx_debug_members(const struct fth_ptx_debug *debug, const char *kernel, size_t index,
                             struct fth_ptx_debug_member *members, size_t capacity);

/* ---- kernels ---- */

/* Returns the text of the module. */
const char *fth_ptx_text(const struct fth_ptx_module *module);
/* Returns the kernel with this index, or NULL if the module has fewer kernels. */
const struct fth_ptx_kernel *fth_ptx_kernel_at(const struct fth_ptx_module *module, size_t index);
/* Returns the kernel with this name, or NULL. */
const struct fth_ptx_kernel *fth_ptx_kernel(const struct fth_ptx_module *module, const char *name);

/* A variable of a module in global or constant memory. */
struct fth_ptx_variable_facts {
    const char *name;
    const char *type; /* of its elements: "u32", "f32", …; compilers declare arrays as "b8" */
    uint64_t bytes;
    bool is_constant;
    bool has_data; /* the module states its initial contents; otherwise they are zeros */
};
/* Describes the variable with this index. Returns false if the module has fewer variables. */
bool fth_ptx_variable_at(const struct fth_ptx_module *module, size_t index,
                         struct fth_ptx_variable_facts *facts);

/* Returns the first instruction that the engine cannot execute, as an error, if the kernel of this
 * name or a function that it calls has one. The error's cause has the line number, and its excerpt
 * shows the line with a caret under the offending token. fth_ptx_run fails with the same error.
 * NULL: there is none, or no such kernel. */
const struct fth_error *fth_ptx_unsupported(const struct fth_ptx_module *module, const char *name);

/* ---- machines ---- */

struct fth_ptx_machine;

/* Creates a machine with a memory of its own and initialises the module's variables in it. The
 * machine borrows the module, which must outlive it. Without a module (NULL), the machine only
 * holds memory that other machines can share; it cannot run kernels. */
FTH_MUST_USE enum fth_status fth_ptx_machine_create(const struct fth_ptx_module *module,
                                                    struct fth_ptx_machine **machine,
                                                    struct fth_error *error);
/* Like fth_ptx_machine_create, but the new machine uses the memory of `other`. Both machines see
 * the allocations, the textures and the variables of both modules. The memory is freed with the
 * last machine that uses it. */
FTH_MUST_USE enum fth_status fth_ptx_machine_create_shared(struct fth_ptx_machine *other,
                                                           const struct fth_ptx_module *module,
                                                           struct fth_ptx_machine **machine,
                                                           struct fth_error *error);
void fth_ptx_machine_destroy(struct fth_ptx_machine *machine);
/* Returns the lowest address above all allocations and variables at which a module or an allocation
 * can be placed. */
uint64_t fth_ptx_next_address(const struct fth_ptx_machine *machine);

/* Size in bytes of the memory for malloc of kernels, which a machine has if its module calls
 * malloc. It keeps its contents from one launch to the next. malloc returns NULL when it is full.
 * This is the default of a CUDA device (cudaLimitMallocHeapSize). */
#define FTH_PTX_HEAP_BYTES ((uint64_t)8 << 20)

/* Sets the address of the first allocation, before there is one. It is a multiple of 2 MiB, and at
 * least 4 GiB. */
void fth_ptx_set_base(struct fth_ptx_machine *machine, uint64_t address);
/* Sets how many bytes fth_ptx_alloc can allocate. Variables of modules, the memory for malloc of
 * kernels and host memory do not count. At first, only the host's memory limits it. */
void fth_ptx_set_capacity(struct fth_ptx_machine *machine, uint64_t bytes);
/* Returns how many bytes of the capacity are free. */
uint64_t fth_ptx_free_bytes(const struct fth_ptx_machine *machine);
/* Lets kernels access the caller's host memory at this address, which is at least 4 GiB and has at
 * most 49 bits. The memory has 8 more bytes, which kernels do not access, and must not be freed
 * before fth_ptx_free or the last machine. FTH_INVALID: other memory is there. */
FTH_MUST_USE enum fth_status fth_ptx_map(struct fth_ptx_machine *machine, void *host,
                                         uint64_t bytes, uint64_t address, struct fth_error *error);

/* Allocates zeroed device memory. The address is aligned to 2 MiB if `bytes` is at least 2 MiB, and
 * to 256 bytes otherwise; it can be passed to kernels. A large allocation takes host memory only
 * for the pages that are written. */
FTH_MUST_USE enum fth_status fth_ptx_alloc(struct fth_ptx_machine *machine, uint64_t bytes,
                                           uint64_t *address, struct fth_error *error);
FTH_MUST_USE enum fth_status fth_ptx_free(struct fth_ptx_machine *machine, uint64_t address,
                                          struct fth_error *error);
/* Returns the host memory that backs a range of device memory, or NULL unless one allocation
 * contains the whole range. */
void *fth_ptx_host(const struct fth_ptx_machine *machine, uint64_t address, uint64_t bytes);
/* Sets every byte of a range. Returns false unless one allocation contains the whole range. */
bool fth_ptx_fill(struct fth_ptx_machine *machine, uint64_t address, unsigned char byte,
                  uint64_t bytes);
/* Finds the address and size of a variable of the module. Returns false if there is none of this
 * name. */
bool fth_ptx_symbol(const struct fth_ptx_machine *machine, const char *name, uint64_t *address,
                    uint64_t *bytes);
/* Finds the variable that contains an address. Returns its name, or NULL. */
const char *fth_ptx_symbol_at(const struct fth_ptx_module *module, uint64_t within,
                              uint64_t *address, uint64_t *bytes);
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

/* What performs an access. The warp that issues the instruction is in `who`. */
enum fth_ptx_unit {
    FTH_UNIT_LANES,       /* the lanes of the warp, each for itself: ld, st, atom, red, wmma.load */
    FTH_UNIT_LANE_COPY,   /* the lanes copy from global to shared memory: cp.async */
    FTH_UNIT_MATRIX,      /* the warp moves rows of matrices, one per lane: ldmatrix, stmatrix */
    FTH_UNIT_TENSOR_CORE, /* reads a matrix in shared memory: wgmma */
    FTH_UNIT_COPY_ENGINE, /* copies a range of bytes: cp.async.bulk, cp.reduce.async.bulk */
    FTH_UNIT_BARRIER,     /* mbarrier */
    FTH_UNIT_TEXTURE      /* textures and surfaces */
};

/* How an access reaches the memory. */
enum fth_ptx_path {
    FTH_PTX_PATH_L1,      /* global and local memory and textures, through the L1 */
    FTH_PTX_PATH_L2,      /* past the L1: .cg, .cv, .volatile, atomics, and the copy engine */
    FTH_PTX_PATH_SHARED,  /* shared memory of the block, on the same SM */
    FTH_PTX_PATH_CLUSTER, /* shared memory of another block of the cluster */
    FTH_PTX_PATH_CONSTANT /* constants and parameters */
};

/* Identifies the warp that issued an instruction. */
struct fth_ptx_warp_id {
    uint64_t block; /* linear index in the grid */
    uint32_t block_xyz[3];
    uint32_t warp; /* index in the block */
    uint32_t sm;   /* %smid */
    uint32_t rank; /* of the block in its cluster */
};

/* Numbers of the lanes of a warp, such as addresses, in compact form: `base` for lane 0, `step`
 * more with each lane, and `row_step` more with each row of lanes. A row has `row_lanes` lanes
 * (struct fth_ptx_access), a power of two, and `step` starts again in each row. If a row has 32
 * lanes, row_step is 0. All additions wrap around. */
struct fth_ptx_linear {
    uint64_t base, step, row_step;
};

/* Eviction priorities of .L1::… and of cache policies; NONE: the instruction has none. */
enum fth_ptx_priority {
    FTH_PRIORITY_NONE,
    FTH_PRIORITY_NORMAL,
    FTH_PRIORITY_UNCHANGED,
    FTH_PRIORITY_FIRST,
    FTH_PRIORITY_LAST,
    FTH_PRIORITY_NO_ALLOCATE /* only for the L1 */
};

/* The hints of a memory instruction for the caches. */
struct fth_ptx_hints {
    enum fth_ptx_priority l1, l2;
    uint32_t l2_bytes; /* .L2::64B and so on: the size of the prefetch; 0: none */
    uint32_t prefetch; /* of the instruction prefetch: level 1 or 2; 0 for others */
    bool strong;       /* .relaxed, .acquire, .release */
};

/* The parts of a vector that a GPU loads, each with an instruction of its own. */
struct fth_ptx_parts {
    uint8_t count;      /* 0: the whole vector */
    uint8_t bytes;      /* of a part, per lane */
    uint8_t offsets[2]; /* of the parts from the address */
};

/* One memory instruction of one warp. */
struct fth_ptx_access {
    struct fth_ptx_warp_id who;
    uint32_t instruction;                     /* index in the function */
    uint32_t line;                            /* in the PTX text */
    uint32_t source_file;                     /* from .loc: the number of the file; 0: unknown */
    const struct fth_source_position *source; /* valid as long as the module; NULL: unknown */
    enum fth_ptx_space space; /* the space that the address refers to, never GENERIC */
    uint32_t target;          /* for SHARED: cluster rank of the block that owns it */
    enum fth_ptx_cache_op cache_op;
    struct fth_ptx_hints hints;
    enum fth_ptx_access_kind kind;
    uint32_t mask;  /* lanes that take part */
    uint32_t bytes; /* per lane, including all elements of a vector */
    const uint64_t
        *addresses; /* of the 32 lanes, valid for those in the mask; NULL: see `linear` */
    /* The addresses in compact form, if `addresses` is NULL. */
    const struct fth_ptx_linear *linear;
    uint32_t row_lanes;
    enum fth_ptx_unit unit;
    enum fth_ptx_path path;
    bool returns;  /* the instruction writes registers: ld and atom, but not st, red and copies */
    bool compares; /* atom.cas */
    bool is_float; /* an atomic on floating-point numbers */
    bool in_registers; /* as in struct fth_ptx_operands: it is no access to memory on a GPU */
    bool is_spill;     /* as in struct fth_ptx_operands: the PTX does not have it */
    bool is_removed;   /* as in struct fth_ptx_operands: a GPU does not make it */
    struct fth_ptx_parts parts;    /* as in struct fth_ptx_operands */
    bool is_merged, begins_merged; /* as in struct fth_ptx_operands */
    bool is_staged;                /* as in struct fth_ptx_operands */
    uint32_t wait;                 /* as in struct fth_ptx_operands */
    /* What the warp has executed so far, as estimated from the PTX (cost/): machine instructions,
     * including this one, and the sum of the latencies of dependent instructions in cycles. */
    uint64_t issued, cycles;
    /* For reads of cp.async: the shared addresses that the lanes copy to; NULL for others. */
    const uint64_t *destinations;
    /* For the first access of an instruction on a texture or surface: all its texels; NULL for
     * others. */
    const struct fth_ptx_texels *texels;
};

/* ---- access_part.c ---- */

/* A part of an access, with its own addresses. It refers to itself: do not copy it. */
struct fth_ptx_access_part {
    struct fth_ptx_access access;
    uint64_t addresses[32];
    struct fth_ptx_linear linear;
};
/* Takes the part with this index, less than parts.count, of an access. */
void fth_ptx_take_part(const struct fth_ptx_access *whole, unsigned index,
                       struct fth_ptx_access_part *part);

/* ---- access_variant.c ---- */

/* What a trace keeps of an access besides its cache operator: hints and unit, in one number. Bits 0
 * to 2 and 3 to 5: the priorities in L1 and L2 (enum fth_ptx_priority). Bits 6 and 7: the size of
 * the prefetch (0: none, 1: 64, 2: 128, 3: 256 bytes). Bit 8: .relaxed, .acquire or .release. Bits
 * 9 and 10: 0 the lanes of the warp, 1 cp.async, 2 another unit. Bit 11: local memory. Bit 12:
 * an atomic on floating-point numbers. Bit 21: a register that is spilled. 0 for most accesses. */
uint32_t fth_ptx_pack_hints(const struct fth_ptx_access *access);

/* The variants of which an access is a combination; FTH_VARIANT_NONE where it has none. */
struct fth_ptx_variants {
    /* By its cache operator, its priority in the L1 or its memory order; `other` takes its place if
     * a description does not have the variant `base`. */
    enum fth_variant base, other;
    enum fth_variant size, other_size; /* by the size of its prefetch */
    enum fth_variant policy;           /* by its priority in the L2 */
};
/* Returns the variants of an access to global memory, given what a trace keeps of it. */
struct fth_ptx_variants fth_ptx_variants_of(enum fth_ptx_access_kind kind,
                                            enum fth_ptx_cache_op cache_op, uint32_t packed_hints);

/* A range of bytes that the copy engine copies between global and shared memory: all of a
 * cp.async.bulk, or a row of a box of a tensor. If a row is loaded, the elements before and after
 * the tensor are ranges of their own. */
struct fth_ptx_range {
    struct fth_ptx_warp_id who;
    enum fth_ptx_access_kind kind; /* of the access to global memory */
    uint64_t address, bytes;       /* in global memory */
    uint64_t shared;               /* address in shared memory */
    bool outside;                  /* of the tensor: filled with zeros or NaNs, without an access */
    bool multicast; /* the instruction copies to several blocks; one range for each */
};

/* What a warp does with asynchronous copies, after the accesses of the instruction. */
enum fth_ptx_copy_step {
    FTH_COPY_STEP_SIGNAL, /* an mbarrier will count what the instruction copies */
    FTH_COPY_STEP_TEST,   /* the warp sees that a phase of an mbarrier is complete */
    FTH_COPY_STEP_COMMIT, /* the copies since the last commit form a group */
    FTH_COPY_STEP_WAIT    /* the warp waits for groups */
};
struct fth_ptx_copy_event {
    struct fth_ptx_warp_id who;
    enum fth_ptx_copy_step step;
    /* FTH_COPY_STEP_SIGNAL, FTH_COPY_STEP_TEST: the mbarrier, as an offset in the shared memory of
     * the block with the rank `target`, and the parity of its phase. */
    uint64_t mbarrier;
    uint32_t target;
    unsigned parity;
    /* Whether the mbarrier counts what the instruction copies, or all copies of the warp by
     * cp.async. The other steps: groups of bulk copies, or of cp.async. */
    bool bulk;
    /* FTH_COPY_STEP_WAIT: for all groups but the last `pending` ones; whether only until the
     * sources have been read; whether also for copies that are in no group. */
    uint64_t pending;
    bool reads, uncommitted;
};

/* Code bytes per PTX instruction for instruction fetch: the size of one machine instruction since
 * Volta. */
#define FTH_PTX_INSTRUCTION_BYTES 16

/* The registers and predicates that an instruction reads and writes. Each function numbers its
 * registers from 0, and its predicates after them. The guard is one of the predicates read. */
struct fth_ptx_operands {
    uint64_t code_offset; /* of the instruction in the module, for instruction fetch */
    /* The access callback follows if any lane takes part. Textures and surfaces are an exception:
     * it does not follow if all lanes are outside of them. */
    bool accesses;
    /* An access to a local variable that an assembler keeps in registers, as estimated from the PTX
     * (cost/cost_local.c). */
    bool in_registers;
    /* A load or store of a register that an assembler spills, as estimated from the PTX (spill/).
     * It moves no data. */
    bool is_spill;
    /* A load from global memory that an assembler removes, because its result is not used or the
     * value has been loaded before, and the parts of a vector that it loads otherwise
     * (cost/cost_loads.c). */
    bool is_removed;
    struct fth_ptx_parts parts;
    /* A load of a word of shared memory that an assembler merges with other loads to one of four
     * words, of which this is not the first (cost/cost_find.c). */
    bool is_merged;
    bool begins_merged; /* the first of these loads */
    /* A load from global memory whose result the function only stores to shared memory
     * (cost/cost_waits.c). */
    bool is_staged;
    bool drains; /* waits until all accesses in flight are complete (calls, fences) */
    /* For a load and for cp.async: machine instructions until the warp needs the result, as
     * estimated from the PTX (cost/cost_waits.c); UINT32_MAX: never, or unknown. */
    uint32_t wait;
    size_t read_count, write_count;
    const uint32_t *reads, *writes;
};

/* One instruction issued by a warp. */
struct fth_ptx_issue {
    struct fth_ptx_warp_id who;
    uint32_t instruction;
    uint32_t line;
    uint32_t mask;
    const char *opcode; /* as in the text: "fma.rn.f32" */
    const struct fth_ptx_operands *operands;
    /* Each activation of a function has its own registers. Those of the current activation have the
     * numbers from operand_base to operand_end - 1. The numbers in `operands` are relative to
     * operand_base. */
    uint32_t operand_base, operand_end;
    /* Set only for observers with a `time` callback: all other warps of the block (or of its
     * cluster) are waiting or have exited. */
    bool alone;
};

/* Callbacks that a launch invokes; each can be NULL. If `parallel` is false, clusters run one after
 * the other in the order of their index. If it is true, several host threads invoke the callbacks
 * at the same time, but those of one cluster come in order from one thread. The blocks of a cluster
 * are interleaved. Without clusters, each block counts as a cluster of its own. The callbacks that
 * return bool return false to stop the launch. */
struct fth_ptx_observer {
    void *user;
    bool parallel;
    bool takes_linear; /* `access` can be given addresses in compact form */
    bool (*issue)(void *user, const struct fth_ptx_issue *issue);
    bool (*access)(void *user, const struct fth_ptx_access *access);
    /* The kernel discards the L2 lines of a range of global memory (discard.global.L2). */
    bool (*discard)(void *user, const struct fth_ptx_warp_id *who, uint64_t address,
                    uint64_t bytes);
    /* The instruction prefetch, for global memory. The addresses need not be valid. It is not
     * reported as an access. */
    bool (*prefetch)(void *user, const struct fth_ptx_access *access);
    /* The copy engine copies a range. Its accesses, of 16 bytes each, are reported as well. */
    bool (*range)(void *user, const struct fth_ptx_range *range);
    /* A warp issues asynchronous copies that an mbarrier counts, or waits for copies. */
    bool (*copies)(void *user, const struct fth_ptx_copy_event *event);
    /* A barrier of the block is complete. `warps` has one bit for each warp that was waiting at it
     * and continues. */
    bool (*barrier)(void *user, uint64_t block, uint32_t barrier, uint32_t warps);
    /* Threads of the warp have arrived at the barrier of their cluster or, if `waited`, continue
     * after it. `phase` counts the completions of the barrier before they arrived. */
    bool (*cluster_barrier)(void *user, const struct fth_ptx_warp_id *who, uint32_t phase,
                            bool waited);
    /* A warp has ended, after all its accesses. `issued` and `cycles` are what it has executed, as
     * in struct fth_ptx_access. Not invoked after a fault. */
    bool (*ended)(void *user, const struct fth_ptx_warp_id *who, uint64_t issued, uint64_t cycles);
    /* The cluster with this index has ended. Clusters start in the order of `index`. The callback
     * is invoked for each cluster that started, even after a fault. */
    bool (*done)(void *user, uint64_t index);
    /* Returns the value of %clock64 or, if `global`, %globaltimer. Without this callback, both
     * return the number of instructions that the block has issued. */
    uint64_t (*clock)(void *user, const struct fth_ptx_warp_id *who, bool global);
    /* Returns the current time of the warp, in any unit. The engine always runs the warp with the
     * lowest time next, for a few instructions. Without this callback, the warps of a block take
     * turns of many instructions each. */
    int64_t (*time)(void *user, const struct fth_ptx_warp_id *who);
    /* Returns the SM on which the block with this index runs. It is called before the block starts
     * and, without clusters and with one host thread, after all earlier blocks have ended. Without
     * this callback, block i runs on SM i % sms. */
    uint32_t (*place)(void *user, uint64_t block);
};

/* ---- launches ---- */

/* Limits of the instructions that a launch may issue, so that a kernel in an endless loop ends. The
 * first one applies to each warp, where the launch does not set another one. Chosen: more than a
 * thousand times the longest warp of the experiments on a simulated GPU and of the workloads in
 * examples/ (0.6 million), which the engine executes in about a minute. All warps of a launch
 * together may issue FTH_PTX_LAUNCH_FACTOR times as many as one of them. Chosen: the largest launch
 * of the workloads has 30 million warp instructions. docs/ptx.md lists both. */
#define FTH_PTX_MAX_INSTRUCTIONS ((uint64_t)1 << 30)
enum { FTH_PTX_LAUNCH_FACTOR = 1024 };

struct fth_ptx_launch {
    const char *kernel;
    uint32_t grid[3], block[3]; /* 0 counts as 1 */
    uint32_t cluster[3];        /* blocks per cluster; all 0: .reqnctapercluster, or 1 without it */
    size_t dynamic_shared_bytes;
    const void *arguments; /* each at the offset of its parameter in struct fth_ptx_parameter */
    size_t argument_bytes;
    unsigned threads; /* host threads; 0: one per core */
    uint32_t sms;     /* for %smid: block i runs on SM i % sms unless the observer has a callback
                         `place`; 0 counts as 1 */
    uint64_t max_instructions; /* per warp; 0: FTH_PTX_MAX_INSTRUCTIONS */
    /* All blocks run at the same time, in one host thread, so that they can wait for each other.
     * Not for observers with a `time` callback. */
    bool cooperative;
    /* With `cooperative`: the address of at least 8 bytes that are 0 before the first launch. The
     * barriers of cooperative groups keep their state there (%envreg1 and %envreg2). */
    uint64_t grid_workspace;
    /* Executes only what the accesses, the control flow and the instruction counts depend on, and
     * skips all other arithmetic and data. The observer sees the same as in a full execution, but
     * memory afterwards only has the right contents where fth_ptx_is_exact returns true. */
    bool skip_data;
    const struct fth_ptx_observer *observer; /* may be NULL */
    /* Receives the progress once a second; its `interrupted` is called every few thousand
     * instructions of a host thread. May be NULL. */
    const struct fth_log *log;
    /* Receives the output of printf, in the order of the blocks; the output of a block comes in the
     * order in which the block executes its calls. It can be called by any host thread, but never
     * by two at the same time. The text is not terminated. NULL: the output is dropped, and the log
     * says so. */
    void (*print)(void *user, const char *text, size_t size);
    void *print_user;
    /* When asynchronous copies take place. Observers with a `time` callback see them early. */
    enum fth_copy_order copy_order;
    uint64_t copy_seed; /* for FTH_COPY_RANDOM; the result does not depend on `threads` */
    /* Looks for accesses that race with an asynchronous operation in flight (hazard/). The log
     * receives each of them, up to a limit, as a warning; fth_ptx_run then fails with FTH_INVALID.
     * Ignored with `skip_data`. */
    bool check_async;
    /* Also looks for accesses of different threads to the same bytes of shared memory that race. */
    bool check_races;
};

/* What a kernel did wrong. */
enum fth_ptx_fault {
    FTH_FAULT_NONE,
    FTH_FAULT_ADDRESS,   /* an access outside the allocations */
    FTH_FAULT_ALIGNMENT, /* an access at a misaligned address */
    FTH_FAULT_ASSERT,    /* a failed assertion */
    FTH_FAULT_LIMIT,     /* more instructions than allowed */
    FTH_FAULT_OTHER
};

/* Instructions issued, and how the launch ended. A warp instruction counts one thread instruction
 * per active lane. */
struct fth_ptx_totals {
    uint64_t warp_instructions;
    uint64_t thread_instructions;
    enum fth_ptx_fault fault;
    size_t race_count; /* pairs of instructions that race, with check_async and check_races */
};

/* Runs a kernel to its end. It fails if the kernel accesses memory outside the allocations or at a
 * misaligned address, executes a trap, fails an assertion, waits at a barrier that cannot complete,
 * or issues more instructions than allowed. The error names the kernel, PTX line, block and thread.
 * FTH_INCONCLUSIVE: only with `skip_data`; the launch must be run without it, from the same initial
 * memory.
 * FTH_INTERRUPTED: the log or the observer stopped the launch. `totals` may be NULL. */
FTH_MUST_USE enum fth_status fth_ptx_run(struct fth_ptx_machine *machine,
                                         const struct fth_ptx_launch *launch,
                                         struct fth_ptx_totals *totals, struct fth_error *error);

/* Prepares a sequence of launches with `skip_data`: finds the allocations whose contents this
 * launch depends on, so that earlier launches compute them. Sets *changed if there are new ones.
 * Call it for all launches until it finds no new ones. */
FTH_MUST_USE enum fth_status fth_ptx_plan(struct fth_ptx_machine *machine,
                                          const struct fth_ptx_launch *launch, bool *changed,
                                          struct fth_error *error);
/* Returns true if no launch that was planned depends on the contents of the allocation at this
 * address, so that they need not be written. The contents are unknown from then on. */
bool fth_ptx_omit(struct fth_ptx_machine *machine, uint64_t address);
/* Returns true if a launch that was planned since fth_ptx_clear_plan depends on the contents of the
 * allocation or variable at this address: its addresses, its control flow, or its barriers. A
 * kernel that cannot be analysed depends on all memory. */
bool fth_ptx_is_needed(const struct fth_ptx_machine *machine, uint64_t address);
/* Forgets all plans, and what earlier launches with `skip_data` did not compute. */
void fth_ptx_clear_plan(struct fth_ptx_machine *machine);
/* Returns true unless a launch with `skip_data` may have skipped data at this address, or
 * fth_ptx_omit has returned true for it. */
bool fth_ptx_is_exact(const struct fth_ptx_machine *machine, uint64_t address);

/* ---- half.c ---- */

/* Formats of floating-point numbers with 16 and 8 bits. */
enum fth_ptx_format { FTH_FORMAT_F16, FTH_FORMAT_BF16, FTH_FORMAT_E4M3, FTH_FORMAT_E5M2 };

double fth_ptx_format_to_double(enum fth_ptx_format format, uint32_t bits);
/* Rounds to nearest even. A value that is too large becomes infinity in f16 and bf16, and the
 * largest finite number in e4m3 and e5m2, as with cvt.rn.satfinite; this includes infinity. */
uint32_t fth_ptx_format_from_double(enum fth_ptx_format format, double value);

#endif
