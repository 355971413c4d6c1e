/* The part of the CUDA driver API and of NVML that fathom uses. The types and functions are
 * declared here after NVIDIA's documentation, so that fathom builds without the CUDA toolkit. The
 * libraries are opened at run time.
 *
 *   cuda_driver.c      loading the CUDA driver
 *   cuda_nvml.c        loading and querying NVML
 *   cuda_health.c      what NVML reports about the state of a GPU: errors, links, load
 *   cuda_list.c        listing the GPUs
 *   cuda_local.c       the name of the GPU of this computer
 *   cuda_open.c        opening a GPU by its name
 *   cuda_run.c         contexts, modules, memory, launches
 *   cuda_machine.c     struct fth_machine_ops over cuda_run.c
 *   cuda_repeating.c   addresses whose memory repeats
 *   cuda_ahead.c       compiling modules ahead of their use, in other threads
 *   cuda_attributes.c  properties that the driver reports
 *   cuda_transfer.c    copies between host and GPUs
 *   cuda_tensor_map.c  tensor maps
 *   cuda_texture.c     textures and surfaces with arrays
 */
#ifndef FTH_CUDA_H
#define FTH_CUDA_H

#include "device/machine.h"

#include <pthread.h>

typedef int fth_cu_result; /* 0 is success */
/* Values of CUresult, from the documentation of the CUDA driver API. */
enum {
    FTH_CU_OUT_OF_MEMORY = 2,
    FTH_CU_NOT_INITIALISED = 3,
    FTH_CU_STUB_LIBRARY = 34, /* the toolkit's libcuda.so, which only serves for linking */
    FTH_CU_NO_DEVICE = 100,   /* the driver finds no GPU */
    FTH_CU_INVALID_IMAGE = 200,
    FTH_CU_NO_BINARY_FOR_GPU = 209, /* the image has no code for this GPU */
    FTH_CU_INVALID_PTX = 218,       /* the PTX does not compile */
    FTH_CU_JIT_COMPILER_NOT_FOUND = 221,
    FTH_CU_UNSUPPORTED_PTX_VERSION = 222, /* the PTX is newer than the compiler */
    FTH_CU_JIT_COMPILATION_DISABLED = 223,
    FTH_CU_NOT_FOUND = 500,
    FTH_CU_NOT_READY = 600, /* queued work has not completed */
    FTH_CU_NOT_SUPPORTED = 801,
    FTH_CU_INVALID_CLUSTER_SIZE = 912
};
typedef int fth_cu_device;
typedef struct fth_cu_context *fth_cu_context; /* CUcontext, CUmodule, CUfunction: opaque handles */
typedef struct fth_cu_module *fth_cu_module;
typedef struct fth_cu_function *fth_cu_function;

/* CUDA_RESOURCE_DESC: 144 bytes. */
struct fth_cu_resource {
    int type;
    uint64_t address; /* of linear memory; of an array: its handle, and 0 in the members below */
    int format;
    unsigned channels;
    size_t bytes;
    int reserved[26];
    unsigned flags;
};
/* CUDA_TEXTURE_DESC: 104 bytes. */
struct fth_cu_sampling {
    int address_mode[3];
    int filter_mode;
    unsigned flags;
    unsigned anisotropy;
    int mipmap_filter_mode;
    float mipmap[3], border[4];
    int reserved[12];
};

typedef struct fth_cu_array *fth_cu_array;
/* CUDA_ARRAY3D_DESCRIPTOR: 40 bytes. */
struct fth_cu_array_shape {
    size_t width, height, depth;
    int format;
    unsigned channels, flags;
};
/* One side of CUDA_MEMCPY3D. */
struct fth_cu_copy_side {
    size_t x_bytes, y, z, level;
    int type;
    const void *host;
    uint64_t address;
    fth_cu_array array;
    void *reserved;
    size_t pitch_bytes, height;
};
/* CUDA_MEMCPY3D: 200 bytes. */
struct fth_cu_copy {
    struct fth_cu_copy_side from, to;
    size_t width_bytes, height, depth;
};

