/* Loads functions from shared objects at run time. fathom does not link against a GPU driver,
 * because the driver may not be installed. */
#include "base/base.h"

#include <dlfcn.h>
#include <string.h>

/* Returns whether dlopen has failed because an allocation has failed. glibc tells that only by the
 * text: it names what it could not allocate or create, and dlerror leaves out the name of the file
 * if it cannot compose the text. */
static bool is_no_memory(const char *cause)
{
    static const char *const signs[] = {"out of memory", "annot allocate ", "cannot create "};
    bool found = !cause || !strstr(cause, ": ");
    for (size_t i = 0; i < FTH_COUNT(signs) && !found; i++)
        found = strstr(cause, signs[i]) != NULL;
    return found;
}

enum fth_status fth_dl_open(const char *const *sonames, const struct fth_dl_symbol *symbols,
                            size_t count, void *table, void **handle, struct fth_error *error)
{
    *handle = NULL;
    struct fth_error first = FTH_NO_ERROR;
    for (const char *const *soname = sonames; *soname && !*handle; soname++) {
        /* If some allocations fail, glibc reports that there is no such file. */
        for (int attempt = 0; attempt < 2 && !*handle; attempt++)
            *handle = dlopen(*soname, RTLD_NOW | RTLD_LOCAL);
        if (!*handle) {
            /* dlerror returns "libcuda.so.1: cannot open …". The name is removed, because the
             * error already has it as its argument. */
            const char *cause = dlerror();
            if (is_no_memory(cause))
                return fth_no_memory(error, "open", *soname);
            size_t size = strlen(*soname);
            if (strncmp(cause, *soname, size) == 0 && strncmp(cause + size, ": ", 2) == 0)
                cause += size + 2;
            fth_fail(&first, FTH_UNAVAILABLE, "open", *soname, "%s", cause);
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
