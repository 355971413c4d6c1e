/* Tests the parts of the probes that dissect a cache: linear spaces over GF(2), index functions
 * fitted to evictions, replacement policies compared by their victims, and the report of a series.
 * The truth is an exhaustive search, known index functions, simulated sets, or a recording of the
 * L1 of an H200 (tests/replay/l1-h200.zst). */
#include "cache/cache.h"
#include "check.h"
#include "probe/cache/probe_cache.h"
#include "probe/structure/probe_structure.h"
#include "probe/tlb/probe_tlb.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- gf2 ---- */

static void spaces_have_a_rank_and_an_orthogonal_space(void **state)
{
    (void)state;
    struct fth_gf2 space = {0}, orthogonal, back;
    assert_true(fth_gf2_add(&space, 0x5));
    assert_true(fth_gf2_add(&space, 0xa));
    assert_false(fth_gf2_add(&space, 0xf));
    assert_false(fth_gf2_add(&space, 0));
    assert_int_equal(fth_gf2_rank(&space), 2);
    assert_int_equal(fth_gf2_reduce(&space, 0xf), 0);
    assert_int_equal(fth_gf2_reduce(&space, 0x7), fth_gf2_reduce(&space, 0x2));
    assert_true(fth_gf2_reduce(&space, 0x1) != 0);
    /* The orthogonal vectors have an even number of ones in bits 0 and 2, and in bits 1 and 3.
     * These are the vectors of the space itself. */
    fth_gf2_orthogonal(&space, 4, &orthogonal);
    assert_true(fth_gf2_equal(&space, &orthogonal));
    /* With 6 bits, bits 4 and 5 of an orthogonal vector are arbitrary, which adds 2 to the rank. */
    fth_gf2_orthogonal(&space, 6, &orthogonal);
    assert_int_equal(fth_gf2_rank(&orthogonal), 4);
    fth_gf2_orthogonal(&orthogonal, 6, &back);
    assert_true(fth_gf2_equal(&space, &back));
}

/* Compares the orthogonal space of random spaces with a test of every vector of 8 bits. */
static void orthogonal_spaces_match_an_exhaustive_search(void **state)
{
    (void)state;
    struct fth_rng rng;
    fth_rng_init(&rng, 7);
    for (int round = 0; round < 200; round++) {
        struct fth_gf2 space = {0}, orthogonal;
        uint64_t vectors[5];
        for (int i = 0; i < 5; i++)
            fth_gf2_add(&space, vectors[i] = fth_rng_below(&rng, 256));
        fth_gf2_orthogonal(&space, 8, &orthogonal);
        for (uint64_t vector = 0; vector < 256; vector++) {
            bool is = true;
            for (int i = 0; i < 5; i++)
                is = is && __builtin_popcountll(vector & vectors[i]) % 2 == 0;
            assert_int_equal(fth_gf2_reduce(&orthogonal, vector) == 0, is);
        }
    }
}

/* ---- mappings ---- */

typedef uint64_t mapping_function(uint64_t line);

static uint64_t modulo_12(uint64_t line)
{
    return line % 12;
}
static uint64_t shifted(uint64_t line)
{
    return (line >> 2) % 6;
}
static uint64_t two_bits(uint64_t line)
{
    return line >> 2 & 3;
}
static uint64_t folded(uint64_t line)
{
    return (line ^ line >> 3 ^ line >> 6 ^ line >> 9 ^ line >> 12) & 7;
}
static uint64_t folded_12(uint64_t line)
{
    return ((line ^ line >> 4 ^ line >> 8 ^ line >> 12) & 15) % 12;
}
/* The hash of the L1 of an H200, restricted to the line bits 0 to 9 (docs/results/h200.md). */
static uint64_t hashed(uint64_t line)
{
    return (uint64_t)(__builtin_popcountll(line & 0x1da) & 1) |
           (uint64_t)(__builtin_popcountll(line & 0x2b5) & 1) << 1;
}
static uint64_t scrambled(uint64_t line)
{
    uint64_t mixed = line * UINT64_C(0x9e3779b97f4a7c15);
    return mixed >> 61;
}

/* Returns what 64 lines evict from a cache with that index function which holds the lines 0 to
 * `fits` - 1. `whole_sets`: a line evicts all lines of its set, as repeated walks over a set with
 * LRU or FIFO replacement do. Otherwise it evicts one line of its set at random. */
