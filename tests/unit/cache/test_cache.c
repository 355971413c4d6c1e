/* Tests of cache/: index functions, replacement policies and write policies, compared with results
 * that were computed by hand or published by Mei and Chu. tests/oracle compares random caches with
 * a brute-force implementation. */
#include "cache/cache.h"
#include "check.h"

#include <stdlib.h>

static struct fth_cache *create_cache(const struct fth_cache_config *config)
{
    struct fth_cache *cache = NULL;
    struct fth_error error = NO_ERROR;
    if (fth_cache_create(config, &cache, &error) != FTH_OK)
        fail_msg("%s: %s", error.argument, error.cause);
    return cache;
}

/* Returns the number of lines that the cache holds. */
static size_t lines_held(const struct fth_cache *cache)
{
    size_t count = 0;
    for (uint32_t slot = 0; slot < cache->slots; slot++)
        count += fth_line_of(cache, slot)->number != FTH_NO_LINE;
    return count;
}

static bool read_hits(struct fth_cache *cache, uint64_t address, uint64_t bytes)
{
    return fth_cache_access(cache, address, bytes, FTH_CACHE_READ, NULL) == FTH_CACHE_HIT;
}

/* Reads a word every `stride` bytes from address 0 to `bytes`. Returns the number of misses. */
static int walk(struct fth_cache *cache, uint64_t bytes, uint64_t stride)
{
    int misses = 0;
    for (uint64_t address = 0; address < bytes; address += stride)
        misses += !read_hits(cache, address, 4);
    return misses;
}

/* ---- index functions ---- */

static void index_functions_select_the_expected_set(void **state)
{
    (void)state;
    static const struct {
        const char *index;
        uint64_t sets, line_bytes, address;
        uint32_t set;
    } rows[] = {
        {NULL, 64, 128, 128ull * 65, 1},
        {"mod", 3, 8, 8ull * 7, 1},
        {"mod", 3, 8, UINT64_MAX, 1}, /* (2^61 - 1) % 3 = 1 */
        {"mod", 1, 8, 8ull * 7, 0},
        {"shift:2", 4, 32, 32ull * 3, 0},
        {"shift:2", 4, 32, 32ull * 4, 1},
        {"shift:2", 3, 32, 32ull * 12, 0},
        {"shift:63", 4, 32, UINT64_MAX, 0},
        {"prime", 64, 128, 128ull * 61, 0}, /* 61 is the largest prime below 64 */
        {"prime", 64, 128, 128ull * 64, 3},
        {"prime", 64, 128, UINT64_MAX, 22}, /* (2^57 - 1) % 61 = 22 */
        {"prime", 7, 128, 128ull * 8, 1},
        {"prime", 2, 128, 128ull * 3, 1},
        {"prime", 1, 128, 128ull * 9, 0},
        {"xor", 64, 128, 128ull * 63, 63},
        {"xor", 64, 128, 128ull * 64, 1},
        {"xor", 64, 128, 128ull * (64 + 1), 0},
        {"xor", 64, 128, 128ull * (3 << 12 | 2 << 6 | 4), 3 ^ 2 ^ 4},
        {"xor", 4, 128, 128ull * 0x123456789abcd, 1}, /* XOR of groups of two bits */
        {"xor", 4, 4, UINT64_MAX, 3},                 /* 31 groups of two ones */
        {"xor", 2, 4, UINT64_MAX, 0},                 /* 62 ones */
        {"xor", 2, 4, UINT64_MAX - 4, 1},
        {"xor", 1, 128, 128ull * 5, 0},
        {"xor", 3, 32, 32ull * 3, 0},        /* groups of two bits: 3 % 3 */
        {"xor", 5, 32, 32ull * (8 + 6), 2},  /* groups of three bits: (1 ^ 6) % 5 */
        {"xor", 6, 32, 32ull * (56 + 2), 5}, /* (7 ^ 2) % 6 */
        {"bits:[7,8]", 4, 32, 0x7f, 0},
        {"bits:[7,8]", 4, 32, 0x80, 1},
        {"bits:[7,8]", 4, 32, 0x1ff, 3},
        {"bits:[8,7]", 4, 32, 0x80, 2},
        {"bits:[63]", 2, 32, UINT64_MAX, 1},
        {"bits:[5,9,13]", 8, 32, 0x2200, 6},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_cache *cache =
            create_cache(&(struct fth_cache_config){.line_bytes = rows[i].line_bytes,
                                                    .sets = rows[i].sets,
                                                    .ways = 2,
                                                    .index = rows[i].index});
        uint32_t set = fth_cache_set(cache, rows[i].address);
        if (set != rows[i].set)
            fail_msg("row %zu: set %u instead of %u", i, set, rows[i].set);
        const uint64_t line = rows[i].address / rows[i].line_bytes, lines[] = {line, 0, line};
        uint32_t sets[] = {UINT32_MAX, UINT32_MAX, UINT32_MAX};
        fth_index_sets(&cache->index, lines, FTH_COUNT(lines), sets);
        assert_int_equal(sets[0], rows[i].set);
        assert_int_equal(sets[1], 0);
        assert_int_equal(sets[2], rows[i].set);
        fth_cache_destroy(cache);
    }
}

