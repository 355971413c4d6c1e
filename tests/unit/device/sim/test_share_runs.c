/* Tests of the share family on simulated GPUs (device/chase/family_share.c): a unit evicts the
 * lines of another one exactly if both have the same cache. */
#include "described_device.h"
#include "probe/hierarchy/probe_hierarchy.h"

#include <math.h>
#include <stdio.h>

enum { LINE_BYTES = 64, CACHE_BYTES = 16384, LINES = CACHE_BYTES / LINE_BYTES };

/* A device whose first cache and whose cache of constants have these scopes. The order of blocks
 * may be that of an NVIDIA GPU. */
static struct fth_device *open_shared(const char *device, const char *l1_scope,
                                      const char *constant_scope)
{
    char text[2048];
    snprintf(text, sizeof text,
             "{\"schema\": \"fathom-gpu/1\", \"device\": {\"name\": \"Test\", %s}, \"elements\": {"
             "\"vector_l1\": {\"size_bytes\": 16384, \"line_bytes\": 64, \"sets\": 64, \"ways\": 4,"
             " \"latency_cycles\": 100, %s}, "
             "\"scalar_l1\": {\"size_bytes\": 16384, \"line_bytes\": 64, \"sets\": 64, \"ways\": 4,"
             " \"latency_cycles\": 50, %s}, "
             "\"l2\": {\"size_bytes\": 1048576, \"line_bytes\": 64, \"sets\": 1024, \"ways\": 16,"
             " \"latency_cycles\": 300, \"scope\": \"gpu\"}, "
             "\"memory\": {\"size_bytes\": 1073741824, \"latency_cycles\": 800}}}",
             device, l1_scope, constant_scope);
    return open_simulated(text);
}

static const char amd[] = "\"vendor\": \"AMD\", \"kind\": \"gpu\", \"sms\": 20";
#define SCOPE_SM "\"scope\": \"sm\""
#define SCOPE_PAIRS "\"scope\": \"group\", \"sms_per_instance\": 2"
#define SCOPE_THREES "\"scope\": \"group\", \"sms_per_instance\": 3"
#define SCOPE_GPC "\"scope\": \"gpc\""
#define SCOPE_GPU "\"scope\": \"gpu\""

static struct fth_request make_request(enum fth_path path, uint32_t first, uint32_t second,
                                       uint32_t rounds, uint64_t other)
{
    struct fth_request request = fth_request_make(-1);
    request.family = FTH_FAMILY_SHARE;
    request.alone = true;
    request.share = (struct fth_share){.path = path,
                                       .first = first,
                                       .second = second,
                                       .rounds = rounds,
                                       .stride_bytes = LINE_BYTES,
                                       .own = LINES / 4,
                                       .other = other,
                                       .seed = path == FTH_PATH_CA ? 3 : 0};
    return request;
}

/* Executes a request. Returns whether the passes of all rounds miss; fails if some do not. */
static bool misses(struct fth_device *device, const struct fth_request *request)
{
    struct fth_samples samples = {0};
    struct fth_error error = NO_ERROR;
    const double hit = request->share.path == FTH_PATH_CA ? 100 : 50;
    uint32_t missing = 0;
    if (fth_device_measure(device, request, 1, &samples, &error) != FTH_OK ||
        samples.status != FTH_OK)
        fail_msg("%s %s", error.cause, samples.cause);
    assert_int_equal(samples.count, request->share.rounds);
    for (size_t i = 0; i < samples.count; i++) {
        const double cycles = samples.cycles[i] / (double)request->share.own;
        if (fabs(cycles - hit) > 3 && fabs(cycles - 300) > 3)
            fail_msg("%g cycles per load", cycles);
        missing += cycles > 200;
    }
    fth_samples_fini(&samples);
    assert_true(missing == 0 || missing == request->share.rounds);
    return missing > 0;
}

