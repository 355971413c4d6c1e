/* The options of the model with time, when it is used, and models with and without time that run
 * together. Most expected values are those of the model without time for the same trace. */
#include "model/two_sms.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const off[] = {"gpu.timing", "off", NULL};

/* ---- when it is used ---- */

static void the_parameters_decide_whether_accesses_have_times(void **state)
{
    (void)state;
    static const struct {
        const char *sets[3], *reason; /* NULL: with time */
    } rows[] = {
        {{NULL}, NULL},
        {{"gpu.timing", "on", NULL}, NULL},
        {{"gpu.timing", "off", NULL}, "gpu.timing is off"},
        {{"gpu.clock_hz", "", NULL}, "the clock, a latency or a bandwidth is unknown"},
        {{"l2.line_bytes", "64", NULL}, "lines or sectors of L1 and L2 have different sizes"},
        {{"l2.bypass", "rwon", NULL}, "accesses bypass the L2"},
        {{"l1.size_bytes", "64K", NULL}, NULL},
        {{"l1.policy", "fifo", NULL}, NULL},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_model_params *params = make_params(rows[i].sets);
        const char *reason = "not set";
        const bool timed = fth_model_timed(params, &reason);
        assert_int_equal(timed, rows[i].reason == NULL);
        assert_int_equal(fth_model_timed(params, NULL), timed);
        if (rows[i].reason)
            assert_string_equal(reason, rows[i].reason);
        else
            assert_null(reason);
        fth_model_params_destroy(params);
    }
}

/* A parameter that only the model without time has selects that model, and is named. */
static void parameters_of_the_model_without_time_are_named(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"partitions", "1"}, {"partition_bytes", "256"}, {"banks", "1"},      {"bank_bytes", "0"},
        {"ports", "2"},      {"mshr_sets", "1"},         {"mshr_size", "32"}, {"mshr_merges", "8"},
        {"latency", "a2"},   {"join_rounds", "2"}};
    for (size_t i = 0; i < 2 * FTH_COUNT(rows); i++) {
        char name[40];
        snprintf(name, sizeof name, "l%zu.%s", i % 2 + 1, rows[i / 2][0]);
        if (strcmp(name, "l1.join_rounds") == 0)
            continue;
        const char *const sets[] = {name, rows[i / 2][1], NULL};
        struct fth_model_params *params = make_params(sets);
        const char *reason = NULL;
        assert_false(fth_model_timed(params, &reason));
        assert_memory_equal(reason, name, strlen(name));
        assert_string_equal(reason + strlen(name),
                            " is set, which the model with time does not have");
        /* gpu.timing=on ignores it. */
        assert_int_equal(fth_model_set(params, "gpu.timing", "on", NULL), FTH_OK);
        assert_true(fth_model_timed(params, &reason));
        fth_model_params_destroy(params);
    }
}

static void times_that_are_unknown_are_an_error(void **state)
{
    (void)state;
    static const char *const sets[] = {"gpu.timing", "on", "memory.latency_cycles", "", NULL};
    struct fth_trace *trace = open_tuples("0 0 0 R 0\n");
    struct fth_model_params *params = make_params(sets);
    struct fth_model_result *result = NULL;
    struct fth_error error = NO_ERROR;
    assert_true(fth_model_timed(params, NULL));
    assert_int_equal(fth_model_run(trace, params, NULL, &result, &error), FTH_INVALID);
    assert_null(result);
    assert_contains(error.cause, "the clock, a latency or a bandwidth is unknown");
    assert_contains(error.cause, "gpu.timing=off");
    fth_model_params_destroy(params);
    fth_trace_close(trace);
}

/* ---- curves ---- */

static void check_curve(const struct fth_model_result *result, int level, const uint64_t *profile,
                        size_t count, uint64_t fresh)
{
    const struct fth_model_curve *curve = fth_model_curve(result, level);
    assert_non_null(curve);
    assert_int_equal(curve->count, count);
    assert_int_equal(curve->fresh, fresh);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(curve->profile[i], profile[i]);
}

