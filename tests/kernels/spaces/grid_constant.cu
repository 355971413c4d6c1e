/* nvcc: -arch=sm_75 */

/* A __grid_constant__ parameter whose address is taken: it stays in parameter memory and is read
 * through a pointer. */
struct table {
    int size;
    int values[20];
};

__device__ __noinline__ int look_up(const struct table *table, int key)
{
    for (int i = 0; i < table->size; i++)
        if (table->values[i] == key)
            return i;
    return -1;
}

extern "C" __global__ void grid_constant(const __grid_constant__ struct table table, int n,
                                         const int *keys, int *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = look_up(&table, keys[i]) + table.values[i % 20];
}
