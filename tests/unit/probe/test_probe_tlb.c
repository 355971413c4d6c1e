/* Closure tests of the TLB probes: the probes must find the TLBs from whose description a GPU is
 * simulated. The GPUs are random ones, special cases, and those of Mei and Chu (2017), whose Table
 * 5 and Figures 8 and 14 give the expected results. Random GPUs have one to three levels, pages of
 * 64 KiB to 32 MiB, one or several sets of equal or different size, LRU, FIFO or random
 * replacement, and every second one has noise.
 *
 *   test_probe_tlb [FIRST LAST]      range of seeds of the random GPUs; default: 1 to 40
 */
#include "check.h"
#include "folder.h"
#include "probe/tlb/probe_tlb.h"

#include <math.h>

enum { LEVELS = FTH_MAX_TLBS };

/* The properties of a TLB level of the simulated GPU. */
struct level {
    uint64_t page; /* bytes */
    uint64_t entries;
    uint64_t ways[64]; /* of each set */
    size_t sets;
    const char *policy, *index;
    double penalty; /* cycles of a miss */
};
/* The properties of the simulated GPU, which the probes must find. */
struct truth {
    struct level levels[LEVELS];
    size_t count;
    uint64_t memory, l2; /* bytes */
    bool noise;
    uint64_t seed; /* of the noise */
};

/* ---- simulated GPUs ---- */

/* A random integer from `low` to `high`. */
static uint64_t between(struct fth_rng *rng, uint64_t low, uint64_t high)
{
    return low + fth_rng_below(rng, high - low + 1);
}

/* Makes a random level. `inner` is the level before it, or NULL; a level reaches at least four
 * times as far as the one before it. */
static void random_level(struct fth_rng *rng, const struct level *inner, struct level *level)
{
    static const char *const policies[] = {"lru", "lru", "fifo", "random"};
    const uint64_t largest = 32 << 20;
    uint64_t min = 8, max = 64;
    level->page = UINT64_C(65536) << fth_rng_below(rng, 10);
    level->penalty = (double)between(rng, 10, 80);
    if (inner) {
        level->page = inner->page << fth_rng_below(rng, 5);
        level->page = level->page < largest ? level->page : largest;
        min = 4 * inner->entries * inner->page / level->page;
        min = min > 16 ? min : 16;
        max = 4 * min;
        level->penalty = (double)between(rng, 30, 200);
    }
    level->policy = policies[fth_rng_below(rng, min > 64 ? 3 : 4)];
    level->index = "mod";
    unsigned kind = (unsigned)fth_rng_below(rng, 4);
    level->sets = kind == 0 ? 1 : kind == 1 ? (size_t)1 << between(rng, 1, 5) : between(rng, 2, 9);
    uint64_t low = (min + level->sets - 1) / level->sets, high = max / level->sets;
    low = low > 2 ? low : 2;
    uint64_t ways = between(rng, low, high > low ? high : low);
    level->entries = 0;
    for (size_t i = 0; i < level->sets; i++) {
        level->ways[i] = kind == 3 && i == 0 ? ways + between(rng, 1, 2 * ways) : ways;
        level->entries += level->ways[i];
    }
}

static struct truth random_truth(uint64_t seed)
{
    struct fth_rng rng;
    fth_rng_init(&rng, seed);
    struct truth truth = {.count = (size_t)between(&rng, 1, LEVELS),
                          .memory = between(&rng, 2, 40) << 30,
                          .l2 = between(&rng, 2, 16) << 20,
                          .noise = seed % 2 == 0,
                          .seed = seed};
    for (size_t i = 0; i < truth.count; i++)
        random_level(&rng, i ? &truth.levels[i - 1] : NULL, &truth.levels[i]);
    return truth;
}

