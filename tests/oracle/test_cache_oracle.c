/* cache/ against the oracle, on random configurations and traces: every answer to every access. */
#include "../unit/check.h"
#include "cache_oracle.h"

#include <stdio.h>
#include <stdlib.h>

static struct fth_cache *make(const struct fth_cache_config *config)
{
    struct fth_cache *cache = NULL;
    struct fth_error error = NO_ERROR;
    if (fth_cache_create(config, &cache, &error) != FTH_OK)
        fail_msg("%s: %s", error.argument, error.cause);
    return cache;
}

/* ---- what is drawn ---- */

/* A configuration and what it points to. */
struct draw {
    struct fth_cache_config config;
    uint64_t set_ways[64];
    double weights[200];
    char index[64];
    uint64_t slots;
};

static void draw_index(struct draw *draw, struct fth_rng *rng)
{
    static const char *const kinds[] = {"mod", "shift:", "xor", "prime", "bits:["};
    unsigned kind = (unsigned)fth_rng_below(rng, FTH_COUNT(kinds));
    int used = snprintf(draw->index, sizeof draw->index, "%s", kinds[kind]);
    char *end = draw->index + used;
    size_t room = sizeof draw->index - (size_t)used;
    if (kind == 1)
        snprintf(end, room, "%d", (int)fth_rng_below(rng, 8));
    if (kind == 4) {
        /* One to five bits from where the line ends, in rising or falling order. */
        unsigned bits = 1 + (unsigned)fth_rng_below(rng, 5), low = 0, step = 1;
        while ((uint64_t)1 << low < draw->config.line_bytes)
            low++;
        low += (unsigned)fth_rng_below(rng, 4);
        step += (unsigned)fth_rng_below(rng, 2);
        bool falls = fth_rng_below(rng, 2);
        for (unsigned i = 0; i < bits; i++) {
            unsigned bit = low + step * (falls ? bits - 1 - i : i);
            used = snprintf(end, room, "%u%s", bit, i + 1 < bits ? "," : "]");
            end += used;
            room -= (size_t)used;
        }
        draw->config.sets = (uint64_t)1 << bits;
    }
    draw->config.index = draw->index;
}

static void draw_config(struct draw *draw, struct fth_rng *rng)
{
    static const char *const policies[] = {"lru", "fifo", "lfu", "plru", "random", "weighted"};
    struct fth_cache_config *config = &draw->config;
    *config = (struct fth_cache_config){.line_bytes = 16u << fth_rng_below(rng, 5)};
    uint64_t sector = config->line_bytes >> fth_rng_below(rng, 7);
    config->sector_bytes = sector && sector < config->line_bytes ? sector : 0;
    config->write = (enum fth_write)fth_rng_below(rng, 3);
    config->seed = fth_rng_next(rng);
    config->policy = policies[fth_rng_below(rng, FTH_COUNT(policies))];
    config->sets = 1 + fth_rng_below(rng, fth_rng_below(rng, 2) ? 64 : 8);
    draw_index(draw, rng);
    /* So small that 2,000 accesses overflow most of them. */
    uint64_t max = fth_rng_below(rng, 2) ? 200 : 8;
    while (max > 4 && max * config->sets > 1000)
        max /= 2;
    config->ways = 1 + fth_rng_below(rng, max);
    const bool tree = strcmp(config->policy, "plru") == 0;
    while (tree && (config->ways & (config->ways - 1)))
        config->ways &= config->ways - 1;
    draw->slots = config->sets * config->ways;
    if (strcmp(config->policy, "weighted") == 0) {
        for (uint64_t way = 0; way < config->ways; way++)
            draw->weights[way] = 0.01 + fth_rng_unit(rng);
        config->way_weights = draw->weights;
        config->way_weight_count = config->ways;
    } else if (!tree && fth_rng_below(rng, 3) == 0) {
        draw->slots = 0;
        for (uint64_t set = 0; set < config->sets; set++)
            draw->slots += draw->set_ways[set] = 1 + fth_rng_below(rng, max);
        config->set_ways = draw->set_ways;
        config->ways = 0;
    }
}

/* A stream with some locality over a footprint somewhat below or above the capacity. */
struct stream {
    uint64_t base, lines, at;
};

