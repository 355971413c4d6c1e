/* The control flow of a warp: divergence and convergence.
 *
 * A warp is a set of fragments. A fragment is a set of lanes at the same instruction of the same
 * frame (calls.c). A warp starts with one fragment. A branch that only some of its lanes take
 * splits a fragment into two. The fragment that is furthest behind (deepest call, then lowest
 * instruction index) runs first, so it catches up with the others. Two fragments that reach the
 * same instruction merge. Compilers lay out code so that paths join at a higher address, where this
 * order merges them. A fragment that loops while others could run yields after FRAGMENT_TURN
 * instructions, so that another lane of the warp can release a lock.
 *
 * A fragment that does not wait is called running (its state is RUNNING), even while another
 * fragment executes. The one that executes is the current fragment. */
#include "ptx/execute/warp.h"

#include <string.h>

/* Maximum number of instructions that a fragment runs while other fragments of its warp could run.
 * Chosen, not derived: long enough to cost little, short enough that spinning lanes wait little. */
#define FRAGMENT_TURN 5000u

/* ---- fragments ---- */

/* Adds lanes at an instruction. They join the running fragment at this instruction, if there is
 * one. */
void fth_ptx_add_fragment(struct fth_ptx_warp *warp, struct fth_ptx_frame *frame, uint32_t pc,
                          uint32_t mask)
{
    for (uint32_t i = 0; i < warp->fragment_count; i++) {
        struct fth_ptx_fragment *fragment = &warp->fragments[i];
        if (fragment->frame == frame && fragment->pc == pc && fragment->state == RUNNING) {
            fragment->mask |= mask;
            return;
        }
    }
    warp->fragments[warp->fragment_count++] =
        (struct fth_ptx_fragment){.pc = pc, .mask = mask, .frame = frame};
}

void fth_ptx_remove_fragment(struct fth_ptx_warp *warp, uint32_t index)
{
    warp->fragments[index] = warp->fragments[--warp->fragment_count];
}

uint32_t fth_ptx_alive_lanes(const struct fth_ptx_warp *warp)
{
    uint32_t alive = 0;
    for (uint32_t i = 0; i < warp->fragment_count; i++)
        alive |= warp->fragments[i].mask;
    return alive;
}

/* Merges the running fragments that are at the same instruction. */
static void merge_fragments(struct fth_ptx_warp *warp)
{
    for (uint32_t i = 0; i < warp->fragment_count; i++)
        for (uint32_t j = i + 1; j < warp->fragment_count; j++) {
            struct fth_ptx_fragment *a = &warp->fragments[i], *b = &warp->fragments[j];
            if (a->pc == b->pc && a->frame == b->frame && a->state == RUNNING &&
                b->state == RUNNING) {
                a->mask |= b->mask;
                fth_ptx_remove_fragment(warp, j--);
            }
        }
}

/* Returns the lanes of a warp that wait at any bar.warp.sync. */
static uint32_t warp_sync_lanes(const struct fth_ptx_warp *warp)
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
static void wake_fragments(struct fth_ptx_warp *warp)
{
    uint32_t alive = fth_ptx_alive_lanes(warp), meeting = warp_sync_lanes(warp);
    for (uint32_t i = 0; i < warp->fragment_count; i++) {
        struct fth_ptx_fragment *fragment = &warp->fragments[i];
        if (fragment->state == AT_SYNC && fragment->awaited & ~alive) {
            fragment->state = RUNNING; /* run_converged() checks again which lanes are missing */
        } else if (fragment->state == AT_WARP_SYNC && !(fragment->awaited & alive & ~meeting)) {
            fragment->state = RUNNING;
            fragment->pc++;
            if (warp->block->run->check_async)
                fth_hazard_warp_sync(warp, fragment);
        }
    }
}

/* Sets warp->current to the running fragment that is furthest behind or, if `ahead`, furthest
 * ahead. Returns false if all fragments wait. */
