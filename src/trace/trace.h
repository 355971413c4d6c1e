/* trace/ runs kernels (launch/launch.h) and stores their accesses to global memory in trace files
 * (docs/traces.md). This header declares the trace files; launch.h declares the launches.
 */
/* clang-format off */
/*
 *   trace_input.c         opens an input and recognises what it is by its content
 *   trace_recorder.c       the observer of the PTX engine that writes a trace
 *   trace_launch.c         runs launches with a recorder
 *   trace_stats.c          requests, sectors and footprints of a trace
 *   footprint.c            which words were accessed
 *   format/codec.c         encodes accesses into frames and decodes them
 *   format/pace.c          what warps execute between accesses
 *   format/shared_tables.c counts of accesses to shared memory
 *   format/source_positions.c  positions in the source code
 *   format/trace_writer.c  the trace writer: sorts accesses into runs and writes the index
 *   format/trace_reader.c  the trace reader: cursors that merge the runs
 *   import/lines.c         reads text line by line
 *   import/tuples.c        imports traces in text form
 *   import/traceg.c        imports the traces of Accel-Sim (.traceg)
 *   launch/                launches: launch.h has a map of its own
 *   counters/              what a GPU's counters count: counters.h has a map of its own
 *
 * A trace file is the result of the first half of an external merge sort. The sort key is (access
 * number, block, warp). The writer collects about 260,000 accesses, sorts them in memory, and
 * writes them as one sorted run, split into frames of at most 8,192 accesses. A reader merges the
 * runs and needs one frame of each run in memory. A reader that needs only some blocks opens only
 * the runs that contain accesses of these blocks.
 */
/* clang-format on */
#ifndef FTH_TRACE_H
#define FTH_TRACE_H

#include "base/base.h"
#include "base/container/container.h"

/* ---- trace_input.c ---- */

/* What an input contains. */
enum fth_trace_input_kind {
    FTH_INPUT_UNKNOWN, /* none of the following */
    FTH_INPUT_TRACE,   /* a trace of fathom */
    FTH_INPUT_TUPLES,  /* a trace in text form */
    FTH_INPUT_TRACEG,  /* a .traceg file of Accel-Sim */
    FTH_INPUT_LAUNCH,  /* JSON: a launch file */
    FTH_INPUT_PTX,     /* PTX, or a fat binary or ELF file, which can contain PTX */
    FTH_INPUT_CAPSULE  /* the launches of a program */
};

/* An input that is open for reading. */
struct fth_trace_input {
    const char *path; /* as given; borrowed */
    const char *name; /* for messages: the path, or "standard input" */
    int fd;           /* can seek */
    enum fth_trace_input_kind kind;
    bool binary; /* if the kind is unknown: it is a binary file */
};

/* Opens a file, or standard input with "-", and recognises its kind. `log` can interrupt the
 * copying of a pipe. `path` must outlive the input. On failure there is nothing to close. */
FTH_MUST_USE enum fth_status fth_trace_input_open(const char *path, const struct fth_log *log,
                                                  struct fth_trace_input *input,
                                                  struct fth_error *error);
void fth_trace_input_close(struct fth_trace_input *input);
/* Moves to the beginning of the file. */
FTH_MUST_USE enum fth_status fth_trace_input_rewind(const struct fth_trace_input *input,
                                                    struct fth_error *error);
/* fth_file_read for an input. */
FTH_MUST_USE enum fth_status fth_trace_input_read(const struct fth_trace_input *input,
                                                  const struct fth_file_limit *limit,
                                                  struct fth_buffer *content,
                                                  struct fth_error *error);

/* ---- trace_writer.c: the container (base/container/container.h) ---- */

/* The types of the parts of a trace file. */
enum fth_part {
    FTH_PART_LAUNCH = 0x48434e4c,       /* "LNCH": header of a launch */
    FTH_PART_INSTRUCTIONS = 0x54534e49, /* "INST": instructions that later frames refer to */
    FTH_PART_FRAME = 0x4d415246,        /* "FRAM": some accesses of one run */
    FTH_PART_SOURCES = 0x45435253,      /* "SRCE": positions of instructions in the source */
    FTH_PART_FUNCTIONS = 0x434e5546,    /* "FUNC": inlined functions that contain these positions */
    FTH_PART_LAUNCH_END = 0x444e454c,   /* "LEND": totals of a launch that is complete */
    FTH_PART_PACE = 0x45434150,         /* "PACE": what a launch executes between accesses */
    FTH_PART_CONSTANTS = 0x54534e43,    /* "CNST": loads of different constants in a pace */
    FTH_PART_SHARED = 0x52414853,       /* "SHAR": accesses of a launch to shared memory */
    FTH_PART_INDEX = 0x58444e49         /* "INDX": repeats all headers; the last part */
};

