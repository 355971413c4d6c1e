/* What the files of the stand-in for the driver share. */
#ifndef STANDIN_DRIVER_H
#define STANDIN_DRIVER_H

#include "gpu/gpu.h"
#include "standin.h"

/* CUresult, from the driver's documentation. */
enum {
    SUCCESS = 0,
    INVALID_VALUE = 1,
    OUT_OF_MEMORY = 2,
    NOT_INITIALIZED = 3,
    NO_DEVICE = 100,
    INVALID_DEVICE = 101,
    INVALID_CONTEXT = 201,
    INVALID_PTX = 218,
    INVALID_HANDLE = 400,
    NOT_FOUND = 500,
    NOT_READY = 600,
    LAUNCH_FAILED = 719,
    NOT_SUPPORTED = 801,
    INVALID_CLUSTER_SIZE = 912
};

bool standin_initialised(void);
/* What is wrong with a question about this device; from SUCCESS on the GPU is there. */
int standin_device(int device);
const struct fth_gpu *standin_gpu(void);
/* CUdevice_attribute: what the description says or, where it does not, what an H200 would answer.
 */
double standin_attribute(int attribute);
size_t standin_memory_bytes(void);

/* ---- of cuda_run.c, for cuda_copy.c ---- */

struct context;
struct fth_machine_ops;
/* What is wrong with a call in the current context. */
int standin_check(void);
/* What was not given back becomes so many more. */
void standin_count(long more);
/* The simulated GPU of a context; NULL: the current one. */
const struct fth_machine_ops *standin_ops(struct context *context, void **machine);

#endif