/* Writes a level as an element of a description. Returns the length of the text. */
static int write_level(const struct level *level, size_t level_index, char *text, size_t size)
{
    char ways[512] = "";
    for (size_t i = 0, used = 0; i < level->sets; i++)
        used += (size_t)snprintf(ways + used, sizeof ways - used, "%s%llu", i ? ", " : "",
                                 (unsigned long long)level->ways[i]);
    return snprintf(text, size,
                    ", \"tlb_l%zu\": {\"scope\": \"gpu\", \"sets\": %zu, \"set_ways\": [%s], "
                    "\"index\": \"%s\", \"policy\": \"%s\", \"miss_penalty_cycles\": %g, "
                    "\"page_bytes\": %llu, \"entries\": %llu}",
                    level_index + 1, level->sets, ways, level->index, level->policy, level->penalty,
                    (unsigned long long)level->page, (unsigned long long)level->entries);
}

static void write_gpu(const struct truth *truth, const char *path)
{
    char text[8192];
    size_t used = (size_t)snprintf(
        text, sizeof text,
        "{\"schema\": \"fathom-gpu/1\", \"device\": {\"name\": \"Test\", \"sms\": 2}, "
        "\"noise\": {\"jitter_cycles\": %d, \"outlier_rate\": %g, \"seed\": %llu}, "
        "\"elements\": {\"l2\": {\"scope\": \"gpu\", \"size_bytes\": %llu, \"latency_cycles\": "
        "220}, \"memory\": {\"scope\": \"gpu\", \"size_bytes\": %llu}",
        truth->noise ? 2 : 0, truth->noise ? 0.01 : 0, (unsigned long long)truth->seed,
        (unsigned long long)truth->l2, (unsigned long long)truth->memory);
    for (size_t i = 0; i < truth->count; i++)
        used += (size_t)write_level(&truth->levels[i], i, text + used, sizeof text - used);
    used += (size_t)snprintf(text + used, sizeof text - used, "}}\n");
    assert_true(used < sizeof text);
    write_plain(path, text, used);
}

/* ---- comparison ---- */

struct verdict {
    unsigned wrong, missing; /* number of levels */
    char why[1024];
};

static void find_tlbs(const char *id, uint64_t memory, uint64_t l2, struct fth_tlbs *tlbs)
{
    struct fth_error error = NO_ERROR;
    struct fth_device *device = NULL;
    if (fth_device_open(id, NULL, &device, &error) != FTH_OK)
        fail_msg("%s: %s", id, error.cause);
    struct fth_prober prober = {.device = device, .sms = 2};
    enum fth_status status =
        fth_probe_tlbs(&prober, (uint64_t)(0.7 * (double)memory), l2, tlbs, &error);
    fth_device_close(device);
    if (status != FTH_OK && status != FTH_INCONCLUSIVE)
        fail_msg("%s: %s", id, error.cause);
}

/* Whether a level can be measured completely. The probe needs 1.5 times the level's pages, and
 * their lines must stay in the L2. Both conditions leave a margin. */
static bool is_visible(const struct truth *truth, const struct level *level)
{
    return 3 * level->entries * level->page < truth->memory &&
           3 * level->entries < truth->l2 / 128 / 16;
}

/* Whether the probe is allowed to miss a level:
 *   - With random replacement, it takes many passes until all pages that fit are resident.
 *   - An outer level can be hidden if the level before it has more than half as many entries.
 *   - If pages are small, the samples occupy pages of their own, which disturbs outer levels. */
static bool may_be_missing(const struct truth *truth, size_t level_index)
{
    const struct level *expected = &truth->levels[level_index];
    for (size_t i = 0; i <= level_index; i++)
        if (strcmp(truth->levels[i].policy, "random") == 0)
            return true;
    return level_index &&
           (expected->page <= 128 << 10 || expected->entries < 2 * expected[-1].entries);
}

