/* Textures and surfaces: the objects that the API creates. The handle of an object is its index in
 * the memory of the machine plus 1, unless the caller states the handle. A .texref, .samplerref or
 * .surfref variable contains a handle, and instructions can name the variable or use its address.
 */
#include "ptx/texture/texture.h"

static const char operation[] = "make texture";

unsigned fth_ptx_texel_bytes(const struct fth_ptx_image *image)
{
    static const uint8_t sizes[] = {4, 4, 4, 1, 1, 2, 2, 2}; /* by enum fth_ptx_texel */
    return image->channels * sizes[image->format];
}

/* Fills in the default values and checks all but the address. *bytes: the size of all texels. */
static enum fth_status check_image(struct fth_ptx_image *image, uint64_t *bytes,
                                   struct fth_error *error)
{
    const unsigned channels = image->channels;
    uint64_t row = 0, image_bytes = 0, all = 0;
    if (channels != 1 && channels != 2 && channels != 4)
        return fth_fail(error, FTH_INVALID, operation, NULL, "a texture needs 1, 2 or 4 channels");
    image->height = image->height ? image->height : 1;
    image->depth = image->depth ? image->depth : 1;
    bool valid =
        image->width > 0 && !__builtin_mul_overflow(image->width, fth_ptx_texel_bytes(image), &row);
    image->pitch_bytes = image->pitch_bytes ? image->pitch_bytes : row;
    valid = valid && image->pitch_bytes >= row &&
            !__builtin_mul_overflow(image->pitch_bytes, image->height, &image_bytes) &&
            !__builtin_mul_overflow(image_bytes, image->depth, &all);
    const bool one_row = image->geometry == FTH_GEOMETRY_1D || image->geometry == FTH_GEOMETRY_A1D;
    const bool one_image = image->geometry == FTH_GEOMETRY_1D || image->geometry == FTH_GEOMETRY_2D;
    const bool cube = image->geometry == FTH_GEOMETRY_CUBE || image->geometry == FTH_GEOMETRY_ACUBE;
    if (!valid || (one_row && image->height > 1) || (one_image && image->depth > 1) ||
        (cube && (image->width != image->height || image->depth % 6)) ||
        (image->geometry == FTH_GEOMETRY_CUBE && image->depth != 6) ||
        (image->is_linear_memory && image->geometry != FTH_GEOMETRY_1D))
        return fth_fail(error, FTH_INVALID, operation, NULL,
                        "width, height and depth do not fit the geometry of the texture");
    if (image->pitch_bytes % (fth_ptx_texel_bytes(image) / channels))
        return fth_fail(error, FTH_INVALID, operation, NULL,
                        "the pitch must be a multiple of the size of a channel");
    *bytes = all - image->pitch_bytes + row; /* the last row need not have a whole pitch */
    return FTH_OK;
}

static enum fth_status check_sampling(const struct fth_ptx_image *image,
                                      const struct fth_ptx_sampling *sampling,
                                      struct fth_error *error)
{
    const bool narrow = image->format >= FTH_TEXEL_U8 && image->format <= FTH_TEXEL_S16;
    if (sampling->reads_as_floats && !narrow)
        return fth_fail(error, FTH_INVALID, operation, NULL,
                        "only integers of 8 and 16 bits can be read as floats");
    if (sampling->is_linear && !fth_ptx_returns_floats(image, sampling))
        return fth_fail(error, FTH_INVALID, operation, NULL,
                        "a texture of integers can only be interpolated if it is read as floats");
    if (image->is_linear_memory && (sampling->is_linear || sampling->is_normalized))
        return fth_fail(error, FTH_INVALID, operation, NULL,
                        "a texture in linear memory has no filter and no normalised coordinates");
    return FTH_OK;
}

