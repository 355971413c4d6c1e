/* Tests clusters of blocks, from the request (device/family/family_cluster.c) to the probe
 * (probe/rate/cluster_latency.c). The probe measures simulated GPUs, whose descriptions are the
 * truth, directly and through the stand-in for NVIDIA's driver (tests/standin), which the loader
 * finds through LD_LIBRARY_PATH. test_cluster_ptx.c tests clusters in the PTX engine. */
#include "check.h"
#include "described_device.h"
#include "device/cuda/cuda.h"
#include "probe/rate/probe_rate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- requests ---- */

static struct fth_request chase(uint32_t size, uint32_t target, uint64_t count, uint64_t passes)
{
    return (struct fth_request){.family = FTH_FAMILY_CLUSTER,
                                .cluster = {.size = size,
                                            .target = target,
                                            .chain = {.stride_bytes = 8, .count = count},
                                            .passes = passes},
                                .sm = FTH_ANY_SM,
                                .carveout_percent = -1};
}

static void invalid_requests_are_rejected(void **state)
{
    (void)state;
    struct fth_request valid[] = {chase(2, 0, 1, 1), chase(8, 7, 1024, 15), chase(16, 15, 7, 1)};
    valid[2].cluster.chain.step = 3;
    for (size_t i = 0; i < FTH_COUNT(valid); i++) {
        assert_int_equal(fth_request_check(&valid[i], NULL), FTH_OK);
        assert_int_equal(fth_request_samples(&valid[i]), valid[i].cluster.passes);
    }
    struct fth_request faults[13];
    for (size_t i = 0; i < FTH_COUNT(faults); i++)
        faults[i] = chase(4, 1, 16, 2);
    faults[0].cluster.size = 1;
    faults[1].cluster.size = 6;
    faults[2].cluster.size = 32;
    faults[3].cluster.target = 4;
    faults[4].cluster.passes = 0;
    faults[5].cluster.chain.count = 0;
    faults[6].cluster.chain.stride_bytes = 12;
    faults[7].cluster.chain.start_bytes = 4;
    faults[8].cluster.chain.count = (1 << 17) + 1;
    faults[9].cluster.chain.step = 6;
    faults[10].sm = 0;
    faults[11].carveout_percent = 101;
    faults[12].cold = true; /* the text of a request has no word for it */
    static const char *const members[FTH_COUNT(faults)] = {"cluster.size",
                                                           "cluster.size",
                                                           "cluster.size",
                                                           "cluster.target",
                                                           "cluster.passes",
                                                           "cluster.chain.count",
                                                           "cluster.chain.stride_bytes",
                                                           "cluster.chain.start_bytes",
                                                           "cluster.chain.count",
                                                           "cluster.chain.step",
                                                           "sm",
                                                           "carveout_percent",
                                                           "cold"};
    for (size_t i = 0; i < FTH_COUNT(faults); i++) {
        struct fth_error error = NO_ERROR;
        assert_int_equal(fth_request_check(&faults[i], &error), FTH_INVALID);
        assert_string_equal(error.argument, members[i]);
    }
}

static void requests_have_a_canonical_text(void **state)
{
    (void)state;
    struct fth_request request = chase(4, 3, 1024, 15);
    struct fth_buffer text = {0};
    fth_request_write(&request, &text);
    assert_string_equal(text.data, "cluster 4 target 3 8x1024 passes 15");
    request = chase(2, 0, 7, 1);
    request.cluster.chain.start_bytes = 64;
    request.cluster.chain.step = 3;
    request.carveout_percent = 50;
    text.size = 0;
    fth_request_write(&request, &text);
    assert_string_equal(text.data, "cluster 2 target 0 +64:8x7 step 3; carveout 50");
    fth_buffer_fini(&text);
}

/* ---- simulated GPUs ---- */

