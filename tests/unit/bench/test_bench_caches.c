/* Tests the benches of shared memory, bank conflicts, atomics, bandwidth by parallelism and latency
 * on simulated GPUs. The truth is the description of a small GPU and, for GPUs of the catalogue,
 * the tables of Mei and Chu ("Dissecting GPU Memory Hierarchy through Microbenchmarking", 2017). */
#include "bench/bench.h"
#include "run_bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- a small GPU ---- */

static const char small_gpu[] =
    "{\"schema\": \"fathom-gpu/1\", \"device\": {\"name\": \"Small\", \"vendor\": \"NVIDIA\","
    " \"compute_capability\": \"7.0\", \"sms\": 4, \"clock_mhz\": 1000, \"max_threads_per_sm\": "
    "1024,"
    " \"max_threads_per_block\": 256}, \"elements\": {"
    " \"l1\": {\"scope\": \"sm\", \"size_bytes\": 32768, \"line_bytes\": 128,"
    " \"latency_cycles\": 30},"
    " \"shared\": {\"scope\": \"sm\", \"size_bytes\": 49152, \"latency_cycles\": 24,"
    " \"banks\": 32, \"bank_bytes\": 4, \"conflict_cycles\": 3},"
    " \"l2\": {\"scope\": \"gpu\", \"size_bytes\": 1048576, \"line_bytes\": 128,"
    " \"latency_cycles\": 200, \"read_bytes_per_s\": 128e9},"
    " \"memory\": {\"scope\": \"gpu\", \"size_bytes\": 2147483648, \"latency_cycles\": 500,"
    " \"read_bytes_per_s\": 64e9}}}";

/* Writes a description to a temporary file. `id` is set to "sim:PATH", which opens the GPU. */
static void write_gpu(const void *text, size_t size, char id[64])
{
    char path[] = "/tmp/fathom-benchXXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(write(file, text, size), (ssize_t)size);
    close(file);
    snprintf(id, 64, "sim:%s", path);
}

static struct fth_bench *run_small(const char *name, bool thorough)
{
    char id[64];
    write_gpu(small_gpu, sizeof small_gpu - 1, id);
    struct fth_bench *bench = run_bench(id, name, thorough);
    unlink(id + 4);
    return bench;
}

/* Returns the value in the row of `quantity`, in a table with the columns quantity and value. */
static double value_of(const struct fth_bench_series *series, const char *quantity)
{
    for (size_t i = 0; i < series->table.row_count; i++)
        if (strcmp(series->table.cells[2 * i].text, quantity) == 0)
            return series->table.cells[2 * i + 1].number;
    fail_msg("no row %s", quantity);
    return NAN;
}

/* Asserts that the value differs from the expected one by at most this fraction. */
static void assert_close(double value, double expected, double fraction)
{
    if (!(fabs(value - expected) <= fraction * expected))
        fail_msg("%g instead of %g", value, expected);
}

/* ---- shared memory ---- */

/* Table 7 of Mei and Chu. W_SM is W_bank * f_core * 32 banks; for the GTX 980 the paper has 163.84,
 * which is the product for 1.28 GHz. The warps follow from Little's law; Section 6.1 has them for
 * the GTX 780 ("about 94 active warps"). */
static void reproduces_table_7(void **state)
{
    (void)state;
    static const struct {
        const char *device;
        double bank, ghz, theory, achieved, efficiency, warps;
    } rows[] = {{"sim:gtx560ti", 2, 0.950, 60.80, 34.90, 57.4, 25},
                {"sim:gtx780", 8, 1.006, 257.54, 83.81, 32.5, 94},
                {"sim:gtx980", 4, 1.279, 163.71, 137.41, 83.9, 28}};
    for (size_t i = 0; i < (SANITIZED ? 1 : FTH_COUNT(rows)); i++) {
        struct fth_bench *bench = run_bench(rows[i].device, "shared", false);
        const struct fth_bench_series *theory = series_of(bench, "shared.theory");
        assert_true(value_of(theory, "W_bank (byte/cycle)") == rows[i].bank);
        assert_close(value_of(theory, "f_core (GHz)"), rows[i].ghz, 0.001);
        assert_close(value_of(theory, "W_SM (GB/s)"), rows[i].theory, 0.001);
        assert_close(value_of(theory, "W'_SM (GB/s)"), rows[i].achieved, 0.01);
        assert_close(value_of(theory, "Efficiency (%)"), rows[i].efficiency, 0.01);
        assert_true(figure_of(theory, "warps_needed") == rows[i].warps);
        const struct fth_gpu *gpu = fth_bench_gpu(bench);
        assert_close(fth_gpu_number(gpu, "shared", "copy_bytes_per_s", NAN),
                     rows[i].achieved * 1e9 * fth_gpu_number(gpu, "device", "sms", NAN), 0.01);
        fth_bench_destroy(bench);
    }
}

