/* Tests the schema of descriptions and small functions that read descriptions: tables of names,
 * index functions, references, sizes of code, and comparisons. */
#include "check.h"
#include "gpu/gpu.h"

#include <math.h>
#include <stdio.h>

static struct fth_gpu *read_parts(const char *device, const char *rest)
{
    char text[1024];
    struct fth_gpu *gpu = NULL;
    struct fth_error error = NO_ERROR;
    snprintf(text, sizeof text,
             "{\"schema\": \"fathom-gpu/1\", \"device\": {\"name\": \"x\"%s}, %s}", device, rest);
    if (fth_gpu_read_text("x", text, strlen(text), NULL, &gpu, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    return gpu;
}

static void elements_have_names_in_order(void **state)
{
    (void)state;
    static const char *const names[] = {"l1",
                                        "vector_l1",
                                        "scalar_l1",
                                        "texture",
                                        "readonly",
                                        "constant_l1",
                                        "constant_l15",
                                        "instruction_l0",
                                        "instruction_l1",
                                        "instruction_l15",
                                        "shared",
                                        "lds",
                                        "cluster_shared",
                                        "l2",
                                        "l3",
                                        "tlb_l1",
                                        "tlb_l2",
                                        "tlb_l3",
                                        "memory",
                                        "registers",
                                        "tma"};
    for (size_t i = 0; i < FTH_COUNT(names); i++)
        assert_string_equal(fth_element_name(i), names[i]);
    assert_null(fth_element_name(FTH_COUNT(names)));
    assert_null(fth_schema_element("device"));
    assert_null(fth_schema_element("noise"));
    assert_null(fth_schema_element("none"));
    assert_string_equal(fth_schema_element("l2")->title, "L2");
    assert_string_equal(fth_schema_suggest_element("textur"), "texture");
    assert_null(fth_schema_suggest_element("device"));
    assert_string_equal(fth_schema_suggest_attribute("l1", "size_byte"), "size_bytes");
    assert_null(fth_schema_suggest_attribute("none", "size_bytes"));
    assert_non_null(fth_schema_attribute("l2", "partitions"));
    assert_null(fth_schema_attribute("l1", "partitions"));
    assert_null(fth_schema_attribute("none", "size_bytes"));
    size_t count = 0;
    while (fth_schema_attribute_at(count))
        count++;
    assert_string_equal(fth_schema_attribute_at(0)->name, "name");
    assert_string_equal(fth_schema_attribute_at(count - 1)->name, "copy_cycles");
}

static void sources_have_names(void **state)
{
    (void)state;
    static const char *const names[] = {"measured", "driver", "derived", "published", "simulated"};
    for (size_t i = 0; i < FTH_COUNT(names); i++) {
        enum fth_source source = FTH_SOURCE_NONE;
        assert_true(fth_source_parse(names[i], &source));
        assert_string_equal(fth_source_name(source), names[i]);
    }
    enum fth_source source;
    assert_false(fth_source_parse("guessed", &source));
    assert_null(fth_source_name(FTH_SOURCE_NONE));
}

static void index_functions_are_parsed(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int count; /* of bits; -1: it is not an index function */
        unsigned first, last;
    } rows[] = {
        {"mod", 0, 0, 0},        {"xor", 0, 0, 0},          {"prime", 0, 0, 0},
        {"shift:0", 0, 0, 0},    {"shift:63", 0, 0, 0},     {"shift:64", -1, 0, 0},
        {"shift:", -1, 0, 0},    {"shift:5x", -1, 0, 0},    {"shift:-5", -1, 0, 0},
        {"bits:[7]", 1, 7, 7},   {"bits:[0,63]", 2, 0, 63}, {"bits:[63,9,0]", 3, 63, 0},
        {"bits:[]", -1, 0, 0},   {"bits:[64]", -1, 0, 0},   {"bits:[7,7]", -1, 0, 0},
        {"bits:[7", -1, 0, 0},   {"bits:[7]x", -1, 0, 0},   {"bits:[7,]", -1, 0, 0},
        {"bits:[ 7]", -1, 0, 0}, {"bits:7", -1, 0, 0},      {"modulo", -1, 0, 0},
        {"", -1, 0, 0},          {"bits:[9,10]", 2, 9, 10}, {"bits:[:]", -1, 0, 0},
        {"bits:[/]", -1, 0, 0},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        unsigned bits[64] = {0};
        const int count = fth_index_parse(rows[i].text, bits);
        if (count != rows[i].count ||
            (count > 0 && (bits[0] != rows[i].first || bits[count - 1] != rows[i].last)))
            fail_msg("%s: %d", rows[i].text, count);
    }
    struct fth_buffer all = {0};
    fth_buffer_text(&all, "bits:[0");
    for (int i = 1; i < 64; i++)
        fth_buffer_format(&all, ",%d", i);
    fth_buffer_text(&all, "]");
    unsigned bits[64];
    assert_int_equal(fth_index_parse(all.data, bits), 64);
    assert_int_equal(bits[63], 63);
    fth_buffer_fini(&all);
}

/* The sizes are explained at struct fth_code_size. */
static void code_has_the_size_of_its_generation(void **state)
{
    (void)state;
    static const struct {
        const char *capability;
        uint64_t bytes, instructions;
    } rows[] = {
        {"", 16, 1},    {"2.1", 8, 1},  {"3.0", 64, 7}, {"3.7", 64, 7},  {"5.0", 32, 3},
        {"6.1", 32, 3}, {"7.0", 16, 1}, {"9.0", 16, 1}, {"10.0", 16, 1},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        char device[64] = "";
        if (*rows[i].capability)
            snprintf(device, sizeof device, ", \"compute_capability\": \"%s\"", rows[i].capability);
        struct fth_gpu *gpu = read_parts(device, "\"elements\": {}");
        const struct fth_code_size expected = {rows[i].bytes, rows[i].instructions};
        const struct fth_code_size size = fth_gpu_code_size(gpu);
        assert_memory_equal(&size, &expected, sizeof size);
        fth_gpu_destroy(gpu);
    }
}

static void unknown_attributes_are_listed(void **state)
{
    (void)state;
    struct fth_gpu *gpu = read_parts(
        "", "\"elements\": {\"l1\": {\"unknown\": {\"sets\": \"noise\", \"ways\": \"time\"}}}");
    const char *name = NULL;
    assert_string_equal(fth_gpu_unknown_at(gpu, "l1", 0, &name), "noise");
    assert_string_equal(name, "sets");
    assert_string_equal(fth_gpu_unknown_at(gpu, "l1", 1, &name), "time");
    assert_string_equal(name, "ways");
    assert_null(fth_gpu_unknown_at(gpu, "l1", 2, &name));
    assert_null(fth_gpu_unknown_at(gpu, "l2", 0, &name));
    assert_string_equal(fth_gpu_unknown(gpu, "l1", "ways"), "time");
    assert_null(fth_gpu_unknown(gpu, "l1", "line_bytes"));
    assert_null(fth_gpu_unknown(gpu, "l2", "ways"));
    assert_null(fth_gpu_attribute_at(gpu, "l2", 0));
    assert_null(fth_gpu_attribute_at(gpu, "l1", 0));
    fth_gpu_destroy(gpu);
}

static void references_are_divided_by_semicolons(void **state)
{
    (void)state;
    const char *at = " a, p. 5; b c;;d", *key = NULL;
    static const char *const keys[] = {"a", "b", "", "d"};
    size_t size = 0;
    for (size_t i = 0; i < FTH_COUNT(keys); i++) {
        assert_true(fth_reference_next(&at, &key, &size));
        assert_int_equal(size, strlen(keys[i]));
        assert_memory_equal(key, keys[i], size);
    }
    assert_false(fth_reference_next(&at, &key, &size));
    at = "  ";
    assert_false(fth_reference_next(&at, &key, &size));
}

static void noise_is_written(void **state)
{
    (void)state;
    struct fth_gpu *gpu = read_parts("", "\"noise\": {\"seed\": 5, \"jitter_cycles\": 0.5}, "
                                         "\"elements\": {}");
    char *text = NULL;
    size_t size = 0;
    assert_int_equal(fth_gpu_write_text(gpu, &text, &size, NULL), FTH_OK);
    assert_int_equal(strlen(text), size);
    assert_contains(text, "\"noise\": {\n    \"seed\": 5,\n    \"jitter_cycles\": 0.5\n  }");
    fth_free(text);
    fth_gpu_destroy(gpu);
}

static void wrong_types_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *value, *cause;
    } rows[] = {
        {"{\"value\": {}}", "elements.l1.size_bytes: expected a number, found an object"},
        {"[1]", "elements.l1.size_bytes: expected a number, found a list"},
        {"\"1\"", "elements.l1.size_bytes: expected a number, found a string"},
        {"true", "elements.l1.size_bytes: expected a number, found a boolean"},
        {"null", "elements.l1.size_bytes: null; omit unknown attributes"},
        {"0", "elements.l1.size_bytes: "},
        {"1.5", "elements.l1.size_bytes: "},
        {"-1", "elements.l1.size_bytes: "},
        {"9007199254740993", "elements.l1.size_bytes: "},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        char text[256];
        struct fth_gpu *gpu = NULL;
        struct fth_error error = NO_ERROR;
        snprintf(text, sizeof text,
                 "{\"schema\": \"fathom-gpu/1\", \"device\": {\"name\": \"x\"}, \"elements\": "
                 "{\"l1\": {\"size_bytes\": %s}}}",
                 rows[i].value);
        assert_int_equal(fth_gpu_read_text("x", text, strlen(text), NULL, &gpu, &error),
                         FTH_INVALID);
        assert_null(gpu);
        assert_contains(error.cause, rows[i].cause);
    }
}

