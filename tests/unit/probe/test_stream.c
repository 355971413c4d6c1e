/* Tests requests of the stream family (device/family/family_stream.c) and the bandwidth probe
 * (probe/rate/bandwidth.c) on simulated GPUs. The truth is the bandwidths in their descriptions. */
#include "check.h"
#include "device/sim/sim.h"
#include "probe/rate/probe_rate.h"

#include <math.h>
#include <stdio.h>

/* ---- GPUs ---- */

struct gpu {
    struct fth_device *device;
    struct fth_gpu *known; /* what the driver reports, and sizes that the test adds */
    struct fth_prober prober;
};

/* 8 SMs at 1 GHz. The loads and stores of an SM move at most 128 bytes per cycle, which is
 * 1024 GB/s for all SMs. */
#define DEVICE                                                                                     \
    "\"name\": \"Test\", \"compute_capability\": \"9.0\", \"sms\": 8, \"clock_mhz\": 1000, "       \
    "\"max_threads_per_sm\": 2048, "                                                               \
    "\"memory_clock_mhz\": 1000, \"memory_bus_bits\": 512"
#define L1 "\"l1\": {\"size_bytes\": 131072, \"line_bytes\": 128, \"latency_cycles\": 32"
#define L2                                                                                         \
    "\"l2\": {\"size_bytes\": 4194304, \"line_bytes\": 128, \"sector_bytes\": 32, "                \
    "\"latency_cycles\": 200"
#define SHARED "\"shared\": {\"size_bytes\": 131072, \"latency_cycles\": 30"
#define MEMORY "\"memory\": {\"size_bytes\": 4294967296, \"latency_cycles\": 500"

static void open_gpu(struct gpu *gpu, const char *device, const char *elements)
{
    char text[4096];
    struct fth_error error = NO_ERROR;
    struct fth_gpu *description = NULL;
    const struct fth_machine_ops *ops = NULL;
    void *machine = NULL;
    snprintf(text, sizeof text,
             "{\"schema\": \"fathom-gpu/1\", \"device\": {%s}, \"elements\": {%s}}", device,
             elements);
    if (fth_gpu_read_text("test.json", text, strlen(text), NULL, &description, &error) != FTH_OK ||
        fth_sim_machine_create(description, &ops, &machine, &error) != FTH_OK ||
        fth_runner_device("sim:test", ops, machine, NULL, &gpu->device, &error) != FTH_OK ||
        fth_gpu_create(&gpu->known, &error) != FTH_OK ||
        fth_device_describe(gpu->device, gpu->known, &error) != FTH_OK)
        fail_msg("%s: %s", error.cause, text);
    fth_gpu_destroy(description);
    gpu->prober = (struct fth_prober){.device = gpu->device, .sms = 8};
}

static void close_gpu(struct gpu *gpu)
{
    fth_gpu_destroy(gpu->known);
    fth_device_close(gpu->device);
}

/* Adds the size of an element, as if it had been measured. */
static void add_known_size(struct gpu *gpu, const char *element, double size_bytes)
{
    struct fth_error error = NO_ERROR;
    struct fth_attribute size = fth_attribute_make("size_bytes", FTH_NUMBER);
    size.number = size_bytes;
    if (!fth_gpu_section(gpu->known, element))
        assert_int_equal(fth_gpu_add_element(gpu->known, element, &error), FTH_OK);
    assert_int_equal(fth_gpu_set(gpu->known, fth_gpu_section(gpu->known, element), &size, &error),
                     FTH_OK);
}

/* Asserts that the probe finds this bandwidth, within 2 %. */
static void assert_bandwidth(struct gpu *gpu, enum fth_bandwidth_target target, double bytes_per_s)
{
    struct fth_bandwidth found = {0};
    struct fth_error error = NO_ERROR;
    if (fth_probe_bandwidth(&gpu->prober, gpu->known, target, false, &found, &error) != FTH_OK)
        fail_msg("%s: %s", error.argument, error.cause);
    if (fabs(found.bytes_per_s / bytes_per_s - 1) > 0.02 ||
        fabs(found.median_bytes_per_s / bytes_per_s - 1) > 0.02)
        fail_msg("%s %s: %g, median %g instead of %g", fth_bandwidth_element(target),
                 fth_bandwidth_attribute(target), found.bytes_per_s, found.median_bytes_per_s,
                 bytes_per_s);
    assert_true(found.samples >= 8 && found.shape.threads > 0);
    assert_true(found.bytes_per_s >= found.median_bytes_per_s);
    assert_true(fabs(found.clock_mhz - 1000) < 1);
}