static void compare(const struct truth *truth, const struct fth_tlbs *tlbs, struct verdict *verdict)
{
    size_t used = 0;
    *verdict = (struct verdict){.wrong = tlbs->count > truth->count};
    for (size_t i = 0; i < truth->count; i++) {
        const struct level *expected = &truth->levels[i];
        const struct fth_tlb_level *found = &tlbs->levels[i];
        if (!is_visible(truth, expected))
            break;
        bool missing = i >= tlbs->count || found->page_bytes == 0 || found->entries == 0 ||
                       fth_confidence(found->page_evidence) < 0.95 ||
                       fth_confidence(found->entries_evidence) < 0.95;
        bool wrong = !missing &&
                     (found->page_bytes != expected->page || found->entries != expected->entries ||
                      fabs(found->penalty_cycles - expected->penalty) > (truth->noise ? 1.5 : 0.6));
        verdict->wrong += wrong;
        verdict->missing += missing && !may_be_missing(truth, i);
        if (wrong || missing)
            used += (size_t)snprintf(
                verdict->why + used, sizeof verdict->why - used,
                " level %zu of %zu (%s, %zu sets, first %llu ways): %llu x %llu KiB, +%g; found "
                "%llu (%.2f) x %llu KiB (%.2f), +%.2f %s;",
                i + 1, truth->count, expected->policy, expected->sets,
                (unsigned long long)expected->ways[0], (unsigned long long)expected->entries,
                (unsigned long long)expected->page >> 10, expected->penalty,
                (unsigned long long)found->entries, fth_confidence(found->entries_evidence),
                (unsigned long long)found->page_bytes >> 10, fth_confidence(found->page_evidence),
                found->penalty_cycles, found->doubt ? found->doubt : "");
    }
    if (tlbs->count > truth->count)
        snprintf(verdict->why + used, sizeof verdict->why - used, " found %zu of %zu levels",
                 tlbs->count, truth->count);
}

static uint64_t first_seed = 1, last_seed = SANITIZED ? 3 : 40;

static void finds_random_tlbs(void **state)
{
    (void)state;
    unsigned wrong = 0, missing = 0, levels = 0;
    for (uint64_t seed = first_seed; seed <= last_seed; seed++) {
        struct truth truth = random_truth(seed);
        struct fth_tlbs tlbs;
        struct verdict verdict;
        write_gpu(&truth, "gpu.json");
        find_tlbs("sim:gpu.json", truth.memory, truth.l2, &tlbs);
        compare(&truth, &tlbs, &verdict);
        if (verdict.wrong || verdict.missing)
            print_message("# seed %llu%s:%s\n", (unsigned long long)seed,
                          truth.noise ? " (noise)" : "", verdict.why);
        wrong += verdict.wrong;
        missing += verdict.missing;
        levels += (unsigned)truth.count;
    }
    print_message("# %u levels, %u wrong, %u not found\n", levels, wrong, missing);
    assert_int_equal(wrong, 0);
    assert_true(missing * 50 <= levels);
}

/* Each set has one way. The page of the samples is always in use and occupies one set. Other pages
 * that map to this set always miss. */
/* The walks over a large level determine the time of the measurement. A bound for their number: the
 * onset is found by bisection, and no walk is repeated that cannot show a further level. */
static void large_tlbs_take_few_samples(void **state)
{
    (void)state;
    struct truth truth = {.count = 2, .memory = UINT64_C(16) << 30, .l2 = UINT64_C(64) << 20};
    struct fth_tlbs tlbs;
    struct verdict verdict;
    truth.levels[0] = (struct level){.page = 2 << 20,
                                     .entries = 16,
                                     .ways = {16},
                                     .sets = 1,
                                     .policy = "lru",
                                     .index = "mod",
                                     .penalty = 20};
    truth.levels[1] = truth.levels[0];
    truth.levels[1].entries = truth.levels[1].ways[0] = 1500;
    truth.levels[1].penalty = 90;
    write_gpu(&truth, "gpu.json");
    find_tlbs("sim:gpu.json", truth.memory, truth.l2, &tlbs);
    compare(&truth, &tlbs, &verdict);
    if (verdict.wrong || verdict.missing)
        fail_msg("%s", verdict.why);
    assert_true(tlbs.samples < 720000);
}

