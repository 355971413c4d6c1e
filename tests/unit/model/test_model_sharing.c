/* Tests of model/: which models share work (sharing_keys.c), which SM executes a block (place.c),
 * and which write sectors hit. */
#include "check.h"
#include "folder.h"
#include "model/level/level.h"
#include "random_trace.h"

#include <stdio.h>
#include <stdlib.h>

/* Parameters whose L1s an LRU stack can simulate, changed by `sets`: alternating names and values.
 */
static struct fth_model_params *make_params(const char *const *sets, size_t count)
{
    static const char *const base[] = {
        "gpu.sms",         "4", "l1.size_bytes", "4096", "l1.line_bytes", "128", "l1.sets", "4",
        "l1.sector_bytes", "0", "l1.bypass",     "won",  "l2.size_bytes", "64K"};
    struct fth_model_params *params = NULL;
    struct fth_error error = NO_ERROR;
    assert_int_equal(fth_model_params_create(NULL, &params, &error), FTH_OK);
    for (size_t i = 0; i < FTH_COUNT(base); i += 2)
        assert_int_equal(fth_model_set(params, base[i], base[i + 1], &error), FTH_OK);
    for (size_t i = 0; i < count && sets[i]; i += 2)
        if (fth_model_set(params, sets[i], sets[i + 1], &error) != FTH_OK)
            fail_msg("%s=%s: %s", sets[i], sets[i + 1], error.cause);
    return params;
}

static const struct fth_trace_launch launch = {
    .kernel = "k", .grid = {40, 1, 1}, .block = {64, 1, 1}, .shared_bytes = 0};

static struct fth_sharing_keys keys_of(const char *const *sets, size_t count)
{
    struct fth_model_params *params = make_params(sets, count);
    struct fth_setting setting;
    struct fth_sharing_keys keys;
    struct fth_error error = NO_ERROR;
    if (fth_model_setting(params, &launch, &setting, &error) != FTH_OK)
        fail_msg("%s: %s", sets[0], error.cause);
    fth_sharing_keys_compute(params, &setting, &keys);
    fth_model_params_destroy(params);
    return keys;
}

/* ---- shared work ---- */

/* For each parameter, the keys that change with it: S stream, 1 the L1s, w the L1s except their
 * ways (W: an LRU stack cannot simulate them), 2 the input of the L2, b the same with the L1 off.
 */
static const struct {
    const char *sets[6], *changed;
} dependences[] = {
    {{"gpu.sms", "8"}, "S1w"},
    {{"gpu.schedulers", "2"}, "S1w"},
    {{"gpu.max_blocks", "3"}, "S1w"},
    {{"gpu.mapping", "bpart1"}, "S1w"},
    {{"gpu.mapping", "0,1,2,3"}, "S1w"},
    {{"gpu.seed", "7"}, ""},
    {{"l1.line_bytes", "64", "l1.sets", "8"}, "S1w"},
    {{"l1.sector_bytes", "32"}, "S1W"},
    {{"l1.ways", "4", "l1.sets", "8"}, "1w"},
    {{"l1.size_bytes", "8192"}, "1"},
    {{"l1.size_bytes", "2048"}, "1"},
    {{"l1.fill_bytes", "128"}, ""}, /* the same as the whole line */
    {{"l1.partitions", "2", "l1.partition_bytes", "256"}, "1W"},
    {{"l1.banks", "2", "l1.bank_bytes", "128"}, "1W"},
    {{"l1.ports", "1"}, "1w"},
    {{"l1.index", "mod"}, "1w"},
    {{"l1.policy", "fifo"}, "1W"},
    {{"l1.policy", "random"}, "1W"},
    {{"l1.bypass", "off"}, "1W"},
    {{"l1.bypass", "rwon"}, "1W"},
    {{"l1.merged", "miss"}, "1w"},
    {{"l1.mshr_sets", "2"}, "1w"},
    {{"l1.mshr_size", "16"}, "1w"},
    {{"l1.mshr_merges", "4"}, "1w"},
    {{"l1.latency", "a3"}, "1w"},
    {{"l1.latency", "20"}, "1w"},
    {{"l1.latency_cycles", "77"}, ""},
    {{"l2.line_bytes", "64"}, "2b"},
    {{"l2.sector_bytes", "64"}, "2b"},
    {{"l2.size_bytes", "128K"}, ""},
    {{"l2.ways", "8"}, ""},
    {{"l2.policy", "fifo"}, ""},
    {{"l2.mshr_size", "8"}, ""},
    /* The latency of an L1 miss depends on how many requests the L2 processes at a time. */
    {{"l2.sides", "2", "l2.home_mask", "0x1000"}, "1w2b"},
    {{"l2.ports", "1"}, "1w"},
    {{"l2.home_mask", "0x1000"}, "2b"},
    {{"l2.side_of_sm", "0"}, "2b"},
    {{"l2.joins", "0,0,1,1"}, "2"},
    {{"l2.join_rounds", "2"}, "2"},
    {{"l2.cold", "0"}, ""},
};

