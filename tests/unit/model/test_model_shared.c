/* Accesses to shared memory in the results of the models with and without time, with several orders
 * and with samples: they are those of the trace, in the rows of kernels, launches and instructions.
 */
#include "check.h"
#include "folder.h"
#include "model/model.h"

#include <stdio.h>

/* `store` writes a word per lane without conflicts, `load` reads words that are 32 words apart.
 * Each block has two warps. */
static const char text[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n.shared .b32 s[1024];\n"
    ".visible .entry both(.param .u64 p)\n{\n.reg .u64 %a; .reg .u32 %r<9>;\n"
    "ld.param.u64 %a, [p]; mov.u32 %r1, %tid.x; and.b32 %r1, %r1, 31; mov.u32 %r2, s;\n"
    "shl.b32 %r3, %r1, 2; add.u32 %r3, %r3, %r2; shl.b32 %r4, %r1, 7; add.u32 %r4, %r4, %r2;\n"
    "ld.global.u32 %r5, [%a];\n"
    "st.shared.u32 [%r3], %r5;\n"
    "ld.shared.u32 %r6, [%r4];\n"
    "st.global.u32 [%a], %r6;\nret;\n}\n"
    ".visible .entry none(.param .u64 p)\n{\n.reg .u64 %a; .reg .u32 %r;\n"
    "ld.param.u64 %a, [p]; ld.global.u32 %r, [%a]; ret;\n}\n";
static const char launches[] =
    "{\"schema\": \"fathom-launch/1\", \"ptx\": \"k.ptx\", \"buffers\": {\"p\": \"u32[64]\"},"
    "\"launches\": [{\"kernel\": \"both\", \"grid\": 3, \"block\": 64, \"args\": [\"p\"]},"
    "{\"kernel\": \"none\", \"grid\": 1, \"block\": 64, \"args\": [\"p\"]},"
    "{\"kernel\": \"both\", \"grid\": 1, \"block\": 64, \"args\": [\"p\"]}]}";

static const char *const timings[] = {"off", "on"};

static struct fth_model_result *run(const struct fth_trace *trace, const char *timing,
                                    const struct fth_model_options *options)
{
    struct fth_model_params *params = NULL;
    struct fth_model_result *result = NULL;
    struct fth_error error = NO_ERROR;
    static const char *const settings[][2] = {{"gpu.sms", "2"},
                                              {"l1.size_bytes", "64K"},
                                              {"gpu.clock_hz", "1e9"},
                                              {"l1.latency_cycles", "30"},
                                              {"l2.latency_cycles", "200"},
                                              {"memory.latency_cycles", "500"},
                                              {"l1.bytes_per_s", "1e13"},
                                              {"l2.bytes_per_s", "1e13"},
                                              {"memory.bytes_per_s", "1e12"}};
    assert_int_equal(fth_model_params_create(NULL, &params, NULL), FTH_OK);
    for (size_t i = 0; i < FTH_COUNT(settings); i++)
        if (fth_model_set(params, settings[i][0], settings[i][1], &error) != FTH_OK)
            fail_msg("%s: %s", settings[i][0], error.cause);
    assert_int_equal(fth_model_set(params, "gpu.timing", timing, NULL), FTH_OK);
    if (fth_model_run(trace, params, options, &result, &error) != FTH_OK)
        fail_msg("%s", error.cause);
    fth_model_params_destroy(params);
    return result;
}

static void check(const struct fth_shared_counts *counts, uint64_t reads, uint64_t writes)
{
    assert_int_equal(counts->requests[FTH_TRACE_READ], reads);
    assert_int_equal(counts->requests[FTH_TRACE_WRITE], writes);
    assert_int_equal(counts->requests[FTH_TRACE_ATOMIC], 0);
    assert_int_equal(counts->wavefronts, 32 * reads + writes);
    assert_int_equal(counts->ideal_wavefronts, reads + writes);
    assert_int_equal(counts->padded_wavefronts, reads + writes);
}

/* Returns the number of rows of instructions that access shared memory. */
static size_t check_rows(const struct fth_model_result *result)
{
    size_t instructions = 0;
    const struct fth_model_row *row;
    for (size_t i = 0; (row = fth_model_row(result, i)); i++) {
        const bool both = strcmp(row->kernel, "both") == 0;
        if (row->instruction && row->instruction->hints & FTH_TRACE_SHARED) {
            const bool reads = row->instruction->kind == FTH_TRACE_READ;
            instructions++;
            assert_true(both);
            check(&row->shared, reads ? 8 : 0, reads ? 0 : 8);
            for (int kind = 0; kind < 3; kind++) {
                assert_int_equal(row->warps[kind], 0);
                assert_int_equal(row->l1.sectors[kind], 0);
                assert_int_equal(row->l2.sectors[kind], 0);
            }
        } else if (row->instruction || !both) {
            check(&row->shared, 0, 0);
        } else {
            const uint64_t count = row->launch == SIZE_MAX ? 8 : row->launch == 0 ? 6 : 2;
            check(&row->shared, count, count);
        }
    }
    return instructions;
}

static void results_have_the_counts_of_the_trace(void **state)
{
    struct fth_trace *trace = NULL;
    struct fth_error error = NO_ERROR;
    (void)state;
    write_plain("k.ptx", text, sizeof text - 1);
    write_plain("k.json", launches, sizeof launches - 1);
    if (fth_trace_obtain("k.json", NULL, &trace, &error) != FTH_OK)
        fail_msg("%s %s", error.argument, error.cause);
    for (size_t timed = 0; timed < 2; timed++) {
        const struct fth_model_options options[] = {
            FTH_MODEL_OPTIONS(.threads = 1), FTH_MODEL_OPTIONS(.threads = 2),
            FTH_MODEL_OPTIONS(.orders = 3), FTH_MODEL_OPTIONS(.sample = 2)};
        for (size_t i = 0; i < FTH_COUNT(options); i++) {
            if (options[i].sample && !timed)
                continue;
            struct fth_model_result *result = run(trace, timings[timed], &options[i]);
            assert_int_equal(check_rows(result), 2);
            fth_model_result_destroy(result);
        }
    }
    fth_trace_close(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(results_have_the_counts_of_the_trace)};
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
