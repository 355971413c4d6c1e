/* The arguments of a launch as text, each with its type. The types come, in this order, from the
 * debug information of the PTX (nvcc -G), which also has the names and the members of structs; from
 * the mangled name of a C++ kernel; and from the parameters and the instructions of the PTX. What
 * a kernel does not load from a struct is shown as words in hexadecimal. */
#include "program/program.h"
#include "program/session_parts.h"
#include "trace/launch/launch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Maximum number of members of the structs of a kernel, and of words that are shown in a row.
 * Further members are shown as words. Chosen, not derived. */
enum { MAX_MEMBERS = 256, MAX_WORDS = 8 };

/* What is written for one kernel. */
struct writer {
    const struct fth_arguments *arguments;
    struct fth_argument row;
    char type[FTH_NAME_BYTES];
    struct fth_buffer value;
    char memory[FTH_MEMORY_PLACE_BYTES];
    struct fth_ptx_argument_load loads[MAX_MEMBERS];
    size_t load_count;
};

void fth_memory_place_describe(const struct fth_memory_place *place, uint64_t address,
                               char text[FTH_MEMORY_PLACE_BYTES])
{
    const unsigned long long offset = address - place->address, bytes = place->bytes;
    char name[FTH_MEMORY_PLACE_BYTES - 64];
    if (place->variable)
        fth_demangle(place->variable, FTH_NAME_FULL, name, sizeof name);
    if (place->variable && offset == 0)
        snprintf(text, FTH_MEMORY_PLACE_BYTES, "variable '%s'", name);
    else if (place->variable)
        snprintf(text, FTH_MEMORY_PLACE_BYTES, "byte %llu of variable '%s'", offset, name);
    else if (offset == 0)
        snprintf(text, FTH_MEMORY_PLACE_BYTES, "%llu byte%s", bytes, bytes == 1 ? "" : "s");
    else
        snprintf(text, FTH_MEMORY_PLACE_BYTES, "byte %llu of the %llu at 0x%llx", offset, bytes,
                 (unsigned long long)place->address);
}

/* Returns the bytes of the current parameter at an offset. */
static const unsigned char *bytes_at(const struct writer *writer, size_t offset)
{
    const struct fth_ptx_parameter *parameter =
        &writer->arguments->kernel->parameters[writer->row.number - 1];
    return (const unsigned char *)writer->arguments->bytes + parameter->offset + offset;
}

/* Passes the row with the value that was written to the caller. */
static void put(struct writer *writer, size_t offset, const char *name, const char *type)
{
    writer->row.offset = offset;
    writer->row.name = name;
    writer->row.type = type;
    writer->row.value = writer->value.data ? writer->value.data : "";
    writer->arguments->put(writer->arguments->user, &writer->row);
    writer->value.size = 0;
    writer->row.memory = NULL;
}

/* Writes an address and, if it is known, the memory that it points to. */
static void put_address(struct writer *writer, size_t offset, const char *name, const char *type)
{
    struct fth_memory_place place;
    uint64_t address;
    memcpy(&address, bytes_at(writer, offset), sizeof address);
    fth_buffer_format(&writer->value, "0x%llx", (unsigned long long)address);
    if (address && writer->arguments->find(writer->arguments->user, address, &place)) {
        fth_memory_place_describe(&place, address, writer->memory);
        writer->row.memory = writer->memory;
    }
    put(writer, offset, name, type);
}

static void put_numbers(struct writer *writer, size_t offset, const char *name, const char *type,
                        const struct fth_scalar_type *element, size_t count)
{
    for (size_t i = 0; i < count && i < MAX_WORDS; i++) {
        if (i)
            fth_buffer_text(&writer->value, " ");
        fth_scalar_format(element, bytes_at(writer, offset + i * element->bytes), &writer->value);
    }
    if (count > MAX_WORDS)
        fth_buffer_format(&writer->value, " and %zu more", count - MAX_WORDS);
    put(writer, offset, name, type);
}

/* Returns whether 8 bytes are the address of memory of the launch. */
static bool is_address(const struct writer *writer, size_t offset)
{
    struct fth_memory_place place;
    uint64_t address;
    memcpy(&address, bytes_at(writer, offset), sizeof address);
    return address && writer->arguments->find(writer->arguments->user, address, &place);
}

/* Writes bytes as words in hexadecimal, of 64 or 32 bits if they are aligned, and the first of them
 * if there are many. */