/* ---- requests ---- */

static struct fth_request stream(enum fth_stream_kind kind, enum fth_path path, uint64_t bytes,
                                 bool shared_by_all)
{
    struct fth_request request = fth_request_make(-1);
    request.family = FTH_FAMILY_STREAM;
    request.stream = (struct fth_stream){.kind = kind,
                                         .path = path,
                                         .bytes = bytes,
                                         .shared_by_all = shared_by_all,
                                         .blocks_per_sm = 1,
                                         .threads = 256,
                                         .vector_bytes = 4,
                                         .passes = 1};
    return request;
}

/* Asserts that the request is valid and has this text. */
static void assert_text(const struct fth_request *request, const char *expected)
{
    struct fth_buffer text = {0};
    struct fth_error error = NO_ERROR;
    if (fth_request_check(request, &error) != FTH_OK)
        fail_msg("%s: %s", error.argument, error.cause);
    fth_request_write(request, &text);
    assert_string_equal(text.data, expected);
    fth_buffer_fini(&text);
    assert_int_equal(fth_request_samples(request), 3);
}

static void requests_have_a_canonical_text(void **state)
{
    (void)state;
    struct fth_request request = stream(FTH_STREAM_READ, FTH_PATH_CG, 65536, true);
    assert_text(&request, "stream read cg 65536 1x256x4");
    request.alone = true; /* implied, and therefore not written */
    assert_text(&request, "stream read cg 65536 1x256x4");
    request.cold = true;
    assert_text(&request, "stream read cg 65536 1x256x4; cold");
    request = stream(FTH_STREAM_COPY, FTH_PATH_SHARED, 4096, false);
    request.stream.sms = 2;
    request.stream.vector_bytes = 16;
    request.stream.blocks_per_sm = 2;
    request.stream.passes = 9;
    request.carveout_percent = 100;
    assert_text(&request, "stream copy shared 4096 each 2x256x16 sms 2 passes 9; carveout 100");
    request.stream.kind = FTH_STREAM_WRITE;
    request.stream.blocks_per_sm = 1;
    request.stream.cluster = 2;
    assert_text(&request,
                "stream write shared 4096 each 1x256x16 sms 2 cluster 2 passes 9; carveout 100");
    request = stream(FTH_STREAM_WRITE, FTH_PATH_CG, 512, true);
    assert_text(&request, "stream write cg 512 1x256x4");
    request = stream(FTH_STREAM_READ, FTH_PATH_CONSTANT, 16, false);
    assert_text(&request, "stream read constant 16 each 1x256x4");
}

