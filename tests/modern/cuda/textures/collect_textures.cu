/* nvcc: -arch=sm_90a -cudart static */
/* Runs the kernels of textures.cu on a GPU with every combination of sampling modes, and writes the results to textures.bin. Prints
 * a line for each run: the kernel, the modes, the extents of the texture, the arguments after the object and the output, and where
 * its results are.
 *
 * usage: collect_textures FILE.bin >FILE.txt
 *
 * Component c of texel t (x fastest, then y, then z or the layer) is ((t * 7919 + c * 31) % 1021) / 512 - 1 in f32, and
 * (t * 37 + c * 11) % 256 in u8. */
#include "textures.cu"

#include <stdio.h>
#include <stdlib.h>
#include <vector>

#define CHECK(call)                                                                                                                \
    do {                                                                                                                           \
        cudaError_t status = (call);                                                                                               \
        if (status != cudaSuccess) {                                                                                               \
            fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(status));                                                        \
            exit(1);                                                                                                               \
        }                                                                                                                          \
    } while (0)

enum kind { KIND_1D, KIND_2D, KIND_3D, KIND_LAYERS_1D, KIND_LAYERS_2D, KIND_GATHER, KIND_INTEGERS };
static const char *const kernels[] = {"sample_1d", "sample_2d", "sample_3d", "sample_layers_1d", "sample_layers_2d", "gather_2d", "integers_2d"};
static const char *const addresses[] = {"wrap", "clamp", "mirror", "border"};
static FILE *file;
static long written;

struct modes {
    bool bytes; /* u8 instead of f32; read as floats from 0 to 1, except by integers_2d */
    cudaTextureAddressMode address;
    cudaTextureFilterMode filter;
    bool normalised;
};

static cudaArray_t make_array(enum kind kind, cudaExtent extent, bool bytes)
{
    cudaChannelFormatDesc format = bytes ? cudaCreateChannelDesc<uchar4>() : cudaCreateChannelDesc<float4>();
    bool layers = kind == KIND_LAYERS_1D || kind == KIND_LAYERS_2D;
    cudaArray_t array;
    CHECK(cudaMalloc3DArray(&array, &format, extent, layers ? cudaArrayLayered : kind == KIND_GATHER ? cudaArrayTextureGather : 0));
    size_t rows = extent.height ? extent.height : 1, planes = extent.depth ? extent.depth : 1;
    std::vector<float> floats;
    std::vector<unsigned char> small;
    for (size_t t = 0; t < extent.width * rows * planes; t++)
        for (size_t c = 0; c < 4; c++) {
            floats.push_back((float)((t * 7919 + c * 31) % 1021) / 512 - 1);
            small.push_back((unsigned char)((t * 37 + c * 11) % 256));
        }
    cudaMemcpy3DParms copy = {};
    void *from = bytes ? (void *)small.data() : (void *)floats.data();
    copy.srcPtr = make_cudaPitchedPtr(from, extent.width * (bytes ? 4 : 16), extent.width, rows);
    copy.dstArray = array;
    copy.extent = make_cudaExtent(extent.width, rows, planes);
    copy.kind = cudaMemcpyHostToDevice;
    CHECK(cudaMemcpy3D(&copy));
    return array;
}

static void save(void *device, size_t bytes)
{
    std::vector<char> data(bytes);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(data.data(), device, bytes, cudaMemcpyDeviceToHost));
    fwrite(data.data(), 1, bytes, file);
    printf(" at=%ld bytes=%zu\n", written, bytes);
    written += (long)bytes;
    CHECK(cudaFree(device));
}

static void *allocate(size_t bytes)
{
    void *device;
    CHECK(cudaMalloc(&device, bytes));
    CHECK(cudaMemset(device, 0, bytes));
    return device;
}

static void sample(enum kind kind, struct modes modes)
{
    cudaExtent extent = kind == KIND_1D          ? make_cudaExtent(20, 0, 0)
                        : kind == KIND_3D        ? make_cudaExtent(8, 6, 5)
                        : kind == KIND_LAYERS_1D ? make_cudaExtent(20, 0, 3)
                        : kind == KIND_LAYERS_2D ? make_cudaExtent(16, 12, 3)
                                                 : make_cudaExtent(16, 12, 0);
    cudaArray_t array = make_array(kind, extent, modes.bytes);
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    cudaTextureDesc description = {};
    for (int i = 0; i < 3; i++)
        description.addressMode[i] = modes.address;
    for (int i = 0; i < 4; i++)
        description.borderColor[i] = 0.25f * (i + 1);
    description.filterMode = modes.filter;
    description.readMode = modes.bytes && kind != KIND_INTEGERS ? cudaReadModeNormalizedFloat : cudaReadModeElementType;
    description.normalizedCoords = modes.normalised;
    cudaTextureObject_t texture;
    CHECK(cudaCreateTextureObject(&texture, &resource, &description, nullptr));
    float x = modes.normalised ? 1 : extent.width, y = modes.normalised ? 1 : extent.height, z = modes.normalised ? 1 : extent.depth;
    int n = kind == KIND_3D ? 12 : 24, layers = (int)extent.depth;
    int points = kind == KIND_1D ? n : kind == KIND_3D ? n * n * n : kind == KIND_LAYERS_1D ? n * layers : kind == KIND_LAYERS_2D ? n * n * layers : n * n;
    size_t bytes = (size_t)points * (kind == KIND_GATHER ? 32 : 16);
    int blocks = (points + 127) / 128;
    float4 *out = (float4 *)allocate(bytes);
    printf("%s type=%s address=%s filter=%s normalised=%d extent=%zu,%zu,%zu n=%d", kernels[kind], modes.bytes ? "u8" : "f32",
           addresses[modes.address], modes.filter == cudaFilterModeLinear ? "linear" : "point", modes.normalised, extent.width,
           extent.height, extent.depth, n);
    switch (kind) {
    case KIND_1D: sample_1d<<<blocks, 128>>>(texture, out, n, x); break;
    case KIND_2D: sample_2d<<<blocks, 128>>>(texture, out, n, x, y); break;
    case KIND_3D: sample_3d<<<blocks, 128>>>(texture, out, n, x, y, z); break;
    case KIND_LAYERS_1D: sample_layers_1d<<<blocks, 128>>>(texture, out, n, x, layers); break;
    case KIND_LAYERS_2D: sample_layers_2d<<<blocks, 128>>>(texture, out, n, x, y, layers); break;
    case KIND_GATHER: gather_2d<<<blocks, 128>>>(texture, out, n, x, y); break;
    case KIND_INTEGERS: integers_2d<<<blocks, 128>>>(texture, (uint4 *)out, n, x, y); break;
    }
    save(out, bytes);
    CHECK(cudaDestroyTextureObject(texture));
    CHECK(cudaFreeArray(array));
}

