/* Traces: files with every access of kernels to global memory. */
#ifndef FATHOM_TRACES_H
#define FATHOM_TRACES_H

#include <fathom/launches.h>

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The comments of this header and of cache_model.h use these terms:
 *
 *     warp access     one memory instruction executed by one warp ("request" in docs/glossary.md)
 *     thread access   the part of a warp access that belongs to one active lane
 *     line request    the part of a warp access that touches one cache line
 *
 * "Access" alone is a warp access. The names of members do not always follow these terms, but each
 * comment states what is counted.
 *
 * "The RDGC paper" is M. Kiani, A. Rajabzadeh, "RDGC: A Reuse Distance-Based Approach to GPU Cache
 * Performance Analysis". */

/* Runs a launch on the PTX engine and writes every warp access to global memory to a trace file
 * (docs/traces.md). The file appears only if all steps succeed. The buffers can be read
 * afterwards, as after fth_launch_run. `options` and `totals` may be NULL. Statuses are those of
 * fth_launch_run. */
FTH_API FTH_MUST_USE enum fth_status fth_launch_trace(struct fth_launch *launch, const char *path,
                                                      const struct fth_run_options *options,
                                                      struct fth_launch_totals *totals,
                                                      struct fth_error *error);
/* An open trace file. */
struct fth_trace;

/* Opens a trace. The accesses stay in the file, which must not change while the trace is open. A
 * truncated file can be opened; its complete parts can be read. FTH_NOT_FOUND: there is no such
 * file. FTH_INVALID: it is not a trace of fathom, or it is damaged. */
FTH_API FTH_MUST_USE enum fth_status fth_trace_open(const char *path, struct fth_trace **trace,
                                                    struct fth_error *error);
/* Closes a trace. Its cursors must be closed before. */
FTH_API void fth_trace_close(struct fth_trace *trace);
/* If the file is truncated, returns a message that says how much is left; otherwise NULL. */
FTH_API const char *fth_trace_truncated(const struct fth_trace *trace);
/* Returns the size of the trace file in bytes; if the file is truncated, of what is left. */
FTH_API uint64_t fth_trace_bytes(const struct fth_trace *trace);

/* The kind of an access. It is also the index of the arrays with three elements below. */
enum fth_trace_access_kind {
    FTH_TRACE_READ,  /* a load */
    FTH_TRACE_WRITE, /* a store */
    FTH_TRACE_ATOMIC /* an atomic operation or a reduction: atom, red */
};

/* One launch of a kernel. If the trace is truncated before the end of the launch, `longest` and
 * `accesses` are those of the part that is left, and the counts of other memories are 0. */
struct fth_trace_launch {
    const char *kernel;
    uint32_t grid[3], block[3]; /* blocks and threads in x, y and z */
    uint64_t longest;           /* maximum warp accesses of one warp (L in the RDGC paper) */
    uint64_t accesses;          /* warp accesses that the trace contains */
    /* Instructions of warps that access other memories. They are counted but not contained in the
     * trace. `local` is contained if local_bytes is not 0. `texture` is contained if an
     * instruction of the trace has FTH_TRACE_TEXTURE, which those of earlier versions do not. */
    uint64_t shared, local, constant, texture;
    uint64_t shared_bytes; /* static and dynamic shared memory per block; UINT64_MAX: unknown */
    /* Local memory of a thread that the launch uses, rounded up to a multiple of 16 bytes. 0: the
     * launch uses none, or the trace does not contain these accesses. */
    uint64_t local_bytes;
};
/* Returns the number of launches in a trace. */
FTH_API size_t fth_trace_launch_count(const struct fth_trace *trace);
/* Returns the `index`-th launch, in the order of execution; NULL past the last. */
FTH_API const struct fth_trace_launch *fth_trace_launch_at(const struct fth_trace *trace,
                                                           size_t index);

/* A position in the source code of a kernel. The position of inlined code is followed by that of
 * the call. The calls form a list, which ends in the kernel itself. */
struct fth_source_position {
    const char *file; /* as the compiler named it; NULL: unknown */
    uint32_t line;
    const struct fth_source_position *inlined_at; /* NULL: the code is not inlined */
    /* Name of the inlined function that contains the position, as the compiler encoded it; see
     * fth_demangle. NULL: unknown, or the position is in the kernel. */
    const char *function;
};
/* Writes a position as text, with file names without their folders, such as "helper.h:2, inlined
 * at kernel.cu:7", and returns `text`. A text that is longer than `size` - 1 is cut. */
