/* Tests that an exploration without memory fails with FTH_NO_MEMORY, and that nothing is left
 * (tests/leaks checks that). Each test makes one allocation fail: the first one, then the second
 * one, and so on, until everything succeeds. */
#include "check.h"
#include "explore/explore.h"
#include "failing.h"
#include "folder.h"

static struct fth_model_params *params;

/* Plans an exploration of one trace and runs it. The points are complete if that succeeds. */
static enum fth_status explore(struct fth_error *error)
{
    const struct fth_explore_options options = FTH_EXPLORE_OPTIONS(.threads = 1);
    struct fth_explore_outcome outcome = {0};
    struct fth_exploration *exploration = NULL;
    enum fth_status status = fth_explore_create(params, &exploration, error);
    assert_int_equal(exploration != NULL, status == FTH_OK);
    if (status == FTH_OK)
        status = fth_explore_vary(exploration, "l1.ways=2,4", error);
    if (status == FTH_OK)
        status = fth_explore_trace(exploration, "tuples", NULL, NULL, error);
    if (status == FTH_OK)
        status = fth_plan_complete(exploration, error);
    if (status == FTH_OK)
        status = fth_explore_run(exploration, &options, &outcome, error);
    if (status == FTH_OK) {
        assert_int_equal(outcome.computed, 2);
        assert_contains(outcome.text, "{\"point\": 0");
        assert_contains(outcome.text, "{\"point\": 1");
    }
    fth_free(outcome.text);
    fth_explore_destroy(exploration);
    return status;
}

static void explorations_need_every_allocation(void **state)
{
    (void)state;
    write_plain("tuples", "0 0 0 R 4\n", 10);
    assert_int_equal(fth_model_params_create(NULL, &params, NULL), FTH_OK);
    for (size_t number = 1;; number++) {
        struct fth_error error = NO_ERROR;
        fail_from(number, false);
        const enum fth_status status = explore(&error);
        if (!has_failed()) {
            assert_int_equal(status, FTH_OK);
            assert_true(number > 20);
            break;
        }
        if (status != FTH_NO_MEMORY || error.status != FTH_NO_MEMORY || !error.operation[0])
            fail_msg("allocation %zu: status %d: %s", number, (int)status, error.cause);
    }
    fail_from(0, false);
    fth_model_params_destroy(params);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(explorations_need_every_allocation),
    };
    return cmocka_run_group_tests_name("explore-no-memory", tests, enter_folder, leave_folder);
}
