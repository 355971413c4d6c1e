/* The arguments of kernels: their texts, their places in the parameters of a kernel, and their
 * values.
 *
 *   i32:4096  f32:1.5  u64:0x10          a number of the type
 *   null                                 a null pointer
 *   bytes:00ff10                         bytes, in hexadecimal, for a struct
 *   ptr:f32[1024]                        a new buffer (command line)
 *   a  a+N*2                             the address of a buffer or of one of its elements (launch
 *                                        files)
 *
 * Launch files also have tensor maps, textures, surfaces and structs, which are not texts.
 */
#include "trace/launch/launch.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char operation[] = "read argument";

/* ---- places in the parameters ---- */

static size_t align(size_t offset, size_t alignment)
{
    return (offset + alignment - 1) / alignment * alignment;
}

/* The size of an argument, and the alignment of its offset in a struct. */
struct layout {
    size_t bytes, alignment;
};

static struct layout layout_of(const struct fth_launch_argument *argument)
{
    struct layout all = {0, 1};
    switch (argument->kind) {
    case FTH_ARGUMENT_ADDRESS:
    case FTH_ARGUMENT_TEXTURE: return (struct layout){sizeof(uint64_t), sizeof(uint64_t)};
    case FTH_ARGUMENT_NUMBER:
        return (struct layout){argument->element->bytes, argument->element->bytes};
    case FTH_ARGUMENT_BYTES: return (struct layout){argument->count, 1};
    case FTH_ARGUMENT_TENSOR_MAP:
        return (struct layout){FTH_TENSOR_MAP_BYTES, FTH_TENSOR_MAP_ALIGNMENT};
    case FTH_ARGUMENT_STRUCT: break;
    }
    for (size_t i = 0; i < argument->count; i++) {
        const struct layout member = layout_of(&argument->members[i]);
        all.bytes = align(all.bytes, member.alignment) + member.bytes;
        if (member.alignment > all.alignment)
            all.alignment = member.alignment;
    }
    all.bytes = align(all.bytes, all.alignment);
    return all;
}

/* A kernel can take a tensor map itself or its address. In the second case, fathom copies the map
 * to the memory of the executor. */
static bool is_passed_by_address(const struct fth_launch_argument *argument, size_t parameter_bytes)
{
    return argument->kind == FTH_ARGUMENT_TENSOR_MAP && parameter_bytes == sizeof(uint64_t);
}

/* Checks the cluster against the grid, so that the message is the same on all executors. The
 * maximum of 16 blocks is that of the GPUs with compute capability 9.0; without an opt-in it is 8,
 * but the executor for GPUs opts in. */
static enum fth_status check_cluster(const struct fth_launch_step *step, struct fth_error *error)
{
    enum { MAX_CLUSTER_BLOCKS = 16 };
    uint64_t blocks = 1;
    for (int i = 0; i < 3 && step->cluster[i]; i++) {
        blocks *= step->cluster[i];
        if (blocks > MAX_CLUSTER_BLOCKS)
            return fth_fail(error, FTH_INVALID, "launch kernel", step->kernel->display_name,
                            "a cluster can have at most %d blocks", MAX_CLUSTER_BLOCKS);
        if (step->grid[i] % step->cluster[i])
            return fth_fail(
                error, FTH_INVALID, "launch kernel", step->kernel->display_name,
                "the %u blocks of the grid along %c are not a multiple of the %u blocks "
                "of a cluster",
                step->grid[i], 'x' + i, step->cluster[i]);
    }
    return FTH_OK;
}

enum fth_status fth_step_check(const struct fth_launch_step *step, struct fth_error *error)
{
    const struct fth_ptx_kernel *kernel = step->kernel;
    char wanted[400];
    fth_kernel_describe_parameters(kernel, wanted, sizeof wanted);
    if (step->argument_count != kernel->parameter_count)
        return fth_fail(error, FTH_INVALID, "launch kernel", kernel->display_name,
                        "it takes %zu arguments (%s), but %zu were given", kernel->parameter_count,
                        wanted, step->argument_count);
    for (size_t i = 0; i < step->argument_count; i++) {
        const size_t bytes = layout_of(&step->arguments[i]).bytes;
        if (kernel->parameters[i].bytes != bytes &&
            !is_passed_by_address(&step->arguments[i], kernel->parameters[i].bytes))
            return fth_fail(error, FTH_INVALID, "launch kernel", kernel->display_name,
                            "argument %zu has %zu bytes, but the kernel takes %s", i + 1, bytes,
                            wanted);
    }
    FTH_TRY(check_cluster(step, error));
    /* The PTX engine and the driver check the number of threads and the grid. Only the driver
     * checks this limit, which all GPUs have (CUDA C++ Programming Guide, "Compute Capabilities").
     */
    if (step->block[2] > 64)
        return fth_fail(error, FTH_INVALID, "launch kernel", kernel->display_name,
                        "%u threads per block along z exceed the limit of 64", step->block[2]);
    return FTH_OK;
}

