/* Tests distributions (fleet/sketch.c) against exact quantiles. */
#include "check.h"
#include "fleet/fleet.h"

#include <math.h>
#include <stdlib.h>

enum { NUMBERS = 1001 };

static int ascending(const void *a, const void *b)
{
    const double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

static void put(struct fth_sketch *sketch, double number)
{
    assert_int_equal(fth_sketch_add(sketch, number, NULL), FTH_OK);
}

/* Quantiles and deviations are within 0.02 % of the exact ones, for numbers of any size. */
static void quantiles_are_nearly_exact(void **state)
{
    (void)state;
    static const double centres[] = {1e-300, 0.37, 1, 277.7, 4.6e12, 1e300};
    struct fth_rng rng;
    fth_rng_init(&rng, 1);
    for (size_t c = 0; c < FTH_COUNT(centres); c++) {
        double numbers[NUMBERS], deviations[NUMBERS];
        struct fth_sketch sketch = {0};
        for (size_t i = 0; i < NUMBERS; i++) {
            numbers[i] = centres[c] * (0.8 + 0.4 * fth_rng_unit(&rng));
            put(&sketch, numbers[i]);
        }
        assert_int_equal(sketch.count, NUMBERS);
        qsort(numbers, NUMBERS, sizeof *numbers, ascending);
        for (size_t percent = 0; percent <= 100; percent++) {
            const double exact = numbers[percent * (NUMBERS - 1) / 100];
            const double found = fth_sketch_quantile(&sketch, (double)percent / 100);
            assert_true(fabs(found / exact - 1) < 0.0002);
        }
        const double median = numbers[NUMBERS / 2];
        for (size_t i = 0; i < NUMBERS; i++)
            deviations[i] = fabs(log(numbers[i] / median));
        qsort(deviations, NUMBERS, sizeof *deviations, ascending);
        assert_true(fabs(fth_sketch_deviation(&sketch, median) - deviations[NUMBERS / 2]) < 0.0002);
        fth_sketch_fini(&sketch);
        assert_int_equal(sketch.count, 0);
    }
}

/* Quantiles between two numbers are interpolated, as the median of two numbers is their mean. */
static void quantiles_are_interpolated(void **state)
{
    (void)state;
    struct fth_sketch sketch = {0};
    assert_true(isnan(fth_sketch_quantile(&sketch, 0.5)));
    assert_true(isnan(fth_sketch_deviation(&sketch, 1)));
    put(&sketch, 100);
    assert_true(fabs(fth_sketch_quantile(&sketch, 0.5) - 100) < 0.02);
    put(&sketch, 120);
    assert_true(fabs(fth_sketch_quantile(&sketch, 0.5) - 110) < 0.02);
    assert_true(fabs(fth_sketch_quantile(&sketch, 0.25) - 105) < 0.02);
    assert_true(fabs(fth_sketch_quantile(&sketch, 1) - 120) < 0.03);
    assert_true(fabs(fth_sketch_deviation(&sketch, 100) - log(1.2) / 2) < 0.0002);
    assert_true(isnan(fth_sketch_deviation(&sketch, 0)));
    fth_sketch_fini(&sketch);
}

/* The smallest and the largest positive double. */
static void extreme_numbers_are_added(void **state)
{
    (void)state;
    static const double numbers[] = {4.94e-324, 1.7976931348623157e308};
    for (size_t i = 0; i < FTH_COUNT(numbers); i++) {
        struct fth_sketch sketch = {0};
        put(&sketch, numbers[i]);
        const double median = fth_sketch_quantile(&sketch, 0.5);
        assert_true(median > 0 && isfinite(median));
        assert_int_equal(sketch.bins[0].index, i ? 3548913 : -3722201);
        fth_sketch_fini(&sketch);
    }
}

static void only_positive_numbers_are_added(void **state)
{
    (void)state;
    static const double numbers[] = {0, -1, -1e300, NAN, INFINITY};
    struct fth_sketch sketch = {0};
    for (size_t i = 0; i < FTH_COUNT(numbers); i++) {
        struct fth_error error = NO_ERROR;
        assert_int_equal(fth_sketch_add(&sketch, numbers[i], &error), FTH_INVALID);
        assert_contains(error.cause, "positive");
    }
    assert_int_equal(sketch.count, 0);
    assert_int_equal(fth_sketch_put(&sketch, 7, UINT32_MAX, NULL), FTH_OK);
    assert_int_equal(fth_sketch_put(&sketch, 7, 1, NULL), FTH_INVALID);
    assert_int_equal(sketch.count, UINT32_MAX);
    fth_sketch_fini(&sketch);
}

/* A sketch of all numbers equals the merged sketches of two parts, bin by bin. */
static void merging_gives_the_sketch_of_all(void **state)
{
    (void)state;
    struct fth_sketch all = {0}, parts[2] = {{0}, {0}};
    struct fth_rng rng;
    fth_rng_init(&rng, 2);
    for (size_t i = 0; i < NUMBERS; i++) {
        const double number = 1 + 0.01 * fth_rng_unit(&rng);
        put(&all, number);
        put(&parts[fth_rng_below(&rng, 2)], number);
    }
    assert_true(parts[0].count && parts[1].count);
    assert_int_equal(fth_sketch_merge(&parts[1], &parts[0], NULL), FTH_OK);
    assert_int_equal(parts[1].count, NUMBERS);
    assert_int_equal(parts[1].bin_count, all.bin_count);
    assert_memory_equal(parts[1].bins, all.bins, all.bin_count * sizeof *all.bins);
    for (size_t i = 1; i < all.bin_count; i++)
        assert_true(all.bins[i - 1].index < all.bins[i].index);
    assert_true(fabs(exp(fth_sketch_bin_log(&all.bins[0])) - 1) < 0.0002);
    fth_sketch_fini(&all);
    fth_sketch_fini(&parts[0]);
    fth_sketch_fini(&parts[1]);
}

/* The upper number of 1, 10, 10 and 100, with and without one of them. */
static void upper_numbers_leave_one_out(void **state)
{
    (void)state;
    static const struct {
        double fraction, without, upper;
    } cases[] = {
        {0, NAN, 1},      {0.25, NAN, 1}, {0.26, NAN, 10}, {0.75, NAN, 10},
        {0.76, NAN, 100}, {1, NAN, 100},  {0.95, 100, 10}, {0.5, 10, 10},
        {0.6, 1, 10},     {0, 1, 10},     {0.95, 50, 100}, {0.75, INFINITY, 10},
    };
    struct fth_sketch sketch = {0};
    assert_true(isnan(fth_sketch_upper(&sketch, 0.5, NAN)));
    put(&sketch, 1);
    assert_true(isnan(fth_sketch_upper(&sketch, 0.5, 1)));
    put(&sketch, 10);
    put(&sketch, 100);
    put(&sketch, 10);
    for (size_t i = 0; i < FTH_COUNT(cases); i++) {
        const double upper = fth_sketch_upper(&sketch, cases[i].fraction, cases[i].without);
        if (!(fabs(upper / cases[i].upper - 1) < 0.0002))
            fail_msg("case %zu: %g", i, upper);
    }
    fth_sketch_fini(&sketch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantiles_are_nearly_exact),
        cmocka_unit_test(quantiles_are_interpolated),
        cmocka_unit_test(upper_numbers_leave_one_out),
        cmocka_unit_test(extreme_numbers_are_added),
        cmocka_unit_test(only_positive_numbers_are_added),
        cmocka_unit_test(merging_gives_the_sketch_of_all),
    };
    return cmocka_run_group_tests_name("fleet-sketch", tests, NULL, NULL);
}
