/* Runs several models ("members") of one trace in one pass. Work that they have in common is done
 * once:
 *
 *   read the trace, assign accesses to SMs, coalesce them   once
 *   run the requests through the L1s                        once per different L1, or once for
 *                                                           L1s that differ only in their ways
 *                                                           (lru_stack.c)
 *   turn forwarded requests into requests to the L2         once per different L1 and L2 line
 *   run these through the L2                                once per member
 *
 * run.c reads the trace for the first member. Where several members share something, the first of
 * them owns it and the others refer to it. Each member gets the same result as from a run of its
 * own, because no shared part depends on a parameter in which the members differ. A member whose
 * variant of an LRU stack diverges is run again without stacks. */
#include "model/run.h"

#include <stdlib.h>
#include <string.h>

/* Members whose L1s differ only in their ways. Variant v of each LRU stack is the L1 of members[v].
 */
struct stack_group {
    size_t *members; /* [count] indices of members */
    size_t count;
    struct fth_lru_stack **stacks; /* [sms]; NULL: not yet used */
};

struct member {
    struct fth_model_work *work;
    struct fth_sharing_keys keys;
    /* In the current launch: index of the first member with the same L1s, with the same requests to
     * the L2, and with the same requests to an L2 whose L1s are off. */
    size_t l1_owner, l2_input_owner, bypassed_l2_input_owner;
    struct stack_group *stack_group; /* only in the first member of a group, which owns it */
    bool in_other_group;             /* a member, but not the first, of a stack group */
    bool diverged;                   /* in this launch or an earlier one; it gets no result */
    enum fth_l1_source l1_source;
};

struct fth_multi_run {
    struct member *members;
    size_t count;
    size_t failed_member; /* index of the member that is being processed */
    bool use_stacks;
    bool stopped;     /* all members have diverged, so the run was stopped early */
    uint64_t *misses; /* per request of a batch, one bit per variant: it is forwarded */
    size_t misses_capacity;
};

/* ---- stack groups ---- */

static void free_stack_group(struct member *member, uint64_t sms)
{
    if (!member->stack_group)
        return;
    for (uint64_t sm = 0; member->stack_group->stacks && sm < sms; sm++)
        fth_lru_stack_destroy(member->stack_group->stacks[sm]);
    free(member->stack_group->stacks);
    free(member->stack_group->members);
    free(member->stack_group);
    member->stack_group = NULL;
}

/* Whether a member can be added to the stack group of member `first`. */
static bool belongs_to_group(const struct fth_multi_run *multi, size_t first, size_t index)
{
    const struct member *member = &multi->members[index];
    return member->l1_owner == index && !member->in_other_group && !member->diverged &&
           member->keys.l1_except_ways == multi->members[first].keys.l1_except_ways;
}

/* Creates a stack group owned by member `first` if at least two members belong to it. False: out of
 * memory. */
static bool create_stack_group(struct fth_multi_run *multi, size_t first)
{
    enum { MAX_VARIANTS = 64 }; /* bits of `misses` */
    struct member *member = &multi->members[first];
    const uint64_t sms = member->work->sms;
    size_t count = 0;
    for (size_t i = first; i < multi->count; i++)
        count += belongs_to_group(multi, first, i);
    if (!multi->use_stacks || !member->keys.l1_except_ways ||
        !belongs_to_group(multi, first, first) || count < 2)
        return true;
    member->stack_group = calloc(1, sizeof *member->stack_group);
    if (!member->stack_group)
        return false;
    member->stack_group->members = calloc(count, sizeof *member->stack_group->members);
    member->stack_group->stacks = calloc((size_t)sms, sizeof(struct fth_lru_stack *));
    if (!member->stack_group->members || !member->stack_group->stacks)
        return false;
    for (size_t i = first; i < multi->count && member->stack_group->count < MAX_VARIANTS; i++) {
        if (!belongs_to_group(multi, first, i))
            continue;
        struct member *variant = &multi->members[i];
        member->stack_group->members[member->stack_group->count++] = i;
        variant->in_other_group = i != first;
        variant->l1_source = FTH_L1_STACK;
        if (!variant->work->stack_totals)
            variant->work->stack_totals =
                calloc((size_t)sms, sizeof(const struct fth_cache_level_totals *));
        if (!variant->work->stack_totals)
            return false;
    }
    return true;
}