static void keys_depend_on_what_they_stand_for(void **state)
{
    (void)state;
    const struct fth_sharing_keys base = keys_of(NULL, 0);
    assert_true(base.l1_except_ways != 0);
    for (size_t i = 0; i < FTH_COUNT(dependences); i++) {
        const struct fth_sharing_keys keys =
            keys_of(dependences[i].sets, FTH_COUNT(dependences[i].sets));
        char changed[8];
        snprintf(changed, sizeof changed, "%s%s%s%s%s", keys.stream != base.stream ? "S" : "",
                 keys.l1 != base.l1 ? "1" : "",
                 !keys.l1_except_ways                         ? "W"
                 : keys.l1_except_ways != base.l1_except_ways ? "w"
                                                              : "",
                 keys.l2_input != base.l2_input ? "2" : "",
                 keys.bypassed_l2_input != base.bypassed_l2_input ? "b" : "");
        if (strcmp(changed, dependences[i].changed) != 0)
            fail_msg("%s=%s changes '%s', not '%s'", dependences[i].sets[0], dependences[i].sets[1],
                     changed, dependences[i].changed);
    }
}

/* Parameters that only matter together with others. */
static void keys_ignore_what_has_no_effect(void **state)
{
    (void)state;
    static const struct {
        const char *first[6], *second[6];
        bool same_stream, same_l1;
    } rows[] = {
        {{"gpu.mapping", "rand"}, {"gpu.mapping", "rand", "gpu.seed", "2"}, false, false},
        {{"gpu.mapping", "shuffle"}, {"gpu.mapping", "shuffle", "gpu.seed", "2"}, false, false},
        {{"gpu.mapping", "rr"}, {"gpu.mapping", "rr", "gpu.seed", "2"}, true, true},
        {{"l1.policy", "random"}, {"l1.policy", "random", "gpu.seed", "2"}, true, false},
        {{"l1.bypass", "rwon"}, {"l1.bypass", "rwon", "l1.latency", "50"}, true, true},
        {{"l1.bypass", "off"}, {"l1.bypass", "off", "l1.latency", "50"}, true, false},
        {{"gpu.mapping", "0,1"}, {"gpu.mapping", "1,0"}, false, false},
        {{"gpu.mapping", "0,1"}, {"gpu.mapping", "0,1,0,1"}, false, false},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        const struct fth_sharing_keys first = keys_of(rows[i].first, FTH_COUNT(rows[i].first));
        const struct fth_sharing_keys second = keys_of(rows[i].second, FTH_COUNT(rows[i].second));
        assert_int_equal(first.stream == second.stream, rows[i].same_stream);
        assert_int_equal(first.l1 == second.l1, rows[i].same_l1);
    }
    /* The size of the caches: L1s of at most as many SMs as there are blocks, and all sides. */
    const uint64_t l1 = 4096 / 128, l2 = 65536 / 128;
    assert_int_equal(keys_of(NULL, 0).cache_lines, 4 * l1 + l2);
    assert_int_equal(keys_of((const char *const[]){"gpu.sms", "100"}, 2).cache_lines, 40 * l1 + l2);
    assert_int_equal(
        keys_of((const char *const[]){"l2.sides", "2", "l2.home_mask", "0x1000"}, 4).cache_lines,
        4 * l1 + 2 * l2 / 2);
}

/* ---- the mapping of blocks ---- */

