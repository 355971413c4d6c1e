/* Tests of stages of a discovery: which figures and reasons they write for given results of the
 * probes. The linker redirects calls of the probes to functions of this test. */
#include "check.h"
#include "discover/discover.h"
#include "probe/l2/probe_l2.h"

#include <math.h>
#include <stdio.h>

/* ---- scripted probes ---- */

static struct {
    enum fth_status status;    /* of every probe */
    struct fth_l2_found l2[6]; /* results of the calls, in order */
    size_t l2_calls;
    size_t repeats[6]; /* plan->repeat of each call */
    struct fth_l2_plan l2_plan;
    double cold_cycles;
    uint64_t cold_stride, cold_count; /* arguments of fth_probe_cold_latency; 0: not called */
    double shared_cycles;
    uint64_t shared_bytes;
    double prefetched, agreement;
    struct fth_home_mask homes;
    enum fth_relation sides[4];
    struct fth_figure near, far;
    struct fth_l2_map_plan map_plan;
    char messages[512];
} script;

static enum fth_status result(struct fth_error *error)
{
    return script.status == FTH_OK ? FTH_OK
                                   : fth_fail(error, script.status, "test", NULL, "a fault");
}

__typeof__(fth_probe_l2) __wrap_fth_probe_l2;
__typeof__(fth_probe_cold_latency) __wrap_fth_probe_cold_latency;
__typeof__(fth_probe_shared_bytes) __wrap_fth_probe_shared_bytes;
__typeof__(fth_probe_memory_latency) __wrap_fth_probe_memory_latency;
__typeof__(fth_probe_home_mask) __wrap_fth_probe_home_mask;
__typeof__(fth_probe_sm_sides) __wrap_fth_probe_sm_sides;
__typeof__(fth_probe_prefetch) __wrap_fth_probe_prefetch;
__typeof__(fth_probe_l2_order) __wrap_fth_probe_l2_order;

enum fth_status __wrap_fth_probe_l2(const struct fth_prober *prober, const struct fth_l2_plan *plan,
                                    struct fth_l2_found *found, struct fth_error *error)
{
    (void)prober;
    assert_true(script.l2_calls < FTH_COUNT(script.l2));
    script.repeats[script.l2_calls] = plan->repeat;
    script.l2_plan = *plan;
    *found = script.l2[script.l2_calls++];
    return result(error);
}

enum fth_status __wrap_fth_probe_cold_latency(const struct fth_prober *prober, double overhead,
                                              uint64_t stride_bytes, uint64_t count,
                                              struct fth_figure *cycles, struct fth_error *error)
{
    (void)prober;
    assert_true(overhead == 6);
    script.cold_stride = stride_bytes;
    script.cold_count = count;
    *cycles = (struct fth_figure){.value = script.cold_cycles, .samples = 5};
    return result(error);
}

enum fth_status __wrap_fth_probe_shared_bytes(const struct fth_prober *prober, uint64_t bytes,
                                              double *cycles, size_t *samples,
                                              struct fth_error *error)
{
    (void)prober;
    script.shared_bytes = bytes;
    *cycles = script.shared_cycles;
    *samples = 5;
    return result(error);
}

enum fth_status __wrap_fth_probe_memory_latency(const struct fth_prober *prober, double overhead,
                                                struct fth_figure *near, struct fth_figure *far,
                                                struct fth_error *error)
{
    (void)prober;
    assert_true(overhead == 6);
    *near = script.near;
    *far = script.far;
    return result(error);
}

enum fth_status __wrap_fth_probe_home_mask(const struct fth_prober *prober,
                                           const struct fth_l2_map_plan *plan,
                                           struct fth_home_mask *found, struct fth_error *error)
{
    (void)prober, (void)plan;
    *found = script.homes;
    return result(error);
}

enum fth_status __wrap_fth_probe_sm_sides(const struct fth_prober *prober,
                                          const struct fth_l2_map_plan *plan,
                                          enum fth_relation *sides, struct fth_evidence *evidence,
                                          size_t *samples, struct fth_error *error)
{
    (void)plan;
    for (size_t i = 0; i < prober->sms; i++)
        sides[i] = script.sides[i];
    *samples = 11;
    *evidence = (struct fth_evidence){.repeats = 11, .agree = 11};
    return result(error);
}

