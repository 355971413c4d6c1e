/* nvcc: -arch=sm_90 */
/* Kernels of neural networks and of machine learning. */

/* A block per row, three passes over the row. */
extern "C" __global__ void softmax_blocks(float *out, const float *__restrict__ x, int columns)
{
    __shared__ float part[8];
    const float *row = x + (size_t)blockIdx.x * columns;
    float top = -1e30f, sum = 0;
    for (int i = threadIdx.x; i < columns; i += 256)
        top = fmaxf(top, row[i]);
    for (int d = 16; d > 0; d /= 2)
        top = fmaxf(top, __shfl_xor_sync(~0u, top, d));
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = top;
    __syncthreads();
    for (int i = 0; i < 8; i++)
        top = fmaxf(top, part[i]);
    __syncthreads();
    for (int i = threadIdx.x; i < columns; i += 256)
        sum += __expf(row[i] - top);
    for (int d = 16; d > 0; d /= 2)
        sum += __shfl_xor_sync(~0u, sum, d);
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = sum;
    __syncthreads();
    sum = 0;
    for (int i = 0; i < 8; i++)
        sum += part[i];
    for (int i = threadIdx.x; i < columns; i += 256)
        out[(size_t)blockIdx.x * columns + i] = __expf(row[i] - top) / sum;
}

/* A warp per row of 768 elements, which stay in registers. */
extern "C" __global__ void normalise_warps(float *out, const float4 *__restrict__ x,
                                           const float4 *__restrict__ weight, int rows)
{
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= rows)
        return;
    float4 v[6];
    float sum = 0, squares = 0;
    for (int i = 0; i < 6; i++) {
        v[i] = x[row * 192 + i * 32 + lane];
        sum += v[i].x + v[i].y + v[i].z + v[i].w;
        squares += v[i].x * v[i].x + v[i].y * v[i].y + v[i].z * v[i].z + v[i].w * v[i].w;
    }
    for (int d = 16; d > 0; d /= 2) {
        sum += __shfl_xor_sync(~0u, sum, d);
        squares += __shfl_xor_sync(~0u, squares, d);
    }
    float mean = sum / 768, scale = rsqrtf(squares / 768 - mean * mean + 1e-5f);
    for (int i = 0; i < 6; i++) {
        float4 w = weight[i * 32 + lane];
        ((float4 *)out)[row * 192 + i * 32 + lane] =
            make_float4((v[i].x - mean) * scale * w.x, (v[i].y - mean) * scale * w.y,
                        (v[i].z - mean) * scale * w.z, (v[i].w - mean) * scale * w.w);
    }
}

/* A block per query: the scores in shared memory, then the sum over the values. 64 elements per
 * head. */
extern "C" __global__ void attention_naive(float *out, const float *__restrict__ q,
                                           const float *__restrict__ k, const float *__restrict__ v,
                                           int length)
{
    __shared__ float scores[1024], query[64], total;
    int head = blockIdx.y, row = blockIdx.x, lane = threadIdx.x % 32;
    const float *keys = k + head * length * 64, *values = v + head * length * 64;
    if (threadIdx.x < 64)
        query[threadIdx.x] = q[(head * length + row) * 64 + threadIdx.x];
    if (threadIdx.x == 0)
        total = 0;
    __syncthreads();
    float sum = 0;
    for (int key = threadIdx.x / 32; key < length; key += 4) {
        float s =
            keys[key * 64 + lane] * query[lane] + keys[key * 64 + 32 + lane] * query[32 + lane];
        for (int d = 16; d > 0; d /= 2)
            s += __shfl_xor_sync(~0u, s, d);
        s = __expf(s * 0.125f);
        if (lane == 0)
            scores[key] = s;
        sum += s;
    }
    if (lane == 0)
        atomicAdd(&total, sum);
    __syncthreads();
    if (threadIdx.x < 64) {
        float result = 0;
        for (int key = 0; key < length; key++)
            result += scores[key] * values[key * 64 + threadIdx.x];
        out[(head * length + row) * 64 + threadIdx.x] = result / total;
    }
}

