/* Requests that another program interrupts: they are recognised and executed again, and figures
 * that remain disturbed are unknown or have a low confidence. */
#include "check.h"
#include "probe/cache/probe_cache.h"

#include <stdlib.h>

enum { HIT = 40, MISS = 240, PAUSE = 200000 }; /* cycles of a timed hop */

/* A device with a cache of `fits_bytes` and LRU replacement. */
struct busy_device {
    uint64_t fits_bytes;
    unsigned interrupted;  /* executions of the first request that are interrupted */
    uint32_t pause;        /* cycles of an interruption */
    uint64_t always_bytes; /* forward walks over at least as many bytes are always interrupted, in
                              their second pass; 0: none is */
    unsigned executed;     /* requests so far */
    bool emptied;          /* another program empties the cache before every reverse walk */
    uint64_t left_bytes;   /* what another program leaves of it to forward walks; 0: everything */
    unsigned reverse;      /* it does so until this number of reverse walks */
};

static uint32_t hop_cycles(const struct busy_device *busy, const struct fth_step *step,
                           uint64_t hop)
{
    const uint64_t bytes = step->chain.count * step->chain.stride_bytes;
    if (!step->reverse)
        return bytes > (busy->reverse ? busy->left_bytes : busy->fits_bytes) ? MISS : HIT;
    return !busy->emptied && hop * step->chain.stride_bytes < busy->fits_bytes ? HIT : MISS;
}

static enum fth_status measure(void *state, const struct fth_request *requests, size_t count,
                               struct fth_samples *samples, struct fth_error *error)
{
    (void)error;
    struct busy_device *busy = state;
    for (size_t i = 0; i < count; i++, busy->executed++) {
        samples[i] = (struct fth_samples){
            .status = FTH_OK, .count = fth_request_samples(&requests[i]), .clock_mhz = 1000};
        samples[i].cycles = calloc(samples[i].count, sizeof *samples[i].cycles);
        assert_non_null(samples[i].cycles);
        const struct fth_step *step = &requests[i].chase.steps[requests[i].chase.step_count - 1];
        for (size_t hop = 0; hop < samples[i].count; hop++)
            samples[i].cycles[hop] = hop_cycles(busy, step, hop % step->chain.count);
        if (step->reverse && busy->reverse)
            busy->reverse--;
        const uint64_t bytes = step->chain.count * step->chain.stride_bytes;
        if (!step->reverse && busy->always_bytes && bytes >= busy->always_bytes)
            samples[i].cycles[step->chain.count + 1] += PAUSE;
        if (i == 0 && busy->interrupted && samples[i].count > 1) {
            samples[i].cycles[1] += busy->pause;
            busy->interrupted--;
        }
    }
    return FTH_OK;
}

static const struct fth_device_ops busy_ops = {.measure = measure};

static struct fth_request make_request(enum fth_step_kind kind, uint64_t passes)
{
    struct fth_request request = fth_request_make(-1);
    const struct fth_chain chain = {.stride_bytes = 32, .count = 16};
    fth_request_add(&request, kind, FTH_PATH_CA, chain, passes);
    return request;
}

static void interrupted_requests_are_executed_again(void **state)
{
    (void)state;
    static const struct {
        unsigned interrupted;    /* executions */
        unsigned executed;       /* expected: 3 requests, and one for each further attempt */
        bool still;              /* the last execution is interrupted, too */
        enum fth_step_kind kind; /* of the first request */
        uint32_t pause;
    } rows[] = {
        {0, 3, false, FTH_STEP_TIME_HOPS, PAUSE},
        {1, 4, false, FTH_STEP_TIME_HOPS, PAUSE},
        {3, 6, false, FTH_STEP_TIME_HOPS, PAUSE},
        {9, 6, true, FTH_STEP_TIME_HOPS, PAUSE},
        {1, 4, false, FTH_STEP_TIME_PASS, PAUSE},
        /* A sample of more than 50,000 cycles and four times the median of 40 is interrupted. */
        {1, 4, false, FTH_STEP_TIME_HOPS, 50000 + 3 * HIT + 1},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct busy_device busy = {
            .fits_bytes = 4096, .interrupted = rows[i].interrupted, .pause = rows[i].pause};
        struct fth_device device = {.ops = &busy_ops, .state = &busy, .id = "busy"};
        size_t interruptions = 0;
        const struct fth_prober prober = {
            .device = &device, .sms = 1, .interruptions = &interruptions};
        const struct fth_request requests[] = {make_request(rows[i].kind, 5),
                                               make_request(FTH_STEP_TIME_HOPS, 1),
                                               make_request(FTH_STEP_TIME_HOPS, 1)};
        struct fth_answers answers = {0};
        assert_int_equal(fth_ask(&prober, requests, 3, &answers, NULL), FTH_OK);
        assert_int_equal(busy.executed, rows[i].executed);
        assert_int_equal(interruptions, rows[i].interrupted > 0);
        assert_int_equal(answers.items[0].cycles[1] > PAUSE, rows[i].still);
        assert_int_equal(answers.items[2].cycles[1], HIT);
        fth_answers_fini(&answers);
    }
}

