/* Devices, and measuring their memory system. */
#ifndef FATHOM_DEVICES_H
#define FATHOM_DEVICES_H

#include <fathom/descriptions.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A GPU, or a CPU with an OpenCL driver, that can be measured; or, if `id` is NULL, a backend that
 * cannot be used. */
struct fth_device_info {
    const char *backend; /* "cuda", "opencl" */
    const char *id;      /* for fth_device_open: "cuda:0" */
    const char *name;    /* "NVIDIA H200"; NULL if `id` is NULL */
    const char *detail;  /* further facts in words; if `id` is NULL, why it cannot be used */
};
/* Calls `each` for every such device and for every backend that cannot be used. The struct and its
 * texts are valid during the call. Fails only with FTH_NO_MEMORY. */
FTH_API FTH_MUST_USE enum fth_status fth_device_list(
    void (*each)(void *user, const struct fth_device_info *device), void *user,
    struct fth_error *error);

/* Writes the name of the GPU of this computer, such as "NVIDIA H200"; of the first one that CUDA
 * lists if they differ. An empty text: there is none, or no usable driver. Does not open the driver
 * where the kernel states the names, because opening it can take seconds. Fails only with
 * FTH_NO_MEMORY. */
FTH_API FTH_MUST_USE enum fth_status fth_device_local_name(char *name, size_t size,
                                                           struct fth_error *error);

/* A real GPU, a simulated GPU, or a recording of one. */
struct fth_device;

/* Opens a device by its id:
 *
 *     cuda:0, cuda:GPU-<uuid>, cuda:MIG-<uuid>   an NVIDIA GPU, or a MIG slice of one
 *     opencl:0, opencl:1:0, opencl:name          a GPU or CPU with an OpenCL driver (see below)
 *     sim:v100, sim:path/to/gpu.json             a GPU simulated from a description
 *     replay:file                                a recording (fth_device_record)
 *
 * OpenCL devices are selected by their index among all, by the index of the platform and their
 * index there, or by a part of their name or of the name of their platform.
 *
 * NULL opens the default device: the first real GPU or, if the computer has none, "sim:h200". The
 * computer has no GPU if there is no usable driver, or if the driver reports no GPU; this is
 * reported to `log` as FTH_LOG_INFO. A GPU that is present but does not work is an error.
 *
 * `log` must stay valid until the device is closed: the device reports warnings to it, and calls
 * its `interrupted` between experiments. The driver shows a MIG slice only if the environment
 * variable CUDA_VISIBLE_DEVICES names it when a process uses the driver for the first time. The
 * caller sets the variable; the library does not change the environment.
 *
 * FTH_NOT_FOUND: the id has none of these forms, or there is no such GPU, description or file.
 * FTH_UNAVAILABLE: there is no usable driver, or the GPU does not work. FTH_UNSUPPORTED: the driver
 * lacks functions that fathom needs, or cannot compile its kernels. FTH_INVALID: the description or
 * recording is malformed, or the description has a figure that is too large for a simulated GPU. */
FTH_API FTH_MUST_USE enum fth_status fth_device_open(const char *id, const struct fth_log *log,
                                                     struct fth_device **device,
                                                     struct fth_error *error);

/* How fth_device_open_with opens a device. Initialise it with FTH_DEVICE_OPTIONS; members that are
 * 0 or NULL have their default. */
struct fth_device_options {
    size_t size;               /* of this struct in bytes */
    const struct fth_log *log; /* as for fth_device_open */
    /* For simulated GPUs: maximum number of instructions that a warp may issue in one launch, as in
     * struct fth_run_options; 0: 2^30. */
    uint64_t max_instructions;
    bool
        require_gpu; /* fail with FTH_UNAVAILABLE rather than open a simulated GPU or a recording */
};
/* Initialises a struct fth_device_options; the arguments are designated initialisers. */
#define FTH_DEVICE_OPTIONS(...) FTH_OPTIONS(struct fth_device_options, __VA_ARGS__)

/* As fth_device_open, with options, which may be NULL. FTH_UNAVAILABLE: also if `require_gpu` is
 * set and the device is not a real GPU. */
FTH_API FTH_MUST_USE enum fth_status fth_device_open_with(const char *id,
                                                          const struct fth_device_options *options,
                                                          struct fth_device **device,
                                                          struct fth_error *error);
