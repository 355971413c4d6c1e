/* Tests of the counts of shared memory in traces: what the recorder counts, tables in files
 * (format/shared_tables.c), files without them, truncated files and hostile content. */
#include "check.h"
#include "ptx/ptx.h"
#include "trace/trace.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Each thread stores a word, loads a word 32 words away from that of its neighbour, adds to one of
 * two words and, in the first half of a warp, loads two words. */
static const char kernel[] =
    ".version 8.4\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 in)\n{\n"
    ".reg .pred %p<3>; .reg .b32 %r<9>; .reg .b64 %rd<9>; .shared .align 8 .b32 s[1024];\n"
    "ld.param.u64 %rd1, [in]; mov.u32 %r1, %tid.x; and.b32 %r1, %r1, 31; mov.u32 %r2, s;\n"
    "shl.b32 %r3, %r1, 2; add.u32 %r3, %r3, %r2; shl.b32 %r4, %r1, 7; add.u32 %r4, %r4, %r2;\n"
    "st.shared.u32 [%r3], %r1;\n"
    "ld.shared.u32 %r5, [%r4];\n"
    "and.b32 %r6, %r1, 1; shl.b32 %r6, %r6, 2; add.u32 %r6, %r6, %r2;\n"
    "red.shared.add.u32 [%r6], %r1;\n"
    "setp.ge.u32 %p1, %r1, 16; shl.b32 %r7, %r1, 3; add.u32 %r7, %r7, %r2;\n"
    "@!%p1 ld.shared.v2.u32 {%r5, %r8}, [%r7];\n"
    "st.global.u32 [%rd1], %r5; ret;\n}\n";

/* What a launch of three blocks with two warps each counts. */
static const struct {
    uint32_t line, bytes;
    enum fth_trace_access_kind kind;
    uint64_t requests, threads, wavefronts, ideal, padded;
} expected[] = {
    {9, 4, FTH_TRACE_WRITE, 6, 192, 6, 6, 6},
    {10, 4, FTH_TRACE_READ, 6, 192, 192, 6, 6},
    {12, 4, FTH_TRACE_ATOMIC, 6, 192, 96, 6, 96},
    {14, 8, FTH_TRACE_READ, 6, 96, 6, 6, 6},
};

/* Records two launches. Returns an open file with the trace. */
static int record(unsigned threads)
{
    struct fth_ptx_module *module = NULL;
    struct fth_ptx_machine *machine = NULL;
    struct fth_trace_writer *writer;
    struct fth_trace_recorder *recorder;
    struct fth_error error = NO_ERROR, engine_error = NO_ERROR;
    uint64_t buffer;
    int fd;
    const uint32_t grid[3] = {3, 1, 1}, block[3] = {64, 1, 1};
    assert_int_equal(fth_ptx_read_text("t", kernel, strlen(kernel), &module, &error), FTH_OK);
    assert_int_equal(fth_ptx_machine_create(module, &machine, &error), FTH_OK);
    assert_int_equal(fth_ptx_alloc(machine, 256, &buffer, &error), FTH_OK);
    assert_int_equal(fth_temporary_open(&fd, &error), FTH_OK);
    assert_int_equal(fth_trace_writer_attach(fd, "t", &writer, &error), FTH_OK);
    assert_int_equal(fth_trace_recorder_create(writer, &recorder, &error), FTH_OK);
    for (int launches = 0; launches < 2; launches++) {
        assert_int_equal(fth_trace_recorder_begin(recorder, "k", grid, block, NULL, &error),
                         FTH_OK);
        const struct fth_ptx_launch launch = {.kernel = "k",
                                              .grid = {3, 1, 1},
                                              .block = {64, 1, 1},
                                              .arguments = &buffer,
                                              .argument_bytes = sizeof buffer,
                                              .threads = threads,
                                              .observer = fth_trace_recorder_observer(recorder)};
        const enum fth_status status = fth_ptx_run(machine, &launch, NULL, &engine_error);
        assert_int_equal(fth_trace_recorder_end(recorder, status, 4096, &engine_error, &error),
                         FTH_OK);
    }
    fth_trace_recorder_destroy(recorder);
    assert_int_equal(fth_trace_writer_commit(writer, &error), FTH_OK);
    fth_ptx_machine_destroy(machine);
    fth_ptx_destroy(module);
    return fd;
}

