/* Opens the default device through the library, with a stand-in for NVIDIA's driver in every mode
 * (tests/standin/standin.h). A GPU that works is opened. A computer without a GPU gets a simulated
 * one, and the log says so. A GPU that is present but broken is an error.
 *
 * usage: test_default_device new|bare|old|broken     the driver that LD_LIBRARY_PATH leads to */
#include "check.h"
#include "fathom/fathom.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char no_gpu[] = "no GPU found (open GPU '0': the CUDA driver reports no GPU)\n"
                             "using the simulated GPU sim:h200 instead\n";
static const char no_start[] = "no GPU found (call CUDA driver 'cuInit': no CUDA-capable device is "
                               "detected (error 100))\n"
                               "using the simulated GPU sim:h200 instead\n";

static const struct {
    const char *driver, *mode;
    enum fth_status status;
    const char *id;       /* of the device; NULL: the function fails */
    const char *cause;    /* part of the error's cause */
    const char *messages; /* part of the messages to the log; "": there are none */
} rows[] = {
    {"new", "one", FTH_OK, "cuda:0", "", ""},
    {"new", "two", FTH_OK, "cuda:0", "", ""},
    {"new", "none", FTH_OK, "sim:h200", "", no_gpu},
    {"new", "uninitialised", FTH_OK, "sim:h200", "", no_start},
    {"new", "not-ready", FTH_UNAVAILABLE, NULL, "system not yet initialized (error 802)", ""},
    {"new", "lost", FTH_OK, "cuda:0", "", ""},
    {"new", "no-memory:64", FTH_NO_MEMORY, NULL, "out of memory (error 2)", ""},
    {"new", "jit", FTH_UNSUPPORTED, NULL, "a PTX JIT compilation failed (error 218)", ""},
    {"new", "lost-later", FTH_UNAVAILABLE, NULL, "unspecified launch failure (error 719)", ""},
    {"new", "lost-later:1", FTH_UNAVAILABLE, NULL, "unspecified launch failure (error 719)", ""},
    {"new", "mig", FTH_OK, "cuda:0", "", ""},
    {"new", "no-pinned", FTH_OK, "cuda:0", "", ""},
    {"new", "corrupt", FTH_OK, "cuda:0", "", ""},
    {"new", "no-nvml", FTH_OK, "cuda:0", "", ""},
    /* The driver stays loaded with the kernel that never ends, so this mode must be the last. */
    {"new", "hang", FTH_UNAVAILABLE, NULL, "did not complete within 3 s", ""},
    {"bare", "one", FTH_UNSUPPORTED, NULL, "the driver is too old: it has no cuStreamQuery", ""},
    {"bare", "none", FTH_OK, "sim:h200", "", no_gpu},
    {"bare", "uninitialised", FTH_OK, "sim:h200", "", no_start},
    {"old", "one", FTH_OK, "sim:h200", "", "it has no function cuDriverGetVersion"},
    {"broken", "one", FTH_OK, "sim:h200", "", "no GPU found (open 'libcuda.so.1': no usable"},
};

static const char *driver; /* the argument of the program */

struct messages {
    size_t size;
    char text[2048];
};

static void append_message(void *user, enum fth_level level, const char *text)
{
    struct messages *messages = user;
    assert_int_equal(level, FTH_LOG_INFO);
    messages->size += (size_t)snprintf(messages->text + messages->size,
                                       sizeof messages->text - messages->size, "%s\n", text);
    assert_true(messages->size < sizeof messages->text);
}

static void check_row(size_t row)
{
    struct messages messages = {0};
    const struct fth_log log = {.message = append_message, .user = &messages};
    struct fth_device *device = NULL;
    struct fth_error error = NO_ERROR;
    setenv("FATHOM_STANDIN", rows[row].mode, 1);
    print_message("# %s\n", rows[row].mode);
    enum fth_status status = fth_device_open(NULL, &log, &device, &error);
    assert_int_equal(status, rows[row].status);
    assert_int_equal(error.status, rows[row].status);
    assert_contains(error.cause, rows[row].cause);
    if (rows[row].messages[0])
        assert_contains(messages.text, rows[row].messages);
    else
        assert_string_equal(messages.text, "");
    if (rows[row].id)
        assert_string_equal(fth_device_id(device), rows[row].id);
    else
        assert_null(device);
    fth_device_close(device);
}

static void opens_the_default_device_in_every_mode(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (strcmp(rows[i].driver, driver) == 0)
            check_row(i);
}

/* The list of devices, one per line: "backend id detail". A backend that cannot be used has no id,
 * and the detail is the reason. */
#define NO_OPENCL                                                                                  \
    "opencl - open OpenCL device: the OpenCL library finds no device; install the vendor's "       \
    "OpenCL "                                                                                      \
    "driver (Debian: intel-opencl-icd, nvidia-opencl-icd; AMD: ROCm; for the CPU: "                \
    "pocl-opencl-icd)\n"
static const struct {
    const char *driver, *mode, *list;
} lists[] = {
    {"new", "two",
     "cuda cuda:0 cc 5.2, 16 SMs, 4 GiB, CUDA 13.0\ncuda cuda:1 cc 5.2, 16 SMs, 4 GiB, CUDA "
     "13.0\n" NO_OPENCL},
    {"new", "none", "cuda - call CUDA driver: it reports no GPU\n" NO_OPENCL},
    {"new", "uninitialised",
     "cuda - call CUDA driver 'cuInit': no CUDA-capable device is detected (error "
     "100)\n" NO_OPENCL},
    {"old", "one",
     "cuda - open 'libcuda.so.1': no usable NVIDIA driver: it has no function cuDriverGetVersion; "
     "it is too old, or another library of this name\n" NO_OPENCL},
};

static void append_device(void *user, const struct fth_device_info *device)
{
    struct messages *messages = user;
    messages->size += (size_t)snprintf(
        messages->text + messages->size, sizeof messages->text - messages->size, "%s %s %s\n",
        device->backend, device->id ? device->id : "-", device->detail);
    assert_true(messages->size < sizeof messages->text);
    assert_int_equal(device->id == NULL, device->name == NULL);
}

static void lists_devices_or_the_reason(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        if (strcmp(lists[i].driver, driver) != 0)
            continue;
        struct messages messages = {0};
        struct fth_error error = NO_ERROR;
        setenv("FATHOM_STANDIN", lists[i].mode, 1);
        assert_int_equal(fth_device_list(append_device, &messages, &error), FTH_OK);
        assert_int_equal(error.status, FTH_OK);
        assert_string_equal(messages.text, lists[i].list);
    }
}

static void needs_neither_a_log_nor_an_error(void **state)
{
    (void)state;
    struct fth_device *device = NULL;
    setenv("FATHOM_STANDIN", "none", 1);
    assert_int_equal(fth_device_open(NULL, NULL, &device, NULL), FTH_OK);
    assert_string_equal(fth_device_id(device), "sim:h200");
    fth_device_close(device);
}

int main(int count, char *words[])
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(needs_neither_a_log_nor_an_error),
        cmocka_unit_test(lists_devices_or_the_reason),
        cmocka_unit_test(opens_the_default_device_in_every_mode),
    };
    driver = count > 1 ? words[1] : "new";
    unsetenv("CUDA_VISIBLE_DEVICES");
    setenv("FATHOM_STANDIN_GPU", "gtx980", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
