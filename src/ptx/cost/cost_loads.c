/* Finds loads from global memory that an assembler removes or makes narrower.
 *
 * ptxas 13.0 for sm_90 loads a value once if the program loads it several times: a load is
 * *redundant* if on all paths to it, the same value has been loaded or stored, and nothing has
 * happened since that might change it. "The same" means the same address (the same register, or
 * registers that differ by a constant), size, extension of the sign, cache operator and hints. The
 * elements of a vector count one by one. A load is *unused* if no instruction with an effect
 * depends on its result. ptxas removes both. Where only some elements of a vector are used, it
 * loads these.
 *
 * What might change a value: other writes to global memory, barriers, fences, calls, waits for
 * copies, prefetches, and instructions with a slow path that is a call, such as div.rn.f32. ptxas
 * does not use a value that was loaded before a loop, or in it, after the loop. Nothing changes the
 * value of ld.global.nc.
 *
 * The analysis is a data flow of available values: a set per basic block, whose elements are all
 * values that the function loads. */
#include "ptx/cost/cost.h"
#include "ptx/parse/parser.h"

#include <stdlib.h>

enum { MAX_ELEMENTS = 4 };

/* A value in memory, as one load or store accesses it. */
struct value {
    int32_t root; /* the register with the address */
    int32_t policy;
    int64_t offset;    /* from the address */
    uint64_t variant;  /* size, extension, operator and hints */
    uint32_t *numbers; /* where the number of the value is stored */
};

struct load_scan {
    const struct fth_ptx_module *module;
    const struct fth_ptx_function *function;
    struct fth_ptx_operands *operands; /* [code_count] */
    const bool *leaders;               /* [code_count] */
    /* [operand_count] */
    uint32_t *write_counts;
    uint32_t *writers; /* the last instruction that writes the register */
    bool *needed;      /* an instruction with an effect depends on the register */
    /* [code_count][MAX_ELEMENTS] Numbers of the values that an instruction accesses, from 1; 0:
     * none. */
    uint32_t (*numbers)[MAX_ELEMENTS];
    /* Values by number, from 1. */
    size_t value_count, word_count;
    bool *value_needed;        /* an element of a removed load that is needed has the value */
    uint64_t *changing;        /* set of the values that writes can change */
    uint32_t *firsts, *counts; /* [operand_count] the values of a root are consecutive */
    uint32_t *blocks;          /* [code_count] number of the block */
    uint32_t block_count;
    uint64_t *sets;           /* [block_count][word_count] available at its start */
    uint64_t *current, *edge; /* [word_count] */
    uint32_t *loop_starts;    /* [code_count] start of the innermost loop; UINT32_MAX: none */
    uint32_t *loop_ends;      /* [code_count] its last instruction */
};

/* ---- instructions ---- */

static bool begins_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

static bool is_plain(const struct fth_ptx_inst *inst)
{
    return inst->operands->accesses && !(inst->flags & (F_VOLATILE | F_STRONG)) && !inst->detail;
}

static bool is_load(const struct fth_ptx_inst *inst)
{
    return is_plain(inst) && fth_ptx_is_opcode(inst, "ld");
}

static bool is_global_load(const struct fth_ptx_inst *inst)
{
    return is_load(inst) && inst->space == FTH_SPACE_GLOBAL;
}

static bool is_global_store(const struct fth_ptx_inst *inst)
{
    return is_plain(inst) && inst->space == FTH_SPACE_GLOBAL && fth_ptx_is_opcode(inst, "st");
}

static unsigned elements_of(const struct fth_ptx_inst *inst)
{
    return inst->vector ? inst->vector : 1;
}

static bool jumps(const struct fth_ptx_inst *inst)
{
    return inst->control == K_BRANCH || inst->control == K_BRANCH_TABLE ||
           inst->control == K_EXIT || inst->control == K_RETURN || inst->control == K_TRAP;
}

