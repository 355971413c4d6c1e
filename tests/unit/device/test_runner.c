/* Tests of a device on top of a machine (device/runner.c) and of the chase family (device/chase/):
 * what a request is lowered to, which requests share a launch, memory that does not suffice, and
 * what the families do to each other. They run on a simulated GPU whose operations are observed. */
#include "device/chase/chase.h"
#include "device/sim/sim.h"
#include "requests.h"

#include <stdio.h>

/* ---- an observed GPU ---- */

/* What the machine was asked to do, and how it is altered. */
static struct {
    const struct fth_machine_ops *original;
    uint64_t largest_allocation;   /* in bytes */
    unsigned launches;             /* kernels whose name begins with "read_" or "write_" */
    bool unknown_l2;               /* the machine does not know the size of the L2 */
    const char *no_memory_to_load; /* the host has no memory for this module; NULL: for all */
} observed;

static enum fth_status observed_alloc(void *machine, uint64_t bytes, uint64_t *address,
                                      struct fth_error *error)
{
    if (bytes > observed.largest_allocation)
        observed.largest_allocation = bytes;
    return observed.original->alloc(machine, bytes, address, error);
}

static enum fth_status observed_launch(void *machine, const struct fth_machine_launch *launch,
                                       struct fth_error *error)
{
    observed.launches +=
        strncmp(launch->kernel, "read_", 5) == 0 || strncmp(launch->kernel, "write_", 6) == 0;
    return observed.original->launch(machine, launch, error);
}

static enum fth_status observed_load(void *machine, const char *name, const char *ptx, size_t size,
                                     struct fth_machine_module **module, struct fth_error *error)
{
    if (observed.no_memory_to_load && strcmp(name, observed.no_memory_to_load) == 0)
        return fth_no_memory(error, "load kernels", name);
    return observed.original->load(machine, name, ptx, size, module, error);
}

static void observed_facts(void *machine, struct fth_machine_facts *facts)
{
    observed.original->facts(machine, facts);
    if (observed.unknown_l2)
        facts->l2_bytes = 0;
}

