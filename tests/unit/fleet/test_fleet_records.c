/* Tests the fleet in memory (fleet/fleet.c, fleet_arrange.c, fleet_figures.c) and records
 * (fleet/read/fleet_records.c). */
#include "fleet_parts.h"
#include "folder.h"
#include "store/store.h"

#include <math.h>
#include <stdlib.h>

/* Figures of each kind. */
static const struct {
    const char *name;
    enum fth_fleet_kind kind;
} kinds[] = {
    {"memory.read_bytes_per_s", FTH_FLEET_RATE},
    {"l2.copy_bytes_per_s", FTH_FLEET_RATE},
    {"device.link_to_device_bytes_per_s", FTH_FLEET_RATE},
    {"tma.bytes_per_cycle", FTH_FLEET_RATE},
    {"device.loaded_clock_mhz", FTH_FLEET_RATE},
    {"l2.latency_cycles", FTH_FLEET_TIME},
    {"l2.far_latency_cycles", FTH_FLEET_TIME},
    {"memory.latency_ns", FTH_FLEET_TIME},
    {"tlb_l1.miss_penalty_cycles", FTH_FLEET_TIME},
    {"instruction_l0.cycles_per_instruction", FTH_FLEET_TIME},
    {"l2.size_bytes", FTH_FLEET_EXACT},
    {"device.sms", FTH_FLEET_EXACT},
    {"device.clock_mhz", FTH_FLEET_EXACT},
    {"device.max_pcie_lanes", FTH_FLEET_EXACT},
    {"device.power_limit_w", FTH_FLEET_EXACT},
    {"l1.carveout_size_bytes", FTH_FLEET_EXACT},
    {"memory.ecc", FTH_FLEET_EXACT},
    {"memory.peak_bytes_per_s", FTH_FLEET_EXACT},
    {"something_new", FTH_FLEET_EXACT},
    {"memory.ecc_uncorrectable", FTH_FLEET_STATE},
    {"device.ecc_correctable", FTH_FLEET_STATE},
    {"memory.remapped_rows_correctable", FTH_FLEET_STATE},
    {"memory.remap_failure", FTH_FLEET_STATE},
    {"device.pcie_lanes", FTH_FLEET_STATE},
    {"device.pcie_generation", FTH_FLEET_STATE},
    {"device.pcie_replays", FTH_FLEET_STATE},
    {"device.nvlinks_active", FTH_FLEET_STATE},
    {"device.throttling", FTH_FLEET_STATE},
    {"device.throttle_power_us", FTH_FLEET_CONTEXT},
    {"device.temperature_c", FTH_FLEET_CONTEXT},
    {"device.memory_temperature_c", FTH_FLEET_CONTEXT},
    {"device.loaded_power_w", FTH_FLEET_CONTEXT},
    {"device.current_clock_mhz", FTH_FLEET_CONTEXT},
    {"device.cuda_version", FTH_FLEET_CONTEXT},
    {"device.clock_resolution_cycles", FTH_FLEET_CONTEXT},
    {"device.gpc_by_sm", FTH_FLEET_CONTEXT},
    {"l2.latency_by_sm_cycles", FTH_FLEET_CONTEXT},
    {"l2.slice_latency_cycles", FTH_FLEET_CONTEXT},
    {"l1.disturbed_by_warp", FTH_FLEET_CONTEXT},
    {"l1.resident_bytes", FTH_FLEET_CONTEXT},
    {"l2.onset_bytes", FTH_FLEET_CONTEXT},
    {"l1.full_miss_bytes", FTH_FLEET_CONTEXT},
    {"memory.refresh_period_ns", FTH_FLEET_CONTEXT},
    {"noise.jitter_cycles", FTH_FLEET_CONTEXT},
};

static void figures_have_kinds(void **state)
{
    (void)state;
    for (size_t i = 0; i < FTH_COUNT(kinds); i++)
        if (fth_fleet_kind_of(kinds[i].name) != kinds[i].kind)
            fail_msg("%s is %s", kinds[i].name,
                     fth_fleet_kind_name(fth_fleet_kind_of(kinds[i].name)));
    for (int i = 0; i < FTH_FLEET_KINDS; i++) {
        enum fth_fleet_kind kind = FTH_FLEET_KINDS;
        assert_true(fth_fleet_kind_parse(fth_fleet_kind_name((enum fth_fleet_kind)i), &kind));
        assert_int_equal(kind, i);
    }
    enum fth_fleet_kind kind;
    assert_false(fth_fleet_kind_parse("rates", &kind));
}

