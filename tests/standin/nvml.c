/* A stand-in for NVIDIA's management library (NVML). It returns the constant values of an H200
 * under load, and in the mode "mig" (standin.h) the slices of its GPU. */
#include "standin.h"

#include <stdio.h>

enum {
    SUCCESS = 0,
    UNINITIALIZED = 1,
    INVALID_ARGUMENT = 2,
    NOT_SUPPORTED = 3,
    NOT_FOUND = 6,
    INSUFFICIENT_SIZE = 7,
    DRIVER_NOT_LOADED = 9
};

struct device {
    int index;
    int slice; /* -1: the whole GPU */
};

static struct device gpus[] = {{0, -1}, {1, -1}};
static struct device slices[SLICES] = {{0, 0}, {0, 1}};
static int users; /* calls of nvmlInit minus calls of nvmlShutdown */

EXPORT int nvmlInit_v2(void);
int nvmlInit_v2(void)
{
    if (mode_is("no-nvml", NULL))
        return DRIVER_NOT_LOADED;
    users++;
    return SUCCESS;
}

EXPORT int nvmlShutdown(void);
int nvmlShutdown(void)
{
    if (users == 0)
        return UNINITIALIZED;
    users--;
    return SUCCESS;
}

static int put_text(const char *value, char *text, unsigned size)
{
    if (users == 0)
        return UNINITIALIZED;
    if (strlen(value) >= size)
        return INSUFFICIENT_SIZE;
    snprintf(text, size, "%s", value);
    return SUCCESS;
}

/* Returns a number that NVML reports only for a whole GPU, not for a slice. */
static int answer_for_gpu(const struct device *device, unsigned value, unsigned *out)
{
    if (users == 0)
        return UNINITIALIZED;
    if (device->slice >= 0)
        return NOT_SUPPORTED;
    *out = value;
    return SUCCESS;
}

EXPORT int nvmlSystemGetDriverVersion(char *text, unsigned size);
int nvmlSystemGetDriverVersion(char *text, unsigned size)
{
    return put_text("580.159.04", text, size);
}

EXPORT int nvmlDeviceGetCount_v2(unsigned *count);
int nvmlDeviceGetCount_v2(unsigned *count)
{
    *count = mode_is("two", NULL) ? 2 : 1;
    return users ? SUCCESS : UNINITIALIZED;
}

EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, struct device **device);
int nvmlDeviceGetHandleByIndex_v2(unsigned index, struct device **device)
{
    unsigned count;
    int result = nvmlDeviceGetCount_v2(&count);
    if (result != SUCCESS)
        return result;
    if (index >= count)
        return INVALID_ARGUMENT;
    *device = &gpus[index];
    return SUCCESS;
}

static int find_gpu(const char *const texts[2], const char *text, struct device **device)
{
    for (unsigned i = 0; i < 2; i++)
        if (strcmp(texts[i], text) == 0)
            return nvmlDeviceGetHandleByIndex_v2(i, device);
    return NOT_FOUND;
}

EXPORT int nvmlDeviceGetHandleByPciBusId_v2(const char *bus, struct device **device);
int nvmlDeviceGetHandleByPciBusId_v2(const char *bus, struct device **device)
{
    return find_gpu(bus_ids, bus, device);
}

EXPORT int nvmlDeviceGetHandleByUUID(const char *uuid, struct device **device);
int nvmlDeviceGetHandleByUUID(const char *uuid, struct device **device)
{
    return find_gpu(gpu_uuids, uuid, device);
}

EXPORT int nvmlDeviceGetName(const struct device *device, char *text, unsigned size);
int nvmlDeviceGetName(const struct device *device, char *text, unsigned size)
{
    return put_text(device->slice >= 0 ? "NVIDIA H200 MIG 1g.18gb" : "NVIDIA H200", text, size);
}

EXPORT int nvmlDeviceGetUUID(const struct device *device, char *text, unsigned size);
int nvmlDeviceGetUUID(const struct device *device, char *text, unsigned size)
{
    return put_text(device->slice >= 0 ? slice_uuids[device->slice] : gpu_uuids[device->index],
                    text, size);
}

EXPORT int nvmlDeviceGetMemoryInfo(const struct device *device, unsigned long long memory[3]);
int nvmlDeviceGetMemoryInfo(const struct device *device, unsigned long long memory[3])
{
    memory[0] = device->slice >= 0 ? 16ULL << 30 : 140ULL << 30;
    memory[1] = memory[0] - (1ULL << 30);
    memory[2] = 1ULL << 30;
    return users ? SUCCESS : UNINITIALIZED;
}

