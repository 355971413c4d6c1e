/* Runs a trace through the caches: Algorithms 1 and 2 of the paper, for all SMs at the same time.
 *
 * The waves of a launch are processed one after the other. Within a wave, accesses are sorted by
 * access number, block and warp. The accesses that the schedulers of an SM issue together
 * (Algorithm 2, lines 8 to 11) form a group. Groups are collected into batches. Each L1 first
 * processes its groups of a batch, independently of the other L1s. Then the L2 processes the
 * forwarded requests in the order of the trace, in rounds of as many groups as there are active
 * SMs. */
#include "model/run.h"

#include <stdlib.h>
#include <string.h>

enum {
    /* Requests that complete a batch, and accesses that are read into one window. Both bound the
     * memory of a run; chosen by experiment. */
    BATCH_REQUESTS = 1 << 17,
    WINDOW_ACCESSES = 1 << 19
};

/* ---- batches ---- */

bool fth_work_run_l1(struct fth_model_work *work, struct fth_batch *batch, uint32_t sm,
                     size_t thread)
{
    const struct fth_next_level next_level = {0}; /* request->missing keeps the forwarded sectors */
    for (uint32_t g = work->first_group[sm]; g != UINT32_MAX; g = batch->groups[g].next) {
        struct fth_issue_group *group = &batch->groups[g];
        if (!fth_cache_level_run(work->l1[sm], batch->requests.items + group->first, group->count,
                                 batch->requests.runs, work->l1_counts[thread], &next_level))
            return false;
        group->forwards = fth_cache_level_forwards(work->l1[sm]);
    }
    return true;
}

/* Adds the sectors of a read to a stream of exact stack distances. */
static bool add_distances(struct fth_model_work *work, struct fth_distances *distances,
                          const struct fth_request *request, uint64_t sectors)
{
    uint64_t numbers[64];
    size_t count = 0;
    for (uint64_t left = sectors; left; left &= left - 1)
        numbers[count++] =
            (request->line >> work->setting.l1.sector_shift) + (uint64_t)__builtin_ctzll(left);
    return fth_distances_add(distances, numbers, count, NULL);
}

/* For the curves: each L1 has a stream with the reads of its SM; the L2 has one with the reads that
 * it receives. */
static bool add_curve_distances(struct fth_model_work *work, const struct fth_batch *batch,
                                const struct fth_issue_group *group)
{
    for (uint32_t i = 0; i < group->count; i++) {
        const struct fth_request *request = &batch->requests.items[group->first + i];
        if (request->kind != FTH_TRACE_READ)
            continue;
        if (!add_distances(work, work->l1_distances[group->sm], request, request->sectors) ||
            !add_distances(work, work->l2_distances, request, request->missing))
            return false;
    }
    return true;
}

/* Sends the forwarded sectors of a request to the L2, unless they are joined with another read. The
 * request is not changed, because the L2s of other models may still need it. Only for curves, which
 * are not available with several models, it keeps the sectors that were sent. */
static bool forward_request(struct fth_model_work *work, const struct fth_batch *batch,
                            struct fth_request *request, uint32_t sm)
{
    uint64_t sent = request->missing;
    if (!sent)
        return true;
    if (work->join && request->kind == FTH_TRACE_READ &&
        !fth_join_read(work->join, work->join_group_of_sm[sm % work->join_group_count],
                       request->line, &sent))
        return false;
    if (work->l2_distances)
        request->missing = sent;
    return !sent || fth_l2_add(work->l2, &work->setting.l1, request, batch->requests.runs, sent,
                               work->side_of_sm[sm]);
}

bool fth_work_flush_l2(struct fth_model_work *work)
{
    work->groups_since_flush = 0;
    if (work->join &&
        ++work->rounds_since_join_clear >= fth_model_integer(work->params, FTH_KEY_JOIN_ROUNDS)) {
        work->rounds_since_join_clear = 0;
        fth_join_clear(work->join);
    }
    return fth_l2_flush(work->l2);
}

bool fth_work_flush_bypassed(struct fth_model_work *work)
{
    work->bypassed_groups_since_flush = 0;
    return !work->bypassed || fth_l2_flush(work->bypassed);
}