static void times_are_read_and_written(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t time;
    } cases[] = {
        {"1970-01-01T00:00:01Z", 1},          {"2000-02-29T12:00:00Z", 951825600},
        {"2026-11-18T11:09:37Z", 1795000177}, {"2026-03-01T00:00:00Z", 1772323200},
        {"2027-02-28T23:59:59Z", 1803859199}, {"2100-03-01T00:00:00Z", 4107542400},
    };
    static const char *const wrong[] = {
        "",
        "2026-11-18",
        "2026-11-18T11:09:37",
        "2026-11-18 11:09:37Z",
        "2026-13-18T11:09:37Z",
        "2026-11-00T11:09:37Z",
        "2026-11-18T24:09:37Z",
        "2026-11-18T11:60:37Z",
        "1969-11-18T11:09:37Z",
        "2026-11-18T11:09:37ZZ",
        "2026-11-18T11:09:3xZ",
    };
    for (size_t i = 0; i < FTH_COUNT(cases); i++) {
        char text[24];
        int64_t time = -1;
        assert_true(fth_time_parse(cases[i].text, &time));
        assert_int_equal(time, cases[i].time);
        fth_time_write(time, text);
        assert_string_equal(text, cases[i].text);
    }
    int64_t time = -1;
    assert_true(fth_time_parse("1970-01-01T00:00:01.75Z", &time));
    assert_int_equal(time, 1);
    for (size_t i = 0; i < FTH_COUNT(wrong); i++)
        if (fth_time_parse(wrong[i], &time))
            fail_msg("'%s' is accepted", wrong[i]);
}

static void equal_texts_are_one_text(void **state)
{
    (void)state;
    struct fth_fleet *fleet = new_fleet();
    const char *first = fth_fleet_intern(fleet, "text 17");
    assert_int_equal(fth_fleet_figure_find(fleet, "text 17"), UINT32_MAX);
    for (int i = 0; i < 5000; i++) {
        char text[32];
        snprintf(text, sizeof text, "text %d", i);
        assert_string_equal(fth_fleet_intern(fleet, text), text);
    }
    assert_ptr_equal(fth_fleet_intern(fleet, "text 17"), first);
    assert_int_equal(fth_fleet_figure_index(fleet, "l2.ways"), 0);
    assert_int_equal(fth_fleet_figure_index(fleet, "l2.sets"), 1);
    assert_int_equal(fth_fleet_figure_index(fleet, "l2.ways"), 0);
    assert_int_equal(fth_fleet_figure_find(fleet, "l2.sets"), 1);
    fth_fleet_forget_figures(fleet, 1);
    assert_int_equal(fth_fleet_figure_find(fleet, "l2.sets"), UINT32_MAX);
    assert_int_equal(fleet->figure_count, 1);
    fth_fleet_destroy(fleet);
    fth_fleet_destroy(NULL);
}