static void invalid_requests_are_rejected(void **state)
{
    (void)state;
    const struct fth_request good = stream(FTH_STREAM_READ, FTH_PATH_CA, 65536, true);
    struct fth_request bad[28];
    const char *members[FTH_COUNT(bad)];
    size_t count = 0;
#define BAD(MEMBER, VALUE, NAME)                                                                   \
    do {                                                                                           \
        bad[count] = good;                                                                         \
        bad[count].MEMBER = (VALUE);                                                               \
        members[count++] = NAME;                                                                   \
    } while (0)
    BAD(stream.kind, FTH_STREAM_KINDS, "stream.kind");
    BAD(stream.kind, FTH_STREAM_WRITE, "stream.path");
    BAD(stream.kind, FTH_STREAM_COPY, "stream.path");
    BAD(stream.path, FTH_PATH_COUNT, "stream.path");
    BAD(stream.path, FTH_PATH_SHARED, "stream.shared_by_all");
    BAD(stream.path, FTH_PATH_CONSTANT, "stream.shared_by_all");
    BAD(stream.vector_bytes, 0, "stream.vector_bytes");
    BAD(stream.vector_bytes, 12, "stream.vector_bytes");
    BAD(stream.vector_bytes, 32, "stream.vector_bytes");
    BAD(stream.bytes, 0, "stream.bytes");
    BAD(stream.bytes, 65537, "stream.bytes");
    BAD(stream.bytes, 256, "stream.bytes");
    BAD(stream.bytes, UINT64_C(1) << 47, "stream.bytes");
    BAD(stream.sms, 4096, "stream.sms");
    BAD(stream.blocks_per_sm, 0, "stream.blocks_per_sm");
    BAD(stream.blocks_per_sm, 33, "stream.blocks_per_sm");
    BAD(stream.threads, 0, "stream.threads");
    BAD(stream.threads, 33, "stream.threads");
    BAD(stream.threads, 1056, "stream.threads");
    BAD(stream.passes, 0, "stream.passes");
    BAD(stream.cluster, 2, "stream.cluster"); /* only for shared memory */
    BAD(sm, 3, "sm");
    BAD(carveout_percent, 101, "carveout_percent");
    bad[count] = good;
    bad[count].cold = true;
    bad[count].stream.passes = 2;
    members[count++] = "cold";
    bad[count] = good;
    bad[count].stream.path = FTH_PATH_TEXTURE;
    bad[count].stream.vector_bytes = 16;
    members[count++] = "stream.vector_bytes";
    bad[count] = stream(FTH_STREAM_READ, FTH_PATH_SHARED, 4096, false);
    bad[count].stream.cluster = 3;
    members[count++] = "stream.cluster";
    bad[count] = stream(FTH_STREAM_COPY, FTH_PATH_SHARED, 4096, false);
    bad[count].stream.cluster = 2;
    members[count++] = "stream.cluster";
    bad[count] = stream(FTH_STREAM_READ, FTH_PATH_SHARED, 4096, false);
    bad[count].stream.cluster = 2;
    bad[count].stream.blocks_per_sm = 2;
    members[count++] = "stream.blocks_per_sm";
#undef BAD
    for (size_t i = 0; i < count; i++) {
        struct fth_error error = NO_ERROR;
        assert_int_equal(fth_request_check(&bad[i], &error), FTH_INVALID);
        assert_string_equal(error.argument, members[i]);
    }
}

static void every_stream_kernel_runs(void **state)
{
    (void)state;
    struct gpu gpu = {0};
    open_gpu(&gpu, DEVICE,
             L1 "}, " L2 "}, " SHARED "}, " MEMORY "}, \"texture\": {}, \"readonly\": {}, "
                "\"constant_l1\": {}");
    for (unsigned kind = 0; kind < FTH_STREAM_KINDS; kind++)
        for (unsigned path = 0; path < FTH_PATH_COUNT; path++)
            for (unsigned vector = 4; vector <= 16; vector *= 2) {
                if (!fth_kernels_has_stream((enum fth_stream_kind)kind, (enum fth_path)path,
                                            vector))
                    continue;
                struct fth_request request =
                    stream((enum fth_stream_kind)kind, (enum fth_path)path, 16384, false);
                request.stream.vector_bytes = vector;
                struct fth_samples samples = {0};
                struct fth_error error = NO_ERROR;
                if (fth_device_measure(gpu.device, &request, 1, &samples, &error) != FTH_OK)
                    fail_msg("%s", error.cause);
                assert_int_equal(samples.status, FTH_OK);
                assert_int_equal(samples.count, 3);
                /* No path delivers more than 128 bytes per cycle. The simulator accounts for
                 * bandwidth in intervals of 256 cycles, so a stream can end that much earlier. */
                assert_true(samples.cycles[1] + 256 >= 16384 / 128);
                assert_true(samples.cycles[1] > 0);
                assert_true(samples.cycles[0] + 1 >= samples.cycles[1]);
                assert_int_equal(samples.cycles[2], 1);
                fth_samples_fini(&samples);
            }
    close_gpu(&gpu);
}

