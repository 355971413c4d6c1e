/* Tests of the progress that is reported while a device is measured, dissected and benchmarked. The
 * devices are recordings. */
#include "base/base.h"
#include "check.h"

#include <math.h>
#include <stdio.h>

enum { MAX_STEPS = 512 };

/* The steps that were reported. */
struct progress {
    struct step {
        char what[96];
        double fraction;
    } steps[MAX_STEPS];
    size_t count;
};

static void add_step(void *user, const char *what, double fraction)
{
    struct progress *progress = user;
    assert_true(progress->count < MAX_STEPS);
    struct step *step = &progress->steps[progress->count++];
    snprintf(step->what, sizeof step->what, "%s", what);
    step->fraction = fraction;
}

static struct fth_device *open_recording(const char *name)
{
    struct fth_device *device = NULL;
    struct fth_error error = NO_ERROR;
    char id[512];
    snprintf(id, sizeof id, "replay:%s/tests/replay/simulated/%s", FTH_SOURCE_ROOT, name);
    if (fth_device_open(id, NULL, &device, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    return device;
}

struct expected {
    const char *what;
    double fraction;
};

/* Compares the steps, without repeats of the same one, with the expected ones. */
static void assert_steps(const struct progress *progress, const struct expected *rows, size_t count)
{
    size_t row = 0;
    for (size_t i = 0; i < progress->count; i++) {
        const struct step *step = &progress->steps[i];
        if (i > 0 && strcmp(step->what, step[-1].what) == 0)
            continue;
        assert_true(row < count);
        assert_string_equal(step->what, rows[row].what);
        if (fabs(step->fraction - rows[row].fraction) > 1e-5)
            fail_msg("%s: %.6f, expected %.5f", step->what, step->fraction, rows[row].fraction);
        row++;
    }
    assert_int_equal(row, count);
}

/* Stages begin at the fractions of their table; their steps divide the distance to the next. */
static void a_discovery_reports_its_stages(void **state)
{
    (void)state;
    static const struct expected rows[] = {
        {"L2 latency", 0.05000},
        {"l1", 0.10000},
        {"texture", 0.20000},
        {"readonly", 0.30000},
        {"shared memory", 0.40000},
        {"carve-out", 0.42000},
        {"memory latency", 0.45000},
        {"L2", 0.50000},
        {"TLBs", 0.60000},
        {"instruction caches", 0.70000},
        {"constant caches", 0.75000},
        {"bandwidth of memory", 0.85000},
        {"bandwidth of l2", 0.87625},
        {"bandwidth of l1", 0.90250},
        {"bandwidth of readonly", 0.92000},
        {"bandwidth of shared", 0.94625},
        {"done", 1.00000},
    };
    static struct progress progress;
    struct fth_device *device = open_recording("two-sms/topo.zst");
    struct fth_gpu *gpu = NULL;
    const struct fth_log log = {.progress = add_step, .user = &progress};
    const struct fth_discover_options options = FTH_DISCOVER_OPTIONS(.log = &log, .thorough = true);
    assert_int_equal(fth_discover(device, &options, &gpu, NULL), FTH_OK);
    assert_steps(&progress, rows, FTH_COUNT(rows));
    for (size_t i = 1; i < progress.count; i++)
        assert_true(progress.steps[i].fraction > progress.steps[i - 1].fraction);
    assert_int_equal(progress.count, 24);
    fth_gpu_destroy(gpu);
    fth_device_close(device);
}

/* The second part of a dissection has nine steps: six caches, the L2, the TLBs and the SMs. */
static void a_dissection_reports_its_elements(void **state)
{
    (void)state;
    static const struct expected rows[] = {
        {"L2 latency", 0.02500},
        {"l1", 0.05000},
        {"texture", 0.10000},
        {"readonly", 0.15000},
        {"memory latency", 0.22500},
        {"L2", 0.25000},
        {"TLBs", 0.30000},
        {"instruction caches", 0.35000},
        {"constant caches", 0.37500},
        {"dissect texture", 0.61111},
        {"dissect l2", 0.83333},
        {"dissect TLBs", 0.88889},
        {"place blocks", 0.94444},
        {"done", 1.00000},
    };
    static struct progress progress;
    struct fth_device *device = open_recording("gt740m/dissect.zst");
    struct fth_gpu *gpu = NULL;
    const struct fth_log log = {.progress = add_step, .user = &progress};
    const struct fth_dissect_options options = FTH_DISSECT_OPTIONS(.log = &log);
    assert_int_equal(fth_dissect(device, &options, &gpu, NULL), FTH_OK);
    assert_steps(&progress, rows, FTH_COUNT(rows));
    fth_gpu_destroy(gpu);
    fth_device_close(device);
}

/* The first step of each kind. */
static const struct expected bench_steps[] = {
    {"bank conflicts", 0.01154},
    {"shared memory", 0.03846},
    {"Bandwidth of L1 in GB/s by blocks and threads, 12 KiB per SM", 0.19231},
    {"Bandwidth of L2 in GB/s by blocks and threads, 32 KiB", 0.23077},
    {"Bandwidth of memory in GB/s by blocks and threads, not cached", 0.26923},
    {"L1, stride 128", 0.34787},
    {"L1, random", 0.36765},
    {"past L1, stride 128", 0.38571},
    {"past L1, random", 0.40549},
    {"shared memory against L2", 0.48462},
    {"add fp16", 0.50000},
    {"mul fp16", 0.50427},
    {"fma fp16", 0.50855},
    {"add fp16 pairs", 0.51282},
    {"mul fp16 pairs", 0.51709},
    {"fma fp16 pairs", 0.52137},
    {"add bf16 pairs", 0.52564},
    {"mul bf16 pairs", 0.52991},
    {"fma bf16 pairs", 0.53419},
    {"add fp32", 0.53846},
    {"mul fp32", 0.54274},
    {"fma fp32", 0.54701},
    {"add fp64", 0.55128},
    {"mul fp64", 0.55556},
    {"fma fp64", 0.55983},
    {"add int32", 0.56410},
    {"mul int32", 0.56838},
    {"mad int32", 0.57265},
    {"add int64", 0.57692},
    {"mul int64", 0.58120},
    {"mad int64", 0.58547},
    {"1/sqrt fp32, approximate", 0.58974},
    {"sqrt fp32, approximate", 0.59402},
    {"sin fp32, approximate", 0.59829},
    {"cos fp32, approximate", 0.60256},
    {"2^x fp32, approximate", 0.60684},
    {"log2 fp32, approximate", 0.61111},
    {"atomic add, shared memory", 0.61538},
    {"atomic add, global memory", 0.62179},
    {"compare and swap, global memory", 0.62821},
    {"atom u32, scope cta", 0.63462},
    {"atom u32, scope cluster", 0.63558},
    {"atom u32, scope gpu", 0.63654},
    {"atom u32, scope sys", 0.63750},
    {"atom u64", 0.63846},
    {"atom fp16 pairs", 0.63942},
    {"atom fp32", 0.64038},
    {"atom fp64", 0.64135},
    {"red u32, scope cta", 0.64231},
    {"red u32, scope cluster", 0.64327},
    {"red u32, scope gpu", 0.64423},
    {"red u32, scope sys", 0.64519},
    {"red u64", 0.64615},
    {"red fp16 pairs", 0.64712},
    {"red fp32", 0.64808},
    {"red fp64", 0.64904},
    {"copies of global memory", 0.65385},
    {"clusters, latency", 0.78538},
    {"clusters, bandwidth", 0.79308},
    {"cp.async", 0.80346},
    {"to device, pinned", 0.80769},
    {"from device, pinned", 0.81209},
    {"both, pinned", 0.81648},
    {"to device, pageable", 0.82088},
    {"from device, pageable", 0.82527},
    {"both, pageable", 0.82967},
    {"to GPU", 0.83407},
    {"host memory", 0.83846},
    {"managed memory", 0.84231},
    {"strides", 0.86250},
    {"reads and writes", 0.86923},
    {"refresh", 0.87692},
    {"COPY fp32", 0.88462},
    {"MUL fp32", 0.89038},
    {"ADD fp32", 0.89615},
    {"TRIAD fp32", 0.90192},
    {"COPY fp64", 0.90769},
    {"MUL fp64", 0.91346},
    {"ADD fp64", 0.91923},
    {"TRIAD fp64", 0.92500},
    {"read", 0.93077},
    {"write", 0.93654},
    {"STREAM, by size", 0.94231},
    {"done", 1.00000},
};

/* Each bench has a share of the progress, in which it advances. */
static void benches_report_their_steps(void **state)
{
    (void)state;
    static struct progress progress;
    struct fth_device *device = open_recording("two-sms/bench.zst");
    struct fth_bench *bench = NULL;
    const struct fth_log log = {.progress = add_step, .user = &progress};
    const struct fth_bench_options options = FTH_BENCH_OPTIONS(.log = &log);
    double sum = 0;
    assert_int_equal(fth_bench_create(device, &options, &bench, NULL), FTH_OK);
    assert_steps(&progress, bench_steps, FTH_COUNT(bench_steps));
    for (size_t i = 0; i < progress.count; i++) {
        assert_true(i == 0 || progress.steps[i].fraction >= progress.steps[i - 1].fraction);
        sum += progress.steps[i].fraction;
    }
    assert_int_equal(progress.count, 253);
    assert_true(fabs(sum - 121.5352) < 1e-3);
    fth_bench_destroy(bench);
    fth_device_close(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_discovery_reports_its_stages),
        cmocka_unit_test(a_dissection_reports_its_elements),
        cmocka_unit_test(benches_report_their_steps),
    };
    return cmocka_run_group_tests_name("progress", tests, NULL, NULL);
}
