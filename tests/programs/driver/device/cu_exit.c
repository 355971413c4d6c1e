/* A program that ends without freeing anything, while another thread uses the API, and calls the
 * API when it ends. */
#include "driver_api.h"

#include <pthread.h>
#include <unistd.h>

static struct context *context;
static struct function *add;
static pthread_barrier_t started;

static void *work(void *user)
{
    uint64_t data;
    unsigned value = 1, count = 1024;
    void *arguments[] = {&data, &value, &count};
    (void)user;
    cuCtxSetCurrent(context);
    cuMemAlloc_v2(&data, 4096);
    cuLaunchKernel(add, 8, 1, 1, 128, 1, 1, 0, NULL, arguments, NULL);
    pthread_barrier_wait(&started);
    while (cuLaunchKernel(add, 8, 1, 1, 128, 1, 1, 0, NULL, arguments, NULL) == 0)
        ;
    return NULL;
}

/* The driver may have ended already. */
static void at_end(void)
{
    const int result = cuCtxSynchronize();
    if (result == 0 || result == 4)
        return;
    fprintf(stderr, "cuCtxSynchronize returned %d\n", result);
    _exit(1);
}

int main(void)
{
    pthread_t thread;
    struct graph *graph;
    struct graph_exec *exec;
    struct node *node;
    struct event *event;
    struct stream *stream;
    struct context *other;
    uint64_t data;
    void *host;
    atexit(at_end);
    context = start();
    add = load_kernel(PTX_HEADER PTX_ADD, "add");
    CHECK(cuMemAlloc_v2(&data, 4096));
    CHECK(cuMemHostAlloc(&host, 4096, 0));
    CHECK(cuStreamCreate(&stream, 0));
    CHECK(cuEventCreate(&event, 0));
    CHECK(cuGraphCreate(&graph, 0));
    CHECK(cuGraphAddEmptyNode(&node, graph, NULL, 0));
    CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    CHECK(cuCtxCreate_v2(&other, 0, 0));
    CHECK(cuStreamBeginCapture_v2(stream, 1));
    ASSERT(pthread_barrier_init(&started, NULL, 2) == 0);
    ASSERT(pthread_create(&thread, NULL, work, NULL) == 0);
    pthread_barrier_wait(&started);
    return succeed();
}
