/* Computes the points of a shard on all cores. Each thread repeatedly takes the next bundle of
 * jobs, runs the models, and writes the lines of their points. The result of a job depends only on
 * its parameters, so the output does not depend on the number of threads or shards. */
#include "base/json.h"
#include "base/parallel/parallel.h"
#include "explore/explore.h"

#include <stdio.h>
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
    atomic_size_t next;           /* bundle */
    struct fth_parallel threads;  /* its lock protects output, counts and the caller's log */
    size_t done;                  /* finished jobs, also those that were skipped */
    size_t ran, shared, one_pass; /* see struct fth_explore_outcome */
    size_t skipped;               /* points */
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
    return pool->threads.stop || fth_log_interrupted(pool->log);
}

/* Writes those points of a job that the output does not have yet: with the result or, if it is
 * NULL, with the reason why they are skipped. */
static enum fth_status add_points(struct pool *pool, size_t job,
                                  const struct fth_model_result *result,
                                  const struct fth_model_params *params, const char *reason,
                                  struct fth_error *error)
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
        if (result)
            fth_line_write(&line, &point, result, params);
        else
            fth_line_write_skipped(&line, &point, reason);
        status = fth_buffer_take(&line, &text, &size, error);
        fth_buffer_fini(&line);
        if (status == FTH_OK)
            status = fth_output_add(pool->output, i, text, size, error);
        pool->skipped += status == FTH_OK && !result;
    }
    return status;
}

/* Jobs that a thread runs in one pass. */
struct batch {
    size_t *jobs;
    struct fth_model_params **params;
    struct fth_model_member *members;
    size_t count;
};

static void batch_fini(struct batch *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        fth_model_result_destroy(batch->members[i].result);
        fth_model_params_destroy(batch->params[i]);
    }
    free(batch->jobs);
    free(batch->params);
    free(batch->members);
}

/* Copies the jobs of a bundle and finds their parameters. The caller calls batch_fini, also after a
 * failure. */
static enum fth_status batch_init(struct batch *batch, const struct pool *pool,
                                  const struct fth_bundle *bundle, struct fth_error *error)
{
    const struct fth_exploration *exploration = pool->exploration;
    *batch = (struct batch){.jobs = calloc(bundle->count, sizeof *batch->jobs),
                            .params = calloc(bundle->count, sizeof *batch->params),
                            .members = calloc(bundle->count, sizeof *batch->members)};
    if (!batch->jobs || !batch->params || !batch->members)
        return fth_no_memory(error, operation, NULL);
    for (; batch->count < bundle->count; batch->count++) {
        const size_t i = batch->count;
        struct fth_point point;
        batch->jobs[i] = pool->jobs[bundle->first + i];
        fth_point_at(exploration, exploration->first_point[batch->jobs[i]], &point);
        const enum fth_status status =
            fth_point_params(exploration, &point, &batch->params[i], error);
        if (status != FTH_OK) {
            fth_error_context(error, "point %zu, %s", point.number, point.input->name);
            return status;
        }
        batch->members[i] =
            (struct fth_model_member){.params = batch->params[i], .bypassed = point.study->l1_off};
    }
    return FTH_OK;
}

/* Removes a job, which keeps no result. */
static void batch_remove(struct batch *batch, size_t index)
{
    fth_model_params_destroy(batch->params[index]);
    batch->count--;
    for (size_t i = index; i < batch->count; i++) {
        batch->jobs[i] = batch->jobs[i + 1];
        batch->params[i] = batch->params[i + 1];
        batch->members[i] = batch->members[i + 1];
    }
}

/* Returns whether a model failed because its parameters contradict each other or do not fit the
 * launch: the error then names a parameter or a kernel. Errors in the trace have no such name. */
static bool is_impossible(enum fth_status status, const struct fth_error *error)
{
    return status == FTH_INVALID && error->argument[0];
}

/* Writes the points of a job as skipped, and removes the job. */
static enum fth_status skip(struct pool *pool, struct batch *batch, size_t index,
                            struct fth_error *error)
{
    char reason[sizeof error->argument + sizeof error->cause + 3];
    snprintf(reason, sizeof reason, "%s: %s", error->argument, error->cause);
    *error = FTH_NO_ERROR;
    pthread_mutex_lock(&pool->threads.lock);
    const enum fth_status status = add_points(pool, batch->jobs[index], NULL, NULL, reason, error);
    pool->done++;
    pthread_mutex_unlock(&pool->threads.lock);
    batch_remove(batch, index);
    return status;
}

