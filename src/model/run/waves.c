/* Reads a trace and turns it into batches of requests: Algorithms 1 and 2 of the paper, for all SMs
 * at the same time.
 *
 * The waves of a launch are processed one after the other. Within a wave, accesses are sorted by
 * access number, block and warp. The accesses that the schedulers of an SM issue together
 * (Algorithm 2, lines 8 to 11) form a group. Groups are collected into batches, which a simulation
 * runs through the caches: each L1 first processes its groups of a batch, independently of the
 * other L1s, then the L2 processes the forwarded requests in the order of the trace. */
#include "model/run/run.h"

#include <stdlib.h>
#include <string.h>

enum {
    /* Requests that complete a batch, and accesses that are read into one window. Both bound the
     * memory of a run; chosen by experiment. */
    BATCH_REQUESTS = 1 << 17,
    WINDOW_ACCESSES = 1 << 19,
    /* Maximum number of waves that are read together in one pass over their part of the trace.
     * Chosen by experiment. */
    MAX_WINDOW_WAVES = 64,
    /* If a launch has more than MAX_WAVES_READ waves, and more than WAVES_PER_ACCESS of them per
     * access, only the waves that have accesses are read. Chosen, not derived: it protects against
     * a short trace that declares a grid of 2^32 blocks. */
    MAX_WAVES_READ = 64,
    WAVES_PER_ACCESS = 16
};

struct wave_reader {
    const struct fth_simulation *simulation;
    const struct fth_trace *trace;
    const struct fth_model_params *params;
    const char *kernel; /* read only the launches of this kernel; NULL: all */
    const struct fth_log *log;
    uint64_t done, total; /* accesses, for progress reports */
    bool enough;          /* the simulation needs nothing more of the trace */

    /* State of one launch. */
    size_t launch;
    struct fth_setting setting;
    struct fth_placement *placement;
    uint64_t *warps;                                  /* [instructions][3] accesses by kind */
    struct fth_issue_batch batches[MAX_WINDOW_WAVES]; /* one per wave of a window */
};

/* ---- batches ---- */

void fth_issue_batch_clear(struct fth_issue_batch *batch)
{
    fth_line_requests_clear(&batch->requests);
    batch->group_count = 0;
}

void fth_issue_batch_fini(struct fth_issue_batch *batch)
{
    fth_line_requests_fini(&batch->requests);
    free(batch->groups);
    *batch = (struct fth_issue_batch){0};
}

/* Moves the groups of a batch to the end of another one. */
static enum fth_status append_batch(struct fth_issue_batch *to, struct fth_issue_batch *from,
                                    struct fth_error *error)
{
    const size_t first = to->requests.count;
    for (size_t i = 0; i < from->requests.count; i++) {
        struct fth_line_request request = from->requests.items[i];
        const struct fth_cache_run *runs = from->requests.runs + request.run;
        request.run = (uint32_t)to->requests.run_count;
        if (!fth_line_requests_reserve(&to->requests))
            return fth_no_memory(error, "model caches", NULL);
        to->requests.items[to->requests.count++] = request;
        for (uint32_t k = 0; k < request.run_count; k++) {
            if (!fth_line_requests_reserve(&to->requests))
                return fth_no_memory(error, "model caches", NULL);
            to->requests.runs[to->requests.run_count++] = runs[k];
        }
    }
    for (size_t i = 0; i < from->group_count; i++) {
        if (!fth_grow((void **)&to->groups, to->group_count, &to->group_capacity,
                      sizeof *to->groups))
            return fth_no_memory(error, "model caches", NULL);
        to->groups[to->group_count] = from->groups[i];
        to->groups[to->group_count++].first += first;
    }
    to->requests.failed = to->requests.failed || from->requests.failed;
    fth_issue_batch_clear(from);
    return FTH_OK;
}

/* Gives a batch to the simulation, which leaves it empty. */
static enum fth_status run_batch(struct wave_reader *reader, struct fth_issue_batch *batch,
                                 struct fth_error *error)
{
    FTH_TRY(
        reader->simulation->ops->batch(reader->simulation->context, batch, &reader->enough, error));
    if (reader->enough)
        return FTH_OK;
    fth_log_progress(reader->log, "model caches",
                     reader->total ? (double)reader->done / (double)reader->total : 1);
    return fth_log_interrupted(reader->log)
               ? fth_fail(error, FTH_INTERRUPTED, "model caches", NULL, "interrupted")
               : FTH_OK;
}

