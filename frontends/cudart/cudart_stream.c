/* Streams and events. */
#include "cudart.h"

FTH_API int cudaStreamCreateWithPriority(struct fth_cu_stream **stream, unsigned flags,
                                         int priority)
{
    FTH_FORWARD(cuStreamCreateWithPriority(stream, flags, priority));
}

FTH_API int cudaStreamCreateWithFlags(struct fth_cu_stream **stream, unsigned flags)
{
    return cudaStreamCreateWithPriority(stream, flags, 0);
}

FTH_API int cudaStreamCreate(struct fth_cu_stream **stream)
{
    return cudaStreamCreateWithPriority(stream, 0, 0);
}

FTH_API int cudaStreamDestroy(struct fth_cu_stream *stream)
{
    FTH_FORWARD(cuStreamDestroy_v2(stream));
}

FTH_API int cudaStreamSynchronize(struct fth_cu_stream *stream)
{
    FTH_FORWARD(cuStreamSynchronize(stream));
}

FTH_API int cudaStreamSynchronize_ptsz(struct fth_cu_stream *stream)
{
    return cudaStreamSynchronize(fth_per_thread(stream));
}

FTH_API int cudaStreamQuery(struct fth_cu_stream *stream)
{
    FTH_FORWARD(cuStreamQuery(stream));
}

FTH_API int cudaStreamQuery_ptsz(struct fth_cu_stream *stream)
{
    return cudaStreamQuery(fth_per_thread(stream));
}

FTH_API int cudaStreamWaitEvent(struct fth_cu_stream *stream, struct fth_cu_event *event,
                                unsigned flags)
{
    FTH_FORWARD(cuStreamWaitEvent(stream, event, flags));
}

FTH_API int cudaStreamWaitEvent_ptsz(struct fth_cu_stream *stream, struct fth_cu_event *event,
                                     unsigned flags)
{
    return cudaStreamWaitEvent(fth_per_thread(stream), event, flags);
}

FTH_API int cudaStreamGetPriority(struct fth_cu_stream *stream, int *priority)
{
    FTH_FORWARD(cuStreamGetPriority(stream, priority));
}

FTH_API int cudaStreamGetPriority_ptsz(struct fth_cu_stream *stream, int *priority)
{
    return cudaStreamGetPriority(fth_per_thread(stream), priority);
}

FTH_API int cudaStreamGetFlags(struct fth_cu_stream *stream, unsigned *flags)
{
    FTH_FORWARD(cuStreamGetFlags(stream, flags));
}

FTH_API int cudaStreamGetFlags_ptsz(struct fth_cu_stream *stream, unsigned *flags)
{
    return cudaStreamGetFlags(fth_per_thread(stream), flags);
}

FTH_API int cudaStreamGetId(struct fth_cu_stream *stream, unsigned long long *id)
{
    FTH_FORWARD(cuStreamGetId(stream, id));
}

FTH_API int cudaStreamGetId_ptsz(struct fth_cu_stream *stream, unsigned long long *id)
{
    return cudaStreamGetId(fth_per_thread(stream), id);
}

FTH_API int cudaStreamGetDevice(struct fth_cu_stream *stream, int *device)
{
    FTH_FORWARD(cuStreamGetDevice(stream, device));
}

FTH_API int cudaStreamGetDevice_ptsz(struct fth_cu_stream *stream, int *device)
{
    return cudaStreamGetDevice(fth_per_thread(stream), device);
}

FTH_API int cudaStreamCopyAttributes(struct fth_cu_stream *target, struct fth_cu_stream *source)
{
    FTH_FORWARD(cuStreamCopyAttributes(target, source));
}

FTH_API int cudaStreamCopyAttributes_ptsz(struct fth_cu_stream *target,
                                          struct fth_cu_stream *source)
{
    return cudaStreamCopyAttributes(fth_per_thread(target), fth_per_thread(source));
}

