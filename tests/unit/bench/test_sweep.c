/* Tests of the request families sweep and transfer, and of the benches that use them: stream,
 * global and link. They run on simulated GPUs, whose descriptions state the correct bandwidths, and
 * through the stand-in for the CUDA driver (tests/standin). */
#include "bench/bench.h"
#include "check.h"
#include "device/cuda/cuda.h"
#include "device/sim/sim.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* The simulated GPU has 4 SMs at 1 GHz. Clock and bus width of its memory give a theoretical
 * bandwidth of 128 GB/s; the described read, write and copy bandwidths are lower. */
#define READ_BYTES_PER_S 110e9
#define WRITE_BYTES_PER_S 100e9
#define COPY_BYTES_PER_S 90e9
#define LIMIT_BYTES_PER_S 128e9
#define DEVICE                                                                                     \
    "\"name\": \"Test\", \"compute_capability\": \"9.0\", \"sms\": 4, \"clock_mhz\": 1000, "       \
    "\"max_threads_per_sm\": 2048, \"memory_clock_mhz\": 1000, \"memory_bus_bits\": 512"
#define LINK                                                                                       \
    ", \"link_to_device_bytes_per_s\": 50e9, \"link_from_device_bytes_per_s\": 40e9, "             \
    "\"link_both_bytes_per_s\": 60e9, \"link_pageable_to_device_bytes_per_s\": 10e9, "             \
    "\"link_pageable_from_device_bytes_per_s\": 8e9, \"link_latency_ns\": 9000"
#define L2                                                                                         \
    "\"l2\": {\"size_bytes\": 1048576, \"line_bytes\": 128, \"sector_bytes\": 32, "                \
    "\"latency_cycles\": 200}"
#define MEMORY(BYTES)                                                                              \
    "\"memory\": {\"size_bytes\": " BYTES ", \"latency_cycles\": 500, "                            \
    "\"read_bytes_per_s\": 110e9, \"write_bytes_per_s\": 100e9, \"copy_bytes_per_s\": 90e9}"
#define GIB "1073741824"

/* ---- simulated GPUs that can be altered ---- */

/* Alterations of the simulated machine by a test. */
static struct {
    const struct fth_machine_ops *original;
    /* In each sweep kernel, the first occurrence of `from` is replaced by `to`. NULL: none. */
    const char *from, *to;
    bool slow_host_access;   /* the GPU itself fills and checks the arrays */
    const char *unsupported; /* kernels that contain this text cannot be loaded; NULL: none */
} altered;

static enum fth_status altered_load(void *machine, const char *name, const char *ptx, size_t size,
                                    struct fth_machine_module **module, struct fth_error *error)
{
    const char *at = altered.from ? strstr(ptx, altered.from) : NULL;
    if (altered.unsupported && strstr(ptx, altered.unsupported))
        return fth_fail(error, FTH_UNSUPPORTED, "load kernels", name, "no %s here",
                        altered.unsupported);
    if (!at || strcmp(name, "sweep") != 0)
        return altered.original->load(machine, name, ptx, size, module, error);
    struct fth_buffer text = {0};
    fth_buffer_append(&text, ptx, (size_t)(at - ptx));
    fth_buffer_text(&text, altered.to);
    fth_buffer_text(&text, at + strlen(altered.from));
    enum fth_status status =
        altered.original->load(machine, name, text.data, text.size, module, error);
    fth_buffer_fini(&text);
    return status;
}

static void altered_facts(void *machine, struct fth_machine_facts *facts)
{
    altered.original->facts(machine, facts);
    facts->host_access_is_free = facts->host_access_is_free && !altered.slow_host_access;
}

/* Opens a simulated GPU with the alterations. `device` and `memory` are parts of its description.
 */
