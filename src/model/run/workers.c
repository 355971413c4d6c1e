/* A simulation of one model with several threads.
 *
 *   caller      reads the trace, coalesces, and runs batches through the L1s
 *   L2 thread   runs the batches through the L2 in the order in which they were submitted
 *   L1 threads  help the caller with the L1s, and so does the L2 thread when its queue is empty
 *
 * Each SM of a batch is processed by one thread, whichever is free. Each thread has its own counts,
 * which are added at the end of a launch. Therefore results do not depend on the number of threads.
 */
#include "model/run/run.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    /* Batches in the queue of the L2 thread: one that it processes and one that waits. */
    QUEUE_BATCHES = 2,
    MAX_THREADS = 64 /* size of the array of threads; a sanity limit */
};

struct fth_workers {
    struct fth_model_state *state;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t threads[MAX_THREADS];
    size_t started;          /* threads that were created */
    size_t numbered_threads; /* threads that have taken their index */

    struct fth_issue_batch queue[QUEUE_BATCHES]; /* batches for the L2, as a ring */
    size_t first, count;                         /* of the queue */
    bool ending;
    struct fth_error error; /* the first one of the L2 thread */

    struct fth_issue_batch *l1_batch; /* the batch that the L1s are processing; NULL: none */
    uint64_t l1_batch_number;         /* number of that batch, from 1 on */
    atomic_uint_fast64_t next_sm;     /* first SM of that batch that no thread has taken */
    size_t helper_count;              /* threads other than the caller that process that batch */
    bool l1s_ok;                      /* false: a helper ran out of memory */
};

/* ---- the threads ---- */

/* Runs the batch through the L1s of SMs that no other thread has taken, until none is left. */
static bool run_sms(struct fth_workers *workers, struct fth_issue_batch *l1_batch, size_t thread)
{
    bool ok = true;
    for (;;) {
        const uint64_t sm = atomic_fetch_add(&workers->next_sm, 1);
        if (sm >= workers->state->l1s.sms)
            return ok;
        ok = fth_l1s_run_sm(&workers->state->l1s, l1_batch, (uint32_t)sm, thread) && ok;
    }
}

/* Whether the L1s are processing a batch other than the last one that the thread helped with. */
static bool can_help(const struct fth_workers *workers, uint64_t last_batch)
{
    return workers->l1_batch && workers->l1_batch_number != last_batch;
}

/* Helps with the current batch. To be called with the lock held; releases it while working. */
static void help_with_batch(struct fth_workers *workers, size_t thread, uint64_t *last_batch)
{
    struct fth_issue_batch *l1_batch = workers->l1_batch;
    *last_batch = workers->l1_batch_number;
    workers->helper_count++;
    pthread_mutex_unlock(&workers->lock);
    const bool ok = run_sms(workers, l1_batch, thread);
    pthread_mutex_lock(&workers->lock);
    workers->l1s_ok = workers->l1s_ok && ok;
    if (--workers->helper_count == 0)
        pthread_cond_broadcast(&workers->changed);
}

/* Main function of the L1 threads. */
static void *l1_thread(void *context)
{
    struct fth_workers *workers = context;
    uint64_t last_batch = 0;
    pthread_mutex_lock(&workers->lock);
    const size_t thread = ++workers->numbered_threads; /* the caller is 0 */
    while (!workers->ending) {
        if (can_help(workers, last_batch))
            help_with_batch(workers, thread, &last_batch);
        else
            pthread_cond_wait(&workers->changed, &workers->lock);
    }
    pthread_mutex_unlock(&workers->lock);
    return NULL;
}

/* Runs a linked batch through all L1s. False: out of memory. */
static bool run_l1s(struct fth_workers *workers, struct fth_issue_batch *batch)
{
    pthread_mutex_lock(&workers->lock);
    workers->l1_batch = batch;
    workers->l1s_ok = true;
    workers->l1_batch_number++;
    atomic_store(&workers->next_sm, 0);
    pthread_cond_broadcast(&workers->changed);
    pthread_mutex_unlock(&workers->lock);
    const bool own_ok = run_sms(workers, batch, 0);
    pthread_mutex_lock(&workers->lock);
    workers->l1_batch = NULL;
    while (workers->helper_count)
        pthread_cond_wait(&workers->changed, &workers->lock);
    const bool ok = own_ok && workers->l1s_ok;
    pthread_mutex_unlock(&workers->lock);
    return ok;
}

