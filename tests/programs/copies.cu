// Copies and sets in two and three dimensions, between memory and arrays.
#include "expect.h"
#include <cstring>

__global__ void add_one(char *memory, size_t pitch, int width)
{
    for (int x = threadIdx.x; x < width; x += blockDim.x)
        memory[blockIdx.x * pitch + x]++;
}

static void two_dimensions()
{
    const int width = 37, height = 5;
    char host[height][50], back[height][width], *memory;
    size_t pitch = 0;
    for (int y = 0; y < height; y++)
        for (int x = 0; x < 50; x++)
            host[y][x] = (char)(y * 7 + x);
    CHECK(cudaMallocPitch(&memory, &pitch, width, height));
    EXPECT(pitch >= width && pitch % 32 == 0);
    CHECK(cudaMemset2D(memory, pitch, 9, width, height));
    CHECK(cudaMemcpy2D(back, width, memory, pitch, width, height, cudaMemcpyDeviceToHost));
    EXPECT(back[4][36] == 9);
    CHECK(cudaMemcpy2D(memory, pitch, host, 50, width, height, cudaMemcpyHostToDevice));
    add_one<<<height, 32>>>(memory, pitch, width);
    CHECK(cudaMemcpy2DAsync(back, width, memory, pitch, width, height, cudaMemcpyDefault, 0));
    CHECK(cudaStreamSynchronize(0));
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
            EXPECT(back[y][x] == host[y][x] + 1);
    EXPECT(cudaMemcpy2D(back, 3, memory, pitch, width, height, cudaMemcpyDeviceToHost) ==
           cudaErrorInvalidPitchValue);
    (void)cudaGetLastError();
    CHECK(cudaFree(memory));
}

static void three_dimensions()
{
    const cudaExtent extent = make_cudaExtent(12, 4, 3);
    char host[3][4][12], back[3][4][12];
    cudaPitchedPtr memory;
    CHECK(cudaMalloc3D(&memory, extent));
    CHECK(cudaMemset3D(memory, 1, extent));
    for (int i = 0; i < 3 * 4 * 12; i++)
        host[i / 48][i / 12 % 4][i % 12] = (char)i;
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr(host, 12, 12, 4);
    copy.srcPos = make_cudaPos(2, 1, 0);
    copy.dstPtr = memory;
    copy.dstPos = make_cudaPos(4, 0, 1);
    copy.extent = make_cudaExtent(6, 2, 2);
    copy.kind = cudaMemcpyHostToDevice;
    CHECK(cudaMemcpy3D(&copy));
    copy = {};
    copy.srcPtr = memory;
    copy.dstPtr = make_cudaPitchedPtr(back, 12, 12, 4);
    copy.extent = extent;
    copy.kind = cudaMemcpyDeviceToHost;
    CHECK(cudaMemcpy3DAsync(&copy));
    CHECK(cudaStreamSynchronize(0));
    for (int z = 0; z < 3; z++)
        for (int y = 0; y < 4; y++)
            for (int x = 0; x < 12; x++) {
                bool copied = z >= 1 && y < 2 && x >= 4 && x < 10;
                EXPECT(back[z][y][x] == (copied ? host[z - 1][y + 1][x - 2] : 1));
            }
    CHECK(cudaFree(memory.ptr));
}

static void arrays()
{
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float2>(), read;
    cudaArray_t array, other;
    cudaExtent extent;
    unsigned flags = 99;
    float2 host[4][8], back[4][8];
    for (int i = 0; i < 32; i++)
        host[i / 8][i % 8] = make_float2(i, -i);
    CHECK(cudaMallocArray(&array, &format, 8, 4));
    CHECK(cudaMallocArray(&other, &format, 8, 4));
    CHECK(cudaArrayGetInfo(&read, &extent, &flags, array));
    EXPECT(read.x == 32 && read.y == 32 && read.z == 0 && read.f == cudaChannelFormatKindFloat);
    EXPECT(extent.width == 8 && extent.height == 4 && extent.depth == 0 && flags == 0);
    CHECK(cudaMemcpy2DToArray(array, 0, 0, host, sizeof(host[0]), sizeof(host[0]), 4,
                              cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy2DArrayToArray(other, 0, 0, array, 0, 0, sizeof(host[0]), 4));
    memset(back, 0, sizeof(back));
    CHECK(cudaMemcpy2DFromArray(back, sizeof(back[0]), other, 2 * sizeof(float2), 1,
                                3 * sizeof(float2), 2, cudaMemcpyDeviceToHost));
    EXPECT(back[0][0].x == 10 && back[1][2].y == -20 && back[0][3].x == 0);
    cudaMemcpy3DParms copy = {};
    copy.srcArray = array;
    copy.srcPos = make_cudaPos(1, 2, 0);
    copy.dstPtr = make_cudaPitchedPtr(back, sizeof(back[0]), 8, 4);
    copy.extent = make_cudaExtent(5, 2, 1);
    copy.kind = cudaMemcpyDeviceToHost;
    CHECK(cudaMemcpy3D(&copy));
    EXPECT(back[0][0].x == 17 && back[1][4].x == 29);
    CHECK(cudaFreeArray(array));
    CHECK(cudaFreeArray(other));
}

int main()
{
    two_dimensions();
    three_dimensions();
    arrays();
    return finish();
}
