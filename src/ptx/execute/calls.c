/* Calls of functions, and the frames of a warp. A frame is one activation of a function, by the
 * lanes that made the call together. It has their registers, predicates and parameters. Arguments
 * and results are copied between the frames of the caller and of the callee. */
#include "ptx/execute/warp.h"

#include <stdlib.h>
#include <string.h>

/* Maximum depth of nested calls, which ends unlimited recursion. Chosen, not derived. */
enum { MAX_CALL_DEPTH = 1000 };

/* ---- frames ---- */

/* Sets the registers of a frame of a sliced launch to 0. */
static void clear_registers(struct fth_ptx_frame *frame, const struct fth_slice_frame *initial)
{
    memcpy(frame->values, initial->values, frame->function->register_count * sizeof *frame->values);
    for (size_t i = 0; i < initial->row_count; i++)
        memset(frame->rows + (size_t)initial->rows[i] * LANES, 0, LANES * sizeof *frame->rows);
}

/* Takes a spare frame of the function, or allocates one. A frame is one piece of memory: the
 * struct, the values of the registers in a sliced launch, and the rows, the predicates and the
 * parameters, all zero. */
static struct fth_ptx_frame *allocate_frame(struct fth_ptx_worker *worker,
                                            const struct fth_ptx_function *function)
{
    const struct fth_slice *slice = worker->run->slice;
    const size_t values = slice ? function->register_count * sizeof(struct fth_ptx_value) : 0;
    const size_t rows = (size_t)function->register_count * LANES * sizeof(uint64_t);
    const size_t predicates = function->predicate_count * sizeof(uint32_t);
    const size_t parameters = LANES * function->param_bytes;
    struct fth_ptx_frame *frame = worker->spare_frames;
    const bool is_spare = frame && frame->function == function;
    if (is_spare)
        worker->spare_frames = frame->caller;
    else
        frame = calloc(1, sizeof *frame + values + rows + predicates + parameters);
    if (!frame)
        return NULL;
    uint8_t *memory = (uint8_t *)(frame + 1);
    *frame = (struct fth_ptx_frame){.function = function,
                                    .values = slice ? (struct fth_ptx_value *)(frame + 1) : NULL,
                                    .rows = (uint64_t *)(memory + values),
                                    .predicates = (uint32_t *)(memory + values + rows),
                                    .params = memory + values + rows + predicates};
    if (slice) {
        clear_registers(frame, fth_slice_frame_of(slice, function));
        memset(frame->predicates, 0, predicates + parameters);
    } else if (is_spare) {
        memset(frame->rows, 0, rows + predicates + parameters);
    }
    return frame;
}

struct fth_ptx_frame *fth_ptx_frame_create(struct fth_ptx_warp *warp,
                                           const struct fth_ptx_function *function,
                                           struct fth_ptx_frame *caller)
{
    struct fth_ptx_frame *frame = allocate_frame(warp->block->cluster->worker, function);
    if (!frame) {
        fth_ptx_run_no_memory(warp->block->run);
        warp->failed = true;
        return NULL;
    }
    frame->caller = caller;
    frame->depth = caller ? caller->depth + 1 : 0;
    /* For observers, the registers and predicates of all frames are numbered one frame after the
     * other (struct fth_ptx_issue). */
    frame->operand_base = caller ? caller->operand_base + caller->function->operand_count : 0;
    /* Local memory of a frame begins at a multiple of 16 bytes, the alignment of a vector such as
     * .v4.f32. A larger .align of a local variable has no effect here. */
    frame->local_base = caller ? (caller->local_end + 15) / 16 * 16 : 0;
    frame->local_end = frame->local_base + function->local_bytes;
    return frame;
}

/* Frames of the kernel are kept for the next block. */
static void frame_destroy(struct fth_ptx_warp *warp, struct fth_ptx_frame *frame)
{
    struct fth_ptx_worker *worker = warp->block->cluster->worker;
    if (frame->caller) {
        free(frame);
        return;
    }
    frame->caller = worker->spare_frames;
    worker->spare_frames = frame;
}

void fth_ptx_frames_free(struct fth_ptx_worker *worker)
{
    while (worker->spare_frames) {
        struct fth_ptx_frame *frame = worker->spare_frames;
        worker->spare_frames = frame->caller;
        free(frame);
    }
}

