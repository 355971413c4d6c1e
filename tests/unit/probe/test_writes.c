/* Tests what stores do: the step of a chase that writes, the decisions of probe/write_effect.c, the
 * probes of L1 and L2 (probe/cache/l1_writes.c, probe/l2/l2_writes.c), and the attributes that
 * fth_dissect writes. The probes run on small simulated GPUs, whose descriptions are the truth. */
#include "check.h"
#include "discover/discover.h"
#include "folder.h"
#include "probe/cache/probe_cache.h"
#include "probe/l2/probe_l2.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- simulated GPUs ---- */

/* The noise of a GPU in use: latencies that vary, disturbed loads, and another program that runs at
 * times and replaces the contents of the caches. */
static const char quiet[] = "\"seed\": 1", noisy[] = "\"seed\": 7, \"jitter_cycles\": 2, "
                                                     "\"outlier_rate\": 0.01, "
                                                     "\"neighbour_rate\": 0.00002";

enum { L1_CYCLES = 32, L2_CYCLES = 200, FAR_CYCLES = 300, MEMORY_CYCLES = 450, SMS = 4 };

/* Opens a simulated GPU. Empty texts leave all attributes of an element to the defaults. */
static struct fth_prober open_gpu(const char *l1, const char *l2, const char *noise)
{
    struct fth_buffer text = {0};
    struct fth_error error = FTH_NO_ERROR;
    struct fth_prober prober = {.sms = SMS};
    fth_buffer_format(
        &text,
        "{\"schema\": \"fathom-gpu/1\", \"device\": {\"name\": \"Small\", "
        "\"compute_capability\": \"7.0\", \"sms\": %d, \"clock_mhz\": 1000}, "
        "\"noise\": {%s}, \"elements\": {\"l1\": {\"latency_cycles\": %d%s%s}, "
        "\"l2\": {\"latency_cycles\": %d%s%s}, \"memory\": {\"latency_cycles\": %d}}}",
        SMS, noise, L1_CYCLES, *l1 ? ", " : "", l1, L2_CYCLES, *l2 ? ", " : "", l2, MEMORY_CYCLES);
    write_plain("gpu.json", text.data, text.size);
    if (fth_device_open("sim:./gpu.json", NULL, &prober.device, &error) != FTH_OK)
        fail_msg("%s: %s\n%s", error.argument, error.cause, text.data);
    fth_buffer_fini(&text);
    return prober;
}

static const char l1_shape[] = "\"size_bytes\": 32768, \"line_bytes\": 128, \"sector_bytes\": 32";
static const char l2_shape[] = "\"size_bytes\": 1048576, \"line_bytes\": 128, \"sector_bytes\": 32";

/* Joins texts with a comma between those that are not empty. */
static const char *joined(const char *a, const char *b)
{
    static char text[4][600];
    static unsigned next;
    char *out = text[next++ % 4];
    snprintf(out, sizeof text[0], "%s%s%s", a, *a && *b ? ", " : "", b);
    return out;
}

/* ---- decisions ---- */

static void a_majority_of_the_repeats_decides(void **state)
{
    (void)state;
    static const struct {
        struct fth_found_loads repeats[3];
        enum fth_write_outcome outcome;
        double agree; /* repeats with this outcome */
    } rows[] = {
        {{{10, 10}, {10, 10}, {10, 10}}, FTH_WRITE_KEPT, 3},
        {{{0, 10}, {1, 10}, {2, 10}}, FTH_WRITE_LOST, 3},
        {{{8, 10}, {9, 10}, {0, 10}}, FTH_WRITE_KEPT, 2},
        {{{7, 10}, {9, 10}, {0, 10}}, FTH_WRITE_UNDECIDED, 0},
        {{{3, 10}, {0, 10}, {0, 10}}, FTH_WRITE_LOST, 2},
        {{{0, 0}, {0, 0}, {0, 10}}, FTH_WRITE_UNDECIDED, 0}, /* repeats without loads */
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        const struct fth_write_effect effect = fth_decide_effect(rows[i].repeats, 3, 0.2, 0.8);
        assert_int_equal(effect.outcome, rows[i].outcome);
        assert_true(effect.evidence.agree == rows[i].agree);
        assert_true(effect.evidence.repeats == (rows[i].agree > 0 ? 3 : 0));
    }
    const struct fth_write_effect none = fth_decide_effect(NULL, 0, 0.2, 0.8);
    assert_int_equal(none.outcome, FTH_WRITE_UNDECIDED);
    const struct fth_write_effect sum = fth_decide_effect(rows[2].repeats, 3, 0.2, 0.8);
    assert_int_equal(sum.found, 17);
    assert_int_equal(sum.loads, 30);
}