/* A sample that takes as long as allowed is no interruption. */
static void long_samples_are_not_executed_again(void **state)
{
    (void)state;
    struct busy_device busy = {.fits_bytes = 4096, .interrupted = 1, .pause = 50000 + 3 * HIT};
    struct fth_device device = {.ops = &busy_ops, .state = &busy, .id = "busy"};
    size_t interruptions = 0;
    const struct fth_prober prober = {.device = &device, .sms = 1, .interruptions = &interruptions};
    const struct fth_request request = make_request(FTH_STEP_TIME_HOPS, 5);
    struct fth_answers answers = {0};
    assert_int_equal(fth_ask(&prober, &request, 1, &answers, NULL), FTH_OK);
    assert_int_equal(busy.executed, 1);
    assert_int_equal(interruptions, 0);
    assert_int_equal(answers.items[0].cycles[1], 50000 + 4 * HIT);
    fth_answers_fini(&answers);
}

/* A device that interrupts the first execution of a request of code in one sample. */
struct fetching_device {
    size_t sample;
    unsigned executed;
};

static enum fth_status measure_fetch(void *state, const struct fth_request *requests, size_t count,
                                     struct fth_samples *samples, struct fth_error *error)
{
    (void)error;
    struct fetching_device *fetching = state;
    assert_int_equal(count, 1);
    samples[0] = (struct fth_samples){
        .status = FTH_OK, .count = fth_request_samples(&requests[0]), .clock_mhz = 1000};
    samples[0].cycles = calloc(samples[0].count, sizeof *samples[0].cycles);
    assert_non_null(samples[0].cycles);
    for (size_t i = 0; i < samples[0].count; i++)
        samples[0].cycles[i] = HIT;
    if (fetching->executed++ == 0 && fetching->sample < samples[0].count)
        samples[0].cycles[fetching->sample] += PAUSE;
    return FTH_OK;
}

/* The samples of a request of code are its passes, and then the loads of constants. Either can be
 * interrupted. */
static void interrupted_code_is_executed_again(void **state)
{
    (void)state;
    static const struct fth_device_ops ops = {.measure = measure_fetch};
    struct fth_request request = fth_request_make(-1);
    request.family = FTH_FAMILY_FETCH;
    request.fetch = (struct fth_fetch){
        .instructions = 1024, .passes = 5, .constants = {.stride_bytes = 64, .count = 8}};
    const size_t count = fth_request_samples(&request);
    assert_true(count > 6);
    for (size_t sample = 0; sample <= count; sample++) {
        struct fetching_device fetching = {sample, 0};
        struct fth_device device = {.ops = &ops, .state = &fetching, .id = "fetching"};
        size_t interruptions = 0;
        const struct fth_prober prober = {
            .device = &device, .sms = 1, .interruptions = &interruptions};
        struct fth_answers answers = {0};
        assert_int_equal(fth_ask(&prober, &request, 1, &answers, NULL), FTH_OK);
        assert_int_equal(fetching.executed, sample < count ? 2 : 1);
        assert_int_equal(interruptions, sample < count);
        fth_answers_fini(&answers);
    }
}

/* Returns a search for capacities from 4 to 64 KiB. `disturbed`: hits are known to be slow at
 * times. */
