/* Finding functions by name, and the tables of the driver that are not documented. The functions
 * that are not implemented are made from functions.txt, the list of the driver's functions: each of
 * them only reports its name. */
#define _GNU_SOURCE /* dladdr */
#include "cuda_driver.h"

#include <dlfcn.h>
#include <stdio.h>

/* The functions that have several variants, and the versions of CUDA (1000 * major + 10 * minor)
 * that introduced each of them. The second one has the suffix "_v2", and so on. A program that asks
 * for a function names the version that it was written for, and gets the newest variant that this
 * version had. */
static const struct {
    const char *name;
    int versions[4];
} variants[] = {
    {"cuArray3DCreate", {2000, 3020}},
    {"cuArray3DGetDescriptor", {2000, 3020}},
    {"cuArrayCreate", {2000, 3020}},
    {"cuArrayGetDescriptor", {2000, 3020}},
    {"cuCtxCreate", {2000, 3020, 11040, 12050}},
    {"cuCtxDestroy", {2000, 4000}},
    {"cuCtxGetDevice", {2000, 13000}},
    {"cuCtxPopCurrent", {2000, 4000}},
    {"cuCtxPushCurrent", {2000, 4000}},
    {"cuCtxSynchronize", {2000, 13000}},
    {"cuDeviceGetUuid", {9020, 11040}},
    {"cuDevicePrimaryCtxRelease", {7000, 11000}},
    {"cuDevicePrimaryCtxReset", {7000, 11000}},
    {"cuDevicePrimaryCtxSetFlags", {7000, 11000}},
    {"cuDeviceTotalMem", {2000, 3020}},
    {"cuEventDestroy", {2000, 4000}},
    {"cuEventElapsedTime", {2000, 12080}},
    {"cuGetProcAddress", {11030, 12000}},
    {"cuGraphAddDependencies", {10000, 12030}},
    {"cuGraphAddKernelNode", {10000, 12000}},
    {"cuGraphAddNode", {12020, 12030}},
    {"cuGraphExecKernelNodeSetParams", {10010, 12000}},
    {"cuGraphExecUpdate", {10020, 12000}},
    {"cuGraphGetEdges", {10000, 12030}},
    {"cuGraphInstantiate", {10000, 11000}},
    {"cuGraphKernelNodeGetParams", {10000, 12000}},
    {"cuGraphKernelNodeSetParams", {10000, 12000}},
    {"cuGraphNodeGetDependencies", {10000, 12030}},
    {"cuGraphNodeGetDependentNodes", {10000, 12030}},
    {"cuGraphRemoveDependencies", {10000, 12030}},
    {"cuGraphicsResourceGetMappedPointer", {3000, 3020}},
    {"cuGraphicsResourceSetMapFlags", {3000, 6050}},
    {"cuIpcOpenMemHandle", {4010, 11000}},
    {"cuLinkAddData", {5050, 6050}},
    {"cuLinkAddFile", {5050, 6050}},
    {"cuLinkCreate", {5050, 6050}},
    {"cuMemAdvise", {8000, 12020}},
    {"cuMemAlloc", {2000, 3020}},
    {"cuMemAllocHost", {2000, 3020}},
    {"cuMemAllocPitch", {2000, 3020}},
    {"cuMemFree", {2000, 3020}},
    {"cuMemGetAddressRange", {2000, 3020}},
    {"cuMemGetInfo", {2000, 3020}},
    {"cuMemHostGetDevicePointer", {2020, 3020}},
    {"cuMemHostRegister", {4000, 6050}},
    {"cuMemPrefetchAsync", {8000, 12020}},
    {"cuMemcpy2D", {2000, 3020}},
    {"cuMemcpy2DAsync", {2000, 3020}},
    {"cuMemcpy2DUnaligned", {2000, 3020}},
    {"cuMemcpy3D", {2000, 3020}},
    {"cuMemcpy3DAsync", {2000, 3020}},
    {"cuMemcpy3DBatchAsync", {12080, 13000}},
    {"cuMemcpyAtoA", {2000, 3020}},
    {"cuMemcpyAtoD", {2000, 3020}},
    {"cuMemcpyAtoH", {2000, 3020}},
    {"cuMemcpyAtoHAsync", {2000, 3020}},
    {"cuMemcpyBatchAsync", {12080, 13000}},
    {"cuMemcpyDtoA", {2000, 3020}},
    {"cuMemcpyDtoD", {2000, 3020}},
    {"cuMemcpyDtoDAsync", {3000, 3020}},
    {"cuMemcpyDtoH", {2000, 3020}},
    {"cuMemcpyDtoHAsync", {2000, 3020}},
    {"cuMemcpyHtoA", {2000, 3020}},
    {"cuMemcpyHtoAAsync", {2000, 3020}},
    {"cuMemcpyHtoD", {2000, 3020}},
    {"cuMemcpyHtoDAsync", {2000, 3020}},
    {"cuMemsetD16", {2000, 3020}},
    {"cuMemsetD2D16", {2000, 3020}},
    {"cuMemsetD2D32", {2000, 3020}},
    {"cuMemsetD2D8", {2000, 3020}},
    {"cuMemsetD32", {2000, 3020}},
    {"cuMemsetD8", {2000, 3020}},
    {"cuModuleGetGlobal", {2000, 3020}},
    {"cuStreamBatchMemOp", {8000, 11070}},
    {"cuStreamBeginCapture", {10000, 10010}},
    {"cuStreamDestroy", {2000, 4000}},
    {"cuStreamGetCaptureInfo", {10010, 11030, 12030}},
    {"cuStreamGetCtx", {9020, 12050}},
    {"cuStreamUpdateCaptureDependencies", {11030, 12030}},
    {"cuStreamWaitValue32", {8000, 11070}},
    {"cuStreamWaitValue64", {9000, 11070}},
    {"cuStreamWriteValue32", {8000, 11070}},
    {"cuStreamWriteValue64", {9000, 11070}},
    {"cuTexRefGetAddress", {2000, 3020}},
    {"cuTexRefSetAddress", {2000, 3020}},
    {"cuTexRefSetAddress2D", {2020, 3020, 4010}},
};

