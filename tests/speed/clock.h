/* The clock of the benchmarks. */
#ifndef FTH_SPEED_CLOCK_H
#define FTH_SPEED_CLOCK_H

#include <time.h>

/* Returns elapsed seconds since an arbitrary fixed time. */
static inline double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Returns processor seconds of this process since its start. Other load on the machine affects them
 * less than elapsed time. */
static inline double processor_seconds(void)
{
    return (double)clock() / CLOCKS_PER_SEC;
}

#endif
