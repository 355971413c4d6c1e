/* Tests that a cache is created completely or not at all: without memory, fth_cache_create fails
 * with FTH_NO_MEMORY and frees what it has allocated until then (tests/leaks checks that). One
 * allocation fails: the first one, then the second one, and so on, until the cache is created. */
#include "cache/cache.h"
#include "check.h"
#include "failing.h"

/* The caches are so large that each of their arrays needs an allocation of its own. */
enum { NARROW_WAYS = 4, NARROW_SETS = 5000, WIDE_WAYS = 5000, WIDE_SETS = 2 };

static void creating_a_cache_needs_every_allocation(void **state)
{
    (void)state;
    static const char *const policies[] = {"lru",      "fifo",  "lfu",   "plru", "random",
                                           "weighted", "clock", "srrip", "drrip"};
    static double weights[WIDE_WAYS];
    for (size_t way = 0; way < WIDE_WAYS; way++)
        weights[way] = 1;
    for (unsigned row = 0; row < FTH_COUNT(policies) * 6; row++) {
        struct fth_cache_config config = {.line_bytes = 128,
                                          .sector_bytes = 32,
                                          .sets = row & 1 ? WIDE_SETS : NARROW_SETS,
                                          .ways = row & 1 ? WIDE_WAYS : NARROW_WAYS,
                                          .policy = policies[row / 6],
                                          .write = (enum fth_write)(row / 2 % 3)};
        if (strcmp(config.policy, "weighted") == 0) {
            config.way_weights = weights;
            config.way_weight_count = config.ways;
        }
        if (strcmp(config.policy, "plru") == 0 && row & 1)
            config.ways = 4096;
        if (strcmp(config.policy, "clock") == 0 && config.write == FTH_WRITE_BACK)
            config.write = FTH_WRITE_THROUGH;
        size_t number = 0;
        for (bool failed = true; failed;) {
            struct fth_cache *cache = NULL;
            struct fth_error error = NO_ERROR;
            fail_from(++number, false);
            const enum fth_status status = fth_cache_create(&config, &cache, &error);
            failed = has_failed();
            if (status != (failed ? FTH_NO_MEMORY : FTH_OK) || error.status != status ||
                (failed && !error.operation[0]))
                fail_msg("row %u, allocation %zu: status %d", row, number, (int)status);
            assert_int_equal(cache != NULL, status == FTH_OK);
            fth_cache_destroy(cache);
        }
        assert_in_range(number, 4, 100);
    }
    fail_from(0, false);
}

/* Sets of different sizes have a table with the set of each way, and masks one with the set of each
 * byte of a line number. */
static void tables_of_sets_need_every_allocation(void **state)
{
    (void)state;
    static const uint64_t ways[] = {5000, 3000};
    static const struct fth_hash_masks masks = {.set = {4096}, .set_count = 1};
    static const struct fth_cache_config configs[] = {
        {.line_bytes = 4096, .sets = 2, .set_ways = ways},
        {.line_bytes = 4096, .sets = 2, .ways = 5000, .masks = &masks}};
    size_t row = 0;
    for (size_t number = 1; row < FTH_COUNT(configs); number++) {
        struct fth_cache *cache = NULL;
        struct fth_error error = NO_ERROR;
        fail_from(number, false);
        const enum fth_status status = fth_cache_create(&configs[row], &cache, &error);
        const bool failed = has_failed();
        assert_int_equal(status, failed ? FTH_NO_MEMORY : FTH_OK);
        assert_int_equal(error.operation[0] != '\0', failed);
        fth_cache_destroy(cache);
        if (!failed) {
            row++;
            number = 0;
        }
    }
    fail_from(0, false);
}

/* The largest and smallest values that are allowed; test_cache.c has those that are not. */
static void limits_are_allowed(void **state)
{
    (void)state;
    static const struct fth_cache_config rows[] = {
        {.line_bytes = 4, .sets = 1, .ways = 1},
        {.line_bytes = (uint64_t)1 << 40, .sets = 1, .ways = 1},
        {.line_bytes = 256, .sector_bytes = 4, .sets = 1, .ways = 1},
        {.line_bytes = 256, .sector_bytes = 256, .sets = 1, .ways = 1},
        {.line_bytes = 4096, .sets = 1, .ways = 1, .write = FTH_WRITE_BACK},
        {.line_bytes = 4096, .sets = 1, .ways = 1, .write = FTH_WRITE_THROUGH},
        {.line_bytes = 32, .sets = 4, .ways = 1, .index = "bits:[5,6]"},
        {.line_bytes = 32, .sets = 1, .ways = 2, .distances = true},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_cache *cache = NULL;
        struct fth_error error = NO_ERROR;
        if (fth_cache_create(&rows[i], &cache, &error) != FTH_OK)
            fail_msg("row %zu: %s: %s", i, error.argument, error.cause);
        /* The last byte of the address space is in a line as well. */
        assert_int_equal(fth_cache_access(cache, UINT64_MAX, 1, FTH_CACHE_READ, NULL),
                         FTH_CACHE_LINE_MISS);
        assert_int_equal(fth_cache_access(cache, UINT64_MAX, 1, FTH_CACHE_READ, NULL),
                         FTH_CACHE_HIT);
        fth_cache_destroy(cache);
    }
    struct fth_cache *cache = NULL;
    struct fth_error error = NO_ERROR;
    const struct fth_cache_config fifo = {
        .line_bytes = 32, .sets = 1, .ways = 2, .policy = "fifo", .distances = true};
    assert_int_equal(fth_cache_create(&fifo, &cache, &error), FTH_INVALID);
    assert_string_equal(error.argument, "distances");
    const uint64_t all[] = {(uint64_t)1 << 25, ((uint64_t)1 << 25) + 1};
    const struct fth_cache_config large = {.line_bytes = 32, .sets = 2, .set_ways = all};
    assert_int_equal(fth_cache_create(&large, &cache, NULL), FTH_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(creating_a_cache_needs_every_allocation),
        cmocka_unit_test(tables_of_sets_need_every_allocation),
        cmocka_unit_test(limits_are_allowed),
    };
    return cmocka_run_group_tests_name("cache-no-memory", tests, NULL, NULL);
}
