/* Tests of device/cuda/ with the stand-ins for NVIDIA's libraries (tests/standin): opening GPUs,
 * memory, kernels, the attributes that the driver reports, and MIG slices. The stand-ins imitate an
 * H200: the expected values are those of its description in the catalogue and of the stand-in for
 * NVML.
 *
 * usage: test_cuda [bare]     bare: the stand-in lacks the functions that run kernels */
#include "driven.h"

#include <math.h>
#include <stdio.h>

/* ---- opening ---- */

static void devices_are_found_by_name(void **state)
{
    (void)state;
    static const struct {
        const char *mode, *what;
        enum fth_status status;
        int ordinal;
        const char *cause;
    } rows[] = {
        {"one", "0", FTH_OK, 0, ""},
        {"two", "1", FTH_OK, 1, ""},
        {"two", "GPU-00000001-1111-2222-3333-444444444444", FTH_OK, 1, ""},
        {"one", "1", FTH_NOT_FOUND, 0, "no such GPU; available: cuda:0"},
        {"two", "999999", FTH_NOT_FOUND, 0, "available: cuda:0, cuda:1"},
        {"two", "GPU-77", FTH_NOT_FOUND, 0,
         "available: cuda:GPU-00000000-1111-2222-3333-444444444444, cuda:GPU-00000001-1111"},
        {"one", "h200", FTH_NOT_FOUND, 0,
         "name a GPU by its index (0, 1, …), GPU-<uuid> or MIG-<uuid>"},
        {"one", "", FTH_NOT_FOUND, 0, "name a GPU by its index"},
        {"one", "-1", FTH_NOT_FOUND, 0, "name a GPU by its index"},
        {"one", "99999999999", FTH_NOT_FOUND, 0, "name a GPU by its index"},
        {"none", "0", FTH_NOT_FOUND, 0, "the CUDA driver reports no GPU"},
        {"uninitialised", "0", FTH_UNAVAILABLE, 0, "no CUDA-capable device is detected"},
        {"one", "MIG-77", FTH_NOT_FOUND, 0, "no such GPU"},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_error error = NO_ERROR;
        struct fth_cuda cuda;
        int ordinal = -1;
        set_mode(rows[i].mode);
        enum fth_status status = fth_cuda_open_named(rows[i].what, &cuda, &ordinal, &error);
        assert_int_equal(status, rows[i].status);
        if (status == FTH_OK) {
            assert_int_equal(ordinal, rows[i].ordinal);
            fth_cuda_close(&cuda);
        } else {
            assert_contains(error.cause, rows[i].cause);
        }
    }
}

static void opening_a_lost_device_fails(void **state)
{
    (void)state;
    set_mode("lost");
    struct fth_error error = NO_ERROR;
    struct fth_cuda cuda;
    int ordinal = -1;
    void *machine = NULL;
    assert_int_equal(fth_cuda_open_named("1", &cuda, &ordinal, &error), FTH_OK);
    assert_int_equal(fth_cuda_machine_create(&cuda, ordinal, "cuda:1", &machine, &error),
                     FTH_UNAVAILABLE);
    assert_null(machine);
    assert_contains(error.cause, "unspecified launch failure (error 719)");
}

static void reports_the_facts_of_a_gpu(void **state)
{
    (void)state;
    set_mode("one");
    void *machine = open_machine("0");
    struct fth_machine_facts facts;
    ops->facts(machine, &facts);
    assert_int_equal(facts.sms, 132);
    assert_int_equal(facts.capability, 90);
    assert_int_equal(facts.l2_bytes, 60 << 20);
    assert_int_equal(facts.block_shared_bytes, 227 << 10);
    assert_int_equal(facts.texels, 1 << 27);
    assert_true(facts.memory_bytes == 150109880320);
    close_machine(machine);
}

/* ---- memory and kernels ---- */