static struct fth_evictions evict(mapping_function *map, uint64_t fits, bool whole_sets)
{
    struct fth_rng rng;
    struct fth_evictions evictions = {
        .fits = fits, .whole_sets = whole_sets, .items = calloc(64, sizeof *evictions.items)};
    assert_non_null(evictions.items);
    fth_rng_init(&rng, 3);
    for (size_t i = 0; i < 64; i++) {
        uint64_t line = i < 16 ? fits + i : fits + fth_rng_below(&rng, 8192 - fits);
        uint32_t *victims = calloc(fits, sizeof *victims);
        size_t count = 0;
        assert_non_null(victims);
        for (uint32_t other = 0; other < fits; other++)
            if (map(other) == map(line))
                victims[count++] = other;
        assert_true(count > 0);
        if (!whole_sets) {
            victims[0] = victims[fth_rng_below(&rng, count)];
            count = 1;
        }
        evictions.items[evictions.count++] = (struct fth_eviction){line, victims, count};
    }
    return evictions;
}

static void finds_the_index_function_that_caused_the_evictions(void **state)
{
    (void)state;
    static const struct {
        mapping_function *map;
        uint64_t fits;
        uint64_t sets;
        bool has_name;
        const char *name;
    } cases[] = {
        {modulo_12, 48, 12, true, "mod"},
        {shifted, 96, 6, true, "shift:2"},
        {two_bits, 64, 4, true, "bits:[7,8]"},
        {folded, 64, 8, true, "xor"},
        {folded_12, 64, 12, true, "xor"},
        {hashed, 512, 4, false, "a6^a8^a9^a11^a12^a13, a5^a7^a9^a10^a12^a14"},
    };
    for (size_t i = 0; i < FTH_COUNT(cases); i++)
        for (int whole_sets = 0; whole_sets < 2; whole_sets++) {
            struct fth_evictions evictions = evict(cases[i].map, cases[i].fits, whole_sets);
            struct fth_mapping mapping;
            char name[128];
            assert_int_equal(fth_mapping_fit(&evictions, &mapping, NULL), FTH_OK);
            assert_int_equal(fth_mapping_sets(&mapping), cases[i].sets);
            assert_int_equal(fth_mapping_name(&mapping, 32, true, name, sizeof name),
                             cases[i].has_name);
            assert_string_equal(name, cases[i].name);
            for (uint64_t a = 0; a < 300; a++)
                for (uint64_t b = 0; b < a; b++)
                    assert_int_equal(fth_mapping_set(&mapping, a) == fth_mapping_set(&mapping, b),
                                     cases[i].map(a) == cases[i].map(b));
            fth_mapping_fini(&mapping);
            fth_evictions_fini(&evictions);
        }
}

/* A hash that is neither linear nor a modulo. If whole sets are evicted, no candidate explains the
 * evictions. If single lines are evicted, a single set explains them; the probe must refute it. */
static void reports_evictions_that_no_index_function_explains(void **state)
{
    (void)state;
    struct fth_mapping mapping;
    struct fth_evictions evictions = evict(scrambled, 128, true);
    struct fth_error error = FTH_NO_ERROR;
    assert_int_equal(fth_mapping_fit(&evictions, &mapping, &error), FTH_INCONCLUSIVE);
    assert_contains(error.cause, "no mapping");
    fth_mapping_fini(&mapping);
    fth_evictions_fini(&evictions);
    evictions = evict(scrambled, 128, false);
    assert_int_equal(fth_mapping_fit(&evictions, &mapping, NULL), FTH_OK);
    assert_int_equal(fth_mapping_sets(&mapping), 1);
    fth_mapping_fini(&mapping);
    fth_evictions_fini(&evictions);
}

