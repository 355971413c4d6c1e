/* Closure tests for the probes of sets and policies. They dissect the L1s of simulated GPUs with a
 * random structure, which is the truth: all policies, index functions, and equal or unequal sets.
 * The result must be correct or unknown, never wrong, and at least 85 % of the structures must be
 * found. Every tenth seed also gives random TLBs.
 *
 *   test_dissect_closure [FIRST LAST]      the range of seeds; 1 to 300 by default
 *
 * Most structures that stay unknown have sets of different sizes with an index function other than
 * "mod" or "bits", or sets that fill so unevenly that hardly any line evicts another. */
#include "cache/cache.h"
#include "check.h"
#include "probe/cache/probe_cache.h"
#include "probe/structure/probe_structure.h"
#include "probe/tlb/probe_tlb.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { MAX_RANDOM_SETS = 128, MAX_RANDOM_WAYS = 256 };

/* The structure of the L1 of a simulated GPU. */
struct truth {
    uint64_t line, sets, ways;
    uint64_t set_ways[MAX_RANDOM_SETS];
    bool unequal; /* the sets have different numbers of ways */
    char index[64];
    const char *policy;
    double weights[MAX_RANDOM_WAYS];
    bool sectors; /* lines have sectors of 32 bytes */
};

static uint64_t between(struct fth_rng *rng, uint64_t low, uint64_t high)
{
    return low + fth_rng_below(rng, high - low + 1);
}

static unsigned log2_of(uint64_t number)
{
    return 63 - (unsigned)__builtin_clzll(number);
}

/* Sets an index function of log2(sets) address bits above the offset in the line, in ascending
 * order. */
static void random_bits(struct fth_rng *rng, struct truth *truth)
{
    unsigned bit = log2_of(truth->line) + (unsigned)between(rng, 0, 3);
    size_t used = (size_t)snprintf(truth->index, sizeof truth->index, "bits:[");
    for (uint64_t left = truth->sets; left > 1; left /= 2) {
        used += (size_t)snprintf(truth->index + used, sizeof truth->index - used, "%u%s", bit,
                                 left > 2 ? "," : "]");
        bit += (unsigned)between(rng, 1, 2);
    }
}

static void random_index(struct fth_rng *rng, struct truth *truth)
{
    static const uint64_t odd[] = {3, 5, 6, 7, 10, 12, 13, 24, 31, 48, 96};
    unsigned kind = (unsigned)fth_rng_below(rng, 7);
    truth->sets = (uint64_t)1 << between(rng, 0, 6);
    snprintf(truth->index, sizeof truth->index, "mod");
    if (kind == 1 && truth->sets > 1)
        snprintf(truth->index, sizeof truth->index, "xor");
    if (kind == 2)
        snprintf(truth->index, sizeof truth->index, "shift:%u", (unsigned)between(rng, 1, 4));
    if (kind == 3 && truth->sets > 1)
        random_bits(rng, truth);
    if (kind >= 4)
        truth->sets = odd[fth_rng_below(rng, FTH_COUNT(odd))];
    if (kind == 5)
        snprintf(truth->index, sizeof truth->index, "prime");
    if (kind == 6)
        snprintf(truth->index, sizeof truth->index, fth_rng_below(rng, 2) ? "xor" : "shift:%u",
                 (unsigned)between(rng, 1, 3));
}

