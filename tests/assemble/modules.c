/* Prints the PTX of fathom's kernels as the driver gets it. "modules" lists the names of the
 * modules, "modules NAME" prints the PTX of one. The families of experiments, sweeps and operations
 * are listed automatically, except that a new family needs an entry in `family_names`. Any other
 * module must be added to `modules` in main. */
#include "device/family/family.h"

#include <stdio.h>
#include <string.h>

struct module {
    const char *name;
    /* The PTX comes from `text` unless it is NULL, else from `sweep` unless its unroll is 0, else
     * from `operation`. */
    enum fth_status (*text)(struct fth_buffer *ptx, struct fth_error *error);
    struct fth_sweep_code sweep;
    enum fth_operation operation;
    char own_name[40]; /* of a sweep, for `name` */
};

static const struct module experiments = {.name = "experiments", .text = fth_kernels_experiments};
static const char *const family_names[FTH_FAMILY_COUNT] = {
    [FTH_FAMILY_FETCH] = "fetch", [FTH_FAMILY_STREAM] = "stream", [FTH_FAMILY_CLUSTER] = "cluster",
    [FTH_FAMILY_PAIR] = "pair",   [FTH_FAMILY_PLACE] = "place",   [FTH_FAMILY_EVICT] = "evict",
    [FTH_FAMILY_BRANCH] = "branch",
};

static int print(const struct module *module)
{
    struct fth_buffer ptx = {0};
    struct fth_error error = FTH_NO_ERROR;
    char text[sizeof error];
    int result = 0;
    enum fth_status status =
        module->text ? module->text(&ptx, &error)
        : module->sweep.unroll
            ? fth_kernels_sweep(&module->sweep, &ptx, &error)
            : fth_kernels_operate(module->operation, FTH_MAX_CHAINS, &ptx, &error);
    if (status != FTH_OK) {
        fprintf(stderr, "%s: %s\n", module->name, fth_error_text(&error, text, sizeof text));
        result = 1;
    } else if (fwrite(ptx.data, 1, ptx.size, stdout) != ptx.size) {
        result = 1;
    }
    fth_buffer_fini(&ptx);
    return result;
}

static enum fth_status narrow_text(struct fth_buffer *ptx, struct fth_error *error)
{
    return fth_kernels_pattern(false, ptx, error);
}

static enum fth_status wide_text(struct fth_buffer *ptx, struct fth_error *error)
{
    return fth_kernels_pattern(true, ptx, error);
}

static const struct module narrow_pattern = {.name = "pattern.f32", .text = narrow_text},
                           wide_pattern = {.name = "pattern.f64", .text = wide_text};

/* Adds, for each kind of sweep, the code with the most accesses in flight, for both widths of
 * elements, with and without cache hints. Returns the number of modules added. */
static size_t add_sweeps(struct module *modules)
{
    size_t count = 0;
    for (unsigned i = 0; i < 4 * FTH_SWEEP_KINDS; i++) {
        struct fth_sweep_code code = {.kind = (enum fth_sweep_kind)(i / 4),
                                      .wide = i & 1,
                                      .vector_bytes = 16,
                                      .unroll = 8,
                                      .lanes = 32,
                                      .hinted = i & 2};
        while (code.unroll && !fth_kernels_has_sweep(&code))
            code.unroll /= 2;
        if (!code.unroll)
            continue;
        struct module *module = &modules[count++];
        *module = (struct module){.sweep = code};
        snprintf(module->own_name, sizeof module->own_name, "sweep.%s.%s%s",
                 fth_sweep_kind_name(code.kind), code.wide ? "f64" : "f32",
                 code.hinted ? ".hinted" : "");
        module->name = module->own_name;
    }
    return count;
}

int main(int count, char *words[])
{
    enum { MAX = 3 + FTH_FAMILY_COUNT + 4 * FTH_SWEEP_KINDS + FTH_OPERATIONS };
    struct module modules[MAX] = {experiments, narrow_pattern, wide_pattern};
    size_t modules_count = 3 + add_sweeps(&modules[3]);
    for (size_t i = 0; i < FTH_FAMILY_COUNT; i++) {
        const struct fth_family_ops *family = fth_family_of((enum fth_family)i);
        if (family->make_ptx)
            modules[modules_count++] =
                (struct module){.name = family_names[i], .text = family->make_ptx};
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
