/* Devices: there is one, with the properties of a description. */
#include "cuda_driver.h"

#include <math.h>
#include <stdio.h>

static double number(const char *section, const char *name, double absent)
{
    return fth_gpu_number(driver.gpu, section, name, absent);
}

/* Half the data rate of the memory in kHz, from its bandwidth. */
static double memory_clock_khz(void)
{
    const double bits = number("device", "memory_bus_bits", 6016);
    const double peak = number("memory", "peak_bytes_per_s", 0);
    return peak > 0 ? peak / (bits / 8) / 2 / 1e3
                    : 1000 * number("device", "memory_clock_mhz", 3201);
}

/* The compute capability, such as 90. */
static int capability(void)
{
    const char *text = fth_gpu_text(driver.gpu, "device", "compute_capability");
    char *end = NULL;
    if (!text)
        return 90;
    const int major = (int)strtol(text, &end, 10);
    return 10 * major + (*end == '.' ? (int)strtol(end + 1, NULL, 10) : 0);
}

/* The attributes that depend on the GPU, by the numbers of CUdevice_attribute. */
static double figure(int attribute)
{
    switch (attribute) {
    case 1: return number("device", "max_threads_per_block", 1024);
    case 10: return number("device", "warp_size", 32);
    case 13: return 1000 * number("device", "clock_mhz", 1980);
    case 16: return number("device", "sms", 132);
    case 36: return memory_clock_khz();
    case 37: return number("device", "memory_bus_bits", 6016);
    case 38: return number("l2", "size_bytes", 50 << 20);
    case 39: return number("device", "max_threads_per_sm", 2048);
    case 75: return floor((double)capability() / 10);
    case 76: return capability() % 10;
    case 81: return number("shared", "size_bytes", 228 << 10);
    case 82: return number("registers", "size_bytes", 256 << 10) / 4;
    case 97: return fmax(48 << 10, number("shared", "size_bytes", 228 << 10) - (1 << 10));
    case 95:                             /* cooperative launches */
    case 115: return 1;                  /* memory pools */
    case 120:                            /* clusters */
    case 127: return capability() >= 90; /* tensor maps */
    default: return 0;
    }
}

/* The attributes that are the same for all GPUs: limits of CUDA, and features that fathom has. */
static const struct {
    int attribute, value;
} constants[] = {
    {2, 1024},     {3, 1024},     {4, 64},          {5, 2147483647}, {6, 65535},  {7, 65535},
    {8, 48 << 10}, {9, 64 << 10}, {11, 2147483647}, {12, 65536},     {14, 512},   {15, 1},
    {21, 131072},  {22, 131072},  {23, 65536},      {24, 16384},     {25, 16384}, {26, 16384},
    {19, 1},       {31, 1},       {40, 3},          {41, 1},         {51, 1},     {78, 1},
    {79, 1},       {80, 1},       {83, 1},          {86, 0},         {87, 2},     {88, 1},
    {89, 1},       {90, 1},       {91, 1},          {106, 32},       {111, 1024},
};

int driver_attribute(int attribute)
{
    for (size_t i = 0; i < FTH_COUNT(constants); i++)
        if (constants[i].attribute == attribute)
            return constants[i].value;
    return (int)figure(attribute);
}

static int check_device(int device)
{
    return !driver.initialised ? NOT_INITIALIZED : device != 0 ? INVALID_DEVICE : SUCCESS;
}

CU(cuInit, unsigned flags)
{
    LOCK;
    if (flags)
        return INVALID_VALUE;
    if (driver.initialised)
        return SUCCESS;
    const int result = driver_start();
    driver.initialised = result == SUCCESS;
    return result;
}

CU(cuDriverGetVersion, int *version)
{
    if (!version)
        return INVALID_VALUE;
    *version = 13000;
    return SUCCESS;
}

CU(cuDeviceGetCount, int *count)
{
    if (!driver.initialised)
        return NOT_INITIALIZED;
    if (!count)
        return INVALID_VALUE;
    *count = 1;
    return SUCCESS;
}

CU(cuDeviceGet, int *device, int ordinal)
{
    const int result = device ? check_device(ordinal) : INVALID_VALUE;
    if (result == SUCCESS)
        *device = ordinal;
    return result;
}

CU(cuDeviceGetName, char *name, int size, int device)
{
    const int result = check_device(device);
    if (result != SUCCESS)
        return result;
    if (!name || size <= 0)
        return INVALID_VALUE;
    const char *text = fth_gpu_text(driver.gpu, "device", "name");
    snprintf(name, (size_t)size, "%s", text ? text : "GPU");
    return SUCCESS;
}

CU(cuDeviceGetAttribute, int *value, int attribute, int device)
{
    const int result = check_device(device);
    if (result != SUCCESS)
        return result;
    if (!value || attribute < 1)
        return INVALID_VALUE;
    *value = driver_attribute(attribute);
    return SUCCESS;
}

CU(cuDeviceComputeCapability, int *major, int *minor, int device)
{
    const int result = check_device(device);
    if (result != SUCCESS)
        return result;
    *major = driver_attribute(75);
    *minor = driver_attribute(76);
    return SUCCESS;
}

CU(cuDeviceTotalMem_v2, size_t *bytes, int device)
{
    const int result = check_device(device);
    if (result != SUCCESS)
        return result;
    *bytes = (size_t)number("memory", "size_bytes", 141e9);
    return SUCCESS;
}

/* The same for every process, so that programs that print it do not differ from run to run. */
CU(cuDeviceGetUuid_v2, unsigned char uuid[16], int device)
{
    const int result = check_device(device);
    if (result == SUCCESS)
        for (unsigned char i = 0; i < 16; i++)
            uuid[i] = i;
    return result;
}
ALIAS(cuDeviceGetUuid, cuDeviceGetUuid_v2);

CU(cuDeviceGetPCIBusId, char *text, int size, int device)
{
    const int result = check_device(device);
    if (result == SUCCESS && text && size > 0)
        snprintf(text, (size_t)size, "0000:00:00.0");
    return result;
}

CU(cuDeviceGetByPCIBusId, int *device, const char *text)
{
    if (!device || !text)
        return INVALID_VALUE;
    *device = 0;
    return strcmp(text, "0000:00:00.0") == 0 ? SUCCESS : INVALID_DEVICE;
}

CU(cuDeviceCanAccessPeer, int *can, int device, int peer)
{
    if (!can || check_device(device) != SUCCESS || check_device(peer) != SUCCESS)
        return INVALID_DEVICE;
    *can = 0;
    return SUCCESS;
}

CU(cuDeviceGetTexture1DLinearMaxWidth, size_t *texels, int format, unsigned channels, int device)
{
    const int result = check_device(device);
    (void)format;
    (void)channels;
    if (result == SUCCESS)
        *texels = (size_t)1 << 27;
    return result;
}
