/* Writes containers (container.h). */
#include "base/container/container_parts.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct fth_container_writer {
    const struct fth_container_format *format;
    struct fth_atomic_file *file;
    ZSTD_CCtx *zstd;
    atomic_uint_least64_t at;     /* offset of the next part */
    struct fth_buffer part;       /* the part being written; kept to reuse its memory */
    struct fth_part_queue *queue; /* NULL: parts are written at once */
};

enum fth_status fth_container_continue(const struct fth_container_format *format,
                                       struct fth_atomic_file *file, uint64_t offset,
                                       struct fth_container_writer **out, struct fth_error *error)
{
    *out = NULL;
    struct fth_container_writer *writer = calloc(1, sizeof *writer);
    if (!writer) {
        fth_atomic_abort(file);
        return fth_no_memory(error, format->write, NULL);
    }
    writer->format = format;
    writer->file = file;
    writer->at = offset;
    writer->zstd = ZSTD_createCCtx();
    if (!writer->zstd) {
        fth_container_abort(writer);
        return fth_no_memory(error, format->write, NULL);
    }
    *out = writer;
    return FTH_OK;
}

enum fth_status fth_container_create(const struct fth_container_format *format,
                                     struct fth_atomic_file *file,
                                     struct fth_container_writer **out, struct fth_error *error)
{
    FTH_TRY(fth_container_continue(format, file, FTH_CONTAINER_MAGIC_BYTES, out, error));
    enum fth_status status =
        fth_atomic_write(file, format->magic, FTH_CONTAINER_MAGIC_BYTES, error);
    if (status != FTH_OK) {
        fth_container_abort(*out);
        *out = NULL;
    }
    return status;
}

/* Writes a frame of zstd with one raw block (RFC 8878, section 3.1.1), and returns its size. This
 * takes far less time than ZSTD_compressCCtx does for a few hundred bytes. */
static size_t write_plain(const struct fth_buffer *content, char *to)
{
    /* The descriptor: the frame is one segment, so that it states its size, in one or two bytes. */
    enum { SHORT = 0x20, LONG = 0x60, MIN_LONG = 256, LAST_BLOCK = 1 };
    char *at = to;
    fth_set_fixed(ZSTD_MAGICNUMBER, 4, at);
    at += 4;
    if (content->size < MIN_LONG) {
        *at++ = SHORT;
        *at++ = (char)content->size;
    } else {
        *at++ = LONG;
        fth_set_fixed(content->size - MIN_LONG, 2, at);
        at += 2;
    }
    fth_set_fixed(LAST_BLOCK | (uint64_t)content->size << 3, 3, at);
    at += 3;
    memcpy(at, content->data, content->size);
    return (size_t)(at - to) + content->size;
}

bool fth_part_compress(const struct fth_container_format *format, ZSTD_CCtx *zstd, uint32_t type,
                       const struct fth_buffer *content, struct fth_buffer *part)
{
    size_t bound = ZSTD_compressBound(content->size);
    part->size = 0;
    if (!fth_buffer_reserve(part, FTH_PART_HEADER_BYTES + bound + FTH_PART_CHECKSUM_BYTES)) {
        part->failed = false;
        return false;
    }
    size_t stored =
        content->size && content->size <= format->plain_bytes
            ? write_plain(content, part->data + FTH_PART_HEADER_BYTES)
            : ZSTD_compressCCtx(zstd, part->data + FTH_PART_HEADER_BYTES, bound,
                                content->data ? content->data : "", content->size, format->level);
    if (ZSTD_isError(stored)) /* compressing fails only if memory is exhausted */
        return false;
    fth_set_fixed(type, 4, part->data);
    fth_set_fixed(content->size, 4, part->data + 4);
    fth_set_fixed(stored, 4, part->data + 8);
    part->size = FTH_PART_HEADER_BYTES + stored;
    return true;
}

static enum fth_status append_part(void *context, struct fth_buffer *part, struct fth_error *error)
{
    struct fth_container_writer *writer = context;
    fth_set_fixed(writer->format->checksum(writer->at, part->data, part->size), 8,
                  part->data + part->size);
    part->size += FTH_PART_CHECKSUM_BYTES;
    writer->at += part->size;
    return fth_atomic_write(writer->file, part->data, part->size, error);
}

void fth_container_use_threads(struct fth_container_writer *writer, size_t threads)
{
    if (!writer->queue)
        writer->queue = fth_part_queue_create(writer->format, threads, append_part, writer);
}

enum fth_status fth_container_put(struct fth_container_writer *writer, uint32_t type,
                                  const struct fth_buffer *content, uint64_t *offset,
                                  struct fth_error *error)
{
    if (content->failed || content->size > FTH_PART_MAX_BYTES)
        return fth_no_memory(error, writer->format->write, NULL);
    if (writer->queue && !offset)
        return fth_part_queue_put(writer->queue, type, content, error);
    if (writer->queue)
        FTH_TRY(fth_part_queue_wait(writer->queue, error));
    if (!fth_part_compress(writer->format, writer->zstd, type, content, &writer->part))
        return fth_no_memory(error, writer->format->write, NULL);
    if (offset)
        *offset = writer->at;
    return append_part(writer, &writer->part, error);
}

bool fth_container_exceeds(const struct fth_container_writer *writer, uint64_t bytes)
{
    /* What is not written yet can only shrink, except for headers and contents that cannot be
     * compressed, which add less than 1 %. */
    const uint64_t waiting = writer->queue ? fth_part_queue_bytes(writer->queue) : 0;
    return writer->at + waiting > bytes && fth_container_written(writer) > bytes;
}

uint64_t fth_container_written(const struct fth_container_writer *writer)
{
    struct fth_error error = FTH_NO_ERROR;
    if (writer->queue && fth_part_queue_wait(writer->queue, &error) != FTH_OK)
        return writer->at; /* the next call reports the failure */
    return writer->at;
}

enum fth_status fth_container_commit(struct fth_container_writer *writer, uint64_t index,
                                     struct fth_error *error)
{
    char tail[FTH_CONTAINER_TAIL_BYTES];
    enum fth_status status = writer->queue ? fth_part_queue_wait(writer->queue, error) : FTH_OK;
    fth_set_fixed(index, 8, tail);
    fth_set_fixed(writer->format->checksum(writer->at, tail, 8), 8, tail + 8);
    memcpy(tail + 16, writer->format->end_magic, FTH_CONTAINER_MAGIC_BYTES);
    if (status == FTH_OK)
        status = fth_atomic_write(writer->file, tail, sizeof tail, error);
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
    fth_part_queue_destroy(writer->queue);
    fth_atomic_abort(writer->file);
    ZSTD_freeCCtx(writer->zstd);
    fth_buffer_fini(&writer->part);
    free(writer);
}
