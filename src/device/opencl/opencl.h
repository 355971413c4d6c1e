/* device/opencl/: GPUs, CPUs and accelerators through OpenCL. The library libOpenCL.so.1 is loaded
 * at run time; the few types and constants of OpenCL 1.2 that fathom needs are declared here.
 *
 *   opencl_library.c  the functions of the library, and its errors in words
 *   opencl_list.c     the devices of all platforms: listing, and selection by index or name
 *   opencl_queue.c    an open device: its program, launches and copies, each with a time limit
 *   opencl_memory.c   the buffer that the chains and arrays of all requests share
 *   opencl_clock.c    core cycles per tick of the clock that the kernels read
 *   opencl_chase.c    the chase family
 *   opencl_image.c    chases through an image
 *   opencl_fetch.c    the family fetch
 *   opencl_sweep.c    the families sweep and transfer
 *   opencl_units.c    the families place and share
 *   opencl_describe.c what the driver reports, as attributes of a GPU description
 *   opencl_device.c   the backend: opens devices and executes batches of requests
 */
#ifndef FTH_OPENCL_H
#define FTH_OPENCL_H

#include "device/device.h"

/* ---- types and constants of OpenCL ---- */

typedef int32_t fth_cl_int;

/* Errors, with the names of the specification without their prefix CL_. */
enum {
    FTH_CL_DEVICE_NOT_FOUND = -1,
    FTH_CL_COMPILER_NOT_AVAILABLE = -3,
    FTH_CL_MEM_OBJECT_ALLOCATION_FAILURE = -4,
    FTH_CL_OUT_OF_HOST_MEMORY = -6,
    FTH_CL_BUILD_PROGRAM_FAILURE = -11,
    FTH_CL_PLATFORM_NOT_FOUND = -1001
};
/* cl_device_type: bits. */
#define FTH_CL_TYPE_CPU (UINT64_C(1) << 1)
#define FTH_CL_TYPE_GPU (UINT64_C(1) << 2)
#define FTH_CL_TYPE_ALL UINT64_C(0xFFFFFFFF)
/* cl_platform_info and cl_device_info */
enum {
    FTH_CL_PLATFORM_NAME = 0x0902,
    FTH_CL_DEVICE_TYPE = 0x1000,
    FTH_CL_DEVICE_MAX_COMPUTE_UNITS = 0x1002,
    FTH_CL_DEVICE_MAX_WORK_GROUP_SIZE = 0x1004,
    FTH_CL_DEVICE_MAX_CLOCK_FREQUENCY = 0x100C, /* MHz */
    FTH_CL_DEVICE_MAX_MEM_ALLOC_SIZE = 0x1010,
    FTH_CL_DEVICE_IMAGE_SUPPORT = 0x1016,
    FTH_CL_DEVICE_GLOBAL_MEM_SIZE = 0x101F,
    FTH_CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE = 0x1020,
    FTH_CL_DEVICE_LOCAL_MEM_SIZE = 0x1023,
    FTH_CL_DEVICE_NAME = 0x102B,
    FTH_CL_DEVICE_VENDOR = 0x102C,
    FTH_CL_DRIVER_VERSION = 0x102D,
    FTH_CL_DEVICE_VERSION = 0x102F,
    FTH_CL_DEVICE_EXTENSIONS = 0x1030,
    FTH_CL_DEVICE_IMAGE_MAX_BUFFER_SIZE = 0x1040, /* texels */
    FTH_CL_DEVICE_WARP_SIZE_NV = 0x4003,          /* extension cl_nv_device_attribute_query */
    FTH_CL_DEVICE_BOARD_NAME_AMD = 0x4038,        /* extension cl_amd_device_attribute_query */
    FTH_CL_DEVICE_WAVEFRONT_WIDTH_AMD = 0x4043
};
/* Flags of command queues, buffers and mappings, and other queries. */
enum {
    FTH_CL_QUEUE_PROFILING = 1 << 1,
    FTH_CL_MEM_READ_WRITE = 1 << 0,
    FTH_CL_MEM_USE_HOST_POINTER = 1 << 3,
    FTH_CL_MAP_READ = 1 << 0,
    FTH_CL_MAP_WRITE = 1 << 1,
    FTH_CL_BUILD_LOG = 0x1183,
    FTH_CL_EVENT_STATUS = 0x11D3,
    FTH_CL_PROFILING_START = 0x1282,
    FTH_CL_PROFILING_END = 0x1283
};

/* ---- opencl_library.c ---- */

