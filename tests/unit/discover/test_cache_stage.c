/* Tests of the dissection of a cache (dissect_cache.c): which figures and reasons it writes for
 * given results of the probes. The linker redirects calls of the probes to functions of this test.
 */
#include "check.h"
#include "discover/discover.h"
#include "probe/structure/probe_structure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- scripted probes ---- */

enum { LINES = 3, PASSES = 6, HIT = 40, MISS = 90, THRESHOLD = 60 };

static struct {
    enum fth_status sets_status[2]; /* of the first and of the second search for the sets */
    size_t searches;
    struct fth_structure structure;
    uint64_t set_ways[4];
    struct fth_cache_plan plans[2]; /* of the searches */
    enum fth_status series_status, policy_status;
    bool changes; /* the misses differ in the last pass */
    struct fth_replacement policy;
    size_t policies; /* calls of fth_probe_policy */
    double threshold_cycles;
    struct fth_series series;
    size_t series_calls;
} script;

enum fth_status __wrap_fth_probe_hit_and_miss(const struct fth_prober *prober,
                                              const struct fth_cache_plan *plan, double *hit,
                                              double *miss, struct fth_error *error);
enum fth_status __wrap_fth_probe_overflow(const struct fth_prober *prober,
                                          const struct fth_cache_plan *plan, uint64_t passes,
                                          struct fth_overflow *overflow, struct fth_error *error);
enum fth_status __wrap_fth_probe_sets(const struct fth_prober *prober,
                                      const struct fth_cache_plan *plan,
                                      struct fth_structure *structure, struct fth_error *error);
enum fth_status __wrap_fth_probe_policy(const struct fth_prober *prober,
                                        const struct fth_cache_plan *plan,
                                        const struct fth_chain *one_set,
                                        struct fth_replacement *found, struct fth_error *error);

enum fth_status __real_fth_note(struct fth_gpu *gpu, const struct fth_note *note,
                                struct fth_error *error);
enum fth_status __wrap_fth_note(struct fth_gpu *gpu, const struct fth_note *note,
                                struct fth_error *error);
enum fth_status __real_fth_note_unknown(struct fth_gpu *gpu, const char *element,
                                        const char *attribute, const char *reason,
                                        struct fth_error *error);
enum fth_status __wrap_fth_note_unknown(struct fth_gpu *gpu, const char *element,
                                        const char *attribute, const char *reason,
                                        struct fth_error *error);

static size_t notes, failing_note; /* calls so far; the one that fails, 0: none */

enum fth_status __wrap_fth_note(struct fth_gpu *gpu, const struct fth_note *note,
                                struct fth_error *error)
{
    return ++notes == failing_note ? fth_no_memory(error, "test", NULL)
                                   : __real_fth_note(gpu, note, error);
}

enum fth_status __wrap_fth_note_unknown(struct fth_gpu *gpu, const char *element,
                                        const char *attribute, const char *reason,
                                        struct fth_error *error)
{
    return ++notes == failing_note
               ? fth_no_memory(error, "test", NULL)
               : __real_fth_note_unknown(gpu, element, attribute, reason, error);
}

static enum fth_status fail_with(enum fth_status status, const char *cause, struct fth_error *error)
{
    return status == FTH_OK ? FTH_OK : fth_fail(error, status, "test", NULL, "%s", cause);
}

enum fth_status __wrap_fth_probe_hit_and_miss(const struct fth_prober *prober,
                                              const struct fth_cache_plan *plan, double *hit,
                                              double *miss, struct fth_error *error)
{
    (void)prober, (void)plan;
    *hit = HIT;
    *miss = MISS;
    return fail_with(script.series_status, "no series", error);
}

