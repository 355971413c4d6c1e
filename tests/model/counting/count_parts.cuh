/* Questions parts, pairs and dirty: accesses in phases. */
#ifndef COUNT_PARTS_CUH
#define COUNT_PARTS_CUH

#include "count_base.cuh"

struct phase {
    int op;     // of each thread
    int stride; // bytes between the accesses of neighbouring threads
    int offset; // bytes, of the first one within its stride
    int shift;  // blocks: the phase accesses the chunk of the block this far away
};

// Each block works through its chunks. In each chunk, it executes phase a completely, then b, then c.
__global__ void phases(char *p, u64 chunk, int chunks, phase a, phase b, phase c, u32 *counter, u32 goal, u32 *sink)
{
    u32 sum = 0;
    for (int k = 0; k < chunks; k++)
        for (int f = 0; f < 3; f++) {
            phase q = f == 0 ? a : f == 1 ? b : c;
            if (q.op == NONE)
                continue;
            if (q.shift) {
                goal += gridDim.x;
                wait_for_grid(counter, goal);
            } else {
                __syncthreads();
            }
            char *base = p + ((u64)k * gridDim.x + (blockIdx.x + q.shift) % gridDim.x) * chunk + q.offset;
            for (u64 at = (u64)threadIdx.x * q.stride; at < chunk; at += (u64)blockDim.x * q.stride)
                sum += access(q.op, base + at, (u32)at + f);
        }
    if (sum == 0x9e3779b9)
        *sink = sum;
}

static void run_phases(u64 chunk, int chunks, phase a, phase b, phase c)
{
    if (!label("phases,chunk=%llu chunks=%d %s/%d+%d@%d %s/%d+%d@%d %s/%d+%d@%d", chunk, chunks, op_names[a.op], a.stride, a.offset,
               a.shift, op_names[b.op], b.stride, b.offset, b.shift, op_names[c.op], c.stride, c.offset, c.shift))
        return;
    RUN(phases, BLOCKS, 512, buffer, chunk, chunks, a, b, c, counter, barriers, sink);
    int waits = (a.op && a.shift) + (b.op && b.shift) + (c.op && c.shift);
    barriers += (u32)waits * chunks * BLOCKS;
}