/* The functions of the library. Objects of OpenCL are pointers that only the library reads. */
struct fth_opencl {
    void *handle;
    fth_cl_int (*platform_ids)(uint32_t, void **, uint32_t *);
    fth_cl_int (*platform_info)(void *, uint32_t, size_t, void *, size_t *);
    fth_cl_int (*device_ids)(void *, uint64_t, uint32_t, void **, uint32_t *);
    fth_cl_int (*device_info)(void *, uint32_t, size_t, void *, size_t *);
    void *(*context_create)(const intptr_t *, uint32_t, void *const *,
                            void (*)(const char *, const void *, size_t, void *), void *,
                            fth_cl_int *);
    fth_cl_int (*context_release)(void *);
    void *(*queue_create)(void *, void *, uint64_t, fth_cl_int *);
    fth_cl_int (*queue_release)(void *);
    fth_cl_int (*queue_flush)(void *);
    void *(*program_create)(void *, uint32_t, const char *const *, const size_t *, fth_cl_int *);
    fth_cl_int (*program_build)(void *, uint32_t, void *const *, const char *,
                                void (*)(void *, void *), void *);
    fth_cl_int (*program_log)(void *, void *, uint32_t, size_t, void *, size_t *);
    fth_cl_int (*program_release)(void *);
    void *(*kernel_create)(void *, const char *, fth_cl_int *);
    fth_cl_int (*kernel_release)(void *);
    fth_cl_int (*kernel_argument)(void *, uint32_t, size_t, const void *);
    void *(*buffer_create)(void *, uint64_t, size_t, void *, fth_cl_int *);
    fth_cl_int (*buffer_release)(void *);
    void *(*image_create)(void *, uint64_t, const void *, const void *, void *,
                          fth_cl_int *); /* NULL: the library is older than OpenCL 1.2 */
    fth_cl_int (*enqueue_kernel)(void *, void *, uint32_t, const size_t *, const size_t *,
                                 const size_t *, uint32_t, void *const *, void **);
    fth_cl_int (*enqueue_read)(void *, void *, uint32_t, size_t, size_t, void *, uint32_t,
                               void *const *, void **);
    fth_cl_int (*enqueue_write)(void *, void *, uint32_t, size_t, size_t, const void *, uint32_t,
                                void *const *, void **);
    fth_cl_int (*enqueue_copy)(void *, void *, void *, size_t, size_t, size_t, uint32_t,
                               void *const *, void **);
    void *(*enqueue_map)(void *, void *, uint32_t, uint64_t, size_t, size_t, uint32_t,
                         void *const *, void **, fth_cl_int *);
    fth_cl_int (*enqueue_unmap)(void *, void *, void *, uint32_t, void *const *, void **);
    fth_cl_int (*event_info)(void *, uint32_t, size_t, void *, size_t *);
    fth_cl_int (*event_profile)(void *, uint32_t, size_t, void *, size_t *);
    fth_cl_int (*event_release)(void *);
};

/* Loads the library. FTH_UNAVAILABLE: it cannot be loaded; the message says which package has it.
 * The library stays in memory after fth_opencl_close: implementations have threads of their own. */
FTH_MUST_USE enum fth_status fth_opencl_open(struct fth_opencl *cl, struct fth_error *error);
void fth_opencl_close(struct fth_opencl *cl);
/* The name of an error in the specification, such as "CL_OUT_OF_RESOURCES"; NULL: unknown. */
const char *fth_opencl_error_name(fth_cl_int result);
/* Fails because a function of OpenCL has returned `result`. What the device cannot do is
 * FTH_UNSUPPORTED; memory of the host is FTH_NO_MEMORY; all else is FTH_UNAVAILABLE. */
enum fth_status fth_opencl_fail(fth_cl_int result, const char *call, struct fth_error *error);

/* ---- opencl_list.c ---- */

/* One device of a platform. */
struct fth_opencl_entry {
    void *platform, *device;
    unsigned platform_index, index; /* index of the device in its platform */
    char name[128], platform_name[128], vendor[64];
};
/* Maximum number of devices. Chosen: more than any computer has. */
enum { FTH_OPENCL_MAX_DEVICES = 64 };
struct fth_opencl_entries {
    struct fth_opencl_entry items[FTH_OPENCL_MAX_DEVICES];
    size_t count;
};

/* Finds the devices of all platforms. FTH_UNAVAILABLE: there is none. */
FTH_MUST_USE enum fth_status fth_opencl_find(const struct fth_opencl *cl,
                                             struct fth_opencl_entries *entries,
                                             struct fth_error *error);