/* Lines are distributed round-robin to sets of 3, 1 and 2 ways, skipping full sets. The sequence
 * repeats after six lines. */
static void lines_are_distributed_over_unequal_sets(void **state)
{
    (void)state;
    static const uint64_t ways[] = {3, 1, 2};
    static const uint32_t sets[] = {0, 1, 2, 0, 2, 0, 0, 1, 2, 0, 2, 0, 0};
    struct fth_cache *cache =
        create_cache(&(struct fth_cache_config){.line_bytes = 32, .sets = 3, .set_ways = ways});
    assert_int_equal(cache->slots, 6);
    for (size_t i = 0; i < FTH_COUNT(sets); i++)
        assert_int_equal(fth_cache_set(cache, i * 32), sets[i]);
    fth_cache_destroy(cache);
    cache = create_cache(&(struct fth_cache_config){
        .line_bytes = 32, .sets = 3, .set_ways = ways, .index = "shift:1"});
    for (size_t i = 0; i < 2 * FTH_COUNT(sets); i++)
        assert_int_equal(fth_cache_set(cache, i * 32), sets[i / 2]);
    fth_cache_destroy(cache);
}

/* ---- examples from Mei and Chu ---- */

/* Mei and Chu, Fig. 2 and 3: a cache of 12 words has 3 sets with 2 ways and 2 words per line. 13
 * words are read cyclically. From the 13th access on, exactly the 1st, 7th and 13th word miss. */
static void thirteen_words_in_a_12_word_cache_miss_periodically(void **state)
{
    (void)state;
    struct fth_cache *cache =
        create_cache(&(struct fth_cache_config){.line_bytes = 8, .sets = 3, .ways = 2});
    for (int access = 1; access <= 13 * 20; access++) {
        int word = (access - 1) % 13 + 1;
        bool hit = read_hits(cache, 4 * (uint64_t)(word - 1), 4);
        bool expected = access <= 12 ? word % 2 == 0 : word != 1 && word != 7 && word != 13;
        if (hit != expected)
            fail_msg("access %d, word %d: %s", access, word, hit ? "hit" : "miss");
    }
    fth_cache_destroy(cache);
}

/* Mei and Chu, Section 4.3: the texture cache of Fermi and Kepler has 12 KB in 4 sets of 96 lines
 * of 32 bytes. Bits 7 and 8 of the address select the set. */
static void texture_cache_overflows_set_by_set(void **state)
{
    (void)state;
    static const struct {
        uint64_t bytes;
        int misses; /* in each pass after the first */
    } rows[] = {
        {12288, 0},
        {12288 + 32, 97}, /* the first set has one line more than ways */
        {12288 + 128, 100},
        {12288 + 160, 100 + 97}, /* the second set also overflows */
        {12288 + 256, 200},
        {12800, 400}, /* "when the array is larger than 12.5 KB, each access is a miss" */
        {12800 + 32, 401},
    };
    struct fth_cache *cache = create_cache(
        &(struct fth_cache_config){.line_bytes = 32, .sets = 4, .ways = 96, .index = "bits:[7,8]"});
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        fth_cache_reset(cache);
        assert_int_equal(walk(cache, rows[i].bytes, 32), rows[i].bytes / 32);
        for (int pass = 0; pass < 3; pass++)
            assert_int_equal(walk(cache, rows[i].bytes, 32), rows[i].misses);
    }
    fth_cache_destroy(cache);
}

/* Mei and Chu, Section 4.4: an L2 TLB of 65 entries covers 130 MB. At 132 MB, 17 entries miss, and
 * each further page of 2 MB adds 8. Here, these entries are the ways that are replaced. Each
 * overflowing set has one more page than ways, and under LRU all its pages miss. Therefore there is
 * one more miss than entries per overflowing set. */
