/* A CUDA driver for tests: it records the calls of the runtime and does as little as possible. */
#ifndef FTH_MOCK_DRIVER_H
#define FTH_MOCK_DRIVER_H

#include "cudart.h"

#define MOCK_MAX_CALLS 256
/* Addresses that the driver gives out. */
#define MOCK_MEMORY 0x7000000u
#define MOCK_VARIABLE 0x8000000u
#define MOCK_VARIABLE_BYTES 64u

struct mock {
    const char *calls[MOCK_MAX_CALLS]; /* names of the functions, in order */
    size_t call_count;
    int result; /* what functions return whose name is in 'failing', or all functions */
    const char *failing;
    int load_result; /* of cuLibraryLoadData */
    struct fth_cu_context *context;
    const void *code;    /* last image loaded */
    const char *kernel;  /* last kernel asked for */
    const char *unknown; /* a kernel or a variable that the modules do not have */
    struct fth_cu_launch launch;
    struct fth_cu_stream *stream; /* of the last call with a stream */
    struct fth_cu_function *function;
    void **parameters;
    struct fth_cu_copy_2d copy_2d;
    struct fth_cu_copy_3d copy_3d;
    struct fth_cu_array_shape shape;
    struct fth_cu_resource resource;
    struct fth_cu_texture texture;
    struct fth_cu_kernel_node node;
    uint64_t target, source;
    size_t bytes;
    int managed_value; /* the memory of every managed variable */
};

extern struct mock mock;

/* Records a call. Returns what the function returns. */
int mock_call(const char *name);
/* Returns how often a function was called. */
unsigned mock_count(const char *name);
/* Forgets all calls. The context stays. */
void mock_reset(void);

#endif
