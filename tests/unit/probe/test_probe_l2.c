/* Tests the probes of the L2 (probe/l2: l2_geometry.c, l2_outcomes.c, l2map.c) and the cold latency
 * of memory (probe/load_latency.c). The decisions are tested on samples that were made up or taken
 * from an H200; the probes run on small simulated GPUs, whose descriptions are the truth. */
#include "check.h"
#include "folder.h"
#include "noise.h"
#include "probe/l2/probe_l2.h"
#include "probe/structure/probe_structure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- outcomes ---- */

static void outcomes_are_classified_by_two_thresholds(void **state)
{
    (void)state;
    const uint32_t cycles[] = {280, 300, 301, 465, 500, 501, 560, 735, 2800};
    struct fth_outcomes outcomes = fth_count_outcomes(cycles, FTH_COUNT(cycles), 300, 500);
    assert_int_equal(outcomes.near_count, 2);
    assert_int_equal(outcomes.far_count, 3);
    assert_int_equal(outcomes.memory_count, 4);
}

/* The outcomes of 1000 lines: `count` were evicted and come from memory, the others are near. */
static struct fth_outcomes outcomes_of_1000(size_t count)
{
    return (struct fth_outcomes){.near_count = 1000 - count, .memory_count = count};
}

static void line_is_the_largest_stride_that_evicts_as_many(void **state)
{
    (void)state;
    static const struct {
        const char *what;
        uint64_t smallest;
        size_t evicted[6], count;
        uint64_t line;
    } rows[] = {
        {"LRU, as on an H200", 64, {1000, 1000, 500, 500, 0}, 5, 128},
        {"LRU, one partition", 32, {1000, 1000, 1000, 0, 0, 0}, 6, 128},
        {"random replacement", 32, {800, 550, 330, 180, 95, 49}, 6, 32},
        {"random replacement, lines of 4 fills", 32, {798, 804, 801, 551, 330, 181}, 6, 128},
        {"LRU, each stride uses half of the sets", 64, {1000, 500, 250, 125}, 4, 64},
        {"lines unevenly distributed over homes", 32, {830, 1000, 740, 330, 250, 110}, 6, 128},
        {"nothing is evicted", 32, {0, 0, 0, 0, 0, 0}, 6, 0},
        {"everything is evicted at every stride", 32, {1000, 1000, 1000, 1000, 1000, 1000}, 6, 0},
        {"a single stride is not enough", 1024, {1000}, 1, 0},
        {"just enough lines are evicted", 32, {300, 0}, 2, 32},
        {"too few lines are evicted", 32, {299, 0}, 2, 0},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_outcomes outcomes[6];
        for (size_t k = 0; k < rows[i].count; k++)
            outcomes[k] = outcomes_of_1000(rows[i].evicted[k]);
        struct fth_decision line = fth_decide_line(outcomes, rows[i].count, rows[i].smallest);
        if (line.value != rows[i].line)
            fail_msg("%s: %llu", rows[i].what, (unsigned long long)line.value);
        if (line.value)
            assert_true(fth_evidence_share(line.evidence) > 0.45);
    }
}

static void few_samples_give_no_line_or_few_agree(void **state)
{
    (void)state;
    /* The fall from 80 to 54 is about what chance explains at most, so the resamples disagree. */
    const struct fth_outcomes outcomes[] = {{.near_count = 20, .memory_count = 80},
                                            {.near_count = 46, .memory_count = 54},
                                            {.near_count = 70, .memory_count = 30}};
    struct fth_decision line = fth_decide_line(outcomes, FTH_COUNT(outcomes), 32);
    assert_true(line.value == 0 || fth_evidence_share(line.evidence) < 0.95);
}

static void sector_is_the_smallest_write_that_makes_loads_hit(void **state)
{
    (void)state;
    static const struct {
        size_t evicted[4]; /* after writes of 16, 32, 64 and 128 bytes per line */
        uint64_t sector;
    } rows[] = {
        {{1000, 260, 260, 0}, 32}, /* an H200: a load from a far home requests 64 bytes */
        {{1000, 0, 0, 0}, 32},
        {{1000, 1000, 0, 0}, 64},
        {{1000, 1000, 1000, 0}, 128},
        {{1000, 1000, 1000, 1000}, 0}, /* the sector is larger than every write */
        {{0, 0, 0, 0}, 0},             /* the lines were in L2 before the writes */
        {{1000, 800, 0, 0}, 0},        /* 20 % found after 32 bytes: ambiguous */
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_outcomes outcomes[4];
        for (size_t k = 0; k < 4; k++)
            outcomes[k] = outcomes_of_1000(rows[i].evicted[k]);
        assert_int_equal(fth_decide_sector(outcomes, 4, 16).value, rows[i].sector);
    }
}

