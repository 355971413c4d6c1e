/* Sends the requests of batches to an L2. The groups of a batch are sent in the order of the trace,
 * and the L2 processes them in rounds: a round has as many groups as there are active SMs, or fewer
 * at the end of a launch. Reads of SMs of one group can be joined on the way (join.c). */
#include "model/run/run.h"

#include <stdlib.h>
#include <string.h>

/* Reads the join group of each SM from the parameter l2.joins, once per run. */
static enum fth_status read_join_groups(struct fth_l2_feed *feed,
                                        const struct fth_model_params *params,
                                        struct fth_error *error)
{
    const char *text = params->values[FTH_KEY_JOINS].text;
    if (feed->input != FTH_L2_FORWARDED || strcmp(text, "none") == 0 || feed->join_group_of_sm)
        return FTH_OK;
    feed->join = fth_join_create();
    if (!feed->join)
        return fth_no_memory(error, "model caches", NULL);
    feed->join_rounds = fth_model_integer(params, FTH_KEY_JOIN_ROUNDS);
    return fth_sm_list(params, FTH_KEY_JOINS, UINT32_MAX, &feed->join_group_of_sm,
                       &feed->join_group_count, error);
}

enum fth_status fth_l2_feed_begin(struct fth_l2_feed *feed, const struct fth_model_params *params,
                                  const struct fth_setting *setting, const uint8_t *side_of_sm,
                                  size_t instructions, struct fth_error *error)
{
    FTH_TRY(read_join_groups(feed, params, error));
    if (feed->l2) {
        if (setting->cold)
            fth_l2_clear(feed->l2);
    } else {
        FTH_TRY(fth_l2_create(setting, instructions, &feed->l2, error));
        if (feed->diagnose)
            FTH_TRY(fth_l2_diagnose(feed->l2, error));
    }
    if (feed->join)
        fth_join_clear(feed->join);
    feed->rounds_since_join_clear = feed->groups_since_flush = 0;
    feed->round_groups = setting->blocks < setting->sms ? setting->blocks : setting->sms;
    feed->l1_shape = setting->l1;
    feed->side_of_sm = side_of_sm;
    return FTH_OK;
}

void fth_l2_feed_fini(struct fth_l2_feed *feed)
{
    fth_l2_destroy(feed->l2);
    fth_join_destroy(feed->join);
    free(feed->join_group_of_sm);
}

/* Sends the sectors *sent of a request to the L2, unless they are joined with another read; then
 * *sent becomes 0. */
static bool send_request(struct fth_l2_feed *feed, const struct fth_issue_batch *batch,
                         const struct fth_line_request *request, uint32_t sm, uint64_t *sent)
{
    if (!*sent)
        return true;
    if (feed->join && request->kind == FTH_TRACE_READ &&
        !fth_join_read(feed->join, feed->join_group_of_sm[sm % feed->join_group_count],
                       request->line, sent))
        return false;
    return !*sent || fth_l2_add(feed->l2, &feed->l1_shape, request, batch->requests.runs, *sent,
                                feed->side_of_sm[sm]);
}

static bool send_group(struct fth_l2_feed *feed, const struct fth_issue_batch *batch,
                       const struct fth_issue_group *group, struct fth_curves *curves)
{
    const bool all = feed->input == FTH_L2_ALL;
    if (curves && !fth_curves_use_sm(curves, group->sm))
        return false;
    if (!curves && !all && !group->forwards)
        return true;
    for (uint32_t i = 0; i < group->count; i++) {
        const struct fth_line_request *request = &batch->requests.items[group->first + i];
        uint64_t sent = all ? request->sectors : request->missing;
        if (!send_request(feed, batch, request, group->sm, &sent) ||
            (curves && !fth_curves_add(curves, group->sm, request, sent)))
            return false;
    }
    return true;
}

bool fth_l2_feed_run(struct fth_l2_feed *feed, const struct fth_issue_batch *batch,
                     struct fth_curves *curves)
{
    for (size_t g = 0; g < batch->group_count; g++)
        if (!send_group(feed, batch, &batch->groups[g], curves) ||
            (++feed->groups_since_flush >= feed->round_groups && !fth_l2_feed_flush(feed)))
            return false;
    return true;
}

bool fth_l2_feed_flush(struct fth_l2_feed *feed)
{
    feed->groups_since_flush = 0;
    if (feed->join && ++feed->rounds_since_join_clear >= feed->join_rounds) {
        feed->rounds_since_join_clear = 0;
        fth_join_clear(feed->join);
    }
    return fth_l2_flush(feed->l2);
}