/* All lines of a chain with the returned stride are in one set. */
static void strides_stay_in_one_set(void **state)
{
    (void)state;
    struct fth_mapping mod = {.kind = FTH_MAPPING_MOD, .modulus = 12};
    struct fth_mapping fold = {.kind = FTH_MAPPING_FOLD, .shift = 4, .modulus = 12};
    assert_int_equal(fth_mapping_stride(&mod, 5, 9, 4096, 0), 12);
    assert_int_equal(fth_mapping_stride(&mod, 5, 9, 4096, 2), 36);
    assert_int_equal(fth_mapping_stride(&mod, 5, 9, 64, 0), 0);
    uint64_t stride = fth_mapping_stride(&fold, 3, 9, 4096, 0);
    assert_true(stride > 0);
    for (uint64_t i = 0; i < 9; i++)
        assert_int_equal(fth_mapping_set(&fold, 3 + i * stride), fth_mapping_set(&fold, 3));
    /* Bits 0 and 1 of the line select the set. Only lines below 2^bits are used. */
    struct fth_mapping linear = {.kind = FTH_MAPPING_LINEAR, .bits = 4};
    fth_gf2_add(&linear.hash, 1);
    fth_gf2_add(&linear.hash, 2);
    static const struct {
        unsigned bits;
        uint64_t line, count, limit;
        unsigned skip;
        uint64_t stride;
    } rows[] = {
        {4, 0, 4, 4096, 0, 4},   {4, 3, 4, 4096, 0, 4}, {4, 0, 5, 4096, 0, 0},
        {4, 0, 2, 4096, 1, 12},  {4, 0, 2, 4096, 2, 8}, {4, 0, 2, 4096, 3, 0},
        {5, 0, 5, 4096, 0, 4},   {5, 0, 5, 16, 0, 0},   {5, 0, 4, 16, 0, 4},
        {63, 0, 99, 4096, 0, 4}, {63, 0, 5, 17, 0, 4},  {63, 0, 5, 16, 0, 0},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        linear.bits = rows[i].bits;
        assert_int_equal(
            fth_mapping_stride(&linear, rows[i].line, rows[i].count, rows[i].limit, rows[i].skip),
            rows[i].stride);
    }
}

/* A description has names for some index functions; others get a formula. Lines have 128 bytes, so
 * bit 0 of a line index is address bit 7. */
static void index_functions_have_names(void **state)
{
    (void)state;
    static const struct {
        enum fth_mapping_kind kind;
        unsigned shift;
        uint64_t modulus;
        uint64_t masks[2]; /* of a linear hash; 0: none */
        unsigned bits;
        bool equal_sets, named;
        const char *text;
    } rows[] = {
        {FTH_MAPPING_FOLD, 4, 12, {0}, 0, true, true, "xor"},
        {FTH_MAPPING_ROUND_ROBIN, 0, 12, {0}, 0, false, true, "mod"},
        {FTH_MAPPING_MOD, 0, 12, {0}, 0, true, true, "mod"},
        {FTH_MAPPING_MOD, 3, 12, {0}, 0, true, true, "shift:3"},
        {FTH_MAPPING_MOD, 1, 4, {0}, 0, false, true, "bits:[8,9]"},
        {FTH_MAPPING_MOD, 0, 2, {0}, 0, false, true, "bits:[7]"},
        {FTH_MAPPING_MOD,
         0,
         12,
         {0},
         0,
         false,
         false,
         "line modulo 12, although the sets have different ways"},
        {FTH_MAPPING_LINEAR, 0, 0, {1 << 2, 1 << 5}, 8, true, true, "bits:[9,12]"},
        {FTH_MAPPING_LINEAR, 0, 0, {1 | 4, 2 | 8}, 4, true, true, "xor"},
        {FTH_MAPPING_LINEAR, 0, 0, {1 | 4, 2 | 8}, 5, true, false, "a7^a9, a8^a10"},
        {FTH_MAPPING_LINEAR, 0, 0, {1 | 4, 2}, 4, true, false, "a8, a7^a9"},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_mapping mapping = {.kind = rows[i].kind,
                                      .shift = rows[i].shift,
                                      .modulus = rows[i].modulus,
                                      .bits = rows[i].bits};
        char text[80];
        for (size_t k = 0; k < 2 && rows[i].masks[k]; k++)
            fth_gf2_add(&mapping.hash, rows[i].masks[k]);
        assert_int_equal(fth_mapping_name(&mapping, 128, rows[i].equal_sets, text, sizeof text),
                         rows[i].named);
        assert_string_equal(text, rows[i].text);
    }
}

/* ---- replacement ---- */

enum { MAX_MISSED = 4000 };

/* Walks over `ways` + 1 lines of a simulated set again and again. Stores MAX_MISSED lines that
 * missed after the first pass, in the order of time, and returns their number. */
