/* Tests how device/cuda/ reports failures of a GPU and its driver. The stand-ins for NVIDIA's
 * libraries (tests/standin) cause the failures; set_mode() selects them. */
#include "driven.h"

#include <stdio.h>
#include <time.h>

/* ---- faults ---- */

static void a_failed_allocation_reports_requested_and_free_memory(void **state)
{
    (void)state;
    set_mode("no-memory:4096");
    void *machine = open_machine("0");
    struct fth_error error = NO_ERROR;
    uint64_t address = 1, fits = alloc(machine, 4096);
    assert_int_equal(ops->alloc(machine, 2ULL << 30, &address, &error), FTH_NO_MEMORY);
    assert_int_equal(address, 0);
    assert_string_equal(error.cause, "2 GiB requested, 4 KiB free: out of memory (error 2)");
    ops->free(machine, fits);
    close_machine(machine);
}

static void compilation_errors_include_the_log(void **state)
{
    (void)state;
    struct fth_machine_module *module = NULL;
    struct fth_error error = NO_ERROR;
    set_mode("jit");
    void *machine = open_machine("0");
    assert_int_equal(ops->load(machine, "test", ptx, strlen(ptx), &module, &error),
                     FTH_UNSUPPORTED);
    assert_null(module);
    assert_contains(error.cause, "test: a PTX JIT compilation failed (error 218): ptxas "
                                 "application ptx input, line 12; fatal");
    close_machine(machine);

    set_mode("one");
    machine = open_machine("0");
    error = NO_ERROR;
    assert_int_equal(ops->load(machine, "test", ".version 8.0 oops", 17, &module, &error),
                     FTH_UNSUPPORTED);
    assert_contains(error.cause, "(error 218): ");
    assert_contains(error.cause, "line 1: ");
    close_machine(machine);
}

static void reports_missing_symbols_and_invalid_launches(void **state)
{
    (void)state;
    set_mode("one");
    void *machine = open_machine("0");
    struct fth_machine_module *module = load(machine);
    struct fth_error error = NO_ERROR;
    uint64_t address, bytes;
    assert_int_equal(ops->symbol(machine, module, "nothing", &address, &bytes, &error),
                     FTH_NOT_FOUND);
    assert_contains(error.cause, "nothing: named symbol not found (error 500)");
    error = NO_ERROR;
    assert_int_equal(launch(machine, module, "nothing", 1, NULL, 0, &error), FTH_NOT_FOUND);
    assert_contains(error.cause, "nothing: named symbol not found (error 500)");
    error = NO_ERROR;
    assert_int_equal(launch(machine, module, "add", 2048, (uint64_t[]){0, 0, 0}, 3, &error),
                     FTH_UNAVAILABLE);
    assert_contains(error.cause, "invalid argument (error 1)");
    /* The machine remains usable after these errors. */
    assert_int_equal(ops->wait(machine, 60, NULL), FTH_OK);
    ops->unload(machine, module);
    close_machine(machine);
}

/* Checks that every operation of the machine fails, with an error that contains `reason`. */
static void assert_lost(void *machine, struct fth_machine_module *module, const char *reason)
{
    struct fth_machine_module *another;
    struct fth_gpu *gpu = NULL;
    uint64_t word = 0, number;
    uint32_t samples[3];
    double ns;
    const struct fth_transfer transfer = {.bytes = 8, .repeats = 1};
    assert_int_equal(fth_gpu_create(&gpu, NULL), FTH_OK);
    for (int call = 0; call < 16; call++) {
        struct fth_error error = NO_ERROR;
        enum fth_status status = FTH_OK;
        switch (call) {
        case 0: status = ops->wait(machine, 60, &error); break;
        case 1: status = launch(machine, module, "add", 1, (uint64_t[]){0, 0, 0}, 3, &error); break;
        case 2: status = ops->alloc(machine, 256, &number, &error); break;
        case 3: status = ops->upload(machine, 256, &word, 8, &error); break;
        case 4: status = ops->download(machine, &word, 256, 8, &error); break;
        case 5: status = ops->fill(machine, 256, 0, 8, &error); break;
        case 6: status = ops->texture(machine, 512, 8, &number, &error); break;
        case 7: status = ops->load(machine, "test", ptx, strlen(ptx), &another, &error); break;
        case 8: status = ops->free_bytes(machine, &number, &error); break;
        case 9: status = ops->describe(machine, gpu, &error); break;
        case 10: status = ops->check(machine, &error); break;
        case 11: status = ops->mark(machine, false, &error); break;
        case 12: status = ops->mark(machine, true, &error); break;
        case 13: status = ops->marked_ns(machine, &ns, &error); break;
        case 14: status = ops->copy(machine, 256, 512, 8, &error); break;
        case 15: status = ops->transfer(machine, &transfer, samples, &error); break;
        }
        assert_int_equal(status, FTH_UNAVAILABLE);
        assert_contains(error.cause, "it is lost: ");
        assert_contains(error.cause, reason);
    }
    fth_gpu_destroy(gpu);
}

