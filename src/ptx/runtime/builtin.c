/* Calls of the functions of the CUDA runtime. The lanes execute their calls one after the other,
 * from lane 0 on. A function with one of these names counts only if the file declares it with the
 * arguments and results that the runtime's function has. */
#include "ptx/runtime/runtime.h"

enum { MAX_ARGUMENTS = 5 };

static const struct {
    const char *name;
    enum fth_ptx_builtin builtin;
    uint8_t result;                   /* bytes; 0: none */
    uint8_t arguments[MAX_ARGUMENTS]; /* bytes of each; 0 after the last one */
} builtins[] = {
    {"vprintf", BUILTIN_PRINTF, 4, {8, 8}},
    {"__assertfail", BUILTIN_ASSERT, 0, {8, 8, 4, 8, 8}},
    {"malloc", BUILTIN_MALLOC, 8, {8}},
    {"__cuda_syscall_aligned_malloc", BUILTIN_ALIGNED_MALLOC, 8, {8, 8}},
    {"free", BUILTIN_FREE, 0, {8}},
};

static bool is_slot(const struct fth_ptx_slot *slot, uint64_t bytes)
{
    return slot->row == NO_REGISTER && slot->bytes == bytes;
}

enum fth_ptx_builtin fth_ptx_find_builtin(const struct fth_ptx_function *function)
{
    for (size_t i = 0; i < FTH_COUNT(builtins); i++) {
        if (strcmp(function->name, builtins[i].name) != 0)
            continue;
        size_t count = 0;
        bool fits = function->result_count == (builtins[i].result != 0) &&
                    (!builtins[i].result || is_slot(&function->results[0], builtins[i].result));
        for (; count < MAX_ARGUMENTS && builtins[i].arguments[count]; count++)
            fits = fits && count < function->argument_count &&
                   is_slot(&function->arguments[count], builtins[i].arguments[count]);
        return fits && count == function->argument_count ? builtins[i].builtin : BUILTIN_NONE;
    }
    return BUILTIN_NONE;
}

uint64_t fth_ptx_builtin_argument(const struct fth_ptx_builtin_call *call, size_t index)
{
    const struct fth_ptx_slot *slot = &call->site->arguments[index];
    uint64_t value = 0;
    memcpy(&value, fth_ptx_slot_place(call->warp, call->warp->frame, slot, (uint64_t)call->lane),
           slot->bytes);
    return value;
}

void fth_ptx_builtin_return(const struct fth_ptx_builtin_call *call, uint64_t value)
{
    const struct fth_ptx_slot *slot = &call->site->results[0];
    memcpy(fth_ptx_slot_place(call->warp, call->warp->frame, slot, (uint64_t)call->lane), &value,
           slot->bytes);
}

/* Returns the host address of one byte at a generic address. Reports a fault and returns NULL if
 * there is none. */
static const uint8_t *find_byte(const struct fth_ptx_builtin_call *call, uint64_t address)
{
    struct fth_ptx_lane_group group;
    struct fth_ptx_inst load = *call->inst;
    uint64_t base[LANES];
    uint32_t mask = 1u << call->lane;
    load.space = FTH_SPACE_GENERIC;
    load.offset = 0;
    base[call->lane] = address;
    return fth_ptx_resolve_addresses(call->warp, &load, base, &mask, 1, false, &group)
               ? group.host[call->lane]
               : NULL;
}

bool fth_ptx_builtin_read(const struct fth_ptx_builtin_call *call, uint64_t address, void *data,
                          size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        const uint8_t *byte = find_byte(call, address + i);
        if (!byte)
            return false;
        ((uint8_t *)data)[i] = *byte;
    }
    return true;
}

bool fth_ptx_builtin_text(const struct fth_ptx_builtin_call *call, uint64_t address, size_t max,
                          struct fth_buffer *text)
{
    for (size_t i = 0; i < max; i++) {
        const uint8_t *byte = find_byte(call, address + i);
        if (!byte)
            return false;
        if (!*byte)
            return true;
        fth_buffer_append(text, byte, 1);
    }
    return true;
}

/* The arguments are the expression, the file, the line, the function, and the size of a char. */
static void call_assert(const struct fth_ptx_builtin_call *call)
{
    enum { MAX_TEXT = 120 }; /* bytes of each; the message has space for three of them */
    struct fth_buffer texts[3] = {{0}};
    static const size_t order[] = {1, 3, 0}; /* file, function, expression */
    bool ok = true;
    for (size_t i = 0; i < FTH_COUNT(texts) && ok; i++) {
        fth_buffer_text(&texts[i], "");
        ok = fth_ptx_builtin_text(call, fth_ptx_builtin_argument(call, order[i]), MAX_TEXT,
                                  &texts[i]);
    }
    if (ok && (texts[0].failed || texts[1].failed || texts[2].failed))
        fth_ptx_run_no_memory(call->warp->block->run);
    else if (ok) {
        call->warp->fault = FTH_FAULT_ASSERTION;
        fth_ptx_warp_fault(call->warp, call->inst, call->lane, "assertion failed: %s:%u: %s: %s",
                           texts[0].data, (unsigned)fth_ptx_builtin_argument(call, 2),
                           texts[1].data, texts[2].data);
    }
    for (size_t i = 0; i < FTH_COUNT(texts); i++)
        fth_buffer_fini(&texts[i]);
}

/* Returns the alignment, or 1 for a value that is not a power of two. */
static uint64_t alignment(uint64_t value)
{
    return value && !(value & (value - 1)) ? value : 1;
}

void fth_ptx_run_builtin(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst,
                         enum fth_ptx_builtin builtin, uint32_t lanes)
{
    const struct fth_ptx_call_site *site = &warp->block->run->module->calls[inst->target];
    for (uint32_t left = lanes; left && !warp->failed; left &= left - 1) {
        const struct fth_ptx_builtin_call call = {warp, inst, site, first_lane(left)};
        switch (builtin) {
        case BUILTIN_PRINTF: fth_ptx_call_printf(&call); break;
        case BUILTIN_ASSERT: call_assert(&call); break;
        case BUILTIN_FREE: fth_ptx_call_free(&call); break;
        case BUILTIN_ALIGNED_MALLOC:
            fth_ptx_call_malloc(&call, fth_ptx_builtin_argument(&call, 0),
                                alignment(fth_ptx_builtin_argument(&call, 1)));
            break;
        default: fth_ptx_call_malloc(&call, fth_ptx_builtin_argument(&call, 0), 1); break;
        }
    }
}
