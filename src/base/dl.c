/* Loads functions from shared objects at run time. fathom does not link against a GPU driver,
 * because the driver may not be installed. */
#include "base/base.h"

#include <dlfcn.h>
#include <string.h>

enum fth_status fth_dl_open(const char *const *sonames, const struct fth_dl_symbol *symbols,
                            size_t count, void *table, void **handle, struct fth_error *error)
{
    *handle = NULL;
    struct fth_error first = FTH_NO_ERROR;
    for (const char *const *soname = sonames; *soname && !*handle; soname++) {
        *handle = dlopen(*soname, RTLD_NOW | RTLD_LOCAL);
        if (!*handle) {
            /* dlerror returns "libcuda.so.1: cannot open …". The name is removed, because the
             * error already has it as its argument. */
            const char *cause = dlerror();
            size_t size = strlen(*soname);
            if (cause && strncmp(cause, *soname, size) == 0 && strncmp(cause + size, ": ", 2) == 0)
                cause += size + 2;
            fth_fail(&first, FTH_UNAVAILABLE, "open", *soname, "%s", cause ? cause : "failed");
        }
    }
    if (!*handle)
        return fth_error_move(error, &first);
    for (size_t i = 0; i < count; i++) {
        void *address = NULL;
        for (size_t n = 0; n < FTH_COUNT(symbols[i].names) && symbols[i].names[n] && !address; n++)
            address = dlsym(*handle, symbols[i].names[n]);
        if (!address && !symbols[i].optional) {
            dlclose(*handle);
            *handle = NULL;
            return fth_fail(error, FTH_UNSUPPORTED, "open", sonames[0],
                            "it has no function %s; it is too old, or another library of this name",
                            symbols[i].names[0]);
        }
        /* POSIX allows a function address in a data pointer, but C does not allow a cast between
         * them. */
        memcpy((char *)table + symbols[i].offset, &address, sizeof address);
    }
    return FTH_OK;
}

void fth_dl_close(void *handle)
{
    if (handle)
        dlclose(handle);
}
