/* The modules and libraries that a program loads, and the PTX that they contain. */
#include "capture.h"
#include "fatbin/fatbin.h"

#include <stdio.h>

static struct module *modules;

/* How an image of code begins: the structure that nvcc makes for the runtime, which points to a
 * container; a container; and an ELF file. Everything else is PTX. */
enum { WRAPPER_MAGIC = 0x466243b1, ELF_MAGIC = 0x464c457f };
#define CONTAINER_MAGIC 0xba55ed50u

/* Returns the size of an ELF file in memory: the end of its last section, or of the table of
 * sections or segments. */
static uint64_t elf_bytes(const unsigned char *elf)
{
    enum { PHOFF = 32, SHOFF = 40, PHENTSIZE = 54, PHNUM = 56, SHENTSIZE = 58, SHNUM = 60 };
    enum { SECTION_TYPE = 4, SECTION_OFFSET = 24, SECTION_BYTES = 32, NOBITS = 8 };
    const unsigned char *sections = elf + fth_load_u64(elf + SHOFF);
    const uint64_t section_bytes = fth_load_u16(elf + SHENTSIZE), count = fth_load_u16(elf + SHNUM);
    const uint64_t segment_bytes = fth_load_u16(elf + PHENTSIZE);
    uint64_t end = fth_load_u64(elf + SHOFF) + section_bytes * count;
    const uint64_t segments_end =
        fth_load_u64(elf + PHOFF) + segment_bytes * fth_load_u16(elf + PHNUM);
    end = segments_end > end ? segments_end : end;
    for (uint64_t i = 0; i < count; i++) {
        const unsigned char *section = sections + i * section_bytes;
        const uint64_t section_end =
            fth_load_u64(section + SECTION_OFFSET) + fth_load_u64(section + SECTION_BYTES);
        if (fth_load_u32(section + SECTION_TYPE) != NOBITS && section_end > end)
            end = section_end;
    }
    return end;
}

/* Copies PTX. */
static void set_ptx(struct module *module, const char *ptx, size_t size)
{
    module->ptx = malloc(size + 1);
    module->ptx_bytes = module->ptx ? size : 0;
    if (module->ptx) {
        memcpy(module->ptx, ptx, size);
        module->ptx[size] = '\0';
    } else {
        module->reason = "there was not enough memory for its PTX";
    }
}

/* Takes the PTX for the GPU out of the entries of a fat binary. */
static void take_entry(struct module *module, const struct fth_fatbin *fatbin)
{
    struct fth_buffer ptx = {0};
    const struct fth_fatbin_entry *entry = NULL;
    const uint32_t architecture = capture_architecture();
    for (size_t i = 0; i < fatbin->container_count && !entry; i++)
        entry = fth_fatbin_choose(fatbin, i, architecture);
    if (!entry)
        module->reason = "its fat binary has no PTX for this GPU; compile it with 'nvcc -gencode "
                         "arch=compute_XX,code=compute_XX'";
    else if (fth_fatbin_unpack(fatbin, entry, &ptx, NULL) != FTH_OK)
        module->reason = "its PTX cannot be unpacked";
    else
        set_ptx(module, ptx.data, ptx.size);
    fth_buffer_fini(&ptx);
}

static void take_container(struct module *module, const void *container)
{
    struct fth_fatbin fatbin;
    if (fth_fatbin_open_memory("module", container, &fatbin, NULL) != FTH_OK) {
        module->reason = "its fat binary cannot be read";
        return;
    }
    take_entry(module, &fatbin);
    fth_fatbin_fini(&fatbin);
}

/* Takes what an image in memory contains. The program may free the image afterwards, unless it is
 * part of a loaded object. */
static void take_image(struct module *module, const void *image)
{
    uint32_t magic;
    memcpy(&magic, image, sizeof magic);
    if (magic == WRAPPER_MAGIC) {
        module->container = pointer_to(field(image, 8, 8));
    } else if (magic == CONTAINER_MAGIC) {
        take_container(module, image);
    } else if (magic == ELF_MAGIC) {
        module->code_bytes = elf_bytes(image);
        module->code = fth_digest(image, module->code_bytes);
        module->reason = "the program loaded machine code, and its PTX was not found";
    } else {
        set_ptx(module, image, strlen(image));
    }
}

