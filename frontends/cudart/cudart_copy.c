/* Copies and sets of linear memory in one, two and three dimensions, and of arrays.
 *
 * Most functions exist in four forms: synchronous or not, and for the default stream of the process
 * or of the thread. One function per shape does the work. The synchronous form for a thread's
 * default stream is an asynchronous copy followed by a wait.
 */
#include "cudart.h"

/* Waits for the copies of synchronous calls that were made in the thread's default stream. */
static int finish(int error, struct fth_cu_stream *stream, bool wait)
{
    return error || !wait ? error : cuStreamSynchronize(stream);
}

int fth_copy(uint64_t target, uint64_t source, size_t bytes, int kind, struct fth_cu_stream *stream,
             bool wait)
{
    if (bytes == 0)
        return FTH_SUCCESS;
    bool plain = wait && !stream;
    int error = FTH_INVALID_DIRECTION;
    switch (kind) {
    case FTH_HOST_TO_DEVICE:
        error = plain ? cuMemcpyHtoD_v2(target, fth_pointer(source), bytes)
                      : cuMemcpyHtoDAsync_v2(target, fth_pointer(source), bytes, stream);
        break;
    case FTH_DEVICE_TO_HOST:
        error = plain ? cuMemcpyDtoH_v2(fth_pointer(target), source, bytes)
                      : cuMemcpyDtoHAsync_v2(fth_pointer(target), source, bytes, stream);
        break;
    case FTH_DEVICE_TO_DEVICE:
        error = plain ? cuMemcpyDtoD_v2(target, source, bytes)
                      : cuMemcpyDtoDAsync_v2(target, source, bytes, stream);
        break;
    case FTH_HOST_TO_HOST:
    case FTH_BY_ADDRESS:
        error =
            plain ? cuMemcpy(target, source, bytes) : cuMemcpyAsync(target, source, bytes, stream);
        break;
    default: break;
    }
    return finish(error, stream, wait && !plain);
}

static int copy_1d(void *target, const void *source, size_t bytes, int kind,
                   struct fth_cu_stream *stream, bool wait)
{
    int error = fth_enter();
    if (!error)
        error = fth_copy(fth_address(target), fth_address(source), bytes, kind, stream, wait);
    return fth_leave(error);
}

FTH_API int cudaMemcpy(void *target, const void *source, size_t bytes, int kind)
{
    return copy_1d(target, source, bytes, kind, NULL, true);
}

FTH_API int cudaMemcpy_ptds(void *target, const void *source, size_t bytes, int kind)
{
    return copy_1d(target, source, bytes, kind, FTH_PER_THREAD_STREAM, true);
}

FTH_API int cudaMemcpyAsync(void *target, const void *source, size_t bytes, int kind,
                            struct fth_cu_stream *stream)
{
    return copy_1d(target, source, bytes, kind, stream, false);
}

FTH_API int cudaMemcpyAsync_ptsz(void *target, const void *source, size_t bytes, int kind,
                                 struct fth_cu_stream *stream)
{
    return copy_1d(target, source, bytes, kind, fth_per_thread(stream), false);
}

/* Fathom simulates one device, so a copy between two devices can only name the same device twice.
 */
static int copy_peer(void *target, int target_device, const void *source, int source_device,
                     size_t bytes, struct fth_cu_stream *stream, bool wait)
{
    int device = 0, error = fth_enter();
    if (!error)
        error = cuDeviceGet(&device, target_device);
    if (!error)
        error = cuDeviceGet(&device, source_device);
    if (!error)
        error = fth_copy(fth_address(target), fth_address(source), bytes, FTH_DEVICE_TO_DEVICE,
                         stream, wait);
    return fth_leave(error);
}

FTH_API int cudaMemcpyPeer(void *target, int target_device, const void *source, int source_device,
                           size_t bytes)
{
    return copy_peer(target, target_device, source, source_device, bytes, NULL, true);
}

FTH_API int cudaMemcpyPeerAsync(void *target, int target_device, const void *source,
                                int source_device, size_t bytes, struct fth_cu_stream *stream)
{
    return copy_peer(target, target_device, source, source_device, bytes, stream, false);
}

