// Texture objects: of an array with linear filtering, of linear memory, and a surface of the array.
#include "../../programs/expect.h"
#include <vector>

static const int WIDTH = 64, HEIGHT = 48;

// Samples between the texels, a quarter of a texel to the right and half of one down.
__global__ void sample(cudaTextureObject_t image, float *out)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    out[y * WIDTH + x] = tex2D<float>(image, (float)x + 0.75f, (float)y + 1.0f);
}

__global__ void fetch(cudaTextureObject_t table, int *out, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int4 value = tex1Dfetch<int4>(table, (i * 5) % count);
    out[i] = value.x + value.y * value.z - value.w;
}

__global__ void invert(cudaSurfaceObject_t surface)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    float value = surf2Dread<float>(surface, x * (int)sizeof(float), y);
    surf2Dwrite(255.0f - value, surface, x * (int)sizeof(float), y);
}

static float at(const std::vector<float> &image, int x, int y)
{
    x = x < WIDTH ? x : WIDTH - 1;
    y = y < HEIGHT ? y : HEIGHT - 1;
    return image[y * WIDTH + x];
}

static void images()
{
    std::vector<float> image(WIDTH * HEIGHT), back(image);
    for (int i = 0; i < WIDTH * HEIGHT; i++)
        image[i] = (float)(i * 29 % 256);
    const size_t pitch = WIDTH * sizeof(float);
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    cudaArray_t array;
    CHECK(cudaMallocArray(&array, &format, WIDTH, HEIGHT, cudaArraySurfaceLoadStore));
    CHECK(cudaMemcpy2DToArray(array, 0, 0, image.data(), pitch, pitch, HEIGHT,
                              cudaMemcpyHostToDevice));
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    cudaTextureDesc description = {};
    description.addressMode[0] = description.addressMode[1] = cudaAddressModeClamp;
    description.filterMode = cudaFilterModeLinear;
    description.readMode = cudaReadModeElementType;
    cudaTextureObject_t texture;
    cudaSurfaceObject_t surface;
    CHECK(cudaCreateTextureObject(&texture, &resource, &description, nullptr));
    CHECK(cudaCreateSurfaceObject(&surface, &resource));
    float *out;
    CHECK(cudaMalloc(&out, pitch * HEIGHT));
    dim3 threads(16, 16), blocks(WIDTH / 16, HEIGHT / 16);
    sample<<<blocks, threads>>>(texture, out);
    CHECK(cudaMemcpy(back.data(), out, pitch * HEIGHT, cudaMemcpyDeviceToHost));
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++) {
            float left = at(image, x, y) + at(image, x, y + 1);
            float right = at(image, x + 1, y) + at(image, x + 1, y + 1);
            EXPECT(back[y * WIDTH + x] == 0.5f * (0.75f * left + 0.25f * right));
        }
    invert<<<blocks, threads>>>(surface);
    CHECK(cudaMemcpy2DFromArray(back.data(), pitch, array, 0, 0, pitch, HEIGHT,
                                cudaMemcpyDeviceToHost));
    for (int i = 0; i < WIDTH * HEIGHT; i++)
        EXPECT(back[i] == 255.0f - image[i]);
}

static void linear_memory()
{
    const int count = 256;
    std::vector<int4> table(count);
    for (int i = 0; i < count; i++)
        table[i] = {i, i % 7, i % 11, 3 * i};
    int4 *device;
    int *out, back[count];
    CHECK(cudaMalloc(&device, count * sizeof(int4)));
    CHECK(cudaMalloc(&out, sizeof(back)));
    CHECK(cudaMemcpy(device, table.data(), count * sizeof(int4), cudaMemcpyHostToDevice));
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear.devPtr = device;
    resource.res.linear.desc = cudaCreateChannelDesc<int4>();
    resource.res.linear.sizeInBytes = count * sizeof(int4);
    cudaTextureDesc description = {};
    description.readMode = cudaReadModeElementType;
    cudaTextureObject_t texture;
    CHECK(cudaCreateTextureObject(&texture, &resource, &description, nullptr));
    fetch<<<count / 64, 64>>>(texture, out, count);
    CHECK(cudaMemcpy(back, out, sizeof(back), cudaMemcpyDeviceToHost));
    for (int i = 0; i < count; i++) {
        int4 value = table[i * 5 % count];
        EXPECT(back[i] == value.x + value.y * value.z - value.w);
    }
}

int main()
{
    images();
    linear_memory();
    return finish();
}
