/* Functions that a program finds with dlopen, dlsym and cuGetProcAddress, by version. */
#include "driver_api.h"

#include <dlfcn.h>

/* The program has a symbol with the name of a function of the API. */
int cuCtxGetApiVersion;

static int (*get)(const char *, void **, int, uint64_t, int *);
static void *library;

static void *symbol(const char *name)
{
    void *found = dlsym(library, name);
    if (!found) {
        fprintf(stderr, "%s is missing\n", name);
        exit(1);
    }
    return found;
}

static void check(const char *name, int version, uint64_t flags, const char *expected)
{
    void *found;
    int status;
    const int result = get(name, &found, version, flags, &status);
    if (result == 0 && status == 0 && found == symbol(expected))
        return;
    fprintf(stderr, "%s, version %d: %d\n", name, version, result);
    exit(1);
}

int main(void)
{
    void *found;
    int status;
    library = dlopen("libcuda.so.1", RTLD_NOW);
    ASSERT(library != NULL);
    *(void **)&get = symbol("cuGetProcAddress_v2");
    check("cuInit", 12000, 0, "cuInit");
    check("cuMemAlloc", 12000, 0, "cuMemAlloc_v2");
    check("cuMemAlloc", 2000, 0, "cuMemAlloc");
    check("cuCtxCreate", 11030, 0, "cuCtxCreate_v2");
    check("cuCtxCreate", 12000, 0, "cuCtxCreate_v3");
    check("cuCtxCreate", 13000, 0, "cuCtxCreate_v4");
    check("cuStreamGetCaptureInfo", 10010, 0, "cuStreamGetCaptureInfo");
    check("cuStreamGetCaptureInfo", 12000, 0, "cuStreamGetCaptureInfo_v2");
    check("cuStreamGetCaptureInfo", 12030, 0, "cuStreamGetCaptureInfo_v3");
    check("cuMemPrefetchAsync", 12010, 0, "cuMemPrefetchAsync");
    check("cuMemPrefetchAsync", 12020, 0, "cuMemPrefetchAsync_v2");
    check("cuMemcpyHtoD", 12000, 2, "cuMemcpyHtoD_v2_ptds");
    check("cuLaunchKernel", 12000, 2, "cuLaunchKernel_ptsz");
    check("cuLaunchKernel", 12000, 1, "cuLaunchKernel");
    check("cuGetProcAddress", 12000, 0, "cuGetProcAddress_v2");
    check("cuCtxGetApiVersion", 12000, 0, "cuCtxGetApiVersion");
    ASSERT(get("cuCtxGetApiVersion", &found, 12000, 0, NULL) == 0);
    ASSERT(found != &cuCtxGetApiVersion);
    CHECK(get("cuGraphAddDependencies", &found, 9000, 0, &status));
    ASSERT(status == 2 && found == NULL); /* CUDA 9 did not have it */
    CHECK(get("cuNoSuchFunction", &found, 12000, 0, &status));
    ASSERT(status == 1 && found == NULL);
    EXPECT(1, get(NULL, &found, 12000, 0, &status));
    dlclose(library);
    return succeed();
}
