/* Tests the benches of atomics by scope, of host memory and of the behaviour of memory on a
 * simulated GPU with two partitions of the L2: their figures are those of its description. */
#include "bench/bench.h"
#include "run_bench.h"

#include <stdlib.h>
#include <unistd.h>

/* Figures of the description that the tests expect. */
#define L2_CYCLES 200
#define FAR_CYCLES 400
#define LOAD_NS 1000
#define FAULT_NS 20000
#define PERIOD_NS 2345
#define REFRESH_CYCLES 600

static const char description[] =
    "{\"schema\": \"fathom-gpu/1\", \"device\": {\"name\": \"two partitions\", \"sms\": 2, "
    "\"clock_mhz\": 1000, \"compute_capability\": \"9.0\", \"link_load_latency_ns\": 1000, "
    "\"link_load_bytes_per_s\": 5e10, \"link_store_bytes_per_s\": 6e10, "
    "\"link_to_device_bytes_per_s\": 5e10, \"managed_fault_ns\": 20000, "
    "\"managed_page_bytes\": 65536}, \"elements\": {"
    "\"l1\": {\"size_bytes\": 65536, \"latency_cycles\": 30, \"caches\": [\"global\"]}, "
    "\"l2\": {\"size_bytes\": 4194304, \"latency_cycles\": 200, \"far_latency_cycles\": 400, "
    "\"partitions\": 2, \"home_mask\": 128, \"partition_by_sm\": [0, 1]}, "
    "\"memory\": {\"latency_cycles\": 500, \"far_latency_cycles\": 700, "
    "\"read_bytes_per_s\": 2e10, \"write_bytes_per_s\": 1e10, \"refresh_period_ns\": 2345, "
    "\"refresh_cycles\": 600}}}";

/* Writes the description to a file and runs a bench on it. */
static struct fth_bench *run(const char *name)
{
    char id[] = "sim:/tmp/fathom-bench-memory-XXXXXX";
    const int file = mkstemp(id + 4);
    assert_true(file >= 0);
    assert_int_equal(write(file, description, sizeof description - 1), sizeof description - 1);
    close(file);
    struct fth_bench *bench = run_bench(id, name, false);
    unlink(id + 4);
    return bench;
}

static const struct fth_cell *row_of(const struct fth_bench_series *series, const char *text,
                                     const char *second)
{
    for (size_t i = 0; i < series->table.row_count; i++) {
        const struct fth_cell *cells = &series->table.cells[i * series->table.column_count];
        if (strcmp(cells[0].text, text) == 0 && (!second || strcmp(cells[1].text, second) == 0))
            return cells;
    }
    fail_msg("no row %s", text);
    return NULL;
}

static void assert_near(double value, double expected, double difference)
{
    if (!(fabs(value - expected) <= difference))
        fail_msg("%g instead of %g", value, expected);
}

/* ---- atomics ---- */

/* A load finds a copy in the near partition. An atomic goes to the home partition, which is far for
 * half of the lines, whatever its scope. */
static void atomics_execute_in_the_home_partition(void **state)
{
    (void)state;
    static const char *const scopes[] = {"atomic, scope cta", "atomic, scope cluster",
                                         "atomic, scope gpu", "atomic, scope sys"};
    struct fth_bench *bench = run("atomics");
    const struct fth_bench_series *latency = series_of(bench, "atomics.latency");
    const struct fth_cell *load = row_of(latency, "load, past L1", "L2");
    assert_near(load[2].number, L2_CYCLES, 4);
    assert_near(load[4].number, L2_CYCLES, 4);
    for (size_t i = 0; i < FTH_COUNT(scopes); i++) {
        const struct fth_cell *atomic = row_of(latency, scopes[i], "L2");
        assert_near(atomic[2].number, L2_CYCLES, 4);
        assert_near(atomic[4].number, FAR_CYCLES, 4);
    }
    assert_true(figure_of(latency, "scope_effect_percent") == 0);
    fth_bench_destroy(bench);
}

static void atomics_have_tables_by_contention(void **state)
{
    (void)state;
    struct fth_bench *bench = run("atomics");
    const struct fth_bench_series *global = series_of(bench, "atomics.global");
    const struct fth_bench_series *shared = series_of(bench, "atomics.shared");
    assert_int_equal(global->table.row_count, 16);
    assert_int_equal(shared->table.row_count, 6);
    for (size_t i = 0; i < global->table.row_count * global->table.column_count; i++)
        assert_true(i % global->table.column_count == 0 || global->table.cells[i].number > 0);
    /* 32 lanes on one word, or on words of one bank, are serialized. */
    const struct fth_cell *add = row_of(shared, "atom u32, shared memory", NULL);
    assert_true(add[3].number > 2 * add[1].number);
    assert_true(add[3].number > 2 * add[4].number);
    /* Reductions need no result, so that more of them are in flight. */
    assert_true(row_of(global, "red u32, scope gpu", NULL)[4].number >
                10 * row_of(global, "atom u32, scope gpu", NULL)[4].number);
    fth_bench_destroy(bench);
}

/* ---- host memory ---- */

