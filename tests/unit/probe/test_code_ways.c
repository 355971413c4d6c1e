/* Tests requests of the branch family (device/family/family_branch.c) and the probe of the ways of
 * instruction caches (probe/structure/code_ways.c). The probe measures simulated GPUs; the truth is
 * the description that each GPU was created from. */
#include "check.h"
#include "described_device.h"
#include "noise.h"
#include "probe/structure/probe_structure.h"
#include "requests.h"

#include <stdio.h>
#include <stdlib.h>

struct cache {
    uint64_t sets, ways, line; /* sets 0: there is no such cache */
    double cycles;             /* per instruction */
    const char *policy;
};

struct truth {
    struct cache code[3]; /* innermost first */
    const char *noise;
};

static struct fth_device *open_gpu(const struct truth *truth)
{
    static const char *const names[] = {"instruction_l0", "instruction_l1", "instruction_l15"};
    struct fth_buffer text = {0};
    fth_buffer_format(&text,
                      "{\"schema\": \"fathom-gpu/1\", \"device\": {\"name\": \"Test\", \"sms\": 3, "
                      "\"clock_mhz\": 1000, \"compute_capability\": \"7.0\"}, \"noise\": {%s}, "
                      "\"elements\": {\n",
                      truth->noise ? truth->noise : "");
    for (int i = 0; i < 3; i++) {
        const struct cache *cache = &truth->code[i];
        if (cache->sets)
            fth_buffer_format(&text,
                              "\"%s\": {\"size_bytes\": %llu, \"line_bytes\": %llu, \"sets\": "
                              "%llu, \"ways\": %llu, \"cycles_per_instruction\": %.17g, "
                              "\"policy\": \"%s\"},\n",
                              names[i], (unsigned long long)cache->sets * cache->ways * cache->line,
                              (unsigned long long)cache->line, (unsigned long long)cache->sets,
                              (unsigned long long)cache->ways, cache->cycles,
                              cache->policy ? cache->policy : "lru");
    }
    fth_buffer_text(&text, "\"l2\": {\"size_bytes\": 4194304, \"latency_cycles\": 250}, \"memory\":"
                           " {\"size_bytes\": 1073741824, \"latency_cycles\": 600}}}\n");
    struct fth_device *device = open_simulated(text.data);
    fth_buffer_fini(&text);
    return device;
}

/* ---- requests ---- */

static struct fth_request branches(uint64_t stride, uint64_t count, uint64_t passes)
{
    struct fth_request request = fth_request_make(-1);
    request.family = FTH_FAMILY_BRANCH;
    request.branch = (struct fth_branch){stride, count, passes};
    return request;
}

static void requests_have_a_canonical_text(void **state)
{
    (void)state;
    static const char *const texts[] = {"branch 64x256", "branch 2048x8 passes 7; sm 2"};
    struct fth_request request = branches(64, 256, 1);
    assert_string_equal(request_text(&request), texts[0]);
    assert_int_equal(fth_request_samples(&request), 1);
    request = branches(2048, 8, 7);
    request.sm = 2;
    assert_string_equal(request_text(&request), texts[1]);
    assert_int_equal(fth_request_samples(&request), 7);
    for (size_t i = 0; i < FTH_COUNT(texts); i++) {
        assert_int_equal(fth_request_read(texts[i], strlen(texts[i]), &request, NULL), FTH_OK);
        assert_string_equal(request_text(&request), texts[i]);
    }
}

static void invalid_requests_are_rejected(void **state)
{
    (void)state;
    struct fth_request cold = branches(64, 1, 1), carveout = cold;
    cold.cold = true;
    carveout.carveout_percent = 101;
    const struct {
        struct fth_request request;
        const char *argument; /* NULL: the request is valid */
    } rows[] = {
        {branches(64, 256, 1), NULL},
        {branches(2048, 8, 1), NULL},
        {branches(0, 1, 1), "branch.stride"},
        {branches(96, 1, 1), "branch.stride"},
        {branches(4096, 1, 1), "branch.stride"},
        {branches(64, 0, 1), "branch.count"},
        {branches(64, 257, 1), "branch.count"},
        {branches(2048, 9, 1), "branch.count"},
        {branches(64, 1, 0), "branch.passes"},
        {branches(64, 1, UINT64_MAX), "branch.passes"},
        {cold, "cold"},
        {carveout, "carveout_percent"},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_error error = NO_ERROR;
        enum fth_status status = fth_request_check(&rows[i].request, &error);
        assert_int_equal(status, rows[i].argument ? FTH_INVALID : FTH_OK);
        if (rows[i].argument)
            assert_string_equal(error.argument, rows[i].argument);
    }
}