static void streams_that_the_gpu_cannot_run_are_reported(void **state)
{
    (void)state;
    struct gpu gpu = {0};
    open_gpu(&gpu, DEVICE, L2 "}, " SHARED "}, \"memory\": {\"size_bytes\": 1048576}");
    struct fth_request requests[5] = {stream(FTH_STREAM_READ, FTH_PATH_SHARED, 262144, false),
                                      stream(FTH_STREAM_READ, FTH_PATH_CG, 65536, true),
                                      stream(FTH_STREAM_READ, FTH_PATH_CG, 1 << 26, true),
                                      stream(FTH_STREAM_READ, FTH_PATH_CG, 65536, true),
                                      stream(FTH_STREAM_READ, FTH_PATH_SHARED, 4096, false)};
    static const enum fth_status expected[5] = {FTH_UNSUPPORTED, FTH_UNSUPPORTED, FTH_UNAVAILABLE,
                                                FTH_OK, FTH_UNSUPPORTED};
    struct fth_samples samples[5] = {0};
    struct fth_error error = NO_ERROR;
    requests[1].stream.sms = 9;
    requests[4].stream.cluster = 2;
    assert_int_equal(fth_device_measure(gpu.device, requests, 5, samples, &error), FTH_OK);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(samples[i].status, expected[i]);
        fth_samples_fini(&samples[i]);
    }
    close_gpu(&gpu);
}

/* ---- bandwidth ---- */

static void finds_every_bandwidth(void **state)
{
    (void)state;
    static const struct {
        enum fth_bandwidth_target target;
        double bytes_per_s;
    } expected[] = {
        {FTH_BANDWIDTH_MEMORY_READ, 100e9},   {FTH_BANDWIDTH_MEMORY_WRITE, 80e9},
        {FTH_BANDWIDTH_MEMORY_COPY, 85e9},    {FTH_BANDWIDTH_L2_READ, 400e9},
        {FTH_BANDWIDTH_L2_WRITE, 300e9},      {FTH_BANDWIDTH_L2_COPY, 320e9},
        {FTH_BANDWIDTH_L1_READ, 800e9},       {FTH_BANDWIDTH_L1_WRITE, 300e9},
        {FTH_BANDWIDTH_READONLY_READ, 600e9}, {FTH_BANDWIDTH_TEXTURE_READ, 500e9},
        {FTH_BANDWIDTH_CONSTANT_READ, 64e9},  {FTH_BANDWIDTH_SHARED_READ, 900e9},
        {FTH_BANDWIDTH_SHARED_WRITE, 700e9},  {FTH_BANDWIDTH_SHARED_COPY, 720e9},
        {FTH_BANDWIDTH_CLUSTER_READ, 160e9},  {FTH_BANDWIDTH_CLUSTER_WRITE, 120e9},
    };
    assert_int_equal(FTH_COUNT(expected), FTH_BANDWIDTH_TARGETS);
    struct gpu gpu = {0};
    open_gpu(&gpu, DEVICE,
             L1 ", \"read_bytes_per_s\": 800e9}, " L2
                ", \"read_bytes_per_s\": 400e9, \"write_bytes_per_s\": 300e9, "
                "\"copy_bytes_per_s\": 320e9}, " SHARED
                ", \"read_bytes_per_s\": 900e9, \"write_bytes_per_s\": 700e9, "
                "\"copy_bytes_per_s\": 720e9}, " MEMORY
                ", \"read_bytes_per_s\": 100e9, \"write_bytes_per_s\": 80e9, "
                "\"copy_bytes_per_s\": 85e9}, "
                "\"texture\": {\"size_bytes\": 49152, \"read_bytes_per_s\": 500e9}, "
                "\"readonly\": {\"size_bytes\": 49152, \"read_bytes_per_s\": 600e9}, "
                "\"constant_l1\": {\"read_bytes_per_s\": 64e9}, "
                "\"cluster_shared\": {\"read_bytes_per_s\": 160e9, \"write_bytes_per_s\": 120e9}");
    add_known_size(&gpu, "l1", 131072);
    for (size_t i = 0; i < FTH_COUNT(expected); i++)
        assert_bandwidth(&gpu, expected[i].target, expected[i].bytes_per_s);
    /* The result does not depend on earlier streams. */
    assert_bandwidth(&gpu, FTH_BANDWIDTH_MEMORY_READ, 100e9);
    close_gpu(&gpu);
}

