/* Discovery of caches that are hardly larger than the caches before them, and of what cannot be
 * measured: each figure is right, or unknown with a reason. */
#include "check.h"
#include "device/sim/sim.h"
#include "discover/discover.h"

#include <math.h>
#include <stdio.h>

#define MEMORY "\"memory\": {\"size_bytes\": 2147483648, \"latency_cycles\": 700}"

/* Measures the elements `only` of a simulated GPU. The caller owns the result. */
static struct fth_gpu *discover(const char *elements, const char *only)
{
    char text[2048];
    struct fth_error error = NO_ERROR;
    struct fth_gpu *description = NULL, *found = NULL;
    const struct fth_machine_ops *ops = NULL;
    struct fth_device *device = NULL;
    void *machine = NULL;
    const struct fth_discover_options options = FTH_DISCOVER_OPTIONS(.only = only);
    snprintf(text, sizeof text,
             "{\"schema\": \"fathom-gpu/1\", \"device\": {\"name\": \"Test\", \"sms\": 2, "
             "\"compute_capability\": \"7.0\", \"clock_mhz\": 1000}, \"elements\": {%s}}",
             elements);
    if (fth_gpu_read_text("test.json", text, strlen(text), NULL, &description, &error) != FTH_OK ||
        fth_sim_machine_create(description, &ops, &machine, &error) != FTH_OK ||
        fth_runner_device("sim:test", ops, machine, NULL, &device, &error) != FTH_OK ||
        fth_discover(device, &options, &found, &error) != FTH_OK)
        fail_msg("%s: %s", error.cause, text);
    fth_gpu_destroy(description);
    fth_device_close(device);
    return found;
}

static void assert_number(const struct fth_gpu *gpu, const char *element, const char *attribute,
                          double expected)
{
    const double value = fth_gpu_number(gpu, element, attribute, NAN);
    const char *reason = fth_gpu_unknown(gpu, element, attribute);
    if (!(fabs(value - expected) < 0.06))
        fail_msg("%s.%s is %g instead of %g (%s)", element, attribute, value, expected,
                 reason ? reason : "no reason");
}

/* An attribute that is unknown, with a reason that contains `part`. */
static void assert_reason(const struct fth_gpu *gpu, const char *element, const char *attribute,
                          const char *part)
{
    const char *reason = fth_gpu_unknown(gpu, element, attribute);
    assert_null(fth_gpu_attribute(gpu, element, attribute));
    assert_contains(reason ? reason : "no reason", part);
}

static void latencies_are_right_if_the_l2_is_small(void **state)
{
    (void)state;
    static const char *const l2s[] = {
        "\"size_bytes\": 65536, \"line_bytes\": 128, \"latency_cycles\": 200",
        "\"size_bytes\": 98304, \"line_bytes\": 32, \"sets\": 3, \"ways\": 1024, \"index\": "
        "\"prime\", \"latency_cycles\": 200",
        "\"size_bytes\": 131072, \"line_bytes\": 64, \"sets\": 16, \"ways\": 64, \"partitions\": "
        "2, \"latency_cycles\": 200, \"far_latency_cycles\": 260",
        "\"size_bytes\": 262144, \"line_bytes\": 128, \"policy\": \"random\", \"latency_cycles\": "
        "200",
    };
    for (size_t i = 0; i < FTH_COUNT(l2s); i++) {
        char elements[512];
        snprintf(elements, sizeof elements, "\"l2\": {%s}, " MEMORY, l2s[i]);
        struct fth_gpu *found = discover(elements, "l2,memory");
        assert_number(found, "l2", "latency_cycles", 200);
        assert_number(found, "memory", "latency_cycles", 700);
        fth_gpu_destroy(found);
    }
}

static void constant_caches_of_similar_size_are_found(void **state)
{
    (void)state;
    static const struct {
        const char *l1, *l15;
        double l1_bytes, l15_bytes, l15_cycles, l2_cycles;
    } rows[] = {
        /* Two, three and four times the size. */
        {"\"sets\": 4, \"ways\": 8", "\"sets\": 4, \"ways\": 16", 2048, 4096, 100, 200},
        {"\"sets\": 4, \"ways\": 8", "\"sets\": 4, \"ways\": 24", 2048, 6144, 100, 200},
        {"\"sets\": 4, \"ways\": 8", "\"sets\": 4, \"ways\": 32", 2048, 8192, 100, 200},
        /* An L1.5 that takes 80 % of the time of the L2. */
        {"\"sets\": 4, \"ways\": 8", "\"sets\": 8, \"ways\": 12", 2048, 24576, 121, 151},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        char elements[1024];
        snprintf(elements, sizeof elements,
                 "\"constant_l1\": {\"size_bytes\": %g, \"line_bytes\": 64, \"latency_cycles\": "
                 "36, %s}, \"constant_l15\": {\"size_bytes\": %g, \"line_bytes\": %d, "
                 "\"latency_cycles\": %g, %s}, \"l2\": {\"size_bytes\": 1048576, "
                 "\"latency_cycles\": %g}, " MEMORY,
                 rows[i].l1_bytes, rows[i].l1, rows[i].l15_bytes,
                 rows[i].l15_bytes > 8192 ? 256 : 64, rows[i].l15_cycles, rows[i].l15,
                 rows[i].l2_cycles);
        struct fth_gpu *found = discover(elements, "constant_l1,constant_l15");
        assert_number(found, "constant_l1", "size_bytes", rows[i].l1_bytes);
        assert_number(found, "constant_l1", "latency_cycles", 36);
        assert_number(found, "constant_l15", "size_bytes", rows[i].l15_bytes);
        assert_number(found, "constant_l15", "latency_cycles", rows[i].l15_cycles);
        fth_gpu_destroy(found);
    }
}

