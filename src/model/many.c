/* Several models of one trace in one pass. What they have in common is done once:
 *
 *   the trace is read, dealt out to the SMs and coalesced     for all
 *   the L1s of an SM take their requests                      for each kind of L1
 *   what these pass on becomes requests to the L2             for each kind of L1 and of L2's lines
 *   the L2 takes them                                         for each model
 *
 * The first member is the one whose run.c reads the trace; of members that are alike in something,
 * the first has it and the others look there. A member comes to what it would come to by itself,
 * as none of this depends on what only other members have. */
#include "model/run.h"

#include <stdlib.h>
#include <string.h>

struct member {
    struct fth_model_work *work;
    struct fth_likeness likeness;
    /* Of the launch: the first members with the same L1s, requests to the L2, and such past the L1.
     */
    size_t l1, below, past;
};

struct fth_many {
    struct member *members;
    size_t count;
    size_t culprit;
};

static enum fth_status no_memory(struct fth_error *error)
{
    return fth_fail(error, FTH_NO_MEMORY, "model caches", NULL, "out of memory");
}

/* ---- a launch begins ---- */

static void find_firsts(struct fth_many *many, size_t number)
{
    struct member *member = &many->members[number];
    member->l1 = member->below = member->past = number;
    for (size_t i = number; i-- > 0;) {
        const struct member *other = &many->members[i];
        if (other->likeness.l1 == member->likeness.l1) {
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
        fth_l2_record(work->l2, member->below == i);
        if (work->bypassed)
            fth_l2_record(work->bypassed, member->past == i);
    }
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
    return fth_work_l1s(work, batch, 0) ? FTH_OK : no_memory(error);
}

enum fth_status fth_many_batch(struct fth_many *many, struct fth_batch *batch,
                               struct fth_error *error)
{
    enum fth_status status = batch->requests.failed ? no_memory(error) : FTH_OK;
    for (size_t i = 0; i < many->count && status == FTH_OK; i++) {
        if (many->members[i].l1 != i)
            continue;
        many->culprit = i;
        status = run_l1s(many->members[i].work, batch, error);
        for (size_t k = i; k < many->count && status == FTH_OK; k++)
            if (many->members[k].l1 == i && many->members[k].below == k &&
                !(fth_work_l2(many->members[k].work, batch) && replay(many, k)))
                status = no_memory(error);
    }
    for (size_t i = 0; i < many->count && status == FTH_OK; i++)
        if (many->members[i].work->bypassed && many->members[i].past == i &&
            !(fth_work_bypassed(many->members[i].work, batch) && replay_past(many, i)))
            status = no_memory(error);
    return status;
}

/* ---- a launch ends ---- */

bool fth_many_rounds(struct fth_many *many)
{
    bool made = true;
    for (size_t i = 0; i < many->count && made; i++) {
        struct fth_model_work *work = many->members[i].work;
        if (many->members[i].below == i)
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
    struct fth_tier **l1 = work->l1;
    struct fth_model_counts **counts = work->l1_counts;
    bool *used = work->used;
    work->l1 = first->l1;
    work->l1_counts = first->l1_counts;
    work->used = first->used;
    const enum fth_status status = fth_work_tally(work, launch, error);
    work->l1 = l1;
    work->l1_counts = counts;
    work->used = used;
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
    many->members = calloc(count, sizeof *many->members);
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
    if (status == FTH_OK)
        many->members[0].work->many = many;
    return status;
}

enum fth_status fth_model_run_many(const struct fth_trace *trace, struct fth_model_member *members,
                                   size_t count, const struct fth_model_options *options,
                                   size_t *culprit, struct fth_error *error)
{
    struct fth_many many = {0};
    for (size_t i = 0; i < count; i++)
        members[i].result = NULL;
    enum fth_status status = create_members(&many, trace, members, count, options, error);
    if (status == FTH_OK)
        status = fth_work_run(many.members[0].work, error);
    for (size_t i = 0; i < count && status == FTH_OK; i++)
        status = fth_work_result(many.members[i].work, &members[i].result, error);
    *culprit = many.culprit;
    for (size_t i = 0; i < count && status != FTH_OK; i++) {
        fth_model_result_destroy(members[i].result);
        members[i].result = NULL;
    }
    for (size_t i = 0; i < many.count; i++)
        fth_work_fini(many.members[i].work);
    free(many.members);
    return status;
}
