/* Tests the measurement of carve-outs and of the size of L1 at each of them, on simulated GPUs with
 * and without carve-outs and with noise. The description of the simulated GPU is the truth. */
#include "check.h"
#include "device/sim/sim.h"
#include "discover/discover.h"

#include <math.h>
#include <stdio.h>

#define KIB(N) ((N)*UINT64_C(1024))

/* Measures L1 and shared memory of a simulated GPU whose elements `l1` and `shared` have these
 * attributes. The caller owns the result. */
static struct fth_gpu *discover(const char *l1, const char *shared, const char *noise)
{
    char text[2048];
    struct fth_error error = NO_ERROR;
    struct fth_gpu *description = NULL, *found = NULL;
    const struct fth_machine_ops *ops = NULL;
    struct fth_device *device = NULL;
    void *machine = NULL;
    snprintf(text, sizeof text,
             "{\"schema\": \"fathom-gpu/1\", \"device\": {\"name\": \"Test\", \"sms\": 8, "
             "\"clock_mhz\": 1000}, \"noise\": {%s}, \"elements\": {"
             "\"l1\": {\"line_bytes\": 128, \"sector_bytes\": 32, \"latency_cycles\": 32, %s}, "
             "\"shared\": {\"latency_cycles\": 24, %s}, "
             "\"l2\": {\"size_bytes\": 4194304, \"latency_cycles\": 250}, "
             "\"memory\": {\"size_bytes\": 1073741824, \"latency_cycles\": 600}}}",
             noise, l1, shared);
    if (fth_gpu_read_text("test.json", text, strlen(text), NULL, &description, &error) != FTH_OK ||
        fth_sim_machine_create(description, &ops, &machine, &error) != FTH_OK ||
        fth_runner_device("sim:test", ops, machine, NULL, &device, &error) != FTH_OK ||
        fth_discover(device,
                     &(struct fth_discover_options)FTH_DISCOVER_OPTIONS(.only = "l1,shared"),
                     &found, &error) != FTH_OK)
        fail_msg("%s: %s", error.cause, text);
    fth_gpu_destroy(description);
    fth_device_close(device);
    return found;
}

static void assert_list(const struct fth_gpu *gpu, const char *element, const char *name,
                        const double *expected, size_t count)
{
    const struct fth_attribute *list = fth_gpu_attribute(gpu, element, name);
    if (!list) {
        fail_msg("%s.%s was not found", element, name);
        return;
    }
    assert_int_equal(list->count, count);
    for (size_t i = 0; i < count; i++)
        if (list->numbers[i] != expected[i])
            fail_msg("%s.%s[%zu] is %g instead of %g", element, name, i, list->numbers[i],
                     expected[i]);
}

/* The first nine rows are the last percentages of the steps of an H200 (docs/results/h200.md). The
 * other rows are constructed. */
static void the_last_percentage_of_a_step_gives_the_carve_out(void **state)
{
    (void)state;
    static const struct {
        uint64_t largest;
        unsigned last_percent;
        uint64_t bytes; /* 1: no multiple of 4 KiB, or more than one, matches */
    } rows[] = {
        {KIB(228), 3, KIB(8)},    {KIB(228), 7, KIB(16)},   {KIB(228), 14, KIB(32)},
        {KIB(228), 28, KIB(64)},  {KIB(228), 43, KIB(100)}, {KIB(228), 57, KIB(132)},
        {KIB(228), 71, KIB(164)}, {KIB(228), 85, KIB(196)}, {KIB(228), 100, KIB(228)},
        {KIB(228), 0, 0},         {KIB(64), 50, KIB(32)},   {KIB(96), 8, KIB(8)},
        {KIB(228), 10, KIB(24)},  {KIB(228), 11, 1},        {KIB(228), 48, 1},
        {KIB(97), 100, KIB(97)},  {KIB(800), 50, 1}, /* 400 and 404 KiB match */
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        uint64_t bytes = 0;
        bool matches = fth_carveout_bytes(rows[i].largest, rows[i].last_percent, &bytes);
        if (matches != (rows[i].bytes != 1) || (matches && bytes != rows[i].bytes))
            fail_msg("row %zu: %llu", i, (unsigned long long)bytes);
    }
}

