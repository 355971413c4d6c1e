/* What batch.c needs of a GPU: memory, modules, launches. cuda/ gives it through the driver, sim/
 * through the PTX engine; what stands above is the same for both. */
#ifndef FTH_MACHINE_H
#define FTH_MACHINE_H

#include "device/device.h"

struct fth_machine_module; /* the machine's own */

/* What decides how experiments are laid out. Sizes that are not known are 0. */
struct fth_machine_facts {
    uint32_t sms;
    unsigned capability; /* 90 for 9.0 */
    uint64_t l2_bytes;
    uint64_t memory_bytes;
    uint64_t block_shared_bytes; /* the most that a block can have */
    uint64_t texels;             /* of the longest linear texture */
    bool concurrent;   /* blocks that are resident at the same time can wait for each other; a
                          simulated GPU runs them one after the other, each in its own time */
    bool steady_clock; /* it never moves, as that of a simulated GPU: measured once it is known */
    bool hints;        /* kernels can tell what L2 is to keep */
    bool host_is_near; /* what is uploaded and downloaded costs nothing and passes no cache */
};

struct fth_machine_launch {
    struct fth_machine_module *module;
    const char *kernel;
    uint32_t blocks, threads;                 /* along x */
    uint32_t more_blocks[2], more_threads[2]; /* along y and z; 0 counts as 1 */
    uint32_t cluster;      /* so many blocks are one; 0 or 1: none. FTH_UNSUPPORTED where there are
                              no clusters, or none of that size */
    uint64_t shared_bytes; /* dynamic */
    int carveout_percent;  /* -1: the driver's choice */
    const void *arguments; /* laid out as the kernel's parameters are */
    size_t argument_bytes;
};

struct fth_machine_ops {
    void (*facts)(void *machine, struct fth_machine_facts *facts);
    /* See struct fth_device_ops. */
    enum fth_status (*describe)(void *machine, struct fth_gpu *gpu, struct fth_error *error);

    enum fth_status (*load)(void *machine, const char *name, const char *ptx, size_t size,
                            struct fth_machine_module **module, struct fth_error *error);
    void (*unload)(void *machine, struct fth_machine_module *module);
    /* A variable of the module; FTH_NOT_FOUND. */
    enum fth_status (*symbol)(void *machine, struct fth_machine_module *module, const char *name,
                              uint64_t *address, uint64_t *bytes, struct fth_error *error);

    /* Memory, aligned to 256 bytes at least, contents undefined. FTH_NO_MEMORY says what is free.
     */
    enum fth_status (*alloc)(void *machine, uint64_t bytes, uint64_t *address,
                             struct fth_error *error);
    void (*free)(void *machine, uint64_t address);
    enum fth_status (*free_bytes)(void *machine, uint64_t *bytes, struct fth_error *error);
    enum fth_status (*upload)(void *machine, uint64_t address, const void *data, uint64_t bytes,
                              struct fth_error *error);
    enum fth_status (*download)(void *machine, void *data, uint64_t address, uint64_t bytes,
                                struct fth_error *error);
    enum fth_status (*fill)(void *machine, uint64_t address, unsigned char byte, uint64_t bytes,
                            struct fth_error *error);
    /* A linear texture of 32-bit unsigned texels. */
    enum fth_status (*texture)(void *machine, uint64_t address, uint64_t texels, uint64_t *handle,
                               struct fth_error *error);
    void (*texture_free)(void *machine, uint64_t handle);

    /* Queues a launch behind those before it, and waits for all that were queued, at most
     * `limit_s`; a launch that hangs, or that faults, makes the machine unusable from then on. */
    enum fth_status (*launch)(void *machine, const struct fth_machine_launch *launch,
                              struct fth_error *error);
    enum fth_status (*wait)(void *machine, double limit_s, struct fth_error *error);
    /* Marks the begin (false) or the end of what is timed in the queue; and, once all that was
     * queued has ended, tells the time between the two. */
    enum fth_status (*mark)(void *machine, bool end, struct fth_error *error);
    enum fth_status (*marked_ns)(void *machine, double *ns, struct fth_error *error);
    /* Queues a copy from one place of its memory to another, as launches are queued. */
    enum fth_status (*copy)(void *machine, uint64_t to, uint64_t from, uint64_t bytes,
                            struct fth_error *error);
    /* All of a request of the transfer family but those within the GPU, with its samples. What
     * cannot be done here is FTH_UNSUPPORTED, what there is no memory for FTH_UNAVAILABLE. */
    enum fth_status (*transfer)(void *machine, const struct fth_transfer *transfer,
                                uint32_t *samples, struct fth_error *error);
    void (*close)(void *machine);
};

/* The machine of a device that can launch, by the device's name; closed with ops->close.
 * FTH_UNSUPPORTED where the device has none, as a recording. */
FTH_MUST_USE enum fth_status fth_machine_open(const char *id, const struct fth_log *log,
                                              const struct fth_machine_ops **ops, void **machine,
                                              struct fth_error *error);

/* A device over a machine, which it takes over also when it fails. */
FTH_MUST_USE enum fth_status fth_batch_device(const char *id, const struct fth_machine_ops *ops,
                                              void *machine, const struct fth_log *log,
                                              struct fth_device **device, struct fth_error *error);

#endif