/* Main function of the L2 thread. After an error it discards the remaining batches. */
static void *l2_thread(void *context)
{
    struct fth_workers *workers = context;
    uint64_t last_batch = 0;
    pthread_mutex_lock(&workers->lock);
    const size_t thread = ++workers->numbered_threads;
    while (workers->count || !workers->ending) {
        if (workers->count == 0) {
            if (can_help(workers, last_batch))
                help_with_batch(workers, thread, &last_batch);
            else
                pthread_cond_wait(&workers->changed, &workers->lock);
            continue;
        }
        struct fth_issue_batch *batch = &workers->queue[workers->first];
        const bool run = workers->error.status == FTH_OK;
        pthread_mutex_unlock(&workers->lock);
        struct fth_error error = FTH_NO_ERROR;
        const enum fth_status status =
            run ? fth_model_state_run_l2s(workers->state, batch, &error) : FTH_OK;
        fth_issue_batch_clear(batch);
        pthread_mutex_lock(&workers->lock);
        if (status != FTH_OK)
            workers->error = error;
        workers->first = (workers->first + 1) % QUEUE_BATCHES;
        workers->count--;
        pthread_cond_broadcast(&workers->changed);
    }
    pthread_mutex_unlock(&workers->lock);
    return NULL;
}

/* Queues the batch for the L2 and replaces it by an empty one. Waits while the queue is full. The
 * error can be that of an earlier batch. */
static enum fth_status submit(struct fth_workers *workers, struct fth_issue_batch *batch,
                              struct fth_error *error)
{
    pthread_mutex_lock(&workers->lock);
    while (workers->count == QUEUE_BATCHES)
        pthread_cond_wait(&workers->changed, &workers->lock);
    struct fth_issue_batch *slot =
        &workers->queue[(workers->first + workers->count) % QUEUE_BATCHES];
    const struct fth_issue_batch empty = *slot;
    *slot = *batch;
    *batch = empty;
    workers->count++;
    const enum fth_status status = fth_error_move(error, &workers->error);
    pthread_cond_broadcast(&workers->changed);
    pthread_mutex_unlock(&workers->lock);
    return status;
}

/* Waits until all queued batches are processed. */
static enum fth_status wait_for_l2(struct fth_workers *workers, struct fth_error *error)
{
    pthread_mutex_lock(&workers->lock);
    while (workers->count)
        pthread_cond_wait(&workers->changed, &workers->lock);
    const enum fth_status status = fth_error_move(error, &workers->error);
    pthread_mutex_unlock(&workers->lock);
    return status;
}

/* ---- creation ---- */

size_t fth_workers_thread_count(unsigned threads)
{
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    const size_t wanted = threads ? threads : cores > 0 ? (size_t)cores : 1;
    return wanted < MAX_THREADS ? wanted : MAX_THREADS;
}

struct fth_workers *fth_workers_create(struct fth_model_state *state)
{
    const size_t wanted = state->l1s.count_arrays - 1;
    struct fth_workers *workers = wanted ? calloc(1, sizeof *workers) : NULL;
    if (!workers)
        return NULL;
    workers->state = state;
    pthread_mutex_init(&workers->lock, NULL);
    pthread_cond_init(&workers->changed, NULL);
    while (workers->started < wanted &&
           pthread_create(&workers->threads[workers->started], NULL,
                          workers->started ? l1_thread : l2_thread, workers) == 0)
        workers->started++;
    if (workers->started)
        return workers;
    fth_workers_destroy(workers);
    return NULL;
}

void fth_workers_destroy(struct fth_workers *workers)
{
    if (!workers)
        return;
    pthread_mutex_lock(&workers->lock);
    workers->ending = true;
    pthread_cond_broadcast(&workers->changed);
    pthread_mutex_unlock(&workers->lock);
    for (size_t i = 0; i < workers->started; i++)
        pthread_join(workers->threads[i], NULL);
    for (size_t i = 0; i < QUEUE_BATCHES; i++)
        fth_issue_batch_fini(&workers->queue[i]);
    pthread_cond_destroy(&workers->changed);
    pthread_mutex_destroy(&workers->lock);
    free(workers);
}

/* ---- the simulation ---- */

static enum fth_status begin(void *context, size_t launch, struct fth_error *error)
{
    return fth_model_state_begin(((struct fth_workers *)context)->state, launch, error);
}

/* Runs the batch through the L1s. The L2 processes it later. */
static enum fth_status run_batch(void *context, struct fth_issue_batch *batch, bool *enough,
                                 struct fth_error *error)
{
    struct fth_workers *workers = context;
    (void)enough; /* a single model needs the whole trace */
    FTH_TRY(fth_l1s_link(&workers->state->l1s, batch, error));
    if (!run_l1s(workers, batch))
        return fth_no_memory(error, "model caches", NULL);
    return submit(workers, batch, error);
}

static enum fth_status end(void *context, size_t launch, const uint64_t *warps,
                           struct fth_error *error)
{
    struct fth_workers *workers = context;
    FTH_TRY(wait_for_l2(workers, error));
    return fth_model_state_end(workers->state, launch, warps, error);
}

struct fth_simulation fth_workers_simulation(struct fth_workers *workers)
{
    static const struct fth_simulation_ops ops = {.begin = begin, .batch = run_batch, .end = end};
    return (struct fth_simulation){&ops, workers};
}
