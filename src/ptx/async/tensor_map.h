/* Tensor maps: descriptions of tensors in global memory that the instructions for tensor copies
 * (cp.async.bulk.tensor) use. In CUDA they are opaque objects of 128 bytes, of type CUtensorMap.
 * The PTX engine has an encoding of its own, which only the functions below read and write. */
#ifndef FTH_PTX_TENSOR_MAP_H
#define FTH_PTX_TENSOR_MAP_H

#include "base/base.h"

/* Bytes of an encoded tensor map, its alignment, and the maximum number of dimensions. */
enum { FTH_TENSOR_MAP_BYTES = 128, FTH_TENSOR_MAP_ALIGNMENT = 64, FTH_TENSOR_MAX_RANK = 5 };
/* Bytes that the copy engine of a GPU moves together. */
enum { FTH_TENSOR_UNIT = 16 };

/* The types of elements, with the numbers that tensormap.replace uses (PTX ISA). */
enum fth_ptx_tensor_type {
    FTH_TENSOR_U8,
    FTH_TENSOR_U16,
    FTH_TENSOR_U32,
    FTH_TENSOR_S32,
    FTH_TENSOR_U64,
    FTH_TENSOR_S64,
    FTH_TENSOR_F16,
    FTH_TENSOR_F32,
    FTH_TENSOR_F32_FTZ,
    FTH_TENSOR_F64,
    FTH_TENSOR_BF16,
    FTH_TENSOR_TF32,
    FTH_TENSOR_TF32_FTZ,
    FTH_TENSOR_TYPE_COUNT
};
/* The layout of the channels in global memory, the pattern of the elements in shared memory, and
 * the size of the L2's requests. The numbers are those of tensormap.replace and of the CUDA driver.
 */
enum fth_ptx_interleave { FTH_INTERLEAVE_NONE, FTH_INTERLEAVE_16, FTH_INTERLEAVE_32 };
enum fth_ptx_swizzle { FTH_SWIZZLE_NONE, FTH_SWIZZLE_32, FTH_SWIZZLE_64, FTH_SWIZZLE_128 };
enum fth_ptx_promotion {
    FTH_PROMOTION_NONE,
    FTH_PROMOTION_64,
    FTH_PROMOTION_128,
    FTH_PROMOTION_256
};

/* Dimension 0 is the innermost one, whose elements are adjacent. In an interleaved layout, it is
 * that of the pixels of a line; see tensor_box.c. */
struct fth_ptx_tensor_map {
    enum fth_ptx_tensor_type type;
    unsigned rank;                                 /* number of dimensions */
    uint64_t address;                              /* of the first element */
    uint64_t sizes[FTH_TENSOR_MAX_RANK];           /* in elements */
    uint64_t strides[FTH_TENSOR_MAX_RANK - 1];     /* in bytes, of the dimensions from 1 on */
    uint32_t element_strides[FTH_TENSOR_MAX_RANK]; /* distance of the elements that are copied */
    enum fth_ptx_interleave interleave;
    enum fth_ptx_swizzle swizzle;
    enum fth_ptx_promotion promotion;
    bool fills_with_nan; /* elements outside the tensor read as NaN instead of 0 */
    bool is_im2col;
    /* Tile mode. */
    uint32_t box[FTH_TENSOR_MAX_RANK]; /* extent of a copy, in elements of the tensor */
    /* im2col mode. The corners limit the positions of the pixels: in dimension d + i, from lower[i]
     * to sizes[d + i] + upper[i] - 1, where d is fth_ptx_tensor_pixel_dimension. */
    int32_t lower[FTH_TENSOR_MAX_RANK - 2], upper[FTH_TENSOR_MAX_RANK - 2];
    uint32_t channels, pixels; /* of a copy */
};

/* Returns the bytes of an element in memory. */
unsigned fth_ptx_tensor_type_bytes(enum fth_ptx_tensor_type type);
/* Returns the first dimension of the pixels: 1, after the channels, or 0 in an interleaved layout.
 */
unsigned fth_ptx_tensor_pixel_dimension(const struct fth_ptx_tensor_map *map);
/* Returns the name of a type in PTX, such as "f16" or "f32.ftz". */
const char *fth_ptx_tensor_type_name(enum fth_ptx_tensor_type type);
/* Finds a type by its name. Returns false if there is none. */
bool fth_ptx_tensor_type_find(const char *name, enum fth_ptx_tensor_type *type);

/* Finds a type by its number in CUDA (CUtensorMapDataType). Returns false if there is none. */
bool fth_ptx_tensor_type_of_cuda(unsigned number, enum fth_ptx_tensor_type *type);

/* Checks the rules of cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col. */
FTH_MUST_USE enum fth_status fth_ptx_tensor_map_check(const struct fth_ptx_tensor_map *map,
                                                      struct fth_error *error);
/* Checks the map and writes it in the engine's encoding. */
FTH_MUST_USE enum fth_status fth_ptx_tensor_map_encode(const struct fth_ptx_tensor_map *map,
                                                       unsigned char bytes[FTH_TENSOR_MAP_BYTES],
                                                       struct fth_error *error);
/* Reads an encoded map and checks it. FTH_INVALID: the bytes are not an encoded map, or the map
 * breaks a rule. */
FTH_MUST_USE enum fth_status fth_ptx_tensor_map_decode(
    const unsigned char bytes[FTH_TENSOR_MAP_BYTES], struct fth_ptx_tensor_map *map,
    struct fth_error *error);

/* The fields that tensormap.replace can change. */
enum fth_ptx_tensor_field {
    FTH_TENSOR_ADDRESS,
    FTH_TENSOR_RANK,
    FTH_TENSOR_BOX,
    FTH_TENSOR_SIZE,
    FTH_TENSOR_STRIDE,
    FTH_TENSOR_ELEMENT_STRIDE,
    FTH_TENSOR_TYPE,
    FTH_TENSOR_INTERLEAVE,
    FTH_TENSOR_SWIZZLE,
    FTH_TENSOR_FILL
};
/* Changes one field of an encoded map. `index` selects the dimension of a box, a size, a stride (0
 * is that of dimension 1) or an element stride; it is 0 for the other fields. A map can also start
 * as 128 bytes that are 0, as it does in kernels that make maps themselves; rules are not checked
 * before the map is used. FTH_INVALID: the bytes are neither 0 nor an encoded map, there is no such
 * index, or the value does not fit into the field. */
FTH_MUST_USE enum fth_status fth_ptx_tensor_map_replace(unsigned char bytes[FTH_TENSOR_MAP_BYTES],
                                                        enum fth_ptx_tensor_field field,
                                                        unsigned index, uint64_t value,
                                                        struct fth_error *error);

#endif
