/* Tests of confidence.c: the confidence of a figure grows with the evidence for it. */
#include "check.h"
#include "probe/probe.h"

#include <math.h>

static double confidence_of(double repeats, double agree, const char *doubt)
{
    return fth_confidence(
        (struct fth_evidence){.repeats = repeats, .agree = agree, .doubt = doubt});
}

/* Each row has more evidence than the one before. */
static void more_evidence_gives_more_confidence(void **state)
{
    (void)state;
    static const struct {
        double repeats, agree;
    } rows[] = {{10, 5}, {10, 8}, {10, 9}, {10, 9.5}, {10, 10}, {100, 100}};
    double before = 0;
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        const double now = confidence_of(rows[i].repeats, rows[i].agree, NULL);
        const double doubted = confidence_of(rows[i].repeats, rows[i].agree, "it may be wrong");
        assert_true(now >= before && now < 1);
        assert_true(doubted < now && doubted > 0);
        before = now;
    }
    assert_true(confidence_of(3, 3, NULL) <= confidence_of(10, 10, NULL));
}

/* The limits that users rely on: all repeats agree, a tenth disagrees, and there is a doubt. */
static void confidence_is_high_only_if_repeats_agree(void **state)
{
    (void)state;
    assert_true(confidence_of(10, 10, NULL) >= 0.99);
    assert_true(confidence_of(5, 5, NULL) >= 0.99);
    assert_true(confidence_of(3, 3, NULL) >= 0.99);
    assert_true(confidence_of(10, 9, NULL) < confidence_of(10, 10, NULL));
    assert_true(confidence_of(10, 8, NULL) < confidence_of(10, 9, NULL));
    assert_true(confidence_of(10, 5, NULL) < 0.95);
    assert_true(confidence_of(10, 10, "it may be wrong") < 0.95);
    assert_true(isnan(confidence_of(0, 0, NULL)));
}

static void resamples_count_as_few_repeats(void **state)
{
    (void)state;
    const struct fth_evidence all = fth_resampled(FTH_BOOTSTRAP_DRAWS), half = fth_resampled(100);
    assert_true(all.repeats == 10 && all.agree == 10 && !all.doubt && all.resampled);
    assert_true(half.repeats == 10 && half.agree == 5);
    assert_true(fth_evidence_share(half) == 0.5);
    assert_true(fth_confidence(half) == 0.5 * fth_confidence(all));
    assert_true(fth_evidence_share((struct fth_evidence){0}) == 0);
}

static void a_figure_is_as_certain_as_the_weaker_evidence(void **state)
{
    (void)state;
    const struct fth_evidence strong = {.repeats = 10, .agree = 10},
                              weak = {.repeats = 10, .agree = 8};
    assert_true(fth_weaker_evidence(strong, weak).agree == 8);
    assert_true(fth_weaker_evidence(weak, strong).agree == 8);
    assert_true(fth_weaker_evidence(strong, strong).agree == 10);
}

static void interruptions_lower_the_confidence(void **state)
{
    (void)state;
    static const double before[] = {0.1, 0.5, 0.9, 0.995};
    for (size_t i = 0; i < FTH_COUNT(before); i++) {
        const double after = fth_interrupted_confidence(before[i]);
        assert_true(after < before[i] && after > 0);
        /* The odds fall by the same factor. */
        const double factor = after / (1 - after) / (before[i] / (1 - before[i]));
        const double first = fth_interrupted_confidence(0.5);
        assert_true(fabs(factor - first / (1 - first)) < 1e-9);
    }
    assert_true(fth_interrupted_confidence(0) == 0);
    assert_true(isnan(fth_interrupted_confidence(NAN)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(more_evidence_gives_more_confidence),
        cmocka_unit_test(confidence_is_high_only_if_repeats_agree),
        cmocka_unit_test(resamples_count_as_few_repeats),
        cmocka_unit_test(a_figure_is_as_certain_as_the_weaker_evidence),
        cmocka_unit_test(interruptions_lower_the_confidence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
