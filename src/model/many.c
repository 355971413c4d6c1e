/* Several models of one trace in one pass. What they have in common is done once:
 *
 *   the trace is read, dealt out to the SMs and coalesced     for all
 *   the L1s of an SM take their requests                      for each kind of L1, or for several
 *                                                             that differ in their ways (ladder.c)
 *   what these pass on becomes requests to the L2             for each kind of L1 and of L2's lines
 *   the L2 takes them                                         for each model
 *
 * The first member is the one whose run.c reads the trace; of members that are alike in something,
 * the first has it and the others look there. A member comes to what it would come to by itself,
 * as none of this depends on what only other members have. Where a ladder breaks for one, it is run
 * again without. */
#include "model/run.h"

#include <stdlib.h>
#include <string.h>

/* The L1s of several members. */
struct stairs {
    size_t *members; /* by rungs */
    size_t count;
    struct fth_ladder **of_sm; /* [sms] */
};

struct member {
    struct fth_model_work *work;
    struct fth_likeness likeness;
    /* Of the launch: the first members with the same L1s, requests to the L2, and such past the L1.
     */
    size_t l1, below, past;
    struct stairs *stairs; /* of the first with them */
    bool follows;          /* in the stairs of another */
    bool broken;           /* for good */
    enum fth_l1_from from; /* its L1s */
};

struct fth_many {
    struct member *members;
    size_t count;
    size_t culprit;
    bool ladders, stopped;
    uint64_t *misses; /* of the requests of a batch, a bit a rung */
    size_t misses_capacity;
};

static enum fth_status no_memory(struct fth_error *error)
{
    return fth_fail(error, FTH_NO_MEMORY, "model caches", NULL, "out of memory");
}

/* ---- stairs ---- */

static void free_stairs(struct member *member, uint64_t sms)
{
    if (!member->stairs)
        return;
    for (uint64_t sm = 0; member->stairs->of_sm && sm < sms; sm++)
        fth_ladder_destroy(member->stairs->of_sm[sm]);
    free(member->stairs->of_sm);
    free(member->stairs->members);
    free(member->stairs);
    member->stairs = NULL;
}

static bool fits(const struct fth_many *many, size_t first, size_t number)
{
    const struct member *member = &many->members[number];
    return member->l1 == number && !member->follows && !member->broken &&
           member->likeness.ladder == many->members[first].likeness.ladder;
}

/* Where several have L1s that differ only in their ways. */
static bool build_stairs(struct fth_many *many, size_t first)
{
    enum { MAX_RUNGS = 64 };
    struct member *member = &many->members[first];
    const uint64_t sms = member->work->sms;
    size_t count = 0;
    for (size_t i = first; i < many->count; i++)
        count += fits(many, first, i);
    if (!many->ladders || !member->likeness.ladder || !fits(many, first, first) || count < 2)
        return true;
    member->stairs = calloc(1, sizeof *member->stairs);
    if (!member->stairs)
        return false;
    member->stairs->members = calloc(count, sizeof *member->stairs->members);
    member->stairs->of_sm = calloc((size_t)sms, sizeof(struct fth_ladder *));
    if (!member->stairs->members || !member->stairs->of_sm)
        return false;
    for (size_t i = first; i < many->count && member->stairs->count < MAX_RUNGS; i++) {
        if (!fits(many, first, i))
            continue;
        struct member *rung = &many->members[i];
        member->stairs->members[member->stairs->count++] = i;
        rung->follows = i != first;
        rung->from = FTH_L1_LADDER;
        if (!rung->work->ladder_totals)
            rung->work->ladder_totals = calloc((size_t)sms, sizeof(const struct fth_tier_totals *));
        if (!rung->work->ladder_totals)
            return false;
    }
    return true;
}

static enum fth_status make_ladder(struct fth_many *many, const struct stairs *stairs, uint32_t sm,
                                   struct fth_error *error)
{
    uint64_t *ways = calloc(stairs->count, sizeof *ways);
    struct fth_model_counts **counts = calloc(stairs->count, sizeof *counts);
    const struct fth_shape *widest = &many->members[stairs->members[0]].work->setting.l1;
    if (!ways || !counts) {
        free(ways);
        free(counts);
        return no_memory(error);
    }
    for (size_t i = 0; i < stairs->count; i++) {
        const struct fth_model_work *work = many->members[stairs->members[i]].work;
        ways[i] = work->setting.l1.ways;
        counts[i] = work->l1_counts[0];
        widest = work->setting.l1.ways > widest->ways ? &work->setting.l1 : widest;
    }
    enum fth_status status =
        fth_ladder_create(widest, ways, counts, stairs->count, &stairs->of_sm[sm], error);
    for (size_t i = 0; i < stairs->count && status == FTH_OK; i++) {
        struct fth_model_work *work = many->members[stairs->members[i]].work;
        work->used[sm] = true;
        work->ladder_totals[sm] = fth_ladder_totals(stairs->of_sm[sm], i);
    }
    free(ways);
    free(counts);
    return status;
}

