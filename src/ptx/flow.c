/* The control flow of a warp: divergence, convergence, calls and barriers.
 *
 * A frame is one activation of a function, by the lanes that made the call together. A warp is a
 * set of fragments. A fragment is a set of lanes at the same instruction of the same frame. A warp
 * starts with one fragment. A branch that only some of its lanes take splits a fragment into two.
 * The fragment that is furthest behind (deepest call, then lowest instruction index) runs first, so
 * it catches up with the others. Two fragments that reach the same instruction merge. Compilers lay
 * out code so that paths join at a higher address, where this order merges them. A fragment that
 * loops while others could run yields after FRAGMENT_TURN instructions, so that another lane of the
 * warp can release a lock.
 *
 * A fragment that does not wait is called running (its state is RUNNING), even while another
 * fragment executes. The one that executes is the current fragment. */
#include "ptx/engine.h"

#include <stdlib.h>
#include <string.h>

/* Maximum number of instructions that a fragment runs while other fragments of its warp could run.
 * Heuristic. */
#define FRAGMENT_TURN 5000u
/* Maximum depth of nested calls, which ends unlimited recursion. Heuristic. */
enum { MAX_CALL_DEPTH = 1000 };

/* ---- frames ---- */

struct frame *frame_create(struct warp *warp, const struct function *function, struct frame *caller)
{
    /* All sizes are at least 1 (the + 1), because calloc may return NULL for 0 bytes. */
    size_t values = ((size_t)function->register_count + 1) * LANES;
    struct frame *frame = calloc(1, sizeof *frame);
    if (frame) {
        frame->function = function;
        frame->caller = caller;
        frame->depth = caller ? caller->depth + 1 : 0;
        /* For observers, the registers and predicates of all frames are numbered one frame after
         * the other (struct fth_ptx_issue). */
        frame->operand_base = caller ? caller->operand_base + caller->function->operand_count : 0;
        /* Local memory of a frame begins at a multiple of 16 bytes, the alignment of a vector such
         * as .v4.f32. A larger .align of a local variable has no effect here. */
        frame->local_base =
            caller ? (caller->local_base + caller->function->local_bytes + 15) / 16 * 16 : 0;
        frame->rows = calloc(values, sizeof *frame->rows);
        frame->predicates = calloc(function->predicate_count + 1, sizeof *frame->predicates);
        frame->params = calloc(LANES, function->param_bytes + 1);
    }
    if (frame && frame->rows && frame->predicates && frame->params)
        return frame;
    if (frame) {
        free(frame->rows);
        free(frame->predicates);
        free(frame->params);
    }
    free(frame);
    out_of_memory(warp->block->run);
    warp->failed = true;
    return NULL;
}

static void frame_destroy(struct frame *frame)
{
    free(frame->rows);
    free(frame->predicates);
    free(frame->params);
    free(frame);
}

bool reserve_local(struct warp *warp, const struct frame *frame)
{
    /* The alignment is that of local_base in frame_create. */
    uint64_t needed = (frame->local_base + frame->function->local_bytes + 15) / 16 * 16;
    if (needed <= warp->local_bytes)
        return true;
    uint8_t *larger = calloc(LANES, needed);
    if (!larger) {
        out_of_memory(warp->block->run);
        warp->failed = true;
        return false;
    }
    for (uint64_t lane = 0; lane < LANES && warp->local_bytes; lane++)
        memcpy(larger + lane * needed, warp->local + lane * warp->local_bytes, warp->local_bytes);
    free(warp->local);
    warp->local = larger;
    warp->local_bytes = needed;
    return true;
}

/* Returns the host address of a lane's argument or result: in parameter memory, in the pool of
 * immediates, or in a register. */
static uint8_t *slot_place(const struct warp *warp, const struct frame *frame,
                           const struct slot *slot, uint64_t lane)
{
    if (slot->row == NO_REGISTER)
        return frame->params + lane * frame->function->param_bytes + slot->offset;
    if (slot->row < 0)
        return (uint8_t *)&warp->pool[~slot->row][lane];
    return (uint8_t *)&frame->rows[(uint64_t)slot->row * LANES + lane];
}

