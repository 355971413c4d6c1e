/* Captures: capsules that were just written by a program under 'fathom capture'. */
#ifndef FATHOM_CAPTURES_H
#define FATHOM_CAPTURES_H

#include <fathom/status.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The launches of a kernel in a capsule. */
struct fth_capture_kernel {
    const char *name;  /* in the PTX */
    uint64_t launches; /* in the capsule */
    uint64_t complete; /* of these, the launches that can be repeated */
    /* Why the first launch that cannot be repeated cannot; NULL: all can. */
    const char *reason;
};

/* What a capsule contains, and what was added to it. */
struct fth_capture;

/* Adds PTX to a capsule, for modules of which the program loaded only machine code. Looks for it
 * in `folders`, by the machine code beside it and by the names of kernels, and in the caches of
 * Triton and of torch.compile, by the machine code beside it. Marks the capsule as complete. Then
 * lists the kernels of the capsule.
 * FTH_NOT_FOUND: there is no such file. FTH_INVALID: it is damaged, or no capsule. */
FTH_API FTH_MUST_USE enum fth_status fth_capture_complete(const char *path,
                                                          const char *const *folders, size_t count,
                                                          struct fth_capture **capture,
                                                          struct fth_error *error);
/* Takes NULL. */
FTH_API void fth_capture_destroy(struct fth_capture *capture);
/* Returns the number of kernels in the capsule. */
FTH_API size_t fth_capture_kernel_count(const struct fth_capture *capture);
/* Returns the kernel with this index, in the order of their first launches; NULL past the last. */
FTH_API const struct fth_capture_kernel *fth_capture_kernel_at(const struct fth_capture *capture,
                                                               size_t index);
/* Returns whether the program ended before it had completed the capsule. */
FTH_API bool fth_capture_was_truncated(const struct fth_capture *capture);
/* Returns the size of the file in bytes. */
FTH_API uint64_t fth_capture_bytes(const struct fth_capture *capture);

#ifdef __cplusplus
}
#endif

#endif
