/* Tests the walks over a chain of pages (probe/tlb/pages.c) on a device whose cycles are given by a
 * formula: which requests they make, and the baselines and excesses that follow from the answers.
 * Also tests the penalty of a level (tlb_penalty.c) and the latency spectrum (spectrum.c). */
#include "check.h"
#include "probe/tlb/probe_tlb.h"
#include "requests.h"

#include <math.h>
#include <stdlib.h>

enum { STRIDE = 4096 };

/* A load at position p takes 100 + p cycles and, in the first timed pass of a step, 50 more. In a
 * walk that was warmed up twice, position 4 takes 30 more, and 1000 more in the second pass. */
struct fake {
    struct fth_buffer requests; /* their texts, one per line */
    uint64_t max_count;         /* longer chains do not fit into memory */
    uint64_t misses;            /* loads after the first one of a walk that take 30 more cycles */
};

static uint32_t cycles_at(uint64_t position, uint64_t pass, bool walked)
{
    const uint64_t extra = !walked || position != 4 ? 0 : pass == 2 ? 1000 : 30;
    return (uint32_t)(100 + position + (pass == 0 ? 50 : 0) + extra);
}

/* Appends the cycles of a timed step. */
static void time_step(const struct fake *fake, const struct fth_step *step, bool walked,
                      struct fth_samples *samples)
{
    const uint64_t first = step->chain.start_bytes / step->chain.stride_bytes;
    for (uint64_t pass = 0; pass < step->passes; pass++)
        for (uint64_t hop = 0; hop < step->chain.count; hop++) {
            const uint64_t position = first + (step->reverse ? step->chain.count - 1 - hop : hop);
            const bool misses = step->chain.count > 1 && position && position <= fake->misses;
            samples->cycles[samples->count++] =
                cycles_at(position, pass, walked) + (misses ? 30 : 0);
        }
}

static enum fth_status measure(void *state, const struct fth_request *requests, size_t count,
                               struct fth_samples *samples, struct fth_error *error)
{
    struct fake *fake = state;
    for (size_t i = 0; i < count; i++) {
        const struct fth_chase *chase = &requests[i].chase;
        fth_buffer_format(&fake->requests, "%s\n", request_text(&requests[i]));
        assert_true(requests[i].alone && requests[i].sm == 0);
        const struct fth_chain *chain = &chase->steps[0].chain;
        if (chain->start_bytes / chain->stride_bytes + chain->count > fake->max_count)
            return fth_fail(error, FTH_INCONCLUSIVE, "measure", NULL, "too little memory");
        samples[i] = (struct fth_samples){.clock_mhz = 1000,
                                          .cycles = calloc(1000, sizeof *samples[i].cycles)};
        for (size_t k = 0; k < chase->step_count; k++) {
            if (chase->steps[k].kind == FTH_STEP_TIME_HOPS)
                time_step(fake, &chase->steps[k], chase->steps[0].passes == 2, &samples[i]);
            else if (chase->steps[k].kind == FTH_STEP_TIME_PASS)
                samples[i].cycles[samples[i].count++] = 1;
        }
    }
    return FTH_OK;
}

static const struct fth_device_ops ops = {.measure = measure};

static void expect_requests(struct fake *fake, const char *expected)
{
    assert_string_equal(fake->requests.data ? fake->requests.data : "", expected);
    fth_buffer_fini(&fake->requests);
}

static void chains_are_shortened(void **state)
{
    (void)state;
    struct fake fake = {.max_count = 15};
    struct fth_device device = {.ops = &ops, .state = &fake, .id = "fake"};
    const struct fth_prober prober = {.device = &device, .sms = 1};
    struct fth_pages pages;
    assert_int_equal(fth_pages_open(&prober, STRIDE, 20, &pages, NULL), FTH_OK);
    assert_int_equal(pages.max_loads, 14); /* 20, 20 - 2 - 1, 17 - 2 - 1 */
    fth_pages_close(&pages);
    fth_buffer_fini(&fake.requests);
    struct fth_error error = NO_ERROR;
    fake.max_count = 3;
    assert_int_equal(fth_pages_open(&prober, STRIDE, 5, &pages, &error), FTH_INCONCLUSIVE);
    assert_string_equal(error.cause, "too little device memory");
    fth_pages_close(&pages);
    fth_buffer_fini(&fake.requests);
    assert_int_equal(fth_pages_open(&prober, STRIDE, 3, &pages, NULL), FTH_INCONCLUSIVE);
    fth_pages_close(&pages);
    expect_requests(&fake, "");
}

