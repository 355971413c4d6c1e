/* Tensor maps: which ones are valid, and their encoding in 128 bytes. The rules are those of the
 * CUDA driver's functions cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col (driver 580 with an
 * H200). The driver refuses more maps than its documentation says, and accepts interleaved layouts
 * of 32 bytes with any swizzle. NVIDIA's encoding is not documented, so the PTX engine has its own.
 * A magic number tells it from other bytes. */
#include "ptx/async/tensor_map.h"

#include <inttypes.h>
#include <string.h>

static const char operation[] = "use tensor map";

#define refuse(error, ...) fth_fail(error, FTH_INVALID, operation, NULL, __VA_ARGS__)

/* ---- types ---- */

static const struct {
    const char *name;
    unsigned bytes;
} types[FTH_TENSOR_TYPE_COUNT] = {
    [FTH_TENSOR_U8] = {"u8", 1},
    [FTH_TENSOR_U16] = {"u16", 2},
    [FTH_TENSOR_U32] = {"u32", 4},
    [FTH_TENSOR_S32] = {"s32", 4},
    [FTH_TENSOR_U64] = {"u64", 8},
    [FTH_TENSOR_S64] = {"s64", 8},
    [FTH_TENSOR_F16] = {"f16", 2},
    [FTH_TENSOR_F32] = {"f32", 4},
    [FTH_TENSOR_F32_FTZ] = {"f32.ftz", 4},
    [FTH_TENSOR_F64] = {"f64", 8},
    [FTH_TENSOR_BF16] = {"bf16", 2},
    [FTH_TENSOR_TF32] = {"tf32", 4},
    [FTH_TENSOR_TF32_FTZ] = {"tf32.ftz", 4},
};

unsigned fth_ptx_tensor_type_bytes(enum fth_ptx_tensor_type type)
{
    return types[type].bytes;
}

const char *fth_ptx_tensor_type_name(enum fth_ptx_tensor_type type)
{
    return types[type].name;
}

unsigned fth_ptx_tensor_pixel_dimension(const struct fth_ptx_tensor_map *map)
{
    return map->interleave == FTH_INTERLEAVE_NONE ? 1 : 0;
}

bool fth_ptx_tensor_type_find(const char *name, enum fth_ptx_tensor_type *type)
{
    for (unsigned i = 0; i < FTH_TENSOR_TYPE_COUNT; i++)
        if (strcmp(types[i].name, name) == 0) {
            *type = (enum fth_ptx_tensor_type)i;
            return true;
        }
    return false;
}

bool fth_ptx_tensor_type_of_cuda(unsigned number, enum fth_ptx_tensor_type *type)
{
    static const enum fth_ptx_tensor_type numbers[] = {
        FTH_TENSOR_U8,      FTH_TENSOR_U16,  FTH_TENSOR_U32,     FTH_TENSOR_S32, FTH_TENSOR_U64,
        FTH_TENSOR_S64,     FTH_TENSOR_F16,  FTH_TENSOR_F32,     FTH_TENSOR_F64, FTH_TENSOR_BF16,
        FTH_TENSOR_F32_FTZ, FTH_TENSOR_TF32, FTH_TENSOR_TF32_FTZ};
    if (number >= FTH_COUNT(numbers))
        return false;
    *type = numbers[number];
    return true;
}

/* ---- rules ---- */

/* Limits from the documentation of the driver functions. */
#define MAX_SIZE ((uint64_t)1 << 32)
#define MAX_STRIDE ((uint64_t)1 << 40)
/* The shared memory of an SM of an H200. The driver refuses larger boxes. */
#define MAX_BOX_BYTES ((uint64_t)228 << 10)
enum { MAX_BOX = 256, MAX_ELEMENT_STRIDE = 8, MAX_CHANNELS = 256, MAX_PIXELS = 1024 };

