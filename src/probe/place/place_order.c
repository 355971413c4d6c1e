/* The order in which SMs receive the blocks of a grid.
 *
 * The probe launches grids of different sizes, all of whose blocks are resident at the same time,
 * and compares the SM of each block with what two rules predict: "sm" (block i runs on SM i) and
 * "gpc" (gpu/block_order.c). With the second one, the GPC at which a launch begins is unknown, and
 * the probe takes the one that fits best. It tries the rule with and without GPCs that come first:
 * those whose SMs were only in clusters of 2. Their early returns (block_return_blocks) follow from
 * the grids with several blocks per SM.
 *
 * Where a block runs that has to wait until another one ends is measured with one block per SM, of
 * which every second one stays longer. */
#include "probe/place/probe_place.h"

#include <stdlib.h>
#include <string.h>

enum {
    THREADS = 32,
    HOLD_NS = 4000,    /* longer than it takes to start all blocks: 0.3 us on an H200 */
    STAGGER_NS = 8000, /* longer than HOLD_NS, so that the times of two blocks differ clearly */
    SMALL_GRIDS = 7,   /* grids with up to 1 1/3 blocks per SM */
    ROUND_GRID = 5,    /* index of the one with one block per SM */
    SMALL_REPEATS = 2, /* launches of each of them */
    ROUNDS = 6,        /* blocks per SM of the large grids; every GPU holds 16 */
    LARGE_GRIDS = 6,   /* launches of them */
    LAUNCHES = SMALL_GRIDS * SMALL_REPEATS + LARGE_GRIDS
};
/* Minimum fraction of blocks that a rule must place correctly. The rule of an H200 places 99 %; a
 * wrong one places less than half. Chosen between the two. */
static const double min_correct = 0.9;

/* ---- launches ---- */

/* Fills the requests: small grids of different sizes, then large ones. */
static void plan_grids(uint32_t sms, struct fth_request *requests)
{
    const uint32_t sizes[SMALL_GRIDS] = {sms / 16 + 1,    sms / 4 + 1,           sms / 2 + 1,
                                         sms * 3 / 4 + 1, sms > 1 ? sms - 1 : 1, sms,
                                         sms + sms / 3};
    for (size_t i = 0; i < LAUNCHES; i++) {
        const bool small = i < (size_t)SMALL_GRIDS * SMALL_REPEATS;
        requests[i] = fth_request_make(-1);
        requests[i].family = FTH_FAMILY_PLACE;
        requests[i].place =
            (struct fth_place_request){.blocks = small ? sizes[i / SMALL_REPEATS] : ROUNDS * sms,
                                       .threads = THREADS,
                                       .hold_ns = HOLD_NS};
    }
}

/* ---- the rule "gpc" ---- */

/* Numbers the GPCs in the order in which a grid with one block per SM reaches them. The order is
 * cyclic, because launches begin at different GPCs, and so the GPC with the lowest SM has the
 * lowest number. Those that come first (map->first) have numbers of their own, above the others. */
static void number_gpcs(struct fth_sm_map *map, const struct fth_samples *round)
{
    uint16_t lowest[2] = {0, 0}, seen[2][FTH_MAX_MAPPED_SMS], number[FTH_MAX_MAPPED_SMS] = {0};
    uint32_t counts[2] = {0, 0}, start[2] = {0, 0};
    bool known[FTH_MAX_MAPPED_SMS] = {false};
    for (uint32_t sm = map->sms; sm > 0; sm--)
        lowest[map->first[sm - 1]] = map->gpc[sm - 1];
    for (size_t i = 0; i < round->count / 2; i++) {
        const uint32_t sm = round->cycles[2 * i];
        if (sm >= map->sms || known[map->gpc[sm]])
            continue;
        const bool first = map->first[sm];
        known[map->gpc[sm]] = true;
        if (map->gpc[sm] == lowest[first])
            start[first] = counts[first];
        seen[first][counts[first]++] = map->gpc[sm];
    }
    for (uint32_t sm = 0; sm < map->sms; sm++)
        if (!known[map->gpc[sm]])
            return; /* another program took SMs: the numbers stay as they are */
    for (uint32_t first = 0; first < 2; first++)
        for (uint32_t i = 0; i < counts[first]; i++)
            number[seen[first][(start[first] + i) % counts[first]]] =
                (uint16_t)((first ? counts[0] : 0) + i);
    for (uint32_t sm = 0; sm < map->sms; sm++)
        map->gpc[sm] = number[map->gpc[sm]];
}

/* Returns how many blocks of a launch run on the SMs of `predicted`. */
static size_t count_correct(const struct fth_samples *samples, const uint32_t *predicted)
{
    size_t correct = 0;
    for (size_t i = 0; i < samples->count / 2; i++)
        correct += samples->cycles[2 * i] == predicted[i];
    return correct;
}

