/* Modules, libraries and their kernels. A library is a module here. */
#include "cuda_driver.h"

#include <stdio.h>

struct module {
    struct module *next;
    struct fth_session_module *module;
    struct function *functions; /* those that the program has asked for */
    const struct context *context;
    bool is_library; /* it does not belong to a context */
};

/* All modules of the process. */
static struct module *modules;

struct fth_session_module *driver_session_module(const struct module *module)
{
    return module->module;
}

static bool is_module(const struct module *module)
{
    for (const struct module *at = modules; at; at = at->next)
        if (at == module)
            return true;
    return false;
}

bool driver_is_function(const struct function *function)
{
    for (const struct module *module = modules; module; module = module->next)
        for (const struct function *at = module->functions; at; at = at->next)
            if (at == function)
                return true;
    return false;
}

/* ---- loading ---- */

/* What an image begins with, unless it is a text: the structure that nvcc puts around a fat binary,
 * a fat binary, or a cubin. */
static const unsigned char wrapper_magic[] = {0xb1, 0x43, 0x62, 0x46},
                           container_magic[] = {0x50, 0xed, 0x55, 0xba},
                           cubin_magic[] = {0x7f, 'E', 'L', 'F'};

/* Reads no further than the first byte that differs, because an image can be a short text. */
static bool begins_with(const unsigned char *image, const unsigned char magic[4])
{
    size_t i = 0;
    while (i < 4 && image[i] == magic[i])
        i++;
    return i == 4;
}

static bool is_text(const unsigned char *image)
{
    return !begins_with(image, container_magic) &&
           (image[0] == '\t' || image[0] == '\n' || image[0] == '\r' ||
            (image[0] >= ' ' && image[0] <= '~'));
}

static enum fth_status load_image(const void *image, const char *name,
                                  struct fth_session_module **module, struct fth_error *error)
{
    const uint32_t architecture =
        (uint32_t)driver_attribute(75) * 10 + (uint32_t)driver_attribute(76);
    if (is_text(image))
        return fth_session_load(driver.session, name, image, strlen(image), module, error);
    if (begins_with(image, cubin_magic))
        return fth_fail(error, FTH_UNSUPPORTED, "load module", name,
                        "it is a cubin, which has no PTX; make PTX with 'nvcc -ptx' or a fat "
                        "binary with 'nvcc -fatbin', or call nvrtcGetPTX instead of nvrtcGetCUBIN, "
                        "after compiling with --gpu-architecture=compute_%u",
                        (unsigned)architecture);
    return fth_session_load_image(driver.session, name, image, architecture, module, error);
}

/* Returns whether an image is the structure that nvcc puts around a fat binary whose code it has
 * linked from several files (-rdc=true). Bytes 4 to 7 are 1 for other fat binaries. */
static bool is_linked(const void *image)
{
    uint32_t version;
    if (!begins_with(image, wrapper_magic))
        return false;
    memcpy(&version, (const unsigned char *)image + 4, sizeof version);
    return version == 2;
}

/* Loads an image: PTX, a fat binary, or the structure that nvcc puts around one. */
static int load(struct module **out, const void *image, const char *name, struct fth_error *error)
{
    const int result = driver_check();
    if (result != SUCCESS)
        return result;
    if (!out || !image)
        return INVALID_VALUE;
    const bool linked = is_linked(image);
    if (begins_with(image, wrapper_magic))
        image = pointer_field(image, 8);
    struct module *module = calloc(1, sizeof *module);
    if (!module)
        return OUT_OF_MEMORY;
    const enum fth_status status = load_image(image, name, &module->module, error);
    if (status != FTH_OK) {
        char text[sizeof *error];
        if (linked && status == FTH_UNSUPPORTED) {
            *error = (struct fth_error)FTH_NO_ERROR;
            fth_fail(
                error, status, "load module", name,
                "it is compiled with -rdc=true, so that nvcc has linked its kernels as machine "
                "code, and fathom does not link PTX; compile it without -rdc=true, with the "
                "device code of each kernel in one source file");
        }
        driver_report("error", "%s", fth_error_text(error, text, sizeof text));
        free(module);
        return status == FTH_NO_MEMORY     ? OUT_OF_MEMORY
               : status == FTH_UNSUPPORTED ? NO_BINARY_FOR_GPU
               : is_text(image)            ? INVALID_PTX
                                           : INVALID_IMAGE;
    }
    module->next = modules;
    module->context = driver_current();
    modules = module;
    *out = module;
    return SUCCESS;
}