/* ---- the step ---- */

/* Executes a request that is given as text, and returns its samples. */
static struct fth_answers ask(const struct fth_prober *prober, const char *text)
{
    struct fth_request request;
    struct fth_answers answers = {0};
    struct fth_error error = FTH_NO_ERROR;
    if (fth_request_read(text, strlen(text), &request, &error) != FTH_OK ||
        fth_ask(prober, &request, 1, &answers, &error) != FTH_OK)
        fail_msg("%s: %s", text, error.cause);
    return answers;
}

/* Returns the latency of the last load of a request. Timing a hop adds 6 cycles. */
static double last_latency(const struct fth_prober *prober, const char *text)
{
    struct fth_answers answers = ask(prober, text);
    const double cycles = answers.items[0].cycles[answers.items[0].count - 1];
    fth_answers_fini(&answers);
    return cycles - 6;
}

/* The stores change no link: walks in and beyond the written part, forwards and in reverse, still
 * visit every element. The L1 is larger than the array, so that each element misses it once. */
static void a_write_leaves_the_chain_intact(void **state)
{
    (void)state;
    const struct fth_prober prober = open_gpu(l1_shape, "", quiet);
    struct fth_answers answers =
        ask(&prober, "walk cg 0:128x100; write ca 0+256:128x40 passes 2; time-hops ca 0:128x100; "
                     "time-hops ca 0:128x100 reverse; carveout 0");
    assert_int_equal(answers.items[0].count, 200);
    for (size_t i = 1; i < 200; i++)
        assert_true(fabs(answers.items[0].cycles[i] - 6.0 - (i < 100 ? L2_CYCLES : L1_CYCLES)) < 2);
    fth_answers_fini(&answers);
    fth_device_close(prober.device);
}

/* Writes of one SM: where a later load of the same SM finds the element. */
static void writes_act_on_the_caches_as_described(void **state)
{
    (void)state;
    static const struct {
        const char *l1, *l2, *request;
        double cycles;
    } rows[] = {
        /* By default, a write evicts the line of L1 and allocates nothing there. */
        {"", "", "walk ca 0:128x8; time-hops ca 0:128x8; carveout 0", L1_CYCLES},
        {"", "", "walk ca 0:128x8; write ca 0:128x8; time-hops ca 0:128x8; carveout 0", L2_CYCLES},
        {"", "", "walk cg 0:128x8; write ca 0:128x8; time-hops ca 0:128x8; carveout 0", L2_CYCLES},
        {"", "",
         "walk ca 0:128x8; walk ca 0+32:128x8; write ca 0:128x8; time-hops ca 0+32:128x8; "
         "carveout 0",
         L2_CYCLES},
        {"\"write_evicts\": \"sector\"", "",
         "walk ca 0:128x8; walk ca 0+32:128x8; write ca 0:128x8; time-hops ca 0+32:128x8; "
         "carveout 0",
         L1_CYCLES},
        {"\"write_evicts\": \"sector\"", "",
         "walk ca 0:128x8; write ca 0:128x8; time-hops ca 0:128x8; carveout 0", L2_CYCLES},
        {"\"write_hit\": \"update\"", "",
         "walk ca 0:128x8; write ca 0:128x8; time-hops ca 0:128x8; carveout 0", L1_CYCLES},
        {"\"write_hit\": \"update\"", "",
         "walk cg 0:128x8; write ca 0:128x8; time-hops ca 0:128x8; carveout 0", L2_CYCLES},
        {"\"write_miss\": \"allocate\"", "",
         "walk cg 0:128x8; write ca 0:128x8; time-hops ca 0:128x8; carveout 0", L1_CYCLES},
        /* Only the written bytes are valid in L1. */
        {"\"write_miss\": \"allocate\"", "",
         "walk cg 0+8:128x8; write ca 0:128x8; time-hops ca 0+8:128x8; carveout 0", L2_CYCLES},
        {"\"write_miss\": \"allocate\"", "",
         "walk ca 0:128x8; write ca 0:128x8; time-hops ca 0:128x8; carveout 0", L2_CYCLES},
        /* The L2 allocates by default, and a read of a partly written sector fetches it. */
        {"", "", "write ca 0:8x64; time-hops cg 0:8x64; cold", L2_CYCLES},
        {"", "", "write ca 0:128x8; time-hops cg 0:128x8; cold", MEMORY_CYCLES},
        {"", "\"partial_write\": \"mask\"", "write ca 0:128x8; time-hops cg 0:128x8; cold",
         L2_CYCLES},
        {"", "\"write_miss\": \"no_allocate\"", "write ca 0:8x4; time-hops cg 0:8x1; cold",
         MEMORY_CYCLES},
        {"", "\"write_miss\": \"no_allocate\"",
         "walk cg 0:128x8; write ca 0:128x8; time-hops cg 0:128x8; cold", L2_CYCLES},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        const struct fth_prober prober =
            open_gpu(joined(l1_shape, rows[i].l1), joined(l2_shape, rows[i].l2), quiet);
        const double cycles = last_latency(&prober, rows[i].request);
        if (fabs(cycles - rows[i].cycles) > 1)
            fail_msg("row %zu: %g cycles, not %g", i, cycles, rows[i].cycles);
        fth_device_close(prober.device);
    }
}