static struct fth_gpu *read_gpu(const char *device, const char *cluster, const char *noise)
{
    char text[2048];
    snprintf(
        text, sizeof text,
        "{\"schema\": \"fathom-gpu/1\", \"device\": {\"name\": \"Test\", \"clock_mhz\": 1500, %s},"
        "\"noise\": {%s}, \"elements\": {\"shared\": {\"size_bytes\": 233472,"
        "\"max_block_bytes\": 232448, \"latency_cycles\": 29}%s}}",
        device, noise, cluster);
    struct fth_gpu *gpu = NULL;
    struct fth_error error = NO_ERROR;
    if (fth_gpu_read_text("test.json", text, strlen(text), NULL, &gpu, &error) != FTH_OK)
        fail_msg("%s: %s", error.cause, text);
    return gpu;
}

static struct fth_device *open_gpu(const char *device, const char *cluster, const char *noise)
{
    struct fth_gpu *gpu = read_gpu(device, cluster, noise);
    struct fth_device *opened = open_described(gpu);
    fth_gpu_destroy(gpu);
    return opened;
}

#define HOPPER "\"sms\": 16, \"compute_capability\": \"9.0\""

static void finds_the_latencies_of_the_description(void **state)
{
    (void)state;
    static const struct {
        const char *cluster, *noise;
        double near_cycles, far_cycles, tolerance; /* far_cycles NAN: all blocks are near */
    } rows[] = {
        {"\"latency_cycles\": 181, \"far_latency_cycles\": 213", "", 181, 213, 1e-9},
        {"\"latency_cycles\": 190.5, \"far_latency_cycles\": 230.25", "", 190.5, 230.25, 2e-3},
        {"\"latency_cycles\": 181, \"far_latency_cycles\": 188", "", 181, 188, 1e-9},
        {"\"latency_cycles\": 400, \"far_latency_cycles\": 1000", "", 400, 1000, 1e-9},
        {"\"latency_cycles\": 200", "", 200, NAN, 1e-9},
        {"\"latency_cycles\": 200, \"far_latency_cycles\": 200", "", 200, NAN, 1e-9},
        {"\"latency_ns\": 100", "", 150, NAN, 1e-9},
        {"\"scope\": \"gpc\"", "", 180, NAN, 1e-9},
        {"\"latency_cycles\": 181, \"far_latency_cycles\": 213",
         "\"seed\": 7, \"jitter_cycles\": 10", 181, 213, 1},
        {"\"latency_cycles\": 181, \"far_latency_cycles\": 213",
         "\"seed\": 8, \"jitter_cycles\": 2, \"outlier_rate\": 0.0002", 181, 213, 2},
        {"\"latency_cycles\": 200", "\"seed\": 9, \"jitter_cycles\": 20", 200, NAN, 1},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        char cluster[256];
        snprintf(cluster, sizeof cluster, ", \"cluster_shared\": {%s}", rows[i].cluster);
        const struct fth_prober prober = {.device = open_gpu(HOPPER, cluster, rows[i].noise),
                                          .sms = 16};
        struct fth_cluster_latency found;
        struct fth_error error = NO_ERROR;
        if (fth_probe_cluster(&prober, &found, &error) != FTH_OK)
            fail_msg("row %zu: %s", i, error.cause);
        const double tolerance = rows[i].tolerance;
        if (fabs(found.own.value - 29) > tolerance ||
            fabs(found.near_cycles.value - rows[i].near_cycles) > tolerance ||
            isnan(found.far_cycles.value) != isnan(rows[i].far_cycles) ||
            fabs(found.far_cycles.value - rows[i].far_cycles) > tolerance)
            fail_msg("row %zu: own %g, near %g, far %g", i, found.own.value,
                     found.near_cycles.value, found.far_cycles.value);
        assert_int_equal(found.target_count, FTH_CLUSTER_TARGETS);
        for (size_t j = 0; j < found.target_count; j++) {
            const struct fth_cluster_target *target = &found.targets[j];
            const double far = isnan(rows[i].far_cycles) ? rows[i].near_cycles : rows[i].far_cycles;
            const double expected = target->target == 0   ? 29
                                    : target->target == 1 ? rows[i].near_cycles
                                                          : far;
            if (fabs(target->cycles.value - expected) > tolerance)
                fail_msg("row %zu, block %u of %u: %g instead of %g", i, target->target,
                         target->size, target->cycles.value, expected);
            assert_int_equal(target->cycles.samples, 15);
            assert_true(target->cycles.low <= target->cycles.value &&
                        target->cycles.value <= target->cycles.high);
        }
        fth_device_close(prober.device);
    }
}

