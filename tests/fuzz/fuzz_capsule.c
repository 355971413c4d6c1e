/* Fuzzes the reader of capsules (fth_capsule_attach). The input is a list of parts: a letter for
 * the type, two bytes for the size, and the content. This file compresses the parts and adds their
 * checksums, because otherwise almost every input would be rejected. If the last part is an end,
 * the capsule is complete, otherwise it is cut off. It must be rejected with a message, or
 * everything in it can be read, is consistent, and stays the same after something was appended. */
#include "capsule/capsule_parts.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

/* Bytes of an image that are read at most. */
enum { READ_BYTES = 3 * FTH_CHUNK_BYTES };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ---- making a file ---- */

static void put_fixed(uint64_t number, size_t bytes, struct fth_buffer *out)
{
    unsigned char fixed[8];
    fth_set_fixed(number, bytes, fixed);
    fth_buffer_append(out, fixed, bytes);
}

static uint32_t type_of(uint8_t letter)
{
    switch (letter) {
    case 'I': return FTH_CAPSULE_PART_INFO;
    case 'T': return FTH_CAPSULE_PART_TEXT;
    case 'M': return FTH_CAPSULE_PART_MODULE;
    case 'P': return FTH_CAPSULE_PART_PTX;
    case 'C': return FTH_CAPSULE_PART_CHUNKS;
    case 'G': return FTH_CAPSULE_PART_IMAGE;
    case 'L': return FTH_CAPSULE_PART_LAUNCH;
    case 'A': return FTH_CAPSULE_PART_AFTER;
    case 'E': return FTH_CAPSULE_PART_END;
    default: return letter;
    }
}

static void put_part(uint8_t letter, const uint8_t *content, size_t size, struct fth_buffer *out)
{
    static unsigned char chunks[4 * FTH_CHUNK_BYTES];
    static char packed[ZSTD_COMPRESSBOUND(sizeof chunks)];
    if (letter == 'C' && size > 0) { /* whole chunks, of which the input has the beginning */
        const size_t used = (size_t)(1 + content[0] % 4) * FTH_CHUNK_BYTES;
        memset(chunks, 0, sizeof chunks);
        memcpy(chunks, content, FTH_MIN(size, used));
        content = chunks;
        size = used;
    }
    const size_t at = out->size, stored = ZSTD_compress(packed, sizeof packed, content, size, 1);
    put_fixed(type_of(letter), 4, out);
    put_fixed(size, 4, out);
    put_fixed(stored, 4, out);
    fth_buffer_append(out, packed, stored);
    put_fixed(fth_capsule_format.checksum(at, out->data + at, out->size - at), 8, out);
}

static void make_file(const uint8_t *data, size_t size, struct fth_buffer *file)
{
    uint64_t index = 0;
    uint8_t letter = 0;
    fth_buffer_text(file, fth_capsule_format.magic);
    while (size >= 3) {
        size_t bytes = data[1] | (size_t)data[2] << 8;
        letter = data[0];
        data += 3;
        size -= 3;
        bytes = FTH_MIN(bytes, size);
        index = file->size;
        put_part(letter, data, bytes, file);
        data += bytes;
        size -= bytes;
    }
    if (letter == 'E') {
        const size_t at = file->size;
        put_fixed(index, 8, file);
        put_fixed(fth_capsule_format.checksum(at, file->data + at, 8), 8, file);
        fth_buffer_text(file, fth_capsule_format.end_magic);
    }
}

/* ---- reading it ---- */

static void check_launch(struct fth_capsule *capsule, const struct fth_capsule_launch *launch)
{
    if (launch->module && !fth_capsule_module(capsule, launch->module))
        abort();
    for (size_t i = 0; i < launch->region_count; i++) {
        const struct fth_capsule_region *region = &launch->regions[i];
        const uint32_t images[] = {region->before, region->after};
        for (size_t j = 0; j < FTH_COUNT(images); j++)
            if (images[j] && fth_capsule_image_bytes(capsule, images[j]) != region->bytes)
                abort();
        if (region->address + region->bytes < region->address ||
            (region->kind == FTH_CAPSULE_VARIABLE) != (region->variable != NULL) ||
            (region->after && !launch->has_after))
            abort();
    }
    for (size_t i = 0; i < launch->tensor_map_count; i++) {
        const struct fth_capsule_tensor_map *map = &launch->tensor_maps[i];
        if ((map->region != UINT32_MAX && map->region >= launch->region_count) || map->rank > 5)
            abort();
    }
    for (size_t i = 0; i < launch->texture_count; i++) {
        const struct fth_capsule_texture *texture = &launch->textures[i];
        uint64_t bytes;
        if (texture->resource == FTH_CAPSULE_RESOURCE_ARRAY &&
            (texture->region >= launch->region_count || !fth_capsule_array_bytes(texture, &bytes) ||
             launch->regions[texture->region].bytes != bytes))
            abort();
    }
    if (strlen(launch->kernel) > FTH_PART_MAX_TEXT_BYTES)
        abort();
}

