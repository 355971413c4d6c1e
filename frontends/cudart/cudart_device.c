/* Devices: selection, attributes, limits and versions. */
#include "cudart.h"

/* The version of the runtime API that the structures and prototypes here belong to: 13.0. */
#define RUNTIME_VERSION 13000

FTH_API int cudaDriverGetVersion(int *version)
{
    return fth_leave(cuDriverGetVersion(version));
}

FTH_API int cudaRuntimeGetVersion(int *version)
{
    if (!version)
        return fth_leave(FTH_INVALID_VALUE);
    *version = RUNTIME_VERSION;
    return FTH_SUCCESS;
}

FTH_API int cudaGetDeviceCount(int *count)
{
    if (!count)
        return fth_leave(FTH_INVALID_VALUE);
    *count = 0;
    int error = fth_start();
    if (!error)
        error = cuDeviceGetCount(count);
    return fth_leave(!error && *count == 0 ? FTH_NO_DEVICE : error);
}

FTH_API int cudaSetDevice(int device)
{
    int handle = 0, error = fth_start();
    struct fth_cu_context *context = NULL;
    if (!error)
        error = cuDeviceGet(&handle, device);
    if (!error)
        error = cuDevicePrimaryCtxRetain(&context, handle);
    if (!error)
        error = cuCtxSetCurrent(context);
    if (!error)
        fth_thread()->device = device;
    return fth_leave(error);
}

FTH_API int cudaInitDevice(int device, unsigned device_flags, unsigned flags)
{
    (void)device_flags, (void)flags;
    int handle = 0, error = fth_start();
    struct fth_cu_context *context = NULL;
    if (!error)
        error = cuDeviceGet(&handle, device);
    if (!error)
        error = cuDevicePrimaryCtxRetain(&context, handle);
    return fth_leave(error);
}

FTH_API int cudaGetDevice(int *device)
{
    if (!device)
        return fth_leave(FTH_INVALID_VALUE);
    int error = fth_start();
    struct fth_cu_context *context = NULL;
    *device = fth_thread()->device;
    if (!error && !cuCtxGetCurrent(&context) && context)
        error = cuCtxGetDevice(device);
    return fth_leave(error);
}

/* Fathom simulates one device, so there is nothing to choose. */
FTH_API int cudaSetValidDevices(int *devices, int count)
{
    int handle = 0, error = fth_start();
    for (int i = 0; i < count && !error; i++)
        error = cuDeviceGet(&handle, devices[i]);
    return fth_leave(error);
}

FTH_API int cudaChooseDevice(int *device, const struct fth_device_properties *properties)
{
    if (!device || !properties)
        return fth_leave(FTH_INVALID_VALUE);
    *device = 0;
    return fth_leave(fth_start());
}

FTH_API int cudaSetDeviceFlags(unsigned flags)
{
    int handle = 0, error = fth_start();
    if (!error)
        error = cuDeviceGet(&handle, fth_thread()->device);
    return fth_leave(error ? error : cuDevicePrimaryCtxSetFlags_v2(handle, flags));
}

FTH_API int cudaGetDeviceFlags(unsigned *flags)
{
    int handle = 0, active = 0, error = fth_start();
    if (!error)
        error = cuDeviceGet(&handle, fth_thread()->device);
    return fth_leave(error ? error : cuDevicePrimaryCtxGetState(handle, flags, &active));
}

FTH_API int cudaDeviceSynchronize(void)
{
    FTH_FORWARD(cuCtxSynchronize());
}

FTH_API int cudaDeviceReset(void)
{
    int handle = 0, error = fth_start();
    if (!error)
        error = cuDeviceGet(&handle, fth_thread()->device);
    if (error)
        return fth_leave(error);
    fth_forget_libraries();
    error = cuDevicePrimaryCtxReset_v2(handle);
    return fth_leave(error ? error : cuCtxSetCurrent(NULL));
}

FTH_API int cudaDeviceGetAttribute(int *value, int attribute, int device)
{
    int handle = 0, error = fth_start();
    if (!error)
        error = cuDeviceGet(&handle, device);
    return fth_leave(error ? error : cuDeviceGetAttribute(value, attribute, handle));
}

FTH_API int cudaDeviceGetByPCIBusId(int *device, const char *bus)
{
    int error = fth_start();
    return fth_leave(error ? error : cuDeviceGetByPCIBusId(device, bus));
}

FTH_API int cudaDeviceGetPCIBusId(char *bus, int bytes, int device)
{
    int error = fth_start();
    return fth_leave(error ? error : cuDeviceGetPCIBusId(bus, bytes, device));
}