/* L1 is what the carve-out leaves of the unified storage. */
static void measures_carve_outs_of_unified_storage(void **state)
{
    (void)state;
    struct fth_gpu *gpu =
        discover("\"size_bytes\": 131072, \"default_size_bytes\": 32768, "
                 "\"unified_bytes\": 131072",
                 "\"size_bytes\": 98304, \"carveout_bytes\": [0, 8192, 16384, 32768, 65536, "
                 "98304]",
                 "");
    assert_list(gpu, "shared", "carveout_bytes",
                (const double[]){0, 8192, 16384, 32768, 65536, 98304}, 6);
    assert_list(gpu, "l1", "carveout_size_bytes",
                (const double[]){131072, 122880, 114688, 98304, 65536, 32768}, 6);
    const struct fth_attribute *size = fth_gpu_attribute(gpu, "shared", "size_bytes");
    assert_contains(size->note, "checked");
    assert_int_equal(size->source, FTH_SOURCE_DRIVER);
    fth_gpu_destroy(gpu);
}

/* The description lists the size of L1 at each carve-out. L1 and carve-out do not add up to the
 * unified storage, as on an H200, where 7 KiB of 256 KiB are in neither. */
static void measures_carve_outs_that_do_not_add_up_with_l1(void **state)
{
    (void)state;
    static const char l1[] = "\"size_bytes\": 246784, \"carveout_size_bytes\": [246784, "
                             "217088, 187392, 21504]",
                      shared[] = "\"size_bytes\": 233472, \"max_block_bytes\": 232448, "
                                 "\"carveout_bytes\": [8192, 32768, 65536, 233472]";
    static const char *const noises[] = {
        "", "\"jitter_cycles\": 2, \"outlier_rate\": 0.01, \"seed\": 3"};
    for (size_t i = 0; i < (SANITIZED ? 1 : FTH_COUNT(noises)); i++) {
        struct fth_gpu *gpu = discover(l1, shared, noises[i]);
        assert_list(gpu, "shared", "carveout_bytes", (const double[]){8192, 32768, 65536, 233472},
                    4);
        assert_list(gpu, "l1", "carveout_size_bytes",
                    (const double[]){246784, 217088, 187392, 21504}, 4);
        assert_contains(fth_gpu_attribute(gpu, "shared", "max_block_bytes")->note, "checked");
        fth_gpu_destroy(gpu);
    }
}

static void reports_that_l1_does_not_depend_on_the_carve_out(void **state)
{
    (void)state;
    struct fth_gpu *gpu = discover("\"size_bytes\": 24576", "\"size_bytes\": 65536", "");
    assert_null(fth_gpu_attribute(gpu, "shared", "carveout_bytes"));
    assert_null(fth_gpu_attribute(gpu, "l1", "carveout_size_bytes"));
    assert_contains(fth_gpu_unknown(gpu, "shared", "carveout_bytes"),
                    "does not depend on the carve-out");
    fth_gpu_destroy(gpu);
}

/* 10 KiB is not a multiple of 4 KiB, so the probe reports no carve-outs. */
static void reports_no_carve_outs_if_one_is_not_a_multiple_of_4_kib(void **state)
{
    (void)state;
    struct fth_gpu *gpu =
        discover("\"size_bytes\": 131072, \"unified_bytes\": 131072",
                 "\"size_bytes\": 98304, \"carveout_bytes\": [0, 10240, 98304]", "");
    assert_null(fth_gpu_attribute(gpu, "shared", "carveout_bytes"));
    fth_gpu_destroy(gpu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_percentage_of_a_step_gives_the_carve_out),
        cmocka_unit_test(measures_carve_outs_of_unified_storage),
        cmocka_unit_test(measures_carve_outs_that_do_not_add_up_with_l1),
        cmocka_unit_test(reports_that_l1_does_not_depend_on_the_carve_out),
        cmocka_unit_test(reports_no_carve_outs_if_one_is_not_a_multiple_of_4_kib),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