/* Reads the beginning and the end of an image, together and in pieces. */
static void read_image(struct fth_capsule *capsule, uint32_t image)
{
    static unsigned char whole[READ_BYTES], pieces[READ_BYTES];
    const uint64_t size = fth_capsule_image_bytes(capsule, image);
    const uint64_t bytes = FTH_MIN(size, READ_BYTES), starts[] = {0, size - bytes};
    for (size_t i = 0; i < FTH_COUNT(starts); i++) {
        if (fth_capsule_read_image(capsule, image, starts[i], bytes, whole, NULL) != FTH_OK ||
            fth_capsule_read_image(capsule, image, starts[i], bytes / 3, pieces, NULL) != FTH_OK ||
            fth_capsule_read_image(capsule, image, starts[i] + bytes / 3, bytes - bytes / 3,
                                   pieces + bytes / 3, NULL) != FTH_OK ||
            memcmp(whole, pieces, (size_t)bytes) != 0)
            abort();
    }
    if (fth_capsule_read_image(capsule, image, size, 1, whole, NULL) == FTH_OK)
        abort();
}

static void read_all(struct fth_capsule *capsule)
{
    for (uint32_t i = 1; i <= fth_capsule_module_count(capsule); i++) {
        const struct fth_capsule_module *module = fth_capsule_module(capsule, i);
        struct fth_buffer ptx = {0};
        if (fth_capsule_load_ptx(capsule, i, &ptx, NULL) !=
                (module->reason ? FTH_UNSUPPORTED : FTH_OK) ||
            ptx.size != module->ptx_bytes)
            abort();
        fth_buffer_fini(&ptx);
    }
    for (size_t i = 0; i < fth_capsule_launch_count(capsule); i++)
        check_launch(capsule, fth_capsule_launch(capsule, i));
    for (uint32_t i = 1; i <= fth_capsule_scope(capsule)->image_count; i++)
        read_image(capsule, i);
}

/* Adds an image, a launch and PTX for all modules without PTX. */
static void append(const char *path, const struct fth_capsule *before)
{
    struct fth_capsule_writer *writer;
    struct fth_capsule *after;
    uint32_t image;
    const struct fth_capsule_scope *scope = fth_capsule_scope(before);
    if (fth_capsule_append(path, &writer, NULL) != FTH_OK ||
        fth_capsule_begin_image(writer, scope->image_count, 10, NULL) != FTH_OK ||
        fth_capsule_add_to_image(writer, "0123456789", 10, NULL) != FTH_OK ||
        fth_capsule_end_image(writer, &image, NULL) != FTH_OK || image != scope->image_count + 1)
        abort();
    const struct fth_capsule_region region = {.bytes = 10, .before = image};
    const struct fth_capsule_launch launch = {
        .kernel = "k", .module = scope->module_count, .regions = &region, .region_count = 1};
    for (uint32_t i = 1; i <= scope->module_count; i++)
        if (fth_capsule_put_ptx(writer, i, ".version 8.0", 12, NULL) !=
            (fth_capsule_module(before, i)->reason ? FTH_OK : FTH_INVALID))
            abort();
    if (fth_capsule_put_launch(writer, &launch, NULL) != FTH_OK ||
        fth_capsule_finish(writer, NULL) != FTH_OK ||
        fth_capsule_open(path, &after, NULL) != FTH_OK || fth_capsule_is_truncated(after) ||
        fth_capsule_launch_count(after) != fth_capsule_launch_count(before) + 1)
        abort();
    read_all(after);
    fth_capsule_close(after);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int fd = -1; /* a file without a name, which all inputs reuse */
    struct fth_buffer file = {0};
    struct fth_capsule *capsule = NULL;
    struct fth_error error = FTH_NO_ERROR;
    char path[32];
    if (fd < 0 && fth_temporary_open(&fd, NULL) != FTH_OK)
        abort();
    make_file(data, size, &file);
    if (ftruncate(fd, 0) || pwrite(fd, file.data, file.size, 0) != (ssize_t)file.size)
        abort();
    fth_buffer_fini(&file);
    const enum fth_status status = fth_capsule_attach(fd, "fuzzed capsule", &capsule, &error);
    if ((status == FTH_OK) != (capsule != NULL) || (status != FTH_OK && !error.cause[0]))
        abort();
    if (!capsule)
        return 0;
    read_all(capsule);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    append(path, capsule);
    fth_capsule_close(capsule);
    return 0;
}
