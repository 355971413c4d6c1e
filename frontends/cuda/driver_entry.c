/* Finding functions by name, and the tables of the driver that are not documented. The functions
 * that are not implemented are made from functions.txt, the list of the driver's functions: each of
 * them only reports its name. */
#define _GNU_SOURCE /* RTLD_DEFAULT */
#include "cuda_driver.h"

#include <dlfcn.h>
#include <stdio.h>

/* A program that asks for a function names the version of the API that it was written for. The
 * newest variants come first; those of older versions have other parameters. */
static void *find(const char *name, const char *suffix)
{
    static const char *const versions[] = {"_v4", "_v3", "_v2", ""};
    /* Functions whose newest variant has other parameters than the one that most programs know. */
    static const char *const plain[] = {"cuMemPrefetchAsync", "cuMemAdvise", "cuStreamGetCtx",
                                        "cuCtxCreate"};
    char full[256];
    for (size_t i = 0; i < FTH_COUNT(versions); i++) {
        bool skip = false;
        for (size_t p = 0; p < FTH_COUNT(plain); p++)
            skip = skip || (strcmp(plain[p], name) == 0 && versions[i][0] &&
                            strcmp(versions[i], "_v2") != 0);
        for (size_t p = 0; p < 3; p++)
            skip = skip || (strcmp(plain[p], name) == 0 && versions[i][0]);
        if (skip)
            continue;
        snprintf(full, sizeof full, "%s%s%s", name, versions[i], suffix);
        void *found = dlsym(RTLD_DEFAULT, full);
        if (found)
            return found;
    }
    return NULL;
}

CU(cuGetProcAddress_v2, const char *name, void **function, int version, uint64_t flags, int *status)
{
    enum { FOUND = 0, ABSENT = 1, PER_THREAD = 2 };
    (void)version;
    if (!name || !function)
        return INVALID_VALUE;
    *function = flags & PER_THREAD ? find(name, "_ptsz") : NULL;
    if (!*function && flags & PER_THREAD)
        *function = find(name, "_ptds");
    if (!*function)
        *function = find(name, "");
    if (status)
        *status = *function ? FOUND : ABSENT;
    return *function ? SUCCESS : NOT_FOUND;
}

CU(cuGetProcAddress, const char *name, void **function, int version, uint64_t flags)
{
    return cuGetProcAddress_v2(name, function, version, flags, NULL);
}

/* The runtime that nvcc links statically by default asks for tables that are not documented. */
CU(cuGetExportTable, const void **table, const void *id)
{
    static bool reported;
    LOCK;
    (void)id;
    if (table)
        *table = NULL;
    if (!reported)
        driver_report("error", "the program is linked with the static CUDA runtime, which needs "
                               "NVIDIA's driver; link it again with 'nvcc -cudart shared'");
    reported = true;
    return NOT_SUPPORTED;
}
