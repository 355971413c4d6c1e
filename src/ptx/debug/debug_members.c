/* The members of the parameters of kernels, from the debug information of the PTX. A struct is
 * followed down to its numbers and pointers, which get names such as "p.range[1].first". */
#include "ptx/debug/debug.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Maximum depth of structs and of qualified types, and maximum number of types that are visited for
 * a parameter. Chosen, not derived. */
enum { MAX_DEPTH = 16, MAX_VISITS = 4096 };

enum fth_status fth_ptx_debug_open(const struct fth_ptx_module *module, struct fth_ptx_debug **out,
                                   struct fth_error *error)
{
    const char *text = fth_ptx_text(module);
    struct fth_ptx_debug *debug = calloc(1, sizeof *debug);
    *out = NULL;
    if (!debug)
        return fth_no_memory(error, "read debug information", NULL);
    fth_debug_section(text, ".debug_info", &debug->info, NULL);
    fth_debug_section(text, ".debug_abbrev", &debug->abbreviations, NULL);
    const bool is_there = debug->info.size && debug->abbreviations.size;
    const bool ok = !debug->info.failed && !debug->abbreviations.failed &&
                    (!is_there || fth_debug_read_entries(debug));
    if (ok && debug->count) {
        *out = debug;
        return FTH_OK;
    }
    fth_ptx_debug_close(debug);
    return ok ? FTH_OK : fth_no_memory(error, "read debug information", NULL);
}

void fth_ptx_debug_close(struct fth_ptx_debug *debug)
{
    if (!debug)
        return;
    fth_buffer_fini(&debug->info);
    fth_buffer_fini(&debug->abbreviations);
    free(debug->entries);
    free(debug);
}

/* ---- types ---- */

/* Returns the type without const, volatile, restrict and typedef. */
static const struct fth_debug_entry *resolve(const struct fth_ptx_debug *debug, uint32_t offset)
{
    const struct fth_debug_entry *type = fth_debug_entry_at(debug, offset);
    for (int i = 0; i < MAX_DEPTH && type; i++) {
        if (type->tag != TAG_CONST && type->tag != TAG_VOLATILE && type->tag != TAG_RESTRICT &&
            type->tag != TAG_TYPEDEF)
            return type;
        type = fth_debug_entry_at(debug, type->type);
    }
    return NULL;
}

static bool is_address(const struct fth_debug_entry *type)
{
    return type->tag == TAG_POINTER || type->tag == TAG_REFERENCE ||
           type->tag == TAG_RVALUE_REFERENCE;
}

/* Writes the name of a type, as C++ has it: "float const*". */
static void name_type(const struct fth_ptx_debug *debug, uint32_t offset, int depth, char *text,
                      size_t size)
{
    const struct fth_debug_entry *type = fth_debug_entry_at(debug, offset);
    const char *suffix = "";
    if (!type || depth > MAX_DEPTH) {
        snprintf(text, size, "%s", offset ? "?" : "void");
        return;
    }
    if (type->name) {
        snprintf(text, size, "%s", type->name);
        return;
    }
    name_type(debug, type->type, depth + 1, text, size);
    switch (type->tag) {
    case TAG_CONST: suffix = " const"; break;
    case TAG_VOLATILE: suffix = " volatile"; break;
    case TAG_POINTER: suffix = "*"; break;
    case TAG_REFERENCE: suffix = "&"; break;
    case TAG_RVALUE_REFERENCE: suffix = "&&"; break;
    case TAG_RESTRICT: break;
    default: snprintf(text, size, "struct");
    }
    const size_t length = strlen(text);
    snprintf(text + length, size - length, "%s", suffix);
}