static struct fth_device *open_gpu(const char *device, const char *memory)
{
    static struct fth_machine_ops ops;
    char text[4096];
    struct fth_error error = NO_ERROR;
    struct fth_gpu *description = NULL;
    struct fth_device *opened = NULL;
    void *machine = NULL;
    snprintf(text, sizeof text,
             "{\"schema\": \"fathom-gpu/1\", \"device\": {%s}, \"elements\": {%s, %s}}", device, L2,
             memory);
    if (fth_gpu_read_text("test.json", text, strlen(text), NULL, &description, &error) != FTH_OK ||
        fth_sim_machine_create(description, &altered.original, &machine, &error) != FTH_OK)
        fail_msg("%s: %s", error.cause, text);
    ops = *altered.original;
    ops.load = altered_load;
    ops.facts = altered_facts;
    if (fth_runner_device("sim:test", &ops, machine, NULL, &opened, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    fth_gpu_destroy(description);
    return opened;
}

static int reset_alterations(void **state)
{
    (void)state;
    memset(&altered, 0, sizeof altered);
    setenv("FATHOM_STANDIN", "one", 1);
    return 0;
}

/* ---- requests ---- */

static struct fth_request sweep(enum fth_sweep_kind kind, bool wide, uint64_t bytes,
                                uint32_t blocks, uint32_t threads, uint32_t vector, uint32_t unroll)
{
    struct fth_request request = fth_request_make(-1);
    request.family = FTH_FAMILY_SWEEP;
    request.sweep = (struct fth_sweep){.kind = kind,
                                       .wide = wide,
                                       .bytes = bytes,
                                       .blocks = blocks,
                                       .threads = threads,
                                       .vector_bytes = vector,
                                       .unroll = unroll,
                                       .repeats = 1};
    return request;
}

static struct fth_request transfer(enum fth_transfer_kind kind, bool pinned, uint64_t bytes)
{
    struct fth_request request = fth_request_make(-1);
    request.family = FTH_FAMILY_TRANSFER;
    request.transfer =
        (struct fth_transfer){.kind = kind, .pinned = pinned, .bytes = bytes, .repeats = 1};
    return request;
}

static void assert_text(const struct fth_request *request, const char *expected, uint64_t samples)
{
    struct fth_buffer text = {0};
    struct fth_error error = NO_ERROR;
    if (fth_request_check(request, &error) != FTH_OK)
        fail_msg("%s: %s", error.argument, error.cause);
    fth_request_write(request, &text);
    assert_string_equal(text.data, expected);
    assert_int_equal(fth_request_samples(request), samples);
    fth_buffer_fini(&text);
}

static void requests_have_a_canonical_text(void **state)
{
    (void)state;
    struct fth_request request = sweep(FTH_SWEEP_TRIAD, true, 1 << 20, 264, 1024, 16, 4);
    assert_text(&request, "sweep triad f64 1048576 264x1024 vector 16 unroll 4", 2);
    request.sweep.hinted = request.cold = true;
    request.sweep.repeats = 5;
    assert_text(&request,
                "sweep triad f64 1048576 264x1024 vector 16 unroll 4 hinted repeats 5; cold", 6);
    request = transfer(FTH_TRANSFER_TO_DEVICE, true, 4096);
    assert_text(&request, "transfer to-device pinned 4096", 3);
    request = transfer(FTH_TRANSFER_FROM_DEVICE, false, 4096);
    request.transfer.repeats = 9;
    assert_text(&request, "transfer from-device pageable 4096 repeats 9", 11);
    request = transfer(FTH_TRANSFER_PEERS, false, 4096);
    request.transfer.peer = 2;
    assert_text(&request, "transfer peers 4096 peer 2", 3);
    request = transfer(FTH_TRANSFER_WITHIN, false, 1);
    assert_text(&request, "transfer within 1", 3);
}

static void invalid_requests_are_refused(void **state)
{
    (void)state;
    const struct fth_request good = sweep(FTH_SWEEP_COPY, false, 65536, 4, 256, 16, 4);
    const struct fth_request copy = transfer(FTH_TRANSFER_WITHIN, false, 65536);
    struct {
        struct fth_request request;
        const char *member;
    } bad[24];
    size_t count = 0;
#define BAD(REQUEST, MEMBER, VALUE, NAME)                                                          \
    do {                                                                                           \
        bad[count].request = REQUEST;                                                              \
        bad[count].request.MEMBER = (VALUE);                                                       \
        bad[count++].member = NAME;                                                                \
    } while (0)
    BAD(good, sweep.kind, FTH_SWEEP_KINDS, "sweep.kind");
    BAD(good, sweep.threads, 0, "sweep.threads");
    BAD(good, sweep.threads, 96, "sweep.threads");
    BAD(good, sweep.threads, 2048, "sweep.threads");
    BAD(good, sweep.blocks, 0, "sweep.blocks");
    BAD(good, sweep.vector_bytes, 12, "sweep.unroll");
    BAD(good, sweep.vector_bytes, 32, "sweep.unroll");
    BAD(good, sweep.unroll, 0, "sweep.unroll");
    BAD(good, sweep.unroll, 16, "sweep.unroll");
    BAD(good, sweep.bytes, 0, "sweep.bytes");
    BAD(good, sweep.bytes, 1024, "sweep.bytes");
    BAD(good, sweep.repeats, 0, "sweep.repeats");
    BAD(good, sm, 0, "sm");
    BAD(good, carveout_percent, 0, "carveout_percent");
    BAD(copy, transfer.kind, FTH_TRANSFER_KINDS, "transfer.kind");
    BAD(copy, transfer.bytes, 0, "transfer.bytes");
    BAD(copy, transfer.repeats, 0, "transfer.repeats");
    BAD(copy, transfer.pinned, true, "transfer.pinned");
    BAD(copy, transfer.peer, 1, "transfer.peer");
    BAD(copy, cold, true, "cold");
    bad[count].request = good; /* fp64 does not fit into accesses of 4 bytes */
    bad[count].request.sweep.wide = true;
    bad[count].request.sweep.vector_bytes = 4;
    bad[count++].member = "sweep.unroll";
    bad[count].request = good; /* needs too many registers */
    bad[count].request.sweep.kind = FTH_SWEEP_ADD;
    bad[count].request.sweep.unroll = 8;
    bad[count++].member = "sweep.unroll";
#undef BAD
    for (size_t i = 0; i < count; i++) {
        struct fth_error error = NO_ERROR;
        assert_int_equal(fth_request_check(&bad[i].request, &error), FTH_INVALID);
        assert_string_equal(error.argument, bad[i].member);
    }
}

/* ---- results of sweeps ---- */

/* Runs a sweep. Returns the number of wrong elements, or 1 if a read computed a wrong sum. */
static uint32_t count_faults(struct fth_device *device, const struct fth_request *request)
{
    struct fth_samples samples = {0};
    struct fth_error error = NO_ERROR;
    if (fth_device_measure(device, request, 1, &samples, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    if (samples.status != FTH_OK)
        fail_msg("%s", samples.cause);
    assert_true(samples.cycles[0] > 0);
    const uint32_t faults = samples.cycles[samples.count - 1];
    fth_samples_fini(&samples);
    return faults;
}

/* Tests every kind, element type, vector size and unrolling, with different numbers of threads. The
 * results are checked by the host and by the GPU. */
static void every_sweep_computes_correct_results(void **state)
{
    (void)state;
    static const uint32_t threads[] = {1, 8, 32, 256};
    for (int slow_host_access = 0; slow_host_access < 2; slow_host_access++) {
        altered.slow_host_access = slow_host_access;
        struct fth_device *device = open_gpu(DEVICE, MEMORY(GIB));
        for (unsigned i = 0; i < FTH_SWEEP_KINDS * 2 * 3 * 4; i++) {
            const uint32_t unroll = 1u << i % 4, vector = 4u << i / 4 % 3;
            struct fth_request request = sweep((enum fth_sweep_kind)(i / 24), i / 12 % 2, 65536, 3,
                                               threads[i % 4], vector, unroll);
            const struct fth_sweep_code code = {.kind = request.sweep.kind,
                                                .wide = request.sweep.wide,
                                                .vector_bytes = vector,
                                                .unroll = unroll,
                                                .lanes = 32};
            if (!fth_kernels_has_sweep(&code))
                continue;
            request.cold = i & 1 && !slow_host_access;
            assert_int_equal(count_faults(device, &request), 0);
        }
        fth_device_close(device);
    }
}

static void broken_kernels_are_detected(void **state)
{
    (void)state;
    static const struct {
        enum fth_sweep_kind kind;
        const char *from, *to;
    } alterations[] = {
        {FTH_SWEEP_COPY, "    st.global", "    //"},
        {FTH_SWEEP_COPY, "[%from + 512]", "[%from + 0]"},
        {FTH_SWEEP_COPY, "[%to + 512]", "[%to + 0]"},
        {FTH_SWEEP_COPY, "add.u64 %at, %at, %span", "add.u64 %at, %bytes, 0"},
        {FTH_SWEEP_MUL, "mul.rn.f32", "add.rn.f32"},
        {FTH_SWEEP_ADD, "add.rn.f32", "sub.rn.f32"},
        {FTH_SWEEP_TRIAD, "[%other + 0]", "[%from + 0]"},
        {FTH_SWEEP_WRITE, "    st.global", "    //"},
        {FTH_SWEEP_READ, "    add.u32 %sum, %sum, %a0", "    //"},
        {FTH_SWEEP_READ, "[%from + 512]", "[%from + 0]"},
    };
    for (size_t i = 0; i < 2 * FTH_COUNT(alterations); i++) {
        const size_t which = i / 2;
        struct fth_durations durations;
        struct fth_error error = NO_ERROR;
        altered.slow_host_access = i % 2;
        altered.from = alterations[which].from;
        altered.to = alterations[which].to;
        struct fth_device *device = open_gpu(DEVICE, MEMORY(GIB));
        const struct fth_prober prober = {.device = device, .sms = 4};
        const struct fth_request request =
            sweep(alterations[which].kind, false, 65536, 2, 256, 16, 2);
        assert_int_not_equal(count_faults(device, &request), 0);
        assert_int_equal(fth_probe_durations(&prober, &request, &durations, &error),
                         FTH_INCONCLUSIVE);
        assert_true(isnan(durations.best_ns));
        fth_device_close(device);
    }
}

/* ---- the benches ---- */

/* Returns true from the n-th call on. `user` points to n, which each call decrements. */
static bool is_interrupted(void *user)
{
    unsigned *left = user;
    return *left == 0 || --*left == 0;
}

static void interrupted_benches_return_their_results_so_far(void **state)
{
    (void)state;
    static const struct {
        const char *name, *series;
        unsigned after;
    } rows[] = {{"stream", "stream", 3},
                {"stream", "stream.threads", 11},
                {"global", "global", 20},
                {"link", "link.sizes", 6}};
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        unsigned left = rows[i].after;
        const struct fth_log log = {.interrupted = is_interrupted, .user = &left};
        const struct fth_bench_options options =
            FTH_BENCH_OPTIONS(.names = &rows[i].name, .count = 1, .log = &log);
        struct fth_error error = NO_ERROR;
        struct fth_bench *result = NULL;
        struct fth_device *device = open_gpu(DEVICE LINK, MEMORY(GIB));
        assert_int_equal(fth_bench_create(device, &options, &result, &error), FTH_INTERRUPTED);
        fth_device_close(device);
        bool found = false;
        for (size_t j = 0; j < fth_bench_series_count(result); j++)
            found = found || strcmp(fth_bench_series_at(result, j)->name, rows[i].series) == 0;
        assert_true(found);
        fth_bench_destroy(result);
    }
}

static struct fth_bench *run_bench(struct fth_device *device, const char *name, bool thorough)
{
    struct fth_error error = NO_ERROR;
    struct fth_bench *result = NULL;
    const struct fth_bench_options options =
        FTH_BENCH_OPTIONS(.names = &name, .count = 1, .thorough = thorough);
    if (fth_bench_create(device, &options, &result, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    fth_device_close(device);
    return result;
}

static const struct fth_bench_series *series_of(const struct fth_bench *bench, const char *name)
{
    for (size_t i = 0; i < fth_bench_series_count(bench); i++)
        if (strcmp(fth_bench_series_at(bench, i)->name, name) == 0)
            return fth_bench_series_at(bench, i);
    fail_msg("no series %s", name);
    return NULL;
}

static const struct fth_cell *row_of(const struct fth_bench_series *series, const char *text)
{
    for (size_t i = 0; i < series->table.row_count; i++) {
        const struct fth_cell *cells = &series->table.cells[i * series->table.column_count];
        if (strcmp(cells[0].text, text) == 0)
            return cells;
    }
    fail_msg("no row %s", text);
    return NULL;
}

/* Returns the bandwidth of a kernel that reads `reads` arrays and writes `writes` arrays (0 or 1)
 * according to the description. `pair` is the additional time per byte if a kernel does both. */
static double predict_bytes_per_s(unsigned reads, unsigned writes)
{
    const double pair = 2 / COPY_BYTES_PER_S - 1 / READ_BYTES_PER_S - 1 / WRITE_BYTES_PER_S;
    return (reads + writes) /
           (reads / READ_BYTES_PER_S + writes / WRITE_BYTES_PER_S + (reads && writes ? pair : 0));
}

static void stream_bandwidths_match_the_description(void **state)
{
    (void)state;
    static const struct {
        const char *title;
        unsigned reads, writes;
    } kernels[] = {{"COPY fp32", 1, 1},  {"MUL fp32", 1, 1},   {"ADD fp32", 2, 1},
                   {"TRIAD fp32", 2, 1}, {"COPY fp64", 1, 1},  {"MUL fp64", 1, 1},
                   {"ADD fp64", 2, 1},   {"TRIAD fp64", 2, 1}, {"read", 1, 0},
                   {"write", 0, 1}};
    struct fth_bench *result = run_bench(open_gpu(DEVICE, MEMORY(GIB)), "stream", false);
    const struct fth_bench_series *stream = series_of(result, "stream");
    assert_int_equal(stream->table.row_count, FTH_COUNT(kernels));
    for (size_t i = 0; i < FTH_COUNT(kernels); i++) {
        const struct fth_cell *cells = row_of(stream, kernels[i].title);
        const double rate = cells[1].number * 1e9,
                     predicted = predict_bytes_per_s(kernels[i].reads, kernels[i].writes);
        /* Start and end of the kernel take some time. The simulator can grant up to 256 cycles of
         * bandwidth in advance, the duration of one of its buckets (device/sim/sim_port.c). */
        if (!(rate > 0.95 * predicted && rate < 1.01 * predicted))
            fail_msg("%s: %g instead of %g", kernels[i].title, rate, predicted);
        assert_true(fabs(cells[4].number - 100 * rate / LIMIT_BYTES_PER_S) < 0.1);
    }
    const struct fth_bench_series *driver = series_of(result, "stream.driver");
    assert_true(fabs(driver->table.cells[2].number * 1e9 / COPY_BYTES_PER_S - 1) < 0.001);
    assert_true(driver->figure_count == 2 && driver->figures[0].value > 0.95 &&
                driver->figures[1].value == driver->figures[0].value);
    /* 32 threads per block reach a higher bandwidth than one. */
    const struct fth_bench_series *threads = series_of(result, "stream.threads");
    assert_int_equal(threads->table.row_count, 11);
    const struct fth_cell *first = threads->table.cells;
    assert_true(first[2].number < first[5 * threads->table.column_count + 2].number);
    fth_bench_destroy(result);
}

static void stream_omits_kernels_with_wrong_results(void **state)
{
    (void)state;
    altered.from = "mul.rn.f32";
    altered.to = "add.rn.f32";
    struct fth_bench *result = run_bench(open_gpu(DEVICE, MEMORY(GIB)), "stream", false);
    const struct fth_bench_series *stream = series_of(result, "stream");
    assert_int_equal(stream->table.row_count, 9);
    assert_int_equal(stream->missing_count, 2); /* the second is the note about simulated GPUs */
    assert_non_null(strstr(stream->missing[0], "MUL fp32: "));
    assert_non_null(strstr(stream->missing[0], "results are wrong"));
    fth_bench_destroy(result);
}

static void missing_fp64_is_reported(void **state)
{
    (void)state;
    altered.unsupported = ".f64";
    struct fth_bench *result = run_bench(open_gpu(DEVICE, MEMORY(GIB)), "stream", false);
    const struct fth_bench_series *stream = series_of(result, "stream");
    assert_int_equal(stream->table.row_count, 6);
    assert_int_equal(stream->missing_count, 5);
    assert_string_equal(stream->missing[0], "COPY fp64: no .f64 here");
    fth_bench_destroy(result);
    result = run_bench(open_gpu(DEVICE, MEMORY(GIB)), "arith", false);
    const struct fth_bench_series *arith = series_of(result, "arith");
    size_t missing = 0;
    for (size_t i = 0; i < arith->missing_count; i++)
        missing += strstr(arith->missing[i], "fp64: no .f64 here") != NULL;
    assert_int_equal(missing, 3); /* add, mul, fma */
    row_of(arith, "fma fp32");
    for (size_t i = 0; i < arith->table.row_count; i++)
        assert_null(strstr(arith->table.cells[i * arith->table.column_count].text, "fp64"));
    fth_bench_destroy(result);
}

/* 2 GiB of memory hold three arrays of 512 MiB, but not three of 1 GiB. The benches choose sizes
 * that fit. A single request that does not fit fails and reports the requested size. */
static void benches_fit_into_2_gib(void **state)
{
    (void)state;
    static const char *const names[] = {"stream", "global", "link"};
    static const size_t rows[] = {10, 12, 5};
    for (size_t i = 0; i < FTH_COUNT(names); i++) {
        struct fth_bench *result =
            run_bench(open_gpu(DEVICE LINK, MEMORY("2147483648")), names[i], false);
        assert_int_equal(series_of(result, names[i])->table.row_count, rows[i]);
        fth_bench_destroy(result);
    }
    struct fth_device *device = open_gpu(DEVICE, MEMORY("2147483648"));
    const struct fth_prober prober = {.device = device, .sms = 4};
    struct fth_request request = sweep(FTH_SWEEP_TRIAD, false, 1 << 30, 8, 1024, 16, 4);
    struct fth_durations durations;
    struct fth_error error = NO_ERROR;
    assert_int_equal(fth_probe_durations(&prober, &request, &durations, &error), FTH_INCONCLUSIVE);
    assert_contains(error.cause, "requested");
    fth_device_close(device);
}

/* Requests that are to be compared are executed alternately, and each gets its own durations. */
static void compared_requests_are_interleaved(void **state)
{
    (void)state;
    struct fth_device *device = open_gpu(DEVICE, MEMORY(GIB));
    const struct fth_prober prober = {.device = device, .sms = 4};
    struct fth_request requests[] = {transfer(FTH_TRANSFER_WITHIN, false, 1 << 20),
                                     sweep(FTH_SWEEP_COPY, false, 1 << 19, 8, 256, 16, 4)};
    requests[0].transfer.repeats = 2;
    requests[1].cold = true;
    struct fth_durations durations[2];
    assert_int_equal(fth_probe_interleaved(&prober, requests, 2, 3, durations, NULL), FTH_OK);
    assert_int_equal(durations[0].count, 6);
    assert_int_equal(durations[1].count, 3);
    for (size_t i = 0; i < 2; i++)
        assert_true(durations[i].best_ns <= durations[i].median_ns &&
                    durations[i].median_ns <= durations[i].worst_ns);
    assert_true(durations[0].best_ns > 1.5 * durations[1].best_ns);
    /* If one request is not supported, no durations are returned. */
    requests[1].sweep.hinted = true;
    assert_int_equal(fth_probe_interleaved(&prober, requests, 2, 3, durations, NULL),
                     FTH_UNSUPPORTED);
    assert_true(isnan(durations[0].best_ns) && isnan(durations[1].best_ns));
    fth_device_close(device);
}

static void insufficient_memory_is_reported(void **state)
{
    (void)state;
    static const char *const names[] = {"stream", "global"};
    for (size_t i = 0; i < FTH_COUNT(names); i++) {
        struct fth_bench *result = run_bench(open_gpu(DEVICE, MEMORY("2097152")), names[i], false);
        const struct fth_bench_series *series = series_of(result, names[i]);
        assert_int_equal(series->table.row_count, 0);
        assert_true(series->missing_count > 0);
        assert_non_null(strstr(series->missing[0], " requested, "));
        fth_bench_destroy(result);
    }
}

/* `thorough` measures a simulated GPU like a real one: all launch configurations (here with up to
 * 128 threads per block) and all sizes that fit. fp64 is excluded because it takes long. */
static void thorough_stream_measures_every_configuration(void **state)
{
    (void)state;
    if (SANITIZED)
        return; /* it takes a quarter of a minute then */
    altered.unsupported = ".f64";
    struct fth_bench *result = run_bench(
        open_gpu(DEVICE ", \"max_threads_per_block\": 128", MEMORY("4718592")), "stream", true);
    const struct fth_bench_series *stream = series_of(result, "stream"),
                                  *sizes = series_of(result, "stream.sizes");
    /* Only arrays of 1 MiB fit. Even three of them are smaller than four times the L2 of 1 MiB, so
     * their bandwidths are not reported as those of memory. */
    assert_int_equal(sizes->table.row_count, 6);
    assert_int_equal(stream->table.row_count + stream->missing_count, 10);
    for (size_t i = 0; i < stream->missing_count; i++)
        assert_true(strstr(stream->missing[i], "memory is too small for arrays of four times L2") ||
                    strstr(stream->missing[i], "fp64: "));
    assert_int_equal(series_of(result, "stream.threads")->table.row_count, 48);
    fth_bench_destroy(result);
}

static double summary_of(const struct fth_bench_series *series, const char *quantity)
{
    return row_of(series, quantity)[1].number;
}

static void global_bench_matches_the_description(void **state)
{
    (void)state;
    struct fth_bench *result = run_bench(open_gpu(DEVICE, MEMORY(GIB)), "global", false);
    const struct fth_bench_series *global = series_of(result, "global");
    assert_true(summary_of(global, "Theoretical bandwidth (GB/s)") == 128);
    const double max = summary_of(global, "Maximum throughput (GB/s)") * 1e9;
    assert_true(max > 0.93 * COPY_BYTES_PER_S && max < 1.01 * COPY_BYTES_PER_S);
    assert_true(fabs(summary_of(global, "Efficiency (%)") - 100 * max / 128e9) < 0.1);
    /* The load takes 500 cycles (1 ns each), the other instructions some more. */
    const double latency = summary_of(global, "Latency of a copied line (ns)");
    assert_true(latency > 500 && latency < 530);
    assert_true(summary_of(global, "In flight at 95 % of maximum (KiB)") * 1024 >=
                0.9 * max / 2 * latency * 1e-9);
    /* With few bytes in flight, the bandwidth is that of Little's law: bytes in flight divided by
     * the latency. The copy reads and writes each byte, hence the factor 2. */
    const struct fth_bench_series *words = series_of(result, "global.ilp1");
    const struct fth_cell *first = words->table.cells;
    assert_true(first[0].number == 2 && first[1].number == 64);
    const double predicted = 2 * first[4].number / (latency * 1e-9);
    assert_true(first[4].number == 2 * 64 * 4);
    assert_true(first[2].number * 1e9 > 0.9 * predicted && first[2].number * 1e9 < 1.1 * predicted);
    fth_bench_destroy(result);
}

static void link_bench_matches_the_description(void **state)
{
    (void)state;
    static const struct {
        const char *title;
        double gb_per_s;
    } rows[] = {{"to device, pinned", 50},
                {"from device, pinned", 40},
                {"both, pinned", 60},
                {"to device, pageable", 10},
                {"from device, pageable", 8}};
    struct fth_bench *result = run_bench(open_gpu(DEVICE LINK, MEMORY(GIB)), "link", false);
    const struct fth_bench_series *link = series_of(result, "link");
    assert_int_equal(link->table.row_count, FTH_COUNT(rows));
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        const struct fth_cell *cells = row_of(link, rows[i].title);
        assert_true(cells[1].number == 256);
        assert_true(cells[2].number <= rows[i].gb_per_s &&
                    cells[2].number > 0.99 * rows[i].gb_per_s);
        assert_true(cells[6].number == 9);
    }
    assert_int_equal(link->missing_count, 2);
    assert_non_null(strstr(link->missing[0], "both, pageable: "));
    assert_non_null(strstr(link->missing[1], "there is no other GPU"));
    assert_int_equal(series_of(result, "link.sizes")->table.row_count, 5 * FTH_COUNT(rows));
    fth_bench_destroy(result);
    result = run_bench(open_gpu(DEVICE, MEMORY(GIB)), "link", false);
    link = series_of(result, "link");
    assert_int_equal(link->table.row_count, 0);
    assert_int_equal(link->missing_count, 7);
    assert_non_null(
        strstr(link->missing[0], "the description has no latency or bandwidth of the host link"));
    fth_bench_destroy(result);
}

/* ---- through the stand-in for the driver ---- */

/* Executes a request on a GTX 980 behind the stand-in driver. `mode` is a mode of the stand-in. */
static void measure_with_driver(const char *mode, const struct fth_request *request,
                                struct fth_samples *samples)
{
    struct fth_error error = NO_ERROR;
    struct fth_device *device = NULL;
    setenv("FATHOM_STANDIN", mode, 1);
    setenv("FATHOM_STANDIN_GPU", "gtx980", 1);
    *samples = (struct fth_samples){0};
    if (fth_device_open("cuda:0", NULL, &device, &error) != FTH_OK ||
        fth_device_measure(device, request, 1, samples, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    fth_device_close(device);
    if (samples->status == FTH_OK && !samples->cycles)
        abort();
}

static void transfers_work_through_the_driver(void **state)
{
    (void)state;
    static const struct {
        enum fth_transfer_kind kind;
        bool pinned;
        const char *mode, *cause; /* cause NULL: the transfer succeeds */
        bool corrupt;             /* the copied data is wrong */
    } rows[] = {
        {FTH_TRANSFER_TO_DEVICE, true, "one", NULL, false},
        {FTH_TRANSFER_FROM_DEVICE, true, "one", NULL, false},
        {FTH_TRANSFER_BOTH, true, "one", NULL, false},
        {FTH_TRANSFER_TO_DEVICE, false, "one", NULL, false},
        {FTH_TRANSFER_FROM_DEVICE, false, "one", NULL, false},
        {FTH_TRANSFER_WITHIN, false, "one", NULL, false},
        {FTH_TRANSFER_TO_PEER, false, "two", NULL, false},
        {FTH_TRANSFER_PEERS, false, "two", NULL, false},
        {FTH_TRANSFER_TO_DEVICE, true, "corrupt", NULL, true},
        {FTH_TRANSFER_FROM_DEVICE, true, "corrupt", NULL, true},
        {FTH_TRANSFER_BOTH, false, "one", "copies of pageable memory cannot overlap", false},
        {FTH_TRANSFER_TO_DEVICE, true, "no-pinned", "operation not supported", false},
        {FTH_TRANSFER_TO_DEVICE, true, "no-memory:1048576", "requested", false},
        {FTH_TRANSFER_TO_PEER, false, "one", "there is no other GPU", false},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_request request = transfer(rows[i].kind, rows[i].pinned, 3 << 20);
        request.transfer.repeats = 3;
        struct fth_samples samples;
        measure_with_driver(rows[i].mode, &request, &samples);
        if (rows[i].cause) {
            assert_true(samples.status == FTH_UNSUPPORTED || samples.status == FTH_UNAVAILABLE);
            assert_contains(samples.cause, rows[i].cause);
        } else {
            assert_int_equal(samples.status, FTH_OK);
            assert_int_equal(samples.count, 5);
            assert_true(samples.cycles[0] > 0 && samples.cycles[2] > 0);
            assert_int_equal(samples.cycles[3] != 0, rows[i].corrupt);
            assert_int_equal(samples.cycles[4], strcmp(rows[i].mode, "two") == 0);
        }
        fth_samples_fini(&samples);
    }
}

/* The time agrees with that of the simulated GPU without the driver. */
static void sweeps_take_the_same_time_through_the_driver(void **state)
{
    (void)state;
    const struct fth_request request = sweep(FTH_SWEEP_ADD, true, 1 << 20, 16, 1024, 16, 2);
    struct fth_samples samples;
    struct fth_device *device = NULL;
    measure_with_driver("one", &request, &samples);
    assert_int_equal(samples.status, FTH_OK);
    assert_int_equal(samples.cycles[1], 0);
    const double through_driver = samples.cycles[0];
    fth_samples_fini(&samples);
    assert_int_equal(fth_device_open("sim:gtx980", NULL, &device, NULL), FTH_OK);
    samples = (struct fth_samples){0};
    assert_int_equal(fth_device_measure(device, &request, 1, &samples, NULL), FTH_OK);
    assert_true(fabs(through_driver / samples.cycles[0] - 1) < 0.05);
    fth_samples_fini(&samples);
    fth_device_close(device);
}

int main(void)
{
#define TEST(NAME) cmocka_unit_test_setup(NAME, reset_alterations)
    const struct CMUnitTest tests[] = {
        TEST(requests_have_a_canonical_text),
        TEST(invalid_requests_are_refused),
        TEST(every_sweep_computes_correct_results),
        TEST(broken_kernels_are_detected),
        TEST(stream_bandwidths_match_the_description),
        TEST(stream_omits_kernels_with_wrong_results),
        TEST(missing_fp64_is_reported),
        TEST(insufficient_memory_is_reported),
        TEST(benches_fit_into_2_gib),
        TEST(compared_requests_are_interleaved),
        TEST(thorough_stream_measures_every_configuration),
        TEST(global_bench_matches_the_description),
        TEST(link_bench_matches_the_description),
        TEST(interrupted_benches_return_their_results_so_far),
        TEST(transfers_work_through_the_driver),
        TEST(sweeps_take_the_same_time_through_the_driver),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
