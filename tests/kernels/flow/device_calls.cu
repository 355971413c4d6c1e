/* nvcc: -arch=sm_75 */
#include <cassert>
#include <cstdio>

/* Functions of the CUDA runtime: each thread builds a list in memory from malloc, and prints. */
struct node {
    int value;
    node *next;
};

extern "C" __global__ void linked_lists(int n, int *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, sum = 0;
    if (i >= n)
        return;
    node *list = nullptr;
    for (int k = 0; k <= i; k++) {
        node *added = new node;
        assert(added);
        added->value = k * k;
        added->next = list;
        list = added;
    }
    while (list) {
        node *next = list->next;
        sum += list->value;
        delete list;
        list = next;
    }
    out[i] = sum;
}

extern "C" __global__ void prints(int n, const float *values)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        printf("%d of block %u: %.3f %s %5lld%c", i, blockIdx.x, values[i], i % 2 ? "odd" : "even",
               1000000000000ll * i, '\n');
}

extern "C" __global__ void asserts(int n, const int *values)
{
    assert(values[threadIdx.x] < n);
}
