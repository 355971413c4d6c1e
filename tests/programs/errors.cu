// Errors that a program can make, and how it learns of them.
#include "expect.h"
#include <cstring>

__global__ void nothing() {}

__global__ void store(int *address)
{
    *address = 1;
}

#define expect_last(error)                                                                         \
    do {                                                                                           \
        EXPECT(cudaPeekAtLastError() == (error));                                                  \
        EXPECT(cudaGetLastError() == (error));                                                     \
        EXPECT(cudaGetLastError() == cudaSuccess);                                                 \
    } while (0)

int main()
{
    void *memory = NULL;
    EXPECT(cudaSetDevice(7) == cudaErrorInvalidDevice);
    expect_last(cudaErrorInvalidDevice);
    nothing<<<1, 2048>>>();
    expect_last(cudaErrorInvalidValue);
    nothing<<<0, 32>>>();
    expect_last(cudaErrorInvalidValue);
    nothing<<<1, dim3(1, 1, 65)>>>();
    expect_last(cudaErrorInvalidValue);
    EXPECT(cudaLaunchKernel((void *)main, dim3(1), dim3(1), NULL, 0, 0) ==
           cudaErrorInvalidResourceHandle);
    expect_last(cudaErrorInvalidResourceHandle);
    EXPECT(cudaMalloc(&memory, (size_t)1 << 50) == cudaErrorMemoryAllocation);
    expect_last(cudaErrorMemoryAllocation);
    EXPECT(cudaFree((void *)main) == cudaErrorInvalidValue);
    expect_last(cudaErrorInvalidValue);
    int local = 0, peer = 1;
    EXPECT(cudaMemcpyToSymbol((const void *)&local, &local, 4) == cudaErrorInvalidSymbol);
    expect_last(cudaErrorInvalidSymbol);
    EXPECT(cudaMemcpy(&local, &peer, 4, (cudaMemcpyKind)9) == cudaErrorInvalidMemcpyDirection);
    expect_last(cudaErrorInvalidMemcpyDirection);
    CHECK(cudaDeviceCanAccessPeer(&peer, 0, 0));
    EXPECT(peer == 0);
    if (getenv("FATHOM_EXEC_FOLDER")) { /* fathom does not implement it */
        EXPECT(cudaIpcCloseMemHandle(NULL) == cudaErrorNotSupported);
        expect_last(cudaErrorNotSupported);
    }
    EXPECT(strcmp(cudaGetErrorName(cudaErrorNotSupported), "cudaErrorNotSupported") == 0);
    EXPECT(strcmp(cudaGetErrorString(cudaErrorInvalidValue), "invalid argument") == 0);
    nothing<<<1, 32>>>();
    CHECK(cudaDeviceSynchronize());
    /* An illegal access ends the context: later calls fail as well. */
    store<<<1, 1>>>((int *)0x1000);
    EXPECT(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
    EXPECT(cudaMalloc(&memory, 16) == cudaErrorIllegalAddress);
    puts("ok");
    return 0;
}
