/* The functions of the CUDA driver API that the runtime uses. Functions return 0 or
 * an error; the names are those of the shared library, with their version suffixes.
 */
#ifndef FTH_CUDART_DRIVER_H
#define FTH_CUDART_DRIVER_H

#include "cudart_types.h"

int cuInit(unsigned flags);
int cuDriverGetVersion(int *version);
int cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags, int *found);

int cuDeviceGetCount(int *count);
int cuDeviceGet(int *device, int index);
int cuDeviceGetName(char *name, int bytes, int device);
int cuDeviceGetUuid_v2(char *uuid, int device);
int cuDeviceTotalMem_v2(size_t *bytes, int device);
int cuDeviceGetAttribute(int *value, int attribute, int device);
int cuDeviceGetByPCIBusId(int *device, const char *bus);
int cuDeviceGetPCIBusId(char *bus, int bytes, int device);
int cuDeviceGetTexture1DLinearMaxWidth(size_t *width, int format, unsigned channels, int device);
int cuDeviceCanAccessPeer(int *can, int device, int peer);
int cuDeviceGetP2PAttribute(int *value, int attribute, int source, int target);
int cuDevicePrimaryCtxRetain(struct fth_cu_context **context, int device);
int cuDevicePrimaryCtxReset_v2(int device);
int cuDevicePrimaryCtxSetFlags_v2(int device, unsigned flags);
int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active);
int cuDeviceGetDefaultMemPool(struct fth_cu_pool **pool, int device);
int cuDeviceGetMemPool(struct fth_cu_pool **pool, int device);
int cuDeviceSetMemPool(int device, struct fth_cu_pool *pool);
int cuDeviceGraphMemTrim(int device);
int cuDeviceGetGraphMemAttribute(int device, int attribute, void *value);
int cuDeviceSetGraphMemAttribute(int device, int attribute, void *value);

int cuCtxGetCurrent(struct fth_cu_context **context);
int cuCtxSetCurrent(struct fth_cu_context *context);
int cuCtxGetDevice(int *device);
int cuCtxSynchronize(void);
int cuCtxGetLimit(size_t *value, int limit);
int cuCtxSetLimit(int limit, size_t value);
int cuCtxGetCacheConfig(int *config);
int cuCtxSetCacheConfig(int config);
int cuCtxGetStreamPriorityRange(int *least, int *greatest);
int cuCtxResetPersistingL2Cache(void);

int cuLibraryLoadData(struct fth_cu_library **library, const void *code, int *options,
                      void **values, unsigned count, int *library_options, void **library_values,
                      unsigned library_count);
int cuLibraryLoadFromFile(struct fth_cu_library **library, const char *path, int *options,
                          void **values, unsigned count, int *library_options,
                          void **library_values, unsigned library_count);
int cuLibraryUnload(struct fth_cu_library *library);
int cuLibraryGetKernel(struct fth_cu_kernel **kernel, struct fth_cu_library *library,
                       const char *name);
int cuLibraryGetGlobal(uint64_t *address, size_t *bytes, struct fth_cu_library *library,
                       const char *name);
int cuLibraryGetManaged(uint64_t *address, size_t *bytes, struct fth_cu_library *library,
                        const char *name);
int cuLibraryGetKernelCount(unsigned *count, struct fth_cu_library *library);
int cuLibraryEnumerateKernels(struct fth_cu_kernel **kernels, unsigned count,
                              struct fth_cu_library *library);
int cuKernelGetFunction(struct fth_cu_function **function, struct fth_cu_kernel *kernel);
int cuKernelSetAttribute(int attribute, int value, struct fth_cu_kernel *kernel, int device);

int cuFuncGetAttribute(int *value, int attribute, struct fth_cu_function *function);
int cuFuncSetAttribute(struct fth_cu_function *function, int attribute, int value);
int cuFuncSetCacheConfig(struct fth_cu_function *function, int config);
int cuFuncGetName(const char **name, struct fth_cu_function *function);
int cuFuncGetParamInfo(struct fth_cu_function *function, size_t index, size_t *offset,
                       size_t *bytes);
int cuLaunchKernel(struct fth_cu_function *function, unsigned grid_x, unsigned grid_y,
                   unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z,
                   unsigned shared_bytes, struct fth_cu_stream *stream, void **parameters,
                   void **extra);
int cuLaunchKernelEx(const struct fth_cu_launch *launch, struct fth_cu_function *function,
                     void **parameters, void **extra);
int cuLaunchCooperativeKernel(struct fth_cu_function *function, unsigned grid_x, unsigned grid_y,
                              unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z,
                              unsigned shared_bytes, struct fth_cu_stream *stream,
                              void **parameters);
