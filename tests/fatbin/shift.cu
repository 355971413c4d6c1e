/* Adds a number to an array. */
extern "C" __global__ void shift(float *values, float offset, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        values[i] += offset;
}
