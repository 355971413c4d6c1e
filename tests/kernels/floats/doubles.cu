/* nvcc: -arch=sm_75 */

/* Double precision: a compensated (Kahan) sum, the accelerations of n bodies, and the intrinsics
 * with an explicit rounding mode, including division and square root. */
extern "C" __global__ void kahan(int width, const double *in, double *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    double sum = 0, lost = 0;
    for (int j = 0; j < width; j++) {
        double term = in[i * width + j] - lost;
        double next = sum + term;
        lost = (next - sum) - term;
        sum = next;
    }
    out[i] = sum;
}

extern "C" __global__ void n_body(int n, double softening, const double4_16a *bodies, double *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    double4_16a me = bodies[i];
    double ax = 0, ay = 0, az = 0;
    for (int j = 0; j < n; j++) {
        double dx = bodies[j].x - me.x, dy = bodies[j].y - me.y, dz = bodies[j].z - me.z;
        double square = dx * dx + dy * dy + dz * dz + softening;
        double force = bodies[j].w / (square * sqrt(square));
        ax += force * dx;
        ay += force * dy;
        az += force * dz;
    }
    out[3 * i] = ax;
    out[3 * i + 1] = ay;
    out[3 * i + 2] = az;
}

extern "C" __global__ void double_rounding(int n, const double *a, const double *b, double *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    double x = a[i], y = b[i], *o = out + 20 * i;
    o[0] = __dadd_rn(x, y);
    o[1] = __dadd_rz(x, y);
    o[2] = __dadd_ru(x, y);
    o[3] = __dadd_rd(x, y);
    o[4] = __dmul_rn(x, y);
    o[5] = __dmul_rz(x, y);
    o[6] = __dmul_ru(x, y);
    o[7] = __dmul_rd(x, y);
    o[8] = __fma_rn(x, y, -x);
    o[9] = __fma_rz(x, y, -x);
    o[10] = __fma_ru(x, y, -x);
    o[11] = __fma_rd(x, y, -x);
    o[12] = __ddiv_rn(x, y);
    o[13] = __ddiv_rz(x, y);
    o[14] = __ddiv_ru(x, y);
    o[15] = __ddiv_rd(x, y);
    o[16] = __dsqrt_rn(fabs(x));
    o[17] = __dsqrt_rz(fabs(x));
    o[18] = __dsqrt_ru(fabs(x));
    o[19] = __dsqrt_rd(fabs(x));
}

extern "C" __global__ void double_pieces(int n, const double *in, double *out, long long *whole)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    double x = in[i];
    out[7 * i] = floor(x);
    out[7 * i + 1] = ceil(x);
    out[7 * i + 2] = trunc(x);
    out[7 * i + 3] = rint(x);
    out[7 * i + 4] = fmin(x, 2.5);
    out[7 * i + 5] = fmax(fabs(x), 3.0);
    out[7 * i + 6] = copysign(1.0 / x, -x);
    whole[4 * i] = (long long)x;
    whole[4 * i + 1] = __double2ll_rn(x);
    whole[4 * i + 2] = __double2int_ru(x);
    whole[4 * i + 3] = __double_as_longlong((double)(float)x);
}
