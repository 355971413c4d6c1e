/* Tests that a device fails with FTH_NO_MEMORY whichever allocation of the host fails, and that it
 * frees what it has allocated until then (tests/leaks checks that): a simulated GPU that executes
 * requests of several families, and a recording that is parsed and replayed. */
#include "check.h"
#include "device/cuda/cuda.h"
#include "device/recording.h"
#include "device/sim/sim.h"
#include "failing.h"
#include "folder.h"

#include <math.h>

char *__real_strdup(const char *text);
char *__wrap_strdup(const char *text);

char *__wrap_strdup(const char *text)
{
    return fails() ? NULL : __real_strdup(text);
}

/* A GPU with one SM, an L1, TLBs and limited bandwidths, whose parts are allocated when they are
 * first used. */
static const char description[] =
    "{\"schema\": \"fathom-gpu/1\", \"device\": {\"name\": \"Test\", \"sms\": 1, "
    "\"clock_mhz\": 1000, \"compute_capability\": \"7.0\"}, \"elements\": {"
    "\"l1\": {\"size_bytes\": 16384, \"line_bytes\": 128, \"latency_cycles\": 33, "
    "\"read_bytes_per_s\": 1e11}, "
    "\"tlb_l1\": {\"entries\": 4, \"page_bytes\": 65536}, "
    "\"l2\": {\"size_bytes\": 65536, \"line_bytes\": 128, \"read_bytes_per_s\": 1e11}, "
    "\"memory\": {\"size_bytes\": 67108864, \"read_bytes_per_s\": 1e10, "
    "\"write_bytes_per_s\": 1e10, \"copy_bytes_per_s\": 1e10}}}";

/* A GPU whose SMs have their own L2s and share an L3, of which all but the first L2 are created
 * when they are first used. */
static const char grouped[] =
    "{\"schema\": \"fathom-gpu/1\", \"device\": {\"name\": \"Test\", \"vendor\": \"AMD\", "
    "\"sms\": 2, \"clock_mhz\": 1000}, \"elements\": {"
    "\"vector_l1\": {\"size_bytes\": 16384, \"line_bytes\": 128, \"latency_cycles\": 33}, "
    "\"l2\": {\"size_bytes\": 65536, \"line_bytes\": 128, \"scope\": \"sm\"}, "
    "\"l3\": {\"size_bytes\": 131072, \"instances\": 2, \"read_bytes_per_s\": 1e11}, "
    "\"memory\": {\"size_bytes\": 67108864, \"read_bytes_per_s\": 1e10, "
    "\"write_bytes_per_s\": 1e10, \"copy_bytes_per_s\": 1e10}}}";

enum { REQUESTS = 7 };

/* One request per family that is quick to simulate, and chases along several paths. */
static void make_requests(struct fth_request requests[REQUESTS])
{
    static const enum fth_path paths[] = {FTH_PATH_CA, FTH_PATH_TEXTURE, FTH_PATH_CONSTANT,
                                          FTH_PATH_SHARED};
    const struct fth_chain chain = {.stride_bytes = 128, .count = 4};
    for (size_t i = 0; i < REQUESTS; i++)
        requests[i] = fth_request_make(-1);
    for (size_t i = 0; i < FTH_COUNT(paths); i++)
        fth_request_add(&requests[i], FTH_STEP_TIME_HOPS, paths[i], chain, 1);
    requests[4].family = FTH_FAMILY_STREAM;
    requests[4].stream = (struct fth_stream){.path = FTH_PATH_CG,
                                             .bytes = 4096,
                                             .shared_by_all = true,
                                             .blocks_per_sm = 1,
                                             .threads = 32,
                                             .vector_bytes = 16,
                                             .passes = 1};
    requests[5].family = FTH_FAMILY_OPERATE;
    requests[5].operate = (struct fth_operate){
        .operation = FTH_ATOMIC_GLOBAL, .chains = 1, .threads = 32, .rounds = 1, .passes = 1};
    requests[6].family = FTH_FAMILY_SWEEP;
    requests[6].sweep = (struct fth_sweep){.kind = FTH_SWEEP_COPY,
                                           .bytes = 4096,
                                           .blocks = 1,
                                           .threads = 32,
                                           .vector_bytes = 16,
                                           .unroll = 1,
                                           .repeats = 1};
}

