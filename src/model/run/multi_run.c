/* Runs several models ("members") of one trace in one pass. Work that they have in common is done
 * once:
 *
 *   read the trace, assign accesses to SMs, coalesce them   once
 *   run the requests through the L1s                        once per different L1, or once for
 *                                                           L1s that differ only in their ways
 *                                                           (lru_stack.c)
 *   turn forwarded requests into requests to the L2         once per different L1 and L2 line
 *   run these through the L2                                once per member, or once for equal
 *                                                           L2s whose L1s differ only in their
 *                                                           latency
 *
 * waves.c reads the trace for the first member. Where several members share something, the first of
 * them owns it and the others refer to it. Each member gets the same result as from a run of its
 * own, because no shared part depends on a parameter in which the members differ.
 *
 * The latency of an L1 rarely affects what it holds. A member whose L1s differ from those of an
 * earlier member, its *leader*, only in their latency, and whose L2 is equal, therefore simulates
 * its L1s but not its L2, as long as it forwards the same requests as the leader. When it forwards
 * others, it has *diverged*. A variant of an LRU stack can diverge as well. Members that diverge
 * are run again without leaders and stacks.
 *
 * Members with time share nothing and are run one after the other. */
#include "model/timed/timed.h"

#include <stdlib.h>

/* Members whose L1s differ only in their ways. Variant v of each LRU stack is the L1 of members[v].
 */
struct stack_group {
    size_t *members; /* [count] indices of members */
    size_t count;
    struct fth_lru_stack **stacks; /* [sms]; NULL: not yet used */
};

struct member {
    struct fth_model_state *state;
    struct fth_sharing_keys keys;
    /* In the current launch: index of the first member with the same L1s, and of the first ones
     * with the same requests to each of the L2s. */
    size_t l1_owner, feed_owner[FTH_L2_INPUTS];
    struct stack_group *stack_group; /* only in the first member of a group, which owns it */
    bool in_other_group;             /* a member, but not the first, of a stack group */
    bool diverged;                   /* in this launch or an earlier one; it gets no result */
    /* Index of the leader, in all launches; its own index: it has none. */
    size_t leader;
    bool leads;          /* it is the leader of another member */
    uint64_t *forwarded; /* of a leader: forwarded sectors per request of the current batch */
    size_t forwarded_capacity;
    enum fth_l1_source l1_source;
};

struct multi_run {
    struct member *members;
    size_t count;
    size_t failed_member; /* index of the member that is being processed */
    bool speculates;      /* uses LRU stacks and leaders; members can diverge */
    bool began;           /* a launch has begun */
    uint64_t *misses;     /* per request of a batch, one bit per variant: it is forwarded */
    size_t misses_capacity;
};

/* ---- stack groups ---- */

static void free_stack_group(struct member *member)
{
    if (!member->stack_group)
        return;
    for (uint64_t sm = 0; member->stack_group->stacks && sm < member->state->l1s.sms; sm++)
        fth_lru_stack_destroy(member->stack_group->stacks[sm]);
    free(member->stack_group->stacks);
    free(member->stack_group->members);
    free(member->stack_group);
    member->stack_group = NULL;
}

/* Whether a member can be added to the stack group of member `first`. */
static bool belongs_to_group(const struct multi_run *multi, size_t first, size_t index)
{
    const struct member *member = &multi->members[index];
    return member->l1_owner == index && !member->in_other_group && !member->diverged &&
           member->keys.l1_except_ways == multi->members[first].keys.l1_except_ways;
}

/* Creates a stack group owned by member `first` if at least two members belong to it. False: out of
 * memory. */
static bool create_stack_group(struct multi_run *multi, size_t first)
{
    enum { MAX_VARIANTS = 64 }; /* bits of `misses` */
    struct member *member = &multi->members[first];
    size_t count = 0;
    for (size_t i = first; i < multi->count; i++)
        count += belongs_to_group(multi, first, i);
    if (!multi->speculates || !member->keys.l1_except_ways ||
        !belongs_to_group(multi, first, first) || count < 2)
        return true;
    struct stack_group *group = member->stack_group = calloc(1, sizeof *group);
    if (!group)
        return false;
    group->members = calloc(count, sizeof *group->members);
    group->stacks = calloc((size_t)member->state->l1s.sms, sizeof(struct fth_lru_stack *));
    if (!group->members || !group->stacks)
        return false;
    for (size_t i = first; i < multi->count && group->count < MAX_VARIANTS; i++) {
        if (!belongs_to_group(multi, first, i))
            continue;
        group->members[group->count++] = i;
        multi->members[i].in_other_group = i != first;
        multi->members[i].l1_source = FTH_L1_STACK;
    }
    return true;
}

