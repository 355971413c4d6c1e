/* nvcc: -arch=sm_90 -G */

/* Parameters of many types, with debug information, which the tests of fth_arguments_describe
 * compare with the values of a launch. */
#include <cuda_fp16.h>

enum Mode { FIRST = 1, SECOND = 2 };

struct Range {
    short first;
    double limits[2];
};

struct Base {
    unsigned long long id;
};

struct Params : Base {
    float *x;
    int n;
    Range ranges[2];
    float weights[10];
    const unsigned *index;
    bool flag;
    Mode mode;
};

template <typename T>
__global__ void typed(Params p, T *y, const T scale, float4 v, __half h, unsigned char c)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < p.n && p.flag)
        y[i] += scale * p.x[p.index[i]] * p.weights[1] + (T)p.ranges[1].limits[0] + v.x +
                __half2float(h) + c;
}

template __global__ void typed<float>(Params, float *, const float, float4, __half, unsigned char);

/* The same without a C++ name. */
extern "C" __global__ void untyped(float *x, int n, double d)
{
    if ((int)threadIdx.x < n)
        x[threadIdx.x] = (float)d;
}
