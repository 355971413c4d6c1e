/* Programs whose time is measured without and with 'fathom capture' (measure), after PolyBench's
 * gemm, atax and jacobi-2d, and one that launches an empty kernel and waits for it each time.
 *
 * usage: costs gemm|atax|jacobi|tiny N LAUNCHES */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define CHECK(call)                                                                                \
    do {                                                                                           \
        const cudaError_t result = (call);                                                         \
        if (result != cudaSuccess) {                                                               \
            printf("%s: %s\n", #call, cudaGetErrorString(result));                                 \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

__global__ void gemm(const float *a, const float *b, float *c, int n)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    float sum = 0;
    for (int k = 0; k < n; k++)
        sum += a[row * n + k] * b[k * n + column];
    c[row * n + column] = sum;
}

__global__ void multiply(const float *a, const float *x, float *y, int n)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < n; k++)
        sum += a[row * n + k] * x[k];
    y[row] = sum;
}

__global__ void multiply_transposed(const float *a, const float *x, float *y, int n)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < n; k++)
        sum += a[k * n + column] * x[k];
    y[column] = sum;
}

__global__ void jacobi(const float *from, float *to, int n)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x + 1;
    const int y = blockIdx.y * blockDim.y + threadIdx.y + 1;
    if (x < n - 1 && y < n - 1)
        to[y * n + x] = 0.2f * (from[y * n + x] + from[y * n + x - 1] + from[y * n + x + 1] +
                                from[(y - 1) * n + x] + from[(y + 1) * n + x]);
}

__global__ void tiny(float *data)
{
    data[threadIdx.x] += 1;
}

/* Allocates an array of the GPU that is filled with random numbers. */
static float *array(size_t count)
{
    std::vector<float> host(count);
    float *data;
    for (float &value : host)
        value = (float)rand() / (float)RAND_MAX;
    CHECK(cudaMalloc(&data, count * sizeof *data));
    CHECK(cudaMemcpy(data, host.data(), count * sizeof *data, cudaMemcpyHostToDevice));
    return data;
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    const char *name = argv[1];
    const int n = atoi(argv[2]), launches = atoi(argv[3]);
    const size_t cells = (size_t)n * n;
    const dim3 block(32, 8), grid(n / 32, n / 8);
    double sum = 0;
    float *a = array(cells), *b = array(strcmp(name, "atax") == 0 ? n : cells);
    float *c = array(strcmp(name, "gemm") == 0 ? cells : n);
    float *last = c;
    for (int i = 0; i < launches; i++) {
        if (strcmp(name, "gemm") == 0) {
            gemm<<<grid, block>>>(a, b, c, n);
        } else if (strcmp(name, "atax") == 0) {
            multiply<<<n / 256, 256>>>(a, i % 2 ? c : b, i % 2 ? b : c, n);
            multiply_transposed<<<n / 256, 256>>>(a, i % 2 ? b : c, i % 2 ? c : b, n);
        } else if (strcmp(name, "jacobi") == 0) {
            jacobi<<<grid, block>>>(i % 2 ? b : a, i % 2 ? a : b, n);
            last = i % 2 ? a : b;
        } else {
            tiny<<<1, 32>>>(c);
            CHECK(cudaDeviceSynchronize());
        }
        CHECK(cudaGetLastError());
    }
    std::vector<float> host(n);
    CHECK(cudaMemcpy(host.data(), last, n * sizeof host[0], cudaMemcpyDeviceToHost));
    for (float value : host)
        sum += value;
    printf("%s %d %d: %.9g\n", name, n, launches, sum);
    return 0;
}
