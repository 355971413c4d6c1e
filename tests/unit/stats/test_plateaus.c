/* Tests of stats/: plateaus (plateaus.c, valley.c) and change points (change.c).
 *
 * The input is thousands of seeded random series that resemble the latencies of a GPU, so the
 * levels and change points are known. Each optimum is compared with an exhaustive search. */
#include "check.h"
#include "noise.h"
#include "stats/stats.h"

#include <math.h>

/* ---- plateaus.c ---- */

/* One plateau of generated samples. */
struct plateau {
    double level;   /* cycles */
    unsigned width; /* uniform jitter of up to ±width cycles */
    double tail;    /* mean of an exponential part that is added, in cycles; 0: none */
    double share;   /* fraction of all samples */
};

/* Draws a sample from one of the plateaus, whose shares add up to 1. Returns the index of that
 * plateau. */
static size_t draw_sample(struct fth_rng *rng, const struct plateau *plateaus, uint32_t *sample)
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

static const struct generated {
    size_t count;
    struct plateau plateaus[6];
} generated[] = {
    {1, {{32, 5, 0, 1}}},
    {1, {{32, 0, 0, 1}}},
    {1, {{287, 37, 0, 1}}},
    {1, {{280, 5, 15, 1}}},
    {1, {{700, 120, 40, 1}}},
    {2, {{32, 5, 0, 0.5}, {280, 5, 0, 0.5}}},
    {2, {{32, 0, 0, 0.5}, {33 + 5, 0, 0, 0.5}}},
    {2, {{29, 1, 0, 0.5}, {39, 2, 0, 0.5}}},
    {2, {{32, 5, 0, 0.93}, {280, 5, 0, 0.07}}},
    {2, {{32, 5, 0, 0.07}, {280, 5, 0, 0.93}}},
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

/* Draws `count` samples. truth[i] gets the plateau of sample i. With `outliers`, one in 100 takes
 * ten times as long and belongs to no plateau (SIZE_MAX). */
static void draw_samples(struct fth_rng *rng, const struct generated *row, bool outliers,
                         uint32_t *samples, size_t *truth, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        truth[i] = draw_sample(rng, row->plateaus, &samples[i]);
        if (outliers && fth_rng_below(rng, 100) == 0) {
            samples[i] *= 10;
            truth[i] = SIZE_MAX;
        }
    }
}

/* Checks the figures of the plateaus, of which there are as many as were generated. */
static void check_plateaus(const struct fth_clusters *clusters, const struct generated *row,
                           size_t count)
{
    size_t accounted = clusters->outliers;
    for (size_t i = 0; i < clusters->count; i++) {
        const struct fth_cluster *cluster = &clusters->items[i];
        const struct plateau *plateau = &row->plateaus[i];
        accounted += cluster->count;
        assert_near(cluster->median, plateau->level + 0.7 * plateau->tail,
                    2 + 0.4 * plateau->width + 0.2 * plateau->tail);
        assert_near(cluster->share, plateau->share, 0.08);
        assert_true(cluster->min <= cluster->p05 && cluster->p05 <= cluster->median);
        assert_true(cluster->median <= cluster->p95 && cluster->p95 <= cluster->max);
        if (i > 0) {
            assert_true(clusters->items[i - 1].max <= clusters->thresholds[i - 1]);
            assert_true(clusters->thresholds[i - 1] < cluster->min);
        }
    }
    assert_int_equal(accounted, count);
}

static void plateaus_are_found(void **state)
{
    (void)state;
    struct fth_rng rng;
    fth_rng_init(&rng, 3);
    static uint32_t samples[4000];
    static size_t truth[4000];
    for (size_t row = 0; row < FTH_COUNT(generated); row++) {
        for (int round = 0; round < 120; round++) {
            size_t count = 800 + fth_rng_below(&rng, 3200), wrong = 0;
            draw_samples(&rng, &generated[row], round % 2, samples, truth, count);
            struct fth_clusters clusters;
            assert_int_equal(fth_cluster_u32(samples, count, NULL, &clusters, NULL), FTH_OK);
            if (clusters.count != generated[row].count)
                fail_msg("row %zu round %d: %zu plateaus of %zu samples", row, round,
                         clusters.count, count);
            check_plateaus(&clusters, &generated[row], count);
            for (size_t i = 0; i < count; i++)
                wrong += truth[i] != SIZE_MAX && fth_cluster_of(&clusters, samples[i]) != truth[i];
            assert_in_range(wrong, 0, count / 100); /* tails overlap the next plateau */
        }
    }
}

