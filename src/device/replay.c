/* Answers from a recording: the n-th asking of a request gets the n-th answer that was recorded for
 * it, and what was never recorded is told, not made up. */
#include "device/recording.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char operation[] = "replay";

struct replay {
    char *path;
    struct fth_recording *recording;
    size_t *asked;    /* how often, at the first answer of each request */
    size_t described; /* how often */
    struct fth_buffer key;
};

/* Each description as it was at its time, then the last. */
static enum fth_status describe(void *state, struct fth_gpu *gpu, struct fth_error *error)
{
    struct replay *replay = state;
    size_t count = fth_recording_description_count(replay->recording);
    if (count == 0)
        return fth_fail(error, FTH_UNAVAILABLE, operation, replay->path,
                        "the recording holds no description of the device");
    size_t index = replay->described < count ? replay->described++ : count - 1;
    return fth_recording_description(replay->recording, index, gpu, error);
}

static enum fth_status missing(const struct replay *replay, size_t recorded,
                               struct fth_error *error)
{
    const char *device = fth_recording_device(replay->recording);
    char often[64] = "this was never asked";
    if (recorded)
        snprintf(often, sizeof often, "this was asked %zu time%s only", recorded,
                 recorded == 1 ? "" : "s");
    return fth_fail(error, FTH_UNAVAILABLE, operation, replay->path,
                    "while it was recorded, %s: %.280s%s; to record it: fathom topo --device %.40s "
                    "--record FILE",
                    often, replay->key.data, replay->key.size > 280 ? "..." : "",
                    *device ? device : "cuda:0");
}

/* Which of the recorded answers is the next one for the request. */
static enum fth_status next_answer(struct replay *replay, const struct fth_request *request,
                                   size_t *index, struct fth_error *error)
{
    size_t first = 0;
    replay->key.size = 0;
    fth_request_write(request, &replay->key);
    if (replay->key.failed)
        return fth_fail(error, FTH_NO_MEMORY, operation, replay->path, "out of memory");
    size_t count =
        fth_recording_find(replay->recording, replay->key.data, replay->key.size, &first);
    if (count == 0 || replay->asked[first] == count)
        return missing(replay, count, error);
    *index = first + replay->asked[first]++;
    return FTH_OK;
}

/* Takes one asking back. */
static void unask(struct replay *replay, const struct fth_request *request)
{
    size_t first = 0;
    replay->key.size = 0;
    fth_request_write(request, &replay->key);
    if (!replay->key.failed &&
        fth_recording_find(replay->recording, replay->key.data, replay->key.size, &first) > 0)
        replay->asked[first]--;
}

static enum fth_status answer(struct replay *replay, const struct fth_request *request,
                              struct fth_samples *samples, struct fth_error *error)
{
    size_t index = 0;
    enum fth_status status = next_answer(replay, request, &index, error);
    if (status != FTH_OK)
        return status;
    status = fth_recording_answer(replay->recording, index, samples, error);
    uint64_t expected = fth_request_samples(request);
    if (status == FTH_OK && samples->status == FTH_OK && samples->count != expected)
        status = fth_fail(error, FTH_INVALID, operation, replay->path,
                          "%zu samples where %" PRIu64 " are asked for: %.280s", samples->count,
                          expected, replay->key.data);
    if (status != FTH_OK)
        unask(replay, request);
    return status;
}

/* A batch is answered as a whole or not at all, so that a part of it can be asked again. */
static enum fth_status measure(void *state, const struct fth_request *requests, size_t count,
                               struct fth_samples *samples, struct fth_error *error)
{
    struct replay *replay = state;
    memset(samples, 0, count * sizeof *samples);
    for (size_t i = 0; i < count; i++) {
        enum fth_status status = answer(replay, &requests[i], &samples[i], error);
        if (status == FTH_OK)
            continue;
        for (size_t j = 0; j < i; j++)
            unask(replay, &requests[j]);
        return status;
    }
    return FTH_OK;
}

static void close_replay(void *state)
{
    struct replay *replay = state;
    fth_recording_destroy(replay->recording);
    fth_buffer_fini(&replay->key);
    free(replay->asked);
    free(replay->path);
    free(replay);
}

static const struct fth_device_ops replay_ops = {describe, measure, NULL, close_replay};

static enum fth_status open_replay(const char *what, const struct fth_log *log,
                                   struct fth_device **device, struct fth_error *error)
{
    (void)log;
    *device = NULL;
    if (!*what)
        return fth_fail(error, FTH_INVALID, operation, NULL,
                        "which recording? replay:FILE names it");
    struct replay *replay = calloc(1, sizeof *replay);
    if (!replay)
        return fth_fail(error, FTH_NO_MEMORY, operation, what, "out of memory");
    enum fth_status status = fth_recording_read(what, &replay->recording, error);
    if (status == FTH_OK) {
        replay->path = strdup(what);
        replay->asked =
            calloc(fth_recording_answer_count(replay->recording) + 1, sizeof *replay->asked);
        if (!replay->path || !replay->asked)
            status = fth_fail(error, FTH_NO_MEMORY, operation, what, "out of memory");
    }
    if (status != FTH_OK) {
        close_replay(replay);
        return status;
    }
    char id[sizeof(*device)->id];
    snprintf(id, sizeof id, "replay:%s", what);
    return fth_device_create(id, &replay_ops, replay, device, error);
}

const struct fth_backend fth_backend_replay = {
    .name = "replay", .summary = "answers from a recording: replay:FILE", .open = open_replay};