static void tlb_overflows_set_by_set(void **state)
{
    (void)state;
    static const uint64_t ways[] = {17, 8, 8, 8, 8, 8, 8};
    const uint64_t page = 2 << 20, mb = 1 << 20;
    struct fth_cache *tlb = create_cache(&(struct fth_cache_config){
        .line_bytes = page, .sets = FTH_COUNT(ways), .set_ways = ways, .index = "mod"});
    for (uint64_t n = 128; n <= 144; n += 2) {
        fth_cache_reset(tlb);
        walk(tlb, n * mb, page);
        bool replaced[7][17] = {{false}};
        int entries = 0, misses = 0;
        for (uint64_t address = 0; address < n * mb; address += page) {
            struct fth_cache_result result;
            fth_cache_access(tlb, address, 4, FTH_CACHE_READ, &result);
            misses += result.outcome != FTH_CACHE_HIT;
            if (result.evicted && !replaced[result.set][result.way]) {
                replaced[result.set][result.way] = true;
                entries++;
            }
        }
        int overflowing_sets = n <= 130 ? 0 : (int)(n - 130) / 2;
        assert_int_equal(entries, overflowing_sets ? 17 + 8 * (overflowing_sets - 1) : 0);
        assert_int_equal(misses, entries + overflowing_sets);
    }
    fth_cache_destroy(tlb);
}

/* ---- replacement ---- */

/* Each letter of `reads` is a line of one set with three ways (four for plru). `evicted` has the
 * victim of each read, or a dot if the read evicts nothing. */
static void policies_evict_the_expected_line(void **state)
{
    (void)state;
    static const struct {
        const char *policy, *reads, *evicted;
    } rows[] = {
        {"lru", "abcadbeaf", "....bcadb"},
        {"lru", "aabbccdabc", "......abcd"},
        {NULL, "abcabcbad", "........c"},
        {"fifo", "abcadbeaf", "....a.bcd"},
        {"fifo", "abcaaadbcaa", "......a..b."},
        {"lfu", "aabbcdecdb", ".....cdec."}, /* a and b were used twice */
        {"lfu", "aabbccdae", "......ada"},   /* equal counts: LRU; an evicted line restarts at 1 */
        /* a is hit: 0, b and c: 2, d replaces b after one step of age: a 1, c 3, d 2 */
        {"srrip", "abcadea", "....bc."},
        /* without hits, the first way of the oldest ones: as FIFO here */
        {"srrip", "abcdabc", "...abcd"},
        /* lines that were hit survive a pass over others */
        {"srrip", "ababxyzab", ".....xy.."},
        {"drrip", "abcadea", "....bc."},    /* one set: as SRRIP */
        {"plru", "abcdeabcd", "....ac.de"}, /* as in the constant L1 of an H200 */
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_cache *cache = create_cache(&(struct fth_cache_config){
            .line_bytes = 32,
            .sets = 1,
            .ways = rows[i].policy && strcmp(rows[i].policy, "plru") == 0 ? 4 : 3,
            .policy = rows[i].policy});
        char evicted[16] = "";
        for (size_t j = 0; rows[i].reads[j]; j++) {
            struct fth_cache_result result;
            fth_cache_access(cache, 32 * (uint64_t)rows[i].reads[j], 1, FTH_CACHE_READ, &result);
            evicted[j] = result.evicted ? (char)(result.evicted_line / 32) : '.';
        }
        assert_string_equal(evicted, rows[i].evicted);
        fth_cache_destroy(cache);
    }
}

static void free_ways_are_filled_first_in_ascending_order(void **state)
{
    (void)state;
    static const char *const policies[] = {"lru",    "fifo",     "lfu",   "plru",
                                           "random", "weighted", "srrip", "drrip"};
    static const double weights[] = {1, 1, 1, 1};
    for (size_t i = 0; i < FTH_COUNT(policies); i++) {
        struct fth_cache *cache = create_cache(&(struct fth_cache_config){
            .line_bytes = 32,
            .sets = 1,
            .ways = 4,
            .policy = policies[i],
            .way_weights = weights,
            .way_weight_count = strcmp(policies[i], "weighted") == 0 ? 4 : 0});
        static const struct {
            uint64_t invalidated[2]; /* lines, before the reads; 99 is not cached */
            uint32_t ways[2];        /* that the next two new lines are placed in */
        } rows[] = {{{99, 99}, {0, 1}}, {{99, 99}, {2, 3}}, {{2, 0}, {0, 2}}, {{3, 1}, {1, 3}}};
        uint64_t line = 0;
        for (size_t j = 0; j < FTH_COUNT(rows); j++) {
            for (size_t k = 0; k < 2; k++)
                assert_int_equal(fth_cache_invalidate(cache, rows[j].invalidated[k] * 32, NULL),
                                 rows[j].invalidated[k] != 99);
            for (size_t k = 0; k < 2; k++) {
                struct fth_cache_result result;
                fth_cache_access(cache, line++ * 32, 1, FTH_CACHE_READ, &result);
                assert_int_equal(result.way, rows[j].ways[k]);
                assert_false(result.evicted);
            }
        }
        assert_int_equal(lines_held(cache), 4);
        fth_cache_destroy(cache);
    }
}