/* Writes the type of a number as PTX names it: "s32". "" if it is no number. */
static void name_element(const struct fth_debug_entry *type, char element[8])
{
    /* Classes of the CUDA headers that consist of one number. */
    static const struct {
        const char *name, *element;
    } classes[] = {{"__half", "f16"},
                   {"__nv_bfloat16", "bf16"},
                   {"__nv_fp8_e4m3", "e4m3"},
                   {"__nv_fp8_e5m2", "e5m2"}};
    /* By the encoding (DWARF 4, section 7.8): 2 bool, 4 float, 5 signed, 6 signed char, 7 unsigned,
     * 8 unsigned char. */
    static const char letters[] = {
        [2] = 'u', [4] = 'f', [5] = 's', [6] = 's', [7] = 'u', [8] = 'u'};
    *element = '\0';
    for (size_t i = 0; i < FTH_COUNT(classes); i++)
        if (type->name && strcmp(type->name, classes[i].name) == 0)
            snprintf(element, 8, "%s", classes[i].element);
    if (*element || type->bytes == 0 || type->bytes > sizeof(uint64_t))
        return;
    if (type->tag == TAG_ENUMERATION)
        snprintf(element, 8, "s%u", (unsigned)(8 * type->bytes));
    else if (type->tag == TAG_BASE && type->encoding < FTH_COUNT(letters) &&
             letters[type->encoding])
        snprintf(element, 8, "%c%u", letters[type->encoding], (unsigned)(8 * type->bytes));
}

/* ---- members ---- */

/* The members of a parameter that were found so far. */
struct search {
    const struct fth_ptx_debug *debug;
    struct fth_ptx_debug_member *members;
    size_t count, capacity, visits;
    bool failed;
};

/* Adds a pointer, a number, or an array of `count` numbers. */
static void add(struct search *search, uint32_t offset, const struct fth_debug_entry *type,
                uint64_t location, const char *name, size_t count)
{
    if (search->count == search->capacity || location > UINT32_MAX || type->bytes > UINT32_MAX) {
        search->failed = true;
        return;
    }
    struct fth_ptx_debug_member *member = &search->members[search->count++];
    *member = (struct fth_ptx_debug_member){.offset = (size_t)location,
                                            .bytes = (size_t)type->bytes,
                                            .count = count,
                                            .is_pointer = is_address(type)};
    if (member->is_pointer && member->bytes == 0)
        member->bytes = sizeof(uint64_t);
    snprintf(member->name, sizeof member->name, "%s", name);
    name_type(search->debug, offset, 0, member->type, sizeof member->type - 16);
    if (count != 1) {
        const size_t length = strlen(member->type);
        snprintf(member->type + length, sizeof member->type - length, "[%zu]", count);
    }
    name_element(type, member->element);
}

static void visit(struct search *search, uint32_t offset, uint64_t location, const char *name,
                  int depth);

/* Returns whether a member is a base class, which nvcc writes as a member such as __b_4Base. */
static bool is_base(const char *name)
{
    static const char prefix[] = "__b_";
    return strncmp(name, prefix, sizeof prefix - 1) == 0 && name[sizeof prefix - 1] >= '0' &&
           name[sizeof prefix - 1] <= '9';
}

/* Visits the members of a struct and of its bases. */
static void visit_struct(struct search *search, const struct fth_debug_entry *type,
                         uint64_t location, const char *name, int depth)
{
    const struct fth_ptx_debug *debug = search->debug;
    const struct fth_debug_entry *end = debug->entries + debug->count;
    for (const struct fth_debug_entry *child = type + 1; child < end && child->depth > type->depth;
         child++) {
        char path[sizeof search->members->name];
        if (child->depth != type->depth + 1 ||
            (child->tag != TAG_MEMBER && child->tag != TAG_INHERITANCE))
            continue;
        if (child->is_bit_field) {
            search->failed = true;
            return;
        }
        const bool has_name =
            child->tag == TAG_MEMBER && child->name && child->name[0] && !is_base(child->name);
        const int length = snprintf(path, sizeof path, "%s%s%s", name, has_name ? "." : "",
                                    has_name ? child->name : "");
        search->failed = search->failed || length >= (int)sizeof path;
        visit(search, child->type, location + child->location, path, depth + 1);
    }
}

/* Returns the size of a type in bytes; 0: unknown. */
static uint64_t size_of(const struct fth_ptx_debug *debug, uint32_t offset)
{
    const struct fth_debug_entry *type = resolve(debug, offset);
    return !type ? 0 : is_address(type) ? sizeof(uint64_t) : type->bytes;
}

