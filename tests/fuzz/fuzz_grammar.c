/* Fuzzes the PTX engine with modules that are mostly valid: the mutator (support/ptx_mutator.c)
 * changes whole statements by the grammar of PTX. Any module must be rejected with a message of one
 * line, or its kernels are executed twice for a limited number of instructions: without an
 * observer, and with one that checks what it is notified of. Both runs must end with the same
 * status, the same number of instructions and the same contents of memory. */
#include "ptx/async/tensor_map.h"
#include "ptx/engine.h"
#include "support/ptx_mutator.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

/* The limits keep an execution in the range of a millisecond: kernels per module, instructions per
 * warp, threads per block, bytes of each of the buffers, bytes of the arguments, and bytes of
 * shared, local and parameter memory and of variables. The tensor maps begin at TENSOR_MAP_OFFSET
 * in the arguments. */
enum {
    MAX_KERNELS = 3,
    MAX_INSTRUCTIONS = 500,
    MAX_THREADS = 128,
    BUFFERS = 2,
    BUFFER_BYTES = 4096,
    MAX_ARGUMENT_BYTES = 4096,
    TENSOR_MAP_OFFSET = 64,
    MAX_MEMORY_BYTES = 1 << 20
};

/* The results of a run. */
struct outcome {
    enum fth_status status;
    struct fth_ptx_totals totals;
    unsigned char contents[BUFFERS][BUFFER_BYTES];
};

/* ---- the observer ---- */

struct watched {
    const struct fth_ptx_machine *machine;
    uint64_t issued;
    bool access_follows; /* the last instruction must be followed by its access */
};

/* Returns whether an instruction accesses nothing for coordinates outside of its object. */
static bool is_fetch(const char *opcode)
{
    return strncmp(opcode, "t", 1) == 0 || strncmp(opcode, "su", 2) == 0;
}

static bool on_issue(void *user, const struct fth_ptx_issue *issue)
{
    struct watched *watched = user;
    const struct fth_ptx_operands *operands = issue->operands;
    watched->issued++;
    if (!issue->opcode || watched->access_follows)
        abort();
    watched->access_follows = operands->accesses && issue->mask && !is_fetch(issue->opcode);
    for (unsigned i = 0; i < operands->read_count; i++)
        if (operands->reads[i] >= issue->operand_end - issue->operand_base)
            abort();
    for (unsigned i = 0; i < operands->write_count; i++)
        if (operands->writes[i] >= issue->operand_end - issue->operand_base)
            abort();
    return true;
}

static bool on_access(void *user, const struct fth_ptx_access *access)
{
    struct watched *watched = user;
    watched->access_follows = false;
    if (!access->mask || access->space == FTH_SPACE_GENERIC || access->bytes == 0 ||
        access->bytes > 32)
        abort();
    /* The copy engine accesses units of 16 bytes, which can begin before the end of an allocation
     * and end after it. */
    const unsigned bytes = access->unit == FTH_UNIT_COPY_ENGINE ? 1 : access->bytes;
    for (int lane = 0; lane < LANES; lane++)
        if (access->mask >> lane & 1 && access->space == FTH_SPACE_GLOBAL &&
            !fth_ptx_host(watched->machine, access->addresses[lane], bytes))
            abort();
    return true;
}

/* ---- runs ---- */

/* Creates the textures 2, 3 and 4 and the surface 5 on a buffer. Instructions can name them by
 * their numbers. */
static void make_objects(struct fth_ptx_machine *machine, uint64_t buffer)
{
    static const struct fth_ptx_sampling sampling = {
        .address_modes = {FTH_ADDRESS_BORDER, FTH_ADDRESS_MIRROR},
        .is_linear = true,
        .is_normalized = true};
    static const struct fth_ptx_image images[] = {
        {.geometry = FTH_GEOMETRY_2D, .format = FTH_TEXEL_F16, .width = 4, .height = 3},
        {.geometry = FTH_GEOMETRY_3D, .format = FTH_TEXEL_F32, .width = 2, .height = 2, .depth = 2},
        {.geometry = FTH_GEOMETRY_ACUBE,
         .format = FTH_TEXEL_F32,
         .width = 2,
         .height = 2,
         .depth = 6}};
    uint64_t handle;
    for (size_t i = 0; i <= FTH_COUNT(images); i++) {
        struct fth_ptx_image image = images[i % FTH_COUNT(images)];
        image.address = buffer;
        image.channels = 1;
        if ((i < FTH_COUNT(images)
                 ? fth_ptx_texture_create(machine, &image, &sampling, &handle, NULL)
                 : fth_ptx_surface_create(machine, &image, &handle, NULL)) != FTH_OK)
            abort();
    }
}

/* Encodes tensor maps on a buffer, with one to five dimensions. The one with four dimensions is in
 * im2col mode. */
