/* Tests the families place and share on OpenCL devices, and the probe that finds which units share
 * a cache, with the stand-in for libOpenCL.so.1: 60 units of a GPU or 4 of a CPU, of which pairs
 * share a cache of 64 lines. */
#include "discover/discover.h"
#include "opencl_device.h"

#include <math.h>

static struct fth_request place(uint32_t blocks)
{
    struct fth_request request = fth_request_make(-1);
    request.family = FTH_FAMILY_PLACE;
    request.place = (struct fth_place_request){.blocks = blocks, .threads = 1, .hold_ns = 1000};
    return request;
}

static struct fth_request share(uint32_t first, uint32_t second, uint64_t other)
{
    struct fth_request request = fth_request_make(-1);
    request.family = FTH_FAMILY_SHARE;
    request.share = (struct fth_share){.path = FTH_PATH_CA,
                                       .first = first,
                                       .second = second,
                                       .rounds = 2,
                                       .stride_bytes = 64,
                                       .own = 16,
                                       .other = other,
                                       .seed = 3};
    return request;
}

static void tells_the_unit_and_the_start_of_each_work_group(void **state)
{
    (void)state;
    /* A GPU's common clock has ticks of 10 ns, a CPU's one of 8 cycles at 2 GHz. */
    struct fth_device *device = open_in("one", "opencl:0");
    const struct fth_request request = place(3);
    assert_samples(device, &request, (uint32_t[]){0, 0, 1, 30, 2, 60}, 6);
    fth_device_close(device);
    device = open_in("cpu", "opencl:0");
    assert_samples(device, &request, (uint32_t[]){0, 0, 1, 12, 2, 24}, 6);
    fth_device_close(device);
}

static void refuses_what_a_device_cannot_place(void **state)
{
    (void)state;
    struct fth_device *device = open_in("one", "opencl:0");
    struct fth_request request = place(4);
    request.place.cluster = 2;
    assert_refused(device, &request, FTH_UNSUPPORTED, "no clusters");
    request.place.cluster = 0;
    request.place.shared_bytes = 65537;
    assert_refused(device, &request, FTH_UNSUPPORTED, "more local memory");
    fth_device_close(device);
    device = open_in("plain", "opencl:0");
    request = place(4);
    assert_refused(device, &request, FTH_UNSUPPORTED, "cannot read which unit");
    request = share(0, 1, 128);
    assert_refused(device, &request, FTH_UNSUPPORTED, "cannot read which unit");
    fth_device_close(device);
}

static void a_unit_evicts_the_lines_of_those_that_share_its_cache(void **state)
{
    (void)state;
    struct fth_device *device = open_in("one", "opencl:0");
    static const struct {
        uint32_t first, second, cycles;
        uint64_t other;
    } rows[] = {{0, 0, 1600, 128}, {0, 1, 1600, 128}, {1, 0, 1600, 128}, {0, 2, 64, 128},
                {2, 1, 64, 128},   {0, 1, 64, 8},     {0, 0, 64, 8}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct fth_request request = share(rows[i].first, rows[i].second, rows[i].other);
        assert_samples(device, &request, (uint32_t[]){rows[i].cycles, rows[i].cycles}, 2);
        request.share.path = FTH_PATH_CONSTANT;
        request.share.seed = 0;
        assert_samples(device, &request, (uint32_t[]){rows[i].cycles, rows[i].cycles}, 2);
    }
    fth_device_close(device);
    device = open_in("cpu", "opencl:0");
    struct fth_request request = share(0, 1, 128);
    assert_samples(device, &request, (uint32_t[]){1600, 1600}, 2);
    request.share.path = FTH_PATH_CONSTANT;
    request.share.seed = 0;
    assert_refused(device, &request, FTH_UNSUPPORTED, "a CPU has no constant memory");
    fth_device_close(device);
}

static void units_that_do_not_run_together_give_no_samples(void **state)
{
    (void)state;
    const struct fth_request request = share(0, 1, 128);
    struct fth_device *device = open_in("apart", "opencl:0");
    assert_refused(device, &request, FTH_UNAVAILABLE, "on both units at the same time");
    fth_device_close(device);
    device = open_in("apart:1000000", "opencl:0");
    assert_refused(device, &request, FTH_UNAVAILABLE, "moved a work-group to another core");
    fth_device_close(device);
}

