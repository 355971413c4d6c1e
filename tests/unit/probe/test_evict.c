/* Tests eviction sets, from the request (device/family/family_evict.c) to the probe
 * (probe/l2/l2_evict.c). The probe measures simulated GPUs, whose descriptions are the truth. The
 * requests also run on the stand-in for NVIDIA's driver (tests/standin), which the loader finds
 * through LD_LIBRARY_PATH. */
#include "check.h"
#include "described_device.h"
#include "device/family/family.h"
#include "probe/l2/probe_l2.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- requests ---- */

static struct fth_request make_search(void)
{
    struct fth_request request = fth_request_make(-1);
    request.family = FTH_FAMILY_EVICT;
    request.evict = (struct fth_evict){.kind = FTH_EVICT_SEARCH,
                                       .lines = 4096,
                                       .line_bytes = 128,
                                       .seed = 7,
                                       .pool = 1024,
                                       .threshold_cycles = 400,
                                       .repeats = 2,
                                       .max_tests = 900,
                                       .passes = 1};
    return request;
}

static struct fth_request make_script(void)
{
    struct fth_request request = fth_request_make(-1);
    request.family = FTH_FAMILY_EVICT;
    request.evict = (struct fth_evict){.kind = FTH_EVICT_SCRIPT,
                                       .lines = 4096,
                                       .line_bytes = 128,
                                       .number_count = 3,
                                       .read_count = 4,
                                       .time_count = 2,
                                       .passes = 1,
                                       .numbers = {9, 77, 4095},
                                       .reads = {0, 1, 0, 2},
                                       .times = {2, 0}};
    return request;
}

static void expect_fault(const struct fth_request *request, const char *member)
{
    struct fth_error error = NO_ERROR;
    assert_int_equal(fth_request_check(request, &error), FTH_INVALID);
    assert_string_equal(error.argument, member);
}

static void invalid_searches_are_rejected(void **state)
{
    (void)state;
    const struct fth_request valid = make_search();
    assert_int_equal(fth_request_check(&valid, NULL), FTH_OK);
    assert_int_equal(fth_request_samples(&valid), 5 + FTH_EVICT_MAX_MEMBERS);
    struct fth_request faults[14];
    for (size_t i = 0; i < FTH_COUNT(faults); i++)
        faults[i] = make_search();
    faults[0].evict.kind = FTH_EVICT_KINDS;
    faults[1].evict.lines = 4095;
    faults[2].evict.lines = 1;
    faults[3].evict.line_bytes = 130;
    faults[4].evict.warm_bytes = 96;
    faults[5].evict.pool = 0;
    faults[6].evict.pool = 4096;
    faults[7].evict.target = 3072;
    faults[8].evict.threshold_cycles = 0;
    faults[9].evict.passes = 0;
    faults[10].evict.repeats = 0;
    faults[11].evict.max_tests = 0;
    faults[12].cold = true;
    faults[13].carveout_percent = 101;
    static const char *const members[FTH_COUNT(faults)] = {"evict.kind",
                                                           "evict.lines",
                                                           "evict.lines",
                                                           "evict.line_bytes",
                                                           "evict.warm_bytes",
                                                           "evict.pool",
                                                           "evict.pool",
                                                           "evict.target",
                                                           "evict.threshold_cycles",
                                                           "evict.passes",
                                                           "evict.repeats",
                                                           "evict.max_tests",
                                                           "cold",
                                                           "carveout_percent"};
    for (size_t i = 0; i < FTH_COUNT(faults); i++)
        expect_fault(&faults[i], members[i]);
}