/* Finds the device that a selector names: "INDEX", "PLATFORM:INDEX" or a part of a name.
 * FTH_NOT_FOUND: there is none, or more than one. */
FTH_MUST_USE enum fth_status fth_opencl_select(const struct fth_opencl_entries *entries,
                                               const char *selector, size_t *index,
                                               struct fth_error *error);
/* Implements `list` of the backend. */
FTH_MUST_USE enum fth_status fth_opencl_list(void (*each)(void *, const struct fth_device_info *),
                                             void *user, struct fth_error *error);
/* Reads a text or a number about a device; "" or 0 where the driver does not know it. */
void fth_opencl_text(const struct fth_opencl *cl, void *device, uint32_t what, char *text,
                     size_t size);
uint64_t fth_opencl_number(const struct fth_opencl *cl, void *device, uint32_t what);
/* Returns whether the device has an extension, such as "cl_khr_fp64". */
bool fth_opencl_has_extension(const struct fth_opencl *cl, void *device, const char *name);
/* The vendor's usual name: "AMD", "Intel", "NVIDIA" or "ARM", otherwise `reported`. */
const char *fth_opencl_vendor_name(const char *reported);

/* ---- opencl_queue.c ---- */

/* The kernels of the program that fathom calls by name. */
enum fth_opencl_kernel {
    FTH_OPENCL_KERNEL_CHASE,
    FTH_OPENCL_KERNEL_PACE,
    FTH_OPENCL_KERNEL_FACTS,
    FTH_OPENCL_KERNEL_ORIGIN,
    FTH_OPENCL_KERNEL_PLACE,
    FTH_OPENCL_KERNEL_SHARE,
    FTH_OPENCL_KERNEL_COUNT
};

/* A buffer of the device. `host` is the memory behind it if it was allocated by fathom. */
struct fth_opencl_buffer {
    void *memory;
    uint64_t bytes;
    void *host;
    uint64_t host_bytes;
};

/* A chain that the shared buffer holds. */
struct fth_opencl_built {
    struct fth_chain chain;
    uint64_t offset; /* of the array */
    bool reverse;
};
enum { FTH_OPENCL_MAX_BUILT = 16 };

/* The clock that the kernels read. */
struct fth_opencl_clock {
    const char *source; /* "rdtsc", "cntvct_el0", …; "host": kernels have no clock */
    uint32_t bits;      /* of the clock that are valid */
    double cycles_per_tick;
    double mhz;               /* core clock; NAN: unknown */
    double resolution_cycles; /* the differences that the clock shows are multiples of this */
    double samples;           /* number of measurements that the figures are based on */
};

/* The program of one kind of sweep. */
struct fth_opencl_sweep_program;

/* The image of the texture path, and its program; NULL: not made yet. */
struct fth_opencl_image {
    void *program, *kernel, *memory;
    uint64_t bytes; /* of the image */
};

/* The program of code with one stride; `kernel` NULL: none. */
struct fth_opencl_code {
    uint64_t stride_bytes;
    void *program, *kernel;
};
/* Programs of code that are kept. Chosen: instruction caches are measured with three. */
enum { FTH_OPENCL_MAX_CODES = 4 };

/* Minimum time limit of a command in seconds. Chosen: much longer than a delay by a busy computer,
 * and than an implementation takes that compiles a kernel only when it is first launched. */
#define FTH_OPENCL_TIME_LIMIT_S 20.0

/* An open device. */
struct fth_opencl_device {
    struct fth_opencl cl;
    struct fth_opencl_entry entry;
    char id[64];
    const struct fth_log *log;
    bool is_cpu;
    uint32_t units; /* compute units */
    uint64_t max_buffer_bytes, max_constant_bytes, max_local_bytes;
    enum fth_opencl_vendor vendor;      /* of the prelude that compiled */
    bool has_clock, has_past, has_unit; /* what its kernels can do (fth_facts in chase.cl) */
    bool adds_are_cycles;               /* an addition of fth_pace takes one cycle */
    bool has_time;                      /* all units share a clock (FTH_TIME in other.cl) */
    uint32_t time_ns;                   /* nanoseconds per tick of it; 0: `clock` is it */
    void *context, *queue, *program;
    void *kernels[FTH_OPENCL_KERNEL_COUNT];
    struct fth_opencl_buffer memory; /* chains and arrays */
    struct fth_opencl_buffer constants, steps, samples, unit;
    struct fth_opencl_buffer arrays[3], sums; /* of sweeps and transfers: x, y, z */
    struct fth_opencl_image image;
    struct fth_opencl_buffer texels; /* of the image */
    struct fth_opencl_code codes[FTH_OPENCL_MAX_CODES];
    size_t code_count; /* programs compiled so far; the oldest one makes place for the next */
    struct fth_opencl_sweep_program *sweeps; /* those compiled so far */
    size_t sweep_count, sweep_capacity;
    uint32_t origin; /* what links in `memory` count from (fth_origin in chase.cl) */
    struct fth_opencl_built built[FTH_OPENCL_MAX_BUILT];
    size_t built_count;
    struct fth_opencl_clock clock;
    /* Minimum time limit of a command in seconds (FTH_OPENCL_TIME_LIMIT_S). What the work can take
     * at most is added. */
    double time_limit_s;
    bool hung;      /* a command exceeded its time limit and may still run */
    char lost[256]; /* why the device is unusable; empty if it is not */
};

