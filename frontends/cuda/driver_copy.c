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
    return address >= FTH_SESSION_BASE ||
           (fth_session_find(driver.session, address, &block) && block.kind == FTH_MEMORY_MANAGED);
}

int driver_copy(const struct operation *operation)
{
    const struct copy_side *to = &operation->copy.to, *from = &operation->copy.from;
    const uint64_t width = operation->copy.width, height = operation->copy.height,
                   depth = operation->copy.depth;
    if (width == 0 || height == 0 || depth == 0)
        return SUCCESS;
    char *target = fth_session_host(driver.session, to->address, extent(to, width, height, depth));
    const char *source =
        fth_session_host(driver.session, from->address, extent(from, width, height, depth));
    if (!target || !source)
        return INVALID_VALUE;
    for (uint64_t z = 0; z < depth; z++)
        for (uint64_t y = 0; y < height; y++)
            memmove(target + z * to->slice_pitch + y * to->pitch,
                    source + z * from->slice_pitch + y * from->pitch, (size_t)width);
    fth_session_add_copy_time(driver.session, width * height * depth,
                              is_of_gpu(to->address) && is_of_gpu(from->address));
    return SUCCESS;
}

int driver_fill(const struct operation *operation)
{
    const uint64_t bytes = operation->fill.element_bytes, width = operation->fill.width * bytes,
                   height = operation->fill.height, pitch = operation->fill.pitch;
    if (width == 0 || height == 0)
        return SUCCESS;
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
    struct operation operation = {.kind = OP_COPY};
    operation.copy.to = (struct copy_side){to, bytes, bytes};
    operation.copy.from = (struct copy_side){from, bytes, bytes};
    operation.copy.width = bytes;
    operation.copy.height = operation.copy.depth = 1;
    const int result = driver_check();
    return result != SUCCESS ? result : driver_submit(stream, &operation);
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

/* ---- copies of rectangles and boxes ---- */

/* Offsets of the fields of CUDA_MEMCPY2D and CUDA_MEMCPY3D. Each has a source and a destination,
 * with the same fields. */
struct layout {
    size_t side_bytes, type, host, device, array, pitch, height;
};
static const struct layout flat = {56, 16, 24, 32, 40, 48, 0};
static const struct layout solid = {88, 32, 40, 48, 56, 72, 80};

/* Reads one side of a copy at `side`. Returns false if it is not valid. */
static bool read_side(const char *side, const struct layout *layout, uint64_t rows,
                      struct copy_side *out)
{
    enum { HOST = 1, DEVICE, ARRAY, UNIFIED };
    const uint64_t x = field(side, 0, 8), y = field(side, 8, 8),
                   z = layout == &solid ? field(side, 16, 8) : 0;
    const uint64_t type = field(side, layout->type, 4);
    if (type == ARRAY) {
        if (!driver_array_side(field(side, layout->array, 8), out))
            return false;
    } else {
        const uint64_t height = layout->height ? field(side, layout->height, 8) : 0;
        out->address = field(side, type == HOST ? layout->host : layout->device, 8);
        out->pitch = field(side, layout->pitch, 8);
        out->slice_pitch = out->pitch * (height ? height : rows);
    }
    out->address += z * out->slice_pitch + y * out->pitch + x;
    return type >= HOST && type <= UNIFIED;
}

/* Reads a CUDA_MEMCPY2D or CUDA_MEMCPY3D. */
static int read_box(const void *copy, const struct layout *layout, struct operation *operation)
{
    if (!copy)
        return INVALID_VALUE;
    const char *from = copy, *to = from + layout->side_bytes, *size = to + layout->side_bytes;
    *operation = (struct operation){.kind = OP_COPY};
    operation->copy.width = field(size, 0, 8);
    operation->copy.height = field(size, 8, 8);
    operation->copy.depth = layout == &solid ? field(size, 16, 8) : 1;
    return read_side(from, layout, operation->copy.height, &operation->copy.from) &&
                   read_side(to, layout, operation->copy.height, &operation->copy.to)
               ? SUCCESS
               : INVALID_VALUE;
}

int driver_read_copy(const void *copy, struct operation *operation)
{
    return read_box(copy, &solid, operation);
}

static int copy_box(const void *copy, const struct layout *layout, struct stream *stream)
{
    struct operation operation;
    int result = driver_check();
    if (result == SUCCESS)
        result = read_box(copy, layout, &operation);
    return result == SUCCESS ? driver_submit(stream, &operation) : result;
}

CU(cuMemcpy2D_v2, const void *copy)
{
    LOCK;
    return copy_box(copy, &flat, NULL);
}
ALIAS(cuMemcpy2D_v2_ptds, cuMemcpy2D_v2);
ALIAS(cuMemcpy2DUnaligned_v2, cuMemcpy2D_v2);
ALIAS(cuMemcpy2DUnaligned_v2_ptds, cuMemcpy2D_v2);

CU(cuMemcpy2DAsync_v2, const void *copy, struct stream *stream)
{
    LOCK;
    return copy_box(copy, &flat, stream);
}
ALIAS(cuMemcpy2DAsync_v2_ptsz, cuMemcpy2DAsync_v2);

CU(cuMemcpy3D_v2, const void *copy)
{
    LOCK;
    return copy_box(copy, &solid, NULL);
}
ALIAS(cuMemcpy3D_v2_ptds, cuMemcpy3D_v2);

CU(cuMemcpy3DAsync_v2, const void *copy, struct stream *stream)
{
    LOCK;
    return copy_box(copy, &solid, stream);
}
ALIAS(cuMemcpy3DAsync_v2_ptsz, cuMemcpy3DAsync_v2);

/* Copies a range of the first row of an array, from or to an address. */
static int copy_array_range(uint64_t array, size_t offset, uint64_t address, size_t bytes,
                            bool to_array, struct stream *stream)
{
    struct copy_side side;
    if (!driver_array_side(array, &side))
        return INVALID_HANDLE;
    side.address += offset;
    return to_array ? copy_range(side.address, address, bytes, stream)
                    : copy_range(address, side.address, bytes, stream);
}

CU(cuMemcpyHtoA_v2, uint64_t array, size_t offset, const void *from, size_t bytes)
{
    LOCK;
    return copy_array_range(array, offset, ADDRESS(from), bytes, true, NULL);
}

CU(cuMemcpyAtoH_v2, void *to, uint64_t array, size_t offset, size_t bytes)
{
    LOCK;
    return copy_array_range(array, offset, ADDRESS(to), bytes, false, NULL);
}

CU(cuMemcpyDtoA_v2, uint64_t array, size_t offset, uint64_t from, size_t bytes)
{
    LOCK;
    return copy_array_range(array, offset, from, bytes, true, NULL);
}

CU(cuMemcpyAtoD_v2, uint64_t to, uint64_t array, size_t offset, size_t bytes)
{
    LOCK;
    return copy_array_range(array, offset, to, bytes, false, NULL);
}

/* ---- filling ---- */

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
