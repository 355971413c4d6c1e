/* tests/kernels/: CUDA C kernels of our own, the PTX that nvcc makes of them, and CPU references.
 *
 *   NAME.cu, NAME.ptx  kernels, and what make-ptx made of them
 *   test_kernels.c     runs all tests            kernels.c  what they share, declared here
 *   flow.c  memory.c  warps.c  atomics.c  floats.c  halves.c  integers.c  programs.c
 *                      the tests, one a kernel, by theme
 *
 * A test reads the PTX, gives the kernel its arguments in order, launches it and compares with what
 * plain C makes of the same input. Where IEEE 754 settles the result, bits must agree: a reference
 * keeps the order of operations of the PTX and says fma where that does. (A GPU's assembler may
 * fuse a mul and an add that name no rounding; so an H200 differs in the last bits of lu and
 * half_pairs.)
 */
#ifndef FTH_TESTS_KERNELS_H
#define FTH_TESTS_KERNELS_H

#include "../unit/check.h"
#include "ptx/ptx.h"

/* The kernel under test, made for each test anew and freed behind it, also where it fails. */
struct kernel {
    struct fth_ptx_module *module;
    struct fth_ptx_machine *machine;
    const struct fth_ptx_kernel *about;
    unsigned char arguments[1024];
    size_t given; /* parameters that have their argument */
    struct fth_rng rng;
    struct fth_arena arena;
};

int kernel_setup(void **state);
int kernel_teardown(void **state);

/* Reads FILE.ptx and chooses a kernel of it. */
void use(struct kernel *k, const char *file, const char *name);
/* The next argument, as bytes; its size must be the parameter's. */
void give_bytes(struct kernel *k, const void *value, size_t bytes);
#define GIVE(k, type, value) give_bytes(k, &(type){value}, sizeof(type))
/* Zeroed device memory, seen from the host; its address is the next argument. */
void *give_buffer(struct kernel *k, size_t bytes);
/* The same without an argument, which a struct may then carry. */
void *buffer(struct kernel *k, size_t bytes, uint64_t *address);
/* A variable of the module, seen from the host. */
void *variable(struct kernel *k, const char *name, size_t bytes);
void launch(struct kernel *k, uint32_t grid, uint32_t block);
void launch_3d(struct kernel *k, const uint32_t grid[3], const uint32_t block[3], size_t shared);

/* Host memory that lives as long as the test, zeroed or with a copy of what is there now. */
void *scratch(struct kernel *k, size_t bytes);
void *copy(struct kernel *k, const void *from, size_t bytes);

void fill_bytes(struct kernel *k, void *to, size_t bytes);
/* From low to high, both included. */
void fill_s32(struct kernel *k, int32_t *to, size_t count, int32_t low, int32_t high);
void fill_f32(struct kernel *k, float *to, size_t count, float low, float high);
void fill_f64(struct kernel *k, double *to, size_t count, double low, double high);

/* Each fails with the index, what was got and what was expected. Any NaN stands for any other. */
void check_integers(const char *what, const void *got, const void *want, size_t count, size_t size);
#define CHECK_INTEGERS(what, got, want, count)                                                     \
    check_integers(what, got, 1 ? (want) : (got), count, sizeof *(got))
void check_f32(const char *what, const float *got, const float *want, size_t count, uint32_t ulps);
void check_f64(const char *what, const double *got, const double *want, size_t count,
               uint64_t ulps);
/* As far apart as the absolute bound says. */
void check_near(const char *what, size_t index, double got, double want, double bound);

