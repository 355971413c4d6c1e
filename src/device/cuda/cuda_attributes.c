/* The properties of a GPU that the CUDA driver reports, as attributes of a GPU description. A table
 * maps each CUdevice_attribute to an attribute of the description. A property that the driver does
 * not know is left out, and so is a number that the driver reports as 0. */
#include "device/cuda/cuda.h"

#include <stdio.h>
#include <string.h>

/* How the driver's value is converted: unchanged, kHz to MHz, 32-bit registers to bytes, or
 * "yes"/"no". */
enum kind { NUMBER, KHZ, REGISTERS, FLAG };

struct attribute_row {
    int attribute; /* CUdevice_attribute, from the driver's documentation */
    const char *method;
    const char *section, *name;
    enum kind kind;
};

#define ROW(number, attribute, section, name, kind)                                                \
    {                                                                                              \
        number, "CU_DEVICE_ATTRIBUTE_" attribute, section, name, kind                              \
    }

static const struct attribute_row rows[] = {
    ROW(16, "MULTIPROCESSOR_COUNT", "device", "sms", NUMBER),
    ROW(10, "WARP_SIZE", "device", "warp_size", NUMBER),
    ROW(13, "CLOCK_RATE", "device", "clock_mhz", KHZ),
    ROW(36, "MEMORY_CLOCK_RATE", "device", "memory_clock_mhz", KHZ),
    ROW(37, "GLOBAL_MEMORY_BUS_WIDTH", "device", "memory_bus_bits", NUMBER),
    ROW(1, "MAX_THREADS_PER_BLOCK", "device", "max_threads_per_block", NUMBER),
    ROW(39, "MAX_THREADS_PER_MULTIPROCESSOR", "device", "max_threads_per_sm", NUMBER),
    ROW(106, "MAX_BLOCKS_PER_MULTIPROCESSOR", "device", "max_blocks_per_sm", NUMBER),
    ROW(12, "MAX_REGISTERS_PER_BLOCK", "device", "max_registers_per_block", NUMBER),
    ROW(9, "TOTAL_CONSTANT_MEMORY", "device", "constant_memory_bytes", NUMBER),
    ROW(14, "TEXTURE_ALIGNMENT", "device", "texture_alignment_bytes", NUMBER),
    ROW(87, "SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO", "device", "single_to_double_ratio", NUMBER),
    ROW(40, "ASYNC_ENGINE_COUNT", "device", "copy_engines", NUMBER),
    ROW(126, "MEM_SYNC_DOMAIN_COUNT", "device", "memory_sync_domains", NUMBER),
    ROW(18, "INTEGRATED", "device", "integrated", FLAG),
    ROW(17, "KERNEL_EXEC_TIMEOUT", "device", "kernel_timeout", FLAG),
    ROW(31, "CONCURRENT_KERNELS", "device", "concurrent_kernels", FLAG),
    ROW(95, "COOPERATIVE_LAUNCH", "device", "cooperative_launch", FLAG),
    ROW(120, "CLUSTER_LAUNCH", "device", "cluster_launch", FLAG),
    ROW(90, "COMPUTE_PREEMPTION_SUPPORTED", "device", "preemption", FLAG),
    ROW(78, "STREAM_PRIORITIES_SUPPORTED", "device", "stream_priorities", FLAG),
    ROW(127, "TENSOR_MAP_ACCESS_SUPPORTED", "device", "tensor_maps", FLAG),
    ROW(132, "MULTICAST_SUPPORTED", "device", "multicast", FLAG),
    ROW(133, "MPS_ENABLED", "device", "mps", FLAG),
    ROW(41, "UNIFIED_ADDRESSING", "device", "unified_addressing", FLAG),
    ROW(83, "MANAGED_MEMORY", "device", "managed_memory", FLAG),
    ROW(89, "CONCURRENT_MANAGED_ACCESS", "device", "concurrent_managed_access", FLAG),
    ROW(88, "PAGEABLE_MEMORY_ACCESS", "device", "pageable_access", FLAG),
    ROW(100, "PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES", "device", "host_page_tables", FLAG),
    ROW(86, "HOST_NATIVE_ATOMIC_SUPPORTED", "device", "host_atomics", FLAG),
    ROW(102, "VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED", "device", "virtual_memory_management", FLAG),
    ROW(115, "MEMORY_POOLS_SUPPORTED", "device", "memory_pools", FLAG),
    ROW(116, "GPU_DIRECT_RDMA_SUPPORTED", "device", "gpu_direct_rdma", FLAG),

    ROW(38, "L2_CACHE_SIZE", "l2", "size_bytes", NUMBER),
    ROW(108, "MAX_PERSISTING_L2_CACHE_SIZE", "l2", "max_persisting_bytes", NUMBER),
    ROW(109, "MAX_ACCESS_POLICY_WINDOW_SIZE", "l2", "max_window_bytes", NUMBER),
    ROW(81, "MAX_SHARED_MEMORY_PER_MULTIPROCESSOR", "shared", "size_bytes", NUMBER),
    ROW(97, "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN", "shared", "max_block_bytes", NUMBER),
    ROW(8, "MAX_SHARED_MEMORY_PER_BLOCK", "shared", "default_block_bytes", NUMBER),
    ROW(111, "RESERVED_SHARED_MEMORY_PER_BLOCK", "shared", "reserved_block_bytes", NUMBER),
    ROW(82, "MAX_REGISTERS_PER_MULTIPROCESSOR", "registers", "size_bytes", REGISTERS),
    ROW(32, "ECC_ENABLED", "memory", "ecc", FLAG),
    ROW(107, "GENERIC_COMPRESSION_SUPPORTED", "memory", "compression", FLAG),
};

