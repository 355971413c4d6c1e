/* Brings what is known of an allocation or of a variable up to date: its image in the capsule, the
 * digests of its chunks, and what its contents point to. */
#include "capture.h"

#include <stdio.h>

static const char operation[] = "capture memory";

/* The GPU's memory is copied in pieces of at most this many bytes. */
enum { PIECE_BYTES = 8 << 20 };

/* Digests save time if the memory has at least this many bytes. Chosen: copying less takes about as
 * long as a launch. */
enum { MIN_DIGEST_BYTES = 256 << 10 };

/* Remembers that the contents point to an address, unless a pointer to the same allocation is
 * already known. */
static bool add_target(struct memory *memory, uint64_t address)
{
    struct allocation found, known;
    if (!capture_find(address, false, &found))
        return true;
    for (size_t i = memory->target_count; i-- > 0;)
        if (address == memory->targets[i] ||
            (capture_find(memory->targets[i], false, &known) && known.address == found.address))
            return true;
    void *targets = memory->targets;
    if (!fth_grow(&targets, memory->target_count, &memory->target_capacity,
                  sizeof *memory->targets))
        return false;
    memory->targets = targets;
    memory->targets[memory->target_count++] = address;
    return true;
}

/* Remembers a tensor map in the contents. */
static bool add_map(struct memory *memory, const void *bytes, uint64_t offset)
{
    struct fth_capsule_tensor_map map;
    if (!capture_tensor_map(bytes, &map))
        return true;
    size_t at = 0;
    while (at < memory->map_count && memory->maps[at].offset != offset)
        at++;
    void *maps = memory->maps;
    if (at == memory->map_count) {
        if (!fth_grow(&maps, memory->map_count, &memory->map_capacity, sizeof *memory->maps))
            return false;
        memory->maps = maps;
        memory->map_count++;
    }
    memory->maps[at].offset = offset;
    memcpy(memory->maps[at].bytes, bytes, TENSOR_MAP_BYTES);
    return true;
}

/* Remembers the handle of a texture or of a surface, if a word is one. */
static bool add_texture(struct memory *memory, uint64_t handle)
{
    size_t low = 0, high = memory->texture_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (memory->textures[middle] < handle)
            low = middle + 1;
        else
            high = middle;
    }
    if ((low < memory->texture_count && memory->textures[low] == handle) ||
        !capture_is_texture(handle))
        return true;
    void *textures = memory->textures;
    if (!fth_grow(&textures, memory->texture_count, &memory->texture_capacity, sizeof handle))
        return false;
    memory->textures = textures;
    memmove(memory->textures + low + 1, memory->textures + low,
            (memory->texture_count++ - low) * sizeof handle);
    memory->textures[low] = handle;
    return true;
}

/* Looks for pointers, tensor maps and textures in a piece of the contents. A map that begins in the
 * last bytes of a piece is not found; pieces are far larger than the memory in which programs keep
 * maps. */
static bool scan(struct memory *memory, uint64_t offset, const unsigned char *piece, size_t bytes)
{
    uint64_t first, end, first_texture, last_texture, word;
    capture_bounds(&first, &end);
    capture_texture_bounds(&first_texture, &last_texture);
    for (size_t i = 0; i + 8 <= bytes; i += 8) {
        memcpy(&word, piece + i, sizeof word);
        if (word >= first_texture && word <= last_texture && !add_texture(memory, word))
            return false;
        if (word < first || word >= end)
            continue;
        if (!add_target(memory, word))
            return false;
        /* A tensor map begins with the address of the tensor. */
        if ((offset + i) % TENSOR_MAP_ALIGN == 0 && i + TENSOR_MAP_BYTES <= bytes &&
            !add_map(memory, piece + i, offset + i))
            return false;
    }
    return true;
}

/* Returns memory for pieces, which is kept. Pinned memory is copied to several times faster. */
static void *piece_buffer(void)
{
    static void *buffer;
    if (!buffer &&
        CALL(cuMemHostAlloc, (void **, size_t, unsigned), &buffer, PIECE_BYTES, 1) != SUCCESS)
        buffer = malloc(PIECE_BYTES);
    return buffer;
}

/* Reads a piece of the contents. *bytes is the size of the buffer or of the rest, and then that of
 * the piece; *piece is the buffer, or the memory itself if it is the host's. */
static enum fth_status read_piece(const struct fth_capsule_region *region,
                                  const struct memory *memory, uint64_t from, void *buffer,
                                  size_t *bytes, const void **piece, struct fth_error *error)
{
    const uint64_t address = region->address + from;
    *piece = buffer;
    if (memory->array) {
        *bytes = PIECE_BYTES;
        return capture_read_array(memory->array, from, buffer, bytes, error);
    }
    if (region->kind == FTH_CAPSULE_HOST) {
        *piece = pointer_to(address);
        return FTH_OK;
    }
    const int result = CALL(cuMemcpyDtoH_v2, (void *, uint64_t, size_t), buffer, address, *bytes);
    return result == SUCCESS ? FTH_OK
                             : fth_fail(error, FTH_UNAVAILABLE, operation, region->variable,
                                        "cuMemcpyDtoH of %zu bytes at 0x%llx returned %d", *bytes,
                                        (unsigned long long)address, result);
}

