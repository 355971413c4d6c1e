/* Finds the PTX of a launch. A file with PTX is either PTX itself, or a fat binary, host program,
 * library or object file, which can contain several modules: one per translation unit. fathom takes
 * the module that has the kernels of the launch. Each translation unit can have its PTX for several
 * architectures; fathom takes the one that a GPU of the highest architecture that the PTX engine
 * knows would execute. */
#include "fatbin/fatbin.h"
#include "trace/launch/launch.h"

#include <stdio.h>
#include <string.h>

/* The highest architecture that the PTX engine knows, sm_90 (docs/ptx.md). */
enum { ENGINE_TARGET = 90 };
/* The option of the compiler that adds PTX to a file, for messages. */
#define ADD_PTX "-gencode arch=compute_90,code=compute_90"

static const char operation[] = "find kernel";

/* Names for a message. Chosen: the cause of an error has 512 bytes (struct fth_error). */
struct list {
    char text[280];
    size_t left_off; /* number of names that did not fit */
};
enum { MAX_LISTED_BYTES = 240 };

/* The search for the module of a launch. */
struct search {
    const char *path; /* for messages */
    const struct fth_fatbin *fatbin;
    const char *const *kernels; /* those that the module must have */
    size_t kernel_count;
    size_t module_count;    /* modules with PTX so far */
    size_t text_bytes;      /* size of their texts */
    size_t match_count;     /* modules so far that have the kernels, and different texts */
    struct fth_buffer text; /* of the first match */
    struct fth_ptx_module *module;
    struct list matches;      /* descriptions of all matches */
    struct list names;        /* of the kernels of all modules */
    struct fth_error refused; /* why a module could not be parsed */
};

static void list_name(struct list *list, const char *name)
{
    const size_t used = strlen(list->text);
    if (used == 0)
        snprintf(list->text, sizeof list->text, "%.*s", MAX_LISTED_BYTES, name);
    else if (list->left_off || used + strlen(name) + 2 > MAX_LISTED_BYTES)
        list->left_off++;
    else
        snprintf(list->text + used, sizeof list->text - used, ", %s", name);
}

/* Returns the names, with the number of those that did not fit. */
static const char *list_text(struct list *list)
{
    const size_t used = strlen(list->text);
    if (list->left_off)
        snprintf(list->text + used, sizeof list->text - used, " and %zu more", list->left_off);
    list->left_off = 0;
    return list->text;
}

/* ---- machine code ---- */

/* Adds the kernels of an entry with machine code to the list. Sets *has to true if it has the
 * kernel `wanted`, which may be NULL. */
static enum fth_status list_machine_code(const struct search *search,
                                         const struct fth_fatbin_entry *entry, const char *wanted,
                                         struct list *list, bool *has, struct fth_error *error)
{
    struct fth_buffer names = {0};
    enum fth_status status = fth_fatbin_kernels(search->fatbin, entry, &names, error);
    for (size_t at = 0; at < names.size && status == FTH_OK; at += strlen(names.data + at) + 1) {
        list_name(list, names.data + at);
        *has = *has || (wanted && strcmp(names.data + at, wanted) == 0);
    }
    fth_buffer_fini(&names);
    return status;
}

/* Fails if a kernel that no PTX module has is there as machine code. Without PTX, fails in any
 * case. A kernel that is there for several architectures is listed once: only the first entry with
 * machine code of a container counts. */
static enum fth_status refuse_machine_code(const struct search *search, const char *wanted,
                                           struct fth_error *error)
{
    struct list kernels = {0};
    size_t container = SIZE_MAX;
    bool has = false;
    for (size_t i = 0; i < search->fatbin->count; i++) {
        const struct fth_fatbin_entry *entry = &search->fatbin->entries[i];
        if (entry->kind != FTH_FATBIN_CUBIN || entry->container == container)
            continue;
        container = entry->container;
        FTH_TRY(list_machine_code(search, entry, wanted, &kernels, &has, error));
    }
    if (has)
        return fth_fail(error, FTH_UNSUPPORTED, operation, wanted,
                        "the file has only machine code of this kernel; fathom executes PTX, which "
                        "'nvcc " ADD_PTX "' adds");
    if (search->module_count)
        return FTH_OK;
    if (!kernels.text[0])
        return fth_fail(error, FTH_INVALID, operation, search->path,
                        "the file contains neither PTX nor kernels");
    return fth_fail(
        error, FTH_UNSUPPORTED, operation, search->path,
        "the file has machine code but no PTX; fathom executes PTX, which 'nvcc " ADD_PTX
        "' adds; kernels: %s",
        list_text(&kernels));
}

/* ---- PTX ---- */

/* Returns whether a module has all kernels of the search; without any, whether it has a kernel. */
static bool has_kernels(const struct search *search, const struct fth_ptx_module *module)
{
    for (size_t i = 0; i < search->kernel_count; i++)
        if (!fth_ptx_kernel(module, search->kernels[i]))
            return false;
    return fth_ptx_kernel_at(module, 0) != NULL;
}

/* Keeps a module that has the kernels if it is the first one, and counts it. Two translation units
 * with the same text are one module. Takes ownership of both. */
