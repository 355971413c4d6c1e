/* Question window: stores of an SM that reach the L2 together. */
#ifndef COUNT_WINDOW_CUH
#define COUNT_WINDOW_CUH

#include "count_base.cuh"

enum { LINE, SECTOR, WORD, HALF, LINES2, LINES4, LINES8, LINES16, OTHER, SECTOR_PART };
static const char *target_names[] = {"same line", "next sector", "next word", "next half", "2 lines", "4 lines", "8 lines", "16 lines",
                                     "other line", "word of next sector"};

// Stores number s of a group.
__device__ __forceinline__ void store_number(int target, char *line, int s, u32 lane, u32 v)
{
    switch (target) {
    case LINE: put<4>(line + lane * 4, v); break;
    case SECTOR: put<4>(line + s % 4 * 32 + lane % 8 * 4, v); break;
    case WORD: if (lane == 0) put<4>(line + s % 32 * 4, v); break;
    case HALF: if (lane == 0) put<16>(line + s % 8 * 16, v); break;
    case SECTOR_PART: if (lane == 0) put<4>(line + s % 4 * 32, v); break;
    case LINES2: put<4>(line + s % 2 * 128 + lane * 4, v); break;
    case LINES4: put<4>(line + s % 4 * 128 + lane * 4, v); break;
    case LINES8: put<4>(line + s % 8 * 128 + lane * 4, v); break;
    case LINES16: put<4>(line + s % 16 * 128 + lane * 4, v); break;
    case OTHER: put<4>(line + s * 128 + lane * 4, v); break;
    }
}

// One warp per SM: 'groups' times STORES stores, with GAP dependent multiplications between two of them; a pause after each group.
// 'zero' is 0; the assembler does not know it and therefore cannot remove a store to an address that is stored to again.
template <int GAP, int TARGET, int STORES, int LOAD> __global__ void one_warp(char *p, int groups, u32 a, u32 zero, u32 *cycles)
{
    u32 lane = threadIdx.x, v = lane, spent = 0;
    for (int g = 0; g < groups; g++) {
        char *line = p + ((u64)blockIdx.x * groups + g) * 2048;
        u32 start = clock();
#pragma unroll
        for (int s = 0; s < STORES; s++) {
            store_number(TARGET, line + (u64)(zero * s), s, lane, v);
            if (LOAD)
                v += access(LDCA, p + (100 << 20) + lane * 4 + zero * s, 0);
#pragma unroll
            for (int k = 0; k < GAP; k++)
                asm volatile("mad.lo.u32 %0, %0, %1, %1;" : "+r"(v) : "r"(a));
        }
        spent += clock() - start;
        __nanosleep(2000);
    }
    if (lane == 0)
        cycles[blockIdx.x] = spent / groups;
}

// Several warps per SM: warp w executes store number w of the group 'gap' cycles after warp w-1.
__global__ void many_warps(char *p, int groups, int target, int gap, u32 *cycles)
{
    u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32, spent = 0;
    for (int g = 0; g < groups; g++) {
        char *line = p + ((u64)blockIdx.x * groups + g) * 4096;
        __nanosleep(2000);
        __syncthreads();
        u32 start = clock();
        if (gap)
            while ((u32)clock() - start < warp * gap)
                ;
        spent += (u32)clock() - start;
        store_number(target, line, (int)warp, lane, g);
    }
    if (lane == 0)
        cycles[blockIdx.x * 32 + warp] = spent / groups;
}

// Prints what the kernel has measured: the mean over the blocks of cycles[i], for each i.
static void print_cycles(int count, int stride)
{
    static u32 host[BLOCKS * 32];
    check(cudaMemcpy(host, counter + 1024, sizeof host, cudaMemcpyDeviceToHost), "copy");
    printf("cycles");
    for (int i = 0; i < count; i++) {
        double sum = 0;
        for (int b = 0; b < BLOCKS; b++)
            sum += host[b * stride + i];
        printf(" %.1f", sum / BLOCKS);
    }
    printf("\n");
}

template <int GAP, int TARGET, int STORES = 16, int LOAD = 0> static void run_one(void)
{
    if (!label("one warp,%s gap=%d stores=%d groups=32 load=%d", target_names[TARGET], GAP, STORES, LOAD))
        return;
    RUN((one_warp<GAP, TARGET, STORES, LOAD>), BLOCKS, 32, buffer, 32, 3, 0, counter + 1024);
    print_cycles(1, 1);
}

static void run_many(int warps, int target, int gap)
{
    if (!label("many warps,%s warps=%d gap=%d groups=32", target_names[target], warps, gap))
        return;
    RUN(many_warps, BLOCKS, warps * 32, buffer, 32, target, gap, counter + 1024);
    print_cycles(warps, 32);
}

template <int TARGET> static void one_warp_gaps(void)
{
    run_one<0, TARGET>();
    run_one<1, TARGET>();
    run_one<2, TARGET>();
    run_one<3, TARGET>();
    run_one<4, TARGET>();
    run_one<5, TARGET>();
    run_one<6, TARGET>();
    run_one<8, TARGET>();
    run_one<16, TARGET>();
}

static void window_question(void)
{
    one_warp_gaps<LINE>();
    one_warp_gaps<SECTOR>();
    one_warp_gaps<WORD>();
    run_one<0, SECTOR, 64>();
    run_one<0, LINE, 64>();
    run_one<2, SECTOR, 64>();
    run_one<0, SECTOR, 16, 1>();
    run_one<0, HALF>();
    run_one<1, HALF>();
    run_one<2, HALF>();
    run_one<0, SECTOR_PART>();
    run_one<0, LINES2>();
    run_one<0, LINES4>();
    run_one<0, LINES8>();
    run_one<0, OTHER>();
    int targets[] = {LINE, WORD};
    for (int target : targets) {
        int counts[] = {2, 4, 8, 12, 16, 20, 24, 32};
        for (int warps : counts)
            run_many(warps, target, 0);
        int gaps[] = {8, 16, 24, 32, 48, 64, 96, 128};
        for (int gap : gaps)
            run_many(4, target, gap);
    }
    run_many(4, SECTOR, 0);
    run_many(32, SECTOR, 0);
    run_many(8, HALF, 0);
    run_many(32, OTHER, 0);
}

#endif
