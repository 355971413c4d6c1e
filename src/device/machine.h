/* A machine: the operations that runner.c and the families need of a GPU, namely memory, modules
 * and launches. cuda/ implements them with the CUDA driver, sim/ with the PTX engine. All code
 * above this interface is the same for both. */
#ifndef FTH_MACHINE_H
#define FTH_MACHINE_H

#include "device/device.h"
#include "ptx/async/tensor_map.h"
#include "ptx/ptx.h"

struct fth_machine_module; /* defined by each machine */

/* Properties of the GPU that determine how experiments are executed. Unknown sizes are 0. */
struct fth_machine_facts {
    uint32_t sms;
    unsigned capability; /* 90 for 9.0 */
    uint64_t l2_bytes;
    uint64_t memory_bytes;
    uint64_t block_shared_bytes; /* maximum shared memory of a block */
    uint64_t texels;             /* maximum number of texels of a linear texture */
    bool concurrent; /* resident blocks can wait for each other; a simulated GPU executes them one
                        after the other, each with its own time */
    bool
        steady_clock; /* the clock never changes, as on a simulated GPU: one measurement suffices */
    bool hints;       /* the L2 supports cache hints (createpolicy) */
    bool host_access_is_free; /* uploads and downloads take no time and bypass the caches, as on a
                                 simulated GPU */
};

struct fth_machine_launch {
    struct fth_machine_module *module;
    const char *kernel;
    uint32_t blocks, threads;             /* along x */
    uint32_t blocks_yz[2], threads_yz[2]; /* along y and z; 0 means 1 */
    uint32_t
        cluster; /* blocks per cluster along x; 0: as the kernel requires, or no clusters. The
                    launch fails with FTH_UNSUPPORTED if the GPU has no clusters of that size */
    uint32_t cluster_yz[2];      /* along y and z; 0 means 1 */
    bool requires_large_cluster; /* the kernel itself requires clusters of more than 8 blocks, which
                                    GPUs support only if the launch asks for it */
    uint64_t shared_bytes;       /* dynamic shared memory per block */
    int carveout_percent;        /* -1: the driver's choice */
    const void *arguments;       /* with the layout of the kernel's parameters in the PTX */
    size_t argument_bytes;
    /* The parameters, which the driver needs if one of them is aligned to more than 16 bytes: the
     * layout in the machine code then differs from that in the PTX. NULL: none of them is. */
    const struct fth_ptx_parameter *parameters;
    size_t parameter_count;
};

/* Memory of the host, or managed memory, that kernels can access at `address`. */
struct fth_host_memory {
    uint64_t address;
    void *host; /* of the backend */
    enum fth_residence residence;
};

struct fth_machine_ops {
    void (*facts)(void *machine, struct fth_machine_facts *facts);
    /* See struct fth_device_ops. */
    enum fth_status (*describe)(void *machine, struct fth_gpu *gpu, struct fth_error *error);
    enum fth_status (*describe_load)(void *machine, struct fth_gpu *gpu, struct fth_error *error);

    enum fth_status (*load)(void *machine, const char *name, const char *ptx, size_t size,
                            struct fth_machine_module **module, struct fth_error *error);
    void (*unload)(void *machine, struct fth_machine_module *module);
    /* Begins to compile a text that will probably be loaded, in another thread. `load` of the same
     * text then takes less time. NULL: `load` takes hardly any time. */
    void (*load_ahead)(void *machine, const char *ptx, size_t size);
    /* Address and size of a variable of the module. FTH_NOT_FOUND: the module has no such one. */
    enum fth_status (*symbol)(void *machine, struct fth_machine_module *module, const char *name,
                              uint64_t *address, uint64_t *bytes, struct fth_error *error);