/* The SM and the wave of each block, as "SM.wave" with one digit each. */
static void blocks_are_mapped_to_sms(void **state)
{
    (void)state;
    static const struct {
        const char *mapping;
        uint64_t blocks, sms, at_once, waves;
        const char *expected;
    } rows[] = {
        {"rr", 7, 3, 1, 3, "0.0 1.0 2.0 0.1 1.1 2.1 0.2"},
        {"rr", 7, 3, 2, 2, "0.0 1.0 2.0 0.0 1.0 2.0 0.1"},
        {"rr", 6, 3, 2, 1, "0.0 1.0 2.0 0.0 1.0 2.0"},
        {"bpart1", 10, 2, 2, 4, "0.0 0.0 0.1 0.1 1.0 1.0 1.1 1.1 0.2 0.2"},
        {"bpart2", 10, 1, 8, 2, "0.0 0.0 0.0 0.0 0.0 0.0 0.0 0.0 0.1 0.1"},
        {"1,0,1", 7, 2, 2, 3, "1.0 0.0 1.0 1.1 0.0 1.1 1.2"},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_model_params *params =
            make_params((const char *const[]){"gpu.mapping", rows[i].mapping}, 2);
        const struct fth_setting setting = {
            .blocks = rows[i].blocks, .sms = rows[i].sms, .blocks_at_once = rows[i].at_once};
        struct fth_placement *placement = NULL;
        struct fth_error error = NO_ERROR;
        char text[128] = "";
        if (fth_placement_create(params, &setting, &placement, &error) != FTH_OK)
            fail_msg("%s: %s", rows[i].mapping, error.cause);
        assert_int_equal(fth_placement_waves(placement), rows[i].waves);
        for (uint64_t block = 0; block < rows[i].blocks; block++) {
            uint64_t wave, first, last;
            const uint32_t sm = fth_placement_sm(placement, block, &wave);
            const size_t used = strlen(text);
            snprintf(text + used, sizeof text - used, "%s%u.%u", block ? " " : "", sm,
                     (unsigned)wave);
            fth_placement_range(placement, wave, &first, &last);
            assert_in_range(block, first, last);
            assert_true(last < rows[i].blocks);
        }
        assert_string_equal(text, rows[i].expected);
        fth_placement_destroy(placement);
        fth_model_params_destroy(params);
    }
}

/* Random mappings: with `shuffle`, all SMs get equally many blocks; the seed decides which. */
static void random_mappings_use_the_seed(void **state)
{
    (void)state;
    enum { BLOCKS = 64, SMS = 4 };
    uint32_t sms[3][BLOCKS];
    static const char *const seeds[] = {"1", "1", "2"};
    for (size_t i = 0; i < FTH_COUNT(seeds); i++) {
        struct fth_model_params *params =
            make_params((const char *const[]){"gpu.mapping", "shuffle", "gpu.seed", seeds[i]}, 4);
        const struct fth_setting setting = {.blocks = BLOCKS, .sms = SMS, .blocks_at_once = 3};
        struct fth_placement *placement = NULL;
        unsigned counts[SMS] = {0};
        assert_int_equal(fth_placement_create(params, &setting, &placement, NULL), FTH_OK);
        assert_int_equal(fth_placement_waves(placement), (BLOCKS / SMS + 2) / 3);
        for (uint64_t block = 0; block < BLOCKS; block++) {
            uint64_t wave, first, last;
            sms[i][block] = fth_placement_sm(placement, block, &wave);
            assert_int_equal(wave, counts[sms[i][block]]++ / 3);
            fth_placement_range(placement, wave, &first, &last);
            assert_in_range(block, first, last);
        }
        for (size_t sm = 0; sm < SMS; sm++)
            assert_int_equal(counts[sm], BLOCKS / SMS);
        fth_placement_destroy(placement);
        fth_model_params_destroy(params);
    }
    assert_memory_equal(sms[0], sms[1], sizeof sms[0]);
    assert_memory_not_equal(sms[0], sms[2], sizeof sms[0]);
}

/* With `rand`, SMs get different numbers of blocks, and a later wave can end before an earlier one.
 * The range of a wave then still ends where that of the earlier one does, or later. */
