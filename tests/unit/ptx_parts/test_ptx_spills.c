/* Tests of ptx/spill/: which registers a kernel needs, and the accesses to local memory that are
 * added to kernels which need more than they have. tests/assemble/spills compares the estimate with
 * ptxas; these tests need no assembler. */
#include "check.h"
#include "folder.h"
#include "ptx/spill/spill.h"
#include "trace/launch/launch.h"
#include "trace/trace.h"

#include <stdio.h>
#include <stdlib.h>

static struct fth_ptx_module *read_text(const struct fth_buffer *text)
{
    struct fth_error error = FTH_NO_ERROR;
    struct fth_ptx_module *module;
    assert_false(text->failed);
    if (fth_ptx_read_text("test.ptx", (const char *)text->data, text->size, &module, &error) !=
        FTH_OK)
        fail_msg("%s", error.cause);
    return module;
}

static void begin(struct fth_buffer *text, const char *directives)
{
    fth_buffer_format(text,
                      ".version 8.4\n.target sm_90\n.address_size 64\n"
                      ".visible .entry k(.param .u64 p, .param .u32 n) %s {\n"
                      ".reg .pred %%p<4>; .reg .b32 %%r<200>; .reg .b64 %%rd<200>;\n"
                      "ld.param.u64 %%rd1, [p]; mov.u32 %%r1, %%tid.x;\n"
                      "mul.wide.u32 %%rd2, %%r1, 4; add.s64 %%rd3, %%rd1, %%rd2;\n",
                      directives);
}

/* A kernel that loads `count` words, computes with all of them in a loop, and stores them. */
static void write_loop(struct fth_buffer *text, unsigned count, const char *directives)
{
    begin(text, directives);
    for (unsigned i = 0; i < count; i++)
        fth_buffer_format(text, "ld.global.u32 %%r%u, [%%rd3+%u];\n", 10 + i, 128 * i);
    fth_buffer_text(text, "ld.param.u32 %r2, [n]; mov.u32 %r3, 0;\nloop:\n");
    for (unsigned i = 0; i < count; i++)
        fth_buffer_format(text, "mad.lo.u32 %%r%u, %%r%u, %%r%u, %%r3;\n", 10 + i, 10 + i,
                          10 + (i + 1) % count);
    fth_buffer_text(text, "add.u32 %r3, %r3, 1; setp.lt.u32 %p1, %r3, %r2; @%p1 bra loop;\n");
    for (unsigned i = 0; i < count; i++)
        fth_buffer_format(text, "st.global.u32 [%%rd3+%u], %%r%u;\n", 128 * i, 10 + i);
    fth_buffer_text(text, "ret; }\n");
}

static struct fth_spill_result estimate(struct fth_buffer *text, uint32_t limit)
{
    struct fth_ptx_module *module = read_text(text);
    struct fth_spill_result result;
    assert_true(fth_spill_kernel(module, &module->functions[0], limit, false, &result));
    fth_ptx_destroy(module);
    fth_buffer_fini(text);
    return result;
}

static void directives_limit_the_registers(void **state)
{
    (void)state;
    static const struct {
        const char *directives;
        uint32_t limit;
    } rows[] = {
        {"", 255},
        {".maxnreg 40", 40},
        {".maxnreg 16", 24}, /* ptxas uses 24 */
        {".maxntid 1024", 64},
        {".maxntid 1024, 1, 1 .minnctapersm 2", 32},
        {".reqntid 16, 16, 1 .minnctapersm 2", 128},
        {".maxntid 256 .minnctapersm 3", 80}, /* 85.3, in units of 8 */
        {".maxntid 32", 255},
        {".maxntid 100 .minnctapersm 16", 32}, /* four warps */
        {".minnctapersm 2", 255},
        {".maxntid 512 .maxnreg 48", 48},
    };
    for (size_t i = 0; i < FTH_COUNT(rows); i++) {
        struct fth_buffer text = {0};
        write_loop(&text, 2, rows[i].directives);
        const uint32_t limit = estimate(&text, 0).limit;
        if (limit != rows[i].limit)
            fail_msg("%u registers for '%s'", limit, rows[i].directives);
    }
}

/* The loop needs its values, the counter, the thread index from which addresses are computed, and a
 * register for the first value, which is overwritten before its last use. */
static void counts_the_live_values(void **state)
{
    (void)state;
    for (unsigned count = 8; count <= 64; count *= 2) {
        struct fth_buffer text = {0};
        write_loop(&text, count, "");
        const struct fth_spill_result result = estimate(&text, 0);
        assert_in_range(result.written, count + 2, count + 4);
        assert_int_equal(result.stores + result.loads, 0);
    }
}