/* Creates the LRU stack of an SM. The L1s of the members then have the totals of their variants. */
static enum fth_status create_stack(struct multi_run *multi, const struct stack_group *group,
                                    uint32_t sm, struct fth_error *error)
{
    uint64_t *ways = calloc(group->count, sizeof *ways);
    struct fth_model_counts **counts = calloc(group->count, sizeof(struct fth_model_counts *));
    const struct fth_shape *widest = &multi->members[group->members[0]].state->l1s.shape;
    enum fth_status status = FTH_OK;
    if (!ways || !counts) {
        status = fth_no_memory(error, "model caches", NULL);
        goto out;
    }
    for (size_t i = 0; i < group->count; i++) {
        const struct fth_l1s *l1s = &multi->members[group->members[i]].state->l1s;
        ways[i] = l1s->shape.ways;
        counts[i] = l1s->counts[0];
        widest = l1s->shape.ways > widest->ways ? &l1s->shape : widest;
    }
    status = fth_lru_stack_create(widest, ways, counts, group->count, &group->stacks[sm], error);
    for (size_t i = 0; i < group->count && status == FTH_OK; i++)
        multi->members[group->members[i]].state->l1s.totals[sm] =
            fth_lru_stack_totals(group->stacks[sm], i);
out:
    free(ways);
    free(counts);
    return status;
}

/* Runs a batch through the LRU stacks of all SMs and fills `misses`. */
static enum fth_status run_stacks(struct multi_run *multi, const struct stack_group *group,
                                  const struct fth_issue_batch *batch, struct fth_error *error)
{
    if (multi->misses_capacity < batch->requests.count) {
        free(multi->misses);
        multi->misses_capacity = batch->requests.capacity;
        multi->misses = calloc(multi->misses_capacity, sizeof *multi->misses);
        if (!multi->misses)
            return fth_no_memory(error, "model caches", NULL);
    }
    for (size_t g = 0; g < batch->group_count; g++) {
        const struct fth_issue_group *issued = &batch->groups[g];
        if (!group->stacks[issued->sm])
            FTH_TRY(create_stack(multi, group, issued->sm, error));
        if (!fth_lru_stack_run(group->stacks[issued->sm], batch->requests.items + issued->first,
                               issued->count, multi->misses + issued->first))
            return fth_no_memory(error, "model caches", NULL);
    }
    return FTH_OK;
}

/* Sets the forwarded sectors of all requests to those of one variant. If the variant has diverged,
 * marks all members that use it and returns false. */
static bool apply_variant(struct multi_run *multi, const struct stack_group *group, size_t variant,
                          struct fth_issue_batch *batch)
{
    const size_t index = group->members[variant];
    for (uint64_t sm = 0; sm < multi->members[index].state->l1s.sms; sm++)
        if (group->stacks[sm] && fth_lru_stack_diverged(group->stacks[sm], variant))
            for (size_t i = index; i < multi->count; i++)
                multi->members[i].diverged |= multi->members[i].l1_owner == index;
    for (size_t i = 0; i < batch->requests.count; i++)
        batch->requests.items[i].missing =
            multi->misses[i] >> variant & 1 ? batch->requests.items[i].sectors : 0;
    for (size_t i = 0; i < batch->group_count; i++)
        batch->groups[i].forwards = true;
    return !multi->members[index].diverged;
}

/* ---- owners ---- */