bool fth_ptx_reserve_local(struct fth_ptx_warp *warp, const struct fth_ptx_frame *frame)
{
    /* The alignment is that of local_base in fth_ptx_frame_create. */
    uint64_t needed = (frame->local_end + 15) / 16 * 16;
    if (needed <= warp->local_bytes)
        return true;
    if (needed <= warp->local_stride) { /* the memory is there, and zero */
        warp->local_bytes = needed;
        return true;
    }
    /* At least doubled, so that deep recursion does not copy all the memory with each call. */
    const uint64_t doubled = 2 * warp->local_stride, stride = needed > doubled ? needed : doubled;
    uint8_t *larger = calloc(LANES, stride);
    if (!larger) {
        fth_ptx_run_no_memory(warp->block->run);
        warp->failed = true;
        return false;
    }
    for (uint64_t lane = 0; lane < LANES && warp->local_bytes; lane++)
        memcpy(larger + lane * stride, warp->local + lane * warp->local_stride, warp->local_bytes);
    free(warp->local);
    warp->local = larger;
    warp->local_bytes = needed;
    warp->local_stride = stride;
    return true;
}

uint8_t *fth_ptx_slot_place(const struct fth_ptx_warp *warp, const struct fth_ptx_frame *frame,
                            const struct fth_ptx_slot *slot, uint64_t lane)
{
    if (slot->row == NO_REGISTER)
        return frame->params + lane * frame->function->param_bytes + slot->offset;
    if (slot->row < 0)
        return (uint8_t *)&warp->pool[~slot->row][lane];
    return (uint8_t *)&frame->rows[(uint64_t)slot->row * LANES + lane];
}

static void copy_slots(const struct fth_ptx_warp *warp, const struct fth_ptx_frame *from,
                       const struct fth_ptx_slot *from_slots, const struct fth_ptx_frame *to,
                       const struct fth_ptx_slot *to_slots, size_t count, uint32_t mask)
{
    for (uint32_t left = mask; left; left &= left - 1) {
        uint64_t lane = (uint64_t)first_lane(left);
        for (size_t i = 0; i < count; i++) {
            /* fth_ptx_slots_match() has checked that neither is in parameter memory, or that both
             * are and have the same size. */
            const struct fth_ptx_slot *a = &from_slots[i], *b = &to_slots[i];
            memcpy(fth_ptx_slot_place(warp, to, b, lane), fth_ptx_slot_place(warp, from, a, lane),
                   a->row != NO_REGISTER ? sizeof(uint64_t) : b->bytes);
        }
    }
}

bool fth_ptx_slots_match(const struct fth_ptx_slot *a, size_t a_count, const struct fth_ptx_slot *b,
                         size_t b_count)
{
    if (a_count != b_count)
        return false;
    for (size_t i = 0; i < a_count; i++)
        if ((a[i].row == NO_REGISTER) != (b[i].row == NO_REGISTER) ||
            (a[i].row == NO_REGISTER && a[i].bytes != b[i].bytes))
            return false;
    return true;
}

/* ---- control instructions ---- */

void fth_ptx_run_exit(struct fth_ptx_warp *warp, struct fth_ptx_fragment *fragment, uint32_t lanes)
{
    fragment->mask &= ~lanes;
    fragment->pc++; /* for the lanes whose guard is false */
    for (struct fth_ptx_frame *frame = fragment->frame; frame;) {
        struct fth_ptx_frame *caller = frame->caller;
        frame->live &= ~lanes;
        if (frame->live == 0)
            frame_destroy(warp, frame);
        frame = caller;
    }
    if (fragment->mask == 0)
        fth_ptx_remove_fragment(warp, warp->current);
}

