/* Tests of the stage that measures TLBs (tlbs.c): what it writes for given results of the probe.
 * The linker redirects calls of the probe to a function of this test. */
#include "check.h"
#include "discover/discover.h"
#include "probe/tlb/probe_tlb.h"

#include <math.h>

static struct {
    struct fth_tlbs results[2]; /* of the calls, in order */
    enum fth_status status;
    size_t calls;
    uint64_t max_bytes, l2_bytes;
} script;

enum fth_status __wrap_fth_probe_tlbs(const struct fth_prober *prober, uint64_t max_bytes,
                                      uint64_t l2_bytes, struct fth_tlbs *tlbs,
                                      struct fth_error *error);

enum fth_status __wrap_fth_probe_tlbs(const struct fth_prober *prober, uint64_t max_bytes,
                                      uint64_t l2_bytes, struct fth_tlbs *tlbs,
                                      struct fth_error *error)
{
    (void)prober;
    assert_true(script.calls < 2);
    script.max_bytes = max_bytes;
    script.l2_bytes = l2_bytes;
    *tlbs = script.results[script.calls++];
    return script.status == FTH_OK ? FTH_OK
                                   : fth_fail(error, script.status, "test", NULL, "a fault");
}

static const struct fth_tlb_level good = {.page_bytes = 2 << 20,
                                          .page_evidence = {.repeats = 10, .agree = 10},
                                          .entries = 16,
                                          .entries_evidence = {.repeats = 10, .agree = 9},
                                          .penalty_cycles = 60.04,
                                          .penalty_low = 59.96,
                                          .penalty_high = 60.27};

static void set_number(struct fth_gpu *gpu, const char *element, double bytes)
{
    const struct fth_note note = {.element = element, .attribute = "size_bytes", .number = bytes};
    assert_int_equal(fth_note(gpu, &note, NULL), FTH_OK);
}

/* Runs the stage on a GPU with 1000 bytes of memory, with both results. The caller destroys the
 * description. */
static struct fth_discovery run(const struct fth_tlbs *first, const struct fth_tlbs *second,
                                enum fth_status status)
{
    struct fth_discovery discovery = {.prober = {.sms = 1}};
    struct fth_error error = NO_ERROR;
    memset(&script, 0, sizeof script);
    script.results[0] = *first;
    script.results[1] = *second;
    script.status = status;
    assert_int_equal(fth_gpu_create(&discovery.gpu, NULL), FTH_OK);
    set_number(discovery.gpu, "memory", 1000);
    const bool noted = status == FTH_INCONCLUSIVE || status == FTH_UNSUPPORTED;
    assert_int_equal(fth_discover_tlbs(&discovery, &error), noted ? FTH_OK : status);
    assert_int_equal(error.status, noted ? FTH_OK : status);
    return discovery;
}

static void assert_reason(const struct fth_gpu *gpu, const char *element, const char *attribute,
                          const char *reason)
{
    const char *found = fth_gpu_unknown(gpu, element, attribute);
    assert_string_equal(found ? found : "", reason ? reason : "");
    if (reason)
        assert_null(fth_gpu_attribute(gpu, element, attribute));
}

static void levels_are_written(void **state)
{
    (void)state;
    const struct fth_tlbs tlbs = {.levels = {good, good, good}, .count = 3, .samples = 9};
    struct fth_discovery discovery = run(&tlbs, &tlbs, FTH_OK);
    assert_int_equal(script.calls, 1);
    assert_int_equal(script.max_bytes, 700);
    assert_int_equal(script.l2_bytes, 1 << 20);
    assert_null(discovery.hidden_tlb);
    static const struct {
        const char *attribute;
        double value, agree, low, high; /* agree: of ten repeats; NAN: the penalty */
    } rows[] = {
        {"page_bytes", 2 << 20, 10, NAN, NAN},
        {"entries", 16, 9, NAN, NAN},
        {"reach_bytes", 32 << 20, 9, NAN, NAN},
        {"miss_penalty_cycles", 60, NAN, 60, 60.3},
    };
    for (size_t level = 0; level < 3; level++)
        for (size_t i = 0; i < FTH_COUNT(rows); i++) {
            const struct fth_attribute *found =
                fth_gpu_attribute(discovery.gpu, fth_tlb_elements[level], rows[i].attribute);
            assert_non_null(found);
            const double expected =
                isnan(rows[i].agree)
                    ? 0.9
                    : fth_confidence((struct fth_evidence){.repeats = 10, .agree = rows[i].agree});
            assert_true(found->number == rows[i].value);
            assert_true(fabs(found->confidence - expected) <= 0.5e-4);
            assert_int_equal(found->samples, 9);
            if (!isnan(rows[i].low))
                assert_true(found->low == rows[i].low && found->high == rows[i].high);
        }
    fth_gpu_destroy(discovery.gpu);
}

