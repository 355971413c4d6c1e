/* The version, as the build gives it. */
#include "base/base.h"

const char *fth_version(void)
{
    return FTH_VERSION;
}