/* Checks the fields that have a few values, and the number of dimensions. */
static enum fth_status check_kinds(const struct fth_ptx_tensor_map *map, struct fth_error *error)
{
    if (map->type >= FTH_TENSOR_TYPE_COUNT)
        return refuse(error, "%d is not the number of an element type", (int)map->type);
    if (map->interleave > FTH_INTERLEAVE_32 || map->swizzle > FTH_SWIZZLE_128 ||
        map->promotion > FTH_PROMOTION_256)
        return refuse(error,
                      "the interleave layout (%d), the swizzle mode (%d) or the L2 promotion "
                      "(%d) has an unknown number",
                      (int)map->interleave, (int)map->swizzle, (int)map->promotion);
    const bool needs_three = map->interleave != FTH_INTERLEAVE_NONE || map->is_im2col;
    const unsigned min = needs_three ? 3 : 1;
    if (map->rank < min || map->rank > FTH_TENSOR_MAX_RANK)
        return refuse(error, "the tensor has %u dimensions; %s from %u to %d", map->rank,
                      map->is_im2col ? "im2col mode requires"
                      : needs_three  ? "interleaved layouts require"
                                     : "possible are",
                      min, FTH_TENSOR_MAX_RANK);
    if (map->fills_with_nan && map->type < FTH_TENSOR_F16)
        return refuse(error,
                      "elements of type %s cannot be filled with NaN; this requires a "
                      "floating-point type",
                      types[map->type].name);
    return FTH_OK;
}

/* Checks where the elements are in global memory. */
static enum fth_status check_memory(const struct fth_ptx_tensor_map *map, struct fth_error *error)
{
    const unsigned alignment = map->interleave == FTH_INTERLEAVE_32 ? 32 : 16;
    if (map->address % alignment)
        return refuse(error, "the address 0x%" PRIx64 " is not a multiple of %u bytes",
                      map->address, alignment);
    for (unsigned i = 0; i < map->rank; i++) {
        if (map->sizes[i] < 1 || map->sizes[i] > MAX_SIZE)
            return refuse(error,
                          "the size of dimension %u is %" PRIu64 "; it must be from 1 to 2^32", i,
                          map->sizes[i]);
        if (map->element_strides[i] < 1 || map->element_strides[i] > MAX_ELEMENT_STRIDE)
            return refuse(
                error, "the element stride of dimension %u is %" PRIu32 "; it must be from 1 to %d",
                i, map->element_strides[i], MAX_ELEMENT_STRIDE);
    }
    for (unsigned i = 0; i + 1 < map->rank; i++)
        if (map->strides[i] % alignment || map->strides[i] >= MAX_STRIDE)
            return refuse(error,
                          "the stride of dimension %u is %" PRIu64
                          " bytes; it must be a multiple of %u and less than 2^40",
                          i + 1, map->strides[i], alignment);
    return FTH_OK;
}

/* Checks the bytes of a copy: those along dimension 0, or of the channels of a pixel, and all. */
static enum fth_status check_bytes(const struct fth_ptx_tensor_map *map, uint32_t count,
                                   uint64_t elements, struct fth_error *error)
{
    const unsigned element = types[map->type].bytes;
    const uint32_t bytes = count * element, span = 16u << map->swizzle;
    if (bytes % FTH_TENSOR_UNIT)
        return refuse(error, "a copy has %" PRIu32 " bytes %s; it must be a multiple of %d", bytes,
                      map->is_im2col ? "per pixel" : "in dimension 0", FTH_TENSOR_UNIT);
    if (map->interleave == FTH_INTERLEAVE_NONE && map->swizzle != FTH_SWIZZLE_NONE && bytes > span)
        return refuse(error,
                      "a copy has %" PRIu32 " bytes in dimension 0; with a swizzle of %" PRIu32
                      " bytes, the maximum is %" PRIu32,
                      bytes, span, span);
    if (elements * element > MAX_BOX_BYTES)
        return refuse(error, "a copy has %" PRIu64 " bytes; the maximum is %" PRIu64,
                      elements * element, MAX_BOX_BYTES);
    return FTH_OK;
}

static enum fth_status check_box(const struct fth_ptx_tensor_map *map, struct fth_error *error)
{
    uint64_t elements = 1;
    for (unsigned i = 0; i < map->rank; i++) {
        if (map->box[i] < 1 || map->box[i] > MAX_BOX)
            return refuse(
                error, "the box has %" PRIu32 " elements in dimension %u; it must be from 1 to %d",
                map->box[i], i, MAX_BOX);
        elements *= map->box[i] / map->element_strides[i]; /* the driver rounds down */
    }
    return check_bytes(map, map->box[0], elements, error);
}