/* ---- L1 ---- */

static const struct {
    const char *attributes;
    enum fth_write_outcome miss, hit, neighbour;
} l1_truths[] = {
    {"", FTH_WRITE_LOST, FTH_WRITE_LOST, FTH_WRITE_LOST},
    {"\"write_hit\": \"evict\", \"write_evicts\": \"sector\"", FTH_WRITE_LOST, FTH_WRITE_LOST,
     FTH_WRITE_KEPT},
    {"\"write_hit\": \"update\"", FTH_WRITE_LOST, FTH_WRITE_KEPT, FTH_WRITE_KEPT},
    {"\"write_miss\": \"allocate\"", FTH_WRITE_KEPT, FTH_WRITE_LOST, FTH_WRITE_LOST},
    {"\"write_miss\": \"allocate\", \"write_evicts\": \"sector\"", FTH_WRITE_KEPT, FTH_WRITE_LOST,
     FTH_WRITE_KEPT},
    {"\"write_miss\": \"allocate\", \"write_hit\": \"update\"", FTH_WRITE_KEPT, FTH_WRITE_KEPT,
     FTH_WRITE_KEPT},
};

static void every_kind_of_l1_is_found(void **state)
{
    (void)state;
    static const struct fth_l1_write_plan plan = {.size_bytes = 32768, .line_bytes = 128};
    for (size_t i = 0; i < 2 * FTH_COUNT(l1_truths); i++) {
        const size_t k = i / 2;
        const struct fth_prober prober =
            open_gpu(joined(l1_shape, l1_truths[k].attributes), "", i % 2 ? noisy : quiet);
        struct fth_l1_writes found;
        struct fth_error error = FTH_NO_ERROR;
        if (fth_probe_l1_writes(&prober, &plan, &found, &error) != FTH_OK)
            fail_msg("%s", error.cause);
        assert_int_equal(found.miss.outcome, l1_truths[k].miss);
        assert_int_equal(found.hit.outcome, l1_truths[k].hit);
        assert_int_equal(found.neighbour.outcome, l1_truths[k].neighbour);
        assert_true(fth_confidence(found.hit.evidence) > 0.75);
        assert_int_equal(found.hit.loads, 15 * 64);
        fth_device_close(prober.device);
    }
}