static void parts(void)
{
    phase no = {NONE, 32, 0, 0};
    run_phases(16384, 1, no, no, no);
    // Part of each sector, never completed: all in the L2 (132 x 16 KiB), and more than it holds (132 x 1 MiB).
    int ops[] = {ST1, ST2, ST4, ST8, ST16};
    for (int op : ops)
        run_phases(16384, 1, {op, 32, 0, 0}, no, no);
    run_phases(1 << 20, 1, {ST1, 32, 0, 0}, no, no);
    run_phases(1 << 20, 1, {ST4, 32, 0, 0}, no, no);
    run_phases(1 << 20, 1, {ST16, 32, 0, 0}, no, no);
    run_phases(1 << 20, 1, {ST16, 16, 0, 0}, no, no); // full sectors
    run_phases(1 << 20, 1, {ST4, 4, 0, 0}, no, no);
    run_phases(1 << 20, 1, {ST4, 64, 0, 0}, no, no);
    run_phases(1 << 20, 1, {ST4, 128, 0, 0}, no, no);
    run_phases(1 << 20, 1, {ST4, 128, 64, 0}, no, no);
    run_phases(1 << 20, 1, {ST4, 4096, 0, 0}, no, no);
    // Completed later by the same SM. The distance is a chunk of all blocks together; 132 MiB in total.
    for (u64 chunk = 4096; chunk <= (1 << 20); chunk *= 4)
        run_phases(chunk, (int)((1 << 20) / chunk), {ST16, 32, 0, 0}, {ST16, 32, 16, 0}, no);
    // ... and by the SM of another block.
    run_phases(65536, 16, {ST16, 32, 0, 0}, {ST16, 32, 16, 1}, no);
    run_phases(1 << 20, 1, {ST16, 32, 0, 0}, {ST16, 32, 16, 1}, no);
    // Read after a part was written: the same bytes, others of the sector, the other sector of the pair, other SM.
    int reads[] = {LDCG, LDCA};
    for (int ld : reads) {
        run_phases(16384, 4, {ST4, 32, 0, 0}, {ld, 32, 0, 0}, no);
        run_phases(16384, 4, {ST4, 32, 0, 0}, {ld, 32, 16, 0}, no);
        run_phases(16384, 4, {ST4, 32, 0, 0}, {ld, 32, 16, 0}, {ld, 32, 16, 0});
    }
    run_phases(16384, 4, {ST4, 32, 0, 0}, {LDCG, 32, 0, 1}, no);
    run_phases(16384, 4, {ST4, 32, 0, 0}, {LDCG, 32, 16, 1}, no);
    run_phases(16384, 4, {ST4, 64, 0, 0}, {LDCG, 64, 32, 0}, no);
    run_phases(16384, 4, {ST4, 128, 0, 0}, {LDCG, 128, 64, 0}, no);
    run_phases(16384, 4, {ST4, 128, 0, 0}, {LDCG, 128, 0, 0}, no);
    // Full sectors written, then read.
    run_phases(16384, 4, {ST4, 4, 0, 0}, {LDCG, 32, 0, 0}, no);
    run_phases(16384, 4, {ST4, 4, 0, 0}, {LDCG, 32, 0, 1}, no);
    run_phases(16384, 4, {ST4, 4, 0, 0}, {LDCG, 32, 0, 1}, {LDCG, 32, 0, 1});
    run_phases(16384, 4, {ST4, 4, 0, 0}, {LDCG, 32, 0, 1}, {LDCG, 32, 0, 2});
    // Read, then written in part, then read again, by the same SM and by another one.
    run_phases(16384, 4, {LDCG, 32, 0, 0}, {ST4, 32, 0, 0}, no);
    run_phases(16384, 4, {LDCG, 32, 0, 0}, {ST4, 32, 0, 0}, {LDCG, 32, 0, 0});
    run_phases(16384, 4, {LDCG, 32, 0, 0}, {ST4, 32, 0, 1}, no);
    run_phases(16384, 4, {LDCG, 32, 0, 0}, {ST4, 32, 0, 1}, {LDCG, 32, 0, 0});
    run_phases(16384, 4, {LDCG, 32, 0, 0}, {LDCG, 32, 0, 1}, {ST4, 32, 0, 2});
    run_phases(16384, 4, {LDCA, 32, 0, 0}, {ST4, 32, 0, 0}, {LDCA, 32, 16, 0});
    run_phases(16384, 4, {LDCA, 4, 0, 0}, {ST4, 4, 0, 0}, {LDCA, 4, 0, 0});
    run_phases(1 << 20, 1, {LDCG, 32, 0, 0}, {ST4, 32, 0, 0}, no);
    run_phases(65536, 16, {LDCG, 32, 0, 0}, {ST4, 32, 0, 0}, no);
    // Cache operators of stores, and prefetches.
    run_phases(16384, 4, {STCG4, 4, 0, 0}, {LDCA, 4, 0, 0}, no);
    run_phases(16384, 4, {STWT4, 4, 0, 0}, {LDCA, 4, 0, 0}, no);
    run_phases(16384, 4, {ST4, 4, 0, 0}, {LDCA, 4, 0, 0}, no);
    run_phases(16384, 4, {PREFETCH2, 128, 0, 0}, no, no);
    run_phases(16384, 4, {PREFETCH2, 32, 0, 0}, {LDCA, 32, 0, 0}, no);
    run_phases(16384, 4, {PREFETCH1, 32, 0, 0}, {LDCA, 32, 0, 0}, no);
    run_phases(16384, 4, {ST4, 4, 0, 0}, {DISCARD, 128, 0, 0}, no);
}

static void parts_more(void)
{
    phase no = {NONE, 32, 0, 0};
    // Which stores make a sector of the L1 readable.
    run_phases(16384, 4, {ST1, 1, 0, 0}, {LDCA, 4, 0, 0}, no);
    run_phases(16384, 4, {ST2, 2, 0, 0}, {LDCA, 4, 0, 0}, no);
    run_phases(16384, 4, {ST8, 8, 0, 0}, {LDCA, 4, 0, 0}, no);
    run_phases(16384, 4, {ST16, 32, 0, 0}, {ST16, 32, 16, 0}, {LDCA, 32, 0, 0});
    run_phases(16384, 4, {ST16, 32, 0, 0}, {ST16, 32, 16, 0}, {LDCG, 32, 0, 0});
    run_phases(16384, 4, {ST1, 4, 0, 0}, {LDCA, 4, 0, 0}, no);
}