/* On a simulated GPU, few rounds are measured. They are enough: no launch is faster than the banks.
 */
static void few_rounds_do_not_exceed_the_banks(void **state)
{
    (void)state;
    if (SANITIZED)
        return; /* it takes half a minute then */
    struct fth_bench *bench = run_bench("sim:h200", "shared", false);
    const struct fth_bench_series *theory = series_of(bench, "shared.theory");
    assert_true(value_of(theory, "Efficiency (%)") <= 100);
    for (size_t i = 0; i < theory->missing_count; i++)
        assert_null(strstr(theory->missing[i], "not trustworthy"));
    fth_bench_destroy(bench);
}

/* With few warps, Little's law limits the throughput: one warp with one word per lane reads 128 and
 * writes 128 bytes in the time of the latency plus about one cycle to issue the store. */
static void few_warps_are_limited_by_latency(void **state)
{
    (void)state;
    struct fth_bench *bench = run_small("shared", false);
    const struct fth_bench_series *points = series_of(bench, "shared.points");
    const struct fth_cell *first = points->table.cells;
    assert_true(first[1].number == 32 && first[2].number == 1 && first[3].number == 1);
    assert_close(first[5].number, 256 / (24 + 1.0), 0.05);
    const size_t columns = points->table.column_count;
    for (size_t i = 0; i < points->table.row_count; i++)
        assert_true(points->table.cells[i * columns + 5].number <= 128 * 1.005);
    assert_true(figure_of(series_of(bench, "shared.theory"), "copy_of_theory") > 0.98);
    fth_bench_destroy(bench);
}

/* ---- bank conflicts, Section 6.2 of Mei and Chu ---- */

/* Returns the latency of the largest or the smallest footprint of a curve. */
static double latency_of(const struct fth_bench_series *series, const char *curve, bool largest)
{
    double bytes = NAN, cycles = NAN;
    for (size_t i = 0; i < series->table.row_count; i++) {
        const struct fth_cell *cells = &series->table.cells[i * series->table.column_count];
        const bool further = largest ? !(cells[3].number <= bytes) : !(cells[3].number >= bytes);
        if (strcmp(cells[0].text, curve) != 0 || !further)
            continue;
        bytes = cells[3].number;
        cycles = cells[4].number;
    }
    return cycles;
}

/* Measures the cycles of a load that hits in the L2, and of one that goes to memory. */
static void time_loads(const char *device_id, double *l2, double *memory)
{
    enum { HOPS = 64, APART = 4096 + 128 };
    const struct fth_chain chain = {.stride_bytes = APART, .count = HOPS};
    struct fth_prober prober = {.sms = 1};
    struct fth_request requests[2] = {fth_request_make(-1), fth_request_make(-1)};
    struct fth_answers answers = {0};
    fth_request_add(&requests[0], FTH_STEP_WALK, FTH_PATH_CG, chain, 2);
    fth_request_add(&requests[0], FTH_STEP_TIME_PASS, FTH_PATH_CG, chain, 1);
    fth_request_add(&requests[1], FTH_STEP_TIME_PASS, FTH_PATH_CG, chain, 1);
    requests[1].cold = true;
    assert_int_equal(fth_device_open(device_id, NULL, &prober.device, NULL), FTH_OK);
    assert_int_equal(fth_ask(&prober, requests, 2, &answers, NULL), FTH_OK);
    *l2 = answers.items[0].cycles[0] / (double)HOPS;
    *memory = answers.items[1].cycles[0] / (double)HOPS;
    fth_answers_fini(&answers);
    fth_device_close(prober.device);
}

