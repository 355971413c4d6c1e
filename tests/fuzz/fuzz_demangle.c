/* Fuzzes the translation of mangled names (fth_demangle). A name that is not understood must be
 * returned unchanged; one that is has the same translation in a larger buffer, and its parameters
 * are part of it. */
#include "base/base.h"

#include <stdlib.h>
#include <string.h>

/* Longer names have nothing new. */
enum { MAX_NAME = 4096 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Aborts unless the short form and the type of the first parameter are part of the full form. */
static void check_parts(const char *name, const char *full)
{
    static char part[FTH_NAME_BYTES];
    if (!fth_demangle(name, FTH_NAME_SHORT, part, sizeof part) || !strstr(full, part))
        abort();
    for (size_t i = 0; i < 3; i++)
        if (fth_demangle_parameter_type(name, i, part, sizeof part) && !strstr(full, part))
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char name[MAX_NAME], text[FTH_NAME_BYTES], again[2 * FTH_NAME_BYTES];
    if (size >= sizeof name)
        return 0;
    memcpy(name, data, size);
    name[size] = '\0';
    const bool known = fth_demangle(name, FTH_NAME_FULL, text, sizeof text);
    const bool known_again = fth_demangle(name, FTH_NAME_FULL, again, sizeof again);
    if ((known && !known_again) || (known == known_again && strcmp(text, again) != 0) ||
        (!known && strcmp(text, name) != 0))
        abort();
    if (known)
        check_parts(name, text);
    return 0;
}
