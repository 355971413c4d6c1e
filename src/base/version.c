/* Returns the version, which the build system defines as FTH_VERSION. */
#include "base/base.h"

const char *fth_version(void)
{
    return FTH_VERSION;
}
