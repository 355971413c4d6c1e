/* The probes of an SM's caches on made-up samples: a device that answers by a rule of the test, so
 * that every disturbance can be had; and the gates, over a simulated GPU that lies. */
#include "check.h"
#include "discover/discover.h"
#include "noise.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- a device made up ---- */

enum { HIT = 40, MISS = 240 };

/* What the made-up cache is like, and what disturbs it. */
struct rule {
    uint64_t size_bytes, line_bytes, sector_bytes;
    unsigned instances;     /* warps of the same remainder share one */
    bool separate;          /* each path has its own */
    double outlier_rate;    /* of hops that take ten times as long */
    unsigned random_misses; /* beyond the size: so many a pass, anywhere; 0: LRU, all */
    double flush_rate;      /* of passes before which everything was lost */
    double evicted;         /* of the victim, by an actor in the same cache */
    struct fth_rng rng;
};

static uint32_t hop_cycles(struct rule *rule, bool miss)
{
    double cycles = (miss ? MISS : HIT) + jitter(&rule->rng, rule->outlier_rate > 0 ? 2 : 0);
    return (uint32_t)(fth_rng_unit(&rule->rng) < rule->outlier_rate ? 10 * cycles : cycles);
}

/* One pass over a chain, `first` where nothing of it was loaded before. */
static void walk(struct rule *rule, const struct fth_chain *chain, bool first, uint32_t *cycles)
{
    const uint64_t bytes = chain->stride_bytes * chain->count;
    const bool flushed = fth_rng_unit(&rule->rng) < rule->flush_rate;
    /* One in each part of a pass: the line that is not there is come by before long. */
    const uint64_t part = chain->count / (rule->random_misses ? rule->random_misses : 1);
    uint64_t next = fth_rng_below(&rule->rng, part);
    for (uint64_t hop = 0; hop < chain->count; hop++) {
        const uint64_t at = hop * chain->stride_bytes;
        bool miss = (first || flushed) && at % rule->sector_bytes < chain->stride_bytes;
        if (bytes > rule->size_bytes && !first && (rule->random_misses == 0 || hop == next))
            miss = true;
        if (hop % part == part - 1)
            next = hop + 1 + fth_rng_below(&rule->rng, part);
        cycles[hop] = hop_cycles(rule, miss);
    }
}

/* After another line came into a full cache: the line in the middle is gone. */
static void walk_back(struct rule *rule, const struct fth_chain *chain, uint32_t *cycles)
{
    const uint64_t gone = chain->count * chain->stride_bytes / rule->line_bytes / 2;
    for (uint64_t hop = 0; hop < chain->count; hop++) {
        const uint64_t at = (chain->count - 1 - hop) * chain->stride_bytes;
        cycles[hop] = hop_cycles(rule, at / rule->line_bytes == gone);
    }
}

/* After an actor was there. */
static void walk_after(struct rule *rule, const struct fth_step *victim,
                       const struct fth_step *actor, uint32_t *cycles)
{
    const bool same = actor->warp % rule->instances == victim->warp % rule->instances &&
                      (actor->path == victim->path || !rule->separate);
    for (uint64_t hop = 0; hop < victim->chain.count; hop++)
        cycles[hop] = hop_cycles(rule, same && fth_rng_unit(&rule->rng) < rule->evicted);
}

static void answer(struct rule *rule, const struct fth_request *request,
                   struct fth_samples *samples)
{
    samples->count = fth_request_samples(request);
    samples->cycles = calloc(samples->count, sizeof *samples->cycles);
    assert_non_null(samples->cycles);
    samples->status = FTH_OK;
    samples->clock_mhz = 1000;
    uint32_t *at = samples->cycles;
    const struct fth_step *steps = request->steps;
    for (size_t i = 0; i < request->step_count; i++) {
        if (steps[i].kind != FTH_STEP_TIME_HOPS)
            continue;
        const struct fth_step *before = i ? &steps[i - 1] : NULL;
        const bool again = before && before->chain.array == steps[i].chain.array;
        for (uint64_t pass = 0; pass < steps[i].passes; pass++, at += steps[i].chain.count)
            if (steps[i].reverse && before)
                walk_back(rule, &steps[i].chain, at);
            else if (before && !again)
                walk_after(rule, &steps[i], before, at);
            else
                walk(rule, &steps[i].chain, pass == 0 && !before, at);
    }
}

