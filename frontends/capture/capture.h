/* frontends/capture/ is preloaded into a CUDA program by 'fathom capture', and by 'fathom exec
 * --save'. It passes every call to the CUDA driver, and writes the launches to a capsule
 * (src/capsule/).
 *
 *   capture_entry.c     finding functions: dlsym, cuGetProcAddress, and the table of wrappers
 *   capture_state.c     what the environment asks for, the capsule, and messages
 *   capture_module.c    modules and libraries, and the PTX that they were made from
 *   capture_function.c  kernels and the layout of their parameters
 *   capture_memory.c    the table of allocations
 *   capture_stream.c    streams that are captured into graphs
 *   capture_graph.c     executable graphs, and their changes
 *   capture_node.c      the nodes of graphs
 *   capture_issue.c     launches of graphs
 *   capture_tensor.c    tensor maps
 *   capture_texture.c   textures, surfaces and arrays
 *   capture_launch.c    launches
 *   capture_contents.c  the memory that a launch may access
 *   capture_image.c     the contents of memory, and what they point to
 *   capture_digest.c    which parts of the GPU's memory have changed
 *   capture_writes.c    when the program may have changed memory
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

/* The functions of the driver that can write memory. */
#define WRITERS(X)                                                                                 \
    X(cuGraphicsMapResources)                                                                      \
    X(cuGraphicsMapResources_ptsz)                                                                 \
    X(cuMemBatchDecompressAsync)                                                                   \
    X(cuMemBatchDecompressAsync_ptsz)                                                              \
    X(cuMemDiscardAndPrefetchBatchAsync)                                                           \
    X(cuMemDiscardAndPrefetchBatchAsync_ptsz)                                                      \
    X(cuMemDiscardBatchAsync)                                                                      \
    X(cuMemDiscardBatchAsync_ptsz)                                                                 \
    X(cuMemcpy)                                                                                    \
    X(cuMemcpy_ptds)                                                                               \
    X(cuMemcpyAsync)                                                                               \
    X(cuMemcpyAsync_ptsz)                                                                          \
    X(cuMemcpyPeer)                                                                                \
    X(cuMemcpyPeer_ptds)                                                                           \
    X(cuMemcpyPeerAsync)                                                                           \
    X(cuMemcpyPeerAsync_ptsz)                                                                      \
    X(cuMemcpyHtoD_v2)                                                                             \
    X(cuMemcpyHtoD_v2_ptds)                                                                        \
    X(cuMemcpyHtoDAsync_v2)                                                                        \
    X(cuMemcpyHtoDAsync_v2_ptsz)                                                                   \
    X(cuMemcpyDtoD_v2)                                                                             \
    X(cuMemcpyDtoD_v2_ptds)                                                                        \
    X(cuMemcpyDtoDAsync_v2)                                                                        \
    X(cuMemcpyDtoDAsync_v2_ptsz)                                                                   \
    X(cuMemcpyAtoD_v2)                                                                             \
    X(cuMemcpyAtoD_v2_ptds)                                                                        \
    X(cuMemcpyAtoA_v2)                                                                             \
    X(cuMemcpyAtoA_v2_ptds)                                                                        \
    X(cuMemcpyDtoA_v2)                                                                             \
    X(cuMemcpyDtoA_v2_ptds)                                                                        \
    X(cuMemcpyHtoA_v2)                                                                             \
    X(cuMemcpyHtoA_v2_ptds)                                                                        \
    X(cuMemcpyHtoAAsync_v2)                                                                        \
    X(cuMemcpyHtoAAsync_v2_ptsz)                                                                   \
    X(cuMemcpy2D_v2)                                                                               \
    X(cuMemcpy2D_v2_ptds)                                                                          \
    X(cuMemcpy2DUnaligned_v2)                                                                      \
    X(cuMemcpy2DUnaligned_v2_ptds)                                                                 \
    X(cuMemcpy2DAsync_v2)                                                                          \
    X(cuMemcpy2DAsync_v2_ptsz)                                                                     \
    X(cuMemcpy3D_v2)                                                                               \
    X(cuMemcpy3D_v2_ptds)                                                                          \
    X(cuMemcpy3DAsync_v2)                                                                          \
    X(cuMemcpy3DAsync_v2_ptsz)                                                                     \
    X(cuMemcpy3DPeer)                                                                              \
    X(cuMemcpy3DPeer_ptds)                                                                         \
    X(cuMemcpy3DPeerAsync)                                                                         \
    X(cuMemcpy3DPeerAsync_ptsz)                                                                    \
    X(cuMemcpyBatchAsync)                                                                          \
    X(cuMemcpyBatchAsync_ptsz)                                                                     \
    X(cuMemcpyBatchAsync_v2)                                                                       \
    X(cuMemcpyBatchAsync_v2_ptsz)                                                                  \
    X(cuMemcpy3DBatchAsync)                                                                        \
    X(cuMemcpy3DBatchAsync_ptsz)                                                                   \
    X(cuMemcpy3DBatchAsync_v2)                                                                     \
    X(cuMemcpy3DBatchAsync_v2_ptsz)                                                                \
    X(cuMemsetD8_v2)                                                                               \
    X(cuMemsetD8_v2_ptds)                                                                          \
    X(cuMemsetD8Async)                                                                             \
    X(cuMemsetD8Async_ptsz)                                                                        \
    X(cuMemsetD16_v2)                                                                              \
    X(cuMemsetD16_v2_ptds)                                                                         \
    X(cuMemsetD16Async)                                                                            \
    X(cuMemsetD16Async_ptsz)                                                                       \
    X(cuMemsetD32_v2)                                                                              \
    X(cuMemsetD32_v2_ptds)                                                                         \
    X(cuMemsetD32Async)                                                                            \
    X(cuMemsetD32Async_ptsz)                                                                       \
    X(cuMemsetD2D8_v2)                                                                             \
    X(cuMemsetD2D8_v2_ptds)                                                                        \
    X(cuMemsetD2D8Async)                                                                           \
    X(cuMemsetD2D8Async_ptsz)                                                                      \
    X(cuMemsetD2D16_v2)                                                                            \
    X(cuMemsetD2D16_v2_ptds)                                                                       \
    X(cuMemsetD2D16Async)                                                                          \
    X(cuMemsetD2D16Async_ptsz)                                                                     \
    X(cuMemsetD2D32_v2)                                                                            \
    X(cuMemsetD2D32_v2_ptds)                                                                       \
    X(cuMemsetD2D32Async)                                                                          \
    X(cuMemsetD2D32Async_ptsz)                                                                     \
    X(cuMipmappedArrayDestroy)                                                                     \
    X(cuStreamBatchMemOp_v2)                                                                       \
    X(cuStreamBatchMemOp_v2_ptsz)                                                                  \
    X(cuStreamWriteValue32_v2)                                                                     \
    X(cuStreamWriteValue32_v2_ptsz)                                                                \
    X(cuStreamWriteValue64_v2)                                                                     \
    X(cuStreamWriteValue64_v2_ptsz)                                                                \
    X(cuWaitExternalSemaphoresAsync)                                                               \
    X(cuWaitExternalSemaphoresAsync_ptsz)

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
    X(cuGraphInstantiate, WRAPPED)                                                                 \
    X(cuGraphInstantiate_v2, WRAPPED)                                                              \
    X(cuGraphInstantiateWithFlags, WRAPPED)                                                        \
    X(cuGraphInstantiateWithParams, WRAPPED)                                                       \
    X(cuGraphInstantiateWithParams_ptsz, WRAPPED)                                                  \
    X(cuGraphExecDestroy, WRAPPED)                                                                 \
    X(cuGraphExecUpdate, WRAPPED)                                                                  \
    X(cuGraphExecUpdate_v2, WRAPPED)                                                               \
    X(cuGraphExecKernelNodeSetParams, WRAPPED)                                                     \
    X(cuGraphExecKernelNodeSetParams_v2, WRAPPED)                                                  \
    X(cuGraphExecMemcpyNodeSetParams, WRAPPED)                                                     \
    X(cuGraphExecMemsetNodeSetParams, WRAPPED)                                                     \
    X(cuGraphExecHostNodeSetParams, WRAPPED)                                                       \
    X(cuGraphExecChildGraphNodeSetParams, WRAPPED)                                                 \
    X(cuGraphExecEventRecordNodeSetEvent, WRAPPED)                                                 \
    X(cuGraphExecEventWaitNodeSetEvent, WRAPPED)                                                   \
    X(cuGraphExecNodeSetParams, WRAPPED)                                                           \
    X(cuGraphNodeSetEnabled, WRAPPED)                                                              \
    X(cuStreamBeginCapture, WRAPPED)                                                               \
    X(cuStreamBeginCapture_ptsz, WRAPPED)                                                          \
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
    X(cuArrayDestroy, WRAPPED)                                                                     \
    X(cuDriverGetVersion, CALLED)                                                                  \
    X(cuArray3DGetDescriptor_v2, CALLED)                                                           \
    X(cuCtxGetCurrent, CALLED)                                                                     \
    X(cuCtxGetDevice, CALLED)                                                                      \
    X(cuCtxSynchronize, CALLED)                                                                    \
    X(cuDeviceGetAttribute, CALLED)                                                                \
    X(cuDeviceGetName, CALLED)                                                                     \
    X(cuEventRecord, CALLED)                                                                       \
    X(cuFuncGetModule, CALLED)                                                                     \
    X(cuFuncGetName, CALLED)                                                                       \
    X(cuFuncGetParamInfo, CALLED)                                                                  \
    X(cuGraphChildGraphNodeGetGraph, CALLED)                                                       \
    X(cuGraphEventRecordNodeGetEvent, CALLED)                                                      \
    X(cuGraphEventWaitNodeGetEvent, CALLED)                                                        \
    X(cuGraphGetEdges, CALLED)                                                                     \
    X(cuGraphGetEdges_v2, CALLED)                                                                  \
    X(cuGraphGetNodes, CALLED)                                                                     \
    X(cuGraphHostNodeGetParams, CALLED)                                                            \
    X(cuGraphKernelNodeGetAttribute, CALLED)                                                       \
    X(cuGraphKernelNodeGetParams_v2, CALLED)                                                       \
    X(cuGraphMemcpyNodeGetParams, CALLED)                                                          \
    X(cuGraphMemsetNodeGetParams, CALLED)                                                          \
    X(cuGraphNodeGetType, CALLED)                                                                  \
    X(cuKernelGetLibrary, CALLED)                                                                  \
    X(cuKernelGetName, CALLED)                                                                     \
    X(cuKernelGetParamInfo, CALLED)                                                                \
    X(cuLibraryGetGlobal, CALLED)                                                                  \
    X(cuLibraryGetKernel, CALLED)                                                                  \
    X(cuLibraryGetManaged, CALLED)                                                                 \
    X(cuLaunchHostFunc, CALLED)                                                                    \
    X(cuModuleGetFunction, CALLED)                                                                 \
    X(cuModuleGetGlobal_v2, CALLED)                                                                \
    X(cuMemcpyDtoH_v2, CALLED)                                                                     \
    X(cuPointerGetAttribute, CALLED)                                                               \
    X(cuStreamIsCapturing, CALLED)                                                                 \
    X(cuStreamSynchronize, CALLED)                                                                 \
    X(cuStreamWaitEvent, CALLED)                                                                   \
    X(cuThreadExchangeStreamCaptureMode, CALLED)

