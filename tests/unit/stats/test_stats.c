/* Tests of stats/: each method is compared with values computed by hand or published in a paper,
 * with a slow but obvious implementation, or with the known distribution of seeded random samples.
 * The tests of clusters and change points are in test_plateaus.c. */
#include "check.h"
#include "noise.h"
#include "stats/stats.h"

#include <math.h>
#include <stdlib.h>

/* ---- sort.c, summary.c ---- */

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void sort_agrees_with_qsort(void **state)
{
    (void)state;
    struct fth_rng rng;
    fth_rng_init(&rng, 1);
    static double values[3000], expected[3000], scratch[3000];
    for (int round = 0; round < 600; round++) {
        size_t count = fth_rng_below(&rng, round % 10 ? 100 : 3000);
        for (size_t i = 0; i < count; i++)
            expected[i] = values[i] = round % 3 == 0   ? (double)fth_rng_below(&rng, 700)
                                      : round % 3 == 1 ? 1e6 * normal(&rng)
                                                       : exp(50 * normal(&rng)) * jitter(&rng, 1);
        qsort(expected, count, sizeof *expected, ascending);
        fth_sort_f64(values, scratch, count);
        for (size_t i = 0; i < count; i++)
            assert_true(values[i] == expected[i]);
    }
}

static void summaries_match_hand_computed_values(void **state)
{
    (void)state;
    static const struct {
        size_t count;
        double samples[8];
        struct fth_summary summary;
    } rows[] = {
        {1, {5}, {1, 5, 5, 5, 5, 5, 5, 0}},
        {2, {3, 1}, {2, 1, 3, 2, 2, 1.1, 2.9, 1}},
        {4, {4, 1, 3, 2}, {4, 1, 4, 2.5, 2.5, 1.15, 3.85, 1}},
        {7, {6, 1, 4, 1, 2, 9, 2}, {7, 1, 9, 25.0 / 7, 2, 1, 8.1, 1}},
        {5, {-1, -1, -1, -1, 1000}, {5, -1, 1000, 199.2, -1, -1, 799.8, 0}},
        {6, {10, 10, 20, 20, 30, 30}, {6, 10, 30, 20, 20, 10, 30, 10}},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_summary got, same;
        assert_int_equal(fth_summary_f64(rows[i].samples, rows[i].count, &got, NULL), FTH_OK);
        const struct fth_summary *expected = &rows[i].summary;
        assert_int_equal(got.count, expected->count);
        assert_near(got.min, expected->min, 0);
        assert_near(got.max, expected->max, 0);
        assert_near(got.mean, expected->mean, 1e-12);
        assert_near(got.median, expected->median, 1e-12);
        assert_near(got.p05, expected->p05, 1e-12);
        assert_near(got.p95, expected->p95, 1e-12);
        assert_near(got.mad, expected->mad, 1e-12);
        if (got.min < 0)
            continue;
        uint32_t whole[8];
        for (size_t j = 0; j < rows[i].count; j++)
            whole[j] = (uint32_t)rows[i].samples[j];
        assert_int_equal(fth_summary_u32(whole, rows[i].count, &same, NULL), FTH_OK);
        assert_memory_equal(&same, &got, sizeof got);
    }
}

static void quantiles_match_hand_computed_values(void **state)
{
    (void)state;
    static const double samples[] = {40, 15, 50, 20, 35};
    static const struct {
        double p, quantile;
    } rows[] = {{0, 15}, {0.1, 17}, {0.25, 20}, {0.4, 29}, {0.5, 35}, {0.95, 48}, {1, 50}};
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        double quantile;
        assert_int_equal(fth_quantile_f64(samples, 5, rows[i].p, &quantile, NULL), FTH_OK);
        assert_near(quantile, rows[i].quantile, 1e-12);
    }
}

