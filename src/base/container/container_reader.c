/* Reads containers (container.h). */
#include "base/container/container.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>
#include <zstd_errors.h>

/* The offset basis of 64-bit FNV-1a (Fowler, Noll, Vo). */
#define CHECKSUM_START UINT64_C(0xcbf29ce484222325)

/* Continues an FNV-1a checksum whose value is `before`. */
static uint64_t add_to_checksum(uint64_t before, const void *data, size_t size)
{
    const unsigned char *bytes = data;
    for (size_t i = 0; i < size; i++)
        before = (before ^ bytes[i]) * UINT64_C(0x100000001b3);
    return before;
}

uint64_t fth_fnv_checksum(uint64_t offset, const void *data, size_t size)
{
    unsigned char position[8];
    fth_set_fixed(offset, sizeof position, position);
    return add_to_checksum(add_to_checksum(CHECKSUM_START, position, sizeof position), data, size);
}

struct fth_container {
    const struct fth_container_format *format;
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
            return fth_fail(error, FTH_IO, container->format->read, container->path, "%s",
                            strerror(errno));
        if (got == 0)
            return fth_fail(error, FTH_IO, container->format->read, container->path,
                            "the file became shorter while it was being read");
        done += (size_t)got;
    }
    return FTH_OK;
}

/* Checks the magic at the start and reads the tail. A missing or invalid tail is no error: the file
 * is then treated as truncated. */
static enum fth_status find_index(struct fth_container *container, struct fth_error *error)
{
    const struct fth_container_format *format = container->format;
    char magic[FTH_CONTAINER_MAGIC_BYTES], tail[FTH_CONTAINER_TAIL_BYTES];
    enum fth_status status = get_bytes(container, 0, magic, sizeof magic, error);
    if (status == FTH_UNAVAILABLE ||
        (status == FTH_OK && memcmp(magic, format->magic, sizeof magic) != 0))
        return fth_fail(error, FTH_INVALID, format->read, container->path,
                        "not %s: the file does not begin with \"%s\"", format->name, format->magic);
    if (status != FTH_OK || container->bytes < sizeof magic + sizeof tail)
        return status;
    uint64_t at = container->bytes - sizeof tail;
    status = get_bytes(container, at, tail, sizeof tail, error);
    if (status == FTH_OK && memcmp(tail + 16, format->end_magic, sizeof magic) == 0 &&
        fth_get_fixed(tail + 8, 8) == format->checksum(at, tail, 8) && fth_get_fixed(tail, 8) < at)
        container->index = fth_get_fixed(tail, 8);
    return status;
}

/* Opens a container on `fd`, of which it takes ownership. `fd` is negative if opening the file has
 * failed with `errno`. */
static enum fth_status open_on(const struct fth_container_format *format, int fd, const char *path,
                               struct fth_container **out, struct fth_error *error)
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
        return end < 0 ? fth_fail(error, cause == ENOENT ? FTH_NOT_FOUND : FTH_IO, format->read,
                                  path, "%s", strerror(cause))
                       : fth_no_memory(error, format->read, path);
    }
    *container =
        (struct fth_container){.format = format, .fd = fd, .bytes = (uint64_t)end, .path = copy};
    enum fth_status status = find_index(container, error);
    if (status == FTH_OK)
        *out = container;
    else
        fth_container_close(container);
    return status;
}

enum fth_status fth_container_open(const struct fth_container_format *format, const char *path,
                                   struct fth_container **out, struct fth_error *error)
{
    return open_on(format, open(path, O_RDONLY | O_CLOEXEC), path, out, error);
}