/* Opens a chain of 10 loads: a request loads its last element. Forgets the request. */
static void open_pages(struct fake *fake, const struct fth_prober *prober, struct fth_pages *pages)
{
    assert_int_equal(fth_pages_open(prober, STRIDE, 10, pages, NULL), FTH_OK);
    expect_requests(fake, "time-pass cg 8+36864:4096x1; sm 0; alone\n");
}

/* Walks over positions 2 to 6, in three ways. Single loads take 8 cycles more, because each of
 * them is the first of a walk. */
static void walks_are_compared_with_single_loads(void **state)
{
    (void)state;
    struct fake fake = {.max_count = 15};
    struct fth_device device = {.ops = &ops, .state = &fake, .id = "fake"};
    const struct fth_prober prober = {.device = &device, .sms = 1};
    struct fth_pages pages;
    struct fth_page_walk walks[] = {
        {.first = 2, .count = 5, .warm_passes = 2, .passes = 3},
        {.first = 2, .count = 5, .warm_passes = 2, .passes = 2, .time_first_pass = true},
        {.first = 2, .count = 5, .passes = 1, .reverse = true},
    };
    open_pages(&fake, &prober, &pages);
    pages.first_load_extra = 8;
    assert_int_equal(fth_pages_walk(&pages, walks, FTH_COUNT(walks), NULL), FTH_OK);
    expect_requests(
        &fake,
        "walk cg 8:4096x1; time-hops cg 8:4096x1 passes 16; walk cg 8+4096:4096x1; time-hops cg "
        "8+4096:4096x1 passes 16; walk cg 8+8192:4096x1; time-hops cg 8+8192:4096x1 passes 16; "
        "walk cg 8+12288:4096x1; time-hops cg 8+12288:4096x1 passes 16; sm 0; alone\n"
        "walk cg 8+16384:4096x1; time-hops cg 8+16384:4096x1 passes 16; walk cg 8+20480:4096x1; "
        "time-hops cg 8+20480:4096x1 passes 16; walk cg 8+24576:4096x1; time-hops cg "
        "8+24576:4096x1 passes 16; sm 0; alone\n"
        "walk cg 8+8192:4096x5 passes 2; time-hops cg 8+8192:4096x5 passes 4; sm 0; alone\n"
        "walk cg 8+8192:4096x5 passes 2; time-hops cg 8+8192:4096x5 passes 2; sm 0; alone\n"
        "walk cg 8+8192:4096x5; time-hops cg 8+24576:4096x1 passes 32; time-hops cg 8+8192:4096x5 "
        "reverse; sm 0; alone\n");
    assert_int_equal(pages.baseline_count, 7);
    for (uint64_t i = 0; i < 7; i++)
        assert_true(fabs(pages.baseline[i] - (i ? 92 + (double)i : 100)) < 1e-9);
    for (uint64_t i = 0; i < 5; i++) {
        const double miss = i == 2 ? 30 : 0; /* position 4 */
        assert_true(walks[0].excess[i] == 8 + miss);
        assert_true(i == 2 ? isnan(walks[0].excess[5 + i]) : walks[0].excess[5 + i] == 8);
        assert_true(walks[0].excess[10 + i] == 8 + miss);
        assert_int_equal(walks[0].cycles[5 + i], i == 2 ? 1104 : 102 + i);
        assert_true(fabs(walks[0].mean[i] - (8 + miss)) < 1e-9);
        assert_true(walks[1].excess[i] == 58 + miss);
        assert_true(walks[1].excess[5 + i] == 8 + miss);
        assert_true(walks[2].excess[i] == 58);
        assert_int_equal(walks[2].cycles[i], 152 + i);
        assert_true(walks[2].mean[i] == 58);
    }
    /* 16 passes over each of 7 lines, and 4, 2 and 1 passes over 5 lines after 32 hops. */
    assert_int_equal(pages.samples, 16 * 7 + 7 * 5 + 32);
    fth_page_walks_fini(walks, FTH_COUNT(walks));
    assert_null(walks[0].excess);
    assert_null(walks[0].cycles);
    fth_pages_close(&pages);
}

