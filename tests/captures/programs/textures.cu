// Texture and surface objects: of arrays with one, two and three dimensions and with layers, of
// linear memory and of pitched memory. Surfaces are written. Handles are parameters, and they are
// in memory and in a variable.
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

// ---- arrays with other dimensions ----

static const int SIDE = 16, LAYERS = 5, LENGTH = 64;

__global__ void sample_line(cudaTextureObject_t line, float *out)
{
    int i = threadIdx.x;
    out[i] = tex1D<float>(line, ((float)i + 0.75f) / LENGTH); // up to 2: the line is repeated
}

__global__ void sample_volume(cudaTextureObject_t volume, float *out)
{
    int x = threadIdx.x, y = threadIdx.y, z = blockIdx.x;
    out[(z * SIDE + y) * SIDE + x] =
        tex3D<float>(volume, (float)x + 0.75f, (float)y + 1.0f, (float)z + 0.5f);
}

__global__ void invert_volume(cudaSurfaceObject_t volume)
{
    int x = threadIdx.x * (int)sizeof(float), y = threadIdx.y, z = blockIdx.x;
    surf3Dwrite(255.0f - surf3Dread<float>(volume, x, y, z), volume, x, y, z);
}

__global__ void read_layers(cudaTextureObject_t layers, uchar4 *out)
{
    int x = threadIdx.x, y = threadIdx.y, layer = blockIdx.x;
    out[(layer * SIDE + y) * SIDE + x] =
        tex2DLayered<uchar4>(layers, (float)x + 0.5f, (float)y + 0.5f, layer);
}

// Copies each layer of a texture to the next layer of a surface.
__global__ void rotate_layers(cudaTextureObject_t layers, cudaSurfaceObject_t to)
{
    int x = threadIdx.x, y = threadIdx.y, layer = blockIdx.x;
    uchar4 value = tex2DLayered<uchar4>(layers, (float)x + 0.5f, (float)y + 0.5f, layer);
    surf2DLayeredwrite(value, to, x * (int)sizeof(value), y, (layer + 1) % LAYERS);
}

__global__ void read_lines(cudaTextureObject_t lines, unsigned short *out)
{
    int x = threadIdx.x, layer = blockIdx.x;
    out[layer * LENGTH + x] = tex1DLayered<unsigned short>(lines, (float)x + 0.5f, layer);
}

template <class Texel>
static cudaArray_t make_array(const std::vector<Texel> &texels, cudaExtent extent, unsigned flags)
{
    cudaChannelFormatDesc format = cudaCreateChannelDesc<Texel>();
    cudaArray_t array;
    CHECK(cudaMalloc3DArray(&array, &format, extent, flags));
    size_t height = extent.height ? extent.height : 1, depth = extent.depth ? extent.depth : 1;
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr((void *)texels.data(), extent.width * sizeof(Texel),
                                      extent.width, height);
    copy.dstArray = array;
    copy.extent = make_cudaExtent(extent.width, height, depth);
    copy.kind = cudaMemcpyHostToDevice;
    CHECK(cudaMemcpy3D(&copy));
    return array;
}

template <class Texel> static std::vector<Texel> texels_of(cudaArray_t array, cudaExtent extent)
{
    std::vector<Texel> texels(extent.width * extent.height * extent.depth);
    cudaMemcpy3DParms copy = {};
    copy.srcArray = array;
    copy.dstPtr = make_cudaPitchedPtr(texels.data(), extent.width * sizeof(Texel), extent.width,
                                      extent.height);
    copy.extent = extent;
    copy.kind = cudaMemcpyDeviceToHost;
    CHECK(cudaMemcpy3D(&copy));
    return texels;
}

static cudaResourceDesc resource_of(cudaArray_t array)
{
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    return resource;
}

static cudaTextureObject_t texture_of(const cudaResourceDesc &resource,
                                      cudaTextureFilterMode filter, cudaTextureAddressMode mode,
                                      bool normalized)
{
    cudaTextureDesc description = {};
    for (int i = 0; i < 3; i++)
        description.addressMode[i] = mode;
    description.filterMode = filter;
    description.readMode = cudaReadModeElementType;
    description.normalizedCoords = normalized;
    cudaTextureObject_t texture;
    CHECK(cudaCreateTextureObject(&texture, &resource, &description, nullptr));
    return texture;
}

static cudaSurfaceObject_t surface_of(cudaArray_t array)
{
    cudaResourceDesc resource = resource_of(array);
    cudaSurfaceObject_t surface;
    CHECK(cudaCreateSurfaceObject(&surface, &resource));
    return surface;
}

