/* Tests of the plausibility checks (gates.c). The descriptions are made here. The linker redirects
 * calls of fth_discovery_run_stage to a function of the test, which notes the name of the stage
 * instead of measuring, and can correct a figure. */
#include "check.h"
#include "discover/discover.h"

#include <stdio.h>

enum { MAX_VALUES = 8 };

/* A figure of a description. With `with`, it is the sharing of storage with this element. */
struct value {
    const char *element, *attribute;
    double number;
    const char *with[2];
};

static struct {
    char stages[512];           /* names of the stages that were run again, each with ';' */
    char messages[4096];        /* one per line */
    const struct value *better; /* a figure that the first stage corrects; NULL: none */
    enum fth_status status;     /* of the stages */
} state;

static void set_value(struct fth_gpu *gpu, const struct value *value)
{
    const size_t count = value->with[0] ? value->with[1] ? 2 : 1 : 0;
    const struct fth_note note = {.element = value->element,
                                  .attribute = value->attribute,
                                  .number = value->number,
                                  .texts = count ? value->with : NULL,
                                  .count = count};
    assert_int_equal(fth_note(gpu, &note, NULL), FTH_OK);
}

enum fth_status __wrap_fth_discovery_run_stage(struct fth_discovery *discovery,
                                               const struct fth_stage *stage,
                                               struct fth_error *error);

enum fth_status __wrap_fth_discovery_run_stage(struct fth_discovery *discovery,
                                               const struct fth_stage *stage,
                                               struct fth_error *error)
{
    const size_t used = strlen(state.stages);
    snprintf(state.stages + used, sizeof state.stages - used, "%s;", stage->name);
    if (state.better)
        set_value(discovery->gpu, state.better);
    state.better = NULL;
    return state.status == FTH_OK ? FTH_OK : fth_fail(error, state.status, "test", NULL, "a fault");
}

static void add_message(void *user, enum fth_level level, const char *text)
{
    (void)user;
    assert_int_equal(level, FTH_LOG_WARNING);
    const size_t used = strlen(state.messages);
    snprintf(state.messages + used, sizeof state.messages - used, "%s\n", text);
}

/* Checks a description with these figures. The caller destroys it. */
static struct fth_gpu *check(const struct value *values, const struct value *better,
                             enum fth_status status, struct fth_error *error)
{
    const struct fth_log log = {.message = add_message};
    struct fth_discovery discovery = {.prober = {.log = &log}};
    state.stages[0] = state.messages[0] = '\0';
    state.better = better;
    state.status = status;
    assert_int_equal(fth_gpu_create(&discovery.gpu, NULL), FTH_OK);
    for (size_t i = 0; i < MAX_VALUES && values[i].element; i++)
        set_value(discovery.gpu, &values[i]);
    assert_int_equal(fth_discover_gates(&discovery, error), status);
    return discovery.gpu;
}

/* ---- latencies and sizes ---- */

static const struct {
    struct value inner, outer;
    double good;        /* a figure of the inner element that is right */
    const char *stages; /* that are run again */
    const char *reason;
} pairs[] = {
    {{"l1", "latency_cycles", 250, {0}},
     {"l2", "latency_cycles", 250, {0}},
     249,
     "L2 latency;data caches of an SM;",
     "measured as 250 cycles, but l2, which must be slower, as 250"},
    {{"texture", "latency_cycles", 251, {0}},
     {"l2", "latency_cycles", 250, {0}},
     249,
     "L2 latency;data caches of an SM;",
     "measured as 251 cycles, but l2, which must be slower, as 250"},
    {{"readonly", "latency_cycles", 300, {0}},
     {"l2", "latency_cycles", 250, {0}},
     249,
     "L2 latency;data caches of an SM;",
     "measured as 300 cycles, but l2, which must be slower, as 250"},
    {{"constant_l1", "latency_cycles", 80, {0}},
     {"constant_l15", "latency_cycles", 80, {0}},
     79,
     "instruction caches;",
     "measured as 80 cycles, but constant_l15, which must be slower, as 80"},
    {{"constant_l15", "latency_cycles", 500, {0}},
     {"memory", "latency_cycles", 500, {0}},
     499,
     "memory latency;instruction caches;",
     "measured as 500 cycles, but memory, which must be slower, as 500"},
    {{"shared", "latency_cycles", 250, {0}},
     {"l2", "latency_cycles", 250, {0}},
     249,
     "L2 latency;shared memory;",
     "measured as 250 cycles, but l2, which must be slower, as 250"},
    {{"constant_l1", "size_bytes", 2049, {0}},
     {"constant_l15", "size_bytes", 2048, {0}},
     2048,
     "instruction caches;",
     "measured as 2049 bytes, but constant_l15, which cannot be smaller, has 2048"},
    {{"instruction_l0", "size_bytes", 2049, {0}},
     {"instruction_l1", "size_bytes", 2048, {0}},
     2048,
     "instruction caches;",
     "measured as 2049 bytes, but instruction_l1, which cannot be smaller, has 2048"},
    {{"instruction_l1", "size_bytes", 2049, {0}},
     {"instruction_l15", "size_bytes", 2048, {0}},
     2048,
     "instruction caches;",
     "measured as 2049 bytes, but instruction_l15, which cannot be smaller, has 2048"},
    {{"l1", "size_bytes", 65537, {0}},
     {"l2", "size_bytes", 65536, {0}},
     65536,
     "L2 latency;data caches of an SM;",
     "measured as 65537 bytes, but l2, which cannot be smaller, has 65536"},
    {{"l2", "size_bytes", 65537, {0}},
     {"memory", "size_bytes", 65536, {0}},
     65536,
     "L2 latency;memory latency;",
     "measured as 65537 bytes, but memory, which cannot be smaller, has 65536"},
};