/* Appends an empty group for the access. */
static enum fth_status begin_group(struct wave_reader *reader, struct fth_issue_batch *batch,
                                   const struct fth_compact_access *access, uint32_t sm,
                                   struct fth_error *error)
{
    if (!fth_grow((void **)&batch->groups, batch->group_count, &batch->group_capacity,
                  sizeof *batch->groups))
        return fth_no_memory(error, "model caches", NULL);
    batch->groups[batch->group_count++] = (struct fth_issue_group){
        .sm = sm,
        .first = batch->requests.count,
        .number = access->number,
        .block = access->block,
        .first_warp = access->warp - access->warp % reader->setting.schedulers};
    return FTH_OK;
}

static bool same_group(const struct wave_reader *reader, const struct fth_issue_batch *batch,
                       const struct fth_compact_access *access)
{
    if (batch->group_count == 0)
        return false;
    const struct fth_issue_group *group = &batch->groups[batch->group_count - 1];
    return group->block == access->block && group->number == access->number &&
           access->warp - group->first_warp < reader->setting.schedulers;
}

enum fth_status fth_check_access(const struct fth_compact_access *access,
                                 const struct fth_setting *setting, struct fth_error *error)
{
    if (access->warp < setting->warps_per_block && access->threads)
        return FTH_OK;
    return fth_fail(error, FTH_INVALID, "model caches", NULL,
                    "the trace has an invalid access: warp %u of block %llu, where blocks have "
                    "%llu warps",
                    access->warp, (unsigned long long)access->block,
                    (unsigned long long)setting->warps_per_block);
}

/* Appends the requests of an access to a batch. */
static void coalesce(const struct wave_reader *reader, struct fth_issue_batch *batch,
                     const struct fth_compact_access *access,
                     const struct fth_trace_instruction *instruction, uint32_t sm)
{
    struct fth_compact_access placed = *access;
    if (instruction->hints & FTH_TRACE_LOCAL) {
        const uint64_t place = fth_placement_place(reader->placement, access->block);
        placed.first += fth_local_address(&reader->setting, sm, place, access->warp);
    }
    fth_coalesce(&batch->requests, &reader->setting.l1, &placed, instruction);
}

/* Coalesces accesses of one block and appends the requests to a batch. The batch of the first wave
 * of a window is processed whenever it is full. */
static enum fth_status add_accesses(struct wave_reader *reader, struct fth_issue_batch *batch,
                                    const struct fth_compact_access *accesses, size_t count,
                                    uint32_t sm, struct fth_error *error)
{
    for (size_t i = 0; i < count && !reader->enough; i++) {
        const struct fth_compact_access *access = &accesses[i];
        FTH_TRY(fth_check_access(access, &reader->setting, error));
        if (!same_group(reader, batch, access)) {
            if (batch == reader->batches && batch->requests.count >= BATCH_REQUESTS)
                FTH_TRY(run_batch(reader, batch, error));
            FTH_TRY(begin_group(reader, batch, access, sm, error));
        }
        const struct fth_trace_instruction *instruction =
            fth_trace_instruction_at(reader->trace, access->instruction);
        struct fth_issue_group *group = &batch->groups[batch->group_count - 1];
        coalesce(reader, batch, access, instruction, sm);
        group->count = (uint32_t)(batch->requests.count - group->first);
        reader->warps[(size_t)access->instruction * 3 + (size_t)instruction->kind]++;
    }
    reader->done += count;
    return FTH_OK;
}

/* ---- waves ---- */

/* `count` waves from `first_wave` on that are read from the trace together. Each wave has its own
 * batch. Those after the first are processed after the whole window is read. */
struct window {
    uint64_t first_wave, count;
};

