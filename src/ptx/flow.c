/* The flow of a warp.
 *
 * A warp is a set of fragments: lanes at the same instruction of the same activation. It begins as
 * one. A branch that only some lanes take makes two; the one that is furthest behind runs first
 * (deepest call, then lowest address), so that it catches up with the others, and where two meet
 * they become one again. Code is laid out so that this is where paths join. A fragment that loops
 * while others wait is made to give way now and then, so that a lock held by another lane of the
 * same warp is released at last. */
#include "ptx/engine.h"

#include <stdlib.h>
#include <string.h>

/* How long a fragment may keep others of its warp waiting. */
#define FRAGMENT_TURN 5000u
enum { MAX_CALLS = 1000 };

/* ---- frames ---- */

struct frame *frame_create(struct warp *warp, const struct function *function, struct frame *caller)
{
    size_t rows = ((size_t)function->register_count + 1) * LANES;
    struct frame *frame = calloc(1, sizeof *frame);
    if (frame) {
        frame->function = function;
        frame->caller = caller;
        frame->depth = caller ? caller->depth + 1 : 0;
        frame->operand_base = caller ? caller->operand_base + caller->function->operand_count : 0;
        frame->local_base =
            caller ? (caller->local_base + caller->function->local_bytes + 15) / 16 * 16 : 0;
        frame->rows = calloc(rows, sizeof *frame->rows);
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

/* Room for the frame's local memory; lanes keep what they have. */
bool reserve_local(struct warp *warp, const struct frame *frame)
{
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

/* Where a lane's argument or result lies: in a register or in parameter memory. */
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
            /* Both are in registers, or both in memory and of one size. */
            const struct slot *a = &from_slots[i], *b = &to_slots[i];
            memcpy(slot_place(warp, to, b, lane), slot_place(warp, from, a, lane),
                   a->row != NO_REGISTER ? sizeof(uint64_t) : b->bytes);
        }
    }
}

/* ---- fragments ---- */

/* Puts lanes at a place, together with those that are there already. */
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

/* Fragments at the same place that both run become one. */
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

/* The lanes of a warp that stand at a bar.warp.sync, wherever it is. */
static uint32_t meeting_lanes(const struct warp *warp)
{
    uint32_t lanes = 0;
    for (uint32_t i = 0; i < warp->fragment_count; i++)
        if (warp->fragments[i].state == AT_MEETING)
            lanes |= warp->fragments[i].mask;
    return lanes;
}

/* Those that wait for lanes which have come, or have left for good, can go on. */
static void wake_fragments(struct warp *warp)
{
    uint32_t alive = alive_lanes(warp), meeting = meeting_lanes(warp);
    for (uint32_t i = 0; i < warp->fragment_count; i++) {
        struct fragment *fragment = &warp->fragments[i];
        if (fragment->state == AT_SYNC && fragment->members & ~alive) {
            fragment->state = RUNNING; /* to look again who is missing */
        } else if (fragment->state == AT_MEETING && !(fragment->members & alive & ~meeting)) {
            fragment->state = RUNNING;
            fragment->pc++;
        }
    }
}

/* The next to run: furthest behind, or (`last`) furthest ahead. False where none can. */
static bool choose_fragment(struct warp *warp, bool last)
{
    bool found = false;
    for (uint32_t i = 0; i < warp->fragment_count; i++) {
        const struct fragment *a = &warp->fragments[i];
        if (a->state != RUNNING)
            continue;
        const struct fragment *b = &warp->fragments[warp->current];
        bool behind = !found || a->frame->depth > b->frame->depth ||
                      (a->frame->depth == b->frame->depth && a->pc < b->pc);
        if (!found || behind != last)
            warp->current = i;
        found = true;
    }
    return found;
}

/* ---- flow ---- */