enum fth_status fth_ptx_texture_check(const struct fth_ptx_image *image,
                                      const struct fth_ptx_sampling *sampling, uint64_t *bytes,
                                      struct fth_error *error)
{
    struct fth_ptx_image filled = *image;
    *bytes = 0;
    FTH_TRY(sampling ? check_sampling(image, sampling, error) : FTH_OK);
    return check_image(&filled, bytes, error);
}

/* Adds an object. *handle is the handle that it gets; if it `is_placed`, its own. */
static enum fth_status add_object(struct fth_ptx_machine *machine, struct fth_ptx_texture object,
                                  bool is_placed, uint64_t *handle, struct fth_error *error)
{
    struct fth_ptx_memory *memory = machine->memory;
    uint64_t bytes = 0;
    FTH_TRY(check_image(&object.image, &bytes, error));
    const struct fth_ptx_image *image = &object.image;
    if (!fth_ptx_host(machine, image->address, bytes) ||
        image->address % (fth_ptx_texel_bytes(image) / image->channels))
        return fth_fail(error, FTH_INVALID, operation, NULL,
                        "the %llu bytes of texels at 0x%llx are not allocated, or not aligned to "
                        "the size of a channel",
                        (unsigned long long)bytes, (unsigned long long)image->address);
    size_t index = 0;
    while (index < memory->texture_count && memory->textures[index].is_used)
        index++;
    if (index == memory->texture_count) {
        void *textures = memory->textures;
        if (!fth_grow(&textures, memory->texture_count, &memory->texture_capacity,
                      sizeof *memory->textures))
            return fth_no_memory(error, operation, NULL);
        memory->textures = textures;
        memory->texture_count++;
    }
    object.is_used = true;
    object.handle = is_placed ? object.handle : index + 1;
    memory->textures[index] = object;
    *handle = object.handle;
    return FTH_OK;
}

enum fth_status fth_ptx_texture_create(struct fth_ptx_machine *machine,
                                       const struct fth_ptx_image *image,
                                       const struct fth_ptx_sampling *sampling, uint64_t *handle,
                                       struct fth_error *error)
{
    *handle = 0;
    FTH_TRY(check_sampling(image, sampling, error));
    return add_object(machine, (struct fth_ptx_texture){.image = *image, .sampling = *sampling},
                      false, handle, error);
}

enum fth_status fth_ptx_surface_create(struct fth_ptx_machine *machine,
                                       const struct fth_ptx_image *image, uint64_t *handle,
                                       struct fth_error *error)
{
    *handle = 0;
    return add_object(machine, (struct fth_ptx_texture){.is_surface = true, .image = *image}, false,
                      handle, error);
}

enum fth_status fth_ptx_texture_place(struct fth_ptx_machine *machine,
                                      const struct fth_ptx_image *image,
                                      const struct fth_ptx_sampling *sampling, uint64_t handle,
                                      struct fth_error *error)
{
    struct fth_ptx_texture object = {.is_surface = !sampling, .handle = handle, .image = *image};
    if (sampling) {
        FTH_TRY(check_sampling(image, sampling, error));
        object.sampling = *sampling;
    }
    return add_object(machine, object, true, &handle, error);
}

enum fth_status fth_ptx_texture(struct fth_ptx_machine *machine, uint64_t address, uint64_t texels,
                                enum fth_ptx_texel texel_format, unsigned channels,
                                uint64_t *handle, struct fth_error *error)
{
    const struct fth_ptx_image image = {.address = address,
                                        .geometry = FTH_GEOMETRY_1D,
                                        .format = texel_format,
                                        .channels = channels,
                                        .width = texels,
                                        .is_linear_memory = true};
    return fth_ptx_texture_create(machine, &image, &(struct fth_ptx_sampling){.is_linear = false},
                                  handle, error);
}

void fth_ptx_texture_free(struct fth_ptx_machine *machine, uint64_t handle)
{
    struct fth_ptx_memory *memory = machine->memory;
    for (size_t i = 0; i < memory->texture_count; i++)
        if (memory->textures[i].handle == handle)
            memory->textures[i].is_used = false;
}