enum fth_status __wrap_fth_probe_prefetch(const struct fth_prober *prober,
                                          const struct fth_l2_map_plan *plan, double *part,
                                          size_t *samples, struct fth_error *error)
{
    (void)prober;
    script.map_plan = *plan;
    *part = script.prefetched;
    *samples = 12;
    return result(error);
}

enum fth_status __wrap_fth_probe_l2_order(const struct fth_prober *prober,
                                          const struct fth_l2_map_plan *plan, double *agreement,
                                          struct fth_evidence *evidence, size_t *samples,
                                          struct fth_error *error)
{
    (void)prober, (void)plan;
    *agreement = script.agreement;
    *samples = 13;
    *evidence = (struct fth_evidence){.repeats = 5, .agree = 5};
    return result(error);
}

/* ---- descriptions ---- */

static void add_message(void *user, enum fth_level level, const char *text)
{
    (void)user;
    assert_int_equal(level, FTH_LOG_WARNING);
    const size_t used = strlen(script.messages);
    snprintf(script.messages + used, sizeof script.messages - used, "%s\n", text);
}

static const struct fth_log messages_log = {.message = add_message};

/* Returns a discovery of a GPU with two SMs. The caller destroys the description. */
static struct fth_discovery make_discovery(void)
{
    struct fth_discovery discovery = {.prober = {.sms = 2, .log = &messages_log},
                                      .l2 = {.value = 200},
                                      .memory = {.value = 500},
                                      .l2_overhead_cycles = 6};
    memset(&script, 0, sizeof script);
    assert_int_equal(fth_gpu_create(&discovery.gpu, NULL), FTH_OK);
    return discovery;
}

static void set_number(struct fth_gpu *gpu, const char *element, const char *attribute,
                       double number)
{
    const struct fth_note note = {.element = element, .attribute = attribute, .number = number};
    assert_int_equal(fth_note(gpu, &note, NULL), FTH_OK);
}

/* Checks a reason under "unknown". `reason` NULL: there is none, and the figure is present. */
static void assert_unknown(const struct fth_gpu *gpu, const char *element, const char *attribute,
                           const char *reason)
{
    const char *found = fth_gpu_unknown(gpu, element, attribute);
    if (reason)
        assert_string_equal(found ? found : "", reason);
    else
        assert_null(found);
    assert_int_equal(fth_gpu_attribute(gpu, element, attribute) != NULL, !reason);
}

/* ---- L2 ---- */

/* Returns results of an L2 of 1 MiB with one partition. */
static struct fth_l2_found plain_l2(void)
{
    return (struct fth_l2_found){.fill = {32, {10, 9.9, NULL, false}},
                                 .line = {128, {10, 9, NULL, false}},
                                 .sector = {32, {10, 9.8, NULL, false}},
                                 .partitions = {1, {10, 9, NULL, false}},
                                 .size = {1 << 20, {10, 7, NULL, false}},
                                 .onset = {900000, {10, 8.5, NULL, false}},
                                 .full_miss = {1200000, {10, 7.5, NULL, false}},
                                 .onset_next_bytes = 1000000,
                                 .full_miss_previous_bytes = 1100000,
                                 .samples = 100};
}

static double confidence_of(double repeats, double agree)
{
    return fth_round_confidence(fth_confidence((struct fth_evidence){repeats, agree, NULL, false}));
}

