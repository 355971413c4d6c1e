// Thrust: sorting of keys, of pairs, and of structures with a comparison of the program's own.
#include "../../programs/expect.h"
#include <algorithm>
#include <numeric>
#include <thrust/device_vector.h>
#include <thrust/functional.h>
#include <thrust/host_vector.h>
#include <thrust/sort.h>
#include <vector>

struct particle {
    int cell;
    float mass;
};

struct by_cell {
    __host__ __device__ bool operator()(const particle &a, const particle &b) const
    {
        return a.cell < b.cell;
    }
};

static unsigned next(unsigned &state)
{
    state = state * 1664525u + 1013904223u;
    return state >> 8;
}

static void sort_keys()
{
    unsigned state = 1;
    thrust::host_vector<unsigned> keys(20000);
    for (unsigned &key : keys)
        key = next(state);
    thrust::device_vector<unsigned> device = keys;
    thrust::sort(device.begin(), device.end());
    std::sort(keys.begin(), keys.end());
    thrust::host_vector<unsigned> back = device;
    EXPECT(back == keys);
}

static void sort_pairs()
{
    const int count = 700;
    unsigned state = 2;
    thrust::host_vector<float> keys(count);
    thrust::host_vector<int> values(count);
    for (int i = 0; i < count; i++) {
        keys[i] = (float)(next(state) % 1000) - 500.0f;
        values[i] = i;
    }
    std::vector<int> order(count);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return keys[a] > keys[b]; });
    thrust::device_vector<float> device_keys = keys;
    thrust::device_vector<int> device_values = values;
    thrust::stable_sort_by_key(device_keys.begin(), device_keys.end(), device_values.begin(),
                               thrust::greater<float>());
    thrust::host_vector<float> back_keys = device_keys;
    thrust::host_vector<int> back_values = device_values;
    for (int i = 0; i < count; i++)
        EXPECT(back_values[i] == order[i] && back_keys[i] == keys[order[i]]);
}

static void sort_structures()
{
    unsigned state = 3;
    thrust::host_vector<particle> particles(3000);
    for (size_t i = 0; i < particles.size(); i++)
        particles[i] = {(int)(next(state) % 100), (float)i};
    thrust::device_vector<particle> device = particles;
    thrust::stable_sort(device.begin(), device.end(), by_cell());
    std::stable_sort(particles.begin(), particles.end(), by_cell());
    thrust::host_vector<particle> back = device;
    for (size_t i = 0; i < particles.size(); i++)
        EXPECT(back[i].cell == particles[i].cell && back[i].mass == particles[i].mass);
}

int main()
{
    sort_keys();
    sort_pairs();
    sort_structures();
    return finish();
}
