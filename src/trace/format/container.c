/* The container format of trace files: a sequence of parts and a tail with the offset of the index.
 * Each part is compressed and has its own checksum. A reader can therefore read any part alone, and
 * an error message can give the offset of the damaged part.
 *
 *     magic 8 | part | part | … | index part | offset of the index 8 | checksum 8 | magic 8
 *
 * The number after a field is its size in bytes. trace.h shows the layout of a part. */
#include "trace/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>
#include <zstd_errors.h>

static const char end_magic[8] = {'f', 't', 'h', 't', 'r', 'e', 'n', 'd'}; /* FTH_TRACE_END */
/* The offset basis of 64-bit FNV-1a (Fowler, Noll, Vo). */
#define CHECKSUM_START UINT64_C(0xcbf29ce484222325)

/* Compression level of zstd. With level 3, files are a few percent larger than with level 9, but
 * compression takes a third of the time. */
enum { COMPRESSION_LEVEL = 3 };

/* Continues an FNV-1a checksum whose value is `before`. */
static uint64_t add_to_checksum(uint64_t before, const void *data, size_t size)
{
    const unsigned char *bytes = data;
    for (size_t i = 0; i < size; i++)
        before = (before ^ bytes[i]) * UINT64_C(0x100000001b3);
    return before;
}

static void set_fixed(uint64_t number, size_t bytes, void *to)
{
    for (size_t i = 0; i < bytes; i++)
        ((unsigned char *)to)[i] = (unsigned char)(number >> (8 * i));
}

static uint64_t get_fixed(const void *data, size_t bytes)
{
    uint64_t number = 0;
    for (size_t i = 0; i < bytes; i++)
        number |= (uint64_t)((const unsigned char *)data)[i] << (8 * i);
    return number;
}

uint64_t fth_part_checksum(uint64_t offset, const void *data, size_t size)
{
    unsigned char position[8];
    set_fixed(offset, sizeof position, position);
    return add_to_checksum(add_to_checksum(CHECKSUM_START, position, sizeof position), data, size);
}

/* ---- writing ---- */

struct fth_container_writer {
    struct fth_atomic_file *file;
    ZSTD_CCtx *zstd;
    uint64_t at;            /* offset of the next part */
    struct fth_buffer part; /* the part being written; kept to reuse its memory */
};

enum fth_status fth_container_create(struct fth_atomic_file *file,
                                     struct fth_container_writer **out, struct fth_error *error)
{
    *out = NULL;
    struct fth_container_writer *writer = calloc(1, sizeof *writer);
    enum fth_status status = FTH_NO_MEMORY;
    if (!writer) {
        fth_atomic_abort(file);
        return fth_no_memory(error, "write trace", NULL);
    }
    writer->file = file;
    writer->at = sizeof FTH_TRACE_MAGIC - 1;
    writer->zstd = ZSTD_createCCtx();
    if (writer->zstd)
        status = fth_atomic_write(file, FTH_TRACE_MAGIC, sizeof FTH_TRACE_MAGIC - 1, error);
    else
        fth_no_memory(error, "write trace", NULL);
    if (status == FTH_OK)
        *out = writer;
    else
        fth_container_abort(writer);
    return status;
}

enum fth_status fth_container_put(struct fth_container_writer *writer, enum fth_part type,
                                  const struct fth_buffer *content, uint64_t *offset,
                                  struct fth_error *error)
{
    struct fth_buffer *part = &writer->part;
    size_t bound = ZSTD_compressBound(content->size);
    part->size = 0;
    if (content->failed || content->size > FTH_PART_MAX_BYTES ||
        !fth_buffer_reserve(part, FTH_PART_HEADER_BYTES + bound + FTH_PART_CHECKSUM_BYTES))
        return fth_no_memory(error, "write trace", NULL);
    size_t stored =
        ZSTD_compressCCtx(writer->zstd, part->data + FTH_PART_HEADER_BYTES, bound,
                          content->data ? content->data : "", content->size, COMPRESSION_LEVEL);
    if (ZSTD_isError(stored)) /* compressing fails for no other reason */
        return fth_no_memory(error, "write trace", NULL);
    set_fixed(type, 4, part->data);
    set_fixed(content->size, 4, part->data + 4);
    set_fixed(stored, 4, part->data + 8);
    size_t covered = FTH_PART_HEADER_BYTES + stored;
    set_fixed(fth_part_checksum(writer->at, part->data, covered), 8, part->data + covered);
    part->size = covered + FTH_PART_CHECKSUM_BYTES;
    if (offset)
        *offset = writer->at;
    writer->at += part->size;
    return fth_atomic_write(writer->file, part->data, part->size, error);
}

