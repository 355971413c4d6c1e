/* Where the SMs are and which SM executes a block, for 'fathom dissect' (probe/place/): the GPCs
 * and TPCs of the SMs, and the order in which they receive blocks. */
#include "discover/discover.h"
#include "probe/place/probe_place.h"

#include <stdio.h>
#include <stdlib.h>

/* Writes a list with one number per SM. */
static enum fth_status note_list(struct fth_gpu *gpu, struct fth_note *note, const uint16_t *list,
                                 size_t count, struct fth_error *error)
{
    double *numbers = calloc(count + 1, sizeof *numbers);
    if (!numbers)
        return fth_no_memory(error, "describe the placement of blocks", NULL);
    for (size_t i = 0; i < count; i++)
        numbers[i] = list[i];
    note->element = "device";
    note->numbers = numbers;
    note->count = count;
    const enum fth_status status = fth_note(gpu, note, error);
    free(numbers);
    return status;
}

static enum fth_status note_groups(struct fth_gpu *gpu, const struct fth_sm_groups *groups,
                                   struct fth_error *error)
{
    char remark[120] = "";
    if (!groups->map.sms) {
        FTH_TRY(fth_note_unknown(gpu, "device", "tpc_by_sm", groups->gpc_reason, error));
        return fth_note_unknown(gpu, "device", "gpc_by_sm", groups->gpc_reason, error);
    }
    if (groups->single_sms)
        snprintf(remark, sizeof remark,
                 "%lu SMs were only in clusters of 2 blocks; each such pair counts as a GPC",
                 (unsigned long)groups->single_sms);
    struct fth_note gpcs = {.attribute = "gpc_by_sm",
                            .method = "SMs whose blocks were in the same cluster",
                            .note = *remark ? remark : NULL,
                            .evidence = &groups->gpc_evidence,
                            .samples = groups->samples};
    FTH_TRY(note_list(gpu, &gpcs, groups->map.gpc, groups->map.sms, error));
    if (!groups->tpcs_known)
        return fth_note_unknown(gpu, "device", "tpc_by_sm", groups->tpc_reason, error);
    struct fth_note tpcs = {.attribute = "tpc_by_sm",
                            .method = "SMs whose blocks were in the same cluster of 2",
                            .evidence = &groups->tpc_evidence,
                            .samples = groups->samples};
    return note_list(gpu, &tpcs, groups->map.tpc, groups->map.sms, error);
}

/* Writes the GPCs that receive blocks first, and when they return. */
static enum fth_status note_first(struct fth_gpu *gpu, const struct fth_sm_map *map,
                                  const struct fth_order_found *found, struct fth_error *error)
{
    uint16_t gpcs[FTH_MAX_MAPPED_SMS], returns[FTH_MAX_BLOCK_RETURNS];
    size_t count = 0;
    for (uint32_t sm = 0; sm < map->sms; sm++)
        if (map->first[sm] && (count == 0 || gpcs[count - 1] < map->gpc[sm]))
            gpcs[count++] = map->gpc[sm];
    struct fth_note first = {.attribute = "block_first_gpcs",
                             .method = "the GPCs that receive blocks before others in every grid",
                             .evidence = &found->evidence,
                             .samples = found->samples};
    FTH_TRY(note_list(gpu, &first, gpcs, count, error));
    for (uint32_t i = 0; i < found->return_count; i++)
        returns[i] = (uint16_t)FTH_MIN(found->returns[i], UINT16_MAX);
    struct fth_note again = {.attribute = "block_return_blocks",
                             .method = "blocks of other GPCs before those of block_first_gpcs "
                                       "receive their second, third, … block per SM",
                             .evidence = &found->evidence,
                             .samples = found->samples};
    return found->return_count ? note_list(gpu, &again, returns, found->return_count, error)
                               : FTH_OK;
}

static enum fth_status note_order(struct fth_gpu *gpu, const struct fth_sm_groups *groups,
                                  const struct fth_order_found *found, struct fth_error *error)
{
    char remark[120];
    snprintf(remark, sizeof remark, "places %zu of %zu blocks correctly", found->correct,
             found->blocks);
    if (!found->known) {
        char reason[180];
        snprintf(reason, sizeof reason, "no rule fits; the best one %s", remark);
        return fth_note_unknown(gpu, "device", "block_order", reason, error);
    }
    FTH_TRY(fth_note(gpu,
                     &(struct fth_note){.element = "device",
                                        .attribute = "block_order",
                                        .text = found->by_gpc ? "gpc" : "sm",
                                        .method = "the rule that places the most blocks of grids "
                                                  "of different sizes on the SM that executed them",
                                        .note = remark,
                                        .evidence = &found->evidence,
                                        .samples = found->samples},
                     error));
    return found->by_gpc && found->first ? note_first(gpu, &groups->map, found, error) : FTH_OK;
}

/* Finds the GPCs and the order of blocks. The order also numbers the GPCs, so that they are written
 * after it was found. */
static enum fth_status find_order(struct fth_discovery *discovery, struct fth_error *error)
{
    struct fth_sm_groups groups;
    struct fth_order_found order;
    struct fth_error cause = FTH_NO_ERROR;
    struct fth_gpu *gpu = discovery->gpu;
    enum fth_status grouped = fth_probe_sm_groups(&discovery->prober, &groups, error);
    if (grouped != FTH_OK)
        FTH_TRY(fth_note_failure(gpu, "device", "gpc_by_sm", grouped, error));
    enum fth_status ordered = fth_probe_block_order(&discovery->prober, &groups, &order, &cause);
    if (grouped == FTH_OK)
        FTH_TRY(note_groups(gpu, &groups, error));
    if (ordered == FTH_OK)
        return note_order(gpu, &groups, &order, error);
    ordered = fth_note_failure(gpu, "device", "block_order", ordered, &cause);
    if (ordered != FTH_OK && error)
        *error = cause;
    return ordered;
}

static enum fth_status find_refill(struct fth_discovery *discovery, struct fth_error *error)
{
    const double shared = fth_gpu_number(discovery->gpu, "shared", "max_block_bytes", 0);
    struct fth_refill_found found;
    char remark[160];
    if (!(shared >= 1))
        return fth_note_unknown(discovery->gpu, "device", "block_refill",
                                "the maximum shared memory of a block is not known", error);
    enum fth_status status =
        fth_probe_block_refill(&discovery->prober, (uint64_t)shared, &found, error);
    if (status != FTH_OK)
        return fth_note_failure(discovery->gpu, "device", "block_refill", status, error);
    snprintf(remark, sizeof remark,
             "of %zu blocks that waited, %zu ran where a block had ended early, %zu where the "
             "order of the first blocks is repeated",
             found.blocks, found.free, found.order);
    if (found.refill == FTH_REFILL_UNKNOWN)
        return fth_note_unknown(discovery->gpu, "device", "block_refill", remark, error);
    return fth_note(discovery->gpu,
                    &(struct fth_note){.element = "device",
                                       .attribute = "block_refill",
                                       .text = found.refill == FTH_REFILL_FREE ? "free" : "order",
                                       .method = "one block per SM, every second one stays longer",
                                       .note = remark,
                                       .evidence = &found.evidence,
                                       .samples = found.samples},
                    error);
}

enum fth_status fth_dissect_place(struct fth_discovery *discovery, struct fth_error *error)
{
    FTH_TRY(find_order(discovery, error));
    return find_refill(discovery, error);
}