static void invalid_scripts_are_rejected(void **state)
{
    (void)state;
    const struct fth_request valid = make_script();
    assert_int_equal(fth_request_check(&valid, NULL), FTH_OK);
    assert_int_equal(fth_request_samples(&valid), 2);
    struct fth_request faults[12];
    for (size_t i = 0; i < FTH_COUNT(faults); i++)
        faults[i] = make_script();
    faults[0].evict.flush = 4097;
    faults[1].evict.pool = 4097;
    faults[2].evict.number_count = 0;
    faults[3].evict.number_count = 66;
    faults[4].evict.numbers[1] = 4096;
    faults[5].evict.read_count = 129;
    faults[6].evict.time_count = 0;
    faults[7].evict.time_count = 66;
    faults[8].evict.passes = 0;
    faults[9].evict.read_count = 0;
    faults[10].evict.reads[3] = 3;
    faults[11].evict.times[1] = 3;
    static const char *const members[FTH_COUNT(faults)] = {
        "evict.flush",   "evict.pool",       "evict.number_count", "evict.number_count",
        "evict.numbers", "evict.read_count", "evict.time_count",   "evict.time_count",
        "evict.passes",  "evict.passes",     "evict.reads",        "evict.times"};
    for (size_t i = 0; i < FTH_COUNT(faults); i++)
        expect_fault(&faults[i], members[i]);
}

static void requests_have_a_canonical_text(void **state)
{
    (void)state;
    struct fth_request requests[4] = {make_search(), make_search(), make_script(), make_script()};
    requests[1].evict.warm_bytes = 64;
    requests[1].evict.passes = 6;
    requests[1].evict.target = 3;
    requests[1].sm = 2;
    requests[3].evict.flush = 100;
    requests[3].evict.pool = 50;
    requests[3].evict.passes = 0;
    requests[3].evict.read_count = 0;
    memset(requests[3].evict.reads, 0, sizeof requests[3].evict.reads);
    static const char *const texts[] = {
        "evict search 4096x128 seed 7 pool 1024 target 0 threshold 400 repeats 2 tests 900",
        ("evict search 4096x128 seed 7 warm 64 pool 1024 target 3 threshold 400 repeats 2 tests "
         "900 passes 6; sm 2"),
        "evict script 4096x128 seed 0 lines 9,77,4095 read 0,1,0,2 time 2,0",
        "evict script 4096x128 seed 0 flush 100 lines 9,77,4095 pool 50 time 2,0"};
    for (size_t i = 0; i < FTH_COUNT(requests); i++) {
        struct fth_buffer text = {0};
        struct fth_request again;
        fth_request_write(&requests[i], &text);
        assert_string_equal(text.data, texts[i]);
        assert_int_equal(fth_request_read(text.data, text.size, &again, NULL), FTH_OK);
        assert_memory_equal(&again.evict, &requests[i].evict, sizeof again.evict);
        fth_buffer_fini(&text);
    }
    static const char *const wrong[] = {
        "evict find 4096x128 seed 7",
        "evict script 4096x128 seed 0 lines 9,77 time 2",
        "evict script 4096x128 seed 0 lines 9, time 0",
        "evict script 4096x128 seed 0 lines 9 read 0",
        "evict search 4096x128 seed 7 pool 1024 target 0 threshold 400 repeats 2",
        "evict search 4096 seed 7 pool 1024 target 0 threshold 400 repeats 2 tests 900"};
    struct fth_request request;
    for (size_t i = 0; i < FTH_COUNT(wrong); i++)
        assert_int_equal(fth_request_read(wrong[i], strlen(wrong[i]), &request, NULL), FTH_INVALID);
}

/* Each element of the order is another line. */
static void the_order_is_a_permutation(void **state)
{
    (void)state;
    for (uint32_t lines = 2; lines <= 4096; lines *= 2) {
        bool seen[4096] = {false};
        for (uint32_t i = 0; i < lines; i++) {
            const uint32_t line = fth_evict_line(lines, 12345, i);
            assert_true(line < lines && !seen[line]);
            seen[line] = true;
        }
    }
}

/* ---- simulated GPUs ---- */

/* The L2 of a simulated GPU. */
struct truth {
    uint32_t partitions;
    uint64_t sets, ways; /* of a partition */
    const char *index, *policy, *noise;
};

