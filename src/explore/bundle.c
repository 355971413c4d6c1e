/* Decides which jobs are run together: those that read the same trace in the same order, which the
 * model can process in one pass (model/multi_run.c). Jobs are sorted so that those with the same
 * L1s are neighbours, because they share the simulation of the L1s as well. Jobs with time share
 * nothing, so each of them is a bundle of its own.
 *
 * All jobs of a bundle finish at the same time, so a process that is killed loses the bundles it
 * was working on. A bundle is therefore limited to some tens of seconds of work, unless a single
 * job takes longer. */
#include "explore/explore.h"

#include <stdlib.h>
#include <string.h>

/* Maximum number of jobs per bundle. Chosen, not derived: a process that is killed loses no more
 * than these per thread. */
enum { MAX_JOBS = 16 };
/* Maximum work of a bundle: requested lines times jobs. Chosen: 2^28 take about 20 seconds
 * (docs/explore.md). */
static const uint64_t max_work = UINT64_C(1) << 28;
/* Maximum number of cache lines that the models of a bundle hold in memory. Chosen: about 300 MB.
 */
static const uint64_t max_lines = UINT64_C(1) << 22;

/* What the grouping needs to know about a job. */
struct job_info {
    size_t job, input, gpu;
    const char *kernel; /* NULL: all kernels */
    struct fth_sharing_keys keys;
    uint64_t work; /* requested lines */
    /* It shares no work, because the model runs with time or the parameters are invalid. The error
     * is reported when the job runs. */
    bool alone;
};

/* Returns how many lines the launches of a kernel (NULL: of all kernels) request. */
static uint64_t count_work(const struct fth_input *input, const char *kernel)
{
    uint64_t lines = 0;
    for (size_t i = 0; i < fth_trace_launch_count(input->trace); i++)
        if (!kernel || strcmp(kernel, fth_trace_launch_at(input->trace, i)->kernel) == 0)
            lines += input->lines[i];
    return lines;
}

static enum fth_status find_info(const struct fth_exploration *exploration, size_t job,
                                 struct job_info *job_info, struct fth_error *error)
{
    struct fth_point point;
    struct fth_model_params *params = NULL;
    fth_point_at(exploration, exploration->first_point[job], &point);
    *job_info = (struct job_info){.job = job,
                                  .input = (size_t)(point.input - exploration->inputs),
                                  .gpu = point.gpu ? (size_t)(point.gpu - exploration->gpus) : 0,
                                  .kernel = point.kernel,
                                  .work = count_work(point.input, point.kernel)};
    const enum fth_status status = fth_point_params(exploration, &point, &params, error);
    if (status == FTH_OK)
        job_info->alone = fth_model_sharing_keys(point.input->trace, point.kernel, params,
                                                 &job_info->keys, NULL) != FTH_OK ||
                          fth_model_timed(params, NULL);
    fth_model_params_destroy(params);
    return status;
}

static int compare_u64(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

/* Returns 0 for jobs that can share a pass over the trace. */
static int compare_streams(const struct job_info *a, const struct job_info *b)
{
    int result = compare_u64(a->input, b->input);
    if (!result)
        result = compare_u64(a->gpu, b->gpu);
    if (!result)
        result = strcmp(a->kernel ? a->kernel : "", b->kernel ? b->kernel : "");
    return result ? result : compare_u64(a->keys.stream, b->keys.stream);
}

static int compare_infos(const void *a, const void *b)
{
    const struct job_info *x = a, *y = b;
    int result = compare_streams(x, y);
    if (!result)
        result = compare_u64(x->alone, y->alone);
    if (!result)
        result = compare_u64(x->keys.l1_except_ways, y->keys.l1_except_ways);
    if (!result)
        result = compare_u64(x->keys.l1, y->keys.l1);
    if (!result)
        result = compare_u64(x->keys.l2_input, y->keys.l2_input);
    return result ? result : compare_u64(x->job, y->job);
}

static int compare_bundles(const void *a, const void *b)
{
    const struct fth_bundle *x = a, *y = b;
    return x->work != y->work ? compare_u64(y->work, x->work) : compare_u64(x->first, y->first);
}

/* Returns how many jobs from `first` on form a bundle, at least 1 and at most `max`. */
static size_t bundle_size(const struct job_info *infos, size_t first, size_t count, size_t max)
{
    const struct job_info *first_point = &infos[first];
    uint64_t lines = 0;
    size_t end = first;
    for (; end < count && end - first < max; end++) {
        lines += 2 * infos[end].keys.cache_lines;
        if (end > first && (first_point->alone || infos[end].alone || lines > max_lines ||
                            (end - first + 1) * first_point->work > max_work ||
                            compare_streams(first_point, &infos[end]) != 0))
            break;
    }
    return end - first;
}

enum fth_status fth_explore_bundles(const struct fth_exploration *exploration, size_t *jobs,
                                    size_t count, unsigned threads, struct fth_bundle **bundles,
                                    size_t *bundle_count, struct fth_error *error)
{
    struct job_info *infos = calloc(count ? count : 1, sizeof *infos);
    enum fth_status status = FTH_OK;
    *bundle_count = 0;
    *bundles = calloc(count ? count : 1, sizeof **bundles);
    if (!infos || !*bundles) {
        free(infos);
        return fth_no_memory(error, "explore", NULL);
    }
    for (size_t i = 0; i < count && status == FTH_OK; i++)
        status = find_info(exploration, jobs[i], &infos[i], error);
    if (status == FTH_OK) {
        /* Limits the bundles so that there are about two per thread, and every thread is busy. */
        const size_t each = threads > 1 ? count / (2 * (size_t)threads) + 1 : count;
        qsort(infos, count, sizeof *infos, compare_infos);
        for (size_t at = 0; at < count; at += (*bundles)[(*bundle_count)++].count) {
            const size_t size = bundle_size(infos, at, count, each < MAX_JOBS ? each : MAX_JOBS);
            (*bundles)[*bundle_count] = (struct fth_bundle){at, size, size * infos[at].work};
        }
        for (size_t i = 0; i < count; i++)
            jobs[i] = infos[i].job;
        qsort(*bundles, *bundle_count, sizeof **bundles, compare_bundles);
    }
    free(infos);
    return status;
}
