/* nvcc: -arch=sm_90a */
/* Copies of tensors with one to five dimensions through tensor maps: loads, stores, reductions, prefetches. The kernels also copy
 * the bytes of shared memory as they are, so that the results show the swizzled layout and the fill of elements outside. */
#include <cuda.h>
#include <stdint.h>

__device__ static unsigned shared_address(const void *pointer)
{
    return (unsigned)__cvta_generic_to_shared(pointer);
}

__device__ static void wait(uint64_t *barrier, unsigned parity)
{
    asm volatile("{\n.reg .pred done;\nagain:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n@!done bra again;\n}" ::"r"(
                     shared_address(barrier)),
                 "r"(parity)
                 : "memory");
}

/* The largest box has 2048 bytes. */
static __shared__ __align__(1024) char tile[2048];

__device__ static void prepare(uint64_t *barrier, unsigned bytes)
{
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(barrier)) : "memory");
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    }
    for (int i = threadIdx.x; i < (int)bytes; i += blockDim.x)
        tile[i] = (char)0xcc;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0)
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes) : "memory");
}

__device__ static void copy_out(char *out, unsigned bytes)
{
    for (int i = threadIdx.x; i < (int)bytes; i += blockDim.x)
        out[blockIdx.x * bytes + i] = tile[i];
}

/* Block b loads the box at the given coordinates, moved by b * step in the first dimension. */
#define LOAD(dimensions, coordinates, ...)                                                                                         \
    extern "C" __global__ void load_##dimensions##d(const __grid_constant__ CUtensorMap map, char *out, int bytes, int step, int c0, \
                                                    int c1, int c2, int c3, int c4)                                                \
    {                                                                                                                              \
        __shared__ uint64_t barrier;                                                                                               \
        c0 += blockIdx.x * step;                                                                                                   \
        prepare(&barrier, bytes);                                                                                                  \
        if (threadIdx.x == 0)                                                                                                      \
            asm volatile("cp.async.bulk.tensor." #dimensions                                                                       \
                         "d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {" coordinates "}], [%2];" ::"r"(  \
                             shared_address(tile)),                                                                                \
                         "l"(&map), "r"(shared_address(&barrier)), __VA_ARGS__                                                     \
                         : "memory");                                                                                              \
        wait(&barrier, 0);                                                                                                         \
        copy_out(out, bytes);                                                                                                      \
    }
LOAD(1, "%3", "r"(c0))
LOAD(2, "%3, %4", "r"(c0), "r"(c1))
LOAD(3, "%3, %4, %5", "r"(c0), "r"(c1), "r"(c2))
LOAD(4, "%3, %4, %5, %6", "r"(c0), "r"(c1), "r"(c2), "r"(c3))
LOAD(5, "%3, %4, %5, %6, %7", "r"(c0), "r"(c1), "r"(c2), "r"(c3), "r"(c4))

/* Block b stores the bytes x to the box at the given coordinates, moved by b * step in the first dimension. */
#define STORE(name, dimensions, instruction, coordinates, ...)                                                                     \
    extern "C" __global__ void name(const __grid_constant__ CUtensorMap map, const char *x, int bytes, int step, int c0, int c1,   \
                                    int c2)                                                                                        \
    {                                                                                                                              \
        c0 += blockIdx.x * step;                                                                                                   \
        for (int i = threadIdx.x; i < bytes; i += blockDim.x)                                                                      \
            tile[i] = x[blockIdx.x * bytes + i];                                                                                   \
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");                                                               \
        __syncthreads();                                                                                                           \
        if (threadIdx.x == 0) {                                                                                                    \
            asm volatile(instruction " [%0, {" coordinates "}], [%1];" ::"l"(&map), "r"(shared_address(tile)), __VA_ARGS__ : "memory"); \
            asm volatile("cp.async.bulk.commit_group;" ::: "memory");                                                              \
            asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");                                                              \
        }                                                                                                                          \
    }