static enum fth_status create_stack(struct fth_multi_run *multi,
                                    const struct stack_group *stack_group, uint32_t sm,
                                    struct fth_error *error)
{
    uint64_t *ways = calloc(stack_group->count, sizeof *ways);
    struct fth_model_counts **counts = calloc(stack_group->count, sizeof *counts);
    const struct fth_shape *widest = &multi->members[stack_group->members[0]].work->setting.l1;
    if (!ways || !counts) {
        free(ways);
        free(counts);
        return fth_no_memory(error, "model caches", NULL);
    }
    for (size_t i = 0; i < stack_group->count; i++) {
        const struct fth_model_work *work = multi->members[stack_group->members[i]].work;
        ways[i] = work->setting.l1.ways;
        counts[i] = work->l1_counts[0];
        widest = work->setting.l1.ways > widest->ways ? &work->setting.l1 : widest;
    }
    enum fth_status status = fth_lru_stack_create(widest, ways, counts, stack_group->count,
                                                  &stack_group->stacks[sm], error);
    for (size_t i = 0; i < stack_group->count && status == FTH_OK; i++) {
        struct fth_model_work *work = multi->members[stack_group->members[i]].work;
        work->used[sm] = true;
        work->stack_totals[sm] = fth_lru_stack_totals(stack_group->stacks[sm], i);
    }
    free(ways);
    free(counts);
    return status;
}

/* Runs a batch through the LRU stacks of all SMs and fills `misses`. */
static enum fth_status run_stacks(struct fth_multi_run *multi,
                                  const struct stack_group *stack_group,
                                  const struct fth_batch *batch, struct fth_error *error)
{
    enum fth_status status = FTH_OK;
    if (multi->misses_capacity < batch->requests.count) {
        free(multi->misses);
        multi->misses_capacity = batch->requests.capacity;
        multi->misses = calloc(multi->misses_capacity, sizeof *multi->misses);
        if (!multi->misses)
            return fth_no_memory(error, "model caches", NULL);
    }
    for (size_t g = 0; g < batch->group_count && status == FTH_OK; g++) {
        const struct fth_issue_group *group = &batch->groups[g];
        if (!stack_group->stacks[group->sm])
            status = create_stack(multi, stack_group, group->sm, error);
        if (status == FTH_OK &&
            !fth_lru_stack_run(stack_group->stacks[group->sm], batch->requests.items + group->first,
                               group->count, multi->misses + group->first))
            status = fth_no_memory(error, "model caches", NULL);
    }
    return status;
}

/* Sets the forwarded sectors of all requests to those of one variant. If the variant has diverged,
 * marks all members that use it and returns false. */
static bool apply_variant(struct fth_multi_run *multi, const struct stack_group *stack_group,
                          size_t variant, struct fth_batch *batch)
{
    const size_t index = stack_group->members[variant];
    for (uint64_t sm = 0; sm < multi->members[index].work->sms; sm++)
        if (stack_group->stacks[sm] && fth_lru_stack_diverged(stack_group->stacks[sm], variant))
            for (size_t i = index; i < multi->count; i++)
                multi->members[i].diverged |= multi->members[i].l1_owner == index;
    for (size_t i = 0; i < batch->requests.count; i++)
        batch->requests.items[i].missing =
            multi->misses[i] >> variant & 1 ? batch->requests.items[i].sectors : 0;
    for (size_t i = 0; i < batch->group_count; i++)
        batch->groups[i].forwards = true;
    return !multi->members[index].diverged;
}

/* ---- start of a launch ---- */