static void figures_of_the_l2_are_written(void **state)
{
    (void)state;
    struct fth_discovery discovery = make_discovery();
    script.l2[0] = plain_l2();
    assert_int_equal(fth_discover_l2(&discovery, NULL), FTH_OK);
    assert_true(script.l2_calls == 1 && script.l2_plan.max_bytes == 256 << 20);
    assert_int_equal(script.l2_plan.size_bytes, 0);
    assert_true(script.l2_plan.l2_cycles == 200 && script.l2_plan.memory->value == 500 &&
                script.l2_plan.overhead_cycles == 6);
    static const struct {
        const char *attribute;
        double value, agree, low, high; /* agree: of ten repeats */
    } rows[] = {{"size_bytes", 1 << 20, 7, NAN, NAN},
                {"line_bytes", 128, 9, NAN, NAN},
                {"sector_bytes", 32, 9.8, NAN, NAN},
                {"fill_bytes", 32, 9.9, NAN, NAN},
                {"partitions", 1, 9, NAN, NAN},
                {"onset_bytes", 900000, 8.5, 900000, 1000000},
                {"full_miss_bytes", 1200000, 7.5, 1100000, 1200000}};
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        const struct fth_attribute *found =
            fth_gpu_attribute(discovery.gpu, "l2", rows[i].attribute);
        assert_true(found && found->number == rows[i].value && found->samples == 100);
        assert_true(found->confidence == confidence_of(10, rows[i].agree));
        assert_true(isnan(rows[i].low) ? isnan(found->low)
                                       : found->low == rows[i].low && found->high == rows[i].high);
    }
    assert_null(fth_gpu_attribute(discovery.gpu, "l2", "far_latency_cycles"));
    assert_string_equal(script.messages, "");
    fth_gpu_destroy(discovery.gpu);
}

static void missing_figures_of_the_l2_have_reasons(void **state)
{
    (void)state;
    struct fth_discovery discovery = make_discovery();
    set_number(discovery.gpu, "memory", "size_bytes", 4e9);
    script.l2[0] = (struct fth_l2_found){.samples = 1};
    assert_int_equal(fth_discover_l2(&discovery, NULL), FTH_OK);
    assert_int_equal(script.l2_plan.max_bytes, 1000000000);
    const struct fth_gpu *gpu = discovery.gpu;
    assert_unknown(gpu, "l2", "line_bytes", "no stride evicts clearly fewer lines than another");
    assert_unknown(gpu, "l2", "sector_bytes",
                   "whether a read after a write hits does not depend on the size of the write");
    assert_unknown(gpu, "l2", "partitions", "the evictions match neither one partition nor two");
    assert_null(fth_gpu_unknown(gpu, "l2", "size_bytes"));
    assert_null(fth_gpu_unknown(gpu, "l2", "fill_bytes"));
    fth_gpu_destroy(discovery.gpu);

    /* The probe has no answer: its cause is the reason for all figures but a known size. */
    for (int known = 0; known < 2; known++) {
        struct fth_error error = NO_ERROR;
        discovery = make_discovery();
        if (known)
            set_number(discovery.gpu, "l2", "size_bytes", 1 << 20);
        script.status = FTH_INCONCLUSIVE;
        assert_int_equal(fth_discover_l2(&discovery, &error), FTH_OK);
        assert_int_equal(error.status, FTH_OK);
        static const char *const names[] = {"size_bytes", "line_bytes", "sector_bytes",
                                            "fill_bytes", "partitions"};
        for (size_t i = 0; i < FTH_COUNT(names); i++)
            assert_unknown(discovery.gpu, "l2", names[i], known && i == 0 ? NULL : "a fault");
        fth_gpu_destroy(discovery.gpu);
    }
    struct fth_error error = NO_ERROR;
    discovery = make_discovery();
    script.status = FTH_UNAVAILABLE;
    assert_int_equal(fth_discover_l2(&discovery, &error), FTH_UNAVAILABLE);
    assert_string_equal(error.cause, "a fault");
    assert_int_equal(fth_discover_l2(&discovery, NULL), FTH_UNAVAILABLE);
    fth_gpu_destroy(discovery.gpu);
}

