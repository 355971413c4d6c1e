/* What an instruction does, as far as the slice is concerned: decided by its opcode. An opcode that
 * is not listed makes the engine execute the kernel in full. */
#include "ptx/slice/slice.h"

#include <stdlib.h>
#include <string.h>

static bool begins_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* True if the opcode is one of the words, without modifiers. */
static bool is_one_of(const char *opcode, const char *const *words, size_t count)
{
    const size_t size = strcspn(opcode, ".");
    for (size_t i = 0; i < count; i++)
        if (strlen(words[i]) == size && memcmp(words[i], opcode, size) == 0)
            return true;
    return false;
}

/* Instructions that only compute their results from their operands, the special registers and the
 * lanes that take part. */
static bool is_pure(const struct fth_ptx_inst *inst)
{
    static const char *const words[] = {
        "abs",       "activemask", "add",      "and",   "bfe",       "bfi",       "bfind",
        "bmsk",      "brev",       "clz",      "cnot",  "copysign",  "cos",       "createpolicy",
        "cvt",       "cvta",       "div",      "dp2a",  "dp4a",      "elect",     "ex2",
        "fma",       "fns",        "isspacep", "lg2",   "lop3",      "mad",       "mad24",
        "match",     "max",        "min",      "mma",   "mov",       "movmatrix", "mul",
        "mul24",     "neg",        "not",      "or",    "popc",      "prmt",      "rcp",
        "redux",     "rem",        "rsqrt",    "sad",   "selp",      "set",       "setp",
        "shf",       "shfl",       "shl",      "shr",   "sin",       "slct",      "sqrt",
        "sub",       "szext",      "tanh",     "testp", "vabsdiff4", "vote",      "xor",
        "getctarank"};
    return inst->run == fth_ptx_run_special || is_one_of(inst->opcode, words, FTH_COUNT(words)) ||
           begins_with(inst->opcode, "wmma.mma") ||
           /* A kernel argument at a constant address. */
           (begins_with(inst->opcode, "ld.param") && inst->space == SPACE_ARGUMENT &&
            inst->s[0] < 0);
}

/* Copies and the instructions that wait for them. */
static enum fth_slice_class classify_copy(const char *opcode)
{
    static const char *const waits[] = {"cp.async.commit_group",      "cp.async.wait_group",
                                        "cp.async.wait_all",          "cp.async.mbarrier",
                                        "cp.async.bulk.commit_group", "cp.async.bulk.wait_group",
                                        "cp.async.bulk.prefetch"};
    for (size_t i = 0; i < FTH_COUNT(waits); i++)
        if (begins_with(opcode, waits[i]))
            return SLICE_ALWAYS;
    if (begins_with(opcode, "cp.async.bulk.tensor") ||
        begins_with(opcode, "cp.reduce.async.bulk.tensor"))
        return SLICE_TENSOR;
    if (begins_with(opcode, "cp.async.bulk") || begins_with(opcode, "cp.reduce.async.bulk"))
        return SLICE_BULK;
    return begins_with(opcode, "cp.async") ? SLICE_COPY : SLICE_UNKNOWN;
}

static enum fth_slice_class classify(const struct fth_ptx_inst *inst)
{
    static const char *const loads[] = {"ld", "ldu", "ldmatrix"}, *const stores[] = {"st",
                                                                                     "stmatrix"};
    static const char *const atomics[] = {"atom", "red"}, *const textures[] = {"tex"};
    /* mapa fails for ranks outside of the cluster. addc, subc and madc read the carry flag, which
     * is not an operand. */
    static const char *const always[] = {
        "addc",          "subc",      "madc",           "mapa",      "mbarrier",
        "fence",         "membar",    "prefetch",       "prefetchu", "discard",
        "applypriority", "nanosleep", "griddepcontrol", "setmaxnreg"};
    const char *opcode = inst->opcode;
    if (inst->operands->is_spill)
        return SLICE_SPILL;
    if (inst->control != K_NONE && inst->control != K_CONVERGE)
        return SLICE_CONTROL;
    if (inst->flags & F_CC && !begins_with(opcode, "mbarrier"))
        return SLICE_ALWAYS;
    /* st.async, red.async, and atomics on vectors and 128 bits: their operands are in `detail`. */
    if (inst->detail &&
        (begins_with(opcode, "st.") || begins_with(opcode, "atom.") || begins_with(opcode, "red.")))
        return SLICE_UNKNOWN;
    if (is_pure(inst))
        return SLICE_PURE;
    if (is_one_of(opcode, loads, FTH_COUNT(loads)) || begins_with(opcode, "wmma.load"))
        return SLICE_LOAD;
    if (is_one_of(opcode, stores, FTH_COUNT(stores)) || begins_with(opcode, "wmma.store"))
        return SLICE_STORE;
    if (is_one_of(opcode, atomics, FTH_COUNT(atomics)))
        return SLICE_ATOMIC;
    if (is_one_of(opcode, textures, FTH_COUNT(textures)))
        return SLICE_TEXTURE;
    if (is_one_of(opcode, always, FTH_COUNT(always)))
        return SLICE_ALWAYS;
    if (begins_with(opcode, "wgmma")) /* the others have no effect */
        return begins_with(opcode, "wgmma.mma_async") ? SLICE_PRODUCT : SLICE_PURE;
    if (begins_with(opcode, "tensormap"))
        return SLICE_TENSORMAP;
    return classify_copy(opcode);
}

const uint8_t *fth_slice_classes(struct fth_ptx_machine *machine, size_t function)
{
    const struct fth_ptx_function *source = &machine->module->functions[function];
    if (!machine->slice_classes)
        machine->slice_classes =
            calloc(machine->module->function_count, sizeof *machine->slice_classes);
    if (!machine->slice_classes)
        return NULL;
    uint8_t **classes = &machine->slice_classes[function];
    if (!*classes) {
        *classes = malloc(source->code_count + 1);
        for (size_t pc = 0; *classes && pc < source->code_count; pc++)
            (*classes)[pc] = (uint8_t)classify(&source->code[pc]);
    }
    return *classes;
}
