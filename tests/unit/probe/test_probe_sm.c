/* Tests of the probes of an SM's caches, and of the gates (the plausibility checks of discovery).
 *
 * The probes run on a synthetic device, which computes its samples from the known properties of a
 * cache and can add any kind of disturbance. The gates run on a simulated GPU whose samples the
 * test falsifies. */
#include "check.h"
#include "discover/discover.h"
#include "noise.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- synthetic device ---- */

enum { HIT = 40, MISS = 240 }; /* cycles of a timed hop */

/* The properties of the synthetic cache, and its disturbances. */
struct cache {
    uint64_t size_bytes, line_bytes, sector_bytes;
    unsigned instances;      /* warp w uses instance w % instances */
    unsigned warps_apart;    /* not 0: warp w uses instance w / warps_apart % instances */
    bool separate;           /* each path has its own cache */
    double outlier_rate;     /* fraction of hops that take ten times as long */
    unsigned random_misses;  /* misses per pass if the footprint does not fit, at random
                              * positions; 0: all hops miss, as with LRU */
    double flush_rate;       /* fraction of passes before which the whole cache is flushed */
    double evicted_fraction; /* fraction of the victim's lines that an aggressor in the same cache
                                evicts */
    struct fth_rng rng;
};

static uint32_t hop_cycles(struct cache *cache, bool miss)
{
    double cycles = (miss ? MISS : HIT) + jitter(&cache->rng, cache->outlier_rate > 0 ? 2 : 0);
    return (uint32_t)(fth_rng_unit(&cache->rng) < cache->outlier_rate ? 10 * cycles : cycles);
}

/* One pass over a chain. If it is the `first`, nothing of the chain has been loaded before. */
static void walk(struct cache *cache, const struct fth_chain *chain, bool first, uint32_t *cycles)
{
    const uint64_t bytes = chain->stride_bytes * chain->count;
    const bool flushed = fth_rng_unit(&cache->rng) < cache->flush_rate;
    /* The random misses are spread over the pass: each of its parts has one. */
    const uint64_t part = chain->count / (cache->random_misses ? cache->random_misses : 1);
    uint64_t next = fth_rng_below(&cache->rng, part);
    for (uint64_t hop = 0; hop < chain->count; hop++) {
        const uint64_t at = hop * chain->stride_bytes;
        bool miss = (first || flushed) && at % cache->sector_bytes < chain->stride_bytes;
        if (bytes > cache->size_bytes && !first && (cache->random_misses == 0 || hop == next))
            miss = true;
        if (hop % part == part - 1)
            next = hop + 1 + fth_rng_below(&cache->rng, part);
        cycles[hop] = hop_cycles(cache, miss);
    }
}

/* A pass in reverse order, after one more line was loaded into a full cache: that load evicted the
 * line in the middle. */
static void walk_reverse(struct cache *cache, const struct fth_chain *chain, uint32_t *cycles)
{
    const uint64_t evicted_line = chain->count * chain->stride_bytes / cache->line_bytes / 2;
    for (uint64_t hop = 0; hop < chain->count; hop++) {
        const uint64_t at = (chain->count - 1 - hop) * chain->stride_bytes;
        cycles[hop] = hop_cycles(cache, at / cache->line_bytes == evicted_line);
    }
}

/* A pass of the victim after a walk of the aggressor. */
static void walk_victim(struct cache *cache, const struct fth_step *victim,
                        const struct fth_step *aggressor, uint32_t *cycles)
{
    const unsigned apart = cache->warps_apart ? cache->warps_apart : 1;
    const bool same =
        aggressor->warp / apart % cache->instances == victim->warp / apart % cache->instances &&
        (aggressor->path == victim->path || !cache->separate);
    for (uint64_t hop = 0; hop < victim->chain.count; hop++)
        cycles[hop] =
            hop_cycles(cache, same && fth_rng_unit(&cache->rng) < cache->evicted_fraction);
}

