/* nvcc: -arch=sm_75 */

/* Loads through the read-only path, and loads and stores with each cache hint of CUDA C. */
extern "C" __global__ void read_only(int n, const float *__restrict__ a,
                                     const short *__restrict__ b, const int4 *c,
                                     float *__restrict__ out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    int4 wide = __ldg(&c[i]);
    out[i] = a[i] * b[n - 1 - i] + (float)(wide.x + wide.y - wide.z + __ldg(&c[i].w));
}

extern "C" __global__ void cache_hints(int n, const int *a, const double *b, int *c, double *d)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    int sum = __ldca(&a[i]) + __ldcg(&a[n + i]) + __ldcs(&a[2 * n + i]) + __ldlu(&a[3 * n + i]) +
              __ldcv(&a[4 * n + i]);
    __stwb(&c[i], sum);
    __stcg(&c[n + i], sum + 1);
    __stcs(&c[2 * n + i], sum + 2);
    __stwt(&c[3 * n + i], sum + 3);
    asm volatile("prefetch.global.L2 [%0];" ::"l"(&b[i]));
    double once;
    asm("ld.global.nc.L1::no_allocate.f64 %0, [%1];" : "=d"(once) : "l"(&b[n + i]));
    __stcs(&d[i], __ldcs(&b[i]) + __ldcg(&b[i]) + once);
}