/* Measures the cycles of a load by one warp whose lanes are `stride_bytes` apart. */
static double load_cycles(const struct fth_prober *prober, enum fth_operation operation,
                          uint64_t stride_bytes)
{
    const struct fth_operate_plan plan = {.operate = {.operation = operation,
                                                      .chains = 1,
                                                      .threads = 32,
                                                      .sms = 1,
                                                      .passes = 1,
                                                      .stride_bytes = stride_bytes},
                                          .rounds = 1,
                                          .more_rounds = 2,
                                          .carveout_percent = -1};
    struct fth_figure cycles;
    assert_int_equal(fth_probe_operate(prober, &plan, &cycles, NULL), FTH_OK);
    return cycles.value;
}

static void reproduces_conflict_latencies(void **state)
{
    (void)state;
    static const struct {
        const char *device;
        double free, worst; /* cycles without conflict and with a 32-way conflict */
        double bank_bytes;
        bool beyond_memory; /* `worst` is slower than memory; otherwise it is faster than L2 */
    } rows[] = {{"sim:gtx560ti", 50, 1209, 4, true},
                {"sim:gtx780", 47, 472, 8, true},
                {"sim:gtx980", 28, 90, 4, false}};
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_prober prober = {.sms = 1};
        struct fth_banks banks;
        const unsigned bank = (unsigned)rows[i].bank_bytes;
        assert_int_equal(fth_device_open(rows[i].device, NULL, &prober.device, NULL), FTH_OK);
        assert_int_equal(fth_probe_banks(&prober, &banks, NULL), FTH_OK);
        assert_int_equal(banks.banks, 32);
        assert_int_equal(banks.bank_bytes, bank);
        assert_close(load_cycles(&prober, FTH_LOAD_SHARED_4, 4), rows[i].free, 0.001);
        const double worst = load_cycles(&prober, FTH_LOAD_SHARED_4, (uint64_t)32 * bank);
        assert_close(worst, rows[i].worst, 0.01);
        /* Adjacent words of 8 bytes, or every second word of 4 bytes, occupy one row of Kepler's
         * banks of 8 bytes and two rows of the others' banks of 4 bytes, which is a conflict. */
        const double wide = load_cycles(&prober, FTH_LOAD_SHARED_8, 8);
        const double stride_2 = load_cycles(&prober, FTH_LOAD_SHARED_4, 8);
        assert_true((wide > rows[i].free) == (bank == 4));
        assert_true((stride_2 > rows[i].free) == (bank == 4));
        fth_device_close(prober.device);
        double l2, memory;
        time_loads(rows[i].device, &l2, &memory);
        if (rows[i].beyond_memory ? !(worst > memory) : !(worst < l2))
            fail_msg("%s: %g cycles, L2 %g, memory %g", rows[i].device, worst, l2, memory);
    }
}

/* Atomics of all lanes on one word are serialized like those on different words of one bank. */
static void contended_atomics_are_serialized(void **state)
{
    (void)state;
    struct fth_bench *bench = run_small("atomics", false);
    const struct fth_bench_series *atomics = series_of(bench, "atomics");
    unsigned seen = 0;
    for (size_t i = 0; i < atomics->table.row_count; i++) {
        const struct fth_cell *cells = &atomics->table.cells[i * atomics->table.column_count];
        if (!strstr(cells[0].text, "shared") || strcmp(cells[1].text, "yes") != 0)
            continue;
        if (cells[3].number == 1)
            assert_close(cells[4].number, 24, 0.005);
        if (cells[3].number == 32)
            assert_close(cells[4].number, 24 + 31 * 3, 0.005);
        if (cells[3].number == 256)
            assert_close(cells[4].number, 256, 0.01);
        seen++;
    }
    assert_int_equal(seen, 3);
    fth_bench_destroy(bench);
}

/* ---- the description ---- */