/* Returns how many blocks of a launch the order places correctly, from the GPCs that fit best. */
static size_t count_best(const struct fth_block_order *order, const struct fth_samples *samples,
                         uint32_t *buffer)
{
    const uint32_t firsts = fth_block_order_gpcs(order, true);
    const uint32_t others = fth_block_order_gpcs(order, false);
    const size_t blocks = samples->count / 2;
    size_t best = 0;
    for (uint32_t first = 0; first < (firsts ? firsts : 1); first++)
        for (uint32_t other = 0; other < (others ? others : 1); other++) {
            fth_block_order_grid(order, (struct fth_block_start){first, other}, blocks, blocks,
                                 buffer);
            const size_t correct = count_correct(samples, buffer);
            best = correct > best ? correct : best;
        }
    return best;
}

/* The range of one entry of block_return_blocks that the launches leave. */
struct range {
    uint32_t low, high; /* high UINT32_MAX: no upper end */
};

/* Narrows the ranges by a launch. The others, with `others` SMs, receive blocks GPC after GPC, so a
 * GPC that comes first returned at the first GPC boundary at which the entry was reached. If it had
 * received no more rounds than the others, it would have returned in any case, and the entry can be
 * larger. */
static void narrow_returns(const struct fth_sm_map *map, uint32_t others,
                           const struct fth_samples *samples, struct range *ranges)
{
    uint32_t since = 0, all = 0, boundary = 0, returns = 0, gpc = UINT32_MAX;
    bool started = false;
    for (size_t i = 0; i < samples->count / 2 && returns < ROUNDS - 1; i++) {
        const uint32_t sm = samples->cycles[2 * i];
        if (sm >= map->sms)
            return;
        if (map->first[sm] && since) {
            struct range *range = &ranges[returns++];
            const bool early = all % others || returns > all / others;
            range->low = boundary + 1 > range->low ? boundary + 1 : range->low;
            range->high = early && since < range->high ? since : range->high;
            since = 0;
        }
        started = started || map->first[sm];
        if (!map->first[sm] && started) {
            boundary = since && map->gpc[sm] == gpc ? boundary : since;
            since++;
            all++;
        }
        gpc = map->gpc[sm];
    }
}

/* Finds block_return_blocks from the large grids. There are none if the GPCs that come first always
 * wait for the others. */
static void find_returns(struct fth_sm_map *map, const struct fth_samples *large)
{
    struct range ranges[ROUNDS - 1];
    uint32_t others = 0, count = ROUNDS - 1;
    for (uint32_t sm = 0; sm < map->sms; sm++)
        others += !map->first[sm];
    for (size_t i = 0; i < ROUNDS - 1; i++)
        ranges[i] = (struct range){1, UINT32_MAX};
    for (size_t i = 0; i < LARGE_GRIDS && others; i++)
        narrow_returns(map, others, &large[i], ranges);
    /* The last entry holds for all further returns, so equal entries at the end are one. */
    while (count > 1) {
        const struct range *last = &ranges[count - 1];
        struct range *before = &ranges[count - 2];
        const uint32_t low = last->low > before->low ? last->low : before->low;
        const uint32_t high = last->high < before->high ? last->high : before->high;
        if (low > high)
            break;
        *before = (struct range){low, high};
        count--;
    }
    map->return_count = count == 1 && ranges[0].high == UINT32_MAX ? 0 : count;
    for (uint32_t i = 0; i < map->return_count; i++)
        map->return_blocks[i] = ranges[i].high == UINT32_MAX ? ranges[i].low : ranges[i].high;
}

/* Counts the blocks that the rule places correctly with this map. */
static enum fth_status judge_map(const struct fth_sm_map *map, const struct fth_answers *answers,
                                 uint32_t *buffer, size_t *correct, struct fth_error *error)
{
    struct fth_block_order *order = NULL;
    FTH_TRY(fth_block_order_create(map, &order, error));
    *correct = 0;
    for (size_t i = 0; i < answers->count; i++)
        *correct += count_best(order, &answers->items[i], buffer);
    fth_block_order_destroy(order);
    return FTH_OK;
}

/* Tries the rule with and without GPCs that come first. */
static enum fth_status try_gpcs(const struct fth_sm_groups *groups,
                                const struct fth_answers *answers, uint32_t *buffer,
                                struct fth_order_found *found, struct fth_error *error)
{
    for (int first = 0; first < (groups->single_sms ? 2 : 1); first++) {
        struct fth_sm_map map = groups->map;
        size_t correct = 0;
        if (first)
            find_returns(&map, &answers->items[answers->count - LARGE_GRIDS]);
        else
            memset(map.first, 0, sizeof map.first);
        FTH_TRY(judge_map(&map, answers, buffer, &correct, error));
        if (correct <= found->correct)
            continue;
        found->correct = correct;
        found->by_gpc = true;
        found->first = first;
        found->return_count = map.return_count;
        memcpy(found->returns, map.return_blocks, sizeof found->returns);
    }
    return FTH_OK;
}

