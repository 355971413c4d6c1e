// Thrust: reductions, counts, and copies of selected elements.
#include "../../programs/expect.h"
#include <thrust/copy.h>
#include <thrust/count.h>
#include <thrust/device_vector.h>
#include <thrust/extrema.h>
#include <thrust/functional.h>
#include <thrust/host_vector.h>
#include <thrust/reduce.h>
#include <thrust/transform_reduce.h>
#include <thrust/unique.h>
#include <vector>

struct square {
    __host__ __device__ float operator()(float x) const
    {
        return x * x;
    }
};

struct multiple_of {
    int divisor;
    __host__ __device__ bool operator()(int x) const
    {
        return x % divisor == 0;
    }
};

static void reductions(const thrust::host_vector<int> &values)
{
    thrust::device_vector<int> device = values;
    long sum = 0;
    int largest = values[0];
    float squares = 0;
    for (int value : values) {
        sum += value;
        largest = value > largest ? value : largest;
        squares += (float)(value * value);
    }
    EXPECT(thrust::reduce(device.begin(), device.end(), 0L) == sum);
    EXPECT(thrust::reduce(device.begin(), device.end(), -1, thrust::maximum<int>()) == largest);
    // Integers below 2^24, so that float sums are exact in any order.
    EXPECT(thrust::transform_reduce(device.begin(), device.end(), square(), 0.0f,
                                    thrust::plus<float>()) == squares);
    auto place = thrust::max_element(device.begin(), device.end());
    EXPECT(values[place - device.begin()] == largest);
}

static void selections(const thrust::host_vector<int> &values)
{
    thrust::device_vector<int> device = values, chosen(values.size());
    std::vector<int> expected;
    for (int value : values)
        if (multiple_of{3}(value))
            expected.push_back(value);
    EXPECT(thrust::count_if(device.begin(), device.end(), multiple_of{3}) == (long)expected.size());
    auto end = thrust::copy_if(device.begin(), device.end(), chosen.begin(), multiple_of{3});
    EXPECT(end - chosen.begin() == (long)expected.size());
    thrust::host_vector<int> back = chosen;
    for (size_t i = 0; i < expected.size(); i++)
        EXPECT(back[i] == expected[i]);
}

static void runs()
{
    const int count = 4000;
    thrust::host_vector<int> keys(count), values(count);
    std::vector<int> starts, sums;
    for (int i = 0; i < count; i++) {
        keys[i] = i * i / 5000;
        values[i] = i % 9;
        if (starts.empty() || starts.back() != keys[i]) {
            starts.push_back(keys[i]);
            sums.push_back(0);
        }
        sums.back() += values[i];
    }
    thrust::device_vector<int> device_keys = keys, device_values = values, out_keys(count),
                               out_sums(count);
    auto ends = thrust::reduce_by_key(device_keys.begin(), device_keys.end(), device_values.begin(),
                                      out_keys.begin(), out_sums.begin());
    EXPECT(ends.first - out_keys.begin() == (long)starts.size());
    thrust::host_vector<int> back_keys = out_keys, back_sums = out_sums;
    for (size_t i = 0; i < starts.size(); i++)
        EXPECT(back_keys[i] == starts[i] && back_sums[i] == sums[i]);
    auto last = thrust::unique(device_keys.begin(), device_keys.end());
    EXPECT(last - device_keys.begin() == (long)starts.size());
}

int main()
{
    thrust::host_vector<int> values(10000);
    for (size_t i = 0; i < values.size(); i++)
        values[i] = (int)(i * 7919 % 61) - 30;
    reductions(values);
    selections(values);
    runs();
    return finish();
}