/* Adds accesses of any blocks to the batches of their waves, if these are in the window. */
static enum fth_status add_to_window(struct wave_reader *reader, const struct window *window,
                                     const struct fth_compact_access *accesses, size_t count,
                                     struct fth_error *error)
{
    for (size_t i = 0, end; i < count; i = end) {
        uint64_t wave;
        for (end = i + 1; end < count && accesses[end].block == accesses[i].block;)
            end++;
        const uint32_t sm = fth_placement_sm(reader->placement, accesses[i].block, &wave);
        if (wave >= window->first_wave && wave - window->first_wave < window->count)
            FTH_TRY(add_accesses(reader, &reader->batches[wave - window->first_wave], accesses + i,
                                 end - i, sm, error));
    }
    return FTH_OK;
}

/* Reads a window and runs it through the caches. */
static enum fth_status run_window(struct wave_reader *reader, const struct window *window,
                                  struct fth_error *error)
{
    uint64_t first, last, ignored;
    struct fth_trace_cursor *cursor = NULL;
    const struct fth_compact_access *accesses = NULL;
    size_t count = 0;
    fth_placement_range(reader->placement, window->first_wave, &first, &ignored);
    fth_placement_range(reader->placement, window->first_wave + window->count - 1, &ignored, &last);
    enum fth_status status =
        fth_trace_cursor_open(reader->trace, reader->launch, first, last, &cursor, error);
    while (status == FTH_OK && !reader->enough) {
        status = fth_trace_next_compact(cursor, SIZE_MAX, &accesses, &count, error);
        if (status != FTH_OK || count == 0)
            break;
        status = add_to_window(reader, window, accesses, count, error);
    }
    fth_trace_cursor_close(cursor);
    /* Each cache of a model is loaded into the host's caches once per batch, so small waves are
     * joined to large batches. */
    struct fth_issue_batch *joined = reader->batches;
    for (uint64_t i = 1; i < window->count && status == FTH_OK && !reader->enough; i++) {
        struct fth_issue_batch *batch = &reader->batches[i];
        if (joined->requests.count + batch->requests.count > BATCH_REQUESTS)
            status = run_batch(reader, joined, error);
        if (status == FTH_OK && !reader->enough)
            status = append_batch(joined, batch, error);
    }
    if (status == FTH_OK && !reader->enough)
        status = run_batch(reader, joined, error);
    return status;
}

/* Runs all waves of a launch. As many waves are read together as fit, because one run of the trace
 * can contain accesses of several waves. */
static enum fth_status run_all_waves(struct wave_reader *reader, uint64_t waves, uint64_t accesses,
                                     struct fth_error *error)
{
    const uint64_t fit = WINDOW_ACCESSES / (accesses / waves + 1);
    const uint64_t count = fit < 1 ? 1 : fit < MAX_WINDOW_WAVES ? fit : MAX_WINDOW_WAVES;
    for (uint64_t wave = 0; wave < waves && !reader->enough; wave += count) {
        const uint64_t left = waves - wave;
        FTH_TRY(run_window(reader, &(struct window){wave, left < count ? left : count}, error));
    }
    return FTH_OK;
}

/* Lists the waves that have accesses, unsorted and with repetitions. The caller frees the list,
 * also after a failure. */