/* Opens the GPU and executes the requests. Fails the test unless everything succeeds or the status
 * is FTH_NO_MEMORY. */
static enum fth_status measure(const struct fth_gpu *gpu)
{
    const struct fth_machine_ops *ops;
    void *machine = NULL;
    struct fth_device *device = NULL;
    struct fth_request requests[REQUESTS];
    struct fth_samples samples[REQUESTS] = {{0}};
    struct fth_error error = NO_ERROR;
    make_requests(requests);
    enum fth_status status = fth_sim_machine_create(gpu, &ops, &machine, &error);
    if (status == FTH_OK)
        status = fth_runner_device("sim:test", ops, machine, NULL, &device, &error);
    if (status == FTH_OK)
        status = fth_device_measure(device, requests, REQUESTS, samples, &error);
    if (status != error.status || (status != FTH_OK && status != FTH_NO_MEMORY) ||
        (status != FTH_OK && !error.operation[0]))
        fail_msg("allocation %zu: status %d, error %d: %s", allocations.fails_at, status,
                 error.status, error.cause);
    for (size_t i = 0; i < REQUESTS; i++) {
        if (status == FTH_OK && samples[i].status != FTH_OK)
            fail_msg("allocation %zu: request %zu: status %d: %s", allocations.fails_at, i,
                     samples[i].status, samples[i].cause);
        fth_samples_fini(&samples[i]);
    }
    fth_device_close(device);
    return status;
}

/* Every allocation is needed, except those of the three pools of streams and sweeps, which try
 * again after they have freed what they can. */