/* With interruptions, two of three measurements must agree. */
static void interrupted_measurements_of_the_l2_are_repeated(void **state)
{
    (void)state;
    static const struct {
        uint64_t lines[3];
        double agree; /* of ten resamples of each measurement */
        uint64_t line;
        double repeats, expected; /* of the result, and those that agree */
    } rows[] = {
        {{128, 128, 128}, 7, 128, 10, 7}, {{128, 128, 128}, 10, 128, 3, 3},
        {{64, 128, 128}, 9, 128, 3, 2},   {{128, 64, 128}, 9, 128, 3, 2},
        {{128, 128, 64}, 5, 128, 10, 5},  {{0, 128, 128}, 9, 128, 3, 2},
        {{32, 64, 128}, 9, 0, 0, 0},      {{0, 0, 128}, 9, 0, 0, 0},
        {{0, 0, 0}, 9, 0, 0, 0},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_discovery discovery = make_discovery();
        discovery.interruptions = 1;
        bool found = false;
        for (size_t k = 0; k < 3; k++) {
            script.l2[k] = plain_l2();
            script.l2[k].line.value = rows[i].lines[k];
            script.l2[k].line.evidence.agree = rows[i].agree;
            found = found || rows[i].lines[k];
        }
        assert_int_equal(fth_discover_l2(&discovery, NULL), FTH_OK);
        assert_int_equal(script.l2_calls, 3);
        for (size_t k = 0; k < 3; k++)
            assert_int_equal(script.repeats[k], k);
        const struct fth_attribute *line = fth_gpu_attribute(discovery.gpu, "l2", "line_bytes");
        assert_unknown(discovery.gpu, "l2", "line_bytes",
                       rows[i].line ? NULL
                       : found      ? "repeated measurements disagree: another program uses the GPU"
                                    : "no stride evicts clearly fewer lines than another");
        if (rows[i].line) {
            assert_true(line->number == (double)rows[i].line && line->samples == 300);
            assert_true(line->confidence == confidence_of(rows[i].repeats, rows[i].expected));
        }
        fth_gpu_destroy(discovery.gpu);
    }
}

/* The size that the driver reports is compared with the footprints that evict lines. */
static void the_size_of_the_driver_is_checked(void **state)
{
    (void)state;
    static const struct {
        uint64_t onset, full_miss;
        size_t calls;
        const char *wrong; /* in the message; NULL: none */
        bool early;        /* the full miss is unknown */
    } rows[] = {
        {1000, 1500, 1, NULL, false}, {1200, 1500, 1, NULL, false}, {1201, 1500, 1, "more", false},
        {500, 1000, 1, NULL, false},  {500, 999, 2, NULL, true},    {500, 800, 2, NULL, true},
        {500, 799, 2, "less", true},  {500, 0, 1, NULL, false},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_discovery discovery = make_discovery();
        set_number(discovery.gpu, "l2", "size_bytes", 1000);
        for (size_t k = 0; k < 2; k++) {
            script.l2[k] = plain_l2();
            script.l2[k].size = (struct fth_decision){0};
            script.l2[k].onset.value = rows[i].onset;
            script.l2[k].full_miss.value = rows[i].full_miss;
        }
        assert_int_equal(fth_discover_l2(&discovery, NULL), FTH_OK);
        assert_int_equal(script.l2_plan.size_bytes, 1000);
        assert_int_equal(script.l2_calls, rows[i].calls);
        assert_int_equal(script.repeats[1], rows[i].calls == 2 ? 3 : 0);
        char expected[120] = "";
        if (rows[i].wrong)
            snprintf(expected, sizeof expected,
                     "l2.size_bytes: the L2 holds %s than the 1000 bytes that the driver reports\n",
                     rows[i].wrong);
        assert_string_equal(script.messages, expected);
        if (rows[i].full_miss)
            assert_unknown(
                discovery.gpu, "l2", "full_miss_bytes",
                rows[i].early ? "all lines were evicted by a footprint smaller than the L2" : NULL);
        assert_true(fth_gpu_number(discovery.gpu, "l2", "size_bytes", 0) == 1000);
        fth_gpu_destroy(discovery.gpu);
    }
}