/* Types of memory at both ends of a copy. Returns false if there is no such direction. */
static bool types_of(int kind, int *source, int *target)
{
    static const int types[][2] = {{FTH_CU_HOST, FTH_CU_HOST},
                                   {FTH_CU_HOST, FTH_CU_DEVICE},
                                   {FTH_CU_DEVICE, FTH_CU_HOST},
                                   {FTH_CU_DEVICE, FTH_CU_DEVICE},
                                   {FTH_CU_UNIFIED, FTH_CU_UNIFIED}};
    if (kind < FTH_HOST_TO_HOST || kind > FTH_BY_ADDRESS)
        return false;
    *source = types[kind][0];
    *target = types[kind][1];
    return true;
}

/* One end of a copy in two dimensions: memory with a pitch, or an array. */
struct plane {
    const void *pointer;
    size_t pitch;
    const struct fth_cu_array *array;
    size_t x, y; /* x in bytes */
};

static int copy_2d(struct plane target, struct plane source, size_t width, size_t height, int kind,
                   struct fth_cu_stream *stream, bool wait)
{
    struct fth_cu_copy_2d copy = {
        .source_x = source.x,
        .source_y = source.y,
        .source_host = source.pointer,
        .source_device = fth_address(source.pointer),
        .source_array = source.array,
        .source_pitch = source.pitch,
        .target_x = target.x,
        .target_y = target.y,
        .target_host = fth_pointer(fth_address(target.pointer)),
        .target_device = fth_address(target.pointer),
        .target_array = fth_pointer(fth_address(target.array)),
        .target_pitch = target.pitch,
        .width = width,
        .height = height,
    };
    int error = fth_enter();
    if (!error && !types_of(kind, &copy.source_type, &copy.target_type))
        error = FTH_INVALID_DIRECTION;
    if (!error &&
        ((!source.array && source.pitch < width) || (!target.array && target.pitch < width)))
        error = FTH_INVALID_PITCH;
    if (source.array)
        copy.source_type = FTH_CU_ARRAY;
    if (target.array)
        copy.target_type = FTH_CU_ARRAY;
    if (error || width == 0 || height == 0)
        return fth_leave(error);
    bool plain = wait && !stream;
    error = plain ? cuMemcpy2DUnaligned_v2(&copy) : cuMemcpy2DAsync_v2(&copy, stream);
    return fth_leave(finish(error, stream, wait && !plain));
}

FTH_API int cudaMemcpy2D(void *target, size_t target_pitch, const void *source, size_t source_pitch,
                         size_t width, size_t height, int kind)
{
    return copy_2d((struct plane){target, target_pitch, NULL, 0, 0},
                   (struct plane){source, source_pitch, NULL, 0, 0}, width, height, kind, NULL,
                   true);
}

FTH_API int cudaMemcpy2D_ptds(void *target, size_t target_pitch, const void *source,
                              size_t source_pitch, size_t width, size_t height, int kind)
{
    return copy_2d((struct plane){target, target_pitch, NULL, 0, 0},
                   (struct plane){source, source_pitch, NULL, 0, 0}, width, height, kind,
                   FTH_PER_THREAD_STREAM, true);
}

FTH_API int cudaMemcpy2DAsync(void *target, size_t target_pitch, const void *source,
                              size_t source_pitch, size_t width, size_t height, int kind,
                              struct fth_cu_stream *stream)
{
    return copy_2d((struct plane){target, target_pitch, NULL, 0, 0},
                   (struct plane){source, source_pitch, NULL, 0, 0}, width, height, kind, stream,
                   false);
}

FTH_API int cudaMemcpy2DAsync_ptsz(void *target, size_t target_pitch, const void *source,
                                   size_t source_pitch, size_t width, size_t height, int kind,
                                   struct fth_cu_stream *stream)
{
    return cudaMemcpy2DAsync(target, target_pitch, source, source_pitch, width, height, kind,
                             fth_per_thread(stream));
}

static int copy_to_array(struct fth_cu_array *target, size_t x, size_t y, const void *source,
                         size_t pitch, size_t width, size_t height, int kind,
                         struct fth_cu_stream *stream, bool wait)
{
    return copy_2d((struct plane){NULL, 0, target, x, y}, (struct plane){source, pitch, NULL, 0, 0},
                   width, height, kind, stream, wait);
}

static int copy_from_array(void *target, size_t pitch, const struct fth_cu_array *source, size_t x,
                           size_t y, size_t width, size_t height, int kind,
                           struct fth_cu_stream *stream, bool wait)
{
    return copy_2d((struct plane){target, pitch, NULL, 0, 0}, (struct plane){NULL, 0, source, x, y},
                   width, height, kind, stream, wait);
}