/* Line 2 misses in every pass from the third on; in the last pass, line 1 may miss instead. */
enum fth_status __wrap_fth_probe_overflow(const struct fth_prober *prober,
                                          const struct fth_cache_plan *plan, uint64_t passes,
                                          struct fth_overflow *overflow, struct fth_error *error)
{
    (void)prober, (void)error;
    assert_int_equal(passes, PASSES);
    script.threshold_cycles = plan->threshold_cycles;
    *overflow = (struct fth_overflow){.lines = LINES,
                                      .cycles = calloc((size_t)LINES * PASSES, sizeof(uint32_t)),
                                      .count = (size_t)LINES * PASSES};
    assert_non_null(overflow->cycles);
    for (size_t i = 0; i < overflow->count; i++) {
        const size_t missed = script.changes && i / LINES == PASSES - 1 ? 1 : 2;
        overflow->cycles[i] = i / LINES < 2 || i % LINES == missed ? THRESHOLD + 1 : THRESHOLD;
    }
    return FTH_OK;
}

enum fth_status __wrap_fth_probe_sets(const struct fth_prober *prober,
                                      const struct fth_cache_plan *plan,
                                      struct fth_structure *structure, struct fth_error *error)
{
    (void)prober;
    assert_true(script.searches < 2);
    const enum fth_status status = script.sets_status[script.searches];
    script.plans[script.searches++] = *plan;
    if (status == FTH_OK) {
        *structure = script.structure;
        if (script.structure.ways == 0 && script.structure.sets) {
            structure->set_ways = calloc(script.structure.sets, sizeof *structure->set_ways);
            assert_non_null(structure->set_ways);
            memcpy(structure->set_ways, script.set_ways,
                   script.structure.sets * sizeof *structure->set_ways);
        }
    }
    return fail_with(status, "no sets", error);
}

enum fth_status __wrap_fth_probe_policy(const struct fth_prober *prober,
                                        const struct fth_cache_plan *plan,
                                        const struct fth_chain *one_set,
                                        struct fth_replacement *found, struct fth_error *error)
{
    (void)prober, (void)plan;
    assert_int_equal(one_set->count, script.structure.one_set.count);
    script.policies++;
    *found = script.policy;
    if (script.policy.way_shares) {
        found->way_shares = calloc(script.policy.ways, sizeof *found->way_shares);
        assert_non_null(found->way_shares);
        memcpy(found->way_shares, script.policy.way_shares,
               script.policy.ways * sizeof *found->way_shares);
    }
    return fail_with(script.policy_status, "no policy", error);
}

static void keep_series(void *user, const struct fth_series *series)
{
    (void)user;
    script.series = *series;
    script.series_calls++;
}

/* ---- dissections ---- */

static void begin(struct fth_discovery *discovery)
{
    *discovery = (struct fth_discovery){.prober = {.sms = 1}};
    memset(&script, 0, sizeof script);
    script.structure = (struct fth_structure){.sets = 4,
                                              .ways = 8,
                                              .index = "mod",
                                              .hash = "mod",
                                              .one_set = {.count = 8},
                                              .evidence = {.repeats = 24, .agree = 24},
                                              .samples = 7};
    script.policy = (struct fth_replacement){.policy = "lru",
                                             .ways = 8,
                                             .evidence = {.repeats = 20, .agree = 20},
                                             .samples = 11,
                                             .replaced = 13};
    assert_int_equal(fth_gpu_create(&discovery->gpu, NULL), FTH_OK);
}

static void set_number(const struct fth_discovery *discovery, const char *element,
                       const char *attribute, double number)
{
    const struct fth_note note = {.element = element, .attribute = attribute, .number = number};
    assert_int_equal(fth_note(discovery->gpu, &note, NULL), FTH_OK);
}

static enum fth_status dissect(struct fth_discovery *discovery, const char *element,
                               enum fth_path path, struct fth_error *error)
{
    const struct fth_dissected_cache cache = {
        .element = element, .path = path, .carveout_percent = 0};
    const struct fth_dissect_options options = FTH_DISSECT_OPTIONS(.series = keep_series);
    return fth_dissect_cache(discovery, &options, &cache, error);
}

/* Dissects an L1 of 4096 bytes with lines of 128 bytes. */
static struct fth_gpu *dissect_l1(struct fth_discovery *discovery)
{
    struct fth_error error = NO_ERROR;
    set_number(discovery, "l1", "size_bytes", 4096);
    set_number(discovery, "l1", "line_bytes", 128);
    assert_int_equal(dissect(discovery, "l1", FTH_PATH_CA, &error), FTH_OK);
    assert_int_equal(error.status, FTH_OK);
    return discovery->gpu;
}

