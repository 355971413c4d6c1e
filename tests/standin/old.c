/* A driver that is too old: it lacks nearly everything. */
#include "standin.h"

EXPORT int cuInit(unsigned flags);
int cuInit(unsigned flags)
{
    (void)flags;
    return 0;
}
