// Several streams that events order, stream-ordered allocation, mapped host memory, managed memory.
#include "../../programs/expect.h"
#include <vector>

static const int COUNT = 4096, STREAMS = 3;

__global__ void scale(const float *in, float *out, float factor, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        out[i] = in[i] * factor;
}

__global__ void add(const float *a, const float *b, float *sum, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        sum[i] = a[i] + b[i];
}

// Each stream scales its part; the first stream adds the results of the others once they are there.
static void fork_and_join()
{
    cudaStream_t streams[STREAMS];
    cudaEvent_t events[STREAMS];
    float *host, *in[STREAMS], *out[STREAMS];
    CHECK(cudaMallocHost(&host, COUNT * sizeof(float)));
    for (int i = 0; i < COUNT; i++)
        host[i] = (float)(i % 64);
    for (int i = 0; i < STREAMS; i++) {
        CHECK(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking));
        CHECK(cudaEventCreateWithFlags(&events[i], cudaEventDisableTiming));
        CHECK(cudaMallocAsync(&in[i], COUNT * sizeof(float), streams[i]));
        CHECK(cudaMallocAsync(&out[i], COUNT * sizeof(float), streams[i]));
        CHECK(cudaMemcpyAsync(in[i], host, COUNT * sizeof(float), cudaMemcpyHostToDevice,
                              streams[i]));
        scale<<<COUNT / 256, 256, 0, streams[i]>>>(in[i], out[i], (float)(i + 1), COUNT);
        CHECK(cudaEventRecord(events[i], streams[i]));
    }
    for (int i = 1; i < STREAMS; i++) {
        CHECK(cudaStreamWaitEvent(streams[0], events[i], 0));
        add<<<COUNT / 256, 256, 0, streams[0]>>>(out[0], out[i], out[0], COUNT);
    }
    std::vector<float> back(COUNT);
    CHECK(cudaMemcpyAsync(back.data(), out[0], COUNT * sizeof(float), cudaMemcpyDeviceToHost,
                          streams[0]));
    CHECK(cudaStreamSynchronize(streams[0]));
    for (int i = 0; i < COUNT; i++)
        EXPECT(back[i] == 6.0f * host[i]);
    for (int i = 0; i < STREAMS; i++) {
        CHECK(cudaFreeAsync(in[i], streams[i]));
        CHECK(cudaFreeAsync(out[i], streams[i]));
        CHECK(cudaStreamDestroy(streams[i]));
        CHECK(cudaEventDestroy(events[i]));
    }
    CHECK(cudaFreeHost(host));
}

// A kernel reads and writes pinned host memory through its device address.
static void mapped_memory()
{
    float *host, *device;
    CHECK(cudaHostAlloc(&host, COUNT * sizeof(float), cudaHostAllocMapped));
    CHECK(cudaHostGetDevicePointer(&device, host, 0));
    for (int i = 0; i < COUNT; i++)
        host[i] = (float)i;
    scale<<<COUNT / 256, 256>>>(device, device, 0.5f, COUNT);
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < COUNT; i++)
        EXPECT(host[i] == 0.5f * (float)i);
    CHECK(cudaFreeHost(host));
}

// Host and device write managed memory in turns.
static void managed_memory()
{
    float *a, *b;
    CHECK(cudaMallocManaged(&a, COUNT * sizeof(float)));
    CHECK(cudaMallocManaged(&b, COUNT * sizeof(float)));
    for (int i = 0; i < COUNT; i++)
        a[i] = (float)i;
    for (int round = 0; round < 2; round++) {
        scale<<<COUNT / 256, 256>>>(a, b, 2.0f, COUNT);
        CHECK(cudaDeviceSynchronize());
        for (int i = 0; i < COUNT; i++)
            a[i] = b[i] + 1.0f;
    }
    for (int i = 0; i < COUNT; i++)
        EXPECT(a[i] == 4.0f * (float)i + 3.0f);
    CHECK(cudaFree(a));
    CHECK(cudaFree(b));
}

int main()
{
    fork_and_join();
    mapped_memory();
    managed_memory();
    return finish();
}
