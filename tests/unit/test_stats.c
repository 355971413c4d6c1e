/* stats/: every method against numbers worked out by hand or published, and against a slow and
 * obvious way to get the same. Plateaus and jumps are in test_plateaus.c. */
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

static void medians_and_deviations_by_counting(void **state)
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
        double pool[11] = {0};
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

/* ---- bootstrap.c ---- */

static void a_clear_jump_is_certain_and_a_faint_one_is_not(void **state)
{
    (void)state;
    enum { ROWS = 32, COLUMNS = 64 };
    static uint32_t samples[ROWS * COLUMNS];
    static const struct {
        double hit, miss;
        unsigned width;
        double min, max;
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
        struct fth_change_location location, again;
        for (int robust = 0; robust < 2; robust++) {
            options.robust = robust;
            assert_int_equal(
                fth_bootstrap_change(samples, ROWS, COLUMNS, &reduction, &options, &location, NULL),
                FTH_OK);
            assert_int_equal(
                fth_bootstrap_change(samples, ROWS, COLUMNS, &reduction, &options, &again, NULL),
                FTH_OK);
            assert_memory_equal(&location, &again, sizeof again);
            assert_true(rows[row].min <= location.confidence &&
                        location.confidence <= rows[row].max);
            assert_true(location.confidence <= location.within_one);
            assert_true(location.low <= location.high);
            if (rows[row].min == 1)
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
        uint32_t sequence[64] = {0};
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
        uint32_t sequence[60] = {0};
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
        double min_margin, max_margin;
    } rows[] = {
        {{128, 194, 80}, 0, 3, 0.99, 1},    {{192, 266, 108}, 1, 3, 0.8, 1},
        {{256, 300, 132}, 2, 3, 0.5, 1},    {{NAN, NAN, 132}, 2, 1, 1, 1},
        {{NAN, 271.5, NAN}, 1, 1, 0, 0.05}, {{500, 281, 132}, 2, 3, 0.1, 0.9},
    };
    struct fth_nearest *nearest = NULL;
    assert_int_equal(fth_nearest_fit(examples, labels, 6, 3, NULL, 3, &nearest, NULL), FTH_OK);
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_nearest_match match;
        assert_int_equal(fth_nearest_classify(nearest, rows[i].features, &match, NULL), FTH_OK);
        if (match.class != rows[i].class || match.compared != rows[i].compared ||
            match.margin < rows[i].min_margin || match.margin > rows[i].max_margin)
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
    assert_int_equal(fth_nearest_fit(line, labels + 1, 2, 1, NULL, 2, &nearest, NULL), FTH_OK);
    assert_int_equal(fth_nearest_classify(nearest, (double[]){12}, &match, NULL), FTH_OK);
    assert_int_equal(match.class, 0);
    assert_near(match.distance, 0.2, 1e-12);
    assert_near(match.next_distance, 1.8, 1e-12);
    assert_near(match.margin, 0.8, 1e-12);
    fth_nearest_destroy(nearest);

    /* Two examples each: the deviation within the classes, sqrt((1 + 1 + 4 + 4) / 2), is the unit.
     * With weights 3 and 1, and the second feature alike everywhere, three quarters count. */
    static const double twice[] = {9, 5, 11, 5, 28, 5, 32, 5};
    static const size_t pairs[] = {0, 0, 1, 1};
    assert_int_equal(fth_nearest_fit(twice, pairs, 4, 2, (double[]){3, 1}, 2, &nearest, NULL),
                     FTH_OK);
    assert_near(fth_nearest_distance(nearest, 0, (double[]){12, 5}, NULL), 2 / sqrt(5) * sqrt(0.75),
                1e-12);
    assert_near(fth_nearest_distance(nearest, 1, (double[]){12, NAN}, NULL), 18 / sqrt(5), 1e-12);
    fth_nearest_destroy(nearest);

    /* A single class: its distance is all there is. Its unit is 0.05 % of its value. */
    assert_int_equal(fth_nearest_fit((double[]){200}, labels, 1, 1, NULL, 1, &nearest, NULL),
                     FTH_OK);
    assert_int_equal(fth_nearest_classify(nearest, (double[]){206}, &match, NULL), FTH_OK);
    assert_near(match.distance, 60, 1e-9);
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
    struct fth_changes changes = {NULL, 0};
    struct fth_ks ks;
    struct fth_reduction reduction = {.kind = FTH_REDUCE_MEAN};
    struct fth_bootstrap draws = {.min_part = 1, .repeats = 1};
    struct fth_change_location location;
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
        fth_nearest_fit(pair, &label, 0, 1, NULL, 2, &nearest, NULL),
        fth_nearest_fit(pair, &label, 1, 1, NULL, 1, &nearest, NULL),
        fth_nearest_fit(&infinite, &label, 1, 1, NULL, 2, &nearest, NULL),
    };
    for (size_t i = 0; i < FTH_COUNT(refused); i++)
        if (refused[i] != FTH_INVALID)
            fail_msg("%zu was taken: %d", i, refused[i]);
    assert_null(nearest);
    assert_string_equal(error.operation, "summarise samples");
    assert_string_equal(error.cause, "no values");
}

/* Up to three quarters of the samples may be longer, and by whatever they like. */
static void a_clean_mean_leaves_the_disturbed_out(void **state)
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
    /* 64 loads of 12 cycles and 11 around them, of which 61 % had one slow load or more. */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_clean_mean_leaves_the_disturbed_out),
        cmocka_unit_test(sorting_is_sorting),
        cmocka_unit_test(summaries_by_hand),
        cmocka_unit_test(quantiles_by_hand),
        cmocka_unit_test(medians_and_deviations_by_counting),
        cmocka_unit_test(small_samples_by_dealing_anew),
        cmocka_unit_test(critical_values_are_the_published_ones),
        cmocka_unit_test(the_limit_distribution_is_kolmogorovs),
        cmocka_unit_test(equal_samples_are_told_apart_as_often_as_alpha),
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