/* The baselines of groups: each one shares a line with the next. */
static void groups_give_baselines(void **state)
{
    (void)state;
    static const struct {
        uint64_t group;
        double penalty;
        const char *requests;
    } rows[] = {
        {4, 0,
         "walk cg 8:4096x4; time-hops cg 8:4096x4 passes 16; walk cg 8+12288:4096x4; time-hops cg "
         "8+12288:4096x4 passes 16; walk cg 8+24576:4096x3; time-hops cg 8+24576:4096x3 passes 16; "
         "sm 0; alone\nwalk cg 8:4096x9; time-hops cg 8:4096x9 passes 2; sm 0; alone\n"},
        {5, 0,
         "walk cg 8:4096x5; time-hops cg 8:4096x5 passes 6; walk cg 8+16384:4096x5; time-hops cg "
         "8+16384:4096x5 passes 6; sm 0; alone\nwalk cg 8:4096x9; time-hops cg 8:4096x9 passes 2; "
         "sm 0; alone\n"},
        {9, 7,
         "walk cg 8:4096x9; time-hops cg 8:4096x9 passes 6; sm 0; alone\nwalk cg 8:4096x9; "
         "time-hops cg 8:4096x9 passes 2; sm 0; alone\n"},
    };
    for (size_t r = 0; r < FTH_COUNT(rows); r++) {
        struct fake fake = {.max_count = 15};
        struct fth_device device = {.ops = &ops, .state = &fake, .id = "fake"};
        const struct fth_prober prober = {.device = &device, .sms = 1};
        struct fth_pages pages;
        struct fth_page_walk walk = {.count = 9, .passes = 1};
        open_pages(&fake, &prober, &pages);
        pages.first_load_extra = 8;
        if (rows[r].penalty > 0)
            fth_pages_use_miss_groups(&pages, rows[r].group, rows[r].penalty);
        else
            fth_pages_use_hit_groups(&pages, 2 * rows[r].group);
        assert_int_equal(fth_pages_walk(&pages, &walk, 1, NULL), FTH_OK);
        expect_requests(&fake, rows[r].requests);
        for (uint64_t i = 0; i < 9; i++)
            assert_true(fabs(pages.baseline[i] - (100 + (double)i) + (i ? rows[r].penalty : 0)) <
                        1e-9);
        fth_page_walks_fini(&walk, 1);
        fth_pages_close(&pages);
    }
}

/* After a change to groups, the lines are measured again, and the difference is what the first
 * load of a walk takes longer: nothing here. */
static void groups_show_what_the_first_load_costs(void **state)
{
    (void)state;
    struct fake fake = {.max_count = 15};
    struct fth_device device = {.ops = &ops, .state = &fake, .id = "fake"};
    const struct fth_prober prober = {.device = &device, .sms = 1};
    struct fth_pages pages;
    struct fth_page_walk walk = {.count = 7, .passes = 1};
    open_pages(&fake, &prober, &pages);
    pages.first_load_extra = 8;
    assert_int_equal(fth_pages_walk(&pages, &walk, 1, NULL), FTH_OK);
    fth_page_walks_fini(&walk, 1);
    fth_pages_use_hit_groups(&pages, 8);
    walk = (struct fth_page_walk){.count = 2, .passes = 1};
    assert_int_equal(fth_pages_walk(&pages, &walk, 1, NULL), FTH_OK);
    fth_page_walks_fini(&walk, 1);
    assert_int_equal(pages.baseline_count, 7);
    assert_int_equal(pages.single_lines, 0);
    assert_true(fabs(pages.first_load_extra) < 1e-9);
    for (uint64_t i = 0; i < 7; i++)
        assert_true(fabs(pages.baseline[i] - (100 + (double)i)) < 1e-9);
    fth_buffer_fini(&fake.requests);
    fth_pages_close(&pages);
}