static void partitions_have_notes(void **state)
{
    (void)state;
    static const struct {
        uint64_t partitions, near_onset, near_full_miss;
        bool evicts_early;
        const char *note;
    } rows[] = {
        {2, 3 << 19, 2 << 20, false,
         "all lines stay in the near partition up to 1.5 MiB, none from 2.0 MiB on"},
        {2, 0, 2 << 20, false, NULL},
        {2, 3 << 19, 0, false, NULL},
        {1, 3 << 19, 2 << 20, false, NULL},
        {1, 0, 0, true, "lines are evicted before other memory is accessed"},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_discovery discovery = make_discovery();
        script.l2[0] = plain_l2();
        script.l2[0].partitions.value = rows[i].partitions;
        script.l2[0].near_onset.value = rows[i].near_onset;
        script.l2[0].near_full_miss.value = rows[i].near_full_miss;
        script.l2[0].evicts_early = rows[i].evicts_early;
        script.l2[0].far_latency = (struct fth_figure){.value = 320};
        assert_int_equal(fth_discover_l2(&discovery, NULL), FTH_OK);
        const char *note = fth_gpu_attribute(discovery.gpu, "l2", "partitions")->note;
        assert_string_equal(note ? note : "", rows[i].note ? rows[i].note : "");
        const bool two = rows[i].partitions == 2;
        assert_true(fth_gpu_number(discovery.gpu, "l2", "far_latency_cycles", 0) ==
                    (two ? 320 : 0));
        const char *far = fth_gpu_unknown(discovery.gpu, "memory", "far_latency_cycles");
        assert_string_equal(far ? far : "",
                            two ? "the latencies of loads from memory form only one plateau" : "");
        fth_gpu_destroy(discovery.gpu);
    }
}

/* ---- memory with cold TLBs ---- */

static void a_cold_walk_exceeds_the_reach_of_the_tlbs(void **state)
{
    (void)state;
    enum { PAGE = 2 << 20 };
    static const struct {
        double page, reach, memory; /* in bytes; NAN: not known */
        double cycles;
        uint64_t count; /* of the walk; 0: none is made */
        const char *reason;
    } rows[] = {
        {PAGE, 16.0 * PAGE, 16e9, 700, 576, NULL},
        {PAGE, 16.0 * PAGE, 16e9, 500, 576, NULL},
        {PAGE, 16.0 * PAGE, 16e9, 499, 576, "measured as lower than with warm TLBs"},
        /* 0.7 of memory is 64 strides of a page and 256 bytes, and a fraction. */
        {PAGE, 16.0 * PAGE, 64.5 / 0.7 * (PAGE + 256), 700, 64, NULL},
        {PAGE, 16.0 * PAGE, 63.5 / 0.7 * (PAGE + 256), 700, 0,
         "memory is too small to exceed the reach of the TLBs"},
        {PAGE, 80.0 * PAGE, 96.5 / 0.7 * (PAGE + 256), 700, 0,
         "memory is too small to exceed the reach of the TLBs"},
        {PAGE, 80.0 * PAGE, 97.5 / 0.7 * (PAGE + 256), 700, 97, NULL},
        {PAGE, 20000.0 * PAGE, 1e12, 700, 65536, NULL},
        {NAN, 16.0 * PAGE, 16e9, 700, 0, "the reach of a TLB is not known"},
        {PAGE, NAN, 16e9, 700, 0, "the reach of a TLB is not known"},
        {NAN, NAN, 16e9, 700, 0, "no TLB was found"},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_discovery discovery = make_discovery();
        if (!isnan(rows[i].page))
            set_number(discovery.gpu, "tlb_l1", "page_bytes", rows[i].page);
        if (!isnan(rows[i].reach))
            set_number(discovery.gpu, "tlb_l1", "reach_bytes", rows[i].reach);
        set_number(discovery.gpu, "memory", "size_bytes", rows[i].memory);
        script.cold_cycles = rows[i].cycles;
        assert_int_equal(fth_discover_cold(&discovery, NULL), FTH_OK);
        assert_int_equal(script.cold_count, rows[i].count);
        assert_int_equal(script.cold_stride, rows[i].count ? PAGE + 256 : 0);
        assert_unknown(discovery.gpu, "memory", "cold_latency_cycles", rows[i].reason);
        fth_gpu_destroy(discovery.gpu);
    }
    /* The largest page and the largest reach count. A level that may exist does not. */
    struct fth_discovery discovery = make_discovery();
    set_number(discovery.gpu, "memory", "size_bytes", 16e9);
    set_number(discovery.gpu, "tlb_l1", "page_bytes", PAGE);
    set_number(discovery.gpu, "tlb_l1", "reach_bytes", 4.0 * PAGE);
    set_number(discovery.gpu, "tlb_l2", "page_bytes", PAGE / 2.0);
    set_number(discovery.gpu, "tlb_l2", "reach_bytes", 32.0 * PAGE);
    set_number(discovery.gpu, "tlb_l3", "page_bytes", PAGE * 2.0);
    discovery.hidden_tlb = fth_tlb_elements[2];
    script.status = FTH_INCONCLUSIVE;
    struct fth_error error = NO_ERROR;
    assert_int_equal(fth_discover_cold(&discovery, &error), FTH_OK);
    assert_int_equal(script.cold_stride, PAGE + 256);
    assert_int_equal(script.cold_count, 512 + 4 * 32);
    assert_unknown(discovery.gpu, "memory", "cold_latency_cycles", "a fault");
    fth_gpu_destroy(discovery.gpu);
}

