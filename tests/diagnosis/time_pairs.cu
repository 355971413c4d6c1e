// Times the kernels of examples/diagnosis/pairs.cu at the sizes of their launch files, on a GPU.
//
// usage: time_pairs          print CSV: microseconds of each kernel with an empty and with a warm L2
//        time_pairs once     launch each kernel once, without timing; for ncu
//
// Each time is the median of 20 launches, measured with CUDA events. To empty the L2, the program writes a buffer of 256 MB
// and then reads another one, so that the L2 also has no changed lines that it would write back during the launch. A
// warm launch follows another one of the same kernel. The program checks that both kernels of a pair compute the same.
#include "pairs.cu"
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <vector>

static const size_t FLUSH_BYTES = 256 << 20;
static const int LAUNCHES = 20;
static unsigned *flush_written, *flush_read;
static bool once;
static int failures;

static void check(cudaError_t error, const char *what)
{
    if (error == cudaSuccess)
        return;
    fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
    exit(1);
}

__global__ void read_buffer(const uint4 *data, size_t n, unsigned *result)
{
    unsigned sum = 0;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
        sum += __ldcg(&data[i]).x;
    if (sum == 1)
        *result = sum;
}

static void empty_l2()
{
    check(cudaMemsetAsync(flush_written, 0, FLUSH_BYTES), "memset");
    read_buffer<<<1056, 256>>>((const uint4 *)flush_read, FLUSH_BYTES / 16, flush_read);
}

typedef std::function<void()> launch;

static std::vector<float> measure(const launch &run, bool cold)
{
    cudaEvent_t start, end;
    cudaEventCreate(&start);
    cudaEventCreate(&end);
    std::vector<float> times;
    for (int i = 0; i < 3; i++)
        run();
    for (int i = 0; i < LAUNCHES; i++) {
        float ms;
        if (cold)
            empty_l2();
        else
            run();
        cudaEventRecord(start);
        run();
        cudaEventRecord(end);
        check(cudaEventSynchronize(end), "kernel");
        cudaEventElapsedTime(&ms, start, end);
        times.push_back(ms * 1000);
    }
    std::sort(times.begin(), times.end());
    return times;
}

static void report(const char *pair, const char *kernel, const launch &run)
{
    run();
    check(cudaDeviceSynchronize(), kernel);
    if (once)
        return;
    std::vector<float> cold = measure(run, true), warm = measure(run, false);
    auto median = [](const std::vector<float> &t) { return (t[LAUNCHES / 2 - 1] + t[LAUNCHES / 2]) / 2; };
    printf("%s,%s,%.2f,%.2f,%.2f,%.2f,%.2f,%.2f\n", pair, kernel, median(cold), cold.front(), cold.back(), median(warm), warm.front(),
           warm.back());
    fflush(stdout);
}

// Device memory with random words (floats from 0 to 1, or any bytes) or zeros.
enum contents { ZEROS, FLOATS, BYTES };

template <typename T> static T *allocate(size_t bytes, contents fill)
{
    static unsigned state = 1;
    void *device;
    check(cudaMalloc(&device, bytes), "malloc");
    std::vector<unsigned> host(bytes / 4);
    for (unsigned &word : host) {
        state = state * 1664525u + 1013904223u;
        float value = (float)(state >> 8) / 16777216.0f;
        if (fill == BYTES)
            word = state ^ state >> 13 ^ state << 11;
        else if (fill == FLOATS)
            memcpy(&word, &value, 4);
        else
            word = 0;
    }
    check(cudaMemcpy(device, host.data(), bytes, cudaMemcpyHostToDevice), "copy");
    return (T *)device;
}

template <typename T> static std::vector<T> fetch(const T *device, size_t count)
{
    std::vector<T> host(count);
    check(cudaMemcpy(host.data(), device, count * sizeof(T), cudaMemcpyDeviceToHost), "copy");
    return host;
}

template <typename T> static void compare(const char *pair, const std::vector<T> &a, const std::vector<T> &b, double tolerance)
{
    size_t different = a.size() != b.size();
    for (size_t i = 0; i < std::min(a.size(), b.size()); i++)
        different += !(std::fabs((double)a[i] - (double)b[i]) <= tolerance * std::fabs((double)a[i]));
    if (different) {
        fprintf(stderr, "%s: %zu values of the two kernels differ\n", pair, different);
        failures++;
    }
}

// Launches both kernels once, compares their results, then times them.
static void run_pair(const char *pair, const char *slow_name, const launch &slow, const char *fast_name, const launch &fast,
                     const launch &compare_results)
{
    if (!once) {
        slow();
        fast();
        check(cudaDeviceSynchronize(), pair);
        compare_results();
    }
    report(pair, slow_name, slow);
    report(pair, fast_name, fast);
}

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
    once = argc > 1;
    if (!once) {
        check(cudaMalloc(&flush_written, FLUSH_BYTES), "malloc");
        check(cudaMalloc(&flush_read, FLUSH_BYTES), "malloc");
        check(cudaMemset(flush_read, 0, FLUSH_BYTES), "memset");
        // The first launches are slower until the clocks have risen.
        for (int i = 0; i < 2000; i++)
            read_buffer<<<1056, 256>>>((const uint4 *)flush_read, FLUSH_BYTES / 16, flush_read);
        check(cudaDeviceSynchronize(), "warm-up");
        puts("pair,kernel,cold_us,cold_us_min,cold_us_max,warm_us,warm_us_min,warm_us_max");
    }
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