static const struct fth_model_options with_curves = FTH_MODEL_OPTIONS(.curves = true);

/* The sectors A B A C B A of one warp: A is read again after one other sector, and B and A after
 * two. The L2 receives each of them once, or all reads if they bypass the L1. */
static void curves_have_the_reads_of_each_level(void **state)
{
    (void)state;
    static const char *const bypass[] = {"l1.bypass", "rwon", NULL};
    static const uint64_t profile[] = {0, 1, 2};
    struct fth_trace *trace = open_tuples("0 0 0 R 0\n1 0 0 R 4096\n2 0 0 R 0\n3 0 0 R 8192\n"
                                          "4 0 0 R 4096\n5 0 0 R 0\n6 0 0 W 0\n7 0 0 A 0\n");
    struct fth_model_result *result = run(trace, NULL, &with_curves);
    check_curve(result, 1, profile, 3, 3);
    check_curve(result, 2, NULL, 0, 3);
    fth_model_result_destroy(result);
    result = run(trace, bypass, &with_curves);
    check_curve(result, 1, profile, 3, 3);
    check_curve(result, 2, profile, 3, 3);
    fth_model_result_destroy(result);
    result = run(trace, NULL, NULL);
    assert_null(fth_model_curve(result, 1));
    assert_null(fth_model_curve(result, 2));
    fth_model_result_destroy(result);
    fth_trace_close(trace);
}

/* Blocks on two SMs read the same sector. If the reads are joined, the L2 receives one of them. */
static void curves_have_no_joined_reads(void **state)
{
    (void)state;
    static const char *const joins[] = {"l2.joins", "0,0", NULL};
    static const uint64_t once[] = {1};
    struct fth_trace *trace = open_tuples("0 0 0 R 0\n0 1 0 R 0\n");
    struct fth_model_result *result = run(trace, NULL, &with_curves);
    check_curve(result, 1, NULL, 0, 2);
    check_curve(result, 2, once, 1, 1);
    fth_model_result_destroy(result);
    result = run(trace, joins, &with_curves);
    check_curve(result, 1, NULL, 0, 2);
    check_curve(result, 2, NULL, 0, 1);
    fth_model_result_destroy(result);
    fth_trace_close(trace);
}

/* ---- the L2 with the L1s off ---- */

/* Three launches of two kernels with several instructions. The caller closes the trace. */
static struct fth_trace *open_launches(void)
{
    char tuples[8000];
    size_t size = 0;
    for (unsigned launch = 0; launch < 3; launch++) {
        size += (size_t)snprintf(tuples + size, sizeof tuples - size,
                                 "# kernel %s\n# grid 3 1 1\n# block 64 1 1\n",
                                 launch == 1 ? "second" : "first");
        for (unsigned i = 0; i < 3 * 2 * 16; i++)
            size += (size_t)snprintf(tuples + size, sizeof tuples - size, "%u %u %u %c %u\n", i / 6,
                                     i / 2 % 3, i % 2 * 32, "RRRWARRR"[i / 6 % 8],
                                     (i * 7 + launch * 5) % 23 * 96);
    }
    return open_tuples(tuples);
}

static const struct fth_model_options with_bypassed = FTH_MODEL_OPTIONS(.bypassed = true);