FTH_API int cudaDeviceGetLimit(size_t *value, int limit)
{
    FTH_FORWARD(cuCtxGetLimit(value, limit));
}

FTH_API int cudaDeviceSetLimit(int limit, size_t value)
{
    FTH_FORWARD(cuCtxSetLimit(limit, value));
}

FTH_API int cudaDeviceGetCacheConfig(int *config)
{
    FTH_FORWARD(cuCtxGetCacheConfig(config));
}

FTH_API int cudaDeviceSetCacheConfig(int config)
{
    FTH_FORWARD(cuCtxSetCacheConfig(config));
}

/* Shared memory has banks of four bytes since compute capability 5.0; the setting has no effect
 * there. */
FTH_API int cudaDeviceGetSharedMemConfig(int *config)
{
    enum { FOUR_BYTES = 1 };
    *config = FOUR_BYTES;
    return fth_leave(fth_start());
}

FTH_API int cudaDeviceSetSharedMemConfig(int config)
{
    (void)config;
    return fth_leave(fth_start());
}

FTH_API int cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    FTH_FORWARD(cuCtxGetStreamPriorityRange(least, greatest));
}

FTH_API int cudaCtxResetPersistingL2Cache(void)
{
    FTH_FORWARD(cuCtxResetPersistingL2Cache());
}

FTH_API int cudaDeviceGetTexture1DLinearMaxWidth(size_t *width, const struct fth_channel *channel,
                                                 int device)
{
    int format = 0, handle = 0, error = fth_start();
    unsigned channels = 0;
    if (!error)
        error = channel ? fth_translate_channel(channel, &format, &channels) : FTH_INVALID_VALUE;
    if (!error)
        error = cuDeviceGet(&handle, device);
    return fth_leave(error ? error
                           : cuDeviceGetTexture1DLinearMaxWidth(width, format, channels, handle));
}

FTH_API int cudaDeviceCanAccessPeer(int *can, int device, int peer)
{
    int error = fth_start();
    return fth_leave(error ? error : cuDeviceCanAccessPeer(can, device, peer));
}

FTH_API int cudaDeviceGetP2PAttribute(int *value, int attribute, int source, int target)
{
    int error = fth_start();
    return fth_leave(error ? error : cuDeviceGetP2PAttribute(value, attribute, source, target));
}

/* Fathom simulates one device, which is no peer of itself. */
static int refuse_peer(int peer, int refusal)
{
    int handle = 0, error = fth_enter();
    if (!error)
        error = cuDeviceGet(&handle, peer);
    if (!error && peer == fth_thread()->device)
        error = FTH_INVALID_DEVICE;
    return fth_leave(error ? error : refusal);
}

FTH_API int cudaDeviceEnablePeerAccess(int peer, unsigned flags)
{
    (void)flags;
    return refuse_peer(peer, FTH_PEER_UNSUPPORTED);
}

FTH_API int cudaDeviceDisablePeerAccess(int peer)
{
    return refuse_peer(peer, FTH_PEER_NOT_ENABLED);
}

FTH_API int cudaGetDriverEntryPointByVersion(const char *name, void **function, unsigned version,
                                             unsigned long long flags, int *found)
{
    int error = fth_start(), ignored = 0;
    if (!error)
        error = cuGetProcAddress_v2(name, function, (int)version, flags, found ? found : &ignored);
    /* The status says that a function does not exist; the call itself succeeds. */
    return fth_leave(error == FTH_SYMBOL_NOT_FOUND && found ? FTH_SUCCESS : error);
}

/* The flag that asks for the functions that use the default stream of the thread. */
#define PER_THREAD_FUNCTIONS 2u

FTH_API int cudaGetDriverEntryPointByVersion_ptsz(const char *name, void **function,
                                                  unsigned version, unsigned long long flags,
                                                  int *found)
{
    return cudaGetDriverEntryPointByVersion(name, function, version,
                                            flags ? flags : PER_THREAD_FUNCTIONS, found);
}

FTH_API int cudaGetDriverEntryPoint(const char *name, void **function, unsigned long long flags,
                                    int *found)
{
    return cudaGetDriverEntryPointByVersion(name, function, RUNTIME_VERSION, flags, found);
}

FTH_API int cudaGetDriverEntryPoint_ptsz(const char *name, void **function,
                                         unsigned long long flags, int *found)
{
    return cudaGetDriverEntryPointByVersion_ptsz(name, function, RUNTIME_VERSION, flags, found);
}
