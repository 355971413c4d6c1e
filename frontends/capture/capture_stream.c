/* Streams that are captured into graphs. While a stream is captured, its launches become nodes of a
 * graph, and the program must not wait for the GPU. */
#include "capture.h"

#include <stdatomic.h>

static atomic_int recordings; /* streams that are being captured */

bool capture_is_recording(void)
{
    return recordings > 0;
}

bool capture_records(void *stream)
{
    enum { NOT_CAPTURED = 0 };
    int status = NOT_CAPTURED;
    return CALL(cuStreamIsCapturing, (void *, int *), stream, &status) == SUCCESS &&
           status != NOT_CAPTURED;
}

static int began(int result)
{
    if (result == SUCCESS)
        recordings++;
    return result;
}

/* A capture ends also if it fails. */
static int ended(int result)
{
    if (recordings > 0)
        recordings--;
    return result;
}

#define STREAM_FUNCTIONS(suffix)                                                                   \
    WRAP(cuStreamBeginCapture##suffix, void *stream)                                               \
    {                                                                                              \
        return began(CALL(cuStreamBeginCapture##suffix, (void *), stream));                        \
    }                                                                                              \
    WRAP(cuStreamBeginCapture_v2##suffix, void *stream, int mode)                                  \
    {                                                                                              \
        return began(CALL(cuStreamBeginCapture_v2##suffix, (void *, int), stream, mode));          \
    }                                                                                              \
    WRAP(cuStreamBeginCaptureToGraph##suffix, void *stream, void *graph, const void *before,       \
         const void *data, size_t count, int mode)                                                 \
    {                                                                                              \
        return began(CALL(cuStreamBeginCaptureToGraph##suffix,                                     \
                          (void *, void *, const void *, const void *, size_t, int), stream,       \
                          graph, before, data, count, mode));                                      \
    }                                                                                              \
    WRAP(cuStreamEndCapture##suffix, void *stream, void **graph)                                   \
    {                                                                                              \
        return ended(CALL(cuStreamEndCapture##suffix, (void *, void **), stream, graph));          \
    }
STREAM_FUNCTIONS()
STREAM_FUNCTIONS(_ptsz)
