/* The memory that a launch may access, and its contents: the variables of its module, the
 * allocations to which its parameters point, and those to which the contents of these point. A word
 * counts as a pointer if its value is an address in an allocation. */
#include "capture.h"

#include <stdio.h>

static const char operation[] = "capture memory";

/* The GPU's memory is copied in pieces of this many bytes. */
enum { PIECE_BYTES = 8 << 20 };

static enum fth_status add_region(struct contents *contents,
                                  const struct fth_capsule_region *region,
                                  struct variable *variable, struct fth_error *error)
{
    void *regions = contents->regions, *variables = contents->variables;
    if (contents->count == FTH_CAPSULE_MAX_REGIONS)
        return fth_fail(error, FTH_UNSUPPORTED, operation, NULL,
                        "the launch may access more than %d allocations", FTH_CAPSULE_MAX_REGIONS);
    if (!fth_grow(&regions, contents->count, &contents->capacity, sizeof *contents->regions))
        return fth_no_memory(error, operation, NULL);
    contents->regions = regions;
    if (!fth_grow(&variables, contents->count, &contents->variable_capacity,
                  sizeof *contents->variables))
        return fth_no_memory(error, operation, NULL);
    contents->variables = variables;
    contents->regions[contents->count] = *region;
    contents->variables[contents->count++] = variable;
    return FTH_OK;
}

/* Adds the allocation that contains an address, if there is one and it is not listed yet. */
static enum fth_status add_pointer(struct contents *contents, uint64_t address, bool ask,
                                   struct fth_error *error)
{
    struct allocation found;
    for (size_t i = contents->count; i-- > 0;)
        if (address - contents->regions[i].address < contents->regions[i].bytes)
            return FTH_OK;
    if (!capture_find(address, ask, &found))
        return FTH_OK;
    return add_region(contents,
                      &(struct fth_capsule_region){.kind = found.kind,
                                                   .address = found.address,
                                                   .bytes = found.bytes,
                                                   .before = found.image},
                      NULL, error);
}

/* Adds a tensor map, if there is one at this place, which is in a region or in the parameters. */
static enum fth_status add_tensor_map(struct contents *contents, const void *bytes, uint32_t region,
                                      uint64_t offset, struct fth_error *error)
{
    struct fth_capsule_tensor_map map;
    void *maps = contents->tensor_maps;
    if (!capture_tensor_map(bytes, &map))
        return FTH_OK;
    if (contents->tensor_map_count == FTH_CAPSULE_MAX_TENSOR_MAPS)
        return fth_fail(error, FTH_UNSUPPORTED, operation, NULL,
                        "the launch uses more than %d tensor maps", FTH_CAPSULE_MAX_TENSOR_MAPS);
    if (!fth_grow(&maps, contents->tensor_map_count, &contents->tensor_map_capacity, sizeof map))
        return fth_no_memory(error, operation, NULL);
    contents->tensor_maps = maps;
    map.region = region;
    map.offset = offset;
    contents->tensor_maps[contents->tensor_map_count++] = map;
    return add_pointer(contents, map.address, true, error);
}

enum fth_status capture_list_contents(const struct function *function, const void *parameters,
                                      size_t bytes, struct contents *contents,
                                      struct fth_error *error)
{
    const struct module *module = function->module;
    const unsigned char *at = parameters;
    for (size_t i = 0; module && i < module->variable_count; i++) {
        struct variable *variable = &module->variables[i];
        FTH_TRY(add_region(contents,
                           &(struct fth_capsule_region){.kind = FTH_CAPSULE_VARIABLE,
                                                        .address = variable->address,
                                                        .bytes = variable->bytes,
                                                        .variable = variable->name,
                                                        .before = variable->image},
                           variable, error));
    }
    for (size_t i = 0; i + TENSOR_MAP_BYTES <= bytes; i += TENSOR_MAP_ALIGN)
        FTH_TRY(add_tensor_map(contents, at + i, UINT32_MAX, i, error));
    for (size_t i = 0; i + 8 <= bytes; i += 8)
        FTH_TRY(add_pointer(contents, field(at, i, 8), true, error));
    return FTH_OK;
}

/* Looks for pointers and tensor maps in a piece of a region. The map that begins in the last bytes
 * of a piece is not found; pieces are far larger than the memory in which programs keep maps. */
