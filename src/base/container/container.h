/* container/: files that consist of parts. Each part is compressed and has its own checksum. A
 * reader can therefore read any part alone, and an error message can give the offset of the damaged
 * part.
 *
 *   container_writer.c   appends parts
 *   container_queue.c    compresses them in threads
 *   container_reader.c   reads parts
 *   encoding.c           numbers and texts in the content of a part
 *
 * The layout of a file, and that of a part:
 *
 *     magic 8 | part | part | … | index part | offset of the index 8 | checksum 8 | end magic 8
 *     type 4 | bytes 4 | stored bytes 4 | zstd frame | checksum 8
 *
 * The number after a field is its size in bytes; integers are little-endian. The field "bytes" is
 * the size of the content, "stored bytes" that of the zstd frame. The checksum covers the part's
 * offset in the file and all its bytes before the checksum. It therefore detects both a flipped bit
 * and a part that was moved. */
#ifndef FTH_CONTAINER_H
#define FTH_CONTAINER_H

#include "base/base.h"

enum {
    FTH_CONTAINER_MAGIC_BYTES = 8,
    FTH_CONTAINER_TAIL_BYTES = 24,
    FTH_PART_HEADER_BYTES = 12,
    FTH_PART_CHECKSUM_BYTES = 8
};
/* Maximum size of the content of a part before compression, in bytes. Readers reject larger parts,
 * so that a damaged size cannot exhaust the memory. */
#define FTH_PART_MAX_BYTES ((uint32_t)1 << 28)

/* A kind of file that is a container. */
struct fth_container_format {
    const char *magic, *end_magic; /* the first and the last eight bytes of a file */
    const char *name;              /* for messages, with its article: "a trace" */
    const char *read, *write;      /* operations for messages: "read trace", "write trace" */
    int level;                     /* compression level of zstd */
    /* Contents of at most this many bytes are stored as they are, in a frame of zstd. At most
     * 65,536. */
    size_t plain_bytes;
    /* Returns the checksum of a part that begins at `offset` in the file, or of a tail; `data` are
     * the bytes before the checksum. */
    uint64_t (*checksum)(uint64_t offset, const void *data, size_t size);
};

/* ---- container_writer.c ---- */

struct fth_container_writer;

/* Starts a file: takes ownership of `file`, also on failure, and writes the magic. */
FTH_MUST_USE enum fth_status fth_container_create(const struct fth_container_format *format,
                                                  struct fth_atomic_file *file,
                                                  struct fth_container_writer **writer,
                                                  struct fth_error *error);
/* Continues a file whose next part is to begin at `offset`, which is the current position of
 * `file`. Takes ownership of `file`, also on failure. */
FTH_MUST_USE enum fth_status fth_container_continue(const struct fth_container_format *format,
                                                    struct fth_atomic_file *file, uint64_t offset,
                                                    struct fth_container_writer **writer,
                                                    struct fth_error *error);
/* Compresses `content` and appends it as a part. *offset is set to the offset of the part in the
 * file; `offset` may be NULL. */
FTH_MUST_USE enum fth_status fth_container_put(struct fth_container_writer *writer, uint32_t type,
                                               const struct fth_buffer *content, uint64_t *offset,
                                               struct fth_error *error);
/* Lets threads compress parts and write them, in the same order. fth_container_put then returns
 * before a part is written, and reports a failure of an earlier one, unless the caller asks for its
 * offset. A process that is killed loses up to 64 MiB of contents. If no thread can be started,
 * parts are written as before. */
void fth_container_use_threads(struct fth_container_writer *writer, size_t threads);
/* Returns the number of bytes of the file so far. Waits for the threads. */
uint64_t fth_container_written(const struct fth_container_writer *writer);
/* Returns whether the file has more than `bytes` bytes. Waits for the threads only if this depends
 * on what they have not written yet. */
bool fth_container_exceeds(const struct fth_container_writer *writer, uint64_t bytes);
/* Writes the tail, which contains the offset `index` of the index part, commits the file
 * (fth_atomic_commit), and frees the writer. */
FTH_MUST_USE enum fth_status fth_container_commit(struct fth_container_writer *writer,
                                                  uint64_t index, struct fth_error *error);
/* Discards the file (fth_atomic_abort) and frees the writer; takes NULL. */
void fth_container_abort(struct fth_container_writer *writer);

/* ---- container_reader.c ---- */

/* The checksum FNV-1a (Fowler, Noll, Vo) of an offset and bytes. */
uint64_t fth_fnv_checksum(uint64_t offset, const void *data, size_t size);

struct fth_container;

/* Opens a file for reading. A missing tail is no error; see fth_container_index. */
FTH_MUST_USE enum fth_status fth_container_open(const struct fth_container_format *format,
                                                const char *path, struct fth_container **container,
                                                struct fth_error *error);