static void host_memory_has_the_figures_of_the_link(void **state)
{
    (void)state;
    struct fth_bench *bench = run("link");
    const struct fth_bench_series *latency = series_of(bench, "link.latency");
    const struct fth_cell *past = row_of(latency, "load, past L1", NULL);
    const struct fth_cell *cached = row_of(latency, "load, L1", NULL);
    assert_near(past[1].number, LOAD_NS, 5);
    assert_near(past[3].number, LOAD_NS, 5);
    assert_near(cached[1].number, LOAD_NS, 5);
    assert_near(cached[3].number, 30, 5); /* the L1 has it */
    const struct fth_bench_series *kernels = series_of(bench, "link.kernels");
    for (size_t i = 0; i < kernels->table.row_count; i++)
        assert_true(kernels->table.cells[3 * i + 2].number <= 60);
    const struct fth_gpu *gpu = fth_bench_gpu(bench);
    assert_near(fth_gpu_number(gpu, "device", "link_load_latency_ns", NAN), LOAD_NS, 5);
    const double load = fth_gpu_number(gpu, "device", "link_load_bytes_per_s", NAN);
    const double store = fth_gpu_number(gpu, "device", "link_store_bytes_per_s", NAN);
    assert_true(load > 2e10 && load <= 5e10 && store > 2e10 && store <= 6e10);
    fth_bench_destroy(bench);
}

/* In order, the blocks that faults move have 64, 64, 128, 256, 512 and 1024 KiB: six per 2 MiB. */
static void managed_memory_moves_in_growing_blocks(void **state)
{
    (void)state;
    struct fth_bench *bench = run("link");
    const struct fth_bench_series *managed = series_of(bench, "link.managed");
    assert_near(figure_of(managed, "page_kib"), 64, 0);
    assert_near(figure_of(managed, "kib_per_fault"), 2048.0 / 6, 0.1);
    /* The link moves 64 KiB in 1.3 us and 1 MiB in 21 us. */
    assert_near(1000 * figure_of(managed, "fault_us"), FAULT_NS, 8000);
    const struct fth_cell *faults = row_of(managed, "read, moved by faults", NULL);
    const struct fth_cell *prefetched = row_of(managed, "read, prefetched", NULL);
    assert_true(faults[1].number < faults[2].number / 2);
    assert_near(prefetched[1].number, faults[2].number, 0.5 * faults[2].number);
    fth_bench_destroy(bench);
}

static void a_description_without_figures_has_reasons(void **state)
{
    (void)state;
    struct fth_bench *bench = run_bench("sim:rtx2060", "link", false);
    static const char *const names[] = {"link.latency", "link.kernels", "link.managed"};
    for (size_t i = 0; i < FTH_COUNT(names); i++) {
        const struct fth_bench_series *series = series_of(bench, names[i]);
        assert_int_equal(series->table.row_count, 0);
        assert_int_equal(series->missing_count, 1);
        assert_non_null(strstr(series->missing[0], "the description has no"));
    }
    fth_bench_destroy(bench);
}

/* ---- memory ---- */

static void the_refresh_is_found(void **state)
{
    (void)state;
    struct fth_bench *bench = run("memory");
    const struct fth_bench_series *refresh = series_of(bench, "memory.refresh");
    const struct fth_cell *cells = row_of(refresh, "refresh", NULL);
    assert_near(cells[1].number, PERIOD_NS, 2);
    assert_true(cells[4].number > 100 && cells[4].number <= REFRESH_CYCLES + 5);
    const struct fth_gpu *gpu = fth_bench_gpu(bench);
    assert_near(fth_gpu_number(gpu, "memory", "refresh_period_ns", NAN), PERIOD_NS, 2);
    assert_non_null(fth_gpu_unknown(gpu, "memory", "pause_period_ns"));
    fth_bench_destroy(bench);
}

static void strides_and_mixes_follow_the_bandwidths(void **state)
{
    (void)state;
    struct fth_bench *bench = run("memory");
    const struct fth_bench_series *strides = series_of(bench, "memory.strides");
    double full = 0, part = 0;
    for (size_t i = 0; i < strides->table.row_count; i++) {
        const struct fth_cell *cells = &strides->table.cells[3 * i];
        if (cells[0].number == 256 && strcmp(cells[1].text, "256 B") == 0)
            full = cells[2].number;
        if (cells[0].number == 256 && strcmp(cells[1].text, "32 B") == 0)
            part = cells[2].number;
        assert_true(cells[2].number > 0 && cells[2].number < 21);
    }
    assert_true(full > 12 && part < 1.01 * full);
    const struct fth_bench_series *mix = series_of(bench, "memory.mix");
    assert_int_equal(mix->table.row_count, 9);
    const struct fth_cell *last = &mix->table.cells[(size_t)8 * 3];
    assert_true(mix->table.cells[0].number == 0 && last[0].number == 100);
    assert_true(last[1].number < 0.8 * mix->table.cells[1].number); /* writes are half as fast */
    fth_bench_destroy(bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(atomics_execute_in_the_home_partition),
        cmocka_unit_test(atomics_have_tables_by_contention),
        cmocka_unit_test(host_memory_has_the_figures_of_the_link),
        cmocka_unit_test(managed_memory_moves_in_growing_blocks),
        cmocka_unit_test(a_description_without_figures_has_reasons),
        cmocka_unit_test(the_refresh_is_found),
        cmocka_unit_test(strides_and_mixes_follow_the_bandwidths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