/* Creates context, queue, program and kernels. The caller closes `device` whatever the status. */
FTH_MUST_USE enum fth_status fth_opencl_start(struct fth_opencl_device *device,
                                              struct fth_error *error);
/* Releases everything, except on a device with a command that does not end: releasing would wait
 * for it. */
void fth_opencl_stop(struct fth_opencl_device *device);
/* Fails if the device is lost. */
FTH_MUST_USE enum fth_status fth_opencl_check(const struct fth_opencl_device *device,
                                              struct fth_error *error);
/* Compiles a program. FTH_UNSUPPORTED: the compiler does not accept it; the message has the first
 * error. The caller releases it. */
FTH_MUST_USE enum fth_status fth_opencl_compile(struct fth_opencl_device *device,
                                                const struct fth_buffer *text, void **program,
                                                struct fth_error *error);
/* Creates a kernel of a program. The caller releases it. */
FTH_MUST_USE enum fth_status fth_opencl_kernel_named(struct fth_opencl_device *device,
                                                     void *program, const char *name, void **kernel,
                                                     struct fth_error *error);
/* An argument of a kernel; `value` NULL: local memory. */
struct fth_opencl_argument {
    size_t bytes;
    const void *value;
};
/* Runs a kernel with `groups` work-groups of `threads` work-items and waits until it ends, for at
 * most the time limit of the device and `work_s`, the seconds that its work can take at most. `ns`
 * receives the duration that the driver reports (NAN: unknown); may be NULL. FTH_UNAVAILABLE: it
 * failed or did not end, and the device is lost. FTH_INTERRUPTED: it did not end soon after the
 * caller's log asked to stop. */
FTH_MUST_USE enum fth_status fth_opencl_run(struct fth_opencl_device *device, void *kernel,
                                            const struct fth_opencl_argument *arguments,
                                            size_t argument_count, size_t groups, size_t threads,
                                            double work_s, double *ns, struct fth_error *error);
/* Copies from the host, to the host, and within the device. `ns` as above. */
FTH_MUST_USE enum fth_status fth_opencl_write(struct fth_opencl_device *device, void *memory,
                                              uint64_t offset, const void *data, uint64_t bytes,
                                              struct fth_error *error);
FTH_MUST_USE enum fth_status fth_opencl_read(struct fth_opencl_device *device, void *data,
                                             void *memory, uint64_t offset, uint64_t bytes,
                                             struct fth_error *error);
FTH_MUST_USE enum fth_status fth_opencl_copy(struct fth_opencl_device *device, void *from, void *to,
                                             uint64_t bytes, double *ns, struct fth_error *error);
/* Makes a part of a buffer accessible to the host, and ends that. */
FTH_MUST_USE enum fth_status fth_opencl_map(struct fth_opencl_device *device, void *memory,
                                            uint64_t offset, uint64_t bytes, char **data,
                                            struct fth_error *error);
FTH_MUST_USE enum fth_status fth_opencl_unmap(struct fth_opencl_device *device, void *memory,
                                              void *data, uint64_t bytes, struct fth_error *error);
/* The host's monotonic clock in seconds. */
double fth_opencl_now_s(void);

/* ---- opencl_memory.c ---- */

/* Makes a buffer have at least `bytes`. Its contents are lost if it grows. FTH_UNAVAILABLE: the
 * device has no such buffer. */
FTH_MUST_USE enum fth_status fth_opencl_reserve(struct fth_opencl_device *device,
                                                struct fth_opencl_buffer *buffer, uint64_t bytes,
                                                struct fth_error *error);
