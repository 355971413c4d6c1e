/* What the test programs use of the CUDA driver API: declarations with the names and the layout
 * that its documentation states, and macros that check results. A program prints "ok" and exits
 * with 0, or says what is wrong and exits with 1. */
#ifndef FTH_TEST_DRIVER_API_H
#define FTH_TEST_DRIVER_API_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct context;
struct module;
struct function;
struct stream;
struct event;
struct graph;
struct graph_exec;
struct node;
struct array;
struct pool;
struct object;
struct link;

struct copy_2d {
    size_t source_x, source_y;
    int source_type;
    const void *source_host;
    uint64_t source_device;
    struct array *source_array;
    size_t source_pitch;
    size_t target_x, target_y;
    int target_type;
    void *target_host;
    uint64_t target_device;
    struct array *target_array;
    size_t target_pitch;
    size_t width, height;
};

struct copy_3d {
    size_t source_x, source_y, source_z, source_level;
    int source_type;
    const void *source_host;
    uint64_t source_device;
    struct array *source_array;
    void *reserved0;
    size_t source_pitch, source_height;
    size_t target_x, target_y, target_z, target_level;
    int target_type;
    void *target_host;
    uint64_t target_device;
    struct array *target_array;
    void *reserved1;
    size_t target_pitch, target_height;
    size_t width, height, depth;
};
enum { HOST = 1, DEVICE = 2, ARRAY = 3, UNIFIED = 4 };

struct array_2d {
    size_t width, height;
    int format;
    unsigned channels;
};

struct array_3d {
    size_t width, height, depth;
    int format;
    unsigned channels, flags;
};
enum { FORMAT_U8 = 1, FORMAT_U32 = 3, FORMAT_F32 = 0x20 };

struct kernel_node {
    struct function *function;
    unsigned grid[3], block[3], shared_bytes;
    void **arguments, **extra;
    struct function *kernel;
    struct context *context;
};

struct fill_node {
    uint64_t address;
    size_t pitch;
    unsigned value, element_bytes;
    size_t width, height;
};

struct host_node {
    void (*function)(void *user);
    void *user;
};

struct alloc_node {
    int properties[22];
    const void *access;
    size_t access_count, bytes;
    uint64_t address;
};

struct launch_attribute {
    int id, padding;
    union {
        unsigned cluster[3];
        unsigned char bytes[64];
    } value;
};
enum { CLUSTER_DIMENSION = 4 };

struct launch_config {
    unsigned grid[3], block[3], shared_bytes;
    struct stream *stream;
    struct launch_attribute *attributes;
    unsigned attribute_count;
};

struct resource {
    int type;
    union {
        struct array *array;
        struct {
            uint64_t address;
            int format;
            unsigned channels;
            size_t bytes;
        } linear;
        int reserved[32];
    } of;
    unsigned flags;
};

struct texture {
    int address_mode[3], filter_mode;
    unsigned flags, anisotropy;
    int mipmap_filter_mode;
    float mipmap[3], border[4];
    int reserved[12];
};

struct update_info {
    int result;
    struct node *node, *from;
};

int cuInit(unsigned flags);
int cuDriverGetVersion(int *version);
int cuGetErrorName(int result, const char **name);
int cuGetErrorString(int result, const char **text);
int cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags,
                        int *status);
int cuDeviceGetCount(int *count);
int cuDeviceGet(int *device, int ordinal);
int cuDeviceGetName(char *name, int size, int device);
int cuDeviceGetAttribute(int *value, int attribute, int device);
int cuDeviceTotalMem_v2(size_t *bytes, int device);
int cuDeviceGetUuid_v2(unsigned char *uuid, int device);
int cuDeviceGetPCIBusId(char *text, int size, int device);
int cuDeviceGetByPCIBusId(int *device, const char *text);
int cuDeviceCanAccessPeer(int *can, int device, int peer);
int cuDeviceComputeCapability(int *major, int *minor, int device);
int cuDevicePrimaryCtxRetain(struct context **context, int device);
int cuDevicePrimaryCtxRelease_v2(int device);
int cuDevicePrimaryCtxReset_v2(int device);
int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active);
int cuDeviceGetDefaultMemPool(struct pool **pool, int device);
int cuCtxCreate_v2(struct context **context, unsigned flags, int device);
int cuCtxDestroy_v2(struct context *context);
int cuCtxPushCurrent_v2(struct context *context);
int cuCtxPopCurrent_v2(struct context **context);
int cuCtxSetCurrent(struct context *context);
int cuCtxGetCurrent(struct context **context);
int cuCtxGetDevice(int *device);
int cuCtxGetFlags(unsigned *flags);
int cuCtxGetId(struct context *context, unsigned long long *id);
int cuCtxSynchronize(void);
int cuCtxSetLimit(int limit, size_t value);
int cuCtxGetLimit(size_t *value, int limit);
int cuCtxGetStreamPriorityRange(int *least, int *greatest);