static void check_every_allocation(const char *text)
{
    struct fth_gpu *gpu = NULL;
    struct fth_error error = NO_ERROR;
    if (fth_gpu_read_text("test.json", text, strlen(text), NULL, &gpu, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    size_t number = 0, not_needed = 0;
    enum fth_status status;
    bool failed;
    do {
        fail_from(++number, false);
        status = measure(gpu);
        failed = has_failed();
        fail_from(0, false);
        not_needed += failed && status == FTH_OK;
    } while (failed);
    assert_int_equal(status, FTH_OK);
    assert_int_equal(not_needed, 3);
    assert_true(number > 100);
    fth_gpu_destroy(gpu);
}

static void a_simulated_gpu_needs_every_allocation(void **state)
{
    (void)state;
    check_every_allocation(description);
    check_every_allocation(grouped);
}

/* ---- recordings ---- */

/* A recording with a description and the answers to two requests. */
static void make_recording(struct fth_buffer *content)
{
    static const char *const keys[] = {"time-hops ca 0:128x2", "time-hops cg 0:128x2"};
    uint32_t cycles[] = {33, 34};
    const struct fth_samples samples = {.clock_mhz = NAN, .cycles = cycles, .count = 2};
    fth_recording_put_header("cuda:0", content);
    fth_recording_put_description(description, strlen(description), content);
    for (size_t i = 0; i < FTH_COUNT(keys); i++)
        fth_recording_put_answer(keys[i], strlen(keys[i]), &samples, content);
    fth_recording_put_end(
        3, fth_recording_checksum(FTH_RECORDING_CHECKSUM_START, content->data, content->size),
        content);
}

/* Opens the recording and replays one request. */
static enum fth_status replay(struct fth_error *error)
{
    struct fth_device *device = NULL;
    struct fth_samples samples = {0};
    struct fth_request request = fth_request_make(-1);
    fth_request_add(&request, FTH_STEP_TIME_HOPS, FTH_PATH_CG,
                    (struct fth_chain){.stride_bytes = 128, .count = 2}, 1);
    enum fth_status status = fth_backend_replay.open("test.rec", NULL, &device, error);
    if (status == FTH_OK)
        status = fth_device_measure(device, &request, 1, &samples, error);
    fth_samples_fini(&samples);
    fth_device_close(device);
    return status;
}

/* A recording that cannot be read for lack of memory is not called corrupt. */
static void a_recording_needs_every_allocation(void **state)
{
    (void)state;
    struct fth_buffer content = {0};
    make_recording(&content);
    FILE *file = fopen("test.rec", "wb");
    assert_true(file && fwrite(content.data, 1, content.size, file) == content.size);
    assert_int_equal(fclose(file), 0);
    size_t number = 0;
    enum fth_status status;
    bool failed;
    do {
        struct fth_error error = NO_ERROR;
        fail_from(++number, false);
        status = replay(&error);
        failed = has_failed();
        fail_from(0, false);
        if (status != (failed ? FTH_NO_MEMORY : FTH_OK) || error.status != status ||
            (failed && !error.operation[0]))
            fail_msg("allocation %zu: status %d, error %d: %s", number, status, error.status,
                     error.cause);
    } while (failed);
    assert_true(number > 10);
    fth_buffer_fini(&content);
}

/* ---- the driver ---- */

/* What dlopen fails with in the library; NULL: the functions of the C library are called. */
static const char *dl_cause;

void *__real_dlopen(const char *name, int flags);
char *__real_dlerror(void);
void *__wrap_dlopen(const char *name, int flags);
char *__wrap_dlerror(void);

void *__wrap_dlopen(const char *name, int flags)
{
    return dl_cause ? NULL : __real_dlopen(name, flags);
}

char *__wrap_dlerror(void)
{
    static char text[100];
    if (!dl_cause)
        return __real_dlerror();
    snprintf(text, sizeof text, "%s", dl_cause);
    return text;
}

/* A driver that cannot be loaded for lack of memory is not called absent. */
static void a_driver_without_memory_is_not_absent(void **state)
{
    (void)state;
    static const struct {
        const char *cause;
        enum fth_status status;
    } rows[] = {
        {"libcuda.so.1: cannot open shared object file: No such file or directory", FTH_OK},
        {"libcuda.so.1: failed to map segment from shared object: Cannot allocate memory",
         FTH_NO_MEMORY},
        {"libcuda.so.1: cannot create shared object descriptor", FTH_NO_MEMORY},
        {"out of memory", FTH_NO_MEMORY},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_error error = NO_ERROR;
        bool absent = false;
        dl_cause = rows[i].cause;
        const enum fth_status status = fth_backend_cuda.is_absent(&absent, &error);
        const enum fth_status without_error = fth_backend_cuda.is_absent(&absent, NULL);
        dl_cause = NULL;
        assert_int_equal(status, rows[i].status);
        assert_int_equal(without_error, rows[i].status);
        assert_int_equal(error.status, rows[i].status);
        if (status == FTH_OK)
            assert_true(absent);
        else
            assert_string_equal(error.argument, "libcuda.so.1");
    }
}

/* A name that no GPU can have is refused before the driver is opened. */
static void names_of_gpus_are_checked(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        enum fth_status status;
    } rows[] = {{"0", FTH_UNAVAILABLE},     {"123456", FTH_UNAVAILABLE}, {"GPU-x", FTH_UNAVAILABLE},
                {"MIG-x", FTH_UNAVAILABLE}, {"1234567", FTH_NOT_FOUND},  {"GPUx", FTH_NOT_FOUND},
                {"MIGx", FTH_NOT_FOUND},    {"0x", FTH_NOT_FOUND},       {"", FTH_NOT_FOUND}};
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_cuda cuda;
        struct fth_error error = NO_ERROR;
        int ordinal = 0;
        dl_cause = "libcuda.so.1: cannot open shared object file: No such file or directory";
        const enum fth_status status = fth_cuda_open_named(rows[i].name, &cuda, &ordinal, &error);
        dl_cause = NULL;
        if (status != rows[i].status)
            fail_msg("'%s': %d: %s", rows[i].name, (int)status, error.cause);
        assert_contains(error.cause, status == FTH_NOT_FOUND ? "name a GPU by its index"
                                                             : "no usable NVIDIA driver");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_simulated_gpu_needs_every_allocation),
        cmocka_unit_test(a_recording_needs_every_allocation),
        cmocka_unit_test(a_driver_without_memory_is_not_absent),
        cmocka_unit_test(names_of_gpus_are_checked),
    };
    return cmocka_run_group_tests_name("device memory", tests, enter_folder, leave_folder);
}