static void put_words(struct writer *writer, size_t offset, size_t end)
{
    const size_t size = end - offset;
    const size_t word = offset % 8 == 0 && size % 8 == 0   ? 8
                        : offset % 4 == 0 && size % 4 == 0 ? 4
                                                           : 1;
    for (size_t i = 0; i * word < size && i < MAX_WORDS; i++) {
        uint64_t bits = 0;
        memcpy(&bits, bytes_at(writer, offset + i * word), word);
        fth_buffer_format(&writer->value, "%s0x%0*llx", i ? " " : "", (int)(2 * word),
                          (unsigned long long)bits);
    }
    if (size > MAX_WORDS * word)
        fth_buffer_format(&writer->value, " and %zu more bytes", size - MAX_WORDS * word);
    put(writer, offset, NULL, word == 8 ? "b64" : word == 4 ? "b32" : "b8");
}

/* Writes the part of a struct that the kernel does not load: addresses, and words between them. */
static void put_rest(struct writer *writer, size_t offset, size_t end)
{
    size_t from = offset;
    for (size_t i = (offset + 7) / 8 * 8; i + 8 <= end; i += 8) {
        if (!is_address(writer, i))
            continue;
        if (from < i)
            put_words(writer, from, i);
        put_address(writer, i, NULL, "b64");
        from = i + 8;
    }
    if (from < end)
        put_words(writer, from, end);
}

/* Writes a value that the kernel loads, by the type that it uses it as. */
static void put_loaded(struct writer *writer, size_t offset, size_t bytes, const char *type,
                       const struct fth_ptx_argument_load *load, const char *shown)
{
    char name[8];
    const bool is_float = *type == 'f' || type[1] == 'f';
    if (bytes == 8 && !is_float && ((load && load->is_pointer) || is_address(writer, offset))) {
        put_address(writer, offset, NULL, shown ? shown : type);
        return;
    }
    snprintf(name, sizeof name, "%s", type);
    if (!is_float && load && load->is_signed)
        *name = 's';
    else if (!is_float && *name == 'b')
        *name = 'u';
    const struct fth_scalar_type *element = fth_scalar_type_find(name, strlen(name));
    if (element && element->bytes == bytes)
        put_numbers(writer, offset, NULL, shown ? shown : element->name, element, 1);
    else
        put_words(writer, offset, offset + bytes);
}

/* Writes the members of a struct that the kernel loads, and the bytes between them. */
static void put_struct(struct writer *writer, const struct fth_ptx_parameter *parameter,
                       const char *type)
{
    size_t end = 0;
    fth_buffer_format(&writer->value, "%zu bytes", parameter->bytes);
    put(writer, 0, NULL, type ? type : "struct");
    for (size_t i = 0; i < writer->load_count; i++) {
        const struct fth_ptx_argument_load *load = &writer->loads[i];
        if (load->offset < parameter->offset + end || load->bytes > sizeof(uint64_t) ||
            load->offset + load->bytes > parameter->offset + parameter->bytes)
            continue;
        const size_t offset = load->offset - parameter->offset;
        if (offset > end)
            put_rest(writer, end, offset);
        put_loaded(writer, offset, load->bytes, load->type, load, NULL);
        end = offset + load->bytes;
    }
    if (end < parameter->bytes)
        put_rest(writer, end, parameter->bytes);
}

static bool ends_with(const char *text, char character)
{
    const size_t size = strlen(text);
    return size && text[size - 1] == character;
}

/* Returns whether values of a C++ type are addresses. */
static bool is_pointer(const char *type)
{
    return ends_with(type, '*') || ends_with(type, '&') || strstr(type, "(*)") ||
           strstr(type, "(&)");
}

/* Writes a parameter by its members in the debug information. Returns false if it has none. */
static bool put_debug(struct writer *writer, const struct fth_ptx_parameter *parameter)
{
    struct fth_ptx_debug_member members[MAX_MEMBERS];
    const size_t count =
        fth_ptx_debug_members(writer->arguments->debug, writer->arguments->kernel->name,
                              writer->row.number - 1, members, MAX_MEMBERS);
    for (size_t i = 0; i < count; i++) {
        const struct fth_ptx_debug_member *member = &members[i];
        const struct fth_scalar_type *element =
            fth_scalar_type_find(member->element, strlen(member->element));
        if (member->offset > parameter->bytes ||
            member->bytes * member->count > parameter->bytes - member->offset)
            continue;
        if (member->is_pointer && member->bytes == sizeof(uint64_t))
            put_address(writer, member->offset, member->name, member->type);
        else if (element && element->bytes == member->bytes)
            put_numbers(writer, member->offset, member->name, member->type, element, member->count);
        else
            put_words(writer, member->offset, member->offset + member->bytes * member->count);
    }
    return count != 0;
}

