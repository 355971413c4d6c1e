// Devices, attributes, properties and versions.
#include "expect.h"
#include <cstring>

int main()
{
    int count = 0, device = -1, value = 0, driver = 0, runtime = 0;
    CHECK(cudaGetDeviceCount(&count));
    EXPECT(count == 1);
    CHECK(cudaGetDevice(&device));
    EXPECT(device == 0);
    CHECK(cudaDriverGetVersion(&driver));
    CHECK(cudaRuntimeGetVersion(&runtime));
    EXPECT(runtime / 1000 == CUDART_VERSION / 1000 && driver >= runtime);
    cudaDeviceProp properties;
    memset(&properties, 0xff, sizeof(properties));
    CHECK(cudaGetDeviceProperties(&properties, 0));
    EXPECT(strlen(properties.name) > 0 && properties.warpSize == 32);
    EXPECT(properties.major == 9 && properties.minor == 0);
    EXPECT(properties.multiProcessorCount == 132 && properties.maxThreadsPerMultiProcessor == 2048);
    EXPECT(properties.totalGlobalMem > ((size_t)100 << 30));
    EXPECT(properties.maxThreadsPerBlock == 1024 && properties.maxThreadsDim[2] == 64);
    EXPECT(properties.maxGridSize[0] == 2147483647 && properties.maxGridSize[1] == 65535);
    EXPECT(properties.sharedMemPerBlock == 48 * 1024 && properties.regsPerBlock == 65536);
    EXPECT(properties.sharedMemPerBlockOptin == 227 * 1024);
    EXPECT(properties.totalConstMem == 65536 && properties.unifiedAddressing == 1);
    EXPECT(properties.l2CacheSize > 30 << 20 && properties.clusterLaunch == 1);
    EXPECT(properties.cooperativeLaunch == 1 && properties.managedMemory == 1);
    CHECK(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0));
    EXPECT(value == properties.multiProcessorCount);
    size_t available = 0, total = 0, bytes = 0;
    CHECK(cudaMemGetInfo(&available, &total));
    EXPECT(total == properties.totalGlobalMem && available <= total && available > total / 2);
    void *memory;
    CHECK(cudaMalloc(&memory, 1 << 20));
    CHECK(cudaMemGetInfo(&bytes, &total));
    EXPECT(bytes <= available - (1 << 20));
    CHECK(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 16 << 20));
    CHECK(cudaDeviceGetLimit(&bytes, cudaLimitMallocHeapSize));
    EXPECT(bytes == 16 << 20);
    CHECK(cudaSetDevice(0));
    CHECK(cudaSetDeviceFlags(cudaDeviceScheduleBlockingSync));
    CHECK(cudaDeviceReset());
    return finish();
}