/* L1s of random structure: the result must be right or inconclusive, and rarely inconclusive. */
static void random_l1s_are_found_or_inconclusive(void **state)
{
    (void)state;
    enum { SEEDS = 60 };
    static const char *const policies[] = {"lru", "fifo", "lfu", "random"};
    static const char *const functions[] = {"mod", "xor", "shift:1", "prime"};
    size_t found_count = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct fth_rng rng;
        fth_rng_init(&rng, seed);
        const uint64_t line = (uint64_t)64 << fth_rng_below(&rng, 3);
        const uint64_t sets = (uint64_t)1 << fth_rng_below(&rng, 6);
        const uint64_t ways = 32 / sets + 4 + fth_rng_below(&rng, 60);
        const size_t truth = (size_t)fth_rng_below(&rng, FTH_COUNT(l1_truths));
        const char *const policy = policies[fth_rng_below(&rng, FTH_COUNT(policies))];
        const char *const function = functions[fth_rng_below(&rng, FTH_COUNT(functions))];
        char shape[300];
        snprintf(shape, sizeof shape,
                 "\"size_bytes\": %llu, \"line_bytes\": %llu, \"sector_bytes\": 32, \"sets\": "
                 "%llu, \"ways\": %llu, \"policy\": \"%s\", \"index\": \"%s\"",
                 (unsigned long long)sets * ways * line, (unsigned long long)line,
                 (unsigned long long)sets, (unsigned long long)ways, policy, function);
        const struct fth_prober prober = open_gpu(joined(shape, l1_truths[truth].attributes), "",
                                                  fth_rng_below(&rng, 2) ? noisy : quiet);
        const struct fth_l1_write_plan plan = {.size_bytes = sets * ways * line,
                                               .line_bytes = line};
        struct fth_l1_writes found;
        const enum fth_status status = fth_probe_l1_writes(&prober, &plan, &found, NULL);
        assert_true(status == FTH_OK || status == FTH_INCONCLUSIVE);
        if (status == FTH_OK) {
            found_count++;
            assert_int_equal(found.miss.outcome, l1_truths[truth].miss);
            assert_int_equal(found.hit.outcome, l1_truths[truth].hit);
            assert_int_equal(found.neighbour.outcome, l1_truths[truth].neighbour);
        }
        fth_device_close(prober.device);
    }
    assert_in_range(found_count, SEEDS * 19 / 20, SEEDS);
}

static void an_l1_without_global_loads_is_inconclusive(void **state)
{
    (void)state;
    const struct fth_l1_write_plan plan = {.size_bytes = 32768, .line_bytes = 128};
    const struct fth_l1_write_plan tiny = {.size_bytes = 31 * (uint64_t)128, .line_bytes = 128};
    const struct fth_prober prober =
        open_gpu(joined(l1_shape, "\"caches\": [\"local\"]"), "", quiet);
    struct fth_l1_writes found;
    struct fth_error error = FTH_NO_ERROR;
    assert_int_equal(fth_probe_l1_writes(&prober, &plan, &found, &error), FTH_INCONCLUSIVE);
    assert_non_null(strstr(error.cause, "without stores"));
    error = FTH_NO_ERROR;
    assert_int_equal(fth_probe_l1_writes(&prober, &tiny, &found, &error), FTH_INCONCLUSIVE);
    assert_string_equal(error.cause, "L1 has too few lines");
    fth_device_close(prober.device);
}

/* ---- L2 ---- */

/* The thresholds of the simulated L2s; timing a hop adds 6 cycles. */
static const struct fth_l2_map_plan l2_plan = {
    .size_bytes = 1048576,
    .line_bytes = 128,
    .near_threshold = 6 + (L2_CYCLES + FAR_CYCLES) / 2.0,
    .memory_threshold = 6 + MEMORY_CYCLES - 5,
    .far_memory_threshold = 6 + MEMORY_CYCLES + (FAR_CYCLES - L2_CYCLES) / 2.0};

