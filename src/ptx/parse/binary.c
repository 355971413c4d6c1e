/* Recognises binary files that are given instead of PTX.
 */
#include "ptx/ptx.h"

#include <string.h>

bool fth_ptx_is_binary(const void *data, size_t size)
{
    /* Text has no NUL. Chosen: the beginning of a file suffices. */
    enum { MAX_SEARCHED = 4096 };
    return size && memchr(data, '\0', size < MAX_SEARCHED ? size : MAX_SEARCHED);
}
