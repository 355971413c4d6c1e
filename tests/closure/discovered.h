/* Helpers for tests that measure simulated GPUs with fth_discover(). */
#ifndef FTH_TESTS_DISCOVERED_H
#define FTH_TESTS_DISCOVERED_H

#include "check.h"
#include "discover/discover.h"

#include <math.h>
#include <stdio.h>

/* Measures a simulated GPU. `name` is the name of a description that comes with fathom, or a path.
 * `only`: the elements to measure, NULL for all. The caller owns *found. */
static inline enum fth_status discover_simulated(const char *name, const char *only,
                                                 struct fth_gpu **found, struct fth_error *error)
{
    char id[300];
    struct fth_device *device = NULL;
    const struct fth_discover_options options = FTH_DISCOVER_OPTIONS(.only = only);
    snprintf(id, sizeof id, "sim:%s", name);
    enum fth_status status = fth_device_open(id, NULL, &device, error);
    if (status == FTH_OK)
        status = fth_discover(device, &options, found, error);
    fth_device_close(device);
    return status;
}

/* Returns whether a list of texts contains `name`. `list` may be NULL. */
static inline bool list_contains(const struct fth_attribute *list, const char *name)
{
    for (size_t i = 0; list && i < list->count; i++)
        if (strcmp(list->texts[i], name) == 0)
            return true;
    return false;
}

/* Returns the number of measured figures of the description that have neither a confidence nor an
 * interval, and prints them. */
static inline size_t count_bare_figures(const struct fth_gpu *gpu)
{
    size_t count = 0;
    const struct fth_element_def *element;
    for (size_t i = 0; i == 0 || (element = fth_schema_element_at(i - 1)); i++) {
        const char *name = i ? element->name : "device";
        const struct fth_attribute_def *def;
        for (size_t j = 0; (def = fth_schema_attribute_at(j)); j++) {
            const struct fth_attribute *figure = fth_gpu_attribute(gpu, name, def->name);
            const bool measured = figure && (figure->source == FTH_SOURCE_MEASURED ||
                                             figure->source == FTH_SOURCE_SIMULATED);
            if (!measured || !isnan(figure->confidence) || !isnan(figure->low))
                continue;
            print_message("# %s.%s has neither a confidence nor an interval\n", name, def->name);
            count++;
        }
    }
    return count;
}

#endif
