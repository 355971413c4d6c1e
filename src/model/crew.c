/* The threads of a run. One reads the trace and coalesces (the caller); one takes batches through
 * the caches, in the order in which they were handed over; further ones help it with the L1s, each
 * with the SMs that are its own. So what is counted does not depend on how many there are. */
#include "model/run.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

enum { WAITING = 2, MOST_THREADS = 64 };

struct fth_crew {
    struct fth_model_work *work;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t threads[MOST_THREADS];
    size_t started;

    struct fth_batch batches[WAITING]; /* a ring */
    size_t first, count;
    bool ending;
    enum fth_status status;
    struct fth_error error;

    /* The L1s of a batch: every helper takes its part of each round. */
    struct fth_batch *round;
    uint64_t rounds;
    size_t helpers, busy;
    bool made;
};

static void *help(void *context)
{
    struct fth_crew *crew = context;
    uint64_t seen = 0;
    pthread_mutex_lock(&crew->lock);
    /* The first that comes is 1; the one that takes the batches is 0. */
    const size_t part = ++crew->helpers;
    pthread_cond_broadcast(&crew->changed);
    for (;;) {
        while (crew->rounds == seen && !crew->ending)
            pthread_cond_wait(&crew->changed, &crew->lock);
        if (crew->rounds == seen)
            break;
        seen = crew->rounds;
        struct fth_batch *round = crew->round;
        pthread_mutex_unlock(&crew->lock);
        const bool made = fth_work_l1s(crew->work, round, part);
        pthread_mutex_lock(&crew->lock);
        crew->made = crew->made && made;
        if (--crew->busy == 0)
            pthread_cond_broadcast(&crew->changed);
    }
    pthread_mutex_unlock(&crew->lock);
    return NULL;
}

bool fth_crew_l1s(struct fth_crew *crew, struct fth_batch *batch)
{
    pthread_mutex_lock(&crew->lock);
    crew->round = batch;
    crew->busy = crew->helpers;
    crew->made = true;
    crew->rounds++;
    pthread_cond_broadcast(&crew->changed);
    pthread_mutex_unlock(&crew->lock);
    const bool mine = fth_work_l1s(crew->work, batch, 0);
    pthread_mutex_lock(&crew->lock);
    while (crew->busy)
        pthread_cond_wait(&crew->changed, &crew->lock);
    const bool made = mine && crew->made;
    pthread_mutex_unlock(&crew->lock);
    return made;
}

static void *take(void *context)
{
    struct fth_crew *crew = context;
    pthread_mutex_lock(&crew->lock);
    for (;;) {
        while (crew->count == 0 && !crew->ending)
            pthread_cond_wait(&crew->changed, &crew->lock);
        if (crew->count == 0)
            break;
        struct fth_batch *batch = &crew->batches[crew->first];
        const bool go = crew->status == FTH_OK;
        pthread_mutex_unlock(&crew->lock);
        struct fth_error error = FTH_NO_ERROR;
        const enum fth_status status = go ? fth_work_batch(crew->work, batch, &error) : FTH_OK;
        pthread_mutex_lock(&crew->lock);
        if (status != FTH_OK) {
            crew->status = status;
            crew->error = error;
        }
        crew->first = (crew->first + 1) % WAITING;
        crew->count--;
        pthread_cond_broadcast(&crew->changed);
    }
    pthread_mutex_unlock(&crew->lock);
    return NULL;
}

size_t fth_crew_size(unsigned threads)
{
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    const size_t wanted = threads ? threads : cores > 0 ? (size_t)cores : 1;
    return wanted < MOST_THREADS ? wanted : MOST_THREADS;
}

struct fth_crew *fth_crew_create(struct fth_model_work *work, size_t size)
{
    struct fth_crew *crew = size > 1 ? calloc(1, sizeof *crew) : NULL;
    if (!crew)
        return NULL;
    crew->work = work;
    pthread_mutex_init(&crew->lock, NULL);
    pthread_cond_init(&crew->changed, NULL);
    work->crew = crew;
    while (crew->started + 1 < size && pthread_create(&crew->threads[crew->started], NULL,
                                                      crew->started ? help : take, crew) == 0)
        crew->started++;
    if (crew->started == 0) { /* then it is done without */
        fth_crew_destroy(crew);
        return work->crew = NULL;
    }
    pthread_mutex_lock(&crew->lock);
    while (crew->helpers + 1 < crew->started)
        pthread_cond_wait(&crew->changed, &crew->lock);
    pthread_mutex_unlock(&crew->lock);
    work->parts = crew->helpers + 1;
    return crew;
}

void fth_crew_destroy(struct fth_crew *crew)
{
    if (!crew)
        return;
    pthread_mutex_lock(&crew->lock);
    crew->ending = true;
    pthread_cond_broadcast(&crew->changed);
    pthread_mutex_unlock(&crew->lock);
    for (size_t i = 0; i < crew->started; i++)
        pthread_join(crew->threads[i], NULL);
    for (size_t i = 0; i < WAITING; i++)
        fth_batch_fini(&crew->batches[i]);
    pthread_cond_destroy(&crew->changed);
    pthread_mutex_destroy(&crew->lock);
    free(crew);
}

static enum fth_status outcome(struct fth_crew *crew, struct fth_error *error)
{
    if (crew->status != FTH_OK && error && error->status == FTH_OK)
        *error = crew->error;
    return crew->status;
}

enum fth_status fth_crew_hand(struct fth_crew *crew, struct fth_batch *batch,
                              struct fth_error *error)
{
    pthread_mutex_lock(&crew->lock);
    while (crew->count == WAITING)
        pthread_cond_wait(&crew->changed, &crew->lock);
    struct fth_batch *place = &crew->batches[(crew->first + crew->count) % WAITING];
    const struct fth_batch empty = *place;
    *place = *batch;
    *batch = empty;
    crew->count++;
    const enum fth_status status = outcome(crew, error);
    pthread_cond_broadcast(&crew->changed);
    pthread_mutex_unlock(&crew->lock);
    return status;
}

enum fth_status fth_crew_wait(struct fth_crew *crew, struct fth_error *error)
{
    pthread_mutex_lock(&crew->lock);
    while (crew->count)
        pthread_cond_wait(&crew->changed, &crew->lock);
    const enum fth_status status = outcome(crew, error);
    pthread_mutex_unlock(&crew->lock);
    return status;
}
