/* The slice of a kernel: the instructions that its accesses depend on (M. Weiser, "Program
 * slicing", 1984). The analysis starts with what an observer can see: addresses, guards, branches,
 * barriers, member masks, mbarriers, and the operands of copies. Then it works backwards: an
 * instruction that writes a needed register is needed, and so are its operands. A needed load makes
 * the memory that it can read exact; every instruction that can write exact memory is needed. The
 * order of the instructions is ignored, which only makes the slice larger. */
#include "ptx/slice/slice.h"

#include "ptx/async/async.h"
#include "ptx/async/tensor_map.h"
#include "ptx/matrix/matrix.h"

#include <stdlib.h>
#include <string.h>

/* Memory that an instruction accesses. */
struct place {
    bool global, shared, local, param, constants;
    uint64_t origins; /* of a global address or a constant; 0: any allocation */
    bool constant;    /* a shared address that is known: */
    struct fth_slice_range range;
};

/* ---- registers ---- */

static void need(struct fth_slice *slice, struct fth_slice_function *function, int32_t row)
{
    if (row < 0 || function->operands[row].needed)
        return;
    function->operands[row].needed = slice->changed = true;
}

static void need_reads(struct fth_slice *slice, struct fth_slice_function *function,
                       const struct fth_ptx_inst *inst)
{
    for (size_t i = 0; i < inst->operands->read_count; i++)
        need(slice, function, (int32_t)inst->operands->reads[i]);
}

static bool has_needed_result(const struct fth_slice_function *function,
                              const struct fth_ptx_inst *inst)
{
    for (size_t i = 0; i < inst->operands->write_count; i++)
        if (function->operands[inst->operands->writes[i]].needed)
            return true;
    return false;
}

/* ---- memory ---- */

/* The memory at an address in a row. `bytes` are those of a constant address. */
static struct place place_of(struct fth_slice *slice, const struct fth_slice_function *function,
                             unsigned space, int32_t row, int64_t offset, unsigned bytes)
{
    const uint64_t origins = fth_slice_origins(slice, function, row);
    const bool generic = space == FTH_SPACE_GENERIC;
    struct place place = {.global = space == FTH_SPACE_GLOBAL ||
                                    (generic && (!origins || origins & ORIGIN_GLOBAL)),
                          .shared = space == FTH_SPACE_SHARED || space == SPACE_CLUSTER ||
                                    (generic && origins & ORIGIN_SHARED),
                          .local = space == FTH_SPACE_LOCAL || (generic && origins & ORIGIN_LOCAL),
                          .param = space == FTH_SPACE_PARAM,
                          .constants = space == FTH_SPACE_CONST,
                          .origins = origins & ORIGIN_GLOBAL};
    uint64_t value;
    if (space == FTH_SPACE_SHARED && bytes && fth_slice_constant(slice, function, row, &value)) {
        place.constant = true;
        place.range.start = (uint32_t)(value + (uint64_t)offset);
        place.range.end = place.range.start + bytes;
    }
    return place;
}

/* The memory of a load, store or atomic. Matrices are wider than their type. */
static struct place place_of_access(struct fth_slice *slice,
                                    const struct fth_slice_function *function,
                                    const struct fth_ptx_inst *inst)
{
    const unsigned bytes = inst->detail ? 0
                                        : fth_ptx_type_bytes((enum fth_ptx_type)inst->type) *
                                              (inst->vector ? inst->vector : 1);
    return place_of(slice, function, inst->space, inst->s[0], inst->offset, bytes);
}

static bool overlaps(const struct fth_slice_range *a, const struct fth_slice_range *b)
{
    return a->start < b->end && b->start < a->end;
}

/* True if an instruction stores to a constant shared address in the range. */
static bool has_constant_store(struct fth_slice *slice, const struct fth_slice_range *range)
{
    const struct fth_ptx_module *module = slice->run->module;
    for (size_t f = 0; f < module->function_count; f++) {
        const struct fth_ptx_function *source = &module->functions[f];
        for (size_t pc = 0; slice->functions[f].reachable && pc < source->code_count; pc++) {
            if (slice->functions[f].classes[pc] != SLICE_STORE)
                continue;
            const struct place place =
                place_of_access(slice, &slice->functions[f], &source->code[pc]);
            if (place.constant && overlaps(&place.range, range))
                return true;
        }
    }
    return false;
}

