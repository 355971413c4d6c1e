/* stats/: every method against numbers worked out by hand or published, against a slow and obvious
 * way to get the same, and on thousands of seeded series that look like a GPU's latencies. */
#include "check.h"
#include "stats/stats.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Up to `width` either way, every whole number as likely. */
static double jitter(struct fth_rng *rng, unsigned width)
{
    return (double)fth_rng_below(rng, 2 * width + 1) - width;
}

static double normal(struct fth_rng *rng)
{
    double radius = sqrt(-2 * log(1 - fth_rng_unit(rng)));
    return radius * cos(6.283185307179586 * fth_rng_unit(rng));
}

static double exponential(struct fth_rng *rng)
{
    return -log(1 - fth_rng_unit(rng));
}

/* A latency with 2 cycles of jitter, ten times as long in 1 of 100 cases. */
static uint32_t latency(struct fth_rng *rng, double level)
{
    double cycles = level + jitter(rng, 2);
    return (uint32_t)(fth_rng_below(rng, 100) == 0 ? 10 * cycles : cycles);
}

static void assert_near(double value, double expected, double tolerance)
{
    if (!(fabs(value - expected) <= tolerance))
        fail_msg("%.17g is not %.17g to within %g", value, expected, tolerance);
}

/* ---- sort.c, summary.c ---- */

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void sorting_is_sorting(void **state)
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

static void summaries_by_hand(void **state)
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

static void quantiles_by_hand(void **state)
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
    double mean;
    assert_int_equal(fth_trimmed_mean_f64(samples, 5, 0, &mean, NULL), FTH_OK);
    assert_near(mean, 32, 1e-12);
    assert_int_equal(fth_trimmed_mean_f64(samples, 5, 0.2, &mean, NULL), FTH_OK);
    assert_near(mean, 95.0 / 3, 1e-12);
    assert_int_equal(fth_trimmed_mean_f64(samples, 5, 0.499, &mean, NULL), FTH_OK);
    assert_near(mean, 35, 1e-12);
    static const uint32_t counted[] = {7, 3, 9, 3, 9, 1, UINT32_MAX};
    struct fth_mode mode;
    assert_int_equal(fth_mode_u32(counted, 7, &mode, NULL), FTH_OK);
    assert_int_equal(mode.value, 3);
    assert_int_equal(mode.count, 2);
}

/* The value with `rank` others before it, by counting. */
static double by_rank(const double *values, size_t count, size_t rank)
{
    for (size_t i = 0; i < count; i++) {
        size_t below = 0, equal = 0;
        for (size_t j = 0; j < count; j++) {
            below += values[j] < values[i];
            equal += values[j] == values[i];
        }
        if (below <= rank && rank < below + equal)
            return values[i];
    }
    fail();
    return NAN;
}

static double slow_median(const double *values, size_t count)
{
    return (by_rank(values, count, (count - 1) / 2) + by_rank(values, count, count / 2)) / 2;
}