static void wrong_items_of_lists_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *attribute, *cause;
    } rows[] = {
        {"\"set_ways\": [4, \"x\"]", "elements.l1.set_ways[1]: expected a number, found a string"},
        {"\"set_ways\": [true, 4]", "elements.l1.set_ways[0]: expected a number, found a boolean"},
        {"\"set_ways\": 5", "elements.l1.set_ways: expected a list, found a number"},
        {"\"caches\": [\"global\", 5]", "elements.l1.caches[1]: expected a string, found a number"},
        {"\"caches\": [\"globe\"]", "elements.l1.caches"},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        char text[256];
        struct fth_gpu *gpu = NULL;
        struct fth_error error = NO_ERROR;
        snprintf(text, sizeof text,
                 "{\"schema\": \"fathom-gpu/1\", \"device\": {\"name\": \"x\"}, \"elements\": "
                 "{\"l1\": {%s}}}",
                 rows[i].attribute);
        assert_int_equal(fth_gpu_read_text("x", text, strlen(text), NULL, &gpu, &error),
                         FTH_INVALID);
        assert_contains(error.cause, rows[i].cause);
    }
}

static void count_circumstances(void *user, const struct fth_difference *difference)
{
    size_t *counts = user;
    counts[difference->circumstance]++;
}

/* The clock that kernels read and the version of the interface do not characterise a device. */
static void clocks_and_versions_are_circumstances(void **state)
{
    (void)state;
    static const char *const names[] = {
        "opencl_version",          "clock_source", "unit_source", "instruction_bytes",
        "clock_resolution_cycles", "cuda_version"};
    for (size_t i = 0; i < FTH_COUNT(names); i++)
        assert_true(fth_is_circumstance("device", names[i]));
    assert_false(fth_is_circumstance("device", "kind"));
    assert_false(fth_is_circumstance("device", "xcds"));
    assert_false(fth_is_circumstance("l2", "instances"));
}