static enum fth_status measure(void *state, const struct fth_request *requests, size_t count,
                               struct fth_samples *samples, struct fth_error *error)
{
    (void)error;
    struct rule *rule = state;
    for (size_t i = 0; i < count; i++)
        answer(rule, &requests[i], &samples[i]);
    return FTH_OK;
}

static const struct fth_device_ops made_up = {.measure = measure};

static struct fth_device device_of(struct rule *rule, uint64_t seed)
{
    fth_rng_init(&rule->rng, seed);
    rule->instances = rule->instances ? rule->instances : 1;
    return (struct fth_device){.ops = &made_up, .state = rule, .id = "made-up"};
}

/* ---- capacity ---- */

static const struct fth_capacity_plan plan = {.path = FTH_PATH_CA,
                                              .stride_bytes = 32,
                                              .smallest_bytes = 4096,
                                              .largest_bytes = 512 << 10,
                                              .hit_cycles = HIT,
                                              .miss_cycles = MISS};

static void capacity_is_found(void **state)
{
    (void)state;
    const struct {
        struct rule rule;
        bool told; /* that something disturbs */
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
            struct rule rule = rows[i].rule;
            struct fth_device device = device_of(&rule, seed);
            const struct fth_prober prober = {.device = &device, .sms = 8};
            struct fth_capacity_plan mine = plan;
            struct fth_capacity found;
            struct fth_error error = NO_ERROR;
            mine.disturbed = rows[i].told;
            if (fth_probe_capacity(&prober, &mine, &found, &error) != FTH_OK)
                fail_msg("row %zu: %s", i, error.cause);
            assert_int_equal(found.fits_bytes, rule.size_bytes);
            assert_int_equal(found.misses_bytes, rule.size_bytes + 32);
            assert_true(found.confidence > 0.8 && found.confidence <= 11.0 / 12);
        }
}

/* More repeats, a surer answer: of 100 no one may differ. */
static void the_thorough_are_surer(void **state)
{
    (void)state;
    struct rule rule = {.size_bytes = 24 << 10, .sector_bytes = 32, .line_bytes = 128};
    struct fth_device device = device_of(&rule, 1);
    const struct fth_prober prober = {.device = &device, .sms = 8, .thorough = true};
    struct fth_capacity found;
    assert_int_equal(fth_probe_capacity(&prober, &plan, &found, NULL), FTH_OK);
    assert_int_equal(found.fits_bytes, rule.size_bytes);
    assert_float_equal(found.confidence, 101.0 / 102, 1e-9);
}

static void a_cache_that_never_ends_has_no_edge(void **state)
{
    (void)state;
    struct rule rule = {.size_bytes = 1 << 20, .sector_bytes = 32, .line_bytes = 32};
    struct fth_device device = device_of(&rule, 1);
    const struct fth_prober prober = {.device = &device, .sms = 8};
    struct fth_capacity found;
    assert_int_equal(fth_probe_capacity(&prober, &plan, &found, NULL), FTH_OK);
    assert_int_equal(found.fits_bytes, plan.largest_bytes);
    assert_int_equal(found.misses_bytes, 0);
    assert_true(isnan(found.confidence));
}

/* Another program takes turns on the SM: now and then a pass finds nothing. What is then told is
 * right, or it is not told; and mostly it is told. */