static void finds_tlbs_with_one_way_per_set(void **state)
{
    (void)state;
    static const struct {
        uint64_t page;
        size_t sets;
        double penalty;
        double outer_penalty; /* of a second level with 4 times the entries; 0: there is none */
        bool noise;
    } cases[] = {
        {256 << 10, 20, 45, 109, false}, {512 << 10, 17, 70, 0, true},
        {128 << 10, 18, 40, 0, false},   {256 << 10, 26, 85, 107.4, false},
        {2 << 20, 24, 20, 130, true},    {1 << 20, 32, 60, 64, false},
    };
    for (size_t i = 0; i < FTH_COUNT(cases); i++) {
        struct truth truth = {.count = cases[i].outer_penalty > 0 ? 2 : 1,
                              .memory = UINT64_C(8) << 30,
                              .l2 = 8 << 20,
                              .noise = cases[i].noise,
                              .seed = i + 1};
        struct fth_tlbs tlbs;
        struct verdict verdict;
        truth.levels[0] = (struct level){.page = cases[i].page,
                                         .entries = cases[i].sets,
                                         .sets = cases[i].sets,
                                         .policy = "lru",
                                         .index = "mod",
                                         .penalty = cases[i].penalty};
        for (size_t k = 0; k < cases[i].sets; k++)
            truth.levels[0].ways[k] = 1;
        truth.levels[1] = (struct level){.page = cases[i].page,
                                         .entries = 4 * cases[i].sets,
                                         .ways = {4 * cases[i].sets},
                                         .sets = 1,
                                         .policy = "lru",
                                         .index = "mod",
                                         .penalty = cases[i].outer_penalty};
        write_gpu(&truth, "gpu.json");
        find_tlbs("sim:gpu.json", truth.memory, truth.l2, &tlbs);
        compare(&truth, &tlbs, &verdict);
        if (verdict.wrong || verdict.missing)
            fail_msg("case %zu:%s", i, verdict.why);
    }
}

/* Many small sets of different sizes. */
static void finds_tlbs_with_unequal_sets(void **state)
{
    (void)state;
    static const struct {
        uint64_t memory;
        struct level level;
    } cases[] = {
        {UINT64_C(22) << 30,
         {.page = 256 << 10,
          .entries = 25,
          .sets = 9,
          .ways = {2, 2, 3, 3, 2, 3, 2, 2, 6},
          .policy = "lru",
          .index = "mod",
          .penalty = 68}},
        {UINT64_C(31) << 30,
         {.page = 2 << 20,
          .entries = 30,
          .sets = 10,
          .ways = {4, 3, 2, 4, 3, 3, 3, 2, 2, 4},
          .policy = "lru",
          .index = "mod",
          .penalty = 16.4}},
    };
    for (size_t i = 0; i < FTH_COUNT(cases); i++) {
        struct truth truth = {
            .count = 1, .memory = cases[i].memory, .l2 = 2 << 20, .levels = {cases[i].level}};
        struct fth_tlbs tlbs;
        struct verdict verdict;
        write_gpu(&truth, "gpu.json");
        find_tlbs("sim:gpu.json", truth.memory, truth.l2, &tlbs);
        compare(&truth, &tlbs, &verdict);
        if (verdict.wrong || verdict.missing)
            fail_msg("case %zu:%s", i, verdict.why);
    }
}

/* The set is selected by a XOR of address bits. In each block of 64 pages that begins at a multiple
 * of 64 pages, every set gets one page. A chain that does not begin at such a multiple has a
 * partial block at each end, which can give up to half of the sets one page too many. The test
 * shifts the beginning of the chain: an earlier probe allocates and frees `offset_pages` pages. */