static double number_of(const struct fth_gpu *gpu, const char *attribute)
{
    return fth_gpu_number(gpu, "l1", attribute, NAN);
}

static void assert_reason(const struct fth_gpu *gpu, const char *element, const char *attribute,
                          const char *reason)
{
    const char *found = fth_gpu_unknown(gpu, element, attribute);
    assert_string_equal(found ? found : "", reason);
    assert_null(fth_gpu_attribute(gpu, element, attribute));
}

static void a_structure_and_a_policy_are_written(void **state)
{
    (void)state;
    struct fth_discovery discovery;
    begin(&discovery);
    const struct fth_gpu *gpu = dissect_l1(&discovery);
    assert_int_equal(script.searches, 1);
    assert_int_equal(script.plans[0].fits_bytes, 4096);
    assert_int_equal(script.plans[0].line_bytes, 128);
    assert_true(script.threshold_cycles == THRESHOLD && script.plans[0].threshold_cycles == 60);
    assert_true(number_of(gpu, "sets") == 4 && number_of(gpu, "ways") == 8);
    const struct fth_attribute *sets = fth_gpu_attribute(gpu, "l1", "sets");
    assert_true(sets->confidence > 0.99 && sets->samples == 7);
    assert_string_equal(fth_gpu_text(gpu, "l1", "index"), "mod");
    assert_true(number_of(gpu, "size_bytes") == 4096);
    assert_null(fth_gpu_attribute(gpu, "l1", "size_bytes")->note);
    const struct fth_attribute *policy = fth_gpu_attribute(gpu, "l1", "policy");
    assert_string_equal(fth_gpu_text(gpu, "l1", "policy"), "lru");
    assert_true(policy->confidence > 0.99 && policy->samples == 11);
    assert_string_equal(policy->method,
                        "the only policy of several that predicts every hit and miss; 20 of 20 "
                        "repeats agree");
    assert_null(fth_gpu_attribute(gpu, "l1", "way_weights"));
    assert_string_equal(fth_gpu_text(gpu, "l1", "periodic"), "yes");
    assert_int_equal(script.series_calls, 1);
    assert_string_equal(script.series.element, "l1");
    assert_int_equal(script.series.stride_bytes, 128);
    assert_int_equal(script.series.lines, LINES);
    assert_int_equal(script.series.count, LINES * PASSES);
    assert_int_equal(script.series.ways, 8);
    fth_gpu_destroy(discovery.gpu);
}

/* Sets of different sizes, an index without a name, and a size that differs. */
static void unusual_structures_are_written(void **state)
{
    (void)state;
    struct fth_discovery discovery;
    static const uint64_t set_ways[] = {8, 8, 8, 9};
    begin(&discovery);
    script.structure.ways = 0;
    script.structure.index[0] = '\0';
    snprintf(script.structure.hash, sizeof script.structure.hash, "a7^a9");
    memcpy(script.set_ways, set_ways, sizeof set_ways);
    script.changes = true;
    const struct fth_gpu *gpu = dissect_l1(&discovery);
    const struct fth_attribute *ways = fth_gpu_attribute(gpu, "l1", "set_ways");
    assert_int_equal(ways->count, 4);
    for (size_t i = 0; i < 4; i++)
        assert_true(ways->numbers[i] == (double)set_ways[i]);
    assert_null(fth_gpu_attribute(gpu, "l1", "ways"));
    assert_reason(gpu, "l1", "index", "the set index consists of XORs of address bits (a7^a9)");
    assert_true(number_of(gpu, "size_bytes") == 33 * 128);
    assert_string_equal(fth_gpu_attribute(gpu, "l1", "size_bytes")->note,
                        "4096 contiguous bytes fit, which do not fill all sets");
    assert_string_equal(fth_gpu_text(gpu, "l1", "periodic"), "no");
    fth_gpu_destroy(discovery.gpu);
}

