/* Tests Belady's bound (model/level/belady.c and bound.c): against MIN with knowledge of the
 * future, against a search of all choices of victims, and against all replacement policies. */
#include "model/level/level.h"
#include "two_sms.h"

#include <stdio.h>

enum { MAX_ACCESSES = 200, MAX_WAYS = 8, MAX_LINES = 16 };

static struct fth_belady *create(uint64_t sets, uint64_t ways, unsigned sectors)
{
    const struct fth_cache_config config = {
        .line_bytes = UINT64_C(32) * sectors, .sector_bytes = 32, .sets = sets, .ways = ways};
    struct fth_cache *cache;
    struct fth_belady *belady;
    assert_int_equal(fth_cache_create(&config, &cache, NULL), FTH_OK);
    assert_int_equal(fth_belady_create(cache, &belady, NULL), FTH_OK);
    fth_cache_destroy(cache);
    return belady;
}

/* Reads sectors of a line, and returns those that hit. */
static uint64_t read_line(struct fth_belady *belady, uint64_t line, uint64_t sectors, uint32_t set)
{
    struct fth_belady_access access = {
        .line = line, .sectors = sectors, .set = set, .allocates = true};
    fth_belady_access(belady, &access);
    assert_false(fth_belady_failed(belady));
    return access.hits;
}

/* ---- MIN ---- */

/* The hits of MIN for the first `count` accesses of one set: it evicts the line whose next access
 * is furthest in the future. */
static unsigned hits_of_min(const uint64_t *lines, size_t count, size_t ways)
{
    uint64_t held[MAX_WAYS];
    size_t held_count = 0;
    unsigned hits = 0;
    for (size_t now = 0; now < count; now++) {
        size_t way = 0, victim = 0, furthest = 0;
        while (way < held_count && held[way] != lines[now])
            way++;
        if (way < held_count) {
            hits++;
            continue;
        }
        for (size_t i = 0; i < held_count; i++) {
            size_t next = now + 1;
            while (next < count && lines[next] != held[i])
                next++;
            if (next > furthest) {
                furthest = next;
                victim = i;
            }
        }
        held[held_count < ways ? held_count++ : victim] = lines[now];
    }
    return hits;
}

/* Also for every shorter sequence, because whether an access hits does not depend on later ones. */
static void hits_are_those_of_min(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 3000; seed++) {
        struct fth_rng rng;
        fth_rng_init(&rng, seed);
        const size_t ways = 1 + fth_rng_below(&rng, MAX_WAYS);
        const uint64_t lines = 1 + fth_rng_below(&rng, MAX_LINES);
        const size_t count = 1 + fth_rng_below(&rng, MAX_ACCESSES);
        const bool loops = fth_rng_below(&rng, 2);
        uint64_t accesses[MAX_ACCESSES];
        struct fth_belady *belady = create(1, ways, 1);
        unsigned hits = 0;
        for (size_t i = 0; i < count; i++) {
            accesses[i] = loops && fth_rng_below(&rng, 8) ? i % lines : fth_rng_below(&rng, lines);
            hits += read_line(belady, accesses[i], 1, 0) != 0;
            if (i + 1 < count && fth_rng_below(&rng, 16))
                continue;
            const unsigned expected = hits_of_min(accesses, i + 1, ways);
            if (hits != expected)
                fail_msg("seed %u: %u hits after access %zu, MIN has %u", (unsigned)seed, hits, i,
                         expected);
        }
        fth_belady_destroy(belady);
    }
}

/* The example of belady.c, and a loop of which a part stays. */
static void known_sequences(void **state)
{
    (void)state;
    static const struct {
        const char *lines;
        unsigned ways, hits;
    } rows[] = {{"abcbac", 3, 3},      {"abcbac", 2, 2},       {"abcbac", 1, 0},
                {"aabb", 1, 2},        {"abcdabcdabcd", 2, 3}, {"abcdabcdabcd", 3, 6},
                {"abcdabcdabcd", 4, 8}};
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_belady *belady = create(1, rows[i].ways, 1);
        for (int repeat = 0; repeat < 2; repeat++) {
            unsigned hits = 0;
            for (const char *line = rows[i].lines; *line; line++)
                hits += read_line(belady, (uint64_t)*line, 1, 0) != 0;
            if (hits != rows[i].hits)
                fail_msg("%s with %u ways: %u hits", rows[i].lines, rows[i].ways, hits);
            fth_belady_clear(belady);
        }
        fth_belady_destroy(belady);
    }
}