/* CUmemLocation, CUmemAllocationProp (32 bytes) and CUmemAccessDesc (12 bytes). */
struct fth_cu_place {
    int type, id;
};
struct fth_cu_memory_kind {
    int type, handle_types;
    struct fth_cu_place place;
    void *metadata;
    unsigned char flags[8];
};
struct fth_cu_access {
    struct fth_cu_place place;
    int flags;
};

/* CUlaunchAttribute: 72 bytes. The cluster size is the first 12 bytes of its value. */
struct fth_cu_launch_attribute {
    int id;
    char pad[4];
    unsigned cluster[3];
    char rest[52];
};
/* CUlaunchConfig: 56 bytes. */
struct fth_cu_launch_config {
    unsigned grid[3], block[3];
    unsigned shared_bytes;
    void *stream;
    struct fth_cu_launch_attribute *attributes;
    unsigned attribute_count;
};

/* The functions of the CUDA driver; cuda_driver.c lists their names in the library. */
struct fth_cuda {
    void *handle; /* of the library */
    fth_cu_result (*init)(unsigned flags);
    fth_cu_result (*driver_version)(int *version);
    fth_cu_result (*device_count)(int *count);
    fth_cu_result (*device_get)(fth_cu_device *device, int ordinal);
    fth_cu_result (*device_name)(char *name, int size, fth_cu_device device);
    fth_cu_result (*device_attribute)(int *value, int attribute, fth_cu_device device);
    fth_cu_result (*device_memory)(size_t *bytes, fth_cu_device device);
    fth_cu_result (*error_text)(fth_cu_result result, const char **text);

    /* All members from here on are NULL if the driver does not have the function. For a MIG slice,
     * the first function returns the UUID of the slice, the second that of the GPU. */
    fth_cu_result (*device_uuid)(unsigned char uuid[16], fth_cu_device device);
    fth_cu_result (*device_gpu_uuid)(unsigned char uuid[16], fth_cu_device device);
    fth_cu_result (*device_pci)(char *text, int size, fth_cu_device device);
    fth_cu_result (*device_texels)(size_t *texels, int format, unsigned channels,
                                   fth_cu_device device);