/* Returns the id of the device, also if NULL was passed to fth_device_open. */
FTH_API const char *fth_device_id(const struct fth_device *device);
/* From now on, records every request to the device and its answer, for "replay:path". The file
 * appears only when fth_device_finish succeeds. FTH_INVALID: the device is already being recorded.
 */
FTH_API FTH_MUST_USE enum fth_status fth_device_record(struct fth_device *device, const char *path,
                                                       struct fth_error *error);
/* Completes the recording, if there is one, and writes its file. Returns the first error that
 * occurred while recording. */
FTH_API FTH_MUST_USE enum fth_status fth_device_finish(struct fth_device *device,
                                                       struct fth_error *error);
/* Closes the device. A recording that was not finished is discarded. */
FTH_API void fth_device_close(struct fth_device *device);

/* What fth_discover measures. Initialise it with FTH_DISCOVER_OPTIONS. */
struct fth_discover_options {
    size_t size;               /* of this struct in bytes */
    const char *only;          /* elements to measure, separated by commas: "l1,l2"; NULL: all */
    const struct fth_log *log; /* progress, warnings, interruption */
    /* Repeat bandwidth measurements more often. On a simulated GPU, bandwidths are measured only
     * with this option, because that takes long. */
    bool thorough;
    /* Also dissect what was measured, as fth_dissect does (dissection.h), so that one description
     * has all figures. */
    bool full;
    /* Measure only latencies and a few bandwidths, in a fraction of the time: those of L1, L2,
     * shared memory and memory. Sizes, structure, TLBs, constant and instruction caches are left
     * out. On a simulated GPU, bandwidths are still measured only with `thorough`. Only for
     * NVIDIA GPUs and simulated ones; other devices are measured as without this option.
     * FTH_INVALID: it is combined with `only` or `full`. */
    bool quick;
};
/* Initialises a struct fth_discover_options; the arguments are designated initialisers. */
#define FTH_DISCOVER_OPTIONS(...) FTH_OPTIONS(struct fth_discover_options, __VA_ARGS__)

/* Measures the memory system of a device. `options` may be NULL. Attributes that could not be
 * measured are unknown in the description, which gives the reason (fth_gpu_unknown). Interruption
 * can be requested through options->log and through the log of fth_device_open; after
 * FTH_INTERRUPTED, *gpu holds what was measured so far, and the caller must destroy it.
 * FTH_INVALID: `only` contains a name that is not an element (fth_element_name). FTH_UNAVAILABLE: a
 * recording lacks the answer to a request, or the device failed. */
FTH_API FTH_MUST_USE enum fth_status fth_discover(struct fth_device *device,
                                                  const struct fth_discover_options *options,
                                                  struct fth_gpu **gpu, struct fth_error *error);

/* Contributions: a description that was measured on a real device, and the recording of the same
 * run, checked and packed into one archive for the maintainers of the catalogue. The archive is a
 * tar file; it contains contribution.txt, description.json and recording.rec. */

/* Checks that the description and the recording belong together, and packs them:
 *
 *     - the device is real;
 *     - the description has all figures that a full measurement of such a device gives;
 *     - each measured figure has samples or a confidence;
 *     - the recording gives the same description (fth_discover of the recording).
 *
 * Host name, UUID, serial number and PCI address are removed from both. *pack is the archive, not
 * compressed; *summary is the text of contribution.txt, which names the device, the versions, the
 * command, the time and what was removed. `log` may be NULL.
 * FTH_INVALID: a check failed, or a file is malformed; the message says what to measure again. */
FTH_API FTH_MUST_USE enum fth_status fth_contribution_pack(const char *description,
                                                           const char *recording,
                                                           const struct fth_log *log, char **pack,
                                                           size_t *size, char **summary,
                                                           struct fth_error *error);
/* Repeats these checks with an archive that fth_contribution_pack has made, compressed with zstd or
 * not, and checks that nothing in it identifies a card or its host. *summary: the text that
 * describes the content. FTH_INVALID: a check failed, or the archive is malformed. */
FTH_API FTH_MUST_USE enum fth_status fth_contribution_check(const char *path,
                                                            const struct fth_log *log,
                                                            char **summary,
                                                            struct fth_error *error);

#ifdef __cplusplus
}
#endif

#endif
