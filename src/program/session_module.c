/* The modules of a session. Each has a machine of its own in the PTX engine; all machines share one
 * memory. */
#include "program/session_parts.h"

#include <stdlib.h>

enum fth_status fth_session_load(struct fth_session *session, const char *name, const char *ptx,
                                 size_t size, struct fth_session_module **out,
                                 struct fth_error *error)
{
    struct fth_session_module *module = *out = calloc(1, sizeof *module);
    if (!module)
        return fth_no_memory(error, "load module", name);
    enum fth_status status = fth_ptx_read_text_at(
        name, ptx, size, fth_ptx_next_address(session->memory), &module->ptx, error);
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

void fth_session_unload(struct fth_session *session, struct fth_session_module *module)
{
    struct fth_session_module **link = &session->modules;
    while (*link && *link != module)
        link = &(*link)->next;
    if (!*link)
        return;
    *link = module->next;
    fth_ptx_machine_destroy(module->machine);
    fth_ptx_destroy(module->ptx);
    free(module);
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
