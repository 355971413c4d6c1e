/* Accesses to local memory: from the PTX through the trace to the models with and without time. The
 * kernels are those of the section "Local memory" of docs/results/counting-rules.md, with fewer
 * blocks, and the expected values follow from the rules there. */
#include "check.h"
#include "folder.h"
#include "model/model.h"

#include <stdio.h>
#include <stdlib.h>

/* The body accesses the local array `v` of 64 words at the address %a, which depends on a register,
 * so that the array is not in registers. %t is the number of the thread. */
static const char kernel[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
                             ".visible .entry k(.param .u64 p)\n{\n"
                             ".local .align 16 .b8 v[256];\n"
                             ".reg .u64 %%a, %%b, %%o; .reg .u32 %%r, %%t, %%z; .reg .pred %%q;\n"
                             "mov.u32 %%t, %%tid.x;\nmov.u32 %%z, %%ctaid.y;\nmov.u64 %%b, v;\n"
                             "mul.wide.u32 %%o, %%z, 4;\nadd.u64 %%a, %%b, %%o;\n"
                             "%s\nret;\n}\n";

static struct fth_trace *make_trace(const char *body, unsigned blocks, unsigned threads)
{
    char text[4096], launch[512];
    struct fth_trace *trace = NULL;
    struct fth_error error = NO_ERROR;
    int size = snprintf(text, sizeof text, kernel, body);
    write_plain("k.ptx", text, (size_t)size);
    size = snprintf(launch, sizeof launch,
                    "{\"schema\": \"fathom-launch/1\", \"ptx\": \"k.ptx\", \"buffers\": {\"p\": "
                    "\"u32[64]\"}, \"launches\": [{\"grid\": %u, \"block\": %u, \"args\": "
                    "[\"p\"]}]}",
                    blocks, threads);
    write_plain("k.json", launch, (size_t)size);
    if (fth_trace_obtain("k.json", NULL, &trace, &error) != FTH_OK)
        fail_msg("%s: %s %s", body, error.argument, error.cause);
    return trace;
}

/* One SM with one resident block. `timed`: with time. */
static struct fth_model_params *make_params(bool timed)
{
    static const char *const settings[][2] = {{"gpu.sms", "1"},
                                              {"gpu.max_blocks", "1"},
                                              {"l1.size_bytes", "64K"},
                                              {"l1.latency", "1"},
                                              {"l2.latency", "1"},
                                              {"gpu.clock_hz", "1000000000"},
                                              {"gpu.timing", "on"},
                                              {"l1.latency_cycles", "30"},
                                              {"l2.latency_cycles", "200"},
                                              {"memory.latency_cycles", "500"},
                                              {"l1.bytes_per_s", "1e13"},
                                              {"l2.bytes_per_s", "1e13"},
                                              {"memory.bytes_per_s", "1e12"}};
    struct fth_model_params *params = NULL;
    struct fth_error error = NO_ERROR;
    assert_int_equal(fth_model_params_create(NULL, &params, NULL), FTH_OK);
    for (size_t i = 0; i < FTH_COUNT(settings); i++) {
        const bool untimed = i == 3 || i == 4; /* steps, which only the model without time has */
        if (i == 6 ? !timed : untimed && timed)
            continue;
        if (fth_model_set(params, settings[i][0], settings[i][1], &error) != FTH_OK)
            fail_msg("%s: %s", settings[i][0], error.cause);
    }
    if (!timed)
        assert_int_equal(fth_model_set(params, "gpu.timing", "off", NULL), FTH_OK);
    return params;
}

static const struct {
    const char *body;
    unsigned blocks, threads;
    /* Accesses of warps to local memory, their sectors in the L1, reads that hit there, reads that
     * reach the L2, and writes that do. */
    unsigned requests, sectors, hits, reads, writes;
} rows[] = {
    /* written, then read twice */
    {"st.local.u32 [%a], %t; ld.local.u32 %r, [%a]; ld.local.u32 %r, [%a];", 1, 32, 3, 12, 8, 0, 4},
    /* only read */
    {"ld.local.u32 %r, [%a]; ld.local.u32 %r, [%a];", 1, 32, 2, 8, 4, 4, 0},
    /* written four times: the words are different lines, so that stores do not merge */
    {"st.local.u32 [%a], %t; st.local.u32 [%a+4], %t; st.local.u32 [%a], %t;"
     "st.local.u32 [%a+4], %t;",
     1, 32, 4, 16, 0, 0, 16},
    /* a vector of four words: four requests */
    {"st.local.v4.u32 [%a], {%t, %t, %t, %t}; ld.local.u32 %r, [%a+12];", 1, 32, 2, 20, 4, 0, 16},
    /* the word depends on the lane: one line per lane */
    {"mul.wide.u32 %o, %t, 4; add.u64 %a, %b, %o; st.local.u32 [%a], %t; ld.local.u32 %r, [%a];", 1,
     32, 2, 64, 32, 0, 32},
    /* bytes share their word, and the L1 does not keep them when they are stored */
    {"st.local.u8 [%a], %t; ld.local.u8 %r, [%a]; ld.local.u8 %r, [%a+3];", 1, 32, 3, 12, 4, 4, 4},
    /* two words per lane */
    {"st.local.v2.u32 [%a], {%t, %t}; ld.local.v2.u32 {%r, %z}, [%a];", 1, 32, 2, 16, 8, 0, 8},
    /* a part of a warp */
    {"st.local.u32 [%a], %t; ld.local.u32 %r, [%a];", 1, 4, 2, 2, 1, 0, 1},
    /* each warp has its own memory */
    {"ld.local.u32 %r, [%a]; ld.local.u32 %r, [%a];", 1, 64, 4, 16, 8, 8, 0},
    /* the second block uses the memory of the first one, which is in the L1 */
    {"ld.local.u32 %r, [%a];", 2, 32, 2, 8, 4, 4, 0},
    /* all accesses are traced if one position is unknown: %a is computed, but not used */
    {"st.local.u32 [%b], %t; ld.local.u32 %r, [%b];", 1, 32, 2, 8, 4, 0, 4},
};

static void check_row(size_t i, bool timed, const struct fth_trace *trace)
{
    struct fth_model_params *params = make_params(timed);
    struct fth_model_result *result = NULL;
    struct fth_error error = NO_ERROR;
    if (fth_model_run(trace, params, NULL, &result, &error) != FTH_OK)
        fail_msg("%s: %s", error.argument, error.cause);
    const struct fth_model_row *row = fth_model_row(result, 0);
    const unsigned found[] = {
        (unsigned)(row->local_warps[0] + row->local_warps[1]),
        (unsigned)(row->local.sectors[FTH_TRACE_READ] + row->local.sectors[FTH_TRACE_WRITE]),
        (unsigned)row->local.hits[FTH_TRACE_READ], (unsigned)row->l2.sectors[FTH_TRACE_READ],
        (unsigned)row->l2.sectors[FTH_TRACE_WRITE]};
    if (memcmp(found, &rows[i].requests, sizeof found) != 0)
        fail_msg("%s, %s time: %u requests, %u sectors, %u hits, %u reads, %u writes of the L2",
                 rows[i].body, timed ? "with" : "without", found[0], found[1], found[2], found[3],
                 found[4]);
    /* The kernels access nothing else. */
    assert_memory_equal(&row->local, &row->l1, sizeof row->l1);
    fth_model_result_destroy(result);
    fth_model_params_destroy(params);
}

static void local_memory_passes_the_caches(void **state)
{
    (void)state;
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_trace *trace = make_trace(rows[i].body, rows[i].blocks, rows[i].threads);
        check_row(i, false, trace);
        check_row(i, true, trace);
        fth_trace_close(trace);
    }
}