static void copy_slots(const struct warp *warp, const struct frame *from,
                       const struct slot *from_slots, const struct frame *to,
                       const struct slot *to_slots, size_t count, uint32_t mask)
{
    for (uint32_t left = mask; left; left &= left - 1) {
        uint64_t lane = (uint64_t)first_lane(left);
        for (size_t i = 0; i < count; i++) {
            /* slots_match() has checked that neither is in parameter memory, or that both are
             * and have the same size. */
            const struct slot *a = &from_slots[i], *b = &to_slots[i];
            memcpy(slot_place(warp, to, b, lane), slot_place(warp, from, a, lane),
                   a->row != NO_REGISTER ? sizeof(uint64_t) : b->bytes);
        }
    }
}

/* ---- fragments ---- */

/* Adds lanes at an instruction. They join the running fragment at this instruction, if there is
 * one. */
static void add_fragment(struct warp *warp, struct frame *frame, uint32_t pc, uint32_t mask)
{
    for (uint32_t i = 0; i < warp->fragment_count; i++) {
        struct fragment *fragment = &warp->fragments[i];
        if (fragment->frame == frame && fragment->pc == pc && fragment->state == RUNNING) {
            fragment->mask |= mask;
            return;
        }
    }
    warp->fragments[warp->fragment_count++] =
        (struct fragment){.pc = pc, .mask = mask, .frame = frame};
}

static void remove_fragment(struct warp *warp, uint32_t index)
{
    warp->fragments[index] = warp->fragments[--warp->fragment_count];
}

uint32_t alive_lanes(const struct warp *warp)
{
    uint32_t alive = 0;
    for (uint32_t i = 0; i < warp->fragment_count; i++)
        alive |= warp->fragments[i].mask;
    return alive;
}

/* Merges the running fragments that are at the same instruction. */
static void merge_fragments(struct warp *warp)
{
    for (uint32_t i = 0; i < warp->fragment_count; i++)
        for (uint32_t j = i + 1; j < warp->fragment_count; j++) {
            struct fragment *a = &warp->fragments[i], *b = &warp->fragments[j];
            if (a->pc == b->pc && a->frame == b->frame && a->state == RUNNING &&
                b->state == RUNNING) {
                a->mask |= b->mask;
                remove_fragment(warp, j--);
            }
        }
}

/* Returns the lanes of a warp that wait at any bar.warp.sync. */
static uint32_t warp_sync_lanes(const struct warp *warp)
{
    uint32_t lanes = 0;
    for (uint32_t i = 0; i < warp->fragment_count; i++)
        if (warp->fragments[i].state == AT_WARP_SYNC)
            lanes |= warp->fragments[i].mask;
    return lanes;
}

/* Resumes waiting fragments. A fragment at a bar.warp.sync continues when every lane of the
 * instruction's member mask waits at some bar.warp.sync or has exited. A fragment at another .sync
 * instruction runs again when a lane that it waits for has exited; merge_waiting() handles the
 * arrival of lanes. */
static void wake_fragments(struct warp *warp)
{
    uint32_t alive = alive_lanes(warp), meeting = warp_sync_lanes(warp);
    for (uint32_t i = 0; i < warp->fragment_count; i++) {
        struct fragment *fragment = &warp->fragments[i];
        if (fragment->state == AT_SYNC && fragment->awaited & ~alive) {
            fragment->state = RUNNING; /* run_converged() checks again which lanes are missing */
        } else if (fragment->state == AT_WARP_SYNC && !(fragment->awaited & alive & ~meeting)) {
            fragment->state = RUNNING;
            fragment->pc++;
        }
    }
}

/* Sets warp->current to the running fragment that is furthest behind or, if `ahead`, furthest
 * ahead. Returns false if all fragments wait. */