/* ---- images ---- */

static struct fth_request through_image(uint64_t count)
{
    struct fth_request request = fth_request_make(-1);
    fth_request_add(&request, FTH_STEP_WALK, FTH_PATH_TEXTURE, lines(0, count, 0), 1);
    fth_request_add(&request, FTH_STEP_TIME_PASS, FTH_PATH_TEXTURE, lines(0, count, 0), 2);
    return request;
}

static void chases_through_an_image(void **state)
{
    (void)state;
    static const char *const modes[] = {"one", "cpu", "nvidia"};
    for (size_t i = 0; i < 3; i++) {
        struct fth_device *device = open_in(modes[i], "opencl:0");
        struct fth_request request = through_image(64);
        assert_samples(device, &request, (uint32_t[]){256, 256}, 2);
        request = through_image(128);
        request.chase.steps[0].chain.step = request.chase.steps[1].chain.step = 5;
        assert_samples(device, &request, (uint32_t[]){12800, 12800}, 2);
        const struct fth_prober prober = {.device = device};
        struct fth_figure texture;
        /* 2 KiB fit, 8 KiB do not: 128 misses less 32 hits. */
        assert_int_equal(fth_probe_scratch(&prober, FTH_PATH_TEXTURE, &texture, NULL), FTH_OK);
        assert_true(texture.value > 4);
        assert_true(texture.low <= texture.value && texture.value <= texture.high);
        /* The passes of the stand-in do not vary. */
        assert_true(texture.confidence > 0.99);
        fth_device_close(device);
    }
}

static void refuses_what_images_do_not_have(void **state)
{
    (void)state;
    struct fth_device *device = open_in("one", "opencl:0");
    struct fth_request request = through_image(4097);
    assert_refused(device, &request, FTH_UNSUPPORTED, "a larger image");
    request = through_image(8);
    request.chase.steps[0].path = FTH_PATH_CA;
    request.chase.steps[0].chain.array = 1;
    assert_refused(device, &request, FTH_UNSUPPORTED, "all steps of a request use images");
    request = through_image(8);
    request.chase.steps[1].kind = FTH_STEP_TIME_HOPS;
    assert_refused(device, &request, FTH_UNSUPPORTED, "only the steps walk and time-pass");
    fth_device_close(device);
    device = open_in("plain", "opencl:0");
    request = through_image(8);
    assert_refused(device, &request, FTH_UNSUPPORTED, "cannot read a clock");
    fth_device_close(device);
}

/* ---- the probe ---- */

static const struct fth_sharers_plan plan = {
    .path = FTH_PATH_CA, .line_bytes = 64, .size_bytes = 4096, .hit_cycles = 4, .miss_cycles = 100};

static void finds_all_units_and_those_that_share_a_cache(void **state)
{
    (void)state;
    static const struct {
        const char *mode;
        size_t units;
    } rows[] = {{"one", 60}, {"cpu", 4}};
    for (size_t i = 0; i < 2; i++) {
        struct fth_device *device = open_in(rows[i].mode, "opencl:0");
        const struct fth_prober prober = {.device = device};
        struct fth_units units;
        struct fth_sharers sharers;
        assert_int_equal(fth_probe_units(&prober, rows[i].units, FTH_UNIT_HOLD_NS, &units, NULL),
                         FTH_OK);
        assert_int_equal(units.count, rows[i].units);
        assert_int_equal(units.numbers[1], 1);
        assert_int_equal(units.numbers[units.count - 1], i ? 3 : 1 << 16 | 1 << 8 | 14);
        assert_int_equal(fth_probe_sharers(&prober, &units, &plan, &sharers, NULL), FTH_OK);
        assert_int_equal(sharers.count, 2);
        assert_true(sharers.samples > 0);
        fth_device_close(device);
    }
}

