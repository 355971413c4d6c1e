/* Writes images: divides memory into chunks, and stores equal chunks once.
 *
 * A chunk of zeros is not stored. Any other chunk is found by its digest among those that the file
 * has already; a new one is appended to the chunks of the next part. An image is written as the
 * chunks in which it differs from its predecessor, or from zeros. */
#include "capsule/capsule_parts.h"

#include <stdlib.h>
#include <string.h>

/* Drops the image that is being written, if there is one. */
static void drop(struct fth_image_writer *image)
{
    if (!image->previous)
        free(image->list);
    image->list = NULL;
    image->previous = 0;
    image->is_active = false;
}

enum fth_status fth_capsule_begin_image(struct fth_capsule_writer *writer, uint32_t previous,
                                        uint64_t bytes, struct fth_error *error)
{
    struct fth_image_writer *image = &writer->image;
    drop(image);
    if (bytes > FTH_CAPSULE_MAX_REGION_BYTES)
        return fth_capsule_refuse(writer, "an image", "it is larger than 1 TiB", error);
    if (previous > writer->scope.image_count)
        return fth_capsule_refuse(writer, "an image", "the previous image does not exist", error);
    if (previous &&
        (!writer->image_lists[previous - 1] || writer->image_bytes[previous - 1] != bytes))
        previous = 0;
    if (!image->partial)
        image->partial = malloc(FTH_CHUNK_BYTES);
    /* Zeros; at least one byte, because calloc may return NULL for none. */
    uint32_t *list = previous ? writer->image_lists[previous - 1]
                              : calloc((size_t)fth_capsule_chunks_of(bytes) + 1, sizeof *list);
    if (!list || !image->partial) {
        if (!previous)
            free(list);
        return fth_no_memory(error, fth_capsule_format.write, writer->path);
    }
    image->is_active = true;
    image->previous = previous;
    image->bytes = bytes;
    image->added = 0;
    image->list = list;
    image->change_count = 0;
    return FTH_OK;
}

/* Returns whether a chunk consists of zeros. */
static bool is_zero(const unsigned char *chunk)
{
    /* Most chunks that do not, show it at their beginning. */
    enum { BLOCK_BYTES = 256, WORDS = BLOCK_BYTES / 8 };
    for (size_t at = 0; at < FTH_CHUNK_BYTES; at += BLOCK_BYTES) {
        uint64_t words[WORDS], all = 0;
        memcpy(words, chunk + at, sizeof words);
        for (size_t i = 0; i < WORDS; i++)
            all |= words[i];
        if (all)
            return false;
    }
    return true;
}

enum fth_status fth_capsule_write_chunks(struct fth_capsule_writer *writer, struct fth_error *error)
{
    if (writer->chunks.size == 0)
        return FTH_OK;
    enum fth_status status =
        fth_capsule_put_part(writer, FTH_CAPSULE_PART_CHUNKS, &writer->chunks, NULL, error);
    writer->chunks.size = 0;
    return status;
}

/* Finds the number of a chunk, or stores it. */
static enum fth_status number_chunk(struct fth_capsule_writer *writer, const unsigned char *data,
                                    uint32_t *number, struct fth_error *error)
{
    *number = 0;
    if (is_zero(data))
        return FTH_OK;
    const struct fth_digest digest = fth_digest(data, FTH_CHUNK_BYTES);
    *number = fth_digest_table_find(&writer->chunk_table, &digest);
    if (*number)
        return FTH_OK;
    if (!fth_buffer_reserve(&writer->chunks, FTH_CHUNK_BYTES) ||
        !fth_digest_table_add(&writer->chunk_table, &digest, writer->scope.chunk_count + 1)) {
        writer->chunks.failed = false;
        return fth_no_memory(error, fth_capsule_format.write, writer->path);
    }
    fth_buffer_append(&writer->chunks, data, FTH_CHUNK_BYTES);
    *number = ++writer->scope.chunk_count;
    if (writer->chunks.size < (size_t)FTH_CAPSULE_PART_CHUNKS_WRITTEN * FTH_CHUNK_BYTES)
        return FTH_OK;
    return fth_capsule_write_chunks(writer, error);
}

/* Adds the chunk with the next index. */
static enum fth_status add_chunk(struct fth_capsule_writer *writer, const unsigned char *data,
                                 uint32_t index, struct fth_error *error)
{
    struct fth_image_writer *image = &writer->image;
    uint32_t number;
    FTH_TRY(number_chunk(writer, data, &number, error));
    if (number == image->list[index])
        return FTH_OK;
    if (!fth_grow((void **)&image->changes, image->change_count, &image->change_capacity,
                  sizeof *image->changes))
        return fth_no_memory(error, fth_capsule_format.write, writer->path);
    image->changes[image->change_count++] = (struct fth_chunk_change){index, number};
    return FTH_OK;
}