static void memory_keeps_what_is_copied_to_it(void **state)
{
    (void)state;
    set_mode("one");
    void *machine = open_machine("0");
    const size_t size = 100000;
    unsigned char *in = malloc(size), *out = malloc(size);
    for (size_t i = 0; i < size; i++)
        in[i] = (unsigned char)(i * 7 + i / 256);
    uint64_t before = 0, after = 0, a = alloc(machine, size), b = alloc(machine, 3 * size);
    assert_true(a + size <= b || b + 3 * size <= a);
    assert_int_equal(ops->free_bytes(machine, &before, NULL), FTH_OK);
    assert_int_equal(ops->upload(machine, a, in, size, NULL), FTH_OK);
    assert_int_equal(ops->fill(machine, a + 100, 0xa5, 50, NULL), FTH_OK);
    assert_int_equal(ops->download(machine, out, a, size, NULL), FTH_OK);
    memset(in + 100, 0xa5, 50);
    assert_memory_equal(in, out, size);
    ops->free(machine, b);
    ops->free(machine, 0);
    assert_int_equal(ops->free_bytes(machine, &after, NULL), FTH_OK);
    assert_true(after > before);
    /* A failed copy is reported, and the machine can still be used. */
    struct fth_error error = NO_ERROR;
    assert_int_equal(ops->download(machine, out, 8, 16, &error), FTH_UNAVAILABLE);
    assert_contains(error.argument, "cuMemcpyDtoH");
    assert_int_equal(ops->download(machine, out, a, size, NULL), FTH_OK);
    ops->free(machine, a);
    free(in);
    free(out);
    close_machine(machine);
}

static void kernels_run_in_order(void **state)
{
    (void)state;
    set_mode("one");
    void *machine = open_machine("0");
    struct fth_machine_module *module = load(machine), *second = load(machine);
    uint64_t in[32], out[32], a = alloc(machine, sizeof in), b = alloc(machine, sizeof in);
    for (uint64_t i = 0; i < 32; i++)
        in[i] = i << 40;
    assert_int_equal(ops->upload(machine, a, in, sizeof in, NULL), FTH_OK);
    /* Launches execute one after the other. A copy waits for all of them. */
    assert_int_equal(launch(machine, module, "add", 32, (uint64_t[]){b, a, 1}, 3, NULL), FTH_OK);
    assert_int_equal(launch(machine, module, "add", 32, (uint64_t[]){b, b, 1}, 3, NULL), FTH_OK);
    assert_int_equal(ops->wait(machine, 60, NULL), FTH_OK);
    assert_int_equal(launch(machine, second, "add", 32, (uint64_t[]){b, b, 5}, 3, NULL), FTH_OK);
    assert_int_equal(ops->download(machine, out, b, sizeof out, NULL), FTH_OK);
    for (uint64_t i = 0; i < 32; i++)
        assert_true(out[i] == (i << 40) + 127);
    /* The variables of a module can be found and written. */
    uint64_t address = 0, bytes = 0, value = 0;
    assert_int_equal(ops->symbol(machine, module, "table", &address, &bytes, NULL), FTH_OK);
    assert_int_equal(bytes, 64);
    assert_int_equal(ops->symbol(machine, module, "counter", &address, &bytes, NULL), FTH_OK);
    assert_int_equal(bytes, 8);
    assert_int_equal(ops->upload(machine, address, &value, sizeof value, NULL), FTH_OK);
    assert_int_equal(launch(machine, module, "add", 32, (uint64_t[]){b, a, 1}, 3, NULL), FTH_OK);
    assert_int_equal(ops->wait(machine, 60, NULL), FTH_OK);
    assert_int_equal(ops->download(machine, out, b, sizeof out, NULL), FTH_OK);
    for (uint64_t i = 0; i < 32; i++)
        assert_true(out[i] == (i << 40) + 1);
    ops->free(machine, a);
    ops->free(machine, b);
    ops->unload(machine, module);
    ops->unload(machine, second);
    ops->unload(machine, NULL);
    close_machine(machine);
}

/* Launches a kernel between two marks. *ns gets the time between the marks. */
static enum fth_status time_launch(void *machine, const struct fth_machine_launch *launch,
                                   double *ns)
{
    assert_int_equal(ops->mark(machine, false, NULL), FTH_OK);
    enum fth_status status = ops->launch(machine, launch, NULL);
    assert_int_equal(ops->mark(machine, true, NULL), FTH_OK);
    assert_int_equal(ops->wait(machine, 60, NULL), FTH_OK);
    assert_int_equal(ops->marked_ns(machine, ns, NULL), FTH_OK);
    return status;
}