static bool choose_fragment(struct warp *warp, bool ahead)
{
    bool found = false;
    for (uint32_t i = 0; i < warp->fragment_count; i++) {
        const struct fragment *a = &warp->fragments[i];
        if (a->state != RUNNING)
            continue;
        const struct fragment *b = &warp->fragments[warp->current];
        bool behind = !found || a->frame->depth > b->frame->depth ||
                      (a->frame->depth == b->frame->depth && a->pc < b->pc);
        if (!found || behind != ahead)
            warp->current = i;
        found = true;
    }
    return found;
}

/* ---- control instructions ---- */

void do_exit(struct warp *warp, struct fragment *fragment, uint32_t lanes)
{
    fragment->mask &= ~lanes;
    fragment->pc++; /* for the lanes whose guard is false */
    for (struct frame *frame = fragment->frame; frame;) {
        struct frame *caller = frame->caller;
        frame->live &= ~lanes;
        if (frame->live == 0)
            frame_destroy(frame);
        frame = caller;
    }
    if (fragment->mask == 0)
        remove_fragment(warp, warp->current);
}

static void do_return(struct warp *warp, struct fragment *fragment, uint32_t lanes)
{
    struct frame *frame = fragment->frame, *caller = frame->caller;
    if (!caller) {
        do_exit(warp, fragment, lanes);
        return;
    }
    const struct call_site *site = &warp->block->run->module->calls[frame->call];
    copy_slots(warp, frame, frame->function->results, caller, site->results, site->result_count,
               lanes);
    uint32_t return_pc = frame->return_pc;
    fragment->mask &= ~lanes;
    fragment->pc++; /* for the lanes whose guard is false */
    frame->live &= ~lanes;
    if (fragment->mask == 0)
        remove_fragment(warp, warp->current);
    if (frame->live == 0)
        frame_destroy(frame);
    add_fragment(warp, caller, return_pc, lanes);
}

static void do_call(struct warp *warp, struct fragment *fragment, const struct inst *inst,
                    uint32_t lanes, uint32_t function_index)
{
    const struct fth_ptx_module *module = warp->block->run->module;
    const struct call_site *site = &module->calls[inst->target];
    const struct function *function = &module->functions[function_index];
    struct frame *caller = fragment->frame;
    if (function->builtin == BUILTIN_ASSERT) {
        warp_fault(warp, inst, first_lane(lanes), "assertion failed");
        return;
    }
    if (function->builtin == BUILTIN_PRINTF) { /* prints nothing and sets no result */
        fragment->pc++;
        return;
    }
    if (caller->depth == MAX_CALL_DEPTH) {
        warp_fault(warp, inst, first_lane(lanes), "calls are nested more than %d deep",
                   MAX_CALL_DEPTH);
        return;
    }
    struct frame *frame = frame_create(warp, function, caller);
    if (!frame)
        return;
    frame->call = inst->target;
    frame->live = lanes;
    if (!reserve_local(warp, frame)) {
        frame_destroy(frame);
        return;
    }
    frame->return_pc = inst->index + 1;
    copy_slots(warp, caller, site->arguments, frame, function->arguments, site->argument_count,
               lanes);
    fragment->mask &= ~lanes;
    if (fragment->mask == 0)
        remove_fragment(warp, warp->current);
    add_fragment(warp, frame, 0, lanes);
}

/* The lanes can call different functions. Those with the same target as the first lane call it now.
 * The others remain at the instruction and execute it again. */