#define X(name, ...) F_##name,
enum function_index { FUNCTIONS(X) WRITERS(X) FUNCTION_COUNT };
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

/* Returns whether launches are captured, and still are. */
bool capture_is_active(void);
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

enum { TENSOR_MAP_BYTES = 128, TENSOR_MAP_ALIGN = 64 };

/* What is known of the contents of an allocation or of a variable. */
struct memory {
    struct memory *next;        /* of those whose allocations are gone */
    uint32_t image;             /* the number of its last image in the capsule; 0: none */
    uint64_t changes;           /* capture_changes() before it was made */
    uint64_t allocations;       /* capture_allocations() before it was made */
    struct fth_digest *digests; /* of its whole chunks; NULL: unknown */
    uint64_t *targets;          /* addresses in the contents, one per allocation */
    size_t target_count, target_capacity;
    struct {
        uint64_t offset;
        unsigned char bytes[TENSOR_MAP_BYTES];
    } * maps; /* tensor maps in the contents */
    size_t map_count, map_capacity;
    uint64_t *textures; /* handles of textures and surfaces in the contents, sorted */
    size_t texture_count, texture_capacity;
    const struct array *array; /* of which it has the texels; NULL: it is no array */
};

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

/* A variable of a module. */
struct variable {
    char *name;
    uint64_t address, bytes;
    struct memory memory;
};

