/* Tests the placement of blocks, from the simulated GPU (device/sim/sim_place.c) through the
 * requests (device/family/family_place.c) to the probes (probe/place/). Simulated GPUs with random
 * GPCs are measured; the result must be the description. */
#include "check.h"
#include "described_device.h"
#include "probe/place/probe_place.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- simulated GPUs ---- */

/* A GPU whose SMs are in random GPCs of 4 to 18 SMs, and in up to four pairs that come first. */
struct truth {
    struct fth_sm_map map;
    bool refill_free;
};

/* Numbers GPCs in the order of their lowest SMs. */
static void number_gpcs(uint16_t *gpc_of_tpc, uint32_t tpcs)
{
    uint16_t numbers[8], next = 0;
    memset(numbers, 0xff, sizeof numbers);
    for (uint32_t i = 0; i < tpcs; i++) {
        if (numbers[gpc_of_tpc[i]] == 0xffff)
            numbers[gpc_of_tpc[i]] = next++;
        gpc_of_tpc[i] = numbers[gpc_of_tpc[i]];
    }
}

static struct truth make_truth(struct fth_rng *rng)
{
    struct truth truth = {.refill_free = fth_rng_below(rng, 2)};
    struct fth_sm_map *map = &truth.map;
    const uint32_t gpcs = 1 + (uint32_t)fth_rng_below(rng, 5);
    const uint32_t pairs = (uint32_t)fth_rng_below(rng, 4);
    uint16_t gpc_of_tpc[64];
    uint32_t tpcs = 0;
    for (uint32_t gpc = 0; gpc < gpcs; gpc++)
        for (uint32_t left = 2 + (uint32_t)fth_rng_below(rng, 8); left; left--)
            gpc_of_tpc[tpcs++] = (uint16_t)gpc;
    for (uint32_t i = tpcs; i-- > 1;) {
        const uint32_t other = (uint32_t)fth_rng_below(rng, i + 1);
        const uint16_t gpc = gpc_of_tpc[i];
        gpc_of_tpc[i] = gpc_of_tpc[other];
        gpc_of_tpc[other] = gpc;
    }
    number_gpcs(gpc_of_tpc, tpcs);
    for (uint32_t i = 0; i < pairs; i++)
        gpc_of_tpc[tpcs++] = (uint16_t)(gpcs + i);
    map->sms = 2 * tpcs;
    map->by_gpc = fth_rng_below(rng, 5) != 0;
    for (uint32_t sm = 0; sm < map->sms; sm++) {
        map->gpc[sm] = gpc_of_tpc[sm / 2];
        map->tpc[sm] = (uint16_t)(sm / 2);
        map->first[sm] = map->by_gpc && map->gpc[sm] >= gpcs;
    }
    map->return_count = pairs && map->by_gpc ? (uint32_t)fth_rng_below(rng, 3) : 0;
    for (uint32_t i = 0; i < map->return_count; i++)
        map->return_blocks[i] = 1 + (uint32_t)fth_rng_below(rng, map->sms);
    return truth;
}

static void write_list(struct fth_buffer *text, const char *name, const struct fth_sm_map *map,
                       const uint16_t *list)
{
    fth_buffer_format(text, ", \"%s\": [", name);
    for (uint32_t sm = 0; sm < map->sms; sm++)
        fth_buffer_format(text, "%s%u", sm ? ", " : "", (unsigned)list[sm]);
    fth_buffer_text(text, "]");
}

/* Writes the description of the GPU. */
static void write_truth(struct fth_buffer *text, const struct truth *truth)
{
    const struct fth_sm_map *map = &truth->map;
    int last = -1;
    fth_buffer_format(text,
                      "{\"schema\": \"fathom-gpu/1\", \"device\": {\"name\": \"Test\", \"sms\": "
                      "%u, \"compute_capability\": \"9.0\", \"block_order\": \"%s\", "
                      "\"block_refill\": \"%s\"",
                      (unsigned)map->sms, map->by_gpc ? "gpc" : "sm",
                      truth->refill_free ? "free" : "order");
    write_list(text, "gpc_by_sm", map, map->gpc);
    write_list(text, "tpc_by_sm", map, map->tpc);
    for (uint32_t sm = 0; sm < map->sms; sm++)
        if (map->first[sm] && map->gpc[sm] != last) {
            fth_buffer_format(text, "%s%u", last < 0 ? ", \"block_first_gpcs\": [" : ", ",
                              (unsigned)map->gpc[sm]);
            last = map->gpc[sm];
        }
    fth_buffer_text(text, last < 0 ? "" : "]");
    for (uint32_t i = 0; i < map->return_count; i++)
        fth_buffer_format(text, "%s%u", i ? ", " : ", \"block_return_blocks\": [",
                          (unsigned)map->return_blocks[i]);
    fth_buffer_text(text, map->return_count ? "]" : "");
    fth_buffer_text(text, "}, \"elements\": {\"cluster_shared\": {\"scope\": \"gpc\"}}}");
}

