/* The functions of the test driver whose arguments matter. */
#include "mock_driver.h"

#include <string.h>

struct mock mock;

int mock_call(const char *name)
{
    if (mock.call_count < MOCK_MAX_CALLS)
        mock.calls[mock.call_count++] = name;
    return mock.failing && strcmp(mock.failing, name) == 0 ? mock.result : 0;
}

unsigned mock_count(const char *name)
{
    unsigned count = 0;
    for (size_t i = 0; i < mock.call_count; i++)
        count += strcmp(mock.calls[i], name) == 0;
    return count;
}

void mock_reset(void)
{
    struct fth_cu_context *context = mock.context;
    memset(&mock, 0, sizeof(mock));
    mock.context = context;
}

int cuCtxGetCurrent(struct fth_cu_context **context)
{
    *context = mock.context;
    return 0;
}

int cuCtxSetCurrent(struct fth_cu_context *context)
{
    mock.context = context;
    return mock_call("cuCtxSetCurrent");
}

int cuCtxGetDevice(int *device)
{
    *device = 0;
    return 0;
}

int cuDeviceGet(int *device, int index)
{
    *device = index;
    return index == 0 ? 0 : FTH_INVALID_DEVICE;
}

int cuDeviceGetCount(int *count)
{
    *count = 1;
    return mock_call("cuDeviceGetCount");
}

int cuDevicePrimaryCtxRetain(struct fth_cu_context **context, int device)
{
    *context = (struct fth_cu_context *)&mock;
    return device == 0 ? mock_call("cuDevicePrimaryCtxRetain") : FTH_INVALID_DEVICE;
}

/* Each attribute has its number plus 1000 as its value; there is no attribute 78. */
int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    *value = 1000 + attribute;
    return device != 0 || attribute == 78 ? FTH_INVALID_VALUE : 0;
}

int cuDeviceGetName(char *name, int bytes, int device)
{
    strncpy(name, "a device", (size_t)bytes);
    return device;
}

int cuDeviceTotalMem_v2(size_t *bytes, int device)
{
    *bytes = (size_t)1 << 36;
    return device;
}

int cuLibraryLoadData(struct fth_cu_library **library, const void *code, int *options,
                      void **values, unsigned count, int *library_options, void **library_values,
                      unsigned library_count)
{
    (void)options, (void)values, (void)count;
    (void)library_options, (void)library_values, (void)library_count;
    mock.code = code;
    *library = (struct fth_cu_library *)1;
    mock_call("cuLibraryLoadData");
    return mock.load_result;
}

static int lookup(const char *name)
{
    return mock.unknown && strcmp(mock.unknown, name) == 0 ? FTH_SYMBOL_NOT_FOUND : 0;
}

int cuLibraryGetKernel(struct fth_cu_kernel **kernel, struct fth_cu_library *library,
                       const char *name)
{
    (void)library;
    mock.kernel = name;
    *kernel = fth_pointer(fth_address(name) + 1);
    return lookup(name);
}

int cuKernelGetFunction(struct fth_cu_function **function, struct fth_cu_kernel *kernel)
{
    *function = fth_pointer(fth_address(kernel) + 1);
    return 0;
}

int cuLibraryGetGlobal(uint64_t *address, size_t *bytes, struct fth_cu_library *library,
                       const char *name)
{
    (void)library;
    *address = MOCK_VARIABLE;
    *bytes = MOCK_VARIABLE_BYTES;
    return lookup(name);
}

int cuLibraryGetManaged(uint64_t *address, size_t *bytes, struct fth_cu_library *library,
                        const char *name)
{
    (void)library;
    *address = fth_address(&mock.managed_value);
    *bytes = sizeof(mock.managed_value);
    return lookup(name);
}

int cuLaunchKernel(struct fth_cu_function *function, unsigned grid_x, unsigned grid_y,
                   unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z,
                   unsigned shared_bytes, struct fth_cu_stream *stream, void **parameters,
                   void **extra)
{
    (void)extra;
    mock.function = function;
    mock.launch = (struct fth_cu_launch){.grid = {grid_x, grid_y, grid_z},
                                         .block = {block_x, block_y, block_z},
                                         .shared_bytes = shared_bytes,
                                         .stream = stream};
    mock.parameters = parameters;
    return mock_call("cuLaunchKernel");
}

int cuLaunchKernelEx(const struct fth_cu_launch *launch, struct fth_cu_function *function,
                     void **parameters, void **extra)
{
    (void)extra;
    mock.function = function;
    mock.launch = *launch;
    mock.parameters = parameters;
    return mock_call("cuLaunchKernelEx");
}

