/* Prototypes of the functions of the runtime that the tests call, as in CUDA's headers. */
#ifndef FTH_RUNTIME_CALLS_H
#define FTH_RUNTIME_CALLS_H

#include "cudart.h"

void **__cudaRegisterFatBinary(void *fat);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaUnregisterFatBinary(void **handle);
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
                            int max_threads, void *thread, void *block, void *block_size,
                            void *grid_size, int *warp_size);
void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int external,
                       size_t bytes, int constant, int global);
void __cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name,
                              int external, size_t bytes, int constant, int global);
char __cudaInitModule(void **handle);
unsigned __cudaPushCallConfiguration(struct fth_dim3 grid, struct fth_dim3 block,
                                     size_t shared_bytes, void *stream);
int __cudaPopCallConfiguration(struct fth_dim3 *grid, struct fth_dim3 *block, size_t *shared_bytes,
                               void *stream);
int __cudaGetKernel(const void **kernel, const void *symbol);
int __cudaLaunchKernel(const void *kernel, struct fth_dim3 grid, struct fth_dim3 block,
                       void **arguments, size_t shared_bytes, struct fth_cu_stream *stream);
int __cudaLaunchKernel_ptsz(const void *kernel, struct fth_dim3 grid, struct fth_dim3 block,
                            void **arguments, size_t shared_bytes, struct fth_cu_stream *stream);
int cudaLaunchKernel(const void *symbol, struct fth_dim3 grid, struct fth_dim3 block,
                     void **arguments, size_t shared_bytes, struct fth_cu_stream *stream);
int cudaLaunchKernelExC(const struct fth_launch *launch, const void *symbol, void **arguments);
int cudaGetKernel(struct fth_cu_kernel **kernel, const void *symbol);
int cudaGetFuncBySymbol(struct fth_cu_function **function, const void *symbol);
int cudaLibraryGetKernel(struct fth_cu_kernel **kernel, struct fth_cu_library *library,
                         const char *name);
int cudaLibraryUnload(struct fth_cu_library *library);
int cudaGetLastError(void);
int cudaPeekAtLastError(void);
const char *cudaGetErrorName(int code);
const char *cudaGetErrorString(int code);
int cudaSetDevice(int device);
int cudaGetDevice(int *device);
int cudaGetDeviceCount(int *count);
int cudaDeviceReset(void);
int cudaDeviceSynchronize(void);
int cudaDeviceEnablePeerAccess(int peer, unsigned flags);
int cudaGetDeviceProperties(struct fth_device_properties *properties, int device);
int cudaMalloc(void **pointer, size_t bytes);
int cudaMalloc3D(struct fth_pitched *pitched, struct fth_extent extent);
int cudaFree(void *pointer);
int cudaPointerGetAttributes(struct fth_pointer_attributes *attributes, const void *pointer);
int cudaMemcpy(void *target, const void *source, size_t bytes, int kind);
int cudaMemcpy_ptds(void *target, const void *source, size_t bytes, int kind);
int cudaMemcpyAsync(void *target, const void *source, size_t bytes, int kind,
                    struct fth_cu_stream *stream);
int cudaMemcpyAsync_ptsz(void *target, const void *source, size_t bytes, int kind,
                         struct fth_cu_stream *stream);
int cudaMemcpy2D(void *target, size_t target_pitch, const void *source, size_t source_pitch,
                 size_t width, size_t height, int kind);
int cudaMemcpy2DToArray(struct fth_cu_array *target, size_t x, size_t y, const void *source,
                        size_t pitch, size_t width, size_t height, int kind);
int cudaMemcpy3D(const struct fth_copy_3d *copy);
int cudaMemcpyToSymbol(const void *symbol, const void *source, size_t count, size_t offset,
                       int kind);
int cudaMemcpyFromSymbol(void *target, const void *symbol, size_t count, size_t offset, int kind);
int cudaGetSymbolAddress(void **pointer, const void *symbol);
int cudaGetSymbolSize(size_t *bytes, const void *symbol);
struct fth_channel cudaCreateChannelDesc(int x, int y, int z, int w, int kind);
int cudaMallocArray(struct fth_cu_array **array, const struct fth_channel *channel, size_t width,
                    size_t height, unsigned flags);
int cudaArrayGetInfo(struct fth_channel *channel, struct fth_extent *extent, unsigned *flags,
                     struct fth_cu_array *array);
int cudaCreateTextureObject(uint64_t *object, const struct fth_resource *resource,
                            const struct fth_texture *texture,
                            const struct fth_resource_view *view);
int cudaGetTextureObjectResourceDesc(struct fth_resource *resource, uint64_t object);
int cudaGetTextureObjectTextureDesc(struct fth_texture *texture, uint64_t object);
int cudaGraphAddKernelNode(struct fth_cu_node **node, struct fth_cu_graph *graph,
                           struct fth_cu_node *const *nodes, size_t count,
                           const struct fth_kernel_node *kernel);
int cudaGraphKernelNodeGetParams(struct fth_cu_node *node, struct fth_kernel_node *kernel);
int cudaGraphMemcpyNodeGetParams(struct fth_cu_node *node, struct fth_copy_3d *copy);
int cudaStreamSynchronize(struct fth_cu_stream *stream);
int cudaEventRecord(struct fth_cu_event *event, struct fth_cu_stream *stream);
int cudaIpcCloseMemHandle(void *pointer);

#endif
