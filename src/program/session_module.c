/* The modules of a session. Variables of different modules have different addresses, also those of
 * suspended modules. Each has a machine of its own in the PTX engine; all machines share one
 * memory. */
#include "fatbin/fatbin.h"
#include "program/session_parts.h"

#include <stdlib.h>

/* Adds the accesses of registers that the assembler spills, which the trace is to have. */
static enum fth_status add_spills(struct fth_ptx_module *module, const struct fth_log *log,
                                  struct fth_error *error)
{
    const struct fth_ptx_kernel *kernel;
    FTH_TRY(fth_ptx_add_spills(module, error));
    for (size_t i = 0; (kernel = fth_ptx_kernel_at(module, i)); i++)
        fth_ptx_note_spills(kernel, log);
    return FTH_OK;
}

enum fth_status fth_session_load(struct fth_session *session, const char *name, const char *ptx,
                                 size_t size, struct fth_session_module **module,
                                 struct fth_error *error)
{
    return fth_session_load_placed(session, name, ptx, size, NULL, 0, module, error);
}

enum fth_status fth_session_load_placed(struct fth_session *session, const char *name,
                                        const char *ptx, size_t size,
                                        const struct fth_ptx_placement *placements,
                                        size_t placement_count, struct fth_session_module **out,
                                        struct fth_error *error)
{
    struct fth_session_module *module = *out = calloc(1, sizeof *module);
    if (!module)
        return fth_no_memory(error, "load module", name);
    const uint64_t next = fth_ptx_next_address(session->memory);
    enum fth_status status = fth_ptx_read_text_placed(
        name, ptx, size, next > session->variables_end ? next : session->variables_end, placements,
        placement_count, &module->ptx, error);
    if (status == FTH_OK && session->options.trace && !session->options.no_spills)
        status = add_spills(module->ptx, session->options.log, error);
    if (status == FTH_OK)
        status =
            fth_ptx_machine_create_shared(session->memory, module->ptx, &module->machine, error);
    if (status != FTH_OK) {
        fth_ptx_destroy(module->ptx);
        free(module);
        *out = NULL;
        return status;
    }
    module->next = session->modules;
    session->modules = module;
    return FTH_OK;
}

void fth_session_suspend(struct fth_session *session, struct fth_session_module *module)
{
    const uint64_t next = fth_ptx_next_address(session->memory);
    if (next > session->variables_end)
        session->variables_end = next;
    fth_ptx_machine_destroy(module->machine);
    module->machine = NULL;
}

enum fth_status fth_session_resume(struct fth_session *session, struct fth_session_module *module,
                                   struct fth_error *error)
{
    return fth_ptx_machine_create_shared(session->memory, module->ptx, &module->machine, error);
}

/* Fills the error for a container without PTX: names a kernel, so that the user finds
 * the source file, and how to compile it. */
static enum fth_status fail_without_ptx(const struct fth_fatbin *fatbin, uint32_t architecture,
                                        struct fth_error *error)
{
    struct fth_buffer kernels = {0};
    char name[FTH_NAME_BYTES] = "?";
    for (size_t i = 0; i < fatbin->count && kernels.size == 0; i++)
        if (fatbin->entries[i].kind == FTH_FATBIN_CUBIN &&
            fth_fatbin_kernels(fatbin, &fatbin->entries[i], &kernels, NULL) != FTH_OK)
            kernels.size = 0; /* the entry is damaged; there may be another one */
    if (kernels.size)
        fth_demangle(kernels.data, FTH_NAME_SHORT, name, sizeof name);
    fth_fail(error, FTH_UNSUPPORTED, "load module", fatbin->name,
             "the code of kernel '%s' has no PTX; compile it with 'nvcc -gencode "
             "arch=compute_%u,code=compute_%u'",
             name, architecture, architecture);
    fth_buffer_fini(&kernels);
    return FTH_UNSUPPORTED;
}

enum fth_status fth_session_load_image(struct fth_session *session, const char *name,
                                       const void *container, uint32_t architecture,
                                       struct fth_session_module **module, struct fth_error *error)
{
    struct fth_fatbin fatbin;
    struct fth_buffer ptx = {0};
    *module = NULL;
    FTH_TRY(fth_fatbin_open_memory(name, container, &fatbin, error));
    const struct fth_fatbin_entry *entry = fth_fatbin_choose(&fatbin, 0, architecture);
    if (!entry)
        entry = fth_fatbin_lowest(&fatbin, 0);
    enum fth_status status = entry ? fth_fatbin_unpack(&fatbin, entry, &ptx, error)
                                   : fail_without_ptx(&fatbin, architecture, error);
    if (status == FTH_OK)
        status = fth_session_load(session, name, ptx.data, ptx.size, module, error);
    fth_buffer_fini(&ptx);
    fth_fatbin_fini(&fatbin);
    return status;
}

void fth_session_unload(struct fth_session *session, struct fth_session_module *module)
{
    struct fth_session_module **link = &session->modules;
    while (*link && *link != module)
        link = &(*link)->next;
    if (!*link)
        return;
    *link = module->next;
    fth_ptx_machine_destroy(module->machine);
    fth_ptx_debug_close(module->debug);
    fth_ptx_destroy(module->ptx);
    free(module);
}

enum fth_status fth_session_debug(struct fth_session_module *module,
                                  const struct fth_ptx_debug **debug, struct fth_error *error)
{
    *debug = NULL;
    if (!module->has_read_debug)
        FTH_TRY(fth_ptx_debug_open(module->ptx, &module->debug, error));
    module->has_read_debug = true;
    *debug = module->debug;
    return FTH_OK;
}

const struct fth_ptx_kernel *fth_session_kernel(const struct fth_session_module *module,
                                                const char *name)
{
    return fth_ptx_kernel(module->ptx, name);
}

const struct fth_ptx_kernel *fth_session_kernel_at(const struct fth_session_module *module,
                                                   size_t index)
{
    return fth_ptx_kernel_at(module->ptx, index);
}

bool fth_session_variable(const struct fth_session_module *module, const char *name,
                          uint64_t *address, uint64_t *bytes)
{
    return fth_ptx_symbol(module->machine, name, address, bytes);
}
