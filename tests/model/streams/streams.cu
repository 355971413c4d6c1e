/* nvcc: -arch=sm_90 */
// Kernels that read, write or copy an array of n elements, one element per thread.
// read_4 and read_16 write only if they find a value that the arrays do not contain.
extern "C" __global__ void read_4(const float *x, float *y, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && x[i] == 12345.0f)
        y[i] = 1.0f;
}

extern "C" __global__ void write_4(const float *x, float *y, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = 1.0f;
}

extern "C" __global__ void copy_4(const float *x, float *y, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = x[i];
}

extern "C" __global__ void read_16(const float4 *x, float4 *y, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        const float4 value = x[i];
        if (value.x + value.y + value.z + value.w == 12345.0f)
            y[i] = value;
    }
}

extern "C" __global__ void write_16(const float4 *x, float4 *y, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = make_float4(1, 2, 3, 4);
}

extern "C" __global__ void copy_16(const float4 *x, float4 *y, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = x[i];
}