/* Only the model without time has these counts. The other counts are those with time. */
static void counts_with_the_l1s_off_are_those_without_time(void **state)
{
    (void)state;
    struct fth_trace *trace = open_launches();
    struct fth_model_result *both = run(trace, NULL, &with_bypassed);
    struct fth_model_result *timed = run(trace, NULL, NULL);
    struct fth_model_result *steps = run(trace, off, &with_bypassed);
    const struct fth_model_row *row;
    assert_true(both->timed && timed->timed && !steps->timed);
    assert_true(both->row_count >= 2 + 2 + 3);
    assert_int_equal(both->row_count, timed->row_count);
    assert_int_equal(both->row_count, steps->row_count);
    for (size_t i = 0; (row = fth_model_row(both, i)); i++) {
        const struct fth_model_row *expected = fth_model_row(timed, i);
        assert_true(row->bypassed.sectors[FTH_TRACE_READ] + row->bypassed.sectors[FTH_TRACE_WRITE] +
                        row->bypassed.sectors[FTH_TRACE_ATOMIC] >
                    0);
        assert_memory_equal(&row->bypassed, &fth_model_row(steps, i)->bypassed,
                            sizeof row->bypassed);
        assert_memory_equal(&row->l1, &expected->l1, sizeof row->l1);
        assert_memory_equal(&row->l2, &expected->l2, sizeof row->l2);
        assert_int_equal(isnan(row->seconds), row->instruction != NULL);
        assert_true(isnan(row->seconds) || row->seconds == expected->seconds);
        assert_true(isnan(fth_model_row(steps, i)->seconds));
        assert_int_equal(expected->bypassed.sectors[FTH_TRACE_READ], 0);
    }
    fth_model_result_destroy(both);
    fth_model_result_destroy(timed);
    fth_model_result_destroy(steps);
    fth_trace_close(trace);
}

struct observed_run {
    unsigned calls;
    double last, interrupt_at; /* progress; 2: never */
};

static void store_progress(void *user, const char *what, double fraction)
{
    struct observed_run *observed = user;
    assert_string_equal(what, "model caches");
    assert_true(fraction >= observed->last && fraction <= 1);
    observed->last = fraction;
    observed->calls++;
}

static bool interrupt(void *user)
{
    const struct observed_run *observed = user;
    return observed->last >= observed->interrupt_at;
}

/* The progress covers the model with time and the one without. Both can be interrupted. */
static void both_models_have_progress(void **state)
{
    (void)state;
    static const double interruptions[] = {0, 0.5, 2};
    struct fth_trace *trace = open_launches();
    struct fth_model_params *params = make_params(NULL);
    for (size_t i = 0; i < FTH_COUNT(interruptions); i++) {
        struct observed_run observed = {.interrupt_at = interruptions[i]};
        const struct fth_log log = {
            .progress = store_progress, .interrupted = interrupt, .user = &observed};
        const struct fth_model_options options =
            FTH_MODEL_OPTIONS(.bypassed = true, .threads = 1, .log = &log);
        struct fth_model_result *result = NULL;
        struct fth_error error = NO_ERROR;
        const bool ends = interruptions[i] > 1;
        assert_int_equal(fth_model_run(trace, params, &options, &result, &error),
                         ends ? FTH_OK : FTH_INTERRUPTED);
        assert_int_equal(result != NULL, ends);
        assert_true(observed.calls > 1 && observed.last == 1);
        fth_model_result_destroy(result);
    }
    fth_model_params_destroy(params);
    fth_trace_close(trace);
}

/* ---- models that run together ---- */

/* Returns whether all counts and times of two results are equal. */
static bool are_equal(const struct fth_model_result *a, const struct fth_model_result *b)
{
    bool equal = a->timed == b->timed && a->row_count == b->row_count;
    for (size_t i = 0; equal && i < a->row_count; i++) {
        const struct fth_model_row *x = &a->rows[i], *y = &b->rows[i];
        equal = memcmp(&x->l1, &y->l1, sizeof x->l1) == 0 &&
                memcmp(&x->l2, &y->l2, sizeof x->l2) == 0 &&
                memcmp(&x->bypassed, &y->bypassed, sizeof x->bypassed) == 0 &&
                x->dram_reads == y->dram_reads && x->dram_writes == y->dram_writes &&
                (x->seconds == y->seconds || (isnan(x->seconds) && isnan(y->seconds)));
    }
    return equal;
}

/* Models with time run one after the other; those without share their L1s as before. Each of them
 * gives the same result as alone. */
