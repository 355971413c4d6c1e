/* Tests of functions that decide from samples: chance (chance.c), outcomes of L2 accesses
 * (l2/l2_outcomes.c), choices of victims (structure/choice.c) and steps of TLBs (tlb/tlb_step.c).
 * The expected values were computed by hand or by an independent program. */
#include "check.h"
#include "probe/l2/probe_l2.h"
#include "probe/structure/probe_structure.h"
#include "probe/tlb/probe_tlb.h"

#include <math.h>

/* ---- chance ---- */

static void chance_explains_five_standard_deviations_and_one(void **state)
{
    (void)state;
    static const double rows[][2] = {{-1, 0}, {0, 0}, {1, 7}, {4, 15}, {100, 151}};
    for (size_t i = 0; i < FTH_COUNT(rows); i++)
        assert_true(fabs(fth_max_by_chance(rows[i][0]) - rows[i][1]) < 1e-12);
}

/* The values are those of the chi-squared distribution, approximated by Wilson and Hilferty. */
static void even_counts_have_a_high_p_value(void **state)
{
    (void)state;
    static const struct {
        uint64_t counts[4];
        size_t count;
        double p_value;
    } rows[] = {
        {{50, 50}, 2, 0.95051992299},
        {{60, 40}, 2, 0.0422584517092},
        {{10, 20, 30}, 3, 0.00551783467761},
        {{5, 95}, 2, 1.66107551362e-16},
        {{25, 25, 25, 25}, 4, 0.999665611354},
        {{30, 20, 25, 25}, 4, 0.573423299327},
        {{0, 10, 10, 12}, 4, 0.000397242389172},
        {{7}, 1, 1},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        uint64_t total = 0;
        for (size_t k = 0; k < rows[i].count; k++)
            total += rows[i].counts[k];
        const double found = fth_uniform_p_value(rows[i].counts, rows[i].count, total);
        if (!(fabs(found - rows[i].p_value) < 1e-9 + 1e-6 * rows[i].p_value))
            fail_msg("row %zu: %.12g", i, found);
    }
}

static void a_majority_is_more_than_half(void **state)
{
    (void)state;
    static const struct {
        unsigned counts[4], size, majority;
    } rows[] = {
        {{0, 3, 1, 1}, 4, 1}, {{0, 2, 2, 0}, 4, 0}, {{0, 1, 2, 0}, 4, 2}, {{0, 0, 0, 0}, 4, 0},
        {{0, 2, 1, 1}, 4, 0}, {{0, 0, 0, 1}, 4, 3}, {{0, 0, 0, 1}, 3, 0}, {{0, 1, 0, 0}, 2, 1},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++)
        assert_int_equal(fth_majority(rows[i].counts, rows[i].size), rows[i].majority);
}

static void distances_between_slow_hops_are_counted(void **state)
{
    (void)state;
    uint32_t cycles[] = {1, 1, 6, 6, 1, 5, 6, 9};
    const struct fth_samples walk = {.cycles = cycles, .count = FTH_COUNT(cycles)};
    unsigned counts[FTH_COUNT(cycles)] = {0};
    static const unsigned expected[FTH_COUNT(cycles)] = {0, 2, 1, 1};
    fth_count_distances(&walk, 5, counts);
    assert_memory_equal(counts, expected, sizeof counts);
}

/* Every fourth hop is slow: all resamples of the two distances agree. With one other distance among
 * three, some resamples do not. */
static void a_period_has_evidence(void **state)
{
    (void)state;
    uint32_t cycles[12] = {0};
    struct fth_decision period;
    cycles[0] = cycles[4] = cycles[8] = 9;
    assert_int_equal(fth_decide_period(cycles, 12, 5, &period, NULL), FTH_OK);
    assert_int_equal(period.value, 4);
    assert_true(period.evidence.repeats == 10 && period.evidence.agree == 10);
    cycles[10] = 9;
    assert_int_equal(fth_decide_period(cycles, 12, 5, &period, NULL), FTH_OK);
    assert_int_equal(period.value, 4);
    /* Two or three of three draws must be a 4: 20 of 27 on average. */
    assert_true(fth_evidence_share(period.evidence) > 0.65);
    assert_true(fth_evidence_share(period.evidence) < 0.83);
    cycles[4] = 0;
    assert_int_equal(fth_decide_period(cycles, 12, 5, &period, NULL), FTH_OK);
    assert_int_equal(period.value, 0);
    assert_true(period.evidence.agree == 0);
}

