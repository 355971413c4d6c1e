/* Loading the CUDA driver library. Its name, libcuda.so.1, is the same in all versions. The table
 * lists the functions that fathom calls; those marked true are optional. */
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
    {{"cuDeviceGetUuid_v2", "cuDeviceGetUuid"}, offsetof(struct fth_cuda, device_uuid), true},
    {{"cuDeviceGetUuid"}, offsetof(struct fth_cuda, device_gpu_uuid), true},
    {{"cuDeviceGetPCIBusId"}, offsetof(struct fth_cuda, device_pci), true},
    {{"cuDeviceGetTexture1DLinearMaxWidth"}, offsetof(struct fth_cuda, device_texels), true},
    {{"cuDevicePrimaryCtxRetain"}, offsetof(struct fth_cuda, context_retain), true},
    {{"cuDevicePrimaryCtxRelease_v2", "cuDevicePrimaryCtxRelease"},
     offsetof(struct fth_cuda, context_release),
     true},
    {{"cuCtxSetCurrent"}, offsetof(struct fth_cuda, context_set), true},
    {{"cuCtxSynchronize"}, offsetof(struct fth_cuda, synchronize), true},
    {{"cuStreamQuery"}, offsetof(struct fth_cuda, stream_query), true},
    {{"cuModuleLoadDataEx"}, offsetof(struct fth_cuda, module_load), true},
    {{"cuModuleUnload"}, offsetof(struct fth_cuda, module_unload), true},
    {{"cuModuleGetFunction"}, offsetof(struct fth_cuda, module_function), true},
    {{"cuModuleGetGlobal_v2"}, offsetof(struct fth_cuda, module_symbol), true},
    {{"cuLinkCreate_v2"}, offsetof(struct fth_cuda, link_create), true},
    {{"cuLinkAddData_v2"}, offsetof(struct fth_cuda, link_add), true},
    {{"cuLinkComplete"}, offsetof(struct fth_cuda, link_complete), true},
    {{"cuLinkDestroy"}, offsetof(struct fth_cuda, link_destroy), true},
    {{"cuFuncSetAttribute"}, offsetof(struct fth_cuda, function_set), true},
    {{"cuMemAlloc_v2"}, offsetof(struct fth_cuda, memory_alloc), true},
    {{"cuMemFree_v2"}, offsetof(struct fth_cuda, memory_free), true},
    {{"cuMemGetInfo_v2"}, offsetof(struct fth_cuda, memory_info), true},
    {{"cuMemcpyHtoD_v2"}, offsetof(struct fth_cuda, memory_upload), true},
    {{"cuMemcpyDtoH_v2"}, offsetof(struct fth_cuda, memory_download), true},
    {{"cuMemsetD8_v2"}, offsetof(struct fth_cuda, memory_fill), true},
    {{"cuTexObjectCreate"}, offsetof(struct fth_cuda, texture_create), true},
    {{"cuTexObjectDestroy"}, offsetof(struct fth_cuda, texture_destroy), true},
    {{"cuSurfObjectCreate"}, offsetof(struct fth_cuda, surface_create), true},
    {{"cuSurfObjectDestroy"}, offsetof(struct fth_cuda, surface_destroy), true},
    {{"cuArray3DCreate_v2"}, offsetof(struct fth_cuda, array_create), true},
    {{"cuArrayDestroy"}, offsetof(struct fth_cuda, array_destroy), true},
    {{"cuMemcpy3D_v2"}, offsetof(struct fth_cuda, array_copy), true},
    {{"cuLaunchKernel"}, offsetof(struct fth_cuda, launch), true},
    {{"cuLaunchKernelEx"}, offsetof(struct fth_cuda, launch_ex), true},
    {{"cuTensorMapEncodeTiled"}, offsetof(struct fth_cuda, tensor_map_tiled), true},
    {{"cuTensorMapEncodeIm2col"}, offsetof(struct fth_cuda, tensor_map_im2col), true},
    {{"cuEventCreate"}, offsetof(struct fth_cuda, event_create), true},
    {{"cuEventDestroy_v2"}, offsetof(struct fth_cuda, event_destroy), true},
    {{"cuEventRecord"}, offsetof(struct fth_cuda, event_record), true},
    {{"cuEventElapsedTime"}, offsetof(struct fth_cuda, event_elapsed), true},
    {{"cuStreamCreate"}, offsetof(struct fth_cuda, stream_create), true},
    {{"cuStreamDestroy_v2"}, offsetof(struct fth_cuda, stream_destroy), true},
    {{"cuStreamSynchronize"}, offsetof(struct fth_cuda, stream_synchronize), true},
    {{"cuMemAllocHost_v2"}, offsetof(struct fth_cuda, host_alloc), true},
    {{"cuMemFreeHost"}, offsetof(struct fth_cuda, host_free), true},
    {{"cuMemHostAlloc"}, offsetof(struct fth_cuda, host_map), true},
    {{"cuMemHostGetDevicePointer_v2"}, offsetof(struct fth_cuda, host_address), true},
    {{"cuMemAllocManaged"}, offsetof(struct fth_cuda, managed_alloc), true},
    {{"cuMemPrefetchAsync"}, offsetof(struct fth_cuda, prefetch), true},
    {{"cuMemcpyDtoDAsync_v2"}, offsetof(struct fth_cuda, copy_on_device), true},
    {{"cuMemcpyHtoDAsync_v2"}, offsetof(struct fth_cuda, copy_to_device), true},
    {{"cuMemcpyDtoHAsync_v2"}, offsetof(struct fth_cuda, copy_from_device), true},
    {{"cuMemcpyPeerAsync"}, offsetof(struct fth_cuda, copy_peer), true},
    {{"cuMemAddressReserve"}, offsetof(struct fth_cuda, address_reserve), true},
    {{"cuMemAddressFree"}, offsetof(struct fth_cuda, address_free), true},
    {{"cuMemMap"}, offsetof(struct fth_cuda, address_map), true},
    {{"cuMemUnmap"}, offsetof(struct fth_cuda, address_unmap), true},
    {{"cuMemSetAccess"}, offsetof(struct fth_cuda, address_access), true},
    {{"cuMemCreate"}, offsetof(struct fth_cuda, physical_create), true},
    {{"cuMemRelease"}, offsetof(struct fth_cuda, physical_release), true},
    {{"cuDeviceCanAccessPeer"}, offsetof(struct fth_cuda, peer_can_access), true},
    {{"cuCtxEnablePeerAccess"}, offsetof(struct fth_cuda, peer_enable), true},
};

