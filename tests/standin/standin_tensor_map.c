/* The stand-in for NVIDIA's driver: tensor maps. Its simulated GPU reads them in the encoding of
 * the PTX engine. */
#include "device/machine.h"
#include "driver.h"

/* Returns the type for a CUtensorMapDataType, in the order of the driver's documentation. */
static enum fth_ptx_tensor_type type_of(int number)
{
    static const char *const names[] = {"u8",  "u16", "u32",  "s32",     "u64",  "s64",     "f16",
                                        "f32", "f64", "bf16", "f32.ftz", "tf32", "tf32.ftz"};
    enum fth_ptx_tensor_type type = FTH_TENSOR_TYPE_COUNT;
    if (number >= 0 && number < (int)FTH_COUNT(names) &&
        !fth_ptx_tensor_type_find(names[number], &type))
        abort();
    return type;
}

/* Sets what both functions of the driver have in common. */
static void set_tensor(struct fth_ptx_tensor_map *map, int type, uint32_t rank, void *address,
                       const uint64_t *sizes, const uint64_t *strides, const uint32_t *steps)
{
    *map = (struct fth_ptx_tensor_map){
        .type = type_of(type), .rank = rank, .address = (uint64_t)(uintptr_t)address};
    for (uint32_t i = 0; i < rank && i < FTH_TENSOR_MAX_RANK; i++) {
        map->sizes[i] = sizes[i];
        map->element_strides[i] = steps[i];
        if (i > 0)
            map->strides[i - 1] = strides[i - 1];
    }
}

static int encode(void *out, const struct fth_ptx_tensor_map *map)
{
    int result = standin_check();
    if (result != SUCCESS)
        return result;
    if (standin_attribute(75) < 9)
        return NOT_SUPPORTED;
    return (uintptr_t)out % 64 == 0 && fth_ptx_tensor_map_encode(map, out, NULL) == FTH_OK
               ? SUCCESS
               : INVALID_VALUE;
}

EXPORT int cuTensorMapEncodeTiled(void *out, int type, uint32_t rank, void *address,
                                  const uint64_t *sizes, const uint64_t *strides,
                                  const uint32_t *box, const uint32_t *steps, int interleave,
                                  int swizzle, int promotion, int fill);
int cuTensorMapEncodeTiled(void *out, int type, uint32_t rank, void *address, const uint64_t *sizes,
                           const uint64_t *strides, const uint32_t *box, const uint32_t *steps,
                           int interleave, int swizzle, int promotion, int fill)
{
    LOCKED;
    struct fth_ptx_tensor_map map;
    set_tensor(&map, type, rank, address, sizes, strides, steps);
    for (uint32_t i = 0; i < rank && i < FTH_TENSOR_MAX_RANK; i++)
        map.box[i] = box[i];
    map.interleave = (enum fth_ptx_interleave)interleave;
    map.swizzle = (enum fth_ptx_swizzle)swizzle;
    map.promotion = (enum fth_ptx_promotion)promotion;
    map.fills_with_nan = fill == 1;
    return encode(out, &map);
}

EXPORT int cuTensorMapEncodeIm2col(void *out, int type, uint32_t rank, void *address,
                                   const uint64_t *sizes, const uint64_t *strides, const int *lower,
                                   const int *upper, uint32_t channels, uint32_t pixels,
                                   const uint32_t *steps, int interleave, int swizzle,
                                   int promotion, int fill);
int cuTensorMapEncodeIm2col(void *out, int type, uint32_t rank, void *address,
                            const uint64_t *sizes, const uint64_t *strides, const int *lower,
                            const int *upper, uint32_t channels, uint32_t pixels,
                            const uint32_t *steps, int interleave, int swizzle, int promotion,
                            int fill)
{
    LOCKED;
    struct fth_ptx_tensor_map map;
    set_tensor(&map, type, rank, address, sizes, strides, steps);
    for (uint32_t i = 0; i + 2 < rank && i < FTH_TENSOR_MAX_RANK - 2; i++) {
        map.lower[i] = lower[i];
        map.upper[i] = upper[i];
    }
    map.is_im2col = true;
    map.channels = channels;
    map.pixels = pixels;
    map.interleave = (enum fth_ptx_interleave)interleave;
    map.swizzle = (enum fth_ptx_swizzle)swizzle;
    map.promotion = (enum fth_ptx_promotion)promotion;
    map.fills_with_nan = fill == 1;
    return encode(out, &map);
}