/* With many values, the interval of a mean follows from the standard deviation, which gives what
 * the bootstrap gives for as many values. */
static void the_mean_of_many_values_has_a_normal_interval(void **state)
{
    (void)state;
    enum { MANY = 2000 };
    double values[MANY];
    struct fth_interval normal = {0}, resampled = {0};
    for (size_t i = 0; i < MANY; i++)
        values[i] = 100 + (double)(i % 2 * 2); /* standard deviation 1 */
    assert_int_equal(fth_mean_interval(values, MANY, &normal, NULL), FTH_OK);
    assert_true(fabs(normal.estimate - (101)) < 1e-9);
    assert_true(fabs(normal.low - (101 - 1.645 / sqrt(MANY))) < 1e-4);
    assert_true(fabs(normal.high - (101 + 1.645 / sqrt(MANY))) < 1e-4);
    assert_int_equal(fth_bootstrap_interval(values, MANY, 0.9, 2000, 1, &resampled, NULL), FTH_OK);
    assert_true(fabs(normal.low - (resampled.low)) < 0.005);
    assert_true(fabs(normal.high - (resampled.high)) < 0.005);
    /* Few values are resampled: the limits are possible means of them. */
    assert_int_equal(fth_mean_interval(values, 4, &normal, NULL), FTH_OK);
    assert_true(fmod(2 * normal.low, 1) == 0 && fmod(2 * normal.high, 1) == 0);
    values[7] = NAN;
    assert_int_equal(fth_mean_interval(values, MANY, &normal, NULL), FTH_INVALID);
}

static void a_plateau_has_an_interval_and_a_confidence(void **state)
{
    (void)state;
    uint32_t cycles[10];
    struct fth_figure figure;
    for (size_t i = 0; i < 10; i++)
        cycles[i] = 100;
    assert_int_equal(fth_plateau_figure(cycles, 10, 6, &figure, NULL), FTH_OK);
    assert_true(figure.value == 94 && figure.low == 94 && figure.high == 94);
    assert_true(figure.samples == 10 && figure.confidence == 0.995);
    cycles[3] = 110; /* not in the core; the 95 % quantile is between the last two samples */
    assert_int_equal(fth_plateau_figure(cycles, 10, 6, &figure, NULL), FTH_OK);
    assert_true(figure.value == 94 && figure.low == 94 && fabs(figure.high - 99.5) < 1e-9);
    assert_true(figure.samples == 10 && figure.confidence == 0.995);
    for (size_t i = 0; i < 10; i++) /* all in the core: a mean of 101, and quantiles 100 and 102 */
        cycles[i] = i % 2 ? 102 : 100;
    assert_int_equal(fth_plateau_figure(cycles, 10, 1, &figure, NULL), FTH_OK);
    assert_true(figure.value == 100 && figure.low == 99 && figure.high == 101);
    assert_true(figure.confidence > 0.5 && figure.confidence < 0.9);
}

/* ---- outcomes ---- */

/* Returns outcomes of which `far` lines are far and `lost` lines come from memory. */
static struct fth_outcomes outcomes(size_t all, size_t far, size_t lost)
{
    return (struct fth_outcomes){
        .near_count = all - far - lost, .far_count = far, .memory_count = lost};
}

static void lines_need_a_clear_fall(void **state)
{
    (void)state;
    static const struct {
        size_t all, lost[3];
        uint64_t line;
    } rows[] = {
        {1000, {1000, 900, 900}, 0},
        {1000, {1000, 899, 0}, 32},
        {1000, {1000, 1000, 899}, 64},
        {1000, {1000, 900, 0}, 64},
        /* Of 20 lines, chance explains a fall by 0.3, and the next stride does not count. */
        {20, {20, 14, 0}, 0},
        {200, {200, 140, 0}, 32},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_outcomes all[3];
        for (size_t k = 0; k < 3; k++)
            all[k] = outcomes(rows[i].all, 0, rows[i].lost[k]);
        assert_int_equal(fth_decide_line(all, 3, 32).value, rows[i].line);
        assert_int_equal(fth_decide_line(all, 1, 32).value, 0);
    }
}

