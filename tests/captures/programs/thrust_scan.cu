// Thrust: inclusive and exclusive scans, scans by key, transformations and differences.
#include "../../programs/expect.h"
#include <thrust/adjacent_difference.h>
#include <thrust/device_vector.h>
#include <thrust/functional.h>
#include <thrust/host_vector.h>
#include <thrust/iterator/zip_iterator.h>
#include <thrust/scan.h>
#include <thrust/sequence.h>
#include <thrust/transform.h>
#include <thrust/tuple.h>

struct saxpy {
    float factor;
    __host__ __device__ float operator()(float x, float y) const
    {
        return factor * x + y;
    }
};

struct product {
    __host__ __device__ int operator()(const thrust::tuple<int, int> &pair) const
    {
        return thrust::get<0>(pair) * thrust::get<1>(pair);
    }
};

static void scans()
{
    const int count = 10000;
    thrust::host_vector<int> values(count), keys(count);
    for (int i = 0; i < count; i++) {
        values[i] = i * 37 % 101 - 50;
        keys[i] = i / 7;
    }
    thrust::device_vector<int> device = values, device_keys = keys, result(count);
    thrust::host_vector<int> back;
    thrust::inclusive_scan(device.begin(), device.end(), result.begin());
    back = result;
    for (int i = 0, sum = 0; i < count; i++)
        EXPECT(back[i] == (sum += values[i]));
    thrust::exclusive_scan(device.begin(), device.end(), result.begin(), -1000000,
                           thrust::maximum<int>());
    back = result;
    for (int i = 0, largest = -1000000; i < count; i++) {
        EXPECT(back[i] == largest);
        largest = values[i] > largest ? values[i] : largest;
    }
    thrust::inclusive_scan_by_key(device_keys.begin(), device_keys.end(), device.begin(),
                                  result.begin());
    back = result;
    for (int i = 0, sum = 0; i < count; i++) {
        sum = i % 7 == 0 ? values[i] : sum + values[i];
        EXPECT(back[i] == sum);
    }
    thrust::adjacent_difference(device.begin(), device.end(), result.begin());
    back = result;
    for (int i = 0; i < count; i++)
        EXPECT(back[i] == (i == 0 ? values[0] : values[i] - values[i - 1]));
}

static void transformations()
{
    const int count = 5000;
    thrust::device_vector<float> x(count), y(count, 0.5f);
    thrust::sequence(x.begin(), x.end());
    thrust::transform(x.begin(), x.end(), y.begin(), y.begin(), saxpy{0.25f});
    thrust::host_vector<float> back = y;
    for (int i = 0; i < count; i++)
        EXPECT(back[i] == 0.25f * (float)i + 0.5f);
    thrust::device_vector<int> a(count), b(count), c(count);
    thrust::sequence(a.begin(), a.end());
    thrust::sequence(b.begin(), b.end(), 3, 2);
    thrust::transform(thrust::make_zip_iterator(a.begin(), b.begin()),
                      thrust::make_zip_iterator(a.end(), b.end()), c.begin(), product());
    thrust::host_vector<int> products = c;
    for (int i = 0; i < count; i++)
        EXPECT(products[i] == i * (3 + 2 * i));
}

int main()
{
    scans();
    transformations();
    return finish();
}
