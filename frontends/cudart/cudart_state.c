/* The state of the runtime: initialisation, the thread's context and last error, and the list of
 * refused functions.
 *
 * The runtime API has no handle, so this library needs global state. All of it is in this file: one
 * structure behind one mutex and one structure per thread.
 */
#include "cudart.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static struct fth_state state;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t started = PTHREAD_ONCE_INIT;
static _Thread_local struct fth_thread thread;

struct fth_state *fth_lock(void)
{
    pthread_mutex_lock(&mutex);
    return &state;
}

void fth_unlock(void)
{
    pthread_mutex_unlock(&mutex);
}

struct fth_thread *fth_thread(void)
{
    return &thread;
}

static void start(void)
{
    state.start_error = cuInit(0);
}

int fth_start(void)
{
    pthread_once(&started, start);
    return state.start_error;
}

int fth_enter(void)
{
    int error = fth_start();
    struct fth_cu_context *context = NULL;
    if (!error)
        error = cuCtxGetCurrent(&context);
    if (error || context)
        return error;
    int device = 0;
    error = cuDeviceGet(&device, fth_thread()->device);
    if (!error)
        error = cuDevicePrimaryCtxRetain(&context, device);
    return error ? error : cuCtxSetCurrent(context);
}

int fth_leave(int error)
{
    if (error)
        fth_thread()->last_error = error;
    return error;
}

int fth_refuse(const char *function)
{
    struct fth_state *shared = fth_lock();
    bool named = false;
    for (size_t i = 0; i < shared->refused_count; i++)
        named |= shared->refused[i] == function;
    if (!named) {
        const char **grown = realloc(shared->refused, (shared->refused_count + 1) * sizeof(*grown));
        if (grown) {
            grown[shared->refused_count++] = function;
            shared->refused = grown;
        }
        fprintf(stderr, "fathom exec: %s is not supported\n", function);
    }
    fth_unlock();
    return fth_leave(FTH_NOT_SUPPORTED);
}