static void launches_with_three_dimensions_are_timed(void **state)
{
    (void)state;
    set_mode("one");
    void *machine = open_machine("0");
    struct fth_machine_module *module = load(machine);
    enum { COUNT = 2 * 3 * 4 * 5 * 6 * 7 };
    uint32_t out[COUNT];
    double ns = 0;
    struct {
        uint32_t value;
        uint64_t out;
        uint8_t small;
    } arguments = {1000, alloc(machine, sizeof out), 7};
    struct fth_machine_launch timed = {.module = module,
                                       .kernel = "number",
                                       .blocks = 2,
                                       .blocks_yz = {3, 4},
                                       .threads = 5,
                                       .threads_yz = {6, 7},
                                       .carveout_percent = -1,
                                       .arguments = &arguments,
                                       .argument_bytes = 17};
    assert_int_equal(time_launch(machine, &timed, &ns), FTH_OK);
    assert_true(ns > 0);
    assert_int_equal(ops->download(machine, out, arguments.out, sizeof out, NULL), FTH_OK);
    for (uint32_t i = 0; i < COUNT; i++)
        assert_int_equal(out[i], 1007 + i);
    /* Invalid launches are reported, and valid ones still work afterwards. */
    timed.threads_yz[1] = 65;
    assert_int_equal(time_launch(machine, &timed, &ns), FTH_UNAVAILABLE);
    timed.threads_yz[1] = 0;
    timed.argument_bytes = 24;
    assert_int_equal(time_launch(machine, &timed, &ns), FTH_UNAVAILABLE);
    timed.argument_bytes = 17;
    timed.blocks_yz[0] = timed.blocks_yz[1] = timed.threads_yz[0] = 0;
    assert_int_equal(time_launch(machine, &timed, &ns), FTH_OK);
    ops->free(machine, arguments.out);
    ops->unload(machine, module);
    close_machine(machine);
}

static void kernels_fetch_from_textures(void **state)
{
    (void)state;
    set_mode("one");
    void *machine = open_machine("0");
    struct fth_machine_module *module = load(machine);
    uint32_t in[64], out[64];
    uint64_t a = alloc(machine, sizeof in), b = alloc(machine, sizeof out), texture = 0;
    for (uint32_t i = 0; i < 64; i++)
        in[i] = ~i;
    assert_int_equal(ops->upload(machine, a, in, sizeof in, NULL), FTH_OK);
    assert_int_equal(ops->texture(machine, a, 64, &texture, NULL), FTH_OK);
    assert_int_not_equal(texture, 0);
    assert_int_equal(launch(machine, module, "fetch", 64, (uint64_t[]){b, texture}, 2, NULL),
                     FTH_OK);
    assert_int_equal(ops->wait(machine, 60, NULL), FTH_OK);
    assert_int_equal(ops->download(machine, out, b, sizeof out, NULL), FTH_OK);
    assert_memory_equal(in, out, sizeof in);
    ops->texture_free(machine, texture);
    ops->texture_free(machine, 0);
    ops->free(machine, a);
    ops->free(machine, b);
    ops->unload(machine, module);
    close_machine(machine);
}

