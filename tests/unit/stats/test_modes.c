/* Tests modes, penalties of change points, nearest classes and groups of vectors with values
 * computed by hand. */
#include "check.h"
#include "stats/stats.h"

#include <math.h>

/* Fills `samples` with `count` samples of a value, behind the first *used. */
static void put(uint32_t *samples, size_t *used, size_t count, uint32_t value)
{
    for (size_t i = 0; i < count; i++)
        samples[(*used)++] = value;
}

/* With a median of 20 or 25, a cell of the histogram is one cycle wide, and the first one is at 19.
 * Samples at 20 and 25 are in the cells 1 and 6. The histogram is smoothed over the neighbours, so
 * cell 3 is the first one that is empty, and its middle is 22.5. Each side needs at least a tenth
 * of the samples. */
static void modes_are_split_at_the_first_empty_cell(void **state)
{
    (void)state;
    static const struct {
        size_t low, middle, high; /* samples at 20, 23 and 25 */
        size_t count;             /* of modes */
    } rows[] = {
        {10, 0, 10, 2}, {2, 0, 18, 2}, {18, 0, 2, 2},   {1, 0, 19, 1},
        {19, 0, 1, 1},  {10, 0, 0, 1}, {10, 20, 10, 1},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        uint32_t samples[64];
        size_t used = 0;
        struct fth_clusters modes;
        put(samples, &used, rows[i].high, 25);
        put(samples, &used, rows[i].low, 20);
        put(samples, &used, rows[i].middle, 23);
        assert_int_equal(fth_modes_u32(samples, used, 0.1, &modes, NULL), FTH_OK);
        if (modes.count != rows[i].count)
            fail_msg("row %zu: %zu modes", i, modes.count);
        if (modes.count != 2)
            continue;
        assert_true(modes.thresholds[0] == 22.5);
        for (size_t k = 0; k < 2; k++) {
            const struct fth_cluster *mode = &modes.items[k];
            const double value = k ? 25 : 20;
            assert_int_equal(mode->count, k ? rows[i].high : rows[i].low);
            assert_true(mode->share == (double)mode->count / (double)used);
            assert_true(mode->median == value && mode->min == value && mode->max == value &&
                        mode->p05 == value && mode->p95 == value);
        }
    }
}

/* Three modes, found in the order of their depth, are sorted. The deepest valley is that between
 * 30 and 45. */
static void thresholds_are_sorted(void **state)
{
    (void)state;
    uint32_t samples[120];
    size_t used = 0;
    struct fth_clusters modes;
    put(samples, &used, 40, 30);
    put(samples, &used, 40, 45);
    put(samples, &used, 40, 24);
    assert_int_equal(fth_modes_u32(samples, used, 0.1, &modes, NULL), FTH_OK);
    assert_int_equal(modes.count, 3);
    assert_true(modes.thresholds[0] > 24 && modes.thresholds[0] < 30);
    assert_true(modes.thresholds[1] > 30 && modes.thresholds[1] < 45);
    assert_true(modes.items[0].median == 24 && modes.items[1].median == 30 &&
                modes.items[2].median == 45);
}

/* A series without noise has the variance of the rounding error, resolution^2 / 12. */
static void penalties_have_a_minimum(void **state)
{
    (void)state;
    static const size_t counts[] = {2, 10, 100};
    double values[100];
    for (size_t i = 0; i < 100; i++)
        values[i] = 7;
    for (size_t i = 0; i < FTH_COUNT(counts); i++)
        for (double resolution = 0.5; resolution <= 4; resolution *= 2) {
            const double n = (double)counts[i];
            const double expected = 3 * log(n + 1) * (1 + 20 / n) * (resolution * resolution / 12);
            double penalty = 0;
            assert_int_equal(fth_change_penalty(values, counts[i], resolution, &penalty, NULL),
                             FTH_OK);
            assert_true(fabs(penalty - expected) < 1e-12 * expected);
        }
}

/* Class 0 has the examples 1 and 3, class 1 has 11 and 13: means 2 and 12, and a deviation within
 * the classes of sqrt(4 / 2). The second feature is unknown in all examples, so it does not count.
 */
static void distances_ignore_unknown_features(void **state)
{
    (void)state;
    const double examples[] = {1, NAN, 3, NAN, 11, NAN, 13, NAN};
    const size_t labels[] = {0, 0, 1, 1};
    const double sample[] = {4, 5}, unknown[] = {NAN, 5};
    struct fth_nearest *nearest = NULL;
    assert_int_equal(fth_nearest_fit(examples, labels, 4, 2, NULL, 2, &nearest, NULL), FTH_OK);
    assert_true(fabs(fth_nearest_distance(nearest, 0, sample) - 2 / sqrt(2)) < 1e-12);
    assert_true(fabs(fth_nearest_distance(nearest, 1, sample) - 8 / sqrt(2)) < 1e-12);
    assert_true(isinf(fth_nearest_distance(nearest, 0, unknown)));
    fth_nearest_destroy(nearest);
}