static void check_launch(const struct fth_trace *trace, size_t launch)
{
    assert_int_equal(fth_trace_launch_at(trace, launch)->shared, 24);
    for (size_t i = 0; i < FTH_COUNT(expected); i++) {
        const struct fth_trace_shared *row = fth_trace_shared_at(trace, launch, i);
        assert_non_null(row);
        const struct fth_trace_instruction *instruction =
            fth_trace_instruction_at(trace, row->instruction);
        assert_true(instruction->hints & FTH_TRACE_SHARED);
        assert_int_equal(instruction->line, expected[i].line);
        assert_int_equal(instruction->bytes, expected[i].bytes);
        assert_int_equal(instruction->kind, expected[i].kind);
        assert_int_equal(row->requests, expected[i].requests);
        assert_int_equal(row->threads, expected[i].threads);
        assert_int_equal(row->wavefronts, expected[i].wavefronts);
        assert_int_equal(row->ideal_wavefronts, expected[i].ideal);
        assert_int_equal(row->padded_wavefronts, expected[i].padded);
    }
    assert_null(fth_trace_shared_at(trace, launch, FTH_COUNT(expected)));
}

static void the_recorder_counts_by_instruction(void **state)
{
    static const char *const names[] = {"shared read", "shared write", "shared atomic"};
    (void)state;
    for (unsigned threads = 1; threads <= 2; threads++) {
        struct fth_trace *trace = NULL;
        struct fth_error error = NO_ERROR;
        const int fd = record(threads);
        assert_int_equal(fth_trace_attach(fd, "t", &trace, &error), FTH_OK);
        check_launch(trace, 0);
        check_launch(trace, 1);
        assert_null(fth_trace_shared_at(trace, 2, 0));
        for (size_t i = 0; i < 3; i++) {
            const struct fth_trace_instruction instruction = {.kind = (enum fth_trace_access_kind)i,
                                                              .hints = FTH_TRACE_SHARED};
            assert_string_equal(fth_trace_kind_name(&instruction), names[i]);
        }
        fth_trace_close(trace);
        close(fd);
    }
}

/* A truncated file has the counts of the launches whose part is complete. */
static void truncated_files_have_the_complete_parts(void **state)
{
    (void)state;
    const int fd = record(1);
    const off_t size = lseek(fd, 0, SEEK_END);
    char *data = malloc((size_t)size);
    size_t most = 0;
    assert_int_equal(pread(fd, data, (size_t)size, 0), size);
    for (size_t length = 8; length < (size_t)size; length++) {
        struct fth_trace *trace = NULL;
        struct fth_error error = NO_ERROR;
        int part;
        assert_int_equal(fth_temporary_open(&part, &error), FTH_OK);
        assert_int_equal(pwrite(part, data, length, 0), length);
        assert_int_equal(fth_trace_attach(part, "t", &trace, &error), FTH_OK);
        size_t launches = 0;
        while (fth_trace_shared_at(trace, launches, 0))
            assert_int_equal(fth_trace_shared_at(trace, launches++, 1)->wavefronts, 192);
        assert_true(launches >= most);
        most = launches;
        fth_trace_close(trace);
        close(part);
    }
    assert_int_equal(most, 2);
    free(data);
    close(fd);
}

/* ---- tables ---- */

