// Times the kernels of examples/diagnosis/more/more.cu at the sizes of their launch files, on a GPU (pair_timing.cuh).
//
// usage: time_more          print CSV: microseconds of each kernel with an empty and with a warm L2
//        time_more once     launch each kernel once, without timing; for ncu
#include "more.cu"
#include "pair_timing.cuh"

static void scales()
{
    const int n = 2048;
    dim3 grid(n / 32, n / 8), block(32, 8);
    float *in = allocate<float>(4ull * n * n, FLOATS), *slow = allocate<float>(4ull * n * n, ZEROS), *fast = allocate<float>(4ull * n * n, ZEROS);
    run_pair("scale", "scale_columns", [=] { scale_columns<<<grid, block>>>(slow, in, 1.5f, n); }, "scale_rows",
             [=] { scale_rows<<<grid, block>>>(fast, in, 1.5f, n); },
             [=] { compare("scale", fetch(slow, (size_t)n * n), fetch(fast, (size_t)n * n), 0); });
}

static void particles()
{
    const int n = 1048576;
    particle *p = allocate<particle>(64ull * n, FLOATS);
    float *position = allocate<float>(12ull * n, ZEROS), *velocity = allocate<float>(12ull * n, ZEROS);
    // The arrays get the words of the structs.
    for (int i = 0; i < 3; i++) {
        check(cudaMemcpy2D(position + i * n, 4, &p->x + i, 64, 4, n, cudaMemcpyDeviceToDevice), "copy");
        check(cudaMemcpy2D(velocity + i * n, 4, &p->vx + i, 64, 4, n, cudaMemcpyDeviceToDevice), "copy");
    }
    run_pair("particles", "move_particles", [=] { move_particles<<<n / 256, 256>>>(p, 0.5f, n); }, "move_arrays",
             [=] { move_arrays<<<n / 256, 256>>>(position, velocity, 0.5f, n); }, [=] {
                 std::vector<float> from_structs(3 * n);
                 std::vector<particle> host = fetch(p, n);
                 for (int i = 0; i < n; i++) {
                     from_structs[i] = host[i].x;
                     from_structs[n + i] = host[i].y;
                     from_structs[2 * n + i] = host[i].z;
                 }
                 compare("particles", from_structs, fetch(position, 3 * n), 0);
             });
}

// Copies the contents that an expression in a launch file has.
template <typename F> static int *integers(size_t n, F value)
{
    int *device = allocate<int>(4 * n, ZEROS);
    std::vector<int> host(n);
    for (size_t i = 0; i < n; i++)
        host[i] = value(i);
    check(cudaMemcpy(device, host.data(), 4 * n, cudaMemcpyHostToDevice), "copy");
    return device;
}

static void labels()
{
    const int n = 1048576, blocks = 264;
    int *label = integers(n, [](size_t i) {
        double part = (double)(i * 40503 % 65521) / 65521;
        return (int)(64 * part * part);
    });
    unsigned *slow = allocate<unsigned>(256, ZEROS), *fast = allocate<unsigned>(256, ZEROS);
    run_pair("labels", "count_labels_global", [=] { count_labels_global<<<n / 256, 256>>>(slow, label, n); }, "count_labels_warps",
             [=] { count_labels_warps<<<blocks, 256>>>(fast, label, n); }, [=] { compare("labels", fetch(slow, 64), fetch(fast, 64), 0); });
}

static void reductions()
{
    const int n = 8388608;
    float *in = allocate<float>(4ull * n, FLOATS), *slow = allocate<float>(n / 64, ZEROS), *fast = allocate<float>(n / 64, ZEROS);
    run_pair("reduction", "sum_interleaved", [=] { sum_interleaved<<<n / 256, 256>>>(slow, in); }, "sum_sequential",
             [=] { sum_sequential<<<n / 256, 256>>>(fast, in); },
             [=] { compare("reduction", fetch(slow, n / 256), fetch(fast, n / 256), 1e-5); });
}

static void batches()
{
    const int n = 2048;
    dim3 block(32, 8);
    // Two floats from 0 to 1 are a double that is a number.
    float *words = allocate<float>(8192ull * n, FLOATS);
    double *slow = allocate<double>(8192ull * n, ZEROS), *fast = allocate<double>(8192ull * n, ZEROS), *in = (double *)words;
    run_pair("batch", "batch_unpadded", [=] { batch_unpadded<<<n, block>>>(slow, in); }, "batch_padded",
             [=] { batch_padded<<<n, block>>>(fast, in); },
             [=] { compare("batch", fetch(slow, 1024ull * n), fetch(fast, 1024ull * n), 0); });
}

