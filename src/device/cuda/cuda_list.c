/* Listing the NVIDIA GPUs of this machine, and the MIG slices of those that are partitioned. */
#include "device/cuda/cuda.h"

#include <stdio.h>

static enum fth_status describe(const struct fth_cuda *cuda, int ordinal, int version,
                                void (*each)(void *user, const struct fth_device_info *device),
                                void *user, struct fth_error *error)
{
    fth_cu_device device;
    char name[256] = "", id[32], detail[160], memory_text[32];
    int sms = 0, major = 0, minor = 0;
    size_t memory = 0;
    fth_cu_result result = cuda->device_get(&device, ordinal);
    if (result == 0)
        result = cuda->device_name(name, sizeof name, device);
    if (result == 0)
        result = cuda->device_attribute(&sms, FTH_CU_SMS, device);
    if (result == 0)
        result = cuda->device_attribute(&major, FTH_CU_MAJOR, device);
    if (result == 0)
        result = cuda->device_attribute(&minor, FTH_CU_MINOR, device);
    if (result == 0)
        result = cuda->device_memory(&memory, device);
    if (result != 0)
        return fth_cuda_fail(cuda, result, "cuDeviceGet", error);
    snprintf(id, sizeof id, "cuda:%d", ordinal);
    snprintf(detail, sizeof detail, "cc %d.%d, %d SMs, %s, CUDA %d.%d", major, minor, sms,
             fth_size_format((double)memory, memory_text, sizeof memory_text), version / 1000,
             version % 1000 / 10);
    each(user, &(struct fth_device_info){"cuda", id, name, detail});
    return FTH_OK;
}

enum fth_status fth_cuda_list(void (*each)(void *user, const struct fth_device_info *device),
                              void *user, struct fth_error *error)
{
    struct fth_cuda cuda;
    enum fth_status status = fth_cuda_open(&cuda, error);
    if (status != FTH_OK)
        return status;
    int count = 0, version = 0;
    fth_cu_result result = cuda.device_count(&count);
    if (result == 0)
        result = cuda.driver_version(&version);
    if (result != 0)
        status = fth_cuda_fail(&cuda, result, "cuDeviceGetCount", error);
    else if (count == 0)
        status = fth_fail(error, FTH_UNAVAILABLE, "call CUDA driver", NULL, "it reports no GPU");
    /* A GPU that fails does not hide the others; the first failure is reported. */
    for (int i = 0; i < count && status != FTH_NO_MEMORY; i++) {
        struct fth_error fault = FTH_NO_ERROR;
        if (describe(&cuda, i, version, each, user, &fault) != FTH_OK && status == FTH_OK)
            status = fth_error_move(error, &fault);
    }
    fth_cuda_close(&cuda);
    struct fth_nvml nvml = {.handle = NULL};
    if (status == FTH_OK)
        status = fth_nvml_open(&nvml, error);
    if (nvml.handle)
        fth_nvml_slices(&nvml, each, user);
    fth_nvml_close(&nvml);
    return status;
}
