/* The part of NVIDIA's driver interface that fathom uses, declared from its documentation, so that
 * neither a toolkit nor its headers are needed. The library is opened when the program runs. */
#ifndef FTH_CUDA_H
#define FTH_CUDA_H

#include "device/device.h"

typedef int fth_cu_result; /* 0 is success */
typedef int fth_cu_device;
typedef struct fth_cu_context *fth_cu_context; /* CUcontext and so on: only ever handed back */
typedef struct fth_cu_module *fth_cu_module;
typedef struct fth_cu_function *fth_cu_function;

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

    /* For running kernels: NULL where the driver does not have them (run.c checks). */
    fth_cu_result (*context_retain)(fth_cu_context *context, fth_cu_device device);
    fth_cu_result (*context_release)(fth_cu_device device);
    fth_cu_result (*context_set)(fth_cu_context context);
    fth_cu_result (*synchronize)(void);
    fth_cu_result (*module_load)(fth_cu_module *module, const void *image, unsigned options,
                                 int *option, void **values);
    fth_cu_result (*module_unload)(fth_cu_module module);
    fth_cu_result (*module_function)(fth_cu_function *function, fth_cu_module module,
                                     const char *name);
    fth_cu_result (*function_set)(fth_cu_function function, int attribute, int value);
    fth_cu_result (*memory_alloc)(uint64_t *address, size_t bytes);
    fth_cu_result (*memory_free)(uint64_t address);
    fth_cu_result (*memory_upload)(uint64_t address, const void *data, size_t bytes);
    fth_cu_result (*memory_download)(void *data, uint64_t address, size_t bytes);
    fth_cu_result (*memory_fill)(uint64_t address, unsigned char byte, size_t bytes);
    fth_cu_result (*launch)(fth_cu_function function, unsigned grid_x, unsigned grid_y,
                            unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z,
                            unsigned shared_bytes, void *stream, void **arguments, void **extra);
};

/* Opens the driver and initialises it. Closed with fth_cuda_close. */
FTH_MUST_USE enum fth_status fth_cuda_open(struct fth_cuda *cuda, struct fth_error *error);
void fth_cuda_close(struct fth_cuda *cuda);
/* Fails with the driver's words for `result`. */
enum fth_status fth_cuda_fail(const struct fth_cuda *cuda, fth_cu_result result, const char *call,
                              struct fth_error *error);

/* ---- run.c: running kernels ---- */

/* Takes the GPU's primary context and makes it this thread's, on which everything below works.
 * Closing takes NULL. */
FTH_MUST_USE enum fth_status fth_cuda_context_open(const struct fth_cuda *cuda, int ordinal,
                                                   fth_cu_context *context,
                                                   struct fth_error *error);
void fth_cuda_context_close(const struct fth_cuda *cuda, int ordinal, fth_cu_context context);

/* Compiles PTX, which ends with a NUL. The error carries the first lines of the compiler's log.
 * Unloading takes NULL. */
FTH_MUST_USE enum fth_status fth_cuda_module_load(const struct fth_cuda *cuda, const char *ptx,
                                                  fth_cu_module *module, struct fth_error *error);
void fth_cuda_module_unload(const struct fth_cuda *cuda, fth_cu_module module);
/* A kernel of the module, which lives as long as the module does. */
FTH_MUST_USE enum fth_status fth_cuda_function(const struct fth_cuda *cuda, fth_cu_module module,
                                               const char *name, fth_cu_function *function,
                                               struct fth_error *error);

/* Device memory; freeing takes 0. */
FTH_MUST_USE enum fth_status fth_cuda_alloc(const struct fth_cuda *cuda, size_t bytes,
                                            uint64_t *address, struct fth_error *error);
void fth_cuda_free(const struct fth_cuda *cuda, uint64_t address);
FTH_MUST_USE enum fth_status fth_cuda_upload(const struct fth_cuda *cuda, uint64_t address,
                                             const void *data, size_t bytes,
                                             struct fth_error *error);
FTH_MUST_USE enum fth_status fth_cuda_download(const struct fth_cuda *cuda, void *data,
                                               uint64_t address, size_t bytes,
                                               struct fth_error *error);
FTH_MUST_USE enum fth_status fth_cuda_fill(const struct fth_cuda *cuda, uint64_t address,
                                           unsigned char byte, size_t bytes,
                                           struct fth_error *error);

struct fth_cuda_launch {
    unsigned grid[3], block[3]; /* 0 counts as 1 */
    unsigned dynamic_shared_bytes;
    void **arguments; /* a pointer to each of the kernel's parameters */
};

/* Starts a kernel; an error in it comes to light when one waits. */
FTH_MUST_USE enum fth_status fth_cuda_launch(const struct fth_cuda *cuda, fth_cu_function function,
                                             const struct fth_cuda_launch *launch,
                                             struct fth_error *error);
/* Waits for all that was started. */
FTH_MUST_USE enum fth_status fth_cuda_synchronize(const struct fth_cuda *cuda,
                                                  struct fth_error *error);

#endif