static void do_call_indirect(struct warp *warp, struct fragment *fragment, const struct inst *inst,
                             uint32_t lanes)
{
    const struct fth_ptx_module *module = warp->block->run->module;
    const struct call_site *site = &module->calls[inst->target];
    const uint64_t *targets = row(warp, inst->s[0]);
    uint64_t target = targets[first_lane(lanes)];
    /* The address of function i is CODE_WINDOW + 16 * i (engine.h). */
    uint64_t index = (target - CODE_WINDOW) / 16;
    const struct function *function =
        target >= CODE_WINDOW && target % 16 == 0 && index < module->function_count
            ? &module->functions[index]
            : NULL;
    if (!function || !function->has_body || function->is_kernel ||
        !slots_match(function->arguments, function->argument_count, site->arguments,
                     site->argument_count) ||
        !slots_match(function->results, function->result_count, site->results,
                     site->result_count)) {
        warp_fault(warp, inst, first_lane(lanes),
                   "0x%llx is not a function with these arguments and results",
                   (unsigned long long)target);
        return;
    }
    uint32_t same = 0;
    for (uint32_t left = lanes; left; left &= left - 1)
        if (targets[first_lane(left)] == target)
            same |= 1u << first_lane(left);
    uint32_t rest = fragment->mask & ~lanes;
    struct frame *frame = fragment->frame;
    uint32_t pc = fragment->pc;
    fragment->mask = lanes;
    do_call(warp, fragment, inst, same, (uint32_t)index);
    if (rest) /* lanes whose guard is false continue */
        add_fragment(warp, frame, pc + 1, rest);
}

static void do_branch(struct warp *warp, struct fragment *fragment, uint32_t lanes, uint32_t target)
{
    if (lanes == fragment->mask) {
        fragment->pc = target;
        return;
    }
    fragment->pc++;
    fragment->mask &= ~lanes;
    add_fragment(warp, fragment->frame, target, lanes);
}

static void do_branch_table(struct warp *warp, struct fragment *fragment, const struct inst *inst,
                            uint32_t lanes)
{
    const struct branch_table *table = &warp->block->run->module->tables[inst->target];
    const uint64_t *indices = row(warp, inst->s[0]);
    uint32_t index = (uint32_t)indices[first_lane(lanes)], same = 0;
    if (index >= table->count) {
        warp_fault(warp, inst, first_lane(lanes),
                   "branch index %u is out of range: the list has %zu labels", index, table->count);
        return;
    }
    for (uint32_t left = lanes; left; left &= left - 1)
        if ((uint32_t)indices[first_lane(left)] == index)
            same |= 1u << first_lane(left);
    struct frame *frame = fragment->frame;
    uint32_t pc = fragment->pc, others = lanes & ~same, rest = fragment->mask & ~lanes;
    fragment->mask = same;
    fragment->pc = table->targets[index];
    /* Lanes with another index remain at the instruction and execute it again. (add_fragment()
     * would have the same effect, because run_warp() merges fragments before the next one runs.) */
    if (others)
        warp->fragments[warp->fragment_count++] =
            (struct fragment){.pc = pc, .mask = others, .frame = frame};
    if (rest)
        add_fragment(warp, frame, pc + 1, rest);
}

static void do_barrier(struct warp *warp, struct fragment *fragment, const struct inst *inst,
                       uint32_t lanes)
{
    struct block *block = warp->block;
    /* The operands are 32-bit numbers; a negative one can be sign-extended to 64 bits. A negative
     * `id` is too large with or without its high bits, so they are not removed. */
    uint64_t id = row(warp, inst->s[0])[first_lane(lanes)];
    uint64_t threads =
        inst->s[1] != NO_REGISTER ? row(warp, inst->s[1])[first_lane(lanes)] & 0xffffffff : 0;
    if (id >= MAX_BARRIERS || threads % LANES || threads > (uint64_t)block->warp_count * LANES) {
        warp_fault(warp, inst, first_lane(lanes),
                   "invalid barrier %llu for %llu threads: the index must be below %d, and the "
                   "threads must be whole warps of the block",
                   (unsigned long long)id, (unsigned long long)threads, MAX_BARRIERS);
        return;
    }
    uint32_t rest = fragment->mask & ~lanes;
    if (inst->flags & F_ARRIVE) {
        /* bar.arrive counts all threads of the warp. */
        block->arrived[id] += LANES;
        block->active_barriers |= 1u << id;
        fragment->pc++;
        return;
    }
    block->active_barriers |= 1u << id;
    fragment->mask = lanes;
    fragment->state = AT_BARRIER;
    fragment->barrier = (uint32_t)id;
    fragment->barrier_threads = (uint32_t)threads;
    if (rest)
        add_fragment(warp, fragment->frame, fragment->pc + 1, rest);
}