static struct fth_device *open_gpu(const struct truth *truth)
{
    char text[2048];
    snprintf(text, sizeof text,
             "{\"schema\": \"fathom-gpu/1\", \"device\": {\"name\": \"Test\", \"sms\": 4, "
             "\"clock_mhz\": 1500, \"compute_capability\": \"9.0\"}, \"noise\": {%s}, "
             "\"elements\": {\"l2\": {\"size_bytes\": %llu, \"line_bytes\": 128, \"sector_bytes\": "
             "32, \"latency_cycles\": 280, \"partitions\": %u%s, \"sets\": %llu, \"ways\": %llu, "
             "\"index\": \"%s\", \"policy\": \"%s\"}, \"memory\": {\"size_bytes\": 1073741824, "
             "\"latency_cycles\": 600}}}",
             truth->noise, (unsigned long long)truth->partitions * truth->sets * truth->ways * 128,
             truth->partitions, truth->partitions > 1 ? ", \"far_latency_cycles\": 450" : "",
             (unsigned long long)truth->sets, (unsigned long long)truth->ways, truth->index,
             truth->policy);
    return open_simulated(text);
}

static enum fth_status probe(const struct truth *truth, struct fth_eviction_sets *found)
{
    struct fth_device *device = open_gpu(truth);
    const struct fth_prober prober = {.device = device, .sms = 4};
    const struct fth_evict_plan plan = {.partition_bytes = truth->sets * truth->ways * 128,
                                        .line_bytes = 128,
                                        .warm_bytes = 64,
                                        .max_bytes = 1 << 30,
                                        .threshold_cycles = truth->partitions > 1 ? 375 : 450};
    struct fth_error error = NO_ERROR;
    const enum fth_status status = fth_probe_eviction_sets(&prober, &plan, found, &error);
    if (status != FTH_OK)
        print_message("# %u x %llu sets x %llu ways, %s, %s: %s\n", truth->partitions,
                      (unsigned long long)truth->sets, (unsigned long long)truth->ways,
                      truth->index, truth->policy, error.cause);
    fth_device_close(device);
    return status;
}

/* A search in an L2 with the index line % sets finds the lines of the target's set. */
static void searches_find_the_lines_of_a_set(void **state)
{
    (void)state;
    const struct truth truth = {
        .partitions = 1, .sets = 48, .ways = 6, .index = "mod", .policy = "lru", .noise = ""};
    struct fth_device *device = open_gpu(&truth);
    struct fth_request request = make_search();
    struct fth_samples samples = {0};
    request.evict.target = 5;
    assert_int_equal(fth_device_measure(device, &request, 1, &samples, NULL), FTH_OK);
    assert_int_equal(samples.status, FTH_OK);
    assert_int_equal(samples.cycles[0], FTH_EVICT_FOUND);
    assert_int_equal(samples.cycles[1], 6);
    assert_int_equal(samples.cycles[4], fth_evict_line(4096, 7, 1024 + 5));
    for (size_t i = 0; i < FTH_EVICT_MAX_MEMBERS; i++)
        if (i < 6)
            assert_int_equal(samples.cycles[5 + i] % 48, samples.cycles[4] % 48);
        else
            assert_int_equal(samples.cycles[5 + i], 0);
    fth_samples_fini(&samples);
    /* A pool that is much smaller than the L2 does not evict the target. */
    request.evict.pool = 20;
    assert_int_equal(fth_device_measure(device, &request, 1, &samples, NULL), FTH_OK);
    assert_int_equal(samples.cycles[0], FTH_EVICT_KEPT);
    fth_samples_fini(&samples);
    request.sm = 4;
    assert_int_equal(fth_device_measure(device, &request, 1, &samples, NULL), FTH_OK);
    assert_int_equal(samples.status, FTH_NOT_FOUND);
    fth_samples_fini(&samples);
    fth_device_close(device);
}