/* The penalty is the mean of those of at least two loads. Otherwise, it is the height of the step,
 * without an interval. */
static void penalties_need_two_misses(void **state)
{
    (void)state;
    static const struct {
        bool per_load;
        uint64_t misses, found;
        double penalty;
    } rows[] = {{true, 0, 0, 34},  {true, 1, 5, 30},  {true, 3, 15, 30}, {false, 0, 0, 34},
                {false, 1, 1, 34}, {false, 2, 2, 30}, {false, 3, 3, 30}};
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fake fake = {.max_count = 15, .misses = rows[i].misses};
        struct fth_device device = {.ops = &ops, .state = &fake, .id = "fake"};
        const struct fth_prober prober = {.device = &device, .sms = 1};
        struct fth_pages pages;
        open_pages(&fake, &prober, &pages);
        struct fth_tlb_step step = {.miss_excess = 34, .per_load = rows[i].per_load};
        const struct fth_tlb_survey survey = {.prober = &prober};
        const struct fth_tlb_search search = {.pages = &pages, .step = &step, .onset = 4};
        struct fth_tlb_level level = {.entries = 3};
        struct fth_tlb_onset onset = {0};
        assert_int_equal(fth_tlb_find_penalty(&survey, &search, &level, &onset, NULL), FTH_OK);
        assert_int_equal(onset.pages, 4);
        if (fabs(level.penalty_cycles - rows[i].penalty) > 1e-9 ||
            isnan(level.penalty_low) != (rows[i].found < 2) ||
            isnan(level.penalty_high) != (rows[i].found < 2))
            fail_msg("row %zu: %g, from %g to %g", i, level.penalty_cycles, level.penalty_low,
                     level.penalty_high);
        assert_int_equal(level.entries, 3);
        fth_buffer_fini(&fake.requests);
        fth_pages_close(&pages);
    }
}

/* ---- the latency spectrum ---- */

/* An L1 that has lost lines: only `resident` of 8 lines still hit when they are loaded again. A hit
 * takes 33 cycles, with or without a TLB miss, and another load 300. */
static enum fth_status measure_spectrum(void *state, const struct fth_request *requests,
                                        size_t count, struct fth_samples *samples,
                                        struct fth_error *error)
{
    const uint64_t *resident = state;
    (void)error;
    for (size_t i = 0; i < count; i++) {
        const struct fth_chase *chase = &requests[i].chase;
        samples[i] = (struct fth_samples){.clock_mhz = 1000,
                                          .cycles = calloc(2000, sizeof *samples[i].cycles)};
        for (size_t k = 0; k < chase->step_count; k++) {
            const struct fth_step *step = &chase->steps[k];
            const bool is_few = k + 1 == chase->step_count, is_again = k == 2;
            if (step->kind != FTH_STEP_TIME_HOPS)
                continue;
            for (uint64_t hop = 0; hop < step->passes * step->chain.count; hop++)
                samples[i].cycles[samples[i].count++] =
                    is_few || (is_again && hop % 8 < *resident) ? 33 : 300;
        }
    }
    return FTH_OK;
}

/* If a quarter of the lines hit, and more than twice as many as the first TLB has entries, the hits
 * are the pattern. Otherwise, all lines are. */
