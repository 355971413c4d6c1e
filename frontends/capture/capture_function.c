/* The kernels that a program launches: their names, their modules, and the layout of their
 * parameters. */
#include "capture.h"

/* A table from handles to functions, with linear probing. */
static struct {
    struct function **slots;
    size_t size, count; /* size: a power of two, or 0 */
} table;

/* A handle that stands for another one: a CUfunction for its CUkernel, a CUmodule for its
 * CUlibrary. */
static struct {
    struct alias {
        void *handle, *original;
    } * items;
    size_t count, capacity;
} aliases;

static size_t slot_of(const void *handle, size_t size)
{
    /* The multiplier is 2^64 divided by the golden ratio, as in Knuth's multiplicative hashing. */
    const uint64_t hash = (uint64_t)(uintptr_t)handle * UINT64_C(0x9e3779b97f4a7c15);
    return (size_t)(hash >> 20) & (size - 1);
}

/* Returns the slot of a handle: its own, or a free one. */
static struct function **find_slot(struct function **slots, size_t size, const void *handle)
{
    size_t i = slot_of(handle, size);
    while (slots[i] && slots[i]->handle != handle)
        i = (i + 1) & (size - 1);
    return &slots[i];
}

/* Makes a table of this size with the functions that do not belong to a module. */
static bool rebuild(size_t size, const struct module *without)
{
    struct function **slots = calloc(size, sizeof *slots);
    if (!slots)
        return false;
    table.count = 0;
    for (size_t i = 0; i < table.size; i++) {
        struct function *function = table.slots[i];
        if (!function)
            continue;
        if (without && function->module == without) {
            free(function->name);
            free(function->parameters);
            free(function);
            continue;
        }
        *find_slot(slots, size, function->handle) = function;
        table.count++;
    }
    free(table.slots);
    table.slots = slots;
    table.size = size;
    return true;
}

void capture_forget_functions(const struct module *module)
{
    if (table.size && !rebuild(table.size, module))
        /* Without memory, the functions stay, but their module is gone. */
        for (size_t i = 0; i < table.size; i++)
            if (table.slots[i] && table.slots[i]->module == module)
                table.slots[i]->module = NULL;
    if (table.size && table.count == 0) {
        free(table.slots);
        table.slots = NULL;
        table.size = 0;
    }
}

void capture_alias(void *handle, void *original)
{
    capture_lock_tables();
    size_t i = 0;
    void *items = aliases.items;
    while (i < aliases.count && aliases.items[i].handle != handle)
        i++;
    if (i == aliases.count &&
        fth_grow(&items, aliases.count, &aliases.capacity, sizeof *aliases.items)) {
        aliases.items = items;
        aliases.count++;
    }
    if (i < aliases.count)
        aliases.items[i] = (struct alias){handle, original};
    capture_unlock_tables();
}

static void *original_of(void *handle)
{
    void *original = handle;
    capture_lock_tables();
    for (size_t i = 0; i < aliases.count; i++)
        if (aliases.items[i].handle == handle)
            original = aliases.items[i].original;
    capture_unlock_tables();
    return original;
}

/* Returns the alignment of a parameter, from the driver's offset of it and of the end of the
 * parameter before it. These are offsets in the constant memory of the GPU. There, the parameters
 * begin at an address that is a multiple of only 16 or 32 bytes, and the alignment of a parameter
 * holds for its address, not for its offset as in PTX. The alignment is the smallest one that
 * explains the offset. */
static size_t alignment_of(size_t end, size_t offset, uint32_t architecture)
{
    /* Where the parameters begin. An H200 showed that of architecture 90: a tensor map, which is
     * aligned to 64 bytes, has the offset 48. The others are reported; they only matter for
     * alignments above 16. */
    const size_t base = architecture >= 100 ? 0x380 : architecture >= 90 ? 0x210 : 0x160;
    enum { MAX_ALIGN = 128 };
    size_t align = 1;
    while (align < MAX_ALIGN && (base + end + align - 1) / align * align != base + offset)
        align *= 2;
    return (base + end + align - 1) / align * align == base + offset ? align : 0;
}

