/* The model's accesses with cache operators and hints: from the PTX through the trace to the L1 and
 * the L2, as the lists access_variants, access_fill_bytes and access_keeps of a description say.
 * The expected values were computed by hand. */
#include "check.h"
#include "folder.h"
#include "model/model.h"

#include <stdio.h>
#include <stdlib.h>

/* Each kernel makes three accesses to a line: a plain load, an access of the variant, and a plain
 * load. A last plain load reads the last sector of another line, of which only the variant has
 * accessed the first sector. With the target `debug`, the assembler removes no loads. */
static const char kernel[] = ".version 8.0\n.target sm_90, debug\n.address_size 64\n"
                             ".visible .entry k(.param .u64 p)\n{\n"
                             ".reg .u64 %%p, %%c; .reg .u32 %%r, %%z;\n"
                             ".shared .align 16 .b8 s[16];\n"
                             "ld.param.u64 %%p, [p];\nmov.u32 %%z, 0;\n"
                             "ld.global.u32 %%r, [%%p];\n"
                             "%s\n" /* accesses %p */
                             "ld.global.u32 %%r, [%%p];\n"
                             "add.u64 %%p, %%p, 4096;\n"
                             "%s\n"
                             "ld.global.u32 %%r, [%%p+96];\n"
                             "ret;\n}\n";

/* As measured on an H200 (docs/results/h200/hints.md). */
static const char described[] =
    "\"l1\": {\"access_variants\": [\"ld.ca\", \"ld.cg\", \"ld.cv\", \"ld.volatile\", "
    "\"ld.relaxed\", \"ld.nc\", \"ld.L1::no_allocate\", \"ld.L1::evict_last\", \"st.cg\", "
    "\"st.L1::no_allocate\", \"cp.async.cg\"], "
    "\"access_fill_bytes\": [32, 0, 0, 0, 0, 32, 0, 32, 32, 0, 0], "
    "\"access_keeps\": [\"yes\", \"no\", \"no\", \"no\", \"no\", \"yes\", \"yes\", \"yes\", "
    "\"yes\", \"yes\", \"no\"]}, "
    "\"l2\": {\"access_variants\": [\"ld.ca\", \"ld.cg\", \"ld.L2::64B\", \"ld.L2::128B\", "
    "\"ld.L2::256B\"], "
    "\"access_fill_bytes\": [64, 64, 64, 128, 128]}";