/* Returns true if ptxas calls a function, for some operands at least. */
static bool has_slow_path(const struct fth_ptx_inst *inst)
{
    const enum fth_ptx_type type = (enum fth_ptx_type)inst->type;
    if (begins_with(inst->opcode, "mma.")) /* the tensor cores have no 4-bit integers and no xor */
        return strstr(inst->opcode, ".s4") || strstr(inst->opcode, ".u4") ||
               strstr(inst->opcode, ".xor");
    if (fth_ptx_is_opcode(inst, "div") || fth_ptx_is_opcode(inst, "rem"))
        return fth_ptx_type_is_float(type) ? inst->rounding != R_NONE
                                           : fth_ptx_type_bytes(type) == 8;
    if (fth_ptx_is_opcode(inst, "sqrt") || fth_ptx_is_opcode(inst, "rcp"))
        return inst->rounding != R_NONE;
    return fth_ptx_is_opcode(inst, "rsqrt") && type == T_F64;
}

/* Returns true if the instruction can change values in global memory, or ptxas treats it so. */
static bool changes_memory(const struct fth_ptx_inst *inst)
{
    static const char *const others[] = {"membar",   "fence",          "nanosleep",
                                         "prefetch", "discard",        "applypriority",
                                         "cp.",      "griddepcontrol", "mbarrier.try_wait",
                                         "wgmma.",   "multimem",       "tensormap",
                                         "st.",      "red.",           "pmevent"};
    if (inst->control != K_NONE && inst->control != K_CONVERGE && !jumps(inst))
        return true;
    if (inst->operands->accesses)
        return inst->async != ASYNC_NONE ||
               ((fth_ptx_is_opcode(inst, "st") || fth_ptx_is_opcode(inst, "atom") ||
                 fth_ptx_is_opcode(inst, "red")) &&
                inst->space != FTH_SPACE_SHARED && inst->space != FTH_SPACE_LOCAL);
    if (begins_with(inst->opcode, "cp.async.commit_group") ||
        begins_with(inst->opcode, "cp.async.bulk.commit_group") ||
        begins_with(inst->opcode, "wgmma.commit_group"))
        return false;
    for (size_t i = 0; i < FTH_COUNT(others); i++)
        if (begins_with(inst->opcode, others[i]))
            return inst->space != SPACE_ARGUMENT;
    return has_slow_path(inst);
}

/* Lists what an instruction reads and writes, including the operands of calls and returns. */
static void list(const struct load_scan *scan, const struct fth_ptx_inst *inst,
                 struct fth_ptx_numbers *reads, struct fth_ptx_numbers *writes)
{
    fth_ptx_list_operands(scan->module, scan->function, inst, reads, writes);
}

/* ---- unused loads ---- */

/* Returns true if the instruction has no effect but its results. */
static bool is_pure(const struct fth_ptx_inst *inst)
{
    if (inst->control == K_CONVERGE)
        return !inst->operands->accesses && !inst->detail && inst->operands->write_count;
    return inst->control == K_NONE && inst->async == ASYNC_NONE && !inst->detail &&
           !inst->operands->drains && inst->operands->write_count &&
           (!inst->operands->accesses || is_load(inst));
}

static bool is_needed(const struct load_scan *scan, const struct fth_ptx_inst *inst)
{
    if (!is_pure(inst))
        return true;
    for (size_t i = 0; i < inst->operands->write_count; i++)
        if (scan->needed[inst->operands->writes[i]])
            return true;
    return false;
}

/* Finds the registers that instructions with an effect depend on. */
static void find_needed(struct load_scan *scan)
{
    struct fth_ptx_numbers reads, writes;
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t pc = scan->function->code_count; pc-- > 0;) {
            const struct fth_ptx_inst *inst = &scan->function->code[pc];
            if (!is_needed(scan, inst))
                continue;
            list(scan, inst, &reads, &writes);
            for (size_t i = 0; i < reads.count; i++)
                if (!scan->needed[reads.at[i]])
                    scan->needed[reads.at[i]] = changed = true;
        }
    }
}

/* ---- values ---- */

