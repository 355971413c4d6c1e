/* Finds kernels whose results depend on the order in which threads execute atomics. A GPU chooses
 * this order, so that its results can differ from those of the engine, and from run to run. */
#include "ptx/engine.h"

#include <string.h>

static bool is_float(enum fth_ptx_type type)
{
    switch (type) {
    case T_F16:
    case T_F16X2:
    case T_BF16:
    case T_BF16X2:
    case T_F32:
    case T_F64: return true;
    default: return false;
    }
}

/* Sets the fields of *found from an atomic, unless it already has one of the same kind. */
static void look_at(const struct fth_ptx_inst *inst, struct fth_ptx_atomic_order *found)
{
    const bool is_atom = fth_ptx_is_opcode(inst, "atom");
    if (!is_atom && !fth_ptx_is_opcode(inst, "red") && !fth_ptx_is_opcode(inst, "multimem"))
        return;
    /* Vectors have their types elsewhere. */
    const bool adds = strstr(inst->opcode, ".add") &&
                      (is_float((enum fth_ptx_type)inst->type) || strstr(inst->opcode, "f16") ||
                       strstr(inst->opcode, ".f32"));
    if (adds && !found->float_line)
        found->float_line = inst->line;
    else if (!adds && is_atom && !found->result_line)
        found->result_line = inst->line;
}

struct fth_ptx_atomic_order fth_ptx_find_atomic_order(const struct fth_ptx_module *module,
                                                      const char *kernel)
{
    struct fth_ptx_atomic_order found = {0, 0};
    for (size_t i = 0; i < module->function_count; i++) {
        const struct fth_ptx_function *function = &module->functions[i];
        if (function->is_kernel && strcmp(function->name, kernel) != 0)
            continue;
        for (size_t j = 0; j < function->code_count; j++)
            look_at(&function->code[j], &found);
    }
    return found;
}
