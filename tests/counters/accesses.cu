/* nvcc: -arch=sm_90a */
/* One memory instruction per kernel, with addresses from a buffer, for the comparison with a GPU's counters. The assembler cannot
 * merge, split or remove the instruction, because it does not know the addresses.
 *
 * Block b takes the offsets of pattern b: 32 numbers, one per lane, in units of `unit` bytes. Lanes outside `mask` do not take part. */
#include "helpers.h"

/* ---- global memory ---- */

#define GLOBAL(name, access)                                                                                                       \
    extern "C" __global__ void name(const unsigned *offsets, unsigned unit, unsigned mask, char *data, unsigned *out)              \
    {                                                                                                                              \
        char *at = data + (size_t)offsets[blockIdx.x * 32 + threadIdx.x] * unit;                                                   \
        unsigned a = threadIdx.x, b = 1, c = 2, d = 3;                                                                             \
        unsigned long long w = threadIdx.x;                                                                                        \
        if (mask >> threadIdx.x & 1) {                                                                                             \
            access                                                                                                                 \
        }                                                                                                                          \
        out[blockIdx.x * 32 + threadIdx.x] = a ^ b ^ c ^ d ^ (unsigned)w ^ (unsigned)(w >> 32);                                     \
    }
#define LOAD_1(text) asm volatile(text " %0, [%1];" : "=r"(a) : "l"(at) : "memory");
#define LOAD_W(text) asm volatile(text " %0, [%1];" : "=l"(w) : "l"(at) : "memory");
#define LOAD_4(text) asm volatile(text " {%0, %1, %2, %3}, [%4];" : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "l"(at) : "memory");
#define STORE_1(text) asm volatile(text " [%0], %1;" ::"l"(at), "r"(a) : "memory");
#define STORE_W(text) asm volatile(text " [%0], %1;" ::"l"(at), "l"(w) : "memory");
#define STORE_4(text) asm volatile(text " [%0], {%1, %2, %3, %4};" ::"l"(at), "r"(a), "r"(b), "r"(c), "r"(d) : "memory");
#define ATOM_1(text) asm volatile(text " %0, [%1], %2;" : "=r"(a) : "l"(at), "r"(b) : "memory");
#define ATOM_W(text) asm volatile(text " %0, [%1], %2;" : "=l"(w) : "l"(at), "l"(w) : "memory");
#define ATOM_CAS(text) asm volatile(text " %0, [%1], %2, %3;" : "=r"(a) : "l"(at), "r"(b), "r"(c) : "memory");
GLOBAL(global_load_8, LOAD_1("ld.global.u8"))
GLOBAL(global_load_16, LOAD_1("ld.global.u16"))
GLOBAL(global_load_32, LOAD_1("ld.global.u32"))
GLOBAL(global_load_64, LOAD_W("ld.global.u64"))
GLOBAL(global_load_128, LOAD_4("ld.global.v4.u32"))
GLOBAL(global_load_nc, LOAD_1("ld.global.nc.u32"))
GLOBAL(global_load_nc_128, LOAD_4("ld.global.nc.v4.u32"))
GLOBAL(global_load_cg, LOAD_1("ld.global.cg.u32"))
GLOBAL(global_load_cv, LOAD_1("ld.global.cv.u32"))
GLOBAL(global_load_cs, LOAD_1("ld.global.cs.u32"))
GLOBAL(global_load_no_allocate, LOAD_1("ld.global.L1::no_allocate.u32"))
GLOBAL(global_load_relaxed, LOAD_1("ld.relaxed.gpu.global.u32"))
GLOBAL(global_store_8, STORE_1("st.global.u8"))
GLOBAL(global_store_32, STORE_1("st.global.u32"))
GLOBAL(global_store_64, STORE_W("st.global.u64"))
GLOBAL(global_store_128, STORE_4("st.global.v4.u32"))
GLOBAL(global_store_wt, STORE_1("st.global.wt.u32"))
GLOBAL(global_red_u32, STORE_1("red.global.add.u32"))
GLOBAL(global_red_f32, asm volatile("red.global.add.f32 [%0], %1;" ::"l"(at), "f"((float)a) : "memory");)
GLOBAL(global_red_u64, STORE_W("red.global.add.u64"))
GLOBAL(global_red_v4, asm volatile("red.global.add.v4.f32 [%0], {%1, %1, %1, %1};" ::"l"(at), "f"((float)a) : "memory");)
GLOBAL(global_atom_u32, ATOM_1("atom.global.add.u32"))
GLOBAL(global_atom_u64, ATOM_W("atom.global.add.u64"))
GLOBAL(global_atom_cas, ATOM_CAS("atom.global.cas.b32"))

/* ---- shared memory ---- */

#define SHARED(name, access)                                                                                                       \
    extern "C" __global__ void name(const unsigned *offsets, unsigned unit, unsigned mask, unsigned *out)                          \
    {                                                                                                                              \
        unsigned at = shared_address(memory) + offsets[blockIdx.x * 32 + threadIdx.x] * unit;                                      \
        unsigned a = threadIdx.x, b = 1, c = 2, d = 3;                                                                             \
        unsigned long long w = threadIdx.x;                                                                                        \
        if (mask >> threadIdx.x & 1) {                                                                                             \
            access                                                                                                                 \
        }                                                                                                                          \
        out[blockIdx.x * 32 + threadIdx.x] = a ^ b ^ c ^ d ^ (unsigned)w ^ (unsigned)(w >> 32);                                     \
    }