bool fth_work_run_l2(struct fth_model_work *work, const struct fth_batch *batch)
{
    for (size_t g = 0; g < batch->group_count; g++) {
        const struct fth_issue_group *group = &batch->groups[g];
        for (uint32_t i = 0; i < group->count && group->forwards; i++)
            if (!forward_request(work, batch, &batch->requests.items[group->first + i], group->sm))
                return false;
        if (work->l2_distances && !add_curve_distances(work, batch, group))
            return false;
        if (++work->groups_since_flush >= work->active_sms && !fth_work_flush_l2(work))
            return false;
    }
    return true;
}

bool fth_work_run_bypassed(struct fth_model_work *work, const struct fth_batch *batch)
{
    for (size_t g = 0; g < batch->group_count && work->bypassed; g++) {
        const struct fth_issue_group *group = &batch->groups[g];
        for (uint32_t i = 0; i < group->count; i++) {
            const struct fth_request *request = &batch->requests.items[group->first + i];
            if (!fth_l2_add(work->bypassed, &work->setting.l1, request, batch->requests.runs,
                            request->sectors, work->side_of_sm[group->sm]))
                return false;
        }
        if (++work->bypassed_groups_since_flush >= work->active_sms &&
            !fth_work_flush_bypassed(work))
            return false;
    }
    return true;
}

enum fth_status fth_work_group_by_sm(struct fth_model_work *work, struct fth_batch *batch,
                                     struct fth_error *error)
{
    for (uint64_t sm = 0; sm < work->setting.sms; sm++)
        work->first_group[sm] = UINT32_MAX;
    for (size_t g = batch->group_count; g-- > 0;) {
        struct fth_issue_group *group = &batch->groups[g];
        group->next = work->first_group[group->sm];
        work->first_group[group->sm] = (uint32_t)g;
        FTH_TRY(fth_work_prepare_l1(work, group->sm, error));
    }
    return FTH_OK;
}

bool fth_work_run_l1s(struct fth_model_work *work, struct fth_batch *batch)
{
    bool ok = true;
    for (uint64_t sm = 0; sm < work->setting.sms && ok; sm++)
        ok = fth_work_run_l1(work, batch, (uint32_t)sm, 0);
    return ok;
}

static enum fth_status run_l1s(struct fth_model_work *work, struct fth_batch *batch,
                               struct fth_error *error)
{
    const enum fth_status status = fth_work_group_by_sm(work, batch, error);
    if (status != FTH_OK)
        return status;
    return !batch->requests.failed && (work->workers ? fth_workers_run_l1s(work->workers, batch)
                                                     : fth_work_run_l1s(work, batch))
               ? FTH_OK
               : fth_no_memory(error, "model caches", NULL);
}

enum fth_status fth_work_finish_batch(struct fth_model_work *work, struct fth_batch *batch,
                                      struct fth_error *error)
{
    enum fth_status status = FTH_OK;
    if (work->multi)
        status = fth_multi_run_batch(work->multi, batch, error);
    else if (!fth_work_run_l2(work, batch) || !fth_work_run_bypassed(work, batch))
        status = fth_no_memory(error, "model caches", NULL);
    fth_requests_clear(&batch->requests);
    batch->group_count = 0;
    return status;
}

/* Runs a batch through the caches and leaves it empty. With workers, the L2 processes the batch
 * later. */
static enum fth_status run_batch(struct fth_model_work *work, struct fth_batch *batch,
                                 struct fth_error *error)
{
    enum fth_status status = work->multi ? FTH_OK : run_l1s(work, batch, error);
    if (status == FTH_OK)
        status = work->workers ? fth_workers_submit(work->workers, batch, error)
                               : fth_work_finish_batch(work, batch, error);
    if (status != FTH_OK)
        return status;
    fth_log_progress(work->options.log, "model caches",
                     work->total ? (double)work->done / (double)work->total : 1);
    return fth_log_interrupted(work->options.log)
               ? fth_fail(error, FTH_INTERRUPTED, "model caches", NULL, "interrupted")
               : FTH_OK;
}

/* ---- waves ---- */

/* `count` waves from `first_wave` on that are read from the trace together. Each wave has its own
 * batch. The batch of the first wave is processed whenever it is full, those of the other waves
 * after the whole window is read. */
struct window {
    uint64_t first_wave, count;
};

