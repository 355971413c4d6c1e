/* Child processes: one from before cuInit can use the API, one from after it cannot. */
#include "driver_api.h"

#include <sys/wait.h>
#include <unistd.h>

static int use(void)
{
    uint64_t data;
    start();
    struct function *add = load_kernel(PTX_HEADER PTX_ADD, "add");
    unsigned value = 3, count = 32;
    void *arguments[] = {&data, &value, &count};
    CHECK(cuMemAlloc_v2(&data, 128));
    CHECK(cuMemsetD32_v2(data, 4, 32));
    CHECK(cuLaunchKernel(add, 1, 1, 1, 32, 1, 1, 0, NULL, arguments, NULL));
    ASSERT(all_are(data, 7, 32));
    return 0;
}

static void wait_for(pid_t child)
{
    int status;
    ASSERT(child > 0 && waitpid(child, &status, 0) == child);
    ASSERT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(void)
{
    int count;
    fflush(NULL);
    const pid_t before = fork();
    if (before == 0)
        exit(use());
    wait_for(before);
    use();
    const pid_t after = fork();
    if (after == 0) {
        EXPECT(3, cuDeviceGetCount(&count));
        EXPECT(3, cuInit(0));
        EXPECT(3, cuCtxSynchronize());
        exit(0);
    }
    wait_for(after);
    CHECK(cuCtxSynchronize()); /* the parent can go on */
    use();
    return succeed();
}