template <class Value> static std::vector<Value> copy_back(const Value *memory, size_t count)
{
    std::vector<Value> values(count);
    CHECK(cudaMemcpy(values.data(), memory, count * sizeof(Value), cudaMemcpyDeviceToHost));
    return values;
}

// Normalized coordinates, linear filtering, and coordinates that wrap around.
static void line()
{
    std::vector<float> texels(LENGTH);
    for (int i = 0; i < LENGTH; i++)
        texels[i] = (float)(i * 37 % 101);
    cudaArray_t array = make_array(texels, make_cudaExtent(LENGTH, 0, 0), cudaArrayDefault);
    cudaTextureObject_t texture =
        texture_of(resource_of(array), cudaFilterModeLinear, cudaAddressModeWrap, true);
    float *out;
    CHECK(cudaMalloc(&out, 2 * LENGTH * sizeof(float)));
    sample_line<<<1, 2 * LENGTH>>>(texture, out);
    std::vector<float> back = copy_back(out, 2 * LENGTH);
    for (int i = 0; i < 2 * LENGTH; i++)
        EXPECT(back[i] == 0.75f * texels[i % LENGTH] + 0.25f * texels[(i + 1) % LENGTH]);
    CHECK(cudaDestroyTextureObject(texture));
    CHECK(cudaFreeArray(array));
    CHECK(cudaFree(out));
}

static void volume()
{
    const cudaExtent extent = make_cudaExtent(SIDE, SIDE, SIDE);
    const int count = SIDE * SIDE * SIDE;
    std::vector<float> texels(count);
    for (int i = 0; i < count; i++)
        texels[i] = (float)(i * 29 % 256);
    cudaArray_t array = make_array(texels, extent, cudaArraySurfaceLoadStore);
    cudaTextureObject_t texture =
        texture_of(resource_of(array), cudaFilterModeLinear, cudaAddressModeClamp, false);
    cudaSurfaceObject_t surface = surface_of(array);
    float *out;
    CHECK(cudaMalloc(&out, count * sizeof(float)));
    sample_volume<<<SIDE, dim3(SIDE, SIDE)>>>(texture, out);
    std::vector<float> back = copy_back(out, count);
    for (int i = 0; i < count; i++) {
        int x = i % SIDE, y = i / SIDE % SIDE, z = i / SIDE / SIDE;
        int right = x < SIDE - 1 ? x + 1 : x, below = y < SIDE - 1 ? y + 1 : y;
        const float *image = texels.data() + z * SIDE * SIDE;
        float at_left = image[y * SIDE + x] + image[below * SIDE + x];
        float at_right = image[y * SIDE + right] + image[below * SIDE + right];
        EXPECT(back[i] == 0.5f * (0.75f * at_left + 0.25f * at_right));
    }
    invert_volume<<<SIDE, dim3(SIDE, SIDE)>>>(surface);
    back = texels_of<float>(array, extent);
    for (int i = 0; i < count; i++)
        EXPECT(back[i] == 255.0f - texels[i]);
    sample_volume<<<SIDE, dim3(SIDE, SIDE)>>>(texture, out); // of the texels that were written
    CHECK(cudaDeviceSynchronize());
}

static void layers()
{
    const cudaExtent extent = make_cudaExtent(SIDE, SIDE, LAYERS);
    const int count = SIDE * SIDE * LAYERS, image = SIDE * SIDE;
    std::vector<uchar4> texels(count);
    for (int i = 0; i < count; i++)
        texels[i] = {(unsigned char)i, (unsigned char)(i / 7), (unsigned char)(i / 256), 255};
    cudaArray_t from = make_array(texels, extent, cudaArrayLayered);
    cudaArray_t to = make_array(texels, extent, cudaArrayLayered | cudaArraySurfaceLoadStore);
    cudaTextureObject_t texture =
        texture_of(resource_of(from), cudaFilterModePoint, cudaAddressModeClamp, false);
    uchar4 *out;
    CHECK(cudaMalloc(&out, count * sizeof(uchar4)));
    read_layers<<<LAYERS, dim3(SIDE, SIDE)>>>(texture, out);
    std::vector<uchar4> back = copy_back(out, count);
    for (int i = 0; i < count; i++)
        EXPECT(back[i].x == texels[i].x && back[i].y == texels[i].y && back[i].z == texels[i].z &&
               back[i].w == 255);
    rotate_layers<<<LAYERS, dim3(SIDE, SIDE)>>>(texture, surface_of(to));
    back = texels_of<uchar4>(to, extent);
    for (int i = 0; i < count; i++) {
        uchar4 expected = texels[(i + count - image) % count];
        EXPECT(back[i].x == expected.x && back[i].y == expected.y && back[i].z == expected.z);
    }
}