/* Checks the corners. The fewer bits an offset has, the more of them there are. */
static enum fth_status check_pixels(const struct fth_ptx_tensor_map *map, struct fth_error *error)
{
    static const int32_t limits[FTH_TENSOR_MAX_RANK + 1] = {[3] = 32768, [4] = 128, [5] = 16};
    const int32_t limit = limits[map->rank];
    for (unsigned i = 0; i + 2 < map->rank; i++) {
        const unsigned d = fth_ptx_tensor_pixel_dimension(map) + i;
        const int32_t lower = map->lower[i], upper = map->upper[i];
        const int64_t end = (int64_t)map->sizes[d] + upper;
        if (lower < -limit || lower >= limit || upper < -limit || upper >= limit)
            return refuse(error,
                          "the corners of dimension %u are %" PRId32 " and %" PRId32
                          "; with %u dimensions, they must be from %" PRId32 " to %" PRId32,
                          d, lower, upper, map->rank, -limit, limit - 1);
        if (end <= lower || end > INT32_MAX)
            return refuse(error,
                          "the corners of dimension %u are %" PRId32 " and %" PRId64
                          "; there must be a pixel between them, and less than 2^31",
                          d, lower, end);
    }
    if (map->channels < 1 || map->channels > MAX_CHANNELS)
        return refuse(error, "a copy has %" PRIu32 " channels per pixel; it must be from 1 to %d",
                      map->channels, MAX_CHANNELS);
    if (map->pixels < 1 || map->pixels > MAX_PIXELS)
        return refuse(error, "a copy has %" PRIu32 " pixels per column; it must be from 1 to %d",
                      map->pixels, MAX_PIXELS);
    return check_bytes(map, map->channels, (uint64_t)map->channels * map->pixels, error);
}

enum fth_status fth_ptx_tensor_map_check(const struct fth_ptx_tensor_map *map,
                                         struct fth_error *error)
{
    FTH_TRY(check_kinds(map, error));
    FTH_TRY(check_memory(map, error));
    return map->is_im2col ? check_pixels(map, error) : check_box(map, error);
}

/* ---- encoding ---- */

#define MAGIC 0x46744d70u

/* The encoding. It exists only in the memory of the engine, so it has the byte order of the host.
 */
struct encoded {
    uint32_t magic;
    uint8_t rank, type, interleave, swizzle, promotion, fill, is_im2col;
    uint8_t element_strides[FTH_TENSOR_MAX_RANK];
    uint16_t box[FTH_TENSOR_MAX_RANK], channels, pixels;
    uint16_t unused;
    uint64_t address;
    uint64_t sizes[FTH_TENSOR_MAX_RANK], strides[FTH_TENSOR_MAX_RANK - 1];
    int16_t lower[FTH_TENSOR_MAX_RANK - 2], upper[FTH_TENSOR_MAX_RANK - 2];
    uint32_t unused_end;
};
_Static_assert(sizeof(struct encoded) == FTH_TENSOR_MAP_BYTES, "the size of a CUtensorMap");

enum fth_status fth_ptx_tensor_map_encode(const struct fth_ptx_tensor_map *map,
                                          unsigned char bytes[FTH_TENSOR_MAP_BYTES],
                                          struct fth_error *error)
{
    memset(bytes, 0, FTH_TENSOR_MAP_BYTES);
    FTH_TRY(fth_ptx_tensor_map_check(map, error));
    struct encoded out = {.magic = MAGIC,
                          .rank = (uint8_t)map->rank,
                          .type = (uint8_t)map->type,
                          .interleave = (uint8_t)map->interleave,
                          .swizzle = (uint8_t)map->swizzle,
                          .promotion = (uint8_t)map->promotion,
                          .fill = map->fills_with_nan,
                          .is_im2col = map->is_im2col,
                          .channels = (uint16_t)map->channels,
                          .pixels = (uint16_t)map->pixels,
                          .address = map->address};
    for (unsigned i = 0; i < map->rank; i++) {
        out.sizes[i] = map->sizes[i];
        out.element_strides[i] = (uint8_t)map->element_strides[i];
        out.box[i] = (uint16_t)map->box[i];
    }
    for (unsigned i = 0; i + 1 < map->rank; i++)
        out.strides[i] = map->strides[i];
    for (unsigned i = 0; i + 2 < map->rank; i++) {
        out.lower[i] = (int16_t)map->lower[i];
        out.upper[i] = (int16_t)map->upper[i];
    }
    memcpy(bytes, &out, sizeof out);
    return FTH_OK;
}

