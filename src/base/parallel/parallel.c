/* Threads that share work (parallel.h). */
#include "base/parallel/parallel.h"

#include <stdlib.h>

/* A thread. */
struct runner {
    struct fth_parallel *parallel;
    size_t index;
    pthread_t thread;
};

static void *run_steps(void *argument)
{
    const struct runner *runner = argument;
    struct fth_parallel *parallel = runner->parallel;
    for (bool more = true; more && !parallel->stop;) {
        struct fth_error error = FTH_NO_ERROR;
        const enum fth_status status = parallel->step(parallel->user, runner->index, &more, &error);
        if (status == FTH_OK)
            continue;
        pthread_mutex_lock(&parallel->lock);
        if (parallel->status == FTH_OK) {
            parallel->status = status;
            fth_error_move(parallel->error, &error);
        }
        parallel->stop = true;
        pthread_mutex_unlock(&parallel->lock);
    }
    return NULL;
}

enum fth_status fth_parallel_run(struct fth_parallel *parallel, size_t threads,
                                 struct fth_error *error)
{
    struct runner caller = {.parallel = parallel};
    struct runner *others = threads > 1 ? calloc(threads - 1, sizeof *others) : NULL;
    size_t started = 0;
    parallel->stop = false;
    parallel->status = FTH_OK;
    parallel->error = error;
    pthread_mutex_init(&parallel->lock, NULL);
    for (; others && started + 1 < threads; started++) {
        others[started] = (struct runner){.parallel = parallel, .index = started + 1};
        if (pthread_create(&others[started].thread, NULL, run_steps, &others[started]) != 0)
            break;
    }
    run_steps(&caller);
    for (size_t i = 0; i < started; i++)
        pthread_join(others[i].thread, NULL);
    free(others);
    pthread_mutex_destroy(&parallel->lock);
    return parallel->status;
}