/* The cohorts of GPUs that differ in one property each, without and with mixing. */
static void cohorts_differ_in_model_backend_driver_and_board(void **state)
{
    (void)state;
    static const char *const gpus[] = {
        "\"gpu\": \"A\", \"model\": \"M\", \"backend\": \"cuda\", \"driver\": \"1\", \"board\": "
        "\"x\"",
        "\"gpu\": \"B\", \"model\": \"M\", \"backend\": \"cuda\", \"driver\": \"1\", \"board\": "
        "\"x\"",
        "\"gpu\": \"C\", \"model\": \"M\", \"backend\": \"cuda\", \"driver\": \"2\", \"board\": "
        "\"x\"",
        "\"gpu\": \"D\", \"model\": \"M\", \"backend\": \"cuda\", \"driver\": \"1\", \"board\": "
        "\"y\"",
        "\"gpu\": \"E\", \"model\": \"N\", \"backend\": \"cuda\", \"driver\": \"1\", \"board\": "
        "\"x\"",
        "\"gpu\": \"F\", \"model\": \"M\", \"backend\": \"opencl\", \"driver\": \"1\", \"board\": "
        "\"x\"",
        "\"gpu\": \"G\", \"model\": \"M\", \"backend\": \"simulated\", \"driver\": \"1\"",
        "\"gpu\": \"H\", \"model\": \"M\", \"backend\": \"cuda\", \"simulated\": true, "
        "\"driver\": \"1\", \"board\": \"x\"",
        "\"gpu\": \"I\"",
    };
    static const struct {
        bool drivers, boards;
        const char *same; /* GPUs with the same letter are in one cohort */
        size_t count;
    } cases[] = {{false, false, "aacdefghi", 8},
                 {true, false, "aaadefghi", 7},
                 {false, true, "aacaefghi", 7},
                 {true, true, "aaaaefghi", 6}};
    struct fth_fleet *fleet = new_fleet();
    for (size_t i = 0; i < FTH_COUNT(gpus); i++)
        add_record(fleet, "file", gpus[i]);
    assert_int_equal(fth_fleet_gpu_count(fleet, NULL), FTH_COUNT(gpus));
    for (size_t c = 0; c < FTH_COUNT(cases); c++) {
        const struct fth_fleet_mixing mixing = {cases[c].drivers, cases[c].boards};
        size_t sum = 0;
        assert_int_equal(fth_fleet_arrange(fleet, c ? &mixing : NULL, NULL), FTH_OK);
        assert_int_equal(fleet->cohort_count, cases[c].count);
        for (size_t i = 0; i < FTH_COUNT(gpus); i++)
            for (size_t j = 0; j < FTH_COUNT(gpus); j++)
                assert_int_equal(fleet->gpus[i].cohort == fleet->gpus[j].cohort,
                                 cases[c].same[i] == cases[c].same[j]);
        for (size_t i = 0; i < fleet->cohort_count; i++) {
            const struct fth_fleet_cohort *cohort = &fleet->cohorts[i];
            sum += cohort->gpu_count;
            assert_int_equal(cohort->mixed_drivers, cases[c].drivers);
            assert_true(!cases[c].drivers || !cohort->driver);
            assert_true(!cases[c].boards || !cohort->board);
        }
        assert_int_equal(sum, FTH_COUNT(gpus));
        assert_true(fleet->gpus[6].simulated && fleet->gpus[7].simulated);
        assert_false(fleet->gpus[0].simulated);
    }
    fth_fleet_destroy(fleet);
}

/* Measurements of one UUID are one GPU with the properties of the latest measurement, and ordered
 * by time. Without UUIDs, each file is a GPU, and CUDA and OpenCL are different GPUs. */
static void measurements_belong_to_gpus(void **state)
{
    (void)state;
    struct fth_fleet *fleet = new_fleet();
    add_record(fleet, "f1",
               "\"gpu\": \"A\", \"host\": \"n2\", \"time\": \"2026-01-02T00:00:00Z\", "
               "\"figures\": {\"l2.latency_cycles\": 5}");
    add_record(fleet, "f2",
               "\"gpu\": \"A\", \"host\": \"n1\", \"time\": \"2026-01-01T00:00:00Z\", "
               "\"model\": \"M\", \"figures\": {\"l2.latency_cycles\": 3}");
    add_record(fleet, "f3",
               "\"gpu\": \"A\", \"host\": \"n3\", \"time\": \"2026-01-03T00:00:00Z\", "
               "\"figures\": {\"l2.ways\": 3}");
    add_record(fleet, "f4", "\"gpu\": \"A\", \"backend\": \"cuda\"");
    add_record(fleet, "f5", "\"model\": \"M\"");
    add_record(fleet, "f6", "\"model\": \"M\"");
    add_record(fleet, "f6", "\"model\": \"M\"");
    size_t measurements = 0, count = 0;
    assert_int_equal(fth_fleet_gpu_count(fleet, &measurements), 4);
    assert_int_equal(measurements, 7);
    assert_int_equal(fth_fleet_arrange(fleet, NULL, NULL), FTH_OK);
    const struct fth_fleet_gpu *gpu = &fleet->gpus[0];
    assert_string_equal(gpu->name, "A");
    assert_string_equal(gpu->host, "n3");
    assert_string_equal(gpu->model, "M");
    assert_int_equal(gpu->measurement_count, 3);
    assert_int_equal(fleet->by_gpu[gpu->first_measurement], 1);
    assert_int_equal(fleet->by_gpu[gpu->first_measurement + 1], 0);
    assert_int_equal(fleet->by_gpu[gpu->first_measurement + 2], 2);
    assert_string_equal(fleet->measurements[1].host, "n1");
    assert_string_equal(fleet->gpus[2].name, "f5");
    assert_null(fleet->gpus[2].uuid);
    assert_int_equal(fleet->gpus[3].measurement_count, 2);
    const uint32_t latency = fth_fleet_figure_find(fleet, "l2.latency_cycles");
    assert_true(fth_fleet_gpu_median(fleet, gpu, latency, &count) == 4);
    assert_int_equal(count, 2);
    assert_true(isnan(fth_fleet_gpu_median(fleet, &fleet->gpus[1], latency, &count)));
    assert_int_equal(count, 0);
    fth_fleet_destroy(fleet);
}

