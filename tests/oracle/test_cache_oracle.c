/* Compares src/cache with the oracle of cache_oracle.h, for random configurations and random access
 * streams. Every result of every access must be equal. */
#include "../unit/check.h"
#include "cache_oracle.h"

#include <stdio.h>
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

/* ---- random configurations and streams ---- */

/* A configuration and the arrays that it points to. */
struct setup {
    struct fth_cache_config config;
    uint64_t set_ways[64];
    double weights[200];
    char index[64];
    struct fth_hash_masks masks;
    uint64_t slots; /* ways of all sets */
};

static void random_index(struct setup *setup, struct fth_rng *rng)
{
    static const char *const kinds[] = {"mod", "shift:", "xor", "prime", "bits:["};
    unsigned kind = (unsigned)fth_rng_below(rng, FTH_COUNT(kinds));
    int used = snprintf(setup->index, sizeof setup->index, "%s", kinds[kind]);
    char *end = setup->index + used;
    size_t space = sizeof setup->index - (size_t)used;
    if (kind == 1)
        snprintf(end, space, "%d", (int)fth_rng_below(rng, 8));
    if (kind == 4) {
        /* One to five address bits above the offset in the line, ascending or descending. */
        unsigned bits = 1 + (unsigned)fth_rng_below(rng, 5), low = 0, step = 1;
        while ((uint64_t)1 << low < setup->config.line_bytes)
            low++;
        low += (unsigned)fth_rng_below(rng, 4);
        step += (unsigned)fth_rng_below(rng, 2);
        bool descending = fth_rng_below(rng, 2);
        for (unsigned i = 0; i < bits; i++) {
            unsigned bit = low + step * (descending ? bits - 1 - i : i);
            used = snprintf(end, space, "%u%s", bit, i + 1 < bits ? "," : "]");
            end += used;
            space -= (size_t)used;
        }
        setup->config.sets = (uint64_t)1 << bits;
    }
    setup->config.index = setup->index;
}

/* Masks of random address bits, up to the highest ones, replace the index function. Some sets or
 * rows can stay unused. */
static void random_set_masks(struct setup *setup, struct fth_rng *rng)
{
    struct fth_cache_config *config = &setup->config;
    struct fth_hash_masks *masks = &setup->masks;
    *masks = (struct fth_hash_masks){.set_count = fth_rng_below(rng, 6)};
    for (size_t i = 0; i < masks->set_count; i++)
        masks->set[i] = fth_rng_next(rng) & ~(config->line_bytes - 1);
    config->sets = (uint64_t)1 << masks->set_count;
    config->masks = masks;
    config->index = "masks"; /* not used; for messages */
}

static void random_row_masks(struct setup *setup, struct fth_rng *rng)
{
    struct fth_hash_masks *masks = &setup->masks;
    const uint64_t rows = setup->config.rows ? setup->config.rows : 128;
    for (; (uint64_t)1 << masks->row_count < rows; masks->row_count++)
        masks->row[masks->row_count] = fth_rng_next(rng) & ~(setup->config.line_bytes - 1);
}