/* Returns the chi-square statistic of how often a stream of new lines replaces each way. The
 * expected frequencies are proportional to `weights`. The cache gets the weights only if
 * `give_weights`. */
static double chi_square(const char *policy, const double *weights, size_t ways, bool give_weights)
{
    enum { REPLACEMENTS = 60000 };
    struct fth_cache *cache =
        create_cache(&(struct fth_cache_config){.line_bytes = 128,
                                                .sets = 32,
                                                .ways = ways,
                                                .policy = policy,
                                                .way_weights = give_weights ? weights : NULL,
                                                .way_weight_count = give_weights ? ways : 0,
                                                .seed = 7});
    int seen[16] = {0}, replaced = 0;
    for (uint64_t line = 0; replaced < REPLACEMENTS; line++) {
        struct fth_cache_result result;
        fth_cache_access(cache, line * 128, 4, FTH_CACHE_READ, &result);
        if (result.evicted) {
            seen[result.way]++;
            replaced++;
        }
    }
    fth_cache_destroy(cache);
    double chi = 0, sum = 0;
    for (size_t way = 0; way < ways; way++)
        sum += weights[way];
    for (size_t way = 0; way < ways; way++) {
        double expected = REPLACEMENTS * weights[way] / sum;
        chi += (seen[way] - expected) * (seen[way] - expected) / expected;
    }
    return chi;
}

static void ways_are_replaced_in_proportion_to_their_weights(void **state)
{
    (void)state;
    /* The L1 of Fermi replaces its ways with probabilities 1/6, 1/2, 1/6 and 1/6 (Mei and Chu,
     * Section 4.5). The limits are the 99.9 % quantiles of the chi-square distribution with 3 and 4
     * degrees of freedom. */
    static const double fermi[] = {1, 3, 1, 1}, odd[] = {0.25, 1e-3, 2, 7.5, 0.1};
    static const double even[] = {1, 1, 1, 1, 1};
    assert_true(chi_square("weighted", fermi, 4, true) < 16.27);
    assert_true(chi_square("weighted", odd, 5, true) < 18.47);
    assert_true(chi_square("random", even, 5, false) < 18.47);
    /* The statistic detects a difference: a uniform choice does not match the weights of Fermi. */
    assert_true(chi_square("random", fermi, 4, false) > 1000);
}

static void reset_restarts_the_random_sequence_and_clear_continues_it(void **state)
{
    (void)state;
    struct fth_cache *cache = create_cache(&(struct fth_cache_config){
        .line_bytes = 32, .sets = 1, .ways = 64, .policy = "random", .seed = 3});
    enum { LINES = 200 };
    uint32_t ways[3][LINES];
    for (int run = 0; run < 3; run++) {
        if (run == 2)
            fth_cache_clear(cache);
        else
            fth_cache_reset(cache);
        assert_int_equal(lines_held(cache), 0);
        for (uint64_t i = 0; i < LINES; i++) {
            struct fth_cache_result result;
            fth_cache_access(cache, i * 32, 1, FTH_CACHE_READ, &result);
            assert_int_equal(result.outcome, FTH_CACHE_LINE_MISS);
            ways[run][i] = result.way;
        }
    }
    assert_memory_equal(ways[1], ways[0], sizeof ways[0]);
    assert_memory_not_equal(ways[2], ways[0], sizeof ways[0]);
    fth_cache_destroy(cache);
}

/* Clearing may skip empty sets. It must not skip a set whose first way is free while others hold
 * lines. */
