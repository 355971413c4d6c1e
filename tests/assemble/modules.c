/* The kernels as drivers get them: "modules" lists the modules, "modules NAME" prints the PTX of
 * one. A new family of experiments is in the list by itself; a module that is in none gets a row.
 */
#include "device/family.h"

#include <stdio.h>
#include <string.h>

struct module {
    const char *name;
    enum fth_status (*text)(struct fth_buffer *ptx, struct fth_error *error); /* or an operation */
    enum fth_operation operation;
};

static const struct module experiments = {"experiments", fth_kernels_experiments, 0};
static const char *const family_names[FTH_FAMILY_COUNT] = {
    [FTH_FAMILY_FETCH] = "fetch",
    [FTH_FAMILY_STREAM] = "stream",
    [FTH_FAMILY_CLUSTER] = "cluster",
};

static int print(const struct module *module)
{
    struct fth_buffer ptx = {0};
    struct fth_error error = FTH_NO_ERROR;
    char text[sizeof error];
    int result = 0;
    enum fth_status status =
        module->text ? module->text(&ptx, &error)
                     : fth_kernels_operate(module->operation, FTH_MOST_CHAINS, &ptx, &error);
    if (status != FTH_OK) {
        fprintf(stderr, "%s: %s\n", module->name, fth_error_text(&error, text, sizeof text));
        result = 1;
    } else if (fwrite(ptx.data, 1, ptx.size, stdout) != ptx.size) {
        result = 1;
    }
    fth_buffer_fini(&ptx);
    return result;
}

int main(int count, char *words[])
{
    struct module modules[1 + FTH_FAMILY_COUNT + FTH_OPERATIONS] = {experiments};
    size_t modules_count = 1;
    for (size_t i = 0; i < FTH_FAMILY_COUNT; i++) {
        const struct fth_family_ops *family = fth_family_of((enum fth_family)i);
        if (family && family->text)
            modules[modules_count++] = (struct module){family_names[i], family->text, 0};
    }
    for (enum fth_operation i = 0; i < FTH_OPERATIONS; i++)
        modules[modules_count++] = (struct module){.name = fth_operation_name(i), .operation = i};
    for (size_t i = 0; i < modules_count; i++) {
        if (count < 2)
            puts(modules[i].name);
        else if (strcmp(modules[i].name, words[1]) == 0)
            return print(&modules[i]);
    }
    return count < 2 ? 0 : 2;
}
