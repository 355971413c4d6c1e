/* Executes a batch of requests on the device of a prober. If another program uses the GPU, it can
 * interrupt a request: the SM pauses, and its caches are empty afterwards. A timed hop shows such a
 * pause. Interrupted requests are executed again. */
#include "probe/probe.h"

#include <stdlib.h>

static const char operation[] = "run experiments";

/* Executions of a request that is interrupted each time. Chosen to limit the time. */
enum { MAX_ATTEMPTS = 3 };

/* Whether a request can be executed again: a request that runs alone may depend on what the
 * requests before it left in the caches. */
static bool is_repeatable(const struct fth_request *request)
{
    return request->family == FTH_FAMILY_CHASE && !request->alone;
}

/* Executes those requests again that were interrupted, all in one batch. `indices` and `again` have
 * space for `count` elements. Sets *left to their number. */
static enum fth_status repeat(const struct fth_prober *prober, const struct fth_request *requests,
                              size_t count, struct fth_samples *samples, size_t *indices,
                              struct fth_request *again, size_t *left, struct fth_error *error)
{
    size_t chosen = 0;
    for (size_t i = 0; i < count; i++)
        if (samples[i].status == FTH_OK && is_repeatable(&requests[i]) &&
            fth_request_was_interrupted(&requests[i], &samples[i])) {
            indices[chosen] = i;
            again[chosen++] = requests[i];
        }
    *left = chosen;
    if (chosen == 0)
        return FTH_OK;
    struct fth_samples *repeated = calloc(chosen, sizeof *repeated);
    if (!repeated)
        return fth_no_memory(error, operation, NULL);
    enum fth_status status = fth_device_measure(prober->device, again, chosen, repeated, error);
    for (size_t i = 0; i < chosen; i++)
        if (status == FTH_OK) {
            fth_samples_fini(&samples[indices[i]]);
            samples[indices[i]] = repeated[i];
        } else {
            fth_samples_fini(&repeated[i]);
        }
    free(repeated);
    return status;
}

static enum fth_status repeat_interrupted(const struct fth_prober *prober,
                                          const struct fth_request *requests, size_t count,
                                          struct fth_samples *samples, struct fth_error *error)
{
    size_t *indices = calloc(count, sizeof *indices), left = 1;
    struct fth_request *again = calloc(count, sizeof *again);
    enum fth_status status = indices && again ? FTH_OK : fth_no_memory(error, operation, NULL);
    for (int i = 1; i < MAX_ATTEMPTS && left && status == FTH_OK; i++)
        status = repeat(prober, requests, count, samples, indices, again, &left, error);
    free(indices);
    free(again);
    return status;
}

/* Returns the failure of the first request that failed, with the request in the message. */
static enum fth_status check(const struct fth_request *requests, const struct fth_answers *answers,
                             struct fth_error *error)
{
    for (size_t i = 0; i < answers->count; i++) {
        const struct fth_samples *samples = &answers->items[i];
        if (samples->status == FTH_OK)
            continue;
        /* Only this request is unavailable, for example because of too little memory; the device
         * can execute others. */
        const enum fth_status status =
            samples->status == FTH_UNAVAILABLE ? FTH_INCONCLUSIVE : samples->status;
        struct fth_buffer text = {0};
        fth_request_write(&requests[i], &text);
        fth_fail(error, status, "measure", text.data, "%s", samples->cause);
        fth_buffer_fini(&text);
        return status;
    }
    return FTH_OK;
}

enum fth_status fth_ask(const struct fth_prober *prober, const struct fth_request *requests,
                        size_t count, struct fth_answers *answers, struct fth_error *error)
{
    *answers = (struct fth_answers){NULL, 0};
    if (fth_log_interrupted(prober->log))
        return fth_fail(error, FTH_INTERRUPTED, operation, NULL, "interrupted");
    struct fth_samples *samples = calloc(count, sizeof *samples);
    if (!samples)
        return fth_no_memory(error, "measure", NULL);
    *answers = (struct fth_answers){samples, count};
    enum fth_status status = fth_device_measure(prober->device, requests, count, samples, error);
    if (status == FTH_OK)
        status = repeat_interrupted(prober, requests, count, samples, error);
    if (status == FTH_OK)
        status = check(requests, answers, error);
    if (status != FTH_OK)
        fth_answers_fini(answers);
    return status;
}

void fth_answers_fini(struct fth_answers *answers)
{
    for (size_t i = 0; i < answers->count; i++)
        fth_samples_fini(&answers->items[i]);
    free(answers->items);
    *answers = (struct fth_answers){NULL, 0};
}