static void weights_of_ways_are_rounded(void **state)
{
    (void)state;
    struct fth_discovery discovery;
    double shares[] = {0.5004, 0.2496, 0.25, 0.0004};
    begin(&discovery);
    script.policy.policy = "weighted";
    script.policy.way_shares = shares;
    script.policy.ways = 4;
    const struct fth_gpu *gpu = dissect_l1(&discovery);
    const struct fth_attribute *weights = fth_gpu_attribute(gpu, "l1", "way_weights");
    static const double expected[] = {0.5, 0.25, 0.25, 0.001};
    assert_int_equal(weights->count, 4);
    assert_int_equal(weights->samples, 13);
    for (size_t i = 0; i < 4; i++)
        assert_true(weights->numbers[i] == expected[i]);
    assert_string_equal(
        fth_gpu_attribute(gpu, "l1", "policy")->method,
        "replacements counted by way, in a set that overflows by one line; 20 of 20 "
        "repeats agree");
    fth_gpu_destroy(discovery.gpu);
}

static void a_clock_has_unknown_rows(void **state)
{
    (void)state;
    struct fth_discovery discovery;
    begin(&discovery);
    script.policy.policy = "clock";
    const struct fth_gpu *gpu = dissect_l1(&discovery);
    assert_string_equal(fth_gpu_text(gpu, "l1", "policy"), "clock");
    assert_non_null(strstr(fth_gpu_attribute(gpu, "l1", "policy")->method,
                           "order of the victims in a set that overflows by one line"));
    assert_non_null(strstr(fth_gpu_unknown(gpu, "l1", "rows"), "not measured"));
    assert_non_null(strstr(fth_gpu_unknown(gpu, "l1", "row_ways"), "not measured"));
    fth_gpu_destroy(discovery.gpu);
}

/* ---- policies that are not found ---- */

static void policies_have_reasons(void **state)
{
    (void)state;
    static const struct {
        const char *element;
        bool changes, one_set;
        const char *reason;
    } rows[] = {
        {"l1", false, true, "no policy"},
        {"constant_l15", true, true, "no policy"},
        {"constant_l15", false, true,
         "LRU or FIFO: the oldest line is evicted, but the constant L1 serves repeated loads, so "
         "the "
         "two cannot be distinguished"},
        {"l1", false, false,
         "no chain is known to stay within one set; with one line more than fits, the misses are "
         "the "
         "same in every pass, so the policy may be LRU"},
        {"l1", true, false,
         "no chain is known to stay within one set; with one line more than fits, the misses are "
         "not "
         "the same in every pass, so the policy is not LRU"},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_discovery discovery;
        begin(&discovery);
        script.changes = rows[i].changes;
        script.policy_status = FTH_INCONCLUSIVE;
        if (!rows[i].one_set)
            script.structure.one_set.count = 0;
        set_number(&discovery, rows[i].element, "size_bytes", 4096);
        set_number(&discovery, rows[i].element, "line_bytes", 128);
        assert_int_equal(dissect(&discovery, rows[i].element, FTH_PATH_CONSTANT, NULL), FTH_OK);
        assert_int_equal(script.policies, rows[i].one_set ? 1 : 0);
        assert_reason(discovery.gpu, rows[i].element, "policy", rows[i].reason);
        fth_gpu_destroy(discovery.gpu);
    }
}