int cuLaunchHostFunc(struct fth_cu_stream *stream, void (*function)(void *), void *data);
int cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks,
                                                         struct fth_cu_function *function,
                                                         int threads, size_t shared_bytes,
                                                         unsigned flags);
int cuOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, struct fth_cu_function *function,
                                            int blocks, int threads);
int cuOccupancyMaxPotentialClusterSize(int *size, struct fth_cu_function *function,
                                       const struct fth_cu_launch *launch);
int cuOccupancyMaxActiveClusters(int *clusters, struct fth_cu_function *function,
                                 const struct fth_cu_launch *launch);

int cuMemAlloc_v2(uint64_t *address, size_t bytes);
int cuMemAllocPitch_v2(uint64_t *address, size_t *pitch, size_t width, size_t height,
                       unsigned element_bytes);
int cuMemAllocManaged(uint64_t *address, size_t bytes, unsigned flags);
int cuMemFree_v2(uint64_t address);
int cuMemHostAlloc(void **pointer, size_t bytes, unsigned flags);
int cuMemFreeHost(void *pointer);
int cuMemHostRegister_v2(void *pointer, size_t bytes, unsigned flags);
int cuMemHostUnregister(void *pointer);
int cuMemHostGetDevicePointer_v2(uint64_t *address, void *pointer, unsigned flags);
int cuMemHostGetFlags(unsigned *flags, void *pointer);
int cuMemGetInfo_v2(size_t *available, size_t *total);
int cuPointerGetAttribute(void *value, int attribute, uint64_t address);
int cuMemAdvise_v2(uint64_t address, size_t bytes, int advice, struct fth_location location);
int cuMemPrefetchAsync_v2(uint64_t address, size_t bytes, struct fth_location location,
                          unsigned flags, struct fth_cu_stream *stream);
int cuMemRangeGetAttribute(void *value, size_t bytes, int attribute, uint64_t address,
                           size_t count);
int cuMemRangeGetAttributes(void **values, size_t *sizes, int *attributes, size_t attribute_count,
                            uint64_t address, size_t count);
int cuMemAllocAsync(uint64_t *address, size_t bytes, struct fth_cu_stream *stream);
int cuMemFreeAsync(uint64_t address, struct fth_cu_stream *stream);
int cuMemAllocFromPoolAsync(uint64_t *address, size_t bytes, struct fth_cu_pool *pool,
                            struct fth_cu_stream *stream);
int cuMemPoolCreate(struct fth_cu_pool **pool, const struct fth_pool_properties *properties);
int cuMemPoolDestroy(struct fth_cu_pool *pool);
int cuMemPoolTrimTo(struct fth_cu_pool *pool, size_t bytes);
int cuMemPoolGetAttribute(struct fth_cu_pool *pool, int attribute, void *value);
int cuMemPoolSetAttribute(struct fth_cu_pool *pool, int attribute, void *value);
int cuMemPoolGetAccess(int *flags, struct fth_cu_pool *pool, struct fth_location *location);
int cuMemPoolSetAccess(struct fth_cu_pool *pool, const struct fth_access *access, size_t count);

int cuMemcpy(uint64_t target, uint64_t source, size_t bytes);
int cuMemcpyAsync(uint64_t target, uint64_t source, size_t bytes, struct fth_cu_stream *stream);
int cuMemcpyHtoD_v2(uint64_t target, const void *source, size_t bytes);
int cuMemcpyHtoDAsync_v2(uint64_t target, const void *source, size_t bytes,
                         struct fth_cu_stream *stream);
int cuMemcpyDtoH_v2(void *target, uint64_t source, size_t bytes);
int cuMemcpyDtoHAsync_v2(void *target, uint64_t source, size_t bytes, struct fth_cu_stream *stream);
int cuMemcpyDtoD_v2(uint64_t target, uint64_t source, size_t bytes);
int cuMemcpyDtoDAsync_v2(uint64_t target, uint64_t source, size_t bytes,
                         struct fth_cu_stream *stream);
int cuMemcpy2DUnaligned_v2(const struct fth_cu_copy_2d *copy);
int cuMemcpy2DAsync_v2(const struct fth_cu_copy_2d *copy, struct fth_cu_stream *stream);
int cuMemcpy3D_v2(const struct fth_cu_copy_3d *copy);
int cuMemcpy3DAsync_v2(const struct fth_cu_copy_3d *copy, struct fth_cu_stream *stream);
int cuMemsetD8_v2(uint64_t target, unsigned char value, size_t bytes);
int cuMemsetD8Async(uint64_t target, unsigned char value, size_t bytes,
                    struct fth_cu_stream *stream);