/* Many lines and a wide set: each pass over n lines keeps ways - 1 of them in addition to the one
 * that is accessed. */
static void large_sets(void **state)
{
    (void)state;
    enum { LINES = 5000, WAYS = 1001, PASSES = 6 };
    struct fth_belady *belady = create(2, WAYS, 2);
    uint64_t hits = 0;
    for (int pass = 0; pass < PASSES; pass++)
        for (uint64_t line = 0; line < LINES; line++)
            hits += read_line(belady, line, 1, 1) != 0;
    /* Passes overlap: a way is free again after n - 1 accesses, and a span has n - 1. */
    assert_in_range(hits, (WAYS - 1) * (PASSES - 1), WAYS * (PASSES - 1));
    assert_int_equal(read_line(belady, 0, 2, 0), 0);
    fth_belady_destroy(belady);
}

/* ---- sectors ---- */

struct request {
    uint64_t line, sectors;
};

struct content {
    uint64_t line, valid;
};

/* Returns the most sectors that can hit if the victims are chosen best, by trying all of them. */
static unsigned search(const struct request *requests, size_t count, struct content *held,
                       size_t ways)
{
    unsigned best = 0, hits = 0;
    for (; count; requests++, count--) {
        size_t way = 0;
        while (way < ways && (!held[way].valid || held[way].line != requests->line))
            way++;
        if (way == ways)
            break;
        hits += (unsigned)__builtin_popcountll(held[way].valid & requests->sectors);
        held[way].valid |= requests->sectors;
    }
    for (size_t victim = 0; count && victim < ways; victim++) {
        struct content copy[MAX_WAYS];
        memcpy(copy, held, ways * sizeof *held);
        copy[victim] = (struct content){requests->line, requests->sectors};
        const unsigned found = search(requests + 1, count - 1, copy, ways);
        best = found > best ? found : best;
        if (!held[victim].valid)
            break; /* a free way: no line is evicted */
    }
    return hits + best;
}

static void no_choice_of_victims_has_more_hits(void **state)
{
    (void)state;
    unsigned equal = 0, runs = 0;
    for (uint64_t seed = 1; seed <= 1500; seed++) {
        enum { ACCESSES = 12, SECTORS = 4 };
        struct fth_rng rng;
        fth_rng_init(&rng, seed);
        const size_t ways = 1 + fth_rng_below(&rng, 3);
        const bool whole = fth_rng_below(&rng, 4) == 0;
        struct request requests[ACCESSES];
        struct content held[MAX_WAYS] = {{0}};
        struct fth_belady *belady = create(1, ways, SECTORS);
        unsigned hits = 0;
        for (size_t i = 0; i < ACCESSES; i++) {
            requests[i] =
                (struct request){fth_rng_below(&rng, 5), whole ? 15 : 1 + fth_rng_below(&rng, 15)};
            hits += (unsigned)__builtin_popcountll(
                read_line(belady, requests[i].line, requests[i].sectors, 0));
        }
        const unsigned best = search(requests, ACCESSES, held, ways);
        if (hits < best || (whole && hits > best))
            fail_msg("seed %u: %u hits, the best replacement has %u", (unsigned)seed, hits, best);
        runs++;
        equal += hits == best;
        fth_belady_destroy(belady);
    }
    assert_true(equal > runs / 2); /* it is not far above */
}

/* ---- policies ---- */