/* Takes what a file contains. */
static void take_file(struct module *module, const char *path)
{
    static const struct fth_file_limit limit = {.subject = "a module",
                                                .bytes = FTH_CAPSULE_MAX_PTX_BYTES};
    struct fth_buffer content = {0};
    struct fth_fatbin fatbin;
    free(module->name);
    module->name = strdup(path);
    if (fth_file_read(path, &limit, &content, NULL) != FTH_OK || !content.data)
        module->reason = "its file cannot be read";
    else if (!fth_fatbin_is_image(content.data, content.size))
        set_ptx(module, content.data, content.size);
    else if (fth_fatbin_open(path, content.data, content.size, &fatbin, NULL) != FTH_OK)
        module->reason = "its file is not a fat binary";
    else {
        take_entry(module, &fatbin);
        if (fatbin.count == 1 && fatbin.entries[0].kind == FTH_FATBIN_CUBIN) {
            module->code_bytes = content.size;
            module->code = fth_digest(content.data, content.size);
        }
        fth_fatbin_fini(&fatbin);
    }
    fth_buffer_fini(&content);
}

static struct module *find(const void *handle)
{
    struct module *module = modules;
    while (module && module->handle != handle)
        module = module->next;
    return module;
}

struct module *capture_module(const void *handle)
{
    capture_lock_tables();
    struct module *module = find(handle);
    capture_unlock_tables();
    return module;
}

/* Returns a new module, which is not in the list yet. NULL: memory is exhausted. */
static struct module *create(void *handle, bool is_library)
{
    struct module *module = calloc(1, sizeof *module);
    if (module) {
        module->handle = handle;
        module->is_library = is_library;
    }
    return module;
}

static struct module *insert(struct module *module)
{
    capture_lock_tables();
    module->next = modules;
    modules = module;
    capture_unlock_tables();
    return module;
}

struct module *capture_unknown_module(void *handle, bool is_library)
{
    struct module *module = create(handle, is_library);
    if (!module)
        return NULL;
    module->reason = "fathom did not see how the program loaded it";
    return insert(module);
}

/* Returns whether a library has a kernel of this name with this CUfunction or CUmodule. */
static bool has_function(void *library, const char *name, const void *function, const void *module)
{
    void *kernel = NULL, *found = NULL;
    if (CALL(cuLibraryGetKernel, (void **, void *, const char *), &kernel, library, name) !=
        SUCCESS)
        return false;
    if (CALL(cuKernelGetFunction, (void **, void *), &found, kernel) == SUCCESS &&
        found == function)
        return true;
    return module && CALL(cuLibraryGetModule, (void **, void *), &found, library) == SUCCESS &&
           found == module;
}

struct module *capture_library_of(const void *function, const void *module, const char *name)
{
    enum { RELAXED = 2 }; /* of CUstreamCaptureMode: the calls do not disturb captures of streams */
    int mode = RELAXED;
    void **libraries = NULL, *found = NULL;
    size_t count = 0, capacity = 0;
    capture_lock_tables();
    for (const struct module *at = modules; at; at = at->next) {
        void *grown = libraries;
        if (!at->is_library)
            continue;
        if (!fth_grow(&grown, count, &capacity, sizeof *libraries))
            break;
        libraries = grown;
        libraries[count++] = at->handle;
    }
    capture_unlock_tables();
    const int exchanged = CALL(cuThreadExchangeStreamCaptureMode, (int *), &mode);
    for (size_t i = 0; i < count && !found; i++)
        if (has_function(libraries[i], name, function, module))
            found = libraries[i];
    if (exchanged == SUCCESS)
        (void)CALL(cuThreadExchangeStreamCaptureMode, (int *), &mode);
    free(libraries);
    return found ? capture_module(found) : NULL;
}

static void forget(const void *handle)
{
    capture_lock_tables();
    struct module **link = &modules;
    while (*link && (*link)->handle != handle)
        link = &(*link)->next;
    struct module *module = *link;
    if (module) {
        *link = module->next;
        capture_forget_functions(module);
        for (size_t i = 0; i < module->variable_count; i++) {
            free(module->variables[i].name);
            capture_memory_fini(&module->variables[i].memory);
        }
        free(module->variables);
        free(module->name);
        free(module->ptx);
        free(module);
    }
    capture_unlock_tables();
}

static int loaded_image(int result, void *const *handle, bool is_library, const void *image)
{
    struct module *module = result == SUCCESS ? create(*handle, is_library) : NULL;
    if (module) {
        take_image(module, image);
        insert(module);
    }
    return result;
}

static int loaded_file(int result, void *const *handle, bool is_library, const char *path)
{
    struct module *module = result == SUCCESS ? create(*handle, is_library) : NULL;
    if (module) {
        take_file(module, path);
        insert(module);
    }
    return result;
}

/* ---- writing ---- */