static void random_config(struct setup *setup, struct fth_rng *rng)
{
    static const char *const policies[] = {"lru",      "fifo",  "lfu",   "plru", "random",
                                           "weighted", "clock", "srrip", "drrip"};
    struct fth_cache_config *config = &setup->config;
    *config = (struct fth_cache_config){.line_bytes = 16u << fth_rng_below(rng, 5)};
    uint64_t sector = config->line_bytes >> fth_rng_below(rng, 7);
    config->sector_bytes = sector && sector < config->line_bytes ? sector : 0;
    config->write = (enum fth_write)fth_rng_below(rng, 3);
    config->seed = fth_rng_next(rng);
    config->policy = policies[fth_rng_below(rng, FTH_COUNT(policies))];
    config->sets = 1 + fth_rng_below(rng, fth_rng_below(rng, 2) ? 64 : 8);
    random_index(setup, rng);
    if (fth_rng_below(rng, 4) == 0)
        random_set_masks(setup, rng);
    /* The caches are so small that 2,000 accesses overflow most of them. */
    uint64_t max_ways = fth_rng_below(rng, 2) ? 200 : 8;
    while (max_ways > 4 && max_ways * config->sets > 1000)
        max_ways /= 2;
    config->ways = 1 + fth_rng_below(rng, max_ways);
    const bool plru = strcmp(config->policy, "plru") == 0;
    while (plru && (config->ways & (config->ways - 1)))
        config->ways &= config->ways - 1;
    const bool clock = strcmp(config->policy, "clock") == 0;
    if (clock && config->write == FTH_WRITE_BACK)
        config->write = FTH_WRITE_THROUGH;
    if (clock && fth_rng_below(rng, 4)) { /* otherwise the defaults */
        config->row_ways = 1 + fth_rng_below(rng, 5);
        config->rows = 1;
        while (config->rows * config->row_ways < max_ways)
            config->rows *= 2;
    }
    if (clock && config->masks)
        random_row_masks(setup, rng);
    setup->slots = config->sets * config->ways;
    if (strcmp(config->policy, "weighted") == 0) {
        for (uint64_t way = 0; way < config->ways; way++)
            setup->weights[way] = 0.01 + fth_rng_unit(rng);
        config->way_weights = setup->weights;
        config->way_weight_count = config->ways;
    } else if (!plru && fth_rng_below(rng, 3) == 0) {
        setup->slots = 0;
        for (uint64_t set = 0; set < config->sets; set++)
            setup->slots += setup->set_ways[set] = 1 + fth_rng_below(rng, max_ways);
        config->set_ways = setup->set_ways;
        config->ways = 0;
    }
}

/* A stream of line numbers with some locality. Its footprint is between half and 2.5 times the
 * capacity. */
struct stream {
    uint64_t base, lines; /* first line, and footprint in lines */
    uint64_t position;    /* the current line, relative to `base` */
};

static struct stream random_stream(const struct setup *setup, struct fth_rng *rng)
{
    struct stream stream;
    stream.base = (fth_rng_next(rng) >> (8 + fth_rng_below(rng, 40))) / setup->config.line_bytes;
    stream.lines = 1 + setup->slots / 2 + fth_rng_below(rng, setup->slots * 2);
    stream.position = 0;
    return stream;
}

static uint64_t next_line(struct stream *stream, struct fth_rng *rng)
{
    switch (fth_rng_below(rng, 4)) {
    case 0: stream->position = fth_rng_below(rng, stream->lines); break;
    case 1: break; /* the same line again */
    case 2: stream->position = fth_rng_below(rng, 1 + stream->lines / 8); break;
    default: stream->position = (stream->position + 1) % stream->lines; break;
    }
    return stream->base + stream->position;
}

/* ---- comparison ---- */

static bool is_clock(const struct setup *setup)
{
    return strcmp(setup->config.policy, "clock") == 0;
}

/* Whether two ways are the same. With the policy clock, a way is a tag, of which there are more
 * than lines; the oracle does not number them. */
static bool same_way(const struct setup *setup, uint32_t got, uint32_t expected)
{
    return is_clock(setup) ? (got == FTH_NO_WAY) == (expected == FTH_NO_WAY) : got == expected;
}

/* Fails if the results differ. */
static void compare(const struct setup *setup, int step, const struct fth_cache_result *got,
                    const struct fth_cache_result *expected)
{
    if (got->outcome == expected->outcome && got->set == expected->set &&
        same_way(setup, got->way, expected->way) && got->sectors == expected->sectors &&
        got->fetch == expected->fetch && got->below == expected->below &&
        got->evicted == expected->evicted &&
        (!got->evicted || (got->evicted_line == expected->evicted_line &&
                           got->evicted_dirty == expected->evicted_dirty)))
        return;
    const struct fth_cache_config *config = &setup->config;
    fail_msg("step %d, %s %s, %llu sets, %llu slots, line %llu, sector %llu, write %d (found, "
             "expected):\n"
             "outcome %d %d, set %u %u, way %u %u, fetch %llx %llx, below %llx %llx, "
             "evicted %d %d %llx %llx, dirty %llx %llx",
             step, config->policy, config->index, (unsigned long long)config->sets,
             (unsigned long long)setup->slots, (unsigned long long)config->line_bytes,
             (unsigned long long)config->sector_bytes, (int)config->write, (int)got->outcome,
             (int)expected->outcome, got->set, expected->set, got->way, expected->way,
             (unsigned long long)got->fetch, (unsigned long long)expected->fetch,
             (unsigned long long)got->below, (unsigned long long)expected->below, got->evicted,
             expected->evicted, (unsigned long long)got->evicted_line,
             (unsigned long long)expected->evicted_line, (unsigned long long)got->evicted_dirty,
             (unsigned long long)expected->evicted_dirty);
}