static void make_tensor_maps(uint64_t buffer, unsigned char *bytes)
{
    static const struct fth_ptx_tensor_map maps[] = {
        {.type = FTH_TENSOR_U32, .sizes = {256}, .box = {32}},
        {.type = FTH_TENSOR_F32,
         .sizes = {16, 8},
         .strides = {64},
         .box = {8, 4},
         .swizzle = FTH_SWIZZLE_32},
        {.type = FTH_TENSOR_F16,
         .sizes = {8, 4, 4},
         .strides = {16, 64},
         .box = {8, 2, 2},
         .fills_with_nan = true},
        {.type = FTH_TENSOR_BF16,
         .sizes = {8, 4, 4, 2},
         .strides = {16, 64, 256},
         .is_im2col = true,
         .lower = {-1, 0},
         .upper = {0, -1},
         .channels = 8,
         .pixels = 8},
        {.type = FTH_TENSOR_S32,
         .sizes = {4, 2, 2, 2, 2},
         .strides = {16, 32, 64, 128},
         .box = {4, 2, 1, 1, 2}}};
    for (unsigned i = 0; i < FTH_COUNT(maps); i++) {
        struct fth_ptx_tensor_map map = maps[i];
        map.rank = i + 1;
        map.address = buffer;
        for (unsigned k = 0; k < map.rank; k++)
            map.element_strides[k] = 1;
        if (fth_ptx_tensor_map_encode(&map, bytes + (size_t)i * FTH_TENSOR_MAP_BYTES, NULL) !=
            FTH_OK)
            abort();
    }
}

/* Creates the buffers and a texture on the first one. They are the first arguments of the kernel.
 * All others are 7, apart from the tensor maps. */
static void make_arguments(struct fth_ptx_machine *machine, uint64_t *buffers, uint64_t *arguments)
{
    for (size_t i = 0; i < MAX_ARGUMENT_BYTES / sizeof *arguments; i++)
        arguments[i] = 7;
    for (size_t i = 0; i < BUFFERS; i++) {
        if (fth_ptx_alloc(machine, BUFFER_BYTES, &buffers[i], NULL) != FTH_OK)
            abort();
        arguments[i] = buffers[i];
    }
    if (fth_ptx_texture(machine, buffers[0], 64, FTH_TEXEL_F32, 2, &arguments[BUFFERS], NULL) !=
        FTH_OK)
        abort();
    make_objects(machine, buffers[1]);
    make_tensor_maps(buffers[0], (unsigned char *)arguments + TENSOR_MAP_OFFSET);
}

static void ignore_output(void *user, const char *text, size_t size)
{
    (void)user;
    if (!text || !size)
        abort();
}

static void run(const struct fth_ptx_module *module, const struct fth_ptx_kernel *kernel,
                bool observed, struct outcome *outcome)
{
    struct fth_ptx_machine *machine;
    uint64_t arguments[MAX_ARGUMENT_BYTES / 8], buffers[BUFFERS];
    struct fth_error error = FTH_NO_ERROR;
    if (fth_ptx_machine_create(module, &machine, NULL) != FTH_OK)
        abort();
    make_arguments(machine, buffers, arguments);
    struct watched watched = {.machine = machine};
    const struct fth_ptx_observer observer = {
        .user = &watched, .issue = on_issue, .access = on_access};
    const bool has_block = kernel->required_block[0] > 0;
    const struct fth_ptx_launch launch = {
        .kernel = kernel->name,
        .grid = {2, 1, 1},
        .block = {has_block ? kernel->required_block[0] : 40, 1, 1},
        .dynamic_shared_bytes = 256,
        .arguments = arguments,
        .argument_bytes = kernel->parameter_bytes,
        .threads = 1,
        .sms = 2,
        .max_instructions = MAX_INSTRUCTIONS,
        .print = ignore_output,
        .observer = observed ? &observer : NULL};
    outcome->status = fth_ptx_run(machine, &launch, &outcome->totals, &error);
    if (outcome->status != FTH_OK && (!error.cause[0] || strchr(error.cause, '\n')))
        abort();
    if (observed && (watched.issued != outcome->totals.warp_instructions ||
                     (watched.access_follows && outcome->status == FTH_OK)))
        abort();
    for (size_t i = 0; i < BUFFERS; i++)
        memcpy(outcome->contents[i], fth_ptx_host(machine, buffers[i], BUFFER_BYTES), BUFFER_BYTES);
    fth_ptx_machine_destroy(machine);
}

/* Returns whether the module needs little memory. Memory of a function exists once per thread and
 * nested call. */
static bool is_small(const struct fth_ptx_module *module)
{
    uint64_t bytes = module->dynamic_shared + module->global_end - GLOBAL_BASE;
    for (size_t i = 0; i < module->function_count; i++) {
        const struct fth_ptx_function *function = &module->functions[i];
        bytes += LANES * (function->local_bytes + function->param_bytes +
                          sizeof(uint64_t) * (uint64_t)function->register_count);
        bytes += function->kernel.shared_bytes;
    }
    return bytes <= MAX_MEMORY_BYTES;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fth_ptx_module *module = NULL;
    struct fth_error error = FTH_NO_ERROR;
    const struct fth_ptx_kernel *kernel;
    enum fth_status status = fth_ptx_read_text("fuzz", (const char *)data, size, &module, &error);
    if (status != FTH_OK && (!error.cause[0] || strchr(error.cause, '\n')))
        abort();
    for (size_t i = 0;
         module && is_small(module) && i < MAX_KERNELS && (kernel = fth_ptx_kernel_at(module, i));
         i++) {
        static struct outcome plain, observed;
        if (kernel->parameter_bytes > MAX_ARGUMENT_BYTES || kernel->required_block[0] > MAX_THREADS)
            continue;
        run(module, kernel, false, &plain);
        run(module, kernel, true, &observed);
        if (plain.status != observed.status ||
            plain.totals.warp_instructions != observed.totals.warp_instructions ||
            plain.totals.thread_instructions != observed.totals.thread_instructions ||
            memcmp(plain.contents, observed.contents, sizeof plain.contents) != 0)
            abort();
    }
    fth_ptx_destroy(module);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    return fuzz_mutate_ptx((char *)data, size, max_size, seed);
}