static void a_gpu_is_lost_after_a_fault(void **state)
{
    (void)state;
    /* The next operation after the fault reports it: a wait, a copy or another launch. */
    for (int next_operation = 0; next_operation < 3; next_operation++) {
        set_mode("lost-later:2");
        void *machine = open_machine("0");
        struct fth_machine_module *module = load(machine);
        struct fth_error error = NO_ERROR;
        uint64_t a = alloc(machine, 256), word;
        const uint64_t arguments[] = {a, a, 1};
        for (int i = 0; i < 2; i++) {
            if (i)
                assert_int_equal(ops->wait(machine, 60, NULL), FTH_OK);
            assert_int_equal(launch(machine, module, "add", 1, arguments, 3, NULL), FTH_OK);
        }
        enum fth_status status = next_operation == 0 ? ops->wait(machine, 60, &error)
                                 : next_operation == 1
                                     ? ops->download(machine, &word, a, 8, &error)
                                     : launch(machine, module, "add", 1, arguments, 3, &error);
        assert_int_equal(status, FTH_UNAVAILABLE);
        assert_contains(error.cause, "unspecified launch failure (error 719)");
        assert_lost(machine, module,
                    "in or after the kernel 'add': unspecified launch failure (error 719)");
        ops->free(machine, a);
        ops->unload(machine, module);
        ops->close(machine);
    }
}

/* The stand-in executes the kernel with the PTX engine and writes the engine's error to stderr. */
static void a_gpu_is_lost_after_an_invalid_access(void **state)
{
    (void)state;
    set_mode("one");
    void *machine = open_machine("0");
    struct fth_machine_module *module = load(machine);
    struct fth_error error = NO_ERROR;
    assert_int_equal(launch(machine, module, "add", 1, (uint64_t[]){64, 64, 1}, 3, &error), FTH_OK);
    assert_int_equal(ops->wait(machine, 60, &error), FTH_UNAVAILABLE);
    assert_contains(error.cause, "in or after the kernel 'add': ");
    assert_lost(machine, module, "(error 719)");
    ops->unload(machine, module);
    ops->close(machine);
}

/* ---- each function of the driver ---- */

/* The operations of a session. */
enum operation {
    LOAD,
    SYMBOL,
    ALLOC,
    FREE_BYTES,
    UPLOAD,
    FILL,
    DOWNLOAD,
    TEXTURE,
    LAUNCH,
    CARVEOUT,
    CLUSTER,
    WAIT,
    MARK,
    COPY,
    MARKED_NS,
    TO_DEVICE,
    FROM_DEVICE,
    BOTH,
    PAGEABLE,
    TO_PEER,
    PEERS,
    OPERATIONS
};

/* What a session uses. */
struct session {
    void *machine;
    struct fth_machine_module *module;
    uint64_t memory, texture;
};

static enum fth_status transfer(struct session *session, enum fth_transfer_kind kind, bool pinned,
                                struct fth_error *error)
{
    uint32_t samples[3] = {0};
    const struct fth_transfer request = {
        .kind = kind, .pinned = pinned, .bytes = 4096, .repeats = 1};
    const enum fth_status status = ops->transfer(session->machine, &request, samples, error);
    if (status == FTH_OK)
        assert_int_equal(samples[1], 0); /* no wrong bytes */
    return status;
}