static void measured_description_simulates_the_same_gpu(void **state)
{
    (void)state;
    static const char *const names[] = {"banks", "bank_bytes", "conflict_cycles", "latency_cycles"};
    static const double expected[] = {32, 4, 3, 24};
    char id[64];
    char *text = NULL;
    size_t size;
    struct fth_bench *first = run_small("banks", false);
    assert_int_equal(fth_gpu_validate(fth_bench_gpu(first), NULL), FTH_OK);
    assert_int_equal(fth_gpu_write_text(fth_bench_gpu(first), &text, &size, NULL), FTH_OK);
    write_gpu(text, size, id);
    fth_free(text);
    struct fth_bench *second = run_bench(id, "banks", false);
    unlink(id + 4);
    for (size_t i = 0; i < FTH_COUNT(names); i++) {
        assert_close(fth_gpu_number(fth_bench_gpu(first), "shared", names[i], NAN), expected[i],
                     0.001);
        assert_close(fth_gpu_number(fth_bench_gpu(second), "shared", names[i], NAN), expected[i],
                     0.001);
    }
    const struct fth_bench_series *a = series_of(first, "banks.4"),
                                  *b = series_of(second, "banks.4");
    assert_int_equal(a->table.row_count, b->table.row_count);
    for (size_t i = 0; i < a->table.row_count; i++) {
        const double x = a->table.cells[3 * i + 2].number, y = b->table.cells[3 * i + 2].number;
        assert_true((isnan(x) && isnan(y)) || fabs(x - y) <= 0.02 * x);
    }
    fth_bench_destroy(first);
    fth_bench_destroy(second);
}

/* ---- scaling ---- */

/* Returns the maximum of the third column. */
static double maximum_of(const struct fth_bench_series *series)
{
    double max = 0;
    for (size_t i = 0; i < series->table.row_count; i++)
        max = fmax(max, series->table.cells[3 * i + 2].number);
    return max;
}

static void bandwidths_match_the_description(void **state)
{
    (void)state;
    struct fth_bench *bench = run_small("scaling", false);
    const struct fth_bench_series *l1 = series_of(bench, "scaling.l1");
    const struct fth_bench_series *l2 = series_of(bench, "scaling.l2");
    const struct fth_bench_series *memory = series_of(bench, "scaling.memory");
    /* L2 and memory reach the bandwidths of the description in GB/s. It has none for L1, which is
     * limited only by the loads of an SM: 128 bytes per cycle. */
    assert_close(maximum_of(l2), 128, 0.02);
    assert_close(maximum_of(memory), 64, 0.02);
    assert_true(maximum_of(l1) <= 4 * 128 * 1.005);
    /* One block of 128 threads loads four words of 4 bytes per thread in each latency. */
    assert_close(memory->table.cells[2].number, 128 * 4 * 4 / (500 + 4.0), 0.1);
    /* With more threads per block, fewer blocks are needed. */
    assert_true(figure_of(l2, "knee_512_threads") < figure_of(l2, "knee_128_threads"));
    assert_close(figure_of(l1, "l1_read_of_theory"), 1, 0.05);
    assert_close(fth_gpu_number(fth_bench_gpu(bench), "l1", "read_bytes_per_s", NAN), 512e9, 0.05);
    assert_null(fth_gpu_attribute(fth_bench_gpu(bench), "l1", "size_bytes"));
    fth_bench_destroy(bench);
}

static void reports_loads_that_are_not_cached_in_l1(void **state)
{
    (void)state;
    struct fth_bench *bench = run_bench("sim:gtx780", "scaling", false);
    const struct fth_bench_series *l1 = series_of(bench, "scaling.l1");
    assert_int_equal(l1->table.row_count, 0);
    assert_int_equal(l1->missing_count, 1);
    assert_contains(l1->missing[0], "not cached in L1");
    fth_bench_destroy(bench);
}

/* ---- latency ---- */