static void answer_request(struct cache *cache, const struct fth_request *request,
                           struct fth_samples *samples)
{
    samples->count = fth_request_samples(request);
    samples->cycles = calloc(samples->count, sizeof *samples->cycles);
    assert_non_null(samples->cycles);
    samples->status = FTH_OK;
    samples->clock_mhz = 1000;
    uint32_t *at = samples->cycles;
    const struct fth_step *steps = request->chase.steps;
    for (size_t i = 0; i < request->chase.step_count; i++) {
        if (steps[i].kind != FTH_STEP_TIME_HOPS)
            continue;
        const struct fth_step *before = i ? &steps[i - 1] : NULL;
        const bool same_array = before && before->chain.array == steps[i].chain.array;
        for (uint64_t pass = 0; pass < steps[i].passes; pass++, at += steps[i].chain.count)
            if (steps[i].reverse && before)
                walk_reverse(cache, &steps[i].chain, at);
            else if (before && !same_array)
                walk_victim(cache, &steps[i], before, at);
            else
                walk(cache, &steps[i].chain, pass == 0 && !before, at);
    }
}

static enum fth_status measure(void *state, const struct fth_request *requests, size_t count,
                               struct fth_samples *samples, struct fth_error *error)
{
    (void)error;
    struct cache *cache = state;
    for (size_t i = 0; i < count; i++)
        answer_request(cache, &requests[i], &samples[i]);
    return FTH_OK;
}

static const struct fth_device_ops synthetic_ops = {.measure = measure};

static struct fth_device device_of(struct cache *cache, uint64_t seed)
{
    fth_rng_init(&cache->rng, seed);
    cache->instances = cache->instances ? cache->instances : 1;
    return (struct fth_device){.ops = &synthetic_ops, .state = cache, .id = "synthetic"};
}

/* ---- capacity ---- */

static const struct fth_capacity_plan plan = {.path = FTH_PATH_CA,
                                              .stride_bytes = 32,
                                              .smallest_bytes = 4096,
                                              .largest_bytes = 512 << 10,
                                              .hit_cycles = HIT,
                                              .miss_cycles = MISS};

static void finds_the_capacity(void **state)
{
    (void)state;
    const struct {
        struct cache cache;
        bool disturbed; /* the plan says that hits can be slow */
    } rows[] = {
        {{.size_bytes = 24 << 10, .sector_bytes = 32, .line_bytes = 128}, false},
        {{.size_bytes = 4096, .sector_bytes = 32, .line_bytes = 32}, false},
        {{.size_bytes = 100000, .sector_bytes = 32, .line_bytes = 32}, false},
        {{.size_bytes = 24 << 10, .sector_bytes = 32, .line_bytes = 128, .outlier_rate = 0.01},
         true},
        {{.size_bytes = 24 << 10, .sector_bytes = 32, .line_bytes = 128, .outlier_rate = 0.01},
         false},
        {{.size_bytes = 24 << 10,
          .sector_bytes = 32,
          .line_bytes = 32,
          .outlier_rate = 0.01,
          .random_misses = 2},
         true},
        {{.size_bytes = 200 << 10,
          .sector_bytes = 32,
          .line_bytes = 32,
          .outlier_rate = 0.01,
          .random_misses = 2},
         true},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++)
        for (uint64_t seed = 1; seed <= 5; seed++) {
            struct cache cache = rows[i].cache;
            struct fth_device device = device_of(&cache, seed);
            const struct fth_prober prober = {.device = &device, .sms = 8};
            struct fth_capacity_plan row_plan = plan;
            struct fth_capacity found;
            struct fth_error error = NO_ERROR;
            row_plan.disturbed = rows[i].disturbed;
            if (fth_probe_capacity(&prober, &row_plan, &found, &error) != FTH_OK)
                fail_msg("row %zu: %s", i, error.cause);
            assert_int_equal(found.fits_bytes, cache.size_bytes);
            assert_int_equal(found.misses_bytes, cache.size_bytes + 32);
            assert_true(found.evidence.repeats == 10 && found.evidence.agree >= 9);
            assert_null(found.evidence.doubt);
        }
}