/* Finds a function in this library only: the program may have symbols of the same names. */
static void *find_symbol(const char *name)
{
    static void *library;
    static int any; /* an address in this library */
    Dl_info info;
    if (!library && dladdr(&any, &info) != 0)
        library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    return library ? dlsym(library, name) : NULL;
}

/* Returns the suffix of the variant for a version of CUDA, or NULL if the version is too old. */
static const char *suffix_for(const char *name, int version)
{
    static const char *const suffixes[] = {"", "_v2", "_v3", "_v4"};
    const char *suffix = NULL;
    for (size_t i = 0; i < FTH_COUNT(variants); i++)
        if (strcmp(variants[i].name, name) == 0) {
            for (size_t v = 0; v < FTH_COUNT(suffixes) && variants[i].versions[v]; v++)
                if (variants[i].versions[v] <= version)
                    suffix = suffixes[v];
            return suffix;
        }
    return "";
}

CU(cuGetProcAddress_v2, const char *name, void **function, int version, uint64_t flags, int *status)
{
    LOCK;
    enum { FOUND = 0, ABSENT = 1, TOO_OLD = 2, PER_THREAD = 2 };
    static const char *const ends[] = {"_ptsz", "_ptds", ""};
    char full[256];
    if (!name || !function || strncmp(name, "cu", 2) != 0 || flags > PER_THREAD)
        return INVALID_VALUE;
    *function = NULL;
    const char *suffix = suffix_for(name, version);
    for (size_t i = flags & PER_THREAD ? 0 : 2; suffix && !*function && i < FTH_COUNT(ends); i++) {
        snprintf(full, sizeof full, "%s%s%s", name, suffix, ends[i]);
        *function = find_symbol(full);
    }
    if (status)
        *status = *function ? FOUND : suffix ? ABSENT : TOO_OLD;
    return *function || status ? SUCCESS : NOT_FOUND;
}
ALIAS(cuGetProcAddress_v2_ptsz, cuGetProcAddress_v2);

CU(cuGetProcAddress, const char *name, void **function, int version, uint64_t flags)
{
    return cuGetProcAddress_v2(name, function, version, flags, NULL);
}

/* Returns whether code belongs to NVRTC, which works without the tables. */
static bool is_nvrtc(const void *code)
{
    static const char library[] = "libnvrtc";
    Dl_info info;
    if (!dladdr(code, &info) || !info.dli_fname)
        return false;
    const char *slash = strrchr(info.dli_fname, '/');
    return strncmp(slash ? slash + 1 : info.dli_fname, library, sizeof library - 1) == 0;
}

/* The runtime that nvcc links statically by default asks for tables that are not documented. */
CU(cuGetExportTable, const void **table, const void *id)
{
    static bool reported;
    LOCK;
    (void)id;
    if (table)
        *table = NULL;
    if (is_nvrtc(__builtin_return_address(0)))
        return NOT_SUPPORTED;
    if (!reported)
        driver_report("error", "the program is linked with the static CUDA runtime, which needs "
                               "NVIDIA's driver; link it again with 'nvcc -cudart shared'");
    reported = true;
    return NOT_SUPPORTED;
}
