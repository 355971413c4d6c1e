/* Tests of the policy clock: which lines it evicts, which configurations it refuses, and how its
 * hits compare with those of an H200. tests/oracle compares it with a second implementation. */
#include "cache/cache.h"
#include "check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct fth_cache *create(const struct fth_cache_config *config)
{
    struct fth_cache *cache = NULL;
    struct fth_error error = NO_ERROR;
    if (fth_cache_create(config, &cache, &error) != FTH_OK)
        fail_msg("%s: %s", error.argument, error.cause);
    return cache;
}

/* Reads lines of 4 bytes, named by letters from A (line 0) on. Writes the letters that are held
 * afterwards, in alphabetical order. */
static void read_lines(struct fth_cache *cache, const char *lines, char *held)
{
    for (; *lines; lines++)
        fth_cache_access(cache, 4 * (uint64_t)(*lines - 'A'), 4, FTH_CACHE_READ, NULL);
    for (int line = 'A'; line <= 'Z'; line++)
        if (fth_cache_probe(cache, 4 * (uint64_t)(line - 'A'), 4) == FTH_CACHE_HIT)
            *held++ = (char)line;
    *held = 0;
}

/* One set. With 4 rows, the row of line n is 3 (n ^ n / 4 ^ n / 16 …) % 4: A B C D are in the rows
 * 0, 3, 2 and 1, E F G H in the rows 3, 0, 1 and 2. The hand therefore visits A, D, C, B. With one
 * row, all lines are in it. */
static void the_hand_and_the_rows_choose_the_victims(void **state)
{
    (void)state;
    static const struct {
        uint64_t ways, rows, row_ways;
        const char *reads, *held;
    } rows[] = {
        {4, 4, 4, "ABCD", "ABCD"},
        {4, 4, 4, "ABCDE", "BCDE"},     /* the hand evicts A from row 0 */
        {4, 4, 4, "ABCDEBF", "BCEF"},   /* a hit of B, then the hand evicts D from row 1 */
        {4, 4, 4, "ABCDEBFBG", "BEFG"}, /* then C from row 2 */
        {4, 4, 4, "ABCDEBFBGEH",
         "EFGH"}, /* then B, which is in row 3 with E; only E was hit last */
        {6, 4, 4, "ABCDEFG", "BCDEFG"},
        {6, 4, 4, "ABCDEFGH", "EGH"},     /* two misses in succession: five lines in total */
        {6, 4, 4, "ABCDEFGHI", "EGHI"},   /* which makes room for three more */
        {6, 4, 4, "ABCDEFGBH", "BCEFGH"}, /* a hit between the misses: one line each */
        {2, 4, 4, "ABCD", "D"},           /* a burst never evicts more lines than there are */
        {4, 4, 4, "AFBCD", "BCDF"},       /* A and F are in row 0: the hand evicts the older one */
        {4, 4, 4, "AAFBCD", "ABCD"},      /* unless it was hit and the other one was not */
        {4, 4, 4, "AAFFBCD", "BCDF"},     /* both were hit: the least recently used one */
        {4, 4, 4, "AFFABCD", "ABCD"},
        {4, 1, 4, "ABCDE", "BCDE"}, /* a full row: the least recently used line */
        {4, 1, 4, "ABCDAE", "ACDE"},
        {4, 1, 4, "AABCDE", "ACDE"}, /* unless it was hit and others were not */
        {4, 1, 4, "AABBCDE", "ABDE"},
        {4, 1, 4, "AABBCCDE", "BCDE"}, /* a new line is not replaced by the next one */
        {4, 2, 4, "AADDFFGB", "BDFG"}, /* nor evicted by the hand, if its row, A D F G, is full */
        {4, 2, 4, "AADDFGB", "ABDG"},
        {5, 2, 4, "AADDFBCE", "ABCDE"}, /* which is not so here: F is evicted */
        {4, 1, 4, "ABCDEFG", "DEFG"},   /* a full row does not use the hand: one line each */
        {4, 4, 1, "ABCDE", "ACDE"},     /* E replaces B, the only line of its row */
        {4, 4, 1, "ABCDEF", "CDEF"},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_cache *cache = create(&(struct fth_cache_config){.line_bytes = 4,
                                                                    .sets = 1,
                                                                    .ways = rows[i].ways,
                                                                    .policy = "clock",
                                                                    .rows = rows[i].rows,
                                                                    .row_ways = rows[i].row_ways});
        char held[32];
        read_lines(cache, rows[i].reads, held);
        if (strcmp(held, rows[i].held) != 0)
            fail_msg("row %zu, %s: %s", i, rows[i].reads, held);
        fth_cache_destroy(cache);
    }
}

