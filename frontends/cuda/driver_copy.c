/* Copies in one, two and three dimensions, and filling memory. The session finds out whether an
 * address is one of the GPU or of the host, so the direction that a function's name states is not
 * needed. */
#include "cuda_driver.h"

/* The bytes from the first to the last one of a side. */
static uint64_t extent(const struct copy_side *side, uint64_t width, uint64_t height,
                       uint64_t depth)
{
    return (depth - 1) * side->slice_pitch + (height - 1) * side->pitch + width;
}

static bool is_of_gpu(uint64_t address)
{
    struct fth_session_block block;
    return fth_session_is_device(address) ||
           (fth_session_find(driver.session, address, &block) && block.kind == FTH_MEMORY_MANAGED);
}

/* ---- copies of boxes ---- */

/* Offsets of the fields of a CUDA_MEMCPY3D. It has a source and a destination, with the same
 * fields, and the size of the box. */
enum {
    SIDE_BYTES = 88,
    SIDE_TYPE = 32,
    SIDE_HOST = 40,
    SIDE_DEVICE = 48,
    SIDE_ARRAY = 56,
    SIDE_PITCH = 72,
    SIDE_HEIGHT = 80
};
/* Types of memory (CUmemorytype). */
enum { HOST = 1, DEVICE = 2, ARRAY = 3, UNIFIED = 4 };

/* The largest size of a box in one dimension, in bytes, rows or images, for which the number of its
 * bytes cannot overflow. */
#define MAX_EXTENT ((uint64_t)1 << 40)

struct box {
    uint64_t width, height, depth; /* bytes, rows, images */
};

/* Reads the array of one side. Returns false unless the box is inside of it. */
static bool read_array(const char *side, const struct box *box, struct copy_side *out)
{
    struct array_shape shape;
    const uint64_t x = field(side, 0, 8), y = field(side, 8, 8), z = field(side, 16, 8);
    if (!driver_array_shape(field(side, SIDE_ARRAY, 8), &shape) || x > shape.row_bytes ||
        box->width > shape.row_bytes - x || y > shape.rows || box->height > shape.rows - y ||
        z > shape.images || box->depth > shape.images - z)
        return false;
    *out = (struct copy_side){shape.address, shape.row_bytes, shape.row_bytes * shape.rows};
    return true;
}

/* Reads one side of a copy. Returns false if it is not valid. */
static bool read_side(const char *side, const struct box *box, struct copy_side *out)
{
    const uint64_t x = field(side, 0, 8), y = field(side, 8, 8), z = field(side, 16, 8),
                   type = field(side, SIDE_TYPE, 4);
    if (type == ARRAY) {
        if (!read_array(side, box, out))
            return false;
    } else {
        const uint64_t rows = field(side, SIDE_HEIGHT, 8), pitch = field(side, SIDE_PITCH, 8);
        out->address = field(side, type == HOST ? SIDE_HOST : SIDE_DEVICE, 8);
        out->pitch = pitch ? pitch : box->width;
        out->slice_pitch = out->pitch * (rows ? rows : box->height);
        if (x > MAX_EXTENT || out->pitch > MAX_EXTENT || rows > MAX_EXTENT ||
            (pitch && box->height > 1 && pitch < x + box->width) ||
            (rows && box->depth > 1 && rows < box->height))
            return false;
    }
    out->address += z * out->slice_pitch + y * out->pitch + x;
    return type >= HOST && type <= UNIFIED;
}

/* Reads a CUDA_MEMCPY3D. */
static bool read_box(const void *copy, struct box *box, struct copy_side *to,
                     struct copy_side *from)
{
    const char *const source = copy, *const target = source + SIDE_BYTES,
                      *const size = target + SIDE_BYTES;
    *box = (struct box){field(size, 0, 8), field(size, 8, 8), field(size, 16, 8)};
    return box->width <= MAX_EXTENT && box->height <= MAX_EXTENT && box->depth <= MAX_EXTENT &&
           read_side(source, box, from) && read_side(target, box, to);
}

int driver_copy(const struct operation *operation)
{
    struct copy_side to, from;
    struct box box;
    if (!read_box(operation->copy, &box, &to, &from))
        return INVALID_VALUE;
    if (box.width == 0 || box.height == 0 || box.depth == 0)
        return SUCCESS;
    char *target =
        fth_session_host(driver.session, to.address, extent(&to, box.width, box.height, box.depth));
    const char *source = fth_session_host(driver.session, from.address,
                                          extent(&from, box.width, box.height, box.depth));
    if (!target || !source)
        return INVALID_VALUE;
    for (uint64_t z = 0; z < box.depth; z++)
        for (uint64_t y = 0; y < box.height; y++)
            memmove(target + z * to.slice_pitch + y * to.pitch,
                    source + z * from.slice_pitch + y * from.pitch, (size_t)box.width);
    fth_session_add_copy_time(driver.session, box.width * box.height * box.depth,
                              is_of_gpu(to.address) && is_of_gpu(from.address));
    return SUCCESS;
}