CU(cuModuleLoadData, struct module **module, const void *image)
{
    LOCK;
    struct fth_error error = FTH_NO_ERROR;
    return load(module, image, "the module", &error);
}
ALIAS(cuModuleLoadFatBinary, cuModuleLoadData);

void driver_write_log(unsigned count, const int *options, void **values, const char *text)
{
    /* CUjit_option: buffers for messages and their sizes, which become the sizes used. */
    enum { INFO_LOG = 3, INFO_BYTES = 4, ERROR_LOG = 5, ERROR_BYTES = 6 };
    char *error_log = NULL, *info_log = NULL;
    size_t used = 0, bytes = 0;
    for (unsigned i = 0; i < count; i++)
        if (options[i] == ERROR_LOG)
            error_log = values[i];
        else if (options[i] == INFO_LOG)
            info_log = values[i];
        else if (options[i] == ERROR_BYTES)
            bytes = (uintptr_t)values[i];
    if (error_log && bytes) {
        snprintf(error_log, bytes, "%s", text);
        used = strlen(error_log);
    }
    if (info_log)
        info_log[0] = '\0';
    for (unsigned i = 0; i < count; i++)
        if (options[i] == INFO_BYTES || options[i] == ERROR_BYTES)
            values[i] = pointer_to(options[i] == ERROR_BYTES ? used : 0);
}

CU(cuModuleLoadDataEx, struct module **module, const void *image, unsigned count,
   const int *options, void **values)
{
    LOCK;
    struct fth_error error = FTH_NO_ERROR;
    char text[sizeof error] = "";
    if (count && (!options || !values))
        return INVALID_VALUE;
    const int result = load(module, image, "the module", &error);
    driver_write_log(count, options, values,
                     result == SUCCESS ? "" : fth_error_text(&error, text, sizeof text));
    return result;
}

/* Returns whether a file has the bytes that its contents need. */
static bool is_complete(const struct fth_buffer *content)
{
    enum { CONTAINER_HEADER = 16 };
    const unsigned char *const data = (const unsigned char *)content->data;
    if (content->size == 0 || begins_with(data, wrapper_magic))
        return false;
    return !begins_with(data, container_magic) ||
           (content->size >= CONTAINER_HEADER &&
            field(data, 8, 8) <= content->size - CONTAINER_HEADER);
}

static int load_file(struct module **module, const char *path)
{
    struct fth_buffer content = {0};
    struct fth_error error = FTH_NO_ERROR;
    if (!path)
        return INVALID_VALUE;
    if (fth_file_read(path, FTH_PTX_LIMIT, &content, &error) != FTH_OK) {
        fth_buffer_fini(&content);
        return FILE_NOT_FOUND;
    }
    const int result =
        is_complete(&content) ? load(module, content.data, path, &error) : INVALID_IMAGE;
    fth_buffer_fini(&content);
    return result;
}

CU(cuModuleLoad, struct module **module, const char *path)
{
    LOCK;
    return load_file(module, path);
}

static void free_module(struct module *module)
{
    fth_session_free_owned(driver.session, module); /* managed variables */
    fth_session_unload(driver.session, module->module);
    while (module->functions) {
        struct function *next = module->functions->next;
        free(module->functions);
        module->functions = next;
    }
    free(module);
}

