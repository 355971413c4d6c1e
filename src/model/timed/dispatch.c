/* Which block starts on which SM, and when.
 *
 * The blocks of the first wave start on the SMs that place.c gives; all SMs start at about the same
 * time. After that, a slot that has become free takes the next block of the grid. On an H200
 * (docs/methods/placement.md), a GPC offers its free slots at regular intervals, and the GPCs take
 * turns; in a turn, each TPC of the GPC receives at most one block and the GPC at most
 * BLOCKS_PER_TURN. */
#include "model/timed/timed.h"

#include <stdlib.h>

/* Blocks that a GPC receives in one turn: observed on an H200. */
enum { BLOCKS_PER_TURN = 3 };

/* The random choices of an order; those of GPCs and TPCs have numbers below 2^16 in addition. */
enum { DRAW_START = 1 << 16, DRAW_PHASE = 2 << 16, DRAW_GPC = 3 << 16, DRAW_JITTER = 4 << 16 };

/* Maximum number of resident warps and blocks. Warps and slots are numbered with 32 bits. Chosen:
 * far more than GPUs have. */
#define MAX_RESIDENT (UINT64_C(1) << 28)

/* Free slots of one GPC, in the order in which they became free. */
struct gpc {
    uint32_t first, last; /* UINT32_MAX: none */
};

struct fth_dispatch {
    const struct fth_timing *timing;
    uint32_t slots;
    uint32_t *sms;                 /* [slots] */
    uint32_t *places;              /* [slots] earlier slots of the same SM */
    uint64_t *starts;              /* [slots] when the first block of the slot starts */
    uint32_t *next;                /* [slots] next free slot of the same GPC */
    uint16_t *gpcs;                /* [sms] */
    uint16_t *tpcs;                /* [sms] */
    uint64_t *served;              /* [tpc_count] turn in which the TPC last received a block */
    struct gpc *queues;            /* [gpc_count] */
    uint32_t gpc_count, tpc_count; /* the largest numbers plus 1 */
    uint32_t gpc;                  /* whose turn it is */
    uint32_t blocks_in_turn;
    uint64_t turn;
    size_t offered;
    uint64_t seed;
    unsigned order; /* fth_model_params.order */
};

/* Returns a number from 0 to 65535 that looks random but depends only on `what` and the seed. */
static uint64_t draw(uint64_t seed, uint64_t what)
{
    return (what + 1 + seed * UINT64_C(0x2545f4914f6cdd1d)) * UINT64_C(0x9e3779b97f4a7c15) >> 48;
}

/* Reads GPC and TPC of the SMs. Without them, all SMs are in one GPC, and each is a TPC. */
static void read_map(struct fth_dispatch *dispatch, const struct fth_model_params *params,
                     uint64_t sms)
{
    const struct fth_sm_map *map = &params->sm_map;
    for (uint64_t sm = 0; sm < sms; sm++) {
        dispatch->gpcs[sm] = map->sms ? map->gpc[sm % map->sms] : 0;
        dispatch->tpcs[sm] = (uint16_t)(map->sms ? map->tpc[sm % map->sms] : sm % UINT16_MAX);
        if (dispatch->gpcs[sm] >= dispatch->gpc_count)
            dispatch->gpc_count = dispatch->gpcs[sm] + 1u;
        if (dispatch->tpcs[sm] >= dispatch->tpc_count)
            dispatch->tpc_count = dispatch->tpcs[sm] + 1u;
    }
}

/* Returns when an SM starts its first block. The SMs of an H200 do so within about 300 cycles of
 * each other, those of a TPC together, in an order that differs from launch to launch. */
static uint64_t first_start(const struct fth_dispatch *dispatch, uint32_t sm)
{
    if (dispatch->order)
        return fth_order_draw(dispatch->order, DRAW_START + dispatch->tpcs[sm]) *
                   dispatch->timing->start_spread >>
               16;
    return draw(dispatch->seed, dispatch->tpcs[sm]) * dispatch->timing->start_spread >> 16;
}