/* Each pair is wrong from one figure on, and right below it. */
static void pairs_are_in_order(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < FTH_COUNT(pairs); i++) {
        struct value values[MAX_VALUES] = {pairs[i].inner, pairs[i].outer};
        const char *element = pairs[i].inner.element, *attribute = pairs[i].inner.attribute;
        char expected[400];
        struct fth_gpu *gpu = check(values, NULL, FTH_OK, NULL);
        snprintf(expected, sizeof expected, "%s.%s: %s; measuring again\n%s.%s: %s\n", element,
                 attribute, pairs[i].reason, element, attribute, pairs[i].reason);
        assert_string_equal(state.messages, expected);
        assert_string_equal(state.stages, pairs[i].stages);
        assert_string_equal(fth_gpu_unknown(gpu, element, attribute), pairs[i].reason);
        assert_null(fth_gpu_attribute(gpu, element, attribute));
        assert_non_null(fth_gpu_attribute(gpu, pairs[i].outer.element, attribute));
        fth_gpu_destroy(gpu);

        /* The second measurement is right. */
        struct value better = pairs[i].inner;
        better.number = pairs[i].good;
        gpu = check(values, &better, FTH_OK, NULL);
        snprintf(expected, sizeof expected, "%s.%s: %s; measuring again\n", element, attribute,
                 pairs[i].reason);
        assert_string_equal(state.messages, expected);
        assert_string_equal(state.stages, pairs[i].stages);
        assert_true(fth_gpu_number(gpu, element, attribute, 0) == pairs[i].good);
        fth_gpu_destroy(gpu);

        /* The first one is right. */
        values[0].number = pairs[i].good;
        gpu = check(values, NULL, FTH_OK, NULL);
        assert_string_equal(state.messages, "");
        assert_string_equal(state.stages, "");
        assert_non_null(fth_gpu_attribute(gpu, element, attribute));
        fth_gpu_destroy(gpu);
    }
}

/* If the latencies of L2 and memory contradict each other, either can be wrong: both are removed,
 * in cycles and in nanoseconds. */
static void latencies_of_l2_and_memory_are_both_removed(void **unused)
{
    (void)unused;
    static const struct value values[MAX_VALUES] = {{"l2", "latency_cycles", 510.5, {0}},
                                                    {"l2", "latency_ns", 510.5, {0}},
                                                    {"memory", "latency_cycles", 500, {0}},
                                                    {"memory", "latency_ns", 500, {0}},
                                                    {"l1", "latency_ns", 3, {0}}};
    struct fth_gpu *gpu = check(values, NULL, FTH_OK, NULL);
    assert_string_equal(state.stages, "L2 latency;memory latency;");
    assert_string_equal(fth_gpu_unknown(gpu, "l2", "latency_cycles"),
                        "measured as 510.5 cycles, but memory, which must be slower, as 500");
    assert_string_equal(fth_gpu_unknown(gpu, "memory", "latency_cycles"),
                        "measured as 500 cycles, but l2, which must be faster, as 510.5");
    for (size_t i = 0; i < 4; i++)
        assert_null(fth_gpu_attribute(gpu, values[i].element, values[i].attribute));
    assert_non_null(fth_gpu_attribute(gpu, "l1", "latency_ns"));
    fth_gpu_destroy(gpu);
}

/* ---- sharing ---- */

