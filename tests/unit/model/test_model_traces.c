/* The model on traces of a few accesses, given as tuples (access number, block, thread, kind,
 * address): grids of which few blocks access memory, curves, ratios, average access times and the
 * choice of a kernel. The expected values were computed by hand. */
#include "check.h"
#include "folder.h"
#include "model/model.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

/* A run of the model, with what it needs. */
struct run {
    struct fth_model_params *params;
    struct fth_trace *trace;
    struct fth_model_result *result;
};

/* Runs the model; `sets` are alternating names and values that end with NULL. */
static struct run run_model(const char *tuples, const char *const *sets,
                            const struct fth_model_options *options)
{
    struct run run = {NULL, NULL, NULL};
    struct fth_error error = NO_ERROR;
    write_plain("tuples", tuples, strlen(tuples));
    assert_int_equal(fth_model_params_create(NULL, &run.params, NULL), FTH_OK);
    for (size_t i = 0; sets[i]; i += 2)
        assert_int_equal(fth_model_set(run.params, sets[i], sets[i + 1], NULL), FTH_OK);
    if (fth_trace_obtain("tuples", NULL, &run.trace, &error) != FTH_OK ||
        fth_model_run(run.trace, run.params, options, &run.result, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    return run;
}

static void end_run(struct run *run)
{
    fth_model_result_destroy(run->result);
    fth_trace_close(run->trace);
    fth_model_params_destroy(run->params);
}

static const char *const one_sm[] = {"gpu.sms", "1", NULL};
static const char *const two_sms[] = {"gpu.sms", "2", NULL};

/* Of five million blocks, four read the same sector: three on the first SM and one on the second.
 */
static void only_the_blocks_with_accesses_are_run(void **state)
{
    (void)state;
    struct run run = run_model("# kernel k\n# grid 5000000 1 1\n# block 32 1 1\n"
                               "0 4999998 0 R 0\n0 0 0 R 0\n0 2499998 0 R 0\n0 4999999 0 R 0\n",
                               two_sms, NULL);
    const struct fth_model_row *row = fth_model_row(run.result, 0);
    assert_int_equal(row->warps[FTH_TRACE_READ], 4);
    assert_int_equal(row->l1.sectors[FTH_TRACE_READ], 4);
    assert_int_equal(row->l1.hits[FTH_TRACE_READ], 2);
    assert_int_equal(row->l2.sectors[FTH_TRACE_READ], 2);
    assert_int_equal(row->l2.hits[FTH_TRACE_READ], 1);
    end_run(&run);
}

/* Six blocks in three dimensions read a sector each. The time floor divides the sectors by the SMs
 * that have blocks: at most as many as there are blocks. */
static void all_dimensions_of_a_grid_have_blocks(void **state)
{
    (void)state;
    static const struct {
        const char *sms;
        double sectors_per_sm;
    } rows[] = {{"1", 6}, {"2", 3}, {"4", 1.5}, {"6", 1}, {"100", 1}};
    static const char *const grids[] = {"6 1 1", "1 6 1", "1 1 6", "1 2 3", "3 1 2", "2 3 1"};
    for (size_t i = 0; i < FTH_COUNT(rows) * FTH_COUNT(grids); i++) {
        const size_t row = i / FTH_COUNT(grids);
        const char *const sets[] = {"gpu.sms", rows[row].sms, NULL};
        char tuples[300];
        snprintf(tuples, sizeof tuples,
                 "# kernel k\n# grid %s\n# block 32 1 1\n0 0 0 R 0\n0 1 0 R 0\n0 2 0 R 0\n"
                 "0 3 0 R 0\n0 4 0 R 0\n0 5 0 R 0\n",
                 grids[i % FTH_COUNT(grids)]);
        struct run run = run_model(tuples, sets, NULL);
        assert_true(fabs(fth_model_row(run.result, 0)->l1_read_sectors_per_sm -
                         rows[row].sectors_per_sm) < 1e-12);
        end_run(&run);
    }
}

/* The sectors A B A C B A: A is read again after one other sector, and B and A after two. */
static void curves_have_exact_stack_distances(void **state)
{
    (void)state;
    static const char tuples[] = "0 0 0 R 0\n1 0 0 R 4096\n2 0 0 R 0\n3 0 0 R 8192\n"
                                 "4 0 0 R 4096\n5 0 0 R 0\n6 0 0 W 0\n";
    const struct fth_model_options options = FTH_MODEL_OPTIONS(.curves = true, .threads = 1);
    struct run run = run_model(tuples, one_sm, &options);
    const struct fth_model_curve *l1 = fth_model_curve(run.result, 1);
    assert_non_null(l1);
    assert_int_equal(l1->count, 3);
    assert_int_equal(l1->profile[0], 0);
    assert_int_equal(l1->profile[1], 1);
    assert_int_equal(l1->profile[2], 2);
    assert_int_equal(l1->fresh, 3);
    const struct fth_model_curve *l2 = fth_model_curve(run.result, 2);
    assert_non_null(l2);
    assert_int_equal(l2->count, 0);
    assert_int_equal(l2->fresh, 3);
    assert_null(fth_model_curve(run.result, 0));
    assert_null(fth_model_curve(run.result, 3));
    end_run(&run);

    const struct fth_model_options none = FTH_MODEL_OPTIONS(.threads = 1);
    run = run_model(tuples, one_sm, &none);
    assert_null(fth_model_curve(run.result, 1));
    assert_null(fth_model_curve(run.result, 2));
    end_run(&run);
}

/* Each SM has its own stack. Block 0 reads A A, block 1 reads A B A: the sum has one distance 0 and
 * one distance 1. */
static void curves_are_summed_over_the_sms(void **state)
{
    (void)state;
    const struct fth_model_options options = FTH_MODEL_OPTIONS(.curves = true, .threads = 1);
    struct run run =
        run_model("0 0 0 R 0\n1 0 0 R 0\n0 1 0 R 0\n1 1 0 R 4096\n2 1 0 R 0\n", two_sms, &options);
    const struct fth_model_curve *l1 = fth_model_curve(run.result, 1);
    assert_int_equal(l1->count, 2);
    assert_int_equal(l1->profile[0], 1);
    assert_int_equal(l1->profile[1], 1);
    assert_int_equal(l1->fresh, 3);
    end_run(&run);
}

/* Lanes of an atomic that have the same address take turns. The turns are: lanes 0, 3, 4 and 5 with
 * two lines and three sectors, lane 1, and lane 2. If all lanes have one address, one lane adds for
 * all. Lanes of a read do not take turns. */
static void atomics_on_one_address_take_turns(void **state)
{
    (void)state;
    struct run run = run_model("# kernel k\n# grid 1 1 1\n# block 32 1 1\n"
                               "0 0 0 A 0\n0 0 1 A 0\n0 0 2 A 0\n0 0 3 A 4\n0 0 4 A 32\n"
                               "0 0 5 A 128\n1 0 0 A 0\n1 0 1 A 0\n"
                               "2 0 0 R 0\n2 0 1 R 0\n2 0 2 R 4\n2 0 3 R 32\n",
                               one_sm, NULL);
    const struct fth_model_row *row = fth_model_row(run.result, 0);
    assert_int_equal(row->warps[FTH_TRACE_ATOMIC], 2);
    assert_int_equal(row->l1.requests[FTH_TRACE_ATOMIC], 4 + 1);
    assert_int_equal(row->l1.sectors[FTH_TRACE_ATOMIC], 5 + 1);
    assert_int_equal(row->l2.requests[FTH_TRACE_ATOMIC], 4 + 1);
    assert_int_equal(row->l2.sectors[FTH_TRACE_ATOMIC], 5 + 1);
    assert_int_equal(row->l1.requests[FTH_TRACE_READ], 1);
    assert_int_equal(row->l1.sectors[FTH_TRACE_READ], 2);
    assert_int_equal(row->dram_reads, 4);
    end_run(&run);
}

static void ratios_count_reads_or_everything(void **state)
{
    (void)state;
    const struct fth_model_counts counts = {.sectors = {8, 4, 4}, .hits = {6, 1, 1}};
    assert_true(fth_model_hit_ratio(&counts, true) == 0.75);
    assert_true(fth_model_hit_ratio(&counts, false) == 0.5);
    const struct fth_model_counts none = {.sectors = {0, 4, 0}, .hits = {0, 1, 0}};
    assert_true(isnan(fth_model_hit_ratio(&none, true)));
    assert_true(fth_model_hit_ratio(&none, false) == 0.25);
}

/* The sectors are A, A and B: one hits in the L1, and two come from memory. */
static void access_times_are_averages_over_the_levels(void **state)
{
    (void)state;
    static const char tuples[] = "0 0 0 R 0\n1 0 0 R 0\n2 0 0 R 8192\n";
    static const char *const sets[] = {"gpu.sms",
                                       "1",
                                       "l1.latency_cycles",
                                       "30",
                                       "l2.latency_cycles",
                                       "200",
                                       "memory.latency_cycles",
                                       "500",
                                       NULL};
    struct run run = run_model(tuples, sets, NULL);
    const struct fth_model_row *row = fth_model_row(run.result, 0);
    assert_int_equal(row->l1.hits[FTH_TRACE_READ], 1);
    assert_int_equal(row->dram_reads, 4); /* the L2 fetches two sectors per miss */
    assert_true(fabs(fth_model_access_cycles(row, run.params) - (30 + 2 * 500) / 3.0) < 1e-9);
    const struct fth_model_row invented = {
        .l1 = {.sectors = {10}, .hits = {4}}, .l2 = {.sectors = {12}, .hits = {6}}, .far_hits = 2};
    /* 6 sectors miss in the L1, which asks for 12: 6 hit, 2 hit far away, 4 come from memory. */
    assert_true(isnan(fth_model_access_cycles(&invented, run.params)));
    assert_int_equal(fth_model_set(run.params, "l2.far_latency_cycles", "300", NULL), FTH_OK);
    assert_true(fabs(fth_model_access_cycles(&invented, run.params) -
                     (4 * 30 + 0.5 * (6 * 200 + 2 * 300 + 4 * 500)) / 10) < 1e-9);
    /* All 6 misses hit in the L2. */
    const struct fth_model_row inside = {.l1 = {.sectors = {10}, .hits = {4}},
                                         .l2 = {.sectors = {6}, .hits = {6}}};
    assert_true(fabs(fth_model_access_cycles(&inside, run.params) - (4 * 30 + 6 * 200) / 10.0) <
                1e-9);
    const struct fth_model_row writes = {.l1 = {.sectors = {0, 5}}};
    assert_true(isnan(fth_model_access_cycles(&writes, run.params)));
    end_run(&run);
}

static void a_kernel_can_be_chosen(void **state)
{
    (void)state;
    static const char tuples[] = "# kernel first\n0 0 0 R 0\n1 0 0 R 128\n# kernel second\n"
                                 "0 0 0 R 0\n# kernel first\n0 0 0 R 0\n";
    static const struct {
        const char *kernel;
        uint64_t launches, reads;
    } rows[] = {{"first", 2, 3}, {"second", 1, 1}};
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        const struct fth_model_options options = FTH_MODEL_OPTIONS(.kernel = rows[i].kernel);
        struct run run = run_model(tuples, one_sm, &options);
        const struct fth_model_row *row = fth_model_row(run.result, 0);
        assert_string_equal(row->kernel, rows[i].kernel);
        assert_int_equal(row->launches, rows[i].launches);
        assert_int_equal(row->warps[FTH_TRACE_READ], rows[i].reads);
        for (size_t at = 1; fth_model_row(run.result, at); at++)
            assert_string_equal(fth_model_row(run.result, at)->kernel, rows[i].kernel);
        end_run(&run);
    }
}

/* The last entry counts the misses, whatever the length of the profile. */
static void profiles_are_added(void **state)
{
    (void)state;
    static const struct {
        uint64_t added[5];
        size_t count;
        uint64_t sum[5];
        size_t sum_count;
    } rows[] = {
        {{0}, 0, {0}, 0},
        {{1, 2, 3}, 3, {1, 2, 3}, 3},
        {{0}, 0, {1, 2, 3}, 3},
        {{4, 5}, 2, {5, 2, 8}, 3},
        {{1, 1, 1, 1, 2}, 5, {6, 3, 1, 1, 10}, 5},
        {{7}, 1, {6, 3, 1, 1, 17}, 5},
        {{1, 2, 3, 4, 5}, 5, {7, 5, 4, 5, 22}, 5},
    };
    struct fth_model_profile profile = {0};
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        assert_true(fth_profile_add(&profile, rows[i].added, rows[i].count));
        assert_int_equal(profile.count, rows[i].sum_count);
        if (profile.count)
            assert_memory_equal(profile.counts, rows[i].sum, profile.count * sizeof(uint64_t));
    }
    free(profile.counts);
}

