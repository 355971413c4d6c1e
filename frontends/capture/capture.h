/* frontends/capture/ is preloaded into a CUDA program by 'fathom capture', and by 'fathom exec
 * --save'. It passes every call to the CUDA driver, and writes the launches to a capsule
 * (src/capsule/).
 *
 *   capture_entry.c     finding functions: dlsym, cuGetProcAddress, and the table of wrappers
 *   capture_state.c     what the environment asks for, the capsule, and messages
 *   capture_module.c    modules and libraries, and the PTX that they were made from
 *   capture_function.c  kernels and the layout of their parameters
 *   capture_memory.c    the table of allocations
 *   capture_stream.c    streams that are captured into graphs, and launches of graphs
 *   capture_tensor.c    tensor maps, and textures
 *   capture_launch.c    launches
 *   capture_contents.c  the contents of the memory that a launch may access
 *   capture_variable.c  the names of the variables in PTX
 *
 * The API has no handle for the process, so the state is global. There are two locks. One protects
 * the tables; it is held only for a moment. The other one is held while a launch is written. No
 * function waits for the GPU while it holds the lock of the tables. */
#ifndef FATHOM_FRONTEND_CAPTURE_H
#define FATHOM_FRONTEND_CAPTURE_H

#include "capsule/capsule.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
/* Defines a function of the driver: WRAP(cuInit, unsigned flags) { … } */
#define WRAP(name, ...)                                                                            \
    EXPORT int name(__VA_ARGS__);                                                                  \
    int name(__VA_ARGS__)

/* Results of the API (CUresult). */
enum { SUCCESS = 0, INVALID_VALUE = 1, NOT_SUPPORTED = 801 };

/* ---- capture_entry.c ---- */

/* The functions of the driver that are wrapped, or that this library calls. The second column says
 * which. */
#define FUNCTIONS(X)                                                                               \
    X(cuGetProcAddress, WRAPPED)                                                                   \
    X(cuGetProcAddress_v2, WRAPPED)                                                                \
    X(cuLaunchKernel, WRAPPED)                                                                     \
    X(cuLaunchKernel_ptsz, WRAPPED)                                                                \
    X(cuLaunchKernelEx, WRAPPED)                                                                   \
    X(cuLaunchKernelEx_ptsz, WRAPPED)                                                              \
    X(cuLaunchCooperativeKernel, WRAPPED)                                                          \
    X(cuLaunchCooperativeKernel_ptsz, WRAPPED)                                                     \
    X(cuGraphLaunch, WRAPPED)                                                                      \
    X(cuGraphLaunch_ptsz, WRAPPED)                                                                 \
    X(cuStreamBeginCapture_v2, WRAPPED)                                                            \
    X(cuStreamBeginCapture_v2_ptsz, WRAPPED)                                                       \
    X(cuStreamBeginCaptureToGraph, WRAPPED)                                                        \
    X(cuStreamBeginCaptureToGraph_ptsz, WRAPPED)                                                   \
    X(cuStreamEndCapture, WRAPPED)                                                                 \
    X(cuStreamEndCapture_ptsz, WRAPPED)                                                            \
    X(cuModuleLoad, WRAPPED)                                                                       \
    X(cuModuleLoadData, WRAPPED)                                                                   \
    X(cuModuleLoadDataEx, WRAPPED)                                                                 \
    X(cuModuleLoadFatBinary, WRAPPED)                                                              \
    X(cuModuleUnload, WRAPPED)                                                                     \
    X(cuLibraryLoadData, WRAPPED)                                                                  \
    X(cuLibraryLoadFromFile, WRAPPED)                                                              \
    X(cuLibraryUnload, WRAPPED)                                                                    \
    X(cuLibraryGetModule, WRAPPED)                                                                 \
    X(cuKernelGetFunction, WRAPPED)                                                                \
    X(cuMemAlloc_v2, WRAPPED)                                                                      \
    X(cuMemAllocPitch_v2, WRAPPED)                                                                 \
    X(cuMemAllocManaged, WRAPPED)                                                                  \
    X(cuMemAllocAsync, WRAPPED)                                                                    \
    X(cuMemAllocAsync_ptsz, WRAPPED)                                                               \
    X(cuMemAllocFromPoolAsync, WRAPPED)                                                            \
    X(cuMemAllocFromPoolAsync_ptsz, WRAPPED)                                                       \
    X(cuMemFree_v2, WRAPPED)                                                                       \
    X(cuMemFreeAsync, WRAPPED)                                                                     \
    X(cuMemFreeAsync_ptsz, WRAPPED)                                                                \
    X(cuMemHostAlloc, WRAPPED)                                                                     \
    X(cuMemAllocHost_v2, WRAPPED)                                                                  \
    X(cuMemFreeHost, WRAPPED)                                                                      \
    X(cuMemHostRegister_v2, WRAPPED)                                                               \
    X(cuMemHostUnregister, WRAPPED)                                                                \
    X(cuMemMap, WRAPPED)                                                                           \
    X(cuMemUnmap, WRAPPED)                                                                         \
    X(cuTensorMapEncodeTiled, WRAPPED)                                                             \
    X(cuTensorMapEncodeIm2col, WRAPPED)                                                            \
    X(cuTexObjectCreate, WRAPPED)                                                                  \
    X(cuTexObjectDestroy, WRAPPED)                                                                 \
    X(cuSurfObjectCreate, WRAPPED)                                                                 \
    X(cuSurfObjectDestroy, WRAPPED)                                                                \
    X(cuDriverGetVersion, CALLED)                                                                  \
    X(cuCtxGetDevice, CALLED)                                                                      \
    X(cuCtxSynchronize, CALLED)                                                                    \
    X(cuDeviceGetAttribute, CALLED)                                                                \
    X(cuDeviceGetName, CALLED)                                                                     \
    X(cuFuncGetModule, CALLED)                                                                     \
    X(cuFuncGetName, CALLED)                                                                       \
    X(cuFuncGetParamInfo, CALLED)                                                                  \
    X(cuKernelGetLibrary, CALLED)                                                                  \
    X(cuKernelGetName, CALLED)                                                                     \
    X(cuKernelGetParamInfo, CALLED)                                                                \
    X(cuLibraryGetGlobal, CALLED)                                                                  \
    X(cuLibraryGetManaged, CALLED)                                                                 \
    X(cuModuleGetGlobal_v2, CALLED)                                                                \
    X(cuMemcpyDtoH_v2, CALLED)                                                                     \
    X(cuPointerGetAttribute, CALLED)                                                               \
    X(cuStreamIsCapturing, CALLED)                                                                 \
    X(cuStreamSynchronize, CALLED)

