/* The NVIDIA Management Library (NVML). It reports what the CUDA driver does not: the PCI Express
 * link, the current power, the reasons for reduced clocks, the state of the GPU (cuda_health.c),
 * and the MIG slices of partitioned GPUs. NVML is optional: if the library is missing or a call
 * fails, the values are left out without a message. */
#include "device/cuda/cuda.h"

#include <stdio.h>
#include <string.h>

#define OPTIONAL(member, ...)                                                                      \
    {                                                                                              \
        {__VA_ARGS__}, offsetof(struct fth_nvml, member), true                                     \
    }

static const struct fth_dl_symbol symbols[] = {
    {{"nvmlInit_v2", "nvmlInit"}, offsetof(struct fth_nvml, init), false},
    {{"nvmlShutdown"}, offsetof(struct fth_nvml, shutdown), false},
    OPTIONAL(driver_version, "nvmlSystemGetDriverVersion"),
    OPTIONAL(count, "nvmlDeviceGetCount_v2", "nvmlDeviceGetCount"),
    OPTIONAL(by_index, "nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex"),
    OPTIONAL(by_pci, "nvmlDeviceGetHandleByPciBusId_v2", "nvmlDeviceGetHandleByPciBusId"),
    OPTIONAL(by_uuid, "nvmlDeviceGetHandleByUUID"),
    OPTIONAL(name, "nvmlDeviceGetName"),
    OPTIONAL(uuid, "nvmlDeviceGetUUID"),
    OPTIONAL(memory, "nvmlDeviceGetMemoryInfo"),
    OPTIONAL(cores, "nvmlDeviceGetNumGpuCores"),
    OPTIONAL(pcie_generation, "nvmlDeviceGetCurrPcieLinkGeneration"),
    OPTIONAL(pcie_lanes, "nvmlDeviceGetCurrPcieLinkWidth"),
    OPTIONAL(pcie_max_generation, "nvmlDeviceGetMaxPcieLinkGeneration"),
    OPTIONAL(pcie_max_lanes, "nvmlDeviceGetMaxPcieLinkWidth"),
    OPTIONAL(clock, "nvmlDeviceGetClockInfo"),
    OPTIONAL(max_clock, "nvmlDeviceGetMaxClockInfo"),
    OPTIONAL(ecc, "nvmlDeviceGetEccMode"),
    OPTIONAL(power, "nvmlDeviceGetPowerUsage"),
    OPTIONAL(power_limit, "nvmlDeviceGetEnforcedPowerLimit"),
    OPTIONAL(temperature, "nvmlDeviceGetTemperature"),
    OPTIONAL(throttle, "nvmlDeviceGetCurrentClocksEventReasons",
             "nvmlDeviceGetCurrentClocksThrottleReasons"),
    OPTIONAL(mig_mode, "nvmlDeviceGetMigMode"),
    OPTIONAL(mig_count, "nvmlDeviceGetMaxMigDeviceCount"),
    OPTIONAL(mig_at, "nvmlDeviceGetMigDeviceHandleByIndex"),
    OPTIONAL(board_part_number, "nvmlDeviceGetBoardPartNumber"),
    OPTIONAL(vbios, "nvmlDeviceGetVbiosVersion"),
    OPTIONAL(serial, "nvmlDeviceGetSerial"),
    OPTIONAL(performance_state, "nvmlDeviceGetPerformanceState"),
    OPTIONAL(violation, "nvmlDeviceGetViolationStatus"),
    OPTIONAL(pcie_replays, "nvmlDeviceGetPcieReplayCounter"),
    OPTIONAL(total_ecc, "nvmlDeviceGetTotalEccErrors"),
    OPTIONAL(memory_ecc, "nvmlDeviceGetMemoryErrorCounter"),
    OPTIONAL(remapped_rows, "nvmlDeviceGetRemappedRows"),
    OPTIONAL(fields, "nvmlDeviceGetFieldValues"),
    OPTIONAL(link_state, "nvmlDeviceGetNvLinkState"),
};

/* nvmlClockType_t and nvmlTemperatureSensors_t. */
enum { SM_CLOCK = 1, MEMORY_CLOCK = 2, GPU_SENSOR = 0 };

enum fth_status fth_nvml_open(struct fth_nvml *nvml, struct fth_error *error)
{
    struct fth_error fault = FTH_NO_ERROR;
    static const char *const sonames[] = {"libnvidia-ml.so.1", NULL};
    *nvml = (struct fth_nvml){.handle = NULL};
    if (fth_dl_open(sonames, symbols, FTH_COUNT(symbols), nvml, &nvml->handle, &fault) != FTH_OK)
        return fault.status == FTH_NO_MEMORY ? fth_error_move(error, &fault) : FTH_OK;
    if (nvml->init() == 0)
        return FTH_OK;
    fth_dl_close(nvml->handle);
    *nvml = (struct fth_nvml){.handle = NULL};
    return FTH_OK;
}

