/* nvcc: -arch=sm_75 */

/* Three-dimensional blocks and grids, and the special registers for their indices. */
extern "C" __global__ void grid3d(uint3 size, unsigned *out)
{
    unsigned x = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned y = blockIdx.y * blockDim.y + threadIdx.y;
    unsigned z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x >= size.x || y >= size.y || z >= size.z)
        return;
    unsigned lane, lower;
    asm("mov.u32 %0, %%laneid;" : "=r"(lane));
    asm("mov.u32 %0, %%lanemask_lt;" : "=r"(lower));
    unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    out[(z * size.y + y) * size.x + x] =
        block << 16 | thread << 8 | (lane == thread % 32) << 1 | (lower == (1u << lane) - 1);
}

/* The clock advances while instructions execute. */
extern "C" __global__ void clocks(int rounds, unsigned *out, long long *gone)
{
    long long start = clock64();
    unsigned value = threadIdx.x;
    for (int i = 0; i < rounds; i++)
        value = value * 1664525u + 1013904223u;
    out[threadIdx.x] = value;
    __nanosleep(20);
    gone[threadIdx.x] = clock64() - start;
}
