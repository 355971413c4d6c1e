/* The version of the library. The public header has it as macros; the build fails if they are not
 * the version in meson.build, which defines FTH_PROJECT_MAJOR and its like. */
#include "base/base.h"

#ifdef FTH_PROJECT_MAJOR
#if FTH_VERSION_MAJOR != FTH_PROJECT_MAJOR || FTH_VERSION_MINOR != FTH_PROJECT_MINOR ||            \
    FTH_VERSION_PATCH != FTH_PROJECT_PATCH
#error "include/fathom/version.h and meson.build name different versions"
#endif
#endif

#define TEXT_OF(number) #number
#define VERSION(major, minor, patch) TEXT_OF(major) "." TEXT_OF(minor) "." TEXT_OF(patch)

const char *fth_version(void)
{
    return VERSION(FTH_VERSION_MAJOR, FTH_VERSION_MINOR, FTH_VERSION_PATCH);
}