    /* Allocates memory, aligned to at least 256 bytes, with undefined contents. FTH_NO_MEMORY: the
     * error states how much is free. */
    enum fth_status (*alloc)(void *machine, uint64_t bytes, uint64_t *address,
                             struct fth_error *error);
    void (*free)(void *machine, uint64_t address);
    /* Allocates addresses whose memory repeats. The first *period bytes have memory of their own.
     * All further addresses that differ by a multiple of *period, a power of two, are the same
     * memory. free_repeating takes the same `bytes`. Fails if `bytes` is too small for this, or if
     * there is not enough memory. NULL: the machine cannot do it. */
    enum fth_status (*alloc_repeating)(void *machine, uint64_t bytes, uint64_t *address,
                                       uint64_t *period, struct fth_error *error);
    void (*free_repeating)(void *machine, uint64_t address, uint64_t bytes);
    enum fth_status (*free_bytes)(void *machine, uint64_t *bytes, struct fth_error *error);
    enum fth_status (*upload)(void *machine, uint64_t address, const void *data, uint64_t bytes,
                              struct fth_error *error);
    enum fth_status (*download)(void *machine, void *data, uint64_t address, uint64_t bytes,
                                struct fth_error *error);
    enum fth_status (*fill)(void *machine, uint64_t address, unsigned char byte, uint64_t bytes,
                            struct fth_error *error);
    /* Creates a linear texture of 32-bit unsigned texels over allocated memory. */
    enum fth_status (*texture)(void *machine, uint64_t address, uint64_t texels, uint64_t *handle,
                               struct fth_error *error);
    void (*texture_free)(void *machine, uint64_t handle);
    /* Creates a texture (`sampling` not NULL) or a surface with the texels of allocated memory. A
     * GPU copies them to an array, which all objects with the same image share, until objects_free.
     */
    enum fth_status (*object)(void *machine, const struct fth_ptx_image *image,
                              const struct fth_ptx_sampling *sampling, uint64_t *handle,
                              struct fth_error *error);
    /* Frees all that `object` created. First copies the texels of surfaces back to their memory. */
    enum fth_status (*objects_free)(void *machine, struct fth_error *error);
    /* Encodes a tensor map as kernels on this machine expect it. FTH_UNSUPPORTED: the driver is too
     * old. */
    enum fth_status (*tensor_map)(void *machine, const struct fth_ptx_tensor_map *map,
                                  unsigned char bytes[FTH_TENSOR_MAP_BYTES],
                                  struct fth_error *error);

    /* launch queues a kernel; kernels run in the order of their launches. wait returns when all
     * queued work is complete, or fails after `limit_s` seconds. After a launch that hangs or
     * faults, the machine is unusable. */
    enum fth_status (*launch)(void *machine, const struct fth_machine_launch *launch,
                              struct fth_error *error);
    enum fth_status (*wait)(void *machine, double limit_s, struct fth_error *error);
    /* Fails if the machine is unusable, with the reason. */
    enum fth_status (*check)(void *machine, struct fth_error *error);
    /* mark queues a time stamp: the start (`end` false) or the end of the timed work. marked_ns
     * returns the time between the two, once all queued work is complete. */
    enum fth_status (*mark)(void *machine, bool end, struct fth_error *error);
    enum fth_status (*marked_ns)(void *machine, double *ns, struct fth_error *error);
    /* Queues a copy within the GPU's memory, in order with the launches. */
    enum fth_status (*copy)(void *machine, uint64_t to, uint64_t from, uint64_t bytes,
                            struct fth_error *error);
    /* Executes a request of the transfer family, except FTH_TRANSFER_WITHIN, and fills its samples.
     * FTH_UNSUPPORTED: this machine cannot do it. FTH_UNAVAILABLE: there is not enough memory. */
    enum fth_status (*transfer)(void *machine, const struct fth_transfer *transfer,
                                uint32_t *samples, struct fth_error *error);
    /* Allocates pinned host memory or managed memory that is filled with 0. Managed memory then
     * resides in host memory. host_free takes what host_alloc has filled in. FTH_UNSUPPORTED: this
     * machine cannot do it. NULL: no such machine can. */
    enum fth_status (*host_alloc)(void *machine, enum fth_residence residence, uint64_t bytes,
                                  struct fth_host_memory *memory, struct fth_error *error);
    void (*host_free)(void *machine, const struct fth_host_memory *memory);
    /* Moves managed memory to the GPU and waits until it is there. */
    enum fth_status (*prefetch)(void *machine, uint64_t address, uint64_t bytes,
                                struct fth_error *error);
    void (*close)(void *machine);
};

/* Opens the machine of the device `id`. The caller closes it with ops->close. FTH_UNSUPPORTED: the
 * device cannot launch kernels, for example because it is a recording. */
FTH_MUST_USE enum fth_status fth_machine_open(const char *id,
                                              const struct fth_device_options *options,
                                              const struct fth_machine_ops **ops, void **machine,
                                              struct fth_error *error);

/* Creates a device that executes requests on a machine. It takes ownership of the machine; on
 * failure the machine is closed. */
FTH_MUST_USE enum fth_status fth_runner_device(const char *id, const struct fth_machine_ops *ops,
                                               void *machine, const struct fth_log *log,
                                               struct fth_device **device, struct fth_error *error);

#endif
