/* Errors: the last error of a thread, and names and descriptions of all errors. */
#include "cudart.h"

struct error {
    int code;
    const char *name;
    const char *text;
};

static const struct error errors[] = {
    {0, "cudaSuccess", "no error"},
    {1, "cudaErrorInvalidValue", "invalid argument"},
    {2, "cudaErrorMemoryAllocation", "out of memory"},
    {3, "cudaErrorInitializationError", "initialization error"},
    {4, "cudaErrorCudartUnloading", "driver shutting down"},
    {5, "cudaErrorProfilerDisabled", "profiler disabled"},
    {6, "cudaErrorProfilerNotInitialized", "profiler not initialized"},
    {7, "cudaErrorProfilerAlreadyStarted", "profiler already started"},
    {8, "cudaErrorProfilerAlreadyStopped", "profiler already stopped"},
    {9, "cudaErrorInvalidConfiguration", "invalid configuration argument"},
    {12, "cudaErrorInvalidPitchValue", "invalid pitch argument"},
    {13, "cudaErrorInvalidSymbol", "invalid device symbol"},
    {16, "cudaErrorInvalidHostPointer", "invalid host pointer"},
    {17, "cudaErrorInvalidDevicePointer", "invalid device pointer"},
    {18, "cudaErrorInvalidTexture", "invalid texture"},
    {19, "cudaErrorInvalidTextureBinding", "invalid texture binding"},
    {20, "cudaErrorInvalidChannelDescriptor", "invalid channel descriptor"},
    {21, "cudaErrorInvalidMemcpyDirection", "invalid copy direction"},
    {22, "cudaErrorAddressOfConstant", "address of a constant variable"},
    {23, "cudaErrorTextureFetchFailed", "texture fetch failed"},
    {24, "cudaErrorTextureNotBound", "texture not bound"},
    {25, "cudaErrorSynchronizationError", "synchronization failed"},
    {26, "cudaErrorInvalidFilterSetting", "invalid texture filter"},
    {27, "cudaErrorInvalidNormSetting", "invalid texture normalization"},
    {28, "cudaErrorMixedDeviceExecution", "mixed device execution"},
    {31, "cudaErrorNotYetImplemented", "not yet implemented"},
    {32, "cudaErrorMemoryValueTooLarge", "memory value too large"},
    {34, "cudaErrorStubLibrary", "stub library of the driver"},
    {35, "cudaErrorInsufficientDriver", "driver older than the runtime"},
    {36, "cudaErrorCallRequiresNewerDriver", "call requires a newer driver"},
    {37, "cudaErrorInvalidSurface", "invalid surface"},
    {43, "cudaErrorDuplicateVariableName", "duplicate variable name"},
    {44, "cudaErrorDuplicateTextureName", "duplicate texture name"},
    {45, "cudaErrorDuplicateSurfaceName", "duplicate surface name"},
    {46, "cudaErrorDevicesUnavailable", "devices busy or unavailable"},
    {49, "cudaErrorIncompatibleDriverContext", "incompatible driver context"},
    {52, "cudaErrorMissingConfiguration", "kernel call without configuration"},
    {53, "cudaErrorPriorLaunchFailure", "an earlier launch failed"},
    {65, "cudaErrorLaunchMaxDepthExceeded", "launches nested too deeply"},
    {66, "cudaErrorLaunchFileScopedTex", "launch uses file-scoped textures"},
    {67, "cudaErrorLaunchFileScopedSurf", "launch uses file-scoped surfaces"},
    {68, "cudaErrorSyncDepthExceeded", "synchronization nested too deeply"},
    {69, "cudaErrorLaunchPendingCountExceeded", "too many pending launches"},
    {98, "cudaErrorInvalidDeviceFunction", "invalid device function"},
    {100, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {101, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {102, "cudaErrorDeviceNotLicensed", "device without a license"},
    {103, "cudaErrorSoftwareValidityNotEstablished", "integrity of the software not established"},
    {127, "cudaErrorStartupFailure", "startup failure"},
    {200, "cudaErrorInvalidKernelImage", "device kernel image is invalid"},
    {201, "cudaErrorDeviceUninitialized", "invalid device context"},
    {205, "cudaErrorMapBufferObjectFailed", "mapping of a buffer object failed"},
    {206, "cudaErrorUnmapBufferObjectFailed", "unmapping of a buffer object failed"},
    {207, "cudaErrorArrayIsMapped", "array is mapped"},
    {208, "cudaErrorAlreadyMapped", "resource already mapped"},
    {209, "cudaErrorNoKernelImageForDevice",
     "no kernel image is available for execution on the device"},
    {210, "cudaErrorAlreadyAcquired", "resource already acquired"},
    {211, "cudaErrorNotMapped", "resource not mapped"},
    {212, "cudaErrorNotMappedAsArray", "resource not mapped as array"},
    {213, "cudaErrorNotMappedAsPointer", "resource not mapped as pointer"},
    {214, "cudaErrorECCUncorrectable", "uncorrectable ECC error"},
    {215, "cudaErrorUnsupportedLimit", "limit not supported"},
    {216, "cudaErrorDeviceAlreadyInUse", "device already in use"},
    {217, "cudaErrorPeerAccessUnsupported", "peer access is not supported between these devices"},
    {218, "cudaErrorInvalidPtx", "a PTX compilation failed"},
    {219, "cudaErrorInvalidGraphicsContext", "invalid graphics context"},
    {220, "cudaErrorNvlinkUncorrectable", "uncorrectable NVLink error"},
    {221, "cudaErrorJitCompilerNotFound", "PTX compiler not found"},
    {222, "cudaErrorUnsupportedPtxVersion", "unsupported PTX version"},
    {223, "cudaErrorJitCompilationDisabled", "compilation of PTX disabled"},
    {224, "cudaErrorUnsupportedExecAffinity", "execution affinity not supported"},
    {225, "cudaErrorUnsupportedDevSideSync", "synchronization in kernels not supported"},
    {226, "cudaErrorContained", "contained fault of the device"},
    {300, "cudaErrorInvalidSource", "invalid kernel source"},
    {301, "cudaErrorFileNotFound", "file not found"},
    {302, "cudaErrorSharedObjectSymbolNotFound", "symbol of a shared object not found"},
    {303, "cudaErrorSharedObjectInitFailed", "initialization of a shared object failed"},
    {304, "cudaErrorOperatingSystem", "operating system call failed"},
    {400, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {401, "cudaErrorIllegalState", "resource in an illegal state"},
    {402, "cudaErrorLossyQuery", "query would lose information"},
    {500, "cudaErrorSymbolNotFound", "named symbol not found"},
    {600, "cudaErrorNotReady", "device not ready"},
    {700, "cudaErrorIllegalAddress", "an illegal memory access was encountered"},
    {701, "cudaErrorLaunchOutOfResources", "too many resources requested for launch"},
    {702, "cudaErrorLaunchTimeout", "the launch timed out"},
    {703, "cudaErrorLaunchIncompatibleTexturing", "launch with incompatible texturing"},
    {704, "cudaErrorPeerAccessAlreadyEnabled", "peer access already enabled"},
    {705, "cudaErrorPeerAccessNotEnabled", "peer access not enabled"},
    {708, "cudaErrorSetOnActiveProcess", "cannot be set while the process is active"},
    {709, "cudaErrorContextIsDestroyed", "context is destroyed"},
    {710, "cudaErrorAssert", "device-side assert triggered"},
    {711, "cudaErrorTooManyPeers", "too many peers"},
    {712, "cudaErrorHostMemoryAlreadyRegistered", "host memory already registered"},
    {713, "cudaErrorHostMemoryNotRegistered", "host memory not registered"},
    {714, "cudaErrorHardwareStackError", "hardware stack error"},
    {715, "cudaErrorIllegalInstruction", "an illegal instruction was encountered"},
    {716, "cudaErrorMisalignedAddress", "misaligned address"},
    {717, "cudaErrorInvalidAddressSpace", "instruction used an address of a wrong state space"},
    {718, "cudaErrorInvalidPc", "invalid program counter"},
    {719, "cudaErrorLaunchFailure", "unspecified launch failure"},
    {720, "cudaErrorCooperativeLaunchTooLarge", "too many blocks in cooperative launch"},
    {721, "cudaErrorTensorMemoryLeak", "tensor memory not freed"},
    {800, "cudaErrorNotPermitted", "operation not permitted"},
    {801, "cudaErrorNotSupported", "operation not supported"},
    {802, "cudaErrorSystemNotReady", "system not ready"},
    {803, "cudaErrorSystemDriverMismatch", "driver does not match the system"},
    {804, "cudaErrorCompatNotSupportedOnDevice", "compatibility mode not supported"},
    {805, "cudaErrorMpsConnectionFailed", "connection to MPS failed"},
    {806, "cudaErrorMpsRpcFailure", "call to MPS failed"},
    {807, "cudaErrorMpsServerNotReady", "MPS server not ready"},
    {808, "cudaErrorMpsMaxClientsReached", "too many MPS clients"},
    {809, "cudaErrorMpsMaxConnectionsReached", "too many MPS connections"},
    {810, "cudaErrorMpsClientTerminated", "MPS client terminated"},
    {811, "cudaErrorCdpNotSupported", "launches from kernels not supported"},
    {812, "cudaErrorCdpVersionMismatch", "version of launches from kernels does not match"},
    {900, "cudaErrorStreamCaptureUnsupported", "operation not permitted when stream is capturing"},
    {901, "cudaErrorStreamCaptureInvalidated", "stream capture invalidated by an earlier error"},
    {902, "cudaErrorStreamCaptureMerge", "operation would merge two captures"},
    {903, "cudaErrorStreamCaptureUnmatched", "capture did not begin in this stream"},
    {904, "cudaErrorStreamCaptureUnjoined", "capture has work that did not join its stream"},
    {905, "cudaErrorStreamCaptureIsolation", "dependency leaves the capture"},
    {906, "cudaErrorStreamCaptureImplicit", "operation depends on the legacy stream"},
    {907, "cudaErrorCapturedEvent", "operation not permitted on a captured event"},
    {908, "cudaErrorStreamCaptureWrongThread", "capture ended in another thread"},
    {909, "cudaErrorTimeout", "wait timed out"},
    {910, "cudaErrorGraphExecUpdateFailure", "graph update not possible"},
    {911, "cudaErrorExternalDevice", "error of an external device"},
    {912, "cudaErrorInvalidClusterSize", "invalid cluster size"},
    {913, "cudaErrorFunctionNotLoaded", "function not loaded"},
    {914, "cudaErrorInvalidResourceType", "invalid resource type"},
    {915, "cudaErrorInvalidResourceConfiguration", "invalid resource configuration"},
    {999, "cudaErrorUnknown", "unknown error"},
};

static const struct error *find(int code)
{
    for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++)
        if (errors[i].code == code)
            return &errors[i];
    return NULL;
}

FTH_API const char *cudaGetErrorName(int code)
{
    const struct error *error = find(code);
    return error ? error->name : "unrecognized error code";
}

FTH_API const char *cudaGetErrorString(int code)
{
    const struct error *error = find(code);
    return error ? error->text : "unrecognized error code";
}

FTH_API int cudaPeekAtLastError(void)
{
    return fth_thread()->last_error;
}

FTH_API int cudaGetLastError(void)
{
    int error = fth_thread()->last_error;
    fth_thread()->last_error = FTH_SUCCESS;
    return error;
}