/* Runs the models of a batch in one pass. Jobs that cannot be computed are skipped; the others are
 * then run without them. */
static enum fth_status run_models(struct pool *pool, struct batch *batch, struct fth_error *error)
{
    const struct fth_exploration *exploration = pool->exploration;
    const struct fth_log quiet = {.interrupted = stopped, .user = pool};
    enum fth_status status = FTH_OK;
    while (batch->count) {
        struct fth_point point;
        size_t culprit = 0;
        fth_point_at(exploration, exploration->first_point[batch->jobs[0]], &point);
        status = fth_model_run_many(
            point.input->trace, batch->members, batch->count,
            &(struct fth_model_options){.kernel = point.kernel, .log = &quiet}, &culprit, error);
        if (status == FTH_OK || status == FTH_INTERRUPTED)
            return status;
        if (!is_impossible(status, error)) {
            fth_point_at(exploration, exploration->first_point[batch->jobs[culprit]], &point);
            fth_error_context(error, "point %zu, %s", point.number, point.input->name);
            return status;
        }
        for (size_t i = 0; i < batch->count; i++) {
            fth_model_result_destroy(batch->members[i].result);
            batch->members[i].result = NULL;
        }
        FTH_TRY(skip(pool, batch, culprit, error));
        status = FTH_OK;
    }
    return status;
}

static enum fth_status run_bundle(struct pool *pool, const struct fth_bundle *bundle,
                                  struct fth_error *error)
{
    struct batch batch;
    enum fth_status status = batch_init(&batch, pool, bundle, error);
    if (status == FTH_OK)
        status = run_models(pool, &batch, error);
    if (status == FTH_OK) {
        pthread_mutex_lock(&pool->threads.lock);
        for (size_t i = 0; i < batch.count && status == FTH_OK; i++) {
            status = add_points(pool, batch.jobs[i], batch.members[i].result, batch.params[i], NULL,
                                error);
            pool->done += status == FTH_OK;
            pool->ran += status == FTH_OK;
            pool->shared += batch.members[i].l1 == FTH_L1_SHARED;
            pool->one_pass += batch.members[i].l1 == FTH_L1_STACK;
        }
        fth_log_progress(pool->log, operation, (double)pool->done / (double)pool->count);
        pthread_mutex_unlock(&pool->threads.lock);
    }
    batch_fini(&batch);
    return status;
}

/* Runs the next bundle. */
static enum fth_status run_next(void *user, size_t thread, bool *more, struct fth_error *error)
{
    struct pool *pool = user;
    const size_t next = atomic_fetch_add(&pool->next, 1);
    (void)thread;
    *more = next < pool->bundle_count;
    if (!*more)
        return FTH_OK;
    if (stopped(pool))
        return fth_fail(error, FTH_INTERRUPTED, operation, NULL, "interrupted");
    return run_bundle(pool, &pool->bundles[next], error);
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

/* Fails if all points were skipped, with the reason of the first. */
static enum fth_status check_any(const struct fth_exploration *exploration,
                                 const struct fth_output *output, struct fth_error *error)
{
    struct fth_json_document first = {0};
    const char *line;
    size_t size;
    for (size_t i = 0; i < exploration->points; i++) {
        line = fth_output_line(output, i, &size);
        if (!line || !fth_line_is_skipped(line, size))
            return FTH_OK;
    }
    line = fth_output_line(output, 0, &size);
    FTH_TRY(fth_json_parse("points", line, size, &first, error));
    const char *reason = fth_json_string(fth_json_get(first.root, "skipped"));
    const char *input = fth_json_string(fth_json_get(first.root, "trace"));
    const enum fth_status status =
        fth_fail(error, FTH_INVALID, operation, input ? input : "",
                 "no point is possible; point 0: %s", reason ? reason : "");
    fth_json_fini(&first);
    return status;
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
    struct pool pool = {.exploration = exploration,
                        .log = options->log,
                        .threads = {.step = run_next, .user = &pool}};
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
    status = fth_parallel_run(&pool.threads, FTH_MIN(threads, pool.bundle_count), error);
    outcome->jobs = pool.ran;
    outcome->l1_shared = pool.shared;
    outcome->l1_one_pass = pool.one_pass;
    outcome->computed = fth_output_count(output) - outcome->found - pool.skipped;
    if (status == FTH_OK)
        status = fth_output_finish(output, error);
    if (status == FTH_OK && shards == 1)
        status = check_any(exploration, output, error);
out:
    status = take_text(output, outcome, status, error);
    free(jobs);
    free(bundles);
    fth_output_close(output);
    return status;
}
