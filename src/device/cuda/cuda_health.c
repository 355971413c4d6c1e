/* What NVML reports about the state of a GPU beside its clocks: the identity of the board, error
 * counters, links, for how long the clocks were reduced, and power and temperature under load. Each
 * value is optional: if a function is missing or fails, it is left out. A counter that is 0 is
 * written, because 0 errors differ from an unknown number of errors.
 *
 * Counters are those since the GPU was made (ECC errors, remapped rows) or since the driver was
 * loaded (uncorrectable ECC errors once more, PCI Express replays, throttle times, errors of
 * links).
 */
#include "device/cuda/cuda.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

/* Constants of NVML, from NVIDIA's documentation: nvmlMemoryErrorType_t, nvmlEccCounterType_t,
 * nvmlMemoryLocation_t, nvmlPerfPolicyType_t, nvmlTemperatureSensors_t. */
enum { CORRECTED = 0, UNCORRECTED = 1, SINCE_LOADED = 0, SINCE_MADE = 1, IN_DRAM = 2 };
enum { BY_POWER = 0, BY_HEAT = 1, GPU_SENSOR = 0 };
/* nvmlValueType_t: which member of a field's value is valid. */
enum { DOUBLE = 0, UINT = 1, ULONG = 2, ULLONG = 3, SLLONG = 4, SINT = 5, USHORT = 6 };
/* NVML_FI_DEV_…: fields of a GPU, and of a link, which is the scope. */
enum {
    CRC_ERRORS = 38,
    REPLAYS = 52,
    RECOVERIES = 59,
    MEMORY_TEMPERATURE = 82,
    LINK_COUNT = 91,
    LINK_REPLAYS = 161,
    LINK_RECOVERIES = 162,
    LINK_CRC_ERRORS = 163
};
/* Maximum number of links, more than any GPU has. NVML_NVLINK_MAX_LINKS is 18. */
enum { MAX_LINKS = 36, FIELDS_PER_LINK = 3 };

/* ---- fields ---- */

static struct fth_nvml_field make_field(unsigned id, unsigned scope)
{
    return (struct fth_nvml_field){.id = id, .scope = scope, .result = -1};
}

/* Sets *number to the value of a field. Returns false if NVML does not know it. */
static bool read_field(const struct fth_nvml_field *field, double *number)
{
    if (field->result != 0)
        return false;
    switch (field->type) {
    case DOUBLE: *number = field->value.d; return true;
    case UINT: *number = field->value.ui; return true;
    case ULONG: *number = (double)field->value.ul; return true;
    case ULLONG: *number = (double)field->value.ull; return true;
    case SLLONG: *number = (double)field->value.sll; return true;
    case SINT: *number = field->value.si; return true;
    case USHORT: *number = field->value.us; return true;
    default: return false;
    }
}

/* Adds up those fields that NVML knows. Returns their number. */
static size_t sum_fields(const struct fth_nvml_field *fields, size_t count, double *sum)
{
    size_t known = 0;
    *sum = 0;
    for (size_t i = 0; i < count; i++) {
        double number;
        if (read_field(&fields[i], &number) && number >= 0) {
            *sum += number;
            known++;
        }
    }
    return known;
}

/* ---- links ---- */

/* Writes the number of links, of those that are active, and of the errors on them. `totals` has
 * `count` fields with errors of all links together, which older GPUs report. */
static enum fth_status describe_links(const struct fth_nvml *nvml, fth_nvml_device device,
                                      unsigned links, const struct fth_nvml_field *totals,
                                      size_t count, struct fth_gpu *gpu, struct fth_error *error)
{
    struct fth_nvml_field fields[MAX_LINKS * FIELDS_PER_LINK];
    unsigned active_count = 0, known = 0;
    size_t field_count = 0, errors_known = 0;
    double errors = 0;
    for (unsigned i = 0; i < links && i < MAX_LINKS; i++) {
        unsigned active = 0;
        if (!nvml->link_state || nvml->link_state(device, i, &active) != 0)
            continue;
        known++;
        active_count += active != 0;
        for (unsigned k = 0; active && k < FIELDS_PER_LINK; k++)
            fields[field_count++] = make_field(LINK_REPLAYS + k, i);
    }
    FTH_TRY(fth_cuda_set_number(gpu, "device", "nvlinks", links, "NVML_FI_DEV_NVLINK_LINK_COUNT",
                                error));
    if (known)
        FTH_TRY(fth_cuda_set_number(gpu, "device", "nvlinks_active", active_count,
                                    "nvmlDeviceGetNvLinkState of each link", error));
    if (field_count && nvml->fields(device, (int)field_count, fields) == 0)
        errors_known = sum_fields(fields, field_count, &errors);
    if (!errors_known)
        errors_known = sum_fields(totals, count, &errors);
    return errors_known ? fth_cuda_set_number(gpu, "device", "nvlink_errors", errors,
                                              "replays, recoveries and checksum errors of the "
                                              "links, since the driver was loaded",
                                              error)
                        : FTH_OK;
}

