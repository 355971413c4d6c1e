/* Question atomics: atomics and reductions by address pattern. */
#ifndef COUNT_ATOMICS_CUH
#define COUNT_ATOMICS_CUH

#include "count_parts.cuh"

enum { A_ADD, A_CAS, A_EXCH, A_ADD64, A_ADDF, A_ADDH2, A_CTA, R_ADD, R_ADDF, R_ADD64, R_ADDH2, R_ADDV2, R_ADDV4, R_ADDV8H, R_ADDD,
       A_OPS };
static const char *atomic_names[] = {"atom.add.u32", "atom.cas.b32", "atom.exch.b32", "atom.add.u64", "atom.add.f32",
                                     "atom.add.f16x2", "atom.cta.add.u32", "red.add.u32", "red.add.f32", "red.add.u64",
                                     "red.add.f16x2", "red.add.v2.f32", "red.add.v4.f32", "red.add.v8.f16", "red.add.f64"};

template <int OP> __device__ __forceinline__ u32 atomic(char *p, u32 v)
{
    u32 r = 0;
    u64 w = v, s = 0;
    float f = (float)v;
    if (OP == A_ADD)
        asm volatile("atom.global.add.u32 %0, [%1], %2;" : "=r"(r) : "l"(p), "r"(v) : "memory");
    else if (OP == A_CAS)
        asm volatile("atom.global.cas.b32 %0, [%1], %2, %3;" : "=r"(r) : "l"(p), "r"(v), "r"(v + 1) : "memory");
    else if (OP == A_EXCH)
        asm volatile("atom.global.exch.b32 %0, [%1], %2;" : "=r"(r) : "l"(p), "r"(v) : "memory");
    else if (OP == A_ADD64)
        asm volatile("atom.global.add.u64 %0, [%1], %2;" : "=l"(s) : "l"(p), "l"(w) : "memory");
    else if (OP == A_ADDF)
        asm volatile("{.reg .f32 t; atom.global.add.f32 t, [%1], %2; mov.b32 %0, t;}" : "=r"(r) : "l"(p), "f"(f) : "memory");
    else if (OP == A_ADDH2)
        asm volatile("atom.global.add.noftz.f16x2 %0, [%1], %2;" : "=r"(r) : "l"(p), "r"(v) : "memory");
    else if (OP == A_CTA)
        asm volatile("atom.relaxed.cta.global.add.u32 %0, [%1], %2;" : "=r"(r) : "l"(p), "r"(v) : "memory");
    else if (OP == R_ADD)
        asm volatile("red.global.add.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory");
    else if (OP == R_ADDF)
        asm volatile("red.global.add.f32 [%0], %1;" ::"l"(p), "f"(f) : "memory");
    else if (OP == R_ADD64)
        asm volatile("red.global.add.u64 [%0], %1;" ::"l"(p), "l"(w) : "memory");
    else if (OP == R_ADDH2)
        asm volatile("red.global.add.noftz.f16x2 [%0], %1;" ::"l"(p), "r"(v) : "memory");
    else if (OP == R_ADDV2)
        asm volatile("red.global.add.v2.f32 [%0], {%1,%1};" ::"l"(p), "f"(f) : "memory");
    else if (OP == R_ADDV4)
        asm volatile("red.global.add.v4.f32 [%0], {%1,%1,%1,%1};" ::"l"(p), "f"(f) : "memory");
    else if (OP == R_ADDV8H)
        asm volatile("{.reg .b16 t; cvt.u16.u32 t, %1; red.global.add.noftz.v8.f16 [%0], {t,t,t,t,t,t,t,t};}" ::"l"(p), "r"(v)
                     : "memory");
    else if (OP == R_ADDD)
        asm volatile("red.global.add.f64 [%0], %1;" ::"l"(p), "d"((double)v) : "memory");
    return r + (u32)s;
}