FTH_API int cudaMemcpy2DToArray(struct fth_cu_array *target, size_t x, size_t y, const void *source,
                                size_t pitch, size_t width, size_t height, int kind)
{
    return copy_to_array(target, x, y, source, pitch, width, height, kind, NULL, true);
}

FTH_API int cudaMemcpy2DToArray_ptds(struct fth_cu_array *target, size_t x, size_t y,
                                     const void *source, size_t pitch, size_t width, size_t height,
                                     int kind)
{
    return copy_to_array(target, x, y, source, pitch, width, height, kind, FTH_PER_THREAD_STREAM,
                         true);
}

FTH_API int cudaMemcpy2DToArrayAsync(struct fth_cu_array *target, size_t x, size_t y,
                                     const void *source, size_t pitch, size_t width, size_t height,
                                     int kind, struct fth_cu_stream *stream)
{
    return copy_to_array(target, x, y, source, pitch, width, height, kind, stream, false);
}

FTH_API int cudaMemcpy2DToArrayAsync_ptsz(struct fth_cu_array *target, size_t x, size_t y,
                                          const void *source, size_t pitch, size_t width,
                                          size_t height, int kind, struct fth_cu_stream *stream)
{
    return copy_to_array(target, x, y, source, pitch, width, height, kind, fth_per_thread(stream),
                         false);
}

FTH_API int cudaMemcpy2DFromArray(void *target, size_t pitch, const struct fth_cu_array *source,
                                  size_t x, size_t y, size_t width, size_t height, int kind)
{
    return copy_from_array(target, pitch, source, x, y, width, height, kind, NULL, true);
}

FTH_API int cudaMemcpy2DFromArray_ptds(void *target, size_t pitch,
                                       const struct fth_cu_array *source, size_t x, size_t y,
                                       size_t width, size_t height, int kind)
{
    return copy_from_array(target, pitch, source, x, y, width, height, kind, FTH_PER_THREAD_STREAM,
                           true);
}

FTH_API int cudaMemcpy2DFromArrayAsync(void *target, size_t pitch,
                                       const struct fth_cu_array *source, size_t x, size_t y,
                                       size_t width, size_t height, int kind,
                                       struct fth_cu_stream *stream)
{
    return copy_from_array(target, pitch, source, x, y, width, height, kind, stream, false);
}

FTH_API int cudaMemcpy2DFromArrayAsync_ptsz(void *target, size_t pitch,
                                            const struct fth_cu_array *source, size_t x, size_t y,
                                            size_t width, size_t height, int kind,
                                            struct fth_cu_stream *stream)
{
    return copy_from_array(target, pitch, source, x, y, width, height, kind, fth_per_thread(stream),
                           false);
}

FTH_API int cudaMemcpy2DArrayToArray(struct fth_cu_array *target, size_t target_x, size_t target_y,
                                     const struct fth_cu_array *source, size_t source_x,
                                     size_t source_y, size_t width, size_t height, int kind)
{
    return copy_2d((struct plane){NULL, 0, target, target_x, target_y},
                   (struct plane){NULL, 0, source, source_x, source_y}, width, height, kind, NULL,
                   true);
}

FTH_API int cudaMemcpy2DArrayToArray_ptds(struct fth_cu_array *target, size_t target_x,
                                          size_t target_y, const struct fth_cu_array *source,
                                          size_t source_x, size_t source_y, size_t width,
                                          size_t height, int kind)
{
    return copy_2d((struct plane){NULL, 0, target, target_x, target_y},
                   (struct plane){NULL, 0, source, source_x, source_y}, width, height, kind,
                   FTH_PER_THREAD_STREAM, true);
}

/* Returns the bytes per element of an array. */
static int element_bytes(const struct fth_cu_array *array, size_t *bytes)
{
    struct fth_cu_array_shape shape;
    int error = cuArray3DGetDescriptor_v2(&shape, array);
    if (error)
        return error;
    struct fth_channel channel = fth_channel_of(shape.format, shape.channels);
    int bits = channel.bits[0] + channel.bits[1] + channel.bits[2] + channel.bits[3];
    *bytes = (size_t)bits / 8;
    return bits ? FTH_SUCCESS : FTH_INVALID_CHANNEL;
}

