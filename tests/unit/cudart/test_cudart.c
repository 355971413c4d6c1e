/* The CUDA runtime on a driver that records the calls: registration as in nvcc's host code,
 * loading, launches and errors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "mock_driver.h"
#include "runtime_calls.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What nvcc generates for a source file: a fat binary, and host copies of kernels and variables. */
static const char container[] = "container";
static struct {
    uint32_t magic, version;
    const void *code;
    void *linked;
} wrapper = {0x466243b1u, 1, container, NULL};
static char kernel_host[2], variable_host[MOCK_VARIABLE_BYTES], unregistered[1];
static void *managed_host;
static const char kernel_name[] = "_Z6kernelPf", variable_name[] = "table";

static void **register_all(void)
{
    void **handle = __cudaRegisterFatBinary(&wrapper);
    __cudaRegisterFunction(handle, kernel_host, (char *)kernel_host, kernel_name, -1, NULL, NULL,
                           NULL, NULL, NULL);
    __cudaRegisterVar(handle, variable_host, variable_host, variable_name, 0, MOCK_VARIABLE_BYTES,
                      1, 0);
    __cudaRegisterManagedVar(handle, &managed_host, NULL, "shared", 0, sizeof(int), 0, 0);
    __cudaRegisterFatBinaryEnd(handle);
    return handle;
}

static int set_up(void **state)
{
    mock_reset();
    mock.context = NULL;
    managed_host = NULL;
    (void)cudaGetLastError();
    *state = register_all();
    return 0;
}

static int tear_down(void **state)
{
    __cudaUnregisterFatBinary(*state);
    return 0;
}

static const struct fth_dim3 grid = {3, 2, 1}, block = {32, 4, 1};

/* A kernel call as nvcc compiles it. */
static int call_kernel(const void *host, struct fth_cu_stream *stream, void **arguments)
{
    const void *kernel = NULL;
    struct fth_dim3 popped_grid, popped_block;
    size_t shared_bytes = 0;
    struct fth_cu_stream *popped_stream = NULL;
    assert_int_equal(__cudaPushCallConfiguration(grid, block, 48, stream), 0);
    assert_int_equal(__cudaGetKernel(&kernel, host), 0);
    assert_int_equal(
        __cudaPopCallConfiguration(&popped_grid, &popped_block, &shared_bytes, &popped_stream), 0);
    return __cudaLaunchKernel(kernel, popped_grid, popped_block, arguments, shared_bytes,
                              popped_stream);
}

static void launches_a_registered_kernel(void **state)
{
    (void)state;
    int argument = 5;
    void *arguments[] = {&argument};
    struct fth_cu_stream *stream = (struct fth_cu_stream *)&argument;
    assert_int_equal(mock_count("cuLibraryLoadData"), 0);
    assert_int_equal(call_kernel(kernel_host, stream, arguments), 0);
    assert_ptr_equal(mock.code, &wrapper);
    assert_string_equal(mock.kernel, kernel_name);
    assert_memory_equal(&mock.launch.grid, &grid, sizeof(grid));
    assert_memory_equal(&mock.launch.block, &block, sizeof(block));
    assert_int_equal(mock.launch.shared_bytes, 48);
    assert_ptr_equal(mock.launch.stream, stream);
    assert_ptr_equal(mock.parameters, arguments);
    assert_int_equal(call_kernel(kernel_host, stream, arguments), 0);
    assert_int_equal(mock_count("cuLibraryLoadData"), 1);
    assert_int_equal(mock_count("cuLaunchKernel"), 2);
    assert_int_equal(mock_count("cuDevicePrimaryCtxRetain"), 1);
}

/* A thread whose program made another context current stays in it. */
static void keeps_the_context_of_the_program(void **state)
{
    (void)state;
    struct fth_cu_context *own = (struct fth_cu_context *)kernel_host;
    mock.context = own;
    assert_int_equal(cudaDeviceSynchronize(), 0);
    assert_ptr_equal(mock.context, own);
    assert_int_equal(mock_count("cuDevicePrimaryCtxRetain"), 0);
}

