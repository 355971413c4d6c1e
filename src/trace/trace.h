/* trace/: kernels with what they are launched on (launch.h), and the accesses they make.
 *
 *   container.c  a file of checksummed, compressed parts     codec.c    accesses as bytes
 *   write.c      sorted runs of accesses, and the index      read.c     cursors that merge the runs
 *   record.c     the PTX engine's observer that writes       stats.c    requests, sectors,
 * footprints import.c     text tuples                                 traceg.c   Accel-Sim's traces
 *
 * A trace is an external sort by (access number, block, warp): runs of some hundred thousand
 * accesses are sorted in memory and written in frames of some thousand; whoever reads in order
 * merges the runs, holding one frame of each, and who needs some blocks only opens the runs these
 * are in. */
#ifndef FTH_TRACE_H
#define FTH_TRACE_H

#include "base/base.h"

/* ---- container.c ---- */

/* A part of the file:
 *
 *     type 4 | bytes 4 | stored bytes 4 | zstd frame | checksum 8      all little-endian
 *
 * The checksum is FNV-1a over what stands before it, from a start that depends on where the part
 * is: a bit that flipped and a part that moved are both noticed. */
enum fth_part {
    FTH_PART_LAUNCH = 0x48434e4c, /* "LNCH": a launch begins */
    FTH_PART_INSTRUCTIONS = 0x54534e49,
    FTH_PART_FRAME = 0x4d415246,
    FTH_PART_END = 0x444e454c,  /* "LEND": the launch is complete */
    FTH_PART_INDEX = 0x58444e49 /* of everything before; behind it only where it is */
};

#define FTH_TRACE_MAGIC "fthtrac1"
#define FTH_TRACE_END "fthtrend"
enum { FTH_TRACE_TAIL_BYTES = 24, FTH_PART_HEAD_BYTES = 12, FTH_PART_CHECKSUM_BYTES = 8 };
/* The most that a part may hold before it is compressed. */
#define FTH_PART_MAX_BYTES ((uint32_t)1 << 28)

uint64_t fth_trace_checksum(uint64_t before, const void *data, size_t size);
/* The checksum of a part that begins at `offset`. */
uint64_t fth_part_checksum(uint64_t offset, const void *data, size_t size);

struct fth_container_writer;
FTH_MUST_USE enum fth_status fth_container_create(const char *path,
                                                  struct fth_container_writer **writer,
                                                  struct fth_error *error);
/* *offset: where the part begins. */
FTH_MUST_USE enum fth_status fth_container_put(struct fth_container_writer *writer,
                                               enum fth_part type, const struct fth_buffer *content,
                                               uint64_t *offset, struct fth_error *error);
/* Writes the tail, which says where the index is, and puts the file in its place. Frees. */
FTH_MUST_USE enum fth_status fth_container_commit(struct fth_container_writer *writer,
                                                  uint64_t index, struct fth_error *error);
void fth_container_abort(struct fth_container_writer *writer);

struct fth_container;
FTH_MUST_USE enum fth_status fth_container_open(const char *path, struct fth_container **container,
                                                struct fth_error *error);
/* The same of bytes in memory, which must outlive it. */
FTH_MUST_USE enum fth_status fth_container_open_memory(const void *data, size_t size,
                                                       struct fth_container **container,
                                                       struct fth_error *error);
void fth_container_close(struct fth_container *container);
uint64_t fth_container_bytes(const struct fth_container *container);
const char *fth_container_path(const struct fth_container *container);
/* Where the index is; 0 where the tail is not there. */
uint64_t fth_container_index(const struct fth_container *container);
/* What kind of part is there, unchecked, and where the next one begins. */
FTH_MUST_USE enum fth_status fth_container_skip(const struct fth_container *container,
                                                uint64_t offset, uint32_t *type, uint64_t *next,
                                                struct fth_error *error);
/* The part at an offset, and where the next one begins. FTH_UNAVAILABLE: the file ends in it. May
 * be called by several threads, each with its own content. */
FTH_MUST_USE enum fth_status fth_container_get(const struct fth_container *container,
                                               uint64_t offset, uint32_t *type,
                                               struct fth_buffer *content, uint64_t *next,
                                               struct fth_error *error);

/* ---- codec.c ---- */

/* An access as it is kept in memory. With `affine`, the lanes that take part are `step` apart;
 * otherwise `step` is where the differences from lane to lane begin in a pool. */
struct fth_record {
    uint64_t number, block, first;
    uint64_t step;
    uint32_t instruction, warp, mask;
    bool affine;
};

struct fth_records {
    struct fth_record *items;
    size_t count, capacity;
    uint64_t *pool;
    size_t pool_count, pool_capacity;
};

/* `addresses` has one for each bit of the mask. False without memory. */
bool fth_records_add(struct fth_records *records, const struct fth_record *record,
                     const uint64_t *addresses);
bool fth_records_append(struct fth_records *records, const struct fth_records *more);
void fth_records_clear(struct fth_records *records);
void fth_records_fini(struct fth_records *records);
size_t fth_records_bytes(const struct fth_records *records);

/* What a frame says of itself, in its first bytes and in the index. */
struct fth_frame {
    uint64_t first_block, last_block, first_number, last_number;
    uint32_t count;
    uint32_t run; /* frames of one run follow each other in order */
    uint64_t launch;
    uint64_t offset; /* of the part; not in the frame itself */
};

void fth_put_number(uint64_t number, struct fth_buffer *out);
void fth_put_text(const char *text, struct fth_buffer *out);