static void the_cold_latency_needs_memory_and_tlbs(void **state)
{
    (void)state;
    static const struct {
        const char *only;
        bool wanted;
    } rows[] = {{"memory", false}, {"tlb_l1", false}, {"memory,tlb_l1", true}, {NULL, true}};
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_discovery discovery = make_discovery();
        discovery.only = rows[i].only;
        assert_int_equal(fth_discover_cold(&discovery, NULL), FTH_OK);
        const char *reason = fth_gpu_unknown(discovery.gpu, "memory", "cold_latency_cycles");
        assert_int_equal(reason != NULL, rows[i].wanted);
        fth_gpu_destroy(discovery.gpu);
    }
}

/* ---- shared memory ---- */

static void shared_memory_is_checked(void **state)
{
    (void)state;
    static const struct {
        enum fth_status status;
        double cycles; /* 100 are expected */
        const char *note, *message;
    } rows[] = {
        {FTH_OK, 100, "checked by a chain over all of it", ""},
        {FTH_OK, 101.9, "checked by a chain over all of it", ""},
        {FTH_OK, 98.1, "checked by a chain over all of it", ""},
        {FTH_OK, 102.1, "checked by a chain over all of it (disturbed)", ""},
        {FTH_OK, 125, "checked by a chain over all of it (disturbed)", ""},
        {FTH_OK, 125.1, "a chain over all of it took 125.1 cycles per load",
         "shared.max_block_bytes: a chain over all of it took 125.1 cycles per load\n"},
        {FTH_OK, 97.9, "a chain over all of it took 97.9 cycles per load",
         "shared.max_block_bytes: a chain over all of it took 97.9 cycles per load\n"},
        {FTH_INCONCLUSIVE, 100, "could not be checked: no block received this amount", ""},
        {FTH_UNSUPPORTED, 100, "could not be checked: no block received this amount", ""},
        {FTH_UNAVAILABLE, 100, "", ""},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_discovery discovery = make_discovery();
        struct fth_error error = NO_ERROR;
        set_number(discovery.gpu, "shared", "size_bytes", 65536);
        set_number(discovery.gpu, "shared", "max_block_bytes", 49152);
        set_number(discovery.gpu, "shared", "latency_cycles", 100);
        script.status = rows[i].status;
        script.shared_cycles = rows[i].cycles;
        const bool fails = rows[i].status == FTH_UNAVAILABLE;
        assert_int_equal(fth_discover_carveouts(&discovery, &error),
                         fails ? FTH_UNAVAILABLE : FTH_OK);
        assert_int_equal(error.status, fails ? FTH_UNAVAILABLE : FTH_OK);
        assert_int_equal(script.shared_bytes, 49152);
        const char *note = fth_gpu_attribute(discovery.gpu, "shared", "max_block_bytes")->note;
        assert_string_equal(note ? note : "", rows[i].note);
        assert_string_equal(script.messages, rows[i].message);
        fth_gpu_destroy(discovery.gpu);
    }
}

/* ---- map of the L2 ---- */