/* With one example per class, the deviation of all examples is used: those of 2 and 6 from 4. */
static void single_examples_use_the_deviation_of_all(void **state)
{
    (void)state;
    const double examples[] = {2, 6}, sample[] = {3};
    const size_t labels[] = {0, 1};
    struct fth_nearest *nearest = NULL;
    assert_int_equal(fth_nearest_fit(examples, labels, 2, 1, NULL, 2, &nearest, NULL), FTH_OK);
    assert_true(fabs(fth_nearest_distance(nearest, 0, sample) - 0.5) < 1e-12);
    assert_true(fabs(fth_nearest_distance(nearest, 1, sample) - 1.5) < 1e-12);
    fth_nearest_destroy(nearest);
}

static void the_last_example_is_checked(void **state)
{
    (void)state;
    const double examples[] = {1, 2, 3, 4, 5, INFINITY};
    const size_t labels[] = {0, 1, 2};
    struct fth_nearest *nearest = NULL;
    struct fth_error error = NO_ERROR;
    assert_int_equal(fth_nearest_fit(examples, labels, 3, 2, NULL, 3, &nearest, &error),
                     FTH_INVALID);
    assert_string_equal(error.cause, "value 5 is not finite");
    error = (struct fth_error)NO_ERROR;
    assert_int_equal(fth_nearest_fit(examples, labels, 3, 1, NULL, 2, &nearest, &error),
                     FTH_INVALID);
    assert_string_equal(error.cause, "2 is not below the 2 classes");
    assert_null(nearest);
}

/* Vectors around three centres, in turn, with deviations of at most 1 in each component. The
 * distances of the centres are 10, 20 and 20. */
static void equal_vectors_form_groups(void **state)
{
    (void)state;
    static const double centres[3][2] = {{100, 200}, {120, 200}, {100, 240}};
    enum { COUNT = 60 };
    double vectors[COUNT][2];
    struct fth_vector_groups groups;
    for (size_t i = 0; i < COUNT; i++)
        for (size_t j = 0; j < 2; j++)
            vectors[i][j] = centres[i % 3][j] + (double)((7 * i + 3 * j) % 5) / 2 - 1;
    assert_int_equal(fth_vectors_group(vectors[0], COUNT, 2, 3, 8, &groups, NULL), FTH_OK);
    assert_int_equal(groups.count, 3);
    for (size_t i = 0; i < COUNT; i++)
        assert_int_equal(groups.group_of[i], groups.group_of[i % 3]);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(groups.members[i], COUNT / 3);
        const double *centre = groups.centres + (size_t)2 * groups.group_of[i];
        assert_true(fth_vector_distance(centre, centres[i], 2) < 0.1);
    }
    assert_true(fabs(groups.nearest - 10) < 0.2);
    assert_true(groups.farthest > 0.5 && groups.farthest <= 1.1);
    fth_vector_groups_fini(&groups);
    /* With a larger distance, the first two centres are one group. */
    assert_int_equal(fth_vectors_group(vectors[0], COUNT, 2, 12, 8, &groups, NULL), FTH_OK);
    assert_int_equal(groups.count, 2);
    assert_int_equal(groups.group_of[0], groups.group_of[1]);
    fth_vector_groups_fini(&groups);
}

static void vectors_need_components_and_few_groups(void **state)
{
    (void)state;
    const double vectors[] = {1, 100, 200}, infinite[] = {1, INFINITY};
    struct fth_vector_groups groups;
    struct fth_error error = NO_ERROR;
    assert_int_equal(fth_vectors_group(vectors, 3, 1, 5, 2, &groups, &error), FTH_INCONCLUSIVE);
    assert_string_equal(error.cause, "there are more than 2 groups");
    assert_int_equal(fth_vectors_group(vectors, 3, 0, 5, 2, &groups, NULL), FTH_INVALID);
    assert_int_equal(fth_vectors_group(vectors, 0, 1, 5, 2, &groups, NULL), FTH_INVALID);
    assert_int_equal(fth_vectors_group(infinite, 2, 1, 5, 2, &groups, NULL), FTH_INVALID);
    assert_int_equal(fth_vectors_group(vectors, 1, 1, 5, 2, &groups, NULL), FTH_OK);
    assert_int_equal(groups.count, 1);
    assert_true(isinf(groups.nearest));
    fth_vector_groups_fini(&groups);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(modes_are_split_at_the_first_empty_cell),
        cmocka_unit_test(thresholds_are_sorted),
        cmocka_unit_test(penalties_have_a_minimum),
        cmocka_unit_test(equal_vectors_form_groups),
        cmocka_unit_test(vectors_need_components_and_few_groups),
        cmocka_unit_test(distances_ignore_unknown_features),
        cmocka_unit_test(single_examples_use_the_deviation_of_all),
        cmocka_unit_test(the_last_example_is_checked),
    };
    return cmocka_run_group_tests_name("modes", tests, NULL, NULL);
}