static void a_busy_gpu_is_told_right_or_not_at_all(void **state)
{
    (void)state;
    static const double rates[] = {0.02, 0.1, 0.3, 0.6};
    unsigned told = 0;
    for (size_t i = 0; i < FTH_COUNT(rates); i++)
        for (uint64_t seed = 1; seed <= 10; seed++) {
            struct rule rule = {.size_bytes = 32 << 10,
                                .sector_bytes = 32,
                                .line_bytes = 128,
                                .flush_rate = rates[i]};
            struct fth_device device = device_of(&rule, seed);
            const struct fth_prober prober = {.device = &device, .sms = 8};
            struct fth_capacity found;
            enum fth_status status = fth_probe_capacity(&prober, &plan, &found, NULL);
            assert_true(status == FTH_OK || status == FTH_INCONCLUSIVE);
            if (status == FTH_OK && found.fits_bytes != rule.size_bytes)
                assert_true(found.confidence <= 0.95);
            told += status == FTH_OK && found.fits_bytes == rule.size_bytes;
        }
    assert_true(told >= 20);
}

static void what_does_not_fit_at_all_is_said(void **state)
{
    (void)state;
    struct rule rule = {.size_bytes = 1024, .sector_bytes = 32, .line_bytes = 32};
    struct fth_device device = device_of(&rule, 1);
    const struct fth_prober prober = {.device = &device, .sms = 8};
    struct fth_capacity found;
    struct fth_error error = NO_ERROR;
    assert_int_equal(fth_probe_capacity(&prober, &plan, &found, &error), FTH_INCONCLUSIVE);
    assert_contains(error.cause, "even a footprint of 4096 bytes");
}

/* ---- lines ---- */

static void lines_and_sectors_are_found(void **state)
{
    (void)state;
    static const struct {
        uint64_t line, sector;
        double outlier_rate;
    } rows[] = {{128, 32, 0},    {32, 32, 0},    {128, 128, 0},    {64, 32, 0},   {256, 64, 0},
                {128, 32, 0.01}, {32, 32, 0.01}, {128, 128, 0.01}, {64, 32, 0.01}};
    for (size_t i = 0; i < FTH_COUNT(rows); i++)
        for (uint64_t seed = 1; seed <= 10; seed++) {
            struct rule rule = {.size_bytes = 16 << 10,
                                .line_bytes = rows[i].line,
                                .sector_bytes = rows[i].sector,
                                .outlier_rate = rows[i].outlier_rate};
            struct fth_device device = device_of(&rule, seed);
            const struct fth_prober prober = {.device = &device, .sms = 8};
            const struct fth_line_plan line = {.path = FTH_PATH_CA,
                                               .size_bytes = rule.size_bytes,
                                               .threshold_cycles = 100,
                                               .miss_low_cycles = MISS - 8,
                                               .miss_high_cycles = MISS + 8};
            struct fth_length fetch, whole;
            assert_int_equal(fth_probe_fetch_bytes(&prober, &line, &fetch, NULL), FTH_OK);
            assert_int_equal(fetch.bytes, rows[i].sector);
            assert_true(fetch.confidence > 0.5);
            assert_int_equal(fth_probe_line_bytes(&prober, &line, fetch.bytes, &whole, NULL),
                             FTH_OK);
            assert_int_equal(whole.bytes, rows[i].line);
            assert_true(whole.confidence > 0.5);
        }
}

/* ---- sharing ---- */

static void sharing_is_found(void **state)
{
    (void)state;
    static const struct {
        bool separate;
        double evicted, outlier_rate;
        enum fth_sharing found;
    } rows[] = {
        {false, 1, 0, FTH_SHARING_YES},       {false, 0.7, 0.01, FTH_SHARING_YES},
        {true, 1, 0, FTH_SHARING_NO},         {true, 1, 0.01, FTH_SHARING_NO},
        {false, 0.3, 0, FTH_SHARING_UNKNOWN},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct rule rule = {.size_bytes = 16 << 10,
                            .line_bytes = 32,
                            .sector_bytes = 32,
                            .separate = rows[i].separate,
                            .evicted = rows[i].evicted,
                            .outlier_rate = rows[i].outlier_rate};
        struct fth_device device = device_of(&rule, i);
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
        assert_near(found.confidence, 6.0 / 7, 1e-9);
    }
}

