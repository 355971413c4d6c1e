/* Where and when a device was measured: the name of the computer and the time. Only real devices
 * report them; a recording contains them like everything else that a device reports. */
#include "device/device.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

static enum fth_status set_text(struct fth_gpu *gpu, const char *name, const char *text,
                                const char *method, struct fth_error *error)
{
    struct fth_attribute attribute = fth_attribute_make(name, FTH_TEXT);
    attribute.text = text;
    attribute.source = FTH_SOURCE_DRIVER;
    attribute.method = method;
    return fth_gpu_set(gpu, fth_gpu_section(gpu, "device"), &attribute, error);
}

enum fth_status fth_device_describe_host(struct fth_gpu *gpu, struct fth_error *error)
{
    char host[256] = "", text[32] = "";
    const time_t now = time(NULL);
    struct tm utc;
    if (gethostname(host, sizeof host - 1) == 0)
        host[strcspn(host, ".")] = '\0';
    if (*host)
        FTH_TRY(set_text(gpu, "host", host, "gethostname", error));
    if (!gmtime_r(&now, &utc) || !strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc))
        return FTH_OK;
    return set_text(gpu, "measured_at", text, "the clock of the host, in UTC", error);
}