enum fth_status fth_container_commit(struct fth_container_writer *writer, uint64_t index,
                                     struct fth_error *error)
{
    char tail[FTH_TRACE_TAIL_BYTES];
    set_fixed(index, 8, tail);
    set_fixed(fth_part_checksum(writer->at, tail, 8), 8, tail + 8);
    memcpy(tail + 16, end_magic, sizeof end_magic);
    enum fth_status status = fth_atomic_write(writer->file, tail, sizeof tail, error);
    if (status == FTH_OK) {
        status = fth_atomic_commit(writer->file, error);
        writer->file = NULL;
    }
    fth_container_abort(writer);
    return status;
}

void fth_container_abort(struct fth_container_writer *writer)
{
    if (!writer)
        return;
    fth_atomic_abort(writer->file);
    ZSTD_freeCCtx(writer->zstd);
    fth_buffer_fini(&writer->part);
    free(writer);
}

/* ---- reading ---- */

struct fth_container {
    int fd;
    uint64_t bytes;
    uint64_t index; /* offset of the index part; 0: the tail is missing */
    char *path;
};

/* Reads `size` bytes at `offset`. FTH_UNAVAILABLE, without a message: the file has fewer bytes. */
static enum fth_status get_bytes(const struct fth_container *container, uint64_t offset, void *data,
                                 size_t size, struct fth_error *error)
{
    if (offset > container->bytes || container->bytes - offset < size)
        return FTH_UNAVAILABLE;
    for (size_t done = 0; done < size;) {
        ssize_t got =
            pread(container->fd, (char *)data + done, size - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return fth_fail(error, FTH_IO, "read trace", container->path, "%s", strerror(errno));
        if (got == 0)
            return fth_fail(error, FTH_IO, "read trace", container->path,
                            "the file became shorter while it was being read");
        done += (size_t)got;
    }
    return FTH_OK;
}

/* Checks the magic at the start and reads the tail. A missing or invalid tail is no error: the file
 * is then treated as truncated. */
static enum fth_status find_index(struct fth_container *container, struct fth_error *error)
{
    const size_t magic = sizeof FTH_TRACE_MAGIC - 1;
    char header[8], tail[FTH_TRACE_TAIL_BYTES];
    enum fth_status status = get_bytes(container, 0, header, magic, error);
    if (status == FTH_UNAVAILABLE ||
        (status == FTH_OK && memcmp(header, FTH_TRACE_MAGIC, magic) != 0))
        return fth_fail(error, FTH_INVALID, "read trace", container->path,
                        "not a trace: the file does not begin with \"" FTH_TRACE_MAGIC "\"");
    if (status != FTH_OK || container->bytes < magic + sizeof tail)
        return status;
    uint64_t at = container->bytes - sizeof tail;
    status = get_bytes(container, at, tail, sizeof tail, error);
    if (status == FTH_OK && memcmp(tail + 16, FTH_TRACE_END, 8) == 0 &&
        get_fixed(tail + 8, 8) == fth_part_checksum(at, tail, 8) && get_fixed(tail, 8) < at)
        container->index = get_fixed(tail, 8);
    return status;
}

/* Opens a container on `fd`, of which it takes ownership. `fd` is negative if opening the file has
 * failed with `errno`. */
static enum fth_status open_on(int fd, const char *path, struct fth_container **out,
                               struct fth_error *error)
{
    const off_t end = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);
    const int cause = errno;
    *out = NULL;
    struct fth_container *container = calloc(1, sizeof *container);
    char *copy = strdup(path);
    if (!container || !copy || end < 0) {
        free(container);
        free(copy);
        if (fd >= 0)
            close(fd);
        return end < 0 ? fth_fail(error, cause == ENOENT ? FTH_NOT_FOUND : FTH_IO, "read trace",
                                  path, "%s", strerror(cause))
                       : fth_no_memory(error, "read trace", path);
    }
    *container = (struct fth_container){.fd = fd, .bytes = (uint64_t)end, .path = copy};
    enum fth_status status = find_index(container, error);
    if (status == FTH_OK)
        *out = container;
    else
        fth_container_close(container);
    return status;
}