static void the_hand_keeps_its_position_until_a_reset(void **state)
{
    (void)state;
    struct fth_cache *cache = create(&(struct fth_cache_config){
        .line_bytes = 4, .sets = 1, .ways = 4, .policy = "clock", .rows = 4});
    static const char *const held[] = {"BCDE", "ABCE", "BCDE"};
    for (size_t i = 0; i < FTH_COUNT(held); i++) {
        char found[32];
        read_lines(cache, "ABCDE", found);
        assert_string_equal(found, held[i]);
        if (i == 0)
            fth_cache_clear(cache);
        else
            fth_cache_reset(cache);
    }
    fth_cache_destroy(cache);
}

/* Copies hold their lines independently of each other. */
static void copies_are_caches_of_their_own(void **state)
{
    (void)state;
    enum { COPIES = 3, LINES = 40 };
    struct fth_cache_config config = {
        .line_bytes = 4, .sets = 2, .ways = 8, .policy = "clock", .index = "xor"};
    struct fth_cache *single[COPIES];
    for (size_t i = 0; i < COPIES; i++)
        single[i] = create(&config);
    config.copies = COPIES;
    struct fth_cache *all = create(&config);
    uint64_t held = 0;
    for (uint32_t i = 0; i < 3000; i++) {
        const uint32_t copy = i * 7 % COPIES;
        const uint64_t address = (i * i + i / 5) % LINES * UINT64_C(4);
        struct fth_cache_result result;
        struct fth_cache_location location = fth_cache_locate_in(all, copy * 2, address);
        assert_int_equal(location.slot != FTH_NO_SLOT,
                         fth_cache_probe(single[copy], address, 1) == FTH_CACHE_HIT);
        held += location.slot != FTH_NO_SLOT;
        fth_cache_fill(all, &location, 1, &result);
        fth_cache_access(single[copy], address, 1, FTH_CACHE_READ, NULL);
        if (i % 1000 == 999) {
            fth_cache_clear(all);
            for (size_t k = 0; k < COPIES; k++)
                fth_cache_clear(single[k]);
        }
    }
    assert_true(held > 100 && held < 2900);
    fth_cache_destroy(all);
    for (size_t i = 0; i < COPIES; i++)
        fth_cache_destroy(single[i]);
}

static void invalid_rows_are_refused(void **state)
{
    (void)state;
    static const struct {
        struct fth_cache_config config;
        const char *argument, *cause;
    } rows[] = {
        {{.ways = 4, .policy = "clock", .rows = 3}, "rows", "3 is not a power of two"},
        {{.ways = 4, .policy = "clock", .rows = 131072}, "rows", "131072 is not a power of two"},
        {{.ways = 4, .policy = "clock", .row_ways = 33}, "row_ways", "33 is more than 32"},
        {{.ways = 9, .policy = "clock", .rows = 2, .row_ways = 4},
         "rows",
         "2 rows of 4 tags are less than the 9 ways of a set"},
        {{.ways = 4, .policy = "clock", .write = FTH_WRITE_BACK}, "policy", "write-back"},
        {{.ways = 4, .rows = 4}, "rows", "only allowed with policy clock, not lru"},
        {{.ways = 4, .copies = 2}, "copies", "only allowed with policy clock, not lru"},
        {{.ways = 4, .policy = "clock", .copies = UINT64_MAX}, "copies", "in all copies"},
        {{.ways = 4, .policy = "clock", .copies = 1 << 20}, "rows", "have more than"},
        {{.ways = 4, .row_ways = 4}, "row_ways", "only allowed with policy clock, not lru"},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_cache_config config = rows[i].config;
        struct fth_cache *cache = NULL;
        struct fth_error error = NO_ERROR;
        config.line_bytes = 128;
        config.sets = 1;
        assert_int_equal(fth_cache_create(&config, &cache, &error), FTH_INVALID);
        assert_null(cache);
        if (strcmp(error.argument, rows[i].argument) != 0 || !strstr(error.cause, rows[i].cause))
            fail_msg("row %zu: %s: %s", i, error.argument, error.cause);
    }
}