static void blocks_get_the_requested_shared_memory(void **state)
{
    (void)state;
    set_mode("one");
    void *machine = open_machine("0");
    struct fth_machine_module *module = load(machine);
    uint64_t out = alloc(machine, 4);
    static const struct {
        uint64_t bytes;
        int carveout_percent;
        enum fth_status status;
    } rows[] = {
        {1024, 0, FTH_OK},
        {48 << 10, 0, FTH_OK},
        {227 << 10, 100, FTH_OK},
        {1024, -1, FTH_OK},
        {228 << 10, 100, FTH_UNAVAILABLE},
        {1024, 101, FTH_UNAVAILABLE},
        {1024, 50, FTH_OK},
        {1ULL << 32, 50, FTH_INVALID},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        const uint64_t arguments[] = {out, rows[i].bytes - 4};
        const struct fth_machine_launch launch = {.module = module,
                                                  .kernel = "keep",
                                                  .blocks = 1,
                                                  .threads = 1,
                                                  .shared_bytes = rows[i].bytes,
                                                  .carveout_percent = rows[i].carveout_percent,
                                                  .arguments = arguments,
                                                  .argument_bytes = sizeof arguments};
        uint32_t word = 0;
        assert_int_equal(ops->launch(machine, &launch, NULL), rows[i].status);
        assert_int_equal(ops->wait(machine, 60, NULL), FTH_OK);
        if (rows[i].status != FTH_OK)
            continue;
        assert_int_equal(ops->download(machine, &word, out, 4, NULL), FTH_OK);
        assert_int_equal(word, 77);
        assert_int_equal(ops->fill(machine, out, 0, 4, NULL), FTH_OK);
    }
    ops->free(machine, out);
    ops->unload(machine, module);
    close_machine(machine);
}

/* ---- attributes ---- */

