/* A stand-in for NVIDIA's driver, so that src/device/cuda/ can be tested without a GPU. This file
 * has initialisation, the list of devices and their attributes. The devices have the properties of
 * a description. standin.h lists the failures that it can simulate. */
#include "device/sim/sim.h"
#include "driver.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>

enum { SLICES_PER_GPU = 8 }; /* a slice has 1/8 of the SMs and of the memory */

static bool initialised;
static int slice = -1; /* index of the visible slice; -1: the whole GPU */
static pthread_mutex_t lock;
static pthread_once_t lock_once = PTHREAD_ONCE_INIT;

/* Functions of the driver call each other. */
static void init_lock(void)
{
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&lock, &attributes);
    pthread_mutexattr_destroy(&attributes);
}

void standin_lock(void)
{
    pthread_once(&lock_once, init_lock);
    pthread_mutex_lock(&lock);
}

void standin_unlock(const int *unused)
{
    (void)unused;
    pthread_mutex_unlock(&lock);
}

static struct fth_gpu *gpu; /* read at the first query */
static struct fth_machine_facts facts;

__attribute__((destructor)) static void free_gpu(void)
{
    fth_gpu_destroy(gpu);
}

/* ---- the GPU ---- */

static double number(const char *section, const char *name, double absent)
{
    return fth_gpu_number(gpu, section, name, absent);
}

/* Reduces a figure of the GPU to the share of one slice. */
static enum fth_status reduce_to_slice(const char *section, const char *name,
                                       struct fth_error *error)
{
    struct fth_attribute attribute = fth_attribute_make(name, FTH_NUMBER);
    attribute.number = floor(number(section, name, SLICES_PER_GPU) / SLICES_PER_GPU);
    return fth_gpu_set(gpu, fth_gpu_section(gpu, section), &attribute, error);
}

static void read_gpu(void)
{
    const char *name_or_path = getenv("FATHOM_STANDIN_GPU");
    struct fth_error error = FTH_NO_ERROR;
    struct fth_catalogue *catalogue = NULL;
    char text[sizeof error];
    enum fth_status status = fth_catalogue_open(&catalogue, &error);
    if (status == FTH_OK)
        status =
            fth_catalogue_read(catalogue, name_or_path ? name_or_path : "h200", NULL, &gpu, &error);
    fth_catalogue_close(catalogue);
    if (status == FTH_OK && slice >= 0)
        status = reduce_to_slice("device", "sms", &error);
    if (status == FTH_OK && slice >= 0)
        status = reduce_to_slice("memory", "size_bytes", &error);
    const struct fth_machine_ops *ops = NULL;
    void *machine = NULL;
    if (status == FTH_OK)
        status = fth_sim_machine_create(gpu, &ops, &machine, &error);
    if (status == FTH_OK) {
        ops->facts(machine, &facts);
        ops->close(machine);
    }
    if (status != FTH_OK) {
        fprintf(stderr, "stand-in: %s\n", fth_error_text(&error, text, sizeof text));
        abort();
    }
}

static int device_count(void)
{
    return mode_is("none", NULL) ? 0 : mode_is("two", NULL) || mode_is("lost", NULL) ? 2 : 1;
}

int standin_device(int device)
{
    if (!initialised)
        return NOT_INITIALIZED;
    if (device < 0 || device >= device_count())
        return INVALID_DEVICE;
    if (mode_is("lost", NULL) && device == 1)
        return LAUNCH_FAILED;
    if (!gpu)
        read_gpu();
    return SUCCESS;
}

EXPORT int cuInit(unsigned flags);
int cuInit(unsigned flags)
{
    LOCKED;
    if (flags)
        return INVALID_VALUE;
    if (mode_is("uninitialised", NULL))
        return NO_DEVICE;
    if (mode_is("not-ready", NULL))
        return NOT_READY_SYSTEM;
    unsigned long long queues = 0;
    const char *wanted = getenv("CUDA_DEVICE_MAX_CONNECTIONS");
    if (mode_is("queues", &queues) && (!wanted || strtoull(wanted, NULL, 10) != queues))
        return NO_DEVICE;
    if (!initialised && mode_is("mig", NULL)) {
        /* Like the driver, it reads CUDA_VISIBLE_DEVICES only once. */
        const char *visible = getenv("CUDA_VISIBLE_DEVICES");
        slice = visible ? -1 : 0;
        for (int i = 0; i < SLICES && visible; i++)
            if (strcmp(visible, slice_uuids[i]) == 0)
                slice = i;
        if (slice < 0)
            return NO_DEVICE;
    }
    initialised = true;
    return SUCCESS;
}

bool standin_initialised(void)
{
    return initialised;
}

const struct fth_gpu *standin_gpu(void)
{
    return gpu;
}

EXPORT int cuDriverGetVersion(int *version);
int cuDriverGetVersion(int *version)
{
    LOCKED;
    *version = 13000;
    return SUCCESS;
}

EXPORT int cuDeviceGetCount(int *count);
int cuDeviceGetCount(int *count)
{
    LOCKED;
    if (!initialised)
        return NOT_INITIALIZED;
    *count = device_count();
    return SUCCESS;
}

EXPORT int cuDeviceGet(int *device, int ordinal);
int cuDeviceGet(int *device, int ordinal)
{
    LOCKED;
    *device = ordinal;
    return standin_device(ordinal);
}

EXPORT int cuDeviceGetName(char *name, int size, int device);
int cuDeviceGetName(char *name, int size, int device)
{
    LOCKED;
    int result = standin_device(device);
    if (result != SUCCESS)
        return result;
    if (device_count() == 2)
        snprintf(name, (size_t)size, "Stand-in %d \033[31m", device);
    else
        snprintf(name, (size_t)size, "%s%s", fth_gpu_text(gpu, "device", "name"),
                 slice >= 0 ? " MIG 1g.18gb" : "");
    return SUCCESS;
}