/* A random cache. Its misses deliver their data before the next request. */
static struct fth_shape random_shape(struct fth_rng *rng)
{
    static const char *const indices[] = {"mod", "xor", "prime"};
    struct fth_shape shape = {.line_bytes = 128,
                              .line_shift = 7,
                              .sector_shift = 5 + (unsigned)fth_rng_below(rng, 3),
                              .sets = 1 + fth_rng_below(rng, 4),
                              .partitions = 1 + fth_rng_below(rng, 2),
                              .banks = 1 + fth_rng_below(rng, 2),
                              .ports = 1,
                              .partition_bytes = 128,
                              .bank_bytes = 256,
                              .index = indices[fth_rng_below(rng, 3)],
                              .mshr_sets = 1,
                              .latency_fixed = 1,
                              .merged_hits = true,
                              .write = (enum fth_write)fth_rng_below(rng, 3),
                              .seed = 1,
                              .request_flags = FTH_LINE_REQUEST_L1_FLAGS};
    shape.sector_bytes = UINT64_C(1) << shape.sector_shift;
    shape.fill_bytes = shape.sector_bytes << fth_rng_below(rng, 2);
    shape.fill_bytes = shape.fill_bytes < shape.line_bytes ? shape.fill_bytes : shape.line_bytes;
    shape.ways = UINT64_C(1) << fth_rng_below(rng, 4);
    shape.lines = shape.sets * shape.ways;
    if (shape.write == FTH_WRITE_EVICT)
        shape.bypass = FTH_BYPASS_WRITES;
    return shape;
}

enum { REQUESTS = 400 };

/* Random requests: mostly reads; some have flags. Some writes and
 * atomics write sectors in part. */
static void random_requests(struct fth_rng *rng, const struct fth_shape *shape,
                            struct fth_line_request *requests, struct fth_cache_run *runs)
{
    const uint64_t lines = 1 + fth_rng_below(rng, 3 * shape->lines);
    const unsigned sectors = (unsigned)(shape->line_bytes / shape->sector_bytes);
    const uint64_t other_kinds = fth_rng_below(rng, 3), flags = fth_rng_below(rng, 2);
    for (uint32_t i = 0; i < REQUESTS; i++) {
        const uint64_t from = fth_rng_below(rng, sectors);
        const uint64_t count = 1 + fth_rng_below(rng, sectors - from);
        const uint64_t line = fth_rng_below(rng, 4) ? fth_rng_below(rng, lines) : i % lines;
        runs[i] = (struct fth_cache_run){(uint32_t)(from * shape->sector_bytes),
                                         (uint32_t)(count * shape->sector_bytes)};
        requests[i] = (struct fth_line_request){.line = line * shape->line_bytes,
                                                .sectors = ((UINT64_C(1) << count) - 1) << from,
                                                .run = i,
                                                .run_count = 1,
                                                .kind = FTH_TRACE_READ};
        if (other_kinds && fth_rng_below(rng, 4) == 0)
            requests[i].kind = 1 + (uint8_t)fth_rng_below(rng, other_kinds);
        if (fth_rng_below(rng, 4) == 0) { /* the first and the last sector in part */
            runs[i].from += 4;
            runs[i].bytes -= 8;
        }
        if (flags && fth_rng_below(rng, 8) == 0)
            requests[i].flags = (uint8_t)fth_rng_below(rng, 8);
    }
}

static struct fth_model_counts count_hits(struct fth_shape shape, const char *policy,
                                          const struct fth_line_request *requests,
                                          const struct fth_cache_run *runs)
{
    struct fth_cache_level *level;
    struct fth_model_counts counts = {0};
    struct fth_line_request copy[REQUESTS];
    memcpy(copy, requests, sizeof copy);
    shape.policy = policy;
    assert_int_equal(fth_cache_level_create(&shape, &level, NULL), FTH_OK);
    for (size_t i = 0; i < REQUESTS; i++)
        assert_true(fth_cache_level_run(level, &copy[i], 1, runs, &counts, NULL));
    fth_cache_level_destroy(level);
    return counts;
}

