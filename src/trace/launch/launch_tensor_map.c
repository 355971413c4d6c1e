/* Reads tensor maps from launch files: objects such as
 *
 *   {"tensormap": "a", "type": "f16", "sizes": [64, 128], "box": [64, 16], "swizzle": 128}
 *
 * Without "strides", the tensor has no gaps. With "pixels", the map is one of im2col mode;
 * otherwise it is one of tile mode. docs/launch-files.md describes all keys. */
#include "trace/launch/launch_reader.h"

#include <math.h>
#include <string.h>

/* Reads the list object[key] of integers from `min` to `max`. *count is 0 if there is no such key.
 * `most` is the maximum length. */
static enum fth_status read_list(struct fth_launch_reader *reader, const struct fth_json *object,
                                 const char *key, double min, double max, size_t most,
                                 double *numbers, size_t *count)
{
    const struct fth_json *list = fth_json_get(object, key);
    *count = 0;
    if (!list)
        return FTH_OK;
    size_t back = fth_json_path_key(&reader->path, key);
    if (!fth_json_is(list, FTH_JSON_LIST) || fth_json_count(list) > most)
        return fth_reader_refuse(reader, "expected an array of at most %zu numbers", most);
    FTH_JSON_EACH_ITEM (value, list) {
        size_t inner = fth_json_path_index(&reader->path, *count);
        FTH_TRY(fth_reader_integer(reader, value, min, max, &numbers[(*count)++]));
        fth_json_path_back(&reader->path, inner);
    }
    fth_json_path_back(&reader->path, back);
    return FTH_OK;
}

/* As read_list, for a list that must have `wanted` numbers if it is given. */
static enum fth_status read_exactly(struct fth_launch_reader *reader, const struct fth_json *object,
                                    const char *key, double min, double max, size_t wanted,
                                    double *numbers, bool *given)
{
    size_t count;
    FTH_TRY(read_list(reader, object, key, min, max, FTH_TENSOR_MAX_RANK, numbers, &count));
    *given = fth_json_get(object, key) != NULL;
    if (*given && count != wanted)
        return fth_reader_refuse(reader,
                                 "\"%s\" has %zu numbers; a tensor with these sizes needs %zu", key,
                                 count, wanted);
    return FTH_OK;
}

/* Reads the number object[key], which must be one of `values`; *index is its index, 0 if there is
 * no such key. */
static enum fth_status read_choice(struct fth_launch_reader *reader, const struct fth_json *object,
                                   const char *key, const unsigned *values, size_t count,
                                   unsigned *index)
{
    double number = 0;
    FTH_TRY(fth_reader_member(reader, object, key, 0, &number));
    for (*index = 0; *index < count; (*index)++)
        if (number == values[*index])
            return FTH_OK;
    char list[64] = "";
    for (size_t i = 0; i < count; i++) {
        const size_t used = strlen(list);
        fth_format(list + used, sizeof list - used, "%s%u",
                   i == 0          ? ""
                   : i + 1 < count ? ", "
                                   : " or ",
                   values[i]);
    }
    return fth_reader_refuse(reader, "\"%s\" is %.9g; expected %s", key, number, list);
}

/* Reads "type". Without it, the type is that of the elements of the buffer. Tensor maps know no
 * signed integers of 8 and 16 bits and no 8-bit floats; they are copied as unsigned integers. */
static enum fth_status read_type(struct fth_launch_reader *reader, const struct fth_json *object,
                                 const struct fth_scalar_type *element,
                                 enum fth_ptx_tensor_type *type)
{
    const struct fth_json *stated = fth_json_get(object, "type");
    if (stated && !fth_json_is(stated, FTH_JSON_TEXT))
        return fth_reader_refuse(reader, "\"type\" must be a string");
    if (!stated && fth_ptx_tensor_type_find(element->name, type))
        return FTH_OK;
    const char *name = stated ? fth_json_string(stated) : element->bytes == 1 ? "u8" : "u16";
    if (!fth_ptx_tensor_type_find(name, type))
        return fth_reader_refuse(
            reader,
            "unknown \"type\" '%s'; expected u8, u16, u32, s32, u64, s64, f16, "
            "bf16, f32, f32.ftz, tf32, tf32.ftz or f64",
            name);
    return FTH_OK;
}

