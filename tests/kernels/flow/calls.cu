/* nvcc: -arch=sm_75 */

/* Device functions that are not inlined: structs as arguments and results, pointers to the caller's
 * local arrays, narrow and wide arguments, calls in divergent code, and nested calls (depth2 calls
 * depth1, which calls depth0). */
struct point {
    double x;
    float y;
    short tag;
};

__device__ __noinline__ struct point point_mix(struct point a, struct point b, float weight)
{
    struct point mixed = {a.x * weight + b.x, a.y - b.y * weight, (short)(a.tag * 3 + b.tag)};
    return mixed;
}

extern "C" __global__ void call_struct(int n, const struct point *a, const struct point *b,
                                       struct point *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    struct point mixed = point_mix(a[i], b[i], 0.5f);
    if (i % 3 == 0) /* only some lanes of the warp call again */
        mixed = point_mix(mixed, a[i], -2.0f);
    out[i] = mixed;
}

__device__ __noinline__ int insert_sorted(int *list, int size, int value)
{
    int i = size;
    while (i > 0 && list[i - 1] > value) {
        list[i] = list[i - 1];
        i--;
    }
    list[i] = value;
    return i;
}

__device__ __noinline__ long long weigh(const int *list, int size, signed char sign,
                                        unsigned short scale)
{
    long long sum = 0;
    for (int i = 0; i < size; i++)
        sum += (long long)list[i] * (i + 1);
    return sum * sign * scale;
}

extern "C" __global__ void call_array(int n, const int *in, long long *out)
{
    int list[8];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    int moves = 0;
    for (int j = 0; j < 8; j++)
        moves += j - insert_sorted(list, j, in[8 * i + j]);
    out[i] = weigh(list, 8, (signed char)(i % 2 ? -1 : 1), (unsigned short)(60000 + i)) + moves;
}

__device__ __noinline__ unsigned depth0(unsigned x)
{
    return x * 2654435761u;
}

__device__ __noinline__ unsigned depth1(unsigned x)
{
    return x & 1 ? depth0(x >> 1) + 1 : depth0(x ^ 0x5bd1e995u);
}

__device__ __noinline__ unsigned depth2(unsigned x)
{
    unsigned sum = 0;
    for (unsigned i = 0; i < x % 4; i++)
        sum = sum * 5 + depth1(x + i);
    return sum ^ depth0(x);
}

extern "C" __global__ void call_depth(int n, const unsigned *in, unsigned *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = in[i] % 5 == 0 ? depth1(in[i]) : depth2(in[i]);
}
