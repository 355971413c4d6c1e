/* Reads textures and surfaces from launch files: objects such as
 *
 *   {"texture": "a", "sizes": [64, 32], "channels": 4, "filter": "linear", "address": "wrap",
 *    "normalized": true}
 *   {"surface": "b", "sizes": [64, 32]}
 *
 * docs/launch-files.md describes all keys. */
#include "trace/launch/launch_reader.h"

#include <string.h>

/* Maximum number of texels along an axis: more than any GPU has, and few enough that sizes in
 * double precision are exact. */
#define MAX_TEXELS ((double)(1 << 28))

/* Finds the text `value` in a list of words; *index is `absent` if there is no such value. */
static enum fth_status read_word(struct fth_launch_reader *reader, const struct fth_json *value,
                                 const char *key, const char *const *words, size_t count,
                                 unsigned absent, unsigned *index)
{
    *index = absent;
    if (!value)
        return FTH_OK;
    const char *text = fth_json_string(value);
    for (*index = 0; text && *index < count; (*index)++)
        if (strcmp(text, words[*index]) == 0)
            return FTH_OK;
    char list[80] = "";
    for (size_t i = 0; i < count; i++) {
        const size_t used = strlen(list);
        fth_format(list + used, sizeof list - used, "%s%s",
                   i == 0          ? ""
                   : i + 1 < count ? ", "
                                   : " or ",
                   words[i]);
    }
    return fth_reader_refuse(reader, "\"%s\" must be %s", key, list);
}

/* Reads true or false; *flag keeps its value if there is no such key. */
static enum fth_status read_flag(struct fth_launch_reader *reader, const struct fth_json *object,
                                 const char *key, bool *flag)
{
    const struct fth_json *value = fth_json_get(object, key);
    if (!value)
        return FTH_OK;
    *flag = fth_json_is(value, FTH_JSON_TRUE);
    if (!*flag && !fth_json_is(value, FTH_JSON_FALSE))
        return fth_reader_refuse(reader, "\"%s\" must be true or false", key);
    return FTH_OK;
}

/* Reads "type". Without it, the type is that of the elements of the buffer. */
static enum fth_status read_format(struct fth_launch_reader *reader, const struct fth_json *object,
                                   const struct fth_scalar_type *element,
                                   enum fth_ptx_texel *format)
{
    static const char *const names[] = {"u32", "s32", "f32", "u8",
                                        "s8",  "u16", "s16", "f16"}; /* by enum fth_ptx_texel */
    const struct fth_json *stated = fth_json_get(object, "type");
    unsigned index = FTH_COUNT(names);
    FTH_TRY(read_word(reader, stated, "type", names, FTH_COUNT(names), FTH_COUNT(names), &index));
    for (unsigned i = 0; i < FTH_COUNT(names) && !stated; i++)
        if (strcmp(element->name, names[i]) == 0)
            index = i;
    if (index == FTH_COUNT(names))
        return fth_reader_refuse(reader,
                                 "textures have no type %s; expected a \"type\": u32, s32, f32, "
                                 "u8, s8, u16, s16 or f16",
                                 element->name);
    *format = (enum fth_ptx_texel)index;
    return FTH_OK;
}

/* Reads "geometry" and "sizes". */
static enum fth_status read_sizes(struct fth_launch_reader *reader, const struct fth_json *object,
                                  struct fth_ptx_image *image)
{
    static const char *const names[] = {"1d", "2d", "3d", "a1d", "a2d", "cube", "acube"};
    static const uint8_t counts[] = {1, 2, 3, 2, 3, 1, 2}; /* numbers in "sizes" */
    const struct fth_json *list = fth_json_get(object, "sizes");
    const size_t count = fth_json_count(list);
    double sizes[3] = {1, 1, 1};
    unsigned geometry;
    FTH_TRY(read_word(reader, fth_json_get(object, "geometry"), "geometry", names, FTH_COUNT(names),
                      count ? (unsigned)count - 1 : 0, &geometry));
    if (count == 0 || count > 3 || counts[geometry] != count)
        return fth_reader_refuse(reader,
                                 "\"sizes\" must be an array of one to three numbers: width, "
                                 "height, and depth or layers, as the geometry has them");
    size_t back = fth_json_path_key(&reader->path, "sizes");
    for (size_t i = 0; i < count; i++) {
        size_t inner = fth_json_path_index(&reader->path, i);
        FTH_TRY(fth_reader_integer(reader, fth_json_item(list, i), 1, MAX_TEXELS, &sizes[i]));
        fth_json_path_back(&reader->path, inner);
    }
    fth_json_path_back(&reader->path, back);
    image->geometry = (enum fth_ptx_geometry)geometry;
    image->width = (uint64_t)sizes[0];
    image->height = (uint64_t)sizes[1];
    image->depth = (uint64_t)sizes[2];
    if (image->geometry == FTH_GEOMETRY_A1D) {
        image->height = 1;
        image->depth = (uint64_t)sizes[1];
    } else if (image->geometry >= FTH_GEOMETRY_CUBE) {
        image->height = image->width;
        image->depth = 6 * (uint64_t)sizes[1];
    }
    return FTH_OK;
}

/* Reads "address": one mode for all axes, or a list with one for each. */
static enum fth_status read_address_modes(struct fth_launch_reader *reader,
                                          const struct fth_json *object,
                                          struct fth_ptx_sampling *sampling)
{
    static const char *const names[] = {"wrap", "clamp", "mirror", "border"};
    const struct fth_json *value = fth_json_get(object, "address");
    const bool is_list = fth_json_is(value, FTH_JSON_LIST);
    if (is_list && fth_json_count(value) > 3)
        return fth_reader_refuse(reader, "\"address\" has more than three modes");
    for (size_t i = 0; i < 3; i++) {
        unsigned mode;
        FTH_TRY(read_word(reader, is_list ? fth_json_item(value, i) : value, "address", names,
                          FTH_COUNT(names), FTH_ADDRESS_CLAMP, &mode));
        sampling->address_modes[i] = (enum fth_ptx_address_mode)mode;
    }
    return FTH_OK;
}