static void doubts_are_reasons(void **state)
{
    (void)state;
    static const char disturbed[] = "repeated measurements disagree: something disturbs them";
    static const struct {
        uint64_t page, entries;
        unsigned page_agree, entries_agree; /* of 20 repeats */
        const char *doubt;
        const char *page_reason, *entries_reason, *penalty_reason;
    } rows[] = {
        {2 << 20, 16, 17, 17, NULL, NULL, NULL, NULL},
        {2 << 20, 16, 16, 20, NULL, disturbed, disturbed, NULL},
        {2 << 20, 16, 20, 16, NULL, NULL, disturbed, NULL},
        {2 << 20, 0, 20, 20, "a doubt", NULL, "a doubt", NULL},
        {2 << 20, 0, 20, 20, NULL, NULL, "not found", NULL},
        {0, 0, 20, 20, "a doubt", "a doubt", "a doubt", "a doubt"},
        {0, 0, 20, 20, NULL, "not found", "not found", "not found"},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_tlbs tlbs = {.levels = {good}, .count = 1};
        tlbs.levels[0].page_bytes = rows[i].page;
        tlbs.levels[0].entries = rows[i].entries;
        tlbs.levels[0].page_evidence =
            (struct fth_evidence){.repeats = 20, .agree = rows[i].page_agree};
        tlbs.levels[0].entries_evidence =
            (struct fth_evidence){.repeats = 20, .agree = rows[i].entries_agree};
        tlbs.levels[0].doubt = rows[i].doubt;
        struct fth_discovery discovery = run(&tlbs, &tlbs, FTH_OK);
        /* The measurement is repeated if the entries are uncertain. */
        assert_int_equal(script.calls, i == 2 ? 2 : 1);
        assert_reason(discovery.gpu, "tlb_l1", "page_bytes", rows[i].page_reason);
        assert_reason(discovery.gpu, "tlb_l1", "entries", rows[i].entries_reason);
        assert_reason(discovery.gpu, "tlb_l1", "reach_bytes", rows[i].entries_reason);
        assert_reason(discovery.gpu, "tlb_l1", "miss_penalty_cycles", rows[i].penalty_reason);
        fth_gpu_destroy(discovery.gpu);
    }
}

static void unsettled_levels_are_measured_again(void **state)
{
    (void)state;
    for (int last = 0; last < 2; last++) {
        struct fth_tlbs first = {.levels = {good, good}, .count = 2};
        const struct fth_tlbs second = {.levels = {good}, .count = 1, .samples = 5};
        first.levels[last].unsettled = true;
        first.levels[last].penalty_low = NAN;
        struct fth_discovery discovery = run(&first, &second, FTH_OK);
        assert_int_equal(script.calls, 2);
        assert_int_equal(script.max_bytes, 700);
        assert_int_equal(script.l2_bytes, 1 << 20);
        assert_int_equal(fth_gpu_attribute(discovery.gpu, "tlb_l1", "entries")->samples, 5);
        assert_null(fth_gpu_attribute(discovery.gpu, "tlb_l2", "entries"));
        fth_gpu_destroy(discovery.gpu);
    }
    /* A level after the last one that was found does not count. */
    struct fth_tlbs tlbs = {.levels = {good, good}, .count = 1};
    tlbs.levels[1].unsettled = true;
    tlbs.levels[0].penalty_low = NAN;
    struct fth_discovery discovery = run(&tlbs, &tlbs, FTH_OK);
    assert_int_equal(script.calls, 1);
    assert_reason(discovery.gpu, "tlb_l1", "miss_penalty_cycles",
                  "too few loads miss this level alone");
    fth_gpu_destroy(discovery.gpu);
}

static void levels_that_the_l2_hides_are_noted(void **state)
{
    (void)state;
    for (size_t count = 0; count <= 3; count++) {
        const struct fth_tlbs tlbs = {
            .levels = {good, good, good}, .count = count, .l2_loads = 512};
        struct fth_discovery discovery = run(&tlbs, &tlbs, FTH_OK);
        if (count < 3) {
            assert_ptr_equal(discovery.hidden_tlb, fth_tlb_elements[count]);
            assert_reason(discovery.gpu, fth_tlb_elements[count], "reach_bytes",
                          "not found with walks over up to 512 pages; the L2 does not hold the "
                          "lines of more");
        } else {
            assert_null(discovery.hidden_tlb);
        }
        fth_gpu_destroy(discovery.gpu);
    }
}

static void failures_are_noted_or_returned(void **state)
{
    (void)state;
    const struct fth_tlbs tlbs = {.levels = {good}, .count = 1, .l2_loads = 512};
    struct fth_discovery discovery = run(&tlbs, &tlbs, FTH_INCONCLUSIVE);
    assert_int_equal(script.calls, 1);
    assert_reason(discovery.gpu, "tlb_l2", "reach_bytes", "a fault");
    assert_non_null(fth_gpu_attribute(discovery.gpu, "tlb_l1", "entries"));
    assert_null(discovery.hidden_tlb);
    fth_gpu_destroy(discovery.gpu);
    discovery = run(&tlbs, &tlbs, FTH_UNAVAILABLE);
    assert_null(fth_gpu_attribute(discovery.gpu, "tlb_l1", "entries"));
    fth_gpu_destroy(discovery.gpu);

    /* Without the size of memory, nothing is measured. */
    struct fth_discovery empty = {.prober = {.sms = 1}};
    memset(&script, 0, sizeof script);
    assert_int_equal(fth_gpu_create(&empty.gpu, NULL), FTH_OK);
    assert_int_equal(fth_discover_tlbs(&empty, NULL), FTH_OK);
    assert_int_equal(script.calls, 0);
    set_number(empty.gpu, "memory", 1000);
    set_number(empty.gpu, "l2", 4096);
    assert_int_equal(fth_discover_tlbs(&empty, NULL), FTH_OK);
    assert_int_equal(script.calls, 1);
    assert_int_equal(script.l2_bytes, 4096);
    fth_gpu_destroy(empty.gpu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(levels_are_written),
        cmocka_unit_test(doubts_are_reasons),
        cmocka_unit_test(unsettled_levels_are_measured_again),
        cmocka_unit_test(levels_that_the_l2_hides_are_noted),
        cmocka_unit_test(failures_are_noted_or_returned),
    };
    return cmocka_run_group_tests_name("tlb_stage", tests, NULL, NULL);
}