static void partitions_follow_from_lines_found_far(void **state)
{
    (void)state;
    static const struct {
        size_t far_counts[3];
        uint64_t partitions;
    } rows[] = {
        {{500, 500, 500}, 2}, {{190, 160, 150}, 2}, {{0, 0, 0}, 1},
        {{10, 20, 15}, 1},    {{0, 70, 0}, 0}, /* too many for noise, too few for a partition */
        {{750, 740, 0}, 0}                     /* more than two partitions */
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_outcomes outcomes[3];
        for (size_t k = 0; k < 3; k++)
            outcomes[k] = (struct fth_outcomes){.near_count = 1000 - rows[i].far_counts[k],
                                                .far_count = rows[i].far_counts[k]};
        assert_int_equal(fth_decide_partitions(outcomes, 3).value, rows[i].partitions);
    }
}

/* The first two rows are runs on an H200: some of the 1,024 lines are evicted after a touch of
 * 27 MiB, and a few are left after 66 MiB. In the other rows some loads are slow because of noise,
 * at the smallest footprint too. */
static void onset_and_full_miss_allow_for_noise(void **state)
{
    (void)state;
    static const struct {
        struct fth_outcomes outcomes[4];
        uint64_t onset, full_miss; /* index of the footprint plus 1; 0: undecided */
    } rows[] = {
        {{{1024, 0, 0}, {615, 362, 47}, {0, 530, 494}, {0, 20, 1004}}, 1, 4},
        {{{1024, 0, 0}, {736, 262, 26}, {0, 529, 495}, {0, 15, 1009}}, 1, 4},
        {{{1023, 0, 1}, {1022, 0, 2}, {1006, 0, 18}, {0, 0, 1024}}, 2, 4},
        {{{1012, 0, 12}, {1009, 0, 15}, {1008, 0, 16}, {8, 0, 1016}}, 3, 4},
        {{{900, 0, 124}, {800, 0, 224}, {700, 0, 324}, {600, 0, 424}}, 0, 0},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_decision decisions[FTH_FOOTPRINT_DECISIONS];
        fth_decide_footprints(rows[i].outcomes, 4, decisions);
        assert_int_equal(decisions[0].value, rows[i].onset);
        assert_int_equal(decisions[FTH_FOOTPRINT_FULL_MISS].value, rows[i].full_miss);
    }
}

static void finds_the_period_of_fills_in_noise(void **state)
{
    (void)state;
    struct fth_rng rng;
    fth_rng_init(&rng, 7);
    for (unsigned period = 4; period <= 16; period *= 2)
        for (unsigned repeat = 0; repeat < 50; repeat++) {
            uint32_t cycles[1024];
            for (size_t i = 0; i < FTH_COUNT(cycles); i++)
                cycles[i] = latency(&rng, i % period ? 280 : 560);
            struct fth_decision fill;
            assert_int_equal(fth_decide_period(cycles, FTH_COUNT(cycles), 400, &fill, NULL),
                             FTH_OK);
            assert_int_equal(fill.value, period);
            assert_true(fth_evidence_share(fill.evidence) > 0.5);
        }
    uint32_t none[64];
    for (size_t i = 0; i < FTH_COUNT(none); i++)
        none[i] = 280;
    struct fth_decision fill;
    assert_int_equal(fth_decide_period(none, FTH_COUNT(none), 400, &fill, NULL), FTH_OK);
    assert_int_equal(fill.value, 0);
    assert_int_equal(fth_decide_period(none, 0, 400, &fill, NULL), FTH_OK);
    assert_int_equal(fill.value, 0);
}

/* ---- figures ---- */