/* Returns the module or library with this handle, or NULL. */
struct module *capture_module(const void *handle);
/* Adds a module, or the library that contains it, if it is not known yet. */
struct module *capture_unknown_module(void *handle, bool is_library);
/* Returns the library with the kernel that a CUfunction of a CUmodule belongs to, or NULL. */
struct module *capture_library_of(const void *function, const void *module, const char *name);
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
    struct memory *memory; /* NULL: it was not captured yet */
};

/* Finds the allocation that contains an address. If it is not in the table and `ask` is set, the
 * driver is asked. Returns false if there is none. */
bool capture_find(uint64_t address, bool ask, struct allocation *allocation);
/* Returns a struct memory for an allocation that has none; NULL: memory is exhausted. It stays
 * valid until capture_free_dropped, also if the program frees the allocation. */
struct memory *capture_attach(const struct allocation *allocation);
/* Frees what is known of allocations that are gone. */
void capture_free_dropped(void);
/* Returns how often the table, or that of textures, has changed. */
uint64_t capture_allocations(void);
void capture_note_allocation(void);
/* Sets the range of all addresses in the table; first == end if there are none. */
void capture_bounds(uint64_t *first, uint64_t *end);

/* ---- capture_stream.c ---- */

/* The handle of the default stream of a thread, which NULL is for functions with the suffix _ptsz.
 */