static void gpus_without_clusters_are_unsupported(void **state)
{
    (void)state;
    static const struct {
        const char *device, *cluster, *cause;
    } rows[] = {
        {"\"sms\": 16, \"compute_capability\": \"8.9\"", ", \"cluster_shared\": {}",
         "clusters require compute capability 9.0 or later"},
        {"\"sms\": 16", ", \"cluster_shared\": {}",
         "clusters require compute capability 9.0 or later"},
        {HOPPER, "", "the GPU does not support clusters of 2 blocks"},
        {"\"sms\": 1, \"compute_capability\": \"9.0\"", ", \"cluster_shared\": {}",
         "the cluster has more blocks than the GPU has SMs"},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        const struct fth_prober prober = {.device = open_gpu(rows[i].device, rows[i].cluster, ""),
                                          .sms = 16};
        struct fth_cluster_latency found;
        struct fth_error error = NO_ERROR;
        assert_int_equal(fth_probe_cluster(&prober, &found, &error), FTH_UNSUPPORTED);
        assert_contains(error.cause, rows[i].cause);
        /* The device still works. */
        struct fth_request request = fth_request_make(-1);
        fth_request_add(&request, FTH_STEP_TIME_PASS, FTH_PATH_SHARED,
                        (struct fth_chain){.stride_bytes = 8, .count = 4}, 1);
        struct fth_answers answers = {0};
        assert_int_equal(fth_ask(&prober, &request, 1, &answers, NULL), FTH_OK);
        fth_answers_fini(&answers);
        fth_device_close(prober.device);
    }
}

/* The probe leaves out clusters that have more blocks than the GPU has SMs. */
static void small_gpus_are_measured_with_small_clusters(void **state)
{
    (void)state;
    const struct fth_prober prober = {
        .device = open_gpu("\"sms\": 4, \"compute_capability\": \"9.0\"",
                           ", \"cluster_shared\": {\"latency_cycles\": 190}", ""),
        .sms = 4};
    struct fth_cluster_latency found;
    assert_int_equal(fth_probe_cluster(&prober, &found, NULL), FTH_OK);
    assert_int_equal(found.target_count, 2 + 4);
    assert_true(fabs(found.near_cycles.value - 190) < 1e-9 && isnan(found.far_cycles.value));
    fth_device_close(prober.device);
}

static void requests_that_exceed_shared_memory_are_unsupported(void **state)
{
    (void)state;
    struct fth_device *device = open_gpu(HOPPER, ", \"cluster_shared\": {}", "");
    struct fth_request requests[] = {chase(16, 9, 29056, 1), chase(2, 1, 29057, 1),
                                     chase(2, 1, 5, 3)};
    requests[2].cluster.chain.step = 3;
    requests[2].cluster.chain.start_bytes = 64;
    struct fth_samples samples[3] = {{0}};
    assert_int_equal(fth_device_measure(device, requests, 3, samples, NULL), FTH_OK);
    assert_int_equal(samples[0].status, FTH_OK);
    assert_int_equal(samples[0].count, 1);
    assert_true(samples[0].cycles[0] >= 29056 * 180);
    assert_int_equal(samples[1].status, FTH_UNSUPPORTED);
    assert_contains(samples[1].cause, "more shared memory than a block can have");
    assert_int_equal(samples[2].count, 3);
    for (size_t i = 0; i < 3; i++)
        assert_true(samples[2].cycles[i] >= 5 * 180 && samples[2].cycles[i] < 5 * 180 + 40);
    for (size_t i = 0; i < 3; i++)
        fth_samples_fini(&samples[i]);
    fth_device_close(device);
}