/* The scopes of the elements that this file adds. */
static const struct {
    const char *element, *scope;
} scopes[] = {
    {"l1", "sm"}, {"shared", "sm"}, {"l2", "gpu"}, {"memory", "gpu"}, {"registers", "sm"}};

/* CUdevice_attribute values of the properties that need special treatment. BLOCK_DIMS and GRID_DIMS
 * are the first of three: x, y, z. */
enum { BLOCK_DIMS = 2, GRID_DIMS = 5, GLOBAL_IN_L1 = 79, LOCAL_IN_L1 = 80, PCI_DEVICE = 139 };
enum { UNSIGNED_INT32 = 3 }; /* CUarray_format */

int fth_cuda_attribute(const struct fth_cuda *cuda, fth_cu_device device, int attribute)
{
    int value = 0;
    return cuda->device_attribute(&value, attribute, device) == 0 ? value : 0;
}

void fth_cuda_uuid(const struct fth_cuda *cuda, fth_cu_device device,
                   char text[FTH_CUDA_UUID_BYTES])
{
    unsigned char uuid[16], whole[16];
    text[0] = '\0';
    if (!cuda->device_uuid || cuda->device_uuid(uuid, device) != 0)
        return;
    /* For a MIG slice, the newer function returns the slice's UUID, the older one the GPU's. */
    bool slice = cuda->device_gpu_uuid && cuda->device_gpu_uuid(whole, device) == 0 &&
                 memcmp(uuid, whole, sizeof uuid) != 0;
    size_t used = (size_t)snprintf(text, FTH_CUDA_UUID_BYTES, "%s", slice ? "MIG" : "GPU");
    for (size_t i = 0; i < sizeof uuid; i++)
        used +=
            (size_t)snprintf(text + used, FTH_CUDA_UUID_BYTES - used, "%s%02x",
                             i == 0 || i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid[i]);
}

uint64_t fth_cuda_texels(const struct fth_cuda *cuda, fth_cu_device device)
{
    size_t texels = 0;
    if (cuda->device_texels && cuda->device_texels(&texels, UNSIGNED_INT32, 1, device) == 0)
        return texels;
    int value = fth_cuda_attribute(cuda, device, FTH_CU_TEXELS);
    return value > 0 ? (uint64_t)value : 0;
}

/* ---- the description ---- */

/* Finds a section of the description, or adds it together with its scope. */
static enum fth_status find_section(struct fth_gpu *gpu, const char *name,
                                    struct fth_gpu_section **section, struct fth_error *error)
{
    *section = fth_gpu_section(gpu, name);
    if (*section)
        return FTH_OK;
    FTH_TRY(fth_gpu_add_element(gpu, name, error));
    *section = fth_gpu_section(gpu, name);
    for (size_t i = 0; i < FTH_COUNT(scopes); i++)
        if (strcmp(scopes[i].element, name) == 0) {
            struct fth_attribute scope = fth_attribute_make("scope", FTH_TEXT);
            scope.text = scopes[i].scope;
            FTH_TRY(fth_gpu_set(gpu, *section, &scope, error));
        }
    return FTH_OK;
}

/* Sets one attribute with the given method. Its source is the driver unless `attribute.source` is
 * set. Adds the section if it does not exist. Does nothing if the attribute already has a value
 * from another source. */
