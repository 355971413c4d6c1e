/* A device that answers from a recording. The n-th request with a certain text gets the n-th answer
 * recorded for that text. A request without a recorded answer fails; answers are never invented. */
#include "device/recording.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char operation[] = "replay";

struct replay {
    char *path;
    struct fth_recording *recording;
    size_t *used; /* answers already given; one count per key, at the index of its first answer */
    size_t described;      /* descriptions already given or skipped */
    size_t last;           /* index of the one that `describe` gave last; SIZE_MAX: none */
    struct fth_buffer key; /* the canonical text of the current request */
};

/* Sets *is_load to whether a recorded description is that of the state under load
 * (fth_device_describe_load): it has an attribute whose name begins with "loaded_". */
static enum fth_status check_load(const struct replay *replay, size_t index, bool *is_load,
                                  struct fth_error *error)
{
    static const char prefix[] = "loaded_";
    struct fth_gpu *gpu = NULL;
    *is_load = false;
    FTH_TRY(fth_gpu_create(&gpu, error));
    enum fth_status status = fth_recording_add_description(replay->recording, index, gpu, error);
    for (size_t i = 0; status == FTH_OK && i < gpu->device.count; i++)
        if (strncmp(gpu->device.attributes[i].name, prefix, strlen(prefix)) == 0)
            *is_load = true;
    fth_gpu_destroy(gpu);
    return status;
}

/* Gives the recorded descriptions in order, without those of the state under load, and repeats the
 * last one. */
static enum fth_status describe(void *state, struct fth_gpu *gpu, struct fth_error *error)
{
    struct replay *replay = state;
    const size_t count = fth_recording_description_count(replay->recording);
    bool is_load = true;
    while (is_load && replay->described < count) {
        FTH_TRY(check_load(replay, replay->described, &is_load, error));
        if (!is_load)
            replay->last = replay->described;
        replay->described++;
    }
    if (replay->last >= count)
        return fth_fail(error, FTH_UNAVAILABLE, operation, replay->path,
                        "the recording contains no description of the device");
    return fth_recording_add_description(replay->recording, replay->last, gpu, error);
}

/* Gives the next description if it is one of the state under load, otherwise nothing. */
static enum fth_status describe_load(void *state, struct fth_gpu *gpu, struct fth_error *error)
{
    struct replay *replay = state;
    bool is_load = false;
    if (replay->described < fth_recording_description_count(replay->recording))
        FTH_TRY(check_load(replay, replay->described, &is_load, error));
    return is_load
               ? fth_recording_add_description(replay->recording, replay->described++, gpu, error)
               : FTH_OK;
}

/* Fails because the recording has only `recorded` answers to the current request. */
static enum fth_status missing(const struct replay *replay, size_t recorded,
                               struct fth_error *error)
{
    const char *device = fth_recording_device(replay->recording);
    char often[64] = "no answer";
    if (recorded)
        snprintf(often, sizeof often, "only %zu answer%s", recorded, recorded == 1 ? "" : "s");
    return fth_fail(error, FTH_UNAVAILABLE, operation, replay->path,
                    "the recording has %s to: %.280s%s; to record it, use the same command with "
                    "--device %.40s --record FILE",
                    often, replay->key.data, replay->key.size > 280 ? "..." : "",
                    *device ? device : "cuda:0");
}

/* Finds the next recorded answer to the request and its place in `used`, which the caller counts up
 * when the answer is given. */
static enum fth_status next_answer(struct replay *replay, const struct fth_request *request,
                                   size_t *place, struct fth_error *error)
{
    replay->key.size = 0;
    fth_request_write(request, &replay->key);
    if (replay->key.failed) {
        fth_buffer_fini(&replay->key);
        return fth_no_memory(error, operation, replay->path);
    }
    size_t count = fth_recording_find(replay->recording, replay->key.data, replay->key.size, place);
    return count > 0 && replay->used[*place] < count ? FTH_OK : missing(replay, count, error);
}

static enum fth_status answer(struct replay *replay, const struct fth_request *request,
                              size_t *place, struct fth_samples *samples, struct fth_error *error)
{
    FTH_TRY(next_answer(replay, request, place, error));
    FTH_TRY(fth_recording_answer(replay->recording, *place + replay->used[*place], samples, error));
    uint64_t expected = fth_request_samples(request);
    if (samples->status == FTH_OK && samples->count != expected)
        return fth_fail(error, FTH_INVALID, operation, replay->path,
                        "%zu samples instead of %" PRIu64 " for: %.280s", samples->count, expected,
                        replay->key.data);
    replay->used[*place]++;
    return FTH_OK;
}

/* A batch is answered completely or not at all, so that a part of it can be requested again. */
static enum fth_status measure(void *state, const struct fth_request *requests, size_t count,
                               struct fth_samples *samples, struct fth_error *error)
{
    struct replay *replay = state;
    size_t *places = calloc(count + 1, sizeof *places), answered = 0;
    memset(samples, 0, count * sizeof *samples);
    enum fth_status status = places ? FTH_OK : fth_no_memory(error, operation, replay->path);
    while (status == FTH_OK && answered < count) {
        status = answer(replay, &requests[answered], &places[answered], &samples[answered], error);
        answered += status == FTH_OK;
    }
    for (size_t i = 0; i < answered && status != FTH_OK; i++)
        replay->used[places[i]]--;
    free(places);
    return status;
}

static void close_replay(void *state)
{
    struct replay *replay = state;
    fth_recording_destroy(replay->recording);
    fth_buffer_fini(&replay->key);
    free(replay->used);
    free(replay->path);
    free(replay);
}

static const struct fth_device_ops replay_ops = {.describe = describe,
                                                 .describe_load = describe_load,
                                                 .measure = measure,
                                                 .close = close_replay};

enum fth_status fth_recording_replay(const char *name, struct fth_recording *recording,
                                     struct fth_device **device, struct fth_error *error)
{
    *device = NULL;
    struct replay *replay = calloc(1, sizeof *replay);
    if (!replay) {
        fth_recording_destroy(recording);
        return fth_no_memory(error, operation, name);
    }
    replay->last = SIZE_MAX;
    replay->recording = recording;
    replay->path = strdup(name);
    replay->used = calloc(fth_recording_answer_count(recording) + 1, sizeof *replay->used);
    if (!replay->path || !replay->used) {
        close_replay(replay);
        return fth_no_memory(error, operation, name);
    }
    char id[sizeof(*device)->id];
    snprintf(id, sizeof id, "replay:%s", name);
    return fth_device_create(id, &replay_ops, replay, device, error);
}

static enum fth_status open_replay(const char *what, const struct fth_device_options *options,
                                   struct fth_device **device, struct fth_error *error)
{
    (void)options;
    *device = NULL;
    if (!*what)
        return fth_fail(error, FTH_INVALID, operation, NULL, "no recording given; use replay:FILE");
    struct fth_recording *recording = NULL;
    FTH_TRY(fth_recording_read(what, &recording, error));
    return fth_recording_replay(what, recording, device, error);
}

const struct fth_backend fth_backend_replay = {
    .name = "replay", .summary = "replay of a recording: replay:FILE", .open = open_replay};
