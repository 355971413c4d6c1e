/* Executes a batch of requests on the device of a prober.
 *
 * If another program uses the GPU, the driver runs the two alternately. An SM stops while it
 * executes a request, and continues some 100 microseconds later. Its caches then hold the other
 * program's data, and one sample is far longer than the others. Such a request is interrupted. Its
 * samples say little about the GPU, so it is executed again. */
#include "probe/probe.h"

#include <stdlib.h>

enum {
    /* A request is interrupted if one of its samples takes at least INTERRUPTED_CYCLES more than
     * INTERRUPTED_FACTOR times the median of the same step. No load takes as long: the longest that
     * was seen, with page tables that are switched, takes a few thousand cycles. To switch between
     * programs takes an H200 more than 100,000 cycles. Both are chosen, not derived. */
    INTERRUPTED_CYCLES = 50000,
    INTERRUPTED_FACTOR = 4,
    MAX_ATTEMPTS = 4 /* executions of an interrupted request. Chosen. */
};

/* ---- interruptions ---- */

/* Whether one of the samples, which belong to one step, was interrupted. */
static bool has_interruption(const uint32_t *cycles, size_t count)
{
    uint32_t max = 0;
    struct fth_summary summary;
    for (size_t i = 0; i < count; i++)
        max = cycles[i] > max ? cycles[i] : max;
    if (count < 2 || max < INTERRUPTED_CYCLES ||
        fth_summary_u32(cycles, count, &summary, NULL) != FTH_OK)
        return false;
    return max > INTERRUPTED_FACTOR * summary.median + INTERRUPTED_CYCLES;
}

/* Returns the number of samples of a step of a chase. */
static size_t step_samples(const struct fth_step *step)
{
    switch (step->kind) {
    case FTH_STEP_TIME_PASS: return (size_t)step->passes;
    case FTH_STEP_TIME_HOPS: return (size_t)(step->passes * step->chain.count);
    case FTH_STEP_TIME_CLOCK:
    case FTH_STEP_TIME_SINK: return (size_t)step->chain.count;
    default: return 0;
    }
}

/* Whether the request was interrupted. Streams, sweeps and transfers have a sample per repeat, and
 * their probes compare the repeats. */
static bool is_interrupted(const struct fth_request *request, const struct fth_samples *samples)
{
    size_t first = 0;
    bool interrupted = false;
    if (request->family == FTH_FAMILY_PAIR ||
        (request->family == FTH_FAMILY_EVICT && request->evict.kind == FTH_EVICT_SCRIPT))
        return has_interruption(samples->cycles, samples->count);
    if (request->family == FTH_FAMILY_FETCH) {
        first = (size_t)request->fetch.passes;
        return has_interruption(samples->cycles, first) ||
               has_interruption(samples->cycles + first, samples->count - first);
    }
    for (size_t i = 0; request->family == FTH_FAMILY_CHASE && i < request->chase.step_count; i++) {
        const size_t count = step_samples(&request->chase.steps[i]);
        if (first + count > samples->count)
            break;
        interrupted = interrupted || has_interruption(samples->cycles + first, count);
        first += count;
    }
    return interrupted;
}

/* ---- requests ---- */

enum fth_status fth_ask_once(const struct fth_prober *prober, const struct fth_request *requests,
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

/* Executes those of the requests again that were interrupted, and replaces their answers. *left
 * receives how many still are. */
static enum fth_status ask_interrupted(const struct fth_prober *prober,
                                       const struct fth_request *requests,
                                       struct fth_answers *answers, size_t *left,
                                       struct fth_error *error)
{
    struct fth_request *again = calloc(answers->count, sizeof *again);
    size_t *places = calloc(answers->count, sizeof *places), count = 0;
    struct fth_answers better = {0};
    enum fth_status status = again && places ? FTH_OK : fth_no_memory(error, "measure", NULL);
    for (size_t i = 0; status == FTH_OK && i < answers->count; i++)
        if (is_interrupted(&requests[i], &answers->items[i])) {
            again[count] = requests[i];
            places[count++] = i;
        }
    if (status == FTH_OK && count)
        status = fth_ask_once(prober, again, count, &better, error);
    *left = 0;
    for (size_t i = 0; status == FTH_OK && i < count; i++) {
        struct fth_samples *item = &answers->items[places[i]], old = *item;
        *item = better.items[i];
        better.items[i] = old;
        *left += is_interrupted(&requests[places[i]], item);
    }
    fth_answers_fini(&better);
    free(places);
    free(again);
    return status;
}

enum fth_status fth_ask(const struct fth_prober *prober, const struct fth_request *requests,
                        size_t count, struct fth_answers *answers, struct fth_error *error)
{
    size_t left = 0;
    FTH_TRY(fth_ask_once(prober, requests, count, answers, error));
    for (size_t i = 0; i < count; i++)
        left += is_interrupted(&requests[i], &answers->items[i]);
    enum fth_status status = FTH_OK;
    if (left && prober->interruptions)
        *prober->interruptions += left;
    for (unsigned attempt = 1; left && attempt < MAX_ATTEMPTS && status == FTH_OK; attempt++)
        status = ask_interrupted(prober, requests, answers, &left, error);
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
