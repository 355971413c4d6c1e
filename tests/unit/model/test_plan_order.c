/* Tests the plans of groups for several banks (model/level/plan.c), and that caches with different
 * banks that replay the same requests count the same as caches of their own. */
#include "check.h"
#include "model/level/level.h"

#include <stdlib.h>
#include <string.h>

enum { REQUESTS = 96, ROUNDS = 400, LINES = 192 };

/* An L2 of 64 lines. `merges` of MSHRs are limited, so that requests fail. */
static struct fth_setting make_setting(uint64_t partitions, uint64_t banks, uint64_t ways,
                                       uint64_t ports, uint64_t mshr_size)
{
    const uint64_t lines = 64 / (partitions * banks);
    struct fth_setting setting = {.sides = 1};
    setting.l2 = (struct fth_shape){.line_bytes = 128,
                                    .sector_bytes = 128,
                                    .fill_bytes = 128,
                                    .line_shift = 7,
                                    .sector_shift = 7,
                                    .sets = lines / ways,
                                    .ways = ways,
                                    .lines = lines,
                                    .partitions = partitions,
                                    .banks = banks,
                                    .ports = ports,
                                    .partition_bytes = 128,
                                    .bank_bytes = 128,
                                    .index = "mod",
                                    .policy = "lru",
                                    .merged_hits = true,
                                    .mshr_sets = partitions,
                                    .mshr_size = mshr_size,
                                    .mshr_merges = 2,
                                    .latency_fixed = 6,
                                    .write = FTH_WRITE_BACK};
    return setting;
}

static struct fth_l2 *make_l2(const struct fth_setting *setting)
{
    struct fth_l2 *l2;
    assert_int_equal(fth_l2_create(setting, 1, &l2, NULL), FTH_OK);
    return l2;
}

/* ---- the order ---- */

/* The units are the last two bits of the lines, and two of them share MSHRs. Each row has the lines
 * and the warps of the requests, and the order in which they are processed. */
static void requests_go_by_cluster_step_and_warp(void **state)
{
    (void)state;
    static const struct {
        uint64_t ports;
        const char *lines, *warps, *order;
    } rows[] = {{1, "0123", "0123", "0213"},
                {1, "0404", "0123", "0123"},
                {1, "2200", "0123", "0213"},
                {2, "2200", "0123", "0123"},
                {1, "20", "00", "10"},
                {1, "2020", "0011", "1032"},
                {2, "0246", "3210", "3210"},
                {1, "311311", "012345", "012345"},
                {2, "00000022", "01234567", "01672345"}};
    const struct fth_setting setting = make_setting(2, 2, 4, 1, 0);
    for (size_t row = 0; row < FTH_COUNT(rows); row++) {
        struct fth_banking banking = {.partitions = {.count = 2, .bytes = 128},
                                      .banks = {.count = 2, .bytes = 128},
                                      .unit_count = 4,
                                      .cluster_units = 2,
                                      .ports = rows[row].ports,
                                      .line_shift = setting.l2.line_shift};
        struct fth_line_request requests[16] = {{0}};
        struct fth_plan plan = {.count = 0};
        const size_t count = strlen(rows[row].lines);
        for (size_t i = 0; i < count; i++) {
            requests[i].line = (uint64_t)(rows[row].lines[i] - '0') * 128;
            requests[i].warp = (uint32_t)(rows[row].warps[i] - '0');
        }
        assert_false(fth_plan_use(&plan, &banking));
        assert_true(fth_plan_extend(&plan, requests, count));
        assert_true(fth_plan_use(&plan, &banking));
        for (size_t i = 0; i < count; i++)
            if (plan.items[i].request != (uint32_t)(rows[row].order[i] - '0'))
                fail_msg("row %zu, place %zu: request %u", row, i, plan.items[i].request);
        banking.ports++; /* other banks need another plan */
        assert_false(fth_plan_use(&plan, &banking));
        assert_int_equal(plan.count, 0);
        fth_plan_fini(&plan);
    }
}

/* ---- shared plans ---- */

