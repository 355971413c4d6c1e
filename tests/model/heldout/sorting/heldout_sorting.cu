/* nvcc: -arch=sm_90 */
/* Sorting, merging and searching. */

/* One step of a bitonic sort in global memory. */
extern "C" __global__ void bitonic_step(unsigned *x, int distance, int size)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, low = i / distance * distance * 2 + i % distance;
    unsigned a = x[low], b = x[low + distance];
    bool up = (low & size) == 0;
    x[low] = up ? min(a, b) : max(a, b);
    x[low + distance] = up ? max(a, b) : min(a, b);
}

/* All steps of a bitonic sort of 1,024 elements in shared memory. */
extern "C" __global__ void bitonic_blocks(unsigned *x)
{
    __shared__ unsigned s[1024];
    for (int i = threadIdx.x; i < 1024; i += 512)
        s[i] = x[blockIdx.x * 1024 + i];
    for (int size = 2; size <= 1024; size *= 2)
        for (int distance = size / 2; distance > 0; distance /= 2) {
            __syncthreads();
            int low = threadIdx.x / distance * distance * 2 + threadIdx.x % distance;
            unsigned a = s[low], b = s[low + distance];
            bool up = (low & size) == 0;
            s[low] = up ? min(a, b) : max(a, b);
            s[low + distance] = up ? max(a, b) : min(a, b);
        }
    __syncthreads();
    for (int i = threadIdx.x; i < 1024; i += 512)
        x[blockIdx.x * 1024 + i] = s[i];
}

/* Counts the digits of each block, for a radix sort. */
extern "C" __global__ void radix_count(unsigned *counts, const unsigned *__restrict__ x, int shift)
{
    __shared__ unsigned count[256];
    count[threadIdx.x] = 0;
    __syncthreads();
    for (int i = 0; i < 8; i++)
        atomicAdd(&count[x[blockIdx.x * 2048 + i * 256 + threadIdx.x] >> shift & 255], 1);
    __syncthreads();
    counts[threadIdx.x * gridDim.x + blockIdx.x] = count[threadIdx.x];
}

/* Scatters keys to buckets by a digit. A block reserves space in each bucket with one atomic. */
extern "C" __global__ void radix_scatter(unsigned *out, unsigned *used,
                                         const unsigned *__restrict__ x, int shift, int capacity)
{
    __shared__ unsigned count[256], start[256];
    count[threadIdx.x] = 0;
    __syncthreads();
    unsigned key[8], place[8];
    for (int i = 0; i < 8; i++) {
        key[i] = x[blockIdx.x * 2048 + i * 256 + threadIdx.x];
        place[i] = atomicAdd(&count[key[i] >> shift & 255], 1);
    }
    __syncthreads();
    start[threadIdx.x] = atomicAdd(used + threadIdx.x, count[threadIdx.x]);
    __syncthreads();
    for (int i = 0; i < 8; i++) {
        unsigned digit = key[i] >> shift & 255;
        out[digit * capacity + start[digit] + place[i]] = key[i];
    }
}

/* Merges two sorted arrays: a thread searches its diagonal and merges eight elements. */
extern "C" __global__ void merge_path(int *out, const int *__restrict__ a,
                                      const int *__restrict__ b, int na, int nb)
{
    int diagonal = (blockIdx.x * blockDim.x + threadIdx.x) * 8;
    if (diagonal >= na + nb)
        return;
    int low = max(0, diagonal - nb), high = min(diagonal, na);
    while (low < high) {
        int middle = (low + high) / 2;
        if (a[middle] <= b[diagonal - 1 - middle])
            low = middle + 1;
        else
            high = middle;
    }
    int i = low, j = diagonal - low;
    for (int k = 0; k < 8 && diagonal + k < na + nb; k++) {
        bool first = j >= nb || (i < na && a[i] <= b[j]);
        out[diagonal + k] = first ? a[i++] : b[j++];
    }
}

extern "C" __global__ void binary_search(int *out, const int *__restrict__ sorted,
                                         const int *__restrict__ keys, int n, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    int key = keys[i], low = 0, high = n;
    while (low < high) {
        int middle = (low + high) / 2;
        if (sorted[middle] < key)
            low = middle + 1;
        else
            high = middle;
    }
    out[i] = low;
}

/* Counts where a word of five bytes begins. Letters are few, so that many places agree in the first
 * letters. */
extern "C" __global__ void match_word(unsigned *found, const unsigned char *__restrict__ text,
                                      int n)
{
    const char word[] = {2, 1, 0, 3, 1};
    unsigned count = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n - 5; i += gridDim.x * blockDim.x) {
        int k = 0;
        while (k < 5 && text[i + k] == word[k])
            k++;
        count += k == 5;
    }
    if (count)
        atomicAdd(found, count);
}

/* Keeps the elements below a limit; a warp reserves space with one atomic. */
extern "C" __global__ void compact(unsigned *out, unsigned *used, const unsigned *__restrict__ x,
                                   int n, unsigned limit)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
    unsigned v = i < n ? x[i] : ~0u, chosen = __ballot_sync(~0u, v < limit), start = 0;
    if (lane == 0)
        start = atomicAdd(used, __popc(chosen));
    start = __shfl_sync(~0u, start, 0);
    if (v < limit)
        out[start + __popc(chosen & ((1u << lane) - 1))] = v;
}