static void medians_of_many_measurements(void **state)
{
    (void)state;
    struct fth_fleet *fleet = new_fleet();
    size_t count = 0;
    for (int i = 0; i < 101; i++) {
        char members[128];
        snprintf(members, sizeof members, "\"gpu\": \"A\", \"figures\": {\"l2.latency_ns\": %d}",
                 i * 37 % 101);
        add_record(fleet, "file", members);
    }
    assert_int_equal(fth_fleet_arrange(fleet, NULL, NULL), FTH_OK);
    assert_true(fth_fleet_gpu_median(fleet, &fleet->gpus[0], 0, &count) == 50);
    assert_int_equal(count, 101);
    fth_fleet_destroy(fleet);
}

/* Records that are written and read again give the same bytes. */
static void records_survive_writing_and_reading(void **state)
{
    (void)state;
    static const char expected[] =
        "{\"schema\": \"fathom-fleet-record/1\", \"gpu\": \"A\", \"host\": \"n1\", "
        "\"slot\": \"0000:01:00.0\", \"group\": \"r1\", \"model\": \"M\", \"driver\": \"580\", "
        "\"board\": \"x y\", \"backend\": \"cuda\", \"time\": \"2026-11-18T11:09:37Z\", "
        "\"file\": \"a.json\", \"figures\": {\"l2.latency_cycles\": 277.7, \"l2.ways\": 16}, "
        "\"texts\": {\"device.throttling\": \"none\", \"l1.scope\": \"s\\u0001\\\"m\"}, "
        "\"confidence\": {\"l2.latency_cycles\": 0.9993, \"l2.ways\": 1}, "
        "\"fingerprint\": [277.9, 283, 0.1]}\n"
        "{\"schema\": \"fathom-fleet-record/1\", \"model\": \"M\", \"backend\": \"cuda\", "
        "\"simulated\": true, \"file\": \"records:2\", \"figures\": {\"l2.ways\": 1e+300}, "
        "\"texts\": {\"l2.latency\": \"\"}}\n";
    struct fth_fleet *fleet = new_fleet(), *again = new_fleet();
    struct fth_error error = NO_ERROR;
    char *once = NULL, *twice = NULL;
    size_t once_size = 0, twice_size = 0;
    add_record(
        fleet, "ignored",
        "\"file\": \"a.json\", \"gpu\": \"A\", \"host\": \"n1\", \"slot\": \"0000:01:00.0\", "
        "\"group\": \"r1\", \"model\": \"M\", \"driver\": \"580\", \"board\": \"x y\", "
        "\"backend\": \"cuda\", \"time\": \"2026-11-18T11:09:37Z\", \"new\": [1, {}], "
        "\"figures\": {\"l2.ways\": 16, \"l2.latency_cycles\": 277.7}, "
        "\"texts\": {\"l1.scope\": \"s\\u0001\\\"m\", \"device.throttling\": \"none\"}, "
        "\"confidence\": {\"l2.latency_cycles\": 0.9993, \"l2.ways\": 1, \"l1.scope\": 2}, "
        "\"fingerprint\": [277.9, 283, 0.1]");
    add_record(fleet, "records:2",
               "\"model\": \"M\", \"backend\": \"cuda\", \"simulated\": true, \"time\": null, "
               "\"figures\": {\"l2.ways\": 1e300}, \"texts\": {\"l2.latency\": \"\"}");
    assert_int_equal(fth_fleet_records(fleet, &once, &once_size, &error), FTH_OK);
    assert_string_equal(once, expected);
    assert_int_equal(once_size, strlen(expected));
    write_plain("records.jsonl", once, once_size);
    assert_int_equal(fth_fleet_add_path(again, "records.jsonl", NULL, &error), FTH_OK);
    assert_int_equal(fth_fleet_records(again, &twice, &twice_size, &error), FTH_OK);
    assert_string_equal(twice, expected);
    assert_int_equal(again->gpus[0].time, 1795000177);
    assert_int_equal(again->measurements[0].fingerprint_count, 3);
    assert_string_equal(value_of(again, 0, "device.throttling")->text, "none");
    assert_true(isnan(value_of(again, 0, "device.throttling")->number));
    assert_true(isnan(value_of(again, 0, "l1.scope")->confidence));
    assert_null(value_of(again, 1, "l1.scope"));
    fth_free(once);
    fth_free(twice);
    fth_fleet_destroy(fleet);
    fth_fleet_destroy(again);
}