/* Opens a simulated GPU with 4 SMs and 1 GiB of memory. */
static struct fth_device *open_gpu(void)
{
    static const char text[] =
        "{\"schema\": \"fathom-gpu/1\", \"device\": {\"name\": \"Test\", \"sms\": 4, "
        "\"clock_mhz\": 1000, \"compute_capability\": \"9.0\"}, \"elements\": {"
        "\"constant_l1\": {\"size_bytes\": 2048, \"line_bytes\": 64, \"latency_cycles\": 20}, "
        "\"l1\": {\"size_bytes\": 16384, \"line_bytes\": 128, \"latency_cycles\": 33}, "
        "\"l2\": {\"size_bytes\": 1048576, \"line_bytes\": 128, \"latency_cycles\": 200}, "
        "\"memory\": {\"size_bytes\": 1073741824, \"latency_cycles\": 500}}}";
    static struct fth_machine_ops ops;
    struct fth_error error = NO_ERROR;
    struct fth_gpu *description = NULL;
    struct fth_device *device = NULL;
    void *machine = NULL;
    if (fth_gpu_read_text("test.json", text, strlen(text), NULL, &description, &error) != FTH_OK ||
        fth_sim_machine_create(description, &observed.original, &machine, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    fth_gpu_destroy(description);
    ops = *observed.original;
    ops.alloc = observed_alloc;
    ops.launch = observed_launch;
    ops.load = observed_load;
    ops.facts = observed_facts;
    if (fth_runner_device("sim:test", &ops, machine, NULL, &device, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    return device;
}

static int reset_observations(void **state)
{
    (void)state;
    memset(&observed, 0, sizeof observed);
    return 0;
}

/* Executes a batch of requests, which the device must accept. */
static void measure(struct fth_device *device, const struct fth_request *requests, size_t count,
                    struct fth_samples *samples)
{
    struct fth_error error = NO_ERROR;
    if (fth_device_measure(device, requests, count, samples, &error) != FTH_OK)
        fail_msg("%s", error.cause);
}

static struct fth_chain chain(unsigned array, uint64_t start, uint64_t stride, uint64_t count)
{
    return (struct fth_chain){
        .array = array, .start_bytes = start, .stride_bytes = stride, .count = count};
}

/* ---- lowering ---- */

static void a_chase_is_lowered_to_offsets_and_sizes(void **state)
{
    (void)state;
    struct fth_runner runner = {.facts = {.sms = 4, .block_shared_bytes = 49152}, .sm_count = 4};
    struct fth_request request = fth_request_make(-1);
    fth_request_add(&request, FTH_STEP_WALK, FTH_PATH_SHARED, chain(0, 64, 8, 100), 2);
    fth_request_add(&request, FTH_STEP_TIME_PASS, FTH_PATH_TEXTURE, chain(1, 16, 16, 10), 3);
    fth_request_add(&request, FTH_STEP_TIME_HOPS, FTH_PATH_CG, chain(9, 1024, 128, 5), 2);
    fth_request_add(&request, FTH_STEP_TOUCH, FTH_PATH_CG, chain(9, 0, 256, 100), 1);
    fth_request_add(&request, FTH_STEP_TIME_HOPS, FTH_PATH_CONSTANT, chain(2, 0, 64, 4), 1);
    request.chase.steps[0].warp = 6;
    request.chase.steps[1].reverse = request.chase.steps[2].reverse = true;
    struct fth_lowered lowered;
    assert_int_equal(fth_request_check(&request, NULL), FTH_OK);
    assert_int_equal(fth_request_lower(&runner, &request, &lowered, NULL), FTH_OK);
    static const struct {
        enum fth_memory memory;
        uint64_t first, array_bytes, first_sample;
    } steps[] = {
        {FTH_MEMORY_SHARED, 64, 864, 0},
        {FTH_MEMORY_TEXTURE, (16 + 9 * 16) / 4 + 1, 176, 0},
        {FTH_MEMORY_GLOBAL, 1024 + 4 * 128 + 8, 1024 + 5 * 128, 3},
        {FTH_MEMORY_GLOBAL, 0, 25600, 13},
        {FTH_MEMORY_CONSTANT, 0, 256, 13},
    };
    const struct fth_lowered_chase *chase = &lowered.chase;
    assert_int_equal(chase->step_count, FTH_COUNT(steps));
    for (size_t i = 0; i < FTH_COUNT(steps); i++) {
        assert_int_equal(chase->steps[i].memory, steps[i].memory);
        assert_int_equal(chase->steps[i].first, steps[i].first);
        assert_int_equal(chase->steps[i].array_bytes, steps[i].array_bytes);
        assert_int_equal(chase->steps[i].first_sample, steps[i].first_sample);
    }
    /* The touched array is that of the walk before. */
    assert_ptr_equal(chase->steps[3].array_chain, &request.chase.steps[2].chain);
    assert_int_equal(chase->header_step, 2);
    assert_true(chase->has_constants && !chase->alone);
    assert_true(chase->hops == 200 + 30 + 10 + 100 + 4);
    assert_int_equal(lowered.sample_count, 17);
    assert_int_equal(lowered.blocks, 4);
    assert_int_equal(lowered.threads, 1024); /* a touch needs the whole block */
    assert_int_equal(lowered.shared_bytes, 864);

    request.chase.step_count = 2;
    request.cold = true;
    assert_int_equal(fth_request_lower(&runner, &request, &lowered, NULL), FTH_OK);
    assert_int_equal(lowered.threads, 7 * 32);
    assert_int_equal(lowered.chase.header_step, FTH_MAX_STEPS);
    assert_true(!lowered.chase.has_constants && lowered.chase.alone);
    request.carveout_percent = 0;
    assert_int_equal(fth_request_lower(&runner, &request, &lowered, NULL), FTH_OK);
    assert_int_equal(lowered.threads, 1024);
}

static void what_a_gpu_cannot_execute_is_known_before_it_runs(void **state)
{
    (void)state;
    struct fth_runner runner = {.facts = {.sms = 4, .block_shared_bytes = 512, .capability = 80},
                                .sm_count = 4};
    struct fth_request requests[] = {simple_request(4), simple_request(4), simple_request(4)};
    requests[0].sm = 4;
    requests[1].chase.steps[0] = step(FTH_STEP_TIME_HOPS, FTH_PATH_SHARED, 0, 8, 65);
    requests[2] = (struct fth_request){
        .family = FTH_FAMILY_CLUSTER,
        .sm = FTH_ANY_SM,
        .carveout_percent = -1,
        .cluster = {.size = 2, .chain = {.stride_bytes = 8, .count = 4}, .passes = 1}};
    static const struct {
        enum fth_status status;
        const char *cause;
    } rows[] = {{FTH_NOT_FOUND, "the GPU has no SM with this index"},
                {FTH_UNSUPPORTED, "the request needs more shared memory than a block can have"},
                {FTH_UNSUPPORTED, "clusters require compute capability 9.0 or later"}};
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_lowered lowered;
        struct fth_error error = NO_ERROR;
        assert_int_equal(fth_request_check(&requests[i], NULL), FTH_OK);
        assert_int_equal(fth_request_lower(&runner, &requests[i], &lowered, &error),
                         rows[i].status);
        assert_string_equal(error.cause, rows[i].cause);
    }
}

/* ---- groups ---- */

/* Two requests must not share the constant bank if any of their chains need different values in the
 * same word. Here the first chain of the first request agrees with the only chain of the second
 * one, and the second chain does not. */
static void requests_with_different_constants_do_not_share_a_launch(void **state)
{
    (void)state;
    struct fth_device *device = open_gpu();
    struct fth_request requests[2] = {fth_request_make(-1), fth_request_make(-1)};
    const struct fth_chain wide = chain(0, 32768, 64, 256), dense = chain(1, 32768, 32, 512);
    fth_request_add(&requests[0], FTH_STEP_WALK, FTH_PATH_CONSTANT, chain(0, 0, 64, 4), 1);
    fth_request_add(&requests[0], FTH_STEP_TIME_HOPS, FTH_PATH_CONSTANT, dense, 1);
    fth_request_add(&requests[1], FTH_STEP_TIME_HOPS, FTH_PATH_CONSTANT, wide, 1);
    struct fth_samples alone, together[2];
    measure(device, &requests[1], 1, &alone); /* to fill the L2 */
    fth_samples_fini(&alone);
    measure(device, &requests[1], 1, &alone);
    measure(device, requests, 2, together);
    assert_int_equal(together[1].count, 256);
    for (size_t i = 0; i < 256; i++)
        assert_int_equal(together[1].cycles[i], alone.cycles[i]);
    fth_samples_fini(&alone);
    fth_samples_fini(&together[0]);
    fth_samples_fini(&together[1]);
    fth_device_close(device);
}

/* The chains of the two requests have the same array. That of the second one does not fit into the
 * memory, so the first one must get its array back. */
static void a_chain_that_does_not_fit_leaves_the_others_intact(void **state)
{
    (void)state;
    struct fth_device *device = open_gpu();
    const struct fth_request requests[] = {simple_request(64), simple_request(1 << 24),
                                           simple_request(32)};
    struct fth_samples samples[3];
    measure(device, requests, 3, samples);
    assert_int_equal(samples[0].status, FTH_OK);
    assert_int_equal(samples[0].count, 64);
    assert_int_equal(samples[1].status, FTH_UNAVAILABLE);
    assert_contains(samples[1].cause, "requested");
    assert_int_equal(samples[2].status, FTH_OK);
    for (size_t i = 0; i < 3; i++)
        fth_samples_fini(&samples[i]);
    fth_device_close(device);
}

/* ---- memory ---- */

/* Too little memory of the host is not a property of the request: it ends the batch. */
static void a_host_without_memory_ends_the_batch(void **state)
{
    (void)state;
    struct fth_device *device = open_gpu();
    struct fth_request request = fth_request_make(-1);
    request.family = FTH_FAMILY_OPERATE;
    request.operate = (struct fth_operate){
        .operation = FTH_ADD_F32, .chains = 1, .threads = 32, .rounds = 1, .passes = 1};
    struct fth_samples samples;
    struct fth_error error = NO_ERROR;
    observed.no_memory_to_load = fth_operation_name(FTH_ADD_F32);
    assert_int_equal(fth_device_measure(device, &request, 1, &samples, &error), FTH_NO_MEMORY);
    assert_int_equal(error.status, FTH_NO_MEMORY);
    fth_samples_fini(&samples);
    observed.no_memory_to_load = NULL;
    measure(device, &request, 1, &samples);
    assert_int_equal(samples.status, FTH_OK);
    fth_samples_fini(&samples);
    /* Too little memory of the GPU is the answer to the request. */
    request.operate.operation = FTH_ATOMIC_GLOBAL;
    request.operate.block_stride_bytes = UINT64_C(1) << 31;
    measure(device, &request, 1, &samples);
    assert_int_equal(samples.status, FTH_UNAVAILABLE);
    assert_contains(samples.cause, "requested");
    fth_samples_fini(&samples);
    fth_device_close(device);
}

/* An L2 of unknown size is flushed as one of 128 MiB: four times its size is read. */
static void an_l2_of_unknown_size_is_flushed_like_the_largest(void **state)
{
    (void)state;
    observed.unknown_l2 = true;
    struct fth_device *device = open_gpu();
    struct fth_request request = simple_request(4);
    request.cold = true;
    struct fth_samples samples;
    measure(device, &request, 1, &samples);
    assert_int_equal(samples.status, FTH_OK);
    assert_int_equal(observed.largest_allocation, UINT64_C(4) * 128 << 20);
    fth_samples_fini(&samples);
    fth_device_close(device);
}

/* ---- families ---- */

/* Before a cold read, the L2 is filled by a read of other memory, unless a read did so already. The
 * work of another family makes its contents unknown again. */
static void other_families_make_the_contents_of_the_l2_unknown(void **state)
{
    (void)state;
    struct fth_device *device = open_gpu();
    struct fth_request read = fth_request_make(-1);
    read.family = FTH_FAMILY_STREAM;
    read.cold = true;
    read.stream = (struct fth_stream){.kind = FTH_STREAM_READ,
                                      .path = FTH_PATH_CG,
                                      .bytes = 4096,
                                      .shared_by_all = true,
                                      .blocks_per_sm = 1,
                                      .threads = 32,
                                      .vector_bytes = 4,
                                      .passes = 1};
    const struct fth_request requests[] = {read, read, simple_request(4), read, read};
    static const unsigned launches[] = {2, 3, 3, 5, 6};
    for (size_t i = 0; i < FTH_COUNT(requests); i++) {
        struct fth_samples samples;
        measure(device, &requests[i], 1, &samples);
        assert_int_equal(samples.status, FTH_OK);
        assert_int_equal(observed.launches, launches[i]);
        fth_samples_fini(&samples);
    }
    fth_device_close(device);
}

/* ---- opening devices ---- */

#define EXPECTED "expected cuda:NUMBER, opencl:NUMBER, sim:GPU or replay:FILE"

static void ids_name_a_backend_and_a_selector(void **state)
{
    (void)state;
    static const struct {
        const char *id, *cause;
    } rows[] = {
        {"", EXPECTED},
        {"xyzzy", EXPECTED},
        {"xyzzy:0", EXPECTED},
        {"cuda", EXPECTED},
        {"cuda:", EXPECTED},
        {"replay:", EXPECTED},
        {"sim", EXPECTED "; 'fathom gpus' lists the GPUs"},
        {"sim:", EXPECTED "; 'fathom gpus' lists the GPUs"},
        {"sims:h200", EXPECTED " (did you mean 'sim:'?)"},
        {"cuad:0", EXPECTED " (did you mean 'cuda:'?)"},
        {"h200", EXPECTED " (did you mean 'sim:h200'?)"},
        {"H200", EXPECTED " (did you mean 'sim:h200'?)"},
        {"h20:0", EXPECTED},
        {FTH_SOURCE_ROOT "/meson.build",
         EXPECTED " (did you mean 'sim:" FTH_SOURCE_ROOT "/meson.build'?)"},
        {FTH_SOURCE_ROOT, EXPECTED},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_error error = NO_ERROR;
        static struct fth_device *const other = (struct fth_device *)1;
        struct fth_device *device = other;
        assert_int_equal(fth_device_open(rows[i].id, NULL, &device, &error), FTH_NOT_FOUND);
        assert_null(device);
        assert_string_equal(error.cause, rows[i].cause);
        assert_string_equal(error.operation, "open device");
        assert_string_equal(error.argument, rows[i].id);
        const struct fth_machine_ops *ops = observed.original;
        void *machine = &observed;
        const struct fth_device_options options = FTH_DEVICE_OPTIONS(.log = NULL);
        assert_int_equal(fth_machine_open(rows[i].id, &options, &ops, &machine, NULL),
                         FTH_NOT_FOUND);
        assert_true(!ops && !machine);
    }
    struct fth_error error = NO_ERROR;
    struct fth_device *device = NULL;
    const struct fth_device_options real = FTH_DEVICE_OPTIONS(.require_gpu = true);
    assert_int_equal(fth_device_open_with("sim:h200", &real, &device, &error), FTH_UNAVAILABLE);
    assert_string_equal(error.cause, "it is not a GPU of this computer, which is required");
    error = NO_ERROR;
    const struct fth_machine_ops *ops = NULL;
    void *machine = NULL;
    assert_int_equal(fth_machine_open("replay:x", &real, &ops, &machine, &error), FTH_UNSUPPORTED);
    assert_string_equal(error.cause,
                        "this device cannot launch kernels; use cuda:NUMBER or sim:GPU");
    assert_int_equal(fth_device_open("sim:h200", NULL, &device, NULL), FTH_OK);
    assert_string_equal(fth_device_id(device), "sim:h200");
    assert_int_equal(fth_device_finish(device, NULL), FTH_OK);
    fth_device_close(device);
    fth_device_close(NULL);
}

/* If one request of a batch is invalid, none is executed. */
static void batches_with_invalid_requests_are_refused(void **state)
{
    (void)state;
    struct fth_device *device = open_gpu();
    struct fth_request requests[2] = {fth_request_make(-1), fth_request_make(-1)};
    struct fth_samples samples[2];
    struct fth_error error = NO_ERROR;
    fth_request_add(&requests[0], FTH_STEP_TIME_HOPS, FTH_PATH_CG, chain(0, 0, 128, 4), 1);
    fth_request_add(&requests[1], FTH_STEP_TIME_HOPS, FTH_PATH_CG, chain(0, 0, 127, 4), 1);
    assert_int_equal(fth_device_measure(device, requests, 2, samples, &error), FTH_INVALID);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(samples[i].status, FTH_UNAVAILABLE);
        assert_string_equal(samples[i].cause, "not measured");
        assert_null(samples[i].cycles);
    }
    measure(device, requests, 1, samples);
    assert_int_equal(samples[0].count, 4);
    assert_string_equal(samples[0].cause, "");
    fth_samples_fini(&samples[0]);
    fth_device_close(device);
}

/* Requests without a fixed SM get the next ones that no other request of the launch has, and the
 * next launch goes on from there. */
static void requests_get_free_sms(void **state)
{
    (void)state;
    uint32_t sms[] = {10, 11, 12, 13};
    const struct fth_runner runner = {.sms = sms, .sm_count = 4};
    struct fth_chase_state chases = {.next_sm = 3};
    static struct fth_chase_group group;
    static const uint32_t given[][3] = {
        {FTH_ANY_SM, 10, FTH_ANY_SM}, {11, FTH_ANY_SM, 12}, {FTH_ANY_SM, FTH_ANY_SM, 11}};
    static const uint32_t expected[][3] = {{13, 10, 11}, {11, 13, 12}, {10, 12, 11}};
    for (size_t i = 0; i < FTH_COUNT(given); i++) {
        struct fth_chase_member members[3] = {{0}};
        group = (struct fth_chase_group){.members = members, .count = 3};
        for (size_t k = 0; k < 3; k++) {
            members[k].sm = given[i][k];
            if (given[i][k] != FTH_ANY_SM)
                group.sm_taken[given[i][k]] = true;
        }
        fth_chase_assign_sms(&runner, &chases, &group);
        for (size_t k = 0; k < 3; k++) {
            assert_int_equal(members[k].sm, expected[i][k]);
            assert_true(group.sm_taken[expected[i][k]]);
        }
    }
}

int main(void)
{
#define TEST(NAME) cmocka_unit_test_setup(NAME, reset_observations)
    const struct CMUnitTest tests[] = {
        TEST(a_chase_is_lowered_to_offsets_and_sizes),
        TEST(what_a_gpu_cannot_execute_is_known_before_it_runs),
        TEST(requests_with_different_constants_do_not_share_a_launch),
        TEST(a_chain_that_does_not_fit_leaves_the_others_intact),
        TEST(a_host_without_memory_ends_the_batch),
        TEST(an_l2_of_unknown_size_is_flushed_like_the_largest),
        TEST(other_families_make_the_contents_of_the_l2_unknown),
        cmocka_unit_test(ids_name_a_backend_and_a_selector),
        cmocka_unit_test(batches_with_invalid_requests_are_refused),
        cmocka_unit_test(requests_get_free_sms),
    };
    return cmocka_run_group_tests_name("runner", tests, NULL, NULL);
}