int cuMemsetD2D8_v2(uint64_t target, size_t pitch, unsigned char value, size_t width,
                    size_t height);
int cuMemsetD2D8Async(uint64_t target, size_t pitch, unsigned char value, size_t width,
                      size_t height, struct fth_cu_stream *stream);

int cuArray3DCreate_v2(struct fth_cu_array **array, const struct fth_cu_array_shape *shape);
int cuArray3DGetDescriptor_v2(struct fth_cu_array_shape *shape, const struct fth_cu_array *array);
int cuArrayDestroy(struct fth_cu_array *array);
int cuMipmappedArrayCreate(struct fth_cu_mipmap **mipmap, const struct fth_cu_array_shape *shape,
                           unsigned levels);
int cuMipmappedArrayGetLevel(struct fth_cu_array **array, const struct fth_cu_mipmap *mipmap,
                             unsigned level);
int cuMipmappedArrayDestroy(struct fth_cu_mipmap *mipmap);
int cuTexObjectCreate(uint64_t *texture, const struct fth_cu_resource *resource,
                      const struct fth_cu_texture *description,
                      const struct fth_resource_view *view);
int cuTexObjectDestroy(uint64_t texture);
int cuTexObjectGetResourceDesc(struct fth_cu_resource *resource, uint64_t texture);
int cuTexObjectGetTextureDesc(struct fth_cu_texture *description, uint64_t texture);
int cuTexObjectGetResourceViewDesc(struct fth_resource_view *view, uint64_t texture);
int cuSurfObjectCreate(uint64_t *surface, const struct fth_cu_resource *resource);
int cuSurfObjectDestroy(uint64_t surface);
int cuSurfObjectGetResourceDesc(struct fth_cu_resource *resource, uint64_t surface);

int cuStreamCreateWithPriority(struct fth_cu_stream **stream, unsigned flags, int priority);
int cuStreamDestroy_v2(struct fth_cu_stream *stream);
int cuStreamSynchronize(struct fth_cu_stream *stream);
int cuStreamQuery(struct fth_cu_stream *stream);
int cuStreamWaitEvent(struct fth_cu_stream *stream, struct fth_cu_event *event, unsigned flags);
int cuStreamGetPriority(struct fth_cu_stream *stream, int *priority);
int cuStreamGetFlags(struct fth_cu_stream *stream, unsigned *flags);
int cuStreamGetId(struct fth_cu_stream *stream, unsigned long long *id);
int cuStreamGetDevice(struct fth_cu_stream *stream, int *device);
int cuStreamAddCallback(struct fth_cu_stream *stream,
                        void (*function)(struct fth_cu_stream *, int, void *), void *data,
                        unsigned flags);
int cuStreamAttachMemAsync(struct fth_cu_stream *stream, uint64_t address, size_t bytes,
                           unsigned flags);
int cuStreamCopyAttributes(struct fth_cu_stream *target, struct fth_cu_stream *source);
int cuStreamGetAttribute(struct fth_cu_stream *stream, int attribute, void *value);
int cuStreamSetAttribute(struct fth_cu_stream *stream, int attribute, const void *value);
int cuStreamBeginCapture_v2(struct fth_cu_stream *stream, int mode);
int cuStreamBeginCaptureToGraph(struct fth_cu_stream *stream, struct fth_cu_graph *graph,
                                struct fth_cu_node *const *nodes, const struct fth_edge *edges,
                                size_t count, int mode);
int cuStreamEndCapture(struct fth_cu_stream *stream, struct fth_cu_graph **graph);
int cuStreamIsCapturing(struct fth_cu_stream *stream, int *status);
int cuStreamGetCaptureInfo_v3(struct fth_cu_stream *stream, int *status, uint64_t *id,
                              struct fth_cu_graph **graph, struct fth_cu_node *const **nodes,
                              const struct fth_edge **edges, size_t *count);
int cuStreamUpdateCaptureDependencies_v2(struct fth_cu_stream *stream, struct fth_cu_node **nodes,
                                         const struct fth_edge *edges, size_t count,
                                         unsigned flags);
int cuThreadExchangeStreamCaptureMode(int *mode);
int cuEventCreate(struct fth_cu_event **event, unsigned flags);
int cuEventDestroy_v2(struct fth_cu_event *event);
int cuEventRecordWithFlags(struct fth_cu_event *event, struct fth_cu_stream *stream,
                           unsigned flags);