static void latency_curves_match_the_description(void **state)
{
    (void)state;
    struct fth_bench *bench = run_small("latency", false);
    const struct fth_bench_series *series = series_of(bench, "latency");
    const double l2_bytes = 1048576;
    for (size_t i = 0; i < series->table.row_count; i++) {
        const struct fth_cell *cells = &series->table.cells[i * series->table.column_count];
        const double bytes = cells[3].number, cycles = cells[4].number;
        const bool through_l1 = strcmp(cells[1].text, "ca") == 0, random = isnan(cells[2].number);
        const double expected = through_l1 && bytes <= 32768 ? 30
                                : bytes <= l2_bytes * 0.9    ? 200
                                                             : 500;
        /* Skip footprints near the size of a cache, which are between two levels. In random order,
         * some loads hit in L2 until the footprint is much larger than L2. */
        if ((through_l1 && bytes > 32768 && bytes < 2 * 32768) ||
            (bytes > 0.9 * l2_bytes && bytes < (random ? 64 : 1.2) * l2_bytes))
            continue;
        /* The overhead of a pass is known to within 18 cycles. */
        if (!(fabs(cycles - expected) <= 0.01 * expected + 18 / cells[6].number))
            fail_msg("%s, %g bytes: %g instead of %g", cells[0].text, bytes, cycles, expected);
    }
    assert_true(latency_of(series, "past L1, random", true) > 480);
    /* The slowest shared-memory load of the conflict table is slower than the fastest L2 load. Some
     * cells need more shared memory than a block can have. */
    const struct fth_bench_series *conflict = series_of(bench, "latency.conflict");
    assert_true(figure_of(conflict, "worst_shared_over_best_l2") > 1);
    assert_true(conflict->missing_count == 1);
    char *text = NULL;
    size_t size;
    assert_int_equal(fth_report_bench("text", bench, NULL, &text, &size, NULL), FTH_OK);
    assert_contains(text, "* L1, stride 128\n");
    assert_contains(text, "1 KiB");
    assert_contains(text, "points; see the JSON or CSV output");
    fth_free(text);
    fth_bench_destroy(bench);
}

/* ---- requests ---- */

static void requests_have_a_canonical_text(void **state)
{
    (void)state;
    struct fth_request request = fth_request_make(-1);
    struct fth_buffer text = {0};
    struct fth_error error = FTH_NO_ERROR;
    request.family = FTH_FAMILY_STREAM;
    request.stream = (struct fth_stream){.kind = FTH_STREAM_READ,
                                         .path = FTH_PATH_CG,
                                         .bytes = 65536,
                                         .block_stride_bytes = 4096,
                                         .blocks_per_sm = 1,
                                         .threads = 256,
                                         .vector_bytes = 16,
                                         .passes = 1};
    assert_int_equal(fth_request_check(&request, &error), FTH_OK);
    fth_request_write(&request, &text);
    assert_string_equal(text.data, "stream read cg 65536 each 4096 1x256x16");
    request.stream.block_stride_bytes = 100;
    assert_int_equal(fth_request_check(&request, &error), FTH_INVALID);
    assert_string_equal(error.argument, "stream.block_stride_bytes");
    fth_buffer_fini(&text);
    text = (struct fth_buffer){0};
    request = fth_request_make(100);
    request.family = FTH_FAMILY_OPERATE;
    request.operate = (struct fth_operate){.operation = FTH_COPY_SHARED_4,
                                           .chains = 6,
                                           .threads = 256,
                                           .per_sm = 2,
                                           .rounds = 4,
                                           .passes = 1,
                                           .stride_bytes = 4};
    assert_int_equal(fth_request_check(&request, NULL), FTH_OK);
    fth_request_write(&request, &text);
    assert_string_equal(text.data, "operate copy.shared.4 chains 6 rounds 4 threads 256 sms 0 "
                                   "per-sm 2; stride 4; carveout 100");
    request.operate.stride_bytes = 0;
    assert_int_equal(fth_request_check(&request, NULL), FTH_INVALID);
    fth_buffer_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reproduces_table_7),
        cmocka_unit_test(few_rounds_do_not_exceed_the_banks),
        cmocka_unit_test(few_warps_are_limited_by_latency),
        cmocka_unit_test(reproduces_conflict_latencies),
        cmocka_unit_test(contended_atomics_are_serialized),
        cmocka_unit_test(measured_description_simulates_the_same_gpu),
        cmocka_unit_test(bandwidths_match_the_description),
        cmocka_unit_test(reports_loads_that_are_not_cached_in_l1),
        cmocka_unit_test(latency_curves_match_the_description),
        cmocka_unit_test(requests_have_a_canonical_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