/* Samples of a single mode are one plateau, for five distributions and from 1 to 512 samples. At
 * most 6 of 400 sets may be split by chance. */
static void does_not_split_a_single_mode(void **state)
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
                fail_msg("shape %d: %zu of 400 sets of %zu samples were split", shape, split,
                         counts[at]);
        }
    }
}

/* Three modes around 257.5, 287.5 and 317.5 cycles. They are three plateaus if the intervals
 * between them are empty, and one plateau if they overlap. Every random draw gives the same
 * result. */
static void splits_modes_only_at_empty_valleys(void **state)
{
    (void)state;
    static const struct {
        unsigned width;
        double normal;
        size_t plateaus;
    } rows[] = {{0, 0, 3}, {4, 0, 3}, {7, 0, 3}, {11, 0, 1}, {15, 0, 1}, {0, 4, 3}, {0, 9, 1}};
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

/* The same samples with and without a large number added, as times of a clock have. */
static void plateaus_far_from_zero_are_found(void **state)
{
    (void)state;
    static const double origins[] = {0, 1e9};
    const struct fth_cluster_options options = {.min_gap_relative = 1e-9};
    for (size_t at = 0; at < FTH_COUNT(origins); at++) {
        struct fth_rng rng;
        fth_rng_init(&rng, 9);
        double samples[600];
        for (size_t i = 0; i < FTH_COUNT(samples); i++)
            samples[i] = origins[at] + (double)(i % 3) * 30 + jitter(&rng, 3);
        struct fth_clusters clusters;
        assert_int_equal(fth_cluster_f64(samples, 600, &options, &clusters, NULL), FTH_OK);
        assert_int_equal(clusters.count, 3);
        for (size_t i = 0; i < 3; i++) {
            assert_int_equal(clusters.items[i].count, 200);
            assert_near(clusters.items[i].median, origins[at] + (double)i * 30, 1);
        }
    }
}

/* Two levels without noise, of `count` samples each. They are separate if the gap is at least the
 * minimum: 2 cycles, or 2 % of the lower level. A level without noise counts as 1 cycle wide, half
 * the minimum gap. Small groups need a wider gap: of 6 samples, 0.5 + (8 / 6)² = 2.28 times the
 * width. */
static void levels_are_separate_from_the_minimum_gap_on(void **state)
{
    (void)state;
    static const struct {
        size_t count;
        double low, high;
        size_t plateaus;
    } rows[] = {{100, 32, 33, 1},     {100, 32, 33.9, 1}, {100, 32, 34, 2},  {100, 200, 203, 1},
                {100, 200, 203.9, 1}, {100, 200, 204, 2}, {6, 32, 34.27, 1}, {6, 32, 34.28, 2}};
    for (size_t row = 0; row < FTH_COUNT(rows); row++) {
        double samples[200];
        for (size_t i = 0; i < 2 * rows[row].count; i++)
            samples[i] = i % 2 ? rows[row].low : rows[row].high;
        struct fth_clusters clusters;
        assert_int_equal(fth_cluster_f64(samples, 2 * rows[row].count, NULL, &clusters, NULL),
                         FTH_OK);
        if (clusters.count != rows[row].plateaus)
            fail_msg("row %zu: %zu plateaus", row, clusters.count);
        if (clusters.count == 2)
            assert_near(clusters.thresholds[0], (rows[row].low + rows[row].high) / 2, 1e-12);
    }
}

/* Two groups of evenly spaced samples over 20 cycles, mostly 40, and stray samples in the middle
 * half of the gap between them, the same number in each group. With 4 of them, a group has 42
 * samples, of which the central 90 % are 18.92 cycles wide, and the gap g is 0.05 cycles wider than
 * that of the even samples. 42 / 18.92 * g / 2 samples would have the density of the groups. The
 * groups are separate if the strays and a margin of 2 are at most half of that, so from g = 10.81
 * on. If one group has 21 samples, one of them stray, its density counts, and the gap is 0.51
 * cycles wider than that of the even samples: 21 / 18.95 * g / 4 must be at least 4, so g at
 * least 14.44. The last rows have stray samples outside of the middle half, which do not count: two
 * are left, which are too few. */
static void stray_samples_between_levels_join_them(void **state)
{
    (void)state;
    static const struct {
        double gap;
        size_t strays, plateaus;
        int low, high;      /* samples of the groups */
        double left, right; /* where the strays are, as fractions of the gap; 0: 0.35 and 0.65 */
    } rows[] = {{10.7, 4, 1, 40, 40, 0, 0},       {10.8, 4, 2, 40, 40, 0, 0},
                {10.5, 4, 1, 40, 40, 0, 0},       {10.5, 2, 2, 40, 40, 0, 0},
                {10.5, 0, 2, 40, 40, 0, 0},       {13.8, 2, 1, 20, 40, 0, 0},
                {13.8, 2, 1, 40, 20, 0, 0},       {14.1, 2, 2, 20, 40, 0, 0},
                {14.1, 2, 2, 40, 20, 0, 0},       {10.5, 4, 1, 40, 40, 0.27, 0.73},
                {10.5, 4, 2, 40, 40, 0.22, 0.73}, {10.5, 4, 2, 40, 40, 0.27, 0.78}};
    const struct fth_cluster_options options = {.min_gap_relative = 1e-4};
    for (size_t row = 0; row < FTH_COUNT(rows); row++) {
        const double gap = rows[row].gap;
        double samples[100];
        size_t count = 0;
        for (int i = 0; i < rows[row].low; i++)
            samples[count++] = 1000 + 20.0 * i / (rows[row].low - 1);
        for (int i = 0; i < rows[row].high; i++)
            samples[count++] = 1020 + gap + 20.0 * i / (rows[row].high - 1);
        const double left = rows[row].left > 0 ? rows[row].left : 0.35;
        const double right = rows[row].right > 0 ? rows[row].right : 0.65;
        for (size_t i = 0; i < rows[row].strays; i++)
            samples[count++] = 1020 + gap * (i % 2 ? left : right);
        struct fth_clusters clusters;
        assert_int_equal(fth_cluster_f64(samples, count, &options, &clusters, NULL), FTH_OK);
        if (clusters.count != rows[row].plateaus)
            fail_msg("row %zu: %zu plateaus", row, clusters.count);
    }
}

/* The fence is above the highest samples that can be a plateau: those of 100 samples are at least
 * 0.02 * 100 + 2 * sqrt(2), so 5, and never fewer than 4. It is half of their value higher, or as
 * much as they differ from the lowest sample. */
static void the_fence_follows_from_the_highest_plateau(void **state)
{
    (void)state;
    static const struct {
        size_t count, highest; /* samples, and how many of them have the value `high` */
        double low, other, high, min_share, fence;
    } rows[] = {
        {100, 100, 100, 100, 100, 0, 150},  {100, 5, 100, 100, 130, 0, 195},
        {100, 4, 100, 100, 130, 0, 150},    {100, 50, 40, 40, 100, 0, 160},
        {100, 50, 60, 60, 100, 0, 150},     {100, 100, -100, -100, -100, 0, -50},
        {100, 29, 100, 100, 110, 0.2, 165}, {100, 28, 100, 100, 110, 0.2, 150},
        {4, 1, 10, 20, 40, 0, 15},          {5, 3, 10, 20, 40, 0, 30},
        {5, 4, 10, 20, 40, 0, 70},
    };
    for (size_t row = 0; row < FTH_COUNT(rows); row++) {
        double samples[100];
        const size_t count = rows[row].count;
        for (size_t i = 0; i < count; i++)
            samples[i] = i >= count - rows[row].highest ? rows[row].high
                         : i == 0                       ? rows[row].low
                                                        : rows[row].other;
        const struct fth_cluster_options options = {.min_share = rows[row].min_share};
        struct fth_clusters clusters;
        assert_int_equal(fth_cluster_f64(samples, count, &options, &clusters, NULL), FTH_OK);
        size_t outliers = 0;
        for (size_t i = 0; i < count; i++)
            outliers += samples[i] > rows[row].fence;
        if (fabs(clusters.fence - rows[row].fence) > 1e-9 || clusters.outliers != outliers)
            fail_msg("row %zu: fence %g, %zu outliers", row, clusters.fence, clusters.outliers);
    }
}

/* A sample above the fence belongs to no plateau; a sample at a threshold belongs to the lower one.
 */
static void samples_belong_to_a_plateau_or_to_none(void **state)
{
    (void)state;
    double samples[201];
    for (size_t i = 0; i < 200; i++)
        samples[i] = i % 2 ? 32 : 280;
    samples[200] = 5000;
    struct fth_clusters clusters;
    assert_int_equal(fth_cluster_f64(samples, 201, NULL, &clusters, NULL), FTH_OK);
    assert_int_equal(clusters.count, 2);
    assert_int_equal(clusters.outliers, 1);
    assert_near(clusters.fence, 280 + 248, 1e-12);
    assert_int_equal(fth_cluster_of(&clusters, 0), 0);
    assert_int_equal(fth_cluster_of(&clusters, clusters.thresholds[0]), 0);
    assert_int_equal(fth_cluster_of(&clusters, clusters.thresholds[0] + 1), 1);
    assert_int_equal(fth_cluster_of(&clusters, clusters.fence), 1);
    assert_int_equal(fth_cluster_of(&clusters, clusters.fence + 1), 2);
}

/* ---- change.c ---- */

/* Sum of squared deviations from the mean of series[from] … series[to - 1]. */
static double slow_cost(const double *series, size_t from, size_t to)
{
    double mean = 0, cost = 0;
    for (size_t i = from; i < to; i++)
        mean += series[i] / (double)(to - from);
    for (size_t i = from; i < to; i++)
        cost += (series[i] - mean) * (series[i] - mean);
    return cost;
}

/* The minimum cost of all possible partitions, by exhaustive search. */
static double slow_partition(const double *series, size_t count, size_t min_part, double penalty)
{
    double min = INFINITY;
    for (unsigned cuts = 0; cuts < (1u << count) / 2; cuts++) {
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
        if (allowed && sum < min)
            min = sum;
    }
    return min;
}

static void finds_the_optimal_partition(void **state)
{
    (void)state;
    struct fth_rng rng;
    fth_rng_init(&rng, 11);
    for (int round = 0; round < 1000; round++) {
        double series[12] = {0};
        size_t min_part = 1 + fth_rng_below(&rng, 3);
        size_t count = min_part + fth_rng_below(&rng, 13 - min_part);
        double level = 100;
        for (size_t i = 0; i < count; i++) {
            level += fth_rng_below(&rng, 4) == 0 ? 4 * normal(&rng) : 0;
            series[i] = level + normal(&rng);
        }
        double penalty = 0.1 + 8 * fth_rng_unit(&rng);
        struct fth_changes changes = {NULL, 0};
        assert_int_equal(fth_changes_find(series, count, min_part, penalty, &changes, NULL),
                         FTH_OK);
        double sum = penalty * (double)changes.count;
        size_t from = 0;
        for (size_t i = 0; i <= changes.count; i++) {
            size_t to = i < changes.count ? changes.indices[i] : count;
            assert_true(to - from >= min_part);
            sum += slow_cost(series, from, to);
            from = to;
        }
        assert_near(sum, slow_partition(series, count, min_part, penalty), 1e-8);
        fth_changes_fini(&changes);
    }
}

static void finds_all_changes_between_plateaus(void **state)
{
    (void)state;
    static const double levels[] = {33, 280, 465, 735};
    struct fth_rng rng;
    fth_rng_init(&rng, 12);
    size_t wrong_counts = 0;
    for (int round = 0; round < 500; round++) {
        double series[400] = {0};
        size_t jumps[4] = {0}, count = 0, plateaus = 2 + fth_rng_below(&rng, 3);
        for (size_t i = 0; i < plateaus; i++) {
            jumps[i] = count;
            for (size_t end = count + 20 + fth_rng_below(&rng, 70); count < end; count++)
                series[count] = levels[i] + (round % 3 ? jitter(&rng, 2) : 0);
        }
        double penalty = 0;
        struct fth_changes changes = {NULL, 0};
        assert_int_equal(fth_change_penalty(series, count, 1, &penalty, NULL), FTH_OK);
        assert_int_equal(fth_changes_find(series, count, 2, penalty, &changes, NULL), FTH_OK);
        if (changes.count != plateaus - 1) {
            wrong_counts++;
            fth_changes_fini(&changes);
            continue;
        }
        for (size_t i = 0; i < changes.count && i + 1 < FTH_COUNT(levels); i++)
            assert_int_equal(changes.indices[i], jumps[i + 1]);
        fth_changes_fini(&changes);
    }
    assert_in_range(wrong_counts, 0, 5); /* at most 1 % of the series */
}

/* About 3 % of flat series appear to have a change, and about 1 % of those with 25 values or more.
 * The limits leave a margin for chance: 45 and 20 of 1000 series. */
static void finds_no_changes_in_flat_series(void **state)
{
    (void)state;
    static const size_t counts[] = {6, 12, 25, 50, 100, 200};
    struct fth_rng rng;
    fth_rng_init(&rng, 23);
    for (size_t at = 0; at < FTH_COUNT(counts); at++) {
        for (int shape = 0; shape < 3; shape++) {
            size_t alarms = 0;
            for (int round = 0; round < 1000; round++) {
                double series[200] = {0}, penalty = 0;
                for (size_t i = 0; i < counts[at]; i++)
                    series[i] = 280 + (shape == 0   ? 5 * normal(&rng)
                                       : shape == 1 ? jitter(&rng, 2)
                                                    : jitter(&rng, 10));
                struct fth_changes changes = {NULL, 0};
                assert_int_equal(fth_change_penalty(series, counts[at], 1, &penalty, NULL), FTH_OK);
                assert_int_equal(fth_changes_find(series, counts[at], 2, penalty, &changes, NULL),
                                 FTH_OK);
                alarms += changes.count > 0;
                fth_changes_fini(&changes);
            }
            if (alarms > (counts[at] < 25 ? 45 : 20))
                fail_msg("shape %d: %zu of 1000 series of %zu have a change", shape, alarms,
                         counts[at]);
        }
    }
}

/* Two wide modes that touch each other, like the latencies of near and far memory of an H200; the
 * second has a tail. A single wide mode is not split. */
static void splits_touching_modes_at_the_valley(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 50; seed++) {
        struct fth_rng rng;
        uint32_t samples[4000];
        fth_rng_init(&rng, seed);
        for (size_t i = 0; i < 4000; i++)
            samples[i] =
                (uint32_t)(i % 2 ? 590 + 20 * normal(&rng)
                                 : 760 + 25 * normal(&rng) + (i % 8 ? 0 : 100 * exponential(&rng)));
        struct fth_clusters modes;
        assert_int_equal(fth_modes_u32(samples, 4000, 0.1, &modes, NULL), FTH_OK);
        assert_int_equal(modes.count, 2);
        assert_true(fabs(modes.items[0].median - 590) < 5 &&
                    fabs(modes.items[1].median - 765) < 15);
        assert_true(modes.thresholds[0] > 630 && modes.thresholds[0] < 720);
        assert_int_equal(fth_cluster_of(&modes, 600), 0);
        assert_int_equal(fth_cluster_of(&modes, 5000), 1);
        for (size_t i = 0; i < 4000; i++)
            samples[i] = (uint32_t)(590 + 20 * normal(&rng));
        assert_int_equal(fth_modes_u32(samples, 4000, 0.1, &modes, NULL), FTH_OK);
        assert_int_equal(modes.count, 1);
    }
    assert_int_equal(fth_modes_u32(NULL, 0, 0.1, &(struct fth_clusters){0}, NULL), FTH_INVALID);
}

