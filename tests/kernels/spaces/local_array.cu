/* nvcc: -arch=sm_75 */

/* Arrays in local memory, because their indices are not known at compile time. */
extern "C" __global__ void local_array(int n, const unsigned char *in, unsigned *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    unsigned char order[16];
    unsigned counts[4] = {0, 0, 0, 0};
    for (int j = 0; j < 16; j++)
        order[j] = (unsigned char)j;
    for (int j = 15; j > 0; j--) {
        int k = in[16 * i + j] % (j + 1);
        unsigned char swap = order[j];
        order[j] = order[k];
        order[k] = swap;
        counts[k % 4] += (unsigned)k;
    }
    unsigned hash = 2166136261u;
    for (int j = 0; j < 16; j++)
        hash = (hash ^ order[order[j]]) * 16777619u;
    out[i] = hash ^ counts[hash % 4];
}