/* Finds the first members with which a member shares L1s and requests to the L2s. */
static void find_owners(struct multi_run *multi, size_t index)
{
    struct member *member = &multi->members[index];
    size_t *feed_owner = member->feed_owner;
    member->l1_owner = feed_owner[FTH_L2_FORWARDED] = feed_owner[FTH_L2_ALL] = index;
    for (size_t i = index; i-- > 0;) {
        const struct member *other = &multi->members[i];
        if (!member->diverged && !other->diverged && other->keys.l1 == member->keys.l1) {
            member->l1_owner = i;
            if (other->keys.l2_input == member->keys.l2_input)
                feed_owner[FTH_L2_FORWARDED] = i;
        }
        if (other->state->bypassed &&
            other->keys.bypassed_l2_input == member->keys.bypassed_l2_input)
            feed_owner[FTH_L2_ALL] = i;
    }
}

static enum fth_status begin_member(struct multi_run *multi, size_t index, size_t launch,
                                    struct fth_error *error)
{
    struct member *member = &multi->members[index];
    struct fth_model_state *state = member->state;
    free_stack_group(member);
    FTH_TRY(fth_model_state_begin(state, launch, error));
    fth_sharing_keys_compute(state->params, &state->setting, &member->keys);
    if (member->keys.stream != multi->members[0].keys.stream)
        return fth_fail(error, FTH_INVALID, "model caches", NULL,
                        "these models cannot run together: their L1s get different requests");
    find_owners(multi, index);
    member->l1_source = member->l1_owner == index ? FTH_L1_OWN : FTH_L1_SHARED;
    member->in_other_group = false;
    for (int input = 0; input < FTH_L2_INPUTS; input++)
        if (state->feeds[input].l2)
            fth_l2_set_recording(state->feeds[input].l2, member->feed_owner[input] == index);
    return FTH_OK;
}

/* ---- leaders ---- */

/* Whether a member has L1s of its own, which are not variants of a stack. */
static bool has_own_l1s(const struct multi_run *multi, size_t index)
{
    const struct member *member = &multi->members[index];
    return member->l1_owner == index && !member->stack_group && !member->in_other_group &&
           !member->diverged;
}

/* Whether member `index` can have the leader `leader` in the current launch: both have L1s of their
 * own, which the first of them does not share. */
static bool can_follow(const struct multi_run *multi, size_t index, size_t leader)
{
    const struct fth_sharing_keys *own = &multi->members[index].keys;
    const struct fth_sharing_keys *others = &multi->members[leader].keys;
    for (size_t i = index + 1; i < multi->count; i++)
        if (multi->members[i].l1_owner == index)
            return false;
    return has_own_l1s(multi, index) && has_own_l1s(multi, leader) &&
           own->l1_except_latency == others->l1_except_latency && own->l2 == others->l2;
}

/* Finds the leaders in the first launch. In later ones, the L2s of members with a leader do not
 * have the contents that they need without it. */
static void find_leader(struct multi_run *multi, size_t index)
{
    struct member *member = &multi->members[index];
    if (!multi->began) {
        member->leader = index;
        for (size_t i = 0; i < index && multi->speculates && member->leader == index; i++)
            if (multi->members[i].leader == i && can_follow(multi, index, i))
                member->leader = i;
    } else if (member->leader != index && !can_follow(multi, index, member->leader)) {
        member->diverged = true;
    }
    multi->members[member->leader].leads |= member->leader != index;
}

/* Stores what the L1s of a leader forward. */
static bool store_forwarded(struct member *leader, const struct fth_issue_batch *batch)
{
    if (leader->forwarded_capacity < batch->requests.count) {
        free(leader->forwarded);
        leader->forwarded_capacity = batch->requests.capacity;
        leader->forwarded = calloc(leader->forwarded_capacity, sizeof *leader->forwarded);
        if (!leader->forwarded)
            return false;
    }
    for (size_t i = 0; i < batch->requests.count; i++)
        leader->forwarded[i] = batch->requests.items[i].missing;
    return true;
}

/* Whether the L1s of a member forward the same requests as those of its leader. */
static bool forwards_the_same(const struct member *leader, const struct fth_issue_batch *batch)
{
    for (size_t i = 0; i < batch->requests.count; i++)
        if (leader->forwarded[i] != batch->requests.items[i].missing)
            return false;
    return !leader->diverged;
}

/* ---- start of a launch ---- */