/* Without a chain in one set, the observed victims show how well each policy predicts them. */
static void observed_victims_are_compared(void **state)
{
    (void)state;
    struct fth_discovery discovery;
    uint64_t *by_arrival = calloc(5, sizeof *by_arrival), *by_way = calloc(5, sizeof *by_way);
    static const uint64_t arrivals[] = {60, 30, 10, 0};
    static const double bits[] = {1.83, 1.64, 1.62, 2, 2.13, 1.4};
    assert_true(by_arrival && by_way);
    for (size_t i = 0; i < 4; i++) {
        by_arrival[i] = arrivals[i];
        by_way[i] = 25;
    }
    begin(&discovery);
    script.structure.one_set.count = 0;
    script.structure.sets = 8;
    script.structure.ways = 4;
    script.structure.choices = (struct fth_choices){
        .ways = 4, .by_arrival = by_arrival, .by_way = by_way, .lru_victims = 50, .replaced = 100};
    const struct fth_gpu *gpu = dissect_l1(&discovery);
    assert_reason(
        gpu, "l1", "policy",
        "no policy explains every replacement: in sets of 4 ways, 100 lines were evicted; "
        "60 % of them were the oldest in the set, and all were among the 3 oldest");
    const struct fth_attribute *found = fth_gpu_attribute(gpu, "l1", "policy_bits");
    assert_int_equal(found->count, FTH_COUNT(bits));
    assert_int_equal(found->samples, 100);
    for (size_t i = 0; i < FTH_COUNT(bits); i++)
        assert_true(found->numbers[i] == bits[i]);
    assert_int_equal(fth_gpu_attribute(gpu, "l1", "policy_candidates")->count, FTH_COUNT(bits));
    assert_string_equal(fth_gpu_attribute(gpu, "l1", "policy_candidates")->texts[5], "by arrival");
    fth_gpu_destroy(discovery.gpu);
}

/* The same, with victims that only the policy clock explains. */
static void observed_victims_show_a_clock(void **state)
{
    (void)state;
    struct fth_discovery discovery;
    uint64_t *by_arrival = calloc(9, sizeof *by_arrival), *by_way = calloc(9, sizeof *by_way);
    assert_true(by_arrival && by_way);
    by_arrival[0] = 60;
    by_arrival[1] = 30;
    begin(&discovery);
    script.structure.one_set.count = 0;
    script.structure.sets = 4;
    script.structure.ways = 8;
    script.structure.choices = (struct fth_choices){
        .ways = 8, .by_arrival = by_arrival, .by_way = by_way, .lru_victims = 9, .replaced = 90};
    const struct fth_gpu *gpu = dissect_l1(&discovery);
    const struct fth_attribute *policy = fth_gpu_attribute(gpu, "l1", "policy");
    assert_non_null(policy);
    assert_string_equal(policy->text, "clock");
    assert_int_equal(policy->samples, 90);
    assert_string_equal(policy->note, "in sets of 8 ways, each of 90 victims was one of the 2 "
                                      "lines that arrived first; 67 % were the first");
    assert_non_null(fth_gpu_unknown(gpu, "l1", "rows"));
    assert_null(fth_gpu_attribute(gpu, "l1", "policy_bits"));
    fth_gpu_destroy(discovery.gpu);
}

/* ---- structures that are not found ---- */

static void smaller_carve_outs_show_the_sets(void **state)
{
    (void)state;
    static const struct {
        double size, smaller; /* bytes of the cache; NAN: the smaller one is not known */
        uint64_t sets, ways;
        enum fth_status second; /* search */
        double expected_ways;   /* NAN: not known */
        const char *reason;     /* of the ways */
    } rows[] = {
        {4096, 1100, 4, 2, FTH_OK, 8, NULL},
        {4224, 1024, 4, 2, FTH_OK, NAN, "the lines that fit are not a multiple of the sets"},
        {4096, 1024, 4, 0, FTH_OK, NAN, "no sets"},
        {4096, 1024, 4, 2, FTH_INCONCLUSIVE, NAN, "no sets"},
        {4096, 1024, 4, 2, FTH_UNSUPPORTED, NAN, "no sets"},
        {4096, NAN, 4, 2, FTH_OK, NAN, "no sets"},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_discovery discovery;
        begin(&discovery);
        script.sets_status[0] = FTH_INCONCLUSIVE;
        script.sets_status[1] = rows[i].second;
        script.structure.sets = rows[i].sets;
        script.structure.ways = rows[i].ways;
        set_number(&discovery, "l1", "size_bytes", rows[i].size);
        set_number(&discovery, "l1", "line_bytes", 128);
        if (!isnan(rows[i].smaller))
            set_number(&discovery, "l1", "default_size_bytes", rows[i].smaller);
        assert_int_equal(dissect(&discovery, "l1", FTH_PATH_CA, NULL), FTH_OK);
        assert_int_equal(script.searches, isnan(rows[i].smaller) ? 1 : 2);
        if (script.searches == 2) {
            assert_int_equal(script.plans[1].carveout_percent, 100);
            assert_int_equal(script.plans[1].fits_bytes, 1024);
        }
        if (rows[i].reason)
            assert_reason(discovery.gpu, "l1", "ways", rows[i].reason);
        else
            assert_true(number_of(discovery.gpu, "ways") == rows[i].expected_ways);
        const struct fth_attribute *sets = fth_gpu_attribute(discovery.gpu, "l1", "sets");
        assert_int_equal(sets != NULL, i < 2);
        if (sets)
            assert_string_equal(sets->note, "measured under the largest carve-out, with 2 ways");
        fth_gpu_destroy(discovery.gpu);
    }
}

