/* Compiles a template with NVRTC, for the programs of this folder. */
#ifndef FTH_PROGRAMS_NVRTC_COMPILE_H
#define FTH_PROGRAMS_NVRTC_COMPILE_H

#include <cstdio>
#include <cstdlib>
#include <nvrtc.h>
#include <string>

#define CHECK_NVRTC(call)                                                                          \
    do {                                                                                           \
        nvrtcResult result_ = (call);                                                              \
        if (result_ != NVRTC_SUCCESS) {                                                            \
            printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #call, nvrtcGetErrorString(result_));    \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

/* data[i] = factor * i + offset, and a variable that counts the blocks. */
static const char source[] = R"(
namespace made {
__device__ unsigned blocks;
__constant__ float offset;
template <typename T, int FACTOR> __global__ void fill(T *data, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0)
        atomicAdd(&blocks, 1u);
    if (i < count)
        data[i] = (T)(FACTOR * i + offset);
}
}
)";

struct compiled {
    std::string code;           /* PTX or a cubin */
    std::string floats, longs;  /* the names of two instances of the template */
    std::string blocks, offset; /* the names of the variables */
};

/* Compiles the source for an architecture: compute_XY gives PTX, sm_XY a cubin. */
static struct compiled compile(const char *architecture, bool is_cubin)
{
    static const char *const names[] = {"made::fill<float, 3>", "made::fill<long long, -2>",
                                        "&made::blocks", "&made::offset"};
    std::string *lowered[4];
    struct compiled result;
    nvrtcProgram program;
    const std::string option = std::string("--gpu-architecture=") + architecture;
    const char *options[] = {option.c_str(), "-lineinfo"};
    size_t size = 0;
    lowered[0] = &result.floats;
    lowered[1] = &result.longs;
    lowered[2] = &result.blocks;
    lowered[3] = &result.offset;
    CHECK_NVRTC(nvrtcCreateProgram(&program, source, "made.cu", 0, NULL, NULL));
    for (int i = 0; i < 4; i++)
        CHECK_NVRTC(nvrtcAddNameExpression(program, names[i]));
    if (nvrtcCompileProgram(program, 2, options) != NVRTC_SUCCESS) {
        CHECK_NVRTC(nvrtcGetProgramLogSize(program, &size));
        std::string log(size, '\0');
        CHECK_NVRTC(nvrtcGetProgramLog(program, &log[0]));
        printf("%s\n", log.c_str());
        exit(1);
    }
    for (int i = 0; i < 4; i++) {
        const char *name;
        CHECK_NVRTC(nvrtcGetLoweredName(program, names[i], &name));
        *lowered[i] = name;
    }
    CHECK_NVRTC(is_cubin ? nvrtcGetCUBINSize(program, &size) : nvrtcGetPTXSize(program, &size));
    result.code.resize(size);
    CHECK_NVRTC(is_cubin ? nvrtcGetCUBIN(program, &result.code[0])
                         : nvrtcGetPTX(program, &result.code[0]));
    CHECK_NVRTC(nvrtcDestroyProgram(&program));
    return result;
}

#endif
