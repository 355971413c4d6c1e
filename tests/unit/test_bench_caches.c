/* Benches of shared memory, of caches by parallelism and of latency, on simulated GPUs: the figures
 * are those of the descriptions, and of the papers that these are from. */
#include "bench/bench.h"
#include "benches.h"

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

/* Writes a description where a device can be made of it: "sim:PATH". */
static void put_gpu(const void *text, size_t size, char id[64])
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
    put_gpu(small_gpu, sizeof small_gpu - 1, id);
    struct fth_bench *bench = run_bench(id, name, thorough);
    unlink(id + 4);
    return bench;
}

/* Of a table of texts and values, the value beside a text. */
static double value_of(const struct fth_bench_series *series, const char *quantity)
{
    for (size_t i = 0; i < series->table.row_count; i++)
        if (strcmp(series->table.cells[2 * i].text, quantity) == 0)
            return series->table.cells[2 * i + 1].number;
    fail_msg("no row %s", quantity);
    return NAN;
}

static void is_near(double is, double should, double part)
{
    if (!(fabs(is - should) <= part * should))
        fail_msg("%g, not %g", is, should);
}

/* ---- shared memory ---- */

/* Table 7 of Mei and Chu. W_SM is the product of the two above it (the paper has 163.84 of the
 * GTX 980, which 1.28 GHz would give), and "94 active warps" of the GTX 780 its Section 6.1. */
static void table_7_comes_out(void **state)
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
        is_near(value_of(theory, "f_core (GHz)"), rows[i].ghz, 0.001);
        is_near(value_of(theory, "W_SM (GB/s)"), rows[i].theory, 0.001);
        is_near(value_of(theory, "W'_SM (GB/s)"), rows[i].achieved, 0.01);
        is_near(value_of(theory, "Efficiency (%)"), rows[i].efficiency, 0.01);
        assert_true(figure_of(theory, "warps_needed") == rows[i].warps);
        const struct fth_gpu *gpu = fth_bench_gpu(bench);
        is_near(fth_gpu_number(gpu, "shared", "copy_bytes_per_s", NAN),
                rows[i].achieved * 1e9 * fth_gpu_number(gpu, "device", "sms", NAN), 0.01);
        fth_bench_destroy(bench);
    }
}

/* With few warps throughput is what Little's law leaves: one warp and one word, 128 bytes read and
 * 128 written in a latency and the cycles that two instructions take. */
static void few_warps_wait_for_latency(void **state)
{
    (void)state;
    struct fth_bench *bench = run_small("shared", false);
    const struct fth_bench_series *points = series_of(bench, "shared.points");
    const struct fth_cell *first = points->table.cells;
    assert_true(first[1].number == 32 && first[2].number == 1 && first[3].number == 1);
    is_near(first[5].number, 256 / (24 + 1.0), 0.05);
    const size_t columns = points->table.column_count;
    for (size_t i = 0; i < points->table.row_count; i++)
        assert_true(points->table.cells[i * columns + 5].number <= 128 * 1.005);
    assert_true(figure_of(series_of(bench, "shared.theory"), "copy_of_theory") > 0.98);
    fth_bench_destroy(bench);
}

/* ---- conflicts, Section 6.2 of Mei and Chu ---- */

/* The latency of the largest or the smallest footprint of a curve. */
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

/* Cycles of a load that L2 answers, and of one that memory does. */
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

/* Cycles of a load of one warp whose lanes are so far apart. */
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

static void conflicts_by_generation(void **state)
{
    (void)state;
    static const struct {
        const char *device;
        double free, worst; /* one way, 32 ways */
        double bank_bytes;
        bool beyond_memory; /* 32 ways are slower than memory; otherwise faster than L2 */
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
        is_near(load_cycles(&prober, FTH_LOAD_SHARED_4, 4), rows[i].free, 0.001);
        const double worst = load_cycles(&prober, FTH_LOAD_SHARED_4, (uint64_t)32 * bank);
        is_near(worst, rows[i].worst, 0.01);
        /* Words of 8 bytes side by side, or every second of 4: a row of Kepler's banks, two of the
         * others'. */
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

/* Atomics of all lanes on one word take turns, as those on words of one bank do. */
static void contended_atomics_take_turns(void **state)
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
            is_near(cells[4].number, 24, 0.005);
        if (cells[3].number == 32)
            is_near(cells[4].number, 24 + 31 * 3, 0.005);
        if (cells[3].number == 256)
            is_near(cells[4].number, 256, 0.01);
        seen++;
    }
    assert_int_equal(seen, 3);
    fth_bench_destroy(bench);
}

/* ---- the description ---- */

