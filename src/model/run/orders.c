/* Runs a model several times with different orders of blocks and accesses, and computes the range
 * of each figure over these runs.
 *
 * The model assumes an order that a GPU does not keep from launch to launch. Run 0 is the plain
 * one. The others vary what measurements show to vary on an H200:
 *
 *   gpu.seed          random mappings and random replacement
 *   dispatch.c        when SMs start, within time.start_cycles; which GPC receives the first block
 *                     after the first wave, and when its periods begin
 *   timed_l2.c        the latency of the L2 by line and SM: up to a tenth of l2.latency_cycles
 *   place.c           without time: the SMs of blocks beyond the first wave
 *
 * Runs are independent of each other, so threads share them. The ranges do not depend on the number
 * of threads. */
#include "base/parallel/parallel.h"
#include "model/run/run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Limits the memory for the results of all runs. Chosen: far more than a range needs. */
enum { MAX_ORDERS = 1000 };

/* What the threads share. */
struct orders {
    const struct fth_trace *trace;
    const struct fth_model_params *params;
    const struct fth_model_options *options;
    struct fth_model_result **results; /* [count] */
    unsigned count;
    atomic_uint next;            /* first run that no thread has taken */
    struct fth_parallel threads; /* its lock protects the log of the caller */
};

/* The log of a thread that is not the caller's. The progress is that of the caller's thread. */
static void drop_message(void *user, enum fth_level level, const char *text)
{
    (void)user;
    (void)level;
    (void)text;
}

static void drop_progress(void *user, const char *what, double fraction)
{
    (void)user;
    (void)what;
    (void)fraction;
}

/* Whether another run failed or the caller wants to stop. */
static bool is_stopped(void *user)
{
    struct orders *orders = user;
    if (orders->threads.stop)
        return true;
    pthread_mutex_lock(&orders->threads.lock);
    const bool stopped = fth_log_interrupted(orders->options->log);
    pthread_mutex_unlock(&orders->threads.lock);
    return stopped;
}

static void pass_progress(void *user, const char *what, double fraction)
{
    struct orders *orders = user;
    const unsigned taken = atomic_load(&orders->next);
    const double before = taken ? (double)(taken - 1) / orders->count : 0;
    pthread_mutex_lock(&orders->threads.lock);
    fth_log_progress(orders->options->log, what, fmin(1, before + fraction / orders->count));
    pthread_mutex_unlock(&orders->threads.lock);
}

/* Runs one order. */
static enum fth_status run_order(struct orders *orders, unsigned order, const struct fth_log *log,
                                 struct fth_error *error)
{
    struct fth_model_options options = *orders->options;
    struct fth_model_params *params = NULL;
    FTH_TRY(fth_model_params_copy(orders->params, &params, error));
    options.threads = 1;
    options.log = log;
    options.bypassed = order == 0 && options.bypassed;
    options.curves = order == 0 && options.curves;
    options.diagnose = order == 0 && options.diagnose;
    if (order) {
        const uint64_t seed = fth_model_integer(params, FTH_KEY_SEED);
        fth_model_put(params, FTH_KEY_SEED, (double)(seed + order), FTH_MODEL_SET);
        params->order = order;
    }
    const enum fth_status status =
        fth_model_run_one(orders->trace, params, &options, &orders->results[order], error);
    fth_model_params_destroy(params);
    return status;
}

/* Runs the next order. The log of the caller gets the progress of its own thread. */
static enum fth_status run_next(void *user, size_t thread, bool *more, struct fth_error *error)
{
    struct orders *orders = user;
    const unsigned order = atomic_fetch_add(&orders->next, 1);
    const struct fth_log log = {.message = drop_message,
                                .progress = thread == 0 ? pass_progress : drop_progress,
                                .interrupted = is_stopped,
                                .user = orders};
    *more = order < orders->count;
    return *more ? run_order(orders, order, &log, error) : FTH_OK;
}

/* ---- ranges ---- */

static void extend(struct fth_model_interval *interval, double value, bool first)
{
    if (first)
        *interval = (struct fth_model_interval){value, value};
    interval->min = fmin(interval->min, value);
    interval->max = fmax(interval->max, value);
}

/* Extends the intervals of a row by the figures of one run. */
static void extend_row(struct fth_model_intervals *intervals, const struct fth_model_row *row,
                       bool first)
{
    const uint64_t *sectors = row->l2.sectors;
    extend(&intervals->l1_read_hit_ratio, fth_model_hit_ratio(&row->l1, true), first);
    extend(&intervals->l2_hit_ratio, fth_model_hit_ratio(&row->l2, false), first);
    extend(&intervals->l2_read_hit_ratio, fth_model_hit_ratio(&row->l2, true), first);
    extend(&intervals->l2_sectors, (double)(sectors[0] + sectors[1] + sectors[2]), first);
    extend(&intervals->dram_read_sectors, (double)row->dram_reads, first);
    extend(&intervals->dram_write_sectors, (double)row->dram_writes, first);
    extend(&intervals->seconds, row->seconds, first);
}

/* Adds the intervals over all results to the first one. */
static enum fth_status add_intervals(struct orders *orders, struct fth_error *error)
{
    struct fth_model_result *plain = orders->results[0];
    plain->intervals = calloc(plain->row_count + 1, sizeof *plain->intervals);
    if (!plain->intervals)
        return fth_no_memory(error, "model caches", NULL);
    for (unsigned i = 0; i < orders->count; i++) {
        const struct fth_model_result *result = orders->results[i];
        if (result->row_count != plain->row_count)
            return fth_fail(error, FTH_INVALID, "model caches", NULL,
                            "two runs of the model have different results: the trace has changed");
        for (size_t row = 0; row < plain->row_count; row++)
            extend_row(&plain->intervals[row], &result->rows[row], i == 0);
    }
    plain->orders = orders->count;
    return FTH_OK;
}

enum fth_status fth_model_run_orders(const struct fth_trace *trace,
                                     const struct fth_model_params *params,
                                     const struct fth_model_options *options,
                                     struct fth_model_result **result, struct fth_error *error)
{
    struct orders orders = {.trace = trace,
                            .params = params,
                            .options = options,
                            .count = options->orders,
                            .threads = {.step = run_next, .user = &orders}};
    *result = NULL;
    if (options->orders > MAX_ORDERS)
        return fth_fail(error, FTH_INVALID, "model caches", "orders",
                        "%u orders are too many, at most %d are supported", options->orders,
                        MAX_ORDERS);
    orders.results = calloc(orders.count, sizeof(struct fth_model_result *));
    if (!orders.results)
        return fth_no_memory(error, "model caches", NULL);
    enum fth_status status = fth_parallel_run(
        &orders.threads, FTH_MIN(fth_workers_thread_count(options->threads), orders.count), error);
    if (status == FTH_OK)
        status = add_intervals(&orders, error);
    if (status == FTH_OK)
        *result = orders.results[0];
    for (unsigned i = status == FTH_OK; i < orders.count; i++)
        fth_model_result_destroy(orders.results[i]);
    free(orders.results);
    return status;
}