static enum fth_status launch_with(struct session *session, int carveout_percent, uint32_t cluster,
                                   struct fth_error *error)
{
    const uint64_t arguments[] = {session->memory, session->memory, 1};
    const struct fth_machine_launch launch = {.module = session->module,
                                              .kernel = "add",
                                              .blocks = 2,
                                              .threads = 1,
                                              .cluster = cluster,
                                              .carveout_percent = carveout_percent,
                                              .arguments = arguments,
                                              .argument_bytes = sizeof arguments};
    return ops->launch(session->machine, &launch, error);
}

static enum fth_status perform(struct session *session, enum operation operation,
                               struct fth_error *error)
{
    void *machine = session->machine;
    uint64_t word = 5, number;
    double ns;
    switch (operation) {
    case LOAD:
        return session->module
                   ? FTH_OK
                   : ops->load(machine, "test", ptx, strlen(ptx), &session->module, error);
    case SYMBOL: {
        const enum fth_status status =
            ops->symbol(machine, session->module, "nothing", &number, &number, error);
        return status == FTH_NOT_FOUND ? FTH_OK : status;
    }
    case ALLOC: return ops->alloc(machine, 4096, &session->memory, error);
    case FREE_BYTES: return ops->free_bytes(machine, &number, error);
    case UPLOAD: return ops->upload(machine, session->memory, &word, 8, error);
    case FILL: return ops->fill(machine, session->memory, 0, 8, error);
    case DOWNLOAD: return ops->download(machine, &word, session->memory, 8, error);
    case TEXTURE: return ops->texture(machine, session->memory, 8, &session->texture, error);
    case LAUNCH: return launch_with(session, -1, 0, error);
    case CARVEOUT: return launch_with(session, 50, 0, error);
    case CLUSTER: return launch_with(session, -1, 2, error);
    case WAIT: return ops->wait(machine, 60, error);
    case MARK: {
        const enum fth_status status = ops->mark(machine, false, error);
        return status == FTH_OK ? ops->mark(machine, true, error) : status;
    }
    case COPY: return ops->copy(machine, session->memory + 64, session->memory, 64, error);
    case MARKED_NS: return ops->marked_ns(machine, &ns, error);
    case TO_DEVICE: return transfer(session, FTH_TRANSFER_TO_DEVICE, true, error);
    case FROM_DEVICE: return transfer(session, FTH_TRANSFER_FROM_DEVICE, true, error);
    case BOTH: return transfer(session, FTH_TRANSFER_BOTH, true, error);
    case PAGEABLE: return transfer(session, FTH_TRANSFER_FROM_DEVICE, false, error);
    case TO_PEER: return transfer(session, FTH_TRANSFER_TO_PEER, false, error);
    default: return transfer(session, FTH_TRANSFER_PEERS, false, error);
    }
}

/* A function of the driver that always fails with CUDA_ERROR_NOT_PERMITTED, whatever its arguments
 * are. */
static int not_permitted(void)
{
    return 800;
}

/* Replaces the member of the table at this offset by `function`, or removes it. */
static void replace(struct fth_cuda *cuda, size_t offset, int (*function)(void))
{
    memcpy((char *)cuda + offset, &function, sizeof function);
}

/* Performs all operations with a driver one of whose functions fails or is missing. Operations that
 * need the result of a failed one are omitted. Writes one character per operation to `text`: '.'
 * for success, '-' if it is omitted, 'u' for FTH_UNAVAILABLE, 's' for FTH_UNSUPPORTED. */