static void caches_that_cannot_be_overflowed_have_reasons(void **state)
{
    (void)state;
    static const struct {
        double size, line, sector;
        const char *why; /* the size or the line is unknown; NULL: no reason is known */
        const char *reason;
    } rows[] = {
        {NAN, NAN, NAN, NULL, "this GPU has no such cache, or these loads bypass it"},
        {NAN, NAN, NAN, "a cause",
         "it cannot be overflowed, because its size is not known: a cause"},
        {NAN, 64, NAN, NULL, "it cannot be overflowed, because its size is not known"},
        {65536, 64, NAN, NULL,
         "it cannot be overflowed, because the constant bank is not larger than it"},
        {4096, NAN, NAN, "a cause", "its line size is not known: a cause"},
        {4096, NAN, NAN, NULL, "its line size is not known"},
        {65535, 64, NAN, NULL, NULL},
        {4096, NAN, 32, NULL, NULL},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_discovery discovery;
        begin(&discovery);
        if (!isnan(rows[i].size))
            set_number(&discovery, "constant_l1", "size_bytes", rows[i].size);
        if (!isnan(rows[i].line))
            set_number(&discovery, "constant_l1", "line_bytes", rows[i].line);
        if (!isnan(rows[i].sector))
            set_number(&discovery, "constant_l1", "sector_bytes", rows[i].sector);
        if (rows[i].why)
            assert_int_equal(fth_note_unknown(discovery.gpu, "constant_l1",
                                              isnan(rows[i].size) ? "size_bytes" : "line_bytes",
                                              rows[i].why, NULL),
                             FTH_OK);
        assert_int_equal(dissect(&discovery, "constant_l1", FTH_PATH_CONSTANT, NULL), FTH_OK);
        static const char *const names[] = {"sets", "ways", "index", "policy"};
        for (size_t k = 0; k < FTH_COUNT(names) && rows[i].reason; k++)
            assert_reason(discovery.gpu, "constant_l1", names[k], rows[i].reason);
        assert_int_equal(script.searches, rows[i].reason ? 0 : 1);
        if (i == 6)
            assert_int_equal(script.plans[0].fits_bytes, 65472);
        if (i == 7)
            assert_int_equal(script.plans[0].line_bytes, 32);
        fth_gpu_destroy(discovery.gpu);
    }
}

