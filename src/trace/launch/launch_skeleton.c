/* Writes a launch file for kernels whose arguments are not known, which a user then edits. The PTX
 * file states the sizes of the parameters. The mangled name of a C++ kernel also states their
 * types, and thus which of them are pointers and what these point to. For a kernel in C, a
 * parameter of 64 bits is taken as a pointer to floats. The members of a struct are those that the
 * kernel loads; the bytes between them are zeros. */
#include "trace/launch/launch.h"

#include <stdio.h>
#include <string.h>

/* Number of elements of the buffers, and threads per block, in the skeleton. Chosen. */
enum { DEFAULT_SIZE = 1024, DEFAULT_THREADS = 256 };

/* What the launch file has for a parameter: a buffer, or a text as the argument. */
struct slot {
    bool is_buffer;
    char text[64];     /* of the buffer, or of the argument unless it is a struct */
    size_t zero_bytes; /* of a struct; 0: it is not one */
};

/* Returns the length of the text without `end`, if it ends with it. */
static size_t without(const char *text, size_t size, const char *end, bool *found)
{
    const size_t end_size = strlen(end);
    *found = size >= end_size && memcmp(text + size - end_size, end, end_size) == 0;
    return *found ? size - end_size : size;
}

/* Describes the buffer of a pointer or reference by its C++ type, such as "float const*". False: it
 * is neither. */
static bool describe_pointer(const char *type, struct slot *slot)
{
    const char *rows = strstr(type, " (*) [");
    const char *array = rows ? rows : strstr(type, " (&) [");
    size_t size = array ? (size_t)(array - type) : strlen(type);
    bool found = array != NULL, is_const, is_volatile;
    if (!array)
        size = without(type, size, "*", &found);
    if (!found)
        size = without(type, size, "&", &found);
    if (!found)
        return false;
    size = without(type, size, " volatile", &is_volatile);
    size = without(type, size, " const", &is_const);
    unsigned lanes;
    const struct fth_scalar_type *known = fth_scalar_type_of_cpp(type, size, &lanes);
    /* What a kernel only reads has values; integers could be indices, so that they stay 0. */
    const char *contents = is_const && known && fth_scalar_is_float(known) ? "=random" : "";
    slot->is_buffer = true;
    if (array)
        snprintf(slot->text, sizeof slot->text, "%s[N*N]%s", known ? known->name : "u8", contents);
    else if (!known) /* a struct of unknown size, or void: 64 bytes per element */
        snprintf(slot->text, sizeof slot->text, "u8[64*N]");
    else if (lanes > 1)
        snprintf(slot->text, sizeof slot->text, "%s[%u*N]%s", known->name, lanes, contents);
    else
        snprintf(slot->text, sizeof slot->text, "%s[N]%s", known->name, contents);
    return true;
}

/* Describes the argument for a parameter that is a number of this type of launch files. */
static void describe_number(const char *element, size_t bytes, struct slot *slot)
{
    const bool is_size = (*element == 'u' || *element == 's') && bytes >= 4;
    snprintf(slot->text, sizeof slot->text, "%s:%s", element, is_size ? "N" : "1");
}

static void describe(const struct fth_ptx_kernel *kernel, size_t index, struct slot *slot)
{
    const struct fth_ptx_parameter *parameter = &kernel->parameters[index];
    char type[FTH_NAME_BYTES], element[8];
    const bool has_type = fth_demangle_parameter_type(kernel->name, index, type, sizeof type);
    unsigned lanes = 0;
    const struct fth_scalar_type *known =
        has_type ? fth_scalar_type_of_cpp(type, strlen(type), &lanes) : NULL;
    *slot = (struct slot){0};
    if (has_type && describe_pointer(type, slot))
        return;
    if (known && lanes == 1) {
        describe_number(known->name, parameter->bytes, slot);
        return;
    }
    if (strcmp(parameter->type, "b8") == 0) {
        slot->zero_bytes = parameter->bytes;
        return;
    }
    if (!has_type && parameter->bytes == sizeof(uint64_t) && *parameter->type != 'f') {
        slot->is_buffer = true;
        snprintf(slot->text, sizeof slot->text, "f32[N]");
        return;
    }
    /* Untyped bits, such as b32, are an unsigned integer. */
    snprintf(element, sizeof element, "%s", parameter->type);
    if (*element == 'b' && element[1] != 'f')
        *element = 'u';
    if (has_type) /* an enumeration, or a pointer to a function or member */
        snprintf(slot->text, sizeof slot->text, "%s:0", element);
    else
        describe_number(element, parameter->bytes, slot);
}

/* ---- structs ---- */

/* Maximum number of members of all structs of a kernel that are found; further ones become zeros.
 * Chosen, not derived. */
enum { MAX_MEMBERS = 256 };