static void finds_tlbs_with_an_xor_index(void **state)
{
    (void)state;
    enum { SETS = 64, WAYS = 8, ENTRIES = SETS * WAYS };
    struct truth truth = {.count = 2, .memory = UINT64_C(8) << 30, .l2 = 16 << 20};
    truth.levels[0] = (struct level){.page = 2 << 20,
                                     .entries = 16,
                                     .ways = {16},
                                     .sets = 1,
                                     .policy = "lru",
                                     .index = "mod",
                                     .penalty = 10};
    truth.levels[1] = (struct level){.page = 2 << 20,
                                     .entries = ENTRIES,
                                     .sets = SETS,
                                     .policy = "lru",
                                     .index = "xor",
                                     .penalty = 90};
    for (size_t i = 0; i < SETS; i++)
        truth.levels[1].ways[i] = WAYS;
    for (uint64_t offset_pages = 0; offset_pages < SETS; offset_pages += 7) {
        truth.noise = offset_pages % 2;
        truth.seed = offset_pages;
        write_gpu(&truth, "gpu.json");
        struct fth_error error = NO_ERROR;
        struct fth_device *device = NULL;
        struct fth_tlbs tlbs;
        assert_int_equal(fth_device_open("sim:gpu.json", NULL, &device, &error), FTH_OK);
        struct fth_prober prober = {.device = device, .sms = 2};
        if (offset_pages)
            assert_int_not_equal(
                fth_probe_tlbs(&prober, offset_pages << 21, truth.l2, &tlbs, &error),
                FTH_NO_MEMORY);
        assert_int_equal(fth_probe_tlbs(&prober, truth.memory / 2, truth.l2, &tlbs, &error),
                         FTH_OK);
        fth_device_close(device);
        struct verdict verdict;
        compare(&truth, &tlbs, &verdict);
        if (verdict.wrong || verdict.missing)
            fail_msg("shifted by %llu pages:%s", (unsigned long long)offset_pages, verdict.why);
    }
}

/* ---- Mei and Chu's GPUs ---- */

struct card {
    const char *id;
    uint64_t memory, l2;
    bool has_switch; /* pattern P6: loads that switch page tables take longer */
};
static const struct card cards[] = {
    {"sim:gtx560ti", UINT64_C(1) << 30, 512 << 10, false},
    {"sim:gtx780", UINT64_C(3) << 30, 1536 << 10, true},
    {"sim:gtx980", UINT64_C(4) << 30, 2048 << 10, true},
};

/* Opens a simulated GPU and finds its TLBs. */
static struct fth_device *open_card(const struct card *card, struct fth_prober *prober,
                                    struct fth_tlbs *tlbs)
{
    struct fth_error error = NO_ERROR;
    struct fth_device *device = NULL;
    assert_int_equal(fth_device_open(card->id, NULL, &device, &error), FTH_OK);
    *prober = (struct fth_prober){.device = device, .sms = 8};
    assert_int_equal(fth_probe_tlbs(prober, card->memory / 10 * 7, card->l2, tlbs, &error), FTH_OK);
    assert_int_equal(tlbs->count, 2);
    return device;
}

/* The TLB columns of Table 5, and Fig. 8: up to 65 pages nothing misses. Then the set of 17 ways
 * overflows, and each further page overflows a set of 8 ways. */