static enum fth_status begin(void *context, size_t launch, struct fth_error *error)
{
    struct multi_run *multi = context;
    for (size_t i = 0; i < multi->count; i++) {
        multi->failed_member = i;
        FTH_TRY(begin_member(multi, i, launch, error));
    }
    for (size_t i = 0; i < multi->count; i++)
        if (!create_stack_group(multi, i))
            return fth_no_memory(error, "model caches", NULL);
    for (size_t i = 0; i < multi->count; i++)
        find_leader(multi, i);
    multi->began = true;
    return FTH_OK;
}

/* ---- a batch ---- */

/* Runs the requests that an L2 of member `index` has recorded through all L2s that receive the same
 * requests. */
static bool replay(struct multi_run *multi, size_t index, enum fth_l2_input input)
{
    struct fth_l2 *recorded = multi->members[index].state->feeds[input].l2;
    bool ok = true;
    for (size_t i = index; i < multi->count && ok; i++) {
        struct fth_l2 *l2 = multi->members[i].state->feeds[input].l2;
        if (l2 && multi->members[i].feed_owner[input] == index)
            ok = fth_l2_replay(l2, recorded);
    }
    fth_l2_discard_recorded(recorded);
    return ok;
}

/* Sends a batch to an L2 of member `index`, and to all L2s that receive the same requests. */
static enum fth_status feed_l2s(struct multi_run *multi, size_t index, enum fth_l2_input input,
                                const struct fth_issue_batch *batch, struct fth_error *error)
{
    return fth_l2_feed_run(&multi->members[index].state->feeds[input], batch, NULL) &&
                   replay(multi, index, input)
               ? FTH_OK
               : fth_no_memory(error, "model caches", NULL);
}

/* Sends what the L1s of member `index` forward to the L2s of all members with the same L1s. */
static enum fth_status forward(struct multi_run *multi, size_t index,
                               const struct fth_issue_batch *batch, struct fth_error *error)
{
    for (size_t i = index; i < multi->count; i++)
        if (multi->members[i].l1_owner == index &&
            multi->members[i].feed_owner[FTH_L2_FORWARDED] == i)
            FTH_TRY(feed_l2s(multi, i, FTH_L2_FORWARDED, batch, error));
    return FTH_OK;
}

static enum fth_status run_stack_group(struct multi_run *multi, const struct stack_group *group,
                                       struct fth_issue_batch *batch, struct fth_error *error)
{
    FTH_TRY(run_stacks(multi, group, batch, error));
    for (size_t variant = 0; variant < group->count; variant++)
        if (apply_variant(multi, group, variant, batch))
            FTH_TRY(forward(multi, group->members[variant], batch, error));
    return FTH_OK;
}

/* Runs a batch through the L1s of member `index`, and on to the L2s, unless it has a leader. */
static enum fth_status run_own_l1s(struct multi_run *multi, size_t index,
                                   struct fth_issue_batch *batch, struct fth_error *error)
{
    struct member *member = &multi->members[index];
    struct fth_l1s *l1s = &member->state->l1s;
    for (size_t i = 0; i < batch->requests.count; i++)
        batch->requests.items[i].missing = 0;
    FTH_TRY(fth_l1s_link(l1s, batch, error));
    if (!fth_l1s_run(l1s, batch) || (member->leads && !store_forwarded(member, batch)))
        return fth_no_memory(error, "model caches", NULL);
    if (member->leader == index)
        return forward(multi, index, batch, error);
    member->diverged = !forwards_the_same(&multi->members[member->leader], batch);
    return FTH_OK;
}

static bool all_diverged(const struct multi_run *multi)
{
    for (size_t i = 0; i < multi->count; i++)
        if (!multi->members[i].diverged)
            return false;
    return true;
}

static enum fth_status run_batch(void *context, struct fth_issue_batch *batch, bool *enough,
                                 struct fth_error *error)
{
    struct multi_run *multi = context;
    if (batch->requests.failed)
        return fth_no_memory(error, "model caches", NULL);
    for (size_t i = 0; i < multi->count; i++) {
        const struct member *member = &multi->members[i];
        multi->failed_member = i;
        if (member->stack_group)
            FTH_TRY(run_stack_group(multi, member->stack_group, batch, error));
        else if (member->l1_owner == i && !member->in_other_group && !member->diverged)
            FTH_TRY(run_own_l1s(multi, i, batch, error));
    }
    for (size_t i = 0; i < multi->count; i++)
        if (multi->members[i].state->bypassed && multi->members[i].feed_owner[FTH_L2_ALL] == i)
            FTH_TRY(feed_l2s(multi, i, FTH_L2_ALL, batch, error));
    fth_issue_batch_clear(batch);
    *enough = all_diverged(multi);
    return FTH_OK;
}