static bool choose_fragment(struct fth_ptx_warp *warp, bool ahead)
{
    bool found = false;
    for (uint32_t i = 0; i < warp->fragment_count; i++) {
        const struct fth_ptx_fragment *a = &warp->fragments[i];
        if (a->state != RUNNING)
            continue;
        const struct fth_ptx_fragment *b = &warp->fragments[warp->current];
        bool behind = !found || a->frame->depth > b->frame->depth ||
                      (a->frame->depth == b->frame->depth && a->pc < b->pc);
        if (!found || behind != ahead)
            warp->current = i;
        found = true;
    }
    return found;
}

/* Sets warp->current to the running fragment after the current one in the list. */
static bool choose_next_fragment(struct fth_ptx_warp *warp)
{
    for (uint32_t n = 1; n <= warp->fragment_count; n++) {
        const uint32_t i = (warp->current + n) % warp->fragment_count;
        if (warp->fragments[i].state == RUNNING) {
            warp->current = i;
            return true;
        }
    }
    return false;
}

/* Sets warp->needed_elsewhere. */
static void find_needed_elsewhere(struct fth_ptx_warp *warp)
{
    const struct fth_slice *slice = warp->block->run->slice;
    const struct fth_ptx_frame *frame = warp->fragments[warp->current].frame;
    warp->needed_elsewhere = 0;
    for (uint32_t i = 0; slice && warp->fragment_count > 1 && i < warp->fragment_count; i++) {
        const struct fth_ptx_fragment *other = &warp->fragments[i];
        if (i != warp->current)
            warp->needed_elsewhere |= other->frame == frame
                                          ? fth_slice_live(slice, frame->function, other->pc)
                                          : UINT64_MAX;
    }
}

/* ---- control instructions ---- */

static void do_branch(struct fth_ptx_warp *warp, struct fth_ptx_fragment *fragment, uint32_t lanes,
                      uint32_t target)
{
    if (lanes == fragment->mask) {
        fragment->pc = target;
        return;
    }
    fragment->pc++;
    fragment->mask &= ~lanes;
    fth_ptx_add_fragment(warp, fragment->frame, target, lanes);
}

static void do_branch_table(struct fth_ptx_warp *warp, struct fth_ptx_fragment *fragment,
                            const struct fth_ptx_inst *inst, uint32_t lanes)
{
    const struct fth_ptx_branch_table *table = &warp->block->run->module->tables[inst->target];
    const uint64_t *indices = row(warp, inst->s[0]);
    uint32_t index = (uint32_t)indices[first_lane(lanes)], same = 0;
    if (index >= table->count) {
        fth_ptx_warp_fault(warp, inst, first_lane(lanes),
                           "branch index %u is out of range: the list has %zu labels", index,
                           table->count);
        return;
    }
    for (uint32_t left = lanes; left; left &= left - 1)
        if ((uint32_t)indices[first_lane(left)] == index)
            same |= 1u << first_lane(left);
    struct fth_ptx_frame *frame = fragment->frame;
    uint32_t pc = fragment->pc, others = lanes & ~same, rest = fragment->mask & ~lanes;
    fragment->mask = same;
    fragment->pc = table->targets[index];
    /* Lanes with another index remain at the instruction and execute it again.
     * (fth_ptx_add_fragment() would have the same effect, because fth_ptx_warp_run() merges
     * fragments before the next one runs.) */
    if (others)
        warp->fragments[warp->fragment_count++] =
            (struct fth_ptx_fragment){.pc = pc, .mask = others, .frame = frame};
    if (rest)
        fth_ptx_add_fragment(warp, frame, pc + 1, rest);
}

/* bar.warp.sync. wake_fragments() resumes the fragment. inst->target is the index of the member
 * mask in inst->s[]. */
static void do_warp_sync(struct fth_ptx_warp *warp, struct fth_ptx_fragment *fragment,
                         const struct fth_ptx_inst *inst, uint32_t lanes)
{
    uint32_t rest = fragment->mask & ~lanes;
    fragment->mask = lanes;
    fragment->state = AT_WARP_SYNC;
    fragment->awaited = (uint32_t)row(warp, inst->s[inst->target])[first_lane(lanes)];
    if (rest)
        fth_ptx_add_fragment(warp, fragment->frame, fragment->pc + 1, rest);
}

