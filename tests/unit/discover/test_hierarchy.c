/* Discovery of cache hierarchies behind plain loads, on a device that plays caches. A figure is
 * right or unknown: none is wrong with a confidence of 0.9 or more. */
#include "discover/discover.h"
#include "played_caches.h"

#include <stdio.h>
#include <string.h>

static const char *const names[PLAYED_LEVELS] = {"l1", "l2", "l3"};

/* Figures of many devices. */
struct tally {
    size_t right, unknown, wrong_unsure, wrong;
};

static double size_of(const struct played_cache *cache)
{
    return (double)(cache->sets * cache->ways * cache->line);
}

/* Compares a figure with the truth. */
static void compare(struct tally *tally, const struct fth_gpu *gpu, const char *element,
                    const char *attribute, double truth, double tolerance, uint64_t seed)
{
    const struct fth_attribute *found = fth_gpu_attribute(gpu, element, attribute);
    if (!found) {
        const char *reason = fth_gpu_unknown(gpu, element, attribute);
        if (getenv("FTH_TEST_REASONS"))
            printf("# seed %llu: %s.%s is unknown: %s\n", (unsigned long long)seed, element,
                   attribute, reason ? reason : "the element was not found");
        tally->unknown++;
        return;
    }
    if (fabs(found->number - truth) <= tolerance) {
        tally->right++;
        return;
    }
    const bool sure = !(found->confidence < 0.9);
    tally->wrong += sure;
    tally->wrong_unsure += !sure;
    printf("# seed %llu: %s.%s is %g instead of %g, confidence %g\n", (unsigned long long)seed,
           element, attribute, found->number, truth, found->confidence);
}

static struct played_cache make_cache(uint64_t bytes, uint64_t line, uint64_t ways, double cycles)
{
    return (struct played_cache){
        .line = line, .sets = bytes / line / ways, .ways = ways, .cycles = cycles};
}

/* A CPU without noise: 32 KiB, 256 KiB, 1 MiB. */
static struct played clean_cpu(void)
{
    struct played played = {.count = 3,
                            .memory_cycles = 200,
                            .memory_bytes = 8.0 * (8 << 20),
                            .tick = 1,
                            .overhead = 20,
                            .background = 2};
    played.levels[0] = make_cache(32 << 10, 64, 8, 4);
    played.levels[1] = make_cache(256 << 10, 64, 8, 14);
    played.levels[2] = make_cache(1 << 20, 64, 16, 50);
    return played;
}

static double number(const struct fth_gpu *gpu, const char *element, const char *attribute)
{
    return fth_gpu_number(gpu, element, attribute, NAN);
}

static void assert_number(const struct fth_gpu *gpu, const char *element, const char *attribute,
                          double expected, double tolerance)
{
    const char *reason = fth_gpu_unknown(gpu, element, attribute);
    if (!(fabs(number(gpu, element, attribute) - expected) <= tolerance))
        fail_msg("%s.%s is %g instead of %g (%s)", element, attribute,
                 number(gpu, element, attribute), expected, reason ? reason : "no reason");
}

static void clean_caches_are_known(void **state)
{
    (void)state;
    struct played played = clean_cpu();
    played_init(&played, 1);
    struct fth_gpu *gpu = played_discover(&played, NULL);
    for (size_t i = 0; i < 3; i++) {
        const struct played_cache *cache = &played.levels[i];
        assert_number(gpu, names[i], "size_bytes", size_of(cache), 0);
        assert_number(gpu, names[i], "line_bytes", 64, 0);
        assert_number(gpu, names[i], "latency_cycles", cache->cycles, 0.5);
        assert_number(gpu, names[i], "latency_ns", cache->cycles / 2, 0.3);
    }
    assert_number(gpu, "l1", "ways", 8, 0);
    assert_number(gpu, "l1", "sets", 64, 0);
    assert_number(gpu, "memory", "latency_cycles", 200, 2);
    assert_true(fth_gpu_attribute(gpu, "l1", "size_bytes")->confidence > 0.95);
    printf("# %lu hops\n", played.hops);
    fth_gpu_destroy(gpu);
    played_fini(&played);
}

/* Hits of a few cycles take less time than the loop for the loads behind the last 32 of a chain,
 * and only a few ticks of a coarse clock for the chains that show the line. */
