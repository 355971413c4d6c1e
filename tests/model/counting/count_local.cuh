/* Question local: local memory. */
#ifndef COUNT_LOCAL_CUH
#define COUNT_LOCAL_CUH

#include "count_parts.cuh"

// Each thread writes its array 'writes' times, then reads it 'reads' times. 'skew' makes the index depend on the lane.
template <class T, int N> __global__ void local(u32 *sink, int writes, int reads, int skew, int used)
{
    volatile T a[N];
    int start = skew * (threadIdx.x % 32);
    u32 sum = 0;
#pragma unroll 1
    for (int w = 0; w < writes; w++)
#pragma unroll 1
        for (int k = 0; k < used; k++)
            a[(k + start) % N] = (T)(k + w);
#pragma unroll 1
    for (int r = 0; r < reads; r++)
#pragma unroll 1
        for (int k = 0; k < used; k++)
            sum += (u32)a[(k + start) % N];
    if (sum == 0x9e3779b9)
        *sink = sum;
}

// The same with one vector of WORDS words per element.
template <int WORDS, int N> __global__ void local_vectors(u32 *sink, int writes, int reads, int used)
{
    u32 a[N * WORDS];
    u64 base = __cvta_generic_to_local(a);
    u32 sum = 0;
#pragma unroll 1
    for (int k = 0; k < used * writes; k++) {
        u64 at = base + (u64)(k % used) * WORDS * 4;
        if (WORDS == 2)
            asm volatile("st.local.v2.u32 [%0], {%1,%1};" ::"l"(at), "r"(k) : "memory");
        else
            asm volatile("st.local.v4.u32 [%0], {%1,%1,%1,%1};" ::"l"(at), "r"(k) : "memory");
    }
#pragma unroll 1
    for (int k = 0; k < used * reads; k++) {
        u64 at = base + (u64)(k % used) * WORDS * 4;
        u32 x, y, z = 0, w = 0;
        if (WORDS == 2)
            asm volatile("ld.local.v2.u32 {%0,%1}, [%2];" : "=r"(x), "=r"(y) : "l"(at) : "memory");
        else
            asm volatile("ld.local.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(x), "=r"(y), "=r"(z), "=r"(w) : "l"(at) : "memory");
        sum += x + y + z + w;
    }
    if (sum == 0x9e3779b9)
        *sink = sum;
}

template <int WORDS, int N> static void run_vectors(int writes, int reads, int used)
{
    if (label("local vectors,words=%d n=%d blocks=%d threads=128 writes=%d reads=%d used=%d", WORDS, N, BLOCKS, writes, reads, used))
        RUN((local_vectors<WORDS, N>), BLOCKS, 128, sink, writes, reads, used);
}

template <class T, int N> static void run_local(int blocks, int threads, int writes, int reads, int skew, int used)
{
    if (!label("local,bytes=%d n=%d blocks=%d threads=%d writes=%d reads=%d skew=%d used=%d", (int)sizeof(T), N, blocks, threads,
               writes, reads, skew, used))
        return;
    RUN((local<T, N>), blocks, threads, sink, writes, reads, skew, used);
}

static void local_question(void)
{
    int pairs[][2] = {{1, 0}, {2, 0}, {4, 0}, {1, 1}, {1, 2}, {0, 1}};
    for (auto &q : pairs)
        run_local<u32, 64>(BLOCKS, 128, q[0], q[1], 0, 64); // 32 KiB per SM
    for (int used = 128; used <= 1024; used *= 2) {
        run_local<u32, 1024>(BLOCKS, 128, 1, 0, 0, used); // 64 to 512 KiB per SM
        run_local<u32, 1024>(BLOCKS, 128, 1, 1, 0, used);
        run_local<u32, 1024>(BLOCKS, 128, 2, 1, 0, used);
    }
    run_local<u32, 1024>(BLOCKS, 128, 1, 1, 0, 384);
    run_local<u32, 1024>(BLOCKS, 128, 2, 0, 0, 384);
    run_local<u32, 1024>(BLOCKS, 128, 2, 0, 0, 1024);
    run_local<u32, 64>(BLOCKS, 128, 1, 1, 1, 64); // index depends on the lane
    run_local<u32, 64>(BLOCKS, 128, 1, 1, 3, 64);
    run_local<u64, 64>(BLOCKS, 128, 1, 1, 0, 64);
    run_local<unsigned char, 64>(BLOCKS, 128, 1, 0, 0, 64);
    run_local<unsigned char, 64>(BLOCKS, 128, 1, 1, 0, 64);
    run_local<unsigned char, 64>(BLOCKS, 128, 1, 1, 4, 64);
    run_local<unsigned short, 64>(BLOCKS, 128, 1, 1, 0, 64);
    run_local<u32, 64>(BLOCKS, 16, 1, 1, 0, 64);         // half a warp
    run_local<u32, 64>(BLOCKS, 4, 1, 1, 0, 64);          // part of a sector
    run_local<u32, 64>(BLOCKS * 8, 256, 1, 1, 0, 64);    // many blocks
    run_local<u32, 64>(BLOCKS * 32, 128, 1, 1, 0, 64);   // two waves: does a later block reuse the memory of an earlier one?
    run_local<u32, 64>(1, 128, 1, 1, 0, 64);
    run_local<u32, 16>(BLOCKS, 1024, 1, 1, 0, 16);
}

static void local_more(void)
{
    phase no = {NONE, 32, 0, 0};
    run_local<u32, 64>(BLOCKS, 128, 0, 1, 0, 64); // first use in this process
    run_local<u32, 64>(BLOCKS, 128, 0, 1, 0, 64);
    run_phases(16384, 1, {ST4, 4, 0, 0}, no, no);
    run_local<u32, 64>(BLOCKS, 128, 0, 1, 0, 64);
    run_phases(1 << 20, 1, {LDCA, 4, 0, 0}, no, no);
    run_local<u32, 64>(BLOCKS, 128, 0, 1, 0, 64);
    run_local<unsigned char, 64>(BLOCKS, 128, 1, 1, 0, 64);
    run_local<unsigned char, 64>(BLOCKS, 128, 1, 1, 0, 64);
    run_vectors<2, 32>(1, 0, 32);
    run_vectors<2, 32>(1, 1, 32);
    run_vectors<4, 16>(1, 0, 16);
    run_vectors<4, 16>(1, 1, 16);
    run_vectors<4, 16>(0, 1, 16);
    run_local<u32, 16>(BLOCKS, 1024, 1, 1, 0, 16);
}

#endif
