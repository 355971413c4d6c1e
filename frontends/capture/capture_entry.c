/* How a program finds the functions of the driver. It is linked with them, or it asks dlsym, or it
 * asks cuGetProcAddress. In all three cases it gets a wrapper of this library, if there is one. */
#define _GNU_SOURCE /* RTLD_NEXT, dladdr, dlvsym */
#include "capture.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>

/* dlsym of the C library must see the caller of this library's dlsym: it depends on the caller
 * which object is the next one. So the call must be the last one, as a jump. */
#if defined(__has_attribute)
#if __has_attribute(musttail)
#define JUMP __attribute__((musttail))
#endif
#endif
#ifndef JUMP
#define JUMP
#endif

typedef void *lookup(void *handle, const char *name);

enum use { WRAPPED, CALLED };

static const struct {
    const char *name;
    enum use use;
} functions[] = {
#define X(name, use) {#name, use},
    FUNCTIONS(X)
#undef X
#define X(name) {#name, WRAPPED},
        WRITERS(X)
#undef X
};

/* What was found so far. Threads that look for the same function find the same pointer, so it does
 * not matter which of them stores it. */
static struct {
    _Atomic(lookup *) dlsym;
    _Atomic(void *) driver, self;
    _Atomic(void *) real[FUNCTION_COUNT];
} found;

/* Returns dlsym of the C library. Its version differs between architectures, and is a newer one in
 * the C libraries that contain libdl. */
static lookup *real_dlsym(void)
{
    static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.17", "GLIBC_2.2.5"};
    lookup *real = atomic_load(&found.dlsym);
    for (size_t i = 0; !real && i < FTH_COUNT(versions); i++) {
        void *symbol = dlvsym(RTLD_NEXT, "dlsym", versions[i]);
        memcpy(&real, &symbol, sizeof real);
    }
    atomic_store(&found.dlsym, real);
    return real;
}

/* Returns the driver, if the program has loaded it. */
static void *driver_library(void)
{
    void *driver = atomic_load(&found.driver);
    if (!driver) {
        driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
        atomic_store(&found.driver, driver);
    }
    return driver;
}

/* Returns this library. */
static void *own_library(void)
{
    static const int any; /* an address in this library */
    void *self = atomic_load(&found.self);
    Dl_info info;
    if (!self && dladdr(&any, &info) != 0) {
        self = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
        atomic_store(&found.self, self);
    }
    return self;
}

void *capture_real(enum function_index function)
{
    void *real = atomic_load_explicit(&found.real[function], memory_order_relaxed);
    if (!real && driver_library()) {
        real = real_dlsym()(driver_library(), functions[function].name);
        atomic_store_explicit(&found.real[function], real, memory_order_relaxed);
    }
    return real;
}

/* Returns the index of the wrapper with this name, or FUNCTION_COUNT. */
static size_t find_wrapper(const char *name)
{
    size_t i = 0;
    while (i < FUNCTION_COUNT &&
           (functions[i].use != WRAPPED || strcmp(functions[i].name, name) != 0))
        i++;
    return i;
}

static void *wrapper(size_t index)
{
    return real_dlsym()(own_library(), functions[index].name);
}

EXPORT void *dlsym(void *handle, const char *name)
{
    lookup *real = real_dlsym();
    if (name[0] == 'c' && name[1] == 'u' && handle != RTLD_NEXT) {
        const size_t index = find_wrapper(name);
        /* A program that looks for the driver in vain does not find the wrapper. */
        if (index < FUNCTION_COUNT)
            return real(handle, name) && driver_library() ? wrapper(index) : NULL;
    }
    JUMP return real(handle, name);
}

/* Returns whether the name of a wrapper is that of a function of the API, with or without a suffix
 * for its version and for the default stream per thread. */
static bool is_variant(const char *wrapped, const char *name)
{
    const size_t length = strlen(name);
    const char *suffix = wrapped + length;
    if (strncmp(wrapped, name, length) != 0)
        return false;
    if (strncmp(suffix, "_v", 2) == 0 && suffix[2] >= '2' && suffix[2] <= '9')
        suffix += 3;
    return !*suffix || strcmp(suffix, "_ptsz") == 0 || strcmp(suffix, "_ptds") == 0;
}

/* Replaces a function that the driver has returned by its wrapper, if it has one. */
static void replace(const char *name, void **function)
{
    for (size_t i = 0; name && function && *function && i < FUNCTION_COUNT; i++)
        if (functions[i].use == WRAPPED && is_variant(functions[i].name, name) &&
            capture_real((enum function_index)i) == *function) {
            *function = wrapper(i);
            return;
        }
}

WRAP(cuGetProcAddress, const char *name, void **function, int version, uint64_t flags)
{
    const int result = CALL(cuGetProcAddress, (const char *, void **, int, uint64_t), name,
                            function, version, flags);
    if (result == SUCCESS)
        replace(name, function);
    return result;
}

WRAP(cuGetProcAddress_v2, const char *name, void **function, int version, uint64_t flags,
     int *status)
{
    const int result = CALL(cuGetProcAddress_v2, (const char *, void **, int, uint64_t, int *),
                            name, function, version, flags, status);
    if (result == SUCCESS)
        replace(name, function);
    return result;
}