static void models_with_and_without_time_run_together(void **state)
{
    (void)state;
    static const struct {
        const char *sets[5];
        bool timed;
        enum fth_l1_source l1;
    } rows[] = {
        {{NULL}, true, FTH_L1_OWN},
        {{"gpu.timing", "off", NULL}, false, FTH_L1_OWN},
        {{"l2.size_bytes", "64K", NULL}, true, FTH_L1_OWN},
        {{"gpu.timing", "off", "l2.size_bytes", "64K", NULL}, false, FTH_L1_SHARED},
        {{"l2.mshr_size", "2", NULL}, false, FTH_L1_SHARED},
        {{"l1.line_bytes", "64", "l2.line_bytes", "64", NULL}, true, FTH_L1_OWN},
    };
    enum { COUNT = sizeof rows / sizeof *rows };
    struct fth_trace *trace = open_launches();
    for (int bypassed = 0; bypassed < 2; bypassed++) {
        struct fth_model_member members[COUNT] = {{0}};
        struct fth_model_params *params[COUNT];
        struct observed_run observed = {.interrupt_at = 2};
        const struct fth_log log = {
            .progress = store_progress, .interrupted = interrupt, .user = &observed};
        const struct fth_model_options options = FTH_MODEL_OPTIONS(.log = &log);
        struct fth_error error = NO_ERROR;
        size_t failed = 0;
        for (size_t i = 0; i < COUNT; i++) {
            params[i] = make_params(rows[i].sets);
            members[i] = (struct fth_model_member){.params = params[i], .bypassed = bypassed};
        }
        if (fth_model_run_many(trace, members, COUNT, &options, &failed, &error) != FTH_OK)
            fail_msg("%s", error.cause);
        assert_true(observed.last == 1);
        for (size_t i = 0; i < COUNT; i++) {
            struct fth_model_result *alone =
                run(trace, rows[i].sets, bypassed ? &with_bypassed : NULL);
            assert_int_equal(alone->timed, rows[i].timed);
            assert_true(are_equal(members[i].result, alone));
            assert_int_equal(members[i].l1, rows[i].l1);
            fth_model_result_destroy(alone);
            fth_model_result_destroy(members[i].result);
            fth_model_params_destroy(params[i]);
        }
    }
    fth_trace_close(trace);
}

/* The member that fails is reported, whether it fails before the run or in it. */
static void the_member_that_fails_is_reported(void **state)
{
    (void)state;
    static const char *const faults[][5] = {
        {"gpu.timing", "on", "gpu.clock_hz", "", NULL}, /* times are unknown */
        {"gpu.max_warps", "1", NULL},                   /* no block fits an SM */
    };
    struct fth_trace *trace = open_launches();
    for (size_t i = 0; i < FTH_COUNT(faults); i++) {
        struct fth_model_params *params[3] = {make_params(off), make_params(NULL),
                                              make_params(faults[i])};
        struct fth_model_member members[3] = {
            {.params = params[0]}, {.params = params[1]}, {.params = params[2]}};
        const struct fth_model_options options = FTH_MODEL_OPTIONS(.threads = 1);
        struct fth_error error = NO_ERROR;
        size_t failed = 0;
        assert_int_equal(fth_model_run_many(trace, members, 3, &options, &failed, &error),
                         FTH_INVALID);
        assert_int_equal(failed, 2);
        for (size_t k = 0; k < 3; k++) {
            assert_null(members[k].result);
            fth_model_params_destroy(params[k]);
        }
    }
    fth_trace_close(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_parameters_decide_whether_accesses_have_times),
        cmocka_unit_test(parameters_of_the_model_without_time_are_named),
        cmocka_unit_test(times_that_are_unknown_are_an_error),
        cmocka_unit_test(curves_have_the_reads_of_each_level),
        cmocka_unit_test(curves_have_no_joined_reads),
        cmocka_unit_test(counts_with_the_l1s_off_are_those_without_time),
        cmocka_unit_test(both_models_have_progress),
        cmocka_unit_test(models_with_and_without_time_run_together),
        cmocka_unit_test(the_member_that_fails_is_reported),
    };
    return cmocka_run_group_tests_name("timed_options", tests, enter_folder, leave_folder);
}