static void default_streams(void **state)
{
    (void)state;
    assert_int_equal(__cudaLaunchKernel(kernel_host, grid, block, NULL, 0, NULL), 0);
    assert_null(mock.launch.stream);
    assert_int_equal(__cudaLaunchKernel_ptsz(kernel_host, grid, block, NULL, 0, NULL), 0);
    assert_ptr_equal(mock.launch.stream, FTH_PER_THREAD_STREAM);
    struct fth_cu_stream *stream = (struct fth_cu_stream *)kernel_host;
    assert_int_equal(__cudaLaunchKernel_ptsz(kernel_host, grid, block, NULL, 0, stream), 0);
    assert_ptr_equal(mock.launch.stream, stream);
}

static void handles_stand_for_kernels(void **state)
{
    (void)state;
    struct fth_cu_kernel *kernel = NULL;
    struct fth_cu_function *function = NULL, *launched = NULL;
    assert_int_equal(cudaLaunchKernel(kernel_host, grid, block, NULL, 0, NULL), 0);
    launched = mock.function;
    assert_int_equal(cudaGetKernel(&kernel, kernel_host), 0);
    mock.function = NULL;
    assert_int_equal(cudaLaunchKernel(kernel, grid, block, NULL, 0, NULL), 0);
    assert_ptr_equal(mock.function, launched);
    assert_int_equal(cudaGetFuncBySymbol(&function, kernel_host), 0);
    mock.function = NULL;
    assert_int_equal(cudaLaunchKernel(function, grid, block, NULL, 0, NULL), 0);
    assert_ptr_equal(mock.function, launched);
    /* A reset unloads the binary, and handles end with it. */
    assert_int_equal(cudaDeviceReset(), 0);
    assert_int_equal(cudaLaunchKernel(kernel, grid, block, NULL, 0, NULL), FTH_INVALID_HANDLE);
    assert_int_equal(cudaLaunchKernel(kernel_host, grid, block, NULL, 0, NULL), 0);
}

static void handles_of_libraries(void **state)
{
    (void)state;
    struct fth_cu_library *library = (struct fth_cu_library *)unregistered;
    struct fth_cu_kernel *kernel = NULL;
    assert_int_equal(cudaLibraryGetKernel(&kernel, library, kernel_name), 0);
    assert_int_equal(cudaLaunchKernel(kernel, grid, block, NULL, 0, NULL), 0);
    assert_int_equal(cudaLibraryUnload(library), 0);
    assert_int_equal(cudaLaunchKernel(kernel, grid, block, NULL, 0, NULL), FTH_INVALID_HANDLE);
}

static void launch_attributes_are_passed_on(void **state)
{
    (void)state;
    struct fth_attribute attribute = {.id = 4, .value.cluster = {2, 1, 1}};
    struct fth_launch launch = {.grid = grid,
                                .block = block,
                                .shared_bytes = 1024,
                                .attributes = &attribute,
                                .attribute_count = 1};
    assert_int_equal(cudaLaunchKernelExC(&launch, kernel_host, NULL), 0);
    assert_ptr_equal(mock.launch.attributes, &attribute);
    assert_int_equal(mock.launch.attribute_count, 1);
    assert_int_equal(mock.launch.shared_bytes, 1024);
    assert_memory_equal(&mock.launch.grid, &grid, sizeof(grid));
    assert_int_equal(cudaLaunchKernelExC(NULL, kernel_host, NULL), FTH_INVALID_VALUE);
}

static void launches_that_fail(void **state)
{
    (void)state;
    assert_int_equal(call_kernel(unregistered, NULL, NULL), FTH_INVALID_HANDLE);
    assert_int_equal(call_kernel(variable_host, NULL, NULL), FTH_INVALID_HANDLE);
    mock.load_result = FTH_NO_KERNEL_IMAGE;
    assert_int_equal(call_kernel(kernel_host, NULL, NULL), FTH_NO_KERNEL_IMAGE);
    assert_int_equal(call_kernel(kernel_host, NULL, NULL), FTH_NO_KERNEL_IMAGE);
    mock.load_result = 0;
    mock.unknown = kernel_name;
    assert_int_equal(call_kernel(kernel_host, NULL, NULL), FTH_INVALID_HANDLE);
    mock.unknown = NULL;
    /* The limits of the device are those of mock_driver.c: 1001 threads per block. */
    static const struct fth_dim3 wrong[] = {{0, 1, 1}, {1, 1, 0}, {2000, 1, 1}, {1002, 1, 1}};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
        assert_int_equal(cudaLaunchKernel(kernel_host, grid, wrong[i], NULL, 0, NULL),
                         FTH_INVALID_VALUE);
    static const struct fth_dim3 empty = {1, 0, 1}, wide = {1006, 1, 1}, high = {1, 1007, 1};
    assert_int_equal(cudaLaunchKernel(kernel_host, empty, block, NULL, 0, NULL), FTH_INVALID_VALUE);
    assert_int_equal(cudaLaunchKernel(kernel_host, wide, block, NULL, 0, NULL), FTH_INVALID_VALUE);
    assert_int_equal(cudaLaunchKernel(kernel_host, high, block, NULL, 0, NULL), FTH_INVALID_VALUE);
    assert_int_equal(cudaLaunchKernel(kernel_host, grid, block, NULL, (size_t)1 << 32, NULL),
                     FTH_INVALID_VALUE);
    assert_int_equal(mock_count("cuLaunchKernel"), 0);
    mock.failing = "cuLaunchKernel";
    mock.result = 719;
    assert_int_equal(call_kernel(kernel_host, NULL, NULL), 719);
    assert_int_equal(cudaGetLastError(), 719);
}

