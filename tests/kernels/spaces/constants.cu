/* nvcc: -arch=sm_75 */

/* Constant memory, read by all lanes at the same address and at different addresses. Variables with
 * initial values: numbers of several types, a string, and pointers to other variables, some of them
 * into the middle of an array. */
struct entry {
    char letter;
    float weight;
    const int *row;
};

__constant__ float coefficients[5] = {1.5f, -0.25f, 3.0f, 1e-3f, -7.0f};
__constant__ unsigned char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
__constant__ int offset; /* written by the host */
__device__ int primes[12] = {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37};
__device__ int *half_way = primes + 6;
__device__ struct entry entries[3] = {
    {'x', 0.5f, primes}, {'y', -2.0f, primes + 3}, {'z', 8.0f, 0}};
__device__ double total = 1.25;
__device__ unsigned visits;

extern "C" __global__ void constants(int n, const float *in, float *out, int *words)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float sum = 0;
    for (int j = 0; j < 5; j++)
        sum = sum * in[i] + coefficients[j];
    struct entry entry = entries[i % 3];
    out[i] = sum * entry.weight + coefficients[i % 5] + (float)total;
    words[i] = alphabet[i % 26] * 1000 + half_way[i % 6] + (entry.row ? entry.row[i % 9] : offset) +
               entry.letter;
    atomicAdd(&visits, 1u);
    primes[i % 12] += 0; /* so that nvcc does not treat primes as constant */
}