static void a_missing_constant_l15_has_a_reason(void **state)
{
    (void)state;
    struct fth_gpu *found =
        discover("\"constant_l1\": {\"size_bytes\": 2048, \"line_bytes\": 64, \"latency_cycles\": "
                 "36}, \"l2\": {\"size_bytes\": 1048576, \"latency_cycles\": 200}, " MEMORY,
                 "constant_l1,constant_l15");
    assert_number(found, "constant_l1", "size_bytes", 2048);
    assert_reason(found, "constant_l15", "size_bytes", "not found");
    fth_gpu_destroy(found);
}

/* An empty list says that a cache shares with none. */
static void caches_that_share_with_none_say_so(void **state)
{
    (void)state;
    struct fth_gpu *found =
        discover("\"l1\": {\"size_bytes\": 16384, \"line_bytes\": 128, \"latency_cycles\": 32}, "
                 "\"texture\": {\"size_bytes\": 8192, \"line_bytes\": 32, \"latency_cycles\": 80}, "
                 "\"l2\": {\"size_bytes\": 1048576, \"latency_cycles\": 200}, " MEMORY,
                 "l1,texture");
    static const char *const names[] = {"l1", "texture"};
    for (size_t i = 0; i < FTH_COUNT(names); i++) {
        const struct fth_attribute *with = fth_gpu_attribute(found, names[i], "shared_with");
        assert_non_null(with);
        assert_int_equal(with->count, 0);
        assert_true(with->confidence > 0.8);
    }
    fth_gpu_destroy(found);
    /* With one cache alone, there is nothing to compare. */
    found =
        discover("\"l1\": {\"size_bytes\": 16384, \"line_bytes\": 128, \"latency_cycles\": 32}, "
                 "\"l2\": {\"size_bytes\": 1048576, \"latency_cycles\": 200}, " MEMORY,
                 "l1");
    assert_reason(found, "l1", "shared_with", "no other data cache");
    fth_gpu_destroy(found);
}

/* A level with more entries than the L2 has lines for is not visible. */
static void a_tlb_that_the_l2_hides_has_a_reason(void **state)
{
    (void)state;
    struct fth_gpu *found =
        discover("\"l2\": {\"size_bytes\": 1048576, \"latency_cycles\": 200}, " MEMORY
                 ", \"tlb_l1\": {\"page_bytes\": 131072, \"entries\": 16, "
                 "\"miss_penalty_cycles\": 40}, \"tlb_l2\": {\"page_bytes\": 131072, "
                 "\"entries\": 64, \"miss_penalty_cycles\": 80}, \"tlb_l3\": {\"page_bytes\": "
                 "131072, \"entries\": 1024, \"miss_penalty_cycles\": 150}",
                 "tlb_l1");
    assert_number(found, "tlb_l1", "entries", 16);
    assert_reason(found, "tlb_l3", "reach_bytes", "the L2 does not hold the lines of more");
    fth_gpu_destroy(found);
}

/* Every figure that was measured has a confidence or an interval. */
static void every_figure_has_a_confidence(void **state)
{
    (void)state;
    static const char *const names[] = {"l1", "l2", "memory", "constant_l1", "constant_l15"};
    struct fth_gpu *found =
        discover("\"l1\": {\"size_bytes\": 16384, \"line_bytes\": 128, \"latency_cycles\": 32}, "
                 "\"constant_l1\": {\"size_bytes\": 2048, \"latency_cycles\": 36}, "
                 "\"constant_l15\": {\"size_bytes\": 32768, \"latency_cycles\": 100}, "
                 "\"l2\": {\"size_bytes\": 1048576, \"latency_cycles\": 200}, " MEMORY,
                 "l1,l2,memory,constant_l1,constant_l15");
    for (size_t i = 0; i < FTH_COUNT(names); i++) {
        const struct fth_gpu_section *section = fth_gpu_find_section(found, names[i]);
        assert_non_null(section);
        for (size_t k = 0; k < section->count; k++) {
            const struct fth_attribute *each = &section->attributes[k];
            if (each->source == FTH_SOURCE_SIMULATED && isnan(each->confidence) && isnan(each->low))
                fail_msg("%s.%s has no confidence", names[i], each->name);
        }
    }
    fth_gpu_destroy(found);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(latencies_are_right_if_the_l2_is_small),
        cmocka_unit_test(constant_caches_of_similar_size_are_found),
        cmocka_unit_test(a_missing_constant_l15_has_a_reason),
        cmocka_unit_test(caches_that_share_with_none_say_so),
        cmocka_unit_test(a_tlb_that_the_l2_hides_has_a_reason),
        cmocka_unit_test(every_figure_has_a_confidence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
