/* The kernels of a PTX file: finds the one that a user means, and describes their parameters and
 * the types of these. */
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

/* Returns the load of the whole parameter; NULL: the kernel does not load it, or not at once. */
static const struct fth_ptx_argument_load *find_load(const struct fth_ptx_parameter *parameter,
                                                     const struct fth_ptx_argument_load *loads,
                                                     size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (loads[i].offset == parameter->offset && loads[i].bytes == parameter->bytes)
            return &loads[i];
    return NULL;
}

/* Returns whether a type of the PTX states no more than a size, such as b32. */
static bool is_untyped(const char *type)
{
    return type[0] == 'b' && type[1] != 'f';
}

/* Returns the type that PTX and the kernel's use of the parameter state; NULL: none. */
static const struct fth_scalar_type *type_of_ptx(const struct fth_ptx_parameter *parameter,
                                                 const struct fth_ptx_argument_load *load)
{
    const char *type = is_untyped(parameter->type) && load ? load->type : parameter->type;
    char name[16];
    if (is_untyped(type) && !(load && load->is_signed))
        return NULL;
    snprintf(name, sizeof name, "%s", type);
    if (*name == 'u' || is_untyped(name))
        *name = 's';
    return fth_scalar_type_find(name, strlen(name));
}

const struct fth_scalar_type *fth_kernel_number_type(const struct fth_launch *launch,
                                                     const struct fth_ptx_kernel *kernel,
                                                     size_t index, char *reason, size_t size)
{
    enum { MAX_LOADS = 256 }; /* Chosen: more than the parameters of most kernels. */
    struct fth_ptx_argument_load loads[MAX_LOADS];
    char type[FTH_NAME_BYTES];
    unsigned lanes = 0;
    if (index >= kernel->parameter_count) {
        snprintf(reason, size, "the kernel takes only %zu arguments", kernel->parameter_count);
        return NULL;
    }
    const struct fth_ptx_parameter *parameter = &kernel->parameters[index];
    const bool has_type = fth_demangle_parameter_type(kernel->name, index, type, sizeof type);
    const struct fth_scalar_type *known =
        has_type ? fth_scalar_type_of_cpp(type, strlen(type), &lanes) : NULL;
    if (known && lanes == 1 && known->bytes == parameter->bytes)
        return known;
    const size_t count = fth_ptx_argument_loads(launch->module, kernel, loads, MAX_LOADS);
    const struct fth_ptx_argument_load *load = find_load(parameter, loads, count);
    const char end = has_type && *type ? type[strlen(type) - 1] : '\0';
    if (end == '*' || end == '&' || (!has_type && load && load->is_pointer))
        snprintf(
            reason, size,
            "argument %zu is a pointer%s%.100s%s; pass a buffer, such as ptr:f32[1024] (command "
            "line) or the name of a buffer (launch file), or null",
            index + 1, has_type ? " (" : "", has_type ? type : "", has_type ? ")" : "");
    else if (strcmp(parameter->type, "b8") == 0 && parameter->bytes > 1)
        snprintf(
            reason, size,
            "argument %zu is a struct of %zu bytes; pass its members with their types, such as "
            "{i32:1,f32:2}",
            index + 1, parameter->bytes);
    else if (!(known = type_of_ptx(parameter, load)))
        snprintf(reason, size,
                 "the PTX file does not state the type of argument %zu, which has %zu bytes; pass "
                 "it with its type, such as i32:5 or f32:1.5",
                 index + 1, parameter->bytes);
    else
        return known;
    return NULL;
}