enum fth_status fth_container_attach(const struct fth_container_format *format, int fd,
                                     const char *name, struct fth_container **out,
                                     struct fth_error *error)
{
    return open_on(format, fcntl(fd, F_DUPFD_CLOEXEC, 0), name, out, error);
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

enum fth_status fth_container_damaged(const struct fth_container *container, uint64_t offset,
                                      const char *how, struct fth_error *error)
{
    return fth_fail(error, FTH_INVALID, container->format->read, container->path,
                    "the part at byte %llu is damaged: %s", (unsigned long long)offset, how);
}

/* Decompresses a frame that consists of one plain block, as container_writer.c writes them for
 * short contents. Returns false for any other frame. Takes far less time than ZSTD_decompress,
 * which allocates and initialises its tables. */
static bool read_plain(const unsigned char *frame, size_t stored, char *to, size_t bytes)
{
    /* The magic number, a descriptor that says how many bytes the size has, and the block's header,
     * whose lowest three bits are "last block" and the type "plain" (RFC 8878, section 3.1.1). */
    enum { MAGIC_BYTES = 4, SHORT = 0x20, LONG = 0x60, BLOCK_BYTES = 3, LAST_PLAIN = 1 };
    const size_t size_bytes = bytes < 256 ? 1 : 2;
    const size_t header = MAGIC_BYTES + 1 + size_bytes;
    if (bytes >= 65536 + 256 || stored != header + BLOCK_BYTES + bytes ||
        fth_get_fixed(frame, MAGIC_BYTES) != ZSTD_MAGICNUMBER ||
        frame[MAGIC_BYTES] != (size_bytes == 1 ? SHORT : LONG) ||
        fth_get_fixed(frame + MAGIC_BYTES + 1, size_bytes) !=
            (size_bytes == 1 ? bytes : bytes - 256) ||
        fth_get_fixed(frame + header, BLOCK_BYTES) != (LAST_PLAIN | (uint64_t)bytes << 3))
        return false;
    memcpy(to, frame + header + BLOCK_BYTES, bytes);
    return true;
}

/* Verifies the checksum of a part and decompresses it. `part` are its `size` bytes as stored. */
static enum fth_status unpack(const struct fth_container *container, uint64_t offset,
                              const unsigned char *part, size_t size, struct fth_buffer *content,
                              struct fth_error *error)
{
    size_t covered = size - FTH_PART_CHECKSUM_BYTES;
    if (fth_get_fixed(part + covered, 8) != container->format->checksum(offset, part, covered))
        return fth_container_damaged(container, offset, "wrong checksum", error);
    size_t bytes = (size_t)fth_get_fixed(part + 4, 4), stored = (size_t)fth_get_fixed(part + 8, 4);
    content->size = 0;
    if (!fth_buffer_reserve(content, bytes + 1))
        return fth_no_memory(error, container->format->read, container->path);
    content->size = bytes;
    if (read_plain(part + FTH_PART_HEADER_BYTES, stored, content->data, bytes))
        return FTH_OK;
    content->size = 0;
    size_t got = ZSTD_decompress(content->data, bytes, part + FTH_PART_HEADER_BYTES, stored);
    if (ZSTD_getErrorCode(got) == ZSTD_error_memory_allocation)
        return fth_no_memory(error, container->format->read, container->path);
    if (ZSTD_isError(got) || got != bytes)
        return fth_container_damaged(container, offset, "it cannot be decompressed", error);
    content->size = bytes;
    return FTH_OK;
}

/* Decodes the header of the part at `offset`. FTH_UNAVAILABLE: the file ends within the part. */
static enum fth_status decode_header(const struct fth_container *container, uint64_t offset,
                                     const unsigned char *header, struct fth_part_header *part)
{
    const uint64_t size =
        FTH_PART_HEADER_BYTES + fth_get_fixed(header + 8, 4) + FTH_PART_CHECKSUM_BYTES;
    if (container->bytes - offset < size)
        return FTH_UNAVAILABLE;
    part->type = (uint32_t)fth_get_fixed(header, 4);
    part->bytes = (uint32_t)fth_get_fixed(header + 4, 4);
    part->next = offset + size;
    return FTH_OK;
}

enum fth_status fth_container_skip(const struct fth_container *container, uint64_t offset,
                                   struct fth_part_header *part, struct fth_error *error)
{
    unsigned char header[FTH_PART_HEADER_BYTES];
    FTH_TRY(get_bytes(container, offset, header, sizeof header, error));
    return decode_header(container, offset, header, part);
}

enum fth_status fth_container_get(const struct fth_container *container, uint64_t offset,
                                  uint32_t *type, struct fth_buffer *content, uint64_t *next,
                                  struct fth_error *error)
{
    /* Most parts of a capsule are smaller than this; they are read at once with their header. */
    unsigned char first[1024];
    const uint64_t left = offset < container->bytes ? container->bytes - offset : 0;
    const size_t first_bytes = (size_t)FTH_MIN(left, (uint64_t)sizeof first);
    struct fth_part_header header;
    if (first_bytes < FTH_PART_HEADER_BYTES)
        return FTH_UNAVAILABLE;
    FTH_TRY(get_bytes(container, offset, first, first_bytes, error));
    FTH_TRY(decode_header(container, offset, first, &header));
    const size_t size = (size_t)(header.next - offset);
    *type = header.type;
    if (header.bytes > FTH_PART_MAX_BYTES)
        return fth_container_damaged(container, offset, "it is larger than 256 MiB", error);
    *next = header.next;
    if (size <= first_bytes)
        return unpack(container, offset, first, size, content, error);
    unsigned char *part = malloc(size);
    if (!part)
        return fth_no_memory(error, container->format->read, container->path);
    enum fth_status status = get_bytes(container, offset, part, size, error);
    if (status == FTH_OK)
        status = unpack(container, offset, part, size, content, error);
    free(part);
    return status;
}
