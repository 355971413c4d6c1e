#include "device/family.h"

/* Not there yet: refused. */
static enum fth_status check(const struct fth_request *request, struct fth_error *error)
{
    (void)request;
    return fth_fail(error, FTH_UNSUPPORTED, "check request", "family", "not there yet");
}

const struct fth_family_ops fth_family_stream = {check, NULL, NULL, NULL, NULL};