static void every_kind_of_l2_is_found(void **state)
{
    (void)state;
    static const struct {
        const char *attributes;
        enum fth_write_outcome whole, partial;
        uint64_t fill_bytes; /* 0: 32 */
    } truths[] = {
        {"", FTH_WRITE_KEPT, FTH_WRITE_LOST, 0},
        {"\"fill_bytes\": 64", FTH_WRITE_KEPT, FTH_WRITE_LOST, 64},
        {"\"partial_write\": \"mask\"", FTH_WRITE_KEPT, FTH_WRITE_KEPT, 0},
        {"\"write_miss\": \"no_allocate\"", FTH_WRITE_LOST, FTH_WRITE_LOST, 0},
        {"\"write_miss\": \"no_allocate\", \"policy\": \"random\"", FTH_WRITE_LOST, FTH_WRITE_LOST,
         0},
    };
    static const char two[] = "\"partitions\": 2, \"far_latency_cycles\": 300";
    for (size_t i = 0; i < 4 * FTH_COUNT(truths); i++) {
        const size_t k = i / 4;
        const struct fth_prober prober =
            open_gpu("", joined(joined(l2_shape, truths[k].attributes), i % 2 ? two : ""),
                     i / 2 % 2 ? noisy : quiet);
        struct fth_l2_writes found;
        struct fth_error error = FTH_NO_ERROR;
        const uint64_t fill = truths[k].fill_bytes ? truths[k].fill_bytes : 32;
        if (fth_probe_l2_writes(&prober, &l2_plan, fill, &found, &error) != FTH_OK)
            fail_msg("%zu: %s", i, error.cause);
        if (found.whole.outcome != truths[k].whole || found.partial.outcome != truths[k].partial)
            fail_msg("%zu: %zu of %zu whole, %zu of %zu partial", i, found.whole.found,
                     found.whole.loads, found.partial.found, found.partial.loads);
        assert_true(fth_confidence(found.whole.evidence) > 0.5);
        fth_device_close(prober.device);
    }
}

/* Writes the description of a random L2. Returns whether it has two partitions. */
static bool random_l2(struct fth_rng *rng, char *text, size_t size, struct fth_l2_map_plan *plan)
{
    /* Not LFU: a flush does not evict lines that were read often (docs/methods/dissect.md). */
    static const char *const policies[] = {"lru", "fifo", "random"};
    static const char *const functions[] = {"mod", "xor", "shift:1"};
    const bool two = fth_rng_below(rng, 2);
    *plan = l2_plan;
    plan->line_bytes = (uint64_t)32 << fth_rng_below(rng, 4);
    plan->size_bytes = (uint64_t)262144 << fth_rng_below(rng, 3);
    const char *const policy = policies[fth_rng_below(rng, FTH_COUNT(policies))];
    const char *const function = functions[fth_rng_below(rng, FTH_COUNT(functions))];
    snprintf(text, size,
             "\"size_bytes\": %llu, \"line_bytes\": %llu, \"sector_bytes\": 32, \"policy\": "
             "\"%s\", \"index\": \"%s\", \"partitions\": %d, \"far_latency_cycles\": %d",
             (unsigned long long)plan->size_bytes, (unsigned long long)plan->line_bytes, policy,
             function, two ? 2 : 1, two ? FAR_CYCLES : L2_CYCLES);
    return two;
}

/* L2s of random structure: the result must be right or inconclusive, and rarely inconclusive. */
static void random_l2s_are_found_or_inconclusive(void **state)
{
    (void)state;
    enum { SEEDS = 24 };
    size_t found_count = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct fth_rng rng;
        struct fth_l2_map_plan plan;
        char shape[300], attributes[200];
        fth_rng_init(&rng, seed);
        const bool two = random_l2(&rng, shape, sizeof shape, &plan);
        const bool allocates = fth_rng_below(&rng, 2), masks = fth_rng_below(&rng, 2);
        const bool keeps = two && fth_rng_below(&rng, 2);
        snprintf(attributes, sizeof attributes,
                 "\"write_miss\": \"%s\", \"partial_write\": \"%s\"%s",
                 allocates ? "allocate" : "no_allocate", masks ? "mask" : "fetch",
                 keeps ? ", \"write_far_copy\": \"update\"" : "");
        const struct fth_prober prober =
            open_gpu("", joined(shape, attributes), fth_rng_below(&rng, 2) ? noisy : quiet);
        struct fth_l2_writes found;
        struct fth_write_effect copies;
        size_t samples = 0;
        enum fth_status status = fth_probe_l2_writes(&prober, &plan, 32, &found, NULL);
        assert_true(status == FTH_OK || status == FTH_INCONCLUSIVE);
        found_count += status == FTH_OK;
        if (status == FTH_OK) {
            assert_int_equal(found.whole.outcome, allocates ? FTH_WRITE_KEPT : FTH_WRITE_LOST);
            assert_int_equal(found.partial.outcome,
                             allocates && masks ? FTH_WRITE_KEPT : FTH_WRITE_LOST);
        }
        if (two) {
            status = fth_probe_far_copies(&prober, &plan, 1, &copies, &samples, NULL);
            assert_true(status == FTH_OK || status == FTH_INCONCLUSIVE);
            if (copies.outcome != FTH_WRITE_UNDECIDED)
                assert_int_equal(copies.outcome, keeps ? FTH_WRITE_KEPT : FTH_WRITE_LOST);
        }
        fth_device_close(prober.device);
    }
    assert_in_range(found_count, SEEDS * 3 / 4, SEEDS); /* a quarter has the policy lfu */
}