static void hits_of_few_cycles_are_known(void **state)
{
    (void)state;
    for (int coarse = 0; coarse < 2; coarse++) {
        struct played played = clean_cpu();
        played.count = 2;
        played.tick = coarse ? 40 : 1;
        played.tail_cycles = 10;
        played.background = 0;
        played.levels[0] = make_cache(16 << 10, 64, 8, 4);
        played.levels[1] = make_cache(128 << 10, 64, 16, coarse ? 12.4 : 16);
        played_init(&played, 1);
        struct fth_gpu *gpu = played_discover(&played, "l1,l2");
        assert_number(gpu, "l1", "size_bytes", 16 << 10, 0);
        assert_number(gpu, "l1", "line_bytes", 64, 0);
        assert_number(gpu, "l1", "latency_cycles", 4, 0.5);
        assert_number(gpu, "l2", "size_bytes", 128 << 10, 0);
        assert_number(gpu, "l2", "line_bytes", 64, 0);
        fth_gpu_destroy(gpu);
        played_fini(&played);
    }
}

/* A tenth of the loads of a small cache with random replacement misses many lines after its size.
 */
static void a_small_cache_begins_to_miss_early(void **state)
{
    (void)state;
    struct played played = clean_cpu();
    played.count = 2;
    played.background = 0;
    played.levels[0] = make_cache(12 << 10, 64, 6, 4);
    played.levels[0].policy = PLAYED_RANDOM;
    played_init(&played, 1);
    struct fth_gpu *gpu = played_discover(&played, "l1");
    assert_number(gpu, "l1", "size_bytes", 12 << 10, 0);
    fth_gpu_destroy(gpu);
    played_fini(&played);
}

/* If the curve does not show whether the second plateau is that of the L2, loads past the first
 * cache do. */
static void loads_past_the_first_cache_give_the_latency_of_the_l2(void **state)
{
    (void)state;
    for (int past = 0; past < 2; past++) {
        struct played played = clean_cpu();
        played.gpu = true;
        played.past = past;
        played.count = 2;
        played.memory_bytes = 8.0 * 4 * (256 << 10);
        played.levels[1].cycles = 60; /* more than 8 times that of the first cache */
        played_init(&played, 1);
        struct fth_gpu *gpu = played_discover(&played, "l1,l2");
        if (past) {
            assert_number(gpu, "l2", "latency_cycles", 60, 0.5);
            assert_null(fth_gpu_unknown(gpu, "l2", "latency_cycles"));
        } else {
            assert_null(fth_gpu_attribute(gpu, "l2", "latency_cycles"));
            assert_contains(fth_gpu_unknown(gpu, "l2", "latency_cycles"), "may be hidden");
        }
        /* The kernels of the device cannot read their unit. */
        assert_contains(fth_gpu_unknown(gpu, "l1", "sms_per_instance"), "cannot read which unit");
        fth_gpu_destroy(gpu);
        played_fini(&played);
    }
}

/* Loads that hit the second cache take as much longer than those that hit the first one as misses
 * of the second cache take longer than its hits. */
static void hits_of_a_later_cache_are_not_misses(void **state)
{
    (void)state;
    struct played played = clean_cpu();
    played.gpu = true;
    played.count = 2;
    played.levels[0] = make_cache(16 << 10, 64, 8, 100);
    played.levels[1] = make_cache(128 << 10, 128, 8, 200);
    played.memory_cycles = 330;
    played.memory_bytes = 8.0 * 4 * (128 << 10);
    played_init(&played, 1);
    struct fth_gpu *gpu = played_discover(&played, "l1,l2");
    assert_number(gpu, "l1", "line_bytes", 64, 0);
    assert_number(gpu, "l2", "line_bytes", 128, 0);
    fth_gpu_destroy(gpu);
    played_fini(&played);
}

/* A GPU with three caches and 8 MiB of memory, of which chains have 1 MiB. */
static struct played three_caches(void)
{
    struct played played = clean_cpu();
    played.gpu = true;
    played.levels[0] = make_cache(16 << 10, 64, 8, 100);
    played.levels[1] = make_cache(64 << 10, 128, 8, 200);
    played.levels[2] = make_cache(256 << 10, 128, 16, 400);
    played.memory_cycles = 700;
    played.memory_bytes = 8.0 * (2 << 20);
    return played;
}

/* Half of the loads of a chain with all lines of the first cache can hit the second one, whose
 * lines are twice as long, although the chain does not fit. */