static void median_and_mad_agree_with_counting(void **state)
{
    (void)state;
    struct fth_rng rng;
    fth_rng_init(&rng, 2);
    for (int round = 0; round < 3000; round++) {
        double samples[64] = {0}, copy[64], deviations[64] = {0};
        size_t count = 1 + fth_rng_below(&rng, 64);
        for (size_t i = 0; i < count; i++)
            samples[i] = round % 2 ? (double)fth_rng_below(&rng, 9) : 10 * normal(&rng);
        memcpy(copy, samples, sizeof copy);
        struct fth_summary summary;
        assert_int_equal(fth_summary_f64(samples, count, &summary, NULL), FTH_OK);
        assert_memory_equal(samples, copy, count * sizeof *copy);
        double median = slow_median(samples, count);
        for (size_t i = 0; i < count; i++)
            deviations[i] = fabs(samples[i] - median);
        assert_near(summary.median, median, 1e-12);
        assert_near(summary.mad, slow_median(deviations, count), 1e-12);
    }
}

/* ---- ks.c ---- */

/* Returns m n D: the largest distance between the distribution functions of two samples, in units
 * of 1 / (m n). `pool` has the values of both. Bit i of `first` is set if value i belongs to the
 * first sample, which has m values. */
static unsigned brute_force_distance(const double *pool, unsigned first, size_t count, size_t m)
{
    size_t n = count - m;
    unsigned largest = 0;
    for (size_t at = 0; at < count; at++) {
        size_t a = 0, b = 0;
        for (size_t i = 0; i < count; i++) {
            if (pool[i] <= pool[at])
                *(first >> i & 1 ? &a : &b) += 1;
        }
        unsigned distance = (unsigned)(a * n > b * m ? a * n - b * m : b * m - a * n);
        if (distance > largest)
            largest = distance;
    }
    return largest;
}

static size_t count_bits(unsigned number)
{
    size_t count = 0;
    for (; number; number &= number - 1)
        count++;
    return count;
}

/* If both samples have the same distribution, every split of the pooled values into samples of
 * these sizes is equally likely. The p-value is therefore the fraction of splits with a distance
 * that is at least the observed one. */
static void exact_p_values_agree_with_enumeration(void **state)
{
    (void)state;
    struct fth_rng rng;
    fth_rng_init(&rng, 14);
    for (int round = 0; round < 400; round++) {
        double pool[11] = {0};
        size_t m = 1 + fth_rng_below(&rng, 5), n = 1 + fth_rng_below(&rng, 6), count = m + n;
        uint64_t values = round % 2 ? 4 : 1000000; /* with and without ties */
        for (size_t i = 0; i < count; i++)
            pool[i] = (double)fth_rng_below(&rng, values);
        unsigned observed = brute_force_distance(pool, (1u << m) - 1, count, m);
        size_t splits = 0, at_least_as_far = 0;
        for (unsigned first = 0; first < 1u << count; first++) {
            if (count_bits(first) != m)
                continue;
            splits++;
            at_least_as_far += brute_force_distance(pool, first, count, m) >= observed;
        }
        struct fth_ks ks;
        assert_int_equal(fth_ks_test(pool, m, pool + m, n, &ks, NULL), FTH_OK);
        assert_true(ks.exact);
        assert_near(ks.d, observed / (double)(m * n), 1e-12);
        assert_near(ks.p, (double)at_least_as_far / (double)splits, 1e-12);
    }
}