/* Stores go through L1 to L2. The slower of the two limits the bandwidth. */
static void l1_stores_are_limited_by_the_slower_level(void **state)
{
    (void)state;
    static const double l2[] = {300e9, 200e9};
    for (size_t i = 0; i < FTH_COUNT(l2); i++) {
        struct gpu gpu = {0};
        char elements[512];
        snprintf(elements, sizeof elements,
                 L1 ", \"write_bytes_per_s\": 250e9}, " L2 ", \"write_bytes_per_s\": %g}, " MEMORY
                    ", \"write_bytes_per_s\": 80e9}",
                 l2[i]);
        open_gpu(&gpu, DEVICE, elements);
        add_known_size(&gpu, "l1", 131072);
        assert_bandwidth(&gpu, FTH_BANDWIDTH_L1_WRITE, fmin(l2[i], 250e9));
        close_gpu(&gpu);
    }
}

/* Without a figure for copies, a copy takes the time of its reads plus that of its writes. Without
 * a figure for reads or writes, the peak applies. Without any of these, the bandwidth is limited
 * only by the loads and stores of the SMs. */
static void missing_bandwidths_have_defaults(void **state)
{
    (void)state;
    struct gpu gpu = {0};
    open_gpu(&gpu, DEVICE,
             L1 "}, " L2 ", \"read_bytes_per_s\": 400e9}, " SHARED "}, " MEMORY
                ", \"write_bytes_per_s\": 64e9, \"peak_bytes_per_s\": 96e9}");
    assert_bandwidth(&gpu, FTH_BANDWIDTH_MEMORY_READ, 96e9);
    assert_bandwidth(&gpu, FTH_BANDWIDTH_MEMORY_WRITE, 64e9);
    assert_bandwidth(&gpu, FTH_BANDWIDTH_MEMORY_COPY, 2 / (1 / 96e9 + 1 / 64e9));
    assert_bandwidth(&gpu, FTH_BANDWIDTH_L2_WRITE, 1024e9);
    assert_bandwidth(&gpu, FTH_BANDWIDTH_L1_READ, 1024e9);
    assert_bandwidth(&gpu, FTH_BANDWIDTH_SHARED_READ, 1024e9);
    assert_bandwidth(&gpu, FTH_BANDWIDTH_SHARED_WRITE, 1024e9);
    close_gpu(&gpu);
}

/* Little's law: the bandwidth is at most the bytes in flight divided by the latency. */
static void one_warp_is_limited_by_latency(void **state)
{
    (void)state;
    struct gpu gpu = {0};
    open_gpu(&gpu, DEVICE, L2 "}, " MEMORY ", \"read_bytes_per_s\": 100e9}");
    for (uint32_t threads = 32; threads <= 1024; threads *= 32) {
        struct fth_request request = stream(FTH_STREAM_READ, FTH_PATH_CG, 8 << 19, true);
        request.stream.threads = threads;
        request.cold = true;
        struct fth_samples samples = {0};
        struct fth_error error = NO_ERROR;
        if (fth_device_measure(gpu.device, &request, 1, &samples, &error) != FTH_OK)
            fail_msg("%s", error.cause);
        double rate = (double)(8 << 19) / samples.cycles[0];
        /* With one warp on each of 8 SMs, four loads of 128 bytes per SM are in flight. A load
         * takes 500 cycles, and the loop some more. */
        double max = 8.0 * threads * 16 / 500;
        if (threads == 32 && (rate > max || rate < 0.9 * max))
            fail_msg("%g bytes per ns, but Little's law allows %g", rate, max);
        if (threads == 1024 && (rate > 102 || rate < 90))
            fail_msg("%g bytes per ns, but memory delivers 100", rate);
        fth_samples_fini(&samples);
    }
    close_gpu(&gpu);
}

static void bandwidth_above_the_bus_limit_is_rejected(void **state)
{
    (void)state;
    struct gpu gpu = {0};
    /* A bus of 64 bits at 500 MHz with two transfers per cycle has 8 GB/s. */
    open_gpu(&gpu,
             "\"name\": \"Test\", \"sms\": 8, \"clock_mhz\": 1000, \"memory_clock_mhz\": 500, "
             "\"memory_bus_bits\": 64",
             L2 "}, " MEMORY ", \"read_bytes_per_s\": 100e9}");
    struct fth_bandwidth found = {0};
    struct fth_error error = NO_ERROR;
    assert_int_equal(fth_probe_bandwidth(&gpu.prober, gpu.known, FTH_BANDWIDTH_MEMORY_READ, false,
                                         &found, &error),
                     FTH_INCONCLUSIVE);
    assert_non_null(strstr(error.cause, "clock and bus"));
    assert_true(found.bytes_per_s > 90e9);
    close_gpu(&gpu);
}