/* Merges the fragments that wait at the current instruction into the current fragment. */
static void merge_waiting(struct fth_ptx_warp *warp)
{
    struct fth_ptx_frame *frame = warp->frame;
    uint32_t pc = warp->pc, mask = warp->mask;
    for (uint32_t i = 0; i < warp->fragment_count; i++) {
        const struct fth_ptx_fragment *other = &warp->fragments[i];
        if (other->state == AT_SYNC && other->frame == frame && other->pc == pc) {
            mask |= other->mask;
            fth_ptx_remove_fragment(warp, i--);
        }
    }
    /* fth_ptx_remove_fragment can have moved the current fragment. */
    for (uint32_t i = 0; i < warp->fragment_count; i++)
        if (warp->fragments[i].mask & warp->mask)
            warp->current = i;
    warp->fragments[warp->current].mask = warp->mask = mask;
    warp->fragments[warp->current].pc = pc;
    find_needed_elsewhere(warp);
}

/* Executes a .sync instruction (K_CONVERGE). inst->target is the index of the member mask in
 * inst->s[]. The lanes with the same member mask form a group. A group executes the instruction
 * when all its members that have not exited have arrived. Returns true if all lanes have executed
 * it. Otherwise, the lanes of incomplete groups wait in the current fragment, and its other lanes
 * continue in another fragment. */
static bool run_converged(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst,
                          uint32_t lanes)
{
    const uint64_t *members = row(warp, inst->s[inst->target]);
    uint32_t alive = fth_ptx_alive_lanes(warp), waiting = 0, missing = 0;
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
    /* merge_waiting() has set the pc of the fragment. */
    struct fth_ptx_fragment *fragment = &warp->fragments[warp->current];
    uint32_t pc = warp->pc, others = warp->mask & ~waiting;
    struct fth_ptx_frame *frame = warp->frame;
    fragment->mask = waiting;
    fragment->state = AT_SYNC;
    fragment->awaited = missing;
    if (others)
        fth_ptx_add_fragment(warp, frame, pc + 1, others);
    return false;
}

/* Executes an instruction that changes the control flow. It can add, remove and move fragments. */
static void run_control(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, uint32_t lanes)
{
    struct fth_ptx_fragment *fragment = &warp->fragments[warp->current];
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
        struct fth_ptx_frame *frame = fragment->frame;
        fragment->mask = lanes;
        fth_ptx_run_call(warp, fragment, inst, lanes,
                         warp->block->run->module->calls[inst->target].function);
        if (rest)
            fth_ptx_add_fragment(warp, frame, pc + 1, rest);
        break;
    }
    case K_CALL_INDIRECT: fth_ptx_run_call_indirect(warp, fragment, inst, lanes); break;
    case K_RETURN: fth_ptx_run_return(warp, fragment, lanes); break;
    case K_EXIT: fth_ptx_run_exit(warp, fragment, lanes); break;
    case K_BARRIER: fth_ptx_run_barrier(warp, fragment, inst, lanes); break;
    case K_CLUSTER_BARRIER: fth_ptx_run_cluster_barrier(warp, fragment, inst, lanes); break;
    case K_WARP_SYNC: do_warp_sync(warp, fragment, inst, lanes); break;
    case K_TRAP: /* trap and brkpt; without a debugger, both end the launch */
        fth_ptx_warp_fault(warp, inst, first_lane(lanes), "%s",
                           strcmp(inst->opcode, "brkpt") == 0 ? "breakpoint" : "trap");
        break;
    default: break;
    }
}

/* ---- warps ---- */

/* Copies the state of the current fragment into the warp. */
static void load_state(struct fth_ptx_warp *warp)
{
    const struct fth_ptx_fragment *fragment = &warp->fragments[warp->current];
    warp->frame = fragment->frame;
    warp->rows = fragment->frame->rows;
    warp->values = fragment->frame->values;
    warp->predicates = fragment->frame->predicates;
    warp->pc = fragment->pc;
    warp->mask = fragment->mask;
    find_needed_elsewhere(warp);
    warp->issue.operand_base = warp->frame->operand_base;
    warp->issue.operand_end = warp->frame->operand_base + warp->frame->function->operand_count;
    warp->segment = warp->pc;
    warp->runs = true;
}