static struct fth_model_params *make_params(const char *elements)
{
    char text[2048];
    struct fth_gpu *gpu = NULL;
    struct fth_model_params *params = NULL;
    struct fth_error error = NO_ERROR;
    const int size = snprintf(text, sizeof text,
                              "{\"schema\": \"fathom-gpu/1\", \"device\": {\"name\": \"x\", "
                              "\"sms\": 1}, \"elements\": {%s}}",
                              elements);
    if (fth_gpu_read_text("test", text, (size_t)size, NULL, &gpu, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    assert_int_equal(fth_model_params_create(gpu, &params, NULL), FTH_OK);
    fth_gpu_destroy(gpu);
    /* No reads that merge with a miss in flight. */
    assert_int_equal(fth_model_set(params, "l1.latency", "1", NULL), FTH_OK);
    assert_int_equal(fth_model_set(params, "l2.latency", "1", NULL), FTH_OK);
    return params;
}

static struct fth_trace *make_trace(const char *access)
{
    static const char launch[] =
        "{\"schema\": \"fathom-launch/1\", \"ptx\": \"k.ptx\", \"buffers\": {\"p\": "
        "\"u32[2048]\"}, \"launches\": [{\"grid\": 1, \"block\": 1, \"args\": [\"p\"]}]}";
    char text[4096];
    struct fth_trace *trace = NULL;
    struct fth_error error = NO_ERROR;
    const int size = snprintf(text, sizeof text, kernel, access, access);
    write_plain("k.ptx", text, (size_t)size);
    write_plain("k.json", launch, strlen(launch));
    if (fth_trace_obtain("k.json", NULL, &trace, &error) != FTH_OK)
        fail_msg("%s: %s %s", access, error.argument, error.cause);
    return trace;
}

static const struct {
    const char *access;
    /* With the lists, and without them: read sectors that hit in the L1, that reach the L2, and
     * that hit there. */
    unsigned with[3], without[3];
} rows[] = {
    /* The second and the third access hit; the last one misses in both caches. */
    {"ld.global.u32 %r, [%p];", {2, 3, 0}, {2, 3, 0}},
    {"ld.global.ca.u32 %r, [%p];", {2, 3, 0}, {2, 3, 0}},
    {"ld.global.nc.u32 %r, [%p];", {2, 3, 0}, {2, 3, 0}},
    {"ld.global.L1::evict_last.u32 %r, [%p];", {2, 3, 0}, {2, 3, 0}},
    /* Past the L1, which drops the line; without the lists, it keeps the line. */
    {"ld.global.cg.u32 %r, [%p];", {0, 5, 2}, {1, 4, 1}},
    {"ld.global.cv.u32 %r, [%p];", {0, 5, 2}, {1, 4, 1}},
    {"ld.volatile.global.u32 %r, [%p];", {0, 5, 2}, {1, 4, 1}},
    {"cp.async.cg.shared.global [s], [%p], 16;", {0, 5, 2}, {1, 4, 1}},
    /* The same; without the lists, it is a plain load. */
    {"ld.relaxed.gpu.global.u32 %r, [%p];", {0, 5, 2}, {2, 3, 0}},
    {"ld.acquire.gpu.global.u32 %r, [%p];", {0, 5, 2}, {2, 3, 0}},
    /* It finds the line. */
    {"ld.global.L1::no_allocate.u32 %r, [%p];", {2, 3, 0}, {2, 3, 0}},
    /* With .L2::128B and .L2::256B, the L2 fills the line, so that the last load hits there. */
    {"ld.global.L2::64B.u32 %r, [%p];", {2, 3, 0}, {2, 3, 0}},
    {"ld.global.L2::128B.u32 %r, [%p];", {2, 3, 1}, {2, 3, 0}},
    {"ld.global.L2::256B.u32 %r, [%p];", {2, 3, 1}, {2, 3, 0}},
    {"cp.async.ca.shared.global.L2::128B [s], [%p], 4;", {2, 3, 1}, {2, 3, 0}},
    {"ld.global.nc.L1::no_allocate.L2::128B.u32 %r, [%p];", {2, 3, 1}, {2, 3, 0}},
    /* Stores: the third access hits where the L1 keeps what was written. */
    {"st.global.u32 [%p], %z;", {1, 2, 0}, {1, 2, 0}},
    {"st.global.cg.u32 [%p], %z;", {1, 2, 0}, {0, 3, 1}},
    {"st.global.L1::no_allocate.u32 [%p], %z;", {1, 2, 0}, {1, 2, 0}},
};

/* A store that does not allocate leaves nothing that a load of the written word could hit. */
static void a_store_without_allocation_leaves_nothing(void **state)
{
    (void)state;
    for (int lists = 0; lists < 2; lists++) {
        struct fth_model_params *params = make_params(lists ? described : "\"l1\": {}");
        struct fth_trace *trace = make_trace("st.global.L1::no_allocate.u32 [%p+2048], %z;\n"
                                             "ld.global.u32 %r, [%p+2048];");
        struct fth_model_result *result = NULL;
        assert_int_equal(fth_model_run(trace, params, NULL, &result, NULL), FTH_OK);
        const struct fth_model_row *row = fth_model_row(result, 0);
        /* The second plain load of the first word, and without the lists each load of a word that
         * was written. */
        assert_int_equal(row->l1.hits[FTH_TRACE_READ], lists ? 1 : 3);
        assert_int_equal(row->l2.sectors[FTH_TRACE_WRITE], 2);
        fth_model_result_destroy(result);
        fth_trace_close(trace);
        fth_model_params_destroy(params);
    }
}

/* After a load that does not allocate, the same load misses again. */
static void a_miss_without_allocation_leaves_nothing(void **state)
{
    (void)state;
    struct fth_model_params *params = make_params(described);
    struct fth_trace *trace = make_trace("ld.global.L1::no_allocate.u32 %r, [%p+2048];\n"
                                         "ld.global.L1::no_allocate.u32 %r, [%p+2048];");
    struct fth_model_result *result = NULL;
    assert_int_equal(fth_model_run(trace, params, NULL, &result, NULL), FTH_OK);
    const struct fth_model_row *row = fth_model_row(result, 0);
    assert_int_equal(row->l1.hits[FTH_TRACE_READ], 1); /* the second plain load */
    assert_int_equal(row->l2.sectors[FTH_TRACE_READ], 6);
    assert_int_equal(row->l2.hits[FTH_TRACE_READ], 2);
    fth_model_result_destroy(result);
    fth_trace_close(trace);
    fth_model_params_destroy(params);
}

static void each_variant_has_its_effect(void **state)
{
    (void)state;
    struct fth_model_params *with = make_params(described);
    struct fth_model_params *without = make_params("\"l1\": {}, \"l2\": {}");
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_trace *trace = make_trace(rows[i].access);
        for (int lists = 0; lists < 2; lists++) {
            struct fth_model_result *result = NULL;
            struct fth_error error = NO_ERROR;
            if (fth_model_run(trace, lists ? with : without, NULL, &result, &error) != FTH_OK)
                fail_msg("%s", error.cause);
            const struct fth_model_row *row = fth_model_row(result, 0);
            const unsigned found[] = {(unsigned)row->l1.hits[FTH_TRACE_READ],
                                      (unsigned)row->l2.sectors[FTH_TRACE_READ],
                                      (unsigned)row->l2.hits[FTH_TRACE_READ]};
            if (memcmp(found, lists ? rows[i].with : rows[i].without, sizeof found) != 0)
                fail_msg("%s, %s lists: %u hits, %u sectors, %u hits of the L2", rows[i].access,
                         lists ? "with" : "without", found[0], found[1], found[2]);
            fth_model_result_destroy(result);
        }
        fth_trace_close(trace);
    }
    fth_model_params_destroy(with);
    fth_model_params_destroy(without);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_variant_has_its_effect),
                                       cmocka_unit_test(a_store_without_allocation_leaves_nothing),
                                       cmocka_unit_test(a_miss_without_allocation_leaves_nothing)};
    return cmocka_run_group_tests_name("model variants", tests, enter_folder, leave_folder);
}
