/* The memory that a launch may access: the variables of its module, the allocations to which its
 * parameters point, and those to which the contents of these point. A word counts as a pointer if
 * its value is an address in an allocation, and as a texture if its value is a handle. */
#include "capture.h"

static const char operation[] = "capture memory";

static enum fth_status add_region(struct contents *contents,
                                  const struct fth_capsule_region *region, struct memory *memory,
                                  struct fth_error *error)
{
    void *regions = contents->regions, *memories = contents->memories;
    if (contents->count == FTH_CAPSULE_MAX_REGIONS)
        return fth_fail(error, FTH_UNSUPPORTED, operation, NULL,
                        "the launch may access more than %d allocations", FTH_CAPSULE_MAX_REGIONS);
    if (!memory || !fth_grow(&regions, contents->count, &contents->capacity, sizeof *region))
        return fth_no_memory(error, operation, NULL);
    contents->regions = regions;
    if (!fth_grow(&memories, contents->count, &contents->memory_capacity,
                  sizeof *contents->memories))
        return fth_no_memory(error, operation, NULL);
    contents->memories = memories;
    contents->regions[contents->count] = *region;
    contents->memories[contents->count++] = memory;
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
                      &(struct fth_capsule_region){
                          .kind = found.kind, .address = found.address, .bytes = found.bytes},
                      found.memory ? found.memory : capture_attach(&found), error);
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

/* Adds the array of a texture, if it is not listed yet. Sets *index to that of its region. */
static enum fth_status add_array(struct contents *contents, const struct found_texture *found,
                                 uint32_t *index, struct fth_error *error)
{
    for (size_t i = 0; i < contents->count; i++)
        if (contents->memories[i] == found->memory) {
            *index = (uint32_t)i;
            return FTH_OK;
        }
    *index = (uint32_t)contents->count;
    return add_region(contents, &found->array, found->memory, error);
}

static bool has_texture(const struct contents *contents, uint64_t handle)
{
    for (size_t i = 0; i < contents->texture_count; i++)
        if (contents->textures[i].handle == handle)
            return true;
    return false;
}

/* Adds the texture and the surface with this handle, if there are some and they are not listed yet.
 * `is_certain`: the launch cannot be repeated without them. */
static enum fth_status add_textures(struct contents *contents, uint64_t handle, bool is_certain,
                                    struct fth_error *error)
{
    struct found_texture found[2];
    if (!contents->has_textures || has_texture(contents, handle))
        return FTH_OK;
    const size_t count = capture_textures(handle, found);
    for (size_t i = 0; i < count; i++) {
        struct fth_capsule_texture texture = found[i].texture;
        void *textures = contents->textures;
        if (found[i].reason) {
            if (is_certain)
                contents->reason = found[i].reason;
            continue;
        }
        if (contents->texture_count == FTH_CAPSULE_MAX_TEXTURES)
            return FTH_OK; /* a kernel that uses a further one fails when it is replayed */
        if (!fth_grow(&textures, contents->texture_count, &contents->texture_capacity,
                      sizeof texture))
            return fth_no_memory(error, operation, NULL);
        contents->textures = textures;
        if (found[i].memory)
            FTH_TRY(add_array(contents, &found[i], &texture.region, error));
        else
            FTH_TRY(add_pointer(contents, texture.address, true, error));
        contents->textures[contents->texture_count++] = texture;
    }
    return FTH_OK;
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
                                                        .variable = variable->name},
                           &variable->memory, error));
    }
    for (size_t i = 0; i + TENSOR_MAP_BYTES <= bytes; i += TENSOR_MAP_ALIGN)
        FTH_TRY(add_tensor_map(contents, at + i, UINT32_MAX, i, error));
    for (size_t i = 0; i + 8 <= bytes; i += 8)
        FTH_TRY(add_pointer(contents, field(at, i, 8), true, error));
    /* Machine code whose PTX is found later can have any instruction. */
    contents->has_textures = module && (module->has_textures || !module->has_ptx);
    for (size_t i = 0; i + 8 <= bytes; i += 8)
        FTH_TRY(add_textures(contents, field(at, i, 8), module && module->has_textures, error));
    return FTH_OK;
}

/* Adds what the contents of a region point to. */
static enum fth_status add_targets(struct contents *contents, size_t region,
                                   struct fth_error *error)
{
    const struct memory *memory = contents->memories[region];
    for (size_t i = 0; i < memory->target_count; i++)
        FTH_TRY(add_pointer(contents, memory->targets[i], false, error));
    for (size_t i = 0; i < memory->map_count; i++)
        FTH_TRY(add_tensor_map(contents, memory->maps[i].bytes, (uint32_t)region,
                               memory->maps[i].offset, error));
    for (size_t i = 0; i < memory->texture_count; i++)
        FTH_TRY(add_textures(contents, memory->textures[i], false, error));
    return FTH_OK;
}

enum fth_status capture_write_before(struct fth_capsule_writer *writer, struct contents *contents,
                                     struct fth_error *error)
{
    /* Regions can be added on the way. */
    for (size_t i = 0; i < contents->count; i++) {
        FTH_TRY(capture_update(writer, &contents->regions[i], contents->memories[i], error));
        contents->regions[i].before = contents->memories[i]->image;
        FTH_TRY(add_targets(contents, i, error));
    }
    return FTH_OK;
}

/* Returns whether a launch can have changed a region. Only surfaces change arrays. */
static bool can_change(const struct contents *contents, size_t region)
{
    if (contents->regions[region].kind != FTH_CAPSULE_ARRAY)
        return true;
    for (size_t i = 0; i < contents->texture_count; i++)
        if (contents->textures[i].is_surface && contents->textures[i].region == region &&
            contents->textures[i].resource == FTH_CAPSULE_RESOURCE_ARRAY)
            return true;
    return false;
}

enum fth_status capture_write_after(struct fth_capsule_writer *writer, uint64_t launch,
                                    struct contents *contents, struct fth_error *error)
{
    uint32_t *images = calloc(contents->count + 1, sizeof *images);
    enum fth_status status = images ? FTH_OK : fth_no_memory(error, operation, NULL);
    for (size_t i = 0; i < contents->count && status == FTH_OK; i++) {
        if (can_change(contents, i))
            contents->memories[i]->changes = 0;
        status = capture_update(writer, &contents->regions[i], contents->memories[i], error);
        images[i] = contents->memories[i]->image;
    }
    if (status == FTH_OK)
        status = fth_capsule_put_after(writer, launch, images, contents->count, error);
    free(images);
    return status;
}

void capture_contents_fini(struct contents *contents)
{
    free(contents->regions);
    free(contents->memories);
    free(contents->tensor_maps);
    free(contents->textures);
}
