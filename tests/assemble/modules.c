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
     * from `copies` unless its depth is 0, else from `traffic_bytes` unless it is 0, else from
     * `visit` if it is a visit, else from `operation`. */
    enum fth_status (*text)(struct fth_buffer *ptx, struct fth_error *error);
    struct fth_sweep_code sweep;
    struct fth_copies_code copies;
    uint32_t traffic_bytes;
    bool is_visit;
    enum fth_visit_operation visit;
    enum fth_operation operation;
    char own_name[40]; /* of a sweep, copies, a visit or a traffic, for `name` */
};

static const struct module experiments = {.name = "experiments", .text = fth_kernels_experiments};
static const char *const family_names[FTH_FAMILY_COUNT] = {
    [FTH_FAMILY_HINT] = "hint",     [FTH_FAMILY_FETCH] = "fetch",
    [FTH_FAMILY_STREAM] = "stream", [FTH_FAMILY_CLUSTER] = "cluster",
    [FTH_FAMILY_PAIR] = "pair",     [FTH_FAMILY_PLACE] = "place",
    [FTH_FAMILY_EVICT] = "evict",   [FTH_FAMILY_CONTEND] = "contend",
    [FTH_FAMILY_BRANCH] = "branch", [FTH_FAMILY_FLIGHT] = "flight",
    [FTH_FAMILY_MERGE] = "merge",   [FTH_FAMILY_SHARE] = "share",
};

static int print(const struct module *module)
{
    struct fth_buffer ptx = {0};
    struct fth_error error = FTH_NO_ERROR;
    char text[sizeof error];
    int result = 0;
    enum fth_status status =
        module->text            ? module->text(&ptx, &error)
        : module->sweep.unroll  ? fth_kernels_sweep(&module->sweep, &ptx, &error)
        : module->copies.depth  ? fth_kernels_copies(&module->copies, &ptx, &error)
        : module->traffic_bytes ? fth_kernels_traffic(module->traffic_bytes, &ptx, &error)
        : module->is_visit      ? fth_kernels_visit(module->visit, &ptx, &error)
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

/* Adds the modules of visits and traffics. Returns their number. */
static size_t add_accesses(struct module *modules)
{
    size_t count = 0;
    for (uint32_t bytes = 4; bytes <= 16; bytes *= 2) {
        struct module *module = &modules[count++];
        *module = (struct module){.traffic_bytes = bytes};
        snprintf(module->own_name, sizeof module->own_name, "traffic.%u", (unsigned)bytes);
        module->name = module->own_name;
    }
    for (unsigned i = 0; i < FTH_VISIT_OPERATIONS; i++) {
        struct module *module = &modules[count++];
        *module = (struct module){.is_visit = true, .visit = (enum fth_visit_operation)i};
        snprintf(module->own_name, sizeof module->own_name, "visit.%s",
                 fth_visit_name(module->visit));
        module->name = module->own_name;
    }
    return count;
}

/* Adds each kind of copy, with each width that it has, and tensors of each rank. Returns the number
 * of modules added. */
static size_t add_copies(struct module *modules)
{
    size_t count = 0;
    for (unsigned i = 0; i < 5 * FTH_COPIES_KINDS; i++) {
        const enum fth_copies_kind kind = (enum fth_copies_kind)(i / 5);
        const unsigned variant = i % 5;
        const bool tensor = kind == FTH_COPIES_TENSOR_LOAD;
        const bool widths = kind == FTH_COPIES_ASYNC_CA || kind == FTH_COPIES_LOAD_STORE;
        if (variant && !tensor && (!widths || variant > 2))
            continue;
        struct module *module = &modules[count++];
        *module = (struct module){
            .copies = {kind, 16u >> variant, 8, tensor ? variant + 1 : 0},
        };
        snprintf(module->own_name, sizeof module->own_name, "copies.%s.%u",
                 fth_copies_kind_name(kind), variant);
        module->name = module->own_name;
    }
    return count;
}

int main(int count, char *words[])
{
    enum {
        MAX = 3 + FTH_FAMILY_COUNT + 4 * FTH_SWEEP_KINDS + 5 * FTH_COPIES_KINDS + FTH_OPERATIONS +
              3 + FTH_VISIT_OPERATIONS
    };
    struct module modules[MAX] = {experiments, narrow_pattern, wide_pattern};
    size_t modules_count = 3 + add_sweeps(&modules[3]);
    modules_count += add_accesses(&modules[modules_count]);
    modules_count += add_copies(&modules[modules_count]);
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