/* Sets the SM of each slot and the start of its first block. */
static enum fth_status place_slots(struct fth_dispatch *dispatch,
                                   const struct fth_model_params *params,
                                   const struct fth_setting *setting, struct fth_error *error)
{
    struct fth_placement *placement = NULL;
    uint64_t *next_start = calloc(setting->sms, sizeof *next_start);
    uint32_t *next_place = calloc(setting->sms, sizeof *next_place);
    enum fth_status status = next_start && next_place
                                 ? fth_placement_create(params, setting, &placement, error)
                                 : fth_no_memory(error, "model caches", NULL);
    dispatch->seed = fth_model_integer(params, FTH_KEY_SEED);
    for (uint32_t sm = 0; sm < setting->sms && status == FTH_OK; sm++)
        next_start[sm] = first_start(dispatch, sm);
    for (uint32_t slot = 0; slot < dispatch->slots && status == FTH_OK; slot++) {
        uint64_t wave;
        const uint32_t sm = fth_placement_sm(placement, slot, &wave);
        dispatch->sms[slot] = sm;
        dispatch->places[slot] = next_place[sm]++;
        dispatch->starts[slot] = next_start[sm];
        next_start[sm] += dispatch->timing->block_gap;
    }
    fth_placement_destroy(placement);
    free(next_start);
    free(next_place);
    return status;
}

static enum fth_status init(struct fth_dispatch *dispatch, const struct fth_model_params *params,
                            const struct fth_setting *setting, struct fth_error *error)
{
    const uint64_t resident = setting->sms * setting->blocks_at_once;
    const uint64_t slots = resident < setting->blocks ? resident : setting->blocks;
    if (slots > MAX_RESIDENT / (setting->warps_per_block + 1))
        return fth_fail(error, FTH_INVALID, "model caches", "gpu.max_warps",
                        "too many warps are resident on all SMs, at most 2^28 are supported; use "
                        "fewer SMs or gpu.timing=off");
    dispatch->slots = (uint32_t)slots;
    dispatch->sms = calloc(dispatch->slots, sizeof *dispatch->sms);
    dispatch->places = calloc(dispatch->slots, sizeof *dispatch->places);
    dispatch->starts = calloc(dispatch->slots, sizeof *dispatch->starts);
    dispatch->next = calloc(dispatch->slots, sizeof *dispatch->next);
    dispatch->gpcs = calloc(setting->sms, sizeof *dispatch->gpcs);
    dispatch->tpcs = calloc(setting->sms, sizeof *dispatch->tpcs);
    if (!dispatch->sms || !dispatch->places || !dispatch->starts || !dispatch->next ||
        !dispatch->gpcs || !dispatch->tpcs)
        return fth_no_memory(error, "model caches", NULL);
    read_map(dispatch, params, setting->sms);
    dispatch->queues = calloc(dispatch->gpc_count, sizeof *dispatch->queues);
    dispatch->served = calloc(dispatch->tpc_count, sizeof *dispatch->served);
    if (!dispatch->queues || !dispatch->served)
        return fth_no_memory(error, "model caches", NULL);
    for (uint32_t i = 0; i < dispatch->gpc_count; i++)
        dispatch->queues[i] = (struct gpc){UINT32_MAX, UINT32_MAX};
    dispatch->turn = 1;
    dispatch->order = params->order;
    if (dispatch->order)
        dispatch->gpc = (uint32_t)fth_order_draw(dispatch->order, DRAW_GPC) % dispatch->gpc_count;
    return place_slots(dispatch, params, setting, error);
}

enum fth_status fth_dispatch_create(const struct fth_model_params *params,
                                    const struct fth_setting *setting,
                                    const struct fth_timing *timing, struct fth_dispatch **out,
                                    struct fth_error *error)
{
    struct fth_dispatch *dispatch = calloc(1, sizeof *dispatch);
    *out = NULL;
    if (!dispatch)
        return fth_no_memory(error, "model caches", NULL);
    dispatch->timing = timing;
    const enum fth_status status = init(dispatch, params, setting, error);
    if (status == FTH_OK)
        *out = dispatch;
    else
        fth_dispatch_destroy(dispatch);
    return status;
}

