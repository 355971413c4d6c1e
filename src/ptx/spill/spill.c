/* Decides whether a kernel spills, and runs the steps of the estimate. */
#include "ptx/spill/spill.h"

#include <stdlib.h>

/* Registers of the machine that no value gets: the stack pointer. */
enum { RESERVED = 1 };

/* A kernel is changed if it needs more than MARGIN registers beyond its limit, because false spills
 * are worse than missing ones. ptxas moves loads ahead of their users, which takes registers: with
 * as many fewer as the kernel needs too many, but at most WORKING, the estimated bytes are closest
 * to those of ptxas. Both were chosen with ptxas 13.0 (docs/model/spills.md). */
enum { MARGIN = 1, WORKING = 8 };
/* ptxas needs much fewer registers than the orders of this estimate for some kernels that use
 * tensor cores. They are changed only if they need this fraction of their limit more. */
enum { MATRIX_MARGIN = 2 };

static void fini(struct fth_spill *spill)
{
    free(spill->live);
    free(spill->values);
    free(spill->uses);
    free(spill->numbers);
    free(spill->blocks);
    free(spill->edges);
    free(spill->order);
    free(spill->accesses);
}

/* Returns the most registers that a block of the kernel needs, or that all of them need. */
static uint32_t find_pressure(const struct fth_spill *spill, uint64_t *set)
{
    uint32_t most = 0;
    for (uint32_t b = 0; b < spill->block_count; b++) {
        const uint32_t needed = fth_spill_pressure(spill, &spill->blocks[b], spill->order, set);
        most = needed > most ? needed : most;
    }
    return most;
}

/* Returns true if the pass does not know how an assembler treats the function. */
static bool is_unknown(const struct fth_ptx_module *module, const struct fth_ptx_function *function)
{
    if (!function->is_kernel || !function->has_body || function->unsupported ||
        module->keeps_variables)
        return true;
    for (size_t pc = 0; pc < function->code_count; pc++)
        if (function->code[pc].control == K_CALL || function->code[pc].control == K_CALL_INDIRECT)
            return true;
    return false;
}

/* Returns how many registers beyond the limit a function must need to be changed. */
static uint32_t margin_of(const struct fth_ptx_function *function, uint32_t limit)
{
    static const char *const bases[] = {"mma", "wmma", "wgmma", "ldmatrix"};
    for (size_t pc = 0; pc < function->code_count; pc++)
        for (size_t i = 0; i < FTH_COUNT(bases); i++)
            if (fth_ptx_is_opcode(&function->code[pc], bases[i]))
                return limit / MATRIX_MARGIN;
    return MARGIN;
}

bool fth_spill_kernel(struct fth_ptx_module *module, struct fth_ptx_function *function,
                      uint32_t limit, bool inserts, struct fth_spill_result *result)
{
    struct fth_spill spill = {.module = module, .function = function};
    *result =
        (struct fth_spill_result){.limit = limit ? limit : fth_spill_limit(&function->kernel)};
    if (is_unknown(module, function))
        return true;
    spill.limit = result->limit - RESERVED;
    uint64_t *set = NULL;
    bool ok = fth_spill_find_values(&spill) && fth_spill_find_blocks(&spill);
    if (ok) {
        spill.order = calloc(function->code_count + 1, sizeof *spill.order);
        set = calloc(fth_spill_words(&spill) + 1, sizeof *set);
        ok = spill.order && set;
    }
    for (uint32_t pc = 0; ok && pc < function->code_count; pc++)
        spill.order[pc] = pc;
    if (ok)
        result->written = result->scheduled = find_pressure(&spill, set);
    if (ok && result->written > spill.limit) {
        ok = fth_spill_find_order(&spill);
        result->scheduled = ok ? find_pressure(&spill, set) : 0;
    }
    if (ok && result->scheduled > spill.limit + margin_of(function, result->limit)) {
        const uint32_t excess = result->scheduled - spill.limit;
        spill.limit -= excess < WORKING ? excess : WORKING;
        ok = fth_spill_choose(&spill);
        for (size_t i = 0; ok && i < spill.access_count; i++) {
            const uint32_t bytes = 4u * spill.values[spill.accesses[i].value].weight;
            const bool is_store = spill.accesses[i].is_store;
            *(is_store ? &result->stores : &result->loads) += 1;
            *(is_store ? &result->store_bytes : &result->load_bytes) += bytes;
        }
        ok = ok && (!inserts || fth_spill_insert(module, function, &spill, result));
    }
    free(set);
    fini(&spill);
    return ok;
}

enum fth_status fth_ptx_add_spills(struct fth_ptx_module *module, struct fth_error *error)
{
    for (size_t i = 0; i < module->function_count; i++) {
        struct fth_spill_result result;
        if (!fth_spill_kernel(module, &module->functions[i], 0, true, &result))
            return fth_no_memory(error, "read PTX", module->name);
        struct fth_ptx_kernel *kernel = &module->functions[i].kernel;
        kernel->register_limit = result.limit;
        kernel->spill_stores = result.stores;
        kernel->spill_loads = result.loads;
        kernel->spill_bytes = result.frame_bytes;
    }
    return FTH_OK;
}

void fth_ptx_note_spills(const struct fth_ptx_kernel *kernel, const struct fth_log *log)
{
    if (kernel->spill_stores || kernel->spill_loads)
        fth_log_message(log, FTH_LOG_INFO,
                        "kernel '%s': estimated spills of %u bytes per thread, because it needs "
                        "more than %u registers: %u stores and %u loads of local memory are added; "
                        "--no-spills leaves them out",
                        kernel->display_name, kernel->spill_bytes, kernel->register_limit,
                        kernel->spill_stores, kernel->spill_loads);
}