static void tlbs_match_table_5(void **state)
{
    (void)state;
    for (size_t i = 0; i < FTH_COUNT(cards); i++) {
        struct fth_prober prober;
        struct fth_tlbs tlbs;
        struct fth_tlb_sets sets;
        struct fth_device *device = open_card(&cards[i], &prober, &tlbs);
        assert_int_equal(tlbs.levels[0].entries * tlbs.levels[0].page_bytes, 32 << 20);
        assert_int_equal(tlbs.levels[1].entries * tlbs.levels[1].page_bytes, 130 << 20);
        struct fth_tlb_sets_plan plan = {&tlbs, 0, cards[i].memory / 10 * 7, cards[i].l2};
        assert_int_equal(fth_probe_tlb_sets(&prober, &plan, &sets, NULL), FTH_OK);
        assert_int_equal(sets.set_size_count, 1);
        assert_int_equal(sets.set_sizes[0].sets, 1);
        assert_int_equal(sets.set_sizes[0].ways, 16);
        fth_tlb_sets_fini(&sets);
        plan.level_index = 1;
        assert_int_equal(fth_probe_tlb_sets(&prober, &plan, &sets, NULL), FTH_OK);
        assert_int_equal(sets.set_size_count, 2);
        assert_int_equal(sets.set_sizes[0].sets, 1);
        assert_int_equal(sets.set_sizes[0].ways, 17);
        assert_int_equal(sets.set_sizes[1].sets, 6);
        assert_int_equal(sets.set_sizes[1].ways, 8);
        assert_int_equal(sets.policy, FTH_TLB_LRU);
        size_t steps_of_17 = 0;
        for (size_t j = 1; j < sets.miss_curve_count; j++) {
            uint64_t step = sets.miss_curve[j].missed - sets.miss_curve[j - 1].missed;
            /* An overflowing set of n ways adds n + 1 misses, or n if it contains the page of the
             * samples, which always hits. */
            assert_true(step == 0 || step == 8 || step == 9 || step == 17 || step == 18);
            steps_of_17 += step >= 17;
            if (sets.miss_curve[j].pages <= 65)
                assert_int_equal(sets.miss_curve[j].missed, 0);
        }
        assert_int_equal(steps_of_17, 1);
        fth_tlb_sets_fini(&sets);
        fth_device_close(device);
    }
}

/* Fig. 14: the six access patterns through the L2; only Kepler and Maxwell have the last one.
 * Through the L1 of Maxwell, TLB misses do not slow down L1 hits, so P2 and P3 are absent. */
static void access_patterns_match_figure_14(void **state)
{
    (void)state;
    for (size_t i = 0; i < FTH_COUNT(cards); i++) {
        struct fth_prober prober;
        struct fth_tlbs tlbs;
        struct fth_spectrum spectrum;
        struct fth_device *device = open_card(&cards[i], &prober, &tlbs);
        struct fth_spectrum_plan plan = {.path = FTH_PATH_CG,
                                         .carveout_percent = -1,
                                         .page_bytes = 2 << 20,
                                         .first_entries = tlbs.levels[0].entries,
                                         .second_entries = tlbs.levels[1].entries,
                                         .max_bytes = cards[i].memory / 10 * 7};
        assert_int_equal(fth_probe_spectrum(&prober, &plan, &spectrum, NULL), FTH_OK);
        for (int j = FTH_PATTERN_HIT; j < FTH_PATTERN_SWITCH; j++) {
            assert_int_equal(spectrum.patterns[j].presence, FTH_PRESENT);
            print_message("# %s P%d %g\n", cards[i].id, j + 1, spectrum.patterns[j].cycles.value);
        }
        assert_int_equal(spectrum.patterns[FTH_PATTERN_SWITCH].presence,
                         cards[i].has_switch ? FTH_PRESENT : FTH_ABSENT);
        assert_int_equal(spectrum.page_table_bytes, cards[i].has_switch ? 512 << 20 : 0);
        const double hit = spectrum.patterns[FTH_PATTERN_HIT].cycles.value;
        assert_true(fabs(spectrum.patterns[FTH_PATTERN_HIT_MISS].cycles.value - hit -
                         tlbs.levels[0].penalty_cycles) < 2);
        assert_true(fabs(spectrum.patterns[FTH_PATTERN_HIT_MISS_BOTH].cycles.value - hit -
                         tlbs.levels[0].penalty_cycles - tlbs.levels[1].penalty_cycles) < 2);
        if (strcmp(cards[i].id, "sim:gtx980") == 0) {
            plan.path = FTH_PATH_CA;
            assert_int_equal(fth_probe_spectrum(&prober, &plan, &spectrum, NULL), FTH_OK);
            assert_int_equal(spectrum.patterns[FTH_PATTERN_HIT_MISS].presence, FTH_ABSENT);
            assert_int_equal(spectrum.patterns[FTH_PATTERN_HIT_MISS_BOTH].presence, FTH_ABSENT);
            assert_int_equal(spectrum.patterns[FTH_PATTERN_COLD].presence, FTH_PRESENT);
            assert_true(spectrum.patterns[FTH_PATTERN_HIT].cycles.value < hit);
        }
        fth_device_close(device);
    }
}

