/* Loading the OpenCL library, libOpenCL.so.1, which finds the implementations of the vendors. The
 * table lists the functions that fathom calls. All of them are part of OpenCL 1.2. */
#include "device/opencl/opencl.h"

#include <dlfcn.h>

#define ROW(function, member)                                                                      \
    {                                                                                              \
        {function}, offsetof(struct fth_opencl, member), false                                     \
    }

static const struct fth_dl_symbol symbols[] = {
    ROW("clGetPlatformIDs", platform_ids),
    ROW("clGetPlatformInfo", platform_info),
    ROW("clGetDeviceIDs", device_ids),
    ROW("clGetDeviceInfo", device_info),
    ROW("clCreateContext", context_create),
    ROW("clReleaseContext", context_release),
    ROW("clCreateCommandQueue", queue_create),
    ROW("clReleaseCommandQueue", queue_release),
    ROW("clFlush", queue_flush),
    ROW("clCreateProgramWithSource", program_create),
    ROW("clBuildProgram", program_build),
    ROW("clGetProgramBuildInfo", program_log),
    ROW("clReleaseProgram", program_release),
    ROW("clCreateKernel", kernel_create),
    ROW("clReleaseKernel", kernel_release),
    ROW("clSetKernelArg", kernel_argument),
    ROW("clCreateBuffer", buffer_create),
    ROW("clReleaseMemObject", buffer_release),
    ROW("clEnqueueNDRangeKernel", enqueue_kernel),
    ROW("clEnqueueReadBuffer", enqueue_read),
    ROW("clEnqueueWriteBuffer", enqueue_write),
    ROW("clEnqueueCopyBuffer", enqueue_copy),
    ROW("clEnqueueMapBuffer", enqueue_map),
    ROW("clEnqueueUnmapMemObject", enqueue_unmap),
    {{"clCreateImage"}, offsetof(struct fth_opencl, image_create), true}, /* since OpenCL 1.2 */
    ROW("clGetEventInfo", event_info),
    ROW("clGetEventProfilingInfo", event_profile),
    ROW("clReleaseEvent", event_release),
};

static const struct {
    fth_cl_int result;
    const char *name;
} errors[] = {
    {FTH_CL_DEVICE_NOT_FOUND, "CL_DEVICE_NOT_FOUND"},
    {-2, "CL_DEVICE_NOT_AVAILABLE"},
    {FTH_CL_COMPILER_NOT_AVAILABLE, "CL_COMPILER_NOT_AVAILABLE"},
    {FTH_CL_MEM_OBJECT_ALLOCATION_FAILURE, "CL_MEM_OBJECT_ALLOCATION_FAILURE"},
    {-5, "CL_OUT_OF_RESOURCES"},
    {FTH_CL_OUT_OF_HOST_MEMORY, "CL_OUT_OF_HOST_MEMORY"},
    {-7, "CL_PROFILING_INFO_NOT_AVAILABLE"},
    {FTH_CL_BUILD_PROGRAM_FAILURE, "CL_BUILD_PROGRAM_FAILURE"},
    {-12, "CL_MAP_FAILURE"},
    {-14, "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST"},
    {-30, "CL_INVALID_VALUE"},
    {-32, "CL_INVALID_PLATFORM"},
    {-33, "CL_INVALID_DEVICE"},
    {-34, "CL_INVALID_CONTEXT"},
    {-36, "CL_INVALID_COMMAND_QUEUE"},
    {-38, "CL_INVALID_MEM_OBJECT"},
    {-43, "CL_INVALID_BUILD_OPTIONS"},
    {-44, "CL_INVALID_PROGRAM"},
    {-45, "CL_INVALID_PROGRAM_EXECUTABLE"},
    {-46, "CL_INVALID_KERNEL_NAME"},
    {-48, "CL_INVALID_KERNEL"},
    {-49, "CL_INVALID_ARG_INDEX"},
    {-51, "CL_INVALID_ARG_SIZE"},
    {-52, "CL_INVALID_KERNEL_ARGS"},
    {-54, "CL_INVALID_WORK_GROUP_SIZE"},
    {-58, "CL_INVALID_EVENT"},
    {-59, "CL_INVALID_OPERATION"},
    {-61, "CL_INVALID_BUFFER_SIZE"},
    {FTH_CL_PLATFORM_NOT_FOUND, "CL_PLATFORM_NOT_FOUND_KHR"},
};

const char *fth_opencl_error_name(fth_cl_int result)
{
    for (size_t i = 0; i < FTH_COUNT(errors); i++)
        if (errors[i].result == result)
            return errors[i].name;
    return NULL;
}

static enum fth_status status_of(fth_cl_int result)
{
    switch (result) {
    case FTH_CL_OUT_OF_HOST_MEMORY: return FTH_NO_MEMORY;
    case FTH_CL_COMPILER_NOT_AVAILABLE:
    case FTH_CL_BUILD_PROGRAM_FAILURE: return FTH_UNSUPPORTED;
    default: return FTH_UNAVAILABLE;
    }
}

enum fth_status fth_opencl_fail(fth_cl_int result, const char *call, struct fth_error *error)
{
    const char *name = fth_opencl_error_name(result);
    return fth_fail(error, status_of(result), "call OpenCL", call, "%s%s (error %d)",
                    result == FTH_CL_OUT_OF_HOST_MEMORY ? "out of memory: " : "",
                    name ? name : "unknown error", result);
}

enum fth_status fth_opencl_open(struct fth_opencl *cl, struct fth_error *error)
{
    static const char *const sonames[] = {"libOpenCL.so.1", NULL};
    *cl = (struct fth_opencl){.handle = NULL};
    enum fth_status status =
        fth_dl_open(sonames, symbols, FTH_COUNT(symbols), cl, &cl->handle, error);
    if (status == FTH_UNAVAILABLE || status == FTH_UNSUPPORTED)
        fth_error_context(error, "no usable OpenCL library (on Debian and Ubuntu, install the "
                                 "package ocl-icd-libopencl1)");
    if (status != FTH_OK)
        return status;
    /* The implementations have threads that run code of the library, so it must stay in memory.
     * This does not load it again, and cannot fail. */
    void *again = dlopen(sonames[0], RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
    if (again)
        dlclose(again);
    return FTH_OK;
}

void fth_opencl_close(struct fth_opencl *cl)
{
    fth_dl_close(cl->handle);
    *cl = (struct fth_opencl){.handle = NULL};
}
