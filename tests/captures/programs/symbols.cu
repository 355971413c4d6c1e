// Variables of the device, and pointers that kernels find in memory and in structures.
#include "../../programs/expect.h"
#include <vector>

static const int COUNT = 512;

struct node {
    int value;
    node *next;
};

struct view {
    const float *in;
    float *out;
    int count;
    struct {
        float scale, shift;
    } line;
};

__constant__ float coefficients[4];
__device__ int total = 5;
static __device__ float table[COUNT];
static __device__ float *row_of_table;

__global__ void polynomial(float x0)
{
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    float x = x0 + (float)i, sum = 0;
    for (int k = 3; k >= 0; k--)
        sum = sum * x + coefficients[k];
    table[i] = sum;
    if (i == 0)
        row_of_table = table + 16;
}

__global__ void read_row(float *out)
{
    out[threadIdx.x] = row_of_table[threadIdx.x];
}

__global__ void gather(float *const *rows, float *out, int count)
{
    int i = threadIdx.x;
    float sum = 0;
    for (int row = 0; row < count; row++)
        sum += rows[row][i];
    out[i] = sum;
}

__global__ void walk(node *list)
{
    for (node *item = list; item; item = item->next) {
        item->value *= 2;
        total += item->value;
    }
}

__global__ void apply(view v)
{
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    if (i < v.count)
        v.out[i] = v.in[i] * v.line.scale + v.line.shift;
}

static void variables(float *out)
{
    float host[COUNT], values[4] = {1, -2, 0.5f, 0.25f};
    CHECK(cudaMemcpyToSymbol(coefficients, values, sizeof(values)));
    polynomial<<<COUNT / 128, 128>>>(-4.0f);
    CHECK(cudaMemcpyFromSymbol(host, table, sizeof(host)));
    // Every step is exact: small multiples of a quarter, at most 24 bits.
    for (int i = 0; i < 64; i++) {
        float x = (float)i - 4.0f;
        EXPECT(host[i] == ((0.25f * x + 0.5f) * x - 2.0f) * x + 1.0f);
    }
    read_row<<<1, 32>>>(out);
    float row[32];
    CHECK(cudaMemcpy(row, out, sizeof(row), cudaMemcpyDeviceToHost));
    for (int i = 0; i < 32; i++)
        EXPECT(row[i] == host[i + 16]);
}

static void lists()
{
    const int length = 20;
    node *nodes;
    int sum = 5, result;
    std::vector<node> host(length);
    CHECK(cudaMalloc(&nodes, length * sizeof(node)));
    for (int i = 0; i < length; i++) { // The list visits every seventh node.
        int last = i * 7 % length == (length - 1) * 7 % length;
        host[i * 7 % length] = {i, last ? nullptr : nodes + (i + 1) * 7 % length};
        sum += 2 * i;
    }
    CHECK(cudaMemcpy(nodes, host.data(), length * sizeof(node), cudaMemcpyHostToDevice));
    walk<<<1, 1>>>(nodes);
    CHECK(cudaMemcpyFromSymbol(&result, total, sizeof(int)));
    EXPECT(result == sum);
}

int main()
{
    const int rows = 3;
    float *device_rows[rows], **pointers, *out, host[COUNT], back[COUNT];
    CHECK(cudaMalloc(&out, sizeof(back)));
    CHECK(cudaMalloc(&pointers, sizeof(device_rows)));
    for (int row = 0; row < rows; row++) {
        for (int i = 0; i < COUNT; i++)
            host[i] = (float)(row * 100 + i);
        CHECK(cudaMalloc(&device_rows[row], sizeof(host)));
        CHECK(cudaMemcpy(device_rows[row], host, sizeof(host), cudaMemcpyHostToDevice));
    }
    CHECK(cudaMemcpy(pointers, device_rows, sizeof(device_rows), cudaMemcpyHostToDevice));
    gather<<<1, COUNT>>>(pointers, out, rows);
    CHECK(cudaMemcpy(back, out, sizeof(back), cudaMemcpyDeviceToHost));
    for (int i = 0; i < COUNT; i++)
        EXPECT(back[i] == 300.0f + 3.0f * (float)i);
    apply<<<COUNT / 128, 128>>>(view{device_rows[1], out, COUNT, {0.5f, 3.0f}});
    CHECK(cudaMemcpy(back, out, sizeof(back), cudaMemcpyDeviceToHost));
    for (int i = 0; i < COUNT; i++)
        EXPECT(back[i] == 0.5f * (100.0f + (float)i) + 3.0f);
    variables(out);
    lists();
    return finish();
}