FTH_API const char *fth_source_text(const struct fth_source_position *position, char *text,
                                    size_t size);

/* Returns the name of the file without its folders; NULL if it or the position is unknown. */
FTH_API const char *fth_source_file(const struct fth_source_position *position);

/* The bit of fth_trace_instruction.hints for an access to local memory. Its addresses are offsets
 * in the local memory of the warp, in which word w (of 4 bytes) of lane l is at byte 128 w + 4 l.
 * An access of several words has the address of the first one. */
#define FTH_TRACE_LOCAL (UINT32_C(1) << 11)
/* The bit for an atomic on floating-point numbers. */
#define FTH_TRACE_FLOAT (UINT32_C(1) << 12)
/* The bit for an access to a texture or surface. Its addresses are those of texels in the memory of
 * a GPU: in linear memory, or from 2^57 on in the order of a CUDA array. An instruction that reads
 * T = 1, 2 or 4 texels per lane (FTH_TRACE_TEXELS) has one access for every 32 / T lanes. Texel t
 * of lane l is at bit T l + t of the mask, where l counts from the first of these lanes. */
#define FTH_TRACE_TEXTURE (UINT32_C(1) << 13)
/* Returns T. */
#define FTH_TRACE_TEXELS(hints) (UINT32_C(1) << ((hints) >> 14 & 3))
/* Returns how many lanes the texture unit processes together: 1, 2, 4 or 8. */
#define FTH_TRACE_TEXTURE_LANES(hints) (UINT32_C(1) << ((hints) >> 16 & 3))
/* The bit for the accesses of an instruction after its first one, if it has several. */
#define FTH_TRACE_CONTINUES (UINT32_C(1) << 18)
/* The bit for an instruction that accesses shared memory. A trace does not contain its accesses,
 * only their counts: see fth_trace_shared_at. */
#define FTH_TRACE_SHARED (UINT32_C(1) << 19)
/* The bit for a load from global memory whose result the kernel only stores to shared memory, so
 * that cp.async could copy it. Traces of earlier versions do not have it. */
#define FTH_TRACE_STAGED (UINT32_C(1) << 20)

/* The bit for a load or store of a register that the assembler spills to local memory, as estimated
 * from the PTX, which does not have it. Also has FTH_TRACE_LOCAL. */
#define FTH_TRACE_SPILL (UINT32_C(1) << 21)

/* A memory instruction of a kernel. Line numbers start at 1; 0 means unknown. */
struct fth_trace_instruction {
    uint32_t line; /* line in the PTX file; for an imported .traceg, the program counter */
    /* Position in the source, from the .loc directives of the PTX. The file is the number that a
     * .file directive gives to it; 0 means unknown. `source` below has its name. */
    uint32_t source_file, source_line;
    uint32_t index; /* index in its function, which distinguishes instructions on the same line */
    enum fth_trace_access_kind kind;
    uint32_t bytes; /* bytes per lane, 1 to 64 */
    /* Cache operator, or another modifier of similar effect: 0 none, 1 .ca, 2 .cg, 3 .cs, 4 .lu,
     * 5 .cv, 6 .wb, 7 .wt, 8 .nc, 9 .volatile. */
    uint32_t cache_op;
    /* The same position with the name of the file and, if the code is inlined, the calls: at most
     * 32 positions, the innermost ones. NULL: the trace has no names of files. */
    const struct fth_source_position *source;
    /* Hints for the caches, and the unit that performs the access; 0 in most cases. Bits 0 to 2 and
     * 3 to 5: eviction priority in the L1 (.L1::…) and in the L2: 0 none, 1 normal, 2 unchanged,
     * 3 first, 4 last, 5 no_allocate. Bits 6 and 7: size of the prefetch: 0 none, 1 .L2::64B,
     * 2 .L2::128B, 3 .L2::256B. Bit 8: .relaxed, .acquire or .release. Bits 9 and 10: 0 lanes of
     * the warp, 1 cp.async, 2 others, such as bulk copies. Bit 11 (FTH_TRACE_LOCAL): local memory.
     * Bit 12 (FTH_TRACE_FLOAT): an atomic on floating-point numbers. Bits 13 to 18: textures and
     * surfaces; see FTH_TRACE_TEXTURE. Bit 19 (FTH_TRACE_SHARED): shared memory. Bit 20
     * (FTH_TRACE_STAGED): a load whose result goes to shared memory. Bit 21 (FTH_TRACE_SPILL): a
     * spilled register. */
    uint32_t hints;
    /* For a load: how many machine instructions the warp issues before it needs the result, as
     * estimated from the PTX. UINT32_MAX: it never needs it, or this is unknown. */
    uint32_t wait;
};
/* Returns the number of memory instructions of all kernels of a trace. */
FTH_API size_t fth_trace_instruction_count(const struct fth_trace *trace);
/* Returns the `index`-th instruction; NULL past the last. fth_trace_access.instruction is such an
 * index. */