/* ---- comparison ---- */

/* Whether two lists divide the SMs into the same groups. */
static bool same_groups(const uint16_t *a, const uint16_t *b, uint32_t sms)
{
    for (uint32_t i = 0; i < sms; i++)
        for (uint32_t j = 0; j < i; j++)
            if ((a[i] == a[j]) != (b[i] == b[j]))
                return false;
    return true;
}

/* Returns the fraction of blocks that two orders place on the same SM, over all GPCs at which a
 * launch can begin. The numbers of GPCs differ; so can the order in which launches begin. */
static double compare_orders(const struct fth_sm_map *truth, const struct fth_sm_map *found)
{
    struct fth_block_order *orders[2] = {NULL, NULL};
    const uint32_t blocks = 4 * truth->sms;
    uint32_t *sms[2] = {calloc(blocks, sizeof **sms), calloc(blocks, sizeof **sms)};
    size_t same = 0, all = 0;
    assert_true(sms[0] && sms[1]);
    assert_int_equal(fth_block_order_create(truth, &orders[0], NULL), FTH_OK);
    assert_int_equal(fth_block_order_create(found, &orders[1], NULL), FTH_OK);
    const uint32_t gpcs = fth_block_order_gpcs(orders[0], false);
    assert_int_equal(gpcs, fth_block_order_gpcs(orders[1], false));
    for (uint32_t start = 0; start < gpcs; start++) {
        size_t best = 0;
        fth_block_order_grid(orders[0], (struct fth_block_start){0, start}, blocks, blocks, sms[0]);
        for (uint32_t other = 0; other < gpcs; other++) {
            size_t equal = 0;
            fth_block_order_grid(orders[1], (struct fth_block_start){0, other}, blocks, blocks,
                                 sms[1]);
            for (uint32_t i = 0; i < blocks; i++)
                equal += sms[0][i] == sms[1][i];
            best = equal > best ? equal : best;
        }
        same += best;
        all += blocks;
    }
    for (size_t i = 0; i < 2; i++) {
        fth_block_order_destroy(orders[i]);
        free(sms[i]);
    }
    return (double)same / (double)all;
}

/* Measures a GPU and compares everything with the truth. */
static void check_gpu(unsigned number, const struct truth *truth)
{
    struct fth_buffer text = {0};
    struct fth_sm_groups groups;
    struct fth_order_found order;
    struct fth_refill_found refill;
    struct fth_error error = NO_ERROR;
    write_truth(&text, truth);
    const struct fth_prober prober = {.device = open_simulated(text.data), .sms = truth->map.sms};
    if (fth_probe_sm_groups(&prober, &groups, &error) != FTH_OK ||
        fth_probe_block_order(&prober, &groups, &order, &error) != FTH_OK ||
        fth_probe_block_refill(&prober, 49152, &refill, &error) != FTH_OK)
        fail_msg("GPU %u: %s: %s", number, text.data, error.cause);
    const uint32_t sms = truth->map.sms;
    if (groups.map.sms != sms) {
        /* Small GPCs and clusters of 8 blocks: the reason says so. */
        assert_contains(groups.gpc_reason, "they can be parts of one GPC");
    } else {
        if (!same_groups(groups.map.gpc, truth->map.gpc, sms) || !groups.tpcs_known ||
            !same_groups(groups.map.tpc, truth->map.tpc, sms))
            fail_msg("GPU %u: wrong GPCs or TPCs: %s", number, text.data);
        if (!order.known || order.by_gpc != truth->map.by_gpc || order.correct < order.blocks)
            fail_msg("GPU %u: order %d, %zu of %zu blocks: %s", number, order.by_gpc, order.correct,
                     order.blocks, text.data);
    }
    if (groups.map.sms == sms && order.by_gpc) {
        struct fth_sm_map found = groups.map;
        found.return_count = order.return_count;
        memcpy(found.return_blocks, order.returns, sizeof order.returns);
        if (!order.first)
            memset(found.first, 0, sizeof found.first);
        if (compare_orders(&truth->map, &found) < 0.95)
            fail_msg("GPU %u: %g of the blocks are placed alike: %s", number,
                     compare_orders(&truth->map, &found), text.data);
    }
    if (truth->map.by_gpc)
        assert_int_equal(refill.refill, truth->refill_free ? FTH_REFILL_FREE : FTH_REFILL_ORDER);
    assert_true(fth_confidence(order.evidence) > 0.99 || groups.map.sms != sms);
    fth_device_close(prober.device);
    fth_buffer_fini(&text);
}