/* A range without a store to a constant address is probably written through other addresses, so all
 * shared memory must be exact. */
static void need_range(struct fth_slice *slice, const struct fth_slice_range *range)
{
    if (slice->shared)
        return;
    for (size_t i = 0; i < slice->range_count; i++)
        if (slice->ranges[i].start <= range->start && range->end <= slice->ranges[i].end)
            return;
    slice->changed = true;
    if (slice->range_count == MAX_SLICE_RANGES || !has_constant_store(slice, range))
        slice->shared = true;
    else
        slice->ranges[slice->range_count++] = *range;
}

/* Warps that wait for work read a byte each from a table in shared memory, which other warps write
 * at constant addresses. A load with a constant offset is taken to read what is stored at constant
 * addresses in the NEAR_BYTES from this offset on. Returns false if nothing is. */
enum { NEAR_BYTES = 256, MAX_TABLE_ELEMENT = 4 };
static bool need_table(struct fth_slice *slice, const struct fth_ptx_inst *load)
{
    const struct fth_ptx_module *module = slice->run->module;
    const uint64_t start = (uint64_t)load->offset;
    const struct fth_slice_range table = {start, start + module->dynamic_shared + NEAR_BYTES};
    bool found = false;
    if (load->detail || load->vector || load->offset <= 0 ||
        fth_ptx_type_bytes((enum fth_ptx_type)load->type) > MAX_TABLE_ELEMENT)
        return false;
    for (size_t f = 0; f < module->function_count; f++) {
        const struct fth_ptx_function *source = &module->functions[f];
        for (size_t pc = 0; slice->functions[f].reachable && pc < source->code_count; pc++) {
            if (slice->functions[f].classes[pc] != SLICE_STORE)
                continue;
            const struct place place =
                place_of_access(slice, &slice->functions[f], &source->code[pc]);
            if (place.constant && overlaps(&place.range, &table)) {
                need_range(slice, &place.range);
                found = true;
            }
        }
    }
    return found;
}

static void set(struct fth_slice *slice, bool *flag)
{
    slice->changed = slice->changed || !*flag;
    *flag = true;
}

static void need_allocation(struct fth_slice *slice, size_t index)
{
    set(slice, &slice->run->machine->memory->allocations[index].exact);
}

/* Makes memory exact. */
static void need_place(struct fth_slice *slice, const struct place *place)
{
    const struct fth_ptx_memory *memory = slice->run->machine->memory;
    for (size_t i = 0; !place->origins && i < memory->allocation_count; i++)
        if (place->global || (place->constants && memory->allocations[i].is_constant))
            need_allocation(slice, i);
    for (size_t i = 0; (place->global || place->constants) && i < slice->allocation_count; i++)
        if (place->origins >> i & 1)
            need_allocation(slice, slice->allocations[i]);
    if (place->local)
        set(slice, &slice->local);
    if (place->param)
        set(slice, &slice->param);
    if (place->shared && place->constant)
        need_range(slice, &place->range);
    else if (place->shared)
        set(slice, &slice->shared);
}

/* True if some of the memory must be exact. */
static bool is_exact(const struct fth_slice *slice, const struct place *place)
{
    const struct fth_ptx_memory *memory = slice->run->machine->memory;
    for (size_t i = 0; place->global && !place->origins && i < memory->allocation_count; i++)
        if (memory->allocations[i].exact && !memory->allocations[i].is_constant)
            return true;
    for (size_t i = 0; place->global && i < slice->allocation_count; i++)
        if (place->origins >> i & 1 && memory->allocations[slice->allocations[i]].exact)
            return true;
    for (size_t i = 0; place->shared && place->constant && i < slice->range_count; i++)
        if (overlaps(&slice->ranges[i], &place->range))
            return true;
    return (place->local && slice->local) || (place->param && slice->param) ||
           (place->shared && slice->shared);
}

/* ---- instructions ---- */