static struct stream draw_stream(const struct draw *draw, struct fth_rng *rng)
{
    struct stream stream;
    stream.base = (fth_rng_next(rng) >> (8 + fth_rng_below(rng, 40))) / draw->config.line_bytes;
    stream.lines = 1 + draw->slots / 2 + fth_rng_below(rng, draw->slots * 2);
    stream.at = 0;
    return stream;
}

static uint64_t next_line(struct stream *stream, struct fth_rng *rng)
{
    switch (fth_rng_below(rng, 4)) {
    case 0: stream->at = fth_rng_below(rng, stream->lines); break;
    case 1: break; /* the same again */
    case 2: stream->at = fth_rng_below(rng, 1 + stream->lines / 8); break;
    default: stream->at = (stream->at + 1) % stream->lines; break;
    }
    return stream->base + stream->at;
}

/* ---- side by side ---- */

static void compare(const struct draw *draw, int step, const struct fth_cache_result *got,
                    const struct fth_cache_result *expected, bool ways_too)
{
    if (got->outcome == expected->outcome && got->set == expected->set &&
        (!ways_too || got->way == expected->way) && got->sectors == expected->sectors &&
        got->fetch == expected->fetch && got->below == expected->below &&
        got->evicted == expected->evicted &&
        (!got->evicted || (got->evicted_line == expected->evicted_line &&
                           got->evicted_dirty == expected->evicted_dirty)))
        return;
    const struct fth_cache_config *config = &draw->config;
    fail_msg("step %d, %s %s, %llu sets, %llu slots, line %llu, sector %llu, write %d:\n"
             "outcome %d %d, set %u %u, way %u %u, fetch %llx %llx, below %llx %llx, "
             "evicted %d %d %llx %llx, dirty %llx %llx",
             step, config->policy, config->index, (unsigned long long)config->sets,
             (unsigned long long)draw->slots, (unsigned long long)config->line_bytes,
             (unsigned long long)config->sector_bytes, (int)config->write, (int)got->outcome,
             (int)expected->outcome, got->set, expected->set, got->way, expected->way,
             (unsigned long long)got->fetch, (unsigned long long)expected->fetch,
             (unsigned long long)got->below, (unsigned long long)expected->below, got->evicted,
             expected->evicted, (unsigned long long)got->evicted_line,
             (unsigned long long)expected->evicted_line, (unsigned long long)got->evicted_dirty,
             (unsigned long long)expected->evicted_dirty);
}

/* How often each thing was seen, so that a test that tests nothing is noticed. */
struct tally {
    uint64_t outcomes[3], evicted, dirty, dropped;
};

static void step_both(struct fth_cache *cache, struct oracle *oracle, const struct draw *draw,
                      struct stream *stream, int step, struct fth_rng *rng, struct tally *tally,
                      bool ways_too)
{
    uint64_t line_bytes = draw->config.line_bytes;
    uint64_t offset = fth_rng_below(rng, line_bytes), bytes = 1 + fth_rng_below(rng, 16);
    if (bytes > line_bytes - offset) /* an access does not straddle lines */
        bytes = line_bytes - offset;
    uint64_t address = next_line(stream, rng) * line_bytes + offset;
    uint64_t what = fth_rng_below(rng, 100);
    if (what < 4) {
        uint64_t dirty = 0, expected_dirty = 0;
        bool dropped = fth_cache_invalidate(cache, address, &dirty);
        assert_int_equal(dropped, oracle_invalidate(oracle, address, &expected_dirty));
        assert_true(dirty == expected_dirty);
        tally->dropped += dropped;
    } else if (what < 10) {
        assert_int_equal(fth_cache_probe(cache, address, bytes),
                         oracle_probe(oracle, address, bytes));
    } else {
        enum fth_cache_kind kind = what < 65 ? FTH_CACHE_READ : FTH_CACHE_WRITE;
        struct fth_cache_result got, expected = oracle_access(oracle, address, bytes, kind);
        fth_cache_access(cache, address, bytes, kind, &got);
        compare(draw, step, &got, &expected, ways_too);
        tally->outcomes[got.outcome]++;
        tally->evicted += got.evicted;
        tally->dirty += got.evicted_dirty != 0;
    }
}