static void tables_add_up_and_survive_encoding(void **state)
{
    (void)state;
    struct fth_shared_table table = {0}, more = {0};
    struct fth_shared_tables tables = {0};
    struct fth_buffer bytes = {0};
    const struct fth_trace_instruction instructions[] = {
        {.hints = 0}, {.hints = FTH_TRACE_SHARED}, {.hints = FTH_TRACE_SHARED}};
    const struct fth_trace_instruction places[] = {{0}, {.line = 7}, {0}, {.line = 6, .index = 9}};
    size_t count = 0;
    *fth_shared_row(&table, 1) = (struct fth_trace_shared){0, 1, 2, 3, 4, 5};
    *fth_shared_row(&more, 3) = (struct fth_trace_shared){0, 10, 20, 30, 40, 50};
    *fth_shared_row(&more, 1) = (struct fth_trace_shared){0, 100, 200, 300, 400, UINT64_MAX - 5};
    assert_true(fth_shared_table_add(&table, &more));
    uint32_t *order = fth_shared_order(&table, places, &count);
    assert_int_equal(count, 2);
    assert_int_equal(order[0], 3); /* the order of the PTX, not that of the numbers */
    assert_int_equal(order[1], 1);
    free(order);
    fth_put_varint(1, &bytes);
    fth_put_shared(&table.rows[1], 2, &bytes);
    fth_put_shared(&table.rows[3], 1, &bytes);
    struct fth_bytes reader = fth_bytes_of(&bytes);
    assert_true(fth_shared_tables_get(&tables, &reader, 2, instructions, 3));
    assert_null(fth_shared_tables_at(&tables, 0, 0));
    const struct fth_trace_shared *row = fth_shared_tables_at(&tables, 1, 0);
    assert_int_equal(row->instruction, 2);
    assert_int_equal(row->requests, 101);
    assert_int_equal(row->threads, 202);
    assert_int_equal(row->wavefronts, 303);
    assert_int_equal(row->ideal_wavefronts, 404);
    assert_int_equal(row->padded_wavefronts, UINT64_MAX);
    assert_int_equal(fth_shared_tables_at(&tables, 1, 1)->instruction, 1);
    assert_null(fth_shared_tables_at(&tables, 1, 2));
    /* a second part of the same launch */
    reader = fth_bytes_of(&bytes);
    assert_false(fth_shared_tables_get(&tables, &reader, 2, instructions, 3));
    fth_shared_tables_fini(&tables);
    fth_shared_table_fini(&table);
    fth_shared_table_fini(&more);
    fth_buffer_fini(&bytes);
}

static void refuses_invalid_tables(void **state)
{
    static const uint64_t cases[][7] = {
        {2, 1, 1, 1, 1, 1, 1}, /* no such launch */
        {0, 2, 1, 1, 1, 1, 1}, /* no such instruction */
        {0, 0, 1, 1, 1, 1, 1}, /* an instruction on global memory */
        {0, 1, 0, 1, 1, 1, 1}, /* no requests */
    };
    const struct fth_trace_instruction instructions[] = {{.hints = 0}, {.hints = FTH_TRACE_SHARED}};
    (void)state;
    for (size_t i = 0; i <= FTH_COUNT(cases); i++) {
        struct fth_shared_tables tables = {0};
        struct fth_buffer bytes = {0};
        const bool cut = i == FTH_COUNT(cases); /* a row that is incomplete */
        for (size_t k = 0; k < (cut ? 6 : 7); k++)
            fth_put_varint(cut ? k > 0 : cases[i][k], &bytes);
        struct fth_bytes reader = fth_bytes_of(&bytes);
        assert_false(fth_shared_tables_get(&tables, &reader, 2, instructions, 2));
        assert_false(reader.no_memory);
        fth_shared_tables_fini(&tables);
        fth_buffer_fini(&bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_recorder_counts_by_instruction),
        cmocka_unit_test(truncated_files_have_the_complete_parts),
        cmocka_unit_test(tables_add_up_and_survive_encoding),
        cmocka_unit_test(refuses_invalid_tables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
