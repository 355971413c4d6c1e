/* Tests device/opencl/ with the stand-in for libOpenCL.so.1: listing and selecting devices, their
 * descriptions, chases, and recordings. The stand-in has a cache of 64 lines; a hit takes 4 cycles,
 * a miss 100. */
#include "opencl_device.h"

#include "fathom/devices.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

/* ---- listing and selecting ---- */

static void append(void *user, const struct fth_device_info *device)
{
    char *text = user;
    size_t used = strlen(text);
    if (strcmp(device->backend, "opencl") == 0)
        snprintf(text + used, 2048 - used, "%s|%s|%s\n", device->id ? device->id : "-",
                 device->name ? device->name : "-", device->detail);
}

static void lists_the_devices_of_all_platforms_or_the_reason(void **state)
{
    (void)state;
    static const struct {
        const char *mode, *list;
    } rows[] = {
        {"two",
         "opencl:0|gfx-stand-in|AMD GPU, 60 compute units, 4 GiB, Stand-in GPUs, driver 1.0\n"
         "opencl:1|gfx-stand-in-2|AMD GPU, 60 compute units, 4 GiB, Stand-in GPUs, driver 1.0\n"
         "opencl:2|Stand-in CPU|Intel CPU, 4 compute units, 4 GiB, Stand-in CPUs, driver 1.0\n"},
        {"none", "finds no device; install the vendor's OpenCL driver (Debian: intel-opencl-icd"},
        {"empty", "for the CPU: pocl-opencl-icd)"},
        {"broken", "-|-|call OpenCL 'clGetPlatformIDs': CL_OUT_OF_RESOURCES (error -5)\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char list[2048] = "";
        set_mode(rows[i].mode);
        assert_int_equal(fth_device_list(append, list, NULL), FTH_OK);
        assert_contains(list, rows[i].list);
    }
}

static void selects_a_device_by_index_or_name(void **state)
{
    (void)state;
    static const struct {
        const char *id, *name; /* name NULL: `cause` */
        const char *cause;
    } rows[] = {
        {"opencl:0", "gfx-stand-in", NULL},
        {"opencl:2", "Stand-in CPU", NULL},
        {"opencl:0:1", "gfx-stand-in-2", NULL},
        {"opencl:1:0", "Stand-in CPU", NULL},
        {"opencl:GFX-stand-in-2", "gfx-stand-in-2", NULL},
        {"opencl:stand-in cpus", "Stand-in CPU", NULL},
        {"opencl:3", NULL, "no such device; available: opencl:0 (gfx-stand-in, Stand-in GPUs), "},
        {"opencl:2:0", NULL, "no such device"},
        {"opencl:0:2", NULL, "no such device"},
        {"opencl:9999999", NULL, "no such device"},
        {"opencl:nvidia", NULL, "opencl:2 (Stand-in CPU, Stand-in CPUs)"},
        {"opencl:gfx", NULL, "several devices have this name; use the index; available: opencl:0"},
    };
    set_mode("two");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct fth_device *device = NULL;
        struct fth_error error = NO_ERROR;
        enum fth_status status = fth_device_open(rows[i].id, NULL, &device, &error);
        if (!rows[i].name) {
            assert_int_equal(status, FTH_NOT_FOUND);
            assert_contains(error.cause, rows[i].cause);
            continue;
        }
        assert_int_equal(status, FTH_OK);
        assert_string_equal(fth_device_id(device), rows[i].id);
        assert_string_equal(((struct fth_opencl_device *)device->state)->entry.name, rows[i].name);
        fth_device_close(device);
    }
}

static void a_required_gpu_is_not_a_cpu(void **state)
{
    (void)state;
    const struct fth_device_options options = FTH_DEVICE_OPTIONS(.require_gpu = true);
    struct fth_device *device = NULL;
    struct fth_error error = NO_ERROR;
    set_mode("two");
    assert_int_equal(fth_device_open_with("opencl:2", &options, &device, &error), FTH_UNAVAILABLE);
    assert_contains(error.cause, "it is a CPU; a GPU is required");
    assert_int_equal(fth_device_open_with("opencl:1", &options, &device, NULL), FTH_OK);
    fth_device_close(device);
}

