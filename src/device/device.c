/* The registry of backends. */
#include "device/device.h"

static const struct fth_backend *const backends[] = {&fth_backend_cuda};

enum fth_status fth_device_list(void (*each)(void *user, const struct fth_device_info *device),
                                void *user, struct fth_error *error)
{
    for (size_t i = 0; i < FTH_COUNT(backends); i++) {
        struct fth_error fault = FTH_NO_ERROR;
        enum fth_status status = backends[i]->list(each, user, &fault);
        if (status == FTH_NO_MEMORY)
            return fth_fail(error, status, fault.operation, fault.argument, "%s", fault.cause);
        if (status != FTH_OK) {
            char text[sizeof fault];
            each(user, &(struct fth_device_info){backends[i]->name, NULL, NULL,
                                                 fth_error_text(&fault, text, sizeof text)});
        }
    }
    return FTH_OK;
}
