// CUB collectives of a block and of a warp in kernels of the program's own.
#include "../../programs/expect.h"
#include <algorithm>
#include <cub/cub.cuh>
#include <vector>

static const int THREADS = 128, ITEMS = 4, TILE = THREADS * ITEMS, BLOCKS = 6;

// Sorts each tile, writes it and the prefix sums of the sorted tile.
__global__ void sort_and_scan(const unsigned *in, unsigned *sorted, unsigned *sums)
{
    using load = cub::BlockLoad<unsigned, THREADS, ITEMS, cub::BLOCK_LOAD_TRANSPOSE>;
    using store = cub::BlockStore<unsigned, THREADS, ITEMS, cub::BLOCK_STORE_WARP_TRANSPOSE>;
    using sort = cub::BlockRadixSort<unsigned, THREADS, ITEMS>;
    using scan = cub::BlockScan<unsigned, THREADS, cub::BLOCK_SCAN_WARP_SCANS>;
    __shared__ union {
        typename load::TempStorage load;
        typename store::TempStorage store;
        typename sort::TempStorage sort;
        typename scan::TempStorage scan;
    } memory;
    unsigned items[ITEMS], prefixes[ITEMS];
    load(memory.load).Load(in + blockIdx.x * TILE, items);
    __syncthreads();
    sort(memory.sort).Sort(items);
    __syncthreads();
    scan(memory.scan).InclusiveSum(items, prefixes);
    __syncthreads();
    // A store changes the order of the items in the registers.
    store(memory.store).Store(sorted + blockIdx.x * TILE, items);
    __syncthreads();
    store(memory.store).Store(sums + blockIdx.x * TILE, prefixes);
}

// One maximum per warp and one sum per block.
__global__ void reduce(const unsigned *in, unsigned *maxima, unsigned *totals)
{
    using warp_reduce = cub::WarpReduce<unsigned>;
    using block_reduce = cub::BlockReduce<unsigned, THREADS>;
    __shared__ typename warp_reduce::TempStorage warp_memory[THREADS / 32];
    __shared__ typename block_reduce::TempStorage block_memory;
    unsigned warp = threadIdx.x / 32, value = in[blockIdx.x * THREADS + threadIdx.x];
    unsigned maximum = warp_reduce(warp_memory[warp]).Reduce(value, [](unsigned a, unsigned b) {
        return a > b ? a : b;
    });
    if (threadIdx.x % 32 == 0)
        maxima[blockIdx.x * (THREADS / 32) + warp] = maximum;
    unsigned total = block_reduce(block_memory).Sum(value);
    if (threadIdx.x == 0)
        totals[blockIdx.x] = total;
}

static void check_reductions(const std::vector<unsigned> &host, const unsigned *maxima,
                             const unsigned *totals)
{
    for (int block = 0; block < BLOCKS; block++) {
        unsigned total = 0;
        for (int i = 0; i < THREADS; i++)
            total += host[block * THREADS + i];
        EXPECT(totals[block] == total);
        for (int warp = 0; warp < THREADS / 32; warp++) {
            auto first = host.begin() + block * THREADS + warp * 32;
            EXPECT(maxima[block * (THREADS / 32) + warp] == *std::max_element(first, first + 32));
        }
    }
}

int main()
{
    const size_t bytes = BLOCKS * TILE * sizeof(unsigned);
    std::vector<unsigned> host(BLOCKS * TILE), sorted(host), sums(host);
    unsigned state = 7;
    for (unsigned &value : host)
        value = (state = state * 1664525u + 1013904223u) >> 16;
    unsigned *in, *out, *out_sums, *maxima, *totals;
    CHECK(cudaMalloc(&in, bytes));
    CHECK(cudaMalloc(&out, bytes));
    CHECK(cudaMalloc(&out_sums, bytes));
    CHECK(cudaMallocManaged(&maxima, BLOCKS * THREADS / 32 * sizeof(unsigned)));
    CHECK(cudaMallocManaged(&totals, BLOCKS * sizeof(unsigned)));
    CHECK(cudaMemcpy(in, host.data(), bytes, cudaMemcpyHostToDevice));
    sort_and_scan<<<BLOCKS, THREADS>>>(in, out, out_sums);
    reduce<<<BLOCKS, THREADS>>>(in, maxima, totals);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(sorted.data(), out, bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(sums.data(), out_sums, bytes, cudaMemcpyDeviceToHost));
    check_reductions(host, maxima, totals);
    for (int block = 0; block < BLOCKS; block++) {
        std::sort(host.begin() + block * TILE, host.begin() + (block + 1) * TILE);
        unsigned sum = 0;
        for (int i = block * TILE; i < (block + 1) * TILE; i++) {
            sum += host[i];
            EXPECT(sorted[i] == host[i] && sums[i] == sum);
        }
    }
    return finish();
}