#define ANSWER(function, value)                                                                    \
    EXPORT int function(const struct device *device, unsigned *out);                               \
    int function(const struct device *device, unsigned *out)                                       \
    {                                                                                              \
        return answer_for_gpu(device, value, out);                                                 \
    }

/* The value is right for the default GPU only; this library does not read FATHOM_STANDIN_GPU's
 * description. */
EXPORT int nvmlDeviceGetNumGpuCores(const struct device *device, unsigned *cores);
int nvmlDeviceGetNumGpuCores(const struct device *device, unsigned *cores)
{
    return getenv("FATHOM_STANDIN_GPU") ? NOT_SUPPORTED : answer_for_gpu(device, 132 * 128, cores);
}

ANSWER(nvmlDeviceGetCurrPcieLinkGeneration, 5)
ANSWER(nvmlDeviceGetCurrPcieLinkWidth, 16)
ANSWER(nvmlDeviceGetMaxPcieLinkGeneration, 5)
ANSWER(nvmlDeviceGetMaxPcieLinkWidth, 16)
ANSWER(nvmlDeviceGetPowerUsage, 312500)
ANSWER(nvmlDeviceGetEnforcedPowerLimit, 700000)

EXPORT int nvmlDeviceGetClockInfo(const struct device *device, int which, unsigned *mhz);
int nvmlDeviceGetClockInfo(const struct device *device, int which, unsigned *mhz)
{
    return answer_for_gpu(device, which == 2 ? 3201 : 1755, mhz);
}

EXPORT int nvmlDeviceGetMaxClockInfo(const struct device *device, int which, unsigned *mhz);
int nvmlDeviceGetMaxClockInfo(const struct device *device, int which, unsigned *mhz)
{
    return answer_for_gpu(device, which == 2 ? 3201 : 1980, mhz);
}

EXPORT int nvmlDeviceGetTemperature(const struct device *device, int sensor, unsigned *celsius);
int nvmlDeviceGetTemperature(const struct device *device, int sensor, unsigned *celsius)
{
    return sensor == 0 ? answer_for_gpu(device, 41, celsius) : INVALID_ARGUMENT;
}

EXPORT int nvmlDeviceGetEccMode(const struct device *device, unsigned *current, unsigned *pending);
int nvmlDeviceGetEccMode(const struct device *device, unsigned *current, unsigned *pending)
{
    *pending = 1;
    return answer_for_gpu(device, 1, current);
}

/* Whether nothing but the memory can be wrong with the GPU. */
static int is_well(void)
{
    return mode_is("healthy", NULL) || mode_is("ecc", NULL);
}

/* Two reasons: the software power cap (0x4) and the software thermal slowdown (0x20). */
EXPORT int nvmlDeviceGetCurrentClocksThrottleReasons(const struct device *device,
                                                     unsigned long long *reasons);
int nvmlDeviceGetCurrentClocksThrottleReasons(const struct device *device,
                                              unsigned long long *reasons)
{
    (void)device;
    *reasons = is_well() ? 0 : 0x24;
    return users ? SUCCESS : UNINITIALIZED;
}

/* ---- the state of a GPU ---- */

#define TEXT(function, value)                                                                      \
    EXPORT int function(const struct device *device, char *text, unsigned size);                   \
    int function(const struct device *device, char *text, unsigned size)                           \
    {                                                                                              \
        return device->slice >= 0 ? NOT_SUPPORTED : put_text(value, text, size);                   \
    }
TEXT(nvmlDeviceGetBoardPartNumber, "692-2G520-0282-001")
TEXT(nvmlDeviceGetVbiosVersion, "96.00.A5.00.1A")
TEXT(nvmlDeviceGetSerial, device->index ? "1650000000001" : "1650000000000")

ANSWER(nvmlDeviceGetPcieReplayCounter, 3)

EXPORT int nvmlDeviceGetPerformanceState(const struct device *device, int *state);
int nvmlDeviceGetPerformanceState(const struct device *device, int *state)
{
    unsigned value = 0;
    const int result = answer_for_gpu(device, 0, &value);
    *state = (int)value;
    return result;
}

/* Policy 0 is power, 1 is heat. The times are in microseconds and nanoseconds. */
EXPORT int nvmlDeviceGetViolationStatus(const struct device *device, int policy,
                                        unsigned long long times[2]);
int nvmlDeviceGetViolationStatus(const struct device *device, int policy,
                                 unsigned long long times[2])
{
    (void)device;
    times[0] = 1700000000000000ULL;
    times[1] = policy == 0 ? 1234567 : 0;
    return users == 0 ? UNINITIALIZED : policy > 1 ? INVALID_ARGUMENT : SUCCESS;
}

/* Errors since the GPU was made (counter 1): seven that were corrected, no others; in the mode
 * "ecc", also three that were not corrected, two of them since the driver was loaded (counter 0).
 */