int cuEventQuery(struct fth_cu_event *event);
int cuEventSynchronize(struct fth_cu_event *event);
int cuEventElapsedTime(float *milliseconds, struct fth_cu_event *start, struct fth_cu_event *end);
int cuProfilerStart(void);
int cuProfilerStop(void);

int cuGraphCreate(struct fth_cu_graph **graph, unsigned flags);
int cuGraphDestroy(struct fth_cu_graph *graph);
int cuGraphClone(struct fth_cu_graph **clone, struct fth_cu_graph *graph);
int cuGraphNodeFindInClone(struct fth_cu_node **node, struct fth_cu_node *original,
                           struct fth_cu_graph *clone);
int cuGraphNodeGetType(struct fth_cu_node *node, int *type);
int cuGraphGetNodes(struct fth_cu_graph *graph, struct fth_cu_node **nodes, size_t *count);
int cuGraphGetRootNodes(struct fth_cu_graph *graph, struct fth_cu_node **nodes, size_t *count);
int cuGraphGetEdges_v2(struct fth_cu_graph *graph, struct fth_cu_node **from,
                       struct fth_cu_node **to, struct fth_edge *edges, size_t *count);
int cuGraphNodeGetDependencies_v2(struct fth_cu_node *node, struct fth_cu_node **nodes,
                                  struct fth_edge *edges, size_t *count);
int cuGraphNodeGetDependentNodes_v2(struct fth_cu_node *node, struct fth_cu_node **nodes,
                                    struct fth_edge *edges, size_t *count);
int cuGraphAddDependencies_v2(struct fth_cu_graph *graph, struct fth_cu_node *const *from,
                              struct fth_cu_node *const *to, const struct fth_edge *edges,
                              size_t count);
int cuGraphRemoveDependencies_v2(struct fth_cu_graph *graph, struct fth_cu_node *const *from,
                                 struct fth_cu_node *const *to, const struct fth_edge *edges,
                                 size_t count);
int cuGraphDestroyNode(struct fth_cu_node *node);
int cuGraphAddKernelNode_v2(struct fth_cu_node **node, struct fth_cu_graph *graph,
                            struct fth_cu_node *const *nodes, size_t count,
                            const struct fth_cu_kernel_node *parameters);
int cuGraphKernelNodeGetParams_v2(struct fth_cu_node *node, struct fth_cu_kernel_node *parameters);
int cuGraphKernelNodeSetParams_v2(struct fth_cu_node *node,
                                  const struct fth_cu_kernel_node *parameters);
int cuGraphKernelNodeCopyAttributes(struct fth_cu_node *target, struct fth_cu_node *source);
int cuGraphKernelNodeGetAttribute(struct fth_cu_node *node, int attribute, void *value);
int cuGraphKernelNodeSetAttribute(struct fth_cu_node *node, int attribute, const void *value);
int cuGraphAddMemcpyNode(struct fth_cu_node **node, struct fth_cu_graph *graph,
                         struct fth_cu_node *const *nodes, size_t count,
                         const struct fth_cu_copy_3d *copy, struct fth_cu_context *context);
int cuGraphMemcpyNodeGetParams(struct fth_cu_node *node, struct fth_cu_copy_3d *copy);
int cuGraphMemcpyNodeSetParams(struct fth_cu_node *node, const struct fth_cu_copy_3d *copy);
int cuGraphAddMemsetNode(struct fth_cu_node **node, struct fth_cu_graph *graph,
                         struct fth_cu_node *const *nodes, size_t count,
                         const struct fth_set_node *set, struct fth_cu_context *context);
int cuGraphMemsetNodeGetParams(struct fth_cu_node *node, struct fth_set_node *set);
int cuGraphMemsetNodeSetParams(struct fth_cu_node *node, const struct fth_set_node *set);
int cuGraphAddHostNode(struct fth_cu_node **node, struct fth_cu_graph *graph,
                       struct fth_cu_node *const *nodes, size_t count,
                       const struct fth_host_node *host);
int cuGraphHostNodeGetParams(struct fth_cu_node *node, struct fth_host_node *host);
int cuGraphHostNodeSetParams(struct fth_cu_node *node, const struct fth_host_node *host);
int cuGraphAddChildGraphNode(struct fth_cu_node **node, struct fth_cu_graph *graph,
                             struct fth_cu_node *const *nodes, size_t count,
                             struct fth_cu_graph *child);
int cuGraphChildGraphNodeGetGraph(struct fth_cu_node *node, struct fth_cu_graph **graph);
int cuGraphAddEmptyNode(struct fth_cu_node **node, struct fth_cu_graph *graph,
                        struct fth_cu_node *const *nodes, size_t count);