static void unlikely_lines_are_unknown(void **state)
{
    (void)state;
    static const struct {
        struct fth_decision line;
        uint64_t expected;
    } rows[] = {{{64, {100, 90, NULL, false}}, 64},
                {{64, {100, 67, NULL, false}}, 64},
                {{64, {100, 66, NULL, false}}, 0},
                {{128, {10, 2, NULL, false}}, 0},
                {{0, {0, 0, NULL, false}}, 0}};
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        const struct fth_decision found = fth_likely_line(rows[i].line);
        assert_int_equal(found.value, rows[i].expected);
        assert_true(found.evidence.agree == (rows[i].expected ? rows[i].line.evidence.agree : 0));
    }
}

static void sectors_and_partitions_have_limits(void **state)
{
    (void)state;
    static const struct {
        size_t lost; /* of 1000, at the second width */
        uint64_t sector;
    } widths[] = {{1000, 64}, {900, 64}, {899, 0}, {600, 0}, {599, 32}, {0, 32}};
    for (size_t i = 0; i < FTH_COUNT(widths); i++) {
        const struct fth_outcomes all[] = {outcomes(1000, 0, 1000),
                                           outcomes(1000, 0, widths[i].lost), outcomes(1000, 0, 0)};
        assert_int_equal(fth_decide_sector(all, 3, 16).value, widths[i].sector);
    }
    static const struct {
        size_t far; /* of 1000 */
        uint64_t partitions;
    } fars[] = {{0, 1}, {39, 1}, {40, 0}, {100, 0}, {101, 2}, {599, 2}, {600, 0}, {1000, 0}};
    for (size_t i = 0; i < FTH_COUNT(fars); i++) {
        const struct fth_outcomes all[] = {outcomes(1000, 0, 0), outcomes(1000, fars[i].far, 0),
                                           outcomes(1000, 0, 100)};
        assert_int_equal(fth_decide_partitions(all, 3).value, fars[i].partitions);
    }
}

static void footprints_have_limits(void **state)
{
    (void)state;
    static const struct {
        size_t lost[3], far[3]; /* of 1000 */
        unsigned which;
        uint64_t footprint;
    } rows[] = {
        /* Without noise at the first footprint, noise explains 3 lost lines of 1000, but not 4. */
        {{0, 3, 1000}, {0}, 0, 2},
        {{0, 4, 1000}, {0}, 0, 1},
        /* At the first footprint, it explains 19, but not 20; its rate is at most 1 %. */
        {{19, 19, 1000}, {0}, 0, 2},
        {{19, 20, 1000}, {0}, 0, 1},
        {{20, 0, 0}, {0}, 0, 0},
        {{0, 1000, 0}, {0}, 0, 1}, /* a later footprint without losses does not count */
        {{0, 0, 0}, {0}, 0, 3},
        /* Far lines stay in the L2, but not in the near partition. */
        {{0, 0, 0}, {0, 500, 0}, 0, 3},
        {{0, 0, 0}, {0, 500, 0}, FTH_FOOTPRINT_NEAR, 1},
        /* A full miss: fewer than 4 % are left from there on. */
        {{0, 961, 961}, {0}, FTH_FOOTPRINT_FULL_MISS, 2},
        {{0, 960, 961}, {0}, FTH_FOOTPRINT_FULL_MISS, 3},
        {{0, 961, 960}, {0}, FTH_FOOTPRINT_FULL_MISS, 0},
        {{1000, 1000, 1000}, {0}, FTH_FOOTPRINT_FULL_MISS, 0}, /* even at the smallest: undecided */
        {{0, 900, 900}, {0, 100, 61}, FTH_FOOTPRINT_FULL_MISS, 0},
        {{0, 900, 900}, {0, 61, 61}, FTH_FOOTPRINT_FULL_MISS | FTH_FOOTPRINT_NEAR, 2},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_outcomes all[3];
        for (size_t k = 0; k < 3; k++)
            all[k] = outcomes(1000, rows[i].far[k], rows[i].lost[k]);
        struct fth_decision decisions[FTH_FOOTPRINT_DECISIONS];
        fth_decide_footprints(all, 3, decisions);
        const uint64_t found = decisions[rows[i].which].value;
        if (found != rows[i].footprint)
            fail_msg("row %zu: %llu", i, (unsigned long long)found);
    }
}

/* ---- choices ---- */