static void configurations_nest(void **state)
{
    (void)state;
    struct fth_dim3 popped = {0, 0, 0}, other;
    size_t shared_bytes = 0;
    void *stream = NULL;
    for (unsigned i = 0; i < FTH_MAX_CONFIGURATIONS; i++)
        assert_int_equal(
            __cudaPushCallConfiguration((struct fth_dim3){i, 1, 1}, block, i, &unregistered[0]), 0);
    assert_int_equal(__cudaPushCallConfiguration(grid, block, 0, NULL), FTH_OUT_OF_MEMORY);
    for (unsigned i = FTH_MAX_CONFIGURATIONS; i-- > 0;) {
        assert_int_equal(__cudaPopCallConfiguration(&popped, &other, &shared_bytes, &stream), 0);
        assert_int_equal(popped.x, i);
        assert_int_equal(shared_bytes, i);
        assert_ptr_equal(stream, &unregistered[0]);
    }
    assert_int_equal(__cudaPopCallConfiguration(&popped, &other, &shared_bytes, &stream),
                     FTH_MISSING_CONFIGURATION);
}

static void variables(void **state)
{
    (void)state;
    size_t bytes = 0;
    void *pointer = NULL;
    int value = 3;
    assert_int_equal(cudaGetSymbolSize(&bytes, variable_host), 0);
    assert_int_equal(bytes, MOCK_VARIABLE_BYTES);
    assert_int_equal(cudaGetSymbolAddress(&pointer, variable_host), 0);
    assert_int_equal(fth_address(pointer), MOCK_VARIABLE);
    assert_int_equal(cudaMemcpyToSymbol(variable_host, &value, 4, 60, FTH_HOST_TO_DEVICE), 0);
    assert_int_equal(mock.target, MOCK_VARIABLE + 60);
    assert_int_equal(mock.source, fth_address(&value));
    assert_int_equal(mock.bytes, 4);
    assert_int_equal(cudaMemcpyFromSymbol(&value, variable_host, 64, 0, FTH_DEVICE_TO_HOST), 0);
    assert_int_equal(mock.source, MOCK_VARIABLE);
    assert_int_equal(cudaMemcpyToSymbol(variable_host, &value, 4, 61, FTH_HOST_TO_DEVICE),
                     FTH_INVALID_VALUE);
    assert_int_equal(cudaMemcpyToSymbol(variable_host, &value, 0, 65, FTH_HOST_TO_DEVICE),
                     FTH_INVALID_VALUE);
    assert_int_equal(cudaMemcpyToSymbol(variable_host, &value, 4, 0, FTH_DEVICE_TO_HOST),
                     FTH_INVALID_DIRECTION);
    assert_int_equal(cudaMemcpyFromSymbol(&value, variable_host, 4, 0, FTH_HOST_TO_DEVICE),
                     FTH_INVALID_DIRECTION);
    assert_int_equal(cudaGetSymbolAddress(&pointer, unregistered), FTH_INVALID_SYMBOL);
    assert_int_equal(cudaGetSymbolAddress(&pointer, kernel_host), FTH_INVALID_SYMBOL);
    mock.unknown = variable_name;
    assert_int_equal(cudaGetSymbolSize(&bytes, variable_host), FTH_INVALID_SYMBOL);
}