static void medians_and_deviations_by_counting(void **state)
{
    (void)state;
    struct fth_rng rng;
    fth_rng_init(&rng, 2);
    for (int round = 0; round < 3000; round++) {
        double samples[64], copy[64], deviations[64];
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

/* ---- cluster.c ---- */

/* Plateaus to be told apart: where, how much noise, and what share. */
struct plateau {
    double level;
    unsigned width; /* jitter either way */
    double tail;    /* mean of an exponential part on top */
    double share;
};

static size_t draw(struct fth_rng *rng, const struct plateau *plateaus, uint32_t *sample)
{
    double at = fth_rng_unit(rng);
    size_t i = 0;
    while (at >= plateaus[i].share) {
        at -= plateaus[i].share;
        i++;
    }
    double cycles = plateaus[i].level + jitter(rng, plateaus[i].width);
    if (plateaus[i].tail > 0)
        cycles += plateaus[i].tail * exponential(rng);
    *sample = (uint32_t)(cycles + 0.5);
    return i;
}

static void plateaus_are_found(void **state)
{
    (void)state;
    static const struct {
        size_t count;
        struct plateau plateaus[6];
    } rows[] = {
        {1, {{32, 5, 0, 1}}},
        {1, {{32, 0, 0, 1}}},
        {1, {{287, 37, 0, 1}}},
        {1, {{280, 5, 15, 1}}},
        {1, {{700, 120, 40, 1}}},
        {2, {{32, 5, 0, 0.5}, {280, 5, 0, 0.5}}},
        {2, {{32, 0, 0, 0.5}, {33 + 5, 0, 0, 0.5}}},
        {2, {{29, 1, 0, 0.5}, {39, 2, 0, 0.5}}},
        {2, {{32, 5, 0, 0.95}, {280, 5, 0, 0.05}}},
        {2, {{32, 5, 0, 0.05}, {280, 5, 0, 0.95}}},
        {2, {{32, 1, 2, 0.6}, {735, 60, 40, 0.4}}},
        {3, {{32, 5, 0, 0.3}, {280, 5, 0, 0.3}, {465, 5, 0, 0.4}}},
        {3, {{32, 1, 0, 0.1}, {280, 20, 5, 0.4}, {735, 90, 30, 0.5}}},
        {4, {{32, 5, 0, 0.25}, {280, 5, 0, 0.25}, {465, 5, 0, 0.25}, {735, 5, 0, 0.25}}},
        {4, {{32, 5, 4, 0.7}, {280, 5, 8, 0.1}, {465, 5, 8, 0.1}, {735, 5, 12, 0.1}}},
        {4, {{32, 2, 0, 0.1}, {210, 5, 4, 0.2}, {280, 5, 4, 0.4}, {465, 5, 8, 0.3}}},
        {6,
         {{29, 1, 0, 0.2},
          {90, 2, 0, 0.2},
          {280, 5, 0, 0.2},
          {465, 5, 0, 0.2},
          {735, 5, 0, 0.1},
          {1200, 20, 0, 0.1}}},
    };
    struct fth_rng rng;
    fth_rng_init(&rng, 3);
    static uint32_t samples[4000];
    static size_t truth[4000];
    for (size_t row = 0; row < FTH_COUNT(rows); row++) {
        for (int round = 0; round < 120; round++) {
            size_t count = 400 + fth_rng_below(&rng, 3600);
            bool outliers = round % 2;
            for (size_t i = 0; i < count; i++) {
                truth[i] = draw(&rng, rows[row].plateaus, &samples[i]);
                if (outliers && fth_rng_below(&rng, 100) == 0) {
                    samples[i] *= 10;
                    truth[i] = SIZE_MAX;
                }
            }
            struct fth_clusters clusters;
            assert_int_equal(fth_cluster_u32(samples, count, NULL, &clusters, NULL), FTH_OK);
            if (clusters.count != rows[row].count)
                fail_msg("row %zu round %d: %zu plateaus of %zu samples", row, round,
                         clusters.count, count);
            size_t together = clusters.outliers, wrong = 0;
            for (size_t i = 0; i < clusters.count; i++) {
                const struct fth_cluster *cluster = &clusters.items[i];
                const struct plateau *plateau = &rows[row].plateaus[i];
                together += cluster->count;
                assert_near(cluster->median, plateau->level + 0.7 * plateau->tail,
                            2 + 0.2 * plateau->width + 0.2 * plateau->tail);
                assert_near(cluster->share, plateau->share, 0.08);
                assert_true(cluster->min <= cluster->p05 && cluster->p05 <= cluster->median);
                assert_true(cluster->median <= cluster->p95 && cluster->p95 <= cluster->max);
                if (i > 0) {
                    assert_true(clusters.items[i - 1].max <= clusters.thresholds[i - 1]);
                    assert_true(clusters.thresholds[i - 1] < cluster->min);
                    assert_true(clusters.separations[i - 1] >= 0.5);
                }
            }
            assert_int_equal(together, count);
            for (size_t i = 0; i < count; i++)
                wrong += truth[i] != SIZE_MAX && fth_cluster_of(&clusters, samples[i]) != truth[i];
            assert_in_range(wrong, 0, count / 100); /* what the tails reach across */
        }
    }
}

/* A single mode stays whole, from a handful of samples on. */
static void one_mode_is_one_plateau(void **state)
{
    (void)state;
    static const size_t counts[] = {1, 2, 3, 5, 8, 12, 16, 24, 32, 64, 128, 512};
    struct fth_rng rng;
    fth_rng_init(&rng, 4);
    for (int shape = 0; shape < 5; shape++) {
        for (size_t at = 0; at < FTH_COUNT(counts); at++) {
            size_t split = 0;
            for (int round = 0; round < 400; round++) {
                uint32_t samples[512];
                for (size_t i = 0; i < counts[at]; i++) {
                    double cycles = shape == 0   ? 287 + jitter(&rng, 37)
                                    : shape == 1 ? 280 + 10 * normal(&rng)
                                    : shape == 2 ? 280 + 20 * exponential(&rng)
                                    : shape == 3 ? latency(&rng, 280)
                                                 : 287 + 12.5 * (jitter(&rng, 1) + normal(&rng));
                    samples[i] = (uint32_t)(cycles + 0.5);
                }
                struct fth_clusters clusters;
                assert_int_equal(fth_cluster_u32(samples, counts[at], NULL, &clusters, NULL),
                                 FTH_OK);
                split += clusters.count != 1;
            }
            if (split > 6)
                fail_msg("shape %d: %zu of 400 heaps of %zu were split", shape, split, counts[at]);
        }
    }
}

/* 250 to 324 cycles in three bumps: three plateaus where nothing lies between, one where they run
 * into each other, and the same answer whatever the draw. */
static void bumps_are_several_where_the_valleys_are_empty(void **state)
{
    (void)state;
    static const struct {
        unsigned width;
        double normal;
        size_t plateaus;
    } rows[] = {{0, 0, 3}, {4, 0, 3}, {7, 0, 3}, {13, 0, 1}, {15, 0, 1}, {0, 4, 3}, {0, 9, 1}};
    struct fth_rng rng;
    fth_rng_init(&rng, 5);
    for (size_t row = 0; row < FTH_COUNT(rows); row++) {
        for (int round = 0; round < 200; round++) {
            static uint32_t samples[2000];
            for (size_t i = 0; i < 2000; i++)
                samples[i] =
                    (uint32_t)(287.5 + 30 * jitter(&rng, 1) + jitter(&rng, rows[row].width) +
                               rows[row].normal * normal(&rng));
            struct fth_clusters clusters;
            assert_int_equal(fth_cluster_u32(samples, 2000, NULL, &clusters, NULL), FTH_OK);
            if (clusters.count != rows[row].plateaus)
                fail_msg("row %zu round %d: %zu plateaus", row, round, clusters.count);
        }
    }
}

static void clusters_do_not_depend_on_order(void **state)
{
    (void)state;
    struct fth_rng rng;
    fth_rng_init(&rng, 6);
    double samples[300];
    struct fth_clusters first, again;
    for (size_t i = 0; i < 300; i++)
        samples[i] = latency(&rng, i % 3 == 0 ? 32 : 280);
    assert_int_equal(fth_cluster_f64(samples, 300, NULL, &first, NULL), FTH_OK);
    for (size_t i = 300; i > 1; i--) {
        size_t other = fth_rng_below(&rng, i);
        double swap = samples[i - 1];
        samples[i - 1] = samples[other];
        samples[other] = swap;
    }
    assert_int_equal(fth_cluster_f64(samples, 300, NULL, &again, NULL), FTH_OK);
    assert_memory_equal(&first, &again, sizeof first);
    assert_int_equal(first.count, 2);

    struct fth_cluster_options one = {.max_clusters = 1};
    assert_int_equal(fth_cluster_f64(samples, 300, &one, &again, NULL), FTH_OK);
    assert_int_equal(again.count, 1);
    struct fth_cluster_options far = {.min_gap = 400};
    assert_int_equal(fth_cluster_f64(samples, 300, &far, &again, NULL), FTH_OK);
    assert_int_equal(again.count, 1);
}

static void hits_are_told_from_misses(void **state)
{
    (void)state;
    struct fth_rng rng;
    fth_rng_init(&rng, 7);
    for (int round = 0; round < 500; round++) {
        uint32_t samples[256];
        double hit = 25 + (double)fth_rng_below(&rng, 300);
        double miss = hit * 1.3 + 20 + (double)fth_rng_below(&rng, 500);
        for (size_t i = 0; i < 256; i++)
            samples[i] = (uint32_t)((i % 8 ? hit : miss) + jitter(&rng, 2));
        struct fth_threshold threshold;
        assert_int_equal(fth_threshold_u32(samples, 256, NULL, &threshold, NULL), FTH_OK);
        assert_true(hit + 2 < threshold.value && threshold.value < miss - 2);
        assert_near(threshold.low_median, hit, 1);
        assert_near(threshold.high_median, miss, 2);
        assert_near(threshold.low_share, 0.875, 1e-12);
    }
    uint32_t same[] = {280, 281, 279, 280, 282, 278, 280, 281};
    struct fth_threshold threshold;
    struct fth_error error = NO_ERROR;
    assert_int_equal(fth_threshold_u32(same, 8, NULL, &threshold, &error), FTH_INCONCLUSIVE);
    assert_contains(error.cause, "one plateau around 280");
}

/* ---- change.c ---- */

static double slow_cost(const double *series, size_t from, size_t to)
{
    double mean = 0, cost = 0;
    for (size_t i = from; i < to; i++)
        mean += series[i] / (double)(to - from);
    for (size_t i = from; i < to; i++)
        cost += (series[i] - mean) * (series[i] - mean);
    return cost;
}

static void the_best_split_is_found(void **state)
{
    (void)state;
    struct fth_rng rng;
    fth_rng_init(&rng, 8);
    for (int round = 0; round < 3000; round++) {
        double series[60];
        size_t min_part = 1 + fth_rng_below(&rng, 4);
        size_t count = 2 * min_part + fth_rng_below(&rng, 50);
        size_t jump = fth_rng_below(&rng, count);
        double height = (double)fth_rng_below(&rng, 5);
        for (size_t i = 0; i < count; i++)
            series[i] =
                1e4 + (i >= jump ? height : 0) + (round % 2 ? normal(&rng) : jitter(&rng, 2));
        size_t best = 0;
        double least = INFINITY;
        for (size_t k = min_part; k + min_part <= count; k++) {
            double cost = slow_cost(series, 0, k) + slow_cost(series, k, count);
            if (cost < least - 1e-9) {
                least = cost;
                best = k;
            }
        }
        struct fth_change change;
        assert_int_equal(fth_change_find(series, count, min_part, &change, NULL), FTH_OK);
        assert_in_range(change.index, min_part, count - min_part);
        double cost = slow_cost(series, 0, change.index) + slow_cost(series, change.index, count);
        assert_near(cost, least, 1e-6);
        if (round % 2) /* whole numbers have ties, which rounding breaks */
            assert_int_equal(change.index, best);
        double total = slow_cost(series, 0, count);
        assert_near(change.gain, total > 0 ? 1 - cost / total : 0, 1e-6);
    }
}

static double slow_deviation(const double *series, size_t from, size_t to)
{
    double median = slow_median(series + from, to - from), sum = 0;
    for (size_t i = from; i < to; i++)
        sum += fabs(series[i] - median);
    return sum;
}

static void the_best_robust_split_is_found(void **state)
{
    (void)state;
    struct fth_rng rng;
    fth_rng_init(&rng, 22);
    for (int round = 0; round < 600; round++) {
        double series[40];
        size_t min_part = 1 + fth_rng_below(&rng, 4);
        size_t count = 2 * min_part + fth_rng_below(&rng, 32);
        size_t jump = fth_rng_below(&rng, count);
        for (size_t i = 0; i < count; i++)
            series[i] = (i >= jump ? 3 : 0) + (round % 2 ? normal(&rng) : jitter(&rng, 2)) *
                                                  (fth_rng_below(&rng, 10) ? 1 : 50);
        double least = INFINITY;
        for (size_t k = min_part; k + min_part <= count; k++)
            least = fmin(least, slow_deviation(series, 0, k) + slow_deviation(series, k, count));
        struct fth_change change;
        assert_int_equal(fth_change_find_robust(series, count, min_part, &change, NULL), FTH_OK);
        assert_in_range(change.index, min_part, count - min_part);
        double here =
            slow_deviation(series, 0, change.index) + slow_deviation(series, change.index, count);
        assert_near(here, least, 1e-9);
        double total = slow_deviation(series, 0, count);
        assert_near(change.gain, total > 0 ? 1 - here / total : 0, 1e-9);
        assert_near(change.left, slow_median(series, change.index), 1e-12);
        assert_near(change.right, slow_median(series + change.index, count - change.index), 1e-12);
    }
}

static void splits_by_hand(void **state)
{
    (void)state;
    static const struct {
        double series[8];
        size_t index;
        double left, right, gain;
    } rows[] = {
        {{1, 1, 1, 1, 1.3, 1.3, 1.3, 1.3}, 4, 1, 1.3, 1}, /* the two of the thesis, 3.3.4 */
        {{1, 1, 1, 1, 4, 5, 6, 7}, 4, 1, 5.5, 1 - 5 / 45.5},
        {{9, 9, 9, 2, 2, 2, 2, 2}, 3, 9, 2, 1},
        {{5, 5, 5, 5, 5, 5, 5, 5}, 1, 5, 5, 0},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_change change;
        assert_int_equal(fth_change_find(rows[i].series, 8, 1, &change, NULL), FTH_OK);
        assert_int_equal(change.index, rows[i].index);
        assert_near(change.left, rows[i].left, 1e-12);
        assert_near(change.right, rows[i].right, 1e-12);
        assert_near(change.gain, rows[i].gain, 1e-12);
    }
    /* One interrupt is the best split of least squares; medians see the level. */
    static const double outlier[] = {33, 32, 33, 34, 33, 280, 281, 279, 280, 9000, 281, 280};
    struct fth_change change;
    assert_int_equal(fth_change_find(outlier, 12, 1, &change, NULL), FTH_OK);
    assert_int_equal(change.index, 9);
    assert_int_equal(fth_change_find_robust(outlier, 12, 1, &change, NULL), FTH_OK);
    assert_int_equal(change.index, 5);
    assert_near(change.left, 33, 0);
    assert_near(change.right, 280, 0);
}

/* Chases over growing footprints: hits up to a size, then ever more of them misses. */
static void cache_sizes_are_found_through_the_noise(void **state)
{
    (void)state;
    enum { ROWS = 64, COLUMNS = 128 };
    static uint32_t samples[ROWS * COLUMNS];
    struct fth_rng rng;
    fth_rng_init(&rng, 9);
    for (int round = 0; round < 1000; round++) {
        size_t jump = 8 + fth_rng_below(&rng, ROWS - 16);
        double hit = 30 + (double)fth_rng_below(&rng, 250);
        double miss = hit + 60 + (double)fth_rng_below(&rng, 400);
        for (size_t i = 0; i < ROWS; i++)
            for (size_t j = 0; j < COLUMNS; j++)
                samples[i * COLUMNS + j] = latency(&rng, i < jump ? hit : miss);
        struct fth_reduction reductions[] = {
            {0},
            {.kind = FTH_REDUCE_MEDIAN},
            {.kind = FTH_REDUCE_ABOVE, .threshold = (hit + miss) / 2}};
        assert_int_equal(
            fth_reduction_geometric(samples, (size_t)ROWS * COLUMNS, 0.02, &reductions[0], NULL),
            FTH_OK);
        for (size_t i = 0; i < FTH_COUNT(reductions); i++) {
            double series[ROWS];
            struct fth_change change;
            struct fth_ks ks;
            assert_int_equal(fth_reduce_u32(samples, ROWS, COLUMNS, &reductions[i], series, NULL),
                             FTH_OK);
            for (int robust = 0; robust < 2; robust++) {
                enum fth_status status =
                    robust ? fth_change_find_robust(series, ROWS, 2, &change, NULL)
                           : fth_change_find(series, ROWS, 2, &change, NULL);
                assert_int_equal(status, FTH_OK);
                if (change.index != jump)
                    fail_msg("round %d, reduction %zu%s: %zu instead of %zu (%g to %g)", round, i,
                             robust ? ", robust" : "", change.index, jump, hit, miss);
            }
            assert_int_equal(fth_change_test(series, ROWS, change.index, ROWS - 1, &ks, NULL),
                             FTH_OK);
            assert_true(ks.p < 1e-6);
        }
    }
}

/* Without a jump the test says so: the share of false alarms at 0.05 is no more than that. */
static void flat_series_have_no_change(void **state)
{
    (void)state;
    struct fth_rng rng;
    fth_rng_init(&rng, 10);
    size_t alarms = 0;
    for (int round = 0; round < 2000; round++) {
        double series[64];
        for (size_t i = 0; i < 64; i++)
            series[i] = latency(&rng, 280);
        struct fth_change change;
        struct fth_ks ks;
        assert_int_equal(fth_change_find_robust(series, 64, 4, &change, NULL), FTH_OK);
        assert_int_equal(fth_change_test(series, 64, change.index, 57, &ks, NULL), FTH_OK);
        alarms += ks.p < 0.05;
    }
    assert_in_range(alarms, 0, 100);
}

/* Every partition there is. */
static double slow_partition(const double *series, size_t count, size_t min_part, double penalty)
{
    double least = INFINITY;
    for (unsigned cuts = 0; cuts < 1u << (count - 1); cuts++) {
        double sum = 0;
        bool allowed = true;
        size_t from = 0;
        for (size_t to = 1; to <= count; to++) {
            if (to < count && !(cuts >> (to - 1) & 1))
                continue;
            allowed = allowed && to - from >= min_part;
            sum += slow_cost(series, from, to) + (from > 0 ? penalty : 0);
            from = to;
        }
        if (allowed && sum < least)
            least = sum;
    }
    return least;
}

static void the_best_partition_is_found(void **state)
{
    (void)state;
    struct fth_rng rng;
    fth_rng_init(&rng, 11);
    for (int round = 0; round < 1000; round++) {
        double series[12];
        size_t min_part = 1 + fth_rng_below(&rng, 3);
        size_t count = min_part + fth_rng_below(&rng, 13 - min_part);
        double level = 100;
        for (size_t i = 0; i < count; i++) {
            level += fth_rng_below(&rng, 4) == 0 ? 4 * normal(&rng) : 0;
            series[i] = level + normal(&rng);
        }
        double penalty = 0.1 + 8 * fth_rng_unit(&rng);
        struct fth_changes changes;
        assert_int_equal(fth_changes_find(series, count, min_part, penalty, &changes, NULL),
                         FTH_OK);
        double sum = penalty * (double)changes.count;
        size_t from = 0;
        for (size_t i = 0; i <= changes.count; i++) {
            size_t to = i < changes.count ? changes.items[i].index : count;
            assert_true(to - from >= min_part);
            double mean = 0;
            for (size_t j = from; j < to; j++)
                mean += series[j] / (double)(to - from);
            if (i < changes.count)
                assert_near(changes.items[i].left, mean, 1e-9);
            if (i > 0)
                assert_near(changes.items[i - 1].right, mean, 1e-9);
            sum += slow_cost(series, from, to);
            from = to;
        }
        assert_near(sum, slow_partition(series, count, min_part, penalty), 1e-8);
        fth_changes_fini(&changes);
    }
}

static void footprints_have_several_plateaus(void **state)
{
    (void)state;
    static const double levels[] = {33, 280, 465, 735};
    struct fth_rng rng;
    fth_rng_init(&rng, 12);
    for (int round = 0; round < 500; round++) {
        double series[400];
        size_t jumps[4] = {0}, count = 0, plateaus = 1 + fth_rng_below(&rng, 4);
        for (size_t i = 0; i < plateaus; i++) {
            jumps[i] = count;
            for (size_t end = count + 10 + fth_rng_below(&rng, 80); count < end; count++)
                series[count] = levels[i] + (round % 3 ? jitter(&rng, 2) : 0);
        }
        double penalty;
        struct fth_changes changes;
        assert_int_equal(fth_change_penalty(series, count, 1, &penalty, NULL), FTH_OK);
        assert_int_equal(fth_changes_find(series, count, 2, penalty, &changes, NULL), FTH_OK);
        if (changes.count != plateaus - 1)
            fail_msg("round %d: %zu changes of %zu", round, changes.count, plateaus - 1);
        for (size_t i = 0; i < changes.count; i++) {
            assert_int_equal(changes.items[i].index, jumps[i + 1]);
            assert_near(changes.items[i].left, levels[i], 1.5);
            assert_near(changes.items[i].right, levels[i + 1], 1.5);
            assert_true(changes.items[i].gain > 0.9);
        }
        fth_changes_fini(&changes);
    }
}

static void a_hundred_thousand_points_take_no_time(void **state)
{
    (void)state;
    enum { COUNT = 100000 };
    double *series = malloc(COUNT * sizeof *series);
    assert_non_null(series);
    struct fth_rng rng;
    fth_rng_init(&rng, 13);
    for (size_t i = 0; i < COUNT; i++)
        series[i] = (i < 61803 ? 280 : 465) + jitter(&rng, 5);
    double least_ms = INFINITY;
    for (int i = 0; i < 5; i++) {
        struct fth_change change;
        clock_t start = clock();
        assert_int_equal(fth_change_find(series, COUNT, 1, &change, NULL), FTH_OK);
        least_ms = fmin(least_ms, 1e3 * (double)(clock() - start) / CLOCKS_PER_SEC);
        assert_int_equal(change.index, 61803);
    }
    assert_true(least_ms < 10);
    free(series);
}

/* ---- ks.c ---- */

static unsigned slow_distance(const double *pool, unsigned first, size_t count, size_t m)
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

static size_t bits(unsigned number)
{
    size_t count = 0;
    for (; number; number &= number - 1)
        count++;
    return count;
}

/* Every way to deal the pooled values to two samples of these sizes is as likely. */
static void small_samples_by_dealing_anew(void **state)
{
    (void)state;
    struct fth_rng rng;
    fth_rng_init(&rng, 14);
    for (int round = 0; round < 400; round++) {
        double pool[11];
        size_t m = 1 + fth_rng_below(&rng, 5), n = 1 + fth_rng_below(&rng, 6), count = m + n;
        uint64_t values = round % 2 ? 4 : 1000000; /* with ties, and without */
        for (size_t i = 0; i < count; i++)
            pool[i] = (double)fth_rng_below(&rng, values);
        unsigned here = slow_distance(pool, (1u << m) - 1, count, m);
        size_t all = 0, as_far = 0;
        for (unsigned first = 0; first < 1u << count; first++) {
            if (bits(first) != m)
                continue;
            all++;
            as_far += slow_distance(pool, first, count, m) >= here;
        }
        struct fth_ks ks;
        assert_int_equal(fth_ks_test(pool, m, pool + m, n, &ks, NULL), FTH_OK);
        assert_true(ks.exact);
        assert_near(ks.d, here / (double)(m * n), 1e-12);
        assert_near(ks.p, (double)as_far / (double)all, 1e-12);
    }
}

/* Two-sided critical values of n D for equal samples: F. J. Massey, "The Distribution of the
 * Maximum Deviation Between Two Sample Cumulative Step Functions", Annals of Mathematical
 * Statistics 22 (1951), as tabulated in S. Siegel, "Nonparametric Statistics" (1956), table L. */
static void critical_values_are_the_published_ones(void **state)
{
    (void)state;
    static const struct {
        size_t n;
        double at_05, at_01;
    } rows[] = {{4, 4, INFINITY}, {5, 5, 5},   {6, 5, 6},    {7, 6, 6},   {8, 6, 7},
                {9, 6, 7},        {10, 7, 8},  {11, 7, 8},   {12, 7, 8},  {13, 7, 9},
                {14, 8, 9},       {15, 8, 9},  {16, 8, 10},  {17, 8, 10}, {18, 9, 10},
                {19, 9, 10},      {20, 9, 11}, {25, 10, 12}, {30, 11, 13}};
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        double at_05, at_01, n = (double)rows[i].n;
        assert_int_equal(fth_ks_critical(rows[i].n, rows[i].n, 0.05, &at_05, NULL), FTH_OK);
        assert_int_equal(fth_ks_critical(rows[i].n, rows[i].n, 0.01, &at_01, NULL), FTH_OK);
        /* Distances are multiples of 1/n: any number above the one before is the same test. */
        if (ceil(n * at_05 - 1e-9) != rows[i].at_05 || ceil(n * at_01 - 1e-9) != rows[i].at_01)
            fail_msg("n = %zu: %g and %g", rows[i].n, n * at_05, n * at_01);
    }
    /* Large ones: 1.358 and 1.628 times the root of (m + n) / m n. */
    double critical;
    assert_int_equal(fth_ks_critical(4000, 6000, 0.05, &critical, NULL), FTH_OK);
    assert_near(critical, 1.358 * sqrt(10000.0 / 24e6), 2e-4);
    assert_int_equal(fth_ks_critical(4000, 6000, 0.01, &critical, NULL), FTH_OK);
    assert_near(critical, 1.628 * sqrt(10000.0 / 24e6), 2e-4);
    assert_int_equal(fth_ks_critical(2, 2, 0.05, &critical, NULL), FTH_OK);
    assert_true(isinf(critical));
}

static void the_limit_distribution_is_kolmogorovs(void **state)
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

    /* On either side of the limit of exact p-values the two agree. */
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
        double root = sqrt(155.0);
        assert_near(fth_kolmogorov_tail((root + 0.12 + 0.11 / root) * exact.d), exact.p,
                    0.1 * exact.p + 1e-3);
    }
}