/* ---- values ---- */

static uint64_t address_of(const struct fth_launch *launch,
                           const struct fth_launch_argument *argument)
{
    const struct fth_launch_buffer *buffer = &launch->buffers[argument->buffer];
    return buffer->address + argument->offset * buffer->element->bytes;
}

/* Encodes a tensor map for the executor, at the address of its buffer. */
static enum fth_status pack_tensor_map(const struct fth_launch *launch,
                                       const struct fth_launch_argument *argument, uint8_t *out,
                                       struct fth_error *error)
{
    const struct fth_executor *executor = &launch->executor;
    struct fth_ptx_tensor_map map = *argument->map;
    map.address = address_of(launch, argument);
    enum fth_status status = executor->tensor_map(executor->context, &map, out, error);
    if (status != FTH_OK)
        fth_error_context(error, "tensor map of buffer '%s'",
                          launch->buffers[argument->buffer].name);
    return status;
}

/* Encodes a tensor map, copies it to the memory of the executor, and writes its address. */
static enum fth_status pack_address_of_map(const struct fth_launch *launch,
                                           const struct fth_launch_argument *argument, uint8_t *out,
                                           struct fth_error *error)
{
    const struct fth_executor *executor = &launch->executor;
    uint8_t encoded[FTH_TENSOR_MAP_BYTES];
    uint64_t address = 0;
    FTH_TRY(pack_tensor_map(launch, argument, encoded, error));
    FTH_TRY(executor->alloc(executor->context, sizeof encoded, &address, error));
    memcpy(out, &address, sizeof address);
    return executor->write(executor->context, address, encoded, sizeof encoded, error);
}

/* Creates a texture or surface at the address of its buffer, and writes its handle. */
static enum fth_status pack_texture(const struct fth_launch *launch,
                                    const struct fth_launch_argument *argument, uint8_t *out,
                                    struct fth_error *error)
{
    const struct fth_executor *executor = &launch->executor;
    const struct fth_launch_texture *texture = argument->texture;
    struct fth_ptx_image image = texture->image;
    uint64_t handle = 0;
    image.address = address_of(launch, argument);
    enum fth_status status = executor->texture(
        executor->context, &image, texture->is_surface ? NULL : &texture->sampling, &handle, error);
    if (status != FTH_OK)
        fth_error_context(error, "%s of buffer '%s'", texture->is_surface ? "surface" : "texture",
                          launch->buffers[argument->buffer].name);
    memcpy(out, &handle, sizeof handle);
    return status;
}

enum fth_status fth_argument_pack(const struct fth_launch *launch,
                                  const struct fth_launch_argument *argument,
                                  size_t parameter_bytes, uint8_t *out, struct fth_error *error)
{
    uint64_t address;
    size_t offset = 0;
    if (is_passed_by_address(argument, parameter_bytes))
        return pack_address_of_map(launch, argument, out, error);
    switch (argument->kind) {
    case FTH_ARGUMENT_ADDRESS:
        address = address_of(launch, argument);
        memcpy(out, &address, sizeof address);
        break;
    case FTH_ARGUMENT_NUMBER: memcpy(out, &argument->bits, argument->element->bytes); break;
    case FTH_ARGUMENT_BYTES: memcpy(out, argument->bytes, argument->count); break;
    case FTH_ARGUMENT_TENSOR_MAP: return pack_tensor_map(launch, argument, out, error);
    case FTH_ARGUMENT_TEXTURE: return pack_texture(launch, argument, out, error);
    case FTH_ARGUMENT_STRUCT:
        for (size_t i = 0; i < argument->count; i++) {
            const struct layout member = layout_of(&argument->members[i]);
            offset = align(offset, member.alignment);
            FTH_TRY(fth_argument_pack(launch, &argument->members[i], member.bytes, out + offset,
                                      error));
            offset += member.bytes;
        }
        break;
    }
    return FTH_OK;
}

/* ---- texts ---- */

/* Parses the hexadecimal digits of "bytes:00ff10", which follow the colon. */
static enum fth_status parse_bytes(struct fth_launch *launch, const char *text, const char *digits,
                                   struct fth_launch_argument *argument, struct fth_error *error)
{
    const size_t count = strlen(digits) / 2;
    if (count == 0 || strspn(digits, "0123456789abcdefABCDEF") != count * 2 || digits[count * 2])
        return fth_fail(error, FTH_INVALID, operation, text,
                        "expected two hexadecimal digits per byte, such as bytes:00ff10");
    uint8_t *bytes = fth_arena_alloc(&launch->arena, count);
    if (!bytes)
        return fth_no_memory(error, operation, text);
    for (size_t i = 0; i < count; i++) {
        const char pair[] = {digits[2 * i], digits[2 * i + 1], '\0'};
        bytes[i] = (uint8_t)strtoul(pair, NULL, 16);
    }
    argument->kind = FTH_ARGUMENT_BYTES;
    argument->bytes = bytes;
    argument->count = count;
    return FTH_OK;
}

