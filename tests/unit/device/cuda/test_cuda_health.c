/* What the management library reports about the state of a GPU (cuda_health.c), on the stand-ins
 * for NVIDIA's libraries (tests/standin), and with functions that fail or are missing. */
#include "device/driven.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Returns what the GPU reports in a mode of the stand-ins. */
static struct fth_gpu *describe(const char *mode)
{
    struct fth_gpu *gpu = NULL;
    struct fth_error error = NO_ERROR;
    set_mode(mode);
    void *machine = open_machine("0");
    assert_int_equal(fth_gpu_create(&gpu, NULL), FTH_OK);
    if (ops->describe(machine, gpu, &error) != FTH_OK || fth_gpu_validate(gpu, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    close_machine(machine);
    return gpu;
}

static void counters_are_reported_also_if_they_are_zero(void **state)
{
    (void)state;
    static const struct {
        const char *section, *name;
        double one, ecc; /* in the modes "one" and "ecc" */
    } rows[] = {
        {"device", "memory_temperature_c", 44, 44},
        {"device", "throttle_power_us", 1234, 1234},
        {"device", "throttle_thermal_us", 0, 0},
        {"device", "pcie_replays", 3, 3},
        {"device", "nvlinks", 18, 18},
        {"device", "nvlinks_active", 17, 18},
        {"device", "nvlink_errors", 5, 5},
        {"device", "ecc_correctable", 7, 7},
        {"device", "ecc_uncorrectable", 0, 3},
        {"device", "ecc_uncorrectable_volatile", 0, 2},
        {"memory", "ecc_correctable", 5, 5},
        {"memory", "ecc_uncorrectable", 0, 2},
        {"memory", "remapped_rows_correctable", 1, 1},
        {"memory", "remapped_rows_uncorrectable", 0, 0},
    };
    struct fth_gpu *one = describe("one"), *ecc = describe("ecc");
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        const double values[] = {fth_gpu_number(one, rows[i].section, rows[i].name, NAN),
                                 fth_gpu_number(ecc, rows[i].section, rows[i].name, NAN)};
        if (values[0] != rows[i].one || values[1] != rows[i].ecc)
            fail_msg("%s.%s: %g, %g", rows[i].section, rows[i].name, values[0], values[1]);
        if (!fth_is_circumstance(rows[i].section, rows[i].name))
            fail_msg("%s.%s is no circumstance", rows[i].section, rows[i].name);
    }
    assert_string_equal(fth_gpu_text(one, "device", "board_part_number"), "692-2G520-0282-001");
    assert_string_equal(fth_gpu_text(one, "device", "vbios"), "96.00.A5.00.1A");
    assert_string_equal(fth_gpu_text(one, "device", "serial"), "1650000000000");
    assert_string_equal(fth_gpu_text(one, "device", "performance_state"), "P0");
    assert_string_equal(fth_gpu_text(one, "memory", "remap_pending"), "no");
    assert_string_equal(fth_gpu_text(ecc, "memory", "remap_pending"), "yes");
    assert_string_equal(fth_gpu_text(one, "memory", "remap_failure"), "no");
    fth_gpu_destroy(one);
    fth_gpu_destroy(ecc);
}

/* Without NVML, the state is unknown, not 0. */
static void without_the_library_nothing_is_reported(void **state)
{
    (void)state;
    static const char *const names[] = {"ecc_uncorrectable", "nvlinks", "pcie_replays",
                                        "throttle_power_us", "serial"};
    struct fth_gpu *gpu = describe("no-nvml");
    for (size_t i = 0; i < FTH_COUNT(names); i++)
        assert_null(fth_gpu_attribute(gpu, "device", names[i]));
    assert_null(fth_gpu_attribute(gpu, "memory", "remap_failure"));
    fth_gpu_destroy(gpu);
}

/* ---- functions that fail ---- */

static int fail_text(fth_nvml_device device, char *text, unsigned size)
{
    (void)device;
    snprintf(text, size, "wrong");
    return 3;
}
static int fail_state(fth_nvml_device device, int *number)
{
    (void)device;
    *number = 5;
    return 3;
}
static int unknown_state(fth_nvml_device device, int *number)
{
    (void)device;
    *number = 32; /* NVML_PSTATE_UNKNOWN */
    return 0;
}
static int fail_count(fth_nvml_device device, unsigned *number)
{
    (void)device;
    *number = 5;
    return 3;
}
static int fail_errors(fth_nvml_device device, int type, int counter, unsigned long long *errors)
{
    (void)device, (void)type, (void)counter;
    *errors = 5;
    return 3;
}
static int fail_link(fth_nvml_device device, unsigned link, unsigned *active)
{
    (void)device, (void)link;
    *active = 1;
    return 3;
}
/* A GPU with two links. Only the errors of all links together are known, as on older GPUs. */
static int answer_fields(fth_nvml_device device, int count, struct fth_nvml_field *fields)
{
    enum { ULONG = 2, SINT = 5, UNKNOWN_TYPE = 99 };
    (void)device;
    for (int i = 0; i < count; i++) {
        fields[i].result = fields[i].id == 91 || fields[i].id == 52 || fields[i].id == 82 ? 0 : 3;
        fields[i].type = fields[i].id == 91 ? SINT : fields[i].id == 52 ? ULONG : UNKNOWN_TYPE;
        fields[i].value.ul = fields[i].id == 52 ? 9 : 0;
        if (fields[i].id == 91)
            fields[i].value.si = 2;
    }
    return 0;
}

static void what_fails_is_left_out(void **state)
{
    (void)state;
    const struct fth_nvml rows[] = {
        {.board_part_number = fail_text,
         .vbios = fail_text,
         .serial = fail_text,
         .performance_state = fail_state,
         .pcie_replays = fail_count,
         .total_ecc = fail_errors},
        {.performance_state = unknown_state},
        {.link_state = fail_link},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_gpu *gpu = NULL;
        assert_int_equal(fth_gpu_create(&gpu, NULL), FTH_OK);
        assert_int_equal(fth_nvml_describe_health(&rows[i], NULL, gpu, NULL), FTH_OK);
        assert_int_equal(fth_gpu_attribute_count(gpu, "device"), 0);
        fth_gpu_destroy(gpu);
    }
}

static void older_gpus_report_the_errors_of_all_links_together(void **state)
{
    (void)state;
    const struct fth_nvml nvml = {.fields = answer_fields, .link_state = fail_link};
    struct fth_gpu *gpu = NULL;
    assert_int_equal(fth_gpu_create(&gpu, NULL), FTH_OK);
    assert_int_equal(fth_nvml_describe_health(&nvml, NULL, gpu, NULL), FTH_OK);
    assert_true(fth_gpu_number(gpu, "device", "nvlinks", NAN) == 2);
    assert_true(fth_gpu_number(gpu, "device", "nvlink_errors", NAN) == 9);
    assert_null(fth_gpu_attribute(gpu, "device", "nvlinks_active"));
    assert_null(fth_gpu_attribute(gpu, "device", "memory_temperature_c"));
    fth_gpu_destroy(gpu);
}

/* ---- under load, host and time ---- */

static void the_state_under_load_has_attributes_of_its_own(void **state)
{
    (void)state;
    static const char *const modes[] = {"one", "no-nvml"};
    for (size_t i = 0; i < FTH_COUNT(modes); i++) {
        struct fth_gpu *gpu = NULL;
        set_mode(modes[i]);
        void *machine = open_machine("0");
        assert_int_equal(fth_gpu_create(&gpu, NULL), FTH_OK);
        assert_int_equal(ops->describe_load(machine, gpu, NULL), FTH_OK);
        close_machine(machine);
        assert_int_equal(fth_gpu_attribute_count(gpu, "device"), i ? 0 : 4);
        assert_null(fth_gpu_attribute(gpu, "device", "power_w"));
        if (i == 0) {
            assert_true(fth_gpu_number(gpu, "device", "loaded_power_w", NAN) == 312.5);
            assert_true(fth_gpu_number(gpu, "device", "loaded_temperature_c", NAN) == 41);
            assert_string_equal(fth_gpu_text(gpu, "device", "loaded_throttling"),
                                "power cap, thermal");
            assert_string_equal(fth_gpu_text(gpu, "device", "name"), "NVIDIA H200");
        }
        fth_gpu_destroy(gpu);
    }
}

static const char *format_time(time_t time, char text[32])
{
    struct tm utc;
    assert_non_null(gmtime_r(&time, &utc));
    assert_true(strftime(text, 32, "%Y-%m-%dT%H:%M:%SZ", &utc) > 0);
    return text;
}

static void host_and_time_are_reported(void **state)
{
    (void)state;
    const time_t before = time(NULL);
    struct fth_gpu *gpu = describe("one");
    char host[256] = "";
    assert_int_equal(gethostname(host, sizeof host - 1), 0);
    host[strcspn(host, ".")] = '\0';
    assert_string_equal(fth_gpu_text(gpu, "device", "host"), host);
    const char *text = fth_gpu_text(gpu, "device", "measured_at");
    /* Texts of this form have the order of their times. */
    char first[32], last[32];
    assert_true(strcmp(text, format_time(before, first)) >= 0);
    assert_true(strcmp(text, format_time(time(NULL), last)) <= 0);
    assert_int_equal(strlen(text), strlen(first));
    fth_gpu_destroy(gpu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counters_are_reported_also_if_they_are_zero),
        cmocka_unit_test(without_the_library_nothing_is_reported),
        cmocka_unit_test(what_fails_is_left_out),
        cmocka_unit_test(older_gpus_report_the_errors_of_all_links_together),
        cmocka_unit_test(the_state_under_load_has_attributes_of_its_own),
        cmocka_unit_test(host_and_time_are_reported),
    };
    return cmocka_run_group_tests_name("cuda-health", tests, NULL, NULL);
}
