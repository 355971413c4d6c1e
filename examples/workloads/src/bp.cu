/* nvcc: -arch=compute_75 -lineinfo */

/* One training step of a neural network (back-propagation), between n inputs and 16 hidden units.
 * forward: each block sums the contributions of 16 inputs to each unit in shared memory.
 * adjust: updates the weights from the errors, with momentum. */
enum { UNITS = 16 };

extern "C" __global__ void forward(const float *input, const float *weights, float *partial)
{
    __shared__ float inputs[UNITS];
    __shared__ float products[UNITS][UNITS];
    int unit = threadIdx.x, mine = threadIdx.y;
    int index = blockIdx.x * UNITS + mine;
    if (unit == 0)
        inputs[mine] = input[index];
    products[mine][unit] = weights[index * UNITS + unit];
    __syncthreads();
    products[mine][unit] *= inputs[mine];
    __syncthreads();
    for (int half = UNITS / 2; half > 0; half /= 2) {
        if (mine < half)
            products[mine][unit] += products[mine + half][unit];
        __syncthreads();
    }
    if (mine == 0)
        partial[blockIdx.x * UNITS + unit] = products[0][unit];
}

extern "C" __global__ void adjust(const float *input, const float *delta, float *weights,
                                  float *before, float rate, float momentum)
{
    int unit = threadIdx.x, index = blockIdx.x * UNITS + threadIdx.y;
    int here = index * UNITS + unit;
    float change = rate * delta[unit] * input[index] + momentum * before[here];
    weights[here] += change;
    before[here] = change;
}
