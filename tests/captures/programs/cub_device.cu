// CUB algorithms on the whole device, with temporary memory that the program allocates.
#include "../../programs/expect.h"
#include <cub/cub.cuh>
#include <vector>

// Calls an algorithm twice, as CUB asks for: for the size of its temporary memory, and to execute
// it.
#define WITH_TEMPORARY(call)                                                                       \
    do {                                                                                           \
        void *temporary = nullptr;                                                                 \
        size_t bytes = 0;                                                                          \
        CHECK(call);                                                                               \
        CHECK(cudaMalloc(&temporary, bytes));                                                      \
        CHECK(call);                                                                               \
        CHECK(cudaFree(temporary));                                                                \
    } while (0)

static const int COUNT = 12000, BINS = 16, SEGMENTS = 40;

struct less_than {
    int limit;
    __host__ __device__ bool operator()(int value) const
    {
        return value < limit;
    }
};

template <typename T> static std::vector<T> copy_back(const T *device, size_t count)
{
    std::vector<T> host(count);
    CHECK(cudaMemcpy(host.data(), device, count * sizeof(T), cudaMemcpyDeviceToHost));
    return host;
}

static void histogram(const int *values, const std::vector<int> &host)
{
    int *bins;
    CHECK(cudaMalloc(&bins, BINS * sizeof(int)));
    WITH_TEMPORARY(cub::DeviceHistogram::HistogramEven(temporary, bytes, values, bins, BINS + 1, 0,
                                                       128, COUNT));
    std::vector<int> expected(BINS);
    for (int value : host)
        expected[value / 8]++;
    EXPECT(copy_back(bins, BINS) == expected);
    CHECK(cudaFree(bins));
}

static void select(const int *values, const std::vector<int> &host)
{
    int *chosen, *number;
    CHECK(cudaMalloc(&chosen, COUNT * sizeof(int)));
    CHECK(cudaMalloc(&number, sizeof(int)));
    WITH_TEMPORARY(
        cub::DeviceSelect::If(temporary, bytes, values, chosen, number, COUNT, less_than{40}));
    std::vector<int> expected;
    for (int value : host)
        if (value < 40)
            expected.push_back(value);
    EXPECT(copy_back(number, 1)[0] == (int)expected.size());
    EXPECT(copy_back(chosen, expected.size()) == expected);
    CHECK(cudaFree(chosen));
    CHECK(cudaFree(number));
}

static void run_lengths(const int *values, const std::vector<int> &host)
{
    int *unique, *lengths, *number;
    CHECK(cudaMalloc(&unique, COUNT * sizeof(int)));
    CHECK(cudaMalloc(&lengths, COUNT * sizeof(int)));
    CHECK(cudaMalloc(&number, sizeof(int)));
    WITH_TEMPORARY(cub::DeviceRunLengthEncode::Encode(temporary, bytes, values, unique, lengths,
                                                      number, COUNT));
    std::vector<int> starts, counts;
    for (int i = 0; i < COUNT; i++) {
        if (i == 0 || host[i] != host[i - 1]) {
            starts.push_back(host[i]);
            counts.push_back(0);
        }
        counts.back()++;
    }
    EXPECT(copy_back(number, 1)[0] == (int)starts.size());
    EXPECT(copy_back(unique, starts.size()) == starts);
    EXPECT(copy_back(lengths, starts.size()) == counts);
}

static void segments(const int *values, const std::vector<int> &host)
{
    std::vector<int> offsets(SEGMENTS + 1), expected(SEGMENTS);
    for (int i = 0; i <= SEGMENTS; i++)
        offsets[i] = i * i * 7;
    for (int i = 0; i < SEGMENTS; i++)
        for (int k = offsets[i]; k < offsets[i + 1]; k++)
            expected[i] += host[k];
    int *device_offsets, *sums;
    CHECK(cudaMalloc(&device_offsets, (SEGMENTS + 1) * sizeof(int)));
    CHECK(cudaMalloc(&sums, SEGMENTS * sizeof(int)));
    CHECK(cudaMemcpy(device_offsets, offsets.data(), (SEGMENTS + 1) * sizeof(int),
                     cudaMemcpyHostToDevice));
    WITH_TEMPORARY(cub::DeviceSegmentedReduce::Sum(temporary, bytes, values, sums, SEGMENTS,
                                                   device_offsets, device_offsets + 1));
    EXPECT(copy_back(sums, SEGMENTS) == expected);
}

int main()
{
    std::vector<int> host(COUNT);
    for (int i = 0; i < COUNT; i++)
        host[i] = (i / 3 * 7919 % 1009) % 128;
    int *values;
    CHECK(cudaMalloc(&values, COUNT * sizeof(int)));
    CHECK(cudaMemcpy(values, host.data(), COUNT * sizeof(int), cudaMemcpyHostToDevice));
    histogram(values, host);
    select(values, host);
    run_lengths(values, host);
    segments(values, host);
    return finish();
}
