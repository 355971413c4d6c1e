/* A trace through the caches: Algorithms 1 and 2 of the paper, for all SMs side by side.
 *
 * Wave by wave, several waves read at a time, the accesses come by number, block and warp. Those
 * that the schedulers of an SM issue together (Algorithm 2, lines 8 to 11) are a group. Groups are
 * collected into batches; the L1s take a batch first, each its own groups and independently of the
 * others, then the L2 takes what they miss in the order of the trace, what one group of every SM
 * sends at a time. */
#include "model/run.h"

#include <stdlib.h>
#include <string.h>

enum { BATCH_REQUESTS = 1 << 17, WINDOW_ACCESSES = 1 << 19 };

static enum fth_status no_memory(struct fth_error *error)
{
    return fth_fail(error, FTH_NO_MEMORY, "model caches", NULL, "out of memory");
}

/* ---- batches ---- */

bool fth_work_l1(struct fth_model_work *work, struct fth_batch *batch, uint32_t sm, size_t part)
{
    const struct fth_beneath beneath = {0}; /* what is missed stays in the requests */
    for (uint32_t g = work->first_group[sm]; g != UINT32_MAX; g = batch->groups[g].next) {
        struct fth_group *group = &batch->groups[g];
        if (!fth_tier_run(work->l1[sm], batch->requests.items + group->first, group->count,
                          batch->requests.runs, work->l1_counts[part], &beneath))
            return false;
        group->sends = fth_tier_sends(work->l1[sm]);
    }
    return true;
}

/* Exact distances of what is read: of each L1 its own, and of what reaches the L2. */
static bool note_distances(struct fth_model_work *work, struct fth_distances *distances,
                           const struct fth_request *request, uint64_t sectors)
{
    uint64_t numbers[64];
    size_t count = 0;
    for (uint64_t left = sectors; left; left &= left - 1)
        numbers[count++] =
            (request->line >> work->setting.l1.sector_shift) + (uint64_t)__builtin_ctzll(left);
    return fth_distances_add(distances, numbers, count, NULL);
}

static bool run_curves(struct fth_model_work *work, const struct fth_batch *batch,
                       const struct fth_group *group)
{
    for (uint32_t i = 0; i < group->count; i++) {
        const struct fth_request *request = &batch->requests.items[group->first + i];
        if (request->kind != FTH_TRACE_READ)
            continue;
        if (!note_distances(work, work->l1_distances[group->sm], request, request->sectors) ||
            !note_distances(work, work->l2_distances, request, request->missing))
            return false;
    }
    return true;
}

/* What of a request goes on to the L2. The request stays as the L1 left it, as others may follow;
 * but curves are of what was sent. */
static bool send(struct fth_model_work *work, const struct fth_batch *batch,
                 struct fth_request *request, uint32_t sm)
{
    uint64_t sent = request->missing;
    if (!sent)
        return true;
    if (work->join && request->kind == FTH_TRACE_READ &&
        !fth_join_read(work->join, work->joins[sm % work->join_count], request->line, &sent))
        return false;
    if (work->l2_distances)
        request->missing = sent;
    return !sent || fth_l2_add(work->l2, &work->setting.l1, request, batch->requests.runs, sent,
                               work->side_of_sm[sm]);
}

bool fth_work_round(struct fth_model_work *work)
{
    work->waiting = 0;
    if (work->join && ++work->rounds >= fth_model_whole(work->params, FTH_KEY_JOIN_ROUNDS)) {
        work->rounds = 0;
        fth_join_clear(work->join);
    }
    return fth_l2_flush(work->l2);
}

bool fth_work_bypassed_round(struct fth_model_work *work)
{
    work->bypassed_waiting = 0;
    return !work->bypassed || fth_l2_flush(work->bypassed);
}

bool fth_work_l2(struct fth_model_work *work, const struct fth_batch *batch)
{
    for (size_t g = 0; g < batch->group_count; g++) {
        const struct fth_group *group = &batch->groups[g];
        for (uint32_t i = 0; i < group->count && group->sends; i++)
            if (!send(work, batch, &batch->requests.items[group->first + i], group->sm))
                return false;
        if (work->l2_distances && !run_curves(work, batch, group))
            return false;
        if (++work->waiting >= work->active && !fth_work_round(work))
            return false;
    }
    return true;
}