/* Positions and widths count elements where an array takes part, and bytes otherwise. Positions in
 * memory count bytes. */
int fth_translate_copy(const struct fth_copy_3d *copy, struct fth_cu_copy_3d *translated)
{
    size_t unit = 1, target_unit = 1;
    int error = FTH_SUCCESS;
    *translated = (struct fth_cu_copy_3d){
        .source_y = copy->source_position.y,
        .source_z = copy->source_position.z,
        .source_host = copy->source.pointer,
        .source_device = fth_address(copy->source.pointer),
        .source_array = copy->source_array,
        .source_pitch = copy->source.pitch,
        .source_height = copy->source.height,
        .target_y = copy->target_position.y,
        .target_z = copy->target_position.z,
        .target_host = copy->target.pointer,
        .target_device = fth_address(copy->target.pointer),
        .target_array = copy->target_array,
        .target_pitch = copy->target.pitch,
        .target_height = copy->target.height,
        .height = copy->extent.height,
        .depth = copy->extent.depth,
    };
    if (!types_of(copy->kind, &translated->source_type, &translated->target_type))
        return FTH_INVALID_DIRECTION;
    if ((copy->source_array && copy->source.pointer) ||
        (copy->target_array && copy->target.pointer))
        return FTH_INVALID_VALUE;
    if (copy->source_array) {
        translated->source_type = FTH_CU_ARRAY;
        error = element_bytes(copy->source_array, &unit);
    }
    translated->source_x = copy->source_position.x * unit;
    if (!error && copy->target_array) {
        translated->target_type = FTH_CU_ARRAY;
        error = element_bytes(copy->target_array, &target_unit);
    }
    translated->target_x = copy->target_position.x * target_unit;
    translated->width = copy->extent.width * (copy->source_array ? unit : target_unit);
    return error;
}

static int copy_3d(const struct fth_copy_3d *copy, struct fth_cu_stream *stream, bool wait)
{
    struct fth_cu_copy_3d translated;
    int error = fth_enter();
    if (!error)
        error = copy ? fth_translate_copy(copy, &translated) : FTH_INVALID_VALUE;
    if (error || copy->extent.width == 0 || copy->extent.height == 0 || copy->extent.depth == 0)
        return fth_leave(error);
    bool plain = wait && !stream;
    error = plain ? cuMemcpy3D_v2(&translated) : cuMemcpy3DAsync_v2(&translated, stream);
    return fth_leave(finish(error, stream, wait && !plain));
}

FTH_API int cudaMemcpy3D(const struct fth_copy_3d *copy)
{
    return copy_3d(copy, NULL, true);
}

FTH_API int cudaMemcpy3D_ptds(const struct fth_copy_3d *copy)
{
    return copy_3d(copy, FTH_PER_THREAD_STREAM, true);
}

FTH_API int cudaMemcpy3DAsync(const struct fth_copy_3d *copy, struct fth_cu_stream *stream)
{
    return copy_3d(copy, stream, false);
}

FTH_API int cudaMemcpy3DAsync_ptsz(const struct fth_copy_3d *copy, struct fth_cu_stream *stream)
{
    return copy_3d(copy, fth_per_thread(stream), false);
}

static int copy_3d_peer(const struct fth_copy_3d_peer *peer, struct fth_cu_stream *stream,
                        bool wait)
{
    int device = 0, error = fth_enter();
    if (!error)
        error = peer ? cuDeviceGet(&device, peer->source_device) : FTH_INVALID_VALUE;
    if (!error)
        error = cuDeviceGet(&device, peer->target_device);
    if (error)
        return fth_leave(error);
    struct fth_copy_3d copy = {
        .source_array = peer->source_array,
        .source_position = peer->source_position,
        .source = peer->source,
        .target_array = peer->target_array,
        .target_position = peer->target_position,
        .target = peer->target,
        .extent = peer->extent,
        .kind = FTH_DEVICE_TO_DEVICE,
    };
    return copy_3d(&copy, stream, wait);
}

FTH_API int cudaMemcpy3DPeer(const struct fth_copy_3d_peer *peer)
{
    return copy_3d_peer(peer, NULL, true);
}

FTH_API int cudaMemcpy3DPeer_ptds(const struct fth_copy_3d_peer *peer)
{
    return copy_3d_peer(peer, FTH_PER_THREAD_STREAM, true);
}

