/* Executes a batch of requests on the device of a prober. */
#include "probe/probe.h"

#include <stdlib.h>

enum fth_status fth_ask(const struct fth_prober *prober, const struct fth_request *requests,
                        size_t count, struct fth_answers *answers, struct fth_error *error)
{
    *answers = (struct fth_answers){NULL, 0};
    if (fth_log_interrupted(prober->log))
        return fth_fail(error, FTH_INTERRUPTED, "run experiments", NULL, "interrupted");
    answers->items = calloc(count, sizeof *answers->items);
    if (!answers->items)
        return fth_no_memory(error, "measure", NULL);
    answers->count = count;
    enum fth_status status =
        fth_device_measure(prober->device, requests, count, answers->items, error);
    for (size_t i = 0; i < count && status == FTH_OK; i++)
        if (answers->items[i].status != FTH_OK) {
            struct fth_buffer text = {0};
            fth_request_write(&requests[i], &text);
            /* Only this request is unavailable, for example because of too little memory; the
             * device can execute others. */
            status = answers->items[i].status == FTH_UNAVAILABLE ? FTH_INCONCLUSIVE
                                                                 : answers->items[i].status;
            fth_fail(error, status, "measure", text.data, "%s", answers->items[i].cause);
            fth_buffer_fini(&text);
        }
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