/* Finds the members of a struct. Their offsets are from its start. A load that overlaps the one
 * before it is left out. */
static size_t find_members(const struct fth_launch *launch, size_t step, size_t index,
                           struct fth_ptx_argument_load members[MAX_MEMBERS])
{
    const struct fth_ptx_kernel *kernel = launch->steps[step].kernel;
    const struct fth_ptx_parameter *parameter = &kernel->parameters[index];
    const size_t found = fth_ptx_argument_loads(launch->module, kernel, members, MAX_MEMBERS);
    size_t count = 0, end = parameter->offset;
    for (size_t i = 0; i < found; i++) {
        struct fth_ptx_argument_load member = members[i];
        if (member.bytes > sizeof(uint64_t) || member.offset < end ||
            member.offset % member.bytes != 0 ||
            member.offset + member.bytes > parameter->offset + parameter->bytes)
            continue;
        end = member.offset + member.bytes;
        member.offset -= parameter->offset;
        members[count++] = member;
    }
    return count;
}

/* Writes the name of the buffer of a parameter. */
static void name_buffer(const struct fth_launch *launch, size_t step, size_t parameter,
                        char name[64])
{
    if (launch->step_count == 1)
        snprintf(name, 64, "arg%zu", parameter + 1);
    else
        snprintf(name, 64, "launch%zu_arg%zu", step + 1, parameter + 1);
}

/* Writes the name of the buffer of a member, from that of its struct. */
static void name_member(const char *parent, size_t offset, char name[96])
{
    snprintf(name, 96, "%s_at%zu", parent, offset);
}

/* Writes the buffers of the members of a struct that are pointers. */
static void write_member_buffers(const struct fth_launch *launch, size_t step, size_t index,
                                 const char *parent, struct fth_json_writer *json)
{
    struct fth_ptx_argument_load members[MAX_MEMBERS];
    const size_t count = find_members(launch, step, index, members);
    for (size_t i = 0; i < count; i++) {
        char name[96];
        if (!members[i].is_pointer)
            continue;
        name_member(parent, members[i].offset, name);
        fth_json_key(json, name);
        fth_json_text(json, "f32[N]");
    }
}

static void write_buffers(const struct fth_launch *launch, struct fth_json_writer *json)
{
    char name[64];
    struct slot slot;
    fth_json_key(json, "buffers");
    fth_json_begin(json, '{', false);
    for (size_t i = 0; i < launch->step_count; i++) {
        const struct fth_ptx_kernel *kernel = launch->steps[i].kernel;
        for (size_t k = 0; k < kernel->parameter_count; k++) {
            describe(kernel, k, &slot);
            name_buffer(launch, i, k, name);
            if (slot.zero_bytes)
                write_member_buffers(launch, i, k, name, json);
            if (!slot.is_buffer)
                continue;
            fth_json_key(json, name);
            fth_json_text(json, slot.text);
        }
    }
    fth_json_end(json, '}');
}

/* Writes "bytes:" and zeros in hexadecimal. */
static void write_zeros(struct fth_json_writer *json, size_t bytes)
{
    struct fth_buffer text = {0};
    fth_buffer_text(&text, "bytes:");
    fth_buffer_repeat(&text, "00", bytes);
    fth_json_text(json, text.data ? text.data : "");
    json->out->failed = json->out->failed || text.failed;
    fth_buffer_fini(&text);
}

/* Writes a struct as the list of its members, or as zeros if none is known. */
static void write_struct(const struct fth_launch *launch, size_t step, size_t index,
                         const char *parent, struct fth_json_writer *json)
{
    struct fth_ptx_argument_load members[MAX_MEMBERS];
    const size_t count = find_members(launch, step, index, members);
    const size_t bytes = launch->steps[step].kernel->parameters[index].bytes;
    size_t end = 0;
    if (count == 0) {
        write_zeros(json, bytes);
        return;
    }
    fth_json_begin(json, '[', true);
    for (size_t i = 0; i < count; i++) {
        const struct fth_ptx_argument_load *member = &members[i];
        char text[96], element[8];
        struct slot slot = {0};
        if (member->offset > end)
            write_zeros(json, member->offset - end);
        end = member->offset + member->bytes;
        snprintf(element, sizeof element, "%s", member->type);
        if (*element == 'b' && element[1] != 'f')
            *element = 'u'; /* untyped bits */
        describe_number(element, member->bytes, &slot);
        name_member(parent, member->offset, text);
        fth_json_text(json, member->is_pointer ? text : slot.text);
    }
    if (bytes > end)
        write_zeros(json, bytes - end);
    fth_json_end(json, ']');
}

