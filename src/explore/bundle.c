/* Which jobs are run together: those that read the same trace in the same order (model/many.c). Of
 * these, jobs with the same L1s stand side by side, as they share the L1s as well.
 *
 * All jobs of a bundle finish at once, so a process that is killed loses what it was at: a bundle
 * is no larger than some tens of seconds of work, where a single job is not. */
#include "explore/explore.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_JOBS = 16 };
static const uint64_t max_work = UINT64_C(1) << 28;  /* lines asked for, times jobs */
static const uint64_t max_lines = UINT64_C(1) << 22; /* of caches: some 300 MB */

struct kind {
    size_t job, source;
    const char *kernel; /* NULL: all */
    struct fth_likeness likeness;
    uint64_t work; /* lines that are asked for */
    bool alone;
};

static uint64_t count_work(const struct fth_subject *source, const char *kernel)
{
    uint64_t lines = 0;
    for (size_t i = 0; i < fth_trace_launch_count(source->trace); i++)
        if (!kernel || strcmp(kernel, fth_trace_launch_at(source->trace, i)->kernel) == 0)
            lines += source->lines[i];
    return lines;
}

/* What cannot be is told when it is run, by itself. */
static enum fth_status find_kind(const struct fth_exploration *exploration, size_t job,
                                 struct kind *kind, struct fth_error *error)
{
    struct fth_point point;
    struct fth_model_params *params = NULL;
    fth_point_at(exploration, exploration->head[job], &point);
    *kind = (struct kind){.job = job,
                          .source = (size_t)(point.source - exploration->sources),
                          .kernel = point.kernel,
                          .work = count_work(point.source, point.kernel)};
    const enum fth_status status = fth_point_params(exploration, &point, &params, error);
    if (status == FTH_OK)
        kind->alone = fth_model_likeness(point.source->trace, point.kernel, params, &kind->likeness,
                                         NULL) != FTH_OK;
    fth_model_params_destroy(params);
    return status;
}

static int order(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

/* Jobs that can be run together compare as equal. */
static int compare_streams(const struct kind *a, const struct kind *b)
{
    int result = order(a->source, b->source);
    if (!result)
        result = strcmp(a->kernel ? a->kernel : "", b->kernel ? b->kernel : "");
    return result ? result : order(a->likeness.stream, b->likeness.stream);
}

static int compare_kinds(const void *a, const void *b)
{
    const struct kind *x = a, *y = b;
    int result = compare_streams(x, y);
    if (!result)
        result = order(x->likeness.ladder, y->likeness.ladder);
    if (!result)
        result = order(x->likeness.l1, y->likeness.l1);
    if (!result)
        result = order(x->likeness.below, y->likeness.below);
    return result ? result : order(x->job, y->job);
}

static int compare_bundles(const void *a, const void *b)
{
    const struct fth_bundle *x = a, *y = b;
    return x->work != y->work ? order(y->work, x->work) : order(x->first, y->first);
}

/* How many of those from `first` on are run together. */
static size_t measure(const struct kind *kinds, size_t first, size_t count, size_t max)
{
    const struct kind *head = &kinds[first];
    uint64_t lines = 0;
    size_t end = first;
    for (; end < count && end - first < max; end++) {
        lines += 2 * kinds[end].likeness.room_lines;
        if (end > first &&
            (head->alone || kinds[end].alone || lines > max_lines ||
             (end - first + 1) * head->work > max_work || compare_streams(head, &kinds[end]) != 0))
            break;
    }
    return end - first;
}

enum fth_status fth_explore_bundles(const struct fth_exploration *exploration, size_t *jobs,
                                    size_t count, unsigned threads, struct fth_bundle **bundles,
                                    size_t *bundle_count, struct fth_error *error)
{
    struct kind *kinds = calloc(count ? count : 1, sizeof *kinds);
    enum fth_status status = FTH_OK;
    *bundle_count = 0;
    *bundles = calloc(count ? count : 1, sizeof **bundles);
    if (!kinds || !*bundles) {
        free(kinds);
        return fth_fail(error, FTH_NO_MEMORY, "explore", NULL, "out of memory");
    }
    for (size_t i = 0; i < count && status == FTH_OK; i++)
        status = find_kind(exploration, jobs[i], &kinds[i], error);
    if (status == FTH_OK) {
        /* So that every thread has something. */
        const size_t each = threads > 1 ? count / (2 * (size_t)threads) + 1 : count;
        qsort(kinds, count, sizeof *kinds, compare_kinds);
        for (size_t at = 0; at < count; at += (*bundles)[(*bundle_count)++].count) {
            const size_t size = measure(kinds, at, count, each < MAX_JOBS ? each : MAX_JOBS);
            (*bundles)[*bundle_count] = (struct fth_bundle){at, size, size * kinds[at].work};
        }
        for (size_t i = 0; i < count; i++)
            jobs[i] = kinds[i].job;
        qsort(*bundles, *bundle_count, sizeof **bundles, compare_bundles);
    }
    free(kinds);
    return status;
}
