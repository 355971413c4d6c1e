/* Parameters of the model from GPU descriptions (model/params_gpu.c): which attribute gives which
 * parameter, and what replaces attributes that a description lacks. */
#include "check.h"
#include "model/level/level.h"

#include <stdio.h>
#include <stdlib.h>

/* Returns the value of a parameter and its source. */
static const char *value_of(const struct fth_model_params *params, const char *name,
                            enum fth_model_source *source)
{
    struct fth_model_parameter parameter;
    for (size_t i = 0; fth_model_parameter(i, &parameter); i++)
        if (strcmp(parameter.name, name) == 0)
            return fth_model_value(params, i, source);
    fail_msg("no parameter %s", name);
    return NULL;
}

static struct fth_model_params *describe(const char *device, const char *elements)
{
    char text[2048];
    struct fth_gpu *gpu = NULL;
    struct fth_model_params *params = NULL;
    struct fth_error error = NO_ERROR;
    const int size = snprintf(text, sizeof text,
                              "{\"schema\": \"fathom-gpu/1\", \"device\": {\"name\": \"x\"%s%s}, "
                              "\"elements\": {%s}}",
                              *device ? ", " : "", device, elements);
    if (fth_gpu_read_text("test", text, (size_t)size, NULL, &gpu, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    assert_int_equal(fth_model_params_create(gpu, &params, NULL), FTH_OK);
    fth_gpu_destroy(gpu);
    return params;
}

static const struct {
    const char *device, *elements, *parameter, *value;
    bool described; /* the source is the description, not the default */
} rows[] = {
    {"\"sms\": 7", "\"l1\": {}", "gpu.sms", "7", true},
    {"", "\"l1\": {}", "gpu.sms", "16", false},
    /* Two L1s per SM count as two SMs. */
    {"\"sms\": 7", "\"l1\": {\"per_sm\": 2}", "gpu.sms", "14", true},
    {"\"sms\": 7", "\"l1\": {\"per_sm\": 1}", "gpu.sms", "7", true},
    {"\"sms\": 2, \"gpc_by_sm\": [0, 1], \"block_order\": \"gpc\"", "", "gpu.mapping",
     "description", true},
    {"\"block_order\": \"sm\"", "", "gpu.mapping", "rr", true},
    {"\"sms\": 2, \"gpc_by_sm\": [0, 1]", "", "gpu.mapping", "rr", false},
    {"\"sms\": 2, \"gpc_by_sm\": [0, 1]", "", "l2.joins", "description", true},
    {"\"sms\": 2, \"gpc_by_sm\": [0, 1]", "", "l2.join_rounds", "12", false},
    {"\"sms\": 2, \"gpc_by_sm\": [0, 1]", "\"l1\": {\"per_sm\": 2}", "l2.joins", "none", false},
    {"", "", "l2.join_rounds", "1", false},
    {"\"sms\": 3", "\"l2\": {\"join_group_by_sm\": [0, 1, 0]}", "l2.joins", "description", true},
    {"\"sms\": 3", "\"l2\": {\"join_group_by_sm\": [0, 1, 0]}", "l2.join_rounds", "12", false},
    {"\"sms\": 3, \"gpc_by_sm\": [0, 0, 1]", "\"l2\": {\"join_group_by_sm\": [0, 1, 2]}",
     "l2.joins", "none", true},
    {"", "\"l2\": {\"partitions\": 2, \"partition_by_sm\": [0, 1]}", "l2.side_of_sm", "description",
     true},
    {"", "", "l2.side_of_sm", "alternate", false},
    {"\"schedulers_per_sm\": 2", "", "gpu.schedulers", "2", true},
    {"\"max_blocks_per_sm\": 9", "", "gpu.max_blocks", "9", true},
    {"\"local_stack_bytes\": 1024", "", "gpu.local_stack_bytes", "1024", true},
    {"\"local_reserved_bytes\": 576", "", "gpu.local_reserved_bytes", "576", true},
    {"\"max_threads_per_sm\": 1536", "", "gpu.max_warps", "48", true},
    {"\"max_threads_per_sm\": 33", "", "gpu.max_warps", "1", true},
    {"\"max_threads_per_sm\": 32", "", "gpu.max_warps", "1", true},
    {"\"max_registers_per_block\": 32768", "", "gpu.registers", "32768", true},
    {"", "\"shared\": {\"size_bytes\": 49152}", "gpu.shared_bytes", "49152", true},
    {"", "\"shared\": {\"reserved_block_bytes\": 1024}", "gpu.reserved_bytes", "1024", true},
    {"", "\"l1\": {\"size_bytes\": 16384}", "l1.size_bytes", "16384", true},
    {"", "\"l1\": {\"policy\": \"fifo\"}", "l1.policy", "fifo", true},
    {"", "\"l1\": {\"index\": \"mod\"}", "l1.index", "mod", true},
    {"", "\"l1\": {\"latency_cycles\": 33}", "l1.latency_cycles", "33", true},
    {"", "\"l2\": {\"size_bytes\": 1048576}", "l2.size_bytes", "1048576", true},
    {"", "\"l2\": {\"latency_cycles\": 200}", "l2.latency_cycles", "200", true},
    {"", "\"memory\": {\"latency_cycles\": 500}", "memory.latency_cycles", "500", true},
    /* Sets take precedence over ways; without a size, all three give it. */
    {"", "\"l1\": {\"sets\": 8}", "l1.sets", "8", true},
    {"", "\"l1\": {\"ways\": 6}", "l1.ways", "6", true},
    {"", "\"l1\": {\"ways\": 6}", "l1.sets", "0", true},
    {"", "\"l1\": {\"sets\": 8, \"ways\": 6}", "l1.sets", "8", true},
    {"", "\"l1\": {\"sets\": 8, \"ways\": 6}", "l1.ways", "0", true},
    {"", "\"l1\": {\"sets\": 8, \"ways\": 6}", "l1.size_bytes", "131072", false},
    {"", "\"l1\": {\"sets\": 8, \"ways\": 6, \"line_bytes\": 128}", "l1.size_bytes", "6144", true},
    /* A line without a sector size: the default of 32 bytes if it fits. Without fill_bytes, a fill
     * is one sector. */
    {"", "\"l2\": {\"line_bytes\": 64}", "l2.sector_bytes", "32", false},
    {"", "\"l2\": {\"line_bytes\": 32}", "l2.sector_bytes", "32", false},
    {"", "\"l2\": {\"line_bytes\": 16}", "l2.sector_bytes", "0", false},
    {"", "\"l2\": {\"line_bytes\": 64}", "l2.fill_bytes", "0", false},
    {"", "\"l2\": {\"line_bytes\": 64, \"fill_bytes\": 64}", "l2.fill_bytes", "64", true},
    {"", "\"l2\": {\"line_bytes\": 64, \"sector_bytes\": 64}", "l2.fill_bytes", "64", false},
    {"", "\"l2\": {}", "l2.fill_bytes", "64", false},
    /* The model has no weights of ways. */
    {"", "\"l1\": {\"policy\": \"weighted\", \"ways\": 2, \"way_weights\": [1, 3]}", "l1.policy",
     "random", false},
    {"", "\"l1\": {\"policy\": \"clock\"}", "l1.policy", "clock", true},
    {"", "\"l1\": {\"sets\": 2, \"set_masks\": [128]}", "l1.index", "description", true},
    {"", "\"l1\": {\"sets\": 2}", "l1.index", "xor", false},
    /* Before compute capability 7.0, writes bypass the L1; without a global L1, everything does. */
    {"\"compute_capability\": \"6.1\"", "\"l1\": {}", "l1.bypass", "won", true},
    {"\"compute_capability\": \"1.3\"", "\"l1\": {}", "l1.bypass", "won", true},
    {"\"compute_capability\": \"7.0\"", "\"l1\": {}", "l1.bypass", "off", false},
    /* What the description says about stores has precedence, if the model has it. */
    {"\"compute_capability\": \"7.0\"",
     "\"l1\": {\"write_miss\": \"no_allocate\", \"write_hit\": \"evict\"}", "l1.bypass", "won",
     true},
    {"\"compute_capability\": \"6.1\"",
     "\"l1\": {\"write_miss\": \"allocate\", \"write_hit\": \"update\"}", "l1.bypass", "off", true},
    {"\"compute_capability\": \"7.0\"",
     "\"l1\": {\"write_miss\": \"no_allocate\", \"write_hit\": \"update\"}", "l1.bypass", "off",
     false},
    {"\"compute_capability\": \"6.1\"", "\"l1\": {\"write_miss\": \"allocate\"}", "l1.bypass",
     "won", true},
    {"\"compute_capability\": \"7.0\"",
     "\"l1\": {\"write_miss\": \"allocate\", \"write_hit\": \"update\", \"caches\": [\"local\"]}",
     "l1.bypass", "rwon", true},
    {"\"compute_capability\": \"10.0\"", "\"l1\": {}", "l1.bypass", "off", false},
    {"", "\"l1\": {\"caches\": [\"local\", \"global\"]}", "l1.bypass", "off", false},
    {"", "\"l1\": {\"caches\": [\"local\"]}", "l1.bypass", "rwon", true},
    {"", "\"l2\": {}", "l1.bypass", "rwon", true},
};

static void descriptions_give_parameters(void **state)
{
    (void)state;
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_model_params *params = describe(rows[i].device, rows[i].elements);
        enum fth_model_source source;
        const char *value = value_of(params, rows[i].parameter, &source);
        if (strcmp(value, rows[i].value) != 0 ||
            source != (rows[i].described ? FTH_MODEL_DESCRIPTION : FTH_MODEL_DEFAULT))
            fail_msg("row %zu: %s is %s, source %d", i, rows[i].parameter, value, (int)source);
        fth_model_params_destroy(params);
    }
}

/* Measured groups of SMs that join their reads have precedence over the GPCs. */
static void groups_of_joins_are_measured_ones_or_gpcs(void **state)
{
    (void)state;
    static const struct {
        const char *elements;
        uint32_t groups[4];
    } cases[] = {
        {"\"l2\": {\"join_group_by_sm\": [0, 1, 1, 0]}", {0, 1, 1, 0}},
        {"\"l2\": {}", {0, 0, 1, 2}},
    };
    for (size_t i = 0; i < FTH_COUNT(cases); i++) {
        struct fth_model_params *params =
            describe("\"sms\": 4, \"gpc_by_sm\": [0, 0, 1, 2]", cases[i].elements);
        uint32_t *groups = NULL;
        size_t count = 0;
        assert_int_equal(fth_sm_list(params, FTH_KEY_JOINS, UINT32_MAX, &groups, &count, NULL),
                         FTH_OK);
        assert_int_equal(count, 4);
        assert_memory_equal(groups, cases[i].groups, sizeof cases[i].groups);
        free(groups);
        fth_model_params_destroy(params);
    }
}

#define MASKED_L1                                                                                  \
    "\"l1\": {\"policy\": \"clock\", \"line_bytes\": 128, \"size_bytes\": 8192, \"sets\": 4, "     \
    "\"rows\": 8, \"row_ways\": 4, \"set_masks\": [128, 768], \"row_masks\": [256, 1024, 2048]}"

/* The masks apply as long as the L1 is that of the description. */
static void masks_apply_to_the_l1_that_has_them(void **state)
{
    (void)state;
    static const struct {
        const char *name, *value;
        const char *index; /* or "set": by masks; "row": rows, too */
    } cases[] = {
        {"gpu.sms", "4", "row"},
        {"l1.index", "mod", "mod"},
        {"l1.index", "description", "row"},
        {"l1.sets", "8", "xor"},
        {"l1.policy", "lru", "set"},
        {"l1.banks", "2", "xor"},
        {"l1.line_bytes", "256", "xor"},
        {"l1.size_bytes", "16384", "row"},
        {"l1.size_bytes", "16896", "xor"}, /* more than 8 x 4 ways */
    };
    static const struct fth_trace_launch launch = {
        .kernel = "k", .grid = {1, 1, 1}, .block = {32, 1, 1}};
    for (size_t i = 0; i < FTH_COUNT(cases); i++) {
        struct fth_model_params *params = describe("", MASKED_L1);
        struct fth_setting setting;
        struct fth_error error = NO_ERROR;
        assert_int_equal(fth_model_set(params, cases[i].name, cases[i].value, NULL), FTH_OK);
        if (fth_model_setting(params, &launch, &setting, &error) != FTH_OK)
            fail_msg("case %zu: %s", i, error.cause);
        const struct fth_shape *l1 = &setting.l1;
        const char *index = !l1->masks ? l1->index : l1->row_ways ? "row" : "set";
        if (strcmp(index, cases[i].index) != 0)
            fail_msg("%s=%s: %s", cases[i].name, cases[i].value, index);
        assert_true(!l1->masks || (l1->masks->set[1] == 768 && l1->masks->row[2] == 2048));
        fth_model_params_destroy(params);
    }
}

static void masks_that_the_description_lacks_are_refused(void **state)
{
    (void)state;
    static const struct fth_trace_launch launch = {
        .kernel = "k", .grid = {1, 1, 1}, .block = {32, 1, 1}};
    struct fth_model_params *params = describe("", "\"l1\": {\"sets\": 4}");
    struct fth_setting setting;
    struct fth_error error = NO_ERROR;
    assert_int_equal(fth_model_set(params, "l2.index", "description", NULL), FTH_INVALID);
    assert_int_equal(fth_model_set(params, "l1.index", "description", NULL), FTH_OK);
    assert_int_equal(fth_model_setting(params, &launch, &setting, &error), FTH_INVALID);
    assert_string_equal(error.argument, "l1.index");
    assert_string_equal(error.cause, "the description of the GPU has no set_masks");
    fth_model_params_destroy(params);
}

/* Models whose L1s have different masks do not share their L1s. */
static void masks_are_part_of_the_sharing_keys(void **state)
{
    (void)state;
    static const char *const elements[] = {
        "\"l1\": {\"sets\": 2, \"size_bytes\": 1024, \"set_masks\": [128]}",
        "\"l1\": {\"sets\": 2, \"size_bytes\": 1024, \"set_masks\": [256]}",
        "\"l1\": {\"sets\": 2, \"size_bytes\": 1024}"};
    static const struct fth_trace_launch launch = {
        .kernel = "k", .grid = {1, 1, 1}, .block = {32, 1, 1}};
    struct fth_sharing_keys keys[FTH_COUNT(elements)];
    for (size_t i = 0; i < FTH_COUNT(elements); i++) {
        struct fth_model_params *params = describe("", elements[i]);
        struct fth_setting setting;
        assert_int_equal(fth_model_setting(params, &launch, &setting, NULL), FTH_OK);
        fth_sharing_keys_compute(params, &setting, &keys[i]);
        fth_model_params_destroy(params);
    }
    assert_true(keys[0].stream == keys[1].stream && keys[0].stream == keys[2].stream);
    assert_true(keys[0].l1 != keys[1].l1 && keys[0].l1 != keys[2].l1 && keys[1].l1 != keys[2].l1);
}

/* The L1 has what a carve-out leaves, unless the description lists its sizes. */
static void carve_outs_determine_the_l1(void **state)
{
    (void)state;
    static const struct {
        const char *elements;
        uint64_t unified;
        size_t count;
        uint64_t l1_bytes[3], carveouts[3];
    } cases[] = {
        {"\"l1\": {\"unified_bytes\": 65536}, \"shared\": {\"carveout_bytes\": [0, 16384, 32768]}",
         65536,
         3,
         {65536, 49152, 32768},
         {0, 16384, 32768}},
        {"\"l1\": {\"unified_bytes\": 65536}, \"shared\": {\"carveout_bytes\": [0, 32768, 65536]}",
         65536,
         2,
         {65536, 32768},
         {0, 32768}},
        {"\"l1\": {\"unified_bytes\": 65536, \"carveout_size_bytes\": [60000, 40000]}, \"shared\": "
         "{\"carveout_bytes\": [0, 16384]}",
         65536,
         2,
         {60000, 40000},
         {0, 16384}},
        {"\"shared\": {\"carveout_bytes\": [0, 16384]}", 0, 0, {0}, {0}},
        {"\"l1\": {\"carveout_size_bytes\": [60000, 40000]}, \"shared\": "
         "{\"carveout_bytes\": [0, 16384]}",
         0,
         2,
         {60000, 40000},
         {0, 16384}},
        {"\"l1\": {\"unified_bytes\": 16385}, \"shared\": {\"carveout_bytes\": [0, 16384]}",
         16385,
         2,
         {16385, 1},
         {0, 16384}},
        {"\"l1\": {\"unified_bytes\": 65536}", 65536, 0, {0}, {0}},
    };
    for (size_t i = 0; i < FTH_COUNT(cases); i++) {
        struct fth_model_params *params = describe("", cases[i].elements);
        assert_int_equal(params->unified_bytes, cases[i].unified);
        assert_int_equal(params->carveout_count, cases[i].count);
        for (size_t at = 0; at < cases[i].count; at++) {
            assert_int_equal(params->carveout_l1_bytes[at], cases[i].l1_bytes[at]);
            assert_int_equal(params->carveout_bytes[at], cases[i].carveouts[at]);
        }
        fth_model_params_destroy(params);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(descriptions_give_parameters),
        cmocka_unit_test(groups_of_joins_are_measured_ones_or_gpcs),
        cmocka_unit_test(masks_apply_to_the_l1_that_has_them),
        cmocka_unit_test(masks_that_the_description_lacks_are_refused),
        cmocka_unit_test(masks_are_part_of_the_sharing_keys),
        cmocka_unit_test(carve_outs_determine_the_l1),
    };
    return cmocka_run_group_tests_name("params-gpu", tests, NULL, NULL);
}