static void an_l2_that_keeps_nothing_is_inconclusive(void **state)
{
    (void)state;
    const struct fth_prober prober = open_gpu("", l2_shape, quiet);
    struct fth_l2_writes found;
    struct fth_error error = FTH_NO_ERROR;
    /* With this threshold, hits of the L2 count as loads from memory. */
    struct fth_l2_map_plan plan = l2_plan;
    plan.memory_threshold = L2_CYCLES - 10;
    assert_int_equal(fth_probe_l2_writes(&prober, &plan, 32, &found, &error), FTH_INCONCLUSIVE);
    assert_non_null(strstr(error.cause, "without stores"));
    /* And with this one, loads from memory count as hits. */
    plan.memory_threshold = 2 * MEMORY_CYCLES;
    error = FTH_NO_ERROR;
    assert_int_equal(fth_probe_l2_writes(&prober, &plan, 32, &found, &error), FTH_INCONCLUSIVE);
    assert_non_null(strstr(error.cause, "after a flush"));
    plan.size_bytes = 15 * (uint64_t)128;
    error = FTH_NO_ERROR;
    assert_int_equal(fth_probe_l2_writes(&prober, &plan, 32, &found, &error), FTH_INCONCLUSIVE);
    assert_string_equal(error.cause, "it has too few lines");
    fth_device_close(prober.device);
}

/* On a simulated GPU, SMs with an odd number are near partition 1. */
static void copies_in_the_near_partition_are_watched(void **state)
{
    (void)state;
    static const char *const copies[] = {"\"write_far_copy\": \"invalidate\"",
                                         "\"write_far_copy\": \"update\""};
    static const char two[] = "\"partitions\": 2, \"far_latency_cycles\": 300";
    for (size_t i = 0; i < 2 * FTH_COUNT(copies); i++) {
        const struct fth_prober prober =
            open_gpu("", joined(joined(l2_shape, two), copies[i % 2]), i / 2 ? noisy : quiet);
        struct fth_write_effect found;
        size_t samples = 0;
        struct fth_error error = FTH_NO_ERROR;
        if (fth_probe_far_copies(&prober, &l2_plan, 1, &found, &samples, &error) != FTH_OK)
            fail_msg("%zu: %s", i, error.cause);
        assert_int_equal(found.outcome, i % 2 ? FTH_WRITE_KEPT : FTH_WRITE_LOST);
        assert_true(samples >= 128 * (size_t)16);
        fth_device_close(prober.device);
    }
}

/* A device whose L2 loses all copies at the end of each kernel. */
static enum fth_status forget_copies(void *state, const struct fth_request *requests, size_t count,
                                     struct fth_samples *samples, struct fth_error *error)
{
    struct fth_device *inner = state;
    for (size_t i = 0; i < count; i++) {
        struct fth_request request = requests[i];
        const struct fth_step *first = &request.chase.steps[0];
        /* A write by SM 0 itself invalidates the copies, too. */
        if (request.chase.step_count == 1 && first->kind == FTH_STEP_TIME_HOPS) {
            struct fth_request before = fth_request_make(-1);
            struct fth_samples ignored = {0};
            before.alone = true;
            before.sm = 1;
            fth_request_add(&before, FTH_STEP_WRITE, FTH_PATH_CA, first->chain, 1);
            fth_request_add(&before, FTH_STEP_TIME_HOPS, FTH_PATH_CG, first->chain, 1);
            FTH_TRY(fth_device_measure(inner, &before, 1, &ignored, error));
            fth_samples_fini(&ignored);
        }
        FTH_TRY(fth_device_measure(inner, &request, 1, &samples[i], error));
    }
    return FTH_OK;
}