/* The memory that a copy reads and writes. */
static void places_of_copy(struct fth_slice *slice, const struct fth_slice_function *function,
                           const struct fth_ptx_inst *inst, unsigned class, struct place *from,
                           struct place *to)
{
    const struct fth_ptx_bulk *bulk = (const struct fth_ptx_bulk *)inst->detail;
    if (class == SLICE_COPY) {
        *from = place_of(slice, function, FTH_SPACE_GLOBAL, inst->s[1], 0, 0);
        *to = (struct place){.shared = true};
    } else if (class == SLICE_BULK) {
        *from = place_of(slice, function, bulk->from_space, bulk->from, 0, 0);
        *to = place_of(slice, function, bulk->to_space, bulk->to, 0, 0);
    } else { /* the tensor can be anywhere in global memory */
        const bool loads = bulk->to_space != FTH_SPACE_GLOBAL;
        *from = (struct place){.global = loads, .shared = !loads};
        *to = (struct place){.global = !loads, .shared = loads};
    }
}

/* The tensor map of a copy. */
static struct place place_of_map(struct fth_slice *slice, const struct fth_slice_function *function,
                                 const struct fth_ptx_inst *inst)
{
    const struct fth_ptx_bulk *bulk = (const struct fth_ptx_bulk *)inst->detail;
    return place_of(slice, function, FTH_SPACE_GENERIC,
                    bulk->to_space == FTH_SPACE_GLOBAL ? bulk->to : bulk->from, 0, 0);
}

static void visit_copy(struct fth_slice *slice, struct fth_slice_function *function,
                       const struct fth_ptx_inst *inst, unsigned class)
{
    struct place from, to;
    places_of_copy(slice, function, inst, class, &from, &to);
    need_reads(slice, function, inst);
    if (class == SLICE_TENSOR) {
        const struct place map = place_of_map(slice, function, inst);
        need_place(slice, &map);
    }
    if (is_exact(slice, &to))
        need_place(slice, &from);
}

/* Arguments and results in registers. Those in parameter memory are stored and loaded by
 * instructions. */
static void visit_call(struct fth_slice *slice, struct fth_slice_function *caller,
                       const struct fth_ptx_inst *inst)
{
    const struct fth_ptx_module *module = slice->run->module;
    const struct fth_ptx_call_site *site = &module->calls[inst->target];
    if (site->function == UINT32_MAX)
        for (size_t i = 0; i < site->argument_count; i++)
            need(slice, caller, site->arguments[i].row);
    for (size_t f = 0; f < module->function_count; f++) {
        const struct fth_ptx_function *function = &module->functions[f];
        struct fth_slice_function *callee = &slice->functions[f];
        if (!fth_slice_may_call(slice, site, f))
            continue;
        for (size_t i = 0; i < site->argument_count; i++)
            if (function->arguments[i].row >= 0 &&
                callee->operands[function->arguments[i].row].needed)
                need(slice, caller, site->arguments[i].row);
        for (size_t i = 0; i < site->result_count; i++)
            if (site->results[i].row >= 0 && caller->operands[site->results[i].row].needed)
                need(slice, callee, function->results[i].row);
    }
}

/* tensormap.replace changes a map; tensormap.cp_fenceproxy copies one from shared memory. */
static void visit_tensormap(struct fth_slice *slice, struct fth_slice_function *function,
                            const struct fth_ptx_inst *inst)
{
    const bool copies = inst->control == K_CONVERGE;
    const struct place to = place_of(slice, function, copies ? FTH_SPACE_GLOBAL : inst->space,
                                     inst->s[0], inst->offset, FTH_TENSOR_MAP_BYTES);
    const struct place from = place_of(slice, function, FTH_SPACE_SHARED, inst->s[1], inst->offset2,
                                       FTH_TENSOR_MAP_BYTES);
    need_reads(slice, function, inst);
    need_place(slice, &to);
    if (copies)
        need_place(slice, &from);
}