static void doubts_are_inconclusive(void **state)
{
    (void)state;
    struct fth_device *device = open_in("cpu", "opencl:0");
    const struct fth_prober prober = {.device = device};
    struct fth_units units = {.numbers = {0, 2}, .count = 2};
    struct fth_sharers sharers;
    struct fth_error error = NO_ERROR;
    assert_int_equal(fth_probe_sharers(&prober, &units, &plan, &sharers, NULL), FTH_OK);
    assert_int_equal(sharers.count, 1);
    /* The cache is larger than the plan says: a chain of twice that size evicts nothing. */
    struct fth_sharers_plan smaller = plan;
    smaller.size_bytes = 1024;
    assert_int_equal(fth_probe_sharers(&prober, &units, &smaller, &sharers, &error),
                     FTH_INCONCLUSIVE);
    assert_contains(error.cause, "does not evict");
    /* It is smaller: the lines never stay. */
    struct fth_sharers_plan larger = plan;
    larger.size_bytes = 65536;
    error = NO_ERROR;
    assert_int_equal(fth_probe_sharers(&prober, &units, &larger, &sharers, &error),
                     FTH_INCONCLUSIVE);
    assert_contains(error.cause, "walks a short chain");
    units.count = 1;
    error = NO_ERROR;
    assert_int_equal(fth_probe_sharers(&prober, &units, &plan, &sharers, &error), FTH_INCONCLUSIVE);
    assert_contains(error.cause, "only one unit");
    fth_device_close(device);
}

/* ---- the description ---- */

/* Measures which units share a cache. The caller owns the description. */
static struct fth_gpu *describe_sharing(const char *mode, const struct fth_sharers_plan *how)
{
    struct fth_device *device = open_in(mode, "opencl:0");
    struct fth_discovery discovery = {.prober = {.device = device}};
    struct fth_error error = NO_ERROR;
    assert_int_equal(fth_gpu_create(&discovery.gpu, NULL), FTH_OK);
    assert_int_equal(fth_device_describe(device, discovery.gpu, NULL), FTH_OK);
    if (fth_discover_sharing(&discovery, "l1", how, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    fth_device_close(device);
    return discovery.gpu;
}

static void writes_how_many_units_share_a_cache(void **state)
{
    (void)state;
    struct fth_gpu *gpu = describe_sharing("one", &plan);
    assert_int_equal(fth_gpu_number(gpu, "l1", "sms_per_instance", NAN), 2);
    assert_string_equal(fth_gpu_text(gpu, "l1", "scope"), "group");
    assert_int_equal(fth_gpu_number(gpu, "device", "xcds", NAN), 2);
    assert_int_equal(fth_gpu_number(gpu, "device", "shader_arrays", NAN), 4);
    assert_string_equal(fth_gpu_text(gpu, "device", "unit_source"), "HW_ID");
    fth_gpu_destroy(gpu);
    gpu = describe_sharing("cpu", &plan);
    assert_int_equal(fth_gpu_number(gpu, "l1", "sms_per_instance", NAN), 2);
    assert_true(isnan(fth_gpu_number(gpu, "device", "shader_arrays", NAN)));
    fth_gpu_destroy(gpu);
}

static void writes_why_it_is_unknown(void **state)
{
    (void)state;
    static const struct {
        const char *mode, *reason;
        uint64_t size_bytes, next_bytes;
    } rows[] = {{"plain", "cannot read which unit executes them", 4096, 0},
                {"apart", "on both units at the same time", 4096, 0},
                {"one", "too large to evict its lines", UINT64_C(1) << 30, 0},
                {"one", "the level behind the cache is hardly larger", 4096, 8192}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct fth_sharers_plan how = plan;
        how.size_bytes = rows[i].size_bytes;
        how.next_bytes = rows[i].next_bytes;
        struct fth_gpu *gpu = describe_sharing(rows[i].mode, &how);
        assert_contains(fth_gpu_unknown(gpu, "l1", "sms_per_instance"), rows[i].reason);
        assert_null(fth_gpu_attribute(gpu, "l1", "sms_per_instance"));
        fth_gpu_destroy(gpu);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tells_the_unit_and_the_start_of_each_work_group),
        cmocka_unit_test(refuses_what_a_device_cannot_place),
        cmocka_unit_test(a_unit_evicts_the_lines_of_those_that_share_its_cache),
        cmocka_unit_test(units_that_do_not_run_together_give_no_samples),
        cmocka_unit_test(chases_through_an_image),
        cmocka_unit_test(refuses_what_images_do_not_have),
        cmocka_unit_test(finds_all_units_and_those_that_share_a_cache),
        cmocka_unit_test(doubts_are_inconclusive),
        cmocka_unit_test(writes_how_many_units_share_a_cache),
        cmocka_unit_test(writes_why_it_is_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