#define X(name, use) F_##name,
enum function_index { FUNCTIONS(X) FUNCTION_COUNT };
#undef X

/* Returns the driver's own function; NULL: the driver does not have it. */
void *capture_real(enum function_index function);
/* Calls the driver's own function, which returns a CUresult. The types of the parameters follow the
 * name in parentheses, then the arguments: CALL(cuInit, (unsigned), 0). Without the function, the
 * result is NOT_SUPPORTED. */
#define CALL(name, types, ...)                                                                     \
    (capture_real(F_##name) ? ((int(*) types)capture_real(F_##name))(__VA_ARGS__) : NOT_SUPPORTED)

/* ---- capture_state.c ---- */

struct options {
    bool is_light;
    uint64_t first, end; /* the range of launches; end 0: no limit */
    uint64_t every;      /* only each launch of the range whose index is a multiple */
    uint64_t max_bytes;  /* of the capsule, above which launches have no contents; 0: no limit */
};
extern struct options capture_options;

/* The tables are only accessed between these calls. */
void capture_lock_tables(void);
void capture_unlock_tables(void);

/* Returns whether kernels with this name are selected. */
bool capture_selects(const char *kernel);
/* Takes the lock of the capsule, and returns its writer, which is created with the first call.
 * NULL, without the lock: nothing is captured, or not any more. */
struct fth_capsule_writer *capture_begin(void);
void capture_end(void);
/* Ends the capture after a failure of the capsule, between capture_begin and capture_end. */
void capture_fail(const struct fth_error *error);
/* Writes a line to the report of the process, which 'fathom capture' prints at the end: its kind, a
 * space, and a text. */
FTH_PRINTF(2, 3) void capture_report(const char *kind, const char *format, ...);
/* Returns ten times the compute capability of the current device; 0: unknown. */
uint32_t capture_architecture(void);

/* ---- capture_module.c ---- */

struct module {
    struct module *next;
    void *handle; /* a CUmodule or a CUlibrary */
    bool is_library;
    char *name; /* of the file, or "" */
    /* A fat binary in a loaded object, from which the PTX is taken when a launch is written; NULL:
     * there is none. */
    const void *container;
    char *ptx; /* owned; NULL: `reason` says why there is none, or the module was written */
    size_t ptx_bytes;
    const char *reason;
    uint64_t code_bytes;
    struct fth_digest code;
    uint32_t number; /* in the capsule; 0: it is not written yet */
    /* Its variables, which are looked for when the module is written. */
    struct variable *variables;
    size_t variable_count;
    /* Set when the module is written: it has PTX; its PTX has texture instructions. */
    bool has_ptx, has_textures;
};

/* A variable of a module. `image` is the number of its last image. */
struct variable {
    char *name;
    uint64_t address, bytes;
    uint32_t image;
};

/* Returns the module or library with this handle, or NULL. */
struct module *capture_module(const void *handle);
/* Adds a module, or the library that contains it, if it is not known yet. */
struct module *capture_unknown_module(void *handle, bool is_library);
/* Writes the module to the capsule, unless that was done. */
FTH_MUST_USE enum fth_status capture_write_module(struct fth_capsule_writer *writer,
                                                  struct module *module, struct fth_error *error);

/* ---- capture_variable.c ---- */

/* Calls `found` with the name of each variable in the states .global and .const that a module in
 * PTX defines or refers to, until it returns false. */
void capture_variables(const char *ptx, size_t size,
                       bool (*found)(void *user, const char *name, size_t length), void *user);

/* ---- capture_function.c ---- */

/* A parameter of a kernel: its place in the parameter block. */
struct parameter {
    size_t offset, bytes;
};

struct function {
    void *handle; /* a CUfunction or a CUkernel */
    char *name;
    struct module *module; /* NULL: it is unknown */
    struct parameter *parameters;
    size_t parameter_count, parameter_bytes;
    bool is_selected;
    const char *reason; /* why its launches cannot be written; NULL: they can */
};

/* Returns what is known of a kernel, which stays valid until its module is unloaded. NULL: memory
 * is exhausted. */
struct function *capture_function(void *handle);
/* The functions of a module are gone. The caller holds the lock of the tables. */
void capture_forget_functions(const struct module *module);
/* A CUfunction belongs to a CUkernel. */
void capture_alias(void *function, void *kernel);

/* ---- capture_memory.c ---- */

struct allocation {
    uint64_t address, bytes;
    enum fth_capsule_memory kind;
    uint32_t image; /* number of the last image of its contents; 0: none */
};

/* Finds the allocation that contains an address. If it is not in the table and `ask` is set, the
 * driver is asked. Returns false if there is none. */
bool capture_find(uint64_t address, bool ask, struct allocation *allocation);
/* Sets the last image of an allocation. */
void capture_set_image(const struct allocation *allocation, uint32_t image);
/* Sets the range of all addresses in the table; first == end if there are none. */
void capture_bounds(uint64_t *first, uint64_t *end);

/* ---- capture_stream.c ---- */

/* Returns whether a stream is being captured into a graph. The GPU cannot be waited for then. */
bool capture_is_recording(void);

/* ---- capture_tensor.c ---- */

enum { TENSOR_MAP_BYTES = 128, TENSOR_MAP_ALIGN = 64 };

/* Finds the arguments from which the 128 bytes of a tensor map were made. */
bool capture_tensor_map(const void *bytes, struct fth_capsule_tensor_map *map);
/* Returns whether a number is the handle of a texture or of a surface. */
bool capture_is_texture(uint64_t handle);

/* ---- capture_contents.c ---- */

/* The memory that a launch may access. */
struct contents {
    struct fth_capsule_region *regions;
    /* For each region: the variable, or NULL if it is an allocation. */
    struct variable **variables;
    size_t count, capacity, variable_capacity;
    struct fth_capsule_tensor_map *tensor_maps;
    size_t tensor_map_count, tensor_map_capacity;
};

/* Lists the variables of the module, and the allocations to which the parameters point. Tensor maps
 * in the parameters are listed as well. */
FTH_MUST_USE enum fth_status capture_list_contents(const struct function *function,
                                                   const void *parameters, size_t bytes,
                                                   struct contents *contents,
                                                   struct fth_error *error);
/* Writes the images of all regions to the capsule, and adds regions to which their contents point.
 * All work of the GPU must have ended. */
FTH_MUST_USE enum fth_status capture_write_before(struct fth_capsule_writer *writer,
                                                  struct contents *contents,
                                                  struct fth_error *error);
/* Writes the images of all regions again. */
FTH_MUST_USE enum fth_status capture_write_after(struct fth_capsule_writer *writer, uint64_t launch,
                                                 struct contents *contents,
                                                 struct fth_error *error);
void capture_contents_fini(struct contents *contents);

/* ---- structures of the API ---- */

/* Reads `bytes` bytes of a structure of the API at an offset. */
static inline uint64_t field(const void *structure, size_t offset, size_t bytes)
{
    uint64_t value = 0;
    memcpy(&value, (const char *)structure + offset, bytes);
    return value;
}

/* Returns the address as a pointer. */
static inline void *pointer_to(uint64_t address)
{
    void *pointer;
    memcpy(&pointer, &address, sizeof pointer);
    return pointer;
}

#endif