    /* For running kernels. cuda_run.c checks that they are not NULL. */
    fth_cu_result (*context_retain)(fth_cu_context *context, fth_cu_device device);
    fth_cu_result (*context_release)(fth_cu_device device);
    fth_cu_result (*context_set)(fth_cu_context context);
    fth_cu_result (*synchronize)(void);
    fth_cu_result (*stream_query)(void *stream);
    fth_cu_result (*module_load)(fth_cu_module *module, const void *image, unsigned options,
                                 int *option, void **values);
    fth_cu_result (*module_unload)(fth_cu_module module);
    fth_cu_result (*module_function)(fth_cu_function *function, fth_cu_module module,
                                     const char *name);
    fth_cu_result (*module_symbol)(uint64_t *address, size_t *bytes, fth_cu_module module,
                                   const char *name);
    /* Compiling without loading; used only by cuda_ahead.c. */
    fth_cu_result (*link_create)(unsigned options, int *option, void **values, void **link);
    fth_cu_result (*link_add)(void *link, int type, void *data, size_t bytes, const char *name,
                              unsigned options, int *option, void **values);
    fth_cu_result (*link_complete)(void *link, void **cubin, size_t *bytes);
    fth_cu_result (*link_destroy)(void *link);
    fth_cu_result (*function_set)(fth_cu_function function, int attribute, int value);
    fth_cu_result (*memory_alloc)(uint64_t *address, size_t bytes);
    fth_cu_result (*memory_free)(uint64_t address);
    fth_cu_result (*memory_info)(size_t *free, size_t *total);
    fth_cu_result (*memory_upload)(uint64_t address, const void *data, size_t bytes);
    fth_cu_result (*memory_download)(void *data, uint64_t address, size_t bytes);
    fth_cu_result (*memory_fill)(uint64_t address, unsigned char byte, size_t bytes);
    fth_cu_result (*texture_create)(uint64_t *texture, const struct fth_cu_resource *resource,
                                    const struct fth_cu_sampling *sampling, const void *view);
    fth_cu_result (*texture_destroy)(uint64_t texture);
    fth_cu_result (*surface_create)(uint64_t *surface, const struct fth_cu_resource *resource);
    fth_cu_result (*surface_destroy)(uint64_t surface);
    fth_cu_result (*array_create)(fth_cu_array *array, const struct fth_cu_array_shape *shape);
    fth_cu_result (*array_destroy)(fth_cu_array array);
    fth_cu_result (*array_copy)(const struct fth_cu_copy *copy);
    fth_cu_result (*launch)(fth_cu_function function, unsigned grid_x, unsigned grid_y,
                            unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z,
                            unsigned shared_bytes, void *stream, void **arguments, void **extra);
    /* For timing by events, and for copies. */
    fth_cu_result (*event_create)(void **event, unsigned flags);
    fth_cu_result (*event_destroy)(void *event);
    fth_cu_result (*event_record)(void *event, void *stream);
    fth_cu_result (*event_elapsed)(float *ms, void *begin, void *end);
    fth_cu_result (*stream_create)(void **stream, unsigned flags);
    fth_cu_result (*stream_destroy)(void *stream);
    fth_cu_result (*stream_synchronize)(void *stream);
    fth_cu_result (*host_alloc)(void **memory, size_t bytes);
    fth_cu_result (*host_free)(void *memory);
    /* For kernels that access host memory and managed memory. */
    fth_cu_result (*host_map)(void **memory, size_t bytes, unsigned flags);
    fth_cu_result (*host_address)(uint64_t *address, void *memory, unsigned flags);
    fth_cu_result (*managed_alloc)(uint64_t *address, size_t bytes, unsigned flags);
    fth_cu_result (*prefetch)(uint64_t address, size_t bytes, fth_cu_device device, void *stream);
    fth_cu_result (*copy_on_device)(uint64_t to, uint64_t from, size_t bytes, void *stream);
    fth_cu_result (*copy_to_device)(uint64_t to, const void *from, size_t bytes, void *stream);
    fth_cu_result (*copy_from_device)(void *to, uint64_t from, size_t bytes, void *stream);
    fth_cu_result (*copy_peer)(uint64_t to, fth_cu_context to_context, uint64_t from,
                               fth_cu_context from_context, size_t bytes, void *stream);
    fth_cu_result (*peer_can_access)(int *can, fth_cu_device device, fth_cu_device peer);
    fth_cu_result (*peer_enable)(fth_cu_context peer, unsigned flags);
    /* Since CUDA 10.2; used only by cuda_repeating.c. */
    fth_cu_result (*address_reserve)(uint64_t *address, size_t bytes, size_t alignment,
                                     uint64_t wanted, unsigned long long flags);
    fth_cu_result (*address_free)(uint64_t address, size_t bytes);
    fth_cu_result (*address_map)(uint64_t address, size_t bytes, size_t offset,
                                 unsigned long long handle, unsigned long long flags);
    fth_cu_result (*address_unmap)(uint64_t address, size_t bytes);
    fth_cu_result (*address_access)(uint64_t address, size_t bytes,
                                    const struct fth_cu_access *access, size_t count);
    fth_cu_result (*physical_create)(unsigned long long *handle, size_t bytes,
                                     const struct fth_cu_memory_kind *kind,
                                     unsigned long long flags);
    fth_cu_result (*physical_release)(unsigned long long handle);
    /* Since CUDA 12.0; used only for tensor maps. */
    fth_cu_result (*tensor_map_tiled)(void *map, int type, uint32_t rank, uint64_t address,
                                      const uint64_t *sizes, const uint64_t *strides,
                                      const uint32_t *box, const uint32_t *element_strides,
                                      int interleave, int swizzle, int promotion, int fill);
    fth_cu_result (*tensor_map_im2col)(void *map, int type, uint32_t rank, uint64_t address,
                                       const uint64_t *sizes, const uint64_t *strides,
                                       const int *lower, const int *upper, uint32_t channels,
                                       uint32_t pixels, const uint32_t *element_strides,
                                       int interleave, int swizzle, int promotion, int fill);
    /* Since CUDA 11.8; used only for launches with clusters. */
    fth_cu_result (*launch_ex)(const struct fth_cu_launch_config *config, fth_cu_function function,
                               void **arguments, void **extra);
};

