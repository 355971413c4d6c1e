/* Descriptions that a program builds (gpu/gpu.c, gpu_write.c), and what a comparison reports about
 * a difference (gpu_compare.c). test_gpu.c tests descriptions that are read. */
#include "check.h"
#include "gpu/gpu.h"

#include <math.h>

static void set(struct fth_gpu *gpu, const char *section, const struct fth_attribute *attribute)
{
    assert_int_equal(fth_gpu_set(gpu, fth_gpu_section(gpu, section), attribute, NULL), FTH_OK);
}

/* Sets an attribute of each kind from memory that is overwritten afterwards. */
static void set_all_kinds(struct fth_gpu *gpu)
{
    char name[] = "latency_cycles", method[] = "chase", reference[] = "paper", note[] = "a note";
    char text[] = "lru", first[] = "texture", raw[] = "{\"later\":1}";
    double ways[] = {17, 8};
    const char *shared[] = {first};
    struct fth_attribute number = fth_attribute_make(name, FTH_NUMBER);
    number.number = 32.5;
    number.source = FTH_SOURCE_MEASURED;
    number.method = method;
    number.reference = reference;
    number.note = note;
    number.confidence = 0.75;
    number.samples = 64;
    number.low = 32;
    number.high = 33;
    set(gpu, "l1", &number);
    struct fth_attribute policy = fth_attribute_make("policy", FTH_TEXT);
    policy.text = text;
    set(gpu, "l1", &policy);
    struct fth_attribute list = fth_attribute_make("set_ways", FTH_NUMBERS);
    list.numbers = ways;
    list.count = 2;
    set(gpu, "l1", &list);
    struct fth_attribute names = fth_attribute_make("shared_with", FTH_TEXTS);
    names.texts = shared;
    names.count = 1;
    set(gpu, "l1", &names);
    struct fth_attribute unknown = fth_attribute_make("new", FTH_RAW);
    unknown.text = raw;
    set(gpu, "l1", &unknown);
    memset(name, 'x', sizeof name - 1);
    memset(method, 'x', sizeof method - 1);
    memset(reference, 'x', sizeof reference - 1);
    memset(note, 'x', sizeof note - 1);
    memset(text, 'x', sizeof text - 1);
    memset(first, 'x', sizeof first - 1);
    memset(raw, 'x', sizeof raw - 1);
    ways[0] = ways[1] = 0;
    shared[0] = NULL;
}

static void a_description_keeps_copies(void **state)
{
    (void)state;
    struct fth_gpu *gpu = NULL;
    struct fth_error error = NO_ERROR;
    assert_int_equal(fth_gpu_create(&gpu, NULL), FTH_OK);
    struct fth_attribute name = fth_attribute_make("name", FTH_TEXT);
    name.text = "built";
    set(gpu, "device", &name);
    char element[] = "l1", reason[] = "not published", key[] = "paper", title[] = "A paper";
    assert_int_equal(fth_gpu_add_element(gpu, element, NULL), FTH_OK);
    assert_int_equal(fth_gpu_add_element(gpu, "l1", &error), FTH_INVALID);
    assert_string_equal(error.argument, "l1");
    assert_int_equal(fth_gpu_add_element(gpu, "texture", NULL), FTH_OK);
    set_all_kinds(gpu);
    assert_int_equal(
        fth_gpu_set_unknown(gpu, fth_gpu_section(gpu, "l1"), "line_bytes", reason, NULL), FTH_OK);
    assert_int_equal(fth_gpu_set_reference(gpu, key, title, NULL), FTH_OK);
    element[0] = reason[0] = key[0] = title[0] = 'x';
    char *text = NULL;
    size_t size = 0;
    assert_int_equal(fth_gpu_write_text(gpu, &text, &size, NULL), FTH_OK);
    assert_int_equal(size, strlen(text));
    assert_string_equal(text,
                        "{\n"
                        "  \"schema\": \"fathom-gpu/1\",\n"
                        "  \"device\": {\n"
                        "    \"name\": \"built\"\n"
                        "  },\n"
                        "  \"elements\": {\n"
                        "    \"l1\": {\n"
                        "      \"latency_cycles\": {\"value\": 32.5, \"source\": \"measured\", "
                        "\"method\": \"chase\", \"reference\": \"paper\", \"confidence\": 0.75, "
                        "\"samples\": 64, \"low\": 32, \"high\": 33, \"note\": \"a note\"},\n"
                        "      \"policy\": \"lru\",\n"
                        "      \"set_ways\": [17, 8],\n"
                        "      \"shared_with\": [\"texture\"],\n"
                        "      \"new\": {\"later\":1},\n"
                        "      \"unknown\": {\n"
                        "        \"line_bytes\": \"not published\"\n"
                        "      }\n"
                        "    },\n"
                        "    \"texture\": {}\n"
                        "  },\n"
                        "  \"references\": {\n"
                        "    \"paper\": \"A paper\"\n"
                        "  }\n"
                        "}\n");
    fth_free(text);
    fth_gpu_destroy(gpu);
    fth_gpu_destroy(NULL);
}