bool fth_work_bypassed(struct fth_model_work *work, const struct fth_batch *batch)
{
    for (size_t g = 0; g < batch->group_count && work->bypassed; g++) {
        const struct fth_group *group = &batch->groups[g];
        for (uint32_t i = 0; i < group->count; i++) {
            const struct fth_request *request = &batch->requests.items[group->first + i];
            if (!fth_l2_add(work->bypassed, &work->setting.l1, request, batch->requests.runs,
                            request->sectors, work->side_of_sm[group->sm]))
                return false;
        }
        if (++work->bypassed_waiting >= work->active && !fth_work_bypassed_round(work))
            return false;
    }
    return true;
}

enum fth_status fth_work_sort(struct fth_model_work *work, struct fth_batch *batch,
                              struct fth_error *error)
{
    for (uint64_t sm = 0; sm < work->setting.sms; sm++)
        work->first_group[sm] = UINT32_MAX;
    for (size_t g = batch->group_count; g-- > 0;) {
        struct fth_group *group = &batch->groups[g];
        group->next = work->first_group[group->sm];
        work->first_group[group->sm] = (uint32_t)g;
        enum fth_status status = fth_work_sm(work, group->sm, error);
        if (status != FTH_OK)
            return status;
    }
    return FTH_OK;
}

bool fth_work_l1s(struct fth_model_work *work, struct fth_batch *batch)
{
    bool made = true;
    for (uint64_t sm = 0; sm < work->setting.sms && made; sm++)
        made = fth_work_l1(work, batch, (uint32_t)sm, 0);
    return made;
}

static enum fth_status run_l1s(struct fth_model_work *work, struct fth_batch *batch,
                               struct fth_error *error)
{
    const enum fth_status status = fth_work_sort(work, batch, error);
    if (status != FTH_OK)
        return status;
    return !batch->requests.failed &&
                   (work->crew ? fth_crew_l1s(work->crew, batch) : fth_work_l1s(work, batch))
               ? FTH_OK
               : no_memory(error);
}

enum fth_status fth_work_below(struct fth_model_work *work, struct fth_batch *batch,
                               struct fth_error *error)
{
    enum fth_status status = FTH_OK;
    if (work->many)
        status = fth_many_batch(work->many, batch, error);
    else if (!fth_work_l2(work, batch) || !fth_work_bypassed(work, batch))
        status = no_memory(error);
    fth_requests_clear(&batch->requests);
    batch->group_count = 0;
    return status;
}

/* Takes a batch through the caches, and empties it. */
static enum fth_status run_batch(struct fth_model_work *work, struct fth_batch *batch,
                                 struct fth_error *error)
{
    enum fth_status status = work->many ? FTH_OK : run_l1s(work, batch, error);
    if (status == FTH_OK)
        status = work->crew ? fth_crew_hand(work->crew, batch, error)
                            : fth_work_below(work, batch, error);
    if (status != FTH_OK)
        return status;
    fth_log_progress(work->options.log, "model caches",
                     work->total ? (double)work->done / (double)work->total : 1);
    return fth_log_interrupted(work->options.log)
               ? fth_fail(error, FTH_INTERRUPTED, "model caches", NULL, "interrupted")
               : FTH_OK;
}

/* ---- waves ---- */

/* The accesses that come in the order of the trace, wave `base` and up to `count` of those behind
 * it. The first wave is processed as it comes, the others wait. */
struct window {
    uint64_t base, count;
};

static enum fth_status begin_group(struct fth_model_work *work, struct fth_batch *batch,
                                   const struct fth_trace_told *access, uint32_t sm,
                                   struct fth_error *error)
{
    enum fth_status status = FTH_OK;
    if (batch == work->batches && batch->requests.count >= BATCH_REQUESTS)
        status = run_batch(work, batch, error);
    if (status != FTH_OK)
        return status;
    if (!fth_grow((void **)&batch->groups, batch->group_count, &batch->group_capacity,
                  sizeof *batch->groups))
        return no_memory(error);
    batch->groups[batch->group_count++] =
        (struct fth_group){.sm = sm,
                           .first = batch->requests.count,
                           .number = access->number,
                           .block = access->block,
                           .first_warp = access->warp - access->warp % work->setting.schedulers};
    return FTH_OK;
}