static void limit_distribution_matches_smirnovs_table(void **state)
{
    (void)state;
    /* N. Smirnov, "Table for Estimating the Goodness of Fit of Empirical Distributions", Annals of
     * Mathematical Statistics 19 (1948). */
    static const struct {
        double lambda, tail;
    } rows[] = {{0, 1},           {0.3, 0.999991},  {0.5, 0.963945},
                {0.83, 0.496192}, {1.0, 0.270000},  {1.17, 0.129392},
                {1.36, 0.049486}, {1.63, 0.009846}, {2.0, 0.000671}};
    for (size_t i = 0; i < FTH_COUNT(rows); i++)
        assert_near(fth_kolmogorov_tail(rows[i].lambda), rows[i].tail, 2e-6);
    assert_near(fth_kolmogorov_tail(1.18 - 1e-12), fth_kolmogorov_tail(1.18), 1e-10);

    /* 310 values per sample are just few enough for an exact p-value; for 400, the limit
     * distribution is used. At 310, both methods agree. */
    static double a[400], b[400];
    struct fth_rng rng;
    fth_rng_init(&rng, 15);
    for (int round = 0; round < 20; round++) {
        for (size_t i = 0; i < 400; i++) {
            a[i] = normal(&rng);
            b[i] = normal(&rng) + 0.02 * round;
        }
        struct fth_ks exact, limit;
        assert_int_equal(fth_ks_test(a, 310, b, 310, &exact, NULL), FTH_OK);
        assert_int_equal(fth_ks_test(a, 400, b, 400, &limit, NULL), FTH_OK);
        assert_true(exact.exact && !limit.exact);
        /* The factor is that of M. A. Stephens, "Use of the Kolmogorov-Smirnov, Cramér-Von Mises
         * and Related Statistics Without Extensive Tables", JRSS B 32 (1970): 0.12 and 0.11 / root.
         */
        double root = sqrt(200.0);
        assert_near(limit.p, fth_kolmogorov_tail((root + 0.12 + 0.11 / root) * limit.d), 1e-12);
        root = sqrt(155.0);
        assert_near(fth_kolmogorov_tail((root + 0.12 + 0.11 / root) * exact.d), exact.p,
                    0.1 * exact.p + 1e-3);
    }
}

static void ks_test_has_the_stated_false_positive_rate(void **state)
{
    (void)state;
    struct fth_rng rng;
    fth_rng_init(&rng, 16);
    size_t exact_rejections = 0, limit_rejections = 0;
    for (int round = 0; round < 1000; round++) {
        double a[400], b[400];
        for (size_t i = 0; i < 400; i++) {
            a[i] = normal(&rng);
            b[i] = normal(&rng);
        }
        struct fth_ks ks;
        assert_int_equal(fth_ks_test(a, 30, b, 40, &ks, NULL), FTH_OK);
        exact_rejections += ks.p <= 0.05;
        assert_int_equal(fth_ks_test(a, 400, b, 400, &ks, NULL), FTH_OK);
        limit_rejections += ks.p <= 0.05;
    }
    assert_in_range(exact_rejections, 25,
                    70); /* 50 expected; slightly fewer because D is discrete */
    assert_in_range(limit_rejections, 25, 70);
    /* Two samples that do not overlap: 2 of the C(40, 20) = 137846528820 possible orders have this
     * distance. */
    double a[20], b[20];
    for (size_t i = 0; i < 20; i++) {
        a[i] = 32 + (double)i / 10;
        b[i] = 280 + (double)i / 10;
    }
    struct fth_ks ks;
    assert_int_equal(fth_ks_test(a, 20, b, 20, &ks, NULL), FTH_OK);
    assert_near(ks.p * 137846528820.0, 2, 1e-9);
    assert_int_equal(fth_ks_test(a, 20, a, 20, &ks, NULL), FTH_OK);
    assert_true(ks.d == 0 && ks.p == 1);
}

/* ---- bootstrap.c ---- */

static void intervals_have_the_stated_coverage(void **state)
{
    (void)state;
    struct fth_rng rng;
    fth_rng_init(&rng, 19);
    size_t covered = 0;
    for (int round = 0; round < 400; round++) {
        double samples[60];
        for (size_t i = 0; i < 60; i++)
            samples[i] = 280 + 5 * normal(&rng);
        struct fth_interval interval;
        assert_int_equal(
            fth_bootstrap_interval(samples, 60, 0.9, 300, (uint64_t)round, &interval, NULL),
            FTH_OK);
        assert_true(interval.low <= interval.estimate && interval.estimate <= interval.high);
        covered += interval.low <= 280 && 280 <= interval.high;
        struct fth_summary summary;
        assert_int_equal(fth_summary_f64(samples, 60, &summary, NULL), FTH_OK);
        assert_near(interval.estimate, summary.mean, 1e-9);
    }
    assert_in_range(covered, 340, 380); /* 360 expected */
    static const double same[] = {7, 7, 7};
    struct fth_interval interval;
    assert_int_equal(fth_bootstrap_interval(same, 3, 0.95, 50, 1, &interval, NULL), FTH_OK);
    assert_true(interval.estimate == 7 && interval.low == 7 && interval.high == 7);
}