static void stencils()
{
    const int n = 192;
    const size_t points = (size_t)n * n * n;
    dim3 grid(n / 32, n / 8, n), block(32, 8);
    float *in = allocate<float>(4 * points, FLOATS), *slow = allocate<float>(4 * points, ZEROS), *fast = allocate<float>(4 * points, ZEROS);
    run_pair("stencil", "stencil_along_z", [=] { stencil_along_z<<<grid, block>>>(slow, in, n); }, "stencil_along_x",
             [=] { stencil_along_x<<<grid, block>>>(fast, in, n); },
             [=] { compare("stencil", fetch(slow, points), fetch(fast, points), 0); });
}

// Compares the totals of two lists of sums.
static void compare_totals(const char *pair, const std::vector<float> &a, const std::vector<float> &b)
{
    double first = 0, second = 0;
    for (float value : a)
        first += value;
    for (float value : b)
        second += value;
    compare(pair, std::vector<double>{first}, std::vector<double>{second}, 1e-5);
}

static void dots()
{
    const int n = 8650752, blocks = 264;
    float *a = allocate<float>(4ull * n, FLOATS), *b = allocate<float>(4ull * n, FLOATS);
    float *slow = allocate<float>(4 * blocks, ZEROS), *fast = allocate<float>(4 * blocks, ZEROS);
    run_pair("dot", "dot_segments", [=] { dot_segments<<<blocks, 256>>>(slow, a, b, n); }, "dot_strided",
             [=] { dot_strided<<<blocks, 256>>>(fast, a, b, n); }, [=] { compare_totals("dot", fetch(slow, blocks), fetch(fast, blocks)); });
}

static void gathers()
{
    const int n = 4194304, blocks = 1056;
    float *table = allocate<float>(4ull * n, FLOATS), *slow = allocate<float>(4 * blocks, ZEROS), *fast = allocate<float>(4 * blocks, ZEROS);
    int *shuffled = integers(n, [=](size_t i) { return (int)((40503 * i + 62 * i * i) % n); });
    int *sorted = integers(n, [](size_t i) { return (int)i; });
    run_pair("gather", "gather_shuffled", [=] { gather_shuffled<<<blocks, 256>>>(slow, table, shuffled, n); }, "gather_sorted",
             [=] { gather_sorted<<<blocks, 256>>>(fast, table, sorted, n); },
             [=] { compare_totals("gather", fetch(slow, blocks), fetch(fast, blocks)); });
}

static void convolutions()
{
    const int n = 2097152;
    float *in = allocate<float>(4ull * (n + 30), FLOATS), *weight = allocate<float>(4 * 31, FLOATS);
    float *slow = allocate<float>(4ull * n, ZEROS), *fast = allocate<float>(4ull * n, ZEROS);
    run_pair("convolution", "convolve_global", [=] { convolve_global<<<n / 256, 256>>>(slow, in, weight, n); }, "convolve_tile",
             [=] { convolve_tile<<<n / 256, 256>>>(fast, in, weight, n); }, [=] { compare("convolution", fetch(slow, n), fetch(fast, n), 1e-5); });
}

static void softmaxes()
{
    const int rows = 264, columns = 32768;
    const size_t n = (size_t)rows * columns;
    float *in = allocate<float>(4 * n, FLOATS), *slow = allocate<float>(4 * n, ZEROS), *fast = allocate<float>(4 * n, ZEROS);
    run_pair("softmax", "softmax_three_reads", [=] { softmax_three_reads<<<rows, 1024>>>(slow, in, columns); }, "softmax_one_read",
             [=] { softmax_one_read<<<rows, 1024>>>(fast, in, columns); }, [=] { compare("softmax", fetch(slow, n), fetch(fast, n), 1e-5); });
}

int main(int argc, char **argv)
{
    (void)argv;
    prepare(argc);
    scales();
    particles();
    labels();
    reductions();
    batches();
    stencils();
    dots();
    gathers();
    convolutions();
    softmaxes();
    return failures != 0;
}