/* barrier.cluster.arrive does not block. barrier.cluster.wait blocks until the phase in which the
 * thread arrived is complete. When it is, release_cluster() clears warp->cluster_arrived. */
static void do_cluster_barrier(struct warp *warp, struct fragment *fragment,
                               const struct inst *inst, uint32_t lanes)
{
    struct cluster *cluster = warp->block->cluster;
    if (inst->flags & F_ARRIVE) {
        if (warp->cluster_arrived & lanes) {
            warp_fault(warp, inst, first_lane(warp->cluster_arrived & lanes),
                       "arrives at the cluster barrier twice without waiting in between");
            return;
        }
        warp->cluster_arrived |= lanes;
        /* release_cluster() checks later whether the phase is complete. */
        cluster->arrived = cluster->unchecked_arrival = true;
        notify_cluster_barrier(warp, cluster->phase, false); /* the lanes arrive */
        fragment->pc++;
        return;
    }
    uint32_t waiting = lanes & warp->cluster_arrived, rest = fragment->mask & ~waiting;
    /* The other lanes do not wait: the phase in which they arrived is already complete. */
    if (lanes & ~waiting)
        notify_cluster_barrier(warp, cluster->phase - 1, true); /* they continue */
    if (!waiting) {
        fragment->pc++;
        return;
    }
    fragment->mask = waiting;
    fragment->state = AT_CLUSTER_BARRIER;
    if (rest)
        add_fragment(warp, fragment->frame, fragment->pc + 1, rest);
}

/* bar.warp.sync. wake_fragments() resumes the fragment. inst->target is the index of the member
 * mask in inst->s[]. */
static void do_warp_sync(struct warp *warp, struct fragment *fragment, const struct inst *inst,
                         uint32_t lanes)
{
    uint32_t rest = fragment->mask & ~lanes;
    fragment->mask = lanes;
    fragment->state = AT_WARP_SYNC;
    fragment->awaited = (uint32_t)row(warp, inst->s[inst->target])[first_lane(lanes)];
    if (rest)
        add_fragment(warp, fragment->frame, fragment->pc + 1, rest);
}

/* Merges the fragments that wait at the current instruction into the current fragment. */
static void merge_waiting(struct warp *warp)
{
    struct frame *frame = warp->frame;
    uint32_t pc = warp->pc, mask = warp->mask;
    for (uint32_t i = 0; i < warp->fragment_count; i++) {
        const struct fragment *other = &warp->fragments[i];
        if (other->state == AT_SYNC && other->frame == frame && other->pc == pc) {
            mask |= other->mask;
            remove_fragment(warp, i--);
        }
    }
    /* remove_fragment can have moved the current fragment. */
    for (uint32_t i = 0; i < warp->fragment_count; i++)
        if (warp->fragments[i].mask & warp->mask)
            warp->current = i;
    warp->fragments[warp->current].mask = warp->mask = mask;
    warp->fragments[warp->current].pc = pc;
}

/* Executes a .sync instruction (K_CONVERGE). inst->target is the index of the member mask in
 * inst->s[]. The lanes with the same member mask form a group. A group executes the instruction
 * when all its members that have not exited have arrived. Returns true if all lanes have executed
 * it. Otherwise, the lanes of incomplete groups wait in the current fragment, and its other lanes
 * continue in another fragment. */
