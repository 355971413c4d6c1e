#include "device/machine.h"
enum fth_status fth_batch_device(const char *id, const struct fth_machine_ops *ops, void *machine,
                                 const struct fth_log *log, struct fth_device **device,
                                 struct fth_error *error)
{
    (void)log;
    *device = NULL;
    ops->close(machine);
    return fth_fail(error, FTH_UNSUPPORTED, "open", id, "not yet");
}