void do_exit(struct warp *warp, struct fragment *fragment, uint32_t lanes)
{
    fragment->mask &= ~lanes;
    fragment->pc++;
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
    fragment->pc++;
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
        warp_fault(warp, inst, first_lane(lanes), "an assertion of the kernel failed");
        return;
    }
    if (function->builtin == BUILTIN_PRINTF) { /* nothing is printed; its result stays as it is */
        fragment->pc++;
        return;
    }
    if (caller->depth == MAX_CALLS) {
        warp_fault(warp, inst, first_lane(lanes), "calls nested more than %d deep", MAX_CALLS);
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

/* Lanes may call different functions: those of the first lane go, the others stay for later. */
static void do_call_indirect(struct warp *warp, struct fragment *fragment, const struct inst *inst,
                             uint32_t lanes)
{
    const struct fth_ptx_module *module = warp->block->run->module;
    const struct call_site *site = &module->calls[inst->target];
    const uint64_t *targets = row(warp, inst->s[0]);
    uint64_t target = targets[first_lane(lanes)];
    uint64_t index = (target - CODE_WINDOW) / 16;
    const struct function *function =
        target >= CODE_WINDOW && target % 16 == 0 && index < module->function_count
            ? &module->functions[index]
            : NULL;
    if (!function || !function->has_body || function->is_kernel ||
        !slots_agree(function->arguments, function->argument_count, site->arguments,
                     site->argument_count) ||
        !slots_agree(function->results, function->result_count, site->results,
                     site->result_count)) {
        warp_fault(warp, inst, first_lane(lanes), "0x%llx is no function of that kind",
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
    if (rest) /* lanes whose guard was false go on */
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
        warp_fault(warp, inst, first_lane(lanes), "index %u of a table of %zu branches", index,
                   table->count);
        return;
    }
    for (uint32_t left = lanes; left; left &= left - 1)
        if ((uint32_t)indices[first_lane(left)] == index)
            same |= 1u << first_lane(left);
    struct frame *frame = fragment->frame;
    uint32_t pc = fragment->pc, others = lanes & ~same, passed = fragment->mask & ~lanes;
    fragment->mask = same;
    fragment->pc = table->targets[index];
    /* The others come back to the same instruction, with their own index. */
    if (others)
        warp->fragments[warp->fragment_count++] =
            (struct fragment){.pc = pc, .mask = others, .frame = frame};
    if (passed)
        add_fragment(warp, frame, pc + 1, passed);
}

static void do_barrier(struct warp *warp, struct fragment *fragment, const struct inst *inst,
                       uint32_t lanes)
{
    struct block *block = warp->block;
    uint64_t id = row(warp, inst->s[0])[first_lane(lanes)];
    uint64_t threads =
        inst->s[1] != NO_REGISTER ? row(warp, inst->s[1])[first_lane(lanes)] & 0xffffffff : 0;
    if (id >= MAX_BARRIERS || threads % LANES || threads > (uint64_t)block->warp_count * LANES) {
        warp_fault(warp, inst, first_lane(lanes),
                   "barrier %llu for %llu threads: there are %d, for "
                   "whole warps of the block",
                   (unsigned long long)id, (unsigned long long)threads, MAX_BARRIERS);
        return;
    }
    uint32_t rest = fragment->mask & ~lanes;
    if (inst->flags & F_ARRIVE) {
        /* A warp arrives as a whole. */
        block->arrived[id] += LANES;
        block->waited_at |= 1u << id;
        fragment->pc++;
        return;
    }
    block->waited_at |= 1u << id;
    fragment->mask = lanes;
    fragment->state = AT_BARRIER;
    fragment->barrier = (uint32_t)id;
    fragment->barrier_threads = (uint32_t)threads;
    if (rest)
        add_fragment(warp, fragment->frame, fragment->pc + 1, rest);
}

/* Arriving does not stop anybody; waiting does, until the barrier has been complete since one
 * arrived. */
static void do_cluster(struct warp *warp, struct fragment *fragment, const struct inst *inst,
                       uint32_t lanes)
{
    struct cluster *cluster = warp->block->cluster;
    if (inst->flags & F_ARRIVE) {
        if (warp->at_cluster & lanes) {
            warp_fault(warp, inst, first_lane(warp->at_cluster & lanes),
                       "comes to the barrier of its cluster twice without waiting");
            return;
        }
        warp->at_cluster |= lanes;
        cluster->arrived = cluster->news = true;
        tell_cluster_barrier(warp, cluster->phase, false);
        fragment->pc++;
        return;
    }
    uint32_t waits = lanes & warp->at_cluster, rest = fragment->mask & ~waits;
    if (lanes & ~waits)
        tell_cluster_barrier(warp, cluster->phase - 1, true);
    if (!waits) {
        fragment->pc++;
        return;
    }
    fragment->mask = waits;
    fragment->state = AT_CLUSTER;
    if (rest)
        add_fragment(warp, fragment->frame, fragment->pc + 1, rest);
}

static void do_meet(struct warp *warp, struct fragment *fragment, const struct inst *inst,
                    uint32_t lanes)
{
    uint32_t rest = fragment->mask & ~lanes;
    fragment->mask = lanes;
    fragment->state = AT_MEETING;
    fragment->members = (uint32_t)row(warp, inst->s[inst->target])[first_lane(lanes)];
    if (rest)
        add_fragment(warp, fragment->frame, fragment->pc + 1, rest);
}

/* Takes in those that wait at this very instruction. */
static void gather(struct warp *warp)
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
    /* The current one may have moved. */
    for (uint32_t i = 0; i < warp->fragment_count; i++)
        if (warp->fragments[i].mask & warp->mask)
            warp->current = i;
    warp->fragments[warp->current].mask = warp->mask = mask;
    warp->fragments[warp->current].pc = pc;
}

/* A .sync instruction: lanes that name the same members execute it together, once all of them are
 * here. The lanes whose partners are missing wait; true where there are none. */
static bool run_converged(struct warp *warp, const struct inst *inst, uint32_t lanes)
{
    const uint64_t *members = row(warp, inst->s[inst->target]);
    uint32_t alive = alive_lanes(warp), waiting = 0, missing = 0;
    for (uint32_t left = lanes; left;) {
        uint32_t wanted = (uint32_t)members[first_lane(left)], group = 0;
        for (uint32_t each = left; each; each &= each - 1)
            if ((uint32_t)members[first_lane(each)] == wanted)
                group |= 1u << first_lane(each);
        left &= ~group;
        uint32_t absent = wanted & alive & ~warp->mask;
        missing |= absent;
        waiting |= absent ? group : 0;
        if (!absent)
            inst->run(warp, inst, group);
    }
    if (!waiting)
        return true;
    struct fragment *fragment = &warp->fragments[warp->current];
    uint32_t pc = warp->pc, rest = warp->mask & ~waiting;
    struct frame *frame = warp->frame;
    fragment->pc = pc;
    fragment->mask = waiting;
    fragment->state = AT_SYNC;
    fragment->members = missing;
    if (rest)
        add_fragment(warp, frame, pc + 1, rest);
    return false;
}

/* An instruction that changes the flow. Afterwards fragments may have come, gone or moved. */
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
    case K_CLUSTER: do_cluster(warp, fragment, inst, lanes); break;
    case K_MEET: do_meet(warp, fragment, inst, lanes); break;
    case K_TRAP: warp_fault(warp, inst, first_lane(lanes), "trap"); break;
    default: break;
    }
}

