/* nvcc: -arch=sm_75 */

/* Kernel parameters passed by value: a struct with padding and an array that each thread indexes,
 * small integers that shift the offsets of later parameters, and a struct with pointers. */
struct scale {
    signed char kind; /* the signedness of plain char depends on the host of nvcc */
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