int cuModuleLoadData(struct module **module, const void *image);
int cuModuleLoadDataEx(struct module **module, const void *image, unsigned count,
                       const int *options, void **values);
int cuLinkCreate_v2(unsigned count, const int *options, void **values, struct link **link);
int cuLinkAddData_v2(struct link *link, int type, const void *data, size_t bytes, const char *name,
                     unsigned count, const int *options, void **values);
int cuLinkComplete(struct link *link, void **image, size_t *bytes);
int cuLinkDestroy(struct link *link);
int cuModuleLoad(struct module **module, const char *path);
int cuModuleUnload(struct module *module);
int cuModuleGetFunction(struct function **function, struct module *module, const char *name);
int cuModuleGetGlobal_v2(uint64_t *address, size_t *bytes, struct module *module, const char *name);
int cuModuleGetFunctionCount(unsigned *count, struct module *module);
int cuModuleEnumerateFunctions(struct function **functions, unsigned count, struct module *module);
int cuLibraryLoadData(struct module **library, const void *image, int *options, void **values,
                      unsigned count, int *library_options, void **library_values,
                      unsigned library_count);
int cuLibraryUnload(struct module *library);
int cuLibraryGetKernel(struct function **kernel, struct module *library, const char *name);
int cuLibraryGetKernelCount(unsigned *count, struct module *library);
int cuLibraryGetModule(struct module **module, struct module *library);
int cuLibraryGetGlobal(uint64_t *address, size_t *bytes, struct module *library, const char *name);
int cuLibraryGetManaged(uint64_t *address, size_t *bytes, struct module *library, const char *name);
int cuKernelGetFunction(struct function **function, struct function *kernel);
int cuKernelGetName(const char **name, struct function *kernel);
int cuKernelGetParamInfo(struct function *kernel, size_t index, size_t *offset, size_t *bytes);
int cuFuncGetName(const char **name, struct function *function);
int cuFuncGetModule(struct module **module, struct function *function);
int cuFuncGetParamInfo(struct function *function, size_t index, size_t *offset, size_t *bytes);
int cuFuncGetAttribute(int *value, int attribute, struct function *function);
int cuFuncSetAttribute(struct function *function, int attribute, int value);
int cuLaunchKernel(struct function *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                   struct stream *stream, void **arguments, void **extra);
int cuLaunchKernelEx(const struct launch_config *config, struct function *function,
                     void **arguments, void **extra);
int cuLaunchCooperativeKernel(struct function *function, unsigned grid_x, unsigned grid_y,
                              unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z,
                              unsigned shared_bytes, struct stream *stream, void **arguments);
int cuLaunchHostFunc(struct stream *stream, void (*function)(void *user), void *user);
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, struct function *function, int threads,
                                                size_t dynamic_shared);
int cuOccupancyMaxPotentialBlockSize(int *grid, int *block, struct function *function,
                                     size_t (*shared_of)(int), size_t dynamic_shared, int limit);
int cuOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, struct function *function, int blocks,
                                            int threads);
int cuOccupancyMaxActiveClusters(int *clusters, struct function *function,
                                 const struct launch_config *config);

int cuMemAlloc_v2(uint64_t *address, size_t bytes);
int cuMemAllocPitch_v2(uint64_t *address, size_t *pitch, size_t width, size_t height,
                       unsigned element_bytes);
int cuMemFree_v2(uint64_t address);
int cuMemGetInfo_v2(size_t *free, size_t *total);
int cuMemGetAddressRange_v2(uint64_t *base, size_t *bytes, uint64_t address);
int cuMemHostAlloc(void **host, size_t bytes, unsigned flags);
int cuMemFreeHost(void *host);
int cuMemHostGetDevicePointer_v2(uint64_t *address, void *host, unsigned flags);
int cuMemHostRegister_v2(void *host, size_t bytes, unsigned flags);
int cuMemHostUnregister(void *host);
int cuMemAllocManaged(uint64_t *address, size_t bytes, unsigned flags);
int cuMemRangeGetAttribute(void *value, size_t bytes, int attribute, uint64_t address,
                           size_t count);
