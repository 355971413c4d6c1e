/* nvcc: -arch=sm_75 */

/* 128-bit integers: sums and products that carry from word to word. */
extern "C" __global__ void int128(int n, const unsigned long long *a, const unsigned long long *b,
                                  unsigned long long *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    unsigned __int128 x = (unsigned __int128)a[2 * i + 1] << 64 | a[2 * i];
    unsigned __int128 y = (unsigned __int128)b[2 * i + 1] << 64 | b[2 * i];
    unsigned __int128 results[5] = {x + y, x - y, x * y, x >> (unsigned)(y & 127),
                                    x << 37 | y >> 91};
    for (int j = 0; j < 5; j++) {
        out[12 * i + 2 * j] = (unsigned long long)results[j];
        out[12 * i + 2 * j + 1] = (unsigned long long)(results[j] >> 64);
    }
    out[12 * i + 10] = x < y;
    out[12 * i + 11] = (__int128)x < (__int128)y;
}

/* Hand-written carry chains, as in multiple-precision libraries: 128-bit sum and difference, and a
 * 64 x 64-bit product, computed with 32-bit words. */
extern "C" __global__ void carry(int n, const uint4 *a, const uint4 *b, uint4 *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    uint4 x = a[i], y = b[i], sum, difference, product;
    asm("add.cc.u32 %0, %4, %8;\n\taddc.cc.u32 %1, %5, %9;\n\t"
        "addc.cc.u32 %2, %6, %10;\n\taddc.u32 %3, %7, %11;"
        : "=r"(sum.x), "=r"(sum.y), "=r"(sum.z), "=r"(sum.w)
        : "r"(x.x), "r"(x.y), "r"(x.z), "r"(x.w), "r"(y.x), "r"(y.y), "r"(y.z), "r"(y.w));
    asm("sub.cc.u32 %0, %4, %8;\n\tsubc.cc.u32 %1, %5, %9;\n\t"
        "subc.cc.u32 %2, %6, %10;\n\tsubc.u32 %3, %7, %11;"
        : "=r"(difference.x), "=r"(difference.y), "=r"(difference.z), "=r"(difference.w)
        : "r"(x.x), "r"(x.y), "r"(x.z), "r"(x.w), "r"(y.x), "r"(y.y), "r"(y.z), "r"(y.w));
    asm("mul.lo.u32 %0, %4, %6;\n\tmul.hi.u32 %1, %4, %6;\n\t"
        "mad.lo.cc.u32 %1, %4, %7, %1;\n\tmadc.hi.u32 %2, %4, %7, 0;\n\t"
        "mad.lo.cc.u32 %1, %5, %6, %1;\n\tmadc.hi.cc.u32 %2, %5, %6, %2;\n\t"
        "addc.u32 %3, 0, 0;\n\t"
        "mad.lo.cc.u32 %2, %5, %7, %2;\n\tmadc.hi.u32 %3, %5, %7, %3;"
        : "=&r"(product.x), "=&r"(product.y), "=&r"(product.z), "=&r"(product.w)
        : "r"(x.x), "r"(x.y), "r"(y.x), "r"(y.y));
    out[3 * i] = sum;
    out[3 * i + 1] = difference;
    out[3 * i + 2] = product;
}
