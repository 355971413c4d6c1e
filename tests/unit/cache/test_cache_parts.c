/* Tests of parts of cache/ that the results of accesses do not show: the size of the hash table,
 * the choice of the fastest index function, and locations, with which the model accesses a cache.
 */
#include "cache/cache.h"
#include "check.h"

/* At least four buckets per slot, a power of two. */
static void the_hash_table_has_four_buckets_per_slot(void **state)
{
    (void)state;
    static const struct {
        uint32_t slots;
        unsigned bits;
    } rows[] = {{0, 1}, {1, 2},     {2, 3},     {3, 4},          {4, 4},
                {5, 5}, {1024, 12}, {1025, 13}, {UINT32_MAX, 34}};
    for (size_t i = 0; i < FTH_COUNT(rows); i++)
        assert_int_equal(fth_lookup_bits(rows[i].slots), rows[i].bits);
}

static void index_functions_are_chosen_by_the_sets(void **state)
{
    (void)state;
    static const uint64_t equal[] = {3, 3, 3, 3}, first[] = {4, 3, 3, 3}, second[] = {3, 4, 3, 3},
                          last[] = {3, 3, 3, 4};
    static const struct {
        const char *index;
        uint64_t sets;
        const uint64_t *set_ways;
        enum fth_index_kind kind;
    } rows[] = {
        {"mod", 8, NULL, FTH_INDEX_MASK},         {"mod", 1, NULL, FTH_INDEX_MASK},
        {"mod", 6, NULL, FTH_INDEX_MOD},          {"mod", 4, equal, FTH_INDEX_MASK},
        {"mod", 4, first, FTH_INDEX_ROUND_ROBIN}, {"mod", 4, second, FTH_INDEX_ROUND_ROBIN},
        {"mod", 4, last, FTH_INDEX_ROUND_ROBIN},  {"shift:2", 8, NULL, FTH_INDEX_MASK},
        {"prime", 8, NULL, FTH_INDEX_MOD},        {"prime", 2, NULL, FTH_INDEX_MASK},
        {"xor", 8, NULL, FTH_INDEX_FOLD},         {"bits:[7,9]", 4, NULL, FTH_INDEX_BITS},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_cache *cache = NULL;
        const struct fth_cache_config config = {.line_bytes = 128,
                                                .sets = rows[i].sets,
                                                .ways = rows[i].set_ways ? 0 : 3,
                                                .set_ways = rows[i].set_ways,
                                                .index = rows[i].index};
        assert_int_equal(fth_cache_create(&config, &cache, NULL), FTH_OK);
        if (cache->index.kind != rows[i].kind)
            fail_msg("row %zu: kind %d", i, (int)cache->index.kind);
        fth_cache_destroy(cache);
    }
}

/* Two sets of two ways; lines of 128 bytes with four sectors. */
static void locations_follow_their_line(void **state)
{
    (void)state;
    struct fth_cache *cache = NULL;
    const struct fth_cache_config config = {
        .line_bytes = 128, .sector_bytes = 32, .sets = 2, .ways = 2, .write = FTH_WRITE_BACK};
    assert_int_equal(fth_cache_create(&config, &cache, NULL), FTH_OK);
    struct fth_cache_result result;
    struct fth_cache_location location = fth_cache_locate(cache, 3 * 128 + 40);
    assert_int_equal(location.line, 3);
    assert_int_equal(location.set, 1);
    assert_true(location.slot == FTH_NO_SLOT);
    assert_int_equal(fth_cache_held(cache, &location, 15), 0);
    fth_cache_drop(cache, &location);
    assert_true(location.slot == FTH_NO_SLOT);
    assert_int_equal(fth_cache_fill(cache, &location, 6, &result), 6);
    assert_int_equal(location.slot, 2);
    assert_int_equal(fth_cache_held(cache, &location, 15), 6);
    assert_int_equal(fth_cache_missing(cache, &location, 15, NULL, 0), 9);
    /* A write of a part of sector 0: it is held, but it is not valid. */
    fth_cache_write(cache, &location, (struct fth_cache_run){.from = 4, .bytes = 8}, &result);
    assert_int_equal(location.slot, 2);
    assert_int_equal(result.way, 0);
    assert_int_equal(fth_cache_held(cache, &location, 15), 7);
    static const struct fth_cache_run inside = {.from = 6, .bytes = 4},
                                      beyond = {.from = 6, .bytes = 8};
    assert_int_equal(fth_cache_missing(cache, &location, 1, &inside, 1), 0);
    assert_int_equal(fth_cache_missing(cache, &location, 1, &beyond, 1), 1);
    /* A write of another line takes the other way. */
    struct fth_cache_location other = fth_cache_locate(cache, 640);
    fth_cache_write(cache, &other, (struct fth_cache_run){.from = 0, .bytes = 32}, &result);
    assert_int_equal(other.slot, 3);
    assert_int_equal(result.way, 1);
    assert_int_equal(fth_cache_held(cache, &other, 15), 1);
    /* A third line replaces the first one; its location is found again, or not. */
    struct fth_cache_location third = fth_cache_locate(cache, 896);
    (void)fth_cache_fill(cache, &third, 1, &result);
    assert_true(result.evicted);
    assert_int_equal(result.evicted_line, 3 * 128);
    assert_int_equal(result.evicted_dirty, 1);
    fth_cache_locate_again(cache, &location);
    assert_true(location.slot == FTH_NO_SLOT);
    fth_cache_drop(cache, &other);
    assert_true(other.slot == FTH_NO_SLOT);
    assert_int_equal(fth_cache_probe(cache, 640, 1), FTH_CACHE_LINE_MISS);
    (void)fth_cache_fill(cache, &location, 1, &result);
    assert_int_equal(location.slot, 3);
    const uint64_t lines[] = {7, 5, 3, 4};
    struct fth_cache_location all[4];
    fth_cache_locate_all(cache, lines, 4, all);
    const uint32_t slots[] = {2, FTH_NO_SLOT, 3, FTH_NO_SLOT};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(all[i].line, lines[i]);
        assert_int_equal(all[i].set, lines[i] % 2);
        assert_true(all[i].slot == slots[i]);
    }
    fth_cache_destroy(cache);
}