static void find_writers(struct load_scan *scan)
{
    struct fth_ptx_numbers reads, writes;
    for (uint32_t pc = 0; pc < scan->function->code_count; pc++) {
        list(scan, &scan->function->code[pc], &reads, &writes);
        for (size_t i = 0; i < writes.count; i++) {
            scan->write_counts[writes.at[i]]++;
            scan->writers[writes.at[i]] = pc;
        }
    }
}

/* Returns the register from which `*row` is computed by an addition of a constant, and adds the
 * constant to *offset. Both registers must have only one value in an iteration of a loop. */
static bool step_back(const struct load_scan *scan, int32_t *row, int64_t *offset)
{
    if (scan->write_counts[*row] != 1)
        return false;
    const struct fth_ptx_inst *inst = &scan->function->code[scan->writers[*row]];
    int32_t source = inst->s[0], constant = NO_REGISTER;
    if (inst->guarded || inst->vector || inst->d[0] != *row || inst->flags & ~(uint32_t)F_TO ||
        fth_ptx_type_bytes((enum fth_ptx_type)inst->type) != 8)
        return false;
    if (fth_ptx_is_opcode(inst, "add")) {
        source = inst->s[0] >= 0 ? inst->s[0] : inst->s[1];
        constant = inst->s[0] >= 0 ? inst->s[1] : inst->s[0];
        if (constant >= 0 || constant == NO_REGISTER)
            return false;
    } else if (!fth_ptx_is_opcode(inst, "mov") &&
               !(fth_ptx_is_opcode(inst, "cvta") && inst->space == FTH_SPACE_GLOBAL)) {
        return false;
    }
    if (source < 0 || scan->write_counts[source] != 1)
        return false;
    *row = source;
    *offset += constant == NO_REGISTER ? 0 : (int64_t)scan->module->pool[~constant][0];
    return true;
}

/* What distinguishes values at the same address. Stores have that of loads without hints. */
static uint64_t variant_of(const struct fth_ptx_inst *inst)
{
    const unsigned bytes = fth_ptx_type_bytes((enum fth_ptx_type)inst->type);
    const bool is_signed = bytes < 4 && (inst->type == T_S8 || inst->type == T_S16);
    const uint8_t priority = inst->l1_priority == FTH_PRIORITY_NORMAL ? 0 : inst->l1_priority;
    return bytes | (uint64_t)is_signed << 5 | (uint64_t)(inst->flags & F_NC ? 1 : 0) << 6 |
           (uint64_t)inst->cache_op << 8 | (uint64_t)priority << 16 |
           (uint64_t)inst->l2_priority << 24 | (uint64_t)inst->l2_bytes << 32;
}

static int compare_values(const void *a, const void *b)
{
    const struct value *x = a, *y = b;
#define COMPARE(member)                                                                            \
    if (x->member != y->member)                                                                    \
    return x->member < y->member ? -1 : 1
    COMPARE(root);
    COMPARE(offset);
    COMPARE(variant);
    COMPARE(policy);
#undef COMPARE
    return 0;
}

/* Adds the values that an instruction accesses. Returns their number. */
static size_t add_values(struct load_scan *scan, uint32_t pc, struct value *values)
{
    const struct fth_ptx_inst *inst = &scan->function->code[pc];
    if ((!is_global_load(inst) && !is_global_store(inst)) || inst->s[0] < 0 ||
        elements_of(inst) > MAX_ELEMENTS)
        return 0;
    const unsigned bytes = fth_ptx_type_bytes((enum fth_ptx_type)inst->type);
    struct value value = {.root = inst->s[0],
                          .policy = inst->policy,
                          .offset = inst->offset,
                          .variant = variant_of(inst)};
    while (step_back(scan, &value.root, &value.offset))
        continue;
    for (unsigned e = 0; e < elements_of(inst); e++) {
        values[e] = value;
        values[e].offset += (int64_t)e * bytes;
        values[e].numbers = &scan->numbers[pc][e];
    }
    return elements_of(inst);
}

/* Numbers the values. Returns true if an instruction loads a value that another one accesses; false
 * also when out of memory, and then sets *ok to false. */