static bool same_group(const struct fth_model_work *work, const struct fth_batch *batch,
                       const struct fth_trace_told *access)
{
    if (batch->group_count == 0)
        return false;
    const struct fth_group *group = &batch->groups[batch->group_count - 1];
    return group->block == access->block && group->number == access->number &&
           access->warp - group->first_warp < work->setting.schedulers;
}

/* Accesses of one block. */
static enum fth_status take_accesses(struct fth_model_work *work, struct fth_batch *batch,
                                     const struct fth_trace_told *accesses, size_t count,
                                     uint32_t sm, struct fth_error *error)
{
    for (size_t i = 0; i < count; i++) {
        const struct fth_trace_told *access = &accesses[i];
        if (access->warp >= work->setting.warps_per_block || access->threads == 0)
            return fth_fail(error, FTH_INVALID, "model caches", NULL,
                            "warp %u of block %llu is not in a block of %llu warps", access->warp,
                            (unsigned long long)access->block,
                            (unsigned long long)work->setting.warps_per_block);
        if (!same_group(work, batch, access)) {
            const enum fth_status status = begin_group(work, batch, access, sm, error);
            if (status != FTH_OK)
                return status;
        }
        const struct fth_trace_instruction *instruction =
            fth_trace_instruction_at(work->trace, access->instruction);
        struct fth_group *group = &batch->groups[batch->group_count - 1];
        fth_coalesce(&batch->requests, &work->setting.l1, access, instruction);
        group->count = (uint32_t)(batch->requests.count - group->first);
        work->warps[(size_t)access->instruction * 3 + (size_t)instruction->kind]++;
    }
    work->done += count;
    return FTH_OK;
}

static enum fth_status run_window(struct fth_model_work *work, size_t launch,
                                  const struct window *window, struct fth_error *error)
{
    uint64_t first, last, ignored, wave;
    struct fth_trace_cursor *cursor = NULL;
    const struct fth_trace_told *accesses = NULL;
    size_t count = 0;
    fth_placement_range(work->placement, window->base, &first, &ignored);
    fth_placement_range(work->placement, window->base + window->count - 1, &ignored, &last);
    enum fth_status status =
        fth_trace_cursor_open(work->trace, launch, first, last, &cursor, error);
    while (status == FTH_OK) {
        status = fth_trace_next_told(cursor, SIZE_MAX, &accesses, &count, error);
        if (count == 0)
            break;
        for (size_t i = 0, end; i < count && status == FTH_OK; i = end) {
            for (end = i + 1; end < count && accesses[end].block == accesses[i].block;)
                end++;
            const uint32_t sm = fth_placement_sm(work->placement, accesses[i].block, &wave);
            if (wave >= window->base && wave - window->base < window->count)
                status = take_accesses(work, &work->batches[wave - window->base], accesses + i,
                                       end - i, sm, error);
        }
    }
    fth_trace_cursor_close(cursor);
    for (uint64_t i = 0; i < window->count && status == FTH_OK; i++)
        status = run_batch(work, &work->batches[i], error);
    return status;
}

/* The waves that have accesses, where most have none: a grid of 2^32 blocks is soon written. */
static enum fth_status find_waves(struct fth_model_work *work, size_t launch, uint64_t **waves,
                                  size_t *count, struct fth_error *error)
{
    struct fth_trace_cursor *cursor = NULL;
    const struct fth_trace_told *access = NULL;
    size_t capacity = 0, ignored = 0;
    enum fth_status status =
        fth_trace_cursor_open(work->trace, launch, 0, UINT64_MAX, &cursor, error);
    while (status == FTH_OK) {
        status = fth_trace_next_told(cursor, 1, &access, &ignored, error);
        if (!access)
            break;
        if (access->block >= work->setting.blocks) {
            status = fth_fail(error, FTH_INVALID, "model caches", NULL,
                              "there is an access of block %llu in a grid of %llu",
                              (unsigned long long)access->block,
                              (unsigned long long)work->setting.blocks);
            break;
        }
        uint64_t wave;
        fth_placement_sm(work->placement, access->block, &wave);
        if (*count && (*waves)[*count - 1] == wave)
            continue;
        if (!fth_grow((void **)waves, *count, &capacity, sizeof **waves))
            status = no_memory(error);
        else
            (*waves)[(*count)++] = wave;
    }
    fth_trace_cursor_close(cursor);
    return status;
}

