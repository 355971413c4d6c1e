/* Tests the bench of asynchronous copies on simulated GPUs. The truth is the description: what the
 * bench measures must be the figures of its copy engine. */
#include "bench/bench.h"
#include "run_bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* A GPU with two GPCs of two SMs. The copy engine has other figures than the defaults. */
static const char gpu_format[] =
    "{\"schema\": \"fathom-gpu/1\", \"device\": {\"name\": \"Small\", \"vendor\": \"NVIDIA\","
    " \"compute_capability\": \"%s\", \"sms\": 4, \"clock_mhz\": 1000,"
    " \"max_threads_per_sm\": 1024, \"max_threads_per_block\": 1024}, \"elements\": {"
    " \"shared\": {\"scope\": \"sm\", \"size_bytes\": 232448, \"latency_cycles\": 24},"
    " \"cluster_shared\": {\"latency_cycles\": 150, \"far_latency_cycles\": 180,"
    " \"read_bytes_per_s\": 64e9, \"write_bytes_per_s\": 64e9},"
    " \"l2\": {\"scope\": \"gpu\", \"size_bytes\": 1048576, \"line_bytes\": 128,"
    " \"latency_cycles\": 200},%s"
    " \"memory\": {\"scope\": \"gpu\", \"size_bytes\": 2147483648, \"latency_cycles\": 500}}}";
static const char engine[] =
    " \"tma\": {\"scope\": \"sm\", \"latency_cycles\": 345, \"store_latency_cycles\": 130,"
    " \"bytes_per_cycle\": 48, \"store_bytes_per_cycle\": 24, \"copy_cycles\": 11},";

/* Runs the bench on the GPU. The caller destroys the result. */
static struct fth_bench *run_on(const char *capability, const char *tma)
{
    char path[] = "/tmp/fathom-copiesXXXXXX", id[64], text[2048];
    int file = mkstemp(path);
    assert_true(file >= 0);
    const int size = snprintf(text, sizeof text, gpu_format, capability, tma);
    assert_int_equal(write(file, text, (size_t)size), size);
    close(file);
    snprintf(id, sizeof id, "sim:%s", path);
    struct fth_bench *bench = run_bench(id, "copies", false);
    unlink(path);
    return bench;
}

static void assert_near(double value, double expected, double fraction)
{
    if (!(fabs(value - expected) <= fraction * expected))
        fail_msg("%g instead of %g", value, expected);
}

/* Returns the cell of a row and a column. */
static double cell(const struct fth_bench_series *series, size_t row, size_t column)
{
    assert_true(row < series->table.row_count);
    return series->table.cells[row * series->table.column_count + column].number;
}

/* Returns the cycles of the row for a size in a table whose first column is the size. */
static double cycles_of(const struct fth_bench_series *series, double bytes, size_t column)
{
    for (size_t i = 0; i < series->table.row_count; i++)
        if (cell(series, i, 0) == bytes)
            return cell(series, i, column);
    fail_msg("no row %g", bytes);
    return NAN;
}

/* The figures of the copy engine, from the description and back. */
static void finds_the_copy_engine(void **state)
{
    (void)state;
    struct fth_bench *bench = run_on("9.0", engine);
    const struct fth_gpu *gpu = fth_bench_gpu(bench);
    assert_near(fth_gpu_number(gpu, "tma", "latency_cycles", NAN), 345, 0.01);
    assert_near(fth_gpu_number(gpu, "tma", "store_latency_cycles", NAN), 130, 0.02);
    assert_near(fth_gpu_number(gpu, "tma", "bytes_per_cycle", NAN), 48, 0.01);
    assert_near(fth_gpu_number(gpu, "tma", "store_bytes_per_cycle", NAN), 24, 0.01);
    assert_near(fth_gpu_number(gpu, "tma", "copy_cycles", NAN), 11, 0.03);
    fth_bench_destroy(bench);
}

/* A larger copy takes as much longer as its bytes take; memory is as much slower than the L2 as it
 * is for a load. */