static bool run_converged(struct warp *warp, const struct inst *inst, uint32_t lanes)
{
    const uint64_t *members = row(warp, inst->s[inst->target]);
    uint32_t alive = alive_lanes(warp), waiting = 0, missing = 0;
    for (uint32_t left = lanes; left;) {
        uint32_t mask = (uint32_t)members[first_lane(left)], group = 0;
        for (uint32_t each = left; each; each &= each - 1)
            if ((uint32_t)members[first_lane(each)] == mask)
                group |= 1u << first_lane(each);
        left &= ~group;
        uint32_t absent = mask & alive & ~warp->mask;
        missing |= absent;
        waiting |= absent ? group : 0;
        if (!absent)
            inst->run(warp, inst, group);
    }
    if (!waiting)
        return true;
    struct fragment *fragment = &warp->fragments[warp->current];
    uint32_t pc = warp->pc, others = warp->mask & ~waiting;
    struct frame *frame = warp->frame;
    fragment->pc = pc;
    fragment->mask = waiting;
    fragment->state = AT_SYNC;
    fragment->awaited = missing;
    if (others)
        add_fragment(warp, frame, pc + 1, others);
    return false;
}

/* Executes an instruction that changes the control flow. It can add, remove and move fragments. */
static void run_control(struct warp *warp, const struct inst *inst, uint32_t lanes)
{
    struct fragment *fragment = &warp->fragments[warp->current];
    fragment->pc = warp->pc;
    if (lanes == 0) {
        fragment->pc++;
        return;
    }
    switch (inst->control) {
    case K_BRANCH: do_branch(warp, fragment, lanes, inst->target); break;
    case K_BRANCH_TABLE: do_branch_table(warp, fragment, inst, lanes); break;
    case K_CALL: {
        uint32_t rest = fragment->mask & ~lanes, pc = fragment->pc;
        struct frame *frame = fragment->frame;
        fragment->mask = lanes;
        do_call(warp, fragment, inst, lanes,
                warp->block->run->module->calls[inst->target].function);
        if (rest)
            add_fragment(warp, frame, pc + 1, rest);
        break;
    }
    case K_CALL_INDIRECT: do_call_indirect(warp, fragment, inst, lanes); break;
    case K_RETURN: do_return(warp, fragment, lanes); break;
    case K_EXIT: do_exit(warp, fragment, lanes); break;
    case K_BARRIER: do_barrier(warp, fragment, inst, lanes); break;
    case K_CLUSTER_BARRIER: do_cluster_barrier(warp, fragment, inst, lanes); break;
    case K_WARP_SYNC: do_warp_sync(warp, fragment, inst, lanes); break;
    case K_TRAP: warp_fault(warp, inst, first_lane(lanes), "trap"); break;
    default: break;
    }
}

/* ---- warps ---- */

/* Copies the state of the current fragment into the warp. */
static void load_state(struct warp *warp)
{
    const struct fragment *fragment = &warp->fragments[warp->current];
    warp->frame = fragment->frame;
    warp->rows = fragment->frame->rows;
    warp->predicates = fragment->frame->predicates;
    warp->pc = fragment->pc;
    warp->mask = fragment->mask;
    warp->issue.operand_base = warp->frame->operand_base;
    warp->issue.operand_end = warp->frame->operand_base + warp->frame->function->operand_count;
}

/* Returns the next instruction ahead of the current fragment where another fragment of the same
 * frame is, or UINT32_MAX if there is none. The current fragment must stop there to merge with it.
 */
static uint32_t next_merge_point(const struct warp *warp)
{
    uint32_t lowest = UINT32_MAX;
    for (uint32_t i = 0; i < warp->fragment_count; i++) {
        const struct fragment *other = &warp->fragments[i];
        if (i != warp->current && other->frame == warp->frame && other->pc < lowest &&
            (other->state == RUNNING || other->state == AT_SYNC) && other->pc > warp->pc)
            lowest = other->pc;
    }
    return lowest;
}

static bool notify_issue(struct warp *warp, const struct inst *inst, uint32_t lanes)
{
    const struct fth_ptx_observer *observer = warp->block->run->observer;
    struct fth_ptx_issue *issue = &warp->issue;
    issue->instruction = inst->index;
    issue->line = inst->line;
    issue->mask = lanes;
    issue->opcode = inst->opcode;
    issue->operands = inst->operands;
    if (observer->issue(observer->user, issue))
        return true;
    warp->failed = true;
    stop_run(warp->block->run);
    return false;
}