/* Loads the driver library and looks up its functions. Close it with fth_cuda_close. */
FTH_MUST_USE enum fth_status fth_cuda_find(struct fth_cuda *cuda, struct fth_error *error);
/* As fth_cuda_find, and initialises the driver. */
FTH_MUST_USE enum fth_status fth_cuda_open(struct fth_cuda *cuda, struct fth_error *error);
FTH_MUST_USE enum fth_status fth_cuda_initialise(const struct fth_cuda *cuda,
                                                 struct fth_error *error);
void fth_cuda_close(struct fth_cuda *cuda);
/* Reports the failure of the driver function `call`, with the driver's text for `result`. Returns
 * FTH_NO_MEMORY, FTH_NOT_FOUND or FTH_UNSUPPORTED for the results that mean this, and
 * FTH_UNAVAILABLE for all others. */
enum fth_status fth_cuda_fail(const struct fth_cuda *cuda, fth_cu_result result, const char *call,
                              struct fth_error *error);

/* Reports a function that the driver does not have. fth_cuda_find accepts drivers without the
 * functions that run kernels, because they are not needed to list devices. */
enum fth_status fth_cuda_missing(const char *call, struct fth_error *error);

/* Returns the driver's text for `result`, never NULL. */
const char *fth_cuda_text(const struct fth_cuda *cuda, fth_cu_result result);

/* Returns the value of a CUdevice_attribute, 0 if the driver does not know the attribute. */
int fth_cuda_attribute(const struct fth_cuda *cuda, fth_cu_device device, int attribute);
enum {
    FTH_CU_BLOCK_SHARED = 8,
    FTH_CU_SMS = 16,
    FTH_CU_L2_BYTES = 38,
    FTH_CU_TEXELS = 69,
    FTH_CU_MAJOR = 75,
    FTH_CU_MINOR = 76,
    FTH_CU_BLOCK_SHARED_OPTIN = 97
};
/* Writes the UUID of a GPU ("GPU-" and groups of 8, 4, 4, 4 and 12 hexadecimal digits) or of a MIG
 * slice ("MIG-…"). The text is empty if the driver does not report a UUID. */
enum { FTH_CUDA_UUID_BYTES = 48 };
void fth_cuda_uuid(const struct fth_cuda *cuda, fth_cu_device device,
                   char text[FTH_CUDA_UUID_BYTES]);
/* Returns the maximum number of texels of a linear texture of 32-bit unsigned texels, 0 if
 * unknown. */
uint64_t fth_cuda_texels(const struct fth_cuda *cuda, fth_cu_device device);

/* ---- cuda_nvml.c: the NVIDIA Management Library (optional) ---- */

typedef struct fth_nvml_device *fth_nvml_device;

struct fth_nvml_memory {
    unsigned long long total, free, used;
};

/* nvmlFieldValue_t. The value is a union of numbers of different sizes. */
struct fth_nvml_field {
    unsigned id;
    unsigned scope; /* of some fields: the link */
    long long timestamp, latency_us;
    int type;   /* nvmlValueType_t: the valid member of `value` */
    int result; /* 0: `value` is valid */
    union {
        double d;
        unsigned ui;
        unsigned long ul;
        unsigned long long ull;
        long long sll;
        int si;
        unsigned short us;
    } value;
};

/* nvmlViolationTime_t: since when, in microseconds, and for how long the clocks were reduced, in
 * nanoseconds. */
struct fth_nvml_violation {
    unsigned long long reference_us, violation_ns;
};

/* The functions of NVML; cuda_nvml.c lists their names. All but `init` and `shutdown` can be NULL.
 */