/* After a cluster barrier, the clocks of all blocks have at least the time at which the last block
 * arrived. This also holds if several clusters run one after the other on the same SMs. Before the
 * barrier, block r of each cluster executes r * 1000 iterations of a loop. */
static void barriers_align_the_clocks_of_blocks(void **state)
{
    (void)state;
    static const char text[] =
        ".version 8.0\n.target sm_90\n.address_size 64\n"
        ".visible .entry k(.param .u64 out)\n{\n"
        "  .reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .pred %p<4>;\n"
        "  ld.param.u64 %rd1, [out]; mov.u32 %r1, %ctaid.x; mad.wide.u32 %rd1, %r1, 24, %rd1;\n"
        "  mov.u32 %r2, %cluster_ctarank; mul.lo.u32 %r3, %r2, 1000;\n"
        "work:\n  setp.eq.u32 %p1, %r3, 0; @%p1 bra worked; sub.u32 %r3, %r3, 1; bra work;\n"
        "worked:\n  mov.u64 %rd2, %clock64; st.global.u64 [%rd1], %rd2;\n"
        "  barrier.cluster.arrive; barrier.cluster.wait;\n"
        "  mov.u64 %rd3, %clock64; st.global.u64 [%rd1+8], %rd3;\n"
        "  mov.u32 %r3, %smid; st.global.u32 [%rd1+16], %r3;\n  ret;\n}\n";
    struct fth_gpu *gpu = read_gpu(HOPPER, ", \"cluster_shared\": {}", "");
    const struct fth_machine_ops *ops;
    void *machine;
    struct fth_machine_module *module;
    enum { SIZE = 4, BLOCKS = 32 };
    uint64_t out, times[BLOCKS][3];
    assert_int_equal(fth_sim_machine_create(gpu, &ops, &machine, NULL), FTH_OK);
    assert_int_equal(ops->load(machine, "test", text, strlen(text), &module, NULL), FTH_OK);
    assert_int_equal(ops->alloc(machine, sizeof times, &out, NULL), FTH_OK);
    const struct fth_machine_launch launch = {.module = module,
                                              .kernel = "k",
                                              .blocks = BLOCKS,
                                              .threads = 1,
                                              .cluster = SIZE,
                                              .shared_bytes = 200000, /* one block per SM */
                                              .carveout_percent = -1,
                                              .arguments = &out,
                                              .argument_bytes = sizeof out};
    assert_int_equal(ops->launch(machine, &launch, NULL), FTH_OK);
    assert_int_equal(ops->download(machine, times, out, sizeof times, NULL), FTH_OK);
    for (int first = 0; first < BLOCKS; first += SIZE) {
        uint64_t latest = 0;
        for (int i = first; i < first + SIZE; i++)
            latest = times[i][0] > latest ? times[i][0] : latest;
        assert_true(latest >= times[first][0] + 3000);
        for (int i = first; i < first + SIZE; i++) {
            assert_int_equal((uint32_t)times[i][2], i % 16);
            assert_true(times[i][1] >= latest && times[i][1] < latest + 100);
        }
        /* The first four clusters start at the same time on different SMs. Every other cluster
         * starts after the one that used its SMs before. */
        if (first < 16)
            assert_int_equal(times[first][0], times[0][0]);
        else
            assert_true(times[first][0] >= times[first - 16][1]);
    }
    ops->close(machine);
    fth_gpu_destroy(gpu);
}

/* ---- through the stand-in driver ---- */

static struct fth_device *open_cuda(const char *gpu)
{
    struct fth_device *device = NULL;
    struct fth_error error = NO_ERROR;
    setenv("FATHOM_STANDIN_GPU", gpu, 1);
    if (fth_device_open("cuda:0", NULL, &device, &error) != FTH_OK)
        fail_msg("%s: %s", gpu, error.cause);
    return device;
}

