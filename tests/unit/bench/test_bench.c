/* Tests benches on simulated GPUs: bank conflicts against the tables of the report on the RTX 2060
 * (Qiu, Jo and Goswami), arithmetic throughput against the number of cores, and the results in
 * every output format. */
#include "base/json.h"
#include "bench/bench.h"
#include "device/sim/sim.h"
#include "run_bench.h"

static struct fth_bench *run(const char *device_id, const char *name)
{
    return run_bench(device_id, name, false);
}

/* ---- slots ---- */

/* A free cycle is reserved even if later cycles are already reserved. */
static void requests_reserve_the_first_free_cycles(void **state)
{
    (void)state;
    const int64_t cycle = FTH_SIM_CYCLE;
    struct fth_sim_slots slots = {.bits = 12};
    assert_int_equal(fth_sim_slots_take(&slots, 10 * cycle, 1), 0);
    assert_int_equal(fth_sim_slots_take(&slots, 10 * cycle, 1), cycle);
    assert_int_equal(fth_sim_slots_take(&slots, 10 * cycle + 500, 2), cycle * 3 / 2);
    assert_int_equal(fth_sim_slots_take(&slots, 9 * cycle, 1), 0);
    assert_int_equal(fth_sim_slots_take(&slots, 9 * cycle, 1), 5 * cycle);
    /* Reservations that cross words of 64 cycles, and one so late that the ring wraps around. */
    assert_int_equal(fth_sim_slots_take(&slots, 60 * cycle, 100), 0);
    assert_int_equal(fth_sim_slots_take(&slots, 61 * cycle, 1), 99 * cycle);
    assert_int_equal(fth_sim_slots_take(&slots, cycle << 20, 1), 0);
    assert_int_equal(fth_sim_slots_take(&slots, 10 * cycle, 1), 0);
    fth_sim_slots_fini(&slots);
}

/* ---- banks ---- */

/* Table I of the report: cycles for 1, 2, 4 … 1024 threads (rows) and strides of 1, 2, 4 … 32
 * (columns); 0: not available. Table II: cycles of 1-way, 2-way, 4-way … 32-way bank conflicts. */
static const double table_1[11][6] = {
    {22, 22, 22, 22, 22, 22},    {22, 22, 22, 22, 22, 24},   {22, 22, 22, 22, 24, 28},
    {22, 22, 22, 24, 28, 36},    {22, 22, 24, 28, 36, 52},   {22, 24, 28, 36, 52, 84},
    {22, 24, 28, 36, 52, 84},    {22, 24, 28, 36, 64, 128},  {22, 24, 32, 64, 127, 255},
    {32, 32, 64, 127, 255, 511}, {62, 62, 125, 251, 504, 0},
};
static const double table_2[6] = {22, 24, 28, 36, 52, 84};

/* With up to 512 threads, the cycles match the report to within about one cycle. With 1024 threads,
 * the report's figures are 2 to 3 % below those of 32 warps at the rate of 512 threads, because its
 * clock starts after the first loads of some warps. */
static void bank_conflicts_match_the_report(void **state)
{
    (void)state;
    struct fth_bench *bench = run("sim:rtx2060", "banks");
    const struct fth_bench_series *banks = series_of(bench, "banks.4");
    assert_int_equal(banks->table.row_count, 66);
    for (size_t i = 0; i < 66; i++) {
        const struct fth_cell *cells = &banks->table.cells[3 * i];
        const double expected = table_1[i / 6][i % 6], measured = cells[2].number;
        const double tolerance = i / 6 < 10 ? 1.1 : 0.035 * expected;
        if (expected == 0 ? !isnan(measured) : !(fabs(measured - expected) <= tolerance))
            fail_msg("%g threads, stride %g: %g cycles instead of %g", cells[0].number,
                     cells[1].number, measured, expected);
    }
    const struct fth_bench_series *ways = series_of(bench, "banks.ways");
    for (size_t i = 0; i < 6; i++)
        assert_true(fabs(ways->table.cells[2 * i + 1].number - table_2[i]) < 0.05);
    assert_true(figure_of(ways, "banks") == 32);
    assert_true(figure_of(ways, "bank_bytes") == 4);
    assert_true(fabs(figure_of(ways, "conflict_cycles") - 2) < 0.05);
    fth_bench_destroy(bench);
}

/* ---- arithmetic ---- */