/* Describes a GPU, and checks that the description is valid. The caller destroys it. */
static struct fth_gpu *describe(const char *what)
{
    struct fth_gpu *gpu = NULL;
    struct fth_error error = NO_ERROR;
    void *machine = open_machine(what);
    assert_int_equal(fth_gpu_create(&gpu, NULL), FTH_OK);
    /* Twice: the second call must replace the attributes of the first. */
    for (int i = 0; i < 2; i++)
        if (ops->describe(machine, gpu, &error) != FTH_OK)
            fail_msg("%s", error.cause);
    close_machine(machine);
    if (fth_gpu_validate(gpu, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    return gpu;
}

/* Checks that the attributes of a section are in the schema, come from the driver, and have a
 * method. The architecture is derived. */
static void assert_reported_by_driver(const struct fth_gpu *gpu, const char *section)
{
    assert_true(fth_gpu_attribute_count(gpu, section) > 0);
    for (size_t i = 0; i < fth_gpu_attribute_count(gpu, section); i++) {
        const struct fth_attribute *a = fth_gpu_attribute_at(gpu, section, i);
        if (!fth_schema_attribute(section, a->name))
            fail_msg("%s.%s is not in the schema", section, a->name);
        if (strcmp(a->name, "scope") == 0)
            continue;
        assert_int_equal(a->source, strcmp(a->name, "architecture") == 0 ? FTH_SOURCE_DERIVED
                                                                         : FTH_SOURCE_DRIVER);
        assert_non_null(a->method);
    }
}

/* Checks the numbers that the stand-in for an H200 reports. */
static void assert_numbers(const struct fth_gpu *gpu)
{
    static const struct {
        const char *section, *name;
        double number;
    } numbers[] = {
        {"device", "sms", 132},
        {"device", "cores_per_sm", 128},
        {"device", "clock_mhz", 1980},
        {"device", "memory_clock_mhz", 3201},
        {"device", "memory_bus_bits", 6016},
        {"device", "warp_size", 32},
        {"device", "max_threads_per_sm", 2048},
        {"device", "max_blocks_per_sm", 32},
        {"device", "constant_memory_bytes", 65536},
        {"device", "max_linear_texels", 1 << 27},
        {"device", "single_to_double_ratio", 2},
        {"device", "pcie_generation", 5},
        {"device", "max_pcie_lanes", 16},
        {"device", "current_clock_mhz", 1755},
        {"device", "power_w", 312.5},
        {"device", "power_limit_w", 700},
        {"device", "temperature_c", 41},
        {"l2", "size_bytes", 62914560},
        {"l2", "max_persisting_bytes", 39321600},
        {"shared", "size_bytes", 233472},
        {"shared", "max_block_bytes", 232448},
        {"shared", "default_block_bytes", 49152},
        {"shared", "reserved_block_bytes", 1024},
        {"memory", "size_bytes", 150109880320},
        {"registers", "size_bytes", 262144},
    };
    for (size_t i = 0; i < FTH_COUNT(numbers); i++)
        if (fth_gpu_number(gpu, numbers[i].section, numbers[i].name, NAN) != numbers[i].number)
            fail_msg("%s.%s", numbers[i].section, numbers[i].name);
}

static void assert_texts(const struct fth_gpu *gpu)
{
    static const struct {
        const char *section, *name, *text;
    } texts[] = {
        {"device", "name", "NVIDIA H200"},
        {"device", "vendor", "NVIDIA"},
        {"device", "architecture", "Hopper"},
        {"device", "compute_capability", "9.0"},
        {"device", "backend", "cuda"},
        {"device", "driver", "580.159.04"},
        {"device", "cuda_version", "13.0"},
        {"device", "uuid", "GPU-00000000-1111-2222-3333-444444444444"},
        {"device", "pci_bus", "0000:19:00.0"},
        {"device", "pci_device", "10de:2335"},
        {"device", "throttling", "power cap, thermal"},
        {"device", "cluster_launch", "yes"},
        {"device", "integrated", "no"},
        {"memory", "ecc", "yes"},
        {"l2", "scope", "gpu"},
    };
    for (size_t i = 0; i < FTH_COUNT(texts); i++)
        assert_string_equal(fth_gpu_text(gpu, texts[i].section, texts[i].name), texts[i].text);
}

static void reports_the_attributes_of_the_driver(void **state)
{
    (void)state;
    set_mode("one");
    struct fth_gpu *gpu = describe("0");
    assert_reported_by_driver(gpu, "device");
    for (size_t i = 0; i < fth_gpu_element_count(gpu); i++)
        assert_reported_by_driver(gpu, fth_gpu_element_name(gpu, i));
    assert_numbers(gpu);
    assert_texts(gpu);
    const struct fth_attribute *caches = fth_gpu_attribute(gpu, "l1", "caches");
    assert_int_equal(caches->count, 2);
    const struct fth_attribute *grid = fth_gpu_attribute(gpu, "device", "max_grid_dims");
    assert_true(grid->numbers[0] == 2147483647 && grid->numbers[2] == 65535);
    assert_string_equal(fth_gpu_attribute(gpu, "l2", "size_bytes")->method,
                        "CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE");
    /* The driver reports 0, which is impossible: the attribute is unknown. */
    assert_null(fth_gpu_attribute(gpu, "device", "memory_sync_domains"));
    fth_gpu_destroy(gpu);
}

static void keeps_measured_attributes(void **state)
{
    (void)state;
    set_mode("one");
    struct fth_gpu *gpu = NULL;
    struct fth_attribute size = fth_attribute_make("size_bytes", FTH_NUMBER);
    size.number = 4096;
    size.source = FTH_SOURCE_MEASURED;
    assert_int_equal(fth_gpu_create(&gpu, NULL), FTH_OK);
    assert_int_equal(fth_gpu_add_element(gpu, "l2", NULL), FTH_OK);
    assert_int_equal(fth_gpu_set(gpu, fth_gpu_section(gpu, "l2"), &size, NULL), FTH_OK);
    void *machine = open_machine("0");
    assert_int_equal(ops->describe(machine, gpu, NULL), FTH_OK);
    close_machine(machine);
    assert_true(fth_gpu_number(gpu, "l2", "size_bytes", NAN) == 4096);
    assert_true(fth_gpu_number(gpu, "l2", "max_persisting_bytes", NAN) == 39321600);
    fth_gpu_destroy(gpu);
}

static void works_without_nvml(void **state)
{
    (void)state;
    set_mode("no-nvml");
    struct fth_gpu *gpu = describe("0");
    assert_true(fth_gpu_number(gpu, "device", "sms", NAN) == 132);
    assert_null(fth_gpu_attribute(gpu, "device", "power_w"));
    assert_null(fth_gpu_attribute(gpu, "device", "driver"));
    fth_gpu_destroy(gpu);
}

/* ---- MIG slices ---- */

struct listing {
    size_t count;
    char text[1024];
};

static void append_device(void *user, const struct fth_device_info *device)
{
    struct listing *listing = user;
    size_t used = strlen(listing->text);
    snprintf(listing->text + used, sizeof listing->text - used, "%s | %s | %s\n", device->id,
             device->name, device->detail);
    listing->count++;
}

static void lists_and_opens_mig_slices(void **state)
{
    (void)state;
    set_mode("mig");
    struct listing listing = {0};
    assert_int_equal(fth_backend_cuda.list(append_device, &listing, NULL), FTH_OK);
    assert_string_equal(listing.text,
                        "cuda:0 | NVIDIA H200 MIG 1g.18gb | cc 9.0, 16 SMs, 17.48 GiB, CUDA 13.0\n"
                        "cuda:MIG-aaaaaaa0-1111-2222-3333-444444444444 | NVIDIA H200 MIG 1g.18gb | "
                        "slice 1 of GPU 0, 16 GiB\n"
                        "cuda:MIG-aaaaaaa1-1111-2222-3333-444444444444 | NVIDIA H200 MIG 1g.18gb | "
                        "slice 4 of GPU 0, 16 GiB\n");
    static const char second[] = "MIG-aaaaaaa1-1111-2222-3333-444444444444";
    /* Without CUDA_VISIBLE_DEVICES, the driver shows the first slice only. The library does not set
     * the variable. */
    struct fth_error error = NO_ERROR;
    struct fth_cuda cuda;
    int ordinal = -1;
    assert_int_equal(fth_cuda_open_named(second, &cuda, &ordinal, &error), FTH_NOT_FOUND);
    assert_contains(error.cause, "not visible: set CUDA_VISIBLE_DEVICES=MIG-aaaaaaa1");
    assert_null(getenv("CUDA_VISIBLE_DEVICES"));
    setenv("CUDA_VISIBLE_DEVICES", second, 1);
    struct fth_gpu *gpu = describe(second);
    assert_string_equal(fth_gpu_text(gpu, "device", "uuid"), second);
    assert_true(fth_gpu_number(gpu, "device", "sms", NAN) == 16);
    /* NVML reports the cores of the whole GPU, so the cores per SM are unknown. It also
     * reports the power of the whole GPU. */
    assert_null(fth_gpu_attribute(gpu, "device", "cores_per_sm"));
    assert_true(fth_gpu_number(gpu, "device", "power_w", NAN) == 312.5);
    fth_gpu_destroy(gpu);

    error = NO_ERROR;
    setenv("CUDA_VISIBLE_DEVICES", "MIG-77", 1);
    assert_int_equal(fth_cuda_open_named("MIG-77", &cuda, &ordinal, &error), FTH_UNAVAILABLE);
    assert_contains(error.cause, "no CUDA-capable device is detected");

    /* After the driver is initialised, no other slice can be opened. */
    set_mode("mig");
    void *machine = open_machine("0");
    error = NO_ERROR;
    assert_int_equal(fth_cuda_open_named(second, &cuda, &ordinal, &error), FTH_NOT_FOUND);
    assert_contains(error.cause, "CUDA_VISIBLE_DEVICES=MIG-aaaaaaa1");
    assert_null(getenv("CUDA_VISIBLE_DEVICES"));
    assert_int_equal(
        fth_cuda_open_named("MIG-aaaaaaa0-1111-2222-3333-444444444444", &cuda, &ordinal, NULL),
        FTH_OK);
    assert_int_equal(ordinal, 0);
    fth_cuda_close(&cuda);
    close_machine(machine);
}

/* The variable names a slice, but the driver shows a whole GPU. */
static void a_whole_gpu_is_not_opened_as_a_slice(void **state)
{
    (void)state;
    struct fth_error error = NO_ERROR;
    struct fth_cuda cuda;
    int ordinal = -1;
    set_mode("one");
    setenv("CUDA_VISIBLE_DEVICES", "MIG-77", 1);
    assert_int_equal(fth_cuda_open_named("MIG-77", &cuda, &ordinal, &error), FTH_NOT_FOUND);
    assert_null(cuda.handle);
    unsetenv("CUDA_VISIBLE_DEVICES");
}

/* ---- NVML, called directly ---- */

/* A library that finds GPUs by their PCI address or UUID, and whose functions answer with different
 * numbers, or all fail. */
static struct {
    bool fails;
    unsigned long long reasons;
} library;

static struct fth_nvml_device *const a_device = (struct fth_nvml_device *)&library;

static int find_device(const char *name, fth_nvml_device *device)
{
    *device = a_device;
    return strcmp(name, "here") == 0 ? 0 : 6;
}

#define ANSWER(NAME, NUMBER)                                                                       \
    static int NAME(fth_nvml_device device, unsigned *value)                                       \
    {                                                                                              \
        assert_ptr_equal(device, a_device);                                                        \
        *value = NUMBER;                                                                           \
        return library.fails;                                                                      \
    }
ANSWER(answer_cores, 640)
ANSWER(answer_generation, 3)
ANSWER(answer_lanes, 8)
ANSWER(answer_max_generation, 4)
ANSWER(answer_max_lanes, 16)
ANSWER(answer_power, 1500)
ANSWER(answer_limit, 2500)

#define ANSWER_KIND(NAME, NUMBER)                                                                  \
    static int NAME(fth_nvml_device device, int which, unsigned *value)                            \
    {                                                                                              \
        assert_ptr_equal(device, a_device);                                                        \
        *value = NUMBER + (unsigned)which;                                                         \
        return library.fails;                                                                      \
    }
ANSWER_KIND(answer_clock, 100)
ANSWER_KIND(answer_max_clock, 200)
ANSWER_KIND(answer_temperature, 50)

static int answer_reasons(fth_nvml_device device, unsigned long long *reasons)
{
    (void)device;
    *reasons = library.reasons;
    return library.fails;
}

/* Returns the attributes of the section "device" that NVML adds for these names of the GPU. */
static void describe_with(const struct fth_nvml *nvml, const char *pci_bus, const char *uuid,
                          bool is_full_gpu, char text[1024])
{
    struct fth_gpu *gpu = NULL;
    const struct fth_attribute *a;
    assert_int_equal(fth_gpu_create(&gpu, NULL), FTH_OK);
    assert_int_equal(fth_cuda_set_number(gpu, "device", "sms", 5, "test", NULL), FTH_OK);
    assert_int_equal(fth_nvml_describe(nvml, pci_bus, uuid, is_full_gpu, gpu, NULL), FTH_OK);
    *text = '\0';
    for (size_t i = 1; (a = fth_gpu_attribute_at(gpu, "device", i)); i++) {
        const size_t used = strlen(text);
        if (a->kind == FTH_NUMBER)
            snprintf(text + used, 1024 - used, "%s=%g ", a->name, a->number);
        else
            snprintf(text + used, 1024 - used, "%s=%s ", a->name, a->text);
    }
    fth_gpu_destroy(gpu);
}

#define FIGURES                                                                                    \
    "pcie_generation=3 pcie_lanes=8 max_pcie_generation=4 max_pcie_lanes=16 max_clock_mhz=201 "    \
    "max_memory_clock_mhz=202 current_clock_mhz=101 current_memory_clock_mhz=102 power_w=1.5 "     \
    "power_limit_w=2.5 temperature_c=50 "

static void nvml_reports_figures(void **state)
{
    (void)state;
    const struct fth_nvml empty = {.handle = &library, .by_pci = find_device};
    const struct fth_nvml nvml = {.handle = &library,
                                  .by_pci = find_device,
                                  .by_uuid = find_device,
                                  .cores = answer_cores,
                                  .pcie_generation = answer_generation,
                                  .pcie_lanes = answer_lanes,
                                  .pcie_max_generation = answer_max_generation,
                                  .pcie_max_lanes = answer_max_lanes,
                                  .clock = answer_clock,
                                  .max_clock = answer_max_clock,
                                  .power = answer_power,
                                  .power_limit = answer_limit,
                                  .temperature = answer_temperature,
                                  .throttle = answer_reasons};
    char text[1024];
    library.reasons = 0;
    describe_with(&nvml, "here", "", true, text);
    assert_string_equal(text, "cores_per_sm=128 " FIGURES "throttling=none ");
    library.reasons = 0x04 | 0x40 | 0x01;
    describe_with(&nvml, "elsewhere", "here", false, text);
    assert_string_equal(text, FIGURES "throttling=power cap, thermal, idle ");
    library.reasons = 0x200;
    describe_with(&nvml, "", "here", false, text);
    assert_string_equal(text, FIGURES "throttling=another reason ");
    describe_with(&nvml, "", "elsewhere", true, text);
    assert_string_equal(text, "");
    describe_with(&empty, "here", "", true, text);
    assert_string_equal(text, "");
    library.fails = true;
    describe_with(&nvml, "here", "", true, text);
    assert_string_equal(text, "");
    library.fails = false;
}

/* ---- a driver that lacks functions ---- */

static void a_driver_that_cannot_run_kernels_lists_gpus(void **state)
{
    (void)state;
    struct listing listing = {0};
    struct fth_error error = NO_ERROR;
    struct fth_cuda cuda;
    int ordinal = -1;
    void *machine = NULL;
    set_mode("one");
    assert_int_equal(fth_backend_cuda.list(append_device, &listing, NULL), FTH_OK);
    assert_int_equal(listing.count, 1);
    assert_int_equal(fth_cuda_open_named("0", &cuda, &ordinal, &error), FTH_OK);
    assert_int_equal(fth_cuda_machine_create(&cuda, ordinal, "cuda:0", &machine, &error),
                     FTH_UNSUPPORTED);
    assert_null(machine);
    assert_contains(error.cause, "the driver is too old: it has no cuStreamQuery");
    /* No function of cuda_run.c calls a driver function that is missing. */
    assert_int_equal(fth_cuda_open(&cuda, NULL), FTH_OK);
    uint64_t number, bytes;
    fth_cu_context context;
    fth_cu_module module;
    fth_cu_function function;
    char data[8];
    const enum fth_status statuses[] = {
        fth_cuda_context_open(&cuda, 0, &context, NULL),
        fth_cuda_module_load(&cuda, ptx, &module, NULL),
        fth_cuda_function(&cuda, NULL, "add", &function, NULL),
        fth_cuda_symbol(&cuda, NULL, "add", &number, &bytes, NULL),
        fth_cuda_carveout(&cuda, NULL, 0, NULL),
        fth_cuda_alloc(&cuda, 8, &number, NULL),
        fth_cuda_free_bytes(&cuda, &bytes, NULL),
        fth_cuda_upload(&cuda, 0, data, 8, NULL),
        fth_cuda_download(&cuda, data, 0, 8, NULL),
        fth_cuda_fill(&cuda, 0, 0, 8, NULL),
        fth_cuda_texture(&cuda, 0, 8, &number, NULL),
        fth_cuda_launch(&cuda, NULL, &(struct fth_cuda_launch){.arguments = NULL}, NULL),
        fth_cuda_synchronize(&cuda, NULL),
    };
    for (size_t i = 0; i < FTH_COUNT(statuses); i++)
        assert_int_equal(statuses[i], FTH_UNSUPPORTED);
    fth_cuda_close(&cuda);
}

int main(int count, char **arguments)
{
    const struct CMUnitTest bare[] = {
        cmocka_unit_test(a_driver_that_cannot_run_kernels_lists_gpus)};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(devices_are_found_by_name),
        cmocka_unit_test(opening_a_lost_device_fails),
        cmocka_unit_test(reports_the_facts_of_a_gpu),
        cmocka_unit_test(memory_keeps_what_is_copied_to_it),
        cmocka_unit_test(kernels_run_in_order),
        cmocka_unit_test(launches_with_three_dimensions_are_timed),
        cmocka_unit_test(kernels_fetch_from_textures),
        cmocka_unit_test(blocks_get_the_requested_shared_memory),
        cmocka_unit_test(reports_the_attributes_of_the_driver),
        cmocka_unit_test(keeps_measured_attributes),
        cmocka_unit_test(works_without_nvml),
        cmocka_unit_test(lists_and_opens_mig_slices),
        cmocka_unit_test(a_whole_gpu_is_not_opened_as_a_slice),
        cmocka_unit_test(nvml_reports_figures),
    };
    if (count > 1 && strcmp(arguments[1], "bare") == 0)
        return cmocka_run_group_tests(bare, NULL, NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