/* Appends an empty group for the access. Before that, processes the batch if it is full. */
static enum fth_status begin_group(struct fth_model_work *work, struct fth_batch *batch,
                                   const struct fth_compact_access *access, uint32_t sm,
                                   struct fth_error *error)
{
    enum fth_status status = FTH_OK;
    if (batch == work->batches && batch->requests.count >= BATCH_REQUESTS)
        status = run_batch(work, batch, error);
    if (status != FTH_OK)
        return status;
    if (!fth_grow((void **)&batch->groups, batch->group_count, &batch->group_capacity,
                  sizeof *batch->groups))
        return fth_no_memory(error, "model caches", NULL);
    batch->groups[batch->group_count++] = (struct fth_issue_group){
        .sm = sm,
        .first = batch->requests.count,
        .number = access->number,
        .block = access->block,
        .first_warp = access->warp - access->warp % work->setting.schedulers};
    return FTH_OK;
}

static bool same_group(const struct fth_model_work *work, const struct fth_batch *batch,
                       const struct fth_compact_access *access)
{
    if (batch->group_count == 0)
        return false;
    const struct fth_issue_group *group = &batch->groups[batch->group_count - 1];
    return group->block == access->block && group->number == access->number &&
           access->warp - group->first_warp < work->setting.schedulers;
}

/* Coalesces accesses of one block and appends the requests to a batch. */
static enum fth_status add_accesses(struct fth_model_work *work, struct fth_batch *batch,
                                    const struct fth_compact_access *accesses, size_t count,
                                    uint32_t sm, struct fth_error *error)
{
    for (size_t i = 0; i < count; i++) {
        const struct fth_compact_access *access = &accesses[i];
        if (access->warp >= work->setting.warps_per_block || access->threads == 0)
            return fth_fail(error, FTH_INVALID, "model caches", NULL,
                            "the trace has an invalid access: warp %u of block %llu, where blocks "
                            "have %llu warps",
                            access->warp, (unsigned long long)access->block,
                            (unsigned long long)work->setting.warps_per_block);
        if (!same_group(work, batch, access)) {
            const enum fth_status status = begin_group(work, batch, access, sm, error);
            if (status != FTH_OK)
                return status;
        }
        const struct fth_trace_instruction *instruction =
            fth_trace_instruction_at(work->trace, access->instruction);
        struct fth_issue_group *group = &batch->groups[batch->group_count - 1];
        fth_coalesce(&batch->requests, &work->setting.l1, access, instruction);
        group->count = (uint32_t)(batch->requests.count - group->first);
        work->warps[(size_t)access->instruction * 3 + (size_t)instruction->kind]++;
    }
    work->done += count;
    return FTH_OK;
}

/* Reads a window and runs it through the caches. */
static enum fth_status run_window(struct fth_model_work *work, size_t launch,
                                  const struct window *window, struct fth_error *error)
{
    uint64_t first, last, ignored, wave;
    struct fth_trace_cursor *cursor = NULL;
    const struct fth_compact_access *accesses = NULL;
    size_t count = 0;
    fth_placement_range(work->placement, window->first_wave, &first, &ignored);
    fth_placement_range(work->placement, window->first_wave + window->count - 1, &ignored, &last);
    enum fth_status status =
        fth_trace_cursor_open(work->trace, launch, first, last, &cursor, error);
    while (status == FTH_OK) {
        status = fth_trace_next_compact(cursor, SIZE_MAX, &accesses, &count, error);
        if (count == 0)
            break;
        for (size_t i = 0, end; i < count && status == FTH_OK; i = end) {
            for (end = i + 1; end < count && accesses[end].block == accesses[i].block;)
                end++;
            const uint32_t sm = fth_placement_sm(work->placement, accesses[i].block, &wave);
            if (wave >= window->first_wave && wave - window->first_wave < window->count)
                status = add_accesses(work, &work->batches[wave - window->first_wave], accesses + i,
                                      end - i, sm, error);
        }
    }
    fth_trace_cursor_close(cursor);
    for (uint64_t i = 0; i < window->count && status == FTH_OK; i++)
        status = run_batch(work, &work->batches[i], error);
    return status;
}

/* Lists the waves that have accesses, unsorted and with repetitions. Used for grids in which most
 * waves have none: a short trace can declare a grid of 2^32 blocks. */