/* Reads what the two put; `failed` once something was not there. */
struct fth_bytes {
    const unsigned char *at, *end;
    bool failed;
};
uint64_t fth_get_number(struct fth_bytes *bytes);
uint32_t fth_get_number32(struct fth_bytes *bytes);
/* Into the arena; NULL, and failed, where it is not there or not text. */
const char *fth_get_text(struct fth_bytes *bytes, struct fth_arena *arena);

void fth_put_frame_head(const struct fth_frame *frame, struct fth_buffer *out);
void fth_get_frame_head(struct fth_bytes *bytes, struct fth_frame *frame);

/* Encodes records[order[0]], … as a frame. `ids` maps their instructions to the file's. */
FTH_MUST_USE enum fth_status fth_frame_encode(const struct fth_records *records,
                                              const uint32_t *order, const struct fth_frame *frame,
                                              uint32_t warps, const uint32_t *ids, size_t id_count,
                                              struct fth_buffer *out, struct fth_error *error);

/* An access whose addresses are not written out: the first, and from lane to lane steps[0], with
 * `affine`, or steps[0], steps[1], …, which live until the next one is asked for. Bit i of
 * `breaks`: steps[i] is not steps[0]. */
struct fth_trace_told {
    uint64_t number, block;
    uint32_t warp, instruction, mask, threads;
    uint64_t first;
    const uint64_t *steps;
    uint32_t breaks;
    bool affine;
};
/* Writes the addresses out. */
void fth_trace_expand(const struct fth_trace_told *told, uint64_t addresses[32]);

struct fth_frame_decoder;
FTH_MUST_USE enum fth_status fth_frame_decoder_create(size_t instructions, uint32_t warps,
                                                      struct fth_frame_decoder **decoder,
                                                      struct fth_error *error);
/* Begins with a frame, whose bytes must live as long as it is read. */
FTH_MUST_USE enum fth_status fth_frame_decoder_begin(struct fth_frame_decoder *decoder,
                                                     const void *data, size_t size,
                                                     struct fth_frame *frame,
                                                     struct fth_error *error);
/* Up to `most` accesses, which live until the next are taken; none at the end of the frame, or
 * where it is malformed (*status says which). */
size_t fth_frame_decoder_take(struct fth_frame_decoder *decoder, struct fth_trace_told *accesses,
                              size_t max, enum fth_status *status, struct fth_error *error);
void fth_frame_decoder_destroy(struct fth_frame_decoder *decoder);

/* ---- read.c ---- */

/* As fth_trace_next, for whom the addresses need not be written out: the next accesses, up to
 * `most`; none at the end. */
FTH_MUST_USE enum fth_status fth_trace_next_told(struct fth_trace_cursor *cursor, size_t max,
                                                 const struct fth_trace_told **accesses,
                                                 size_t *count, struct fth_error *error);

/* ---- write.c ---- */

struct fth_trace_writer;

FTH_MUST_USE enum fth_status fth_trace_writer_create(const char *path,
                                                     struct fth_trace_writer **writer,
                                                     struct fth_error *error);
FTH_MUST_USE enum fth_status fth_trace_writer_begin(struct fth_trace_writer *writer,
                                                    const char *kernel, const uint32_t grid[3],
                                                    const uint32_t block[3],
                                                    struct fth_error *error);
/* The number of an instruction for records; the same one gets the same. SIZE_MAX without memory. */
size_t fth_trace_writer_instruction(struct fth_trace_writer *writer,
                                    const struct fth_trace_instruction *instruction);
/* Takes copies of the records, in any order. */
FTH_MUST_USE enum fth_status fth_trace_writer_add(struct fth_trace_writer *writer,
                                                  const struct fth_records *records,
                                                  struct fth_error *error);
/* The launch is complete; of `totals` the requests to other memories count. */
FTH_MUST_USE enum fth_status fth_trace_writer_end(struct fth_trace_writer *writer,
                                                  const struct fth_trace_launch *totals,
                                                  struct fth_error *error);
FTH_MUST_USE enum fth_status fth_trace_writer_commit(struct fth_trace_writer *writer,
                                                     struct fth_error *error);
void fth_trace_writer_abort(struct fth_trace_writer *writer);

void fth_put_launch(const struct fth_trace_launch *launch, struct fth_buffer *out);
void fth_put_totals(const struct fth_trace_launch *launch, struct fth_buffer *out);
void fth_put_instruction(const struct fth_trace_instruction *instruction, struct fth_buffer *out);

/* ---- read.c ---- */

/* A trace in memory, which must outlive it: for tests and fuzzing. */
FTH_MUST_USE enum fth_status fth_trace_open_memory(const void *data, size_t size,
                                                   struct fth_trace **trace,
                                                   struct fth_error *error);

/* ---- traceg.c ---- */

FTH_MUST_USE enum fth_status fth_traceg_import(const char *from, struct fth_trace_writer *writer,
                                               struct fth_error *error);

/* ---- lines of a text file, compressed or not; import.c ---- */

struct fth_lines;
FTH_MUST_USE enum fth_status fth_lines_open(const char *path, struct fth_lines **lines,
                                            struct fth_error *error);
/* *line is NULL at the end. */
FTH_MUST_USE enum fth_status fth_lines_next(struct fth_lines *lines, char **line,
                                            struct fth_error *error);
size_t fth_lines_number(const struct fth_lines *lines);
void fth_lines_close(struct fth_lines *lines);
/* What stands behind a beginning, or NULL where the text does not begin so. */
const char *fth_text_behind(const char *text, const char *beginning);
/* `count` whole numbers up to `most`, with blanks, commas or parentheses between. */
bool fth_text_numbers(const char *text, int base, uint64_t max, size_t count, uint64_t *numbers);

#endif