static void run_session(size_t offset, int (*function)(void), char *text, char *cause, size_t size)
{
    struct session session = {0};
    struct fth_cuda cuda;
    int ordinal = -1;
    assert_int_equal(fth_cuda_open_named("0", &cuda, &ordinal, NULL), FTH_OK);
    replace(&cuda, offset, function);
    struct fth_error error = NO_ERROR;
    enum fth_status status = fth_cuda_machine_create(&cuda, ordinal, "0", &session.machine, &error);
    text[0] = status == FTH_OK ? '.' : status == FTH_UNSUPPORTED ? 's' : 'u';
    if (status != FTH_OK)
        snprintf(cause, size, "%s", error.cause);
    for (int i = 0; i < OPERATIONS; i++) {
        const bool needs_module = i == SYMBOL || (i >= LAUNCH && i <= CLUSTER);
        const bool needs_memory = (i >= UPLOAD && i <= CLUSTER) || i == COPY;
        error = NO_ERROR;
        if (!session.machine || (needs_module && !session.module) ||
            (needs_memory && !session.memory) || (i == MARKED_NS && text[MARK + 1] != '.')) {
            text[i + 1] = '-';
            continue;
        }
        status = perform(&session, (enum operation)i, &error);
        text[i + 1] = status == FTH_OK            ? '.'
                      : status == FTH_UNAVAILABLE ? 'u'
                      : status == FTH_UNSUPPORTED ? 's'
                                                  : '?';
        if (status != FTH_OK)
            snprintf(cause, size, "%s", error.cause);
    }
    text[OPERATIONS + 1] = '\0';
    if (!session.machine)
        return;
    if (session.texture)
        ops->texture_free(session.machine, session.texture);
    if (session.memory)
        ops->free(session.machine, session.memory);
    if (session.module)
        ops->unload(session.machine, session.module);
    ops->close(session.machine);
}

#define FAILED "unknown error (error 800)"
#define TOO_OLD "the driver is too old: it has no such function"
/* The results of the sessions: first that of opening the GPU, then those of the operations. The
 * causes are those of the last failures. */
#define MEMBER(NAME) #NAME, offsetof(struct fth_cuda, NAME)
static const struct {
    const char *name;
    size_t offset;
    const char *fails, *missing, *failure, *absence;
} functions[] = {
    {MEMBER(context_retain), "u---------------------", "s---------------------", FAILED, TOO_OLD},
    {MEMBER(context_set), "u---------------------", "s---------------------", FAILED, TOO_OLD},
    {MEMBER(synchronize), "................uuuuuu", "................ssssss", FAILED, TOO_OLD},
    {MEMBER(stream_query), "...uu-------uu--uuuuuu", "s---------------------",
     "it is lost: " FAILED, "the driver is too old: it has no cuStreamQuery"},
    {MEMBER(module_load), ".u-......---..........", ".s-......---..........", "test: " FAILED,
     "test: " TOO_OLD},
    {MEMBER(module_unload), "......................", ".s-......---..........", "",
     "test: " TOO_OLD},
    {MEMBER(module_function), ".........uuu..........", ".........sss..........", "add: " FAILED,
     TOO_OLD},
    {MEMBER(module_symbol), "..u...................", "..s...................", "nothing: " FAILED,
     TOO_OLD},
    {MEMBER(function_set), "..........u...........", "..........s...........", FAILED, TOO_OLD},
    {MEMBER(memory_alloc), "...u.-------..-.uuuuuu", "...s.-------..-.ssssss", FAILED, TOO_OLD},
    {MEMBER(memory_free), "......................", "...s.-------..-.ssssss", "", TOO_OLD},
    {MEMBER(memory_info), "....u.................", "....s.................", FAILED, TOO_OLD},
    {MEMBER(memory_upload), ".....u................", ".....s................", FAILED, TOO_OLD},
    {MEMBER(memory_download), ".......u........u.uuuu", ".......s........s.ssss", FAILED, TOO_OLD},
    {MEMBER(memory_fill), "......u.........uuuuuu", "......s.........ssssss", FAILED, TOO_OLD},
    {MEMBER(texture_create), "........u.............", "........s.............", FAILED, TOO_OLD},
    {MEMBER(texture_destroy), "......................", "........s.............", "", TOO_OLD},
    {MEMBER(launch), ".........uu...........", ".........sss..........", FAILED, TOO_OLD},
    {MEMBER(event_create), ".............u.-......", ".............s.-......", FAILED,
     "the driver is too old: it lacks event functions such as cuEventRecord"},
    {MEMBER(event_destroy), "......................", ".............s.-......", "",
     "the driver is too old: it lacks event functions such as cuEventRecord"},
    {MEMBER(event_record), ".............u.-......", ".............s.-......", FAILED,
     "the driver is too old: it lacks event functions such as cuEventRecord"},
    {MEMBER(event_elapsed), "...............u......", ".............s.-......", FAILED,
     "the driver is too old: it lacks event functions such as cuEventRecord"},
    {MEMBER(stream_create), "................uuuuuu", "................ssssss", FAILED,
     "the driver is too old: it has no cuStreamCreate"},
    {MEMBER(stream_destroy), "......................", "................ssssss", "",
     "the driver is too old: it has no cuStreamCreate"},
    {MEMBER(stream_synchronize), "................uuuuuu", "................ssssss", FAILED,
     "the driver is too old: it has no cuStreamCreate"},
    {MEMBER(host_alloc), "................uuu...", "................sss...", FAILED,
     "the driver does not support pinned memory (cuMemAllocHost)"},
    {MEMBER(host_free), "......................", "................sss...", "",
     "the driver does not support pinned memory (cuMemAllocHost)"},
    {MEMBER(copy_on_device), "..............u.......", "..............s.......", FAILED,
     "the driver is too old: it has no cuMemcpyDtoDAsync"},
    {MEMBER(copy_to_device), "................u.u...", "................sss...", FAILED,
     "the driver does not support pinned memory (cuMemAllocHost)"},
    {MEMBER(copy_from_device), ".................uu...", "................sss...", FAILED,
     "the driver does not support pinned memory (cuMemAllocHost)"},
    {MEMBER(copy_peer), "....................uu", "....................ss", FAILED,
     "the driver is too old: it has no cuMemcpyPeerAsync"},
    {MEMBER(peer_can_access), "......................", "....................ss", "",
     "the driver is too old: it has no cuMemcpyPeerAsync"},
    {MEMBER(peer_enable), "......................", "....................ss", "",
     "the driver is too old: it has no cuMemcpyPeerAsync"},
    {MEMBER(launch_ex), "...........u..........", "...........s..........", FAILED, TOO_OLD},
};

