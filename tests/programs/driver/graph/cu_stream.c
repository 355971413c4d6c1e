/* Streams: attributes, host functions, callbacks, values in memory. */
#include "driver_api.h"

static uint64_t data;

static void count(void *user)
{
    ++*(int *)user;
}

/* A callback gets the stream and the status. */
static struct stream *seen;

static void callback(struct stream *stream, int status, void *user)
{
    ASSERT(status == 0);
    seen = stream;
    count(user);
}

/* A host function must see the work before it. */
static void inspect(void *user)
{
    ++*(int *)user;
}

int main(void)
{
    struct stream *stream, *urgent;
    struct context *context = start(), *of_stream;
    int least, greatest, priority, calls = 0;
    unsigned flags, value;
    CHECK(cuCtxGetStreamPriorityRange(&least, &greatest));
    ASSERT(least >= greatest);
    CHECK(cuStreamCreate(&stream, 1));
    CHECK(cuStreamCreateWithPriority(&urgent, 0, greatest));
    CHECK(cuStreamGetPriority(urgent, &priority));
    ASSERT(priority == greatest);
    CHECK(cuStreamGetPriority(stream, &priority));
    ASSERT(priority == 0);
    CHECK(cuStreamGetFlags(stream, &flags));
    ASSERT(flags == 1);
    CHECK(cuStreamGetCtx(stream, &of_stream));
    ASSERT(of_stream == context);
    CHECK(cuStreamQuery(stream));
    CHECK(cuStreamQuery(NULL));
    CHECK(cuStreamSynchronize(pointer_to(2))); /* the default stream of the thread */
    CHECK(cuMemAlloc_v2(&data, 16));
    CHECK(cuMemsetD32Async(data, 3, 4, stream));
    CHECK(cuLaunchHostFunc(stream, inspect, &calls));
    CHECK(cuStreamAddCallback(stream, callback, &calls, 0));
    EXPECT(1, cuStreamAddCallback(stream, callback, &calls, 1));
    EXPECT(1, cuLaunchHostFunc(stream, NULL, &calls));
    CHECK(cuStreamSynchronize(stream));
    ASSERT(calls == 2 && seen == stream);
    /* values in memory */
    CHECK(cuStreamWriteValue32_v2(stream, data, 77, 0));
    CHECK(cuStreamSynchronize(stream));
    CHECK(cuMemcpyDtoH_v2(&value, data, 4));
    ASSERT(value == 77);
    CHECK(cuStreamWaitValue32_v2(stream, data, 77, 1)); /* equal */
    CHECK(cuStreamWaitValue32_v2(stream, data, 70, 0)); /* at least */
    CHECK(cuStreamWaitValue32_v2(stream, data, 64, 2)); /* a common bit */
    CHECK(cuStreamWriteValue64_v2(stream, data + 8, 1ull << 40, 0));
    CHECK(cuStreamWaitValue64_v2(stream, data + 8, 1ull << 40, 1));
    EXPECT_HERE(801, cuStreamWaitValue32_v2(stream, data, 78, 1)); /* would wait forever */
    EXPECT_HERE(1, cuStreamWriteValue32_v2(stream, data + 2, 1, 0));
    CHECK(cuStreamDestroy_v2(stream));
    CHECK(cuStreamDestroy_v2(urgent));
    EXPECT_HERE(400, cuStreamDestroy_v2(stream));
    EXPECT_HERE(400, cuStreamSynchronize(stream));
    return succeed();
}