int cuMemAlloc_v2(uint64_t *address, size_t bytes)
{
    *address = MOCK_MEMORY;
    mock.bytes = bytes;
    return mock_call("cuMemAlloc_v2");
}

static int copy(const char *name, uint64_t target, uint64_t source, size_t bytes,
                struct fth_cu_stream *stream)
{
    mock.target = target;
    mock.source = source;
    mock.bytes = bytes;
    mock.stream = stream;
    return mock_call(name);
}

int cuMemcpy(uint64_t target, uint64_t source, size_t bytes)
{
    return copy("cuMemcpy", target, source, bytes, NULL);
}

int cuMemcpyHtoD_v2(uint64_t target, const void *source, size_t bytes)
{
    return copy("cuMemcpyHtoD_v2", target, fth_address(source), bytes, NULL);
}

int cuMemcpyHtoDAsync_v2(uint64_t target, const void *source, size_t bytes,
                         struct fth_cu_stream *stream)
{
    return copy("cuMemcpyHtoDAsync_v2", target, fth_address(source), bytes, stream);
}

int cuMemcpyDtoH_v2(void *target, uint64_t source, size_t bytes)
{
    return copy("cuMemcpyDtoH_v2", fth_address(target), source, bytes, NULL);
}

int cuMemcpyDtoD_v2(uint64_t target, uint64_t source, size_t bytes)
{
    return copy("cuMemcpyDtoD_v2", target, source, bytes, NULL);
}

int cuMemcpy2DUnaligned_v2(const struct fth_cu_copy_2d *planes)
{
    mock.copy_2d = *planes;
    return mock_call("cuMemcpy2DUnaligned_v2");
}

int cuMemcpy3D_v2(const struct fth_cu_copy_3d *volumes)
{
    mock.copy_3d = *volumes;
    return mock_call("cuMemcpy3D_v2");
}

int cuGraphMemcpyNodeGetParams(struct fth_cu_node *node, struct fth_cu_copy_3d *volumes)
{
    (void)node;
    *volumes = mock.copy_3d;
    return mock_call("cuGraphMemcpyNodeGetParams");
}

int cuGraphAddKernelNode_v2(struct fth_cu_node **node, struct fth_cu_graph *graph,
                            struct fth_cu_node *const *nodes, size_t count,
                            const struct fth_cu_kernel_node *parameters)
{
    (void)node, (void)graph, (void)nodes, (void)count;
    mock.node = *parameters;
    return mock_call("cuGraphAddKernelNode_v2");
}

int cuGraphKernelNodeGetParams_v2(struct fth_cu_node *node, struct fth_cu_kernel_node *parameters)
{
    (void)node;
    *parameters = mock.node;
    return mock_call("cuGraphKernelNodeGetParams_v2");
}

int cuArray3DCreate_v2(struct fth_cu_array **array, const struct fth_cu_array_shape *shape)
{
    *array = (struct fth_cu_array *)&mock.shape;
    mock.shape = *shape;
    return mock_call("cuArray3DCreate_v2");
}

int cuArray3DGetDescriptor_v2(struct fth_cu_array_shape *shape, const struct fth_cu_array *array)
{
    (void)array;
    *shape = mock.shape;
    return 0;
}

int cuTexObjectCreate(uint64_t *texture, const struct fth_cu_resource *resource,
                      const struct fth_cu_texture *description,
                      const struct fth_resource_view *view)
{
    (void)view;
    *texture = 7;
    mock.resource = *resource;
    mock.texture = *description;
    return mock_call("cuTexObjectCreate");
}

int cuTexObjectGetResourceDesc(struct fth_cu_resource *resource, uint64_t texture)
{
    (void)texture;
    *resource = mock.resource;
    return 0;
}

int cuTexObjectGetTextureDesc(struct fth_cu_texture *description, uint64_t texture)
{
    (void)texture;
    *description = mock.texture;
    return 0;
}

/* Memory of the device is at MOCK_MEMORY; all other memory is the host's. */
int cuPointerGetAttribute(void *value, int attribute, uint64_t address)
{
    if (address != MOCK_MEMORY || attribute == FTH_CU_POINTER_HOST)
        return FTH_INVALID_VALUE;
    if (attribute == FTH_CU_POINTER_DEVICE)
        *(uint64_t *)value = address;
    else
        *(int *)value = attribute == FTH_CU_POINTER_TYPE ? FTH_CU_DEVICE : 0;
    return 0;
}