/* What the trace has of them. */
static void traces_have_local_memory(void **state)
{
    (void)state;
    struct fth_trace *trace =
        make_trace("st.local.v4.u32 [%a+48], {%t, %t, %t, %t}; ld.local.u8 %r, [%a+5];", 1, 64);
    const struct fth_trace_launch *launch = fth_trace_launch_at(trace, 0);
    assert_int_equal(launch->local, 4);
    assert_int_equal(launch->accesses, 4);
    assert_int_equal(launch->local_bytes, 64);
    struct fth_trace_cursor *cursor = NULL;
    const struct fth_trace_access *access = NULL;
    assert_int_equal(fth_trace_cursor_open(trace, 0, 0, UINT64_MAX, &cursor, NULL), FTH_OK);
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(fth_trace_next(cursor, &access, NULL), FTH_OK);
        const struct fth_trace_instruction *instruction =
            fth_trace_instruction_at(trace, access->instruction);
        assert_true(instruction->hints & FTH_TRACE_LOCAL);
        assert_int_equal(access->warp, i % 2);
        for (uint32_t lane = 0; lane < 32; lane++)
            assert_int_equal(access->addresses[lane],
                             i < 2 ? 12 * 128 + 4 * lane : 128 + 4 * lane + 1);
    }
    fth_trace_cursor_close(cursor);
    struct fth_trace_stats *stats = NULL;
    assert_int_equal(fth_trace_stats_create(trace, NULL, &stats, NULL), FTH_OK);
    const struct fth_trace_row *row = fth_trace_stats_row(stats, 0);
    assert_int_equal(row->requests[0] + row->requests[1], 0);
    assert_int_equal(row->footprint_all_bytes, 0);
    assert_int_equal(row->local_requests[FTH_TRACE_WRITE], 2);
    assert_int_equal(row->local_sectors[FTH_TRACE_WRITE], 32);
    assert_int_equal(row->local_requests[FTH_TRACE_READ], 2);
    assert_int_equal(row->local_sectors[FTH_TRACE_READ], 8);
    row = fth_trace_stats_row(stats, 1);
    assert_int_equal(row->sectors[FTH_TRACE_WRITE], 32);
    assert_int_equal(row->lines[FTH_TRACE_WRITE], 8);
    assert_int_equal(row->footprint_all_bytes, 512);
    fth_trace_stats_destroy(stats);
    fth_trace_close(trace);
}

