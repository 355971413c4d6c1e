/* nvcc: -arch=sm_90a */
/* Conversions of 8-bit floats, wide and vector atomics, memory allocation, printf, and other instructions that programs for Hopper
 * use now and then. */
#include <assert.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <stdint.h>
#include <stdio.h>

extern "C" __global__ void to_fp8(const float *x, unsigned char *e4m3, unsigned char *e5m2, unsigned short *pairs, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    e4m3[i] = __nv_cvt_float_to_fp8(x[i], __NV_SATFINITE, __NV_E4M3);
    e5m2[i] = __nv_cvt_float_to_fp8(x[i], __NV_SATFINITE, __NV_E5M2);
    pairs[i] = __nv_cvt_float2_to_fp8x2(make_float2(x[i], -2 * x[i]), __NV_SATFINITE, __NV_E5M2);
}

extern "C" __global__ void half_to_fp8(const unsigned short *x, unsigned char *e4m3, unsigned char *e5m2, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    e4m3[i] = __nv_cvt_halfraw_to_fp8(__half_raw{x[i]}, __NV_SATFINITE, __NV_E4M3);
    e5m2[i] = __nv_cvt_halfraw_to_fp8(__half_raw{x[i]}, __NV_SATFINITE, __NV_E5M2);
}

extern "C" __global__ void from_fp8(const unsigned char *x, unsigned short *e4m3, unsigned short *e5m2)
{
    int i = threadIdx.x;
    e4m3[i] = __half_raw(__nv_cvt_fp8_to_halfraw(x[i], __NV_E4M3)).x;
    e5m2[i] = __half_raw(__nv_cvt_fp8_to_halfraw(x[i], __NV_E5M2)).x;
}