static void kernels_that_fit_do_not_change(void **state)
{
    (void)state;
    for (uint32_t limit = 24; limit <= 64; limit++) {
        struct fth_buffer text = {0};
        write_loop(&text, 32, "");
        const struct fth_spill_result result = estimate(&text, limit);
        assert_int_equal(result.stores > 0, result.scheduled > limit);
        assert_int_equal(result.loads > 0, result.scheduled > limit);
    }
}

/* Constants, parameters and sums of them are computed again. */
static void cheap_values_need_no_register(void **state)
{
    (void)state;
    struct fth_buffer text = {0};
    begin(&text, "");
    for (unsigned i = 0; i < 40; i++)
        fth_buffer_format(&text, "mov.u32 %%r%u, %u; add.s64 %%rd%u, %%rd2, %u;\n", 10 + i, i,
                          10 + i, 4096 * i);
    fth_buffer_text(&text, "ld.param.u32 %r2, [n]; add.u32 %r3, %r2, 7; mov.u32 %r4, %ctaid.x;\n");
    for (unsigned i = 0; i < 40; i++)
        fth_buffer_format(&text, "add.u32 %%r5, %%r%u, %%r3; st.global.u32 [%%rd%u], %%r5;\n",
                          10 + i, 10 + i);
    fth_buffer_text(&text, "st.global.u32 [%rd3], %r4; ret; }\n");
    assert_in_range(estimate(&text, 24).written, 1, 8);
}

/* All loads come first in the text, but each value is only needed at its store. */
static void loads_move_to_their_uses(void **state)
{
    (void)state;
    struct fth_buffer text = {0};
    begin(&text, "");
    for (unsigned i = 0; i < 60; i++)
        fth_buffer_format(&text, "ld.global.nc.u32 %%r%u, [%%rd3+%u];\n", 10 + i, 128 * i);
    for (unsigned i = 0; i < 60; i++)
        fth_buffer_format(&text, "st.global.u32 [%%rd3+%u], %%r%u;\n", 128 * i, 10 + i);
    fth_buffer_text(&text, "ret; }\n");
    const struct fth_spill_result result = estimate(&text, 24);
    assert_in_range(result.written, 60, 63);
    assert_in_range(result.scheduled, 2, 8);
    assert_int_equal(result.stores, 0);
}

/* Walks through the code of a loop as often as a thread does, and checks that each place from which
 * a value is loaded was last written with this value. */
static void check_code(const struct fth_ptx_function *function, uint32_t rounds)
{
    static int64_t places[4096];
    uint32_t stores = 0, loads = 0;
    for (size_t i = 0; i < FTH_COUNT(places); i++)
        places[i] = -1;
    for (uint32_t pc = 0, round = 0; pc < function->code_count; pc++) {
        const struct fth_ptx_inst *inst = &function->code[pc];
        const struct fth_ptx_operands *operands = inst->operands;
        assert_int_equal(inst->index, pc);
        if (inst->control == K_BRANCH && ++round < rounds)
            pc = inst->target - 1;
        if (!operands->is_spill)
            continue;
        assert_in_range(inst->offset, 0, FTH_COUNT(places) - 1);
        assert_true(operands->accesses);
        if (operands->read_count) {
            places[inst->offset] = operands->reads[0];
            stores++;
        } else {
            assert_int_equal(places[inst->offset], operands->writes[0]);
            loads++;
        }
    }
    assert_true(stores && loads);
}

static void loads_what_was_stored(void **state)
{
    (void)state;
    for (unsigned count = 40; count <= 120; count += 16) {
        struct fth_error error = FTH_NO_ERROR;
        struct fth_buffer text = {0};
        write_loop(&text, count, ".maxnreg 32");
        struct fth_ptx_module *module = read_text(&text);
        const uint64_t before =
            module->functions[0].costs[module->functions[0].code_count].instructions;
        assert_int_equal(fth_ptx_add_spills(module, &error), FTH_OK);
        const struct fth_ptx_function *function = &module->functions[0];
        const struct fth_ptx_kernel *kernel = &function->kernel;
        check_code(function, 3);
        assert_int_equal(function->costs[function->code_count].instructions - before,
                         kernel->spill_stores + kernel->spill_loads);
        assert_int_equal(kernel->register_limit, 32);
        assert_in_range(kernel->spill_bytes, 4 * (count - 32), 4 * (count + 3));
        fth_ptx_destroy(module);
        fth_buffer_fini(&text);
    }
}