static void no_policy_has_more_hits(void **state)
{
    (void)state;
    static const char *const policies[] = {"lru",    "fifo",  "lfu",  "plru",
                                           "random", "srrip", "drrip"};
    uint64_t more = 0;
    for (uint64_t seed = 1; seed <= 2000; seed++) {
        struct fth_rng rng;
        struct fth_line_request requests[REQUESTS];
        struct fth_cache_run runs[REQUESTS];
        fth_rng_init(&rng, seed);
        const struct fth_shape shape = random_shape(&rng);
        random_requests(&rng, &shape, requests, runs);
        const struct fth_model_counts bound = count_hits(shape, "belady", requests, runs);
        for (size_t i = 0; i < FTH_COUNT(policies); i++) {
            const struct fth_model_counts counts = count_hits(shape, policies[i], requests, runs);
            for (int kind = 0; kind < 3; kind++) {
                assert_int_equal(counts.sectors[kind], bound.sectors[kind]);
                if (counts.hits[kind] > bound.hits[kind])
                    fail_msg("seed %u, kind %d: %s has %u hits, the bound is %u", (unsigned)seed,
                             kind, policies[i], (unsigned)counts.hits[kind],
                             (unsigned)bound.hits[kind]);
                more += bound.hits[kind] > counts.hits[kind];
            }
        }
    }
    assert_true(more > 5000); /* the policies are not all as good as the bound */
}

/* With one way there is no choice: the line of the last access is in the cache. */
static void one_way_has_no_choice(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct fth_rng rng;
        struct fth_line_request requests[REQUESTS];
        struct fth_cache_run runs[REQUESTS];
        fth_rng_init(&rng, seed);
        struct fth_shape shape = random_shape(&rng);
        shape.ways = 1;
        shape.lines = shape.sets;
        shape.sector_bytes = shape.fill_bytes = shape.line_bytes;
        shape.sector_shift = shape.line_shift;
        shape.request_flags = 0;
        random_requests(&rng, &shape, requests, runs);
        for (size_t i = 0; i < REQUESTS; i++) {
            requests[i].flags = 0;
            runs[i] = (struct fth_cache_run){0, (uint32_t)shape.line_bytes};
        }
        const struct fth_model_counts bound = count_hits(shape, "belady", requests, runs);
        const struct fth_model_counts lru = count_hits(shape, "lru", requests, runs);
        assert_memory_equal(&bound, &lru, sizeof bound);
    }
}

/* ---- what a cache does besides replacement ---- */

static void lines_that_are_dropped_miss(void **state)
{
    (void)state;
    struct fth_belady *belady = create(1, 4, 4);
    assert_int_equal(read_line(belady, 7, 3, 0), 0);
    assert_int_equal(read_line(belady, 7, 7, 0), 3);
    assert_true(fth_belady_holds_line(belady, 0, 7));
    assert_false(fth_belady_holds_line(belady, 0, 8));
    assert_int_equal(fth_belady_drop(belady, 0, 7), 7);
    assert_int_equal(fth_belady_drop(belady, 0, 7), 0);
    assert_int_equal(fth_belady_drop(belady, 0, 9), 0);
    assert_false(fth_belady_holds_line(belady, 0, 7));
    assert_int_equal(read_line(belady, 7, 7, 0), 0);
    fth_belady_destroy(belady);
}

/* A read also leaves the other sectors of its fill in the cache, and a write does not. */
static void reads_fetch_whole_fills(void **state)
{
    (void)state;
    struct fth_belady *belady = create(1, 2, 2);
    struct fth_belady_access access = {
        .line = 1, .sectors = 1, .fills = 3, .allocates = true, .kind = FTH_TRACE_READ};
    fth_belady_access(belady, &access);
    assert_int_equal(read_line(belady, 1, 2, 0), 2);
    access.line = 2;
    access.kind = FTH_TRACE_WRITE;
    access.fills = 0;
    fth_belady_access(belady, &access);
    assert_int_equal(read_line(belady, 2, 3, 0), 1);
    fth_belady_destroy(belady);
    /* A fill displaces the other sector, too. */
    belady = create(1, 1, 2);
    access.line = 1;
    access.kind = FTH_TRACE_READ;
    access.fills = 3;
    read_line(belady, 2, 2, 0);
    fth_belady_access(belady, &access);
    assert_int_equal(read_line(belady, 2, 2, 0), 0);
    fth_belady_destroy(belady);
}

