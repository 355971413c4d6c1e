/* The part of NVIDIA's driver interface that fathom uses, declared from its documentation, so that
 * neither a toolkit nor its headers are needed. The libraries are opened when the program runs.
 *
 *   driver.c      the driver's functions               nvml.c     the management library's
 *   list.c        which GPUs are here                  open.c     one of them by its name
 *   run.c         contexts, modules, memory, launches  machine.c  what batch.c needs, over run.c
 *   attributes.c  what the driver tells of a GPU       transfer.c copies from and to the host
 */
#ifndef FTH_CUDA_H
#define FTH_CUDA_H

#include "device/machine.h"

typedef int fth_cu_result; /* 0 is success */
enum {
    FTH_CU_NOT_INITIALISED = 3,
    FTH_CU_NOT_READY = 600 /* what was queued has not ended */
};
typedef int fth_cu_device;
typedef struct fth_cu_context *fth_cu_context; /* CUcontext and so on: only ever handed back */
typedef struct fth_cu_module *fth_cu_module;
typedef struct fth_cu_function *fth_cu_function;

/* CUDA_RESOURCE_DESC for linear memory: 144 bytes. */
struct fth_cu_resource {
    int type;
    uint64_t address;
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

/* CUlaunchAttribute: 72 bytes, of whose value a cluster's size takes the first 12. */
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

struct fth_cuda {
    void *handle;
    fth_cu_result (*init)(unsigned flags);
    fth_cu_result (*driver_version)(int *version);
    fth_cu_result (*device_count)(int *count);
    fth_cu_result (*device_get)(fth_cu_device *device, int ordinal);
    fth_cu_result (*device_name)(char *name, int size, fth_cu_device device);
    fth_cu_result (*device_attribute)(int *value, int attribute, fth_cu_device device);
    fth_cu_result (*device_memory)(size_t *bytes, fth_cu_device device);
    fth_cu_result (*error_text)(fth_cu_result result, const char **text);

    /* From here on NULL where the driver does not have it. Of a slice of a GPU (MIG) the first is
     * the slice's, the second the GPU's. */
    fth_cu_result (*device_uuid)(unsigned char uuid[16], fth_cu_device device);
    fth_cu_result (*device_whole_uuid)(unsigned char uuid[16], fth_cu_device device);
    fth_cu_result (*device_pci)(char *text, int size, fth_cu_device device);
    fth_cu_result (*device_texels)(size_t *texels, int format, unsigned channels,
                                   fth_cu_device device);