/* ---- sets and policies ---- */

/* Recorded miss curves of the second TLB of an H200, which has 256 sets of 8 ways with a hashed
 * index. In the three runs, 7, 31 and 14 sets overflow early. Each further page adds 9 misses. */
static void finds_the_slope_of_a_hashed_tlb(void **state)
{
    (void)state;
    static const uint64_t pages[] = {2047, 2048, 2049, 2050, 2051, 2052, 2053, 2054, 2055,
                                     2057, 2059, 2062, 2065, 2069, 2074, 2080, 2088, 2098,
                                     2110, 2125, 2144, 2168, 2198, 2235, 2282, 2340};
    static const uint64_t missed[3][FTH_COUNT(pages)] = {
        {63,  63,  63,  63,  63,  63,  63,  63,  63,   81,   99,   126,  153,
         189, 234, 288, 360, 450, 558, 693, 864, 1080, 1350, 1683, 2106, 2340},
        {279, 279, 279, 279, 279, 279, 279, 279, 279,  279,  279,  279,  279,
         279, 279, 288, 360, 450, 558, 693, 864, 1080, 1350, 1683, 2018, 2340},
        {126, 126, 126, 126, 126, 126, 126, 126, 126,  126,  126,  126,  153,
         189, 234, 288, 360, 450, 558, 693, 864, 1080, 1350, 1683, 2106, 2340}};
    for (size_t run = 0; run < FTH_COUNT(missed); run++) {
        struct fth_tlb_miss_point miss_curve[FTH_COUNT(pages)];
        double slope;
        for (size_t i = 0; i < FTH_COUNT(pages); i++)
            miss_curve[i] = (struct fth_tlb_miss_point){pages[i], missed[run][i]};
        assert_int_equal(fth_tlb_slope(miss_curve, FTH_COUNT(pages), &slope, NULL), FTH_OK);
        assert_true(fabs(slope - 9) < 0.01);
        assert_int_equal(fth_tlb_slope(miss_curve, 3, &slope, NULL), FTH_OK);
        assert_true(isnan(slope));
    }
}

static void finds_sets_and_policies(void **state)
{
    (void)state;
    static const struct {
        const char *policy;
        size_t sets;
        uint64_t ways;
        enum fth_tlb_policy expected;
    } cases[] = {
        {"lru", 1, 16, FTH_TLB_LRU},       {"fifo", 1, 16, FTH_TLB_FIFO},
        {"lru", 4, 8, FTH_TLB_LRU},        {"fifo", 4, 8, FTH_TLB_FIFO},
        {"random", 1, 16, FTH_TLB_RANDOM}, {"random", 4, 8, FTH_TLB_RANDOM},
    };
    for (size_t i = 0; i < FTH_COUNT(cases); i++) {
        struct truth truth = {.count = 1, .memory = UINT64_C(8) << 30, .l2 = 8 << 20};
        struct level *level = &truth.levels[0];
        *level = (struct level){.page = 2 << 20,
                                .entries = cases[i].sets * cases[i].ways,
                                .sets = cases[i].sets,
                                .policy = cases[i].policy,
                                .index = "mod",
                                .penalty = 40};
        for (size_t j = 0; j < level->sets; j++)
            level->ways[j] = cases[i].ways;
        write_gpu(&truth, "gpu.json");
        struct card card = {"sim:gpu.json", truth.memory, truth.l2, false};
        struct fth_prober prober;
        struct fth_tlbs tlbs = {0};
        struct fth_tlb_sets sets;
        struct fth_error error = NO_ERROR;
        struct fth_device *device = NULL;
        assert_int_equal(fth_device_open(card.id, NULL, &device, &error), FTH_OK);
        prober = (struct fth_prober){.device = device, .sms = 2};
        assert_int_equal(fth_probe_tlbs(&prober, card.memory / 2, card.l2, &tlbs, &error), FTH_OK);
        struct fth_tlb_sets_plan plan = {&tlbs, 0, card.memory / 2, card.l2};
        assert_int_equal(fth_probe_tlb_sets(&prober, &plan, &sets, &error), FTH_OK);
        assert_int_equal(sets.policy, cases[i].expected);
        assert_int_equal(sets.set_size_count, 1);
        assert_int_equal(sets.set_sizes[0].sets, cases[i].sets);
        assert_int_equal(sets.set_sizes[0].ways, cases[i].ways);
        fth_tlb_sets_fini(&sets);
        fth_device_close(device);
    }
}