/* Returns a discovery of a GPU whose L2 has this number of partitions. */
static struct fth_discovery make_map(double partitions)
{
    struct fth_discovery discovery = make_discovery();
    set_number(discovery.gpu, "l2", "size_bytes", 1 << 20);
    set_number(discovery.gpu, "l2", "partitions", partitions);
    script.near = (struct fth_figure){.value = 500, .low = 480};
    script.far = (struct fth_figure){.value = 600};
    script.agreement = 1;
    return discovery;
}

static void thresholds_are_between_the_latencies(void **state)
{
    (void)state;
    static const struct {
        double far_l2; /* NAN: one partition */
        double line, sector;
        double near_threshold;
        uint64_t expected_line;
        const char *reason;
    } rows[] = {
        {NAN, NAN, NAN, 484, 128, NULL},
        {300, NAN, 32, 256, 32, NULL},
        {300, 64, 32, 256, 64, NULL},
        {756, 64, 32, 484, 64, NULL},
        {757, 64, 32, 0, 0, "the latencies of L2 and memory overlap"},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_discovery discovery = make_map(1);
        if (!isnan(rows[i].far_l2))
            set_number(discovery.gpu, "l2", "far_latency_cycles", rows[i].far_l2);
        if (!isnan(rows[i].line))
            set_number(discovery.gpu, "l2", "line_bytes", rows[i].line);
        if (!isnan(rows[i].sector))
            set_number(discovery.gpu, "l2", "sector_bytes", rows[i].sector);
        struct fth_error error = NO_ERROR;
        assert_int_equal(fth_dissect_l2_map(&discovery, &error), FTH_OK);
        assert_unknown(discovery.gpu, "l2", "prefetched_part", rows[i].reason);
        assert_true(script.map_plan.near_threshold == rows[i].near_threshold);
        assert_int_equal(script.map_plan.line_bytes, rows[i].expected_line);
        if (!rows[i].reason) {
            assert_int_equal(script.map_plan.size_bytes, 1 << 20);
            assert_true(script.map_plan.memory_threshold == 484);
            assert_true(script.map_plan.far_memory_threshold == 556);
        }
        fth_gpu_destroy(discovery.gpu);
    }
    /* An L2 of one byte has a size; one without an attribute has none. */
    for (int known = 0; known < 2; known++) {
        struct fth_discovery discovery = make_map(1);
        struct fth_error error = NO_ERROR;
        set_number(discovery.gpu, "l2", "size_bytes", 1);
        set_number(discovery.gpu, "l2", "far_latency_cycles", 2000);
        if (!known)
            fth_note_remove(discovery.gpu, "l2", "size_bytes");
        assert_int_equal(fth_dissect_l2_map(&discovery, &error), FTH_OK);
        assert_unknown(discovery.gpu, "l2", "prefetched_part",
                       known ? rows[4].reason : "its size is not known");
        fth_gpu_destroy(discovery.gpu);
    }
}

static void homes_are_written_or_have_a_reason(void **state)
{
    (void)state;
    static const struct {
        struct fth_home_mask homes;
        const char *reason;
    } rows[] = {
        {{.mask = 0x26000}, NULL},
        {{.mask = 0x6000, .mixed = 0x20000, .unknown = 0x80},
         "not a parity of address bits: bits 0x20000 change the home in some places only, bits "
         "0x6000 always"},
        {{.mask = 0x6000, .unknown = 0x80},
         "the homes of too few lines were found to judge bits 0x80"},
        {{.mask = 0}, "no address bit changes the home"},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_discovery discovery = make_map(2);
        script.homes = rows[i].homes;
        script.homes.samples = 9;
        script.sides[0] = FTH_RELATION_SAME;
        script.sides[1] = i == 0   ? FTH_RELATION_OPPOSITE
                          : i == 1 ? FTH_RELATION_MIXED
                                   : FTH_RELATION_UNKNOWN;
        assert_int_equal(fth_dissect_l2_map(&discovery, NULL), FTH_OK);
        const struct fth_gpu *gpu = discovery.gpu;
        assert_unknown(gpu, "l2", "home_mask", rows[i].reason);
        assert_unknown(gpu, "l2", "partition_by_sm",
                       i ? "1 of 2 SMs see homes that neither match those of SM 0 nor are the "
                           "opposite"
                         : NULL);
        if (i == 0) {
            const struct fth_attribute *mask = fth_gpu_attribute(gpu, "l2", "home_mask");
            const struct fth_attribute *sides = fth_gpu_attribute(gpu, "l2", "partition_by_sm");
            assert_true(mask->number == 0x26000);
            assert_int_equal(mask->samples, 9);
            assert_int_equal(sides->count, 2);
            assert_true(sides->numbers[0] == 0 && sides->numbers[1] == 1);
            assert_int_equal(sides->samples, 11);
        }
        fth_gpu_destroy(discovery.gpu);
    }
    /* With one partition there are no homes. */
    struct fth_discovery one = make_map(1);
    assert_int_equal(fth_dissect_l2_map(&one, NULL), FTH_OK);
    assert_null(fth_gpu_unknown(one.gpu, "l2", "home_mask"));
    assert_null(fth_gpu_attribute(one.gpu, "l2", "partition_by_sm"));
    fth_gpu_destroy(one.gpu);
}