static void instances_are_counted(void **state)
{
    (void)state;
    static const struct {
        unsigned instances; /* of the rule */
        double evicted;
        unsigned count; /* found; 0: none */
    } rows[] = {{1, 1, 1}, {2, 0.8, 2}, {4, 1, 4}, {3, 1, 0}, {1, 0, 0}};
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct rule rule = {.size_bytes = 16 << 10,
                            .line_bytes = 32,
                            .sector_bytes = 32,
                            .instances = rows[i].instances,
                            .evicted = rows[i].evicted};
        struct fth_device device = device_of(&rule, i);
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
        assert_near(found.confidence, 33.0 / 34, 1e-9);
        for (unsigned warp = 0; warp < FTH_MAX_WARPS; warp++)
            assert_true((found.disturbed[warp] > 0.5) == (warp % rows[i].instances == 0));
    }
}

/* ---- gates ---- */

/* A device that changes what another one answers. */
struct liar {
    struct fth_device *honest;
    void (*lie)(struct liar *liar, const struct fth_request *request, struct fth_samples *samples);
    unsigned lies, times; /* so far, and how often it lies at most */
};

static enum fth_status liar_describe(void *state, struct fth_gpu *gpu, struct fth_error *error)
{
    return fth_device_describe(((struct liar *)state)->honest, gpu, error);
}

static enum fth_status liar_measure(void *state, const struct fth_request *requests, size_t count,
                                    struct fth_samples *samples, struct fth_error *error)
{
    struct liar *liar = state;
    enum fth_status status = fth_device_measure(liar->honest, requests, count, samples, error);
    for (size_t i = 0; i < count && status == FTH_OK; i++)
        liar->lie(liar, &requests[i], &samples[i]);
    return status;
}

static const struct fth_device_ops liar_ops = {.describe = liar_describe, .measure = liar_measure};

/* A small GPU, without what takes long. */
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