/* The results of a kernel in full, with or without spills; the caller frees them. */
static uint32_t *run_kernel(bool spills, unsigned count)
{
    struct fth_error error = FTH_NO_ERROR;
    struct fth_buffer text = {0};
    struct fth_ptx_machine *machine;
    uint64_t address;
    const uint64_t bytes = 128 * (uint64_t)count;
    write_loop(&text, count, ".maxnreg 32");
    struct fth_ptx_module *module = read_text(&text);
    if (spills)
        assert_int_equal(fth_ptx_add_spills(module, &error), FTH_OK);
    assert_int_equal(fth_ptx_machine_create(module, &machine, &error), FTH_OK);
    assert_int_equal(fth_ptx_alloc(machine, bytes, &address, &error), FTH_OK);
    uint32_t *words = fth_ptx_host(machine, address, bytes);
    for (uint32_t i = 0; i < bytes / 4; i++)
        words[i] = i * 2654435761u;
    struct {
        uint64_t p;
        uint32_t n;
    } arguments = {address, 5};
    const struct fth_ptx_launch launch = {.kernel = "k",
                                          .grid = {1, 1, 1},
                                          .block = {32, 1, 1},
                                          .arguments = &arguments,
                                          .argument_bytes = 12};
    struct fth_ptx_totals totals;
    assert_int_equal(fth_ptx_run(machine, &launch, &totals, &error), FTH_OK);
    uint32_t *results = malloc(bytes);
    assert_non_null(results);
    memcpy(results, words, bytes);
    fth_ptx_machine_destroy(machine);
    fth_ptx_destroy(module);
    fth_buffer_fini(&text);
    return results;
}

static void results_do_not_change(void **state)
{
    (void)state;
    uint32_t *plain = run_kernel(false, 60), *spilled = run_kernel(true, 60);
    assert_memory_equal(plain, spilled, (size_t)60 * 128);
    free(plain);
    free(spilled);
}

/* Counts the accesses of a trace to spilled registers, and all of them. */
static void count_trace(bool no_spills, bool skip_data, uint64_t counts[3])
{
    struct fth_error error = FTH_NO_ERROR;
    struct fth_buffer text = {0};
    struct fth_launch *launch;
    struct fth_trace_writer *writer;
    struct fth_trace *trace;
    struct fth_trace_cursor *cursor;
    const struct fth_trace_access *access;
    const char *const arguments[] = {"ptr:u32[32*60]", "i32:5"};
    const struct fth_launch_options options =
        FTH_LAUNCH_OPTIONS(.arguments = arguments, .argument_count = 2, .no_spills = no_spills);
    const struct fth_run_options run = FTH_RUN_OPTIONS(.threads = 1);
    write_loop(&text, 60, ".maxnreg 32");
    write_plain("k.ptx", (const char *)text.data, text.size);
    fth_buffer_fini(&text);
    assert_int_equal(fth_launch_open("k.ptx", &options, &launch, &error), FTH_OK);
    assert_int_equal(fth_trace_writer_create("k.trace", &writer, &error), FTH_OK);
    assert_int_equal(fth_launch_trace_to(launch, writer, skip_data, &run, NULL, &error), FTH_OK);
    fth_launch_destroy(launch);
    assert_int_equal(fth_trace_open("k.trace", &trace, &error), FTH_OK);
    assert_int_equal(fth_trace_cursor_open(trace, 0, 0, UINT64_MAX, &cursor, &error), FTH_OK);
    memset(counts, 0, 3 * sizeof *counts);
    while (fth_trace_next(cursor, &access, &error) == FTH_OK && access) {
        const struct fth_trace_instruction *instruction =
            fth_trace_instruction_at(trace, access->instruction);
        const bool is_spill = instruction->hints & FTH_TRACE_SPILL;
        assert_int_equal(is_spill, (instruction->hints & FTH_TRACE_LOCAL) != 0);
        counts[is_spill ? instruction->kind == FTH_TRACE_WRITE : 2]++;
    }
    assert_int_equal(fth_trace_launch_at(trace, 0)->local_bytes > 0, !no_spills);
    fth_trace_cursor_close(cursor);
    fth_trace_close(trace);
}

static void traces_have_the_accesses(void **state)
{
    (void)state;
    uint64_t full[3], sliced[3], without[3];
    count_trace(false, false, full);
    count_trace(false, true, sliced);
    count_trace(true, true, without);
    assert_memory_equal(full, sliced, sizeof full);
    assert_true(full[0] > 140 && full[1] > 140);
    assert_int_equal(without[0] + without[1], 0);
    assert_int_equal(without[2], 2 * 60);
    assert_int_equal(full[2], 2 * 60);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(directives_limit_the_registers),
        cmocka_unit_test(counts_the_live_values),
        cmocka_unit_test(kernels_that_fit_do_not_change),
        cmocka_unit_test(cheap_values_need_no_register),
        cmocka_unit_test(loads_move_to_their_uses),
        cmocka_unit_test(loads_what_was_stored),
        cmocka_unit_test(results_do_not_change),
        cmocka_unit_test(traces_have_the_accesses),
    };
    return cmocka_run_group_tests_name("spills", tests, enter_folder, leave_folder);
}