static void add_requests(struct fth_l2 *const *l2s, size_t count, const struct fth_shape *shape,
                         uint64_t *random)
{
    static const struct fth_cache_run runs[] = {{0, 128}, {4, 8}};
    for (size_t i = 0; i < REQUESTS; i++) {
        *random = *random * UINT64_C(6364136223846793005) + 1442695040888963407u;
        const uint64_t number = *random >> 33;
        /* Half of the requests are for a few lines, which hit or merge. */
        const uint64_t line = number & 1 ? number >> 1 & 15 : (number >> 1) % LINES;
        const struct fth_line_request request = {.line = line * 128,
                                                 .sectors = 1,
                                                 .run = number >> 20 & 1,
                                                 .run_count = 1,
                                                 .kind = (number >> 16 & 7) == 0 ? FTH_TRACE_WRITE
                                                                                 : FTH_TRACE_READ,
                                                 .warp = (uint32_t)i};
        for (size_t k = 0; k < count; k++)
            assert_true(fth_l2_add(l2s[k], shape, &request, runs, 1, 0));
    }
}

static void check_equal(struct fth_l2 *a, struct fth_l2 *b, size_t variant, bool fails)
{
    const struct fth_cache_level_totals *x = fth_l2_totals(a, 0), *y = fth_l2_totals(b, 0);
    if (memcmp(fth_l2_counts(a), fth_l2_counts(b), 2 * sizeof(struct fth_l2_counts)) != 0 ||
        x->steps != y->steps || x->fails != y->fails)
        fail_msg("variant %zu: %llu and %llu steps", variant, (unsigned long long)x->steps,
                 (unsigned long long)y->steps);
    for (int i = 0; i < 2; i++)
        assert_memory_equal(x->profile[i], y->profile[i], x->profile_size * sizeof *x->profile[i]);
    assert_true((x->fails > 0) == fails);
}

/* The first L2 records; all replay. Neighbours have the same banks, or others. */
static void replays_equal_separate_runs(void **state)
{
    (void)state;
    static const struct {
        uint64_t partitions, banks, ways, ports, mshr_size;
        bool fails;
    } variants[] = {{2, 2, 4, 2, 0, true},  {2, 2, 8, 2, 0, true}, {2, 2, 2, 2, 4, true},
                    {1, 1, 4, 2, 4, true},  {4, 1, 4, 1, 1, true}, {2, 2, 1, 2, 32, true},
                    {1, 2, 32, 2, 8, true}, {2, 4, 8, 1, 8, true}, {2, 2, 4, 1, 0, true}};
    enum { COUNT = FTH_COUNT(variants) };
    struct fth_l2 *l2s[COUNT + 1], *own[COUNT];
    uint64_t random = 1;
    struct fth_setting setting;
    for (size_t i = 0; i < COUNT; i++) {
        setting = make_setting(variants[i].partitions, variants[i].banks, variants[i].ways,
                               variants[i].ports, variants[i].mshr_size);
        l2s[i] = make_l2(&setting);
        own[i] = make_l2(&setting);
    }
    fth_l2_set_recording(l2s[0], true);
    for (size_t round = 0; round < ROUNDS; round++) {
        struct fth_l2 *receivers[COUNT + 1] = {l2s[0]};
        memcpy(receivers + 1, own, sizeof own);
        add_requests(receivers, COUNT + 1, &setting.l2, &random);
        for (size_t i = 0; i < COUNT + 1; i++)
            assert_true(fth_l2_flush(receivers[i]));
        if (round % 7 == 6 || round == ROUNDS - 1) {
            for (size_t i = 0; i < COUNT; i++)
                assert_true(fth_l2_replay(l2s[i], l2s[0]));
            fth_l2_discard_recorded(l2s[0]);
        }
    }
    for (size_t i = 0; i < COUNT; i++) {
        check_equal(l2s[i], own[i], i, variants[i].fails);
        fth_l2_destroy(l2s[i]);
        fth_l2_destroy(own[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(requests_go_by_cluster_step_and_warp),
                                       cmocka_unit_test(replays_equal_separate_runs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