/* ---- nearest.c ---- */

/* Two runs on each of three GPUs. Features: KiB of L1, L2 latency in cycles, number of SMs. */
static void nearest_class_has_the_smallest_distance(void **state)
{
    (void)state;
    static const double examples[] = {128, 193, 80,  128, 195, 80,  192, 261, 108,
                                      192, 263, 108, 256, 280, 132, NAN, 282, 132};
    static const size_t labels[] = {0, 0, 1, 1, 2, 2};
    static const struct {
        double features[3];
        size_t class;
    } rows[] = {
        {{128, 194, 80}, 0},  {{192, 266, 108}, 1},   {{256, 300, 132}, 2},
        {{NAN, NAN, 132}, 2}, {{NAN, 271.5, NAN}, 1}, {{500, 281, 132}, 2},
    };
    struct fth_nearest *nearest = NULL;
    assert_int_equal(fth_nearest_fit(examples, labels, 6, 3, NULL, 3, &nearest, NULL), FTH_OK);
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        const double distance = fth_nearest_distance(nearest, rows[i].class, rows[i].features);
        for (size_t other = 0; other < 3; other++)
            if (other != rows[i].class &&
                fth_nearest_distance(nearest, other, rows[i].features) <= distance)
                fail_msg("row %zu: class %zu is nearer", i, other);
    }
    static const double all_unknown[] = {NAN, NAN, NAN};
    assert_true(isinf(fth_nearest_distance(nearest, 0, all_unknown)));
    fth_nearest_destroy(nearest);
    fth_nearest_destroy(NULL);
}

/* In the first row, two classes with one example each: the mean is 20 and the standard deviation of
 * all examples 10. In the second row, the unit is the standard deviation within the classes,
 * sqrt((1 + 1 + 4 + 4) / 2), and the weights are 3 and 1. The second feature is equal everywhere
 * and adds nothing, so the squared distance is three quarters of that of the first feature. It is
 * all of it where the second feature is unknown. An example whose feature is unknown changes
 * nothing. In the last row, the only example has the minimum
 * unit, 0.05 % of its value. */
static void distances_match_values_computed_by_hand(void **state)
{
    (void)state;
    static const struct {
        double examples[8];
        size_t labels[5], count, features, classes;
        double weights[2], vector[2];
        double distances[2];
    } rows[] = {
        {{10, 30}, {0, 1}, 2, 1, 2, {1}, {12}, {0.2, 1.8}},
        {{9, 5, 11, 5, 28, 5, 32, 5},
         {0, 0, 1, 1},
         4,
         2,
         2,
         {3, 1},
         {12, 5},
         {0.7745966692414834, 6.97137002317335}},
        {{9, 5, 11, 5, 28, 5, 32, 5},
         {0, 0, 1, 1},
         4,
         2,
         2,
         {3, 1},
         {12, NAN},
         {0.894427190999916, 8.049844718999243}},
        {{9, NAN, 11, 28, 32},
         {0, 0, 0, 1, 1},
         5,
         1,
         2,
         {1},
         {12},
         {0.894427190999916, 8.049844718999243}},
        {{200}, {0}, 1, 1, 1, {1}, {206}, {60}},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_nearest *nearest = NULL;
        assert_int_equal(fth_nearest_fit(rows[i].examples, rows[i].labels, rows[i].count,
                                         rows[i].features, rows[i].weights, rows[i].classes,
                                         &nearest, NULL),
                         FTH_OK);
        for (size_t class = 0; class < rows[i].classes; class ++)
            assert_near(fth_nearest_distance(nearest, class, rows[i].vector),
                        rows[i].distances[class], 1e-9);
        fth_nearest_destroy(nearest);
    }
}

/* ---- invalid arguments of all functions ---- */

/* Fails unless all calls returned FTH_INVALID. */
static void assert_all_invalid(const enum fth_status *returned, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (returned[i] != FTH_INVALID)
            fail_msg("call %zu returned %d", i, returned[i]);
}

