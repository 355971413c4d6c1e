/* A stand-in for a driver that is too old: it has cuInit and no other function. */
#include "standin.h"

EXPORT int cuInit(unsigned flags);
int cuInit(unsigned flags)
{
    (void)flags;
    return 0;
}
