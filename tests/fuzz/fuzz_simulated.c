/* Fuzzes simulated GPUs: a description becomes a simulated GPU with a small limit of instructions,
 * which executes a kernel and some requests. The simulator must refuse the description with a
 * message, or answer every request with its number of samples or with a reason.
 *
 * If the first byte is '{', the input is the text of a description. Otherwise, it changes numbers
 * of a small valid description, four bytes per change: the section, the attribute, and the mantissa
 * and the exponent of the new value. */
#include "device/sim/sim.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Instructions of a warp. Opening a device needs about 60,000, to measure the clock. */
#define MAX_INSTRUCTIONS 200000

static const char base[] =
    "{\"schema\": \"fathom-gpu/1\", \"device\": {\"name\": \"Test\", \"sms\": 4, "
    "\"compute_capability\": \"9.0\", \"clock_mhz\": 1500, \"cores_per_sm\": 128}, \"elements\": {"
    "\"l1\": {\"size_bytes\": 4096, \"line_bytes\": 128, \"sector_bytes\": 32, "
    "\"latency_cycles\": 30, \"shared_with\": [\"texture\"]}, "
    "\"texture\": {\"shared_with\": [\"l1\"]}, "
    "\"readonly\": {\"size_bytes\": 1024, \"line_bytes\": 64}, "
    "\"constant_l1\": {\"size_bytes\": 2048}, \"instruction_l0\": {\"size_bytes\": 4096}, "
    "\"shared\": {\"size_bytes\": 49152, \"banks\": 32, \"bank_bytes\": 4}, \"cluster_shared\": "
    "{}, "
    "\"l2\": {\"size_bytes\": 65536, \"partitions\": 2, \"read_bytes_per_s\": 1000000000000}, "
    "\"tlb_l1\": {\"entries\": 16, \"page_bytes\": 65536}, "
    "\"memory\": {\"size_bytes\": 16777216, \"latency_cycles\": 500, "
    "\"read_bytes_per_s\": 100000000000}}}";