/* Where memory is too small to overflow all sets, the curve ends; it has no points without a
 * measurement. */
static void a_miss_curve_ends_where_memory_ends(void **state)
{
    (void)state;
    struct truth truth = {.count = 1, .memory = UINT64_C(8) << 30, .l2 = 8 << 20};
    struct level *level = &truth.levels[0];
    *level = (struct level){.page = 2 << 20,
                            .entries = 32,
                            .sets = 4,
                            .policy = "random",
                            .index = "mod",
                            .penalty = 40,
                            .ways = {8, 8, 8, 8}};
    write_gpu(&truth, "gpu.json");
    struct fth_tlbs tlbs = {0};
    struct fth_tlb_sets sets;
    struct fth_error error = NO_ERROR;
    struct fth_device *device = NULL;
    assert_int_equal(fth_device_open("sim:gpu.json", NULL, &device, &error), FTH_OK);
    const struct fth_prober prober = {.device = device, .sms = 2};
    assert_int_equal(fth_probe_tlbs(&prober, truth.memory / 2, truth.l2, &tlbs, &error), FTH_OK);
    assert_int_equal(tlbs.levels[0].entries, 32);
    /* Memory for 34 pages. */
    const struct fth_tlb_sets_plan plan = {&tlbs, 0, UINT64_C(34) * ((2 << 20) + 256) + (1 << 20),
                                           truth.l2};
    assert_int_equal(fth_probe_tlb_sets(&prober, &plan, &sets, &error), FTH_OK);
    assert_true(sets.miss_curve_count >= 1 && sets.miss_curve_count <= 3);
    for (size_t i = 1; i < sets.miss_curve_count; i++)
        assert_true(sets.miss_curve[i].missed > 0);
    assert_non_null(sets.doubt);
    assert_contains(sets.doubt, "too little memory");
    fth_tlb_sets_fini(&sets);
    fth_device_close(device);
}

int main(int argc, char **argv)
{
    if (argc > 2) {
        first_seed = strtoull(argv[1], NULL, 10);
        last_seed = strtoull(argv[2], NULL, 10);
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(tlbs_match_table_5),
                                       cmocka_unit_test(access_patterns_match_figure_14),
                                       cmocka_unit_test(finds_sets_and_policies),
                                       cmocka_unit_test(a_miss_curve_ends_where_memory_ends),
                                       cmocka_unit_test(large_tlbs_take_few_samples),
                                       cmocka_unit_test(finds_tlbs_with_one_way_per_set),
                                       cmocka_unit_test(finds_tlbs_with_unequal_sets),
                                       cmocka_unit_test(finds_the_slope_of_a_hashed_tlb),
                                       cmocka_unit_test(finds_tlbs_with_an_xor_index),
                                       cmocka_unit_test(finds_random_tlbs)};
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