// How much changed data the L2 keeps: sectors written completely, and in part.
static void dirty(void)
{
    phase no = {NONE, 32, 0, 0};
    u64 kib[] = {32, 48, 64, 80, 96, 128, 192, 256, 384, 512};
    for (u64 k : kib)
        run_phases(k << 10, 1, {ST4, 32, 0, 0}, no, no);
    for (u64 k : kib)
        run_phases(k << 10, 1, {ST4, 128, 0, 0}, no, no);
    for (u64 k : kib)
        if (k >= 64)
            run_phases(k << 10, 1, {ST16, 16, 0, 0}, no, no);
    run_phases(256 << 10, 1, {ST16, 128, 0, 0}, no, no);
    run_phases(256 << 10, 1, {ST4, 256, 0, 0}, no, no);
    run_phases(512 << 10, 1, {ST4, 1024, 0, 0}, no, no);
    // Filled at the eviction: does the sector stay, so that a read hits?
    run_phases(128 << 10, 1, {ST4, 32, 0, 0}, {LDCG, 32, 0, 0}, no);
    run_phases(128 << 10, 1, {ST16, 16, 0, 0}, {LDCG, 32, 0, 0}, no);
    run_phases(256 << 10, 1, {ST16, 16, 0, 0}, {LDCG, 32, 0, 0}, no);
    run_phases(128 << 10, 1, {LDCG, 32, 0, 0}, {LDCG, 32, 0, 0}, no);
    run_phases(256 << 10, 1, {LDCG, 32, 0, 0}, {LDCG, 32, 0, 0}, no);
}

// The block on one SM executes phase a, then the block on another SM phase b, on the same bytes.
__global__ void pair(char *p, u64 bytes, u32 sm_a, u32 sm_b, phase a, phase b, u32 *counter, u32 goal, u32 *sink)
{
    u32 sm, sum = 0;
    asm volatile("mov.u32 %0, %smid;" : "=r"(sm));
    if (sm == sm_a) {
        for (u64 at = (u64)threadIdx.x * a.stride; at < bytes; at += (u64)blockDim.x * a.stride)
            sum += access(a.op, p + a.offset + at, (u32)at);
        __threadfence();
        __syncthreads();
        if (threadIdx.x == 0)
            atomicAdd(counter, 1);
    } else if (sm == sm_b) {
        if (threadIdx.x == 0) {
            u32 seen;
            int tries = 0;
            do {
                __nanosleep(2000);
                asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(counter) : "memory");
            } while ((int)(seen - goal) < 0 && ++tries < 100000);
        }
        __syncthreads();
        for (u64 at = (u64)threadIdx.x * b.stride; at < bytes; at += (u64)blockDim.x * b.stride)
            sum += access(b.op, p + b.offset + at, (u32)at);
    }
    if (sum == 0x9e3779b9)
        *sink = sum;
}

static void run_pair(u32 sm_a, u32 sm_b, phase a, phase b)
{
    if (!label("pair,bytes=262144 sm=%u then=%u %s/%d+%d %s/%d+%d", sm_a, sm_b, op_names[a.op], a.stride, a.offset, op_names[b.op],
               b.stride, b.offset))
        return;
    barriers++;
    RUN(pair, BLOCKS, 512, buffer, 262144, sm_a, sm_b, a, b, counter, barriers, sink);
}

static void pairs(void)
{
    u32 others[] = {1, 2, 16, 32, 48, 64, 80, 96, 112, 128, 131};
    for (u32 sm : others)
        run_pair(0, sm, {ST16, 16, 0, 0}, {LDCG, 32, 0, 0});
    u32 few[] = {2, 16, 32, 64, 96, 128};
    for (u32 sm : few) {
        run_pair(0, sm, {LDCG, 32, 0, 0}, {LDCG, 32, 0, 0});
        run_pair(0, sm, {RED, 32, 0, 0}, {LDCG, 32, 0, 0});
        run_pair(0, sm, {ST4, 32, 0, 0}, {ST4, 32, 4, 0});
        run_pair(0, sm, {LDCG, 32, 0, 0}, {RED, 32, 0, 0});
        run_pair(0, sm, {LDCG, 32, 0, 0}, {ST16, 16, 0, 0});
    }
}

#endif