static void throughput_reaches_but_does_not_exceed_the_cores(void **state)
{
    (void)state;
    struct fth_bench *bench = run("sim:rtx2060", "arith");
    const struct fth_bench_series *arith = series_of(bench, "arith");
    const double cores = 64;
    assert_int_equal(arith->table.row_count, 24);
    for (size_t i = 0; i < arith->table.row_count; i++) {
        const struct fth_cell *cells = &arith->table.cells[i * arith->table.column_count];
        const double results_per_core = strstr(cells[0].text, "pairs") ? 2 : 1;
        assert_true(cells[2].number > 0.97 * results_per_core * cores &&
                    cells[2].number <= results_per_core * cores);
    }
    assert_true(arith->missing_count > 0); /* bf16 needs a later GPU */
    for (size_t i = 0; i < arith->missing_count; i++)
        assert_non_null(strstr(arith->missing[i], "compute capability"));
    fth_bench_destroy(bench);
}

/* ---- formats ---- */

static char *render(const struct fth_bench *bench, const char *format, size_t *size)
{
    char *text = NULL;
    assert_int_equal(fth_report_bench(format, bench, NULL, &text, size, NULL), FTH_OK);
    return text;
}

static void every_point_is_in_the_json_and_csv_output(void **state)
{
    (void)state;
    struct fth_bench *bench = run("sim:gtx780", "atomics");
    const size_t rows = series_of(bench, "atomics")->table.row_count;
    assert_true(rows > 0);
    size_t size, lines = 0;
    char *text = render(bench, "json", &size);
    struct fth_json_document document = {0};
    assert_int_equal(fth_json_parse("bench", text, size, &document, NULL), FTH_OK);
    assert_string_equal(fth_json_string(fth_json_get(document.root, "schema")), "fathom-bench/1");
    const struct fth_json *series = fth_json_get(document.root, "series");
    assert_int_equal(fth_json_count(fth_json_get(fth_json_get(series, "atomics"), "points")), rows);
    fth_json_fini(&document);
    fth_free(text);
    text = render(bench, "csv", &size);
    for (size_t i = 0; i < size; i++)
        lines += text[i] == '\n';
    size_t cells = 0;
    for (size_t i = 0; i < fth_bench_series_count(bench); i++) {
        const struct fth_table *table = &fth_bench_series_at(bench, i)->table;
        cells += table->row_count * table->column_count;
    }
    assert_int_equal(lines, 1 + cells);
    fth_free(text);
    text = render(bench, "text", &size);
    assert_non_null(strstr(text, "simulated"));
    fth_free(text);
    assert_int_equal(fth_report_bench("html", bench, NULL, &text, &size, NULL), FTH_INVALID);
    fth_bench_destroy(bench);
}

static void reports_unknown_benches(void **state)
{
    (void)state;
    struct fth_device *device = NULL;
    struct fth_bench *bench = NULL;
    struct fth_error error = FTH_NO_ERROR;
    const char *name = "bank";
    const struct fth_bench_options options = FTH_BENCH_OPTIONS(.names = &name, .count = 1);
    assert_int_equal(fth_device_open("sim:gtx780", NULL, &device, NULL), FTH_OK);
    assert_int_equal(fth_bench_create(device, &options, &bench, &error), FTH_INVALID);
    assert_non_null(strstr(error.cause, "banks"));
    assert_null(bench);
    fth_device_close(device);
}

/* Benches read the causes of errors, which they report with their results, also if the caller does
 * not want the error. The recording lacks the requests of this bench, which ends the bench. */
static void a_bench_needs_no_error(void **state)
{
    (void)state;
    struct fth_device *device = NULL;
    struct fth_bench *bench = NULL;
    const char *name = "global";
    const struct fth_bench_options options = FTH_BENCH_OPTIONS(.names = &name, .count = 1);
    assert_int_equal(fth_device_open("replay:" FTH_SOURCE_ROOT
                                     "/tests/replay/bench-caches-h200.zst",
                                     NULL, &device, NULL),
                     FTH_OK);
    assert_int_equal(fth_bench_create(device, &options, &bench, NULL), FTH_UNAVAILABLE);
    const struct fth_bench_series *series = series_of(bench, "global");
    assert_true(series->missing_count > 0);
    assert_non_null(strstr(series->missing[0], "the recording has no answer"));
    fth_bench_destroy(bench);
    fth_device_close(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_reserve_the_first_free_cycles),
        cmocka_unit_test(bank_conflicts_match_the_report),
        cmocka_unit_test(throughput_reaches_but_does_not_exceed_the_cores),
        cmocka_unit_test(every_point_is_in_the_json_and_csv_output),
        cmocka_unit_test(reports_unknown_benches),
        cmocka_unit_test(a_bench_needs_no_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