/* In a set with two ways, the lines 0 to 2 arrive in turn; then the misses are counted. */
static void victims_are_counted_by_arrival_and_by_way(void **state)
{
    (void)state;
    static const uint32_t missed[] = {0, 1, 2, 0, 2, 2, 1};
    struct fth_choices choices = {.ways = 0};
    assert_int_equal(fth_choices_add(&choices, 2, missed, FTH_COUNT(missed), NULL), FTH_OK);
    assert_int_equal(choices.ways, 2);
    assert_int_equal(choices.by_arrival[0], 2);
    assert_int_equal(choices.by_arrival[1], 1);
    assert_int_equal(choices.by_way[0], 1);
    assert_int_equal(choices.by_way[1], 2);
    assert_int_equal(choices.lru_victims, 1);
    assert_int_equal(choices.replaced, 3);
    fth_choices_fini(&choices);
}

static void policies_cost_bits(void **state)
{
    (void)state;
    uint64_t by_arrival[] = {60, 30, 10, 0}, by_way[] = {25, 25, 25, 25};
    struct fth_choices choices = {
        .ways = 4, .by_arrival = by_arrival, .by_way = by_way, .lru_victims = 50, .replaced = 100};
    static const struct fth_choice_bits expected[] = {
        {"lru", 1.82570053131}, {"fifo", 1.63815487569},    {"lfu", 1.61818178167},
        {"random", 2},          {"weighted", 2.1328771238}, {"by arrival", 1.39511968708},
    };
    struct fth_choice_bits bits[FTH_CHOICE_POLICIES];
    assert_int_equal(fth_choices_compare(&choices, bits), FTH_COUNT(expected));
    for (size_t i = 0; i < FTH_COUNT(expected); i++) {
        assert_string_equal(bits[i].name, expected[i].name);
        if (!(fabs(bits[i].bits - expected[i].bits) < 1e-9))
            fail_msg("%s: %.12g", bits[i].name, bits[i].bits);
    }
    assert_int_equal(fth_choices_max_rank(&choices), 3);
    by_arrival[3] = 1;
    assert_int_equal(fth_choices_max_rank(&choices), 4);
    by_arrival[3] = by_arrival[2] = by_arrival[1] = 0;
    assert_int_equal(fth_choices_max_rank(&choices), 1);
    /* At least five replacements per way, and at least two ways. */
    choices.replaced = 20;
    assert_int_equal(fth_choices_compare(&choices, bits), FTH_CHOICE_POLICIES);
    choices.replaced = 19;
    assert_int_equal(fth_choices_compare(&choices, bits), 0);
    choices.replaced = 100;
    choices.ways = 1;
    assert_int_equal(fth_choices_compare(&choices, bits), 0);
    choices.ways = 2;
    assert_int_equal(fth_choices_compare(&choices, bits), FTH_CHOICE_POLICIES);
}

/* The policy clock: at least eight ways and five replacements per way, all victims among the oldest
 * quarter, and at most half of them least recently used. */
static void a_clock_evicts_old_lines_whether_they_are_used_or_not(void **state)
{
    (void)state;
    static const struct {
        uint64_t ways, by_arrival[12], lru_victims;
        bool clock;
    } rows[] = {
        {8, {30, 10}, 4, true}, {8, {30, 10}, 20, true},     {8, {30, 10}, 21, false},
        {8, {30, 9}, 4, false}, {8, {30, 10, 1}, 4, false},  {8, {40}, 0, true},
        {7, {35}, 0, false},    {12, {40, 15, 5}, 10, true}, {12, {40, 15, 4, 1}, 10, false},
        {8, {0, 40}, 0, true},  {8, {40}, 40, false},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        uint64_t by_arrival[12];
        struct fth_choices choices = {
            .ways = rows[i].ways, .by_arrival = by_arrival, .lru_victims = rows[i].lru_victims};
        for (size_t k = 0; k < FTH_COUNT(by_arrival); k++)
            choices.replaced += by_arrival[k] = rows[i].by_arrival[k];
        if (fth_choices_show_clock(&choices) != rows[i].clock)
            fail_msg("row %zu", i);
    }
}

/* ---- steps of TLBs ---- */

enum { LOADS = 10, PASSES = 5 };

/* A walk whose loads all have the same excess. */
struct made_walk {
    double excess[PASSES * LOADS], mean[LOADS];
    struct fth_page_walk walk;
};

static void make_walk(struct made_walk *made, double excess)
{
    for (size_t i = 0; i < (size_t)PASSES * LOADS; i++)
        made->excess[i] = made->mean[i % LOADS] = excess;
    made->walk = (struct fth_page_walk){
        .count = LOADS, .passes = PASSES, .excess = made->excess, .mean = made->mean};
}