/* Parses a number such as "i32:N". */
static enum fth_status parse_number(const struct fth_launch *launch, const char *text,
                                    struct fth_launch_argument *argument, struct fth_error *error)
{
    size_t size = strcspn(text, ":[");
    argument->kind = FTH_ARGUMENT_NUMBER;
    argument->element = fth_scalar_type_find(text, size);
    if (!argument->element)
        return fth_fail(error, FTH_INVALID, operation, text,
                        "unknown type or buffer; expected i32:5, f32:1.5, null, bytes:00ff, "
                        "ptr:f32[1024]=random (command line) or the name of a buffer (launch "
                        "file)");
    const char *number = text + size + 1;
    double value = 0;
    if (text[size] == ':' && fth_scalar_parse(argument->element, number, &argument->bits))
        return FTH_OK;
    struct fth_error why = FTH_NO_ERROR;
    if (text[size] == ':' && fth_launch_evaluate(launch, number, &value, &why) == FTH_OK &&
        fth_scalar_from_double(argument->element, value, &argument->bits))
        return FTH_OK;
    if (why.status == FTH_NO_MEMORY)
        return fth_error_move(error, &why);
    return fth_fail(error, FTH_INVALID, operation, text,
                    "the value is not a number of type %s or is out of range",
                    argument->element->name);
}

/* Parses an argument that is not a buffer. */
static enum fth_status parse_value(struct fth_launch *launch, const char *text,
                                   struct fth_launch_argument *argument, struct fth_error *error)
{
    if (strncmp(text, "bytes:", 6) == 0)
        return parse_bytes(launch, text, text + 6, argument, error);
    return parse_number(launch, strcmp(text, "null") == 0 ? "u64:0" : text, argument, error);
}

/* Finds the buffer whose name is the first `size` characters of `text`. */
static bool find_buffer(const struct fth_launch *launch, const char *text, size_t size,
                        size_t *index)
{
    for (*index = 0; *index < launch->buffer_count; (*index)++) {
        const char *name = launch->buffers[*index].name;
        if (name && strlen(name) == size && strncmp(name, text, size) == 0)
            return true;
    }
    return false;
}

enum fth_status fth_launch_parse_argument(struct fth_launch *launch, const char *text,
                                          struct fth_launch_argument *argument,
                                          struct fth_error *error)
{
    *argument = (struct fth_launch_argument){.kind = FTH_ARGUMENT_ADDRESS};
    size_t size = strcspn(text, "+:");
    while (size > 0 && isspace((unsigned char)text[size - 1]))
        size--;
    if (!find_buffer(launch, text, size, &argument->buffer))
        return parse_value(launch, text, argument, error);
    const char *plus = strchr(text, '+');
    double offset = 0;
    FTH_TRY(plus ? fth_launch_evaluate(launch, plus + 1, &offset, error) : FTH_OK);
    if (!(offset >= 0) || offset != floor(offset) ||
        offset > (double)launch->buffers[argument->buffer].count)
        return fth_fail(
            error, FTH_INVALID, operation, text,
            "the offset must be an integer from 0 to the number of elements of the buffer");
    argument->offset = (uint64_t)offset;
    return FTH_OK;
}

enum fth_status fth_launch_argument(struct fth_launch *launch, const char *text,
                                    struct fth_error *error)
{
    struct fth_launch_argument argument = {.kind = FTH_ARGUMENT_ADDRESS};
    struct fth_launch_step *step = &launch->steps[0];
    FTH_TRY(fth_launch_grow((void **)&launch->arguments, launch->argument_count,
                            &launch->argument_capacity, sizeof *launch->arguments, error));
    step->arguments = launch->arguments; /* which may have moved */
    if (strncmp(text, "ptr:", 4) == 0 && fth_scalar_type_find(text + 4, strcspn(text + 4, "["))) {
        FTH_TRY(fth_launch_add_buffer(launch, NULL, text, error));
        argument.buffer = launch->buffer_count - 1;
        launch->buffers[argument.buffer].number = launch->argument_count + 1;
    } else {
        FTH_TRY(parse_value(launch, text, &argument, error));
    }
    launch->arguments[launch->argument_count++] = argument;
    step->argument_count = launch->argument_count;
    return FTH_OK;
}