static void plateau_tolerates_outliers_and_has_a_confidence(void **state)
{
    (void)state;
    struct fth_rng rng;
    fth_rng_init(&rng, 3);
    uint32_t cycles[2000];
    struct fth_figure figure;
    for (size_t i = 0; i < FTH_COUNT(cycles); i++)
        cycles[i] = latency(&rng, 560);
    assert_int_equal(fth_plateau_figure(cycles, FTH_COUNT(cycles), 6, &figure, NULL), FTH_OK);
    assert_near(figure.value, 554, 0.3);
    assert_true(figure.confidence > 0.99 && figure.confidence < 1);
    assert_true(figure.low <= figure.value && figure.value <= figure.high);
    /* Twelve samples within a range of 300 cycles give a low confidence. */
    for (size_t i = 0; i < 12; i++)
        cycles[i] = (uint32_t)(560 + jitter(&rng, 150));
    assert_int_equal(fth_plateau_figure(cycles, 12, 6, &figure, NULL), FTH_OK);
    assert_true(figure.confidence < 0.5);
}

/* ---- on simulated GPUs ---- */

/* Opens a simulated GPU with these elements. On it, timing a hop adds 6 cycles to its load. */
static void open_gpu(struct fth_prober *prober, const char *elements)
{
    char text[2000];
    int size = snprintf(text, sizeof text,
                        "{\"schema\": \"fathom-gpu/1\", \"device\": {\"name\": \"Small\", "
                        "\"compute_capability\": \"7.0\", \"sms\": 2, \"clock_mhz\": 1000}, "
                        "\"elements\": {%s}}",
                        elements);
    write_plain("gpu.json", text, (size_t)size);
    struct fth_error error = FTH_NO_ERROR;
    *prober = (struct fth_prober){.sms = 2};
    if (fth_device_open("sim:./gpu.json", NULL, &prober->device, &error) != FTH_OK)
        fail_msg("%s: %s", error.argument, error.cause);
}

/* `size_bytes` is the size that the driver reports; 0: none. `repeat`: earlier measurements. */
static enum fth_status probe_again(const struct fth_prober *prober, uint64_t size_bytes,
                                   size_t repeat, struct fth_l2_found *found,
                                   struct fth_error *error)
{
    const struct fth_figure memory = {.value = 450, .low = 450, .high = 450};
    const struct fth_l2_plan plan = {.size_bytes = size_bytes,
                                     .max_bytes = 64 << 20,
                                     .l2_cycles = 200,
                                     .memory = &memory,
                                     .overhead_cycles = 6,
                                     .repeat = repeat};
    *error = FTH_NO_ERROR;
    return fth_probe_l2(prober, &plan, found, error);
}

static enum fth_status probe(const struct fth_prober *prober, uint64_t size_bytes,
                             struct fth_l2_found *found, struct fth_error *error)
{
    return probe_again(prober, size_bytes, 0, found, error);
}

/* A device that executes requests on another one and remembers the written lines (array 2). */
struct watching_device {
    struct fth_device *inner;
    uint64_t first_bytes, end_bytes; /* range of the chains of the current measurement */
};

static enum fth_status watch(void *state, const struct fth_request *requests, size_t count,
                             struct fth_samples *samples, struct fth_error *error)
{
    struct watching_device *watching = state;
    for (size_t i = 0; i < count; i++) {
        const struct fth_chain *chain = &requests[i].chase.steps[0].chain;
        if (requests[i].family != FTH_FAMILY_CHASE || chain->array != 2 || chain->count == 1)
            continue;
        const uint64_t end = chain->start_bytes + chain->count * chain->stride_bytes;
        if (chain->start_bytes < watching->first_bytes)
            watching->first_bytes = chain->start_bytes;
        if (end > watching->end_bytes)
            watching->end_bytes = end;
    }
    return watching->inner->ops->measure(watching->inner->state, requests, count, samples, error);
}

static const struct fth_device_ops watching_ops = {.measure = watch};

/* A GPU keeps the chains that were built and does not write them again. Repeated measurements
 * therefore find the sector with lines that no earlier one has written. */
