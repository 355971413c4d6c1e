/* Removes what identifies a card or its host from a description and from a recording: the
 * attributes in `personal`, and a UUID in the id of the recorded device. All other attributes hold
 * for every card of a model, or describe its state at the time of the measurement. */
#include "contribution/contribution.h"

#include <stdio.h>
#include <string.h>

static const char *const personal[FTH_PERSONAL_COUNT] = {"host", "uuid", "serial", "pci_bus"};

const char *fth_personal_name(size_t index)
{
    return index < FTH_PERSONAL_COUNT ? personal[index] : NULL;
}

void fth_contribution_strip(struct fth_gpu *gpu, bool found[FTH_PERSONAL_COUNT])
{
    struct fth_gpu_section *device = &gpu->device;
    size_t kept = 0;
    for (size_t i = 0; i < device->count; i++) {
        bool remove = false;
        for (size_t p = 0; p < FTH_PERSONAL_COUNT; p++)
            if (strcmp(device->attributes[i].name, personal[p]) == 0)
                remove = found[p] = true;
        if (!remove)
            device->attributes[kept++] = device->attributes[i];
    }
    device->count = kept;
}

/* Writes the id of a device without a UUID: "cuda:GPU-1234" becomes "cuda". */
static const char *without_uuid(const char *id, bool found[FTH_PERSONAL_COUNT], char *text,
                                size_t size)
{
    const bool uuid = strstr(id, "GPU-") || strstr(id, "MIG-");
    for (size_t i = 0; i < FTH_PERSONAL_COUNT && uuid; i++)
        found[i] = found[i] || strcmp(fth_personal_name(i), "uuid") == 0;
    snprintf(text, size, "%.*s", (int)(uuid ? strcspn(id, ":") : strlen(id)), id);
    return text;
}

static enum fth_status put_description(const struct fth_recording *recording, size_t index,
                                       bool found[FTH_PERSONAL_COUNT], struct fth_buffer *out,
                                       struct fth_error *error)
{
    struct fth_gpu *gpu = NULL;
    char *text = NULL;
    size_t size = 0;
    FTH_TRY(fth_gpu_create(&gpu, error));
    enum fth_status status = fth_recording_add_description(recording, index, gpu, error);
    if (status == FTH_OK) {
        fth_contribution_strip(gpu, found);
        status = fth_gpu_write_text(gpu, &text, &size, error);
    }
    if (status == FTH_OK)
        fth_recording_put_description(text, size, out);
    fth_free(text);
    fth_gpu_destroy(gpu);
    return status;
}

enum fth_status fth_contribution_strip_recording(const struct fth_recording *recording,
                                                 bool found[FTH_PERSONAL_COUNT],
                                                 struct fth_buffer *out, struct fth_error *error)
{
    char id[256];
    const size_t descriptions = fth_recording_description_count(recording);
    const size_t answers = fth_recording_answer_count(recording);
    fth_recording_put_header_of(without_uuid(fth_recording_device(recording), found, id, sizeof id),
                                fth_recording_version(recording), out);
    for (size_t i = 0; i < descriptions; i++)
        FTH_TRY(put_description(recording, i, found, out, error));
    for (size_t i = 0; i < answers; i++) {
        struct fth_samples samples = {0};
        size_t size;
        const char *key = fth_recording_key(recording, i, &size);
        FTH_TRY(fth_recording_answer(recording, i, &samples, error));
        fth_recording_put_answer(key, size, &samples, out);
        fth_samples_fini(&samples);
    }
    if (!out->failed)
        fth_recording_put_end(
            descriptions + answers,
            fth_recording_checksum(FTH_RECORDING_CHECKSUM_START, out->data, out->size), out);
    return out->failed ? fth_no_memory(error, "remove personal data", NULL) : FTH_OK;
}