static int count_errors(const struct device *device, int type, int counter,
                        unsigned long long *errors)
{
    *errors = type == 0 ? 7 : mode_is("ecc", NULL) ? (counter == 1 ? 3 : 2) : 0;
    if (users == 0)
        return UNINITIALIZED;
    return device->slice >= 0             ? NOT_SUPPORTED
           : counter == 0 || counter == 1 ? SUCCESS
                                          : INVALID_ARGUMENT;
}

EXPORT int nvmlDeviceGetTotalEccErrors(const struct device *device, int type, int counter,
                                       unsigned long long *errors);
int nvmlDeviceGetTotalEccErrors(const struct device *device, int type, int counter,
                                unsigned long long *errors)
{
    return count_errors(device, type, counter, errors);
}

EXPORT int nvmlDeviceGetMemoryErrorCounter(const struct device *device, int type, int counter,
                                           int location, unsigned long long *errors);
int nvmlDeviceGetMemoryErrorCounter(const struct device *device, int type, int counter,
                                    int location, unsigned long long *errors)
{
    const int result = count_errors(device, type, counter, errors);
    /* Two of the corrected ones were in caches, and one of the others. */
    *errors -= type == 0 ? 2 : *errors > 0;
    return location == 2 ? result : INVALID_ARGUMENT;
}

EXPORT int nvmlDeviceGetRemappedRows(const struct device *device, unsigned *correctable,
                                     unsigned *uncorrectable, unsigned *pending, unsigned *failure);
int nvmlDeviceGetRemappedRows(const struct device *device, unsigned *correctable,
                              unsigned *uncorrectable, unsigned *pending, unsigned *failure)
{
    *uncorrectable = 0;
    *pending = mode_is("ecc", NULL) ? 1 : 0;
    *failure = 0;
    return answer_for_gpu(device, 1, correctable);
}

/* The last link is not active. */
EXPORT int nvmlDeviceGetNvLinkState(const struct device *device, unsigned link, unsigned *active);
int nvmlDeviceGetNvLinkState(const struct device *device, unsigned link, unsigned *active)
{
    return answer_for_gpu(device, link != 17 || is_well(), active);
}

/* nvmlFieldValue_t */
struct field {
    unsigned id, scope;
    long long timestamp, latency_us;
    int type, result;
    unsigned long long value;
};

/* Memory temperature (82), number of links (91), replays (161) and recoveries (162) of each link;
 * the other fields are unknown. */
EXPORT int nvmlDeviceGetFieldValues(const struct device *device, int count, struct field *fields);
int nvmlDeviceGetFieldValues(const struct device *device, int count, struct field *fields)
{
    enum { UNSIGNED_INT = 1, UNSIGNED_LONG_LONG = 3 };
    if (users == 0)
        return UNINITIALIZED;
    for (int i = 0; i < count; i++) {
        struct field *field = &fields[i];
        const int of_link = field->id == 161 || field->id == 162;
        field->result = device->slice < 0 && (field->id == 82 || field->id == 91 || of_link)
                            ? SUCCESS
                            : NOT_SUPPORTED;
        field->type = of_link ? UNSIGNED_LONG_LONG : UNSIGNED_INT;
        field->value = 0xdead00000000; /* only the lower half belongs to an unsigned int */
        field->value += field->id == 82 ? 44 : field->id == 91 ? 18 : 0;
        if (of_link)
            field->value = field->id == 161 && field->scope == 3 ? 5 : 0;
    }
    return SUCCESS;
}

EXPORT int nvmlDeviceGetMigMode(const struct device *device, unsigned *current, unsigned *pending);
int nvmlDeviceGetMigMode(const struct device *device, unsigned *current, unsigned *pending)
{
    *pending = 0;
    return answer_for_gpu(device, mode_is("mig", NULL) ? 1 : 0, current);
}

EXPORT int nvmlDeviceGetMaxMigDeviceCount(const struct device *device, unsigned *max);
int nvmlDeviceGetMaxMigDeviceCount(const struct device *device, unsigned *max)
{
    return answer_for_gpu(device, 7, max);
}

/* The indices of existing slices have gaps: NVML counts all possible slices, and only 1 and 4
 * exist. */
EXPORT int nvmlDeviceGetMigDeviceHandleByIndex(const struct device *device, unsigned index,
                                               struct device **slice);
int nvmlDeviceGetMigDeviceHandleByIndex(const struct device *device, unsigned index,
                                        struct device **slice)
{
    (void)device;
    if (index != 1 && index != 4)
        return NOT_FOUND;
    *slice = &slices[index / 4];
    return users ? SUCCESS : UNINITIALIZED;
}
