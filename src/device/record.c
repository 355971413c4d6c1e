/* Writes down what a device answers, for replay.c: a layer between the device and who asks it. The
 * file is opened first of all, so that a path that cannot be written is known before minutes of
 * measuring, and stands under its name only once the recording is finished. */
#include "device/recording.h"

#include <stdlib.h>
#include <string.h>

/* Recordings are made once and kept: as small as zstd makes them in reasonable time. */
enum { LEVEL = 19 };

struct recorder {
    const struct fth_device_ops *inner;
    void *inner_state;
    struct fth_zwriter *writer; /* NULL: finished, or failed */
    struct fth_error fault;     /* the first failure to write; told at the end */
    uint64_t entries;
    uint64_t checksum;
    struct fth_buffer bytes; /* of one entry */
    struct fth_buffer key;
};

/* What cannot be written does not hinder the measuring, but there will be no recording. */
static void give_up(struct recorder *recorder)
{
    fth_zwriter_abort(recorder->writer);
    recorder->writer = NULL;
}

/* Sends the bytes of the last entry on their way. */
static void flush(struct recorder *recorder)
{
    struct fth_buffer *bytes = &recorder->bytes;
    if (recorder->writer && (bytes->failed || recorder->key.failed)) {
        fth_fail(&recorder->fault, FTH_NO_MEMORY, "record", NULL, "out of memory");
        give_up(recorder);
    }
    if (!recorder->writer)
        return;
    recorder->checksum = fth_recording_checksum(recorder->checksum, bytes->data, bytes->size);
    if (fth_zwriter_write(recorder->writer, bytes->data, bytes->size, &recorder->fault) != FTH_OK)
        give_up(recorder);
    bytes->size = 0;
}

/* The device describes itself into an empty document, so that what it says is known apart. The
 * caller gets what a replay would read, not the original: a description that could not be read back
 * is noticed now. */
static enum fth_status describe(void *state, struct fth_gpu *gpu, struct fth_error *error)
{
    struct recorder *recorder = state;
    struct fth_gpu *said = NULL, *read_back = NULL;
    char *text = NULL;
    size_t size = 0;
    enum fth_status status = fth_gpu_create(&said, error);
    if (status == FTH_OK)
        status = recorder->inner->describe(recorder->inner_state, said, error);
    if (status == FTH_OK)
        status = fth_gpu_write_text(said, &text, &size, error);
    if (status == FTH_OK)
        status = fth_gpu_read_text("what the device says of itself", text, size, NULL, &read_back,
                                   error);
    if (status == FTH_OK)
        status = fth_recording_add(gpu, read_back, error);
    if (status == FTH_OK && recorder->writer) {
        fth_recording_put_description(text, size, &recorder->bytes);
        recorder->entries++;
        flush(recorder);
    }
    fth_free(text);
    fth_gpu_destroy(read_back);
    fth_gpu_destroy(said);
    return status;
}

static enum fth_status measure(void *state, const struct fth_request *requests, size_t count,
                               struct fth_samples *samples, struct fth_error *error)
{
    struct recorder *recorder = state;
    enum fth_status status =
        recorder->inner->measure(recorder->inner_state, requests, count, samples, error);
    if (status != FTH_OK)
        return status;
    for (size_t i = 0; i < count && recorder->writer; i++) {
        recorder->key.size = 0;
        fth_request_write(&requests[i], &recorder->key);
        fth_recording_put_answer(recorder->key.data, recorder->key.size, &samples[i],
                                 &recorder->bytes);
        recorder->entries++;
        flush(recorder);
    }
    return FTH_OK;
}

static enum fth_status finish(void *state, struct fth_error *error)
{
    struct recorder *recorder = state;
    enum fth_status status = FTH_OK;
    if (recorder->writer) {
        fth_recording_put_end(recorder->entries, recorder->checksum, &recorder->bytes);
        flush(recorder);
    }
    if (recorder->writer) {
        status = fth_zwriter_commit(recorder->writer, &recorder->fault);
        recorder->writer = NULL;
    }
    if (recorder->fault.status != FTH_OK)
        status = fth_fail(error, recorder->fault.status, recorder->fault.operation,
                          recorder->fault.argument, "%s", recorder->fault.cause);
    if (recorder->inner->finish) {
        enum fth_status inner = recorder->inner->finish(recorder->inner_state, error);
        status = status == FTH_OK ? inner : status;
    }
    return status;
}

static void destroy(struct recorder *recorder)
{
    fth_zwriter_abort(recorder->writer);
    fth_buffer_fini(&recorder->bytes);
    fth_buffer_fini(&recorder->key);
    free(recorder);
}

static void close_recorder(void *state)
{
    struct recorder *recorder = state;
    recorder->inner->close(recorder->inner_state);
    destroy(recorder);
}

static const struct fth_device_ops recorder_ops = {describe, measure, finish, close_recorder};

enum fth_status fth_device_record(struct fth_device *device, const char *path,
                                  struct fth_error *error)
{
    if (device->ops == &recorder_ops)
        return fth_fail(error, FTH_INVALID, "record", device->id, "it is being recorded already");
    struct recorder *recorder = calloc(1, sizeof *recorder);
    if (!recorder)
        return fth_fail(error, FTH_NO_MEMORY, "record", device->id, "out of memory");
    recorder->inner = device->ops;
    recorder->inner_state = device->state;
    recorder->checksum = FTH_RECORDING_CHECKSUM;
    enum fth_status status = fth_zwriter_open(path, LEVEL, &recorder->writer, error);
    if (status != FTH_OK) {
        destroy(recorder);
        return status;
    }
    fth_recording_put_header(device->id, &recorder->bytes);
    flush(recorder);
    device->ops = &recorder_ops;
    device->state = recorder;
    return FTH_OK;
}
