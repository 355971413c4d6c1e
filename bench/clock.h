/* The clock of the benchmarks. */
#ifndef FTH_BENCH_CLOCK_H
#define FTH_BENCH_CLOCK_H

#include <time.h>

/* Returns elapsed seconds since an arbitrary fixed time. */
static inline double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

#endif
