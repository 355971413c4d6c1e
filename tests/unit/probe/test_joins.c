/* Tests joined reads, from the request (device/family/family_pair.c) through the simulated GPU
 * (device/sim/memory/sim_join.c) to the probe (probe/l2/l2_joins.c). The probe measures simulated
 * GPUs, whose descriptions are the truth, directly and through the stand-in for NVIDIA's driver
 * (tests/standin), which the loader finds through LD_LIBRARY_PATH. */
#include "check.h"
#include "described_device.h"
#include "device/family/family.h"
#include "probe/l2/probe_l2.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- requests ---- */

static struct fth_request make_pair(uint32_t first, uint32_t second, uint32_t lag, uint32_t lines)
{
    struct fth_request request = fth_request_make(-1);
    request.family = FTH_FAMILY_PAIR;
    request.pair = (struct fth_pair){.first = first,
                                     .second = second,
                                     .lag_cycles = lag,
                                     .lines = lines,
                                     .stride_bytes = 1152,
                                     .bytes = 128};
    return request;
}

static void invalid_requests_are_rejected(void **state)
{
    (void)state;
    const struct fth_request valid = make_pair(0, 1, FTH_PAIR_MAX_LAG_CYCLES, 4096);
    assert_int_equal(fth_request_check(&valid, NULL), FTH_OK);
    assert_int_equal(fth_request_samples(&valid), 16384);
    struct fth_request faults[12];
    for (size_t i = 0; i < FTH_COUNT(faults); i++)
        faults[i] = make_pair(3, 5, 32, 12);
    faults[0].pair.second = 3;
    faults[1].pair.lag_cycles = FTH_PAIR_MAX_LAG_CYCLES + 1;
    faults[2].pair.lines = 0;
    faults[3].pair.lines = 4097;
    faults[4].pair.bytes = 0;
    faults[5].pair.bytes = 132;
    faults[6].pair.offset_bytes = 30;
    faults[7].pair.stride_bytes = 124;
    faults[8].pair.stride_bytes = (1 << 20) + 4;
    faults[9].sm = 0;
    faults[10].cold = true;
    faults[11].carveout_percent = 101;
    static const char *const members[FTH_COUNT(faults)] = {
        "pair.second", "pair.lag_cycles",   "pair.lines",        "pair.lines",        "pair.bytes",
        "pair.bytes",  "pair.offset_bytes", "pair.stride_bytes", "pair.stride_bytes", "sm",
        "cold",        "carveout_percent"};
    for (size_t i = 0; i < FTH_COUNT(faults); i++) {
        struct fth_error error = NO_ERROR;
        assert_int_equal(fth_request_check(&faults[i], &error), FTH_INVALID);
        assert_string_equal(error.argument, members[i]);
    }
}

static void requests_have_a_canonical_text(void **state)
{
    (void)state;
    struct fth_request requests[2] = {make_pair(0, 16, 32, 12), make_pair(7, 2, 0, 1)};
    requests[1].pair.bytes = requests[1].pair.offset_bytes = 32;
    static const char *const texts[] = {"pair 0 16 lag 32 1152x12",
                                        "pair 7 2 lag 0 1152x1 bytes 32 offset 32"};
    for (size_t i = 0; i < FTH_COUNT(requests); i++) {
        struct fth_buffer text = {0};
        struct fth_request again;
        fth_request_write(&requests[i], &text);
        assert_string_equal(text.data, texts[i]);
        assert_int_equal(fth_request_read(text.data, text.size, &again, NULL), FTH_OK);
        assert_memory_equal(&again.pair, &requests[i].pair, sizeof again.pair);
        fth_buffer_fini(&text);
    }
    struct fth_request request;
    assert_int_equal(fth_request_read("pair 0 1 lag 8 1152", 19, &request, NULL), FTH_INVALID);
    assert_int_equal(fth_request_read("pair 0 1 1152x8", 15, &request, NULL), FTH_INVALID);
}

/* ---- simulated GPUs ---- */

/* A description with the given groups, window and extent of joins. */
struct truth {
    uint32_t sms, latency, window;
    const char *extent, *noise;
    uint32_t groups[32];
};

static struct fth_device *open_gpu(const struct truth *truth, bool joins)
{
    char text[2048], list[256], figures[512] = "";
    size_t used = 0;
    for (uint32_t i = 0; i < truth->sms; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%u", i ? "," : "",
                                 truth->groups[i]);
    if (joins)
        snprintf(figures, sizeof figures,
                 ", \"join_group_by_sm\": [%s], \"join_window_cycles\": %u, \"join_extent\": "
                 "\"%s\"",
                 list, truth->window, truth->extent);
    snprintf(text, sizeof text,
             "{\"schema\": \"fathom-gpu/1\", \"device\": {\"name\": \"Test\", \"sms\": %u, "
             "\"clock_mhz\": 1500, \"compute_capability\": \"9.0\"}, \"noise\": {%s}, "
             "\"elements\": {\"l2\": {\"size_bytes\": 1048576, \"line_bytes\": 128, "
             "\"sector_bytes\": 32, \"latency_cycles\": %u%s}, \"memory\": {\"size_bytes\": "
             "1073741824, \"latency_cycles\": %u}}}",
             truth->sms, truth->noise, truth->latency, figures, truth->latency + 300);
    return open_simulated(text);
}

/* A read that is joined returns with the first one; one after the window, of another sector or of
 * another group takes as long as alone. */