/* The median absolute deviation from the mean of each position is 1; an outlier does not count. */
static void noise_comes_from_the_deviations(void **state)
{
    (void)state;
    double excess[] = {11, 19, 32, 9, 21, NAN}, mean[] = {10, 20, 30};
    const struct fth_page_walk walk = {.count = 3, .passes = 2, .excess = excess, .mean = mean};
    struct fth_page_noise noise;
    assert_int_equal(fth_page_noise(&walk, &noise, NULL), FTH_OK);
    assert_true(fabs(noise.load - 1.4826 * sqrt(1.2)) < 1e-12);
    assert_true(fabs(noise.mean - 1.4826 * sqrt(0.4)) < 1e-12);
}

static void a_step_is_a_group_of_slow_loads(void **state)
{
    (void)state;
    static const struct {
        double hit, noise; /* excess of all other loads; standard deviation of a load */
        double slow[3];    /* excess of three loads; NAN: as the others */
        double miss;       /* of the step; NAN: there is none */
    } rows[] = {
        {10, 0, {30, 30, NAN}, 30},
        {10, 0, {30, NAN, NAN}, NAN},
        {10, 0, {13, 13, 13}, NAN},
        {10, 0, {13.5, 13.5, 13.5}, 13.5},
        {100, 0, {108, 108, 108}, NAN},
        {100, 0, {108.5, 108.5, 108.5}, 108.5},
        {10, 1, {16, 16, 16}, NAN},
        {10, 1, {16.5, 16.5, 16.5}, 16.5},
        {10, 1, {14.9, 17, 17}, 17},
        {10, 1, {15.1, 16.5, 16.5}, 16.5},
        /* A gap of more than half of the distance to the hits separates groups. */
        {10, 0, {20, 24.9, 24.9}, 24.9},
        {10, 0, {20, 25.1, 25.1}, 25.1},
        {10, 0, {20, 20, 24.9}, 20},
        {10, 0, {20, 20, 90}, 20},
        {10, 0, {20, 21, 22}, 21},
        {10, 0, {20, 40, 90}, NAN},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct made_walk made;
        struct fth_tlb_step step = {0};
        bool found;
        const struct fth_page_noise noise = {.load = rows[i].noise, .mean = 10};
        make_walk(&made, rows[i].hit);
        for (size_t k = 0; k < 3; k++)
            if (!isnan(rows[i].slow[k]))
                made.excess[7 * k] = rows[i].slow[k];
        assert_int_equal(fth_tlb_step_find(&made.walk, rows[i].hit, &noise, &step, &found, NULL),
                         FTH_OK);
        if (found != !isnan(rows[i].miss))
            fail_msg("row %zu", i);
        if (found) {
            assert_true(step.hit_excess == rows[i].hit && step.miss_excess == rows[i].miss);
            assert_true(step.per_load);
            assert_true(fth_tlb_step_threshold(&step) == (rows[i].hit + rows[i].miss) / 2);
        }
    }
}

/* If single loads are too noisy, the means over the passes show the step. */
static void means_show_a_step_that_noise_hides(void **state)
{
    (void)state;
    static const struct {
        double noise, means[2]; /* standard deviation of a mean; two means, the others are 10 */
        double miss;
    } rows[] = {
        {1, {20, 20}, 20},  {1, {14, 14}, NAN},      {1, {14.5, 14.5}, 14.5},
        {0, {13, 13}, NAN}, {0, {13.5, 13.5}, 13.5}, {0, {20, 10}, NAN},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct made_walk made;
        struct fth_tlb_step step = {0};
        bool found;
        const struct fth_page_noise noise = {.load = 50, .mean = rows[i].noise};
        make_walk(&made, 10);
        made.mean[0] = rows[i].means[0];
        made.mean[9] = rows[i].means[1];
        assert_int_equal(fth_tlb_step_find(&made.walk, 10, &noise, &step, &found, NULL), FTH_OK);
        assert_int_equal(found, !isnan(rows[i].miss));
        if (found)
            assert_true(step.miss_excess == rows[i].miss && !step.per_load);
    }
}