static void prefetching_and_order_are_judged(void **state)
{
    (void)state;
    static const struct {
        double prefetched, part; /* measured, and as it is written */
        const char *note;
        double agreement;
        const char *periodic, *method;
    } rows[] = {
        {0.05, 0.05, "nothing is prefetched", 0.8, "yes",
         "whether a repetition evicts the same lines: agreement beyond chance 0.80, median of five "
         "footprints"},
        {0.0504, 0.05, "memory delivers more than is requested", 0.4, "no",
         "whether a repetition evicts the same lines: agreement beyond chance 0.40, median of five "
         "footprints"},
        {0.4996, 0.5, "memory delivers more than is requested", 0.41, NULL,
         "whether a repetition evicts the same lines: agreement beyond chance 0.41, median of five "
         "footprints"},
        {0, 0, "nothing is prefetched", 0.79, NULL,
         "whether a repetition evicts the same lines: agreement beyond chance 0.79, median of five "
         "footprints"},
        {0, 0, "nothing is prefetched", NAN, "yes",
         "at every footprint, either all lines were evicted or none, in every repetition"},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_discovery discovery = make_map(1);
        script.prefetched = rows[i].prefetched;
        script.agreement = rows[i].agreement;
        assert_int_equal(fth_dissect_l2_map(&discovery, NULL), FTH_OK);
        const struct fth_gpu *gpu = discovery.gpu;
        const struct fth_attribute *part = fth_gpu_attribute(gpu, "l2", "prefetched_part");
        assert_true(part->number == rows[i].part);
        assert_string_equal(part->note, rows[i].note);
        assert_int_equal(part->samples, 12);
        assert_unknown(gpu, "l2", "periodic", rows[i].periodic ? NULL : rows[i].method);
        if (rows[i].periodic) {
            assert_string_equal(fth_gpu_text(gpu, "l2", "periodic"), rows[i].periodic);
            const struct fth_attribute *periodic = fth_gpu_attribute(gpu, "l2", "periodic");
            assert_int_equal(strncmp(periodic->method, rows[i].method, strlen(rows[i].method)), 0);
            assert_true(periodic->confidence > 0.99);
        }
        fth_gpu_destroy(discovery.gpu);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures_of_the_l2_are_written),
        cmocka_unit_test(missing_figures_of_the_l2_have_reasons),
        cmocka_unit_test(interrupted_measurements_of_the_l2_are_repeated),
        cmocka_unit_test(the_size_of_the_driver_is_checked),
        cmocka_unit_test(partitions_have_notes),
        cmocka_unit_test(a_cold_walk_exceeds_the_reach_of_the_tlbs),
        cmocka_unit_test(the_cold_latency_needs_memory_and_tlbs),
        cmocka_unit_test(shared_memory_is_checked),
        cmocka_unit_test(thresholds_are_between_the_latencies),
        cmocka_unit_test(homes_are_written_or_have_a_reason),
        cmocka_unit_test(prefetching_and_order_are_judged),
    };
    return cmocka_run_group_tests_name("stages", tests, NULL, NULL);
}