FTH_API const struct fth_trace_instruction *fth_trace_instruction_at(const struct fth_trace *trace,
                                                                     size_t index);
/* Returns the kind of the accesses of an instruction in words, such as "local read". */
FTH_API const char *fth_trace_kind_name(const struct fth_trace_instruction *instruction);

/* The accesses of one instruction of a launch to shared memory. A wavefront is one pass through the
 * banks (docs/results/counters-h200.md). Accesses to the shared memory of other blocks of a cluster
 * have no wavefronts, except that an atomic counts as one. */
struct fth_trace_shared {
    uint32_t instruction;      /* index of the instruction, which has FTH_TRACE_SHARED */
    uint64_t requests;         /* warp accesses */
    uint64_t threads;          /* thread accesses */
    uint64_t wavefronts;       /* as the counters of a GPU count them */
    uint64_t ideal_wavefronts; /* without bank conflicts */
    /* Wavefronts if an element of padding followed every 32 elements, or every 128 bytes, whichever
     * gives fewer. An element has the size of the access, at least 4 bytes. */
    uint64_t padded_wavefronts;
};
/* Returns the `index`-th instruction of a launch that accesses shared memory; NULL past the last.
 * Instructions of cp.async, of bulk copies, of mbarriers and of wgmma are left out. Traces of
 * earlier versions have none, and only fth_trace_launch.shared. */
FTH_API const struct fth_trace_shared *fth_trace_shared_at(const struct fth_trace *trace,
                                                           size_t launch, size_t index);

/* One access of one warp: the tuple {AN, BID, WID, S, NT, {ADD}} of the RDGC paper. */
struct fth_trace_access {
    uint64_t number;        /* AN: index of the access within its warp, from 0 */
    uint64_t block;         /* BID: linear index of the block */
    uint32_t warp;          /* WID: index of the warp within the block */
    uint32_t instruction;   /* index of the instruction; its `kind` is S of the paper */
    uint32_t mask;          /* one bit per lane that takes part */
    uint32_t threads;       /* NT: number of these lanes */
    uint64_t addresses[32]; /* ADD: [threads] byte addresses, in the order of the lanes */
};

/* A cursor reads accesses in the order of number, then block, then warp. */
struct fth_trace_cursor;

/* Opens a cursor for the accesses of the blocks `first` to `last`, inclusive, of one launch; 0 and
 * UINT64_MAX select all blocks. The trace must stay open. FTH_NOT_FOUND: there is no such launch.
 * FTH_INVALID: the trace is damaged. */
FTH_API FTH_MUST_USE enum fth_status fth_trace_cursor_open(const struct fth_trace *trace,
                                                           size_t launch, uint64_t first,
                                                           uint64_t last,
                                                           struct fth_trace_cursor **cursor,
                                                           struct fth_error *error);
/* Reads the next access. *access is valid until the next call; it is NULL at the end. FTH_INVALID:
 * the trace is damaged. */
FTH_API FTH_MUST_USE enum fth_status fth_trace_next(struct fth_trace_cursor *cursor,
                                                    const struct fth_trace_access **access,
                                                    struct fth_error *error);
/* Closes a cursor. */
FTH_API void fth_trace_cursor_close(struct fth_trace_cursor *cursor);

/* Totals of a kernel, or of one of its instructions, over all launches of the kernel. The arrays
 * are indexed by enum fth_trace_access_kind. */