/* A thorough run repeats the walks 100 times. */
static void thorough_runs_have_more_evidence(void **state)
{
    (void)state;
    struct cache cache = {.size_bytes = 24 << 10, .sector_bytes = 32, .line_bytes = 128};
    struct fth_device device = device_of(&cache, 1);
    const struct fth_prober prober = {.device = &device, .sms = 8, .thorough = true};
    struct fth_capacity found;
    assert_int_equal(fth_probe_capacity(&prober, &plan, &found, NULL), FTH_OK);
    assert_int_equal(found.fits_bytes, cache.size_bytes);
    assert_true(found.evidence.repeats == 100 && found.evidence.agree == 100);
}

static void finds_no_edge_if_every_footprint_fits(void **state)
{
    (void)state;
    struct cache cache = {.size_bytes = 1 << 20, .sector_bytes = 32, .line_bytes = 32};
    struct fth_device device = device_of(&cache, 1);
    const struct fth_prober prober = {.device = &device, .sms = 8};
    struct fth_capacity found;
    assert_int_equal(fth_probe_capacity(&prober, &plan, &found, NULL), FTH_OK);
    assert_int_equal(found.fits_bytes, plan.largest_bytes);
    assert_int_equal(found.misses_bytes, 0);
    assert_true(found.evidence.repeats == 0 && isnan(fth_confidence(found.evidence)));
}

/* Another program also uses the SM, so that now and then a pass finds the cache flushed. The probe
 * reports the right capacity, none, or a wrong one with a confidence below 0.95. In at least
 * half of the cases, the capacity is right. */
static void capacity_of_a_busy_gpu_is_right_or_uncertain(void **state)
{
    (void)state;
    static const double rates[] = {0.02, 0.1, 0.3, 0.6};
    unsigned right = 0;
    for (size_t i = 0; i < FTH_COUNT(rates); i++)
        for (uint64_t seed = 1; seed <= 10; seed++) {
            struct cache cache = {.size_bytes = 32 << 10,
                                  .sector_bytes = 32,
                                  .line_bytes = 128,
                                  .flush_rate = rates[i]};
            struct fth_device device = device_of(&cache, seed);
            const struct fth_prober prober = {.device = &device, .sms = 8};
            struct fth_capacity found;
            enum fth_status status = fth_probe_capacity(&prober, &plan, &found, NULL);
            assert_true(status == FTH_OK || status == FTH_INCONCLUSIVE);
            if (status == FTH_OK && found.fits_bytes != cache.size_bytes)
                assert_true(fth_confidence(found.evidence) < 0.95);
            right += status == FTH_OK && found.fits_bytes == cache.size_bytes;
        }
    assert_true(right >= 20);
}

static void reports_caches_smaller_than_the_smallest_footprint(void **state)
{
    (void)state;
    struct cache cache = {.size_bytes = 1024, .sector_bytes = 32, .line_bytes = 32};
    struct fth_device device = device_of(&cache, 1);
    const struct fth_prober prober = {.device = &device, .sms = 8};
    struct fth_capacity found;
    struct fth_error error = NO_ERROR;
    assert_int_equal(fth_probe_capacity(&prober, &plan, &found, &error), FTH_INCONCLUSIVE);
    assert_contains(error.cause, "even a footprint of 4096 bytes");
}

/* ---- lines ---- */

