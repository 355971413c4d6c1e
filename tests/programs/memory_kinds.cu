// Pinned, mapped, registered, managed and stream-ordered memory, and what is known about pointers.
#include "expect.h"
#include <vector>

__global__ void negate(int *values, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        values[i] = -values[i];
}

static void expect_pointer(const void *pointer, cudaMemoryType type)
{
    cudaPointerAttributes attributes;
    CHECK(cudaPointerGetAttributes(&attributes, pointer));
    EXPECT(attributes.type == type);
    EXPECT(type == cudaMemoryTypeUnregistered || attributes.devicePointer != NULL);
}

int main()
{
    const int count = 100, bytes = count * (int)sizeof(int);
    int *pinned, *mapped, *managed, *device, *ordered, *pooled;
    CHECK(cudaMallocHost(&pinned, bytes));
    CHECK(cudaHostAlloc(&mapped, bytes, cudaHostAllocMapped));
    CHECK(cudaMallocManaged(&managed, bytes));
    CHECK(cudaMalloc(&device, bytes));
    std::vector<int> plain(count);
    expect_pointer(pinned, cudaMemoryTypeHost);
    expect_pointer(managed, cudaMemoryTypeManaged);
    expect_pointer(device, cudaMemoryTypeDevice);
    expect_pointer(device + 10, cudaMemoryTypeDevice);
    expect_pointer(plain.data(), cudaMemoryTypeUnregistered);
    for (int i = 0; i < count; i++)
        pinned[i] = mapped[i] = managed[i] = plain[i] = i + 1;
    int *address;
    CHECK(cudaHostGetDevicePointer(&address, mapped, 0));
    negate<<<1, 128>>>(address, count);
    CHECK(cudaHostRegister(plain.data(), bytes, cudaHostRegisterMapped));
    CHECK(cudaHostGetDevicePointer(&address, plain.data(), 0));
    negate<<<1, 128>>>(address, count);
    cudaMemLocation place = {cudaMemLocationTypeDevice, 0};
    CHECK(cudaMemAdvise(managed, bytes, cudaMemAdviseSetPreferredLocation, place));
    CHECK(cudaMemPrefetchAsync(managed, bytes, place, 0, 0));
    negate<<<1, 128>>>(managed, count);
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < count; i++)
        EXPECT(mapped[i] == -i - 1 && managed[i] == -i - 1 && plain[i] == -i - 1);
    CHECK(cudaHostUnregister(plain.data()));
    cudaStream_t stream;
    cudaMemPool_t pool, own;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
    unsigned long long threshold = 1 << 20, read = 0;
    CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
    CHECK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &read));
    EXPECT(read == threshold);
    cudaMemPoolProps properties = {};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location = place;
    CHECK(cudaMemPoolCreate(&own, &properties));
    CHECK(cudaMallocAsync(&ordered, bytes, stream));
    CHECK(cudaMallocFromPoolAsync(&pooled, bytes, own, stream));
    CHECK(cudaMemcpyAsync(ordered, pinned, bytes, cudaMemcpyHostToDevice, stream));
    negate<<<1, 128, 0, stream>>>(ordered, count);
    CHECK(cudaMemcpyAsync(pooled, ordered, bytes, cudaMemcpyDefault, stream));
    CHECK(cudaMemcpyAsync(pinned, pooled, bytes, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaFreeAsync(ordered, stream));
    CHECK(cudaFreeAsync(pooled, stream));
    CHECK(cudaStreamSynchronize(stream));
    EXPECT(pinned[41] == -42);
    CHECK(cudaMemPoolDestroy(own));
    CHECK(cudaFreeHost(pinned));
    CHECK(cudaFreeHost(mapped));
    CHECK(cudaFree(managed));
    CHECK(cudaFree(device));
    return finish();
}