/* ---- all rules ---- */

static enum fth_status decide(const struct fth_prober *prober, struct fth_sm_groups *groups,
                              const struct fth_answers *answers, struct fth_order_found *found,
                              struct fth_error *error)
{
    const size_t most = (size_t)ROUNDS * prober->sms;
    uint32_t *buffer = calloc(most + 1, sizeof *buffer);
    if (!buffer)
        return fth_no_memory(error, "find the order of blocks", NULL);
    for (size_t i = 0; i < most; i++)
        buffer[i] = (uint32_t)(i % prober->sms);
    for (size_t i = 0; i < answers->count; i++) {
        found->blocks += answers->items[i].count / 2;
        found->correct += count_correct(&answers->items[i], buffer);
        found->samples += answers->items[i].count;
    }
    enum fth_status status = FTH_OK;
    if (groups->map.sms)
        number_gpcs(&groups->map, &answers->items[(size_t)ROUND_GRID * SMALL_REPEATS]);
    if (groups->map.sms)
        status = try_gpcs(groups, answers, buffer, found, error);
    free(buffer);
    found->known = (double)found->correct >= min_correct * (double)found->blocks;
    found->evidence =
        (struct fth_evidence){.repeats = (double)found->blocks, .agree = (double)found->correct};
    return status;
}

enum fth_status fth_probe_block_order(const struct fth_prober *prober, struct fth_sm_groups *groups,
                                      struct fth_order_found *found, struct fth_error *error)
{
    struct fth_request requests[LAUNCHES];
    struct fth_answers answers;
    *found = (struct fth_order_found){0};
    if (prober->sms == 0 || prober->sms > FTH_MAX_MAPPED_SMS)
        return fth_fail(error, FTH_UNSUPPORTED, "find the order of blocks", NULL,
                        "GPUs with more than %d SMs are not supported", FTH_MAX_MAPPED_SMS);
    plan_grids((uint32_t)prober->sms, requests);
    FTH_TRY(fth_ask(prober, requests, LAUNCHES, &answers, error));
    const enum fth_status status = decide(prober, groups, &answers, found, error);
    fth_answers_fini(&answers);
    return status;
}

/* ---- refill ---- */

/* Counts the blocks that waited and ran after a block that did not stay longer (free), or after the
 * block whose place in the order they repeat (order). */
static enum fth_status count_refills(const struct fth_samples *samples, size_t sms,
                                     struct fth_refill_found *found, struct fth_error *error)
{
    size_t *earlier = calloc(sms + 1, sizeof *earlier); /* the first block on each SM, plus 1 */
    if (!earlier)
        return fth_no_memory(error, "find where blocks follow", NULL);
    for (size_t i = 0; i < samples->count / 2; i++) {
        const uint32_t sm = samples->cycles[2 * i];
        if (sm >= sms)
            continue;
        if (i < sms) {
            earlier[sm] = i + 1;
            continue;
        }
        found->blocks++;
        found->free += earlier[sm] % 2;
        found->order += earlier[sm] == i - sms + 1;
    }
    free(earlier);
    return FTH_OK;
}

enum fth_status fth_probe_block_refill(const struct fth_prober *prober, uint64_t shared_bytes,
                                       struct fth_refill_found *found, struct fth_error *error)
{
    const uint32_t sms = (uint32_t)prober->sms;
    struct fth_request request = fth_request_make(-1);
    struct fth_answers answers;
    request.family = FTH_FAMILY_PLACE;
    request.place = (struct fth_place_request){.blocks = sms + sms / 2,
                                               .threads = THREADS,
                                               .shared_bytes = shared_bytes,
                                               .hold_ns = HOLD_NS,
                                               .stagger_ns = STAGGER_NS};
    *found = (struct fth_refill_found){0};
    if (sms < 4)
        return fth_fail(error, FTH_UNSUPPORTED, "find where blocks follow", NULL,
                        "the GPU has too few SMs to tell");
    FTH_TRY(fth_ask(prober, &request, 1, &answers, error));
    enum fth_status status = count_refills(&answers.items[0], sms, found, error);
    found->samples = answers.items[0].count;
    fth_answers_fini(&answers);
    const double needed = min_correct * (double)found->blocks;
    const size_t best = found->free > found->order ? found->free : found->order;
    found->evidence =
        (struct fth_evidence){.repeats = (double)found->blocks, .agree = (double)best};
    if (found->blocks && (double)best >= needed)
        found->refill = found->order == best ? FTH_REFILL_ORDER : FTH_REFILL_FREE;
    return status;
}
