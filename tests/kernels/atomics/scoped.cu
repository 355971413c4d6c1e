/* nvcc: -arch=sm_75 */

/* Atomics with a memory order and a scope, generated from cuda::atomic_ref, and reductions (red),
 * which return no result. */
#include <cuda/atomic>

extern "C" __global__ void scoped(unsigned n, const unsigned *in, unsigned *words, unsigned *most,
                                  float *sum, unsigned *seen)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    cuda::atomic_ref<unsigned, cuda::thread_scope_device> total(words[0]);
    cuda::atomic_ref<unsigned, cuda::thread_scope_system> mixed(words[1]), ready(words[2]);
    cuda::atomic_ref<unsigned, cuda::thread_scope_block> greatest(most[blockIdx.x]);
    total.fetch_add(in[i], cuda::memory_order_relaxed);
    greatest.fetch_max(in[i], cuda::memory_order_acq_rel);
    unsigned old = mixed.load(cuda::memory_order_relaxed);
    while (!mixed.compare_exchange_weak(old, old ^ in[i], cuda::memory_order_acq_rel))
        ;
    cuda::atomic_thread_fence(cuda::memory_order_seq_cst, cuda::thread_scope_device);
    ready.store(7, cuda::memory_order_release);
    seen[i] = ready.load(cuda::memory_order_acquire);
    asm volatile("red.global.add.f32 [%0], %1;" ::"l"(sum), "f"((float)(in[i] % 8)) : "memory");
    asm volatile("red.global.or.b32 [%0], %1;" ::"l"(&words[3]), "r"(1u << (in[i] % 32))
                 : "memory");
}
