/* Which chases share a launch. All blocks of a launch have the same shared memory, which can reduce
 * the L1. It must therefore be exactly what each request needs, so that the results do not depend
 * on the other requests of the group. */
#include "device/chase/chase.h"

/* Whether the constant bank can hold both chains: the elements that they have in common must be
 * equal. A chain with step 1 is not closed, so its links do not depend on its start and length.
 * Otherwise the links depend on the whole chain, so the chains must be the same. */
static bool can_share_bank(const struct fth_chain *a, const struct fth_chain *b)
{
    if (fth_chain_step(a) != 1 || fth_chain_step(b) != 1 || a->seed || b->seed)
        return a->stride_bytes == b->stride_bytes && a->start_bytes == b->start_bytes &&
               fth_chain_step(a) == fth_chain_step(b) && a->seed == b->seed && a->count == b->count;
    return a->stride_bytes == b->stride_bytes &&
           a->start_bytes % a->stride_bytes == b->start_bytes % b->stride_bytes;
}

/* Whether the constant bank can hold the chains of both requests. */
static bool constants_agree(const struct fth_lowered_chase *a, const struct fth_lowered_chase *b)
{
    for (size_t i = 0; i < a->step_count; i++)
        for (size_t j = 0; j < b->step_count; j++)
            if (a->steps[i].memory == FTH_MEMORY_CONSTANT &&
                b->steps[j].memory == FTH_MEMORY_CONSTANT &&
                !can_share_bank(&a->steps[i].step->chain, &b->steps[j].step->chain))
                return false;
    return true;
}

bool fth_chase_can_join(const struct fth_runner *runner, const struct fth_chase_group *group,
                        const struct fth_lowered *lowered)
{
    const struct fth_request *request = lowered->request;
    if (group->count == 0)
        return true;
    if (group->count == runner->sm_count || lowered->chase.alone ||
        group->members[0].chase->alone ||
        request->carveout_percent != group->request->carveout_percent ||
        lowered->shared_bytes != group->shared_bytes)
        return false;
    if (request->sm != FTH_ANY_SM && group->sm_taken[runner->sms[request->sm]])
        return false;
    for (size_t i = 0; i < group->count && group->has_constants; i++)
        if (!constants_agree(group->members[i].chase, &lowered->chase))
            return false;
    return true;
}

void fth_chase_join(const struct fth_runner *runner, struct fth_chase_group *group,
                    struct fth_job *job)
{
    const struct fth_lowered *lowered = &job->lowered;
    const uint32_t sm = lowered->request->sm;
    struct fth_chase_member *member = &group->members[group->count++];
    member->job = job;
    member->chase = &lowered->chase;
    member->sm = sm == FTH_ANY_SM ? FTH_ANY_SM : runner->sms[sm];
    member->served = false;
    if (sm != FTH_ANY_SM)
        group->sm_taken[member->sm] = true;
    if (group->count == 1) {
        group->request = lowered->request;
        group->shared_bytes = lowered->shared_bytes;
    }
    if (lowered->threads > group->threads)
        group->threads = lowered->threads;
    group->has_constants = group->has_constants || lowered->chase.has_constants;
    group->hops += lowered->chase.hops;
    group->sample_count += lowered->sample_count;
    job->done = true;
}

void fth_chase_assign_sms(const struct fth_runner *runner, struct fth_chase_state *state,
                          struct fth_chase_group *group)
{
    for (size_t i = 0; i < group->count; i++) {
        if (group->members[i].sm != FTH_ANY_SM)
            continue;
        while (group->sm_taken[runner->sms[state->next_sm % runner->sm_count]])
            state->next_sm++;
        const uint32_t sm = runner->sms[state->next_sm++ % runner->sm_count];
        group->members[i].sm = sm;
        group->sm_taken[sm] = true;
    }
}
