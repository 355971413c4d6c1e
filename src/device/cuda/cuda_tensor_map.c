/* Tensor maps, which the driver encodes. Only the driver knows the encoding of its GPU. */
#include "device/cuda/cuda.h"

#include <string.h>

/* The numbers of CUtensorMapDataType, which differ from those of tensormap.replace. Those of the
 * other enumerations are the same. */
static const int types[FTH_TENSOR_TYPE_COUNT] = {
    [FTH_TENSOR_U8] = 0,        [FTH_TENSOR_U16] = 1,      [FTH_TENSOR_U32] = 2,
    [FTH_TENSOR_S32] = 3,       [FTH_TENSOR_U64] = 4,      [FTH_TENSOR_S64] = 5,
    [FTH_TENSOR_F16] = 6,       [FTH_TENSOR_F32] = 7,      [FTH_TENSOR_F64] = 8,
    [FTH_TENSOR_BF16] = 9,      [FTH_TENSOR_F32_FTZ] = 10, [FTH_TENSOR_TF32] = 11,
    [FTH_TENSOR_TF32_FTZ] = 12,
};

enum fth_status fth_cuda_tensor_map(const struct fth_cuda *cuda,
                                    const struct fth_ptx_tensor_map *map,
                                    unsigned char bytes[FTH_TENSOR_MAP_BYTES],
                                    struct fth_error *error)
{
    const char *call = map->is_im2col ? "cuTensorMapEncodeIm2col" : "cuTensorMapEncodeTiled";
    if (map->is_im2col ? !cuda->tensor_map_im2col : !cuda->tensor_map_tiled)
        return fth_cuda_missing(call, error);
    _Alignas(128) unsigned char made[FTH_TENSOR_MAP_BYTES];
    const fth_cu_result result =
        map->is_im2col
            ? cuda->tensor_map_im2col(made, types[map->type], map->rank, map->address, map->sizes,
                                      map->strides, map->lower, map->upper, map->channels,
                                      map->pixels, map->element_strides, (int)map->interleave,
                                      (int)map->swizzle, (int)map->promotion, map->fills_with_nan)
            : cuda->tensor_map_tiled(made, types[map->type], map->rank, map->address, map->sizes,
                                     map->strides, map->box, map->element_strides,
                                     (int)map->interleave, (int)map->swizzle, (int)map->promotion,
                                     map->fills_with_nan);
    if (result != 0)
        return fth_cuda_fail(cuda, result, call, error);
    memcpy(bytes, made, sizeof made);
    return FTH_OK;
}