static void clear_removes_every_line(void **state)
{
    (void)state;
    static const uint64_t sets = 8;
    static const struct {
        uint64_t ways;
        const char *policy;
        bool distances;
    } rows[] = {{4, "lru", true}, {4, "lru", false}, {4, "fifo", false}, {40, "lru", true}};
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_cache *cache =
            create_cache(&(struct fth_cache_config){.line_bytes = 32,
                                                    .sets = sets,
                                                    .ways = rows[i].ways,
                                                    .policy = rows[i].policy,
                                                    .distances = rows[i].distances});
        for (int round = 0; round < 3; round++) {
            for (uint64_t line = 0; line < sets * 3; line++) {
                struct fth_cache_result result;
                fth_cache_access(cache, line * 32, 1, FTH_CACHE_READ, &result);
                assert_int_equal(result.outcome, FTH_CACHE_LINE_MISS);
                assert_int_equal(result.way, line / sets);
            }
            assert_true(fth_cache_invalidate(cache, 0, NULL));
            for (uint64_t k = 0; k < 3; k++) /* all lines of set 1 */
                assert_true(fth_cache_invalidate(cache, (1 + k * sets) * 32, NULL));
            fth_cache_clear(cache);
            assert_int_equal(lines_held(cache), 0);
            for (uint64_t line = 0; line < sets * 3; line++)
                assert_int_equal(fth_cache_probe(cache, line * 32, 1), FTH_CACHE_LINE_MISS);
        }
        fth_cache_destroy(cache);
    }
}

/* ---- reads, writes, sectors ---- */

#define NONE UINT64_MAX
#define HIT FTH_CACHE_HIT
#define SECTOR FTH_CACHE_SECTOR_MISS
#define LINE FTH_CACHE_LINE_MISS

/* The cache has one set of one way, with a line of 64 bytes in two sectors. `fetch`, `below` and
 * `dirty` are masks of sectors: read from the next level, written to it, and dirty at eviction. */
static const struct {
    enum fth_write write;
    char kind;
    uint64_t address, bytes;
    enum fth_cache_outcome outcome;
    uint64_t fetch, below, evicted, dirty;
} write_rows[] = {
    {FTH_WRITE_EVICT, 'r', 0, 4, LINE, 1, 0, NONE, 0},
    {FTH_WRITE_EVICT, 'r', 28, 8, SECTOR, 2, 0, NONE, 0},
    {FTH_WRITE_EVICT, 'w', 0, 4, HIT, 0, 1, 0, 0},
    {FTH_WRITE_EVICT, 'r', 0, 4, LINE, 1, 0, NONE, 0},
    {FTH_WRITE_EVICT, 'w', 32, 4, SECTOR, 0, 2, 0, 0},
    {FTH_WRITE_EVICT, 'w', 32, 4, LINE, 0, 2, NONE, 0}, /* the write allocated nothing */
    {FTH_WRITE_EVICT, 'r', 32, 4, LINE, 2, 0, NONE, 0},
    {FTH_WRITE_EVICT, 'w', 64, 4, LINE, 0, 1, NONE, 0},
    {FTH_WRITE_EVICT, 'r', 32, 4, HIT, 0, 0, NONE, 0},

    {FTH_WRITE_THROUGH, 'w', 0, 32, LINE, 0, 1, NONE, 0}, /* a whole sector needs no fetch */
    {FTH_WRITE_THROUGH, 'r', 0, 32, HIT, 0, 0, NONE, 0},
    {FTH_WRITE_THROUGH, 'w', 36, 4, SECTOR, 0, 2, NONE, 0},
    {FTH_WRITE_THROUGH, 'r', 36, 4, HIT, 0, 0, NONE, 0}, /* these bytes were written before */
    {FTH_WRITE_THROUGH, 'r', 28, 8, SECTOR, 2, 0, NONE, 0},
    {FTH_WRITE_THROUGH, 'r', 0, 64, HIT, 0, 0, NONE, 0},
    {FTH_WRITE_THROUGH, 'w', 64, 4, LINE, 0, 1, 0, 0},
    {FTH_WRITE_THROUGH, 'w', 68, 28, SECTOR, 0, 1, NONE, 0}, /* completes the sector */
    {FTH_WRITE_THROUGH, 'r', 64, 32, HIT, 0, 0, NONE, 0},
    {FTH_WRITE_THROUGH, 'r', 64, 64, SECTOR, 2, 0, NONE, 0},
    {FTH_WRITE_THROUGH, 'w', 64, 64, HIT, 0, 3, NONE, 0},

    {FTH_WRITE_BACK, 'w', 0, 32, LINE, 0, 0, NONE, 0},
    {FTH_WRITE_BACK, 'w', 36, 4, SECTOR, 0, 0, NONE, 0},
    {FTH_WRITE_BACK, 'r', 40, 4, SECTOR, 2, 0, NONE, 0}, /* fetched, but still dirty */
    {FTH_WRITE_BACK, 'r', 64, 4, LINE, 1, 0, 0, 3},
    {FTH_WRITE_BACK, 'w', 127, 1, SECTOR, 0, 0, NONE, 0},
    {FTH_WRITE_BACK, 'w', 0, 1, LINE, 0, 0, 64, 2},
    {FTH_WRITE_BACK, 'w', 0, 1, HIT, 0, 0, NONE, 0},
    {FTH_WRITE_BACK, 'r', 128, 1, LINE, 1, 0, 0, 1},
    {FTH_WRITE_BACK, 'r', 192, 1, LINE, 1, 0, 128, 0},
};