/* A batch through the ladders of all SMs. */
static enum fth_status climb(struct fth_many *many, const struct stairs *stairs,
                             const struct fth_batch *batch, struct fth_error *error)
{
    enum fth_status status = FTH_OK;
    if (many->misses_capacity < batch->requests.count) {
        free(many->misses);
        many->misses_capacity = batch->requests.capacity;
        many->misses = calloc(many->misses_capacity, sizeof *many->misses);
        if (!many->misses)
            return no_memory(error);
    }
    for (size_t g = 0; g < batch->group_count && status == FTH_OK; g++) {
        const struct fth_group *group = &batch->groups[g];
        if (!stairs->of_sm[group->sm])
            status = make_ladder(many, stairs, group->sm, error);
        if (status == FTH_OK &&
            !fth_ladder_run(stairs->of_sm[group->sm], batch->requests.items + group->first,
                            group->count, many->misses + group->first))
            status = no_memory(error);
    }
    return status;
}

/* What a rung left. Those that look to its L1s are broken with it. */
static bool take_rung(struct fth_many *many, const struct stairs *stairs, size_t rung,
                      struct fth_batch *batch)
{
    const size_t number = stairs->members[rung];
    for (uint64_t sm = 0; sm < many->members[number].work->sms; sm++)
        if (stairs->of_sm[sm] && fth_ladder_broken(stairs->of_sm[sm], rung))
            for (size_t i = number; i < many->count; i++)
                many->members[i].broken |= many->members[i].l1 == number;
    for (size_t i = 0; i < batch->requests.count; i++)
        batch->requests.items[i].missing =
            many->misses[i] >> rung & 1 ? batch->requests.items[i].sectors : 0;
    for (size_t i = 0; i < batch->group_count; i++)
        batch->groups[i].sends = true;
    return !many->members[number].broken;
}

/* ---- a launch begins ---- */

static void find_firsts(struct fth_many *many, size_t number)
{
    struct member *member = &many->members[number];
    member->l1 = member->below = member->past = number;
    for (size_t i = number; i-- > 0;) {
        const struct member *other = &many->members[i];
        if (!member->broken && !other->broken && other->likeness.l1 == member->likeness.l1) {
            member->l1 = i;
            if (other->likeness.below == member->likeness.below)
                member->below = i;
        }
        if (other->work->bypassed && other->likeness.past == member->likeness.past)
            member->past = i;
    }
}

enum fth_status fth_many_begin(struct fth_many *many, size_t launch, struct fth_error *error)
{
    for (size_t i = 0; i < many->count; i++) {
        struct member *member = &many->members[i];
        struct fth_model_work *work = member->work;
        const enum fth_status status = fth_work_begin(work, launch, error);
        many->culprit = i;
        if (status != FTH_OK)
            return status;
        fth_likeness_find(work->params, &work->setting, &member->likeness);
        if (member->likeness.stream != many->members[0].likeness.stream)
            return fth_fail(error, FTH_INVALID, "model caches", NULL,
                            "these models do not get the same requests");
        find_firsts(many, i);
        member->from = member->l1 == i ? FTH_L1_OWN : FTH_L1_SHARED;
        member->follows = false;
        free_stairs(member, work->sms);
        free(work->ladder_totals);
        work->ladder_totals = NULL;
        fth_l2_record(work->l2, member->below == i);
        if (work->bypassed)
            fth_l2_record(work->bypassed, member->past == i);
    }
    for (size_t i = 0; i < many->count; i++)
        if (!build_stairs(many, i))
            return no_memory(error);
    return FTH_OK;
}

/* ---- a batch ---- */