static struct fth_gpu *discover_by(const struct fth_device_ops *ops, struct liar *liar,
                                   const char *only)
{
    char path[] = "/tmp/fathom-probe-XXXXXX", id[64];
    int file = mkstemp(path);
    assert_true(file >= 0);
    fclose(fdopen(file, "w"));
    assert_int_equal(fth_file_write(path, small, sizeof small - 1, NULL), FTH_OK);
    snprintf(id, sizeof id, "sim:%s", path);
    struct fth_error error = NO_ERROR;
    if (fth_device_open(id, NULL, &liar->honest, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    remove(path);
    struct fth_device device = {.ops = ops, .state = liar, .id = "liar"};
    const struct fth_discover_options options = {.only = only};
    struct fth_gpu *gpu = NULL;
    if (fth_discover(&device, &options, &gpu, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    assert_int_equal(fth_gpu_validate(gpu, &error), FTH_OK);
    fth_device_close(liar->honest);
    return gpu;
}

static struct fth_gpu *discover(struct liar *liar, const char *only)
{
    return discover_by(&liar_ops, liar, only);
}

static void multiply(struct fth_samples *samples, double factor)
{
    for (size_t i = 0; i < samples->count; i++)
        samples->cycles[i] = (uint32_t)(samples->cycles[i] * factor);
}

static bool times_passes(const struct fth_request *request, enum fth_path path)
{
    return request->family == FTH_FAMILY_CHASE && request->step_count == 2 &&
           request->steps[1].kind == FTH_STEP_TIME_PASS && request->steps[1].path == path;
}

/* Shared memory slower than L2. */
static void slow_shared(struct liar *liar, const struct fth_request *request,
                        struct fth_samples *samples)
{
    if (times_passes(request, FTH_PATH_SHARED) && liar->lies < liar->times) {
        multiply(samples, 20);
        liar->lies++;
    }
}

static void what_is_slower_than_what_lies_behind_is_not_told(void **state)
{
    (void)state;
    struct liar always = {.lie = slow_shared, .times = UINT32_MAX};
    struct fth_gpu *gpu = discover(&always, "shared,l2");
    assert_null(fth_gpu_attribute(gpu, "shared", "latency_cycles"));
    assert_null(fth_gpu_attribute(gpu, "shared", "latency_ns"));
    assert_contains(fth_gpu_unknown(gpu, "shared", "latency_cycles"),
                    "l2, which must be slower, as 200");
    assert_non_null(fth_gpu_attribute(gpu, "l2", "latency_cycles"));
    fth_gpu_destroy(gpu);
    /* A lie that is told once only, for the two lengths, does not stand when measured again. */
    struct liar once = {.lie = slow_shared, .times = 2};
    gpu = discover(&once, "shared,l2");
    assert_int_equal(once.lies, 2);
    assert_near(fth_gpu_number(gpu, "shared", "latency_cycles", 0), 25, 0.05);
    assert_null(fth_gpu_unknown(gpu, "shared", "latency_cycles"));
    fth_gpu_destroy(gpu);
}

/* The driver's L2 is smaller than what fits in L1. */
static enum fth_status small_l2(void *state, struct fth_gpu *gpu, struct fth_error *error)
{
    enum fth_status status = liar_describe(state, gpu, error);
    struct fth_attribute size = fth_attribute_make("size_bytes", FTH_NUMBER);
    size.number = 4096;
    size.source = FTH_SOURCE_DRIVER;
    return status == FTH_OK ? fth_gpu_set(gpu, fth_gpu_section(gpu, "l2"), &size, error) : status;
}

static void honest(struct liar *liar, const struct fth_request *request,
                   struct fth_samples *samples)
{
    (void)request;
    (void)samples;
    liar->lies++;
}

static void what_is_larger_than_what_lies_behind_is_not_told(void **state)
{
    (void)state;
    static const struct fth_device_ops ops = {.describe = small_l2, .measure = liar_measure};
    struct liar liar = {.lie = honest};
    struct fth_gpu *gpu = discover_by(&ops, &liar, "l1");
    assert_null(fth_gpu_attribute(gpu, "l1", "size_bytes"));
    assert_contains(fth_gpu_unknown(gpu, "l1", "size_bytes"),
                    "l2, which cannot be smaller, has 4096");
    fth_gpu_destroy(gpu);
}

/* Texture and read-only never evict each other, though both do with L1. */
static void no_third_pair(struct liar *liar, const struct fth_request *request,
                          struct fth_samples *samples)
{
    if (request->family != FTH_FAMILY_CHASE || request->step_count != 3)
        return;
    const enum fth_path a = request->steps[0].path, b = request->steps[1].path;
    if ((a == FTH_PATH_TEXTURE && b == FTH_PATH_READONLY) ||
        (a == FTH_PATH_READONLY && b == FTH_PATH_TEXTURE)) {
        liar->lies++;
        for (size_t i = 0; i < samples->count; i++)
            samples->cycles[i] = 30;
    }
}

static void sharing_that_is_not_for_all_is_not_told(void **state)
{
    (void)state;
    struct liar liar = {.lie = no_third_pair};
    struct fth_gpu *gpu = discover(&liar, "l1,texture,readonly");
    static const char *const names[] = {"l1", "texture", "readonly"};
    assert_true(liar.lies >= 20); /* measured again */
    for (size_t i = 0; i < FTH_COUNT(names); i++) {
        assert_null(fth_gpu_attribute(gpu, names[i], "shared_with"));
        assert_contains(fth_gpu_unknown(gpu, names[i], "shared_with"), "contradict each other");
    }
    fth_gpu_destroy(gpu);
}

/* The clock is another one while shared memory is measured. */
static void other_clock(struct liar *liar, const struct fth_request *request,
                        struct fth_samples *samples)
{
    if (times_passes(request, FTH_PATH_SHARED)) {
        samples->clock_mhz *= 0.8;
        liar->lies++;
    }
}

static void a_clock_that_moves_leaves_no_nanoseconds(void **state)
{
    (void)state;
    struct liar liar = {.lie = other_clock};
    struct fth_gpu *gpu = discover(&liar, "shared,l2,memory");
    assert_true(liar.lies >= 4); /* measured again */
    assert_null(fth_gpu_attribute(gpu, "shared", "latency_ns"));
    assert_contains(fth_gpu_unknown(gpu, "shared", "latency_ns"), "most other latencies at 1000");
    assert_near(fth_gpu_number(gpu, "shared", "latency_cycles", 0), 25, 0.05);
    assert_non_null(fth_gpu_attribute(gpu, "l2", "latency_ns"));
    fth_gpu_destroy(gpu);
}

/* Timing single loads costs more on one path: it is said beside its latency. */
static void slow_hops(struct liar *liar, const struct fth_request *request,
                      struct fth_samples *samples)
{
    if (request->family == FTH_FAMILY_CHASE && request->steps[1].kind == FTH_STEP_TIME_HOPS &&
        request->steps[1].path == FTH_PATH_SHARED) {
        liar->lies++;
        for (size_t i = 0; i < samples->count; i++)
            samples->cycles[i] += 3;
    }
}

static void ways_that_do_not_agree_say_so(void **state)
{
    (void)state;
    struct liar liar = {.lie = slow_hops}, fine = {.lie = honest};
    struct fth_gpu *gpu = discover(&liar, "shared");
    const struct fth_attribute *cycles = fth_gpu_attribute(gpu, "shared", "latency_cycles");
    assert_non_null(cycles);
    assert_near(cycles->number, 25, 0.05);
    assert_contains(cycles->note, "28.0 cycles if timed load by load");
    fth_gpu_destroy(gpu);
    gpu = discover(&fine, "shared");
    cycles = fth_gpu_attribute(gpu, "shared", "latency_cycles");
    assert_non_null(cycles);
    assert_null(cycles->note);
    fth_gpu_destroy(gpu);
}

/* ---- agreement ---- */

static void agreement_is_the_share_of_resamples(void **state)
{
    (void)state;
    double same[15], split[15];
    for (size_t i = 0; i < 15; i++) {
        same[i] = 30 + 0.1 * (double)(i % 3);
        split[i] = i % 2 ? 30 : 40;
    }
    assert_near(fth_cycles_agreement(same, 15), 201.0 / 202, 1e-9);
    assert_true(fth_cycles_agreement(split, 15) < 0.9);
    assert_near(fth_agreement(split, 15, 10), 201.0 / 202, 1e-9);
    assert_true(isnan(fth_cycles_agreement(same, 0)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(capacity_is_found),
        cmocka_unit_test(the_thorough_are_surer),
        cmocka_unit_test(a_cache_that_never_ends_has_no_edge),
        cmocka_unit_test(a_busy_gpu_is_told_right_or_not_at_all),
        cmocka_unit_test(what_does_not_fit_at_all_is_said),
        cmocka_unit_test(lines_and_sectors_are_found),
        cmocka_unit_test(sharing_is_found),
        cmocka_unit_test(instances_are_counted),
        cmocka_unit_test(what_is_slower_than_what_lies_behind_is_not_told),
        cmocka_unit_test(what_is_larger_than_what_lies_behind_is_not_told),
        cmocka_unit_test(sharing_that_is_not_for_all_is_not_told),
        cmocka_unit_test(a_clock_that_moves_leaves_no_nanoseconds),
        cmocka_unit_test(ways_that_do_not_agree_say_so),
        cmocka_unit_test(agreement_is_the_share_of_resamples),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
