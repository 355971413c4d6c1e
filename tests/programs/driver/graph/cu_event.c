/* Events, and the times between them. */
#include "driver_api.h"

int main(void)
{
    struct event *start_event, *end, *untimed;
    struct stream *stream;
    uint64_t data;
    unsigned value = 1, few = 1024, many = 1 << 20;
    float short_time, long_time;
    start();
    struct function *add = load_kernel(PTX_HEADER PTX_ADD, "add");
    CHECK(cuStreamCreate(&stream, 0));
    CHECK(cuMemAlloc_v2(&data, (size_t)many * 4));
    CHECK(cuEventCreate(&start_event, 0));
    CHECK(cuEventCreate(&end, 1));
    CHECK(cuEventCreate(&untimed, 2));
    EXPECT(1, cuEventCreate(&untimed, 4)); /* between processes, but with times */
    CHECK(cuEventQuery(start_event));      /* not recorded: complete */
    EXPECT(400, cuEventElapsedTime(&short_time, start_event, end));
    void *arguments[] = {&data, &value, &few};
    CHECK(cuEventRecord(start_event, stream));
    CHECK(cuLaunchKernel(add, 8, 1, 1, 128, 1, 1, 0, stream, arguments, NULL));
    CHECK(cuEventRecord(end, stream));
    CHECK(cuEventSynchronize(end));
    CHECK(cuEventElapsedTime(&short_time, start_event, end));
    ASSERT(short_time > 0 && short_time < 1000);
    arguments[2] = &many;
    CHECK(cuEventRecord(start_event, stream));
    CHECK(cuLaunchKernel(add, many / 128, 1, 1, 128, 1, 1, 0, stream, arguments, NULL));
    CHECK(cuEventRecord(end, stream));
    CHECK(cuEventSynchronize(end));
    CHECK(cuEventElapsedTime(&long_time, start_event, end));
    ASSERT(long_time > 0);
    ASSERT(!is_exec() || long_time > short_time); /* a measurement varies */
    CHECK(cuEventRecord(untimed, stream));
    CHECK(cuEventSynchronize(untimed));
    EXPECT(400, cuEventElapsedTime(&long_time, start_event, untimed));
    CHECK(cuStreamWaitEvent(NULL, end, 0));
    EXPECT_HERE(400, cuStreamWaitEvent(NULL, (struct event *)&data, 0));
    CHECK(cuEventDestroy_v2(end));
    EXPECT_HERE(400, cuEventDestroy_v2(end));
    EXPECT_HERE(400, cuEventRecord(end, stream));
    return succeed();
}
