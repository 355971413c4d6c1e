/* Notices when the program may change the memory of the GPU. The contents that were captured last
 * stay valid until then, so that memory is only copied again after a change.
 *
 * The functions of the driver that write memory have many forms, and none of their arguments
 * matters here. So each wrapper passes on twelve words, which is more than any of them has: all
 * arguments of these functions are integers and pointers, and further words are ignored. */
#include "capture.h"

#include <stdatomic.h>

static atomic_uint_least64_t changes = 1;

uint64_t capture_changes(void)
{
    return changes;
}

void capture_note_change(void)
{
    changes++;
}

typedef uint64_t word;
typedef int any_function(word, word, word, word, word, word, word, word, word, word, word, word);

#define X(name)                                                                                    \
    WRAP(name, word a, word b, word c, word d, word e, word f, word g, word h, word i, word j,     \
         word k, word l)                                                                           \
    {                                                                                              \
        any_function *real = (any_function *)capture_real(F_##name);                               \
        capture_note_change();                                                                     \
        return real ? real(a, b, c, d, e, f, g, h, i, j, k, l) : NOT_SUPPORTED;                    \
    }
WRITERS(X)
#undef X
