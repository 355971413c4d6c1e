/* Fuzzes the reader of recordings (fth_recording_parse) with their content after decompression. Any
 * input must be rejected with a message, or every request in it has an answer, and the recording
 * can be written and read again without a difference. The checksum at the end of the input is
 * corrected first, because otherwise almost every input would be rejected. */
#include "device/recording.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct fth_recording *parse(struct fth_buffer *content)
{
    struct fth_recording *recording = NULL;
    struct fth_error error = FTH_NO_ERROR;
    enum fth_status status = fth_recording_parse("fuzz", content, &recording, &error);
    if (content->data || (status == FTH_OK) != (recording != NULL))
        abort();
    if (status != FTH_OK && (!error.cause[0] || strchr(error.cause, '\n')))
        abort();
    return recording;
}

static struct fth_samples answer(const struct fth_recording *recording, size_t index)
{
    struct fth_samples samples;
    if (fth_recording_answer(recording, index, &samples, NULL) != FTH_OK)
        abort();
    return samples;
}

static bool same(const struct fth_samples *a, const struct fth_samples *b)
{
    bool same_clock = isnan(a->clock_mhz) ? isnan(b->clock_mhz) != 0 : a->clock_mhz == b->clock_mhz;
    return a->status == b->status && strcmp(a->cause, b->cause) == 0 && a->sm == b->sm &&
           same_clock && a->count == b->count &&
           (a->count == 0 || memcmp(a->cycles, b->cycles, a->count * sizeof *a->cycles) == 0);
}

/* Writes all answers in their sorted order and reads them again. The answers and their order must
 * not change. */
static void check_answers(const struct fth_recording *recording)
{
    struct fth_buffer bytes = {0};
    size_t count = fth_recording_answer_count(recording);
    fth_recording_put_header(fth_recording_device(recording), &bytes);
    for (size_t i = 0; i < count; i++) {
        size_t key_size = 0, first = 0;
        const char *key = fth_recording_key(recording, i, &key_size);
        size_t found = fth_recording_find(recording, key, key_size, &first);
        if (first > i || i - first >= found)
            abort();
        struct fth_samples samples = answer(recording, i);
        fth_recording_put_answer(key, key_size, &samples, &bytes);
        fth_samples_fini(&samples);
    }
    fth_recording_put_end(
        count, fth_recording_checksum(FTH_RECORDING_CHECKSUM_START, bytes.data, bytes.size),
        &bytes);
    struct fth_recording *again = parse(&bytes);
    if (!again || fth_recording_answer_count(again) != count)
        abort();
    for (size_t i = 0; i < count; i++) {
        struct fth_samples a = answer(recording, i), b = answer(again, i);
        if (!same(&a, &b))
            abort();
        fth_samples_fini(&a);
        fth_samples_fini(&b);
    }
    fth_recording_destroy(again);
}

static void check_descriptions(const struct fth_recording *recording)
{
    for (size_t i = 0; i < fth_recording_description_count(recording); i++) {
        struct fth_gpu *gpu = NULL;
        if (fth_gpu_create(&gpu, NULL) != FTH_OK ||
            fth_recording_add_description(recording, i, gpu, NULL) != FTH_OK ||
            fth_gpu_validate(gpu, NULL) != FTH_OK)
            abort();
        fth_gpu_destroy(gpu);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fth_buffer content = {0};
    fth_buffer_append(&content, data, size);
    if (size >= FTH_RECORDING_CHECKSUM_BYTES) {
        size_t end = size - FTH_RECORDING_CHECKSUM_BYTES;
        uint64_t checksum = fth_recording_checksum(FTH_RECORDING_CHECKSUM_START, content.data, end);
        for (size_t i = 0; i < FTH_RECORDING_CHECKSUM_BYTES; i++)
            content.data[end + i] = (char)(checksum >> (8 * i));
    }
    struct fth_recording *recording = parse(&content);
    if (recording) {
        check_answers(recording);
        check_descriptions(recording);
    }
    fth_recording_destroy(recording);
    return 0;
}
