/* Tests of the functions with which benches store their results (bench_run.c). The bench is made
 * from a recording. */
#include "base/base.h"
#include "bench/bench.h"
#include "run_bench.h"

#include <stdio.h>

static struct fth_bench *replay_banks(void)
{
    char id[512];
    snprintf(id, sizeof id, "replay:%s/tests/replay/simulated/two-sms/bench.zst", FTH_SOURCE_ROOT);
    return run_bench(id, "banks", false);
}

static const struct fth_bench_series *last_series(const struct fth_bench *bench)
{
    return fth_bench_series_at(bench, fth_bench_series_count(bench) - 1);
}

static void benches_have_names(void **state)
{
    (void)state;
    static const char *const names[] = {"banks", "shared",  "scaling", "latency",
                                        "arith", "atomics", "global",  "copies",
                                        "link",  "memory",  "stream"};
    for (size_t i = 0; i < FTH_COUNT(names); i++) {
        const char *summary = NULL;
        assert_string_equal(fth_bench_name(i, &summary), names[i]);
        assert_string_equal(fth_bench_name(i, NULL), names[i]);
        assert_true(summary && strlen(summary) > 10);
        assert_int_equal(fth_bench_check_name(names[i], NULL), FTH_OK);
    }
    assert_null(fth_bench_name(FTH_COUNT(names), NULL));
    assert_int_equal(fth_bench_check_name("all", NULL), FTH_OK);
    static const struct {
        const char *name, *cause;
    } rows[] = {
        {"bank", "no such bench; did you mean 'banks'?"},
        {"streams", "no such bench; did you mean 'stream'?"},
        {"al", "no such bench; did you mean 'all'?"},
        {"xyzzyxyzzy", "no such bench; see 'fathom bench --help'"},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_error error = NO_ERROR;
        assert_int_equal(fth_bench_check_name(rows[i].name, &error), FTH_INVALID);
        assert_string_equal(error.cause, rows[i].cause);
        assert_string_equal(error.argument, rows[i].name);
        assert_string_equal(error.operation, "choose bench");
    }
}

static void failures_become_missing_points(void **state)
{
    (void)state;
    struct fth_bench *bench = replay_banks();
    const size_t before = last_series(bench)->missing_count;
    static const enum fth_status kept[] = {FTH_INCONCLUSIVE, FTH_UNSUPPORTED};
    for (size_t i = 0; i < 2; i++) {
        struct fth_error error = NO_ERROR;
        enum fth_status status = fth_fail(&error, kept[i], "test", NULL, "a cause");
        assert_int_equal(fth_bench_keep_failure(bench, "a point", status, &error), FTH_OK);
        assert_int_equal(error.status, FTH_OK);
        assert_int_equal(last_series(bench)->missing_count, before + i + 1);
        assert_string_equal(last_series(bench)->missing[before + i], "a point: a cause");
    }
    assert_int_equal(fth_bench_keep_failure(bench, "a point", FTH_INCONCLUSIVE, NULL), FTH_OK);
    assert_string_equal(last_series(bench)->missing[before + 2], "a point: not measured");
    static const enum fth_status returned[] = {FTH_UNAVAILABLE, FTH_INTERRUPTED, FTH_NO_MEMORY};
    for (size_t i = 0; i < FTH_COUNT(returned); i++) {
        struct fth_error error = NO_ERROR;
        enum fth_status status = fth_fail(&error, returned[i], "test", NULL, "a cause");
        assert_int_equal(fth_bench_keep_failure(bench, "a point", status, &error), returned[i]);
        assert_string_equal(error.cause, "a cause");
        assert_int_equal(last_series(bench)->missing_count, before + 3);
    }
    fth_bench_destroy(bench);
}

static void results_are_stored(void **state)
{
    (void)state;
    static const struct fth_column columns[] = {{.key = "x"}, {.key = "y"}};
    struct fth_bench *bench = replay_banks();
    const size_t count = fth_bench_series_count(bench);
    assert_int_equal(fth_bench_add_series(bench, "made", "A title", columns, 2, NULL), FTH_OK);
    const struct fth_bench_series *made = fth_bench_series_at(bench, count);
    assert_int_equal(fth_bench_series_count(bench), count + 1);
    assert_null(fth_bench_series_at(bench, count + 1));
    assert_string_equal(made->name, "made");
    assert_string_equal(made->title, "A title");
    assert_int_equal(made->table.column_count, 2);
    assert_int_equal(made->table.row_count, 0);
    assert_false(made->grid || made->plot || made->detail);
    for (size_t i = 0; i < 40; i++) {
        char text[16];
        snprintf(text, sizeof text, "row %zu", i);
        const struct fth_cell cells[] = {{.text = text, .number = NAN}, {.number = (double)i}};
        assert_int_equal(fth_bench_add_row(bench, cells, NULL), FTH_OK);
        assert_int_equal(fth_bench_add_figure(bench, text, (double)i, "B", "a method", NULL),
                         FTH_OK);
        assert_int_equal(fth_bench_add_missing(bench, text, NULL), FTH_OK);
    }
    made = fth_bench_series_at(bench, count);
    assert_int_equal(made->table.row_count, 40);
    assert_int_equal(made->figure_count, 40);
    assert_int_equal(made->missing_count, 40);
    for (size_t i = 0; i < 40; i++) {
        char text[16];
        snprintf(text, sizeof text, "row %zu", i);
        assert_string_equal(made->table.cells[2 * i].text, text);
        assert_true(isnan(made->table.cells[2 * i].number));
        assert_null(made->table.cells[2 * i + 1].text);
        assert_true(made->table.cells[2 * i + 1].number == (double)i);
        assert_true(made->figures[i].value == (double)i);
        assert_string_equal(made->figures[i].key, text);
        assert_string_equal(made->figures[i].unit, "B");
        assert_string_equal(made->figures[i].method, "a method");
        assert_string_equal(made->missing[i], text);
    }
    fth_bench_show_grid(bench, 1, 0, 1);
    fth_bench_show_plot(bench, 1, 0, 1);
    fth_bench_hide_table(bench);
    made = fth_bench_series_at(bench, count);
    assert_true(made->grid && made->plot && made->detail);
    assert_true(made->down == 1 && made->across == 0 && made->value == 1);
    assert_true(made->x == 1 && made->y == 0 && made->by == 1);
    fth_bench_destroy(bench);
}

/* A bandwidth may exceed the limit of the bus by 2 %. */
static void rates_above_the_bus_are_refused(void **state)
{
    (void)state;
    const struct fth_bench_run run = {.memory_limit = 100e9};
    struct fth_error error = NO_ERROR;
    assert_int_equal(fth_bench_check_rate(&run, 102e9, &error), FTH_OK);
    assert_int_equal(fth_bench_check_rate(&run, 102.1e9, &error), FTH_INCONCLUSIVE);
    assert_string_equal(error.cause,
                        "measured 102.1 GB/s, but memory clock and bus allow only 100");
    assert_true(fth_bench_ended_early(FTH_INTERRUPTED) && fth_bench_ended_early(FTH_UNAVAILABLE));
    assert_false(fth_bench_ended_early(FTH_OK) || fth_bench_ended_early(FTH_NO_MEMORY));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(benches_have_names),
        cmocka_unit_test(failures_become_missing_points),
        cmocka_unit_test(results_are_stored),
        cmocka_unit_test(rates_above_the_bus_are_refused),
    };
    return cmocka_run_group_tests_name("bench_results", tests, NULL, NULL);
}