/* Adds a variable of the module, if the driver knows its address. */
static bool add_variable(void *user, const char *name, size_t length)
{
    struct module *module = user;
    struct variable variable = {.name = strndup(name, length)};
    void *variables = module->variables;
    size_t bytes = 0, capacity = module->variable_count;
    int result = NOT_SUPPORTED;
    if (variable.name && module->is_library) {
        result = CALL(cuLibraryGetGlobal, (uint64_t *, size_t *, void *, const char *),
                      &variable.address, &bytes, module->handle, variable.name);
        if (result != SUCCESS)
            result = CALL(cuLibraryGetManaged, (uint64_t *, size_t *, void *, const char *),
                          &variable.address, &bytes, module->handle, variable.name);
    } else if (variable.name) {
        result = CALL(cuModuleGetGlobal_v2, (uint64_t *, size_t *, void *, const char *),
                      &variable.address, &bytes, module->handle, variable.name);
    }
    variable.bytes = bytes;
    if (result != SUCCESS || bytes == 0 ||
        !fth_grow(&variables, module->variable_count, &capacity, sizeof *module->variables)) {
        free(variable.name);
        return variable.name != NULL;
    }
    module->variables = variables;
    module->variables[module->variable_count++] = variable;
    return true;
}

/* Returns whether PTX has instructions that use textures or surfaces. */
static bool uses_textures(const char *ptx)
{
    static const char *const names[] = {"tex.",  "tld4.",  "txq.", "suld.",
                                        "sust.", "sured.", "suq."};
    for (size_t i = 0; i < FTH_COUNT(names); i++)
        for (const char *at = ptx; (at = strstr(at, names[i])); at++)
            if (at > ptx && (at[-1] == '\t' || at[-1] == ' ' || at[-1] == '\n'))
                return true;
    return false;
}

enum fth_status capture_write_module(struct fth_capsule_writer *writer, struct module *module,
                                     struct fth_error *error)
{
    if (module->number)
        return FTH_OK;
    if (module->container && !module->ptx)
        take_container(module, module->container);
    if (module->ptx) {
        capture_variables(module->ptx, module->ptx_bytes, add_variable, module);
        module->has_textures = uses_textures(module->ptx);
        module->has_ptx = true;
    }
    const struct fth_capsule_module part = {.name = module->name ? module->name : "",
                                            .ptx = module->ptx,
                                            .ptx_bytes = module->ptx_bytes,
                                            .reason = module->ptx ? NULL : module->reason,
                                            .code_bytes = module->code_bytes,
                                            .code = module->code};
    const enum fth_status status = fth_capsule_put_module(writer, &part, &module->number, error);
    free(module->ptx);
    module->ptx = NULL;
    return status;
}

/* ---- the functions of the driver ---- */

WRAP(cuModuleLoad, void **module, const char *path)
{
    return loaded_file(CALL(cuModuleLoad, (void **, const char *), module, path), module, false,
                       path);
}

WRAP(cuModuleLoadData, void **module, const void *image)
{
    return loaded_image(CALL(cuModuleLoadData, (void **, const void *), module, image), module,
                        false, image);
}

WRAP(cuModuleLoadDataEx, void **module, const void *image, unsigned count, int *options,
     void **values)
{
    return loaded_image(CALL(cuModuleLoadDataEx, (void **, const void *, unsigned, int *, void **),
                             module, image, count, options, values),
                        module, false, image);
}

WRAP(cuModuleLoadFatBinary, void **module, const void *image)
{
    return loaded_image(CALL(cuModuleLoadFatBinary, (void **, const void *), module, image), module,
                        false, image);
}

WRAP(cuModuleUnload, void *module)
{
    forget(module);
    return CALL(cuModuleUnload, (void *), module);
}

WRAP(cuLibraryLoadData, void **library, const void *image, int *jit, void **jit_values,
     unsigned jit_count, int *options, void **values, unsigned count)
{
    return loaded_image(
        CALL(cuLibraryLoadData,
             (void **, const void *, int *, void **, unsigned, int *, void **, unsigned), library,
             image, jit, jit_values, jit_count, options, values, count),
        library, true, image);
}

WRAP(cuLibraryLoadFromFile, void **library, const char *path, int *jit, void **jit_values,
     unsigned jit_count, int *options, void **values, unsigned count)
{
    return loaded_file(
        CALL(cuLibraryLoadFromFile,
             (void **, const char *, int *, void **, unsigned, int *, void **, unsigned), library,
             path, jit, jit_values, jit_count, options, values, count),
        library, true, path);
}

WRAP(cuLibraryUnload, void *library)
{
    forget(library);
    return CALL(cuLibraryUnload, (void *), library);
}

WRAP(cuLibraryGetModule, void **module, void *library)
{
    const int result = CALL(cuLibraryGetModule, (void **, void *), module, library);
    if (result == SUCCESS)
        capture_alias(*module, library);
    return result;
}

WRAP(cuKernelGetFunction, void **function, void *kernel)
{
    const int result = CALL(cuKernelGetFunction, (void **, void *), function, kernel);
    if (result == SUCCESS)
        capture_alias(*function, kernel);
    return result;
}