static void ranges_of_waves_do_not_shrink(void **state)
{
    (void)state;
    enum { BLOCKS = 40, SEEDS = 40 };
    /* In the second half, there are few blocks per SM, so that the second wave can end first. */
    for (unsigned seed = 1; seed <= SEEDS; seed++) {
        const uint64_t blocks = seed <= SEEDS / 2 ? BLOCKS : 12;
        char text[8];
        snprintf(text, sizeof text, "%u", seed);
        struct fth_model_params *params =
            make_params((const char *const[]){"gpu.mapping", "rand", "gpu.seed", text}, 4);
        const struct fth_setting setting = {.blocks = blocks,
                                            .sms = seed <= SEEDS / 2 ? 4 : 8,
                                            .blocks_at_once = seed <= SEEDS / 2 ? 2 : 1};
        struct fth_placement *placement = NULL;
        uint64_t lowest[BLOCKS], highest[BLOCKS] = {0}, end = 0;
        for (size_t i = 0; i < BLOCKS; i++)
            lowest[i] = UINT64_MAX;
        assert_int_equal(fth_placement_create(params, &setting, &placement, NULL), FTH_OK);
        for (uint64_t block = 0; block < blocks; block++) {
            uint64_t wave;
            fth_placement_sm(placement, block, &wave);
            lowest[wave] = block < lowest[wave] ? block : lowest[wave];
            highest[wave] = block;
        }
        for (uint64_t wave = 0; wave < fth_placement_waves(placement); wave++) {
            uint64_t first, last;
            end = highest[wave] > end ? highest[wave] : end;
            fth_placement_range(placement, wave, &first, &last);
            assert_int_equal(first, lowest[wave]);
            assert_int_equal(last, end);
        }
        fth_placement_destroy(placement);
        fth_model_params_destroy(params);
    }
}

/* Requests at the front are removed together with their runs of bytes. */
static void requests_are_dropped_with_their_runs(void **state)
{
    (void)state;
    enum { COUNT = 5 };
    static const uint32_t run_counts[COUNT] = {1, 2, 3, 1, 20};
    for (size_t dropped = 0; dropped <= COUNT; dropped++) {
        struct fth_line_requests requests = {.count = COUNT};
        requests.items = calloc(COUNT, sizeof *requests.items);
        requests.runs = calloc(27, sizeof *requests.runs);
        for (uint32_t i = 0; i < COUNT; i++) {
            requests.items[i] = (struct fth_line_request){
                .line = 100 + i, .run = (uint32_t)requests.run_count, .run_count = run_counts[i]};
            for (uint32_t k = 0; k < run_counts[i]; k++)
                requests.runs[requests.run_count++] = (struct fth_cache_run){10 * i, k + 1};
        }
        fth_line_requests_drop(&requests, dropped);
        assert_int_equal(requests.count, COUNT - dropped);
        size_t runs = 0;
        for (size_t i = 0; i < requests.count; i++) {
            const struct fth_line_request *request = &requests.items[i];
            assert_int_equal(request->line, 100 + dropped + i);
            assert_int_equal(request->run, runs);
            for (uint32_t k = 0; k < request->run_count; k++, runs++) {
                assert_int_equal(requests.runs[runs].from, 10 * (dropped + i));
                assert_int_equal(requests.runs[runs].bytes, k + 1);
            }
        }
        assert_int_equal(requests.run_count, runs);
        fth_line_requests_fini(&requests);
    }
}

static void lists_of_numbers_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *text, *cause;
        size_t count;
    } rows[] = {
        {"0,1, 2", NULL, 3},
        {" 3 ", NULL, 1},
        {"0 1\n2,\t3", NULL, 4},
        {"", "the list is empty", 0},
        {" , ", "the list is empty", 0},
        {"4", "not a number below 4", 0},
        {"-1", "not a number below 4", 0},
        {"1x", "not a number below 4", 0},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        uint32_t *numbers = NULL;
        size_t count = 0;
        struct fth_error error = NO_ERROR;
        const enum fth_status status =
            fth_number_list("list", rows[i].text, 4, &numbers, &count, &error);
        assert_int_equal(status == FTH_OK, rows[i].cause == NULL);
        if (rows[i].cause)
            assert_contains(error.cause, rows[i].cause);
        else
            assert_int_equal(count, rows[i].count);
        free(numbers);
    }
}

/* ---- writes ---- */

