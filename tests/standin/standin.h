/* What the stand-ins for NVIDIA's libraries share. What they do is chosen by FATHOM_STANDIN, which
 * is asked at every call:
 *
 *   one (the default)    the GPU of FATHOM_STANDIN_GPU, a name of the catalogue or a path; "h200"
 *   two                  twice that GPU, under names that try to steer the terminal
 *   none, uninitialised  no GPU; cuInit fails
 *   lost                 two GPUs, of which the second goes away half-way
 *   no-memory:BYTES      no allocation is larger than that (1 MiB)
 *   jit                  PTX does not compile
 *   hang                 a kernel never ends; what would wait for it without a limit aborts
 *   lost-later:N         the Nth (3rd) launch faults, and every call from then on fails
 *   mig                  the GPU is parted into two slices, of which CUDA_VISIBLE_DEVICES shows one
 *   no-pinned            there is no pinned memory
 *   corrupt              the last byte of a copy on a stream does not arrive
 *   no-nvml              the management library does not start
 */
#ifndef STANDIN_H
#define STANDIN_H

#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

/* Whether this is the mode; *argument is what stands after its colon, or as it was. */
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

#endif