enum { STREAM_PER_THREAD = 2 };

/* Returns whether a stream is being captured into a graph. The GPU cannot be waited for then. */
bool capture_is_recording(void);
/* Returns whether this stream is: its launches become nodes of the graph, and are not executed. */
bool capture_records(void *stream);

/* ---- capture_launch.c ---- */

/* A launch, in the form of any of the functions of the driver. */
struct call {
    enum function_index driver; /* the function that the program called */
    bool is_launched;           /* as a part of a graph, so that the driver is not called */
    void *function;
    uint32_t grid[3], block[3], cluster[3];
    uint32_t shared_bytes;
    bool is_cooperative;
    void *stream;
    void **parameters, **extra;
    const void *config; /* of cuLaunchKernelEx */
};

/* Returns the number of the first one of `count` launches, which are executed next. */
uint64_t capture_take_numbers(uint64_t count);
/* Returns whether a launch with this number is selected. */
bool capture_is_in_range(uint64_t number);
/* Returns whether later launches can be captured: the range that is selected is not over. */
bool capture_is_expected(void);
/* Calls the function of the driver. */
int capture_forward(const struct call *call);
/* Copies the parameters of a launch to `block`, which has function->parameter_bytes bytes. */
void capture_copy_parameters(const struct call *call, const struct function *function,
                             unsigned char *block);