static void invalid_samples_are_refused(void **state)
{
    (void)state;
    double value = 1, nan = NAN, infinity = INFINITY, number;
    uint32_t whole[] = {1, 2};
    struct fth_summary summary;
    struct fth_clusters clusters;
    struct fth_error error = NO_ERROR;
    const enum fth_status returned[] = {
        fth_summary_f64(&value, 0, &summary, &error),
        fth_summary_f64(&nan, 1, &summary, NULL),
        fth_summary_f64(&infinity, 1, &summary, NULL),
        fth_summary_u32(whole, 0, &summary, NULL),
        fth_quantile_f64(&value, 0, 0.5, &number, NULL),
        fth_quantile_f64(&value, 1, 1.5, &number, NULL),
        fth_quantile_f64(&value, 1, nan, &number, NULL),
        fth_cluster_u32(whole, 0, NULL, &clusters, NULL),
        fth_cluster_f64(&nan, 1, NULL, &clusters, NULL),
        fth_cluster_f64(&value, 1, &(struct fth_cluster_options){.max_clusters = 13}, &clusters,
                        NULL),
        fth_cluster_f64(&value, 1, &(struct fth_cluster_options){.min_share = 0.5}, &clusters,
                        NULL),
        fth_cluster_f64(&value, 1, &(struct fth_cluster_options){.min_gap = -1}, &clusters, NULL),
    };
    assert_all_invalid(returned, FTH_COUNT(returned));
    assert_string_equal(error.operation, "summarise samples");
    assert_string_equal(error.cause, "no values");
}

static void invalid_arguments_are_refused(void **state)
{
    (void)state;
    double value = 1, nan = NAN, infinity = INFINITY, pair[] = {1, 2}, number;
    size_t label = 1;
    struct fth_changes changes = {NULL, 0};
    struct fth_ks ks;
    struct fth_interval interval;
    struct fth_nearest *nearest = NULL;
    const enum fth_status returned[] = {
        fth_changes_find(&value, 0, 1, 1, &changes, NULL),
        fth_changes_find(pair, 2, 0, 1, &changes, NULL),
        fth_changes_find(pair, 2, 1, 0, &changes, NULL),
        fth_changes_find(pair, 2, 3, 1, &changes, NULL),
        fth_change_penalty(pair, 0, 1, &number, NULL),
        fth_change_penalty(pair, 2, 0, &number, NULL),
        fth_ks_test(pair, 0, pair, 2, &ks, NULL),
        fth_ks_test(pair, 2, &nan, 1, &ks, NULL),
        fth_bootstrap_interval(pair, 0, 0.9, 1, 1, &interval, NULL),
        fth_bootstrap_interval(pair, 2, 0.9, 0, 1, &interval, NULL),
        fth_bootstrap_interval(pair, 2, 1, 1, 1, &interval, NULL),
        fth_bootstrap_interval(&nan, 1, 0.9, 1, 1, &interval, NULL),
        fth_nearest_fit(pair, &label, 0, 1, NULL, 2, &nearest, NULL),
        fth_nearest_fit(pair, &label, 1, 1, NULL, 1, &nearest, NULL),
        fth_nearest_fit(&infinity, &label, 1, 1, NULL, 2, &nearest, NULL),
    };
    assert_all_invalid(returned, FTH_COUNT(returned));
    assert_null(nearest);
}

/* Disturbances increase up to three quarters of the samples. The mean of the others must still be
 * found. */