static void damaged_records_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *members, *cause;
    } cases[] = {
        {"\"gpu\": 5", "gpu: expected a string"},
        {"\"file\": {}", "file: expected a string"},
        {"\"time\": \"yesterday\"", "'yesterday' is not a time"},
        {"\"figures\": [1]", "figures: expected an object"},
        {"\"figures\": {\"l2.ways\": \"16\"}", "figures.l2.ways: expected a number"},
        {"\"figures\": {\"l2.ways\": null}", "figures.l2.ways: expected a number"},
        {"\"texts\": {\"l2.scope\": 1}", "texts.l2.scope: expected a string"},
        {"\"texts\": {\"l2.latency_ns\": \"x\"}", "l2.latency_ns: expected a number of at least 0"},
        {"\"figures\": {\"l2.latency_ns\": -1}", "l2.latency_ns: expected a number of at least 0"},
        {"\"figures\": {\"a\": 1}, \"texts\": {\"a\": \"1\"}", "a: it occurs twice"},
        {"\"fingerprint\": [1, \"2\"]", "fingerprint: expected a list of positive numbers"},
    };
    struct fth_fleet *fleet = new_fleet();
    for (size_t i = 0; i < FTH_COUNT(cases); i++) {
        struct fth_error error = NO_ERROR;
        char text[256];
        snprintf(text, sizeof text, "{\"schema\": \"fathom-fleet-record/1\", %s}",
                 cases[i].members);
        assert_int_equal(add_text(fleet, "file", text, &error), FTH_INVALID);
        assert_contains(error.cause, cases[i].cause);
        assert_string_equal(error.argument, "file");
    }
    assert_int_equal(fleet->measurement_count, 0);
    assert_int_equal(fleet->gpu_count, 0);
    assert_int_equal(fleet->figure_count, 0);
    fth_fleet_destroy(fleet);
}

/* A fleet has at most FTH_FLEET_MAX_FIGURES figures. */
static void the_number_of_figures_is_limited(void **state)
{
    (void)state;
    struct fth_fleet *fleet = new_fleet();
    struct fth_error error = NO_ERROR;
    for (int i = 0; i <= FTH_FLEET_MAX_FIGURES; i++) {
        char text[128];
        snprintf(text, sizeof text,
                 "{\"schema\": \"fathom-fleet-record/1\", \"figures\": {\"new.figure_%d\": 1}}", i);
        assert_int_equal(add_text(fleet, "file", text, &error),
                         i < FTH_FLEET_MAX_FIGURES ? FTH_OK : FTH_INVALID);
    }
    assert_contains(error.cause, "new.figure_4096: the fleet has 4096 figures already");
    fth_fleet_destroy(fleet);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures_have_kinds),
        cmocka_unit_test(times_are_read_and_written),
        cmocka_unit_test(equal_texts_are_one_text),
        cmocka_unit_test(cohorts_differ_in_model_backend_driver_and_board),
        cmocka_unit_test(measurements_belong_to_gpus),
        cmocka_unit_test(medians_of_many_measurements),
        cmocka_unit_test(records_survive_writing_and_reading),
        cmocka_unit_test(damaged_records_are_refused),
        cmocka_unit_test(the_number_of_figures_is_limited),
    };
    return cmocka_run_group_tests_name("fleet-records", tests, enter_folder, leave_folder);
}