/* ---- end of a launch ---- */

/* Ends the last round of an L2 of member `index`, and of all L2s that receive the same requests. */
static enum fth_status flush(struct multi_run *multi, size_t index, enum fth_l2_input input,
                             struct fth_error *error)
{
    return fth_l2_feed_flush(&multi->members[index].state->feeds[input]) &&
                   replay(multi, index, input)
               ? FTH_OK
               : fth_no_memory(error, "model caches", NULL);
}

static enum fth_status end(void *context, size_t launch, const uint64_t *warps,
                           struct fth_error *error)
{
    struct multi_run *multi = context;
    for (size_t i = 0; i < multi->count; i++) {
        const struct member *member = &multi->members[i];
        if (member->feed_owner[FTH_L2_FORWARDED] == i && member->leader == i && !member->diverged)
            FTH_TRY(flush(multi, i, FTH_L2_FORWARDED, error));
        if (member->feed_owner[FTH_L2_ALL] == i && member->state->bypassed)
            FTH_TRY(flush(multi, i, FTH_L2_ALL, error));
    }
    for (size_t i = 0; i < multi->count; i++) {
        const struct member *member = &multi->members[i];
        if (!member->diverged)
            FTH_TRY(fth_model_state_add_rows(
                member->state, launch, warps, &multi->members[member->l1_owner].state->l1s,
                multi->members[member->leader].state->feeds[FTH_L2_FORWARDED].l2, error));
    }
    for (size_t i = 0; i < multi->count; i++)
        fth_model_state_reset_counts(multi->members[i].state);
    multi->failed_member = 0; /* between launches, waves.c works for the first member */
    return FTH_OK;
}

/* ---- the run ---- */

static enum fth_status create_members(struct multi_run *multi, const struct fth_trace *trace,
                                      const struct fth_model_member *members, size_t count,
                                      struct fth_error *error)
{
    multi->members = calloc(count, sizeof *multi->members);
    if (!multi->members)
        return fth_no_memory(error, "model caches", NULL);
    for (; multi->count < count; multi->count++) {
        const struct fth_model_options own = {.threads = 1,
                                              .bypassed = members[multi->count].bypassed};
        FTH_TRY(fth_model_state_create(trace, members[multi->count].params, &own,
                                       &multi->members[multi->count].state, error));
    }
    return FTH_OK;
}

static void destroy_members(struct multi_run *multi)
{
    for (size_t i = 0; i < multi->count; i++)
        free_stack_group(&multi->members[i]);
    for (size_t i = 0; i < multi->count; i++) {
        fth_model_state_destroy(multi->members[i].state);
        free(multi->members[i].forwarded);
    }
    free(multi->members);
    free(multi->misses);
}

/* Runs the members once. Members that diverge get no result. */
static enum fth_status run_once(const struct fth_trace *trace, struct fth_model_member *members,
                                size_t count, const struct fth_model_options *options,
                                bool speculates, size_t *failed_member, struct fth_error *error)
{
    static const struct fth_simulation_ops ops = {.begin = begin, .batch = run_batch, .end = end};
    struct multi_run multi = {.speculates = speculates};
    const struct fth_simulation simulation = {&ops, &multi};
    enum fth_status status = create_members(&multi, trace, members, count, error);
    if (status == FTH_OK)
        status = fth_simulate_trace(&simulation, trace, members[0].params, options, error);
    for (size_t i = 0; i < count && status == FTH_OK; i++) {
        members[i].l1 = multi.members[i].l1_source;
        if (!multi.members[i].diverged)
            status =
                fth_model_rows_take(&multi.members[i].state->rows, NULL, &members[i].result, error);
    }
    *failed_member = multi.failed_member;
    destroy_members(&multi);
    return status;
}