/* Whether a part has facts about a launch that the index does not repeat. */
static inline bool fth_is_launch_part(uint32_t type)
{
    return type == FTH_PART_PACE || type == FTH_PART_CONSTANTS || type == FTH_PART_SHARED;
}

/* The first and the last eight bytes of a trace file. */
#define FTH_TRACE_MAGIC "fthtrac1"
#define FTH_TRACE_END "fthtrend"
extern const struct fth_container_format fth_trace_format;

/* ---- records.c ---- */

struct fth_ptx_linear;

/* One access of a warp, as a writer keeps it in memory. */
struct fth_record {
    uint64_t number;      /* index of the access among those of its warp, from 0 (AN) */
    uint64_t block;       /* linear index of the block (BID) */
    uint64_t first;       /* address of the first active lane */
    uint64_t step;        /* how the addresses of the other lanes are stored: see enum fth_lanes */
    uint32_t instruction; /* from fth_trace_writer_instruction */
    uint32_t warp;        /* index of the warp in the block (WID) */
    uint32_t mask;        /* active lanes */
    uint8_t lanes;        /* enum fth_lanes */
    uint8_t row_lanes;    /* FTH_LANES_ROWS: lanes per row */
};

enum fth_lanes {
    FTH_LANES_AFFINE, /* `step` is the number of bytes from each active lane to the next */
    /* All lanes are active. They form rows. The low half of `step` is the distance between two
     * lanes of a row in bytes. The high half is the distance from the end of a row (its last lane)
     * to the first lane of the next row. Both are signed. */
    FTH_LANES_ROWS,
    FTH_LANES_LISTED /* `step` is the index in the pool of the first address difference */
};

/* A list of accesses. The pool has the address differences of those that are FTH_LANES_LISTED. */
struct fth_records {
    struct fth_record *items;
    size_t count, capacity;
    uint64_t *pool;
    size_t pool_count, pool_capacity;
    size_t step_count; /* address differences of all records that are not affine */
};

/* Adds an access. `addresses` has one address per bit of record->mask, in the order of lanes;
 * `first`, `step` and `lanes` are computed from them. Returns false if memory is exhausted. */
bool fth_records_add(struct fth_records *records, const struct fth_record *record,
                     const uint64_t *addresses);
/* The same for addresses in the form that struct fth_ptx_access has them. */
bool fth_records_add_linear(struct fth_records *records, const struct fth_record *record,
                            const struct fth_ptx_linear *addresses, uint32_t row_lanes);
/* Computes the address differences of a record that is not affine, which has at most 32 lanes.
 * Returns them, either in the pool or in `steps`. */
const uint64_t *fth_record_steps(const struct fth_records *records, const struct fth_record *record,
                                 uint64_t steps[31]);
/* Appends copies of all records of `more`. Returns false if memory is exhausted. */
bool fth_records_append(struct fth_records *records, const struct fth_records *more);
/* Removes all records but keeps the memory. */
void fth_records_clear(struct fth_records *records);
void fth_records_fini(struct fth_records *records);
/* Returns the number of bytes that the records and the pool use. */
size_t fth_records_bytes(const struct fth_records *records);

/* ---- codec.c ---- */

/* A file has the cache operator of an instruction and its hints in one number: the operator in the
 * lowest bits, as files without hints have it. */
enum { FTH_TRACE_HINTS_SHIFT = 4 };

/* The header of a frame, which is stored at the start of the frame and again in the index. */
struct fth_frame {
    uint64_t first_block, last_block;   /* smallest and largest block index of its accesses */
    uint64_t first_number, last_number; /* smallest and largest access number */
    uint32_t count;                     /* accesses in the frame */
    uint32_t run;    /* index of the sorted run; the frames of a run are consecutive and in order */
    uint64_t launch; /* index of the launch */
    uint64_t offset; /* offset of the part in the file; not stored in the frame itself */
};

void fth_put_frame_header(const struct fth_frame *frame, struct fth_buffer *out);
void fth_get_frame_header(struct fth_bytes *bytes, struct fth_frame *frame);