static void finds_lines_and_sectors(void **state)
{
    (void)state;
    static const struct {
        uint64_t line, sector;
        double outlier_rate;
    } rows[] = {{128, 32, 0}, {32, 32, 0},     {128, 128, 0},  {64, 32, 0},      {256, 64, 0},
                {96, 32, 0},  {128, 32, 0.01}, {32, 32, 0.01}, {128, 128, 0.01}, {64, 32, 0.01}};
    for (size_t i = 0; i < FTH_COUNT(rows); i++)
        for (uint64_t seed = 1; seed <= 10; seed++) {
            struct cache cache = {.size_bytes = 16 << 10,
                                  .line_bytes = rows[i].line,
                                  .sector_bytes = rows[i].sector,
                                  .outlier_rate = rows[i].outlier_rate};
            struct fth_device device = device_of(&cache, seed);
            const struct fth_prober prober = {.device = &device, .sms = 8};
            const struct fth_line_plan line = {.path = FTH_PATH_CA,
                                               .size_bytes = cache.size_bytes,
                                               .threshold_cycles = 100,
                                               .miss_low_cycles = MISS - 8,
                                               .miss_high_cycles = MISS + 8};
            struct fth_length fetch, whole;
            assert_int_equal(fth_probe_fetch_bytes(&prober, &line, &fetch, NULL), FTH_OK);
            assert_int_equal(fetch.bytes, rows[i].sector);
            assert_true(fth_evidence_share(fetch.evidence) > 0.5);
            assert_int_equal(fth_probe_line_bytes(&prober, &line, fetch.bytes, &whole, NULL),
                             FTH_OK);
            assert_int_equal(whole.bytes, rows[i].line);
            assert_true(fth_evidence_share(whole.evidence) > 0.5);
            /* A line that is not a power of two is doubted. */
            assert_true((whole.evidence.doubt != NULL) == (rows[i].line == 96));
        }
}

/* Hits that take ten times as long look like misses here. There are so few of them that the filling
 * pass can have none, or fewer than the walk that follows. */
static void slow_hits_are_no_lines(void **state)
{
    (void)state;
    unsigned right = 0;
    enum { SEEDS = 300 };
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct cache cache = {
            .size_bytes = 16 << 10, .line_bytes = 128, .sector_bytes = 32, .outlier_rate = 0.001};
        struct fth_device device = device_of(&cache, seed);
        const struct fth_prober prober = {.device = &device, .sms = 8};
        const struct fth_line_plan line = {.path = FTH_PATH_CA,
                                           .size_bytes = cache.size_bytes,
                                           .threshold_cycles = 100,
                                           .miss_low_cycles = MISS - 8,
                                           .miss_high_cycles = 11 * HIT};
        struct fth_length whole;
        const enum fth_status status = fth_probe_line_bytes(&prober, &line, 32, &whole, NULL);
        if (status == FTH_OK && whole.bytes != 128)
            fail_msg("seed %llu: %llu bytes", (unsigned long long)seed,
                     (unsigned long long)whole.bytes);
        right += status == FTH_OK;
    }
    assert_true(10 * right >= 9 * SEEDS);
}

/* ---- sharing ---- */

static void finds_sharing(void **state)
{
    (void)state;
    static const struct {
        bool separate;
        double evicted_fraction, outlier_rate;
        enum fth_sharing found;
    } rows[] = {
        {false, 1, 0, FTH_SHARING_YES},       {false, 0.7, 0.01, FTH_SHARING_YES},
        {true, 1, 0, FTH_SHARING_NO},         {true, 1, 0.01, FTH_SHARING_NO},
        {false, 0.3, 0, FTH_SHARING_UNKNOWN},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct cache cache = {.size_bytes = 16 << 10,
                              .line_bytes = 32,
                              .sector_bytes = 32,
                              .separate = rows[i].separate,
                              .evicted_fraction = rows[i].evicted_fraction,
                              .outlier_rate = rows[i].outlier_rate};
        struct fth_device device = device_of(&cache, i);
        const struct fth_prober prober = {.device = &device, .sms = 8};
        const struct fth_walker a = {.path = FTH_PATH_CA,
                                     .bytes = 16 << 10,
                                     .stride_bytes = 32,
                                     .threshold_cycles = 100},
                                b = {.path = FTH_PATH_TEXTURE,
                                     .bytes = 16 << 10,
                                     .stride_bytes = 32,
                                     .threshold_cycles = 100};
        struct fth_sharing_found found;
        assert_int_equal(fth_probe_sharing(&prober, &a, &b, &found, NULL), FTH_OK);
        assert_int_equal(found.sharing, rows[i].found);
        assert_true(found.evidence.repeats == 5 && found.evidence.agree == 5);
    }
}