enum fth_status fth_capsule_add_to_image(struct fth_capsule_writer *writer, const void *data,
                                         size_t size, struct fth_error *error)
{
    struct fth_image_writer *image = &writer->image;
    const unsigned char *at = data;
    enum fth_status status = FTH_OK;
    if (!image->is_active)
        return fth_capsule_refuse(writer, "an image", "it was not begun, or it has failed", error);
    if (size > image->bytes - image->added) {
        drop(image);
        return fth_capsule_refuse(writer, "an image", "it has more bytes than its region", error);
    }
    while (size > 0 && status == FTH_OK) {
        const size_t in_chunk = (size_t)(image->added % FTH_CHUNK_BYTES);
        const size_t taken = FTH_MIN(size, FTH_CHUNK_BYTES - in_chunk);
        const uint32_t index = (uint32_t)(image->added / FTH_CHUNK_BYTES);
        const unsigned char *chunk = at;
        if (taken < FTH_CHUNK_BYTES) {
            memcpy(image->partial + in_chunk, at, taken);
            chunk = image->partial;
        }
        at += taken;
        size -= taken;
        image->added += taken;
        if (image->added == image->bytes && image->added % FTH_CHUNK_BYTES)
            memset(image->partial + in_chunk + taken, 0, FTH_CHUNK_BYTES - in_chunk - taken);
        if (image->added % FTH_CHUNK_BYTES == 0 || image->added == image->bytes)
            status = add_chunk(writer, chunk, index, error);
    }
    if (status != FTH_OK)
        drop(image);
    return status;
}

bool fth_capsule_can_keep(const struct fth_capsule_writer *writer)
{
    return writer->image.is_active && writer->image.previous;
}

enum fth_status fth_capsule_keep_in_image(struct fth_capsule_writer *writer, uint64_t bytes,
                                          struct fth_error *error)
{
    struct fth_image_writer *image = &writer->image;
    if (!fth_capsule_can_keep(writer))
        return fth_capsule_refuse(writer, "an image", "it has no previous image to keep", error);
    const uint64_t left = image->bytes - image->added;
    if (bytes > left || image->added % FTH_CHUNK_BYTES ||
        (bytes % FTH_CHUNK_BYTES && bytes != left)) {
        drop(image);
        return fth_capsule_refuse(writer, "an image", "only whole chunks can be kept", error);
    }
    image->added += bytes;
    return FTH_OK;
}

/* Encodes the changes of the image: runs of the chunks that changed, each after the number of those
 * that did not. */
static void encode(const struct fth_image_writer *image, struct fth_buffer *out)
{
    uint64_t end = 0, expected = 1;
    for (size_t i = 0; i < image->change_count;) {
        size_t run = 1;
        while (i + run < image->change_count &&
               image->changes[i + run].index == image->changes[i].index + run)
            run++;
        fth_put_varint(image->changes[i].index - end, out);
        fth_put_varint(run, out);
        end = image->changes[i].index + run;
        for (; run > 0; run--, i++) {
            fth_put_varint(fth_zigzag(image->changes[i].chunk - expected), out);
            expected = (uint64_t)image->changes[i].chunk + 1;
        }
    }
}

/* Makes space for one more image. */
static bool grow_images(struct fth_capsule_writer *writer)
{
    return fth_grow((void **)&writer->image_bytes, writer->scope.image_count,
                    &writer->image_capacity, sizeof *writer->image_bytes) &&
           fth_grow((void **)&writer->image_lists, writer->scope.image_count,
                    &writer->list_capacity, sizeof *writer->image_lists);
}

static enum fth_status end_image(struct fth_capsule_writer *writer, struct fth_error *error)
{
    struct fth_image_writer *image = &writer->image;
    FTH_TRY(fth_capsule_write_chunks(writer, error));
    const bool has_space = grow_images(writer);
    writer->scope.image_bytes = writer->image_bytes;
    if (!has_space)
        return fth_no_memory(error, fth_capsule_format.write, writer->path);
    writer->scratch.size = 0;
    fth_put_varint(image->bytes, &writer->scratch);
    fth_put_varint(image->previous, &writer->scratch);
    fth_put_varint(writer->scope.chunk_count, &writer->scratch);
    encode(image, &writer->scratch);
    FTH_TRY(fth_capsule_put_part(writer, FTH_CAPSULE_PART_IMAGE, &writer->scratch, NULL, error));
    for (size_t i = 0; i < image->change_count; i++)
        image->list[image->changes[i].index] = image->changes[i].chunk;
    if (image->previous)
        writer->image_lists[image->previous - 1] = NULL;
    writer->image_bytes[writer->scope.image_count] = image->bytes;
    writer->image_lists[writer->scope.image_count++] = image->list;
    image->previous = 0;
    image->list = NULL;
    return FTH_OK;
}

enum fth_status fth_capsule_end_image(struct fth_capsule_writer *writer, uint32_t *number,
                                      struct fth_error *error)
{
    struct fth_image_writer *image = &writer->image;
    enum fth_status status = FTH_OK;
    *number = 0;
    if (!image->is_active)
        status =
            fth_capsule_refuse(writer, "an image", "it was not begun, or it has failed", error);
    else if (image->added < image->bytes)
        status =
            fth_capsule_refuse(writer, "an image", "it has fewer bytes than its region", error);
    else if (image->previous && image->change_count == 0)
        *number = image->previous;
    else
        status = end_image(writer, error);
    if (status == FTH_OK && !*number)
        *number = writer->scope.image_count;
    drop(image);
    return status;
}
