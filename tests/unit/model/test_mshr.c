/* Tests the registers for misses in flight (model/level/mshr.c): merging, arrival, and clearing. */
#include "check.h"
#include "model/level/level.h"

enum { LINES = 300 }; /* more than the first ring has entries */

static struct fth_mshr *create(uint64_t size)
{
    struct fth_mshr *mshr;
    assert_int_equal(fth_mshr_create(size, &mshr, NULL), FTH_OK);
    return mshr;
}

/* Line i has the sectors of the mask 3 and arrives i + 1 steps later. Requests merge with it in
 * every step until then, twice at most. */
static void requests_merge_until_the_data_arrives(void **state)
{
    (void)state;
    struct fth_mshr *mshr = create(0);
    for (uint64_t line = 0; line < LINES; line++)
        assert_true(fth_mshr_add(mshr, line, 3, line + 1));
    assert_int_equal(fth_mshr_busy(mshr), LINES);
    assert_false(fth_mshr_full(mshr));
    for (uint64_t step = 0; step < LINES; step += 7) {
        fth_mshr_step(mshr, step);
        for (uint64_t line = 0; line <= LINES; line++) {
            const bool in_flight = line >= step && line < LINES;
            assert_int_equal(fth_mshr_merge(mshr, line, 4, 0), FTH_MERGE_NONE);
            assert_int_equal(fth_mshr_merge(mshr, line, 7, 0), FTH_MERGE_NONE);
            assert_int_equal(fth_mshr_merge(mshr, line, 2, 0),
                             in_flight ? FTH_MERGE_DONE : FTH_MERGE_NONE);
            if (in_flight)
                assert_true(fth_mshr_may_contain(mshr, line));
        }
        /* Data that arrives in this step occupies no register any more. */
        assert_int_equal(fth_mshr_busy(mshr), LINES - step - 1);
        assert_int_equal(fth_mshr_next(mshr), step + 1 < LINES ? step + 1 : UINT64_MAX);
    }
    fth_mshr_destroy(mshr);
}

static void merges_and_registers_are_limited(void **state)
{
    (void)state;
    struct fth_mshr *mshr = create(2);
    assert_true(fth_mshr_add(mshr, 5, 1, 10));
    assert_false(fth_mshr_full(mshr));
    assert_true(fth_mshr_add(mshr, 6, 1, 3)); /* not before the first one: step 9 */
    assert_true(fth_mshr_full(mshr));
    assert_int_equal(fth_mshr_next(mshr), 9);
    assert_int_equal(fth_mshr_merge(mshr, 5, 1, 2), FTH_MERGE_DONE);
    assert_int_equal(fth_mshr_merge(mshr, 5, 1, 2), FTH_MERGE_DONE);
    assert_int_equal(fth_mshr_merge(mshr, 5, 1, 2), FTH_MERGE_FAILED);
    assert_int_equal(fth_mshr_merge(mshr, 6, 1, 2), FTH_MERGE_DONE);
    fth_mshr_step(mshr, 8);
    assert_true(fth_mshr_full(mshr));
    fth_mshr_step(mshr, 9);
    assert_int_equal(fth_mshr_busy(mshr), 0);
    assert_int_equal(fth_mshr_next(mshr), 10);
    assert_int_equal(fth_mshr_merge(mshr, 6, 1, 2), FTH_MERGE_DONE);
    fth_mshr_step(mshr, 10);
    assert_int_equal(fth_mshr_merge(mshr, 6, 1, 2), FTH_MERGE_NONE);
    assert_int_equal(fth_mshr_next(mshr), UINT64_MAX);
    fth_mshr_destroy(mshr);
}

/* Nothing of what was in flight is left. */
static void clearing_removes_all_misses(void **state)
{
    (void)state;
    struct fth_mshr *mshr = create(0);
    for (uint64_t line = 0; line < LINES; line++)
        assert_true(fth_mshr_add(mshr, line, 1, 1000));
    fth_mshr_step(mshr, 5);
    fth_mshr_clear(mshr);
    assert_int_equal(fth_mshr_busy(mshr), 0);
    assert_int_equal(fth_mshr_next(mshr), UINT64_MAX);
    assert_true(fth_mshr_add(mshr, LINES, 1, 4)); /* arrives in step 3 */
    assert_int_equal(fth_mshr_next(mshr), 3);
    for (uint64_t line = 0; line <= LINES; line++) {
        const bool same = fth_mshr_bucket(mshr, line) == fth_mshr_bucket(mshr, LINES);
        assert_int_equal(fth_mshr_may_contain(mshr, line), same);
        assert_int_equal(fth_mshr_merge(mshr, line, 1, 0),
                         line == LINES ? FTH_MERGE_DONE : FTH_MERGE_NONE);
    }
    fth_mshr_step(mshr, 4);
    assert_false(fth_mshr_may_contain(mshr, LINES));
    fth_mshr_destroy(mshr);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(requests_merge_until_the_data_arrives),
                                       cmocka_unit_test(merges_and_registers_are_limited),
                                       cmocka_unit_test(clearing_removes_all_misses)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