static void repeated_measurements_write_other_lines(void **state)
{
    (void)state;
    struct fth_prober prober;
    struct fth_error error;
    open_gpu(&prober, "\"l2\": {\"latency_cycles\": 200, \"size_bytes\": 524288, "
                      "\"line_bytes\": 256, \"sector_bytes\": 64}, "
                      "\"memory\": {\"latency_cycles\": 450}");
    struct watching_device watching = {.inner = prober.device};
    struct fth_device device = {.ops = &watching_ops, .state = &watching, .id = "watching"};
    prober.device = &device;
    for (size_t repeat = 0; repeat < 3; repeat++) {
        struct fth_l2_found found;
        const uint64_t previous_end = watching.end_bytes;
        watching.first_bytes = UINT64_MAX;
        assert_int_equal(probe_again(&prober, 524288, repeat, &found, &error), FTH_OK);
        assert_int_equal(found.sector.value, 64);
        assert_true(watching.first_bytes >= previous_end && watching.end_bytes > previous_end);
    }
    fth_device_close(watching.inner);
}

/* Executes requests on another device, and makes lines that were only loaded come from memory. */
static enum fth_status evict_loaded(void *state, const struct fth_request *requests, size_t count,
                                    struct fth_samples *samples, struct fth_error *error)
{
    const struct fth_device *inner = state;
    enum fth_status status = inner->ops->measure(inner->state, requests, count, samples, error);
    for (size_t i = 0; i < count && status == FTH_OK; i++)
        for (size_t k = 0; requests[i].alone && requests[i].chase.steps[0].chain.array == 0 &&
                           k < samples[i].count;
             k++)
            samples[i].cycles[k] = 456;
    return status;
}

/* An L2 can keep the lines that were used most often, so that new lines evict each other. Lines
 * that were just written show its partitions. */
static void written_lines_show_the_partitions(void **state)
{
    (void)state;
    static const struct fth_device_ops ops = {.measure = evict_loaded};
    for (int partitions = 1; partitions <= 2; partitions++) {
        char elements[300];
        struct fth_prober prober;
        struct fth_l2_found found;
        struct fth_error error;
        snprintf(
            elements, sizeof elements,
            "\"l2\": {\"latency_cycles\": 200, \"far_latency_cycles\": 300, \"partitions\": %d, "
            "\"size_bytes\": 1048576, \"line_bytes\": 128}, "
            "\"memory\": {\"latency_cycles\": 450}",
            partitions);
        open_gpu(&prober, elements);
        struct fth_device *inner = prober.device;
        struct fth_device device = {.ops = &ops, .state = inner, .id = "evicting"};
        prober.device = &device;
        enum fth_status status = probe(&prober, 1048576, &found, &error);
        assert_int_equal(status, partitions == 2 ? FTH_OK : FTH_INCONCLUSIVE);
        assert_int_equal(found.partitions.value, partitions == 2 ? 2 : 0);
        assert_int_equal(found.evicts_early, partitions == 2);
        if (partitions == 2) {
            assert_near(found.far_latency.value, 300, 0.5);
            assert_true(found.near_threshold > 206 && found.near_threshold < 306);
            assert_int_equal(found.sector.value, 128);
        } else {
            assert_string_equal(error.cause,
                                "the latencies of L2 and memory are too close to distinguish");
        }
        fth_device_close(inner);
    }
}

static void finds_the_l2_of_simulated_gpus(void **state)
{
    (void)state;
    static const struct {
        const char *l2;
        uint64_t size, line, sector, fill, partitions;
    } rows[] = {
        {"\"size_bytes\": 131072, \"line_bytes\": 128, \"sector_bytes\": 32, \"fill_bytes\": 64",
         131072, 128, 32, 64, 1},
        {"\"size_bytes\": 524288, \"line_bytes\": 32", 524288, 32, 32, 32, 1},
        {"\"size_bytes\": 524288, \"line_bytes\": 256, \"sector_bytes\": 64", 524288, 256, 64, 64,
         1},
        {"\"size_bytes\": 524288, \"line_bytes\": 512, \"sector_bytes\": 32, \"sets\": 4, "
         "\"ways\": 256, "
         "\"policy\": \"random\"",
         524288, 512, 32, 32, 1},
        {"\"size_bytes\": 2097152, \"line_bytes\": 128, \"sector_bytes\": 32, \"fill_bytes\": 64, "
         "\"partitions\": 2, \"far_latency_cycles\": 300",
         2097152, 128, 32, 64, 2},
        {"\"size_bytes\": 1048576, \"line_bytes\": 64, \"partitions\": 2, \"far_latency_cycles\": "
         "300, "
         "\"policy\": \"random\"",
         1048576, 64, 64, 64, 2},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        char elements[500];
        struct fth_prober prober;
        struct fth_l2_found found;
        struct fth_error error;
        snprintf(elements, sizeof elements,
                 "\"l2\": {\"latency_cycles\": 200, %s}, \"memory\": {\"latency_cycles\": 450}",
                 rows[i].l2);
        open_gpu(&prober, elements);
        if (probe(&prober, rows[i].size, &found, &error) != FTH_OK)
            fail_msg("row %zu: %s", i, error.cause);
        assert_int_equal(found.fill.value, rows[i].fill);
        assert_int_equal(found.line.value, rows[i].line);
        assert_int_equal(found.sector.value, rows[i].sector);
        assert_int_equal(found.partitions.value, rows[i].partitions);
        if (found.partitions.value == 2)
            assert_near(found.far_latency.value, 300, 0.5);
        fth_device_close(prober.device);
    }
}