/* An attribute with any one field of provenance is written as an object. */
static void provenance_is_written(void **state)
{
    (void)state;
    for (int field = 0; field < 9; field++) {
        struct fth_gpu *gpu = NULL;
        assert_int_equal(fth_gpu_create(&gpu, NULL), FTH_OK);
        struct fth_attribute sms = fth_attribute_make("sms", FTH_NUMBER);
        sms.number = 4;
        sms.source = field == 1 ? FTH_SOURCE_DRIVER : FTH_SOURCE_NONE;
        sms.method = field == 2 ? "m" : NULL;
        sms.reference = field == 3 ? "r" : NULL;
        sms.confidence = field == 4 ? 0.5 : NAN;
        sms.samples = field == 5 ? 3 : NAN;
        sms.low = field == 6 ? 4 : NAN;
        sms.high = field == 7 ? 5 : NAN;
        sms.note = field == 8 ? "n" : NULL;
        set(gpu, "device", &sms);
        static const char *const written[] = {
            "\"sms\": 4\n",
            "\"sms\": {\"value\": 4, \"source\": \"driver\"}\n",
            "\"sms\": {\"value\": 4, \"method\": \"m\"}\n",
            "\"sms\": {\"value\": 4, \"reference\": \"r\"}\n",
            "\"sms\": {\"value\": 4, \"confidence\": 0.5}\n",
            "\"sms\": {\"value\": 4, \"samples\": 3}\n",
            "\"sms\": {\"value\": 4, \"low\": 4}\n",
            "\"sms\": {\"value\": 4, \"high\": 5}\n",
            "\"sms\": {\"value\": 4, \"note\": \"n\"}\n",
        };
        char *text = NULL;
        size_t size = 0;
        assert_int_equal(fth_gpu_write_text(gpu, &text, &size, NULL), FTH_OK);
        assert_contains(text, written[field]);
        fth_free(text);
        fth_gpu_destroy(gpu);
    }
}

static struct fth_attribute make_number(double number, double low, double high)
{
    struct fth_attribute attribute = fth_attribute_make("latency_cycles", FTH_NUMBER);
    attribute.number = number;
    attribute.low = low;
    attribute.high = high;
    return attribute;
}

/* The gap between the intervals, as a fraction of the larger number. */
static void distances_between_numbers_are_relative(void **state)
{
    (void)state;
    static const struct {
        double a[3], b[3], apart; /* number, low, high */
    } rows[] = {
        {{100, NAN, NAN}, {100, NAN, NAN}, 0},
        {{100, NAN, NAN}, {80, NAN, NAN}, 0.2},
        {{80, NAN, NAN}, {100, NAN, NAN}, 0.2},
        {{100, 95, 105}, {80, 75, 85}, 0.1},
        {{80, 75, 85}, {100, 95, 105}, 0.1},
        {{100, 95, 105}, {90, 85, 95}, 0},
        {{0, NAN, NAN}, {0, NAN, NAN}, 0},
        {{-100, NAN, NAN}, {50, NAN, NAN}, 1.5},
        {{100, 95, NAN}, {110, NAN, 120}, 10.0 / 110},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        const struct fth_attribute a = make_number(rows[i].a[0], rows[i].a[1], rows[i].a[2]);
        const struct fth_attribute b = make_number(rows[i].b[0], rows[i].b[1], rows[i].b[2]);
        if (fabs(fth_attribute_apart(&a, &b) - rows[i].apart) > 1e-12)
            fail_msg("row %zu: %g", i, fth_attribute_apart(&a, &b));
        assert_int_equal(fth_attribute_agrees(&a, &b), rows[i].apart == 0);
    }
    const struct fth_attribute number = make_number(5, NAN, NAN);
    struct fth_attribute text = fth_attribute_make("latency_cycles", FTH_TEXT);
    text.text = "5";
    assert_true(isnan(fth_attribute_apart(&number, &text)));
    assert_true(isnan(fth_attribute_apart(&text, &number)));
    assert_false(fth_attribute_agrees(&number, &text));
}

/* What identifies the card, its state, or varies from run to run. */
static void circumstances_do_not_characterise_a_model(void **state)
{
    (void)state;
    static const struct {
        const char *section, *name;
        bool circumstance;
    } rows[] = {
        {"device", "uuid", true},
        {"device", "kernel_timeout", true},
        {"device", "name", false},
        {"device", "sms", false},
        {"l1", "uuid", false},
        {"noise", "outlier_rate", true},
        {"l1", "resident_bytes", true},
        {"l1", "latency_by_sm_cycles", true},
        {"l1", "onset_bytes", false},
        {"l1", "full_miss_bytes", false},
        {"l2", "onset_bytes", true},
        {"l2", "full_miss_bytes", true},
        {"l2", "size_bytes", false},
        {"device", "host", true},
        {"device", "measured_at", true},
        {"device", "loaded_clock_mhz", true},
        {"memory", "ecc_correctable", true},
        {"device", "ecc_correctable", true},
        {"memory", "remap_pending", true},
        {"memory", "ecc", false},
        {"device", "remap_pending", false},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++)
        if (fth_is_circumstance(rows[i].section, rows[i].name) != rows[i].circumstance)
            fail_msg("%s.%s", rows[i].section, rows[i].name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_description_keeps_copies),
        cmocka_unit_test(provenance_is_written),
        cmocka_unit_test(distances_between_numbers_are_relative),
        cmocka_unit_test(circumstances_do_not_characterise_a_model),
    };
    return cmocka_run_group_tests_name("gpu-build", tests, NULL, NULL);
}