/* Position 0 misses in 3 of 5 passes, 1 in 2 of 5, 2 in 2 of 4, 3 in 3 of 4; all others hit. */
static void misses_are_counted_by_position(void **state)
{
    (void)state;
    struct made_walk made;
    make_walk(&made, 10);
    static const unsigned times[] = {3, 2, 2, 3};
    for (size_t position = 0; position < 4; position++)
        for (size_t pass = 0; pass < PASSES; pass++)
            made.excess[pass * LOADS + position] = pass < times[position]      ? 30
                                                   : pass == 4 && position > 1 ? NAN
                                                                               : 20;
    made.mean[5] = 20;
    made.mean[6] = 20.1;
    struct fth_tlb_step step = {.hit_excess = 10, .miss_excess = 30, .per_load = true};
    static const bool missed[LOADS] = {true, false, false, true};
    for (uint64_t i = 0; i < LOADS; i++)
        assert_int_equal(fth_tlb_step_missed(&made.walk, &step, i), missed[i]);
    struct fth_page_misses misses = fth_tlb_step_count_misses(&made.walk, &step);
    assert_int_equal(misses.missed_pages, 2);
    assert_int_equal(misses.missed_loads, 10);
    assert_int_equal(misses.loads, 48);
    assert_int_equal(misses.inconsistent_loads, 2 + 2 + 2 + 1);
    step.per_load = false; /* the means count: only that of position 6 is above 20 */
    misses = fth_tlb_step_count_misses(&made.walk, &step);
    assert_int_equal(misses.missed_pages, 1);
    assert_int_equal(misses.missed_loads, 1);
    assert_int_equal(misses.loads, LOADS);
    assert_int_equal(misses.inconsistent_loads, 0);
}

static void misses_beyond_chance_overflow_a_tlb(void **state)
{
    (void)state;
    static const struct {
        double rate; /* of false misses */
        bool per_load;
        uint64_t pages, loads; /* missed, of 100 pages and 500 loads */
        bool overflows;
    } rows[] = {
        {0, true, 1, 2, false},    {0, true, 2, 2, true},     {0, true, 1, 3, true},
        {0, false, 1, 3, false},   {0, false, 2, 0, true},    {0.01, true, 1, 17, false},
        {0.01, true, 1, 18, true}, {0.01, true, 2, 0, true},  {0.01, false, 7, 500, false},
        {0.01, false, 8, 0, true}, {0.05, true, 2, 0, false}, {0.05, true, 3, 0, true},
        {0.1, true, 7, 0, false},  {0.1, true, 8, 0, true},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        const struct fth_tlb_step step = {.per_load = rows[i].per_load,
                                          .false_miss_rate = rows[i].rate};
        const struct fth_page_misses misses = {.missed_loads = rows[i].loads,
                                               .loads = 500,
                                               .missed_pages = rows[i].pages,
                                               .passes = 5};
        if (fth_tlb_step_overflows(&misses, 100, &step) != rows[i].overflows)
            fail_msg("row %zu", i);
    }
}

/* If different pages miss in each pass, the policy follows from the distances between misses: of
 * longer ones, of 1 member, of 2 members, and so on. */
static void random_policies_have_uniform_distances(void **state)
{
    (void)state;
    static const struct {
        uint64_t members, distances[4], entries;
        enum fth_tlb_policy expected;
    } rows[] = {
        {0, {0}, 48, FTH_TLB_NOT_PERIODIC},
        {2, {0, 100}, 48, FTH_TLB_NOT_PERIODIC},
        {3, {0, 5, 4}, 48, FTH_TLB_NOT_PERIODIC}, /* too few */
        {3, {0, 5, 5}, 48, FTH_TLB_RANDOM},
        {3, {1, 10, 10}, 48, FTH_TLB_RANDOM},
        {3, {2, 10, 10}, 48, FTH_TLB_NOT_PERIODIC}, /* too many longer ones */
        {4, {0, 20, 20, 20}, 48, FTH_TLB_RANDOM},
        {4, {0, 30, 30, 0}, 48, FTH_TLB_NOT_PERIODIC},
        {4, {0, 0, 30, 30}, 48, FTH_TLB_NOT_PERIODIC},
        /* p is about 0.001, 0.0006, 0.00002 and 0.000003. */
        {3, {0, 66, 34}, 48, FTH_TLB_RANDOM},
        {3, {0, 67, 33}, 48, FTH_TLB_POLICY_UNKNOWN},
        {3, {0, 29, 71}, 48, FTH_TLB_POLICY_UNKNOWN},
        {3, {0, 27, 73}, 48, FTH_TLB_NOT_PERIODIC},
        /* The inner levels have 16 entries, which is too many for a level of 47. */
        {3, {0, 10, 10}, 47, FTH_TLB_POLICY_UNKNOWN},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        uint64_t distances[4];
        memcpy(distances, rows[i].distances, sizeof distances);
        const struct fth_tlb_level level = {.entries = rows[i].entries};
        const struct fth_tlb_study study = {.level = &level,
                                            .inner_entries = 16,
                                            .distances = distances,
                                            .members = rows[i].members};
        struct fth_tlb_sets sets = {0};
        assert_int_equal(fth_tlb_find_policy(&study, &sets, NULL), FTH_OK);
        if (sets.policy != rows[i].expected)
            fail_msg("row %zu: policy %d", i, (int)sets.policy);
        uint64_t total = 0;
        for (size_t k = 1; k < rows[i].members; k++)
            total += distances[k];
        const double per_way =
            rows[i].members > 1 ? floor((double)total / ((double)rows[i].members - 1)) : 0;
        assert_true(sets.policy_evidence.repeats == (rows[i].entries < 48 ? 0 : per_way));
        assert_true(sets.policy_evidence.agree == sets.policy_evidence.repeats);
    }
}