struct fth_trace_row {
    const char *kernel;
    const struct fth_trace_instruction *instruction; /* NULL: the row of the whole kernel */
    uint64_t launches;                               /* launches of the kernel */
    uint64_t longest;             /* maximum warp accesses of one warp; 0 for an instruction */
    uint64_t requests[3];         /* warp accesses, as in fth_trace_launch.accesses */
    uint64_t accesses[3];         /* thread accesses */
    uint64_t sectors[3];          /* 32-byte sectors, counted separately for each warp access */
    uint64_t lines[3];            /* 128-byte lines, counted likewise */
    uint64_t footprint_bytes[3];  /* distinct sectors that accesses of each kind touch, in bytes */
    uint64_t footprint_all_bytes; /* distinct sectors that accesses of any kind touch, in bytes */
    /* For a kernel: accesses to local memory, which the counts above leave out. For an instruction
     * that accesses local memory, the counts above are those of local memory, and the footprint is
     * that of one warp. */
    uint64_t local_requests[3], local_sectors[3];
    /* For a kernel: requests of the texture unit (FTH_TRACE_TEXTURE_LANES) and their sectors, which
     * the counts above leave out. For an instruction on a texture or surface, the counts above are
     * those of these requests, and its accesses are texels. */
    uint64_t texture_requests[3], texture_sectors[3];
    /* What the threads need. Rows of kernels leave out local memory, textures and surfaces. */
    uint64_t requested_bytes[3]; /* bytes that threads access, summed over the threads */
    uint64_t used_bytes[3];      /* different bytes within each warp access */
    uint64_t ideal_sectors[3];   /* sectors if the used bytes of each warp access were adjacent */
    uint64_t touched_bytes[3];   /* different words of 4 bytes over all launches, in bytes */
    uint64_t touched_all_bytes;  /* the same for accesses of any kind */
};

/* The totals of a trace, in rows. */
struct fth_trace_stats;

/* Reads all accesses of a trace and counts them. FTH_INVALID: the trace is damaged.
 * FTH_INTERRUPTED: there is no result. */
FTH_API FTH_MUST_USE enum fth_status fth_trace_stats_create(const struct fth_trace *trace,
                                                            const struct fth_log *log,
                                                            struct fth_trace_stats **stats,
                                                            struct fth_error *error);
/* Returns the `index`-th row; NULL past the last. Each kernel is followed by its instructions. The
 * trace must stay open as long as the row's names and instructions are used. */
FTH_API const struct fth_trace_row *fth_trace_stats_row(const struct fth_trace_stats *stats,
                                                        size_t index);
/* Releases the totals. */
FTH_API void fth_trace_stats_destroy(struct fth_trace_stats *stats);

/* How fth_trace_obtain makes a trace. Initialise it with FTH_TRACE_OPTIONS. */
struct fth_trace_options {
    size_t size;                             /* of this struct in bytes */
    const struct fth_launch_options *launch; /* for launch files and PTX files; NULL: defaults */
    /* File that a new trace is written to. NULL: a temporary file in $TMPDIR or /tmp, which has no
     * name and disappears when the trace is closed or the process ends. */
    const char *output;
    unsigned threads;          /* host threads of the PTX engine; 0: one per core */
    const struct fth_log *log; /* `interrupted` is called while a trace is made */
    /* If not NULL: gets the launch that was run, whose buffers can be read, or NULL if none was.
     * The caller destroys it. If NULL, fathom only computes what the accesses depend on, which is
     * faster and gives the same trace. */
    struct fth_launch **traced;
    uint64_t max_instructions; /* as in struct fth_run_options */
};
/* Initialises a struct fth_trace_options; the arguments are designated initialisers. */
#define FTH_TRACE_OPTIONS(...) FTH_OPTIONS(struct fth_trace_options, __VA_ARGS__)

/* Obtains a trace from whatever `path` is; fathom recognises it by its content:
 *
 *   - a trace of fathom, which is opened as by fth_trace_open,
 *   - a launch file, PTX, or a program with PTX, which is run as by fth_launch_trace,
 *   - a capsule, whose launches are replayed as by fth_capsule_replay; those that cannot be
 *     replayed are left out with a warning,
 *   - a trace of another tool, which is converted: tuples as text, or a .traceg file of Accel-Sim,
 *   - "-": one of these on standard input.
 *
 * Launch options that do not apply to the input are refused for launch files and PTX files, and
 * ignored for traces. `options` may be NULL. *trace is NULL if `output` is standard output ("-"), a
 * pipe or a device, which cannot be read back. FTH_NOT_FOUND: there is no such file. FTH_INVALID:
 * the input has none of these formats or is malformed, or it is a trace of fathom and `output` is
 * set. FTH_INTERRUPTED: there is no trace. Otherwise the statuses of fth_launch_open and
 * fth_launch_trace. */
FTH_API FTH_MUST_USE enum fth_status fth_trace_obtain(const char *path,
                                                      const struct fth_trace_options *options,
                                                      struct fth_trace **trace,
                                                      struct fth_error *error);

#ifdef __cplusplus
}
#endif

#endif