double standin_attribute(int attribute)
{
    switch (attribute) {
    case 1: return number("device", "max_threads_per_block", 1024);
    case 2:
    case 3: return 1024;
    case 4: return 64;
    case 5: return 2147483647;
    case 6:
    case 7: return 65535;
    case 8: return 48 << 10;
    case 9: return 64 << 10;
    case 10: return number("device", "warp_size", 32);
    case 12: return 65536;
    case 13: return 1000 * number("device", "clock_mhz", 1980);
    case 14: return 512;
    case 16: return facts.sms;
    case 36: { /* Half the data rate, which memory_clock_mhz need not be. */
        double bits = number("device", "memory_bus_bits", 6016);
        double peak = number("memory", "peak_bytes_per_s", 0);
        return (int)(peak > 0 ? peak / (bits / 8) / 2 / 1e3
                              : 1000 * number("device", "memory_clock_mhz", 3201));
    }
    case 37: return number("device", "memory_bus_bits", 6016);
    case 38: return (double)facts.l2_bytes;
    case 39: return number("device", "max_threads_per_sm", 2048);
    case 40: return 3;
    case 69: return (double)facts.texels;
    case 75: return floor(facts.capability / 10.0);
    case 76: return facts.capability % 10;
    case 81: return number("shared", "size_bytes", 228 << 10);
    case 82: return number("registers", "size_bytes", 256 << 10) / 4;
    case 87: return 2;
    case 97: return (double)facts.block_shared_bytes;
    case 106: return 32;
    case 108: return 39321600;
    case 109: return 134217728;
    case 111: return 1024;
    case 31:                     /* concurrent kernels */
    case 32:                     /* ECC */
    case 41:                     /* unified addressing */
    case 79:                     /* globals in L1 */
    case 80:                     /* locals in L1 */
    case 83:                     /* managed memory */
    case 90:                     /* preemption */
    case 95:                     /* cooperative launch */
    case 102:                    /* virtual memory management */
    case 115:                    /* memory pools */
    case 120: return 1;          /* clusters */
    case 139: return 0x233510de; /* PCI device and vendor */
    default: return 0;
    }
}

EXPORT int cuDeviceGetAttribute(int *value, int attribute, int device);
int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    LOCKED;
    int result = standin_device(device);
    if (result == SUCCESS && (attribute < 1 || attribute > 147))
        result = INVALID_VALUE;
    if (result == SUCCESS)
        *value = (int)standin_attribute(attribute);
    return result;
}

size_t standin_memory_bytes(void)
{
    return (size_t)facts.memory_bytes;
}

EXPORT int cuDeviceTotalMem_v2(size_t *bytes, int device);
int cuDeviceTotalMem_v2(size_t *bytes, int device)
{
    LOCKED;
    int result = standin_device(device);
    if (result == SUCCESS)
        *bytes = standin_memory_bytes();
    return result;
}

EXPORT int cuGetErrorString(int result, const char **text);
int cuGetErrorString(int result, const char **text)
{
    LOCKED;
    static const struct {
        int result;
        const char *text;
    } texts[] = {
        {INVALID_VALUE, "invalid argument"},
        {OUT_OF_MEMORY, "out of memory"},
        {NOT_INITIALIZED, "initialization error"},
        {NOT_READY_SYSTEM, "system not yet initialized"},
        {NO_DEVICE, "no CUDA-capable device is detected"},
        {INVALID_DEVICE, "invalid device ordinal"},
        {INVALID_CONTEXT, "invalid device context"},
        {INVALID_PTX, "a PTX JIT compilation failed"},
        {INVALID_HANDLE, "invalid resource handle"},
        {NOT_FOUND, "named symbol not found"},
        {NOT_READY, "device not ready"},
        {LAUNCH_FAILED, "unspecified launch failure"},
        {NOT_SUPPORTED, "operation not supported"},
    };
    for (size_t i = 0; i < FTH_COUNT(texts); i++)
        if (texts[i].result == result) {
            *text = texts[i].text;
            return SUCCESS;
        }
    *text = NULL;
    return INVALID_VALUE;
}

static void uuid_bytes(const char *text, unsigned char uuid[16])
{
    size_t digits = 0;
    for (const char *at = text + 4; *at && digits < 32; at++) {
        if (*at == '-')
            continue;
        const char digit[2] = {*at, '\0'};
        unsigned value = (unsigned)strtoul(digit, NULL, 16);
        uuid[digits / 2] = (unsigned char)(digits % 2 ? uuid[digits / 2] | value : value << 4);
        digits++;
    }
}

EXPORT int cuDeviceGetUuid(unsigned char uuid[16], int device);
int cuDeviceGetUuid(unsigned char uuid[16], int device)
{
    LOCKED;
    int result = standin_device(device);
    if (result == SUCCESS)
        uuid_bytes(gpu_uuids[device], uuid);
    return result;
}

EXPORT int cuDeviceGetUuid_v2(unsigned char uuid[16], int device);
int cuDeviceGetUuid_v2(unsigned char uuid[16], int device)
{
    LOCKED;
    int result = standin_device(device);
    if (result == SUCCESS)
        uuid_bytes(slice >= 0 ? slice_uuids[slice] : gpu_uuids[device], uuid);
    return result;
}

EXPORT int cuDeviceGetPCIBusId(char *text, int size, int device);
int cuDeviceGetPCIBusId(char *text, int size, int device)
{
    LOCKED;
    int result = standin_device(device);
    if (result == SUCCESS)
        snprintf(text, (size_t)size, "%s", bus_ids[device]);
    return result;
}
