/* The arguments of kernels: their texts, their places in the parameters of a kernel, and their
 * values.
 *
 *   i32:4096  f32:1.5  u64:0x10          a number of the type
 *   null                                 a null pointer
 *   bytes:00ff10                         bytes, in hexadecimal, for a struct
 *   4096  1.5                            a number of the type of the parameter
 *   {i32:1,{f32:2,null}}                 a struct with its members
 *   ptr:f32[1024]                        a new buffer (command line)
 *   a  a+N*2                             the address of a buffer or of one of its elements (launch
 *                                        files)
 *
 * Launch files also have tensor maps, textures and surfaces, which are not texts, and structs as
 * lists.
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
                        "{i32:1,f32:2} (a struct), ptr:f32[1024]=random (command line) or the "
                        "name of a buffer (launch file)");
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

/* Where an argument is: in the parameters of a kernel, or in a struct. */
struct place {
    const struct fth_ptx_kernel *kernel; /* NULL: a member of a struct */
    size_t index;                        /* of the parameter */
    bool makes_buffers;                  /* "ptr:" makes a buffer: on the command line */
    unsigned depth;                      /* number of structs around it */
    size_t *parts; /* number of buffers so far in the structs of this argument */
};

/* Returns whether a text is a value of floating-point types that no expression can have. */
static bool is_not_finite(const char *text)
{
    const char *magnitude = *text == '-' ? text + 1 : text;
    return strcmp(magnitude, "inf") == 0 || strcmp(magnitude, "nan") == 0;
}

/* Parses a number that does not state its type. *is_number is false if the text is no number. */
static enum fth_status parse_plain(struct fth_launch *launch, const struct place *place,
                                   const char *text, struct fth_launch_argument *argument,
                                   bool *is_number, struct fth_error *error)
{
    struct fth_error why = FTH_NO_ERROR;
    char reason[256];
    double value = NAN;
    *is_number = is_not_finite(text) || fth_launch_evaluate(launch, text, &value, &why) == FTH_OK;
    if (!*is_number)
        return why.status == FTH_NO_MEMORY ? fth_error_move(error, &why) : FTH_OK;
    if (!place->kernel)
        return fth_fail(error, FTH_INVALID, operation, text,
                        "the types of the members of a struct are not known; write the type before "
                        "the number, such as i32:5 or f32:1.5");
    argument->kind = FTH_ARGUMENT_NUMBER;
    argument->element =
        fth_kernel_number_type(launch, place->kernel, place->index, reason, sizeof reason);
    if (!argument->element)
        return fth_fail(error, FTH_INVALID, operation, text, "%s", reason);
    if (fth_scalar_parse(argument->element, text, &argument->bits) ||
        fth_scalar_from_double(argument->element, value, &argument->bits))
        return FTH_OK;
    return fth_fail(error, FTH_INVALID, operation, text,
                    "argument %zu is an integer of %u bits (%s); the value is not an integer or is "
                    "out of range",
                    place->index + 1, 8 * argument->element->bytes, argument->element->name);
}

/* Parses an argument that is not a buffer. */
static enum fth_status parse_value(struct fth_launch *launch, const struct place *place,
                                   const char *text, struct fth_launch_argument *argument,
                                   struct fth_error *error)
{
    bool is_number = false;
    if (strncmp(text, "bytes:", 6) == 0)
        return parse_bytes(launch, text, text + 6, argument, error);
    if (!strchr(text, ':') && strcmp(text, "null") != 0)
        FTH_TRY(parse_plain(launch, place, text, argument, &is_number, error));
    return is_number
               ? FTH_OK
               : parse_number(launch, strcmp(text, "null") == 0 ? "u64:0" : text, argument, error);
}

/* Finds the buffer whose name is the first `size` characters of `text`. */
static bool find_buffer(const struct fth_launch *launch, const char *text, size_t size,
                        size_t *index)
{
    for (*index = 0; *index < launch->buffer_count; (*index)++) {
        const struct fth_launch_buffer *buffer = &launch->buffers[*index];
        if (buffer->name && !buffer->symbol && strlen(buffer->name) == size &&
            strncmp(buffer->name, text, size) == 0)
            return true;
    }
    return false;
}

/* Parses the address of a buffer or of one of its elements. *is_buffer is false if the text does
 * not begin with the name of a buffer. */