/* A device whose streams seem to take two thirds of their time. */
static enum fth_status measure_too_fast(void *state, const struct fth_request *requests,
                                        size_t count, struct fth_samples *samples,
                                        struct fth_error *error)
{
    enum fth_status status = fth_device_measure(state, requests, count, samples, error);
    for (size_t i = 0; i < count && status == FTH_OK; i++)
        if (samples[i].status == FTH_OK)
            samples[i].cycles[0] = samples[i].cycles[0] / 3 * 2;
    return status;
}

/* The words of Kepler's shared memory have 8 bytes, those of its other levels 4: 8 SMs at 1 GHz
 * load at most 2048 and 1024 GB/s. */
static void kepler_has_a_higher_limit_in_shared_memory_only(void **state)
{
    (void)state;
    static const struct {
        enum fth_bandwidth_target target;
        enum fth_status status;
    } rows[] = {{FTH_BANDWIDTH_SHARED_READ, FTH_OK}, {FTH_BANDWIDTH_L1_READ, FTH_INCONCLUSIVE}};
    static const struct fth_device_ops fast_ops = {.measure = measure_too_fast};
    struct gpu gpu = {0};
    open_gpu(&gpu,
             "\"name\": \"Test\", \"compute_capability\": \"3.5\", \"sms\": 8, \"clock_mhz\": "
             "1000, \"max_threads_per_sm\": 2048",
             L1 ", \"read_bytes_per_s\": 1000e9}, " L2 "}, " SHARED
                ", \"read_bytes_per_s\": 1000e9}, " MEMORY "}");
    add_known_size(&gpu, "l1", 131072);
    struct fth_device fast = {.ops = &fast_ops, .state = gpu.device, .id = "fast"};
    const struct fth_prober prober = {.device = &fast, .sms = 8};
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_bandwidth found = {0};
        struct fth_error error = NO_ERROR;
        assert_int_equal(
            fth_probe_bandwidth(&prober, gpu.known, rows[i].target, false, &found, &error),
            rows[i].status);
        if (rows[i].status != FTH_OK)
            assert_contains(error.cause, "the maximum is 1.024e+12");
    }
    close_gpu(&gpu);
}

/* A device that fails after some requests. */
struct failing_device {
    struct fth_device *inner;
    size_t left; /* requests until it fails */
};

static enum fth_status measure_or_fail(void *state, const struct fth_request *requests,
                                       size_t count, struct fth_samples *samples,
                                       struct fth_error *error)
{
    struct failing_device *failing = state;
    if (failing->left == 0)
        return fth_fail(error, FTH_UNAVAILABLE, "measure", NULL, "the device is gone");
    failing->left--;
    return fth_device_measure(failing->inner, requests, count, samples, error);
}

static void every_failure_ends_the_search_for_banks(void **state)
{
    (void)state;
    static const struct fth_device_ops ops = {.measure = measure_or_fail};
    struct failing_device failing;
    struct fth_banks banks;
    enum fth_status status = FTH_UNAVAILABLE;
    size_t requests = 0;
    assert_int_equal(fth_device_open("sim:gtx980", NULL, &failing.inner, NULL), FTH_OK);
    for (; status != FTH_OK; requests++) {
        struct fth_error error = NO_ERROR;
        struct fth_device device = {.ops = &ops, .state = &failing, .id = "failing"};
        const struct fth_prober prober = {.device = &device, .sms = 1};
        failing.left = requests;
        status = fth_probe_banks(&prober, &banks, &error);
        assert_int_equal(error.status, status);
        assert_int_equal(status == FTH_UNAVAILABLE, status != FTH_OK);
    }
    assert_true(requests > 8);
    assert_int_equal(banks.banks, 32);
    fth_device_close(failing.inner);
}

