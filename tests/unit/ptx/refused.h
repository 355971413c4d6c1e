/* Reads PTX that must be refused: when it is read, or when its kernel is launched. */
#ifndef FTH_TESTS_REFUSED_H
#define FTH_TESTS_REFUSED_H

#include "ptx/ptx.h"

#include <string.h>

/* Returns true, and sets the error, if the text is not PTX, or if a kernel has an instruction that
 * the engine does not support. */
static inline bool is_refused(const char *text, size_t size, struct fth_error *error)
{
    struct fth_ptx_module *module = NULL;
    const struct fth_ptx_kernel *kernel;
    if (fth_ptx_read_text("test.ptx", text, size, &module, error) != FTH_OK)
        return module == NULL;
    bool refused = false;
    for (size_t i = 0; (kernel = fth_ptx_kernel_at(module, i)) && !refused; i++) {
        const struct fth_error *why = fth_ptx_unsupported(module, kernel->name);
        if (why) {
            *error = *why;
            refused = true;
        }
    }
    fth_ptx_destroy(module);
    return refused;
}

#endif