struct fth_nvml {
    void *handle; /* of the library; NULL if NVML is not available */
    int (*init)(void);
    int (*shutdown)(void);
    int (*driver_version)(char *text, unsigned size);
    int (*count)(unsigned *count);
    int (*by_index)(unsigned index, fth_nvml_device *device);
    int (*by_pci)(const char *bus, fth_nvml_device *device);
    int (*by_uuid)(const char *uuid, fth_nvml_device *device);
    int (*name)(fth_nvml_device device, char *text, unsigned size);
    int (*uuid)(fth_nvml_device device, char *text, unsigned size);
    int (*memory)(fth_nvml_device device, struct fth_nvml_memory *memory);
    int (*cores)(fth_nvml_device device, unsigned *cores);
    int (*pcie_generation)(fth_nvml_device device, unsigned *generation);
    int (*pcie_lanes)(fth_nvml_device device, unsigned *lanes);
    int (*pcie_max_generation)(fth_nvml_device device, unsigned *generation);
    int (*pcie_max_lanes)(fth_nvml_device device, unsigned *lanes);
    int (*clock)(fth_nvml_device device, int which, unsigned *mhz);
    int (*max_clock)(fth_nvml_device device, int which, unsigned *mhz);
    int (*ecc)(fth_nvml_device device, unsigned *current, unsigned *pending);
    int (*power)(fth_nvml_device device, unsigned *milliwatts);
    int (*power_limit)(fth_nvml_device device, unsigned *milliwatts);
    int (*temperature)(fth_nvml_device device, int sensor, unsigned *celsius);
    int (*throttle)(fth_nvml_device device, unsigned long long *reasons);
    int (*mig_mode)(fth_nvml_device device, unsigned *current, unsigned *pending);
    int (*mig_count)(fth_nvml_device device, unsigned *max);
    int (*mig_at)(fth_nvml_device device, unsigned index, fth_nvml_device *slice);
    /* Used only by cuda_health.c. `type` is nvmlMemoryErrorType_t, `counter` nvmlEccCounterType_t,
     * `location` nvmlMemoryLocation_t, `policy` nvmlPerfPolicyType_t. */
    int (*board_part_number)(fth_nvml_device device, char *text, unsigned size);
    int (*vbios)(fth_nvml_device device, char *text, unsigned size);
    int (*serial)(fth_nvml_device device, char *text, unsigned size);
    int (*performance_state)(fth_nvml_device device, int *state);
    int (*violation)(fth_nvml_device device, int policy, struct fth_nvml_violation *violation);
    int (*pcie_replays)(fth_nvml_device device, unsigned *replays);
    int (*total_ecc)(fth_nvml_device device, int type, int counter, unsigned long long *errors);
    int (*memory_ecc)(fth_nvml_device device, int type, int counter, int location,
                      unsigned long long *errors);
    int (*remapped_rows)(fth_nvml_device device, unsigned *correctable, unsigned *uncorrectable,
                         unsigned *pending, unsigned *failure);
    int (*fields)(fth_nvml_device device, int count, struct fth_nvml_field *fields);
    int (*link_state)(fth_nvml_device device, unsigned link, unsigned *active);
};

/* If the library is missing or fails to initialise, the handle is NULL. FTH_NO_MEMORY: out of
 * memory.
 */
FTH_MUST_USE enum fth_status fth_nvml_open(struct fth_nvml *nvml, struct fth_error *error);
/* The same in another thread: opening NVML takes 13 ms on an H200, and the caller can create a
 * context meanwhile, which takes longer. Every begin needs its end. */
struct fth_nvml_opening {
    struct fth_nvml nvml;
    struct fth_error error;
    pthread_t thread;
    bool has_thread; /* false: no thread could be created; the end opens NVML */
    enum fth_status status;
};
void fth_nvml_open_begin(struct fth_nvml_opening *opening);
FTH_MUST_USE enum fth_status fth_nvml_open_end(struct fth_nvml_opening *opening,
                                               struct fth_nvml *nvml, struct fth_error *error);
/* Does nothing if the handle is NULL. */
void fth_nvml_close(struct fth_nvml *nvml);
/* Adds the properties that NVML reports to the description, including current values such as clocks
 * and power. `is_full_gpu` is false for a MIG slice. */
FTH_MUST_USE enum fth_status fth_nvml_describe(const struct fth_nvml *nvml, const char *pci_bus,
                                               const char *uuid, bool is_full_gpu,
                                               struct fth_gpu *gpu, struct fth_error *error);