void fth_ptx_run_return(struct fth_ptx_warp *warp, struct fth_ptx_fragment *fragment,
                        uint32_t lanes)
{
    struct fth_ptx_frame *frame = fragment->frame, *caller = frame->caller;
    if (!caller) {
        fth_ptx_run_exit(warp, fragment, lanes);
        return;
    }
    const struct fth_ptx_call_site *site = &warp->block->run->module->calls[frame->call];
    copy_slots(warp, frame, frame->function->results, caller, site->results, site->result_count,
               lanes);
    uint32_t return_pc = frame->return_pc;
    fragment->mask &= ~lanes;
    fragment->pc++; /* for the lanes whose guard is false */
    frame->live &= ~lanes;
    if (fragment->mask == 0)
        fth_ptx_remove_fragment(warp, warp->current);
    if (frame->live == 0)
        frame_destroy(warp, frame);
    fth_ptx_add_fragment(warp, caller, return_pc, lanes);
}

void fth_ptx_run_call(struct fth_ptx_warp *warp, struct fth_ptx_fragment *fragment,
                      const struct fth_ptx_inst *inst, uint32_t lanes, uint32_t function_index)
{
    const struct fth_ptx_module *module = warp->block->run->module;
    const struct fth_ptx_call_site *site = &module->calls[inst->target];
    const struct fth_ptx_function *function = &module->functions[function_index];
    struct fth_ptx_frame *caller = fragment->frame;
    if (function->builtin != BUILTIN_NONE) {
        fth_ptx_run_builtin(warp, inst, function->builtin, lanes);
        fragment->pc++;
        return;
    }
    if (caller->depth == MAX_CALL_DEPTH) {
        fth_ptx_warp_fault(warp, inst, first_lane(lanes), "calls are nested more than %d deep",
                           MAX_CALL_DEPTH);
        return;
    }
    struct fth_ptx_frame *frame = fth_ptx_frame_create(warp, function, caller);
    if (!frame)
        return;
    frame->call = inst->target;
    frame->live = lanes;
    if (!fth_ptx_reserve_local(warp, frame)) {
        frame_destroy(warp, frame);
        return;
    }
    frame->return_pc = inst->index + 1;
    copy_slots(warp, caller, site->arguments, frame, function->arguments, site->argument_count,
               lanes);
    fragment->mask &= ~lanes;
    if (fragment->mask == 0)
        fth_ptx_remove_fragment(warp, warp->current);
    fth_ptx_add_fragment(warp, frame, 0, lanes);
}

/* The lanes can call different functions. Those with the same target as the first lane call it now.
 * The others remain at the instruction and execute it again. */
void fth_ptx_run_call_indirect(struct fth_ptx_warp *warp, struct fth_ptx_fragment *fragment,
                               const struct fth_ptx_inst *inst, uint32_t lanes)
{
    const struct fth_ptx_module *module = warp->block->run->module;
    const struct fth_ptx_call_site *site = &module->calls[inst->target];
    const uint64_t *targets = row(warp, inst->s[0]);
    uint64_t target = targets[first_lane(lanes)];
    /* The address of function i is CODE_WINDOW + 16 * i (engine.h). */
    uint64_t index = (target - CODE_WINDOW) / 16;
    const struct fth_ptx_function *function =
        target >= CODE_WINDOW && target % 16 == 0 && index < module->function_count
            ? &module->functions[index]
            : NULL;
    if (!function || !function->has_body || function->is_kernel ||
        !fth_ptx_slots_match(function->arguments, function->argument_count, site->arguments,
                             site->argument_count) ||
        !fth_ptx_slots_match(function->results, function->result_count, site->results,
                             site->result_count)) {
        fth_ptx_warp_fault(warp, inst, first_lane(lanes),
                           "0x%llx is not a function with these arguments and results",
                           (unsigned long long)target);
        return;
    }
    if (function->unsupported) { /* fth_ptx_run refuses direct calls */
        fth_ptx_warp_fault(warp, inst, first_lane(lanes), "calls '%s': %s", function->name,
                           function->unsupported->cause);
        return;
    }
    uint32_t same = 0;
    for (uint32_t left = lanes; left; left &= left - 1)
        if (targets[first_lane(left)] == target)
            same |= 1u << first_lane(left);
    uint32_t rest = fragment->mask & ~lanes;
    struct fth_ptx_frame *frame = fragment->frame;
    uint32_t pc = fragment->pc;
    fragment->mask = lanes;
    fth_ptx_run_call(warp, fragment, inst, same, (uint32_t)index);
    if (rest) /* lanes whose guard is false continue */
        fth_ptx_add_fragment(warp, frame, pc + 1, rest);
}