static enum fth_status find_waves(const struct wave_reader *reader, uint64_t **waves, size_t *count,
                                  struct fth_error *error)
{
    struct fth_trace_cursor *cursor = NULL;
    const struct fth_compact_access *access = NULL;
    size_t capacity = 0, ignored = 0;
    enum fth_status status =
        fth_trace_cursor_open(reader->trace, reader->launch, 0, UINT64_MAX, &cursor, error);
    while (status == FTH_OK) {
        status = fth_trace_next_compact(cursor, 1, &access, &ignored, error);
        if (!access)
            break;
        if (access->block >= reader->setting.blocks) {
            status = fth_fail(error, FTH_INVALID, "model caches", NULL,
                              "the trace has an access of block %llu, but the grid has %llu blocks",
                              (unsigned long long)access->block,
                              (unsigned long long)reader->setting.blocks);
            break;
        }
        uint64_t wave;
        fth_placement_sm(reader->placement, access->block, &wave);
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

/* Runs only the waves that have accesses. */
static enum fth_status run_used_waves(struct wave_reader *reader, struct fth_error *error)
{
    uint64_t *waves = NULL;
    size_t count = 0;
    enum fth_status status = find_waves(reader, &waves, &count, error);
    if (waves)
        qsort(waves, count, sizeof *waves, compare);
    for (size_t i = 0; waves && i < count && status == FTH_OK && !reader->enough; i++)
        if (i == 0 || waves[i] != waves[i - 1])
            status = run_window(reader, &(struct window){waves[i], 1}, error);
    free(waves);
    return status;
}

/* ---- launches ---- */

static enum fth_status begin_launch(struct wave_reader *reader, struct fth_error *error)
{
    const struct fth_trace_launch *head = fth_trace_launch_at(reader->trace, reader->launch);
    fth_placement_destroy(reader->placement);
    reader->placement = NULL;
    memset(reader->warps, 0,
           3 * (fth_trace_instruction_count(reader->trace) + 1) * sizeof *reader->warps);
    FTH_TRY(fth_model_setting(reader->params, head, &reader->setting, error));
    FTH_TRY(fth_placement_create(reader->params, &reader->setting, &reader->placement, error));
    return reader->simulation->ops->begin(reader->simulation->context, reader->launch, error);
}

static enum fth_status run_launch(struct wave_reader *reader, struct fth_error *error)
{
    FTH_TRY(begin_launch(reader, error));
    const uint64_t waves = fth_placement_waves(reader->placement);
    const uint64_t accesses = fth_trace_launch_at(reader->trace, reader->launch)->accesses;
    if (waves <= MAX_WAVES_READ || waves / WAVES_PER_ACCESS <= accesses)
        FTH_TRY(run_all_waves(reader, waves, accesses, error));
    else
        FTH_TRY(run_used_waves(reader, error));
    return reader->enough ? FTH_OK
                          : reader->simulation->ops->end(reader->simulation->context,
                                                         reader->launch, reader->warps, error);
}

bool fth_launch_is_selected(const struct fth_trace *trace, size_t launch, const char *kernel)
{
    return !kernel || strcmp(kernel, fth_trace_launch_at(trace, launch)->kernel) == 0;
}

void fth_launch_error_context(const struct fth_trace *trace, size_t launch, struct fth_error *error)
{
    char name[FTH_NAME_BYTES];
    fth_demangle(fth_trace_launch_at(trace, launch)->kernel, FTH_NAME_SHORT, name, sizeof name);
    fth_error_context(error, "launch %zu, %s", launch + 1, name);
}

static enum fth_status run_launches(struct wave_reader *reader, struct fth_error *error)
{
    const size_t count = fth_trace_launch_count(reader->trace);
    for (size_t i = 0; i < count; i++)
        reader->total += fth_launch_is_selected(reader->trace, i, reader->kernel)
                             ? fth_trace_launch_at(reader->trace, i)->accesses
                             : 0;
    for (size_t i = 0; i < count && !reader->enough; i++) {
        if (!fth_launch_is_selected(reader->trace, i, reader->kernel))
            continue;
        reader->launch = i;
        const enum fth_status status = run_launch(reader, error);
        if (status != FTH_OK && status != FTH_INTERRUPTED)
            fth_launch_error_context(reader->trace, i, error);
        if (status != FTH_OK)
            return status;
    }
    return FTH_OK;
}

enum fth_status fth_simulate_trace(const struct fth_simulation *simulation,
                                   const struct fth_trace *trace,
                                   const struct fth_model_params *params,
                                   const struct fth_model_options *options, struct fth_error *error)
{
    struct wave_reader reader = {.simulation = simulation,
                                 .trace = trace,
                                 .params = params,
                                 .kernel = options->kernel,
                                 .log = options->log};
    reader.warps = calloc(3 * (fth_trace_instruction_count(trace) + 1), sizeof *reader.warps);
    const enum fth_status status =
        reader.warps ? run_launches(&reader, error) : fth_no_memory(error, "model caches", NULL);
    for (size_t i = 0; i < MAX_WINDOW_WAVES; i++)
        fth_issue_batch_fini(&reader.batches[i]);
    fth_placement_destroy(reader.placement);
    free(reader.warps);
    return status;
}