static void put_parameter(struct writer *writer, size_t index)
{
    const struct fth_ptx_kernel *kernel = writer->arguments->kernel;
    const struct fth_ptx_parameter *parameter = &kernel->parameters[index];
    const struct fth_ptx_argument_load *load = NULL;
    unsigned lanes = 0;
    writer->row.number = index + 1;
    if (writer->arguments->debug && put_debug(writer, parameter))
        return;
    const bool has_type =
        fth_demangle_parameter_type(kernel->name, index, writer->type, sizeof writer->type);
    const char *type = has_type ? writer->type : NULL;
    const struct fth_scalar_type *element =
        type ? fth_scalar_type_of_cpp(type, strlen(type), &lanes) : NULL;
    for (size_t i = 0; i < writer->load_count && !load; i++)
        if (writer->loads[i].offset == parameter->offset &&
            writer->loads[i].bytes == parameter->bytes)
            load = &writer->loads[i];
    if (element && (size_t)lanes * element->bytes == parameter->bytes)
        put_numbers(writer, 0, NULL, type, element, lanes);
    else if (type && is_pointer(type) && parameter->bytes == sizeof(uint64_t))
        put_address(writer, 0, NULL, type);
    else if (strcmp(parameter->type, "b8") == 0)
        put_struct(writer, parameter, type);
    else
        put_loaded(writer, 0, parameter->bytes, parameter->type, load, type);
}

enum fth_status fth_arguments_describe(const struct fth_arguments *arguments,
                                       struct fth_error *error)
{
    struct writer *writer = calloc(1, sizeof *writer);
    if (!writer)
        return fth_no_memory(error, "describe arguments", NULL);
    writer->arguments = arguments;
    writer->load_count = !arguments->module
                             ? 0
                             : fth_ptx_argument_loads(arguments->module->ptx, arguments->kernel,
                                                      writer->loads, MAX_MEMBERS);
    for (size_t i = 0; i < arguments->kernel->parameter_count; i++)
        put_parameter(writer, i);
    const bool failed = writer->value.failed;
    fth_buffer_fini(&writer->value);
    free(writer);
    return failed ? fth_no_memory(error, "describe arguments", NULL) : FTH_OK;
}

/* ---- one line ---- */

/* The line that is written, for a launch of a session. */
struct line {
    const struct fth_session *session;
    size_t number; /* of the last parameter */
    struct fth_buffer text;
};

static bool find_in_session(void *user, uint64_t address, struct fth_memory_place *place)
{
    const struct line *line = user;
    struct fth_session_block block;
    if (fth_session_find(line->session, address, &block)) {
        *place = (struct fth_memory_place){block.address, block.bytes, NULL};
        return true;
    }
    place->variable = NULL;
    for (const struct fth_session_module *module = line->session->modules;
         module && !place->variable; module = module->next)
        place->variable = fth_ptx_symbol_at(module->ptx, address, &place->address, &place->bytes);
    return place->variable != NULL;
}

static void put_in_line(void *user, const struct fth_argument *argument)
{
    struct line *line = user;
    struct fth_buffer *text = &line->text;
    fth_buffer_format(text, "%s%s", text->size ? ", " : "", argument->type);
    if (argument->name)
        fth_buffer_format(text, " %s", argument->name);
    else if (argument->number == line->number)
        fth_buffer_format(text, " at byte %zu", argument->offset);
    fth_buffer_format(text, " = %s", argument->value);
    line->number = argument->number;
    if (argument->memory)
        fth_buffer_format(text, " (%s)", argument->memory);
}

void fth_session_show_arguments(struct fth_session *session,
                                const struct fth_session_launch *launch, char *text, size_t size)
{
    struct line line = {.session = session};
    struct fth_arguments arguments = {.module = launch->module,
                                      .kernel = launch->kernel,
                                      .bytes = launch->arguments,
                                      .find = find_in_session,
                                      .put = put_in_line,
                                      .user = &line};
    enum fth_status status = fth_session_debug(launch->module, &arguments.debug, NULL);
    if (status == FTH_OK)
        status = fth_arguments_describe(&arguments, NULL);
    const bool is_cut = status == FTH_OK && line.text.size >= size;
    snprintf(text, size, "%s", status == FTH_OK && line.text.data ? line.text.data : "");
    if (is_cut && size > 4)
        memcpy(text + size - 4, "...", 4);
    fth_buffer_fini(&line.text);
}