/* Encodes frame->count accesses as a frame. They are copies of some of `records`. `warps` is the
 * number of warps per block. ids[i] is the number in the file of the instruction that the records
 * call i; `id_count` is the length of `ids`. */
FTH_MUST_USE enum fth_status fth_frame_encode(const struct fth_records *records,
                                              const struct fth_record *items,
                                              const struct fth_frame *frame, uint32_t warps,
                                              const uint32_t *ids, size_t id_count,
                                              struct fth_buffer *out, struct fth_error *error);

/* An access of a warp in compact form: the first address and the differences between the addresses
 * of consecutive active lanes, instead of up to 32 addresses. The fields number to threads are
 * those of struct fth_trace_access. */
struct fth_compact_access {
    uint64_t number, block;
    uint32_t warp, instruction, mask, threads;
    uint64_t first; /* address of the first active lane */
    /* Address differences from each active lane to the next. If `affine` is set, all are equal and
     * only steps[0] is valid. The array is valid until the next accesses are read. */
    const uint64_t *steps;
    uint32_t breaks; /* bit i is set if steps[i] differs from steps[0] */
    bool affine;
};
/* Computes the addresses of all active lanes. */
void fth_trace_expand(const struct fth_compact_access *access, uint64_t addresses[32]);
/* Expands an access: gives it the address of every active lane. */
void fth_trace_expand_access(const struct fth_compact_access *compact,
                             struct fth_trace_access *access);

struct fth_frame_decoder;
/* `instructions` is the number of instructions in the file; `warps` is the number of warps per
 * block. */
FTH_MUST_USE enum fth_status fth_frame_decoder_create(size_t instructions, uint32_t warps,
                                                      struct fth_frame_decoder **decoder,
                                                      struct fth_error *error);
/* Starts decoding a frame and returns its header. `data` must stay valid until the last access of
 * the frame has been taken. */
FTH_MUST_USE enum fth_status fth_frame_decoder_begin(struct fth_frame_decoder *decoder,
                                                     const void *data, size_t size,
                                                     struct fth_frame *frame,
                                                     struct fth_error *error);
/* Decodes up to `max` accesses and returns their number. They are valid until the next call. The
 * function returns 0 at the end of the frame, with *status FTH_OK, and when the frame is malformed,
 * with another status. */
size_t fth_frame_decoder_take(struct fth_frame_decoder *decoder,
                              struct fth_compact_access *accesses, size_t max,
                              enum fth_status *status, struct fth_error *error);
void fth_frame_decoder_destroy(struct fth_frame_decoder *decoder);

/* ---- source_positions.c ---- */

/* Maximum number of positions that a trace keeps of an instruction in inlined code. Chosen: nvcc
 * rarely nests inlined functions more than ten deep. */
enum { FTH_MAX_SOURCE_LEVELS = 32 };

/* Compares what a trace keeps of two lists of positions. */
bool fth_source_equal(const struct fth_source_position *a, const struct fth_source_position *b);
/* Copies a list of positions, at most FTH_MAX_SOURCE_LEVELS of them, into the arena. Returns false
 * if memory is exhausted. */
bool fth_source_copy(const struct fth_source_position *source, struct fth_arena *arena,
                     const struct fth_source_position **copy);
/* Encode and decode the position of one instruction, without functions; NULL stands for an unknown
 * position. */
void fth_put_source(const struct fth_source_position *source, struct fth_buffer *out);
const struct fth_source_position *fth_get_source(struct fth_bytes *bytes, struct fth_arena *arena);

/* The names of the functions of one part, each once. */
struct fth_function_names {
    const char **items; /* borrowed; the list itself is allocated with malloc */
    size_t count, capacity;
};
/* Adds the functions of a list of positions. Returns false if memory is exhausted. */
bool fth_function_names_add(struct fth_function_names *names,
                            const struct fth_source_position *source);
/* Encodes the names. */
void fth_put_function_names(const struct fth_function_names *names, struct fth_buffer *out);
/* Encodes the functions of the positions of one instruction. */
void fth_put_functions(const struct fth_function_names *names,
                       const struct fth_source_position *source, struct fth_buffer *out);
/* Decodes a part of type FTH_PART_SOURCES or FTH_PART_FUNCTIONS. The latter follows the former,
 * whose positions it refers to. */
void fth_get_sources(uint32_t type, struct fth_trace_instruction *instructions, size_t count,
                     struct fth_bytes *bytes, struct fth_arena *arena);