/* Writes the module of a launch, and sets *reason to why the launch cannot be written with the
 * contents of memory; NULL: it can. */
FTH_MUST_USE enum fth_status capture_check_launch(struct fth_capsule_writer *writer,
                                                  const struct function *function,
                                                  const char **reason, struct fth_error *error);
/* Writes a launch around the call of the driver, between capture_begin and capture_end. If `reason`
 * is not NULL, it is written without the contents of memory for this reason. After an error,
 * *writer is NULL, and launches are only passed on. Returns the result of the driver. */
int capture_write_launch(struct fth_capsule_writer **writer, const struct call *call,
                         struct function *function, uint64_t number, const char *reason);

/* ---- capture_node.c ---- */

/* The types of nodes (CUgraphNodeType). */
enum node_type {
    NODE_KERNEL = 0,
    NODE_COPY = 1,
    NODE_FILL = 2,
    NODE_HOST = 3,
    NODE_GRAPH = 4,
    NODE_EMPTY = 5,
    NODE_WAIT = 6,
    NODE_RECORD = 7,
    NODE_SIGNAL_SEMAPHORES = 8,
    NODE_WAIT_SEMAPHORES = 9,
    NODE_ALLOC = 10,
    NODE_FREE = 11,
    NODE_MEMORY_OPERATIONS = 12,
    NODE_CONDITIONAL = 13
};

/* Attributes of launches (CUlaunchAttributeID), and the layout of CUlaunchAttribute. */
enum {
    ATTRIBUTE_COOPERATIVE = 2,
    ATTRIBUTE_CLUSTER = 4,
    ATTRIBUTE_CLUSTER_POLICY = 5,
    ATTRIBUTE_UPDATABLE = 13,
    ATTRIBUTE_CARVEOUT = 14,
    ATTRIBUTE_VALUE = 8,
    ATTRIBUTE_VALUE_BYTES = 64,
    ATTRIBUTE_BYTES = ATTRIBUTE_VALUE + ATTRIBUTE_VALUE_BYTES
};

/* The sizes of CUDA_MEMCPY3D, CUDA_MEMSET_NODE_PARAMS and CUDA_HOST_NODE_PARAMS. */
enum { COPY_BYTES = 200, FILL_BYTES = 40, HOST_BYTES = 16 };

/* A node of an executable graph. */
struct graph_node {
    void *handle; /* of the node in the graph from which it was made; NULL: unknown */
    enum node_type type;
    bool is_disabled;
    const char *reason; /* why it cannot be issued to a stream; NULL: it can */
    size_t descendants; /* of a child graph: how many of the nodes after it are in the child */
    /* A copy, a fill, a host function: its structure of the API. An event: its handle. */
    _Alignas(8) unsigned char bytes[COPY_BYTES];
    /* A kernel: the launch without its stream and parameters, which are a block of their own. */
    struct call call;
    void *context; /* as the driver reports it; NULL: unknown */
    unsigned char *parameters;
    size_t parameter_bytes;
    int32_t cluster_policy, carveout; /* 0: not set */
};

/* The nodes of a graph and of its child graphs. Each comes after those that it depends on. */
struct graph_nodes {
    struct graph_node *items;
    size_t count, capacity;
};

/* Adds the nodes of a graph. Returns false if memory is exhausted or the driver does not report
 * them.
 */
bool capture_read_graph(void *graph, struct graph_nodes *nodes);
/* Sets the parameters of a node to a structure of the API: CUDA_KERNEL_NODE_PARAMS, with a CUkernel
 * if it is version 2, CUDA_MEMCPY3D, CUDA_MEMSET_NODE_PARAMS, CUDA_HOST_NODE_PARAMS, or the handle
 * of an event. */
void capture_set_node(struct graph_node *node, const void *parameters, bool is_version_2);
/* Replaces `count` nodes by those of a graph with the same structure; handles and disabled nodes
 * stay. Returns false if its structure differs, or as capture_read_graph. */