static void finds_the_latencies_through_the_driver(void **state)
{
    (void)state;
    struct fth_prober prober = {.device = open_cuda("h200"), .sms = 132};
    struct fth_cluster_latency found;
    struct fth_error error = NO_ERROR;
    if (fth_probe_cluster(&prober, &found, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    struct fth_catalogue *catalogue = NULL;
    struct fth_gpu *gpu = NULL;
    assert_int_equal(fth_catalogue_open(&catalogue, NULL), FTH_OK);
    assert_int_equal(fth_catalogue_read(catalogue, "h200", NULL, &gpu, NULL), FTH_OK);
    double near = fth_gpu_number(gpu, "cluster_shared", "latency_cycles", NAN);
    double far = fth_gpu_number(gpu, "cluster_shared", "far_latency_cycles", NAN);
    assert_true(fabs(found.near_cycles.value - near) < 0.05);
    assert_true(fabs(found.far_cycles.value - far) < 0.05);
    fth_gpu_destroy(gpu);
    fth_catalogue_close(catalogue);
    /* A cluster of 16 blocks needs an attribute of the kernel. */
    struct fth_request request = chase(16, 9, 32, 1);
    struct fth_answers answers = {0};
    assert_int_equal(fth_ask(&prober, &request, 1, &answers, NULL), FTH_OK);
    fth_answers_fini(&answers);
    fth_device_close(prober.device);

    prober = (struct fth_prober){.device = open_cuda("a100"), .sms = 108};
    assert_int_equal(fth_probe_cluster(&prober, &found, &error), FTH_UNSUPPORTED);
    assert_contains(error.cause, "clusters require compute capability 9.0 or later");
    fth_device_close(prober.device);
    unsetenv("FATHOM_STANDIN_GPU");
}

static fth_cu_result launch_nothing(fth_cu_function function, unsigned grid_x, unsigned grid_y,
                                    unsigned grid_z, unsigned block_x, unsigned block_y,
                                    unsigned block_z, unsigned shared_bytes, void *stream,
                                    void **arguments, void **extra)
{
    (void)function, (void)grid_x, (void)grid_y, (void)grid_z, (void)block_x, (void)block_y;
    (void)block_z, (void)shared_bytes, (void)stream, (void)arguments, (void)extra;
    return 0;
}

static fth_cu_result refuse_clusters(const struct fth_cu_launch_config *config,
                                     fth_cu_function function, void **arguments, void **extra)
{
    (void)config, (void)function, (void)arguments, (void)extra;
    return 912;
}

static void drivers_without_clusters_are_unsupported(void **state)
{
    (void)state;
    struct fth_cuda cuda = {.launch = launch_nothing};
    struct fth_cuda_launch launch = {.grid = {2}, .cluster = {1}};
    struct fth_error error = NO_ERROR;
    assert_int_equal(fth_cuda_launch(&cuda, NULL, &launch, &error), FTH_OK);
    launch.cluster[0] = 2;
    assert_int_equal(fth_cuda_launch(&cuda, NULL, &launch, &error), FTH_UNSUPPORTED);
    assert_contains(error.cause, "the driver is too old: it has no such function");
    cuda.launch_ex = refuse_clusters;
    error = NO_ERROR;
    assert_int_equal(fth_cuda_launch(&cuda, NULL, &launch, &error), FTH_UNSUPPORTED);
    assert_string_equal(error.argument, "cuLaunchKernelEx");
    launch.cluster[0] = 4;
    launch.cluster[2] = 4;
    error = NO_ERROR;
    assert_int_equal(fth_cuda_launch(&cuda, NULL, &launch, &error), FTH_UNSUPPORTED);
    assert_string_equal(error.argument, "cuFuncSetAttribute");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(invalid_requests_are_rejected),
        cmocka_unit_test(requests_have_a_canonical_text),
        cmocka_unit_test(finds_the_latencies_of_the_description),
        cmocka_unit_test(gpus_without_clusters_are_unsupported),
        cmocka_unit_test(small_gpus_are_measured_with_small_clusters),
        cmocka_unit_test(requests_that_exceed_shared_memory_are_unsupported),
        cmocka_unit_test(barriers_align_the_clocks_of_blocks),
        cmocka_unit_test(finds_the_latencies_through_the_driver),
        cmocka_unit_test(drivers_without_clusters_are_unsupported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