int cuMemAllocAsync(uint64_t *address, size_t bytes, struct stream *stream);
int cuMemAllocFromPoolAsync(uint64_t *address, size_t bytes, struct pool *pool,
                            struct stream *stream);
int cuMemFreeAsync(uint64_t address, struct stream *stream);
int cuMemPoolCreate(struct pool **pool, const void *properties);
int cuMemPoolDestroy(struct pool *pool);
int cuMemPoolSetAttribute(struct pool *pool, int attribute, const void *value);
int cuMemPoolGetAttribute(struct pool *pool, int attribute, void *value);
int cuMemPoolGetAccess(int *flags, struct pool *pool, const int *location);
int cuPointerGetAttribute(void *value, int attribute, uint64_t address);
int cuPointerGetAttributes(unsigned count, const int *attributes, void **values, uint64_t address);
int cuMemcpy(uint64_t to, uint64_t from, size_t bytes);
int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes);
int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes);
int cuMemcpyDtoD_v2(uint64_t to, uint64_t from, size_t bytes);
int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, struct stream *stream);
int cuMemcpyDtoDAsync_v2(uint64_t target, uint64_t source, size_t bytes, struct stream *stream);
int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, struct stream *stream);
int cuMemcpyPeer(uint64_t to, struct context *to_context, uint64_t from,
                 struct context *from_context, size_t bytes);
int cuMemcpy2D_v2(const struct copy_2d *copy);
int cuMemcpy2DAsync_v2(const struct copy_2d *copy, struct stream *stream);
int cuMemcpy3D_v2(const struct copy_3d *copy);
int cuMemcpyHtoA_v2(struct array *array, size_t offset, const void *from, size_t bytes);
int cuMemcpyAtoH_v2(void *to, struct array *array, size_t offset, size_t bytes);
int cuMemcpyAtoA_v2(struct array *to, size_t to_offset, struct array *from, size_t from_offset,
                    size_t bytes);
int cuMemsetD8_v2(uint64_t address, unsigned char value, size_t count);
int cuMemsetD16_v2(uint64_t address, unsigned short value, size_t count);
int cuMemsetD32_v2(uint64_t address, unsigned value, size_t count);
int cuMemsetD32Async(uint64_t address, unsigned value, size_t count, struct stream *stream);
int cuMemsetD2D32_v2(uint64_t address, size_t pitch, unsigned value, size_t width, size_t height);
int cuArrayCreate_v2(struct array **array, const struct array_2d *shape);
int cuArray3DCreate_v2(struct array **array, const struct array_3d *shape);
int cuArray3DGetDescriptor_v2(struct array_3d *shape, struct array *array);
int cuArrayDestroy(struct array *array);
int cuTexObjectCreate(uint64_t *texture, const struct resource *resource,
                      const struct texture *sampling, const void *view);
int cuTexObjectDestroy(uint64_t texture);
int cuTexObjectGetResourceDesc(struct resource *resource, uint64_t texture);
int cuTexObjectGetTextureDesc(struct texture *sampling, uint64_t texture);
int cuSurfObjectCreate(uint64_t *surface, const struct resource *resource);
int cuSurfObjectDestroy(uint64_t surface);
int cuTensorMapEncodeTiled(void *map, int type, uint32_t rank, void *address, const uint64_t *sizes,
                           const uint64_t *strides, const uint32_t *box, const uint32_t *steps,
                           int interleave, int swizzle, int promotion, int fill);

int cuStreamCreate(struct stream **stream, unsigned flags);
int cuStreamCreateWithPriority(struct stream **stream, unsigned flags, int priority);
int cuStreamDestroy_v2(struct stream *stream);
int cuStreamSynchronize(struct stream *stream);
int cuStreamQuery(struct stream *stream);
int cuStreamGetPriority(struct stream *stream, int *priority);
int cuStreamGetFlags(struct stream *stream, unsigned *flags);
int cuStreamGetCtx(struct stream *stream, struct context **context);
int cuStreamWaitEvent(struct stream *stream, struct event *event, unsigned flags);
int cuStreamAddCallback(struct stream *stream,
                        void (*callback)(struct stream *stream, int status, void *user), void *user,
                        unsigned flags);
int cuStreamWriteValue32_v2(struct stream *stream, uint64_t address, uint32_t value,
                            unsigned flags);
int cuStreamWriteValue64_v2(struct stream *stream, uint64_t address, uint64_t value,
                            unsigned flags);