static void lost_lines_are_no_hits(void **state)
{
    (void)state;
    static const struct fth_device_ops spectrum_ops = {.measure = measure_spectrum};
    static const struct {
        uint64_t resident, first_entries;
        double cycles;
    } rows[] = {{0, 4, 300}, {1, 4, 300}, {3, 4, 33}, {3, 40, 300}, {8, 4, 33}};
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        uint64_t resident = rows[i].resident;
        struct fth_device device = {.ops = &spectrum_ops, .state = &resident, .id = "fake"};
        const struct fth_prober prober = {.device = &device, .sms = 1};
        const struct fth_spectrum_plan plan = {.path = FTH_PATH_CA,
                                               .carveout_percent = -1,
                                               .page_bytes = 2 << 20,
                                               .first_entries = rows[i].first_entries,
                                               .second_entries = 100,
                                               .max_bytes = UINT64_C(16) << 30};
        struct fth_spectrum spectrum;
        assert_int_equal(fth_probe_spectrum(&prober, &plan, &spectrum, NULL), FTH_OK);
        assert_true(spectrum.patterns[FTH_PATTERN_HIT].cycles.value == 33);
        if (spectrum.patterns[FTH_PATTERN_HIT_MISS_BOTH].cycles.value != rows[i].cycles)
            fail_msg("row %zu: %g", i, spectrum.patterns[FTH_PATTERN_HIT_MISS_BOTH].cycles.value);
        assert_true(spectrum.patterns[FTH_PATTERN_COLD].cycles.value == 300);
        assert_int_equal(spectrum.patterns[FTH_PATTERN_COLD].presence, FTH_PRESENT);
        assert_int_equal(spectrum.patterns[FTH_PATTERN_SWITCH].presence, FTH_ABSENT);
    }
}

/* First touches of which numbers 20 and 60 are slow in each repeat. With `others`, another one is,
 * too, in each repeat a different one. */
static enum fth_status measure_slow(void *state, const struct fth_request *requests, size_t count,
                                    struct fth_samples *samples, struct fth_error *error)
{
    const bool *others = state;
    uint64_t resident = 8;
    const enum fth_status status = measure_spectrum(&resident, requests, count, samples, error);
    for (size_t i = 0; i < count && status == FTH_OK; i++) {
        if (requests[i].chase.steps[0].kind != FTH_STEP_TIME_HOPS)
            continue;
        samples[i].cycles[20] = samples[i].cycles[60] = 900;
        if (*others)
            samples[i].cycles[25 + i] = 900;
    }
    return status;
}

/* Two slow accesses have a distance, but are no page tables unless most repeats show them alone. */
static void single_repeats_confirm_page_tables(void **state)
{
    (void)state;
    static const struct fth_device_ops slow_ops = {.measure = measure_slow};
    for (int row = 0; row < 2; row++) {
        bool others = row;
        struct fth_device device = {.ops = &slow_ops, .state = &others, .id = "fake"};
        const struct fth_prober prober = {.device = &device, .sms = 1};
        const struct fth_spectrum_plan plan = {.path = FTH_PATH_CG,
                                               .carveout_percent = -1,
                                               .page_bytes = 2 << 20,
                                               .first_entries = 16,
                                               .second_entries = 100,
                                               .max_bytes = UINT64_C(16) << 30};
        struct fth_spectrum spectrum;
        assert_int_equal(fth_probe_spectrum(&prober, &plan, &spectrum, NULL), FTH_OK);
        assert_int_equal(spectrum.patterns[FTH_PATTERN_SWITCH].presence,
                         others ? FTH_ABSENT : FTH_PRESENT);
        assert_int_equal(spectrum.page_table_bytes, others ? 0 : 40 * spectrum.stride_bytes);
        assert_true(spectrum.table_evidence.agree == spectrum.table_evidence.repeats);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chains_are_shortened),
        cmocka_unit_test(walks_are_compared_with_single_loads),
        cmocka_unit_test(groups_give_baselines),
        cmocka_unit_test(groups_show_what_the_first_load_costs),
        cmocka_unit_test(penalties_need_two_misses),
        cmocka_unit_test(lost_lines_are_no_hits),
        cmocka_unit_test(single_repeats_confirm_page_tables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