/* Runs the members that are marked in `chosen` together. */
static enum fth_status run_chosen(const struct fth_trace *trace, struct fth_model_member *members,
                                  size_t count, const bool *chosen, bool speculates,
                                  const struct fth_model_options *options, size_t *failed_member,
                                  struct fth_error *error)
{
    struct fth_model_member *together = calloc(count, sizeof *together);
    size_t *which = calloc(count, sizeof *which);
    size_t found = 0;
    enum fth_status status = FTH_OK;
    if (!together || !which) {
        status = fth_no_memory(error, "model caches", NULL);
        goto out;
    }
    for (size_t i = 0; i < count; i++)
        if (chosen[i]) {
            which[found] = i;
            together[found++] = members[i];
        }
    if (found) {
        status = run_once(trace, together, found, options, speculates, failed_member, error);
        for (size_t i = 0; i < found; i++)
            members[which[i]] = together[i];
        *failed_member = which[*failed_member];
    }
out:
    free(together);
    free(which);
    return status;
}

/* Runs the members without time, and those that diverge again without stacks and leaders. Changes
 * `steps`, which marks them. */
static enum fth_status run_steps(const struct fth_trace *trace, struct fth_model_member *members,
                                 size_t count, bool *steps, const struct fth_model_options *options,
                                 size_t *failed_member, struct fth_error *error)
{
    FTH_TRY(run_chosen(trace, members, count, steps, true, options, failed_member, error));
    for (size_t i = 0; i < count; i++)
        steps[i] = steps[i] && !members[i].result;
    return run_chosen(trace, members, count, steps, false, options, failed_member, error);
}

/* Finds the members without time, and how many there are. */
static enum fth_status find_steps(const struct fth_model_member *members, size_t count, bool *steps,
                                  size_t *step_count, size_t *failed_member,
                                  struct fth_error *error)
{
    for (size_t i = 0; i < count; i++) {
        bool timed = false;
        *failed_member = i;
        FTH_TRY(fth_timing_choose(members[i].params, &timed, error));
        steps[i] = !timed;
        *step_count += !timed;
    }
    *failed_member = 0;
    return FTH_OK;
}

/* Runs the members with time, which are those without a result, one after the other. `done` members
 * are finished. */
static enum fth_status run_timed(const struct fth_trace *trace, struct fth_model_member *members,
                                 size_t count, size_t done, const struct fth_model_options *options,
                                 size_t *failed_member, struct fth_error *error)
{
    for (size_t i = 0; i < count; i++) {
        struct fth_part_log log;
        if (members[i].result)
            continue;
        fth_part_log_init(&log, options->log, (double)done / (double)count,
                          (double)(done + 1) / (double)count);
        const struct fth_model_options own = {.threads = 1,
                                              .bypassed = members[i].bypassed,
                                              .kernel = options->kernel,
                                              .log = &log.log};
        *failed_member = i;
        FTH_TRY(fth_model_run_one(trace, members[i].params, &own, &members[i].result, error));
        members[i].l1 = FTH_L1_OWN;
        done++;
    }
    return FTH_OK;
}

enum fth_status fth_model_run_many(const struct fth_trace *trace, struct fth_model_member *members,
                                   size_t count, const struct fth_model_options *options,
                                   size_t *failed_member, struct fth_error *error)
{
    struct fth_part_log log;
    size_t step_count = 0;
    *failed_member = 0;
    if (count == 0)
        return FTH_OK;
    bool *steps = calloc(count, sizeof *steps);
    if (!steps)
        return fth_no_memory(error, "model caches", NULL);
    for (size_t i = 0; i < count; i++)
        members[i].result = NULL;
    enum fth_status status = find_steps(members, count, steps, &step_count, failed_member, error);
    if (status == FTH_OK) {
        const struct fth_model_options part = {.kernel = options->kernel, .log = &log.log};
        fth_part_log_init(&log, options->log, 0, (double)step_count / (double)count);
        status = run_steps(trace, members, count, steps, &part, failed_member, error);
    }
    if (status == FTH_OK)
        status = run_timed(trace, members, count, step_count, options, failed_member, error);
    for (size_t i = 0; i < count && status != FTH_OK; i++) {
        fth_model_result_destroy(members[i].result);
        members[i].result = NULL;
    }
    free(steps);
    fth_log_progress(options->log, "model caches", 1);
    return status;
}