static enum fth_status read_border(struct fth_launch_reader *reader, const struct fth_json *object,
                                   struct fth_ptx_sampling *sampling)
{
    const struct fth_json *list = fth_json_get(object, "border");
    if (!list)
        return FTH_OK;
    if (fth_json_count(list) != 4)
        return fth_reader_refuse(reader, "\"border\" must be an array of four numbers");
    for (size_t i = 0; i < 4; i++) {
        double number;
        FTH_TRY(fth_reader_number(reader, fth_json_item(list, i), &number));
        sampling->border[i] = (float)number;
    }
    return FTH_OK;
}

static enum fth_status read_sampling(struct fth_launch_reader *reader,
                                     const struct fth_json *object,
                                     struct fth_ptx_sampling *sampling)
{
    static const char *const filters[] = {"nearest", "linear"}, *const reads[] = {"elements",
                                                                                  "floats"};
    unsigned index;
    FTH_TRY(read_address_modes(reader, object, sampling));
    FTH_TRY(read_border(reader, object, sampling));
    FTH_TRY(read_flag(reader, object, "normalized", &sampling->is_normalized));
    FTH_TRY(read_flag(reader, object, "seamless", &sampling->is_seamless));
    FTH_TRY(read_word(reader, fth_json_get(object, "filter"), "filter", filters, FTH_COUNT(filters),
                      0, &index));
    sampling->is_linear = index == 1;
    FTH_TRY(read_word(reader, fth_json_get(object, "read"), "read", reads, FTH_COUNT(reads), 0,
                      &index));
    sampling->reads_as_floats = index == 1;
    return FTH_OK;
}

/* Reads all but the buffer, and checks that the buffer has enough bytes from the offset on. */
static enum fth_status read_texture(struct fth_launch_reader *reader, const struct fth_json *object,
                                    const struct fth_launch_argument *argument,
                                    struct fth_launch_texture *texture)
{
    const struct fth_launch_buffer *buffer = &reader->launch->buffers[argument->buffer];
    struct fth_ptx_image *image = &texture->image;
    double channels = 1;
    uint64_t bytes;
    FTH_TRY(read_format(reader, object, buffer->element, &image->format));
    FTH_TRY(read_sizes(reader, object, image));
    FTH_TRY(fth_reader_member(reader, object, "channels", 1, &channels));
    image->channels = channels == 1 || channels == 2 || channels == 4 ? (unsigned)channels : 0;
    FTH_TRY(read_flag(reader, object, "linear_memory", &image->is_linear_memory));
    if (!texture->is_surface)
        FTH_TRY(read_sampling(reader, object, &texture->sampling));
    FTH_TRY(fth_reader_context(
        reader, fth_ptx_texture_check(image, texture->is_surface ? NULL : &texture->sampling,
                                      &bytes, reader->error)));
    /* All executors align buffers to at least 256 bytes. */
    static const uint8_t sizes[] = {4, 4, 4, 1, 1, 2, 2, 2}; /* by enum fth_ptx_texel */
    const uint64_t channel_bytes = sizes[image->format];
    if (argument->offset * buffer->element->bytes % channel_bytes)
        return fth_reader_refuse(reader, "the first texel is not aligned to the size of a channel");
    const uint64_t available = (buffer->count - argument->offset) * buffer->element->bytes;
    if (bytes > available)
        return fth_reader_refuse(reader, "the texels take %llu bytes, but the buffer has only %llu",
                                 (unsigned long long)bytes, (unsigned long long)available);
    return FTH_OK;
}

enum fth_status fth_reader_texture(struct fth_launch_reader *reader, const struct fth_json *object,
                                   struct fth_launch_argument *argument)
{
    static const char *const keys[] = {"texture",  "type",       "geometry",      "sizes",
                                       "channels", "address",    "border",        "filter",
                                       "read",     "normalized", "linear_memory", "seamless"};
    static const char *const surface_keys[] = {"surface", "type", "geometry", "sizes", "channels"};
    struct fth_launch *launch = reader->launch;
    const bool is_surface = fth_json_get(object, "surface") != NULL;
    const char *kind = is_surface ? "surface" : "texture";
    FTH_TRY(is_surface ? fth_reader_keys(reader, object, surface_keys, FTH_COUNT(surface_keys))
                       : fth_reader_keys(reader, object, keys, FTH_COUNT(keys)));
    const char *buffer = fth_json_string(fth_json_get(object, kind));
    if (!buffer)
        return fth_reader_refuse(reader, "\"%s\" must name a buffer", kind);
    FTH_TRY(fth_reader_context(
        reader, fth_launch_parse_argument(launch, NULL, 0, buffer, argument, reader->error)));
    if (argument->kind != FTH_ARGUMENT_ADDRESS)
        return fth_reader_refuse(reader, "\"%s\" must name a buffer, not '%s'", kind, buffer);
    struct fth_launch_texture *texture = fth_arena_array(&launch->arena, 1, sizeof *texture);
    if (!texture)
        return fth_reader_no_memory(reader);
    *texture = (struct fth_launch_texture){.is_surface = is_surface};
    argument->kind = FTH_ARGUMENT_TEXTURE;
    argument->texture = texture;
    return read_texture(reader, object, argument, texture);
}