/* Finds the first members with which a member shares L1s and requests to the L2. */
static void find_shared(struct fth_multi_run *multi, size_t index)
{
    struct member *member = &multi->members[index];
    member->l1_owner = member->l2_input_owner = member->bypassed_l2_input_owner = index;
    for (size_t i = index; i-- > 0;) {
        const struct member *other = &multi->members[i];
        if (!member->diverged && !other->diverged && other->keys.l1 == member->keys.l1) {
            member->l1_owner = i;
            if (other->keys.l2_input == member->keys.l2_input)
                member->l2_input_owner = i;
        }
        if (other->work->bypassed &&
            other->keys.bypassed_l2_input == member->keys.bypassed_l2_input)
            member->bypassed_l2_input_owner = i;
    }
}

enum fth_status fth_multi_run_begin(struct fth_multi_run *multi, size_t launch,
                                    struct fth_error *error)
{
    for (size_t i = 0; i < multi->count; i++) {
        struct member *member = &multi->members[i];
        struct fth_model_work *work = member->work;
        const enum fth_status status = fth_work_begin(work, launch, error);
        multi->failed_member = i;
        if (status != FTH_OK)
            return status;
        fth_sharing_keys_compute(work->params, &work->setting, &member->keys);
        if (member->keys.stream != multi->members[0].keys.stream)
            return fth_fail(error, FTH_INVALID, "model caches", NULL,
                            "these models cannot run together: their L1s get different requests");
        find_shared(multi, i);
        member->l1_source = member->l1_owner == i ? FTH_L1_OWN : FTH_L1_SHARED;
        member->in_other_group = false;
        free_stack_group(member, work->sms);
        free(work->stack_totals);
        work->stack_totals = NULL;
        fth_l2_set_recording(work->l2, member->l2_input_owner == i);
        if (work->bypassed)
            fth_l2_set_recording(work->bypassed, member->bypassed_l2_input_owner == i);
    }
    for (size_t i = 0; i < multi->count; i++)
        if (!create_stack_group(multi, i))
            return fth_no_memory(error, "model caches", NULL);
    return FTH_OK;
}

/* ---- a batch ---- */

/* Runs the requests that the L2 of a member has recorded through all L2s that receive the same
 * requests. */
static bool replay(struct fth_multi_run *multi, size_t index)
{
    struct fth_model_work *first = multi->members[index].work;
    bool ok = true;
    for (size_t i = index; i < multi->count && ok; i++)
        if (multi->members[i].l2_input_owner == index)
            ok = fth_l2_replay(multi->members[i].work->l2, first->l2);
    fth_l2_discard_recorded(first->l2);
    return ok;
}

static bool replay_bypassed(struct fth_multi_run *multi, size_t index)
{
    struct fth_model_work *first = multi->members[index].work;
    bool ok = true;
    for (size_t i = index; i < multi->count && ok; i++)
        if (multi->members[i].bypassed_l2_input_owner == index && multi->members[i].work->bypassed)
            ok = fth_l2_replay(multi->members[i].work->bypassed, first->bypassed);
    fth_l2_discard_recorded(first->bypassed);
    return ok;
}

/* Runs a batch through the L1s of one member, which set the forwarded sectors of each request. */
static enum fth_status run_l1s(struct fth_model_work *work, struct fth_batch *batch,
                               struct fth_error *error)
{
    for (size_t i = 0; i < batch->requests.count; i++)
        batch->requests.items[i].missing = 0;
    const enum fth_status status = fth_work_group_by_sm(work, batch, error);
    if (status != FTH_OK)
        return status;
    return fth_work_run_l1s(work, batch) ? FTH_OK : fth_no_memory(error, "model caches", NULL);
}

/* Runs the requests that the L1s of a member forward through the L2s of all members with the same
 * L1s. */
static enum fth_status run_l2s(struct fth_multi_run *multi, size_t index, struct fth_batch *batch,
                               struct fth_error *error)
{
    for (size_t i = index; i < multi->count; i++)
        if (multi->members[i].l1_owner == index && multi->members[i].l2_input_owner == i &&
            !(fth_work_run_l2(multi->members[i].work, batch) && replay(multi, i)))
            return fth_no_memory(error, "model caches", NULL);
    return FTH_OK;
}