static void writes_follow_the_write_policy(void **state)
{
    (void)state;
    struct fth_cache *cache = NULL;
    for (size_t i = 0; i < FTH_COUNT(write_rows); i++) {
        if (i == 0 || write_rows[i].write != write_rows[i - 1].write) {
            fth_cache_destroy(cache);
            cache = create_cache(&(struct fth_cache_config){.line_bytes = 64,
                                                            .sector_bytes = 32,
                                                            .sets = 1,
                                                            .ways = 1,
                                                            .write = write_rows[i].write});
        }
        struct fth_cache_result got;
        enum fth_cache_outcome before =
            fth_cache_probe(cache, write_rows[i].address, write_rows[i].bytes);
        fth_cache_access(cache, write_rows[i].address, write_rows[i].bytes,
                         write_rows[i].kind == 'w' ? FTH_CACHE_WRITE : FTH_CACHE_READ, &got);
        if (before != write_rows[i].outcome || got.outcome != write_rows[i].outcome ||
            got.fetch != write_rows[i].fetch || got.below != write_rows[i].below ||
            got.evicted != (write_rows[i].evicted != NONE) ||
            (got.evicted && (got.evicted_line != write_rows[i].evicted ||
                             got.evicted_dirty != write_rows[i].dirty)))
            fail_msg("row %zu: outcome %d, fetch %llx, below %llx, evicted %d %llx %llx", i,
                     (int)got.outcome, (unsigned long long)got.fetch, (unsigned long long)got.below,
                     got.evicted, (unsigned long long)got.evicted_line,
                     (unsigned long long)got.evicted_dirty);
    }
    fth_cache_destroy(cache);
}

static void invalidation_reports_dirty_sectors(void **state)
{
    (void)state;
    struct fth_cache *cache = create_cache(&(struct fth_cache_config){
        .line_bytes = 128, .sector_bytes = 32, .sets = 4, .ways = 20, .write = FTH_WRITE_BACK});
    uint64_t dirty = 9;
    assert_false(fth_cache_invalidate(cache, 128, &dirty));
    assert_int_equal(dirty, 0);
    fth_cache_access(cache, 128 + 60, 8, FTH_CACHE_WRITE, NULL);
    assert_true(fth_cache_invalidate(cache, 128 + 127, &dirty));
    assert_int_equal(dirty, 6);
    assert_int_equal(lines_held(cache), 0);
    assert_int_equal(fth_cache_probe(cache, 128 + 60, 8), LINE);
    fth_cache_destroy(cache);
}

static void sectors_are_invalidated_alone(void **state)
{
    (void)state;
    static const enum fth_write writes[] = {FTH_WRITE_EVICT, FTH_WRITE_THROUGH, FTH_WRITE_BACK};
    for (size_t i = 0; i < FTH_COUNT(writes); i++) {
        struct fth_cache *cache = create_cache(&(struct fth_cache_config){
            .line_bytes = 128, .sector_bytes = 32, .sets = 4, .ways = 20, .write = writes[i]});
        assert_false(fth_cache_invalidate_sectors(cache, 128, 8)); /* the line is missing */
        fth_cache_access(cache, 128, 96, FTH_CACHE_READ, NULL);
        assert_false(fth_cache_invalidate_sectors(cache, 128 + 96, 8)); /* the sector is */
        assert_true(fth_cache_invalidate_sectors(cache, 128 + 40, 30)); /* sectors 1 and 2 */
        assert_int_equal(fth_cache_probe(cache, 128, 32), HIT);
        assert_int_equal(fth_cache_probe(cache, 128 + 32, 1), SECTOR);
        assert_int_equal(fth_cache_probe(cache, 128 + 95, 1), SECTOR);
        assert_int_equal(lines_held(cache), 1);
        fth_cache_destroy(cache);
    }
    /* Written bytes are forgotten, too, and are no longer dirty. */
    struct fth_cache *cache = create_cache(&(struct fth_cache_config){
        .line_bytes = 128, .sector_bytes = 32, .sets = 1, .ways = 2, .write = FTH_WRITE_BACK});
    uint64_t dirty = 0;
    fth_cache_access(cache, 60, 16, FTH_CACHE_WRITE, NULL); /* parts of sectors 1 and 2 */
    assert_true(fth_cache_invalidate_sectors(cache, 63, 1));
    assert_int_equal(fth_cache_probe(cache, 60, 4), SECTOR);
    assert_int_equal(fth_cache_probe(cache, 64, 12), HIT);
    assert_true(fth_cache_invalidate(cache, 0, &dirty));
    assert_int_equal(dirty, 4);
    fth_cache_destroy(cache);
}