static bool number_values(struct load_scan *scan, bool *ok)
{
    const size_t code_count = scan->function->code_count;
    struct value *values = calloc(code_count + 1, MAX_ELEMENTS * sizeof *values);
    size_t count = 0;
    *ok = values != NULL;
    for (uint32_t pc = 0; pc < code_count && *ok; pc++)
        count += add_values(scan, pc, values + count);
    if (count)
        qsort(values, count, sizeof *values, compare_values);
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || compare_values(&values[i - 1], &values[i]) != 0) {
            scan->value_count++;
            if (!scan->counts[values[i].root]++)
                scan->firsts[values[i].root] = (uint32_t)scan->value_count;
        }
        *values[i].numbers = (uint32_t)scan->value_count;
    }
    free(values);
    return count > scan->value_count;
}

/* ---- blocks and loops ---- */

/* Numbers the blocks and finds the innermost loop of each instruction: from the target of a
 * backward branch to the branch. */
static void find_blocks(struct load_scan *scan)
{
    const struct fth_ptx_function *function = scan->function;
    for (uint32_t pc = 0; pc < function->code_count; pc++) {
        scan->block_count += pc == 0 || scan->leaders[pc] || jumps(&function->code[pc - 1]);
        scan->blocks[pc] = scan->block_count - 1;
        scan->loop_starts[pc] = UINT32_MAX;
    }
    for (uint32_t pc = 0; pc < function->code_count; pc++) {
        const struct fth_ptx_inst *inst = &function->code[pc];
        if (inst->control != K_BRANCH || inst->target > pc)
            continue;
        for (uint32_t at = inst->target; at <= pc; at++)
            if (scan->loop_starts[at] == UINT32_MAX || scan->loop_starts[at] <= inst->target) {
                scan->loop_starts[at] = inst->target;
                scan->loop_ends[at] = pc;
            }
    }
}

/* ---- data flow ---- */

static bool has(const uint64_t *set, uint32_t number)
{
    return set[number / 64] >> number % 64 & 1;
}

static void insert(uint64_t *set, uint32_t number)
{
    set[number / 64] |= UINT64_C(1) << number % 64;
}

/* Removes the values that writes can change. */
static void forget_changing(const struct load_scan *scan, uint64_t *set)
{
    for (size_t i = 0; i < scan->word_count; i++)
        set[i] &= ~scan->changing[i];
}

/* Applies an instruction to the set of available values. */
static void apply(const struct load_scan *scan, uint32_t pc, uint64_t *set)
{
    const struct fth_ptx_inst *inst = &scan->function->code[pc];
    struct fth_ptx_numbers reads, writes;
    if (changes_memory(inst))
        forget_changing(scan, set);
    for (size_t e = 0; !inst->guarded && e < MAX_ELEMENTS && scan->numbers[pc][e]; e++)
        insert(set, scan->numbers[pc][e]);
    list(scan, inst, &reads, &writes);
    for (size_t i = 0; i < writes.count; i++)
        for (uint32_t k = 0; k < scan->counts[writes.at[i]]; k++) {
            const uint32_t number = scan->firsts[writes.at[i]] + k;
            set[number / 64] &= ~(UINT64_C(1) << number % 64);
        }
}

/* Passes the set at the end of instruction `from` on to the block at `to`. Returns true if fewer
 * values are available there than before. */
static bool pass(struct load_scan *scan, uint32_t from, uint32_t to)
{
    if (to >= scan->function->code_count)
        return false;
    uint64_t *target = scan->sets + scan->blocks[to] * scan->word_count;
    const bool leaves = scan->loop_starts[from] != UINT32_MAX &&
                        (to < scan->loop_starts[from] || to > scan->loop_ends[from]);
    bool changed = false;
    for (size_t i = 0; i < scan->word_count; i++) {
        const uint64_t next =
            target[i] & scan->current[i] & ~(leaves ? scan->changing[i] : UINT64_C(0));
        changed = changed || next != target[i];
        target[i] = next;
    }
    return changed;
}