/* Without `rows`, a large set gets as many rows as its ways need. */
static void large_sets_hold_all_their_lines(void **state)
{
    (void)state;
    enum { WAYS = 3000 };
    struct fth_cache *cache = create(
        &(struct fth_cache_config){.line_bytes = 4, .sets = 2, .ways = WAYS, .policy = "clock"});
    for (int pass = 0; pass < 2; pass++)
        for (uint64_t line = 0; line < (uint64_t)2 * WAYS; line++)
            assert_int_equal(fth_cache_access(cache, 4 * line, 4, FTH_CACHE_READ, NULL),
                             pass ? FTH_CACHE_HIT : FTH_CACHE_LINE_MISS);
    fth_cache_destroy(cache);
}

/* The masks of the L1 of an H200 (data/gpus/h200.json). */
static const struct fth_hash_masks h200 = {.set = {100351536384, 58700838784},
                                           .row = {74713711104, 119375897600, 43324316672,
                                                   53409142784, 125390251008, 128395176448,
                                                   67712813568},
                                           .set_count = 2,
                                           .row_count = 7};

/* Returns the percentage of hits of ten passes over `lines` lines of 128 bytes, one after the
 * other, `stride` bytes apart from `base` on. */
static double walk_hits(const struct fth_cache_config *config, uint64_t base, uint64_t stride,
                        uint64_t lines)
{
    struct fth_cache *cache = create(config);
    uint64_t hits = 0;
    for (uint64_t i = 0; i < 10 * lines; i++)
        hits += fth_cache_access(cache, base + i % lines * stride, 4, FTH_CACHE_READ, NULL) ==
                FTH_CACHE_HIT;
    fth_cache_destroy(cache);
    return 10.0 * (double)hits / (double)lines;
}

static double sweep_hits(const char *policy, const struct fth_hash_masks *masks, uint64_t ways,
                         uint64_t lines)
{
    const struct fth_cache_config config = {.line_bytes = 128,
                                            .sets = 4,
                                            .ways = ways,
                                            .index = "xor",
                                            .policy = policy,
                                            .masks = masks};
    return walk_hits(&config, 0, 128, lines);
}

/* The hits of the L1 of an H200 with 4 x 482 and 4 x 42 lines, measured load by load by one thread
 * (docs/results/h200/l1-replacement.md). The hits depend on the address of the array, which was
 * another one, and without masks, the rows of lines 128 and above differ from those of the GPU. So
 * the hits differ, too: by at most 2 percentage points with 482 ways, and 4 with 42 ways. With LRU,
 * all loads miss as soon as the lines do not fit. */
static void sweeps_hit_as_often_as_on_an_h200(void **state)
{
    (void)state;
    static const struct {
        uint64_t ways, lines;
        double hits, within; /* % */
    } rows[] = {
        {482, 1928, 90.0, 0}, {482, 1938, 86.5, 2}, {482, 1967, 75.9, 2}, {482, 1986, 68.6, 2},
        {482, 2024, 66.3, 2}, {482, 2073, 61.6, 2}, {482, 2121, 54.4, 2}, {482, 2217, 40.1, 2},
        {482, 2314, 20.6, 2}, {482, 2410, 11.2, 2}, {482, 2506, 3.9, 2},  {482, 2699, 0.0, 0},
        {42, 168, 90.0, 0},   {42, 173, 83.4, 4},   {42, 185, 72.5, 4},   {42, 202, 55.3, 4},
        {42, 218, 45.5, 4},   {42, 235, 31.1, 4},   {42, 252, 13.4, 4},   {42, 420, 0.0, 0},
    };
    for (size_t i = 0; i < 2 * FTH_COUNT(rows); i++) {
        const struct fth_hash_masks *masks = i % 2 ? &h200 : NULL;
        const uint64_t ways = rows[i / 2].ways, lines = rows[i / 2].lines;
        const double hits = sweep_hits("clock", masks, ways, lines);
        const double differ = fabs(hits - rows[i / 2].hits);
        if (differ > rows[i / 2].within + 1e-9)
            fail_msg("%d x %d lines: %g %%", (int)ways, (int)lines, hits);
    }
    assert_true(sweep_hits("lru", NULL, 482, 2024) == 0);
    assert_true(sweep_hits("lru", &h200, 482, 2024) == 0);
    assert_true(sweep_hits("fifo", NULL, 482, 2024) == 0);
}