/* Where the L1 of a simulated GPU starts to miss says nothing about a real GPU without a known
 * policy. */
static void assumed_policies_are_circumstances(void **state)
{
    (void)state;
    static const struct {
        const char *backend[2], *policy[2];
        size_t circumstances; /* without the backend itself */
    } rows[] = {
        {{"cuda", "simulated"}, {"", ""}, 3},
        {{"simulated", "cuda"}, {"", ""}, 3},
        {{"simulated", "simulated"}, {"", ""}, 0},
        {{"cuda", "cuda"}, {"", ""}, 0},
        {{"cuda", "simulated"}, {", \"policy\": \"lru\"", ", \"policy\": \"lru\""}, 0},
        {{"simulated", "cuda"}, {", \"policy\": \"lru\"", ", \"policy\": \"lru\""}, 0},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_gpu *gpus[2];
        size_t counts[2] = {0, 0};
        for (size_t k = 0; k < 2; k++) {
            char device[64], rest[256];
            snprintf(device, sizeof device, ", \"backend\": \"%s\"", rows[i].backend[k]);
            snprintf(rest, sizeof rest,
                     "\"elements\": {\"l1\": {\"onset_bytes\": %zu, \"full_miss_bytes\": %zu, "
                     "\"periodic\": \"%s\", \"line_bytes\": %zu%s}}",
                     100 + k, 200 + k, k ? "yes" : "no", 32 + 32 * k, rows[i].policy[k]);
            gpus[k] = read_parts(device, rest);
        }
        fth_gpu_compare(gpus[0], gpus[1], count_circumstances, counts);
        const bool differ = strcmp(rows[i].backend[0], rows[i].backend[1]) != 0;
        if (counts[1] != rows[i].circumstances + differ || counts[0] != 4 - rows[i].circumstances)
            fail_msg("row %zu: %zu circumstances, %zu others", i, counts[1], counts[0]);
        assert_int_equal(fth_gpu_compare(gpus[0], gpus[1], NULL, NULL), 4 + differ);
        fth_gpu_destroy(gpus[0]);
        fth_gpu_destroy(gpus[1]);
    }
}

