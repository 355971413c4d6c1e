/* Reads the options that a caller of the library passes. Their first member is the size of the
 * struct as the caller knows it, so that a struct can grow without breaking programs that were
 * compiled before. */
#include "base/base.h"

#include <string.h>

static const char operation[] = "read options";

enum fth_status fth_options_read(const char *name, const void *given, void *known,
                                 size_t known_size, struct fth_error *error)
{
    size_t size = 0;
    memset(known, 0, known_size);
    if (given)
        memcpy(&size, given, sizeof size);
    if (given && size < sizeof size)
        return fth_fail(error, FTH_INVALID, operation, name,
                        "the member 'size' is %zu; initialise it with the size of the struct",
                        size);
    for (size_t i = known_size; i < size; i++)
        if (((const unsigned char *)given)[i])
            return fth_fail(error, FTH_INVALID, operation, name,
                            "byte %zu is not 0, but version %s of the library knows only %zu "
                            "bytes; the program needs a newer library",
                            i, fth_version(), known_size);
    if (given)
        memcpy(known, given, FTH_MIN(size, known_size));
    memcpy(known, &known_size, sizeof known_size);
    return FTH_OK;
}
