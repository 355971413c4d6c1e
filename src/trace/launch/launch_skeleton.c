/* Writes a launch file for kernels whose arguments are not known, which a user then edits. The PTX
 * file states the sizes of the parameters. The mangled name of a C++ kernel also states their
 * types, and thus which of them are pointers and what these point to. For a kernel in C, a
 * parameter of 64 bits is taken as a pointer to floats. The members of a struct are those of the
 * debug information (nvcc -G) or, without it, those that the kernel loads; the bytes between them
 * are zeros. Variables in constant memory that the PTX file does not initialise are listed too. */
#include "trace/launch/launch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Number of elements of the buffers, and threads per block, in the skeleton. Chosen. */
enum { DEFAULT_SIZE = 1024, DEFAULT_THREADS = 256 };
/* Maximum length of the dimensions of an array, so that they fit struct slot. */
enum { MAX_SIZES_BYTES = 30 };

/* What is written: the launches of `launch`, with `debug` (NULL: none) as debug information. */
struct skeleton {
    const struct fth_launch *launch;
    struct fth_ptx_debug *debug;
    struct fth_json_writer *json;
};

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
    /* The dimensions of an array: of the rows, for a pointer to rows. */
    const char *sizes = array ? strchr(array, '[') : "";
    char vector[16] = "";
    if (strlen(sizes) > MAX_SIZES_BYTES || strstr(sizes, "[]"))
        known = NULL;
    if (lanes > 1)
        snprintf(vector, sizeof vector, "[%u]", lanes);
    slot->is_buffer = true;
    if (!known) /* a struct of unknown size, or void: 64 bytes per element */
        snprintf(slot->text, sizeof slot->text, "u8[N][64]");
    else
        snprintf(slot->text, sizeof slot->text, "%s%s%s%s%s", known->name,
                 array && !rows ? "" : "[N]", sizes, vector, contents);
    return true;
}

/* Describes the argument for a parameter that is a number of this type of launch files. */
static void describe_number(const char *element, size_t bytes, struct slot *slot)
{
    const bool is_size = (*element == 'u' || *element == 's') && bytes >= 4;
    snprintf(slot->text, sizeof slot->text, "%s:%s", element, is_size ? "N" : "1");
}

/* Finds the C++ type of a parameter: in the name of the kernel or, for a number or a pointer, in
 * the debug information. */
static bool find_type(const struct skeleton *skeleton, const struct fth_ptx_kernel *kernel,
                      size_t index, char type[FTH_NAME_BYTES])
{
    struct fth_ptx_debug_member member;
    bool is_const;
    if (fth_demangle_parameter_type(kernel->name, index, type, FTH_NAME_BYTES))
        return true;
    if (!skeleton->debug ||
        fth_ptx_debug_members(skeleton->debug, kernel->name, index, &member, 1) != 1 ||
        member.bytes != kernel->parameters[index].bytes)
        return false;
    snprintf(type, FTH_NAME_BYTES, "%s", member.type);
    type[without(type, strlen(type), " const", &is_const)] = '\0';
    return true;
}

