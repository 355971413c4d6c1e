/* nvcc: -arch=sm_75 */

/* Single integer instructions: products, bits, bit fields, bytes, shifts across words. */
extern "C" __global__ void bits(int n, const unsigned *a, const unsigned *b, unsigned *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    unsigned x = a[i], y = b[i], *o = out + 22 * i;
    o[0] = __popc(x);
    o[1] = __clz(x);
    o[2] = __brev(x);
    o[3] = __ffs(x);
    o[4] = __umulhi(x, y);
    o[5] = __mulhi((int)x, (int)y);
    o[6] = __umul24(x, y);
    o[7] = __mul24((int)x, (int)y);
    o[8] = __byte_perm(x, y, 0x3715);
    o[9] = __byte_perm(x, y, y & 0x7777);
    o[10] = __funnelshift_l(x, y, y);
    o[11] = __funnelshift_r(x, y, x);
    o[12] = __funnelshift_lc(x, y, y & 63);
    o[13] = __funnelshift_rc(x, y, x & 63);
    o[14] = __dp4a((int)x, (int)y, (int)(x ^ y));
    o[15] = __dp4a(x, y, x);
    o[16] = x >> 7 & 0x1fff; /* a bit field */
    o[17] = (x & ~0xff00u) | (y & 0xffu) << 8;
    o[18] = __usad(x, y, 5);
    o[19] = __uhadd(x, y) + (unsigned)__rhadd((int)x, (int)y);
    o[20] = (unsigned)(((int)(x << 9)) >> 21);
    o[21] = x & ~y | ~x & (y ^ 0xaaaaaaaau);
}

extern "C" __global__ void wide(int n, const unsigned long long *a, const unsigned long long *b,
                                unsigned long long *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    unsigned long long x = a[i], y = b[i], *o = out + 14 * i;
    o[0] = x * y;
    o[1] = __umul64hi(x, y);
    o[2] = __mul64hi((long long)x, (long long)y);
    o[3] = __popcll(x);
    o[4] = __clzll(x);
    o[5] = __brevll(x);
    o[6] = __ffsll(x);
    o[7] = x << (y & 63) | y >> (x & 63);
    o[8] = (unsigned long long)((long long)x >> (y & 63));
    o[9] = (unsigned long long)(unsigned)x * (unsigned)y + x;
    o[10] = (unsigned long long)((long long)(int)x * (int)y);
    o[11] = x > y ? x - y : y - x;
    o[12] = (unsigned long long)min((long long)x, (long long)y);
    o[13] = x % 1000003 + y / 12345678901ull;
}

/* Bit fields whose position and length are known only at run time, as inline assembly. */
extern "C" __global__ void fields(int n, const unsigned *a, const unsigned *b, unsigned *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    unsigned x = a[i], y = b[i], start = y & 63, length = y >> 8 & 63, *o = out + 8 * i;
    asm("bfe.u32 %0, %1, %2, %3;" : "=r"(o[0]) : "r"(x), "r"(start), "r"(length));
    asm("bfe.s32 %0, %1, %2, %3;" : "=r"(o[1]) : "r"(x), "r"(start), "r"(length));
    asm("bfi.b32 %0, %1, %2, %3, %4;" : "=r"(o[2]) : "r"(x), "r"(y), "r"(start), "r"(length));
    asm("bfind.u32 %0, %1;" : "=r"(o[3]) : "r"(x));
    asm("bfind.s32 %0, %1;" : "=r"(o[4]) : "r"(x));
    asm("bfind.shiftamt.u32 %0, %1;" : "=r"(o[5]) : "r"(y));
    asm("lop3.b32 %0, %1, %2, %3, 0x96;" : "=r"(o[6]) : "r"(x), "r"(y), "r"(start));
    asm("mad24.lo.s32 %0, %1, %2, %3;" : "=r"(o[7]) : "r"(x), "r"(y), "r"(length));
}