static void measures_the_size_that_the_driver_does_not_report(void **state)
{
    (void)state;
    static const struct {
        const char *l2;
        uint64_t size; /* 0: the probe must be inconclusive */
    } rows[] = {
        {"\"size_bytes\": 131072, \"line_bytes\": 32", 131072},
        {"\"size_bytes\": 1572864, \"line_bytes\": 128, \"sector_bytes\": 32, \"fill_bytes\": 64",
         1572864},
        {"\"size_bytes\": 2097152, \"line_bytes\": 128, \"partitions\": 2, \"far_latency_cycles\": "
         "300",
         2097152},
        {"\"size_bytes\": 1048576, \"line_bytes\": 64, \"policy\": \"random\"", 0},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        char elements[500];
        struct fth_prober prober;
        struct fth_l2_found found;
        struct fth_error error;
        snprintf(elements, sizeof elements,
                 "\"l2\": {\"latency_cycles\": 200, %s}, \"memory\": {\"latency_cycles\": 450}",
                 rows[i].l2);
        open_gpu(&prober, elements);
        enum fth_status status = probe(&prober, 0, &found, &error);
        if (rows[i].size == 0) {
            assert_int_equal(status, FTH_INCONCLUSIVE);
        } else {
            assert_int_equal(status, FTH_OK);
            assert_near((double)found.size.value / (double)rows[i].size, 1, 0.05);
            assert_true(found.size.evidence.repeats == 2);
        }
        fth_device_close(prober.device);
    }
}

static void cold_tlbs_add_their_penalties(void **state)
{
    (void)state;
    struct fth_prober prober;
    struct fth_figure cycles;
    open_gpu(&prober, "\"l2\": {\"size_bytes\": 524288, \"latency_cycles\": 200}, "
                      "\"memory\": {\"latency_cycles\": 450}, "
                      "\"tlb_l1\": {\"page_bytes\": 131072, \"entries\": 16, "
                      "\"miss_penalty_cycles\": 20}, "
                      "\"tlb_l2\": {\"page_bytes\": 131072, \"entries\": 64, "
                      "\"miss_penalty_cycles\": 70}");
    assert_int_equal(fth_probe_cold_latency(&prober, 6, 131072 + 256, 500, &cycles, NULL), FTH_OK);
    assert_near(cycles.value, 540, 0.5);
    /* 40 pages are within the reach of the second TLB; only the first TLB adds its penalty. */
    assert_int_equal(fth_probe_cold_latency(&prober, 6, 131072 + 256, 40, &cycles, NULL), FTH_OK);
    assert_near(cycles.value, 470, 0.5);
    fth_device_close(prober.device);
}

/* ---- l2map.c ---- */

/* A hash spreads the lines of all strides over the sets: the longest chain fits, which says nothing
 * about the ways. */
static void chains_that_always_fit_show_no_sets(void **state)
{
    (void)state;
    struct fth_prober prober;
    struct fth_cache_plan plan;
    struct fth_structure structure;
    struct fth_error error = FTH_NO_ERROR;
    open_gpu(&prober, "\"l2\": {\"size_bytes\": 393216, \"line_bytes\": 128, \"sets\": 512, "
                      "\"ways\": 6, \"index\": \"xor\", \"policy\": \"lru\", "
                      "\"latency_cycles\": 290}, \"memory\": {\"latency_cycles\": 680}");
    assert_int_equal(fth_probe_l2_sets(&prober, 393216, &plan, &structure, &error),
                     FTH_INCONCLUSIVE);
    assert_non_null(strstr(error.cause, "more than any set has ways"));
    fth_device_close(prober.device);
}

