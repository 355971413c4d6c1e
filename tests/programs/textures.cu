// Texture and surface objects of linear and pitched memory and of arrays.
#include "expect.h"

__global__ void fetch_linear(cudaTextureObject_t texture, int *result)
{
    result[threadIdx.x] = tex1Dfetch<int>(texture, threadIdx.x + 3);
}

__global__ void fetch_2d(cudaTextureObject_t texture, float *result, float step)
{
    float x = (threadIdx.x + 0.5f) * step, y = (threadIdx.y + 0.5f) * step;
    result[threadIdx.y * blockDim.x + threadIdx.x] = tex2D<float>(texture, x, y);
}

__global__ void write_surface(cudaSurfaceObject_t surface)
{
    surf2Dwrite((float)(threadIdx.y * 100 + threadIdx.x), surface, threadIdx.x * 4, threadIdx.y);
}

static void linear()
{
    int host[64], *memory, *result;
    for (int i = 0; i < 64; i++)
        host[i] = i * i;
    CHECK(cudaMalloc(&memory, sizeof(host)));
    CHECK(cudaMalloc(&result, sizeof(host)));
    CHECK(cudaMemcpy(memory, host, sizeof(host), cudaMemcpyHostToDevice));
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear.devPtr = memory;
    resource.res.linear.desc = cudaCreateChannelDesc<int>();
    resource.res.linear.sizeInBytes = sizeof(host);
    cudaTextureDesc description = {};
    cudaTextureObject_t texture;
    CHECK(cudaCreateTextureObject(&texture, &resource, &description, NULL));
    fetch_linear<<<1, 32>>>(texture, result);
    CHECK(cudaMemcpy(host, result, 128, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 32; i++)
        EXPECT(host[i] == (i + 3) * (i + 3));
    CHECK(cudaDestroyTextureObject(texture));
}

static void array()
{
    const int width = 8, height = 4;
    float host[height][width], *result;
    cudaArray_t storage;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    CHECK(cudaMalloc(&result, sizeof(host)));
    CHECK(cudaMallocArray(&storage, &format, width, height, cudaArraySurfaceLoadStore));
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = storage;
    cudaSurfaceObject_t surface;
    CHECK(cudaCreateSurfaceObject(&surface, &resource));
    write_surface<<<1, dim3(width, height)>>>(surface);
    cudaTextureDesc description = {};
    description.addressMode[0] = description.addressMode[1] = cudaAddressModeClamp;
    description.filterMode = cudaFilterModeLinear;
    cudaTextureObject_t texture;
    CHECK(cudaCreateTextureObject(&texture, &resource, &description, NULL));
    fetch_2d<<<1, dim3(width, height)>>>(texture, result, 1);
    CHECK(cudaMemcpy(host, result, sizeof(host), cudaMemcpyDeviceToHost));
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
            EXPECT(host[y][x] == y * 100 + x);
    /* Beyond the edge, the texture repeats its last element; halfway between two, it averages. */
    fetch_2d<<<1, dim3(width, height)>>>(texture, result, 2);
    CHECK(cudaMemcpy(host, result, sizeof(host), cudaMemcpyDeviceToHost));
    EXPECT(host[0][0] == 50.5f && host[3][7] == 307);
    CHECK(cudaDestroyTextureObject(texture));
    CHECK(cudaDestroySurfaceObject(surface));
    CHECK(cudaFreeArray(storage));
}

static void pitched()
{
    const int width = 8, height = 4;
    unsigned char host[height][width], *memory;
    float *result, back[height][width];
    size_t pitch;
    for (int i = 0; i < width * height; i++)
        host[i / width][i % width] = (unsigned char)(i * 8);
    CHECK(cudaMallocPitch(&memory, &pitch, width, height));
    CHECK(cudaMalloc(&result, sizeof(back)));
    CHECK(cudaMemcpy2D(memory, pitch, host, width, width, height, cudaMemcpyHostToDevice));
    cudaResourceDesc resource = {}, read;
    resource.resType = cudaResourceTypePitch2D;
    resource.res.pitch2D.devPtr = memory;
    resource.res.pitch2D.desc = cudaCreateChannelDesc<unsigned char>();
    resource.res.pitch2D.width = width;
    resource.res.pitch2D.height = height;
    resource.res.pitch2D.pitchInBytes = pitch;
    cudaTextureDesc description = {}, read_description;
    description.readMode = cudaReadModeNormalizedFloat;
    description.normalizedCoords = 0;
    cudaTextureObject_t texture;
    CHECK(cudaCreateTextureObject(&texture, &resource, &description, NULL));
    CHECK(cudaGetTextureObjectResourceDesc(&read, texture));
    EXPECT(read.resType == cudaResourceTypePitch2D && read.res.pitch2D.devPtr == memory);
    CHECK(cudaGetTextureObjectTextureDesc(&read_description, texture));
    EXPECT(read_description.readMode == cudaReadModeNormalizedFloat);
    fetch_2d<<<1, dim3(width, height)>>>(texture, result, 1);
    CHECK(cudaMemcpy(back, result, sizeof(back), cudaMemcpyDeviceToHost));
    EXPECT(back[3][7] == 31 * 8 / 255.0f && back[0][1] == 8 / 255.0f);
    CHECK(cudaDestroyTextureObject(texture));
}

int main()
{
    linear();
    array();
    pitched();
    return finish();
}