static void clean_mean_excludes_disturbed_samples(void **state)
{
    (void)state;
    static const double shares[] = {0, 0.3, 0.5, 0.7};
    for (size_t i = 0; i < FTH_COUNT(shares); i++) {
        struct fth_rng rng;
        uint32_t samples[400];
        double mean = 0;
        fth_rng_init(&rng, i);
        for (size_t k = 0; k < FTH_COUNT(samples); k++) {
            double cycles = 1000 + jitter(&rng, 5);
            samples[k] = (uint32_t)(fth_rng_unit(&rng) < shares[i] ? cycles + 150 : cycles);
        }
        assert_int_equal(fth_clean_mean_u32(samples, FTH_COUNT(samples), &mean, NULL), FTH_OK);
        assert_near(mean, 1000, 1);
    }
    /* Each sample is the time of 64 loads of 12 cycles, plus 11 cycles of overhead. In 61 % of the
     * samples, at least one load was slow. */
    static const uint32_t mostly_slow[] = {
        755, 757, 762, 763, 763, 767, 767, 769,  771,  771,  773,  778,  781,  783,  783,  784, 785,
        785, 786, 787, 787, 788, 788, 789, 789,  792,  793,  794,  794,  796,  798,  798,  798, 799,
        800, 800, 802, 803, 803, 851, 855, 859,  862,  863,  869,  871,  871,  872,  873,  874, 874,
        874, 877, 877, 878, 879, 881, 881, 882,  883,  884,  884,  885,  887,  887,  888,  890, 892,
        892, 894, 894, 898, 899, 904, 905, 908,  909,  910,  912,  914,  918,  919,  919,  920, 923,
        927, 961, 973, 989, 994, 997, 999, 1002, 1002, 1005, 1011, 1016, 1024, 1026, 1032, 1097};
    const uint32_t same[] = {7, 7, 7};
    double mean = 0;
    assert_int_equal(fth_clean_mean_u32(mostly_slow, FTH_COUNT(mostly_slow), &mean, NULL), FTH_OK);
    assert_near(mean, 785, 3);
    assert_int_equal(fth_clean_mean_u32(same, 3, &mean, NULL), FTH_OK);
    assert_near(mean, 7, 0);
    assert_int_equal(fth_clean_mean_u32(same, 0, &mean, NULL), FTH_INVALID);
}

/* The median is 100 and the MAD 10: samples up to 30 away are in the core. With a MAD of 0, those
 * up to 2 away are. */
static void core_mean_includes_samples_near_the_median(void **state)
{
    (void)state;
    static const struct {
        uint32_t samples[7];
        double mean;
    } rows[] = {
        {{80, 90, 90, 100, 110, 110, 130}, 710.0 / 7},
        {{80, 90, 90, 100, 110, 110, 131}, 580.0 / 6},
        {{70, 90, 90, 100, 110, 110, 120}, 690.0 / 7},
        {{69, 90, 90, 100, 110, 110, 120}, 620.0 / 6},
        {{98, 100, 100, 100, 100, 100, 102}, 100},
        {{97, 100, 100, 100, 100, 100, 102}, 602.0 / 6},
        {{98, 100, 100, 100, 100, 100, 103}, 598.0 / 6},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        double mean = 0;
        assert_int_equal(fth_core_mean_u32(rows[i].samples, 7, &mean, NULL), FTH_OK);
        assert_near(mean, rows[i].mean, 1e-12);
    }
}

/* The size of the sorted copy would overflow. */
static void too_many_samples_need_too_much_memory(void **state)
{
    (void)state;
    const uint32_t sample = 1;
    struct fth_summary summary;
    struct fth_error error = NO_ERROR;
    assert_int_equal(fth_summary_u32(&sample, SIZE_MAX / 16 + 1, &summary, &error), FTH_NO_MEMORY);
    assert_string_equal(error.operation, "summarise samples");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(core_mean_includes_samples_near_the_median),
        cmocka_unit_test(too_many_samples_need_too_much_memory),
        cmocka_unit_test(clean_mean_excludes_disturbed_samples),
        cmocka_unit_test(sort_agrees_with_qsort),
        cmocka_unit_test(summaries_match_hand_computed_values),
        cmocka_unit_test(quantiles_match_hand_computed_values),
        cmocka_unit_test(median_and_mad_agree_with_counting),
        cmocka_unit_test(exact_p_values_agree_with_enumeration),
        cmocka_unit_test(limit_distribution_matches_smirnovs_table),
        cmocka_unit_test(ks_test_has_the_stated_false_positive_rate),
        cmocka_unit_test(intervals_have_the_stated_coverage),
        cmocka_unit_test(nearest_class_has_the_smallest_distance),
        cmocka_unit_test(distances_match_values_computed_by_hand),
        cmocka_unit_test(invalid_samples_are_refused),
        cmocka_unit_test(invalid_arguments_are_refused),
    };
    return cmocka_run_group_tests_name("stats", tests, NULL, NULL);
}