static void *open_in_thread(void *user)
{
    struct fth_nvml_opening *opening = user;
    opening->status = fth_nvml_open(&opening->nvml, &opening->error);
    return NULL;
}

void fth_nvml_open_begin(struct fth_nvml_opening *opening)
{
    *opening = (struct fth_nvml_opening){.error = FTH_NO_ERROR};
    opening->has_thread = pthread_create(&opening->thread, NULL, open_in_thread, opening) == 0;
}

enum fth_status fth_nvml_open_end(struct fth_nvml_opening *opening, struct fth_nvml *nvml,
                                  struct fth_error *error)
{
    if (opening->has_thread)
        pthread_join(opening->thread, NULL);
    else
        open_in_thread(opening);
    *nvml = opening->nvml;
    return opening->status == FTH_OK ? FTH_OK : fth_error_move(error, &opening->error);
}

void fth_nvml_close(struct fth_nvml *nvml)
{
    if (!nvml->handle)
        return;
    nvml->shutdown();
    fth_dl_close(nvml->handle);
    *nvml = (struct fth_nvml){.handle = NULL};
}

/* The index cannot be used, because NVML orders GPUs differently than the CUDA driver. The PCI
 * address of a MIG slice is that of its GPU. */
fth_nvml_device fth_nvml_find(const struct fth_nvml *nvml, const char *pci_bus, const char *uuid)
{
    fth_nvml_device device = NULL;
    if (nvml->by_pci && pci_bus[0] && nvml->by_pci(pci_bus, &device) == 0)
        return device;
    if (nvml->by_uuid && uuid[0] && nvml->by_uuid(uuid, &device) == 0)
        return device;
    return NULL;
}

/* ---- reasons for reduced clocks ---- */

/* The bits are nvmlClocksEventReasons, from NVIDIA's documentation. */
static const struct {
    unsigned long long bits;
    const char *text;
} reasons[] = {
    {0x04, "power cap"},         {0x20 | 0x40, "thermal"}, {0x80, "power brake"},
    {0x08, "hardware slowdown"}, {0x10, "sync boost"},     {0x02, "clocks set by the user"},
    {0x100, "display clocks"},   {0x01, "idle"},
};

static void reasons_text(unsigned long long bits, char *text, size_t size)
{
    text[0] = '\0';
    for (size_t i = 0; i < FTH_COUNT(reasons); i++)
        if (bits & reasons[i].bits) {
            size_t used = strlen(text);
            snprintf(text + used, size - used, "%s%s", used ? ", " : "", reasons[i].text);
        }
    if (!text[0])
        snprintf(text, size, "%s", bits ? "another reason" : "none");
}

bool fth_nvml_reasons(const struct fth_nvml *nvml, fth_nvml_device device,
                      char text[FTH_NVML_REASONS_BYTES])
{
    unsigned long long bits;
    if (!nvml->throttle || nvml->throttle(device, &bits) != 0)
        return false;
    reasons_text(bits, text, FTH_NVML_REASONS_BYTES);
    return true;
}

/* ---- the description ---- */

struct figure {
    const char *section, *name;
    double number; /* left out unless above 0 */
    const char *method;
};

/* Returns the value of an NVML call, 0 if the call is missing or fails. */
static unsigned query(int (*call)(fth_nvml_device, unsigned *), fth_nvml_device device)
{
    unsigned value = 0;
    return call && call(device, &value) == 0 ? value : 0;
}

static unsigned query_kind(int (*call)(fth_nvml_device, int, unsigned *), fth_nvml_device device,
                           int which)
{
    unsigned value = 0;
    return call && call(device, which, &value) == 0 ? value : 0;
}

static enum fth_status describe_texts(const struct fth_nvml *nvml, fth_nvml_device device,
                                      struct fth_gpu *gpu, struct fth_error *error)
{
    char text[FTH_NVML_REASONS_BYTES] = "";
    unsigned current, pending;
    if (fth_nvml_reasons(nvml, device, text))
        FTH_TRY(fth_cuda_set_text(gpu, "device", "throttling", text,
                                  "nvmlDeviceGetCurrentClocksEventReasons", error));
    if (nvml->ecc && nvml->ecc(device, &current, &pending) == 0)
        FTH_TRY(fth_cuda_set_text(gpu, "memory", "ecc", current ? "yes" : "no",
                                  "nvmlDeviceGetEccMode", error));
    return FTH_OK;
}