static size_t walk_overflowing_set(const char *policy, uint32_t ways, const double *weights,
                                   uint32_t *missed)
{
    const struct fth_cache_config config = {.line_bytes = 4,
                                            .sets = 1,
                                            .ways = ways,
                                            .policy = policy,
                                            .way_weights = weights,
                                            .way_weight_count = weights ? ways : 0,
                                            .write = FTH_WRITE_EVICT,
                                            .seed = 5};
    struct fth_cache *cache = NULL;
    size_t count = 0;
    assert_int_equal(fth_cache_create(&config, &cache, NULL), FTH_OK);
    for (uint64_t hop = 0; count < MAX_MISSED; hop++) {
        const uint32_t line = (uint32_t)(hop % (ways + 1));
        if (fth_cache_access(cache, (uint64_t)4 * line, 4, FTH_CACHE_READ, NULL) != FTH_CACHE_HIT &&
            hop > ways)
            missed[count++] = line;
    }
    fth_cache_destroy(cache);
    return count;
}

static double find_bits(const struct fth_choice_bits *bits, const char *name)
{
    for (size_t i = 0; i < FTH_CHOICE_POLICIES; i++)
        if (strcmp(bits[i].name, name) == 0)
            return bits[i].bits;
    fail_msg("no bits for policy %s", name);
    return NAN;
}

/* The policy of the simulated set needs the fewest bits to encode the victims. */
static void the_true_policy_needs_the_fewest_bits(void **state)
{
    (void)state;
    static const double weights[] = {1, 3, 1, 1};
    static const struct {
        const char *policy;
        uint32_t ways;
        const double *weights;
    } cases[] = {{"fifo", 8, NULL}, {"random", 8, NULL}, {"weighted", 4, weights}};
    static uint32_t missed[MAX_MISSED];
    for (size_t i = 0; i < FTH_COUNT(cases); i++) {
        struct fth_choices observed = {.ways = 0};
        struct fth_choice_bits bits[FTH_CHOICE_POLICIES];
        const size_t count =
            walk_overflowing_set(cases[i].policy, cases[i].ways, cases[i].weights, missed);
        assert_int_equal(fth_choices_add(&observed, cases[i].ways, missed, 20, NULL), FTH_OK);
        assert_int_equal(fth_choices_compare(&observed, bits), 0); /* too few replacements */
        assert_int_equal(fth_choices_add(&observed, cases[i].ways, missed, count, NULL), FTH_OK);
        /* A set with another number of ways is ignored. */
        assert_int_equal(fth_choices_add(&observed, cases[i].ways + 1, missed, count, NULL),
                         FTH_OK);
        assert_int_equal(fth_choices_compare(&observed, bits), FTH_CHOICE_POLICIES);
        for (size_t k = 0; k < FTH_CHOICE_POLICIES; k++)
            assert_true(find_bits(bits, cases[i].policy) <= bits[k].bits);
        struct fth_evidence evidence;
        assert_int_equal(fth_choices_resample(&observed, &evidence, NULL), FTH_OK);
        assert_true(evidence.resampled && fth_evidence_share(evidence) > 0.9);
        fth_choices_fini(&observed);
    }
}

/* If two policies explain the replacements equally well, about half of the resamples agree. */
static void a_tie_of_policies_is_uncertain(void **state)
{
    (void)state;
    uint64_t by_arrival[] = {30, 0, 0, 30}, by_way[] = {15, 15, 15, 15};
    const struct fth_choices tie = {
        .ways = 4, .by_arrival = by_arrival, .by_way = by_way, .lru_victims = 10, .replaced = 60};
    const struct fth_choices few = {
        .ways = 4, .by_arrival = by_arrival, .by_way = by_way, .replaced = 8};
    struct fth_evidence evidence;
    by_arrival[0] = by_arrival[3] = 20;
    by_arrival[1] = by_arrival[2] = 10;
    assert_int_equal(fth_choices_resample(&tie, &evidence, NULL), FTH_OK);
    assert_true(fth_evidence_share(evidence) < 0.95);
    assert_int_equal(fth_choices_resample(&few, &evidence, NULL), FTH_OK);
    assert_true(evidence.repeats == 0);
}

/* ---- the L1 of an H200 ---- */

