/* Encodes, decodes and checks the textures and surfaces of a launch. Enumerations have the values
 * of CUDA's. */
#include "capsule/capsule_parts.h"

/* Maximum values of CUaddress_mode (border) and of CUfilter_mode (linear). */
enum { MAX_ADDRESS_MODE = 3, MAX_FILTER = 1 };

unsigned fth_capsule_channel_bytes(uint32_t format)
{
    /* By CUarray_format: unsigned and signed integers of 8, 16 and 32 bits, and floats of 16 and 32
     * bits. */
    static const unsigned char sizes[] = {[0x01] = 1, [0x02] = 2, [0x03] = 4, [0x08] = 1,
                                          [0x09] = 2, [0x0a] = 4, [0x10] = 2, [0x20] = 4};
    return format < FTH_COUNT(sizes) ? sizes[format] : 0;
}

bool fth_capsule_array_bytes(const struct fth_capsule_texture *texture, uint64_t *bytes)
{
    const uint64_t height = texture->height ? texture->height : 1,
                   depth = texture->depth ? texture->depth : 1;
    const unsigned texel = texture->channels * fth_capsule_channel_bytes(texture->format);
    return !__builtin_mul_overflow(texture->width, texel, bytes) &&
           !__builtin_mul_overflow(*bytes, height, bytes) &&
           !__builtin_mul_overflow(*bytes, depth, bytes);
}

/* ---- encoding and decoding ---- */

static void encode_texture(const struct fth_capsule_texture *texture, struct fth_buffer *out)
{
    const bool is_array = texture->resource == FTH_CAPSULE_RESOURCE_ARRAY;
    const uint64_t numbers[] = {
        texture->handle,   texture->is_surface,
        texture->resource, is_array ? texture->region : texture->address,
        texture->format,   texture->channels,
        texture->width,    texture->height,
        texture->depth,    is_array ? texture->array_flags : texture->pitch_bytes};
    for (size_t i = 0; i < FTH_COUNT(numbers); i++)
        fth_put_varint(numbers[i], out);
    if (texture->is_surface)
        return;
    for (size_t i = 0; i < FTH_COUNT(texture->address_modes); i++)
        fth_put_varint(texture->address_modes[i], out);
    fth_put_varint(texture->filter, out);
    fth_put_varint(texture->flags, out);
    for (size_t i = 0; i < FTH_COUNT(texture->border); i++)
        fth_put_varint(texture->border[i], out);
}

void fth_capsule_encode_textures(const struct fth_capsule_launch *launch, struct fth_buffer *out)
{
    fth_put_varint(launch->texture_count, out);
    for (size_t i = 0; i < launch->texture_count; i++)
        encode_texture(&launch->textures[i], out);
}

static void decode_texture(struct fth_capsule_decoder *decoder, struct fth_capsule_texture *texture)
{
    struct fth_bytes *bytes = &decoder->bytes;
    texture->handle = fth_get_varint(bytes);
    texture->is_surface = fth_get_varint(bytes) != 0;
    texture->resource = (enum fth_capsule_resource)fth_get_varint32(bytes);
    const bool is_array = texture->resource == FTH_CAPSULE_RESOURCE_ARRAY;
    if (is_array)
        texture->region = fth_get_varint32(bytes);
    else
        texture->address = fth_get_varint(bytes);
    texture->format = fth_get_varint32(bytes);
    texture->channels = fth_get_varint32(bytes);
    texture->width = fth_get_varint(bytes);
    texture->height = fth_get_varint(bytes);
    texture->depth = fth_get_varint(bytes);
    if (is_array)
        texture->array_flags = fth_get_varint32(bytes);
    else
        texture->pitch_bytes = fth_get_varint(bytes);
    if (texture->is_surface)
        return;
    for (size_t i = 0; i < FTH_COUNT(texture->address_modes); i++)
        texture->address_modes[i] = fth_get_varint32(bytes);
    texture->filter = fth_get_varint32(bytes);
    texture->flags = fth_get_varint32(bytes);
    for (size_t i = 0; i < FTH_COUNT(texture->border); i++)
        texture->border[i] = fth_get_varint32(bytes);
}

void fth_capsule_decode_textures(struct fth_capsule_decoder *decoder,
                                 struct fth_capsule_launch *launch)
{
    const uint64_t count = fth_get_varint(&decoder->bytes);
    if (count > FTH_CAPSULE_MAX_TEXTURES)
        fth_capsule_decoder_refuse(decoder, "the launch has more than 4,096 textures");
    struct fth_capsule_texture *textures =
        fth_capsule_decoder_array(decoder, count, sizeof *textures);
    for (size_t i = 0; textures && i < count; i++)
        decode_texture(decoder, &textures[i]);
    launch->textures = textures;
    launch->texture_count = textures ? (size_t)count : 0;
}

/* ---- checks ---- */

const char *fth_capsule_check_texture(const struct fth_capsule_texture *texture,
                                      const struct fth_capsule_launch *launch)
{
    uint64_t bytes;
    if (fth_capsule_channel_bytes(texture->format) == 0)
        return "a texture has an unknown format";
    if (texture->channels != 1 && texture->channels != 2 && texture->channels != 4)
        return "a texture does not have 1, 2 or 4 channels";
    for (size_t i = 0; i < FTH_COUNT(texture->address_modes); i++)
        if (texture->address_modes[i] > MAX_ADDRESS_MODE)
            return "a texture has an unknown address mode";
    if (texture->filter > MAX_FILTER)
        return "a texture has an unknown filter";
    if (texture->resource == FTH_CAPSULE_RESOURCE_LINEAR ||
        texture->resource == FTH_CAPSULE_RESOURCE_PITCHED)
        return NULL;
    if (texture->resource != FTH_CAPSULE_RESOURCE_ARRAY)
        return "a texture has an unknown kind of resource";
    if (texture->region >= launch->region_count ||
        launch->regions[texture->region].kind != FTH_CAPSULE_ARRAY)
        return "the array of a texture does not exist";
    if (!fth_capsule_array_bytes(texture, &bytes) ||
        bytes != launch->regions[texture->region].bytes)
        return "the array of a texture has another size than the texture";
    return NULL;
}