static void finds_the_placement_of_random_gpus(void **state)
{
    (void)state;
    struct fth_rng rng;
    fth_rng_init(&rng, 11);
    for (unsigned i = 0; i < (SANITIZED ? 4 : 24); i++) {
        const struct truth truth = make_truth(&rng);
        check_gpu(i, &truth);
    }
}

/* Without clusters, only the grids show something. */
static void gpus_without_clusters_show_the_order_only(void **state)
{
    (void)state;
    const struct fth_prober prober = {
        .device = open_simulated("{\"schema\": \"fathom-gpu/1\", \"device\": {\"name\": \"Test\", "
                                 "\"sms\": 6, \"compute_capability\": \"8.0\"}, \"elements\": {}}"),
        .sms = 6};
    struct fth_sm_groups groups;
    struct fth_order_found order;
    struct fth_error error = NO_ERROR;
    assert_int_equal(fth_probe_sm_groups(&prober, &groups, &error), FTH_UNSUPPORTED);
    assert_contains(error.cause, "does not execute clusters");
    assert_int_equal(fth_probe_block_order(&prober, &groups, &order, NULL), FTH_OK);
    assert_true(order.known && !order.by_gpc);
    assert_int_equal(order.correct, order.blocks);
    fth_device_close(prober.device);
}

/* Each block is on an SM below the number of SMs, and the first one starts at 0. */
static void requests_give_sms_and_starts(void **state)
{
    (void)state;
    struct fth_device *device = open_simulated(
        "{\"schema\": \"fathom-gpu/1\", \"device\": {\"name\": \"Test\", \"sms\": 3, "
        "\"clock_mhz\": 1000}, \"elements\": {}}");
    struct fth_request request = fth_request_make(-1);
    struct fth_samples samples = {0};
    request.family = FTH_FAMILY_PLACE;
    request.place = (struct fth_place_request){
        .blocks = 5, .threads = 64, .shared_bytes = 49152, .hold_ns = 2000, .stagger_ns = 3000};
    assert_int_equal(fth_device_measure(device, &request, 1, &samples, NULL), FTH_OK);
    assert_int_equal(samples.status, FTH_OK);
    assert_int_equal(samples.count, 10);
    for (uint32_t block = 0; block < 5; block++)
        assert_int_equal(samples.cycles[2 * (size_t)block], block % 3);
    /* Block 3 follows block 0, which stays 2 us; block 4 follows block 1, which stays 5 us. */
    assert_true(samples.cycles[1] < 100 && samples.cycles[3] < 100 && samples.cycles[5] < 100);
    assert_true(samples.cycles[7] >= 2000 && samples.cycles[7] < 2200);
    assert_true(samples.cycles[9] >= 5000 && samples.cycles[9] < 5200);
    fth_samples_fini(&samples);
    request.place.shared_bytes = 50000;
    assert_int_equal(fth_device_measure(device, &request, 1, &samples, NULL), FTH_OK);
    assert_int_equal(samples.status, FTH_UNSUPPORTED);
    fth_samples_fini(&samples);
    fth_device_close(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_give_sms_and_starts),
        cmocka_unit_test(gpus_without_clusters_show_the_order_only),
        cmocka_unit_test(finds_the_placement_of_random_gpus),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