static enum fth_status scan_piece(struct contents *contents, size_t region, uint64_t offset,
                                  const unsigned char *piece, size_t bytes,
                                  const uint64_t bounds[2], struct fth_error *error)
{
    for (size_t i = 0; i + 8 <= bytes; i += 8) {
        uint64_t word;
        memcpy(&word, piece + i, sizeof word);
        if (word < bounds[0] || word >= bounds[1])
            continue;
        FTH_TRY(add_pointer(contents, word, false, error));
        /* A tensor map begins with the address of the tensor. */
        if ((offset + i) % TENSOR_MAP_ALIGN == 0 && i + TENSOR_MAP_BYTES <= bytes)
            FTH_TRY(add_tensor_map(contents, piece + i, (uint32_t)region, offset + i, error));
    }
    return FTH_OK;
}

/* Writes the image of a region, and looks for pointers in it if `contents` is not NULL. */
static enum fth_status write_image(struct fth_capsule_writer *writer, struct contents *contents,
                                   size_t index, bool scan, uint32_t previous, void *buffer,
                                   uint32_t *image, struct fth_error *error)
{
    const struct fth_capsule_region region = contents->regions[index];
    uint64_t bounds[2];
    capture_bounds(&bounds[0], &bounds[1]);
    FTH_TRY(fth_capsule_begin_image(writer, previous, region.bytes, error));
    for (uint64_t done = 0; done < region.bytes;) {
        const size_t bytes = (size_t)FTH_MIN((uint64_t)PIECE_BYTES, region.bytes - done);
        const uint64_t address = region.address + done;
        const void *piece = buffer;
        if (region.kind == FTH_CAPSULE_HOST) {
            piece = pointer_to(address);
        } else {
            const int result =
                CALL(cuMemcpyDtoH_v2, (void *, uint64_t, size_t), buffer, address, bytes);
            if (result != SUCCESS)
                return fth_fail(error, FTH_UNAVAILABLE, operation, region.variable,
                                "cuMemcpyDtoH of %zu bytes at 0x%llx returned %d", bytes,
                                (unsigned long long)address, result);
        }
        FTH_TRY(fth_capsule_add_to_image(writer, piece, bytes, error));
        if (scan)
            FTH_TRY(scan_piece(contents, index, done, piece, bytes, bounds, error));
        done += bytes;
    }
    FTH_TRY(fth_capsule_end_image(writer, image, error));
    if (contents->variables[index])
        contents->variables[index]->image = *image;
    else
        capture_set_image(&(struct allocation){.address = region.address, .bytes = region.bytes},
                          *image);
    return FTH_OK;
}

/* Returns memory for pieces, which is kept. Pinned memory is copied to several times faster. */
static void *piece_buffer(struct fth_error *error)
{
    static void *buffer;
    if (!buffer &&
        CALL(cuMemHostAlloc, (void **, size_t, unsigned), &buffer, PIECE_BYTES, 1) != SUCCESS)
        buffer = malloc(PIECE_BYTES);
    if (!buffer)
        fth_no_memory(error, operation, NULL);
    return buffer;
}

enum fth_status capture_write_before(struct fth_capsule_writer *writer, struct contents *contents,
                                     struct fth_error *error)
{
    void *buffer = piece_buffer(error);
    if (!buffer)
        return FTH_NO_MEMORY;
    /* Regions can be added on the way. */
    for (size_t i = 0; i < contents->count; i++) {
        uint32_t image = 0;
        FTH_TRY(write_image(writer, contents, i, true, contents->regions[i].before, buffer, &image,
                            error));
        contents->regions[i].before = image;
    }
    return FTH_OK;
}

enum fth_status capture_write_after(struct fth_capsule_writer *writer, uint64_t launch,
                                    struct contents *contents, struct fth_error *error)
{
    void *buffer = piece_buffer(error);
    uint32_t *images = calloc(contents->count + 1, sizeof *images);
    enum fth_status status = buffer && images ? FTH_OK : fth_no_memory(error, operation, NULL);
    for (size_t i = 0; i < contents->count && status == FTH_OK; i++)
        status = write_image(writer, contents, i, false, contents->regions[i].before, buffer,
                             &images[i], error);
    if (status == FTH_OK)
        status = fth_capsule_put_after(writer, launch, images, contents->count, error);
    free(images);
    return status;
}

void capture_contents_fini(struct contents *contents)
{
    free(contents->regions);
    free(contents->variables);
    free(contents->tensor_maps);
}
