/* Tests requests of the fetch family (device/family/family_fetch.c) and the probes of the
 * instruction caches (probe/cache/instruction_caches.c) and the constant caches
 * (probe/cache/constant_caches.c). The probes measure simulated GPUs; the truth is the description
 * that each GPU was created from: published caches, caches made up for one case, and random ones.
 *
 *   test_fetch [FIRST LAST]      seeds of the random caches; default 1 to 12 */
#include "check.h"
#include "code_gpus.h"
#include "noise.h"
#include "probe/cache/probe_cache.h"
#include "requests.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- requests ---- */

static struct fth_request code(uint64_t instructions, uint64_t passes)
{
    struct fth_request request = fth_request_make(-1);
    request.family = FTH_FAMILY_FETCH;
    request.fetch = (struct fth_fetch){.instructions = instructions, .passes = passes};
    return request;
}

static struct fth_request code_and_constants(uint64_t instructions, uint64_t stride, uint64_t count)
{
    struct fth_request request = code(instructions, 2);
    request.fetch.constants = (struct fth_chain){.stride_bytes = stride, .count = count};
    return request;
}

static struct fth_request branches(uint64_t count, uint64_t stride)
{
    struct fth_request request = code(count, 1);
    request.fetch.stride_bytes = stride;
    return request;
}

static void requests_have_a_canonical_text(void **state)
{
    (void)state;
    struct fth_request request = code(4096, 1);
    assert_string_equal(request_text(&request), "fetch 4096");
    assert_int_equal(fth_request_samples(&request), 1);
    request = branches(512, 64);
    request.fetch.passes = 6;
    assert_string_equal(request_text(&request), "fetch 512 stride 64 passes 6");
    static const char text[] = "fetch 512 stride 64 passes 6";
    struct fth_request again;
    assert_int_equal(fth_request_read(text, sizeof text - 1, &again, NULL), FTH_OK);
    assert_int_equal(again.fetch.stride_bytes, 64);
    assert_int_equal(again.fetch.instructions, 512);
    request = code_and_constants(64, 64, 32);
    request.fetch.constants.start_bytes = 256;
    request.sm = 2;
    request.carveout_percent = 50;
    request.alone = true; /* implied, and therefore not written */
    assert_string_equal(request_text(&request),
                        "fetch 64 passes 2; time-hops constant 0+256:64x32; sm 2; carveout 50");
    assert_int_equal(fth_request_samples(&request), 34);
}