static void write_arguments(const struct fth_launch *launch, size_t step,
                            struct fth_json_writer *json)
{
    const struct fth_ptx_kernel *kernel = launch->steps[step].kernel;
    char name[64];
    struct slot slot;
    fth_json_key(json, "args");
    fth_json_begin(json, '[', true);
    for (size_t i = 0; i < kernel->parameter_count; i++) {
        describe(kernel, i, &slot);
        name_buffer(launch, step, i, name);
        if (slot.zero_bytes)
            write_struct(launch, step, i, name, json);
        else
            fth_json_text(json, slot.is_buffer ? name : slot.text);
    }
    fth_json_end(json, ']');
}

/* Writes up to three dimensions, without those at the end that are 1. */
static void write_dimensions(struct fth_json_writer *json, const char *key,
                             const uint32_t dimensions[3])
{
    size_t count = 3;
    while (count > 1 && dimensions[count - 1] <= 1)
        count--;
    fth_json_key(json, key);
    fth_json_begin(json, '[', true);
    for (size_t i = 0; i < count; i++)
        fth_json_number(json, dimensions[i]);
    fth_json_end(json, ']');
}

/* Writes the grid and the block: what the kernel requires, what the options state, or enough blocks
 * for N threads. */
static void write_shape(const struct fth_launch *launch, const struct fth_ptx_kernel *kernel,
                        struct fth_json_writer *json)
{
    const uint32_t *max = kernel->max_block;
    const struct fth_launch_step *first = &launch->steps[0];
    const uint64_t max_threads = (uint64_t)max[0] * (max[1] ? max[1] : 1) * (max[2] ? max[2] : 1);
    uint32_t block[3] = {DEFAULT_THREADS, 1, 1};
    if (kernel->required_block[0])
        memcpy(block, kernel->required_block, sizeof block);
    else if (launch->has_shape)
        memcpy(block, first->block, sizeof block);
    else if (max[0] && max_threads < DEFAULT_THREADS)
        memcpy(block, max, sizeof block);
    if (launch->has_shape || kernel->required_cluster[0]) {
        write_dimensions(json, "grid", launch->has_shape ? first->grid : kernel->required_cluster);
    } else {
        char blocks[40];
        snprintf(blocks, sizeof blocks, "ceil(N/%u)", block[0]);
        fth_json_key(json, "grid");
        fth_json_begin(json, '[', true);
        fth_json_text(json, blocks);
        fth_json_end(json, ']');
    }
    write_dimensions(json, "block", block);
}

/* Writes a launch of a kernel, by its C++ name unless other kernels have the same. */
static void write_launch(const struct fth_launch *launch, size_t step, struct fth_json_writer *json)
{
    const struct fth_ptx_kernel *kernel = launch->steps[step].kernel, *found;
    const bool is_unique =
        fth_launch_find_kernel(launch, kernel->display_name, &found, NULL) == FTH_OK &&
        found == kernel;
    fth_json_begin(json, '{', true);
    fth_json_key(json, "kernel");
    fth_json_text(json, is_unique ? kernel->display_name : kernel->name);
    write_shape(launch, kernel, json);
    if (launch->steps[0].shared_bytes) {
        fth_json_key(json, "shared");
        fth_json_number(json, (double)launch->steps[0].shared_bytes);
    }
    write_arguments(launch, step, json);
    fth_json_end(json, '}');
}

bool fth_launch_is_incomplete(const struct fth_launch *launch)
{
    return launch->ptx_path == launch->path && launch->argument_count == 0 &&
           (launch->step_count > 1 || launch->steps[0].kernel->parameter_count > 0);
}

enum fth_status fth_launch_skeleton(const struct fth_launch *launch, char **text, size_t *size,
                                    struct fth_error *error)
{
    struct fth_buffer out = {0};
    struct fth_json_writer json = {.out = &out};
    *text = NULL;
    *size = 0;
    fth_json_begin(&json, '{', false);
    fth_json_key(&json, "schema");
    fth_json_text(&json, "fathom-launch/1");
    fth_json_key(&json, "ptx");
    fth_json_text(&json, strcmp(launch->path, "-") == 0 ? "kernel.ptx" : launch->path);
    fth_json_key(&json, "sizes");
    fth_json_begin(&json, '{', true);
    fth_json_key(&json, "N");
    fth_json_number(&json, DEFAULT_SIZE);
    fth_json_end(&json, '}');
    write_buffers(launch, &json);
    fth_json_key(&json, "launches");
    fth_json_begin(&json, '[', false);
    for (size_t i = 0; i < launch->step_count; i++)
        write_launch(launch, i, &json);
    fth_json_end(&json, ']');
    fth_json_end(&json, '}');
    if (out.failed) {
        fth_buffer_fini(&out);
        return fth_no_memory(error, "write launch file", launch->path);
    }
    *text = out.data;
    *size = out.size;
    return FTH_OK;
}