static void managed_variables(void **state)
{
    size_t bytes = 0;
    assert_true(__cudaInitModule(*state));
    assert_ptr_equal(managed_host, &mock.managed_value);
    /* The name of the variable stands for its memory. */
    assert_int_equal(cudaGetSymbolSize(&bytes, managed_host), 0);
    assert_int_equal(mock_count("cuLibraryLoadData"), 1);
    assert_int_equal(cudaDeviceReset(), 0);
    assert_int_equal(mock_count("cuLibraryUnload"), 1);
    assert_int_equal(call_kernel(kernel_host, NULL, NULL), 0);
    assert_int_equal(mock_count("cuLibraryLoadData"), 2);
    assert_int_equal(cudaDeviceReset(), 0);
    mock.load_result = FTH_INVALID_IMAGE;
    assert_false(__cudaInitModule(*state));
    assert_int_equal(cudaGetLastError(), FTH_INVALID_IMAGE);
}

static void a_binary_that_is_removed(void **state)
{
    (void)state;
    static char host[1];
    void **handle = __cudaRegisterFatBinary(&wrapper);
    __cudaRegisterFunction(handle, host, host, "other", -1, NULL, NULL, NULL, NULL, NULL);
    assert_int_equal(call_kernel(host, NULL, NULL), 0);
    __cudaUnregisterFatBinary(handle);
    assert_int_equal(mock_count("cuLibraryUnload"), 1);
    assert_int_equal(call_kernel(host, NULL, NULL), FTH_INVALID_HANDLE);
    assert_int_equal(call_kernel(kernel_host, NULL, NULL), 0);
    __cudaUnregisterFatBinary(NULL);
}

static void *other_thread(void *result)
{
    int device = -1;
    *(int *)result = cudaPeekAtLastError() == 0 && cudaGetDevice(&device) == 0 && device == 0;
    return NULL;
}

static void errors_belong_to_threads(void **state)
{
    (void)state;
    pthread_t thread;
    int fine = 0;
    assert_int_equal(cudaSetDevice(1), FTH_INVALID_DEVICE);
    assert_int_equal(cudaSetDevice(0), 0);
    assert_int_equal(cudaPeekAtLastError(), FTH_INVALID_DEVICE);
    assert_int_equal(pthread_create(&thread, NULL, other_thread, &fine), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(fine);
    assert_int_equal(cudaGetLastError(), FTH_INVALID_DEVICE);
    assert_int_equal(cudaGetLastError(), 0);
    assert_string_equal(cudaGetErrorName(FTH_INVALID_DEVICE), "cudaErrorInvalidDevice");
    assert_string_equal(cudaGetErrorString(0), "no error");
    assert_string_equal(cudaGetErrorString(10), "unrecognized error code");
    assert_int_equal(cudaDeviceEnablePeerAccess(0, 0), FTH_INVALID_DEVICE);
    assert_int_equal(cudaDeviceEnablePeerAccess(1, 0), FTH_INVALID_DEVICE);
}

static void a_function_is_refused_once(void **state)
{
    (void)state;
    char text[200] = {0};
    int ends[2], saved = dup(STDERR_FILENO);
    assert_int_equal(pipe(ends), 0);
    assert_true(dup2(ends[1], STDERR_FILENO) >= 0);
    int first = cudaIpcCloseMemHandle(NULL), second = cudaIpcCloseMemHandle(NULL);
    assert_true(dup2(saved, STDERR_FILENO) >= 0);
    assert_int_equal(first, FTH_NOT_SUPPORTED);
    assert_int_equal(second, FTH_NOT_SUPPORTED);
    assert_int_equal(cudaGetLastError(), FTH_NOT_SUPPORTED);
    assert_true(read(ends[0], text, sizeof(text) - 1) > 0);
    assert_string_equal(text, "fathom exec: cudaIpcCloseMemHandle is not supported\n");
    close(ends[0]);
    close(ends[1]);
    close(saved);
    /* What the library keeps until the process ends. */
    struct fth_state *shared = fth_lock();
    free(shared->refused);
    shared->refused = NULL;
    shared->refused_count = 0;
    fth_unlock();
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(launches_a_registered_kernel),
        TEST(keeps_the_context_of_the_program),
        TEST(default_streams),
        TEST(handles_stand_for_kernels),
        TEST(handles_of_libraries),
        TEST(launch_attributes_are_passed_on),
        TEST(launches_that_fail),
        TEST(configurations_nest),
        TEST(variables),
        TEST(managed_variables),
        TEST(a_binary_that_is_removed),
        TEST(errors_belong_to_threads),
        TEST(a_function_is_refused_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