// Each warp executes 'rounds' times 'repeat' atomics. The lanes have the addresses lane*stride % span; each round has its own region.
template <int OP> __global__ void atomics(char *p, int stride, int span, u64 region, int rounds, int repeat, u32 *sink)
{
    u32 lane = threadIdx.x % 32, sum = 0;
    u64 warp = ((u64)blockIdx.x * blockDim.x + threadIdx.x) / 32;
    for (int k = 0; k < rounds; k++) {
        char *at = p + (warp * rounds + k) * region + (u64)(lane * stride) % span;
        for (int r = 0; r < repeat; r++)
            sum += atomic<OP>(at, lane + r);
    }
    if (sum == 0x9e3779b9)
        *sink = sum;
}

template <int OP> static void run_atomics(int stride, int span, u64 region, int rounds, int repeat)
{
    if (!label("atomics,%s stride=%d span=%d region=%llu rounds=%d repeat=%d", atomic_names[OP], stride, span, region, rounds, repeat))
        return;
    RUN(atomics<OP>, BLOCKS, 256, buffer, stride, span, region, rounds, repeat, sink);
}

// Patterns of a type of 'bytes' bytes.
template <int OP> static void atomic_patterns(int bytes, bool all)
{
    run_atomics<OP>(0, 32, 256, 4, 1);                 // all lanes one address
    run_atomics<OP>(bytes, 32 * bytes, 1024, 4, 1);    // neighbours
    run_atomics<OP>(32, 1024, 1024, 4, 1);             // one lane per sector
    if (!all)
        return;
    run_atomics<OP>(bytes, 32, 256, 4, 1);             // all lanes in one sector, all its elements
    run_atomics<OP>(bytes, 2 * bytes, 256, 4, 1);      // two addresses
    run_atomics<OP>(64, 2048, 2048, 4, 1);
    run_atomics<OP>(128, 4096, 4096, 4, 1);            // one lane per line
    run_atomics<OP>(bytes, 32 * bytes, 1024, 4, 4);    // again: in the cache
    run_atomics<OP>(0, 32, 0, 4, 4);                   // all warps of all SMs one address
    run_atomics<OP>(bytes, 32 * bytes, 0, 4, 4);       // all warps of all SMs the same line
}

static void atomics_question(void)
{
    atomic_patterns<A_ADD>(4, true);
    atomic_patterns<R_ADD>(4, true);
    atomic_patterns<R_ADDV4>(16, true);
    atomic_patterns<R_ADDF>(4, false);
    atomic_patterns<A_CAS>(4, false);
    atomic_patterns<A_ADD64>(8, false);
    atomic_patterns<R_ADD64>(8, false);
    atomic_patterns<R_ADDH2>(4, false);
    atomic_patterns<A_ADDH2>(4, false);
    atomic_patterns<A_CTA>(4, false);
    atomic_patterns<R_ADDV2>(8, false);
    atomic_patterns<R_ADDV8H>(16, false);
}

static void atomics_more(void)
{
    phase no = {NONE, 32, 0, 0};
    // Together with loads and stores; more than the L2 holds.
    run_phases(16384, 4, {RED, 32, 0, 0}, {LDCG, 32, 0, 0}, no);
    run_phases(16384, 4, {RED, 32, 0, 0}, {LDCG, 32, 0, 1}, no);
    run_phases(16384, 4, {LDCG, 32, 0, 0}, {RED, 32, 0, 0}, {LDCG, 32, 0, 0});
    run_phases(16384, 4, {LDCA, 32, 0, 0}, {RED, 32, 0, 0}, {LDCA, 32, 0, 0});
    run_phases(16384, 4, {LDCA, 32, 0, 0}, {ATOM, 32, 0, 0}, {LDCA, 32, 0, 0});
    run_phases(16384, 4, {ST4, 32, 0, 0}, {RED, 32, 0, 0}, no);
    run_phases(16384, 4, {ST4, 32, 0, 0}, {RED, 32, 16, 0}, no);
    run_phases(1 << 20, 1, {RED, 32, 0, 0}, no, no);
    run_phases(1 << 20, 1, {ATOM, 4, 0, 0}, no, no);
    run_phases(1 << 20, 1, {RED, 128, 0, 0}, no, no);
    atomic_patterns<A_EXCH>(4, false);
    atomic_patterns<A_ADDF>(4, false);
    atomic_patterns<R_ADDD>(8, false);
}

#endif