    /* For running kernels; run.c checks that they are there. */
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
    fth_cu_result (*launch)(fth_cu_function function, unsigned grid_x, unsigned grid_y,
                            unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z,
                            unsigned shared_bytes, void *stream, void **arguments, void **extra);
    /* For timing from without, and for copies. */
    fth_cu_result (*event_create)(void **event, unsigned flags);
    fth_cu_result (*event_destroy)(void *event);
    fth_cu_result (*event_record)(void *event, void *stream);
    fth_cu_result (*event_elapsed)(float *ms, void *begin, void *end);
    fth_cu_result (*stream_create)(void **stream, unsigned flags);
    fth_cu_result (*stream_destroy)(void *stream);
    fth_cu_result (*stream_wait)(void *stream);
    fth_cu_result (*host_alloc)(void **memory, size_t bytes);
    fth_cu_result (*host_free)(void *memory);
    fth_cu_result (*copy_within)(uint64_t to, uint64_t from, size_t bytes, void *stream);
    fth_cu_result (*copy_in)(uint64_t to, const void *from, size_t bytes, void *stream);
    fth_cu_result (*copy_out)(void *to, uint64_t from, size_t bytes, void *stream);
    fth_cu_result (*copy_peer)(uint64_t to, fth_cu_context to_context, uint64_t from,
                               fth_cu_context from_context, size_t bytes, void *stream);
    fth_cu_result (*peer_can)(int *can, fth_cu_device device, fth_cu_device peer);
    fth_cu_result (*peer_enable)(fth_cu_context peer, unsigned flags);
    /* Since CUDA 11.8; for clusters only. */
    fth_cu_result (*launch_with)(const struct fth_cu_launch_config *config,
                                 fth_cu_function function, void **arguments, void **extra);
};

/* Finds the driver's functions. Closed with fth_cuda_close. */
FTH_MUST_USE enum fth_status fth_cuda_find(struct fth_cuda *cuda, struct fth_error *error);
/* The same, and initialises it. */
FTH_MUST_USE enum fth_status fth_cuda_open(struct fth_cuda *cuda, struct fth_error *error);
FTH_MUST_USE enum fth_status fth_cuda_initialise(const struct fth_cuda *cuda,
                                                 struct fth_error *error);
void fth_cuda_close(struct fth_cuda *cuda);
/* Fails with the driver's words for `result`: FTH_NO_MEMORY, FTH_NOT_FOUND, FTH_UNSUPPORTED where
 * the driver says that, FTH_UNAVAILABLE for all else. */
enum fth_status fth_cuda_fail(const struct fth_cuda *cuda, fth_cu_result result, const char *call,
                              struct fth_error *error);

/* The driver's words for `result`, never NULL. */
const char *fth_cuda_text(const struct fth_cuda *cuda, fth_cu_result result);

/* CUdevice_attribute; 0 where the driver does not know it. */
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
/* "GPU-8-4-4-4-12", or "MIG-…" for a slice of a GPU; empty where the driver does not say. */
enum { FTH_CUDA_UUID_BYTES = 48 };
void fth_cuda_uuid(const struct fth_cuda *cuda, fth_cu_device device,
                   char text[FTH_CUDA_UUID_BYTES]);
/* Of the longest linear texture of 32-bit unsigned texels; 0: not known. */
uint64_t fth_cuda_texels(const struct fth_cuda *cuda, fth_cu_device device);

/* ---- nvml.c: the management library, which need not be there ---- */

typedef struct fth_nvml_device *fth_nvml_device;

struct fth_nvml_memory {
    unsigned long long total, free, used;
};

struct fth_nvml {
    void *handle;
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
};

/* False, and nothing to close, where the library is not there or does not start. */
bool fth_nvml_open(struct fth_nvml *nvml);
void fth_nvml_close(struct fth_nvml *nvml);
/* Adds what it knows of the GPU, as of now, to the description; `whole`: not a slice of it. */
FTH_MUST_USE enum fth_status fth_nvml_describe(const struct fth_nvml *nvml, const char *pci_bus,
                                               const char *uuid, bool whole, struct fth_gpu *gpu,
                                               struct fth_error *error);
/* Calls `each` for every slice of a GPU that is parted (MIG). */
void fth_nvml_slices(const struct fth_nvml *nvml,
                     void (*each)(void *user, const struct fth_device_info *device), void *user);

/* ---- attributes.c ---- */

/* Adds what driver and management library tell of the GPU. */
FTH_MUST_USE enum fth_status fth_cuda_describe(const struct fth_cuda *cuda, fth_cu_device device,
                                               const struct fth_nvml *nvml, struct fth_gpu *gpu,
                                               struct fth_error *error);
/* Sets one attribute, got through `method` (from the driver, unless it says otherwise), in a
 * section that is added where it is not there. */
FTH_MUST_USE enum fth_status fth_cuda_tell(struct fth_gpu *gpu, const char *section,
                                           struct fth_attribute attribute, const char *method,
                                           struct fth_error *error);
FTH_MUST_USE enum fth_status fth_cuda_tell_number(struct fth_gpu *gpu, const char *section,
                                                  const char *name, double number,
                                                  const char *method, struct fth_error *error);
FTH_MUST_USE enum fth_status fth_cuda_tell_text(struct fth_gpu *gpu, const char *section,
                                                const char *name, const char *text,
                                                const char *method, struct fth_error *error);

/* ---- list.c, machine.c ---- */

enum fth_status fth_cuda_list(void (*each)(void *user, const struct fth_device_info *device),
                              void *user, struct fth_error *error);

/* Takes over `cuda` also when it fails. `id` is for messages. */
FTH_MUST_USE enum fth_status fth_cuda_machine_create(struct fth_cuda *cuda, int ordinal,
                                                     const char *id, void **machine,
                                                     struct fth_error *error);
extern const struct fth_machine_ops fth_cuda_machine_ops;

/* ---- transfer.c ---- */

/* As struct fth_machine_ops has it, in the current context, which is that of the GPU. */
FTH_MUST_USE enum fth_status fth_cuda_transfer(const struct fth_cuda *cuda, int ordinal,
                                               fth_cu_context context,
                                               const struct fth_transfer *transfer,
                                               uint32_t *samples, struct fth_error *error);

/* ---- open.c ---- */

/* Finds the GPU that "0", "GPU-…" or "MIG-…" names, and opens the driver for it. */
FTH_MUST_USE enum fth_status fth_cuda_open_named(const char *what, struct fth_cuda *cuda,
                                                 int *ordinal, struct fth_error *error);

/* ---- run.c: running kernels ---- */

/* Takes the GPU's primary context and makes it this thread's, on which everything below works.
 * Closing takes NULL. */
FTH_MUST_USE enum fth_status fth_cuda_context_open(const struct fth_cuda *cuda, int ordinal,
                                                   fth_cu_context *context,
                                                   struct fth_error *error);
void fth_cuda_context_close(const struct fth_cuda *cuda, int ordinal, fth_cu_context context);

/* Compiles PTX, which ends with a NUL. The error carries the first lines of the compiler's log.
 * Unloading takes NULL. */
FTH_MUST_USE enum fth_status fth_cuda_module_load(const struct fth_cuda *cuda, const char *ptx,
                                                  fth_cu_module *module, struct fth_error *error);
void fth_cuda_module_unload(const struct fth_cuda *cuda, fth_cu_module module);
/* A kernel of the module, which lives as long as the module does. */
FTH_MUST_USE enum fth_status fth_cuda_function(const struct fth_cuda *cuda, fth_cu_module module,
                                               const char *name, fth_cu_function *function,
                                               struct fth_error *error);

/* A variable of the module. */
FTH_MUST_USE enum fth_status fth_cuda_symbol(const struct fth_cuda *cuda, fth_cu_module module,
                                             const char *name, uint64_t *address, uint64_t *bytes,
                                             struct fth_error *error);
/* The part of the memory that L1 and shared memory divide which is to be shared memory, in
 * percent; -1: the driver's choice. */
FTH_MUST_USE enum fth_status fth_cuda_carveout(const struct fth_cuda *cuda,
                                               fth_cu_function function, int percent,
                                               struct fth_error *error);

/* Device memory; freeing takes 0. */
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

/* A linear texture of 32-bit unsigned texels; destroying takes 0. */
FTH_MUST_USE enum fth_status fth_cuda_texture(const struct fth_cuda *cuda, uint64_t address,
                                              uint64_t texels, uint64_t *texture,
                                              struct fth_error *error);
void fth_cuda_texture_destroy(const struct fth_cuda *cuda, uint64_t texture);

struct fth_cuda_launch {
    unsigned grid[3], block[3]; /* 0 counts as 1 */
    unsigned cluster;           /* blocks of a cluster, along x; 0 or 1: no clusters */
    unsigned dynamic_shared_bytes;
    const void *arguments; /* laid out as the kernel's parameters are */
    size_t argument_bytes;
};

/* Starts a kernel; an error in it comes to light when one waits. */
FTH_MUST_USE enum fth_status fth_cuda_launch(const struct fth_cuda *cuda, fth_cu_function function,
                                             const struct fth_cuda_launch *launch,
                                             struct fth_error *error);
/* Waits for all that was started. */
FTH_MUST_USE enum fth_status fth_cuda_synchronize(const struct fth_cuda *cuda,
                                                  struct fth_error *error);

#endif