/* ---- warps ---- */

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

/* The lowest address at which another fragment of the same activation waits to be met. */
static uint32_t meeting_point(const struct warp *warp)
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

static bool tell_issue(struct warp *warp, const struct inst *inst, uint32_t lanes)
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

/* Runs the chosen fragment until it is done, waits, splits, meets another, or its turn ends. */
static void run_fragment(struct warp *warp, uint64_t turn)
{
    load_state(warp);
    const struct inst *code = warp->frame->function->code;
    const struct fth_ptx_observer *observer = warp->block->run->observer;
    bool observed = observer && observer->issue;
    uint32_t meet = meeting_point(warp);
    uint64_t executed = 0, threads = 0;
    while (executed < turn) {
        const struct inst *inst = &code[warp->pc];
        if (inst->control == K_CONVERGE && warp->fragment_count > 1)
            gather(warp);
        uint32_t lanes = warp->mask;
        if (inst->guarded) {
            uint32_t guard = warp->predicates[inst->guard];
            lanes &= inst->guard_negated ? ~guard : guard;
        }
        executed++;
        threads += (uint64_t)__builtin_popcount(lanes);
        if (observed && !tell_issue(warp, inst, lanes))
            break;
        if (inst->control != K_NONE && inst->control != K_CONVERGE) {
            /* A branch that all take, or none, is no more than a jump. */
            if (inst->control == K_BRANCH && (lanes == warp->mask || lanes == 0)) {
                warp->pc = lanes ? inst->target : warp->pc + 1;
                warp->block->clock++;
                if (warp->pc >= meet)
                    break;
                /* After a jump back, what waits ahead may be met again. */
                if (warp->fragment_count > 1 && lanes)
                    meet = meeting_point(warp);
                continue;
            }
            warp->instructions += executed;
            warp->thread_instructions += threads;
            warp->block->clock++;
            run_control(warp, inst, lanes);
            return;
        }
        warp->block->clock++;
        if (lanes && inst->control == K_CONVERGE) {
            if (!run_converged(warp, inst, lanes)) {
                warp->instructions += executed;
                warp->thread_instructions += threads;
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
    warp->thread_instructions += threads;
}

bool run_warp(struct warp *warp, uint64_t turn)
{
    struct run *run = warp->block->run;
    uint64_t start = warp->instructions, end = start + turn;
    uint64_t max = run->launch->max_instructions;
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
        /* One that used all its turn, while others wait, lets the others go first. */
        give_way = !alone && warp->instructions - before >= FRAGMENT_TURN ? !give_way : false;
        if (max && warp->instructions > max && warp->fragment_count) {
            warp->current = 0; /* the one that ran may be gone */
            load_state(warp);
            warp_fault(warp, &warp->frame->function->code[warp->pc], first_lane(warp->mask),
                       "the warp has issued more than %llu instructions: it hangs",
                       (unsigned long long)max);
        }
    }
    return warp->instructions != start;
}