static void failures_are_returned_or_noted(void **state)
{
    (void)state;
    static const struct {
        enum fth_status series, sets, smaller, policy, status;
        const char *cause; /* of the error, or of the unknown sets */
    } rows[] = {
        {FTH_UNAVAILABLE, FTH_OK, FTH_OK, FTH_OK, FTH_UNAVAILABLE, "no series"},
        {FTH_INCONCLUSIVE, FTH_OK, FTH_UNSUPPORTED, FTH_OK, FTH_OK, "no series"},
        {FTH_UNSUPPORTED, FTH_OK, FTH_OK, FTH_OK, FTH_OK, "no series"},
        {FTH_OK, FTH_UNAVAILABLE, FTH_OK, FTH_OK, FTH_UNAVAILABLE, "no sets"},
        {FTH_OK, FTH_INCONCLUSIVE, FTH_UNAVAILABLE, FTH_OK, FTH_UNAVAILABLE, "no sets"},
        {FTH_OK, FTH_UNSUPPORTED, FTH_OK, FTH_OK, FTH_OK, "no sets"},
        {FTH_OK, FTH_OK, FTH_OK, FTH_UNAVAILABLE, FTH_UNAVAILABLE, "no policy"},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_discovery discovery;
        struct fth_error error = NO_ERROR;
        begin(&discovery);
        script.series_status = rows[i].series;
        /* Without a series, the first search is the one under the largest carve-out. */
        script.sets_status[0] = rows[i].series ? rows[i].smaller : rows[i].sets;
        script.sets_status[1] = rows[i].smaller;
        script.policy_status = rows[i].policy;
        set_number(&discovery, "l1", "size_bytes", 4096);
        set_number(&discovery, "l1", "line_bytes", 128);
        set_number(&discovery, "l1", "default_size_bytes", 1024);
        assert_int_equal(dissect(&discovery, "l1", FTH_PATH_CA, &error), rows[i].status);
        assert_int_equal(error.status, rows[i].status);
        if (rows[i].status == FTH_OK)
            assert_reason(discovery.gpu, "l1", "sets", rows[i].cause);
        else
            assert_string_equal(error.cause, rows[i].cause);
        assert_int_equal(script.series_calls, rows[i].status == FTH_OK && !rows[i].series);
        fth_gpu_destroy(discovery.gpu);
    }
}

/* If a figure or a reason cannot be written, the dissection fails. */
static void failures_to_write_are_returned(void **state)
{
    (void)state;
    enum { PLAIN, SET_WAYS, WEIGHTED, NO_POLICY, SMALLER, NOTHING, SCENARIOS };
    double shares[] = {0.5, 0.5};
    for (int scenario = 0; scenario < SCENARIOS; scenario++) {
        bool failed = true;
        for (size_t number = 1; failed; number++) {
            struct fth_discovery discovery;
            begin(&discovery);
            script.sets_status[0] = scenario >= SMALLER ? FTH_INCONCLUSIVE : FTH_OK;
            script.sets_status[1] = scenario == NOTHING ? FTH_INCONCLUSIVE : FTH_OK;
            script.policy_status = scenario >= NO_POLICY ? FTH_INCONCLUSIVE : FTH_OK;
            if (scenario == SET_WAYS) {
                script.structure.ways = 0;
                script.structure.index[0] = '\0';
                script.set_ways[0] = 3;
            }
            if (scenario == WEIGHTED) {
                script.policy.policy = "weighted";
                script.policy.way_shares = shares;
                script.policy.ways = 2;
            }
            set_number(&discovery, "l1", "size_bytes", 4096);
            set_number(&discovery, "l1", "line_bytes", 128);
            set_number(&discovery, "l1", "default_size_bytes", 1024);
            struct fth_error error = NO_ERROR;
            notes = 0;
            failing_note = number;
            const enum fth_status status = dissect(&discovery, "l1", FTH_PATH_CA, &error);
            failed = notes >= number;
            failing_note = 0;
            assert_int_equal(status, failed ? FTH_NO_MEMORY : FTH_OK);
            assert_int_equal(error.status, status);
            assert_true(failed || number > 4);
            fth_gpu_destroy(discovery.gpu);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_structure_and_a_policy_are_written),
        cmocka_unit_test(unusual_structures_are_written),
        cmocka_unit_test(weights_of_ways_are_rounded),
        cmocka_unit_test(a_clock_has_unknown_rows),
        cmocka_unit_test(policies_have_reasons),
        cmocka_unit_test(observed_victims_are_compared),
        cmocka_unit_test(observed_victims_show_a_clock),
        cmocka_unit_test(smaller_carve_outs_show_the_sets),
        cmocka_unit_test(caches_that_cannot_be_overflowed_have_reasons),
        cmocka_unit_test(failures_are_returned_or_noted),
        cmocka_unit_test(failures_to_write_are_returned),
    };
    return cmocka_run_group_tests_name("cache_stage", tests, NULL, NULL);
}