void driver_free_modules(const struct context *context)
{
    for (struct module **link = &modules; *link;) {
        struct module *at = *link;
        if (context && (at->is_library || at->context != context)) {
            link = &at->next;
            continue;
        }
        *link = at->next;
        free_module(at);
    }
}

CU(cuModuleUnload, struct module *module)
{
    LOCK;
    struct module **link = &modules;
    while (*link && *link != module)
        link = &(*link)->next;
    if (!*link)
        return INVALID_HANDLE;
    *link = module->next;
    free_module(module);
    return SUCCESS;
}
ALIAS(cuLibraryUnload, cuModuleUnload);

CU(cuModuleGetLoadingMode, int *mode)
{
    *mode = 2; /* lazy */
    return SUCCESS;
}

CU(cuLibraryLoadData, struct module **library, const void *image, int *options, void **values,
   unsigned count, int *library_options, void **library_values, unsigned library_count)
{
    (void)options, (void)values, (void)count;
    (void)library_options, (void)library_values, (void)library_count;
    LOCK;
    struct fth_error error = FTH_NO_ERROR;
    const int result = load(library, image, "the library", &error);
    if (result == SUCCESS)
        (*library)->is_library = true;
    return result;
}

CU(cuLibraryLoadFromFile, struct module **library, const char *path, int *options, void **values,
   unsigned count, int *library_options, void **library_values, unsigned library_count)
{
    (void)options, (void)values, (void)count;
    (void)library_options, (void)library_values, (void)library_count;
    LOCK;
    const int result = load_file(library, path);
    if (result == SUCCESS)
        (*library)->is_library = true;
    return result;
}

CU(cuLibraryGetModule, struct module **module, struct module *library)
{
    LOCK;
    if (!is_module(library) || !module)
        return INVALID_HANDLE;
    *module = library;
    return SUCCESS;
}

/* ---- kernels ---- */

/* The shared memory that a block can have unless the program asks for more, in bytes. */
enum { DEFAULT_SHARED_BYTES = 48 << 10 };

/* Returns the function for a kernel, and makes it at the first call. */
static int get_function(struct function **out, struct module *module,
                        const struct fth_ptx_kernel *kernel)
{
    for (struct function *at = module->functions; at; at = at->next)
        if (at->kernel == kernel) {
            *out = at;
            return SUCCESS;
        }
    struct function *made = calloc(1, sizeof *made);
    if (!made)
        return OUT_OF_MEMORY;
    *made =
        (struct function){.next = module->functions,
                          .module = module,
                          .kernel = kernel,
                          .max_dynamic_shared = kernel->shared_bytes < DEFAULT_SHARED_BYTES
                                                    ? DEFAULT_SHARED_BYTES - kernel->shared_bytes
                                                    : 0,
                          .carveout = -1};
    module->functions = made;
    *out = made;
    return SUCCESS;
}

CU(cuModuleGetFunction, struct function **function, struct module *module, const char *name)
{
    LOCK;
    const int result = driver_check();
    if (result != SUCCESS)
        return result;
    if (!function || !name)
        return INVALID_VALUE;
    if (!is_module(module))
        return INVALID_HANDLE;
    const struct fth_ptx_kernel *kernel = fth_session_kernel(module->module, name);
    return kernel ? get_function(function, module, kernel) : NOT_FOUND;
}
ALIAS(cuLibraryGetKernel, cuModuleGetFunction);

CU(cuKernelGetFunction, struct function **function, struct function *kernel)
{
    LOCK;
    if (!driver_is_function(kernel) || !function)
        return INVALID_HANDLE;
    *function = kernel;
    return SUCCESS;
}

CU(cuFuncGetModule, struct module **module, struct function *function)
{
    LOCK;
    if (!driver_is_function(function))
        return INVALID_HANDLE;
    *module = function->module;
    return SUCCESS;
}
ALIAS(cuKernelGetLibrary, cuFuncGetModule);