int cuStreamWaitValue32_v2(struct stream *stream, uint64_t address, uint32_t value, unsigned flags);
int cuStreamWaitValue64_v2(struct stream *stream, uint64_t address, uint64_t value, unsigned flags);
int cuEventCreate(struct event **event, unsigned flags);
int cuEventDestroy_v2(struct event *event);
int cuEventRecord(struct event *event, struct stream *stream);
int cuEventSynchronize(struct event *event);
int cuEventQuery(struct event *event);
int cuEventElapsedTime(float *milliseconds, struct event *start, struct event *end);

int cuStreamBeginCapture_v2(struct stream *stream, int mode);
int cuStreamBeginCaptureToGraph(struct stream *stream, struct graph *graph,
                                struct node *const *before, const void *edges, size_t count,
                                int mode);
int cuStreamEndCapture(struct stream *stream, struct graph **graph);
int cuStreamIsCapturing(struct stream *stream, int *status);
int cuStreamGetCaptureInfo_v2(struct stream *stream, int *status, unsigned long long *id,
                              struct graph **graph, struct node *const **before, size_t *count);
int cuStreamUpdateCaptureDependencies_v2(struct stream *stream, struct node *const *before,
                                         const void *edges, size_t count, unsigned flags);
int cuGraphCreate(struct graph **graph, unsigned flags);
int cuGraphDestroy(struct graph *graph);
int cuGraphClone(struct graph **clone, struct graph *graph);
int cuGraphNodeFindInClone(struct node **node, struct node *original, struct graph *clone);
int cuGraphAddKernelNode_v2(struct node **node, struct graph *graph, struct node *const *before,
                            size_t count, const struct kernel_node *kernel);
int cuGraphKernelNodeGetParams_v2(struct node *node, struct kernel_node *kernel);
int cuGraphKernelNodeSetParams_v2(struct node *node, const struct kernel_node *kernel);
int cuGraphExecKernelNodeSetParams_v2(struct graph_exec *exec, struct node *node,
                                      const struct kernel_node *kernel);
int cuGraphAddMemcpyNode(struct node **node, struct graph *graph, struct node *const *before,
                         size_t count, const struct copy_3d *copy, struct context *context);
int cuGraphMemcpyNodeGetParams(struct node *node, struct copy_3d *copy);
int cuGraphAddMemsetNode(struct node **node, struct graph *graph, struct node *const *before,
                         size_t count, const struct fill_node *fill, struct context *context);
int cuGraphMemsetNodeGetParams(struct node *node, struct fill_node *fill);
int cuGraphMemsetNodeSetParams(struct node *node, const struct fill_node *fill);
int cuGraphExecMemsetNodeSetParams(struct graph_exec *exec, struct node *node,
                                   const struct fill_node *fill, struct context *context);
int cuGraphAddHostNode(struct node **node, struct graph *graph, struct node *const *before,
                       size_t count, const struct host_node *host);
int cuGraphHostNodeGetParams(struct node *node, struct host_node *host);
int cuGraphAddEmptyNode(struct node **node, struct graph *graph, struct node *const *before,
                        size_t count);
int cuGraphAddChildGraphNode(struct node **node, struct graph *graph, struct node *const *before,
                             size_t count, struct graph *child);
int cuGraphChildGraphNodeGetGraph(struct node *node, struct graph **graph);
int cuGraphAddEventRecordNode(struct node **node, struct graph *graph, struct node *const *before,
                              size_t count, struct event *event);
int cuGraphEventRecordNodeGetEvent(struct node *node, struct event **event);
int cuGraphAddMemAllocNode(struct node **node, struct graph *graph, struct node *const *before,
                           size_t count, struct alloc_node *alloc);
int cuGraphAddMemFreeNode(struct node **node, struct graph *graph, struct node *const *before,
                          size_t count, uint64_t address);
int cuGraphMemFreeNodeGetParams(struct node *node, uint64_t *address);
int cuGraphAddDependencies_v2(struct graph *graph, struct node *const *from, struct node *const *to,
                              const void *edges, size_t count);
int cuGraphRemoveDependencies_v2(struct graph *graph, struct node *const *from,
                                 struct node *const *to, const void *edges, size_t count);
int cuGraphGetNodes(struct graph *graph, struct node **nodes, size_t *count);
int cuGraphGetRootNodes(struct graph *graph, struct node **nodes, size_t *count);
int cuGraphGetEdges_v2(struct graph *graph, struct node **from, struct node **to, void *edges,
                       size_t *count);
int cuGraphNodeGetType(struct node *node, int *type);
int cuGraphNodeGetDependencies_v2(struct node *node, struct node **nodes, void *edges,
                                  size_t *count);
int cuGraphNodeGetDependentNodes_v2(struct node *node, struct node **nodes, void *edges,
                                    size_t *count);
