/* Computes the points of a shard on all cores. Each thread repeatedly takes the next bundle of
 * jobs, runs the models, and writes the lines of their points. The result of a job depends only on
 * its parameters, so the output does not depend on the number of threads or shards. */
#include "explore/explore.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char operation[] = "explore";

/* What the threads share. */
struct pool {
    const struct fth_exploration *exploration;
    struct fth_output *output;
    const struct fth_log *log;
    const size_t *jobs;
    size_t count; /* of the jobs */
    const struct fth_bundle *bundles;
    size_t bundle_count;
    atomic_size_t next;            /* bundle */
    atomic_bool stop;              /* set after a failure */
    pthread_mutex_t lock;          /* protects output, counts, status, error and the caller's log */
    size_t done, shared, one_pass; /* finished jobs; see struct fth_explore_outcome */
    enum fth_status status;
    struct fth_error *error;
};

/* ---- jobs ---- */

/* Returns the jobs of a shard that have points missing in the output. The caller frees them. */
static enum fth_status list_jobs(const struct fth_exploration *exploration,
                                 const struct fth_output *output, size_t shard, size_t shards,
                                 size_t **jobs, size_t *count, struct fth_error *error)
{
    bool *wanted = calloc(exploration->jobs, sizeof *wanted);
    *count = 0;
    *jobs = calloc(exploration->jobs, sizeof **jobs);
    if (!wanted || !*jobs) {
        free(wanted);
        return fth_no_memory(error, operation, NULL);
    }
    for (size_t i = 0; i < exploration->points; i++) {
        const size_t job = exploration->job_of[i];
        wanted[job] = wanted[job] || (job % shards == shard - 1 && !fth_output_has(output, i));
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
    struct pool *pool = user;
    return pool->stop || fth_log_interrupted(pool->log);
}

/* Writes those points of a job that the output does not have yet. */
static enum fth_status add_points(struct pool *pool, size_t job,
                                  const struct fth_model_result *result,
                                  const struct fth_model_params *params, struct fth_error *error)
{
    const struct fth_exploration *exploration = pool->exploration;
    enum fth_status status = FTH_OK;
    for (size_t i = exploration->first_point[job]; i < exploration->points && status == FTH_OK;
         i++) {
        struct fth_buffer line = {0};
        struct fth_point point;
        char *text = NULL;
        size_t size = 0;
        if (exploration->job_of[i] != job || fth_output_has(pool->output, i))
            continue;
        fth_point_at(exploration, i, &point);
        fth_line_write(&line, &point, result, params);
        status = fth_buffer_take(&line, &text, &size, error);
        fth_buffer_fini(&line);
        if (status == FTH_OK)
            status = fth_output_add(pool->output, i, text, size, error);
    }
    return status;
}

/* Runs the models of some jobs in one pass. Fills `params` and `members`, also after a failure; the
 * caller destroys their contents. */
static enum fth_status run_models(struct pool *pool, const size_t *jobs,
                                  struct fth_model_params **params,
                                  struct fth_model_member *members, size_t count,
                                  struct fth_error *error)
{
    const struct fth_exploration *exploration = pool->exploration;
    const struct fth_log quiet = {.interrupted = stopped, .user = pool};
    struct fth_point point = {0};
    size_t culprit = 0;
    enum fth_status status = FTH_OK;
    for (size_t i = 0; i < count && status == FTH_OK; i++) {
        fth_point_at(exploration, exploration->first_point[jobs[i]], &point);
        status = fth_point_params(exploration, &point, &params[i], error);
        members[i] =
            (struct fth_model_member){.params = params[i], .bypassed = point.study->l1_off};
        culprit = i;
    }
    if (status == FTH_OK)
        status = fth_model_run_many(
            point.input->trace, members, count,
            &(struct fth_model_options){.kernel = point.kernel, .log = &quiet}, &culprit, error);
    if (status != FTH_OK && status != FTH_INTERRUPTED) {
        fth_point_at(exploration, exploration->first_point[jobs[culprit]], &point);
        fth_error_context(error, "point %zu, %s", point.number, point.input->name);
    }
    return status;
}

static enum fth_status run_bundle(struct pool *pool, const struct fth_bundle *bundle,
                                  struct fth_error *error)
{
    const size_t *jobs = pool->jobs + bundle->first;
    struct fth_model_params **params = calloc(bundle->count, sizeof *params);
    struct fth_model_member *members = calloc(bundle->count, sizeof *members);
    if (!params || !members) {
        free(params);
        free(members);
        return fth_no_memory(error, operation, NULL);
    }
    enum fth_status status = run_models(pool, jobs, params, members, bundle->count, error);
    if (status == FTH_OK) {
        pthread_mutex_lock(&pool->lock);
        for (size_t i = 0; i < bundle->count && status == FTH_OK; i++) {
            status = add_points(pool, jobs[i], members[i].result, params[i], error);
            pool->done += status == FTH_OK;
            pool->shared += members[i].l1 == FTH_L1_SHARED;
            pool->one_pass += members[i].l1 == FTH_L1_STACK;
        }
        fth_log_progress(pool->log, operation, (double)pool->done / (double)pool->count);
        pthread_mutex_unlock(&pool->lock);
    }
    for (size_t i = 0; i < bundle->count; i++) {
        fth_model_result_destroy(members[i].result);
        fth_model_params_destroy(params[i]);
    }
    free(params);
    free(members);
    return status;
}

static void *run_worker(void *argument)
{
    struct pool *pool = argument;
    for (;;) {
        const size_t next = atomic_fetch_add(&pool->next, 1);
        struct fth_error error = FTH_NO_ERROR;
        if (next >= pool->bundle_count)
            return NULL;
        enum fth_status status =
            stopped(pool) ? fth_fail(&error, FTH_INTERRUPTED, operation, NULL, "interrupted")
                          : run_bundle(pool, &pool->bundles[next], &error);
        if (status == FTH_OK)
            continue;
        pthread_mutex_lock(&pool->lock);
        /* Only the first failure is reported; the other threads stop because of it. */
        if (pool->status == FTH_OK) {
            pool->status = status;
            fth_error_move(pool->error, &error);
        }
        pool->stop = true;
        pthread_mutex_unlock(&pool->lock);
        return NULL;
    }
}

static enum fth_status run_pool(struct pool *pool, unsigned threads)
{
    pthread_t *pool_threads = NULL;
    size_t count = 0;
    pthread_mutex_init(&pool->lock, NULL);
    if (threads > pool->bundle_count)
        threads = (unsigned)pool->bundle_count;
    if (threads > 1)
        pool_threads = calloc(threads - 1, sizeof *pool_threads);
    /* If not all threads can be created, the others do their work. */
    while (pool_threads && count + 1 < threads &&
           pthread_create(&pool_threads[count], NULL, run_worker, pool) == 0)
        count++;
    run_worker(pool);
    for (size_t i = 0; i < count; i++)
        pthread_join(pool_threads[i], NULL);
    free(pool_threads);
    pthread_mutex_destroy(&pool->lock);
    return pool->status;
}

static unsigned cores(void)
{
    const long count = sysconf(_SC_NPROCESSORS_ONLN);
    return count > 0 && count < 4096 ? (unsigned)count : 1;
}

/* Copies the finished points to the outcome, also if the exploration has failed with `status`.
 * Returns the first failure. */
static enum fth_status take_text(const struct fth_output *output,
                                 struct fth_explore_outcome *outcome, enum fth_status status,
                                 struct fth_error *error)
{
    struct fth_buffer text = {0};
    fth_output_text(output, &text);
    const enum fth_status taken =
        fth_buffer_take(&text, &outcome->text, &outcome->size, status == FTH_OK ? error : NULL);
    fth_buffer_fini(&text);
    return status == FTH_OK ? taken : status;
}

enum fth_status fth_explore_run(struct fth_exploration *exploration,
                                const struct fth_explore_options *options,
                                struct fth_explore_outcome *outcome, struct fth_error *error)
{
    struct fth_explore_options known;
    *outcome = (struct fth_explore_outcome){0};
    FTH_TRY(fth_options_read("fth_explore_options", options, &known, sizeof known, error));
    options = &known;
    const size_t shards = options->shards ? options->shards : 1;
    const size_t shard = options->shards ? options->shard : 1;
    const unsigned threads = options->threads ? options->threads : cores();
    struct fth_output *output = NULL;
    struct fth_bundle *bundles = NULL;
    size_t *jobs = NULL;
    struct pool pool = {
        .exploration = exploration, .log = options->log, .error = error, .status = FTH_OK};
    FTH_TRY(fth_plan_complete(exploration, error));
    if (shard < 1 || shard > shards)
        return fth_fail(error, FTH_INVALID, operation, NULL, "there is no shard %zu of %zu", shard,
                        shards);
    const struct fth_output_plan plan = {.path = options->output,
                                         .shard = shard,
                                         .shards = shards,
                                         .max_bytes = options->max_bytes ? options->max_bytes
                                                                         : FTH_MAX_POINTS_BYTES,
                                         .log = options->log};
    FTH_TRY(fth_output_open(exploration, &plan, &output, error));
    enum fth_status status =
        list_jobs(exploration, output, shard, shards, &jobs, &pool.count, error);
    if (status == FTH_OK)
        status = fth_explore_bundles(exploration, jobs, pool.count, threads, &bundles,
                                     &pool.bundle_count, error);
    if (status != FTH_OK)
        goto out;
    outcome->found = fth_output_count(output);
    pool.output = output;
    pool.jobs = jobs;
    pool.bundles = bundles;
    status = run_pool(&pool, threads);
    outcome->jobs = pool.done;
    outcome->l1_shared = pool.shared;
    outcome->l1_one_pass = pool.one_pass;
    outcome->computed = fth_output_count(output) - outcome->found;
    if (status == FTH_OK)
        status = fth_output_finish(output, error);
out:
    status = take_text(output, outcome, status, error);
    free(jobs);
    free(bundles);
    fth_output_close(output);
    return status;
}