static void larger_copies_take_longer(void **state)
{
    (void)state;
    struct fth_bench *bench = run_on("9.0", engine);
    const struct fth_bench_series *series = series_of(bench, "copies.latency");
    const double small = cycles_of(series, 128, 1), large = cycles_of(series, 8192, 1);
    assert_near(large - small, (8192 - 128) / 48.0, 0.1);
    assert_near(cycles_of(series, 128, 2) - small, 300, 0.01);
    assert_near(cycles_of(series, 8192, 3) - cycles_of(series, 128, 3), (8192 - 128) / 24.0, 0.05);
    const struct fth_bench_series *tensor = series_of(bench, "copies.tensor");
    for (size_t rank = 1; rank <= 5; rank++)
        assert_near(cell(tensor, 0, rank), small, 0.02);
    fth_bench_destroy(bench);
}

/* Copies in flight: without enough of them, the rate is their bytes divided by the latency. */
static void few_copies_wait(void **state)
{
    (void)state;
    struct fth_bench *bench = run_on("9.0", engine);
    const struct fth_bench_series *series = series_of(bench, "copies.one_sm");
    assert_true(cell(series, 0, 0) == 2 && cell(series, 0, 1) == 128);
    assert_near(cell(series, 0, 2), 2 * 128 / 345.0, 0.15);
    const struct fth_bench_series *burst = series_of(bench, "copies.burst");
    assert_near(cell(burst, 0, 2), 345, 0.01);
    fth_bench_destroy(bench);
}

/* Clusters of two blocks are on one GPC; larger ones do not fit on it. */
static void measures_clusters(void **state)
{
    (void)state;
    struct fth_bench *bench = run_on("9.0", engine);
    const struct fth_bench_series *series = series_of(bench, "copies.cluster");
    assert_near(cell(series, 0, 2), 150, 0.01);
    /* A store is one way; a bulk copy takes the time of the engine as well. */
    assert_near(cell(series, 0, 3), 150, 0.2);
    assert_near(cell(series, 0, 4) - cell(series, 0, 3), 345 - 200 - 34, 0.1);
    assert_near(figure_of(series, "max_load_cycles"), 180, 0.01);
    const struct fth_bench_series *rates = series_of(bench, "copies.cluster_rate");
    assert_near(cell(rates, 0, 1), 16, 0.05);
    assert_near(cell(rates, 0, 2), 16, 0.05);
    assert_near(cell(rates, 0, 4), 48, 0.05);
    fth_bench_destroy(bench);
}

/* Older GPUs: each table that they cannot have has a reason; the others are measured. */
static void older_gpus_have_reasons(void **state)
{
    (void)state;
    struct fth_bench *bench = run_on("8.0", "");
    const struct fth_bench_series *series = series_of(bench, "copies.latency");
    assert_int_equal(series->table.row_count, 0);
    assert_int_equal(series->missing_count, 1);
    assert_non_null(strstr(series->missing[0], "require compute capability 9.0 or later"));
    series = series_of(bench, "copies.cluster");
    assert_non_null(strstr(series->missing[0], "require compute capability 9.0"));
    assert_int_equal(series_of(bench, "copies.threads")->table.row_count, 3);
    fth_bench_destroy(bench);
    bench = run_on("7.5", "");
    series = series_of(bench, "copies.threads");
    assert_int_equal(series->table.row_count, 0);
    assert_non_null(strstr(series->missing[0], "require compute capability 8.0 or later"));
    fth_bench_destroy(bench);
}

/* Without a copy engine in the description, a copy takes as long as a load. */
static void engine_is_optional(void **state)
{
    (void)state;
    struct fth_bench *bench = run_on("9.0", "");
    const struct fth_bench_series *series = series_of(bench, "copies.latency");
    assert_near(cycles_of(series, 128, 1), 200 + 34, 0.02);
    const struct fth_bench_series *threads = series_of(bench, "copies.threads");
    assert_near(cell(threads, 0, 1), 200 + 34, 0.1);
    fth_bench_destroy(bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_the_copy_engine),   cmocka_unit_test(larger_copies_take_longer),
        cmocka_unit_test(few_copies_wait),         cmocka_unit_test(measures_clusters),
        cmocka_unit_test(older_gpus_have_reasons), cmocka_unit_test(engine_is_optional),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