typedef int get_parameter(void *function, size_t index, size_t *offset, size_t *bytes);

/* Reads the layout of the parameters. Returns false without memory. */
static bool read_parameters(struct function *function, void *handle, get_parameter *get)
{
    size_t capacity = 0, driver_offset, driver_end = 0;
    struct parameter parameter;
    const uint32_t architecture = capture_architecture();
    while (get && get(handle, function->parameter_count, &driver_offset, &parameter.bytes) == 0) {
        void *parameters = function->parameters;
        if (!fth_grow(&parameters, function->parameter_count, &capacity, sizeof parameter))
            return false;
        function->parameters = parameters;
        const size_t align = alignment_of(driver_end, driver_offset, architecture);
        /* An offset that no alignment explains is one of a driver that counts as PTX does. */
        parameter.offset =
            align ? (function->parameter_bytes + align - 1) / align * align : driver_offset;
        function->parameters[function->parameter_count++] = parameter;
        driver_end = driver_offset + parameter.bytes;
        function->parameter_bytes = parameter.offset + parameter.bytes;
    }
    if (!get)
        function->reason =
            "the driver is older than version 12.4, and does not report the layout of "
            "parameters";
    if (function->parameter_bytes > FTH_CAPSULE_MAX_PARAMETER_BYTES)
        function->reason = "its parameters are too large";
    return true;
}

/* Finds out about a kernel. Returns false without memory. */
static bool describe(struct function *function)
{
    void *handle = original_of(function->handle), *owner = NULL;
    const char *name = NULL;
    get_parameter *get;
    bool is_library = false;
    if (CALL(cuFuncGetName, (const char **, void *), &name, handle) == SUCCESS) {
        if (CALL(cuFuncGetModule, (void **, void *), &owner, handle) != SUCCESS)
            owner = NULL;
        get = (get_parameter *)capture_real(F_cuFuncGetParamInfo);
    } else {
        is_library = true;
        if (CALL(cuKernelGetName, (const char **, void *), &name, handle) != SUCCESS)
            name = NULL;
        if (CALL(cuKernelGetLibrary, (void **, void *), &owner, handle) != SUCCESS)
            owner = NULL;
        get = (get_parameter *)capture_real(F_cuKernelGetParamInfo);
    }
    if (!name)
        function->reason = "the driver does not report its name";
    function->name = strdup(name ? name : "?");
    if (!function->name || !read_parameters(function, handle, get))
        return false;
    owner = owner ? original_of(owner) : NULL;
    function->module = owner ? capture_module(owner) : NULL;
    /* The nodes of graphs have CUfunctions also of kernels that were launched as CUkernels. */
    if (name && !function->module && !is_library)
        function->module = capture_library_of(handle, owner, name);
    if (owner && !function->module)
        function->module = capture_unknown_module(owner, is_library);
    function->is_selected = capture_selects(function->name);
    return true;
}

struct function *capture_function(void *handle)
{
    capture_lock_tables();
    struct function *function = table.size ? *find_slot(table.slots, table.size, handle) : NULL;
    capture_unlock_tables();
    if (function)
        return function;
    function = calloc(1, sizeof *function);
    if (!function)
        return NULL;
    function->handle = handle;
    bool ok = describe(function);
    capture_lock_tables();
    if (ok && 2 * (table.count + 1) > table.size)
        ok = rebuild(table.size ? 2 * table.size : 64, NULL);
    struct function *known = NULL;
    if (ok) {
        struct function **slot = find_slot(table.slots, table.size, handle);
        known = *slot; /* another thread was faster */
        if (!known) {
            *slot = function;
            table.count++;
        }
    }
    capture_unlock_tables();
    if (ok && !known)
        return function;
    free(function->name);
    free(function->parameters);
    free(function);
    return known;
}
