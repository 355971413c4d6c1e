/* The threads of a run. One reads the trace, coalesces and takes batches through the L1s (the
 * caller); one takes them through the L2, in the order in which they were handed over; further ones
 * help the caller with the L1s, as does the L2's where it has nothing to do. Of a batch every SM is
 * taken by one of them, whichever is free, and what is counted is added up: so results do not
 * depend on how many there are. */
#include "model/run.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

enum { WAITING = 2, MAX_THREADS = 64 };

struct fth_crew {
    struct fth_model_work *work;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t threads[MAX_THREADS];
    size_t started, numbered;

    struct fth_batch batches[WAITING]; /* for the L2: a ring */
    size_t first, count;
    bool ending;
    enum fth_status status;
    struct fth_error error;

    struct fth_batch *round; /* that the L1s take; NULL: none */
    uint64_t rounds;
    atomic_uint_fast64_t next_sm; /* of the round: not taken yet */
    size_t helping;
    bool made;
};

/* The SMs that nobody else takes. */
static bool take_sms(struct fth_crew *crew, struct fth_batch *round, size_t part)
{
    bool made = true;
    for (;;) {
        const uint64_t sm = atomic_fetch_add(&crew->next_sm, 1);
        if (sm >= crew->work->setting.sms)
            return made;
        made = fth_work_l1(crew->work, round, (uint32_t)sm, part) && made;
    }
}

/* Whether there is a round that a thread has not helped with. */
static bool can_help(const struct fth_crew *crew, uint64_t seen)
{
    return crew->round && crew->rounds != seen;
}

/* With the lock, which others may have meanwhile. */
static void help_once(struct fth_crew *crew, size_t part, uint64_t *seen)
{
    struct fth_batch *round = crew->round;
    *seen = crew->rounds;
    crew->helping++;
    pthread_mutex_unlock(&crew->lock);
    const bool made = take_sms(crew, round, part);
    pthread_mutex_lock(&crew->lock);
    crew->made = crew->made && made;
    if (--crew->helping == 0)
        pthread_cond_broadcast(&crew->changed);
}

static void *help(void *context)
{
    struct fth_crew *crew = context;
    uint64_t seen = 0;
    pthread_mutex_lock(&crew->lock);
    const size_t part = ++crew->numbered; /* the caller is 0 */
    while (!crew->ending) {
        if (can_help(crew, seen))
            help_once(crew, part, &seen);
        else
            pthread_cond_wait(&crew->changed, &crew->lock);
    }
    pthread_mutex_unlock(&crew->lock);
    return NULL;
}

bool fth_crew_l1s(struct fth_crew *crew, struct fth_batch *batch)
{
    pthread_mutex_lock(&crew->lock);
    crew->round = batch;
    crew->made = true;
    crew->rounds++;
    atomic_store(&crew->next_sm, 0);
    pthread_cond_broadcast(&crew->changed);
    pthread_mutex_unlock(&crew->lock);
    const bool mine = take_sms(crew, batch, 0);
    pthread_mutex_lock(&crew->lock);
    crew->round = NULL;
    while (crew->helping)
        pthread_cond_wait(&crew->changed, &crew->lock);
    const bool made = mine && crew->made;
    pthread_mutex_unlock(&crew->lock);
    return made;
}

static void *take(void *context)
{
    struct fth_crew *crew = context;
    uint64_t seen = 0;
    pthread_mutex_lock(&crew->lock);
    const size_t part = ++crew->numbered;
    while (crew->count || !crew->ending) {
        if (crew->count == 0) {
            if (can_help(crew, seen))
                help_once(crew, part, &seen);
            else
                pthread_cond_wait(&crew->changed, &crew->lock);
            continue;
        }
        struct fth_batch *batch = &crew->batches[crew->first];
        const bool go = crew->status == FTH_OK;
        pthread_mutex_unlock(&crew->lock);
        struct fth_error error = FTH_NO_ERROR;
        const enum fth_status status = go ? fth_work_below(crew->work, batch, &error) : FTH_OK;
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
    return wanted < MAX_THREADS ? wanted : MAX_THREADS;
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