int cuGraphAddEventRecordNode(struct fth_cu_node **node, struct fth_cu_graph *graph,
                              struct fth_cu_node *const *nodes, size_t count,
                              struct fth_cu_event *event);
int cuGraphEventRecordNodeGetEvent(struct fth_cu_node *node, struct fth_cu_event **event);
int cuGraphEventRecordNodeSetEvent(struct fth_cu_node *node, struct fth_cu_event *event);
int cuGraphAddEventWaitNode(struct fth_cu_node **node, struct fth_cu_graph *graph,
                            struct fth_cu_node *const *nodes, size_t count,
                            struct fth_cu_event *event);
int cuGraphEventWaitNodeGetEvent(struct fth_cu_node *node, struct fth_cu_event **event);
int cuGraphEventWaitNodeSetEvent(struct fth_cu_node *node, struct fth_cu_event *event);
int cuGraphAddMemAllocNode(struct fth_cu_node **node, struct fth_cu_graph *graph,
                           struct fth_cu_node *const *nodes, size_t count,
                           struct fth_alloc_node *alloc);
int cuGraphMemAllocNodeGetParams(struct fth_cu_node *node, struct fth_alloc_node *alloc);
int cuGraphAddMemFreeNode(struct fth_cu_node **node, struct fth_cu_graph *graph,
                          struct fth_cu_node *const *nodes, size_t count, uint64_t address);
int cuGraphMemFreeNodeGetParams(struct fth_cu_node *node, uint64_t *address);
int cuGraphInstantiateWithFlags(struct fth_cu_exec **exec, struct fth_cu_graph *graph,
                                unsigned long long flags);
int cuGraphInstantiateWithParams(struct fth_cu_exec **exec, struct fth_cu_graph *graph,
                                 struct fth_instantiation *parameters);
int cuGraphExecGetFlags(struct fth_cu_exec *exec, uint64_t *flags);
int cuGraphExecKernelNodeSetParams_v2(struct fth_cu_exec *exec, struct fth_cu_node *node,
                                      const struct fth_cu_kernel_node *parameters);
int cuGraphExecMemcpyNodeSetParams(struct fth_cu_exec *exec, struct fth_cu_node *node,
                                   const struct fth_cu_copy_3d *copy,
                                   struct fth_cu_context *context);
int cuGraphExecMemsetNodeSetParams(struct fth_cu_exec *exec, struct fth_cu_node *node,
                                   const struct fth_set_node *set, struct fth_cu_context *context);
int cuGraphExecHostNodeSetParams(struct fth_cu_exec *exec, struct fth_cu_node *node,
                                 const struct fth_host_node *host);
int cuGraphExecChildGraphNodeSetParams(struct fth_cu_exec *exec, struct fth_cu_node *node,
                                       struct fth_cu_graph *child);
int cuGraphExecEventRecordNodeSetEvent(struct fth_cu_exec *exec, struct fth_cu_node *node,
                                       struct fth_cu_event *event);
int cuGraphExecEventWaitNodeSetEvent(struct fth_cu_exec *exec, struct fth_cu_node *node,
                                     struct fth_cu_event *event);
int cuGraphNodeSetEnabled(struct fth_cu_exec *exec, struct fth_cu_node *node, unsigned enabled);
int cuGraphNodeGetEnabled(struct fth_cu_exec *exec, struct fth_cu_node *node, unsigned *enabled);
int cuGraphExecUpdate_v2(struct fth_cu_exec *exec, struct fth_cu_graph *graph,
                         struct fth_update_result *result);
int cuGraphUpload(struct fth_cu_exec *exec, struct fth_cu_stream *stream);
int cuGraphLaunch(struct fth_cu_exec *exec, struct fth_cu_stream *stream);
int cuGraphExecDestroy(struct fth_cu_exec *exec);
int cuGraphDebugDotPrint(struct fth_cu_graph *graph, const char *path, unsigned flags);
int cuUserObjectCreate(struct fth_cu_object **object, void *pointer, void (*destroy)(void *),
                       unsigned count, unsigned flags);
int cuUserObjectRetain(struct fth_cu_object *object, unsigned count);
int cuUserObjectRelease(struct fth_cu_object *object, unsigned count);
int cuGraphRetainUserObject(struct fth_cu_graph *graph, struct fth_cu_object *object,
                            unsigned count, unsigned flags);
int cuGraphReleaseUserObject(struct fth_cu_graph *graph, struct fth_cu_object *object,
                             unsigned count);

#endif