/* The result has a finer resolution than the samples, and outliers do not change it. */
static void core_mean_ignores_outliers_and_resolves_fractions(void **state)
{
    (void)state;
    static const uint32_t mixed[] = {551, 552, 552, 551, 552, 552, 552, 551, 552, 552, 5520, 9};
    double mean = 0;
    assert_int_equal(fth_core_mean_u32(mixed, 12, &mean, NULL), FTH_OK);
    assert_true(fabs(mean - 551.7) < 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(splits_touching_modes_at_the_valley),
        cmocka_unit_test(core_mean_ignores_outliers_and_resolves_fractions),
        cmocka_unit_test(plateaus_are_found),
        cmocka_unit_test(does_not_split_a_single_mode),
        cmocka_unit_test(splits_modes_only_at_empty_valleys),
        cmocka_unit_test(clusters_do_not_depend_on_order),
        cmocka_unit_test(plateaus_far_from_zero_are_found),
        cmocka_unit_test(levels_are_separate_from_the_minimum_gap_on),
        cmocka_unit_test(stray_samples_between_levels_join_them),
        cmocka_unit_test(the_fence_follows_from_the_highest_plateau),
        cmocka_unit_test(samples_belong_to_a_plateau_or_to_none),
        cmocka_unit_test(finds_the_optimal_partition),
        cmocka_unit_test(finds_all_changes_between_plateaus),
        cmocka_unit_test(finds_no_changes_in_flat_series),
    };
    return cmocka_run_group_tests_name("plateaus", tests, NULL, NULL);
}