/* ---- pace.c ---- */

/* What the warps of a launch execute between two consecutive accesses to global memory, summed up
 * over all times that the two instructions follow each other in a warp. */
struct fth_pace_step {
    uint32_t from;  /* instruction of the first access; FTH_PACE_START: the start of the warp */
    uint32_t to;    /* instruction of the second access; FTH_PACE_END: the end of the warp */
    uint64_t count; /* times that `to` follows `from`, at least 1 */
    /* Machine instructions that the warps issue, including the second access, as estimated from the
     * PTX (ptx/cost/). */
    uint64_t instructions;
    /* Cycles that the longest chains of dependent instructions take, without accesses to global
     * memory, barriers and limits of the issue rate. All loads of different constants are taken as
     * dependent on each other. */
    uint64_t latency_cycles;
    uint64_t barriers; /* of the block or of its cluster, at which the warps wait */
    /* Wavefronts of accesses to shared memory; in files of earlier versions: their requests. */
    uint64_t shared;
    /* Addresses of loads of constants whose lanes use several addresses; 0 in files of earlier
     * versions. */
    uint64_t constants;
};
#define FTH_PACE_START UINT32_MAX
#define FTH_PACE_END UINT32_MAX

/* All steps of a launch. Without a hash table, they are sorted by `to` and `from`. */
struct fth_pace {
    struct fth_pace_step *steps;
    size_t count, capacity;
    uint32_t *slots;   /* hash table: index of a step plus one; 0: empty */
    size_t slot_count; /* a power of two; 0: there is no hash table */
};

/* Returns the step between two instructions and adds it if it is new. NULL: memory is exhausted.
 * Not for a pace that was read from a file. */
struct fth_pace_step *fth_pace_step(struct fth_pace *pace, uint32_t from, uint32_t to);
/* Returns the step between two instructions, or NULL. */
const struct fth_pace_step *fth_pace_find(const struct fth_pace *pace, uint32_t from, uint32_t to);
/* Adds all steps of `more`. Returns false if memory is exhausted. */
bool fth_pace_add(struct fth_pace *pace, const struct fth_pace *more);
void fth_pace_fini(struct fth_pace *pace);
/* Encodes the index of the launch, its steps, and `wait` of all instructions in them. ids[i] is the
 * number in the file of instruction i, or UINT32_MAX; steps with an instruction that is not in the
 * file are left out. Returns false if memory is exhausted. */
bool fth_put_pace(const struct fth_pace *pace, size_t launch, const uint32_t *ids,
                  const struct fth_trace_instruction *instructions, struct fth_buffer *out);
/* Encodes the loads of different constants of the same steps; nothing if there are none. */
bool fth_put_constants(const struct fth_pace *pace, size_t launch, const uint32_t *ids,
                       const struct fth_trace_instruction *instructions, struct fth_buffer *out);

/* What is known of the launches of a trace. */
struct fth_paces {
    struct fth_pace *items; /* by launch; those without steps are unknown */
    size_t count;           /* at most the number of launches */
};
/* Decodes the pace of a launch, up to the end of the bytes, and the `wait` of instructions. Returns
 * false if the content is malformed, if the launch does not exist or has a pace already or, with
 * bytes->no_memory, if memory is exhausted. */
bool fth_paces_get(struct fth_paces *paces, struct fth_bytes *bytes, size_t launch_count,
                   struct fth_trace_instruction *instructions, size_t instruction_count);
/* Decodes the loads of different constants of a launch whose pace was decoded, up to the end of the
 * bytes. Returns false if the content is malformed. */
bool fth_paces_get_constants(struct fth_paces *paces, struct fth_bytes *bytes);
void fth_paces_fini(struct fth_paces *paces);

/* ---- shared_tables.c ---- */

/* Counts of accesses to shared memory in a launch. While a trace is written, the table is indexed
 * by the numbers of fth_trace_writer_instruction, and rows without requests are unused; a table
 * that was read has only the rows of the file. */
struct fth_shared_table {
    struct fth_trace_shared *rows;
    size_t count, capacity;
};
/* Returns the row with this index. NULL: memory is exhausted. */
struct fth_trace_shared *fth_shared_row(struct fth_shared_table *table, size_t instruction);
/* Adds all rows of `more`, which is being written. Returns false if memory is exhausted. */
bool fth_shared_table_add(struct fth_shared_table *table, const struct fth_shared_table *more);
void fth_shared_table_fini(struct fth_shared_table *table);
/* Returns the numbers of the rows with requests in the order of their instructions in the PTX, and
 * their count. The caller frees them. NULL: memory is exhausted. */