/* All L2s that get what this one has recorded. */
static bool replay(struct fth_many *many, size_t number)
{
    struct fth_model_work *first = many->members[number].work;
    bool made = true;
    for (size_t i = number; i < many->count && made; i++)
        if (many->members[i].below == number)
            made = fth_l2_replay(many->members[i].work->l2, first->l2);
    fth_l2_forget(first->l2);
    return made;
}

static bool replay_past(struct fth_many *many, size_t number)
{
    struct fth_model_work *first = many->members[number].work;
    bool made = true;
    for (size_t i = number; i < many->count && made; i++)
        if (many->members[i].past == number && many->members[i].work->bypassed)
            made = fth_l2_replay(many->members[i].work->bypassed, first->bypassed);
    fth_l2_forget(first->bypassed);
    return made;
}

/* The L1s leave in the requests what they did not have. */
static enum fth_status run_l1s(struct fth_model_work *work, struct fth_batch *batch,
                               struct fth_error *error)
{
    for (size_t i = 0; i < batch->requests.count; i++)
        batch->requests.items[i].missing = 0;
    const enum fth_status status = fth_work_sort(work, batch, error);
    if (status != FTH_OK)
        return status;
    return fth_work_l1s(work, batch) ? FTH_OK : no_memory(error);
}

/* What the L1s of a member left, through the L2s of all that have the same. */
static enum fth_status run_l2s(struct fth_many *many, size_t number, struct fth_batch *batch,
                               struct fth_error *error)
{
    for (size_t i = number; i < many->count; i++)
        if (many->members[i].l1 == number && many->members[i].below == i &&
            !(fth_work_l2(many->members[i].work, batch) && replay(many, i)))
            return no_memory(error);
    return FTH_OK;
}

static enum fth_status run_stairs(struct fth_many *many, const struct stairs *stairs,
                                  struct fth_batch *batch, struct fth_error *error)
{
    enum fth_status status = climb(many, stairs, batch, error);
    for (size_t rung = 0; rung < stairs->count && status == FTH_OK; rung++)
        if (take_rung(many, stairs, rung, batch))
            status = run_l2s(many, stairs->members[rung], batch, error);
    return status;
}

static bool all_broken(const struct fth_many *many)
{
    for (size_t i = 0; i < many->count; i++)
        if (!many->members[i].broken)
            return false;
    return true;
}

enum fth_status fth_many_batch(struct fth_many *many, struct fth_batch *batch,
                               struct fth_error *error)
{
    enum fth_status status = batch->requests.failed ? no_memory(error) : FTH_OK;
    for (size_t i = 0; i < many->count && status == FTH_OK; i++) {
        const struct member *member = &many->members[i];
        many->culprit = i;
        if (member->stairs) {
            status = run_stairs(many, member->stairs, batch, error);
        } else if (member->l1 == i && !member->follows && !member->broken) {
            status = run_l1s(member->work, batch, error);
            if (status == FTH_OK)
                status = run_l2s(many, i, batch, error);
        }
    }
    for (size_t i = 0; i < many->count && status == FTH_OK; i++)
        if (many->members[i].work->bypassed && many->members[i].past == i &&
            !(fth_work_bypassed(many->members[i].work, batch) && replay_past(many, i)))
            status = no_memory(error);
    if (status == FTH_OK && all_broken(many)) {
        many->stopped = true; /* which is no error */
        status = fth_fail(NULL, FTH_INTERRUPTED, "model caches", NULL, "nothing is left to do");
    }
    return status;
}

/* ---- a launch ends ---- */

bool fth_many_rounds(struct fth_many *many)
{
    bool made = true;
    for (size_t i = 0; i < many->count && made; i++) {
        struct fth_model_work *work = many->members[i].work;
        if (many->members[i].below == i && !many->members[i].broken)
            made = fth_work_round(work) && replay(many, i);
        if (made && work->bypassed && many->members[i].past == i)
            made = fth_work_bypassed_round(work) && replay_past(many, i);
    }
    return made;
}

/* With the L1s of another. */
static enum fth_status tally_as(struct fth_model_work *work, const struct fth_model_work *first,
                                size_t launch, struct fth_error *error)
{
    const struct fth_model_work own = *work;
    work->l1 = first->l1;
    work->l1_counts = first->l1_counts;
    work->used = first->used;
    work->ladder_totals = first->ladder_totals;
    const enum fth_status status = fth_work_tally(work, launch, error);
    work->l1 = own.l1;
    work->l1_counts = own.l1_counts;
    work->used = own.used;
    work->ladder_totals = own.ladder_totals;
    return status;
}