int driver_read_copy(const void *copy, struct operation *operation)
{
    struct copy_side to, from;
    struct box box;
    *operation = (struct operation){.kind = OP_COPY};
    if (!copy)
        return INVALID_VALUE;
    memcpy(operation->copy, copy, sizeof operation->copy);
    return read_box(operation->copy, &box, &to, &from) ? SUCCESS : INVALID_VALUE;
}

/* Reads a CUDA_MEMCPY2D, which has the same fields in other places: two coordinates, the type, the
 * addresses, the array, and the pitch. */
static int read_flat(const void *copy, struct operation *operation)
{
    enum { FLAT_SIDE_BYTES = 56, FLAT_TYPE = 16, FLAT_PITCH = 48 };
    uint64_t box[COPY_WORDS] = {0};
    if (!copy)
        return INVALID_VALUE;
    for (size_t i = 0; i < 2; i++) {
        char *const to = (char *)box + i * SIDE_BYTES;
        const char *const from = (const char *)copy + i * FLAT_SIDE_BYTES;
        memcpy(to, from, 16);
        memcpy(to + SIDE_TYPE, from + FLAT_TYPE, 32);
        memcpy(to + SIDE_PITCH, from + FLAT_PITCH, 8);
    }
    memcpy((char *)box + (size_t)2 * SIDE_BYTES, (const char *)copy + (size_t)2 * FLAT_SIDE_BYTES,
           16);
    box[COPY_WORDS - 1] = 1;
    return driver_read_copy(box, operation);
}

/* ---- filling ---- */

int driver_fill(const struct operation *operation)
{
    const uint64_t bytes = operation->fill.element_bytes, width = operation->fill.width * bytes,
                   height = operation->fill.height, pitch = operation->fill.pitch;
    if (width == 0 || height == 0)
        return SUCCESS;
    if (operation->fill.width > MAX_EXTENT || height > MAX_EXTENT || pitch > MAX_EXTENT ||
        (height > 1 && pitch < width))
        return INVALID_VALUE;
    unsigned char *target =
        fth_session_host(driver.session, operation->fill.address, (height - 1) * pitch + width);
    if (!target)
        return INVALID_VALUE;
    for (uint64_t y = 0; y < height; y++)
        for (uint64_t x = 0; x < width; x += bytes)
            memcpy(target + y * pitch + x, &operation->fill.value, (size_t)bytes);
    fth_session_add_copy_time(driver.session, width * height, true);
    return SUCCESS;
}

/* ---- copies of a range ---- */

static int copy_range(uint64_t to, uint64_t from, size_t bytes, struct stream *stream)
{
    uint64_t box[COPY_WORDS] = {0};
    struct operation operation;
    const uint64_t type = UNIFIED;
    memcpy((char *)box + SIDE_TYPE, &type, sizeof type);
    memcpy((char *)box + SIDE_DEVICE, &from, sizeof from);
    memcpy((char *)box + SIDE_BYTES + SIDE_TYPE, &type, sizeof type);
    memcpy((char *)box + SIDE_BYTES + SIDE_DEVICE, &to, sizeof to);
    box[COPY_WORDS - 3] = bytes;
    box[COPY_WORDS - 2] = box[COPY_WORDS - 1] = 1;
    int result = driver_check();
    if (result == SUCCESS && bytes && (!to || !from))
        result = INVALID_VALUE;
    if (result == SUCCESS)
        result = driver_read_copy(box, &operation);
    return result == SUCCESS ? driver_submit(stream, &operation) : result;
}

#define ADDRESS(pointer) ((uint64_t)(uintptr_t)(pointer))

CU(cuMemcpy, uint64_t to, uint64_t from, size_t bytes)
{
    LOCK;
    return copy_range(to, from, bytes, NULL);
}
ALIAS(cuMemcpy_ptds, cuMemcpy);

CU(cuMemcpyAsync, uint64_t to, uint64_t from, size_t bytes, struct stream *stream)
{
    LOCK;
    return copy_range(to, from, bytes, stream);
}
ALIAS(cuMemcpyAsync_ptsz, cuMemcpyAsync);

CU(cuMemcpyHtoD_v2, uint64_t to, const void *from, size_t bytes)
{
    LOCK;
    return copy_range(to, ADDRESS(from), bytes, NULL);
}
ALIAS(cuMemcpyHtoD_v2_ptds, cuMemcpyHtoD_v2);

CU(cuMemcpyDtoH_v2, void *to, uint64_t from, size_t bytes)
{
    LOCK;
    return copy_range(ADDRESS(to), from, bytes, NULL);
}
ALIAS(cuMemcpyDtoH_v2_ptds, cuMemcpyDtoH_v2);