/* Returns NVML's handle of a GPU, NULL if it is not found or NVML is not available. */
fth_nvml_device fth_nvml_find(const struct fth_nvml *nvml, const char *pci_bus, const char *uuid);
/* Writes the reasons for reduced clocks as a text. Returns false if NVML does not report them. */
enum { FTH_NVML_REASONS_BYTES = 192 };
bool fth_nvml_reasons(const struct fth_nvml *nvml, fth_nvml_device device,
                      char text[FTH_NVML_REASONS_BYTES]);
/* Calls `each` for every MIG slice of every GPU. */
void fth_nvml_slices(const struct fth_nvml *nvml,
                     void (*each)(void *user, const struct fth_device_info *device), void *user);

/* ---- cuda_health.c ---- */

/* Adds the identity of the board, errors, links and throttle times to the description. What NVML
 * does not report is left out. */
FTH_MUST_USE enum fth_status fth_nvml_describe_health(const struct fth_nvml *nvml,
                                                      fth_nvml_device device, struct fth_gpu *gpu,
                                                      struct fth_error *error);
/* Adds the power, the temperature and the reasons for reduced clocks as those under load. */
FTH_MUST_USE enum fth_status fth_nvml_describe_load(const struct fth_nvml *nvml,
                                                    const char *pci_bus, const char *uuid,
                                                    struct fth_gpu *gpu, struct fth_error *error);

/* ---- cuda_attributes.c ---- */

/* Implements `describe_load` of struct fth_machine_ops. */
FTH_MUST_USE enum fth_status fth_cuda_describe_load(const struct fth_cuda *cuda,
                                                    fth_cu_device device,
                                                    const struct fth_nvml *nvml,
                                                    struct fth_gpu *gpu, struct fth_error *error);

/* Adds the properties that the driver and NVML report to the description. */
FTH_MUST_USE enum fth_status fth_cuda_describe(const struct fth_cuda *cuda, fth_cu_device device,
                                               const struct fth_nvml *nvml, struct fth_gpu *gpu,
                                               struct fth_error *error);
/* Set one attribute with the given method; its source is the driver. They add the section if it
 * does not exist, and do nothing if the attribute already has a value from another source.
 * fth_cuda_set_text ignores an empty text. */
FTH_MUST_USE enum fth_status fth_cuda_set_number(struct fth_gpu *gpu, const char *section,
                                                 const char *name, double number,
                                                 const char *method, struct fth_error *error);
FTH_MUST_USE enum fth_status fth_cuda_set_text(struct fth_gpu *gpu, const char *section,
                                               const char *name, const char *text,
                                               const char *method, struct fth_error *error);

/* ---- cuda_local.c ---- */

/* Reads the name of the GPUs that have a folder in `folder`. Returns false if there are none, if a
 * name is missing, or if the names differ. */
bool fth_cuda_read_models(const char *folder, char *name, size_t size);
/* Returns whether a process with this value of CUDA_VISIBLE_DEVICES (NULL: not set) sees GPUs, and
 * not MIG slices of them or nothing. */
bool fth_cuda_sees_whole_gpus(const char *visible);

/* ---- cuda_list.c, cuda_machine.c ---- */

/* Calls `each` for every GPU that the driver reports, then for every MIG slice that NVML reports.
 * Fails if there is no driver or no GPU. */
enum fth_status fth_cuda_list(void (*each)(void *user, const struct fth_device_info *device),
                              void *user, struct fth_error *error);

/* Creates the machine of GPU `ordinal`. Takes ownership of `cuda`, also on failure. `id` names the
 * GPU in messages. */
FTH_MUST_USE enum fth_status fth_cuda_machine_create(struct fth_cuda *cuda, int ordinal,
                                                     const char *id, void **machine,
                                                     struct fth_error *error);
extern const struct fth_machine_ops fth_cuda_machine_ops;

/* ---- cuda_repeating.c ---- */

/* Implement `alloc_repeating` and `free_repeating` of struct fth_machine_ops. FTH_UNSUPPORTED: the
 * driver is too old, or `bytes` is at most twice the period. */
FTH_MUST_USE enum fth_status fth_cuda_repeating_alloc(const struct fth_cuda *cuda,
                                                      fth_cu_device device, uint64_t bytes,
                                                      uint64_t *address, uint64_t *period,
                                                      struct fth_error *error);
