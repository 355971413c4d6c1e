/* Multiplies an array by a factor. */
extern "C" __global__ void scale(float *values, float factor, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        values[i] *= factor;
}