static struct fth_capacity_plan make_plan(bool disturbed)
{
    return (struct fth_capacity_plan){.path = FTH_PATH_CA,
                                      .stride_bytes = 32,
                                      .smallest_bytes = 4096,
                                      .largest_bytes = 65536,
                                      .hit_cycles = HIT,
                                      .miss_cycles = MISS,
                                      .disturbed = disturbed,
                                      .evidence = true};
}

static void disturbed_evidence_is_unknown(void **state)
{
    (void)state;
    for (unsigned emptied = 0; emptied < 2; emptied++) {
        struct busy_device busy = {.fits_bytes = 16384, .emptied = emptied};
        struct fth_device device = {.ops = &busy_ops, .state = &busy, .id = "busy"};
        const struct fth_prober prober = {.device = &device, .sms = 1};
        const struct fth_capacity_plan plan = make_plan(false);
        struct fth_capacity found;
        assert_int_equal(fth_probe_capacity(&prober, &plan, &found, NULL), FTH_OK);
        assert_int_equal(found.fits_bytes, 16384);
        assert_int_equal(found.resident_bytes, emptied ? 0 : 16384);
        if (!emptied)
            assert_true(found.resident_evidence.repeats == 5 && found.resident_evidence.agree == 5);
        assert_true(found.full_miss_bytes > 16384);
    }
}

/* If all walks over more than 1.15 times the capacity are always interrupted, the footprint without
 * a hit is not known. The capacity is. */
static void an_interrupted_full_miss_is_unknown(void **state)
{
    (void)state;
    static const uint64_t always_bytes[] = {0, 19000};
    for (size_t i = 0; i < FTH_COUNT(always_bytes); i++) {
        struct busy_device busy = {.fits_bytes = 16384, .always_bytes = always_bytes[i]};
        struct fth_device device = {.ops = &busy_ops, .state = &busy, .id = "busy"};
        const struct fth_prober prober = {.device = &device, .sms = 1};
        const struct fth_capacity_plan plan = make_plan(false);
        struct fth_capacity found;
        assert_int_equal(fth_probe_capacity(&prober, &plan, &found, NULL), FTH_OK);
        assert_int_equal(found.fits_bytes, 16384);
        assert_int_equal(found.misses_bytes, 16416);
        assert_true(found.evidence.repeats == 10 && found.evidence.agree == 10);
        assert_int_equal(found.full_miss_interrupted, i == 1);
        assert_int_equal(found.full_miss_bytes, i == 1 ? 0 : 16512); /* to 288 bytes */
        assert_int_equal(found.full_miss_low_bytes, i == 1 ? 0 : 16384);
    }
}

/* Another program takes half of the cache while the footprint that fits is searched. Reverse walks
 * then hit more than fits. The search is repeated once. */
static void capacities_that_walks_contradict_are_not_believed(void **state)
{
    (void)state;
    static const struct {
        unsigned reverse; /* walks: one search is followed by five */
        bool disturbed;
        enum fth_status status;
        uint64_t fits;
    } rows[] = {
        {0, true, FTH_OK, 16384},
        {5, true, FTH_OK, 16384},
        {99, true, FTH_INCONCLUSIVE, 8192},
        {99, false, FTH_OK, 8192}, /* possible in a cache with hashed sets */
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct busy_device busy = {
            .fits_bytes = 16384, .left_bytes = 8192, .reverse = rows[i].reverse};
        struct fth_device device = {.ops = &busy_ops, .state = &busy, .id = "busy"};
        const struct fth_prober prober = {.device = &device, .sms = 1};
        const struct fth_capacity_plan plan = make_plan(rows[i].disturbed);
        struct fth_capacity found;
        assert_int_equal(fth_probe_capacity(&prober, &plan, &found, NULL), rows[i].status);
        assert_int_equal(found.fits_bytes, rows[i].fits);
    }
}

enum {
    OUTLIER = 10 * HIT,    /* cycles of a disturbed hit */
    OUTLIER_DISTANCE = 97, /* hops between two disturbed hits */
    MEMORY = 900,          /* cycles of a line that the L2 does not hold */
    EMPTIED_PASS = 3       /* another program empties the cache during it */
};

/* A device with a cache of `fits_bytes` that evicts lines at random, beside another program. No
 * sample shows its interruptions. */
