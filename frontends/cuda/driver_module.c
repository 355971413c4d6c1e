/* Modules, libraries and their kernels. A library is a module here. */
#include "cuda_driver.h"

#include <stdio.h>

struct module {
    struct module *next;
    struct fth_session_module *module;
    struct function *functions; /* those that the program has asked for */
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

/* What the driver's functions accept as an image begins with one of these. */
enum { WRAPPER_MAGIC = 0x466243b1 };

/* Returns the size of an image that is a text. */
static size_t text_size(const char *text)
{
    return strlen(text);
}

/* Loads an image: PTX, a fat binary, or the structure that nvcc puts around one. */
static int load(struct module **out, const void *image, const char *name)
{
    struct fth_error error = FTH_NO_ERROR;
    const int result = driver_check();
    if (result != SUCCESS)
        return result;
    if (!out || !image)
        return INVALID_VALUE;
    if (field(image, 0, 4) == WRAPPER_MAGIC)
        image = pointer_field(image, 8);
    struct module *module = calloc(1, sizeof *module);
    if (!module)
        return OUT_OF_MEMORY;
    const bool is_text = ((const char *)image)[0] == '/' || ((const char *)image)[0] == '.' ||
                         ((const char *)image)[0] == '\n';
    enum fth_status status = is_text ? fth_session_load(driver.session, name, image,
                                                        text_size(image), &module->module, &error)
                                     : fth_session_load_image(driver.session, name, image,
                                                              (uint32_t)driver_attribute(75) * 10 +
                                                                  (uint32_t)driver_attribute(76),
                                                              &module->module, &error);
    if (status != FTH_OK) {
        char text[sizeof error];
        driver_report("error", "%s", fth_error_text(&error, text, sizeof text));
        free(module);
        return status == FTH_NO_MEMORY     ? OUT_OF_MEMORY
               : status == FTH_UNSUPPORTED ? NO_BINARY_FOR_GPU
               : is_text                   ? INVALID_PTX
                                           : INVALID_IMAGE;
    }
    module->next = modules;
    modules = module;
    *out = module;
    return SUCCESS;
}

CU(cuModuleLoadData, struct module **module, const void *image)
{
    LOCK;
    return load(module, image, "the module");
}
ALIAS(cuModuleLoadFatBinary, cuModuleLoadData);

CU(cuModuleLoadDataEx, struct module **module, const void *image, unsigned count,
   const int *options, void **values)
{
    (void)count, (void)options, (void)values;
    return cuModuleLoadData(module, image);
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
    const int result = content.size < 16 ? INVALID_IMAGE : load(module, content.data, path);
    fth_buffer_fini(&content);
    return result;
}

CU(cuModuleLoad, struct module **module, const char *path)
{
    LOCK;
    return load_file(module, path);
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
    fth_session_unload(driver.session, module->module);
    while (module->functions) {
        struct function *next = module->functions->next;
        free(module->functions);
        module->functions = next;
    }
    free(module);
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
    return cuModuleLoadData(library, image);
}

CU(cuLibraryLoadFromFile, struct module **library, const char *path, int *options, void **values,
   unsigned count, int *library_options, void **library_values, unsigned library_count)
{
    (void)options, (void)values, (void)count;
    (void)library_options, (void)library_values, (void)library_count;
    return cuModuleLoad(library, path);
}

CU(cuLibraryGetModule, struct module **module, struct module *library)
{
    *module = library;
    return SUCCESS;
}

/* ---- kernels ---- */

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
    *made = (struct function){.next = module->functions,
                              .module = module,
                              .kernel = kernel,
                              .max_dynamic_shared = 48 << 10,
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
    if (!fth_session_find(driver.session, there, &block) &&
        fth_session_register(driver.session, host, size, NULL) != FTH_OK)
        return OUT_OF_MEMORY;
    if (address)
        *address = there;
    if (bytes)
        *bytes = (size_t)size;
    return SUCCESS;
}