#define LOADS_1(text) asm volatile(text " %0, [%1];" : "=r"(a) : "r"(at) : "memory");
#define LOADS_W(text) asm volatile(text " %0, [%1];" : "=l"(w) : "r"(at) : "memory");
#define LOADS_4(text) asm volatile(text " {%0, %1, %2, %3}, [%4];" : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"(at) : "memory");
#define STORES_1(text) asm volatile(text " [%0], %1;" ::"r"(at), "r"(a) : "memory");
#define STORES_W(text) asm volatile(text " [%0], %1;" ::"r"(at), "l"(w) : "memory");
#define STORES_4(text) asm volatile(text " [%0], {%1, %2, %3, %4};" ::"r"(at), "r"(a), "r"(b), "r"(c), "r"(d) : "memory");
#define ATOMS_1(text) asm volatile(text " %0, [%1], %2;" : "=r"(a) : "r"(at), "r"(b) : "memory");
#define ATOMS_CAS(text) asm volatile(text " %0, [%1], %2, %3;" : "=r"(a) : "r"(at), "r"(b), "r"(c) : "memory");
SHARED(shared_load_8, LOADS_1("ld.shared.u8"))
SHARED(shared_load_16, LOADS_1("ld.shared.u16"))
SHARED(shared_load_32, LOADS_1("ld.shared.u32"))
SHARED(shared_load_64, LOADS_W("ld.shared.u64"))
SHARED(shared_load_128, LOADS_4("ld.shared.v4.u32"))
SHARED(shared_store_8, STORES_1("st.shared.u8"))
SHARED(shared_store_16, STORES_1("st.shared.u16"))
SHARED(shared_store_32, STORES_1("st.shared.u32"))
SHARED(shared_store_64, STORES_W("st.shared.u64"))
SHARED(shared_store_128, STORES_4("st.shared.v4.u32"))
SHARED(shared_atom_add, ATOMS_1("atom.shared.add.u32"))
SHARED(shared_atom_exch, ATOMS_1("atom.shared.exch.b32"))
SHARED(shared_atom_cas, ATOMS_CAS("atom.shared.cas.b32"))
SHARED(shared_red_add, STORES_1("red.shared.add.u32"))

/* ---- matrices of 8 x 8 elements ---- */

#define MATRIX(name, access)                                                                                                       \
    extern "C" __global__ void name(const unsigned *offsets, unsigned unit, unsigned *out)                                         \
    {                                                                                                                              \
        unsigned at = shared_address(memory) + offsets[blockIdx.x * 32 + threadIdx.x] * unit;                                      \
        unsigned a = threadIdx.x, b = 1, c = 2, d = 3;                                                                             \
        access                                                                                                                     \
        out[blockIdx.x * 32 + threadIdx.x] = a ^ b ^ c ^ d;                                                                        \
    }
#define LOAD_M1(t) asm volatile("ldmatrix.sync.aligned.m8n8.x1" t ".shared.b16 {%0}, [%1];" : "=r"(a) : "r"(at) : "memory");
#define LOAD_M2(t) asm volatile("ldmatrix.sync.aligned.m8n8.x2" t ".shared.b16 {%0, %1}, [%2];" : "=r"(a), "=r"(b) : "r"(at) : "memory");
#define LOAD_M4(t) LOADS_4("ldmatrix.sync.aligned.m8n8.x4" t ".shared.b16")
#define STORE_M1(t) asm volatile("stmatrix.sync.aligned.m8n8.x1" t ".shared.b16 [%0], {%1};" ::"r"(at), "r"(a) : "memory");
#define STORE_M2(t) asm volatile("stmatrix.sync.aligned.m8n8.x2" t ".shared.b16 [%0], {%1, %2};" ::"r"(at), "r"(a), "r"(b) : "memory");
#define STORE_M4(t) STORES_4("stmatrix.sync.aligned.m8n8.x4" t ".shared.b16")
MATRIX(ldmatrix_x1, LOAD_M1(""))
MATRIX(ldmatrix_x2, LOAD_M2(""))
MATRIX(ldmatrix_x4, LOAD_M4(""))
MATRIX(ldmatrix_x1_trans, LOAD_M1(".trans"))
MATRIX(ldmatrix_x4_trans, LOAD_M4(".trans"))
MATRIX(stmatrix_x1, STORE_M1(""))
MATRIX(stmatrix_x2, STORE_M2(""))
MATRIX(stmatrix_x4, STORE_M4(""))
MATRIX(stmatrix_x4_trans, STORE_M4(".trans"))

/* ---- cp.async ---- */

/* The lanes copy from the offsets of one pattern to the offsets of another one, in units of the size of a copy. `size` is the number
 * of bytes that are read. */
#define COPY(name, cache, bytes, size)                                                                                             \
    extern "C" __global__ void name(const unsigned *from, const unsigned *to, unsigned mask, const char *data)                     \
    {                                                                                                                              \
        const char *source = data + (size_t)from[blockIdx.x * 32 + threadIdx.x] * bytes;                                           \
        unsigned at = shared_address(memory) + to[blockIdx.x * 32 + threadIdx.x] * bytes;                                          \
        if (mask >> threadIdx.x & 1)                                                                                               \
            asm volatile("cp.async." cache ".shared.global [%0], [%1], " #bytes size ";" ::"r"(at), "l"(source) : "memory");         \
        asm volatile("cp.async.wait_all;" ::: "memory");                                                                           \
    }
COPY(copy_ca_4, "ca", 4, "")
COPY(copy_ca_8, "ca", 8, "")
COPY(copy_ca_16, "ca", 16, "")
COPY(copy_cg_16, "cg", 16, "")
COPY(copy_cg_zeros, "cg", 16, ", 0")
