/* Tensor maps, which are opaque once they are encoded, and are therefore kept by the arguments that
 * they were encoded from. */
#include "capture.h"

static struct {
    struct encoded {
        unsigned char bytes[TENSOR_MAP_BYTES];
        struct fth_capsule_tensor_map map;
    } * maps;
    size_t map_count, map_capacity, next;
} tables;

/* The tensor maps that are remembered; after that, the oldest ones are forgotten. */
enum { MAX_MAPS = 65536 };

static void remember(const void *bytes, const struct fth_capsule_tensor_map *map)
{
    struct encoded encoded = {.map = *map};
    memcpy(encoded.bytes, bytes, sizeof encoded.bytes);
    capture_lock_tables();
    size_t at = 0;
    while (at < tables.map_count &&
           memcmp(tables.maps[at].bytes, encoded.bytes, sizeof encoded.bytes) != 0)
        at++;
    void *maps = tables.maps;
    if (at == tables.map_count && at == MAX_MAPS)
        at = tables.next++ % MAX_MAPS;
    else if (at == tables.map_count &&
             fth_grow(&maps, tables.map_count, &tables.map_capacity, sizeof *tables.maps)) {
        tables.maps = maps;
        tables.map_count++;
    }
    if (at < tables.map_count)
        tables.maps[at] = encoded;
    capture_unlock_tables();
}

bool capture_tensor_map(const void *bytes, struct fth_capsule_tensor_map *map)
{
    bool found = false;
    capture_lock_tables();
    for (size_t i = 0; i < tables.map_count && !found; i++)
        if (memcmp(tables.maps[i].bytes, bytes, TENSOR_MAP_BYTES) == 0) {
            *map = tables.maps[i].map;
            found = true;
        }
    capture_unlock_tables();
    return found;
}

enum { MAX_RANK = 5 };

/* Copies the arguments that both kinds of tensor maps have. */
static struct fth_capsule_tensor_map describe(int type, uint32_t rank, const void *address,
                                              const uint64_t *sizes, const uint64_t *strides,
                                              const uint32_t *steps, const int enumerations[4])
{
    struct fth_capsule_tensor_map map = {.data_type = (uint32_t)type,
                                         .rank = rank,
                                         .address = (uint64_t)(uintptr_t)address,
                                         .interleave = (uint32_t)enumerations[0],
                                         .swizzle = (uint32_t)enumerations[1],
                                         .l2_promotion = (uint32_t)enumerations[2],
                                         .fill = (uint32_t)enumerations[3]};
    for (uint32_t i = 0; i < rank && i < MAX_RANK; i++) {
        map.sizes[i] = sizes[i];
        map.element_strides[i] = steps[i];
        if (i + 1 < rank)
            map.strides[i] = strides[i];
    }
    return map;
}

WRAP(cuTensorMapEncodeTiled, void *out, int type, uint32_t rank, void *address,
     const uint64_t *sizes, const uint64_t *strides, const uint32_t *box, const uint32_t *steps,
     int interleave, int swizzle, int promotion, int fill)
{
    const int result = CALL(cuTensorMapEncodeTiled,
                            (void *, int, uint32_t, void *, const uint64_t *, const uint64_t *,
                             const uint32_t *, const uint32_t *, int, int, int, int),
                            out, type, rank, address, sizes, strides, box, steps, interleave,
                            swizzle, promotion, fill);
    if (result == SUCCESS) {
        struct fth_capsule_tensor_map map = describe(type, rank, address, sizes, strides, steps,
                                                     (int[]){interleave, swizzle, promotion, fill});
        for (uint32_t i = 0; i < rank && i < MAX_RANK; i++)
            map.box[i] = box[i];
        remember(out, &map);
    }
    return result;
}

WRAP(cuTensorMapEncodeIm2col, void *out, int type, uint32_t rank, void *address,
     const uint64_t *sizes, const uint64_t *strides, const int *lower, const int *upper,
     uint32_t channels, uint32_t pixels, const uint32_t *steps, int interleave, int swizzle,
     int promotion, int fill)
{
    const int result =
        CALL(cuTensorMapEncodeIm2col,
             (void *, int, uint32_t, void *, const uint64_t *, const uint64_t *, const int *,
              const int *, uint32_t, uint32_t, const uint32_t *, int, int, int, int),
             out, type, rank, address, sizes, strides, lower, upper, channels, pixels, steps,
             interleave, swizzle, promotion, fill);
    if (result == SUCCESS) {
        struct fth_capsule_tensor_map map = describe(type, rank, address, sizes, strides, steps,
                                                     (int[]){interleave, swizzle, promotion, fill});
        map.is_im2col = true;
        map.channels_per_pixel = channels;
        map.pixels_per_column = pixels;
        for (uint32_t i = 0; i + 2 < rank && i < MAX_RANK - 2; i++) {
            map.lower_corner[i] = lower[i];
            map.upper_corner[i] = upper[i];
        }
        remember(out, &map);
    }
    return result;
}