static enum fth_status parse_address(struct fth_launch *launch, const char *text,
                                     struct fth_launch_argument *argument, bool *is_buffer,
                                     struct fth_error *error)
{
    size_t size = strcspn(text, "+:");
    while (size > 0 && isspace((unsigned char)text[size - 1]))
        size--;
    *is_buffer = find_buffer(launch, text, size, &argument->buffer);
    if (!*is_buffer)
        return FTH_OK;
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

/* Makes the buffer that "ptr:…" describes. In a struct, which can have several, its name consists
 * of the number of the argument and its number in the struct. */
static enum fth_status make_buffer(struct fth_launch *launch, const struct place *place,
                                   const char *text, struct fth_launch_argument *argument,
                                   struct fth_error *error)
{
    FTH_TRY(fth_launch_add_buffer(launch, NULL, text, error));
    argument->buffer = launch->buffer_count - 1;
    struct fth_launch_buffer *buffer = &launch->buffers[argument->buffer];
    if (place->depth == 0) {
        buffer->number = place->index + 1;
        return FTH_OK;
    }
    char name[64];
    snprintf(name, sizeof name, "argument-%zu.%zu", place->index + 1, ++*place->parts);
    buffer->name = fth_arena_text(&launch->arena, name);
    return buffer->name ? FTH_OK : fth_no_memory(error, operation, text);
}

static enum fth_status parse_argument(struct fth_launch *launch, const struct place *place,
                                      const char *text, struct fth_launch_argument *argument,
                                      struct fth_error *error);

/* Returns the length of the next member of a struct: up to a comma or brace that is not in
 * brackets, parentheses or braces itself. */
static size_t member_size(const char *text)
{
    size_t size = 0, depth = 0;
    for (; text[size]; size++) {
        if (depth == 0 && (text[size] == ',' || text[size] == '}'))
            break;
        if (strchr("([{", text[size]))
            depth++;
        else if (strchr(")]}", text[size]) && depth > 0)
            depth--;
    }
    return size;
}

/* Copies the member of this size, without the blanks around it. NULL: memory is exhausted. */
static char *copy_member(struct fth_launch *launch, const char *text, size_t size)
{
    while (size > 0 && isspace((unsigned char)*text)) {
        text++;
        size--;
    }
    while (size > 0 && isspace((unsigned char)text[size - 1]))
        size--;
    char *copy = fth_arena_alloc(&launch->arena, size + 1);
    if (copy) {
        memcpy(copy, text, size);
        copy[size] = '\0';
    }
    return copy;
}

/* Parses "{MEMBER,MEMBER,…}". */
static enum fth_status parse_struct(struct fth_launch *launch, const struct place *place,
                                    const char *text, struct fth_launch_argument *argument,
                                    struct fth_error *error)
{
    struct place inner = *place;
    size_t capacity = 1, parts = 0;
    if (place->depth == FTH_MAX_STRUCT_DEPTH)
        return fth_fail(error, FTH_INVALID, operation, text, "structs can be nested %d deep",
                        FTH_MAX_STRUCT_DEPTH);
    inner.kernel = NULL;
    inner.depth++;
    inner.parts = place->parts ? place->parts : &parts;
    for (const char *at = text; *at; at++)
        capacity += *at == ',';
    struct fth_launch_argument *members =
        fth_arena_array(&launch->arena, capacity, sizeof *members);
    if (!members)
        return fth_no_memory(error, operation, text);
    size_t count = 0;
    const char *at = text;
    do {
        const size_t size = member_size(++at);
        char *member = copy_member(launch, at, size);
        if (!member)
            return fth_no_memory(error, operation, text);
        at += size;
        if (*member == '\0' || *at == '\0' || (*at == '}' && at[1]))
            return fth_fail(
                error, FTH_INVALID, operation, text,
                "expected a struct such as {i32:1,f32:2}: members, separated by commas, "
                "in braces");
        FTH_TRY(parse_argument(launch, &inner, member, &members[count++], error));
    } while (*at == ',');
    *argument = (struct fth_launch_argument){
        .kind = FTH_ARGUMENT_STRUCT, .members = members, .count = count};
    return FTH_OK;
}

static enum fth_status parse_argument(struct fth_launch *launch, const struct place *place,
                                      const char *text, struct fth_launch_argument *argument,
                                      struct fth_error *error)
{
    bool is_buffer = false;
    *argument = (struct fth_launch_argument){.kind = FTH_ARGUMENT_ADDRESS};
    if (*text == '{')
        return parse_struct(launch, place, text, argument, error);
    if (place->makes_buffers && strncmp(text, "ptr:", 4) == 0 &&
        fth_scalar_type_find(text + 4, strcspn(text + 4, "[")))
        return make_buffer(launch, place, text, argument, error);
    if (!place->makes_buffers)
        FTH_TRY(parse_address(launch, text, argument, &is_buffer, error));
    return is_buffer ? FTH_OK : parse_value(launch, place, text, argument, error);
}

enum fth_status fth_launch_parse_argument(struct fth_launch *launch,
                                          const struct fth_ptx_kernel *kernel, size_t index,
                                          const char *text, struct fth_launch_argument *argument,
                                          struct fth_error *error)
{
    return parse_argument(launch, &(struct place){.kernel = kernel, .index = index}, text, argument,
                          error);
}

enum fth_status fth_launch_argument(struct fth_launch *launch, const char *text,
                                    struct fth_error *error)
{
    struct fth_launch_argument argument;
    struct fth_launch_step *step = &launch->steps[0];
    FTH_TRY(fth_launch_grow((void **)&launch->arguments, launch->argument_count,
                            &launch->argument_capacity, sizeof *launch->arguments, error));
    step->arguments = launch->arguments; /* which may have moved */
    const struct place place = {
        .kernel = step->kernel, .index = launch->argument_count, .makes_buffers = true};
    FTH_TRY(parse_argument(launch, &place, text, &argument, error));
    launch->arguments[launch->argument_count++] = argument;
    step->argument_count = launch->argument_count;
    return FTH_OK;
}