static enum fth_status run_stack_group(struct fth_multi_run *multi,
                                       const struct stack_group *stack_group,
                                       struct fth_batch *batch, struct fth_error *error)
{
    enum fth_status status = run_stacks(multi, stack_group, batch, error);
    for (size_t variant = 0; variant < stack_group->count && status == FTH_OK; variant++)
        if (apply_variant(multi, stack_group, variant, batch))
            status = run_l2s(multi, stack_group->members[variant], batch, error);
    return status;
}

static bool all_diverged(const struct fth_multi_run *multi)
{
    for (size_t i = 0; i < multi->count; i++)
        if (!multi->members[i].diverged)
            return false;
    return true;
}

enum fth_status fth_multi_run_batch(struct fth_multi_run *multi, struct fth_batch *batch,
                                    struct fth_error *error)
{
    enum fth_status status =
        batch->requests.failed ? fth_no_memory(error, "model caches", NULL) : FTH_OK;
    for (size_t i = 0; i < multi->count && status == FTH_OK; i++) {
        const struct member *member = &multi->members[i];
        multi->failed_member = i;
        if (member->stack_group) {
            status = run_stack_group(multi, member->stack_group, batch, error);
        } else if (member->l1_owner == i && !member->in_other_group && !member->diverged) {
            status = run_l1s(member->work, batch, error);
            if (status == FTH_OK)
                status = run_l2s(multi, i, batch, error);
        }
    }
    for (size_t i = 0; i < multi->count && status == FTH_OK; i++)
        if (multi->members[i].work->bypassed && multi->members[i].bypassed_l2_input_owner == i &&
            !(fth_work_run_bypassed(multi->members[i].work, batch) && replay_bypassed(multi, i)))
            status = fth_no_memory(error, "model caches", NULL);
    if (status == FTH_OK && all_diverged(multi)) {
        multi->stopped = true; /* not an error: run_once() replaces the status */
        status = fth_fail(NULL, FTH_INTERRUPTED, "model caches", NULL, "all models have diverged");
    }
    return status;
}

/* ---- end of a launch ---- */

bool fth_multi_run_flush(struct fth_multi_run *multi)
{
    bool ok = true;
    for (size_t i = 0; i < multi->count && ok; i++) {
        struct fth_model_work *work = multi->members[i].work;
        if (multi->members[i].l2_input_owner == i && !multi->members[i].diverged)
            ok = fth_work_flush_l2(work) && replay(multi, i);
        if (ok && work->bypassed && multi->members[i].bypassed_l2_input_owner == i)
            ok = fth_work_flush_bypassed(work) && replay_bypassed(multi, i);
    }
    return ok;
}

/* Adds the results of a launch to a member, with the counts of the L1s of member `first`. */
static enum fth_status add_results_with_l1s_of(struct fth_model_work *work,
                                               const struct fth_model_work *first, size_t launch,
                                               struct fth_error *error)
{
    const struct fth_model_work own = *work;
    work->l1 = first->l1;
    work->l1_counts = first->l1_counts;
    work->used = first->used;
    work->stack_totals = first->stack_totals;
    const enum fth_status status = fth_work_add_results(work, launch, error);
    work->l1 = own.l1;
    work->l1_counts = own.l1_counts;
    work->used = own.used;
    work->stack_totals = own.stack_totals;
    return status;
}

enum fth_status fth_multi_run_end(struct fth_multi_run *multi, size_t launch,
                                  struct fth_error *error)
{
    enum fth_status status = FTH_OK;
    const struct fth_model_work *reader = multi->members[0].work;
    for (size_t i = 0; i < multi->count && status == FTH_OK; i++) {
        struct member *member = &multi->members[i];
        if (i)
            memcpy(member->work->warps, reader->warps,
                   3 * (reader->instructions + 1) * sizeof *reader->warps);
        if (!member->diverged)
            status = add_results_with_l1s_of(member->work, multi->members[member->l1_owner].work,
                                             launch, error);
    }
    for (size_t i = 0; i < multi->count && status == FTH_OK; i++)
        fth_work_reset_counts(multi->members[i].work);
    return status;
}

