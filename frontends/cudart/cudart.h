/* The CUDA runtime API without NVIDIA's library, on top of the documented CUDA driver API.
 *
 * A program linked with 'nvcc -cudart shared' imports these functions from libcudart.so.13. 'fathom
 * exec' preloads this library in its place together with fathom's driver, so that the program runs
 * without a GPU. Each file implements one chapter of the API.
 *
 * The prototypes are those of CUDA's headers, with the types of cudart_types.h; this header only
 * declares what the files share.
 */
#ifndef FTH_CUDART_H
#define FTH_CUDART_H

#include "cudart_driver.h"

#include <stdbool.h>

/* A function that programs import. */
#define FTH_API __attribute__((visibility("default")))

/* The body of a function that makes one call of the driver in the thread's context. */
#define FTH_FORWARD(call)                                                                          \
    int fth_entered = fth_enter();                                                                 \
    return fth_leave(fth_entered ? fth_entered : (call))

/* Initialises the driver. Returns 0 or an error of the runtime. */
int fth_start(void);
/* Initialises the driver and makes sure that the thread has a current context: the primary context
 * of its device, unless the program made another context current. Returns 0 or an error of the
 * runtime. */
int fth_enter(void);
/* Stores an error as the last error of the thread. Returns its argument. */
int fth_leave(int error);
/* Prints once per process that a function is not supported. Returns cudaErrorNotSupported and
 * stores it as the last error. */
int fth_refuse(const char *function);

/* Execution configuration of a kernel call (the <<<>>> of a program). */
struct fth_configuration {
    struct fth_dim3 grid, block;
    size_t shared_bytes;
    void *stream;
};

/* Kernel calls nest only where an argument of a call makes another call. */
#define FTH_MAX_CONFIGURATIONS 64

/* What the runtime keeps per thread. */
struct fth_thread {
    int last_error;
    int device; /* index chosen with cudaSetDevice */
    unsigned configuration_count;
    struct fth_configuration configurations[FTH_MAX_CONFIGURATIONS];
};

struct fth_thread *fth_thread(void);

/* What the key of a registry entry is. */
enum fth_entry_kind {
    FTH_ENTRY_KERNEL,   /* the address of a kernel's host function */
    FTH_ENTRY_VARIABLE, /* the address of a variable's host copy */
    FTH_ENTRY_MANAGED,  /* the address of the host's pointer to a managed variable */
    FTH_ENTRY_HANDLE,   /* a kernel handle of the driver */
    FTH_ENTRY_FUNCTION, /* a function handle of the driver */
};

/* A fat binary of the program. The driver loads it when the program first uses a kernel or a
 * variable of it. */
struct fth_binary {
    const void *code;
    struct fth_cu_library *library; /* NULL: not loaded */
    struct fth_binary *next;
};

struct fth_entry {
    const void *key;
    enum fth_entry_kind kind;
    const char *name;          /* in the module; NULL for handles */
    struct fth_binary *binary; /* NULL for handles */
    const void *owner;         /* the fat binary or the library with which the entry ends */
    struct fth_entry *next;
};

#define FTH_BUCKETS 4096

/* All state of the library that is not per thread. The API has no handle to keep it in. */
struct fth_state {
    int start_error; /* of the driver's initialisation */
    struct fth_binary *binaries;
    struct fth_entry *entries[FTH_BUCKETS]; /* by a hash of the key */
    const char **refused;                   /* functions named on stderr */
    size_t refused_count;
};

/* Locks and returns the state. The caller unlocks it, and calls neither of both functions in
 * between. */
struct fth_state *fth_lock(void);
void fth_unlock(void);

/* Returns the function of a kernel: the argument is the address of a host function, a kernel handle
 * or a function handle. Loads the fat binary of the kernel if needed. The thread has a context. */
int fth_find_function(const void *symbol, struct fth_cu_function **function);
/* The same for the driver's kernel handle, which function handles do not have. */
int fth_find_kernel(const void *symbol, struct fth_cu_kernel **kernel);
/* Returns the host function of a kernel that the program registered, or the handle itself. */
const void *fth_find_host_function(struct fth_cu_function *function);
/* Makes a handle that the program received usable where the API takes a kernel. The handle belongs
 * to a library, or to the fat binary of a kernel's host function. */
int fth_register_handle(const void *handle, enum fth_entry_kind kind, const void *owner);
/* Forgets the handles of a library. */
void fth_forget_handles(const struct fth_cu_library *library);
/* Returns the address and the size of a variable by the address of its host copy. */
int fth_find_variable(const void *symbol, uint64_t *address, size_t *bytes);
/* Unloads all fat binaries; the next use loads them again. */
void fth_forget_libraries(void);

/* Copies, for the chapters that copy: 'wait' returns after the copy is done. The thread has a
 * context. */
int fth_copy(uint64_t target, uint64_t source, size_t bytes, int kind, struct fth_cu_stream *stream,
             bool wait);
/* Translates a copy. Returns 0 or an error of the runtime. */
int fth_translate_copy(const struct fth_copy_3d *copy, struct fth_cu_copy_3d *translated);
/* Translates the element format of arrays. Returns 0 or an error of the runtime. */
int fth_translate_channel(const struct fth_channel *channel, int *format, unsigned *channels);
struct fth_channel fth_channel_of(int format, unsigned channels);

/* Translates a launch; the function is not part of it. */
struct fth_cu_launch fth_translate_launch(const struct fth_launch *launch);

static inline uint64_t fth_address(const void *pointer)
{
    return (uint64_t)(uintptr_t)pointer;
}

static inline void *fth_pointer(uint64_t address)
{
    return (void *)(uintptr_t)address; // NOLINT(performance-no-int-to-ptr)
}

/* The stream of a call in programs compiled for a default stream per thread. */
static inline struct fth_cu_stream *fth_per_thread(struct fth_cu_stream *stream)
{
    return stream ? stream : FTH_PER_THREAD_STREAM;
}

#endif