/* The same for a file that is open already. `fd` stays the caller's. `name` is used in messages. */
FTH_MUST_USE enum fth_status fth_container_attach(const struct fth_container_format *format, int fd,
                                                  const char *name,
                                                  struct fth_container **container,
                                                  struct fth_error *error);
void fth_container_close(struct fth_container *container);
/* Returns the size of the file in bytes. */
uint64_t fth_container_bytes(const struct fth_container *container);
/* Returns the path of the file. */
const char *fth_container_path(const struct fth_container *container);
/* Returns the offset of the index part; 0: the file has no valid tail, so it is truncated. */
uint64_t fth_container_index(const struct fth_container *container);

/* What the header of a part tells, without its checksum. */
struct fth_part_header {
    uint32_t type;
    uint32_t bytes; /* of the content */
    uint64_t next;  /* offset of the next part */
};
/* Reads only the header of the part at `offset`. The checksum is not verified. FTH_UNAVAILABLE: the
 * file ends within the part. */
FTH_MUST_USE enum fth_status fth_container_skip(const struct fth_container *container,
                                                uint64_t offset, struct fth_part_header *header,
                                                struct fth_error *error);
/* Reads, verifies and decompresses the part at `offset`, and sets *next to the offset of the next
 * part. FTH_UNAVAILABLE: the file ends within the part. Several threads may call this function at
 * the same time, each with its own `content`. */
FTH_MUST_USE enum fth_status fth_container_get(const struct fth_container *container,
                                               uint64_t offset, uint32_t *type,
                                               struct fth_buffer *content, uint64_t *next,
                                               struct fth_error *error);
/* Fails with FTH_INVALID: the part at `offset` is damaged; `how` says in which way. */
enum fth_status fth_container_damaged(const struct fth_container *container, uint64_t offset,
                                      const char *how, struct fth_error *error);

/* ---- encoding.c ---- */

/* Longest text, such as a kernel's name, that fth_get_text accepts, in bytes. A longer one counts
 * as damage. Chosen, not derived: it bounds the memory that a damaged length can claim. */
enum { FTH_PART_MAX_TEXT_BYTES = 65536 };

/* Store and read an integer with a fixed number of bytes, little-endian. */
void fth_set_fixed(uint64_t number, size_t bytes, void *to);
uint64_t fth_get_fixed(const void *data, size_t bytes);
/* Writes a variable-length integer: seven bits per byte, the lowest first; the top bit of a byte is
 * set if another byte follows. Returns its size, at most 10 bytes. (Inline, as is fth_get_varint:
 * encoding and decoding a trace spends its time here.) */
static inline size_t fth_write_varint(unsigned char *to, uint64_t number)
{
    size_t size = 0;
    for (; number > 0x7f; number >>= 7)
        to[size++] = (unsigned char)(number | 0x80);
    to[size++] = (unsigned char)number;
    return size;
}
/* Appends a variable-length integer. */
void fth_put_varint(uint64_t number, struct fth_buffer *out);
/* Appends the length as a variable-length integer and then the characters. */
void fth_put_text(const char *text, struct fth_buffer *out);
/* Encodes a signed number in two's complement so that numbers near 0 become small: 0, -1, 1, -2 are
 * 0, 1, 2, 3. fth_unzigzag reverses it. */
static inline uint64_t fth_zigzag(uint64_t number)
{
    return number << 1 ^ (uint64_t)((int64_t)number >> 63);
}
static inline uint64_t fth_unzigzag(uint64_t number)
{
    return number >> 1 ^ (0 - (number & 1));
}

/* A position in encoded bytes. `failed` is set, and stays set, when a value is incomplete or out of
 * range. Numbers that are returned once it is set are meaningless. `no_memory` is set in addition
 * if memory is exhausted. */
struct fth_bytes {
    const unsigned char *at, *end;
    bool failed, no_memory;
};
/* Returns the beginning of the content of a part. */
struct fth_bytes fth_bytes_of(const struct fth_buffer *content);
static inline uint64_t fth_get_varint(struct fth_bytes *bytes)
{
    uint64_t number = 0;
    for (unsigned shift = 0; shift < 64 && bytes->at < bytes->end; shift += 7) {
        unsigned char byte = *bytes->at++;
        if (shift == 63 && byte > 1)
            break;
        number |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return number;
    }
    bytes->failed = true;
    return 0;
}
static inline uint32_t fth_get_varint32(struct fth_bytes *bytes)
{
    uint64_t number = fth_get_varint(bytes);
    if (number > UINT32_MAX)
        bytes->failed = true;
    return (uint32_t)number;
}
/* Copies the text into the arena. Returns NULL and sets `failed` if the text is incomplete or
 * longer than FTH_PART_MAX_TEXT_BYTES, or if memory is exhausted. */
const char *fth_get_text(struct fth_bytes *bytes, struct fth_arena *arena);

#endif