static struct truth random_truth(uint64_t seed)
{
    static const char *const policies[] = {"lru", "fifo", "lfu", "plru", "random", "weighted"};
    struct fth_rng rng;
    struct truth truth = {.line = 0};
    fth_rng_init(&rng, seed);
    truth.line = (uint64_t)32 << fth_rng_below(&rng, 3);
    truth.sectors = truth.line > 32 && fth_rng_below(&rng, 3) == 0;
    random_index(&rng, &truth);
    uint64_t max = 640 / truth.sets;
    truth.ways = between(&rng, 1, fth_rng_below(&rng, 2) && max > 16 ? 16 : max);
    truth.policy = policies[fth_rng_below(&rng, FTH_COUNT(policies))];
    bool plru = strcmp(truth.policy, "plru") == 0;
    while (plru && (truth.ways & (truth.ways - 1)))
        truth.ways &= truth.ways - 1;
    truth.unequal = !plru && truth.sets > 1 && truth.ways > 1 &&
                    strcmp(truth.policy, "weighted") != 0 && fth_rng_below(&rng, 5) == 0;
    for (uint64_t set = 0; set < truth.sets; set++)
        truth.set_ways[set] = truth.unequal && fth_rng_below(&rng, 3) == 0
                                  ? between(&rng, 1, 2 * truth.ways)
                                  : truth.ways;
    for (uint64_t way = 0; way < truth.ways && way < MAX_RANDOM_WAYS; way++)
        truth.weights[way] = (double)between(&rng, 1, 4);
    if (truth.ways > MAX_RANDOM_WAYS && strcmp(truth.policy, "weighted") == 0)
        truth.policy = "random";
    return truth;
}

/* Writes the description of a GPU with this L1 to a file. */
static void write_gpu(const struct truth *truth, uint64_t seed, const char *path)
{
    struct fth_buffer text = {0};
    uint64_t bytes = 0;
    for (uint64_t set = 0; set < truth->sets; set++)
        bytes += truth->set_ways[set] * truth->line;
    fth_buffer_format(
        &text,
        "{\"schema\": \"fathom-gpu/1\", \"device\": {\"name\": \"Random\", \"sms\": 4, "
        "\"clock_mhz\": 1000, \"compute_capability\": \"7.0\"}, \"noise\": {\"seed\": "
        "%llu}, \"elements\": {\"l1\": {\"size_bytes\": %llu, \"line_bytes\": %llu, "
        "\"sector_bytes\": %llu, \"latency_cycles\": 32, \"sets\": %llu, ",
        (unsigned long long)seed, (unsigned long long)bytes, (unsigned long long)truth->line,
        (unsigned long long)(truth->sectors ? 32 : truth->line), (unsigned long long)truth->sets);
    if (truth->unequal) {
        fth_buffer_text(&text, "\"set_ways\": [");
        for (uint64_t set = 0; set < truth->sets; set++)
            fth_buffer_format(&text, "%s%llu", set ? "," : "",
                              (unsigned long long)truth->set_ways[set]);
        fth_buffer_text(&text, "], ");
    } else {
        fth_buffer_format(&text, "\"ways\": %llu, ", (unsigned long long)truth->ways);
    }
    if (strcmp(truth->policy, "weighted") == 0) {
        fth_buffer_text(&text, "\"way_weights\": [");
        for (uint64_t way = 0; way < truth->ways; way++)
            fth_buffer_format(&text, "%s%g", way ? "," : "", truth->weights[way]);
        fth_buffer_text(&text, "], ");
    }
    fth_buffer_format(&text,
                      "\"index\": \"%s\", \"policy\": \"%s\"}, \"l2\": {\"size_bytes\": 8388608, "
                      "\"latency_cycles\": 220}, \"memory\": {\"latency_cycles\": 500}}}",
                      truth->index, truth->policy);
    struct fth_error error = FTH_NO_ERROR;
    struct fth_gpu *gpu = NULL;
    if (fth_gpu_read_text("random", text.data, text.size, NULL, &gpu, &error) != FTH_OK)
        fail_msg("seed %llu: %s\n%s", (unsigned long long)seed, error.cause, text.data);
    fth_gpu_destroy(gpu);
    assert_int_equal(fth_file_write(path, text.data, text.size, NULL), FTH_OK);
    fth_buffer_fini(&text);
}

/* ---- comparison ---- */

static struct fth_cache *make_cache(uint64_t line, uint64_t sets, uint64_t ways,
                                    const uint64_t *set_ways, const char *index)
{
    const struct fth_cache_config config = {.line_bytes = line,
                                            .sets = sets,
                                            .ways = ways,
                                            .set_ways = set_ways,
                                            .index = index,
                                            .policy = "lru"};
    struct fth_cache *cache = NULL;
    struct fth_error error = FTH_NO_ERROR;
    if (fth_cache_create(&config, &cache, &error) != FTH_OK)
        fail_msg("%s %s: %s", index, error.argument, error.cause);
    return cache;
}