static void accesses_are_truncated_at_the_end_of_the_line(void **state)
{
    (void)state;
    struct fth_cache *cache = create_cache(&(struct fth_cache_config){
        .line_bytes = 64, .sector_bytes = 1, .sets = 1, .ways = 2, .write = FTH_WRITE_THROUGH});
    struct fth_cache_result result;
    fth_cache_access(cache, 62, 16, FTH_CACHE_WRITE, &result);
    assert_true(result.sectors == (uint64_t)3 << 62);
    assert_int_equal(lines_held(cache), 1);
    assert_int_equal(fth_cache_probe(cache, 62, UINT64_MAX), HIT);
    fth_cache_access(cache, UINT64_MAX, 16, FTH_CACHE_READ, &result);
    assert_true(result.sectors == (uint64_t)1 << 63);
    fth_cache_access(cache, 64, 64, FTH_CACHE_READ, &result);
    assert_true(result.fetch == UINT64_MAX);
    assert_true(result.evicted && result.evicted_line == 0);
    fth_cache_destroy(cache);
}

static void probe_does_not_change_the_cache(void **state)
{
    (void)state;
    struct fth_cache *cache =
        create_cache(&(struct fth_cache_config){.line_bytes = 32, .sets = 1, .ways = 2});
    read_hits(cache, 0, 4);
    read_hits(cache, 32, 4);
    assert_int_equal(fth_cache_probe(cache, 0, 4), HIT);
    assert_int_equal(fth_cache_probe(cache, 64, 4), LINE);
    struct fth_cache_result result;
    fth_cache_access(cache, 64, 4, FTH_CACHE_READ, &result);
    assert_true(result.evicted && result.evicted_line == 0); /* still the oldest line */
    fth_cache_destroy(cache);
}

/* ---- invalid configurations ---- */

static const uint64_t no_ways[] = {4, 0}, huge[] = {UINT64_MAX, UINT64_MAX}, unequal[] = {2, 3};
static const double two[] = {1, 1}, zero[] = {1, 0}, negative[] = {1, -1};
static const double overflowing[] = {1e308, 1e308};

