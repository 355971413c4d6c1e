// Times pairs of kernels on a GPU and prints CSV; time_pairs.cu and time_more.cu include it.
//
// Each time is the median of 20 launches, measured with CUDA events. To empty the L2, the program writes a buffer of 256 MB
// and then reads another one, so that the L2 also has no changed lines that it would write back during the launch. A
// warm launch follows another one of the same kernel. The program checks that both kernels of a pair compute the same.
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

// Prepares the buffers that empty the L2, and prints the header. With an argument, kernels are launched only once.
static void prepare(int argc)
{
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
}