FTH_API int cudaMemcpy3DPeerAsync(const struct fth_copy_3d_peer *peer, struct fth_cu_stream *stream)
{
    return copy_3d_peer(peer, stream, false);
}

FTH_API int cudaMemcpy3DPeerAsync_ptsz(const struct fth_copy_3d_peer *peer,
                                       struct fth_cu_stream *stream)
{
    return copy_3d_peer(peer, fth_per_thread(stream), false);
}

static int set_1d(void *target, int value, size_t bytes, struct fth_cu_stream *stream, bool async)
{
    int error = fth_enter();
    if (error || bytes == 0)
        return fth_leave(error);
    unsigned char byte = (unsigned char)value;
    return fth_leave(async ? cuMemsetD8Async(fth_address(target), byte, bytes, stream)
                           : cuMemsetD8_v2(fth_address(target), byte, bytes));
}

FTH_API int cudaMemset(void *target, int value, size_t bytes)
{
    return set_1d(target, value, bytes, NULL, false);
}

FTH_API int cudaMemset_ptds(void *target, int value, size_t bytes)
{
    return set_1d(target, value, bytes, FTH_PER_THREAD_STREAM, true);
}

FTH_API int cudaMemsetAsync(void *target, int value, size_t bytes, struct fth_cu_stream *stream)
{
    return set_1d(target, value, bytes, stream, true);
}

FTH_API int cudaMemsetAsync_ptsz(void *target, int value, size_t bytes,
                                 struct fth_cu_stream *stream)
{
    return set_1d(target, value, bytes, fth_per_thread(stream), true);
}

/* Sets planes of rows. 'plane' is the number of rows from one plane to the next. */
static int set_3d(void *target, size_t pitch, size_t plane, int value, struct fth_extent extent,
                  struct fth_cu_stream *stream, bool async)
{
    int error = fth_enter();
    if (!error && extent.width > pitch && extent.height > 1)
        error = FTH_INVALID_PITCH;
    if (extent.width == 0 || extent.height == 0)
        return fth_leave(error);
    for (size_t z = 0; z < extent.depth && !error; z++) {
        uint64_t address = fth_address(target) + z * plane * pitch;
        unsigned char byte = (unsigned char)value;
        error = async ? cuMemsetD2D8Async(address, pitch, byte, extent.width, extent.height, stream)
                      : cuMemsetD2D8_v2(address, pitch, byte, extent.width, extent.height);
    }
    return fth_leave(error);
}

FTH_API int cudaMemset2D(void *target, size_t pitch, int value, size_t width, size_t height)
{
    return set_3d(target, pitch, height, value, (struct fth_extent){width, height, 1}, NULL, false);
}

FTH_API int cudaMemset2D_ptds(void *target, size_t pitch, int value, size_t width, size_t height)
{
    return set_3d(target, pitch, height, value, (struct fth_extent){width, height, 1},
                  FTH_PER_THREAD_STREAM, true);
}

FTH_API int cudaMemset2DAsync(void *target, size_t pitch, int value, size_t width, size_t height,
                              struct fth_cu_stream *stream)
{
    return set_3d(target, pitch, height, value, (struct fth_extent){width, height, 1}, stream,
                  true);
}

FTH_API int cudaMemset2DAsync_ptsz(void *target, size_t pitch, int value, size_t width,
                                   size_t height, struct fth_cu_stream *stream)
{
    return cudaMemset2DAsync(target, pitch, value, width, height, fth_per_thread(stream));
}

FTH_API int cudaMemset3D(struct fth_pitched target, int value, struct fth_extent extent)
{
    return set_3d(target.pointer, target.pitch, target.height, value, extent, NULL, false);
}

FTH_API int cudaMemset3D_ptds(struct fth_pitched target, int value, struct fth_extent extent)
{
    return set_3d(target.pointer, target.pitch, target.height, value, extent, FTH_PER_THREAD_STREAM,
                  true);
}

FTH_API int cudaMemset3DAsync(struct fth_pitched target, int value, struct fth_extent extent,
                              struct fth_cu_stream *stream)
{
    return set_3d(target.pointer, target.pitch, target.height, value, extent, stream, true);
}

FTH_API int cudaMemset3DAsync_ptsz(struct fth_pitched target, int value, struct fth_extent extent,
                                   struct fth_cu_stream *stream)
{
    return cudaMemset3DAsync(target, value, extent, fth_per_thread(stream));
}