const char *fth_cuda_text(const struct fth_cuda *cuda, fth_cu_result result)
{
    const char *text = NULL;
    if (cuda->error_text)
        cuda->error_text(result, &text);
    return text ? text : "unknown error";
}

/* Maps a CUresult to a status. What the GPU or the driver cannot do is FTH_UNSUPPORTED; all other
 * failures mean that the GPU does not work. */
static enum fth_status status_of(fth_cu_result result)
{
    switch (result) {
    case FTH_CU_OUT_OF_MEMORY: return FTH_NO_MEMORY;
    case FTH_CU_NOT_FOUND: return FTH_NOT_FOUND;
    case FTH_CU_INVALID_IMAGE:
    case FTH_CU_NO_BINARY_FOR_GPU:
    case FTH_CU_INVALID_PTX:
    case FTH_CU_JIT_COMPILER_NOT_FOUND:
    case FTH_CU_UNSUPPORTED_PTX_VERSION:
    case FTH_CU_JIT_COMPILATION_DISABLED:
    case FTH_CU_NOT_SUPPORTED:
    case FTH_CU_INVALID_CLUSTER_SIZE: return FTH_UNSUPPORTED;
    default: return FTH_UNAVAILABLE;
    }
}

enum fth_status fth_cuda_fail(const struct fth_cuda *cuda, fth_cu_result result, const char *call,
                              struct fth_error *error)
{
    return fth_fail(error, status_of(result), "call CUDA driver", call, "%s (error %d)",
                    fth_cuda_text(cuda, result), result);
}

enum fth_status fth_cuda_missing(const char *call, struct fth_error *error)
{
    return fth_fail(error, FTH_UNSUPPORTED, "call CUDA driver", call,
                    "the driver is too old: it has no such function");
}

enum fth_status fth_cuda_find(struct fth_cuda *cuda, struct fth_error *error)
{
    static const char *const sonames[] = {"libcuda.so.1", NULL};
    *cuda = (struct fth_cuda){.handle = NULL};
    enum fth_status status =
        fth_dl_open(sonames, symbols, FTH_COUNT(symbols), cuda, &cuda->handle, error);
    if (status != FTH_OK)
        fth_error_context(error, "no usable NVIDIA driver");
    return status;
}

enum fth_status fth_cuda_initialise(const struct fth_cuda *cuda, struct fth_error *error)
{
    fth_cu_result result = cuda->init(0);
    return result == 0 ? FTH_OK : fth_cuda_fail(cuda, result, "cuInit", error);
}

enum fth_status fth_cuda_open(struct fth_cuda *cuda, struct fth_error *error)
{
    FTH_TRY(fth_cuda_find(cuda, error));
    enum fth_status status = fth_cuda_initialise(cuda, error);
    if (status != FTH_OK)
        fth_cuda_close(cuda);
    return status;
}

void fth_cuda_close(struct fth_cuda *cuda)
{
    fth_dl_close(cuda->handle);
    *cuda = (struct fth_cuda){.handle = NULL};
}