/* ---- evictions ---- */

/* A cache of 8 lines in two sets, the even and the odd lines. A set is either full or has space. A
 * line that is ignored hides whether it was evicted. */
static void evictions_show_whether_a_set_is_full(void **state)
{
    (void)state;
    static const struct {
        struct {
            uint64_t line;
            uint32_t victims[4];
            size_t count;
        } first, second;
        bool whole_sets, ignores_line_2, explains;
    } rows[] = {
        {{8, {0}, 1}, {10, {4}, 1}, false, false, true},
        {{8, {0}, 0}, {10, {4}, 0}, false, false, true},
        {{8, {0}, 0}, {10, {4}, 1}, false, false, false},
        {{8, {0}, 1}, {10, {4}, 0}, false, false, false},
        {{8, {0}, 0}, {9, {1}, 1}, false, false, true}, /* another set */
        {{8, {0}, 0}, {10, {4}, 1}, false, true, true},
        {{8, {0}, 1}, {10, {1}, 1}, false, false, false}, /* the victim is in another set */
        {{8, {0, 2, 4, 6}, 4}, {10, {0, 2, 4, 6}, 4}, true, false, true},
        {{8, {0, 2, 4, 6}, 4}, {10, {0, 2, 4}, 3}, true, false, false},
        {{8, {0, 4, 6}, 3}, {10, {0, 4, 6}, 3}, true, true, true},
    };
    const struct fth_mapping mapping = {.kind = FTH_MAPPING_MOD, .modulus = 2};
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        uint32_t victims[2][4];
        bool ignored[8] = {[2] = rows[i].ignores_line_2}, explains = !rows[i].explains;
        memcpy(victims[0], rows[i].first.victims, sizeof victims[0]);
        memcpy(victims[1], rows[i].second.victims, sizeof victims[1]);
        struct fth_eviction first = {rows[i].first.line, victims[0], rows[i].first.count};
        const struct fth_eviction second = {rows[i].second.line, victims[1], rows[i].second.count};
        const struct fth_evictions evictions = {.fits = 8,
                                                .items = &first,
                                                .count = 1,
                                                .whole_sets = rows[i].whole_sets,
                                                .ignored = ignored};
        assert_int_equal(fth_mapping_explains(&mapping, &evictions, &second, &explains, NULL),
                         FTH_OK);
        if (explains != rows[i].explains)
            fail_msg("row %zu", i);
    }
}

/* ---- groups of loads ---- */

/* A group of hits is half of the loads that fit, a group of misses all of them. Both have 2 to 512
 * loads and only grow. After groups of misses, there are none of hits. */