/* The rows that are computed for many lines at a time. */
static void rows_of_many_lines_are_those_of_single_lines(void **state)
{
    (void)state;
    static const struct {
        const char *index;
        uint64_t sets, rows;
        const struct fth_hash_masks *masks;
    } rows[] = {
        {"xor", 4, 128, NULL}, {"mod", 4, 64, NULL}, {"xor", 1, 16, NULL}, {"xor", 4, 128, &h200}};
    enum { LINES = 19 };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        const struct fth_cache_config config = {.ways = 16,
                                                .line_bytes = 128,
                                                .sets = rows[i].sets,
                                                .index = rows[i].index,
                                                .policy = "clock",
                                                .rows = rows[i].rows,
                                                .row_ways = 4,
                                                .masks = rows[i].masks,
                                                .copies = 3};
        struct fth_cache *cache = create(&config);
        uint64_t addresses[LINES], random = 1;
        uint16_t found[LINES];
        for (int k = 0; k < LINES; k++) {
            random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
            addresses[k] = random >> (k % 3 * 16) << 7;
        }
        fth_clock_rows(cache, addresses, LINES, found);
        for (int k = 0; k < LINES; k++) {
            const uint32_t set = fth_cache_set(cache, addresses[k]);
            assert_int_equal(found[k], fth_row_of(cache, set, addresses[k] >> 7));
            assert_int_equal(fth_cache_locate_row(cache, found[k], addresses[k]).set, set);
        }
        fth_cache_destroy(cache);
    }
}

/* Returns the set (high 16 bits) and row (low 16 bits) of a line of a cache. */
static uint32_t place_of(const struct fth_cache *cache, uint64_t line)
{
    const uint32_t set = fth_cache_set(cache, line * 128);
    return set << 16 | (fth_row_of(cache, set, line) - set * cache->clock->rows);
}

/* An experiment on an H200 finds, for each bit of the line number, the line of a group of 512 that
 * is in the same row of the same set as the line whose number is this bit alone
 * (docs/results/h200/l1-replacement.md). */
static void masks_of_an_h200_select_the_rows_of_the_experiment(void **state)
{
    (void)state;
    static const uint16_t same[] = {113, 27,  374, 329, 57,  481, 477, 238, 404, 141, 428,
                                    244, 303, 130, 240, 277, 508, 351, 317, 489, 118};
    /* The rows of the lines 4, 8, … 256 in the order in which the hand visits them. */
    static const uint32_t order[] = {97, 22, 108, 12, 50, 57, 111};
    struct fth_cache *cache = create(&(struct fth_cache_config){
        .line_bytes = 128, .sets = 4, .ways = 482, .policy = "clock", .masks = &h200});
    for (size_t i = 0; i < FTH_COUNT(same); i++)
        assert_int_equal(place_of(cache, UINT64_C(512) << i), place_of(cache, same[i]));
    for (size_t i = 0; i < FTH_COUNT(order); i++)
        assert_int_equal(place_of(cache, UINT64_C(4) << i) & UINT16_MAX, order[i]);
    for (uint64_t line = 0; line < 4; line++)
        assert_int_equal(place_of(cache, line) & UINT16_MAX, 0);
    fth_cache_destroy(cache);
}

static void masks_of_an_h200_give_each_line_of_a_group_a_row(void **state)
{
    (void)state;
    struct fth_cache *cache = create(&(struct fth_cache_config){
        .line_bytes = 128, .sets = 4, .ways = 482, .policy = "clock", .masks = &h200});
    for (uint64_t group = 0; group < (uint64_t)1 << 40; group = 3 * group + 1) {
        bool used[4][128] = {{false}};
        for (uint64_t line = 512 * group; line < 512 * (group + 1); line++) {
            const uint32_t place = place_of(cache, line);
            assert_true(place >> 16 < 4 && (place & UINT16_MAX) < 128);
            assert_false(used[place >> 16][place & UINT16_MAX]);
            used[place >> 16][place & UINT16_MAX] = true;
        }
    }
    fth_cache_destroy(cache);
}

/* Lines at a distance of a power of two are distributed over all rows by the masks: all of 1,900
 * lines fit, as on an H200. Without masks, half of the rows stay empty. */
static void strides_use_all_rows_of_an_h200(void **state)
{
    (void)state;
    struct fth_cache_config config = {
        .line_bytes = 128, .sets = 4, .ways = 482, .index = "xor", .policy = "clock"};
    for (uint64_t stride = 512; stride <= 1 << 20; stride *= 2) {
        config.masks = NULL;
        assert_true(walk_hits(&config, 0, stride, 1900) < 1);
        config.masks = &h200;
        assert_true(walk_hits(&config, 0, stride, 1900) > 89.9);
    }
}