void fth_cuda_repeating_free(const struct fth_cuda *cuda, uint64_t address, uint64_t bytes);

/* ---- cuda_transfer.c ---- */

/* Implements `transfer` of struct fth_machine_ops. `context` is the GPU's context and is current.
 */
FTH_MUST_USE enum fth_status fth_cuda_transfer(const struct fth_cuda *cuda, int ordinal,
                                               fth_cu_context context,
                                               const struct fth_transfer *transfer,
                                               uint32_t *samples, struct fth_error *error);

/* ---- cuda_host.c ---- */

/* Implement `host_alloc` and `host_free` of struct fth_machine_ops. The context is current, and no
 * kernel runs. */
FTH_MUST_USE enum fth_status fth_cuda_host_alloc(const struct fth_cuda *cuda,
                                                 enum fth_residence residence, size_t bytes,
                                                 struct fth_host_memory *memory,
                                                 struct fth_error *error);
void fth_cuda_host_free(const struct fth_cuda *cuda, const struct fth_host_memory *memory);
/* Moves managed memory to a device (-1: to the host) and waits until it is there. */
FTH_MUST_USE enum fth_status fth_cuda_prefetch(const struct fth_cuda *cuda, uint64_t address,
                                               size_t bytes, fth_cu_device device,
                                               struct fth_error *error);

/* ---- cuda_tensor_map.c ---- */

/* Encodes a tensor map with the driver. */
FTH_MUST_USE enum fth_status fth_cuda_tensor_map(const struct fth_cuda *cuda,
                                                 const struct fth_ptx_tensor_map *map,
                                                 unsigned char bytes[FTH_TENSOR_MAP_BYTES],
                                                 struct fth_error *error);

/* ---- cuda_texture.c ---- */

/* The textures and surfaces of a machine, and the arrays that hold their texels; initialised with
 * {NULL}. */
struct fth_cuda_objects {
    struct fth_cuda_object *first;
};
/* Creates a texture (`sampling` not NULL) or a surface with the texels of the image. */
FTH_MUST_USE enum fth_status fth_cuda_object_create(const struct fth_cuda *cuda,
                                                    struct fth_cuda_objects *objects,
                                                    const struct fth_ptx_image *image,
                                                    const struct fth_ptx_sampling *sampling,
                                                    uint64_t *handle, struct fth_error *error);
/* Copies the texels of surfaces back to their memory, and frees all objects. `usable` is false if
 * the driver cannot be called any more. */
enum fth_status fth_cuda_objects_free(const struct fth_cuda *cuda, struct fth_cuda_objects *objects,
                                      bool usable, struct fth_error *error);

/* ---- cuda_open.c ---- */

/* Opens the driver and finds the GPU that `what` names: "0", "GPU-…" or "MIG-…". */
FTH_MUST_USE enum fth_status fth_cuda_open_named(const char *what, struct fth_cuda *cuda,
                                                 int *ordinal, struct fth_error *error);

/* ---- cuda_ahead.c: compiling modules ahead of their use, in other threads ---- */

struct fth_cuda_ahead;
/* Starts the threads. Both arguments must be valid until the end. NULL: there is not enough memory,
 * or the driver is too old. */
struct fth_cuda_ahead *fth_cuda_ahead_create(const struct fth_cuda *cuda, fth_cu_context context);
/* Begins to compile a text. If there is not enough memory, nothing happens. */
void fth_cuda_ahead_add(struct fth_cuda_ahead *ahead, const char *ptx, size_t size);
/* Returns the machine code (cubin) of a text that was added, which the caller frees. If a thread is
 * compiling it, waits. NULL: the text was not added, no thread has begun with it, or it cannot be
 * compiled. */
void *fth_cuda_ahead_take(struct fth_cuda_ahead *ahead, const char *ptx, size_t size);
/* Waits for the compilations that have begun. `ahead` can be NULL. */
void fth_cuda_ahead_destroy(struct fth_cuda_ahead *ahead);

/* ---- cuda_run.c: running kernels ---- */

/* Retains the GPU's primary context and makes it current for this thread. All functions below work
 * on the current context. The context to close can be NULL. */