/* Returns whether an entry is one of the dimensions of an array, which follow its entry. */
static bool is_dimension(const struct fth_ptx_debug *debug, const struct fth_debug_entry *array,
                         const struct fth_debug_entry *entry)
{
    return entry < debug->entries + debug->count && entry->depth == array->depth + 1 &&
           entry->tag == TAG_SUBRANGE;
}

/* Visits the elements of an array. `dimension` is the entry of its first dimension that is left. */
static void visit_array(struct search *search, const struct fth_debug_entry *type,
                        const struct fth_debug_entry *dimension, uint64_t location,
                        const char *name, int depth)
{
    const struct fth_debug_entry *element = resolve(search->debug, type->type);
    uint64_t stride = size_of(search->debug, type->type);
    char number[8] = "";
    if (element)
        name_element(element, number);
    if (is_dimension(search->debug, type, dimension) && *number &&
        !is_dimension(search->debug, type, dimension + 1) && dimension->count <= MAX_VISITS) {
        add(search, type->type, element, location, name, (size_t)dimension->count);
        return;
    }
    if (!is_dimension(search->debug, type, dimension)) {
        visit(search, type->type, location, name, depth + 1);
        return;
    }
    for (const struct fth_debug_entry *next = dimension + 1;
         is_dimension(search->debug, type, next); next++)
        stride *= next->count <= MAX_VISITS ? next->count : 0;
    if (stride == 0)
        search->failed = true;
    for (uint64_t i = 0; i < dimension->count && !search->failed; i++) {
        char path[sizeof search->members->name];
        const int length = snprintf(path, sizeof path, "%s[%llu]", name, (unsigned long long)i);
        search->failed = length >= (int)sizeof path;
        visit_array(search, type, dimension + 1, location + i * stride, path, depth);
    }
}

/* Visits a type at a location of the parameter. */
static void visit(struct search *search, uint32_t offset, uint64_t location, const char *name,
                  int depth)
{
    const struct fth_debug_entry *type = resolve(search->debug, offset);
    char element[8];
    if (!type || depth > MAX_DEPTH || search->visits++ > MAX_VISITS)
        search->failed = true;
    if (search->failed || !type)
        return;
    name_element(type, element);
    if (type->tag == TAG_ARRAY)
        visit_array(search, type, type + 1, location, name, depth);
    else if (*element || is_address(type) || type->tag == TAG_BASE)
        add(search, offset, type, location, name, 1);
    else if (type->tag == TAG_STRUCT || type->tag == TAG_CLASS || type->tag == TAG_UNION)
        visit_struct(search, type, location, name, depth);
    else
        search->failed = true;
}

/* ---- kernels ---- */

/* Returns whether an entry is the function with this mangled name. */
static bool is_function(const struct fth_ptx_debug *debug, const struct fth_debug_entry *entry,
                        const char *name)
{
    if (entry->tag != TAG_SUBPROGRAM)
        return false;
    const struct fth_debug_entry *declaration =
        entry->declaration ? fth_debug_entry_at(debug, entry->declaration) : NULL;
    const char *linkage = entry->linkage ? entry->linkage
                          : declaration  ? declaration->linkage
                                         : NULL;
    const char *plain = entry->name ? entry->name : declaration ? declaration->name : NULL;
    const char *found = linkage ? linkage : plain;
    return found && strcmp(found, name) == 0;
}

size_t fth_ptx_debug_members(const struct fth_ptx_debug *debug, const char *kernel, size_t index,
                             struct fth_ptx_debug_member *members, size_t capacity)
{
    struct search search = {.debug = debug, .members = members, .capacity = capacity};
    for (size_t i = 0; i < debug->count; i++) {
        const struct fth_debug_entry *function = &debug->entries[i];
        size_t left = index;
        if (!is_function(debug, function, kernel))
            continue;
        for (size_t k = i + 1; k < debug->count && debug->entries[k].depth > function->depth; k++) {
            const struct fth_debug_entry *entry = &debug->entries[k];
            if (entry->depth != function->depth + 1 || entry->tag != TAG_PARAMETER || left-- > 0)
                continue;
            visit(&search, entry->type, 0, entry->name ? entry->name : "", 0);
            return search.failed ? 0 : search.count;
        }
    }
    return 0;
}