enum fth_status fth_ptx_bind(struct fth_ptx_machine *machine, const char *variable, uint64_t handle,
                             struct fth_error *error)
{
    uint64_t address, bytes;
    if (!fth_ptx_symbol(machine, variable, &address, &bytes) || bytes != sizeof handle)
        return fth_fail(error, FTH_NOT_FOUND, "bind texture", variable,
                        "the module has no .texref, .samplerref or .surfref variable of this name");
    memcpy(fth_ptx_host(machine, address, bytes), &handle, sizeof handle);
    return FTH_OK;
}

/* ---- instructions ---- */

static bool has_handle(const struct fth_ptx_texture *texture, uint64_t handle, bool is_surface)
{
    return texture->handle == handle && texture->is_used && texture->is_surface == is_surface;
}

/* Finds an object by its handle. NULL: there is none. */
static const struct fth_ptx_texture *find_object(const struct fth_ptx_memory *memory,
                                                 uint64_t handle, bool is_surface)
{
    const struct fth_ptx_texture *textures = memory->textures;
    const size_t count = memory->texture_count;
    /* Without placed objects, this is the only one that can have the handle. */
    if (handle && handle <= count && has_handle(&textures[handle - 1], handle, is_surface))
        return &textures[handle - 1];
    for (size_t i = 0; i < count; i++)
        if (has_handle(&textures[i], handle, is_surface))
            return &textures[i];
    return NULL;
}

const struct fth_ptx_texture *fth_ptx_look_up_texture(const struct fth_ptx_machine *machine,
                                                      uint64_t handle, bool is_surface)
{
    const struct fth_ptx_texture *found = find_object(machine->memory, handle, is_surface);
    if (found || handle < LOWEST_GLOBAL)
        return found;
    const void *host = fth_ptx_host(machine, handle, sizeof handle);
    if (!host)
        return NULL;
    memcpy(&handle, host, sizeof handle);
    return find_object(machine->memory, handle, is_surface);
}

const struct fth_ptx_texture *fth_ptx_find_texture(struct fth_ptx_warp *warp,
                                                   const struct fth_ptx_inst *inst, int lane,
                                                   uint64_t handle, bool is_surface)
{
    const struct fth_ptx_texture *found =
        fth_ptx_look_up_texture(warp->block->run->machine, handle, is_surface);
    if (!found)
        fth_ptx_warp_fault(warp, inst, lane,
                           handle >= LOWEST_GLOBAL ? "the reference at 0x%llx is not bound to a %s"
                                                   : "0x%llx is not a %s",
                           (unsigned long long)handle, is_surface ? "surface" : "texture");
    return found;
}

bool fth_ptx_take_geometry(struct fth_ptx_statement *statement, enum fth_ptx_geometry *geometry)
{
    static const char *const words[] = {"1d", "2d", "3d", "a1d", "a2d", "cube", "acube"};
    const int index = fth_ptx_take_one_of(statement, words, FTH_COUNT(words));
    *geometry = index < 0 ? FTH_GEOMETRY_1D : (enum fth_ptx_geometry)index;
    return index >= 0;
}

bool fth_ptx_take_handle(struct fth_ptx_parser *parser, const struct fth_ptx_statement *statement,
                         size_t index, size_t coordinates, int32_t *row)
{
    const struct fth_ptx_operand *operand = &statement->operands[index];
    /* A vector of three coordinates has a fourth element, which is not used. */
    const bool exists = index < statement->operand_count;
    const bool padded = exists && coordinates == 3 && operand->element_count == 4;
    if (!exists || operand->kind != OPERAND_ADDRESS || operand->offset ||
        (operand->has_space && operand->space != FTH_SPACE_GLOBAL) ||
        (operand->element_count != coordinates && !padded))
        return fth_ptx_refuse_operand(parser, statement, index,
                                      "a texture or surface and its coordinates, in brackets");
    *row = operand->row;
    return true;
}