enum { COMPARED_LINES = 2048 }; /* lines */

/* Returns whether two caches map the same lines to the same set, and whether these sets have the
 * same size. For each line, it compares the first line of the same set and the ways of the set. The
 * numbers of the lines of `a` start at `offset`, because the probe does not know the address of its
 * array. */
static bool same_sets(const struct fth_cache *a, const struct fth_cache *b, uint64_t line,
                      uint64_t offset)
{
    static uint32_t first_a[1 << 16], first_b[1 << 16];
    memset(first_a, 0xff, sizeof first_a);
    memset(first_b, 0xff, sizeof first_b);
    for (uint32_t i = 0; i < COMPARED_LINES; i++) {
        uint32_t set_a = fth_cache_set(a, (offset + i) * line), set_b = fth_cache_set(b, i * line);
        if (first_a[set_a] == UINT32_MAX)
            first_a[set_a] = i;
        if (first_b[set_b] == UINT32_MAX)
            first_b[set_b] = i;
        if (first_a[set_a] != first_b[set_b])
            return false;
        if (a->first[set_a + 1] - a->first[set_a] != b->first[set_b + 1] - b->first[set_b])
            return false;
    }
    return true;
}

static bool same_structure(const struct truth *truth, const struct fth_structure *found)
{
    struct fth_cache *a = make_cache(truth->line, truth->sets, truth->ways,
                                     truth->unequal ? truth->set_ways : NULL, truth->index);
    struct fth_cache *b = make_cache(truth->line, found->sets, found->ways ? found->ways : 1,
                                     found->set_ways, found->index);
    /* The address of the array is not known: the caches are equal if they are for any offset. */
    bool same = same_sets(a, b, truth->line, 0);
    for (uint64_t offset = 1; offset < 4096 && !same; offset++)
        same = same_sets(a, b, truth->line, offset);
    fth_cache_destroy(a);
    fth_cache_destroy(b);
    return same;
}

static bool same_policy(const struct truth *truth, const struct fth_replacement *found)
{
    bool equal_weights = true;
    double sum = 0;
    if (strcmp(truth->policy, "plru") == 0 && truth->ways == 2)
        return strcmp(found->policy, "lru") == 0; /* PLRU with two ways is LRU */
    for (uint64_t way = 0; way < truth->ways; way++) {
        equal_weights = equal_weights && truth->weights[way] == truth->weights[0];
        sum += truth->weights[way];
    }
    if (strcmp(truth->policy, "weighted") != 0 || equal_weights)
        return strcmp(found->policy,
                      strcmp(truth->policy, "weighted") ? truth->policy : "random") == 0;
    if (strcmp(found->policy, "weighted") != 0 || found->ways != truth->ways)
        return false;
    for (uint64_t way = 0; way < truth->ways; way++)
        if (fabs(found->way_shares[way] - truth->weights[way] / sum) > 0.025)
            return false;
    return true;
}

/* ---- caches ---- */

/* Number of structures and of policies with each result. */
struct score {
    unsigned right, unknown, wrong, policy_right, policy_unknown, policy_wrong;
};

/* A cache with the policy clock. With its default of 128 rows of 4 tags, at most 60 ways are few
 * enough that the lines of a chain hardly ever compete for the tags of a row. */
static struct truth random_clock(uint64_t seed)
{
    struct fth_rng rng;
    struct truth truth = {.line = 0, .policy = "clock"};
    fth_rng_init(&rng, seed);
    truth.line = (uint64_t)32 << fth_rng_below(&rng, 3);
    truth.sets = (uint64_t)1 << between(&rng, 0, 3);
    truth.ways = between(&rng, 12, 60);
    for (uint64_t set = 0; set < truth.sets; set++)
        truth.set_ways[set] = truth.ways;
    snprintf(truth.index, sizeof truth.index, "%s",
             truth.sets > 1 && fth_rng_below(&rng, 2) ? "xor" : "mod");
    return truth;
}