/* Runs writes of 4 bytes by one lane each to these addresses, and returns the row of the kernel. */
static struct fth_model_row write_words(const uint64_t *addresses, size_t count)
{
    const uint32_t one[3] = {1, 1, 1}, warp[3] = {32, 1, 1};
    struct fth_model_params *params =
        make_params((const char *const[]){"l1.sector_bytes", "32", "l1.bypass", "off"}, 4);
    struct fth_trace_writer *writer = NULL;
    struct fth_records records = {0};
    struct fth_trace *trace = NULL;
    struct fth_model_result *result = NULL;
    assert_int_equal(fth_trace_writer_create("w.trace", &writer, NULL), FTH_OK);
    assert_int_equal(fth_trace_writer_begin(writer, "k", one, warp, NULL), FTH_OK);
    const size_t store = fth_trace_writer_instruction(
        writer, &(struct fth_trace_instruction){.line = 1, .kind = FTH_TRACE_WRITE, .bytes = 4});
    for (size_t i = 0; i < count; i++)
        assert_true(fth_records_add(
            &records, &(struct fth_record){.number = i, .instruction = (uint32_t)store, .mask = 1},
            &addresses[i]));
    assert_int_equal(fth_trace_writer_add(writer, &records, NULL), FTH_OK);
    assert_int_equal(
        fth_trace_writer_end(writer, &(struct fth_trace_launch){.shared_bytes = 0}, NULL), FTH_OK);
    assert_int_equal(fth_trace_writer_commit(writer, NULL), FTH_OK);
    assert_int_equal(fth_trace_open("w.trace", &trace, NULL), FTH_OK);
    assert_int_equal(fth_model_run(trace, params, NULL, &result, NULL), FTH_OK);
    const struct fth_model_row row = *fth_model_row(result, 0);
    fth_model_result_destroy(result);
    fth_trace_close(trace);
    fth_records_fini(&records);
    fth_model_params_destroy(params);
    return row;
}

/* The first write to a sector misses, in both levels; further ones hit, also if they write other
 * bytes. Another sector of the same line misses. */
static void writes_hit_sectors_that_are_held_in_part(void **state)
{
    (void)state;
    const uint64_t sector[] = {0, 4, 8, 12, 16, 20, 24, 28};
    struct fth_model_row row = write_words(sector, FTH_COUNT(sector));
    assert_int_equal(row.l1.sectors[FTH_TRACE_WRITE], 8);
    assert_int_equal(row.l1.hits[FTH_TRACE_WRITE], 7);
    assert_int_equal(row.l2.sectors[FTH_TRACE_WRITE], 8);
    assert_int_equal(row.l2.hits[FTH_TRACE_WRITE], 7);
    const uint64_t line[] = {0, 32, 64, 96, 96, 124};
    row = write_words(line, FTH_COUNT(line));
    assert_int_equal(row.l1.hits[FTH_TRACE_WRITE], 2);
    assert_int_equal(row.l2.hits[FTH_TRACE_WRITE], 2);
    const uint64_t apart[] = {28, 32, 128, 28 + 128};
    row = write_words(apart, FTH_COUNT(apart));
    assert_int_equal(row.l2.hits[FTH_TRACE_WRITE], 1);
}

/* ---- models that run together ---- */

static void check_same_profile(const struct fth_model_profile *profile,
                               const struct fth_model_profile *expected)
{
    assert_int_equal(profile->count, expected->count);
    if (profile->count)
        assert_memory_equal(profile->counts, expected->counts,
                            profile->count * sizeof *profile->counts);
}

static void check_same_row(const struct fth_model_row *row, const struct fth_model_row *expected)
{
    assert_memory_equal(&row->l1, &expected->l1, sizeof row->l1);
    assert_memory_equal(&row->l2, &expected->l2, sizeof row->l2);
    assert_memory_equal(&row->bypassed, &expected->bypassed, sizeof row->bypassed);
    assert_int_equal(row->dram_reads, expected->dram_reads);
    assert_int_equal(row->dram_writes, expected->dram_writes);
    assert_int_equal(row->l1_fails, expected->l1_fails);
    assert_int_equal(row->l2_fails, expected->l2_fails);
    assert_int_equal(row->l1_steps, expected->l1_steps);
    assert_int_equal(row->l2_steps, expected->l2_steps);
    for (int i = 0; i < 2; i++) {
        check_same_profile(&row->l1_profile[i], &expected->l1_profile[i]);
        check_same_profile(&row->l2_profile[i], &expected->l2_profile[i]);
    }
}