/* Memory temperature and links. */
static enum fth_status describe_fields(const struct fth_nvml *nvml, fth_nvml_device device,
                                       struct fth_gpu *gpu, struct fth_error *error)
{
    enum { TEMPERATURE, LINKS, TOTALS, FIELDS = TOTALS + 3 };
    struct fth_nvml_field fields[FIELDS] = {
        [TEMPERATURE] = make_field(MEMORY_TEMPERATURE, 0),
        [LINKS] = make_field(LINK_COUNT, 0),
        [TOTALS] = make_field(CRC_ERRORS, 0),
        [TOTALS + 1] = make_field(REPLAYS, 0),
        [TOTALS + 2] = make_field(RECOVERIES, 0),
    };
    double number;
    if (!nvml->fields || nvml->fields(device, FIELDS, fields) != 0)
        return FTH_OK;
    if (read_field(&fields[TEMPERATURE], &number) && number > 0)
        FTH_TRY(fth_cuda_set_number(gpu, "device", "memory_temperature_c", number,
                                    "NVML_FI_DEV_MEMORY_TEMP", error));
    if (!read_field(&fields[LINKS], &number) || number < 0 || number > MAX_LINKS)
        return FTH_OK;
    return describe_links(nvml, device, (unsigned)number, &fields[TOTALS], FIELDS - TOTALS, gpu,
                          error);
}

/* ---- counters ---- */

/* Writes a count of ECC errors; in DRAM, or in the whole GPU. */
static enum fth_status describe_ecc(const struct fth_nvml *nvml, fth_nvml_device device,
                                    bool in_dram, int type, struct fth_gpu *gpu,
                                    struct fth_error *error)
{
    unsigned long long errors = 0;
    const char *name = type == CORRECTED ? "ecc_correctable" : "ecc_uncorrectable";
    if (in_dram)
        return nvml->memory_ecc && nvml->memory_ecc(device, type, SINCE_MADE, IN_DRAM, &errors) == 0
                   ? fth_cuda_set_number(gpu, "memory", name, (double)errors,
                                         "nvmlDeviceGetMemoryErrorCounter, aggregate, DRAM", error)
                   : FTH_OK;
    return nvml->total_ecc && nvml->total_ecc(device, type, SINCE_MADE, &errors) == 0
               ? fth_cuda_set_number(gpu, "device", name, (double)errors,
                                     "nvmlDeviceGetTotalEccErrors, aggregate", error)
               : FTH_OK;
}

/* Writes the number of errors since the driver was loaded that ECC could not correct. A reset of
 * the GPU, which repairs what caused them, sets it to 0. */
static enum fth_status describe_new_errors(const struct fth_nvml *nvml, fth_nvml_device device,
                                           struct fth_gpu *gpu, struct fth_error *error)
{
    unsigned long long errors = 0;
    return nvml->total_ecc && nvml->total_ecc(device, UNCORRECTED, SINCE_LOADED, &errors) == 0
               ? fth_cuda_set_number(gpu, "device", "ecc_uncorrectable_volatile", (double)errors,
                                     "nvmlDeviceGetTotalEccErrors, volatile", error)
               : FTH_OK;
}

static enum fth_status describe_rows(const struct fth_nvml *nvml, fth_nvml_device device,
                                     struct fth_gpu *gpu, struct fth_error *error)
{
    static const char method[] = "nvmlDeviceGetRemappedRows";
    unsigned correctable = 0, uncorrectable = 0, pending = 0, failure = 0;
    if (!nvml->remapped_rows ||
        nvml->remapped_rows(device, &correctable, &uncorrectable, &pending, &failure) != 0)
        return FTH_OK;
    FTH_TRY(fth_cuda_set_number(gpu, "memory", "remapped_rows_correctable", correctable, method,
                                error));
    FTH_TRY(fth_cuda_set_number(gpu, "memory", "remapped_rows_uncorrectable", uncorrectable, method,
                                error));
    FTH_TRY(
        fth_cuda_set_text(gpu, "memory", "remap_pending", pending ? "yes" : "no", method, error));
    return fth_cuda_set_text(gpu, "memory", "remap_failure", failure ? "yes" : "no", method, error);
}