/* Performs a session; see run_session. Returns the number of contexts, modules, allocations,
 * textures, streams and events that the session leaves in the stand-in driver, which stays loaded
 * meanwhile. */
static long count_remaining(size_t offset, int (*function)(void), char *text, char *cause,
                            size_t size)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    assert_non_null(driver);
    void *address = dlsym(driver, "standin_live");
    long (*live)(void);
    assert_non_null(address);
    memcpy(&live, &address, sizeof live);
    const long before = live();
    run_session(offset, function, text, cause, size);
    const long remaining = live() - before;
    dlclose(driver);
    return remaining;
}

/* Functions that release something. If they fail, it is not released. */
static bool releases(const char *name)
{
    return strstr(name, "_free") || strstr(name, "_destroy") || strstr(name, "_unload");
}

static void each_function_of_the_driver_can_fail(void **state)
{
    (void)state;
    set_mode("two");
    for (size_t i = 0; i < FTH_COUNT(functions); i++) {
        char fails[OPERATIONS + 2], missing[OPERATIONS + 2], cause[200] = "";
        long remaining = count_remaining(functions[i].offset, NULL, missing, cause, sizeof cause);
        if (strcmp(missing, functions[i].missing) != 0 || strcmp(cause, functions[i].absence) != 0)
            fail_msg("%s is missing: %s: %s", functions[i].name, missing, cause);
        if (remaining)
            fail_msg("%s is missing: %ld objects remain", functions[i].name, remaining);
        cause[0] = '\0';
        remaining = count_remaining(functions[i].offset, not_permitted, fails, cause, sizeof cause);
        if (strcmp(fails, functions[i].fails) != 0 || strcmp(cause, functions[i].failure) != 0)
            fail_msg("%s fails: %s: %s", functions[i].name, fails, cause);
        if (remaining && !releases(functions[i].name))
            fail_msg("%s fails: %ld objects remain", functions[i].name, remaining);
    }
}

static unsigned enabled;

static int count_enabling(void)
{
    enabled++;
    return 0;
}

/* Each of the two copies between GPUs enables access in both directions. */
static void gpus_access_each_other(void **state)
{
    (void)state;
    char text[OPERATIONS + 2], cause[200] = "";
    set_mode("two");
    enabled = 0;
    run_session(offsetof(struct fth_cuda, peer_enable), count_enabling, text, cause, sizeof cause);
    assert_int_equal(strspn(text, "."), OPERATIONS + 1);
    assert_int_equal(enabled, 4);
}

