/* Declarations that the files of the stand-in driver (cuda*.c) share. */
#ifndef STANDIN_DRIVER_H
#define STANDIN_DRIVER_H

#include "gpu/gpu.h"
#include "standin.h"

/* Values of CUresult, from the driver's documentation. */
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
    NOT_READY_SYSTEM = 802, /* SYSTEM_NOT_READY */
    INVALID_CLUSTER_SIZE = 912
};

/* Begins a function of the driver: the calls of several threads exclude each other until they
 * return. */
void standin_lock(void);
void standin_unlock(const int *unused);
#define LOCKED                                                                                     \
    standin_lock();                                                                                \
    __attribute__((cleanup(standin_unlock), unused)) const int locked = 0

bool standin_initialised(void);
/* The CUresult of a query about this device. After SUCCESS, standin_gpu() is not NULL. */
int standin_device(int device);
const struct fth_gpu *standin_gpu(void);
/* The value of a CUdevice_attribute: from the description of the GPU or, if it has no such figure,
 * the value of an H200. */
double standin_attribute(int attribute);
size_t standin_memory_bytes(void);

/* ---- defined in standin_run.c, used by standin_copy.c and standin_texture.c ---- */

struct context;
struct fth_machine_ops;
/* The CUresult of a call in the current context: SUCCESS, or why the call must fail. */
int standin_check(void);
/* Waits for the queued work of the current context. `call` is the function that waits. */
int standin_drain(const char *call);
/* Returns the unsigned number of a descriptor at an offset. */
uint64_t standin_field(const void *descriptor, size_t offset, size_t bytes);
/* From now on, the queued work of the current context never ends. */
void standin_hang(void);
/* Adds to the number of objects that exist (see standin_live in standin_run.c). */
void standin_add_live(long change);
/* The simulated GPU of a context; NULL selects the current context. */
const struct fth_machine_ops *standin_ops(struct context *context, void **machine);

/* ---- defined in standin_host.c ---- */

/* Free memory that cuMemHostAlloc or cuMemAllocManaged returned. Return false if it is not such
 * memory. */
bool standin_free_mapped(void *memory);
bool standin_free_managed(uint64_t address);

#endif
