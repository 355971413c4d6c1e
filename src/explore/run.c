/* The points of a shard, on all cores. Each worker takes the next bundle of jobs, models them on
 * one thread and has their lines written; what comes of a job depends on nothing but its
 * parameters, so neither the number of threads nor that of shards shows in the result. */
#include "explore/explore.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char operation[] = "explore";

struct crew {
    const struct fth_exploration *exploration;
    struct fth_ledger *store;
    const struct fth_log *log;
    const size_t *jobs;
    size_t count;
    const struct fth_bundle *bundles;
    size_t bundle_count;
    atomic_size_t next;
    atomic_bool stop;
    pthread_mutex_t lock; /* of the store, the count, the error and the caller's log */
    size_t done, shared, one_pass;
    enum fth_status status;
    struct fth_error *error;
};

/* ---- what is to be done ---- */

enum fth_status fth_explore_jobs(const struct fth_exploration *exploration,
                                 const struct fth_ledger *store, size_t shard, size_t shards,
                                 size_t **jobs, size_t *count, struct fth_error *error)
{
    bool *wanted = calloc(exploration->jobs, sizeof *wanted);
    *count = 0;
    *jobs = calloc(exploration->jobs, sizeof **jobs);
    if (!wanted || !*jobs) {
        free(wanted);
        return fth_fail(error, FTH_NO_MEMORY, operation, NULL, "out of memory");
    }
    for (size_t i = 0; i < exploration->points; i++) {
        const size_t job = exploration->job_of[i];
        wanted[job] = wanted[job] || (job % shards == shard - 1 && !fth_ledger_has(store, i));
    }
    for (size_t job = 0; job < exploration->jobs; job++)
        if (wanted[job])
            (*jobs)[(*count)++] = job;
    free(wanted);
    return FTH_OK;
}

/* ---- a worker ---- */

static bool stopped(void *user)
{
    struct crew *crew = user;
    return crew->stop || fth_log_interrupted(crew->log);
}

/* The points of a job that are not there yet. */
static enum fth_status add_points(struct crew *crew, size_t job,
                                  const struct fth_model_result *result,
                                  const struct fth_model_params *params, struct fth_error *error)
{
    const struct fth_exploration *exploration = crew->exploration;
    enum fth_status status = FTH_OK;
    for (size_t i = exploration->head[job]; i < exploration->points && status == FTH_OK; i++) {
        struct fth_buffer line = {0};
        struct fth_point point;
        char *text = NULL;
        size_t size = 0;
        if (exploration->job_of[i] != job || fth_ledger_has(crew->store, i))
            continue;
        fth_point_at(exploration, i, &point);
        fth_line_write(&line, &point, result, params);
        status = fth_buffer_take(&line, &text, &size, error);
        if (status == FTH_OK)
            status = fth_ledger_add(crew->store, i, text, size, error);
        else
            fth_buffer_fini(&line);
    }
    return status;
}

static enum fth_status run_models(struct crew *crew, const size_t *jobs,
                                  struct fth_model_params **params,
                                  struct fth_model_member *members, size_t count,
                                  struct fth_error *error)
{
    const struct fth_exploration *exploration = crew->exploration;
    const struct fth_log quiet = {.interrupted = stopped, .user = crew};
    struct fth_point point = {0};
    size_t culprit = 0;
    enum fth_status status = FTH_OK;
    for (size_t i = 0; i < count && status == FTH_OK; i++) {
        fth_point_at(exploration, exploration->head[jobs[i]], &point);
        status = fth_point_params(exploration, &point, &params[i], error);
        members[i] =
            (struct fth_model_member){.params = params[i], .bypassed = point.study->l1_off};
        culprit = i;
    }
    if (status == FTH_OK)
        status = fth_model_run_many(
            point.source->trace, members, count,
            &(struct fth_model_options){.kernel = point.kernel, .log = &quiet}, &culprit, error);
    if (status != FTH_OK && status != FTH_INTERRUPTED) {
        fth_point_at(exploration, exploration->head[jobs[culprit]], &point);
        fth_error_context(error, "point %zu, %s", point.number, point.source->name);
    }
    return status;
}

