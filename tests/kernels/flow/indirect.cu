/* nvcc: -arch=sm_75 */

/* Indirect calls: each lane selects a device function from a table of pointers. */
__device__ __noinline__ int twice(int a, int b)
{
    return 2 * a + b;
}

__device__ __noinline__ int apart(int a, int b)
{
    return a > b ? a - b : b - a;
}

__device__ __noinline__ int mixed(int a, int b)
{
    return (a ^ b) * 17;
}

typedef int operation(int, int);
__device__ operation *const operations[3] = {twice, apart, mixed};

extern "C" __global__ void indirect(int n, const unsigned char *which, const int *a, const int *b,
                                    int *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = operations[which[i]](a[i], b[i]);
}
