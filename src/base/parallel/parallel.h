/* Work that several threads share: each thread repeatedly does one step, until there is nothing
 * left to do or a step fails. */
#ifndef FTH_BASE_PARALLEL_H
#define FTH_BASE_PARALLEL_H

#include "base/base.h"

#include <pthread.h>
#include <stdatomic.h>

struct fth_parallel {
    /* Takes the next piece of work and does it. If nothing is left, sets *more to false, which is
     * true before. `thread` is the index of the thread, less than the number of threads; 0 is the
     * thread that calls fth_parallel_run. */
    enum fth_status (*step)(void *user, size_t thread, bool *more, struct fth_error *error);
    void *user;
    /* The following are valid while fth_parallel_run runs. */
    pthread_mutex_t lock; /* for the steps: protects what they share. Also protects `status`. */
    atomic_bool stop;     /* a step has failed; steps that take long return when they see it */
    enum fth_status status;
    struct fth_error *error;
};

/* Runs steps in at most `threads` threads, one of which is the caller's, and waits for their end.
 * If not all threads can be created, the others do their work. Returns the first failure, with its
 * error; the other threads stop because of it, and how they fail is not reported. */
FTH_MUST_USE enum fth_status fth_parallel_run(struct fth_parallel *parallel, size_t threads,
                                              struct fth_error *error);

#endif