static void layers_of_lines()
{
    const int count = LENGTH * LAYERS;
    std::vector<unsigned short> texels(count);
    for (int i = 0; i < count; i++)
        texels[i] = (unsigned short)(i * 201);
    cudaArray_t array = make_array(texels, make_cudaExtent(LENGTH, 0, LAYERS), cudaArrayLayered);
    cudaTextureObject_t texture =
        texture_of(resource_of(array), cudaFilterModePoint, cudaAddressModeClamp, false);
    unsigned short *out;
    CHECK(cudaMalloc(&out, count * sizeof(unsigned short)));
    read_lines<<<LAYERS, LENGTH>>>(texture, out);
    std::vector<unsigned short> back = copy_back(out, count);
    for (int i = 0; i < count; i++)
        EXPECT(back[i] == texels[i]);
}

// ---- pitched memory ----

__global__ void sample_bytes(cudaTextureObject_t image, float *out)
{
    int x = threadIdx.x, y = threadIdx.y;
    out[y * SIDE + x] = tex2D<float>(image, ((float)x + 0.5f) / SIDE, ((float)y + 0.5f) / SIDE);
}

static void pitched_memory()
{
    std::vector<unsigned char> texels(SIDE * SIDE);
    for (int i = 0; i < SIDE * SIDE; i++)
        texels[i] = (unsigned char)(i * 7);
    unsigned char *memory;
    float *out;
    size_t pitch;
    CHECK(cudaMallocPitch(&memory, &pitch, SIDE, SIDE));
    CHECK(cudaMalloc(&out, SIDE * SIDE * sizeof(float)));
    CHECK(cudaMemcpy2D(memory, pitch, texels.data(), SIDE, SIDE, SIDE, cudaMemcpyHostToDevice));
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypePitch2D;
    resource.res.pitch2D.devPtr = memory;
    resource.res.pitch2D.desc = cudaCreateChannelDesc<unsigned char>();
    resource.res.pitch2D.width = resource.res.pitch2D.height = SIDE;
    resource.res.pitch2D.pitchInBytes = pitch;
    cudaTextureDesc description = {};
    description.readMode = cudaReadModeNormalizedFloat;
    description.normalizedCoords = 1;
    cudaTextureObject_t texture;
    CHECK(cudaCreateTextureObject(&texture, &resource, &description, nullptr));
    sample_bytes<<<1, dim3(SIDE, SIDE)>>>(texture, out);
    std::vector<float> back = copy_back(out, SIDE * SIDE);
    for (int i = 0; i < SIDE * SIDE; i++)
        EXPECT(fabsf(back[i] - (float)texels[i] / 255.0f) < 1e-6f);
}

// ---- handles in memory ----

__device__ cudaTextureObject_t chosen;

__global__ void read_listed(const cudaTextureObject_t *textures, int count, int *out)
{
    int sum = tex1Dfetch<int>(chosen, threadIdx.x);
    for (int i = 0; i < count; i++)
        sum = sum * 3 + tex1Dfetch<int>(textures[i], threadIdx.x);
    out[threadIdx.x] = sum;
}

static void handles_in_memory()
{
    const int count = 4, length = 32;
    cudaTextureObject_t textures[count], *list;
    int values[count][length], *memory, *out;
    for (int i = 0; i < count * length; i++)
        values[i / length][i % length] = i * i;
    CHECK(cudaMalloc(&list, sizeof(textures)));
    CHECK(cudaMalloc(&out, length * sizeof(int)));
    for (int i = 0; i < count; i++) {
        CHECK(cudaMalloc(&memory, sizeof(values[i])));
        CHECK(cudaMemcpy(memory, values[i], sizeof(values[i]), cudaMemcpyHostToDevice));
        cudaResourceDesc resource = {};
        resource.resType = cudaResourceTypeLinear;
        resource.res.linear.devPtr = memory;
        resource.res.linear.desc = cudaCreateChannelDesc<int>();
        resource.res.linear.sizeInBytes = sizeof(values[i]);
        textures[i] = texture_of(resource, cudaFilterModePoint, cudaAddressModeClamp, false);
    }
    CHECK(cudaMemcpy(list, textures, sizeof(textures), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpyToSymbol(chosen, &textures[count - 1], sizeof(textures[0])));
    read_listed<<<1, length>>>(list, count - 1, out);
    std::vector<int> back = copy_back(out, length);
    for (int i = 0; i < length; i++)
        EXPECT(back[i] ==
               ((values[3][i] * 3 + values[0][i]) * 3 + values[1][i]) * 3 + values[2][i]);
}

int main()
{
    images();
    linear_memory();
    line();
    volume();
    layers();
    layers_of_lines();
    pitched_memory();
    handles_in_memory();
    return finish();
}