static void keep(struct search *search, const struct fth_fatbin_entry *entry,
                 struct fth_buffer *text, struct fth_ptx_module *module)
{
    char description[96], target[32];
    const bool same = search->match_count && text->size == search->text.size &&
                      memcmp(text->data, search->text.data, text->size) == 0;
    if (!same) {
        search->match_count++;
        snprintf(description, sizeof description, "module %zu (%s%s%.*s)", entry->container + 1,
                 fth_fatbin_target_format(entry, target, sizeof target), entry->name ? ", " : "",
                 (int)FTH_MIN(entry->name_bytes, 40), entry->name ? entry->name : "");
        list_name(&search->matches, description);
    }
    if (search->module) {
        fth_ptx_destroy(module);
        fth_buffer_fini(text);
        return;
    }
    search->module = module;
    search->text = *text;
}

/* Parses the PTX of one entry, and keeps it if it has the kernels. A module that cannot be parsed
 * is left out; the others may have the kernels. */
static enum fth_status visit(struct search *search, const struct fth_fatbin_entry *entry,
                             struct fth_error *error)
{
    struct fth_buffer text = {0};
    struct fth_ptx_module *module = NULL;
    struct fth_error refused = FTH_NO_ERROR;
    const struct fth_ptx_kernel *kernel;
    search->module_count++;
    search->text_bytes += entry->unpacked_bytes;
    if (search->text_bytes > FTH_PTX_LIMIT->bytes)
        return fth_fail(error, FTH_INVALID, "read fat binary", search->path,
                        "the PTX of all modules is larger than 256 MiB, the limit for a file with "
                        "PTX");
    enum fth_status status = fth_fatbin_unpack(search->fatbin, entry, &text, error);
    if (status == FTH_OK) {
        status = fth_ptx_read_text(search->path, text.data, text.size, &module, &refused);
        if (status == FTH_NO_MEMORY)
            fth_error_move(error, &refused);
        else if (status != FTH_OK) {
            fth_error_move(&search->refused, &refused); /* keeps the first one */
            status = FTH_OK;
        }
    }
    for (size_t i = 0; module && (kernel = fth_ptx_kernel_at(module, i)); i++)
        list_name(&search->names, kernel->name);
    if (module && has_kernels(search, module)) {
        keep(search, entry, &text, module);
        return status;
    }
    fth_ptx_destroy(module);
    fth_buffer_fini(&text);
    return status;
}

/* Fails, because no module or several modules have the kernels. */
static enum fth_status explain(struct search *search, struct fth_error *error)
{
    const char *first = search->kernel_count ? search->kernels[0] : "";
    if (search->match_count > 1 && search->kernel_count == 0)
        return fth_fail(error, FTH_NOT_FOUND, operation, "",
                        "the file has %zu modules; choose one of their kernels: %s",
                        search->match_count, list_text(&search->names));
    if (search->match_count > 1)
        return fth_fail(error, FTH_NOT_FOUND, operation, first,
                        "%zu modules of the file have this kernel: %s; extract one with 'cuobjdump "
                        "-xptx all %s', and give the PTX file",
                        search->match_count, list_text(&search->matches), search->path);
    FTH_TRY(refuse_machine_code(search, search->kernel_count == 1 ? first : NULL, error));
    if (search->refused.status != FTH_OK)
        return fth_error_move(error, &search->refused);
    if (!search->names.text[0])
        return fth_fail(error, FTH_INVALID, "read PTX", search->path,
                        "the file contains no kernel (.entry)");
    if (search->kernel_count <= 1)
        return fth_fail(error, FTH_NOT_FOUND, operation, first,
                        "choose one of the kernels of the file: %s", list_text(&search->names));
    return fth_fail(error, FTH_NOT_FOUND, operation, first,
                    "no module of the file has all kernels of the launches, which must be in one "
                    "translation unit; kernels of the file: %s",
                    list_text(&search->names));
}

static enum fth_status find_module(struct search *search, struct fth_error *error)
{
    for (size_t i = 0; i < search->fatbin->container_count; i++) {
        const struct fth_fatbin_entry *entry = fth_fatbin_choose(search->fatbin, i, ENGINE_TARGET);
        if (!entry)
            entry = fth_fatbin_lowest(search->fatbin, i);
        if (entry)
            FTH_TRY(visit(search, entry, error));
    }
    return search->match_count == 1 ? FTH_OK : explain(search, error);
}

enum fth_status fth_launch_parse_ptx(struct fth_launch *launch, const char *const *kernels,
                                     size_t kernel_count, struct fth_error *error)
{
    struct fth_fatbin fatbin;
    const char *content = launch->ptx.data ? launch->ptx.data : "";
    if (!fth_fatbin_is_image(content, launch->ptx.size))
        return fth_ptx_read_text(launch->ptx_path, content, launch->ptx.size, &launch->module,
                                 error);
    FTH_TRY(fth_fatbin_open(launch->ptx_path, content, launch->ptx.size, &fatbin, error));
    struct search search = {.path = launch->ptx_path,
                            .fatbin = &fatbin,
                            .kernels = kernels,
                            .kernel_count = kernel_count};
    const enum fth_status status = find_module(&search, error);
    fth_fatbin_fini(&fatbin);
    if (status != FTH_OK) {
        fth_ptx_destroy(search.module);
        fth_buffer_fini(&search.text);
        return status;
    }
    fth_buffer_fini(&launch->ptx);
    launch->ptx = search.text;
    launch->module = search.module;
    return FTH_OK;
}