static cudaSurfaceObject_t make_surface(cudaChannelFormatDesc format, cudaExtent extent, unsigned flags, cudaArray_t *array)
{
    CHECK(cudaMalloc3DArray(array, &format, extent, cudaArraySurfaceLoadStore | flags));
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = *array;
    cudaSurfaceObject_t surface;
    CHECK(cudaCreateSurfaceObject(&surface, &resource));
    return surface;
}

static void surfaces()
{
    cudaArray_t array;
    void *out = allocate(32 * 8);
    printf("surface_1d type=u32 extent=24,0,0 block=32,1,1");
    surface_1d<<<1, 32>>>(make_surface(cudaCreateChannelDesc<unsigned>(), make_cudaExtent(24, 0, 0), 0, &array), (unsigned *)out, 24);
    save(out, 32 * 8);
    out = allocate(16 * 12 * 16);
    printf("surface_2d type=u32x2 extent=12,8,0 block=16,12,1");
    surface_2d<<<1, dim3(16, 12)>>>(make_surface(cudaCreateChannelDesc<uint2>(), make_cudaExtent(12, 8, 0), 0, &array), (uint2 *)out, 12, 8);
    save(out, 16 * 12 * 16);
    out = allocate(8 * 6 * 4 * 2);
    printf("surface_3d type=u16 extent=6,4,3 block=8,6,4");
    surface_3d<<<1, dim3(8, 6, 4)>>>(make_surface(cudaCreateChannelDesc<unsigned short>(), make_cudaExtent(6, 4, 3), 0, &array),
                                     (unsigned short *)out, 6, 4, 3);
    save(out, 8 * 6 * 4 * 2);
    out = allocate(8 * 4 * 3 * 16);
    printf("surface_layers type=u32x4 extent=8,4,3 block=8,4,1");
    surface_layers<<<1, dim3(8, 4)>>>(make_surface(cudaCreateChannelDesc<uint4>(), make_cudaExtent(8, 4, 3), cudaArrayLayered, &array),
                                      (uint4 *)out, 3);
    save(out, 8 * 4 * 3 * 16);
}

static void linear()
{
    std::vector<float> texels;
    for (int t = 0; t < 64; t++)
        for (int c = 0; c < 4; c++)
            texels.push_back((float)((t * 7919 + c * 31) % 1021) / 512 - 1);
    void *memory = allocate(64 * 16);
    CHECK(cudaMemcpy(memory, texels.data(), 64 * 16, cudaMemcpyHostToDevice));
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear.devPtr = memory;
    resource.res.linear.desc = cudaCreateChannelDesc<float4>();
    resource.res.linear.sizeInBytes = 64 * 16;
    cudaTextureDesc description = {};
    cudaTextureObject_t texture;
    CHECK(cudaCreateTextureObject(&texture, &resource, &description, nullptr));
    void *out = allocate(72 * 16);
    printf("linear_1d type=f32 extent=64,0,0 n=72");
    linear_1d<<<1, 128>>>(texture, (float4 *)out, 72);
    save(out, 72 * 16);
}

int main(int count, char **arguments)
{
    if (count != 2 || !(file = fopen(arguments[1], "wb"))) {
        fprintf(stderr, "usage: collect_textures FILE.bin >FILE.txt\n");
        return 2;
    }
    linear();
    for (int kind = KIND_1D; kind <= KIND_INTEGERS; kind++)
        for (int bytes = kind == KIND_INTEGERS; bytes < 2; bytes++)
            for (int address = 0; address < 4; address++)
                for (int filter = 0; filter < (kind >= KIND_GATHER ? 1 : 2); filter++)
                    /* Wrapping and mirroring need coordinates from 0 to 1. */
                    for (int normalised = address == cudaAddressModeWrap || address == cudaAddressModeMirror; normalised < 2; normalised++)
                        sample((enum kind)kind, {bytes != 0, (cudaTextureAddressMode)address, (cudaTextureFilterMode)filter, normalised != 0});
    surfaces();
    return fclose(file) ? 1 : 0;
}
