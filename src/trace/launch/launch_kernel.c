/* The kernels of a PTX file: finds the one that a user means, and describes their parameters. */
#include "trace/launch/launch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char operation[] = "find kernel";

/* Size of a list of names in a message, so that the rest of the message fits struct fth_error. */
enum { LIST_BYTES = 400 };

/* Says that no kernel has this name, or that several have it. `shown` are the names for messages.
 */
static enum fth_status refuse(const char *name, const char *const *names, const char *const *shown,
                              size_t count, const bool *matches, size_t found,
                              struct fth_error *error)
{
    char list[LIST_BYTES];
    const char *nearest = found ? NULL : fth_suggest(name, shown, count);
    if (nearest)
        return fth_fail(error, FTH_NOT_FOUND, operation, name,
                        "the file has no such kernel; did you mean '%s'?", nearest);
    fth_name_list(names, count, found ? matches : NULL,
                  found ? FTH_NAME_PARAMETERS : FTH_NAME_SHORT, list, sizeof list);
    return fth_fail(
        error, FTH_NOT_FOUND, operation, name,
        found ? "several kernels match: %s" : "choose one of the kernels of the file: %s", list);
}

/* Collects the names of all kernels, and finds the one that `name` means. */
static enum fth_status find(const struct fth_launch *launch, const char *name, size_t count,
                            const struct fth_ptx_kernel **kernel, struct fth_error *error)
{
    const char **names = calloc(count + 1, sizeof *names);
    const char **shown = calloc(count + 1, sizeof *shown);
    bool *matches = calloc(count + 1, sizeof *matches);
    enum fth_status status = FTH_OK;
    if (!names || !shown || !matches) {
        status = fth_no_memory(error, operation, name);
        goto out;
    }
    for (size_t i = 0; i < count; i++) {
        names[i] = fth_ptx_kernel_at(launch->module, i)->name;
        shown[i] = fth_ptx_kernel_at(launch->module, i)->display_name;
    }
    const size_t found = fth_name_match(name, names, count, matches);
    for (size_t i = 0; i < count && found == 1; i++)
        if (matches[i])
            *kernel = fth_ptx_kernel_at(launch->module, i);
    if (found != 1)
        status = refuse(name, names, shown, count, matches, found, error);
out:
    free(names);
    free(shown);
    free(matches);
    return status;
}

enum fth_status fth_launch_find_kernel(const struct fth_launch *launch, const char *name,
                                       const struct fth_ptx_kernel **kernel,
                                       struct fth_error *error)
{
    size_t count = 0;
    while (fth_ptx_kernel_at(launch->module, count))
        count++;
    *kernel = fth_ptx_kernel_at(launch->module, 0);
    if (!*kernel)
        return fth_fail(error, FTH_INVALID, "read PTX", launch->path,
                        "the file contains no kernel (.entry)");
    if (!name && count == 1)
        return FTH_OK;
    *kernel = name ? fth_ptx_kernel(launch->module, name) : NULL;
    if (*kernel)
        return FTH_OK;
    return find(launch, name ? name : "", count, kernel, error);
}

void fth_kernel_describe_parameters(const struct fth_ptx_kernel *kernel, char *text, size_t size)
{
    char type[FTH_NAME_BYTES], layout[64];
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < kernel->parameter_count && used < size; i++) {
        const struct fth_ptx_parameter *parameter = &kernel->parameters[i];
        if (strcmp(parameter->type, "b8") == 0)
            snprintf(layout, sizeof layout, "struct of %zu byte%s", parameter->bytes,
                     parameter->bytes == 1 ? "" : "s");
        else
            snprintf(layout, sizeof layout, "%s", parameter->type);
        const bool known = fth_demangle_parameter_type(kernel->name, i, type, sizeof type);
        used += (size_t)snprintf(text + used, size - used, "%s%s%s%s%s", i ? ", " : "",
                                 known ? type : "", known ? " (" : "", layout, known ? ")" : "");
    }
}
