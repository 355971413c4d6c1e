/* Labels of the launches, the memory that the kernels access, and single accesses. */
#ifndef COUNT_BASE_CUH
#define COUNT_BASE_CUH

#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <cuda.h>
#include <cuda_runtime.h>
#define BLOCKS 132 // as many as an H200 has SMs: one block per SM
typedef unsigned int u32;
typedef unsigned long long u64;

static FILE *labels;
static time_t stop_at;
static const char *question;

static void check(cudaError_t status, const char *what)
{
    if (status != cudaSuccess) {
        fprintf(stderr, "count: %s: %s\n", what, cudaGetErrorString(status));
        exit(1);
    }
}

static bool label(const char *format, ...)
{
    if (time(NULL) >= stop_at)
        return false;
    va_list list;
    va_start(list, format);
    fprintf(labels, "%s,", question);
    vfprintf(labels, format, list);
    fprintf(labels, "\n");
    fflush(labels);
    va_end(list);
    return true;
}

static void finish(void)
{
    check(cudaGetLastError(), "launch");
    check(cudaDeviceSynchronize(), "kernel");
}

#define RUN(kernel, blocks, threads, ...) ((kernel)<<<(blocks), (threads)>>>(__VA_ARGS__), finish())

static char *buffer;    // memory that the kernels access
static u32 *counter;    // of the barrier of the grid; only ever grows
static u32 *sink;       // never written: keeps results alive
static u32 barriers;    // barriers so far
#define BUFFER_BYTES (192ull << 20)



template <int W> __device__ __forceinline__ void put(char *p, u32 v)
{
    if (W == 1)
        asm volatile("{.reg .u16 t; cvt.u16.u32 t, %1; st.global.u8 [%0], t;}" ::"l"(p), "r"(v) : "memory");
    else if (W == 2)
        asm volatile("{.reg .u16 t; cvt.u16.u32 t, %1; st.global.u16 [%0], t;}" ::"l"(p), "r"(v) : "memory");
    else if (W == 4)
        asm volatile("st.global.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory");
    else if (W == 8)
        asm volatile("st.global.v2.u32 [%0], {%1,%1};" ::"l"(p), "r"(v) : "memory");
    else
        asm volatile("st.global.v4.u32 [%0], {%1,%1,%1,%1};" ::"l"(p), "r"(v) : "memory");
}

enum { NONE, LDCA, LDCG, LDNC, ST1, ST2, ST4, ST8, ST16, ATOM, RED, STCG4, STWT4, PREFETCH2, PREFETCH1, DISCARD };
static const char *op_names[] = {"none", "ld.ca", "ld.cg", "ld.nc", "st1", "st2", "st4", "st8", "st16", "atom.u32", "red.u32",
                                 "st4.cg", "st4.wt", "prefetch.L2", "prefetch.L1", "discard.L2"};

// One access of one thread.
__device__ __forceinline__ u32 access(int op, char *p, u32 v)
{
    u32 r = 0;
    switch (op) {
    case LDCA: asm volatile("ld.global.ca.u32 %0, [%1];" : "=r"(r) : "l"(p) : "memory"); break;
    case LDCG: asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(r) : "l"(p) : "memory"); break;
    case LDNC: asm volatile("ld.global.nc.u32 %0, [%1];" : "=r"(r) : "l"(p) : "memory"); break;
    case ST1: put<1>(p, v); break;
    case ST2: put<2>(p, v); break;
    case ST4: put<4>(p, v); break;
    case ST8: put<8>(p, v); break;
    case ST16: put<16>(p, v); break;
    case ATOM: asm volatile("atom.global.add.u32 %0, [%1], %2;" : "=r"(r) : "l"(p), "r"(v) : "memory"); break;
    case RED: asm volatile("red.global.add.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory"); break;
    case STCG4: asm volatile("st.global.cg.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory"); break;
    case STWT4: asm volatile("st.global.wt.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory"); break;
    case PREFETCH2: asm volatile("prefetch.global.L2 [%0];" ::"l"(p) : "memory"); break;
    case PREFETCH1: asm volatile("prefetch.global.L1 [%0];" ::"l"(p) : "memory"); break;
    case DISCARD: asm volatile("discard.global.L2 [%0], 128;" ::"l"(p) : "memory"); break;
    }
    return r;
}

// All blocks wait for each other. Only the first thread of a block polls, rarely, so that it adds few reads.
__device__ void wait_for_grid(u32 *counter, u32 goal)
{
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicAdd(counter, 1);
        u32 seen;
        do {
            __nanosleep(2000);
            asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(counter) : "memory");
        } while ((int)(seen - goal) < 0);
    }
    __syncthreads();
}

#endif
