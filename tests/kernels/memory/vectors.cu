/* nvcc: -arch=sm_75 */

/* Vector loads and stores of each width, and a struct that nvcc copies with vector accesses. */
struct __align__(16) pixel
{
    unsigned char red, green, blue, alpha;
    short depth[2];
    float weight;
    int id;
};

extern "C" __global__ void vectors(int n, const float4 *a, float4 *b, const ushort2 *c, uchar4 *d,
                                   const longlong2 *e, double2 *f)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float4 v = a[i];
    b[i] = make_float4(v.w, v.z + v.x, v.y * v.y, v.x);
    ushort2 w = c[i];
    d[i] = make_uchar4((unsigned char)w.x, (unsigned char)(w.x >> 8), (unsigned char)w.y,
                       (unsigned char)(w.y >> 8));
    longlong2 x = e[i];
    f[i] = make_double2((double)x.y, (double)x.x);
}

extern "C" __global__ void pixels(int n, const struct pixel *in, struct pixel *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    struct pixel p = in[n - 1 - i];
    unsigned char red = p.red;
    p.red = p.blue;
    p.blue = red;
    p.depth[0] = (short)(p.depth[1] - p.depth[0]);
    p.weight *= p.alpha;
    p.id += i;
    out[i] = p;
}