static void equal_samples_are_told_apart_as_often_as_alpha(void **state)
{
    (void)state;
    struct fth_rng rng;
    fth_rng_init(&rng, 16);
    size_t exact_alarms = 0, limit_alarms = 0;
    for (int round = 0; round < 1000; round++) {
        double a[400], b[400];
        for (size_t i = 0; i < 400; i++) {
            a[i] = normal(&rng);
            b[i] = normal(&rng);
        }
        struct fth_ks ks;
        assert_int_equal(fth_ks_test(a, 30, b, 40, &ks, NULL), FTH_OK);
        exact_alarms += ks.p <= 0.05;
        assert_int_equal(fth_ks_test(a, 400, b, 400, &ks, NULL), FTH_OK);
        limit_alarms += ks.p <= 0.05;
    }
    assert_in_range(exact_alarms, 25, 70); /* 50 expected, less what whole numbers of steps lose */
    assert_in_range(limit_alarms, 25, 70);
    /* Far apart: the probability is that of one order in all, twice. 2 / C(40, 20). */
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

/* ---- reduce.c ---- */

static void rows_become_numbers(void **state)
{
    (void)state;
    static const uint32_t samples[] = {30, 30, 30, 30, 30, 34, 30, 33, 30, 30, 90, 1000};
    static const struct {
        struct fth_reduction reduction;
        double series[3];
    } rows[] = {
        {{.kind = FTH_REDUCE_MEAN}, {30, 31.75, 287.5}},
        {{.kind = FTH_REDUCE_MEDIAN}, {30, 31.5, 60}},
        {{.kind = FTH_REDUCE_ABOVE, .threshold = 33}, {0, 0.25, 0.5}},
        {{.kind = FTH_REDUCE_DISTANCE, .reference = 30, .cap = INFINITY},
         {0, 2.5, 485.92694924 /* √((60² + 970²) / 4) */}},
        {{.kind = FTH_REDUCE_DISTANCE, .reference = 30, .cap = 110}, {0, 2.5, 50}},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        double series[3];
        assert_int_equal(fth_reduce_u32(samples, 3, 4, &rows[i].reduction, series, NULL), FTH_OK);
        for (size_t j = 0; j < 3; j++)
            assert_near(series[j], rows[i].series[j], 1e-6);
    }
}

/* One interrupt of 20,000 cycles does not hide where half of the accesses begin to miss; without a
 * cap it does. */
static void one_outlier_does_not_hide_the_jump(void **state)
{
    (void)state;
    enum { ROWS = 40, COLUMNS = 64 };
    static uint32_t samples[ROWS * COLUMNS];
    struct fth_rng rng;
    fth_rng_init(&rng, 17);
    size_t without_cap = 0;
    for (int round = 0; round < 300; round++) {
        size_t jump = 5 + fth_rng_below(&rng, ROWS - 10);
        for (size_t i = 0; i < ROWS; i++)
            for (size_t j = 0; j < COLUMNS; j++)
                samples[i * COLUMNS + j] =
                    (uint32_t)((i >= jump && j % 2 ? 280 : 33) + jitter(&rng, 2));
        samples[fth_rng_below(&rng, (size_t)ROWS * COLUMNS)] = 20000;
        for (int capped = 0; capped < 2; capped++) {
            struct fth_reduction reduction;
            struct fth_change change;
            double series[ROWS];
            assert_int_equal(fth_reduction_geometric(samples, (size_t)ROWS * COLUMNS,
                                                     capped ? 0.01 : 0, &reduction, NULL),
                             FTH_OK);
            assert_int_equal(fth_reduce_u32(samples, ROWS, COLUMNS, &reduction, series, NULL),
                             FTH_OK);
            assert_int_equal(fth_change_find(series, ROWS, 1, &change, NULL), FTH_OK);
            if (capped)
                assert_int_equal(change.index, jump);
            else
                without_cap += change.index == jump;
        }
    }
    assert_in_range(without_cap, 0, 100);
}

/* ---- bootstrap.c ---- */

static void a_clear_jump_is_certain_and_a_faint_one_is_not(void **state)
{
    (void)state;
    enum { ROWS = 32, COLUMNS = 64 };
    static uint32_t samples[ROWS * COLUMNS];
    static const struct {
        double hit, miss;
        unsigned width;
        double least, most;
    } rows[] = {{33, 280, 2, 1, 1}, {280, 282, 20, 0, 0.9}};
    for (size_t row = 0; row < FTH_COUNT(rows); row++) {
        struct fth_rng rng;
        fth_rng_init(&rng, 18);
        for (size_t i = 0; i < ROWS; i++)
            for (size_t j = 0; j < COLUMNS; j++)
                samples[i * COLUMNS + j] = (uint32_t)((i < 19 ? rows[row].hit : rows[row].miss) +
                                                      jitter(&rng, rows[row].width));
        struct fth_reduction reduction = {.kind = FTH_REDUCE_MEAN};
        struct fth_bootstrap options = {.min_part = 2, .repeats = 200, .seed = 42};
        struct fth_location location, again;
        for (int robust = 0; robust < 2; robust++) {
            options.robust = robust;
            assert_int_equal(
                fth_bootstrap_change(samples, ROWS, COLUMNS, &reduction, &options, &location, NULL),
                FTH_OK);
            assert_int_equal(
                fth_bootstrap_change(samples, ROWS, COLUMNS, &reduction, &options, &again, NULL),
                FTH_OK);
            assert_memory_equal(&location, &again, sizeof again);
            assert_true(rows[row].least <= location.confidence &&
                        location.confidence <= rows[row].most);
            assert_true(location.confidence <= location.within_one);
            assert_true(location.low <= location.high);
            if (rows[row].least == 1)
                assert_int_equal(location.index, 19);
        }
    }
}

static void intervals_hold_the_truth_as_often_as_they_say(void **state)
{
    (void)state;
    struct fth_rng rng;
    fth_rng_init(&rng, 19);
    size_t held[2] = {0};
    for (int round = 0; round < 400; round++) {
        double samples[60];
        for (size_t i = 0; i < 60; i++)
            samples[i] = 280 + 5 * normal(&rng);
        for (int statistic = 0; statistic < 2; statistic++) {
            struct fth_interval interval;
            assert_int_equal(fth_bootstrap_interval(samples, 60, (enum fth_statistic)statistic, 0.9,
                                                    300, (uint64_t)round, &interval, NULL),
                             FTH_OK);
            assert_true(interval.low <= interval.estimate && interval.estimate <= interval.high);
            held[statistic] += interval.low <= 280 && 280 <= interval.high;
            struct fth_summary summary;
            assert_int_equal(fth_summary_f64(samples, 60, &summary, NULL), FTH_OK);
            assert_near(interval.estimate,
                        statistic == FTH_STATISTIC_MEDIAN ? summary.median : summary.mean, 1e-9);
        }
    }
    assert_in_range(held[FTH_STATISTIC_MEAN], 340, 380); /* 360 expected */
    assert_in_range(held[FTH_STATISTIC_MEDIAN], 340, 385);
    static const double same[] = {7, 7, 7};
    struct fth_interval interval;
    assert_int_equal(
        fth_bootstrap_interval(same, 3, FTH_STATISTIC_MEDIAN, 0.95, 50, 1, &interval, NULL),
        FTH_OK);
    assert_true(interval.estimate == 7 && interval.low == 7 && interval.high == 7);
}

/* ---- period.c ---- */

static void periods_by_hand(void **state)
{
    (void)state;
    static const struct {
        const char *sequence;
        size_t max_period;
        double tolerance;
        bool periodic;
        size_t period;
    } rows[] = {
        {"hmmhmmhmmhmmhmm", 0, 0, true, 3},
        {"hmmhmmhmmhmmhmm", 2, 0, false, 1},
        {"abababababab", 0, 0, true, 2},
        {"aaaaaaaaaaaa", 0, 0, true, 1},
        {"aaabaaabaaabaaabaaabaaabaaab", 0, 0, true, 4},
        {"aaabaaabaaaaaaabaaabaaabaaab", 0, 0, false,
         12}, /* one is missing: 4 and 12 agree in part */
        {"aaabaaabaaaaaaabaaabaaabaaabaaab", 0, 0.4, true, 4},
        {"aabbab", 0, 0, false, 3},
        /* The chase of 13 words in a cache of 2 sets of 3 ways, 2 words a line: misses at the 1st,
         * 7th and 13th word of each round (Mei and Chu, figure 3). */
        {"mhhhhhmhhhhhmmhhhhhmhhhhhmmhhhhhmhhhhhm", 0, 0, true, 13},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        uint32_t sequence[64];
        size_t count = strlen(rows[i].sequence);
        for (size_t j = 0; j < count; j++)
            sequence[j] = (uint32_t)rows[i].sequence[j];
        struct fth_period period;
        assert_int_equal(
            fth_period_find(sequence, count, rows[i].max_period, rows[i].tolerance, &period, NULL),
            FTH_OK);
        if (period.periodic != rows[i].periodic ||
            (period.periodic && period.period != rows[i].period))
            fail_msg("%s: %zu, match %g", rows[i].sequence, period.period, period.match);
        assert_true(period.match <= 1 && period.confidence >= 0 && period.confidence <= 1);
        if (rows[i].tolerance == 0 && period.periodic)
            assert_near(period.match, 1, 0);
    }
}

/* Walks around `lines` lines in a set of `ways`, 1 where it misses. */
static void walk(struct fth_rng *rng, size_t ways, size_t lines, bool random, uint32_t *misses,
                 size_t count)
{
    size_t held[16], age[16] = {0};
    for (size_t i = 0; i < ways; i++)
        held[i] = i;
    for (size_t step = 0; step < count; step++) {
        size_t line = step % lines, way = 0, oldest = 0;
        while (way < ways && held[way] != line)
            way++;
        for (size_t i = 1; i < ways; i++)
            if (age[i] < age[oldest])
                oldest = i;
        misses[step] = way == ways;
        if (way == ways)
            way = random ? fth_rng_below(rng, ways) : oldest;
        held[way] = line;
        age[way] = step + 1;
    }
}

static void random_replacement_has_no_period(void **state)
{
    (void)state;
    struct fth_rng rng;
    fth_rng_init(&rng, 20);
    for (int round = 0; round < 200; round++) {
        size_t ways = 2 + fth_rng_below(&rng, 15), sets = 1 + fth_rng_below(&rng, 8);
        size_t lines = ways + 1, rounds = 20;
        /* One set overflows, the others hit: a round is a walk through all. */
        size_t around = lines + (sets - 1) * ways, count = around * rounds;
        uint32_t in_set[17 * 20], sequence[20 * (17 + 7 * 16)];
        for (int random = 0; random < 2; random++) {
            walk(&rng, ways, lines, random, in_set, lines * rounds);
            for (size_t i = 0; i < count; i++) {
                size_t place = i % around;
                bool overflown = place % sets == 0 && place / sets < lines;
                sequence[i] = overflown ? in_set[i / around * lines + place / sets] : 0;
            }
            size_t warm = around; /* the first round fills the cache */
            /* Without the others every access of an LRU set misses: no variety, period 1. */
            struct fth_period period;
            assert_int_equal(fth_period_find(sequence + warm, count - warm, 0, 0.05, &period, NULL),
                             FTH_OK);
            if (period.periodic == (bool)random)
                fail_msg("round %d: %zu ways, %zu sets, %s: period %zu, match %g", round, ways,
                         sets, random ? "random" : "LRU", period.period, period.match);
            if (!random && sets > 1) {
                assert_true(around % period.period == 0);
                assert_near(period.match, 1, 0);
                assert_true(period.confidence > 0.9);
            }
        }
    }
}

static void periods_against_the_definition(void **state)
{
    (void)state;
    struct fth_rng rng;
    fth_rng_init(&rng, 21);
    for (int round = 0; round < 3000; round++) {
        uint32_t sequence[60];
        size_t count = 2 + fth_rng_below(&rng, 58), true_period = 1 + fth_rng_below(&rng, 20);
        for (size_t i = 0; i < count; i++)
            sequence[i] =
                i < true_period ? (uint32_t)fth_rng_below(&rng, 3) : sequence[i - true_period];
        size_t expected = 0;
        for (size_t p = count / 2; p > 0; p--) {
            bool repeats = true;
            for (size_t i = p; i < count; i++)
                repeats = repeats && sequence[i] == sequence[i % p];
            expected = repeats ? p : expected;
        }
        struct fth_period period;
        assert_int_equal(fth_period_find(sequence, count, 0, 0, &period, NULL), FTH_OK);
        assert_int_equal(period.periodic, expected > 0);
        if (expected > 0)
            assert_int_equal(period.period, expected);
    }
}

/* ---- nearest.c ---- */

static void the_nearest_is_found(void **state)
{
    (void)state;
    /* L1 KiB, L2 latency, SMs; two runs of three GPUs. */
    static const double examples[] = {128, 193, 80,  128, 195, 80,  192, 261, 108,
                                      192, 263, 108, 256, 280, 132, NAN, 282, 132};
    static const size_t labels[] = {0, 0, 1, 1, 2, 2};
    static const struct {
        double features[3];
        size_t class, compared;
        double least_margin, most_margin;
    } rows[] = {
        {{128, 194, 80}, 0, 3, 0.99, 1},    {{192, 266, 108}, 1, 3, 0.8, 1},
        {{256, 300, 132}, 2, 3, 0.5, 1},    {{NAN, NAN, 132}, 2, 1, 1, 1},
        {{NAN, 271.5, NAN}, 1, 1, 0, 0.05}, {{500, 281, 132}, 2, 3, 0.1, 0.9},
    };
    struct fth_nearest *nearest = NULL;
    assert_int_equal(fth_nearest_fit(examples, labels, 6, 3, 3, &nearest, NULL), FTH_OK);
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_nearest_match match;
        assert_int_equal(fth_nearest_classify(nearest, rows[i].features, &match, NULL), FTH_OK);
        if (match.class != rows[i].class || match.compared != rows[i].compared ||
            match.margin < rows[i].least_margin || match.margin > rows[i].most_margin)
            fail_msg("row %zu: class %zu, margin %g", i, match.class, match.margin);
        assert_true(match.next_class != match.class && match.distance <= match.next_distance);
    }
    struct fth_nearest_match match;
    static const double nothing[] = {NAN, NAN, NAN};
    assert_int_equal(fth_nearest_classify(nearest, nothing, &match, NULL), FTH_INCONCLUSIVE);
    fth_nearest_destroy(nearest);
    fth_nearest_destroy(NULL);

    /* Two classes on a line, by hand: mean 20, deviation 10, so 12 is 0.2 and 1.8 units away. */
    static const double line[] = {10, 30};
    assert_int_equal(fth_nearest_fit(line, labels + 1, 2, 1, 2, &nearest, NULL), FTH_OK);
    assert_int_equal(fth_nearest_classify(nearest, (double[]){12}, &match, NULL), FTH_OK);
    assert_int_equal(match.class, 0);
    assert_near(match.distance, 0.2, 1e-12);
    assert_near(match.next_distance, 1.8, 1e-12);
    assert_near(match.margin, 0.8, 1e-12);
    fth_nearest_destroy(nearest);

    /* A single class: its distance is all there is. Its unit is a hundredth of its value. */
    assert_int_equal(fth_nearest_fit((double[]){200}, labels, 1, 1, 1, &nearest, NULL), FTH_OK);
    assert_int_equal(fth_nearest_classify(nearest, (double[]){206}, &match, NULL), FTH_OK);
    assert_near(match.distance, 3, 1e-12);
    assert_int_equal(match.next_class, 1);
    assert_true(isinf(match.next_distance) && match.margin == 1);
    fth_nearest_destroy(nearest);
}