void fth_dispatch_destroy(struct fth_dispatch *dispatch)
{
    if (!dispatch)
        return;
    free(dispatch->sms);
    free(dispatch->places);
    free(dispatch->starts);
    free(dispatch->next);
    free(dispatch->gpcs);
    free(dispatch->tpcs);
    free(dispatch->served);
    free(dispatch->queues);
    free(dispatch);
}

uint32_t fth_dispatch_slots(const struct fth_dispatch *dispatch)
{
    return dispatch->slots;
}

uint32_t fth_dispatch_sm(const struct fth_dispatch *dispatch, uint32_t slot)
{
    return dispatch->sms[slot];
}

uint32_t fth_dispatch_place(const struct fth_dispatch *dispatch, uint32_t slot)
{
    return dispatch->places[slot];
}

/* Blocks that are placed one after the other start in another order on an H200, within about 100
 * cycles of each other (docs/methods/placement.md). */
uint64_t fth_dispatch_jitter(const struct fth_dispatch *dispatch, uint64_t block)
{
    const uint64_t random = dispatch->order ? fth_order_draw(dispatch->order, DRAW_JITTER + block)
                                            : draw(dispatch->seed, block);
    return random * dispatch->timing->block_jitter >> 16;
}

uint64_t fth_dispatch_start(const struct fth_dispatch *dispatch, uint32_t slot)
{
    return dispatch->starts[slot];
}

/* The periods of the GPCs are shifted against each other by equal parts; in an order other than the
 * plain one, by random parts. */
uint64_t fth_dispatch_ready(const struct fth_dispatch *dispatch, uint32_t slot, uint64_t end)
{
    const uint64_t period = dispatch->timing->refill_period;
    const uint64_t earliest = end + dispatch->timing->refill;
    if (!period)
        return earliest;
    const uint64_t gpc = dispatch->gpcs[dispatch->sms[slot]];
    const uint64_t phase = dispatch->order
                               ? fth_order_draw(dispatch->order, DRAW_PHASE + gpc) * period >> 16
                               : gpc * period / dispatch->gpc_count;
    return (earliest + period - phase) / period * period + phase;
}

void fth_dispatch_offer(struct fth_dispatch *dispatch, uint32_t slot)
{
    struct gpc *queue = &dispatch->queues[dispatch->gpcs[dispatch->sms[slot]]];
    dispatch->next[slot] = UINT32_MAX;
    if (queue->first == UINT32_MAX)
        queue->first = slot;
    else
        dispatch->next[queue->last] = slot;
    queue->last = slot;
    dispatch->offered++;
}

/* Removes the first slot of a GPC whose TPC has no block of this turn. UINT32_MAX: there is none.
 */
static uint32_t take_slot(struct fth_dispatch *dispatch, struct gpc *queue)
{
    uint32_t before = UINT32_MAX;
    for (uint32_t slot = queue->first; slot != UINT32_MAX; slot = dispatch->next[slot]) {
        const uint16_t tpc = dispatch->tpcs[dispatch->sms[slot]];
        if (dispatch->served[tpc] == dispatch->turn) {
            before = slot;
            continue;
        }
        dispatch->served[tpc] = dispatch->turn;
        if (before == UINT32_MAX)
            queue->first = dispatch->next[slot];
        else
            dispatch->next[before] = dispatch->next[slot];
        if (queue->last == slot)
            queue->last = before;
        return slot;
    }
    return UINT32_MAX;
}

bool fth_dispatch_choose(struct fth_dispatch *dispatch, uint32_t *slot)
{
    while (dispatch->offered) {
        *slot = dispatch->blocks_in_turn < BLOCKS_PER_TURN
                    ? take_slot(dispatch, &dispatch->queues[dispatch->gpc])
                    : UINT32_MAX;
        if (*slot != UINT32_MAX) {
            dispatch->blocks_in_turn++;
            dispatch->offered--;
            return true;
        }
        dispatch->gpc = (dispatch->gpc + 1) % dispatch->gpc_count;
        dispatch->blocks_in_turn = 0;
        dispatch->turn++;
    }
    return false;
}