/* ---- what the driver reports ---- */

/* A driver whose attribute with number n is 10 * n + 1, apart from the compute capability and those
 * attributes that are missing. */
static struct {
    int major, minor, missing[4];
} reported;

static int report_attribute(int *value, int attribute, fth_cu_device device)
{
    assert_int_equal(device, 3);
    for (size_t i = 0; i < FTH_COUNT(reported.missing); i++)
        if (reported.missing[i] == attribute)
            return 1;
    *value = attribute == FTH_CU_MAJOR   ? reported.major
             : attribute == FTH_CU_MINOR ? reported.minor
                                         : 10 * attribute + 1;
    return 0;
}

static int report_name(char *name, int size, fth_cu_device device)
{
    (void)device;
    snprintf(name, (size_t)size, "Test GPU");
    return 0;
}

static int report_version(int *version)
{
    *version = 12340;
    return 0;
}

static int report_memory(size_t *bytes, fth_cu_device device)
{
    (void)device;
    *bytes = 4096;
    return 0;
}

static int report_uuid(unsigned char uuid[16], fth_cu_device device)
{
    (void)device;
    for (unsigned char i = 0; i < 16; i++)
        uuid[i] = (unsigned char)(16 * i + i);
    return 0;
}

static const struct fth_cuda reporting = {.device_attribute = report_attribute,
                                          .device_name = report_name,
                                          .driver_version = report_version,
                                          .device_memory = report_memory,
                                          .device_uuid = report_uuid};

/* Writes "section.attribute=value" for each attribute, separated by spaces. */
static void list_attributes(const struct fth_gpu *gpu, const char *section, char *text, size_t size)
{
    const struct fth_attribute *a;
    for (size_t i = 0; (a = fth_gpu_attribute_at(gpu, section, i)); i++) {
        size_t used = strlen(text);
        used += (size_t)snprintf(text + used, size - used, "%s.%s=", section, a->name);
        if (a->kind == FTH_NUMBER)
            used += (size_t)snprintf(text + used, size - used, "%g", a->number);
        if (a->kind == FTH_TEXT)
            used += (size_t)snprintf(text + used, size - used, "%s", a->text);
        for (size_t k = 0; a->kind == FTH_NUMBERS && k < a->count; k++)
            used += (size_t)snprintf(text + used, size - used, "%s%g", k ? "," : "", a->numbers[k]);
        for (size_t k = 0; a->kind == FTH_TEXTS && k < a->count; k++)
            used += (size_t)snprintf(text + used, size - used, "%s%s", k ? "," : "", a->texts[k]);
        snprintf(text + used, size - used, "\n");
    }
}

