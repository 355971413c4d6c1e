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

static void quantiles_trimmed_means_and_modes_match_hand_computed_values(void **state)
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

/* Two-sided critical values of n D for two samples of n values each: F. J. Massey, "The
 * Distribution of the Maximum Deviation Between Two Sample Cumulative Step Functions", Annals of
 * Mathematical Statistics 22 (1951), as tabulated in S. Siegel, "Nonparametric Statistics" (1956),
 * table L. */
static void critical_values_match_published_tables(void **state)
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
        /* D is a multiple of 1/n. All limits between two adjacent multiples give the same test, so
         * they are rounded up to the next multiple. */
        if (ceil(n * at_05 - 1e-9) != rows[i].at_05 || ceil(n * at_01 - 1e-9) != rows[i].at_01)
            fail_msg("n = %zu: %g and %g", rows[i].n, n * at_05, n * at_01);
    }
    /* Large samples: 1.358 (5 %) and 1.628 (1 %) times the square root of (m + n) / (m n). */
    double critical;
    assert_int_equal(fth_ks_critical(4000, 6000, 0.05, &critical, NULL), FTH_OK);
    assert_near(critical, 1.358 * sqrt(10000.0 / 24e6), 2e-4);
    assert_int_equal(fth_ks_critical(4000, 6000, 0.01, &critical, NULL), FTH_OK);
    assert_near(critical, 1.628 * sqrt(10000.0 / 24e6), 2e-4);
    assert_int_equal(fth_ks_critical(2, 2, 0.05, &critical, NULL), FTH_OK);
    assert_true(isinf(critical));
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
        double root = sqrt(155.0);
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

static void clear_jumps_have_confidence_1_and_faint_jumps_less(void **state)
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

static void intervals_have_the_stated_coverage(void **state)
{
    (void)state;
    struct fth_rng rng;
    fth_rng_init(&rng, 19);
    size_t covered[2] = {0};
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
            covered[statistic] += interval.low <= 280 && 280 <= interval.high;
            struct fth_summary summary;
            assert_int_equal(fth_summary_f64(samples, 60, &summary, NULL), FTH_OK);
            assert_near(interval.estimate,
                        statistic == FTH_STATISTIC_MEDIAN ? summary.median : summary.mean, 1e-9);
        }
    }
    assert_in_range(covered[FTH_STATISTIC_MEAN], 340, 380); /* 360 expected */
    assert_in_range(covered[FTH_STATISTIC_MEDIAN], 340, 385);
    static const double same[] = {7, 7, 7};
    struct fth_interval interval;
    assert_int_equal(
        fth_bootstrap_interval(same, 3, FTH_STATISTIC_MEDIAN, 0.95, 50, 1, &interval, NULL),
        FTH_OK);
    assert_true(interval.estimate == 7 && interval.low == 7 && interval.high == 7);
}

/* ---- period.c ---- */

static void finds_the_periods_of_known_sequences(void **state)
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
        /* One b is missing: periods 4 and 12 agree at most positions, not at every one. */
        {"aaabaaabaaaaaaabaaabaaabaaab", 0, 0, false, 12},
        {"aaabaaabaaaaaaabaaabaaabaaabaaab", 0, 0.4, true, 4},
        {"aabbab", 0, 0, false, 3},
        /* A pointer chase over 13 words in a cache of 3 sets with 2 ways and 2 words per line
         * misses at the 1st, 7th and 13th word of each pass (Mei and Chu, figures 2 and 3). */
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

/* Reads `lines` lines cyclically from one set, `count` reads in total. misses[i] becomes 1 if read
 * i misses. The victim is chosen at random or is the least recently used line. */
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

static void lru_is_periodic_and_random_replacement_is_not(void **state)
{
    (void)state;
    struct fth_rng rng;
    fth_rng_init(&rng, 20);
    for (int round = 0; round < 200; round++) {
        size_t ways = 2 + fth_rng_below(&rng, 15), sets = 1 + fth_rng_below(&rng, 8);
        size_t lines = ways + 1, passes = 20;
        /* Set 0 has one line more than ways; the other sets are full and always hit. */
        size_t pass_length = lines + (sets - 1) * ways, count = pass_length * passes;
        uint32_t in_set[17 * 20], sequence[20 * (17 + 7 * 16)];
        for (int random = 0; random < 2; random++) {
            walk(&rng, ways, lines, random, in_set, lines * passes);
            for (size_t i = 0; i < count; i++) {
                size_t position = i % pass_length;
                bool overflows = position % sets == 0 && position / sets < lines;
                sequence[i] = overflows ? in_set[i / pass_length * lines + position / sets] : 0;
            }
            size_t warm = pass_length; /* the first pass fills the cache and is ignored */
            /* With a single set, every access misses under LRU: a constant sequence, period 1. */
            struct fth_period period;
            assert_int_equal(fth_period_find(sequence + warm, count - warm, 0, 0.05, &period, NULL),
                             FTH_OK);
            if (period.periodic == (bool)random)
                fail_msg("round %d: %zu ways, %zu sets, %s: period %zu, match %g", round, ways,
                         sets, random ? "random" : "LRU", period.period, period.match);
            if (!random && sets > 1) {
                assert_true(pass_length % period.period == 0);
                assert_near(period.match, 1, 0);
                assert_true(period.confidence > 0.9);
            }
        }
    }
}