/* A read of sectors in flight hits and takes no way, even if the line is not kept. */
static void sectors_in_flight_hit(void **state)
{
    (void)state;
    struct fth_belady *belady = create(1, 1, 1);
    struct fth_belady_access access = {.line = 1, .sectors = 1, .merges = true};
    read_line(belady, 1, 1, 0);
    read_line(belady, 2, 1, 0);
    fth_belady_access(belady, &access);
    assert_int_equal(access.hits, 1);
    access.line = 3; /* it has been dropped, but its data has not arrived yet */
    fth_belady_access(belady, &access);
    assert_int_equal(access.hits, 1);
    assert_int_equal(read_line(belady, 2, 1, 0), 1);
    fth_belady_destroy(belady);
}

/* An access that does not allocate uses what the cache holds, and leaves nothing. */
static void accesses_without_allocation_leave_nothing(void **state)
{
    (void)state;
    struct fth_belady *belady = create(1, 1, 1);
    struct fth_belady_access access = {.line = 1, .sectors = 1};
    for (int i = 0; i < 2; i++) {
        fth_belady_access(belady, &access);
        assert_int_equal(access.hits, 0);
    }
    read_line(belady, 2, 1, 0);
    fth_belady_access(belady, &access); /* does not displace line 2 */
    assert_int_equal(read_line(belady, 2, 1, 0), 1);
    fth_belady_destroy(belady);
}

/* Writes 10 lines of a set with 4 ways, twice. Four of them stay in the cache from the first
 * time to the second, and four at the end. */
static void written_sectors_are_written_back(void **state)
{
    (void)state;
    struct fth_belady *belady = create(1, 4, 1);
    unsigned written_back = 0, hits = 0;
    for (uint64_t i = 0; i < 20; i++) {
        struct fth_belady_access access = {.line = i % 10,
                                           .sectors = 1,
                                           .allocates = true,
                                           .kind = FTH_TRACE_WRITE,
                                           .dirties = true};
        fth_belady_access(belady, &access);
        written_back += access.written_back != 0;
        hits += access.hits != 0;
        if (i == 9)
            assert_int_equal(written_back, 6);
    }
    assert_int_equal(hits, 4);
    assert_int_equal(written_back, 20 - 4 - 4);
    fth_belady_destroy(belady);
}

/* Writes or reads a line. Returns whether a sector is written back. */
static bool writes_back(struct fth_belady *belady, uint64_t line, bool write)
{
    struct fth_belady_access access = {.line = line,
                                       .sectors = 1,
                                       .allocates = true,
                                       .kind = write ? FTH_TRACE_WRITE : FTH_TRACE_READ,
                                       .dirties = write};
    fth_belady_access(belady, &access);
    return access.written_back != 0;
}

/* A set with one line. */
static void each_write_is_written_back_once(void **state)
{
    (void)state;
    struct fth_belady *belady = create(1, 1, 1);
    assert_false(writes_back(belady, 1, true));
    assert_false(writes_back(belady, 1, true));
    assert_false(writes_back(belady, 2, false)); /* evicts line 1, which is not known yet */
    assert_true(writes_back(belady, 1, false));
    assert_false(writes_back(belady, 2, false));
    assert_false(writes_back(belady, 1, false));
    assert_false(writes_back(belady, 3, true));
    assert_int_equal(fth_belady_drop(belady, 0, 3), 1); /* what was written is lost */
    assert_false(writes_back(belady, 4, true));
    assert_true(writes_back(belady, 5, true));   /* line 4 cannot be in the cache any more */
    assert_false(writes_back(belady, 4, false)); /* and is not written back again */
    fth_belady_clear(belady);
    assert_false(writes_back(belady, 1, true));
    assert_true(writes_back(belady, 2, true));
    for (uint64_t line = 1; line < 3; line++)
        assert_int_equal(fth_belady_drop(belady, 0, line), 1);
    assert_false(writes_back(belady, 3, true));
    assert_true(writes_back(belady, 4, true));
    fth_belady_destroy(belady);
}