CU(cuMemcpyDtoD_v2, uint64_t to, uint64_t from, size_t bytes)
{
    LOCK;
    return copy_range(to, from, bytes, NULL);
}
ALIAS(cuMemcpyDtoD_v2_ptds, cuMemcpyDtoD_v2);

CU(cuMemcpyHtoDAsync_v2, uint64_t to, const void *from, size_t bytes, struct stream *stream)
{
    LOCK;
    return copy_range(to, ADDRESS(from), bytes, stream);
}
ALIAS(cuMemcpyHtoDAsync_v2_ptsz, cuMemcpyHtoDAsync_v2);

CU(cuMemcpyDtoHAsync_v2, void *to, uint64_t from, size_t bytes, struct stream *stream)
{
    LOCK;
    return copy_range(ADDRESS(to), from, bytes, stream);
}
ALIAS(cuMemcpyDtoHAsync_v2_ptsz, cuMemcpyDtoHAsync_v2);

CU(cuMemcpyDtoDAsync_v2, uint64_t to, uint64_t from, size_t bytes, struct stream *stream)
{
    LOCK;
    return copy_range(to, from, bytes, stream);
}
ALIAS(cuMemcpyDtoDAsync_v2_ptsz, cuMemcpyDtoDAsync_v2);

/* Copies between contexts: all of them share the memory. */
CU(cuMemcpyPeer, uint64_t to, struct context *to_context, uint64_t from,
   struct context *from_context, size_t bytes)
{
    LOCK;
    (void)to_context, (void)from_context;
    return copy_range(to, from, bytes, NULL);
}
ALIAS(cuMemcpyPeer_ptds, cuMemcpyPeer);

CU(cuMemcpyPeerAsync, uint64_t to, struct context *to_context, uint64_t from,
   struct context *from_context, size_t bytes, struct stream *stream)
{
    LOCK;
    (void)to_context, (void)from_context;
    return copy_range(to, from, bytes, stream);
}
ALIAS(cuMemcpyPeerAsync_ptsz, cuMemcpyPeerAsync);

/* ---- copies of rectangles and boxes ---- */

static int copy_box(const void *copy, int (*read)(const void *, struct operation *),
                    struct stream *stream)
{
    struct operation operation;
    int result = driver_check();
    if (result == SUCCESS)
        result = read(copy, &operation);
    return result == SUCCESS ? driver_submit(stream, &operation) : result;
}

CU(cuMemcpy2D_v2, const void *copy)
{
    LOCK;
    return copy_box(copy, read_flat, NULL);
}
ALIAS(cuMemcpy2D_v2_ptds, cuMemcpy2D_v2);
ALIAS(cuMemcpy2DUnaligned_v2, cuMemcpy2D_v2);
ALIAS(cuMemcpy2DUnaligned_v2_ptds, cuMemcpy2D_v2);

CU(cuMemcpy2DAsync_v2, const void *copy, struct stream *stream)
{
    LOCK;
    return copy_box(copy, read_flat, stream);
}
ALIAS(cuMemcpy2DAsync_v2_ptsz, cuMemcpy2DAsync_v2);

CU(cuMemcpy3D_v2, const void *copy)
{
    LOCK;
    return copy_box(copy, driver_read_copy, NULL);
}
ALIAS(cuMemcpy3D_v2_ptds, cuMemcpy3D_v2);
/* A CUDA_MEMCPY3D_PEER has contexts in fields that a CUDA_MEMCPY3D reserves. */
ALIAS(cuMemcpy3DPeer, cuMemcpy3D_v2);
ALIAS(cuMemcpy3DPeer_ptds, cuMemcpy3D_v2);

CU(cuMemcpy3DAsync_v2, const void *copy, struct stream *stream)
{
    LOCK;
    return copy_box(copy, driver_read_copy, stream);
}
ALIAS(cuMemcpy3DAsync_v2_ptsz, cuMemcpy3DAsync_v2);
ALIAS(cuMemcpy3DPeerAsync, cuMemcpy3DAsync_v2);
ALIAS(cuMemcpy3DPeerAsync_ptsz, cuMemcpy3DAsync_v2);

/* ---- copies of a range of the first row of an array ---- */

/* Returns the address of a range of an array, or 0 if the range is not inside of its first row. */
static uint64_t array_range(uint64_t array, size_t offset, size_t bytes)
{
    struct array_shape shape;
    return driver_array_shape(array, &shape) && offset <= shape.row_bytes &&
                   bytes <= shape.row_bytes - offset
               ? shape.address + offset
               : 0;
}

