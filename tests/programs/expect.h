/* What the programs share: each checks its own results, prints "ok" and returns 0, or says what is
 * wrong and returns 1. */
#ifndef FTH_PROGRAMS_EXPECT_H
#define FTH_PROGRAMS_EXPECT_H

#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

/* Ends the program if a call of the runtime fails. */
#define CHECK(call)                                                                                \
    do {                                                                                           \
        cudaError_t error_ = (call);                                                               \
        if (error_ != cudaSuccess) {                                                               \
            printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(error_));      \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

/* Ends the program if something does not hold. */
#define EXPECT(condition)                                                                          \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            printf("%s:%d: not true: %s\n", __FILE__, __LINE__, #condition);                       \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static int finish()
{
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaGetLastError());
    puts("ok");
    return 0;
}

#endif