static void visit_access(struct fth_slice *slice, struct fth_slice_function *function,
                         const struct fth_ptx_inst *inst, unsigned class)
{
    struct place place = {.global = true};
    if (class != SLICE_TEXTURE)
        place = place_of_access(slice, function, inst);
    const bool has_data = class == SLICE_STORE || class == SLICE_ATOMIC;
    need(slice, function, inst->s[0]);
    if (has_data && strncmp(inst->opcode, "wmma", 4) == 0 && inst->detail->read_count)
        need(slice, function, inst->detail->reads[inst->detail->read_count - 1]); /* the stride */
    if (!has_data || is_exact(slice, &place))
        need_reads(slice, function, inst);
    if (class == SLICE_STORE || !has_needed_result(function, inst))
        return;
    if (class == SLICE_LOAD && inst->space == FTH_SPACE_SHARED && !place.constant &&
        need_table(slice, inst))
        return;
    need_place(slice, &place);
}

/* A multiplication of matrices in shared memory, whose descriptors have their addresses. */
static void visit_product(struct fth_slice *slice, struct fth_slice_function *function,
                          const struct fth_ptx_inst *inst)
{
    int32_t rows[2];
    const size_t count = fth_ptx_wgmma_descriptors(inst, rows);
    for (size_t i = 0; i < count; i++)
        need(slice, function, rows[i]);
    if (!has_needed_result(function, inst))
        return;
    need_reads(slice, function, inst);
    set(slice, &slice->shared);
}

static void visit(struct fth_slice *slice, struct fth_slice_function *function,
                  const struct fth_ptx_function *source, const struct fth_ptx_inst *inst)
{
    const unsigned class = function->classes[inst->index];
    /* The observer sees which lanes take part, even if nothing else is computed. */
    if (inst->guarded)
        need(slice, function, (int32_t)(source->register_count + inst->guard));
    if (inst->control == K_CONVERGE)
        need(slice, function, inst->s[inst->target]);
    switch (class) {
    case SLICE_PURE:
        if (has_needed_result(function, inst))
            need_reads(slice, function, inst);
        break;
    case SLICE_PRODUCT: visit_product(slice, function, inst); break;
    case SLICE_CONTROL:
        if (inst->control == K_CALL || inst->control == K_CALL_INDIRECT)
            visit_call(slice, function, inst);
        need_reads(slice, function, inst);
        break;
    case SLICE_ALWAYS: need_reads(slice, function, inst); break;
    case SLICE_LOAD:
    case SLICE_TEXTURE:
    case SLICE_STORE:
    case SLICE_ATOMIC: visit_access(slice, function, inst, class); break;
    case SLICE_COPY:
    case SLICE_BULK:
    case SLICE_TENSOR: visit_copy(slice, function, inst, class); break;
    case SLICE_TENSORMAP: visit_tensormap(slice, function, inst); break;
    case SLICE_UNKNOWN: slice->full = true; break;
    }
}

/* ---- the code that is executed ---- */

/* Decides how an instruction is executed. */
static void reduce(struct fth_slice *slice, const struct fth_slice_function *function,
                   struct fth_ptx_inst *inst)
{
    const unsigned class = function->classes[inst->index];
    const bool needed = has_needed_result(function, inst);
    struct place from, to;
    switch (class) {
    case SLICE_PURE:
        if (!needed)
            inst->run = fth_ptx_run_nothing;
        inst->skip_count = !needed && !inst->guarded;
        break;
    case SLICE_PRODUCT: inst->slice = needed ? 0 : SLICE_SKIPS; break;
    case SLICE_LOAD:
    case SLICE_TEXTURE: inst->slice = needed ? SLICE_READS : SLICE_SKIPS; break;
    case SLICE_STORE:
    case SLICE_ATOMIC:
        to = place_of_access(slice, function, inst);
        inst->slice = is_exact(slice, &to) ? 0 : SLICE_SKIPS;
        if (class == SLICE_ATOMIC && needed)
            inst->slice = SLICE_READS;
        break;
    case SLICE_COPY:
    case SLICE_BULK:
    case SLICE_TENSOR:
        places_of_copy(slice, function, inst, class, &from, &to);
        inst->slice = is_exact(slice, &to) ? SLICE_READS : SLICE_SKIPS;
        if (class == SLICE_TENSOR)
            inst->slice |= SLICE_READS_MAP;
        break;
    default: break;
    }
}