#define KERNEL_TESTS(TEST)                                                                         \
    /* flow.c */                                                                                   \
    TEST(grid_stride)                                                                              \
    TEST(stride_down)                                                                              \
    TEST(collatz)                                                                                  \
    TEST(switch_ops)                                                                               \
    TEST(jump_table)                                                                               \
    TEST(early_return)                                                                             \
    TEST(call_struct)                                                                              \
    TEST(call_array)                                                                               \
    TEST(call_depth)                                                                               \
    TEST(indirect)                                                                                 \
    TEST(mandelbrot)                                                                               \
    TEST(queens)                                                                                   \
    TEST(unroll)                                                                                   \
    TEST(debug)                                                                                    \
    TEST(grid3d)                                                                                   \
    TEST(clocks)                                                                                   \
    TEST(newer)                                                                                    \
    /* memory.c */                                                                                 \
    TEST(matmul_naive)                                                                             \
    TEST(matmul_tiled)                                                                             \
    TEST(transpose)                                                                                \
    TEST(stencil)                                                                                  \
    TEST(struct_param)                                                                             \
    TEST(grid_constant)                                                                            \
    TEST(local_array)                                                                              \
    TEST(dynamic_shared)                                                                           \
    TEST(constants)                                                                                \
    TEST(texture_float)                                                                            \
    TEST(texture_int)                                                                              \
    TEST(texture_uint4)                                                                            \
    TEST(texture_float2)                                                                           \
    TEST(read_only)                                                                                \
    TEST(cache_hints)                                                                              \
    TEST(vectors)                                                                                  \
    TEST(pixels)                                                                                   \
    TEST(generic)                                                                                  \
    TEST(async_copy)                                                                               \
    /* warps.c */                                                                                  \
    TEST(dot)                                                                                      \
    TEST(dot_xor)                                                                                  \
    TEST(scan_block)                                                                               \
    TEST(scan_warp)                                                                                \
    TEST(bitonic)                                                                                  \
    TEST(votes)                                                                                    \
    TEST(shuffles)                                                                                 \
    TEST(parts)                                                                                    \
    TEST(meet)                                                                                     \
    TEST(left)                                                                                     \
    TEST(coalesced)                                                                                \
    TEST(redux)                                                                                    \
    TEST(compact)                                                                                  \
    TEST(named_barriers)                                                                           \
    TEST(producer)                                                                                 \
    TEST(barrier_votes)                                                                            \
    TEST(newer_warps)                                                                              \
    TEST(cluster_sum)                                                                              \
    TEST(cluster_ring)                                                                             \
    TEST(cluster_cube)                                                                             \
    /* atomics.c */                                                                                \
    TEST(histogram)                                                                                \
    TEST(atomics_int)                                                                              \
    TEST(atomics_wide)                                                                             \
    TEST(atomics_shared)                                                                           \
    TEST(scoped)                                                                                   \
    TEST(aggregate)                                                                                \
    TEST(last_block)                                                                               \
    TEST(spin)                                                                                     \
    TEST(lock)                                                                                     \
    /* floats.c */                                                                                 \
    TEST(saxpy)                                                                                    \
    TEST(spmv)                                                                                     \
    TEST(kahan)                                                                                    \
    TEST(n_body)                                                                                   \
    TEST(lu)                                                                                       \
    TEST(double_rounding)                                                                          \
    TEST(double_pieces)                                                                            \
    TEST(float_ieee)                                                                               \
    TEST(float_compare)                                                                            \
    TEST(math_floats)                                                                              \
    TEST(math_doubles)                                                                             \
    TEST(fast_math)                                                                                \
    TEST(flush)                                                                                    \
    /* halves.c */                                                                                 \
    TEST(half_scalar)                                                                              \
    TEST(half_pairs)                                                                               \
    TEST(half_convert)                                                                             \
    TEST(bf16_axpy)                                                                                \
    TEST(bf16_pairs)                                                                               \
    /* integers.c */                                                                               \
    TEST(bits)                                                                                     \
    TEST(wide)                                                                                     \
    TEST(fields)                                                                                   \
    TEST(int128)                                                                                   \
    TEST(carry)                                                                                    \
    TEST(float_to_int)                                                                             \
    TEST(int_to_float)                                                                             \
    TEST(small_types)                                                                              \
    TEST(simd)                                                                                     \
    TEST(divide)                                                                                   \
    TEST(divide_wide)                                                                              \
    TEST(divide_fast)                                                                              \
    /* programs.c */                                                                               \
    TEST(rng)                                                                                      \
    TEST(mersenne)                                                                                 \
    TEST(sha256)                                                                                   \
    TEST(life)                                                                                     \
    TEST(string_search)                                                                            \
    TEST(lower_bound)

#define DECLARE(name) void kernel_##name(void **state);
KERNEL_TESTS(DECLARE)
#undef DECLARE

#endif
