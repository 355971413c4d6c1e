/* Recognises binary files that are given instead of PTX, such as the output of nvcc without -ptx.
 */
#include "ptx/ptx.h"

#include <string.h>

const char *fth_ptx_binary_kind(const void *data, size_t size)
{
    static const struct {
        const char *magic; /* the first four bytes of the file */
        const char *kind;
    } kinds[] = {
        {"\x7f"
         "ELF",
         "an ELF file (a program, an object file or a cubin)"},
        {"\x50\xed\x55\xba", "a fatbin"}, /* 0xba55ed50, little-endian (CUDA's fatbinary.h) */
    };
    /* Text has no NUL. Chosen: the beginning of a file suffices. */
    enum { MAX_SEARCHED = 4096 };
    for (size_t i = 0; i < FTH_COUNT(kinds); i++)
        if (size >= 4 && memcmp(data, kinds[i].magic, 4) == 0)
            return kinds[i].kind;
    return size && memchr(data, '\0', size < MAX_SEARCHED ? size : MAX_SEARCHED) ? "a binary file"
                                                                                 : NULL;
}
