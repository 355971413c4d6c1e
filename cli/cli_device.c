/* Opens the device that a command uses, and checks the names of elements. */
#include "cli.h"

#include <string.h>

/* Prints that there is no element of this name, and lists all elements. */
static void report_unknown_element(const char *name)
{
    char known[512] = "";
    const char *element;
    for (size_t i = 0; (element = fth_element_name(i)); i++) {
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "", element);
    }
    cli_message("unknown element '%s'; the elements are %s", name, known);
}

int cli_check_element(const char *name)
{
    enum { MAX = 64 };
    const char *names[MAX];
    size_t count = 0;
    while (count < MAX && (names[count] = fth_element_name(count)))
        if (strcmp(names[count++], name) == 0)
            return CLI_DONE;
    const char *nearest = fth_suggest(name, names, count);
    if (nearest)
        cli_message("unknown element '%s'; did you mean '%s'?", name, nearest);
    else
        report_unknown_element(name);
    return CLI_USAGE;
}

static void note_gpu(void *user, const struct fth_device_info *device)
{
    bool *found = user;
    *found = *found || device->id;
}

/* Opens the first GPU. Falls back to a simulated GPU only if the machine has no GPU. A GPU that is
 * present but does not work is an error. */
static enum fth_status open_default(struct fth_device **device, struct fth_error *error)
{
    static const char simulated[] = "sim:h200";
    enum fth_status status = fth_device_open("cuda:0", &cli_log, device, error);
    bool found = false;
    if (status == FTH_OK || status == FTH_NO_MEMORY || status == FTH_INTERRUPTED ||
        fth_device_list(note_gpu, &found, NULL) != FTH_OK || found)
        return status;
    char text[sizeof *error];
    cli_message("no GPU found (%s)", fth_error_text(error, text, sizeof text));
    cli_message("using the simulated GPU %s instead", simulated);
    *error = FTH_NO_ERROR;
    return fth_device_open(simulated, &cli_log, device, error);
}

static int report_open_failure(const struct fth_error *error)
{
    int result = cli_fail(error);
    switch (error->status) {
    case FTH_NOT_FOUND:
    case FTH_UNAVAILABLE:
    case FTH_UNSUPPORTED: return CLI_NO_DEVICE;
    default: return result;
    }
}

bool cli_is_device_id(const char *word)
{
    static const char *const prefixes[] = {"cuda:", "sim:", "replay:"};
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++)
        if (strncmp(word, prefixes[i], strlen(prefixes[i])) == 0)
            return true;
    return false;
}

int cli_open_device_id(const char *id, struct fth_device **device)
{
    struct fth_error error = FTH_NO_ERROR;
    return fth_device_open(id, &cli_log, device, &error) == FTH_OK ? CLI_DONE
                                                                   : report_open_failure(&error);
}

int cli_open_device(const struct cli_arguments *arguments, struct fth_device **device)
{
    const char *wanted = cli_value(arguments, &cli_option_device);
    const char *record = cli_value(arguments, &cli_option_record);
    struct fth_error error = FTH_NO_ERROR;
    enum fth_status status =
        wanted ? fth_device_open(wanted, &cli_log, device, &error) : open_default(device, &error);
    if (status != FTH_OK)
        return report_open_failure(&error);
    if (!record || fth_device_record(*device, record, &error) == FTH_OK)
        return CLI_DONE;
    fth_device_close(*device);
    *device = NULL;
    return cli_fail(&error);
}
