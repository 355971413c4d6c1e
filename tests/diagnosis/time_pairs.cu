// Times the kernels of examples/diagnosis/pairs.cu at the sizes of their launch files, on a GPU (pair_timing.cuh).
//
// usage: time_pairs          print CSV: microseconds of each kernel with an empty and with a warm L2
//        time_pairs once     launch each kernel once, without timing; for ncu
#include "pairs.cu"
#include "pair_timing.cuh"

static void transpositions()
{
    const int n = 2048;
    dim3 grid(n / 32, n / 32), block(32, 8);
    float *in = allocate<float>(4ull * n * n, FLOATS), *slow = allocate<float>(4ull * n * n, ZEROS), *fast = allocate<float>(4ull * n * n, ZEROS);
    run_pair("transpose", "transpose_naive", [=] { transpose_naive<<<grid, block>>>(slow, in, n); }, "transpose_tiled",
             [=] { transpose_tiled<<<grid, block>>>(fast, in, n); },
             [=] { compare("transpose", fetch(slow, (size_t)n * n), fetch(fast, (size_t)n * n), 0); });
    run_pair("conflicts", "tile_conflicts", [=] { tile_conflicts<<<grid, block>>>(slow, in, n); }, "tile_padded",
             [=] { tile_padded<<<grid, block>>>(fast, in, n); },
             [=] { compare("conflicts", fetch(slow, (size_t)n * n), fetch(fast, (size_t)n * n), 0); });
}

static void layouts()
{
    const int n = 2048;
    dim3 grid(n / 32, n / 8), block(32, 8);
    cell *cells = allocate<cell>(32ull * n * n, FLOATS);
    float *t = allocate<float>(4ull * n * n, ZEROS), *k = allocate<float>(4ull * n * n, ZEROS), *next = allocate<float>(4ull * n * n, ZEROS);
    // The arrays get the words of the structs.
    check(cudaMemcpy2D(t, 4, &cells->t, 32, 4, (size_t)n * n, cudaMemcpyDeviceToDevice), "copy");
    check(cudaMemcpy2D(k, 4, &cells->k, 32, 4, (size_t)n * n, cudaMemcpyDeviceToDevice), "copy");
    check(cudaMemcpy2D(next, 4, &cells->next, 32, 4, (size_t)n * n, cudaMemcpyDeviceToDevice), "copy");
    run_pair("layout", "heat_structs", [=] { heat_structs<<<grid, block>>>(cells, n); }, "heat_arrays",
             [=] { heat_arrays<<<grid, block>>>(next, t, k, n); }, [=] {
                 std::vector<float> from_cells;
                 for (const cell &c : fetch(cells, (size_t)n * n))
                     from_cells.push_back(c.next);
                 compare("layout", from_cells, fetch(next, (size_t)n * n), 0);
             });
}

static void histograms()
{
    const int n = 4194304, blocks = 1056;
    unsigned char *data = allocate<unsigned char>(n, BYTES);
    unsigned *slow = allocate<unsigned>(1024, ZEROS), *fast = allocate<unsigned>(1024, ZEROS);
    run_pair("histogram", "histogram_global", [=] { histogram_global<<<blocks, 256>>>(slow, data, n); }, "histogram_shared",
             [=] { histogram_shared<<<blocks, 256>>>(fast, data, n); }, [=] { compare("histogram", fetch(slow, 256), fetch(fast, 256), 0); });
}

static void products()
{
    const int n = 384;
    dim3 grid(n / 32, n / 8), block(32, 8);
    float *a = allocate<float>(4ull * n * n, FLOATS), *b = allocate<float>(4ull * n * n, FLOATS);
    float *slow = allocate<float>(4ull * n * n, ZEROS), *fast = allocate<float>(4ull * n * n, ZEROS);
    run_pair("product", "product_swapped", [=] { product_swapped<<<grid, block>>>(slow, a, b, n); }, "product_coalesced",
             [=] { product_coalesced<<<grid, block>>>(fast, a, b, n); },
             [=] { compare("product", fetch(slow, (size_t)n * n), fetch(fast, (size_t)n * n), 1e-5); });
}

