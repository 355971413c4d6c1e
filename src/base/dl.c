/* Tables of functions from shared objects that may not be there: a GPU's driver is found when the
 * program runs, never when it is linked. */
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
            /* dlerror says "libcuda.so.1: cannot open …"; the name stands in the argument. */
            const char *cause = dlerror();
            size_t size = strlen(*soname);
            if (cause && strncmp(cause, *soname, size) == 0 && strncmp(cause + size, ": ", 2) == 0)
                cause += size + 2;
            fth_fail(&first, FTH_UNAVAILABLE, "open", *soname, "%s", cause ? cause : "failed");
        }
    }
    if (!*handle)
        return fth_fail(error, FTH_UNAVAILABLE, first.operation, first.argument, "%s", first.cause);
    for (size_t i = 0; i < count; i++) {
        void *address = NULL;
        for (size_t n = 0; n < FTH_COUNT(symbols[i].names) && symbols[i].names[n] && !address; n++)
            address = dlsym(*handle, symbols[i].names[n]);
        if (!address && !symbols[i].optional) {
            dlclose(*handle);
            *handle = NULL;
            return fth_fail(error, FTH_UNSUPPORTED, "open", sonames[0],
                            "it has no function %s: too old, or not the library it claims to be",
                            symbols[i].names[0]);
        }
        /* POSIX makes a data pointer hold a function's address; C only lets memcpy say so. */
        memcpy((char *)table + symbols[i].offset, &address, sizeof address);
    }
    return FTH_OK;
}

void fth_dl_close(void *handle)
{
    if (handle)
        dlclose(handle);
}
