/* The part of NVIDIA's driver interface that fathom uses, declared from its documentation, so that
 * neither a toolkit nor its headers are needed. The library is opened when the program runs. */
#ifndef FTH_CUDA_H
#define FTH_CUDA_H

#include "device/device.h"

typedef int fth_cu_result; /* 0 is success */
typedef int fth_cu_device;

struct fth_cuda {
    void *handle;
    fth_cu_result (*init)(unsigned flags);
    fth_cu_result (*driver_version)(int *version);
    fth_cu_result (*device_count)(int *count);
    fth_cu_result (*device_get)(fth_cu_device *device, int ordinal);
    fth_cu_result (*device_name)(char *name, int size, fth_cu_device device);
    fth_cu_result (*device_attribute)(int *value, int attribute, fth_cu_device device);
    fth_cu_result (*device_memory)(size_t *bytes, fth_cu_device device);
    fth_cu_result (*error_text)(fth_cu_result result, const char **text);
};

/* Opens the driver and initialises it. Closed with fth_cuda_close. */
FTH_MUST_USE enum fth_status fth_cuda_open(struct fth_cuda *cuda, struct fth_error *error);
void fth_cuda_close(struct fth_cuda *cuda);
/* Fails with the driver's words for `result`. */
enum fth_status fth_cuda_fail(const struct fth_cuda *cuda, fth_cu_result result, const char *call,
                              struct fth_error *error);

#endif