enum fth_status fth_many_end(struct fth_many *many, size_t launch, struct fth_error *error)
{
    enum fth_status status = FTH_OK;
    const struct fth_model_work *reader = many->members[0].work;
    for (size_t i = 0; i < many->count && status == FTH_OK; i++) {
        struct member *member = &many->members[i];
        if (i)
            memcpy(member->work->warps, reader->warps,
                   3 * (reader->instructions + 1) * sizeof *reader->warps);
        if (!member->broken)
            status = tally_as(member->work, many->members[member->l1].work, launch, error);
    }
    for (size_t i = 0; i < many->count && status == FTH_OK; i++)
        fth_work_reset(many->members[i].work);
    return status;
}

/* ---- the run ---- */

static enum fth_status create_members(struct fth_many *many, const struct fth_trace *trace,
                                      const struct fth_model_member *members, size_t count,
                                      const struct fth_model_options *options,
                                      struct fth_error *error)
{
    enum fth_status status = FTH_OK;
    many->members = calloc(count ? count : 1, sizeof *many->members);
    if (!many->members)
        return no_memory(error);
    for (; many->count < count && status == FTH_OK; many->count += status == FTH_OK) {
        const struct fth_model_options own = {.threads = 1,
                                              .bypassed = members[many->count].bypassed,
                                              .kernel = options->kernel,
                                              .log = many->count ? NULL : options->log};
        status = fth_work_create(trace, members[many->count].params, &own,
                                 &many->members[many->count].work, error);
    }
    if (many->members[0].work)
        many->members[0].work->many = many;
    return status;
}

static void destroy_members(struct fth_many *many)
{
    for (size_t i = 0; i < many->count; i++)
        free_stairs(&many->members[i], many->members[i].work->sms);
    for (size_t i = 0; i < many->count; i++)
        fth_work_fini(many->members[i].work);
    free(many->members);
    free(many->misses);
}

/* Those without a result are broken. */
static enum fth_status run_once(const struct fth_trace *trace, struct fth_model_member *members,
                                size_t count, const struct fth_model_options *options, bool ladders,
                                size_t *culprit, struct fth_error *error)
{
    struct fth_many many = {.ladders = ladders};
    enum fth_status status = create_members(&many, trace, members, count, options, error);
    if (status == FTH_OK && many.count)
        status = fth_work_run(many.members[0].work, error);
    if (many.stopped)
        status = FTH_OK;
    for (size_t i = 0; i < count && status == FTH_OK; i++) {
        members[i].l1 = many.members[i].from;
        if (!many.members[i].broken)
            status = fth_work_result(many.members[i].work, &members[i].result, error);
    }
    *culprit = many.culprit;
    destroy_members(&many);
    return status;
}

/* Those that broke, without ladders. */
static enum fth_status run_again(const struct fth_trace *trace, struct fth_model_member *members,
                                 size_t count, const struct fth_model_options *options,
                                 size_t *culprit, struct fth_error *error)
{
    struct fth_model_member *broken = calloc(count, sizeof *broken);
    size_t *which = calloc(count, sizeof *which);
    size_t found = 0;
    enum fth_status status = FTH_OK;
    if (!broken || !which) {
        free(broken);
        free(which);
        return no_memory(error);
    }
    for (size_t i = 0; i < count; i++)
        if (!members[i].result) {
            which[found] = i;
            broken[found++] = members[i];
        }
    if (found) {
        status = run_once(trace, broken, found, options, false, culprit, error);
        for (size_t i = 0; i < found; i++)
            members[which[i]] = broken[i];
        *culprit = which[*culprit];
    }
    free(broken);
    free(which);
    return status;
}

enum fth_status fth_model_run_many(const struct fth_trace *trace, struct fth_model_member *members,
                                   size_t count, const struct fth_model_options *options,
                                   size_t *culprit, struct fth_error *error)
{
    *culprit = 0;
    if (count == 0)
        return FTH_OK;
    for (size_t i = 0; i < count; i++)
        members[i].result = NULL;
    enum fth_status status = run_once(trace, members, count, options, true, culprit, error);
    if (status == FTH_OK)
        status = run_again(trace, members, count, options, culprit, error);
    for (size_t i = 0; i < count && status != FTH_OK; i++) {
        fth_model_result_destroy(members[i].result);
        members[i].result = NULL;
    }
    return status;
}
