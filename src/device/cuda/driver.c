/* Opening NVIDIA's driver: the library that comes with it, under the name that it keeps over all
 * versions, and the functions that we call. */
#include "device/cuda/cuda.h"

static const struct fth_dl_symbol symbols[] = {
    {{"cuInit"}, offsetof(struct fth_cuda, init), false},
    {{"cuDriverGetVersion"}, offsetof(struct fth_cuda, driver_version), false},
    {{"cuDeviceGetCount"}, offsetof(struct fth_cuda, device_count), false},
    {{"cuDeviceGet"}, offsetof(struct fth_cuda, device_get), false},
    {{"cuDeviceGetName"}, offsetof(struct fth_cuda, device_name), false},
    {{"cuDeviceGetAttribute"}, offsetof(struct fth_cuda, device_attribute), false},
    {{"cuDeviceTotalMem_v2"}, offsetof(struct fth_cuda, device_memory), false},
    {{"cuGetErrorString"}, offsetof(struct fth_cuda, error_text), true},
    {{"cuDevicePrimaryCtxRetain"}, offsetof(struct fth_cuda, context_retain), true},
    {{"cuDevicePrimaryCtxRelease_v2", "cuDevicePrimaryCtxRelease"},
     offsetof(struct fth_cuda, context_release),
     true},
    {{"cuCtxSetCurrent"}, offsetof(struct fth_cuda, context_set), true},
    {{"cuCtxSynchronize"}, offsetof(struct fth_cuda, synchronize), true},
    {{"cuModuleLoadDataEx"}, offsetof(struct fth_cuda, module_load), true},
    {{"cuModuleUnload"}, offsetof(struct fth_cuda, module_unload), true},
    {{"cuModuleGetFunction"}, offsetof(struct fth_cuda, module_function), true},
    {{"cuFuncSetAttribute"}, offsetof(struct fth_cuda, function_set), true},
    {{"cuMemAlloc_v2"}, offsetof(struct fth_cuda, memory_alloc), true},
    {{"cuMemFree_v2"}, offsetof(struct fth_cuda, memory_free), true},
    {{"cuMemcpyHtoD_v2"}, offsetof(struct fth_cuda, memory_upload), true},
    {{"cuMemcpyDtoH_v2"}, offsetof(struct fth_cuda, memory_download), true},
    {{"cuMemsetD8_v2"}, offsetof(struct fth_cuda, memory_fill), true},
    {{"cuLaunchKernel"}, offsetof(struct fth_cuda, launch), true},
};

enum fth_status fth_cuda_fail(const struct fth_cuda *cuda, fth_cu_result result, const char *call,
                              struct fth_error *error)
{
    const char *text = NULL;
    if (cuda->error_text)
        cuda->error_text(result, &text);
    return fth_fail(error, FTH_UNAVAILABLE, "ask the CUDA driver", call, "%s (error %d)",
                    text ? text : "it failed", result);
}

enum fth_status fth_cuda_open(struct fth_cuda *cuda, struct fth_error *error)
{
    static const char *const sonames[] = {"libcuda.so.1", NULL};
    *cuda = (struct fth_cuda){.handle = NULL};
    enum fth_status status =
        fth_dl_open(sonames, symbols, FTH_COUNT(symbols), cuda, &cuda->handle, error);
    if (status != FTH_OK) {
        fth_error_context(error, "no NVIDIA driver that can be used");
        return status;
    }
    fth_cu_result result = cuda->init(0);
    if (result != 0) {
        status = fth_cuda_fail(cuda, result, "cuInit", error);
        fth_cuda_close(cuda);
    }
    return status;
}

void fth_cuda_close(struct fth_cuda *cuda)
{
    fth_dl_close(cuda->handle);
    *cuda = (struct fth_cuda){.handle = NULL};
}