static void homes_are_classified_by_three_thresholds(void **state)
{
    (void)state;
    const struct fth_l2_map_plan plan = {
        .near_threshold = 390, .memory_threshold = 525, .far_memory_threshold = 655};
    assert_int_equal(fth_home_of(300, &plan), FTH_HOME_UNKNOWN);
    assert_int_equal(fth_home_of(465, &plan), FTH_HOME_FAR);
    assert_int_equal(fth_home_of(560, &plan), FTH_HOME_NEAR);
    assert_int_equal(fth_home_of(735, &plan), FTH_HOME_FAR);
    assert_int_equal(fth_home_of(5600, &plan), FTH_HOME_UNKNOWN);
}

/* Cycles as on an H200: 470 to 510 if the home of the line is far, 540 to 590 if it is near, and
 * one load in ten disturbed. All loads of an SM can take 12 or 24 cycles longer. */
static void disturbed_loads_leave_the_home_unknown(void **state)
{
    (void)state;
    const struct fth_l2_map_plan plan = {
        .near_threshold = 390, .memory_threshold = 529, .far_memory_threshold = 642};
    struct fth_rng rng;
    uint32_t cycles[128];
    uint8_t homes[128];
    fth_rng_init(&rng, 9);
    for (uint32_t farther = 0; farther <= 24; farther += 12) {
        for (size_t i = 0; i < 128; i++)
            cycles[i] = farther + (uint32_t)(i % 2         ? 470 + fth_rng_below(&rng, 40)
                                             : i % 10 == 0 ? 690 + fth_rng_below(&rng, 400)
                                                           : 540 + fth_rng_below(&rng, 50));
        fth_find_homes(cycles, 128, &plan, homes);
        for (size_t i = 0; i < 128; i++)
            assert_int_equal(homes[i], i % 2         ? FTH_HOME_FAR
                                       : i % 10 == 0 ? FTH_HOME_UNKNOWN
                                                     : FTH_HOME_NEAR);
    }
}

static void relation_of_homes_follows_from_their_differences(void **state)
{
    (void)state;
    uint8_t a[100], b[100];
    for (size_t differ = 0; differ <= 100; differ += 10) {
        for (size_t i = 0; i < 100; i++) {
            a[i] = i % 3 ? FTH_HOME_NEAR : FTH_HOME_FAR;
            b[i] = i < differ ? (uint8_t)(FTH_HOME_NEAR + FTH_HOME_FAR - a[i]) : a[i];
        }
        assert_int_equal(fth_decide_relation(a, b, 100, 0.15), differ <= 10 ? FTH_RELATION_SAME
                                                               : differ >= 90
                                                                   ? FTH_RELATION_OPPOSITE
                                                                   : FTH_RELATION_MIXED);
    }
    memset(b, FTH_HOME_UNKNOWN, sizeof b);
    assert_int_equal(fth_decide_relation(a, b, 100, 0.15), FTH_RELATION_UNKNOWN);
}

static void prefetching_and_eviction_agreement_are_computed(void **state)
{
    (void)state;
    struct fth_rng rng;
    fth_rng_init(&rng, 5);
    uint32_t a[1000], b[1000];
    for (size_t i = 0; i < 1000; i++) /* as Mei and Chu observed: one miss, then hits */
        a[i] = i ? 220 : 450;
    assert_near(fth_prefetched_part(a, 1000, 300), 1, 0);
    for (size_t i = 0; i < 1000; i++)
        a[i] = 450;
    assert_near(fth_prefetched_part(a, 1000, 300), 0, 0);
    assert_true(isnan(fth_eviction_agreement(a, a, 1000, 300))); /* all lines are evicted */
    for (size_t i = 0; i < 1000; i++) {
        a[i] = fth_rng_below(&rng, 2) ? 450 : 220;
        b[i] = fth_rng_below(&rng, 2) ? 450 : 220;
    }
    assert_near(fth_eviction_agreement(a, a, 1000, 300), 1, 1e-9);
    assert_near(fth_eviction_agreement(a, b, 1000, 300), 0, 0.15);
}