/* Makes the code of a function. Returns false if memory is exhausted. */
static bool make_code(struct fth_slice *slice, struct fth_slice_function *function,
                      const struct fth_ptx_function *source)
{
    function->code = calloc(source->code_count + 1, sizeof *function->code);
    if (!function->code)
        return false;
    memcpy(function->code, source->code, source->code_count * sizeof *function->code);
    for (size_t pc = source->code_count; pc-- > 0;) {
        struct fth_ptx_inst *inst = &function->code[pc];
        reduce(slice, function, inst);
        if (inst->skip_count) /* the last element is empty */
            inst->skip_count += function->code[pc + 1].skip_count;
    }
    return fth_slice_make_linear(slice->run->module, source, function);
}

/* ---- the analysis ---- */

/* Marks the functions that the kernel can call. A call of a function without a body, such as
 * printf, has effects that are not analysed. Returns false if memory is exhausted. */
static bool reach(struct fth_slice *slice, size_t index)
{
    const struct fth_ptx_module *module = slice->run->module;
    const struct fth_ptx_function *source = &module->functions[index];
    struct fth_slice_function *function = &slice->functions[index];
    if (function->reachable || source->builtin == BUILTIN_ASSERT)
        return true;
    if (!source->has_body) {
        slice->full = true;
        return true;
    }
    function->reachable = true;
    function->operands = calloc((size_t)source->operand_count + 1, sizeof *function->operands);
    function->classes = fth_slice_classes(slice->run->machine, index);
    bool ok = function->operands && function->classes;
    for (size_t pc = 0; ok && pc < source->code_count; pc++) {
        const struct fth_ptx_inst *inst = &source->code[pc];
        if (inst->control == K_CALL)
            ok = reach(slice, module->calls[inst->target].function);
        for (size_t f = 0; ok && inst->control == K_CALL_INDIRECT && f < module->function_count;
             f++)
            if (!module->functions[f].is_kernel && module->functions[f].has_body)
                ok = reach(slice, f);
    }
    return ok;
}

static void analyse(struct fth_slice *slice)
{
    const struct fth_ptx_module *module = slice->run->module;
    fth_slice_find_origins(slice);
    do {
        slice->changed = false;
        for (size_t f = 0; f < module->function_count; f++)
            /* Backwards, so that most dependences are found in one pass. */
            for (size_t pc = module->functions[f].code_count;
                 slice->functions[f].reachable && pc-- > 0;)
                visit(slice, &slice->functions[f], &module->functions[f],
                      &module->functions[f].code[pc]);
    } while (slice->changed && !slice->full);
}

enum fth_status fth_slice_create(struct fth_ptx_run *run, struct fth_slice **out,
                                 struct fth_error *error)
{
    const struct fth_ptx_module *module = run->module;
    struct fth_slice *slice = calloc(1, sizeof *slice);
    bool ok = slice != NULL;
    *out = NULL;
    if (ok) {
        slice->run = run;
        slice->functions = calloc(module->function_count, sizeof *slice->functions);
        ok = slice->functions && reach(slice, (size_t)(run->kernel - module->functions));
    }
    if (ok && !slice->full)
        analyse(slice);
    for (size_t f = 0; ok && !slice->full && f < module->function_count; f++)
        if (slice->functions[f].reachable)
            ok = make_code(slice, &slice->functions[f], &module->functions[f]);
    if (ok && slice->full)
        for (size_t i = 0; i < run->machine->memory->allocation_count; i++)
            run->machine->memory->allocations[i].exact = true;
    if (ok && !slice->full)
        *out = slice;
    else
        fth_slice_destroy(slice);
    return ok ? FTH_OK : fth_no_memory(error, "launch kernel", run->kernel->kernel.display_name);
}

const struct fth_ptx_inst *fth_slice_code(const struct fth_slice *slice,
                                          const struct fth_ptx_function *function)
{
    return slice->functions[function - slice->run->module->functions].code;
}

void fth_slice_destroy(struct fth_slice *slice)
{
    if (!slice)
        return;
    for (size_t f = 0; slice->functions && f < slice->run->module->function_count; f++) {
        free(slice->functions[f].operands);
        free(slice->functions[f].code);
        free(slice->functions[f].live);
        free(slice->functions[f].frame.values);
        free(slice->functions[f].frame.rows);
    }
    free(slice->functions);
    free(slice);
}