/* Returns the next instruction ahead of the current fragment where another fragment of the same
 * frame is, or UINT32_MAX if there is none. The current fragment must stop there to merge with it.
 */
static uint32_t next_merge_point(const struct fth_ptx_warp *warp)
{
    uint32_t lowest = UINT32_MAX;
    for (uint32_t i = 0; i < warp->fragment_count; i++) {
        const struct fth_ptx_fragment *other = &warp->fragments[i];
        if (i != warp->current && other->frame == warp->frame && other->pc < lowest &&
            (other->state == RUNNING || other->state == AT_SYNC) && other->pc > warp->pc)
            lowest = other->pc;
    }
    return lowest;
}

static bool notify_issue(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst, uint32_t lanes)
{
    const struct fth_ptx_observer *observer = warp->block->run->observer;
    struct fth_ptx_issue *issue = &warp->issue;
    if (warp->block->run->check_async && !inst->operands->is_spill)
        fth_hazard_instruction(warp, inst, lanes);
    if (!observer || !observer->issue)
        return true;
    issue->instruction = inst->index;
    issue->line = inst->line;
    issue->mask = lanes;
    issue->opcode = inst->opcode;
    issue->operands = inst->operands;
    if (observer->issue(observer->user, issue))
        return true;
    warp->failed = true;
    fth_ptx_run_stop(warp->block->run);
    return false;
}

/* Issues the instructions without effect that begin with this one, at most `limit`, and returns
 * their number. The warp must have one fragment, so that no .sync instruction among them waits. */
static inline uint64_t skip_instructions(struct fth_ptx_warp *warp, const struct fth_ptx_inst *inst,
                                         uint64_t limit)
{
    const uint64_t count = inst->skip_count < limit ? inst->skip_count : limit;
    warp->block->clock += count;
    warp->pc += (uint32_t)count;
    return count;
}

/* True if the observer, or the search for races, is notified of each instruction. */
static bool is_observed(const struct fth_ptx_warp *warp)
{
    const struct fth_ptx_run *run = warp->block->run;
    return (run->observer && run->observer->issue) || run->check_async;
}

/* Returns the code of the current fragment's function that is executed. */
static const struct fth_ptx_inst *code_of(const struct fth_ptx_warp *warp)
{
    const struct fth_slice *slice = warp->block->run->slice;
    const struct fth_ptx_function *function = warp->frame->function;
    return slice ? fth_slice_code(slice, function) : function->code;
}

/* Adds the cost of the instructions from warp->segment up to `end`, without it, and starts a new
 * segment at `next`. */
static inline void end_segment(struct fth_ptx_warp *warp, uint32_t end, uint32_t next)
{
    const struct fth_ptx_cost *costs = warp->frame->function->costs;
    warp->cost.instructions += costs[end].instructions - costs[warp->segment].instructions;
    warp->cost.cycles += costs[end].cycles - costs[warp->segment].cycles;
    warp->segment = next;
}

/* Ends the turn of the current fragment, which has executed the instructions before `end`. */
static void end_turn(struct fth_ptx_warp *warp, uint32_t end, uint64_t executed,
                     uint64_t thread_instructions)
{
    end_segment(warp, end, end);
    warp->runs = false;
    warp->instructions += executed;
    warp->thread_instructions += thread_instructions;
}

/* Runs the current fragment until one of these happens: it has issued `limit` instructions, it
 * reaches another fragment, it waits at a .sync instruction, the launch ends, or it has executed an
 * instruction that run_control() handles, such as a call, a return or a barrier. A branch that all
 * lanes of the fragment take, or none, does not end the run. */