static void invalid_requests_are_rejected(void **state)
{
    (void)state;
    struct fth_request cold = code(64, 1), carveout = code(64, 1);
    struct fth_request branches_and_constants = code_and_constants(64, 8, 1);
    branches_and_constants.fetch.stride_bytes = 64;
    const struct fth_request long_code_and_constants = code_and_constants(FTH_MAX_FETCH + 64, 8, 1);
    cold.cold = true;
    carveout.carveout_percent = 101;
    const struct {
        struct fth_request request;
        const char *argument; /* of the error; NULL: the request is valid */
    } rows[] = {
        {code(64, 1), NULL},
        {code(FTH_MAX_FETCH, 1), NULL},
        {code(FTH_MAX_SHORT_FETCH, 1), NULL},
        {branches(1, 64), NULL},
        {branches(FTH_MAX_STRIDED_FETCH / 64, 64), NULL},
        {branches(126, 4160), NULL},
        {code_and_constants(64, 8, 8192), NULL},
        {code(0, 1), "fetch.instructions"},
        {code(100, 1), "fetch.instructions"},
        {code(FTH_MAX_SHORT_FETCH + 64, 1), "fetch.instructions"},
        {branches(FTH_MAX_STRIDED_FETCH / 64 + 1, 64), "fetch.instructions"},
        {branches_and_constants, "fetch.constants"},
        {long_code_and_constants, "fetch.constants"},
        {code(64, 0), "fetch.passes"},
        {code(64, UINT64_MAX), "fetch.passes"},
        {code_and_constants(64, 8, 8193), "steps[0].chain.count"},
        {code_and_constants(64, 12, 1), "steps[0].chain.stride_bytes"},
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

static struct fth_samples measure(struct fth_device *device, struct fth_request request)
{
    struct fth_samples samples = {0};
    struct fth_error error = NO_ERROR;
    if (fth_device_measure(device, &request, 1, &samples, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    return samples;
}

/* A request for n instructions fetches n, including the instructions of the loop around the
 * straight-line code. Code of exactly the size of a cache therefore runs at the rate of that cache,
 * and code that is one block longer runs at the rate of the next level. */
static void code_has_the_requested_length(void **state)
{
    (void)state;
    const struct truth truth = {
        .code = {{8192, 128, 1, 1}, {16384, 32, 1, 4}}, .shared = -1, .l2_cycles = 250};
    struct fth_device *device = open_gpu(&truth);
    static const struct {
        uint64_t instructions;
        double cycles;
    } rows[] = {{256, 1},   {512, 1},
                {576, 4},   {1024, 4},
                {1088, 10}, {FTH_MAX_FETCH, 10},
                {1024, 4},  {FTH_MAX_FETCH + FTH_FETCH_BLOCK, 10}};
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_samples samples = measure(device, code(rows[i].instructions, 4));
        assert_int_equal(samples.status, FTH_OK);
        assert_int_equal(samples.count, 4);
        assert_true(samples.cycles[0] > samples.cycles[1] || rows[i].cycles > 4);
        /* About 20 of the instructions belong to the loop and are not timed. */
        for (size_t pass = 1; pass < 4; pass++)
            assert_near((double)samples.cycles[pass],
                        ((double)rows[i].instructions - 20) * rows[i].cycles, 18 * rows[i].cycles);
        fth_samples_fini(&samples);
    }
    fth_device_close(device);
}

/* Only CPUs execute code that consists of branches. */
static void branches_are_unsupported(void **state)
{
    (void)state;
    const struct truth truth = {
        .code = {{8192, 128, 1, 1}, {16384, 32, 1, 4}}, .shared = -1, .l2_cycles = 250};
    struct fth_device *device = open_gpu(&truth);
    struct fth_samples samples = measure(device, branches(64, 64));
    assert_int_equal(samples.status, FTH_UNSUPPORTED);
    assert_contains(samples.cause, "only CPUs");
    fth_samples_fini(&samples);
    fth_device_close(device);
}

/* Returns the cycles of the last of four passes over 12 KiB of code, with a cache of 16 KiB that
 * also holds constants. */
static uint32_t last_pass(struct fth_device *device, uint64_t constant_bytes)
{
    struct fth_request request = code_and_constants(768, 64, constant_bytes / 64);
    request.fetch.passes = 4;
    struct fth_samples samples = measure(device, request);
    assert_int_equal(samples.status, FTH_OK);
    const uint32_t cycles = samples.cycles[3];
    fth_samples_fini(&samples);
    return cycles;
}

/* The constants are walked before every pass, so they and the code evict each other again and again
 * if the cache cannot hold both. */
static void constants_are_walked_before_every_pass(void **state)
{
    (void)state;
    const struct truth truth = {.code = {{.size = 0}, {16384, 128, 0, 1}},
                                .l1 = {2048, 64, 0, 20},
                                .l15 = {16384, 128, 0, 80},
                                .shared = 1,
                                .l2_cycles = 250};
    struct fth_device *device = open_gpu(&truth);
    assert_in_range(last_pass(device, 2048), 700, 800);
    assert_in_range(last_pass(device, 8192), 1700, 1900);
    fth_device_close(device);
}

static void constants_are_timed_after_the_code(void **state)
{
    (void)state;
    const struct truth truth = {
        .code = {{16384, 64, 4, 1}}, .l1 = {2048, 64, 0, 20}, .shared = -1, .l2_cycles = 250};
    struct fth_device *device = open_gpu(&truth);
    struct fth_request request = code_and_constants(128, 64, 32);
    request.sm = 2;
    struct fth_samples samples = measure(device, request);
    assert_int_equal(samples.status, FTH_OK);
    assert_int_equal(samples.count, 2 + 32);
    for (size_t i = 3; i < samples.count; i++)
        assert_in_range(samples.cycles[i], 20, 30);
    fth_samples_fini(&samples);
    /* One line more than L1 holds. The set of every fourth line has one line more than ways, so
     * that with LRU each of its loads misses. */
    request.fetch.constants.count = 33;
    request.fetch.constants.start_bytes = 4096;
    samples = measure(device, request);
    for (size_t i = 6; i < samples.count; i += 4)
        assert_in_range(samples.cycles[i], 250, 260);
    fth_samples_fini(&samples);
    request.sm = 3;
    samples = measure(device, request);
    assert_int_equal(samples.status, FTH_UNAVAILABLE);
    fth_samples_fini(&samples);
    fth_device_close(device);
}

/* ---- the probes ---- */

FTH_PRINTF(2, 3)
static void add_difference(struct fth_buffer *differences, const char *format, ...)
{
    char text[300];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fth_buffer_format(differences, " %s;", text);
}

static bool is_near(double value, double expected, double tolerance)
{
    return fabs(value - expected) <= tolerance;
}

static void compare_code(const struct truth *truth, const struct fth_fetch_levels *found,
                         struct fth_buffer *differences)
{
    size_t count = 0;
    double cost = 1;
    for (size_t i = 0; i < 3; i++) {
        const struct cache *cache = &truth->code[i];
        if (cache->size == 0)
            continue;
        const struct fth_fetch_level *level = &found->items[count++];
        /* The probe varies the length of the code in blocks of 64 instructions, 1 KiB if they have
         * 16 bytes each. A size that is a multiple of 1 KiB must be found exactly. */
        if (found->count > count - 1 &&
            (level->fits_bytes > cache->size || level->misses_bytes <= cache->size ||
             (cache->size % 1024 == 0 && !truth->capability && level->fits_bytes != cache->size)))
            add_difference(differences, "%s is %llu, found %llu to %llu", code_names[i],
                           (unsigned long long)cache->size, (unsigned long long)level->fits_bytes,
                           (unsigned long long)level->misses_bytes);
        if (!is_near(level->cycles.value, cache->cycles, 0.01 * cache->cycles))
            add_difference(differences, "%s is %g cycles, found %g", code_names[i], cache->cycles,
                           level->cycles.value);
        cost = cache->cycles * 2.5;
    }
    if (found->count != count + 1)
        add_difference(differences, "%zu instruction caches, but %zu plateaus", count,
                       found->count);
    else if (!is_near(found->items[count].cycles.value, cost, 0.01 * cost))
        add_difference(differences, "beyond the last cache is %g cycles, found %g", cost,
                       found->items[count].cycles.value);
}

static void compare_constants(const struct truth *truth, const struct fth_constants *found,
                              struct fth_buffer *differences)
{
    const struct {
        const char *name;
        const struct cache *known;
        const struct fth_constant_cache *measured;
    } rows[] = {{"constant_l1", &truth->l1, &found->l1},
                {"constant_l15", &truth->l15, &found->l15}};
    if (found->has_l15 != (truth->l15.size > 0))
        add_difference(differences, "L1.5 found: %d", found->has_l15);
    for (size_t i = 0; i < FTH_COUNT(rows) && rows[i].known->size; i++) {
        const struct cache *known = rows[i].known;
        const struct fth_capacity *capacity = &rows[i].measured->capacity;
        const bool shared = i == 1 && truth->shared >= 0;
        uint64_t expected = shared || known->size < 65536 ? known->size : 65536;
        if (capacity->fits_bytes > expected ||
            capacity->fits_bytes + (shared ? 1023 : 0) < expected ||
            (capacity->misses_bytes == 0) != (expected == 65536 && !shared))
            add_difference(differences, "%s is %llu, found %llu to %llu", rows[i].name,
                           (unsigned long long)known->size,
                           (unsigned long long)capacity->fits_bytes,
                           (unsigned long long)capacity->misses_bytes);
        if (rows[i].measured->line_bytes != known->line)
            add_difference(differences, "%s has lines of %llu, found %llu", rows[i].name,
                           (unsigned long long)known->line,
                           (unsigned long long)rows[i].measured->line_bytes);
        if (!is_near(rows[i].measured->cycles.value, known->cycles,
                     truth->noise ? 0.03 * known->cycles : 0.05 + 0.005 * known->cycles))
            add_difference(differences, "%s is %g cycles, found %g", rows[i].name, known->cycles,
                           rows[i].measured->cycles.value);
    }
    if (truth->l15.size == 0)
        return;
    int level = -1;
    for (int i = 0; i <= truth->shared; i++)
        level += truth->code[i].size > 0;
    if (found->with_code != (truth->shared >= 0 ? FTH_SHARING_YES : FTH_SHARING_NO) ||
        found->code_level != level)
        add_difference(differences,
                       "shared with level %d (-1: none), found sharing %d with level %d", level,
                       found->with_code, found->code_level);
}

/* Probes a GPU with these caches and appends all differences to `differences`. */
static void probe(const struct truth *truth, struct fth_buffer *differences)
{
    struct fth_device *device = open_gpu(truth);
    struct fth_error error = NO_ERROR;
    const struct fth_prober prober = {.device = device, .sms = 3};
    struct fth_fetch_levels levels;
    struct fth_constants constants;
    if (fth_probe_fetch(&prober, &levels, &error) != FTH_OK)
        add_difference(differences, "%s", error.cause);
    else
        compare_code(truth, &levels, differences);
    error = NO_ERROR;
    if (truth->l1.size && fth_probe_constants(&prober, &levels, &constants, &error) != FTH_OK)
        add_difference(differences, "%s", error.cause);
    else if (truth->l1.size)
        compare_constants(truth, &constants, differences);
    fth_device_close(device);
}

static void probe_all(const struct truth *truths, size_t count)
{
    int wrong = 0;
    for (size_t i = 0; i < count; i++) {
        struct fth_buffer differences = {0};
        probe(&truths[i], &differences);
        if (differences.size)
            print_message("# %zu:%s\n", i, differences.data);
        wrong += differences.size > 0;
        fth_buffer_fini(&differences);
    }
    assert_int_equal(wrong, 0);
}

#define K ((uint64_t)1024)

static void finds_known_caches(void **state)
{
    (void)state;
    static const struct truth truths[] = {
        /* An H200, as far as it is known; then the same with a shared L1.5. */
        {.code = {{32 * K, 128, 0, 1.35}, {128 * K, 128, 0, 2.2}},
         .l1 = {2048, 64, 0, 17},
         .l15 = {64 * K, 256, 0, 103},
         .shared = -1,
         .l2_cycles = 280},
        {.code = {{32 * K, 128, 0, 1.35}, {128 * K, 256, 0, 2.2}},
         .l1 = {2048, 64, 0, 17},
         .l15 = {128 * K, 256, 0, 103},
         .shared = 1,
         .l2_cycles = 280},
        /* A T4 (Jia et al., 2019). */
        {.code = {{16 * K, 128, 0, 1}, {46 * K, 256, 0, 2}},
         .l1 = {2048, 64, 0, 26},
         .l15 = {46 * K, 256, 0, 92},
         .shared = 1,
         .l2_cycles = 188},
        /* A V100: 12 KiB, then 128 KiB that are shared with the constants. */
        {.code = {{12 * K, 128, 0, 1.1}, {.size = 0}, {128 * K, 64, 0, 1.9}},
         .l1 = {2048, 64, 0, 27},
         .l15 = {128 * K, 64, 0, 89},
         .shared = 2,
         .l2_cycles = 193},
        {.code = {{6 * K, 64, 3, 1}, {24 * K, 128, 6, 1.4}, {96 * K, 256, 2, 2.9}},
         .l1 = {4096, 128, 1, 40},
         .l15 = {32 * K, 128, 1, 120},
         .shared = -1},
        /* One instruction cache. */
        {.code = {{.size = 0}, {64 * K, 128, 0, 1.5}},
         .l1 = {2048, 64, 0, 25},
         .l15 = {64 * K, 128, 0, 80},
         .shared = 1},
        {.code = {{.size = 0}, {32 * K, 64, 8, 2}},
         .l1 = {1024, 32, 2, 12},
         .l15 = {8 * K, 64, 4, 60},
         .shared = -1},
        /* No L1.5; then an L1.5 with the line size of L1. */
        {.code = {{20 * K, 32, 0, 1.25}, {50 * K, 128, 1, 1.75}},
         .l1 = {8 * K, 256, 0, 33},
         .shared = -1},
        {.code = {{.size = 0}, {100 * K, 128, 0, 3}},
         .l1 = {1024, 64, 16, 20},
         .l15 = {5 * K, 64, 1, 44},
         .shared = -1,
         .l2_cycles = 120},
        /* Many sets, so that longer code evicts one set after the other. */
        {.code = {{32 * K, 64, 64, 1.2}, {128 * K, 128, 256, 2}},
         .l1 = {2048, 64, 4, 30},
         .l15 = {48 * K, 128, 64, 100},
         .shared = -1},
        /* Older architectures, which have shorter instructions. */
        {.capability = "6.1", .code = {{.size = 0}, {32 * K, 128, 0, 1.5}}, .shared = -1},
        {.capability = "3.5", .code = {{8 * K, 128, 0, 1}, {32 * K, 64, 0, 2}}, .shared = -1},
    };
    probe_all(truths, FTH_COUNT(truths));
}

/* An L1.5 of three times the size of L1 is visible in one footprint only. */
static void finds_small_l15(void **state)
{
    (void)state;
    static const struct truth truth = {.code = {{.size = 0}, {32 * K, 128, 0, 1.5}},
                                       .l1 = {4096, 256, 4, 40},
                                       .l15 = {12 * K, 256, 1, 77},
                                       .shared = -1,
                                       .l2_cycles = 400};
    probe_all(&truth, 1);
}

static void finds_caches_in_noise(void **state)
{
    (void)state;
    enum { SEEDS = 4 };
    static const char *const noises[SEEDS] = {
        "\"seed\": 1, \"jitter_cycles\": 2, \"outlier_rate\": 0.01",
        "\"seed\": 2, \"jitter_cycles\": 2, \"outlier_rate\": 0.01",
        "\"seed\": 3, \"jitter_cycles\": 2, \"outlier_rate\": 0.01",
        "\"seed\": 4, \"jitter_cycles\": 1, \"outlier_rate\": 0.001",
    };
    struct truth truths[] = {
        {.code = {{32 * K, 128, 0, 1.35}, {128 * K, 256, 0, 2.2}},
         .l1 = {2048, 64, 0, 17},
         .l15 = {128 * K, 256, 0, 103},
         .shared = 1,
         .l2_cycles = 280},
        {.code = {{12 * K, 128, 0, 1}, {40 * K, 128, 0, 1.5}, {160 * K, 128, 0, 4}},
         .l1 = {2048, 64, 0, 30},
         .l15 = {32 * K, 256, 0, 100},
         .shared = -1},
        /* Disturbed hits of L1 take longer than hits of L1.5, and are more than these. */
        {.code = {{.size = 0}, {32 * K, 128, 0, 1.5}},
         .l1 = {1024, 256, 4, 12},
         .l15 = {7 * K, 256, 1, 79},
         .shared = -1,
         .l2_cycles = 384},
    };
    for (size_t i = 0; i < (SANITIZED ? 1 : SEEDS); i++) {
        for (size_t j = 0; j < FTH_COUNT(truths); j++)
            truths[j].noise = noises[i];
        probe_all(truths, FTH_COUNT(truths));
    }
}

/* Passes requests on to another device. For one of three repeats of code with constants, all
 * constants seem to be evicted if the code is short: another program has run. */
static enum fth_status measure_beside_another(void *state, const struct fth_request *requests,
                                              size_t count, struct fth_samples *samples,
                                              struct fth_error *error)
{
    const struct fth_device *device = state;
    const enum fth_status status =
        device->ops->measure(device->state, requests, count, samples, error);
    for (size_t i = 0; i < count && status == FTH_OK; i += 3)
        if (requests[i].family == FTH_FAMILY_FETCH && requests[i].fetch.constants.count &&
            requests[i].fetch.instructions <= 1024)
            for (size_t hop = requests[i].fetch.passes; hop < samples[i].count; hop++)
                samples[i].cycles[hop] += 600;
    return status;
}

/* Passes requests on to another device. Two constants seem to be evicted in every first repeat, as
 * by code of an earlier request, and two in all repeats, as by the code of the loop. */
static enum fth_status measure_with_other_code(void *state, const struct fth_request *requests,
                                               size_t count, struct fth_samples *samples,
                                               struct fth_error *error)
{
    const struct fth_device *device = state;
    const enum fth_status status =
        device->ops->measure(device->state, requests, count, samples, error);
    for (size_t i = 0; i < count && status == FTH_OK; i++) {
        if (requests[i].family != FTH_FAMILY_FETCH || !requests[i].fetch.constants.count)
            continue;
        uint32_t *hops = samples[i].cycles + requests[i].fetch.passes;
        hops[8] += 600;
        hops[16] += 600;
        if (i % 3 == 0) {
            hops[24] += 600;
            hops[32] += 600;
        }
    }
    return status;
}

static enum fth_status describe_another(void *state, struct fth_gpu *gpu, struct fth_error *error)
{
    return fth_device_describe(state, gpu, error);
}

/* Probes a GPU through a device that changes some samples, and compares the results. */
static void probe_through(const struct fth_device_ops *ops, const char *noise)
{
    const struct truth truth = {.code = {{.size = 0}, {48 * K, 128, 0, 1.5}},
                                .l1 = {2048, 64, 0, 25},
                                .l15 = {48 * K, 128, 0, 80},
                                .shared = 1,
                                .noise = noise};
    struct fth_device *gpu = open_gpu(&truth);
    struct fth_device device = {.ops = ops, .state = gpu, .id = "busy"};
    const struct fth_prober prober = {.device = &device, .sms = 3};
    struct fth_fetch_levels levels;
    struct fth_constants constants;
    struct fth_buffer differences = {0};
    assert_int_equal(fth_probe_fetch(&prober, &levels, NULL), FTH_OK);
    assert_int_equal(fth_probe_constants(&prober, &levels, &constants, NULL), FTH_OK);
    compare_constants(&truth, &constants, &differences);
    if (differences.size)
        fail_msg("%s", differences.data);
    fth_buffer_fini(&differences);
    fth_device_close(gpu);
}

/* If one of three repeats is disturbed, the other two decide whether constants were evicted. */
static void disturbed_repeats_do_not_evict_constants(void **state)
{
    (void)state;
    static const struct fth_device_ops ops = {.describe = describe_another,
                                              .measure = measure_beside_another};
    probe_through(&ops, "\"seed\": 1, \"jitter_cycles\": 2, \"outlier_rate\": 0.01");
}

/* A few constants that other code evicts, always or in one repeat, do not count. */
static void other_code_may_evict_a_few_constants(void **state)
{
    (void)state;
    static const struct fth_device_ops ops = {.describe = describe_another,
                                              .measure = measure_with_other_code};
    probe_through(&ops, NULL);
}

static uint64_t random_between(struct fth_rng *rng, uint64_t low, uint64_t high)
{
    return low + fth_rng_below(rng, high - low + 1);
}

/* Chooses the line size and the number of sets at random; their product is at most 1 KiB. The sizes
 * are multiples of 1 KiB, so that all sets have the same number of ways, and each KiB of code adds
 * the same number of lines to every set. */
static void choose_shape(struct fth_rng *rng, struct cache *cache, uint64_t min_line,
                         uint64_t max_line)
{
    cache->line = min_line;
    while (cache->line < max_line && fth_rng_below(rng, 2))
        cache->line *= 2;
    cache->sets = 1;
    while (cache->sets * cache->line < 1024 && fth_rng_below(rng, 2))
        cache->sets *= 2;
}

static struct truth random_truth(uint64_t seed)
{
    struct fth_rng rng;
    fth_rng_init(&rng, seed);
    struct truth truth = {.shared = -1, .l2_cycles = (double)random_between(&rng, 180, 320)};
    uint64_t size = random_between(&rng, 6, 24);
    double cycles = 1 + (double)fth_rng_below(&rng, 10) / 10;
    int last = (int)random_between(&rng, 0, 2);
    for (int i = 2 - last; i <= 2 && size <= 150; i++) {
        truth.code[i] = (struct cache){.size = size * K, .cycles = cycles};
        choose_shape(&rng, &truth.code[i], 32, 256);
        last = i;
        size += random_between(&rng, size / 2 + 1, 2 * size);
        cycles = round(cycles * (1.2 + fth_rng_unit(&rng)) * 10) / 10;
    }
    truth.l1 = (struct cache){.size = random_between(&rng, 1, 4) * K,
                              .cycles = (double)random_between(&rng, 12, 45)};
    choose_shape(&rng, &truth.l1, 32, 128);
    if (fth_rng_below(&rng, 6) == 0)
        return truth;
    truth.l15 = (struct cache){.size = random_between(&rng, 8 * truth.l1.size / K, 80) * K,
                               .cycles = truth.l1.cycles + (double)random_between(&rng, 25, 80)};
    choose_shape(&rng, &truth.l15, truth.l1.line, 512);
    if (truth.code[last].size >= 8 * truth.l1.size && fth_rng_below(&rng, 2)) {
        truth.shared = last;
        truth.l15.size = truth.code[last].size;
        truth.code[last].line = truth.l15.line;
        truth.code[last].sets = truth.l15.sets;
    }
    return truth;
}

static uint64_t first_seed = 1, last_seed = SANITIZED ? 3 : 12;

static void finds_random_caches(void **state)
{
    (void)state;
    int wrong = 0;
    for (uint64_t seed = first_seed; seed <= last_seed; seed++) {
        struct fth_buffer differences = {0};
        struct truth truth = random_truth(seed);
        probe(&truth, &differences);
        if (differences.size)
            print_message("# seed %llu:%s\n", (unsigned long long)seed, differences.data);
        wrong += differences.size > 0;
        fth_buffer_fini(&differences);
    }
    assert_int_equal(wrong, 0);
}

static void missing_caches_are_not_found(void **state)
{
    (void)state;
    const struct truth truth = {.shared = -1, .l2_cycles = 250};
    struct fth_device *device = open_gpu(&truth);
    struct fth_error error = NO_ERROR;
    const struct fth_prober prober = {.device = device, .sms = 3};
    struct fth_fetch_levels levels;
    struct fth_constants constants;
    assert_int_equal(fth_probe_fetch(&prober, &levels, &error), FTH_OK);
    assert_int_equal(levels.count, 1);
    assert_near(levels.items[0].cycles.value, 1, 0.001);
    assert_int_equal(levels.items[0].fits_bytes, 0);
    assert_int_equal(levels.longest_bytes, 16 * FTH_MAX_FETCH);
    assert_int_equal(fth_probe_constants(&prober, &levels, &constants, &error), FTH_INCONCLUSIVE);
    assert_string_equal(error.cause, "constant loads take as long as L2 loads");
    fth_device_close(device);
}

/* A device one of whose measurements is inconclusive: number `failing`, from 1 on; 0: none. */
struct failing_device {
    struct fth_device *device;
    size_t measurements, failing;
};

static enum fth_status measure_or_fail(void *state, const struct fth_request *requests,
                                       size_t count, struct fth_samples *samples,
                                       struct fth_error *error)
{
    struct failing_device *failing = state;
    if (++failing->measurements == failing->failing)
        return fth_fail(error, FTH_INCONCLUSIVE, "measure", NULL, "it fails");
    return failing->device->ops->measure(failing->device->state, requests, count, samples, error);
}

/* If the size of the L1.5 is inconclusive, the figures of the L1 are still known. */
static void the_size_of_the_l15_is_not_needed(void **state)
{
    (void)state;
    static const struct fth_device_ops ops = {.measure = measure_or_fail};
    const struct truth truth = {.l1 = {2 * K, 64, 0, 20}, .l15 = {8 * K, 64, 0, 60}, .shared = -1};
    struct failing_device failing = {.device = open_gpu(&truth)};
    struct fth_device device = {.ops = &ops, .state = &failing, .id = "failing"};
    const struct fth_prober prober = {.device = &device, .sms = 3};
    struct fth_constants constants;
    assert_int_equal(fth_probe_constants(&prober, NULL, &constants, NULL), FTH_OK);
    assert_true(constants.has_l15 && constants.l15_status == FTH_OK);
    const size_t measurements = failing.measurements;
    size_t without_size = 0;
    for (failing.failing = 2; failing.failing <= measurements; failing.failing += 3) {
        struct fth_error error = NO_ERROR;
        failing.measurements = 0;
        const enum fth_status status = fth_probe_constants(&prober, NULL, &constants, &error);
        assert_int_equal(error.status, status);
        if (status != FTH_OK) {
            assert_int_equal(status, FTH_INCONCLUSIVE);
            assert_string_equal(error.cause, "it fails");
        } else if (constants.l15_status != FTH_OK) {
            assert_int_equal(constants.l15_status, FTH_INCONCLUSIVE);
            assert_string_equal(constants.l15_error.cause, "it fails");
            assert_int_equal(constants.l1.capacity.fits_bytes, 2 * K);
            without_size++;
        }
    }
    assert_true(without_size > 0);
    fth_device_close(failing.device);
}

int main(int count, char *words[])
{
    if (count > 2) {
        first_seed = strtoull(words[1], NULL, 10);
        last_seed = strtoull(words[2], NULL, 10);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_have_a_canonical_text),
        cmocka_unit_test(invalid_requests_are_rejected),
        cmocka_unit_test(code_has_the_requested_length),
        cmocka_unit_test(branches_are_unsupported),
        cmocka_unit_test(constants_are_walked_before_every_pass),
        cmocka_unit_test(constants_are_timed_after_the_code),
        cmocka_unit_test(finds_known_caches),
        cmocka_unit_test(finds_small_l15),
        cmocka_unit_test(finds_caches_in_noise),
        cmocka_unit_test(disturbed_repeats_do_not_evict_constants),
        cmocka_unit_test(other_code_may_evict_a_few_constants),
        cmocka_unit_test(finds_random_caches),
        cmocka_unit_test(missing_caches_are_not_found),
        cmocka_unit_test(the_size_of_the_l15_is_not_needed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