static void every_access_is_as_the_oracle_says(void **state)
{
    (void)state;
    enum { CONFIGURATIONS = 1500, ACCESSES = 2000 };
    struct fth_rng rng;
    fth_rng_init(&rng, 20240601);
    struct tally tally = {.evicted = 0};
    for (int i = 0; i < CONFIGURATIONS; i++) {
        struct draw draw;
        draw_config(&draw, &rng);
        struct stream stream = draw_stream(&draw, &rng);
        struct fth_cache *cache = make(&draw.config);
        struct oracle *oracle = oracle_create(&draw.config);
        assert_non_null(oracle);
        assert_int_equal(fth_cache_capacity(cache), draw.slots);
        for (int step = 0; step < ACCESSES; step++) {
            step_both(cache, oracle, &draw, &stream, step, &rng, &tally, true);
            if (step == ACCESSES / 2 && i % 8 == 0) {
                fth_cache_clear(cache);
                oracle_clear(oracle);
            }
        }
        assert_int_equal(fth_cache_held(cache), oracle_held(oracle));
        oracle_destroy(oracle);
        fth_cache_destroy(cache);
    }
    uint64_t enough = (uint64_t)CONFIGURATIONS * ACCESSES / 20;
    for (size_t i = 0; i < FTH_COUNT(tally.outcomes); i++)
        assert_true(tally.outcomes[i] > enough);
    assert_true(tally.evicted > enough && tally.dirty > enough / 4 && tally.dropped > enough / 8);
}

/* Batches between single accesses, long enough that LRU arrays are sorted into rows and short
 * enough that they are not; under LRU the ways may differ afterwards, and nothing else. */
static void batches_are_as_the_oracle_says(void **state)
{
    (void)state;
    enum { CONFIGURATIONS = 300, BATCHES = 5, SINGLES = 50, MAX = 6000 };
    struct fth_rng rng;
    fth_rng_init(&rng, 20240602);
    uint64_t *lines = calloc(MAX, sizeof *lines);
    uint64_t *bits = calloc(MAX / 64 + 1, sizeof *bits);
    assert_true(lines && bits);
    struct tally tally = {.evicted = 0};
    uint64_t hits = 0, rows = 0;
    for (int i = 0; i < CONFIGURATIONS; i++) {
        struct draw draw;
        draw_config(&draw, &rng);
        if (draw.config.way_weight_count == 0 && i % 2)
            draw.config.policy = "lru";
        if (i % 4 == 3)
            draw.config.write = FTH_WRITE_EVICT;
        struct stream stream = draw_stream(&draw, &rng);
        struct fth_cache *cache = make(&draw.config);
        struct oracle *oracle = oracle_create(&draw.config);
        assert_non_null(oracle);
        uint64_t line_bytes = draw.config.line_bytes;
        bool lru = strcmp(draw.config.policy, "lru") == 0;
        for (int batch = 0; batch < BATCHES; batch++) {
            size_t count = fth_rng_below(&rng, draw.slots * 8 < MAX ? draw.slots * 8 : MAX);
            rows += lru && count >= draw.slots && cache->max_ways <= FTH_NARROW_WAYS;
            for (size_t j = 0; j < count; j++)
                lines[j] = next_line(&stream, &rng);
            bool keep = fth_rng_below(&rng, 4) > 0;
            uint64_t got = fth_cache_read_lines(cache, lines, count, keep ? bits : NULL);
            uint64_t expected = 0;
            for (size_t j = 0; j < count; j++) {
                struct fth_cache_result result =
                    oracle_access(oracle, lines[j] * line_bytes, line_bytes, FTH_CACHE_READ);
                expected += result.outcome == FTH_CACHE_HIT;
                if (keep)
                    assert_int_equal(bits[j / 64] >> j % 64 & 1, result.outcome == FTH_CACHE_HIT);
            }
            if (keep && count % 64) /* nothing past the end */
                assert_int_equal(bits[count / 64] >> count % 64, 0);
            assert_true(got == expected);
            assert_int_equal(fth_cache_held(cache), oracle_held(oracle));
            hits += got;
            /* With few exceptions reads alone leave lines that can become rows again. */
            for (int step = 0; batch % 2 && step < SINGLES; step++)
                step_both(cache, oracle, &draw, &stream, step, &rng, &tally, !lru);
        }
        oracle_destroy(oracle);
        fth_cache_destroy(cache);
    }
    assert_true(hits > 100000 && rows > 100 && tally.evicted > 1000);
    free(lines);
    free(bits);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_access_is_as_the_oracle_says),
        cmocka_unit_test(batches_are_as_the_oracle_says),
    };
    return cmocka_run_group_tests_name("cache against the oracle", tests, NULL, NULL);
}
