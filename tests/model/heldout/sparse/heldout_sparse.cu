/* nvcc: -arch=sm_90 */
/* Sparse matrices, graphs, gathers and hash tables. */

extern "C" __global__ void csr_threads(float *y, const int *__restrict__ offsets,
                                       const int *__restrict__ columns,
                                       const float *__restrict__ values,
                                       const float *__restrict__ x, int rows)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    float sum = 0;
    for (int i = offsets[row]; i < offsets[row + 1]; i++)
        sum += values[i] * x[columns[i]];
    y[row] = sum;
}

extern "C" __global__ void csr_warps(float *y, const int *__restrict__ offsets,
                                     const int *__restrict__ columns,
                                     const float *__restrict__ values, const float *__restrict__ x,
                                     int rows)
{
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= rows)
        return;
    float sum = 0;
    for (int i = offsets[row] + lane; i < offsets[row + 1]; i += 32)
        sum += values[i] * x[columns[i]];
    for (int d = 16; d > 0; d /= 2)
        sum += __shfl_down_sync(~0u, sum, d);
    if (lane == 0)
        y[row] = sum;
}

extern "C" __global__ void ellpack(float *y, const int *__restrict__ columns,
                                   const float *__restrict__ values, const float *__restrict__ x,
                                   int rows, int width)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    float sum = 0;
    for (int i = 0; i < width; i++)
        sum += values[i * rows + row] * x[columns[i * rows + row]];
    y[row] = sum;
}

extern "C" __global__ void gather(float *out, const float *__restrict__ x,
                                  const int *__restrict__ index, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = x[index[i]];
}

/* The indices of a block are near each other: a random offset within a window that moves with the
 * thread. */
extern "C" __global__ void gather_near(float *out, const float *__restrict__ x,
                                       const int *__restrict__ index, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = x[i / 64 * 64 + index[i]];
}

extern "C" __global__ void scatter(float *out, const float *__restrict__ x,
                                   const int *__restrict__ index, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[index[i]] = x[i];
}

/* A level of a breadth-first search: nodes at `level` mark those of their neighbours that no one
 * has reached (level 3). */
extern "C" __global__ void search_level(int *next, const int *__restrict__ levels,
                                        const int *__restrict__ offsets,
                                        const int *__restrict__ edges, int nodes, int level)
{
    int node = blockIdx.x * blockDim.x + threadIdx.x;
    if (node >= nodes || levels[node] != level)
        return;
    for (int i = offsets[node]; i < offsets[node + 1]; i++)
        if (levels[edges[i]] == 3)
            next[edges[i]] = level + 1;
}

extern "C" __global__ void rank_step(float *next, const float *__restrict__ ranks,
                                     const int *__restrict__ degrees,
                                     const int *__restrict__ offsets,
                                     const int *__restrict__ sources, int nodes)
{
    int node = blockIdx.x * blockDim.x + threadIdx.x;
    if (node >= nodes)
        return;
    float sum = 0;
    for (int i = offsets[node]; i < offsets[node + 1]; i++)
        sum += ranks[sources[i]] / degrees[sources[i]];
    next[node] = 0.15f / nodes + 0.85f * sum;
}

/* Each thread follows a chain of its own. */
extern "C" __global__ void chase(int *out, const int *__restrict__ next, int n, int steps)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, at = (i * 2654435761u) % n;
    for (int s = 0; s < steps; s++)
        at = next[at];
    out[i] = at;
}

extern "C" __global__ void hash_insert(unsigned *table, const unsigned *__restrict__ keys, int n,
                                       unsigned mask)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    unsigned key = keys[i], slot = key * 2654435761u >> 8 & mask;
    for (;;) {
        unsigned old = atomicCAS(table + slot, 0, key);
        if (old == 0 || old == key)
            break;
        slot = (slot + 1) & mask;
    }
}

/* Looks up keys in a table of which every other slot is in use, in runs of random length. */
extern "C" __global__ void hash_lookup(int *out, const unsigned *__restrict__ table,
                                       const unsigned *__restrict__ keys, int n, unsigned mask)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    unsigned key = keys[i], slot = key * 2654435761u >> 8 & mask;
    int steps = 0;
    while (table[slot] > 1 && table[slot] != key) {
        slot = (slot + 1) & mask;
        steps++;
    }
    out[i] = steps;
}