static void describe(const struct skeleton *skeleton, const struct fth_ptx_kernel *kernel,
                     size_t index, struct slot *slot)
{
    const struct fth_ptx_parameter *parameter = &kernel->parameters[index];
    char type[FTH_NAME_BYTES], element[8];
    const bool has_type = find_type(skeleton, kernel, index, type);
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

/* Maximum number of members of a struct that are found; further ones become zeros. An array has at
 * most MAX_ELEMENTS; a larger one becomes zeros. Chosen, not derived. */
enum { MAX_MEMBERS = 256, MAX_ELEMENTS = 16 };

/* A member of a struct. */
struct member {
    size_t offset, bytes; /* from the start of the struct */
    size_t count;         /* of numbers in an array; otherwise 1 */
    char element[8];      /* its type in launch files */
    bool is_pointer;
    char buffer[64]; /* of a pointer: the contents of its buffer */
    char name[96];   /* and the name of its buffer */
};

/* Writes the name of the buffer of a parameter. */
static void name_buffer(const struct fth_launch *launch, size_t step, size_t parameter,
                        char name[64])
{
    if (launch->step_count == 1)
        snprintf(name, 64, "arg%zu", parameter + 1);
    else
        snprintf(name, 64, "launch%zu_arg%zu", step + 1, parameter + 1);
}

/* Finds the members of a struct that the kernel loads. A load that overlaps the one before it is
 * left out. */
static size_t find_loads(const struct fth_launch *launch, size_t step, size_t index,
                         const char *parent, struct member members[MAX_MEMBERS])
{
    const struct fth_ptx_kernel *kernel = launch->steps[step].kernel;
    const struct fth_ptx_parameter *parameter = &kernel->parameters[index];
    struct fth_ptx_argument_load loads[MAX_MEMBERS];
    const size_t found = fth_ptx_argument_loads(launch->module, kernel, loads, MAX_MEMBERS);
    size_t count = 0, end = parameter->offset;
    for (size_t i = 0; i < found; i++) {
        const struct fth_ptx_argument_load *load = &loads[i];
        if (load->bytes > sizeof(uint64_t) || load->offset < end ||
            load->offset % load->bytes != 0 ||
            load->offset + load->bytes > parameter->offset + parameter->bytes)
            continue;
        end = load->offset + load->bytes;
        struct member *member = &members[count++];
        *member = (struct member){.offset = load->offset - parameter->offset,
                                  .bytes = load->bytes,
                                  .count = 1,
                                  .is_pointer = load->is_pointer,
                                  .buffer = "f32[N]"};
        snprintf(member->element, sizeof member->element, "%s", load->type);
        if (*member->element == 'b' && member->element[1] != 'f')
            *member->element = 'u'; /* untyped bits */
        snprintf(member->name, sizeof member->name, "%s_at%zu", parent, member->offset);
    }
    return count;
}

/* Finds the members of a struct in the debug information. Members that overlap the one before, such
 * as those of a union, are left out. */
static size_t find_debug(const struct skeleton *skeleton, size_t step, size_t index,
                         const char *parent, struct member members[MAX_MEMBERS])
{
    const struct fth_ptx_kernel *kernel = skeleton->launch->steps[step].kernel;
    const struct fth_ptx_parameter *parameter = &kernel->parameters[index];
    struct fth_ptx_debug_member *found = calloc(MAX_MEMBERS, sizeof *found);
    skeleton->json->out->failed = skeleton->json->out->failed || !found;
    const size_t all =
        found ? fth_ptx_debug_members(skeleton->debug, kernel->name, index, found, MAX_MEMBERS) : 0;
    size_t count = 0, end = 0;
    for (size_t i = 0; i < all; i++) {
        const struct fth_ptx_debug_member *from = &found[i];
        struct slot slot = {0};
        if (from->offset < end || from->count > MAX_ELEMENTS ||
            from->offset + from->bytes * from->count > parameter->bytes ||
            (!from->is_pointer && !*from->element))
            continue;
        end = from->offset + from->bytes * from->count;
        struct member *member = &members[count++];
        *member = (struct member){.offset = from->offset,
                                  .bytes = from->bytes,
                                  .count = from->count,
                                  .is_pointer = from->is_pointer,
                                  .buffer = "u8[N][64]"};
        snprintf(member->element, sizeof member->element, "%s", from->element);
        if (from->is_pointer && describe_pointer(from->type, &slot))
            snprintf(member->buffer, sizeof member->buffer, "%s", slot.text);
        snprintf(member->name, sizeof member->name, "%s_at%zu", parent, member->offset);
    }
    free(found);
    return count;
}

/* Finds the members of a struct: those of the debug information or, without it, those that the
 * kernel loads. `parent` is the name of the buffer of the parameter. */
static size_t find_members(const struct skeleton *skeleton, size_t step, size_t index,
                           const char *parent, struct member members[MAX_MEMBERS])
{
    const size_t count = skeleton->debug ? find_debug(skeleton, step, index, parent, members) : 0;
    return count ? count : find_loads(skeleton->launch, step, index, parent, members);
}

/* Writes the buffers of the members of a struct that are pointers. */
static void write_member_buffers(const struct skeleton *skeleton, size_t step, size_t index,
                                 const char *parent)
{
    struct member members[MAX_MEMBERS];
    const size_t count = find_members(skeleton, step, index, parent, members);
    for (size_t i = 0; i < count; i++) {
        if (!members[i].is_pointer)
            continue;
        fth_json_key(skeleton->json, members[i].name);
        fth_json_text(skeleton->json, members[i].buffer);
    }
}

static void write_buffers(const struct skeleton *skeleton)
{
    const struct fth_launch *launch = skeleton->launch;
    struct fth_json_writer *json = skeleton->json;
    char name[64];
    struct slot slot;
    fth_json_key(json, "buffers");
    fth_json_begin(json, '{', false);
    for (size_t i = 0; i < launch->step_count; i++) {
        const struct fth_ptx_kernel *kernel = launch->steps[i].kernel;
        for (size_t k = 0; k < kernel->parameter_count; k++) {
            describe(skeleton, kernel, k, &slot);
            name_buffer(launch, i, k, name);
            if (slot.zero_bytes)
                write_member_buffers(skeleton, i, k, name);
            if (!slot.is_buffer)
                continue;
            fth_json_key(json, name);
            fth_json_text(json, slot.text);
        }
    }
    fth_json_end(json, '}');
}

/* Writes the variables in constant memory whose contents the module does not state: a program sets
 * them before it launches a kernel. Compilers declare arrays as bytes. */
static void write_variables(const struct skeleton *skeleton)
{
    struct fth_json_writer *json = skeleton->json;
    struct fth_ptx_variable_facts facts;
    bool begun = false;
    for (size_t i = 0; fth_ptx_variable_at(skeleton->launch->module, i, &facts); i++) {
        char text[64];
        const bool is_untyped = facts.type[0] == 'b' && facts.type[1] != 'f';
        const struct fth_scalar_type *element =
            fth_scalar_type_find(facts.type, strlen(facts.type));
        if (!facts.is_constant || facts.has_data || facts.bytes == 0 || !element)
            continue;
        if (!begun) {
            fth_json_key(json, "variables");
            fth_json_begin(json, '{', false);
        }
        begun = true;
        snprintf(text, sizeof text, "%s[%llu]=zero", element->name,
                 (unsigned long long)(facts.bytes / element->bytes));
        if (!is_untyped && facts.bytes == element->bytes)
            snprintf(text, sizeof text, "%s:1", element->name);
        fth_json_key(json, facts.name);
        fth_json_text(json, text);
    }
    if (begun)
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
static void write_struct(const struct skeleton *skeleton, size_t step, size_t index,
                         const char *parent)
{
    struct fth_json_writer *json = skeleton->json;
    struct member members[MAX_MEMBERS];
    const size_t count = find_members(skeleton, step, index, parent, members);
    const size_t bytes = skeleton->launch->steps[step].kernel->parameters[index].bytes;
    size_t end = 0;
    if (count == 0) {
        write_zeros(json, bytes);
        return;
    }
    fth_json_begin(json, '[', true);
    for (size_t i = 0; i < count; i++) {
        const struct member *member = &members[i];
        struct slot slot = {0};
        if (member->offset > end)
            write_zeros(json, member->offset - end);
        end = member->offset + member->bytes * member->count;
        describe_number(member->element, member->bytes, &slot);
        for (size_t k = 0; k < member->count; k++)
            fth_json_text(json, member->is_pointer ? member->name : slot.text);
    }
    if (bytes > end)
        write_zeros(json, bytes - end);
    fth_json_end(json, ']');
}

static void write_arguments(const struct skeleton *skeleton, size_t step)
{
    const struct fth_launch *launch = skeleton->launch;
    const struct fth_ptx_kernel *kernel = launch->steps[step].kernel;
    struct fth_json_writer *json = skeleton->json;
    char name[64];
    struct slot slot;
    fth_json_key(json, "args");
    fth_json_begin(json, '[', true);
    for (size_t i = 0; i < kernel->parameter_count; i++) {
        describe(skeleton, kernel, i, &slot);
        name_buffer(launch, step, i, name);
        if (slot.zero_bytes)
            write_struct(skeleton, step, i, name);
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
static void write_launch(const struct skeleton *skeleton, size_t step)
{
    const struct fth_launch *launch = skeleton->launch;
    struct fth_json_writer *json = skeleton->json;
    const struct fth_ptx_kernel *kernel = launch->steps[step].kernel, *found;
    const enum fth_status status =
        fth_launch_find_kernel(launch, kernel->display_name, &found, NULL);
    const bool is_unique = status == FTH_OK && found == kernel;
    json->out->failed = json->out->failed || status == FTH_NO_MEMORY;
    fth_json_begin(json, '{', true);
    fth_json_key(json, "kernel");
    fth_json_text(json, is_unique ? kernel->display_name : kernel->name);
    write_shape(launch, kernel, json);
    if (launch->steps[0].shared_bytes) {
        fth_json_key(json, "shared");
        fth_json_number(json, (double)launch->steps[0].shared_bytes);
    }
    write_arguments(skeleton, step);
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
    struct skeleton skeleton = {launch, NULL, &json};
    *text = NULL;
    *size = 0;
    FTH_TRY(fth_ptx_debug_open(launch->module, &skeleton.debug, error));
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
    write_buffers(&skeleton);
    write_variables(&skeleton);
    fth_json_key(&json, "launches");
    fth_json_begin(&json, '[', false);
    for (size_t i = 0; i < launch->step_count; i++)
        write_launch(&skeleton, i);
    fth_json_end(&json, ']');
    fth_json_end(&json, '}');
    fth_ptx_debug_close(skeleton.debug);
    if (out.failed) {
        fth_buffer_fini(&out);
        return fth_no_memory(error, "write launch file", launch->path);
    }
    *text = out.data;
    *size = out.size;
    return FTH_OK;
}