/* A device whose sweeps have one fast shape. Another program slows down the first long sweep of
 * this shape. */
struct slowed_device {
    struct fth_device *inner;
    uint64_t longest_bytes; /* of the sweeps so far */
};

static enum fth_status measure_slowed(void *state, const struct fth_request *requests, size_t count,
                                      struct fth_samples *samples, struct fth_error *error)
{
    struct slowed_device *slowed = state;
    enum fth_status status = fth_device_measure(slowed->inner, requests, count, samples, error);
    for (size_t i = 0; i < count && status == FTH_OK; i++) {
        const struct fth_sweep *sweep = &requests[i].sweep;
        if (requests[i].family != FTH_FAMILY_SWEEP || samples[i].status != FTH_OK)
            continue;
        const bool fast = sweep->threads == 1024;
        /* Shapes round the length differently, so the lengths of one batch differ a little. */
        const bool first = fast && sweep->bytes > 2 * slowed->longest_bytes;
        if (fast && sweep->bytes > slowed->longest_bytes)
            slowed->longest_bytes = sweep->bytes;
        samples[i].cycles[0] = samples[i].cycles[0] / 100 * (first ? 150 : fast ? 100 : 120);
    }
    return status;
}

static void an_interrupted_search_tries_each_shape_of_sweeps_twice(void **state)
{
    (void)state;
    static const struct fth_device_ops slowed_ops = {.measure = measure_slowed};
    for (size_t interruptions = 0; interruptions < 2; interruptions++) {
        struct gpu gpu = {0};
        open_gpu(&gpu, DEVICE, L2 "}, " MEMORY ", \"read_bytes_per_s\": 100e9}");
        struct slowed_device slowed = {.inner = gpu.device};
        struct fth_device device = {.ops = &slowed_ops, .state = &slowed, .id = "slowed"};
        size_t count = interruptions;
        const struct fth_prober prober = {.device = &device, .sms = 8, .interruptions = &count};
        struct fth_bandwidth found = {0};
        struct fth_error error = NO_ERROR;
        if (fth_probe_bandwidth(&prober, gpu.known, FTH_BANDWIDTH_MEMORY_READ, false, &found,
                                &error) != FTH_OK)
            fail_msg("%s", error.cause);
        assert_int_equal(found.shape.threads == 1024, interruptions);
        close_gpu(&gpu);
    }
}

/* The message gives the space that the target has. */
static void an_impossible_launch_shape_names_the_space_for_arrays(void **state)
{
    (void)state;
    struct gpu gpu = {0};
    open_gpu(&gpu,
             "\"name\": \"Test\", \"sms\": 8, \"clock_mhz\": 1000, \"max_threads_per_sm\": 16",
             L2 "}, " MEMORY "}");
    struct fth_bandwidth found = {0};
    struct fth_error error = NO_ERROR;
    assert_int_equal(fth_probe_bandwidth(&gpu.prober, gpu.known, FTH_BANDWIDTH_MEMORY_READ, false,
                                         &found, &error),
                     FTH_UNSUPPORTED);
    /* An eighth of 4 GiB of memory, instead of a part of the 4 MiB of the L2. */
    assert_contains(error.cause, "space for arrays: 536870912 bytes");
    close_gpu(&gpu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_have_a_canonical_text),
        cmocka_unit_test(invalid_requests_are_rejected),
        cmocka_unit_test(every_stream_kernel_runs),
        cmocka_unit_test(streams_that_the_gpu_cannot_run_are_reported),
        cmocka_unit_test(finds_every_bandwidth),
        cmocka_unit_test(l1_stores_are_limited_by_the_slower_level),
        cmocka_unit_test(missing_bandwidths_have_defaults),
        cmocka_unit_test(one_warp_is_limited_by_latency),
        cmocka_unit_test(bandwidth_above_the_bus_limit_is_rejected),
        cmocka_unit_test(kepler_has_a_higher_limit_in_shared_memory_only),
        cmocka_unit_test(every_failure_ends_the_search_for_banks),
        cmocka_unit_test(an_interrupted_search_tries_each_shape_of_sweeps_twice),
        cmocka_unit_test(an_impossible_launch_shape_names_the_space_for_arrays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