int cuGraphNodeSetEnabled(struct graph_exec *exec, struct node *node, unsigned enabled);
int cuGraphNodeGetEnabled(struct graph_exec *exec, struct node *node, unsigned *enabled);
int cuGraphDestroyNode(struct node *node);
int cuGraphInstantiateWithFlags(struct graph_exec **exec, struct graph *graph,
                                unsigned long long flags);
int cuGraphExecDestroy(struct graph_exec *exec);
int cuGraphExecUpdate_v2(struct graph_exec *exec, struct graph *graph, struct update_info *info);
int cuGraphLaunch(struct graph_exec *exec, struct stream *stream);
int cuUserObjectCreate(struct object **object, void *pointer, void (*destroy)(void *),
                       unsigned count, unsigned flags);
int cuUserObjectRelease(struct object *object, unsigned count);
int cuGraphRetainUserObject(struct graph *graph, struct object *object, unsigned count,
                            unsigned flags);
int cuIpcGetMemHandle(void *handle, uint64_t address);

/* ---- checks ---- */

static inline void check_result(int result, int expected, const char *call, const char *file,
                                int line)
{
    if (result == expected)
        return;
    fprintf(stderr, "%s:%d: %s returned %d instead of %d\n", file, line, call, result, expected);
    exit(1);
}

/* Returns whether the program runs with 'fathom exec', and not with NVIDIA's driver. */
static inline bool is_exec(void)
{
    return getenv("FATHOM_EXEC_FOLDER") != NULL;
}

/* Checks the result of a call. */
#define EXPECT(expected, call) check_result(call, expected, #call, __FILE__, __LINE__)
/* Checks that a call succeeds. */
#define CHECK(call) EXPECT(0, call)
/* Checks the result of a call that CUDA leaves undefined, such as one with the handle of something
 * that has been destroyed: it is only made with 'fathom exec'. NVIDIA's driver may crash. */
#define EXPECT_HERE(expected, call)                                                                \
    do {                                                                                           \
        if (is_exec())                                                                             \
            EXPECT(expected, call);                                                                \
    } while (0)
/* Checks a condition. */
#define ASSERT(condition)                                                                          \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: '%s' is false\n", __FILE__, __LINE__, #condition);             \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static inline int succeed(void)
{
    puts("ok");
    return 0;
}

/* Returns the address as a pointer. */
static inline void *pointer_to(uint64_t address)
{
    void *pointer;
    memcpy(&pointer, &address, sizeof pointer);
    return pointer;
}

/* Initialises the API and makes a context current. */
static inline struct context *start(void)
{
    struct context *context;
    CHECK(cuInit(0));
    CHECK(cuDevicePrimaryCtxRetain(&context, 0));
    CHECK(cuCtxSetCurrent(context));
    return context;
}

#define PTX_HEADER ".version 8.0\n.target sm_70\n.address_size 64\n"
/* A kernel of this name that adds `value` to `count` integers at `data`, one per thread. */
#define PTX_ADD                                                                                    \
    ".visible .entry add(.param .u64 data, .param .u32 value, .param .u32 count)\n"                \
    "{\n.reg .b32 %r<8>; .reg .b64 %d<4>; .reg .pred %p;\n"                                        \
    "ld.param.u64 %d1, [data]; ld.param.u32 %r1, [value]; ld.param.u32 %r2, [count];\n"            \
    "mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x; mov.u32 %r5, %tid.x;\n"                          \
    "mad.lo.u32 %r6, %r3, %r4, %r5; setp.ge.u32 %p, %r6, %r2; @%p ret;\n"                          \
    "mad.wide.u32 %d2, %r6, 4, %d1; ld.global.u32 %r7, [%d2]; add.u32 %r7, %r7, %r1;\n"            \
    "st.global.u32 [%d2], %r7; ret;\n}\n"

/* Loads a module and finds a kernel. */
static inline struct function *load_kernel(const char *ptx, const char *name)
{
    struct module *module;
    struct function *function;
    CHECK(cuModuleLoadData(&module, ptx));
    CHECK(cuModuleGetFunction(&function, module, name));
    return function;
}

/* Returns whether all integers of an array on the GPU have this value. */
static inline bool all_are(uint64_t address, unsigned value, size_t count)
{
    unsigned *values = malloc(count * sizeof *values);
    bool equal = values != NULL;
    CHECK(cuMemcpyDtoH_v2(values, address, count * sizeof *values));
    for (size_t i = 0; equal && i < count; i++)
        equal = values[i] == value;
    free(values);
    return equal;
}

#endif
