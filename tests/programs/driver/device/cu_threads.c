/* Threads that use the API at the same time, each with memory and a stream of its own. */
#include "driver_api.h"

#include <pthread.h>

enum { THREADS = 4, ROUNDS = 20, COUNT = 256 };

static struct context *context;
static struct function *add;

static void *work(void *user)
{
    unsigned value = *(const unsigned *)user, count = COUNT;
    struct stream *stream;
    uint64_t data;
    void *arguments[] = {&data, &value, &count};
    EXPECT(201, cuCtxSynchronize()); /* contexts are current per thread */
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuStreamCreate(&stream, 0));
    CHECK(cuMemAlloc_v2(&data, sizeof(unsigned[COUNT])));
    CHECK(cuMemsetD32Async(data, 0, COUNT, stream));
    for (int i = 0; i < ROUNDS; i++)
        CHECK(cuLaunchKernel(add, 2, 1, 1, 128, 1, 1, 0, stream, arguments, NULL));
    CHECK(cuStreamSynchronize(stream));
    ASSERT(all_are(data, ROUNDS * value, COUNT));
    CHECK(cuMemFree_v2(data));
    CHECK(cuStreamDestroy_v2(stream));
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    unsigned values[THREADS];
    context = start();
    add = load_kernel(PTX_HEADER PTX_ADD, "add");
    for (unsigned i = 0; i < THREADS; i++) {
        values[i] = i + 1;
        ASSERT(pthread_create(&threads[i], NULL, work, &values[i]) == 0);
    }
    for (unsigned i = 0; i < THREADS; i++)
        ASSERT(pthread_join(threads[i], NULL) == 0);
    return succeed();
}