/* ---- all ---- */

static void nothing_and_nonsense_are_refused(void **state)
{
    (void)state;
    double value = 1, nan = NAN, infinite = INFINITY, pair[] = {1, 2}, number;
    uint32_t whole[] = {1, 2};
    size_t label = 1;
    struct fth_summary summary;
    struct fth_clusters clusters;
    struct fth_threshold threshold;
    struct fth_mode mode;
    struct fth_change change;
    struct fth_changes changes;
    struct fth_ks ks;
    struct fth_reduction reduction = {.kind = FTH_REDUCE_MEAN};
    struct fth_bootstrap draws = {.min_part = 1, .repeats = 1};
    struct fth_location location;
    struct fth_interval interval;
    struct fth_period period;
    struct fth_nearest *nearest = NULL;
    struct fth_error error = NO_ERROR;
    const enum fth_status refused[] = {
        fth_summary_f64(&value, 0, &summary, &error),
        fth_summary_f64(&nan, 1, &summary, NULL),
        fth_summary_f64(&infinite, 1, &summary, NULL),
        fth_summary_u32(whole, 0, &summary, NULL),
        fth_quantile_f64(&value, 0, 0.5, &number, NULL),
        fth_quantile_f64(&value, 1, 1.5, &number, NULL),
        fth_quantile_f64(&value, 1, nan, &number, NULL),
        fth_trimmed_mean_f64(&value, 1, 0.5, &number, NULL),
        fth_trimmed_mean_f64(&value, 0, 0, &number, NULL),
        fth_mode_u32(whole, 0, &mode, NULL),
        fth_cluster_u32(whole, 0, NULL, &clusters, NULL),
        fth_cluster_f64(&nan, 1, NULL, &clusters, NULL),
        fth_cluster_f64(&value, 1, &(struct fth_cluster_options){.max_clusters = 13}, &clusters,
                        NULL),
        fth_cluster_f64(&value, 1, &(struct fth_cluster_options){.min_share = 0.5}, &clusters,
                        NULL),
        fth_cluster_f64(&value, 1, &(struct fth_cluster_options){.min_gap = -1}, &clusters, NULL),
        fth_threshold_u32(whole, 0, NULL, &threshold, NULL),
        fth_change_find(&value, 0, 1, &change, NULL),
        fth_change_find(&value, 1, 1, &change, NULL),
        fth_change_find(pair, 2, 0, &change, NULL),
        fth_change_find(pair, 2, SIZE_MAX, &change, NULL),
        fth_change_find_robust(pair, 2, 2, &change, NULL),
        fth_changes_find(&value, 0, 1, 1, &changes, NULL),
        fth_changes_find(pair, 2, 1, 0, &changes, NULL),
        fth_changes_find(pair, 2, 3, 1, &changes, NULL),
        fth_change_penalty(pair, 0, 1, &number, NULL),
        fth_change_penalty(pair, 2, 0, &number, NULL),
        fth_change_test(pair, 2, 0, 1, &ks, NULL),
        fth_change_test(pair, 2, 2, 1, &ks, NULL),
        fth_ks_test(pair, 0, pair, 2, &ks, NULL),
        fth_ks_test(pair, 2, &nan, 1, &ks, NULL),
        fth_ks_critical(1, 0, 0.05, &number, NULL),
        fth_ks_critical(9, 9, 0, &number, NULL),
        fth_reduction_geometric(whole, 0, 0, &reduction, NULL),
        fth_reduction_geometric(whole, 2, 0.5, &reduction, NULL),
        fth_reduce_u32(whole, 0, 2, &reduction, &number, NULL),
        fth_reduce_u32(whole, 1, 0, &reduction, &number, NULL),
        fth_bootstrap_change(whole, 0, 1, &reduction, &draws, &location, NULL),
        fth_bootstrap_change(whole, 1, 2, &reduction, &draws, &location, NULL),
        fth_bootstrap_change(whole, 2, 1, &reduction, &(struct fth_bootstrap){.min_part = 1},
                             &location, NULL),
        fth_bootstrap_interval(pair, 0, FTH_STATISTIC_MEAN, 0.9, 1, 1, &interval, NULL),
        fth_bootstrap_interval(pair, 2, FTH_STATISTIC_MEAN, 1, 1, 1, &interval, NULL),
        fth_bootstrap_interval(&nan, 1, FTH_STATISTIC_MEAN, 0.9, 1, 1, &interval, NULL),
        fth_period_find(whole, 0, 0, 0, &period, NULL),
        fth_period_find(whole, 1, 0, 0, &period, NULL),
        fth_period_find(whole, 2, 0, 1, &period, NULL),
        fth_nearest_fit(pair, &label, 0, 1, 2, &nearest, NULL),
        fth_nearest_fit(pair, &label, 1, 1, 1, &nearest, NULL),
        fth_nearest_fit(&infinite, &label, 1, 1, 2, &nearest, NULL),
    };
    for (size_t i = 0; i < FTH_COUNT(refused); i++)
        if (refused[i] != FTH_INVALID)
            fail_msg("%zu was taken: %d", i, refused[i]);
    assert_null(nearest);
    assert_string_equal(error.operation, "summarise samples");
    assert_string_equal(error.cause, "no values");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sorting_is_sorting),
        cmocka_unit_test(summaries_by_hand),
        cmocka_unit_test(quantiles_by_hand),
        cmocka_unit_test(medians_and_deviations_by_counting),
        cmocka_unit_test(plateaus_are_found),
        cmocka_unit_test(one_mode_is_one_plateau),
        cmocka_unit_test(bumps_are_several_where_the_valleys_are_empty),
        cmocka_unit_test(clusters_do_not_depend_on_order),
        cmocka_unit_test(hits_are_told_from_misses),
        cmocka_unit_test(the_best_split_is_found),
        cmocka_unit_test(the_best_robust_split_is_found),
        cmocka_unit_test(splits_by_hand),
        cmocka_unit_test(cache_sizes_are_found_through_the_noise),
        cmocka_unit_test(flat_series_have_no_change),
        cmocka_unit_test(the_best_partition_is_found),
        cmocka_unit_test(footprints_have_several_plateaus),
        cmocka_unit_test(a_hundred_thousand_points_take_no_time),
        cmocka_unit_test(small_samples_by_dealing_anew),
        cmocka_unit_test(critical_values_are_the_published_ones),
        cmocka_unit_test(the_limit_distribution_is_kolmogorovs),
        cmocka_unit_test(equal_samples_are_told_apart_as_often_as_alpha),
        cmocka_unit_test(rows_become_numbers),
        cmocka_unit_test(one_outlier_does_not_hide_the_jump),
        cmocka_unit_test(a_clear_jump_is_certain_and_a_faint_one_is_not),
        cmocka_unit_test(intervals_hold_the_truth_as_often_as_they_say),
        cmocka_unit_test(periods_by_hand),
        cmocka_unit_test(random_replacement_has_no_period),
        cmocka_unit_test(periods_against_the_definition),
        cmocka_unit_test(the_nearest_is_found),
        cmocka_unit_test(nothing_and_nonsense_are_refused),
    };
    return cmocka_run_group_tests_name("stats", tests, NULL, NULL);
}