static enum fth_status run_bundle(struct crew *crew, const struct fth_bundle *bundle,
                                  struct fth_error *error)
{
    const size_t *jobs = crew->jobs + bundle->first;
    struct fth_model_params **params = calloc(bundle->count, sizeof *params);
    struct fth_model_member *members = calloc(bundle->count, sizeof *members);
    if (!params || !members) {
        free(params);
        free(members);
        return fth_fail(error, FTH_NO_MEMORY, operation, NULL, "out of memory");
    }
    enum fth_status status = run_models(crew, jobs, params, members, bundle->count, error);
    if (status == FTH_OK) {
        pthread_mutex_lock(&crew->lock);
        for (size_t i = 0; i < bundle->count && status == FTH_OK; i++) {
            status = add_points(crew, jobs[i], members[i].result, params[i], error);
            crew->done += status == FTH_OK;
            crew->shared += members[i].l1 == FTH_L1_SHARED;
            crew->one_pass += members[i].l1 == FTH_L1_LADDER;
        }
        fth_log_progress(crew->log, operation, (double)crew->done / (double)crew->count);
        pthread_mutex_unlock(&crew->lock);
    }
    for (size_t i = 0; i < bundle->count; i++) {
        fth_model_result_destroy(members[i].result);
        fth_model_params_destroy(params[i]);
    }
    free(params);
    free(members);
    return status;
}

static void *work(void *argument)
{
    struct crew *crew = argument;
    for (;;) {
        const size_t next = atomic_fetch_add(&crew->next, 1);
        struct fth_error error = FTH_NO_ERROR;
        if (next >= crew->bundle_count)
            return NULL;
        enum fth_status status =
            stopped(crew) ? fth_fail(&error, FTH_INTERRUPTED, operation, NULL, "interrupted")
                          : run_bundle(crew, &crew->bundles[next], &error);
        if (status == FTH_OK)
            continue;
        pthread_mutex_lock(&crew->lock);
        /* Those that are stopped because of another's fault say nothing. */
        if (crew->status == FTH_OK) {
            crew->status = status;
            if (crew->error)
                *crew->error = error;
        }
        crew->stop = true;
        pthread_mutex_unlock(&crew->lock);
        return NULL;
    }
}

static enum fth_status run_crew(struct crew *crew, unsigned threads)
{
    pthread_t *helpers = NULL;
    size_t count = 0;
    if (threads > crew->bundle_count)
        threads = (unsigned)crew->bundle_count;
    if (threads > 1)
        helpers = calloc(threads - 1, sizeof *helpers);
    /* With fewer helpers than wished for it only takes longer. */
    while (helpers && count + 1 < threads && pthread_create(&helpers[count], NULL, work, crew) == 0)
        count++;
    work(crew);
    for (size_t i = 0; i < count; i++)
        pthread_join(helpers[i], NULL);
    free(helpers);
    return crew->status;
}

static unsigned cores(void)
{
    const long count = sysconf(_SC_NPROCESSORS_ONLN);
    return count > 0 && count < 4096 ? (unsigned)count : 1;
}

enum fth_status fth_explore_run(struct fth_exploration *exploration,
                                const struct fth_explore_options *options,
                                struct fth_explore_outcome *outcome, struct fth_error *error)
{
    const size_t shards = options->shards ? options->shards : 1;
    const size_t shard = options->shards ? options->shard : 1;
    const unsigned threads = options->threads ? options->threads : cores();
    struct fth_ledger *store = NULL;
    struct fth_bundle *bundles = NULL;
    size_t *jobs = NULL;
    struct crew crew = {
        .exploration = exploration, .log = options->log, .error = error, .status = FTH_OK};
    *outcome = (struct fth_explore_outcome){0};
    enum fth_status status = fth_plan_complete(exploration, error);
    if (status == FTH_OK && (shard < 1 || shard > shards))
        status = fth_fail(error, FTH_INVALID, operation, NULL, "there is no shard %zu of %zu",
                          shard, shards);
    if (status == FTH_OK)
        status = fth_ledger_open(exploration, options->output, shard, shards, options->log, &store,
                                 error);
    if (status == FTH_OK)
        status = fth_explore_jobs(exploration, store, shard, shards, &jobs, &crew.count, error);
    if (status == FTH_OK)
        status = fth_explore_bundles(exploration, jobs, crew.count, threads, &bundles,
                                     &crew.bundle_count, error);
    if (status == FTH_OK) {
        outcome->found = fth_ledger_count(store);
        crew.store = store;
        crew.jobs = jobs;
        crew.bundles = bundles;
        pthread_mutex_init(&crew.lock, NULL);
        status = run_crew(&crew, threads);
        pthread_mutex_destroy(&crew.lock);
        outcome->jobs = crew.done;
        outcome->l1_shared = crew.shared;
        outcome->l1_one_pass = crew.one_pass;
        outcome->computed = fth_ledger_count(store) - outcome->found;
    }
    if (status == FTH_OK)
        status = fth_ledger_finish(store, error);
    if (store) {
        struct fth_buffer text = {0};
        struct fth_error full = FTH_NO_ERROR;
        fth_ledger_text(store, &text);
        if (fth_buffer_take(&text, &outcome->text, &outcome->size, &full) != FTH_OK)
            fth_buffer_fini(&text);
    }
    free(jobs);
    free(bundles);
    fth_ledger_close(store);
    return status;
}