static void instances_serve_the_sms_of_the_scope(void **state)
{
    (void)state;
    static const struct {
        const char *device, *element;
        double units; /* NAN: unknown */
    } rows[] = {
        {", \"sms\": 304", "\"scope\": \"group\", \"sms_per_instance\": 38", 38},
        {", \"sms\": 304", "\"scope\": \"sm\"", 1},
        {", \"sms\": 304", "\"scope\": \"gpu\"", 304},
        {"", "\"scope\": \"gpu\"", NAN},
        {", \"sms\": 304", "\"scope\": \"group\"", NAN},
        {", \"sms\": 304", "", NAN},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        char rest[128];
        snprintf(rest, sizeof rest, "\"elements\": {\"l2\": {%s}}", rows[i].element);
        struct fth_gpu *gpu = read_parts(rows[i].device, rest);
        const double units = fth_gpu_units_per_instance(gpu, "l2");
        if (isnan(units) != isnan(rows[i].units) || units < rows[i].units || units > rows[i].units)
            fail_msg("row %zu: %g", i, units);
        fth_gpu_destroy(gpu);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elements_have_names_in_order),
        cmocka_unit_test(sources_have_names),
        cmocka_unit_test(index_functions_are_parsed),
        cmocka_unit_test(code_has_the_size_of_its_generation),
        cmocka_unit_test(unknown_attributes_are_listed),
        cmocka_unit_test(references_are_divided_by_semicolons),
        cmocka_unit_test(noise_is_written),
        cmocka_unit_test(wrong_types_are_named),
        cmocka_unit_test(wrong_items_of_lists_are_refused),
        cmocka_unit_test(instances_serve_the_sms_of_the_scope),
        cmocka_unit_test(clocks_and_versions_are_circumstances),
        cmocka_unit_test(assumed_policies_are_circumstances),
    };
    return cmocka_run_group_tests_name("schema", tests, NULL, NULL);
}