#define TO_GLOBAL(dimensions) "cp.async.bulk.tensor." dimensions ".global.shared::cta.tile.bulk_group"
#define REDUCED(operation) "cp.reduce.async.bulk.tensor.2d.global.shared::cta." operation ".tile.bulk_group"
STORE(store_1d, 1, TO_GLOBAL("1d"), "%2", "r"(c0))
STORE(store_2d, 2, TO_GLOBAL("2d"), "%2, %3", "r"(c0), "r"(c1))
STORE(store_3d, 3, TO_GLOBAL("3d"), "%2, %3, %4", "r"(c0), "r"(c1), "r"(c2))
STORE(reduce_add, 2, REDUCED("add"), "%2, %3", "r"(c0), "r"(c1))
STORE(reduce_max, 2, REDUCED("max"), "%2, %3", "r"(c0), "r"(c1))
STORE(reduce_xor, 2, REDUCED("xor"), "%2, %3", "r"(c0), "r"(c1))

/* Prefetches the map and the box before it loads the box. */
extern "C" __global__ void load_prefetched(const __grid_constant__ CUtensorMap map, char *out, int bytes, int c0, int c1)
{
    __shared__ uint64_t barrier;
    if (threadIdx.x == 0) {
        asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
        asm volatile("cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%0, {%1, %2}];" ::"l"(&map), "r"(c0), "r"(c1) : "memory");
    }
    prepare(&barrier, bytes);
    if (threadIdx.x == 0)
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1, {%3, %4}], "
                     "[%2], %5;" ::"r"(shared_address(tile)),
                     "l"(&map), "r"(shared_address(&barrier)), "r"(c0), "r"(c1), "l"(0x12f0000000000000ull)
                     : "memory");
    wait(&barrier, 0);
    copy_out(out, bytes);
}

/* Loads pixels of an image in im2col order: {channel, x, y, image} with the offsets of a filter tap. */
extern "C" __global__ void load_im2col(const __grid_constant__ CUtensorMap map, char *out, int bytes, int channel, int x, int y, int image,
                                       int tap_x, int tap_y)
{
    __shared__ uint64_t barrier;
    prepare(&barrier, bytes);
    if (threadIdx.x == 0)
        asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6}], "
                     "[%2], {%7, %8};" ::"r"(shared_address(tile)),
                     "l"(&map), "r"(shared_address(&barrier)), "r"(channel), "r"(x), "r"(y), "r"(image), "h"((short)tap_x), "h"((short)tap_y)
                     : "memory");
    wait(&barrier, 0);
    copy_out(out, bytes);
}

/* Makes the map of another tensor from a map, in shared memory, publishes it through global memory, and loads with it. */
extern "C" __global__ void load_replaced(const __grid_constant__ CUtensorMap map, CUtensorMap *scratch, const float *x, char *out, int bytes,
                                         int width, int height)
{
    __shared__ uint64_t barrier;
    __shared__ __align__(128) char copy[128];
    if (threadIdx.x < 32) {
        ((unsigned *)copy)[threadIdx.x] = ((const unsigned *)&map)[threadIdx.x];
        __syncwarp();
        if (threadIdx.x == 0) {
            unsigned at = shared_address(copy);
            asm volatile("tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%0], %1;" ::"r"(at), "l"(x) : "memory");
            asm volatile("tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%0], 0, %1;" ::"r"(at), "r"(width) : "memory");
            asm volatile("tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%0], 1, %1;" ::"r"(at), "r"(height) : "memory");
            asm volatile("tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [%0], 0, %1;" ::"r"(at), "l"((uint64_t)width * 4) : "memory");
        }
        __syncwarp();
        asm volatile("tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%0], [%1], 128;" ::"l"(scratch),
                     "r"(shared_address(copy))
                     : "memory");
        asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(scratch) : "memory");
    }
    prepare(&barrier, bytes);
    if (threadIdx.x == 0)
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::"r"(
                         shared_address(tile)),
                     "l"(scratch), "r"(shared_address(&barrier)), "r"(8), "r"(1)
                     : "memory");
    wait(&barrier, 0);
    copy_out(out, bytes);
}
