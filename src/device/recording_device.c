/* Records what a device answers, for replay_device.c. The recorder replaces the operations of the
 * device and forwards each call to the original ones. The file is opened before anything is
 * measured, so that an unwritable path fails at once. It gets its name only when the recording is
 * complete. */
#include "device/recording.h"

#include <stdlib.h>
#include <string.h>

/* The zstd compression level. Recordings are written once and kept, so size matters more than the
 * time to compress them. Chosen, not derived. */
enum { COMPRESSION_LEVEL = 9 };

struct device_recorder {
    const struct fth_device_ops *inner;
    void *inner_state;
    struct fth_zwriter *writer; /* NULL once finished or failed */
    struct fth_error fault;     /* the first write error; reported by `finish` */
    uint64_t entries;
    uint64_t checksum;
    struct fth_buffer bytes; /* the current entry */
    struct fth_buffer key;   /* the canonical text of the current request */
};

/* Stops recording after a write error. Measuring continues. */
static void give_up(struct device_recorder *recorder)
{
    fth_zwriter_abort(recorder->writer);
    recorder->writer = NULL;
}

/* Writes the current entry to the file. */
static void flush(struct device_recorder *recorder)
{
    struct fth_buffer *bytes = &recorder->bytes;
    if (recorder->writer && (bytes->failed || recorder->key.failed)) {
        fth_no_memory(&recorder->fault, "record", NULL);
        give_up(recorder);
    }
    if (!recorder->writer)
        return;
    recorder->checksum = fth_recording_checksum(recorder->checksum, bytes->data, bytes->size);
    if (fth_zwriter_write(recorder->writer, bytes->data, bytes->size, &recorder->fault) != FTH_OK)
        give_up(recorder);
    bytes->size = 0;
}

/* The device describes itself into an empty document, so that only its own statements are recorded.
 * The caller gets the description as a replay would read it, so that a description that cannot be
 * read back is noticed now. With `optional`, an empty document is not recorded. */
typedef enum fth_status describe_function(void *state, struct fth_gpu *gpu,
                                          struct fth_error *error);
static enum fth_status record_description(struct device_recorder *recorder,
                                          describe_function *function, bool optional,
                                          struct fth_gpu *gpu, struct fth_error *error)
{
    struct fth_gpu *described = NULL, *read_back = NULL;
    char *text = NULL;
    size_t size = 0;
    enum fth_status status = fth_gpu_create(&described, error);
    if (status != FTH_OK)
        goto out;
    status = function(recorder->inner_state, described, error);
    if (status != FTH_OK || (optional && described->device.count == 0))
        goto out;
    status = fth_gpu_write_text(described, &text, &size, error);
    if (status != FTH_OK)
        goto out;
    status = fth_gpu_read_text("description from the device", text, size, NULL, &read_back, error);
    if (status != FTH_OK)
        goto out;
    status = fth_recording_add(gpu, read_back, error);
    if (status == FTH_OK && recorder->writer) {
        fth_recording_put_description(text, size, &recorder->bytes);
        recorder->entries++;
        flush(recorder);
    }
out:
    fth_free(text);
    fth_gpu_destroy(read_back);
    fth_gpu_destroy(described);
    return status;
}

static enum fth_status describe(void *state, struct fth_gpu *gpu, struct fth_error *error)
{
    struct device_recorder *recorder = state;
    return record_description(recorder, recorder->inner->describe, false, gpu, error);
}

/* The state under load is one more description in the recording. */
static enum fth_status describe_load(void *state, struct fth_gpu *gpu, struct fth_error *error)
{
    struct device_recorder *recorder = state;
    return recorder->inner->describe_load
               ? record_description(recorder, recorder->inner->describe_load, true, gpu, error)
               : FTH_OK;
}

static enum fth_status measure(void *state, const struct fth_request *requests, size_t count,
                               struct fth_samples *samples, struct fth_error *error)
{
    struct device_recorder *recorder = state;
    FTH_TRY(recorder->inner->measure(recorder->inner_state, requests, count, samples, error));
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

static void expect(void *state, const struct fth_request *requests, size_t count)
{
    struct device_recorder *recorder = state;
    if (recorder->inner->expect)
        recorder->inner->expect(recorder->inner_state, requests, count);
}

static enum fth_status finish(void *state, struct fth_error *error)
{
    struct device_recorder *recorder = state;
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
        status = fth_error_move(error, &recorder->fault);
    if (recorder->inner->finish) {
        enum fth_status inner = recorder->inner->finish(recorder->inner_state, error);
        status = status == FTH_OK ? inner : status;
    }
    return status;
}

static void destroy(struct device_recorder *recorder)
{
    fth_zwriter_abort(recorder->writer);
    fth_buffer_fini(&recorder->bytes);
    fth_buffer_fini(&recorder->key);
    free(recorder);
}

static void close_recorder(void *state)
{
    struct device_recorder *recorder = state;
    recorder->inner->close(recorder->inner_state);
    destroy(recorder);
}

static const struct fth_device_ops recorder_ops = {.describe = describe,
                                                   .describe_load = describe_load,
                                                   .measure = measure,
                                                   .expect = expect,
                                                   .finish = finish,
                                                   .close = close_recorder};

enum fth_status fth_device_record(struct fth_device *device, const char *path,
                                  struct fth_error *error)
{
    if (device->ops == &recorder_ops)
        return fth_fail(error, FTH_INVALID, "record", device->id, "it is already being recorded");
    struct device_recorder *recorder = calloc(1, sizeof *recorder);
    if (!recorder)
        return fth_no_memory(error, "record", device->id);
    recorder->inner = device->ops;
    recorder->inner_state = device->state;
    recorder->checksum = FTH_RECORDING_CHECKSUM_START;
    enum fth_status status = fth_zwriter_open(path, COMPRESSION_LEVEL, &recorder->writer, error);
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