/* ---- the run ---- */

static enum fth_status create_members(struct fth_multi_run *multi, const struct fth_trace *trace,
                                      const struct fth_model_member *members, size_t count,
                                      const struct fth_model_options *options,
                                      struct fth_error *error)
{
    enum fth_status status = FTH_OK;
    multi->members = calloc(count ? count : 1, sizeof *multi->members);
    if (!multi->members)
        return fth_no_memory(error, "model caches", NULL);
    for (; multi->count < count && status == FTH_OK; multi->count += status == FTH_OK) {
        const struct fth_model_options own = {.threads = 1,
                                              .bypassed = members[multi->count].bypassed,
                                              .kernel = options->kernel,
                                              .log = multi->count ? NULL : options->log};
        status = fth_work_create(trace, members[multi->count].params, &own,
                                 &multi->members[multi->count].work, error);
    }
    if (multi->members[0].work)
        multi->members[0].work->multi = multi;
    return status;
}

static void destroy_members(struct fth_multi_run *multi)
{
    for (size_t i = 0; i < multi->count; i++)
        free_stack_group(&multi->members[i], multi->members[i].work->sms);
    for (size_t i = 0; i < multi->count; i++)
        fth_work_fini(multi->members[i].work);
    free(multi->members);
    free(multi->misses);
}

/* Runs the members once. Members that diverge get no result. */
static enum fth_status run_once(const struct fth_trace *trace, struct fth_model_member *members,
                                size_t count, const struct fth_model_options *options,
                                bool use_stacks, size_t *failed_member, struct fth_error *error)
{
    struct fth_multi_run multi = {.use_stacks = use_stacks};
    enum fth_status status = create_members(&multi, trace, members, count, options, error);
    if (status == FTH_OK && multi.count)
        status = fth_work_run(multi.members[0].work, error);
    if (multi.stopped)
        status = FTH_OK;
    for (size_t i = 0; i < count && status == FTH_OK; i++) {
        members[i].l1 = multi.members[i].l1_source;
        if (!multi.members[i].diverged)
            status = fth_work_result(multi.members[i].work, &members[i].result, error);
    }
    *failed_member = multi.failed_member;
    destroy_members(&multi);
    return status;
}

/* Runs the members without a result again, without LRU stacks. */
static enum fth_status rerun_diverged(const struct fth_trace *trace,
                                      struct fth_model_member *members, size_t count,
                                      const struct fth_model_options *options,
                                      size_t *failed_member, struct fth_error *error)
{
    struct fth_model_member *diverged = calloc(count, sizeof *diverged);
    size_t *which = calloc(count, sizeof *which);
    size_t found = 0;
    enum fth_status status = FTH_OK;
    if (!diverged || !which) {
        free(diverged);
        free(which);
        return fth_no_memory(error, "model caches", NULL);
    }
    for (size_t i = 0; i < count; i++)
        if (!members[i].result) {
            which[found] = i;
            diverged[found++] = members[i];
        }
    if (found) {
        status = run_once(trace, diverged, found, options, false, failed_member, error);
        for (size_t i = 0; i < found; i++)
            members[which[i]] = diverged[i];
        *failed_member = which[*failed_member];
    }
    free(diverged);
    free(which);
    return status;
}

enum fth_status fth_model_run_many(const struct fth_trace *trace, struct fth_model_member *members,
                                   size_t count, const struct fth_model_options *options,
                                   size_t *failed_member, struct fth_error *error)
{
    *failed_member = 0;
    if (count == 0)
        return FTH_OK;
    for (size_t i = 0; i < count; i++)
        members[i].result = NULL;
    enum fth_status status = run_once(trace, members, count, options, true, failed_member, error);
    if (status == FTH_OK)
        status = rerun_diverged(trace, members, count, options, failed_member, error);
    for (size_t i = 0; i < count && status != FTH_OK; i++) {
        fth_model_result_destroy(members[i].result);
        members[i].result = NULL;
    }
    return status;
}