static void copies_that_do_not_stay_are_inconclusive(void **state)
{
    (void)state;
    static const struct fth_device_ops ops = {.measure = forget_copies};
    struct fth_prober prober =
        open_gpu("", joined(l2_shape, "\"partitions\": 2, \"far_latency_cycles\": 300"), quiet);
    struct fth_device *inner = prober.device;
    struct fth_device device = {.ops = &ops, .state = inner, .id = "forgetful"};
    struct fth_write_effect found;
    size_t samples = 0;
    struct fth_error error = FTH_NO_ERROR;
    prober.device = &device;
    assert_int_equal(fth_probe_far_copies(&prober, &l2_plan, 1, &found, &samples, &error),
                     FTH_INCONCLUSIVE);
    assert_string_equal(error.cause,
                        "copies in the near partition do not stay from one kernel to the next");
    assert_int_equal(found.outcome, FTH_WRITE_UNDECIDED);
    fth_device_close(inner);
    /* With one partition, no line has a far home. */
    prober = open_gpu("", l2_shape, quiet);
    error = FTH_NO_ERROR;
    assert_int_equal(fth_probe_far_copies(&prober, &l2_plan, 1, &found, &samples, &error),
                     FTH_INCONCLUSIVE);
    assert_non_null(strstr(error.cause, "only 0 of 128 lines"));
    fth_device_close(prober.device);
}

/* ---- the dissection ---- */

static void assert_report_contains(const struct fth_gpu *gpu, const char *part)
{
    char *text = NULL;
    size_t size = 0;
    assert_int_equal(fth_report_dissection(gpu, NULL, &text, &size, NULL), FTH_OK);
    if (!strstr(text, part))
        fail_msg("%s", text);
    free(text);
}

static void dissect_writes_the_attributes(void **state)
{
    (void)state;
    static const struct {
        const char *l1, *l2;
        const char *miss, *hit, *evicts, *l2_miss, *partial, *copy; /* NULL: not present */
        const char *report;
    } rows[] = {
        {"", "", "no_allocate", "evict", "line", "allocate", "fetch", NULL,
         "\nStores\n"
         "  L1  a line that misses is not allocated\n"
         "  L1  a line that hits is evicted\n"
         "  L2  a line that misses is allocated\n"
         "  L2  a partly written sector is fetched by the next load\n"},
        {"\"write_miss\": \"allocate\", \"write_hit\": \"update\"",
         "\"partitions\": 2, \"far_latency_cycles\": 300, \"write_far_copy\": \"update\"",
         "allocate", "update", NULL, "allocate", "fetch", "update",
         "\nStores\n"
         "  L1  a line that misses is allocated\n"
         "  L1  a line that hits is updated\n"
         "  L2  a line that misses is allocated\n"
         "  L2  a partly written sector is fetched by the next load\n"
         "  L2  a copy in the other partition is updated\n"},
        {"\"write_evicts\": \"sector\"",
         "\"partitions\": 2, \"far_latency_cycles\": 300, \"write_miss\": \"no_allocate\"",
         "no_allocate", "evict", "sector", "no_allocate", NULL, "invalidate",
         "\nStores\n"
         "  L1  a line that misses is not allocated\n"
         "  L1  a sector that hits is evicted, not its line\n"
         "  L2  a line that misses is not allocated\n"
         "  L2  a copy in the other partition is invalidated\n"},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        const struct fth_prober prober =
            open_gpu(joined(l1_shape, rows[i].l1), joined(l2_shape, rows[i].l2), quiet);
        const struct fth_dissect_options options = FTH_DISSECT_OPTIONS(.only = "l1,l2");
        struct fth_gpu *gpu = NULL;
        struct fth_error error = FTH_NO_ERROR;
        if (fth_dissect(prober.device, &options, &gpu, &error) != FTH_OK)
            fail_msg("%s", error.cause);
        const struct {
            const char *element, *attribute, *value;
        } expected[] = {
            {"l1", "write_miss", rows[i].miss},       {"l1", "write_hit", rows[i].hit},
            {"l1", "write_evicts", rows[i].evicts},   {"l2", "write_miss", rows[i].l2_miss},
            {"l2", "partial_write", rows[i].partial}, {"l2", "write_far_copy", rows[i].copy},
        };
        for (size_t k = 0; k < FTH_COUNT(expected); k++) {
            const char *text = fth_gpu_text(gpu, expected[k].element, expected[k].attribute);
            if (!text != !expected[k].value || (text && strcmp(text, expected[k].value) != 0))
                fail_msg("row %zu: %s.%s is %s", i, expected[k].element, expected[k].attribute,
                         text ? text : "missing");
        }
        assert_int_equal(fth_gpu_validate(gpu, NULL), FTH_OK);
        assert_report_contains(gpu, rows[i].report);
        assert_int_equal(fth_gpu_unknown(gpu, "l2", "partial_write") != NULL, !rows[i].partial);
        fth_gpu_destroy(gpu);
        fth_device_close(prober.device);
    }
}