static enum fth_status set_attribute(struct fth_gpu *gpu, const char *section,
                                     struct fth_attribute attribute, const char *method,
                                     struct fth_error *error)
{
    struct fth_gpu_section *where;
    FTH_TRY(find_section(gpu, section, &where, error));
    if (attribute.source == FTH_SOURCE_NONE)
        attribute.source = FTH_SOURCE_DRIVER;
    const struct fth_attribute *existing = fth_gpu_attribute(gpu, section, attribute.name);
    if (existing && existing->source != FTH_SOURCE_NONE && existing->source != attribute.source)
        return FTH_OK;
    attribute.method = method;
    return fth_gpu_set(gpu, where, &attribute, error);
}

enum fth_status fth_cuda_set_number(struct fth_gpu *gpu, const char *section, const char *name,
                                    double number, const char *method, struct fth_error *error)
{
    struct fth_attribute attribute = fth_attribute_make(name, FTH_NUMBER);
    attribute.number = number;
    return set_attribute(gpu, section, attribute, method, error);
}

enum fth_status fth_cuda_set_text(struct fth_gpu *gpu, const char *section, const char *name,
                                  const char *text, const char *method, struct fth_error *error)
{
    struct fth_attribute attribute = fth_attribute_make(name, FTH_TEXT);
    attribute.text = text;
    return text[0] ? set_attribute(gpu, section, attribute, method, error) : FTH_OK;
}

static enum fth_status describe_row(const struct fth_cuda *cuda, fth_cu_device device,
                                    const struct attribute_row *row, struct fth_gpu *gpu,
                                    struct fth_error *error)
{
    int value = 0;
    if (cuda->device_attribute(&value, row->attribute, device) != 0)
        return FTH_OK;
    if (row->kind == FLAG)
        return fth_cuda_set_text(gpu, row->section, row->name, value ? "yes" : "no", row->method,
                                 error);
    double number = row->kind == KHZ ? value / 1e3 : row->kind == REGISTERS ? 4.0 * value : value;
    return value > 0 ? fth_cuda_set_number(gpu, row->section, row->name, number, row->method, error)
                     : FTH_OK;
}

static enum fth_status describe_dims(const struct fth_cuda *cuda, fth_cu_device device, int first,
                                     const char *name, const char *method, struct fth_gpu *gpu,
                                     struct fth_error *error)
{
    double dims[3];
    for (int i = 0; i < 3; i++) {
        dims[i] = fth_cuda_attribute(cuda, device, first + i);
        if (dims[i] <= 0)
            return FTH_OK;
    }
    struct fth_attribute attribute = fth_attribute_make(name, FTH_NUMBERS);
    attribute.numbers = dims;
    attribute.count = FTH_COUNT(dims);
    return set_attribute(gpu, "device", attribute, method, error);
}

static enum fth_status describe_l1(const struct fth_cuda *cuda, fth_cu_device device,
                                   struct fth_gpu *gpu, struct fth_error *error)
{
    int global = 0, local = 0;
    if (cuda->device_attribute(&global, GLOBAL_IN_L1, device) != 0 ||
        cuda->device_attribute(&local, LOCAL_IN_L1, device) != 0)
        return FTH_OK;
    const char *texts[2];
    struct fth_attribute attribute = fth_attribute_make("caches", FTH_TEXTS);
    if (global)
        texts[attribute.count++] = "global";
    if (local)
        texts[attribute.count++] = "local";
    attribute.texts = texts;
    return set_attribute(gpu, "l1", attribute,
                         "CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED, "
                         "CU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED",
                         error);
}

/* Returns the architecture that NVIDIA's documentation lists for a compute capability, NULL if
 * unknown. */
static const char *architecture(int major, int minor)
{
    switch (major) {
    case 2: return "Fermi";
    case 3: return "Kepler";
    case 5: return "Maxwell";
    case 6: return "Pascal";
    case 7: return minor < 5 ? "Volta" : "Turing";
    case 8: return minor < 9 ? "Ampere" : "Ada Lovelace";
    case 9: return "Hopper";
    case 10:
    case 11:
    case 12: return "Blackwell";
    default: return NULL;
    }
}