/* Neighbouring warps share an instance: the count is right, but there is a reason for doubt. The
 * measurement is repeated twice. */
static void warps_that_are_unevenly_spaced_are_doubted(void **state)
{
    (void)state;
    for (unsigned apart = 1; apart <= 2; apart++) {
        struct cache cache = {.size_bytes = 16 << 10,
                              .line_bytes = 32,
                              .sector_bytes = 32,
                              .instances = 2,
                              .warps_apart = apart,
                              .evicted_fraction = 1};
        struct fth_device device = device_of(&cache, 1);
        const struct fth_prober prober = {.device = &device, .sms = 8};
        const struct fth_walker walker = {
            .path = FTH_PATH_CA, .bytes = 16 << 10, .stride_bytes = 32, .threshold_cycles = 100};
        struct fth_instances found;
        assert_int_equal(fth_probe_instances(&prober, &walker, &found, NULL), FTH_OK);
        assert_int_equal(found.count, 2);
        assert_int_equal(found.samples, (apart == 1 ? 1 : 3) * 33 * 256);
        if (apart == 1)
            assert_null(found.evidence.doubt);
        else
            assert_string_equal(found.evidence.doubt,
                                "the warps that evict lines are not evenly spaced");
    }
}

static void counts_instances(void **state)
{
    (void)state;
    static const struct {
        unsigned instances;
        double evicted_fraction;
        unsigned count; /* expected; 0: inconclusive */
    } rows[] = {{1, 1, 1}, {2, 0.8, 2}, {4, 1, 4}, {3, 1, 0}, {1, 0, 0}};
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct cache cache = {.size_bytes = 16 << 10,
                              .line_bytes = 32,
                              .sector_bytes = 32,
                              .instances = rows[i].instances,
                              .evicted_fraction = rows[i].evicted_fraction};
        struct fth_device device = device_of(&cache, i);
        const struct fth_prober prober = {.device = &device, .sms = 8};
        const struct fth_walker walker = {
            .path = FTH_PATH_CA, .bytes = 16 << 10, .stride_bytes = 32, .threshold_cycles = 100};
        struct fth_instances found;
        struct fth_error error = NO_ERROR;
        enum fth_status status = fth_probe_instances(&prober, &walker, &found, &error);
        assert_int_equal(status, rows[i].count ? FTH_OK : FTH_INCONCLUSIVE);
        if (status != FTH_OK) {
            assert_contains(error.cause, "of 32 warps");
            continue;
        }
        assert_int_equal(found.count, rows[i].count);
        assert_true(found.evidence.repeats == 32 && found.evidence.agree == 32);
        for (unsigned warp = 0; warp < FTH_MAX_WARPS; warp++)
            assert_true((found.disturbed[warp] > 0.5) == (warp % rows[i].instances == 0));
    }
}

/* ---- gates ---- */

/* A device that falsifies some samples of another device. */
struct faulty_device {
    struct fth_device *base;
    void (*distort)(struct faulty_device *faulty, const struct fth_request *request,
                    struct fth_samples *samples);
    unsigned distorted_count; /* requests whose samples `distort` has changed (or seen) so far */
    unsigned max_distorted;   /* limit of distorted_count, where `distort` has one */
};

static enum fth_status faulty_describe(void *state, struct fth_gpu *gpu, struct fth_error *error)
{
    return fth_device_describe(((struct faulty_device *)state)->base, gpu, error);
}

static enum fth_status faulty_measure(void *state, const struct fth_request *requests, size_t count,
                                      struct fth_samples *samples, struct fth_error *error)
{
    struct faulty_device *faulty = state;
    enum fth_status status = fth_device_measure(faulty->base, requests, count, samples, error);
    for (size_t i = 0; i < count && status == FTH_OK; i++)
        faulty->distort(faulty, &requests[i], &samples[i]);
    return status;
}

static const struct fth_device_ops faulty_ops = {.describe = faulty_describe,
                                                 .measure = faulty_measure};