/* An L2 that accepts writes faster than memory must write back; otherwise nothing is known. */
static void the_write_policy_follows_from_bandwidths(void **state)
{
    (void)state;
    static const struct {
        const char *elements;
        bool writes_back, unknown;
    } rows[] = {
        {"\"l2\": {\"write_bytes_per_s\": 5e12}, \"memory\": {\"write_bytes_per_s\": 4e12}}", true,
         false},
        {"\"l2\": {\"write_bytes_per_s\": 4.9e12}, \"memory\": {\"write_bytes_per_s\": 4e12}}",
         false, true},
        {"\"l2\": {\"write_bytes_per_s\": 4.9e12}, \"memory\": {}}", false, false},
        {"\"l2\": {}, \"memory\": {\"write_bytes_per_s\": 4e12}}", false, false},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        char text[300];
        snprintf(
            text, sizeof text,
            "{\"schema\": \"fathom-gpu/1\", \"device\": {\"name\": \"Test\"}, \"elements\": {%s}",
            rows[i].elements);
        struct fth_discovery discovery = {.no_bandwidth = true};
        assert_int_equal(fth_gpu_read_text("test", text, strlen(text), NULL, &discovery.gpu, NULL),
                         FTH_OK);
        assert_int_equal(fth_discover_rates(&discovery, NULL), FTH_OK);
        const struct fth_attribute *policy = fth_gpu_attribute(discovery.gpu, "l2", "write_policy");
        assert_int_equal(policy != NULL, rows[i].writes_back);
        if (policy) {
            assert_string_equal(policy->text, "write_back");
            assert_int_equal(policy->source, FTH_SOURCE_DERIVED);
        }
        assert_int_equal(fth_gpu_unknown(discovery.gpu, "l2", "write_policy") != NULL,
                         rows[i].unknown);
        fth_gpu_destroy(discovery.gpu);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_majority_of_the_repeats_decides),
        cmocka_unit_test(a_write_leaves_the_chain_intact),
        cmocka_unit_test(writes_act_on_the_caches_as_described),
        cmocka_unit_test(every_kind_of_l1_is_found),
        cmocka_unit_test(random_l1s_are_found_or_inconclusive),
        cmocka_unit_test(an_l1_without_global_loads_is_inconclusive),
        cmocka_unit_test(every_kind_of_l2_is_found),
        cmocka_unit_test(random_l2s_are_found_or_inconclusive),
        cmocka_unit_test(an_l2_that_keeps_nothing_is_inconclusive),
        cmocka_unit_test(copies_in_the_near_partition_are_watched),
        cmocka_unit_test(copies_that_do_not_stay_are_inconclusive),
        cmocka_unit_test(dissect_writes_the_attributes),
        cmocka_unit_test(the_write_policy_follows_from_bandwidths),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
