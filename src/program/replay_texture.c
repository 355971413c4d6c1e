/* The textures and surfaces of a capsule. They get the handles that they had in the program, so
 * that parameters and memory can contain the handles. The texels of arrays are regions of memory.
 */
#include "program/replay_parts.h"

#include <string.h>

static const char operation[] = "replay launch";

/* Finds the format of a CUarray_format. */
static bool find_format(uint32_t number, enum fth_ptx_texel *format)
{
    static const uint8_t numbers[] = {/* by enum fth_ptx_texel */
                                      0x03, 0x0a, 0x20, 0x01, 0x08, 0x02, 0x09, 0x10};
    for (size_t i = 0; i < FTH_COUNT(numbers); i++)
        if (numbers[i] == number) {
            *format = (enum fth_ptx_texel)i;
            return true;
        }
    return false;
}

static enum fth_ptx_geometry geometry_of(const struct fth_capsule_texture *texture)
{
    enum { LAYERED = 1, CUBE = 4 }; /* CUDA_ARRAY3D_LAYERED and CUDA_ARRAY3D_CUBEMAP */
    const bool is_layered = texture->array_flags & LAYERED;
    if (texture->resource != FTH_CAPSULE_RESOURCE_ARRAY)
        return texture->resource == FTH_CAPSULE_RESOURCE_LINEAR ? FTH_GEOMETRY_1D : FTH_GEOMETRY_2D;
    if (texture->array_flags & CUBE)
        return is_layered ? FTH_GEOMETRY_ACUBE : FTH_GEOMETRY_CUBE;
    if (is_layered)
        return texture->height ? FTH_GEOMETRY_A2D : FTH_GEOMETRY_A1D;
    return texture->depth ? FTH_GEOMETRY_3D : texture->height ? FTH_GEOMETRY_2D : FTH_GEOMETRY_1D;
}

/* Returns how a texture is sampled. CUDA ignores the filter and the kind of the coordinates for
 * linear memory, and reads integers of 32 bits always as integers. */
static struct fth_ptx_sampling sampling_of(const struct fth_capsule_texture *texture,
                                           enum fth_ptx_texel format)
{
    enum { READ_AS_INTEGER = 1, NORMALIZED = 2, SEAMLESS = 0x40 }; /* CU_TRSF_* */
    const bool is_linear_memory = texture->resource == FTH_CAPSULE_RESOURCE_LINEAR;
    const bool is_narrow = format >= FTH_TEXEL_U8 && format <= FTH_TEXEL_S16;
    struct fth_ptx_sampling sampling = {
        .is_linear = texture->filter != 0 && !is_linear_memory,
        .is_normalized = (texture->flags & NORMALIZED) != 0 && !is_linear_memory,
        .is_seamless = (texture->flags & SEAMLESS) != 0,
        .reads_as_floats = is_narrow && !(texture->flags & READ_AS_INTEGER)};
    for (size_t i = 0; i < FTH_COUNT(sampling.address_modes); i++)
        sampling.address_modes[i] = (enum fth_ptx_address_mode)texture->address_modes[i];
    memcpy(sampling.border, texture->border, sizeof sampling.border);
    return sampling;
}

static enum fth_status enter_texture(struct fth_ptx_machine *machine,
                                     const struct fth_capsule_launch *launch,
                                     const struct fth_capsule_texture *texture,
                                     struct fth_error *error)
{
    const bool is_array = texture->resource == FTH_CAPSULE_RESOURCE_ARRAY;
    struct fth_ptx_image image = {
        .address = is_array ? launch->regions[texture->region].address : texture->address,
        .geometry = geometry_of(texture),
        .channels = texture->channels,
        .width = texture->width,
        .height = texture->height,
        .depth = texture->depth,
        .pitch_bytes = is_array ? 0 : texture->pitch_bytes,
        .is_linear_memory = texture->resource == FTH_CAPSULE_RESOURCE_LINEAR,
        .is_pitched_memory = texture->resource == FTH_CAPSULE_RESOURCE_PITCHED};
    if (!find_format(texture->format, &image.format))
        return fth_fail(error, FTH_UNSUPPORTED, operation, NULL,
                        "the PTX engine does not have the format %u of arrays of CUDA",
                        (unsigned)texture->format);
    const struct fth_ptx_sampling sampling = sampling_of(texture, image.format);
    return fth_ptx_texture_place(machine, &image, texture->is_surface ? NULL : &sampling,
                                 texture->handle, error);
}

enum fth_status fth_replay_textures_enter(const struct fth_replay_memory *memory,
                                          const struct fth_capsule_launch *launch,
                                          struct fth_error *error)
{
    for (size_t i = 0; i < launch->texture_count; i++) {
        const struct fth_capsule_texture *texture = &launch->textures[i];
        struct fth_error failure = FTH_NO_ERROR;
        if (enter_texture(fth_session_machine(memory->session), launch, texture, &failure) ==
            FTH_OK)
            continue;
        fth_error_context(&failure, "%s 0x%llx", texture->is_surface ? "surface" : "texture",
                          (unsigned long long)texture->handle);
        return fth_error_move(error, &failure);
    }
    return FTH_OK;
}

void fth_replay_textures_leave(const struct fth_replay_memory *memory,
                               const struct fth_capsule_launch *launch)
{
    for (size_t i = 0; i < launch->texture_count; i++)
        fth_ptx_texture_free(fth_session_machine(memory->session), launch->textures[i].handle);
}
