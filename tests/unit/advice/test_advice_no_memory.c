/* Tests that edits and hints without memory fail with FTH_NO_MEMORY, and that they free what they
 * have allocated until then (tests/leaks checks that). One allocation fails: the first one, then
 * the second one, and so on, until all succeed. */
#include "failing.h"
#include "made_trace.h"

static struct fth_trace *trace;

/* Strided loads of structs, loads that warps share, atomics, a strided store, a load that bypasses
 * the L1, and a pace. */
static int open_trace(void **state)
{
    (void)state;
    fail_from(0, false);
    struct made made = make((uint32_t[]){2, 2, 1}, 64);
    const uint32_t member = made_instruction(&made, 10, FTH_TRACE_READ, 4);
    const uint32_t shared = made_instruction(&made, 11, FTH_TRACE_READ, 4);
    const uint32_t atomic = made_instruction(&made, 12, FTH_TRACE_ATOMIC, 4);
    const uint32_t store = made_instruction(&made, 13, FTH_TRACE_WRITE, 4);
    const uint32_t bypass = made_operator(&made, 14, FTH_TRACE_READ, 4, 9);
    for (uint64_t warp = 0; warp < 8; warp++) {
        const uint32_t w = (uint32_t)warp % 2;
        made_access(&made, warp / 2, w, member, 0x10000 + warp * 1024, 32);
        made_access(&made, warp / 2, w, shared, 0x20000, 4);
        made_access(&made, warp / 2, w, atomic, 0x30000, 0);
        made_access(&made, warp / 2, w, store, 0x100000 + warp * 0x10000, 2048);
        made_access(&made, warp / 2, w, bypass, 0x40000, 4);
    }
    struct fth_pace_step *step = fth_pace_step(&made.pace, FTH_PACE_START, member);
    *step = (struct fth_pace_step){FTH_PACE_START, member, 8, 80, 80, 0, 0, 0};
    step = fth_pace_step(&made.pace, FTH_PACE_START, FTH_PACE_END);
    *step = (struct fth_pace_step){FTH_PACE_START, FTH_PACE_END, 1, 1, 1, 0, 0, 0};
    trace = made_open(&made);
    return 0;
}

static int close_trace(void **state)
{
    (void)state;
    fth_trace_close(trace);
    return 0;
}

static void edits_need_every_allocation(void **state)
{
    (void)state;
    static const char *const edits[] = {"layout=all", "merge=11,12", "hint=k.cu:110:nc",
                                        "blocks=swap"};
    for (size_t i = 0; i < FTH_COUNT(edits); i++) {
        size_t number = 0;
        for (bool failed = true; failed;) {
            struct fth_error error = NO_ERROR;
            struct fth_trace *edited = NULL;
            fail_from(++number, false);
            const enum fth_status status =
                fth_trace_edit(trace, &edits[i], 1, NULL, &edited, &error);
            failed = has_failed();
            if (status != (failed ? FTH_NO_MEMORY : FTH_OK))
                fail_msg("%s, allocation %zu: status %d: %s", edits[i], number, (int)status,
                         error.cause);
            assert_int_equal(error.status, status);
            assert_int_equal(edited != NULL, status == FTH_OK);
            fth_trace_close(edited);
        }
        assert_in_range(number, 10, 1000);
    }
    fail_from(0, false);
}

static void hints_need_every_allocation(void **state)
{
    (void)state;
    struct fth_model_params *params = NULL;
    struct fth_model_result *result = NULL;
    fail_from(0, false);
    assert_int_equal(fth_model_params_create(NULL, &params, NULL), FTH_OK);
    assert_int_equal(fth_model_run(trace, params, NULL, &result, NULL), FTH_OK);
    for (size_t i = 0; i < result->row_count; i++) {
        result->rows[i].l1_misses.capacity = result->rows[i].l1.sectors[FTH_TRACE_READ] / 2;
        result->rows[i].dram_reads *= 10;
        result->rows[i].shared = (struct fth_shared_counts){{1, 0, 0}, 32, 1, 1};
    }
    size_t number = 0;
    for (bool failed = true; failed;) {
        const struct fth_hints_options options = FTH_HINTS_OPTIONS(.threads = 1, .max_hints = 4);
        struct fth_error error = NO_ERROR;
        struct fth_hints *hints = NULL;
        fail_from(++number, false);
        const enum fth_status status =
            fth_hints_create(trace, params, result, &options, &hints, &error);
        failed = has_failed();
        if (status != (failed ? FTH_NO_MEMORY : FTH_OK))
            fail_msg("allocation %zu: status %d: %s", number, (int)status, error.cause);
        assert_int_equal(hints != NULL, status == FTH_OK);
        fth_hints_destroy(hints);
    }
    fail_from(0, false);
    assert_in_range(number, 100, 10000);
    fth_model_result_destroy(result);
    fth_model_params_destroy(params);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(edits_need_every_allocation),
                                       cmocka_unit_test(hints_need_every_allocation)};
    return cmocka_run_group_tests_name("advice without memory", tests, open_trace, close_trace);
}