/* For how long the clocks were reduced, and PCI Express replays. */
static enum fth_status describe_counters(const struct fth_nvml *nvml, fth_nvml_device device,
                                         struct fth_gpu *gpu, struct fth_error *error)
{
    static const struct {
        int policy;
        const char *name, *method;
    } rows[] = {
        {BY_POWER, "throttle_power_us", "nvmlDeviceGetViolationStatus, NVML_PERF_POLICY_POWER"},
        {BY_HEAT, "throttle_thermal_us", "nvmlDeviceGetViolationStatus, NVML_PERF_POLICY_THERMAL"},
    };
    unsigned replays = 0;
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_nvml_violation violation = {0};
        if (!nvml->violation || nvml->violation(device, rows[i].policy, &violation) != 0)
            continue;
        const unsigned long long us = violation.violation_ns / 1000;
        FTH_TRY(
            fth_cuda_set_number(gpu, "device", rows[i].name, (double)us, rows[i].method, error));
    }
    return nvml->pcie_replays && nvml->pcie_replays(device, &replays) == 0
               ? fth_cuda_set_number(gpu, "device", "pcie_replays", replays,
                                     "nvmlDeviceGetPcieReplayCounter", error)
               : FTH_OK;
}

/* ---- identity ---- */

/* Sets a text that NVML reports. */
static enum fth_status describe_text(int (*call)(fth_nvml_device, char *, unsigned),
                                     fth_nvml_device device, const char *name, const char *method,
                                     struct fth_gpu *gpu, struct fth_error *error)
{
    char text[96] = "";
    return call && call(device, text, sizeof text) == 0
               ? fth_cuda_set_text(gpu, "device", name, text, method, error)
               : FTH_OK;
}

static enum fth_status describe_board(const struct fth_nvml *nvml, fth_nvml_device device,
                                      struct fth_gpu *gpu, struct fth_error *error)
{
    enum { MAX_STATE = 15 }; /* of nvmlPstates_t; 32 is "unknown" */
    char text[16];
    int state = -1;
    FTH_TRY(describe_text(nvml->board_part_number, device, "board_part_number",
                          "nvmlDeviceGetBoardPartNumber", gpu, error));
    FTH_TRY(describe_text(nvml->vbios, device, "vbios", "nvmlDeviceGetVbiosVersion", gpu, error));
    FTH_TRY(describe_text(nvml->serial, device, "serial", "nvmlDeviceGetSerial", gpu, error));
    if (!nvml->performance_state || nvml->performance_state(device, &state) != 0 || state < 0 ||
        state > MAX_STATE)
        return FTH_OK;
    snprintf(text, sizeof text, "P%d", state);
    return fth_cuda_set_text(gpu, "device", "performance_state", text,
                             "nvmlDeviceGetPerformanceState", error);
}

enum fth_status fth_nvml_describe_health(const struct fth_nvml *nvml, fth_nvml_device device,
                                         struct fth_gpu *gpu, struct fth_error *error)
{
    FTH_TRY(describe_board(nvml, device, gpu, error));
    FTH_TRY(describe_counters(nvml, device, gpu, error));
    FTH_TRY(describe_fields(nvml, device, gpu, error));
    for (int type = CORRECTED; type <= UNCORRECTED; type++)
        FTH_TRY(describe_ecc(nvml, device, false, type, gpu, error));
    for (int type = CORRECTED; type <= UNCORRECTED; type++)
        FTH_TRY(describe_ecc(nvml, device, true, type, gpu, error));
    FTH_TRY(describe_new_errors(nvml, device, gpu, error));
    return describe_rows(nvml, device, gpu, error);
}

/* ---- under load ---- */

enum fth_status fth_nvml_describe_load(const struct fth_nvml *nvml, const char *pci_bus,
                                       const char *uuid, struct fth_gpu *gpu,
                                       struct fth_error *error)
{
    fth_nvml_device device = nvml->handle ? fth_nvml_find(nvml, pci_bus, uuid) : NULL;
    char text[FTH_NVML_REASONS_BYTES] = "";
    unsigned milliwatts = 0, celsius = 0;
    if (!device)
        return FTH_OK;
    if (nvml->power && nvml->power(device, &milliwatts) == 0 && milliwatts)
        FTH_TRY(fth_cuda_set_number(gpu, "device", "loaded_power_w", milliwatts / 1000.0,
                                    "nvmlDeviceGetPowerUsage after the bandwidths", error));
    if (nvml->temperature && nvml->temperature(device, GPU_SENSOR, &celsius) == 0 && celsius)
        FTH_TRY(fth_cuda_set_number(gpu, "device", "loaded_temperature_c", celsius,
                                    "nvmlDeviceGetTemperature after the bandwidths", error));
    return fth_nvml_reasons(nvml, device, text)
               ? fth_cuda_set_text(gpu, "device", "loaded_throttling", text,
                                   "nvmlDeviceGetCurrentClocksEventReasons after the bandwidths",
                                   error)
               : FTH_OK;
}