static struct fth_device *open_recording(void)
{
    char id[400];
    struct fth_device *device = NULL;
    struct fth_error error = FTH_NO_ERROR;
    snprintf(id, sizeof id, "replay:%s/tests/replay/l1-h200.zst", FTH_SOURCE_ROOT);
    if (fth_device_open(id, NULL, &device, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    return device;
}

/* With a carve-out of 100 %, the L1 has 4 sets of 42 ways, and the recorded walks access one line
 * more than it holds, from several start addresses. No named policy explains which line is evicted,
 * but it is always one of the 9 lines of the set that arrived first. Loads of more than 120 cycles
 * are misses. */
static void an_h200_evicts_lines_that_arrived_early(void **state)
{
    (void)state;
    enum { LINES = 169, PASSES = 24, WAYS = 42 };
    static const uint64_t starts[] = {0, 16384, 49152, 114688, 245760, 507904, 1032192};
    struct fth_device *device = open_recording();
    const struct fth_prober prober = {.device = device, .sms = 132};
    struct fth_choices observed = {.ways = 0};
    for (size_t i = 0; i < FTH_COUNT(starts); i++) {
        struct fth_request request = fth_request_make(100);
        struct fth_answers answers = {0};
        const struct fth_chain lines = {
            .start_bytes = starts[i], .stride_bytes = 128, .count = LINES};
        uint32_t number[LINES] = {0}, missed[LINES * PASSES], members = 0;
        size_t count = 0;
        fth_request_add(&request, FTH_STEP_TIME_HOPS, FTH_PATH_CA, lines, PASSES);
        assert_int_equal(fth_ask(&prober, &request, 1, &answers, NULL), FTH_OK);
        const uint32_t *cycles = answers.items[0].cycles;
        for (size_t k = (size_t)2 * LINES; k < (size_t)LINES * PASSES; k++)
            number[k % LINES] |= cycles[k] > 120;
        for (size_t k = 0; k < LINES; k++)
            number[k] = number[k] ? members++ : LINES;
        assert_int_equal(members, WAYS + 1);
        for (size_t k = LINES; k < (size_t)LINES * PASSES; k++)
            if (cycles[k] > 120 && number[k % LINES] < LINES)
                missed[count++] = number[k % LINES];
        assert_int_equal(fth_choices_add(&observed, WAYS, missed, count, NULL), FTH_OK);
        fth_answers_fini(&answers);
    }
    struct fth_choice_bits bits[FTH_CHOICE_POLICIES];
    assert_int_equal(fth_choices_compare(&observed, bits), FTH_CHOICE_POLICIES);
    assert_true(find_bits(bits, "by arrival") < 2.5 && find_bits(bits, "fifo") < 4);
    assert_true(find_bits(bits, "lru") > 5 && find_bits(bits, "lfu") > 5);
    assert_true(find_bits(bits, "weighted") > 5 && find_bits(bits, "random") > 5);
    assert_true(fth_choices_max_rank(&observed) <= 9);
    assert_true(fth_choices_show_clock(&observed));
    fth_choices_fini(&observed);
    fth_device_close(device);
}

/* In this recording, the L1 had lost more than half of the lines when they were loaded again. The
 * other loads took no longer than with their page in the first TLB. So L1 hits need no translation,
 * and the patterns P2 and P3 (see probe_tlb.h) are absent. */
static void finds_l1_hits_although_lines_were_lost(void **state)
{
    (void)state;
    struct fth_device *device = open_recording();
    const struct fth_prober prober = {.device = device, .sms = 132};
    const struct fth_spectrum_plan plan = {.path = FTH_PATH_CA,
                                           .page_bytes = 32 << 20,
                                           .first_entries = 16,
                                           .second_entries = 2048,
                                           .two_homes = true,
                                           .cached_lines = 964,
                                           .max_bytes = UINT64_C(100) << 30};
    struct fth_spectrum found;
    struct fth_error error = FTH_NO_ERROR;
    if (fth_probe_spectrum(&prober, &plan, &found, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    assert_int_equal(found.patterns[FTH_PATTERN_HIT_MISS].presence, FTH_ABSENT);
    assert_int_equal(found.patterns[FTH_PATTERN_HIT_MISS_BOTH].presence, FTH_ABSENT);
    assert_int_equal(found.patterns[FTH_PATTERN_COLD].presence, FTH_PRESENT);
    fth_device_close(device);
}

/* ---- report ---- */

static void a_series_is_reported_with_its_misses_and_ways(void **state)
{
    (void)state;
    static const uint32_t cycles[] = {200, 200, 200, 200, 200, 200, 30, 200, 30, 30};
    static const uint32_t lines[] = {4, 0, 1, 2};
    static const int ways[] = {1, 1, 3, -1};
    const struct fth_series loads = {.element = "l1",
                                     .stride_bytes = 128,
                                     .lines = 5,
                                     .count = FTH_COUNT(cycles),
                                     .cycles = cycles,
                                     .threshold_cycles = 80,
                                     .ways = 4,
                                     .replay_count = 4,
                                     .replay_lines = lines,
                                     .replay_ways = ways};
    char *text = NULL;
    size_t size = 0;
    assert_int_equal(fth_report_series(&loads, NULL, &text, &size, NULL), FTH_OK);
    assert_contains(text, "l1: misses of a walk over 5 lines of 128 bytes, one more than fits\n");
    assert_contains(text, "pass 2  #.#..  2\n");
    assert_contains(text, "line 5      1       5*      3       4    miss\n");
    assert_contains(text, "line 1      1       1*      3       4    miss\n");
    assert_contains(text, "line 3      1       1       3       2    hit\n");
    fth_free(text);
    /* For a TLB, `missed` tells the misses, because a threshold cannot: the latencies of the lines
     * differ. */
    static const bool missed[] = {false, true,  false, false, true,
                                  false, false, true,  false, false};
    const struct fth_series pages = {.element = "tlb_l1",
                                     .stride_bytes = 2 << 20,
                                     .lines = 5,
                                     .count = FTH_COUNT(cycles),
                                     .cycles = cycles,
                                     .missed = missed};
    assert_int_equal(fth_report_series(&pages, NULL, &text, &size, NULL), FTH_OK);
    assert_contains(text,
                    "tlb_l1: misses of a walk over 5 pages, more than fit, one load per page\n");
    assert_contains(text, "pass 1  .#..#  2\n");
    assert_contains(text, "pass 2  ..#..  1\n");
    fth_free(text);
}

/* ---- a cache of one line ---- */

/* A device whose cache holds one line. Other lines evict it, but in a walk over several lines it
 * always hits. */
static enum fth_status measure_one_line(void *state, const struct fth_request *requests,
                                        size_t count, struct fth_samples *samples,
                                        struct fth_error *error)
{
    unsigned *left = state;
    for (size_t i = 0; i < count; i++) {
        if ((*left)-- == 0)
            return fth_fail(error, FTH_UNAVAILABLE, "measure", NULL, "too many requests");
        samples[i] = (struct fth_samples){
            .status = FTH_OK, .count = fth_request_samples(&requests[i]), .clock_mhz = 1000};
        samples[i].cycles = calloc(samples[i].count + 1, sizeof *samples[i].cycles);
        assert_non_null(samples[i].cycles);
        uint32_t *at = samples[i].cycles;
        bool evicted = false;
        for (size_t k = 0; k < requests[i].chase.step_count; k++) {
            const struct fth_step *step = &requests[i].chase.steps[k];
            if (step->kind != FTH_STEP_TIME_HOPS)
                evicted = evicted || step->chain.start_bytes > 0;
            else
                for (uint64_t hop = 0; hop < step->passes * step->chain.count; hop++)
                    *at++ = evicted || hop % step->chain.count ? 240 : 40;
        }
    }
    return FTH_OK;
}

/* Only one of the two lines of a walk ever misses, so the number of members does not grow. */
static void a_cache_of_one_line_ends_the_search(void **state)
{
    (void)state;
    static const struct fth_device_ops ops = {.measure = measure_one_line};
    unsigned left = 10000;
    struct fth_device device = {.ops = &ops, .state = &left, .id = "one line"};
    const struct fth_prober prober = {.device = &device, .sms = 1};
    const struct fth_cache_plan plan = {
        .path = FTH_PATH_CA, .line_bytes = 128, .fits_bytes = 128, .threshold_cycles = 100};
    struct fth_structure structure;
    struct fth_error error = NO_ERROR;
    assert_int_equal(fth_probe_sets(&prober, &plan, &structure, &error), FTH_INCONCLUSIVE);
    assert_contains(error.cause, "no mapping of lines to sets");
    fth_structure_fini(&structure);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spaces_have_a_rank_and_an_orthogonal_space),
        cmocka_unit_test(orthogonal_spaces_match_an_exhaustive_search),
        cmocka_unit_test(finds_the_index_function_that_caused_the_evictions),
        cmocka_unit_test(reports_evictions_that_no_index_function_explains),
        cmocka_unit_test(strides_stay_in_one_set),
        cmocka_unit_test(index_functions_have_names),
        cmocka_unit_test(a_series_is_reported_with_its_misses_and_ways),
        cmocka_unit_test(the_true_policy_needs_the_fewest_bits),
        cmocka_unit_test(a_tie_of_policies_is_uncertain),
        cmocka_unit_test(an_h200_evicts_lines_that_arrived_early),
        cmocka_unit_test(finds_l1_hits_although_lines_were_lost),
        cmocka_unit_test(a_cache_of_one_line_ends_the_search),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
