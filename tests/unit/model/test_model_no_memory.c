/* Tests that the model without memory fails with FTH_NO_MEMORY, and that it frees what it has
 * allocated until then (tests/leaks checks that). One allocation fails: the first one, then the
 * second one, and so on, until the model has run. */
#include "check.h"
#include "failing.h"
#include "folder.h"
#include "model/model.h"

/* Accesses of two blocks with two warps each: number, block, thread, kind, address. */
static const char tuples[] = "0 0 0 R 0\n0 0 1 R 4\n0 0 32 R 128\n1 0 0 W 4096\n1 0 32 R 4100\n"
                             "0 1 0 R 0\n0 1 32 A 256\n1 1 0 W 8192\n1 1 32 R 260\n";

static struct fth_trace *trace;

static int open_trace(void **state)
{
    if (enter_folder(state))
        return -1;
    write_plain("tuples", tuples, sizeof tuples - 1);
    fail_from(0, false);
    return fth_trace_obtain("tuples", NULL, &trace, NULL) == FTH_OK ? 0 : -1;
}

static int close_trace(void **state)
{
    fth_trace_close(trace);
    return leave_folder(state);
}

/* Creates the parameters and runs the model. */
static enum fth_status run(const char *const *sets, const struct fth_model_options *options,
                           struct fth_error *error)
{
    struct fth_model_params *params = NULL, *copy = NULL;
    struct fth_model_result *result = NULL;
    enum fth_status status = fth_model_params_create(NULL, &params, error);
    for (size_t i = 0; status == FTH_OK && sets[i]; i += 2)
        status = fth_model_set(params, sets[i], sets[i + 1], error);
    if (status == FTH_OK)
        status = fth_model_params_copy(params, &copy, error);
    if (status == FTH_OK)
        status = fth_model_run(trace, copy, options, &result, error);
    assert_int_equal(result != NULL, status == FTH_OK);
    fth_model_result_destroy(result);
    fth_model_params_destroy(params);
    fth_model_params_destroy(copy);
    return status;
}

/* Parameters and options of the model. */
static const struct {
    const char *sets[25];
    bool bypassed, curves;
} rows[] = {
    {{NULL}, false, false},
    {{"gpu.mapping", "shuffle", "l1.size_bytes", "1664", "l1.sets", "4", NULL}, true, true},
    {{"gpu.mapping", "1,0,1", "gpu.sms", "2", "l2.mshr_size", "2", "l1.mshr_size", "1", NULL},
     true,
     false},
    {{"l1.banks", "2", "l2.banks", "2", "l2.partitions", "2", "l2.mshr_sets", "2", NULL},
     false,
     false},
    {{"l1.policy", "fifo", "l2.policy", "random", NULL}, true, false},
    {{"l1.policy", "belady", "l2.policy", "belady", "l2.sides", "2", NULL}, true, false},
    {{"gpu.sms", "2", "l2.sides", "2", "l2.joins", "0,0", NULL}, false, true},
    /* With time. */
    {{"gpu.sms",
      "2",
      "l2.sides",
      "2",
      "l2.side_of_sm",
      "0,1",
      "l2.joins",
      "0,0",
      "gpu.clock_hz",
      "1e9",
      "l1.latency_cycles",
      "10",
      "l2.latency_cycles",
      "20",
      "memory.latency_cycles",
      "100",
      "l2.bytes_per_s",
      "1e12",
      "memory.bytes_per_s",
      "1e12",
      "gpu.timing",
      "on",
      NULL},
     true,
     true},
};

