/* Opening the device that --device names, or the one that is here. */
#include "cli.h"

static void find_gpu(void *user, const struct fth_device_info *device)
{
    bool *found = user;
    *found = *found || device->id;
}

/* The first GPU here. A simulated one stands in only where there is none: one that is there and
 * does not work is an error, not to be papered over. */
static enum fth_status open_default(struct fth_device **device, struct fth_error *error)
{
    static const char simulated[] = "sim:h200";
    enum fth_status status = fth_device_open("cuda:0", &cli_log, device, error);
    bool found = false;
    if (status == FTH_OK || status == FTH_NO_MEMORY || status == FTH_INTERRUPTED ||
        fth_device_list(find_gpu, &found, NULL) != FTH_OK || found)
        return status;
    char text[sizeof *error];
    cli_message("no GPU here (%s)", fth_error_text(error, text, sizeof text));
    cli_message("instead, this is %s, a simulated one", simulated);
    *error = FTH_NO_ERROR;
    return fth_device_open(simulated, &cli_log, device, error);
}

int cli_open_device(const struct cli_arguments *arguments, struct fth_device **device)
{
    const char *wanted = cli_value(arguments, &cli_option_device);
    struct fth_error error = FTH_NO_ERROR;
    if (wanted ? fth_device_open(wanted, &cli_log, device, &error) == FTH_OK
               : open_default(device, &error) == FTH_OK)
        return CLI_DONE;
    int result = cli_fail(&error);
    switch (error.status) {
    case FTH_NOT_FOUND:
    case FTH_UNAVAILABLE:
    case FTH_UNSUPPORTED: return CLI_NO_DEVICE;
    default: return result;
    }
}