/* Dissects the cache and adds the result to the score. */
static void dissect_truth(struct truth truth, uint64_t seed, const char *path, struct score *score)
{
    struct fth_device *device = NULL;
    struct fth_error error = FTH_NO_ERROR;
    char id[300];
    write_gpu(&truth, seed, path);
    snprintf(id, sizeof id, "sim:%s", path);
    assert_int_equal(fth_device_open(id, NULL, &device, &error), FTH_OK);
    const struct fth_prober prober = {.device = device, .sms = 4};
    struct fth_cache_plan plan = {.path = FTH_PATH_CA,
                                  .carveout_percent = 0,
                                  .line_bytes = truth.line,
                                  .threshold_cycles = 110};
    const struct fth_capacity_plan size = {.path = FTH_PATH_CA,
                                           .carveout_percent = 0,
                                           .stride_bytes = truth.line,
                                           .smallest_bytes = truth.line,
                                           .largest_bytes = 512 << 10,
                                           .hit_cycles = 40,
                                           .miss_cycles = 240};
    struct fth_capacity capacity = {0};
    struct fth_structure structure = {0};
    struct fth_replacement replacement = {0};
    char report[1200] = "";
    enum fth_status status = fth_probe_capacity(&prober, &size, &capacity, &error);
    plan.fits_bytes = capacity.fits_bytes;
    if (status == FTH_OK)
        status = fth_probe_sets(&prober, &plan, &structure, &error);
    bool identified = status == FTH_OK && structure.index[0];
    if (identified && !same_structure(&truth, &structure)) {
        score->wrong++;
        snprintf(report, sizeof report, "found %llu sets, %llu ways, %s, confidence %.3f;",
                 (unsigned long long)structure.sets, (unsigned long long)structure.ways,
                 structure.index, fth_confidence(structure.evidence));
    } else if (identified) {
        score->right++;
    } else {
        score->unknown++;
        snprintf(report, sizeof report, "sets: %s;",
                 status == FTH_OK ? structure.hash : error.cause);
    }
    if (status == FTH_OK && structure.one_set.count) {
        error = FTH_NO_ERROR;
        status = fth_probe_policy(&prober, &plan, &structure.one_set, &replacement, &error);
        size_t used = strlen(report);
        if (status != FTH_OK)
            snprintf(report + used, sizeof report - used, " policy: %s", error.cause);
        else if (!same_policy(&truth, &replacement))
            snprintf(report + used, sizeof report - used, " found %s", replacement.policy);
        score->policy_unknown += status != FTH_OK;
        score->policy_right += status == FTH_OK && same_policy(&truth, &replacement);
        score->policy_wrong += status == FTH_OK && !same_policy(&truth, &replacement);
    }
    if (report[0])
        print_message("# seed %llu (%llu sets, %llu ways%s, %s, %s): %s\n",
                      (unsigned long long)seed, (unsigned long long)truth.sets,
                      (unsigned long long)truth.ways, truth.unequal ? ", unequal" : "", truth.index,
                      truth.policy, report);
    fth_structure_fini(&structure);
    fth_replacement_fini(&replacement);
    fth_device_close(device);
}

static void dissect(uint64_t seed, const char *path, struct score *score)
{
    dissect_truth(random_truth(seed), seed, path, score);
}

static void dissect_clock(uint64_t seed, const char *path, struct score *score)
{
    dissect_truth(random_clock(seed), seed, path, score);
}

static uint64_t first_seed = 1, last_seed = 300;

/* Calls one() for every `step`-th seed, with the path of a temporary file for the description.
 * Returns and prints the score. */
static struct score score_seeds(const char *kind, uint64_t step,
                                void (*one)(uint64_t seed, const char *path, struct score *score))
{
    char path[] = "/tmp/fathom-dissect-XXXXXX";
    int file = mkstemp(path);
    struct score score = {0};
    assert_true(file >= 0);
    close(file);
    for (uint64_t seed = first_seed; seed <= last_seed; seed += step)
        one(seed, path, &score);
    unlink(path);
    print_message("# %s: %u right, %u unknown, %u wrong; policies: %u right, %u unknown, %u "
                  "wrong\n",
                  kind, score.right, score.unknown, score.wrong, score.policy_right,
                  score.policy_unknown, score.policy_wrong);
    return score;
}

