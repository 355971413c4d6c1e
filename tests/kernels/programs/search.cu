/* nvcc: -arch=sm_75 */

/* All occurrences of a word in a text, one position per thread; and a binary search. */
extern "C" __global__ void string_search(int size, const char *text, const char *word,
                                         unsigned char *found, int *first)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= size)
        return;
    int j = 0;
    while (word[j] && i + j < size && (text[i + j] == word[j] || word[j] == '?'))
        j++;
    found[i] = word[j] == 0;
    if (word[j] == 0)
        atomicMin(first, i);
}

extern "C" __global__ void lower_bound(int n, int size, const short *sorted, const short *keys,
                                       int *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    int low = 0, high = size;
    while (low < high) {
        int middle = (low + high) / 2;
        if (sorted[middle] < keys[i])
            low = middle + 1;
        else
            high = middle;
    }
    out[i] = low;
}