static void longer_lines_do_not_make_the_next_cache_faster(void **state)
{
    (void)state;
    struct played played = three_caches();
    played_init(&played, 1);
    struct fth_gpu *gpu = played_discover(&played, "l2,l3,memory");
    assert_number(gpu, "l2", "line_bytes", 128, 0);
    assert_number(gpu, "l3", "latency_cycles", 400, 2);
    assert_number(gpu, "l3", "size_bytes", 256 << 10, 0);
    assert_number(gpu, "memory", "latency_cycles", 700, 2);
    fth_gpu_destroy(gpu);
    played_fini(&played);
}

/* The second cache replaces at random, so that it holds only a part of a chain that fits. */
static void a_part_in_another_cache_does_not_shorten_the_line(void **state)
{
    (void)state;
    struct played played = three_caches();
    played.levels[1] = make_cache(64 << 10, 64, 8, 160);
    played.levels[1].policy = PLAYED_RANDOM;
    played.levels[2].cycles = 360;
    played.memory_cycles = 600;
    played_init(&played, 1);
    struct fth_gpu *gpu = played_discover(&played, "l3");
    assert_number(gpu, "l3", "line_bytes", 128, 0);
    fth_gpu_destroy(gpu);
    played_fini(&played);
}

/* ---- random devices ---- */

/* The seeds of the noisy and of the quiet devices. With the arguments FIRST LAST or quiet
 * FIRST LAST, the program measures only random devices with these seeds. */
struct seeds {
    uint64_t first, last;
};
static struct seeds noisy_seeds = {1, SANITIZED ? 4 : 16},
                    quiet_seeds = {1001, SANITIZED ? 1002 : 1020};

static uint64_t pick(struct fth_rng *rng, const uint64_t *values, size_t count)
{
    return values[fth_rng_below(rng, count)];
}

/* A random cache of about `bytes`, with a number of sets that is a power of two. */
static struct played_cache random_cache(struct fth_rng *rng, uint64_t bytes, uint64_t line,
                                        double cycles)
{
    static const uint64_t ways[] = {2, 4, 6, 8, 12, 16};
    struct played_cache cache = {
        .line = line, .ways = pick(rng, ways, FTH_COUNT(ways)), .cycles = cycles, .sets = 1};
    while (cache.sets * cache.ways * line < bytes)
        cache.sets *= 2;
    cache.policy = (enum played_policy)fth_rng_below(rng, 3);
    if (cache.policy == PLAYED_PLRU && (cache.ways & (cache.ways - 1)))
        cache.policy = PLAYED_LRU;
    return cache;
}

/* A random device. `quiet`: without noise, scattered pages and other programs. */
static struct played random_device(uint64_t seed, bool quiet)
{
    static const uint64_t lines[] = {32, 64, 64, 128, 256};
    struct fth_rng rng;
    fth_rng_init(&rng, seed);
    struct played played = {.count = 1 + fth_rng_below(&rng, PLAYED_LEVELS),
                            .tick = 1,
                            .overhead = 10 + 30 * fth_rng_unit(&rng),
                            .gpu = fth_rng_below(&rng, 4) == 0};
    const uint64_t line = pick(&rng, lines, FTH_COUNT(lines));
    uint64_t bytes = (8 << 10) + fth_rng_below(&rng, 8 << 10);
    double cycles = 3 + 5 * fth_rng_unit(&rng);
    for (size_t i = 0; i < played.count; i++) {
        played.levels[i] = random_cache(&rng, bytes, line, cycles);
        bytes = (uint64_t)(4 * size_of(&played.levels[i]));
        cycles *= 2 + 2 * fth_rng_unit(&rng);
    }
    played.memory_cycles = cycles * 2;
    played.memory_bytes = 8.0 * 6 * size_of(&played.levels[played.count - 1]);
    /* The timing code of a GPU hardly uses the cache. CPUs have more sets. */
    played.background =
        !played.gpu && played.levels[0].sets >= 64 ? (unsigned)fth_rng_below(&rng, 4) : 0;
    if (quiet)
        return played;
    played.pair_prefetch = fth_rng_below(&rng, 2) && !played.gpu;
    played.scattered = fth_rng_below(&rng, 2);
    for (size_t i = 0; i < played.count; i++) {
        struct played_cache *cache = &played.levels[i];
        cache->physical = i > 0 || fth_rng_below(&rng, 4) == 0;
        cache->hashed = i > 0 && fth_rng_below(&rng, 4) == 0;
    }
    played.tlb_entries = fth_rng_below(&rng, 2) ? 16U << fth_rng_below(&rng, 4) : 0;
    played.tlb_cycles = 5 + 25 * fth_rng_unit(&rng);
    played.tick = fth_rng_below(&rng, 2) ? 1 : 25;
    played.jitter = 20 * fth_rng_unit(&rng);
    played.pause_rate = fth_rng_below(&rng, 2) ? 0.1 * fth_rng_unit(&rng) : 0;
    played.theft_rate = fth_rng_below(&rng, 4) ? 0 : 0.3 * fth_rng_unit(&rng);
    return played;
}