static void sharing_is_symmetric_and_transitive(void **unused)
{
    (void)unused;
    static const struct {
        struct value values[MAX_VALUES];
        const char *where; /* of the contradiction; NULL: there is none */
    } rows[] = {
        {{{"l1", "shared_with", 0, {"texture", "readonly"}},
          {"texture", "shared_with", 0, {"l1", "readonly"}},
          {"readonly", "shared_with", 0, {"l1", "texture"}}},
         NULL},
        {{{"l1", "shared_with", 0, {"readonly"}}, {"readonly", "shared_with", 0, {"l1"}}}, NULL},
        {{{"l1", "shared_with", 0, {"texture"}}}, "l1 and texture"},
        {{{"texture", "shared_with", 0, {"l1"}}}, "l1 and texture"},
        {{{"texture", "shared_with", 0, {"readonly"}}}, "texture and readonly"},
        {{{"readonly", "shared_with", 0, {"texture"}}}, "texture and readonly"},
        {{{"readonly", "shared_with", 0, {"l1"}}}, "readonly and l1"},
        {{{"l1", "shared_with", 0, {"readonly"}}}, "readonly and l1"},
        {{{"l1", "shared_with", 0, {"texture"}},
          {"texture", "shared_with", 0, {"l1", "readonly"}},
          {"readonly", "shared_with", 0, {"texture"}}},
         "l1 and texture"},
        {{{"l1", "shared_with", 0, {"readonly"}},
          {"texture", "shared_with", 0, {"readonly"}},
          {"readonly", "shared_with", 0, {"l1", "texture"}}},
         "texture and readonly"},
        {{{"l1", "shared_with", 0, {"readonly", "texture"}},
          {"texture", "shared_with", 0, {"l1"}},
          {"readonly", "shared_with", 0, {"l1"}}},
         "readonly and l1"},
    };
    static const char *const caches[] = {"l1", "texture", "readonly"};
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_gpu *gpu = check(rows[i].values, NULL, FTH_OK, NULL);
        char expected[120];
        snprintf(expected, sizeof expected, "measurements of sharing contradict each other, at %s",
                 rows[i].where ? rows[i].where : "");
        for (size_t k = 0; k < FTH_COUNT(caches); k++)
            if (rows[i].where)
                assert_string_equal(fth_gpu_unknown(gpu, caches[k], "shared_with"), expected);
            else
                assert_null(fth_gpu_unknown(gpu, caches[k], "shared_with"));
        assert_string_equal(state.stages, rows[i].where ? "data caches of an SM;" : "");
        fth_gpu_destroy(gpu);
    }
}

/* ---- clock ---- */

/* The tolerance is 2 % and the rounding error of the two figures: 0.05 cycles and 0.05 ns. */
static void latencies_have_the_same_clock(void **unused)
{
    (void)unused;
    static const struct {
        double cycles, ns;
        unsigned mhz; /* in the reason; 0: it is right */
    } rows[] = {
        {1000, 1000, 0},    {1020, 1000, 0}, {1020.2, 1000, 1020}, {979.9, 1000, 0},
        {979.8, 1000, 980}, {20, 20.5, 0},   {20, 20.9, 957},      {1500, 1000, 1500},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        const struct value values[MAX_VALUES] = {{"l1", "latency_cycles", 40, {0}},
                                                 {"l1", "latency_ns", 40, {0}},
                                                 {"l2", "latency_cycles", 2000, {0}},
                                                 {"l2", "latency_ns", 2000, {0}},
                                                 {"shared", "latency_cycles", rows[i].cycles, {0}},
                                                 {"shared", "latency_ns", rows[i].ns, {0}},
                                                 {"memory", "latency_cycles", 4000, {0}},
                                                 {"texture", "latency_ns", 40, {0}}};
        struct fth_gpu *gpu = check(values, NULL, FTH_OK, NULL);
        char expected[120];
        snprintf(expected, sizeof expected, "measured at %u MHz, but most other latencies at 1000",
                 rows[i].mhz);
        assert_string_equal(state.stages, rows[i].mhz ? "shared memory;" : "");
        if (rows[i].mhz)
            assert_string_equal(fth_gpu_unknown(gpu, "shared", "latency_ns"), expected);
        assert_int_equal(fth_gpu_attribute(gpu, "shared", "latency_ns") == NULL, rows[i].mhz != 0);
        assert_non_null(fth_gpu_attribute(gpu, "shared", "latency_cycles"));
        fth_gpu_destroy(gpu);
    }
}

/* ---- failures ---- */

static void failures_of_stages_are_returned(void **unused)
{
    (void)unused;
    static const struct value values[MAX_VALUES] = {{"l1", "latency_cycles", 300, {0}},
                                                    {"l2", "latency_cycles", 250, {0}}};
    struct fth_error error = NO_ERROR;
    fth_gpu_destroy(check(values, NULL, FTH_UNAVAILABLE, &error));
    assert_string_equal(error.cause, "a fault");
    assert_string_equal(state.stages, "L2 latency;");
    static const struct value none[MAX_VALUES];
    fth_gpu_destroy(check(none, NULL, FTH_OK, NULL));
    assert_string_equal(state.messages, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pairs_are_in_order),
        cmocka_unit_test(latencies_of_l2_and_memory_are_both_removed),
        cmocka_unit_test(sharing_is_symmetric_and_transitive),
        cmocka_unit_test(latencies_have_the_same_clock),
        cmocka_unit_test(failures_of_stages_are_returned),
    };
    return cmocka_run_group_tests_name("gates", tests, NULL, NULL);
}