static void what_is_found_makes_the_same_gpu(void **state)
{
    (void)state;
    static const char *const names[] = {"banks", "bank_bytes", "conflict_cycles", "latency_cycles"};
    static const double told[] = {32, 4, 3, 24};
    char id[64];
    char *text = NULL;
    size_t size;
    struct fth_bench *first = run_small("banks", false);
    assert_int_equal(fth_gpu_validate(fth_bench_gpu(first), NULL), FTH_OK);
    assert_int_equal(fth_gpu_write_text(fth_bench_gpu(first), &text, &size, NULL), FTH_OK);
    put_gpu(text, size, id);
    fth_free(text);
    struct fth_bench *second = run_bench(id, "banks", false);
    unlink(id + 4);
    for (size_t i = 0; i < FTH_COUNT(names); i++) {
        is_near(fth_gpu_number(fth_bench_gpu(first), "shared", names[i], NAN), told[i], 0.001);
        is_near(fth_gpu_number(fth_bench_gpu(second), "shared", names[i], NAN), told[i], 0.001);
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

static double most_of(const struct fth_bench_series *series)
{
    double max = 0;
    for (size_t i = 0; i < series->table.row_count; i++)
        max = fmax(max, series->table.cells[3 * i + 2].number);
    return max;
}

static void bandwidth_is_the_descriptions(void **state)
{
    (void)state;
    struct fth_bench *bench = run_small("scaling", false);
    const struct fth_bench_series *l1 = series_of(bench, "scaling.l1");
    const struct fth_bench_series *l2 = series_of(bench, "scaling.l2");
    const struct fth_bench_series *memory = series_of(bench, "scaling.memory");
    /* L1 gives what an SM can load, 128 bytes a cycle; the others what they are said to. */
    is_near(most_of(l2), 128, 0.02);
    is_near(most_of(memory), 64, 0.02);
    assert_true(most_of(l1) <= 4 * 128 * 1.005);
    /* One block of 128 threads has four words of each lane in a latency. */
    is_near(memory->table.cells[2].number, 128 * 4 * 4 / (500 + 4.0), 0.1);
    /* The more threads a block has the fewer blocks are enough. */
    assert_true(figure_of(l2, "knee_512_threads") < figure_of(l2, "knee_128_threads"));
    is_near(figure_of(l1, "l1_read_of_theory"), 1, 0.05);
    is_near(fth_gpu_number(fth_bench_gpu(bench), "l1", "read_bytes_per_s", NAN), 512e9, 0.05);
    assert_null(fth_gpu_attribute(fth_bench_gpu(bench), "l1", "size_bytes"));
    fth_bench_destroy(bench);
}

static void no_l1_is_told(void **state)
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

static void curves_have_the_descriptions_levels(void **state)
{
    (void)state;
    struct fth_bench *bench = run_small("latency", false);
    const struct fth_bench_series *series = series_of(bench, "latency");
    const double l2_bytes = 1048576;
    for (size_t i = 0; i < series->table.row_count; i++) {
        const struct fth_cell *cells = &series->table.cells[i * series->table.column_count];
        const double bytes = cells[3].number, cycles = cells[4].number;
        const bool through_l1 = strcmp(cells[1].text, "ca") == 0, random = isnan(cells[2].number);
        const double told = through_l1 && bytes <= 32768 ? 30 : bytes <= l2_bytes * 0.9 ? 200 : 500;
        /* Random order finds some of a footprint in L2 as long as that is not much smaller. */
        if ((through_l1 && bytes > 32768 && bytes < 2 * 32768) ||
            (bytes > 0.9 * l2_bytes && bytes < (random ? 64 : 1.2) * l2_bytes))
            continue;
        /* What a pass costs beyond its loads is known to some cycles. */
        if (!(fabs(cycles - told) <= 0.01 * told + 18 / cells[6].number))
            fail_msg("%s, %g bytes: %g, not %g", cells[0].text, bytes, cycles, told);
    }
    assert_true(latency_of(series, "past L1, random", true) > 480);
    /* The worst of shared memory against L2: 1024 threads on one bank. */
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

static void requests_have_their_texts(void **state)
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
        cmocka_unit_test(table_7_comes_out),
        cmocka_unit_test(few_warps_wait_for_latency),
        cmocka_unit_test(conflicts_by_generation),
        cmocka_unit_test(contended_atomics_take_turns),
        cmocka_unit_test(what_is_found_makes_the_same_gpu),
        cmocka_unit_test(bandwidth_is_the_descriptions),
        cmocka_unit_test(no_l1_is_told),
        cmocka_unit_test(curves_have_the_descriptions_levels),
        cmocka_unit_test(requests_have_their_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