static const struct {
    struct fth_cache_config config;
    const char *argument, *cause;
} invalid_rows[] = {
    {{.line_bytes = 3, .sets = 1, .ways = 1}, "line_bytes", "3 is not a power of two"},
    {{.line_bytes = 0, .sets = 1, .ways = 1}, "line_bytes", "0 is not between 4 and"},
    {{.line_bytes = 2, .sets = 1, .ways = 1}, "line_bytes", "2 is not between 4 and"},
    {{.line_bytes = 1ull << 41, .sets = 1, .ways = 1}, "line_bytes", "is not between"},
    {{.line_bytes = 64, .sector_bytes = 24, .sets = 1, .ways = 1},
     "sector_bytes",
     "24 does not divide a line of 64"},
    {{.line_bytes = 64, .sector_bytes = 128, .sets = 1, .ways = 1},
     "sector_bytes",
     "128 does not divide"},
    {{.line_bytes = 256, .sector_bytes = 2, .sets = 1, .ways = 1},
     "sector_bytes",
     "more than 64 sectors"},
    {{.line_bytes = 32, .sets = 0, .ways = 1}, "sets", "0 is not between 1 and"},
    {{.line_bytes = 32, .sets = 1ull << 40, .ways = 4},
     "sets",
     "1099511627776 is not between 1 and 67108864"},
    {{.line_bytes = 32, .sets = 4, .ways = 0}, "ways", "set 0 has no ways"},
    {{.line_bytes = 32, .sets = 2, .set_ways = no_ways}, "set_ways", "set 1 has no ways"},
    {{.line_bytes = 32, .sets = 2, .set_ways = huge}, "set_ways", "more than 67108864 lines"},
    {{.line_bytes = 32, .sets = 1 << 20, .ways = 1 << 20}, "ways", "more than 67108864 lines"},
    {{.line_bytes = 32, .sets = 1, .ways = 1, .policy = "mru"},
     "policy",
     "'mru' is not one of lru, fifo, lfu, plru, random, weighted, clock, srrip, drrip"},
    {{.line_bytes = 32, .sets = 1, .ways = 1, .index = "hash"},
     "index",
     "'hash' is not one of mod"},
    {{.line_bytes = 32, .sets = 3, .ways = 1, .index = "bits:[7,8]"},
     "index",
     "the 2 bits of bits:[7,8] do not match 3 sets"},
    {{.line_bytes = 256, .sets = 4, .ways = 1, .index = "bits:[7,8]"},
     "index",
     "bit 7 of bits:[7,8] is inside a line of 256 bytes"},
    {{.line_bytes = 32, .sets = 1, .ways = 3, .policy = "plru"},
     "policy",
     "plru needs a power of two as the number of ways, not 3"},
    {{.line_bytes = 32, .sets = 1, .ways = 2, .policy = "weighted"},
     "way_weights",
     "0 weights given for 2 ways"},
    {{.line_bytes = 32,
      .sets = 1,
      .ways = 3,
      .policy = "weighted",
      .way_weights = two,
      .way_weight_count = 2},
     "way_weights",
     "2 weights given for 3 ways"},
    {{.line_bytes = 32,
      .sets = 2,
      .set_ways = unequal,
      .policy = "weighted",
      .way_weights = two,
      .way_weight_count = 2},
     "policy",
     "they have 2 to 3 ways"},
    {{.line_bytes = 32,
      .sets = 1,
      .ways = 2,
      .policy = "weighted",
      .way_weights = zero,
      .way_weight_count = 2},
     "way_weights",
     "weight 0 of way 1 is not positive"},
    {{.line_bytes = 32,
      .sets = 1,
      .ways = 2,
      .policy = "weighted",
      .way_weights = negative,
      .way_weight_count = 2},
     "way_weights",
     "weight -1 of way 1 is not positive"},
    {{.line_bytes = 32,
      .sets = 1,
      .ways = 2,
      .policy = "weighted",
      .way_weights = overflowing,
      .way_weight_count = 2},
     "way_weights",
     "1e+308 of way 1"},
    {{.line_bytes = 32, .sets = 1, .ways = 2, .way_weights = two, .way_weight_count = 2},
     "way_weights",
     "only allowed with policy weighted, not lru"},
    {{.line_bytes = 2 << 20, .sets = 1, .ways = 2, .write = FTH_WRITE_BACK},
     "write",
     "cannot handle lines of 2097152 bytes"},
    {{.line_bytes = 32, .sets = 1, .ways = 2, .write = (enum fth_write)3},
     "write",
     "3 is not a write policy"},
};

static void invalid_configurations_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < FTH_COUNT(invalid_rows); i++) {
        struct fth_cache *cache = NULL;
        struct fth_error error = NO_ERROR;
        if (fth_cache_create(&invalid_rows[i].config, &cache, &error) != FTH_INVALID)
            fail_msg("row %zu was accepted", i);
        assert_null(cache);
        assert_string_equal(error.operation, "build a cache");
        assert_string_equal(error.argument, invalid_rows[i].argument);
        assert_contains(error.cause, invalid_rows[i].cause);
    }
    fth_cache_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(index_functions_select_the_expected_set),
        cmocka_unit_test(lines_are_distributed_over_unequal_sets),
        cmocka_unit_test(thirteen_words_in_a_12_word_cache_miss_periodically),
        cmocka_unit_test(texture_cache_overflows_set_by_set),
        cmocka_unit_test(tlb_overflows_set_by_set),
        cmocka_unit_test(policies_evict_the_expected_line),
        cmocka_unit_test(free_ways_are_filled_first_in_ascending_order),
        cmocka_unit_test(ways_are_replaced_in_proportion_to_their_weights),
        cmocka_unit_test(reset_restarts_the_random_sequence_and_clear_continues_it),
        cmocka_unit_test(clear_removes_every_line),
        cmocka_unit_test(writes_follow_the_write_policy),
        cmocka_unit_test(invalidation_reports_dirty_sectors),
        cmocka_unit_test(sectors_are_invalidated_alone),
        cmocka_unit_test(accesses_are_truncated_at_the_end_of_the_line),
        cmocka_unit_test(probe_does_not_change_the_cache),
        cmocka_unit_test(invalid_configurations_are_refused),
    };
    return cmocka_run_group_tests_name("cache", tests, NULL, NULL);
}