uint32_t *fth_shared_order(const struct fth_shared_table *table,
                           const struct fth_trace_instruction *instructions, size_t *count);
/* Encodes a row. `id`: the number of its instruction in the file. The part begins with the index of
 * the launch. */
void fth_put_shared(const struct fth_trace_shared *row, uint32_t id, struct fth_buffer *out);

struct fth_shared_tables {
    struct fth_shared_table *items; /* by launch */
    size_t count;                   /* at most the number of launches */
};
/* Decodes the table of a launch, up to the end of the bytes. Fails as fth_paces_get does. */
bool fth_shared_tables_get(struct fth_shared_tables *tables, struct fth_bytes *bytes,
                           size_t launch_count, const struct fth_trace_instruction *instructions,
                           size_t instruction_count);
/* Returns a row of a launch; NULL past the last, and if there is no such launch. */
const struct fth_trace_shared *fth_shared_tables_at(const struct fth_shared_tables *tables,
                                                    size_t launch, size_t index);
void fth_shared_tables_fini(struct fth_shared_tables *tables);

/* ---- trace_reader.c ---- */

/* Returns what a launch executes between accesses, or NULL if the trace does not say. */
const struct fth_pace *fth_trace_pace(const struct fth_trace *trace, size_t launch);
/* Returns the next accesses of a cursor in compact form, at least one and at most `max`. *count is
 * 0 and *accesses NULL at the end. The accesses are valid until the next call. */
FTH_MUST_USE enum fth_status fth_trace_next_compact(struct fth_trace_cursor *cursor, size_t max,
                                                    const struct fth_compact_access **accesses,
                                                    size_t *count, struct fth_error *error);

/* ---- trace_stats.c ---- */

/* An instruction with FTH_TRACE_CONTINUES stands for the further accesses of another instruction.
 * Returns the index of that instruction; returns `instruction` itself without the flag, or if the
 * trace has no such instruction. */
size_t fth_trace_first_part(const struct fth_trace *trace, size_t instruction);

/* ---- trace_writer.c ---- */

struct fth_trace_writer;

/* Starts a trace file, which appears under its name only after fth_trace_writer_commit. For each
 * launch, call begin, then instruction and add as often as needed, then end. */
FTH_MUST_USE enum fth_status fth_trace_writer_create(const char *path,
                                                     struct fth_trace_writer **writer,
                                                     struct fth_error *error);
/* The same for a file that is open already. `fd` stays the caller's. `name` is used in messages. */
FTH_MUST_USE enum fth_status fth_trace_writer_attach(int fd, const char *name,
                                                     struct fth_trace_writer **writer,
                                                     struct fth_error *error);
/* Starts a launch. */
FTH_MUST_USE enum fth_status fth_trace_writer_begin(struct fth_trace_writer *writer,
                                                    const char *kernel, const uint32_t grid[3],
                                                    const uint32_t block[3],
                                                    struct fth_error *error);
/* Returns the number to put into fth_record.instruction; equal instructions get the same number.
 * SIZE_MAX: memory is exhausted. */
size_t fth_trace_writer_instruction(struct fth_trace_writer *writer,
                                    const struct fth_trace_instruction *instruction);
/* Adds copies of the records to the current launch. They may be in any order. */
FTH_MUST_USE enum fth_status fth_trace_writer_add(struct fth_trace_writer *writer,
                                                  const struct fth_records *records,
                                                  struct fth_error *error);
/* Completes the current launch. Only the request counts of the other memory spaces and shared_bytes
 * are taken from `totals`; the writer knows the rest. */
FTH_MUST_USE enum fth_status fth_trace_writer_end(struct fth_trace_writer *writer,
                                                  const struct fth_trace_launch *totals,
                                                  struct fth_error *error);
/* Makes the next fth_trace_writer_end write the pace of the launch, with the numbers of
 * fth_trace_writer_instruction. Borrows it until then. */
void fth_trace_writer_set_pace(struct fth_trace_writer *writer, const struct fth_pace *pace);
/* The same for the accesses to shared memory. */
void fth_trace_writer_set_shared(struct fth_trace_writer *writer,
                                 const struct fth_shared_table *shared);