static void units_with_the_same_cache_evict_lines(void **state)
{
    (void)state;
    static const struct {
        const char *l1, *constant;
        uint32_t first, second;
        bool l1_misses, constant_misses;
    } rows[] = {
        {SCOPE_SM, SCOPE_PAIRS, 0, 1, false, true},   {SCOPE_SM, SCOPE_PAIRS, 1, 0, false, true},
        {SCOPE_SM, SCOPE_PAIRS, 1, 2, false, false},  {SCOPE_SM, SCOPE_PAIRS, 19, 18, false, true},
        {SCOPE_SM, SCOPE_PAIRS, 7, 7, true, true},    {SCOPE_THREES, SCOPE_SM, 3, 5, true, false},
        {SCOPE_THREES, SCOPE_SM, 5, 6, false, false}, {SCOPE_GPC, SCOPE_GPU, 0, 15, true, true},
        {SCOPE_GPC, SCOPE_GPU, 15, 16, false, true},  {SCOPE_GPU, SCOPE_GPC, 19, 0, true, false},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_device *device = open_shared(amd, rows[i].l1, rows[i].constant);
        const uint32_t first = rows[i].first, second = rows[i].second;
        const struct fth_request data = make_request(FTH_PATH_CA, first, second, 2,
                                                     UINT64_C(2) * LINES),
                                 few = make_request(FTH_PATH_CA, first, second, 2, 8),
                                 constant = make_request(FTH_PATH_CONSTANT, first, second, 2,
                                                         UINT64_C(2) * LINES),
                                 few_constants =
                                     make_request(FTH_PATH_CONSTANT, first, second, 2, 8);
        if (misses(device, &data) != rows[i].l1_misses ||
            misses(device, &constant) != rows[i].constant_misses)
            fail_msg("row %zu", i);
        assert_false(misses(device, &few));
        assert_false(misses(device, &few_constants));
        /* Chains that have been built before are used again. */
        assert_true(misses(device, &data) == rows[i].l1_misses);
        assert_true(misses(device, &constant) == rows[i].constant_misses);
        fth_device_close(device);
    }
}

/* More rounds than a launch executes, and a GPU on which later blocks run where the first ends. */
static void any_number_of_rounds_is_executed(void **state)
{
    (void)state;
    static const char nvidia[] = "\"vendor\": \"NVIDIA\", \"compute_capability\": \"9.0\", "
                                 "\"sms\": 8, \"block_refill\": \"free\"";
    static const uint32_t rounds[] = {1, 15, 16, 40};
    for (size_t i = 0; i < FTH_COUNT(rounds); i++) {
        struct fth_device *device = open_shared(amd, SCOPE_PAIRS, SCOPE_SM);
        struct fth_request request =
            make_request(FTH_PATH_CA, 1, 0, rounds[i], UINT64_C(2) * LINES);
        assert_true(misses(device, &request));
        request.share.second = 2;
        assert_false(misses(device, &request));
        fth_device_close(device);
        struct fth_samples samples = {0};
        device = open_shared(nvidia, SCOPE_SM, SCOPE_SM);
        assert_int_equal(fth_device_measure(device, &request, 1, &samples, NULL), FTH_OK);
        assert_int_equal(samples.status, FTH_OK);
        assert_int_equal(samples.count, rounds[i]);
        fth_samples_fini(&samples);
        fth_device_close(device);
    }
}

static void probes_count_the_units_that_share_a_cache(void **state)
{
    (void)state;
    static const struct {
        const char *scope;
        size_t count;
    } rows[] = {
        {SCOPE_SM, 1}, {SCOPE_PAIRS, 2}, {SCOPE_THREES, 3}, {SCOPE_GPC, 16}, {SCOPE_GPU, 20}};
    for (size_t i = 0; i < FTH_COUNT(rows); i++)
        for (int constant = 0; constant < 2; constant++) {
            struct fth_device *device = open_shared(amd, constant ? SCOPE_SM : rows[i].scope,
                                                    constant ? rows[i].scope : SCOPE_SM);
            const struct fth_prober prober = {.device = device};
            const struct fth_sharers_plan plan = {.path =
                                                      constant ? FTH_PATH_CONSTANT : FTH_PATH_CA,
                                                  .line_bytes = LINE_BYTES,
                                                  .size_bytes = CACHE_BYTES,
                                                  .hit_cycles = constant ? 50 : 100,
                                                  .miss_cycles = 300,
                                                  .rounds = 1};
            struct fth_units units;
            struct fth_sharers sharers;
            assert_int_equal(fth_probe_units(&prober, 20, 0, &units, NULL), FTH_OK);
            assert_int_equal(units.count, 20);
            assert_int_equal(fth_probe_sharers(&prober, &units, &plan, &sharers, NULL), FTH_OK);
            if (sharers.count != rows[i].count)
                fail_msg("%s: %zu units", rows[i].scope, sharers.count);
            /* All units with the first and the last one; those that evict lines are tested twice.
             */
            assert_true(sharers.samples >= 120 && sharers.samples <= 240);
            fth_device_close(device);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(units_with_the_same_cache_evict_lines),
        cmocka_unit_test(any_number_of_rounds_is_executed),
        cmocka_unit_test(probes_count_the_units_that_share_a_cache),
    };
    return cmocka_run_group_tests_name("share_runs", tests, NULL, NULL);
}