/* Conversions with .relu and of pairs, written as PTX. */
extern "C" __global__ void narrow_pairs(const float *x, unsigned *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float a = x[i], b = -x[(i + 1) % n];
    unsigned short e4m3, e5m2;
    unsigned f16, bf16, tf32;
    asm volatile("cvt.rn.satfinite.relu.e4m3x2.f32 %0, %1, %2;" : "=h"(e4m3) : "f"(a), "f"(b));
    asm volatile("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(e5m2) : "f"(a), "f"(b));
    asm volatile("cvt.rn.relu.f16x2.f32 %0, %1, %2;" : "=r"(f16) : "f"(a), "f"(b));
    asm volatile("cvt.rz.bf16x2.f32 %0, %1, %2;" : "=r"(bf16) : "f"(a), "f"(b));
    asm volatile("cvt.rna.tf32.f32 %0, %1;" : "=r"(tf32) : "f"(a));
    out[i * 4] = (unsigned)e4m3 << 16 | e5m2;
    out[i * 4 + 1] = f16;
    out[i * 4 + 2] = bf16;
    out[i * 4 + 3] = tf32;
}

/* Each thread exchanges or swaps 16 bytes. One thread per address, so that the result does not depend on the order. */
extern "C" __global__ void atomics_128(uint4 *x, uint4 *old)
{
    int i = threadIdx.x;
    uint64_t low, high, new_low = i * 3, new_high = i * 5 + 1;
    if (i % 2) {
        asm volatile("{\n.reg .b128 d, b;\nmov.b128 b, {%2, %3};\natom.global.exch.b128 d, [%4], b;\nmov.b128 {%0, %1}, d;\n}"
                     : "=l"(low), "=l"(high)
                     : "l"(new_low), "l"(new_high), "l"(&x[i])
                     : "memory");
    } else {
        uint64_t seen_low = ((uint64_t *)&x[i])[0] + (i % 4 == 2), seen_high = ((uint64_t *)&x[i])[1];
        asm volatile("{\n.reg .b128 d, b, c;\nmov.b128 b, {%2, %3};\nmov.b128 c, {%4, %5};\natom.global.cas.b128 d, [%6], b, c;\n"
                     "mov.b128 {%0, %1}, d;\n}"
                     : "=l"(low), "=l"(high)
                     : "l"(seen_low), "l"(seen_high), "l"(new_low), "l"(new_high), "l"(&x[i])
                     : "memory");
    }
    ((uint64_t *)&old[i])[0] = low;
    ((uint64_t *)&old[i])[1] = high;
}

/* Loads and stores of 128-bit registers. */
extern "C" __global__ void moves_128(const uint4 *x, uint4 *out)
{
    asm volatile("{\n.reg .b128 v;\n.reg .b64 l, h;\nld.global.b128 v, [%0];\nmov.b128 {l, h}, v;\nxor.b64 l, l, h;\nmov.b128 v, {h, l};\n"
                 "st.global.b128 [%1], v;\n}" ::"l"(x + threadIdx.x),
                 "l"(out + threadIdx.x)
                 : "memory");
}

extern "C" __global__ void vector_atomics(float4 *x, float2 *y, half2 *z, __nv_bfloat162 *w, float4 *old)
{
    int i = threadIdx.x;
    float a = i * 0.25f, b = 1.5f - i;
    float4 before;
    asm volatile("atom.global.v4.f32.add {%0, %1, %2, %3}, [%4], {%5, %6, %5, %6};"
                 : "=f"(before.x), "=f"(before.y), "=f"(before.z), "=f"(before.w)
                 : "l"(x + i), "f"(a), "f"(b)
                 : "memory");
    old[i] = before;
    asm volatile("red.global.v2.f32.add [%0], {%1, %2};" ::"l"(y + i), "f"(b), "f"(a) : "memory");
    atomicAdd(z + i % 8, __floats2half2_rn(i, 0.5f * i));
    unsigned pair = 0x3f803f80u + i * 0x00010002u;
    asm volatile("red.global.add.noftz.bf16x2 [%0], %1;" ::"l"(w + i), "r"(pair) : "memory");
    asm volatile("red.global.v4.bf16x2.max.noftz [%0], {%1, %1, %1, %1};" ::"l"(w + 32 + i * 4), "r"(pair) : "memory");
    asm volatile("red.global.v8.f16.min.noftz [%0], {%1, %1, %1, %1, %2, %2, %2, %2};" ::"l"(z + 8 + i * 4), "h"((short)(0x3c00 + i)),
                 "h"((short)(0xbc00 + i))
                 : "memory");
}

/* Allocates and frees memory in the kernel: each thread builds a list and sums it. */
struct node {
    node *next;
    int value;
};

extern "C" __global__ void lists(int *out, int length)
{
    node *first = nullptr;
    for (int i = 0; i < length; i++) {
        node *made = (node *)malloc(sizeof *made);
        if (!made) {
            out[threadIdx.x] = -1;
            return;
        }
        made->next = first;
        made->value = threadIdx.x * 100 + i;
        first = made;
    }
    int sum = 0;
    while (first) {
        node *next = first->next;
        sum = sum * 3 + first->value;
        free(first);
        first = next;
    }
    out[threadIdx.x] = sum;
}

/* Prints from one thread per block; the blocks run one at a time with respect to the text, so use one block. */
extern "C" __global__ void prints(int *out)
{
    if (threadIdx.x == 0) {
        int written = printf("block %d of %u: %5.2f|%-6s|%+d|%08x|%c|%lld|%e%%\n", blockIdx.x, gridDim.x, 3.14159, "text", 42, 0xbeefu, 'x',
                             -5000000000ll, 12345.678);
        out[0] = written;
        out[1] = printf("no arguments\n");
    }
    assert(out != nullptr);
}

/* Launch order, sleeping and other instructions that do not change values. */
extern "C" __global__ void quiet(const int *x, int *out, int *unused)
{
    asm volatile("griddepcontrol.wait;" ::: "memory");
    __nanosleep(20);
    int value = x[threadIdx.x];
    asm volatile("griddepcontrol.launch_dependents;");
    asm volatile("fence.acq_rel.gpu;\nfence.sc.sys;\nfence.proxy.alias;\nfence.proxy.async.global;" ::: "memory");
    asm volatile("prefetch.global.L2 [%0];" ::"l"(x));
    asm volatile("discard.global.L2 [%0], 128;" ::"l"(unused) : "memory");
    asm volatile("applypriority.global.L2::evict_normal [%0], 128;" ::"l"(x));
    unsigned lowest;
    asm volatile("redux.sync.min.u32 %0, %1, 0xffffffff;" : "=r"(lowest) : "r"(value));
    out[threadIdx.x] = value * 2 + lowest;
}