static void clocks_are_recognised(void **state)
{
    (void)state;
    const struct score score = score_seeds("clocks", 10, dissect_clock);
    const uint64_t all = (last_seed - first_seed) / 10 + 1;
    assert_int_equal(score.wrong + score.policy_wrong, 0);
    assert_true((uint64_t)100 * score.right >= 85 * all);
    assert_true((uint64_t)100 * score.policy_right >= 85 * all);
}

static void caches_are_dissected_correctly(void **state)
{
    (void)state;
    const struct score score = score_seeds("sets", 1, dissect);
    assert_int_equal(score.wrong, 0);
    assert_int_equal(score.policy_wrong, 0);
    /* An unknown structure is not wrong, but most must be found. */
    assert_true((uint64_t)100 * score.right >= 85 * (last_seed - first_seed + 1));
}

/* ---- TLBs ---- */

enum { MAX_TLB_SETS = 8 };

struct tlb_truth {
    uint64_t sets, ways[MAX_TLB_SETS], entries;
    const char *policy;
    unsigned penalty;
};

/* Returns a TLB whose sets have the same size, except that the first is sometimes larger. */
static struct tlb_truth random_tlb(struct fth_rng *rng, uint64_t max_ways, bool inner)
{
    static const char *const policies[] = {"lru", "lru", "fifo", "random", "plru"};
    struct tlb_truth truth = {.sets = (uint64_t)1 << between(rng, 0, inner ? 1 : 3)};
    uint64_t ways = between(rng, inner ? 4 : 6, max_ways);
    truth.policy = policies[fth_rng_below(rng, FTH_COUNT(policies))];
    const bool plru = strcmp(truth.policy, "plru") == 0;
    while (plru && ways & (ways - 1))
        ways &= ways - 1;
    for (uint64_t set = 0; set < truth.sets; set++)
        truth.ways[set] = ways;
    if (!inner && !plru && truth.sets > 1 && fth_rng_below(rng, 3) == 0)
        truth.ways[0] += between(rng, 2, ways);
    for (uint64_t set = 0; set < truth.sets; set++)
        truth.entries += truth.ways[set];
    truth.penalty = (unsigned)between(rng, 20, 120);
    return truth;
}

static void write_tlb(const struct tlb_truth *truth, size_t level_index, struct fth_buffer *text)
{
    fth_buffer_format(text,
                      ", \"tlb_l%zu\": {\"scope\": \"gpu\", \"page_bytes\": 2097152, "
                      "\"miss_penalty_cycles\": %u, \"policy\": \"%s\", \"set_ways\": [",
                      level_index + 1, truth->penalty, truth->policy);
    for (uint64_t set = 0; set < truth->sets; set++)
        fth_buffer_format(text, "%s%llu", set ? "," : "", (unsigned long long)truth->ways[set]);
    fth_buffer_text(text, "]}");
}

static bool same_tlb(const struct tlb_truth *truth, const struct fth_tlb_sets *found)
{
    uint64_t large = 0, common = truth->ways[truth->sets - 1];
    for (uint64_t set = 0; set < truth->sets; set++)
        large += truth->ways[set] != common;
    const size_t last = found->set_size_count - 1;
    return found->set_size_count == 1 + (large > 0) && found->set_sizes[last].ways == common &&
           found->set_sizes[last].sets == truth->sets - large &&
           (large == 0 ||
            (found->set_sizes[0].sets == 1 && found->set_sizes[0].ways == truth->ways[0]));
}

/* "Not periodic" and "other" are correct for PLRU and random. */
static bool same_tlb_policy(const struct tlb_truth *truth, enum fth_tlb_policy found)
{
    if (found == FTH_TLB_NOT_PERIODIC || found == FTH_TLB_OTHER)
        return strcmp(truth->policy, "lru") != 0 && strcmp(truth->policy, "fifo") != 0;
    return found == (strcmp(truth->policy, "lru") == 0    ? FTH_TLB_LRU
                     : strcmp(truth->policy, "fifo") == 0 ? FTH_TLB_FIFO
                     : strcmp(truth->policy, "plru") == 0 ? FTH_TLB_PLRU
                                                          : FTH_TLB_RANDOM);
}