static void finds_the_home_map_of_a_simulated_l2(void **state)
{
    (void)state;
    static const struct {
        const char *l2;
        uint64_t line, mask;
        bool ordered;
    } rows[] = {
        {"\"line_bytes\": 128, \"home_mask\": 86016", 128, 0x15000, true},
        {"\"line_bytes\": 64, \"home_mask\": 4160", 64, 0x1040, true},
        {"\"line_bytes\": 128, \"policy\": \"random\"", 128, 0x1ff000, false},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        char elements[500];
        struct fth_prober prober;
        struct fth_home_mask mask;
        enum fth_relation sides[2];
        size_t samples = 0;
        struct fth_evidence evidence = {.repeats = 0};
        double part, agreement;
        const struct fth_l2_map_plan plan = {.size_bytes = 2 << 20,
                                             .line_bytes = rows[i].line,
                                             .near_threshold = 250,
                                             .memory_threshold = 400,
                                             .far_memory_threshold = 506};
        snprintf(elements, sizeof elements,
                 "\"l2\": {\"size_bytes\": 2097152, \"latency_cycles\": 200, \"partitions\": 2, "
                 "\"far_latency_cycles\": 300, %s}, \"memory\": {\"latency_cycles\": 450, "
                 "\"far_latency_cycles\": 550}",
                 rows[i].l2);
        open_gpu(&prober, elements);
        assert_int_equal(fth_probe_home_mask(&prober, &plan, &mask, NULL), FTH_OK);
        assert_int_equal(mask.mask, rows[i].mask);
        assert_int_equal(mask.mixed | mask.unknown, 0);
        assert_int_equal(mask.tested, (1 << 21) - rows[i].line);
        assert_int_equal(fth_probe_sm_sides(&prober, &plan, sides, &evidence, &samples, NULL),
                         FTH_OK);
        assert_true(fth_confidence(evidence) > 0.99 && fth_confidence(mask.evidence) > 0.99);
        assert_int_equal(sides[0], FTH_RELATION_SAME);
        assert_int_equal(sides[1], FTH_RELATION_OPPOSITE);
        assert_int_equal(fth_probe_prefetch(&prober, &plan, &part, &samples, NULL), FTH_OK);
        assert_near(part, 0, 0.05);
        assert_int_equal(fth_probe_l2_order(&prober, &plan, &agreement, &evidence, &samples, NULL),
                         FTH_OK);
        assert_true(evidence.repeats >= 5 && evidence.agree <= evidence.repeats);
        if (rows[i].ordered)
            assert_true(isnan(agreement) || agreement > 0.9);
        else
            assert_true(agreement < 0.5);
        fth_device_close(prober.device);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outcomes_are_classified_by_two_thresholds),
        cmocka_unit_test(line_is_the_largest_stride_that_evicts_as_many),
        cmocka_unit_test(few_samples_give_no_line_or_few_agree),
        cmocka_unit_test(sector_is_the_smallest_write_that_makes_loads_hit),
        cmocka_unit_test(partitions_follow_from_lines_found_far),
        cmocka_unit_test(onset_and_full_miss_allow_for_noise),
        cmocka_unit_test(finds_the_period_of_fills_in_noise),
        cmocka_unit_test(plateau_tolerates_outliers_and_has_a_confidence),
        cmocka_unit_test(written_lines_show_the_partitions),
        cmocka_unit_test(finds_the_l2_of_simulated_gpus),
        cmocka_unit_test(repeated_measurements_write_other_lines),
        cmocka_unit_test(measures_the_size_that_the_driver_does_not_report),
        cmocka_unit_test(cold_tlbs_add_their_penalties),
        cmocka_unit_test(chains_that_always_fit_show_no_sets),
        cmocka_unit_test(homes_are_classified_by_three_thresholds),
        cmocka_unit_test(disturbed_loads_leave_the_home_unknown),
        cmocka_unit_test(relation_of_homes_follows_from_their_differences),
        cmocka_unit_test(prefetching_and_eviction_agreement_are_computed),
        cmocka_unit_test(finds_the_home_map_of_a_simulated_l2),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