struct emptied_device {
    uint64_t fits_bytes;
    uint32_t first_cycles; /* of first loads */
};

static uint32_t emptied_hop(const struct emptied_device *emptied, const struct fth_step *step,
                            uint64_t hop)
{
    const uint64_t pass = hop / step->chain.count, position = hop % step->chain.count;
    const uint64_t fits = emptied->fits_bytes / step->chain.stride_bytes;
    if (step->chain.array)
        return emptied->first_cycles;
    /* Each line too many causes two misses per pass, at other positions in each pass. */
    const uint64_t misses = step->chain.count > fits ? 2 * (step->chain.count - fits) : 0;
    if (pass == EMPTIED_PASS || (position + 7 * pass) % step->chain.count < misses)
        return MISS;
    return hop % OUTLIER_DISTANCE == OUTLIER_DISTANCE - 1 ? OUTLIER : HIT;
}

static enum fth_status measure_emptied(void *state, const struct fth_request *requests,
                                       size_t count, struct fth_samples *samples,
                                       struct fth_error *error)
{
    (void)error;
    for (size_t i = 0; i < count; i++) {
        const struct fth_step *step = &requests[i].chase.steps[requests[i].chase.step_count - 1];
        samples[i] = (struct fth_samples){
            .status = FTH_OK, .count = fth_request_samples(&requests[i]), .clock_mhz = 1000};
        samples[i].cycles = calloc(samples[i].count, sizeof *samples[i].cycles);
        assert_non_null(samples[i].cycles);
        for (size_t hop = 0; hop < samples[i].count; hop++)
            samples[i].cycles[hop] = emptied_hop(state, step, hop);
    }
    return FTH_OK;
}

static const struct fth_device_ops emptied_ops = {.measure = measure_emptied};

/* The probe ignores passes over a cache that another program has emptied: they count neither as
 * misses of the footprint nor as disturbances. If they counted as disturbances, 16 lines too many
 * would seem to fit. */
static void emptied_caches_have_their_size(void **state)
{
    (void)state;
    struct emptied_device emptied = {.fits_bytes = 16384, .first_cycles = MISS};
    struct fth_device device = {.ops = &emptied_ops, .state = &emptied, .id = "emptied"};
    const struct fth_prober prober = {.device = &device, .sms = 1};
    struct fth_capacity_plan plan = make_plan(true);
    plan.evidence = false;
    struct fth_capacity found;
    assert_int_equal(fth_probe_capacity(&prober, &plan, &found, NULL), FTH_OK);
    assert_int_equal(found.fits_bytes, 16384);
    assert_int_equal(found.misses_bytes, 16416);
    assert_true(found.evidence.repeats == 10 && found.evidence.agree == 10);
    /* 5 % of the latency of a miss and 4 cycles on both sides */
    assert_true(found.miss_low_cycles == MISS - 16 && found.miss_high_cycles == MISS + 16);
}

/* If first loads come from memory, they do not show the fastest misses. */
static void misses_are_not_slower_than_the_l2(void **state)
{
    (void)state;
    struct emptied_device emptied = {.fits_bytes = 16384, .first_cycles = MEMORY};
    struct fth_device device = {.ops = &emptied_ops, .state = &emptied, .id = "emptied"};
    const struct fth_prober prober = {.device = &device, .sms = 1};
    struct fth_capacity_plan plan = make_plan(true);
    plan.evidence = false;
    struct fth_capacity found;
    assert_int_equal(fth_probe_capacity(&prober, &plan, &found, NULL), FTH_OK);
    assert_true(found.miss_low_cycles > HIT && found.miss_low_cycles < MISS);
    assert_true(found.miss_high_cycles == MEMORY + 49);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(interrupted_requests_are_executed_again),
        cmocka_unit_test(long_samples_are_not_executed_again),
        cmocka_unit_test(interrupted_code_is_executed_again),
        cmocka_unit_test(disturbed_evidence_is_unknown),
        cmocka_unit_test(an_interrupted_full_miss_is_unknown),
        cmocka_unit_test(capacities_that_walks_contradict_are_not_believed),
        cmocka_unit_test(emptied_caches_have_their_size),
        cmocka_unit_test(misses_are_not_slower_than_the_l2),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