CU(cuMemcpyHtoAAsync_v2, uint64_t array, size_t offset, const void *from, size_t bytes,
   struct stream *stream)
{
    LOCK;
    return copy_range(array_range(array, offset, bytes), ADDRESS(from), bytes, stream);
}
ALIAS(cuMemcpyHtoAAsync_v2_ptsz, cuMemcpyHtoAAsync_v2);

CU(cuMemcpyHtoA_v2, uint64_t array, size_t offset, const void *from, size_t bytes)
{
    return cuMemcpyHtoAAsync_v2(array, offset, from, bytes, NULL);
}
ALIAS(cuMemcpyHtoA_v2_ptds, cuMemcpyHtoA_v2);

CU(cuMemcpyAtoHAsync_v2, void *to, uint64_t array, size_t offset, size_t bytes,
   struct stream *stream)
{
    LOCK;
    return copy_range(ADDRESS(to), array_range(array, offset, bytes), bytes, stream);
}
ALIAS(cuMemcpyAtoHAsync_v2_ptsz, cuMemcpyAtoHAsync_v2);

CU(cuMemcpyAtoH_v2, void *to, uint64_t array, size_t offset, size_t bytes)
{
    return cuMemcpyAtoHAsync_v2(to, array, offset, bytes, NULL);
}
ALIAS(cuMemcpyAtoH_v2_ptds, cuMemcpyAtoH_v2);

CU(cuMemcpyDtoA_v2, uint64_t array, size_t offset, uint64_t from, size_t bytes)
{
    LOCK;
    return copy_range(array_range(array, offset, bytes), from, bytes, NULL);
}
ALIAS(cuMemcpyDtoA_v2_ptds, cuMemcpyDtoA_v2);

CU(cuMemcpyAtoD_v2, uint64_t to, uint64_t array, size_t offset, size_t bytes)
{
    LOCK;
    return copy_range(to, array_range(array, offset, bytes), bytes, NULL);
}
ALIAS(cuMemcpyAtoD_v2_ptds, cuMemcpyAtoD_v2);

CU(cuMemcpyAtoA_v2, uint64_t to, size_t to_offset, uint64_t from, size_t from_offset, size_t bytes)
{
    LOCK;
    return copy_range(array_range(to, to_offset, bytes), array_range(from, from_offset, bytes),
                      bytes, NULL);
}
ALIAS(cuMemcpyAtoA_v2_ptds, cuMemcpyAtoA_v2);

/* ---- functions that fill memory ---- */

static int fill(uint64_t address, size_t pitch, uint32_t value, unsigned bytes, size_t width,
                size_t height, struct stream *stream)
{
    struct operation operation = {.kind = OP_FILL};
    const int result = driver_check();
    operation.fill.address = address;
    operation.fill.pitch = pitch;
    operation.fill.value = value;
    operation.fill.element_bytes = bytes;
    operation.fill.width = width;
    operation.fill.height = height;
    if (result != SUCCESS)
        return result;
    return address % bytes || pitch % bytes ? INVALID_VALUE : driver_submit(stream, &operation);
}

/* The functions for elements of one, two and four bytes. */
#define FILL(bits, type)                                                                           \
    CU(cuMemsetD##bits##_v2, uint64_t address, type value, size_t count)                           \
    {                                                                                              \
        LOCK;                                                                                      \
        return fill(address, 0, value, bits / 8, count, 1, NULL);                                  \
    }                                                                                              \
    ALIAS(cuMemsetD##bits##_v2_ptds, cuMemsetD##bits##_v2);                                        \
    CU(cuMemsetD##bits##Async, uint64_t address, type value, size_t count, struct stream *stream)  \
    {                                                                                              \
        LOCK;                                                                                      \
        return fill(address, 0, value, bits / 8, count, 1, stream);                                \
    }                                                                                              \
    ALIAS(cuMemsetD##bits##Async_ptsz, cuMemsetD##bits##Async);                                    \
    CU(cuMemsetD2D##bits##_v2, uint64_t address, size_t pitch, type value, size_t width,           \
       size_t height)                                                                              \
    {                                                                                              \
        LOCK;                                                                                      \
        return fill(address, pitch, value, bits / 8, width, height, NULL);                         \
    }                                                                                              \
    ALIAS(cuMemsetD2D##bits##_v2_ptds, cuMemsetD2D##bits##_v2);                                    \
    CU(cuMemsetD2D##bits##Async, uint64_t address, size_t pitch, type value, size_t width,         \
       size_t height, struct stream *stream)                                                       \
    {                                                                                              \
        LOCK;                                                                                      \
        return fill(address, pitch, value, bits / 8, width, height, stream);                       \
    }                                                                                              \
    ALIAS(cuMemsetD2D##bits##Async_ptsz, cuMemsetD2D##bits##Async)

FILL(8, unsigned char);
FILL(16, unsigned short);
FILL(32, unsigned);