/* Passes the set at the end of a block on to those that can follow. */
static bool pass_on(struct load_scan *scan, uint32_t last)
{
    const struct fth_ptx_inst *inst = &scan->function->code[last];
    bool changed = false;
    if (inst->control == K_BRANCH)
        changed = pass(scan, last, inst->target);
    if (inst->control == K_BRANCH_TABLE)
        for (size_t i = 0; i < scan->module->tables[inst->target].count; i++)
            changed |= pass(scan, last, scan->module->tables[inst->target].targets[i]);
    if (!jumps(inst) || inst->guarded)
        changed |= pass(scan, last, last + 1);
    return changed;
}

/* Returns true if all values that a load accesses are available. */
static bool is_redundant(const struct load_scan *scan, uint32_t pc, const uint64_t *set)
{
    const struct fth_ptx_inst *inst = &scan->function->code[pc];
    if (!is_global_load(inst) || !scan->numbers[pc][0])
        return false;
    for (unsigned e = 0; e < elements_of(inst); e++)
        if (!has(set, scan->numbers[pc][e]))
            return false;
    return true;
}

/* Visits all blocks once. With `mark`, sets which loads are redundant. Returns true if a set has
 * changed. */
static bool visit(struct load_scan *scan, bool mark)
{
    const uint32_t count = (uint32_t)scan->function->code_count;
    bool changed = false;
    for (uint32_t pc = 0; pc < count; pc++) {
        if (pc == 0 || scan->blocks[pc] != scan->blocks[pc - 1])
            memcpy(scan->current, scan->sets + scan->blocks[pc] * scan->word_count,
                   scan->word_count * sizeof *scan->current);
        if (mark && is_redundant(scan, pc, scan->current))
            scan->operands[pc].is_removed = true;
        apply(scan, pc, scan->current);
        if (pc + 1 == count || scan->blocks[pc] != scan->blocks[pc + 1])
            changed |= pass_on(scan, pc);
    }
    return changed;
}

static bool find_redundant(struct load_scan *scan)
{
    scan->word_count = scan->value_count / 64 + 1;
    scan->changing = calloc(scan->word_count, sizeof *scan->changing);
    scan->current = calloc(scan->word_count, sizeof *scan->current);
    scan->sets = calloc((size_t)scan->block_count * scan->word_count, sizeof *scan->sets);
    if (!scan->changing || !scan->current || !scan->sets)
        return false;
    /* All values are available at the start of all blocks but the first, until a path is found on
     * which they are not. */
    memset(scan->sets + scan->word_count, 0xff,
           (size_t)(scan->block_count - 1) * scan->word_count * sizeof *scan->sets);
    for (size_t pc = 0; pc < scan->function->code_count; pc++)
        for (size_t e = 0; e < MAX_ELEMENTS && !(scan->function->code[pc].flags & F_NC); e++)
            insert(scan->changing, scan->numbers[pc][e]);
    while (visit(scan, false))
        continue;
    visit(scan, true);
    return true;
}

/* ---- parts of vectors ---- */

/* Returns the set of the elements of a load that are used, also by loads that are removed in favour
 * of it. */
static uint32_t used_elements(const struct load_scan *scan, uint32_t pc)
{
    const struct fth_ptx_inst *inst = &scan->function->code[pc];
    uint32_t used = 0;
    for (unsigned e = 0; e < elements_of(inst); e++)
        used |= (uint32_t)((inst->d[e] >= 0 && scan->needed[inst->d[e]]) ||
                           scan->value_needed[scan->numbers[pc][e]])
                << e;
    return used;
}

/* Marks the values that removed loads need. */
static void find_shared(struct load_scan *scan)
{
    for (size_t pc = 0; pc < scan->function->code_count; pc++) {
        const struct fth_ptx_inst *inst = &scan->function->code[pc];
        for (unsigned e = 0; scan->operands[pc].is_removed && e < elements_of(inst); e++)
            if (inst->d[e] >= 0 && scan->needed[inst->d[e]])
                scan->value_needed[scan->numbers[pc][e]] = true;
    }
    scan->value_needed[0] = false;
}

/* Returns the parts that ptxas loads of a vector of which only these elements are used. It loads an
 * aligned half, or elements of 32 and 64 bits one by one if there are at most two. */