static void run_fragment(struct fth_ptx_warp *warp, uint64_t limit)
{
    load_state(warp);
    const struct fth_ptx_inst *code = code_of(warp);
    const bool observed = is_observed(warp);
    uint32_t meet = next_merge_point(warp);
    uint64_t executed = 0, thread_instructions = 0;
    while (executed < limit) {
        const struct fth_ptx_inst *inst = &code[warp->pc];
        if (inst->skip_count && warp->fragment_count == 1 && !observed) {
            const uint64_t count = skip_instructions(warp, inst, limit - executed);
            executed += count;
            thread_instructions += count * (uint64_t)__builtin_popcount(warp->mask);
            continue;
        }
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
        warp->block->clock++;
        if (inst->control != K_NONE && inst->control != K_CONVERGE) {
            /* Fast path for a branch that all lanes take, or none: the fragment does not split. */
            if (inst->control != K_BRANCH || (lanes != warp->mask && lanes != 0)) {
                end_turn(warp, warp->pc + 1, executed, thread_instructions);
                run_control(warp, inst, lanes);
                return;
            }
            if (lanes)
                end_segment(warp, warp->pc + 1, inst->target);
            warp->pc = lanes ? inst->target : warp->pc + 1;
            if (warp->pc >= meet)
                break;
            /* After a jump, the next merge point can be another one. After a backward branch, for
             * example, other fragments can be ahead again. */
            if (warp->fragment_count > 1 && lanes)
                meet = next_merge_point(warp);
            continue;
        }
        if (lanes && inst->control == K_CONVERGE) {
            if (!run_converged(warp, inst, lanes)) {
                end_turn(warp, warp->pc, executed, thread_instructions);
                return;
            }
        } else if (lanes) {
            inst->run(warp, inst, lanes);
        }
        warp->pc++;
        if (warp->failed || warp->yields || warp->pc >= meet)
            break;
    }
    warp->fragments[warp->current].pc = warp->pc;
    end_turn(warp, warp->pc, executed, thread_instructions);
}

/* Stops the launch because the warp has issued too many instructions. */
static void fail_over_limit(struct fth_ptx_warp *warp)
{
    warp->current = 0; /* the fragment that ran may no longer exist */
    load_state(warp);
    fth_ptx_warp_fault_of(
        warp, &warp->frame->function->code[warp->pc], first_lane(warp->mask), FTH_FAULT_LIMIT,
        "the warp has issued more than %llu instructions, the limit of a warp; if "
        "it is not in an endless loop, raise the limit with --max-instructions",
        (unsigned long long)warp->block->run->max_warp_instructions);
}

bool fth_ptx_warp_run(struct fth_ptx_warp *warp, uint64_t turn)
{
    const uint64_t start = warp->instructions, max = warp->block->run->max_warp_instructions;
    const uint64_t end = start + (turn > max - start ? max - start + 1 : turn);
    bool give_way = false;
    uint32_t waiting = 0; /* fragments in a row that wait in a loop */
    warp->blocked = warp->yields = false;
    while (warp->fragment_count && warp->instructions < end && !warp->failed) {
        if (warp->fragment_count > 1)
            merge_fragments(warp);
        wake_fragments(warp);
        if (!(warp->yields ? choose_next_fragment(warp) : choose_fragment(warp, give_way))) {
            warp->blocked = true;
            break;
        }
        warp->yields = false;
        uint64_t left = end - warp->instructions, before = warp->instructions;
        bool alone = warp->fragment_count == 1;
        run_fragment(warp, alone || left < FRAGMENT_TURN ? left : FRAGMENT_TURN);
        /* After a turn that was used up, the choice alternates between the fragment furthest ahead
         * and the one furthest behind. */
        give_way = !alone && warp->instructions - before >= FRAGMENT_TURN ? !give_way : false;
        waiting = warp->yields ? waiting + 1 : 0;
        if (warp->yields && waiting >= warp->fragment_count)
            break;
    }
    if (warp->instructions > max && warp->fragment_count && !warp->failed)
        fail_over_limit(warp);
    fth_ptx_worker_count(warp->block->cluster->worker, warp->instructions - start);
    return warp->instructions != start && !warp->yields;
}