/* A write without allocation leaves the location without a slot. */
static void writes_report_where_the_line_is(void **state)
{
    (void)state;
    static const struct {
        enum fth_write write;
        bool allocates;
    } rows[] = {{FTH_WRITE_BACK, true}, {FTH_WRITE_THROUGH, true}, {FTH_WRITE_EVICT, false}};
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_cache *cache = NULL;
        struct fth_cache_result result;
        const struct fth_cache_config config = {
            .line_bytes = 128, .sets = 1, .ways = 2, .write = rows[i].write};
        assert_int_equal(fth_cache_create(&config, &cache, NULL), FTH_OK);
        struct fth_cache_location location = fth_cache_locate(cache, 128);
        fth_cache_write(cache, &location, (struct fth_cache_run){.from = 0, .bytes = 128}, &result);
        assert_int_equal(location.slot != FTH_NO_SLOT, rows[i].allocates);
        assert_int_equal(fth_cache_probe(cache, 128, 128) == FTH_CACHE_HIT, rows[i].allocates);
        fth_cache_destroy(cache);
    }
}

/* One set of four ways. A FIRST line is evicted before all others, a LAST line after them, whatever
 * the policy. */
static void priorities_change_the_victim(void **state)
{
    (void)state;
    static const char *const policies[] = {"lru",    "fifo",  "lfu",  "plru",
                                           "random", "srrip", "drrip"};
    for (size_t i = 0; i < FTH_COUNT(policies); i++) {
        struct fth_cache *cache = NULL;
        const struct fth_cache_config config = {
            .line_bytes = 128, .sets = 1, .ways = 4, .policy = policies[i]};
        assert_int_equal(fth_cache_create(&config, &cache, NULL), FTH_OK);
        static const enum fth_cache_priority filled[] = {FTH_CACHE_LAST, FTH_CACHE_NORMAL,
                                                         FTH_CACHE_FIRST, FTH_CACHE_NORMAL};
        for (uint64_t line = 0; line < FTH_COUNT(filled); line++) {
            assert_true(fth_cache_prioritize(cache, filled[line]));
            fth_cache_access(cache, line * 128, 1, FTH_CACHE_READ, NULL);
        }
        struct fth_cache_result result;
        fth_cache_access(cache, (uint64_t)4 * 128, 1, FTH_CACHE_READ, &result);
        assert_true(result.evicted);
        assert_int_equal(result.evicted_line, 2 * 128);
        /* The slot of the FIRST line has the priority of its new line. The LAST line stays. */
        for (uint64_t line = 5; line < 40; line++) {
            fth_cache_access(cache, line * 128, 1, FTH_CACHE_READ, &result);
            assert_true(result.evicted);
            assert_int_not_equal(result.evicted_line, 0);
        }
        if (strcmp(policies[i], "lru") == 0) { /* the others are still evicted in their order */
            fth_cache_access(cache, (uint64_t)40 * 128, 1, FTH_CACHE_READ, &result);
            assert_int_equal(result.evicted_line, 37 * 128);
        }
        /* A set of LAST lines only evicts one of them. */
        assert_true(fth_cache_prioritize(cache, FTH_CACHE_LAST));
        for (uint64_t line = 41; line < 45; line++)
            fth_cache_access(cache, line * 128, 1, FTH_CACHE_READ, &result);
        assert_true(result.evicted);
        fth_cache_destroy(cache);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_hash_table_has_four_buckets_per_slot),
        cmocka_unit_test(index_functions_are_chosen_by_the_sets),
        cmocka_unit_test(locations_follow_their_line),
        cmocka_unit_test(writes_report_where_the_line_is),
        cmocka_unit_test(priorities_change_the_victim),
    };
    return cmocka_run_group_tests_name("cache_parts", tests, NULL, NULL);
}