/* Reads the shape of the tensor: "sizes", "strides" and "element_strides". */
static enum fth_status read_shape(struct fth_launch_reader *reader, const struct fth_json *object,
                                  struct fth_ptx_tensor_map *map)
{
    double sizes[FTH_TENSOR_MAX_RANK], strides[FTH_TENSOR_MAX_RANK],
        element_strides[FTH_TENSOR_MAX_RANK];
    size_t rank;
    bool has_strides, has_element_strides;
    FTH_TRY(read_list(reader, object, "sizes", 1, 4294967296.0, FTH_TENSOR_MAX_RANK, sizes, &rank));
    if (rank == 0)
        return fth_reader_refuse(reader, "\"sizes\" must be an array with the size of each "
                                         "dimension, the innermost one first");
    FTH_TRY(read_exactly(reader, object, "strides", 0, 1099511627775.0, rank - 1, strides,
                         &has_strides));
    FTH_TRY(read_exactly(reader, object, "element_strides", 1, 8, rank, element_strides,
                         &has_element_strides));
    map->rank = (unsigned)rank;
    double bytes = fth_ptx_tensor_type_bytes(map->type);
    for (size_t i = 0; i < rank; i++) {
        map->sizes[i] = (uint64_t)sizes[i];
        map->element_strides[i] = has_element_strides ? (uint32_t)element_strides[i] : 1;
        bytes *= sizes[i];
        if (i + 1 == rank)
            break;
        if (!has_strides && bytes >= 1099511627776.0)
            return fth_reader_refuse(reader, "the stride of dimension %zu would exceed 2^40 bytes",
                                     i + 1);
        map->strides[i] = (uint64_t)(has_strides ? strides[i] : bytes);
    }
    return FTH_OK;
}

/* Reads what a copy comprises in tile mode. */
static enum fth_status read_box(struct fth_launch_reader *reader, const struct fth_json *object,
                                struct fth_ptx_tensor_map *map)
{
    static const char *const others[] = {"lower_corner", "upper_corner", "channels"};
    double box[FTH_TENSOR_MAX_RANK];
    bool given;
    for (size_t i = 0; i < FTH_COUNT(others); i++)
        if (fth_json_get(object, others[i]))
            return fth_reader_refuse(reader, "\"%s\" requires \"pixels\"", others[i]);
    FTH_TRY(read_exactly(reader, object, "box", 1, 256, map->rank, box, &given));
    if (!given)
        return fth_reader_refuse(
            reader, "expected \"box\" (tile mode), or \"pixels\" and \"channels\" (im2col mode)");
    for (unsigned i = 0; i < map->rank; i++)
        map->box[i] = (uint32_t)box[i];
    return FTH_OK;
}

/* Reads what a copy comprises in im2col mode. */
static enum fth_status read_pixels(struct fth_launch_reader *reader, const struct fth_json *object,
                                   struct fth_ptx_tensor_map *map)
{
    double lower[FTH_TENSOR_MAX_RANK] = {0}, upper[FTH_TENSOR_MAX_RANK] = {0}, number = 0;
    bool given;
    map->is_im2col = true;
    if (fth_json_get(object, "box"))
        return fth_reader_refuse(reader, "\"box\" and \"pixels\" exclude each other");
    if (map->rank < 3)
        return fth_reader_refuse(reader, "\"pixels\" requires a tensor with 3 to 5 dimensions");
    const size_t corners = map->rank - 2;
    FTH_TRY(read_exactly(reader, object, "lower_corner", -32768, 32767, corners, lower, &given));
    FTH_TRY(read_exactly(reader, object, "upper_corner", -32768, 32767, corners, upper, &given));
    for (size_t i = 0; i < corners; i++) {
        map->lower[i] = (int32_t)lower[i];
        map->upper[i] = (int32_t)upper[i];
    }
    FTH_TRY(fth_reader_integer(reader, fth_json_get(object, "pixels"), 1, 1024, &number));
    map->pixels = (uint32_t)number;
    FTH_TRY(fth_reader_member(reader, object, "channels", 0, &number));
    if (!(number >= 1) || number > 256 || number != floor(number))
        return fth_reader_refuse(reader, "\"channels\" must be an integer from 1 to 256");
    map->channels = (uint32_t)number;
    return FTH_OK;
}