/* Adds a part of the contents to the image. */
static enum fth_status copy_part(struct fth_capsule_writer *writer,
                                 const struct fth_capsule_region *region, struct memory *memory,
                                 uint64_t from, uint64_t to, struct fth_error *error)
{
    void *buffer = piece_buffer();
    if (!buffer)
        return fth_no_memory(error, operation, NULL);
    while (from < to) {
        size_t bytes = (size_t)FTH_MIN((uint64_t)PIECE_BYTES, to - from);
        const void *piece;
        FTH_TRY(read_piece(region, memory, from, buffer, &bytes, &piece, error));
        FTH_TRY(fth_capsule_add_to_image(writer, piece, bytes, error));
        if (!memory->array && !scan(memory, from, piece, bytes)) /* texels are no pointers */
            return fth_no_memory(error, operation, NULL);
        from += bytes;
    }
    return FTH_OK;
}

/* Computes the digests of all whole chunks. NULL: there are none, so everything is copied. */
static struct fth_digest *new_digests(const struct fth_capsule_region *region)
{
    const size_t chunks = (size_t)(region->bytes / FTH_CHUNK_BYTES);
    struct fth_digest *digests = NULL;
    if ((region->kind == FTH_CAPSULE_DEVICE || region->kind == FTH_CAPSULE_VARIABLE) &&
        region->bytes >= MIN_DIGEST_BYTES)
        digests = malloc(chunks * sizeof *digests);
    if (digests && !capture_digests(region->address, chunks, digests)) {
        free(digests);
        digests = NULL;
    }
    return digests;
}

/* Writes an image: copies the chunks whose digests have changed, and keeps the others. */
static enum fth_status copy_changes(struct fth_capsule_writer *writer,
                                    const struct fth_capsule_region *region, struct memory *memory,
                                    const struct fth_digest *digests, struct fth_error *error)
{
    const size_t chunks = (size_t)(region->bytes / FTH_CHUNK_BYTES);
    for (size_t i = 0; i < chunks;) {
        const bool is_same = memcmp(&digests[i], &memory->digests[i], sizeof digests[i]) == 0;
        size_t end = i + 1;
        while (end < chunks &&
               is_same == (memcmp(&digests[end], &memory->digests[end], sizeof digests[end]) == 0))
            end++;
        if (is_same)
            FTH_TRY(
                fth_capsule_keep_in_image(writer, (uint64_t)(end - i) * FTH_CHUNK_BYTES, error));
        else
            FTH_TRY(copy_part(writer, region, memory, (uint64_t)i * FTH_CHUNK_BYTES,
                              (uint64_t)end * FTH_CHUNK_BYTES, error));
        i = end;
    }
    return copy_part(writer, region, memory, (uint64_t)chunks * FTH_CHUNK_BYTES, region->bytes,
                     error);
}

enum fth_status capture_update(struct fth_capsule_writer *writer,
                               const struct fth_capsule_region *region, struct memory *memory,
                               struct fth_error *error)
{
    /* The host can write the other kinds of memory at any time. */
    const bool is_noticed = region->kind == FTH_CAPSULE_DEVICE ||
                            region->kind == FTH_CAPSULE_VARIABLE ||
                            region->kind == FTH_CAPSULE_ARRAY;
    const uint64_t changes = capture_changes(), allocations = capture_allocations();
    if (is_noticed && memory->image && memory->changes == changes &&
        (memory->allocations == allocations || memory->array))
        return FTH_OK;
    struct fth_digest *digests = new_digests(region);
    enum fth_status status = fth_capsule_begin_image(writer, memory->image, region->bytes, error);
    if (status == FTH_OK) {
        /* A word that was no pointer can be one after an allocation, so all words are looked at. */
        const bool keeps = digests && memory->digests && memory->allocations == allocations &&
                           fth_capsule_can_keep(writer);
        status = keeps ? copy_changes(writer, region, memory, digests, error)
                       : copy_part(writer, region, memory, 0, region->bytes, error);
    }
    if (status == FTH_OK)
        status = fth_capsule_end_image(writer, &memory->image, error);
    free(memory->digests);
    memory->digests = digests;
    memory->changes = changes;
    memory->allocations = allocations;
    return status;
}

void capture_memory_fini(struct memory *memory)
{
    free(memory->digests);
    free(memory->targets);
    free(memory->maps);
    free(memory->textures);
}