FTH_API int cudaStreamGetAttribute(struct fth_cu_stream *stream, int attribute, void *value)
{
    FTH_FORWARD(cuStreamGetAttribute(stream, attribute, value));
}

FTH_API int cudaStreamGetAttribute_ptsz(struct fth_cu_stream *stream, int attribute, void *value)
{
    return cudaStreamGetAttribute(fth_per_thread(stream), attribute, value);
}

FTH_API int cudaStreamSetAttribute(struct fth_cu_stream *stream, int attribute, const void *value)
{
    FTH_FORWARD(cuStreamSetAttribute(stream, attribute, value));
}

FTH_API int cudaStreamSetAttribute_ptsz(struct fth_cu_stream *stream, int attribute,
                                        const void *value)
{
    return cudaStreamSetAttribute(fth_per_thread(stream), attribute, value);
}

FTH_API int cudaStreamAddCallback(struct fth_cu_stream *stream,
                                  void (*function)(struct fth_cu_stream *, int, void *), void *data,
                                  unsigned flags)
{
    FTH_FORWARD(cuStreamAddCallback(stream, function, data, flags));
}

FTH_API int cudaStreamAddCallback_ptsz(struct fth_cu_stream *stream,
                                       void (*function)(struct fth_cu_stream *, int, void *),
                                       void *data, unsigned flags)
{
    return cudaStreamAddCallback(fth_per_thread(stream), function, data, flags);
}

FTH_API int cudaStreamAttachMemAsync(struct fth_cu_stream *stream, void *pointer, size_t bytes,
                                     unsigned flags)
{
    FTH_FORWARD(cuStreamAttachMemAsync(stream, fth_address(pointer), bytes, flags));
}

FTH_API int cudaStreamAttachMemAsync_ptsz(struct fth_cu_stream *stream, void *pointer, size_t bytes,
                                          unsigned flags)
{
    return cudaStreamAttachMemAsync(fth_per_thread(stream), pointer, bytes, flags);
}

FTH_API int cudaEventCreateWithFlags(struct fth_cu_event **event, unsigned flags)
{
    FTH_FORWARD(cuEventCreate(event, flags));
}

FTH_API int cudaEventCreate(struct fth_cu_event **event)
{
    return cudaEventCreateWithFlags(event, 0);
}

FTH_API int cudaEventDestroy(struct fth_cu_event *event)
{
    FTH_FORWARD(cuEventDestroy_v2(event));
}

FTH_API int cudaEventRecordWithFlags(struct fth_cu_event *event, struct fth_cu_stream *stream,
                                     unsigned flags)
{
    FTH_FORWARD(cuEventRecordWithFlags(event, stream, flags));
}

FTH_API int cudaEventRecordWithFlags_ptsz(struct fth_cu_event *event, struct fth_cu_stream *stream,
                                          unsigned flags)
{
    return cudaEventRecordWithFlags(event, fth_per_thread(stream), flags);
}

FTH_API int cudaEventRecord(struct fth_cu_event *event, struct fth_cu_stream *stream)
{
    return cudaEventRecordWithFlags(event, stream, 0);
}

FTH_API int cudaEventRecord_ptsz(struct fth_cu_event *event, struct fth_cu_stream *stream)
{
    return cudaEventRecordWithFlags(event, fth_per_thread(stream), 0);
}

FTH_API int cudaEventQuery(struct fth_cu_event *event)
{
    FTH_FORWARD(cuEventQuery(event));
}

FTH_API int cudaEventSynchronize(struct fth_cu_event *event)
{
    FTH_FORWARD(cuEventSynchronize(event));
}

FTH_API int cudaEventElapsedTime(float *milliseconds, struct fth_cu_event *start,
                                 struct fth_cu_event *end)
{
    FTH_FORWARD(cuEventElapsedTime(milliseconds, start, end));
}

FTH_API int cudaProfilerStart(void)
{
    FTH_FORWARD(cuProfilerStart());
}

FTH_API int cudaProfilerStop(void)
{
    FTH_FORWARD(cuProfilerStop());
}