static int compare(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static enum fth_status run_waves(struct fth_model_work *work, size_t launch,
                                 struct fth_error *error)
{
    const uint64_t waves = fth_placement_waves(work->placement);
    const uint64_t accesses = fth_trace_launch_at(work->trace, launch)->accesses;
    enum fth_status status = FTH_OK;
    uint64_t *some = NULL;
    size_t count = 0;
    if (waves <= 64 || waves / 16 <= accesses) {
        /* As many waves at a time as there is room for: a run of the trace holds several. */
        const uint64_t fit = WINDOW_ACCESSES / (accesses / waves + 1);
        const uint64_t each = fit < 1 ? 1 : fit < FTH_WINDOW ? fit : FTH_WINDOW;
        for (uint64_t wave = 0; wave < waves && status == FTH_OK; wave += each) {
            const uint64_t left = waves - wave;
            status =
                run_window(work, launch, &(struct window){wave, left < each ? left : each}, error);
        }
    } else {
        status = find_waves(work, launch, &some, &count, error);
        if (some)
            qsort(some, count, sizeof *some, compare);
        for (size_t i = 0; some && i < count && status == FTH_OK; i++)
            if (i == 0 || some[i] != some[i - 1])
                status = run_window(work, launch, &(struct window){some[i], 1}, error);
        free(some);
    }
    /* Also on failure: what is under way uses what the launch has. */
    const enum fth_status taken = work->crew ? fth_crew_wait(work->crew, error) : FTH_OK;
    if (status == FTH_OK)
        status = taken;
    if (status == FTH_OK && !(work->many ? fth_many_rounds(work->many)
                                         : fth_work_round(work) && fth_work_bypassed_round(work)))
        status = no_memory(error);
    return status;
}

static enum fth_status run_launch(struct fth_model_work *work, size_t launch,
                                  struct fth_error *error)
{
    enum fth_status status = work->many ? fth_many_begin(work->many, launch, error)
                                        : fth_work_begin(work, launch, error);
    if (status == FTH_OK)
        status = run_waves(work, launch, error);
    if (status == FTH_OK)
        status = work->many ? fth_many_end(work->many, launch, error)
                            : fth_work_end(work, launch, error);
    if (status != FTH_OK && status != FTH_INTERRUPTED)
        fth_error_context(error, "launch %zu, %s", launch + 1,
                          fth_trace_launch_at(work->trace, launch)->kernel);
    return status;
}

static bool wanted(const struct fth_model_work *work, size_t launch)
{
    return !work->options.kernel ||
           strcmp(work->options.kernel, fth_trace_launch_at(work->trace, launch)->kernel) == 0;
}

enum fth_status fth_work_create(const struct fth_trace *trace,
                                const struct fth_model_params *params,
                                const struct fth_model_options *options,
                                struct fth_model_work **out, struct fth_error *error)
{
    struct fth_model_work *work = calloc(1, sizeof *work);
    *out = NULL;
    if (!work)
        return no_memory(error);
    work->trace = trace;
    work->params = params;
    if (options)
        work->options = *options;
    for (size_t i = 0; i < fth_trace_launch_count(trace); i++)
        work->total += wanted(work, i) ? fth_trace_launch_at(trace, i)->accesses : 0;
    const enum fth_status status = fth_work_init(work, error);
    if (status == FTH_OK)
        *out = work;
    else
        fth_work_fini(work);
    return status;
}

enum fth_status fth_work_run(struct fth_model_work *work, struct fth_error *error)
{
    enum fth_status status = FTH_OK;
    for (size_t i = 0; i < fth_trace_launch_count(work->trace) && status == FTH_OK; i++)
        if (wanted(work, i))
            status = run_launch(work, i, error);
    return status;
}

enum fth_status fth_model_run(const struct fth_trace *trace, const struct fth_model_params *params,
                              const struct fth_model_options *options,
                              struct fth_model_result **result, struct fth_error *error)
{
    struct fth_model_work *work = NULL;
    *result = NULL;
    enum fth_status status = fth_work_create(trace, params, options, &work, error);
    if (!work)
        return status;
    status = fth_work_run(work, error);
    if (status == FTH_OK)
        status = fth_work_result(work, result, error);
    fth_log_progress(work->options.log, "model caches", 1);
    fth_work_fini(work);
    return status;
}