/* All counts are added. They are the members from `launches` up to `l1_bytes`, which are of one
 * type. The last launch gives the rest. */
static void rows_are_added(void **state)
{
    (void)state;
    enum {
        FIRST = offsetof(struct fth_model_row, launches),
        COUNT = (offsetof(struct fth_model_row, l1_bytes) - FIRST) / sizeof(uint64_t)
    };
    uint64_t profiles[4][2] = {{1, 2}, {3, 4}, {5, 6}, {7, 8}}, counts[COUNT];
    struct fth_model_row sum = {.launch = SIZE_MAX, .last_launch = 1, .l1_bytes = 3};
    struct fth_model_row row = {.launch = 7, .l1_bytes = 4096, .blocks_at_once = 5};
    for (size_t i = 0; i < 2; i++) {
        row.l1_profile[i] = (struct fth_model_profile){.counts = profiles[i], .count = 2};
        row.l2_profile[i] = (struct fth_model_profile){.counts = profiles[2 + i], .count = 2};
    }
    for (size_t i = 0; i < COUNT; i++)
        counts[i] = i + 1;
    memcpy((char *)&row + FIRST, counts, sizeof counts);
    for (uint64_t times = 1; times <= 3; times++) {
        assert_true(fth_row_add(&sum, &row));
        memcpy(counts, (char *)&sum + FIRST, sizeof counts);
        for (size_t i = 0; i < COUNT; i++)
            assert_int_equal(counts[i], times * (i + 1));
        for (size_t i = 0; i < 4; i++) {
            const struct fth_model_profile *profile =
                i < 2 ? &sum.l1_profile[i] : &sum.l2_profile[i - 2];
            assert_int_equal(profile->count, 2);
            assert_int_equal(profile->counts[0], times * profiles[i][0]);
            assert_int_equal(profile->counts[1], times * profiles[i][1]);
        }
    }
    assert_true(sum.launch == SIZE_MAX);
    assert_int_equal(sum.last_launch, 7);
    assert_int_equal(sum.l1_bytes, 4096);
    assert_int_equal(sum.blocks_at_once, 5);
    for (size_t i = 0; i < 2; i++) {
        free(sum.l1_profile[i].counts);
        free(sum.l2_profile[i].counts);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_the_blocks_with_accesses_are_run),
        cmocka_unit_test(all_dimensions_of_a_grid_have_blocks),
        cmocka_unit_test(curves_have_exact_stack_distances),
        cmocka_unit_test(curves_are_summed_over_the_sms),
        cmocka_unit_test(atomics_on_one_address_take_turns),
        cmocka_unit_test(ratios_count_reads_or_everything),
        cmocka_unit_test(access_times_are_averages_over_the_levels),
        cmocka_unit_test(a_kernel_can_be_chosen),
        cmocka_unit_test(profiles_are_added),
        cmocka_unit_test(rows_are_added),
    };
    return cmocka_run_group_tests_name("model-traces", tests, enter_folder, leave_folder);
}