static void groups_of_loads_grow(void **state)
{
    (void)state;
    static const struct {
        uint64_t before, count;
        double penalty; /* from earlier groups of misses */
        uint64_t hits, misses;
    } rows[] = {
        {1, 1, 0, 1, 1},         {1, 2, 0, 1, 2},          {1, 3, 0, 1, 3},
        {1, 4, 0, 2, 4},         {1, 5, 0, 2, 5},          {1, 300, 0, 150, 300},
        {1, 511, 0, 255, 511},   {1, 512, 0, 256, 512},    {1, 513, 0, 256, 512},
        {1, 1023, 0, 511, 512},  {1, 1024, 0, 512, 512},   {1, 1026, 0, 512, 512},
        {150, 300, 0, 150, 300}, {150, 302, 0, 151, 302},  {150, 150, 0, 150, 150},
        {150, 151, 0, 150, 151}, {150, 600, 30, 150, 512}, {512, 9000, 0, 512, 512},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_pages hits = {.group_loads = rows[i].before, .group_penalty = rows[i].penalty};
        struct fth_pages misses = hits;
        fth_pages_use_hit_groups(&hits, rows[i].count);
        assert_int_equal(hits.group_loads, rows[i].hits);
        assert_true(hits.group_penalty == rows[i].penalty);
        fth_pages_use_miss_groups(&misses, rows[i].count, 44);
        assert_int_equal(misses.group_loads, rows[i].misses);
        assert_true(misses.group_penalty ==
                    (rows[i].misses > rows[i].before ? 44 : rows[i].penalty));
    }
}

/* The baselines of single lines are discarded, and their mean is kept, without that of the first
 * line. Those of groups stay. */
static void larger_groups_replace_single_lines(void **state)
{
    (void)state;
    double baseline[] = {1000, 200, 210, 250};
    struct fth_pages pages = {
        .group_loads = 1, .baseline = baseline, .baseline_count = 4, .first_load_extra = 5};
    fth_pages_use_hit_groups(&pages, 8);
    assert_int_equal(pages.group_loads, 4);
    assert_int_equal(pages.single_lines, 4);
    assert_int_equal(pages.baseline_count, 0);
    assert_true(fabs(pages.first_load_extra - (5 + 220)) < 1e-9);
    pages.baseline_count = 3;
    fth_pages_use_miss_groups(&pages, 8, 60);
    assert_int_equal(pages.group_loads, 8);
    assert_int_equal(pages.single_lines, 4);
    assert_int_equal(pages.baseline_count, 3);
    assert_true(fabs(pages.first_load_extra - (5 + 220)) < 1e-9);
}

/* A walk has at most FTH_MAX_PAGE_SAMPLES samples. One pass of them may be lost. */
static void passes_are_limited_by_the_samples(void **state)
{
    (void)state;
    static const struct {
        uint64_t count;
        unsigned wanted, passes;
    } rows[] = {{1, 5, 5},    {5000, 5, 4},  {4666, 5, 5},  {4667, 5, 4},  {9333, 5, 2},
                {9334, 5, 1}, {14000, 5, 1}, {28000, 5, 1}, {28001, 5, 1}, {14000, 1, 1}};
    for (size_t i = 0; i < FTH_COUNT(rows); i++)
        assert_int_equal(fth_page_passes(rows[i].count, rows[i].wanted), rows[i].passes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_mean_of_many_values_has_a_normal_interval),
        cmocka_unit_test(chance_explains_five_standard_deviations_and_one),
        cmocka_unit_test(even_counts_have_a_high_p_value),
        cmocka_unit_test(a_majority_is_more_than_half),
        cmocka_unit_test(distances_between_slow_hops_are_counted),
        cmocka_unit_test(a_period_has_evidence),
        cmocka_unit_test(a_plateau_has_an_interval_and_a_confidence),
        cmocka_unit_test(lines_need_a_clear_fall),
        cmocka_unit_test(unlikely_lines_are_unknown),
        cmocka_unit_test(sectors_and_partitions_have_limits),
        cmocka_unit_test(footprints_have_limits),
        cmocka_unit_test(victims_are_counted_by_arrival_and_by_way),
        cmocka_unit_test(policies_cost_bits),
        cmocka_unit_test(a_clock_evicts_old_lines_whether_they_are_used_or_not),
        cmocka_unit_test(noise_comes_from_the_deviations),
        cmocka_unit_test(a_step_is_a_group_of_slow_loads),
        cmocka_unit_test(means_show_a_step_that_noise_hides),
        cmocka_unit_test(misses_are_counted_by_position),
        cmocka_unit_test(misses_beyond_chance_overflow_a_tlb),
        cmocka_unit_test(random_policies_have_uniform_distances),
        cmocka_unit_test(evictions_show_whether_a_set_is_full),
        cmocka_unit_test(groups_of_loads_grow),
        cmocka_unit_test(larger_groups_replace_single_lines),
        cmocka_unit_test(passes_are_limited_by_the_samples),
    };
    return cmocka_run_group_tests_name("decisions", tests, NULL, NULL);
}