/* Dissects the TLBs of one seed, one or two levels, and adds the results to the score. */
static void dissect_tlbs(uint64_t seed, const char *path, struct score *score)
{
    struct fth_rng rng;
    fth_rng_init(&rng, seed);
    struct tlb_truth truth[2] = {random_tlb(&rng, 12, true), random_tlb(&rng, 20, false)};
    const size_t count = 1 + fth_rng_below(&rng, 2);
    struct fth_tlbs tlbs = {.count = count};
    struct fth_buffer text = {0};
    fth_buffer_text(&text, "{\"schema\": \"fathom-gpu/1\", \"device\": {\"name\": \"Random\", "
                           "\"sms\": 2}, \"elements\": {\"l2\": {\"size_bytes\": 8388608, "
                           "\"latency_cycles\": 220}, \"memory\": {\"size_bytes\": 4294967296}");
    for (size_t i = 0; i < count; i++) {
        write_tlb(&truth[i], i, &text);
        tlbs.levels[i] = (struct fth_tlb_level){
            .page_bytes = 2 << 20, .entries = truth[i].entries, .penalty_cycles = truth[i].penalty};
    }
    fth_buffer_text(&text, "}}");
    assert_int_equal(fth_file_write(path, text.data, text.size, NULL), FTH_OK);
    fth_buffer_fini(&text);
    char id[300];
    struct fth_device *device = NULL;
    struct fth_error error = FTH_NO_ERROR;
    snprintf(id, sizeof id, "sim:%s", path);
    assert_int_equal(fth_device_open(id, NULL, &device, &error), FTH_OK);
    const struct fth_prober prober = {.device = device, .sms = 2};
    for (size_t i = 0; i < count; i++) {
        struct fth_tlb_sets found;
        const struct fth_tlb_sets_plan plan = {&tlbs, i, UINT64_C(2) << 30, 8 << 20};
        assert_int_equal(fth_probe_tlb_sets(&prober, &plan, &found, &error), FTH_OK);
        const bool known = found.set_size_count > 0, same = known && same_tlb(&truth[i], &found);
        const bool policy_known = found.policy != FTH_TLB_POLICY_UNKNOWN;
        const bool policy_same = same_tlb_policy(&truth[i], found.policy);
        score->right += same;
        score->wrong += known && !same;
        /* With PLRU, not all pages of a set need to miss, so the sets may stay unknown. */
        score->unknown += !known && strcmp(truth[i].policy, "plru") != 0;
        score->policy_right += policy_known && policy_same;
        score->policy_wrong += policy_known && !policy_same;
        score->policy_unknown += !policy_known;
        if (!same || !policy_same)
            print_message("# TLB %zu of seed %llu (%llu sets, %llu and %llu ways, %s; inner level: "
                          "%s): found "
                          "%llu sets of %llu ways, policy %d; %s\n",
                          i + 1, (unsigned long long)seed, (unsigned long long)truth[i].sets,
                          (unsigned long long)truth[i].ways[0],
                          (unsigned long long)truth[i].ways[truth[i].sets - 1], truth[i].policy,
                          i ? truth[0].policy : "none",
                          (unsigned long long)(known ? found.set_sizes[0].sets : 0),
                          (unsigned long long)(known ? found.set_sizes[0].ways : 0),
                          (int)found.policy, found.doubt ? found.doubt : "");
        fth_tlb_sets_fini(&found);
    }
    fth_device_close(device);
}

static void tlbs_are_dissected_correctly(void **state)
{
    (void)state;
    const struct score score = score_seeds("TLBs", 10, dissect_tlbs);
    assert_int_equal(score.wrong, 0);
    assert_int_equal(score.policy_wrong, 0);
    assert_true(100 * score.right >= 70 * (score.right + score.unknown));
}

int main(int count, char *words[])
{
    if (count > 2) {
        first_seed = strtoull(words[1], NULL, 10);
        last_seed = strtoull(words[2], NULL, 10);
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(caches_are_dissected_correctly),
                                       cmocka_unit_test(clocks_are_recognised),
                                       cmocka_unit_test(tlbs_are_dissected_correctly)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