/* ---- models ---- */

static const char tuples[] = "0 0 0 R 0\n1 0 0 R 128\n2 0 0 R 256\n3 0 0 R 0\n4 0 0 R 128\n"
                             "5 0 0 W 0\n6 0 0 A 256\n7 0 0 R 256\n8 0 0 R 0\n";

/* An L1 with two lines. LRU misses all reads but the last one; the bound also keeps one of the
 * first two lines. */
static void models_have_the_bound(void **state)
{
    (void)state;
    struct fth_trace *trace = open_tuples(tuples);
    for (int timing = 0; timing < 2; timing++)
        for (unsigned threads = 1; threads < 4; threads++) {
            const char *sets[] = {"gpu.timing",
                                  timing ? "auto" : "off",
                                  "l1.size_bytes",
                                  "256",
                                  "l1.sector_bytes",
                                  "0",
                                  "l1.ways",
                                  "2",
                                  "l1.policy",
                                  "belady",
                                  "l2.policy",
                                  "belady",
                                  NULL};
            const struct fth_model_options options =
                FTH_MODEL_OPTIONS(.threads = threads, .diagnose = true, .bypassed = true);
            struct fth_model_result *result = run(trace, sets, &options);
            const struct fth_model_row *row = fth_model_row(result, 0);
            assert_false(result->timed);
            assert_int_equal(row->l1.hits[FTH_TRACE_READ], 2);
            assert_int_equal(row->l1_misses.cold, 3);
            assert_int_equal(row->l1_misses.capacity, 1);
            assert_int_equal(row->l1_misses.coherence, 1);
            assert_int_equal(row->l1_fails + row->l2_fails, 0);
            fth_model_result_destroy(result);
        }
    fth_trace_close(trace);
}

/* An L2 with one line of four sectors, of which a miss fetches two. The write is written back when
 * its line is read again. */
static void the_bound_has_traffic_of_memory(void **state)
{
    (void)state;
    struct fth_trace *trace =
        open_tuples("0 0 0 W 0\n1 0 0 R 128\n2 0 0 R 256\n3 0 0 R 0\n4 0 0 R 32\n");
    const char *sets[] = {"gpu.timing",    "off",    "l1.bypass", "rwon",
                          "l2.size_bytes", "128",    "l2.ways",   "1",
                          "l2.policy",     "belady", NULL};
    struct fth_model_result *result = run(trace, sets, NULL);
    const struct fth_model_row *row = fth_model_row(result, 0);
    assert_int_equal(row->l2.hits[FTH_TRACE_READ], 1);
    assert_int_equal(row->dram_reads, 6);
    assert_int_equal(row->dram_writes, 1);
    fth_model_result_destroy(result);
    fth_trace_close(trace);
}

/* Two warps read the same sector in one step. */
static void reads_merge(void **state)
{
    (void)state;
    struct fth_trace *trace = open_tuples("0 0 0 R 0\n0 0 32 R 0\n1 0 0 R 0\n");
    for (unsigned hit = 0; hit < 2; hit++) {
        const char *sets[] = {"gpu.timing",         "off",       "l1.latency", "1", "l1.merged",
                              hit ? "hit" : "miss", "l1.policy", "belady",     NULL};
        const struct fth_model_options options = FTH_MODEL_OPTIONS(.diagnose = true);
        struct fth_model_result *result = run(trace, sets, &options);
        const struct fth_model_row *row = fth_model_row(result, 0);
        assert_int_equal(row->l1.merges[FTH_TRACE_READ], 1);
        assert_int_equal(row->l1.hits[FTH_TRACE_READ], 1 + hit);
        assert_int_equal(row->l1_misses.cold, 2 - hit);
        assert_int_equal(row->l2.sectors[FTH_TRACE_READ], 1);
        fth_model_result_destroy(result);
    }
    fth_trace_close(trace);
}