static struct fth_ptx_parts parts_of(unsigned bytes, unsigned count, uint32_t used)
{
    const unsigned used_count = (unsigned)__builtin_popcount(used);
    const unsigned first = (unsigned)__builtin_ctz(used), half = first & ~1u;
    struct fth_ptx_parts parts = {0};
    if (bytes < 2 || count < 2 || used_count == count)
        return parts;
    if (used_count == 1) {
        parts = (struct fth_ptx_parts){.count = 1, .bytes = (uint8_t)bytes};
        parts.offsets[0] = (uint8_t)(first * bytes);
    } else if (count == 4 && used == 3u << half) {
        parts = (struct fth_ptx_parts){.count = 1, .bytes = (uint8_t)(2 * bytes)};
        parts.offsets[0] = (uint8_t)(half * bytes);
    } else if (used_count == 2 && bytes == 4) {
        parts = (struct fth_ptx_parts){.count = 2, .bytes = (uint8_t)bytes};
        parts.offsets[0] = (uint8_t)(first * bytes);
        parts.offsets[1] = (uint8_t)((31u - (unsigned)__builtin_clz(used)) * bytes);
    }
    return parts;
}

static void set_parts(struct load_scan *scan)
{
    for (uint32_t pc = 0; pc < scan->function->code_count; pc++) {
        const struct fth_ptx_inst *inst = &scan->function->code[pc];
        if (!is_global_load(inst) || scan->operands[pc].is_removed)
            continue;
        const uint32_t used = used_elements(scan, pc);
        scan->operands[pc].is_removed = !used;
        if (used)
            scan->operands[pc].parts =
                parts_of(fth_ptx_type_bytes((enum fth_ptx_type)inst->type), inst->vector, used);
    }
}

static bool has_loads(const struct fth_ptx_function *function)
{
    for (size_t pc = 0; pc < function->code_count; pc++)
        if (is_global_load(&function->code[pc]))
            return true;
    return false;
}

bool fth_ptx_find_removed(const struct fth_ptx_module *module,
                          const struct fth_ptx_function *function, const bool *leaders,
                          struct fth_ptx_operands *operands)
{
    if (module->keeps_variables || !has_loads(function))
        return true;
    const size_t count = function->code_count + 1, registers = (size_t)function->operand_count + 1;
    struct load_scan scan = {.module = module,
                             .function = function,
                             .operands = operands,
                             .leaders = leaders,
                             .write_counts = calloc(registers, sizeof *scan.write_counts),
                             .writers = calloc(registers, sizeof *scan.writers),
                             .needed = calloc(registers, sizeof *scan.needed),
                             .numbers = calloc(count, sizeof *scan.numbers),
                             .value_needed = calloc(count, MAX_ELEMENTS),
                             .firsts = calloc(registers, sizeof *scan.firsts),
                             .counts = calloc(registers, sizeof *scan.counts),
                             .blocks = calloc(count, sizeof *scan.blocks),
                             .loop_starts = calloc(count, sizeof *scan.loop_starts),
                             .loop_ends = calloc(count, sizeof *scan.loop_ends)};
    bool ok = scan.write_counts && scan.writers && scan.needed && scan.numbers &&
              scan.value_needed && scan.firsts && scan.counts && scan.blocks && scan.loop_starts &&
              scan.loop_ends;
    if (ok) {
        find_needed(&scan);
        find_writers(&scan);
        const bool repeats = number_values(&scan, &ok);
        if (ok && repeats) {
            find_blocks(&scan);
            ok = find_redundant(&scan);
        }
    }
    if (ok) {
        find_shared(&scan);
        set_parts(&scan);
    }
    free(scan.write_counts);
    free(scan.writers);
    free(scan.needed);
    free(scan.numbers);
    free(scan.value_needed);
    free(scan.firsts);
    free(scan.counts);
    free(scan.blocks);
    free(scan.loop_starts);
    free(scan.loop_ends);
    free(scan.changing);
    free(scan.current);
    free(scan.sets);
    return ok;
}