/* Measures a random device and compares all figures. */
static void try_device(uint64_t seed, bool quiet, struct tally *sizes, struct tally *others)
{
    struct played played = random_device(seed, quiet);
    played_init(&played, seed);
    struct fth_gpu *gpu = played_discover(&played, NULL);
    for (size_t i = 0; i < played.count; i++) {
        const struct played_cache *cache = &played.levels[i];
        const double slower = played.tlb_entries ? played.tlb_cycles : 0;
        compare(i ? others : sizes, gpu, names[i], "size_bytes", size_of(cache), 0, seed);
        compare(i ? others : sizes, gpu, names[i], "line_bytes", (double)cache->line, 0, seed);
        compare(others, gpu, names[i], "ways", (double)cache->ways, 0, seed);
        compare(others, gpu, names[i], "sets", (double)cache->sets, 0, seed);
        compare(others, gpu, names[i], "latency_cycles", cache->cycles,
                0.1 * cache->cycles + 1 + slower, seed);
    }
    fth_gpu_destroy(gpu);
    played_fini(&played);
}

static void random_caches_are_right_or_unknown(void **state)
{
    (void)state;
    struct tally sizes = {0}, others = {0};
    for (uint64_t seed = noisy_seeds.first; seed <= noisy_seeds.last; seed++)
        try_device(seed, false, &sizes, &others);
    printf("# first caches: %zu right, %zu unknown, %zu wrong, %zu wrong and unsure\n", sizes.right,
           sizes.unknown, sizes.wrong, sizes.wrong_unsure);
    printf("# other figures: %zu right, %zu unknown, %zu wrong, %zu wrong and unsure\n",
           others.right, others.unknown, others.wrong, others.wrong_unsure);
    assert_int_equal(sizes.wrong + others.wrong, 0);
}

static void random_quiet_caches_are_known(void **state)
{
    (void)state;
    struct tally sizes = {0}, others = {0};
    for (uint64_t seed = quiet_seeds.first; seed <= quiet_seeds.last; seed++)
        try_device(seed, true, &sizes, &others);
    printf("# first caches: %zu right, %zu unknown, %zu wrong, %zu wrong and unsure\n", sizes.right,
           sizes.unknown, sizes.wrong, sizes.wrong_unsure);
    printf("# other figures: %zu right, %zu unknown, %zu wrong, %zu wrong and unsure\n",
           others.right, others.unknown, others.wrong, others.wrong_unsure);
    assert_int_equal(sizes.wrong + others.wrong + sizes.wrong_unsure, 0);
    assert_true(20 * sizes.unknown <= sizes.right);
}

/* Measures random devices with the given seeds. */
static int try_seeds(bool quiet, char **seeds)
{
    const struct CMUnitTest quiet_test[] = {cmocka_unit_test(random_quiet_caches_are_known)},
                            noisy_test[] = {cmocka_unit_test(random_caches_are_right_or_unknown)};
    *(quiet ? &quiet_seeds : &noisy_seeds) =
        (struct seeds){strtoull(seeds[0], NULL, 10), strtoull(seeds[1], NULL, 10)};
    return quiet ? cmocka_run_group_tests(quiet_test, NULL, NULL)
                 : cmocka_run_group_tests(noisy_test, NULL, NULL);
}

int main(int argc, char **argv)
{
    const bool quiet = argc > 1 && strcmp(argv[1], "quiet") == 0;
    if (argc == 3 + quiet)
        return try_seeds(quiet, argv + 1 + quiet);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hits_of_a_later_cache_are_not_misses),
        cmocka_unit_test(longer_lines_do_not_make_the_next_cache_faster),
        cmocka_unit_test(a_part_in_another_cache_does_not_shorten_the_line),
        cmocka_unit_test(clean_caches_are_known),
        cmocka_unit_test(hits_of_few_cycles_are_known),
        cmocka_unit_test(a_small_cache_begins_to_miss_early),
        cmocka_unit_test(loads_past_the_first_cache_give_the_latency_of_the_l2),
        cmocka_unit_test(random_quiet_caches_are_known),
        cmocka_unit_test(random_caches_are_right_or_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
