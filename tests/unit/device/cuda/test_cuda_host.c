/* Tests kernels on host memory and managed memory through the stand-in driver (tests/standin): the
 * latencies are those of the simulated GPU behind it, and nothing is left allocated. */
#include "check.h"
#include "device/device.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* At 1000 MHz, a nanosecond is a cycle. */
static const char complete[] =
    "{\"schema\": \"fathom-gpu/1\", \"device\": {\"name\": \"Host\", \"sms\": 2, "
    "\"clock_mhz\": 1000, \"compute_capability\": \"9.0\", \"link_load_latency_ns\": 1000, "
    "\"link_load_bytes_per_s\": 5e10, \"link_store_bytes_per_s\": 5e10, "
    "\"managed_fault_ns\": 20000, \"managed_page_bytes\": 65536}, \"elements\": {"
    "\"l2\": {\"size_bytes\": 1048576, \"latency_cycles\": 200}, "
    "\"memory\": {\"latency_cycles\": 500}}}";
static const char without_link[] =
    "{\"schema\": \"fathom-gpu/1\", \"device\": {\"name\": \"No link\", \"sms\": 2, "
    "\"clock_mhz\": 1000, \"compute_capability\": \"9.0\"}, \"elements\": {"
    "\"l2\": {\"size_bytes\": 1048576}}}";

/* Makes the stand-in imitate the GPU of a description, which is written to `path`. */
static void imitate(const char *description, char path[32])
{
    snprintf(path, 32, "/tmp/fathom-host-XXXXXX");
    const int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(write(file, description, strlen(description)), strlen(description));
    close(file);
    setenv("FATHOM_STANDIN_GPU", path, 1);
}

static struct fth_samples measure(struct fth_device *device, const char *text)
{
    struct fth_request request;
    struct fth_samples samples = {0};
    struct fth_error error = NO_ERROR;
    assert_int_equal(fth_request_read(text, strlen(text), &request, &error), FTH_OK);
    if (fth_device_measure(device, &request, 1, &samples, &error) != FTH_OK)
        fail_msg("%s: %s", text, error.cause);
    return samples;
}

static void kernels_access_host_memory(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t first, last; /* samples */
        uint32_t min, max;  /* of all of them */
    } rows[] = {
        {"visit cg host 4096x16 passes 2", 0, 31, 1000, 1050},
        {"visit sys host 4096x16", 0, 15, 1000, 1050},
        {"visit cg managed 65536x16 passes 2", 0, 0, 20000, 22000},
        {"visit cg managed 65536x16 passes 2", 16, 31, 200, 800},
        {"visit cg prefetched 65536x16", 0, 15, 200, 800},
        /* 128 KiB at 50 bytes per cycle, and the latency */
        {"traffic host 131072 2x1024x16 part 131072 of 131072", 0, 0, 2400, 6000},
        {"traffic host 131072 2x1024x16 part 131072 of 131072 writes 32", 0, 0, 2400, 6000},
        {"traffic managed 131072 2x1024x16 part 131072 of 131072 repeats 2", 0, 0, 20000, 90000},
        {"traffic managed 131072 2x1024x16 part 131072 of 131072 repeats 2", 1, 1, 300, 8000},
        {"traffic prefetched 131072 2x1024x16 part 131072 of 131072", 0, 0, 300, 8000},
    };
    char path[32];
    imitate(complete, path);
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    assert_non_null(driver);
    void *address = dlsym(driver, "standin_live");
    long (*live)(void);
    assert_non_null(address);
    memcpy(&live, &address, sizeof live);
    const long before = live();
    struct fth_device *device = NULL;
    assert_int_equal(fth_device_open("cuda:0", NULL, &device, NULL), FTH_OK);
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_samples samples = measure(device, rows[i].text);
        if (samples.status != FTH_OK)
            fail_msg("%s: %s", rows[i].text, samples.cause);
        for (size_t j = rows[i].first; j <= rows[i].last; j++)
            if (samples.cycles[j] < rows[i].min || samples.cycles[j] > rows[i].max)
                fail_msg("%s: sample %zu is %u", rows[i].text, j, (unsigned)samples.cycles[j]);
        fth_samples_fini(&samples);
    }
    fth_device_close(device);
    assert_int_equal(live(), before);
    dlclose(driver);
    unlink(path);
}

/* A driver that cannot map host memory gives a reason, and the device stays usable. */
static void refusals_are_reasons(void **state)
{
    (void)state;
    static const char *const texts[] = {"visit cg host 4096x16", "visit cg managed 4096x16",
                                        "traffic host 131072 2x1024x16 part 131072 of 131072"};
    char path[32];
    imitate(without_link, path);
    struct fth_device *device = NULL;
    assert_int_equal(fth_device_open("cuda:0", NULL, &device, NULL), FTH_OK);
    for (size_t i = 0; i < FTH_COUNT(texts); i++) {
        struct fth_samples samples = measure(device, texts[i]);
        if (samples.status != FTH_UNSUPPORTED || !strstr(samples.cause, "not supported"))
            fail_msg("%s: %d, %s", texts[i], samples.status, samples.cause);
        fth_samples_fini(&samples);
    }
    struct fth_samples samples = measure(device, "visit cg device 4096x16");
    assert_int_equal(samples.status, FTH_OK);
    fth_samples_fini(&samples);
    fth_device_close(device);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_access_host_memory),
        cmocka_unit_test(refusals_are_reasons),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