bool capture_replace_nodes(struct graph_node *nodes, size_t count, void *graph);
void capture_nodes_fini(struct graph_nodes *nodes);

/* ---- capture_graph.c ---- */

/* A graph that can be launched. */
struct executable {
    struct executable *next;
    void *handle;  /* a CUgraphExec */
    void *context; /* the current one when it was made; NULL: there was none */
    struct graph_nodes nodes;
    size_t changed;          /* the index of the node that was changed last */
    const char *reason;      /* why its nodes cannot be issued one by one; NULL: they can */
    bool is_counted;         /* the members below are valid */
    uint64_t kernel_count;   /* kernels that a launch executes */
    bool has_selected;       /* one of them is selected by its name */
    const char *node_reason; /* the `reason` of one of its nodes */
};

/* Returns the executable graph with this handle, with its kernels counted; NULL: it is unknown. */
struct executable *capture_executable(const void *handle);

/* ---- capture_tensor.c ---- */

/* Finds the arguments from which the 128 bytes of a tensor map were made. */
bool capture_tensor_map(const void *bytes, struct fth_capsule_tensor_map *map);
/* ---- capture_texture.c ---- */

/* A texture or a surface, and its texels. */
struct found_texture {
    struct fth_capsule_texture texture;
    const char *reason;              /* why it cannot be captured; NULL: it can */
    struct memory *memory;           /* of the array; NULL: the texels are in linear memory */
    struct fth_capsule_region array; /* if there is one */
};

/* Returns whether a number is the handle of a texture or of a surface. */
bool capture_is_texture(uint64_t handle);
/* Sets the lowest and the highest handle; first > last if there are none. */
void capture_texture_bounds(uint64_t *first, uint64_t *last);
/* Finds the texture and the surface with this handle in the current context. Returns their number.
 */
size_t capture_textures(uint64_t handle, struct found_texture found[2]);
/* Copies texels of an array to `buffer`, from a byte on that is the first one of a row. *bytes is
 * the size of the buffer, and then the number of bytes that were copied. */
FTH_MUST_USE enum fth_status capture_read_array(const struct array *array, uint64_t from,
                                                void *buffer, size_t *bytes,
                                                struct fth_error *error);
/* Frees what is known of arrays that are gone. */
void capture_free_dropped_arrays(void);

/* ---- capture_contents.c ---- */

/* The memory that a launch may access. */
struct contents {
    struct fth_capsule_region *regions;
    struct memory **memories; /* one per region */
    size_t count, capacity, memory_capacity;
    struct fth_capsule_tensor_map *tensor_maps;
    size_t tensor_map_count, tensor_map_capacity;
    bool has_textures; /* the kernel may use textures and surfaces */
    struct fth_capsule_texture *textures;
    size_t texture_count, texture_capacity;
    const char *reason; /* why the launch cannot be repeated; NULL: it can */
};

/* Lists the variables of the module, and the allocations to which the parameters point. Tensor maps
 * and textures in the parameters are listed as well. */
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

/* ---- capture_image.c ---- */

/* Writes the image of a region, if its contents may have changed since the last one. All work of
 * the GPU must have ended. */
FTH_MUST_USE enum fth_status capture_update(struct fth_capsule_writer *writer,
                                            const struct fth_capsule_region *region,
                                            struct memory *memory, struct fth_error *error);
void capture_memory_fini(struct memory *memory);

/* ---- capture_digest.c ---- */

/* Computes the digests of chunks of the GPU's memory. Returns false if it is not possible. */
bool capture_digests(uint64_t address, size_t chunks, struct fth_digest *digests);

/* ---- capture_writes.c ---- */

/* Returns a number that differs from an earlier one if the program may have changed the GPU's
 * memory in between. It is not 0. */
uint64_t capture_changes(void);
void capture_note_change(void);

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
