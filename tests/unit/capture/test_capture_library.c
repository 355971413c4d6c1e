/* The modules of kernels under 'fathom capture', with a driver that the test plays. The nodes of a
 * graph have the CUfunction of a kernel that the program launched as a CUkernel. */
#include "../../../frontends/capture/capture.h"
#include "check.h"

int cuLibraryLoadData(void **library, const void *image, int *jit, void **jit_values,
                      unsigned jit_count, int *options, void **values, unsigned count);
int cuLibraryUnload(void *library);
int cuModuleUnload(void *module);

/* Handles. Both libraries have a kernel of this name; the function belongs to the second one. */
static char libraries[2], kernels[2], modules[2], unknown, function, other_function;
static const char kernel_name[] = "add";
static struct {
    size_t loaded;
    void *of_function; /* what the driver reports as the module of the function */
    void *of_kernel;   /* what it reports as the function of the second kernel */
    int mode;          /* of captures of streams in this thread */
    bool was_relaxed;  /* during the calls that load code */
} driver;

static int load(void **library, const void *image, int *jit, void **jit_values, unsigned jit_count,
                int *options, void **values, unsigned count)
{
    (void)image, (void)jit, (void)jit_values, (void)jit_count, (void)options, (void)values,
        (void)count;
    *library = &libraries[driver.loaded++];
    return SUCCESS;
}

static int unload(void *library)
{
    (void)library;
    return SUCCESS;
}

static int get_name(const char **name, void *handle)
{
    (void)handle;
    *name = kernel_name;
    return SUCCESS;
}

static int get_module(void **module, void *handle)
{
    (void)handle;
    *module = driver.of_function;
    return driver.of_function ? SUCCESS : INVALID_VALUE;
}

static int get_parameter(void *handle, size_t index, size_t *offset, size_t *bytes)
{
    (void)handle, (void)index, (void)offset, (void)bytes;
    return INVALID_VALUE;
}

static int get_kernel(void **kernel, void *library, const char *name)
{
    assert_string_equal(name, kernel_name);
    *kernel = &kernels[(char *)library - libraries];
    return SUCCESS;
}

static int get_function(void **found, void *kernel)
{
    driver.was_relaxed = driver.mode == 2;
    *found = kernel == &kernels[1] ? driver.of_kernel : &other_function;
    return SUCCESS;
}

static int get_library_module(void **module, void *library)
{
    *module = &modules[(char *)library - libraries];
    return SUCCESS;
}

static int exchange_mode(int *mode)
{
    const int before = driver.mode;
    driver.mode = *mode;
    *mode = before;
    return SUCCESS;
}

void *capture_real(enum function_index index)
{
    switch ((int)index) {
    case F_cuLibraryLoadData: return (void *)load;
    case F_cuModuleUnload:
    case F_cuLibraryUnload: return (void *)unload;
    case F_cuFuncGetName: return (void *)get_name;
    case F_cuFuncGetModule: return (void *)get_module;
    case F_cuFuncGetParamInfo: return (void *)get_parameter;
    case F_cuLibraryGetKernel: return (void *)get_kernel;
    case F_cuKernelGetFunction: return (void *)get_function;
    case F_cuLibraryGetModule: return (void *)get_library_module;
    case F_cuThreadExchangeStreamCaptureMode: return (void *)exchange_mode;
    default: return NULL;
    }
}

void capture_lock_tables(void)
{
}

void capture_unlock_tables(void)
{
}

bool capture_selects(const char *kernel)
{
    return strcmp(kernel, kernel_name) == 0;
}

uint32_t capture_architecture(void)
{
    return 90;
}

void capture_memory_fini(struct memory *memory)
{
    (void)memory;
}

static void test_libraries(void **state)
{
    (void)state;
    static const char image[] = ".version 8.0\n.target sm_90\n.address_size 64\n";
    static const struct {
        void *module; /* what the driver reports as the module of the function */
        void *of_kernel;
        void *expected;
    } cases[] = {{&modules[1], &function, &libraries[1]},
                 {NULL, &function, &libraries[1]},
                 {&modules[1], &other_function, &libraries[1]}, /* only the modules are equal */
                 {&unknown, &other_function, &unknown}};
    for (size_t i = 0; i < FTH_COUNT(cases); i++) {
        void *loaded[2];
        memset(&driver, 0, sizeof driver);
        driver.of_function = cases[i].module;
        driver.of_kernel = cases[i].of_kernel;
        for (int j = 0; j < 2; j++)
            assert_int_equal(cuLibraryLoadData(&loaded[j], image, NULL, NULL, 0, NULL, NULL, 0),
                             SUCCESS);
        const struct function *found = capture_function(&function);
        assert_non_null(found);
        assert_ptr_equal(found->module, capture_module(cases[i].expected));
        assert_non_null(found->module);
        assert_true(driver.was_relaxed && driver.mode == 0);
        for (int j = 0; j < 2; j++)
            assert_int_equal(cuLibraryUnload(loaded[j]), SUCCESS);
        assert_int_equal(cuModuleUnload(&unknown), SUCCESS);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_libraries)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