CU(cuFuncGetName, const char **name, struct function *function)
{
    LOCK;
    if (!driver_is_function(function))
        return INVALID_HANDLE;
    *name = function->kernel->name;
    return SUCCESS;
}
ALIAS(cuKernelGetName, cuFuncGetName);

CU(cuFuncGetParamInfo, struct function *function, size_t index, size_t *offset, size_t *bytes)
{
    LOCK;
    if (!driver_is_function(function))
        return INVALID_HANDLE;
    if (index >= function->kernel->parameter_count)
        return INVALID_VALUE;
    *offset = function->kernel->parameters[index].offset;
    if (bytes)
        *bytes = function->kernel->parameters[index].bytes;
    return SUCCESS;
}
ALIAS(cuKernelGetParamInfo, cuFuncGetParamInfo);

CU(cuFuncIsLoaded, int *state, struct function *function)
{
    (void)function;
    *state = 1;
    return SUCCESS;
}

CU(cuFuncLoad, struct function *function)
{
    (void)function;
    return SUCCESS;
}

static unsigned count_kernels(const struct module *module)
{
    unsigned count = 0;
    while (fth_session_kernel_at(module->module, count))
        count++;
    return count;
}

CU(cuModuleGetFunctionCount, unsigned *count, struct module *module)
{
    LOCK;
    if (!is_module(module))
        return INVALID_HANDLE;
    *count = count_kernels(module);
    return SUCCESS;
}
ALIAS(cuLibraryGetKernelCount, cuModuleGetFunctionCount);

CU(cuModuleEnumerateFunctions, struct function **functions, unsigned count, struct module *module)
{
    LOCK;
    if (!is_module(module))
        return INVALID_HANDLE;
    for (unsigned i = 0; i < count && i < count_kernels(module); i++) {
        const int result =
            get_function(&functions[i], module, fth_session_kernel_at(module->module, i));
        if (result != SUCCESS)
            return result;
    }
    return SUCCESS;
}
ALIAS(cuLibraryEnumerateKernels, cuModuleEnumerateFunctions);

/* ---- variables ---- */

CU(cuModuleGetGlobal_v2, uint64_t *address, size_t *bytes, struct module *module, const char *name)
{
    LOCK;
    uint64_t found = 0, size = 0;
    const int result = driver_check();
    if (result != SUCCESS)
        return result;
    if (!is_module(module))
        return INVALID_HANDLE;
    if (!name || !fth_session_variable(module->module, name, &found, &size))
        return NOT_FOUND;
    if (address)
        *address = found;
    if (bytes)
        *bytes = (size_t)size;
    return SUCCESS;
}

CU(cuLibraryGetGlobal, uint64_t *address, size_t *bytes, struct module *library, const char *name)
{
    return cuModuleGetGlobal_v2(address, bytes, library, name);
}

/* A managed variable has one address for kernels and host. Its memory in this process is mapped for
 * kernels at the address that it has here. */
CU(cuLibraryGetManaged, uint64_t *address, size_t *bytes, struct module *library, const char *name)
{
    LOCK;
    uint64_t found = 0, size = 0;
    struct fth_session_block block;
    const int result = driver_check();
    if (result != SUCCESS)
        return result;
    if (!is_module(library))
        return INVALID_HANDLE;
    if (!name || !fth_session_variable(library->module, name, &found, &size))
        return NOT_FOUND;
    void *host = fth_session_host(driver.session, found, size);
    const uint64_t there = (uint64_t)(uintptr_t)host;
    if (!fth_session_find(driver.session, there, &block)) {
        if (fth_session_register(driver.session, host, size, NULL) != FTH_OK)
            return OUT_OF_MEMORY;
        fth_session_set_owner(driver.session, there, library);
    }
    if (address)
        *address = there;
    if (bytes)
        *bytes = (size_t)size;
    return SUCCESS;
}