static void invalid_masks_are_refused(void **state)
{
    (void)state;
    static const struct {
        struct fth_hash_masks masks;
        uint64_t rows;
        const char *policy, *argument, *cause;
    } rows[] = {
        {{.set = {128}, .set_count = 1}, 0, "lru", "masks", "1 masks do not select one of 4 sets"},
        {{.set_count = 17}, 0, "lru", "masks", "more than 16 masks"},
        {{.set = {128, 256}, .row_count = 17, .set_count = 2}, 0, "clock", "masks", "more than 16"},
        {{.set = {64, 256}, .set_count = 2}, 0, "lru", "masks", "mask 64 has bits inside a line"},
        {{.set = {128, 256}, .row = {96}, .set_count = 2, .row_count = 1},
         2,
         "clock",
         "masks",
         "mask 96 has bits inside a line"},
        {{.set = {128, 256}, .row = {512}, .set_count = 2, .row_count = 1},
         4,
         "clock",
         "masks",
         "1 masks do not select one of 4 rows"},
        {{.set = {128, 256}, .set_count = 2}, 0, "clock", "rows", "1 rows of 4 tags are less than"},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_cache *cache = NULL;
        struct fth_error error = NO_ERROR;
        const struct fth_cache_config config = {.line_bytes = 128,
                                                .sets = 4,
                                                .ways = 8,
                                                .policy = rows[i].policy,
                                                .rows = rows[i].rows,
                                                .masks = &rows[i].masks};
        assert_int_equal(fth_cache_create(&config, &cache, &error), FTH_INVALID);
        assert_null(cache);
        if (strcmp(error.argument, rows[i].argument) != 0 || !strstr(error.cause, rows[i].cause))
            fail_msg("row %zu: %s: %s", i, error.argument, error.cause);
    }
}

/* Reads lines at a time and pins them until another one. */
static void read_and_pin(struct fth_cache *cache, const char *lines, uint64_t now, uint64_t until)
{
    for (; *lines; lines++) {
        struct fth_cache_result result;
        fth_cache_set_time(cache, now);
        fth_cache_access(cache, 4 * (uint64_t)(*lines - 'A'), 4, FTH_CACHE_READ, &result);
        fth_cache_pin(cache, result.way, until);
    }
}

/* The rows are those of the first test. */
static void pinned_lines_keep_their_storage(void **state)
{
    (void)state;
    struct fth_cache_config config = {
        .line_bytes = 4, .sets = 1, .ways = 4, .policy = "clock", .rows = 4, .row_ways = 4};
    struct fth_cache *cache = create(&config);
    char held[32];
    /* The hand skips A. */
    read_and_pin(cache, "A", 0, 100);
    read_lines(cache, "BCDE", held);
    assert_string_equal(held, "ABCE");
    fth_cache_destroy(cache);
    /* All lines are pinned: E waits for D, which has its data first. */
    cache = create(&config);
    read_and_pin(cache, "ABC", 0, 100);
    read_and_pin(cache, "D", 0, 90);
    fth_cache_set_time(cache, 10);
    read_lines(cache, "E", held);
    assert_string_equal(held, "ABCE");
    assert_int_equal(fth_cache_time(cache, 10), 90);
    fth_cache_destroy(cache);
    /* E replaces A in the full row. A keeps its storage, so B is evicted for E, too. */
    config.rows = 1;
    cache = create(&config);
    read_and_pin(cache, "A", 0, 100);
    read_lines(cache, "BCDE", held);
    assert_string_equal(held, "CDE");
    fth_cache_set_time(cache, 100); /* A has its data */
    read_lines(cache, "F", held);
    assert_string_equal(held, "CDEF");
    fth_cache_destroy(cache);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_hand_and_the_rows_choose_the_victims),
        cmocka_unit_test(the_hand_keeps_its_position_until_a_reset),
        cmocka_unit_test(pinned_lines_keep_their_storage),
        cmocka_unit_test(copies_are_caches_of_their_own),
        cmocka_unit_test(invalid_rows_are_refused),
        cmocka_unit_test(large_sets_hold_all_their_lines),
        cmocka_unit_test(sweeps_hit_as_often_as_on_an_h200),
        cmocka_unit_test(rows_of_many_lines_are_those_of_single_lines),
        cmocka_unit_test(masks_of_an_h200_select_the_rows_of_the_experiment),
        cmocka_unit_test(masks_of_an_h200_give_each_line_of_a_group_a_row),
        cmocka_unit_test(strides_use_all_rows_of_an_h200),
        cmocka_unit_test(invalid_masks_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