enum fth_status fth_ptx_tensor_map_decode(const unsigned char bytes[FTH_TENSOR_MAP_BYTES],
                                          struct fth_ptx_tensor_map *map, struct fth_error *error)
{
    struct encoded in;
    memcpy(&in, bytes, sizeof in);
    *map = (struct fth_ptx_tensor_map){.type = in.type,
                                       .rank = in.rank,
                                       .address = in.address,
                                       .interleave = in.interleave,
                                       .swizzle = in.swizzle,
                                       .promotion = in.promotion,
                                       .fills_with_nan = in.fill != 0,
                                       .is_im2col = in.is_im2col != 0,
                                       .channels = in.channels,
                                       .pixels = in.pixels};
    if (in.magic != MAGIC)
        return refuse(error, "the bytes are not a tensor map; pass one as a \"tensormap\" argument "
                             "of a launch file, or make one with tensormap.replace");
    memcpy(map->sizes, in.sizes, sizeof in.sizes);
    memcpy(map->strides, in.strides, sizeof in.strides);
    for (unsigned i = 0; i < FTH_TENSOR_MAX_RANK; i++) {
        map->element_strides[i] = in.element_strides[i];
        map->box[i] = in.box[i];
    }
    for (unsigned i = 0; i < FTH_TENSOR_MAX_RANK - 2; i++) {
        map->lower[i] = in.lower[i];
        map->upper[i] = in.upper[i];
    }
    return fth_ptx_tensor_map_check(map, error);
}

/* ---- replacing fields ---- */

/* Where a field is, the bytes of one of its elements, their number, and the largest value. */
struct field {
    const char *name;
    size_t offset, bytes;
    unsigned count;
    uint64_t max;
};

static const struct field fields[] = {
    [FTH_TENSOR_ADDRESS] = {"address", offsetof(struct encoded, address), 8, 1, UINT64_MAX},
    [FTH_TENSOR_RANK] = {"rank", offsetof(struct encoded, rank), 1, 1, FTH_TENSOR_MAX_RANK},
    [FTH_TENSOR_BOX] = {"box", offsetof(struct encoded, box), 2, FTH_TENSOR_MAX_RANK, MAX_BOX},
    [FTH_TENSOR_SIZE] = {"size", offsetof(struct encoded, sizes), 8, FTH_TENSOR_MAX_RANK, MAX_SIZE},
    [FTH_TENSOR_STRIDE] = {"stride", offsetof(struct encoded, strides), 8, FTH_TENSOR_MAX_RANK - 1,
                           MAX_STRIDE - 1},
    [FTH_TENSOR_ELEMENT_STRIDE] = {"element stride", offsetof(struct encoded, element_strides), 1,
                                   FTH_TENSOR_MAX_RANK, MAX_ELEMENT_STRIDE},
    [FTH_TENSOR_TYPE] = {"type", offsetof(struct encoded, type), 1, 1, FTH_TENSOR_TYPE_COUNT - 1},
    [FTH_TENSOR_INTERLEAVE] = {"interleave layout", offsetof(struct encoded, interleave), 1, 1,
                               FTH_INTERLEAVE_32},
    [FTH_TENSOR_SWIZZLE] = {"swizzle mode", offsetof(struct encoded, swizzle), 1, 1,
                            FTH_SWIZZLE_128},
    [FTH_TENSOR_FILL] = {"fill mode", offsetof(struct encoded, fill), 1, 1, 1},
};

enum fth_status fth_ptx_tensor_map_replace(unsigned char bytes[FTH_TENSOR_MAP_BYTES],
                                           enum fth_ptx_tensor_field which, unsigned index,
                                           uint64_t value, struct fth_error *error)
{
    static const unsigned char blank[FTH_TENSOR_MAP_BYTES];
    static const uint32_t magic = MAGIC;
    const struct field *field = &fields[which];
    if (memcmp(bytes, &magic, sizeof magic) != 0 && memcmp(bytes, blank, sizeof blank) != 0)
        return refuse(error, "the bytes are not a tensor map, and they are not all 0");
    if (index >= field->count)
        return refuse(error, "the %s has no element %u", field->name, index);
    if (value > field->max)
        return refuse(error, "the new %s is %" PRIu64 "; the maximum is %" PRIu64, field->name,
                      value, field->max);
    memcpy(bytes, &magic, sizeof magic);
    unsigned char *target = bytes + field->offset + index * field->bytes;
    const uint8_t byte = (uint8_t)value;
    const uint16_t half = (uint16_t)value;
    switch (field->bytes) {
    case 1: memcpy(target, &byte, sizeof byte); break;
    case 2: memcpy(target, &half, sizeof half); break;
    default: memcpy(target, &value, sizeof value); break;
    }
    return FTH_OK;
}