static void the_model_with_time_has_no_bound(void **state)
{
    (void)state;
    static const char *const levels[] = {"l1.policy", "l2.policy"};
    struct fth_trace *trace = open_tuples(tuples);
    for (size_t i = 0; i < FTH_COUNT(levels); i++) {
        const char *sets[] = {"gpu.timing", "on", levels[i], "belady", NULL};
        struct fth_model_params *params = make_params(sets);
        struct fth_model_result *result;
        struct fth_error error = NO_ERROR;
        char cause[200];
        snprintf(cause, sizeof cause,
                 "the model with time is not possible: %s=belady is a bound that only the model "
                 "without time has; use gpu.timing=off",
                 levels[i]);
        assert_int_equal(fth_model_run(trace, params, NULL, &result, &error), FTH_INVALID);
        assert_string_equal(error.cause, cause);
        fth_model_params_destroy(params);
    }
    fth_trace_close(trace);
}

/* Models that run together have the results of separate runs. */
static void models_run_together(void **state)
{
    (void)state;
    static const char *const rows[][7] = {{"l1.policy", "lru", NULL},
                                          {"l1.policy", "belady", NULL},
                                          {"l1.policy", "belady", "l2.policy", "belady", NULL},
                                          {"l1.policy", "lru", "l2.policy", "belady", NULL},
                                          {"l1.policy", "belady", "l1.ways", "2", NULL}};
    enum { ROWS = FTH_COUNT(rows) };
    struct fth_trace *trace = open_tuples(tuples);
    struct fth_model_member members[ROWS] = {{0}};
    struct fth_model_params *params[ROWS];
    size_t failed;
    for (size_t i = 0; i < ROWS; i++) {
        params[i] = make_params(rows[i]);
        assert_int_equal(fth_model_set(params[i], "gpu.timing", "off", NULL), FTH_OK);
        assert_int_equal(fth_model_set(params[i], "l1.size_bytes", "512", NULL), FTH_OK);
        members[i] = (struct fth_model_member){.params = params[i], .bypassed = true};
    }
    const struct fth_model_options options = FTH_MODEL_OPTIONS(.bypassed = true);
    assert_int_equal(fth_model_run_many(trace, members, ROWS, &options, &failed, NULL), FTH_OK);
    for (size_t i = 0; i < ROWS; i++) {
        struct fth_model_result *alone;
        assert_int_equal(fth_model_run(trace, params[i], &options, &alone, NULL), FTH_OK);
        const struct fth_model_row *row = fth_model_row(alone, 0);
        const struct fth_model_row *other = fth_model_row(members[i].result, 0);
        assert_memory_equal(&row->l1, &other->l1, sizeof row->l1);
        assert_memory_equal(&row->l2, &other->l2, sizeof row->l2);
        assert_memory_equal(&row->bypassed, &other->bypassed, sizeof row->bypassed);
        assert_int_equal(row->dram_reads, other->dram_reads);
        assert_int_equal(row->dram_writes, other->dram_writes);
        fth_model_result_destroy(alone);
        fth_model_result_destroy(members[i].result);
        fth_model_params_destroy(params[i]);
    }
    fth_trace_close(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hits_are_those_of_min),
        cmocka_unit_test(known_sequences),
        cmocka_unit_test(large_sets),
        cmocka_unit_test(no_choice_of_victims_has_more_hits),
        cmocka_unit_test(no_policy_has_more_hits),
        cmocka_unit_test(one_way_has_no_choice),
        cmocka_unit_test(lines_that_are_dropped_miss),
        cmocka_unit_test(reads_fetch_whole_fills),
        cmocka_unit_test(sectors_in_flight_hit),
        cmocka_unit_test(accesses_without_allocation_leave_nothing),
        cmocka_unit_test(written_sectors_are_written_back),
        cmocka_unit_test(each_write_is_written_back_once),
        cmocka_unit_test(models_have_the_bound),
        cmocka_unit_test(the_bound_has_traffic_of_memory),
        cmocka_unit_test(reads_merge),
        cmocka_unit_test(the_model_with_time_has_no_bound),
        cmocka_unit_test(models_run_together),
    };
    return cmocka_run_group_tests_name("belady", tests, enter_folder, leave_folder);
}