/* Variables in registers are no accesses. */
static void traces_leave_out_registers(void **state)
{
    (void)state;
    static const char text[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
                               ".visible .entry k(.param .u64 p)\n{\n"
                               ".local .align 16 .b8 v[256];\n.reg .u32 %r;\n"
                               "mov.u32 %r, 0;\nst.local.u32 [v], %r;\nld.local.u32 %r, [v];\n"
                               "ret;\n}\n";
    struct fth_trace *trace = make_trace("", 1, 32);
    fth_trace_close(trace);
    write_plain("k.ptx", text, sizeof text - 1);
    assert_int_equal(fth_trace_obtain("k.json", NULL, &trace, NULL), FTH_OK);
    assert_int_equal(fth_trace_launch_at(trace, 0)->local, 0);
    assert_int_equal(fth_trace_launch_at(trace, 0)->accesses, 0);
    assert_int_equal(fth_trace_launch_at(trace, 0)->local_bytes, 0);
    fth_trace_close(trace);
}

/* Where the local memory of the warps is, in units of 32 bytes after its start. The first two rows
 * with a stack are the layouts that an H200 has without a profiler and under ncu. */
static void warps_have_places_in_local_memory(void **state)
{
    (void)state;
    static const struct {
        const char *stack, *reserved;
        uint64_t bytes;
        uint64_t first, next_warp, next_block, next_sm;
    } layouts[] = {{"0", "0", 64, 0, 64, 128, 256},
                   {"0", "576", 64, 0, 64, 128, 256},
                   {"1024", "576", 128, 896, 1600, 3200, 102400},
                   {"1024", "1104", 256, 768, 2128, 4256, 136192},
                   {"1024", "576", 4096, 0, 4672, 9344, 299008}};
    for (size_t i = 0; i < FTH_COUNT(layouts); i++) {
        struct fth_model_params *params = make_params(false);
        struct fth_setting setting;
        const struct fth_trace_launch launch = {.kernel = "k",
                                                .grid = {8, 1, 1},
                                                .block = {64, 1, 1},
                                                .shared_bytes = UINT64_MAX,
                                                .local_bytes = layouts[i].bytes};
        const uint64_t start = UINT64_C(1) << 60;
        assert_int_equal(fth_model_set(params, "gpu.max_blocks", "2", NULL), FTH_OK);
        assert_int_equal(fth_model_set(params, "gpu.local_stack_bytes", layouts[i].stack, NULL),
                         FTH_OK);
        assert_int_equal(
            fth_model_set(params, "gpu.local_reserved_bytes", layouts[i].reserved, NULL), FTH_OK);
        assert_int_equal(fth_model_setting(params, &launch, &setting, NULL), FTH_OK);
        const uint64_t first = fth_local_address(&setting, 0, 0, 0);
        assert_int_equal(first, start + 32 * layouts[i].first);
        assert_int_equal(fth_local_address(&setting, 0, 0, 1) - first, 32 * layouts[i].next_warp);
        assert_int_equal(fth_local_address(&setting, 0, 1, 0) - first, 32 * layouts[i].next_block);
        assert_int_equal(fth_local_address(&setting, 1, 0, 0) - first, 32 * layouts[i].next_sm);
        fth_model_params_destroy(params);
    }
}

/* Warps whose arrays fit into the L1 evict each other's lines if their distance is a multiple of
 * the size of its ways, and only then. */
static void the_layout_decides_which_lines_collide(void **state)
{
    (void)state;
    struct fth_trace *trace =
        make_trace("st.local.u32 [%a], %t; bar.sync 0; ld.local.u32 %r, [%a];", 1, 32 * 8);
    for (unsigned timed = 0; timed < 2; timed++)
        for (unsigned apart = 0; apart < 2; apart++) {
            struct fth_model_params *params = make_params(timed);
            struct fth_model_result *result = NULL;
            assert_int_equal(fth_model_set(params, "l1.index", "mod", NULL), FTH_OK);
            assert_int_equal(fth_model_set(params, "l1.sets", "128", NULL), FTH_OK);
            assert_int_equal(fth_model_set(params, "l1.ways", "4", NULL), FTH_OK);
            assert_int_equal(fth_model_set(params, "gpu.local_stack_bytes", "1024", NULL), FTH_OK);
            if (apart)
                assert_int_equal(fth_model_set(params, "gpu.local_reserved_bytes", "4", NULL),
                                 FTH_OK);
            assert_int_equal(fth_model_run(trace, params, NULL, &result, NULL), FTH_OK);
            const struct fth_model_row *row = fth_model_row(result, 0);
            const uint64_t hits = row->local.hits[FTH_TRACE_READ];
            if (apart ? hits != 32 : hits >= 32)
                fail_msg("%s time, %s: %u hits", timed ? "with" : "without",
                         apart ? "apart" : "in the same set", (unsigned)hits);
            fth_model_result_destroy(result);
            fth_model_params_destroy(params);
        }
    fth_trace_close(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(local_memory_passes_the_caches),
                                       cmocka_unit_test(warps_have_places_in_local_memory),
                                       cmocka_unit_test(the_layout_decides_which_lines_collide),
                                       cmocka_unit_test(traces_have_local_memory),
                                       cmocka_unit_test(traces_leave_out_registers)};
    return cmocka_run_group_tests_name("model local", tests, enter_folder, leave_folder);
}