/* Random L2s with LRU are found. With noise, the policy or the number of sets may stay unknown. */
static void finds_random_sets(void **state)
{
    (void)state;
    static const char *const indices[] = {"mod", "xor", "prime", "shift:3"};
    struct fth_rng rng;
    fth_rng_init(&rng, 11);
    for (size_t i = 0; i < 12; i++) {
        const bool noisy = i % 3 == 2;
        struct truth truth = {.partitions = 1 + (uint32_t)fth_rng_below(&rng, 2),
                              .ways = 4 + fth_rng_below(&rng, 21),
                              .index = indices[i % FTH_COUNT(indices)],
                              .policy = "lru",
                              .noise = noisy ? "\"jitter_cycles\": 3, \"seed\": 5, "
                                               "\"outlier_rate\": 0.003"
                                             : ""};
        /* A fold of the line number is even only for powers of two. */
        truth.sets = i % FTH_COUNT(indices) == 1 ? (uint64_t)16 << fth_rng_below(&rng, 3)
                                                 : 16 + fth_rng_below(&rng, 60);
        struct fth_eviction_sets found;
        assert_int_equal(probe(&truth, &found), FTH_OK);
        assert_int_equal(found.ways, truth.ways);
        assert_true(fth_confidence(found.evidence) > 0.8 && found.agreed == found.verified);
        if (!noisy || found.policy)
            assert_string_equal(found.policy, "lru");
        if (!noisy || found.sets)
            assert_int_equal(found.sets, truth.sets);
    }
}

/* Other policies are found or stay unknown. */
static void other_policies_are_right_or_unknown(void **state)
{
    (void)state;
    static const struct truth truths[] = {
        {1, 40, 8, "mod", "fifo", ""},    {2, 32, 4, "xor", "fifo", ""},
        {1, 32, 8, "xor", "plru", ""},    {1, 32, 8, "mod", "random", ""},
        {2, 30, 12, "mod", "random", ""}, {1, 32, 16, "mod", "lfu", ""},
    };
    size_t fifo = 0;
    for (size_t i = 0; i < FTH_COUNT(truths); i++) {
        struct fth_eviction_sets found;
        if (probe(&truths[i], &found) != FTH_OK)
            continue;
        assert_int_equal(found.ways, truths[i].ways);
        if (found.sets)
            assert_int_equal(found.sets, truths[i].sets);
        if (found.policy)
            assert_string_equal(found.policy, truths[i].policy);
        fifo += found.policy && strcmp(found.policy, "fifo") == 0;
    }
    assert_int_equal(fifo, 2);
}

/* If a partition holds fewer lines than its size implies, the number of sets is not reported. */
static void a_wrong_size_gives_no_sets(void **state)
{
    (void)state;
    const struct truth truth = {
        .partitions = 1, .sets = 128, .ways = 8, .index = "mod", .policy = "lru", .noise = ""};
    struct fth_device *device = open_gpu(&truth);
    const struct fth_prober prober = {.device = device, .sms = 4};
    const struct fth_evict_plan plan = {.partition_bytes = (uint64_t)2 * 128 * 8 * 128,
                                        .line_bytes = 128,
                                        .warm_bytes = 64,
                                        .max_bytes = 1 << 30,
                                        .threshold_cycles = 450};
    struct fth_eviction_sets found;
    assert_int_equal(fth_probe_eviction_sets(&prober, &plan, &found, NULL), FTH_OK);
    assert_int_equal(found.ways, 8);
    assert_int_equal(found.sets, 0);
    assert_true(found.evicted > found.expected + 0.2);
    fth_device_close(device);
}

/* The driver's stand-in executes the same requests. */
static void the_driver_executes_searches(void **state)
{
    (void)state;
    struct fth_device *device = NULL;
    struct fth_error error = NO_ERROR;
    if (fth_device_open("cuda:0", NULL, &device, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    struct fth_request requests[2] = {make_search(), make_script()};
    requests[0].evict.max_tests = 3;
    struct fth_samples samples[2] = {0};
    assert_int_equal(fth_device_measure(device, requests, 2, samples, NULL), FTH_OK);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(samples[i].status, FTH_OK);
        for (size_t j = 0; j < 2; j++)
            assert_true(samples[i].cycles[j] > 0);
        fth_samples_fini(&samples[i]);
    }
    fth_device_close(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(invalid_searches_are_rejected),
        cmocka_unit_test(invalid_scripts_are_rejected),
        cmocka_unit_test(requests_have_a_canonical_text),
        cmocka_unit_test(the_order_is_a_permutation),
        cmocka_unit_test(searches_find_the_lines_of_a_set),
        cmocka_unit_test(finds_random_sets),
        cmocka_unit_test(other_policies_are_right_or_unknown),
        cmocka_unit_test(a_wrong_size_gives_no_sets),
        cmocka_unit_test(the_driver_executes_searches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