/* Writes the index, gives the file its final name, and frees the writer, also on failure. */
FTH_MUST_USE enum fth_status fth_trace_writer_commit(struct fth_trace_writer *writer,
                                                     struct fth_error *error);
/* Discards the file and frees the writer; takes NULL. */
void fth_trace_writer_abort(struct fth_trace_writer *writer);

/* ---- trace_recorder.c ---- */

struct fth_ptx_observer;
struct fth_trace_recorder;

/* Creates a recorder, which writes the accesses of launches to a trace. It borrows the writer. */
FTH_MUST_USE enum fth_status fth_trace_recorder_create(struct fth_trace_writer *writer,
                                                       struct fth_trace_recorder **recorder,
                                                       struct fth_error *error);
void fth_trace_recorder_destroy(struct fth_trace_recorder *recorder);
/* Returns the observer for fth_ptx_run. It belongs to the recorder. */
const struct fth_ptx_observer *fth_trace_recorder_observer(
    const struct fth_trace_recorder *recorder);
/* Starts a launch; `log` can interrupt it, and may be NULL. */
FTH_MUST_USE enum fth_status fth_trace_recorder_begin(struct fth_trace_recorder *recorder,
                                                      const char *kernel, const uint32_t grid[3],
                                                      const uint32_t block[3],
                                                      const struct fth_log *log,
                                                      struct fth_error *error);
/* Completes a launch, for which fth_ptx_run has returned `status` and `engine_error`. Returns the
 * status of the launch and of its recording: the first failure. `shared_bytes` is the shared memory
 * per block. */
FTH_MUST_USE enum fth_status fth_trace_recorder_end(struct fth_trace_recorder *recorder,
                                                    enum fth_status status, uint64_t shared_bytes,
                                                    struct fth_error *engine_error,
                                                    struct fth_error *error);

/* ---- trace_reader.c ---- */

/* Opens a trace in a file that is open already. `fd` stays the caller's. `name` is used in
 * messages.
 */
FTH_MUST_USE enum fth_status fth_trace_attach(int fd, const char *name, struct fth_trace **trace,
                                              struct fth_error *error);

/* ---- import/ ---- */

/* Read an input of the kind FTH_INPUT_TUPLES or FTH_INPUT_TRACEG and write its launches. The
 * caller commits the writer. */
FTH_MUST_USE enum fth_status fth_tuples_import(const struct fth_trace_input *input,
                                               struct fth_trace_writer *writer,
                                               const struct fth_log *log, struct fth_error *error);
FTH_MUST_USE enum fth_status fth_traceg_import(const struct fth_trace_input *input,
                                               struct fth_trace_writer *writer,
                                               const struct fth_log *log, struct fth_error *error);

/* Reads a text line by line; decompresses it if it is compressed with zstd. */
struct fth_lines;
/* Begins at the first line. `log` can interrupt fth_lines_next. */
FTH_MUST_USE enum fth_status fth_lines_open(const struct fth_trace_input *input,
                                            const struct fth_log *log, struct fth_lines **lines,
                                            struct fth_error *error);
/* Sets *line to the next line, without its newline, or to NULL at the end of the file. The caller
 * may modify the line. It is valid until the next call. */
FTH_MUST_USE enum fth_status fth_lines_next(struct fth_lines *lines, char **line,
                                            struct fth_error *error);
/* Returns the number of the line that was read last, from 1; 0 before the first. */
size_t fth_lines_number(const struct fth_lines *lines);
void fth_lines_close(struct fth_lines *lines);
/* Returns what follows the prefix `beginning` in `text`, or NULL if the text has another prefix. */
const char *fth_text_after(const char *text, const char *beginning);
/* Parses a decimal number, which may have leading zeros, or a hexadecimal one with 0x. Returns
 * false if the text is anything else or contains more. */
bool fth_text_integer(const char *text, uint64_t *number);
/* Reads `count` non-negative integers of at most `max` each, which may be preceded by blanks,
 * commas and opening parentheses. Returns false if there are fewer. */
bool fth_text_numbers(const char *text, int base, uint64_t max, size_t count, uint64_t *numbers);

/* ---- trace_stats.c ---- */

/* fth_trace_stats_create for the launches of one kernel; `kernel` NULL: of all. */
FTH_MUST_USE enum fth_status fth_trace_stats_of_kernel(const struct fth_trace *trace,
                                                       const char *kernel,
                                                       const struct fth_log *log,
                                                       struct fth_trace_stats **stats,
                                                       struct fth_error *error);

#endif
