/* What the tests share that discover simulated GPUs. */
#ifndef FTH_TESTS_DISCOVERED_H
#define FTH_TESTS_DISCOVERED_H

#include "check.h"
#include "discover/discover.h"

/* What is found on the simulated GPU of that name, or of the description in that file; `only` may
 * be NULL. */
static inline enum fth_status discover_simulated(const char *name, const char *only,
                                                 struct fth_gpu **found, struct fth_error *error)
{
    char id[300];
    struct fth_device *device = NULL;
    const struct fth_discover_options options = {.only = only};
    snprintf(id, sizeof id, "sim:%s", name);
    enum fth_status status = fth_device_open(id, NULL, &device, error);
    if (status == FTH_OK)
        status = fth_discover(device, &options, found, error);
    fth_device_close(device);
    return status;
}

/* A list of texts has this one; there may be no list. */
static inline bool lists(const struct fth_attribute *list, const char *name)
{
    for (size_t i = 0; list && i < list->count; i++)
        if (strcmp(list->texts[i], name) == 0)
            return true;
    return false;
}

#endif
