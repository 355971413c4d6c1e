/* Opens the device that a command uses, and checks the names of elements. */
#include "cli.h"

#include <stdlib.h>
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

int cli_fail_open(const struct fth_error *error)
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
    static const char *const prefixes[] = {"cuda:", "opencl:", "sim:", "replay:"};
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++)
        if (strncmp(word, prefixes[i], strlen(prefixes[i])) == 0)
            return true;
    return false;
}

int cli_prepare_device(const char *id)
{
    static const char slice[] = "cuda:MIG-";
    const bool is_slice = id && strncmp(id, slice, strlen(slice)) == 0;
    if ((is_slice && setenv("CUDA_VISIBLE_DEVICES", strchr(id, ':') + 1, 1) != 0) ||
        setenv("CUDA_DEVICE_MAX_CONNECTIONS", "1", 0 /* the user's value has priority */) != 0) {
        cli_message("cannot set environment variables: out of memory");
        return CLI_FAILED;
    }
    return CLI_DONE;
}

int cli_open_device_id(const struct cli_arguments *arguments, const char *id,
                       struct fth_device **device)
{
    struct fth_error error = FTH_NO_ERROR;
    struct fth_device_options options =
        FTH_DEVICE_OPTIONS(.log = &cli_log,
                           .require_gpu = cli_value(arguments, &cli_option_require_gpu) != NULL);
    *device = NULL;
    if (!cli_parse_max_instructions(arguments, &options.max_instructions))
        return CLI_USAGE;
    if (cli_prepare_device(id) != CLI_DONE)
        return CLI_FAILED;
    return fth_device_open_with(id, &options, device, &error) == FTH_OK ? CLI_DONE
                                                                        : cli_fail_open(&error);
}

int cli_open_device(const struct cli_arguments *arguments, struct fth_device **device)
{
    const char *record = cli_value(arguments, &cli_option_record);
    struct fth_error error = FTH_NO_ERROR;
    int result = cli_open_device_id(arguments, cli_value(arguments, &cli_option_device), device);
    if (result != CLI_DONE)
        return result;
    if (!record || fth_device_record(*device, record, &error) == FTH_OK)
        return CLI_DONE;
    fth_device_close(*device);
    *device = NULL;
    return cli_fail(&error);
}