static void joined_reads_return_together(void **state)
{
    (void)state;
    const struct truth truth = {.sms = 4,
                                .latency = 300,
                                .window = 100,
                                .extent = "sectors",
                                .noise = "",
                                .groups = {0, 0, 1, 1}};
    struct fth_device *device = open_gpu(&truth, true);
    struct fth_request requests[5] = {make_pair(0, 1, 1280, 8), make_pair(0, 1, 60, 8),
                                      make_pair(0, 1, 160, 8), make_pair(0, 2, 60, 8),
                                      make_pair(2, 3, 60, 8)};
    struct fth_samples samples[5] = {0};
    assert_int_equal(fth_device_measure(device, requests, 5, samples, NULL), FTH_OK);
    for (size_t i = 0; i < 5; i++) {
        const bool joined = i == 1 || i == 4;
        assert_int_equal(samples[i].count, 32);
        for (size_t j = 0; j < 8; j++) {
            assert_int_equal(samples[i].cycles[j], samples[0].cycles[0]);
            if (joined)
                assert_in_range(samples[i].cycles[8 + j], samples[0].cycles[8] - 75,
                                samples[0].cycles[8] - 45);
            else
                assert_int_equal(samples[i].cycles[8 + j], samples[0].cycles[8]);
        }
    }
    for (size_t i = 0; i < 5; i++)
        fth_samples_fini(&samples[i]);
    requests[0] = make_pair(0, 4, 32, 8);
    assert_int_equal(fth_device_measure(device, requests, 1, samples, NULL), FTH_OK);
    assert_int_equal(samples[0].status, FTH_NOT_FOUND);
    fth_device_close(device);
}

static void joins_need_the_saving_of_a_third_of_the_lag(void **state)
{
    (void)state;
    static const uint32_t alone[] = {300, 300, 300, 300}, cycles[] = {290, 289, 250, 320};
    assert_int_equal(fth_count_joined(alone, cycles, 4, 33), 2);
    assert_int_equal(fth_count_joined(alone, cycles, 4, 30), 3);
    assert_int_equal(fth_count_joined(alone, cycles, 0, 30), 0);
}

static struct fth_joins probe(struct fth_device *device, const struct truth *truth,
                              uint32_t *groups)
{
    struct fth_joins found = {.groups = groups};
    struct fth_error error = NO_ERROR;
    const struct fth_prober prober = {.device = device, .sms = truth->sms};
    if (fth_probe_joins(&prober, 128, 32, &found, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    return found;
}

/* Random groups, windows and extents, with and without noise, are found again. */
static void finds_random_joins(void **state)
{
    (void)state;
    struct fth_rng rng;
    fth_rng_init(&rng, 7);
    for (size_t i = 0; i < 40; i++) {
        struct truth truth = {.sms = 2 + (uint32_t)fth_rng_below(&rng, 15),
                              .latency = 150 + (uint32_t)fth_rng_below(&rng, 400),
                              .window = 60 + (uint32_t)fth_rng_below(&rng, 80),
                              .extent = i % 2 ? "line" : "sectors",
                              .noise = i % 4 < 2 ? ""
                                                 : "\"jitter_cycles\": 3, \"seed\": 5, "
                                                   "\"outlier_rate\": 0.01"};
        uint32_t numbers[32], found_groups[32], count = 0;
        const uint64_t most = 1 + fth_rng_below(&rng, truth.sms);
        memset(numbers, 0xff, sizeof numbers);
        for (uint32_t j = 0; j < truth.sms; j++) {
            const uint64_t drawn = fth_rng_below(&rng, most);
            numbers[drawn] = numbers[drawn] == UINT32_MAX ? count++ : numbers[drawn];
            truth.groups[j] = numbers[drawn];
        }
        struct fth_device *device = open_gpu(&truth, true);
        const struct fth_joins found = probe(device, &truth, found_groups);
        assert_memory_equal(found.groups, truth.groups, truth.sms * sizeof *truth.groups);
        assert_int_equal(found.group_count, count);
        if (count < truth.sms) {
            assert_true(found.low <= truth.window && truth.window <= found.high);
            assert_true(fabs(found.window_cycles - truth.window) <= 8);

            assert_true(found.has_extent && found.joins_lines == (i % 2 != 0));
        }
        fth_device_close(device);
    }
}

static void a_gpu_without_joins_has_groups_of_one(void **state)
{
    (void)state;
    const struct truth truth = {.sms = 12, .latency = 250, .noise = "\"jitter_cycles\": 2"};
    uint32_t groups[32];
    struct fth_device *device = open_gpu(&truth, false);
    const struct fth_joins found = probe(device, &truth, groups);
    assert_int_equal(found.group_count, 12);
    for (uint32_t i = 0; i < 12; i++)
        assert_int_equal(groups[i], i);
    assert_true(isnan(found.window_cycles) && !found.has_extent);
    fth_device_close(device);
}

/* The driver's stand-in executes the same requests. */
static void the_driver_executes_pairs(void **state)
{
    (void)state;
    struct fth_device *device = NULL;
    struct fth_error error = NO_ERROR;
    if (fth_device_open("cuda:0", NULL, &device, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    const struct fth_request requests[2] = {make_pair(0, 1, 1280, 4), make_pair(1, 0, 32, 4)};
    struct fth_samples samples[2] = {0};
    assert_int_equal(fth_device_measure(device, requests, 2, samples, NULL), FTH_OK);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(samples[i].status, FTH_OK);
        for (size_t j = 0; j < 8; j++)
            assert_true(samples[i].cycles[j] > 0);
        fth_samples_fini(&samples[i]);
    }
    fth_device_close(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(invalid_requests_are_rejected),
        cmocka_unit_test(requests_have_a_canonical_text),
        cmocka_unit_test(joined_reads_return_together),
        cmocka_unit_test(joins_need_the_saving_of_a_third_of_the_lag),
        cmocka_unit_test(finds_random_joins),
        cmocka_unit_test(a_gpu_without_joins_has_groups_of_one),
        cmocka_unit_test(the_driver_executes_pairs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