static void exact_periods_agree_with_the_definition(void **state)
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

static void finds_the_nearest_class(void **state)
{
    (void)state;
    /* Two runs on each of three GPUs. Features: KiB of L1, L2 latency in cycles, number of SMs. */
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
    static const double all_unknown[] = {NAN, NAN, NAN};
    assert_int_equal(fth_nearest_classify(nearest, all_unknown, &match, NULL), FTH_INCONCLUSIVE);
    fth_nearest_destroy(nearest);
    fth_nearest_destroy(NULL);

    /* Two classes with one feature, computed by hand: the mean is 20 and the standard deviation 10,
     * so 12 is 0.2 units from one class and 1.8 units from the other. */
    static const double line[] = {10, 30};
    assert_int_equal(fth_nearest_fit(line, labels + 1, 2, 1, NULL, 2, &nearest, NULL), FTH_OK);
    assert_int_equal(fth_nearest_classify(nearest, (double[]){12}, &match, NULL), FTH_OK);
    assert_int_equal(match.class, 0);
    assert_near(match.distance, 0.2, 1e-12);
    assert_near(match.next_distance, 1.8, 1e-12);
    assert_near(match.margin, 0.8, 1e-12);
    fth_nearest_destroy(nearest);

    /* Two examples per class: the unit is the standard deviation within the classes,
     * sqrt((1 + 1 + 4 + 4) / 2). The weights are 3 and 1. The second feature is equal everywhere
     * and adds nothing, so the squared distance is three quarters of that of the first feature. */
    static const double twice[] = {9, 5, 11, 5, 28, 5, 32, 5};
    static const size_t pairs[] = {0, 0, 1, 1};
    assert_int_equal(fth_nearest_fit(twice, pairs, 4, 2, (double[]){3, 1}, 2, &nearest, NULL),
                     FTH_OK);
    assert_near(fth_nearest_distance(nearest, 0, (double[]){12, 5}, NULL), 2 / sqrt(5) * sqrt(0.75),
                1e-12);
    assert_near(fth_nearest_distance(nearest, 1, (double[]){12, NAN}, NULL), 18 / sqrt(5), 1e-12);
    fth_nearest_destroy(nearest);

    /* A single class with one example: the unit is its minimum, 0.05 % of the value. */
    assert_int_equal(fth_nearest_fit((double[]){200}, labels, 1, 1, NULL, 1, &nearest, NULL),
                     FTH_OK);
    assert_int_equal(fth_nearest_classify(nearest, (double[]){206}, &match, NULL), FTH_OK);
    assert_near(match.distance, 60, 1e-9);
    assert_int_equal(match.next_class, 1);
    assert_true(isinf(match.next_distance) && match.margin == 1);
    fth_nearest_destroy(nearest);
}

/* ---- invalid arguments of all functions ---- */

static void empty_and_invalid_arguments_are_refused(void **state)
{
    (void)state;
    double value = 1, nan = NAN, infinity = INFINITY, pair[] = {1, 2}, number;
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
        fth_summary_f64(&infinity, 1, &summary, NULL),
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
        fth_nearest_fit(&infinity, &label, 1, 1, NULL, 2, &nearest, NULL),
    };
    for (size_t i = 0; i < FTH_COUNT(refused); i++)
        if (refused[i] != FTH_INVALID)
            fail_msg("call %zu returned %d", i, refused[i]);
    assert_null(nearest);
    assert_string_equal(error.operation, "summarise samples");
    assert_string_equal(error.cause, "no values");
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clean_mean_excludes_disturbed_samples),
        cmocka_unit_test(sort_agrees_with_qsort),
        cmocka_unit_test(summaries_match_hand_computed_values),
        cmocka_unit_test(quantiles_trimmed_means_and_modes_match_hand_computed_values),
        cmocka_unit_test(median_and_mad_agree_with_counting),
        cmocka_unit_test(exact_p_values_agree_with_enumeration),
        cmocka_unit_test(critical_values_match_published_tables),
        cmocka_unit_test(limit_distribution_matches_smirnovs_table),
        cmocka_unit_test(ks_test_has_the_stated_false_positive_rate),
        cmocka_unit_test(clear_jumps_have_confidence_1_and_faint_jumps_less),
        cmocka_unit_test(intervals_have_the_stated_coverage),
        cmocka_unit_test(finds_the_periods_of_known_sequences),
        cmocka_unit_test(lru_is_periodic_and_random_replacement_is_not),
        cmocka_unit_test(exact_periods_agree_with_the_definition),
        cmocka_unit_test(finds_the_nearest_class),
        cmocka_unit_test(empty_and_invalid_arguments_are_refused),
    };
    return cmocka_run_group_tests_name("stats", tests, NULL, NULL);
}