static void matvecs()
{
    const int rows = 16384, columns = 512;
    float *a = allocate<float>(4ull * rows * columns, FLOATS), *x = allocate<float>(4ull * columns, FLOATS);
    float *slow = allocate<float>(4ull * rows, ZEROS), *fast = allocate<float>(4ull * rows, ZEROS);
    run_pair("matvec", "matvec_thread", [=] { matvec_thread<<<rows / 128, 128>>>(slow, a, x, rows, columns); }, "matvec_warp",
             [=] { matvec_warp<<<rows / 8, 256>>>(fast, a, x, rows, columns); },
             [=] { compare("matvec", fetch(slow, rows), fetch(fast, rows), 1e-4); });
}

static void tiles()
{
    const int n = 16777216, limits = 8;
    float *values = allocate<float>(4ull * n, FLOATS), *limit = allocate<float>(4ull * limits, ZEROS);
    unsigned *slow = allocate<unsigned>(4ull * limits * n / 65536, ZEROS), *fast = allocate<unsigned>(4ull * limits * n / 16384, ZEROS);
    float host[limits];
    for (int i = 0; i < limits; i++)
        host[i] = (float)(i + 1) / (limits + 1);
    check(cudaMemcpy(limit, host, sizeof host, cudaMemcpyHostToDevice), "copy");
    run_pair("tile", "count_large_tile", [=] { count_large_tile<<<n / 65536, 1024>>>(slow, values, limit, limits); }, "count_small_tile",
             [=] { count_small_tile<<<n / 16384, 1024>>>(fast, values, limit, limits); }, [=] {
                 // Four small tiles are one large tile.
                 std::vector<unsigned> small = fetch(fast, (size_t)limits * n / 16384), sums;
                 for (size_t i = 0; i < small.size(); i += 4)
                     sums.push_back(small[i] + small[i + 1] + small[i + 2] + small[i + 3]);
                 compare("tile", fetch(slow, (size_t)limits * n / 65536), sums, 0);
             });
}

static void column_sums()
{
    const int rows = 4096, columns = 4096;
    dim3 grid(columns / 32, 16), block(32, 8);
    float *a = allocate<float>(4ull * rows * columns, FLOATS), *slow = allocate<float>(4ull * columns, ZEROS), *fast = allocate<float>(4ull * columns, ZEROS);
    run_pair("columns", "columns_strided", [=] { columns_strided<<<columns, 256>>>(slow, a, rows, columns); }, "columns_coalesced",
             [=] { columns_coalesced<<<grid, block>>>(fast, a, rows, columns); },
             [=] { compare("columns", fetch(slow, columns), fetch(fast, columns), 1e-4); });
}

static void orders()
{
    const int signals = 3072, patterns = 8, length = 8192;
    dim3 grid(signals, patterns);
    float *s = allocate<float>(4ull * signals * length, FLOATS), *p = allocate<float>(4ull * patterns * length, FLOATS);
    float *slow = allocate<float>(4ull * signals * patterns, ZEROS), *fast = allocate<float>(4ull * signals * patterns, ZEROS);
    run_pair("order", "distance_rows", [=] { distance_rows<<<grid, 256>>>(slow, s, p, length); }, "distance_tiles",
             [=] { distance_tiles<<<grid, 256>>>(fast, s, p, length); },
             [=] { compare("order", fetch(slow, (size_t)signals * patterns), fetch(fast, (size_t)signals * patterns), 0); });
}

static void vectors()
{
    const int n = 33554432;
    unsigned char *in = allocate<unsigned char>(n, BYTES), *slow = allocate<unsigned char>(n, ZEROS), *fast = allocate<unsigned char>(n, ZEROS);
    run_pair("vectors", "invert_bytes", [=] { invert_bytes<<<n / 256, 256>>>(slow, in, n); }, "invert_vectors",
             [=] { invert_vectors<<<n / 4096, 256>>>((uint4 *)fast, (const uint4 *)in, n); },
             [=] { compare("vectors", fetch(slow, n), fetch(fast, n), 0); });
}

int main(int argc, char **argv)
{
    (void)argv;
    prepare(argc);
    transpositions();
    layouts();
    histograms();
    products();
    matvecs();
    tiles();
    column_sums();
    orders();
    vectors();
    return failures != 0;
}
