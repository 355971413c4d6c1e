/* nvcc: -arch=sm_90a */
/* The video instructions, on selected bytes and halfwords of registers and on vectors of them. */
#define VIDEO(index, instruction)                                                                                                  \
    asm volatile(instruction " %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));                                               \
    out[t * 24 + index] = d;

/* The scalar and SIMD video instructions. */
extern "C" __global__ void video(const unsigned *x, const unsigned *y, const unsigned *z, unsigned *out)
{
    int t = threadIdx.x;
    unsigned a = x[t], b = y[t], c = z[t], d;
    VIDEO(0, "vadd.s32.s32.u32.sat.add")
    asm volatile("vadd.u32.u32.s32 %0, %1.b1, %2.h1;" : "=r"(d) : "r"(a), "r"(b));
    out[t * 24 + 1] = d;
    asm volatile("vsub.s32.s32.s32.sat %0, %1.h0, %2;" : "=r"(d) : "r"(a), "r"(b));
    out[t * 24 + 2] = d;
    asm volatile("vabsdiff.u32.s32.s32.max %0, %1, %2.b3, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
    out[t * 24 + 3] = d;
    asm volatile("vmin.s32.s32.u32 %0.b2, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
    out[t * 24 + 4] = d;
    asm volatile("vmax.u32.u32.u32.min %0, %1.b0, %2.b2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
    out[t * 24 + 5] = d;
    asm volatile("vshl.u32.u32.u32.clamp.add %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
    out[t * 24 + 6] = d;
    asm volatile("vshr.s32.s32.u32.wrap %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
    out[t * 24 + 7] = d;
    asm volatile("vmad.u32.u32.u32.shr7 %0, %1.h1, %2.h0, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
    out[t * 24 + 8] = d;
    asm volatile("vmad.s32.s32.u32.sat %0, %1, %2.b3, -%3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
    out[t * 24 + 9] = d;
    asm volatile("vset.u32.u32.lt %0, %1.b1, %2.b2;" : "=r"(d) : "r"(a), "r"(b));
    out[t * 24 + 10] = d;
    asm volatile("vset.s32.s32.ge.add %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
    out[t * 24 + 11] = d;
    VIDEO(12, "vadd2.s32.s32.s32.sat")
    VIDEO(13, "vsub2.u32.u32.u32")
    VIDEO(14, "vavrg2.u32.u32.u32")
    VIDEO(15, "vabsdiff2.s32.s32.s32.add")
    VIDEO(16, "vmin2.s32.s32.s32")
    VIDEO(17, "vmax2.u32.u32.u32.add")
    VIDEO(18, "vset2.u32.u32.le")
    VIDEO(19, "vadd4.u32.u32.u32.sat")
    VIDEO(20, "vsub4.s32.s32.s32.add")
    VIDEO(21, "vavrg4.s32.s32.s32")
    VIDEO(22, "vabsdiff4.u32.u32.u32.add")
    VIDEO(23, "vmax4.s32.s32.s32")
}