/* 32 queries per block; tiles of 32 keys and values in shared memory. A warp handles eight queries.
 */
extern "C" __global__ void attention_tiled(float *out, const float *__restrict__ q,
                                           const float *__restrict__ k, const float *__restrict__ v,
                                           int length)
{
    __shared__ float tk[32][65], tv[32][64], tq[32][64];
    int head = blockIdx.y, first = blockIdx.x * 32, lane = threadIdx.x % 32,
        warp = threadIdx.x / 32;
    float total[8] = {}, low[8] = {}, high[8] = {};
    for (int i = threadIdx.x; i < 2048; i += 128)
        tq[i / 64][i % 64] = q[(head * length + first) * 64 + i];
    for (int t = 0; t < length; t += 32) {
        __syncthreads();
        for (int i = threadIdx.x; i < 2048; i += 128) {
            tk[i / 64][i % 64] = k[(head * length + t) * 64 + i];
            tv[i / 64][i % 64] = v[(head * length + t) * 64 + i];
        }
        __syncthreads();
        for (int r = 0; r < 8; r++) {
            float s = 0;
            for (int d = 0; d < 64; d++)
                s += tq[warp * 8 + r][d] * tk[lane][d];
            s = __expf(s * 0.125f);
            total[r] += s;
            for (int key = 0; key < 32; key++) {
                float p = __shfl_sync(~0u, s, key);
                low[r] += p * tv[key][lane];
                high[r] += p * tv[key][lane + 32];
            }
        }
    }
    for (int r = 0; r < 8; r++) {
        for (int d = 16; d > 0; d /= 2)
            total[r] += __shfl_xor_sync(~0u, total[r], d);
        float *row = out + (head * length + first + warp * 8 + r) * 64;
        row[lane] = low[r] / total[r];
        row[lane + 32] = high[r] / total[r];
    }
}

/* Sums the rows of a table that each bag names; a warp per bag. */
extern "C" __global__ void embedding_bags(float *out, const float *__restrict__ table,
                                          const int *__restrict__ indices, int bags, int per_bag)
{
    int bag = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (bag >= bags)
        return;
    float a = 0, b = 0;
    for (int i = 0; i < per_bag; i++) {
        const float *row = table + indices[bag * per_bag + i] * 64;
        a += row[lane];
        b += row[lane + 32];
    }
    out[bag * 64 + lane] = a;
    out[bag * 64 + 32 + lane] = b;
}

/* The nearest of the centres for each point; the coordinates of a point are adjacent. */
extern "C" __global__ void nearest_centre(int *out, const float *__restrict__ points,
                                          const float *__restrict__ centres, int n, int count,
                                          int dims)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, best = 0;
    if (i >= n)
        return;
    float least = 1e30f;
    for (int c = 0; c < count; c++) {
        float distance = 0;
        for (int d = 0; d < dims; d++) {
            float e = points[i * dims + d] - centres[c * dims + d];
            distance += e * e;
        }
        if (distance < least) {
            least = distance;
            best = c;
        }
    }
    out[i] = best;
}

/* 2 x 2 maximum pooling. */
extern "C" __global__ void pool(float *out, const float2 *__restrict__ x, int w, int h)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y,
        channel = blockIdx.z;
    float2 a = x[(channel * h * 2 + r * 2) * w + c], b = x[(channel * h * 2 + r * 2 + 1) * w + c];
    out[(channel * h + r) * w + c] = fmaxf(fmaxf(a.x, a.y), fmaxf(b.x, b.y));
}

/* Adam: four arrays are read, three written. */
extern "C" __global__ void adam(float *p, float *m, float *v, const float *__restrict__ g, int n,
                                float rate)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float a = 0.9f * m[i] + 0.1f * g[i], b = 0.999f * v[i] + 0.001f * g[i] * g[i];
        m[i] = a;
        v[i] = b;
        p[i] -= rate * a / (sqrtf(b) + 1e-8f);
    }
}