enum fth_status fth_container_open(const char *path, struct fth_container **out,
                                   struct fth_error *error)
{
    return open_on(open(path, O_RDONLY | O_CLOEXEC), path, out, error);
}

enum fth_status fth_container_attach(int fd, const char *name, struct fth_container **out,
                                     struct fth_error *error)
{
    return open_on(fcntl(fd, F_DUPFD_CLOEXEC, 0), name, out, error);
}

void fth_container_close(struct fth_container *container)
{
    if (!container)
        return;
    close(container->fd);
    free(container->path);
    free(container);
}

uint64_t fth_container_bytes(const struct fth_container *container)
{
    return container->bytes;
}

const char *fth_container_path(const struct fth_container *container)
{
    return container->path;
}

uint64_t fth_container_index(const struct fth_container *container)
{
    return container->index;
}

static enum fth_status damaged(const struct fth_container *container, uint64_t offset,
                               const char *how, struct fth_error *error)
{
    return fth_fail(error, FTH_INVALID, "read trace", container->path,
                    "the part at byte %llu is damaged: %s", (unsigned long long)offset, how);
}

/* Verifies the checksum of a part and decompresses it. `part` are its `size` bytes as stored. */
static enum fth_status unpack(const struct fth_container *container, uint64_t offset,
                              const unsigned char *part, size_t size, struct fth_buffer *content,
                              struct fth_error *error)
{
    size_t covered = size - FTH_PART_CHECKSUM_BYTES;
    if (get_fixed(part + covered, 8) != fth_part_checksum(offset, part, covered))
        return damaged(container, offset, "wrong checksum", error);
    size_t bytes = (size_t)get_fixed(part + 4, 4), stored = (size_t)get_fixed(part + 8, 4);
    content->size = 0;
    if (!fth_buffer_reserve(content, bytes + 1))
        return fth_no_memory(error, "read trace", container->path);
    size_t got = ZSTD_decompress(content->data, bytes, part + FTH_PART_HEADER_BYTES, stored);
    if (ZSTD_getErrorCode(got) == ZSTD_error_memory_allocation)
        return fth_no_memory(error, "read trace", container->path);
    if (ZSTD_isError(got) || got != bytes)
        return damaged(container, offset, "it cannot be decompressed", error);
    content->size = bytes;
    return FTH_OK;
}

/* Reads the header of a part: its type, the size of its content, and its size in the file.
 * FTH_UNAVAILABLE: the file ends within the part. */
static enum fth_status get_header(const struct fth_container *container, uint64_t offset,
                                  uint32_t *type, uint64_t *bytes, uint64_t *size,
                                  struct fth_error *error)
{
    unsigned char header[FTH_PART_HEADER_BYTES];
    FTH_TRY(get_bytes(container, offset, header, sizeof header, error));
    *type = (uint32_t)get_fixed(header, 4);
    *bytes = get_fixed(header + 4, 4);
    *size = sizeof header + get_fixed(header + 8, 4) + FTH_PART_CHECKSUM_BYTES;
    return container->bytes - offset < *size ? FTH_UNAVAILABLE : FTH_OK;
}

enum fth_status fth_container_skip(const struct fth_container *container, uint64_t offset,
                                   uint32_t *type, uint64_t *next, struct fth_error *error)
{
    uint64_t bytes, size;
    enum fth_status status = get_header(container, offset, type, &bytes, &size, error);
    if (status == FTH_OK)
        *next = offset + size;
    return status;
}

enum fth_status fth_container_get(const struct fth_container *container, uint64_t offset,
                                  uint32_t *type, struct fth_buffer *content, uint64_t *next,
                                  struct fth_error *error)
{
    uint64_t bytes, size;
    FTH_TRY(get_header(container, offset, type, &bytes, &size, error));
    if (bytes > FTH_PART_MAX_BYTES)
        return damaged(container, offset, "it is larger than 256 MiB", error);
    unsigned char *part = malloc(size);
    if (!part)
        return fth_no_memory(error, "read trace", container->path);
    enum fth_status status = get_bytes(container, offset, part, size, error);
    if (status == FTH_OK)
        status = unpack(container, offset, part, size, content, error);
    free(part);
    *next = offset + size;
    return status;
}