void fth_opencl_release(struct fth_opencl_device *device, struct fth_opencl_buffer *buffer);
/* Makes the array at `offset` of the shared buffer hold a chain, with second links for walking it
 * in reverse where `reverse`. The links are offsets in the buffer (32 bits), plus its origin. */
FTH_MUST_USE enum fth_status fth_opencl_build(struct fth_opencl_device *device,
                                              const struct fth_chain *chain, uint64_t offset,
                                              bool reverse, struct fth_error *error);
/* Bytes from the start of an array to the end of a chain in it. */
uint64_t fth_opencl_chain_end(const struct fth_chain *chain);

/* ---- opencl_clock.c ---- */

/* Calibrates the clock. */
FTH_MUST_USE enum fth_status fth_opencl_calibrate(struct fth_opencl_device *device,
                                                  struct fth_error *error);

/* ---- opencl_chase.c ---- */

/* Words of a step that the kernel reads (chase.cl), and the maximum number of steps: each step, and
 * a step that builds its chain. */
enum { FTH_OPENCL_STEP_WORDS = 8, FTH_OPENCL_MAX_STEPS = 2 * FTH_MAX_STEPS };
/* A chase as the kernel reads it. */
struct fth_opencl_plan {
    uint64_t words[FTH_OPENCL_MAX_STEPS * FTH_OPENCL_STEP_WORDS];
    uint32_t count;
    uint64_t offsets[FTH_MAX_STEPS]; /* of the arrays, for each step in global memory */
    uint64_t memory_bytes, constant_bytes, local_bytes;
    uint64_t sample_count;
    double hops;
};
/* Makes all memory hold the chains of a chase. */
FTH_MUST_USE enum fth_status fth_opencl_prepare(struct fth_opencl_device *device,
                                                const struct fth_chase *chase,
                                                struct fth_opencl_plan *plan,
                                                struct fth_error *error);
/* Converts ticks of the clock to cycles; samples->count of them. FTH_UNSUPPORTED: one has more than
 * 32 bits. */
FTH_MUST_USE enum fth_status fth_opencl_collect(const struct fth_opencl_device *device,
                                                const uint64_t *ticks, struct fth_samples *samples,
                                                struct fth_error *error);

/* ---- opencl_image.c ---- */

/* Executes a chase through an image. `ticks` receives its samples. */
FTH_MUST_USE enum fth_status fth_opencl_chase_image(struct fth_opencl_device *device,
                                                    const struct fth_chase *chase, uint64_t *ticks,
                                                    struct fth_error *error);
void fth_opencl_release_image(struct fth_opencl_device *device);

/* ---- families ---- */

/* Execute one request of a family. FTH_UNSUPPORTED and FTH_NOT_FOUND: this device cannot. The
 * samples are allocated by the function. */
FTH_MUST_USE enum fth_status fth_opencl_chase(struct fth_opencl_device *device,
                                              const struct fth_request *request,
                                              struct fth_samples *samples, struct fth_error *error);
FTH_MUST_USE enum fth_status fth_opencl_sweep(struct fth_opencl_device *device,
                                              const struct fth_request *request,
                                              struct fth_samples *samples, struct fth_error *error);
FTH_MUST_USE enum fth_status fth_opencl_transfer(struct fth_opencl_device *device,
                                                 const struct fth_request *request,
                                                 struct fth_samples *samples,
                                                 struct fth_error *error);
FTH_MUST_USE enum fth_status fth_opencl_fetch(struct fth_opencl_device *device,
                                              const struct fth_request *request,
                                              struct fth_samples *samples, struct fth_error *error);
FTH_MUST_USE enum fth_status fth_opencl_place(struct fth_opencl_device *device,
                                              const struct fth_request *request,
                                              struct fth_samples *samples, struct fth_error *error);
FTH_MUST_USE enum fth_status fth_opencl_share(struct fth_opencl_device *device,
                                              const struct fth_request *request,
                                              struct fth_samples *samples, struct fth_error *error);

/* Bytes of an instruction of straight-line code on this device; 0: it has none. */
uint32_t fth_opencl_code_bytes(const struct fth_opencl_device *device);

/* Releases the programs of code, and those of sweeps. */
void fth_opencl_release_codes(struct fth_opencl_device *device);
void fth_opencl_release_sweeps(struct fth_opencl_device *device);

/* ---- opencl_describe.c ---- */

/* Adds what the driver reports about the device, and the clock. */
FTH_MUST_USE enum fth_status fth_opencl_describe(struct fth_opencl_device *device,
                                                 struct fth_gpu *gpu, struct fth_error *error);

#endif