static void the_model_needs_every_allocation(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2 * FTH_COUNT(rows); i++) {
        const size_t row = i / 2;
        const struct fth_model_options options =
            FTH_MODEL_OPTIONS(.threads = 1, .bypassed = rows[row].bypassed,
                              .curves = rows[row].curves, .diagnose = i % 2);
        size_t number = 0;
        for (bool failed = true; failed;) {
            struct fth_error error = NO_ERROR;
            fail_from(++number, false);
            const enum fth_status status = run(rows[row].sets, &options, &error);
            failed = has_failed();
            if (status != (failed ? FTH_NO_MEMORY : FTH_OK))
                fail_msg("row %zu, allocation %zu: status %d: %s", row, number, (int)status,
                         error.cause);
            assert_int_equal(error.status, status);
            if (failed)
                assert_true(error.operation[0] != '\0');
        }
        assert_in_range(number, 20, 1000);
    }
    fail_from(0, false);
}

/* Models that run together: the same L1, other numbers of ways, which an LRU stack simulates, an L1
 * of its own, and one with time. */
static void models_that_run_together_need_every_allocation(void **state)
{
    (void)state;
    static const char *const sets[][2] = {{"l2.size_bytes", "32K"},
                                          {"l1.size_bytes", "1024"},
                                          {"l1.size_bytes", "2048"},
                                          {"l1.policy", "fifo"},
                                          {"gpu.timing", "on"}};
    enum { COUNT = sizeof sets / sizeof *sets };
    struct fth_model_member members[COUNT] = {{0}};
    struct fth_model_params *params[COUNT] = {NULL};
    fail_from(0, false);
    static const char *const base[][2] = {{"gpu.sms", "2"},
                                          {"l1.size_bytes", "4096"},
                                          {"l1.sets", "4"},
                                          {"l1.sector_bytes", "0"},
                                          {"l1.bypass", "won"},
                                          {"l2.size_bytes", "64K"},
                                          {"l2.sector_bytes", "0"},
                                          {"gpu.clock_hz", "1e9"},
                                          {"l1.latency_cycles", "10"},
                                          {"l2.latency_cycles", "20"},
                                          {"memory.latency_cycles", "100"},
                                          {"l2.bytes_per_s", "1e12"},
                                          {"memory.bytes_per_s", "1e12"},
                                          {"gpu.timing", "off"}};
    for (size_t i = 0; i < COUNT; i++) {
        assert_int_equal(fth_model_params_create(NULL, &params[i], NULL), FTH_OK);
        for (size_t k = 0; k < FTH_COUNT(base); k++)
            assert_int_equal(fth_model_set(params[i], base[k][0], base[k][1], NULL), FTH_OK);
        assert_int_equal(fth_model_set(params[i], sets[i][0], sets[i][1], NULL), FTH_OK);
        members[i] = (struct fth_model_member){.params = params[i], .bypassed = true};
    }
    const struct fth_model_options options = FTH_MODEL_OPTIONS(.threads = 1, .bypassed = true);
    size_t number = 0;
    for (bool failed = true; failed;) {
        struct fth_error error = NO_ERROR;
        size_t failed_member = COUNT;
        fail_from(++number, false);
        const enum fth_status status =
            fth_model_run_many(trace, members, COUNT, &options, &failed_member, &error);
        failed = has_failed();
        fail_from(0, false);
        if (status != (failed ? FTH_NO_MEMORY : FTH_OK) || failed_member >= COUNT)
            fail_msg("allocation %zu: status %d: %s", number, (int)status, error.cause);
        assert_true(failed || members[1].l1 == FTH_L1_STACK);
        for (size_t i = 0; i < COUNT; i++) {
            assert_int_equal(members[i].result != NULL, !failed);
            assert_true(failed || members[i].result->timed == (i == COUNT - 1));
            fth_model_result_destroy(members[i].result);
        }
        if (failed)
            assert_true(error.operation[0] != '\0');
    }
    assert_in_range(number, 100, 2000);
    for (size_t i = 0; i < COUNT; i++)
        fth_model_params_destroy(params[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_model_needs_every_allocation),
        cmocka_unit_test(models_that_run_together_need_every_allocation),
    };
    return cmocka_run_group_tests_name("model-no-memory", tests, open_trace, close_trace);
}