/* Runs models with these parameters together on r.trace, and checks that each has the result of a
 * run of its own, and its L1s from this source. */
static void check_together(const char *const (*sets)[4], const enum fth_l1_source *sources,
                           size_t count)
{
    enum { MAX_MEMBERS = 16 };
    struct fth_model_member members[MAX_MEMBERS] = {{0}};
    struct fth_model_params *params[MAX_MEMBERS];
    struct fth_trace *trace = NULL;
    struct fth_error error = NO_ERROR;
    const struct fth_model_options options = FTH_MODEL_OPTIONS(.bypassed = true, .threads = 1);
    size_t failed = 0;
    assert_true(count <= MAX_MEMBERS);
    assert_int_equal(fth_trace_open("r.trace", &trace, NULL), FTH_OK);
    for (size_t i = 0; i < count; i++) {
        params[i] = make_params(sets[i], FTH_COUNT(sets[i]));
        members[i] = (struct fth_model_member){.params = params[i], .bypassed = true};
    }
    if (fth_model_run_many(trace, members, count, &options, &failed, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    for (size_t i = 0; i < count; i++) {
        struct fth_model_result *alone = NULL;
        assert_int_equal(fth_model_run(trace, params[i], &options, &alone, NULL), FTH_OK);
        const struct fth_model_row *row;
        for (size_t k = 0; (row = fth_model_row(alone, k)); k++) {
            assert_non_null(fth_model_row(members[i].result, k));
            check_same_row(fth_model_row(members[i].result, k), row);
        }
        assert_int_equal(members[i].l1, sources[i]);
        assert_null(fth_model_row(members[i].result, SIZE_MAX));
        fth_model_result_destroy(alone);
        fth_model_result_destroy(members[i].result);
        fth_model_params_destroy(params[i]);
    }
    fth_trace_close(trace);
}

/* Models with the same L1s, with L1s that differ in their ways, and with other L1s. */
static void models_give_the_same_results_together(void **state)
{
    (void)state;
    static const char *const sets[][4] = {
        {NULL},
        {"l2.size_bytes", "32K"},
        {"l1.size_bytes", "1024"},
        {"l1.size_bytes", "2048"},
        {"l1.size_bytes", "8192"},
        {"l1.size_bytes", "2048", "l1.mshr_size", "2"},
        {"l1.policy", "fifo"},
        {"l2.joins", "0", "l2.join_rounds", "4"},
    };
    static const enum fth_l1_source sources[FTH_COUNT(sets)] = {
        FTH_L1_STACK, FTH_L1_SHARED, FTH_L1_STACK, FTH_L1_STACK,
        FTH_L1_STACK, FTH_L1_OWN,    FTH_L1_OWN,   FTH_L1_SHARED};
    write_random_trace(1);
    check_together(sets, sources, FTH_COUNT(sets));
}

/* Models whose L1s differ only in their latency share an L2, as long as they forward the same
 * requests: with one way, long latencies make them merge with misses of evicted lines. Models with
 * another L2, or that share their L1s, do not. The L2s keep their lines from launch to launch. */
static void models_with_other_latencies_give_the_same_results(void **state)
{
    (void)state;
    static const char *const sets[][4] = {
        {"l1.latency", "1"},
        {"l1.latency", "2"},
        {"l1.latency", "3"},
        {"l1.latency", "9"},
        {"l1.latency", "60"},
        {"l1.latency", "900"},
        {"l1.latency", "a2"},
        {"l1.latency", "2", "l2.size_bytes", "32K"},
        {"l1.latency", "3", "l2.mshr_size", "1"},
        {"l1.latency", "4", "l2.mshr_size", "1"},
        {"l1.latency", "5", "l2.policy", "fifo"},
    };
    enum fth_l1_source sources[FTH_COUNT(sets)] = {FTH_L1_OWN};
    sources[7] = sources[8] = FTH_L1_SHARED; /* those of the members 1 and 2 */
    write_random_trace(3);
    check_together(sets, sources, FTH_COUNT(sets));
}

/* ---- invalid traces ---- */

/* Writes a trace (i.trace) with one read of this warp and block. */
static void write_access(uint32_t blocks, uint64_t block, uint32_t warp)
{
    const uint32_t grid[3] = {blocks, 1, 1}, threads[3] = {64, 1, 1};
    const uint64_t address = 128;
    struct fth_trace_writer *writer = NULL;
    struct fth_records records = {0};
    assert_int_equal(fth_trace_writer_create("i.trace", &writer, NULL), FTH_OK);
    assert_int_equal(fth_trace_writer_begin(writer, "k", grid, threads, NULL), FTH_OK);
    const struct fth_trace_instruction facts = {.line = 1, .kind = FTH_TRACE_READ, .bytes = 4};
    const struct fth_record record = {.block = block,
                                      .warp = warp,
                                      .instruction =
                                          (uint32_t)fth_trace_writer_instruction(writer, &facts),
                                      .mask = 1};
    assert_true(fth_records_add(&records, &record, &address));
    assert_int_equal(fth_trace_writer_add(writer, &records, NULL), FTH_OK);
    assert_int_equal(
        fth_trace_writer_end(writer, &(struct fth_trace_launch){.shared_bytes = 0}, NULL), FTH_OK);
    assert_int_equal(fth_trace_writer_commit(writer, NULL), FTH_OK);
    fth_records_fini(&records);
}

static void accesses_outside_of_the_grid_are_refused(void **state)
{
    (void)state;
    static const struct {
        uint32_t blocks;
        uint64_t block;
        uint32_t warp;
        const char *cause; /* NULL: valid */
    } rows[] = {
        {2, 1, 1, NULL},
        {50000000, 49999999, 0, NULL},
        {50000000, 50000000, 0,
         "launch 1, k: the trace has an access of block 50000000, but the grid has 50000000 "
         "blocks"},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_trace *trace = NULL;
        struct fth_model_result *result = NULL;
        struct fth_error error = NO_ERROR;
        struct fth_model_params *params = make_params(NULL, 0);
        write_access(rows[i].blocks, rows[i].block, rows[i].warp);
        assert_int_equal(fth_trace_open("i.trace", &trace, NULL), FTH_OK);
        const enum fth_status status = fth_model_run(trace, params, NULL, &result, &error);
        assert_int_equal(status, rows[i].cause ? FTH_INVALID : FTH_OK);
        if (rows[i].cause)
            assert_string_equal(error.cause, rows[i].cause);
        fth_model_result_destroy(result);
        fth_trace_close(trace);
        fth_model_params_destroy(params);
    }
}

/* ---- threads of the host ---- */

struct observed_run {
    unsigned calls;
    double last;
    unsigned interrupt_at; /* 0: never */
};

static void store_progress(void *user, const char *what, double fraction)
{
    struct observed_run *run = user;
    assert_string_equal(what, "model caches");
    assert_true(fraction >= run->last && fraction <= 1);
    run->last = fraction;
    run->calls++;
}

static bool interrupt(void *user)
{
    const struct observed_run *run = user;
    return run->interrupt_at && run->calls >= run->interrupt_at;
}

/* The results do not depend on the number of threads, also if the L1s are off or have a policy
 * without distances. */
static void results_do_not_depend_on_threads(void **state)
{
    (void)state;
    static const char *const sets[][4] = {
        {NULL}, {"l1.policy", "random", "l2.policy", "fifo"}, {"l2.sides", "2", "gpu.sms", "3"}};
    struct fth_trace *trace = NULL;
    write_random_trace(1);
    assert_int_equal(fth_trace_open("r.trace", &trace, NULL), FTH_OK);
    for (size_t i = 0; i < FTH_COUNT(sets); i++) {
        struct fth_model_params *params = make_params(sets[i], FTH_COUNT(sets[i]));
        struct fth_model_result *first = NULL;
        for (unsigned threads = 1; threads <= 5; threads++) {
            struct observed_run run = {0};
            const struct fth_log log = {.progress = store_progress, .user = &run};
            const struct fth_model_options options =
                FTH_MODEL_OPTIONS(.bypassed = true, .threads = threads, .log = &log);
            struct fth_model_result *result = NULL;
            assert_int_equal(fth_model_run(trace, params, &options, &result, NULL), FTH_OK);
            assert_true(run.calls > 0 && run.last == 1);
            const struct fth_model_row *row;
            for (size_t k = 0; first && (row = fth_model_row(first, k)); k++)
                check_same_row(fth_model_row(result, k), row);
            if (first)
                fth_model_result_destroy(result);
            else
                first = result;
        }
        fth_model_result_destroy(first);
        fth_model_params_destroy(params);
    }
    fth_trace_close(trace);
}

static void the_log_interrupts_the_model(void **state)
{
    (void)state;
    struct fth_trace *trace = NULL;
    write_random_trace(1);
    assert_int_equal(fth_trace_open("r.trace", &trace, NULL), FTH_OK);
    for (unsigned threads = 1; threads <= 3; threads++) {
        struct observed_run run = {.interrupt_at = 1};
        const struct fth_log log = {
            .progress = store_progress, .interrupted = interrupt, .user = &run};
        const struct fth_model_options options = FTH_MODEL_OPTIONS(.threads = threads, .log = &log);
        struct fth_model_params *params = make_params(NULL, 0);
        struct fth_model_result *result = NULL;
        struct fth_error error = NO_ERROR;
        assert_int_equal(fth_model_run(trace, params, &options, &result, &error), FTH_INTERRUPTED);
        assert_string_equal(error.cause, "interrupted");
        assert_null(result);
        fth_model_params_destroy(params);
    }
    fth_trace_close(trace);
}

static const struct fth_model_options no_options = FTH_MODEL_OPTIONS(.threads = 1);

/* The member that cannot run with the others is reported. */
static void members_with_other_requests_are_refused(void **state)
{
    (void)state;
    static const char *const sets[][4] = {
        {NULL}, {"l2.size_bytes", "32K"}, {"l1.line_bytes", "64"}, {"l1.sets", "1000"}};
    struct fth_trace *trace = NULL;
    write_random_trace(1);
    assert_int_equal(fth_trace_open("r.trace", &trace, NULL), FTH_OK);
    for (size_t other = 2; other < FTH_COUNT(sets); other++) {
        struct fth_model_params *params[3] = {make_params(sets[0], 4), make_params(sets[1], 4),
                                              make_params(sets[other], 4)};
        struct fth_model_member members[3] = {
            {.params = params[0]}, {.params = params[1]}, {.params = params[2]}};
        struct fth_error error = NO_ERROR;
        size_t failed = 0;
        assert_int_equal(fth_model_run_many(trace, members, 3, &no_options, &failed, &error),
                         FTH_INVALID);
        assert_int_equal(failed, 2);
        assert_contains(error.cause, other == 2
                                         ? "these models cannot run together: their L1s get "
                                           "different requests"
                                         : "there are more ways or sets than lines in a bank");
        for (size_t i = 0; i < 3; i++) {
            assert_null(members[i].result);
            fth_model_params_destroy(params[i]);
        }
        assert_int_equal(fth_model_run_many(trace, members, 0, &no_options, &failed, NULL), FTH_OK);
        assert_int_equal(failed, 0);
    }
    fth_trace_close(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_depend_on_what_they_stand_for),
        cmocka_unit_test(keys_ignore_what_has_no_effect),
        cmocka_unit_test(blocks_are_mapped_to_sms),
        cmocka_unit_test(random_mappings_use_the_seed),
        cmocka_unit_test(ranges_of_waves_do_not_shrink),
        cmocka_unit_test(requests_are_dropped_with_their_runs),
        cmocka_unit_test(lists_of_numbers_are_read),
        cmocka_unit_test(writes_hit_sectors_that_are_held_in_part),
        cmocka_unit_test(models_give_the_same_results_together),
        cmocka_unit_test(models_with_other_latencies_give_the_same_results),
        cmocka_unit_test(accesses_outside_of_the_grid_are_refused),
        cmocka_unit_test(results_do_not_depend_on_threads),
        cmocka_unit_test(the_log_interrupts_the_model),
        cmocka_unit_test(members_with_other_requests_are_refused),
    };
    return cmocka_run_group_tests_name("model_sharing", tests, enter_folder, leave_folder);
}
