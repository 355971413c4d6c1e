/* Declarations that the stand-ins for NVIDIA's driver and management library share. The environment
 * variable FATHOM_STANDIN, which is read at every call, selects how they behave:
 *
 *   one (the default)    one GPU: FATHOM_STANDIN_GPU, a name in the catalogue or a path ("h200")
 *   two                  two such GPUs, with terminal escape sequences in their names
 *   none                 no GPU
 *   uninitialised        cuInit fails because there is no GPU
 *   not-ready            cuInit fails although there is a GPU, as without NVIDIA's fabric manager
 *   lost                 two GPUs; every query about the second one fails
 *   no-memory:BYTES      allocations larger than this fail (default: 1 MiB)
 *   jit                  PTX does not compile
 *   hang                 kernels never end; a call that would wait for one forever aborts
 *   hang-copy            copies within the GPU's memory never end
 *   lost-later:N         launch N (default: 3) faults, and every later call fails
 *   mig                  the GPU is divided into two slices; CUDA_VISIBLE_DEVICES selects one
 *   no-pinned            pinned memory cannot be allocated
 *   corrupt              copies on a stream change one bit of the last byte
 *   no-nvml              nvmlInit fails
 *   queues:N             cuInit fails unless CUDA_DEVICE_MAX_CONNECTIONS is N
 *   healthy              the clocks are not reduced and all links are active
 *   ecc                  the same, but memory errors were not corrected, and a repair is pending
 */
#ifndef STANDIN_H
#define STANDIN_H

#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

/* Returns whether FATHOM_STANDIN selects `mode`. If it has a number after a colon, *argument is set
 * to it; otherwise *argument keeps its value. */
static inline int mode_is(const char *mode, unsigned long long *argument)
{
    const char *chosen = getenv("FATHOM_STANDIN");
    size_t size = strlen(mode);
    chosen = chosen ? chosen : "one";
    if (strncmp(chosen, mode, size) != 0 || (chosen[size] && chosen[size] != ':'))
        return 0;
    if (chosen[size] && argument)
        *argument = strtoull(chosen + size + 1, NULL, 10);
    return 1;
}

enum { SLICES = 2 };
static const char *const gpu_uuids[] = {"GPU-00000000-1111-2222-3333-444444444444",
                                        "GPU-00000001-1111-2222-3333-444444444444"};
static const char *const slice_uuids[SLICES] = {"MIG-aaaaaaa0-1111-2222-3333-444444444444",
                                                "MIG-aaaaaaa1-1111-2222-3333-444444444444"};
static const char *const bus_ids[] = {"0000:19:00.0", "0000:3b:00.0"};

/* Excludes an object from the search for leaks of AddressSanitizer: fathom does not release what it
 * has on a GPU that hangs or is lost. Returns the object. */
void __lsan_ignore_object(const void *object) __attribute__((weak));
static inline void *standin_unchecked(void *object)
{
    if (__lsan_ignore_object && object)
        __lsan_ignore_object(object);
    return object;
}

#endif