/* Reads how the elements are arranged and what is used outside the tensor. */
static enum fth_status read_modes(struct fth_launch_reader *reader, const struct fth_json *object,
                                  struct fth_ptx_tensor_map *map)
{
    static const unsigned interleaves[] = {0, 16, 32}, swizzles[] = {0, 32, 64, 128},
                          promotions[] = {0, 64, 128, 256};
    unsigned index;
    FTH_TRY(read_choice(reader, object, "interleave", interleaves, FTH_COUNT(interleaves), &index));
    map->interleave = (enum fth_ptx_interleave)index;
    FTH_TRY(read_choice(reader, object, "swizzle", swizzles, FTH_COUNT(swizzles), &index));
    map->swizzle = (enum fth_ptx_swizzle)index;
    FTH_TRY(read_choice(reader, object, "l2_promotion", promotions, FTH_COUNT(promotions), &index));
    map->promotion = (enum fth_ptx_promotion)index;
    const struct fth_json *fill = fth_json_get(object, "fill");
    const char *text = fill ? fth_json_string(fill) : "zero";
    if (!text || (strcmp(text, "zero") != 0 && strcmp(text, "nan") != 0))
        return fth_reader_refuse(reader, "\"fill\" must be \"zero\" or \"nan\"");
    map->fills_with_nan = *text == 'n';
    return FTH_OK;
}

enum fth_status fth_reader_tensor_map(struct fth_launch_reader *reader,
                                      const struct fth_json *object,
                                      struct fth_launch_argument *argument)
{
    static const char *const keys[] = {"tensormap",    "type",        "sizes",  "strides",
                                       "box",          "swizzle",     "fill",   "element_strides",
                                       "interleave",   "channels",    "pixels", "l2_promotion",
                                       "lower_corner", "upper_corner"};
    struct fth_launch *launch = reader->launch;
    FTH_TRY(fth_reader_keys(reader, object, keys, FTH_COUNT(keys)));
    const char *buffer = fth_json_string(fth_json_get(object, "tensormap"));
    if (!buffer)
        return fth_reader_refuse(reader, "\"tensormap\" must name a buffer");
    FTH_TRY(fth_reader_context(
        reader, fth_launch_parse_argument(launch, NULL, 0, buffer, argument, reader->error)));
    if (argument->kind != FTH_ARGUMENT_ADDRESS)
        return fth_reader_refuse(reader, "\"tensormap\" must name a buffer, not '%s'", buffer);
    struct fth_ptx_tensor_map *map = fth_arena_array(&launch->arena, 1, sizeof *map);
    if (!map)
        return fth_reader_no_memory(reader);
    *map = (struct fth_ptx_tensor_map){.rank = 0};
    const struct fth_scalar_type *element = launch->buffers[argument->buffer].element;
    FTH_TRY(read_type(reader, object, element, &map->type));
    FTH_TRY(read_shape(reader, object, map));
    FTH_TRY(read_modes(reader, object, map));
    FTH_TRY(fth_json_get(object, "pixels") ? read_pixels(reader, object, map)
                                           : read_box(reader, object, map));
    /* All executors align buffers to at least 256 bytes, so the offset tells whether the address
     * is aligned. */
    map->address = argument->offset * element->bytes;
    argument->kind = FTH_ARGUMENT_TENSOR_MAP;
    argument->map = map;
    return fth_reader_context(reader, fth_ptx_tensor_map_check(map, reader->error));
}