/* Name, compute capability, driver version, UUID and PCI address. */
static enum fth_status describe_identity(const struct fth_cuda *cuda, fth_cu_device device,
                                         const char *uuid, const char *pci_bus, struct fth_gpu *gpu,
                                         struct fth_error *error)
{
    char name[256] = "", capability[24] = "", version_text[24] = "", pci_device[16] = "";
    int major = fth_cuda_attribute(cuda, device, FTH_CU_MAJOR);
    int minor = fth_cuda_attribute(cuda, device, FTH_CU_MINOR), version = 0;
    if (cuda->device_name(name, sizeof name, device) != 0)
        name[0] = '\0';
    if (major > 0)
        snprintf(capability, sizeof capability, "%d.%d", major, minor);
    if (cuda->driver_version(&version) == 0)
        snprintf(version_text, sizeof version_text, "%d.%d", version / 1000, version % 1000 / 10);
    unsigned pci = (unsigned)fth_cuda_attribute(cuda, device, PCI_DEVICE);
    if (pci) /* the lower 16 bits are the vendor */
        snprintf(pci_device, sizeof pci_device, "%04x:%04x", pci & 0xffff, pci >> 16);
    const struct {
        const char *name, *text, *method;
    } texts[] = {
        {"name", name, "cuDeviceGetName"},
        {"vendor", "NVIDIA", "cuDeviceGetName"},
        {"compute_capability", capability, "CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR"},
        {"backend", "cuda", "cuInit"},
        {"cuda_version", version_text, "cuDriverGetVersion"},
        {"uuid", uuid, "cuDeviceGetUuid"},
        {"pci_bus", pci_bus, "cuDeviceGetPCIBusId"},
        {"pci_device", pci_device, "CU_DEVICE_ATTRIBUTE_GPU_PCI_DEVICE_ID"},
    };
    for (size_t i = 0; i < FTH_COUNT(texts); i++)
        FTH_TRY(
            fth_cuda_set_text(gpu, "device", texts[i].name, texts[i].text, texts[i].method, error));
    struct fth_attribute derived = fth_attribute_make("architecture", FTH_TEXT);
    derived.text = architecture(major, minor);
    derived.source = FTH_SOURCE_DERIVED;
    return derived.text
               ? set_attribute(gpu, "device", derived, "from the compute capability", error)
               : FTH_OK;
}

/* The PCI address of a GPU; empty if the driver does not report it. */
enum { PCI_BYTES = 32 };
static void find_pci_bus(const struct fth_cuda *cuda, fth_cu_device device, char text[PCI_BYTES])
{
    if (!cuda->device_pci || cuda->device_pci(text, PCI_BYTES, device) != 0)
        text[0] = '\0';
}

enum fth_status fth_cuda_describe_load(const struct fth_cuda *cuda, fth_cu_device device,
                                       const struct fth_nvml *nvml, struct fth_gpu *gpu,
                                       struct fth_error *error)
{
    char uuid[FTH_CUDA_UUID_BYTES], pci_bus[PCI_BYTES] = "";
    fth_cuda_uuid(cuda, device, uuid);
    find_pci_bus(cuda, device, pci_bus);
    const size_t before = gpu->device.count;
    FTH_TRY(fth_nvml_describe_load(nvml, pci_bus, uuid, gpu, error));
    /* A document needs a name, also one that contains nothing but this state (recordings). */
    char name[256] = "";
    if (gpu->device.count == before || cuda->device_name(name, sizeof name, device) != 0)
        name[0] = '\0';
    return fth_cuda_set_text(gpu, "device", "name", name, "cuDeviceGetName", error);
}

enum fth_status fth_cuda_describe(const struct fth_cuda *cuda, fth_cu_device device,
                                  const struct fth_nvml *nvml, struct fth_gpu *gpu,
                                  struct fth_error *error)
{
    char uuid[FTH_CUDA_UUID_BYTES], pci_bus[PCI_BYTES] = "";
    fth_cuda_uuid(cuda, device, uuid);
    find_pci_bus(cuda, device, pci_bus);
    FTH_TRY(describe_identity(cuda, device, uuid, pci_bus, gpu, error));
    for (size_t i = 0; i < FTH_COUNT(rows); i++)
        FTH_TRY(describe_row(cuda, device, &rows[i], gpu, error));
    FTH_TRY(describe_dims(cuda, device, BLOCK_DIMS, "max_block_dims",
                          "CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, _Y, _Z", gpu, error));
    FTH_TRY(describe_dims(cuda, device, GRID_DIMS, "max_grid_dims",
                          "CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, _Y, _Z", gpu, error));
    FTH_TRY(describe_l1(cuda, device, gpu, error));
    uint64_t texels = fth_cuda_texels(cuda, device);
    if (texels)
        FTH_TRY(fth_cuda_set_number(gpu, "device", "max_linear_texels", (double)texels,
                                    cuda->device_texels
                                        ? "cuDeviceGetTexture1DLinearMaxWidth"
                                        : "CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH",
                                    error));
    size_t memory = 0;
    if (cuda->device_memory(&memory, device) == 0 && memory)
        FTH_TRY(fth_cuda_set_number(gpu, "memory", "size_bytes", (double)memory, "cuDeviceTotalMem",
                                    error));
    FTH_TRY(fth_device_describe_host(gpu, error));
    return fth_nvml_describe(nvml, pci_bus, uuid, strncmp(uuid, "MIG-", 4) != 0, gpu, error);
}