enum fth_status fth_nvml_describe(const struct fth_nvml *nvml, const char *pci_bus,
                                  const char *uuid, bool is_full_gpu, struct fth_gpu *gpu,
                                  struct fth_error *error)
{
    if (!nvml->handle)
        return FTH_OK;
    char version[96] = "";
    if (nvml->driver_version && nvml->driver_version(version, sizeof version) == 0)
        FTH_TRY(fth_cuda_set_text(gpu, "device", "driver", version, "nvmlSystemGetDriverVersion",
                                  error));
    fth_nvml_device device = fth_nvml_find(nvml, pci_bus, uuid);
    if (!device)
        return FTH_OK;
    /* `sms` counts the SMs of a MIG slice, but NVML reports the cores of the whole GPU. */
    double sms = fth_gpu_number(gpu, "device", "sms", 0);
    unsigned cores = is_full_gpu && sms > 0 ? query(nvml->cores, device) : 0;
    const struct figure figures[] = {
        {"device", "cores_per_sm", cores && cores % (unsigned)sms == 0 ? cores / sms : 0,
         "nvmlDeviceGetNumGpuCores / SMs"},
        {"device", "pcie_generation", query(nvml->pcie_generation, device),
         "nvmlDeviceGetCurrPcieLinkGeneration"},
        {"device", "pcie_lanes", query(nvml->pcie_lanes, device), "nvmlDeviceGetCurrPcieLinkWidth"},
        {"device", "max_pcie_generation", query(nvml->pcie_max_generation, device),
         "nvmlDeviceGetMaxPcieLinkGeneration"},
        {"device", "max_pcie_lanes", query(nvml->pcie_max_lanes, device),
         "nvmlDeviceGetMaxPcieLinkWidth"},
        {"device", "max_clock_mhz", query_kind(nvml->max_clock, device, SM_CLOCK),
         "nvmlDeviceGetMaxClockInfo, NVML_CLOCK_SM"},
        {"device", "max_memory_clock_mhz", query_kind(nvml->max_clock, device, MEMORY_CLOCK),
         "nvmlDeviceGetMaxClockInfo, NVML_CLOCK_MEM"},
        {"device", "current_clock_mhz", query_kind(nvml->clock, device, SM_CLOCK),
         "nvmlDeviceGetClockInfo, NVML_CLOCK_SM"},
        {"device", "current_memory_clock_mhz", query_kind(nvml->clock, device, MEMORY_CLOCK),
         "nvmlDeviceGetClockInfo, NVML_CLOCK_MEM"},
        {"device", "power_w", query(nvml->power, device) / 1000.0, "nvmlDeviceGetPowerUsage"},
        {"device", "power_limit_w", query(nvml->power_limit, device) / 1000.0,
         "nvmlDeviceGetEnforcedPowerLimit"},
        {"device", "temperature_c", query_kind(nvml->temperature, device, GPU_SENSOR),
         "nvmlDeviceGetTemperature, NVML_TEMPERATURE_GPU"},
    };
    for (size_t i = 0; i < FTH_COUNT(figures); i++)
        if (figures[i].number > 0)
            FTH_TRY(fth_cuda_set_number(gpu, figures[i].section, figures[i].name, figures[i].number,
                                        figures[i].method, error));
    FTH_TRY(describe_texts(nvml, device, gpu, error));
    return fth_nvml_describe_health(nvml, device, gpu, error);
}

/* ---- MIG slices ---- */

/* Calls `each` for every slice of one GPU. */
static void list_slices(const struct fth_nvml *nvml, unsigned index, fth_nvml_device device,
                        void (*each)(void *user, const struct fth_device_info *device), void *user)
{
    unsigned current = 0, pending = 0, max = 0;
    if (nvml->mig_mode(device, &current, &pending) != 0 || !current ||
        nvml->mig_count(device, &max) != 0)
        return;
    for (unsigned i = 0; i < max; i++) {
        fth_nvml_device slice;
        char uuid[96], id[112], name[96] = "", detail[96], size[32];
        struct fth_nvml_memory memory;
        if (nvml->mig_at(device, i, &slice) != 0 || nvml->uuid(slice, uuid, sizeof uuid) != 0)
            continue;
        if (!nvml->name || nvml->name(slice, name, sizeof name) != 0)
            name[0] = '\0';
        snprintf(id, sizeof id, "cuda:%s", uuid);
        snprintf(detail, sizeof detail, "slice %u of GPU %u", i, index);
        if (nvml->memory && nvml->memory(slice, &memory) == 0) {
            size_t used = strlen(detail);
            snprintf(detail + used, sizeof detail - used, ", %s",
                     fth_size_format((double)memory.total, size, sizeof size));
        }
        each(user, &(struct fth_device_info){"cuda", id, name, detail});
    }
}

void fth_nvml_slices(const struct fth_nvml *nvml,
                     void (*each)(void *user, const struct fth_device_info *device), void *user)
{
    unsigned count = 0;
    if (!nvml->count || !nvml->by_index || !nvml->uuid || !nvml->mig_mode || !nvml->mig_count ||
        !nvml->mig_at || nvml->count(&count) != 0)
        return;
    for (unsigned i = 0; i < count; i++) {
        fth_nvml_device device;
        if (nvml->by_index(i, &device) == 0)
            list_slices(nvml, i, device, each, user);
    }
}