/* Returns the cycles of the last of four passes. */
static uint32_t last_pass(struct fth_device *device, uint64_t stride, uint64_t count)
{
    struct fth_request request = branches(stride, count, 4);
    struct fth_samples samples = {0};
    struct fth_error error = NO_ERROR;
    if (fth_device_measure(device, &request, 1, &samples, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    assert_int_equal(samples.status, FTH_OK);
    const uint32_t cycles = samples.cycles[3];
    fth_samples_fini(&samples);
    return cycles;
}

/* A cache of 16 sets with 4 ways and lines of 256 bytes has ways of 4 KiB: branches that are 4 KiB
 * apart are in one set, so that the fifth one evicts the others. */
static void branches_evict_each_other(void **state)
{
    (void)state;
    const struct truth truth = {.code = {{.sets = 0}, {16, 4, 256, 1, NULL}}};
    struct fth_device *device = open_gpu(&truth);
    const uint32_t one = last_pass(device, 256, 3), two = last_pass(device, 256, 4);
    assert_true(two - one < 40);
    assert_true(last_pass(device, 256, 5) > 2 * two);
    assert_true(last_pass(device, 128, 8) < 2 * two + 40);
    fth_device_close(device);
}

/* ---- ways ---- */

/* Probes a simulated GPU. Every result must be right. Returns the number of results. */
static size_t probe(const struct truth *truth)
{
    const struct fth_code_size code = {.bytes = 16, .instructions = 1};
    struct fth_device *device = open_gpu(truth);
    const struct fth_prober prober = {.device = device, .sms = 3};
    struct fth_code_ways found[FTH_MAX_CODE_WAYS];
    struct fth_error error = NO_ERROR;
    size_t count;
    if (fth_probe_code_ways(&prober, &code, found, &count, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    for (size_t i = 0; i < count; i++) {
        bool right = false;
        for (size_t j = 0; j < 3; j++)
            right = right || (truth->code[j].ways == found[i].ways &&
                              truth->code[j].sets * truth->code[j].line == found[i].way_bytes);
        if (!right)
            fail_msg("%llu ways of %llu bytes", (unsigned long long)found[i].ways,
                     (unsigned long long)found[i].way_bytes);
        assert_true(fth_confidence(found[i].evidence) > 0.5);
    }
    fth_device_close(device);
    return count;
}

/* Caches like those of an H200: 32 KiB with 4 ways, and 128 KiB with 8 ways. */
static void finds_the_caches_of_an_h200(void **state)
{
    (void)state;
    static const char *const policies[] = {"lru", "fifo", "plru"};
    for (size_t i = 0; i < FTH_COUNT(policies); i++) {
        const struct truth truth = {
            .code = {{64, 4, 128, 1.1, policies[i]}, {64, 8, 256, 2.2, policies[i]}}};
        assert_int_equal(probe(&truth), 2);
    }
}

/* Random caches, with and without noise: each result is right, and most caches are found. */
static void finds_random_caches(void **state)
{
    (void)state;
    size_t found = 0, caches = 0;
    for (uint64_t seed = 1; seed <= (SANITIZED ? 2 : 10); seed++) {
        struct fth_rng rng;
        char noise[128];
        fth_rng_init(&rng, seed);
        struct truth truth = {.code = {{.sets = 0}}};
        uint64_t way_bytes = UINT64_C(2048) << fth_rng_below(&rng, 2);
        const size_t levels = 1 + fth_rng_below(&rng, 2);
        double cycles = 1 + fth_rng_unit(&rng);
        for (size_t i = 0; i < levels; i++) {
            const uint64_t line = UINT64_C(64) << fth_rng_below(&rng, 3);
            const uint64_t ways = 3 + fth_rng_below(&rng, 6);
            truth.code[i] = (struct cache){way_bytes / line, ways, line, cycles, NULL};
            way_bytes *= 4;
            cycles *= 2 + fth_rng_unit(&rng);
        }
        if (seed % 2 == 0) {
            snprintf(noise, sizeof noise,
                     "\"seed\": %llu, \"jitter_cycles\": 2, \"outlier_rate\": 0.001",
                     (unsigned long long)seed);
            truth.noise = noise;
        }
        found += probe(&truth);
        caches += levels;
    }
    if (4 * found < 3 * caches)
        fail_msg("found %zu of %zu caches", found, caches);
}

/* Random replacement has no part in which a place evicts all lines of its set. */
static void random_replacement_stays_unknown(void **state)
{
    (void)state;
    const struct truth truth = {.code = {{64, 4, 128, 1, "random"}}};
    assert_int_equal(probe(&truth), 0);
}

static void other_instruction_sizes_are_refused(void **state)
{
    (void)state;
    const struct fth_code_size code = {.bytes = 64, .instructions = 7};
    const struct fth_prober prober = {.sms = 3};
    struct fth_code_ways found[FTH_MAX_CODE_WAYS];
    size_t count = 1;
    assert_int_equal(fth_probe_code_ways(&prober, &code, found, &count, NULL), FTH_UNSUPPORTED);
    assert_int_equal(count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_have_a_canonical_text),
        cmocka_unit_test(invalid_requests_are_rejected),
        cmocka_unit_test(branches_evict_each_other),
        cmocka_unit_test(finds_the_caches_of_an_h200),
        cmocka_unit_test(finds_random_caches),
        cmocka_unit_test(random_replacement_stays_unknown),
        cmocka_unit_test(other_instruction_sizes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