static enum fth_status find_waves(struct fth_model_work *work, size_t launch, uint64_t **waves,
                                  size_t *count, struct fth_error *error)
{
    struct fth_trace_cursor *cursor = NULL;
    const struct fth_compact_access *access = NULL;
    size_t capacity = 0, ignored = 0;
    enum fth_status status =
        fth_trace_cursor_open(work->trace, launch, 0, UINT64_MAX, &cursor, error);
    while (status == FTH_OK) {
        status = fth_trace_next_compact(cursor, 1, &access, &ignored, error);
        if (!access)
            break;
        if (access->block >= work->setting.blocks) {
            status = fth_fail(error, FTH_INVALID, "model caches", NULL,
                              "the trace has an access of block %llu, but the grid has %llu blocks",
                              (unsigned long long)access->block,
                              (unsigned long long)work->setting.blocks);
            break;
        }
        uint64_t wave;
        fth_placement_sm(work->placement, access->block, &wave);
        if (*count && (*waves)[*count - 1] == wave)
            continue;
        if (!fth_grow((void **)waves, *count, &capacity, sizeof **waves))
            status = fth_no_memory(error, "model caches", NULL);
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
    uint64_t *found_waves = NULL;
    size_t count = 0;
    /* Read all waves, unless there are many and most of them have no accesses. Heuristic. */
    if (waves <= 64 || waves / 16 <= accesses) {
        /* Read as many waves together as fit, because one run of the trace can contain accesses of
         * several waves. */
        const uint64_t waves_that_fit = WINDOW_ACCESSES / (accesses / waves + 1);
        const uint64_t window_waves = waves_that_fit < 1 ? 1
                                      : waves_that_fit < FTH_MAX_WINDOW_WAVES
                                          ? waves_that_fit
                                          : FTH_MAX_WINDOW_WAVES;
        for (uint64_t wave = 0; wave < waves && status == FTH_OK; wave += window_waves) {
            const uint64_t left = waves - wave;
            status = run_window(work, launch,
                                &(struct window){wave, left < window_waves ? left : window_waves},
                                error);
        }
    } else {
        status = find_waves(work, launch, &found_waves, &count, error);
        if (found_waves)
            qsort(found_waves, count, sizeof *found_waves, compare);
        for (size_t i = 0; found_waves && i < count && status == FTH_OK; i++)
            if (i == 0 || found_waves[i] != found_waves[i - 1])
                status = run_window(work, launch, &(struct window){found_waves[i], 1}, error);
        free(found_waves);
    }
    /* Wait even after a failure: queued batches use the state of the launch. */
    const enum fth_status worker_status =
        work->workers ? fth_workers_wait(work->workers, error) : FTH_OK;
    if (status == FTH_OK)
        status = worker_status;
    if (status == FTH_OK &&
        !(work->multi ? fth_multi_run_flush(work->multi)
                      : fth_work_flush_l2(work) && fth_work_flush_bypassed(work)))
        status = fth_no_memory(error, "model caches", NULL);
    return status;
}

static enum fth_status run_launch(struct fth_model_work *work, size_t launch,
                                  struct fth_error *error)
{
    enum fth_status status = work->multi ? fth_multi_run_begin(work->multi, launch, error)
                                         : fth_work_begin(work, launch, error);
    if (status == FTH_OK)
        status = run_waves(work, launch, error);
    if (status == FTH_OK)
        status = work->multi ? fth_multi_run_end(work->multi, launch, error)
                             : fth_work_end(work, launch, error);
    if (status != FTH_OK && status != FTH_INTERRUPTED)
        fth_error_context(error, "launch %zu, %s", launch + 1,
                          fth_trace_launch_at(work->trace, launch)->kernel);
    return status;
}

/* Whether the options select the launch. */
static bool is_selected(const struct fth_model_work *work, size_t launch)
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
        return fth_no_memory(error, "model caches", NULL);
    work->trace = trace;
    work->params = params;
    work->options = *options;
    for (size_t i = 0; i < fth_trace_launch_count(trace); i++)
        work->total += is_selected(work, i) ? fth_trace_launch_at(trace, i)->accesses : 0;
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
        if (is_selected(work, i))
            status = run_launch(work, i, error);
    return status;
}

enum fth_status fth_model_run(const struct fth_trace *trace, const struct fth_model_params *params,
                              const struct fth_model_options *options,
                              struct fth_model_result **result, struct fth_error *error)
{
    struct fth_model_options known;
    struct fth_model_work *work = NULL;
    *result = NULL;
    FTH_TRY(fth_options_read("fth_model_options", options, &known, sizeof known, error));
    options = &known;
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
