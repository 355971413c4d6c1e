/* nvcc: -arch=sm_75 */

/* Kernel parameters by value: a struct with padding and an array, indexed by the thread, between
 * small integers that shift what follows; and a struct that holds the pointers. */
struct scale {
    signed char kind; /* what a plain one is depends on the machine that nvcc runs on */
    double factor[3];
    short shift;
    unsigned long long bias;
};

struct view {
    const int *in;
    long long *out;
    unsigned count;
};

extern "C" __global__ void struct_param(unsigned char first, struct scale scale, short second,
                                        struct view view, bool negate)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= view.count)
        return;
    double value = view.in[i] * scale.factor[(i + first) % 3];
    long long whole = (long long)value * (1 << scale.shift) + (long long)scale.bias + scale.kind;
    view.out[i] = (negate ? -whole : whole) + second;
}
