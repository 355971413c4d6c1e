/* A stand-in for NVIDIA's driver, so that device/cuda/ can be tested without one. What it does is
 * chosen by FATHOM_STANDIN: "two" GPUs (the default), "none", "uninitialised" (cuInit fails), or
 * "lost" (the GPU goes away half-way). Built a second time with STANDIN_OLD, it lacks functions, as
 * a driver that is too old would. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

enum { SUCCESS = 0, NO_DEVICE = 100, DEVICE_LOST = 719 };

static int mode_is(const char *mode)
{
    const char *chosen = getenv("FATHOM_STANDIN");
    return strcmp(chosen ? chosen : "two", mode) == 0;
}

EXPORT int cuInit(unsigned flags);
int cuInit(unsigned flags)
{
    (void)flags;
    return mode_is("uninitialised") ? NO_DEVICE : SUCCESS;
}

#ifndef STANDIN_OLD

EXPORT int cuDriverGetVersion(int *version);
int cuDriverGetVersion(int *version)
{
    *version = 13000;
    return SUCCESS;
}

EXPORT int cuDeviceGetCount(int *count);
int cuDeviceGetCount(int *count)
{
    *count = mode_is("none") ? 0 : 2;
    return SUCCESS;
}

EXPORT int cuDeviceGet(int *device, int ordinal);
int cuDeviceGet(int *device, int ordinal)
{
    *device = ordinal;
    return mode_is("lost") && ordinal == 1 ? DEVICE_LOST : SUCCESS;
}

EXPORT int cuDeviceGetName(char *name, int size, int device);
int cuDeviceGetName(char *name, int size, int device)
{
    snprintf(name, (size_t)size, "Stand-in %d \033[31m", device);
    return SUCCESS;
}

EXPORT int cuDeviceGetAttribute(int *value, int attribute, int device);
int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    *value = attribute == 16 ? 4 + device : attribute == 75 ? 9 : 0;
    return SUCCESS;
}

EXPORT int cuDeviceTotalMem_v2(size_t *bytes, int device);
int cuDeviceTotalMem_v2(size_t *bytes, int device)
{
    *bytes = (size_t)(device + 1) << 30;
    return SUCCESS;
}

EXPORT int cuGetErrorString(int result, const char **text);
int cuGetErrorString(int result, const char **text)
{
    *text = result == NO_DEVICE     ? "no CUDA-capable device is detected"
            : result == DEVICE_LOST ? "unspecified launch failure"
                                    : "another error";
    return SUCCESS;
}

#endif