/* Stores the index of its thread. */
static const char kernel[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                             ".visible .entry k(.param .u64 out)\n{\n"
                             ".reg .b32 %r<3>; .reg .b64 %rd<4>;\n"
                             "ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x;\n"
                             "mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2;\n"
                             "st.global.u32 [%rd3], %r1; bar.sync 0; ret;\n}\n";

static void require(bool holds)
{
    if (!holds)
        abort();
}

/* ---- descriptions ---- */

/* Sets the number that four bytes select. The description may then be invalid. */
static void change(struct fth_gpu *gpu, const uint8_t bytes[4])
{
    const size_t count = fth_gpu_element_count(gpu), at = bytes[0] % (count + 2);
    const char *name = at < count    ? fth_gpu_element_name(gpu, at)
                       : at == count ? "device"
                                     : "noise";
    const struct fth_attribute_def *def, *found = NULL;
    size_t left = bytes[1];
    for (size_t i = 0; (def = fth_schema_attribute_at(i)); i++)
        if (def->kind == FTH_NUMBER && fth_schema_attribute(name, def->name) == def &&
            (!found || left-- > 0))
            found = def;
    if (!found)
        return;
    struct fth_attribute attribute = fth_attribute_make(found->name, FTH_NUMBER);
    attribute.number = ldexp(1 + bytes[2], bytes[3] % 64 - 12);
    if (found->rule == FTH_RULE_COUNT || found->rule == FTH_RULE_WHOLE)
        attribute.number = floor(attribute.number);
    require(fth_gpu_set(gpu, fth_gpu_section(gpu, name), &attribute, NULL) == FTH_OK);
}

/* Returns the description that the input defines; NULL if it is not valid. */
static struct fth_gpu *make_description(const uint8_t *data, size_t size)
{
    struct fth_gpu *gpu = NULL;
    if (size && data[0] == '{') {
        if (fth_gpu_read_text("fuzz", (const char *)data, size, NULL, &gpu, NULL) != FTH_OK)
            return NULL;
        return gpu;
    }
    require(fth_gpu_read_text("base", base, sizeof base - 1, NULL, &gpu, NULL) == FTH_OK);
    for (size_t i = 0; i + 4 <= size; i += 4)
        change(gpu, data + i);
    if (fth_gpu_validate(gpu, NULL) == FTH_OK)
        return gpu;
    fth_gpu_destroy(gpu);
    return NULL;
}

/* Whether the L2 can be simulated, but has more lines than a fuzzer has memory for. */
static bool takes_too_much_memory(const struct fth_gpu *gpu)
{
    const double bytes = fth_gpu_number(gpu, "l2", "size_bytes", 0);
    return bytes > 1 << 24 && bytes <= 1 << 29;
}

/* ---- work ---- */

static void launch(const struct fth_machine_ops *ops, void *machine)
{
    struct fth_machine_module *module = NULL;
    struct fth_error error = FTH_NO_ERROR;
    uint64_t out = 0;
    require(ops->load(machine, "k", kernel, sizeof kernel - 1, &module, &error) == FTH_OK);
    if (ops->alloc(machine, 1024, &out, &error) == FTH_OK) {
        const struct fth_machine_launch run = {.module = module,
                                               .kernel = "k",
                                               .blocks = 3,
                                               .threads = 256,
                                               .carveout_percent = -1,
                                               .arguments = &out,
                                               .argument_bytes = sizeof out};
        uint32_t values[256];
        require(ops->launch(machine, &run, &error) == FTH_OK);
        require(ops->download(machine, values, out, sizeof values, &error) == FTH_OK);
        for (uint32_t i = 0; i < 256; i++)
            require(values[i] == i);
        ops->free(machine, out);
    } else {
        require(error.cause[0]);
    }
    ops->unload(machine, module);
}

static struct fth_request of_family(enum fth_family family)
{
    struct fth_request request = fth_request_make(-1);
    request.family = family;
    return request;
}

static void measure(struct fth_device *device)
{
    enum { COUNT = 5 };
    const struct fth_chain chain = {.stride_bytes = 128, .count = 64};
    struct fth_request requests[COUNT] = {fth_request_make(50), fth_request_make(-1)};
    fth_request_add(&requests[0], FTH_STEP_WALK, FTH_PATH_CA, chain, 1);
    fth_request_add(&requests[0], FTH_STEP_TIME_HOPS, FTH_PATH_CA, chain, 1);
    fth_request_add(&requests[1], FTH_STEP_TIME_PASS, FTH_PATH_CONSTANT, chain, 2);
    requests[2] = of_family(FTH_FAMILY_STREAM);
    requests[2].stream = (struct fth_stream){.kind = FTH_STREAM_READ,
                                             .path = FTH_PATH_CG,
                                             .bytes = 4096,
                                             .sms = 2,
                                             .blocks_per_sm = 1,
                                             .threads = 64,
                                             .vector_bytes = 16,
                                             .passes = 1};
    requests[3] = of_family(FTH_FAMILY_CLUSTER);
    requests[3].cluster =
        (struct fth_cluster_chase){.size = 2, .target = 1, .chain = chain, .passes = 1};
    requests[4] = of_family(FTH_FAMILY_TRANSFER);
    requests[4].transfer =
        (struct fth_transfer){.kind = FTH_TRANSFER_WITHIN, .repeats = 2, .bytes = 4096};
    for (size_t i = 0; i < COUNT; i++) {
        struct fth_samples samples;
        struct fth_error error = FTH_NO_ERROR;
        require(fth_request_check(&requests[i], NULL) == FTH_OK);
        const enum fth_status status =
            fth_device_measure(device, &requests[i], 1, &samples, &error);
        require(status == FTH_OK || error.cause[0]);
        require(status != FTH_OK || samples.status != FTH_OK ||
                samples.count == fth_request_samples(&requests[i]));
        require(status != FTH_OK || samples.status == FTH_OK || samples.cause[0]);
        fth_samples_fini(&samples);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fth_gpu *gpu = make_description(data, size);
    const struct fth_machine_ops *ops;
    void *machine;
    struct fth_device *device;
    struct fth_error error = FTH_NO_ERROR;
    if (!gpu || takes_too_much_memory(gpu)) {
        fth_gpu_destroy(gpu);
        return 0;
    }
    if (fth_sim_machine_create(gpu, &ops, &machine, &error) == FTH_OK) {
        fth_sim_set_limit(machine, MAX_INSTRUCTIONS, NULL);
        launch(ops, machine);
        if (fth_runner_device("sim:fuzz", ops, machine, NULL, &device, &error) == FTH_OK) {
            measure(device);
            fth_device_close(device);
        } else {
            require(error.cause[0]);
        }
    } else {
        require(!machine && error.cause[0]);
    }
    fth_gpu_destroy(gpu);
    return 0;
}
