/* device/: where measurements come from. So far it only says which GPUs are here: each backend
 * lists its own, or says why it cannot be used; device.c asks them all. */
#ifndef FTH_DEVICE_H
#define FTH_DEVICE_H

#include "gpu/gpu.h"

struct fth_backend {
    const char *name;
    const char *summary;
    /* Calls `each` for every device it has. Where it has none, fails with the reason. */
    enum fth_status (*list)(void (*each)(void *user, const struct fth_device_info *device),
                            void *user, struct fth_error *error);
};

extern const struct fth_backend fth_backend_cuda;

#endif