/* A small GPU, without the elements that take long to measure. */
static const char small[] =
    "{\"schema\": \"fathom-gpu/1\", \"device\": {\"name\": \"Small\", \"compute_capability\": "
    "\"7.0\", \"sms\": 2, \"clock_mhz\": 1000}, \"elements\": {"
    "\"l1\": {\"size_bytes\": 8192, \"line_bytes\": 128, \"latency_cycles\": 30, "
    "\"shared_with\": [\"texture\", \"readonly\"]}, "
    "\"texture\": {\"latency_cycles\": 40, \"shared_with\": [\"l1\", \"readonly\"]}, "
    "\"readonly\": {\"latency_cycles\": 30, \"shared_with\": [\"l1\", \"texture\"]}, "
    "\"shared\": {\"size_bytes\": 32768, \"latency_cycles\": 25}, "
    "\"l2\": {\"size_bytes\": 524288, \"latency_cycles\": 200}, "
    "\"memory\": {\"size_bytes\": 1073741824, \"latency_cycles\": 400}}}\n";

/* Measures the elements `only` of a simulated small GPU through the faulty device. */
static struct fth_gpu *discover_with_ops(const struct fth_device_ops *ops,
                                         struct faulty_device *faulty, const char *only)
{
    char path[] = "/tmp/fathom-probe-XXXXXX", id[64];
    int file = mkstemp(path);
    assert_true(file >= 0);
    fclose(fdopen(file, "w"));
    assert_int_equal(fth_file_write(path, small, sizeof small - 1, NULL), FTH_OK);
    snprintf(id, sizeof id, "sim:%s", path);
    struct fth_error error = NO_ERROR;
    if (fth_device_open(id, NULL, &faulty->base, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    remove(path);
    struct fth_device device = {.ops = ops, .state = faulty, .id = "faulty"};
    const struct fth_discover_options options = FTH_DISCOVER_OPTIONS(.only = only);
    struct fth_gpu *gpu = NULL;
    if (fth_discover(&device, &options, &gpu, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    assert_int_equal(fth_gpu_validate(gpu, &error), FTH_OK);
    fth_device_close(faulty->base);
    return gpu;
}

static struct fth_gpu *discover(struct faulty_device *faulty, const char *only)
{
    return discover_with_ops(&faulty_ops, faulty, only);
}

static void multiply(struct fth_samples *samples, double factor)
{
    for (size_t i = 0; i < samples->count; i++)
        samples->cycles[i] = (uint32_t)(samples->cycles[i] * factor);
}

/* Whether a request times whole passes over a chain: the measurement of a path's latency. */
static bool times_passes(const struct fth_request *request, enum fth_path path)
{
    return request->family == FTH_FAMILY_CHASE && request->chase.step_count == 2 &&
           request->chase.steps[1].kind == FTH_STEP_TIME_PASS &&
           request->chase.steps[1].path == path;
}

/* Makes shared memory slower than the L2. */
static void slow_down_shared_memory(struct faulty_device *faulty, const struct fth_request *request,
                                    struct fth_samples *samples)
{
    if (times_passes(request, FTH_PATH_SHARED) && faulty->distorted_count < faulty->max_distorted) {
        multiply(samples, 20);
        faulty->distorted_count++;
    }
}

static void rejects_a_latency_above_that_of_the_next_level(void **state)
{
    (void)state;
    struct faulty_device always = {.distort = slow_down_shared_memory, .max_distorted = UINT32_MAX};
    struct fth_gpu *gpu = discover(&always, "shared,l2");
    assert_null(fth_gpu_attribute(gpu, "shared", "latency_cycles"));
    assert_null(fth_gpu_attribute(gpu, "shared", "latency_ns"));
    assert_contains(fth_gpu_unknown(gpu, "shared", "latency_cycles"),
                    "l2, which must be slower, as 200");
    assert_non_null(fth_gpu_attribute(gpu, "l2", "latency_cycles"));
    fth_gpu_destroy(gpu);
    /* If only the first two requests are falsified (the two lengths of the chain), the repeated
     * measurement is right. */
    struct faulty_device once = {.distort = slow_down_shared_memory, .max_distorted = 2};
    gpu = discover(&once, "shared,l2");
    assert_int_equal(once.distorted_count, 2);
    assert_near(fth_gpu_number(gpu, "shared", "latency_cycles", 0), 25, 0.05);
    assert_null(fth_gpu_unknown(gpu, "shared", "latency_cycles"));
    fth_gpu_destroy(gpu);
}

/* The driver reports an L2 that is smaller than the L1. */
static enum fth_status describe_a_small_l2(void *state, struct fth_gpu *gpu,
                                           struct fth_error *error)
{
    enum fth_status status = faulty_describe(state, gpu, error);
    struct fth_attribute size = fth_attribute_make("size_bytes", FTH_NUMBER);
    size.number = 4096;
    size.source = FTH_SOURCE_DRIVER;
    return status == FTH_OK ? fth_gpu_set(gpu, fth_gpu_section(gpu, "l2"), &size, error) : status;
}

/* Only counts the requests. */
static void distort_nothing(struct faulty_device *faulty, const struct fth_request *request,
                            struct fth_samples *samples)
{
    (void)request;
    (void)samples;
    faulty->distorted_count++;
}

static void rejects_a_size_above_that_of_the_next_level(void **state)
{
    (void)state;
    static const struct fth_device_ops ops = {.describe = describe_a_small_l2,
                                              .measure = faulty_measure};
    struct faulty_device faulty = {.distort = distort_nothing};
    struct fth_gpu *gpu = discover_with_ops(&ops, &faulty, "l1");
    assert_null(fth_gpu_attribute(gpu, "l1", "size_bytes"));
    assert_contains(fth_gpu_unknown(gpu, "l1", "size_bytes"),
                    "l2, which cannot be smaller, has 4096");
    fth_gpu_destroy(gpu);
}

/* The texture and the read-only path never evict each other's lines, although both share the L1. */
static void separate_texture_and_readonly(struct faulty_device *faulty,
                                          const struct fth_request *request,
                                          struct fth_samples *samples)
{
    if (request->family != FTH_FAMILY_CHASE || request->chase.step_count != 3)
        return;
    const enum fth_path a = request->chase.steps[0].path, b = request->chase.steps[1].path;
    if ((a == FTH_PATH_TEXTURE && b == FTH_PATH_READONLY) ||
        (a == FTH_PATH_READONLY && b == FTH_PATH_TEXTURE)) {
        faulty->distorted_count++;
        for (size_t i = 0; i < samples->count; i++)
            samples->cycles[i] = 30;
    }
}

static void rejects_sharing_that_is_not_transitive(void **state)
{
    (void)state;
    struct faulty_device faulty = {.distort = separate_texture_and_readonly};
    struct fth_gpu *gpu = discover(&faulty, "l1,texture,readonly");
    static const char *const names[] = {"l1", "texture", "readonly"};
    assert_true(faulty.distorted_count >= 20); /* the gate repeats the measurement */
    for (size_t i = 0; i < FTH_COUNT(names); i++) {
        assert_null(fth_gpu_attribute(gpu, names[i], "shared_with"));
        assert_contains(fth_gpu_unknown(gpu, names[i], "shared_with"), "contradict each other");
    }
    fth_gpu_destroy(gpu);
}

/* The clock is lower while the latency of shared memory is measured. */
static void lower_the_clock(struct faulty_device *faulty, const struct fth_request *request,
                            struct fth_samples *samples)
{
    if (times_passes(request, FTH_PATH_SHARED)) {
        samples->clock_mhz *= 0.8;
        faulty->distorted_count++;
    }
}

static void rejects_nanoseconds_measured_at_another_clock(void **state)
{
    (void)state;
    struct faulty_device faulty = {.distort = lower_the_clock};
    struct fth_gpu *gpu = discover(&faulty, "shared,l2,memory");
    assert_true(faulty.distorted_count >= 4); /* the gate repeats the measurement */
    assert_null(fth_gpu_attribute(gpu, "shared", "latency_ns"));
    assert_contains(fth_gpu_unknown(gpu, "shared", "latency_ns"), "most other latencies at 1000");
    assert_near(fth_gpu_number(gpu, "shared", "latency_cycles", 0), 25, 0.05);
    assert_non_null(fth_gpu_attribute(gpu, "l2", "latency_ns"));
    fth_gpu_destroy(gpu);
}

/* Timing single loads takes 3 cycles longer on one path. A note on its latency states this. */
static void slow_down_single_loads(struct faulty_device *faulty, const struct fth_request *request,
                                   struct fth_samples *samples)
{
    if (request->family == FTH_FAMILY_CHASE && request->chase.steps[1].kind == FTH_STEP_TIME_HOPS &&
        request->chase.steps[1].path == FTH_PATH_SHARED) {
        faulty->distorted_count++;
        for (size_t i = 0; i < samples->count; i++)
            samples->cycles[i] += 3;
    }
}

static void notes_a_different_overhead_of_timing_single_loads(void **state)
{
    (void)state;
    struct faulty_device faulty = {.distort = slow_down_single_loads},
                         faultless = {.distort = distort_nothing};
    struct fth_gpu *gpu = discover(&faulty, "shared");
    const struct fth_attribute *cycles = fth_gpu_attribute(gpu, "shared", "latency_cycles");
    assert_non_null(cycles);
    assert_near(cycles->number, 25, 0.05);
    assert_contains(cycles->note, "28.0 cycles if timed load by load");
    fth_gpu_destroy(gpu);
    gpu = discover(&faultless, "shared");
    cycles = fth_gpu_attribute(gpu, "shared", "latency_cycles");
    assert_non_null(cycles);
    assert_null(cycles->note);
    fth_gpu_destroy(gpu);
}

/* ---- agreement ---- */

static void agreement_is_the_fraction_of_resamples(void **state)
{
    (void)state;
    double same[15], split[15];
    for (size_t i = 0; i < 15; i++) {
        same[i] = 30 + 0.1 * (double)(i % 3);
        split[i] = i % 2 ? 30 : 40;
    }
    double confidence;
    assert_int_equal(fth_cycles_agreement(same, 15, &confidence, NULL), FTH_OK);
    assert_near(confidence, 201.0 / 202, 1e-9);
    assert_int_equal(fth_cycles_agreement(split, 15, &confidence, NULL), FTH_OK);
    assert_true(confidence < 0.9);
    assert_int_equal(fth_agreement(split, 15, 10, &confidence, NULL), FTH_OK);
    assert_near(confidence, 201.0 / 202, 1e-9);
    assert_int_equal(fth_cycles_agreement(same, 0, &confidence, NULL), FTH_OK);
    assert_true(isnan(confidence));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_the_capacity),
        cmocka_unit_test(thorough_runs_have_more_evidence),
        cmocka_unit_test(finds_no_edge_if_every_footprint_fits),
        cmocka_unit_test(capacity_of_a_busy_gpu_is_right_or_uncertain),
        cmocka_unit_test(reports_caches_smaller_than_the_smallest_footprint),
        cmocka_unit_test(finds_lines_and_sectors),
        cmocka_unit_test(slow_hits_are_no_lines),
        cmocka_unit_test(finds_sharing),
        cmocka_unit_test(counts_instances),
        cmocka_unit_test(warps_that_are_unevenly_spaced_are_doubted),
        cmocka_unit_test(rejects_a_latency_above_that_of_the_next_level),
        cmocka_unit_test(rejects_a_size_above_that_of_the_next_level),
        cmocka_unit_test(rejects_sharing_that_is_not_transitive),
        cmocka_unit_test(rejects_nanoseconds_measured_at_another_clock),
        cmocka_unit_test(notes_a_different_overhead_of_timing_single_loads),
        cmocka_unit_test(agreement_is_the_fraction_of_resamples),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