/* Returns the description of the driver above. */
static struct fth_gpu *describe_reported(const struct fth_cuda *cuda)
{
    static const struct fth_nvml no_nvml = {0};
    struct fth_gpu *gpu = NULL;
    struct fth_error error = NO_ERROR;
    assert_int_equal(fth_gpu_create(&gpu, NULL), FTH_OK);
    if (fth_cuda_describe(cuda, 3, &no_nvml, gpu, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    return gpu;
}

static const char all_attributes[] =
    "device.name=Test GPU\ndevice.vendor=NVIDIA\ndevice.compute_capability=8.6\n"
    "device.backend=cuda\ndevice.cuda_version=12.34\n"
    "device.uuid=GPU-00112233-4455-6677-8899-aabbccddeeff\ndevice.pci_device=056f:0000\n"
    "device.architecture=Ampere\ndevice.sms=161\ndevice.warp_size=101\ndevice.clock_mhz=0.131\n"
    "device.memory_clock_mhz=0.361\ndevice.memory_bus_bits=371\n"
    "device.max_threads_per_block=11\ndevice.max_threads_per_sm=391\n"
    "device.max_blocks_per_sm=1061\ndevice.max_registers_per_block=121\n"
    "device.constant_memory_bytes=91\ndevice.texture_alignment_bytes=141\n"
    "device.single_to_double_ratio=871\ndevice.copy_engines=401\n"
    "device.memory_sync_domains=1261\ndevice.integrated=yes\ndevice.kernel_timeout=yes\n"
    "device.concurrent_kernels=yes\ndevice.cooperative_launch=yes\ndevice.cluster_launch=yes\n"
    "device.preemption=yes\ndevice.stream_priorities=yes\ndevice.tensor_maps=yes\n"
    "device.multicast=yes\ndevice.mps=yes\ndevice.unified_addressing=yes\n"
    "device.managed_memory=yes\ndevice.concurrent_managed_access=yes\n"
    "device.pageable_access=yes\ndevice.host_page_tables=yes\ndevice.host_atomics=yes\n"
    "device.virtual_memory_management=yes\ndevice.memory_pools=yes\n"
    "device.gpu_direct_rdma=yes\ndevice.max_block_dims=21,31,41\n"
    "device.max_grid_dims=51,61,71\ndevice.max_linear_texels=691\n"
    "l2.scope=gpu\nl2.size_bytes=381\nl2.max_persisting_bytes=1081\nl2.max_window_bytes=1091\n"
    "shared.scope=sm\nshared.size_bytes=811\nshared.max_block_bytes=971\n"
    "shared.default_block_bytes=81\nshared.reserved_block_bytes=1111\n"
    "registers.scope=sm\nregisters.size_bytes=3284\n"
    "memory.scope=gpu\nmemory.ecc=yes\nmemory.compression=yes\nmemory.size_bytes=4096\n"
    "l1.scope=sm\nl1.caches=global,local\n";

/* Removes the line that begins with `start`, which must exist. */
static void remove_lines(char *text, const char *start)
{
    char *line = strstr(text, start);
    assert_non_null(line);
    char *next = strchr(line, '\n') + 1;
    memmove(line, next, strlen(next) + 1);
}

static void attributes_are_converted(void **state)
{
    (void)state;
    char text[4096] = "";
    reported.major = 8;
    reported.minor = 6;
    memset(reported.missing, 0, sizeof reported.missing);
    struct fth_gpu *gpu = describe_reported(&reporting);
    list_attributes(gpu, "device", text, sizeof text);
    for (size_t i = 0; i < fth_gpu_element_count(gpu); i++)
        list_attributes(gpu, fth_gpu_element_name(gpu, i), text, sizeof text);
    /* The host and the time differ from run to run. */
    remove_lines(text, "device.host=");
    remove_lines(text, "device.measured_at=");
    fth_gpu_destroy(gpu);
    assert_string_equal(text, all_attributes);
    /* One number of the dimensions, the number of SMs and a flag are missing. */
    reported.missing[0] = 4;
    reported.missing[1] = 16;
    reported.missing[2] = 18;
    reported.missing[3] = 79;
    gpu = describe_reported(&reporting);
    assert_null(fth_gpu_attribute(gpu, "device", "max_block_dims"));
    assert_non_null(fth_gpu_attribute(gpu, "device", "max_grid_dims"));
    assert_null(fth_gpu_attribute(gpu, "device", "sms"));
    assert_null(fth_gpu_attribute(gpu, "device", "integrated"));
    assert_null(fth_gpu_attribute(gpu, "l1", "caches"));
    fth_gpu_destroy(gpu);
}

static void architectures_follow_from_the_capability(void **state)
{
    (void)state;
    static const struct {
        int major, minor;
        const char *name;
    } rows[] = {
        {1, 0, NULL},      {2, 1, "Fermi"},      {3, 5, "Kepler"},     {4, 0, NULL},
        {5, 2, "Maxwell"}, {6, 1, "Pascal"},     {7, 0, "Volta"},      {7, 4, "Volta"},
        {7, 5, "Turing"},  {8, 0, "Ampere"},     {8, 8, "Ampere"},     {8, 9, "Ada Lovelace"},
        {9, 0, "Hopper"},  {10, 0, "Blackwell"}, {11, 0, "Blackwell"}, {12, 1, "Blackwell"},
        {13, 0, NULL},
    };
    memset(reported.missing, 0, sizeof reported.missing);
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        reported.major = rows[i].major;
        reported.minor = rows[i].minor;
        struct fth_gpu *gpu = describe_reported(&reporting);
        const char *name = fth_gpu_text(gpu, "device", "architecture");
        if (rows[i].name)
            assert_string_equal(name, rows[i].name);
        else
            assert_null(name);
        fth_gpu_destroy(gpu);
    }
}

/* The driver stays loaded with the hanging work of this test and of the next one, which therefore
 * uses the other GPU. */
static void a_hanging_copy_is_abandoned(void **state)
{
    (void)state;
    struct fth_error error = NO_ERROR;
    set_mode("two");
    void *machine = open_machine("1");
    uint64_t a = alloc(machine, 256), b = alloc(machine, 256);
    set_mode("hang-copy");
    assert_int_equal(ops->copy(machine, a, b, 256, &error), FTH_OK);
    assert_int_equal(ops->wait(machine, 0.05, &error), FTH_UNAVAILABLE);
    assert_string_equal(error.cause, "copy of 256 bytes within the GPU did not complete within "
                                     "0.05 s and was abandoned");
    ops->close(machine);
}

/* This must be the last test, because the driver stays loaded with the hanging kernel. */
static void a_hanging_kernel_is_abandoned(void **state)
{
    (void)state;
    set_mode("hang");
    void *machine = open_machine("0");
    struct fth_machine_module *module = load(machine);
    struct fth_error error = NO_ERROR;
    uint64_t a = alloc(machine, 256), texture = 0;
    assert_int_equal(ops->texture(machine, a, 8, &texture, NULL), FTH_OK);
    assert_int_equal(launch(machine, module, "add", 1, (uint64_t[]){a, a, 1}, 3, NULL), FTH_OK);
    struct timespec start, end;
    clock_gettime(CLOCK_MONOTONIC, &start);
    assert_int_equal(ops->wait(machine, 0.05, &error), FTH_UNAVAILABLE);
    clock_gettime(CLOCK_MONOTONIC, &end);
    double elapsed =
        (double)(end.tv_sec - start.tv_sec) + 1e-9 * (double)(end.tv_nsec - start.tv_nsec);
    assert_true(elapsed >= 0.05 && elapsed < 5);
    assert_string_equal(error.cause,
                        "kernel 'add' did not complete within 0.05 s and was abandoned");
    assert_lost(machine, module, "kernel 'add' did not complete within 0.05 s and was abandoned");
    ops->texture_free(machine, texture);
    ops->free(machine, a);
    ops->unload(machine, module);
    ops->close(machine);
}

static void drivers_without_tensor_maps_are_unsupported(void **state)
{
    (void)state;
    const struct fth_cuda cuda = {.handle = NULL};
    struct fth_ptx_tensor_map map = {.rank = 1};
    unsigned char bytes[FTH_TENSOR_MAP_BYTES];
    struct fth_error error = NO_ERROR;
    assert_int_equal(fth_cuda_tensor_map(&cuda, &map, bytes, &error), FTH_UNSUPPORTED);
    assert_string_equal(error.argument, "cuTensorMapEncodeTiled");
    map.is_im2col = true;
    error = NO_ERROR;
    assert_int_equal(fth_cuda_tensor_map(&cuda, &map, bytes, &error), FTH_UNSUPPORTED);
    assert_string_equal(error.argument, "cuTensorMapEncodeIm2col");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(drivers_without_tensor_maps_are_unsupported),
        cmocka_unit_test(a_failed_allocation_reports_requested_and_free_memory),
        cmocka_unit_test(compilation_errors_include_the_log),
        cmocka_unit_test(reports_missing_symbols_and_invalid_launches),
        cmocka_unit_test(a_gpu_is_lost_after_a_fault),
        cmocka_unit_test(a_gpu_is_lost_after_an_invalid_access),
        cmocka_unit_test(each_function_of_the_driver_can_fail),
        cmocka_unit_test(gpus_access_each_other),
        cmocka_unit_test(attributes_are_converted),
        cmocka_unit_test(architectures_follow_from_the_capability),
        cmocka_unit_test(a_hanging_copy_is_abandoned),
        cmocka_unit_test(a_hanging_kernel_is_abandoned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