FTH_MUST_USE enum fth_status fth_cuda_context_open(const struct fth_cuda *cuda, int ordinal,
                                                   fth_cu_context *context,
                                                   struct fth_error *error);
void fth_cuda_context_close(const struct fth_cuda *cuda, int ordinal, fth_cu_context context);

/* Compiles PTX text that ends with a NUL, or loads a cubin. On failure, the error contains the
 * beginning of the compiler's log. The module to unload can be NULL. */
FTH_MUST_USE enum fth_status fth_cuda_module_load(const struct fth_cuda *cuda, const char *ptx,
                                                  fth_cu_module *module, struct fth_error *error);
void fth_cuda_module_unload(const struct fth_cuda *cuda, fth_cu_module module);
/* Finds a kernel of the module. The handle is valid as long as the module. */
FTH_MUST_USE enum fth_status fth_cuda_function(const struct fth_cuda *cuda, fth_cu_module module,
                                               const char *name, fth_cu_function *function,
                                               struct fth_error *error);

/* Finds a variable of the module: its address and size. */
FTH_MUST_USE enum fth_status fth_cuda_symbol(const struct fth_cuda *cuda, fth_cu_module module,
                                             const char *name, uint64_t *address, uint64_t *bytes,
                                             struct fth_error *error);
/* Sets the carve-out: the percentage of the SM's unified storage that is shared memory instead of
 * L1. -1 leaves the choice to the driver. */
FTH_MUST_USE enum fth_status fth_cuda_carveout(const struct fth_cuda *cuda,
                                               fth_cu_function function, int percent,
                                               struct fth_error *error);

/* Device memory. The address to free can be 0. */
FTH_MUST_USE enum fth_status fth_cuda_alloc(const struct fth_cuda *cuda, size_t bytes,
                                            uint64_t *address, struct fth_error *error);
void fth_cuda_free(const struct fth_cuda *cuda, uint64_t address);
FTH_MUST_USE enum fth_status fth_cuda_free_bytes(const struct fth_cuda *cuda, uint64_t *bytes,
                                                 struct fth_error *error);
FTH_MUST_USE enum fth_status fth_cuda_upload(const struct fth_cuda *cuda, uint64_t address,
                                             const void *data, size_t bytes,
                                             struct fth_error *error);
FTH_MUST_USE enum fth_status fth_cuda_download(const struct fth_cuda *cuda, void *data,
                                               uint64_t address, size_t bytes,
                                               struct fth_error *error);
FTH_MUST_USE enum fth_status fth_cuda_fill(const struct fth_cuda *cuda, uint64_t address,
                                           unsigned char byte, size_t bytes,
                                           struct fth_error *error);

/* Creates a linear texture of 32-bit unsigned texels. The texture to destroy can be 0. */
FTH_MUST_USE enum fth_status fth_cuda_texture(const struct fth_cuda *cuda, uint64_t address,
                                              uint64_t texels, uint64_t *texture,
                                              struct fth_error *error);
void fth_cuda_texture_destroy(const struct fth_cuda *cuda, uint64_t texture);

struct fth_cuda_launch {
    unsigned grid[3], block[3];  /* 0 counts as 1 */
    unsigned cluster[3];         /* blocks per cluster; 0 counts as 1; one block: no clusters */
    bool requires_large_cluster; /* the kernel requires clusters of more than 8 blocks */
    unsigned dynamic_shared_bytes;
    const void *arguments; /* in the layout of the kernel's parameters in the PTX */
    size_t argument_bytes;
    const struct fth_ptx_parameter *parameters; /* see struct fth_machine_launch */
    size_t parameter_count;
};

/* Starts a kernel. An error that occurs while it runs is reported by a later wait. */
FTH_MUST_USE enum fth_status fth_cuda_launch(const struct fth_cuda *cuda, fth_cu_function function,
                                             const struct fth_cuda_launch *launch,
                                             struct fth_error *error);
/* Waits for all work in the current context. */
FTH_MUST_USE enum fth_status fth_cuda_synchronize(const struct fth_cuda *cuda,
                                                  struct fth_error *error);

#endif
