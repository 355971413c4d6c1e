/* Tests of the PTX engine with kernels written in CUDA C. The expected results come from references
 * in plain C that run on the CPU.
 *
 *   FOLDER/NAME.cu     the kernels by subject, and FOLDER/NAME.ptx, which nvcc generated from them
 *                      (make-ptx)
 *   test_kernels.c     runs all tests
 *   kernel_helpers.c   helper functions for the tests, declared here
 *   kernel_slice.c     checks launches that skip data
 *   kernels_*.c        the tests by subject; most test one kernel and have its name
 *
 * A test loads the PTX, adds the arguments of the kernel in order, launches it and compares the
 * results with those of the reference for the same input. Results that IEEE 754 defines must be
 * equal bit for bit: the reference performs the operations in the order of the PTX, and uses fma
 * where the PTX does. (NVIDIA's assembler may fuse a mul and an add without a rounding modifier,
 * therefore the results of an H200 for lu and half_pairs differ in the last bits.)
 */
#ifndef FTH_TESTS_KERNELS_H
#define FTH_TESTS_KERNELS_H

#include "../unit/check.h"
#include "ptx/ptx.h"

/* The kernel under test. kernel_setup creates it before each test; kernel_teardown frees it after
 * the test, also if the test fails. */
struct kernel {
    struct fth_ptx_module *module;
    struct fth_ptx_machine *machine;
    const struct fth_ptx_kernel *info;
    unsigned char arguments[1024];
    size_t argument_count; /* arguments added so far */
    size_t inconclusive;   /* launches that could not be executed without data */
    struct fth_rng rng;
    struct fth_arena arena;
};

int kernel_setup(void **state);
int kernel_teardown(void **state);

/* Reads FILE.ptx (FOLDER/NAME) and selects the kernel `name`. A test may call it several times. */
void load_kernel(struct kernel *k, const char *file, const char *name);
/* Adds the next argument. Fails if `bytes` is not the size of the parameter. */
void add_argument(struct kernel *k, const void *value, size_t bytes);
#define ADD_ARGUMENT(k, type, value) add_argument(k, &(type){value}, sizeof(type))
/* Allocates zeroed device memory and adds its address as the next argument. Returns a host pointer
 * to the memory. */
void *add_buffer(struct kernel *k, size_t bytes);
/* The same, but does not add an argument: stores the device address in *address, for example for a
 * struct that is passed by value. */
void *alloc_buffer(struct kernel *k, size_t bytes, uint64_t *address);
/* Returns a host pointer to a variable of the module. Fails if its size is not `bytes`. */
void *module_variable(struct kernel *k, const char *name, size_t bytes);
/* Runs the kernel and fails the test if it does not complete. */
void launch(struct kernel *k, uint32_t grid, uint32_t block);
/* `shared` is the size of dynamic shared memory in bytes. */
void launch_3d(struct kernel *k, const uint32_t grid[3], const uint32_t block[3], size_t shared);

/* Executes a launch with and without data, and compares what an observer sees. The memory is the
 * same afterwards. launch and launch_3d call it. */
void check_slice(struct kernel *k, const struct fth_ptx_launch *launch);

/* Host memory that is freed after the test. alloc_host zeroes it; copy_to_host copies `from`. */
void *alloc_host(struct kernel *k, size_t bytes);
void *copy_to_host(struct kernel *k, const void *from, size_t bytes);

/* Fill arrays with random values from a generator with a fixed seed. The range is low to high; for
 * integers it includes both. */
void fill_bytes(struct kernel *k, void *to, size_t bytes);
void fill_s32(struct kernel *k, int32_t *to, size_t count, int32_t low, int32_t high);
void fill_f32(struct kernel *k, float *to, size_t count, float low, float high);
void fill_f64(struct kernel *k, double *to, size_t count, double low, double high);

/* Compare arrays. At the first difference, they fail with the index, the actual and the expected
 * value. Floats may differ by `ulps` units in the last place; all NaNs count as equal. `what` names
 * the array in the message. */
void check_integers(const char *what, const void *got, const void *want, size_t count, size_t size);
#define CHECK_INTEGERS(what, got, want, count)                                                     \
    check_integers(what, got, 1 ? (want) : (got), count, sizeof *(got))
void check_f32(const char *what, const float *got, const float *want, size_t count, uint32_t ulps);
void check_f64(const char *what, const double *got, const double *want, size_t count,
               uint64_t ulps);
/* Fails if the difference is greater than `bound`. */
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
    TEST(inlined)                                                                                  \
    /* textures.c */                                                                               \
    TEST(sample_bilinear)                                                                          \
    TEST(sample_volume)                                                                            \
    TEST(sample_layers)                                                                            \
    TEST(gather)                                                                                   \
    TEST(add_neighbours)                                                                           \
    /* runtime.c */                                                                                \
    TEST(linked_lists)                                                                             \
    TEST(prints)                                                                                   \
    TEST(asserts)                                                                                  \
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