/* Runs the current fragment until one of these happens: it has issued `limit` instructions, it
 * reaches another fragment, it waits at a .sync instruction, the launch ends, or it has executed an
 * instruction that run_control() handles, such as a call, a return or a barrier. A branch that all
 * lanes of the fragment take, or none, does not end the run. */
static void run_fragment(struct warp *warp, uint64_t limit)
{
    load_state(warp);
    const struct inst *code = warp->frame->function->code;
    const struct fth_ptx_observer *observer = warp->block->run->observer;
    bool observed = observer && observer->issue;
    uint32_t meet = next_merge_point(warp);
    uint64_t executed = 0, thread_instructions = 0;
    while (executed < limit) {
        const struct inst *inst = &code[warp->pc];
        if (inst->control == K_CONVERGE && warp->fragment_count > 1)
            merge_waiting(warp);
        uint32_t lanes = warp->mask;
        if (inst->guarded) {
            uint32_t guard = warp->predicates[inst->guard];
            lanes &= inst->guard_negated ? ~guard : guard;
        }
        executed++;
        thread_instructions += (uint64_t)__builtin_popcount(lanes);
        if (observed && !notify_issue(warp, inst, lanes))
            break;
        if (inst->control != K_NONE && inst->control != K_CONVERGE) {
            /* Fast path for a branch that all lanes take, or none: the fragment does not split. */
            if (inst->control == K_BRANCH && (lanes == warp->mask || lanes == 0)) {
                warp->pc = lanes ? inst->target : warp->pc + 1;
                warp->block->clock++;
                if (warp->pc >= meet)
                    break;
                /* After a jump, the next merge point can be another one. After a backward branch,
                 * for example, other fragments can be ahead again. */
                if (warp->fragment_count > 1 && lanes)
                    meet = next_merge_point(warp);
                continue;
            }
            warp->instructions += executed;
            warp->thread_instructions += thread_instructions;
            warp->block->clock++;
            run_control(warp, inst, lanes);
            return;
        }
        warp->block->clock++;
        if (lanes && inst->control == K_CONVERGE) {
            if (!run_converged(warp, inst, lanes)) {
                warp->instructions += executed;
                warp->thread_instructions += thread_instructions;
                return;
            }
        } else if (lanes) {
            inst->run(warp, inst, lanes);
        }
        warp->pc++;
        if (warp->failed || warp->pc >= meet)
            break;
    }
    warp->fragments[warp->current].pc = warp->pc;
    warp->instructions += executed;
    warp->thread_instructions += thread_instructions;
}

/* See engine.h. `turn` is a number of instructions. Sets warp->blocked if all fragments of the warp
 * wait. */
bool run_warp(struct warp *warp, uint64_t turn)
{
    struct run *run = warp->block->run;
    uint64_t start = warp->instructions, end = start + turn;
    uint64_t max_instructions = run->launch->max_instructions;
    bool give_way = false;
    warp->blocked = false;
    while (warp->fragment_count && warp->instructions < end && !warp->failed) {
        if (warp->fragment_count > 1)
            merge_fragments(warp);
        wake_fragments(warp);
        if (!choose_fragment(warp, give_way)) {
            warp->blocked = true;
            break;
        }
        uint64_t left = end - warp->instructions, before = warp->instructions;
        bool alone = warp->fragment_count == 1;
        run_fragment(warp, alone || left < FRAGMENT_TURN ? left : FRAGMENT_TURN);
        /* After a turn that was used up, the choice alternates between the fragment furthest ahead
         * and the one furthest behind. */
        give_way = !alone && warp->instructions - before >= FRAGMENT_TURN ? !give_way : false;
        if (max_instructions && warp->instructions > max_instructions && warp->fragment_count) {
            warp->current = 0; /* the fragment that ran may no longer exist */
            load_state(warp);
            warp_fault(warp, &warp->frame->function->code[warp->pc], first_lane(warp->mask),
                       "the warp has issued more than %llu instructions: it seems to hang",
                       (unsigned long long)max_instructions);
        }
    }
    return warp->instructions != start;
}