/* Counts of each kind of result. They show that the random streams cause enough of each. */
struct tally {
    uint64_t outcomes[3], evicted, dirty, invalidated;
};

/* Performs one random access, probe or invalidation in both caches and compares the results. */
static void step_both(struct fth_cache *cache, struct oracle *oracle, const struct setup *setup,
                      struct stream *stream, int step, struct fth_rng *rng, struct tally *tally)
{
    uint64_t line_bytes = setup->config.line_bytes;
    uint64_t offset = fth_rng_below(rng, line_bytes), bytes = 1 + fth_rng_below(rng, 16);
    if (bytes > line_bytes - offset) /* an access must not cross the end of its line */
        bytes = line_bytes - offset;
    uint64_t address = next_line(stream, rng) * line_bytes + offset;
    uint64_t choice = fth_rng_below(rng, 100);
    if (choice < 4) {
        uint64_t dirty = 0, expected_dirty = 0;
        bool invalidated = fth_cache_invalidate(cache, address, &dirty);
        assert_int_equal(invalidated, oracle_invalidate(oracle, address, &expected_dirty));
        assert_true(dirty == expected_dirty);
        tally->invalidated += invalidated;
    } else if (choice < 10) {
        assert_int_equal(fth_cache_probe(cache, address, bytes),
                         oracle_probe(oracle, address, bytes));
    } else {
        enum fth_cache_kind kind = choice < 65 ? FTH_CACHE_READ : FTH_CACHE_WRITE;
        struct fth_cache_result got, expected = oracle_access(oracle, address, bytes, kind);
        fth_cache_access(cache, address, bytes, kind, &got);
        compare(setup, step, &got, &expected);
        tally->outcomes[got.outcome]++;
        tally->evicted += got.evicted;
        tally->dirty += got.evicted_dirty != 0;
    }
}

static void every_access_matches_the_oracle(void **state)
{
    (void)state;
    enum { CONFIGURATIONS = 1500, ACCESSES = 2000 };
    struct fth_rng rng;
    fth_rng_init(&rng, 20240601);
    struct tally tally = {.evicted = 0};
    for (int i = 0; i < CONFIGURATIONS; i++) {
        struct setup setup;
        random_config(&setup, &rng);
        struct stream stream = random_stream(&setup, &rng);
        struct fth_cache *cache = create_cache(&setup.config);
        struct oracle *oracle = oracle_create(&setup.config);
        assert_non_null(oracle);
        if (is_clock(&setup))
            assert_true(cache->slots >= setup.slots);
        else
            assert_int_equal(cache->slots, setup.slots);
        for (int step = 0; step < ACCESSES; step++) {
            step_both(cache, oracle, &setup, &stream, step, &rng, &tally);
            if (step == ACCESSES / 2 && i % 8 == 0) {
                fth_cache_clear(cache);
                oracle_clear(oracle);
            }
        }
        assert_int_equal(lines_held(cache), oracle_held(oracle));
        oracle_destroy(oracle);
        fth_cache_destroy(cache);
    }
    uint64_t min_count = (uint64_t)CONFIGURATIONS * ACCESSES / 20;
    for (size_t i = 0; i < FTH_COUNT(tally.outcomes); i++)
        assert_true(tally.outcomes[i] > min_count);
    assert_true(tally.evicted > min_count && tally.dirty > min_count / 4 &&
                tally.invalidated > min_count / 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_access_matches_the_oracle),
    };
    return cmocka_run_group_tests_name("cache against the oracle", tests, NULL, NULL);
}