static void knows_the_usual_names_of_vendors(void **state)
{
    (void)state;
    static const char *const rows[][2] = {{"Advanced Micro Devices, Inc.", "AMD"},
                                          {"AuthenticAMD", "AMD"},
                                          {"GenuineIntel", "Intel"},
                                          {"Intel(R) Corporation", "Intel"},
                                          {"NVIDIA Corporation", "NVIDIA"},
                                          {"ARM", "ARM"},
                                          {"Imagination", "Imagination"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_string_equal(fth_opencl_vendor_name(rows[i][0]), rows[i][1]);
}

/* ---- descriptions ---- */

static struct fth_gpu *describe(const char *mode)
{
    struct fth_device *device = open_in(mode, "opencl:0");
    struct fth_gpu *gpu = NULL;
    assert_int_equal(fth_gpu_create(&gpu, NULL), FTH_OK);
    assert_int_equal(fth_device_describe(device, gpu, NULL), FTH_OK);
    fth_device_close(device);
    return gpu;
}

static double number(const struct fth_gpu *gpu, const char *section, const char *name)
{
    return fth_gpu_number(gpu, section, name, NAN);
}

static void describes_a_gpu_and_a_cpu(void **state)
{
    (void)state;
    struct fth_gpu *gpu = describe("one");
    assert_string_equal(fth_gpu_text(gpu, "device", "vendor"), "AMD");
    assert_string_equal(fth_gpu_text(gpu, "device", "kind"), "gpu");
    assert_string_equal(fth_gpu_text(gpu, "device", "backend"), "opencl");
    assert_string_equal(fth_gpu_text(gpu, "device", "opencl_version"), "OpenCL 2.0 stand-in");
    assert_string_equal(fth_gpu_text(gpu, "device", "clock_source"), "s_memtime");
    assert_true(number(gpu, "device", "clock_resolution_cycles") == 1);
    assert_int_equal(number(gpu, "device", "sms"), 60);
    assert_int_equal(number(gpu, "device", "warp_size"), 64);
    assert_int_equal(number(gpu, "device", "clock_mhz"), 1000);
    assert_int_equal(number(gpu, "device", "max_threads_per_block"), 256);
    assert_true(number(gpu, "memory", "size_bytes") == 4.0 * (1 << 30));
    assert_int_equal(number(gpu, "lds", "max_block_bytes"), 65536);
    assert_null(fth_gpu_section(gpu, "shared"));
    fth_gpu_destroy(gpu);

    gpu = describe("cpu");
    assert_string_equal(fth_gpu_text(gpu, "device", "name"), "Stand-in CPU");
    assert_string_equal(fth_gpu_text(gpu, "device", "vendor"), "Intel");
    assert_string_equal(fth_gpu_text(gpu, "device", "kind"), "cpu");
    /* The driver reports 1000 MHz, but additions show 2000 MHz, and a tick of 8 cycles. */
    assert_int_equal(number(gpu, "device", "clock_mhz"), 2000);
    assert_int_equal(fth_gpu_attribute(gpu, "device", "clock_mhz")->source, FTH_SOURCE_MEASURED);
    assert_true(number(gpu, "device", "clock_resolution_cycles") == 8);
    assert_true(isnan(number(gpu, "device", "warp_size")));
    assert_null(fth_gpu_section(gpu, "lds"));
    assert_null(fth_gpu_section(gpu, "shared"));
    fth_gpu_destroy(gpu);
}

/* ---- chases ---- */

static void converts_ticks_to_cycles(void **state)
{
    (void)state;
    static const char *const modes[] = {"one", "cpu"};
    static const double mhz[] = {1000, 2000};
    for (size_t i = 0; i < 2; i++) {
        struct fth_device *device = open_in(modes[i], "opencl:0");
        const struct fth_request request = two_passes(FTH_PATH_CA, lines(0, 32, 0));
        struct fth_samples samples = {0};
        assert_int_equal(fth_device_measure(device, &request, 1, &samples, NULL), FTH_OK);
        assert_int_equal(samples.count, 2);
        assert_int_equal(samples.cycles[0], 32 * 100);
        assert_int_equal(samples.cycles[1], 32 * 4);
        assert_true(fabs(samples.clock_mhz - mhz[i]) < 1);
        assert_int_equal(samples.sm, 3);
        fth_samples_fini(&samples);
        fth_device_close(device);
    }
}

/* A cold pass over 64 lines misses each of them once if it visits all. The next pass then hits. */
static void a_pass_visits_every_element_in_every_order(void **state)
{
    (void)state;
    struct fth_device *device = open_in("one", "opencl:0");
    const uint32_t expected[] = {6400, 256};
    struct fth_chain chains[] = {lines(0, 64, 0), lines(0, 64, 1), lines(0, 64, 2),
                                 lines(0, 64, 0), lines(0, 64, 0), lines(0, 64, 0)};
    chains[3].step = 7;
    chains[4].start_bytes = 1 << 20;
    chains[5].stride_bytes = 4096;
    for (size_t i = 0; i < sizeof chains / sizeof chains[0]; i++) {
        struct fth_request request = two_passes(FTH_PATH_CA, chains[i]);
        assert_samples(device, &request, expected, 2);
        request.chase.steps[0].path = FTH_PATH_CG;
        assert_samples(device, &request, expected, 2);
        request.chase.steps[0].path = FTH_PATH_CONSTANT;
        if (chains[i].seed == 0 && i < 4) {
            assert_samples(device, &request, expected, 2);
            request.chase.steps[0].path = FTH_PATH_SHARED;
            assert_samples(device, &request, expected, 2);
        }
    }
    struct fth_request request = two_passes(FTH_PATH_CA, chains[0]);
    request.chase.steps[0].reverse = true;
    assert_samples(device, &request, expected, 2);
    fth_device_close(device);
}

static void times_hops_where_the_clock_is_fine(void **state)
{
    (void)state;
    struct fth_device *device = open_in("one", "opencl:0");
    struct fth_request request = fth_request_make(-1);
    fth_request_add(&request, FTH_STEP_WALK, FTH_PATH_CA, lines(0, 3, 0), 1);
    fth_request_add(&request, FTH_STEP_TIME_HOPS, FTH_PATH_CA, lines(0, 4, 0), 1);
    assert_samples(device, &request, (uint32_t[]){4, 4, 4, 100}, 4);
    fth_device_close(device);
    device = open_in("cpu", "opencl:0");
    assert_refused(device, &request, FTH_UNSUPPORTED, "too coarse to time single hops");
    fth_device_close(device);
}

/* Two arrays of 48 lines do not fit into the cache together, although each of them does. */
static void arrays_with_different_numbers_do_not_overlap(void **state)
{
    (void)state;
    struct fth_device *device = open_in("one", "opencl:0");
    struct fth_request request = fth_request_make(-1);
    for (unsigned i = 0; i < 4; i++)
        fth_request_add(&request, FTH_STEP_TIME_PASS, FTH_PATH_CA, lines(i % 2, 48, 0), 1);
    assert_samples(device, &request, (uint32_t[]){4800, 4800, 4800, 4800}, 4);
    for (unsigned i = 0; i < 4; i++)
        request.chase.steps[i].chain.array = 0;
    assert_samples(device, &request, (uint32_t[]){4800, 192, 192, 192}, 4);
    fth_device_close(device);
}

static void the_host_times_kernels_without_a_clock(void **state)
{
    (void)state;
    struct fth_device *device = open_in("plain", "opencl:0");
    struct fth_request request = fth_request_make(-1);
    fth_request_add(&request, FTH_STEP_WALK, FTH_PATH_CA, lines(0, 32, 1), 1);
    fth_request_add(&request, FTH_STEP_TIME_PASS, FTH_PATH_CA, lines(0, 32, 1), 3);
    assert_samples(device, &request, (uint32_t[]){128, 128, 128}, 3);
    fth_request_add(&request, FTH_STEP_WALK, FTH_PATH_CA, lines(0, 32, 1), 1);
    assert_refused(device, &request, FTH_UNSUPPORTED, "can time only the last step");
    struct fth_gpu *gpu = NULL;
    assert_int_equal(fth_gpu_create(&gpu, NULL), FTH_OK);
    assert_int_equal(fth_device_describe(device, gpu, NULL), FTH_OK);
    assert_string_equal(fth_gpu_text(gpu, "device", "clock_source"), "host");
    fth_gpu_destroy(gpu);
    fth_device_close(device);
}

static void links_of_nvidia_gpus_are_halves_of_addresses(void **state)
{
    (void)state;
    struct fth_device *device = open_in("nvidia", "opencl:0");
    for (uint64_t seed = 0; seed < 2; seed++) {
        const struct fth_request request = two_passes(FTH_PATH_CA, lines(0, 64, seed));
        assert_samples(device, &request, (uint32_t[]){6400, 256}, 2);
    }
    assert_int_equal(((struct fth_opencl_device *)device->state)->vendor, FTH_OPENCL_NVIDIA);
    fth_device_close(device);
}

static struct fth_request code(uint64_t instructions, uint64_t stride, uint64_t passes)
{
    struct fth_request request = fth_request_make(-1);
    request.family = FTH_FAMILY_FETCH;
    request.fetch =
        (struct fth_fetch){.instructions = instructions, .stride_bytes = stride, .passes = passes};
    return request;
}

/* Cycles of one execution, although a CPU executes short code many times per sample, and although
 * its clock ticks every 8 cycles. */
static void executes_code_of_a_given_length(void **state)
{
    (void)state;
    struct fth_request request = code(64, 0, 3);
    struct fth_device *device = open_in("one", "opencl:0");
    assert_samples(device, &request, (uint32_t[]){64, 64, 64}, 3);
    request = code(1088, 0, 1);
    assert_samples(device, &request, (uint32_t[]){2176}, 1);
    request = code(FTH_MAX_SHORT_FETCH, 0, 1);
    assert_samples(device, &request, (uint32_t[]){2 * FTH_MAX_SHORT_FETCH}, 1);
    ((struct fth_opencl_device *)device->state)->clock.bits = 20;
    assert_refused(device, &request, FTH_UNSUPPORTED, "the clock of this device may overflow");
    request = code(32768, 0, 1);
    assert_samples(device, &request, (uint32_t[]){2 * 32768}, 1);
    ((struct fth_opencl_device *)device->state)->clock.bits = 64;
    request = code(10, 64, 1);
    assert_refused(device, &request, FTH_UNSUPPORTED, "only CPUs execute code that consists of");
    request = code(64, 0, 1);
    request.sm = 3;
    assert_refused(device, &request, FTH_UNSUPPORTED, "cannot choose where a work-group runs");
    request.sm = FTH_ANY_SM;
    request.carveout_percent = 50;
    assert_refused(device, &request, FTH_UNSUPPORTED, "cannot divide the L1");
    request = code(64, 0, 1);
    request.fetch.constants = (struct fth_chain){.stride_bytes = 64, .count = 2};
    assert_refused(device, &request, FTH_UNSUPPORTED, "without constants");
    request = code(FTH_MAX_SHORT_FETCH, 0, 1 << 20);
    assert_refused(device, &request, FTH_UNSUPPORTED, "would take too long");
    fth_device_close(device);

    device = open_in("cpu", "opencl:0");
    request = code(64, 0, 2);
    assert_samples(device, &request, (uint32_t[]){64, 64}, 2);
    for (uint64_t stride = 32; stride < 352; stride += 32) { /* more programs than are kept */
        request = code(10, stride % 192 ? stride % 192 : 32, 1);
        assert_samples(device, &request,
                       (uint32_t[]){10 * (uint32_t)request.fetch.stride_bytes / 4}, 1);
    }
    fth_device_close(device);

    static const char *const without[] = {"nvidia", "plain"};
    for (size_t i = 0; i < FTH_COUNT(without); i++) {
        device = open_in(without[i], "opencl:0");
        request = code(64, 0, 1);
        assert_refused(device, &request, FTH_UNSUPPORTED, "no straight-line code of known length");
        fth_device_close(device);
        struct fth_gpu *gpu = describe(without[i]);
        assert_null(fth_gpu_attribute(gpu, "device", "instruction_bytes"));
        fth_gpu_destroy(gpu);
    }
    struct fth_gpu *gpu = describe("one");
    assert_int_equal(fth_gpu_number(gpu, "device", "instruction_bytes", 0), 4);
    fth_gpu_destroy(gpu);
}

static void a_recording_gives_the_same_samples(void **state)
{
    (void)state;
    char path[] = "/tmp/fathom-opencl-XXXXXX", id[64];
    const int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    const struct fth_request request = two_passes(FTH_PATH_CA, lines(0, 64, 9));
    struct fth_device *device = open_in("cpu", "opencl:0");
    struct fth_gpu *gpu = NULL;
    assert_int_equal(fth_gpu_create(&gpu, NULL), FTH_OK);
    assert_int_equal(fth_device_record(device, path, NULL), FTH_OK);
    assert_int_equal(fth_device_describe(device, gpu, NULL), FTH_OK);
    assert_samples(device, &request, (uint32_t[]){6400, 256}, 2);
    assert_int_equal(fth_device_finish(device, NULL), FTH_OK);
    fth_device_close(device);
    fth_gpu_destroy(gpu);
    set_mode("none");
    snprintf(id, sizeof id, "replay:%s", path);
    assert_int_equal(fth_device_open(id, NULL, &device, NULL), FTH_OK);
    assert_samples(device, &request, (uint32_t[]){6400, 256}, 2);
    assert_int_equal(fth_gpu_create(&gpu, NULL), FTH_OK);
    assert_int_equal(fth_device_describe(device, gpu, NULL), FTH_OK);
    assert_string_equal(fth_gpu_text(gpu, "device", "kind"), "cpu");
    fth_gpu_destroy(gpu);
    fth_device_close(device);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_the_devices_of_all_platforms_or_the_reason),
        cmocka_unit_test(selects_a_device_by_index_or_name),
        cmocka_unit_test(a_required_gpu_is_not_a_cpu),
        cmocka_unit_test(knows_the_usual_names_of_vendors),
        cmocka_unit_test(describes_a_gpu_and_a_cpu),
        cmocka_unit_test(converts_ticks_to_cycles),
        cmocka_unit_test(a_pass_visits_every_element_in_every_order),
        cmocka_unit_test(times_hops_where_the_clock_is_fine),
        cmocka_unit_test(arrays_with_different_numbers_do_not_overlap),
        cmocka_unit_test(the_host_times_kernels_without_a_clock),
        cmocka_unit_test(links_of_nvidia_gpus_are_halves_of_addresses),
        cmocka_unit_test(executes_code_of_a_given_length),
        cmocka_unit_test(a_recording_gives_the_same_samples),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
